"""Results of compiled functions that are objects: dataclasses, sets, dictionaries with attributes, detached inputs."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape import nn


@dataclasses.dataclass
class Output:
    """A dataclass with a default, and an attribute that is no field."""

    loss: Any
    logits: Any = None
    made: int = dataclasses.field(default=0, init=False)

    def __post_init__(self) -> None:
        self.extra = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """A dataclass without a dictionary of attributes."""

    first: Any
    second: Any


@dataclasses.dataclass
class Mapping(OrderedDict):
    """A dataclass that is a dictionary of its fields, as model libraries return them."""

    loss: Any = None

    def __post_init__(self) -> None:
        self["loss"] = self.loss


WEIGHT = dt.arange(6.0).reshape(2, 3).requires_grad_()
GIVEN = Output(1, 2)
RESULTS: dict[str, Any] = {
    "a dataclass": lambda x: Output(x.sum(), x * 2),
    "in a list": lambda x: [Output(x.sum()), (Output(x), 3)],
    "nested": lambda x: Output(Output(x * 2), {"a": Output(x + 1), "b": [x]}),
    "frozen, with slots": lambda x: Frozen(x * 2, "name"),
    "a mapping": lambda x: Mapping(x.sum()),
    "a set": lambda x: {1.5, "a"},
    "a set of tensors": lambda x: frozenset([x * 2]),
    "the argument in it": lambda x: Output(x, x),
    "detached": lambda x: (WEIGHT.detach(), x * 2),
    "data": lambda x: (WEIGHT.data, x * 2),
}


def told(value: Any) -> Any:
    """Return what a result holds, as something to compare."""
    if isinstance(value, dt.Tensor):
        return str(value.dtype), value.tolist(), value.requires_grad
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, map(told, value)))
    if isinstance(value, dict):
        return type(value), [(k, told(v)) for k, v in value.items()], told(list(getattr(value, "__dict__", {}).items()))
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value)]
        return type(value), [told(getattr(value, n)) for n in names], told(getattr(value, "__dict__", {}))
    return type(value), [told(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", RESULTS)
def test_that_objects_are_made_anew_by_each_replay(name: str) -> None:
    function = RESULTS[name]
    compiled = dt.compile(function, fullgraph=True)
    known: list = []
    for k in range(3):
        x = dt.arange(3.0) + k
        result = compiled(x)
        assert told(result) == told(function(x))
        assert not any(result is other for other in known)
        known.append(result)


def test_that_gradients_pass_through_objects() -> None:
    compiled = dt.compile(lambda x: Output((x**2).sum(), {"more": x * 3}), fullgraph=True)
    for _ in range(3):
        x = dt.arange(3.0, requires_grad=True)
        out = compiled(x)
        (out.loss + out.logits["more"].sum()).backward()
        assert x.grad.tolist() == [3, 5, 7]


def test_that_detached_inputs_share_memory_and_counter() -> None:
    compiled = dt.compile(lambda: WEIGHT.detach(), fullgraph=True)
    for _ in range(3):
        before = WEIGHT._version
        result = compiled()
        result.add_(0)
        assert WEIGHT._version == before + 1
        assert np.shares_memory(result.numpy(), WEIGHT.detach().numpy())
    data = dt.compile(lambda: WEIGHT.data, fullgraph=True)
    for _ in range(3):
        before = WEIGHT._version
        data().add_(0)
        assert WEIGHT._version == before


def test_that_a_state_dict_can_be_returned() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    compiled = dt.compile(lambda x: (model(x), model.state_dict()), fullgraph=True)
    for _ in range(3):
        x = dt.randn(4, 3)
        _, state = compiled(x)
        assert told(state)[1] == told(model.state_dict())[1]
        assert state._metadata == model.state_dict()._metadata
        fresh = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        fresh.load_state_dict(state)


@pytest.mark.filterwarnings("ignore:compile")
def test_that_an_object_from_outside_is_returned_itself() -> None:
    def function(x: dt.Tensor) -> Any:
        GIVEN.loss = 1
        return GIVEN

    compiled = dt.compile(function)
    for _ in range(3):
        assert compiled(dt.ones(1)) is GIVEN
    given = dt.compile(lambda out, x: out)
    assert given(GIVEN, dt.ones(1)) is GIVEN and given(GIVEN, dt.ones(1)) is GIVEN
    twice = dt.compile(lambda x: [out := Output(x * 2), out])
    for _ in range(3):
        first, second = twice(dt.ones(1))
        assert first is second
