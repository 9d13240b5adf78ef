"""A specialization: a traced program with its guard, and its effects on tensors from outside."""

from __future__ import annotations

import gc
import itertools
import operator
import random
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import modes
from .._tensor import dtypes
from .._tensor.tensor import Tensor, wrap
from ..arrays.traced.array import Traced
from ..arrays.traced.number import TracedNumber, is_traced, number_in
from ..arrays.traced.tape import READ, SHAPE, Tape, Value
from ..autograd.api import grad
from ..autograd.function import FunctionCtx
from ..autograd.node import AccumulateGrad, Freed
from ..autograd.versions import caller, release
from ..ops.numpy_tensor import marked
from ..pytree import TreeSpec, tree_exchange, tree_flatten, tree_holds_all, tree_nodes, tree_unflatten
from . import backends, replay
from .backward import BackwardProgram, Derivative, InputBackward, cut_off, free, hooks_hidden
from .dependencies import Dependencies, only_computes
from .guards import Guard, kinds, readable
from .purity import entropy_watched
from .records import as_tree, is_record
from .rerun import Rerun, go_to, stream, version
from .results import ARRAY, INPUT, NUMBER, PART, TENSOR, VIEW, input_of, sort_results, viewed
from .tracer import Tracer, Untraceable

_OWNING, _WRITEABLE = 0x4, 0x400  # bits of NumPy's flags
# Up to so many results, each has a backward of its own, for gradients of one result alone.
_SINGLE = 8


class Refusal(str):
    """The reason why there is no program; with ``retry`` the next call may have one, as this one only prepared
    something.
    """

    retry = False
    numbers_read: frozenset[int] = frozenset()  # the arguments that are to be constants of the next trace


class Unfinished(Exception):
    """Raised when a traced run fails, perhaps because of traced numbers, and has changed nothing."""


