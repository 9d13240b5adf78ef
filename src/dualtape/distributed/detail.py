"""``DUALTAPE_DISTRIBUTED_DEBUG=detail``: before each collective all ranks say what they are about to do, and where; if
it is not the same, all of them raise.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import numpy as np

from ..autograd.versions import caller, describe
from .failure import DistBackendError, wait_for
from .groups import ProcessGroup

__all__ = ["check_same", "wanted"]


def wanted() -> bool:
    """Whether the environment asks for it."""
    return os.environ.get("DUALTAPE_DISTRIBUTED_DEBUG", "").lower() == "detail"


def _finished(request: Any, group: ProcessGroup, name: str, buffers: Any) -> None:
    why = wait_for(request.Test, group.timeout.total_seconds(), group.missing)
    if why is not None:
        raise group.break_off(f"{name}: {why}", request, buffers)


def texts_of_all(group: ProcessGroup, name: str, text: str) -> list[str]:
    """A text of every rank, by two collectives of MPI's: how long they are, and they themselves."""
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


def check_same(group: ProcessGroup, name: str, said: dict[str, Any]) -> None:
    """Raise on every rank unless all of them say the same."""
    where = describe(caller(2)) or "nowhere"
    mine = ", ".join(f"{key}={value}" for key, value in said.items())
    answers = [json.loads(text) for text in texts_of_all(group, name, json.dumps([f"{name}({mine})", where]))]
    calls = [call for call, _ in answers]
    if len(set(calls)) == 1:
        return
    usual = Counter(calls).most_common(1)[0][0]
    lines = [
        f"\n  {'*' if call != usual else ' '} rank {rank}: {call} at {place}"
        for rank, (call, place) in zip(group.ranks, answers, strict=True)
    ]
    raise DistBackendError("the ranks of a group called different collectives:" + "".join(lines))
