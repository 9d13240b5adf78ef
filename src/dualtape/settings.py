"""Settings of the machine that PyTorch programs set and read: threads, determinism, precision, devices, warnings.

Each documents its effect here. Settings that cannot be honoured are refused, or answered by False, and never ignored
silently.
"""

from __future__ import annotations

from typing import Any

from . import errors, modes
from ._listing import listing
from ._tensor import dtypes
from ._tensor.device import cupy
from ._tensor.device import device as _device
from ._tensor.legacy import TYPES
from ._tensor.tensor import Tensor
from .arrays.kernels import blas
from .errors import warn
from .overrides import devices

# --- threads --------------------------------------------------------------------------------------


def _not_traced() -> None:
    """Stop tracing a program: the value read here may differ in a replay."""
    tracing = modes.current().tracing
    if tracing is not None:
        tracing.tape.fail("it asks for a setting of the process")


def get_num_threads() -> int:
    """The number of threads that a matrix product or a native kernel may use.

    Those of NumPy's and SciPy's BLAS, which are asked; where they do not tell, the number in the environment variables
    of BLAS, or the cores of this process.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_num_threads() >= 1
    True
    """
    from .compiler.native import threads

    _not_traced()
    return blas.get_threads() or threads.wanted()


def set_num_threads(int: int) -> None:
    """Let native kernels of large arrays, and NumPy's and SciPy's BLAS and LAPACK, use this many threads.

    OpenBLAS, MKL and BLIS are told by their own functions. Products of moderate size, which lose more than they gain
    by threads where a core is in use, run on one thread whatever number is set. A warning says so where the BLAS takes
    no number.

    Examples
    --------
    >>> import dualtape as dt
    >>> before = dt.get_num_threads()
    >>> dt.set_num_threads(1); dt.get_num_threads()
    1
    >>> dt.set_num_threads(before)
    """
    from .compiler.native import threads

    _whole("set_num_threads", int)
    if int <= 0:
        raise RuntimeError(f"set_num_threads: expected a positive number of threads, got {int}")
    threads.set_threads(int)
    if not blas.set_threads(int):
        warn(
            "set_num_threads has no effect on products of matrices: no OpenBLAS, MKL or BLIS was found in this process;"
            " set OMP_NUM_THREADS before the program starts",
            UserWarning,
        )


def _whole(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} expects an int, but got {type(value).__name__}")


def get_num_interop_threads() -> int:
    """1: ops run one after another, in the thread that calls them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(int: int) -> None:
    """Set the number of threads for ops in parallel: there are none, so that anything but 1 is answered by a warning.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_num_interop_threads(1)
    """
    _whole("set_num_interop_threads", int)
    if int <= 0:
        raise RuntimeError(f"set_num_interop_threads: expected a positive number of threads, got {int}")
    if int > 1:
        warn("set_num_interop_threads has no effect: ops run one after another", UserWarning)


# --- determinism and precision --------------------------------------------------------------------

_settings: dict[str, Any] = {"deterministic": 0, "precision": "highest", "warn_always": False}
_LEVELS = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Require algorithms that give the same bits each time. All of them do here, so that nothing is refused.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.use_deterministic_algorithms(True); dt.are_deterministic_algorithms_enabled()
    True
    >>> dt.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool) or not isinstance(warn_only, bool):
        raise TypeError("use_deterministic_algorithms(): mode and warn_only must be bools")
    _settings["deterministic"] = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were required.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.are_deterministic_algorithms_enabled()
    False
    """
    _not_traced()
    return _settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether others were to be reported by a warning only.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    _not_traced()
    return _settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """:func:`use_deterministic_algorithms` by number or name: 0 "default", 1 "warn", 2 "error".

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_deterministic_debug_mode("default"); dt.get_deterministic_debug_mode()
    0
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    level = _LEVELS.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of 0, 1, 2, {', '.join(_LEVELS)}, got {debug_mode}"
        )
    _settings["deterministic"] = level


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as :func:`set_deterministic_debug_mode` has it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_deterministic_debug_mode()
    0
    """
    _not_traced()
    return _settings["deterministic"]


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less precision ("high", "medium") in products of float32 matrices, which is never used.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision!r} is not one of 'highest', 'high', or 'medium'")
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """The precision set by :func:`set_float32_matmul_precision`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_float32_matmul_precision()
    'highest'
    """
    _not_traced()
    return _settings["precision"]


def set_flush_denormal(mode: bool) -> bool:
    """False: numbers too small for their full precision are not set to zero, and NumPy cannot be told to.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_flush_denormal(True)
    False
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def set_warn_always(b: bool) -> None:
    """Ask for every warning each time. Warnings are always given here; Python's filters decide which are shown.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"setWarnOnlyOnce_ expects a bool, but got {type(b).__name__}")
    _settings["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """The value set by :func:`set_warn_always`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_warn_always_enabled()
    False
    """
    _not_traced()
    return _settings["warn_always"]


# --- devices and types ----------------------------------------------------------------------------


def get_default_device() -> _device:
    """The device on which tensors are created without ``device=``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_default_device()
    device(type='cpu')
    """
    return devices.default()


def set_default_device(device: Any) -> None:
    """Create tensors on a device from now on, in this thread, unless ``device=`` is given. None: on the CPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_default_device("cpu")
    """
    wanted = device if device is None or isinstance(device, _device) else _device(device)
    if wanted is not None and wanted.type != "cpu":
        cupy(wanted)
    devices.set_default(wanted)


def get_device(input: Tensor) -> int:
    """The number of the GPU that a tensor is on, -1 for the CPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_device(dt.ones(1))
    -1
    """
    if not isinstance(input, Tensor):
        raise errors.not_a_tensor("get_device", "input", input)
    return input.get_device()


def set_default_tensor_type(t: Any) -> None:
    """Set the default floating-point dtype by a legacy tensor type, or its name.

    Examples
    --------
    >>> import dualtape as dt, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dt.set_default_tensor_type(dt.FloatTensor)
    >>> dt.get_default_dtype()
    dualtape.float32
    """
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    found: Any = TYPES.get(name.rpartition(".")[2])
    if found is None:
        raise TypeError(f"invalid type object: only floating-point types are supported as the default type, got {t!r}")
    warn("set_default_tensor_type is deprecated: use set_default_dtype")
    dtypes.set_default_dtype(found._dtype)


def typename(obj: Any) -> str:
    """The name of an object's type: of a tensor, that of its legacy type.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.typename(dt.ones(1)), dt.typename(3.5)
    ('dualtape.FloatTensor', 'float')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) or callable(obj) and hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"


__dir__ = listing(__name__)
