"""``python -m tools.release 0.2.0``: check, build and tag a release. It publishes nothing.

The steps, each of which stops the release if it fails:

1. the tree is clean, on ``main``, and the version is newer than the one in ``src/dualtape/__init__.py``;
2. ``CHANGELOG.md`` has an entry for what is unreleased, which gets the version and today's date;
3. ``.ci/run`` passes;
4. the source distribution and the wheel are built into ``dist``, and the wheel works in an environment of its own;
5. version and changelog are committed, and the commit is tagged ``v0.2.0``.

``--dry-run`` does 1, 2 and 4 and leaves the tree as it was.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
INIT = ROOT / "src" / "dualtape" / "__init__.py"
CHANGELOG = ROOT / "CHANGELOG.md"
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.M)
_UNRELEASED = re.compile(r"^## (\S+) \(unreleased\)$", re.M)
_PROGRAM = "import dualtape as dt; x = dt.ones(2, requires_grad=True); x.exp().sum().backward(); print(dt.__version__)"


class ReleaseError(Exception):
    """A release that cannot be made; the message says what to do."""


def parsed(version: str) -> tuple[int, ...]:
    """Return a version as numbers: ``"0.2.0"`` is ``(0, 2, 0)``."""
    if re.fullmatch(r"\d+\.\d+\.\d+", version) is None:
        raise ReleaseError(f"expected a version as 1.2.3, got {version!r}")
    return tuple(map(int, version.split(".")))


def with_version(init: str, version: str) -> str:
    """Return the text of ``__init__.py`` with another version, which must not be older than the one it has."""
    match = _VERSION.search(init)
    if match is None:
        raise ReleaseError(f"{INIT.name} has no line __version__ = ...")
    if parsed(version) < parsed(match[1]):
        raise ReleaseError(f"{version} is older than {match[1]}, which {INIT.name} has")
    return _VERSION.sub(f'__version__ = "{version}"', init)


def dated(changelog: str, version: str, day: datetime.date) -> str:
    """Return the changelog with its unreleased entry under ``version`` and ``day``."""
    match = _UNRELEASED.search(changelog)
    if match is None:
        raise ReleaseError("CHANGELOG.md has no entry '## VERSION (unreleased)': what is new in this release?")
    return changelog[: match.start()] + f"## {version} ({day.isoformat()})" + changelog[match.end() :]


def run(*command: str | Path) -> str:
    """Run a command in the repository and return what it printed; a failure stops the release."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def check_tree() -> None:
    """Stop unless the tree is clean and on ``main``."""
    branch = run("git", "branch", "--show-current").strip()
    if branch != "main":
        raise ReleaseError(f"releases are made on main, this is {branch}")
    if changed := run("git", "status", "--porcelain"):
        raise ReleaseError(f"commit or remove these first:\n{changed}")


def build(version: str) -> list[Path]:
    """Build the source distribution and the wheel, try the wheel, and return both paths."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT)
    built = sorted(dist.iterdir())
    wheel = next(path for path in built if path.suffix == ".whl")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        run(python, "-m", "pip", "install", "--quiet", wheel)
        if (said := run(python, "-c", _PROGRAM).strip()) != version:
            raise ReleaseError(f"the wheel says that it is {said}, not {version}")
    return built


def main(arguments: list[str] | None = None) -> int:
    """Make a release; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description="Check, build and tag a release.")
    parser.add_argument("version", help="the new version, as 1.2.3")
    parser.add_argument("--dry-run", action="store_true", help="check and build, change nothing")
    options = parser.parse_args(arguments)
    try:
        if release(options.version, options.dry_run):
            print(f"tagged v{options.version}: push main and the tag, then upload dist/*")
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def release(version: str, dry_run: bool) -> bool:
    """Make a release and return whether it is tagged; whatever stops it leaves version and changelog as they were."""
    before = {path: path.read_text(encoding="utf-8") for path in (INIT, CHANGELOG)}
    after = {
        INIT: with_version(before[INIT], version),
        CHANGELOG: dated(before[CHANGELOG], version, datetime.date.today()),
    }
    check_tree()
    tagged = False
    try:
        for path, text in after.items():
            path.write_text(text, encoding="utf-8")
        if not dry_run:
            run("bash", ".ci/run")
        for path in build(version):
            print(path.relative_to(ROOT))
        if not dry_run:
            run("git", "commit", "--quiet", "--all", "--message", f"Release {version}")
            run("git", "tag", "--annotate", f"v{version}", "--message", f"dualtape {version}")
            tagged = True
    finally:
        if not tagged:
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")
    return tagged


if __name__ == "__main__":
    sys.exit(main())
