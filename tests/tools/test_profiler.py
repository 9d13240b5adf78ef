"""The profiler: every op and node reports, what is inside what, tables, traces, schedules; nothing when it is off."""

from __future__ import annotations

import json
import sys
import threading
import warnings

import numpy as np
import pytest

import dualtape as dt
from dualtape.overrides import active_overrides
from dualtape.profiler import ProfilerAction, profile, record_function, schedule
from same_program import needs_torch


def names(p):
    return [event.name for event in p.events()]


def test_ops_and_nodes_report_in_their_order_linked_by_number():
    x = dt.ones(2, 3, requires_grad=True)
    with profile(record_shapes=True, profile_memory=True) as p:
        y = (x * 2).exp()
        y.sum().backward()
    assert names(p) == [
        "aten::mul",
        "aten::exp",
        "aten::sum",
        "SumBackward0",
        "ExpBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]
    by_name = {event.name: event for event in p.events()}
    assert by_name["aten::exp"].sequence_nr == by_name["ExpBackward0"].sequence_nr >= 0
    assert by_name["aten::mul"].input_shapes == [[2, 3], []] and by_name["aten::mul"].cpu_memory_usage == 24
    assert all(event.cpu_time_total > 0 for event in p.events())
    assert np.allclose(x.grad.numpy(), 2 * np.exp(2))


def test_results_gradients_and_graphs_are_what_they_are_without_it():
    def program():
        x = dt.linspace(0.1, 1, 6).reshape(2, 3).requires_grad_()
        y = dt.nn.functional.layer_norm(x @ x.t().sin(), (2,)).softmax(0)
        z = y.clone()
        z[0].mul_(3)
        z += y
        (g,) = dt.autograd.grad(z.pow(2).sum(), x, create_graph=True)
        (h,) = dt.autograd.grad(g.sum(), x)
        return [y, z, g, h], z.grad_fn.name(), z._version

    plain = program()
    with profile(with_stack=True, record_shapes=True, profile_memory=True):
        watched = program()
    for ours, theirs in zip(watched[0], plain[0], strict=True):
        assert dt.equal(ours, theirs)
    assert watched[1:] == plain[1:]


def test_a_stretch_of_the_users_own_holds_what_is_inside():
    @record_function("whole")
    def work(x):
        with record_function("part", "its arguments"):
            y = x.sin()
        return y.cos()

    with profile() as p:
        work(dt.ones(3))
    whole, part, sin, cos = p.events()
    assert [e.name for e in (whole, part, sin, cos)] == ["whole", "part", "aten::sin", "aten::cos"]
    assert whole.cpu_children == [part, cos] and part.cpu_children == [sin] and cos.cpu_parent is whole
    assert whole.cpu_time_total >= part.cpu_time_total + cos.cpu_time_total
    assert abs(whole.self_cpu_time_total - (whole.cpu_time_total - part.cpu_time_total - cos.cpu_time_total)) < 1e-6
    work(dt.ones(3))  # and outside of a profile it does nothing
    assert len(p.events()) == 4


def test_in_place_ops_views_and_compiled_programs_report():
    f = dt.compile(lambda x: (x * 2).sum())
    x = dt.ones(3)
    f(x)
    with profile() as p:
        x.mul_(2)
        x[1:]
        x += 1
        f(x)
    assert names(p)[0] == "aten::mul_" and any(name.startswith("compiled: ") for name in names(p))
    assert any("add_" in name for name in names(p)) and len([n for n in names(p) if "kernel" not in n]) == 4
    assert x.tolist() == [3, 3, 3]


def test_averages_count_and_sort():
    with profile(record_shapes=True, profile_memory=True) as p:
        for n in (2, 2, 3):
            dt.ones(n).sin()
        dt.ones(2).cos()
    averages = {e.key: e for e in p.key_averages()}
    assert averages["aten::sin"].count == 3 and averages["aten::cos"].count == 1
    total = sum(e.cpu_time_total for e in p.events() if e.name == "aten::sin")
    assert averages["aten::sin"].cpu_time_total == pytest.approx(total)
    assert averages["aten::sin"].cpu_time == pytest.approx(total / 3)
    by_shape = p.key_averages(group_by_input_shape=True)
    assert sorted((e.key, e.count) for e in by_shape) == [("aten::cos", 1), ("aten::sin", 1), ("aten::sin", 2)]
    table = p.key_averages().table(sort_by="count", row_limit=1)
    assert "aten::sin" in table and "aten::cos" not in table and "Self CPU time total" in table and "CPU Mem" in table
    assert p.key_averages().total_average().count == 4
    with pytest.raises(ValueError, match="sort_by"):
        p.key_averages().table(sort_by="nothing")


def test_lines_of_the_program_are_noted_if_asked_for(tmp_path):
    with profile(with_stack=True) as p:
        dt.ones(3).sin()
    assert "test_profiler.py" in p.events()[0].stack[0]
    p.export_stacks(tmp_path / "stacks")
    assert "test_profiler.py" in p.flame_svg() and p.flame_svg().startswith("<svg")
    with profile() as p:
        dt.ones(3).sin()
    assert p.events()[0].stack == []
    with pytest.raises(ValueError, match="with_stack"):
        p.export_stacks(tmp_path / "stacks")


def test_a_trace_is_json_that_others_read(tmp_path):
    x = dt.ones(2, requires_grad=True)
    with profile(record_shapes=True) as p:
        x.sin().sum().backward()
    p.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    whole = [e for e in events if e["ph"] == "X"]
    assert [e["name"] for e in whole] == names(p) and all(e["dur"] >= 0 for e in whole)
    assert {e["ph"] for e in events if e["cat"] == "fwdbwd"} == {"s", "f"}


def test_a_schedule_records_some_steps(tmp_path):
    ready = []
    steps = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=steps, on_trace_ready=lambda p: ready.append(names(p))) as p:
        for _ in range(10):
            dt.ones(1).sin()
            p.step()
    assert len(ready) == 2 and ready[0] == ["ProfilerStep#2", "aten::sin", "ProfilerStep#3", "aten::sin"]
    assert ready[1][0] == "ProfilerStep#6" and dt.modes.current().profiler is None
    handler = dt.profiler.tensorboard_trace_handler(str(tmp_path), "me", use_gzip=True)
    with profile(on_trace_ready=handler):
        dt.ones(1).sin()
    assert [path.name.startswith("me.") for path in tmp_path.iterdir()] == [True]


