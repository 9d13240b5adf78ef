"""``DUALTAPE_DISTRIBUTED_DEBUG=detail``: before each collective all ranks exchange their call and its line; if the
calls differ, all of them raise.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.versions import caller, describe
from .failure import DistBackendError, wait_for

if TYPE_CHECKING:
    from .groups import ProcessGroup

__all__ = ["calls_of_all", "check_same", "differences", "level"]

_LEVELS = ("off", "info", "detail")


def level() -> str:
    """Return how much is compared, from the environment: "off", "info" (the default) or "detail"."""
    found = os.environ.get("DUALTAPE_DISTRIBUTED_DEBUG", "").lower() or "info"
    if found not in _LEVELS:
        raise ValueError(f"DUALTAPE_DISTRIBUTED_DEBUG must be one of {', '.join(_LEVELS)}, got {found!r}")
    return found


def _finished(request: Any, group: ProcessGroup, name: str, buffers: Any) -> None:
    why = wait_for(request.Test, group.timeout.total_seconds(), group.missing)
    if why is not None:
        raise group.break_off(f"{name}: {why}", request, buffers)


def texts_of_all(group: ProcessGroup, name: str, text: str) -> list[str]:
    """Return a text of every rank, by two MPI collectives: the lengths, then the texts."""
    transport = getattr(group.transport, "below", group.transport)
    data = np.frombuffer(text.encode(), np.uint8).copy()
    lengths = np.zeros(group.size(), np.int64)
    own = np.array([data.size], np.int64)
    _finished(transport.all_gather(lengths, own), group, name, (lengths, own))
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: data.size] = data
    texts = np.zeros((group.size(), padded.size), np.uint8)
    _finished(transport.all_gather(texts, padded), group, name, (texts, padded))
    return [row[:n].tobytes().decode() for row, n in zip(texts, lengths, strict=True)]


def calls_of_all(group: ProcessGroup, name: str, said: dict[str, Any], where: str) -> list[tuple[str, str]]:
    """Return the calls that all ranks of a group are about to make, and their lines."""
    mine = ", ".join(f"{key}={value}" for key, value in said.items())
    return [tuple(json.loads(text)) for text in texts_of_all(group, name, json.dumps([f"{name}({mine})", where]))]


def differences(group: ProcessGroup, answers: list[tuple[str, str]]) -> str:
    """Return a message that lists the calls of all ranks, with a star at those that differ from the majority."""
    usual = Counter([call for call, _ in answers]).most_common(1)[0][0]
    lines = [
        f"\n  {'*' if call != usual else ' '} rank {rank}: {call} at {place}"
        for rank, (call, place) in zip(group.ranks, answers, strict=True)
    ]
    return "the ranks of a group called different collectives:" + "".join(lines)


def check_same(group: ProcessGroup, name: str, said: dict[str, Any]) -> None:
    """Raise on every rank unless all of them make the same call."""
    answers = calls_of_all(group, name, said, describe(caller(2)) or "nowhere")
    if len({call for call, _ in answers}) > 1:
        raise DistBackendError(differences(group, answers))
