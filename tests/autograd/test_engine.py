"""The engine: what backward and grad accept, deliver and refuse; graphs of any size; nothing kept longer than
needed.
"""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import dualtape as dt
from tests.same_program import needs_torch, same


def leaf(*values: float) -> dt.Tensor:
    return dt.tensor(list(values), dtype=dt.float64, requires_grad=True)


def test_gradients_accumulate_over_backward_calls() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_grad_returns_gradients_and_touches_no_leaf() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gx, gy = dt.autograd.grad((x * y).sum(), [x, y])
    assert gx.tolist() == [3.0, 4.0] and gy.tolist() == [1.0, 2.0]
    assert x.grad is None and y.grad is None


def test_leaves_of_one_addition_do_not_share_their_gradient() -> None:
    x, y = leaf(1.0), leaf(2.0)
    (x + y).backward()
    x.grad.zero_()
    assert y.grad.tolist() == [1.0]


def test_the_users_gradient_is_never_taken_over() -> None:
    x, start = leaf(1.0, 2.0), dt.ones(2, dtype=dt.float64)
    (x + 0).backward(start)
    x.grad.mul_(5)
    assert start.tolist() == [1.0, 1.0]


def test_a_gradient_may_come_for_a_non_scalar_only_from_the_user() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(dt.ones(3, dtype=dt.float64))
    with pytest.raises(TypeError):
        (x * 2).backward([1.0])


def test_several_roots_share_one_run() -> None:
    x = leaf(3.0)
    a, b = x * 2, x * x
    dt.autograd.backward([a, b], [dt.ones(1, dtype=dt.float64), None])
    assert x.grad.tolist() == [8.0]
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        dt.autograd.backward([a, b], [dt.ones(1)])


def test_a_tensor_without_history_cannot_be_differentiated() -> None:
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        dt.ones(1).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        dt.autograd.grad(leaf(1.0) * 2, dt.ones(1))


def test_unused_inputs_are_an_error_none_or_zeros() -> None:
    x, y = leaf(1.0), leaf(2.0)
    out = x * 2
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        dt.autograd.grad(out, [x, y], retain_graph=True)
    assert dt.autograd.grad(out, [x, y], retain_graph=True, allow_unused=True)[1] is None
    assert dt.autograd.grad(out, [x, y], retain_graph=True, materialize_grads=True)[1].tolist() == [0.0]
    with pytest.raises(ValueError):
        dt.autograd.grad(out, [x, y], allow_unused=False, materialize_grads=True)


@needs_torch
@pytest.mark.parametrize("more", ["", ", create_graph=True", ", create_graph=True, is_grads_batched=True"])
def test_zeros_for_an_unused_input_require_grad_if_the_others_do(more: str) -> None:
    start = "torch.eye(2)" if "batched" in more else "torch.ones(2)"
    same(
        "x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
        f"found = torch.autograd.grad(x * x, [x, y, y * 2], {start}, materialize_grads=True{more})\n"
        "[(g.requires_grad, g.sum().detach()) for g in found]"
    )


def test_backward_with_inputs_fills_only_those() -> None:
    x, y = leaf(1.0), leaf(2.0)
    middle = x * y
    (middle * 2).backward(inputs=[x])
    assert x.grad.tolist() == [4.0] and y.grad is None
    middle = x * y
    (middle * 2).backward(inputs=[middle])
    assert middle.grad.tolist() == [2.0] and y.grad is None


def test_grad_reaches_intermediate_tensors_and_stops_there() -> None:
    x = leaf(2.0)
    seen = []
    deep = x * 1
    deep.register_hook(lambda g: seen.append("deep"))
    middle = deep * 3
    (g,) = dt.autograd.grad(middle * middle, middle)
    assert g.tolist() == [12.0] and seen == []


def test_saved_values_are_freed_and_the_second_backward_says_where() -> None:
    x = leaf(1.0, 2.0)
    out = (x * x).sum()
    out.backward()  # the line that frees the graph
    with pytest.raises(RuntimeError, match="second time") as caught:
        out.backward()
    assert "test_engine.py" in str(caught.value) and "MulBackward0" in str(caught.value)


def test_a_graph_that_saves_nothing_can_run_twice() -> None:
    x = leaf(1.0, 2.0)
    out = (x + 1).sum()
    out.backward()
    out.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_graph_keeps_saved_values() -> None:
    x = leaf(2.0)
    out = x * x
    out.backward(retain_graph=True)
    out.backward()
    assert x.grad.tolist() == [8.0]


