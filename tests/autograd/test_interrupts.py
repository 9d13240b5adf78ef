"""Ctrl-C at any instruction: modes, levels, NumPy's error state and the engine are as before, and what was written in
place is written and recorded, or neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing import active_children
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape import modes
from dualtape.arrays.protocol import becoming
from dualtape.arrays.sparsity.dependent import detecting
from dualtape.autograd import checkpoint as checkpointing
from dualtape.autograd.engine import current_task
from dualtape.func.sparse import hessian_pattern, jacobian_pattern
from dualtape.utils.data import DataLoader, TensorDataset
from tests.interrupting import Interrupted, interrupted

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="where a signal may come is counted in the instructions of Python 3.11"
)

# --- what is left behind ----------------------------------------------------------------------------


def surroundings() -> list:
    """Everything that an operation reads beside its arguments."""
    mode = modes.current()
    settings = [getattr(mode, name) for name in modes.Mode.__slots__[:-4]]
    random = dt.default_generator.get_state().tolist()
    return [*settings, current_task(), np.geterr(), becoming.get(), detecting.get(), checkpointing._group.get(), random]


def leaves() -> tuple[dt.Tensor, dt.Tensor]:
    x = dt.tensor([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], requires_grad=True)
    w = dt.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]], requires_grad=True)
    return x, w


def step() -> list:
    """A step of training: a forward pass, a backward pass, an update in place."""
    x, w = leaves()
    loss = ((x @ w).tanh().exp() / 3).log_softmax(1).sum() + x[0].mul(2).sum()
    loss.backward()
    with dt.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
    return [w.tolist(), x.grad.tolist()]


def hooked() -> None:
    x, w = leaves()
    y = x @ w
    y.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda leaf: [leaf.grad.mul_(2)][1:] or None)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.sum().backward(create_graph=True)


def within_contexts() -> None:
    x, _ = leaves()
    with dt.no_grad(), dt.inference_mode(), dt.enable_grad():
        x * 2
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t), dt.autograd.detect_anomaly(check_nan=False):
        (x * x).sum().backward()


def within_switches() -> None:
    x, _ = leaves()
    with dt.set_grad_enabled(False), dt.autograd.set_detect_anomaly(True, check_nan=False):
        with dt.autograd.set_multithreading_enabled(False), dt.autograd.enforce_grad_layout_policy(False):
            x * 2
    with dt.autograd.set_detect_anomaly(mode=True):
        with dt.set_grad_enabled(mode=True):
            (x * x).sum().backward()


def in_forward_mode() -> None:
    x, w = leaves()
    with fwAD.dual_level():
        y = fwAD.make_dual(x, dt.ones(2, 3))
        with fwAD.dual_level():
            z = fwAD.make_dual(y, dt.ones(2, 3))
            fwAD.unpack_dual((z @ w).sin(), level=0)
        fwAD.enter_dual_level()
        fwAD.exit_dual_level()
        y[0].mul(2)


def with_a_product() -> None:
    x, _ = leaves()
    dt.func.jvp(lambda t: t.sin().sum(), (x.detach(),), (dt.ones(2, 3),))


def with_a_checkpoint() -> None:
    x, _ = leaves()
    y = checkpointing.checkpoint(lambda t: t * dt.rand(3), x, use_reentrant=False)
    with checkpointing.GraphExecGroup():
        y.backward(dt.ones(2, 3))


def with_a_reentrant_checkpoint() -> None:
    x, _ = leaves()
    checkpointing.checkpoint(lambda t: t * dt.rand(3), x, use_reentrant=True).backward(dt.ones(2, 3))


def with_a_pattern() -> None:
    jacobian_pattern(lambda t: t * t)(dt.ones(2))


def with_a_pattern_of_the_gradient() -> None:
    hessian_pattern(lambda t: (t * t).sum())(dt.ones(2))


def with_a_batch() -> None:
    dt.func.vmap(lambda t: t * 2)(dt.ones(3))


def with_a_gradient() -> None:
    dt.func.grad(lambda t: t.sin().sum())(dt.ones(3))


def with_a_sparse_jacobian() -> None:
    dt.func.sparse_jacobian(lambda t: t * t)(dt.ones(2))


def with_an_optimizer() -> None:
    w = dt.tensor([0.5, -1.0], requires_grad=True)
    optimizer = dt.optim.Adam([w])
    w.sum().backward()
    optimizer.step()


def with_autocast() -> None:
    with dt.autocast("cpu", dtype=dt.bfloat16):
        dt.ones(2, 2) @ dt.ones(2, 2)


def with_a_profile() -> None:
    with dt.profiler.profile():
        dt.ones(2) * 2


def with_a_device() -> None:
    with dt.device("cpu"):
        dt.ones(2)


def with_a_loader() -> None:
    list(DataLoader(TensorDataset(dt.arange(4.0)), batch_size=2))


LAYER = dt.nn.Linear(3, 2)


def with_a_module() -> None:
    handle = LAYER.register_forward_hook(lambda *given: None)
    LAYER(dt.ones(1, 3))
    handle.remove()


PROGRAMS = [
    step,
    hooked,
    within_contexts,
    within_switches,
    in_forward_mode,
    with_a_product,
    with_a_checkpoint,
    with_a_reentrant_checkpoint,
    with_a_pattern,
    with_a_pattern_of_the_gradient,
    with_a_batch,
    with_a_gradient,
    with_a_sparse_jacobian,
    with_an_optimizer,
    with_autocast,
    with_a_profile,
    with_a_device,
    with_a_loader,
    with_a_module,
]


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Using backward")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_an_interrupt_leaves_modes_and_levels_as_they_were(program: Callable) -> None:
    right = step()

    def make() -> Callable:
        dt.manual_seed(3)
        return program

    make()()
    drawn = surroundings()[-1]
    make()
    before = surroundings()
    for where, error in interrupted(make):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        after = surroundings()
        assert after[:-1] == before[:-1], where
        assert after[-1] in (before[-1], drawn), where
        assert step() == right, where


class Line:
    """What functional_call takes for a module."""

    def __init__(self) -> None:
        self.slope, self.height = dt.ones(2), dt.zeros(2)

    def __call__(self, x: dt.Tensor) -> dt.Tensor:
        return x * self.slope + self.height


def test_an_interrupted_functional_call_gives_the_module_its_tensors_back() -> None:
    line = Line()
    own = dict(line.__dict__)
    others = {name: value + 1 for name, value in own.items()}
    for where, error in interrupted(lambda: lambda: dt.func.functional_call(line, others, (dt.ones(2),))):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        assert all(line.__dict__[name] is value for name, value in own.items()), where


@pytest.mark.parametrize(
    "within", ["compiler/session", "compiler/variant", "compiler/compiled", "traced/tape", "modes"]
)
def test_an_interrupted_trace_leaves_tensors_and_the_function_as_they_were(within: str) -> None:
    total = dt.ones(3)
    now: list = []

    def add(x: dt.Tensor) -> dt.Tensor:
        total.add_(x)
        return total * 2

    def make() -> Callable:
        total.fill_(1.0)
        now[:] = [dt.compile(add, backend="numpy")]
        return lambda: now[0](dt.ones(3))

    before = surroundings()[:-1]
    for where, error in interrupted(make, within):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        assert surroundings()[:-1] == before, where
        total.fill_(1.0)
        assert [now[0](dt.ones(3)).tolist()[0] for _ in range(3)] == [4.0, 6.0, 8.0], where


def test_a_step_that_ended_early_can_be_made_again() -> None:
    w = dt.tensor([0.5, -1.0], requires_grad=True)
    now: list = []

    def make() -> Callable:
        now[:] = [dt.optim.LBFGS([w], max_iter=2)]
        return lambda: now[0].step(closure)

    def closure() -> dt.Tensor:
        now[0].zero_grad()
        loss = ((w - 1) ** 2).sum()
        loss.backward()
        return loss

    for where, error in interrupted(make, "optim"):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        for _ in range(3):
            now[0].step(closure)
        assert dt.allclose(w, dt.ones(2), atol=1e-2), where
        with dt.no_grad():
            w.copy_(dt.tensor([0.5, -1.0]))


def test_an_interrupted_fork_of_the_random_numbers_leaves_them_as_they_were() -> None:
    dt.manual_seed(3)
    state = dt.get_rng_state().tolist()

    def forked() -> None:
        with dt.random.fork_rng():
            dt.rand(3)

    for where, error in interrupted(lambda: forked):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        assert dt.get_rng_state().tolist() == state, where


def test_an_interrupted_gradcheck_leaves_its_arguments_as_they_were() -> None:
    x = dt.tensor([0.5, 2.0], dtype=dt.float64, requires_grad=True)
    start = x.tolist()
    check = lambda: dt.autograd.gradcheck(lambda t: t * t, x, fast_mode=True)
    for where, error in interrupted(lambda: check):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        assert x.tolist() == start, where


# --- what is written --------------------------------------------------------------------------------

# Each is linear in x and homogeneous, so that the derivative times x must be the value.
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda x, y: y.mul_(3),
    "add_ of a multiple": lambda x, y: y.add_(x, alpha=2.0),
    "copy_": lambda x, y: y.copy_(x * 5),
    "zero_": lambda x, y: y.zero_(),
    "an op without a ufunc": lambda x, y: y.cumsum_(1),
    "an op of the general way": lambda x, y: y.mul_(np.float32(3)),
    "a view": lambda x, y: y[0].mul_(3),
    "a view of a view": lambda x, y: y[0][1:].mul_(3),
    "a view that is kept": lambda x, y: y.kept.mul_(3),
    "an assignment": lambda x, y: y.__setitem__((0, slice(1, None)), x[1, :2] * 7),
    "an assignment to a view": lambda x, y: y.kept.__setitem__(1, x[1, 1] * 7),
    "an assignment by a mask": lambda x, y: y.__setitem__(dt.tensor([True, False]), x[1] * 7),
    "an assignment by places": lambda x, y: y.__setitem__(dt.tensor([1, 0]), x * 7),
    "a write under hooks": lambda x, y: _with_hooks(lambda: y.mul_(3)),
}


def _with_hooks(write: Callable) -> None:
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        write()


def agrees(y: dt.Tensor, x: dt.Tensor, weights: dt.Tensor) -> bool:
    (g,) = dt.autograd.grad((y * weights).sum(), x, retain_graph=True)
    return bool(dt.allclose((g * x).sum(), (y * weights).sum()))


@pytest.mark.parametrize("name", WRITES)
def test_an_interrupted_write_is_done_and_recorded_or_neither(name: str) -> None:
    weights = dt.tensor([[1.0, 10.0, 100.0], [2.0, 30.0, 400.0]])
    now: list = []

    def make() -> Callable:
        x, _ = leaves()
        y = x * 2
        part = y[0]
        now[:] = x, y, part
        target = _Target(y, part)
        return lambda: WRITES[name](x, target)

    for where, error in interrupted(make):
        x, y, part = now
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        assert agrees(y, x, weights), where
        assert agrees(part, x, weights[0]), where


class _Target:
    """A tensor, and a view of it that was made before the write."""

    def __init__(self, y: dt.Tensor, kept: dt.Tensor) -> None:
        self._y, self.kept = y, kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._y, name)

    def __getitem__(self, key: Any) -> Any:
        return self._y[key]


COUNTED: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda y: y.mul_(3),
    "fill_": lambda y: y.fill_(3),
    "cumsum_": lambda y: y.cumsum_(1),
    "the general way": lambda y: y.mul_(np.float32(3)),
    "uniform_": lambda y: y.uniform_(),
    "out=": lambda y: dt.add(dt.ones(2, 3), 4, out=y),
    "out= of a new tensor": lambda y: dt.full((2, 3), 4.0, out=y),
    "an assignment": lambda y: y.__setitem__(0, 4.0),
    "an assignment by a mask": lambda y: y.__setitem__(y > 0, 4.0),
    "an assignment by places": lambda y: y.__setitem__(dt.tensor([0]), 4.0),
    "a view": lambda y: y[1].add_(1),
    "a ufunc of NumPy's": lambda y: np.multiply(y, 3, out=y),
}


@pytest.mark.parametrize("name", COUNTED)
def test_an_interrupted_write_to_what_was_saved_is_never_missed(name: str) -> None:
    now: list = []

    def make() -> Callable:
        y = dt.tensor([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]])
        w = dt.ones(2, 3, requires_grad=True)
        now[:] = y.clone(), w, (y * w).sum()
        return lambda: COUNTED[name](y)

    for where, error in interrupted(make):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        old, w, loss = now
        try:
            loss.backward()
        except RuntimeError as refused:
            assert "modified by an inplace operation" in str(refused)
        else:
            assert bool((w.grad == old).all()), where


def test_an_interrupted_sum_of_gradients_is_counted() -> None:
    now: list = []

    def make() -> Callable:
        x, _ = leaves()
        x.grad = dt.ones(2, 3)
        now[:] = x.grad, x.grad._version
        return (x * 2).sum().backward

    for where, error in interrupted(make):
        assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
        grad, version = now
        assert grad._version > version or bool((grad == 1).all()), where


# --- workers ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="workers are forked")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("persistent", [False, True])
def test_an_interrupted_loader_leaves_no_worker_and_its_next_iteration_is_whole(persistent: bool) -> None:
    os.register_at_fork(after_in_child=lambda: sys.settrace(None))  # points are counted here alone
    wanted = [[2.0 * i, 2.0 * i + 1] for i in range(3)]
    loaders: list = []

    def make() -> Callable:
        options = {"multiprocessing_context": "fork", "num_workers": 1, "persistent_workers": persistent}
        loaders[:] = [DataLoader(TensorDataset(dt.arange(6.0)), 2, **options)]
        return lambda: [list(loaders[0]) for _ in range(1 + persistent)]

    for where, error in interrupted(make, within="utils/data/dataloader"):
        if error is not None:  # else it came in __del__, where errors are dropped
            assert type(error) is Interrupted, f"interrupted at {where}, it raised {error!r}"
            error.__traceback__ = error.__context__ = None
        assert [batch.tolist() for (batch,) in loaders[0]] == wanted, where
        loaders.clear()
        until = monotonic() + 5
        while (left := active_children()) and monotonic() < until:
            sleep(0.002)
        assert not left, where
