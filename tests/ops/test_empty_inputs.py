"""Batches without samples, indices that name nothing, dimensions of size 0: what PyTorch computes is computed, with its
shapes and gradients of zero.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import arrays, cases, converted, leaves
from outcomes import outcome, same, same_outcome, torch

pytestmark = pytest.mark.filterwarnings("ignore")

# --- every op of the table ------------------------------------------------------------------------

# segment_reduce, pdist and lu_unpack of PyTorch end the process, and least squares and eigenvalues may
ENDS_THE_PROCESS = {"segment_reduce", "pdist", "lu_unpack", "linalg_lstsq", "linalg_eig", "linalg_eigvals", "lobpcg"}
ENDS_THE_PROCESS |= {"svd_lowrank", "pca_lowrank"}
ELSEWHERE = {
    "cholesky": "PyTorch's older function does not ask whether a matrix is square",
    "linalg_matrix_rank": "nor does it for hermitian=True",
    "linalg_pinv": "nor here",
    "index_add": "an index out of range is refused, also where it selects nothing",
    "median": "an empty tensor of integers has no median",
    "nanmedian": "as median",
    "qr_tall": "an op of matrices with no more columns than rows",
    "linalg_tensorsolve": "a system without equations",
    "cross_entropy": "there is no class to spread the smoothing over",
    "linear_cross_entropy": "as cross_entropy",
    "conv_tbc": "the kernel is longer than the signal",
    "linalg_ldl_factor_ex": "a batch of another shape",
    "scaled_dot_product_attention": "a mask of a shape that does not fit",
    "lstm": "states of size 0",
    "gru": "states of size 0",
    "rnn_tanh": "states of size 0",
    "rnn_relu": "states of size 0",
}


def first_arrays(value: Any) -> Any:
    """A cut of the first dimension of the arrays that have that of the first array."""
    size: list[int] = []

    def cut(a: np.ndarray) -> np.ndarray:
        if not a.ndim or size and a.shape[0] != size[0]:
            return a
        size.append(a.shape[0])
        return a[:0]

    return converted(value, cut)


CUTS = {
    "the batch": first_arrays,
    "every first dimension": lambda value: converted(value, lambda a: a[:0] if a.ndim else a),
    "every last dimension": lambda value: converted(value, lambda a: a[..., :0] if a.ndim else a),
}
OPS = [
    case
    for case in cases()
    if case[1].torch_name != "-" and case[1].name not in ENDS_THE_PROCESS | set(ELSEWHERE) and case[2].torch
]


def ran(m: Any, row: Any, args: tuple, kwargs: dict) -> tuple:
    """Shapes of the results and gradients of an op, or the class of its error; and of the error of its backward."""
    if m is dt:
        function = row.function
    else:
        function = torch
        for part in row.torch_name.split("."):
            function = getattr(function, part)
    known: list = []

    def tensor(a: np.ndarray) -> Any:
        made = m.tensor(a.copy(), requires_grad=a.dtype.kind in "fc")
        known.append(made)
        return made

    def call() -> list:
        return leaves(
            function(*(converted(a, tensor) for a in args), **{k: converted(v, tensor) for k, v in kwargs.items()})
        )

    outs = outcome(call)
    if isinstance(outs, type):
        return outs, None
    shapes = [(tuple(o.shape), str(o.dtype).partition(".")[2]) if hasattr(o, "shape") else o for o in outs]
    floats = [o for o in outs if getattr(o, "requires_grad", False)]
    inputs = [t for t in known if t.requires_grad]
    if not floats:
        return shapes, None
    return shapes, outcome(lambda: m.autograd.grad([o.abs().sum() for o in floats], inputs, allow_unused=True))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", sorted({case[1].name for case in OPS}))
def test_what_pytorch_computes_of_nothing_is_computed(name: str, cut: str) -> None:
    for _, row, sample in OPS:
        if row.name != name:
            continue
        args, kwargs, _ = arrays(sample, "complex128" if row.complex == "only" else "float64")
        args, kwargs = CUTS[cut]((args, kwargs))
        theirs, their_gradient = ran(torch, row, args, kwargs)
        if isinstance(theirs, type):
            continue
        ours, gradient = ran(dt, row, args, kwargs)
        assert not isinstance(ours, type), (sample, ours)
        if name not in ("pixel_unshuffle",):  # PyTorch gives the shape of the input
            assert ours == theirs, sample
        assert isinstance(their_gradient, type) or not isinstance(gradient, type), (sample, gradient)


# --- indices that name nothing --------------------------------------------------------------------

NOTHING = {"no dimension of its own": (0,), "one of several": (2, 0), "the other": (0, 3), "both": (0, 0)}
INDEXED = {
    "scatter of a number": lambda m, x, i, s: x.scatter(1, i, 5.0),
    "scatter": lambda m, x, i, s: x.scatter(1, i, s),
    "scatter_": lambda m, x, i, s: (x * 1).scatter_(0, i, s),
    "scatter_add": lambda m, x, i, s: x.scatter_add(1, i, s),
    **{
        f"scatter_reduce {reduce}": lambda m, x, i, s, reduce=reduce: x.scatter_reduce(1, i, s, reduce)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
    },
    "gather": lambda m, x, i, s: x.gather(1, i) + s.sum() * 0,
    "take_along_dim": lambda m, x, i, s: m.take_along_dim(x, i.reshape(-1)) + s.sum() * 0,
}


@pytest.mark.parametrize("shape", NOTHING.values(), ids=NOTHING.keys())
@pytest.mark.parametrize("name", INDEXED)
def test_an_index_that_names_nothing_changes_nothing(name: str, shape: tuple[int, ...]) -> None:
    def value(m: Any) -> Any:
        return INDEXED[name](m, m.ones(2, 3), m.zeros(shape, dtype=m.int64), m.ones(2, 3) * 2)

    same_outcome(value)
    x, source = dt.ones(2, 3, requires_grad=True), dt.ones(2, 3, requires_grad=True)
    out = INDEXED[name](dt, x, dt.zeros(shape, dtype=dt.int64), source)
    for create_graph in (True, False):
        grads = dt.autograd.grad(out.sum(), (x, source), create_graph=create_graph, allow_unused=True)
        first = 0.0 if name in ("gather", "take_along_dim") else 1.0
        assert dt.equal(grads[0].detach(), dt.full((2, 3), first))
        assert grads[1] is None or not grads[1].any()


# --- pools ----------------------------------------------------------------------------------------

POOLS = ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool", "fractional_max_pool")


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", [*POOLS, "max_unpool"])
def test_pools_take_an_empty_batch_and_no_other_empty_dimension(kind: str, dims: int) -> None:
    name = f"{kind}{dims}d"
    if not hasattr(torch.nn.functional, name):
        pytest.skip("there is none of so many dimensions")
    plane = (4,) * dims
    for lead in ((0,), (0, 3), (2, 0), (0, 0)):
        more = ((2.0, 2),) if kind == "lp_pool" else ((2, 2),) if kind == "fractional_max_pool" else ((2,),)

        def pooled(m: Any, shape: tuple, more: Any = more) -> Any:
            x = m.zeros(shape)
            if kind == "max_unpool":
                return getattr(m.nn.functional, name)(x, m.zeros(shape, dtype=m.int64), 2)
            return getattr(m.nn.functional, name)(x, *more[0])

        for shape in ((*lead, *plane), (*lead, 0, *plane[1:])):
            same_outcome(lambda m, shape=shape, pooled=pooled: pooled(m, shape))


# --- layers ---------------------------------------------------------------------------------------

LAYERS = {
    "TransformerEncoder": lambda m: m.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(m.zeros(0, 3, 4)),
    "TransformerDecoder": lambda m: m.nn.TransformerDecoderLayer(4, 2, 8)(m.zeros(3, 0, 4), m.zeros(5, 0, 4)),
    "Transformer": lambda m: m.nn.Transformer(4, 2, 1, 1, 8)(m.zeros(3, 0, 4), m.zeros(5, 0, 4)),
    "MultiheadAttention": lambda m: m.nn.MultiheadAttention(4, 2)(*[m.zeros(3, 0, 4)] * 3),
    "masked MultiheadAttention": lambda m: m.nn.MultiheadAttention(4, 2, batch_first=True)(
        *[m.zeros(0, 3, 4)] * 3, key_padding_mask=m.zeros(0, 3, dtype=m.bool), average_attn_weights=False
    ),
    "BatchNorm1d": lambda m: m.nn.BatchNorm1d(3)(m.zeros(0, 3)),
    "BatchNorm2d": lambda m: m.nn.BatchNorm2d(3)(m.zeros(0, 3, 2, 2)),
    "InstanceNorm1d": lambda m: m.nn.InstanceNorm1d(3)(m.zeros(0, 3, 2)),
    "GroupNorm": lambda m: m.nn.GroupNorm(2, 4)(m.zeros(0, 4, 2)),
    "LayerNorm": lambda m: m.nn.LayerNorm(4)(m.zeros(0, 4)),
    "RMSNorm": lambda m: m.nn.RMSNorm(4)(m.zeros(0, 4)),
    "Conv2d": lambda m: m.nn.Conv2d(3, 2, 2)(m.zeros(0, 3, 4, 4)),
    "Linear": lambda m: m.nn.Linear(3, 2)(m.zeros(0, 3)),
    "Upsample": lambda m: m.nn.Upsample(scale_factor=2)(m.zeros(0, 3, 4)),
    "FractionalMaxPool2d": lambda m: m.nn.FractionalMaxPool2d(2, output_size=2)(m.zeros(0, 3, 4, 4)),
    "EmbeddingBag": lambda m: m.nn.EmbeddingBag(3, 2, mode="max")(m.zeros(0, dtype=m.int64), m.tensor([0, 0])),
    "sort": lambda m: m.zeros(0, 3).sort(),
    "samples of vmap": lambda m: m.vmap(lambda a: a @ a + m.linalg.inv(a))(m.zeros(0, 3, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_an_empty_batch(name: str) -> None:
    same(LAYERS[name](dt), LAYERS[name](torch))


def test_attention_of_no_samples_and_of_heads_of_size_0() -> None:
    for shape in ((0, 3, 4), (2, 0, 4), (2, 3, 0)):
        same_outcome(lambda m, shape=shape: m.nn.functional.scaled_dot_product_attention(*[m.ones(shape)] * 3))


def test_an_empty_batch_teaches_a_batch_norm_nothing() -> None:
    layer = dt.nn.BatchNorm1d(3)
    layer(dt.zeros(0, 3)).sum().backward()
    assert layer.running_mean.tolist() == [0.0] * 3
    assert layer.running_var.tolist() == [1.0] * 3
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0.0] * 3


def test_bags_of_padding_alone_are_zeros_with_a_gradient_of_zero() -> None:
    for mode, index in itertools.product(("max", "sum", "mean"), ([[1, 1], [1, 1]], [[1, 1], [1, 0]])):

        def computed(m: Any, mode: str = mode, index: Any = index) -> Any:
            weight = m.ones(3, 2, requires_grad=True)
            out = m.nn.functional.embedding_bag(m.tensor(index), weight, mode=mode, padding_idx=1)
            out.sum().backward()
            return out, weight.grad

        same_outcome(computed)


# --- several ellipses -----------------------------------------------------------------------------

KEYS = [(..., ...), (..., 0, ...), (0, ..., ...), (..., None, ...), (slice(0, 1), ..., ...), (..., ..., ...)]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_further_ellipses_at_the_end_of_a_key_stand_for_nothing(key: tuple) -> None:
    same_outcome(lambda m: m.arange(24).reshape(2, 3, 4)[key])

    def written(m: Any) -> Any:
        x = m.zeros(2, 3, 4)
        x[key] = 1
        return x

    same_outcome(written)


@pytest.mark.parametrize("key", [(..., ..., 0), (..., 0, ..., None), (..., ..., slice(1))], ids=repr)
def test_an_ellipsis_before_something_else_is_the_only_one(key: tuple) -> None:
    with pytest.raises(IndexError, match="a single ellipsis"):
        dt.zeros(2, 3, 4)[key]
