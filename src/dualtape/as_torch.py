"""The doorway: run programs written for PyTorch unchanged.

``python -m dualtape.as_torch script.py [args]``, or ``as_torch.install()`` before anything imports torch, makes
``import torch``, ``torch.nn``, ``torch.func``, ``functorch`` and their submodules find dualtape. Each such module is a
*door*: it has the contents of dualtape's module, passes on attributes that are set on it, and records names that were
asked for and are missing. A name or module of PyTorch's that is not here is a placeholder, which may be imported and
raises where it is used.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import runpy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from . import _placeholders
from ._tensor import naming
from ._tensor.tensor import Tensor

VERSION = "2.13.0"  # of PyTorch, whose names and behaviour these are

# modules that stand elsewhere here
_ELSEWHERE = {
    "torch._vmap_internals": "dualtape.func.vmap",
    "torch.autograd.anomaly_mode": "dualtape.autograd.anomaly",
    "torch.autograd.grad_mode": "dualtape.modes",
    "torch.storage": "dualtape._tensor.storage",
    "torch.distributed._tensor": "dualtape.distributed.tensor",
    "functorch": "dualtape.func",
}
# Older names of PyTorch's modules, which it still takes.
_RENAMED = {"torch.distributed._tensor": "torch.distributed.tensor"}

missing: Counter[str] = Counter()  # names that were asked for and not found, with how often


class Door(ModuleType):
    """A module of PyTorch's name with the contents of one of dualtape's."""

    def __init__(self, name: str, behind: ModuleType) -> None:
        super().__init__(name, behind.__doc__)
        self.__dict__["_behind"] = behind
        # Programs walk through the names of a module by its ``__dict__``.
        contents = {key: value for key, value in vars(behind).items() if not key.startswith("_")}
        self.__dict__.update({key: value for key, value in contents.items() if isinstance(value, (FunctionType, type))})
        if name == "torch":
            self.__dict__["__version__"] = VERSION

    def __getattr__(self, name: str) -> Any:
        behind = self.__dict__["_behind"]
        try:
            value = getattr(behind, name)
        except AttributeError:
            if name.startswith("__") and name.endswith("__"):
                raise
            value = _not_behind(f"{self.__name__}.{name}")
            if value is None:
                raise
            self.__dict__[name] = value
            return value
        if isinstance(value, ModuleType) and value.__name__.startswith("dualtape"):
            value = sys.modules.get(f"{self.__name__}.{name}") or importlib.import_module(f"{self.__name__}.{name}")
        if isinstance(value, (FunctionType, type, ModuleType)):
            self.__dict__[name] = value  # found at once the next time
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("__") and not isinstance(value, Door):
            setattr(self.__dict__["_behind"], name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__.pop(name, None)
        if hasattr(self.__dict__["_behind"], name):
            delattr(self.__dict__["_behind"], name)

    def __dir__(self) -> Iterable[str]:
        listed = _placeholders.left_out_names(self.__name__)
        return sorted({*self.__dict__, *dir(self.__dict__["_behind"]), *listed})


def _not_behind(path: str) -> Any:
    """Return what stands for a name of PyTorch's that the module behind its door does not have: a module that is
    elsewhere, the door of a module that is not here, or a placeholder. None if PyTorch has no such name.
    """
    if path in _ELSEWHERE:
        return importlib.import_module(path)
    if path == "torch.torch":
        return sys.modules["torch"]
    missing[path] += 1
    if _placeholders.is_module(_renamed(path)):
        return importlib.import_module(path)
    return _placeholders.placeholder(_renamed(path)) or _placeholders.placeholder(path)


def _renamed(name: str) -> str:
    """Return the name that PyTorch has now for a module, or for a name in one."""
    for older, newer in _RENAMED.items():
        if name == older or name.startswith(f"{older}."):
            return newer + name[len(older) :]
    return name


def _behind(name: str) -> str:
    """Return the module of dualtape for a module name of PyTorch's."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    for known, there in _ELSEWHERE.items():
        if name.startswith(f"{known}."):
            return there + name[len(known) :]
    return "dualtape" + name.removeprefix("torch")


