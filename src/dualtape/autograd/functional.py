"""Derivatives of a function at a point: products with vectors (``vjp``, ``jvp``, ``vhp``, ``hvp``), ``jacobian`` and
``hessian``.

The function runs on new tensors in the place of the inputs, so that its arguments are told from tensors that it
knows from elsewhere, and nothing of the caller's is changed. Everything goes through
:func:`dualtape.autograd.grad`; ``jvp`` and ``hvp`` differentiate a backward pass with respect to the gradient it
starts from, so that they see the function as reverse mode does: what runs under ``no_grad`` is constant. Forward
mode, which sees through that, is used where it is asked for. The functions of :mod:`dualtape.func` do more: trees
of arguments, NumPy arrays, any nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._listing import listing
from .._progress import steps
from .._tensor.tensor import Tensor
from ..func import jacobians, scope, transforms
from ..modes import current, enable_grad
from ..ops.dispatch import FUNCTIONS
from .api import grad
from .forward_ad import dual
from .tangents import tangent

if TYPE_CHECKING:
    from .._typing import Tensors

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

FORWARD, REVERSE = "forward-mode", "reverse-mode"


# What must be true if the vector is left out.
_ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element"

# --- products with vectors ------------------------------------------------------------------------


def vjp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return the value of ``func``, and the product of ``v`` with its Jacobian: gradients of the inputs, given those of
    the outputs.

    Parameters
    ----------
    func : callable
        Takes tensors; returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple of Tensors
        Where. A single tensor gives a single tensor as the result.
    v : Tensor or tuple of Tensors, optional
        As the outputs are; may be left out for a single output of one element.
    create_graph : bool
        Record what is computed, so that the results can be differentiated.
    strict : bool
        Raise if an output does not depend on the inputs, or the outputs on an input, instead of giving zeros.

    Returns
    -------
    outputs, product
        Neither requires grad, unless with ``create_graph``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.functional.vjp(lambda x: x ** 3, dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0]))
    (tensor([1., 8.]), tensor([  3., 120.]))
    """
    several, points = _tensors(inputs, "inputs", "vjp")
    with enable_grad():
        x = _inward(points, create_graph)
        several_out, outputs = _run(func, x, "vjp", strict)
        weights = _vector(
            v, outputs, create_graph, "vjp", "the user-provided function returns a single Tensor with a single element"
        )
        found = _vjp(outputs, x, weights, create_graph)
        found = _filled(found, x, strict, create_graph, "output", "jacobian")
    return _outward(outputs, several_out, create_graph), _outward(found, several, create_graph)


def jvp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return the value of ``func``, and the product of its Jacobian with ``v``: its derivative in the direction ``v``.

    Two backward passes compute it. One pass forward does, with :func:`dualtape.func.jvp` or
    :mod:`dualtape.autograd.forward_ad`.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for :func:`vjp`.
    v : Tensor or tuple of Tensors, optional
        As the inputs are; may be left out for a single input of one element.

    Returns
    -------
    outputs, product
        Both as the outputs are.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.functional.jvp(lambda x: x.sum() * x, dt.tensor([1.0, 2.0]), dt.tensor([1.0, 0.0]))
    (tensor([3., 6.]), tensor([4., 2.]))
    """
    _, points = _tensors(inputs, "inputs", "jvp")
    with enable_grad():
        x = _inward(points, create_graph)
        direction = _vector(v, x, create_graph, "jvp", _ONE_INPUT)
        several_out, outputs = _run(func, x, "jvp", strict)
        moved = _push(outputs, x, direction, strict, create_graph, "output")
        found = _filled(moved, outputs, strict, create_graph, "jacobian", "jacobian")
    return _outward(outputs, several_out, create_graph), _outward(found, several_out, create_graph)


def vhp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return the value of a scalar function, and the product of ``v`` with its Hessian.

    Parameters
    ----------
    func : callable
        Takes tensors; returns a tensor of one element.
    inputs, create_graph
        As for :func:`vjp`.
    v : Tensor or tuple of Tensors, optional
        As the inputs are; may be left out for a single input of one element.
    strict : bool
        Raise if the gradient does not depend on an input, instead of giving zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.functional.vhp(lambda x: (x ** 3).sum(), dt.tensor([1.0, 2.0]), dt.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _with_hessian(
        "vhp", func, inputs, v, create_graph, strict, lambda slope, x, v: _vjp(slope, x, v, create_graph)
    )


def hvp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return the value of a scalar function, and the product of its Hessian with ``v``.

    The Hessian of a smooth function is symmetric, and :func:`vhp` gives the same in one backward pass less.

    Parameters
    ----------
    func : callable
        Takes tensors; returns a tensor of one element.
    inputs, create_graph
        As for :func:`vjp`.
    v : Tensor or tuple of Tensors, optional
        As the inputs are; may be left out for a single input of one element.
    strict : bool
        Raise if the gradient does not depend on an input, instead of giving zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.functional.hvp(lambda x: x[0] ** 2 * x[1], dt.tensor([1.0, 3.0]), dt.tensor([1.0, 0.0]))
    (tensor(3.), tensor([6., 2.]))
    """
    return _with_hessian(
        "hvp",
        func,
        inputs,
        v,
        create_graph,
        strict,
        lambda slope, x, v: _push(slope, x, v, strict, create_graph, "jacobian"),
    )


