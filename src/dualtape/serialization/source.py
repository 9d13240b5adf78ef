"""Where bytes come from and go to: a path or an open file, read in pieces or mapped; a file replaced at once."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np


class FileFormatError(RuntimeError):
    """A file is not what it says it is: truncated, damaged, or of another kind."""


class Source:
    """The bytes of a file, by place.

    Parameters
    ----------
    file : binary file that can seek
    name : str
        For errors.
    mapped : bool
        Whether arrays are the file's own pages, read when they are touched, and private to the process when they are
        written.
    """

    def __init__(self, file: Any, name: str, mapped: bool = False) -> None:
        self.file, self.name, self.mapped = file, name, mapped
        self._base = 0 if mapped else file.tell()
        file.seek(0, io.SEEK_END)
        self.size = file.tell() - self._base

    @classmethod
    @contextmanager
    def opened(cls, place: Any, mapped: bool = False) -> Iterator[Source]:
        """The source at a path, or that of an open file, which stays open."""
        if isinstance(place, (str, os.PathLike)):
            with open(place, "rb") as file:
                yield cls(file, os.fspath(place), mapped)
        elif mapped:
            raise ValueError(f"load: mmap=True needs the path of a file, got a {type(place).__name__}")
        elif not hasattr(place, "read") or not hasattr(place, "seek"):
            raise TypeError(f"load: expected a path or an open binary file that can seek, got {type(place).__name__}")
        else:
            yield cls(place, getattr(place, "name", type(place).__name__))

    def read(self, start: int, count: int) -> bytes:
        """So many bytes from a place on."""
        if start + count > self.size:
            raise FileFormatError(f"{self.name}: ends at byte {self.size}, before byte {start + count}: truncated?")
        self.file.seek(self._base + start)
        data = self.file.read(count)
        if len(data) != count:
            raise FileFormatError(f"{self.name}: {len(data)} bytes came where {count} were asked for")
        return data

    def array(self, start: int, count: int) -> np.ndarray:
        """So many bytes from a place on, as an array of its own that can be written."""
        if start + count > self.size:
            raise FileFormatError(f"{self.name}: ends at byte {self.size}, before byte {start + count}: truncated?")
        if self.mapped and count:
            return np.asarray(np.memmap(self.name, np.uint8, "c", start, (count,)))
        return np.frombuffer(bytearray(self.read(start, count)), np.uint8)


@contextmanager
def replacing(place: str | os.PathLike) -> Iterator[Any]:
    """A file to write, which takes the place of the old one when all is written, or is gone if writing failed."""
    path = Path(place).resolve()  # what a link points to is replaced, not the link
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(beside, path.stat().st_mode & 0o777)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
