"""A traced program, ready to be called: its guard, what it computes, and what it does to tensors from outside."""

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
from ..autograd.versions import caller
from ..pytree import TreeSpec, tree_exchange, tree_flatten, tree_holds_all, tree_nodes, tree_unflatten
from . import backends, replay
from .again import Again, go_to, stream, version
from .backward import Derivative, InputBackward, Way, cut_off, free, hooks_hidden
from .environment import Environment, only_computes
from .guards import Guard, kinds, readable
from .purity import entropy_watched
from .records import as_tree, is_record
from .results import ARRAY, INPUT, NUMBER, PART, TENSOR, VIEW, input_of, sort_results, viewed
from .session import Session, Untraceable

_OWNING, _WRITEABLE = 0x4, 0x400  # bits of NumPy's flags
_SINGLE = 8  # results that have a way back of their own, for a backward that comes from one of them alone


class Refusal(str):
    """Why there is no program; ``again``: the next call may have one, if this one has only prepared something."""

    again = False
    numbers_read: frozenset[int] = frozenset()  # the arguments that are to be constants of the next trace


class Unfinished(Exception):
    """A traced run has raised an error, perhaps since it was given traced numbers, and has changed nothing."""


class Variant:
    """One way through a function, for one kind of arguments.

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
        self.count = 0
        self.spread: list[int] = []  # where arrays that stand for several results are among what the program gives
        self.linked: list[tuple[int, int]] = []  # results that count their writes together
        self.changes = self.single = False
        self.generators: list[Any] = []  # what it draws from
        self.again: Again | None = None  # what must be kept for the function to be run again as it ran
        self.shared: list[tuple[int, int]] = []  # of inputs that are written, which others look at the same memory
        self.forward: Callable[..., tuple]
        self.facts: dict[str, Any] = {"traced": len(tape.instructions)}

    @property
    def native(self) -> list[dict]:
        """What there is to tell of its native programs."""
        return [f for f in map(self.facts.get, ("native forward", "native backward")) if isinstance(f, dict)]

    @property
    def arena(self) -> int:
        """Bytes that these compute in."""
        return sum(facts["arena"] for facts in self.native)

    def run(self, found: tuple, call: tuple) -> Any:
        """Replay the program on the inputs that the guard found, for a call with the arguments ``call``: their leaves
        and their tree, None if they stand one after the other.
        """
        given = [x._array if isinstance(x, Tensor) else x for x in found]
        if self.writes and not self._may_write(given):
            raise replay.Mismatch
        drawn = [stream(g) for g in self.generators] if self.generators else []
        before = None if self.again is None else self.again.before(found, drawn)
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
        """Whether what is written to may be, and shares memory with the same others as when it was traced."""
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
        """What a call does beside giving tensors."""
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
        """What results are beside their values: leaves that require grad, tensors that were written to."""
        for k in self.requires:
            results[k]._requires_grad = True
        for k, other in self.linked:
            results[k]._version_counter = results[other]._shared_counter
        for k, count in self.counts:
            results[k]._shared_counter[0] = count

    def tree(self, results: list, found: tuple) -> Any:
        """The results as the function gives them."""
        given = [
            results[what] if kind is TENSOR
            else results[what]._array if kind is ARRAY
            else found[what] if kind is INPUT
            else viewed(found[what[0]], what[1]) if kind is VIEW
            else viewed(results[what[0]], what[1]) if kind is PART
            else number_in(results[what[0]]._array, what[1]) if kind is NUMBER
            else what
            for kind, what in self.results
        ]  # fmt: skip
        return given[0] if self.spec is None else tree_unflatten(given, self.spec)

    def pick(self, result: Any) -> list[Tensor]:
        """Those of a call's results that have a history."""
        found = [result] if self.spec is None else tree_flatten(as_tree(result, []))[0]
        numbers = {what: k for k, (kind, what) in enumerate(self.results) if kind is TENSOR}
        parts = {what[0]: k for k, (kind, what) in enumerate(self.results) if kind is PART}
        return [found[numbers[k]] if k in numbers else found[parts[k]]._view.base for k in self.differentiable]


