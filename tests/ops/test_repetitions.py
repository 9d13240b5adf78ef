"""``tile``, ``repeat`` and ``repeat_interleave`` with sizes whose product does not fit into 64 bits.

NumPy's own functions wrap around and write outside of what they allocated, so these programs run in a process of
their own: it ends by a signal if a check is missing.
"""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import dualtape as dt
from tests.op_cases import DEEP
from tests.same_program import needs_torch, outcome

PRELUDE = """
import itertools, random, sys
import numpy as np
import dualtape as dt
try:
    import resource
    pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + (1 << 30),) * 2)
except (ImportError, OSError):
    pass
LARGE = [2**31, 2**32 + 1, 2**61, 2**62, 2**62 + 1, 2**63 - 1]
"""
FEW = """
for make in (
    lambda: dt.ones(4, 1).tile((1, 2**62)), lambda: dt.ones(4, 1).repeat(1, 2**62), lambda: dt.ones(4).repeat(2**62 + 1),
    lambda: dt.ones(4, 2).tile((2**62, 2**62)), lambda: dt.ones(4, 1).repeat(2**32 + 1, 2**31),
    lambda: dt.ones(4).repeat_interleave(2**62), lambda: dt.ones(4).repeat_interleave(2**62 + 1),
    lambda: dt.ones(2, 4).repeat_interleave(2**62, dim=1), lambda: dt.repeat_interleave(dt.ones(4), 2**62 + 1),
    lambda: dt.ones(3).repeat_interleave(dt.tensor([2**63 - 1, 2**63 - 1, 4])),
    lambda: dt.repeat_interleave(dt.tensor([2**63 - 1, 2**63 - 1, 4])),
    lambda: np.repeat(dt.ones(4), 2**62 + 1), lambda: np.repeat(dt.ones(4, 2), 2**62, axis=0),
    lambda: np.repeat(dt.ones(3), [2**63 - 1, 2**63 - 1, 4]), lambda: np.tile(dt.ones(4, 1), (1, 2**62)),
    lambda: dt.vmap(lambda t: t.repeat(1, 2**62))(dt.ones(3, 4, 1)), lambda: dt.vmap(lambda t: t.tile(2**62 + 1))(dt.ones(3, 4)),
    lambda: dt.vmap(lambda t: t.repeat_interleave(2**62 + 1))(dt.ones(3, 4)),
    lambda: dt.compile(lambda t: t.repeat(1, 2**62))(dt.ones(4, 1)), lambda: dt.tile(dt.ones(4, 1, requires_grad=True), (1, 2**62)),
):
    try:
        result = make()
    except RuntimeError as error:
        assert "overflow" in str(error), error
    else:
        raise AssertionError(result.shape)
print("done")
"""
MANY = """
rng = random.Random(0)
for _ in range(ROUNDS):
    shape = [rng.choice([0, 1, 1, 2, 4]) for _ in range(rng.randrange(3))]
    counts = [rng.choice([0, 1, 2, *LARGE]) for _ in range(rng.randrange(len(shape), 4))]
    x = dt.ones(shape)
    whole = [1] * (len(counts) - len(shape)) + shape
    for make, want in (
        (lambda: x.repeat(counts), [n * c for n, c in zip(whole, counts)]),
        (lambda: x.tile(tuple(counts)), [n * c for n, c in zip(whole, counts)]),
        (lambda: np.tile(x, tuple(counts)), [n * c for n, c in zip(whole, counts)]),
        (lambda: x.repeat_interleave(counts[0]) if counts else x[None], [x.numel() * counts[0]] if counts else [1, *shape]),
        (lambda: np.repeat(x, counts[0]) if counts else x[None], [x.numel() * counts[0]] if counts else [1, *shape]),
        (lambda: x.reshape(-1).repeat_interleave(dt.tensor([(counts or [1])[k % max(len(counts), 1)] for k in range(x.numel())], dtype=dt.int64)),
         [sum((counts or [1])[k % max(len(counts), 1)] for k in range(x.numel()))]),
    ):
        try:
            result = make()
        except (RuntimeError, ValueError, MemoryError):
            assert max([*counts, 0]) > 2, (shape, counts)
        else:
            assert list(result.shape) == want and bool((result == 1).all()), (shape, counts)
print("done")
"""


@pytest.mark.parametrize("program", ["FEW", "MANY"])
def test_repetitions_that_overflow_are_refused_before_they_are_written(program):
    text = f"{PRELUDE}\nROUNDS = {5000 if DEEP else 300}\n{globals()[program]}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "done" in done.stdout, (done.returncode, done.stderr[-2000:])


@needs_torch
@pytest.mark.parametrize(
    "call",
    [
        "x.repeat(1, 2**62)",
        "x.tile((2**62, 2**62))",
        "x.repeat(-1)",
        "x.repeat(2**70)",
        "x.repeat_interleave(-1)",
        "x.repeat_interleave(2**62)",
    ],
)
def test_repetitions_are_refused_with_the_error_of_pytorch(call):
    import torch

    ours, theirs = (outcome(f"x = torch.ones(4)\n{call}", library) for library in (dt, torch))
    assert type(ours.error) is type(theirs.error), (ours, theirs)


def test_repetitions_within_bounds_are_what_numpy_says():
    for shape, counts in itertools.product([(), (2,), (2, 1), (0, 3)], [(1, 2), (3, 1), (0, 2), (2, 1, 2)]):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        assert np.array_equal(dt.tensor(x).repeat(counts).numpy(), np.tile(x, counts))
        assert np.array_equal(np.tile(dt.tensor(x), counts).numpy(), np.tile(x, counts))
        assert np.array_equal(np.repeat(dt.tensor(x), counts[0]).numpy(), np.repeat(x, counts[0]))


@needs_torch
def test_repetitions_that_wrap_around_in_pytorch_are_refused():
    import torch

    assert isinstance(torch.ones(4).repeat(2**62 + 1), torch.Tensor)
    with pytest.raises(RuntimeError, match="overflow"):
        dt.ones(4).repeat(2**62 + 1)
    assert torch.ones(4, 1).repeat(2**62, 0).numel() == 0
    with pytest.raises(RuntimeError, match="overflow"):
        dt.ones(4, 1).repeat(2**62, 0)
