"""The cache of machine code on disk, and the life of compiled programs: what is run is the user's own, and still there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")
from dualtape.compiler.native import disk_cache  # noqa: E402
from dualtape.compiler.native.disk_cache import MAGIC, Folder  # noqa: E402

needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files")
CODE = b"machine code " * 100


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DUALTAPE_CACHE", "1")
    monkeypatch.setattr(disk_cache, "_opened", {})
    found = disk_cache.folder()
    assert found is not None
    yield found


def test_an_entry_is_given_back_as_it_was_put(cache: Folder) -> None:
    assert cache.get("a") is None
    cache.put("a", CODE)
    cache.put("b", CODE * 2)
    assert (cache.get("a"), cache.get("b")) == (CODE, CODE * 2)
    cache.put("a", CODE * 3)
    assert cache.get("a") == CODE * 3
    assert sorted(os.listdir(cache.path)) == ["a", "b"]


@needs_owners
def test_the_folder_is_the_users_alone(cache: Folder) -> None:
    assert cache.path.stat().st_mode & 0o077 == 0
    cache.put("a", CODE)
    assert (cache.path / "a").stat().st_mode & 0o077 == 0


def test_it_can_be_switched_off(cache: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUALTAPE_CACHE", "0")
    assert disk_cache.folder() is None


def test_a_relative_base_is_ignored(cache: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    found = disk_cache.folder()
    assert found is not None
    assert found.path == (tmp_path / "home" / ".cache" / "dualtape" / "kernels").resolve()
    assert not (tmp_path / "relative").exists()


# --- folders that others can write to -----------------------------------------------------------------


@needs_owners
@pytest.mark.parametrize("which", ["kernels", "dualtape", "base"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_or_parent_that_others_can_write_to_is_refused(tmp_path: Path, which: str, mode: int) -> None:
    base = tmp_path / "base"
    (base / "dualtape" / "kernels").mkdir(parents=True, mode=0o700)
    Folder(str(base))
    place = {"base": base, "dualtape": base / "dualtape", "kernels": base / "dualtape" / "kernels"}[which]
    place.chmod(mode)
    with pytest.raises(PermissionError, match="others can write"):
        Folder(str(base))


@needs_owners
def test_a_parent_in_which_everyone_keeps_what_is_theirs_is_taken(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    base.chmod(0o1777)  # as /tmp
    Folder(str(base)).put("a", CODE)
    (base / "dualtape" / "kernels").chmod(0o1777)
    with pytest.raises(PermissionError):
        Folder(str(base))


@needs_owners
def test_a_folder_that_is_opened_to_others_later_is_not_used_any_more(cache: Folder) -> None:
    cache.path.chmod(0o777)
    assert disk_cache.folder() is None
    cache.path.chmod(0o700)
    assert disk_cache.folder() is cache


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("which", ["kernels", "dualtape"])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, which: str) -> None:
    place = Folder(str(tmp_path)).path
    os.chown(place if which == "kernels" else place.parent, 12345, 12345)
    with pytest.raises(PermissionError, match="somebody else"):
        Folder(str(tmp_path))


@needs_owners
def test_a_folder_that_is_exchanged_for_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "dualtape").mkdir()
    (tmp_path / "dualtape" / "kernels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        Folder(str(tmp_path))


@needs_owners
def test_a_folder_that_was_opened_stays_that_folder(cache: Folder, tmp_path: Path) -> None:
    cache.put("a", CODE)
    cache.path.rename(tmp_path / "moved")
    cache.path.mkdir()
    (cache.path / "a").write_bytes(b"other code")
    assert cache.get("a") == CODE
    cache.put("b", CODE)
    assert (tmp_path / "moved" / "b").exists() and not (cache.path / "b").exists()


# --- entries that are not what they were ----------------------------------------------------------------


def test_damaged_entries_are_not_read(cache: Folder) -> None:
    cache.put("a", CODE)
    entry = cache.path / "a"
    whole = entry.read_bytes()
    for damaged in (b"", b"nonsense", whole[:-1], whole + b"x", MAGIC, whole[: len(MAGIC) + 32]):
        entry.write_bytes(damaged)
        assert cache.get("a") is None
    for at in [*range(0, len(MAGIC) + 40, 3), len(whole) - 1]:
        entry.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert cache.get("a") is None, at
    entry.write_bytes(whole)
    assert cache.get("a") == CODE


def test_an_entry_under_another_key_is_not_read(cache: Folder) -> None:
    cache.put("a", CODE)
    (cache.path / "b").write_bytes((cache.path / "a").read_bytes())
    assert cache.get("b") is None


@needs_owners
def test_entries_that_are_no_files_of_ones_own_are_not_read(cache: Folder, tmp_path: Path) -> None:
    cache.put("a", CODE)
    (cache.path / "linked").symlink_to(cache.path / "a")
    (cache.path / "folder").mkdir()
    os.mkfifo(cache.path / "pipe")
    started = time.monotonic()
    assert [cache.get(name) for name in ("linked", "folder", "pipe", "../kernels/missing")] == [None] * 4
    assert time.monotonic() - started < 5
    (cache.path / "a").chmod(0o666)
    assert cache.get("a") is None
    (cache.path / "a").chmod(0o600)
    assert cache.get("a") == CODE
    if os.getuid() == 0:
        os.chown(cache.path / "a", 12345, -1)
        assert cache.get("a") is None


def test_an_entry_that_is_too_large_is_neither_written_nor_read(cache: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put("a", CODE)
    monkeypatch.setattr(disk_cache, "_LARGEST", 1000)
    assert cache.get("a") is None
    cache.put("b", CODE)
    assert not (cache.path / "b").exists()


# --- bounds -----------------------------------------------------------------------------------------------


def test_the_oldest_entries_are_removed(cache: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "_EVERY", 1)
    monkeypatch.setattr(disk_cache, "MOST_ENTRIES", 5)
    for k in range(12):
        cache.put(f"{k}", CODE)
        os.utime(cache.path / f"{k}", (1000 + k, 1000 + k))
    assert sorted(map(int, os.listdir(cache.path))) == [7, 8, 9, 10, 11]
    assert cache.get("7") == CODE  # which makes it the youngest
    cache.put("12", CODE)
    assert sorted(map(int, os.listdir(cache.path))) == [7, 9, 10, 11, 12]
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 3 * (len(CODE) + 60))
    cache.put("13", CODE)
    assert len(os.listdir(cache.path)) == 3 and cache.get("13") == CODE


def test_what_was_left_half_written_is_removed(cache: Folder) -> None:
    for name, age in (("tmp-1-old", 10_000), ("tmp-2-new", 10)):
        (cache.path / name).write_bytes(b"half")
        os.utime(cache.path / name, (time.time() - age,) * 2)
    cache.put("a", CODE)
    assert sorted(os.listdir(cache.path)) == ["a", "tmp-2-new"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("call", ["write", "rename"])
def test_a_write_that_fails_leaves_nothing(
    cache: Folder, error: BaseException, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise error

    cache.put("a", CODE)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fails)
        if isinstance(error, OSError):
            cache.put("b", CODE)
            cache.put("a", b"other")
        else:
            with pytest.raises(type(error)):
                cache.put("b", CODE)
    assert os.listdir(cache.path) == ["a"] and cache.get("a") == CODE


# --- programs that are collected --------------------------------------------------------------------------

COLLECTED = """
import gc, random, sys, threading
import dualtape as dt

