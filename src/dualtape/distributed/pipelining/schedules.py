"""Schedules: the order in which a stage processes the microbatches, forward and backward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from ... import pytree
from ..._tensor.tensor import Tensor
from ...modes import no_grad
from ...ops import FUNCTIONS
from .stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class _Schedule(ABC):
    """A step of a pipeline.

    Parameters
    ----------
    stage : PipelineStage
        That of this process.
    n_microbatches : int
        Into how many pieces a batch is cut, along dimension 0.
    loss_fn : callable, optional
        ``loss_fn(output, target)``, on the last stage. Without it there is no backward.
    scale_grads : bool
        Whether gradients are those of the mean of the pieces' losses; otherwise of their sum.
    args_chunk_spec, kwargs_chunk_spec, output_merge_spec
        Not here: batches are cut, and put together, along dimension 0.
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        for name, value in (
            ("args_chunk_spec", args_chunk_spec),
            ("kwargs_chunk_spec", kwargs_chunk_spec),
            ("output_merge_spec", output_merge_spec),
        ):
            if value is not None:
                raise NotImplementedError(f"{name} is not here: batches are cut along dimension 0; leave it out")
        self._check_count(n_microbatches, stage)
        self._stage = stage
        self._count = n_microbatches
        self._loss_fn = loss_fn
        self._scale = 1.0 / n_microbatches if scale_grads else 1.0

    def _check_count(self, n_microbatches: int, stage: PipelineStage) -> None:
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be at least 1, got {n_microbatches}")

    @abstractmethod
    def _order(self) -> Iterator[tuple[str, int]]:
        """Yield the actions of the stage: ("forward" or "backward", number of the microbatch)."""

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a batch through all stages, forward and backward. All processes call it.

        Parameters
        ----------
        *args
            The batch, on the first stage; the others give none.
        target : tensor, optional
            What the losses compare with, on the last stage.
        losses : list, optional
            Is filled with the losses of the pieces, on the last stage.
        return_outputs : bool
            Whether the last stage returns its outputs, put together.
        loss_kwargs : dict, optional
            For the loss.
        **kwargs
            For the module of this stage; tensors are cut as the batch is.

        Returns
        -------
        The outputs on the last stage, None on the others.
        """
        return self._run(self._loss_fn is not None, args, kwargs, target, losses, return_outputs, loss_kwargs or {})

    def eval(self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any) -> Any:
        """Run a batch through all stages, forward only; with losses, if there is a target."""
        with no_grad():
            return self._run(False, args, kwargs, target, losses, True, {})

    def _run(
        self,
        backward: bool,
        args: tuple,
        kwargs: dict,
        target: Any,
        losses: list | None,
        returned: bool,
        loss_kwargs: dict,
    ) -> Any:
        stage, count = self._stage, self._count
        if args and not stage.is_first:
            raise ValueError("step: the batch goes to the first stage; the others take what comes")
        if backward and stage.is_last and target is None:
            raise ValueError("step: the last stage needs a target for its losses")
        pieces, named = self._cut(args), self._cut(kwargs)
        targets = self._cut(target)
        found: list = [None] * count
        pending: list = [None] * count
        if losses is not None:
            losses.clear()
        try:
            for what, k in self._order() if backward else (("forward", k) for k in range(count)):
                with stage.syncing(k == count - 1):
                    if what == "backward":
                        stage.backward_piece(k, pending[k], self._scale)
                        pending[k] = None
                        continue
                    output = stage.forward_piece(k, pieces[k], named[k], backward)
                if stage.is_last:
                    if self._loss_fn is not None and target is not None:
                        pending[k] = self._loss_fn(output, targets[k], **loss_kwargs)
                        if losses is not None:
                            losses.append(pending[k])
                    if returned:
                        found[k] = output
            stage.finish()
        finally:
            stage.clear()
        return _together(found) if stage.is_last and returned else None

    def _cut(self, tree: Any) -> list:
        """Return the tree of each microbatch: tensors are split along dimension 0."""
        leaves, structure = pytree.tree_flatten(tree)
        parts = []
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                parts.append([leaf] * self._count)
                continue
            if not leaf.ndim or leaf.shape[0] < self._count:
                raise ValueError(f"a tensor of shape {list(leaf.shape)} has no {self._count} pieces along dimension 0")
            parts.append(FUNCTIONS["tensor_split"](leaf, self._count, 0))
        return [pytree.tree_unflatten([part[k] for part in parts], structure) for k in range(self._count)]


def _together(outputs: list) -> Any:
    """Return the outputs of all microbatches, concatenated."""
    structure = pytree.tree_flatten(outputs[0])[1]
    columns = zip(*[pytree.tree_leaves(each) for each in outputs], strict=True)
    return pytree.tree_unflatten([FUNCTIONS["cat"](list(column)) for column in columns], structure)


class ScheduleGPipe(_Schedule):
    __doc__ = (_Schedule.__doc__ or "").replace("A pipeline's step.", "All pieces forward, then all of them backward.")

    def _order(self) -> Iterator[tuple[str, int]]:
        for what in ("forward", "backward"):
            yield from ((what, k) for k in range(self._count))


class Schedule1F1B(_Schedule):
    __doc__ = (_Schedule.__doc__ or "").replace(
        "A pipeline's step.",
        "One piece forward, one backward, as soon as the last stage has one: a stage keeps no more pieces than there\n"
        "    are stages from it on.",
    )

    def _check_count(self, n_microbatches: int, stage: PipelineStage) -> None:
        super()._check_count(n_microbatches, stage)
        if n_microbatches < stage.num_stages:
            raise ValueError(
                f"one forward, one backward keeps {stage.num_stages} stages busy with as many microbatches or more, got"
                f" {n_microbatches}"
            )

    def _order(self) -> Iterator[tuple[str, int]]:
        ahead = self._stage.num_stages - self._stage.stage_index
        for k in range(self._count + ahead):
            if k >= ahead:
                yield "backward", k - ahead
            if k < self._count:
                yield "forward", k
