"""Pruning: parameters with a mask, so that some of their elements are and stay zero."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ..._listing import listing
from ..._tensor.shaped import ones_like
from ...modes import no_grad
from ...ops import FUNCTIONS
from ...random import rand, rand_like

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A method that chooses elements to prune. It is the hook before a module's forward that applies the mask.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Large(dt.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t.abs() < 1)
    >>> layer = dt.nn.Linear(2, 2)
    >>> _ = dt.nn.init.constant_(layer.weight, 3.0)
    >>> hook = Large.apply(layer, "weight")
    >>> layer.weight.sum().item()
    0.0
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask of a tensor, zero where ``default_mask`` is zero and where the method prunes more."""

    def apply_mask(self, module: Any) -> Any:
        """Return the pruned tensor, from the original and the mask of the module."""
        name = self._name()
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(dtype=original.dtype) * original

    def _name(self) -> str:
        if getattr(self, "_tensor_name", None) is None:
            raise AssertionError(
                f"{type(self).__name__}: the module has to be pruned before its mask can be applied: call apply() first"
            )
        return self._tensor_name

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module, in addition to earlier pruning."""
        earlier = [h for h in module._forward_pre_hooks.values() if isinstance(h, BasePruningMethod)]
        earlier = [h for h in earlier if h._tensor_name == name]
        if len(earlier) > 1:
            raise AssertionError(
                f"{name} of {module} has several pruning hooks, one is expected: put the methods in a PruningContainer"
            )
        method = cls(*args, **kwargs)
        method._tensor_name = name
        tensor = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != tensor.shape:
            raise AssertionError(
                f"expected importance_scores of shape {list(tensor.shape)}, that of {name} in {module}, got"
                f" {list(importance_scores.shape)}"
            )
        scores = tensor if importance_scores is None else importance_scores
        hook: BasePruningMethod = method
        if earlier:
            (before,) = earlier
            hook = before if isinstance(before, PruningContainer) else PruningContainer(before)
            hook.add_pruning_method(method)
            mask = hook.compute_mask(scores, getattr(module, f"{name}_mask").to(scores.dtype))
            for key, value in list(module._forward_pre_hooks.items()):
                if value is before:
                    del module._forward_pre_hooks[key]
        else:
            original = module._parameters[name]
            mask = method.compute_mask(scores, ones_like(scores))
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a tensor with the elements chosen by this method set to zero."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(
                f"expected importance_scores of shape {list(t.shape)}, that of t, got {list(importance_scores.shape)}"
            )
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter an ordinary one."""
        name = self._name()
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> prune, layer = dt.nn.utils.prune, dt.nn.Linear(4, 4)
    >>> _ = prune.l1_unstructured(prune.random_unstructured(layer, "weight", 2), "weight", 3)
    >>> int((layer.weight_mask == 0).sum())
    5
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            methods = list(args[0]) if len(args) == 1 and isinstance(args[0], Iterable) else list(args)
            for method in methods:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"expected a BasePruningMethod, got a {type(method).__name__}: derive its class from it")
        if method is not None:
            mine = getattr(self, "_tensor_name", None)
            if mine is not None and mine != method._tensor_name:
                raise ValueError(
                    f"this PruningContainer prunes {mine!r}, the method {method._tensor_name!r}: make another one"
                )
            self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask of the last method, applied to the elements that earlier ones kept."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            kept: Any = mask == 1
        elif kind == "structured":
            dim = method.dim % t.dim()  # type: ignore[attr-defined]
            others = [d for d in range(t.dim()) if d != dim]
            alive = mask.sum(dim=others) != 0 if others else mask != 0
            kept = tuple(alive if d == dim else slice(None) for d in range(t.dim()))
        elif kind == "global":
            kept = (slice(None),) * t.dim()
        else:
            raise ValueError(f"unknown PRUNING_TYPE {kind!r}: expected 'unstructured', 'structured' or 'global'")
        new = mask.clone()
        new[kept] = method.compute_mask(t[kept], mask[kept])
        return new


# --- ways to choose -------------------------------------------------------------------------------


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"amount is how many are pruned, an int, or which part, a float; got {amount!r}")
    whole = isinstance(amount, numbers.Integral)
    if amount < 0 or (not whole and float(amount) > 1.0):
        raise ValueError(f"amount={amount}: expected a part from 0.0 to 1.0, or a number of entries, 0 or more")


def _count(amount: Any, size: int) -> int:
    """Return how many of ``size`` elements are pruned: that number, or that fraction."""
    if isinstance(amount, numbers.Integral):
        if int(amount) > size:
            raise ValueError(f"amount={amount} is more than the {size} entries there are to prune")
        return int(amount)
    return round(amount * size)


def _structured(t: Any, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning takes away whole slices of a tensor of two or more dimensions; got one of shape"
            f" {list(t.shape)}"
        )
    if dim >= t.dim():
        raise IndexError(f"dim={dim} is not a dimension of a tensor of shape {list(t.shape)}")


def _without(mask: Any, dim: int, places: Any) -> Any:
    new = mask.clone()
    new[tuple(places if d == dim % mask.dim() else slice(None) for d in range(mask.dim()))] = 0
    return new


