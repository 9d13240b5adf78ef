"""The release script changes version and changelog as they should be, and stops at what is not in order."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tools import interpreters, release

INIT = 'x = 1\n__version__ = "0.1.0"\n'
CHANGES = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0 (2026-01-02)\n\n- first\n"


def test_a_release_sets_version_and_date() -> None:
    assert release.with_version(INIT, "0.2.0") == 'x = 1\n__version__ = "0.2.0"\n'
    dated = release.dated(CHANGES, "0.2.0", datetime.date(2026, 3, 4))
    assert "## 0.2.0 (2026-03-04)\n\n- new" in dated
    assert "## 0.1.0 (2026-01-02)" in dated


@pytest.mark.parametrize("version", ["0.0.9", "1.0", "v0.2.0", "0.2.0rc1"])
def test_an_older_or_malformed_version_is_refused(version: str) -> None:
    with pytest.raises(release.ReleaseError, match="older|expected a version"):
        release.with_version(INIT, version)


def test_a_changelog_without_news_is_refused() -> None:
    with pytest.raises(release.ReleaseError, match="no entry"):
        release.dated("# Changelog\n\n## 0.1.0 (2026-01-02)\n", "0.2.0", datetime.date(2026, 3, 4))


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Version and changelog in a folder of the test's, with the release script told so."""
    paths = [tmp_path / "__init__.py", tmp_path / "CHANGELOG.md"]
    for name, path, text in zip(("INIT", "CHANGELOG"), paths, (INIT, CHANGES), strict=True):
        path.write_text(text)
        monkeypatch.setattr(release, name, path)
    return paths


def test_a_release_of_a_changed_tree_is_refused_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, copies: list[Path]
) -> None:
    replies = {"branch": "main\n", "status": " M README.md\n"}
    monkeypatch.setattr(release, "run", lambda *command: replies[command[1]])
    assert release.main(["9.0.0"]) == 1
    assert [path.read_text() for path in copies] == [INIT, CHANGES]


def test_a_failing_check_leaves_version_and_changelog_as_they_were(
    monkeypatch: pytest.MonkeyPatch, copies: list[Path]
) -> None:
    def run(*command: str) -> str:
        if command[0] == "bash":
            assert '"9.0.0"' in release.INIT.read_text()
            raise release.ReleaseError("tests fail")
        return "main\n" if command[1] == "branch" else ""

    monkeypatch.setattr(release, "run", run)
    assert release.main(["9.0.0"]) == 1
    assert [path.read_text() for path in copies] == [INIT, CHANGES]


def test_what_is_no_interpreter_is_left_out(tmp_path: Path) -> None:
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    assert interpreters.version_of(str(broken)) is None
    assert interpreters.version_of(str(tmp_path / "absent")) is None
    assert set(interpreters.others()) <= set(interpreters.SUPPORTED)