rng = random.Random(int(sys.argv[1]))
held, entries = [], []
for k in range(60):
    n, factor = rng.choice([1, 3, 40]), float(k)
    compiled = dt.compile(lambda x, factor=factor: ((x * factor).sin() + x).sum())
    x = dt.ones(n, requires_grad=rng.random() < 0.5)
    for _ in range(3):
        result = compiled(x)
    if result.requires_grad:
        result.backward()
    for specializations in compiled._specializations.values():
        for specialization in specializations:
            entries += [(i.only, n) for i in specialization.forward._free if i.only is not None]
    held.append((compiled, x, result.item()))
    rng.shuffle(held)
    del held[20:], compiled, result, specializations, specialization, x
    if rng.random() < 0.3:
        dt.compiler.reset()
    if rng.random() < 0.3:
        gc.collect()
    del entries[: max(0, len(entries) - 30)]
    for function, _ in entries:  # the C functions outlive their programs; their names are read from definitions
        assert function.__name__ == "program", function
        repr(function)
    for compiled, x, value in held[:5]:
        assert abs(compiled(x).item() - value) < 1e-4 * max(1.0, abs(value))
print("whole")
"""


@pytest.mark.parametrize("seed", range(3))
def test_programs_that_are_collected_leave_nothing_that_points_to_them(seed: int, tmp_path: Path) -> None:
    """Freed memory is filled with other bytes by the C library here, so that a use of it shows."""
    environment = {**os.environ, "MALLOC_PERTURB_": "255", "XDG_CACHE_HOME": str(tmp_path), "PYTHONMALLOC": "malloc"}
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED, str(seed)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and done.stdout == "whole\n", (done.returncode, done.stderr[-2000:])
