"""Factors of matrices, what is told of failures, eigenvalues, ranks: results, refusals, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

SETUP = """
L = torch.linalg
A, N, Z, B = torch.tensor([[2.0, 1], [1, 3]]), torch.tensor([[1.0, 2], [2, 1]]), torch.zeros(2, 2), torch.ones(2, 1)
C = torch.tensor([[2, 1j], [-1j, 3]]); G = A.clone().requires_grad_()
T = torch.tensor([[1.0, 2], [3, 4], [5, 7]])
"""
PROGRAMS = programs(
    r"""
    L.cholesky_ex(N).info, L.cholesky_ex(torch.stack([A, N])).info, list(L.cholesky_ex(A)), L.cholesky_ex(C, upper=True).L
    L.cholesky_ex(torch.ones(2, 3))
    L.inv_ex(Z).info, L.inv_ex(torch.stack([A, Z])).info, L.inv_ex(torch.stack([A, Z])).inverse[0], L.inv_ex(G).inverse.requires_grad
    L.inv_ex(torch.ones(2, 3))
    L.solve_ex(Z, B).info, list(L.solve_ex(A, B)), L.solve_ex(torch.stack([Z, A]), torch.ones(2, 2, 1)).result[1]
    list(L.lu_factor(A)), list(L.lu_factor_ex(Z)), list(L.lu_factor(torch.ones(0, 3))), list(L.lu(torch.ones(2, 3, 2)))
    L.lu_factor(Z)
    L.lu_factor_ex(Z, check_errors=True)
    L.lu_factor(A, pivot=False)
    L.lu_factor(torch.ones(2))
    L.lu_solve(*L.lu_factor(A), torch.ones(2))
    [t.requires_grad for t in L.lu(G)], [t.requires_grad for t in L.lu_factor_ex(G)]
    list(torch.lu(A, get_infos=True)), list(A.lu()), torch.lu_solve(B, *L.lu_factor(A)), B.lu_solve(*L.lu_factor(A))
    list(torch.lu(Z))
    torch.lu_unpack(A, torch.tensor([1, 2]))
    list(torch.lu_unpack(*L.lu_factor(A), unpack_pivots=False)), list(torch.lu_unpack(*L.lu_factor(A), unpack_data=False))
    list(L.ldl_factor(A)), list(L.ldl_factor(N)), list(L.ldl_factor_ex(Z)), list(L.ldl_factor(C, hermitian=True))
    list(L.ldl_factor(torch.tensor([[0, 1j], [1j, 0]]))), L.ldl_solve(*L.ldl_factor(A), B), L.ldl_solve(*L.ldl_factor(N), torch.ones(3, 2, 2))
    L.ldl_solve(*L.ldl_factor(C, hermitian=True), torch.ones(2, 1, dtype=torch.complex64), hermitian=True)
    L.ldl_factor(G).LD.sum().backward()
    torch.geqrf(G).tau.sum().backward()
    list(torch.geqrf(A)), list(torch.geqrf(T.expand(2, 3, 2))), torch.orgqr(*torch.geqrf(A)), A.geqrf().a
    torch.ormqr(*torch.geqrf(A), B), torch.ormqr(*torch.geqrf(T), torch.ones(2, 3), False, True)
    L.householder_product(torch.ones(2, 3), torch.ones(2))
    L.householder_product(torch.ones(3, 2), torch.ones(3))
    L.eigvals(A).real.sort().values, L.eigvals(torch.ones(0, 0)), L.eig(torch.ones(2, 2, dtype=torch.float64)).eigenvectors.dtype
    L.eig(torch.ones(2, 3))
    L.eig(torch.tensor([[nan, 1], [1, 1]]))
    L.matrix_rank(A), L.matrix_rank(G), L.matrix_rank(torch.ones(3, 2, 2), hermitian=True), L.matrix_rank(A, 10.0), L.matrix_rank(A, atol=10.0)
    L.matrix_rank(A, rtol=10.0), L.matrix_rank(torch.ones(0, 2)), L.matrix_rank(A, torch.tensor(2.0)), L.matrix_rank(A, tol=1.0, hermitian=True)
    L.matrix_rank(torch.ones(2))
    L.tensorinv(torch.ones(2, 3), ind=0)
    L.tensorinv(torch.ones(2, 3), ind=1)
    L.tensorinv(torch.ones(4))
    L.tensorsolve(torch.ones(2, 2), torch.ones(3))
    L.vander(torch.tensor([1, 2, 3]), N=2), L.vander(torch.ones(2, 2, dtype=torch.bool).int())
    L.vander(torch.tensor(1.0))
    L.vecdot(A + 1j, A + 2j, dim=0), L.vecdot(A, torch.ones(2))
    L.vecdot(A, torch.ones(2, dtype=torch.float64))
    L.vecdot(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
    d = L.diagonal(A); d.zero_(); A
    torch.cholesky_inverse(A), torch.cholesky_inverse(A, upper=True), torch.cholesky_inverse(C), A.cholesky_inverse()
    list(torch.triangular_solve(B, A)), torch.triangular_solve(B, A, False, True, True).solution
    list(torch.qr(A)), list(torch.qr(T, some=False))
    torch.eig(A)
    torch.symeig(A)
    torch.lstsq(B, A)
    torch.solve(B, A)
    torch.matrix_rank(A)
    torch.pca_lowrank(A, q=3)
    [t.shape for t in torch.svd_lowrank(torch.rand(5, 4))], [t.shape for t in torch.pca_lowrank(torch.rand(3, 5), q=2)]
    """
)


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_mean_what_they_mean_in_pytorch(program: str) -> None:
    same(SETUP + program)


@needs_torch
@pytest.mark.parametrize("matrix", ["[[0.3, 1, 2], [4, -1, 0.5], [1, 1, 3]]", "[[1, 1j, 2], [3, 2, 1], [0.5j, 1, 4]]"])
def test_gradients_of_eigenvectors_that_do_not_depend_on_their_phases_are_pytorchs(matrix: str) -> None:
    same(
        f"x = torch.tensor({matrix}).to(torch.complex128 if 'j' in {matrix!r} else torch.float64).requires_grad_()\n"
        "values, vectors = torch.linalg.eig(x)\n"
        "order = values.detach().real.argsort()\n"
        "loss = (vectors.abs()[:, order] ** 2 * torch.arange(9.0, dtype=torch.float64).reshape(3, 3)).sum()\n"
        "loss = loss + (values[order] * torch.tensor([1, 2j, 3])).real.sum()\n"
        "torch.autograd.grad(loss, x)[0]",
        1e-8,
    )


def test_a_failure_is_raised_if_it_is_asked_for() -> None:
    singular, indefinite = dt.ones(2, 2, 2), dt.tensor([[1.0, 2.0], [2.0, 1.0]])
    for function, args, words in (
        (dt.linalg.inv_ex, (singular,), "Batch element 0.*diagonal element 2 is zero"),
        (dt.linalg.solve_ex, (singular, singular), "singular"),
        (dt.linalg.cholesky_ex, (indefinite,), "leading minor of order 2"),
        (dt.linalg.ldl_factor_ex, (dt.zeros(2, 2),), "diagonal element 1 of D"),
    ):
        with pytest.raises(dt.linalg.LinAlgError, match=words):
            function(*args, check_errors=True)


def test_what_has_no_factorisation_is_nan_and_the_others_of_its_batch_keep_their_gradients() -> None:
    x = dt.tensor([[[2.0, 0], [0, 4]], [[1, 1], [1, 1]]], requires_grad=True)
    inverse, info = dt.linalg.inv_ex(x)
    assert info.tolist() == [0, 2] and inverse[1].isnan().all()
    (g,) = dt.autograd.grad(inverse[0].sum(), x)
    assert g[0].tolist() == [[-0.25, -0.125], [-0.125, -0.0625]] and not g[1].any()


def test_a_matrix_of_low_rank_is_found_again_and_its_singular_values_have_gradients() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5))
    x = dt.tensor(matrix, requires_grad=True)
    u, s, v = dt.svd_lowrank(x, q=2)
    np.testing.assert_allclose((u * s @ v.mT).detach().numpy(), matrix, atol=1e-9)
    np.testing.assert_allclose(
        dt.autograd.grad(s.sum(), x)[0].numpy(),
        dt.autograd.grad(dt.linalg.svdvals(x)[:2].sum(), x)[0].numpy(),
        atol=1e-8,
    )
    centred = matrix - matrix.mean(0)
    np.testing.assert_allclose(dt.pca_lowrank(x, 2)[1].detach().numpy(), np.linalg.svd(centred)[1][:2], atol=1e-8)


def test_the_triangle_that_is_not_read_has_no_gradient() -> None:
    x = dt.tensor([[2.0, 5.0], [1.0, 3.0]], requires_grad=True)
    assert dt.autograd.grad(dt.cholesky_inverse(x).sum(), x)[0][0, 1] == 0


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["dense", "batch", "sparse", "general"])
def test_lobpcg_finds_the_eigenvalues_at_one_end(kind: str, largest: bool) -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((2, 12, 12)) if kind == "batch" else rng.standard_normal((12, 12))
    A = root @ np.swapaxes(root, -1, -2) + np.eye(12)
    B = np.diag(np.arange(1.0, 13.0)) if kind == "general" else None
    given = dt.tensor(A).to_sparse() if kind == "sparse" else dt.tensor(A)
    other = None if B is None else dt.tensor(B)
    X = dt.tensor(rng.standard_normal((*A.shape[:-1], 3)))
    values, vectors = dt.lobpcg(given, k=2, B=other, X=X, niter=200, tol=1e-9, largest=largest)
    every = np.linalg.eigvalsh(A if B is None else np.diag(np.diag(B) ** -0.5) @ A @ np.diag(np.diag(B) ** -0.5))
    wanted = every[..., ::-1][..., :2] if largest else every[..., :2]
    np.testing.assert_allclose(values.numpy(), wanted, 1e-5)
    right = vectors if B is None else other @ vectors
    np.testing.assert_allclose((dt.tensor(A) @ vectors).numpy(), (right * values.unsqueeze(-2)).numpy(), 1e-3, 1e-3)
    if kind != "sparse":
        x = dt.tensor(A, requires_grad=True)
        exact = dt.lobpcg(x, k=2, B=other, largest=largest)[0]
        np.testing.assert_allclose(exact.detach().numpy(), wanted, 1e-9)
        assert dt.autograd.gradcheck(lambda a: dt.lobpcg((a + a.mT) / 2, k=2, B=other, largest=largest)[0], x)


def test_lobpcg_says_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="3 x the number"):
        dt.lobpcg(dt.eye(4), k=2)
    with pytest.raises(NotImplementedError, match="tracker"):
        dt.lobpcg(dt.eye(4), tracker=print)
    with pytest.raises(ValueError, match="method"):
        dt.lobpcg(dt.eye(4), method="other")


@needs_torch
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_of_no_matrices_there_is_nothing_to_tell(dtype: str) -> None:
    same(f"torch.linalg.cholesky_ex(torch.ones(0, 2, 2, dtype=torch.{dtype})).info")
    same(f"torch.linalg.cholesky_ex(torch.ones(3, 0, 2, 2, dtype=torch.{dtype})).info.shape")
