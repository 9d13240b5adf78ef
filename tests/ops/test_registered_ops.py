"""Ops registered as PyTorch's programs do it: ``library.custom_op``, ``Library``, and what is registered beside them."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape import library
from dualtape.library.schema import parse
from dualtape.utils._python_dispatch import TorchDispatchMode
from same_program import needs_torch

_numbers = itertools.count()


def _name(space: str = "tests") -> str:
    return f"{space}::op{next(_numbers)}"


def _sine(lib: Any, name: str | None = None) -> Any:
    """Return sine as an op of dualtape or PyTorch, with its derivative."""

    def sine(x: Any, k: float = 1.0, *, shift: int = 0) -> Any:
        return (x.detach() + shift).sin() * k

    sine.__annotations__ = {"x": lib.Tensor, "k": float, "shift": int, "return": lib.Tensor}
    op = lib.library.custom_op(name or _name(), sine, mutates_args=())

    def keep(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.k, ctx.shift = inputs[1], keyword_only_inputs["shift"]

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x + ctx.shift).cos() * ctx.k, None

    op.register_autograd(backward, setup_context=keep)
    return op


def _outcome(function: Callable, *args: Any, **kwargs: Any) -> tuple[str, str]:
    """Return the type of an error and the first line of its message, or the result as text."""
    try:
        return "result", str(function(*args, **kwargs))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


# --- beside PyTorch -------------------------------------------------------------------------------

_CALLS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda lib, op, x: op(x),
    lambda lib, op, x: op(x, 2),
    lambda lib, op, x: op(x, k=True, shift=3),
    lambda lib, op, x: op(x=x, shift=True),
    lambda lib, op, x: op(),
    lambda lib, op, x: op(x, 1.0, 2),
    lambda lib, op, x: op(x, j=3),
    lambda lib, op, x: op(3),
    lambda lib, op, x: op([x]),
    lambda lib, op, x: op(x, "a"),
    lambda lib, op, x: op(x, None),
    lambda lib, op, x: op(x, shift=1.5),
    lambda lib, op, x: op(x, shift=[1]),
    lambda lib, op, x: getattr(lib.ops, op._namespace).nothing,
    lambda lib, op, x: getattr(getattr(lib.ops, op._namespace), op._name).nothing,
    lambda lib, op, x: getattr(getattr(lib.ops, op._namespace), op._name)(x).grad_fn.name(),
    lambda lib, op, x: getattr(getattr(lib.ops, op._namespace), op._name).default(x, 2.0).sum(),
    lambda lib, op, x: getattr(getattr(lib.ops, op._namespace), op._name).default._schema,
    lambda lib, op, x: getattr(getattr(lib.ops, op._namespace), op._name).overloads(),
    lambda lib, op, x: [repr(op._opoverload), str(op._opoverload), op._opoverload.name(), op._opoverload.__name__],
    lambda lib, op, x: lib.autograd.grad(op(x, 3, shift=1).sum(), x),
    lambda lib, op, x: lib.func.vmap(op)(x.detach().reshape(3, 1)),
)


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", range(len(_CALLS)))
def test_calls_of_a_custom_op_give_what_pytorch_gives(call: int) -> None:
    import torch

    name = _name()
    outcomes = []
    for lib in (dt, torch):
        outcomes.append(_outcome(_CALLS[call], lib, _sine(lib, name), lib.linspace(0, 1, 3).requires_grad_(True)))
    assert outcomes[0] == outcomes[1]


def _prototypes(lib: Any) -> list[Any]:
    tensor, number = lib.Tensor, int | float | bool

    def of(result: Any, /, *, defaults: dict[str, Any] | None = None, star: int = 9, **kinds: Any) -> Any:
        import inspect

        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY if place >= star else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=kind,
                default=(defaults or {}).get(name, inspect.Parameter.empty),
            )
            for place, (name, kind) in enumerate(kinds.items())
        ]
        function = lambda: None
        function.__signature__ = inspect.Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
        return function

    return [
        of(tensor, x=tensor),
        of(None, x=tensor),
        of(tensor),
        of(tensor, x=tensor, y=tensor | None, defaults={"y": None}),
        of(tensor, x=list[tensor], y=Sequence[int], z=list[tensor | None]),
        of(tensor, a=int, b=bool, c=float, d=str, defaults=dict(a=1, b=True, c=1e-10, d="it's")),
        of(tensor, x=tensor, n=number, t=lib.dtype, d=lib.device, defaults=dict(n=2, t=lib.float32, d="cpu")),
        of(tensor, x=tensor, a=list[int] | None, b=float | None, star=1, defaults=dict(a=None, b=0.5)),
        of(tuple[tensor, int, float, bool, list[tensor]], x=tensor),
        of(list[tensor], x=tensor, flags=list[bool], xs=Sequence[float]),
        of(number, x=tensor),
        of(dict, x=tensor),
        of(tensor, x=dict),
        of(tensor, x=tuple[int, int]),
        of(tensor, x=list[tensor] | None),
        of(tensor, x=tensor, xs=Sequence[int], defaults=dict(xs=(1, 2))),
    ]


@needs_torch
@pytest.mark.parametrize("number", range(16))
@pytest.mark.parametrize("written", [(), ("x",), "unknown", ("nothing",)])
def test_inferred_schemas_are_those_of_pytorch(number: int, written: Any) -> None:
    import torch

    ours, theirs = (
        _outcome(lib.library.infer_schema, _prototypes(lib)[number], mutates_args=written) for lib in (dt, torch)
    )
    assert ours[0] == theirs[0]
    assert ours[0] != "result" or ours == theirs


_SCHEMAS = (
    "f(Tensor x) -> Tensor",
    "f(Tensor x, Tensor[] xs, Tensor?[] ys, Tensor? z=None) -> (Tensor, Tensor[])",
    'f(Tensor(a!) x, int n=3, float c=1e-10, str s="ab", int[] k=[1, 2], int[2] z=3, bool b=True) -> Tensor(a!)',
    "f(Tensor(a) x, *, SymInt[]? size=None, ScalarType? dtype=None, Scalar q=1.5) -> Tensor(a)",
    "f.out(Tensor x, float k=0.5, float j=2, *, Tensor(a!) out) -> Tensor(a!)",
    "f(Tensor(a!)[] xs, Device? d=None, MemoryFormat? m=None, Layout? l=None, Generator? g=None) -> ()",
    "f() -> int",
)


@needs_torch
@pytest.mark.parametrize("text", _SCHEMAS)
def test_schemas_are_read_and_shown_as_pytorch_does(text: str) -> None:
    import torch

    theirs, ours = torch._C.parse_schema(f"mine::{text}"), parse(f"mine::{text}")
    assert str(ours) == str(theirs)
    assert (ours.name, ours.overload_name, ours.is_mutable) == (
        theirs.name,
        theirs.overload_name,
        theirs.is_mutable,
    )
    for one, other in zip(ours.arguments, theirs.arguments, strict=True):
        assert (one.name, one.kwarg_only, one.has_default_value()) == (
            other.name,
            other.kwarg_only,
            other.has_default_value(),
        )
        assert one.default_value == other.default_value
        assert str(one.type) == str(other.type)
        assert (one.alias_info is None) == (other.alias_info is None)
        assert one.is_write == other.is_write and one.is_out == other.is_out


@needs_torch
@pytest.mark.parametrize(
    "text", ["f", "f(Tensor x)", "f(Foo x) -> Tensor", "f(Tensor) -> Tensor", "f x", "f(x) -> int"]
)
def test_schemas_that_are_none_are_refused(text: str) -> None:
    import torch

    with pytest.raises(RuntimeError):
        torch._C.parse_schema(f"mine::{text}")
    with pytest.raises(RuntimeError):
        parse(f"mine::{text}")


# --- derivatives ----------------------------------------------------------------------------------


def test_the_registered_derivative_holds_to_second_order_in_both_modes_and_in_batches() -> None:
    sine = _sine(dt)
    x = dt.linspace(0.1, 1, 4, dtype=dt.float64, requires_grad=True)
    assert dt.autograd.gradcheck(lambda x: sine(x, 2.0, shift=1), (x,), check_forward_ad=True, check_batched_grad=True)
    assert dt.autograd.gradgradcheck(sine, (x,))


def test_an_op_without_a_formula_refuses_to_be_differentiated() -> None:
    op = library.custom_op(_name(), lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    y = op(dt.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()


def test_a_kernel_of_a_library_is_recorded_through_its_operations() -> None:
    ours = library.Library("tests_lib", "FRAGMENT")
    ours.define("square(Tensor x) -> Tensor")
    ours.impl("square", lambda x: x * x, "CPU")
    x = dt.tensor([3.0], requires_grad=True)
    dt.ops.tests_lib.square(x).backward()
    assert x.grad.tolist() == [6.0]
    ours.impl("square", lambda x: x * 10, "Autograd")
    assert dt.ops.tests_lib.square(x).tolist() == [30.0]
    ours._destroy()
    with pytest.raises(AttributeError, match="has no attribute 'square'"):
        dt.ops.tests_lib.square  # noqa: B018


def test_a_kernel_for_autograd_may_call_the_op_below_it() -> None:
    ours = library.Library("tests_below", "FRAGMENT")
    ours.define("f(Tensor x) -> Tensor")
    ours.impl("f", lambda x: x * 2, "CPU")

    class Doubled(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: dt.Tensor) -> dt.Tensor:
            with dt._C._AutoDispatchBelowAutograd():
                return dt.ops.tests_below.f(x)

        @staticmethod
        def backward(ctx: Any, g: dt.Tensor) -> dt.Tensor:
            return g * 7

    ours.impl("f", Doubled.apply, "Autograd")
    x = dt.ones(1, requires_grad=True)
    dt.ops.tests_below.f(x).backward()
    assert x.grad.tolist() == [7.0]


def test_lists_of_tensors_get_their_gradients_as_lists() -> None:
    op = library.custom_op(
        _name(), lambda xs, k: [x * k for x in xs], mutates_args=(), schema="(Tensor[] xs, float k) -> Tensor[]"
    )
    seen = []

    def backward(ctx: Any, grads: list) -> Any:
        seen.append(ctx.needs_input_grad)
        return [g * 2 if g is not None else None for g in grads], None

    op.register_autograd(backward)
    x, y = dt.ones(1, requires_grad=True), dt.ones(1)
    a, b = op([x, y], 2)
    (a + b).backward()
    assert x.grad.tolist() == [2.0] and seen == [([True, False], False)]


# --- batches --------------------------------------------------------------------------------------


def test_a_batch_goes_through_the_registered_rule_or_sample_by_sample() -> None:
    seen = []
    ours = library.Library("tests_vmap", "FRAGMENT")
    ours.define("total(Tensor x, Tensor y) -> Tensor")
    ours.impl("total", lambda x, y: (seen.append(x.shape), (x * y).sum())[1], "CPU")
    x, y = dt.arange(6.0).reshape(3, 2), dt.ones(2)
    with pytest.warns(UserWarning, match="performance drop"):
        assert dt.vmap(dt.ops.tests_vmap.total, in_dims=(0, None))(x, y).tolist() == [1.0, 5.0, 9.0]
    assert seen == [(2,)] * 3

    @library.register_vmap("tests_vmap::total")
    def rule(info: Any, in_dims: tuple, x: dt.Tensor, y: dt.Tensor) -> Any:
        seen.append((info.batch_size, info.randomness, in_dims))
        return (x * y).sum(1), 0

    f = lambda x: dt.vmap(dt.ops.tests_vmap.total, in_dims=(0, None))(x, y).sum()
    assert dt.func.grad(f)(x).tolist() == [[1.0, 1.0]] * 3
    assert seen[-1] == (3, "error", (0, None))


def test_a_formula_is_used_around_a_rule_for_batches() -> None:
    op = library.custom_op(
        _name(),
        lambda x: dt.from_numpy(np.exp(x.numpy())),
        mutates_args=(),
        schema="(Tensor x) -> Tensor",
    )
    op.register_vmap(lambda info, in_dims, x: (dt.from_numpy(np.exp(x.numpy())), 0))
    op.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    )
    x = dt.linspace(0, 1, 3)
    np.testing.assert_allclose(dt.vmap(dt.func.grad(op))(x), np.exp(x.numpy()), rtol=1e-6)
    np.testing.assert_allclose(dt.func.grad(lambda x: dt.vmap(op)(x).sum())(x), np.exp(x.numpy()), rtol=1e-6)


# --- writes ---------------------------------------------------------------------------------------


def test_an_op_that_writes_is_counted_and_spoils_what_was_saved() -> None:
    op = library.custom_op(_name(), lambda x: x.add_(1), mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
    x = dt.ones(2)
    assert op(x) is None and x.tolist() == [2.0, 2.0] and x._version == 2
    w = dt.ones(2, requires_grad=True)
    y = w * x
    op(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    # Its gradient would be that of the value before.
    with pytest.raises(RuntimeError, match="writes to an argument that requires grad"):
        op(w)
    with dt.no_grad():
        op(w)
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        op.register_autograd(lambda ctx, g: g)


@pytest.mark.parametrize("kernel", [lambda x: x, lambda x: x.view(-1), lambda x: x[0]], ids=["same", "view", "part"])
def test_a_result_that_shares_memory_with_an_argument_is_refused(kernel: Callable) -> None:
    op = library.custom_op(_name(), kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="may not alias any inputs to this"):
        op(dt.ones(2, 2))


# --- kernels, modes, autocast, programs -----------------------------------------------------------


def test_kernels_of_devices_are_chosen_and_switched_off() -> None:
    op = library.custom_op(
        _name(), lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cuda"
    )
    with pytest.raises(NotImplementedError, match="Could not run .* from the 'CPU' backend"):
        op(dt.ones(1))
    op.register_kernel("cpu", lambda x: x * 7)
    assert op(dt.ones(1)).tolist() == [7.0]
    with op.set_kernel_enabled("cpu", False):
        assert op(dt.ones(1)).tolist() == [2.0]
    assert op(dt.ones(1)).tolist() == [7.0]
    assert library.get_kernel(op, "CPU")(dt.ones(1)).tolist() == [7.0]


def test_a_dispatch_mode_sees_the_op_as_a_whole_without_defaults() -> None:
    calls = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append((func, len(args), kwargs))
            return func(*args, **(kwargs or {}))

    sine = _sine(dt)
    x = dt.ones(2, requires_grad=True)
    with Seen():
        y = sine(x, 1.0, shift=0)
        sine(x, 2.0, shift=1)
    assert calls[0] == (sine._opoverload, 1, {})
    assert (sine._opoverload, 2, {"shift": 1}) in calls
    assert calls[0][0] is getattr(dt.ops.tests, sine._name).default
    y.sum().backward()
    np.testing.assert_allclose(x.grad, np.cos([1.0, 1.0]), rtol=1e-6)
    sine.register_torch_dispatch(Seen, lambda mode, func, types, args, kwargs: dt.zeros(1))
    with Seen():
        assert sine(x.detach()).tolist() == [0.0]


def test_a_subclass_of_tensor_answers_for_a_registered_op() -> None:
    class Loud(dt.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func if func is sine._opoverload else super().__torch_function__(func, types, args, kwargs)

    sine = _sine(dt)
    assert sine(dt.ones(1).as_subclass(Loud)) is sine._opoverload


def test_autocast_casts_the_arguments_of_an_op_that_asks_for_it() -> None:
    op = library.custom_op(_name(), lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autocast("cpu", dt.bfloat16)
    assert op(dt.ones(1)).dtype == dt.float32
    with dt.autocast("cpu", dtype=dt.bfloat16):
        assert op(dt.ones(1)).dtype == dt.bfloat16


@pytest.mark.filterwarnings("ignore:compile")
def test_a_compiled_function_calls_the_op() -> None:
    op = library.custom_op(
        _name(), lambda x: dt.from_numpy(np.sin(x.numpy())), mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    op.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    f = lambda x: (op(x) * 2 + 1).sum()
    compiled = dt.compile(f)
    for shift in (0.0, 0.5, 1.0):
        x, y = ((dt.linspace(0, 1, 4) + shift).requires_grad_(True) for _ in range(2))
        f(x).backward()
        compiled(y).backward()
        np.testing.assert_allclose(x.grad, y.grad)


def test_overloads_are_chosen_by_their_schemas() -> None:
    ours = library.Library("tests_overloads", "FRAGMENT")
    ours.define("f(Tensor x) -> Tensor")
    ours.define("f.two(Tensor x, Tensor y) -> Tensor")
    ours.impl("f", lambda x: x, "CompositeImplicitAutograd")
    ours.impl("f.two", lambda x, y: x + y, "CompositeImplicitAutograd")
    x = dt.ones(1)
    assert dt.ops.tests_overloads.f(x) is x and dt.ops.tests_overloads.f(x, x).tolist() == [2.0]
    assert dt.ops.tests_overloads.f.overloads() == ["default", "two"]
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        dt.ops.tests_overloads.f(x, x, x)
    with pytest.raises(RuntimeError, match="multiple times"):
        ours.define("f(Tensor x) -> Tensor")


def test_forward_mode_goes_through_the_formula() -> None:
    sine = _sine(dt)
    with fwAD.dual_level():
        y = sine(fwAD.make_dual(dt.zeros(1), dt.ones(1)))
        assert fwAD.unpack_dual(y).tangent.tolist() == [1.0]


def test_an_op_is_copied_and_pickled_as_itself() -> None:
    one = _sine(dt)._opoverload
    assert copy.deepcopy(one) is one and pickle.loads(pickle.dumps(one)) is one
    assert isinstance(one, dt._ops.OpOverload) and isinstance(dt.ops.aten.add.Tensor, dt._ops.OpOverload)
    assert not isinstance(3, dt._ops.OpOverload)


@pytest.mark.parametrize(
    ("what", "error", "text"),
    [
        (lambda: library.Library("prim", "DEF"), ValueError, "reserved namespace"),
        (lambda: library.Library("mine", "OTHER"), ValueError, "Unsupported kind: OTHER"),
        (lambda: library.Library("mine", "IMPL").define("f(Tensor x) -> Tensor"), RuntimeError, "TORCH_LIBRARY_IMPL"),
        (lambda: library.Library("mine", "IMPL").impl("f", 3, "CPU"), TypeError, "required to be a callable"),
        (lambda: library.Library("mine", "IMPL").impl("f", len, "Foo"), RuntimeError, "could not parse dispatch key"),
        (lambda: library.Library("mine", "IMPL").fallback(len), RuntimeError, "global namespace"),
        (lambda: library.Library("_", "IMPL").fallback(len), NotImplementedError, "TorchDispatchMode"),
        (lambda: library.Library("aten", "IMPL").impl("add", len, "CPU"), NotImplementedError, "dispatch mode"),
        (lambda: library.register_autograd("mine::nothing", len), AttributeError, "has no attribute 'nothing'"),
        (lambda: library.triton_op("mine::f", mutates_args=()), NotImplementedError, "custom_op takes any"),
        (lambda: library.wrap_triton(len), NotImplementedError, "Triton"),
        (lambda: library.custom_op("nothing", len, mutates_args=()), ValueError, "namespace::name"),
    ],
)
def test_what_has_no_meaning_is_refused_in_words(what: Callable, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        what()


@pytest.mark.parametrize(
    ("test", "made"),
    [
        ("test_schema", SimpleNamespace(kernel=lambda x: x.add_(1).clone(), fake=None)),
        ("test_faketensor", SimpleNamespace(kernel=lambda x: x * 2, fake=lambda x: x.new_empty(7))),
        ("test_faketensor", SimpleNamespace(kernel=lambda x: x * 2, fake=None)),
        ("test_aot_dispatch_dynamic", SimpleNamespace(kernel=lambda x: dt.rand(3), fake=None)),
    ],
)
def test_opcheck_finds_what_does_not_agree(test: str, made: Any) -> None:
    op = library.custom_op(_name(), made.kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    if made.fake is not None:
        op.register_fake(made.fake)
    with pytest.raises(library.OpCheckError, match=f"{test} failed"):
        library.opcheck(op, (dt.ones(3),), test_utils=test)
    assert library.opcheck(op, (dt.ones(3),), raise_exception=False)[test] != "SUCCESS"


def test_opcheck_passes_what_is_right() -> None:
    sine = _sine(dt)
    sine.register_fake(lambda x, k=1.0, *, shift=0: dt.empty_like(x))
    results = library.opcheck(sine, (dt.ones(3, requires_grad=True),), {"shift": 2})
    assert set(results.values()) == {"SUCCESS"} and len(results) == 4


def test_the_shapes_of_a_fake_may_depend_on_values() -> None:
    op = library.custom_op(_name(), lambda x: x[x > 0], mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: x.new_empty(library.get_ctx().new_dynamic_size()))
    assert library.opcheck(op, (dt.tensor([1.0, -1.0, 2.0]),), test_utils="test_faketensor")
