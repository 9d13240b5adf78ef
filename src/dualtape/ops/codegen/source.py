"""Writing generated code: lines and functions; the slots of tensors, nodes and views; the saved values of a node.

Names that begin with an underscore are the generator's, others are parameters of the op, so that they never collide.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from ... import _locks, modes
from ..._tensor.tensor import Tensor, wrap
from ...arrays import Batched, as_array, is_array
from ...arrays.batched.array import NotBatchable, alike
from ...arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ...arrays.kernels.numbers import DOUBLES, SINGLES, number_array
from ...autograd.node import Freed, check_not_freed, leaf_edge, next_sequence
from ...autograd.saved import (
    SavedKey,
    SavedVariable,
    entry_of,
    key_entry,
    output_entry,
    output_tensor,
    raw_key,
    saved_entry,
    stale,
)
from ...autograd.versions import UNTRACKED, bump
from ...autograd.views import (
    DEFAULT,
    MULTI_OUTPUT,
    NO_GRAD,
    View,
    attach,
    disjoint,
    history_is_current,
    may_record_write,
    rebase,
)
from ...errors import FinalError
from ...overrides.active_overrides import active_overrides
from ..op_node import check_versions, pack_node
from ..saves import ATTRIBUTE, OUTPUT

# --- from lines to a function -----------------------------------------------------------------------


class Code:
    """Lines of a function, and the names that they use."""

    def __init__(self, header: str, **names: Any) -> None:
        self.lines = [header]
        self.names = names
        self._depth = 1

    def __call__(self, *lines: str) -> None:
        """Write lines at the current indentation."""
        self.lines.extend("    " * self._depth + line for line in lines)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a header, and indent the lines written inside ``with``."""
        self(header)
        self._depth += 1
        yield
        self._depth -= 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


# Tensor and the subclasses to which operations do what they do to a Tensor: nn.Parameter, once it is loaded
plain_types: set[type] = {Tensor}

# What generated code may use.
NAMES: dict[str, Any] = {
    "_Tensor": Tensor,
    "_plain_types": plain_types,
    "_ndarray": np.ndarray,
    "_scalar": np.generic,
    "_asarray": np.asarray,
    "_new": object.__new__,
    "_current": modes.current,
    "_active_overrides": active_overrides,
    "_Batched": Batched,
    "_as_array": as_array,
    "_is_array": is_array,
    "_alike": alike,
    "_single": np.dtype(np.float32),
    "_double": np.dtype(np.float64),
    "_SINGLES": SINGLES,
    "_DOUBLES": DOUBLES,
    "_number_array": number_array,
    "_fp_errors": fp_errors,
    "_ignore_fp_errors": ignore_fp_errors,
    "_restore_fp_errors": restore_fp_errors,
    "_wrap": wrap,
    "_View": View,
    "_DEFAULT": DEFAULT,
    "_NO_GRAD": NO_GRAD,
    "_MULTI_OUTPUT": MULTI_OUTPUT,
    "_attach": attach,
    "_history_is_current": history_is_current,
    "_leaf_edge": leaf_edge,
    "_next_sequence": next_sequence,
    "_entry_of": entry_of,
    "_key_entry": key_entry,
    "_raw_key": raw_key,
    "_SavedKey": SavedKey,
    "_saved_entry": saved_entry,
    "_output_entry": output_entry,
    "_pack_node": pack_node,
    "_bump": bump,
    "_UNTRACKED": UNTRACKED,
    "_disjoint": disjoint,
    "_may_record_write": may_record_write,
    "_rebase": rebase,
    "_Freed": Freed,
    "_check_not_freed": check_not_freed,
    "_stale": stale,
    "_SavedVariable": SavedVariable,
    "_output_tensor": output_tensor,
    "_check_versions": check_versions,
    # errors of a forward on unusual arguments: the reference path then handles them, or fails with the right message
    "_FinalError": FinalError,
    "_FAILURES": (RuntimeWarning, ValueError, TypeError, AttributeError, OverflowError, NotBatchable),
    "__name__": __name__,
}


def compiled(code: Code, title: str, names: dict[str, Any]) -> Any:
    """Return the function that ``code`` defines, with ``names`` as globals; ``title`` is its file in tracebacks."""
    filename = f"<dualtape: {title}>"
    linecache.cache[filename] = (len(code.text), None, code.text.splitlines(True), filename)
    names.update(NAMES)
    names.update(code.names)
    found: dict[str, Any] = {}
    exec(compile(code.text, filename, "exec"), names, found)
    (function,) = found.values()
    return function


def lazily(write: Callable[[Any], Code], op: Any, name: str, title: str) -> Any:
    """Return a function named ``name`` whose source ``write(op)`` is written when it is first called.

    It is one object from the beginning, which gets its code later: what users hold is what runs.
    """
    names: dict[str, Any] = {"__name__": __name__, "_written": _written, "_write": write, "_op": op, "_title": title}
    function = names["_function"] = FunctionType(_first_call.__code__, names, name)
    return function


