"""Products by NumPy's BLAS, on as many threads as pay.

OpenBLAS splits a product of a few hundred thousand multiplications between threads that wait for one another: where
another program uses a core, each product then waits for the scheduler, a thousand times as long as the product takes.
So products of moderate size run on one thread here, whatever number is set, and large ones in blocks that threads take
as they become free. The number of threads that is set in BLAS itself is as before after each call.

The libraries are found among those that the process has loaded, and told by their own functions: OpenBLAS in its
several builds, MKL, BLIS.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

__all__ = ["alone", "dot", "get_threads", "guarded", "libraries", "matmul", "set_threads"]

R = TypeVar("R")

# Elements of an operand up to which BLAS uses one thread by itself, for every routine that is called here.
FEW = 4096
# Multiplications from which blocks for several threads pay, and those of one block.
_MANY = 1 << 25
_BLOCK = 1 << 22
# Elements of a matrix from which LAPACK's routines gain more by threads than they lose where a core is in use.
_LARGE = 512 * 512
_FOUND = ("openblas", "mkl_rt", "blis")  # in the names of files


class Library(NamedTuple):
    """A BLAS that the process has loaded, and the functions that tell and set its number of threads."""

    path: str
    get: Callable[[], int]
    set: Callable[[int], Any]


# --- finding the libraries ------------------------------------------------------------------------


def _loaded_linux() -> Iterator[str]:
    """Yield the paths of the loaded libraries, on systems whose linker tells them."""

    class Info(ctypes.Structure):
        _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]

    names: list[str] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)

    def tell(info: Any, size: int, data: Any) -> int:
        names.append(os.fsdecode(info.contents.name or b""))
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(kind(tell), None)
    return iter(names)


def _loaded_macos() -> Iterator[str]:
    library = ctypes.CDLL("/usr/lib/libSystem.dylib")
    library._dyld_get_image_name.restype = ctypes.c_char_p
    for number in range(library._dyld_image_count()):
        yield os.fsdecode(library._dyld_get_image_name(ctypes.c_uint32(number)) or b"")


def _loaded_windows() -> Iterator[str]:
    # The attribute is there on Windows alone.
    windll: Any = ctypes.windll  # type: ignore[attr-defined,unused-ignore]
    kernel, process = windll.kernel32, windll.psapi
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    handles = (ctypes.c_void_p * 4096)()
    needed = ctypes.c_uint32()
    own = ctypes.c_void_p(kernel.GetCurrentProcess())
    if not process.EnumProcessModulesEx(own, ctypes.byref(handles), ctypes.sizeof(handles), ctypes.byref(needed), 3):
        return
    for handle in handles[: needed.value // ctypes.sizeof(ctypes.c_void_p)]:
        text = ctypes.create_unicode_buffer(4096)
        if process.GetModuleFileNameExW(own, ctypes.c_void_p(handle), text, 4096):
            yield text.value


def _names(verb: str) -> list[str]:
    """Return the names under which builds of the libraries export the function that gets or sets their threads."""
    openblas = [
        f"{prefix}openblas_{verb}_num_threads{suffix}"
        for prefix in ("", "scipy_")
        for suffix in ("64_", "", "_64", "64")
    ]
    mkl = {"get": "MKL_Get_Max_Threads", "set": "MKL_Set_Num_Threads"}
    return [*openblas, mkl[verb], f"bli_thread_{verb}_num_threads"]


def _functions(path: str) -> Library | None:
    try:
        library = ctypes.CDLL(path, mode=getattr(os, "RTLD_NOLOAD", 0))
    except OSError:
        return None
    for get, set_ in zip(_names("get"), _names("set"), strict=True):
        if hasattr(library, get) and hasattr(library, set_):
            getter, setter = getattr(library, get), getattr(library, set_)
            getter.argtypes, getter.restype = [], ctypes.c_int
            setter.argtypes, setter.restype = [ctypes.c_int], None
            return Library(path, getter, setter)
    return None


def libraries() -> list[Library]:
    """Return the BLAS libraries that are loaded now, NumPy's first."""
    try:
        if sys.platform == "darwin":
            paths = [*_loaded_macos()]
        elif sys.platform == "win32":
            paths = [*_loaded_windows()]
        else:
            paths = [*_loaded_linux()]
    except (OSError, AttributeError):  # a C library without these functions
        return []
    chosen = [path for path in dict.fromkeys(paths) if any(each in os.path.basename(path).lower() for each in _FOUND)]
    return [found for path in chosen if (found := _functions(path)) is not None]


# --- the number of threads ------------------------------------------------------------------------


def _one() -> int:
    return 1


def _ignore(count: int) -> None:
    """Accept a number of threads where no library takes one."""


class _State:
    """The libraries that were found, their functions, and the number of threads that was asked for."""

    def __init__(self) -> None:
        self.found: list[Library] | None = None  # None: not looked for yet
        self.get: Callable[[], int] = _one
        self.set: Callable[[int], Any] = _ignore
        self.wanted: int | None = None
        self.pool: ThreadPoolExecutor | None = None
        self.lock = threading.Lock()


_state = _State()


