"""Parametrisations: weights by direction and length, of spectral norm one, or orthogonal."""

from __future__ import annotations

from typing import Any

from ..._listing import listing
from ..._tensor.dtypes import finfo
from ..._tensor.shaped import eye, zeros_like
from ..._tensor.tensor import Tensor
from ...modes import no_grad
from ...ops import FUNCTIONS
from ...random import randn
from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization
from .weight_norm import norm_except, rescaled

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _weight(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no parameter or buffer named {name!r}")
    return weight


# --- orthogonal -----------------------------------------------------------------------------------


def _make_orthogonal(matrix: Any) -> Any:
    """Return the factor Q of a matrix, with the signs that leave an orthogonal one unchanged."""
    from ... import linalg

    q, r = linalg.qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix: Any) -> bool:
    n, k = matrix.shape[-2:]
    identity = eye(k, dtype=matrix.dtype, device=matrix.device)
    return bool(((matrix.mH @ matrix) - identity).abs().max() <= 10.0 * n * finfo(matrix.dtype).eps)


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "orthogonal_map='householder' is for real tensors: use 'matrix_exp' or 'cayley' for complex ones"
            )
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        from ... import linalg

        turned = X.size(-2) < X.size(-1)
        X = X.mT if turned else X
        n, k = X.shape[-2:]
        if self.orthogonal_map == "householder":
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = linalg.householder_product(A, tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = FUNCTIONS["cat"]([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
            A = X - X.mH
            if self.orthogonal_map == "matrix_exp":
                Q = A.matrix_exp()
            else:
                identity = eye(n, dtype=A.dtype, device=A.device)
                Q = linalg.solve(identity - A / 2, identity + A / 2)
            Q = Q if n == k else Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if turned else Q

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(f"expected matrices of shape {tuple(self.shape)}, got a tensor of shape {tuple(Q.shape)}")
        given, turned = Q, Q.size(-2) < Q.size(-1)
        Q = Q.mT if turned else Q
        n, k = Q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "with use_trivialization=False nothing can be assigned to a tensor made by 'matrix_exp' or"
                    " 'cayley', which have no inverse here: pass use_trivialization=True"
                )
            A, tau = Q.geqrf()
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return A.mT if turned else A
        if n == k:
            self.base = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            rest = randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            self.base = _make_orthogonal(FUNCTIONS["cat"]([Q, rest], -1))
        negative = zeros_like(given)  # which every map takes to the identity
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Make a matrix of a module orthogonal: its rows or columns, the fewer of them, orthonormal.

    Parameters
    ----------
    module : Module
    name : str
    orthogonal_map : str, optional
        How it is made from the original: ``"matrix_exp"`` or ``"cayley"`` of a skew-symmetric matrix, or
        ``"householder"`` reflections. Default: the first if it is square or complex, else the last.
    use_trivialization : bool
        Keep a fixed matrix beside, so that any orthogonal one can be assigned.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.orthogonal(dt.nn.Linear(4, 2))
    >>> dt.allclose(layer.weight @ layer.weight.T, dt.eye(2), atol=1e-5)
    True
    """
    weight = _weight(module, name)
    if weight.dim() < 2:
        raise ValueError(f"expected a matrix, or a batch of matrices, got a tensor of {weight.dim()} dimensions")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f"orthogonal_map has to be one of {_MAPS}. Got: {orthogonal_map}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


# --- norms ----------------------------------------------------------------------------------------


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return rescaled(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Make a weight the product of a length and a direction, which are learned separately.

    Parameters
    ----------
    module : Module
    name : str
    dim : int or None
        There is one length for each place in this dimension; None: one for all.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.weight_norm(dt.nn.Linear(4, 2))
    >>> layer.parametrizations.weight.original0.shape, layer.parametrizations.weight.original1.shape
    (dualtape.Size([2, 1]), dualtape.Size([2, 4]))
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older(state_dict: dict, prefix: str, *others: Any) -> None:
        """Rename entries of state dicts that the deprecated form wrote."""
        if f"{prefix}{name}_g" in state_dict and f"{prefix}{name}_v" in state_dict:
            for number, suffix in enumerate("gv"):
                key = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[key] = state_dict.pop(f"{prefix}{name}_{suffix}")

    module._register_load_state_dict_pre_hook(from_older)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        count = weight.dim()
        if not -count <= dim < count:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{count}, {count - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations must be 1 or more, got {n_power_iterations}")
        self.dim, self.eps = dim % count, eps
        if count > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Any) -> Any:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Any, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(weight_mat.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # clones: the buffers are written again before the backward of a second forward
        u, v = self._u.clone(), self._v.clone()
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iterations.

    Parameters
    ----------
    module : Module
    name : str
    n_power_iterations : int
        How many there are in each forward in training.
    eps : float
    dim : int, optional
        The dimension of the outputs; default: that of the layer.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.parametrizations.spectral_norm(dt.nn.Linear(4, 2), n_power_iterations=20)
    >>> abs(dt.linalg.matrix_norm(layer.weight, 2).item() - 1) < 0.1
    True
    """
    weight = _weight(module, name)
    made = _SpectralNorm(weight, n_power_iterations, outputs_of(module) if dim is None else dim, eps)
    return register_parametrization(module, name, made)


def outputs_of(module: Module) -> int:
    """Return the dimension of a layer's weight that counts its outputs."""
    from ..modules.conv import _ConvTransposeNd

    return 1 if isinstance(module, _ConvTransposeNd) else 0


__dir__ = listing(__name__)
