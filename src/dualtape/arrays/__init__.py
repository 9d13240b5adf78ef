"""The array layer: what an array is, and the kinds of arrays. It knows no tensors, ops or graphs.

An array follows NumPy's protocols: it has ``shape``, ``ndim``, ``dtype`` and operators, and handles NumPy's functions
by ``__array_ufunc__`` and ``__array_function__``. ``numpy.ndarray`` and ``cupy.ndarray`` do; so does a tensor.
"""

from . import malloc as malloc
from .absent import Absent
from .batched.array import Batched
from .protocol import as_array, is_array, module_of, register_module, zeros
from .vocabulary import VOCABULARY

__all__ = ["VOCABULARY", "Absent", "Batched", "is_array", "module_of", "register_module", "as_array", "zeros"]
