"""The functions beneath those of nn.functional: values, gradients, refusals and numbers beneath, as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

SETUP = """
F = torch.nn.functional
x = torch.linspace(-1, 2, 24, dtype=torch.float64).reshape(2, 3, 4); y = x.flip(2) * 0.7 + 0.1
one = torch.ones(3, dtype=torch.float64)
"""
PROGRAMS = programs(
    r"""
    torch.binary_cross_entropy_with_logits(x, y.sigmoid()), torch.binary_cross_entropy_with_logits(x, y.sigmoid(), None, y.exp(), 0)
    torch.cosine_embedding_loss(x[0], y[0], torch.tensor([1, -1, 1]), 0.1, 2), torch.hinge_embedding_loss(x, x.sign(), 0.5, 0)
    torch.margin_ranking_loss(x, y, x.sign(), 0.1, 1), torch.poisson_nll_loss(x, y.exp(), True, True, 1e-8, 2)
    torch.triplet_margin_loss(x[0], y[0], x[1], 1.0, 2.0, 1e-6, True, 0), torch.triplet_margin_loss(x[0], y[0], x[1])
    torch.alpha_dropout(x, 0.5, False), torch.feature_alpha_dropout(x, 0.0, True), torch.dropout_(x.clone(), 1.0, True), torch.feature_dropout_(x.clone(), 1.0, True)
    list(torch.native_dropout(x, 0.0, True)), torch.rrelu(x, 0.2, 0.2, True), torch.alpha_dropout_(x.clone(), 1.0, True)
    list(torch.adaptive_max_pool1d(x, 2)), torch.affine_grid_generator(x[:, :2, :3], (2, 1, 3, 2), True)
    torch.convolution(x, x[:, :, :2], None, [1], [1], [1], False, [0], 1), torch.convolution(x, x[:1, :, :2].transpose(0, 1), None, [2], [0], [1], True, [1], 1)
    list(torch.native_layer_norm(x, [3, 4], None, None, 1e-5)), list(torch.native_group_norm(x, one, one, 2, 3, 4, 3, 1e-5))
    list(torch.native_batch_norm(x, one, one, None, None, True, 0.1, 1e-5)), torch.native_batch_norm(x, None, None, one, one, False, 0.1, 1e-5)[0]
    torch.instance_norm(x, one, one, None, None, True, 0.1, 1e-5, False)
    torch.relu_(x.clone()), torch.selu_(x.clone()), torch.celu_(x.clone()), torch.threshold_(x.clone(), 0.1, 5.0), F.elu_(x.clone(), 0.5), F.rrelu_(x.clone())
    F.hardtanh_(x.clone(), -0.5, 0.5), F.leaky_relu_(x.clone(), 0.2)
    F.interpolate(x, 3, mode="bilinear")
    F.interpolate(x, 3, mode="nearest", align_corners=True)
    F.interpolate(x, 3, 2.0)
    F.interpolate(x)
    F.interpolate(x, 3, mode="linear", antialias=True)
    F.interpolate(x, 0)
    F.interpolate(x, 3, recompute_scale_factor=True)
    F.grid_sample(x[None], x[None, ..., :2], "cubic")
    F.grid_sample(x[None], x[None, ..., :2], padding_mode="wrap")
    F.grid_sample(x[None], torch.zeros(2, 1, 1, 2))
    F.affine_grid(x, (1, 1, 2, 2))
    F.affine_grid(x[:, :2, :3], (2, 1, 0, 2))
    F.max_pool3d(x, 2)
    F.adaptive_max_pool2d(x, (1, 2, 3))
    F.max_unpool1d(x, torch.zeros(2, 3, 4, dtype=torch.int64) + 99, 2)
    F.max_unpool1d(x, torch.zeros(2, 3, 4, dtype=torch.int64), 2, output_size=(30,))
    F.fractional_max_pool2d(x[None], 2)
    u = torch.tensor([[[0.1, 0.7], [0.9, 0.3]]], dtype=torch.float64); list(F.fractional_max_pool2d(x.reshape(1, 2, 4, 3), 2, (2, 1), None, True, u))
    F.soft_margin_loss(x, y[0]), torch.ctc_loss(x.log_softmax(2), torch.tensor([1, 2, 1]), (2, 1, 2), (1, 1, 1))
    F.soft_margin_loss(x, y.requires_grad_())
    F.multi_margin_loss(x[0], torch.tensor([0, 1, 9]))
    F.multi_margin_loss(x[0], torch.tensor([0, 1, 2]), 3)
    F.multi_margin_loss(x[0], torch.tensor([0, 1, 2]), 2, 0.5, torch.arange(4.0, dtype=torch.float64))
    F.multilabel_margin_loss(x[0], torch.tensor([0, 1, 2]))
    F.triplet_margin_loss(x, y, x, margin=-1)
    F.gaussian_nll_loss(x, y, -one)
    F.gaussian_nll_loss(x, y, x.exp(), full=True), F.gaussian_nll_loss(x, y, 0.3, reduction="none")
    F.margin_ranking_loss(x, y, x[0])
    F.hinge_embedding_loss(x, x.sign(), reduction="nothing")
    F.hinge_embedding_loss(x, x.sign(), 1.0, False), F.hinge_embedding_loss(x, x.sign(), 1.0, None, False)
    F.embedding_bag(torch.tensor([0, 1]), x[0])
    F.embedding_bag(torch.tensor([[0, 1]]), x[0], torch.tensor([0]))
    F.embedding_bag(torch.tensor([[0, 1]]), x[0], mode="mean", per_sample_weights=x[:1, 0, :2])
    F.embedding_bag(torch.tensor([[0, 1]]), x[0], mode="least")
    F.embedding_bag(torch.tensor([0, 1, 2]), x[0], torch.tensor([0, 0, 3]), mode="max"), F.embedding_bag(torch.tensor([[0, 2]]), x[0].clone(), max_norm=1.0)
    torch.embedding_renorm_(x[0].clone(), torch.tensor([0, 2, 2]), 0.5, 1.0)
    F.multi_head_attention_forward(x, x, x, 4, 2, torch.ones(12, 4, dtype=torch.float64), None, None, None, False, 0.0, torch.eye(4, dtype=torch.float64), None, need_weights=False)
    F.multi_head_attention_forward(x, x, x, 4, 3, torch.ones(12, 4, dtype=torch.float64), None, None, None, False, 0.0, torch.eye(4, dtype=torch.float64), None)
    torch.lstm(x, (x[:1, :, :3],) * 2, [], False, 1, 0.0, False, False, False)
    torch.gru_cell(x[0], x[0], x[0], x[0])
    F.pixel_unshuffle(x, 3)
    F.channel_shuffle(x, 2)
    F.local_response_norm(x[0], 2)
    F.dropout1d(x[0, 0])
    F.rrelu(x, 0.5, 0.1)
    """
)


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_mean_what_they_mean_in_pytorch(program: str) -> None:
    same(SETUP + program, 1e-6)


CTC = [
    "(torch.tensor([[1, 2, 1], [3, 3, 0]]), (6, 5), (3, 2))",
    "(torch.tensor([1, 2, 1, 3, 3]), torch.tensor([6, 6]), torch.tensor([3, 2]), 0, 'sum')",
    "(torch.tensor([[0, 2, 1], [3, 3, 0]]), (6, 4), (2, 0), 1, 'none')",
    "(torch.tensor([[1, 1, 1], [3, 3, 3]]), (6, 4), (3, 3), 0, 'none', True)",
]


@needs_torch
@pytest.mark.parametrize("arguments", CTC)
def test_ctc_of_log_softmax_has_pytorchs_values_and_gradients(arguments: str) -> None:
    same(
        "x = torch.linspace(-2, 3, 48, dtype=torch.float64).sin().reshape(6, 2, 4).mul(3).requires_grad_()\n"
        f"loss = torch.nn.functional.ctc_loss(x.log_softmax(2), *{arguments})\n"
        "[loss.detach(), torch.autograd.grad(loss.sum(), x)[0]]",
        1e-8,
    )


def test_the_gradient_of_ctc_is_that_of_the_loss_alone() -> None:
    steps = dt.full((2, 1, 2), 0.5, dtype=dt.float64).log().requires_grad_()
    (g,) = dt.autograd.grad(dt.nn.functional.ctc_loss(steps, dt.tensor([[1]]), (2,), (1,), reduction="sum"), steps)
    np.testing.assert_allclose(g.sum(2).numpy(), -1)  # minus the probabilities of each step's labels


def test_a_sequence_that_cannot_be_aligned_has_an_infinite_loss_or_none() -> None:
    steps = dt.zeros(1, 1, 2, requires_grad=True)
    assert dt.nn.functional.ctc_loss(steps, dt.tensor([[1, 1]]), (1,), (2,)).item() == np.inf
    loss = dt.nn.functional.ctc_loss(steps, dt.tensor([[1, 1]]), (1,), (2,), zero_infinity=True)
    assert loss.item() == 0 and not dt.autograd.grad(loss, steps)[0].any()


def test_dropout_of_other_kinds_keeps_mean_and_variance_or_whole_channels() -> None:
    dt.manual_seed(0)
    x = dt.randn(200, 50, 3, dtype=dt.float64)
    kept = dt.nn.functional.alpha_dropout(x, 0.3, True)
    assert abs(kept.mean().item()) < 0.03 and abs(kept.var().item() - 1) < 0.05
    for function in (dt.nn.functional.feature_alpha_dropout, dt.nn.functional.dropout1d):
        changed = (function(x, 0.5, True) / x).std(2) > 1e-9 if function is dt.nn.functional.dropout1d else None
        out = function(dt.ones(200, 50, 3), 0.5, True)
        assert (out == out[..., :1]).all() and len(out.unique()) == 2
        assert changed is None or not changed.any()


def test_a_random_slope_lies_between_its_bounds_and_is_its_gradient() -> None:
    x = dt.full((1000,), -1.0, requires_grad=True)
    y = dt.nn.functional.rrelu(x, 0.2, 0.4, True)
    (g,) = dt.autograd.grad(y.sum(), x)
    assert dt.equal(g, -y.detach()) and 0.2 <= g.min().item() < 0.25 and 0.35 < g.max().item() <= 0.4


def test_a_hard_choice_has_the_gradient_of_the_soft_one() -> None:
    x = dt.zeros(4, 3, requires_grad=True)
    y = dt.nn.functional.gumbel_softmax(x, hard=True)
    assert sorted(set(y.detach().numpy().round(6).ravel().tolist())) == [0, 1] and (y.sum(1) == 1).all()
    assert dt.autograd.grad((y * dt.arange(3.0)).sum(), x)[0].abs().sum() > 0
