"""Styles: how the parameters of one module are sharded, and the placements of its inputs and outputs.

A style changes parameters in place and registers hooks on the module: one before the forward converts the inputs to
DTensors, one after it converts the outputs to what the next module expects. The module itself is not aware of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ...._tensor.tensor import Tensor
from ....nn import Embedding, Linear, Module, Parameter
from ...device_mesh import DeviceMesh
from ..api import DTensor, distribute_tensor
from ..array import Sharded
from ..placement_types import Placement, Replicate, Shard
from ..spec import code_of

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
]

Layouts = tuple[Placement | None, ...]


def _placed(x: Any, mesh: DeviceMesh, layout: Placement, wanted: Placement, shape: Any = None) -> Any:
    """Return ``x`` as a DTensor under ``wanted``; a plain tensor is a shard under ``layout``."""
    if type(x._array) is not Sharded:
        x = DTensor.from_local(x, mesh, [layout], shape=shape)
    return _moved(x, wanted)


def _moved(x: Any, wanted: Placement) -> Any:
    """Return ``x`` under ``wanted``; unchanged if it is already, so that sums of its gradients may stay pending."""
    same = x._array.spec.codes == (code_of(wanted, x.ndim),)
    return x if same else x.redistribute(placements=[wanted])


def _out(x: Any, wanted: Placement, local: bool) -> Any:
    x = _moved(x, wanted)
    return x.to_local() if local else x


def _tuple(layouts: Any) -> Layouts | None:
    return (layouts,) if isinstance(layouts, Placement) else None if layouts is None else tuple(layouts)


def _same_length(a: str, first: Any, b: str, second: Any) -> None:
    if len(first) != len(second):
        raise AssertionError(f"{a} and {b} should have same length: {len(first)} and {len(second)} were given")


class ParallelStyle(ABC):
    """How one module is sharded: :meth:`_apply` changes it. Subclasses may be user-defined."""

    src_data_rank: int | None = 0  # whose values parameters have

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        """Change ``module``, and return it."""

    def _cut(self, module: Module, mesh: DeviceMesh, **placements: Placement) -> None:
        """Shard a module's own parameters: the named ones under their placements, the others replicated."""
        for name, parameter in list(module._parameters.items()):
            if parameter is None or type(parameter._array) is Sharded:
                continue
            part = distribute_tensor(
                parameter.detach(), mesh, [placements.get(name, Replicate())], src_data_rank=self.src_data_rank
            )
            module.register_parameter(name, Parameter(part, parameter.requires_grad))

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.__dict__.items() if name != "src_data_rank"]
        return f"{type(self).__name__}({', '.join(shown)})"


class _LayerParallel(ParallelStyle):
    """A style for one layer with a weight."""

    # How inputs and outputs lie by default, outside of the layer.
    _layouts: tuple[Placement, Placement]
    # For each kind of layer: how its input lies inside, and its parameters.
    _plan: dict[type[Module], tuple[Placement, dict[str, Placement]]]

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        inputs, outputs = self._layouts
        self.input_layouts = (input_layouts or inputs,)
        self.output_layouts = (output_layouts or outputs,)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        for kind, (wanted, placements) in self._plan.items():
            if isinstance(module, kind):
                self._cut(module, device_mesh, **placements)
                self._hook(module, device_mesh, wanted)
                return module
        raise NotImplementedError(
            f"{type(self).__name__} is for nn.Linear and nn.Embedding, got {type(module).__name__}: name its layers in"
            " the plan"
        )

    def _hook(self, module: Module, mesh: DeviceMesh, wanted: Placement) -> None:
        def before(module: Any, args: tuple) -> tuple:
            x, layout = args[0], self.input_layouts[0]
            shape = None
            if isinstance(module, Linear) and layout in (Shard(-1), Shard(x.ndim - 1)):  # the length is known
                shape = (*x.shape[:-1], module.in_features)
            return (_placed(x, mesh, layout, wanted, shape), *args[1:])

        def after(module: Any, args: tuple, output: Any) -> Any:
            return _out(output, self.output_layouts[0], self.use_local_output)

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)


class ColwiseParallel(_LayerParallel):
    """A Linear or an Embedding of which each process computes some of the features.

    Parameters
    ----------
    input_layouts : Placement, optional
        How a tensor that comes in lies; replicated by default, and in any case before the layer.
    output_layouts : Placement, optional
        How what goes out is to lie; in parts along the last dimension by default.
    use_local_output : bool
        Whether what goes out is the part of this process, as a plain tensor; otherwise the DTensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> layer = parallelize_module(dt.nn.Linear(4, 6), init_device_mesh("cpu", (1,)), ColwiseParallel())
    >>> layer.weight.placements
    (Shard(dim=0),)
    >>> destroy_process_group()
    """

    _layouts = Replicate(), Shard(-1)
    _plan = {
        Linear: (Replicate(), {"weight": Shard(0), "bias": Shard(0)}),
        Embedding: (Replicate(), {"weight": Shard(1)}),
    }


class RowwiseParallel(_LayerParallel):
    """A Linear of which each process has the weights of some of the inputs, an Embedding of which it has some rows.

    Parameters
    ----------
    input_layouts : Placement, optional
        How a tensor that comes in lies; in parts along the last dimension by default, as they are for a Linear. The
        indices of an Embedding are replicated before it.
    output_layouts : Placement, optional
        How what goes out is to lie; replicated by default. The sum over processes is made on the way there.
    use_local_output : bool
        Whether what goes out is the part of this process, as a plain tensor; otherwise the DTensor.
    """

    _layouts = Shard(-1), Replicate()
    _plan = {
        Linear: (Shard(-1), {"weight": Shard(1), "bias": Replicate()}),
        Embedding: (Replicate(), {"weight": Shard(0)}),
    }


