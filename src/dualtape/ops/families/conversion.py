"""Conversions between dtypes and devices, and the complex views: real, imag, conj."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes, naming
from ..._tensor.device import channels_last, channels_last_3d, contiguous_format, move, of
from ..._tensor.device import device as Device
from ..._tensor.tensor import Tensor
from ...arrays import module_of
from ...arrays.bfloat16_dtype import BFloat16Type, cast
from ...arrays.kernels.basics import in_parts
from ..dispatch import FUNCTIONS
from ..formulas import use
from ..samples import positive, real, sample
from ..table import BROADCASTING, COMMON, ELEMENTWISE, GENERAL, LINEAR, composite, op
from .elementwise import direction


def _cast(x: Any, dtype: Any) -> Any:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        return cast(np.real(x), dtype)
    return cast(x, dtype)


_to_dtype = op("to_dtype", _cast, kind=GENERAL, public=False, method=False, node="ToCopyBackward0", jvp=LINEAR,
    torch_name="-",
   vjp=dict(x=lambda g, x_dtype: use("to_dtype")(g, x_dtype)),
   samples=(sample(real(3, 4), np.dtype(np.float64)), sample(real(), np.dtype(np.float64))),
   doc="x in another dtype.")  # fmt: skip
_to_device = op("to_device", lambda x, target, source: move(x, target), kind=GENERAL, public=False, method=False,
    node="ToCopyBackward0", torch_name="-",
   vjp=dict(x=lambda g, target, source: use("to_device")(g, source, target)), jvp=LINEAR,
   samples=(sample(real(3), Device("cpu"), Device("cpu")),), doc="x on another device.")  # fmt: skip


def cast_to(x: Tensor, dtype: Any) -> Tensor:
    """Return ``x`` in the NumPy dtype ``dtype``; warn where imaginary parts are lost."""
    if x._array.dtype.kind == "c" and dtype.kind not in "cb":
        errors.warn_of_lost_imaginary("to", dtype)
    return _to_dtype(x, dtype)


def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """The tensor in another dtype or on another device: ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``.

    The tensor itself is returned if nothing changes and ``copy`` is False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2).to(dt.float64)
    tensor([1., 1.], dtype=dualtape.float64)
    """
    if (
        len(args) == 1
        and type(args[0]) is dtypes.dtype
        and dtype is None
        and device is None
        and not copy
        and memory_format is None
    ):
        wanted = args[0].numpy
        return self if wanted == self._array.dtype else cast_to(self, wanted)
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        dtype, device = other._array.dtype, other.device
    elif rest and _is_dtype(rest[0]):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (Device, str, int))) and not isinstance(rest[0], bool):
        device = rest.pop(0)
        if rest and (rest[0] is None or _is_dtype(rest[0])):
            dtype = rest.pop(0)
    if len(rest) > 2 or any(not isinstance(flag, bool) for flag in rest):
        raise TypeError(
            "to() takes (dtype), (device, dtype) or (other), each with non_blocking and copy, got"
            f" {', '.join(type(a).__name__ for a in args)}"
        )
    if len(rest) == 2:
        copy = rest[1]
    out = self
    if device is not None:
        target, here = device if isinstance(device, Device) else Device(device), of(self._array)
        if target.type != here.type or (target.index is not None and target.index != here.index):
            out = _to_device(out, target, here)
    if dtype is not None:
        wanted = dtypes.to_numpy(dtype)
        if wanted != out._array.dtype:
            out = cast_to(out, wanted)
    if copy and out is self:
        out = _to_dtype(self, self._array.dtype)
    if memory_format in (contiguous_format, channels_last, channels_last_3d):
        return out.contiguous(memory_format=memory_format)
    return out


def _is_dtype(value: Any) -> bool:
    return isinstance(value, (dtypes.dtype, np.dtype, type, BFloat16Type))


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor in another dtype; without one, the name of its type.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).type(), dt.ones(1).type(dt.int64).type()
    ('dualtape.FloatTensor', 'dualtape.LongTensor')
    """
    if dtype is None:
        return f"{naming.package}.{_TYPE_NAMES.get(self.dtype.name, self.dtype.name)}"
    if isinstance(dtype, str):
        known = {name: kind for kind, name in _TYPE_NAMES.items()}.get(dtype.rpartition(".")[2])
        if known is None:
            raise ValueError(f"invalid type: {dtype!r}; expected one of {', '.join(_TYPE_NAMES.values())}, or a dtype")
        return to(self, dtypes.NAMED[known])
    if dtype is Tensor:  # the type of tensors that are made without a dtype
        dtype = dtypes.get_default_dtype()
    return to(self, dtype=getattr(dtype, "_dtype", dtype))


