"""The results of a traced function: new tensors, its inputs, views of either, plain values."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from .._tensor.tensor import SAME, Tensor, wrap
from ..arrays.traced.array import Traced
from ..arrays.traced.number import is_traced
from ..arrays.traced.tape import Value
from ..autograd.views import DEFAULT, MULTI_OUTPUT
from ..ops.numpy_tensor import NumpyTensor
from ..pytree import tree_flatten, tree_holds_all
from .dependencies import PLAIN
from .records import as_tree, is_record
from .tracer import Tracer, Untraceable

# where a result comes from
ARRAY, TENSOR, INPUT, VIEW, PART, NUMBER, PLAIN_VALUE = "array", "tensor", "input", "view", "part", "number", "plain"

_LOCATION = ("offset", "shape", "strides", "dtype")
_DETACH = SimpleNamespace(function=Tensor.detach)
_DATA = SimpleNamespace(function=lambda tensor: tensor.data)
_PLACED = SimpleNamespace(function=lambda tensor, size, stride, start: tensor.as_strided(size, stride, start).detach())


def sort_results(specialization: Any, tracer: Tracer, result: Any) -> tuple[list[Tensor], list[Value]]:
    """Sort the results of the function: new tensors, its inputs, plain values."""
    found: list[Any] = []
    if isinstance(result, Tensor):
        found, specialization.spec = [result], None
    else:
        nodes: list[Any] = []
        found, specialization.spec = tree_flatten(as_tree(result, nodes))
        _check_containers(tracer, nodes)
    tensors: list[Tensor] = []
    values: list[Value] = []
    known: dict[int, int] = {}
    numbers = {id(thing): k for k, thing in enumerate(tracer.inputs)}
    arrays = {id(traced): k for k, traced in enumerate(tracer.traced)}
    uses = Counter(
        id(array.value.memory) for array in {id(a): a for a in map(_array_of, found)}.values() if array is not None
    )

    def number(tensor: Tensor) -> int:
        if id(tensor) not in known:
            known[id(tensor)] = len(tensors)
            tensors.append(tensor)
            values.append(tensor._array.value)
        return known[id(tensor)]

    first: dict[int, int] = {}
    for place, leaf in enumerate(found):
        if isinstance(leaf, (Tensor, Traced)) and first.setdefault(id(leaf), place) != place:
            specialization.results.append((PLAIN_VALUE, None))
            specialization.repeated.append((place, first[id(leaf)]))
            continue
        if type(leaf) is NumpyTensor and id(leaf) not in numbers:
            specialization.of_numpy.append(place)
        if id(leaf) in numbers:
            specialization.results.append((INPUT, numbers[id(leaf)]))
        elif id(leaf) in arrays:
            specialization.results.append((INPUT, arrays[id(leaf)]))
        elif isinstance(leaf, (Tensor, Traced)):
            array = leaf._array if isinstance(leaf, Tensor) else leaf
            if isinstance(leaf, Tensor) and (type(leaf) not in (Tensor, NumpyTensor) or type(array) is not Traced):
                raise Untraceable(f"it returns a {type(leaf).__name__} over a {type(array).__name__} array")
            if isinstance(leaf, Tensor):
                _check_bare(leaf)
                _check_usable(leaf)
            if array.value.memory.external or _is_of_input(leaf, tracer):
                specialization.results.append((VIEW, _as_view(leaf, tracer)))
                continue
            if isinstance(leaf, Tensor):
                steps = _from_base(leaf) if uses[id(array.value.memory)] > 1 or not _is_dense_part(leaf) else None
                if steps is None and not _is_laid_out_as_own(leaf):
                    whole, placed = _detached_part(leaf)
                    specialization.results.append((PART, (number(whole), [placed])))
                elif steps is None:
                    specialization.results.append((TENSOR, number(leaf)))
                else:
                    assert leaf._view is not None
                    specialization.results.append((PART, (number(leaf._view.base), steps)))
                continue
            if id(leaf) not in known:
                known[id(leaf)] = len(tensors)
                tensors.append(wrap(leaf))
                values.append(array.value)
            specialization.results.append((ARRAY, known[id(leaf)]))
        elif is_traced(leaf):
            copy = leaf.array.copy()  # what is given itself is an input
            known[id(leaf)] = len(tensors)
            tensors.append(wrap(copy))
            values.append(copy.value)
            specialization.results.append((NUMBER, (known[id(leaf)], leaf.kind)))
        elif isinstance(leaf, PLAIN):
            specialization.results.append((PLAIN_VALUE, leaf))
        else:
            raise Untraceable(f"it returns a {type(leaf).__name__}")
    return tensors, values


def _check_containers(tracer: Tracer, nodes: list[Any]) -> None:
    """Raise for results whose containers or objects are referenced elsewhere: each replay rebuilds them."""
    found = {id(node): node for node in nodes if not isinstance(node, tuple)}
    if not all(tree_holds_all(node) or is_record(node) for node in nodes):
        raise Untraceable("it returns an object that holds more than it is registered to hold")
    if len(found) < sum(not isinstance(node, tuple) for node in nodes):
        raise Untraceable("it returns one list, dictionary or object twice")
    if not tracer.containers.isdisjoint(found):
        raise Untraceable("it returns a list, dictionary or object that it was given or refers to, and no new one")


def _check_bare(tensor: Tensor) -> None:
    """Raise if a result has attributes that a replay would not reproduce."""
    if tensor.__dict__:
        raise Untraceable("it returns a tensor with an attribute of its own")
    extra = tensor._extra
    if tensor.retains_grad and not tensor.is_leaf:
        raise Untraceable("it returns a tensor that retains its gradient")
    if extra is not None and (extra.hooks or extra.post_hooks or extra.grad_dtype is not SAME):
        raise Untraceable("it returns a tensor with hooks, or with another dtype of gradients")


def _check_usable(tensor: Tensor) -> None:
    """Raise for a view that eager refuses to use, since its base was written: a replay would make it again."""
    view = tensor._view
    if view is None or view.creation is DEFAULT or view.seen == tensor._shared_counter[0]:
        return
    if tensor._edge is not None or view.base.requires_grad:
        raise Untraceable("it returns a view that was made with others, whose base was written afterwards")


def _is_of_input(leaf: Any, tracer: Tracer) -> bool:
    """Return whether a result is a view of an input: one without elements has memory of its own, but a base."""
    if not isinstance(leaf, Tensor) or leaf._view is None:
        return False
    base = leaf._view.base
    tensors = [x for x in tracer.inputs if isinstance(x, Tensor)]
    return any([x is base or x._view is not None and x._view.base is base for x in tensors])


def _is_dense_part(leaf: Tensor) -> bool:
    """Return whether a result is a contiguous part of its base: then it is computed by itself, rather than all of its
    base.

    Its strides are those that a tensor of its own has, too; with gaps they would not be.
    """
    if leaf._view is None:
        return True
    array, base = leaf._array.value, leaf._view.base._array
    steps, count = [], array.dtype.itemsize
    for n in reversed(array.shape):
        steps.append(count)
        count *= n
    dense = all([n == 1 or a == b for n, a, b in zip(array.shape, array.strides, reversed(steps), strict=True)])
    return dense and 0 < count < base.size * base.itemsize


def _is_laid_out_as_own(leaf: Tensor) -> bool:
    """Return whether the strides of a result are those of an array that holds nothing else: dense, in some order of
    its axes.
    """
    array = leaf._array.value
    step = array.dtype.itemsize
    for n, stride in sorted(zip(array.shape, array.strides, strict=True), key=lambda axis: (axis[1], axis[0])):
        if n != 1 and stride != step:
            return 0 in array.shape
        step *= n
    return True


def _detached_part(leaf: Tensor) -> tuple[Tensor, tuple]:
    """Return the tensor over all of the memory that a detached view lies in, and the step from there to it.

    Computed by itself, the result would have other strides, and elements that overlap in memory would be copies.
    """
    array = leaf._array
    value, whole, size = array.value, array.value.memory.maker, array.value.dtype.itemsize
    bare = leaf._edge is None and not leaf._requires_grad and leaf._grad is None and not leaf._version
    if not bare or whole is None or whole.dtype != value.dtype or whole.array is None or whole.array.base is not None:
        raise Untraceable("it returns part of a tensor that it computed, which has a state of its own")
    start, strides = (value.offset - whole.offset) // size, tuple([step // size for step in value.strides])
    return wrap(Traced(whole.array, whole, array.tape)), (_PLACED, (value.shape, strides, start), None)


def _array_of(leaf: Any) -> Any:
    array = leaf._array if isinstance(leaf, Tensor) else leaf
    return array if type(array) is Traced else None


def _from_base(leaf: Tensor) -> list | None:
    """Return the view ops from the base of ``leaf`` to it, if they reproduce it."""
    view = leaf._view
    if view is None or type(view.base) not in (Tensor, NumpyTensor) or type(view.base._array) is not Traced:
        return None
    if view.creation not in (DEFAULT, MULTI_OUTPUT) and view.base.requires_grad:
        return None
    steps: list = []
    step = view.step
    while step is not None:
        if any(isinstance(value, Tensor) for value in step[2]):
            return None
        steps.append(step[1:])
        step = step[0]
    return steps[::-1]


def input_of(kind: str, what: Any) -> int | None:
    """Return the number of the input that a result is, or is a view of."""
    return what if kind is INPUT else what[0] if kind is VIEW else None


def _as_view(leaf: Any, tracer: Tracer) -> tuple[int, list]:
    """Return a result that is a view of an input: the input, and the ops from there to it."""
    if isinstance(leaf, Tensor) and leaf._view is not None:
        steps: list = []
        step = leaf._view.step
        while True:
            for k, x in enumerate(tracer.inputs):
                if isinstance(x, Tensor) and (
                    x is leaf._view.base if step is None else x._view is not None and x._view.step is step
                ):
                    return k, steps[::-1]
            if step is None or any(isinstance(value, Tensor) for value in step[2]):
                break
            steps.append(step[1:])
            step = step[0]
    elif isinstance(leaf, Tensor) and leaf._edge is None and not leaf._requires_grad and leaf._grad is None:
        for k, x in enumerate(tracer.inputs):
            if isinstance(x, Tensor) and _is_whole(leaf, tracer, k):
                if leaf._version_counter is x._shared_counter:
                    return k, [(_DETACH, (), None)]
                if leaf._version_counter is None:
                    return k, [(_DATA, (), None)]
    raise Untraceable("it returns memory of a tensor from outside that is no view of it")


def _is_whole(tensor: Tensor, tracer: Tracer, k: int) -> bool:
    """Return whether a tensor covers all of the memory of input ``k``, in the same layout."""
    own, other = tensor._array.value, tracer.values[k]
    return own.memory is other.memory and all(getattr(own, name) == getattr(other, name) for name in _LOCATION)


def viewed(tensor: Tensor, steps: list) -> Any:
    for op, values, number in steps:
        view = op.function(tensor, *values)
        tensor = view if number is None else view[number]
    return tensor