def trace(
    backend: str, function: Any, args: tuple, kwargs: dict, leaves_in: list, spec: TreeSpec,
    varying: frozenset[int] = frozenset(),
) -> tuple[Any, Variant | str]:  # fmt: skip
    """Run ``function`` once, as it is.

    Returns what it gives, and the variant, or why there is none. The numbers among ``leaves_in`` whose indices are in
    ``varying`` become inputs of the program.
    """
    begun = time.perf_counter()
    try:
        environment = Environment(function, leaves_in, spec)
    except Exception as error:
        return function(*args, **kwargs), f"what it depends on could not be followed: {error}"
    for place in environment.places:
        if isinstance(place.value, Tensor) and (unknown := _unknown(place.value)) is not None:
            return function(*args, **kwargs), f"it uses {unknown}"
    guard = Guard(environment, leaves_in, frozenset() if environment.may_ask_for_types else varying)
    guard.remember()
    session = Session(guard.inputs, backend, guard.numbers)
    states = _foreign_states()
    collecting = gc.isenabled()
    default = dtypes.default_float()
    copies: list[tuple[Any, Any]] = []
    try:
        gc.disable()  # nothing of what is written down is garbage
        session.begin()
        index = itertools.count()
        given = tree_exchange((args, kwargs), spec, lambda leaf: session.leaf(next(index), leaf), copies)
        session.containers = {id(node) for pair in ((args, kwargs), given) for node in tree_nodes(pair)}
        known = [*leaves_in, *[place.value for place in guard.places]]
        session.containers |= {id(v) for v in known if isinstance(v, (list, dict, deque)) or is_record(v)}
        if not all(map(tree_holds_all, tree_nodes(given))):
            session.tape.fail("it is given an object that holds more than it is registered to hold")
        leaves_given, spec_given = tree_flatten(given)
        watched = entropy_watched(session.tape.fail) if environment.may_ask_for_entropy else nullcontext()
        try:
            with watched:
                result = session.run(lambda: function(*given[0], **given[1]))
        except Exception as error:
            if guard.numbers and _is_untouched(session, guard, function, leaves_in, states):
                raise Unfinished from error
            if _is_changed(given, leaves_given, spec_given):
                _write_back(copies)
            raise
        if _is_changed(given, leaves_given, spec_given):
            session.tape.fail("it changes a list or dictionary that it was given")
            _write_back(copies)
        if default is not dtypes.default_float():
            session.tape.fail("it sets the default dtype")
        if _foreign_states(*states) != states:
            session.tape.fail("it draws from a generator of Python's or NumPy's own: draw from dualtape's")
        variant: Variant | str
        try:
            variant = _built(backend, function, args, kwargs, leaves_in, guard, session, result)
        except Untraceable as error:
            variant = Refusal(_sentence(error.reason, error.where))
            variant.again = error.again
            variant.numbers_read = session.tape.numbers_read
        except Exception as error:  # a defect of the compiler's, and no reason for the call to fail
            variant = Refusal(f"an internal error, {type(error).__name__}: {error}. Please report it")
    finally:
        try:
            session.tape.close()
            session.end()
        except BaseException:  # an interrupt: what it left is put back
            session.end()
            raise
        finally:
            if collecting:
                gc.enable()
    if isinstance(variant, str):
        result = _settled(result)
        _settle_others(session.tape)
        return result, variant
    result = _first_results(variant, session, (leaves_in, spec))
    # The graph that the run recorded refers to the session, and these tensors to that graph.
    session.results = []
    guard.forget()
    variant.facts["seconds"] = time.perf_counter() - begun
    return result, variant


def _is_changed(given: Any, leaves: list, spec: TreeSpec) -> bool:
    """Return whether the containers among arguments hold something else than they did."""
    leaves_now, spec_now = tree_flatten(given)
    return spec_now != spec or any(a is not b for a, b in zip(leaves_now, leaves, strict=True))


def _is_untouched(session: Session, guard: Guard, function: Any, leaves: list, states: tuple) -> bool:
    """Return whether a run that has raised an error has left everything that the function can reach as it was."""
    if any(value.memory.written for value in session.values) or session.drawn or _foreign_states(*states) != states:
        return False
    return guard.same_objects(function, leaves, set()) is None


def _unknown(tensor: Tensor) -> str | None:
    """What is unusual about a tensor, if programs do not know it."""
    if type(tensor) not in kinds():
        return f"a {type(tensor).__name__}"
    if type(tensor._array) is not np.ndarray:
        return f"a tensor over a {type(tensor._array).__name__} array"
    return "an inference tensor" if tensor.is_inference() else None


