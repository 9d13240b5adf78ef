"""`python -m benchmarks`: run the workloads and print the table."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Measurement, geometric_mean, measure
from benchmarks.workloads import WORKLOADS


def find_libraries() -> dict[str, Any]:
    """Import dualtape, and PyTorch where it is installed, each on one thread."""
    import dualtape

    libraries: dict[str, Any] = {"dualtape": dualtape}
    try:
        import torch
    except ImportError:
        return libraries
    torch.set_num_threads(1)
    libraries["torch"] = torch
    return libraries


def row(found: Measurement, width: int, libraries: Sequence[str]) -> str:
    """Return a workload's line of the table."""
    if found.problem is not None:
        return f"{found.name:{width}}  FAILED: {found.problem}"
    cells = [f"{found.minimum[library] * 1e6:12.2f}" for library in libraries]
    for which in ("minimum", "median"):
        ratio = found.ratio(which)
        if ratio is not None:
            cells.append(f"{ratio:10.2f}")
    return f"{found.name:{width}}{''.join(cells)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if any workload failed or gave different results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="The same programs on dualtape and on PyTorch in one process and on one thread: results "
        "are compared, then times are taken in turns.",
    )
    parser.add_argument("--quick", action="store_true", help="few short turns: for a look, not for a claim")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the measurements to FILE")
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="only workloads whose name contains WORDS"
    )
    options = parser.parse_args(arguments)

    chosen = {name: program for name, program in WORKLOADS.items() if options.only in name}
    if not chosen:
        parser.error(
            f"--only: no workload has {options.only!r} in its name; there are: {', '.join(WORKLOADS)}"
        )
    libraries = find_libraries()
    turns, seconds = (5, 0.005) if options.quick else (25, 0.02)
    width = max(map(len, chosen)) + 2

    versions = {name: getattr(module, "__version__", "?") for name, module in libraries.items()}
    versions |= {"numpy": np.__version__, "python": platform.python_version()}
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    if "torch" not in libraries:
        print("PyTorch is not installed (make oracle): dualtape's own times only, results not compared.")
    heads = [f"{library + ' µs':>12}" for library in libraries]
    if "torch" in libraries:
        heads += [f"{'ratio':>10}", f"{'(median)':>10}"]
    print(f"\n{'workload':{width}}{''.join(heads)}")
    found = []
    for name, program in chosen.items():
        found.append(measure(name, program, libraries, turns, seconds))
        print(row(found[-1], width, list(libraries)), flush=True)

    ratios = [ratio for item in found if (ratio := item.ratio()) is not None]
    if ratios:
        faster = sum(ratio < 1 for ratio in ratios)
        print("\nratio: dualtape's fastest turn over PyTorch's; below 1 dualtape is faster")
        print(f"below 1: {faster} of {len(ratios)}")
        print(f"geometric mean of the ratios: {geometric_mean(ratios):.2f}")
    if options.json is not None:
        record = {
            "versions": versions,
            "machine": {"system": platform.platform(), "processor": platform.machine()},
            "turns": turns,
            "workloads": [asdict(item) | {"ratio": item.ratio()} for item in found],
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    failed = [item.name for item in found if item.problem is not None]
    if failed:
        print(f"\n{len(failed)} of {len(found)} workloads FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
