"""Values and dtypes where a formula of NumPy's, or an obvious one, gives another answer than PyTorch."""

from __future__ import annotations

import copy
import itertools
import math
import operator
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from outcomes import same_outcome

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
NAN, INF = math.nan, math.inf

# --- one triangle of a matrix ---------------------------------------------------------------------

TRIANGLES = {
    "cholesky": lambda m, x, upper: m.linalg.cholesky(x, upper=upper),
    "older cholesky": lambda m, x, upper: m.cholesky(x, upper=upper),
    "cholesky_ex": lambda m, x, upper: m.linalg.cholesky_ex(x, upper=upper)[0],
    "eigvalsh": lambda m, x, upper: m.linalg.eigvalsh(x, UPLO="U" if upper else "L"),
    "eigh": lambda m, x, upper: m.linalg.eigh(x, UPLO="U" if upper else "L")[0],
    "solve_triangular": lambda m, x, upper: m.linalg.solve_triangular(x, m.ones_like(x), upper=upper),
    "unitriangular": lambda m, x, upper: m.linalg.solve_triangular(x, m.ones_like(x), upper=upper, unitriangular=True),
    "triangular_solve": lambda m, x, upper: m.triangular_solve(m.ones_like(x), x, upper=upper)[0],
    "cholesky_solve": lambda m, x, upper: m.cholesky_solve(m.ones_like(x), x.detach(), upper=upper),
    "cholesky_inverse": lambda m, x, upper: m.cholesky_inverse(x.detach(), upper=upper),
}


@pytest.mark.parametrize("name", TRIANGLES)
@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("complex", [False, True])
def test_an_op_of_one_triangle_does_not_read_the_other(name: str, batch: tuple, complex: bool) -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(*batch, 3, 3)) + (1j * rng.normal(size=(*batch, 3, 3)) if complex else 0)
    whole = root @ np.swapaxes(root.conj(), -1, -2) + 3 * np.eye(3)
    other = 5 * rng.normal(size=(*batch, 3, 3))
    for upper in (False, True):
        kept, junk = (np.triu, np.tril) if upper else (np.tril, np.triu)
        matrix = kept(whole) + junk(other, -1 if upper else 1)
        weights = np.cos(np.arange(matrix.size)).reshape(matrix.shape)

        def run(m: Any, upper: bool = upper, matrix: Any = matrix, weights: Any = weights) -> list:
            x = m.tensor(matrix, requires_grad=True)
            y = TRIANGLES[name](m, x, upper)
            if not y.requires_grad:
                return [y]
            (y * m.tensor(weights[..., 0] if y.ndim < x.ndim else weights)).real.sum().backward()
            # of complex matrices PyTorch's has a part beside, to which Hermitian ones are orthogonal
            return [y.detach(), x.grad + x.grad.mH if "cholesky" in name else x.grad]

        same_outcome(run, 1e-9)


# --- integers, booleans, masks ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products_have_the_dtype_that_is_asked_for(name: str) -> None:
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", None):
        for given in ("bool", "int8", "int16", "int32", "float32"):

            def run(m: Any, dtype: Any = dtype, given: str = given) -> Any:
                x = m.tensor([[1, 100, 3], [90, 2, 5]], dtype=getattr(m, given))
                return getattr(m, name)(x, 1, dtype=None if dtype is None else getattr(m, dtype))

            same_outcome(run)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bool"])
def test_an_index_of_uint8_is_a_mask_also_of_no_dimensions(number: int, dtype: str) -> None:
    grid = lambda m: m.arange(6.0).reshape(3, 2)
    place = lambda m: m.tensor(number, dtype=getattr(m, dtype))
    same_outcome(lambda m: grid(m)[place(m)])
    same_outcome(lambda m: grid(m)[..., place(m)])
    same_outcome(lambda m: grid(m)[None, place(m)])
    same_outcome(lambda m: grid(m)[:, place(m)])

    def write(m: Any) -> Any:
        x = grid(m)
        x[place(m)] = 7.0
        return x

    same_outcome(write)


def test_masks_of_uint8_in_index_put_and_in_aten() -> None:
    mask = [[1, 0], [0, 1], [1, 1]]
    masked = lambda m: (m.tensor(mask, dtype=m.uint8),)
    grid = lambda m: m.arange(6.0).reshape(3, 2)
    same_outcome(lambda m: grid(m).index_put(masked(m), m.arange(4.0)))
    same_outcome(lambda m: m.ops.aten.index(grid(m), list(masked(m))))

    def gradients(m: Any) -> list:
        x, values = grid(m).requires_grad_(), m.arange(4.0).requires_grad_()
        (x.index_put(masked(m), values) * grid(m)).sum().backward()
        return [x.grad, values.grad]

    same_outcome(gradients)

    def taken(m: Any) -> Any:
        x = grid(m).requires_grad_()
        m.ops.aten.index(x, list(masked(m))).square().sum().backward()
        return x.grad

    same_outcome(taken)