def _write_back(copies: list[tuple[Any, Any]]) -> None:
    """What was done to containers that stood for others is done to those."""
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
    backend: str, function: Any, args: tuple, kwargs: dict, leaves_in: list, guard: Guard, session: Session, result: Any
) -> Variant:
    """The variant of what was traced."""
    tape = session.tape
    _check(tape)
    if tape.numbers_read:
        raise Untraceable("it depends on the value of a number that changes", again=True)
    written = {k for k, value in enumerate(session.values) if value.memory.written}
    changed = guard.same_objects(function, leaves_in, written)
    if changed is not None:
        raise Untraceable(
            f"it changes {readable(changed)!r}, which a replay would not do again", again="generator" not in changed
        )
    changes = session.changes()
    if isinstance(changes, str):
        raise Untraceable(changes)
    writes, grads = changes
    variant = Variant(guard, tape)
    outs, values = sort_results(variant, session, result)
    variant.count = len(values)
    variant.writes = writes
    variant.generators = list(session.drawn)
    for k, new in grads:
        if new is None or any(new is out for out in outs):
            variant.grads.append((k, None if new is None else [new is out for out in outs].index(True)))
            continue
        if new._edge is not None or type(new._array) is not Traced or new._array.value.memory.external:
            raise Untraceable("a gradient from outside is given a history, or memory from outside")
        variant.grads.append((k, len(values)))
        values.append(new._array.value)
    for k, tensor in enumerate(outs):
        own = tensor._grad
        if own is None:
            continue
        if any(own is out for out in outs):
            variant.own_grads.append((k, [own is out for out in outs].index(True)))
            continue
        if own._edge is not None or type(own._array) is not Traced or own._array.value.memory.external:
            raise Untraceable("a result has a gradient with a history, or with memory from outside")
        variant.own_grads.append((k, len(values)))
        values.append(own._array.value)
    computed = _told_apart(variant, outs, values)
    ended = len(tape.instructions)
    filled = {id(value.memory) for i in tape.instructions for value in replay.written_by(i)}
    saved: list[Value] = []
    ways: list[Way] = []
    calls = False
    wanted: list[int] = []
    if outs:
        variant.differentiable = [k for k, tensor in enumerate(outs) if tensor._edge is not None]
        variant.requires = [k for k, t in enumerate(outs) if t._edge is None and t._requires_grad]
        variant.counts = [(k, count) for k, t in enumerate(outs) if (count := version(t))]
        variant.freed = [k for k in variant.differentiable if _is_freed(outs[k])]
        variant.differentiable = [k for k in variant.differentiable if k not in variant.freed]
    recorded = [outs[k] for k in variant.differentiable]
    if recorded:
        wanted = [k for k, x in enumerate(guard.inputs) if isinstance(x, Tensor) and x.requires_grad]
        needing = [guard.inputs[k] for k in wanted]
        _check_hooks(recorded)
        contexts = [node for node in _behind(recorded) if isinstance(node, FunctionCtx)]
        calls = bool(contexts) or any(map(_has_hooks, _behind(recorded)))
        restore = guard.put_back(function, leaves_in) if contexts else None
        before = [_attributes(node) for node in contexts]
        ways = [_pulled_back(session, recorded, needing)]
        if 1 < len(recorded) <= _SINGLE:
            ways += [_pulled_back(session, [tensor], needing) for tensor in recorded]
        if restore is not None:  # the way back of a Function is Python's
            if (changed := guard.same_objects(function, leaves_in, written)) is not None:
                restore()
                raise Untraceable(f"its backward changes {readable(changed)!r}, which a replay would not do again")
            for node, attributes in zip(contexts, before, strict=True):
                if _put_back(node, attributes):
                    raise Untraceable("the backward of a Function changes its context, which a replay would not do")
        for way in ways:
            saved += _read_by(way, session, filled, saved)
    forward = replay.live(tape.instructions[:ended], [*computed, *saved], strict=True)
    used = {id(value) for i in forward for value in i.reads} | {id(value) for value in saved}
    numbers = {id(value): k for k, value in enumerate(session.values)}
    inputs = {k for key, k in numbers.items() if key in used}
    inputs |= {input_of(kind, what) for kind, what in variant.results} - {None}  # type: ignore[arg-type]
    inputs |= {k for k, _ in (*writes, *variant.grads)}
    inputs |= set(wanted)
    asked = {k for k, thing in enumerate(guard.inputs) if id(thing) in session.about_grads}
    for setting in session.settings:
        guard.compare_setting(setting)
    guard.write(inputs, asked.union([k for k, _ in variant.grads]))
    order = {k: place for place, k in enumerate(guard.used)}
    variant.results = [
        (kind, order[what] if kind is INPUT else (order[what[0]], what[1]) if kind is VIEW else what)
        for kind, what in variant.results
    ]
    variant.writes = [(order[k], count) for k, count in writes]
    variant.grads = [(order[k], place) for k, place in variant.grads]
    raw = [session.traced[k].values for k in guard.used]
    variant.shared = _sharing(raw, variant.writes)
    own_saved = [value for value in saved if id(value) not in numbers]
    entering = [session.values[k] for k in guard.used]
    variant.forward = backends.program("forward", backend, forward, entering, [*computed, *own_saved], variant.facts)
    variant.changes = bool(
        variant.requires
        or variant.counts
        or variant.linked
        or variant.writes
        or variant.grads
        or variant.own_grads
        or variant.freed
    )
    variant.single = variant.spec is None and variant.results[0][0] is TENSOR
    variant.facts |= {
        "kept": len(forward), "backward": len(ways[0].instructions) if ways else 0, "guards": guard.lines,
        "checks": [i.where for i in forward if i.kind == READ], "shapes": sum(i.kind == SHAPE for i in forward),
        "saved bytes": sum(int(np.prod(v.shape)) * v.dtype.itemsize for v in own_saved),
    }  # fmt: skip
    if recorded:
        places = [
            len(values) + own_saved.index(v) if id(v) not in numbers else -1 - order[numbers[id(v)]] for v in saved
        ]
        ways[0].build(backend, saved, variant.facts)
        for way in ways[1:]:
            way.later(backend, saved)
        external = [
            order[k]
            for k, x in enumerate(session.values)
            if k in order and isinstance(guard.inputs[k], Tensor) and any(v.memory is x.memory for v in saved)
        ]
        read = {id(v.memory) for v in (*saved, *[v for way in ways for i in way.instructions for v in i.reads])}
        results = [k for k, value in enumerate(values[: variant.count]) if id(value.memory) in read]
        again = Again(
            function, guard, variant.generators, [order[k] for k in guard.used if session.values[k].memory.written],
            external, [guard.inputs[k] for k in guard.used],
        )  # fmt: skip
        variant.again = again if again.changes else None
        variant.derivative = Derivative(
            again, ways, places, external, results, [order[k] for k in wanted],
            [(t._array.shape, t._array.dtype) for t in recorded], variant.pick, calls,
        )  # fmt: skip
        session.saved = [v.array for v in own_saved]
        if any(array is None for array in session.saved):
            raise Untraceable("its backward reads what its forward has let go of")
    session.outputs, session.results = values, outs
    return variant


