"""The same random program on dualtape and on PyTorch: views, in-place writes, grad modes, hooks and backward must
agree.

After every step the two worlds are compared: whether the step failed and with which type of exception; then, for
every live tensor, values, ``requires_grad``, ``is_leaf``, ``_is_view``, ``_version``, the names along the graph,
and gradients. A deep run: ``DUALTAPE_EXAMPLES=20000 python -m pytest tests/autograd/test_state_machine.py``.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import dualtape

torch = pytest.importorskip("torch")

EXAMPLES = int(os.environ.get("DUALTAPE_EXAMPLES", "60"))
LIMIT = 12  # tensors kept alive

VIEWS: dict[str, Any] = {
    "select": lambda x: x.select(0, 0),
    "index": lambda x: x[-1],
    "slice": lambda x: x[1:],
    "step": lambda x: x[::2],
    "alias": lambda x: x[...],
    "newaxis": lambda x: x[None],
    "column": lambda x: x[..., 0],
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(-1),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(0, -1),
    "permute": lambda x: x.permute(*reversed(range(x.ndim))),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.unsqueeze(0).expand(2, *x.shape),
    "diagonal": lambda x: x.diagonal(),
    "narrow": lambda x: x.narrow(0, 0, 1),
    "view_as": lambda x: x.view_as(x),
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "unfold": lambda x: x.unfold(0, 1, 1),
}
SEVERAL: dict[str, Any] = {
    "unbind": lambda x: x.unbind(0),
    "split": lambda x: x.split(1),
    "chunk": lambda x: x.chunk(2),
}
UNARY: dict[str, Any] = {
    "clone": lambda x: x.clone(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "neg": lambda x: -x,
    "double": lambda x: x * 2,
    "square": lambda x: x * x,
    "plus": lambda x: x + 1,
    "sum": lambda x: x.sum(),
    "contiguous": lambda x: x.contiguous(),
}
BINARY: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "sub": lambda x, y: x - y,
    "maximum": lambda m, x, y: m.maximum(x, y),
}
INPLACE: dict[str, Any] = {
    "sin_": lambda x: x.sin_(),
    "tanh_": lambda x: x.tanh_(),
    "mul_": lambda x: x.mul_(0.5),
    "add_": lambda x: x.add_(1),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(0.25),
    "neg_": lambda x: x.neg_(),
    "setitem": lambda x: x.__setitem__(0, 0.5),
    "set_slice": lambda x: x.__setitem__(slice(None, None, 2), 0.125),
    "detach_": lambda x: x.detach_(),
    "clamp_": lambda x: x.clamp_(-1, 1),
}
INPLACE_BINARY: dict[str, Any] = {
    "add_": lambda x, y: x.add_(y),
    "mul_": lambda x, y: x.mul_(y),
    "copy_": lambda x, y: x.copy_(y),
    "set_first": lambda x, y: x.__setitem__(0, y),
    "iadd": lambda x, y: x.__iadd__(y),
}


CONTEXTS: dict[str, Any] = {
    "no_grad": lambda library: library.no_grad(),
    "enable_grad": lambda library: library.enable_grad(),
    "hooks": lambda library: library.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "anomaly": lambda library: library.autograd.set_detect_anomaly(True, check_nan=False),
}


class World:
    """One library with its tensors; a step runs here, and tells how it ended."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.tensors: list[Any] = []
        self.calls: list[Any] = []  # what hooks have seen
        self.contexts: list[Any] = []  # that were entered
        self.said = ""  # by the last exception

    def step(self, function: Any) -> Any:
        """The type of the exception that ``function`` raised, or None; its results join the tensors."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(self)
        except Exception as error:
            self.said = str(error)
            return type(error)
        for tensor in result or ():
            if len(self.tensors) < LIMIT:
                self.tensors.append(tensor)
            else:
                self.tensors[len(self.calls) % LIMIT] = tensor
        return None


def names(tensor: Any, limit: int = 6) -> list[str]:
    """The names of the nodes behind a tensor, following the first edge."""
    node, found = tensor.grad_fn, []
    while node is not None and len(found) < limit:
        found.append(node.name().rsplit("::", 1)[-1])
        following = [n for n, _ in node.next_functions if n is not None]
        node = following[0] if following else None
    return found


def state(tensor: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grad = tensor.grad
    return {
        "requires_grad": attempt(lambda: tensor.requires_grad),
        "is_leaf": attempt(lambda: tensor.is_leaf),
        "is_view": tensor._is_view(),
        "version": tensor._version,
        "shape": tuple(tensor.shape),
        "names": attempt(lambda: names(tensor)),
        "grad": grad is not None,
    }


def attempt(read: Any) -> Any:
    """What ``read`` gives, or the name of what it raises: a forbidden view refuses to tell its history."""
    try:
        return read()
    except RuntimeError as error:
        return type(error).__name__


def modes_of(library: Any) -> tuple:
    return library.is_grad_enabled(), library.is_anomaly_enabled()


index = st.integers(0, LIMIT - 1)


class Program(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.ours, self.theirs = World(dualtape), World(torch)
        self.log: list[str] = []

    def murky(self, *places: int) -> bool:
        """A view made without history of something that has one: which error a use of it gives depends on PyTorch's
        internals.
        """
        for k in places:
            tensor = self.ours.tensors[k]
            if (
                tensor._is_view()
                and tensor.requires_grad
                and attempt(lambda t=tensor: t.grad_fn) in (None, "RuntimeError")
            ):
                return True
        return False

    def both(self, what: str, function: Any) -> None:
        self.log.append(what)
        a, b = self.ours.step(function), self.theirs.step(function)
        # what PyTorch refuses to read; here the values are still there
        assume("detached in-place" not in self.theirs.said)
        # a mistake of PyTorch's own
        assume("INTERNAL ASSERT" not in self.theirs.said)
        # an error here, too; PyTorch calls the tensor's hooks at both of its nodes before
        assume("into the graph interior" not in self.theirs.said)
        assert (a is None) == (b is None), f"{self.log}: {a} where PyTorch has {b}"
        # of two mistakes at once, either may come first
        if a is not None and b is not None and {a, b} != {IndexError, RuntimeError}:
            alike = issubclass(a, b) or issubclass(b, a) or a.__name__ == b.__name__
            assert alike, f"{self.log}: {a} where PyTorch has {b}"

    @initialize(shape=st.sampled_from([(2, 3), (4,), (2, 2)]), requires=st.booleans())
    def start(self, shape: tuple, requires: bool) -> None:
        self.create(shape, requires, "plain")

    @rule(
        shape=st.sampled_from([(2, 3), (4,), (2, 2), (3,), ()]),
        requires=st.booleans(),
        kind=st.sampled_from(["plain", "plain", "plain", "complex", "permuted"]),
    )
    def create(self, shape: tuple, requires: bool, kind: str) -> None:
        rng = np.random.default_rng(len(self.log))
        values = rng.normal(size=shape).round(2)
        if kind == "complex":
            values = values + 1j * rng.normal(size=shape).round(2)

        def run(w: World) -> Any:
            if kind == "permuted":
                return [w.library.from_numpy(np.array(values, order="F")).requires_grad_(requires)]
            return [w.library.tensor(values, requires_grad=requires)]

        self.both(f"create {kind} {shape} {requires}", run)

    @rule(name=st.sampled_from(sorted(CONTEXTS)))
    def enter(self, name: str) -> None:
        if len(self.ours.contexts) >= 4:
            return

        def run(w: World) -> None:
            context = CONTEXTS[name](w.library)
            context.__enter__()
            w.contexts.append(context)

        self.both(f"enter {name}", run)

    @rule(i=index)
    def leave(self, i: int) -> None:
        """In any order: each puts back its own."""
        if self.ours.contexts:
            k = i % len(self.ours.contexts)
            self.both(f"leave {k}", lambda w: w.contexts.pop(k).__exit__(None, None, None))

    def teardown(self) -> None:
        for w in (self.ours, self.theirs):
            while w.contexts:
                w.contexts.pop().__exit__(None, None, None)
            w.library.set_grad_enabled(True)

    @rule(i=index)
    def checkpoint(self, i: int) -> None:
        k = self.pick(i)
        if self.murky(k):
            return

        def run(w: World) -> Any:
            again = import_module(f"{w.library.__name__}.utils.checkpoint").checkpoint
            return [again(lambda x: (x * x).tanh() * 2, w.tensors[k], use_reentrant=False)]

        self.both(f"checkpoint of {k}", run)

    def pick(self, i: int) -> int:
        return i % len(self.ours.tensors)

    @rule(i=index, name=st.sampled_from(sorted(VIEWS)), no_grad=st.booleans())
    def view(self, i: int, name: str, no_grad: bool) -> None:
        k = self.pick(i)

        def run(w: World) -> Any:
            with w.library.set_grad_enabled(not no_grad):
                return [VIEWS[name](w.tensors[k])]

        self.both(f"view {name} of {k} no_grad={no_grad}", run)

    @rule(i=index, name=st.sampled_from(sorted(SEVERAL)))
    def several(self, i: int, name: str) -> None:
        k = self.pick(i)
        self.both(f"{name} of {k}", lambda w: list(SEVERAL[name](w.tensors[k]))[:2])

    @rule(i=index, name=st.sampled_from(sorted(UNARY)))
    def unary(self, i: int, name: str) -> None:
        k = self.pick(i)
        if self.murky(k):
            return
        self.both(f"{name} of {k}", lambda w: [UNARY[name](w.tensors[k])])

    @rule(i=index, j=index, name=st.sampled_from(sorted(BINARY)))
    def binary(self, i: int, j: int, name: str) -> None:
        a, b = self.pick(i), self.pick(j)
        if self.murky(a, b):
            return
        x, y = self.theirs.tensors[a], self.theirs.tensors[b]
        if not x.is_contiguous() and x.stride() != y.stride():
            return  # the result lies differently: see docs/differences.md
        if name == "maximum" and (x.is_complex() or y.is_complex()):
            return  # complex numbers have no order; here, as NumPy orders them

        def run(w: World) -> Any:
            x, y = w.tensors[a], w.tensors[b]
            return [w.library.maximum(x, y) if name == "maximum" else BINARY[name](x, y)]

        self.both(f"{name} of {a}, {b}", run)

    @rule(i=index, name=st.sampled_from(sorted(INPLACE)), no_grad=st.booleans())
    def inplace(self, i: int, name: str, no_grad: bool) -> None:
        k = self.pick(i)
        if self.murky(k) and name.startswith("set"):
            return

        def run(w: World) -> None:
            with w.library.set_grad_enabled(not no_grad):
                INPLACE[name](w.tensors[k])

        self.both(f"{name} on {k} no_grad={no_grad}", run)

    @rule(i=index, j=index, name=st.sampled_from(sorted(INPLACE_BINARY)), no_grad=st.booleans())
    def inplace_binary(self, i: int, j: int, name: str, no_grad: bool) -> None:
        a, b = self.pick(i), self.pick(j)
        if self.overlapping(a, b) or self.murky(b) or (self.murky(a) and name.startswith("set")):
            return

        def run(w: World) -> None:
            with w.library.set_grad_enabled(not no_grad):
                INPLACE_BINARY[name](w.tensors[a], w.tensors[b])

        self.both(f"{name} on {a} with {b} no_grad={no_grad}", run)

    def overlapping(self, a: int, b: int) -> bool:
        """Two different tensors over the same memory: what a write reads then is PyTorch's undefined behaviour. One whose
        elements share memory, over itself: refused here.
        """
        x, y = (self.ours.tensors[k].detach().numpy() for k in (a, b))
        if a == b:
            return 0 in x.strides and x.size > 1
        return np.may_share_memory(x, y)

    @rule(i=index, requires=st.booleans())
    def require(self, i: int, requires: bool) -> None:
        k = self.pick(i)
        if attempt(lambda: self.ours.tensors[k].grad_fn) == "RuntimeError":
            return  # a forbidden view: PyTorch may not notice
        self.both(f"requires_grad_({requires}) on {k}", lambda w: [w.tensors[k].requires_grad_(requires)][:0])

    @rule(i=index)
    def retain(self, i: int) -> None:
        k = self.pick(i)
        self.both(f"retain_grad on {k}", lambda w: w.tensors[k].retain_grad())

    @rule(i=index)
    def hook(self, i: int) -> None:
        k, tag = self.pick(i), len(self.log)
        if attempt(lambda: self.ours.tensors[k].grad_fn) == "RuntimeError":
            return  # a forbidden view: whether PyTorch notices depends on whether it had a hook before

        def run(w: World) -> None:
            w.tensors[k].register_hook(lambda g: w.calls.append((tag, g.detach().numpy().copy())))

        self.both(f"hook on {k}", run)

    @rule(i=index, keep=st.booleans())
    def backward(self, i: int, keep: bool) -> None:
        k = self.pick(i)

        def run(w: World) -> None:
            x = w.tensors[k]
            x.backward(w.library.ones_like(x.detach()), retain_graph=keep)

        self.both(f"backward from {k} keep={keep}", run)

    @rule(i=index, j=index)
    def grad(self, i: int, j: int) -> None:
        a, b = self.pick(i), self.pick(j)

        def run(w: World) -> Any:
            x = w.tensors[a]
            start = w.library.ones_like(x.detach())
            grads = w.library.autograd.grad(x, [w.tensors[b]], start, retain_graph=True, allow_unused=True)
            return [g.clone() for g in grads if g is not None]

        self.both(f"grad of {a} by {b}", run)

    @rule(i=index)
    def forget_grad(self, i: int) -> None:
        k = self.pick(i)
        self.both(f"grad = None on {k}", lambda w: setattr(w.tensors[k], "grad", None))

    @invariant()
    def the_worlds_agree(self) -> None:
        assert len(self.ours.tensors) == len(self.theirs.tensors)
        assert modes_of(dualtape) == modes_of(torch), f"{self.log}: modes"
        for k, (a, b) in enumerate(zip(self.ours.tensors, self.theirs.tensors, strict=True)):
            mine, other = state(a), state(b)
            assert mine == other, f"{self.log}: tensor {k}: {mine} where PyTorch has {other}"
            np.testing.assert_allclose(
                a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=f"{self.log}: tensor {k}"
            )
            if mine["grad"]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    g, h = a.grad.detach().numpy(), b.grad.detach().numpy()
                np.testing.assert_allclose(g, h, rtol=1e-9, atol=1e-12, err_msg=f"{self.log}: gradient of tensor {k}")
        assert [c[0] for c in self.ours.calls] == [c[0] for c in self.theirs.calls], f"{self.log}: hooks"
        for (_, g), (_, h) in zip(self.ours.calls, self.theirs.calls, strict=True):
            np.testing.assert_allclose(g, h, rtol=1e-9, atol=1e-12, err_msg=f"{self.log}: what hooks saw")


TestProgram = Program.TestCase
TestProgram.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    derandomize="DUALTAPE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