@needs_torch
def test_schedules_are_those_of_pytorch():
    import torch

    for options in (
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 0, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 1, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 1},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of steps without a warm-up
            ours, theirs = schedule(**options), torch.profiler.schedule(**options)
        assert [ours(k).name for k in range(12)] == [theirs(k).name for k in range(12)]


def test_it_is_off_again_whatever_happens():
    with pytest.raises(ZeroDivisionError), profile():
        raise ZeroDivisionError
    assert dt.modes.current().profiler is None and dt.modes.current().plain
    with profile() as p, pytest.raises(RuntimeError):
        dt.ones(2) @ dt.ones(3)
    assert [event.name for event in p.events()] == ["aten::matmul", "aten::dot"] and p.events()[0].cpu_time_total > 0
    with profile() as outer, profile() as inner:
        dt.ones(1).sin()
    assert names(inner) == ["aten::sin"] and names(outer) == []
    first, second = profile(), profile()
    first.start()
    with dt.no_grad():
        second.start()
        second.stop()
    assert dt.is_grad_enabled()
    first.stop()
    first.stop()
    assert dt.modes.current().plain


def test_other_threads_are_not_watched_and_older_names_work():
    with dt.autograd.profiler.profile() as p:
        thread = threading.Thread(target=lambda: dt.ones(2).sin())
        thread.start()
        thread.join()
        dt.ones(2).cos()
    assert [event.name for event in p] == ["aten::cos"] and len(p) == 1 and "aten::cos" in p.table()
    with dt.autograd.profiler.profile(enabled=False) as p:
        dt.ones(2).cos()
    assert len(p) == 0
    with pytest.raises(NotImplementedError):
        dt.autograd.profiler.profile(use_cuda=True)
    with pytest.raises(NotImplementedError), dt.autograd.profiler.emit_nvtx():
        pass
    with pytest.raises(NotImplementedError):
        profile(with_flops=True)
    with pytest.raises(TypeError):
        profile(activities=["cpu"])
    assert schedule(wait=0, warmup=0, active=1)(0) is ProfilerAction.RECORD_AND_SAVE


