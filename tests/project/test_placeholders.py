"""What dualtape does not have of PyTorch may be imported through the doorway, and raises where it is used."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import typing

import pytest

from dualtape import _placeholders
from dualtape._placeholders import LeftOutError, placeholder
from same_program import needs_torch
from tools import torch_names


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_and_name_of_pytorchs_can_be_imported() -> None:
    told = run(
        """
        import importlib, sys
        import dualtape.as_torch
        dualtape.as_torch.install()
        from dualtape import _placeholders
        count = 0
        for module, names in _placeholders._modules().items():
            if module.endswith(":"):  # the constants of a class
                continue
            found = importlib.import_module(module)
            for name in names.split():
                getattr(found, name.rstrip("!"))
                count += 1
        print(count)
        """
    )
    assert int(told) > 50_000


def test_imports_of_parts_that_are_not_here_do_not_stop_a_program() -> None:
    run(
        """
        import dualtape.as_torch as door
        door.install()
        import torch, torch._inductor.config
        from torch.ao.quantization import QConfig
        from torch.package import PackageExporter
        assert not isinstance(3, QConfig) and not isinstance(3, (str, QConfig)) and not issubclass(int, QConfig)
        assert torch.xpu.is_available() is False and torch.xpu.device_count() == 0
        assert torch.torch is torch and torch.__name__ == "torch"
        assert hasattr(torch._inductor, "compile_fx") and not hasattr(torch._inductor, "no_such_name")
        try:
            raise ValueError
        except torch._inductor.exc.InductorError:
            raise AssertionError
        except ValueError:
            pass
        try:
            import torch.no_such_module
        except ModuleNotFoundError:
            pass
        else:
            raise AssertionError
        try:
            QConfig(1, 2)
        except NotImplementedError as error:
            assert "torch.ao.quantization.QConfig was called, which dualtape does not have (quantised networks)" in str(error)
        else:
            raise AssertionError
        told = door.report()
        assert "torch.ao.quantization.QConfig" in told.partition("used, which raised")[2] and "PackageExporter" in told
        """
    )


def test_placeholders_stand_in_annotations() -> None:
    kind = placeholder("torch.package.PackageExporter")
    assert typing.get_args(typing.Union[kind, None]) == (kind, type(None))  # noqa: UP007
    assert typing.get_args(kind | None) == (kind, type(None)) and typing.get_args(None | kind)
    assert kind[int] is kind and repr(kind) == "<left out: torch.package.PackageExporter>"
    assert pickle.loads(pickle.dumps(kind)).__qualname__ == "PackageExporter"


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda kind: kind(), "was called"),
        (lambda kind: kind.method(), "was asked for 'method'"),
        (lambda kind: _derived(kind), "was made the base of a class"),
    ],
)
def test_every_use_of_a_placeholder_says_what_is_left_out_and_why(use, what: str) -> None:
    kind = placeholder("torch.package.PackageExporter")
    with pytest.raises(LeftOutError, match=f"torch.package.PackageExporter {what}.*PyTorch's own format") as info:
        use(kind)
    assert isinstance(info.value, NotImplementedError) and isinstance(info.value, AttributeError)
    assert not hasattr(kind, "method")


def _derived(kind: typing.Any) -> type:
    class Mine(kind):
        pass

    return Mine


def test_what_pytorch_does_not_have_is_not_there_either() -> None:
    assert placeholder("torch.package.NoSuchName") is None
    assert not _placeholders.is_module("torch.no_such_module")


def test_left_out_modules_have_reasons() -> None:
    without = sorted(
        {
            module
            for module in _placeholders._modules()
            if module.count(".") == 1 and _placeholders.is_module(module) and not _placeholders.reason(module)
        }
    )
    here = {
        "accelerator amp autograd backends compiler cpu cuda distributed distributions func functional futures fx jit",
        "library linalg multiprocessing nested nn ops optim overrides profiler quasirandom random return_types",
        "serialization signal sparse special storage testing torch_version types utils version fft __config__",
        "__future__",
    }
    assert {module.partition(".")[2] for module in without} <= set(" ".join(here).split())


@needs_torch
@pytest.mark.filterwarnings("ignore")
def test_the_list_of_names_is_of_this_pytorch() -> None:
    import torch

    for module in (torch.nn, torch.fx, torch._C, torch.distributed):
        listed = set(_placeholders.left_out_names(module.__name__))
        here = {name for name, _ in torch_names._loaded(module) if not name.startswith("__")}
        assert len(here - listed) <= 0.02 * len(here), sorted(here - listed)
