"""What the command ``dualtape`` does: one module a subject, each read when it is asked for."""
