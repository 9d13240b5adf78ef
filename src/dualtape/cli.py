"""The `dualtape` command: it parses arguments and calls functions of other modules, imported when needed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dualtape import __version__

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dualtape", description="PyTorch's autograd as a small pure-Python library over NumPy arrays."
    )
    parser.add_argument("--version", action="version", version=f"dualtape {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
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
    _more(commands)
    return parser


def _more(commands: Any) -> None:
    """Add the subcommands other than the tour."""

    def command(name: str, words: str, *names: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        if "json" in names:
            made.add_argument("--json", action="store_true", help="print JSON")
        return made

    ops = command("ops", "list the ops, or those in whose name or description all WORDS stand", "json")
    ops.add_argument("words", nargs="*", metavar="WORDS")
    ops.add_argument("--missing", action="store_true", help="what of PyTorch's is left out, and why")
    explain = command("explain", "tell what an op computes, saves and how it is differentiated", "json")
    explain.add_argument("op", metavar="OP")
    for name, words in (
        ("check", "compare the gradients of a function with differences, and guess what is wrong"),
        ("graph", "draw the graph that a function records"),
    ):
        made = command(name, words, "json")
        made.add_argument("function", metavar="module:function", help="or file.py:function")
        made.add_argument("--shape", action="append", default=[], metavar="3,4", help="of each argument in turn")
        if name == "graph":
            made.add_argument(
                "--out", type=Path, metavar="FILE", help=".svg, .html, .mmd, .dot or .txt; .png with Graphviz"
            )
    profile = command("profile", "run a script, print where its time goes, write a trace and a picture", "json")
    profile.add_argument("--out", type=Path, default=Path("dualtape-profile"), metavar="DIR")
    profile.add_argument("--rows", type=int, default=30, metavar="N", help="lines of the table (default: %(default)s)")
    profile.add_argument("script", type=Path)
    profile.add_argument("arguments", nargs=argparse.REMAINDER)
    launch = command("launch", "run a script in several processes, by mpiexec, and exit with its status")
    launch.add_argument("-n", type=int, required=True, metavar="N", help="the number of processes")
    launch.add_argument("script")
    launch.add_argument("arguments", nargs=argparse.REMAINDER)
    command("bench", "time a few small programs on this machine", "json")
    command("doctor", "tell what is installed, and what each missing thing would give", "json")
    completion = command("completion", "print what makes a shell complete this command")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 where a check failed, 2 for wrong usage.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after `dualtape`; those of the process by default.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    # Errors show the usage of the command that was given.
    subparser = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices[options.command]
    try:
        return _COMMANDS[options.command](options, parser if options.command == "completion" else subparser)
    except BrokenPipeError:  # whoever read has seen enough
        return 0


def _tour(options: Any, parser: argparse.ArgumentParser) -> int:
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out: expected a folder, but {options.out} is a file; name another place")
    from dualtape.tour import run

    _make_folder(options.out, parser)
    return 0 if run(options.out) else 1


def _make_folder(path: Path, parser: argparse.ArgumentParser) -> None:
    """Create the folder that ``--out`` names, before anything is computed for it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out: the folder {path} cannot be made: {error.strerror}; name another place")


def _launch(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.distributed.launch import launch

    try:
        return launch(options.n, options.script, options.arguments)
    except ValueError as error:
        parser.error(str(error))


def _ops(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands import ops

    if options.missing:
        try:
            found: Any = ops.missing()
        except FileNotFoundError as error:
            parser.error(str(error))
        text = "\n".join(f"{reason}: {' '.join(names)}" for reason, names in found.items())
    else:
        found = ops.listed(options.words)
        wide = max([len(row["name"]) for row in found], default=0)
        text = "\n".join(f"{row['name']:{wide}}  {row['summary']}" for row in found)
    print(json.dumps(found, indent=1) if options.json else text)
    return 0 if found else 1


def _explain(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands import ops

    try:
        told = ops.explained(options.op)
    except KeyError as error:
        parser.error(str(error.args[0]))
    print(json.dumps(told, indent=1) if options.json else ops.shown(told))
    return 0


def _check(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands import check, functions

    try:
        function = functions.exact(functions.found(options.function))
        inputs = functions.arguments(function, options.shape)
        report = check.checked(functions.told(function, inputs), inputs)
    except (ValueError, MemoryError) as error:
        parser.error(str(error))
    print(json.dumps(report, indent=1) if options.json else check.shown(report, options.function))
    return 0 if report["right"] else 1


def _graph(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands import functions
    from dualtape.draw import draw

    try:
        function = functions.found(options.function)
        inputs = functions.arguments(function, options.shape)
        functions.told(function, inputs)(*inputs)
        picture = draw(function, *inputs)
        if options.out is not None:
            picture.save(options.out)
    except (ValueError, AttributeError, RuntimeError, MemoryError) as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"--out: {options.out} cannot be written: {error.strerror}")
    if options.json:
        nodes = [
            {
                "id": number,
                "name": item.name,
                "kind": item.kind,
                "note": item.note,
                "line": item.line,
                "bytes": item.nbytes,
                "group": list(item.group),
            }
            for number, item in enumerate(picture.items)
        ]
        edges = [{"from": start, "to": end} for start, end in picture.edges]
        described = {"function": options.function, "nodes": nodes, "edges": edges}
        print(json.dumps({**described, "svg": picture.svg(), "text": picture.text()}))
    else:
        print(picture if options.out is None else options.out)
    return 0


def _profile(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands.profiling import averages, profiled

    if not options.script.is_file():
        parser.error(f"expected a script, but there is no file {options.script}")
    _make_folder(options.out, parser)
    profile, failure = profiled(options.script, options.arguments, options.out)
    if options.json:
        print(json.dumps(averages(profile, options.rows, options.out), indent=1))
    else:
        print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=options.rows))
        print(f"{options.out / 'trace.json'}  {options.out / 'flames.svg'}")
    if failure is not None:
        raise failure
    return 0


def _bench(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands import bench

    results = bench.timed()
    print(json.dumps(results, indent=1) if options.json else bench.shown(results))
    return 0


def _doctor(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands import doctor

    found = doctor.examined()
    print(json.dumps(found, indent=1) if options.json else doctor.shown(found))
    return 0


def _completion(options: Any, parser: argparse.ArgumentParser) -> int:
    from dualtape.commands.completion import script

    print(script(options.shell, parser), end="")
    return 0


_COMMANDS: dict[str, Callable[[Any, argparse.ArgumentParser], int]] = {
    "tour": _tour,
    "ops": _ops,
    "explain": _explain,
    "check": _check,
    "graph": _graph,
    "profile": _profile,
    "launch": _launch,
    "bench": _bench,
    "doctor": _doctor,
    "completion": _completion,
}
