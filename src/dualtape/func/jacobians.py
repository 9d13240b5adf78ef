"""Whole Jacobians: one product for each row (reverse) or each column (forward), all of them in one batched pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from .._progress import steps
from .._tensor.tensor import Tensor, wrap
from .._tracebacks import shortened
from ..arrays import Absent, Batched, zeros
from ..autograd.tangents import tangent
from ..ops import FUNCTIONS
from ..pytree import tree_unflatten
from .scope import (
    as_numpy,
    as_tensors,
    check_argnums,
    named_as,
    of_kind,
    only_tensors,
    speaks_numpy,
    split_aux,
    with_chosen,
    zeros_for,
)
from .transforms import RecordedCall, forward_level, push
from .vmap import vmap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Shape, Tree
    from ..distributed.device_mesh import DeviceMesh
    from ..pytree import TreeSpec

__all__ = ["hessian", "jacfwd", "jacrev"]

P = ParamSpec("P")


def basis(tensor: Tensor, start: int, stop: int) -> Tensor:
    """Return the unit vectors ``start`` to ``stop`` of the space of ``tensor``, stacked along a first dimension."""
    like, n = tensor._array, tensor.numel()
    while type(like) is Batched:  # the same for all samples
        like = like.values
    if type(like) is Absent:  # whose class takes plain tensors beside its own
        like = np.empty((), like.dtype)
    units = zeros(((stop - start) * n,), like.dtype, like)
    if stop > start:
        units[start :: n + 1] = 1
    return wrap(units.reshape(stop - start, *tensor.shape))


def over_rows(function: Callable, points: Tree, randomness: str = "error") -> Callable:
    """Return ``function`` of one direction as a function of many: by ``vmap``, or one at a time for tensors of classes
    that compute themselves, which cannot be batched.
    """
    if not any([type(point._array) is Absent for point in points]):
        return vmap(function, randomness=randomness)

    def each(rows: Tensor) -> tuple:
        found = [function(row) for row in rows.unbind(0)]
        return tuple([FUNCTIONS["stack"](list(parts)) for parts in zip(*found, strict=True)])

    return each


def _chunks(n: int, size: int | None, mesh: DeviceMesh | None) -> list[tuple[int, int]]:
    first, last = (0, n) if mesh is None else mesh._share(n)
    size = max(n, 1) if size is None else size
    return [(start, min(start + size, last)) for start in range(first, max(last, first + 1), size)]


def _joined(parts: Sequence, shape: Shape, n: int, mesh: DeviceMesh | None) -> Any:
    """Return the results of chunks, concatenated; with a mesh, those of all processes.

    ``n`` is their number along the first dimension.
    """
    found = parts[0] if len(parts) == 1 else FUNCTIONS["cat"](list(parts))
    return found if mesh is None else mesh._together(found.reshape(-1, *shape), n)


def _nested(rows: list[list], argnums: int | tuple[int, ...], spec: TreeSpec, out_spec: TreeSpec) -> Any:
    """Return parts of a Jacobian, a row for each output, as a tree of the outputs with the arguments inside."""
    inside = [tree_unflatten(row, spec) for row in rows]
    return tree_unflatten(inside if isinstance(argnums, tuple) else [row[0] for row in inside], out_spec)


def _check_chunk(name: str, size: int | None) -> None:
    if size is not None and size < 1:
        raise ValueError(f"{name}: `chunk_size` should be greater than 0.")


def _check_real(who: str, tensors: list, what: str) -> None:
    """Raise unless all tensors are real: a complex derivative is a single number only for holomorphic functions."""
    for k, tensor in enumerate(tensors):
        if tensor._array.dtype.kind == "c":
            raise RuntimeError(
                f"{who}: Expected all {what} to be real but received complex tensor at flattened input idx: {k}."
                " Differentiate real and imaginary parts: view_as_real and view_as_complex convert"
            )


def jacrev(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: bool | None = None,
    mesh: DeviceMesh | None = None,
) -> Callable[P, Any]:
    """The Jacobian of ``func``, row by row in reverse mode, as a function of the same arguments.

    Best where there are fewer outputs than inputs.

    Parameters
    ----------
    func : callable
        Returns a tensor or a tree of tensors.
    argnums : int or tuple of int
        Which arguments to differentiate; each may be a tree of tensors or NumPy arrays.
    has_aux : bool
        ``func`` returns ``(output, aux)``; the result is then ``(jacobian, aux)``.
    chunk_size : int, optional
        How many rows to compute at once; all by default. Fewer need less memory.
    progress : bool, optional
        Show how many chunks are computed; by default on a terminal, once it has taken a second.
    mesh : DeviceMesh, optional
        Processes that each compute some of the rows; all of them call this, and have the whole.

    Returns
    -------
    callable
        Gives, nested as the output and inside that as the arguments, tensors of shape ``(*output.shape,
        *input.shape)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.jacrev(lambda x: x ** 2)(dt.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    _check_chunk("jacrev", chunk_size)

    @named_as(func)
    @shortened
    def wrapper(*args: Tree, **kwargs: object) -> Any:
        who = "jacrev(f)(*args)"
        places = check_argnums(argnums, len(args))
        numpy = speaks_numpy(args, kwargs)
        pulled = RecordedCall(with_chosen(func, args, kwargs, places), tuple(args[n] for n in places), has_aux, who)
        pulled.check_tensors(who)
        _check_real("jacrev", pulled.inputs, "inputs")
        _check_real("jacrev", pulled.outputs, "outputs")
        rows = []
        for k, output in enumerate(pulled.outputs):
            parts = []
            chunks = _chunks(output.numel(), chunk_size, mesh)
            for start, stop in steps(chunks, "jacrev", progress, len(chunks)):
                cotangents: list = [None] * len(pulled.outputs)
                units = cotangents[k] = basis(output, start, stop)
                batched = stop - start != 1  # one row needs no batch
                if not batched:
                    cotangents[k] = wrap(units._array[0, ...])
                found = pulled.pull(cotangents, True, None, batched=batched, partial=True)
                parts.append(found if batched or len(chunks) == 1 else [g.reshape(1, *g.shape) for g in found])
            columns = [
                _joined(column, x.shape, output.numel(), mesh).reshape(*output.shape, *x.shape)
                for column, x in zip(zip(*parts, strict=True), pulled.inputs, strict=True)
            ]
            rows.append([of_kind(column, leaf) for column, leaf in zip(columns, pulled.given, strict=True)])
        result = _nested(rows, argnums, pulled.spec, pulled.out_spec)
        result = (result, pulled.shown(pulled.aux)) if has_aux else result
        return as_numpy(result) if numpy else result

    return wrapper


def jacfwd(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
    progress: bool | None = None,
    mesh: DeviceMesh | None = None,
) -> Callable[P, Any]:
    """The Jacobian of ``func``, column by column in forward mode, as a function of the same arguments.

    Best where there are fewer inputs than outputs.

    Parameters
    ----------
    func, argnums, has_aux, chunk_size, progress, mesh
        As for :func:`jacrev`, with columns in place of rows.
    randomness : str
        What random functions inside do, as for :func:`vmap`.

    Returns
    -------
    callable
        Gives what that of :func:`jacrev` gives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.jacfwd(lambda x: x.sum() * x)(dt.tensor([1.0, 3.0]))
    tensor([[5., 1.],
            [3., 7.]])
    """
    return _by_columns(func, argnums, has_aux, randomness, chunk_size, progress, mesh, "jacfwd")


def _by_columns(
    func: Callable,
    argnums: int | tuple[int, ...],
    has_aux: bool,
    randomness: str,
    chunk_size: int | None,
    progress: bool | None,
    mesh: DeviceMesh | None,
    name: str,
) -> Callable:
    _check_chunk(name, chunk_size)

    @named_as(func)
    @shortened
    def wrapper(*args: Tree, **kwargs: object) -> Any:
        who = "jacfwd(f)(*args)"
        places = check_argnums(argnums, len(args))
        numpy = speaks_numpy(args, kwargs)
        points, spec = as_tensors(tuple([args[n] for n in places]), who, primal=True)
        _check_real("jacfwd", points, "inputs")
        for x in points:
            if x._array.dtype.kind != "f":
                raise ValueError(f"{who}: expected floating point arguments to differentiate, got {x.dtype!r}")
        seen: list = []  # the structure of the output, and aux: the same in every pass

        def moved(k: int, direction: Tensor) -> tuple:
            """Return the tangents of the outputs for a direction of the ``k``-th leaf."""
            directions = [direction if i == k else zeros_for(x) for i, x in enumerate(points)]
            with forward_level() as level:
                output = push(lambda *leaves: chosen_func(*tree_unflatten(leaves, spec)), points, directions, level)
                output, aux = split_aux(output, has_aux, who)
                leaves, out_spec = only_tensors(output, f"{who}: expected f(*args)")
                _check_real("jacfwd", leaves, "outputs")
                seen[:] = [out_spec, [leaf.shape for leaf in leaves], aux]
                return tuple(zeros_for(leaf) if (t := tangent(leaf, level)) is None else t for leaf in leaves)

        chosen_func = with_chosen(func, args, kwargs, places)
        columns = []
        for k, x in enumerate(points):
            chunks = _chunks(x.numel(), chunk_size, mesh)
            parts = [
                over_rows(functools.partial(moved, k), points, randomness)(basis(x, start, stop))
                for start, stop in steps(chunks, name, progress, len(chunks))
            ]
            columns.append([_joined(part, part[0].shape[1:], x.numel(), mesh) for part in zip(*parts, strict=True)])
        out_spec, shapes, aux = seen
        rows = [
            [
                of_kind(column[i].movedim(0, -1).reshape(*shape, *x.shape), x)
                for column, x in zip(columns, points, strict=True)
            ]
            for i, shape in enumerate(shapes)
        ]
        result = _nested(rows, argnums, spec, out_spec)
        result = (result, aux) if has_aux else result
        return as_numpy(result) if numpy else result

    return wrapper


def hessian(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    chunk_size: int | None = None,
    progress: bool | None = None,
    mesh: DeviceMesh | None = None,
) -> Callable[P, Any]:
    """The matrix of second derivatives of ``func``, forward over reverse, as a function of the same arguments.

    Parameters
    ----------
    func, argnums, chunk_size, progress, mesh
        As for :func:`jacfwd`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.hessian(lambda x: x[0] ** 2 * x[1])(dt.tensor([1.0, 3.0]))
    tensor([[6., 2.],
            [2., 0.]])
    """
    gradient = jacrev(func, argnums, progress=False)  # it runs inside of each column
    return _by_columns(gradient, argnums, False, "error", chunk_size, progress, mesh, "hessian")
