"""Each public name of SciPy's has a version for tensors, or is listed with the reason why not."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from dualtape.scipy._left_out import LEFT_OUT, reason_of


def public(module: str) -> set[str]:
    theirs = import_module(f"scipy.{module}")
    names = getattr(theirs, "__all__", None) or dir(theirs)
    return {name for name in names if not name.startswith("_") and name != "test"}


@pytest.mark.parametrize("module", LEFT_OUT)
def test_each_public_name_of_scipys_takes_tensors_or_is_listed_with_a_reason(module: str) -> None:
    ours = set(import_module(f"dualtape.scipy.{module}").__all__)
    unknown = sorted(name for name in public(module) - ours if reason_of(module, name) is None)
    assert not unknown, f"scipy.{module} has names that are neither here nor in _left_out.py: {unknown}"


@pytest.mark.parametrize("module", LEFT_OUT)
def test_what_is_listed_is_not_there_and_is_listed_once(module: str) -> None:
    listed = [name for names in LEFT_OUT[module].values() for name in names.split()]
    assert len(listed) == len(set(listed)), sorted({name for name in listed if listed.count(name) > 1})
    ours = set(import_module(f"dualtape.scipy.{module}").__all__)
    assert not set(listed) & ours


@pytest.mark.parametrize("module", LEFT_OUT)
def test_names_that_are_promised_are_there_and_dir_lists_ours_and_scipys(module: str) -> None:
    ours = import_module(f"dualtape.scipy.{module}")
    for name in ours.__all__:
        assert getattr(ours, name) is not None
    assert set(ours.__all__) <= set(dir(ours)) and public(module) <= set(dir(ours))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(public(module)):
            assert hasattr(ours, name), name


def test_no_module_of_scipys_is_imported_before_a_function_is_called() -> None:
    modules = ", ".join(f"dt.scipy.{name}" for name in LEFT_OUT if name not in ("stats",))
    program = f"import sys, dualtape as dt, dualtape.scipy; {modules}; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
