"""`python -m benchmarks`: run the workloads and print the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks import THREADS
from benchmarks.harness import Measurement, Pace, geometric_mean, measure
from benchmarks.peers import PEERS, Peer, find_peers
from benchmarks.workloads import LARGE, SMALL, TARGETS, WORKLOADS

# Short turns, many of them: a machine that is busy otherwise lets some of them pass undisturbed.
QUICK, FULL = Pace(0.001, 25, 0.1), Pace(0.002, 100, 0.25)


def shown(seconds: float) -> str:
    """A time in the unit that reads best."""
    return f"{seconds * 1e6:9.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:9.2f} ms"


def row(found: Measurement, width: int, peers: Sequence[str]) -> str:
    """A workload's line of the table: its time, the ratio to each peer, and whether the target is met."""
    if found.problem is not None:
        return f"{found.name:{width}}  FAILED: {found.problem}"
    cells = [f"{shown(found.minimum['dualtape']):>14}"]
    for peer in peers[1:]:
        ratio = found.ratio(peer)
        cells.append(f"{'' if ratio is None else format(ratio, '.2f'):>10}")
    ratio = found.ratio()
    note = "" if ratio is None or ratio <= TARGETS[found.kind] else f"  above {TARGETS[found.kind]}"
    if ratio is not None and note and WORKLOADS[found.name].threaded and THREADS > 1:
        note += " (PyTorch's kernel has several threads)"
    return f"{found.name:{width}}{''.join(cells)}{note}"


def summary(found: Sequence[Measurement], peers: Sequence[str]) -> list[str]:
    """Geometric means of the ratios, by kind and peer, and how many workloads meet their target."""
    lines = ["", "dualtape's time over the peer's (fastest turns); below 1 dualtape is faster"]
    for kind in (SMALL, LARGE):
        for peer in peers[1:]:
            ratios = [ratio for item in found if item.kind == kind and (ratio := item.ratio(peer)) is not None]
            if ratios:
                met = sum(ratio <= TARGETS[kind] for ratio in ratios)
                target = f", {met} at most {TARGETS[kind]}" if peer == "torch" else ""
                spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
                lines.append(
                    f"{kind:6} {peer:10} geometric mean {geometric_mean(ratios):.2f} of {len(ratios)}"
                    f" ({spread}){target}"
                )
    if "compiled" in peers:
        lines.append("the same of compiled steps")
        for kind in (SMALL, LARGE):
            for peer in ("torch", "jax jit"):
                ratios = [
                    r for item in found if item.kind == kind and (r := item.ratio(peer, of="compiled")) is not None
                ]
                if ratios:
                    lines.append(
                        f"{kind:6} {peer:10} geometric mean {geometric_mean(ratios):.2f} of {len(ratios)}"
                        f" ({min(ratios):.2f} to {max(ratios):.2f})"
                    )
    return lines


def options_from(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="The same programs on dualtape and its peers in one process: results are compared, then times are"
        " taken in turns.",
    )
    parser.add_argument("--quick", action="store_true", help="few short turns: for a look, not for a claim")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the measurements to FILE")
    parser.add_argument("--only", default="", metavar="WORDS", help="only workloads whose name contains WORDS")
    parser.add_argument("--kind", choices=(SMALL, LARGE), help="only the small or only the large ones")
    parser.add_argument(
        "--peers", default="", metavar="NAMES", help=f"only these peers, separated by commas: {', '.join([*PEERS][1:])}"
    )
    parser.add_argument(
        "--threads", type=int, default=THREADS, metavar="N", help="threads of each library (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if options.threads < 1:
        parser.error(f"--threads: expected at least 1, got {options.threads}")
    options.chosen = [w for w in WORKLOADS.values() if options.only in w.name and options.kind in (None, w.kind)]
    if not options.chosen:
        parser.error(f"--only: no workload has {options.only!r} in its name; there are: {', '.join(WORKLOADS)}")
    return options


def record(found: Sequence[Measurement], versions: dict[str, str], pace: Pace) -> dict:
    """What the JSON file holds."""
    return {
        "versions": versions,
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "threads": THREADS,
        },
        "pace": asdict(pace),
        "workloads": [
            asdict(item)
            | {
                "ratio": item.ratio(),
                "ratio of medians": item.ratio(which="median"),
                "compiled over torch": item.ratio(of="compiled"),
                "compiled over jax jit": item.ratio("jax jit", of="compiled"),
            }
            for item in found
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if any workload failed or gave different results."""
    options = options_from(arguments)
    if options.threads != THREADS:  # the libraries have been told already: begin again
        given = sys.argv[1:] if arguments is None else list(arguments)
        os.execve(
            sys.executable,
            [sys.executable, "-m", "benchmarks", *given],
            {**os.environ, "BENCH_THREADS": str(options.threads)},
        )
    found_peers, missing = find_peers(tuple(filter(None, options.peers.split(","))))
    peers: list[Peer] = found_peers
    names = [peer.name for peer in peers]
    pace = QUICK if options.quick else FULL
    width = max(len(w.name) for w in options.chosen) + 2

    versions = {peer.name: peer.version for peer in peers} | {
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    print(", ".join(f"{name} {version}" for name, version in versions.items()) + f"; threads: {THREADS}")
    if missing:
        print(f"not installed (make bench-peers): {', '.join(missing)}")
    print(f"\n{'workload':{width}}{'dualtape':>14}{''.join(f'{chr(47) + name:>10}' for name in names[1:])}")
    found = []
    for program in options.chosen:
        found.append(measure(program, peers, pace))
        print(row(found[-1], width, names), flush=True)
    print("\n".join(summary(found, names)))
    if options.json is not None:
        options.json.write_text(json.dumps(record(found, versions, pace), indent=1) + "\n", encoding="utf-8")
    failed = [item.name for item in found if item.problem is not None]
    if failed:
        print(f"\n{len(failed)} of {len(found)} workloads FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
