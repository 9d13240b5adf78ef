"""Reports on memory: what a graph keeps, each memory once; what tensors are alive."""

from __future__ import annotations

import pytest

import dualtape as dt
from dualtape.autograd.graph import saved


def test_each_memory_is_counted_once_and_leaves_are_not():
    x = dt.ones(1000, requires_grad=True)
    y = x.exp()
    report = saved((y.sin() * y[:10].sum()).sum())
    assert report.nbytes == 4000 + 4000 + 4  # exp's result, which three nodes keep; sin's; a sum
    assert saved((x * x).sum()).nbytes == 0
    assert any(entry.leaf for entry in saved((x * x).sum()).entries)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_the_largest_come_first_by_op_and_by_line():
    x = dt.ones(10, requires_grad=True)
    with dt.autograd.detect_anomaly(check_nan=False):
        small = x.exp()
        large = (x.expand(100, 10) * 2).tanh()
        report = saved(small.sum() + large.sum())
    assert report.entries[0].op == "TanhBackward0" and report.entries[0].nbytes == 4000
    assert list(report.by_op().items())[:2] == [("TanhBackward0", 4000), ("ExpBackward0", 40)]
    assert all("test_saved_memory.py" in line for line, size in report.by_line().items() if size)
    assert report.recomputable == report.nbytes and "could be recomputed" in str(report)
    assert report.svg().startswith("<svg") and "TanhBackward0" in report.svg()


def test_a_product_cannot_be_recomputed_cheaply():
    w = dt.ones(20, 20, requires_grad=True)
    report = saved(((w @ w) @ w).sum())
    assert report.nbytes == 1600 and report.recomputable == 0


def test_a_graph_that_was_freed_keeps_nothing():
    x = dt.ones(10, requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    assert saved(loss).nbytes == 0


def test_what_has_no_history_is_refused():
    for bad in (dt.ones(2), 3):
        with pytest.raises(ValueError, match="requires_grad"):
            saved(bad)


def test_live_tensors_are_summed_up():
    x = dt.zeros(321, 123)
    view = x[:10]
    text = dt.memory_summary(limit=1000)
    assert "float32[321, 123]" in text and "float32[10, 123]" in text
    line = next(line for line in text.splitlines() if "float32[10, 123]" in line)
    assert view is not None and ("0 B" in line or "float32[321" not in text)
    assert len(dt.memory_summary(limit=1).splitlines()) <= 3