_TYPE_NAMES = {
    "float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor", "bfloat16": "BFloat16Tensor", "int64": "LongTensor",
    "int32": "IntTensor",
    "int16": "ShortTensor", "int8": "CharTensor", "uint8": "ByteTensor", "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
}  # fmt: skip


def _conversion(name: str, dtype: Any) -> None:
    def method(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return self if self._array.dtype == dtype.numpy else cast_to(self, dtype.numpy)
        return to(self, dtype, memory_format=memory_format)

    method.__name__ = name
    method.__doc__ = f"""The tensor as {dtype!r}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([1]).{name}().dtype
    {dtype!r}
    """
    setattr(Tensor, name, method)


for _name, _dtype in (
    ("float", dtypes.float32), ("double", dtypes.float64), ("half", dtypes.float16), ("bfloat16", dtypes.bfloat16), ("long", dtypes.int64),
    ("int", dtypes.int32),
    ("short", dtypes.int16), ("char", dtypes.int8), ("byte", dtypes.uint8), ("bool", dtypes.bool_),
    ("cfloat", dtypes.complex64),
    ("cdouble", dtypes.complex128),
):  # fmt: skip
    _conversion(_name, _dtype)


def _cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in the computer's main memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).cpu().device
    device(type='cpu')
    """
    return to(self, "cpu")


def _cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on the GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).cuda().device  # doctest: +SKIP
    device(type='cuda', index=0)
    """
    return to(self, "cuda" if device is None else device)


def _astype(self: Tensor, dtype: Any, copy: bool = False) -> Tensor:
    """The tensor in another dtype, by NumPy's name for :meth:`to`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2).astype(np.int64)
    tensor([1, 1])
    """
    return to(self, dtypes.to_numpy(dtype), copy=copy)


def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2).type_as(dt.tensor(1))
    tensor([1, 1])
    """
    if not isinstance(other, Tensor):
        raise errors.not_a_tensor("type_as", "other", other)
    return to(self, other._array.dtype)


Tensor.to = to  # type: ignore[method-assign, assignment]
Tensor.type = _type  # type: ignore[method-assign, assignment]
Tensor.cpu = _cpu  # type: ignore[method-assign, assignment]
Tensor.cuda = _cuda  # type: ignore[method-assign, assignment]
Tensor.astype = _astype  # type: ignore[method-assign, assignment]
Tensor.type_as = _type_as  # type: ignore[method-assign, assignment]

# --- complex numbers ------------------------------------------------------------------------------


def _as_complex(real: Any, imag: Any) -> Any:
    for part in (real, imag):
        if part.dtype.kind != "f":
            raise RuntimeError(
                f"complex takes tensors of float16, float32 or float64, got {dtypes.of(real.dtype)} and"
                f" {dtypes.of(imag.dtype)}: convert them first, as by .float()"
            )
    if type(real) is not np.ndarray or type(imag) is not np.ndarray:
        shape = np.broadcast_shapes(real.shape, imag.shape)
        pairs = np.stack([np.broadcast_to(real, shape), np.broadcast_to(imag, shape)], axis=-1)
        if pairs.dtype.itemsize == 2:
            pairs = cast(pairs, np.float32)
        return _unpaired(pairs if pairs.flags.c_contiguous else pairs.copy())
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, imag, np.complex64))
    # Not by arithmetic: 1j times infinity has NaN as its real part.
    out.real, out.imag = real, imag
    return out


_real = op("real_part", lambda x: x.real, kind=ELEMENTWISE, view=True, inplace=False, public=False, method=False,
    node="ViewAsRealBackward0", torch_name="real",
   vjp=dict(x=lambda g: g + 0j), jvp=dict(x=lambda t: np.real(t)), samples=(sample(real(3, 4)),), complex="only",
   doc="The real part, as a view.")  # fmt: skip
_imag = op("imag_part", lambda x: x.imag, kind=ELEMENTWISE, view=True, inplace=False, public=False, method=False,
    node="ViewAsRealBackward0", torch_name="-",
   vjp=dict(x=lambda g: use("complex")(np.zeros_like(g), g)), jvp=dict(x=lambda t: np.imag(t)), samples=(sample(real(3, 4)),), complex="only",
   doc="The imaginary part, as a view.")  # fmt: skip


@composite("real", samples=(sample(real(3, 4)),), method=False)
def real_function(input: Any) -> Any:
    """The real part of each element, sharing memory; a real tensor is its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.real(dt.tensor([1 + 2j]))
    tensor([1.])
    """
    return _real(input) if input._array.dtype.kind == "c" else input


@composite("imag", samples=(sample(real(3, 4)),), method=False, complex="only")
def imag_function(input: Any) -> Any:
    """The imaginary part of each element, sharing memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.imag(dt.tensor([1 + 2j]))
    tensor([2.])
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes: it would be zero everywhere")
    return _imag(input)


