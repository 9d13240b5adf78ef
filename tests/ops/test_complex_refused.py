"""What has no meaning for complex numbers is refused, as PyTorch refuses it, by functions, methods and operators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.ops.table import TABLE
from op_cases import cases, mapped

PROGRAMS = """x < x; x >= x; x.max(); x.min(0); x.argmax(); x.sort(); x.topk(1); x.median(); x.clamp(min=0); x.clamp_(0)
x.amax(); x.cummax(0); torch.maximum(x, x); torch.fmin(x, x); x.round(); x.floor(); x.sign(); x.relu(); x.erf(); x.unique()
torch.searchsorted(x, x); torch.bucketize(x, x); x.fmod(x); x // x; x.atan2(x); x.xlogy(x); x.lgamma(); x.quantile(0.5)
torch.complex(x, x); torch.polar(x, x); x.exponential_(); x.bernoulli(); x.gt_(x); x.lt(2.0); 2.0 > x
torch.nn.functional.gelu(x); torch.nn.functional.elu(x); torch.nn.functional.leaky_relu(x)
torch.nn.functional.hardtanh(x); torch.nn.functional.mse_loss(x, x); torch.nn.functional.layer_norm(x, (3,))"""
STATEMENTS = [line.strip() for part in PROGRAMS.splitlines() for line in part.split(";")]


@pytest.mark.parametrize("program", STATEMENTS)
@pytest.mark.parametrize("history", [False, True])
def test_it_is_refused_here_and_there(program: str, history: bool) -> None:
    torch = pytest.importorskip("torch")
    for library in (torch, dt):
        x = library.tensor(np.array([1 + 2j, 3 - 1j, 0j]), requires_grad=history)
        with pytest.raises((RuntimeError, TypeError)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(program, {"torch": library, "x": x * 1 if history else x})


REAL = [(row, sample) for _, row, sample in cases() if row.name in TABLE and row.complex is False]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_every_op_that_takes_real_numbers_alone_says_so(part: int) -> None:
    for row, sample in REAL[part::4]:
        rng = np.random.default_rng(0)
        found = []

        def tensor(described: Any, rng: Any = rng, found: list = found) -> dt.Tensor:
            array = described.make(rng, "float64")
            if array.dtype.kind == "f":
                found.append(array)
                array = array + 0.5j * array
            return dt.tensor(array)

        args = tuple(mapped(a, tensor) for a in sample.args)
        kwargs = {k: mapped(v, tensor) for k, v in sample.kwargs.items()}
        if found:
            with pytest.raises((RuntimeError, TypeError, ValueError)):
                row.function(*args, **kwargs)
                pytest.fail(f"{row.name} computes {sample} with complex numbers")
