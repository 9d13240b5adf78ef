"""Products and linear algebra beyond the generated tests: one-sided inputs, gauges, errors, names."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from dualtape.autograd import gradcheck, gradgradcheck
from same_program import needs_torch, programs, same

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(5)


def square(*shape: int, dtype: str = "float64") -> np.ndarray:
    result = RNG.normal(size=shape)
    return (result + 1j * RNG.normal(size=shape) if dtype == "complex128" else result).astype(dtype)


def hermitian(lib, a):
    """A positive definite matrix that depends on all of ``a``."""
    return a @ a.mH + 3 * lib.eye(a.shape[-1], dtype=a.dtype)


# functions of a factorisation that do not depend on the signs and phases that LAPACK chooses
INVARIANT = {
    "cholesky": lambda lib, a: lib.linalg.cholesky(hermitian(lib, a)),
    "cholesky upper": lambda lib, a: lib.linalg.cholesky(hermitian(lib, a), upper=True),
    "eigenvalues": lambda lib, a: lib.linalg.eigh(hermitian(lib, a))[0],
    "eigenvectors": lambda lib, a: abs(lib.linalg.eigh(hermitian(lib, a))[1]),
    "eigh, upper triangle": lambda lib, a: lib.linalg.eigh(hermitian(lib, a), "U")[0],
    "eigvalsh": lambda lib, a: lib.linalg.eigvalsh(hermitian(lib, a)),
    "singular vectors": lambda lib, a: (
        abs(lib.linalg.svd(a, full_matrices=False)[0]),
        abs(lib.linalg.svd(a, full_matrices=False)[2]),
    ),
    "svd, wide": lambda lib, a: (
        abs(lib.linalg.svd(a[..., :2, :], full_matrices=False)[0]),
        abs(lib.linalg.svd(a[..., :2, :], full_matrices=False)[2]),
    ),
    "svd, tall, full": lambda lib, a: (abs(lib.linalg.svd(a[..., :2])[0][..., :2]), abs(lib.linalg.svd(a[..., :2])[2])),
    "rank one part": lambda lib, a: (lambda u, s, vh: u[..., :1] * s[..., None, :1] @ vh[..., :1, :])(
        *lib.linalg.svd(a, full_matrices=False)
    ),
    "svdvals": lambda lib, a: lib.linalg.svdvals(a),
    "cholesky_solve": lambda lib, a: lib.cholesky_solve(a, lib.linalg.cholesky(hermitian(lib, a))),
}


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", INVARIANT)
def test_factorisations_have_pytorchs_values_and_gradients(name, dtype, shape):
    a = square(*shape, dtype=dtype)
    results = []
    for lib in (dt, torch):
        x = lib.tensor(a, requires_grad=True)
        out = INVARIANT[name](lib, x)
        out = out if isinstance(out, tuple) else (out,)
        loss = sum(
            (abs(o) ** 2 * lib.tensor(np.cos(np.arange(o.detach().numpy().size)).reshape(o.shape))).sum() for o in out
        )
        (grad,) = lib.autograd.grad(loss, x)
        results.append(
            ([o.detach().numpy() for o in out], grad.resolve_conj().numpy() if lib is torch else grad.numpy())
        )
    for ours, theirs in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", INVARIANT)
def test_factorisations_are_right_by_finite_differences_to_second_order(name, dtype):
    x = dt.tensor(square(3, 3, dtype=dtype), requires_grad=True)
    assert gradcheck(lambda a: INVARIANT[name](dt, a), (x,))
    assert gradgradcheck(lambda a: INVARIANT[name](dt, a), (x,), atol=1e-4)


def test_eigenvalues_that_coincide_have_a_gradient_where_their_vectors_do_not_matter():
    x = dt.eye(3, dtype=dt.float64, requires_grad=True)
    values, vectors = dt.linalg.eigh(x)
    (values.sum() + (vectors @ vectors.mT).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(3))


def test_the_third_derivative_of_det_is_right():
    x = dt.tensor(square(3, 3), requires_grad=True)
    v = dt.tensor(square(3, 3))

    def second(a):
        (g,) = dt.autograd.grad(dt.det(a), a, create_graph=True)
        return dt.autograd.grad((g * v).sum(), a, create_graph=True)[0]

    assert gradcheck(second, (x,))


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, a, s: lib.linalg.inv(s),
        lambda lib, a, s: lib.linalg.solve(s, a),
        lambda lib, a, s: lib.linalg.cholesky(-s - lib.eye(3)),
    ],
    ids=["inv", "solve", "cholesky"],
)
def test_what_has_no_factorisation_raises_linalg_error(call):
    for lib in (dt, torch):
        with pytest.raises(lib.linalg.LinAlgError):
            call(lib, lib.ones(3, 3), lib.zeros(3, 3))
    assert issubclass(dt.linalg.LinAlgError, RuntimeError) and issubclass(dt.linalg.LinAlgError, np.linalg.LinAlgError)


def test_tensordot_sums_over_what_the_other_has_once():
    result = []
    for lib in (torch, dt):
        x, y = lib.arange(6.0).reshape(2, 3).requires_grad_(), lib.ones(1, 4, requires_grad=True)
        out = [lib.tensordot(x, y, 1), lib.tensordot(x[:1], x, ([0], [0]))]
        result.append([v.tolist() for v in (*out, *lib.autograd.grad(sum((o * o).sum() for o in out), (x, y)))])
    assert result[0] == result[1]


BAD = {
    "mm of vectors": lambda lib: lib.mm(lib.ones(3), lib.ones(3)),
    "mm sizes": lambda lib: lib.mm(lib.ones(2, 3), lib.ones(2, 3)),
    "mm dtypes": lambda lib: lib.mm(lib.ones(2, 2), lib.ones(2, 2, dtype=lib.float64)),
    "mv sizes": lambda lib: lib.mv(lib.ones(2, 3), lib.ones(2)),
    "dot sizes": lambda lib: lib.dot(lib.ones(2), lib.ones(3)),
    "bmm batches": lambda lib: lib.bmm(lib.ones(2, 3, 3), lib.ones(3, 3, 3)),
    "matmul batches": lambda lib: lib.ones(2, 3, 3) @ lib.ones(3, 3, 3),
    "matmul of a scalar": lambda lib: lib.ones(3) @ lib.tensor(1.0),
    "addmm sizes": lambda lib: lib.addmm(lib.ones(4), lib.ones(2, 3), lib.ones(3, 2)),
    "einsum operands": lambda lib: lib.einsum("ij,jk", lib.ones(2, 2)),
    "einsum dimensions": lambda lib: lib.einsum("ijk", lib.ones(2, 2)),
    "einsum sizes": lambda lib: lib.einsum("ij,jk", lib.ones(2, 3), lib.ones(2, 2)),
    "einsum output": lambda lib: lib.einsum("ij->k", lib.ones(2, 3)),
    "einsum repeated output": lambda lib: lib.einsum("ij->ii", lib.ones(2, 3)),
    "tensordot sizes": lambda lib: lib.tensordot(lib.ones(2, 3), lib.ones(2, 3), 1),
    "cross sizes": lambda lib: lib.linalg.cross(lib.ones(2, 2), lib.ones(2, 2)),
    "inv of a rectangle": lambda lib: lib.linalg.inv(lib.ones(2, 3)),
    "inv of integers": lambda lib: lib.linalg.inv(lib.ones(2, 2, dtype=lib.int64)),
    "det of a vector": lambda lib: lib.linalg.det(lib.ones(3)),
    "solve sizes": lambda lib: lib.linalg.solve(lib.eye(3), lib.ones(2, 2)),
    "solve dtypes": lambda lib: lib.linalg.solve(lib.eye(2), lib.ones(2, dtype=lib.float64)),
    "norm order": lambda lib: lib.linalg.matrix_norm(lib.eye(2), 3),
    "norm dims": lambda lib: lib.linalg.norm(lib.ones(2, 2, 2), 2),
    "qr mode": lambda lib: lib.linalg.qr(lib.eye(2), "wrong"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_shapes_and_types_raise_as_in_pytorch(name):
    with pytest.raises(RuntimeError) as theirs:
        BAD[name](torch)
    with pytest.raises(RuntimeError) as ours:
        BAD[name](dt)
    assert type(theirs.value) is RuntimeError
    assert len(str(ours.value)) > 20


NAMES = {
    "DotBackward0": lambda a, v, b: v @ v,
    "MvBackward0": lambda a, v, b: a @ v,
    "MmBackward0": lambda a, v, b: a @ a,
    "BmmBackward0": lambda a, v, b: b @ b,
    "LinalgInvExBackward0": lambda a, v, b: dt.linalg.inv(a),
    "LinalgSolveExBackward0": lambda a, v, b: dt.linalg.solve(a, v),
    "LinalgDetBackward0": lambda a, v, b: dt.linalg.det(a),
    "LinalgQrBackward0": lambda a, v, b: dt.linalg.qr(a)[0],
    "LinalgSvdBackward0": lambda a, v, b: dt.linalg.svd(a)[1],
    "LinalgEighBackward0": lambda a, v, b: dt.linalg.eigh(a)[0],
    "AddmmBackward0": lambda a, v, b: dt.nn.functional.linear(a, a, v),
}


@pytest.mark.parametrize("name", NAMES)
def test_products_and_solutions_leave_pytorchs_nodes(name):
    a = dt.tensor(square(3, 3), requires_grad=True)
    assert NAMES[name](a, a[0], dt.stack([a, a])).grad_fn.name() == name


def test_matmul_takes_arrays_on_either_side():
    a, b = square(2, 3), square(3, 2)
    x = dt.tensor(a, requires_grad=True)
    np.testing.assert_allclose((x @ b).detach().numpy(), a @ b)
    np.testing.assert_allclose((b @ x).detach().numpy(), b @ a)
    assert (b @ x).requires_grad


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, a: a @ a,
        lambda lib, a: lib.einsum("ij,jk->ki", a, a),
        lambda lib, a: lib.tensordot(a, a, 1),
        lambda lib, a: lib.outer(a[0], a[0]),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_products_keep_the_dtype(call, dtype):
    a = np.arange(9).reshape(3, 3).astype(dtype)
    ours, theirs = call(dt, dt.tensor(a)).numpy(), call(torch, torch.tensor(a)).numpy()
    assert ours.dtype == theirs.dtype == dtype
    np.testing.assert_array_equal(ours, theirs)


def test_einsum_takes_sublists_and_one_list_of_operands():
    a, b = dt.tensor(square(2, 3)), dt.tensor(square(3, 4))
    expected = (a @ b).numpy()
    np.testing.assert_allclose(dt.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), expected)
    np.testing.assert_allclose(dt.einsum("ij,jk->ik", [a, b]).numpy(), expected)


def test_matmul_writes_into_out():
    a = dt.tensor(square(2, 2))
    out = dt.empty(2, 2, dtype=dt.float64)
    assert dt.matmul(a, a, out=out) is out
    np.testing.assert_allclose(out.numpy(), (a @ a).numpy())
    with pytest.raises(RuntimeError):
        dt.matmul(a.clone().requires_grad_(), a, out=out)


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_gives_what_the_driver_would(driver) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for a, b in (
        (rng.normal(size=(5, 3)), rng.normal(size=(5, 2))),
        (rng.normal(size=(2, 4, 2)), rng.normal(size=(2, 4, 1))),
    ):
        ours = dt.linalg.lstsq(dt.from_numpy(a), dt.from_numpy(b), driver=driver)
        theirs = torch.linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b), driver=driver)
        for name in ("solution", "residuals", "rank", "singular_values"):
            x, y = getattr(ours, name).numpy(), getattr(theirs, name).numpy()
            assert x.dtype == y.dtype and x.shape == y.shape, name
            np.testing.assert_allclose(x, y, rtol=1e-9, err_msg=name)


def test_an_unknown_driver_is_refused() -> None:
    with pytest.raises(RuntimeError, match="should be one of"):
        dt.linalg.lstsq(dt.ones(2, 1), dt.ones(2, 1), driver="best")


SIGNATURES = programs(
    r"""
    torch.linalg.solve(torch.ones(2),torch.ones(2))
    torch.linalg.inv(torch.ones(2,3))
    torch.linalg.cholesky(torch.ones(2,3))
    torch.linalg.det(torch.ones(2,3))
    torch.linalg.inv(torch.ones(2,2,dtype=torch.int64))
    torch.linalg.solve(torch.ones(2,2),torch.ones(3))
    torch.linalg.lstsq(torch.tensor([[1.,2.],[3.,4.],[5.,6.]]),torch.tensor([1.,2.,3.])).solution
    torch.linalg.lstsq(torch.tensor([[1.,2.],[3.,4.],[5.,6.]]).expand(2,3,2),torch.ones(2,3)).solution
    torch.linalg.lstsq(torch.tensor([[1.,2.],[3.,4.],[5.,6.]]).expand(2,3,2),torch.ones(3)).solution
    torch.linalg.norm(input=torch.ones(2,2), ord=2, axis=(0,1), keepdims=True)
    torch.linalg.norm(torch.ones(2,2), dim=0, keepdim=True)
    torch.linalg.norm(torch.ones(2,2), axis=0, keepdims=True)
    torch.linalg.vector_norm(torch.ones(2,2), axis=0, keepdims=True)
    torch.linalg.matrix_norm(torch.ones(2,2), axis=(0,1), keepdims=True)
    torch.linalg.pinv(torch.tensor([[2.,1.],[1.,2.]]), hermitian=True)
    torch.linalg.pinv(torch.tensor([[2.,1.],[1.,2.]]), rtol=0.5)
    torch.linalg.pinv(torch.tensor([[2.,1.],[1.,2.]]), 1e-3, True)
    torch.pinverse(torch.tensor([[2.,1.],[1.,2.]]), rcond=1e-3)
    torch.tensor_split(torch.arange(6.).reshape(2,3), 3, axis=1)
    torch.tensor_split(torch.arange(6.).reshape(2,3), (1,), dim=1)
    torch.tensor_split(torch.arange(6.).reshape(2,3), sections=2, dim=1)
    torch.tensor_split(torch.arange(6.).reshape(2,3), indices=[1], dim=1)
    torch.Generator(device=None) is not None
    torch.Generator(device='cpu') is not None
    torch.Generator('cpu').device.type
    torch.randint_like(torch.ones(3), high=1)
    torch.randint_like(torch.ones(3), low=0, high=1)
    torch.randint_like(torch.ones(3), 0, high=1)
    torch.randint(high=1, size=(2,))
    torch.randint(low=0, high=1, size=(2,))
    torch.searchsorted(torch.ones(2,0), torch.ones(2,3))
    torch.searchsorted(torch.ones(0), torch.ones(3))
    torch.searchsorted(torch.ones(0,4), torch.ones(0,3))
    torch.searchsorted(torch.ones(2,4), torch.ones(2,0))
    torch.detach(torch.ones(2))
    torch.detach_(torch.ones(2))
    """
)


@needs_torch
@pytest.mark.parametrize("line", SIGNATURES)
def test_signatures_and_errors_are_pytorchs(line):
    """The same results by the same names, the same types of errors."""
    same(line, 1e-4)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: dt.linalg.cholesky(x), "linalg.cholesky: (Batch element 1): .*leading minor of order 2"),
        (lambda x: dt.linalg.inv(x * 0 + 1), "linalg.inv: (Batch element 0): The diagonal element 2 is zero"),
        (lambda x: dt.linalg.solve(x * 0 + 1, dt.ones(2, 2, 1)), "linalg.solve: (Batch element 0): .*singular"),
    ],
)
def test_errors_name_the_function_the_matrix_and_the_minor(function, words):
    """Where a factorisation failed is said."""
    x = dt.tensor([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]])
    with pytest.raises(dt.linalg.LinAlgError, match=words.replace("(", r"\(").replace(")", r"\)")):
        function(x)


@pytest.mark.parametrize("left", [True, False])
def test_the_backward_of_solve_goes_through_where_the_forward_did(left):
    """Of a nearly singular matrix one triangular factorisation may exist without that of its transpose."""
    array = np.outer([0.1, 0.1], [0.9, 0.7])
    A = dt.tensor(array if left else array.T.copy(), requires_grad=True)
    B = dt.ones(2, 2, dtype=dt.float64, requires_grad=True)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(array.T, np.ones(2))
    dt.linalg.solve(A, B, left=left).sum().backward()
    assert A.grad.isfinite().all() and B.grad.isfinite().all()
    residual = A.detach().mH @ B.grad - 1 if left else B.grad @ A.detach().mH - 1
    assert residual.abs().max() < 10 * B.grad.abs().max() * 1e-15


def test_the_adjoint_by_the_factors_of_the_matrix_is_the_adjoint():
    """The way round gives what the straight one does, of batches and vectors, too."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 4)) + 0j
    from dualtape.ops.families import linalg as rows

    for left, side in ((True, B), (False, np.swapaxes(B, -1, -2)), (True, B[..., 0])):
        np.testing.assert_allclose(rows._by_factors(A, side, left), rows._solve_adjoint(A, side, left), rtol=1e-10)
