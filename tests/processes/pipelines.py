"""Pipelines: losses, gradients and outputs of the whole model in one process."""

from __future__ import annotations

import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from dualtape.nn import functional as F


class Layer(nn.Module):
    """Gives two tensors, of which the second is no input of the first's gradient; and may scale them."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: dt.Tensor, marks: dt.Tensor, scale: float = 1.0) -> tuple[dt.Tensor, dt.Tensor]:
        return (self.linear(x) * scale).tanh() + marks, marks


class Last(Layer):
    def forward(self, x: dt.Tensor, marks: dt.Tensor) -> dt.Tensor:
        return super().forward(x, marks)[0]


def layers(size: int) -> list[nn.Module]:
    dt.manual_seed(3)
    return [(Layer if k < size - 1 else Last)().double() for k in range(size)]


def batch(rows: int) -> tuple[dt.Tensor, dt.Tensor, dt.Tensor]:
    draw = dt.Generator().manual_seed(1)
    marks = (dt.rand(rows, 4, generator=draw) > 0.5).to(dt.int64)
    return dt.rand(rows, 4, dtype=dt.float64, generator=draw), marks, dt.rand(rows, 4, dtype=dt.float64, generator=draw)


def check_a_pipeline_trains_as_the_whole_model(rank, size):
    x, marks, y = batch(8)
    for schedule in (ScheduleGPipe, Schedule1F1B):
        for scaled in (True, False):
            one, mine = layers(size), layers(size)[rank]
            first = dt.optim.Adam([p for layer in one for p in layer.parameters()], lr=0.01)
            second = dt.optim.Adam(mine.parameters(), lr=0.01)
            stage = PipelineStage(mine, rank, size, dt.device("cpu"))
            plan = schedule(stage, 4, F.mse_loss, scale_grads=scaled)
            for _ in range(3):
                first.zero_grad(), second.zero_grad()
                losses: list = []
                named = {"scale": 2.0} if rank == 0 and size > 1 else {}
                out = plan.step(
                    *((x, marks) if rank == 0 else ()), target=y if rank == size - 1 else None, losses=losses, **named
                )
                whole = (x, marks)
                for k, layer in enumerate(one):
                    whole = layer(*whole, **({"scale": 2.0} if k == 0 and size > 1 else {}))
                (F.mse_loss(whole, y) * (1 if scaled else 4)).backward()
                for p, q in zip(one[rank].parameters(), mine.parameters(), strict=True):
                    dt.testing.assert_close(q.grad, p.grad)
                if rank == size - 1:
                    dt.testing.assert_close(out, whole)
                    dt.testing.assert_close(sum(losses) / 4, F.mse_loss(whole, y))
                else:
                    assert out is None and not losses
                first.step(), second.step()
            found = plan.eval(*((x, marks) if rank == 0 else ()))
            assert found is None if rank < size - 1 else found.shape == (8, 4) and not found.requires_grad


def check_few_pieces_are_kept(rank, size):
    x, marks, y = batch(12)
    for schedule, most in ((ScheduleGPipe, 6), (Schedule1F1B, size - rank)):
        stage = PipelineStage(layers(size)[rank], rank, size, dt.device("cpu"))
        kept = []
        stage.submodule.register_forward_hook(lambda *args, stage=stage, kept=kept: kept.append(len(stage._kept) + 1))
        schedule(stage, 6, F.mse_loss).step(*((x, marks) if rank == 0 else ()), target=y if rank == size - 1 else None)
        assert max(kept) == most and not stage._kept


def check_averages_over_replicas_come_once(rank, size):
    if size != 4:
        return
    grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "stage"))
    x, marks, y = batch(8)
    place, group = grid.get_local_rank("stage"), grid.get_group("stage")
    one, mine = layers(2), layers(2)[place]
    net = nn.parallel.DistributedDataParallel(mine, process_group=grid.get_group("data"))
    stage = PipelineStage(net, place, 2, dt.device("cpu"), group=group)
    half = slice(4 * grid.get_local_rank("data"), 4 * grid.get_local_rank("data") + 4)
    Schedule1F1B(stage, 2, F.mse_loss).step(
        *((x[half], marks[half]) if place == 0 else ()), target=y[half] if place == 1 else None
    )
    F.mse_loss(one[1](*one[0](x, marks)), y).backward()
    for p, q in zip(one[place].parameters(), mine.parameters(), strict=True):
        dt.testing.assert_close(q.grad, p.grad)


def check_wrong_pipelines(rank, size):
    device = dt.device("cpu")
    stage = PipelineStage(nn.Linear(2, 2), rank, size, device)
    for kind, words, call in [
        (ValueError, "stage_index must be", lambda: PipelineStage(nn.Linear(2, 2), size, size, device)),
        (ValueError, "must be on rank", lambda: PipelineStage(nn.Linear(2, 2), (rank + 1) % size, size, device)),
        (NotImplementedError, "dw_builder", lambda: PipelineStage(nn.Linear(2, 2), rank, size, device, dw_builder=len)),
        (ValueError, "stages busy", lambda: Schedule1F1B(stage, size - 1)),
        (NotImplementedError, "dimension 0", lambda: ScheduleGPipe(stage, 2, args_chunk_spec=())),
    ]:
        with pytest.raises(kind, match=words):
            call()
    if rank:
        with pytest.raises(ValueError, match="first stage"):
            ScheduleGPipe(stage, 1).step(dt.ones(1, 2))
    else:
        with pytest.raises(ValueError, match="no 3 pieces"):
            ScheduleGPipe(stage, 3).step(dt.ones(2, 2))
        like = PipelineStage(nn.Linear(2, 2), rank, size, device, input_args=dt.ones(5, 2))
        with pytest.raises(ValueError, match="input_args says"):
            ScheduleGPipe(like, 1).step(dt.ones(2, 2))
