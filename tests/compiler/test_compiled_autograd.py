"""Compiled autograd: backwards of eager graphs as programs give what the engine gives, and leave what it leaves."""

from __future__ import annotations

import gc
import importlib.util
import threading
import warnings
import weakref
from contextlib import nullcontext

import numpy as np
import pytest
from test_compile import made, outcome
from test_compile import same as same_as

import dualtape as dt
from dualtape.compiler import compiled_autograd
from dualtape.utils.checkpoint import checkpoint
from op_cases import DEEP, cases

BACKENDS = ["numpy", "native"] if importlib.util.find_spec("llvmlite") else ["numpy"]


class Cube(dt.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = x**3
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return y * scale

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * ctx.scale * 3 * x * x + 0 * y, None


def chain(x, w):
    for _ in range(3):
        x = (x @ w).tanh() + x.exp() * 0.1
    return x.sum()


def written(x, w):
    y = x * 1
    y[0] = w[0] * 2
    y[:, 1].mul_(w[:, 1])
    v = y[1:]
    y.mul_(2)
    return (v * y[1:]).sum()


def branching(x, w):
    parts = x.unbind(1)
    return (parts[0] * parts[1]).sum() + x.max(dim=1).values.sum() + dt.cat([x, w]).logsumexp(0).sum()


def hooked(x, w):
    y = x * w
    y.register_hook(lambda g: g * 2)
    z = y.sin()
    z.grad_fn.register_hook(lambda given, came: (given[0] + 1,))
    z.grad_fn.register_prehook(lambda came: (came[0] * 3,))
    return (z * z).sum()


def custom(x, w):
    return Cube.apply(x * w, 2.0).sum()


def in_double_half(x, w):
    return (x.double() @ w.double()).sum() + x.half().float().sum()


def indexed(x, w):
    return (x[dt.tensor([0, 2, 2])] * w[:3]).sum() + x[x > 0].sum()


def several_uses(x, w):
    return sum((x * k * w).sum() for k in range(4)) + (x.T @ x).trace()


PROGRAMS = [chain, written, branching, hooked, custom, in_double_half, indexed, several_uses]


def leaves(seed):
    rng = np.random.default_rng(seed)
    return [dt.tensor(rng.standard_normal((3, 3)), requires_grad=True) for _ in range(2)]


def gradients(program, seed):
    x, w = leaves(seed)
    program(x, w).backward()
    return [x.grad, w.grad]


def same(a, b):
    assert (a is None) == (b is None)
    if a is not None:
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_engine(program, backend):
    context = compiled_autograd(fullgraph=program is not indexed, backend=backend)
    with context, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [gradients(program, seed) for seed in (1, 2, 2, 3)]
    for got, seed in zip(found, (1, 2, 2, 3), strict=True):
        for a, b in zip(got, gradients(program, seed), strict=True):
            same(a, b)
    if program is not indexed:  # its shapes depend on values
        (structure,) = context._programs._known.values()
        assert len(structure.specializations) == 1, "one program for all of them"


def test_programs_run_from_the_second_time_on(monkeypatch):
    context = compiled_autograd(backend="numpy")
    with context:
        gradients(chain, 1)
        monkeypatch.setattr("dualtape.autograd.engine._walk", lambda roots, task: pytest.fail("the engine has run"))
        gradients(chain, 2)


def test_grad_gives_what_is_asked_for_in_its_order():
    def asked(x, w):
        y = x * w
        return dt.autograd.grad([y.sum(), (y * y).sum()], [w, y, x], [dt.tensor(2.0).double(), None])

    expected = asked(*leaves(5))
    with compiled_autograd(fullgraph=True):
        asked(*leaves(4))
        for a, b in zip(asked(*leaves(5)), expected, strict=True):
            same(a, b)


def test_an_input_that_is_not_used_is_none_and_one_gradient_asked_twice_is_two():
    with compiled_autograd(fullgraph=True):
        for _ in range(2):
            x, w = leaves(1)
            a, b, c = dt.autograd.grad(x.sum(), [x, x, w], allow_unused=True)
            assert c is None and a.sum() == b.sum() == 9


def test_backward_to_some_inputs_reaches_only_those():
    with compiled_autograd(fullgraph=True):
        for seed in (1, 2):
            x, w = leaves(seed)
            (x * w).sum().backward(inputs=[w])
            assert x.grad is None
            same(w.grad, x.detach())


def test_gradients_add_up_in_place():
    x, _ = leaves(1)
    with compiled_autograd(fullgraph=True):
        for _ in range(3):
            (x * 2).sum().backward()
        held, version = x.grad, x.grad._version
        (x * 2).sum().backward()
    assert x.grad is held and x.grad._version == version + 1
    assert (x.grad == 8).all()


def test_the_graph_is_freed_unless_it_is_retained():
    x, _ = leaves(1)
    with compiled_autograd():
        for _ in range(2):
            y = (x * x).exp().sum()
            y.backward(retain_graph=True)
            y.backward()
            with pytest.raises(RuntimeError, match="second time"):
                y.backward()


def test_a_write_in_between_is_an_error_that_names_it():
    with compiled_autograd():
        for spoil in (False, False, True):
            x, _ = leaves(1)
            y = x.exp()
            z = (y * y).sum()
            if spoil:
                y.add_(1)
                with warnings.catch_warnings(), pytest.raises(RuntimeError, match="inplace operation"):
                    warnings.simplefilter("ignore")
                    z.backward()
            else:
                z.backward()


def test_plain_values_are_part_of_the_structure():
    with compiled_autograd(fullgraph=True):
        for factor in (2.0, 3.0, 2.0):
            x, _ = leaves(1)
            (x * factor).sum().backward()
            assert (x.grad == factor).all()


def test_hooks_made_anew_are_the_same_code_with_what_they_close_over():
    context = compiled_autograd(fullgraph=True)
    with context:
        for factor in (2.0, 2.0, 5.0, 2.0):
            x, _ = leaves(1)
            x.register_hook(lambda g, factor=factor: g * factor)
            x.sum().backward()
            assert (x.grad == factor).all()
    (structure,) = context._programs._known.values()
    assert len(structure.specializations) == 2


def _tenfold(leaf):
    leaf.grad.mul_(10)


def test_hooks_after_accumulation_see_and_change_the_gradient():
    with compiled_autograd(fullgraph=True):
        for _ in range(3):
            x, w = leaves(1)
            x.register_post_accumulate_grad_hook(_tenfold)
            (x * w).sum().backward()
            same(x.grad, w.detach() * 10)


def test_retained_gradients_are_kept():
    with compiled_autograd(fullgraph=True):
        for seed in (1, 2, 3):
            x, w = leaves(seed)
            y = x * w
            y.retain_grad()
            (y * y).sum().backward()
            same(y.grad, 2 * y.detach())


def test_a_hook_that_changes_python_objects_runs_as_it_is_and_says_so():
    seen = []
    with compiled_autograd(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(4):
            x, _w = leaves(1)
            x.register_hook(lambda g: seen.append(g))
            x.sum().backward()
            assert (x.grad == 1).all()
    assert len(seen) == 4
    assert sum("runs as it is" in str(w.message) for w in told) == 1
    with compiled_autograd(fullgraph=True), pytest.raises(RuntimeError, match="fullgraph"):
        for _ in range(3):
            x, _w = leaves(1)
            x.register_hook(lambda g: seen.append(g))
            x.sum().backward()


@pytest.mark.parametrize("how", ["checkpoint", "save_on_cpu"])
def test_saved_tensors_under_hooks_run_as_they_are(how):
    def program(x, w):
        if how == "checkpoint":
            return checkpoint(lambda x: (x * w).sin(), x, use_reentrant=False).sum()
        with dt.autograd.graph.save_on_cpu():
            return (x * w).sin().sum()

    expected = gradients(program, 1)
    with compiled_autograd(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            for a, b in zip(gradients(program, 1), expected, strict=True):
                same(a, b)


def test_what_is_recorded_is_the_engines():
    with compiled_autograd():
        for _ in range(2):
            x, _ = leaves(1)
            (g,) = dt.autograd.grad((x**3).sum(), x, create_graph=True)
            g.sum().backward()
            same(x.grad, 6 * x.detach())


def test_an_error_in_a_hook_is_raised_and_nothing_is_left_behind():
    def fail(g):
        raise ValueError("of the hook")

    with compiled_autograd():
        x, _ = leaves(1)
        handle = x.register_hook(fail)
        with pytest.raises(ValueError, match="of the hook"):
            (x * 2).sum().backward()
        handle.remove()
        assert x.grad is None and type(x._array) is np.ndarray
        (x * 2).sum().backward()
        assert (x.grad == 2).all()
    assert dt.is_grad_enabled()


def test_threads_share_the_programs():
    expected = gradients(chain, 7)
    failed = []

    @compiled_autograd()
    def work():
        try:
            for _ in range(20):
                for a, b in zip(gradients(chain, 7), expected, strict=True):
                    same(a, b)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_as_a_decorator_its_programs_stay(monkeypatch):
    @compiled_autograd(fullgraph=True, backend="numpy")
    def step(seed):
        return gradients(chain, seed)

    step(1)
    monkeypatch.setattr("dualtape.autograd.engine._walk", lambda roots, task: pytest.fail("the engine has run"))
    step(2)


def test_a_training_loop_with_an_optimizer():
    def trained(context):
        dt.manual_seed(0)
        model = dt.nn.Sequential(dt.nn.Linear(4, 8), dt.nn.Tanh(), dt.nn.Linear(8, 1))
        optimizer = dt.optim.Adam(model.parameters(), lr=0.05)
        x = dt.randn(16, 4)
        with context:
            for _ in range(10):
                optimizer.zero_grad()
                loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
                loss.backward()
                optimizer.step()
        return float(loss)

    assert trained(compiled_autograd(fullgraph=True)) == pytest.approx(trained(nullcontext()), rel=1e-4)


ended = []


def end():
    ended.append(1)


def test_callbacks_of_the_engine_run_every_time():
    queue = dt.autograd.Variable._execution_engine.queue_callback
    with compiled_autograd(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(3):
            x, _ = leaves(1)
            x.register_hook(lambda g: queue(end))
            x.sum().backward()
            assert len(ended) == k + 1


CASES = list(cases())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_the_backward_of_every_op_is_a_program(part):
    for number, (_, row, sample) in enumerate(CASES[part :: 8 if DEEP else 24]):
        dtype = "complex128" if row.complex == "only" else "float64"
        backend = BACKENDS[number % len(BACKENDS)]
        context = compiled_autograd(backend=backend)
        for seed in range(2):
            dt.manual_seed(seed)
            try:
                expected = outcome(row.function, *made(sample, dtype, seed))
            except Exception:
                break
            dt.manual_seed(seed)
            with context:
                same_as(outcome(row.function, *made(sample, dtype, seed)), expected)


def test_what_nodes_saved_is_freed_with_the_graph_also_where_the_backward_was_traced() -> None:
    gc.collect()
    gc.disable()
    try:
        with dt.compiler.compiled_autograd():
            for _ in range(3):
                x = dt.randn(5, 5, requires_grad=True)
                h = (x * 2).sin()
                y = (h.exp() * h).sum()
                held = [weakref.ref(h), weakref.ref(y), weakref.ref(x)]
                y.backward()
                del h, y, x
                assert [ref() for ref in held] == [None] * 3
    finally:
        gc.enable()
