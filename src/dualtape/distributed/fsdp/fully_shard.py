"""``fully_shard``: sharded parameters, gathered before a module's forward and before its backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from ... import pytree
from ..._tensor.tensor import Tensor
from ...autograd import Function
from ...autograd.engine import queue_callback
from ...autograd.saved_hooks import saved_tensors_hooks
from ...modes import current
from ...nn import Module, ModuleDict, ModuleList, Parameter
from ..device_mesh import DeviceMesh
from ..tensor.placement_types import Shard
from .group import Group, note_of, tensor_of
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

_inside: ContextVar[bool] = ContextVar("inside a sharded module", default=False)
_DEFAULT_POLICY, _NO_OFFLOAD = MixedPrecisionPolicy(), OffloadPolicy()


class _Ended(Function):
    """A node before a module: when a backward reaches it, all gradients of the module's parameters have arrived."""

    @staticmethod
    def forward(ctx: Any, state: Any, *tensors: Tensor) -> Any:
        ctx.state = state
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.state.after_backward()
        return (None, *grads)


def _each_tensor(value: Any, function: Callable) -> Any:
    return pytree.tree_map(lambda x: function(x) if isinstance(x, Tensor) else x, value)


class _State:
    """The actions of one sharded module around its forward and its backward."""

    def __init__(self, group: Group, reshard_after_forward: bool | None) -> None:
        self.group = group
        self.reshard_after_forward = reshard_after_forward
        self.reshard_after_backward = True
        self.forward_next: list[FSDPModule] = []
        self.backward_next: list[FSDPModule] = []
        self._running = 0  # calls of the group's modules that have not returned
        self._awaiting = False  # whether the end of the backward that runs will be noticed

    @contextmanager
    def around_forward(self) -> Iterator[None]:
        """Context in which the parameters are whole."""
        root = not _inside.get()
        token = _inside.set(True)
        self._running += 1
        self._awaiting = False  # of a backward that has failed nothing more will come
        try:
            self.group.unshard()
            for module in self.forward_next:
                module._fsdp.group.begin()
            with saved_tensors_hooks(note_of, tensor_of) if root and current().grad else nullcontext():
                yield
        finally:
            _inside.reset(token)
            self._running -= 1
            again = self.reshard_after_forward
            if not self._running and (not root if again is None else again):
                self.group.reshard()

    def before(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the inputs in the requested dtype, behind a node that detects the end of the backward."""
        policy = self.group.policy
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            cast = lambda x: x.to(policy.param_dtype) if x.is_floating_point() else x
            args, kwargs = _each_tensor((args, kwargs), cast)
        if not current().grad:
            return args, kwargs
        leaves, structure = pytree.tree_flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if isinstance(x, Tensor) and x.requires_grad]
        if places:
            for k, tensor in zip(places, _Ended.apply(self, *[leaves[k] for k in places]), strict=True):
                leaves[k] = tensor
            args, kwargs = pytree.tree_unflatten(leaves, structure)
        return args, kwargs

    def after(self, output: Any) -> Any:
        """Return the outputs in the requested dtype; a gradient that arrives at them begins the module's backward."""
        dtype = self.group.policy.output_dtype
        if dtype is not None:
            output = _each_tensor(output, lambda x: x.to(dtype) if x.is_floating_point() else x)
        for x in pytree.tree_leaves(output):
            if isinstance(x, Tensor) and x.requires_grad and current().grad:
                x.register_hook(self._begin_backward)
        return output

    def _begin_backward(self, grad: Tensor) -> None:
        if not self._awaiting:
            self._awaiting = True
            queue_callback(self._end_backward)
            for module in self.backward_next:
                module._fsdp.group.begin()

    def _end_backward(self) -> None:
        self._awaiting = False
        self.after_backward()

    def after_backward(self) -> None:
        """Reduce the gradients, and free the whole parameters."""
        self.group.reduce()
        if self.reshard_after_backward and not self._running:
            self.group.reshard()


class UnshardHandle:
    """The result of ``unshard(async_op=True)``: the parameters are available after :meth:`wait`."""

    _group: Group | None = None

    def wait(self) -> None:
        """Wait until the parameters are gathered."""
        group, self._group = self._group, None
        if group is not None:
            group.unshard()


class FSDPModule:
    """The base that :func:`fully_shard` adds to a module's class."""

    _fsdp: _State

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self._fsdp
        with state.around_forward():
            args, kwargs = state.before(args, kwargs)
            return state.after(super().__call__(*args, **kwargs))  # type: ignore[misc]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the module's parameters now; its own, not those of sharded modules within it.

        Parameters
        ----------
        async_op : bool
            Whether to only begin, and to return a handle to wait for.
        """
        if async_op:
            self._fsdp.group.begin()
            handle = UnshardHandle()
            handle._group = self._fsdp.group
            return handle
        self._fsdp.group.unshard()
        return None

    def reshard(self) -> None:
        """Free the whole parameters: the module has its shards again."""
        self._fsdp.group.reshard()

    def _states(self, recurse: bool) -> list[_State]:
        modules = self.modules() if recurse else (self,)  # type: ignore[attr-defined]
        return [module._fsdp for module in modules if isinstance(module, FSDPModule)]

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether a backward reduces gradients; otherwise each process accumulates its own."""
        for state in self._states(recurse):
            state.group.syncing = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Set whether a backward also reduces gradients over the replicas of a two-dimensional mesh."""
        for state in self._states(recurse):
            state.group.reducing_replicas = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether the whole parameters are freed after each forward."""
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Set whether the whole parameters are freed after each backward."""
        for state in self._states(recurse):
            state.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Begin to gather the parameters of other modules when this one's forward begins."""
        self._fsdp.forward_next = _checked_modules(modules)

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Begin to gather the parameters of other modules when this one's backward begins."""
        self._fsdp.backward_next = _checked_modules(modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by ``factor`` instead of the number of processes."""
        self._fsdp.group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of the shards, also while the module has whole parameters."""
        for state in self._states(True):
            state.group.reshard()
        super().zero_grad(set_to_none)  # type: ignore[misc]

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.reshard()
        found = super()._apply(*args, **kwargs)  # type: ignore[misc]
        for slot in self._fsdp.group.slots:
            slot.whole = None  # of the old dtype
        return found

    def __deepcopy__(self, memo: dict) -> Any:
        raise AssertionError("a module after fully_shard is not copied: make another, and load its state_dict")


def _checked_modules(modules: Any) -> list[FSDPModule]:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"expected modules after fully_shard, got a {type(module).__name__}")
    return list(modules)


_classes: dict[type, type] = {}


def _sharded_class(kind: type) -> type:
    if kind not in _classes:
        _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {})
    return _classes[kind]


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy = _DEFAULT_POLICY,
    offload_policy: OffloadPolicy = _NO_OFFLOAD,
    ignored_params: set[Parameter] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Shard a module's parameters over the processes, in place: each has a shard of them, of their gradients, and of
    the optimizer state. Apply it to the blocks of a model first, then to the model: each is gathered as one.

    Parameters
    ----------
    module : Module or list of Module
        Whose parameters, but those that are sharded already, are gathered together.
    mesh : DeviceMesh, optional
        The processes; all by default. Of two dimensions the first replicates, the second shards.
    reshard_after_forward : bool, optional
        Whether the whole parameters go after the forward, and are gathered again for the backward; by default they
        do, but for the outermost module. The number of processes means True, 1 False.
    shard_placement_fn : callable, optional
        Gives, for a parameter, along which dimension it is cut; None for the first.
    mp_policy : MixedPrecisionPolicy
        In which dtypes to compute and to reduce.
    offload_policy : OffloadPolicy
        Parameters stay where they are.
    ignored_params : set of Parameter, optional
        What stays as it is.
    dp_mesh_dims
        Not here: give the part of the mesh, ``mesh["dp"]``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_process_group
    >>> from dualtape.distributed.fsdp import fully_shard
    >>> init_process_group()
    >>> net = fully_shard(dt.nn.Linear(4, 2))
    >>> net(dt.ones(1, 4)).sum().backward()
    >>> net.weight.placements, net.weight.grad.full_tensor()
    ((Shard(dim=0),), tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]]))
    >>> destroy_process_group()
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if isinstance(each, FSDPModule):
            raise AssertionError(f"fully_shard has already been applied to this {type(each).__name__}: once is enough")
        if isinstance(each, (ModuleList, ModuleDict)):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {each}")
    if isinstance(offload_policy, CPUOffloadPolicy):
        raise NotImplementedError("fully_shard: parameters stay where they compute; leave offload_policy out")
    if dp_mesh_dims is not None:
        raise NotImplementedError('fully_shard: dp_mesh_dims is not here: give mesh["dp"], a part of the mesh')
    mesh = DeviceMesh("cpu") if mesh is None else mesh
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard: the mesh must have one or two dimensions, got {mesh.ndim}")
    again = _after_forward(reshard_after_forward, mesh.shape[-1])
    slots = _slots(modules, ignored_params or set(), shard_placement_fn)
    group = Group(modules, slots, mesh, mp_policy)
    state = _State(group, again)
    for each in modules:
        each._fsdp = state
        each.__class__ = _sharded_class(type(each))
        each.register_state_dict_pre_hook(lambda m, prefix, keep_vars: m.reshard())
        each.register_load_state_dict_pre_hook(lambda m, *args: m.reshard())
    return module


