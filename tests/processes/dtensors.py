"""DTensors: placements, borders, modules, transforms, in-place writes; against the same program in one process."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.distributed import tensor as dtensor
from dualtape.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from dualtape.nn import functional as F
from tests.processes.placements import mesh, whole


def values(*shape: int) -> dt.Tensor:
    return dt.rand(*shape, dtype=dt.float64, generator=dt.Generator().manual_seed(2))


def check_every_redistribution(rank, size):
    grid, x = mesh(), values(5, 3, 4)
    places = [Replicate(), Shard(0), Shard(1), Shard(2)]
    for start in itertools.product([*places, Partial()], repeat=grid.ndim):
        pending = [k for k, p in enumerate(start) if isinstance(p, Partial)]
        base = distribute_tensor(x, grid, [Replicate() if k in pending else p for k, p in enumerate(start)]).to_local()
        for k in pending:
            base = base / grid.shape[k]
        source = DTensor.from_local(base, grid, start, shape=x.shape)
        for target in itertools.product(places, repeat=grid.ndim):
            found = source.redistribute(placements=target)
            assert found.placements == target
            np.testing.assert_allclose(whole(found), x.numpy(), err_msg=f"{start} to {target}")
            want = distribute_tensor(x, grid, target).to_local()
            np.testing.assert_allclose(found.to_local().numpy(), want.numpy())


def check_out_and_in_again_changes_no_gradient(rank, size):
    grid = mesh()
    for placement in (Shard(0), Shard(1), Replicate()):
        x = distribute_tensor(values(5, 4), grid, [placement] * grid.ndim).requires_grad_()
        y = x * x
        (want,) = dt.autograd.grad((y.sin() * y).sum(), x)
        y = x * x
        again = DTensor.from_local(y.to_local(), grid, y.placements, shape=y.shape)
        (g,) = dt.autograd.grad((again.sin() * again).sum(), x)
        np.testing.assert_allclose(whole(g), whole(want))
        y = x * x
        (g,) = dt.autograd.grad((y.full_tensor() ** 2).sum(), x)
        np.testing.assert_allclose(whole(g), 4 * values(5, 4).numpy() ** 3)


def check_bfloat16(rank, size):
    grid = mesh()
    a, b = values(4, 6).bfloat16(), values(6, 4).bfloat16()
    f = lambda x, y: ((x @ y).sin() * 2 + 1)[:, 1:].clamp(min=0.1).softmax(1).sum(0)
    plain = a.clone().requires_grad_()
    want = f(plain, b)
    want.float().square().sum().backward()
    for first, second in itertools.product((Shard(0), Shard(1), Replicate()), repeat=2):
        x = distribute_tensor(a, grid, [first] * grid.ndim).requires_grad_()
        found = f(x, distribute_tensor(b, grid, [second] * grid.ndim))
        found.float().square().sum().backward()
        assert found.dtype is x.grad.dtype is dt.bfloat16
        for one, other in ((found, want), (x.grad, plain.grad)):
            np.testing.assert_allclose(
                whole(one.detach().float()), other.detach().float().numpy(), rtol=2e-2, atol=1e-2
            )


def check_writes_and_views(rank, size):
    grid = mesh()

    def program(x: dt.Tensor) -> dt.Tensor:
        y = x * 2
        y[1] = 7.0
        y[:, 1:3].mul_(3)
        y[2:4].add_(x[0:2])
        y.t()[0].fill_(0.5)
        y.view(-1)[3:5] = 1.0
        return (y * x).cumsum(0)

    plain = values(5, 4).requires_grad_()
    want = program(plain)
    (want_g,) = dt.autograd.grad((want**2).sum(), plain)
    for placement in (Shard(0), Shard(1), Replicate()):
        x = distribute_tensor(values(5, 4), grid, [placement] * grid.ndim).requires_grad_()
        y = program(x)
        np.testing.assert_allclose(whole(y), want.detach().numpy(), err_msg=str(placement))
        (g,) = dt.autograd.grad((y**2).sum(), x)
        np.testing.assert_allclose(whole(g), want_g.numpy(), err_msg=str(placement))
    x = distribute_tensor(values(5, 4), grid, [Shard(0)] * grid.ndim)
    row = x[1]
    x.add_(1)
    with pytest.raises(RuntimeError, match="has the old values"):
        row + 1


def check_transforms(rank, size):
    grid, x = mesh(), values(4, 3)
    f = lambda x: (x.sin() * x[:, :1]).sum(1).exp()
    for placement in (Shard(0), Shard(1)):
        d = distribute_tensor(x, grid, [placement] * grid.ndim)
        for transform in (
            lambda x: dt.func.grad(lambda x: f(x).sum())(x),
            lambda x: dt.func.jvp(f, (x,), (x * 2,))[1],
            lambda x: dt.func.vmap(lambda row: row.sin().sum() * row)(x),
            lambda x: dt.func.hessian(lambda x: f(x).sum())(x),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.testing.assert_allclose(whole(transform(d)), transform(x).numpy(), rtol=1e-7)


def check_random_numbers_do_not_depend_on_the_processes(rank, size):
    grid = mesh()
    found = []
    for placement in (Replicate(), Shard(0), Shard(1)):
        dt.manual_seed(11)
        found.append(whole(dtensor.randn(300, 21, device_mesh=grid, placements=[placement] * grid.ndim)))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert abs(found[0].mean()) < 0.05 and abs(found[0].std() - 1) < 0.05 and len(np.unique(found[0])) > 6000
    alone = dist.DeviceMesh("cpu", [0])
    if rank == 0:  # a mesh of one process draws the same
        dt.manual_seed(11)
        assert np.array_equal(whole(dtensor.randn(300, 21, device_mesh=alone)), found[0])
    assert (
        whole(dtensor.full((3, 2), 4.0, device_mesh=grid, placements=[Shard(0)] * grid.ndim)).tolist()
        == [[4.0] * 2] * 3
    )


def check_a_module_in_parts_trains_as_a_whole_one(rank, size):
    grid = mesh()

    def model() -> nn.Module:
        dt.manual_seed(4)
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).double()

    def split(name: str, module: nn.Module, grid: dist.DeviceMesh) -> None:
        for key, parameter in list(module._parameters.items()):
            placement = Shard(0) if name == "0" else Shard(parameter.ndim - 1) if parameter.ndim > 1 else Replicate()
            part = distribute_tensor(parameter.detach(), grid, [placement] * grid.ndim)
            module.register_parameter(key, nn.Parameter(part))

    one, many = model(), dtensor.distribute_module(model(), grid, split)
    x, y = values(5, 6), values(5, 3)
    dx, dy = (distribute_tensor(t, grid, [Replicate()] * grid.ndim) for t in (x, y))
    first, second = (dt.optim.SGD(m.parameters(), lr=0.1, momentum=0.5) for m in (one, many))
    for _ in range(3):
        first.zero_grad(), second.zero_grad()
        nn.functional.mse_loss(one(x), y).backward()
        nn.functional.mse_loss(many(dx), dy).backward()
        first.step(), second.step()
    for p, q in zip(one.parameters(), many.parameters(), strict=True):
        np.testing.assert_allclose(whole(q), p.detach().numpy(), rtol=1e-9)


def check_meshes(rank, size):
    grid = dist.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("data", "model"))
    assert grid.shape == (2, size // 2) and grid.size() == size and grid.size(0) == 2
    assert grid.get_coordinate() == [rank // (size // 2), rank % (size // 2)]
    assert grid["model"].mesh.tolist() == grid.mesh[rank // (size // 2)].tolist()
    assert grid.get_group("data").ranks == grid.mesh[:, rank % (size // 2)].tolist()
    assert grid["data"].get_local_rank() == grid.get_local_rank("data") == rank // (size // 2)
    with pytest.raises(KeyError, match="nothing"):
        grid["nothing"]
    with pytest.raises(RuntimeError, match="more places"):
        dist.init_device_mesh("cpu", (size + 1,))


def check_sums_stay_pending_and_fallbacks_warn(rank, size):
    grid = mesh()
    x = distribute_tensor(values(4, 4), grid, [Shard(0)] * grid.ndim)
    assert all(p.is_partial("sum") for p in x.sum().placements) and all(
        p.is_partial() for p in (x.sum() * 2 + 1).placements
    )
    assert (x @ x.t()).placements == (Shard(0),) * grid.ndim
    dist.barrier()
    from dualtape.distributed.tensor.array import unruled

    unruled.clear()
    with pytest.warns(UserWarning, match="no rule for sharded tensors: 128 bytes"):
        dt.nonzero(x)


def check_wrong_arguments(rank, size):
    grid, x = mesh(), dt.ones(4, 3)
    d = distribute_tensor(x, grid, [Shard(0)] * grid.ndim)
    for kind, words, call in [
        (ValueError, "one for each dimension of the mesh", lambda: distribute_tensor(x, grid, [Shard(0)] * 5)),
        (ValueError, "more dimensions", lambda: distribute_tensor(x, grid, [Shard(2)] * grid.ndim)),
        (ValueError, "already", lambda: distribute_tensor(d, grid)),
        (RuntimeError, "leaf", lambda: distribute_tensor(x.requires_grad_() * 2, grid)),
        (
            ValueError,
            "this process has a part of shape",
            lambda: DTensor.from_local(x, grid, [Shard(0)] * grid.ndim, shape=(11, 3)),
        ),
        (RuntimeError, "nothing becomes pending", lambda: d.redistribute(placements=[Partial()] * grid.ndim)),
        (AttributeError, "no DTensor", lambda: x.placements),
        (TypeError, "from_local", lambda: DTensor(x)),
    ]:
        with pytest.raises(kind, match=words):
            call()
    assert not hasattr(x, "placements") and "placements=(Shard(dim=0)" in repr(d)


def check_checkpoints_do_not_depend_on_placements(rank, size):
    import tempfile

    from dualtape.distributed import checkpoint

    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    place = f"{folder[0]}/step"
    grid, x = mesh(), values(7, 5)
    alone = dist.DeviceMesh("cpu", [0, 1])
    for placement, back in itertools.product((Shard(0), Shard(1), Replicate()), repeat=2):
        saved = {"net": {"w": distribute_tensor(x, grid, [placement] * grid.ndim)}, "b": x[0] * 2, "epoch": 3}
        checkpoint.save(saved, checkpoint_id=place)  # the second time over the first
        state = {
            "net": {"w": distribute_tensor(x * 0, grid, [back] * grid.ndim)},
            "b": dt.zeros(5).double(),
            "epoch": 0,
        }
        checkpoint.load(state, checkpoint_id=place)
        np.testing.assert_array_equal(whole(state["net"]["w"]), x.numpy())
        assert state["epoch"] == 3 and dt.equal(state["b"], x[0] * 2) and state["net"]["w"].placements[0] == back
        if rank < 2:  # on other processes
            part = distribute_tensor(x * 0, alone, [back], src_data_rank=None)
            checkpoint.load({"net": {"w": part}}, checkpoint_id=place, process_group=alone.get_group())
            np.testing.assert_array_equal(whole(part), x.numpy())
    with pytest.raises(RuntimeError, match="has no nothing"):
        checkpoint.load({"nothing": dt.ones(1)}, checkpoint_id=place)
    with pytest.raises(RuntimeError, match=r"b has shape \[4\], in the checkpoint \[5\]"):
        checkpoint.load({"b": dt.ones(4)}, checkpoint_id=place)


DRAWN = {
    "rand_like": dt.rand_like,
    "randn_like": dt.randn_like,
    "randn_like, other dtype": lambda x: dt.randn_like(x, dtype=dt.float32),
    "rand_like, a leaf": lambda x: dt.rand_like(x, requires_grad=True),
    "rand_like, bfloat16": lambda x: dt.rand_like(x, dtype=dt.bfloat16),
    "randint_like": lambda x: dt.randint_like(x, 3, 90),
    "bernoulli": dt.bernoulli,
    "bernoulli, p": lambda x: dt.bernoulli(x, 0.3),
    "multinomial": lambda x: dt.multinomial(x, 3),
    "multinomial, again": lambda x: dt.multinomial(x, 7, replacement=True),
    "normal": lambda x: dt.normal(x, 2.0),
    "normal, of two": lambda x: dt.normal(x, x + 1),
    "normal_": lambda x: x.clone().normal_(),
    "uniform_": lambda x: x.clone().uniform_(),
    "exponential_": lambda x: x.clone().exponential_(),
    "random_": lambda x: x.clone().random_(50),
}
MADE = {
    "new_zeros": lambda x: x.new_zeros(x.shape),
    "new_ones": lambda x: x.new_ones(x.shape, dtype=dt.int64),
    "new_full": lambda x: x.new_full(x.shape, 3.0, requires_grad=True),
    "new_empty": lambda x: x.new_empty(x.shape).fill_(4),
    "new_empty_strided": lambda x: x.new_empty_strided(tuple(x.shape), x.stride()).fill_(5),
    "zeros_like": dt.zeros_like,
    "ones_like": lambda x: dt.ones_like(x, dtype=dt.int32),
    "full_like": lambda x: dt.full_like(x, 2.0),
    "empty_like": lambda x: dt.empty_like(x).fill_(6),
}
OF_OTHER_SHAPES = {
    "new_zeros": lambda x: x.new_zeros(2, 2),
    "new_ones": lambda x: x.new_ones(5),
    "new_full": lambda x: x.new_full((), 1),
    "new_empty": lambda x: x.new_empty(3, 7).fill_(1),
    "of as many": lambda x: x.new_zeros(20),
}


def check_what_is_made_like_a_dtensor_lies_as_it_does(rank, size):
    """Placements as PyTorch's: those of the tensor, replicated where sums are pending, or the shape is another."""
    grid, x = mesh(), values(5, 4)
    starts = list(itertools.product([Replicate(), Shard(0), Shard(1), Partial()], repeat=grid.ndim))
    for start in starts if len(starts) == 4 else starts[1::3]:
        pending = [k for k, p in enumerate(start) if isinstance(p, Partial)]
        settled = tuple(Replicate() if k in pending else p for k, p in enumerate(start))
        local = distribute_tensor(x, grid, settled).to_local()
        for k in pending:
            local = local / grid.shape[k]
        given = DTensor.from_local(local, grid, start, shape=x.shape)
        for table in (DRAWN, MADE, OF_OTHER_SHAPES):
            for name, call in table.items():
                dt.manual_seed(7)
                want = call(x)
                dt.manual_seed(7)
                found = call(given)
                after = dt.rand(1).item()
                dt.manual_seed(7)
                call(x)
                assert after == dt.rand(1).item(), name  # as much was drawn
                expected = settled
                if table is OF_OTHER_SHAPES:
                    expected = (Replicate(),) * grid.ndim
                elif name.startswith("multinomial"):
                    expected = tuple(p if p == Shard(0) else Replicate() for p in settled)
                in_place = name.endswith("_") or table is not OF_OTHER_SHAPES and "clone" in name
                where = f"{name} of {start}"
                assert isinstance(found, DTensor), where
                if not (in_place and pending):  # what is written to keeps its placements
                    assert found.placements == expected, (where, found.placements)
                    assert tuple(found.to_local().shape) == found._array.spec.local_shape, where
                assert (found.dtype, found.requires_grad) == (want.dtype, want.requires_grad), where
                np.testing.assert_allclose(whole(found.detach().double()), want.detach().double().numpy(), 1e-12, 1e-12)


