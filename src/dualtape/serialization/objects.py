"""Objects of any class: pickled, with their tensors beside. Reading them runs code, and is done on request alone.

:func:`dualtape.save` writes an object that is no plain data as a pickle inside of the file's structure; its tensors are
stored like others, so that they share memory again. :func:`dualtape.load` reads it with ``weights_only=False``; by
default its reader refuses every class that is not among the safe globals.
"""

from __future__ import annotations

import base64
import importlib
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from .._tensor.tensor import Tensor
from . import structure
from .pickles import Refused, Word

__all__ = ["Unpickler", "described"]

_PROTOCOL = 4


class _Pickler(pickle.Pickler):
    """Pickles an object without its tensors, which it lists."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor) or not structure.is_plain_tensor(obj):
            return None
        if id(obj) not in self._numbers:
            self._numbers[id(obj)] = len(self.tensors)
            self.tensors.append(obj)
        return "tensor", self._numbers[id(obj)]


def described(obj: Any, module: Any = pickle, protocol: int = _PROTOCOL) -> tuple[Any, structure.Writer]:
    """Return the structure of a file for an object of any class, and the writer that has its arrays."""
    file = io.BytesIO()
    kind = _Pickler if module is pickle else type("_Pickler", (_Pickler, module.Pickler), {})
    pickler = kind(file, max(protocol, _PROTOCOL))
    pickler.dump(obj)
    writer = structure.Writer(pickler.tensors)
    node = {"pickle": base64.b64encode(file.getvalue()).decode(), "tensors": writer.structure}
    return node, writer


class Unpickler(pickle.Unpickler):
    """Reads a pickle with Python's own reader, which runs the code that it asks for.

    Parameters
    ----------
    data : bytes
    persistent : callable
        What a persistent identity stands for.
    words : mapping
        Globals that have a meaning of their own, by module and name.
    """

    def __init__(
        self, data: bytes, persistent: Callable[[Any], Any], words: Mapping[tuple[str, str], Any] | None = None
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._persistent, self._words = persistent, words or {}

    def persistent_load(self, pid: Any) -> Any:
        return self._persistent(pid)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._words:
            found = self._words[module, name]
            return found.build or found if isinstance(found, Word) else found
        if module.partition(".")[0] == "torch":
            return _ours(module, name)
        return super().find_class(module, name)


def _ours(module: str, name: str) -> Any:
    """Return what is here under a name of PyTorch's."""
    try:
        found: Any = importlib.import_module("dualtape" + module.removeprefix("torch"))
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise Refused(f"the pickle asks for {module}.{name}, which dualtape does not have") from None
    return found
