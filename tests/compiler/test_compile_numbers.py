"""Compiled functions that are given other numbers at each call: the same answers as uncompiled, from few programs."""

from __future__ import annotations

import datetime
import json
import math
import os
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.nn.functional as F
from dualtape.arrays.traced.number import INTEGER_BOUND
from op_cases import arrays, cases, converted

FLOATS = [0.5, 1.25, -2.0, 0.0, 3.0, -0.75, 1e-3, 7.0, 2.5, 0.125, -1.5, 4.0]
INTEGERS = [1, 2, 3, 0, 5, -1, 4, 7, 2, -3, 6, 10]


# Each call of these draws for itself, and the others are no functions of users.
LEFT_OUT = {"svd_lowrank", "pca_lowrank", "pick", "place"}
ALL = int(os.environ.get("DUALTAPE_EXAMPLES", "60")) > 60  # every sample of each op, or one of every third op


def told(function: Callable, *args: Any) -> Any:
    """Return a function's results, or the error it raises, as something to compare."""
    try:
        return plain(function(*args))
    except Exception as error:
        return type(error)


def plain(value: Any) -> Any:
    """Return results with arrays, and the types and dtypes of everything, in the place of tensors."""
    if isinstance(value, dt.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), value.requires_grad, value.detach().numpy().copy()
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, value.copy()
    if isinstance(value, (list, tuple)):
        return type(value), [plain(v) for v in value]
    if type(value) is dict:
        return dict, {name: plain(v) for name, v in value.items()}
    return type(value), value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-6, atol=1e-7, equal_nan=True))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return type(a) is type(b) and (math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300) or a != a and b != b)
    return type(a) is type(b) and a == b


def check(function: Callable, numbers: list, programs: int | None = None, backward: bool = True) -> None:
    """Compare a compiled function with itself over a row of numbers, with values, types, errors and gradients."""
    compiled = dt.compile(function, backend=None if type(numbers[0]) is float else "numpy")
    for number in numbers:
        outcomes = []
        for f in (function, compiled):
            x = dt.arange(1.0, 7.0, dtype=dt.float64).reshape(2, 3).requires_grad_(backward)

            def step(f: Callable = f, x: dt.Tensor = x, number: Any = number) -> Any:
                result = f(x, number)
                first = result[0] if type(result) in (list, tuple) and result else result
                if isinstance(first, dt.Tensor) and first.requires_grad:
                    first.sum().backward()
                return result, x.grad

            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                outcomes.append(told(step))
        assert same(*outcomes), f"{number!r}: {outcomes[0]} is now {outcomes[1]}"
        if programs is not None:
            assert not [w for w in caught if "runs as it is" in str(w.message)], number
    if programs is not None:
        assert sum(map(len, compiled._specializations.values())) <= programs


class Held:
    """An object that keeps what it is given."""

    number: Any = None


HELD = Held()


class Scaled(dt.autograd.Function):
    """A product with a number, which the backward reads from its context."""

    @staticmethod
    def forward(ctx: Any, x: dt.Tensor, k: float) -> dt.Tensor:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, gradient: dt.Tensor) -> tuple:
        return gradient * ctx.k, None


def _twice(x: dt.Tensor, k: float) -> dt.Tensor:
    (first,) = dt.autograd.grad((x**3 * k).sum(), x, create_graph=True)
    return first * k


def _in_place(x: dt.Tensor, k: float) -> dt.Tensor:
    y = x.clone()
    y.mul_(k)
    y += k
    y[0] *= k
    return y


def _kept_in_a_list(x: dt.Tensor, k: float) -> dt.Tensor:
    parts: list = []
    parts.append(k)
    return x * parts[0] + sum(parts)


def _closure(x: dt.Tensor, k: float) -> dt.Tensor:
    return (lambda y: y * k + k)(x)


