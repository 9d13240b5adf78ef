"""Batched arrays: arrays with a hidden axis for all samples of a batch. ``vmap`` is built on them.

``array`` has the class and how to enter and leave a batch; the other modules have the rules of NumPy's functions, and
are imported when first needed.
"""
