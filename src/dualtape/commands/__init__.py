"""The subcommands of ``dualtape``: one module each, imported on demand."""
