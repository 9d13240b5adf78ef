"""Some eigenvalues of large symmetric matrices, dense or sparse, by iteration."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays.kernels.basics import asarray_like, host
from ...arrays.lazy import scipy_sparse, scipy_sparse_linalg
from ...random import randn
from ..samples import edge
from ..table import TABLE, composite


@composite("lobpcg", method=False, torch_name="-", complex=False,
           samples=(edge(np.diag([5.0, 4.0, 3.0, 2.0, 1.0, 0.5]), 1, None, np.ones((6, 1))),))  # fmt: skip
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None,
    tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> Any:  # fmt: skip
    """The ``k`` largest (or smallest) eigenvalues of ``A x = lambda B x`` and their vectors, found by SciPy's iteration.

    Where `A` requires grad, they are made exact by its whole decomposition, which is what is differentiated.

    Parameters
    ----------
    A, B : Tensor
        Symmetric matrices, or batches of them, dense or (without grad) sparse; `B` positive definite, or None.
    k : int, optional
        How many: as many as `X` has columns, or 1.
    X : Tensor, optional
        Where to begin, a column for each; default: at random, with `n` columns (default: k).
    iK : Tensor, optional
        About the inverse of `A`.
    niter, tol : int, float, optional
        Steps at most (default: 1000; -1: as many as it takes), and the error at which to stop.
    largest : bool, optional
        Default: True.
    method : {"ortho", "basic"}, optional
        PyTorch's two ways; SciPy has one, which keeps its vectors orthonormal as "ortho" does.
    tracker, ortho_iparams, ortho_fparams, ortho_bparams : None
        Of PyTorch's own iteration: refused.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.lobpcg(dt.diag(dt.arange(1.0, 10.0)), k=1)[0].round()
    tensor([9.])
    """
    for name, given in (("tracker", tracker), ("ortho_iparams", ortho_iparams), ("ortho_fparams", ortho_fparams),
                        ("ortho_bparams", ortho_bparams)):  # fmt: skip
        if given is not None:
            raise NotImplementedError(f"lobpcg: {name} is about PyTorch's own iteration; SciPy's is used here")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method must be 'ortho' or 'basic', got {method!r}")
    rows = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    if A.shape[-2] != rows:
        raise RuntimeError(f"lobpcg: expected square matrices, got {list(A.shape)}")
    if not 0 < k <= n or rows < 3 * n:
        raise ValueError(
            f"LPBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of"
            f" requested eigenpairs (={n}); use linalg.eigh"
        )
    largest = True if largest is None else largest
    if A.requires_grad or B is not None and B.requires_grad:
        return _some_of_all(A, B, k, largest)
    return _iterated(A, B, X, iK, n, k, 1000 if niter is None else niter, tol, largest)


def _some_of_all(A: Any, B: Any, k: int, largest: bool) -> tuple:
    """Return eigenpairs selected from the full decomposition; with B = L L^T, of inv(L) A inv(L)^T."""
    eigh = TABLE["linalg_eigh"].function
    if B is None:
        values, vectors = eigh(A)
    else:
        solve = TABLE["linalg_solve_triangular"].function
        L = TABLE["linalg_cholesky"].function(B)
        values, vectors = eigh(solve(L, solve(L, A, upper=False).mT, upper=False).mT)
        vectors = solve(L.mT, vectors, upper=True)
    chosen = slice(-k, None) if largest else slice(0, k)
    values, vectors = values[..., chosen], vectors[..., chosen]
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)


def _iterated(A: Any, B: Any, X: Any, iK: Any, n: int, k: int, niter: int, tol: float | None, largest: bool) -> tuple:
    batch = A.shape[:-2]
    start = randn(*batch, A.shape[-1], n, dtype=A.dtype) if X is None else X
    steps = 10 * A.shape[-1] if niter < 0 else niter
    found = []
    for place in np.ndindex(*batch):
        a, b, x, m = (_for_scipy(each, place) for each in (A, B, start, iK))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what did not converge is given as it is, as PyTorch does
            values, vectors = scipy_sparse_linalg.lobpcg(a, x, b, m, tol=tol, maxiter=steps, largest=largest)
        found.append((values[:k], vectors[:, :k]))
    sides = [np.stack(side).reshape(*batch, *side[0].shape) for side in zip(*found, strict=True)]
    return tuple(new_tensor(asarray_like(side, raw(start), raw(start).dtype)) for side in sides)


def _for_scipy(tensor: Any, place: tuple) -> Any:
    if tensor is None:
        return None
    if tensor.is_sparse:
        tensor = tensor.coalesce()
        parts = [host(raw(each)) for each in (tensor.values(), tensor.indices())]
        return scipy_sparse.coo_array((parts[0], tuple(parts[1])), tensor.shape).tocsr()
    return host(raw(tensor))[place]
