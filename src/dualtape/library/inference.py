"""``infer_schema``: the schema of a Python function, from its annotations and defaults."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Union

from .._tensor.device import device as Device
from .._tensor.dtypes import dtype as DType
from .._tensor.tensor import Tensor

__all__ = ["infer_schema"]

_PARAMETERS: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    DType: "ScalarType",
    Device: "Device",
}
_RESULTS: dict[Any, str] = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool"}
_LISTS = (list, collections.abc.Sequence)
_IN_LISTS = ("Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar")


def infer_schema(
    prototype_function: Callable,
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: object = (),
) -> str:
    """Return the schema of a function, from the annotations of its parameters and of its result.

    Parameters
    ----------
    prototype_function : callable
        Every parameter has an annotation: ``Tensor``, ``int``, ``float``, ``bool``, ``str``, a number
        (``int | float | bool``), a dtype or a device; lists and optionals of them.
    mutates_args : iterable of str or "unknown"
        The parameters that the function writes to; "unknown" for all that are tensors.
    op_name : str, optional
        The name that the schema begins with.
    tags : object
        Taken and not used: no tag changes a schema.

    Examples
    --------
    >>> import dualtape as dt
    >>> def scaled(x: dt.Tensor, k: float = 2.0, *, out: dt.Tensor | None = None) -> dt.Tensor: ...
    >>> dt.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float k=2.0, *, Tensor? out=None) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refuse(why: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {why} Got func with signature {signature})")

    def resolved(annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        scope = inspect.unwrap(prototype_function).__globals__
        try:
            return eval(annotation, scope)  # noqa: S307 - an annotation of the program itself
        except Exception:
            refuse(f"Unsupported type annotation {annotation}. It is not a type.")

    written = {*mutates_args} if not isinstance(mutates_args, str) else set()
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            'infer_schema(func): mutates_args is either a sequence of names of parameters, or "unknown"; got'
            f" {mutates_args!r}"
        )
    parts: list[str] = []
    after_star = False
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not after_star:
            after_star = True
            parts.append("*")
        if parameter.annotation is parameter.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = resolved(parameter.annotation)
        text = _parameter(kind)
        if text is None:
            refuse(
                f"Parameter {name} has unsupported type {kind}."
                + (
                    " We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For"
                    " example, list[int]."
                    if typing.get_origin(kind) is tuple
                    else ""
                )
                + f" The valid types are: {', '.join(_PARAMETERS.values())}, Scalar, lists and optionals of them."
            )
        if name in written or mutates_args == "unknown" and text.startswith("Tensor"):
            if not text.startswith("Tensor"):
                refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            text = f"Tensor(a{place}!){text.removeprefix('Tensor')}"
        parts.append(f"{text} {name}" + _default(name, parameter, refuse))
    for name in sorted(written - {*signature.parameters}):
        refuse(f"{name!r} in mutates_args was not found in the function's signature: mutates_args contains names only.")
    if signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    result = resolved(signature.return_annotation)
    results = _results(result)
    if results is None:
        refuse(f"Return has unsupported type {result}. The valid types are: Tensor, list[Tensor], int, float, bool.")
    return f"{op_name or ''}({', '.join(parts)}) -> {results}"


def _default(name: str, parameter: inspect.Parameter, refuse: Callable[[str], NoReturn]) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    if isinstance(value, (str, Device)):
        return f'="{value}"'
    if isinstance(value, DType):
        return f"={value.name}"
    refuse(f"Parameter {name} has an unsupported default value type {type(value)}.")


def _is_number(kind: Any) -> bool:
    return typing.get_origin(kind) in (Union, types.UnionType) and {*typing.get_args(kind)} == {int, float, bool}


def _optional(kind: Any) -> Any:
    """Return the type of which ``kind`` is the optional; None if it is no optional."""
    if typing.get_origin(kind) not in (Union, types.UnionType):
        return None
    parts = [part for part in typing.get_args(kind) if part is not type(None)]
    if len(parts) == len(typing.get_args(kind)):
        return None
    return parts[0] if len(parts) == 1 else Union[tuple(parts)]  # noqa: UP007


def _parameter(kind: Any, in_list: bool = False) -> str | None:
    try:
        known = _PARAMETERS.get(kind)
    except TypeError:
        known = None
    if known is not None:
        return known
    if _is_number(kind):
        return "Scalar"
    inner = _optional(kind)
    if inner is not None:
        text = _parameter(inner, in_list)
        return None if text is None or text.startswith("Tensor") and text != "Tensor" else f"{text}?"
    if typing.get_origin(kind) in _LISTS and not in_list:
        text = _parameter(typing.get_args(kind)[0], in_list=True)
        return f"{text}[]" if text in _IN_LISTS else None
    return None


def _result(kind: Any) -> str | None:
    if _is_number(kind):
        return "Scalar"
    if typing.get_origin(kind) is list and typing.get_args(kind) == (Tensor,):
        return "Tensor[]"
    try:
        return _RESULTS.get(kind)
    except TypeError:
        return None


def _results(kind: Any) -> str | None:
    if kind is None or kind is type(None):
        return "()"
    if typing.get_origin(kind) is not tuple:
        return _result(kind)
    parts = [_result(part) for part in typing.get_args(kind)]
    written = [part for part in parts if part is not None]
    return None if len(written) < len(parts) else written[0] if len(parts) == 1 else f"({', '.join(written)})"
