"""A reader of pickles that runs nothing.

It knows the opcodes that plain data needs, and a list of words (globals) that it is given: what the words build is
built by functions of ours, which check their arguments. Any other opcode, any other word, and any state for anything
but a dict is refused by name.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any


class Refused(pickle.UnpicklingError):
    """A pickle asks for something that plain data does not need."""


class Word:
    """A global that a pickle may name, and what it builds when it is called (None: it may only be named)."""

    __slots__ = ("name", "build")

    def __init__(self, name: str, build: Callable[..., Any] | None) -> None:
        self.name, self.build = name, build


_MARK = object()
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE",
    "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "SHORT_BINSTRING",
    "BINSTRING",
}  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set,
}  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def unpickled(data: bytes, words: Mapping[tuple[str, str], Any], persistent: Callable[[Any], Any]) -> Any:
    """The object that a pickle describes.

    Parameters
    ----------
    data : bytes
    words : mapping
        By module and name, the values and :class:`Word`\\ s that may be named.
    persistent : callable
        What a persistent identity stands for.
    """
    machine = _Machine(words, persistent)
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except Refused:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnicodeError) as error:
        raise pickle.UnpicklingError(f"the pickle is damaged: {error!r:.200}") from None
    raise pickle.UnpicklingError("the pickle is truncated: it does not stop")


class _Machine:
    def __init__(self, words: Mapping[tuple[str, str], Any], persistent: Callable[[Any], Any]) -> None:
        self.words, self.persistent = words, persistent
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value was expected")
        return value

    def _marked(self) -> list:
        """What stands above the last mark."""
        items = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in _TUPLES:
            items = [self.pop() for _ in range(_TUPLES[name])]
            stack.append(tuple(items[::-1]))
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[int(argument)])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("PROTO", "FRAME"):
            if name == "PROTO" and argument > 5:
                raise Refused(f"a pickle of protocol {argument}: 2 to 5 are known")
        else:
            self._built(name, argument)

    def _built(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name == "GLOBAL":
            module, _, word = argument.partition(" ")
            stack.append(self._word(module, word))
        elif name == "STACK_GLOBAL":
            word, module = self.pop(), self.pop()
            stack.append(self._word(module, word))
        elif name in ("REDUCE", "NEWOBJ"):
            args, word = self.pop(), self.pop()
            stack.append(_called(word, args))
        elif name == "BUILD":
            _with_state(stack[-2], self.pop())
        elif name == "BINPERSID":
            stack.append(self.persistent(self.pop()))
        elif name in ("APPEND", "APPENDS"):
            items = self._marked() if name == "APPENDS" else [self.pop()]
            _exactly(list, stack[-1]).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self._marked() if name == "SETITEMS" else [self.pop(), self.pop()][::-1]
            _exactly(dict, stack[-1]).update(zip(items[::2], items[1::2], strict=True))
        elif name == "ADDITEMS":
            items = self._marked()
            _exactly(set, stack[-1]).update(items)
        elif name in ("TUPLE", "LIST", "FROZENSET"):
            stack.append({"TUPLE": tuple, "LIST": list, "FROZENSET": frozenset}[name](self._marked()))
        elif name == "DICT":
            items = self._marked()
            stack.append(dict(zip(items[::2], items[1::2], strict=True)))
        elif name == "BYTEARRAY8":
            stack.append(bytearray(argument))
        elif name == "POP":
            stack.pop()
        else:
            raise Refused(f"the pickle has the opcode {name}, which plain data does not need: refused")

    def _word(self, module: Any, name: Any) -> Any:
        found = self.words.get((module, name)) if isinstance(module, str) and isinstance(name, str) else None
        if found is None:
            raise Refused(
                f"the pickle asks for {module}.{name}, and might run it: refused. Files may hold tensors, numbers,"
                " strings and plain containers; where it was made, save a state_dict() of these"
            )
        return found


def _exactly(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"items for a {type(value).__name__}, where a {kind.__name__} was expected")
    return value


def _called(word: Any, args: Any) -> Any:
    if not isinstance(word, Word) or word.build is None:
        name = word.name if isinstance(word, Word) else repr(word)[:80]
        raise Refused(f"the pickle calls {name}, which is not to be called: refused")
    if not isinstance(args, tuple):
        raise ValueError(f"arguments that are a {type(args).__name__}, not a tuple")
    return word.build(*args)


def _with_state(target: Any, state: Any) -> None:
    """Give an object its state: the attributes of an OrderedDict, which is where a state_dict has its versions."""
    if type(target) is not OrderedDict or not isinstance(state, dict) or not all(isinstance(k, str) for k in state):
        raise Refused(f"the pickle sets the state of a {type(target).__name__}: refused")
    vars(target).update(state)
