"""``out=``: what a function gives is written there and nowhere else, or nothing is."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import arrays, cases, converted, first_samples, leaves


def takes_out(row: Any) -> bool:
    try:
        return "out" in inspect.signature(row.function).parameters
    except ValueError:
        return False


CASES = [case for case in first_samples(list(cases()), 2) if takes_out(case[1])]


def called(row: Any, sample: Any, grad: bool = False, **more: Any) -> Any:
    args, kwargs, inputs = arrays(sample, "complex128" if row.complex == "only" else "float64")
    known = {id(a): dt.tensor(a, requires_grad=True) for a in inputs if grad}
    convert = lambda a: known[id(a)] if id(a) in known else dt.tensor(a)
    dt.manual_seed(0)
    given = {k: converted(v, convert) for k, v in kwargs.items()}
    return row.function(*(converted(a, convert) for a in args), **given, **more)


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_out_has_the_result_and_is_what_comes_back(row: Any, sample: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*output with one or more elements was resized", UserWarning)
        wanted = called(row, sample)
        if not all(isinstance(t, dt.Tensor) for t in leaves(wanted)):
            return  # Python numbers
        for room in (lambda t: dt.full_like(t, 1), lambda t: dt.empty(0, dtype=t.dtype)):
            outs = [room(t) for t in leaves(wanted)]
            several = isinstance(wanted, (tuple, list))
            back = called(row, sample, out=tuple(outs) if several else outs[0])
            for mine, out, value in zip(leaves(back), outs, leaves(wanted), strict=True):
                assert mine is out and not out.requires_grad
                np.testing.assert_array_equal(out.numpy(), value.numpy())
    if any(t.requires_grad for t in leaves(called(row, sample, grad=True))):
        outs = [dt.full_like(t, 1) for t in leaves(wanted)]
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            called(row, sample, grad=True, out=tuple(outs) if several else outs[0])
        for out in outs:
            assert (out == 1).all()


def test_most_of_the_table_takes_out() -> None:
    assert len({case[1].name for case in CASES}) > 300


@pytest.mark.parametrize("name", ["avg_pool2d", "relu_"])
def test_a_function_without_out_says_so(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        getattr(dt.nn.functional, name)(dt.ones(1, 1, 2, 2), out=dt.ones(1))
