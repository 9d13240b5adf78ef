"""The array API standard's namespace: its names and signatures, values and types beside NumPy's, and who uses it."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy

import dualtape as dt

xp = dt.array_api

NAMES = """
asarray arange empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and
bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal
exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10
logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow
real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc take take_along_axis matmul
matrix_transpose tensordot vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape
roll squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts
unique_inverse unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff e inf
nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 linalg fft
__array_api_version__ __array_namespace_info__
""".split()


def test_the_namespace_has_the_names_of_the_standard_and_no_others() -> None:
    assert sorted(xp.__all__) == sorted(NAMES)
    assert all(hasattr(xp, name) for name in NAMES)
    x = dt.ones(1)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="2024.12"):
        x.__array_namespace__(api_version="1999.01")
    with pytest.raises(AttributeError, match="did you mean cumulative_sum"):
        xp.cumulative_summ  # noqa: B018
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


@pytest.mark.parametrize("part", ["", "linalg", "fft"])
def test_signatures_are_those_of_the_strict_implementation(part: str) -> None:
    strict = pytest.importorskip("array_api_strict")
    theirs, ours = (getattr(strict, part), getattr(xp, part)) if part else (strict, xp)
    names = NAMES if not part else theirs.__all__
    assert not set(names) - set(dir(ours))
    for name in names:
        function = getattr(theirs, name)
        if not inspect.isfunction(function) or name == "__array_namespace_info__":
            continue
        expected, found = (
            [(p.name, p.kind, None if name in ("astype", "from_dlpack") else p.default) for p in signature]
            for signature in (inspect.signature(f).parameters.values() for f in (function, getattr(ours, name)))
        )
        assert found == expected, name


ARRAYS = {
    "f": np.array([[0.5, -1.5, 2.25], [3.0, 0.0, -0.25]]),
    "f32": np.array([[0.5, -1.5, 2.25], [3.0, 0.0, -0.25]], np.float32),
    "u": np.array([0.1, 0.4, 0.9]),
    "v": np.array([1.5, 2.0, 4.0]),
    "c": np.array([1 + 2j, -0.5j, 3.0]),
    "i": np.array([[1, -2, 3], [0, 5, -6]]),
    "n": np.array([3, 1, 2], np.int32),
    "b": np.array([True, False, True]),
    "u8": np.array([3, 250, 3], np.uint8),
    "s": np.array(2.0, np.float64),
    "m": np.array([[2.0, 0.5], [0.5, 1.0]]),
    "z": np.zeros((0, 3)),
}

UNARY = {
    "f": "abs ceil cos cosh sin sinh exp expm1 floor isfinite isinf isnan negative positive round sign signbit square tan "
    "tanh trunc logical_not real atan asinh",
    "u": "acos asin atanh log log1p log2 log10 sqrt reciprocal",
    "v": "acosh reciprocal",
    "c": "abs conj real imag sign square sqrt exp log sin cosh isfinite atan",
    "i": "abs ceil floor trunc round sign square negative positive bitwise_invert isnan isinf isfinite logical_not",
    "b": "bitwise_invert logical_not",
}
BINARY = {
    (
        "f",
        "v",
    ): "add subtract multiply divide maximum minimum hypot logaddexp atan2 copysign remainder floor_divide equal "
    "not_equal less less_equal greater greater_equal logical_and logical_or logical_xor nextafter",
    ("v", "u"): "pow",
    ("f32", "s"): "add multiply maximum pow",
    ("s", "f32"): "subtract divide less",
    ("i", "n"): "add multiply floor_divide remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
    "bitwise_right_shift maximum equal",
    ("b", "b"): "logical_and bitwise_or bitwise_xor equal",
    ("c", "v"): "add multiply divide",
    ("f32", "2.5"): "add divide maximum",
    ("2.5", "f32"): "subtract pow greater",
    ("u8", "n"): "add multiply",
    ("u8", "2"): "add multiply floor_divide",
    ("2j", "f"): "multiply",
}
REDUCTIONS = "sum prod max min mean std var all any"
if not isinstance(np.count_nonzero(np.ones(1)), int):  # an array since NumPy 2.3
    REDUCTIONS += " count_nonzero"
EXPRESSIONS = """
xp.clip(f, -1, 1), xp.clip(f, xp.asarray([0.0, 0.5, 1.0]), None), xp.clip(i, max=2), xp.clip(f, s, None)
xp.std(f, axis=0, correction=1), xp.var(f, correction=0.5), xp.sum(u8), xp.prod(n), xp.sum(b), xp.sum(f32, dtype=xp.float64)
xp.sum(i, axis=()), xp.max(s), xp.sum(s, axis=()), xp.prod(i, axis=(0, 1), keepdims=True), xp.mean(z, axis=1)
xp.cumulative_sum(n), xp.cumulative_sum(f, axis=1, include_initial=True), xp.cumulative_prod(f, axis=0), xp.cumulative_sum(u8)
xp.cumulative_prod(n, include_initial=True), xp.diff(f), xp.diff(f, axis=0), xp.diff(v, n=2, prepend=u)
xp.argmax(f), xp.argmin(f, axis=1), xp.argmax(i, axis=0, keepdims=True), xp.argmin(i, keepdims=True)
xp.sort(f, axis=0), xp.sort(n, descending=True), xp.argsort(n), xp.argsort(f, axis=0, descending=True)
xp.nonzero(i), xp.searchsorted(v, u), xp.searchsorted(n, n, sorter=xp.argsort(n), side="right")
xp.where(f > 0, f, 0.0), xp.where(b, n, 0), xp.where(b, f32, s), xp.where(b, 1.5, v)
xp.unique_all(u8), xp.unique_counts(i), xp.unique_inverse(i), xp.sort(xp.unique_values(u8))
xp.take(f, n - 1, axis=1), xp.take(v, xp.asarray([-1, 0])), xp.take_along_axis(f, xp.argsort(f)), xp.take_along_axis(f, xp.asarray([[1, -1, 0]]), axis=0)
xp.broadcast_arrays(f, v), xp.broadcast_to(v, (2, 3)), xp.concat([f, f32]), xp.concat([f, v], axis=None), xp.concat([n, u8])
xp.expand_dims(f, axis=-1), xp.flip(f), xp.flip(f, axis=1), xp.flip(f, axis=(0, 1)), xp.moveaxis(f, 0, 1), xp.permute_dims(f, (1, 0))
xp.repeat(f, 2), xp.repeat(f, 2, axis=0), xp.repeat(v, xp.asarray([1, 0, 2])), xp.reshape(f, (3, 2)), xp.reshape(f, (-1,), copy=True)
xp.roll(f, 1), xp.roll(f, 1, axis=1), xp.roll(f, (1, 2), axis=(0, 1)), xp.roll(f, 1, axis=(0, 1)), xp.squeeze(f[:1], axis=0)
xp.stack([v, u]), xp.stack([v, u], axis=-1), xp.stack([s, f32[0, 0]]), xp.tile(f, (2, 1)), xp.tile(v, (2, 2)), xp.unstack(f, axis=1)
xp.asarray([1, 2]), xp.asarray(True), xp.asarray([[1.0]], dtype=xp.float64), xp.asarray(f, dtype=xp.float32), xp.asarray(2j)[...] * 1j
xp.arange(5), xp.arange(2, 9, 3), xp.arange(3, 1), xp.arange(0.0, 1.0, 0.25, dtype=xp.float64), xp.arange(5, 0, -2)
xp.eye(3, dtype=xp.float64), xp.eye(2, 4, k=2, dtype=xp.int8), xp.eye(2, k=-5, dtype=xp.int8), xp.full((2,), 3), xp.full(2, True), xp.full_like(f, 2)
xp.linspace(0, 1, 5, dtype=xp.float64), xp.linspace(0, 1, 4, endpoint=False, dtype=xp.float64), xp.linspace(0, 1j, 3, dtype=xp.complex128)
xp.meshgrid(v, n), xp.meshgrid(v, n, indexing="ij"), xp.ones(2, dtype=xp.int16), xp.ones_like(f), xp.zeros((2, 1), dtype=xp.bool), xp.zeros_like(n)
xp.tril(f), xp.triu(f, k=1), xp.astype(f, xp.int64), xp.astype(n, xp.complex64), xp.astype(f, xp.bool), xp.astype(f, xp.float64, copy=False)
xp.matmul(m, m), xp.matmul(m, f32[:, :2]), xp.tensordot(f, f, axes=((0, 1), (0, 1))), xp.tensordot(f, m, axes=((0,), (1,))), xp.vecdot(f, v), xp.vecdot(c, c), xp.vecdot(f, f, axis=0), xp.matrix_transpose(f)
xp.linalg.cholesky(m), xp.linalg.cholesky(m, upper=True), xp.linalg.cross(v, u), xp.linalg.det(m), xp.linalg.diagonal(f, offset=1), xp.linalg.eigvalsh(m), xp.linalg.inv(m)
xp.linalg.matrix_norm(m), xp.linalg.matrix_norm(m, ord="nuc", keepdims=True), xp.linalg.matrix_power(m, 3), xp.linalg.matrix_power(m, -1), xp.linalg.matrix_rank(m), xp.linalg.matrix_rank(m, rtol=0.9)
xp.linalg.outer(v, u), xp.linalg.pinv(f), xp.linalg.pinv(f, rtol=0.5), xp.linalg.slogdet(m), xp.linalg.solve(m, m), xp.linalg.solve(m, v[:2]), xp.linalg.solve(xp.stack([m, m]), m), xp.linalg.solve(xp.stack([m, m]), v[:2])
xp.linalg.svdvals(f), xp.linalg.trace(f), xp.linalg.trace(i, offset=1), xp.linalg.trace(xp.asarray(u8[None, :])), xp.linalg.vector_norm(f), xp.linalg.vector_norm(f, axis=1, keepdims=True, ord=1), xp.linalg.vector_norm(f, ord=xp.inf)
xp.abs(xp.linalg.qr(f)[1]), [p.shape for p in xp.linalg.svd(f)], xp.linalg.svd(f, full_matrices=False)[1], xp.linalg.eigh(m).eigenvalues, xp.linalg.eigh(m)[1] ** 2, xp.linalg.qr(f, mode="complete")[0].shape
xp.fft.fft(c), xp.fft.ifft(c, n=4), xp.fft.fftn(c), xp.fft.ifftn(c, s=(2,), axes=(0,)), xp.fft.rfft(f, axis=0), xp.fft.irfft(c, n=5), xp.fft.rfftn(f), xp.fft.irfftn(c, axes=(0,)), xp.fft.hfft(c), xp.fft.ihfft(v, norm="ortho")
xp.fft.fftshift(f), xp.fft.ifftshift(f, axes=(1,)), xp.fft.fftfreq(5, d=0.5) * 1.0, xp.fft.rfftfreq(5) * 1.0
xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.int16, xp.int8), xp.isdtype(xp.int8, "integral"), xp.isdtype(xp.float32, ("bool", xp.float32)), xp.isdtype(xp.bool, "numeric")
xp.iinfo(xp.int16).max, float(xp.finfo(xp.float32).eps), xp.finfo(xp.complex128).bits, float(xp.finfo(xp.float64).smallest_normal), xp.e, xp.pi, xp.inf, xp.newaxis
xp.result_type(f32, s), xp.result_type(xp.uint32, xp.int8), xp.result_type(xp.uint16, n), xp.result_type(xp.int8, xp.uint8), xp.result_type(f32, 1.0), xp.result_type(n, 2), xp.result_type(xp.float32, xp.complex64)
"""


def cases() -> list[str]:
    found = [f"xp.{name}({a})" for a, names in UNARY.items() for name in names.split()]
    found += [f"xp.{name}({a}, {b})" for (a, b), names in BINARY.items() for name in names.split()]
    for name in REDUCTIONS.split():
        found += [
            f"xp.{name}(f, axis={axis}, keepdims={keep})" for axis in (None, 0, -1, (0, 1)) for keep in (False, True)
        ]
    return found + EXPRESSIONS.strip().splitlines()


def plain(value: object) -> object:
    """Values in which a tensor, an array and a type of either are the same."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, (np.dtype, dt.dtype)) or (isinstance(value, type) and issubclass(value, np.generic)):
        return value.name if isinstance(value, dt.dtype) else np.dtype(value).name
    if isinstance(value, (dt.Tensor, np.ndarray, np.generic)):
        array = value.numpy() if isinstance(value, dt.Tensor) else value
        exact = array.dtype.kind not in "fc"
        return [
            array.dtype.name,
            array.shape,
            array.tolist() if exact else np.asarray(np.round(array, 5) + 0.0).tolist(),
        ]
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("code", cases())
def test_values_and_types_are_numpys(code: str) -> None:
    before = dt.get_default_dtype()
    dt.set_default_dtype(dt.float64)  # NumPy's
    try:
        ours = eval(code, {"xp": xp, **{name: dt.asarray(a.copy()) for name, a in ARRAYS.items()}})
    finally:
        dt.set_default_dtype(before)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if ", descending" in code or "xp.argsort(f" in code:
            strict = pytest.importorskip("array_api_strict")  # NumPy's sort has no descending
            theirs = eval(code, {"xp": strict, **{name: strict.asarray(a) for name, a in ARRAYS.items()}})
            theirs = tuple(np.asarray(x) for x in theirs)
        else:
            theirs = eval(code, {"xp": np, **ARRAYS})
    assert repr(plain(ours)).replace("nan", "n") == repr(plain(theirs)).replace("nan", "n")


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("xp.add(1, 2)", TypeError, "at least one array"),
        ("xp.astype(xp.asarray([1j]), xp.float32)", TypeError, "real"),
        ("xp.isdtype(xp.int8, 'number')", ValueError, "kind"),
        ("xp.squeeze(xp.ones((2, 1)), 0)", ValueError, "size 1"),
        ("xp.take(xp.ones((2, 1)), xp.asarray([0]))", ValueError, "axis"),
        ("xp.cumulative_sum(xp.ones((2, 1)))", ValueError, "axis"),
        ("xp.nonzero(xp.asarray(1))", ValueError, "0-d"),
        ("xp.reshape(xp.ones((2, 3)).mT, (6,), copy=False)", ValueError, "copy=False"),
        ("xp.asarray([xp.ones(1)], copy=False)", ValueError, "copy=False"),
        ("xp.vecdot(xp.ones((2, 3)), xp.ones(1))", ValueError, "one length"),
        ("xp.result_type(xp.uint64, xp.int8)", TypeError, "integer type in common"),
        ("xp.result_type()", ValueError, "at least one"),
    ],
)
def test_what_the_standard_forbids_is_refused(code: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        eval(code, {"xp": xp})


def test_what_is_computed_with_the_namespace_can_be_differentiated() -> None:
    x = dt.tensor([0.5, 2.0, 1.0], dtype=dt.float64, requires_grad=True)

    def loss(x: dt.Tensor) -> dt.Tensor:
        y = xp.concat([xp.clip(x, 0, 1.5), xp.cumulative_sum(x, include_initial=True)])
        y = xp.where(y > 1, xp.pow(y, 2.5), xp.multiply(3.0, y)) + xp.max(x) * xp.std(x)
        y = xp.stack([xp.take(y, xp.asarray([1, -1])), xp.asarray([x[0], xp.vecdot(x, x)])])
        return xp.sum(xp.abs(xp.fft.rfft(y))) + xp.prod(x) + xp.linalg.vector_norm(xp.tensordot(x, x, axes=0))

    assert dt.autograd.gradcheck(loss, x)
    assert x.__array_namespace__().asarray(x) is x


def test_the_namespace_tells_what_there_is() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() == dt.device("cpu")
    assert info.default_dtypes()["real floating"] is xp.ones(1).dtype
    assert info.default_dtypes()["complex floating"] == dt.complex64
    assert (
        set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
        and len(info.dtypes()) == 13
    )
    assert xp.ones(1).device in info.devices()


SCIPY = """
import warnings, numpy as np, scipy, dualtape as dt
from scipy import cluster, constants, differentiate, integrate, ndimage, optimize, signal, spatial, special, stats
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
arrays = {"x": rng.random((4, 6)), "y": rng.random(6), "w": rng.random(6), "k": np.arange(1.0, 7.0), "m": rng.random((6, 6))}
for code in CASES.strip().splitlines():
    moving = not code.startswith("#")
    code = code.lstrip("# ")
    tensors = {n: dt.tensor(a, requires_grad=moving) for n, a in arrays.items()}
    def flat(result):
        return [r for r in (result if isinstance(result, (tuple, list)) else [result])]
    theirs = flat(eval(code, {**globals(), **arrays}))
    try:
        ours = flat(eval(code, {**globals(), **tensors}))
        assert all(isinstance(r, dt.Tensor) for r in ours), f"gave {[type(r).__name__ for r in ours]}"
        for a, b in zip(ours, theirs, strict=True):
            assert np.allclose(a.detach().numpy(), b, equal_nan=True), f"gave {a}, not {b}"
        if moving:
            assert any(r.requires_grad for r in ours), "has no history"
            used = [t for n, t in tensors.items() if any(p.requires_grad for p in ours)]
            grads = dt.autograd.grad(sum(r.sum() for r in ours if r.requires_grad), used, allow_unused=True)
            assert any(g is not None and g.abs().sum() > 0 for g in grads), "moves nothing"
    except Exception as error:
        print(f"{code}: {type(error).__name__}: {str(error)[:200]}")
"""
SCIPY_CASES = """
special.gammaln(k)
special.expit(x)
special.i0e(y)
special.xlogy(y, w)
special.logsumexp(x, axis=1)
special.softmax(x, axis=0)
special.log_softmax(x)
special.betainc(2.0, 3.0, y)
special.ndtr(x)
special.stdtr(2.0, y)
special.rel_entr(y, w)
stats.zscore(x, axis=1)
stats.skew(x, axis=1)
stats.kurtosis(x)
stats.moment(y, 3)
stats.gmean(x, axis=1)
stats.hmean(y)
stats.pmean(y, 2)
stats.variation(x)
stats.entropy(y)
stats.ttest_1samp(y, 0.5).statistic
stats.ttest_ind(y, w).pvalue
stats.pearsonr(y, w).statistic
stats.sem(y)
stats.differential_entropy(y)
stats.tmean(y)
stats.circmean(y)
stats.gstd(y)
stats.directional_stats(x).mean_direction
signal.fftconvolve(y, w)
signal.hilbert(y).real
signal.freqz(y, w, worN=4)[1].real
integrate.trapezoid(y, k)
integrate.cumulative_simpson(y, x=k)
integrate.cumulative_trapezoid(y, k)
scipy.fft.fft(y).real
scipy.fft.rfft(y).real
scipy.fft.irfft(scipy.fft.rfft(y))
"""


def run_alone(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


@pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 16), reason="SciPy before 1.16 converts to NumPy's arrays"
)
def test_functions_of_scipy_run_on_tensors_and_are_differentiated() -> None:
    assert run_alone(f"CASES = {SCIPY_CASES!r}\n{SCIPY}", SCIPY_ARRAY_API="1") == ""