def check_a_tensor_of_one_process_is_refused_beside_a_dtensor(rank, size):
    mesh = dist.init_device_mesh("cpu", (size,))
    own = dt.full((4,), float(rank))
    programs = {
        "+": lambda x: x + own,
        "reflected": lambda x: own * x,
        "in place": lambda x: x.clone().add_(own),
        "copy_": lambda x: x.clone().copy_(own),
        "a key": lambda x: x.clone().__setitem__(slice(0, 4), own),
        "@": lambda x: x @ own,
        "where": lambda x: dt.where(x > 1, x, own),
        "a mask": lambda x: x.masked_fill(own > 0, 1.0),
        "cat": lambda x: dt.cat([x, own]),
        "stack": lambda x: dt.stack([x, own]),
        "linear": lambda x: F.linear(x.reshape(1, 4), own.expand(2, 4)),
        "a loss": lambda x: F.mse_loss(x, own),
        "clamp": lambda x: dt.clamp(x, own),
    }
    for placement in (Replicate(), Shard(0)):
        x = distribute_tensor(dt.arange(4.0), mesh, [placement])
        for name, program in programs.items():
            with pytest.raises(RuntimeError, match="mixed Tensor and DTensor"):
                pytest.fail(f"{name}: {program(x)}")
        for allowed in (
            x + dt.tensor(2.0),
            x + 2.0,
            x + dt.full((1,), 2.0),
            x + distribute_tensor(own * 0, mesh, [Replicate()]),
        ):
            assert allowed.full_tensor().shape == (4,)
        assert x[dt.tensor([1, 0])].full_tensor().tolist() == [1.0, 0.0]
