"""Tensors of several dtypes beside one another: values, gradients and tangents are PyTorch's, and the formulas of
derivatives are not thrown off by an argument that the forward saw in another dtype.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import arrays, cases, converted, cotangents, leaves, oracle, rows

try:
    import torch
except ImportError:
    torch = None

KINDS = ("int8", "uint8", "int64", "bool", "float32", "float16", "bfloat16")
# What PyTorch takes only since nothing is multiplied (empty products), or gives in the second tensor's dtype.
ONLY_THERE = {"bmm", "conv2d", "conv_tbc", "cdist", "solve_triangular", "einsum"}
DTYPES = {"binary_cross_entropy_with_logits"}  # PyTorch's result has the target's dtype
# PyTorch computes with small integers, which overflow: -x of uint8, 2 ** -y, differences of indices, sums of neighbours.
OVERFLOWS = {"atan2": ("uint8",), "ldexp": KINDS, "gradient": ("bool", "int8", "uint8", "int64")}
OVERFLOWS |= dict.fromkeys(("trapezoid", "cumulative_trapezoid"), ("int8", "uint8"))
AT_TIES = {
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "gaussian_nll_loss",
}  # its two modes differ there; ours do not


def in_dtype(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bool":
        return array > 0
    scale, low = (1, -100) if kind.startswith("float") else (40, 0 if kind == "uint8" else -100)
    return np.clip(np.nan_to_num(array * scale), low, 100).astype(kind)


def in_single(tensor: Any) -> np.ndarray:
    """The numbers of a tensor of either library, bfloat16 in single precision."""
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()


def mixed() -> list:
    """Each op of several tensors whose PyTorch's form is known, with a sample."""
    found = [(i, row, sample) for i, row, sample in cases() if sample.torch and row.complex != "only"]
    return [c for c in found if len(arrays(c[2], "float64")[2]) > 1 and torch is not None and oracle(c[1]) is not None]


