"""`python -m benchmarks.rounding`: how far sums in single precision are from the exact ones, in units of rounding.

Every number is 0.1, so that the roundings of a long sum all go the same way: the worst that usually happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualtape as dt
from benchmarks import peers

__all__ = ["main", "rounding_errors"]

SUMS: dict[str, tuple[tuple[int, ...], Callable]] = {
    "sum of 10^4": ((10_000,), lambda x: x.sum()),
    "sum of 10^6": ((1_000_000,), lambda x: x.sum()),
    "sum(0) of (10^6, 10)": ((1_000_000, 10), lambda x: x.sum(0)),
    "sum(0) of (1000, 1000)": ((1000, 1000), lambda x: x.sum(0)),
    "sum(1) of (1000, 1000)": ((1000, 1000), lambda x: x.sum(1)),
    "mean of (100, 100, 100)": ((100, 100, 100), lambda x: x.mean()),
    "cumsum of 10^4": ((10_000,), lambda x: x.cumsum(0)),
    "cumsum of 10^6": ((1_000_000,), lambda x: x.cumsum(0)),
    "cumsum(0) of (10^4, 200)": ((10_000, 200), lambda x: x.cumsum(0)),
}


def rounding_errors(library: Any, name: str) -> float:
    """Return the largest relative error of a sum, in units of the dtype's rounding."""
    shape, function = SUMS[name]
    exact = np.asarray(function(dt.full(shape, float(np.float32(0.1)), dtype=dt.float64)))
    found = np.asarray(function(library.full(shape, 0.1))).astype(np.float64)
    return float(np.max(np.abs(found - exact) / exact)) / float(np.finfo(np.float32).eps)


def main() -> None:
    """Print the table."""
    libraries = [(peer.name, peer.library) for peer in peers.find_peers(("torch",))[0]]
    print("| | " + " | ".join(name for name, _ in libraries) + " |\n|---|" + "---|" * len(libraries))
    for name in SUMS:
        print(f"| {name} | " + " | ".join(f"{rounding_errors(library, name):.1f}" for _, library in libraries) + " |")


if __name__ == "__main__":
    main()
