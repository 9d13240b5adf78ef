"""The cache of machine code on disk, in a folder that nobody else can write to.

What is read here is run. So the folder is opened once, component by component and without following links, and all
work goes by its descriptor; it and its parents must belong to the user or to root and not be writable for others; an
entry must be a regular file of the user's, and its hash covers its key and its content.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

MAGIC = b"dualtape kernels 2\0"
_HEAD = len(MAGIC) + 32
MOST_BYTES = 1 << 28  # of all entries
MOST_ENTRIES = 4096
_LARGEST = 1 << 26  # of one entry
_EVERY = 64  # writes between two looks at the size of the folder
# A file that a process began to write is removed after so many seconds.
_STALE = 3600.0
_BY_DESCRIPTOR = {os.open, os.mkdir, os.stat, os.unlink} <= os.supports_dir_fd and hasattr(os, "getuid")
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_lock = threading.Lock()
_opened: dict[str, Folder | None] = {}


def folder() -> Folder | None:
    """Return the folder of the cache; None if it is switched off, or no safe folder can be had."""
    if os.environ.get("DUALTAPE_CACHE", "1") == "0":
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # a relative one is ignored, as its specification says
        base = os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):
        return None
    with _lock:
        if base not in _opened:
            try:
                _opened[base] = Folder(base)
            except OSError:
                _opened[base] = None
        found = _opened[base]
    return found if found is not None and found.is_safe() else None


class Folder:
    """A folder of entries, each named by a key.

    Parameters
    ----------
    base : str
        An absolute path; the folder is ``dualtape/kernels`` in it, and is made if it is not there.

    Raises
    ------
    OSError
        The folder cannot be made, or others could put code there.
    """

    def __init__(self, base: str) -> None:
        self._writes = 0
        self.path = Path(os.path.realpath(base)) / "dualtape" / "kernels"
        self._descriptor: int | None = _open_folder(self.path) if _BY_DESCRIPTOR else None
        if self._descriptor is None:
            self.path.mkdir(parents=True, exist_ok=True)

    def is_safe(self) -> bool:
        """Return whether others still cannot write to the folder."""
        if self._descriptor is None:
            return True
        try:
            _check(os.fstat(self._descriptor), self.path, is_last=True)
        except OSError:
            return False
        return True

    def get(self, key: str) -> bytes | None:
        """Return the content of an entry; None if there is none, or it is not whole, or not the user's own."""
        try:
            file = self._open(key, _READ)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or not _HEAD < status.st_size <= _LARGEST or not _is_own(status):
                return None
            content = _read(file, status.st_size)
            if os.utime in os.supports_fd and time.time() - status.st_mtime > 60:
                with suppress(OSError):
                    os.utime(file)  # the oldest are removed first
        except OSError:
            return None
        finally:
            os.close(file)
        head, code = content[:_HEAD], content[_HEAD:]
        return code if head == MAGIC + _hash(key, code) else None

    def put(self, key: str, code: bytes) -> None:
        """Write an entry, wholly or not at all; nothing is left of one that fails."""
        if len(code) + _HEAD > _LARGEST:
            return
        temporary = f"tmp-{os.getpid()}-{secrets.token_hex(8)}"
        try:
            file = self._open(temporary, _WRITE)
        except OSError:
            return
        try:
            try:
                _write(file, MAGIC + _hash(key, code) + code)
            finally:
                os.close(file)
            if self._descriptor is None:
                os.replace(self.path / temporary, self.path / key)
            else:
                os.rename(temporary, key, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException as error:  # an interrupt too
            with suppress(OSError):
                self._remove(temporary)
            if not isinstance(error, OSError):
                raise
            return
        if self._writes % _EVERY == 0:
            self._trim()
        self._writes += 1

    def _trim(self) -> None:
        """Remove the oldest entries until the folder is within its bounds, and unfinished files of other processes."""
        found = []
        now = time.time()
        try:
            names = os.listdir(self.path if self._descriptor is None else self._descriptor)
        except OSError:
            return
        for name in names:
            with suppress(OSError):
                status = self._status(name)
                if name.startswith("tmp-") and now - status.st_mtime > _STALE:
                    self._remove(name)
                elif stat.S_ISREG(status.st_mode) and not name.startswith("tmp-"):
                    found.append((status.st_mtime, status.st_size, name))
        found.sort()
        size = sum(size for _, size, _ in found)
        count = len(found)
        for _, bytes_, name in found:
            if size <= MOST_BYTES and count <= MOST_ENTRIES:
                break
            with suppress(OSError):
                self._remove(name)
            size, count = size - bytes_, count - 1

    def _open(self, name: str, flags: int) -> int:
        if self._descriptor is None:
            return os.open(self.path / name, flags | getattr(os, "O_BINARY", 0), 0o600)
        return os.open(name, flags, 0o600, dir_fd=self._descriptor)

    def _status(self, name: str) -> os.stat_result:
        if self._descriptor is None:
            return os.stat(self.path / name, follow_symlinks=False)
        return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

    def _remove(self, name: str) -> None:
        if self._descriptor is None:
            os.unlink(self.path / name)
        else:
            os.unlink(name, dir_fd=self._descriptor)


def _open_folder(path: Path) -> int:
    """Open a folder from the root on, making what is missing; raise where others can write."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open("/", flags)
    try:
        parts = path.parts[1:]
        for k, name in enumerate(parts):
            try:
                inside = os.open(name, flags, dir_fd=here)
            except FileNotFoundError:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=here)
                inside = os.open(name, flags, dir_fd=here)
            os.close(here)
            here = inside
            _check(os.fstat(here), path, is_last=k == len(parts) - 1)
        return here
    except BaseException:
        os.close(here)
        raise


def _check(status: os.stat_result, path: Path, is_last: bool) -> None:
    """Raise unless a folder on the path to the cache is protected against changes by others."""
    if status.st_uid not in ((os.getuid(),) if is_last else (0, os.getuid())):
        raise PermissionError(errno.EPERM, "a folder on the way belongs to somebody else", str(path))
    shared = status.st_mode & 0o022
    sticky = status.st_mode & stat.S_ISVTX and not is_last  # there, everyone removes and renames what is theirs
    if shared and not sticky:
        raise PermissionError(errno.EPERM, "others can write to a folder on the way", str(path))


def _is_own(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or status.st_uid == os.getuid() and not status.st_mode & 0o022


def _hash(key: str, code: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + code).digest()


def _read(file: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(file, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]
