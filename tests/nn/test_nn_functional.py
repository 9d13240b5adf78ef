"""nn.functional beyond the generated tests: weights, running statistics, randomness, in-place forms, errors, names."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
import dualtape.nn.functional as F

torch = pytest.importorskip("torch")
TF = torch.nn.functional

RNG = np.random.default_rng(7)
X, W = RNG.normal(size=(4, 3)), np.array([0.5, 2.0, 1.0])
IMAGE = RNG.normal(size=(2, 3, 4, 4))


def compare(call, *arrays, rtol=1e-9):
    """``call(lib, F, *tensors)`` of both libraries: values and gradients of all arrays."""
    found = []
    for lib in (dt, torch):
        tensors = [lib.tensor(a, requires_grad=True) for a in arrays]
        out = call(lib, lib.nn.functional, *tensors)
        weights = lib.tensor(
            np.cos(np.arange(out.detach().numpy().size)).reshape(tuple(out.shape)).astype(out.detach().numpy().dtype)
        )
        grads = lib.autograd.grad((out * weights).sum(), tensors)
        found.append((out.detach().numpy(), *[g.numpy() for g in grads]))
    for ours, theirs in zip(*found, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_weighs_classes_and_ignores_one_as_pytorch_does(reduction, smoothing):
    def call(lib, f, x):
        target = lib.tensor(np.array([0, -1, 2, 1]))
        return f.cross_entropy(
            x, target, weight=lib.tensor(W), ignore_index=-1, reduction=reduction, label_smoothing=smoothing
        )

    compare(call, X)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_weighs_probabilities(reduction):
    p = np.abs(X) / np.abs(X).sum(1, keepdims=True)
    compare(
        lambda lib, f, x: f.cross_entropy(x, lib.tensor(p), lib.tensor(W), reduction=reduction, label_smoothing=0.1), X
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_losses_take_weights(reduction):
    target = (X > 0).astype(X.dtype)
    probabilities = 1 / (1 + np.exp(-X))
    compare(
        lambda lib, f, x: f.binary_cross_entropy(x, lib.tensor(target), lib.tensor(W), reduction=reduction),
        probabilities,
    )
    compare(
        lambda lib, f, x: f.binary_cross_entropy_with_logits(
            x, lib.tensor(target), lib.tensor(W), pos_weight=lib.tensor(W * 3), reduction=reduction
        ),
        X,
    )


def test_a_target_out_of_range_raises_index_error():
    for lib in (dt, torch):
        with pytest.raises(IndexError):
            lib.nn.functional.cross_entropy(lib.ones(2, 3), lib.tensor([0, 3]))
        with pytest.raises(IndexError):
            lib.nn.functional.embedding(lib.tensor([4]), lib.ones(4, 2))


@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 4), (2, 3, 4, 4)], ids=str)
def test_batch_norm_moves_the_running_statistics_and_uses_them_in_evaluation(shape):
    x = RNG.normal(size=shape)
    stats = {}
    for lib in (dt, torch):
        mean, var = lib.tensor(W * 0), lib.tensor(W)
        for _ in range(2):
            lib.nn.functional.batch_norm(lib.tensor(x, requires_grad=True), mean, var, training=True, momentum=0.3)
        stats[lib] = mean.numpy(), var.numpy()
        assert lib is torch or mean._version > 0
    for ours, theirs in zip(stats[dt], stats[torch], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    compare(lambda lib, f, x, w, b: f.batch_norm(x, lib.tensor(W * 0.1), lib.tensor(W), w, b), x, W, W + 1)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.batch_norm(dt.ones(1, 3), None, None, training=True)


def test_batch_norm_in_evaluation_is_twice_differentiable():
    x, w = dt.tensor(IMAGE, requires_grad=True), dt.tensor(W, requires_grad=True)
    call = lambda x, w: F.batch_norm(x, dt.tensor(W * 0.1), dt.tensor(W), w)
    assert dt.autograd.gradcheck(call, (x, w))
    assert dt.autograd.gradgradcheck(call, (x, w))


def test_instance_norm_moves_the_running_statistics():
    stats = {}
    for lib in (dt, torch):
        mean, var = lib.tensor(W * 0), lib.tensor(W)
        lib.nn.functional.instance_norm(lib.tensor(IMAGE), mean, var, momentum=0.3)
        stats[lib] = mean.numpy(), var.numpy()
    for ours, theirs in zip(stats[dt], stats[torch], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_dropout_keeps_the_mean_and_scales_what_it_keeps():
    dt.manual_seed(0)
    x = dt.ones(200, 200, requires_grad=True)
    y = F.dropout(x, 0.25)
    kept = y.detach().numpy()
    assert set(np.unique(kept).round(4)) == {0.0, np.float32(1.3333)}
    assert abs(kept.mean() - 1) < 0.02
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), kept)
    assert y.dtype == dt.float32
    assert F.dropout(x, training=False) is x
    dt.manual_seed(0)
    np.testing.assert_array_equal(F.dropout(x, 0.25).detach().numpy(), kept)
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5)


def test_dropout2d_drops_whole_channels():
    kept = F.dropout2d(dt.ones(20, 20, 3, 3)).numpy()
    assert set(kept.std(axis=(2, 3)).ravel()) == {0.0}
    assert set(np.unique(kept)) == {0.0, 2.0}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("relu", ()),
        ("elu", (0.5,)),
        ("leaky_relu", (0.2,)),
        ("hardtanh", (-0.5, 0.5)),
        ("silu", ()),
        ("threshold", (0.1, 2.0)),
    ],
)
def test_activations_take_inplace(name, args):
    start = dt.tensor(X, requires_grad=True)
    x = start.clone()
    out = getattr(F, name)(x, *args, inplace=True)
    assert out is x
    expected = getattr(F, name)(start, *args)
    np.testing.assert_array_equal(x.detach().numpy(), expected.detach().numpy())
    (a,), (b,) = dt.autograd.grad(x.sum(), start), dt.autograd.grad(expected.sum(), start)
    np.testing.assert_allclose(a.numpy(), b.numpy())
    getattr(F, name)(x.detach().clone(), *args, True)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "elu",
        "selu",
        "celu",
        "leaky_relu",
        "hardtanh",
        "relu6",
        "hardswish",
        "hardsigmoid",
        "logsigmoid",
        "softsign",
    ],
)
def test_activations_keep_the_dtype(name, dtype):
    compare(lambda lib, f, x: getattr(f, name)(x), X.astype(dtype), rtol=4e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_layers_keep_the_dtype(dtype):
    tolerance = 1e-2 if dtype == "float16" else 1e-4
    x, w = X.astype(dtype), W.astype(dtype)
    compare(lambda lib, f, x, w: f.layer_norm(x, (3,), w, w), x, w, rtol=tolerance)
    compare(lambda lib, f, x, w: f.linear(x, w, w[0]), x, x[:3], rtol=tolerance)
    compare(lambda lib, f, x: f.mse_loss(x, x.detach() * 2), x, rtol=tolerance)
    compare(lambda lib, f, x: f.cross_entropy(x, lib.tensor([0, 1, 2, 0])), x, rtol=tolerance)
    compare(lambda lib, f, x: f.max_pool2d(x, 2), IMAGE.astype(dtype), rtol=tolerance)
    compare(
        lambda lib, f, x, w: f.conv2d(x, w), IMAGE.astype(dtype), IMAGE[:, :, :2, :2].astype(dtype), rtol=5 * tolerance
    )


NAMES = [
    lambda lib, f, x, w, t: f.linear(x, x),
    lambda lib, f, x, w, t: f.linear(x, x, w[:4]),
    lambda lib, f, x, w, t: f.layer_norm(x, (4,)),
    lambda lib, f, x, w, t: f.gelu(x),
    lambda lib, f, x, w, t: f.silu(x),
    lambda lib, f, x, w, t: f.selu(x),
    lambda lib, f, x, w, t: f.relu6(x),
    lambda lib, f, x, w, t: f.logsigmoid(x),
    lambda lib, f, x, w, t: f.softplus(x),
    lambda lib, f, x, w, t: f.cross_entropy(x, t),
    lambda lib, f, x, w, t: f.mse_loss(x, x),
    lambda lib, f, x, w, t: f.smooth_l1_loss(x, x),
    lambda lib, f, x, w, t: f.huber_loss(x, x),
    lambda lib, f, x, w, t: f.l1_loss(x, x),
    lambda lib, f, x, w, t: f.embedding(t, x),
    lambda lib, f, x, w, t: f.pad(x, (1, 1)),
    lambda lib, f, x, w, t: f.dropout(x),
    lambda lib, f, x, w, t: f.binary_cross_entropy_with_logits(x, x),
    lambda lib, f, x, w, t: f.batch_norm(x, None, None, training=True),
    lambda lib, f, x, w, t: f.glu(x),
    lambda lib, f, x, w, t: f.group_norm(x, 2),
    lambda lib, f, x, w, t: f.conv2d(x[None, None], x[None, None, :2, :2]),
    lambda lib, f, x, w, t: f.max_pool2d(x[None], 2),
    lambda lib, f, x, w, t: f.avg_pool2d(x[None], 2),
    lambda lib, f, x, w, t: f.adaptive_avg_pool2d(x[None], 2),
    lambda lib, f, x, w, t: f.pad(x[None], (1, 1), "reflect"),
    lambda lib, f, x, w, t: f.pad(x[None], (1, 1, 1, 1), "replicate"),
    lambda lib, f, x, w, t: f.unfold(x[None, None], 2),
    lambda lib, f, x, w, t: f.interpolate(x[None], 8),
    lambda lib, f, x, w, t: f.prelu(x, w[:1]),
    lambda lib, f, x, w, t: f.conv_transpose2d(x[None, None], x[None, None]),
    lambda lib, f, x, w, t: f.kl_div(x, x.sigmoid(), reduction="sum"),
]


@pytest.mark.parametrize("call", NAMES, ids=lambda c: str(NAMES.index(c)))
def test_nodes_are_named_as_pytorchs(call):
    square = RNG.normal(size=(4, 4))
    names = []
    for lib in (dt, torch):
        x = lib.tensor(square, requires_grad=True)
        names.append(call(lib, lib.nn.functional, x, x[0], lib.tensor([0, 1, 2, 3])).grad_fn.name())
    assert names[0] == names[1]


BAD = {
    "linear": (RuntimeError, lambda lib, f: f.linear(lib.ones(2, 3), lib.ones(2, 2))),
    "conv2d channels": (RuntimeError, lambda lib, f: f.conv2d(lib.ones(1, 2, 4, 4), lib.ones(1, 3, 2, 2))),
    "conv2d dimensions": (RuntimeError, lambda lib, f: f.conv2d(lib.ones(4, 4), lib.ones(1, 3, 2, 2))),
    "conv2d kernel": (RuntimeError, lambda lib, f: f.conv2d(lib.ones(1, 1, 2, 2), lib.ones(1, 1, 3, 3))),
    "conv2d same with stride": (
        RuntimeError,
        lambda lib, f: f.conv2d(lib.ones(1, 1, 4, 4), lib.ones(1, 1, 2, 2), stride=2, padding="same"),
    ),
    "conv2d bias": (RuntimeError, lambda lib, f: f.conv2d(lib.ones(1, 1, 4, 4), lib.ones(1, 1, 2, 2), lib.ones(2))),
    "max_pool2d padding": (RuntimeError, lambda lib, f: f.max_pool2d(lib.ones(1, 4, 4), 2, padding=2)),
    "layer_norm": (RuntimeError, lambda lib, f: f.layer_norm(lib.ones(2, 3), (2,))),
    "group_norm": (RuntimeError, lambda lib, f: f.group_norm(lib.ones(2, 3), 2)),
    "reflect": (RuntimeError, lambda lib, f: f.pad(lib.ones(1, 2), (2, 0), "reflect")),
    "reduction": (ValueError, lambda lib, f: f.mse_loss(lib.ones(2), lib.ones(2), reduction="wrong")),
    "bce range": (RuntimeError, lambda lib, f: f.binary_cross_entropy(lib.ones(2) * 2, lib.ones(2))),
    "bce size": (ValueError, lambda lib, f: f.binary_cross_entropy(lib.ones(2), lib.ones(3))),
    "logits size": (ValueError, lambda lib, f: f.binary_cross_entropy_with_logits(lib.ones(2), lib.ones(3))),
    "nll batch": (ValueError, lambda lib, f: f.nll_loss(lib.ones(2, 3), lib.tensor([0, 1, 2]))),
    "glu": (RuntimeError, lambda lib, f: f.glu(lib.ones(3))),
    "one_hot": (RuntimeError, lambda lib, f: f.one_hot(lib.tensor([3]), 2)),
    "gelu": (RuntimeError, lambda lib, f: f.gelu(lib.ones(2), approximate="wrong")),
    "embedding": (RuntimeError, lambda lib, f: f.embedding(lib.ones(2), lib.ones(2, 2))),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_arguments_raise_as_in_pytorch(name):
    kind, call = BAD[name]
    with pytest.raises(kind):
        call(torch, TF)
    with pytest.raises(kind) as ours:
        call(dt, F)
    assert len(str(ours.value)) > 20


def test_embedding_limits_the_norm_of_the_rows_it_reads():
    tables = {}
    for lib in (dt, torch):
        table = lib.tensor(X * 3)
        out = lib.nn.functional.embedding(lib.tensor([0, 2]), table, max_norm=1.0)
        tables[lib] = table.numpy(), out.numpy()
    for ours, theirs in zip(tables[dt], tables[torch], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_attention_drops_scales_and_groups_as_pytorch_does():
    q, k = RNG.normal(size=(2, 4, 3, 5)), RNG.normal(size=(2, 2, 3, 5))
    compare(lambda lib, f, q, k: f.scaled_dot_product_attention(q, k, k, enable_gqa=True, is_causal=True), q, k)
    compare(lambda lib, f, q: f.scaled_dot_product_attention(q, q, q, lib.tensor(np.eye(3) > 0), scale=2.0), q)


def test_softmax_without_a_dim_takes_pytorchs_implicit_one():
    for shape in ((3,), (2, 3), (2, 3, 4)):
        x = RNG.normal(size=shape)
        with pytest.warns(UserWarning):
            theirs = TF.softmax(torch.tensor(x))
        with pytest.warns(UserWarning, match="Implicit dimension"):
            mine = F.softmax(dt.tensor(x))
        np.testing.assert_allclose(mine.numpy(), theirs.numpy())
    np.testing.assert_allclose(F.softmin(dt.tensor(X), 1).numpy(), TF.softmin(torch.tensor(X), 1).numpy())
    assert F.log_softmax(dt.tensor(X), 1, dtype=dt.float32).dtype == dt.float32