def _with_hessian(
    name: str, func: Callable, inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool, product: Callable
) -> tuple:
    """Return the value of a scalar function, and ``product(gradient, inputs, v)``."""
    several, points = _tensors(inputs, "inputs", name)
    with enable_grad():
        x = _inward(points, create_graph)
        vector = _vector(v, x, create_graph, name, _ONE_INPUT)
        output = _run_scalar(func, x, name, strict)
        found = product(_gradient(output, x, strict), x, vector)
        found = _filled(found, x, strict, create_graph, "jacobian", "hessian")
    return _outward([output], False, create_graph), _outward(found, several, create_graph)


# --- whole matrices -------------------------------------------------------------------------------


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = REVERSE,
    *,
    sparse: bool = False,
    progress: bool | None = None,
) -> Any:
    """Return the Jacobian of ``func``.

    Parameters
    ----------
    func, inputs, create_graph
        As for :func:`vjp`.
    strict : bool
        Raise if an output does not depend on an input, instead of giving zeros. Not in forward mode.
    vectorize : bool
        Compute all rows (in forward mode: columns) in one batched pass instead of a loop.
    strategy : {"reverse-mode", "forward-mode"}
        Row by row, or column by column: forward mode is the better one where there are more outputs than inputs.
    sparse : bool
        Find out which entries can differ from zero, and compute them in few passes. The result is a
        ``scipy.sparse.csr_array`` of shape (elements of the output, elements of the input); see
        :func:`dualtape.func.sparse.sparse_jacobian`. For one tensor in and one out.
    progress : bool, optional
        Show how many rows or columns are computed; by default on a terminal, once it has taken a second.

    Returns
    -------
    Tensor, or tuple of Tensors, or tuple of tuples
        Of shape ``(*output.shape, *input.shape)``. A tuple of outputs gives a tuple, a tuple of inputs gives a
        tuple inside that.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.functional.jacobian(lambda x: x.sum() * x, dt.tensor([1.0, 3.0]))
    tensor([[5., 1.],
            [3., 7.]])
    >>> dt.autograd.functional.jacobian(lambda x, y: x * y, (dt.tensor(2.0), dt.tensor(3.0)))
    (tensor(3.), tensor(2.))
    """
    _check_strategy(strategy)
    if sparse:
        return _sparse("jacobian", func, inputs, create_graph, strict, progress)
    return _dense(func, inputs, create_graph, strict, vectorize, strategy, progress, "jacobian")