_conj = op("conj_physical", lambda x: np.copy(x) if x.dtype.kind == "b" else np.conjugate(x), kind=ELEMENTWISE,
   vjp=dict(x=lambda g: g.conj()), jvp=dict(x=lambda t: t.conj()), samples=(sample(real(3, 4)), sample(real())),
   doc="""The complex conjugate of each element, as a copy.

   >>> import dualtape as dt
   >>> dt.conj_physical(dt.tensor([1 + 2j]))
   tensor([1.-2.j])
   """)  # fmt: skip


@composite("conj", also=("conjugate",), samples=(sample(real(3, 4)),))
def conj(input: Any) -> Any:
    """The complex conjugate of each element; a real tensor is its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.conj(dt.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _conj(input) if input._array.dtype.kind == "c" else input


def _angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.angle(x)
    return np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)).astype(
        x.dtype if x.dtype.kind == "f" else dtypes.default_float()
    )


def _angle_gradient(g: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.zeros_like(g)
    size = np.absolute(x)
    return g * (direction(x) * 1j) / np.where(size == 0, 1, size)


op("angle", _angle, kind=ELEMENTWISE, vjp=dict(x=_angle_gradient), inplace=False,
   jvp=dict(x=lambda t, x: np.zeros_like(t) if x.dtype.kind != "c" else np.imag(t * x.conj()) / np.real(x * x.conj())),
   samples=(sample(real(3, 4)), sample(real())),
   doc="""The angle of each complex number.

   >>> import dualtape as dt
   >>> dt.angle(dt.tensor([1j]))
   tensor([1.5708])
   """)  # fmt: skip
op("complex", _as_complex, kind=BROADCASTING, frees=True, promote=COMMON,
    vjp=dict(real=lambda g: np.real(g), imag=lambda g: np.imag(g)), inplace=False, method=False,
   jvp=dict(real=lambda t: use("complex")(t, np.zeros_like(t)), imag=lambda t: use("complex")(np.zeros_like(t), t)),
   complex=False,
   scalars=False,
   samples=(sample(real(3, 4), real(3, 4)), sample(real(3), real())),
   doc="""Complex numbers from real and imaginary parts.

   >>> import dualtape as dt
   >>> dt.complex(dt.tensor([1.0]), dt.tensor([2.0]))
   tensor([1.+2.j])
   """)  # fmt: skip


@composite("polar", samples=(sample(positive(3), real(3)),), method=False, complex=False)
def polar(abs: Any, angle: Any) -> Any:
    """Complex numbers from absolute values and angles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.polar(dt.tensor([2.0]), dt.tensor([0.0]))
    tensor([2.+0.j])
    """
    return FUNCTIONS["complex"](abs * FUNCTIONS["cos"](angle), abs * FUNCTIONS["sin"](angle))


op("view_as_real", lambda x: _pairs(x), kind=GENERAL, view=True, method=False,
   vjp=dict(x=lambda g: use("complex")(g[..., 0], g[..., 1])), jvp=dict(x=lambda t: use("view_as_real")(t)),
   samples=(sample(real(3)), sample(real(2, 2))), complex="only",
   doc="""Complex numbers as pairs of reals in a last dimension, sharing memory.

   >>> import dualtape as dt
   >>> dt.view_as_real(dt.tensor([1 + 2j]))
   tensor([[1., 2.]])
   """)  # fmt: skip
op("view_as_complex", lambda x: _unpaired(x), kind=GENERAL, view=True, method=False, complex=False,
   vjp=dict(x=lambda g: np.stack([np.real(g), np.imag(g)], axis=-1)), jvp=dict(x=lambda t: use("view_as_complex")(t)),
   samples=(sample(real(3, 2)),),
   doc="""Pairs of reals in the last dimension as complex numbers, sharing memory.

   >>> import dualtape as dt
   >>> dt.view_as_complex(dt.tensor([[1.0, 2.0]]))
   tensor([1.+2.j])
   """)  # fmt: skip


def _pairs(x: Any) -> Any:
    if x.dtype.kind != "c":
        raise RuntimeError(f"view_as_real is only supported for complex tensors, got {x.dtype}")
    dtype = dtypes.real_of(x.dtype)
    if in_parts(x):
        return module_of(x).pairs(x)
    return module_of(x).lib.stride_tricks.as_strided(x.real, (*x.shape, 2), (*x.strides, dtype.itemsize))


def _unpaired(x: Any) -> Any:
    if x.dtype.kind != "f" or not x.ndim or x.shape[-1] != 2:
        raise RuntimeError(
            f"view_as_complex takes floating-point pairs in a last dimension of size 2, got {x.dtype} {list(x.shape)}"
        )
    if x.strides[-1] != x.itemsize:
        if 0 in x.shape:  # its strides say nothing
            return np.zeros_like(x, dtypes.complex_of(x.dtype), shape=x.shape[:-1])
        raise RuntimeError("Tensor must have a last dimension with stride 1: call contiguous() first")
    if x.dtype.itemsize == 2:
        raise NotImplementedError(
            f"view_as_complex: there is no complex type of two numbers of {x.dtype}: convert the tensor with .float() first"
        )
    return x.view(dtypes.complex_of(x.dtype))[..., 0]


@composite("resolve_conj", samples=(sample(real(3)),))
def resolve_conj(input: Any) -> Any:
    """The tensor itself: conjugation is never pending here.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.resolve_conj(dt.ones(1))
    tensor([1.])
    """
    return input


@composite("resolve_neg", samples=(sample(real(3)),))
def resolve_neg(input: Any) -> Any:
    """The tensor itself: negation is never pending here.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.resolve_neg(dt.ones(1))
    tensor([1.])
    """
    return input


def _write_part(part: Tensor, value: Any) -> None:
    if not isinstance(value, (Tensor, bool, int, float, complex)):
        raise TypeError(f"can't assign a {type(value).__name__} to a part of a tensor: expected a number or a Tensor")
    part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)


def _set_real(self: Tensor, value: Any) -> None:
    _write_part(self.real, value)


def _set_imag(self: Tensor, value: Any) -> None:
    _write_part(self.imag, value)


Tensor.real = property(real_function, _set_real, doc="The real part, sharing memory.")  # type: ignore[method-assign, assignment]
Tensor.imag = property(imag_function, _set_imag, doc="The imaginary part, sharing memory.")  # type: ignore[method-assign, assignment]
