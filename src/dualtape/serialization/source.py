"""Sources and destinations of bytes: a path or an open file, read in pieces or mapped; atomic replacement of files."""

from __future__ import annotations

import io
import os
import pickle
import secrets
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np


class FileFormatError(RuntimeError, pickle.UnpicklingError):
    """Raised for a file that cannot be read: truncated, damaged, of another kind, or with refused content.

    It is both of the errors that PyTorch raises for such files.
    """


class CallersError(BaseException):
    """Carries an exception of a caller's function past the handlers for damaged files.

    Parameters
    ----------
    error : BaseException
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


# what reading a damaged file may raise; memory that runs out and a disk that fails are no fault of the file's
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, EOFError, struct.error)


class Source:
    """The bytes of a file, by position.

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
        """Return the source at a path, or that of an open file, which stays open."""
        if isinstance(place, (str, os.PathLike)):
            with open(place, "rb") as file:
                yield cls(file, os.fspath(place), mapped)
        elif mapped:
            raise ValueError(f"load: mmap=True needs the path of a file, got a {type(place).__name__}")
        elif not hasattr(place, "read") or not hasattr(place, "seek"):
            raise TypeError(f"load: expected a path or an open binary file that can seek, got {type(place).__name__}")
        else:
            yield cls(place, str(getattr(place, "name", type(place).__name__)))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context that turns any error that a damaged file causes into a FileFormatError with the file's name."""
        callers: BaseException | None = None
        try:
            yield
        except CallersError as carrier:
            callers = carrier.error
        except FileFormatError as error:
            raise type(error)(f"{self.name}: {error}") from None
        except DAMAGE as error:
            text = str(error)
            shown = text if len(text) <= 200 else text[:200] + "..."
            raise FileFormatError(f"{self.name}: the file is damaged: {type(error).__name__}: {shown}") from error
        if callers is not None:
            raise callers

    def read(self, start: int, count: int) -> bytes:
        """Return ``count`` bytes from a position on."""
        self._check(start, count)
        self.file.seek(self._base + start)
        data = self.file.read(count)
        if len(data) != count:
            raise FileFormatError(f"{len(data)} bytes came where {count} were asked for")
        return data

    def _check(self, start: int, count: int) -> None:
        if start < 0 or count < 0:
            raise FileFormatError(f"{count} bytes from byte {start}: no part of a file")
        if start + count > self.size:
            raise FileFormatError(f"ends at byte {self.size}, before byte {start + count}: truncated?")

    def array(self, start: int, count: int) -> np.ndarray:
        """Return ``count`` bytes from a position on, as a writable array of its own."""
        self._check(start, count)
        if self.mapped and count:
            return np.asarray(np.memmap(self.name, np.uint8, "c", start, (count,)))
        return np.frombuffer(bytearray(self.read(start, count)), np.uint8)


@contextmanager
def replacing(place: str | os.PathLike) -> Iterator[Any]:
    """Context with a file to write, which replaces the old one when it is complete, and is removed if writing fails."""
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
