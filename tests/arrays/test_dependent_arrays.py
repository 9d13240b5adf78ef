"""Arrays that know what they depend on: every op of the table over them, forward and backward, against the true
derivatives.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.sparsity.dependence import DensePatternError, Table
from dualtape.arrays.sparsity.dependent import Dependent
from dualtape.func.sparse import hessian_pattern, jacobian_pattern
from dualtape.ops.table import ELEMENTWISE, TABLE
from op_cases import DEEP, UP_TO_SIGN, arrays, cases, converted, leaves

SAMPLES: dict[str, tuple[Any, list]] = {}
for _name, _row, _sample in cases():
    if arrays(_sample, "float64")[2]:
        _known = SAMPLES.setdefault(_row.name, (_row, []))[1]
        if DEEP or len(_known) < 3:
            _known.append(_sample)
RANDOM = {
    "dropout",
    "bernoulli",
    "rrelu",
    "alpha_dropout",
    "feature_dropout",
    "feature_alpha_dropout",
    "scaled_dot_product_attention",
}


def flattened(row: Any, sample: Any, only: int | None = None) -> tuple[Any, np.ndarray]:
    """An op as a function of one vector, the elements of its differentiable arguments (or of one of them); and the
    vector.

    Complex numbers are made of two real ones, and taken apart again in the result, whose floating-point parts are
    joined in one vector.
    """
    kind = "complex128" if row.complex == "only" else "float64"
    args, kwargs, result = arrays(sample, kind)
    chosen = result if only is None else [result[only]]
    parts = [
        a.view(np.float64) if a.dtype.kind == "c" else a
        for a in (np.ascontiguousarray(a).reshape(a.shape) for a in chosen)
    ]
    bounds = np.cumsum([0, *(p.size for p in parts)])

    def function(x: Any) -> Any:
        known = {}
        for k, a in enumerate(chosen):
            piece = x[int(bounds[k]) : int(bounds[k + 1])]
            known[id(a)] = (
                piece.reshape(a.shape) if a.dtype.kind != "c" else dt.view_as_complex(piece.reshape(*a.shape, 2))
            )
        convert = lambda a: known[id(a)] if id(a) in known else dt.from_numpy(a.copy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outs = leaves(
                row.function(
                    *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
                )
            )
        outs = [o for o in outs if isinstance(o, dt.Tensor) and (o.is_floating_point() or o.is_complex())]
        if row.name in UP_TO_SIGN:
            outs = [o.abs() for o in outs]
        outs = [
            dt.view_as_real(o.resolve_conj() if hasattr(o, "resolve_conj") else o) if o.is_complex() else o
            for o in outs
        ]
        return dt.cat([o.reshape(-1).to(dt.float64) for o in outs]) if outs else x[:0]

    return function, np.concatenate([p.ravel() for p in parts])


def dense_jacobian(function: Any, x: np.ndarray) -> np.ndarray:
    point = dt.tensor(x, requires_grad=True)
    out = function(point)
    rows = np.zeros((out.numel(), x.size))
    for i in range(out.numel() if out.requires_grad else 0):
        start = np.zeros(out.numel())
        start[i] = 1
        (found,) = dt.autograd.grad(out, point, dt.tensor(start), retain_graph=True, allow_unused=True)
        rows[i] = 0 if found is None else found.numpy()
    return rows


def found_pattern(function: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pattern of the Jacobian, dense, and the values that were computed on the way."""
    seen = []

    def watched(v: Any) -> Any:
        seen.append(function(v))
        return seen[0]

    pattern = jacobian_pattern(watched)(x).toarray()
    array = seen[0]._array
    return pattern, array.values if isinstance(array, Dependent) else array


