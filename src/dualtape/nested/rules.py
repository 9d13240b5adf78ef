"""What operations mean for nested tensors: pointwise ones act on the values; the others are here, by name.

What has to see whole samples (a sum or a softmax along the ragged dimension, attention) sees them padded with
what does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..ops.dispatch import FUNCTIONS
from ..ops.formulas import normal_dim
from ..ops.table import BROADCASTING, ELEMENTWISE, TABLE
from .ragged import NestedTensor, Ragged, RaggedSize, make_nested, pack

RULES: dict[str, Callable] = {}
_ON_VALUES = {  # beside the ops that the table knows to be pointwise
    "alpha_dropout",
    "bfloat16",
    "bool",
    "clamp_max",
    "clamp_min",
    "clone",
    "conj",
    "div",
    "double",
    "dropout",
    "float",
    "half",
    "int",
    "isclose",
    "long",
    "masked_fill",
    "nn_rrelu",
    "normal",
    "positive",
    "softsign",
    "tanhshrink",
    "to",
    "to_dtype",
    "uniform",
    "where",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "randint_like",
    "zero",
    "fill",
    "refill",
    "copy",
}


def rule_of(func: Callable) -> Callable | None:
    """How a function is run on nested tensors; None: as it is."""
    name = getattr(func, "__name__", "")
    if name in RULES:
        return RULES[name]
    plain = name.removesuffix("_")
    row = TABLE.get(name) or TABLE.get(plain)
    if name in _ON_VALUES or plain in _ON_VALUES or (row is not None and row.kind in (ELEMENTWISE, BROADCASTING)):
        return pointwise
    return None


def rule(*names: str) -> Callable:
    def declare(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return declare


def _refuse(func: Callable, why: str) -> RuntimeError:
    return RuntimeError(f"{func.__name__}(): {why} for NestedTensor")


# --- pointwise ------------------------------------------------------------------------------------


def pointwise(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """``func`` on the values; dense tensors beside them are broadcast to the samples."""
    first = next(a for a in (*args, *kwargs.values()) if isinstance(a, NestedTensor))
    if func.__name__.endswith("_"):
        return _in_place(func, args, kwargs)
    first = first.contiguous()

    def value(arg: Any) -> Any:
        return _beside(func, arg, first) if isinstance(arg, Tensor) else arg

    result = func(*[value(a) for a in args], **{name: value(a) for name, a in kwargs.items()})
    return pack(result, first._ragged)


def _in_place(func: Callable, args: tuple, kwargs: dict) -> Any:
    target = args[0]
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
    if not isinstance(target, NestedTensor) or any(t.requires_grad for t in tensors):
        raise _refuse(func, "writing in place is only supported without history, and into a nested tensor,")
    if target._ragged.lengths is not None:
        raise _refuse(func, "writing where there are gaps between samples is not supported")
    others = [_beside(func, a, target) if isinstance(a, Tensor) else a for a in args[1:]]
    func(target._values, *others, **kwargs)
    return target


def _beside(func: Callable, arg: Tensor, nested: NestedTensor) -> Any:
    """A tensor as it broadcasts with the values of ``nested``, which has no gaps."""
    ragged: Ragged = nested._ragged
    if isinstance(arg, NestedTensor):
        arg = arg.contiguous()
        if arg.ndim != nested.ndim or not ragged.matches(arg._ragged):
            raise RuntimeError(
                f"cannot call binary pointwise function {func.__name__} with inputs of shapes {nested.shape} and"
                f" {arg.shape}: the samples differ in their lengths"
            )
        return arg.values()
    if not arg.ndim:
        return arg
    if arg.ndim > nested.ndim:
        raise NotImplementedError(f"{func.__name__}: a dense tensor of more dimensions than the nested one")
    dense: Any = arg.reshape((1,) * (nested.ndim - arg.ndim) + tuple(arg.shape))
    rows, width = dense.shape[0], dense.shape[ragged.dim]
    if rows not in (1, ragged.batch) or width not in (1, ragged.longest):
        raise RuntimeError(
            f"cannot call binary pointwise function {func.__name__} with inputs of shapes {nested.shape} and"
            f" {arg.shape}"
        )
    if rows == width == 1:
        return dense.squeeze(0)
    zero = np.zeros(int(ragged.counts.sum()), np.int64)
    picked = dense.movedim(ragged.dim, 1)[ragged.samples if rows > 1 else zero, ragged.positions if width > 1 else zero]
    return picked.movedim(0, ragged.dim - 1)


# --- samples padded -------------------------------------------------------------------------------


def padded(x: NestedTensor, padding: Any, output_size: Any = None) -> Tensor:
    """The samples as a dense tensor, with ``padding`` after each."""
    x = x.contiguous()
    ragged = x._ragged
    places = ragged.samples * ragged.longest + ragged.positions
    values: Any = x.values().movedim(ragged.dim - 1, 0)
    full: Any = values.new_full((ragged.batch * ragged.longest, *values.shape[1:]), padding)
    dense = full.index_copy(0, wrap(places), values).reshape(ragged.batch, ragged.longest, *values.shape[1:])
    dense = dense.movedim(1, ragged.dim)
    if output_size is None:
        return dense
    room = [size - found for size, found in zip(output_size, dense.shape, strict=True)]
    if min(room) < 0:
        raise RuntimeError(f"to_padded_tensor: output_size {tuple(output_size)} is less than {tuple(dense.shape)}")
    return FUNCTIONS["constant_pad_nd"](dense, [n for extra in reversed(room) for n in (0, extra)], padding)


def packed(dense: Any, ragged: Ragged) -> NestedTensor:
    """The samples of a padded tensor."""
    values = dense.movedim(ragged.dim, 1)[ragged.samples, ragged.positions]
    return pack(values.movedim(0, ragged.dim - 1), Ragged(ragged.offsets, None, ragged.dim, ragged.size))


def _lowest(dtype: Any, sign: int) -> Any:
    if dtype.is_floating_point:
        return -sign * np.inf
    info = np.iinfo(dtype.numpy)
    return info.min if sign > 0 else info.max


_NEUTRAL: dict[str, Callable] = {
    "sum": lambda d: 0,
    "mean": lambda d: 0,
    "prod": lambda d: 1,
    "any": lambda d: False,
    "all": lambda d: True,
    "amax": lambda d: _lowest(d, 1),
    "max": lambda d: _lowest(d, 1),
    "argmax": lambda d: _lowest(d, 1),
    "amin": lambda d: _lowest(d, -1),
    "min": lambda d: _lowest(d, -1),
    "argmin": lambda d: _lowest(d, -1),
    "logsumexp": lambda d: _lowest(d, 1),
    "max_": lambda d: _lowest(d, 1),  # the functions that users call
    "min_": lambda d: _lowest(d, -1),
    "max_all": lambda d: _lowest(d, 1),
    "max_dim": lambda d: _lowest(d, 1),
    "min_all": lambda d: _lowest(d, -1),
    "min_dim": lambda d: _lowest(d, -1),
}


@rule(*_NEUTRAL)
def _reduced(func: Callable, x: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    name, x = func.__name__, x.contiguous()
    ragged = x._ragged
    values: Any = x.values()
    if dim is None or isinstance(dim, Tensor):
        if dim is not None:
            return pointwise(func, x, dim, **kwargs)
        return func(values, **kwargs)
    several = isinstance(dim, (tuple, list))
    dims = {normal_dim(d, x.ndim) for d in (dim if several else (dim,))}
    if 0 in dims:
        if ragged.dim not in dims:
            raise _refuse(func, "reducing along the batch dimension but not the ragged dimension is not supported")
        result = func(values, [d - 1 for d in sorted(dims) if d], keepdim, **kwargs)
        return result.unsqueeze(0) if keepdim else result
    if ragged.dim not in dims:
        inner = [d - 1 for d in sorted(dims)]
        result = func(values, inner if several else inner[0], keepdim, **kwargs)
        place = ragged.dim - (0 if keepdim else len([d for d in dims if d < ragged.dim]))
        return _each(result, ragged.at(place))
    if len(dims) > 1:
        raise _refuse(func, "reducing along a ragged and non-batch dimension is not supported")
    dense = padded(x, _NEUTRAL[name](x.dtype))
    if name != "mean":
        return func(dense, ragged.dim, keepdim, **kwargs)
    total: Any = FUNCTIONS["sum"](dense, ragged.dim, keepdim, **kwargs)
    shape = [ragged.batch] + [1] * (total.ndim - 1)
    return total / wrap(ragged.counts.reshape(shape))


def _each(result: Any, ragged: Ragged) -> Any:
    """A result on values, or a pair of them, packed."""
    return pack(result, ragged) if isinstance(result, Tensor) else type(result)([pack(part, ragged) for part in result])


@rule("softmax", "log_softmax")
def _softmax(func: Callable, x: NestedTensor, dim: int, *args: Any, **kwargs: Any) -> Any:
    x = x.contiguous()
    dim, ragged = normal_dim(dim, x.ndim), x._ragged
    if dim == 0:
        raise _refuse(func, "not supported when reducing across the batch dimension")
    if dim != ragged.dim:
        return pack(func(x.values(), dim - 1, *args, **kwargs), ragged)
    return packed(func(padded(x, -np.inf), dim, *args, **kwargs), ragged)


@rule("nn_scaled_dot_product_attention", "scaled_dot_product_attention")
def _attention(
    func: Callable,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> NestedTensor:
    if attn_mask is not None:
        raise _refuse(
            func, "an attn_mask is not supported: samples see themselves, and with is_causal what was before,"
        )
    for each in (query, key, value):
        if not isinstance(each, NestedTensor) or each.ndim != 4 or each._ragged.dim != 2:
            raise _refuse(func, "query, key and value must be nested, of size (batch, heads, ragged, features),")
    query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
    if not key._ragged.matches(value._ragged):
        raise _refuse(func, "keys and values must have the same lengths")
    counts, longest = key._ragged.counts, key._ragged.longest
    allowed = (np.arange(longest) < counts[:, None])[:, None, None, :]
    if is_causal:
        before = np.arange(longest) <= np.arange(query._ragged.longest)[:, None]
        allowed = allowed & before
    dense = [padded(each, 0) for each in (query, key, value)]
    found = func(*dense, attn_mask=wrap(allowed), dropout_p=dropout_p, scale=scale, enable_gqa=enable_gqa)
    return packed(found, query._ragged)


# --- products and layers --------------------------------------------------------------------------


@rule("matmul", "bmm")
def _product(func: Callable, x: Any, y: Any) -> Any:
    if not isinstance(x, NestedTensor) or isinstance(y, NestedTensor):
        raise _refuse(func, "only nested times dense is supported")
    x = x.contiguous()
    ragged = x._ragged
    if ragged.dim == x.ndim - 1:
        raise _refuse(func, "the last dimension is summed over and must not be ragged,")
    if y.ndim < x.ndim:
        return pack(x.values() @ y, ragged)
    return packed(padded(x, 0) @ y, ragged)


@rule("linear", "nn_linear", "layer_norm", "rms_norm", "nn_layer_norm", "nn_rms_norm")
def _last_dims(func: Callable, input: Any, *args: Any, **kwargs: Any) -> Any:
    x = input.contiguous()
    taken = 1
    if func.__name__.endswith("norm"):
        shape = args[0] if args else kwargs["normalized_shape"]
        taken = len(shape) if isinstance(shape, (tuple, list)) else 1
    if x._ragged.dim >= x.ndim - taken:
        raise _refuse(func, "the dimensions it is computed over must not be ragged:")
    return pack(func(x.values(), *args, **kwargs), x._ragged)


@rule("embedding", "nn_embedding")
def _embedding(func: Callable, input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(input, NestedTensor):
        raise _refuse(func, "the indices are nested, not the table")
    x = input.contiguous()
    return pack(func(x.values(), weight, *args, **kwargs), x._ragged)


# --- shapes ---------------------------------------------------------------------------------------


def _inner(func: Callable, dim: int, x: NestedTensor, extra: int = 0) -> int:
    """The dimension of the values that a dimension of a nested tensor is."""
    dim = normal_dim(dim, x.ndim + extra)
    if dim == 0:
        raise _refuse(func, "not supported on dim=0")
    return dim - 1


def _not_ragged(func: Callable, dim: int, x: NestedTensor) -> int:
    inner = _inner(func, dim, x)
    if inner == x._ragged.dim - 1:
        raise _refuse(func, "not supported on the ragged dimension")
    return inner


def _loose(x: NestedTensor, values: Tensor, dim: int) -> NestedTensor:
    """Other values of the same samples, gaps included."""
    return pack(values, x._ragged.at(dim))


@rule("transpose", "swapaxes", "swapdims")
def _transposed(func: Callable, x: NestedTensor, dim0: int, dim1: int) -> Any:
    a, b = normal_dim(dim0, x.ndim), normal_dim(dim1, x.ndim)
    if a == b:
        return x
    if 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {a: b, b: a}.get(x._ragged.dim, x._ragged.dim)
    return _loose(x, x.values().transpose(a - 1, b - 1), ragged)


@rule("permute")
def _permuted(func: Callable, x: NestedTensor, *dims: Any) -> Any:
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = [normal_dim(d, x.ndim) for d in given]
    if sorted(order) != list(range(x.ndim)) or order[0]:
        raise ValueError(f"Permute is not supported on the batch dimension for jagged NT, got {given}")
    return _loose(x, x.values().permute([d - 1 for d in order[1:]]), order.index(x._ragged.dim))


@rule("unsqueeze")
def _unsqueezed(func: Callable, x: NestedTensor, dim: int) -> Any:
    inner = _inner(func, dim, x, 1)
    return _loose(x, x.values().unsqueeze(inner), x._ragged.dim + (inner < x._ragged.dim))


@rule("squeeze")
def _squeezed(func: Callable, x: NestedTensor, dim: Any = None) -> Any:
    if not isinstance(dim, int):
        raise _refuse(func, "squeeze() needs a dim")
    inner = _not_ragged(func, dim, x)
    if x._values.shape[inner] != 1:
        return x
    return _loose(x, x.values().squeeze(inner), x._ragged.dim - (inner < x._ragged.dim - 1))


@rule("flatten")
def _flattened(func: Callable, x: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    start, end = _inner(func, start_dim, x), _inner(func, end_dim, x)
    ragged = x._ragged.dim - 1
    if start <= ragged <= end and start < end:
        raise _refuse(func, "not supported on the ragged dimension")
    return _loose(x, x.values().flatten(start, end), x._ragged.dim - (end - start if end < ragged else 0))


@rule("unflatten")
def _unflattened(func: Callable, x: NestedTensor, dim: int, sizes: Any) -> Any:
    inner = _not_ragged(func, dim, x)
    moved = len(sizes) - 1 if inner < x._ragged.dim - 1 else 0
    return _loose(x, x.values().unflatten(inner, sizes), x._ragged.dim + moved)


@rule("view", "reshape", "view_shape", "expand", "reshape_as", "view_as", "expand_as")
def _reshaped(func: Callable, x: NestedTensor, *shape: Any) -> Any:
    sizes = list(shape[0].shape if isinstance(shape[0], Tensor) else shape if isinstance(shape[0], int) else shape[0])
    before = x._ragged.dim
    fitting = [k for k, n in enumerate(sizes) if isinstance(n, RaggedSize)] or ([before] if len(sizes) > before else [])
    size = sizes[fitting[0]] if fitting else None
    if size not in (-1, x._ragged.size) or sizes[0] not in (x._ragged.batch, -1) or not fitting[0]:
        raise _refuse(func, f"size {tuple(sizes)} keeps not the batch and the ragged dimension of {tuple(x.shape)}:")
    place = fitting[0]
    if -1 in sizes[1:place] or prod(sizes[1:place]) != prod(x._values.shape[: before - 1]):
        raise _refuse(func, f"size {tuple(sizes)} moves elements across the ragged dimension of {tuple(x.shape)}:")
    expands = func.__name__.startswith("expand")
    kept = -1 if expands else x._values.shape[before - 1]
    inside = [kept if k == place else n for k, n in enumerate(sizes)][1:]
    name = "expand" if expands else "reshape" if func.__name__.startswith("reshape") else "view"
    return _loose(x, getattr(x.values(), name)(*inside), place)


@rule("chunk", "split", "split_with_sizes", "tensor_split")
def _split(func: Callable, x: NestedTensor, parts: Any, dim: int = 0) -> Any:
    if normal_dim(dim, x.ndim) == 0:
        samples = x.unbind()
        groups = func(wrap(np.arange(len(samples))), parts)
        from .construction import as_nested_tensor

        return type(groups)([as_nested_tensor([samples[int(k)] for k in group]) for group in groups])
    inner = _not_ragged(func, dim, x)
    found = func(x.values(), parts, inner)
    return type(found)([_loose(x, part, x._ragged.dim) for part in found])


@rule("cat", "stack")
def _joined(func: Callable, tensors: Any, dim: int = 0) -> Any:
    first = next(t for t in tensors if isinstance(t, NestedTensor)).contiguous()
    if func.__name__ == "stack":
        inner = _inner(func, dim, first, 1)
        place = first._ragged.dim + (inner < first._ragged.dim)
    else:
        inner, place = _not_ragged(func, dim, first), first._ragged.dim
    return pack(func([_beside(func, t, first) for t in tensors], inner), first._ragged.at(place))


@rule("select")
def _selected(func: Callable, x: NestedTensor, dim: int, index: int) -> Any:
    if normal_dim(dim, x.ndim) == 0:
        return x[index]
    inner = _not_ragged(func, dim, x)
    return _loose(x, x.values().select(inner, index), x._ragged.dim - (inner < x._ragged.dim - 1))


@rule("narrow")
def _narrowed(func: Callable, x: NestedTensor, dim: int, start: Any, length: int) -> Any:
    return _loose(x, x.values().narrow(_not_ragged(func, dim, x), start, length), x._ragged.dim)


@rule("repeat_interleave")
def _repeated(func: Callable, x: NestedTensor, repeats: Any, dim: Any = None, **kwargs: Any) -> Any:
    if dim is None:
        raise _refuse(func, "without a dim it would mix samples: not supported")
    return _loose(x, func(x.values(), repeats, _not_ragged(func, dim, x), **kwargs), x._ragged.dim)


def at_key(x: Any, key: tuple) -> Any:
    """``x[key]``: integers, slices and None for the dimensions that are not ragged, all of a ragged one."""
    taken = len([k for k in key if k is not None and k is not ...])
    if len([k for k in key if k is ...]) > 1 or taken > x.ndim:
        raise IndexError(f"nested[...]: {key!r} is no key of {x.ndim} dimensions")
    if ... not in key:
        key = (*key, ...)
    place = key.index(...)
    parts = [*key[:place], *[slice(None)] * (x.ndim - taken), *key[place + 1 :]]
    first, rest = parts[0], parts[1:]
    if isinstance(first, (int, np.integer)) and not isinstance(first, bool):
        return x[int(first)][tuple(rest)] if rest else x[int(first)]
    if not isinstance(first, slice) or first != slice(None):
        raise NotImplementedError(
            f"nested[...]: {first!r} in the place of the batch: take one sample by its number, or all of them"
        )
    dim = 1
    for k in rest:
        if k is None:
            x = x.unsqueeze(dim)
            dim += 1
        elif isinstance(k, (int, np.integer)) and not isinstance(k, bool):
            x = x.select(dim, int(k))
        elif isinstance(k, slice):
            if k != slice(None):
                if dim == x._ragged.dim:
                    raise NotImplementedError(f"nested[...]: {k!r} of the ragged dimension: use nested.narrow()")
                index = (slice(None),) * (dim - 1) + (k,)
                x = _loose(x, x.values()[index], x._ragged.dim)
            dim += 1
        else:
            raise NotImplementedError(
                f"nested[...] takes integers, slices, None and ..., got {type(k).__name__}: use values() or unbind()"
            )
    return x


@rule("unbind")
def _unbound(func: Callable, x: NestedTensor, dim: int = 0) -> tuple:
    return x.unbind(dim)


@rule("contiguous")
def _contiguous(func: Callable, x: NestedTensor, memory_format: Any = None) -> NestedTensor:
    return x.contiguous()


@rule("detach")
def _detached(func: Callable, x: NestedTensor) -> NestedTensor:
    return make_nested(x._values.detach(), x._ragged)
