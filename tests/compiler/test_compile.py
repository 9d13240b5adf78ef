"""Compiled functions do what the functions do: on other inputs than those they were traced with, and in every state."""

from __future__ import annotations

import argparse
import copy
import ctypes
import dataclasses
import datetime
import importlib.util
import os
import pickle
import random
import threading
import time
import types
import warnings
import weakref
from array import array
from collections import ChainMap, Counter, UserDict, deque
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.compiler import Compiled
from dualtape.pytree import tree_leaves
from op_cases import DEEP, cases, leaves, mapped

F = dt.nn.functional
BACKENDS = ["numpy", "native"] if importlib.util.find_spec("llvmlite") else ["numpy"]


def programs(compiled: Compiled) -> int:
    return sum(len(specializations) for specializations in compiled._specializations.values())


def made(sample: Any, dtype: str, seed: int) -> tuple[tuple, dict, list]:
    rng = np.random.default_rng(seed)
    differentiable: list[dt.Tensor] = []

    def tensor(described: Any) -> dt.Tensor:
        t = dt.tensor(described.make(rng, dtype))
        if described.differentiable:
            differentiable.append(t.requires_grad_())
        return t

    args = tuple(mapped(a, tensor) for a in sample.args)
    return args, {k: mapped(v, tensor) for k, v in sample.kwargs.items()}, differentiable


def outcome(function: Callable, args: tuple, kwargs: dict, inputs: list) -> list:
    results = leaves(function(*args, **kwargs))
    recorded = [r for r in results if isinstance(r, dt.Tensor) and r.requires_grad]
    rng = np.random.default_rng(3)
    grads: Any = ()
    if recorded and inputs:
        loss = sum((r * dt.tensor(rng.standard_normal(r.shape))).sum().abs() for r in recorded)
        grads = dt.autograd.grad(loss, inputs, allow_unused=True)
    return [r.detach().numpy() if isinstance(r, dt.Tensor) else r for r in (*results, *grads)]


def same(found: list, expected: list) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype


CASES = list(cases())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("part", range(16))
def test_every_op_compiled_gives_what_it_gives(part: int, backend: str) -> None:
    for _, row, sample in CASES[part :: 16 if DEEP else 32 if backend == "native" else 48]:
        dtype = "complex128" if row.complex == "only" else "float64"

        def call(*args: Any, _row: Any = row, **kwargs: Any) -> Any:
            return _row.function(*args, **kwargs)

        compiled = dt.compile(call, backend=backend)
        for seed in range(3 if DEEP else 2):
            dt.manual_seed(seed)
            try:
                expected = outcome(call, *made(sample, dtype, seed))
            except Exception:
                with pytest.raises(Exception, match=""):
                    outcome(compiled, *made(sample, dtype, seed))
                break
            dt.manual_seed(seed)
            same(outcome(compiled, *made(sample, dtype, seed)), expected)


weights = dt.randn(4, 4, dtype=dt.float64, requires_grad=True)
scale = 2.0


def two_layers(x: Any) -> Any:
    return ((x @ weights).tanh() @ weights).sum()


def a_loop(x: Any) -> Any:
    y = x
    for _ in range(10):
        y = y * 0.9 + x.sin()
    return y.sum()


def writes_inside(x: Any) -> Any:
    b = dt.zeros(6, dtype=dt.float64)
    b[1:5] = x[0]
    b[2] *= 2
    b += 1
    return b.prod()


