"""The transport of a world of one process: values are copied."""

from __future__ import annotations

from typing import Any

__all__ = ["DONE", "Alone"]


class Done:
    """A request that is done."""

    source = 0  # whoever sent it

    def Test(self) -> bool:
        return True


DONE = Done()


class Alone:
    """The transport of a group of one process."""

    on_host = False  # any array can be copied where it is
    rank = 0
    size = 1

    def __init__(self) -> None:
        self._mail: list[tuple[int, Any]] = []  # what was sent to oneself, in order

    def all_reduce(self, x: Any, op: Any) -> Any:
        return DONE

    def reduce(self, x: Any, op: Any, root: int) -> Any:
        return DONE

    def broadcast(self, x: Any, root: int) -> Any:
        return DONE

    def barrier(self) -> Any:
        return DONE

    def all_gather(self, out: Any, x: Any) -> Any:
        out[...] = x.reshape(out.shape)
        return DONE

    def reduce_scatter(self, out: Any, x: Any, op: Any) -> Any:
        out[...] = x.reshape(out.shape)
        return DONE

    def all_to_all(self, out: Any, out_counts: list[int], x: Any, in_counts: list[int]) -> Any:
        out[...] = x.reshape(out.shape)
        return DONE

    def gather(self, out: Any, x: Any, root: int) -> Any:
        out[...] = x.reshape(out.shape)
        return DONE

    def scatter(self, out: Any, x: Any, root: int) -> Any:
        out[...] = x.reshape(out.shape)
        return DONE

    def send(self, x: Any, to: int, tag: int) -> Any:
        self._mail.append((tag, x.copy()))
        return DONE

    def receive(self, out: Any, source: int | None, tag: int) -> Any:
        for k, (found, x) in enumerate(self._mail):
            if found == tag:
                del self._mail[k]
                out[...] = x.reshape(out.shape)
                return DONE
        raise RuntimeError(f"recv: this process is alone, and has sent itself nothing with tag {tag}")

    def split(self, ranks: list[int]) -> Alone:
        return Alone()

    def free(self) -> None:
        self._mail.clear()
