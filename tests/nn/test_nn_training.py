"""Networks: ten steps of descent from the same weights give PyTorch's losses; sequences, masks and modes of layers."""

from __future__ import annotations

import pytest

import dualtape as dt
from networks import NETWORKS, SETUP
from same_program import needs_torch, programs, same

PROGRAMS = programs("""
    m = weights(nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)); p = nn.utils.rnn.pack_sequence([data(n, 3, seed=n) for n in (4, 3, 1)]); o, (h, c) = m(p); [o.data, o.batch_sizes, h, c]
    m = weights(nn.LSTM(3, 4)); p = nn.utils.rnn.pack_sequence([data(n, 3, seed=n) for n in (1, 3, 2)], enforce_sorted=False); o, (h, c) = m(p, (data(1, 3, 4), data(1, 3, 4, seed=1))); [o.data, o.sorted_indices, h, c]
    m = weights(nn.RNN(3, 4, nonlinearity="relu", bidirectional=True)); p = nn.utils.rnn.pack_sequence([data(n, 3, seed=n) for n in (4, 2)]); o, h = m(p); [o.data, h]
    m = weights(nn.LSTM(3, 4)); m(data(5, 2, 3), (data(1, 2, 4), data(1, 2, 5)))
    m = weights(nn.LSTM(3, 4)); m(data(5, 2, 3), (data(2, 4), data(2, 4)))
    m = weights(nn.LSTM(3, 4)); m(data(5, 2, 4))
    m = weights(nn.LSTM(3, 4)); m(data(5, 2, 3).float())
    m = weights(nn.LSTM(3, 4)); m(data(3))
    m = weights(nn.GRU(3, 4)); m(data(5, 2, 3), data(1, 3, 4))
    nn.LSTM(3, 4, proj_size=4)
    nn.GRU(3, 4, proj_size=2)
    nn.RNN(3, 4, nonlinearity="gelu")
    nn.LSTM(0, 4)
    nn.LSTM(3.5, 4)
    nn.LSTM(3, 4, dropout=2)
    nn.LSTM(3, 4, bias=1)
    m = weights(nn.LSTM(3, 4, 2, dropout=0.5)).eval(); m(data(5, 2, 3))[0]
    m = nn.LSTM(3, 4, 2, bidirectional=True); [[w.shape for w in l] for l in m.all_weights]
    m = weights(nn.GRUCell(3, 4)); [m(data(3), data(4)), m(data(2, 3))]
    m = weights(nn.LSTMCell(3, 4)); m(data(2, 3), (data(2, 4), data(2, 4, seed=1)))
    nn.LSTMCell(3, 4)(torch.ones(1, 2, 3))
    m = weights(nn.LSTM(2, 2)); x = data(3, 1, 2).requires_grad_(); g, = torch.autograd.grad(m(x)[0].pow(2).sum(), x, create_graph=True); torch.autograd.grad(g.pow(2).sum(), [x, *m.parameters()])
    m = weights(nn.GRU(2, 2)); x = data(3, 1, 2).requires_grad_(); g, = torch.autograd.grad(m(x)[0].pow(2).sum(), x, create_graph=True); torch.autograd.grad(g.pow(2).sum(), [x, *m.parameters()])
    m = weights(nn.RNN(2, 2)); x = data(3, 1, 2).requires_grad_(); g, = torch.autograd.grad(m(x)[0].pow(2).sum(), x, create_graph=True); torch.autograd.grad(g.pow(2).sum(), [x, *m.parameters()])
    m = weights(nn.LSTM(2, 3)); x = data(4, 2, 2); o, (h, c) = m(x); c.sum().backward(retain_graph=True); a = m.weight_hh_l0.grad.clone(); m.zero_grad(); (c.sum() + h.sum()).backward(); [a, m.weight_hh_l0.grad]
    # attention and masks
    m = weights(nn.MultiheadAttention(8, 2)); q, k = data(4, 3, 8), data(5, 3, 8, seed=1); m(q, k, k, key_padding_mask=torch.tensor([[False] * 4 + [True]] * 3), average_attn_weights=False)
    m = weights(nn.MultiheadAttention(8, 2)); q = data(4, 3, 8); m(q, q, q, attn_mask=torch.ones(4, 4).triu(1).bool(), need_weights=False)[0]
    m = weights(nn.MultiheadAttention(8, 2)); q = data(4, 3, 8); m(q, q, q, attn_mask=torch.zeros(6, 4, 4, dtype=torch.float64))[1]
    m = weights(nn.MultiheadAttention(8, 2)); q = data(4, 3, 8); m(q, q, q, is_causal=True)
    m = weights(nn.MultiheadAttention(8, 2)); q = data(4, 3, 8); m(q, q, q, attn_mask=nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64), is_causal=True, need_weights=False)[0]
    nn.MultiheadAttention(8, 3)
    nn.MultiheadAttention(0, 1)
    m = weights(nn.MultiheadAttention(8, 2)); m(data(4, 3, 7), data(4, 3, 8), data(4, 3, 8))
    e = weights(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8))).eval(); x, pad = data(2, 4, 8), torch.tensor([[False] * 4, [False] * 2 + [True] * 2]); y = e(x, src_key_padding_mask=pad); e.requires_grad_(False); z = e(x, src_key_padding_mask=pad); [y, z]
    e = weights(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False)).eval(); x, pad = data(2, 4, 8), torch.tensor([[False] * 4, [False] * 2 + [True] * 2]); e.requires_grad_(False); e(x, src_key_padding_mask=pad)
    e = weights(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)).eval(); x, pad = data(2, 4, 8), torch.tensor([[False] * 4, [True] * 2 + [False] * 2]); e.requires_grad_(False); e(x, src_key_padding_mask=pad)
    e = weights(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 1)); e(data(4, 2, 8), mask=nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64))
    e = weights(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0), 1)); e(data(4, 2, 8), mask=torch.ones(4, 4).triu(1).bool(), is_causal=True)
    d = weights(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 1)); d(data(4, 2, 8), data(3, 2, 8), tgt_mask=nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64), memory_key_padding_mask=torch.tensor([[False, False, True]] * 2))
    nn.TransformerEncoderLayer(8, 2, activation="tanh")
    t = weights(nn.Transformer(8, 2, 1, 1, 16)); t(data(4, 2, 8), data(4, 3, 8))
    t = weights(nn.Transformer(8, 2, 1, 1, 16)); t(data(4, 2, 7), data(4, 2, 8))
    nn.Transformer.generate_square_subsequent_mask(3)
    # settings and errors
    nn.Conv2d(3, 4, 2, groups=2)
    nn.Conv2d(3, 4, 2, padding_mode="mirror")
    nn.Conv2d(3, 4, 2, padding="full")
    nn.Conv2d(3, 4, 2, stride=2, padding="same")
    nn.ConvTranspose2d(3, 4, 2, padding_mode="reflect")
    nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 5))
    nn.BatchNorm2d(3)(torch.ones(2, 3))
    nn.BatchNorm1d(3)(torch.ones(1, 3))
    nn.InstanceNorm1d(3, affine=True)(torch.ones(2, 4, 5))
    nn.GroupNorm(3, 4)
    nn.Dropout(1.5)
    nn.Softmax2d()(torch.ones(2, 2))
    nn.Hardtanh(2.0, 1.0)
    nn.Embedding(3, 2, padding_idx=5)
    nn.Embedding.from_pretrained(torch.ones(3))
    e = nn.Embedding.from_pretrained(torch.arange(6.0).reshape(3, 2)); [e(torch.tensor([2])), e.weight.requires_grad, e.padding_idx]
    e = nn.EmbeddingBag.from_pretrained(torch.arange(6.0).reshape(3, 2), freeze=False, mode="sum"); [e(torch.tensor([[0, 2]])), e.weight.requires_grad]
    nn.Embedding(4, 2, padding_idx=-1).weight[3].detach()
    [nn.Embedding(4, 2, padding_idx=-1).padding_idx, nn.EmbeddingBag(4, 2, padding_idx=-2).padding_idx]
    m = nn.BatchNorm1d(2, momentum=None).double(); m(data(3, 2)); m(data(3, 2, seed=1)); m(data(3, 2, seed=2)); [m.running_mean, m.running_var, m.num_batches_tracked]
    nn.Unflatten(1, (2, 2.5))
    nn.FractionalMaxPool2d(2)
    nn.FractionalMaxPool2d(2, output_ratio=1.5)
    nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 2])
    m = weights(nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], 2.0)); [m.log_prob(data(5, 8)), m.predict(data(5, 8) * 9)]
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6]); m(torch.ones(2, 8), torch.tensor([0, 12]))
    nn.TripletMarginLoss(margin=0)
    nn.MultiMarginLoss(p=3)
    m = weights(nn.ConvTranspose2d(2, 3, 3, stride=2)); [m(data(1, 2, 4, 4), output_size=[10, 9]), m(data(1, 2, 4, 4), output_size=(1, 3, 9, 10)).shape]
    nn.ConvTranspose2d(2, 3, 3, stride=2)(torch.ones(1, 2, 4, 4), output_size=[20, 20])
    m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2), nn.ReLU())); repr(m)
    x = torch.ones(3); y = nn.ReLU(inplace=True)(x.neg_()); [x, y is x]
    [nn.init.calculate_gain(n) for n in ("linear", "tanh", "relu", "selu", "leaky_relu")] + [nn.init.calculate_gain("leaky_relu", 0.3)]
    nn.init.calculate_gain("nothing")
    [nn.init.eye_(torch.empty(2, 3)), nn.init.dirac_(torch.empty(4, 2, 3), 2), nn.init.ones_(torch.empty(2)), nn.init.zeros_(torch.empty(1)), nn.init.constant_(torch.empty(1), 3)]
    nn.init.xavier_uniform_(torch.empty(3))
    nn.init.orthogonal_(torch.empty(3))
    nn.init.kaiming_uniform_(torch.empty(3, 3), mode="fan")
    nn.init.dirac_(torch.empty(3, 2, 3), 2)
    p = nn.Parameter(torch.empty(2)); q = nn.init.ones_(p); [q is p, p.requires_grad, p.is_leaf]
    F.multi_head_attention_forward.__name__
""")


