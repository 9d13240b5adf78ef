"""Guards: one generated Python function for each program, which decides whether the program fits a call.

The function gets the compiled function and the leaves of the arguments. It returns the inputs of the program, in order,
or None if a check fails.
"""

from __future__ import annotations

import linecache
import re
import types
from collections import deque
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from .. import nn
from .._tensor.tensor import Tensor
from ..arrays.traced.number import INTEGER_BOUND, array_of_number
from ..ops.numpy_tensor import NumpyTensor
from .dependencies import IN_BYTES, PLAIN, Dependencies, Dependency, is_spelled
from .purity import is_library
from .states import stream_of

_IN_PLACE = (list, dict, set, frozenset, deque, bytearray, types.MappingProxyType, np.ndarray, *IN_BYTES)
_APART = (list, dict, deque, types.FunctionType)  # compared by contents, not by identity
_ABOUT_GRADS = frozenset({"grad", "_grad", "backward", "step", "zero_grad"})
_ABOUT_STRIDES = frozenset({"stride", "strides", "__array_interface__"})
_OF_MODULES = frozenset(
    {
        "_parameters",
        "_buffers",
        "_modules",
        "_non_persistent_buffers_set",
        "_backward_pre_hooks",
        "_backward_hooks",
        "_forward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs",
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
    }
)
_CONTAINERS = (dict, set)
_ATTRIBUTE = re.compile(r"(.*\.__dict__)\['(\w+)'\]")
_ENDS = ("", ".", "[", "(", ")", ",", " ")
_CALLED = re.compile(r"(?:len\(|type\(|vars\(|hasattr\(|\()+")
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

    def __init__(self, dependencies: Dependencies, leaves: Sequence = (), varying: Container[int] = ()) -> None:
        self.inputs: list[Any] = []
        self.sources: list[str] = []
        # by leaf: the input that holds a number that may be another one at each call, and the number's type
        self.numbers: dict[int, tuple[int, type]] = {}
        self.dependencies = dependencies.found
        self._keys = dependencies.keys
        self.watches_grads = dependencies.every_name or not _ABOUT_GRADS.isdisjoint(dependencies.names)
        self._strides = dependencies.every_name or not _ABOUT_STRIDES.isdisjoint(dependencies.names)
        self._compares = dependencies.compares or any(
            [isinstance(key, types.FunctionType) for key in dependencies.keys.values()]
        )
        self.check: Callable[[Any, Any], Any] = lambda f, leaves: None
        known: dict[int, int] = {}
        for dependency in self.dependencies:
            if isinstance(dependency.value, (Tensor, np.ndarray)) and id(dependency.value) not in known:
                known[id(dependency.value)] = len(self.inputs)
                self.inputs.append(dependency.value)
                self.sources.append(dependency.source)
        self._numbers = known
        for k, leaf in enumerate(leaves):
            if k in varying:
                self.numbers[k] = len(self.inputs), type(leaf)
                self.inputs.append(array_of_number(leaf))
                self.sources.append(f"leaves[{k}]")
        paths = {f"leaves[{k}]" for k in self.numbers}
        self.dependencies = [dependency for dependency in self.dependencies if dependency.source not in paths]
        self._states = [_state(thing) for thing in self.inputs]  # before the program runs

    def compare_setting(self, setting: Callable[[], str]) -> None:
        """Let the check compare the result of a function without arguments."""
        name = f"_setting{len(self._keys)}"
        self._keys[name] = setting
        self.dependencies.append(Dependency(f"{name}()", setting()))

    def write(self, used: set[int], grads: set[int]) -> None:
        """Generate the check: for the inputs whose numbers are in ``used``; those in ``grads`` have their ``.grad``
        checked.

        Arrays of NumPy's that the program does not use as inputs are compared: code may have looked at them.
        """
        self.used = sorted(used)
        body: list[str] = []
        space: dict[str, Any] = {
            **self._keys,
            "_Tensor": Tensor,
            "_ndarray": np.ndarray,
            **{name: kind for kind, name in _KINDS.items()},
        }
        names: dict[str, str] = {}
        named: dict[int, str] = {}
        objects: dict[int, str] = {}
        # Empty containers by object: modules have many of them.
        empty: dict[str, list[str]] = {}
        left: list[str] = []
        for k, (input_index, number_type) in self.numbers.items():
            held = f"t{k}"
            space[held], space["_array_of_number"] = number_type, array_of_number
            body.append(f"n{k} = leaves[{k}]")
            names[f"leaves[{k}]"] = f"n{k}"
            in_bounds = f" or not -{INTEGER_BOUND} <= n{k} <= {INTEGER_BOUND}" if number_type is int else ""
            body.append(f"if type(n{k}) is not {held}{in_bounds}: return None")
            if input_index in used:
                body.append(f"a{k} = _array_of_number(n{k})")
                names[f"the array of leaves[{k}]"] = named[input_index] = f"a{k}"
        apart: list[str] = []  # things that were different ones
        for dependency in self.dependencies:
            value, path = dependency.value, dependency.source
            number = self._numbers.get(id(value)) if isinstance(value, (Tensor, np.ndarray)) else None
            if (
                path in names
                or "._grad" in path
                and any([path.startswith(each) or f"({each}" in path for each in left])
            ):
                continue
            if number is not None and number not in used and path.endswith("._grad") and not self.watches_grads:
                left.append(path)
                continue
            if attribute := _ATTRIBUTE.fullmatch(path):
                owner, key = attribute.groups()
                if owner not in names:
                    body.append(f"v{len(names)} = {_shorter(owner, names)}")
                    names[owner] = f"v{len(names)}"
                if key in _OF_MODULES and isinstance(value, _CONTAINERS) and not value:
                    empty.setdefault(owner, []).append(_shorter(path, names))
                    continue
            if path.startswith("len("):
                body.append(f"if {_shorter(path, names)} != {value}: return None")
                continue
            name = f"v{len(names)}"
            body.append(f"{name} = {_shorter(path, names)}")
            names[path] = name
            if number is not None and number in named:
                body.append(f"if {name} is not {named[number]}: return None")
            elif number is not None:
                named[number] = name
                apart.append(name)
                state = self._states[number]
                body.extend(
                    _tensor_checks(name, state, number in grads or self.watches_grads, space, self._strides)
                    if isinstance(value, Tensor)
                    else _array_checks(name, value, None if number in used else self._contents[id(value)], space)
                )
            elif id(value) in objects and not isinstance(value, PLAIN):  # what it leads to was looked at there
                body.append(f"if {name} is not {objects[id(value)]}: return None")
            else:
                objects[id(value)] = name
                if isinstance(value, _APART) and (self._compares or path.startswith("leaves[")):
                    apart.append(name)
                body.extend(_value_checks(name, value, self._contents.get(id(value)), space))
        body += [f"if {' or '.join(each)}: return None" for each in empty.values()]
        body += _distinct(apart)
        given = "".join(f"{named[number]}, " for number in self.used)
        self._body, self._space, self._result = body, space, f"return ({given})"
        self.check = self._written(body)
        self._again: Callable[[Any, Any], Any] | None = None
        self._paths = {name: path for path, name in names.items()}
        self.lines = [line for line in body if line.startswith("if")]

    def _written(self, body: list[str]) -> Callable[[Any, Any], Any]:
        text = ["def check(f, leaves):", "    try:", *[f"        {line}" for line in (*body, self._result)]]
        text += ["    except (AttributeError, KeyError, IndexError, TypeError, ValueError):", "        return None", ""]
        source = "\n".join(text)
        filename = f"<dualtape: guard {id(self):x}, {len(body)} lines>"
        space = dict(self._space)
        exec(compile(source, filename, "exec"), space)
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        return space.pop("check")  # which its globals would hold, and it them

    def why_not_again(self, function: Any, leaves: Any, inputs: tuple) -> str | None:
        """Return why the function cannot run as in a call that found ``inputs``; None if it can.

        Whether there are gradients does not count: it is the backward that makes them.
        """
        body = [line for line in self._body if "._grad is None" not in line]
        if self._again is None:
            self._again = self.check if len(body) == len(self._body) else self._written(body)
        found = self._again(function, leaves)
        if found is None:
            return self.why(function, leaves, body)[1]
        given = {place for place, _ in self.numbers.values()}
        same = [
            np.array_equal(a, b, equal_nan=True) if number in given else a is b
            for number, a, b in zip(self.used, found, inputs, strict=True)
        ]
        return None if all(same) else "a tensor that it uses is another one"

    def why(self, function: Any, leaves: Any, body: list[str] | None = None) -> tuple[tuple, str]:
        """Return why the program does not fit a call: how many checks passed, and which one failed."""
        space = {**self._space, "f": function, "leaves": leaves}
        path = "the arguments"
        for number, line in enumerate(self._body if body is None else body):
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

    def same_objects(self, function: Any, leaves: list, written: Container[int] = ()) -> str | None:
        """Return the first dependency whose object was replaced while the program ran, or None.

        ``written`` has the numbers of the inputs that the program writes to.
        """
        space = {**self._keys, "f": function, "leaves": leaves}
        grads = [
            d.source for d in self.dependencies if d.source.endswith("._grad") and _now(d.source, space) is not d.value
        ]
        for dependency in self.dependencies:
            if any([path in dependency.source for path in grads]):
                # Gradients are set by programs, and set again by the replay.
                continue
            try:
                now = eval(dependency.source, space)
            except (AttributeError, KeyError, IndexError, TypeError, ValueError):
                return dependency.source
            if now is not dependency.value and not (isinstance(now, PLAIN) and _same_plain(now, dependency.value)):
                return dependency.source
            if stream_of(now) != self._streams.get(id(now)):
                return f"{dependency.source}, a generator"
            if id(now) in self._contents and self._numbers.get(id(now)) not in written:
                if _content(now) != self._contents[id(now)]:
                    return dependency.source
        return None

    def put_back(self, function: Any, leaves: list) -> Callable[[], None]:
        """Return a function that restores the present state of lists, dictionaries, sets and attributes, as far as
        possible.
        """
        held = [(d.value, d.value.copy()) for d in self.dependencies if isinstance(d.value, (list, dict, set, deque))]
        space = {**self._keys, "f": function, "leaves": leaves}
        others = [(d.source, d.value) for d in self.dependencies if not isinstance(d.value, (list, dict, set, deque))]

        def restore() -> None:
            for container, copy in held:
                container.clear()
                container.extend(copy) if isinstance(container, (list, deque)) else container.update(copy)
            for path, value in others:
                if path.endswith(("]", ".cell_contents")) and _now(path, space) is not value:
                    exec(f"{path} = _value", {**space, "_value": value})

        return restore

    def remember(self) -> None:
        """Store the contents of mutable dependencies, and the states of generators."""
        self._streams = {id(d.value): stream_of(d.value) for d in self.dependencies if stream_of(d.value) is not None}
        self._contents = {id(d.value): _content(d.value) for d in self.dependencies if isinstance(d.value, _IN_PLACE)}

    def forget(self) -> None:
        """Drop references to the objects that the program was traced with."""
        self.dependencies, self.inputs, self._keys = [], [], {}
        self._contents, self._streams = {}, {}