class Identity(BasePruningMethod):
    """Prunes nothing, but sets a mask.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.identity(dt.nn.Linear(2, 2), "bias")
    >>> layer.bias_mask
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.RandomUnstructured(3).prune(dt.ones(2, 4)).sum()
    tensor(5.)
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return _lowest(rand_like(t), default_mask, _count(self.amount, t.numel()))


class L1Unstructured(BasePruningMethod):
    """Prunes the elements nearest to zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.L1Unstructured(1).prune(dt.tensor([2.0, -0.5, 1.0]))
    tensor([2., -0., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return _lowest(t.abs(), default_mask, _count(self.amount, t.numel()))


def _lowest(scores: Any, mask: Any, count: int) -> Any:
    new = mask.clone()
    if count:
        with no_grad():
            places = scores.reshape(-1).topk(count, largest=False).indices
            new.view(-1)[places] = 0
    return new


class RandomStructured(BasePruningMethod):
    """Prunes whole slices along a dimension at random.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.RandomStructured(1, dim=0).prune(dt.ones(3, 2)).sum()
    tensor(4.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        _structured(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        return _without(default_mask, self.dim, rand(size).argsort()[:count]) if count else default_mask


class LnStructured(BasePruningMethod):
    """Prunes the slices along a dimension with the smallest n-norm.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.LnStructured(1, 2, dim=0).prune(dt.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[3., 4.],
            [0., 0.]])
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        _structured(t, self.dim)
        count = _count(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        norms = _norms(t, self.n, self.dim)
        kept = norms.topk(t.shape[self.dim] - count).indices
        pruned = ones_like(norms)
        pruned[kept] = 0
        return _without(default_mask, self.dim, pruned.nonzero().squeeze(1))


def _norms(t: Any, n: Any, dim: int) -> Any:
    """Return the norm of each slice along a dimension, as :meth:`Tensor.norm` takes it."""
    others = tuple(d for d in range(t.dim()) if d != dim % t.dim())
    return t.detach().norm(p=n, dim=others)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.CustomFromMask(dt.tensor([1.0, 0.0])).prune(dt.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask must be of shape {list(default_mask.shape)}, that of the tensor, got {list(self.mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# --- on modules -----------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask that prunes nothing.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.is_pruned(dt.nn.utils.prune.identity(dt.nn.Linear(2, 2), "weight"))
    True
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements of a parameter at random: a number of them, or a fraction.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.random_unstructured(dt.nn.Linear(4, 4), "weight", 0.25)
    >>> int((layer.weight == 0).sum())
    4
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of a parameter (or of its scores) nearest to zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.l1_unstructured(dt.nn.Linear(4, 4), "weight", 3)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices of a parameter along a dimension at random.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.random_structured(dt.nn.Linear(4, 4), "weight", 1, dim=0)
    >>> int((layer.weight == 0).sum())
    4
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the slices of a parameter along a dimension with the smallest n-norm.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.ln_structured(dt.nn.Linear(4, 4), "weight", 0.5, n=2, dim=1)
    >>> int((layer.weight == 0).sum())
    8
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: type[BasePruningMethod], importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters, pairs of module and name, as if they were one.

    Examples
    --------
    >>> import dualtape as dt
    >>> prune, a, b = dt.nn.utils.prune, dt.nn.Linear(2, 2), dt.nn.Linear(2, 2)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=5)
    >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
    5
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(
            f"global_unstructured(): expected pairs (module, name) as parameters, got a {type(parameters).__name__}"
        )
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError(
            "global_unstructured(): expected importance_scores as a dict from (module, name), got a"
            f" {type(importance_scores).__name__}"
        )
    given = [scores.get(pair, getattr(*pair)) for pair in parameters]
    masks = [getattr(m, f"{n}_mask") if hasattr(m, f"{n}_mask") else ones_like(getattr(m, n)) for m, n in parameters]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global_unstructured(): expected a pruning_method whose PRUNING_TYPE is 'unstructured', got"
            f" {pruning_method}: {method.PRUNING_TYPE!r}"
        )
    container.add_pruning_method(method)
    flat = FUNCTIONS["cat"]([t.detach().reshape(-1) for t in given])
    final = container.compute_mask(flat, FUNCTIONS["cat"]([mask.reshape(-1) for mask in masks]))
    place = 0
    for module, name in parameters:
        shape = getattr(module, name).shape
        count = getattr(module, name).numel()
        custom_from_mask(module, name, final[place : place + count].view(shape))
        place += count


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter by a given mask.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.custom_from_mask(dt.nn.Linear(2, 2), "bias", dt.tensor([0, 0]))
    >>> layer.bias.abs().sum().item()
    0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one; pruned elements are zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.prune.l1_unstructured(dt.nn.Linear(2, 2), "weight", 1)
    >>> dt.nn.utils.prune.is_pruned(dt.nn.utils.prune.remove(layer, "weight"))
    False
    """
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{name!r} of {module} is not pruned: there is nothing to remove")


def is_pruned(module: Any) -> bool:
    """Whether a module, or one below it, has a pruned parameter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.prune.is_pruned(dt.nn.Linear(2, 2))
    False
    """
    hooks = (hook for each in module.modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)


__dir__ = listing(__name__)
