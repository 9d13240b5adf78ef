"""What another platform may lack: memory at import, counted references, private names of NumPy and SciPy, the GIL.

Each program runs in a process of its own, in which that is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import dualtape as dt

STEP = """
x = dt.tensor([1.0, 2.0], requires_grad=True)
seen = []
y = x * 3
y.register_hook(seen.append)
z = (y * y).sum() + y.sum()
z.backward()
assert x.grad.tolist() == [21.0, 39.0], x.grad
(x / 0).log().sum().backward()
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit on memory is Linux's")
def test_import_goes_on_where_memory_is_short() -> None:
    run(
        """
import resource, sys
import numpy as np, threading, contextlib, heapq, weakref, itertools, linecache, warnings
held = []
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 24 * 2**20, resource.RLIM_INFINITY))
try:
    np.empty(2**25 - 2**16, np.uint8)
except MemoryError:
    pass
else:
    sys.exit("the limit does not bite")
import dualtape as dt
"""
        + STEP
    )


def test_the_block_at_import_can_be_left_out() -> None:
    program = """
import sys, numpy as np
asked, empty = [], np.empty
np.empty = lambda shape, *rest, **more: asked.append(shape) or empty(shape, *rest, **more)
import dualtape
print(max([n for n in asked if isinstance(n, int)], default=0) > 2**24)
"""
    assert run(program).stdout.split() == ["True"]
    assert run(program, DUALTAPE_MALLOC="0").stdout.split() == ["False"]


def test_without_reference_counts_gradients_are_copied() -> None:
    run(
        """
import sys
del sys.getrefcount
import numpy as np, dualtape as dt
"""
        + STEP
        + """
x = dt.ones(3, requires_grad=True)
given = dt.ones(3)
(x + 0).backward(given)
assert x.grad is not given and not np.shares_memory(x.grad.numpy(), given.numpy())
a, b = dt.ones(3, requires_grad=True), dt.ones(3, requires_grad=True)
seen = []
c = a * 2 + b
c.register_hook(seen.append)
c.sum().backward()
assert not any(np.shares_memory(t.grad.numpy(), seen[0].numpy()) for t in (a, b))
"""
    )


def test_without_private_names_of_numpy_and_scipy_the_results_are_the_same() -> None:
    run(
        """
import numpy as np, numpy._core.umath as umath, scipy.sparse._sparsetools as tools
del umath._extobj_contextvar, umath._make_extobj, tools.csr_matvecs, tools.csr_scale_rows
import warnings
warnings.simplefilter("error")
import dualtape as dt
from dualtape.arrays import fp_errors
from dualtape.arrays.kernels import updates
assert fp_errors.fp_errors is np.geterr
before = np.geterr()
assert dt.tensor([1.0, 0.0]).div(0).tolist()[0] == float("inf")
"""
        + STEP
        + """
assert np.geterr() == before
out, factors, rows = np.ones((2, 3)), np.array([2.0, 3.0]), np.arange(6.0).reshape(2, 3)
assert (updates.add_rows(out.copy(), factors, rows) == out + factors[:, None] * rows).all()
assert (updates.scale_rows(rows.copy(), factors) == rows * factors[:, None]).all()
"""
    )


def test_without_the_gil_a_warning_says_what_threads_may_share() -> None:
    program = "import sys, warnings; sys._is_gil_enabled = lambda: {}; warnings.simplefilter('error'); import dualtape"
    run(program.format(True))
    done = subprocess.run([sys.executable, "-c", program.format(False)], capture_output=True, text=True, timeout=60)
    assert "RuntimeWarning: dualtape relies on the GIL" in done.stderr


def test_nodes_of_one_sequence_number_can_be_ordered() -> None:
    x = dt.ones(2, requires_grad=True)
    parts = [(x * k).sin() for k in range(1, 5)]
    loss = sum(part.sum() for part in parts)
    for part in parts:
        part.grad_fn._seq = parts[0].grad_fn._seq
    loss.backward()
    assert x.grad.numpy() == pytest.approx(sum(k * dt.cos(dt.tensor(float(k))).item() for k in range(1, 5)), rel=1e-5)
    a, b = parts[0].grad_fn, parts[1].grad_fn
    assert (a < b) != (b < a) and not a < a
    with pytest.raises(TypeError):
        a < 3
