"""``vmap``: run a function of one sample once for a whole batch.

The batch dimensions of the inputs are hidden (:mod:`dualtape.arrays.batched`), the function runs on tensors with the
shape of one sample, and the results get their batch dimension back. Nothing is traced: Python code runs once, and
gradients are recorded as always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .. import modes
from .._tensor.tensor import Tensor, wrap
from .._tracebacks import shortened
from ..arrays import is_array
from ..arrays.batched.array import Batched, BatchLevel, extent, innermost, is_batched
from ..ops import FUNCTIONS
from ..ops.batching import batch, reveal, unbatch
from ..pytree import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from .scope import from_array, named_as, of_kind

if TYPE_CHECKING:
    from .._typing import Array, Dims, Tree
    from ..distributed.device_mesh import DeviceMesh
    from ..pytree import TreeSpec

__all__ = ["chunk_vmap", "debug_unwrap", "vmap"]


F = TypeVar("F", bound=Callable[..., Any])


def vmap(
    func: F,
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
    mesh: DeviceMesh | None = None,
) -> F:
    """Return a function that applies ``func`` to every entry along a dimension.

    Parameters
    ----------
    func : callable
        Takes and returns tensors, also nested in tuples, lists and dicts.
    in_dims : int, None or nested structure of them
        The dimension of each input to map over; None for an input that is the same for all samples, as keyword
        arguments are.
    out_dims : int, None or nested structure of them
        Where the mapped dimension stands in the results; None for a result that does not depend on the sample.
    randomness : {"error", "different", "same"}
        Whether random functions inside are refused, draw for each sample, or draw once for all.
    chunk_size : int, optional
        Work on at most so many samples at a time.
    mesh : DeviceMesh, optional
        Processes that each compute some of the samples; all of them call this, and have all results.

    Returns
    -------
    callable
        Given NumPy arrays and no tensor, it returns NumPy arrays.

    Examples
    --------
    >>> import dualtape as dt
    >>> rows = dt.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> dt.func.vmap(dt.dot)(rows, rows)
    tensor([ 5., 25.])
    >>> dt.func.vmap(lambda row, factor: row * factor, in_dims=(0, None))(rows, dt.tensor(10.0))
    tensor([[10., 20.],
            [30., 40.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @named_as(func)
    @shortened
    def mapped(*args: Tree, **kwargs: object) -> Any:
        size, leaves, dims, spec = _inputs(args, in_dims, func)
        given = [*leaves, *tree_leaves(kwargs)] if kwargs else leaves
        arrays_only = False
        if any([not isinstance(leaf, Tensor) for leaf in given]):
            arrays_only = any(is_array(leaf) for leaf in given) and not any(isinstance(leaf, Tensor) for leaf in given)
            leaves, kwargs = [_seen(leaf) for leaf in leaves], tree_map(_seen, kwargs)
        call: Callable = func
        if kwargs:
            call = lambda *inner: func(*inner, **kwargs)
            call.__name__ = _name(func)
        if any([isinstance(leaf, Tensor) and leaf.is_nested for leaf in leaves]):
            from ..nested.mapping import by_samples

            return by_samples(call, size, leaves, dims, spec, out_dims, randomness)
        if mesh is not None:
            result = _spread(call, size, leaves, dims, spec, out_dims, randomness, chunk_size, mesh)
        elif chunk_size is None or chunk_size >= size:
            result = _flat(call, size, leaves, dims, spec, out_dims, randomness)
        else:
            result = _chunked(call, size, leaves, dims, spec, out_dims, randomness, chunk_size)
        return (
            tree_map(lambda leaf: leaf.detach()._array if isinstance(leaf, Tensor) else leaf, result)
            if arrays_only
            else result
        )

    # To checkers the result takes and returns what ``func`` does, which lets them see through nested lambdas.
    return mapped  # type: ignore[return-value]


def chunk_vmap(
    func: Callable, in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", chunks: int = 2
) -> Callable:
    """Return :func:`vmap` in ``chunks`` chunks; ``vmap(..., chunk_size=)`` sets their size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.chunk_vmap(lambda row: row.sum(), chunks=2)(dt.ones(5, 3))
    tensor([3., 3., 3., 3., 3.])
    """

    @named_as(func)
    @shortened
    def mapped(*args: Tree, **kwargs: object) -> Any:
        if chunks < 1:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = -(-_inputs(args, in_dims, func)[0] // chunks)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size or None)(*args, **kwargs)

    return mapped


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return all samples of a tensor inside :func:`vmap`, along a first dimension, for inspection; a constant.

    Parameters
    ----------
    tensor : Tensor
        One that is no sample is given back.
    recurse : bool
        Whether the samples of outer ``vmap`` are shown, too.

    Examples
    --------
    >>> import dualtape as dt
    >>> def f(row):
    ...     print(dt.func.debug_unwrap(row * 10))
    ...     return row.sum()
    >>> sums = dt.func.vmap(f)(dt.eye(2))
    tensor([[10.,  0.],
            [ 0., 10.]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"debug_unwrap takes a Tensor, got {type(tensor).__name__}")
    array = tensor._array
    if type(array) is not Batched:
        return tensor
    return wrap(innermost(array) if recurse else array.values)


def _name(func: Callable) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _seen(leaf: object) -> Any:
    """Return a leaf as the function receives it: arrays become tensors."""
    return from_array(leaf) if is_array(leaf) else leaf


def _inputs(args: tuple, in_dims: Dims, func: Callable) -> tuple[int, list, list, Any]:
    """Return the number of samples, the leaves of the arguments, the dimension of each, and their spec."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{_call(func, in_dims)}: expected `in_dims` to be int or a (potentially nested) tuple matching the"
            f" structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap"
            " over a function with no inputs."
            " The latter is unsupported."
        )
    leaves, spec = tree_flatten(tuple(args))
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{_call(func, in_dims)}: in_dims is not compatible with the structure of `inputs`. in_dims has structure"
            f" {in_dims!r}, inputs {spec}."
        )
    sizes = set()
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is not None:
            if type(dim) is not int or not isinstance(leaf, Tensor) or not -leaf.ndim <= dim < leaf.ndim:
                _check(leaf, dim, _call(func, in_dims))
            dims[i] = dim % leaf.ndim
            sizes.add(leaf.shape[dim])
    if not sizes:
        raise ValueError(
            f"{_call(func, in_dims)}: vmap: Expected at least one Tensor to vmap over, but `in_dims` is None for all"
            " inputs"
        )
    if len(sizes) > 1:
        found = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {found} for the"
            " mapped dimension"
        )
    return sizes.pop(), leaves, dims, spec


def _is_tensor(leaf: object) -> bool:
    return isinstance(leaf, Tensor) or is_array(leaf)


def _call(func: Callable, in_dims: Dims) -> str:
    return f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"


def _check(leaf: Array | Tensor, dim: Any, call: str) -> None:
    """Raise unless an input has this dimension."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ValueError(
            f"{call}: Got in_dim={dim!r} for an input but in_dim must be either an integer dimension or None."
        )
    if not _is_tensor(leaf):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over"
            " non-Tensor arguments, please use"
            " None as the respective in_dim"
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so"
            " expected in_dim to satisfy"
            f" -{leaf.ndim} <= in_dim < {leaf.ndim}."
        )


def _flat(func: Callable, size: int, leaves: list, dims: list, spec: TreeSpec, out_dims: Dims, randomness: str) -> Any:
    """Run all samples at once."""
    mode = modes.current()
    level = BatchLevel(size, randomness, _name(func))
    inside = mode.replace(batches=(*mode.batches, level))
    try:
        modes._set(inside)
        seen = [
            leaf if dim is None else of_kind(batch(leaf, level, dim), leaf)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        given = {(id(one), dim): leaf for one, leaf, dim in zip(seen, leaves, dims, strict=True) if one is not leaf}
        return _outputs(func(*tree_unflatten(seen, spec)), out_dims, level, func, given)
    finally:
        level.open, level.ended = False, True
        now = modes._set(mode).old_value
        if now is not inside:
            modes.keep(now, mode, "batches")


def _out_dims(out_dims: Dims, spec: TreeSpec, func: Callable) -> list:
    if not spec.is_leaf() or not isinstance(out_dims, tuple):
        dims = broadcast_prefix(out_dims, spec)
    else:
        dims = [out_dims[0]] if len(out_dims) == 1 else None
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of"
            " `outputs`. out_dims has structure"
            f" {out_dims!r} but outputs has structure {spec}."
        )
    for dim in dims:
        if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection"
                " of ints representing where in"
                " the outputs the vmapped dimension should appear."
            )
    return dims


def _outputs(result: Tree, out_dims: Dims, level: BatchLevel, func: Callable, given: dict) -> Any:
    """Return the results with visible samples; ``given`` maps samples to the function's inputs and dimensions."""
    leaves, spec = tree_flatten(result)
    dims = _out_dims(out_dims, spec, func)
    bases = {id(leaf._view.base) for leaf in leaves if isinstance(leaf, Tensor) and leaf._is_view()}
    return tree_unflatten(
        [_shown(leaf, dim, level, func, given, bases) for leaf, dim in zip(leaves, dims, strict=True)], spec
    )


def _shown(leaf: object, dim: int | None, level: BatchLevel, func: Callable, given: dict, bases: set[int]) -> Any:
    """Return one result with visible samples: the same tensor for the same sample, an argument for its own sample; a
    view only of tensors that outlive the call.
    """
    if dim is not None and isinstance(leaf, Tensor) and -leaf.ndim - 1 <= dim <= leaf.ndim:
        dim %= leaf.ndim + 1
        shown = given.get((id(leaf), dim))
        if shown is None or shown.requires_grad != leaf.requires_grad:
            shown = given[id(leaf), dim] = of_kind(_shown_anew(leaf, dim, level, bases), leaf)
        return shown
    name = _name(func)
    if dim is None:
        if isinstance(leaf, Tensor) and is_batched(leaf._array, level):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: the result differs"
                " from sample to sample"
            )
        return leaf
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set"
            " out_dims= to None for output?"
        )
    raise IndexError(
        f"Dimension out of range (expected to be in range of [{-leaf.ndim - 1}, {leaf.ndim}], but got {dim})"
    )