def choices(sample: Any) -> list:
    """All differentiable arguments together, and each alone beside constants."""
    count = len(arrays(sample, "float64")[2])
    return [None, *(range(count) if count > 1 else ())]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_pattern_of_every_op_holds_the_nonzeros_of_its_jacobian(name: str) -> None:
    row, samples = SAMPLES[name]
    for sample in samples:
        for only in choices(sample):
            function, x = flattened(row, sample, only)
            if name in RANDOM:
                jacobian_pattern(function)(x)
                continue
            truth = dense_jacobian(function, x)
            found, values = found_pattern(function, x)
            assert found.shape == truth.shape
            np.testing.assert_allclose(values, function(dt.tensor(x)).numpy(), rtol=1e-7, atol=1e-9, equal_nan=True)
            numbers = ~np.isnan(values)[:, None]  # where the result is NaN, a derivative says nothing
            assert not np.any((np.nan_to_num(truth) != 0) & ~found & numbers), f"{sample}, argument {only}"
            if (
                getattr(row, "kind", None) == ELEMENTWISE
                and len(choices(sample)) == 1
                and found.shape[0] == x.size
                and row.complex != "only"
            ):
                assert not np.any(found & ~np.eye(x.size, dtype=bool)), f"{sample}: not diagonal"


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in TABLE or TABLE[name].inputs])
def test_the_pattern_of_every_op_holds_the_nonzeros_of_its_hessian(name: str) -> None:
    row, samples = SAMPLES[name]
    for sample in samples:
        if not (sample.check and sample.second):
            continue
        for only in choices(sample):
            function, x = flattened(row, sample, only)
            weights = np.random.default_rng(3).standard_normal(function(dt.tensor(x)).numel())
            weighted = lambda v, function=function, weights=weights: (function(v) * dt.tensor(weights)).sum()
            found = hessian_pattern(weighted)(x).toarray()
            if name not in RANDOM:
                truth = dense_jacobian(lambda v, weighted=weighted: gradient(weighted, v), x)
                assert not truth.size or not np.any((np.nan_to_num(truth) != 0) & ~found), f"{sample}, argument {only}"


def gradient(function: Any, v: Any) -> Any:
    out = function(v)
    found = dt.autograd.grad(out, v, create_graph=True, allow_unused=True)[0] if out.requires_grad else None
    return dt.zeros(0) if found is None else found


# --- rules, one by one ----------------------------------------------------------------------------


def pattern(function: Any, x: Any) -> list:
    return jacobian_pattern(function)(np.asarray(x, float)).toarray().astype(int).tolist()


def test_a_sum_broadcast_back_is_one_shared_row() -> None:
    found = jacobian_pattern(lambda x: (x * x.sum() / x.norm())[:3])(np.ones(100_000))
    assert found.shape == (3, 100_000) and found.nnz == 300_000


def test_a_dense_pattern_is_given_up_to_a_limit_and_refused_beyond() -> None:
    assert hessian_pattern(lambda x: x.sum() ** 2)(np.ones(300)).nnz == 90_000
    with pytest.raises(DensePatternError, match="dense"):
        hessian_pattern(lambda x: x.sum() ** 2)(np.ones(100_000))
    with pytest.raises(DensePatternError, match="dense"):
        jacobian_pattern(lambda x: x.cumsum(0))(np.ones(100_000))


def test_the_gradient_of_a_sum_couples_nothing() -> None:
    found = hessian_pattern(lambda x: x.sum() * 3 + (x * dt.arange(5.0)).sum() + x[0] ** 2)(np.ones(5))
    assert found.nnz == 1


def test_zeros_of_constants_pass_nothing_on() -> None:
    bands = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0]])
    for function in (
        lambda x: dt.tensor(bands) @ x,
        lambda x: (x[None] @ dt.tensor(bands.T))[0],
        lambda x: dt.einsum("ij,j->i", dt.tensor(bands), x),
        lambda x: (dt.tensor(bands) * x).sum(1),
        lambda x: dt.tensordot(dt.tensor(bands), x, 1),
    ):
        assert pattern(function, [1, 2, 3]) == [[1, 1, 0], [0, 1, 1]]


def test_zeros_of_masks_pass_on_what_they_may_let_through_elsewhere() -> None:
    assert pattern(lambda x: (x > 0) * x[0], [-1, 2]) == [[1, 0], [1, 0]]
    assert pattern(lambda x: dt.where(x > 0, x, x[0]), [-1, 2]) == [[1, 0], [1, 1]]
    assert pattern(lambda x: dt.where(dt.tensor([True, False]), x, x[0]), [-1, 2]) == [[1, 0], [1, 0]]


