"""dualtape.distributed: checks that run on every rank of an ``mpiexec``, failures, and a world of one."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import dualtape as dt
import dualtape.distributed as dist
from tests.processes.runner import checks
from tests.same_program import needs_torch

ROOT = Path(__file__).parents[2]
MPI = importlib.util.find_spec("mpi4py") is not None and (Path(sys.executable).parent / "mpiexec").exists()
needs_mpi = pytest.mark.skipif(not MPI, reason="mpi4py and its mpiexec are not installed")
MODULES = [
    f"tests.processes.{name}"
    for name in (
        "collectives",
        "mismatches",
        "faults",
        "synchronised",
        "gradients",
        "parallel",
        "dtensors",
        "placements",
        "against_torch",
        "tensor_parallel",
        "sharded_modules",
        "calls",
        "spread",
        "pipelines",
    )
]
SIZES = (2, 4)


def run(size: int, *words: str, limit: int = 60, **environment: str) -> subprocess.CompletedProcess:
    """A Python program in several processes."""
    return subprocess.run(
        [str(Path(sys.executable).parent / "mpiexec"), "-n", str(size), sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=limit,
        cwd=ROOT,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **environment},
    )


@functools.cache
def results(size: int) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        done = run(size, "-m", "tests.processes.runner", str(path), *MODULES, limit=200)
        found = json.loads(path.read_text()) if path.exists() else {}
    return {**found, "": done.stderr}


@needs_mpi
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("check", [f"{module}.{name}" for module in MODULES for name in checks(module)])
def test_on_every_rank(check: str, size: int) -> None:
    found = results(size)
    assert check in found, found[""]
    assert not found[check], found[check]


def program(text: str) -> tuple[str, str]:
    return (
        "-c",
        "import dualtape as dt, dualtape.distributed as dist, sys, time\nfrom datetime import timedelta\n" + text,
    )


# what one rank does, and what must be said
FAILURES = {
    "an exception": (
        "dist.init_process_group()\nif dist.get_rank() == 1: {}['a']\ndist.barrier()",
        "[rank 1] KeyError",
    ),
    "a rank that leaves": (
        "dist.init_process_group()\nif dist.get_rank() == 1: sys.exit(0)\ndist.all_reduce(dt.ones(2))",
        "rank 1 has left without it",
    ),
    "a rank that never comes": (
        "dist.init_process_group(timeout=timedelta(seconds=1))\nif dist.get_rank() == 1: time.sleep(60)\ndist.barrier()",
        "barrier: it timed out after 1 seconds",
    ),
    "a rank that leaves while it computes for another": (
        "from dualtape.distributed import rpc\ndist.init_process_group()\nr = dist.get_rank()\nrpc.init_rpc(f'w{r}')\n"
        "if r == 1:\n    time.sleep(1)\n    sys.exit(0)\nrpc.rpc_sync('w1', time.sleep, args=(100,), timeout=0)",
        "WorkerInfo(id=1, name=w1) has left without an answer",
    ),
    "a rank that leaves while it is called": (
        "from dualtape.distributed import rpc\ndist.init_process_group()\nr = dist.get_rank()\nrpc.init_rpc(f'w{r}')\n"
        "if r == 1: sys.exit(0)\nrpc.rpc_sync('w1', time.sleep, args=(100,), timeout=0)",
        "WorkerInfo(id=1, name=w1) has left without an answer",
    ),
    "a rank that misses a monitored barrier": (
        "dist.init_process_group()\nif dist.get_rank() == 1: time.sleep(60)\n"
        "dist.monitored_barrier(timeout=timedelta(seconds=1))",
        "monitored_barrier: rank 1 failed to come within 1 seconds",
    ),
}


@needs_mpi
@pytest.mark.parametrize("case", FAILURES)
def test_nobody_waits_for_ever_after(case: str) -> None:
    text, words = FAILURES[case]
    begin = time.monotonic()
    done = run(2, *program(text), limit=50)
    assert done.returncode and words in done.stderr, done.stderr
    assert time.monotonic() - begin < 30


LATE = """
from dualtape.distributed.tensor import Shard, distribute_tensor
dist.init_process_group(timeout=timedelta(seconds=1))
x = distribute_tensor(dt.arange(4.0), dist.init_device_mesh("cpu", (2,)), [Shard(0)])
if dist.get_rank() == 1: time.sleep(60)
for call in (x.full_tensor, x.sum().full_tensor, lambda: dist.barrier()):
    try: call()
    except dist.DistBackendError as error: print(type(error.__cause__).__name__, error, "|", error.__cause__, flush=True)