@needs_torch
@pytest.mark.parametrize("name", NETWORKS)
def test_ten_steps_of_descent_give_pytorchs_losses(name: str) -> None:
    same(SETUP + NETWORKS[name], tolerance=1e-9)


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_on_layers_gives_what_pytorch_gives(program: str) -> None:
    same(SETUP + program, tolerance=1e-7)


def statistics(values: dt.Tensor) -> tuple[float, float]:
    return values.mean().item(), values.std().item()


@pytest.mark.parametrize(
    ("fill", "mean", "deviation"),
    [
        (lambda w: dt.nn.init.uniform_(w, -1, 3), 1.0, 4 / 12**0.5),
        (lambda w: dt.nn.init.normal_(w, 2.0, 0.5), 2.0, 0.5),
        (lambda w: dt.nn.init.trunc_normal_(w, 0.0, 1.0, -1.0, 1.0), 0.0, 0.5396),
        (lambda w: dt.nn.init.trunc_normal_(w, 1.0, 2.0, 0.0, 10.0), 2.018, 1.394),
        (lambda w: dt.nn.init.xavier_uniform_(w, 2.0), 0.0, 2 * (2 / 500) ** 0.5),
        (lambda w: dt.nn.init.xavier_normal_(w), 0.0, (2 / 500) ** 0.5),
        (lambda w: dt.nn.init.kaiming_uniform_(w, nonlinearity="relu"), 0.0, (2 / 300) ** 0.5),
        (lambda w: dt.nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="linear"), 0.0, (1 / 200) ** 0.5),
        (lambda w: dt.nn.init.orthogonal_(w), 0.0, (1 / 300) ** 0.5),
        (lambda w: dt.nn.init.sparse_(w, 0.9, std=1.0), 0.0, 0.1**0.5),
    ],
)
def test_initial_values_have_the_mean_and_deviation_that_they_should(fill, mean: float, deviation: float) -> None:
    dt.manual_seed(0)
    found = statistics(fill(dt.empty(200, 300, dtype=dt.float64)))
    assert abs(found[0] - mean) < 0.03 * max(deviation, 0.1) and abs(found[1] - deviation) < 0.03 * deviation


@pytest.mark.parametrize("layer", [dt.nn.LSTM(3, 4), dt.nn.GRU(3, 4), dt.nn.RNN(3, 4)], ids=lambda m: type(m).__name__)
def test_a_recurrent_layer_goes_through_transforms(layer: dt.nn.Module) -> None:
    x = dt.rand(5, 2, 3)
    single = [layer(one.unsqueeze(1))[0] for one in x.unbind(1)]
    batched = dt.vmap(lambda one: layer(one.unsqueeze(1))[0], 1)(x)
    assert dt.allclose(batched, dt.stack(single), atol=1e-6)
    _, tangent = dt.func.jvp(lambda v: layer(v)[0], (x,), (dt.ones_like(x),))
    step = 1e-3
    expected = (layer(x + step)[0] - layer(x - step)[0]) / (2 * step)
    assert dt.allclose(tangent, expected, atol=1e-3)


def test_dropout_between_recurrent_layers_is_there_in_training_alone() -> None:
    layer, x = dt.nn.LSTM(3, 8, 2, dropout=0.9), dt.rand(5, 2, 3)
    assert not dt.allclose(layer(x)[0], layer(x)[0])
    layer.eval()
    assert dt.allclose(layer(x)[0], layer(x)[0])