class Specialization:
    """A traced path through a function, for one kind of arguments.

    Attributes
    ----------
    guard : Guard
        When it holds.
    forward : callable
        Arrays of the inputs to arrays of the results, then new gradients, then what the backward needs.
    derivative : Derivative or None
        How gradients go back; None if no result has a history.
    """

    def __init__(self, guard: Guard, tape: Tape) -> None:
        self.guard = guard
        self.spec: TreeSpec | None = None
        self.results: list[tuple[str, Any]] = []
        self.requires: list[int] = []  # of the arrays: leaves that require grad
        self.counts: list[tuple[int, int]] = []  # those that were written to, and how often
        self.writes: list[tuple[int, int]] = []
        self.grads: list[tuple[int, Any]] = []
        self.own_grads: list[tuple[int, int]] = []  # results that have gradients
        self.derivative: Derivative | None = None
        self.differentiable: list[int] = []  # the arrays that have a history
        self.freed: list[int] = []  # and those whose history a backward inside has freed
        self.numbers: dict[int, Any] = {}  # by index: the numbers among the arguments that are constants
        self.of_numpy: list[int] = []  # the results that have NumPy's methods
        # Results that are the same object as an earlier one.
        self.repeated: list[tuple[int, int]] = []
        self.count = 0
        # Where arrays that stand for several results are among the program's results.
        self.spread: list[int] = []
        self.linked: list[tuple[int, int]] = []  # results that count their writes together
        self.changes = self.single = False
        self.generators: list[Any] = []  # what it draws from
        self.rerun: Rerun | None = None  # what must be kept for the function to be run again as it ran
        # Inputs that are written while other inputs share their memory.
        self.shared: list[tuple[int, int]] = []
        self.forward: Callable[..., tuple]
        self.facts: dict[str, Any] = {"traced": len(tape.instructions)}

    @property
    def native(self) -> list[dict]:
        """Facts about its native programs, for reports."""
        return [f for f in map(self.facts.get, ("native forward", "native backward")) if isinstance(f, dict)]

    @property
    def arena(self) -> int:
        """The bytes of their arenas."""
        return sum(facts["arena"] for facts in self.native)

    def run(self, found: tuple, call: tuple) -> Any:
        """Replay the program on the inputs that the guard found, for a call with the arguments ``call``: their leaves
        and their tree, None for a flat sequence.
        """
        given = [x._array if isinstance(x, Tensor) else x for x in found]
        if self.writes and not self._may_write(given):
            raise replay.Mismatch
        for k, _ in self.writes:
            counter = found[k]._version_counter
            if counter is not None and len(counter) > 2:
                release(counter)
        drawn = [stream(g) for g in self.generators] if self.generators else []
        before = None if self.rerun is None else self.rerun.before(found, drawn)
        try:
            arrays = self.forward(*given)
        except Exception as error:  # memory is as it was, and so are the streams
            for generator, place in zip(self.generators, drawn, strict=True):
                go_to(generator, place)
            if isinstance(error, replay.Mismatch):
                raise
            raise replay.Raised from error
        if self.spread:
            arrays = (*[arrays[k] for k in self.spread], *arrays[max(self.spread) + 1 :])
        results = [wrap(array) for array in arrays[: self.count]]
        if self.changes:
            self._change(results, found, arrays)
        if self.derivative is not None:
            self.derivative.attach(results, self.differentiable, found, arrays, call, before)
        return results[0] if self.single else self.tree(results, found)

    def _may_write(self, given: list) -> bool:
        """Return whether the written inputs may be written, and share memory with the same others as when they were
        traced.
        """
        flags = [a.flags.num for a in given]
        for k, _ in self.writes:
            if not flags[k] & _WRITEABLE:
                return False
        owners = given
        if not all([f & _OWNING for f in flags]):
            owners = [a if a.base is None else a.base for a in given]
            if not all([type(owner) is np.ndarray and owner.flags.owndata for owner in owners]):
                owners = []
        if owners and len(set(map(id, owners))) == len(owners):
            return not self.shared  # each has memory of its own
        return _sharing(given, self.writes) == self.shared

    def _change(self, results: list[Tensor], found: tuple, arrays: tuple) -> None:
        """Apply the effects of a call beside its results."""
        self.mark(results)
        if self.writes:
            where = caller()
            for k, count in self.writes:
                counter = found[k]._version_counter or found[k]._shared_counter
                counter[0] += count
                counter[1] = where
        for k, place in self.grads:
            found[k]._grad = None if place is None else results[place] if place < self.count else wrap(arrays[place])
        for k, place in self.own_grads:
            results[k]._grad = results[place] if place < self.count else wrap(arrays[place])
        for k in self.freed:
            free(results[k])

    def mark(self, results: list[Tensor]) -> None:
        """Set the properties of results beside their values: leaves that require grad, versions."""
        for k in self.requires:
            results[k]._requires_grad = True
        for k, other in self.linked:
            results[k]._version_counter = results[other]._shared_counter
        for k, count in self.counts:
            results[k]._shared_counter[0] = count

    def tree(self, results: list, found: tuple) -> Any:
        """Return the results in the structure that the function returns."""
        given = [
            results[what]
            if kind is TENSOR
            else results[what]._array
            if kind is ARRAY
            else found[what]
            if kind is INPUT
            else viewed(found[what[0]], what[1])
            if kind is VIEW
            else viewed(results[what[0]], what[1])
            if kind is PART
            else number_in(results[what[0]]._array, what[1])
            if kind is NUMBER
            else what
            for kind, what in self.results
        ]
        for k in self.of_numpy:
            marked(given[k])
        for k, earlier in self.repeated:
            given[k] = given[earlier]
        return given[0] if self.spec is None else tree_unflatten(given, self.spec)

    def pick(self, result: Any) -> list[Tensor]:
        """Return the results of a call that have a history."""
        found = [result] if self.spec is None else tree_flatten(as_tree(result, []))[0]
        numbers = {what: k for k, (kind, what) in enumerate(self.results) if kind is TENSOR}
        parts = {what[0]: k for k, (kind, what) in enumerate(self.results) if kind is PART}
        return [found[numbers[k]] if k in numbers else found[parts[k]]._view.base for k in self.differentiable]


