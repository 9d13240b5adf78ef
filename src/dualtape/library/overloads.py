"""Registered ops: what ``dualtape.ops.namespace.name`` and ``.default`` are, and what a call of them does.

A call is bound to the schema, offered to overrides, and run: under ``vmap`` by the registered rule or sample by sample;
recorded by the registered formula; below that, by a dispatch mode or by the kernel of the arguments' device. An op
without a formula whose kernel was registered for a device is recorded through the kernel's own operations, as in
PyTorch; one made by ``custom_op`` refuses to be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NoReturn

from .. import modes
from .._tensor.tensor import Tensor
from ..arrays.batched.array import Batched, is_batched, levels_of
from ..autograd.function import Function
from ..autograd.function_batching import VmapInfo
from ..autograd.versions import bump_after
from ..ops.batching import batch, by_samples, unbatch
from ..ops.user_ops import REGISTERED
from ..overrides.active_overrides import MISS, active_overrides, numpy_kind
from ..pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from .schema import FunctionSchema

__all__ = ["BelowAutograd", "OpOverload", "OpOverloadPacket", "fallthrough_kernel", "found", "register"]

COMPOSITES = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")
_AUTOGRAD = ("Autograd", "AutogradCPU", "AutogradOther")

_below: ContextVar[bool] = ContextVar("_below", default=False)


class BelowAutograd:
    """Context in which registered ops run their kernels and record nothing: for kernels of the key ``Autograd``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, requires_grad=True)
    >>> with dt._C._AutoDispatchBelowAutograd():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __enter__(self) -> BelowAutograd:
        self._token = _below.set(True)
        self._grad = modes.no_grad()
        self._grad.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._grad.__exit__(*error)
        _below.reset(self._token)


