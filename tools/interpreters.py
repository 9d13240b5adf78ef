"""Print the Python interpreters of this machine that the quick part of the tests should run on, one path a line.

``make test-others`` asks for them. Looked for are the supported versions other than the running one, as commands on
``PATH`` and as installations of pyenv, and a free-threaded build. A command that does not start is left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# The newest last; ``t`` marks a build without the global interpreter lock.
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.14t")
_PRINT_VERSION = """
import sys, sysconfig
print("%d.%d" % sys.version_info[:2] + "t" * (sysconfig.get_config_var("Py_GIL_DISABLED") or 0))
"""


def version_of(command: str) -> str | None:
    """Return the version of an interpreter as in ``SUPPORTED``, None if it does not start."""
    try:
        done = subprocess.run([command, "-c", _PRINT_VERSION], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def candidates() -> Iterator[str]:
    """Yield commands and paths that may be interpreters of a supported version."""
    for version in SUPPORTED:
        if command := shutil.which(f"python{version}"):
            yield command
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
        yield from map(str, sorted(Path(root).glob("versions/3.*/bin/python")))


def others() -> dict[str, str]:
    """Return the path of one interpreter for each supported version that is not the running one."""
    found: dict[str, str] = {}
    for command in candidates():
        version = version_of(command)
        if version in SUPPORTED and version != version_of(sys.executable):
            found.setdefault(version, command)
    return found


if __name__ == "__main__":
    print("\n".join(path for _, path in sorted(others().items())))
