"""Checks that run in several processes: each function ``check_*`` is called on every rank of one ``mpiexec``."""
