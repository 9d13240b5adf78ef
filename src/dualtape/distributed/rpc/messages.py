"""Messages: values as bytes, with the memory of tensors and arrays beside the pickled part, copied once.

Tensors that require grad are sent with their history inside an ``autograd.context()``; references (``RRef``) are
counted.
"""

from __future__ import annotations

import io
import pickle
import sys
from types import FunctionType
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.bfloat16_dtype import BFLOAT16, cast
from ...nn import Parameter
from . import history

__all__ = ["Message", "pack"]

_ALIGNED = 64  # bytes: where the memory of arrays begins


class _Pickler(pickle.Pickler):
    def __init__(self, file: Any, buffers: list) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self.tensors: list[Tensor] = []
        self._places: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) not in (Tensor, Parameter):
            return None
        array = obj._array
        if type(array) is not np.ndarray and array.dtype is not BFLOAT16:
            raise TypeError(f"a tensor over {type(array).__name__} is not sent: send a dense tensor of the CPU's")
        place = self._places.get(id(obj))
        if place is None:
            place = self._places[id(obj)] = len(self.tensors)
            self.tensors.append(obj)
        return place

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FunctionType) and obj.__module__.startswith(f"{_PACKAGE}."):
            name = obj.__name__
            if getattr(sys.modules[_PACKAGE], name, None) is obj:  # by the name that users know it by
                return _function, (name,)
        return NotImplemented


_PACKAGE = __name__.partition(".")[0]


def _function(name: str) -> Any:
    return getattr(sys.modules[_PACKAGE], name)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: Any, buffers: Any, tensors: list[Tensor]) -> None:
        super().__init__(io.BytesIO(data), buffers=buffers)
        self.tensors = tensors

    def persistent_load(self, pid: Any) -> Any:
        return self.tensors[pid]


def pack(kind: str, number: int | None, value: Any, agent: Any, to: int) -> np.ndarray:
    """Return a message for worker ``to``."""
    file, buffers = io.BytesIO(), []  # type: ignore[var-annotated]
    pickler = _Pickler(file, buffers)
    pickler.dump(value)
    context = history.current_context.get()
    tensors = pickler.tensors
    moving = [k for k, t in enumerate(tensors) if t.requires_grad]
    message = None
    if context is not None:
        history.context_of(context, make=True).workers.add(to)
        if moving:
            message = history.leave([tensors[k] for k in moving], context, agent.rank, to)
    described, parts = [], [np.frombuffer(b.raw(), np.uint8) for b in buffers]
    for t in tensors:
        array = t._array
        values = np.ascontiguousarray(array.values if array.dtype is BFLOAT16 else array)
        described.append((t.dtype.numpy.name, tuple(array.shape), t.requires_grad))
        parts.append(values.reshape(-1).view(np.uint8))
    sizes = [part.nbytes for part in parts]
    head = pickle.dumps((kind, number, agent.rank, context, file.getvalue(), described, sizes, message, moving))
    start = 8 + len(head)
    starts = []
    for size in sizes:
        start = -(-start // _ALIGNED) * _ALIGNED
        starts.append(start)
        start += size
    data = np.empty(start, np.uint8)
    view = data.data
    view[:8] = len(head).to_bytes(8, "little")
    view[8 : 8 + len(head)] = head
    for place, part in zip(starts, parts, strict=True):
        data[place : place + part.nbytes] = part
    return data


class Message:
    """A received message: its sender, its subject, and its value, which :meth:`load` reads."""

    __slots__ = ("kind", "number", "source", "context", "_data", "_start", "_rest")

    def __init__(self, data: np.ndarray) -> None:
        length = int.from_bytes(data[:8].tobytes(), "little")
        self.kind: str
        self.number: int | None
        self.source: int
        self.context: int | None  # that it was sent in
        head = pickle.loads(data.data[8 : 8 + length])
        self.kind, self.number, self.source, self.context, *self._rest = head
        self._data = data
        self._start = 8 + length

    def load(self, agent: Any) -> Any:
        """Return the value; its tensors use the memory of the message."""
        body, described, sizes, message, moving = self._rest
        start, parts = self._start, []
        for size in sizes:
            start = -(-start // _ALIGNED) * _ALIGNED
            parts.append(self._data[start : start + size])
            start += size
        first = len(parts) - len(described)
        tensors = []
        for (name, shape, requires_grad), part in zip(described, parts[first:], strict=True):
            brief = name == BFLOAT16.name
            values = part.view(np.float32 if brief else np.dtype(name)).reshape(shape)
            tensor = wrap(cast(values, BFLOAT16) if brief else values)
            tensors.append(tensor.requires_grad_(requires_grad and message is None))
        if message is not None and self.context is not None:
            history.join([tensors[k] for k in moving], message, self.context, agent)
        return _Unpickler(body, parts[:first], tensors).load()