def test_derivatives_of_every_order() -> None:
    x = dt.tensor(0.7, dtype=dt.float64, requires_grad=True)
    value, expected = x.sin(), [np.cos(0.7), -np.sin(0.7), -np.cos(0.7), np.sin(0.7), np.cos(0.7)]
    for want in expected:
        (value,) = dt.autograd.grad(value, x, create_graph=True)
        np.testing.assert_allclose(value.item(), want, rtol=1e-12)


def test_create_graph_through_backward_warns_of_the_cycle() -> None:
    x = leaf(2.0)
    with pytest.warns(UserWarning, match="reference cycle"):
        (x**3).backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = dt.autograd.grad(x.grad, x)
    assert second.tolist() == [12.0]
    x.grad = None


def test_a_real_leaf_in_a_complex_program_gets_a_real_gradient() -> None:
    x = leaf(2.0)
    out = (x * dt.tensor([1.0 + 2.0j], dtype=dt.complex128)).abs().sum()
    out.backward()
    assert x.grad.dtype == dt.float64
    np.testing.assert_allclose(x.grad.numpy(), [5**0.5])


def test_mixed_dtypes_give_each_leaf_its_own() -> None:
    x, y = dt.ones(2, requires_grad=True), dt.ones(2, dtype=dt.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == dt.float32 and y.grad.dtype == dt.float64


def test_the_deepest_graph_is_built_run_and_freed() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_every_node_runs_once_however_many_ways_lead_to_it() -> None:
    runs: list = []
    for n in (10, 20):
        runs.clear()
        x = leaf(1.0)
        y = x
        for k in range(n):
            y = y + y  # 2**n ways from end to start
            y.grad_fn.register_prehook(lambda grads, k=k: runs.append(k))
        y.backward()
        assert runs == list(range(n))[::-1]
        assert x.grad.tolist() == [2.0**n]


def test_dropping_the_result_frees_everything_at_once() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        hidden = (x * x).tanh()
        out = (hidden * 3).sum()
        nodes = [weakref.ref(n) for n in (out.grad_fn, hidden.grad_fn)]
        tensors = [weakref.ref(hidden), weakref.ref(out)]
        arrays = [weakref.ref(hidden._array)]
        del hidden, out
        assert all(r() is None for r in (*nodes, *tensors, *arrays))
    finally:
        gc.enable()


def test_backward_releases_memory_as_it_goes() -> None:
    x = leaf(1.0, 2.0)
    first = x.exp()
    array = weakref.ref(first._array)
    alive = []
    second = first.exp()
    x.register_hook(lambda g: alive.append(array() is not None))
    del first
    second.sum().backward()
    assert alive == [False]


def test_the_graph_keeps_a_leaf_that_the_user_dropped() -> None:
    x = leaf(2.0)
    out, ref = x * 3, weakref.ref(x)
    del x
    found = out.grad_fn.next_functions[0][0].variable
    assert found is ref()
    out.backward()
    assert found.grad.tolist() == [3.0]


def test_threads_lose_no_gradient() -> None:
    x = leaf(0.0)

    def work() -> None:
        for _ in range(200):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [1600.0]


def test_threads_that_use_a_fresh_leaf_at_once_find_one_sink() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            x = leaf(1.0, 2.0)
            start, result = threading.Barrier(4), []

            def work(x: dt.Tensor = x, start: threading.Barrier = start, result: list = result) -> None:
                start.wait()
                result.append(x * 2)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert len({y.grad_fn.next_functions[0][0] for y in result}) == 1
    finally:
        sys.setswitchinterval(interval)


def test_grad_mode_belongs_to_a_thread() -> None:
    seen = []
    with dt.no_grad():
        t = threading.Thread(target=lambda: seen.append(dt.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


def test_backward_inside_backward() -> None:
    x = leaf(2.0)

    def inner(g: dt.Tensor) -> dt.Tensor:
        with dt.enable_grad():
            y = g.detach().requires_grad_()
            (z,) = dt.autograd.grad((y * y).sum(), y)
        return z

    out = x * 3
    out.register_hook(inner)
    out.sum().backward()
    assert x.grad.tolist() == [6.0]


def test_a_hook_that_raises_leaves_modes_gradients_and_graph_usable() -> None:
    x = leaf(1.0)
    out = x * x

    def fail(g: dt.Tensor) -> None:
        raise KeyError("stop")

    handle = out.register_hook(fail)
    with pytest.raises(KeyError):
        out.backward()
    assert dt.is_grad_enabled() and x.grad is None
    handle.remove()
    out.backward()
    assert x.grad.tolist() == [2.0]


def test_a_backward_that_raises_names_the_node_and_frees_nothing_before_it() -> None:
    class Fails(dt.autograd.Function):
        fail = True

        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if Fails.fail:
                raise ValueError("no")
            return g

    x = leaf(3.0)
    y = x * x
    out = Fails.apply(y)
    with pytest.raises(ValueError) as caught:
        out.backward()
    assert any("FailsBackward" in note for note in caught.value.__notes__)
    Fails.fail = False
    out.backward()
    assert x.grad.tolist() == [6.0]


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: x.add_(dt.ones(3)),
        lambda x: x.mul_(1.5 + 1j),
        lambda x: x.copy_(dt.ones(7)),
        lambda x: x.__setitem__(9, 1.0),
        lambda x: x.clamp_(),
        lambda x: x.fill_(dt.ones(2)),
    ],
)
def test_a_write_that_is_refused_changes_nothing(attempt) -> None:
    x = dt.tensor([1.0, 2.0]) * 1
    with pytest.raises((RuntimeError, IndexError, TypeError)):
        attempt(x)
    assert x.tolist() == [1.0, 2.0] and x._version == 0 and x.grad_fn is None


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x, y: x + y,
        lambda x, y: x @ y,
        lambda x, y: dt.cat([x, y[None]]),
        lambda x, y: x.view(7),
        lambda x, y: x.sum(5),
    ],
)
def test_an_op_that_fails_says_so_in_the_librarys_words_and_leaves_no_trace(attempt) -> None:
    x, y = dt.ones(2, 2, requires_grad=True), dt.ones(3, requires_grad=True)
    with pytest.raises((RuntimeError, IndexError)) as caught:
        attempt(x, y)
    assert str(caught.value)
    assert x._version == y._version == 0 and x.grad is None and dt.is_grad_enabled()


