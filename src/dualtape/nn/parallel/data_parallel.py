"""``DataParallel``: a module on the devices of one process, of which there is one here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module


class DataParallel(Module):
    """A module on one device: the same as PyTorch's where there is a single device, or none.

    Parameters
    ----------
    module : Module
    device_ids : sequence, optional
        At most one: a batch is not split over GPUs; processes do that (:class:`DistributedDataParallel`).
    output_device : device, optional
        Where results go.
    dim : int
        The dimension of the batch: nothing is split.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.parallel.DataParallel(dt.nn.Identity())(dt.ones(1))
    tensor([1.])
    """

    module: Module

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError(
                f"DataParallel: {len(device_ids)} devices were named, and one process uses one: start a process for"
                " each (dualtape launch) with DistributedDataParallel"
            )
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's result."""
        result = self.module(*inputs, **kwargs)
        return result if self.output_device is None else result.to(self.output_device)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """The result of :class:`DataParallel` of a module for these inputs.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.parallel.data_parallel(dt.nn.Identity(), dt.ones(1))
    tensor([1.])
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
