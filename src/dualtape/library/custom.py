"""``custom_op``: a Python function as an op that autograd, ``vmap`` and dispatch modes take as a whole.

Nothing inside the function is recorded: the op has the derivative that is registered for it, or none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, overload

from .._tensor.dtypes import dtype as DType
from .._tensor.tensor import Tensor
from .inference import infer_schema
from .overloads import OpOverload, register, tensors_in
from .schema import parse

__all__ = ["CustomOpDef", "custom_op"]

DEVICES = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xpu": "XPU", "mps": "MPS", "hpu": "HPU", "mtia": "MTIA"}


class CustomOpDef:
    """An op made by :func:`custom_op`: call it, or register more for it.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.library.custom_op("mine::twice", mutates_args=())
    ... def twice(x: dt.Tensor) -> dt.Tensor:
    ...     return dt.from_numpy(x.numpy() * 2)
    >>> twice.register_autograd(lambda ctx, g: g * 2)
    >>> x = dt.ones(2, requires_grad=True)
    >>> twice(x).sum().backward(); x.grad
    tensor([2., 2.])
    """

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable, tags: object = None) -> None:
        self._namespace, self._name = namespace, name
        self._schema, self._init_fn = schema, fn
        self._tags = tuple(tags) if isinstance(tags, (list, tuple)) else () if tags is None else (tags,)
        self._backend_fns: dict[str | None, Callable] = {}
        self._disabled: set[str] = set()
        self._opoverload = register(parse(f"{namespace}::{schema_with(name, schema)}"), self._tags, replace=True)
        self._opoverload._custom = True
        update_wrapper(self, fn, ("__module__", "__doc__"), ())

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable | None = None, /
    ) -> Callable[..., Any]:
        """Register what computes the op for tensors of these device types, or of all, if None.

        Parameters
        ----------
        device_types : str, sequence of str or None
            As ``"cpu"``.
        fn : callable, optional
            The kernel; without it, this is a decorator.

        Examples
        --------
        >>> import dualtape as dt
        >>> @dt.library.custom_op("mine::one_more", mutates_args=(), device_types="cuda")
        ... def one_more(x: dt.Tensor) -> dt.Tensor:
        ...     return x + 1
        >>> @one_more.register_kernel("cpu")
        ... def _(x):
        ...     return x + 1
        >>> one_more(dt.zeros(2))
        tensor([1., 1.])
        """
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        kinds: list[str | None] = (
            [device_types] if device_types is None or isinstance(device_types, str) else [*device_types]
        )
        for kind in kinds:
            if kind is not None and kind not in DEVICES:
                raise RuntimeError(f"{self}: expected a device type such as {', '.join(DEVICES)}; got {kind!r}")
            self._backend_fns[kind] = fn
            key = "CompositeExplicitAutograd" if kind is None else DEVICES[kind]
            self._opoverload.kernels[key] = self._checked(kind, fn)
        return fn

    def _checked(self, kind: str | None, function: Callable) -> Callable:
        """Return a kernel whose results are held against its arguments: they may not share memory."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            run = self._init_fn if kind in self._disabled else function
            result = run(*args, **kwargs)
            if self._opoverload._schema.returns:
                self._check_aliases(list(tensors_in((*args, *kwargs.values()))), result, run)
            return result

        return kernel

    def _check_aliases(self, inputs: list[Tensor], result: Any, function: Callable) -> None:
        owners = {id(_memory(tensor)) for tensor in inputs}
        kept = [_memory(tensor) for tensor in tensors_in(result if isinstance(result, (list, tuple)) else (result,))]
        for memory in kept:
            if id(memory) in owners:
                raise RuntimeError(
                    f"{self._name} (with implementation in {function.__module__}): The output of this custom operator"
                    " (1) must not also be an input to this custom operator and (2) may not alias any inputs to this"
                    " custom operator or other returns. The most common way to trigger this error is if we have y ="
                    " custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending"
                    " output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
                )
            owners.add(id(memory))

    def register_fake(self, fn: Callable, /) -> Callable:
        """Register what says the shape and dtype of the results, for tensors without values.

        Parameters
        ----------
        fn : callable
            Takes the op's arguments, and reads no values of them.

        Examples
        --------
        >>> import dualtape as dt
        >>> @dt.library.custom_op("mine::negated", mutates_args=())
        ... def negated(x: dt.Tensor) -> dt.Tensor:
        ...     return -x
        >>> @negated.register_fake
        ... def _(x):
        ...     return dt.empty_like(x)
        >>> dt.library.opcheck(negated, (dt.ones(2),))["test_faketensor"]
        'SUCCESS'
        """
        self._opoverload._fake = fn
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Register the derivative.

        Parameters
        ----------
        backward : callable
            ``backward(ctx, *grads)`` returns the gradient of each argument that may be given by position.
        setup_context : callable, optional
            ``setup_context(ctx, inputs, output)`` saves for backward what it needs; with keyword-only arguments it is
            ``setup_context(ctx, inputs, keyword_only_inputs, output)``.

        Examples
        --------
        >>> import dualtape as dt
        >>> @dt.library.custom_op("mine::cubed", mutates_args=())
        ... def cubed(x: dt.Tensor) -> dt.Tensor:
        ...     return x ** 3
        >>> def keep(ctx, inputs, output):
        ...     ctx.save_for_backward(inputs[0])
        >>> cubed.register_autograd(lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2, setup_context=keep)
        >>> dt.func.grad(cubed)(dt.tensor(2.0))
        tensor(12.)
        """
        set_formula(self._opoverload, backward, setup_context, str(self))

    def register_vmap(self, func: Callable | None = None) -> Callable[..., Any]:
        """Register what computes the op for a whole batch under ``vmap``.

        Parameters
        ----------
        func : callable, optional
            ``func(info, in_dims, *args)`` returns the result and the batch's dimension in it.

        Examples
        --------
        >>> import dualtape as dt
        >>> @dt.library.custom_op("mine::total", mutates_args=())
        ... def total(x: dt.Tensor) -> dt.Tensor:
        ...     return x.sum()
        >>> @total.register_vmap
        ... def _(info, in_dims, x):
        ...     return x.movedim(in_dims[0], 0).flatten(1).sum(1), 0
        >>> dt.vmap(total)(dt.ones(2, 3))
        tensor([3., 3.])
        """
        if func is None:
            return self.register_vmap
        self._opoverload._vmap_rule = func
        return func

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable | None = None, /) -> Callable[..., Any]:
        """Register what a dispatch mode, or a tensor subclass, does for this op instead of its
        ``__torch_dispatch__``.

        Parameters
        ----------
        torch_dispatch_class : type
            The mode or the subclass.
        fn : callable, optional
            Of a mode ``fn(mode, func, types, args, kwargs)``; of a subclass the same without ``mode``.
        """
        if fn is None:
            return lambda function: self.register_torch_dispatch(torch_dispatch_class, function)
        self._opoverload._dispatch_rules[torch_dispatch_class] = fn
        return fn

    def register_autocast(self, device_type: str, cast_inputs: DType) -> None:
        """Cast the op's floating-point tensors to a dtype wherever autocast is on.

        Parameters
        ----------
        device_type : str
            ``"cpu"`` or ``"cuda"``.
        cast_inputs : dtype
            The dtype.
        """
        set_autocast(self._opoverload, device_type, cast_inputs)

    def register_effect(self, effect: object) -> None:
        """Take an effect type and do nothing: calls of an op are never reordered here."""

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Return a context in which a kernel that was registered for a device type is used, or is not: the function
        that the op was made of runs instead.

        Parameters
        ----------
        device_type : str
            As ``"cpu"``.
        enabled : bool
            Whether it is used.
        """
        before = device_type in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if before else self._disabled.discard)(device_type)


