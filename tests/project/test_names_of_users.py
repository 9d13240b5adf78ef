"""Classes that users derive from have no attributes beside PyTorch's whose names a user's class could use."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from same_program import needs_torch

SPACES = ("nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions", "utils.data", "autograd")
# A tensor's own memory and history (docs/architecture.md), what NumPy and notebooks call, and instance attributes that
# PyTorch's objects have too.
KNOWN = set(
    """
    _array _edge _extra _grad_accumulator _more _one_number _repr_html_ _requires_grad _shared_counter _version_counter
    _view _param _params _values _flat_weights _flat_weights_names _initialized _iterator _is_protocol _abc_impl
    """.split()
)


def classes() -> list[Any]:
    found = []
    for space in SPACES:
        ours = importlib.import_module(f"dualtape.{space}")
        found += [pytest.param(space, name, id=f"{space}.{name}") for name in sorted(dir(ours)) if name[0].isupper()]
    return found


@needs_torch
@pytest.mark.parametrize(("space", "name"), classes())
def test_a_class_has_no_private_names_that_could_be_a_users(space: str, name: str) -> None:
    ours, theirs = (getattr(importlib.import_module(f"{root}.{space}"), name, None) for root in ("dualtape", "torch"))
    if not isinstance(ours, type) or not isinstance(theirs, type):
        pytest.skip("PyTorch has no class of that name")
    extra = {each for each in set(dir(ours)) - set(dir(theirs)) if each.startswith("_") and not each.startswith("__")}
    assert {each for each in extra - KNOWN if not each.startswith("_dt_")} == set()


def test_a_users_module_may_have_attributes_of_any_ordinary_name() -> None:
    import dualtape as dt
    from dualtape import nn

    class Mine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self._persistent = self._overrides = self._load_one = self._forget = self._below = "mine"
            self.register_buffer("scale", dt.ones(1))

        def _check_name(self, *args: object) -> str:
            return "mine"

        _knows = _set_full = _assign_buffer = _replace_parameter = _check_name

    found = Mine()
    found.load_state_dict(Mine().state_dict())
    found.double().layer = nn.Linear(2, 2).double()
    assert list(found.state_dict()) == ["scale", "layer.weight", "layer.bias"] and found._forget == "mine"