# functions that one program, or two, answers for all numbers
FEW = {
    "product": lambda x, k: x * k,
    "product from the left": lambda x, k: k * x,
    "sum and difference": lambda x, k: (x + k) - (k - x) * 2,
    "quotient": lambda x, k: x / (k * k + 1.5),
    "arithmetic of numbers": lambda x, k: x * ((k + 1) * 2 - k / 4),
    "several": lambda x, k: (x * k, x + k, x - k),
    "in place": _in_place,
    "in a list": _kept_in_a_list,
    "in a closure": _closure,
    "beside other ops": lambda x, k: (x.tanh() * k).sum().exp() * 1e-9,
    "a custom function": Scaled.apply,
    "double backward": _twice,
    "the number itself": lambda x, k: (x * k, k),
    "twice the number": lambda x, k: [x, k * 2.0, -k],
}
# functions that depend on the value in other ways: any number of programs, and the same answers
ANY = {
    "a branch": lambda x, k: x * k if k > 0 else x - k,
    "a truth value": lambda x, k: x * 2 if k else x,
    "divided by it": lambda x, k: x * (1.0 / k),
    "tensor divided by it": lambda x, k: x / k,
    "floor division": lambda x, k: x * (k // 2),
    "remainder": lambda x, k: x % (k + 20),
    "a power": lambda x, k: x**k,
    "a power of it": lambda x, k: k**x,
    "a power of numbers": lambda x, k: x * 0.9**k,
    "its square": lambda x, k: x * k**2,
    "math": lambda x, k: x * math.sin(k) + math.fabs(k),
    "NumPy's functions": lambda x, k: x * float(np.cos(k)),
    "NumPy's arrays": lambda x, k: x * dt.from_numpy(np.array([k, 1.0, 2.0])),
    "tensor": lambda x, k: x * dt.tensor(k) + dt.tensor([k, k, 1]),
    "as_tensor": lambda x, k: x + dt.as_tensor(k),
    "full": lambda x, k: x + dt.full((2, 3), k),
    "full_like": lambda x, k: x * dt.full_like(x, k),
    "fill_": lambda x, k: x.clone().fill_(k) + x,
    "arange": lambda x, k: dt.arange(k, 12),
    "linspace": lambda x, k: dt.linspace(0, k, 3) * x,
    "where": lambda x, k: dt.where(x > 2, x, k),
    "clamp": lambda x, k: x.clamp(min=k),
    "clamp both": lambda x, k: dt.clamp(x, k, k + 1),
    "alpha": lambda x, k: dt.add(x, x, alpha=k),
    "value": lambda x, k: dt.addcmul(x, x, x, value=k),
    "masked_fill": lambda x, k: x.masked_fill(x > 3, k),
    "lerp": lambda x, k: dt.lerp(x, x * 2, k),
    "setitem": lambda x, k: (y := x.clone(), y.__setitem__((0, 1), k))[0] + x,
    "leaky_relu": lambda x, k: F.leaky_relu(x - 3, k),
    "layer_norm eps": lambda x, k: F.layer_norm(x, (3,), eps=abs(k) + 1e-5),
    "comparisons": lambda x, k: (x > k, x == k, k <= x, x != k),
    "comparisons of numbers": lambda x, k: [x, k > 1, k == 2.0, k != k, 0 <= k < 3],
    "format": lambda x, k: [x * 2, f"{k:.2f} {k!r} {k}"],
    "type": lambda x, k: [x, type(k).__name__, isinstance(k, float), isinstance(k, (int, np.number))],
    "rounded": lambda x, k: x * round(k),
    "int": lambda x, k: x + int(k),
    "bool": lambda x, k: x * bool(k),
    "attributes": lambda x, k: x * k.real + k.conjugate(),
    "is_integer": lambda x, k: x * float(k).is_integer(),
    "json": lambda x, k: [x * k, json.dumps([k])],
    "timedelta": lambda x, k: x * datetime.timedelta(seconds=k).total_seconds(),
    "a key": lambda x, k: x * {0.5: 2, 1: 3}.get(k, 4),
    "in a set": lambda x, k: x * len({k, 0.5}),
    "sorted": lambda x, k: [x, sorted([k, 0.5, 2]), max(k, 1), min(1.5, k)],
    "an error": lambda x, k: x.reshape(7) * k,
    "an error about it": lambda x, k: x * [1, 2][k],
    "complex": lambda x, k: x * complex(k, 1),
    "to another dtype": lambda x, k: (x.to(dt.float32) * k, x.detach().to(dt.int64) * k, (x > 2).detach() * k),
    "half precision": lambda x, k: (x.half() * k, x.bfloat16() + k),
    "0-d": lambda x, k: x.sum() * k + x[0, 0].detach().to(dt.int32) * k,
    "sum of mixed": lambda x, k: x * (k + np.float64(2)) + np.float32(1.5) * k,
    "kept in an object": lambda x, k: (setattr(HELD, "number", k), x * HELD.number)[1],
    "kept as a default": lambda x, k: (lambda y, j=k: y * j)(x),
    "a dictionary": lambda x, k: {"x": x * k, "k": k}["x"],
    "a tuple as result": lambda x, k: (x * k, (k, k + 1)),
}
BY_INTEGER = {
    "an index": lambda x, k: x.flatten()[k] * 2,
    "a slice": lambda x, k: x.flatten()[:k] * k,
    "a size": lambda x, k: x.sum() * dt.ones(k),
    "reshape": lambda x, k: x.reshape(k, -1),
    "sum over": lambda x, k: x.sum(k),
    "roll": lambda x, k: x.roll(k) * k,
    "range": lambda x, k: sum([x * i for i in range(k)], x),
    "repeat": lambda x, k: x.repeat(1, k),
    "shifts": lambda x, k: x * (k << 2) + (k & 3) + (k ^ 1) + ~k,
    "large": lambda x, k: x * float(k * 10**12 * k * k),
    "huge": lambda x, k: [x, k * 10**30, k + 2**63, k * k * k * k * k * k],
    "topk": lambda x, k: x.flatten().topk(k)[0],
    "integers": lambda x, k: x.detach().to(dt.int64) * k + k - 2 * k,
    "small integers": lambda x, k: x.detach().to(dt.int8) * k,
    "quotient": lambda x, k: x * (k / 3 + 1 / (k * k + 1)),
    "divmod": lambda x, k: x * divmod(k, 3)[1],
    "quotient of integers": lambda x, k: x.detach().to(dt.int32) / (k + 20),
}


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("kind", [float, int, np.float64, np.float32, np.int64])
def test_that_one_program_answers_for_all_numbers(name: str, kind: type) -> None:
    numbers = [kind(k) for k in (FLOATS if issubclass(kind, (float, np.floating)) else INTEGERS)]
    check(FEW[name], numbers, programs=2 if kind in (float, int) else None)


KINDS = (float, int, np.float64, np.float32, np.int64)
# Python's numbers for every use of them, NumPy's for every third.
USES = [(name, kind) for k, name in enumerate(ANY) for kind in KINDS if ALL or kind in (float, int) or k % 3 == 0]


@pytest.mark.parametrize(("name", "kind"), USES)
def test_that_any_use_of_a_number_is_the_uncompiled_one(name: str, kind: type) -> None:
    check(ANY[name], [kind(k) for k in (FLOATS if issubclass(kind, (float, np.floating)) else INTEGERS)][:7])


@pytest.mark.parametrize("name", BY_INTEGER)
def test_that_integers_are_the_uncompiled_ones(name: str) -> None:
    check(BY_INTEGER[name], INTEGERS[:8])
    check(BY_INTEGER[name], [2, 3, 2**20, -(2**20), 1][: 5 if "large" in name or "huge" in name else 2])


def test_that_a_learning_rate_and_a_step_count_are_inputs() -> None:
    def step(w: dt.Tensor, x: dt.Tensor, rate: float, count: int) -> dt.Tensor:
        loss = ((x @ w) ** 2).mean()
        (gradient,) = dt.autograd.grad(loss, w)
        return w - rate / (1 - 0.9**count) * gradient

    compiled = dt.compile(step, fullgraph=True)
    x = dt.randn(5, 3, dtype=dt.float64)
    ours = theirs = dt.ones(3, dtype=dt.float64, requires_grad=True)
    for count in range(1, 30):
        rate = 0.1 / count
        ours = compiled(ours.detach().requires_grad_(), x, rate, count)
        theirs = step(theirs.detach().requires_grad_(), x, rate, count)
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12)
    assert sum(map(len, compiled._specializations.values())) == 2


