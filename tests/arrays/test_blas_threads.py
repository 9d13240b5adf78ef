"""Products run on as many threads as pay, and leave the number that is set in BLAS as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.kernels import blas

FOUND = blas.libraries()
needs_blas = pytest.mark.skipif(not FOUND, reason="NumPy's BLAS tells no number of threads")


@pytest.fixture
def three() -> Iterator[None]:
    """Three threads in every BLAS, on any machine."""
    before = dt.get_num_threads()
    dt.set_num_threads(3)
    yield
    dt.set_num_threads(before)


class Seen:
    """The numbers of threads that were set while something ran."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: list[int] = []
        original = blas._state.set
        monkeypatch.setattr(blas._state, "set", lambda count: (self.counts.append(count), original(count))[1])


@needs_blas
def test_the_number_of_threads_is_set_in_numpys_and_scipys_blas(three: None) -> None:
    import scipy.linalg.blas  # noqa: F401 - it loads a BLAS of its own

    dt.set_num_threads(2)
    assert dt.get_num_threads() == 2
    assert {library.get() for library in blas.libraries()} == {2}


@needs_blas
def test_a_blas_that_is_loaded_later_gets_the_number() -> None:
    program = (
        "import dualtape as dt\ndt.set_num_threads(1)\nx = dt.randn(80, 80)\ndt.linalg.lu_factor(x)\n"
        "from dualtape.arrays.kernels import blas\nprint({each.get() for each in blas.libraries()})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{1}"


RNG = np.random.default_rng(0)


def matrices(m: int, k: int, n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    a, b = RNG.standard_normal((m, k)), RNG.standard_normal((k, n))
    if dtype == "D":
        return a + 1j * a[::-1], b - 2j * b
    return a.astype(dtype), b.astype(dtype)


@needs_blas
@pytest.mark.parametrize("dtype", ["f", "d", "D"])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(3, 4, 5), (100, 90, 80), (700, 300, 200), (90, 700, 700), (1, 2000, 3000), (3000, 2000, 1)]
)
def test_products_of_all_sizes_are_numpys(m: int, k: int, n: int, dtype: str, three: None) -> None:
    a, b = matrices(m, k, n, dtype)
    a, b = (a[:, ::-1], b[::-1]) if m == 700 else (a, np.asfortranarray(b))
    expected = np.matmul(a, b)
    tolerance = 1e-3 if dtype == "f" else 1e-10
    assert blas.libraries()[0].get() == 3
    for product in (blas.dot, blas.matmul):
        np.testing.assert_allclose(product(a, b), expected, tolerance, tolerance * k**0.5)
    x, y = (dt.from_numpy(np.ascontiguousarray(each)).requires_grad_() for each in (a, b))
    result = x @ y
    np.testing.assert_allclose(result.detach().numpy(), expected, tolerance, tolerance * k**0.5)
    start = dt.ones_like(result)
    gx, gy = dt.autograd.grad(result, (x, y), start)
    np.testing.assert_allclose(gx.numpy(), start.numpy() @ b.T.conj(), tolerance, tolerance * n**0.5)
    np.testing.assert_allclose(gy.numpy(), a.T.conj() @ start.numpy(), tolerance, tolerance * m**0.5)
    assert blas.libraries()[0].get() == 3


MODERATE = {
    "mm": lambda x: x @ x,
    "mv": lambda x: x @ x[0],
    "bmm": lambda x: dt.bmm(x.expand(2, 120, 120), x.expand(2, 120, 120)),
    "matmul": lambda x: x.expand(2, 120, 120) @ x,
    "linear": lambda x: dt.nn.functional.linear(x, x, x[0]),
    "addmm": lambda x: dt.addmm(x, x, x),
    "einsum": lambda x: dt.einsum("ij,jk->ik", x, x),
    "convolution": lambda x: dt.nn.functional.conv1d(x.expand(2, 120, 120), x[:, :, None].expand(120, 120, 3)),
    "vdot": lambda x: dt.vdot(x.reshape(-1), x.reshape(-1)),
    "cholesky": lambda x: dt.linalg.cholesky(x @ x.mT + 120 * dt.eye(120)),
    "inv": lambda x: dt.linalg.inv(x),
    "solve": lambda x: dt.linalg.solve(x, x[0]),
    "eigh": lambda x: dt.linalg.eigh(x + x.mT)[0],
    "svd": lambda x: dt.linalg.svdvals(x),
    "lu": lambda x: dt.linalg.lu_factor(x)[0],
}


