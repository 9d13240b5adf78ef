"""Integers of NumPy's as arguments of every op: they are numbers, whatever their width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import arrays, cases, converted, first_samples, leaves
from outcomes import same_outcome

pytestmark = pytest.mark.filterwarnings("ignore")


def narrowed(value: Any) -> Any:
    """``value`` with its integers as the narrowest of NumPy's that hold them."""
    if type(value) is int and -128 <= value < 256:
        return np.int8(value) if value < 128 else np.uint8(value)
    if type(value) in (list, tuple):
        return type(value)(narrowed(item) for item in value)
    return value


def integers(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(integers(item) for item in value)
    return type(value) is int


CASES = [
    case
    for case in cases()
    if case[1].torch_name != "-" and (integers(case[2].args) or integers(tuple(case[2].kwargs.values())))
]
CASES = first_samples(CASES, 4)


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_narrow_integers_are_numbers(row: Any, sample: Any) -> None:
    def computed(change: Any) -> list:
        dt.manual_seed(0)
        args, kwargs, _ = arrays(sample, "complex128" if row.complex == "only" else "float64")
        convert = lambda a: dt.tensor(a.copy())
        return leaves(
            row.function(
                *(change(converted(a, convert)) for a in args),
                **{k: change(converted(v, convert)) for k, v in kwargs.items()},
            )
        )

    for a, b in zip(computed(narrowed), computed(lambda value: value), strict=True):
        if isinstance(b, dt.Tensor):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(
                a.detach().resolve_conj().numpy(), b.detach().resolve_conj().numpy(), rtol=1e-14, equal_nan=True
            )
        else:
            assert a == b


KEYS = {
    "an entry": lambda m, x: x[np.uint8(200)],
    "a row": lambda m, x: x.reshape(3, 100)[np.uint8(2), 1],
    "a write": lambda m, x: x.__setitem__(np.uint8(200), -1.0) or x,
    "a slice": lambda m, x: x[np.uint8(200) : np.uint8(250)],
    "narrow": lambda m, x: x.narrow(0, np.uint8(200), np.uint8(99)),
    "narrow from the end": lambda m, x: x.narrow(0, np.int8(-100), np.int8(100)),
    "select": lambda m, x: x.select(0, np.uint8(255)),
    "roll": lambda m, x: x.roll(np.uint8(200)),
    "reshape": lambda m, x: x.reshape(np.int64(-1)),
    "split": lambda m, x: x.split(int(np.uint8(200))),
    "repeat": lambda m, x: x.repeat(np.int8(2)),
    "exponent": lambda m, x: m.tensor([3, 2], dtype=m.int8) ** 258,
    "exponent of bytes": lambda m, x: m.pow(m.tensor([3, 2], dtype=m.uint8), 300),
    "exponent that fits": lambda m, x: m.tensor([3, 2], dtype=m.int8) ** 5,
    "negative factor of bytes": lambda m, x: m.addcmul(*[m.tensor([3, 2], dtype=m.uint8)] * 3, value=-1),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_and_options(name: str) -> None:
    same_outcome(lambda m: KEYS[name](m, m.arange(300.0)))