def test_that_large_integers_and_other_types_are_told_apart() -> None:
    compiled = dt.compile(lambda x, k: x * k)
    x = dt.arange(3.0)
    for number in (1, 2, 3, INTEGER_BOUND, INTEGER_BOUND + 1, 2**40, 2.5, True, np.float32(2), np.float64(2), 4, 5.5):
        result, right = compiled(x, number), x * number
        assert result.dtype is right.dtype and result.tolist() == right.tolist(), number
    for number in (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324):
        assert str((dt.ones(2) * number).tolist()) == str(compiled(dt.ones(2), number).tolist())
        assert math.copysign(1, compiled(dt.ones(1), number).item()) == math.copysign(1, number) or number != number


def test_that_errors_are_raised_where_the_numbers_ask_for_them() -> None:
    compiled = dt.compile(lambda x, k: x * (2.0 / k))
    for number in (1.0, 2.0, 4.0):
        assert compiled(dt.ones(1), number).item() == 2 / number
    with pytest.raises(ZeroDivisionError):
        compiled(dt.ones(1), 0.0)
    assert compiled(dt.ones(1), 8.0).item() == 0.25


def test_that_an_error_leaves_what_was_done_before_it_done_once() -> None:
    calls: list = []
    memory = dt.zeros(1)

    def function(x: dt.Tensor, k: float) -> dt.Tensor:
        memory.add_(1)
        if x.sum() > 100:
            raise ValueError("too large")
        return x * k

    compiled = dt.compile(function)
    for k in (1.0, 2.0, 3.0):
        compiled(dt.ones(2), k)
        calls.append(k)
    with pytest.raises(ValueError, match="too large"):
        compiled(dt.full((2,), 1e3), 4.0)
    assert memory.item() == len(calls) + 1