def results(library: Any, function: Any, case: tuple, place: int, kind: str) -> dict[str, list]:
    """Values, gradients and tangents of an op whose input number ``place`` is of another dtype."""
    args, kwargs, inputs = case
    small = library.tensor(in_dtype(inputs[place], "float32" if kind == "bfloat16" else kind))
    small = small.to(library.bfloat16) if kind == "bfloat16" else small
    made = {id(a): small if k == place else library.tensor(a, requires_grad=True) for k, a in enumerate(inputs)}
    forward_ad = library.autograd.forward_ad

    def run(change: Any) -> list:
        one = lambda a: change(made[id(a)]) if id(a) in made else library.tensor(a)
        found = function(*(converted(a, one) for a in args), **{k: converted(v, one) for k, v in kwargs.items()})
        return [x for x in leaves(found) if isinstance(x, library.Tensor)]

    outs = run(lambda t: t)
    found = {"value": [x.detach() for x in outs]}
    floats = [x for x in outs if x.requires_grad]
    if floats:
        starts = [library.tensor(g) for g in cotangents(floats)]
        asked = [t for t in made.values() if t.requires_grad]
        found["gradient"] = list(library.autograd.grad(floats, asked, starts, allow_unused=True))
        dual = lambda t: forward_ad.make_dual(t.detach(), library.ones_like(t)) if t.requires_grad else t
        try:
            with forward_ad.dual_level():
                found["tangent"] = [forward_ad.unpack_dual(x).tangent for x in run(dual)]
        except (NotImplementedError, RuntimeError):
            if library is dt:
                raise
    return found


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_of_another_dtype_gives_pytorchs_values_gradients_and_tangents(kind: str) -> None:
    compared, wrong = 0, []
    for ident, row, sample in mixed():
        case = arrays(sample, "float64")
        for place in range(len(case[2])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    theirs = results(torch, oracle(row), case, place, kind)
                except Exception:
                    continue  # PyTorch does not bring them together, which it says in many ways
                try:
                    ours = results(dt, row.function, case, place, kind)
                except (RuntimeError, TypeError, ValueError) as error:
                    if row.name not in ONLY_THERE:
                        wrong.append(f"{ident} of {place}: {error!r}")
                    continue
            compared += 1
            if kind in OVERFLOWS.get(row.name, ()):
                continue
            for what, those in theirs.items():
                if what == "tangent" and row.name in AT_TIES and not sample.check:
                    continue
                for a, b in zip(ours[what], those, strict=True):
                    if a is None or b is None:
                        given = a if b is None else b
                        good = given is None or not given.any()
                    else:
                        tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(kind, 1e-6)
                        good = np.allclose(in_single(a), in_single(b), tolerance, tolerance, equal_nan=True)
                        good &= a.shape == b.shape
                        good &= row.name in DTYPES or str(a.dtype).split(".")[1] == str(b.dtype).split(".")[1]
                    if not good:
                        wrong.append(f"{what} of {ident}, argument {place}: {a} where PyTorch has {b}")
    assert not wrong, "\n".join(wrong)
    assert compared > 300


def test_a_number_that_the_dtype_has_no_place_for_is_refused() -> None:
    whole, real = dt.ones(2, dtype=dt.int64), dt.ones(2)
    square = whole.expand(2, 2)
    for call in (whole.add, whole.sub, lambda y, alpha: dt.rsub(whole, y, alpha=alpha), whole.clone().add_):
        with pytest.raises(RuntimeError, match="For integral input tensors, argument alpha must not be a floating"):
            call(whole, alpha=0.5)
        with pytest.raises(RuntimeError, match="Boolean alpha only supported"):
            call(whole, alpha=True)
    for call in (real.add, real.sub, real.clone().add_, real.clone().sub_):
        with pytest.raises(RuntimeError, match="Boolean alpha only supported"):
            call(real, alpha=True)
        with pytest.raises(RuntimeError, match="For non-complex input tensors"):
            call(real, alpha=2j)
    for name in ("alpha", "beta"):
        with pytest.raises(RuntimeError, match=f"argument {name} must not be a floating point number, got 0.5"):
            dt.addr(square, whole, whole, **{name: 0.5})
    assert whole.add(whole, alpha=3).tolist() == [4, 4] and real.add(whole, alpha=0.5).tolist() == [1.5, 1.5]
    assert real.tolist() == [1.0, 1.0] and whole.tolist() == [1, 1]


def test_a_variance_that_is_a_number_is_not_cut_off_for_integers() -> None:
    loss = dt.nn.functional.gaussian_nll_loss(dt.tensor([1, 2]), dt.tensor([1.5, 3.0]), 0.5)
    wanted = np.mean(0.5 * (np.log(0.5) + np.array([0.5, 1.0]) ** 2 / 0.5))
    assert loss.item() == pytest.approx(wanted)


def test_einsum_without_a_sum_takes_several_dtypes_as_mul_does() -> None:
    whole, real = dt.tensor([1, 2], dtype=dt.int8), dt.tensor([0.5, 1.5], requires_grad=True)
    out = dt.einsum("i,j->ij", whole, real)
    assert out.tolist() == [[0.5, 1.5], [1.0, 3.0]] and out.dtype is dt.float32
    assert dt.autograd.grad(out.sum(), real)[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="einsum: expected both tensors to have the same dtype"):
        dt.einsum("i,i->", whole, real)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("own", ["float32", "int64", "bool", "float16"])
def test_a_write_beside_another_dtype_gives_pytorchs_values_or_is_refused_as_there(own: str) -> None:
    def cast(array: np.ndarray, kind: str) -> np.ndarray:
        if array.dtype.kind in "bi":
            return array
        return array > 0 if kind == "bool" else (np.nan_to_num(array) * (1 if "f" in kind else 4)).astype(kind)

    def written(library: Any, name: str, args: tuple, kwargs: dict, kind: str) -> Any:
        first, convert = library.tensor(cast(args[0], own)), lambda a: library.tensor(cast(a, kind))
        rest = [converted(a, convert) for a in args[1:]]
        return getattr(first, name)(*rest, **{k: converted(v, convert) for k, v in kwargs.items()}).numpy()

    compared, refused, wrong = 0, 0, []
    for ident, row, sample in cases():
        name = f"{row.name}_"
        if not (sample.torch and hasattr(dt.Tensor, name) and hasattr(torch.Tensor, name)) or row.complex == "only":
            continue
        args, kwargs, _ = arrays(sample, "float32")
        if not args or not isinstance(args[0], np.ndarray):
            continue
        for kind in ("float32", "int64", "float64", "complex64", "bool", "uint8"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    theirs = written(torch, name, args, kwargs, kind)
                except Exception as error:
                    if "can't be cast" in str(error):
                        refused += 1
                        with contextlib.suppress(RuntimeError):
                            found = written(dt, name, args, kwargs, kind)
                            wrong.append(f"{ident} beside {kind}: {found} where PyTorch says {error}")
                    continue
                try:
                    ours = written(dt, name, args, kwargs, kind)
                except RuntimeError as error:
                    # PyTorch computes with bool as with numbers here and there, and addbmm_ changes a shape
                    if own != "bool" and row.name != "addbmm":
                        wrong.append(f"{ident} beside {kind}: {error}")
                    continue
            compared += 1
            if not np.allclose(ours, theirs, 2e-3, 2e-3, equal_nan=True) and row.name not in OVERFLOWS:
                wrong.append(f"{ident} beside {kind}: {ours} where PyTorch has {theirs}")
    assert not wrong, "\n".join(wrong)
    assert compared > 200 and (refused > 20 or own.startswith("float"))


NUMBERS = (2, 2.5, -3, 0.25, 300, True, float("nan"), -1, 0, 0.0)
# PyTorch's edges of bins are rounded
NO_BRIEF_NUMBERS = {"histc"}
NO_NUMBERS = {"bucketize", "searchsorted"}  # of unsigned integers: PyTorch wraps negative numbers round
AS_IN_PLACE = {"hardsigmoid", "hardswish", "mish", "relu6", "selu", "silu"}  # PyTorch's second argument is ``inplace``
SLOW = ("polynomial", "zeta", "gamma", "dropout")  # huge degrees; random numbers


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_a_number_beside_a_tensor_gives_pytorchs_values_and_dtype(kind: str) -> None:
    values = {"bool": [1, 0, 1], "bfloat16": [0.1, 0.3, -0.7]}.get(kind, [5, 7, 2])
    array = np.array(values).astype("float32" if kind == "bfloat16" else kind)
    numbers = (*NUMBERS, 0.1, 0.3, -0.7) if kind == "bfloat16" else NUMBERS
    compared, wrong = 0, []
    for row in rows():
        function = oracle(row)
        if function is None or row.name in NO_NUMBERS | AS_IN_PLACE or any(part in row.name for part in SLOW):
            continue
        for number in () if kind == "bfloat16" and row.name in NO_BRIEF_NUMBERS else numbers:
            for first in (True, False):
                made = lambda library: library.tensor(array).to(getattr(library, kind))
                call = lambda library, f: f(*(made(library), number)[:: 1 if first else -1])  # noqa: B023 - used at once
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        theirs = call(torch, function)
                    except Exception:
                        continue
                    if not torch.is_tensor(theirs) or (row.name, kind, number) == ("pow", "bool", True):
                        continue
                    what = f"{row.name}, {number} {'second' if first else 'first'}"
                    try:
                        ours = call(dt, row.function)
                    except (RuntimeError, TypeError, NotImplementedError) as error:
                        wrong.append(f"{what}: {error!r}")
                        continue
                compared += 1
                other = in_single(theirs.resolve_conj().resolve_neg())
                close = 2e-2 if kind == "bfloat16" else 2e-3
                good = str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
                if not good or not np.allclose(in_single(ours), other, close, close, equal_nan=True):
                    wrong.append(f"{what}: {ours} where PyTorch has {theirs}")
    assert not wrong, "\n".join(wrong)
    assert compared > 300


def test_a_rounded_quotient_is_not_cut_off_and_integers_are_divided_as_integers() -> None:
    x = dt.tensor([5, -7])
    for rounding in ("floor", "trunc"):
        with pytest.raises(RuntimeError, match="div_: result type .*float32 can't be cast"):
            x.div_(2.5, rounding_mode=rounding)
        with pytest.raises(RuntimeError, match="ZeroDivisionError: .* of integers by zero"):
            dt.div(x, 0, rounding_mode=rounding)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: fmod of integers by zero"):
        dt.fmod(x, dt.tensor([1, 0]))
    assert x.tolist() == [5, -7] and x._version == 0
    assert x.div_(2, rounding_mode="trunc").tolist() == [2, -3]
    large = dt.tensor([2**62 + 1, -(2**62) - 1])
    assert dt.div(large, dt.tensor([1, -1]), rounding_mode="trunc").tolist() == [2**62 + 1, 2**62 + 1]
    assert dt.div(dt.tensor([7, -7, 6, -6]), dt.tensor([-2, 2, -2, -2]), rounding_mode="trunc").tolist() == [
        -3,
        -3,
        -3,
        3,
    ]


def test_complex_values_are_not_cut_off_to_fill_real_tensors() -> None:
    x, value = dt.ones(3), dt.tensor(2 + 3j)
    for fill in (
        lambda: x.index_fill(0, dt.tensor([1]), value),
        lambda: x.index_fill_(0, dt.tensor([1]), value),
        lambda: x.masked_fill(x > 0, value),
        lambda: x.masked_fill_(x > 0, value),
    ):
        with pytest.raises(RuntimeError, match="cannot be converted to type dualtape.float32 without overflow"):
            fill()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_parts_of_complex_numbers_that_are_not_finite_are_replaced_each_for_itself() -> None:
    bad = complex(float("nan"), 2.0)
    x = dt.tensor([bad, 1 + 1j], dtype=dt.complex128, requires_grad=True)
    y = dt.nan_to_num(x, nan=7.0)
    assert y.tolist() == [7 + 2j, 1 + 1j]
    assert dt.autograd.grad(y, x, dt.ones_like(y) * (1 + 1j))[0].tolist() == [1j, 1 + 1j]
    assert dt.tensor([complex(float("inf"), -float("inf"))]).nan_to_num_(posinf=3.0, neginf=-4.0).tolist() == [3 - 4j]


def test_booleans_times_a_number_stay_booleans() -> None:
    yes, no = dt.tensor([True]), dt.tensor([False])
    found = dt.add(no, yes, alpha=2)
    assert found.dtype is dt.bool and found.tolist() == [True] and dt.add(no, yes, alpha=0).tolist() == [False]


FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
MEETINGS = (
    "a + b",
    "a * b",
    "a / b",
    "a**b",
    "L.add(a, b, alpha=2)",
    "L.dot(a, b)",
    "a * b[0]",
    "(a * b + a) * (b - a)",
    "a.to(b.dtype) * b + a.to(b.dtype)",
    "L.where(L.tensor([True, False, True]), a, b)",
    "L.stack([a, b])",
    "L.hstack([a, b, a])",
    "L.addcmul(a, a, b)",
    "L.lerp(a, b, 0.3)",
    "L.lerp(a, a, b)",
    "L.kron(a, b)",
    "L.atan2(a, b)",
    "L.hypot(a, b)",
    "L.maximum(a, b)",
    "L.clamp(a, b)",
    "L.xlogy(a, b)",
    "L.special.xlog1py(a, b - 1)",
    "L.logaddexp(a, b)",
    "L.fmod(a, b)",
    "L.float_power(a, b)",
    "L.nn.functional.mse_loss(a, b)",
    "L.nn.functional.smooth_l1_loss(a, b)",
    "(a * 1).copy_(b)",
    "(a * 1).add_(b)",
    "(a * 1).mul_(b)",
    "(a * 1).masked_scatter(b.abs() > 1, b)",
    "a.index_put((L.tensor([2, 0, 1]),), b)",
    "a.scatter(0, L.tensor([0, 2, 1]), b)",
    "L.einsum('i,j->ij', a, b)",
    "a.masked_fill(L.tensor([True, False, True]), b[0])",
)


def accumulated(library: Any, expression: str, kinds: tuple, names: tuple) -> list:
    """A result of two leaves of two dtypes, their gradients, and those gradients after two more have arrived."""
    values = ([0.5, 1.25, 2.75], [1.5, -0.75, 0.375])
    leaf = lambda v, kind: library.tensor(v, dtype=getattr(library, kind), requires_grad=True)
    one, other = (leaf(v, kind) for v, kind in zip(values, kinds, strict=True))
    run = lambda: eval(expression, {"L": library, names[0]: one, names[1]: other})
    out = run()
    out.backward(library.ones_like(out) * 0.1)
    first = [each.grad.clone() if each.grad is not None else None for each in (one, other)]
    (run().abs().sum() + (one * 3).abs().sum() + (other.to(one.dtype) * one).abs().sum()).backward()
    return [out.detach(), *first, one.grad, other.grad]


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("expression", MEETINGS)
def test_gradients_of_leaves_of_two_dtypes_are_added_in_each_ones_own(expression: str) -> None:
    wrong, compared = [], 0
    wide = lambda x, library: x.detach().to(library.complex128).numpy()
    for kinds in [(one, other) for one in FLOATS for other in FLOATS]:
        for names in ("ab", "ba"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    theirs: Any = accumulated(torch, expression, kinds, names)
                except RuntimeError as error:
                    theirs = error
                try:
                    ours: Any = accumulated(dt, expression, kinds, names)
                except RuntimeError as error:
                    ours = error
            case = f"{expression} of {kinds}, {names}"
            if isinstance(theirs, RuntimeError):
                continue  # ours may do better, or raise a RuntimeError too
            compared += 1
            if isinstance(ours, RuntimeError):
                wrong.append(f"{case}: {ours!r}")
                continue
            for a, b in zip(ours, theirs, strict=True):
                tolerance = 3e-2 if "bfloat16" in kinds else 4e-3 if "float16" in kinds else 1e-5
                if (a is None) != (b is None) or a is not None and str(a.dtype)[9:] != str(b.dtype)[6:]:
                    wrong.append(f"{case}: {a} where PyTorch has {b}")
                elif a is not None and not np.allclose(
                    wide(a, dt), wide(b, torch), tolerance, tolerance, equal_nan=True
                ):
                    wrong.append(f"{case}: {a} where PyTorch has {b}")
    assert not wrong, "\n".join(wrong)
    assert compared > 5
