"""A reader of pickles that runs no code.

It supports the opcodes of plain data, and a given list of globals; these build objects by functions of ours, which
check their arguments. Any other opcode or global, and any state of an object other than a dict, is refused by name.

The size of the result is bounded by that of the pickle (:class:`.limits.Budget`): a pickle may name one object many
times, so a few hundred bytes can describe a tuple of 2**40 elements. Such a tuple is harmless unless it is traversed,
by hashing, copying or printing.
"""

from __future__ import annotations

import pickletools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from .limits import Budget, set_attributes, short
from .source import DAMAGE, FileFormatError


class Refused(FileFormatError):
    """Raised when a pickle asks for something that plain data does not need."""


class Word:
    """A global that a pickle may name, and the function that builds its result (None: it may only be named).

    One of the user's ``own`` is a class or function that the user has called safe.
    """

    __slots__ = ("build", "name", "own")

    def __init__(self, name: str, build: Callable[..., Any] | None, own: bool = False) -> None:
        self.name, self.build, self.own = name, build, own


_MARK = object()
# Tuples within tuples: Python hashes them by recursion in C, and pickles none that are deeper.
_DEEPEST = 1000
_VALUES = {
    "INT",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG",
    "LONG1",
    "LONG4",
    "FLOAT",
    "BINFLOAT",
    "UNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE",
    "BINUNICODE8",
    "SHORT_BINBYTES",
    "BINBYTES",
    "BINBYTES8",
    "SHORT_BINSTRING",
    "BINSTRING",
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def unpickled(
    data: bytes, words: Mapping[tuple[str, str], Any], persistent: Callable[[Any], Any], budget: Budget
) -> Any:
    """Return the object that a pickle describes.

    Parameters
    ----------
    data : bytes
    words : mapping
        By module and name, the values and :class:`Word`\\ s that may be named.
    persistent : callable
        What a persistent identity stands for.
    budget : Budget
        Limits what is built.
    """
    machine = _Machine(words, persistent, budget)
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except FileFormatError:
        raise
    except DAMAGE as error:
        raise FileFormatError(f"the pickle is damaged: {short(error)}") from error
    raise FileFormatError("the pickle is truncated: it does not stop")


class _Machine:
    def __init__(self, words: Mapping[tuple[str, str], Any], persistent: Callable[[Any], Any], budget: Budget) -> None:
        self.words, self.persistent, self.budget = words, persistent, budget
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.own: dict[int, Any] = {}  # instances of classes that the user has called safe
        self.depths: dict[int, tuple[tuple, int]] = {}  # of tuples that hold tuples, by id, which stays theirs

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value was expected")
        return value

    def _marked(self) -> list:
        """Return the stack above the last mark, and remove it."""
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
            stack.append(self._tuple(items[::-1]))
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
            stack.append(self._called(word, args, name == "NEWOBJ"))
        elif name == "NEWOBJ_EX":
            keywords, args, word = self.pop(), self.pop(), self.pop()
            stack.append(self._called(word, args, True, keywords))
        elif name == "BUILD":
            state = self.pop()
            self._with_state(stack[-1], state)
        elif name == "BINPERSID":
            stack.append(self.persistent(self.pop()))
        elif name in ("APPEND", "APPENDS"):
            items = self._marked() if name == "APPENDS" else [self.pop()]
            _exactly(list, stack[-1]).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self._marked() if name == "SETITEMS" else [self.pop(), self.pop()][::-1]
            self._set(_exactly(dict, stack[-1]), items)
        elif name == "ADDITEMS":
            items = self._marked()
            target = _exactly(set, stack[-1])
            self.budget.keys(target, items)
            target.update(items)
        elif name == "TUPLE":
            stack.append(self._tuple(self._marked()))
        elif name == "LIST":
            stack.append(self._marked())
        elif name == "FROZENSET":
            items = self._marked()
            self.budget.keys(frozenset(), items)
            stack.append(frozenset(items))
        elif name == "DICT":
            items = self._marked()
            stack.append(self._set({}, items))
        elif name == "BYTEARRAY8":
            stack.append(bytearray(argument))
        elif name == "POP":
            stack.pop()
        else:
            raise Refused(f"the pickle has the opcode {name}, which plain data does not need: refused")

    def _tuple(self, items: list) -> tuple:
        """Return the tuple of these items; raise if tuples are nested too deep."""
        made = tuple(items)
        depth = 1 + max((self.depths.get(id(item), (item, 1))[1] for item in items if type(item) is tuple), default=0)
        if depth > _DEEPEST:
            raise FileFormatError(f"tuples in tuples, more than {_DEEPEST} deep")
        if depth > 1:
            self.depths[id(made)] = made, depth
        return made

    def _set(self, target: dict, items: list) -> dict:
        """Put alternating keys and values into a dict."""
        self.budget.keys(target, items[::2])
        target.update(zip(items[::2], items[1::2], strict=True))
        return target

    def _called(self, word: Any, args: Any, new: bool = False, keywords: Any = None) -> Any:
        if not isinstance(word, Word) or word.build is None:
            name = word.name if isinstance(word, Word) else short(word)
            raise Refused(f"the pickle calls {name}, which is not to be called: refused")
        if not isinstance(args, tuple):
            raise ValueError(f"arguments that are a {type(args).__name__}, not a tuple")
        if word.own:
            kind: Any = word.build
            if keywords is not None and not (isinstance(keywords, dict) and all(type(k) is str for k in keywords)):
                raise ValueError(f"keyword arguments that are a {type(keywords).__name__}")
            made = kind.__new__(kind, *args, **(keywords or {})) if new else kind(*args)
            self.own[id(made)] = made
            return made
        if keywords is not None:
            raise Refused(f"the pickle calls {word.name} with keyword arguments: refused")
        made = word.build(*args)
        return self._tuple(list(made)) if type(made) is tuple else made

    def _with_state(self, target: Any, state: Any) -> None:
        """Set an object's state: what a class that is safe makes of it, and the attributes of an OrderedDict, which is
        where a state_dict has its versions.
        """
        if id(target) in self.own:
            if hasattr(target, "__setstate__"):
                target.__setstate__(state)
                return
            pair = state if type(state) is tuple and len(state) == 2 else (state, None)
            for attributes in pair:
                for name, value in (attributes or {}).items():
                    setattr(target, name, value)
        elif type(target) is not OrderedDict or not isinstance(state, dict) or not all(type(k) is str for k in state):
            raise Refused(f"the pickle sets the state of a {type(target).__name__}: refused")
        else:
            set_attributes(target, state)

    def _word(self, module: Any, name: Any) -> Any:
        found = self.words.get((module, name)) if isinstance(module, str) and isinstance(name, str) else None
        if found is None:
            raise Refused(
                f"the pickle asks for {_named(module)}.{_named(name)}, and might run it: refused. Files may"
                " hold tensors, numbers, strings and plain containers; where it was made, save a state_dict() of these"
            )
        return found


def _named(part: object) -> str:
    return part[:200] if isinstance(part, str) else short(part)


def _exactly(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"items for a {type(value).__name__}, where a {kind.__name__} was expected")
    return value