SKLEARN = """
import os, numpy as np, dualtape as dt, sklearn
from sklearn import decomposition, metrics, preprocessing
from sklearn.linear_model import Ridge
rng = np.random.default_rng(0)
arrays = {"X": rng.random((12, 4)), "Y": rng.random((12, 4)), "t": np.arange(12) % 3, "p": np.arange(12) * 5 % 3}
plain = {name: eval(code, {**globals(), **arrays}) for name, code in enumerate(CASES.strip().splitlines())}
sklearn.set_config(array_api_dispatch=True)
for name, code in enumerate(CASES.strip().splitlines()):
    moving = "fit" not in code or "transform" in code and "PCA" not in code
    tensors = {n: dt.tensor(a, requires_grad=moving and a.dtype.kind == "f") for n, a in arrays.items()}
    result = eval(code, {**globals(), **tensors})
    assert np.allclose(np.abs(dt.asarray(result).detach().numpy()), np.abs(plain[name])), code
    if isinstance(result, dt.Tensor) and moving and result.is_floating_point():
        assert result.requires_grad, code
"""
SKLEARN_CASES = """
metrics.mean_squared_error(X, Y)
metrics.accuracy_score(t, p)
metrics.confusion_matrix(t, p)
metrics.pairwise.euclidean_distances(X, Y)
metrics.pairwise.rbf_kernel(X, Y)
preprocessing.StandardScaler().fit_transform(X)
preprocessing.MinMaxScaler().fit_transform(X)
preprocessing.normalize(X)
decomposition.PCA(2, svd_solver="full").fit_transform(X)
Ridge(solver="svd").fit(X, Y[:, 0]).coef_
"""


