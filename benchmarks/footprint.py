"""`python -m benchmarks.footprint`: what `import dualtape` costs next to `import numpy`, and what the package takes
on disk.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks import import_time

__all__ = ["installed_bytes", "main"]


def installed_bytes(module: str) -> int | None:
    """The bytes of a package's own files, byte code left out; None if it is not installed."""
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    libraries = root.with_name(f"{root.name}.libs")
    files = [*root.rglob("*"), *(libraries.rglob("*") if libraries.is_dir() else ())]
    return sum(path.stat().st_size for path in files if path.is_file() and path.suffix != ".pyc")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the installed sizes, then the import times."""
    print(f"{'installed':12}{'MB':>10}")
    for module in ("dualtape", "numpy", "scipy", "autograd", "jaxlib", "torch"):
        size = installed_bytes(module)
        if size is not None:
            print(f"{module:12}{size / 1e6:10.1f}")
    print()
    return import_time.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
