"""Threads: what is made on first use is made once, whoever comes first; a graph has one backward; a forked process goes
on while the threads it does not have held locks.

Each program runs in many fresh processes, forked from one that has only imported the package.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from copy import copy
from pathlib import Path

import pytest

import dualtape as dt
from dualtape.autograd import function, node
from dualtape.ops import op_node, table

SOURCE = Path(__file__).parents[2] / "src" / "dualtape"

RUNNER = """
import os, sys, threading, traceback
import dualtape as dt

def together(*works):
    failed, start = [], threading.Barrier(len(works))
    def run(work):
        try:
            start.wait()
            work()
        except BaseException:
            failed.append(traceback.format_exc())
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        print(failed[0], file=sys.stderr)
        os._exit(1)

{program}

for _ in range({times}):
    child = os.fork()
    if child == 0:
        sys.setswitchinterval(1e-6)
        main()
        sys.stderr.flush()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
"""

PROGRAMS = {
    "an operation and its backward": """
def main():
    kinds = []
    def work():
        x = dt.ones(3, requires_grad=True)
        y = x * x
        kinds.append(type(y.grad_fn))
        y.sum().backward()
        assert x.grad.tolist() == [2, 2, 2]
        z = (x * 2).add_(x).softmax(0).max(0)
        kinds.append(type(z.values.grad_fn))
    together(*[work] * 8)
    assert len(set(kinds)) == 2, kinds
""",
    "a checkpoint, random numbers, a fresh leaf": """
def main():
    def checkpointed():
        from dualtape.utils.checkpoint import checkpoint
        x = dt.ones(3, requires_grad=True)
        checkpoint(lambda t: t.sin(), x, use_reentrant=False).sum().backward()
    def drawn():
        dt.rand(3)
    def dropped():
        dt.nn.functional.dropout(dt.ones(3), 0.5)
    together(*[checkpointed, drawn, dropped] * 3)
""",
    "transforms": """
def main():
    def gradient():
        dt.func.grad(lambda t: t.sin().sum())(dt.ones(3))
    def batch():
        dt.vmap(lambda t: t.sin())(dt.ones(3))
    def jacobian():
        dt.autograd.functional.jacobian(lambda t: t.sin(), dt.ones(3))
    def pattern():
        dt.func.jacobian_pattern(lambda t: t * t)(dt.ones(2))
    together(*[gradient, batch, jacobian, pattern] * 2)
""",
    "names that are read on demand": """
def main():
    def sparse():
        dt.ones(2).to_sparse()
    def sparse_too():
        dt.sparse_coo_tensor([[0]], [1.0], (2,))
    def functional():
        dt.nn.functional.cross_entropy(dt.ones(2, 3), dt.tensor([0, 1]))
    def parameter():
        dt.nn.Parameter(dt.ones(2))
    def linalg():
        dt.linalg.norm(dt.ones(2))
    def method():
        dt.ones(2, 2).det()
    def gradcheck():
        dt.autograd.gradcheck(lambda t: t.sin(), dt.ones(2, dtype=dt.float64, requires_grad=True))
    together(sparse, sparse_too, functional, parameter, linalg, method, gradcheck, lambda: dt.utils.checkpoint)
""",
    "two backwards through one graph": """
def main():
    x = dt.ones(3, requires_grad=True)
    class Twice(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2
        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * ctx.saved_tensors[0]
    y = x
    for _ in range(30):
        y = Twice.apply(y.sin() * 2).max(0, keepdim=True).values.expand(3).clone()
        y[0] = y[1].exp()
    loss, refused = y.sum(), []
    def work():
        try:
            loss.backward()
        except RuntimeError as error:
            assert "Trying to backward through the graph a second time" in str(error), error
            refused.append(error)
    together(*[work] * 4)
""",
    "a fork while another thread is in backward": """
def main():
    x = dt.ones(3, requires_grad=True)
    dt.autograd.graph.register_multi_grad_hook([x], lambda grads: None)
    stop = threading.Event()
    import faulthandler
    dt.func.grad(lambda t: (t * 2).sum())(dt.ones(2))  # Python itself keeps locks while modules are imported
    def backward():
        while not stop.is_set():
            dt.func.grad(lambda t: (t * 2).sum())(dt.ones(2))
            (x * 2).sum().backward()
    threads = [threading.Thread(target=backward, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(5, exit=True)
            dt.func.grad(lambda t: (t * 2).sum())(dt.ones(2))
            (x * 2).sum().backward()
            dt.ones(3).cosh()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            print("the child hangs", status, file=sys.stderr)
            os._exit(1)
    stop.set()
""",
}
TIMES = {"a fork while another thread is in backward": 3}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fresh process for each try is forked")
@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_that_start_together(name: str) -> None:
    program = RUNNER.format(program=PROGRAMS[name], times=TIMES.get(name, 30))
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_package_that_is_read_on_demand_is_imported_before_its_parts() -> None:
    """Else two threads, one that imports the package and one that imports a part, wait for each other, and one of them
    sees a half-made module.
    """
    late = {"distributions", "func", "nn", "random", "sparse", "utils"}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).parts
        for line in ast.walk(ast.parse(path.read_text())):
            if isinstance(line, ast.ImportFrom) and line.level == len(parts) and line.module and "." in line.module:
                package = line.module.split(".")[0]
                assert package not in late or parts[0] == package, f"{path}:{line.lineno} imports {line.module}"


def test_threads_that_make_a_node_class_at_once_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    op, both, made = copy(table.TABLE["sin"]), threading.Barrier(2), []
    op._node_classes = [None]
    properties = table.saved_properties
    monkeypatch.setattr(table, "saved_properties", lambda op: (both.wait(10), properties(op))[1])
    threads = [threading.Thread(target=lambda: made.append(op.node_class())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2 and made[0] is made[1] is op.node_class()


class Kept(dt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@pytest.mark.parametrize(
    "build",
    [lambda x: x.max(0).values, lambda x: x.sin(), lambda x: x * x, Kept.apply, lambda x: x.clone().mul_(x)],
    ids=["several outputs", "one input", "two inputs", "a function", "a write"],
)
@pytest.mark.parametrize("record", [False, True])
def test_another_thread_that_releases_a_node_in_between_is_never_an_internal_error(
    build, record: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has released what the node saved right after the node found it there."""

    def overtaken(of: node.Node) -> object:
        saved = node.check_not_freed(of)
        of._saved = node.Freed(None)
        return saved

    for module in (op_node, function):
        monkeypatch.setattr(module, "check_not_freed", overtaken)
    x = dt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = build(x)
    try:
        dt.autograd.grad(y.sum(), x, create_graph=record, retain_graph=True)
        y.grad_fn(*[dt.ones(tuple(meta.shape)) for meta in y.grad_fn._input_metadata])
    except RuntimeError as error:
        assert "Trying to backward through the graph a second time" in str(error)
