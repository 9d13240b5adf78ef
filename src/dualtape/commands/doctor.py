"""``dualtape doctor``: installed packages, and what each missing one would add."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from typing import Any

import numpy as np

import dualtape as dt

_OPTIONAL = {
    "llvmlite": "compiled programs and fused kernels (pip install dualtape[compile])",
    "cupy": "tensors on GPUs",
    "mpi4py": "several processes (pip install dualtape[distributed])",
    "torch": "the tests that compare with PyTorch",
    "matplotlib": "plots",
    "rich": "bars that show progress (pip install dualtape[progress])",
}


def examined() -> dict[str, Any]:
    """Return the facts about this installation."""
    beside = os.path.dirname(sys.executable)  # where an environment that is not active has its programs
    found = {
        "dualtape": dt.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "numpy": np.__version__,
        "scipy": _version("scipy"),
        "cores": os.cpu_count(),
        "threads": dt.get_num_threads(),
        "blas": _blas(),
        "cuda": dt.cuda.is_available(),
        "graphviz": shutil.which("dot") is not None,
        "mpiexec": shutil.which("mpiexec", path=os.pathsep.join([beside, os.environ.get("PATH", "")])) is not None,
    }
    optional = {name: {"version": _version(name), "gives": gives} for name, gives in _OPTIONAL.items()}
    return {**found, "optional": optional}


def _version(name: str) -> str | None:
    names = [name] if name != "cupy" else ["cupy", "cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x"]
    for each in names:
        try:
            return importlib.metadata.version(each)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    found = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def shown(found: dict[str, Any]) -> str:
    """Return the facts as text."""
    lines = [f"{name:12} {value}" for name, value in found.items() if name != "optional"]
    for name, entry in found["optional"].items():
        state = entry["version"] or "not installed: it would give"
        lines.append(f"{name:12} {state}{'' if entry['version'] else ' ' + entry['gives']}")
    return "\n".join(lines)
