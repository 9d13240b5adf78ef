"""``dualtape.backends``: which of the libraries beneath PyTorch are here, and switches for them.

None is: products are NumPy's BLAS, and GPUs are CuPy's. A switch keeps what it is told, and governs nothing.
"""

from __future__ import annotations

from .._listing import listing
from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
from . import mkl as mkl
from . import mkldnn as mkldnn
from . import mps as mps
from . import openmp as openmp
from . import opt_einsum as opt_einsum

__dir__ = listing(__name__)
