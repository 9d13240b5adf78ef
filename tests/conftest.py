"""Shared set-up: the deep setting, and a clean default dtype for every test."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

os.environ.setdefault("DUALTAPE_TRACEBACKS", "full")  # a failing test shows the library's frames, too

import dualtape as dt
from dualtape.overrides.active_overrides import active_overrides


@pytest.fixture(autouse=True)
def default_dtype():
    """Every test starts and ends with PyTorch's default."""
    dt.set_default_dtype(dt.float32)
    yield
    dt.set_default_dtype(dt.float32)


# Tests of ops on plain tensors. Once a class or a mode exists that overrides operations, fast paths of some ops are off
# for good: in these modules they are on all the same, whatever other tests have made.
_PLAIN = frozenset(
    f"test_{name}"
    for name in """
    edges fastpath_net forward_ad forward_generated history indexing library mixed_dtypes ops_generated out fast_paths
    fast_writes saved views vmap vmap_generated
""".split()
)
_OVERRIDING = pytest.StashKey[bool]()  # of a module of tests: whether its own classes override operations


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """See whether a module of tests has classes or modes that override operations."""
    before = active_overrides.copy()
    active_overrides.clear()
    report = yield
    collector.stash[_OVERRIDING] = bool(active_overrides)
    active_overrides[:] = before or active_overrides
    return report


@pytest.fixture(autouse=True)
def nothing_overrides(request: pytest.FixtureRequest) -> Iterator[None]:
    """As in a process where nothing overrides operations, in modules of tests where nothing does."""
    module = request.node.getparent(pytest.Module)
    before = active_overrides.copy()
    if module is not None and module.obj.__name__ in _PLAIN and not module.stash.get(_OVERRIDING, True):
        active_overrides.clear()
    yield
    active_overrides[:] = before or active_overrides