def readable(path: str) -> str:
    """Return the source of a dependency in a form for people."""
    for old, new in (
        (".__dict__['", "."),
        (".__globals__['", ": the global "),
        ("['", "."),
        ("']", ""),
        (".cell_contents", ""),
    ):
        path = path.replace(old, new)
    return path.replace("leaves[", "argument [")


_WORDS = (
    ("requires_grad", "requires_grad"),
    ("_grad is None", ".grad"),
    ("_edge is None", "is (not) a leaf"),
    ("_view is None", "is (not) a view"),
    ("type(", "is of another type"),
    (" is not ", "is another object"),
)


def _changed(part: str, space: dict) -> str:
    """Return a description of the check that failed."""
    left, _, right = part.rpartition(" and ")[2].partition(" != ")
    if right:
        was, now = eval(right, space), eval(left, space)
        return f"{left.rpartition('.')[2] if '.' in left else 'it'} was {was!r}, is {now!r}"
    for word, words in _WORDS:
        if word in part:
            return f"{words} has changed" if words in ("requires_grad", ".grad") else words
    return part


def _now(path: str, space: dict) -> Any:
    """Return the present object of a source, None if there is none."""
    try:
        return eval(path, space)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return None


def _content(value: Any) -> Any:
    """Return the contents of a mutable object, as far as they are not dependencies themselves."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, (dict, set, frozenset, types.MappingProxyType)):
        return eval(_members("value", value))
    return bytes(value) if isinstance(value, (bytearray, *IN_BYTES)) else len(value)


def _members(name: str, value: Any) -> str:
    """Return the expression that identifies the keys of a dictionary, or the members of a set, and their order."""
    if all([type(key) is str for key in value]):
        return f"tuple({name})"
    return f"repr([*{name}])" if all(map(is_spelled, value)) else f"tuple(map(id, {name}))"


def _distinct(names: list[str]) -> list[str]:
    """Emit the guard that objects distinct at trace time are still distinct."""
    if len(names) < 4:
        pairs = [f"{a} is {b}" for k, a in enumerate(names) for b in names[:k]]
        return [f"if {' or '.join(pairs)}: return None"] if pairs else []
    return [f"if len({{{', '.join(f'id({name})' for name in names)}}}) != {len(names)}: return None"]


_KINDS: dict[type, str] = {Tensor: "_Tensor", nn.Parameter: "_Parameter", NumpyTensor: "_NumpyTensor"}


def kinds() -> tuple[type, ...]:
    """Return the classes of tensors that programs support."""
    return tuple(_KINDS)


def _shorter(path: str, names: dict[str, str]) -> str:
    """Return ``path`` with the longest prefix that has a name replaced by it."""
    call = _CALLED.match(path)
    start = call.end() if call else 0
    for end in range(len(path), start, -1):
        if path[start:end] in names and path[end : end + 1] in _ENDS:  # not a shorter name: x of xy
            return path[:start] + names[path[start:end]] + path[end:]
    return path


def _same_plain(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def _state(thing: Any) -> dict[str, Any]:
    """Return the properties of an input, beside its values, that a program depends on."""
    if not isinstance(thing, Tensor):
        return {}
    array = thing._array
    return {
        "shape": array.shape,
        "dtype": array.dtype.str,
        "strides": array.strides,
        "view": thing._view is not None,
        "kind": type(thing),
        "requires_grad": thing.requires_grad,
        "leaf": thing._edge is None,
        "bare": thing._grad is None,
    }


def _tensor_checks(name: str, state: dict[str, Any], grad: bool, space: dict, strides: bool) -> list[str]:
    """Return the checks of a tensor's properties; ``strides`` also compares those of axes without effect, in arrays of
    one element or none.
    """
    dtype = f"d{state['dtype'][1:]}"
    space[dtype] = np.dtype(state["dtype"])
    asked = f"{name}.requires_grad" if state["view"] else f"{name}._requires_grad"
    kind = _KINDS[state["kind"]]
    wrong = [
        f"type({name}) is not {kind}",
        f"type(a := {name}._array) is not _ndarray",
        f"a.shape != {state['shape']!r}",
        f"a.dtype is not {dtype} and a.dtype != {dtype}",
        f"a.strides != {state['strides']!r}"
        + (" and a.size > 1" if not strides and (0 in state["shape"] or 1 in state["shape"]) else ""),
        f"({name}._view is None) is {state['view']}",
        f"{asked} is not {state['requires_grad']}",
    ]
    if state["requires_grad"]:
        wrong.append(f"({name}._edge is None) is not {state['leaf']}")
    checks = [f"if {' or '.join(wrong)}: return None"]
    return [*checks, f"if ({name}._grad is None) is not {state['bare']}: return None"] if grad else checks


def _array_checks(name: str, array: np.ndarray, content: bytes | None, space: dict) -> list[str]:
    checks = [
        f"if type({name}) is not _ndarray or {name}.shape != {array.shape!r}"
        f" or {name}.dtype.str != {array.dtype.str!r} or {name}.strides != {array.strides!r}: return None"
    ]
    if content is not None:
        held = f"c{len(space)}"
        space[held] = content
        checks.append(f"if {name}.tobytes() != {held}: return None")
    return checks


def _value_checks(name: str, value: Any, content: Any, space: dict) -> list[str]:
    """Return the checks of a value; ``content`` is its contents at trace time, if it is mutable."""
    if isinstance(value, _IDENTICAL):
        return [f"if {name} is not {value!r}: return None"]
    held = f"c{len(space)}"
    space[f"{held}t"] = type(value)
    if isinstance(value, PLAIN):
        space[held] = value
        if value != value:  # of a complex number, one part may be a number
            return [f"if type({name}) is not {held}t or str({name}) != {str(value)!r}: return None"]
        signed = (
            isinstance(value, (complex, np.complexfloating)) or isinstance(value, (float, np.floating)) and not value
        )
        same_zero = f" or str({name}) != {str(value)!r}" if signed else ""
        return [f"if type({name}) is not {held}t or {name} != {held}{same_zero}: return None"]
    if isinstance(value, (dict, set, frozenset, types.MappingProxyType)):
        members = _members(name, value)
        # a single key is looked up
        if type(value) is dict and len(value) == 1 and members == f"tuple({name})" or not value:
            return [f"if type({name}) is not {held}t or len({name}) != {len(value)}: return None"]
        space[held] = content
        return [f"if type({name}) is not {held}t or {members} != {held}: return None"]
    if isinstance(value, (list, tuple, deque)):
        return [f"if type({name}) is not {held}t or len({name}) != {len(value)}: return None"]
    # A method is made at each access; its function and its object have their own guards.
    if isinstance(value, types.MethodType):
        return [f"if type({name}) is not {held}t: return None"]
    if isinstance(value, types.FunctionType) and not is_library(value):  # so have its defaults and its closure
        space[held], space[f"{held}g"] = value.__code__, value.__globals__
        return [f"if getattr({name}, '__code__', None) is not {held} or {name}.__globals__ is not {held}g: return None"]
    space[held] = value
    if isinstance(value, (bytearray, *IN_BYTES)):
        space[f"{held}b"] = content
        return [f"if {name} is not {held} or bytes({name}) != {held}b: return None"]
    return [f"if {name} is not {held}: return None"]