def _memory(tensor: Tensor) -> Any:
    """Return the object that owns a tensor's memory."""
    array: Any = tensor._array
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def schema_with(name: str, schema: str) -> str:
    """Return a schema with the name of the op before its arguments."""
    return re.sub(r"^\s*\w*\s*\(", lambda found: f"{name}(", schema, count=1)


def set_formula(one: OpOverload, backward: Callable, setup_context: Callable | None, title: str) -> None:
    """Register a derivative, if the schema allows one."""
    schema = one._schema
    if schema.is_mutable or any(result.alias_info is not None for result in schema.returns):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {title} with schema {schema}. Please"
            " create a functional operator and register an autograd formula for that."
        )
    if any(argument.type.is_tensors() for argument in schema.keyword_only):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your"
            f" tensors not kwarg-only. Got: {schema}"
        )
    one.differentiate_by(backward, setup_context)


def set_autocast(one: OpOverload, device_type: str, dtype: DType) -> None:
    """Register an autocast rule."""
    if not isinstance(device_type, str):
        raise ValueError(f"device_type must be a string, got {type(device_type).__name__}")
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    if device_type in one._autocast:
        raise RuntimeError(f"{one}: register_autocast was already called for device_type {device_type}")
    one._autocast[device_type] = dtype


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...


@overload
def custom_op(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> CustomOpDef: ...


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: object = None,
) -> Callable[[Callable[..., Any]], CustomOpDef] | CustomOpDef:
    """Make a Python function an op, which is then ``dualtape.ops.namespace.name`` too.

    Parameters
    ----------
    name : str
        ``"namespace::name"``.
    fn : callable, optional
        The function; without it, this is a decorator. Its results may not share memory with its arguments.
    mutates_args : iterable of str or "unknown"
        The arguments that it writes to.
    device_types : str or sequence of str, optional
        The devices that it is a kernel for; all by default.
    schema : str, optional
        ``"(Tensor x) -> Tensor"``; by default from the annotations.
    tags : object
        Kept as ``op.tags``.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.library.custom_op("mine::sine", mutates_args=())
    ... def sine(x: dt.Tensor) -> dt.Tensor:
    ...     return x.sin()
    >>> sine
    <CustomOpDef(mine::sine)>
    >>> dt.ops.mine.sine(dt.zeros(2))
    tensor([0., 0.])
    """
    space, _, short = name.partition("::")
    if not space or not short:
        raise ValueError(f"expected the name of an op as 'namespace::name', got {name!r}")
    if "." in short:
        raise ValueError(f"custom_op: {name!r} names an overload; give a name without a dot")
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    text = schema
    if text is None:
        text = infer_schema(fn, mutates_args=mutates_args)
    elif mutates_args != "unknown":
        declared = parse(f"{space}::{schema_with(short, text)}")
        written = {argument.name for argument in declared.arguments if argument.is_write}
        if written != {*mutates_args}:
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={text}. The schema"
                f" suggests that the op mutates {written or set()} which is different from what was provided to us in"
                " `mutates_args`. Please make these consistent."
            )
    result = CustomOpDef(space, short, text, fn, tags)
    CUSTOM[result._qualname] = result
    result.register_kernel(device_types, fn)
    return result


# By name, those that were made last.
CUSTOM: dict[str, CustomOpDef] = {}
