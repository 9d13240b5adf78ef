"""Guards: whether a traced program holds for a call, as one Python function written for it.

The function is given the compiled function and what the arguments hold. It returns the inputs of the program, in
their order, or None if anything is not as it was.
"""

from __future__ import annotations

import linecache
import random
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import nn
from .._tensor.tensor import Tensor
from .environment import IN_BYTES, PLAIN, Environment, Place, is_library

_GROWING = (list, dict, set, deque, bytearray)
_ABOUT_GRADS = frozenset({"grad", "_grad", "backward", "step", "zero_grad"})
_IDENTICAL = (bool, type(None), type(Ellipsis))


class Guard:
    """The checks of one program.

    Attributes
    ----------
    inputs : list
        The tensors and arrays found, each once, in the order in which ``check`` gives them.
    check : callable
        ``check(function, leaves)``: the inputs as they are now, or None.
    lines : list of str
        What is checked, for people.
    """

    def __init__(self, environment: Environment) -> None:
        self.inputs: list[Any] = []
        self.sources: list[str] = []
        self.places = environment.places
        self._keys = environment.keys
        self.watches_grads = not _ABOUT_GRADS.isdisjoint(environment.names)
        self.check: Callable[[Any, Any], Any] = lambda f, leaves: None
        known: dict[int, int] = {}
        for place in self.places:
            if isinstance(place.value, (Tensor, np.ndarray)) and id(place.value) not in known:
                known[id(place.value)] = len(self.inputs)
                self.inputs.append(place.value)
                self.sources.append(place.path)
        self._numbers = known
        self._states = [_state(thing) for thing in self.inputs]  # before the program runs

    def write(self, used: set[int], grads: set[int]) -> None:
        """Write the check: for the inputs whose numbers are in ``used``, and in ``grads`` those whose ``.grad`` counts.

        Arrays of NumPy's that the program does not use as inputs are compared: code may have looked at them.
        """
        self.used = sorted(used)
        body: list[str] = []
        space: dict[str, Any] = {**self._keys, "_Tensor": Tensor, "_ndarray": np.ndarray, "_kinds": kinds()}
        names: dict[str, str] = {}
        named: dict[int, str] = {}
        for place in self.places:
            value = place.value
            number = self._numbers.get(id(value)) if isinstance(value, (Tensor, np.ndarray)) else None
            if number is not None and number not in used and isinstance(value, Tensor):
                continue
            if place.path in names:
                continue  # several lead there by one path
            name = f"v{len(names)}"
            body.append(f"{name} = {_shorter(place.path, names)}")
            names[place.path] = name
            if number is not None and number in named:
                body.append(f"if {name} is not {named[number]}: return None")
            elif number is not None:
                named[number] = name
                state = self._states[number]
                body.extend(
                    _tensor_checks(name, state, number in grads or self.watches_grads, space)
                    if isinstance(value, Tensor)
                    else _array_checks(name, value, number in used, space)
                )
            else:
                body.extend(_value_checks(name, value, space))
        given = "".join(f"{named[number]}, " for number in self.used)
        text = ["def check(f, leaves):", "    try:", *[f"        {line}" for line in body], f"        return ({given})"]
        text += ["    except (AttributeError, KeyError, IndexError, TypeError, ValueError):", "        return None", ""]
        source = "\n".join(text)
        filename = f"<dualtape: guard {id(self):x}>"
        exec(compile(source, filename, "exec"), space)
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        self.check = space["check"]
        self._body, self._space = body, space
        self._paths = {name: path for path, name in names.items()}
        self.lines = [line for line in body if line.startswith("if")]

    def why(self, function: Any, leaves: Any) -> tuple[tuple, str]:
        """Why a call is not one that the program holds for: how many checks held, and what is not as it was."""
        space = {**self._space, "f": function, "leaves": leaves}
        path = "the arguments"
        for number, line in enumerate(self._body):
            try:
                if not line.startswith("if "):
                    path = self._paths[line.partition(" = ")[0]]
                    exec(line, space)
                    continue
                for k, part in enumerate(line[3:].removesuffix(": return None").split(" or ")):
                    if eval(part, space):
                        return (number, k), f"{readable(path)}: {_changed(part, space)}"
            except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
                return (number, 0), f"{readable(path)}: {error!r}"
        return (len(self._body), 0), "a value that it looks at led another way"

    def same_objects(self, function: Any, leaves: list) -> str | None:
        """The first place at which something else stands than before the program ran, or None."""
        space = {**self._keys, "f": function, "leaves": leaves}
        for place in self.places:
            if place.path.endswith("._grad"):
                continue  # gradients are set by programs, and set again by what replays them
            try:
                now = eval(place.path, space)
            except (AttributeError, KeyError, IndexError, TypeError, ValueError):
                return place.path
            if now is not place.value and not (isinstance(now, PLAIN) and _same_plain(now, place.value)):
                return place.path
            if _stream(now) != self._streams.get(id(now)):
                return f"{place.path}, a generator"
            if isinstance(now, _GROWING) and len(now) != self._length(place):
                return place.path
        return None

    def remember(self) -> None:
        """Note the lengths of what may grow, and where generators are in their streams."""
        self._streams = {id(p.value): _stream(p.value) for p in self.places if _stream(p.value) is not None}
        self._lengths = {id(p.value): len(p.value) for p in self.places if isinstance(p.value, _GROWING)}

    def forget(self) -> None:
        """Let go of what the program was traced with."""
        self.places, self.inputs, self._keys = [], [], {}
        self._lengths, self._streams = {}, {}

    def _length(self, place: Place) -> int:
        return self._lengths[id(place.value)]


