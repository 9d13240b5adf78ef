"""A stage: the layers of one process, with its incoming and outgoing tensors, forward and backward.

Tensors are sent to the next stage after a message with their shapes and dtypes, gradients to the one before. Sends are
awaited at the end of a step only; receives arrive in the order of the sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.device import device as as_device
from ..._tensor.tensor import Tensor, wrap
from ...autograd import backward
from ...nn import Module
from .. import point_to_point
from ..groups import default_group, member

__all__ = ["PipelineStage"]

_KINDS = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
_NOTE = 64  # numbers that describe what is sent
_FORWARD, _BACKWARD = 101, 102  # tags


class PipelineStage:
    """The part of a pipeline on this process.

    Parameters
    ----------
    submodule : Module
        Its layers: they take what the stage before gives.
    stage_index, num_stages : int
        Which of how many; stage k is on rank k of the group.
    device : device
        Where the layers are.
    input_args, output_args : tensor or tuple of tensors, optional
        Like what comes in and goes out for one piece of a batch; if given, they are compared.
    group : ProcessGroup, optional
        The processes; all by default.
    output_grads, input_grads, dw_builder, get_mesh
        Not here: gradients are described as they are sent, and computed in one.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed as dist
    >>> from dualtape.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> dist.init_process_group()
    >>> stage = PipelineStage(dt.nn.Linear(3, 1), 0, 1, dt.device("cpu"))
    >>> schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=dt.nn.functional.mse_loss)
    >>> losses = []
    >>> schedule.step(dt.ones(4, 3), target=dt.ones(4, 1), losses=losses).shape, len(losses)
    (dualtape.Size([4, 1]), 2)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable | None = None,
        get_mesh: Any = None,
    ) -> None:
        for name, value in (
            ("output_grads", output_grads),
            ("input_grads", input_grads),
            ("dw_builder", dw_builder),
            ("get_mesh", get_mesh),
        ):
            if value is not None:
                raise NotImplementedError(f"PipelineStage: {name} is not here; leave it out")
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"stage_index must be from 0 to {num_stages - 1}, got {stage_index}")
        found = default_group() if group is None else member(group)
        if found is None or found.size() != num_stages or found.rank() != stage_index:
            where = "no rank" if found is None else f"rank {found.rank()} of {found.size()}"
            raise ValueError(
                f"PipelineStage: stage {stage_index} of {num_stages} must be on rank {stage_index} of a group of"
                f" {num_stages}, this is {where}"
            )
        self.submod = self.submodule = submodule
        self.stage_index, self.num_stages = stage_index, num_stages
        self.device = as_device(device)
        self.group = found
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._like = {"input": _listed(input_args), "output": _listed(output_args)}
        self._kept: dict[int, tuple[list, list]] = {}  # inputs and outputs of pieces that have no gradients yet
        self._under_way: list = []

    # --- one piece --------------------------------------------------------------------------------

    def forward_piece(self, k: int, args: tuple, kwargs: dict, keep: bool) -> Any:
        """Run the forward of a microbatch, and return its outputs."""
        inputs = list(args) if self.is_first else self._received(self.stage_index - 1, _FORWARD)
        self._compare("input", inputs)
        output = self.submodule(*inputs, **kwargs)
        outputs = list(output) if isinstance(output, tuple) else [output]
        self._compare("output", outputs)
        if not self.is_last:
            self._send(outputs, self.stage_index + 1, _FORWARD, [t.requires_grad and keep for t in outputs])
        if keep:
            self._kept[k] = (inputs, outputs)
        return output

    def backward_piece(self, k: int, loss: Tensor | None, scale: float) -> None:
        """Run the backward of a microbatch, from its loss or from the gradients that the next stage sends."""
        inputs, outputs = self._kept.pop(k)
        if loss is not None:
            loss.backward(loss.new_full((), scale))
        else:
            wanted = [t for t in outputs if t.requires_grad]
            grads = self._received(self.stage_index + 1, _BACKWARD)
            if wanted:
                backward(wanted, grads)
        if not self.is_first:
            asked = [t for t in inputs if t.requires_grad]
            zero = lambda t: wrap(np.zeros(t.shape, t._array.dtype))
            self._send(
                [zero(t) if t.grad is None else t.grad for t in asked],
                self.stage_index - 1,
                _BACKWARD,
                [False] * len(asked),
            )

    @contextmanager
    def syncing(self, last: bool) -> Iterator[None]:
        """Context in which the gradients of a module that averages over other processes are averaged only with the last
        microbatch.
        """
        module: Any = self.submodule
        if last or not (hasattr(module, "no_sync") or hasattr(module, "set_requires_gradient_sync")):
            yield
        elif hasattr(module, "no_sync"):
            with module.no_sync():
                yield
        else:
            module.set_requires_gradient_sync(False)
            try:
                yield
            finally:
                module.set_requires_gradient_sync(True)

    def finish(self) -> None:
        """Wait until everything is sent."""
        for work in self._under_way:
            work.wait()
        self._under_way.clear()

    def clear(self) -> None:
        """Discard the microbatches of a step."""
        self._kept.clear()

    def _compare(self, what: str, tensors: list) -> None:
        like = self._like[what]
        if like is None:
            return
        got, want = ([(list(t.shape), t.dtype) for t in each] for each in (tensors, like))
        if got != want:
            raise ValueError(f"PipelineStage: {what}_args says {want}, and {got} came")

    # --- messages ---------------------------------------------------------------------------------

    def _send(self, tensors: list[Tensor], to: int, tag: int, requires_grad: list[bool]) -> None:
        note = [len(tensors)]
        for tensor, asked in zip(tensors, requires_grad, strict=True):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"a stage gives tensors, got {type(tensor).__name__}")
            note += [_KINDS.index(tensor.dtype.numpy.name), int(asked), tensor.ndim, *tensor.shape]
        if len(note) > _NOTE:
            raise ValueError(f"a stage gives too many tensors, or with too many dimensions: {note}")
        padded = wrap(np.array(note + [0] * (_NOTE - len(note)), np.int64))
        for tensor in (padded, *[t.detach() for t in tensors]):
            self._under_way.append(point_to_point.isend(tensor, group=self.group, tag=tag, group_dst=to))

    def _received(self, source: int, tag: int) -> list[Tensor]:
        note = wrap(np.zeros(_NOTE, np.int64))
        point_to_point.recv(note, group=self.group, tag=tag, group_src=source)
        count, *rest = note.tolist()
        found = []
        for _ in range(count):
            kind, asked, ndim, *rest = rest
            shape, rest = rest[:ndim], rest[ndim:]
            tensor = wrap(np.zeros(shape)).to(getattr(dtypes, _KINDS[kind]))
            point_to_point.recv(tensor, group=self.group, tag=tag, group_src=source)
            found.append(tensor.requires_grad_(bool(asked)))
        return found


def _listed(value: Any) -> list | None:
    return None if value is None else list(value) if isinstance(value, (tuple, list)) else [value]