def test_that_numbers_inside_containers_change_too() -> None:
    compiled = dt.compile(lambda x, options: x * options["scale"] + options["shift"][0])
    for k in (0.5, 1.5, 2.5, 3.5):
        assert compiled(dt.ones(2), {"scale": k, "shift": (k, 1)}).tolist() == [2 * k] * 2
    assert sum(map(len, compiled._specializations.values())) == 2


def test_that_numbers_vary_under_vmap_and_forward_mode() -> None:
    compiled = dt.compile(lambda x, k: (x * k).tanh() * k)
    for k in (0.5, 1.5, 2.5):
        x = dt.linspace(-1, 1, 4, dtype=dt.float64)
        value, tangent = dt.func.jvp(lambda y, k=k: compiled(y, k), (x,), (dt.ones_like(x),))
        right, slope = dt.func.jvp(lambda y, k=k: (y * k).tanh() * k, (x,), (dt.ones_like(x),))
        np.testing.assert_allclose(value.numpy(), right.numpy())
        np.testing.assert_allclose(tangent.numpy(), slope.numpy())
        np.testing.assert_allclose(dt.func.vmap(lambda y, k=k: compiled(y, k))(x).numpy(), right.numpy())


def _numbered() -> list:
    """Each op's samples with a number among their arguments: the arguments, and the names or positions of numbers."""
    found, seen = [], set()
    for ident, row, sample in cases():
        if row.complex == "only" or row.name in LEFT_OUT:
            continue
        args, kwargs, _ = arrays(sample, "float64")
        places = [k for k, value in enumerate(args) if type(value) in (int, float)]
        names = [name for name, value in kwargs.items() if type(value) in (int, float)]
        if (places or names) and (ALL or row.name not in seen and zlib.crc32(row.name.encode()) % 3 == 0):
            seen.add(row.name)
            found.append(pytest.param(row, args, kwargs, places, names, id=ident))
    return found


@pytest.mark.parametrize(("row", "args", "kwargs", "places", "names"), _numbered())
def test_that_options_of_ops_may_be_numbers_that_change(
    row: Any, args: list, kwargs: dict, places: list, names: list
) -> None:
    def function(arguments: list, options: dict) -> Any:
        return row.function(*arguments, **options)

    compiled = dt.compile(function, backend="numpy")
    for shift in (0, 1, 2):
        given = [value + shift if k in places else value for k, value in enumerate(args)]
        options = {name: value + shift if name in names else value for name, value in kwargs.items()}
        outcomes = []
        for f in (function, compiled):
            tensors = converted(given, dt.tensor)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcomes.append(told(f, tensors, options))
        assert same(*outcomes), f"{given} {options}: {outcomes[0]} is now {outcomes[1]}"