class _Finder:
    """Finds modules of PyTorch's names, and reports the installed version of PyTorch."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in ("torch", "functorch"):
            return None
        there = _behind(name)
        try:
            found = importlib.util.find_spec(there)
        except (ImportError, AttributeError):
            found = None
        if found is None and not isinstance(_attribute(there), ModuleType):
            missing[name] += 1
            if not _placeholders.is_module(_renamed(name)):
                return None
            there = ""
        spec = ModuleSpec(name, self, origin=there or None, is_package=True)  # type: ignore[arg-type]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.origin is None:
            return Door(spec.name, _placeholders.empty(spec.name))
        there = _behind(spec.name)
        try:
            behind = importlib.import_module(there)
        except ModuleNotFoundError:
            behind = _attribute(there)
        return Door(spec.name, behind)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has been loaded."""

    def find_distributions(self, context: Any = None) -> Iterator[importlib.metadata.Distribution]:
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            yield _Torch()


def _attribute(path: str) -> Any:
    """Return the object of a dotted name that is not a module itself."""
    package, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(package), name, None) if package else None
    except ImportError:
        return None


class _Torch(importlib.metadata.Distribution):
    """The distribution metadata of ``torch``, for programs that ask for its version."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / path


_finder = _Finder()


_HOME = Tensor.__module__


def _shown_as(package: str, home: str) -> None:
    """Set the package name that programs see in ``str(x.dtype)`` and the module of a tensor's class."""
    naming.package = package
    Tensor.__module__ = home


def install() -> None:
    """Make ``import torch`` and ``import functorch`` find dualtape in this process from now on.

    Raises
    ------
    RuntimeError
        If PyTorch itself has been imported: two libraries cannot have one name.

    Examples
    --------
    >>> import dualtape.as_torch
    >>> dualtape.as_torch.install()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    >>> torch.ones(2).sum()  # doctest: +SKIP
    tensor(2.)
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, Door):
        raise RuntimeError(
            f"as_torch.install: PyTorch {getattr(loaded, '__version__', '')} is loaded already, and the name cannot"
            " stand for both: call install() before anything imports torch, or start the program with python -m"
            " dualtape.as_torch"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _shown_as("torch", "torch")
    importlib.import_module("torch")


def uninstall() -> None:
    """Remove the doors; modules that imported them keep what they have.

    Examples
    --------
    >>> import dualtape.as_torch
    >>> dualtape.as_torch.uninstall()
    """
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        _shown_as("dualtape", _HOME)
    for name in [name for name, module in sys.modules.items() if isinstance(module, Door)]:
        del sys.modules[name]


def report() -> str:
    """Return the names that were asked for and not found, the most frequent first, and those of them that were used.

    Examples
    --------
    >>> import dualtape.as_torch
    >>> print(dualtape.as_torch.report())  # doctest: +SKIP
    every name that was asked for was found
    """
    if not missing:
        return "every name that was asked for was found"
    lines = ["asked for and not found:", *_counted(missing)]
    if _placeholders.used:
        lines += ["used, which raised an error:", *_counted(_placeholders.used)]
    return "\n".join(lines)


def _counted(names: Counter[str]) -> list[str]:
    return [f"{count:6d}  {name}" for name, count in sorted(names.items(), key=lambda item: (-item[1], item[0]))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script, or a module with ``-m``, as ``python`` does, with dualtape in PyTorch's place.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the command; those of the process by default.
    """
    parser = argparse.ArgumentParser(
        prog="python -m dualtape.as_torch",
        description="Run a program written for PyTorch with dualtape in its place.",
        usage="%(prog)s [--report] (script.py | -m module) [args ...]",
    )
    parser.add_argument("--report", action="store_true", help="say at the end which names were not found")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m does")
    parser.add_argument("program", help="the script, or the module")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    if not options.module and not Path(options.program).exists():
        parser.error(f"expected a script, but there is no file {options.program!r}; -m runs a module")
    try:
        install()
    except RuntimeError as error:
        parser.error(str(error))
    sys.argv = [options.program, *options.args]
    try:
        if options.module:
            sys.path.insert(0, "")
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(options.program).resolve().parent))
            runpy.run_path(options.program, run_name="__main__")
    finally:
        if options.report:
            print(report(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    # the doors belong to the module that others import, not to this one
    from dualtape.as_torch import main as _main

    sys.exit(_main())