@needs_blas
@pytest.mark.parametrize("name", MODERATE)
def test_what_is_of_moderate_size_runs_on_one_thread_forward_and_backward(
    name: str, three: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = dt.randn(120, 120, generator=dt.Generator().manual_seed(0)).requires_grad_()
    MODERATE[name](x)
    seen = Seen(monkeypatch)
    result = MODERATE[name](x)
    assert seen.counts[:2] == [1, 3]
    assert set(seen.counts) == {1, 3} and seen.counts[-1] == 3
    forward = len(seen.counts)
    result.sum().backward()
    assert len(seen.counts) > forward or name in ("mv", "vdot", "svd", "eigh", "cholesky", "lu")
    assert seen.counts[1::2] == [3] * (len(seen.counts) // 2)


@needs_blas
def test_small_products_do_not_ask_blas(three: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = dt.randn(20, 20, requires_grad=True)
    seen = Seen(monkeypatch)
    (x @ x).sum().backward()
    dt.linalg.inv(x)
    assert not seen.counts


@needs_blas
def test_a_compiled_product_of_moderate_size_runs_on_one_thread(three: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr("dualtape.compiler.native.schedule.takes_blocks", lambda: False)  # which kernels of ours take
    f = dt.compile(lambda x: (x @ x).tanh().sum())
    x = dt.randn(300, 300)
    expected = (x @ x).tanh().sum()
    f(x)
    seen = Seen(monkeypatch)
    assert dt.allclose(f(x), expected, rtol=1e-3, atol=1e-2)
    assert seen.counts == [1, 3]


@needs_blas
def test_one_thread_that_the_user_set_stays_one(three: None) -> None:
    dt.set_num_threads(1)
    a, b = matrices(500, 400, 300, "d")
    np.testing.assert_allclose(blas.dot(a, b), a.dot(b))
    assert blas.libraries()[0].get() == 1


@needs_blas
def test_the_number_is_put_back_after_an_exception(three: None) -> None:
    with pytest.raises(ValueError, match="aligned"):
        blas.dot(np.ones((100, 90)), np.ones((100, 90)))
    assert blas.libraries()[0].get() == 3

    def fails(*args: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        blas.alone(fails)
    assert blas.libraries()[0].get() == 3


@needs_blas
def test_products_in_several_threads_leave_the_number_as_it_was(three: None) -> None:
    a, b = matrices(200, 150, 120, "d")
    expected = a.dot(b)
    wrong = []

    def work() -> None:
        for _ in range(200):
            if not np.allclose(blas.dot(a, b), expected):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert blas.libraries()[0].get() == 3


def test_an_environment_that_asks_for_one_thread_is_heard() -> None:
    program = "import dualtape as dt; print(dt.get_num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    )
    assert done.stdout.strip() == "1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@needs_blas
def test_a_child_process_computes_large_products(three: None) -> None:
    program = (
        "import os, warnings, numpy as np, dualtape as dt\nfrom dualtape.arrays.kernels import blas\n"
        "warnings.simplefilter('ignore')\ndt.set_num_threads(2)\na = np.ones((700, 700))\nblas.dot(a, a)\n"
        "pid = os.fork()\nif not pid:\n    os._exit(int(blas.dot(a, a)[0, 0]) % 251)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == str(700 % 251)
