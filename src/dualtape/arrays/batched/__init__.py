"""Batched arrays: one array that stands for a batch of them, with a hidden axis. ``vmap`` is built on them.

``array`` has the class and the way in and out; what NumPy's functions do to it is in the others, read when first
needed.
"""