"""


@needs_mpi
def test_a_timeout_in_an_op_is_said_as_it_is_and_is_the_cause_of_what_comes_later() -> None:
    first, *later = run(2, *program(LATE), limit=50).stdout.splitlines()
    assert first.startswith("NoneType all_gather_into_tensor: it timed out after 1 seconds"), first
    assert len(later) == 2
    for line in later:
        assert line.startswith("DistBackendError") and "of no more use" in line
        assert "it timed out after 1 seconds" in line.partition("|")[2]


DIFFERENT = {
    "shapes": ("dist.all_reduce(dt.ones(2 + r))", ["shape=[2]", "shape=[3]"]),
    "dtypes": ("dist.all_reduce(dt.ones(2, dtype=dt.float64 if r else dt.float32))", ["float64", "float32"]),
    "collectives": ("dist.barrier() if r else dist.broadcast(dt.ones(1), 0)", ["barrier(", "broadcast("]),
    "reductions": (
        "dist.all_reduce(dt.ones(2), dist.ReduceOp.MAX if r else dist.ReduceOp.SUM)",
        ["RedOpType.MAX", "RedOpType.SUM"],
    ),
}


@needs_mpi
def test_in_detail_ranks_that_do_different_things_all_hear_of_it() -> None:
    text = "dist.init_process_group()\nr = dist.get_rank()\n"
    for call, _ in DIFFERENT.values():
        text += f"try: {call}\nexcept dist.DistBackendError as error: print(r, error, flush=True)\n"
    done = run(2, *program(text), DUALTAPE_DISTRIBUTED_DEBUG="detail")
    assert not done.returncode, done.stderr
    for _, words in DIFFERENT.values():
        for word in words:
            assert done.stdout.count(word) >= 2, (word, done.stdout)  # each rank says what both did
    assert done.stdout.count("different collectives") == 2 * len(DIFFERENT)
    assert "<string>:" in done.stdout


@needs_mpi
def test_the_command_launches_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, dualtape.distributed as dist\ndist.init_process_group()\n"
        "sys.stdout.write(f'{dist.get_rank()} {dist.get_world_size()} {sys.argv[1:]}\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-m", "dualtape", "launch", "-n", "2", str(script), "--a", "b"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert sorted(done.stdout.splitlines()) == ["0 2 ['--a', 'b']", "1 2 ['--a', 'b']"], done.stderr


@pytest.mark.parametrize("words, said", [(["-n", "0", __file__], "at least 1"), (["-n", "2", "nowhere.py"], "no file")])
def test_a_wrong_launch_says_why(words: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    from dualtape.cli import main

    with pytest.raises(SystemExit):
        main(["launch", *words])
    assert said in capsys.readouterr().err


@needs_torch
@pytest.mark.parametrize("name", [n for n in dist.__all__ if inspect.isfunction(getattr(dist, n, None))])
def test_signatures_are_pytorchs(name: str) -> None:
    import torch.distributed as theirs

    ours, other = inspect.signature(getattr(dist, name)), inspect.signature(inspect.unwrap(getattr(theirs, name)))
    left_out = {"init_process_group": {"_ranks"}, "init_device_mesh": {"backend_override"}}.get(name, set())
    want = [(p.name, p.kind) for p in other.parameters.values() if p.name not in left_out]
    got = [(p.name, p.kind) for p in ours.parameters.values()]
    assert got == want


PARTS = (
    "tensor.parallel",
    "fsdp",
    "rpc",
    "autograd",
    "optim",
    "pipelining",
    "algorithms",
    "algorithms.ddp_comm_hooks.default_hooks",
)


def named_arguments(value: object) -> list[tuple]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(value).parameters.values()]  # type: ignore[arg-type]


@needs_torch
@pytest.mark.parametrize("part", PARTS)
def test_signatures_of_parts_are_pytorchs(part: str) -> None:
    ours = importlib.import_module(f"dualtape.distributed.{part}")
    theirs = importlib.import_module(f"torch.distributed.{part}")
    compared = 0
    for name in ours.__all__:
        mine, other = getattr(ours, name), getattr(theirs, name, None)
        methods = (
            [n for n, f in vars(mine).items() if inspect.isfunction(f) and not n.startswith("_")]
            if inspect.isclass(mine)
            else []
        )
        for a, b in [(mine, other), *[(getattr(mine, m), getattr(other, m, None)) for m in methods]]:
            try:
                want = [(n, kind) for n, kind, _ in named_arguments(inspect.unwrap(b))]  # type: ignore[arg-type]
            except (TypeError, ValueError):  # not there, or written in C++
                continue
            if want[-2:] == [("args", inspect.Parameter.VAR_POSITIONAL), ("kwargs", inspect.Parameter.VAR_KEYWORD)]:
                continue  # which says nothing
            assert [(n, kind) for n, kind, _ in named_arguments(a)] == want, name
            compared += 1
    assert compared or part in ("autograd",)


@pytest.fixture
def alone():
    dist.init_process_group()
    yield
    dist.destroy_process_group()


def test_a_world_of_one_needs_nothing(alone: None) -> None:
    x = dt.arange(6.0).reshape(2, 3).t()
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
        dist.all_reduce(x, op)
    dist.reduce(x, 0), dist.broadcast(x, 0), dist.barrier(), dist.monitored_barrier()
    out = [dt.zeros(3, 2)]
    dist.all_gather(out, x), dist.all_to_all(out, out), dist.scatter(out[0], [x]), dist.gather(x, out)
    into = dt.zeros(3, 2)
    dist.reduce_scatter_tensor(into, x), dist.all_gather_into_tensor(into, x), dist.all_to_all_single(into, x)
    want = dt.arange(6.0).reshape(2, 3).t()
    assert dt.equal(x, want) and dt.equal(out[0], want) and dt.equal(into, want)
    found = [None]
    dist.all_gather_object(found, "a")
    dist.isend(x, 0).wait(), dist.recv(into)
    assert found == ["a"] and dt.equal(into, want) and dist.get_backend() == "mpi"


def test_without_mpi4py_there_is_a_world_of_one_and_no_silent_others() -> None:
    text = (
        "import sys; sys.modules['mpi4py'] = None\nimport dualtape.distributed as dist\n"
        "dist.init_process_group(); print(dist.get_world_size())"
    )
    for size, status in (("1", 0), ("2", 1)):
        done = subprocess.run(
            [sys.executable, "-c", text],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PMI_SIZE": size},
        )
        assert done.returncode == status and (
            done.stdout == "1\n" if not status else "each would be alone" in done.stderr
        )


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: dist.get_rank(), ValueError, "has not been initialized"),
        (lambda: dist.all_reduce(dt.ones(1)), ValueError, "has not been initialized"),
        (lambda: dist.init_process_group("gloo"), ValueError, "the backends are 'mpi'"),
        (lambda: dist.init_process_group(world_size=3), ValueError, "world_size is 1 by what the launcher says, got 3"),
        (lambda: dist.init_process_group(init_method="tcp://here"), ValueError, "MPI does the rendezvous"),
        (lambda: dist.init_process_group(timeout=3), TypeError, "timedelta"),
        (lambda: dist.destroy_process_group(), AssertionError, "cannot be None"),
    ],
)
def test_outside_a_world(call, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()
    assert not dist.is_initialized()


def saved_until(folder: Path, stop: int) -> int:
    """Save a checkpoint in a process that ends itself before its ``stop``-th touch of a file; its exit status."""
    pid = os.fork()
    if pid == 0:
        seen = [0]

        def audit(event: str, args: tuple) -> None:
            seen[0] += event in ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "shutil.rmtree")
            if seen[0] == stop:
                os._exit(7)

        sys.addaudithook(audit)
        dist.checkpoint.save({"x": dt.ones(1000)}, checkpoint_id=folder)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_program_that_is_ended_while_it_saves_leaves_a_whole_checkpoint(
    tmp_path: Path, exchanges: bool, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(dist.checkpoint, "_exchange", lambda a, b: False)
    values = []
    for stop in range(1, 60):
        folder = tmp_path / str(stop)
        dist.checkpoint.save({"x": dt.zeros(1000)}, checkpoint_id=folder)
        status = saved_until(folder, stop)
        state = {"x": dt.full((1000,), 5.0)}
        dist.checkpoint.load(state, checkpoint_id=folder)
        assert len(set(state["x"].tolist())) == 1
        values.append(state["x"][0].item())
        if status == 0:
            break
    assert values[0] == 0.0 and values[-1] == 1.0 and status == 0 and values == sorted(values)
