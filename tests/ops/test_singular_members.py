"""Batches of matrices in which one is singular or has NaN: the others keep their results and gradients, and an error is
raised where PyTorch raises one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from outcomes import outcome, same, same_outcome, torch

pytestmark = pytest.mark.filterwarnings("ignore")

GOOD = [[4.0, 1.0], [1.0, 3.0]]
MEMBERS = {
    "singular": [[1.0, 2.0], [2.0, 4.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "NaN before a zero": [[math.nan, 1.0], [1.0, 1.0]],
    "all NaN": [[math.nan, math.nan], [math.nan, math.nan]],
    "infinity": [[math.inf, 1.0], [1.0, 1.0]],
}


def ones(m: Any, A: Any) -> Any:
    return m.ones(2, 2, 1, dtype=A.dtype)


# PyTorch's eigenvalues and least squares of NaN end in an error of its LAPACK, or end the process
OPS: dict[str, Any] = {
    "inv": lambda m, A: m.linalg.inv(A),
    "inv_ex": lambda m, A: m.linalg.inv_ex(A),
    "inverse": lambda m, A: A.inverse(),
    "solve": lambda m, A: m.linalg.solve(A, ones(m, A)),
    "solve_ex": lambda m, A: m.linalg.solve_ex(A, ones(m, A)),
    "solve from the right": lambda m, A: m.linalg.solve(A, ones(m, A).mT, left=False),
    "solve_triangular": lambda m, A: m.linalg.solve_triangular(A, ones(m, A), upper=True),
    "solve_triangular of the lower": lambda m, A: m.linalg.solve_triangular(A, ones(m, A), upper=False),
    "solve_triangular from the right": lambda m, A: m.linalg.solve_triangular(A, ones(m, A).mT, upper=True, left=False),
    "solve_triangular of units": lambda m, A: m.linalg.solve_triangular(A, ones(m, A), upper=True, unitriangular=True),
    "triangular_solve": lambda m, A: m.triangular_solve(ones(m, A), A).solution,
    "cholesky_solve": lambda m, A: m.cholesky_solve(ones(m, A), A),
    "cholesky": lambda m, A: m.linalg.cholesky(A),
    "cholesky_ex": lambda m, A: m.linalg.cholesky_ex(A),
    "cholesky_inverse": lambda m, A: m.cholesky_inverse(A.tril()),
    "lu_factor_ex": lambda m, A: m.linalg.lu_factor_ex(A),
    "lu": lambda m, A: m.linalg.lu(A)[1:],
    "lu_solve": lambda m, A: m.linalg.lu_solve(*m.linalg.lu_factor_ex(A)[:2], ones(m, A)),
    "qr": lambda m, A: m.linalg.qr(A).R,
    "det": lambda m, A: m.linalg.det(A),
    "logdet": lambda m, A: m.logdet(A),
    "slogdet": lambda m, A: m.linalg.slogdet(A).logabsdet,
    "matrix_exp": lambda m, A: m.linalg.matrix_exp(A),
    "matrix_power": lambda m, A: m.linalg.matrix_power(A, -2),
    **{f"cond {p}": lambda m, A, p=p: m.linalg.cond(A, p) for p in (1, -1, math.inf, -math.inf, "fro")},
}


def batch(m: Any, member: str, dtype: str = "float64") -> Any:
    return m.tensor([MEMBERS[member], GOOD], dtype=getattr(m, dtype), requires_grad=True)


def second(result: Any) -> Any:
    """The part of a result that belongs to the matrix that nothing is wrong with."""
    return tuple(r[1] for r in result) if isinstance(result, tuple) else result[1]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("name", OPS)
def test_other_members_keep_results_and_gradients(name: str, member: str, dtype: str) -> None:
    op = OPS[name]
    ours, theirs = outcome(op, dt, batch(dt, member, dtype)), outcome(op, torch, batch(torch, member, dtype))
    assert isinstance(ours, type) is isinstance(theirs, type), (ours, theirs)
    if isinstance(ours, type):
        assert issubclass(ours, RuntimeError)
        return
    same(second(ours), second(theirs), 1e-10)

    def gradient(member: Any) -> Any:
        A = dt.tensor([member, GOOD], dtype=getattr(dt, dtype), requires_grad=True)
        result = second(op(dt, A))
        first = result[0] if isinstance(result, tuple) else result
        first.abs().sum().backward()
        return A.grad[1].resolve_conj().numpy()

    np.testing.assert_allclose(gradient(MEMBERS[member]), gradient(GOOD), rtol=1e-10, atol=1e-12)


ALONE = [n for n in OPS if n.startswith(("inv", "cholesky", "lu", "qr", "det", "logdet", "slogdet", "matrix", "cond"))]
ALONE = [n for n in ALONE if "solve" not in n]


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("name", ALONE)
def test_members_inside_vmap_are_those_of_the_batch(name: str, member: str) -> None:
    A = batch(dt, member).detach()
    alone, mapped = outcome(OPS[name], dt, A), outcome(dt.vmap(lambda a: OPS[name](dt, a)), A)
    assert isinstance(alone, type) is isinstance(mapped, type), (alone, mapped)
    if not isinstance(alone, type):
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (alone, mapped)), strict=True):
            np.testing.assert_allclose(a[1].numpy(), b[1].numpy(), rtol=1e-12)


def test_solutions_inside_vmap_are_those_of_the_batch() -> None:
    A = dt.tensor([MEMBERS["singular"], GOOD])
    of_one = dt.vmap(lambda a: dt.linalg.solve_triangular(a, dt.ones(2, 1), upper=False))
    np.testing.assert_allclose(of_one(A).numpy(), dt.linalg.solve_triangular(A, dt.ones(2, 1), upper=False).numpy())
    B = dt.tensor([[[1.0, 2.0], [0.0, 0.0]], GOOD])
    of_one = dt.vmap(lambda a: dt.linalg.solve_triangular(a, dt.ones(2, 1), upper=True))
    np.testing.assert_array_equal(of_one(B)[0].numpy(), [[-math.inf], [math.inf]])


SINGULAR_SYSTEMS = {
    "upper": lambda m, A: m.linalg.solve_triangular(A, m.ones(3, 1), upper=True),
    "lower": lambda m, A: m.linalg.solve_triangular(A.mT, m.ones(3, 1), upper=False),
    "upper of a batch": lambda m, A: m.linalg.solve_triangular(A.expand(2, 3, 3), m.ones(2, 3, 1), upper=True),
    "right": lambda m, A: m.linalg.solve_triangular(A, m.ones(1, 3), upper=True, left=False),
    "cholesky_solve": lambda m, A: m.cholesky_solve(m.ones(3, 1), A.mT),
    "triangular_solve": lambda m, A: m.triangular_solve(m.ones(3, 1), A).solution,
}


@pytest.mark.parametrize("name", SINGULAR_SYSTEMS)
def test_triangular_systems_divide_by_zero_as_by_any_number(name: str) -> None:
    A = [[1.0, 2.0, 1.0], [0.0, 3.0, 1.0], [0.0, 0.0, 0.0]]
    same_outcome(lambda m: SINGULAR_SYSTEMS[name](m, m.tensor(A)), 1e-6)


def test_errors_name_the_member_that_fails() -> None:
    A = dt.tensor([[[math.nan, 1.0], [1.0, 1.0]], GOOD, [[1.0, 2.0], [2.0, 4.0]]])
    with pytest.raises(RuntimeError, match=r"linalg.inv: \(Batch element 2\): The diagonal element 2 is zero"):
        dt.linalg.inv(A)
    with pytest.raises(RuntimeError, match=r"linalg.cholesky: \(Batch element 0\): .* leading minor of order 1 "):
        dt.linalg.cholesky(A[:2])
    with pytest.raises(RuntimeError, match=r"cholesky_inverse: \(Batch element 1\): The diagonal element 2 is zero"):
        dt.cholesky_inverse(dt.tensor([GOOD, [[1.0, 0.0], [2.0, 0.0]]]))


@pytest.mark.parametrize("member", ["NaN before a zero", "all NaN", "zero", "singular"])
def test_determinants_of_nan_are_nan(member: str) -> None:
    A = [MEMBERS[member], GOOD]
    same_outcome(lambda m: m.linalg.det(m.tensor(A)), 1e-6)
    same_outcome(lambda m: m.linalg.slogdet(m.tensor(A)).logabsdet, 1e-6)
    same_outcome(lambda m: m.vmap(m.linalg.det)(m.tensor(A)), 1e-6)
    same_outcome(lambda m: m.linalg.det(m.tensor(A[0])), 1e-6)


# --- QR -------------------------------------------------------------------------------------------

SHAPES = [(3, 3), (3, 2), (2, 3), (2, 3, 2), (2, 2, 3), (0, 3), (3, 0)]


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", SHAPES)
def test_qr_of_what_requires_grad_computes_in_every_mode(mode: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).standard_normal(shape)

    def computed(m: Any) -> Any:
        q, r = m.linalg.qr(m.tensor(values, requires_grad=True), mode=mode)
        return tuple(q.shape), r.abs(), r.requires_grad

    same(computed(dt), computed(torch), 1e-12)


@pytest.mark.parametrize("mode", ["complete", "r"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (2, 2, 3), (3, 2)])
def test_derivatives_of_qr_are_those_of_the_reduced_one(mode: str, shape: tuple[int, ...]) -> None:
    values = dt.tensor(np.random.default_rng(0).standard_normal(shape))

    def right(mode: str) -> Any:
        return lambda x: dt.linalg.qr(x, mode=mode).R

    if mode == "complete" and shape == (3, 2):
        with pytest.raises(NotImplementedError, match="mode='complete'"):
            dt.func.jvp(right(mode), (values,), (values,))
        with pytest.raises(NotImplementedError, match="mode='complete'"):
            dt.func.grad(lambda x: right(mode)(x).sum())(values)
        return
    for transform in (dt.func.jacrev, dt.func.jacfwd):
        np.testing.assert_allclose(
            transform(right(mode))(values).numpy(), transform(right("reduced"))(values).numpy(), rtol=1e-10, atol=1e-12
        )


# --- norms of what is empty -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0, 0), (3, 0, 2), (3, 2, 0), (0, 2, 2)])
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_norms_of_empty_matrices(shape: tuple[int, ...], order: Any) -> None:
    for keepdim in (False, True):
        same_outcome(lambda m: m.linalg.matrix_norm(m.zeros(shape), order, keepdim=keepdim))  # noqa: B023
    if len(shape) == 2:
        same_outcome(lambda m: m.linalg.norm(m.zeros(shape), order))
    if shape[-1] == shape[-2]:
        same_outcome(lambda m: m.linalg.cond(m.zeros(shape), order))


def test_the_nuclear_norm_by_its_old_name() -> None:
    same_outcome(lambda m: m.norm(m.arange(6.0).reshape(2, 3), "nuc"), 1e-6)
    same_outcome(lambda m: m.norm(m.arange(6.0).reshape(2, 3), "nuc", dim=(1, 0), dtype=m.float64), 1e-6)


# --- what has no derivative -----------------------------------------------------------------------

UNDERIVED = {
    "geqrf": lambda m, x: m.geqrf(x)[0],
    "ldl_factor": lambda m, x: m.linalg.ldl_factor(x)[0],
    "ldl_solve": lambda m, x: m.linalg.ldl_solve(m.eye(2), m.tensor([1, 2], dtype=m.int32), x),
    "qr": lambda m, x: m.linalg.qr(x[:, :1], mode="complete")[1],
    "unique": lambda m, x: m.unique(x),
    "unique_consecutive": lambda m, x: m.unique_consecutive(x),
    "bincount": lambda m, x: m.bincount(m.tensor([0, 1]), x[0]),
    "binomial": lambda m, x: m.binomial(m.ones(2, 2), x * 0.1),
}


@pytest.mark.parametrize("name", UNDERIVED)
def test_what_has_no_derivative_refuses_tangents_too(name: str) -> None:
    def forward(m: Any) -> Any:
        return m.func.jvp(lambda x: UNDERIVED[name](m, x), (m.eye(2) + 1,), (m.ones(2, 2),))

    assert issubclass(outcome(forward, dt), (NotImplementedError, RuntimeError))
    assert issubclass(outcome(forward, torch), (NotImplementedError, RuntimeError))
    assert not isinstance(outcome(lambda: UNDERIVED[name](dt, dt.eye(2) + 1)), type)


NAN_IN_FACTORS: dict[str, Any] = {
    "inv": lambda m, A: m.linalg.inv(A),
    "inv_ex": lambda m, A: m.linalg.inv_ex(A).inverse,
    "solve": lambda m, A: m.linalg.solve(A, m.ones(2, A.shape[-1], 7, dtype=A.dtype)),
    "solve from the right": lambda m, A: m.linalg.solve(A, m.ones(2, 7, A.shape[-1], dtype=A.dtype), left=False),
    "lu": lambda m, A: m.linalg.lu(A)[1:],
    "lu_factor": lambda m, A: m.linalg.lu_factor(A).LU,
    "slogdet": lambda m, A: tuple(m.linalg.slogdet(A)),
    "det": lambda m, A: m.linalg.det(A),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAN_IN_FACTORS)
def test_nan_reaches_every_entry_that_depends_on_it(name: str, dtype: str) -> None:
    """PyTorch's LAPACK and NumPy's choose other pivots beside NaN: entries that are numbers there are numbers here or
    NaN, and what is NaN there is NaN here.
    """
    for n in (1, 2, 3, 5):
        whole = np.random.default_rng(n).uniform(1, 2, (n, n)) + n * np.eye(n)
        for place in np.ndindex(n, n):
            values = whole.astype(dtype)
            values[place] = np.nan
            theirs, ours = (
                NAN_IN_FACTORS[name](m, m.tensor(np.stack([values, whole.astype(dtype)]))) for m in (torch, dt)
            )
            pairs = zip(theirs, ours, strict=True) if isinstance(theirs, tuple) else [(theirs, ours)]
            for a, b in pairs:
                lost = np.isnan(a.numpy())
                assert np.isnan(b.numpy())[lost].all(), (n, place, a, b)
                np.testing.assert_allclose(b.numpy()[1], a.numpy()[1], 1e-4, 1e-5)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (2, 0, 0)])
@pytest.mark.parametrize("name", [
    "inv", "inv_ex", "det", "slogdet", "cholesky", "cholesky_ex", "eigh", "eigvalsh", "svd", "svdvals", "qr", "lu",
    "lu_factor", "lu_factor_ex", "ldl_factor", "ldl_factor_ex", "pinv", "matrix_exp", "matrix_rank", "matrix_norm",
    "eig", "eigvals", "cond", "matrix_power",
])  # fmt: skip
def test_square_matrices_without_elements(name: str, shape: tuple[int, ...]) -> None:
    extra = (2,) if name == "matrix_power" else ()

    def run(m: Any) -> Any:
        found = getattr(m.linalg, name)(m.zeros(shape), *extra)
        return [
            (tuple(t.shape), str(t.dtype).partition(".")[2]) for t in (found if isinstance(found, tuple) else [found])
        ]

    same_outcome(run, 0)