def fallthrough_kernel() -> NoReturn:
    """Stand for no kernel at all, for ``Library.impl``: the call goes on to the next one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.fallthrough_kernel()
    Traceback (most recent call last):
        ...
    NotImplementedError: fallthrough_kernel() should never be called.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class _ByName:
    """What registered ops pass through their Function beside the positional arguments."""

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among arguments, and in lists among them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


class _Kind(type):
    """The class of :class:`OpOverload`: the functions of ``ops.aten`` are instances of it, too."""

    def __instancecheck__(cls, value: object) -> bool:
        return super().__instancecheck__(value) or hasattr(value, "overloadpacket") and hasattr(value, "_schema")


class OpOverload(metaclass=_Kind):
    """An op with one schema: ``dualtape.ops.namespace.name.default``.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.library.custom_op("mine::plus_one", mutates_args=())
    ... def plus_one(x: dt.Tensor) -> dt.Tensor:
    ...     return x + 1
    >>> dt.ops.mine.plus_one.default
    <OpOverload(op='mine.plus_one', overload='default')>
    >>> dt.ops.mine.plus_one.default(dt.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, schema: FunctionSchema, packet: OpOverloadPacket, tags: tuple = ()) -> None:
        self._schema = schema
        self.namespace, _, self._opname = schema.name.partition("::")
        self._overloadname = schema.overload_name or "default"
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"dualtape.ops.{self.namespace}"
        self._overloadpacket = packet
        self._name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        self._tags = tags
        # Kernels by dispatch key, and what was registered beside them.
        self.kernels: dict[str, Callable] = {}
        self._fake: Callable | None = None
        self._vmap_rule: Callable | None = None
        self._function: type[Function] | None = None
        self._autocast: dict[str, Any] = {}
        self._dispatch_rules: dict[type, Callable] = {}
        # Made by custom_op: differentiated by a formula or not at all.
        self._custom = False

    # --- what programs read -----------------------------------------------------------------------

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of the name."""
        return self._overloadpacket

    @property
    def op(self) -> Callable:
        """The function that a call runs."""
        return self.__call__

    @property
    def tags(self) -> list:
        """The tags that the op was defined with."""
        return list(self._tags)

    @property
    def is_view(self) -> bool:
        """Whether a result is a view of an argument, as the schema says."""
        return any(r.alias_info is not None and not r.is_write for r in self._schema.returns)

    def name(self) -> str:
        """Return the name with its namespace, and the overload's if it is not the default."""
        return self._name

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Return whether a kernel was registered for exactly that key."""
        return str(key).rpartition(".")[2] in self.kernels

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> tuple:
        return found, (self._name,)

    # --- calls ------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if numpy_kind:
            args, kwargs = numpy_kind[0](args, kwargs)
        if self._autocast and (kind := self._cast_on(list(tensors_in((*args, *kwargs.values()))))) is not None:
            return self._cast_call(kind, args, kwargs)
        if active_overrides:
            from ..overrides.subclass import intercept

            answer = intercept(self, args, kwargs)
            if answer is not MISS:
                return answer
        return self.run(*self._schema.bind(args, kwargs))

    def run(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the results for arguments that are bound to the schema."""
        tensors = list(tensors_in((*args, *kwargs.values())))
        levels = levels_of([t._array for t in tensors if type(t._array) is Batched])
        if levels and "CompositeImplicitAutograd" not in self.kernels:
            if self._vmap_rule is None:
                return by_samples(self._again, args, kwargs, self._name)
            if self._function is None and not self._custom:
                return self._by_rule(levels[-1], args, kwargs)
        if _below.get():
            return self.kernel_result(args, kwargs, tensors)
        for key in _AUTOGRAD:
            if key in self.kernels:
                return self._schema.results(self.kernels[key](*args, **kwargs))
        mode = modes.current()
        needs = mode.grad and any(t.requires_grad for t in tensors)
        if self._schema.is_mutable and self._custom:
            return self._mutating(args, kwargs, tensors, needs)
        differentiated = self._custom or self._function is not None
        if not differentiated and "CompositeImplicitAutograd" not in self.kernels:
            # What answers in a mode is not recorded: a backward must then say so.
            differentiated = needs and (bool(mode.dispatches) or self._answered_by_class(tensors))
        if differentiated and (needs or mode.levels or levels):
            function = self._function or self._underived()
            return function.apply(*args, _ByName(kwargs))
        return self.kernel_result(args, kwargs, tensors)

    def _again(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(args, kwargs)

    def _cast_call(self, kind: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the op on arguments cast to the dtype that was asked for, with autocast off."""
        from ..amp import autocast

        def cast(leaf: Any) -> Any:
            return leaf.to(self._autocast[kind]) if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf

        with autocast(kind, enabled=False):
            return self(*tree_map(cast, args), **tree_map(cast, kwargs))

    def _cast_on(self, tensors: list[Tensor]) -> str | None:
        """Return the device type whose autocast is active and has a dtype for this op."""
        from ..amp import autocast_mode

        active = [kind for kind in self._autocast if autocast_mode.is_autocast_enabled(kind)]
        return active[0] if active and tensors else None

    @staticmethod
    def _answered_by_class(tensors: list[Tensor]) -> bool:
        from ..overrides.subclass import disabled_dispatch

        return any(getattr(type(t), "__torch_dispatch__", disabled_dispatch) is not disabled_dispatch for t in tensors)

    def _mutating(self, args: tuple, kwargs: dict[str, Any], tensors: list[Tensor], needs: bool) -> Any:
        """Run an op that writes to arguments, and count the writes."""
        written = self._written(args, kwargs)
        if needs and any(t.requires_grad for t in written):
            raise RuntimeError(
                f"{self}: writes to an argument that requires grad, and no formula says what its gradient becomes: call"
                " it inside no_grad(), or on a tensor that does not require grad"
            )
        with modes.no_grad():
            result = self.kernel_result(args, kwargs, tensors)
        for tensor in written:
            bump_after(tensor._shared_counter)
        return result

    def _written(self, args: tuple, kwargs: dict[str, Any]) -> list[Tensor]:
        names = [argument.name for argument in self._schema.positional]
        values = {**dict(zip(names, args, strict=True)), **kwargs}
        return list(tensors_in(values[a.name] for a in self._schema.arguments if a.is_write))

    # --- below autograd ---------------------------------------------------------------------------

    def kernel_result(self, args: tuple, kwargs: dict[str, Any], tensors: list[Tensor]) -> Any:
        """Return what a dispatch mode, an argument's class or the kernel gives."""
        if active_overrides and "CompositeImplicitAutograd" not in self.kernels:
            from ..overrides.dispatch import answer

            given, named = self._schema.trimmed(args, kwargs)
            result = answer(self, given, named)
            if result is not MISS:
                return result
        return self._schema.results(self.kernel_for(tensors)(*args, **kwargs))

    def kernel_for(self, tensors: list[Tensor]) -> Callable:
        """Return the kernel for the device of the tensors."""
        kinds = {t.device.type for t in tensors} or {"cpu"}
        if "meta" in kinds:
            return self._meta_kernel()
        key = next(iter(kinds - {"cpu"}), "cpu").upper()
        for name in (key, *COMPOSITES):
            kernel = self.kernels.get(name)
            if kernel is not None and kernel is not fallthrough_kernel:
                return kernel
        raise NotImplementedError(
            f"Could not run '{self._name}' with arguments from the '{key}' backend. This could be because the operator"
            f" doesn't exist for this backend: '{self._name}' is only available for these backends:"
            f" [{', '.join(sorted(self.kernels)) or 'none'}]; register one with library.register_kernel, or with"
            " Library.impl"
        )

    def _meta_kernel(self) -> Callable:
        for kernel in (self._fake, *(self.kernels.get(name) for name in ("Meta", *COMPOSITES))):
            if kernel is not None and (kernel is self._fake or not self._custom):
                return kernel
        if self._custom:
            raise RuntimeError(
                f"There was no fake impl registered for <CustomOpDef({self._name})>: tensors on the device meta have no"
                f" values. Please use `{self._opname}.register_fake` to add an fake impl."
            )
        raise NotImplementedError(
            f"{self._name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel"
            " registered: use library.register_fake"
        )

    # --- derivatives ------------------------------------------------------------------------------

    def differentiate_by(self, backward: Callable, setup_context: Callable | None) -> None:
        """Record calls by a Function with this backward from now on."""
        overload = self
        by_keyword = bool(self._schema.keyword_only)

        def forward(*args: Any) -> Any:
            *given, named = args
            tensors = list(tensors_in((*given, *named.values.values())))
            return overload.kernel_result(tuple(given), named.values, tensors)

        def remember(ctx: Any, inputs: tuple, output: Any) -> None:
            *given, named = inputs
            ctx.needs_input_grad = ctx.needs_input_grad[:-1]
            if setup_context is None:
                return
            if by_keyword:
                setup_context(ctx=ctx, inputs=tuple(given), keyword_only_inputs=named.values, output=output)
            else:
                setup_context(ctx=ctx, inputs=tuple(given), output=output)

        def run_backward(ctx: Any, *grads: Any) -> tuple:
            given = backward(ctx, *grads)
            return (*given, None) if isinstance(given, tuple) else (given, None)

        def over_batch(info: VmapInfo, in_dims: tuple, *args: Any) -> Any:
            assert overload._vmap_rule is not None
            *given, named = args
            return overload._vmap_rule(info, tuple(in_dims[:-1]), *given, **named.values)

        name = f"GeneratedBackwardFor_{self.namespace}_{self._opname}_{self._overloadname}"
        members = {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(remember),
            "backward": staticmethod(run_backward),
            "vmap": staticmethod(over_batch),
            "__module__": __name__,
        }
        self._function = type(name, (Function,), members)

    def _underived(self) -> type[Function]:
        """Return a Function that records a node whose backward raises."""

        def backward(ctx: Any, *grads: Any) -> NoReturn:
            raise RuntimeError(
                f"Trying to backward through {self} but no autograd formula was registered. Please use"
                " register_autograd to add one."
            )

        given, self._function = self._function, None
        try:
            self.differentiate_by(backward, None)
            assert self._function is not None
            return self._function
        finally:
            self._function = given

    # --- batches ----------------------------------------------------------------------------------

    def _by_rule(self, level: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return what the registered rule gives for a whole batch; its operations are recorded."""
        assert self._vmap_rule is not None
        has = lambda leaf: isinstance(leaf, Tensor) and is_batched(leaf._array, level)
        in_dims = tuple(tree_map(lambda leaf: 0 if has(leaf) else None, arg) for arg in args)
        plain = tree_map(lambda leaf: unbatch(leaf, level, 0) if has(leaf) else leaf, args)
        mode = modes.current()
        inside = mode.replace(batches=tuple(one for one in mode.batches if one is not level))
        try:
            modes._set(inside)
            result = self._vmap_rule(VmapInfo(level.size, level.randomness), in_dims, *plain, **kwargs)
        finally:
            now = modes._set(mode).old_value
            if now is not inside:
                modes.keep(now, mode, "batches")
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(f"{self}: the rule of register_vmap must return (output, out_dims), got {result!r}")
        output, out_dims = result
        leaves, spec = tree_flatten(output)
        dims = broadcast_prefix(out_dims, spec)
        if dims is None:
            raise RuntimeError(
                f"{self}: the rule of register_vmap returned out_dims={out_dims}, which do not fit the structure of"
                " its output"
            )
        pairs = zip(leaves, dims, strict=True)
        return tree_unflatten(
            [leaf if dim is None else batch(leaf, level, dim % leaf.ndim) for leaf, dim in pairs], spec
        )


class OpOverloadPacket:
    """All overloads of a registered name: ``dualtape.ops.namespace.name``.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.library.custom_op("mine::minus_one", mutates_args=())
    ... def minus_one(x: dt.Tensor) -> dt.Tensor:
    ...     return x - 1
    >>> dt.ops.mine.minus_one, dt.ops.mine.minus_one.overloads()
    (<OpOverloadPacket(op='mine.minus_one')>, ['default'])
    """

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self.__name__ = name
        self.__module__ = f"dualtape.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {op._schema.overload_name: op._schema for op in self._overloads.values()}

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        one = self.__dict__.get("_overloads", {}).get(overload)
        if one is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        return one

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        several = list(self._overloads.values())
        if len(several) == 1:
            return several[0](*args, **kwargs)
        failures = []
        for one in several:
            try:
                one._schema.bind(args, kwargs)
            except RuntimeError as error:
                failures.append(str(error))
                continue
            return one(*args, **kwargs)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n" + "\n\n".join(failures)
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._overloads)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._overloads]

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self


# --- the registry ---------------------------------------------------------------------------------


def register(schema: FunctionSchema, tags: tuple = (), replace: bool = False) -> OpOverload:
    """Return a new op of that schema, which ``dualtape.ops`` finds from now on."""
    namespace, _, name = schema.name.partition("::")
    ops = REGISTERED.setdefault(namespace, {})
    packet = ops.get(name) or OpOverloadPacket(namespace, name)
    key = schema.overload_name or "default"
    if key in packet._overloads and not replace:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each"
            " overload's schema should only be registered with a single call to def()."
        )
    one = packet._overloads[key] = OpOverload(schema, packet, tags)
    ops[name] = packet
    return one


def unregister(one: OpOverload) -> None:
    """Remove an op."""
    packet = one._overloadpacket
    if packet._overloads.get(one._overloadname) is one:
        del packet._overloads[one._overloadname]
    if not packet._overloads:
        REGISTERED.get(one.namespace, {}).pop(one._opname, None)


def found(name: str) -> OpOverload:
    """Return the op of a name such as ``mine::scale`` or ``mine::scale.out``; raise if there is none."""
    space, _, rest = name.partition("::")
    op, _, overload = rest.partition(".")
    packet = REGISTERED.get(space, {}).get(op)
    if packet is None:
        raise AttributeError(f"'_OpNamespace' '{space}' object has no attribute '{op}'")
    return getattr(packet, overload or "default")
