"""``python -m tools.hips_examples``: run the example programs of HIPS autograd with only their import lines changed.

They are fetched from the package index into a folder that is removed again. Pictures are not drawn. Where autograd
itself is installed, a program runs with it too, and what both print is compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib.util import find_spec
from pathlib import Path

RELEASE = "autograd==1.9.1"
EXAMPLES = """
    tanh sinusoid rosenbrock logistic_regression negative_binomial_maxlike define_gradient fixed_points gmm ica
    neural_net_regression gaussian_process black_box_svi mixture_variational_inference bayesian_neural_net gplvm
    deep_gaussian_process natural_gradient_black_box_svi ode_net
""".split()
LIMIT = 60  # seconds for one program
ROUGH = {"fixed_points": 1e-2}  # programs that iterate to a rough tolerance, where exact derivatives differ
_START = """
import sys, warnings
from unittest.mock import MagicMock
import numpy
numpy.random.seed(0)
warnings.filterwarnings("ignore")


class Pictures(MagicMock):
    def subplots(self, *args, **kwargs):
        return MagicMock(), MagicMock()


for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.cm", "matplotlib.image"):
    sys.modules[name] = Pictures()
"""


def rewritten(program: str) -> str:
    """A program for HIPS autograd with its import lines changed."""
    program = re.sub(r"^(import|from) autograd\.(numpy|scipy)", r"\1 dualtape.\2", program, flags=re.M)
    return re.sub(r"^(import|from) autograd\b", r"\1 dualtape.hips", program, flags=re.M)


def fetched(folder: Path) -> Path:
    """The folder of the examples, out of the source archive."""
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*fetch, "-d", str(folder), RELEASE], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (examples,) = folder.glob("*/examples")
    return examples


def run(folder: Path, name: str) -> tuple[str, str]:
    """How a program ended, and what it printed."""
    command = [sys.executable, "-c", f"{_START}\nimport runpy\nrunpy.run_path({name + '.py'!r}, run_name='__main__')"]
    path = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired as stopped:
        return "stopped", (stopped.stdout or b"").decode()
    return ("ended" if not done.returncode else done.stderr.strip().splitlines()[-1]), done.stdout


def agree(mine: str, theirs: str, tolerance: float) -> bool:
    """Whether two programs printed the same, as far as both came; numbers to this tolerance."""
    number = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
    for a, b in zip(mine.splitlines()[:-1] or [mine], theirs.splitlines()[:-1] or [theirs], strict=False):
        x, y = ([float(n) for n in number.findall(line)] for line in (a, b))
        if number.sub("", a).split() != number.sub("", b).split() or len(x) != len(y):
            return False
        if any(abs(p - q) > tolerance * (abs(p) + abs(q)) + 1e-6 for p, q in zip(x, y, strict=True)):
            return False
    return True


def main() -> int:
    """Run all, print a line for each; the number that failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as root:
        theirs = fetched(Path(root))
        ours = Path(root) / "rewritten"
        ours.mkdir()
        for path in theirs.glob("*.py"):
            (ours / path.name).write_text(rewritten(path.read_text()))
        for name in sys.argv[1:] or EXAMPLES:
            end, printed = run(ours, name)
            verdict = {"ended": "ran", "stopped": f"ran for {LIMIT} s"}.get(end, f"FAILED: {end}")
            if find_spec("autograd") and not verdict.startswith("FAILED"):
                other, expected = run(theirs, name)
                if other not in ("ended", "stopped"):
                    verdict += f", autograd itself failed: {other}"
                elif not expected.strip():
                    verdict += ", prints nothing"
                elif agree(printed, expected, ROUGH.get(name, 1e-4)):
                    verdict += ", prints what it prints with autograd"
                else:
                    verdict = "FAILED: prints something else than with autograd"
            failed += verdict.startswith("FAILED")
            print(f"{name:32} {verdict}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
