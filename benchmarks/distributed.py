"""``python -m benchmarks.distributed``: what a step costs in several processes, and what it would on a cluster.

It starts itself under ``mpiexec -n 2``, or runs under one. Measured: the time of a step, the collectives it makes and
the bytes they move for each process, against the fewest that any program could; and what an operation on a DTensor
costs more than on its part. Calculated, with the formulas shown: the same steps on 8 to 4096 processes of a network.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from math import log2
from pathlib import Path
from timeit import repeat
from typing import Any

import dualtape as dt
import dualtape.distributed as dist
from dualtape import nn
from dualtape.distributed.tensor import Replicate, Shard, distribute_tensor
from dualtape.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleOutput,
    RowwiseParallel,
    parallelize_module,
)

LATENCY, BANDWIDTH = 2e-6, 25e9  # of one message, in seconds; of one process's link, in bytes per second
RANKS = (8, 64, 512, 4096)
BATCH, WIDTH, HEADS, TOKENS = 32, 256, 8, 64
ELEMENTS = 10**7

# bytes that a process must receive, of a collective of n processes, by the bytes of its larger side
_SHARES = {
    "all_reduce": lambda size, n: 2 * size * (n - 1) / n,
    "all_gather": lambda size, n: size * (n - 1) / n,
    "reduce_scatter": lambda size, n: size * (n - 1) / n,
    "all_to_all": lambda size, n: size * (n - 1) / n,
    "broadcast": lambda size, n: size,
}


class Counted:
    """A transport that counts what it is asked to do."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.calls = 0
        self.bytes = 0.0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._transport, name)
        if name not in _SHARES:
            return method

        def counted(*args: Any) -> Any:
            self.calls += 1
            self.bytes += _SHARES[name](max(a.nbytes for a in args if hasattr(a, "nbytes")), self._transport.size)
            return method(*args)

        return counted


def best(function: Callable[[], Any], number: int = 5) -> float:
    """Seconds of one call, at best; the processes begin together."""
    function()
    dist.barrier()
    return min(repeat(function, number=number, repeat=5)) / number


def measured(step: Callable[[], Any]) -> tuple[float, int, float]:
    """The seconds, the collectives and the bytes of a step."""
    step()
    world = dist.group.WORLD
    kept, world.transport = world.transport, Counted(world.transport)
    try:
        step()
        counted = world.transport
    finally:
        world.transport = kept
    return best(step), counted.calls, counted.bytes


# --- programs: a step in several processes, the same in one, the fewest bytes ----------------------


def data_parallel(mesh: Any) -> tuple:
    def model() -> nn.Module:
        dt.manual_seed(0)
        return nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH))

    single, many = model(), nn.parallel.DistributedDataParallel(model())
    x = dt.rand(BATCH, WIDTH)

    def step(net: nn.Module) -> None:
        net.zero_grad()
        net(x).square().mean().backward()

    size = sum(p.numel() * 4 for p in single.parameters())
    return (lambda: step(many)), (lambda: step(single)), lambda n: 2 * size * (n - 1) / n


