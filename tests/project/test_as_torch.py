"""The doorway: programs written for PyTorch find dualtape, and are told what is not there."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run(tmp_path, program, *arguments, options=(), ok=True):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "dualtape.as_torch", *options, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode == 0) == ok, done.stderr
    return done


def test_a_program_finds_dualtape_under_every_name(tmp_path):
    done = run(
        tmp_path,
        """
        import importlib.metadata
        import sys
        import functorch
        import torch
        import torch.nn.functional as F
        import torch.utils.checkpoint
        from torch import Tensor, nn
        from torch._vmap_internals import vmap
        from torch.autograd import Function, Variable
        from torch.func import grad
        import dualtape

        x = torch.ones(2, requires_grad=True)
        F.silu(x).sum().backward()
        assert isinstance(x, Tensor) and x.grad is not None and Tensor is dualtape.Tensor
        assert functorch.vmap is dualtape.func.vmap and grad is dualtape.func.grad and vmap is not None
        assert torch.nn is nn and torch.nn.functional is F and torch.sin is dualtape.sin
        assert importlib.metadata.version("torch") == torch.__version__ == "2.13.0"
        assert torch.cuda.is_available() in (True, False) and torch.version.hip is None
        assert __name__ == "__main__" and sys.argv[1:] == ["--a", "b"]
        assert str(x.dtype) == "torch.float32" and repr(x.shape) == "torch.Size([2])" and x.type() == "torch.FloatTensor"
        assert Tensor.__module__ == "torch" and repr(torch.strided) == "torch.strided"
        print("fine")
        """,
        "--a",
        "b",
    )
    assert done.stdout == "fine\n" and done.stderr == ""


def test_what_is_set_on_a_door_is_set_behind_it(tmp_path):
    run(
        tmp_path,
        """
        import dualtape
        import torch
        torch.backends.cudnn.benchmark = True
        assert dualtape.backends.cudnn.benchmark is True
        real, torch.sin = torch.sin, torch.cos
        assert dualtape.sin is dualtape.cos
        torch.sin = real
        torch.nn.functional.mine = 3
        assert dualtape.nn.functional.mine == 3
        del torch.nn.functional.mine
        assert not hasattr(dualtape.nn.functional, "mine") and not hasattr(torch.nn.functional, "mine")
        assert "sin" in dir(torch) and "relu" in dir(torch.nn.functional)
        """,
    )


def test_what_is_not_there_is_reported_if_asked(tmp_path):
    program = """
        import torch
        hasattr(torch, "no_such_name"), hasattr(torch.nn, "NoSuchLayer"), hasattr(torch.nn, "NoSuchLayer")
        try:
            import torch.no_such_module
        except ImportError:
            pass
        """
    done = run(tmp_path, program, options=("--report",))
    lines = done.stderr.splitlines()
    assert lines[0].startswith("asked for") and lines[1].split() == ["2", "torch.nn.NoSuchLayer"]
    assert {line.split()[1] for line in lines[2:]} == {"torch.no_such_name", "torch.no_such_module"}
    assert run(tmp_path, program).stderr == ""
    assert "every name" in run(tmp_path, "import torch", options=("--report",)).stderr


def test_a_report_comes_also_where_the_program_fails(tmp_path):
    done = run(tmp_path, "import torch\ntorch.no_such_name", options=("--report",), ok=False)
    assert "AttributeError" in done.stderr and "1  torch.no_such_name" in done.stderr


def test_a_module_is_run_by_its_name(tmp_path):
    (tmp_path / "program.py").write_text("import sys, torch\nprint(torch.ones(1).item(), sys.argv[1:])")
    command = [sys.executable, "-m", "dualtape.as_torch", "-m", "program", "x"]
    assert subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout == "1.0 ['x']\n"


def test_a_script_that_is_not_there_is_named(tmp_path):
    command = [sys.executable, "-m", "dualtape.as_torch", "nothing.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "nothing.py" in done.stderr


def test_pytorch_itself_is_not_pushed_aside(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '2.0'")
    program = (
        "import torch, dualtape.as_torch as door\ntry:\n    door.install()\nexcept RuntimeError as e:\n    print(e)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert "PyTorch 2.0 is loaded already" in done.stdout, done.stderr


def test_the_doors_can_be_taken_away(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = 'other'")
    program = """
        import dualtape.as_torch as door
        door.install(); door.install()
        import torch, torch.nn
        assert torch.__version__ == "2.13.0"
        door.uninstall()
        import dualtape
        assert str(dualtape.float32) == "dualtape.float32" and dualtape.Tensor.__module__.startswith("dualtape")
        import torch
        print(torch.__version__)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout == "other\n", done.stderr