def trace(
    backend: str,
    function: Any,
    args: tuple,
    kwargs: dict,
    leaves_in: list,
    spec: TreeSpec,
    varying: frozenset[int] = frozenset(),
) -> tuple[Any, Specialization | str]:
    """Run ``function`` once, as it is.

    Returns its result, and the specialization or a :class:`Refusal`. The numbers among ``leaves_in`` whose indices are
    in ``varying`` become inputs of the program.
    """
    begun = time.perf_counter()
    try:
        dependencies = Dependencies(function, leaves_in, spec)
    except Exception as error:
        return function(*args, **kwargs), f"what it depends on could not be followed: {error}"
    for dependency in dependencies.found:
        if isinstance(dependency.value, Tensor) and (unknown := _unknown(dependency.value)) is not None:
            return function(*args, **kwargs), f"it uses {unknown}"
    guard = Guard(dependencies, leaves_in, frozenset() if dependencies.may_ask_for_types else varying)
    guard.remember()
    tracer = Tracer(guard.inputs, backend, guard.numbers)
    states = _foreign_states()
    collecting = gc.isenabled()
    default = dtypes.default_float()
    copies: list[tuple[Any, Any]] = []
    try:
        gc.disable()  # nothing of what is written down is garbage
        tracer.begin()
        index = itertools.count()
        given = tree_exchange((args, kwargs), spec, lambda leaf: tracer.leaf(next(index), leaf), copies)
        tracer.containers = {id(node) for pair in ((args, kwargs), given) for node in tree_nodes(pair)}
        known = [*leaves_in, *[dependency.value for dependency in guard.dependencies]]
        tracer.containers |= {id(v) for v in known if isinstance(v, (list, dict, deque)) or is_record(v)}
        if not all(map(tree_holds_all, tree_nodes(given))):
            tracer.tape.fail("it is given an object that holds more than it is registered to hold")
        leaves_given, spec_given = tree_flatten(given)
        watched = entropy_watched(tracer.tape.fail) if dependencies.may_ask_for_entropy else nullcontext()
        try:
            with watched:
                result = tracer.run(lambda: function(*given[0], **given[1]))
        except Exception as error:
            if guard.numbers and _is_untouched(tracer, guard, function, leaves_in, states):
                raise Unfinished from error
            if _is_changed(given, leaves_given, spec_given):
                _write_back(copies)
            raise
        if _is_changed(given, leaves_given, spec_given):
            tracer.tape.fail("it changes a list or dictionary that it was given")
            _write_back(copies)
        if default is not dtypes.default_float():
            tracer.tape.fail("it sets the default dtype")
        if _foreign_states(*states) != states:
            tracer.tape.fail("it draws from a generator of Python's or NumPy's own: draw from dualtape's")
        specialization: Specialization | str
        try:
            specialization = _built(backend, function, args, kwargs, leaves_in, guard, tracer, result)
        except Untraceable as error:
            specialization = Refusal(_sentence(error.reason, error.where))
            specialization.retry = error.retry
            specialization.numbers_read = tracer.tape.numbers_read
        except Exception as error:
            # A defect of the compiler is no reason for the call to fail.
            specialization = Refusal(f"an internal error, {type(error).__name__}: {error}. Please report it")
    finally:
        try:
            tracer.tape.close()
            tracer.end()
        except BaseException:  # an interrupt: what it left is put back
            tracer.end()
            raise
        finally:
            if collecting:
                gc.enable()
    if isinstance(specialization, str):
        result = _settled(result)
        _settle_others(tracer.tape)
        return result, specialization
    result = _first_results(specialization, tracer, (leaves_in, spec))
    # The graph that the run recorded refers to the tracer, and these tensors to that graph.
    tracer.results = []
    guard.forget()
    specialization.facts["seconds"] = time.perf_counter() - begun
    return result, specialization


def _is_changed(given: Any, leaves: list, spec: TreeSpec) -> bool:
    """Return whether the contents of argument containers changed."""
    leaves_now, spec_now = tree_flatten(given)
    return spec_now != spec or any(a is not b for a, b in zip(leaves_now, leaves, strict=True))


def _is_untouched(tracer: Tracer, guard: Guard, function: Any, leaves: list, states: tuple) -> bool:
    """Return whether a failed run has left everything that the function can reach unchanged."""
    if any(value.memory.written for value in tracer.values) or tracer.drawn or _foreign_states(*states) != states:
        return False
    try:
        if tracer.changes() != ([], []):  # t_() writes nothing, but counts as a write
            return False
    except Untraceable:
        return False
    return guard.same_objects(function, leaves, set()) is None


def _unknown(tensor: Tensor) -> str | None:
    """Return the property of a tensor that programs do not support, or None."""
    if type(tensor) not in kinds():
        return f"a {type(tensor).__name__}"
    if type(tensor._array) is not np.ndarray:
        return f"a tensor over a {type(tensor._array).__name__} array"
    return "an inference tensor" if tensor.is_inference() else None


