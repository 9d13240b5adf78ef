"""Interrupts: run a function once for each instruction at which Ctrl-C may arrive, and interrupt it there.

CPython checks for signals at the beginning of a function, after a call, and where a loop jumps back. A trace function
counts these points in the frames of the package, and raises KeyboardInterrupt at the requested one. It can raise only
before an instruction, while a signal is raised by the call itself: so points where the two are not inside the same
``try`` are left out.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import cache
from inspect import CO_GENERATOR
from types import CodeType, FrameType
from typing import Any

_CALLS = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "CALL_INTRINSIC_1", "PRECALL"}
_JUMP = "JUMP_BACKWARD"


def _name(code: CodeType, place: int) -> str:
    return dis.opname[code.co_code[place]]


@cache
def _handler(code: CodeType, place: int) -> int | None:
    """Where the exceptions of an instruction go."""
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= place < entry.end), None)


class Interrupted(KeyboardInterrupt):
    """The interrupt of a test, which must come out as it went in."""


class _Tracer:
    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted
        self.places: list[tuple[CodeType, int]] = []
        self.where = ""
        self._latest: dict[int, int] = {}  # the instruction that each frame has begun
        self._returned: set[int] = set()  # frames to which a function of Python's has come back: no signal there

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not (frame.f_globals.get("__name__", "").startswith("dualtape") or code.co_filename.startswith("<dualtape")):
            frame.f_trace_lines = False
            return self._foreign
        # No manager that is written in Python can do anything about the first instruction of its __exit__; and a generator
        # that is closed is called once more, where no signal comes.
        if code.co_name != "__exit__" and not code.co_flags & CO_GENERATOR:
            self._place(frame)
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._own

    def _foreign(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "return":
            self._returned.add(id(frame.f_back))
        return self._foreign

    def _own(self, frame: FrameType, event: str, _: Any) -> Any:
        key = id(frame)
        if event == "opcode":
            code, now = frame.f_code, frame.f_lasti
            before = self._latest.get(key, now)
            self._latest[key] = now
            came_back = key in self._returned
            self._returned.discard(key)
            name = _name(code, before)
            if name == _JUMP or name in _CALLS and _name(code, now) not in _CALLS and not came_back:
                if _handler(code, before) == _handler(code, now):
                    self._place(frame)
        elif event == "return":
            self._latest.pop(key, None)
            self._returned.add(id(frame.f_back))
        return self._own

    def _place(self, frame: FrameType) -> None:
        self.places.append((frame.f_code, frame.f_lasti))
        if len(self.places) - 1 == self.wanted:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}"
            raise Interrupted


def interrupted(make: Callable[[], Callable[[], Any]], within: str = "") -> Iterator[tuple[str, Any]]:
    """Interrupt the result of ``make()``, a new one each time, at each of its points, the first and the last time that
    it comes there. Yield the point and the exception, or None. ``within`` is a part of the names of the files whose
    points count.
    """
    make()()  # what is made on first use is there
    places = _run(make(), None)[0].places
    first = {place: number for number, place in reversed(list(enumerate(places)))}
    last = {place: number for number, place in enumerate(places)}
    numbers = {number for found in (first, last) for (code, _), number in found.items() if within in code.co_filename}
    for wanted in sorted(numbers):
        tracer, error = _run(make(), wanted)
        if tracer.where:
            yield tracer.where, error


def _run(function: Callable[[], Any], wanted: int | None) -> tuple[_Tracer, BaseException | None]:
    tracer = _Tracer(wanted)
    before = sys.gettrace()
    try:
        sys.settrace(tracer)
        function()
    except BaseException as error:
        return tracer, error
    finally:
        sys.settrace(before)
    return tracer, None
