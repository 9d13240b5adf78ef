"""The tensor: its class, its creation, its protocols, its printing."""