def test_zeros_that_an_index_picked_may_be_others_elsewhere() -> None:
    for pick in (lambda c, i: c[i], lambda c, i: dt.take(c, i), lambda c, i: c[i > 0]):
        assert pattern(lambda x, pick=pick: pick(dt.tensor([0.0, 0.0]), dt.argsort(x)) * x[0], [2, 1])[0] == [1, 0]


def test_what_moves_elements_moves_what_they_depend_on() -> None:
    x = np.arange(4.0)
    assert pattern(lambda x: x.flip(0).roll(1), x) == np.eye(4, dtype=int)[[0, 3, 2, 1]].tolist()
    assert pattern(lambda x: x.reshape(2, 2).T.reshape(-1), x) == np.eye(4, dtype=int)[[0, 2, 1, 3]].tolist()
    assert pattern(lambda x: dt.sort(x)[0], [3, 1, 2]) == np.eye(3, dtype=int)[[1, 2, 0]].tolist()
    assert pattern(lambda x: dt.diagonal(x.reshape(2, 2)), x) == np.eye(4, dtype=int)[[0, 3]].tolist()


def test_equal_values_are_taken_for_each_other() -> None:
    assert pattern(lambda x: dt.median(x)[None], [3, 1, 3]) == [[1, 0, 1]]


def test_writes_into_what_the_function_made_are_seen_through_views() -> None:
    def function(x: Any) -> Any:
        out = dt.zeros(2, 2, dtype=x.dtype)
        row = out[1]
        row[0] = x[2]
        row.mul_(x[1])
        out[0, 1] = 5.0
        return out.reshape(-1)

    assert pattern(function, [1, 2, 3]) == [[0, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_writing_into_a_tensor_from_outside_says_what_to_do() -> None:
    outside = dt.zeros(3, dtype=dt.float64)
    with pytest.raises(TypeError, match="made inside"):
        jacobian_pattern(lambda x: outside.copy_(x))(np.ones(3))
    assert outside.tolist() == [0, 0, 0]
    assert isinstance(dt.zeros(1)._array, np.ndarray)


def test_running_sums_depend_on_what_came_before() -> None:
    assert pattern(lambda x: x.cumsum(0), [1, 2, 3]) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert pattern(lambda x: (x.reshape(2, 2) * dt.tensor([[1.0, 0], [1, 1]])).cumsum(1).reshape(-1), [1, 2, 3, 4]) == [
        [1, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 1],
    ]


def test_matrices_of_a_batch_depend_on_their_own() -> None:
    found = jacobian_pattern(lambda x: dt.linalg.inv(x.reshape(3, 2, 2) + 2 * dt.eye(2, dtype=x.dtype)))(
        np.linspace(0, 1, 12)
    )
    assert (found.toarray() == np.kron(np.eye(3), np.ones((4, 4)))).all()


def test_unions_of_random_sets_are_those_of_python() -> None:
    rng = np.random.default_rng(0)
    for columns in (1, 3, 40):
        table = Table(columns)
        known = [set(), set(), *({i} for i in range(columns))]
        for _ in range(30):
            count = int(rng.integers(1, 9))
            groups, sets = rng.integers(0, count, 25), rng.integers(0, table.count, 25)
            result = table.unite(groups, sets, count)
            indptr, indices = table.rows(result)
            for g in range(count):
                members = set().union(*(known[s] for s in sets[groups == g]))
                assert set(indices[indptr[g] : indptr[g + 1]].tolist()) == members
            starts, every = table.rows(np.arange(len(known), table.count))
            known.extend(set(every[a:b].tolist()) for a, b in zip(starts[:-1], starts[1:], strict=True))
            sets = rng.integers(0, table.count, (2, 5))
            indptr, indices = table.rows(table.running(sets, 1).ravel())
            for i in range(10):
                members = set().union(*(known[s] for s in sets[i // 5, : i % 5 + 1]))
                assert set(indices[indptr[i] : indptr[i + 1]].tolist()) == members
            starts, every = table.rows(np.arange(len(known), table.count))
            known.extend(set(every[a:b].tolist()) for a, b in zip(starts[:-1], starts[1:], strict=True))