def _told_apart(variant: Variant, outs: list[Tensor], values: list[Value]) -> list[Value]:
    """The results that the program computes: each once, where several tensors stand for the same."""
    computed: list[Value] = []
    first: list[int] = []
    for k, value in enumerate(values):
        known = next((at for at, other in enumerate(computed) if other.memory is value.memory), None)
        if known is None:
            computed.append(value)
            first.append(k)
            variant.spread.append(len(computed) - 1)
            continue
        other = computed[known]
        same = ("offset", "shape", "strides", "dtype")
        if any(getattr(value, name) != getattr(other, name) for name in same) or k >= len(outs):
            raise Untraceable("several of its results share their memory")
        counter = outs[k]._version_counter
        if counter is not None and counter is outs[first[known]]._version_counter:
            variant.linked.append((k, first[known]))
        variant.spread.append(known)
    if len(computed) == len(values):
        variant.spread = []
    return computed


def _check(tape: Tape) -> None:
    if tape.failure is not None:
        raise Untraceable(*tape.failure)


def _behind(tensors: list[Tensor]) -> Iterator[Any]:
    """The nodes of the graph behind ``tensors``, up to what came from outside."""
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
    """Whether a backward inside the function has freed part of the graph behind ``tensor``."""
    return any(type(node._saved) is Freed for node in _behind([tensor]))


def _attributes(node: Any) -> tuple[dict, list]:
    """What the context of a Function holds, and what is in the containers there."""
    own = dict(node.__dict__)
    return own, [(value, value.copy()) for value in own.values() if isinstance(value, (list, dict, set))]


def _put_back(node: Any, attributes: tuple[dict, list]) -> bool:
    """Give a context what it held; whether that was something else."""
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
    """Hooks in a graph run when its way back is traced, and must not be noticed then."""
    for node in _behind(tensors):
        if _has_hooks(node):
            extra = node._extra
            for hooks in (extra.pre_hooks, extra.post_hooks, *extra.tensor_hooks.values()):
                if not all(map(only_computes, hooks.values())):
                    raise Untraceable("a hook in its graph may change Python objects")


