"""Native programs: their mathematics to the last place, their memory, their cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.pytree import tree_leaves

pytest.importorskip("llvmlite")
from dualtape.compiler.native.program import Program  # noqa: E402
from dualtape.compiler.native.schedule import repetitions  # noqa: E402

EXTENDED = np.finfo(np.longdouble).nmant > 60  # a type that double precision can be measured by


def program_of(compiled: Any) -> Program:
    (specializations,) = compiled._specializations.values()
    assert isinstance(specializations[0].forward, Program), specializations[0].facts
    return specializations[0].forward


def native(function: Callable, *args: Any) -> Any:
    """The result of the native program, traced with other values."""
    compiled = dt.compile(function, backend="native", fullgraph=True)
    compiled(*[a * 0 + 1 if a.is_floating_point() else a for a in args])
    program_of(compiled)
    return compiled(*args)


def arguments(dtype: str, low: float, high: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        info.tiny,
        -info.tiny,
        info.tiny / 8,
        info.max,
        -info.max,
        1,
        -1,
        info.eps,
        -info.eps,
        0.625,
        -0.625,
        0.5,
        2,
    ]
    even = rng.uniform(low, high, 40000)
    every = 10 ** rng.uniform(np.log10(info.tiny), np.log10(info.max) / 2, 40000) * rng.choice([-1, 1], 40000)
    quarters = np.arange(-2000, 2000) * (np.pi / 2)
    with np.errstate(over="ignore"):
        return np.concatenate([np.array(special), even, every, quarters]).astype(dtype)


@pytest.mark.skipif(not EXTENDED, reason="no type of more than double precision")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("name", "low", "high", "allowed"),
    [
        ("exp", -120, 100, 2),
        ("log", 0, 10, 2),
        ("tanh", -20, 20, 2),
        ("sin", -1e4, 1e4, 2),
        ("cos", -1e4, 1e4, 2),
        ("expm1", -10, 10, 2),
        ("log1p", -1, 10, 2),
        ("tan", -10, 10, 2),
        ("sinh", -10, 10, 2.5),
        ("cosh", -10, 10, 2),
        ("arctan", -10, 10, 2),
        ("arcsin", -1, 1, 2),
        ("arccos", -1, 1, 2),
        ("exp2", -10, 10, 2),
        ("log2", 0, 10, 2),
        ("log10", 0, 10, 2),
        ("sqrt", 0, 10, 0.5),
    ],
)
def test_functions_are_right_to_two_units_in_the_last_place(
    name: str, low: float, high: float, allowed: float, dtype: str
) -> None:
    x = arguments(dtype, low, high)
    x = np.abs(x) if name.startswith("log") and name != "log1p" or name == "sqrt" else x
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.longdouble))
        rounded = exact.astype(dtype)
        found = native(lambda t: getattr(np, name)(t), dt.tensor(x)).numpy()
        assert np.array_equal(np.isnan(found), np.isnan(rounded))
        different = (found != rounded) & ~np.isnan(found)
        off = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    assert not np.isinf(found[different]).any() or np.isinf(rounded[different & np.isinf(found)]).all()
    assert off[different].max(initial=0) <= allowed, x[different][off[different].argmax()]
    zeros = rounded == 0
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(rounded[zeros]))


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_arithmetic_is_numpys_to_the_last_bit(dtype: Any) -> None:
    x, y = (dt.tensor(arguments("f8", -10, 10)[:2000]).to(dtype) for _ in range(2))
    y = y.flip(0)
    programs: list[Callable] = [
        lambda x, y: x * y + x / y - y * 3,
        lambda x, y: dt.maximum(x, y) * dt.minimum(x, y),
        lambda x, y: dt.where(x > y, x, y) + (x == y),
        lambda x, y: x.abs() + y.sign() - x.floor() + y.round(),
        lambda x, y: (x / 4, x / 3, 1 / y, x**2, -x, x % 1),
        lambda x, y: (x.isnan(), x.isinf(), x <= y, ~(x > y), (x > 0) & (y > 0), (x != y).sum()),
        lambda x, y: dt.fmax(x, y) - dt.fmin(y, x),
        lambda x, y: dt.copysign(x, y),
    ]
    for program in programs:
        compiled = dt.compile(program, backend="native", fullgraph=True)
        compiled(x * 0, y * 0 + 1)
        ours, theirs = compiled(x, y), program(x, y)
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, theirs)], strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes() or np.array_equal(a.numpy(), b.numpy(), equal_nan=True)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 1000, 1025, 4099])
def test_every_length_and_layout_is_computed_and_nothing_beside_it(n: int) -> None:
    rng = np.random.default_rng(n)
    around = dt.tensor(rng.standard_normal(3 * n + 6))
    whole = around.clone()
    views = [around[3 : n + 3], around[: 2 * n : 2], around[: 3 * n].view(3, n).t(), around[: 3 * n].view(n, 3)]

    def program(*views: Any) -> Any:
        total = sum(v.exp().sum() for v in views)
        return [v * 2 + total for v in views], [v.sum(0) for v in views], [v.max() for v in views]

    compiled = dt.compile(program, backend="native", fullgraph=True)
    compiled(*views)
    ours, theirs = compiled(*views), program(*views)
    for one, other in zip(ours, theirs, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-12)
            assert a.stride() == b.stride()
    assert dt.equal(around, whole)


def test_writes_reach_exactly_their_region() -> None:
    def program(x: Any, y: Any) -> Any:
        z = x.clone()
        z[1:-1, ::2] = y * 2
        z[0] += z[1]
        z[:, 3] = z[:, 2]
        z[2:4, 1:3] *= z[0:2, 1:3]
        z[1:] = z[:-1].clone()
        x.add_(z)
        x[0, 0] = 7
        return z.sum(), z

    compiled = dt.compile(program, backend="native", fullgraph=True)
    for shape in ((5, 6), (20, 40), (6, 9)):
        for seed in range(3):
            dt.manual_seed(seed)
            x = dt.randn(shape, dtype=dt.float64)
            y = dt.randn(shape[0] - 2, (shape[1] + 1) // 2, dtype=dt.float64)
            around = dt.zeros(shape[0] * shape[1] + 8, dtype=dt.float64)
            inside = around[4:-4].view(shape)
            inside.copy_(x)
            ours, theirs = compiled(inside, y), program(x, y)
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-12)
            np.testing.assert_allclose(inside.numpy(), x.numpy(), 1e-12)
            assert not around[:4].any() and not around[-4:].any()


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
@pytest.mark.parametrize(
    "sizes",
    [
        (1, 1, 1),
        (2, 3, 4),
        (5, 1, 7),
        (1, 9, 1),
        (8, 16, 8),
        (33, 17, 5),
        (40, 40, 40),
        (70, 80, 90),
        (3, 200, 1),
        (200, 3, 1),
    ],
)
def test_products_of_all_sizes_and_layouts(sizes: tuple[int, int, int], dtype: Any) -> None:
    m, k, n = sizes
    dt.manual_seed(0)
    a, b = dt.randn(m, k, dtype=dtype), dt.randn(k, n, dtype=dtype)
    c = dt.randn(2, 3, m, k, dtype=dtype)

    def program(a: Any, at: Any, b: Any, bt: Any, c: Any) -> Any:
        return a @ b, at.t() @ b, a @ bt.t(), at.t() @ bt.t(), a @ b[:, 0], a[0] @ b, c @ b, a[0] @ b[:, 0]

    args = (a, a.t().contiguous(), b, b.t().contiguous(), c)
    compiled = dt.compile(program, backend="native", fullgraph=True)
    compiled(*args)
    tolerance = 1e-5 if dtype == dt.float32 else 1e-12
    for ours, theirs in zip(compiled(*args), program(*args), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), tolerance, tolerance * k)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
@pytest.mark.parametrize(
    "sizes",
    [
        (64, 64, 64),
        (70, 100, 33),
        (65, 1024, 40),
        (9, 300, 97),
        (200, 257, 129),
        (40, 1025, 40),
        (300, 290, 310),
        (7, 200, 200),
    ],
)
def test_large_products_in_blocks(
    sizes: tuple[int, int, int], dtype: Any, monkeypatch: pytest.MonkeyPatch, threads: Any
) -> None:
    from dualtape.compiler.native import schedule

    monkeypatch.setattr(schedule, "takes_blocks", lambda: True)
    m, k, n = sizes
    rng = np.random.default_rng(0)
    a, b, c = (dt.tensor(rng.random(s), dtype=dtype) for s in ((m, k), (k, n), (2, 3, m, k)))

    def program(a: Any, at: Any, b: Any, bt: Any, c: Any) -> Any:
        return a @ b, at.t() @ b, a @ bt.t(), at.t() @ bt.t(), c @ b, a[::2] @ b[:, 1:], a.flip(0) @ b

    args = (a, a.t().contiguous(), b, b.t().contiguous(), c)
    compiled = dt.compile(program, backend="native", fullgraph=True)
    compiled(*args)
    exact = program(*[each.double() for each in args])
    for count in (1, 3):
        threads(count)
        for ours, theirs in zip(compiled(*args), exact, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 2e-6 if dtype == dt.float32 else 3e-15)


def test_long_sums_are_as_exact_as_eager_ones() -> None:
    for n in (10**4, 10**6):
        for dtype in (dt.float32, dt.float64):
            x = dt.full((n,), 0.1, dtype=dtype)
            exact = np.longdouble(x[0].item()) * n
            unit = np.spacing(np.asarray(exact, x.numpy().dtype))
            assert abs(native(lambda x: x.sum(), x).item() - exact) <= 2 * unit
            columns = native(lambda x: x.sum(0), x.view(-1, 10).clone()).numpy()
            allowed = 2 if dtype == dt.float32 else 1e4  # as rows are added one by one in double precision
            assert (abs(columns - exact / 10) <= allowed * unit).all()


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize(
    "shape",
    [(500_000, 4), (9_973, 10), (20_000, 100), (1000, 1000), (1024, 1024), (4, 500_000), (300, 7, 300), (3, 3001)],
)
def test_sums_of_everything_are_exact_whatever_else_their_loop_computes(shape: tuple, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, row = (dt.tensor(rng.random(s), dtype=dtype) for s in (shape, shape[-1:]))
    product = (x * row).numpy().astype(np.longdouble)
    found = native(lambda x, row: ((x * row).sum(), (x * row).max(), (x * row).sum(0)), x, row)
    exact = product.sum()
    assert abs(found[0].item() - exact) <= 2 * np.spacing(np.asarray(exact, x.numpy().dtype))
    assert found[1].item() == float(product.max())
    np.testing.assert_allclose(found[2].numpy(), product.sum(0).astype(float), 1e-5 if dtype is dt.float32 else 1e-12)


@pytest.mark.filterwarnings("ignore:set_num_threads has no effect on products")
def test_a_sum_is_the_same_whatever_the_number_of_threads() -> None:
    x = dt.tensor(np.random.default_rng(0).standard_normal((1500, 1100)), dtype=dt.float32)
    compiled = dt.compile(lambda x: ((x * 2).tanh().sum(), x.exp().mean(), x.amin()), fullgraph=True)
    traced = [t.item() for t in compiled(x)]
    before, found = dt.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            dt.set_num_threads(threads)
            found.append([t.item() for t in compiled(x)])
    finally:
        dt.set_num_threads(before)
    assert found[0] == found[1] == found[2] == [t.item() for t in compiled(x)]
    np.testing.assert_allclose(found[0], traced, 1e-6)


def test_a_stream_that_repeats_itself_is_cut_at_its_periods() -> None:
    period = list(range(60))
    cuts = repetitions([-1, -2, *period * 20, -3], 160)
    assert len(cuts) >= 20 and {b - a for a, b in zip(cuts, cuts[1:], strict=False)} == {60}
    assert repetitions(list(range(1000)), 160) == []

    def loop(x: Any) -> Any:
        y = x
        for _ in range(200):
            y = (y * 1.01 + x).tanh() * 0.9 - y.sin() * 0.1
        return y

    compiled = dt.compile(loop, backend="native", fullgraph=True)
    x = dt.randn(9, dtype=dt.float64)
    compiled(x)
    program = program_of(compiled)
    assert program.facts["kernels"] <= 6 and program.facts["clusters"] > 5
    np.testing.assert_allclose(compiled(x).numpy(), loop(x).numpy(), 1e-10)


def test_memory_is_used_again() -> None:
    def chain(x: Any) -> Any:
        for _ in range(50):
            x = (x * 2).flip(0).roll(1) - x.sum()
        return x

    compiled = dt.compile(chain, backend="native", fullgraph=True)
    x = dt.randn(10000)
    compiled(x)
    assert program_of(compiled).facts["arena"] < 12 * x.nbytes


SCRIPT = """
import time, warnings
import dualtape as dt
from dualtape.pytree import tree_leaves
x = dt.ones(20)
compiled = dt.compile(lambda x: (x.exp() * 2).sum().log(), fullgraph=True)
compiled(x)
print(compiled(x * 3).item())
"""


def run_script(folder: Path, **more: str) -> str:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "DUALTAPE_CACHE": "1", **more}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_code_is_kept_on_disk_and_what_is_broken_there_is_not_read(tmp_path: Path) -> None:
    expected = f"{dt.log((dt.ones(20) * 3).exp().mul(2).sum()).item():.4f}"
    shown = lambda out: f"{float(out):.4f}"
    assert shown(run_script(tmp_path)) == expected
    folder = tmp_path / "dualtape" / "kernels"
    entries = sorted(folder.iterdir())
    assert len(entries) >= 2 and folder.stat().st_mode & 0o077 == 0
    times = {entry: entry.stat().st_mtime_ns for entry in entries}
    assert shown(run_script(tmp_path)) == expected
    assert {entry: entry.stat().st_mtime_ns for entry in folder.iterdir()} == times  # nothing was compiled again
    for entry, content in zip(entries, (b"", b"nonsense", entries[0].read_bytes()[:-9]), strict=False):
        entry.write_bytes(content)
    assert shown(run_script(tmp_path)) == expected
    (tmp_path / "off").mkdir()
    assert shown(run_script(tmp_path / "off", DUALTAPE_CACHE="0")) == expected
    assert not list((tmp_path / "off").iterdir())


def test_without_llvm_programs_run_over_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from dualtape.compiler import backends

    monkeypatch.setattr(backends, "_has_llvm", lambda: False)
    compiled = dt.compile(lambda x: x * 2)
    assert compiled(dt.ones(2)).tolist() == compiled(dt.ones(2)).tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match="llvmlite"):
        dt.compile(lambda x: x * 2, backend="native")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_are_right_also_at_their_edges(dtype: str) -> None:
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 1e-40, 1e30]
    x, y = (np.array(edges, dtype) for _ in range(2))
    x, y = (a.ravel() for a in np.meshgrid(x, y))
    x = np.concatenate([x, np.exp(rng.uniform(-20, 20, 20000))]).astype(dtype)
    y = np.concatenate([y, rng.uniform(-3, 3, 20000)]).astype(dtype)
    wide = np.float64 if dtype == "f4" else np.longdouble
    with np.errstate(all="ignore"):
        exact = x.astype(wide) ** y.astype(wide)
        rounded = exact.astype(dtype)
        found = native(lambda x, y: x**y, dt.tensor(x), dt.tensor(y)).numpy()
        assert np.array_equal(np.isnan(found), np.isnan(rounded))
        assert np.array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(rounded[~np.isnan(found)]))
        different = (found != rounded) & ~np.isnan(found)
        off = np.abs(found.astype(wide) - exact) / np.spacing(np.abs(rounded)).astype(wide)
    assert off[different].max(initial=0) <= 2


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_error_function_is_right_to_two_units_in_the_last_place(dtype: str) -> None:
    import scipy.special

    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, 0.86, 1.0, 4.0, 6.5, 1e30, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny / 8]
    spread = 10 ** rng.uniform(-44, 0, 20000) * rng.choice([-1, 1], 20000)
    x = np.concatenate([edges, rng.uniform(-7, 7, 40000), spread]).astype(dtype)
    found = native(lambda x: x.erf(), dt.tensor(x)).numpy()
    reference = scipy.special.erf(x.astype("f8"))
    off = np.abs(found - reference) / np.spacing(np.abs(reference).astype(dtype))
    assert np.nanmax(off) <= (2 if dtype == "f4" else 4)  # SciPy itself is off by as much in double precision
    assert np.array_equal(np.isnan(found), np.isnan(reference))
    assert np.array_equal(np.signbit(found[:10]), np.signbit(reference[:10]))
    if dtype == "f8":
        mpmath = pytest.importorskip("mpmath")
        with mpmath.workprec(100):
            exact = [mpmath.erf(mpmath.mpf(float(v))) for v in x[11:2000]]
            close = [
                abs(mpmath.mpf(float(a)) - e) / float(np.spacing(abs(float(e))))
                for a, e in zip(found[11:2000], exact, strict=True)
            ]
        assert max(close) <= 2


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_exponentials_are_the_same_where_there_is_no_instruction_for_powers_of_two(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dualtape.compiler.native import maths, program

    x = dt.tensor(arguments(dtype, -120 if dtype == "f4" else -760, 100 if dtype == "f4" else 720))
    first = native(lambda x: x.exp(), x).numpy()
    monkeypatch.setattr(maths, "scales_vectors", lambda: False)
    monkeypatch.setattr(program, "_known", {})
    second = native(lambda x: x.exp() + 0, x).numpy()
    assert np.array_equal(first, second, equal_nan=True)


# --- threads --------------------------------------------------------------------------------------

SHARED = {
    "elementwise": lambda x: (x.sin() * x.exp()).tanh(),
    "rows": lambda x: dt.softmax(x * 2, 1),
    "columns": lambda x: x.t() * 2 + x.t().sin(),
    "sums of rows": lambda x: (x * x).sin().sum(1),
    "sums of columns": lambda x: (x * x).sin().sum(0),
    "a sum": lambda x: (x * x).sin().sum(),
    "a write": lambda x: (x.clone().mul_(2).sin_())[1:] + x[:-1],
    "types": lambda x: ((x > 0).double() * 2).sqrt() + (x * 8).round(),
}


@pytest.fixture
def threads():
    from dualtape.compiler.native import threads

    before = threads.wanted()
    yield threads.set_threads
    threads.set_threads(before)


@pytest.mark.parametrize("shape", [(601, 503), (2, 200_001), (300_000, 1)])
@pytest.mark.parametrize("name", SHARED)
def test_threads_that_share_a_kernel_change_no_result(name, shape, threads):
    x = dt.randn(*shape, generator=dt.Generator().manual_seed(0))
    compiled = dt.compile(SHARED[name])
    threads(1)
    compiled(x)
    alone = compiled(x)
    dt.testing.assert_close(alone, SHARED[name](x), rtol=1e-5, atol=1e-5)
    for count in (2, 3, 7):
        threads(count)
        for _ in range(3):
            assert dt.equal(compiled(x), alone)


def test_threads_are_there_in_a_child_of_the_process_and_for_several_callers(threads):
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    import warnings
    from concurrent.futures import ThreadPoolExecutor

    x = dt.randn(700, 701)
    f = dt.compile(lambda x: (x.sin() * x.exp()).tanh())
    threads(3)
    f(x)
    expected = f(x)
    with ThreadPoolExecutor(4) as pool:
        assert all(dt.equal(y, expected) for y in pool.map(lambda _: f(x), range(12)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads: that is what is tried
        child = os.fork()
    if not child:
        os._exit(0 if dt.equal(f(x), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_step_keeps_what_its_backward_needs_and_no_more() -> None:
    rows, width, layers = 512, 64, 6
    x, weights = dt.randn(rows, width), [dt.randn(width, width) * 0.1 for _ in range(layers)]

    def loss(*weights: dt.Tensor) -> dt.Tensor:
        h = x
        for w in weights:
            h = (h @ w).tanh() * 0.5 + 0.25
        return (h * h).mean()

    step = dt.func.grad_and_value(loss, argnums=tuple(range(layers)))
    compiled = dt.compile(step, fullgraph=True)
    for got, true in zip(tree_leaves(compiled(*weights)), tree_leaves(step(*weights)), strict=True):
        assert np.allclose(got.numpy(), true.numpy(), 1e-3, 1e-6)
    (specialization,) = [v for specializations in compiled._specializations.values() for v in specializations]
    assert specialization.facts["native forward"]["arena"] <= (2 * layers + 3) * rows * width * 4


def test_what_is_computed_again_is_not_what_was_written_over() -> None:
    @dt.compile(fullgraph=True)
    def f(x: dt.Tensor, w: dt.Tensor) -> tuple:
        a = (x * 2).sin()
        b = a + 1
        c = (b * 1).exp() @ w
        a[:50].mul_(100)
        x[:50].add_(1)
        return (c + b * 3).tanh() @ w + b + a, x * 1

    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, w = rng.standard_normal((200, 150)), rng.standard_normal((150, 150))
        got = f(dt.tensor(x), dt.tensor(w))
        a = np.sin(x * 2)
        b = a + 1
        a[:50] *= 100
        x[:50] += 1
        assert np.allclose(got[0].numpy(), np.tanh(np.exp(b) @ w + b * 3) @ w + b + a)
        assert np.allclose(got[1].numpy(), x)


def test_a_loop_that_nothing_is_left_of_is_gone() -> None:
    """What the loop between two products computes is computed again after the second."""

    def f(x: dt.Tensor, w: dt.Tensor) -> dt.Tensor:
        a = x @ w
        b = a + 1
        c = a @ w
        d = (c * b).exp()
        return (d @ w).sin() @ w

    rng = np.random.default_rng(0)
    x, w = dt.tensor(rng.standard_normal((150, 150)) / 20), dt.tensor(rng.standard_normal((150, 150)) / 20)
    compiled = dt.compile(f, fullgraph=True)
    compiled(x, w)
    assert np.allclose(compiled(x * 2, w).numpy(), f(x * 2, w).numpy())
    (specialization,) = [v for specializations in compiled._specializations.values() for v in specializations]
    assert specialization.facts["native forward"]["clusters"] == 6


# The result of each pair is NumPy's, which takes either at ties of zeros, depending on where they stand.
EITHER_ZERO = {"fmax", "fmin"}


def _zero_signs(found: Any) -> list:
    tensors = [t for t in tree_leaves(found) if isinstance(t, dt.Tensor) and (t.is_floating_point() or t.is_complex())]
    parts = [p for t in tensors for p in ((t.real, t.imag) if t.is_complex() else (t,))]
    return [np.where(p.numpy() == 0, np.signbit(p.numpy()), False).tolist() for p in parts]


@pytest.mark.filterwarnings("ignore")
def test_zeros_have_the_signs_that_eager_gives_them() -> None:
    # not at the top: other processes import this module by itself
    from op_cases import rows

    zeros = [-0.0, 0.0, -0.0, 1.0, -1.0, 0.0, -0.0, -0.0]
    x, y = dt.tensor(zeros), dt.tensor(zeros[1:] + zeros[:1])
    both: dict[str, list[Callable]] = {"elementwise": [], "broadcasting": [], "reduction": []}
    for row in rows():
        if getattr(row, "kind", None) in both and row.name not in EITHER_ZERO:
            both[row.kind].append(row.function)
    calls = [lambda f, x, y: f(x), lambda f, x, y: f(x, y), lambda f, x, y: f(x, 0), lambda f, x, y: f(x, -0.0)]
    compared = 0
    for kind, functions in both.items():
        for call in calls[:1] if kind == "elementwise" else calls[1:] if kind == "broadcasting" else calls[::2]:
            for function in functions:
                for a, b in ((x, y), (x.reshape(2, 4), y.reshape(2, 4)), (dt.full((6,), -0.0), x[:6])):
                    run = lambda a, b, call=call, function=function: call(function, a, b)
                    try:
                        expected = run(a, b)
                    except (RuntimeError, TypeError, IndexError, ValueError):
                        continue
                    compiled = dt.compile(run, backend="native")
                    compiled(a, b)
                    assert _zero_signs(compiled(a, b)) == _zero_signs(expected), (kind, function)
                    compared += 1
    assert compared > 300


def test_sums_and_products_of_negative_zeros_are_zero_as_in_eager() -> None:
    for shape in ((2,), (3, 4), (17,), (5, 1), (100, 3), (3, 1000)):
        x = dt.full(shape, -0.0)
        for function in (lambda t: t.sum(-1), lambda t: t.mean(0), lambda t: t.sum() * 2.0, lambda t: t @ t.mT.abs()):
            if function.__code__.co_names[-1] == "abs" and len(shape) == 1:
                continue
            assert _zero_signs(native(function, x)) == _zero_signs(function(x))


@pytest.mark.parametrize("shape", [(6, 4), (3, 4), (2, 3, 4), (8, 9), (5, 7)])
@pytest.mark.parametrize("step", [2, 3])
def test_a_part_that_is_written_again_and_read_in_part_has_instructions(shape, step):
    """LLVM has none for some pairs of shuffles of one vector, and ends the process."""

    def program(x):
        y = x.relu()
        part = y.view(-1)[::step]
        for _ in range(3):
            part.mul_(part)
        return 3 / y[:1, :4], y

    compiled, x = dt.compile(program), dt.linspace(-2, 2, int(np.prod(shape))).reshape(shape)
    for _ in range(3):
        for ours, eager in zip(compiled(x.clone()), program(x.clone()), strict=True):
            assert np.array_equal(ours.numpy(), eager.numpy())
