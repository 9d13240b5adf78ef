"""Tensors whose methods are NumPy's: what a function receives for an array when it is differentiated.

``x.std()`` of an array divides by n, and of a tensor by n - 1; ``x.size`` is a number, ``x.max(axis=0)`` values alone,
``x[::-1]`` a view. A function that was written for arrays means NumPy's, so where arrays enter a transform, the
function gets a :class:`NumpyTensor`: a tensor in every other respect, with history, tangents, and all methods of
PyTorch whose names NumPy does not have. Its operators, its methods and NumPy's functions return such tensors;
functions of dualtape return plain ones.

``tensor`` has the class and its protocols, ``operators`` the operators with NumPy's dtypes, ``methods`` the methods and
attributes of ``numpy.ndarray``, ``indexing`` its indices.
"""

from .tensor import NumpyTensor, as_plain, as_plain_tree, entering, like, marked, marked_tree, on_plain, same_kind

__all__ = [
    "NumpyTensor",
    "as_plain",
    "as_plain_tree",
    "entering",
    "like",
    "marked",
    "marked_tree",
    "on_plain",
    "same_kind",
]
