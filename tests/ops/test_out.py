"""``out=``: what a function gives is written there and nowhere else, or nothing is."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.ops.table import COMPOSITES
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


@pytest.mark.parametrize("name", ["max_pool2d", "relu_"])
def test_a_function_without_out_says_so(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        getattr(dt.nn.functional, name)(dt.ones(1, 1, 2, 2), out=dt.ones(1))


NEW = [
    (dt.zeros, (3,)),
    (dt.ones, (3,)),
    (dt.empty, (3,)),
    (dt.full, ((3,), 2)),
    (dt.arange, (0, 0.3, 0.1)),
    (dt.linspace, (0, 1, 3)),
    (dt.logspace, (0, 1, 3)),
    (dt.eye, (3, 1)),
    (dt.rand, (3,)),
    (dt.randn, (3,)),
    (dt.randint, (5, (3,))),
    (dt.randperm, (3,)),
    (dt.normal, (0.0, 1.0, (3,))),
]


@pytest.mark.parametrize(("function", "args"), NEW, ids=[f.__name__ for f, _ in NEW])
def test_a_new_tensor_is_made_in_the_dtype_of_out_or_refused(function: Any, args: tuple) -> None:
    dt.manual_seed(0)
    wanted = function(*args, dtype=dt.float64)
    for room in (dt.empty(0, dtype=dt.float64), dt.full_like(wanted, 7)):
        dt.manual_seed(0)
        version = room._version
        assert function(*args, out=room) is room and room.dtype == dt.float64 and room._version == version + 1
        if function is not dt.empty:
            np.testing.assert_array_equal(room.numpy(), wanted.numpy())
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        function(*args, out=room, dtype=dt.float32)
    with pytest.raises(TypeError, match="'out' must be Tensor, not int"):
        function(*args, out=3)
    leaf = dt.full((3,), 7.0, requires_grad=True)
    for out in (leaf, leaf * 1):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            function(*args, out=out)
        assert (out == 7).all() and out._version == 0
    with dt.no_grad():
        assert function(*args, out=leaf) is leaf and leaf.requires_grad
    assert function(*args, out=dt.ones(3), requires_grad=True).requires_grad


def test_multinomial_draws_into_whole_numbers_alone() -> None:
    out = dt.empty(0, dtype=dt.int64)
    assert dt.multinomial(dt.tensor([0.0, 1.0]), 2, True, out=out) is out
    assert out.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        dt.multinomial(dt.ones(2), 1, out=dt.ones(1))


def test_what_is_given_out_is_a_function_made_of_others() -> None:
    from dualtape.ops.publish import _TAKING_OUT

    for name in sorted(_TAKING_OUT):
        assert "out" in inspect.signature(COMPOSITES[name].function).parameters, name
