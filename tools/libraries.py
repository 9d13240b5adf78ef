"""``python -m tools.libraries [NAME ...]``: other people's libraries, written for PyTorch, through the doorway.

Each is fetched from the package index into a folder that is removed again, unmodified. Where a library brings its
tests, they run under pytest; where it brings none, a short program of ours uses it. ``--torch`` runs the same with
PyTorch itself beside it, which says how many of the tests can pass at all.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import dualtape

PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 400  # seconds for one library


@dataclass
class Library:
    """A library: its release, what it needs beside PyTorch, and its tests, or a program of ours."""

    release: str
    subject: str
    tests: tuple[str, ...] = ()
    program: str = ""
    needs: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The library's name."""
        return self.release.partition("==")[0]


_PYRO = ("pyro-ppl", "pyro-api", "opt_einsum", "tqdm")
_GPYTORCH = (
    "linear_operator",
    "jaxtyping",
    "wadler_lindig",
    "mpmath",
    "scikit-learn",
    "joblib",
    "threadpoolctl",
    "narwhals",
)
_LIGHTNING = (
    "lightning-utilities",
    "torchmetrics",
    "fsspec",
    "pyyaml",
    "packaging",
    "tqdm",
    "typing_extensions",
    "setuptools",
    "aiohttp",
    "yarl",
    "multidict",
    "frozenlist",
    "aiosignal",
    "attrs",
    "propcache",
    "idna",
    "aiohappyeyeballs",
)
LIBRARIES = [
    Library("einops==0.8.2", "tensor notation", ("einops/tests",), settings={"EINOPS_TEST_BACKENDS": "numpy,torch"}),
    Library("opt_einsum==3.4.0", "contractions", ("opt_einsum/tests",)),
    Library("linear_operator==0.6.1", "structured matrices", ("test",), needs=("jaxtyping", "wadler_lindig", "mpmath")),
    Library(
        "gpytorch==1.15.2",
        "Gaussian processes",
        ("test",),
        needs=(
            "linear_operator",
            "jaxtyping",
            "wadler_lindig",
            "mpmath",
            "scikit-learn",
            "joblib",
            "threadpoolctl",
            "narwhals",
        ),
    ),
    Library("torchdiffeq==0.2.5", "differential equations", program="differential_equations.py"),
    Library(
        "nflows==0.14",
        "normalising flows",
        ("tests",),
        needs=(
            "torchtestcase",
            "UMNN",
            "tqdm",
            "matplotlib",
            "contourpy",
            "cycler",
            "fonttools",
            "kiwisolver",
            "pillow",
            "pyparsing",
            "python-dateutil",
            "six",
        ),
    ),
    Library("zuko==1.6.0", "normalising flows", ("tests",)),
    Library(
        "torch-optimizer==0.3.0",
        "optimizers",
        ("tests/test_basic.py", "tests/test_param_validation.py"),
        needs=("pytorch_ranger",),
    ),
    Library("lion-pytorch==0.2.5", "optimizers", program="optimizers.py", needs=("schedulefree", "madgrad")),
    Library("ema-pytorch==0.8.3", "averages of weights", ("tests",)),
    Library("local-attention==1.11.2", "attention, a small GPT", ("tests",), needs=("einops", "hyper_connections")),
    Library(
        "tensorly==0.10.0",
        "tensor decompositions",
        ("tensorly/tests", "tensorly/tenalg/tests"),
        settings={"TENSORLY_BACKEND": "pytorch"},
    ),
    Library("pyro-ppl==1.9.2", "probabilistic programs", program="probabilistic_programs.py", needs=_PYRO),
    Library(
        "botorch==0.18.1",
        "Bayesian optimisation",
        program="bayesian_optimisation.py",
        needs=(
            *_PYRO,
            *_GPYTORCH,
            "gpytorch",
            "multipledispatch",
            "pyre_extensions",
            "typing_inspect",
            "mypy_extensions",
        ),
    ),
    Library(
        "torchode==1.0.1",
        "batches of equations",
        program="batched_equations.py",
        needs=("torchtyping", "typeguard==2.13.3", "sympy", "mpmath"),
    ),
    Library(
        "torchdyn==1.0.6",
        "neural equations",
        program="neural_equations.py",
        needs=(
            "torchcde",
            "torchsde",
            "torchdiffeq",
            "trampoline",
            *_LIGHTNING,
            "pytorch-lightning",
            "scikit-learn",
            "joblib",
        ),
    ),
    Library("torchsde==0.2.6", "stochastic equations", program="stochastic_equations.py", needs=("trampoline",)),
    Library("kornia==0.9.0", "images", program="images.py", needs=("kornia_rs", "packaging")),
    Library(
        "torchmetrics==1.9.0", "metrics", program="metrics.py", needs=("lightning-utilities", "packaging", "setuptools")
    ),
    Library("geomloss==0.3.1", "optimal transport", program="transport.py"),
    Library("pytorch-ignite==0.5.5", "training loops", program="engines.py", needs=("packaging",)),
    Library(
        "skorch==1.4.0",
        "networks for scikit-learn",
        program="scikit_networks.py",
        needs=("scikit-learn", "joblib", "threadpoolctl", "narwhals", "tabulate", "tqdm", "cloudpickle"),
    ),
    Library(
        "captum==0.9.0",
        "attributions",
        program="attributions.py",
        needs=(
            "tqdm",
            "packaging",
            "matplotlib",
            "contourpy",
            "cycler",
            "fonttools",
            "kiwisolver",
            "pillow",
            "pyparsing",
            "python-dateutil",
            "six",
        ),
    ),
    Library("opacus==1.6.0", "private training", program="private_training.py", needs=("opt_einsum",)),
    Library("pytorch-lightning==2.6.6", "training loops", program="lightning_training.py", needs=_LIGHTNING),
]


