"""``python -m benchmarks.distributed_peers``: training steps and calls in two processes, here and by PyTorch over Gloo.

Each library runs the same program under ``mpiexec -n 2``, one thread each, in turn, several times; of all rounds the
quickest is shown, for both alike, with the slowest behind it: how far a busy machine spreads them.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 5
WIDTHS = (16, 256)
CALLS = (1, 10**6)  # elements of the tensor that a call takes and returns


def negative(x: Any) -> Any:
    """What is called on the other process."""
    return -x


def timed(dist: Any, step: Callable[[], Any], number: int = 20) -> float:
    """Milliseconds of one step, at best of four times ``number``."""
    for _ in range(3):
        step()
    found = []
    for _ in range(4):
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(number):
            step()
        found.append((time.perf_counter() - begin) / number * 1e3)
    return min(found)


def steps(name: str, T: Any, dist: Any, rank: int, width: int) -> dict[str, float]:
    """The milliseconds of each kind of training step."""
    part = lambda path: importlib.import_module(f"{name}.distributed.{path}")
    fully_shard, parallel, pipelining = part("fsdp").fully_shard, part("tensor.parallel"), part("pipelining")
    mesh = part("device_mesh").init_device_mesh("cpu", (2,))
    x = T.rand(32, width)

    def net() -> Any:
        return T.nn.Sequential(*[layer for _ in range(4) for layer in (T.nn.Linear(width, width), T.nn.ReLU())])

    def training(model: Any) -> Callable[[], None]:
        optimizer = T.optim.Adam(model.parameters(), lr=1e-3)

        def step() -> None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        return step

    sharded = net()
    for layer in sharded:
        if isinstance(layer, T.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    columns, rows = parallel.ColwiseParallel, parallel.RowwiseParallel
    planned = parallel.parallelize_module(net(), mesh, {"0": columns(), "2": rows(), "4": columns(), "6": rows()})
    half = net()[:4] if rank == 0 else net()[4:]
    stage = pipelining.PipelineStage(half, rank, 2, T.device("cpu"))
    pipe = pipelining.ScheduleGPipe(stage, 4, T.nn.functional.mse_loss)
    return {
        f"one process each, {width} wide": timed(dist, training(net())),
        f"`DistributedDataParallel`, {width} wide": timed(dist, training(T.nn.parallel.DistributedDataParallel(net()))),
        f"`fully_shard`, {width} wide": timed(dist, training(sharded)),
        f"columns and rows by a plan, {width} wide": timed(dist, training(planned)),
        f"pipeline of two stages, {width} wide": timed(
            dist, lambda: pipe.step(x) if rank == 0 else pipe.step(target=x)
        ),
    }


def calls(name: str, T: Any, rank: int) -> dict[str, float]:
    """The milliseconds of a call of the other process."""
    rpc = importlib.import_module(f"{name}.distributed.rpc")
    rpc.init_rpc(f"worker{rank}", **({"rank": rank, "world_size": 2} if name == "torch" else {}))
    found = {}
    if rank == 0:
        for n in CALLS:
            x, number = T.ones(n), 100 if n == 1 else 20
            once = lambda x=x: rpc.rpc_sync("worker1", negative, args=(x,))
            for _ in range(10):
                once()
            begin = time.perf_counter()
            for _ in range(number):
                once()
            found[f"call with {n:.0e} numbers there and back"] = (time.perf_counter() - begin) / number * 1e3
    rpc.shutdown()
    return found


def run(name: str) -> None:
    """Run one measurement of one library, in one of its processes."""
    rank = int(os.environ["PMI_RANK"])
    T, dist = importlib.import_module(name), importlib.import_module(f"{name}.distributed")
    if name == "torch":
        T.set_num_threads(1)
        dist.init_process_group("gloo", rank=rank, world_size=2)
    else:
        dist.init_process_group()
    found: dict[str, float] = {}
    for width in WIDTHS:
        found |= steps(name, T, dist, rank, width)
    dist.barrier()
    if name == "torch":
        dist.destroy_process_group()
    found |= calls(name, T, rank)
    if rank == 0:
        sys.stdout.write(f"\n{json.dumps(found)}\n")


def main() -> None:
    words = [
        str(Path(sys.executable).parent / "mpiexec"),
        "-n",
        "2",
        sys.executable,
        "-m",
        "benchmarks.distributed_peers",
    ]
    rounds: dict[str, list[dict[str, float]]] = {"dualtape": [], "torch": []}
    for k in range(ROUNDS):
        for name, found in rounds.items():
            place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29600 + k)}
            threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            done = subprocess.run(
                [*words, name], capture_output=True, text=True, check=False, env={**os.environ, **threads, **place}
            )
            line = next((each for each in done.stdout.splitlines() if each.startswith("{")), None)
            if done.returncode or line is None:
                sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
            found.append(json.loads(line))
    lines = [f"| best of {ROUNDS} rounds (and the worst), in milliseconds | here | PyTorch |", "|---" * 3 + "|"]
    for what in rounds["dualtape"][0]:
        cells = [[each[what] for each in rounds[name]] for name in rounds]
        lines.append(f"| {what} | " + " | ".join(f"{min(cell):.2f} ({max(cell):.2f})" for cell in cells) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    run(sys.argv[1]) if len(sys.argv) > 1 else main()