def _dense(
    func: Callable,
    inputs: Tensors,
    create_graph: bool,
    strict: bool,
    vectorize: bool,
    strategy: str,
    progress: bool | None,
    shown_as: str,
) -> Any:
    several, points = _tensors(inputs, "inputs", "jacobian")
    with enable_grad():
        if strategy == FORWARD:
            if strict:
                raise RuntimeError(
                    f'jacobian: `strict=True` and `strategy="{FORWARD}"` are not supported together: leave out one of'
                    " them"
                )
            x = _inward(points, True) if create_graph else tuple(p.detach() for p in points)
            several_out, rows = _by_columns(func, x, create_graph, vectorize, "jacobian", progress, shown_as)
        else:
            x = _inward(points, create_graph)
            several_out, outputs = _run(func, x, "jacobian", strict)
            rows = _by_rows(outputs, x, create_graph, strict, vectorize, progress, shown_as)
    shown = [_outward(row, several, create_graph) for row in rows]
    return tuple(shown) if several_out else shown[0]


def hessian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = REVERSE,
    *,
    sparse: bool = False,
    progress: bool | None = None,
) -> Any:
    """Return the Hessian of a scalar function.

    Parameters
    ----------
    func : callable
        Takes tensors; returns a tensor of one element.
    inputs, create_graph, strict, vectorize
        As for :func:`jacobian`.
    outer_jacobian_strategy : {"reverse-mode", "forward-mode"}
        How the gradient is differentiated.
    sparse : bool
        Find out which entries can differ from zero, and compute them in few passes. The result is a square
        ``scipy.sparse.csr_array``; see :func:`dualtape.func.sparse.sparse_hessian`. For one tensor as the input.
    progress : bool, optional
        Show how many rows or columns are computed; by default on a terminal, once it has taken a second.

    Returns
    -------
    Tensor, or tuple of tuples of Tensors
        Of shape ``(*input.shape, *input.shape)``; for a tuple of inputs, entry ``[i][j]`` belongs to the inputs
        ``i`` and ``j``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.functional.hessian(lambda x: x[0] ** 2 * x[1], dt.tensor([1.0, 3.0]))
    tensor([[6., 2.],
            [2., 0.]])
    """
    _check_strategy(outer_jacobian_strategy)
    if sparse:
        return _sparse("hessian", func, inputs, create_graph, strict, progress)
    several, _ = _tensors(inputs, "inputs", "hessian")
    forward = outer_jacobian_strategy == FORWARD

    def gradient(*x: Tensor) -> Any:
        with enable_grad():
            if forward:
                x = tuple(one if one.requires_grad else one.requires_grad_() for one in x)
            output = _run_scalar(func, x, "hessian", strict)
            found = _gradient(output, x, strict, create_graph or not forward)
        return tuple(found) if several else found[0]

    return _dense(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy, progress, "hessian")


def _by_rows(
    outputs: Sequence[Tensor],
    x: tuple,
    create: bool,
    strict: bool,
    vectorize: bool,
    progress: bool | None = False,
    shown_as: str = "jacobian",
) -> list:
    """Return the Jacobian of each output by reverse mode: a list with an entry for each input."""
    result = []
    for k, output in enumerate(outputs):
        n = output._array.size
        columns: list = [None] * len(x)
        if output.requires_grad and n:
            units = jacobians.basis(output, 0, n)
            if output._array.dtype.kind == "c" and not vectorize:
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {output.dtype!r}: output {k}"
                    " is complex. Differentiate its real and imaginary parts, or use forward mode"
                )
            if vectorize:
                columns = list(grad(output, x, units, True, create, allow_unused=True, is_grads_batched=True))
            else:
                rows = steps(range(n), f"{shown_as}: rows", progress, n)
                each = [grad(output, x, units[row], True, create, allow_unused=True) for row in rows]
                columns = [_stacked(list(column)) for column in zip(*each, strict=True)]
            columns = _filled(columns, x, strict, create, f"Output {k}", "jacobian", (n,))
        shape = output._array.shape
        columns = [
            scope.zeros_for(one, shape) if c is None else c.reshape(*shape, *one.shape)
            for c, one in zip(columns, x, strict=True)
        ]
        result.append(columns)
    return result


