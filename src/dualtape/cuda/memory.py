"""The memory of a GPU: CuPy's pool."""

from __future__ import annotations

from typing import Any

from .devices import is_available, module, number


class OutOfMemoryError(RuntimeError):
    """A GPU has no more memory; CuPy raises its own ``cupy.cuda.memory.OutOfMemoryError``.

    Examples
    --------
    >>> import dualtape as dt
    >>> issubclass(dt.cuda.OutOfMemoryError, RuntimeError)
    True
    """


def _pool(device: Any) -> Any:
    cupy = module("the memory of a GPU")
    with cupy.cuda.Device(number(device)):
        return cupy.get_default_memory_pool()


def memory_allocated(device: Any = None) -> int:
    """Bytes that arrays have: 0 without a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.memory_allocated() >= 0
    True
    """
    return _pool(device).used_bytes() if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Bytes that the pool has: 0 without a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.memory_reserved() >= 0
    True
    """
    return _pool(device).total_bytes() if is_available() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most that the pool had: what it has, since it gives back nothing unless :func:`empty_cache` is called.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.max_memory_reserved() >= 0
    True
    """
    return memory_reserved(device)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that arrays had at a time: 0 without a GPU; CuPy does not count it, which is an error with one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.max_memory_allocated()  # doctest: +SKIP
    0
    """
    if is_available():
        raise NotImplementedError(
            "cuda.max_memory_allocated: CuPy's pool does not count it; max_memory_reserved is near"
        )
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Return unused memory of the pool, so that :func:`max_memory_reserved` starts again.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.reset_peak_memory_stats()
    """
    empty_cache()


def empty_cache() -> None:
    """Give the memory that the pool does not use back to the GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.empty_cache()
    """
    if is_available():
        _pool(None).free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes of a GPU that are free, and all of them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.mem_get_info()  # doctest: +SKIP
    """
    with module("cuda.mem_get_info").cuda.Device(number(device)) as found:
        return tuple(found.mem_info)


def memory_stats(device: Any = None) -> dict[str, int]:
    """What the pool counts; empty without a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.memory_stats()  # doctest: +SKIP
    {}
    """
    if not is_available():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
    }