def test_what_is_made_of_ops_is_around_them():
    model = dt.nn.Sequential(dt.nn.Linear(3, 3), dt.nn.Softmax(-1))
    x = dt.ones(2, 3)
    with profile(with_modules=True, record_shapes=True) as p:
        y = dt.nn.functional.cross_entropy(model(x), dt.tensor([0, 1]))
    assert y.isfinite()
    events = {event.name: event for event in p.events()}
    linear = events["nn.Module: Linear"]
    assert linear.cpu_parent is events["nn.Module: Sequential"] and linear.kind == "module"
    assert linear.cpu_children and linear.input_shapes == [[2, 3]]
    whole = events["aten::cross_entropy"]
    assert whole.kind == "composite" and whole.cpu_parent is None and whole.input_shapes == [[2, 3], [2]]
    assert whole.cpu_children and whole.self_cpu_time_total < whole.cpu_time_total
    with profile() as p:
        model(x)
    assert not any(event.kind == "module" for event in p.events())
    with profile(with_modules=True) as p, pytest.raises(RuntimeError):
        model(dt.ones(2, 4))
    assert all(event.end_ns >= event.start_ns for event in p.events())
    assert not active_overrides.profiling


def test_a_compiled_program_shows_its_kernels() -> None:
    pytest.importorskip("llvmlite")

    def loss(x: dt.Tensor, w: dt.Tensor) -> dt.Tensor:
        order = x.sum(1).argsort()
        return ((x[order] @ w).tanh() * 2 + (x * w[0, 0]).exp().sum()).sum()

    compiled = dt.compile(loss, fullgraph=True)
    x, w = dt.randn(60, 50), dt.randn(50, 40, requires_grad=True)
    for _ in range(2):  # the first one is traced
        w.grad = None
        compiled(x, w).backward()
    want, w.grad = w.grad, None
    with dt.profiler.profile() as taken:
        compiled(x, w).backward()
    events = taken.events()
    kernels = [event for event in events if event.kind == "kernel"]
    inside = {event.cpu_parent.name for event in kernels if event.cpu_parent is not None}
    assert inside == {"compiled: test_a_compiled_program_shows_its_kernels.<locals>.loss", "CompiledFunctionBackward"}
    assert any("tanh" in event.name for event in kernels) and any("matmul" in event.name for event in kernels)
    assert any(event.name.startswith("call: ") for event in kernels)
    assert all(event.cpu_time_total >= 0 for event in kernels)
    assert w.grad is not None and (w.grad == want).all()
    assert not sys.modules["dualtape.compiler.native.program"].watching


def test_ops_have_the_names_that_users_of_pytorch_know():
    x, w = dt.ones(2, 3, requires_grad=True), dt.ones(2, 3)
    with profile() as p:
        dt.nn.functional.linear(x, w, dt.ones(2))
        x.view(6) / 2
        dt.nn.functional.layer_norm(x, (3,))
        x.max(), x[0:1], (x @ w.T).clone().div_(3)
    shown = {event.name for event in p.events() if event.kind == "op"}
    assert {"aten::addmm", "aten::view", "aten::div", "aten::native_layer_norm", "aten::max", "aten::slice"} <= shown
    assert {"aten::mm", "aten::div_"} <= shown and not {"aten::linear_affine", "aten::view_shape"} & shown