def _first_call(*args: Any, **kwargs: Any) -> Any:
    return _written(_function)(*args, **kwargs)  # type: ignore[name-defined] # noqa: F821 - names of the copy


def _written(function: Any) -> Callable:
    with _locks.making:
        if function.__code__ is _first_call.__code__:
            names = function.__globals__
            new = compiled(names["_write"](names["_op"]), names["_title"], names)
            function.__defaults__ = new.__defaults__
            function.__code__ = new.__code__  # last: until then another thread comes here
    return function


# --- slots ------------------------------------------------------------------------------------------


def _filled(name: str, kind: str, slots: dict[str, str]) -> list[str]:
    """Return lines that make an instance of ``kind``; slots of equal value share an assignment."""
    by_value: dict[str, list[str]] = {}
    for slot, value in slots.items():
        by_value.setdefault(value, []).append(f"{name}.{slot}")
    return [f"{name} = _new({kind})", *(f"{' = '.join(targets)} = {value}" for value, targets in by_value.items())]


_TENSOR = {slot: "None" for slot in Tensor.__slots__ if not slot.startswith("__")} | {"_requires_grad": "False"}


def new_tensor(array: str, name: str = "_out", **slots: str) -> list[str]:
    """Return lines that make a tensor over an array."""
    return _filled(name, "_Tensor", {**_TENSOR, "_array": array, **slots})


def new_node(kind: str, edges: str, saved: str, shape: str, dtype: str) -> list[str]:
    """Return lines that make a node of one result."""
    slots = {"_edges": edges, "_saved": saved, "_shape": shape, "_dtype": dtype}
    return _filled("_node", kind, {**slots, "_extra": "None", "_seq": "_next_sequence()"})


def node_kind(code: Code, op: Any) -> str:
    """Return the expression for the class of an op's node, which may depend on the arguments."""
    if op.variant is None:
        code.names["_node_type"] = op.node_class()
        return "_node_type"
    code.names["_variant"] = op.variant
    kind = f"_op.node_class(_variant({', '.join(op.params)}))"
    if op.numpy_forward is None or op.required > 1:
        return kind
    code.names["_node_alone"] = op.node_class(op.variant(None, *op.defaults))
    return f"_node_alone if _alone else {kind}"


def new_view(base: str, step: str, creation: str, seen: str, of: str = "_out") -> list[str]:
    """Return lines that set a tensor's relation to its base."""
    slots = {"base": base, "step": step, "creation": creation, "seen": seen}
    return [*_filled("_view", "_View", slots), f"{of}._view = _view"]


def edge(tensor: str) -> str:
    """Return the expression for the edge of a tensor that requires grad and whose history is current."""
    return f"{tensor}._edge or _leaf_edge({tensor})"


def is_plain(value: str) -> str:
    """Return the condition that a value is a tensor without overrides."""
    return f"type({value}) is _Tensor or type({value}) in _plain_types"


# --- what a node saves ------------------------------------------------------------------------------


def saved_values(
    op: Any, needs: list[str], tensor: Callable[[int], str], array: Callable[[int], str], output: Callable[[int], str]
) -> str:
    """Return the expression for the tuple that a node of ``op`` saves: the values named by formulas of inputs that need
    a gradient.

    ``needs`` are conditions, one for each input; ``tensor``, ``array`` and ``output`` give the expressions of an
    argument, of its array, and of the entry of a result, by their number.
    """
    parts = []
    for k, ((_, kind, number), (_, place, what)) in enumerate(zip(op.saves, op.sources, strict=True)):
        users = op.users[k]
        if not users:
            parts.append("None")
            continue
        if kind == OUTPUT:
            part = output(number)
        elif what != "value":
            part = f"{array(place)}.{what}"
            if place == op.listed_place:
                part = f"[_each.{what} for _each in {array(place)}]"
            elif place in op.optional_places:
                part = f"getattr({array(place)}, {what!r}, ())"
        elif kind == ATTRIBUTE:
            part = f"_key_entry({tensor(place)})" if op.params[place] == op.key else tensor(place)
        else:
            t = tensor(place)
            part = f"{t} if type({t}) is _Tensor and {t}._version_counter is None else _entry_of({t})"
        if len(users) < len(op.inputs):
            part = f"({part}) if {' or '.join(needs[i] for i in users)} else None"
        parts.append(part)
    return f"({''.join(part + ', ' for part in parts)})"


def saver(op: Any) -> Code:
    """Return the source of the function that makes saved values on the reference path, from all arguments, their
    arrays, the entries of the results, and which inputs need a gradient.
    """
    code = Code("def save(values, raws, results, needs):")
    tuple_of = saved_values(
        op, [f"needs[{i}]" for i in range(len(op.inputs))], "values[{}]".format, "raws[{}]".format, "results[{}]".format
    )
    code(f"return {tuple_of.replace('_entry_of(', '_saved_entry(')}")
    return code