def test_functions_of_scikit_learn_run_on_tensors() -> None:
    pytest.importorskip("sklearn")
    assert run_alone(f"CASES = {SKLEARN_CASES!r}\n{SKLEARN}", SCIPY_ARRAY_API="1") == ""


VALUES_OF = {
    "float64": [0.0, -0.0, 1.0, -1.5, 7.0, np.inf, -np.inf, np.nan],
    "int8": [0, 1, -1, 7, -7, 127, -128],
    "int64": [0, 1, -1, 7, 2**62, -(2**63)],
    "uint64": [0, 1, 7, 2**64 - 1, 2**63],
}
ON_PAIRS = {  # of these dtypes, as NumPy
    "floor_divide": ["float64 float64", "int8 int8", "int64 int64"],
    "bitwise_left_shift": ["int8 int8", "int64 int64", "uint64 uint64"],
    "bitwise_right_shift": ["int8 int8", "int64 int64", "uint64 uint64"],
    **{
        name: ["float64 float64", "int8 int8", "uint64 int64", "int64 uint64", "int8 uint64"]
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
}


@pytest.mark.parametrize("name", ON_PAIRS)
def test_functions_of_special_values_and_mixed_signedness_are_numpys(name: str) -> None:
    xp = dt.array_api
    for pair in ON_PAIRS[name]:
        first, second = (np.array(VALUES_OF[kind], kind) for kind in pair.split())
        if "shift" in name:
            second = second[second <= 127] if second.dtype.kind == "u" else second[(second >= 0) & (second <= 127)]
        a, b = np.broadcast_arrays(first[:, None], second[None])
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(a, b)
        found = getattr(xp, name)(dt.asarray(a.copy()), dt.asarray(b.copy()))
        np.testing.assert_array_equal(found.numpy(), expected, err_msg=pair)


def test_sign_unique_can_cast_and_products_follow_the_standard() -> None:
    xp = dt.array_api
    np.testing.assert_array_equal(xp.sign(dt.tensor([-2.0, -0.0, np.nan])).numpy(), [-1.0, 0.0, np.nan])
    np.testing.assert_allclose(xp.sign(dt.tensor([3 + 4j, 0j])).numpy(), [0.6 + 0.8j, 0], rtol=1e-6)
    z = np.array([1 + 1j, 1j, 1 + 1j])
    found = xp.unique_all(dt.asarray(z))
    for mine, theirs in zip(found, np.unique_all(z), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)
    assert not xp.can_cast(dt.int64, dt.uint64) and xp.can_cast(dt.uint8, dt.int16)
    a, b = np.arange(12.0).reshape(4, 3), np.array([1.0, 2.0, 0.5])
    np.testing.assert_allclose(xp.linalg.cross(dt.asarray(a), dt.asarray(b)).numpy(), np.cross(a, b))
    np.testing.assert_allclose(xp.vecdot(dt.asarray(a), dt.asarray(b)).numpy(), a @ b)
    np.testing.assert_allclose(xp.linalg.vecdot(dt.asarray(b), dt.asarray(a)).numpy(), a @ b)
