"""Settings and questions about the machine: what they answer, take and refuse."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, same

PROGRAMS = """
torch.use_deterministic_algorithms(True, warn_only=True); r = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), torch.get_deterministic_debug_mode(); torch.use_deterministic_algorithms(False); r, torch.get_deterministic_debug_mode()
torch.set_deterministic_debug_mode("error"); r = torch.get_deterministic_debug_mode(), torch.are_deterministic_algorithms_enabled(); torch.set_deterministic_debug_mode(0); r
torch.set_deterministic_debug_mode("x")
torch.set_deterministic_debug_mode(7)
torch.set_float32_matmul_precision("medium"); r = torch.get_float32_matmul_precision(); torch.set_float32_matmul_precision("highest"); r
torch.is_warn_always_enabled(), torch.set_warn_always(True), torch.is_warn_always_enabled(), torch.set_warn_always(False)
torch.get_device(torch.ones(1)), str(torch.get_default_device()), torch.set_default_device("cpu"), torch.set_default_device(None)
torch.set_default_tensor_type(torch.DoubleTensor); r = torch.ones(1).dtype; torch.set_default_tensor_type("torch.FloatTensor"); r, torch.ones(1).dtype
torch.set_default_tensor_type(torch.LongTensor)
torch.typename(3), torch.typename([]), torch.typename(torch.ones(1)).rpartition(".")[2]
torch.set_num_threads(0)
torch.set_num_interop_threads(0)
torch.set_anomaly_enabled(True); r = torch.is_anomaly_enabled(); torch.set_anomaly_enabled(False); r, torch.is_anomaly_enabled()
torch.norm_except_dim(torch.arange(6.0).reshape(2, 3), 2, 1), torch.frobenius_norm(torch.ones(2, 2), (0, 1)), torch.nuclear_norm(torch.eye(2), True)
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_settings_are_pytorchs(program: str) -> None:
    same(program)


def test_what_cannot_be_set_says_so() -> None:
    assert dt.get_num_threads() >= 1 and dt.get_num_interop_threads() == 1
    assert dt.set_flush_denormal(True) is False
    with pytest.warns(UserWarning, match="no effect"):
        dt.set_num_interop_threads(2)
