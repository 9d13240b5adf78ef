"""``save`` and ``load``: detecting the kind of a file, and placing its tensors."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from typing import Any

from .._tensor import device as devices
from .._tensor.device import device
from .._tensor.storage import UntypedStorage
from .._tensor.tensor import Tensor, wrap
from . import checkpoints, objects, reading, safetensors, structure
from .limits import Budget
from .source import CallersError, FileFormatError, Source, replacing

_KEY = "dualtape"  # under which the structure stands in a file's metadata


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 4) -> None:
    """Write tensors, and the containers and plain values around them, into a file.

    The file is a ``.safetensors`` file that other programs read as well; the containers stand in its metadata. A
    mapping of names to tensors, as ``state_dict`` gives it, keeps its names. Tensors over one memory share memory
    again when they are loaded; gradients and history are not saved.

    Parameters
    ----------
    obj : object
        Tensors, arrays, numbers, strings, bytes, dtypes, devices, in lists, tuples, dicts and sets. Anything else, as a
        module, is pickled, and read back only with ``weights_only=False``, since that runs code: its ``state_dict()``
        is plain data.
    f : path or binary file
        A path is replaced at once, when all is written.
    pickle_module : module
        What pickles objects that are no plain data.
    pickle_protocol : int
        Of these pickles; at least 4.

    Examples
    --------
    >>> import io
    >>> import dualtape as dt
    >>> file = io.BytesIO()
    >>> dt.save({"weight": dt.ones(2), "epoch": 3}, file)
    >>> dt.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    try:
        writer = structure.Writer(obj)
        node = writer.structure
    except structure.NotPlain as refusal:
        try:
            node, writer = objects.described(obj, pickle_module, pickle_protocol)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise TypeError(f"{refusal}; it cannot be pickled either: {error}") from None
    metadata = {_KEY: json.dumps(node, allow_nan=False, separators=(",", ":"))}
    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as file:
            safetensors.write(file, writer.arrays, metadata)
    elif hasattr(f, "write"):
        safetensors.write(f, writer.arrays, metadata)
    else:
        raise TypeError(f"save: expected a path or an open binary file ('write'), got {type(f).__name__}")


def load(f: Any, map_location: Any = None, *, weights_only: bool | None = None, mmap: bool | None = None) -> Any:
    """Read a file written by :func:`save`, a ``.safetensors`` file, or a PyTorch checkpoint.

    By default no file runs code: tensors and plain containers are read, and what else a file asks for is refused by
    name, unless it is among the safe globals (:func:`dualtape.serialization.add_safe_globals`).

    Parameters
    ----------
    f : path or binary file that can seek
    map_location : str, device, dict or callable, optional
        Where tensors are to be: a device, for each device another one, or a function of a storage and of the name of
        its device that gives a storage, or None. Default: where they were.
    weights_only : bool, optional
        False: read objects of any class, which runs whatever code the file asks for. Only for files that you would run
        as a program. Default: True.
    mmap : bool, optional
        Whether the tensors' memory is the file itself, read when it is touched, and never written back. Only for files
        that nobody shortens meanwhile: the operating system ends a process that touches a page beyond the file's end.

    Raises
    ------
    dualtape.serialization.FileFormatError
        If the file is truncated, damaged, of another kind, or asks for what is refused; the message names the file. It
        is a RuntimeError and a ``pickle.UnpicklingError``, which are PyTorch's errors for such files.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.load("model.pt", map_location="cpu")  # doctest: +SKIP
    """
    placed = _placing(map_location)
    with Source.opened(f, bool(mmap)) as source, source.reading():
        start = source.read(0, min(9, source.size))
        if start[:4] == b"PK\x03\x04":
            return checkpoints.read(source, placed, weights_only is False)
        if start[8:] != b"{":
            kind = "neither a .safetensors file nor a checkpoint"
            if start[:1] == b"\x80":
                kind = "a pickle outside of an archive, as PyTorch wrote before 1.6: load it there and save it again"
            raise FileFormatError(f"the file is {kind}")
        arrays, metadata = safetensors.read(source)
        if _KEY not in metadata:
            return {name: placed(wrap(array), "cpu") for name, array in arrays.items()}
        budget = Budget(len(metadata[_KEY]), source.size)
        node = json.loads(metadata[_KEY])
        reader = reading.Reader(arrays, placed, budget)
        if not isinstance(node, dict) or "pickle" not in node:
            return reader.value(node)
        return reader.unpickled(node, weights_only is False)


def _placing(map_location: Any) -> Callable[[Tensor, str], Tensor]:
    """Return a function that moves a tensor from the CPU to its place, given the device it was on."""

    def at(tensor: Tensor, where: Any) -> Tensor:
        return tensor if device(where).type == "cpu" else tensor.to(where)

    def as_it_was(tensor: Tensor, location: str) -> Tensor:
        if location != "cpu":
            try:
                devices.cupy(device(location))
            except RuntimeError as error:
                raise RuntimeError(
                    f"load: the file has a tensor on {location}, which is not here ({error}); load it with"
                    " map_location='cpu'"
                ) from None
        return at(tensor, location)

    if map_location is None:
        return as_it_was
    if isinstance(map_location, (str, device)):
        device(map_location)
        return lambda tensor, location: at(tensor, map_location)
    if isinstance(map_location, dict):
        for found in map_location.values():
            device(found)
        return lambda tensor, location: as_it_was(tensor, str(map_location.get(location, location)))
    if not callable(map_location):
        raise TypeError(f"load: map_location is a device, a dict or a function, not a {type(map_location).__name__}")

    def by_function(tensor: Tensor, location: str) -> Tensor:
        try:
            placed = asked(tensor, location)
        except BaseException as error:
            raise CallersError(error) from None
        return as_it_was(tensor, location) if placed is None else placed

    def asked(tensor: Tensor, location: str) -> Tensor | None:
        found = map_location(tensor.untyped_storage(), location)
        if found is None:
            return None
        if not isinstance(found, UntypedStorage):
            raise TypeError(f"load: map_location gave a {type(found).__name__}, not a storage or None")
        if found is not tensor.untyped_storage():
            raise NotImplementedError("load: map_location gave another storage: name the device instead")
        return tensor

    return by_function