def test_modes_are_restored_after_an_exception_in_every_form() -> None:
    with pytest.raises(KeyError), dt.no_grad():
        raise KeyError
    assert dt.is_grad_enabled()

    @dt.no_grad()
    def function() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        function()
    assert dt.is_grad_enabled()


def test_modes_decorate_functions_generators_and_coroutines() -> None:
    import asyncio

    @dt.no_grad()
    def function() -> bool:
        return dt.is_grad_enabled()

    @dt.no_grad()
    def generator():
        received = yield dt.is_grad_enabled()
        yield (received, dt.is_grad_enabled())

    @dt.no_grad()
    async def coroutine() -> bool:
        await asyncio.sleep(0)
        return dt.is_grad_enabled()

    assert function() is False
    running = generator()
    assert next(running) is False
    assert dt.is_grad_enabled()
    assert running.send("sent") == ("sent", False)
    assert asyncio.run(coroutine()) is False
    assert dt.is_grad_enabled()


def test_set_grad_enabled_acts_at_once_as_a_function_and_inside_only_as_a_decorator() -> None:
    dt.set_grad_enabled(False)
    try:
        assert not dt.is_grad_enabled()
    finally:
        dt.set_grad_enabled(True)

    @dt.set_grad_enabled(False)
    def function() -> bool:
        return dt.is_grad_enabled()

    assert dt.is_grad_enabled()
    assert function() is False


def test_nodes_have_names_edges_metadata_and_sequence_numbers() -> None:
    x = leaf(1.0)
    a = x * 2
    b = a + x
    node = b.grad_fn
    assert node.name() == "AddBackward0"
    assert node.next_functions[0] == (a.grad_fn, 0)
    assert node.next_functions[1][0].name() == "AccumulateGrad"
    assert node._sequence_nr() > a.grad_fn._sequence_nr()
    node.metadata["mine"] = 1
    assert b.grad_fn.metadata == {"mine": 1}


def test_floating_point_errors_are_silent_unless_numpy_is_told_otherwise() -> None:
    zero = dt.zeros(2)
    assert (1 / zero).tolist() == [float("inf")] * 2  # warnings are errors in this suite
    assert zero.log().tolist() == [float("-inf")] * 2
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        zero.log()


@pytest.mark.parametrize("dtype", [dt.float32, dt.float16])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_number_too_large_for_a_dtype_is_infinite_where_warnings_are_errors(dtype: dt.dtype, shape: tuple) -> None:
    x = dt.ones(shape, dtype=dtype)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        assert (x * 2e300).sum().item() == (1e300 + x).sum().item() == np.inf


@pytest.mark.parametrize("shape", [(), (2,)])
def test_whether_a_number_is_too_large_does_not_depend_on_whether_it_was_met_before(shape: tuple) -> None:
    x = dt.ones(shape)
    assert (x - 3e300).sum().item() == -np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow encountered in cast"):
        x - 3e300


