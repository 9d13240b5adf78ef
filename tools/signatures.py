"""``python -m tools.signatures``: the public signatures beside PyTorch's; needs torch.

A call that PyTorch takes must mean the same here: parameters of the same names in the same order. PyTorch's functions
in Python show their signatures; of those in C++ every overload of the schema is looked at.
Differences are printed; ``tests/signature_differences.txt`` lists those that stay, with the reason.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LISTED = Path(__file__).parent.parent / "tests" / "signature_differences.txt"
SPACES = ("", "linalg", "special", "fft", "signal.windows", "nn.functional")
# where a result goes, what it is made of: checked by the functions themselves
PASSED_OVER = {
    "out",
    "layout",
    "pin_memory",
    "device",
    "dtype",
    "requires_grad",
    "generator",
    "memory_format",
    "_stacklevel",
}


def found() -> dict[str, str]:
    """What is different, by the function's dotted name."""
    import torch

    import dualtape as dt
    from dualtape.ops import load_all

    load_all()
    differences = {}
    for space in SPACES:
        here, there = dt, torch
        for part in filter(None, space.split(".")):
            here, there = getattr(here, part), getattr(there, part)
        for name in sorted(dir(here)):
            ours, theirs = getattr(here, name, None), getattr(there, name, None)
            if name.startswith("_") or not callable(ours) or not callable(theirs) or isinstance(ours, type):
                continue
            problem = _difference(ours, theirs, f"{space.replace('.', '_')}_{name}".strip("_"), torch)
            if problem is not None:
                differences[f"{space}.{name}".strip(".")] = problem
    return differences


def _difference(ours: Any, theirs: Any, name: str, torch: Any) -> str | None:
    try:
        mine = inspect.signature(ours)
    except ValueError:
        return "shows no signature"
    positional = [
        p.name
        for p in mine.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in PASSED_OVER
    ]
    known = {p.name for p in mine.parameters.values()}
    if any(p.kind == p.VAR_POSITIONAL for p in mine.parameters.values()):
        return None  # the function checks its arguments itself, sizes for instance
    for there, keywords in _signatures(theirs, name, torch):
        for k, wanted in enumerate(there):
            if k >= len(positional) or positional[k] != wanted:
                return f"({', '.join(positional)}) where PyTorch has ({', '.join(there)})"
        missing = keywords - known - PASSED_OVER
        if missing:
            return f"no keyword {', '.join(sorted(missing))}"
    return None


def _signatures(function: Any, name: str, torch: Any) -> Iterator[tuple[list[str], set[str]]]:
    """(positional names, keyword-only names) of each form of a function of PyTorch's."""
    try:
        signature = inspect.signature(function)
        if not any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
            yield (
                [
                    p.name
                    for p in signature.parameters.values()
                    if p.kind != p.KEYWORD_ONLY and p.name not in PASSED_OVER
                ],
                {p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY},
            )
            return
    except ValueError:
        pass
    packet = getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        schema = getattr(packet, overload)._schema
        arguments = [a for a in schema.arguments if a.name not in PASSED_OVER]
        if "out" in overload or not arguments or _of_another_kind(overload, arguments):
            continue
        yield (
            ["input" if a.name == "self" else a.name for a in arguments if not a.kwarg_only],
            {a.name for a in arguments if a.kwarg_only},
        )


def _of_another_kind(overload: str, arguments: list) -> bool:
    """Whether an overload is not for users: of numbers, of named dimensions, with results given, of one backend."""
    names = {a.name for a in arguments}
    return (
        "Tensor" not in str(arguments[0].type)
        or any("Dimname" in str(a.type) for a in arguments)
        or "values" in overload
        or overload in ("Scalar", "dtype", "U", "S", "eigvals", "a", "Q", "X", "L", "inverse")
        or bool(names & {"cudnn_enable", "cudnn_enabled", "train"})
    )


def listed() -> dict[str, str]:
    """The differences that stay: a name and its reason on each line."""
    lines = [line for line in LISTED.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    now, known = found(), listed() if LISTED.exists() else {}
    for name, problem in now.items():
        print(f"{'  ' if name in known else '! '}{name}: {problem}{f'   [{known[name]}]' if name in known else ''}")
    for name in known.keys() - now.keys():
        print(f"! {name} is listed and is not different")
    sys.exit(now.keys() != known.keys())
