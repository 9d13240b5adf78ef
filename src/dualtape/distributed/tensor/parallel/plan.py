"""Plans: the style of each submodule, by its name."""

from __future__ import annotations

import warnings
from fnmatch import fnmatchcase

from ....nn import Module
from ...device_mesh import DeviceMesh
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Shard a module by a plan, in place.

    Parameters
    ----------
    module : Module
    device_mesh : DeviceMesh, optional
        The processes, along one dimension (of a larger mesh take ``mesh["name"]``); all by default.
    parallelize_plan : ParallelStyle or dict
        One style for the module itself, or styles by the names of its submodules; each part of a name may have the
        wildcards of file names: ``"layers.*.mlp"``.
    src_data_rank : int, optional
        Whose values the parameters have, by the place in the mesh; None for each process's own.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    >>> net = dt.nn.Sequential(dt.nn.Linear(4, 8), dt.nn.ReLU(), dt.nn.Linear(8, 2))
    >>> plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    >>> net = parallelize_module(net, init_device_mesh("cpu", (1,)), plan)
    >>> net(dt.ones(3, 4)).shape
    dualtape.Size([3, 2])
    >>> destroy_process_group()
    """
    mesh = DeviceMesh("cpu") if device_mesh is None else device_mesh
    if mesh.ndim != 1:
        raise ValueError(
            f'parallelize_module: the mesh must have one dimension, got {mesh.ndim}: take one of them, mesh["name"]'
        )
    if parallelize_plan is None:
        warnings.warn("parallelize_module: no parallelize_plan is given: nothing is done", UserWarning, stacklevel=2)
        return module
    styles = list(parallelize_plan.values()) if isinstance(parallelize_plan, dict) else [parallelize_plan]
    for style in styles:
        if not isinstance(style, ParallelStyle):
            raise TypeError(
                "parallelize_module: expected a ParallelStyle or a dict of them for parallelize_plan, found"
                f" {type(style).__name__}"
            )
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan = {"": parallelize_plan}
    found = {name: _matches(module, name) for name in parallelize_plan}
    for name, style in parallelize_plan.items():
        if not found[name]:
            warnings.warn(f"parallelize_module: no submodule matches {name!r}", UserWarning, stacklevel=2)
        style.src_data_rank = src_data_rank
        for each in found[name]:
            style._apply(each, mesh)
    return module


def _matches(module: Module, name: str) -> list[Module]:
    """Return the submodules whose dotted name matches ``name``; the module itself if it is empty."""
    level = [module]
    for part in name.split(".") if name else ():
        level = [child for each in level for key, child in each.named_children() if fnmatchcase(key, part)]
    return level
