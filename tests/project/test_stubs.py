"""What editors and type checkers read: the stubs are current, know what is there, and refuse what is not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dualtape as dt

ROOT = Path(__file__).parents[2]
PROGRAM = """
import dualtape as dt
import dualtape.nn.functional as F

x = dt.ones(3, requires_grad=True)
reveal_type(x.tanh())  # Tensor
reveal_type(dt.mul(x, 2))  # Tensor
reveal_type((2 * x + x @ x)[0])  # Tensor
reveal_type(x == x)  # Tensor
reveal_type(x.grad)  # Tensor | None
reveal_type(x.shape)  # Size
reveal_type(dt.sort(x).indices)  # Tensor
reveal_type(F.relu(x.expand(2, 3)).add_(1))  # Tensor
reveal_type(dt.linalg.svd(x).Vh)  # Tensor
reveal_type(dt.fft.rfft(x))  # Tensor
reveal_type(x.split(2))  # tuple[Tensor, ...]
reveal_type(dt.optim.SGD([x], lr=0.1))  # SGD
reveal_type(dt.randn(2))  # Tensor
reveal_type(dt.float32)  # dtype
reveal_type(dt.nn.Linear(2, 3))  # Linear
reveal_type(dt.nn.modules.GRU(2, 3))  # GRU
reveal_type(dt.nn.Linear(2, 3).weight)  # Parameter
reveal_type(dt.nn.DataParallel(dt.nn.ReLU()))  # DataParallel
reveal_type(dt.optim.Adam([x]))  # Adam
reveal_type(dt.optim.swa_utils.SWALR(dt.optim.Adam([x]), 0.1))  # SWALR
reveal_type(dt.utils.data.TensorDataset(x))  # TensorDataset
class Net(dt.nn.Module):
    scale: dt.Tensor
    def __init__(self) -> None:
        super().__init__()
        self.layer = dt.nn.Linear(2, 3)
        self.register_buffer("scale", dt.ones(3))
    def forward(self, x: dt.Tensor) -> tuple[dt.Tensor, int]:
        return self.layer(x) * self.scale, 3
def square(x: dt.Tensor, power: int = 2) -> dt.Tensor:
    return (x**power).sum()
net = Net()
reveal_type(net(x))  # tuple[Tensor, int]
reveal_type(dt.nn.Linear(2, 3)(x))  # Tensor
reveal_type(dt.compile(net))  # program.Net
reveal_type(dt.compile(square)(x, 3))  # Tensor
reveal_type(dt.compile(fullgraph=True)(square)(x))  # Tensor
reveal_type(dt.vmap(square)(x))  # Tensor
reveal_type(dt.func.value_and_grad(square)(x, power=3))  # tuple[Any, Any]
reveal_type(dt.func.grad(dt.func.grad(lambda v: v**3))(x))  # Any
reveal_type(dt.vmap(dt.func.grad(lambda v: v.sum()))(x))  # Any
reveal_type(x.sum())  # Tensor
reveal_type(x.shape[0])  # int
for batch in dt.utils.data.DataLoader(dt.utils.data.TensorDataset(x), batch_size=2, shuffle=True):
    reveal_type(batch)  # list[Tensor]
def described(samples: list) -> str:
    return str(samples)
for name in dt.utils.data.DataLoader(dt.utils.data.TensorDataset(x), collate_fn=described):
    reveal_type(name)  # str
net.layer.wieght  # error
net.sclae  # error
net(x, x)  # error
dt.func.grad(square)(x, pow=3)  # error
dt.compile(square)(x, pow=3)  # error
dt.nn.Linearr(2, 3)  # error
dt.nn.Linear(2, 3, bia=True)  # error
dt.optim.Adamm([x])  # error
x.tanhh()  # error
dt.func.gradd(x)  # error
dt.mull(x, 2)  # error
F.reluu(x)  # error
dt.linalg.svdd(x)  # error
x.tanh(1)  # error
"""


def wrong(output: str) -> list[str]:
    """The lines of the program of which the checker says something else than they say themselves."""
    said = {int(n): text for n, text in reversed(re.findall(r"program\.py:(\d+)\b(.*)", output))}  # notes come after
    found = []
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        code, _, expected = line.partition("  # ")
        heard = said.get(number, "nothing")
        kind = re.sub(r"\bdualtape\.[\w.]*\.", "", heard.rpartition('is "')[2].rstrip('"'))
        if expected and ("error" not in heard if expected == "error" else kind != expected):
            found.append(f"{code}: expected {expected}, got {heard}")
    return found


def test_stubs_are_what_the_op_table_says() -> None:
    done = subprocess.run([sys.executable, "-m", "tools.stubs", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr[-500:]


def test_every_public_function_is_in_the_stub() -> None:
    text = (ROOT / "src" / "dualtape" / "__init__.pyi").read_text()
    missing = [
        name
        for name in dir(dt)
        if not name.startswith("_")
        and not isinstance(getattr(dt, name), ModuleType)
        and f" {name}(" not in text
        and f"as {name}\n" not in text
        and f"\n{name}:" not in text
    ]
    assert not missing


def mypy(program: Path, folder: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", f"--cache-dir={folder}", "--no-color-output"]
    return subprocess.run(
        [*command, "--config-file=", str(program)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": "/usr/bin"},
    ).stdout


def pyright(program: Path, folder: Path) -> str:
    command = shutil.which("pyright", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if command is None:
        pytest.skip("pyright is not installed")
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")], "include": ["*.py"]}))
    command_line = [command, "--pythonpath", sys.executable, program.name]
    return subprocess.run(command_line, cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_know_tensors_and_refuse_wrong_names(checker, tmp_path: Path) -> None:
    if checker is mypy:
        pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = checker(program, tmp_path)
    assert not wrong(said), said[-3000:]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_find_nothing_wrong_in_a_users_program(checker, tmp_path: Path) -> None:
    if checker is mypy:
        pytest.importorskip("mypy")
    shutil.copy(ROOT / "tests" / "typed_program.py", tmp_path / "typed_program.py")
    said = checker(tmp_path / "typed_program.py", tmp_path)
    assert re.search(r"^(Success|0 errors)", said, re.M), said[-3000:]