def look() -> None:
    """Look for the libraries; again where SciPy may have loaded its own since."""
    found = libraries()
    with _state.lock:
        _state.found = found
        if not found:
            _state.get, _state.set = _one, _ignore
        elif len(found) == 1:
            _state.get, _state.set = found[0].get, found[0].set
        else:
            _state.get, _state.set = found[0].get, _all_of(found)
        if _state.wanted is not None:
            _state.set(_state.wanted)


def _all_of(found: list[Library]) -> Callable[[int], None]:
    def set_all(count: int) -> None:
        for library in found:
            library.set(count)

    return set_all


def get_threads() -> int | None:
    """Return the largest number of threads that a loaded BLAS uses, None if no BLAS tells."""
    look()
    return max((library.get() for library in _state.found or ()), default=None)


def set_threads(count: int) -> bool:
    """Let every loaded BLAS, and those loaded later, use ``count`` threads. Return whether one was found."""
    _state.wanted = count
    look()
    return bool(_state.found)


def loaded_scipy() -> None:
    """Tell SciPy's BLAS, which has just been loaded, the number of threads."""
    if _state.found is not None:
        look()


# --- calls ----------------------------------------------------------------------------------------


def alone(function: Callable[..., R], *args: Any) -> R:
    """Return ``function(*args)``, with one thread in BLAS during the call."""
    if _state.found is None:
        look()
    restore = _state.set
    count = _state.get()
    if count <= 1:  # set so, or by another thread for the length of its own call
        return function(*args)
    try:
        restore(1)
        return function(*args)
    finally:
        restore(count)


def is_moderate(multiplications: int) -> bool:
    """Return whether a product of so many multiplications is one that BLAS would split between threads, and is not
    large enough to gain by it wherever a core is in use.
    """
    return FEW * 64 <= multiplications < _MANY


def guarded(function: Callable[..., R]) -> Callable[..., R]:
    """Return a routine of LAPACK's, or a function that calls some, such that BLAS uses one thread in it if its first
    argument is a matrix of moderate size.
    """

    return _guard(function, _LARGE)


def one_thread(function: Callable[..., R]) -> Callable[..., R]:
    """Return ``function`` such that BLAS uses one thread in it, unless its first argument is small: its products are
    split already.
    """
    return _guard(function, sys.maxsize)


def _guard(function: Callable[..., R], most: int) -> Callable[..., R]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if args and type(args[0]) is np.ndarray and FEW <= args[0].size <= most:
            return alone(partial(function, **kwargs) if kwargs else function, *args)
        return function(*args, **kwargs)

    return call


def dot(a: Any, b: Any) -> Any:
    """Return ``np.dot(a, b)`` of arrays of any kind."""
    if not (type(a) is np.ndarray is type(b)) or a.size < FEW > b.size:
        return np.dot(a, b)
    if a.ndim != 2 or b.ndim != 2:
        return alone(a.dot, b) if a.size < 4 * _LARGE else a.dot(b)
    rows, inner = a.shape
    length, columns = b.shape
    if rows * inner * columns < _MANY or max(rows, columns) < 64:
        return alone(a.dot, b)
    return _large(a, b) if inner == length and a.dtype is b.dtype and a.dtype.kind in "fc" else a.dot(b)


def matmul(a: Any, b: Any) -> Any:
    """Return ``np.matmul(a, b)`` of arrays of any kind."""
    if not (type(a) is np.ndarray is type(b)) or a.size < FEW > b.size:
        return np.matmul(a, b)
    return dot(a, b) if a.ndim == b.ndim == 2 else alone(np.matmul, a, b)


def _large(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``a.dot(b)``, computed in blocks by as many threads as BLAS is set to."""
    count = _state.get()
    if count <= 1:
        return a.dot(b)
    try:
        _state.set(1)
        return _blocks(a, b, count)
    finally:
        _state.set(count)


def _blocks(a: np.ndarray, b: np.ndarray, threads: int) -> np.ndarray:
    """Return ``a.dot(b)``, computed in blocks of rows or columns that ``threads`` threads take as they become free.

    The blocks depend on the shapes alone, and not on the number of threads.
    """
    a, b = [x if x.flags.forc else np.ascontiguousarray(x) for x in (a, b)]
    rows, inner = a.shape
    columns = b.shape[1]
    out = np.empty((rows, columns), a.dtype)
    by_rows = rows >= columns
    length = rows if by_rows else columns
    step = max(32, -(-_BLOCK // (inner * (columns if by_rows else rows))))
    step = -(-step // 16) * 16
    starts = iter(range(0, length, step))
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                start = next(starts, None)
            if start is None:
                return
            part = slice(start, start + step)
            if by_rows:
                np.dot(a[part], b, out=out[part])
            else:
                out[:, part] = a.dot(b[:, part])

    pool = _pool()
    others = [pool.submit(work) for _ in range(min(threads, -(-length // step)) - 1)]
    try:
        work()
    finally:
        with taking:  # after an exception: the others find nothing more to do
            starts = iter(())
        for other in others:
            if not other.cancel():
                other.result()
    return out


def _pool() -> ThreadPoolExecutor:
    if _state.pool is None:
        with _state.lock:
            if _state.pool is None:
                _state.pool = ThreadPoolExecutor(64, "dualtape products")
    return _state.pool


def _forked() -> None:
    """Forget the threads in a child process, which has none of them."""
    _state.pool, _state.lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
