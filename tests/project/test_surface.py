"""What PyTorch has is here, or is listed with the reason why not."""

from __future__ import annotations

import pytest

from same_program import needs_torch
from tools import surface


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_every_name_of_pytorch_is_here_or_listed_and_nothing_is_listed_in_vain() -> None:
    wrong = {name: (found.missing, found.stale) for name, found in surface.surfaces() if found.missing or found.stale}
    assert not wrong


def test_the_list_is_read_as_it_is_written() -> None:
    listed = surface.left_out()
    assert listed["torch"]["sym_*"] == "symbolic shapes"
    assert all(reason for patterns in listed.values() for reason in patterns.values())
