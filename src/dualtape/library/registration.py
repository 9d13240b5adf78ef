"""``Library`` and the functions that register parts of an op by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from .._tensor.dtypes import dtype as DType
from ..ops.user_ops import REGISTERED
from .custom import CUSTOM, DEVICES, CustomOpDef, set_autocast, set_formula
from .overloads import COMPOSITES, OpOverload, fallthrough_kernel, found, register, unregister
from .schema import parse

__all__ = [
    "Library",
    "define",
    "get_kernel",
    "impl",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

_KEYS = {
    *DEVICES.values(),
    *COMPOSITES,
    "Autograd",
    "AutogradCPU",
    "AutogradCUDA",
    "AutogradMeta",
    "AutogradOther",
    "ADInplaceOrView",
    "AutocastCPU",
    "AutocastCUDA",
    "BackendSelect",
    "Functionalize",
    "Python",
    "PrivateUse1",
    "SparseCPU",
    "SparseCsrCPU",
    "NestedTensorCPU",
    "QuantizedCPU",
    "FuncTorchBatched",
    "Conjugate",
    "Negative",
    "ZeroTensor",
}
# Keys that a call here looks at; kernels of others are kept and never run.
_RESERVED = ("prim",)
_defined: set[str] = set()  # namespaces of libraries of kind "DEF"

Op = str | OpOverload | CustomOpDef


class Library:
    """Ops of one namespace, or kernels for them, registered by name.

    Parameters
    ----------
    ns : str
        The namespace.
    kind : {"DEF", "FRAGMENT", "IMPL"}
        Whether it defines ops (one library of kind "DEF" in a namespace, any number of fragments) or only implements
        them.
    dispatch_key : str
        The key of kernels that are registered without one.

    Examples
    --------
    >>> import dualtape as dt
    >>> ours = dt.library.Library("ours", "FRAGMENT")
    >>> ours.define("halved(Tensor x) -> Tensor")
    'halved'
    >>> ours.impl("halved", lambda x: x / 2, "CompositeImplicitAutograd")
    >>> dt.ops.ours.halved(dt.ones(2))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF" and ns in _defined:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your"
                " definitions in a single TORCH_LIBRARY block: Library(ns, 'FRAGMENT') defines more ops in it, and"
                " Library(ns, 'IMPL') implements them."
            )
        if kind == "DEF":
            _defined.add(ns)
        self.ns, self.kind = ns, kind
        self.dispatch_key = dispatch_key
        self._ops: list[OpOverload] = []
        self._kernels: list[tuple[OpOverload, str, Callable]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: object = ()) -> str:
        """Define an op, and return its name.

        Parameters
        ----------
        schema : str
            As ``"scaled(Tensor x, float k=1) -> Tensor"``.
        alias_analysis : str
            Taken and not used.
        tags : object
            Kept as ``op.tags``.
        """
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema.partition("(")[0]}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.'
                "  All def()s should be placed in the (unique) TORCH_LIBRARY block for their namespace: use"
                " Library(ns, 'FRAGMENT')."
            )
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        parse(schema)
        read = parse(f"{self.ns}::{schema.strip()}")
        self._ops.append(register(read, tuple(tags) if isinstance(tags, (list, tuple)) else (tags,)))
        return schema.partition("(")[0].strip()

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel for an op.

        Parameters
        ----------
        op_name : str or OpOverload
            The op.
        fn : callable
            The kernel; :func:`fallthrough_kernel` for none.
        dispatch_key : str
            "CPU", "CUDA", "Meta", "Autograd", "CompositeExplicitAutograd" or "CompositeImplicitAutograd"; the
            library's by default, and if that has none, "CompositeImplicitAutograd".
        with_keyset : bool
            Refused: there are no sets of dispatch keys here.
        allow_override : bool
            Whether a kernel may replace another.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("Library.impl: with_keyset=True: there are no sets of dispatch keys to pass")
        key = str(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd").rpartition(".")[2]
        if key not in _KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        name = op_name._name if isinstance(op_name, OpOverload) else op_name
        if not isinstance(name, str):
            raise RuntimeError("impl should be passed either a name or an OpOverload object as the first argument")
        name = name if "::" in name else f"{self.ns}::{name}"
        if name.partition("::")[0] != self.ns:
            raise RuntimeError(f"impl: {name!r} is not in the namespace {self.ns!r} of this library")
        try:
            one = found(name)
        except AttributeError:
            if self.ns == "aten":
                raise NotImplementedError(
                    f"Library.impl: {name} is one of the library's own ops, whose kernels cannot be replaced: use a"
                    " dispatch mode, or a subclass with __torch_dispatch__"
                ) from None
            _waiting.setdefault(name, []).append((self, fn, key))
            return
        if not allow_override and key in one.kernels:
            raise RuntimeError(f"{name}: there is already a kernel registered for dispatch key {key}")
        if key == "Autograd" and fn is fallthrough_kernel:
            # The kernel's own operations are recorded from now on.
            one._function, one._custom = None, False
            return
        one.kernels[key] = fn
        self._kernels.append((one, key, fn))

    def fallback(self, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Refuse a fallback for all ops: a dispatch mode does that here.

        Parameters
        ----------
        fn : callable
            The fallback.
        dispatch_key : str
            Its key.
        with_keyset : bool
            Whether it takes dispatch keys.
        """
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is'
                f" {self.ns}"
            )
        raise NotImplementedError(
            "Library.fallback: there are no dispatch keys that all ops go through: a TorchDispatchMode sees every op"
        )

    def _register_fake(self, op_name: str, fn: Callable, _stacklevel: int = 1, *, allow_override: bool = True) -> None:
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn)

    def _destroy(self) -> None:
        """Remove what was registered through this library."""
        for one, key, kernel in self._kernels:
            if one.kernels.get(key) is kernel:
                del one.kernels[key]
        for one in self._ops:
            unregister(one)
        if self.kind == "DEF":
            _defined.discard(self.ns)
        self._ops, self._kernels = [], []


# Kernels that were registered before their op.
_waiting: dict[str, list[tuple[Library, Callable, str]]] = {}
_fragments: dict[str, Library] = {}


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Any:
    """Return a context that makes a library and removes what was registered through it at the end."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _fragment(name: str) -> Library:
    return _fragments.setdefault(name, Library(name, "FRAGMENT"))


def _of(op: Op) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if type(op) is OpOverload:
        return op
    if isinstance(op, str):
        return found(op)
    if hasattr(op, "overloads"):
        return getattr(op, "default")  # noqa: B009 - of a packet
    raise ValueError(f"expected the name of an op, an OpOverload or what custom_op returned; got {op!r}")


def define(qualname: str, schema: Any = None, *, lib: Library | None = None, tags: object = ()) -> Any:
    """Define an op by its schema; :func:`impl` then gives it kernels.

    Parameters
    ----------
    qualname : str
        ``"namespace::name"``.
    schema : str
        ``"(Tensor x) -> Tensor"``.
    lib : Library, optional
        The library it belongs to.
    tags : object
        Kept as ``op.tags``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::shifted", "(Tensor x, float by) -> Tensor")
    >>> @dt.library.impl("mine::shifted", "cpu")
    ... def shifted(x, by):
    ...     return x + by
    >>> dt.ops.mine.shifted(dt.ones(2), 2)
    tensor([3., 3.])
    """
    if isinstance(qualname, Library):
        # An older form: define(lib, schema) as a decorator of the kernel.
        library, text = qualname, schema

        def decorate(function: Callable) -> Callable:
            library.impl(library.define(text), function)
            return function

        return decorate
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    space, _, name = qualname.partition("::")
    if not name:
        raise ValueError(f"expected the name of an op as 'namespace::name', got {qualname!r}")
    if not isinstance(schema, str) or not schema.strip().startswith("("):
        raise ValueError(f'define: expected a schema as "(Tensor x) -> Tensor", got {schema!r}')
    (lib or _fragment(space)).define(name + schema, tags=tags)
    _settle(qualname)
    return None


def _settle(qualname: str) -> None:
    for library, function, key in _waiting.pop(qualname, ()):
        library.impl(qualname, function, key)


def impl(qualname: Any, types: str | Sequence[str], func: Callable | None = None, *, lib: Library | None = None) -> Any:
    """Register a kernel of an op for types of devices.

    Parameters
    ----------
    qualname : str
        ``"namespace::name"``.
    types : str or sequence of str
        Types of devices, ``"default"`` for all, or dispatch keys.
    func : callable, optional
        The kernel; without it, this is a decorator.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::fifth", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::fifth", "default", lambda x: x / 5)
    >>> dt.ops.mine.fifth(dt.ones(1))
    tensor([0.2000])
    """
    if isinstance(qualname, Library):
        # An older form: impl(lib, name, dispatch_key) as a decorator.
        library, op_name = qualname, types

        def decorate(function: Callable) -> Callable:
            library.impl(op_name, function, func or "")  # type: ignore[arg-type]
            return function

        return decorate
    if func is None:
        return lambda function: (impl(qualname, types, function, lib=lib), function)[1]
    space = qualname.partition("::")[0]
    for kind in (types,) if isinstance(types, str) else types:
        key = "CompositeExplicitAutograd" if kind == "default" else DEVICES.get(kind, kind)
        if key not in _KEYS:
            raise ValueError(f"Expected a type of device, 'default' or a dispatch key, got {kind!r}")
        (lib or _fragment(space)).impl(qualname, func, key)
    return None


def register_kernel(
    op: Op, device_types: str | Sequence[str] | None, func: Callable | None = None, /, *, lib: Library | None = None
) -> Callable[..., Any]:
    """Register what computes an op for tensors on some devices, and return it.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    device_types : str, sequence of str or None
        As ``"cpu"``; None for all.
    func : callable, optional
        The kernel; without it, this is a decorator.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::sixth", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::sixth", "default", lambda x: x / 6)
    >>> _ = dt.library.register_kernel("mine::sixth", "cpu", lambda x: x * 0)
    >>> dt.ops.mine.sixth(dt.ones(1))
    tensor([0.])
    """
    if func is None:
        return lambda function: register_kernel(op, device_types, function, lib=lib)
    one = _of(op)
    custom = op if isinstance(op, CustomOpDef) else CUSTOM.get(one._name)
    if custom is not None and custom._opoverload is one:
        return custom.register_kernel(device_types, func)
    impl(one._name, "default" if device_types is None else device_types, func, lib=lib)
    return func


def register_autograd(
    op: Op, backward: Callable, /, *, setup_context: Callable | None = None, lib: Library | None = None
) -> None:
    """Register the derivative of an op.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    backward : callable
        ``backward(ctx, *grads)`` returns the gradient of each argument that may be given by position.
    setup_context : callable, optional
        ``setup_context(ctx, inputs, output)`` saves what backward needs.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::tripled", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::tripled", "default", lambda x: x * 3)
    >>> dt.library.register_autograd("mine::tripled", lambda ctx, g: g * 3)
    >>> dt.func.grad(dt.ops.mine.tripled)(dt.tensor(1.0))
    tensor(3.)
    """
    one = _of(op)
    set_formula(one, backward, setup_context, str(op) if isinstance(op, CustomOpDef) else str(one))


def register_fake(
    op: Op,
    func: Callable | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Callable[..., Any]:
    """Register what says the shape and dtype of an op's results, for tensors without values.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    func : callable, optional
        Takes the op's arguments; without it, this is a decorator.
    lib : Library, optional
        The library that registers it.
    allow_override : bool
        Whether it may replace another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::seventh", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::seventh", "default", lambda x: x / 7)
    >>> _ = dt.library.register_fake("mine::seventh", lambda x: dt.empty_like(x))
    >>> dt.library.opcheck(dt.ops.mine.seventh, (dt.ones(1),), test_utils="test_faketensor")
    {'test_faketensor': 'SUCCESS'}
    """
    if func is None:
        return lambda function: register_fake(op, function, lib=lib, allow_override=allow_override)
    if isinstance(op, str) and op.partition("::")[0] not in REGISTERED:
        found(op)
    one = _of(op)
    if not allow_override and one._fake is not None:
        raise RuntimeError(f"register_fake: {one} has a fake impl already")
    one._fake = func
    return func


def impl_abstract(qualname: str, func: Callable | None = None, *, lib: Library | None = None) -> Callable[..., Any]:
    """Register a fake under its older name: :func:`register_fake`.

    Parameters
    ----------
    qualname : str
        The op.
    func : callable, optional
        Takes the op's arguments.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::eighth", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::eighth", "default", lambda x: x / 8)
    >>> _ = dt.library.impl_abstract("mine::eighth", lambda x: dt.empty_like(x))
    """
    return register_fake(qualname, func, lib=lib)


def register_vmap(op: Op, func: Callable | None = None, /, *, lib: Library | None = None) -> Callable[..., Any]:
    """Register what computes an op for a whole batch under ``vmap``, and return it.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    func : callable, optional
        ``func(info, in_dims, *args)`` returns the result and the batch's dimension in it; without it, this is a
        decorator.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::ninth", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::ninth", "default", lambda x: x / 9)
    >>> _ = dt.library.register_vmap("mine::ninth", lambda info, in_dims, x: (x * 0, 0))
    >>> dt.vmap(dt.ops.mine.ninth)(dt.ones(2))
    tensor([0., 0.])
    """
    if func is None:
        return lambda function: register_vmap(op, function, lib=lib)
    _of(op)._vmap_rule = func
    return func


def register_autocast(op: Op, device_type: str, cast_inputs: DType, /, *, lib: Library | None = None) -> None:
    """Cast an op's floating-point tensors to a dtype wherever autocast is on.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    device_type : {"cpu", "cuda"}
        The device type.
    cast_inputs : dtype
        The dtype.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::tenth", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::tenth", "default", lambda x: x / 10)
    >>> dt.library.register_autocast("mine::tenth", "cpu", dt.bfloat16)
    >>> with dt.autocast("cpu"):
    ...     dt.ops.mine.tenth(dt.ones(1)).dtype == dt.bfloat16
    True
    """
    set_autocast(_of(op), device_type, cast_inputs)


def register_torch_dispatch(
    op: Op, torch_dispatch_class: Any, func: Callable | None = None, /, *, lib: Library | None = None
) -> Callable[..., Any]:
    """Register what a dispatch mode or a tensor subclass does for an op instead of its ``__torch_dispatch__``.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    torch_dispatch_class : type
        The mode or the subclass.
    func : callable, optional
        Of a mode ``func(mode, op, types, args, kwargs)``; of a subclass the same without ``mode``.
    lib : Library, optional
        The library that registers it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::eleventh", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::eleventh", "default", lambda x: x / 11)
    >>> from dualtape.utils._python_dispatch import TorchDispatchMode
    >>> class Zeros(TorchDispatchMode):
    ...     pass
    >>> rule = lambda mode, op, types, args, kwargs: dt.zeros(1)
    >>> _ = dt.library.register_torch_dispatch("mine::eleventh", Zeros, rule)
    """
    if func is None:
        return lambda function: register_torch_dispatch(op, torch_dispatch_class, function, lib=lib)
    _of(op)._dispatch_rules[torch_dispatch_class] = func
    return func


def get_kernel(op: Op, dispatch_key: Any) -> Callable:
    """Return the kernel that was registered for an op under a dispatch key.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    dispatch_key : str
        As "CPU"; a kernel for all devices is found under every device.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::twelfth", "(Tensor x) -> Tensor")
    >>> dt.library.impl("mine::twelfth", "default", lambda x: x / 12)
    >>> dt.library.get_kernel("mine::twelfth", "CPU")(dt.tensor([12.0]))
    tensor([1.])
    """
    one = _of(op)
    key = str(dispatch_key).rpartition(".")[2]
    for name in (key, *(COMPOSITES if key in DEVICES.values() else ())):
        if name in one.kernels:
            return one.kernels[name]
    raise RuntimeError(f"{one._name}: no kernel is registered for the dispatch key {key}")


def triton_op(name: str, fn: Callable | None = None, /, *, mutates_args: object, schema: str | None = None) -> NoReturn:
    """Refuse an op of Triton kernels, which run on GPUs through PyTorch's compiler: use :func:`custom_op`.

    Parameters
    ----------
    name : str
        Its name.
    fn : callable, optional
        Its function.
    mutates_args : object
        The arguments it writes to.
    schema : str, optional
        Its schema.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.triton_op("mine::f", mutates_args=())
    Traceback (most recent call last):
        ...
    NotImplementedError: triton_op: mine::f: ...
    """
    raise NotImplementedError(
        f"triton_op: {name}: Triton kernels are not run here; library.custom_op takes any function"
    )


def wrap_triton(triton_kernel: Callable, /) -> NoReturn:
    """Refuse a Triton kernel.

    Parameters
    ----------
    triton_kernel : callable
        The kernel.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.wrap_triton(len)
    Traceback (most recent call last):
        ...
    NotImplementedError: wrap_triton: Triton kernels are not run here
    """
    raise NotImplementedError("wrap_triton: Triton kernels are not run here")
