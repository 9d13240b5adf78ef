"""The ops, one module for each family: declarations and nothing else."""