def fetched(library: Library, folder: Path) -> Path:
    """The library's source, and beside it what it needs; the library itself, if a program of ours uses it."""
    pip = [sys.executable, "-m", "pip"]
    quiet = ["-q", "--disable-pip-version-check", "--no-deps"]
    if library.program:
        subprocess.run(
            [*pip, "install", *quiet, "--target", str(folder / "needs"), library.release, *library.needs],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        (folder / "source" / library.name).mkdir(parents=True)
        return folder / "source" / library.name
    subprocess.run(
        [*pip, "download", *quiet, "--no-binary", ":all:", "-d", str(folder), library.release],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder / "source", filter="data")
    if library.needs:
        subprocess.run(
            [*pip, "install", *quiet, "--target", str(folder / "needs"), *library.needs],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    (source,) = (folder / "source").iterdir()
    return source


def run(library: Library, source: Path, door: bool) -> str:
    """What came of it, in words."""
    here = Path(dualtape.__file__).parent.parent
    paths = [source, source / "src", source.parent.parent / "needs", *([here] if door else [])]
    settings = {**os.environ, **library.settings, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    start = [sys.executable, "-W", "ignore", *(["-m", "dualtape.as_torch"] if door else [])]
    if library.program:
        command = [*start, str(PROGRAMS / library.program)]
    else:
        quiet = ["-q", "--no-header", "-rN", "-p", "no:cacheprovider", "-W", "ignore", "-o", "addopts="]
        command = [*start, "-m", "pytest", *quiet, *library.tests]
    try:
        done = subprocess.run(command, cwd=source, env=settings, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"not done after {LIMIT} s"
    if library.program:
        return "runs" if done.returncode == 0 else f"fails: {done.stderr.strip().splitlines()[-1:]}"
    last = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
    counts = re.findall(r"(\d+) (passed|failed|errors?|skipped)", " ".join(last))
    return ", ".join(f"{count} {what}" for count, what in counts) or " ".join(last)


def main(arguments: list[str] | None = None) -> int:
    """Fetch, run and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.libraries", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these libraries")
    parser.add_argument("--torch", action="store_true", help="run them with PyTorch itself, too")
    options = parser.parse_args(arguments)
    known = {library.name for library in LIBRARIES}
    unknown = set(options.names) - known
    if unknown:
        parser.error(f"expected some of {', '.join(sorted(known))}, got {', '.join(sorted(unknown))}")
    for library in LIBRARIES:
        if options.names and library.name not in options.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                source = fetched(library, Path(folder))
            except (subprocess.CalledProcessError, ValueError) as error:
                print(f"{library.release:26} could not be fetched: {error}", flush=True)
                continue
            ours = run(library, source, door=True)
            beside = f"   with PyTorch: {run(library, source, door=False)}" if options.torch else ""
            print(f"{library.release:26}{library.subject:26}{ours}{beside}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
