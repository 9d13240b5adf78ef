"""Version counters: the number of writes to a piece of memory, and the line of the last one.

A counter is a two-element list ``[count, where]``, shared by a tensor, its views and its detached aliases. It is
created at the first write, view or alias; most tensors never have one. ``where`` is a (code, instruction) pair stored
at each write, and converted to a file and line only for an error.

Arrays of NumPy's kind are saved otherwise (:func:`~dualtape.autograd.saved.entry_of`): their counter, a
:class:`KeepingCounter`, goes on with what was saved of them, ``[count, where, kept, ...]``, and a write copies that
first.
"""

from __future__ import annotations

from sys import _getframe as _frame
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

Counter = list  # [int, tuple | None, *kept]

# Whether a file is this package's. The key is the file's name: a string keeps its hash, a code object computes it each
# time.
_files: dict[str, bool] = {}
_PACKAGE = __name__.partition(".")[0] + "."


class KeepingCounter(list):
    """The counter of memory whose saved values are copied when they are about to be written."""

    __slots__ = ()


class Untracked(list):
    """The counter of inference tensors: its count is always 0."""

    __slots__ = ()

    def __setitem__(self, place: Any, value: Any) -> None:
        pass


# One for all: a tensor is an inference tensor if this is its counter.
UNTRACKED = Untracked([0, None])


def caller(depth: int = 1) -> tuple | None:
    """Return the user's code that is running, the nearest frame outside this package, as (code, instruction offset);
    ``depth`` frames belong to this package.
    """
    try:
        return _nearest(_frame(depth))
    except ValueError:  # there are fewer, in a thread of this package's
        return _nearest(_frame(1))


def _nearest(frame: FrameType | None) -> tuple | None:
    while frame is not None:
        code = frame.f_code
        ours = _files.get(code.co_filename)
        if ours is None:
            ours = _is_ours(frame)
        if not ours:
            return (code, frame.f_lasti)
        frame = frame.f_back
    return None


def _is_ours(frame: FrameType) -> bool:
    ours = frame.f_globals.get("__name__", "").startswith(_PACKAGE)
    if frame.f_code.co_filename[:1] != "<":  # code without a file may be anybody's
        _files[frame.f_code.co_filename] = ours
    return ours


def bump(counter: Counter) -> None:
    """Count one write to the memory of ``counter``, which is about to happen."""
    if len(counter) > 2:
        release(counter)
    counter[0] += 1
    try:
        # The caller's frame is in this package, and looking at it too would double the cost.
        frame = _frame(2)
    except ValueError:  # it was called by no Python code
        counter[1] = None
        return
    code = frame.f_code
    counter[1] = (code, frame.f_lasti) if _files.get(code.co_filename) is False else _nearest(frame)


def release(counter: Counter) -> None:
    """Copy what was saved of the memory of ``counter``, before it is written."""
    kept = counter[2:]
    del counter[2:]
    for one in kept:
        one.release()


def spoil(counter: Counter) -> None:
    """Let a backward that needs what was saved of the memory of ``counter`` raise: it has been written already."""
    kept = counter[2:]
    del counter[2:]
    for one in kept:
        one.own[0] += 1


def bump_after(counter: Counter) -> None:
    """Count one write to the memory of ``counter`` that has happened."""
    if len(counter) > 2:
        spoil(counter)
    bump(counter)


def describe(where: tuple | None) -> str | None:
    """Return ``file:line, in function`` for a location stored by :func:`caller`."""
    if where is None:
        return None
    code, offset = where
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return f"{code.co_filename}:{line}, in {code.co_name}"