def _write_back(copies: list[tuple[Any, Any]]) -> None:
    """Apply changes of substitute containers to the originals."""
    originals = {id(copy): original for original, copy in copies}

    def own(item: Any) -> Any:
        if is_traced(item):
            return item.plain()
        return item.values if type(item) is Traced else originals.get(id(item), item)

    for original, copy in copies:
        if isinstance(original, (list, deque)):
            items = [own(item) for item in copy]
            original.clear()
            original.extend(items)
        elif isinstance(original, dict):
            pairs = [(key, own(item)) for key, item in copy.items()]
            original.clear()
            original.update(pairs)


def _sentence(reason: str, where: tuple[str, int] | None) -> str:
    return reason if where is None else f"{reason} ({where[0]}, line {where[1]})"


def _built(
    backend: str, function: Any, args: tuple, kwargs: dict, leaves_in: list, guard: Guard, tracer: Tracer, result: Any
) -> Specialization:
    """Return the specialization of a trace."""
    tape = tracer.tape
    _check(tape)
    if tape.numbers_read:
        raise Untraceable("it depends on the value of a number that changes", retry=True)
    written = {k for k, value in enumerate(tracer.values) if value.memory.written}
    changed = guard.same_objects(function, leaves_in, written)
    if changed is not None:
        raise Untraceable(
            f"it changes {readable(changed)!r}, which a replay would not do again", retry="generator" not in changed
        )
    changes = tracer.changes()
    if isinstance(changes, str):
        raise Untraceable(changes)
    writes, grads = changes
    specialization = Specialization(guard, tape)
    outs, values = sort_results(specialization, tracer, result)
    specialization.count = len(values)
    specialization.writes = writes
    specialization.generators = list(tracer.drawn)
    for k, new in grads:
        if new is None or any(new is out for out in outs):
            specialization.grads.append((k, None if new is None else [new is out for out in outs].index(True)))
            continue
        if new._edge is not None or type(new._array) is not Traced or new._array.value.memory.external:
            raise Untraceable("a gradient from outside is given a history, or memory from outside")
        specialization.grads.append((k, len(values)))
        values.append(new._array.value)
    for k, tensor in enumerate(outs):
        own = tensor._grad
        if own is None:
            continue
        if any(own is out for out in outs):
            specialization.own_grads.append((k, [own is out for out in outs].index(True)))
            continue
        if own._edge is not None or type(own._array) is not Traced or own._array.value.memory.external:
            raise Untraceable("a result has a gradient with a history, or with memory from outside")
        specialization.own_grads.append((k, len(values)))
        values.append(own._array.value)
    computed = _told_apart(specialization, outs, values)
    ended = len(tape.instructions)
    filled = {id(value.memory) for i in tape.instructions for value in replay.written_by(i)}
    saved: list[Value] = []
    backwards: list[BackwardProgram] = []
    calls = False
    wanted: list[int] = []
    if outs:
        specialization.differentiable = [k for k, tensor in enumerate(outs) if tensor._edge is not None]
        specialization.requires = [k for k, t in enumerate(outs) if t._edge is None and t._requires_grad]
        specialization.counts = [(k, count) for k, t in enumerate(outs) if (count := version(t))]
        specialization.freed = [k for k in specialization.differentiable if _is_freed(outs[k])]
        specialization.differentiable = [k for k in specialization.differentiable if k not in specialization.freed]
    recorded = [outs[k] for k in specialization.differentiable]
    if recorded:
        wanted = [k for k, x in enumerate(guard.inputs) if isinstance(x, Tensor) and x.requires_grad]
        needing = [guard.inputs[k] for k in wanted]
        _check_hooks(recorded)
        contexts = [node for node in _behind(recorded) if isinstance(node, FunctionCtx)]
        calls = bool(contexts) or any(map(_has_hooks, _behind(recorded)))
        restore = guard.put_back(function, leaves_in) if contexts else None
        before = [_attributes(node) for node in contexts]
        backwards = [_trace_backward(tracer, recorded, needing)]
        if 1 < len(recorded) <= _SINGLE:
            backwards += [_trace_backward(tracer, [tensor], needing) for tensor in recorded]
        if restore is not None:  # the backward of a Function is Python code
            if (changed := guard.same_objects(function, leaves_in, written)) is not None:
                restore()
                raise Untraceable(f"its backward changes {readable(changed)!r}, which a replay would not do again")
            for node, attributes in zip(contexts, before, strict=True):
                if _put_back(node, attributes):
                    raise Untraceable("the backward of a Function changes its context, which a replay would not do")
        for backward in backwards:
            saved += _read_by(backward, tracer, filled, saved)
    forward = replay.live(tape.instructions[:ended], [*computed, *saved], strict=True)
    used = {id(value) for i in forward for value in i.reads} | {id(value) for value in saved}
    numbers = {id(value): k for k, value in enumerate(tracer.values)}
    inputs = {k for key, k in numbers.items() if key in used}
    inputs |= {input_of(kind, what) for kind, what in specialization.results} - {None}  # type: ignore[arg-type]
    inputs |= {k for k, _ in (*writes, *specialization.grads)}
    inputs |= set(wanted)
    asked = {k for k, thing in enumerate(guard.inputs) if id(thing) in tracer.about_grads}
    for setting in tracer.settings:
        guard.compare_setting(setting)
    guard.write(inputs, asked.union([k for k, _ in specialization.grads]))
    order = {k: place for place, k in enumerate(guard.used)}
    specialization.results = [
        (kind, order[what] if kind is INPUT else (order[what[0]], what[1]) if kind is VIEW else what)
        for kind, what in specialization.results
    ]
    specialization.writes = [(order[k], count) for k, count in writes]
    specialization.grads = [(order[k], place) for k, place in specialization.grads]
    raw = [tracer.traced[k].values for k in guard.used]
    specialization.shared = _sharing(raw, specialization.writes)
    own_saved = [value for value in saved if id(value) not in numbers]
    entering = [tracer.values[k] for k in guard.used]
    specialization.forward = backends.program(
        "forward", backend, forward, entering, [*computed, *own_saved], specialization.facts
    )
    specialization.changes = bool(
        specialization.requires
        or specialization.counts
        or specialization.linked
        or specialization.writes
        or specialization.grads
        or specialization.own_grads
        or specialization.freed
    )
    specialization.single = (
        specialization.spec is None and specialization.results[0][0] is TENSOR and not specialization.of_numpy
    )
    specialization.facts |= {
        "kept": len(forward),
        "backward": len(backwards[0].instructions) if backwards else 0,
        "guards": guard.lines,
        "checks": [i.where for i in forward if i.kind == READ],
        "shapes": sum(i.kind == SHAPE for i in forward),
        "saved bytes": sum(int(np.prod(v.shape)) * v.dtype.itemsize for v in own_saved),
    }
    if recorded:
        places = [
            len(values) + own_saved.index(v) if id(v) not in numbers else -1 - order[numbers[id(v)]] for v in saved
        ]
        backwards[0].build(backend, saved, specialization.facts)
        for backward in backwards[1:]:
            backward.later(backend, saved)
        external = [
            order[k]
            for k, x in enumerate(tracer.values)
            if k in order and isinstance(guard.inputs[k], Tensor) and any(v.memory is x.memory for v in saved)
        ]
        read = {
            id(v.memory)
            for v in (*saved, *[v for backward in backwards for i in backward.instructions for v in i.reads])
        }
        results = [k for k, value in enumerate(values[: specialization.count]) if id(value.memory) in read]
        rerun = Rerun(
            function,
            guard,
            specialization.generators,
            [order[k] for k in guard.used if tracer.values[k].memory.written],
            external,
            [guard.inputs[k] for k in guard.used],
        )
        specialization.rerun = rerun if rerun.changes else None
        specialization.derivative = Derivative(
            rerun,
            backwards,
            places,
            external,
            results,
            [order[k] for k in wanted],
            [(t._array.shape, t._array.dtype) for t in recorded],
            specialization.pick,
            calls,
        )
        tracer.saved = [v.array for v in own_saved]
        if any(array is None for array in tracer.saved):
            raise Untraceable("its backward reads what its forward has let go of")
    tracer.outputs, tracer.results = values, outs
    return specialization