def _shown_anew(leaf: Tensor, dim: int, level: BatchLevel, bases: set[int]) -> Tensor:
    array = leaf._array
    if not is_batched(array, level):
        whole = FUNCTIONS["unsqueeze"](leaf, dim) if dim else leaf
        return FUNCTIONS["broadcast_to"](whole, (*leaf.shape[:dim], level.size, *leaf.shape[dim:]))
    if leaf._is_view() or id(leaf) in bases or extent(array, level) != level.size:
        return unbatch(leaf, level, dim)
    return reveal(leaf, level, dim)


def _spread(
    func: Callable,
    size: int,
    leaves: list,
    dims: list,
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    chunk_size: int | None,
    mesh: Any,
) -> Any:
    """Run the samples of this process, and collect the results of the others for theirs."""
    if randomness == "different":
        raise ValueError("vmap: with mesh= each process would draw its own numbers: use randomness='same' or 'error'")
    start, stop = mesh._share(size)
    count = max(stop - start, 1)  # who has none runs one, to know what comes out
    part = [
        leaf if dim is None else of_kind(FUNCTIONS["narrow"](leaf, dim, min(start, size - 1), count), leaf)
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    run = _flat if chunk_size is None or chunk_size >= count else _chunked
    more = () if run is _flat else (chunk_size,)
    result, made_spec = tree_flatten(run(func, count, part, dims, spec, out_dims, randomness, *more))
    shown = []
    for leaf, dim in zip(result, _out_dims(out_dims, made_spec, func), strict=True):
        if dim is not None:
            rows = leaf.movedim(dim, 0)[: stop - start]
            leaf = mesh._together(rows, size).movedim(0, dim)
        shown.append(leaf)
    return tree_unflatten(shown, made_spec)


def _chunked(
    func: Callable,
    size: int,
    leaves: list,
    dims: list,
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    chunk_size: int,
) -> Any:
    """Run ``chunk_size`` samples at a time, and join the results."""
    from ..random import generator as random

    state = random.get_rng_state() if randomness == "same" else None
    results: list = []
    made_spec: Any = None
    placed: list = []
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        part = [
            leaf if dim is None else of_kind(FUNCTIONS["narrow"](leaf, dim, start, count), leaf)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        if state is not None:
            random.set_rng_state(state)
        result, made_spec = tree_flatten(_flat(func, count, part, dims, spec, out_dims, randomness))
        placed = _out_dims(out_dims, made_spec, func)
        results.append(result)
    joined = [
        column[0] if dim is None else FUNCTIONS["cat"](list(column), dim)
        for column, dim in zip(zip(*results, strict=True), placed, strict=True)
    ]
    return tree_unflatten(joined, made_spec)