@pytest.mark.parametrize(
    "name", ["pow", "floordiv", "mod", "lshift", "rshift", "mul", "add", "truediv", "and_", "or_", "xor"]
)
def test_operators_of_booleans_and_integers_have_pytorchs_dtype_or_refusal(name: str) -> None:
    written = getattr(operator, name)
    kinds = ["bool", "uint8", "int8", "int64"]
    tensors = [lambda m, kind=kind: m.tensor([1, 0, 1], dtype=getattr(m, kind)) for kind in kinds]
    operands = [*tensors, lambda m: True, lambda m: 2]
    for left, right in itertools.product(operands, operands):
        if left in tensors or right in tensors:
            if right is tensors[0] and name in ("mod", "floordiv") and left in tensors[1:]:
                continue  # division by zero
            if name in ("mod", "floordiv") and right in tensors and left is not tensors[0]:
                continue
            same_outcome(lambda m, left=left, right=right: written(left(m), right(m)))


def test_silu_of_integers_is_refused() -> None:
    for dtype in ("bool", "uint8", "int64"):
        same_outcome(lambda m, dtype=dtype: m.nn.functional.silu(m.tensor([1, 0], dtype=getattr(m, dtype))))


# --- searching, and what is different --------------------------------------------------------------


def test_searchsorted_and_bucketize_with_nan_among_the_boundaries() -> None:
    rng = np.random.default_rng(0)
    for length, rows in itertools.product((1, 2, 5, 9), (None, 3)):
        for _ in range(12):
            shape = (length,) if rows is None else (rows, length)
            boundaries = np.sort(rng.integers(0, 6, shape).astype(float), -1)
            boundaries[rng.random(shape) < 0.3] = NAN
            values = rng.integers(-1, 7, (4,) if rows is None else (rows, 4)).astype(float)
            values[rng.random(values.shape) < 0.2] = NAN
            for right in (False, True):
                same_outcome(
                    lambda m, b=boundaries, v=values, r=right: m.searchsorted(m.tensor(b), m.tensor(v), right=r)
                )
                if rows is None:
                    same_outcome(
                        lambda m, b=boundaries, v=values, r=right: m.bucketize(m.tensor(v), m.tensor(b), right=r)
                    )


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_unique_slices_with_nan_are_in_pytorchs_order(dim: int | None) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        x = rng.integers(0, 3, (rng.integers(1, 13), rng.integers(1, 4))).astype(float)
        x[rng.random(x.shape) < 0.25] = NAN
        same_outcome(lambda m, x=x: m.unique(m.tensor(x), dim=dim, return_inverse=True, return_counts=True))


# --- complex logarithms ----------------------------------------------------------------------------

AWKWARD = [-INF, INF, 0.0, -0.0, 1.0, -2.5, NAN, 1e300]


def test_logcumsumexp_of_complex_infinities() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        x = np.array([complex(a, b) for a, b in rng.choice([-INF, INF, 0.0, 1.0, -2.5, NAN], (4, 2))])
        x = np.where(np.isinf(x.imag), x.real + 0j, x)  # whose exponentials are NaN in PyTorch
        x = np.where(np.isposinf(x.real), INF + 0j, x)  # a sum of those has a phase by accident
        same_outcome(lambda m, x=x: m.logcumsumexp(m.tensor(x), 0), 1e-12)


def test_log1p_of_complex_numbers_is_exact_to_the_last_digits() -> None:
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(3)
    size = lambda: 10.0 ** rng.uniform(-20, 3, 400) * rng.normal(size=400)
    on_circle = np.exp(1j * rng.uniform(-3, 3, 200)) * (1 + 1e-12 * rng.normal(size=200)) - 1
    z = np.concatenate([size() + 1j * size(), on_circle])
    with mpmath.workprec(200):
        exact = np.array([complex(mpmath.log(1 + mpmath.mpc(complex(value)))) for value in z])
    found = dt.log1p(dt.tensor(z)).numpy()
    for part in ("real", "imag"):
        ours, right = getattr(found, part), getattr(exact, part)
        assert (np.abs(ours - right) <= 2 * np.spacing(np.abs(right))).all()