def _told_apart(specialization: Specialization, outs: list[Tensor], values: list[Value]) -> list[Value]:
    """Return the results that the program computes, each once, where several tensors share one."""
    computed: list[Value] = []
    first: list[int] = []
    for k, value in enumerate(values):
        known = next((at for at, other in enumerate(computed) if other.memory is value.memory), None)
        if known is None:
            computed.append(value)
            first.append(k)
            specialization.spread.append(len(computed) - 1)
            continue
        other = computed[known]
        same = ("offset", "shape", "strides", "dtype")
        if any(getattr(value, name) != getattr(other, name) for name in same) or k >= len(outs):
            raise Untraceable("several of its results share their memory")
        counter = outs[k]._version_counter
        if counter is not None and counter is outs[first[known]]._version_counter:
            specialization.linked.append((k, first[known]))
        specialization.spread.append(known)
    if len(computed) == len(values):
        specialization.spread = []
    return computed


def _check(tape: Tape) -> None:
    if tape.failure is not None:
        raise Untraceable(*tape.failure)


def _behind(tensors: list[Tensor]) -> Iterator[Any]:
    """Return the nodes of the graph behind ``tensors``, up to those from outside."""
    seen: set[int] = set()
    waiting = [tensor._edge for tensor in tensors]
    while waiting:
        edge = waiting.pop()
        if edge is None or id(edge[0]) in seen or type(edge[0]) is InputBackward:
            continue
        seen.add(id(edge[0]))
        yield edge[0]
        waiting.extend(edge[0]._edges)


