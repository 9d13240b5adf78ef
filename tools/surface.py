"""``python -m tools.surface``: for each namespace of PyTorch what is here, missing, or left out, and why.

Needs torch. ``docs/left-out.md`` lists what is left out on purpose, with the reason: a line for each reason, patterns
in backquotes, under a heading for each namespace. ``tests/project/test_surface.py`` holds that list to be complete.
"""

from __future__ import annotations

import fnmatch
import importlib
import re
import sys
import types
import typing
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LISTED = Path(__file__).parent.parent / "docs" / "left-out.md"
NAMESPACES = (
    "torch",
    "torch.Tensor",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.nn.functional",
    "torch.sparse",
    "torch.nested",
    "torch.signal.windows",
    "torch.random",
    "torch.func",
    "torch.autograd",
    "torch.autograd.forward_ad",
    "torch.autograd.functional",
    "torch.autograd.graph",
    "torch.utils.checkpoint",
    "torch.nn",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.distributions",
    "torch.utils.data",
    "torch.distributed",
    "torch.distributed.tensor",
    "torch.distributed.device_mesh",
    "torch.nn.parallel",
    "torch.distributed.tensor.parallel",
    "torch.distributed.fsdp",
    "torch.distributed.rpc",
    "torch.distributed.autograd",
    "torch.distributed.optim",
    "torch.distributed.pipelining",
    "torch.distributed.algorithms",
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks",
)


@dataclass
class Surface:
    """One namespace: names that are here, that are missing, and that are left out with their reason."""

    here: list[str]
    missing: list[str]
    left_out: dict[str, str]
    stale: list[str]  # patterns of the list that fit no missing name


def left_out() -> dict[str, dict[str, str]]:
    """Pattern to reason, by namespace, as ``docs/left-out.md`` lists them."""
    listed: dict[str, dict[str, str]] = {}
    reason = ""
    for line in LISTED.read_text().splitlines():
        if line.startswith("## "):
            patterns = listed.setdefault(line[3:].strip("` "), {})
        elif line.startswith(("- ", "  ")):
            reason = line[2:].split(":", 1)[0] if line.startswith("- ") else reason
            patterns |= dict.fromkeys(re.findall("`([^`]+)`", line), reason)
    return listed


def surfaces() -> Iterator[tuple[str, Surface]]:
    """Each of the namespaces, compared."""
    listed = left_out()
    for namespace in NAMESPACES:
        there, here = _namespace(namespace), _namespace("dualtape" + namespace.removeprefix("torch"))
        patterns = listed.get(namespace, {})
        surface, used = Surface([], [], {}, []), set()
        for name in _public(there, namespace):
            fitting = [p for p in patterns if fnmatch.fnmatchcase(name, p)]
            if _has(here, name):
                surface.here.append(name)
            elif fitting:
                surface.left_out[name] = patterns[fitting[0]]
                used.update(fitting)
            else:
                surface.missing.append(name)
        surface.stale = [p for p in patterns if p not in used]
        yield namespace, surface


def _namespace(path: str) -> Any:
    owner, _, name = path.rpartition(".")
    if name == "Tensor":
        return importlib.import_module(owner).Tensor
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        return None


def _public(there: Any, namespace: str) -> list[str]:
    """The names that users may type: no modules, nothing that is there only because it was imported."""
    import torch

    names = []
    listed = None if namespace == "torch" else getattr(there, "__all__", None)
    for name in dir(there):
        value = getattr(there, name, None)
        home = getattr(value, "__module__", None) or "torch"
        if (
            name.startswith("_")
            or isinstance(value, types.ModuleType)
            or not (namespace == "torch.Tensor" or callable(value))
            or not home.startswith("torch")
            or type(value) is typing.TypeVar
            or (listed and name not in listed and not isinstance(value, types.BuiltinFunctionType))
            or (value is torch.Tensor and namespace != "torch")
        ):
            continue
        names.append(name)
    return names


def _has(here: Any, name: str) -> bool:
    if here is None:
        return False
    try:
        return hasattr(here, name) or name in dir(here)
    except Exception:
        return False


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:]
    complete = True
    for namespace, surface in surfaces():
        if wanted and namespace not in wanted:
            continue
        total = len(surface.here) + len(surface.missing) + len(surface.left_out)
        print(f"{namespace}: {len(surface.here)} of {total} here, {len(surface.left_out)} left out")
        if surface.missing:
            print("  missing:", " ".join(surface.missing))
        for reason in sorted(set(surface.left_out.values())):
            print(f"  {reason}:", " ".join(name for name, why in surface.left_out.items() if why == reason))
        if surface.stale:
            print("  listed, and not missing:", " ".join(surface.stale))
        complete &= not surface.missing and not surface.stale
    sys.exit(not complete)
