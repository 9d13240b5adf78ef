"""``opcheck``: does what was registered for an op agree with what its kernel does?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor
from ..autograd.api import grad
from ..pytree import tree_flatten, tree_map
from .custom import CustomOpDef
from .fake import in_fake
from .overloads import OpOverload, OpOverloadPacket, tensors_in

__all__ = ["OpCheckError", "opcheck"]

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """Something registered for an op does not agree with its kernel."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Check an op on some arguments, and return what each test found: "SUCCESS", or the error that it raised.

    ``test_schema`` runs the op and compares what it wrote to, and what its results share memory with, with the schema.
    ``test_autograd_registration`` looks whether a derivative is registered where one is asked for. ``test_faketensor``
    compares shapes, dtypes and strides of the registered fake with those of the results.
    ``test_aot_dispatch_dynamic`` compares two runs and their gradients, eagerly and with every operation seen by a
    dispatch mode. Whether a gradient is right is a question for ``autograd.gradcheck``.

    Parameters
    ----------
    op : OpOverload, OpOverloadPacket or CustomOpDef
        The op.
    args : tuple
        Its arguments.
    kwargs : dict, optional
        Its arguments by keyword.
    test_utils : str or sequence of str
        The tests to run.
    raise_exception : bool
        Whether a failure raises.
    atol, rtol : float, optional
        How much gradients and results of two runs may differ.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.library.custom_op("mine::clipped", mutates_args=())
    ... def clipped(x: dt.Tensor) -> dt.Tensor:
    ...     return x.clamp(min=0)
    >>> dt.library.opcheck(clipped, (dt.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    one = op._opoverload if isinstance(op, CustomOpDef) else op.default if isinstance(op, OpOverloadPacket) else op
    if type(one) is not OpOverload:
        raise ValueError(f"opcheck: expected an op that library.custom_op or Library.define made, got {op!r}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in _TESTS]
    if not names or unknown:
        raise ValueError(f"opcheck: test_utils must be some of {', '.join(_TESTS)}; got {test_utils!r}")
    tests: dict[str, Callable[[], None]] = {
        "test_schema": lambda: _check_schema(one, *_copies(args, kwargs or {})),
        "test_autograd_registration": lambda: _check_registration(one, *_copies(args, kwargs or {})),
        "test_faketensor": lambda: _check_fake(one, *_copies(args, kwargs or {})),
        "test_aot_dispatch_dynamic": lambda: _check_runs(one, args, kwargs or {}, atol, rtol),
    }
    results: dict[str, str] = {}
    for name in names:
        try:
            tests[name]()
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = str(error)
        else:
            results[name] = "SUCCESS"
    return results


def _copies(args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    def copied(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return leaf.detach().clone().requires_grad_(leaf.requires_grad)

    return tree_map(copied, args), tree_map(copied, kwargs)


def _bits(tensor: Tensor) -> np.ndarray:
    return np.array(tensor.detach()._array, copy=True)


def _check_schema(one: OpOverload, args: tuple, kwargs: dict[str, Any]) -> None:
    given, named = one._schema.bind(args, kwargs)
    values = {**dict(zip((a.name for a in one._schema.positional), given, strict=True)), **named}
    before = {name: [_bits(t) for t in tensors_in((value,))] for name, value in values.items()}
    with modes.no_grad():
        output = one(*args, **kwargs)
    for argument in one._schema.arguments:
        tensors = list(tensors_in((values[argument.name],)))
        same = all(
            np.array_equal(old, _bits(new), equal_nan=old.dtype.kind in "fc")
            for old, new in zip(before[argument.name], tensors, strict=True)
        )
        if not same and not argument.is_write:
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated by {one._name}: name it in"
                " mutates_args, or copy it"
            )
    results = list(tensors_in(output if isinstance(output, (list, tuple)) else (output,)))
    aliased = one.is_view or any(result.is_write for result in one._schema.returns)
    for result in results:
        shares = any(np.shares_memory(result._array, t._array) for t in tensors_in(values.values()))
        if shares and not aliased:
            raise RuntimeError(f"{one._name}: a result shares memory with an argument, which the schema does not say")


def _check_registration(one: OpOverload, args: tuple, kwargs: dict[str, Any]) -> None:
    if not any(t.requires_grad for t in tensors_in((*args, *kwargs.values()))):
        return
    output = one(*args, **kwargs)
    results = list(tensors_in(output if isinstance(output, (list, tuple)) else (output,)))
    recorded = [r for r in results if r.is_floating_point() or r.is_complex()]
    if (
        one._function is None
        and "CompositeImplicitAutograd" not in one.kernels
        and any(r.requires_grad for r in recorded)
    ):
        if not any(key.startswith("Autograd") for key in one.kernels):
            raise RuntimeError(
                f"{one._name}: a result requires grad, but no autograd kernel is registered: use"
                " library.register_autograd, or the key CompositeImplicitAutograd"
            )


def _check_fake(one: OpOverload, args: tuple, kwargs: dict[str, Any]) -> None:
    fake = one._fake or one.kernels.get("Meta")
    if fake is None:
        if (
            any(key in one.kernels for key in ("CompositeExplicitAutograd", "CompositeImplicitAutograd"))
            and not one._custom
        ):
            return
        raise RuntimeError(
            f"{one._name}: there was no fake impl registered: library.register_fake says the shapes of its results"
        )
    given, named = one._schema.bind(args, kwargs)
    with modes.no_grad():
        expected, ctx = in_fake(one._name, fake, given, named)
        got = one(*args, **kwargs)
    fakes, spec = tree_flatten(expected)
    real, real_spec = tree_flatten(got)
    if spec != real_spec or len(fakes) != len(real):
        raise RuntimeError(f"{one._name}: the fake returned {spec}, the op {real_spec}")
    for number, (shown, result) in enumerate(zip(fakes, real, strict=True)):
        if not isinstance(result, Tensor):
            continue
        if ctx.dynamic:
            same = shown.dtype == result.dtype and shown.ndim == result.ndim
        else:
            same = (shown.dtype, shown.shape, shown.stride()) == (result.dtype, result.shape, result.stride())
        if not same:
            raise RuntimeError(
                f"{one._name}: result {number} of the fake has shape {tuple(shown.shape)}, dtype {shown.dtype} and"
                f" strides {shown.stride()}, the op's has {tuple(result.shape)}, {result.dtype} and {result.stride()}"
            )


def _check_runs(one: OpOverload, args: tuple, kwargs: dict[str, Any], atol: float | None, rtol: float | None) -> None:
    from ..overrides.dispatch_modes import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    plain = _results_and_gradients(one, *_copies(args, kwargs))
    with Seen():
        watched = _results_and_gradients(one, *_copies(args, kwargs))
    for number, (first, second) in enumerate(zip(plain, watched, strict=True)):
        np.testing.assert_allclose(
            first,
            second,
            err_msg=f"{one._name}: value {number} of two runs differs",
            rtol=1e-5 if rtol is None else rtol,
            atol=1e-6 if atol is None else atol,
        )


def _results_and_gradients(one: OpOverload, args: tuple, kwargs: dict[str, Any]) -> list[np.ndarray]:
    wanted = [t for t in tensors_in((*args, *kwargs.values())) if t.requires_grad]
    output = one(*args, **kwargs)
    results = list(tensors_in(output if isinstance(output, (list, tuple)) else (output,)))
    found = [_bits(result) for result in results]
    roots = [result for result in results if result.requires_grad]
    if wanted and roots:
        total = roots[0].abs().sum()
        for root in roots[1:]:
            total = total + root.abs().sum()
        found += [_bits(g) for g in grad(total, wanted, allow_unused=True) if g is not None]
    return found
