"""The tensor: what it is, how it is made, what it answers, how it looks."""