class SequenceParallel(ParallelStyle):
    """A module (a norm, a dropout) that runs on parts of the sequence; its parameters are replicated.

    Parameters
    ----------
    sequence_dim : int
        The dimension of the sequence.
    use_local_output : bool
        Whether what goes out is the part of this process, as a plain tensor; otherwise the DTensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim = sequence_dim
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        for each in module.modules():
            self._cut(each, device_mesh)
        wanted = Shard(self.sequence_dim)

        def before(module: Any, args: tuple) -> tuple:
            if not isinstance(args[0], Tensor):
                raise ValueError(f"SequenceParallel: expecting input to be a Tensor, got {type(args[0]).__name__}")
            return (_placed(args[0], device_mesh, wanted, wanted), *args[1:])

        module.register_forward_pre_hook(before)
        module.register_forward_hook(lambda module, args, output: _out(output, wanted, self.use_local_output))
        return module


class PrepareModuleInput(ParallelStyle):
    """Convert a module's arguments to DTensors, under the requested placements.

    Parameters
    ----------
    input_layouts : Placement or tuple, optional
        How the positional arguments lie that are plain tensors; None for those that stay as they are.
    desired_input_layouts : Placement or tuple, optional
        How they are to lie.
    input_kwarg_layouts, desired_input_kwarg_layouts : dict, optional
        The same for keyword arguments, by name.
    use_local_output : bool
        Whether the module gets the parts of this process, as plain tensors; otherwise DTensors.
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = _tuple(input_layouts)
        self.desired_input_layouts = _tuple(desired_input_layouts)
        self.input_kwarg_layouts = dict(input_kwarg_layouts or {})
        self.desired_input_kwarg_layouts = dict(desired_input_kwarg_layouts or {})
        self.use_local_output = use_local_output
        if (self.input_layouts is None) != (self.desired_input_layouts is None):
            raise AssertionError("desired module inputs should not be None: input_layouts goes with them")
        _same_length(
            "input_layouts", self.input_layouts or (), "desired_input_layouts", self.desired_input_layouts or ()
        )
        if self.input_kwarg_layouts.keys() != self.desired_input_kwarg_layouts.keys():
            raise AssertionError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should name the same arguments:"
                f" {list(self.input_kwarg_layouts)} and {list(self.desired_input_kwarg_layouts)}"
            )

    def _prepared(self, x: Any, mesh: DeviceMesh, layout: Placement | None, wanted: Placement | None) -> Any:
        if layout is None or wanted is None:
            return x
        if not isinstance(x, Tensor):
            raise AssertionError(f"expecting input to be a Tensor, got {type(x).__name__}: give None as its layout")
        x = _placed(x, mesh, layout, wanted)
        return x.to_local() if self.use_local_output else x

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def before(module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
            if self.input_layouts is not None:
                if len(args) != len(self.input_layouts):
                    raise ValueError(
                        f"module inputs and input_layouts should have same length: {len(args)} arguments came,"
                        f" {len(self.input_layouts)} layouts were given"
                    )
                places = zip(args, self.input_layouts, self.desired_input_layouts or (), strict=True)
                args = tuple([self._prepared(x, device_mesh, layout, wanted) for x, layout, wanted in places])
            for name, layout in self.input_kwarg_layouts.items():
                if kwargs.get(name) is not None:
                    wanted = self.desired_input_kwarg_layouts[name]
                    kwargs = {**kwargs, name: self._prepared(kwargs[name], device_mesh, layout, wanted)}
            return args, kwargs

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Convert a module's results to DTensors, under the requested placements.

    Parameters
    ----------
    output_layouts : Placement or tuple
        How the outputs lie that are plain tensors; None for those that stay as they are.
    desired_output_layouts : Placement or tuple
        How they are to lie.
    use_local_output : bool
        Whether what goes out are the parts of this process, as plain tensors; otherwise DTensors.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts = _tuple(output_layouts) or ()
        self.desired_output_layouts = _tuple(desired_output_layouts) or ()
        self.use_local_output = use_local_output
        _same_length("output_layouts", self.output_layouts, "desired_output_layouts", self.desired_output_layouts)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def after(module: Any, args: tuple, output: Any) -> Any:
            outputs = output if isinstance(output, tuple) else (output,)
            if len(outputs) != len(self.output_layouts):
                raise ValueError(
                    f"module outputs and output_layouts should have same length: {len(outputs)} outputs came,"
                    f" {len(self.output_layouts)} layouts were given"
                )
            found = []
            for x, layout, wanted in zip(outputs, self.output_layouts, self.desired_output_layouts, strict=True):
                if layout is not None and wanted is not None:
                    x = _placed(x, device_mesh, layout, wanted)
                    x = x.to_local() if self.use_local_output else x
                found.append(x)
            return tuple(found) if isinstance(output, tuple) else found[0]

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """:class:`PrepareModuleInput` and :class:`PrepareModuleOutput` in one.

    Parameters
    ----------
    use_local_input : bool
        Whether the module gets the parts of this process, as plain tensors; otherwise DTensors.
    input_layouts, desired_input_layouts, input_kwarg_layouts, desired_input_kwarg_layouts
        As for :class:`PrepareModuleInput`.
    output_layouts, desired_output_layouts, use_local_output
        As for :class:`PrepareModuleOutput`.
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