def readable(path: str) -> str:
    """The path of something that a function depends on, for people."""
    for old, new in (
        (".__dict__['", "."), (".__globals__['", ": the global "), ("['", "."), ("']", ""), (".cell_contents", ""),
    ):  # fmt: skip
        path = path.replace(old, new)
    return path.replace("leaves[", "argument [")


_WORDS = (
    ("requires_grad", "requires_grad"), ("_grad is None", ".grad"), ("_edge is None", "is (not) a leaf"),
    ("_view is None", "is (not) a view"), ("type(", "is of another type"), (" is not ", "is another object"),
)  # fmt: skip


def _changed(part: str, space: dict) -> str:
    """What is not as it was, in words: the part of a check that failed."""
    left, _, right = part.rpartition(" and ")[2].partition(" != ")
    if right:
        was, now = eval(right, space), eval(left, space)
        return f"{left.rpartition('.')[2] if '.' in left else 'it'} was {was!r}, is {now!r}"
    for word, words in _WORDS:
        if word in part:
            return f"{words} has changed" if words in ("requires_grad", ".grad") else words
    return part


def _stream(value: Any) -> str | None:
    """The state of a generator that is not dualtape's; None of anything else."""
    if isinstance(value, random.Random):
        return str(hash(value.getstate()))
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return str(value.bit_generator.state if isinstance(value, np.random.Generator) else value.get_state())
    return None


def kinds() -> tuple[type, ...]:
    """The classes of tensors that programs know."""
    return Tensor, nn.Parameter


def _shorter(path: str, names: dict[str, str]) -> str:
    """``path`` with the longest beginning that has a name already."""
    best = ""
    for end in range(len(path), 0, -1):
        if path[:end] in names and path[end : end + 1] in ("", ".", "[", "("):  # not a shorter name: x of xy
            best = path[:end]
            break
    return names[best] + path[len(best) :] if best else path


def _same_plain(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _state(thing: Any) -> dict[str, Any]:
    """What of an input a program depends on, beside its values."""
    if not isinstance(thing, Tensor):
        return {}
    array = thing._array
    return {
        "shape": array.shape, "dtype": array.dtype.str, "strides": array.strides, "view": thing._view is not None,
        "requires_grad": thing.requires_grad, "leaf": thing._edge is None, "bare": thing._grad is None,
    }  # fmt: skip


def _tensor_checks(name: str, state: dict[str, Any], grad: bool, space: dict) -> list[str]:
    """A tensor is as it was: the kinds of things that lead a program elsewhere."""
    dtype = f"d{state['dtype'][1:]}"
    space[dtype] = np.dtype(state["dtype"])
    asked = f"{name}.requires_grad" if state["view"] else f"{name}._requires_grad"
    wrong = [
        f"type({name}) is not _Tensor and type({name}) not in _kinds",
        f"type(a := {name}._array) is not _ndarray",
        f"a.shape != {state['shape']!r}",
        f"a.dtype is not {dtype} and a.dtype != {dtype}",
        f"a.strides != {state['strides']!r}"
        + (" and a.size > 1" if 0 in state["shape"] or 1 in state["shape"] else ""),
        f"({name}._view is None) is {state['view']}",
        f"{asked} is not {state['requires_grad']}",
    ]
    if state["requires_grad"]:
        wrong.append(f"({name}._edge is None) is not {state['leaf']}")
    if grad:
        wrong.append(f"({name}._grad is None) is not {state['bare']}")
    return [f"if {' or '.join(wrong)}: return None"]


def _array_checks(name: str, array: np.ndarray, used: bool, space: dict) -> list[str]:
    checks = [
        f"if type({name}) is not _ndarray or {name}.shape != {array.shape!r}"
        f" or {name}.dtype.str != {array.dtype.str!r} or {name}.strides != {array.strides!r}: return None"
    ]
    if not used:
        held = f"c{len(space)}"
        space[held] = array.tobytes()
        checks.append(f"if {name}.tobytes() != {held}: return None")
    return checks


def _value_checks(name: str, value: Any, space: dict) -> list[str]:
    if isinstance(value, _IDENTICAL):
        return [f"if {name} is not {value!r}: return None"]
    held = f"c{len(space)}"
    if isinstance(value, PLAIN):
        space[held] = value
        space[f"{held}t"] = type(value)
        if value != value:
            return [f"if type({name}) is not {held}t or {name} == {name}: return None"]
        same_zero = f" or str({name}) != {str(value)!r}" if type(value) is float and value == 0 else ""
        return [f"if type({name}) is not {held}t or {name} != {held}{same_zero}: return None"]
    if isinstance(value, (list, tuple, dict, deque, types.MappingProxyType)):
        space[held] = type(value)
        return [f"if type({name}) is not {held} or len({name}) != {len(value)}: return None"]
    if isinstance(value, (set, frozenset)):
        space[held] = frozenset(value)
        return [f"if frozenset({name}) != {held}: return None"]
    space[held] = value
    if isinstance(value, types.MethodType):  # made at each look; its function and its object have their own checks
        space[held] = types.MethodType
        return [f"if type({name}) is not {held}: return None"]
    if isinstance(value, types.FunctionType) and not is_library(value):  # so have its defaults and its closure
        space[held], space[f"{held}g"] = value.__code__, value.__globals__
        return [f"if getattr({name}, '__code__', None) is not {held} or {name}.__globals__ is not {held}g: return None"]
    if isinstance(value, IN_BYTES):
        space[f"{held}b"] = bytes(value)
        return [f"if {name} is not {held} or bytes({name}) != {held}b: return None"]
    if isinstance(value, bytearray):
        space[f"{held}b"] = bytes(value)
        return [f"if {name} is not {held} or {name} != {held}b: return None"]
    return [f"if {name} is not {held}: return None"]