def test_backward_inside_backward_goes_as_deep_as_it_likes() -> None:
    class Deeper(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if ctx.n:
                with dt.enable_grad():
                    y = dt.ones(1, requires_grad=True)
                    Deeper.apply(y, ctx.n - 1).sum().backward()
                    assert y.grad.tolist() == [1.0]
            return g, None

    x = dt.ones(1, requires_grad=True)
    Deeper.apply(x, 300).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_an_error_from_the_depth_reaches_the_top() -> None:
    class Fails(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if not ctx.n:
                raise KeyError("bottom")
            with dt.enable_grad():
                Fails.apply(dt.ones(1, requires_grad=True), ctx.n - 1).sum().backward()
            return g, None

    with pytest.raises(KeyError, match="bottom"):
        Fails.apply(dt.ones(1, requires_grad=True), 70).sum().backward()
    assert dt.is_grad_enabled()


def test_callbacks_run_when_backward_has_finished() -> None:
    engine, seen = dt.autograd.Variable._execution_engine, []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: seen.append(x.grad.tolist())))
    y.backward()
    assert seen == [[2.0]]
    with pytest.raises(RuntimeError, match="during backward"):
        engine.queue_callback(lambda: None)


def test_a_gradient_lies_in_memory_as_its_leaf_does() -> None:
    torch = pytest.importorskip("torch")
    for make in (
        lambda m: m.ones(3, 4).t().requires_grad_(),
        lambda m: m.ones(3, 4).requires_grad_(),
        lambda m: m.ones(3, 4)[:, ::2].detach().requires_grad_(),
    ):
        for use in (lambda w: (w * 2).sum(), lambda w: (w.t() * 3).sum(), lambda w: (w.t() + w.t()).sum()):
            ours, theirs = make(dt), make(torch)
            use(ours).backward()
            use(theirs).backward()
            assert ours.grad.stride() == tuple(theirs.grad.stride())


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.ones(2, 3, 4).permute(2, 0, 1),
        lambda m: m.ones(2, 3, 4).permute(1, 0, 2),
        lambda m: m.ones(4, 6, 2).permute(2, 1, 0)[:, ::2],
        lambda m: m.ones(1, 3).expand(2, 3),
    ],
)
def test_the_axes_of_a_gradient_are_those_of_a_leaf_without_gaps(make) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = make(dt).requires_grad_(), make(torch).requires_grad_()
    (ours * ours).sum().backward()
    (theirs * theirs).sum().backward()
    assert ours.grad.stride() == tuple(theirs.grad.stride())


def test_gradients_with_history_accumulate_out_of_place_others_in_place() -> None:
    x = leaf(2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward()
    assert x.grad is first and first._version == 1
    with pytest.warns(UserWarning):
        (x * x).sum().backward(create_graph=True)
    assert x.grad is not first and x.grad.grad_fn.name() == "AddBackward0"
    x.grad = None
    with pytest.warns(UserWarning):
        (x * x).sum().backward(create_graph=True)
    assert x.grad.grad_fn.name() == "CopyBackwards"
    x.grad = None


def test_formulas_whose_result_nobody_waits_for_are_not_run() -> None:
    from dualtape.ops.codegen.functions import vjps

    calls: list = []
    row = dt.ops.table.TABLE["mul"]
    kept = row.loads, row.numpy_vjp, row.node_class()._vjp
    row.loads = tuple(
        (lambda *a, f=formula, k=k: (calls.append(k), f(*a))[1], loads) for k, (formula, loads) in enumerate(row.loads)
    )
    row.numpy_vjp = {}
    row.node_class()._vjp = vjps(row)["_vjp"]
    try:
        x, y = leaf(2.0), leaf(3.0)
        dt.autograd.grad(x * y, x)
        assert calls == [0]
        (x * y).backward()
        assert calls == [0, 0, 1]
    finally:
        row.loads, row.numpy_vjp = kept[:2]
        row.node_class()._vjp = kept[2]


def test_a_leaf_that_became_a_result_takes_no_gradient() -> None:
    x = dt.ones(2, requires_grad=True)
    y = x + x
    x.requires_grad_(False)
    x.add_(y)
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        x.backward(dt.ones(2))


def test_a_graph_still_leads_to_a_leaf_whose_data_was_replaced() -> None:
    x = leaf(1.0, 2.0)
    before = (x * 2).sum()
    seen: list = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.data = dt.tensor([5.0, 6.0], dtype=dt.float64)
    after = (x * 3).sum()
    (gradient,) = dt.autograd.grad(before + after, x, retain_graph=True)
    (before + after).backward()
    assert gradient.tolist() == x.grad.tolist() == [5.0, 5.0] and seen == [[5.0, 5.0]] * 2


def test_a_leaf_whose_data_was_replaced_by_another_shape_takes_gradients_of_that_shape() -> None:
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    x.grad = None
    x.data = dt.ones(3)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0] * 3 and x.grad.dtype == dt.float32