def _is_freed(tensor: Tensor) -> bool:
    """Return whether a backward inside the function has freed part of the graph behind ``tensor``."""
    return any(type(node._saved) is Freed for node in _behind([tensor]))


def _attributes(node: Any) -> tuple[dict, list]:
    """Return the attributes of a Function's context, and the contents of containers there."""
    own = dict(node.__dict__)
    return own, [(value, value.copy()) for value in own.values() if isinstance(value, (list, dict, set))]


def _put_back(node: Any, attributes: tuple[dict, list]) -> bool:
    """Restore the attributes of a context; return whether they had changed."""
    own, containers = attributes
    changed = node.__dict__.keys() != own.keys() or any([node.__dict__[name] is not own[name] for name in own])
    node.__dict__.clear()
    node.__dict__.update(own)
    for container, copy in containers:
        if len(container) != len(copy) or any(map(operator.is_not, _items(container), _items(copy))):
            changed = True
            container.clear()
            container.extend(copy) if isinstance(container, list) else container.update(copy)
    return changed


def _items(container: Any) -> list:
    return list(container.values() if isinstance(container, dict) else container)


def _has_hooks(node: Any) -> bool:
    return node._extra is not None and not isinstance(node, AccumulateGrad)


def _check_hooks(tensors: list[Tensor]) -> None:
    """Raise if the graph has hooks: they would run while its backward is traced."""
    for node in _behind(tensors):
        if _has_hooks(node):
            extra = node._extra
            for hooks in (extra.pre_hooks, extra.post_hooks, *extra.tensor_hooks.values()):
                if not all(map(only_computes, hooks.values())):
                    raise Untraceable("a hook in its graph may change Python objects")