def _stacked(rows: list) -> Any:
    return None if rows[0] is None else FUNCTIONS["stack"](rows)


def _by_columns(
    func: Callable,
    x: tuple,
    create: bool,
    vectorize: bool,
    who: str,
    progress: bool | None = False,
    shown_as: str = "",
) -> tuple[bool, list]:
    """Return whether there are several outputs, and the Jacobian of each by forward mode: a list with an entry for each
    input.
    """

    seen: tuple[bool, list] = (False, [])
    columns = []
    for k, point in enumerate(x):
        if point._array.dtype.kind not in "fc":
            raise ValueError(
                f"Expected the inputs given to {who} to be floating point or complex, but got: {point.dtype!r}"
            )

        def moved(direction: Tensor, k: int = k) -> tuple:
            nonlocal seen
            with transforms.forward_level() as level:
                # without a graph nothing else keeps the function from writing to them
                given = list(x) if create else [one.clone() for one in x]
                given[k] = dual(given[k], direction, current().levels, level)
                several, outputs = _tensors(func(*given), "outputs of the user-provided function", who)
                seen = several, [o._array.shape for o in outputs]
                return tuple(scope.zeros_for(o) if (t := tangent(o, level)) is None else t for o in outputs)

        n = point._array.size
        units = jacobians.basis(point, 0, n)
        if not n:
            moved(scope.zeros_for(point))  # only to see how many outputs there are, and of what shape
            columns.append([scope.zeros_for(point, shape) for shape in seen[1]])
            continue
        found = (
            jacobians.over_rows(moved, x)(units)
            if vectorize
            else [
                _stacked(list(c))
                for c in zip(
                    *(moved(units[i]) for i in steps(range(n), f"{shown_as or who}: columns", progress, n)), strict=True
                )
            ]
        )
        columns.append(
            [t.movedim(0, -1).reshape(*shape, *point.shape) for t, shape in zip(found, seen[1], strict=True)]
        )
    return seen[0], [list(row) for row in zip(*columns, strict=True)]


def _sparse(name: str, func: Callable, inputs: Tensors, create: bool, strict: bool, progress: bool | None) -> Any:
    if not isinstance(inputs, Tensor):
        raise TypeError(
            f"{name}: sparse=True takes a single Tensor as the input, got {type(inputs)}: join the inputs, or leave"
            " sparse out"
        )
    if create or strict:
        raise ValueError(
            f"{name}: a sparse result is an array, not a tensor: leave out create_graph and strict, or sparse"
        )
    from ..func import sparse_hessian, sparse_jacobian

    derivative = sparse_hessian if name == "hessian" else sparse_jacobian
    return derivative(func, progress=progress)(inputs.detach())


# --- in and out -----------------------------------------------------------------------------------


def _tensors(value: Any, what: str, who: str) -> tuple[bool, tuple]:
    """Return whether ``value`` is a tuple, and its tensors; raise for anything else."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for k, one in enumerate(values):
        if not isinstance(one, Tensor):
            place = f"value at index {k}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {who} must be either a Tensor or a tuple of Tensors but the {place} has type"
                f" {type(one)}."
            )
    return several, values


def _inward(points: tuple, create: bool) -> tuple:
    """Return new tensors to call the function with: connected to the old ones, or carrying their tangents, if those are
    differentiated too.
    """
    return tuple(
        p.view_as(p) if create and p.requires_grad else (scope.cut_off(p) if create else p.detach()).requires_grad_()
        for p in points
    )


def _vector(v: Tensors | None, like: Sequence[Tensor], create: bool, who: str, only_if: str) -> list:
    """Return the vector of a product, checked against ``like``; ``[None]`` where it stands for one."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(f"The vector v can only be None if {only_if}.")
        return [None]
    _, given = _tensors(v, "v", who)
    if len(given) != len(like):
        if len(like) == 1:
            raise RuntimeError(f"The given v should contain a single Tensor, got {len(given)}.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for k, (one, other) in enumerate(zip(given, like, strict=True)):
        if one._array.shape != other._array.shape:
            raise RuntimeError(
                f"{f'Entry {k} in v' if len(like) > 1 else 'v'} has invalid size: should be {other.shape} but got"
                f" {one.shape}."
            )
    return [
        one.view_as(one) if create and one.requires_grad else scope.cut_off(one) if create else one.detach()
        for one in given
    ]


def _run(func: Callable, x: Sequence[Tensor], who: str, strict: bool) -> tuple[bool, tuple]:
    several, outputs = _tensors(func(*x), "outputs of the user-provided function", who)
    for k, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. The outputs must be computed"
                " in a differentiable manner from the input when running in strict mode."
            )
    return several, outputs


