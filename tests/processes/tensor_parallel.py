"""Modules in parts by plans: losses, gradients and steps are those of one process."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from dualtape.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from dualtape.nn import functional as F
from tests.processes.placements import whole

WIDTH, HEADS, WORDS = 24, 12, 12


class Block(nn.Module):
    """Attention and an MLP, each after a norm, as users write them: the heads are as many as the features are."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        h = self.norm1(x)
        split = lambda t: t.reshape(t.shape[0], t.shape[1], -1, WIDTH // HEADS).transpose(1, 2)
        q, k, v = (split(layer(h)) for layer in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        x = x + self.out(mixed.reshape(mixed.shape[0], mixed.shape[1], -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList([Block() for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens: dt.Tensor) -> dt.Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def model() -> nn.Module:
    dt.manual_seed(3)
    return Model().double()


LOCAL = {
    "words": RowwiseParallel(input_layouts=Replicate()),
    **{f"layers.*.{name}": ColwiseParallel() for name in ("q", "k", "v", "up")},
    **{f"layers.*.{name}": RowwiseParallel() for name in ("out", "down")},
    "head": ColwiseParallel(use_local_output=False),
}
SEQUENCE = {
    "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=False),
    "layers.*.norm?": SequenceParallel(),
    **{f"layers.*.{name}": ColwiseParallel(use_local_output=False) for name in ("q", "k", "v", "up")},
    **{
        f"layers.*.{name}": RowwiseParallel(output_layouts=Shard(1), use_local_output=False) for name in ("out", "down")
    },
    "norm": SequenceParallel(),
    "head": ColwiseParallel(use_local_output=False),
}
COLUMNS = {
    "words": ColwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
    "head": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(-1), use_local_output=False),
}


def check_a_transformer_in_parts_trains_as_a_whole_one(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    draw = dt.Generator().manual_seed(7)
    tokens, targets = (dt.randint(WORDS, (3, 8), generator=draw) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is gathered for want of a rule
        for plan in (LOCAL, SEQUENCE, COLUMNS):
            one, many = model(), parallelize_module(model(), mesh, plan)
            first, second = (dt.optim.Adam(m.parameters(), lr=0.01) for m in (one, many))
            for _ in range(3):
                first.zero_grad(), second.zero_grad()
                loss = F.cross_entropy(one(tokens).flatten(0, 1), targets.flatten())
                with loss_parallel():
                    part = F.cross_entropy(many(tokens).flatten(0, 1), targets.flatten())
                loss.backward(), part.backward()
                np.testing.assert_allclose(whole(part), loss.detach().numpy(), rtol=1e-12)
                for (name, p), q in zip(one.named_parameters(), many.parameters(), strict=True):
                    np.testing.assert_allclose(whole(q.grad), p.grad.numpy(), rtol=1e-8, atol=1e-12, err_msg=name)
                first.step(), second.step()
            for p, q in zip(one.parameters(), many.parameters(), strict=True):
                np.testing.assert_allclose(whole(q), p.detach().numpy(), rtol=1e-8, atol=1e-10)


def check_parameters_are_in_parts(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    net = parallelize_module(model(), mesh, LOCAL)
    want = {"words": Shard(0), "layers.1.q": Shard(0), "layers.0.down": Shard(1), "head": Shard(0)}
    for name, placement in want.items():
        weight = net.get_submodule(name).weight
        assert weight.placements == (placement,) and weight._array.local.size == weight.numel() // size
    assert net.layers[0].down.bias.placements == (Replicate(),) and net.layers[0].up.bias.placements == (Shard(0),)
    assert not isinstance(net.norm.weight, DTensor)


def check_losses_in_parts(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    draw = dt.Generator().manual_seed(1)
    for shape in ((5, 7), (2, 7, 3), (7,)):
        dim = min(len(shape) - 1, 1)
        logits = dt.randn(*shape, dtype=dt.float64, generator=draw)
        target = dt.randint(7, (*shape[:dim], *shape[dim + 1 :]), generator=draw)
        weight = dt.rand(7, dtype=dt.float64, generator=draw) + 0.1
        for reduction, scale, smooth, ignored in itertools.product(
            ("mean", "sum", "none"), (None, weight), (0.0, 0.2), (-100, 3)
        ):
            options = {"reduction": reduction, "weight": scale, "label_smoothing": smooth, "ignore_index": ignored}
            if target.ndim:
                target[0] = ignored
            plain = logits.clone().requires_grad_()
            part = distribute_tensor(logits, mesh, [Shard(dim)]).requires_grad_()
            want = F.cross_entropy(plain, target, **options)
            with loss_parallel():
                found = F.cross_entropy(part, target, **options)
            want.sum().backward(), found.sum().backward()
            np.testing.assert_allclose(whole(found), want.detach().numpy(), rtol=1e-12, err_msg=str(options))
            np.testing.assert_allclose(whole(part.grad), plain.grad.numpy(), rtol=1e-12, atol=1e-15)
            assert part.grad.placements == (Shard(dim),)
    with loss_parallel(), pytest.raises(ValueError, match="must be in parts"):
        F.cross_entropy(distribute_tensor(dt.ones(size, 2), mesh, [Shard(0)]), dt.zeros(size, dtype=dt.int64))


class Seen(nn.Module):
    def forward(self, *args, **kwargs):
        self.seen = [getattr(x, "placements", None) for x in (*args, *kwargs.values())]
        return args if len(args) > 1 else args[0]


def check_prepared_inputs_and_outputs(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    x = dt.arange(2.0 * size).reshape(size, 2)
    mine = x[rank : rank + 1]
    given = PrepareModuleInput(
        input_layouts=(Shard(0), None),
        desired_input_layouts=(Replicate(), None),
        input_kwarg_layouts={"c": Replicate()},
        desired_input_kwarg_layouts={"c": Shard(0)},
    )
    net = parallelize_module(Seen(), mesh, given)
    a, b = net(mine, mine, c=x)
    assert net.seen == [(Replicate(),), None, (Shard(0),)] and dt.equal(a.to_local(), x) and b is mine
    back = PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())
    assert dt.equal(parallelize_module(Seen(), mesh, back)(mine), x)
    both = PrepareModuleInputOutput(
        input_layouts=Shard(0),
        desired_input_layouts=Replicate(),
        use_local_input=True,
        output_layouts=Replicate(),
        desired_output_layouts=Shard(0),
        use_local_output=False,
    )
    net = parallelize_module(Seen(), mesh, both)
    assert net(mine).placements == (Shard(0),) and net.seen == [None]


def check_indexing_by_arrays_stays_in_parts(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    draw = dt.Generator().manual_seed(5)
    x = dt.randn(5, 6, 3, dtype=dt.float64, generator=draw)
    i, j = dt.tensor([[4, 0], [-1, 2]]), dt.tensor([1, -2])
    rows = dt.randn(2, 2, 6, 3, dtype=dt.float64, generator=draw)
    pairs = dt.randn(2, 2, 3, dtype=dt.float64, generator=draw)
    along = dt.randint(6, (5, 2, 3), generator=draw)

    def written(x: dt.Tensor, method: str, *args: object) -> dt.Tensor:
        def placed(value: object) -> object:
            floats = isinstance(value, dt.Tensor) and value.is_floating_point() and not isinstance(value, DTensor)
            return distribute_tensor(value, mesh, [Replicate()]) if floats and isinstance(x, DTensor) else value

        return getattr(x.clone(), method)(*[placed(value) for value in args])

    programs = [
        lambda x: x[i],
        lambda x: x[:, j],
        lambda x: x[i, j],
        lambda x: x[..., dt.tensor([2, 0])],
        lambda x: x.gather(1, along),
        lambda x: F.embedding(i % 5, x[:, :, 0]),
        lambda x: x.index_select(0, i[0]),
        lambda x: written(x, "index_put_", (i,), rows),
        lambda x: written(x, "index_put_", (i,), rows, True),
        lambda x: written(x, "index_put_", (i, j), pairs, True),
        lambda x: written(x, "scatter_", 1, along, 2.0),
        lambda x: written(x, "index_add_", 0, dt.tensor([0, 3, 0]), x[:3] * 2),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k, program in enumerate(programs):
            plain = x.clone().requires_grad_()
            want = program(plain)
            want.sin().sum().backward()
            for placement in (Shard(0), Shard(1), Shard(2), Replicate()):
                part = distribute_tensor(x, mesh, [placement]).requires_grad_()
                found = program(part)
                np.testing.assert_allclose(whole(found), want.detach().numpy(), err_msg=f"{k} {placement}")
                found.sin().sum().backward()
                np.testing.assert_allclose(whole(part.grad), plain.grad.numpy(), err_msg=f"{k} {placement}", atol=1e-12)
    cut = distribute_tensor(x, mesh, [Shard(0)])
    assert cut[i].placements == (Partial(),)
    with pytest.raises(IndexError, match="out of bounds|out of range"):
        cut[dt.tensor([7])]


def check_wrong_plans(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    for kind, words, call in [
        (
            NotImplementedError,
            "nn.Linear and nn.Embedding",
            lambda: parallelize_module(nn.ReLU(), mesh, ColwiseParallel()),
        ),
        (TypeError, "ParallelStyle", lambda: parallelize_module(nn.ReLU(), mesh, {"": 3})),
        (
            ValueError,
            "one dimension",
            lambda: parallelize_module(nn.ReLU(), dist.DeviceMesh("cpu", [list(range(size))]), {}),
        ),
        (
            AssertionError,
            "same length",
            lambda: PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=(Shard(0),) * 2),
        ),
        (AssertionError, "should not be None", lambda: PrepareModuleInput(input_layouts=Shard(0))),
    ]:
        with pytest.raises(kind, match=words):
            call()
    with pytest.warns(UserWarning, match="no submodule matches 'nothing'"):
        parallelize_module(nn.ReLU(), mesh, {"nothing": ColwiseParallel()})
    with pytest.warns(UserWarning, match="no parallelize_plan"):
        parallelize_module(nn.ReLU(), mesh)
    assert repr(ColwiseParallel()) == (
        "ColwiseParallel(input_layouts=(Replicate(),), output_layouts=(Shard(dim=-1),), use_local_output=True)"
    )
