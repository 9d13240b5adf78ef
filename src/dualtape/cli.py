"""The `dualtape` command: it parses arguments and calls what lives elsewhere, imported when needed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dualtape import __version__

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dualtape", description="PyTorch's autograd as a small pure-Python library over NumPy arrays."
    )
    parser.add_argument("--version", action="version", version=f"dualtape {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    tour = commands.add_parser(
        "tour",
        help="solve six problems with derivatives, and show that the answers are right",
        description="Solve six problems with derivatives, print the figures that show the answers are "
        "right, and write the pictures. Exits with status 1 if any figure is not what it has to be.",
    )
    tour.add_argument(
        "--out",
        type=Path,
        default=Path("dualtape-tour"),
        metavar="DIR",
        help="the folder for the pictures, made if missing (default: %(default)s)",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after `dualtape`; those of the process by default.
    """
    options = _parser().parse_args(arguments)
    if options.out.exists() and not options.out.is_dir():
        _parser().error(f"--out: expected a folder, but {options.out} is a file; name another place")
    from dualtape.tour import run

    return 0 if run(options.out) else 1
