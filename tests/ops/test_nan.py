"""NaN in every place of the arguments of every op: values and gradients are NaN where PyTorch's are.

A NaN that is swallowed hides a mistake of the user's; one that is made where PyTorch has a number is a mistake of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import DEEP, arrays, cases, converted, first_samples, leaves, oracle

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")

# Why an op is not compared; each name is checked to be one of an op.
EXCEPT: dict[str, str] = {
    **dict.fromkeys(
        ("elu", "selu", "celu", "hardswish", "hardtanh", "relu6", "hardshrink", "softshrink"),
        "PyTorch's gradient at NaN depends on whether vector instructions reach the element",
    ),
    **dict.fromkeys(
        ("prod", "cumprod", "scatter_reduce", "index_reduce", "segment_reduce"),
        "PyTorch divides products by the element: NaN in all gradients, where they are exact here",
    ),
    **dict.fromkeys(
        (
            "cholesky",
            "inverse",
            "linalg_solve",
            "slogdet",
            "linalg_lu_factor_ex",
            "linalg_lu_factor",
            "linalg_lu",
            "linalg_lu_solve",
            "lu",
            "lu_solve",
            "linalg_cholesky",
            "linalg_cholesky_ex",
            "linalg_inv_ex",
            "det",
            "logdet",
            "linalg_solve_ex",
            "linalg_householder_product",
            "orgqr",
            "ormqr",
            "qr",
            "qr_tall",
            "linalg_qr",
            "linalg_tensorinv",
            "linalg_tensorsolve",
            "triangular_solve",
            "solve_triangular",
            "linalg_eigvalsh",
            "linalg_solve_triangular",
            "linalg_eigh",
            "linalg_svd",
            "svd",
            "linalg_eig",
            "linalg_eigvals",
            "linalg_lstsq",
            "linalg_svdvals",
            "linalg_pinv",
            "pinverse",
            "matrix_exp",
            "linalg_cond",
            "linalg_matrix_rank",
            "linalg_ldl_factor",
            "linalg_ldl_solve",
            "nuclear_norm",
            "geqrf",
            "matrix_power",
            "lobpcg",
            "pca_lowrank",
            "svd_lowrank",
            "cholesky_inverse",
            "cholesky_solve",
            "lu_unpack",
        ),
        "which entries a factorisation reaches is the library's",
    ),
    **dict.fromkeys(("special_i1", "special_i1e"), "PyTorch's gradient at NaN is that at 0"),
    **dict.fromkeys(
        ("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"),
        "PyTorch turns NaN into an index, and its backward pass reads outside its memory",
    ),
    "scaled_dot_product_attention": "causal attention of PyTorch's gives 0 for a query that is NaN, other masks NaN",
    "cdist": "of order infinity PyTorch passes NaN over in the value and not in the gradient",
    "interpolate": "with antialias=True a weight may round to 0 here, or to nearly 0 there",
    "mode": "NaN is not equal to itself, so counts are those of PyTorch's order of comparisons",
    "nn_embedding_bag": "PyTorch's maximum keeps what came before NaN",
    "polar": "PyTorch divides by the modulus, also where the gradient does not need it",
    "norm_except_dim": "of vectors PyTorch divides 0 by 0",
    "nanmean": "of a number that is NaN PyTorch divides by a count of 0",
    "trapezoid": "of one point PyTorch multiplies it by 0",
    "logcumsumexp": "of 0 dimensions PyTorch's gradient does not look at the value",
    "nn_rrelu": "PyTorch keeps the slope at NaN 1 where lower and upper are equal",
    "conv_tbc": "PyTorch does not multiply by padding",
    "cov": "PyTorch refuses weights that are NaN",
    "sgn": "PyTorch's gradient is a tensor without memory",
}
CASES = first_samples(
    [
        case
        for case in cases()
        if oracle(case[1]) is not None and case[2].torch and case[1].complex != "only" and case[1].name not in EXCEPT
    ],
    3,
)


def computed(m: Any, function: Any, args: tuple, kwargs: dict, inputs: list) -> tuple[list, list] | type:
    """Results and gradients as arrays; or the class of error."""
    known = {id(a): m.tensor(a, requires_grad=True) for a in inputs}
    convert = lambda a: known[id(a)] if id(a) in known else m.from_numpy(a.copy())
    try:
        result = function(
            *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
        )
        outs = [out for out in leaves(result) if isinstance(out, m.Tensor)]
        roots = [out for out in outs if out.requires_grad]
        if not roots:
            return [out.detach().resolve_conj().numpy() for out in outs], []
        weights = [m.ones_like(root.detach()) for root in roots]
        gradients = m.autograd.grad(roots, list(known.values()), weights, allow_unused=True)
        shown = [
            np.zeros(tuple(x.shape)) if g is None else g.detach().resolve_conj().numpy()
            for g, x in zip(gradients, known.values(), strict=True)
        ]
        return [out.detach().resolve_conj().numpy() for out in outs], shown
    except (RuntimeError, ValueError, TypeError, NotImplementedError, IndexError) as error:
        return type(error)


@pytest.mark.parametrize(("row", "sample"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_nan_goes_where_pytorchs_goes(row: Any, sample: Any) -> None:
    inputs = arrays(sample, "float64")[2]
    for k, original in enumerate(inputs):
        if original.dtype.kind != "f" or not original.size:
            continue
        rng = np.random.default_rng(0)
        places = range(original.size) if DEEP else sorted({0, int(rng.integers(original.size))})
        for place in places:
            args, kwargs, given = arrays(sample, "float64")
            given[k][np.unravel_index(place, original.shape)] = np.nan
            theirs = computed(torch, oracle(row), args, kwargs, given)
            if isinstance(theirs, type):
                continue  # what PyTorch refuses
            ours = computed(dt, row.function, args, kwargs, given)
            assert not isinstance(ours, type), f"{row.name}: {ours} where PyTorch computes"
            for what, mine, other in zip(("value", "gradient"), ours, theirs, strict=True):
                for number, (a, b) in enumerate(zip(mine, other, strict=True)):
                    if b.dtype.kind in "fc":
                        np.testing.assert_array_equal(
                            np.isnan(a), np.isnan(b), f"{row.name}: {what} {number}, NaN in argument {k} at {place}"
                        )
                        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


def test_the_exceptions_are_ops() -> None:
    names = {row.name for _, row, _ in cases()}
    assert not {name for name in EXCEPT if name not in names}


@pytest.mark.parametrize("name", ["elu", "selu", "celu", "hardswish"])
def test_activations_with_a_curved_side_have_gradients_that_are_nan(name: str) -> None:
    for size in (1, 5, 64):
        x = dt.full((size,), float("nan"), requires_grad=True)
        getattr(dt.nn.functional, name)(x).sum().backward()
        assert x.grad.isnan().all()


@pytest.mark.parametrize("name", ["hardtanh", "relu6"])
def test_activations_cut_on_both_sides_pass_the_gradient_at_nan(name: str) -> None:
    x = dt.tensor([float("nan"), 0.5, 9.0], requires_grad=True)
    getattr(dt.nn.functional, name)(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0]


def test_a_masked_score_that_is_nan_shows_in_attention() -> None:
    for m in (dt, torch):
        query, key = m.ones(1, 2, 4), m.ones(1, 3, 4)
        key[0, 2] = float("nan")
        mask = m.tensor([[True, True, False], [True, True, True]])
        found = m.nn.functional.scaled_dot_product_attention(query, key, m.ones(1, 3, 4), attn_mask=mask)
        assert found.isnan().all()


def test_distances_of_nan() -> None:
    nan = float("nan")
    for p in (0.0, 1.0, 1.5, 2.0, float("inf")):
        found = []
        for m in (dt, torch):
            x = m.tensor([[1.0, nan], [0.0, 3.0], [2.0, 2.0]], requires_grad=True)
            pairs = m.nn.functional.pdist(x, p)
            pairs.sum().backward()
            between = m.cdist(x.detach(), m.tensor([[0.0, 3.0]]), p)
            gradient = np.zeros((3, 2)) if x.grad is None else x.grad.numpy()
            found.append([pairs.tolist(), gradient, between.tolist()])
        np.testing.assert_allclose(found[0][0], found[1][0])
        np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-6)
        if p < float("inf"):  # where PyTorch's gradient is NaN for elements that the distance does not depend on
            np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


def test_acosh_below_its_domain_has_pytorchs_gradient() -> None:
    for m in (dt, torch):
        x = m.tensor([-2.0, 0.5, 2.0], requires_grad=True)
        m.acosh(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), [3**-0.5, np.nan, 3**-0.5], rtol=1e-6)
