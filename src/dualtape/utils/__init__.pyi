"""The names of ``dualtape.utils``. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from . import _python_dispatch as _python_dispatch
from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import einops as einops
from . import hooks as hooks
