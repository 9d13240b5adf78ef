"""Arrays that record the operations on them while they compute."""