def _sharing(arrays: list, writes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Which inputs look at memory that another of them is written through."""
    return [
        (k, j) for k, _ in writes for j, other in enumerate(arrays) if j != k and np.may_share_memory(arrays[k], other)
    ]


def _pulled_back(session: Session, outputs: list[Tensor], inputs: list[Tensor]) -> Way:
    """Trace the way back from ``outputs`` to ``inputs``."""
    tape = session.tape
    begun = len(tape.instructions)
    cotangents = []
    for tensor in outputs:
        ones = np.ones_like(tensor._array.values)
        cotangents.append(Traced(ones, Value(ones), tape))

    def back() -> Any:
        with modes.no_grad(), hooks_hidden(inputs), cut_off(inputs):
            return grad(outputs, inputs, [wrap(c) for c in cotangents], retain_graph=True, allow_unused=True)

    try:
        given = session.run(back)
    except Exception as error:
        raise Untraceable(f"its backward cannot be traced: {error}") from error
    _check(tape)
    gradients: list[Value | None] = []
    for g in given:
        if g is not None and type(g._array) is not Traced:
            raise Untraceable(f"its backward gives a gradient of another kind ({type(g._array).__name__})")
        gradients.append(None if g is None else g._array.value)
    return Way(tape.instructions[begun:], [c.value for c in cotangents], gradients)


def _read_by(way: Way, session: Session, filled: set[int], known: list[Value]) -> list[Value]:
    """What a way back reads of the way forward, beside the ``known``; of each memory, all that there is."""
    found: list[Value] = []
    made = {id(value) for i in way.instructions for value in i.gives}
    made |= {id(value) for value in (*way.cotangents, *known)}
    for value in [*[value for i in way.instructions for value in i.reads], *way.leaving]:
        if id(value) in made or not (value.constant is None or id(value.memory) in filled):
            continue
        whole = value.memory.maker  # views of it are found again
        if value.memory.external:
            whole = next((x for x in session.values if x.memory is value.memory and x.holds(value)), None)
            if whole is None:
                raise Untraceable("its backward reads beyond a tensor from outside")
        if id(whole) not in made:
            found.append(whole)
        made |= {id(value), id(whole)}
    return found


def _settled(result: Any) -> Any:
    """The results of a run that cannot be replayed, over arrays of NumPy's."""

    def settled(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and type(leaf._array) is Traced:
            leaf._array = leaf._array.values
        return leaf.values if type(leaf) is Traced else leaf.plain() if is_traced(leaf) else leaf

    return tree_exchange(result, tree_flatten(result)[1], settled)


def _settle_others(tape: Tape) -> None:
    """The same for tensors that the run has left elsewhere: in the state of an optimizer, in a list."""
    for thing in gc.get_objects():
        # by its class: what else lives in a process may answer isinstance with side effects
        if issubclass(type(thing), Tensor) and type(thing._array) is Traced and thing._array.tape is tape:
            thing._array = thing._array.values
        elif issubclass(type(thing), TracedNumber) and thing.array.tape is tape:
            _replace(thing, thing.plain())


def _replace(number: TracedNumber, plain: Any) -> None:
    """Put a plain number where containers, closures and objects hold a traced one.

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


def _first_results(variant: Variant, session: Session, call: tuple) -> Any:
    """The results of the traced run, as a replay gives them."""
    arrays = _given_away(session.outputs)
    results = [wrap(array) for array in arrays[: variant.count]]
    variant.mark(results)
    for k in variant.freed:
        free(results[k])
    found = tuple(variant.guard.inputs[k] for k in variant.guard.used)
    for k, place in variant.grads:
        if place is not None and place < variant.count:
            found[k]._grad = results[place]
        elif place is not None:
            found[k]._grad._array = arrays[place]
    for k, place in variant.own_grads:
        results[k]._grad = results[place] if place < variant.count else wrap(arrays[place])
    if variant.derivative is not None:
        saved = session.saved
        before = None if variant.again is None else session.before(variant.guard.used, variant.again)
        variant.derivative.attach(results, variant.differentiable, found, (*arrays, *saved), call, before)
    return variant.tree(results, found)


def _given_away(values: list[Value]) -> list[Any]:
    """The arrays of a traced run's results: of what is the same in every run, copies, since the program keeps it."""
    copies: dict[tuple, Any] = {}
    for value in values:
        if value.constant is not None and value.array is not None:
            copies.setdefault((id(value.memory), value.offset, value.shape, value.strides), value.array.copy("K"))
    return [copies.get((id(v.memory), v.offset, v.shape, v.strides), v.array) for v in values]


def _foreign_states(*before: Any) -> tuple:
    """The states of generators that are not dualtape's; of NumPy's only if it was there before."""
    state = np.random.get_state(legacy=False) if "numpy.random" in sys.modules and (not before or before[1]) else None
    return random.getstate(), None if state is None else (state["state"]["pos"], bytes(state["state"]["key"]))