def _sharing(arrays: list, writes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the inputs whose memory another input writes to."""
    return [
        (k, j) for k, _ in writes for j, other in enumerate(arrays) if j != k and np.may_share_memory(arrays[k], other)
    ]


def _trace_backward(tracer: Tracer, outputs: list[Tensor], inputs: list[Tensor]) -> BackwardProgram:
    """Trace the backward from ``outputs`` to ``inputs``."""
    tape = tracer.tape
    begun = len(tape.instructions)
    cotangents = []
    for tensor in outputs:
        ones = np.ones_like(tensor._array.values)
        cotangents.append(Traced(ones, Value(ones), tape))

    def back() -> Any:
        with modes.no_grad(), hooks_hidden(inputs), cut_off(inputs):
            return grad(outputs, inputs, [wrap(c) for c in cotangents], retain_graph=True, allow_unused=True)

    try:
        given = tracer.run(back)
    except Exception as error:
        raise Untraceable(f"its backward cannot be traced: {error}") from error
    _check(tape)
    gradients: list[Value | None] = []
    for g in given:
        if g is not None and type(g._array) is not Traced:
            raise Untraceable(f"its backward gives a gradient of another kind ({type(g._array).__name__})")
        gradients.append(None if g is None else g._array.value)
    return BackwardProgram(tape.instructions[begun:], [c.value for c in cotangents], gradients)


def _read_by(backward: BackwardProgram, tracer: Tracer, filled: set[int], known: list[Value]) -> list[Value]:
    """Return the values of the forward that a backward reads, beside the ``known``; of each memory, the whole."""
    found: list[Value] = []
    made = {id(value) for i in backward.instructions for value in i.gives}
    made |= {id(value) for value in (*backward.cotangents, *known)}
    for value in [*[value for i in backward.instructions for value in i.reads], *backward.leaving]:
        if id(value) in made or not (value.constant is None or id(value.memory) in filled):
            continue
        whole = value.memory.maker  # views of it are found again
        if value.memory.external:
            whole = next((x for x in tracer.values if x.memory is value.memory and x.holds(value)), None)
            if whole is None:
                raise Untraceable("its backward reads beyond a tensor from outside")
        if id(whole) not in made:
            found.append(whole)
        made |= {id(value), id(whole)}
    return found


def _settled(result: Any) -> Any:
    """Return the results of a run that cannot be replayed, over NumPy's arrays."""

    def settled(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and type(leaf._array) is Traced:
            leaf._array = leaf._array.values
        return leaf.values if type(leaf) is Traced else leaf.plain() if is_traced(leaf) else leaf

    return tree_exchange(result, tree_flatten(result)[1], settled)


def _settle_others(tape: Tape) -> None:
    """Do the same for tensors that the run stored elsewhere: in the state of an optimizer, in a list."""
    for thing in gc.get_objects():
        # by its class: what else lives in a process may answer isinstance with side effects
        if issubclass(type(thing), Tensor) and type(thing._array) is Traced and thing._array.tape is tape:
            thing._array = thing._array.values
        elif issubclass(type(thing), TracedNumber) and thing.array.tape is tape:
            _replace(thing, thing.plain())


def _replace(number: TracedNumber, plain: Any) -> None:
    """Replace a traced number in containers, closures and objects by a plain one.

    In a tuple it stays; there it computes with its value.
    """
    for holder in gc.get_referrers(number):
        if isinstance(holder, dict):
            for key in [key for key, value in holder.items() if value is number]:
                holder[key] = plain
        elif isinstance(holder, (list, deque)):
            for place in [place for place, value in enumerate(holder) if value is number]:
                holder[place] = plain
        elif isinstance(holder, types.CellType):
            holder.cell_contents = plain


def _first_results(specialization: Specialization, tracer: Tracer, call: tuple) -> Any:
    """Return the results of the traced run in the form that a replay gives them."""
    arrays = _given_away(tracer.outputs)
    results = [wrap(array) for array in arrays[: specialization.count]]
    specialization.mark(results)
    for k in specialization.freed:
        free(results[k])
    found = tuple(specialization.guard.inputs[k] for k in specialization.guard.used)
    for k, place in specialization.grads:
        if place is not None and place < specialization.count:
            found[k]._grad = results[place]
        elif place is not None:
            found[k]._grad._array = arrays[place]
    for k, place in specialization.own_grads:
        results[k]._grad = results[place] if place < specialization.count else wrap(arrays[place])
    if specialization.derivative is not None:
        saved = tracer.saved
        before = (
            None if specialization.rerun is None else tracer.before(specialization.guard.used, specialization.rerun)
        )
        specialization.derivative.attach(results, specialization.differentiable, found, (*arrays, *saved), call, before)
    return specialization.tree(results, found)


def _given_away(values: list[Value]) -> list[Any]:
    """Return the arrays of a traced run's results; constants are copied, since the program keeps them."""
    copies: dict[tuple, Any] = {}
    for value in values:
        if value.constant is not None and value.array is not None:
            copies.setdefault((id(value.memory), value.offset, value.shape, value.strides), value.array.copy("K"))
    return [copies.get((id(v.memory), v.offset, v.shape, v.strides), v.array) for v in values]


def _foreign_states(*before: Any) -> tuple:
    """Return the states of generators that are not dualtape's; of NumPy's only if it was imported before."""
    state = np.random.get_state(legacy=False) if "numpy.random" in sys.modules and (not before or before[1]) else None
    return random.getstate(), None if state is None else (state["state"]["pos"], bytes(state["state"]["key"]))
