"""Print the oldest versions that ``pyproject.toml`` allows, as constraints for pip.

``python -m tools.oldest > constraints.txt`` and ``pip install -e . -c constraints.txt`` make an environment of them; CI
runs a quick part of the suite there (``make test-oldest``), so that the lower bounds hold.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_BOUND = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")
# Of what is not imported by the quick part, and whose oldest versions have no wheels for every Python.
_LEFT_OUT = {"mpi4py", "mpich", "array-api-strict"}


def constraints(project: dict) -> list[str]:
    """Return ``name==version`` for each dependency that has a lower bound, those of the extras in use included."""
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["compile"], *extras["test"]]
    found = {match[1]: match[2] for match in map(_BOUND.match, named) if match and match[1] not in _LEFT_OUT}
    return [f"{name}=={version}.*" for name, version in sorted(found.items())]


def main() -> int:
    """Print the constraints."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    print("\n".join(constraints(project)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
