"""``backward`` and ``grad``: check the user's arguments and hand them to the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors, modes
from .._tensor.size import Size
from .._tensor.tensor import Tensor, wrap
from .._tracebacks import shorten
from ..arrays import Absent, module_of
from ..arrays.batched.array import Batched, BatchLevel, check_inside
from ..arrays.bfloat16_dtype import made
from ..errors import warn
from ..overrides.active_overrides import MISS, activate_for, active_overrides, overrides
from .engine import GraphTask, run, wants_tensors
from .graph import GradientEdge
from .node import AccumulateGrad, Edge, edge_of
from .other_gradients import raw_gradient, shown_gradient
from .unbroadcast import AnyDtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._typing import Ends, StartGradients, Targets, Tree


def backward(
    tensors: Ends,
    grad_tensors: StartGradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: StartGradients = None,
    inputs: Targets | None = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves they were computed from.

    Parameters
    ----------
    tensors : Tensor, GradientEdge or sequence of them
        What is differentiated.
    grad_tensors : Tensor or sequence, optional
        The gradient to start with for each; may be None for those of one element.
    retain_graph : bool, optional
        Keep saved values for another backward. Default: ``create_graph``.
    create_graph : bool
        Record the backward, for higher derivatives.
    inputs : Tensor, GradientEdge, sequence or dict of them, optional
        Accumulate only into these; non-leaf tensors among them retain their gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> dt.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`")
        grad_tensors = grad_variables
    roots = _listed(tensors)
    if inputs is not None:
        inputs = _listed_inputs(inputs, "backward")
    if active_overrides:
        answer = _asked(
            backward,
            (*roots, *(inputs or ())),
            (tuple(roots),),
            {
                "grad_tensors": grad_tensors,
                "retain_graph": retain_graph,
                "create_graph": create_graph,
                "inputs": None if inputs is None else tuple(inputs),
            },
        )
        if answer is not MISS:
            return answer
    if create_graph:
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its"
            " gradient which"
            " can cause a memory leak: prefer autograd.grad, or reset the .grad fields to None after use",
            UserWarning,
        )
    task = GraphTask(create_graph, create_graph if retain_graph is None else retain_graph)
    starts = _starts(roots, grad_tensors, create_graph)
    if inputs is not None:
        edges = [_input_edge(i, value) for i, value in enumerate(inputs)]
        for value in inputs:
            if isinstance(value, Tensor) and not value.is_leaf:
                value.retain_grad()
        task.targets = {edge[0] for edge in edges}
    try:
        run(starts, task)
    except Exception as error:
        shorten(error)
        raise


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``.

    Parameters
    ----------
    outputs : Tensor, GradientEdge or sequence of them
    inputs : Tensor, GradientEdge, sequence or dict of them
    grad_outputs : Tensor or sequence, optional
        The gradient to start with for each output; may be None for those of one element.
    retain_graph : bool, optional
        Keep saved values for another backward. Default: ``create_graph``.
    create_graph : bool
        Record the backward, for higher derivatives.
    only_inputs : bool
        Ignored: gradients go nowhere else.
    allow_unused : bool, optional
        Give None for an input that the outputs do not depend on; otherwise that is an error.
    is_grads_batched : bool
        The first dimension of each of ``grad_outputs`` is a batch: one result for each entry, stacked.
    materialize_grads : bool
        Give zeros in place of None.

    Returns
    -------
    tuple, or dict if ``inputs`` is one
        The gradients, each in its input's place.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(2.0, requires_grad=True)
    >>> dt.autograd.grad(x ** 3, {"x": x})
    {'x': tensor(12.)}
    >>> (g,) = dt.autograd.grad(x ** 3, x, create_graph=True)
    >>> dt.autograd.grad(g, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True): autograd.backward accumulates"
            " into other parts of the graph",
            FutureWarning,
        )
    roots, targets = _listed(outputs), _listed_inputs(inputs, "grad")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    found: Any = MISS
    if active_overrides:
        options = {
            "grad_outputs": grad_outputs,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "only_inputs": True,
            "allow_unused": materialize_grads if allow_unused is None else allow_unused,
            "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        found = _asked(grad, (*roots, *targets), (tuple(roots), tuple(targets)), options)
    if found is not MISS:
        return _keyed(inputs, found)
    if is_grads_batched:
        found = _batched(roots, targets, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    else:
        found = _gradients(roots, targets, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    return _keyed(inputs, found)


def _keyed(inputs: Targets, found: tuple) -> Any:
    """Return the gradients as a dict with the keys of ``inputs`` if that is a dict, else as they are."""
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def _asked(function: Callable, relevant: tuple, args: tuple, kwargs: dict) -> Any:
    """Return the answer of an override (a mode, or the class of a tensor or input) to ``function``, or ``MISS``."""
    from ..overrides.subclass import intercept

    return intercept(function, args, kwargs, relevant=relevant)


def _gradients(
    roots: list,
    targets: list,
    grad_outputs: StartGradients,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple:
    """Run one backward and return the gradients of ``targets``."""
    task = GraphTask(create_graph, create_graph if retain_graph is None else retain_graph)
    starts = _starts(roots, grad_outputs, create_graph)
    captures: dict = {}
    for place, value in enumerate(targets):
        edge = _input_edge(place, value)
        captures.setdefault(edge[0], {}).setdefault(edge[1], []).append(place)
    task.results = [None] * len(targets)
    task.captures, task.targets = captures, captures.keys()
    try:
        run(starts, task)
    except Exception as error:
        shorten(error)
        raise
    results: list = []
    for i, found in enumerate(task.results):
        if found is not None:
            results.append(shown_gradient(found))
        elif materialize_grads:
            results.append(_zeros(targets[i]).requires_grad_(create_graph))
        elif allow_unused:
            results.append(None)
        else:
            raise errors.unused_input(i)
    return tuple(results)


def _zeros(target: Any) -> Tensor:
    if isinstance(target, Tensor):
        return zeros_for(target)
    shape, dtype = target.node._outputs[target.output_nr]
    return wrap(np.zeros(shape, target.node.variable._array.dtype if type(dtype) is AnyDtype else dtype))


def _batched(
    roots: list,
    targets: list,
    grad_outputs: StartGradients,
    retain: bool | None,
    create: bool,
    unused: bool | None,
    materialize: bool,
) -> tuple:
    """Run one backward for all entries of the first dimension of ``grad_outputs``, as samples of a batch."""
    starts = _per_root(grad_outputs, roots)
    if any(start is None for start in starts):
        raise RuntimeError("is_grads_batched=True needs grad_outputs: a batch of gradients for each output")
    from ..ops.batching import batch, unbatch

    for i, (root, start) in enumerate(zip(roots, starts, strict=True)):
        if not isinstance(start, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(start).__name__}")
        shape = tuple(root.shape) if isinstance(root, Tensor) else root.node._outputs[root.output_nr][0]
        if start.ndim == 0 or tuple(start.shape[1:]) != shape or start.shape[0] != starts[0].shape[0]:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch"
                " dimension. The sizes of the remaining"
                " dimensions are expected to match the shape of corresponding output, but a mismatch was detected:"
                f" grad_output[{i}] has a shape of"
                f" {start.shape} and output[{i}] has a shape of {Size(shape)}."
            )
    if any(isinstance(each, Tensor) and type(each._array) is Absent for each in (*roots, *targets, *starts)):
        return _one_by_one(roots, targets, starts, retain, create, unused, materialize)
    level = BatchLevel(starts[0].shape[0])
    level.open = False  # no function runs inside
    found = _gradients(roots, targets, [batch(s, level, 0) for s in starts], retain, create, unused, materialize)
    return tuple(None if g is None else unbatch(g, level) for g in found)


def _one_by_one(
    roots: list, targets: list, starts: list, retain: bool | None, create: bool, unused: bool | None, materialize: bool
) -> tuple:
    """Run a backward for each entry of ``starts``: for tensors of classes that compute themselves, which cannot be
    batched arrays.
    """
    from ..ops.dispatch import FUNCTIONS

    count = starts[0].shape[0]
    keep = [True] * (count - 1) + [create if retain is None else retain]
    found = [
        _gradients(roots, targets, [start[i] for start in starts], keep[i], create, unused, materialize)
        for i in range(count)
    ]
    if not found:
        return tuple(zeros_for(target, (0,)) for target in targets)
    return tuple(None if each[0] is None else FUNCTIONS["stack"](list(each)) for each in zip(*found, strict=True))


def _listed(value: Targets) -> list:
    if type(value) is Tensor or isinstance(value, (Tensor, GradientEdge)):
        return [value]
    listed = [value] if overrides(value) else list(value)
    if not active_overrides:
        activate_for(listed, {})
    return listed


def _listed_inputs(inputs: Tree, who: str) -> list:
    """Return the inputs as a list; of a dict, its values in order."""
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `{who}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are"
                " not supported: convert it with dict()"
            )
        inputs = inputs.values()
    listed = _listed(inputs)
    if not listed:
        raise RuntimeError(f"`inputs` argument to `{who}()` cannot be empty.")
    return listed


def _per_root(grads: StartGradients, roots: list) -> list:
    if grads is None:
        return [None] * len(roots)
    listed = [grads] if isinstance(grads, Tensor) or not isinstance(grads, Sequence) else list(grads)
    if len(listed) != len(roots):
        raise RuntimeError(
            f"got {len(roots)} tensors and {len(listed)} gradients: there must be one gradient for each tensor"
        )
    return listed


def _starts(roots: list, grads: StartGradients, record: bool) -> list[tuple[Edge, Any]]:
    """Return the pairs of edge and gradient that a backward starts with."""
    record = record or wants_tensors(modes.current())
    if len(roots) == 1 and (grads is None or type(grads) is Tensor):
        return [_start(roots[0], grads, 0, record)]
    return [
        _start(root, grad, i, record) for i, (root, grad) in enumerate(zip(roots, _per_root(grads, roots), strict=True))
    ]


def _start(root: Tensor | GradientEdge, grad: Tensor | None, i: int, record: bool) -> tuple[Edge, Any]:
    if isinstance(root, Tensor):
        edge = edge_of(root)
        if type(root._array) is Batched:
            check_inside(root._array)
        if edge is None:
            raise errors.no_graph(i)
        if type(grad) is Tensor and not record and root._extra is None:  # nearly always a plain array that fits
            array, given = root._array, grad._array
            if (
                type(given) is np.ndarray
                and type(array) is np.ndarray
                and given.dtype is array.dtype
                and given.shape == array.shape
            ):
                return edge, given
    elif isinstance(root, GradientEdge):
        edge = (root.node, root.output_nr)
    else:
        raise TypeError(f"element {i} to differentiate must be a Tensor or a GradientEdge, got {type(root).__name__}")
    return edge, _first(edge, grad, i, record, root)


def _first(edge: Edge, grad: Tensor | None, i: int, record: bool, root: Tensor | GradientEdge) -> Any:
    """Return the gradient that a root starts with: the user's, checked, or one for a single element."""
    shape, dtype = edge[0]._outputs[edge[1]]
    if type(dtype) is AnyDtype:
        dtype = (
            edge[0].variable._array.dtype if grad is None else grad._array.dtype if isinstance(grad, Tensor) else None
        )
    if grad is None:
        if shape and prod(shape) != 1:
            raise errors.non_scalar(shape)
        if dtype.kind == "c":
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {dtype}: pass the gradient"
            )
        first = made(np.asarray, 1, dtype)
        if shape:
            first = first.reshape(shape)
        if isinstance(root, Tensor) and type(root._array) is not np.ndarray:
            if type(root._array) is Absent:
                return _ones(root)
            first = module_of(root._array).asarray(first)
        return wrap(first) if record else first
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    array = grad._array
    if array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(array.shape)} and output[{i}] has a shape of"
            f" {Size(shape)}."
        )
    if (array.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype."
            f" Mismatch in dtype: grad_output[{i}] has a dtype of {array.dtype} and output[{i}] has a dtype of"
            f" {dtype}."
        )
    if array.dtype != dtype:
        grad = grad.to(dtype)
    if record:
        return grad
    return raw_gradient(grad)


def zeros_for(tensor: Tensor, batch: tuple = ()) -> Tensor:
    """Return zeros shaped like ``tensor``, of its class if that has no array."""
    array = tensor._array
    if type(array) is Absent:
        from .. import zeros_like

        plain = tensor.detach()
        return plain.new_zeros((*batch, *array.shape)) if batch else zeros_like(plain)
    return wrap(np.zeros_like(array, shape=(*batch, *array.shape)) if batch else np.zeros_like(array))


def _ones(root: Tensor) -> Tensor:
    """Return ones shaped like ``root``, made by its class because it has no array."""
    from .. import ones_like

    return ones_like(root)


def _input_edge(i: int, value: object) -> Edge:
    if not isinstance(value, Tensor):
        if isinstance(value, GradientEdge):
            return (value.node, value.output_nr)
        raise RuntimeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__} for inputs[{i}]"
        )
    edge = edge_of(value)
    if type(value._array) is Batched:
        check_inside(value._array)
    if edge is None and value.requires_grad:
        return (AccumulateGrad(value), 0, value)  # a view made without history: nothing leads there
    if edge is None:
        raise RuntimeError(
            f"One of the differentiated Tensors does not require grad: inputs[{i}]; call requires_grad_() before using"
            " it"
        )
    return edge