def test_log1p_of_complex_numbers_at_its_edges() -> None:
    for a, b in itertools.product(AWKWARD, AWKWARD):
        same_outcome(lambda m, z=complex(a, b): m.log1p(m.tensor(z, dtype=m.complex128)), 1e-12)
    z = dt.tensor([1e-10 + 1e-10j, -0.3 + 2j], dtype=dt.complex64)
    np.testing.assert_allclose(np.log1p(z).numpy(), dt.log1p(z).numpy())


def test_logspace_between_complex_numbers() -> None:
    for start, end, base in ((1, 2j, 10), (1 + 1j, -2, 3), (0.5j, 0, 2.5)):
        same_outcome(lambda m, a=start, b=end, c=base: m.logspace(a, b, 5, base=c), 1e-5)
    same_outcome(lambda m: m.logspace(1, 2j, 3, dtype=m.complex128), 1e-12)
    same_outcome(lambda m: m.logspace(1, 2, 3, base=2j))


def test_qr_without_q_has_an_empty_q_of_one_dimension() -> None:
    for shape in ((3, 2), (2, 3), (4, 3, 2)):
        same_outcome(lambda m, shape=shape: m.linalg.qr(m.ones(shape), mode="r")[0])


# --- writes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32", "int64", "complex64", "float16"])
def test_neg_in_place_at_every_step_in_memory(dtype: str) -> None:
    for step in (1, 2, 3, 4, 8, 16):
        for shape, steps in (((9,), (step,)), ((3, 5), (step * 5, step)), ((5, 3), (1, step * 5))):
            memory = dt.arange(1, 15 * step + 70).to(getattr(dt, dtype))
            view = memory.as_strided(shape, steps)
            before, expected = memory.numpy().copy(), -view.numpy().copy()
            view.neg_()
            np.testing.assert_array_equal(view.numpy(), expected)
            assert (memory.numpy() != before).sum() == expected.size
            dt.neg(view, out=view)
            np.testing.assert_array_equal(view.numpy(), -expected)


# --- images of bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_images_of_bytes_are_resampled_as_pytorch_rounds_them(mode: str, antialias: bool) -> None:
    rng = np.random.default_rng(4)
    for corners in (None, True):
        for _ in range(20):
            image = rng.integers(0, 256, (2, 3, *rng.integers(1, 13, 2))).astype(np.uint8)
            new = tuple(int(n) for n in rng.integers(2, 15, 2))  # at 1 PyTorch reads beside the image
            options = {"mode": mode, "antialias": antialias, "align_corners": corners}
            same_outcome(lambda m, x=image, o=options, n=new: m.nn.functional.interpolate(m.tensor(x), n, **o))
            if min(image.shape[2:]) > 2 and corners is None:
                scale = tuple(rng.choice([0.5, 0.75, 1.25, 1.7, 2.0], 2).tolist())
                same_outcome(
                    lambda m, x=image, o=options, s=scale: m.nn.functional.interpolate(m.tensor(x), scale_factor=s, **o)
                )


@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear", "area"])
def test_modes_of_interpolation_that_would_truncate_integers_are_refused(mode: str) -> None:
    dims = {"linear": 1, "trilinear": 3}.get(mode, 2)
    for dtype in ("int8", "int64", "bool", *(("uint8",) if mode not in ("bilinear", "bicubic") else ())):
        for module in (dt, torch):
            x = module.ones((1, 1) + (4,) * dims).to(getattr(module, dtype))
            with pytest.raises(NotImplementedError):
                module.nn.functional.interpolate(x, 3, mode=mode)


# --- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_a_deep_copy_of_a_sparse_leaf_has_its_gradient_and_attributes(layout: str) -> None:
    x = getattr(dt.eye(2), f"to_sparse_{layout}")().requires_grad_()
    (x.to_dense() * 3).sum().backward()
    x.note = "kept"
    first, second = copy.deepcopy([x, x])
    assert first is second and first.note == "kept" and first.requires_grad
    assert first.grad.layout is x.grad.layout and first.grad is not x.grad
    np.testing.assert_array_equal(first.grad.to_dense().numpy(), 3 * np.eye(2))
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


def test_a_deep_copy_of_a_nested_leaf_has_its_gradient() -> None:
    x = dt.nested.nested_tensor([dt.ones(2), dt.ones(3)], layout=dt.jagged, requires_grad=True)
    (x * 2).sum().backward() if x.ndim == 1 else (x * 2).values().sum().backward()
    found = copy.deepcopy(x)
    np.testing.assert_array_equal(found.grad.values().numpy(), x.grad.values().numpy())
    assert found.grad is not x.grad


def test_von_mises_draws_in_a_process_that_imported_nothing_else() -> None:
    program = "import dualtape as dt; print(dt.distributions.VonMises(dt.tensor(0.), dt.tensor(1.)).sample((3,)).shape)"
    assert "[3]" in subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