def _run_scalar(func: Callable, x: Sequence[Tensor], who: str, strict: bool) -> Tensor:
    several, outputs = _run(func, x, who, strict)
    if several:
        raise RuntimeError(f"The function given to {who} should return a single Tensor, got a tuple of {len(outputs)}")
    if outputs[0]._array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {who} should contain a single element, got shape"
            f" {list(outputs[0].shape)}"
        )
    return outputs[0]


def _vjp(outputs: Sequence[Tensor], x: Sequence[Tensor], v: Sequence, create: bool) -> list:
    """Return the gradients of ``x`` given those of the outputs; None where nothing depends on it."""
    pairs = [(output, one) for output, one in zip(outputs, v, strict=True) if output.requires_grad]
    if not pairs:
        return [None] * len(x)
    return list(
        grad([output for output, _ in pairs], x, [one for _, one in pairs], create_graph=create, allow_unused=True)
    )


def _gradient(output: Tensor, x: Sequence[Tensor], strict: bool, create: bool = True) -> list:
    """Return the recorded gradient of a scalar, which can be differentiated again."""
    found = _filled(_vjp([output], x, [None], create), x, strict, False, "output", "")
    for k, one in enumerate(found):
        if strict and not one.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to"
                f" input {k} is independent of"
                " the input. This is not allowed in strict mode: the function must be twice differentiable, and not"
                " linear."
            )
    return found


def _push(outputs: Sequence[Tensor], x: Sequence[Tensor], v: Sequence, strict: bool, create: bool, what: str) -> list:
    """Return the derivatives of the outputs in the direction ``v``; None where there is none.

    The gradient of ``x`` is linear in the gradient of the outputs that it is computed from, and so the gradient
    with respect to that is the transpose.
    """
    starts = [scope.zeros_for(output).requires_grad_() if output.requires_grad else None for output in outputs]
    pulled = _filled(_vjp(outputs, x, starts, True), x, strict, False, what, "")
    asked = [start for start in starts if start is not None]
    found = iter(_vjp(pulled, asked, v, create) if asked else ())
    return [None if start is None else next(found) for start in starts]


def _filled(
    found: list, like: Sequence[Tensor], strict: bool, create: bool, what: str, whole: str, batch: tuple = ()
) -> list:
    """Return ``found`` with zeros in place of None; with ``strict``, raise an error that names the independent output
    and input.
    """
    for k, one in enumerate(found if strict else ()):
        if one is None:
            subject = what if what[0].isupper() else f"The {what}"
            raise RuntimeError(
                f"{subject} of the user-provided function is independent of input {k}. This is not allowed in strict"
                " mode."
            )
        if create and not one.requires_grad:
            raise RuntimeError(
                f"The {whole} of the user-provided function is independent of input {k}. This is not allowed in strict"
                " mode when create_graph=True."
            )
    return [scope.zeros_for(other, batch) if one is None else one for one, other in zip(found, like, strict=True)]


def _outward(results: Sequence[Tensor], several: bool, create: bool) -> Any:
    shown = tuple(results if create else (one.detach() for one in results))
    return shown if several else shown[0]


def _check_strategy(strategy: str) -> None:
    if strategy not in (FORWARD, REVERSE):
        raise AssertionError(
            f'Expected strategy to be either "{FORWARD}" or "{REVERSE}", got {strategy!r}. Forward mode is the better'
            " one for more outputs than inputs."
        )


__dir__ = listing(__name__)