class Block(nn.Module):
    """Attention and an MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        h = self.norm1(x)
        q, k, v = (f(h).reshape(*x.shape[:2], -1, WIDTH // HEADS).transpose(1, 2) for f in (self.q, self.k, self.v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        x = x + self.out(mixed.reshape(*x.shape[:2], -1))
        return x + self.down(self.up(self.norm2(x)).relu())


def tensor_parallel(mesh: Any) -> tuple:
    once = PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Replicate(), use_local_output=False)
    plan = {
        "norm1": once,
        **dict.fromkeys("qkv", ColwiseParallel()),
        "out": RowwiseParallel(),
        "up": ColwiseParallel(),
        "down": RowwiseParallel(),
    }
    dt.manual_seed(0)
    single = Block()
    many = parallelize_module(Block(), mesh, plan)
    x = dt.rand(4, TOKENS, WIDTH, requires_grad=True)

    def step(net: nn.Module) -> None:
        net.zero_grad()
        net(x).square().mean().backward()

    # two sums of activations forward, and two backward
    return (lambda: step(many)), (lambda: step(single)), lambda n: 4 * 2 * x.numel() * 4 * (n - 1) / n


def elementwise(mesh: Any) -> tuple:
    whole = dt.rand(ELEMENTS)
    part = distribute_tensor(whole, mesh, [Shard(0)])
    step = lambda x: ((x * 2 + 1).sin() * x).sum().item()
    return (lambda: step(part)), (lambda: step(whole)), lambda n: 2 * 4 * (n - 1) / n


PROGRAMS = {
    f"data-parallel MLP, {WIDTH}-{4 * WIDTH}-{WIDTH}, {BATCH} samples each": data_parallel,
    f"tensor-parallel transformer block, {WIDTH} wide, {4 * TOKENS} tokens": tensor_parallel,
    f"elementwise program, {ELEMENTS:.0e} elements in parts": elementwise,
}


def overheads(mesh: Any) -> list[tuple[str, float, float]]:
    """Operations: microseconds on a DTensor, and on its part."""
    x, y = (distribute_tensor(dt.rand(16, 16), mesh, [Shard(0)]) for _ in range(2))
    w = distribute_tensor(dt.rand(16, 16), mesh, [Replicate()])
    c = distribute_tensor(dt.rand(16, 16), mesh, [Shard(1)])
    found = []
    for name, f, args in [
        ("x + y", lambda a, b: a + b, (x, y)),
        ("x.sin()", lambda a: a.sin(), (x,)),
        ("x @ w", lambda a, b: a @ b, (x, w)),
        ("w @ c", lambda a, b: a @ b, (w, c)),
        ("x.sum(1)", lambda a: a.sum(1), (x,)),
        ("x.t()", lambda a: a.t(), (x,)),
        ("x + w, which is cut", lambda a, b: a + b, (x, w)),
    ]:
        local = [a.to_local() for a in args]
        if "cut" in name:
            local[1] = local[1][: local[0].shape[0]]
        pair = [best(lambda a=a: f(*a), 500) * 1e6 for a in (args, local)]  # noqa: B023 - called at once
        found.append((name, *pair))
    return found


# --- on a network ---------------------------------------------------------------------------------


def all_reduce_time(size: float, n: int) -> float:
    """A ring for the bytes, a tree for the latency, whichever is quicker."""
    ring = 2 * (n - 1) * LATENCY + 2 * size * (n - 1) / n / BANDWIDTH
    return min(ring, 2 * log2(n) * (LATENCY + size / BANDWIDTH))


def calculated(single: list[float], sizes: list[tuple[int, float]], strong: list[bool]) -> list[str]:
    """Rows of a table: how much of a perfect speed is left, for each program and number of processes."""
    rows = []
    for (name, _), seconds, (calls, size), divided in zip(PROGRAMS.items(), single, sizes, strong, strict=True):
        cells = []
        for n in RANKS:
            compute = seconds / n if divided else seconds
            spent = calls * all_reduce_time(size, n)
            cells.append(f"{(compute + spent) * 1e3:.3g} ms ({compute / (compute + spent):.0%})")
        rows.append(f"| {name.partition(',')[0]} | {calls} of {size:.3g} B | {' | '.join(cells)} |")
    return rows


def main() -> None:
    dist.init_process_group()
    n = dist.get_world_size()
    mesh = dist.init_device_mesh("cpu", (n,))
    lines = [f"| a step on {n} processes | one process | all | collectives | bytes moved | fewest |", "|---" * 6 + "|"]
    single, floors = [], []
    for name, make in PROGRAMS.items():
        many, alone, fewest = make(mesh)
        seconds, calls, moved = measured(many)
        dist.barrier()
        single.append(best(alone))
        floors.append(fewest)
        lines.append(
            f"| {name} | {single[-1] * 1e3:.2f} ms | {seconds * 1e3:.2f} ms | {calls} | {moved:.4g} | {fewest(n):.4g} |"
        )
    lines += ["", "| operation on 16 x 16 | DTensor | its part | more |", "|---" * 4 + "|"]
    for name, mine, local in overheads(mesh):
        lines.append(f"| `{name}` | {mine:.1f} us | {local:.1f} us | {mine - local:.1f} us |")
    whole = [floor(1 << 40) / 2 for floor in floors]  # bytes of what is summed: 2 S (n - 1) / n -> 2 S
    sizes = [(1, whole[0]), (4, whole[1] / 4), (1, whole[2])]
    lines += [
        "",
        f"Calculated, for links of {LATENCY * 1e6:g} us and {BANDWIDTH / 1e9:g} GB/s: time = compute + calls x t(S, n),"
        " t(S, n) = min(2 (n - 1) a + 2 S (n - 1) / n / b, 2 log2(n) (a + S / b)), nothing overlapped; compute is that"
        " of one process above, divided by n where the program is (strong scaling), the same where each process has its"
        " own samples. In brackets: the part of the time that computes.",
        "",
        "| program | sums | " + " | ".join(f"{k} processes" for k in RANKS) + " |",
        "|---" * (2 + len(RANKS)) + "|",
        *calculated(single, sizes, [False, True, True]),
    ]
    if dist.get_rank() == 0:
        sys.stdout.write("\n".join(lines) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    if any(name in os.environ for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")):
        main()
    else:
        mpiexec = Path(sys.executable).parent / "mpiexec"
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        words = [str(mpiexec), "-n", "2", sys.executable, "-m", "benchmarks.distributed"]
        sys.exit(subprocess.run(words, env={**threads, **os.environ}, check=False).returncode)