def _after_forward(value: Any, count: int) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, int) or value < 1 or count % value:
        raise ValueError(
            f"fully_shard: reshard_after_forward, if it is an int, should be a factor of {count}, not {value!r}"
        )
    if value not in (1, count):
        raise NotImplementedError(
            f"fully_shard: parameters are on one process or on all {count}; reshard_after_forward={value} is not here"
        )
    return value == count


def _slots(modules: list[Module], ignored: set, placement: Callable | None) -> list:
    """Return (name, owners, dimension to shard) of each parameter to be sharded."""
    found: dict[int, tuple[str, list, int]] = {}

    def look(module: Any, prefix: str) -> None:
        if isinstance(module, FSDPModule):
            return
        for name, parameter in module._parameters.items():
            if parameter is None or any(parameter is other for other in ignored):
                continue
            if id(parameter) not in found:
                found[id(parameter)] = (prefix + name, [], _dim(prefix + name, parameter, placement))
            found[id(parameter)][1].append((module, name))
        for name, child in module._modules.items():
            if child is not None:
                look(child, f"{prefix}{name}.")

    for module in modules:
        look(module, "")
    return list(found.values())


def _dim(name: str, parameter: Parameter, placement: Callable | None) -> int:
    if parameter.ndim == 0:
        raise ValueError(f"fully_shard: {name} has no dimension to cut: make it a tensor of one element, dt.ones(1)")
    chosen = None if placement is None else placement(parameter)
    if chosen is None:
        return 0
    if not isinstance(chosen, Shard) or not -parameter.ndim <= chosen.dim < parameter.ndim:
        raise ValueError(
            f"fully_shard: shard_placement_fn must give Shard(dim) or None for {name}, of {parameter.ndim} dimensions,"
            f" got {chosen!r}"
        )
    return chosen.dim % parameter.ndim


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Make the parameters whole for another method of a sharded module than ``forward``.

    Parameters
    ----------
    module : Module
        One that is not sharded is left as it is.
    method_name : str
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"register_fsdp_forward_method: {type(module).__name__} has no method {method_name!r}")
    method = getattr(module, method_name)

    def whole(*args: Any, **kwargs: Any) -> Any:
        state = module._fsdp
        with state.around_forward():
            args, kwargs = state.before(args, kwargs)
            return state.after(method(*args, **kwargs))

    setattr(module, method_name, whole)
