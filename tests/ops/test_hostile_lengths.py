"""Sizes that no memory has a place for: each op refuses them at once, as PyTorch does, with a RuntimeError."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")  # where memory can be limited

SIZES = (2**33, 2**40, 2**62, 2**63 - 1)
GROWING = """
x.repeat(h, 1)  x.tile(h, 1, 1)  x.repeat_interleave(h)  x.repeat_interleave(h, 0)  L.repeat_interleave(L.tensor([h]))
x.new_zeros(h)  x.new_empty(h)  x.new_full((h,), 1.0)  x.clone().resize_(h)  L.empty_strided((h,), (1,))
L.zeros(h)  L.zeros(2, h)  L.zeros(h, h)  L.ones(h)  L.empty(h)  L.full((h,), 1.0)  L.rand(h)  L.randn(h)  L.randperm(h)
L.randint(0, 2, (h,))  L.eye(h)  L.eye(1, h)  L.arange(h)  L.arange(0, h, 1)  L.arange(0.0, float(h))  L.linspace(0, 1, h)
L.logspace(0, 1, h)  L.tril_indices(h, h)  L.triu_indices(2, h)  L.hann_window(h)  L.bartlett_window(h)  L.fft.fftfreq(h)
F.one_hot(i, h)  F.one_hot(L.tensor([h]))  F.pad(x, (h, 0))  F.pad(x, (0, h))  F.pad(x[None], (h, 0), mode='replicate')
L.fft.fft(x, h)  L.fft.rfft(x, h)  i.bincount(minlength=h)  L.tensor([h]).bincount()  x.histc(h)  L.vander(x[0], h)
F.adaptive_avg_pool1d(x, h)  F.adaptive_max_pool1d(x, h)  L.ones(3).multinomial(h, True)  x.tensor_split(h)
F.conv1d(x[None], L.ones(1, 3, 2), padding=h)  x.as_strided((h,), (1,))  x.as_strided((2,), (h,))  x.as_strided((2,), (1,), h)
x.expand(h)  x.view(h)  x.reshape(h)  x.view(-h)  x.view(2, -h)  x.reshape(-h)  x.unfold(0, h, 1)  x.narrow(0, 0, h)  x.split([h, 1])
L.combinations(L.ones(200), 100)  L.combinations(L.ones(200), 100, True)  L.mvlgamma(L.full((64,), 9.0), h)
""".replace("\n", "  ")
EXPRESSIONS = [each for each in GROWING.split("  ") if each]
PROGRAM = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
import dualtape as L
F = L.nn.functional
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
found = {}
for each in json.loads(sys.argv[1]):
    for h in json.loads(sys.argv[2]):
        x, i, begun = L.arange(12.0).reshape(3, 4), L.tensor([0, 1, 2]), time.monotonic()
        try:
            came = "a result of shape %s" % (getattr(eval(each), "shape", None),)
        except (RuntimeError, IndexError) as error:
            came = ""
        except Exception as error:
            came = repr(error)
        if time.monotonic() - begun > 2:
            came = "slow " + came
        if came:
            found["%s, h = %d" % (each, h)] = came
print(json.dumps(found))
"""


def test_sizes_beyond_all_memory_are_refused_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(EXPRESSIONS), json.dumps(SIZES)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found, "\n".join(f"{case}: {came}" for case, came in found.items())