def a_branch(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x.exp()


def by_mask(x: Any) -> Any:
    return x[x > 0].sum()


def draws(x: Any) -> Any:
    return F.dropout(x, 0.5) + dt.rand(4, dtype=dt.float64) * x + dt.randn(3, 4, dtype=dt.float64)


def transforms(x: Any) -> Any:
    f = lambda row: (row**3).sum()
    return dt.func.vmap(dt.func.grad(f))(x).sum(), dt.func.hessian(f)(x[0]), dt.func.jvp(f, (x,), (x.detach(),))[1]


def gradients_inside(x: Any) -> Any:
    y = x.detach().requires_grad_()
    (g,) = dt.autograd.grad((y.sin() * x).sum(), y, create_graph=True)
    return (g * g).sum()


class Cube(dt.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


def a_custom_function(x: Any) -> Any:
    return Cube.apply(x).sum()


def checkpointed(x: Any) -> Any:
    return dt.utils.checkpoint.checkpoint(lambda y: (y.sin() * y).sum(), x, use_reentrant=False)


def checkpointed_draws(x: Any) -> Any:
    return dt.utils.checkpoint.checkpoint(lambda y: (F.dropout(y, 0.5) * y).sum(), x, use_reentrant=False)


def state_and_back(x: Any) -> Any:
    state = dt.get_rng_state()
    first = dt.rand(4, dtype=dt.float64)
    dt.set_rng_state(state)
    return x * first - x * dt.rand(4, dtype=dt.float64)


def packed(x: Any) -> Any:
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        return (x.exp() * x).sum()


def hooked(x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return (y * y).sum()


def many_results(x: Any) -> Any:
    y = x * 2
    return {"y": y, "again": y, "x": x, "n": 3, "view": x[0], "nested": [x + 1, (y.sum(), None)]}


def factors(x: Any) -> Any:
    a = x.T @ x + dt.eye(4, dtype=dt.float64)
    return dt.linalg.cholesky(a).diagonal().log().sum() + dt.linalg.solve(a, x[0]).sum()


def integers(x: Any) -> Any:
    order = x.detach().argsort(dim=1)
    return x.gather(1, order).cumsum(1), order + 1, (x > 0).sum()


def complex_numbers(x: Any) -> Any:
    z = dt.complex(x, x * 2)
    return (z * z.conj()).real.sum() + z.abs().sum()


PROGRAMS = [
    two_layers,
    a_loop,
    writes_inside,
    a_branch,
    by_mask,
    draws,
    transforms,
    gradients_inside,
    a_custom_function,
    checkpointed,
    checkpointed_draws,
    state_and_back,
    packed,
    hooked,
    many_results,
    factors,
    integers,
    complex_numbers,
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_compiled_gives_values_and_gradients_of_the_program(program: Callable, backend: str) -> None:
    compiled = dt.compile(program, backend=backend)
    for seed in range(5):
        found = []
        for function in (program, compiled):
            dt.manual_seed(seed)
            weights.grad = None
            x = dt.randn(3, 4, dtype=dt.float64, requires_grad=True)
            results = [r for r in tree_leaves(function(x)) if isinstance(r, dt.Tensor)]
            loss = sum(r.sum() for r in results if r.requires_grad)
            loss.backward()
            found.append(
                [*[r.detach().numpy() for r in results], x.grad.numpy(), getattr(weights.grad, "_array", None)]
            )
        same(found[1], found[0])
    assert programs(compiled) <= 5


def test_higher_derivatives_go_through_compiled_functions() -> None:
    f = lambda x: (x**4).sum()
    compiled = dt.compile(f)
    x = dt.randn(3, dtype=dt.float64, requires_grad=True)
    for _ in range(2):
        (g,) = dt.autograd.grad(compiled(x), x, create_graph=True)
        (h,) = dt.autograd.grad(g.sum(), x, create_graph=True)
        (t,) = dt.autograd.grad(h.sum(), x)
        same([t.numpy()], [(24 * x).detach().numpy()])
        for hessian in (dt.autograd.functional.hessian, lambda f, x: dt.func.hessian(f)(x)):
            same([hessian(compiled, x.detach()).numpy()], [hessian(f, x.detach()).numpy()])
        same([dt.func.vmap(compiled)(x.detach()[None]).numpy()], [f(x).detach().numpy()[None]])
        y, t = dt.func.jvp(compiled, (x.detach(),), (dt.ones(3, dtype=dt.float64),))
        same([t.numpy()], [(4 * x**3).sum().detach().numpy()])


def test_a_path_from_one_input_to_another_is_counted_once() -> None:
    compiled = dt.compile(lambda x, y: (x * y).sum())
    x = dt.randn(3, dtype=dt.float64, requires_grad=True)
    for _ in range(2):
        (g,) = dt.autograd.grad(compiled(x, x * x), x)
        same([g.numpy()], [(3 * x * x).detach().numpy()])
        (g,) = dt.autograd.grad(compiled(x, x * x), x, create_graph=True)
        (h,) = dt.autograd.grad(g.sum(), x)
        same([h.numpy()], [(6 * x).detach().numpy()])


# --- what a function depends on -------------------------------------------------------------------


class Model:
    def __init__(self) -> None:
        self.weight = dt.ones(4, requires_grad=True)
        self.on, self.factor, self.layers = True, 2.0, [1, 2]

    def __call__(self, x: Any) -> Any:
        return x * self.weight * self.factor * len(self.layers) if self.on else x


model = Model()


def uses_the_model(x: Any) -> Any:
    return model(x) * scale


def test_what_changes_around_a_function_changes_its_result() -> None:
    global scale
    compiled = dt.compile(uses_the_model, recompile_limit=20)
    x = dt.arange(4.0)
    changes: list[Callable] = [
        lambda: None,
        lambda: setattr(model, "factor", 3.0),
        lambda: model.layers.append(3),
        lambda: setattr(model, "weight", dt.full((4,), 5.0)),
        lambda: model.weight.add_(1.0),
        lambda: setattr(model, "on", False),
    ]
    for change in changes:
        change()
        for now in (2.0, 3.0):
            scale = now
            for _ in range(2):
                assert dt.equal(compiled(x), uses_the_model(x))
    scale = 2.0
    assert dt.compile(lambda x, n: x * n)(x, 2).sum() * 2 == dt.compile(lambda x, n: x * n)(x, 4).sum()


def test_a_tensor_that_takes_anothers_place_is_read() -> None:
    w = dt.ones(3)

    def step(x: Any) -> Any:
        return (x * w).sum()

    compiled = dt.compile(step)
    for value in range(4):
        w = dt.full((3,), float(value))
        assert compiled(dt.ones(3)) == 3 * value
    assert programs(compiled) == 1


def test_shapes_dtypes_layouts_and_modes_have_programs_of_their_own() -> None:
    compiled = dt.compile(lambda x: x * 2)
    for x in (dt.ones(3), dt.ones(4), dt.ones(3, dtype=dt.float64), dt.ones(3, requires_grad=True), dt.ones(6)[::2]):
        for _ in range(2):
            y = compiled(x)
            assert y.dtype == x.dtype and y.requires_grad == x.requires_grad and dt.equal(y, x * 2)
    with dt.no_grad():
        assert not compiled(dt.ones(3, requires_grad=True)).requires_grad
    with dt.inference_mode():
        assert compiled(dt.ones(3)).is_inference()


def test_plain_arguments_are_told_apart() -> None:
    compiled = dt.compile(lambda x, how: x.sum() if how == "sum" else x.max() if how is None else x * how)
    x = dt.tensor([1.0, 2.0])
    for how in ("sum", None, 2, 2.0, True, 0.0, -0.0):
        assert np.array_equal(np.signbit(compiled(x, how).numpy()), np.signbit(compiled._function(x, how).numpy()))
        assert dt.equal(compiled(x, how=how), compiled._function(x, how))


def test_the_default_dtype_is_part_of_what_holds() -> None:
    compiled = dt.compile(lambda x: x + dt.zeros(2))
    x = dt.ones(2, dtype=dt.float32)
    assert compiled(x).dtype == dt.float32
    dt.set_default_dtype(dt.float64)
    try:
        assert compiled(x).dtype == dt.float64
    finally:
        dt.set_default_dtype(dt.float32)
    assert compiled(x).dtype == dt.float32


# --- what a function changes ----------------------------------------------------------------------


def test_writes_to_arguments_are_done_and_counted() -> None:
    def write(x: Any, y: Any) -> Any:
        y.add_(x * 2)
        y[0] = 7.0
        return y.sum()

    compiled = dt.compile(write)
    for k in range(3):
        x, y, z = dt.full((3,), float(k)), dt.ones(3), dt.ones(3)
        assert compiled(x, y) == write(x, z)
        assert dt.equal(y, z) and y._version == z._version


def test_a_training_step_compiles_as_a_whole() -> None:
    def train(compiling: bool) -> list:
        w = dt.ones(3, requires_grad=True)

        def step(x: Any) -> Any:
            loss = ((x * w - 1) ** 2).sum()
            loss.backward()
            with dt.no_grad():
                w.sub_(w.grad * 0.1)
                w.grad = None
            return loss.detach()

        step = dt.compile(step, fullgraph=True) if compiling else step
        return [*[step(dt.full((3,), k / 3)).item() for k in range(5)], *w.tolist(), w._version]

    assert train(True) == train(False)


def test_gradients_accumulate_in_place() -> None:
    w = dt.ones(2, requires_grad=True)
    compiled = dt.compile(lambda x: (x * w).sum().backward(), fullgraph=True)
    for k in range(1, 5):
        compiled(dt.ones(2))
        assert w.grad.tolist() == [k, k]


def test_a_value_that_leads_elsewhere_leaves_nothing_written() -> None:
    def write(x: Any, y: Any) -> Any:
        y += x
        return y * 2 if y.sum() > 0 else y * 3

    compiled = dt.compile(write)
    for value in (1.0, -1.0, 2.0, -3.0):
        y, z = dt.zeros(2), dt.zeros(2)
        assert dt.equal(compiled(dt.full((2,), value), y), write(dt.full((2,), value), z)) and dt.equal(y, z)
    assert programs(compiled) == 2


def test_what_the_backward_reads_may_not_be_written_in_between() -> None:
    compiled = dt.compile(lambda x: (x * x).sum())
    for _ in range(2):
        x = dt.ones(3, requires_grad=True)
        y = x * 1
        loss = compiled(y)
        with dt.no_grad():
            y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        loss = compiled(x)
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        loss = compiled(x)
        loss.backward(retain_graph=True)
        loss.backward()


def test_hooks_of_inputs_and_results_run_in_every_call() -> None:
    seen: list[str] = []
    x = dt.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append("x"))
    compiled = dt.compile(lambda x: (x * x).sum())
    for _ in range(3):
        y = compiled(x)
        y.register_hook(lambda g: seen.append("y"))
        y.backward()
    assert seen == ["y", "x"] * 3


def test_numpys_arrays_go_in_and_come_out() -> None:
    compiled = dt.compile(lambda a, x: (np.sin(a) * 2, x * a))
    for k in range(3):
        a, x = np.arange(3.0) + k, dt.ones(3, dtype=dt.float64)
        s, y = compiled(a, x)
        assert type(s) is np.ndarray and np.allclose(s, np.sin(a) * 2, 1e-15) and np.array_equal(y.numpy(), a)


# --- what cannot be traced ------------------------------------------------------------------------

seen_values: list[float] = []


def appends(x: Any) -> Any:
    seen_values.append(1.0)
    return x * 2


def draws_from_numpy(x: Any) -> Any:
    return x * float(np.random.rand())


def not_to_be_compiled(x: Any) -> Any:
    return dt.compiler.disable(lambda y: y * 2)(x)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (appends, "it changes .*seen_values"),
        (draws_from_numpy, "generator of Python's or NumPy's"),
        (not_to_be_compiled, "not to be compiled"),
        (lambda x: x.detach()[0], "no view of it"),
        (lambda x: x * x._version, "how often a tensor was written to"),
        (lambda x: x * (x.data_ptr() % 2), "an address in memory"),
        (lambda x: iter([x]), "returns a list_iterator"),
    ],
)
def test_what_cannot_be_traced_runs_as_it_is_and_says_so_once(function: Callable, reason: str) -> None:
    compiled = dt.compile(function)
    with pytest.warns(UserWarning, match=f"runs as it is.*{reason}"):
        for _ in range(3):  # what the first two change may be what they prepare
            compiled(dt.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(dt.ones(2))
    strict = dt.compile(function, fullgraph=True)
    with pytest.raises(RuntimeError, match=f"fullgraph=True.*{reason}"):
        for _ in range(3):
            strict(dt.ones(2))


def test_after_many_programs_a_function_runs_as_it_is() -> None:
    compiled = dt.compile(lambda x: x * x.sum().item(), recompile_limit=3)
    with pytest.warns(UserWarning, match="traced 3 times"):
        for k in range(5):
            assert compiled(dt.ones(2) * k).tolist() == [2.0 * k * k] * 2


def test_an_exception_passes_and_leaves_no_trace() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine", (x * 2).shape)

    compiled = dt.compile(fail)
    x = dt.ones(2)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            compiled(x)
        assert type(x._array) is np.ndarray and not dt.compiler.is_compiling()
    assert type((x * 2)._array) is np.ndarray


def test_options_that_are_not_there_are_refused() -> None:
    for wrong in ({"backend": "tvm"}, {"recompile_limit": 0}, {"mode": "fastest"}, {"options": {"speed": 1}}):
        with pytest.raises(ValueError, match="compile: "):
            dt.compile(lambda x: x, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a function"):
        dt.compile(3)
    with pytest.raises(TypeError, match="backend must be a name"):
        dt.compile(lambda x: x, backend=lambda *args: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dynamic must be"):
        dt.compile(lambda x: x, dynamic="yes")
    function = lambda x: x
    assert dt.compile(function, disable=True) is function
    assert isinstance(dt.compile(fullgraph=True)(function), Compiled)


def test_methods_and_threads() -> None:
    class Net:
        def __init__(self, k: float) -> None:
            self.k = k

        @dt.compile
        def forward(self, x: Any) -> Any:
            return (x * self.k).sum()

    nets = [Net(float(k)) for k in range(3)]
    for net in nets:
        assert net.forward(dt.ones(4)) == 4 * net.k
    compiled = dt.compile(a_loop)
    expected = a_loop(dt.ones(3))
    found: list[bool] = []

    def work() -> None:
        for _ in range(20):
            found.append(bool(dt.allclose(compiled(dt.ones(3)), expected)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found) and len(found) == 80


def test_nothing_of_a_call_is_kept() -> None:
    w = dt.ones(1000, requires_grad=True)
    compiled = dt.compile(lambda x: (x * w).sum())
    for _ in range(2):
        x = dt.ones(1000, requires_grad=True)
        loss = compiled(x)
        gone = weakref.ref(x)
        loss.backward()
        del x, loss
        assert gone() is None


def test_explain_says_what_was_done() -> None:
    told = dt.compiler.explain(a_branch)(dt.ones(2, requires_grad=True))
    assert told.kept == 4 and told.backward == 1 and len(told.checks) == 1 and told.checks[0][0] == __file__
    assert "values looked at: 1" in str(told)
    assert "runs as it is" in str(dt.compiler.explain(draws_from_numpy)(dt.ones(2)))
    compiled = dt.compile(a_loop)
    compiled(dt.ones(2))
    dt.compiler.reset()
    assert not programs(compiled)


# --- what is easily forgotten ---------------------------------------------------------------------

settings = {("rate", 0): 2.0, "deep": {"queue": deque([1.0])}}


class Scaled:
    factors = [2.0]

    def __call__(self, x: Any) -> Any:
        return x * self.factors[0]


scaled = Scaled()


def tagged(x: Any) -> Any:
    return x * x.tag


def uses_everything(x: Any) -> Any:
    return scaled(x) * settings["rate", 0] * settings["deep"]["queue"][0] * uses_everything.factor


uses_everything.factor = 1.0  # type: ignore[attr-defined]


def test_values_in_odd_places_are_seen() -> None:
    compiled = dt.compile(uses_everything, recompile_limit=20)
    x = dt.ones(2)
    changes: list[Callable] = [
        lambda: None,
        lambda: settings.update({("rate", 0): 3.0}),
        lambda: Scaled.factors.__setitem__(0, 5.0),
        lambda: settings["deep"]["queue"].__setitem__(0, 7.0),
        lambda: setattr(uses_everything, "factor", 2.0),
    ]
    for change in changes:
        change()
        for _ in range(2):
            assert dt.equal(compiled(x), uses_everything(x))
    compiled = dt.compile(tagged)
    for tag in (2.0, 3.0):
        x.tag = tag  # type: ignore[attr-defined]
        assert compiled(x).tolist() == [tag, tag]


def test_tensors_that_come_to_share_memory_are_another_kind_of_call() -> None:
    def write(x: Any, y: Any) -> Any:
        y.add_(1)
        return x * 2

    compiled = dt.compile(write)
    for _ in range(2):
        a, b = dt.ones(2), dt.ones(2)
        assert compiled(a, b).tolist() == [2.0, 2.0]
        assert compiled(a, a).tolist() == [4.0, 4.0]
        c = dt.ones(4)
        assert compiled(c[:2], c[1:3]).tolist() == write(*(lambda c: (c[:2], c[1:3]))(dt.ones(4))).tolist()
        assert c.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_whether_there_is_a_gradient_matters_to_what_asks() -> None:
    w = dt.ones(2, requires_grad=True)
    compiled = dt.compile(lambda: w * 2 if w.grad is None else w * 3)
    assert compiled().tolist() == [2.0, 2.0]
    w.grad = dt.ones(2)
    assert compiled().tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: [dt.manual_seed(0), x * dt.rand(2)][1], "seeds a generator"),
        (lambda x: [x.register_hook(lambda g: g), x * 2][1], "another state"),
        (lambda x: [w_hooked.register_hook(lambda g: g), x * w_hooked][1], "registers hooks"),
        (lambda x: [dt.set_grad_enabled(False), x * 2][1], "leaves it changed"),
        (lambda x: [dt.set_default_dtype(dt.float64), x * 2][1], "sets the default dtype"),
        (lambda x: x * next(numbers), "another at each call"),
        (lambda x: x * stream.random(), "stream, a generator"),
        (lambda x: x * other_stream.random(), "other_stream, a generator"),
    ],
)
def test_what_would_not_be_done_again_is_not_replayed(function: Callable, reason: str) -> None:
    try:
        with pytest.warns(UserWarning, match=reason):
            dt.compile(function)(dt.ones(2, requires_grad=True))
    finally:
        dt.set_grad_enabled(True)
        dt.set_default_dtype(dt.float32)


numbers = iter([1.0, 2.0, 3.0])
w_hooked = dt.ones(2, requires_grad=True)
w_hooked.register_hook(lambda g: g)
stream = random.Random(0)
other_stream = np.random.default_rng(0)


def test_other_threads_compute_beside_a_trace() -> None:
    w = dt.ones(1000, requires_grad=True)
    slow = dt.compile(lambda x: sum((x * w).sin().sum() for _ in range(200)))
    stop, wrong = threading.Event(), []

    def work() -> None:
        while not stop.is_set():
            if (w * 2).sum().item() != 2000.0:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    expected = slow(dt.ones(1000)).item()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and abs(slow(dt.ones(1000)).item() - expected) < 1.0 and programs(slow) == 1


scale = 2.0


def test_explain_tells_kernels_phases_and_why_calls_were_traced_again():
    global scale

    @dt.compile
    def f(x, flag=True):
        return (x * scale).sum() if flag else x.sin().sum()

    f(dt.ones(3))
    f(dt.ones(4))
    f(dt.ones(4, dtype=dt.float64))
    f(dt.ones(4, requires_grad=True))
    scale = 3.0
    f(dt.ones(4))
    told = dt.compiler.explain(f)(dt.ones(4))
    assert "shape was (3,), is (4,)" in told.retraced[0] and "dtype" in told.retraced[1] + told.retraced[2]
    assert any("requires_grad" in reason for reason in told.retraced)
    assert any("scale" in reason and "was 2.0, is 3.0" in reason for reason in told.retraced)
    assert set(told.phases) == {"tracing", "planning", "machine code"} and sum(told.phases.values()) > 0
    assert "traced again" in str(told) and "kernels" in str(told)
    scale = 2.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_whole_training_step_is_a_program(backend: str) -> None:
    def trained(compiled: bool) -> tuple[list, list]:
        dt.manual_seed(0)
        model = dt.nn.Sequential(dt.nn.Linear(4, 8), dt.nn.Tanh(), dt.nn.Linear(8, 1))
        optimizer = dt.optim.Adam(model.parameters(), lr=0.05)
        x = dt.randn(16, 4)

        def step() -> Any:
            optimizer.zero_grad()
            loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        run = dt.compile(step, backend=backend, fullgraph=True) if compiled else step
        losses = [run() for _ in range(6)]
        for loss in losses:
            with pytest.raises(RuntimeError, match="second time"):
                loss.backward()
        return [float(loss) for loss in losses], [p.grad for p in model.parameters()]

    losses, grads = trained(False)
    found, given = trained(True)
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for ours, theirs in zip(given, grads, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_that_is_returned_is_the_leafs(backend: str) -> None:
    x = dt.ones(3, dtype=dt.float64, requires_grad=True)

    def step() -> Any:
        x.grad = None
        (x**3).sum().backward()
        return x.grad, x.grad

    compiled = dt.compile(step, backend=backend, fullgraph=True)
    for factor in (1.0, 2.0, 3.0):
        x.data.fill_(factor)
        first, second = compiled()
        assert first is x.grad and second is x.grad
        assert (first == 3 * factor**2).all()


def parts(x: Any) -> Any:
    y = x.sin()
    return y, y[0], y.T[1:], *(x * 2).unbind()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("history", [True, False])
def test_results_that_share_memory_are_views_of_one_another(backend: str, history: bool) -> None:
    compiled = dt.compile(parts, backend=backend, fullgraph=True)
    for seed in range(3):
        outcomes = []
        for function in (parts, compiled):
            x = dt.tensor(np.random.default_rng(seed).standard_normal((2, 3)), requires_grad=history)
            y, row, turned, *rows = function(x)
            assert row._base is y and turned._base is y and rows[0]._base is rows[1]._base
            y.mul_(3)
            values = [row, turned, *rows]
            if history:
                (row.sum() + (turned * turned).sum() + (rows[1] * y[0]).sum()).backward()
                values.append(x.grad)
            outcomes.append([v.detach().numpy() for v in values])
        same(outcomes[1], outcomes[0])


def test_tensors_that_a_refused_call_leaves_behind_are_ordinary() -> None:
    kept: list = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    dt.compile(f)(dt.ones(2))
    assert type(kept[0]._array) is np.ndarray


def test_a_mode_that_is_set_and_set_back_is_as_it_was() -> None:
    def f(x: Any) -> Any:
        dt.set_grad_enabled(False)
        y = x * 2
        dt.set_grad_enabled(True)
        return x * y

    compiled = dt.compile(f, fullgraph=True)
    x = dt.ones(2, requires_grad=True)
    for _ in range(2):
        assert (dt.autograd.grad(compiled(x).sum(), x)[0] == 2).all()


def _set(value: Any, name: str = "k") -> Callable:
    return lambda holder: setattr(holder, name, value)


def _changed_weakly(ref: Any) -> None:
    ref().k = 3.0


HELD = types.SimpleNamespace(k=2.0)
HOLDERS: dict[
    str, tuple[Callable[[], Any], Callable, Callable]
] = {  # what a closure holds, how it changes, how it is read
    "SimpleNamespace": (lambda: types.SimpleNamespace(k=2.0), _set(3.0), lambda h: h.k),
    "argparse": (lambda: argparse.Namespace(k=2.0), _set(3.0), lambda h: h.k),
    "UserDict": (lambda: UserDict(k=2.0), lambda h: h.update(k=3.0), lambda h: h["k"]),
    "ChainMap": (lambda: ChainMap({"k": 2.0}), lambda h: h.update(k=3.0), lambda h: h["k"]),
    "Counter": (lambda: Counter(k=2), lambda h: h.update(k=1), lambda h: h["k"]),
    "mapping proxy": (lambda: types.MappingProxyType(vars(HELD)), lambda h: _set(3.0)(HELD), lambda h: h["k"]),
    "thread's own": (threading.local, _set(3.0), lambda h: getattr(h, "k", 2.0)),
    "context variable": (lambda: ContextVar("k", default=2.0), lambda h: h.set(3.0), lambda h: h.get()),
    "environment": (lambda: os, lambda h: h.environ.update(K="3"), lambda h: float(h.environ.get("K", "2"))),
    "weak reference": (lambda: weakref.ref(KEPT), _changed_weakly, lambda h: h().k),
    "array": (lambda: array("d", [2.0]), lambda h: h.__setitem__(0, 3.0), lambda h: h[0]),
    "ctypes": (lambda: ctypes.c_double(2.0), _set(3.0, "value"), lambda h: h.value),
    "optimizer": (
        lambda: dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=2.0),
        lambda h: h.param_groups[0].update(lr=3.0),
        lambda h: h.param_groups[0]["lr"],
    ),
    "distribution": (lambda: dt.distributions.Normal(2.0, 1.0), _set(dt.tensor(3.0), "loc"), lambda h: h.loc),
}


class _Kept:
    k = 2.0


KEPT = _Kept()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HOLDERS)
def test_what_an_object_of_a_library_holds_is_looked_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("K", raising=False)
    HELD.k = KEPT.k = 2.0
    make, change, read = HOLDERS[name]
    holder = make()
    compiled = dt.compile(lambda x: x * read(holder))
    for _ in range(2):
        assert float(compiled(dt.ones(1))) == 2.0
    change(holder)
    assert float(compiled(dt.ones(1))) == 3.0


def test_an_object_whose_state_cannot_be_seen_is_refused_by_name() -> None:
    waiting: Any = SimpleQueue()
    with pytest.warns(UserWarning, match="SimpleQueue"):
        dt.compile(lambda x: x * waiting.qsize())(dt.ones(1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_that_the_way_back_reads_may_not_be_written(backend: str) -> None:
    compiled = dt.compile(lambda x: (x.exp(), x.sin()), backend=backend, fullgraph=True)
    for _ in range(3):
        x = dt.ones(2, requires_grad=True)
        saved, other = compiled(x)
        other.mul_(3)
        (saved + other).sum().backward()
        x = dt.ones(2, requires_grad=True)
        saved, _ = compiled(x)
        saved.mul_(3)
        with pytest.raises(RuntimeError, match="inplace operation"):
            saved.sum().backward()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_argument_is_filled_with_a_number(backend: str) -> None:
    compiled = dt.compile(lambda x: x.fill_(2.5), backend=backend, fullgraph=True)
    for _ in range(3):
        x = dt.zeros(50)
        assert compiled(x) is x and (x == 2.5).all() and x._version == 1


def test_with_dynamic_shapes_any_number_of_them_has_programs() -> None:
    compiled = dt.compile(lambda x: (x * 2).sum(), dynamic=True, fullgraph=True, recompile_limit=1)
    for _ in range(2):
        for n in range(1, 100):
            assert float(compiled(dt.ones(n))) == 2 * n
    assert programs(compiled) == 99


def test_with_dynamic_shapes_the_oldest_programs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualtape.compiler.compiled._KEPT", 5)
    compiled = dt.compile(lambda x: x * 2, dynamic=True, fullgraph=True, backend="numpy")
    for n in range(1, 20):
        assert compiled(dt.ones(n)).shape == (n,)
    assert programs(compiled) == 5


def test_programs_are_found_by_shapes_from_the_second_shape_on() -> None:
    compiled = dt.compile(lambda x: (x * 2).sum(), recompile_limit=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            for n in range(1, 60):
                assert float(compiled(dt.ones(n))) == 2 * n
    assert programs(compiled) == 59


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_that_are_one_array_stay_one(backend: str) -> None:
    def alias(x: dt.Tensor) -> tuple:
        y = x * 2
        return y, y.detach(), y.sum()

    def slopes(a: dt.Tensor, b: dt.Tensor) -> tuple:
        a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
        return dt.autograd.grad((a + b).exp().sum(), (a, b))

    compiled, steps = (dt.compile(f, fullgraph=True, backend=backend) for f in (alias, slopes))
    for function in (alias, compiled, compiled):
        x = dt.ones(3, requires_grad=True)
        y, z, total = function(x)
        assert y._array is z._array and z.is_leaf and not z.requires_grad
        z.mul_(5)
        assert y._version == z._version == 1 and (y == 10).all()
        total.backward()
        assert (x.grad == 2).all()
        y, z, total = function(x)
        square = y * y
        z.add_(1)
        with pytest.raises(RuntimeError, match="inplace operation"):
            square.sum().backward()
    for function in (slopes, steps, steps):
        g, h = function(dt.ones(2), dt.zeros(2))
        g.mul_(2)
        assert g._array is h._array and h._version == 0 and np.allclose(h.numpy(), 2 * np.e)


def test_an_argument_may_call_anything_its_shape() -> None:
    class Thing:
        shape = [1, 2]  # not to be hashed
        scale = 2.0

    compiled = dt.compile(lambda x, thing: x * thing.scale)
    for n in (1, 2, 3, 1):
        assert (compiled(dt.ones(n), Thing()) == 2).all()


def test_of_very_many_shapes_those_that_come_again_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualtape.compiler.compiled._SHAPES", 5)
    compiled = dt.compile(lambda x: x * 2, backend="numpy")
    for n in range(1, 6):
        compiled(dt.ones(n))
    with pytest.warns(UserWarning, match="5 different shapes"):
        compiled(dt.ones(6))
    assert programs(compiled) == 5
    for n in (7, 8, 9, 6):
        assert compiled(dt.ones(n)).shape == (n,)
    assert programs(compiled) == 6
    assert {v.facts["shapes of arguments"] for vs in compiled._specializations.values() for v in vs} >= {((6,),)}


def test_dynamic_false_gives_up_on_very_many_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualtape.compiler.compiled._SHAPES", 3)
    compiled = dt.compile(lambda x: x * 2, backend="numpy", dynamic=False)
    for n in range(1, 4):
        compiled(dt.ones(n))
    with pytest.warns(UserWarning, match="traced 3 times.*shapes"):
        compiled(dt.ones(9))
    assert compiled(dt.ones(9)).shape == (9,) and programs(compiled) == 3


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_batches_of_all_sizes_have_the_same_kernels(dtype: dt.dtype) -> None:
    runtime = pytest.importorskip("dualtape.compiler.native.runtime")

    w, u = dt.randn(10, 20, dtype=dtype), dt.randn(20, 3, dtype=dtype)

    def loss(w: dt.Tensor, u: dt.Tensor, x: dt.Tensor, y: dt.Tensor) -> dt.Tensor:
        return (((x @ w).tanh() @ u).softmax(1) - y).square().sum(1).mean() + (x * 0.37).exp().mean()

    step = dt.func.grad_and_value(loss, argnums=(0, 1))
    compiled = dt.compile(step, fullgraph=True)
    for k, n in enumerate([65, 66, 67, 68, 64, 333, 128, 70, 101, 211, 95, 96, 300]):
        x, y = dt.randn(n, 10, dtype=dtype), dt.rand(n, 3, dtype=dtype)
        before = len(runtime._functions)
        got = compiled(w, u, x, y)
        if k > 6:
            assert len(runtime._functions) == before, n
        for a, b in zip(tree_leaves(got), tree_leaves(step(w, u, x, y)), strict=True):
            assert a.shape == b.shape and np.allclose(a.numpy(), b.numpy(), 1e-4, 1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 127, 1023, 1024, 1025, 4099])
def test_kernels_of_any_length_compute_every_element(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = dt.tensor(rng.standard_normal((n, 5))), dt.tensor(rng.standard_normal((n, 5)).astype("f4"))

    def f(x: dt.Tensor, y: dt.Tensor) -> tuple:
        z = x * 1.7 - y / n
        sums = z.sum(), z.sum(0), z.sum(1), y.sum(), y.mean(0), z[1:].cumsum(0)
        return z, *sums, z.amax(0), z.prod(1), z.t() @ y.double()

    compiled = dt.compile(f, fullgraph=True)
    compiled(x, y)
    for got, true in zip(compiled(x + 1, y * 2), f(x + 1, y * 2), strict=True):
        single = got.dtype is dt.float32
        assert got.shape == true.shape and np.allclose(got.numpy(), true.numpy(), 1e-5, 1e-3 if single else 1e-8)


def test_a_hook_of_all_modules_that_comes_later_is_called() -> None:
    layer = dt.nn.Linear(2, 2)
    compiled = dt.compile(lambda x: layer(x))
    x = dt.ones(1, 2)
    before = [compiled(x) for _ in range(2)][-1].detach()
    with dt.nn.modules.module.register_module_forward_hook(lambda module, args, output: output * 2):
        assert (compiled(x) == before * 2).all()
    assert (compiled(x) == before).all()


class _Meta(type):
    k = 2.0


class _WithMeta(metaclass=_Meta):
    pass


def test_attributes_of_a_class_of_a_class_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = dt.compile(lambda x: x * _WithMeta.k)
    assert [float(compiled(dt.ones(1))) for _ in range(2)] == [2.0, 2.0]
    monkeypatch.setattr(_Meta, "k", 3.0)
    assert float(compiled(dt.ones(1))) == 3.0


def _length() -> int:
    with open(__file__) as file:
        return len(file.read())


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: x * time.time(), "time.time"),
        (lambda x: x * perf_counter(), "perf_counter"),
        (lambda x: x * datetime.datetime.now().microsecond, "datetime.now"),
        (lambda x: x * _length(), "open"),
        (lambda x: x * np.load("nothing.npy") if x.ndim > 5 else x, "load"),
        (lambda x: x * len(Path(__file__).read_text()), "Path.read_text"),
        (lambda x: x * os.getpid(), "getpid"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_another_at_each_call_is_refused_by_name(function: Callable, what: str) -> None:
    with pytest.warns(UserWarning, match=what):
        dt.compile(function)(dt.ones(1))


def test_the_environment_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = dt.compile(lambda x: x * float(os.getenv("DUALTAPE_TEST_FACTOR", "2")))
    assert [float(compiled(dt.ones(1))) for _ in range(2)] == [2.0, 2.0]
    monkeypatch.setenv("DUALTAPE_TEST_FACTOR", "3")
    assert float(compiled(dt.ones(1))) == 3.0


@pytest.mark.parametrize("lr", [0.1, "tensor"])
def test_a_training_step_of_many_calls_has_few_programs(lr: Any) -> None:
    model = dt.nn.Sequential(dt.nn.Linear(3, 4), dt.nn.ReLU(), dt.nn.Linear(4, 4), dt.nn.ReLU(), dt.nn.Linear(4, 2))
    optimizer = dt.optim.SGD(model.parameters(), lr=dt.tensor(0.1) if lr == "tensor" else lr, momentum=0.9)
    x, y = dt.randn(8, 3), dt.tensor([0, 1] * 4)

    def step(x: dt.Tensor, y: dt.Tensor) -> dt.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    compiled = dt.compile(step, fullgraph=True)
    for _ in range(10):
        compiled(x, y)
    told = dt.compiler.explain(compiled)(x, y)
    assert len(told.specializations) <= 2 and not told.reasons, told.retraced


class _Alike:
    """Two slots of which one's name begins the other's."""

    __slots__ = ("xy", "x")


def test_names_that_begin_alike_are_told_apart() -> None:
    held = _Alike()
    held.x, held.xy = [1.0], [2.0]
    compiled = dt.compile(lambda t: t * held.x[0] + held.xy[0], fullgraph=True)
    assert [compiled(dt.ones(1)).item() for _ in range(3)] == [3.0] * 3
    assert len(dt.compiler.explain(compiled)(dt.ones(1)).specializations) == 1
    held.xy[0] = 5.0
    assert compiled(dt.ones(1)).item() == 6.0


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "NAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop"])
def test_a_schedule_of_a_rate_that_is_a_tensor_needs_one_program(kind: str) -> None:
    def trained(compiled: bool) -> tuple[dt.Tensor, Any]:
        dt.manual_seed(0)
        model, x = dt.nn.Linear(3, 2), dt.randn(8, 3)
        optimizer = getattr(dt.optim, kind)(model.parameters(), lr=dt.tensor(0.05))
        schedule = dt.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step(x: dt.Tensor) -> None:
            optimizer.zero_grad()
            (model(x) - 1).pow(2).mean().backward()
            optimizer.step()

        run = dt.compile(step, fullgraph=True) if compiled else step
        for _ in range(12):
            run(x)
            schedule.step()
        return model.weight, run

    weight, _ = trained(False)
    found, run = trained(True)
    np.testing.assert_allclose(found.detach(), weight.detach(), rtol=1e-5)
    assert len(dt.compiler.explain(run)(dt.ones(8, 3)).specializations) == 1


def test_what_was_not_as_before_is_said_when_there_are_too_many_programs() -> None:
    held = {"rate": 0.0}
    compiled = dt.compile(lambda x: x * held["rate"], recompile_limit=2)
    with pytest.warns(UserWarning, match=r"traced 2 times.*rate: it was 1.0, is 2.0"):
        for rate in range(4):
            held["rate"] = float(rate)
            assert compiled(dt.ones(1)).item() == rate


@pytest.mark.parametrize("where", ["argument", "cast", "autocast"])
def test_what_computes_in_bfloat16_runs_as_it_is(where: str) -> None:
    def f(x: dt.Tensor) -> dt.Tensor:
        with dt.autocast("cpu", dtype=dt.bfloat16, enabled=where == "autocast"):
            return (
                F.linear(x.bfloat16() if where == "cast" else x, x.to(dt.bfloat16 if where == "cast" else x.dtype)) * 2
            )

    x = dt.ones(2, 3, dtype=dt.bfloat16 if where == "argument" else dt.float32)
    with pytest.warns(UserWarning, match="runs as it is.*(?i:bfloat16)"):
        found = dt.compile(f)(x)
    assert found.dtype == dt.bfloat16 and found.tolist() == [[6.0, 6.0]] * 2


class _Scaled(dt.nn.Module):
    """A module with an attribute of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = dt.nn.Linear(2, 3)
        self.scale = 2.0

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        return self.layer(x) * self.scale


@pytest.mark.filterwarnings("ignore:Using .torch.compile:UserWarning")  # other tests put hooks on all of its modules
def test_a_compiled_module_stands_for_the_module() -> None:
    torch = pytest.importorskip("torch")

    def told(lib: Any, backend: str) -> list:
        net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Dropout(0.5))
        found = lib.compile(net, backend=backend)
        seen = [isinstance(found, lib.nn.Module), list(found.state_dict()), [n for n, _ in found.named_modules()]]
        seen += [repr(found), len(found), found._orig_mod is net, found.eval() is found, net.training, found.training]
        found.extra = 5
        seen += [net.extra, found.extra, hasattr(found, "missing"), "extra" in dir(found)]
        del found.extra
        copied = copy.deepcopy(found)
        seen += [hasattr(net, "extra"), type(copied) is type(found), copied._orig_mod is net, copied.training]
        with found.register_forward_hook(lambda module, args, output: seen.append(type(module).__name__)):
            seen.append(found(lib.ones(4, 2)).shape == (4, 3))
        return seen

    assert told(dt, "native") == told(torch, "eager")


def test_a_compiled_module_trains_is_saved_and_is_compiled_with_a_step() -> None:
    model = dt.compile(_Scaled(), fullgraph=True)
    optimizer = dt.optim.SGD(model.parameters(), lr=0.1)

    def step(x: dt.Tensor) -> dt.Tensor:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(dt.ones(4, 2)).item() for _ in range(4)]
    losses += [run(dt.ones(4, 2)).item() for run in [dt.compile(step, fullgraph=True)] * 4]
    assert losses == sorted(losses, reverse=True) and losses[0] > 2 * losses[-1]
    other = pickle.loads(pickle.dumps(model))
    other.load_state_dict(model.state_dict())
    assert dt.equal(other(dt.ones(1, 2)), model(dt.ones(1, 2)))
    assert dt.compiler.explain(model)(dt.ones(1, 2)).name == "_Scaled"


def test_hooks_and_attributes_of_a_module_of_ones_own_are_looked_at() -> None:
    net = _Scaled()
    compiled = dt.compile(net, fullgraph=True)
    x = dt.ones(1, 2)
    before = compiled(x)
    with net.register_forward_hook(lambda module, args, output: output + 1):
        assert dt.allclose(compiled(x), before + 1)
    assert dt.allclose(compiled(x), before)
    compiled.scale = 4.0
    assert dt.allclose(compiled(x), 2 * before)


@dataclasses.dataclass
class _Described:
    k: float = 2.0


def test_a_dataclass_and_several_modules_have_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    described = _Described()
    model = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.Tanh(), dt.nn.Dropout(0.0), dt.nn.Linear(3, 1))
    compiled = dt.compile(lambda x: model(x) * described.k, fullgraph=True)
    x = dt.ones(1, 2)
    for _ in range(3):
        compiled(x)
    assert programs(compiled) == 1
    described.k = 3.0
    assert (compiled(x) == model(x) * 3.0).all() and programs(compiled) == 2
