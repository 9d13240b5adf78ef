"""What importing the package loads, and what it loads later."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

import dualtape as dt
from dualtape import _lazy
from dualtape._tensor import creation, queries, shaped


def loaded(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(' '.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_loads_no_heavy_module() -> None:
    modules = loaded("import dualtape")
    assert not modules & {
        "scipy",
        "scipy.special",
        "cupy",
        "torch",
        "numpy.random",
        "dualtape.tour",
        "dualtape.nn",
        "dualtape.ops.families.linalg",
    }


def test_an_ordinary_program_loads_no_scipy() -> None:
    code = "import dualtape as dt\nx = dt.ones(3, 3, requires_grad=True)\n((x @ x).tanh().sum() + x[0].exp().mean()).backward()"
    assert "scipy" not in loaded(code)


@pytest.mark.parametrize("name", sorted({*_lazy._NAMES, *_lazy._MODULES}))
def test_every_name_that_loads_later_is_there_when_asked_for(name: str) -> None:
    assert getattr(dt, name) is not None


def test_every_public_name_of_the_modules_behind_the_package_is_in_it() -> None:
    for module in (creation, shaped, queries, dt.random):
        for name in set(module.__all__) - {"fork_rng"}:  # PyTorch has it in torch.random alone
            assert hasattr(dt, name), f"{module.__name__} has {name}, the package not"


def test_a_name_that_is_nowhere_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        dt.nothing_of_the_kind  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        dt.ones(1).nothing_of_the_kind  # noqa: B018


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cumsumm", "did you mean cumsum"),
        ("percentile", "dualtape.numpy.percentile is NumPy's, which takes tensors"),
        ("array", "PyTorch's name for NumPy's is tensor"),
        ("quantize_per_channel", "docs/left-out.md"),
    ],
)
def test_a_name_that_is_nowhere_is_met_with_what_is_near(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{words}"):
        getattr(dt, name)
    with pytest.raises(AttributeError, match="no attribute 'cumsumm'.*did you mean cumsum.*NumPy"):
        dt.numpy.cumsumm  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'solvee'.*did you mean solve"):
        dt.scipy.linalg.solvee  # noqa: B018


def test_a_member_of_numpys_arrays_says_what_tensors_have() -> None:
    x = dt.ones(1)
    for name, instead in (("copy", r"x\.clone\(\)"), ("flat", "flatten")):
        assert not hasattr(x, name) and name not in dir(x)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{instead}"):
            getattr(x, name)


def test_python_shows_what_is_near_a_name_that_a_tensor_has_not() -> None:
    code = "import dualtape as dt; dt.ones(1).cumsumm"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "'Tensor' object has no attribute 'cumsumm'. Did you mean: 'cumsum'?" in shown


def test_gradcheck_is_the_function_however_it_was_imported() -> None:
    setup = "import dualtape.autograd.gradcheck\nimport dualtape as dt\n"
    code = setup + "assert dt.autograd.gradcheck(lambda x: x * 2, dt.ones(1, dtype=dt.float64, requires_grad=True))"
    loaded(code)


def test_a_subclass_that_has_a_method_of_its_own_calls_the_one_that_is_read_later() -> None:
    code = """import dualtape as dt
class Mine(dt.Tensor):
    def cumsum(self, dim):
        return ("mine", super().cumsum(dim).tolist())
assert "dualtape.ops.families.cumulative" not in sys.modules
assert dt.ones(2).as_subclass(Mine).cumsum(0) == ("mine", [1.0, 2.0])"""
    assert "dualtape.ops.families.cumulative" in loaded(code)


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or any(name.startswith("MALLOC_") for name in os.environ),
    reason="glibc with its own limits",
)
def test_a_step_takes_its_large_blocks_from_the_heap_not_from_the_system() -> None:
    code = """
import resource
import dualtape as dt
def step():
    x = dt.full((1000, 1000), 0.5, requires_grad=True)
    (x * 2).tanh().sum().backward()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    step()
before = faults()
for _ in range(5):
    step()
print(faults() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1000  # an array has as many pages
