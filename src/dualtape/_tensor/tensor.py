"""The Tensor: an array with the attributes that differentiation needs.

It has eight slots, and no logic that operations would pass through. Methods that compute (``x.tanh()``, ``x + y``) are
put on the class by the op table; its memory is in ``memory.py``, Python's and NumPy's protocols in ``protocols.py``.
This module has its relation to the graph.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from .._typing import DeviceLike, DTypeLike
from ..arrays import Absent, Batched, module_of
from ..autograd.hooks import NoHooks, RemovableHandle
from ..autograd.node import AccumulateGrad, Node, edge_of
from ..autograd.unbroadcast import ANY_COMPLEX, ANY_REAL
from ..autograd.versions import UNTRACKED
from ..autograd.views import replay, untrack
from ..errors import warn
from ..modes import current
from .layouts import Layouts
from .memory import Memory
from .protocols import Protocols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Array, Layout, MemoryFormat, Targets

_new = object.__new__


_backward: Callable | None = None  # autograd's, which is built on this module
SAME = "same"  # a gradient's dtype: that of its tensor


class TensorExtra:
    """Rare attributes of a tensor: hooks of a leaf, the dtype of its gradient. One slot of a tensor holds it, or
    None.
    """

    __slots__ = ("hooks", "post_hooks", "grad_dtype", "retains", "tangents")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable] = NoHooks()
        self.post_hooks: dict[int, Callable] = NoHooks()
        self.grad_dtype: Any = SAME
        self.retains = False
        self.tangents: Any = None  # in forward mode, by level

    def gradient_dtype(self, dtype: np.dtype) -> Any:
        """Return the dtype to which gradients of a leaf of ``dtype`` are cast; None: they are not."""
        if self.grad_dtype is None:
            return ANY_COMPLEX if dtype.kind == "c" else ANY_REAL
        return dtype if self.grad_dtype is SAME else self.grad_dtype.numpy


class Tensor(Memory, Layouts, Protocols):
    """An array that remembers how it was computed.

    ``Tensor`` itself is seldom called: :func:`dualtape.tensor`, :func:`dualtape.from_numpy` and the creation functions
    make tensors. ``Tensor(2, 3)`` is an uninitialised float32 tensor of that shape; ``Tensor(data)`` copies data as
    float32.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = (
        "_array",
        "_edge",
        "_requires_grad",
        "_version_counter",
        "_view",
        "_grad",
        "_grad_accumulator",
        "_extra",
        "__dict__",
        "__weakref__",
    )

    _array: Any  # the values: a numpy or cupy array
    _edge: tuple | None  # (grad_fn, output number), None for a leaf
    _requires_grad: bool
    _version_counter: Any  # the counter of writes; None: never written, and shared with no other tensor
    _view: Any  # relation to a base, or None
    _grad: Tensor | None
    _grad_accumulator: AccumulateGrad | None  # a leaf's accumulator
    _extra: TensorExtra | None

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __new__(cls, *data: Any, **kwargs: Any) -> Any:
        from .legacy import construct

        return construct(cls, data, **kwargs)

    def __init__(self, *data: object, **kwargs: object) -> None:
        pass

    # --- subclasses -------------------------------------------------------------------------------

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        from ..overrides.subclass import define

        define(cls)

    @classmethod
    def __torch_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Called for each operation on an instance of a subclass; this default runs it and gives the results the
        subclass.

        Examples
        --------
        >>> import dualtape as dt
        >>> class Logged(dt.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return super().__torch_function__(func, types, args, kwargs)
        >>> y = dt.ones(2).as_subclass(Logged) * 2
        mul
        """
        from ..overrides.subclass import default_function

        return default_function(cls, func, types, args, kwargs)

    def as_subclass(self, cls: type) -> Any:
        """The same values and history as an instance of ``cls``, a subclass of Tensor.

        Examples
        --------
        >>> import dualtape as dt
        >>> class Metres(dt.Tensor):
        ...     pass
        >>> dt.ones(2).as_subclass(Metres) + 1
        Metres([2., 2.])
        """
        from ..overrides.subclass import as_subclass

        return as_subclass(self, cls)

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:  # noqa: PLW0211 - PyTorch's signature
        """A leaf of class ``cls`` over the memory of ``data``.

        Examples
        --------
        >>> import dualtape as dt
        >>> class Metres(dt.Tensor):
        ...     pass
        >>> dt.Tensor._make_subclass(Metres, dt.ones(2), True)
        Metres([1., 1.], requires_grad=True)
        """
        from ..overrides.subclass import make_subclass

        return make_subclass(cls, data, require_grad)

    @staticmethod
    def _make_wrapper_subclass(  # noqa: PLW0211 - PyTorch's signature
        cls: type,
        size: int | Sequence[int],
        strides: Sequence[int] | None = None,
        storage_offset: int | None = None,
        memory_format: MemoryFormat | None = None,
        dtype: DTypeLike | None = None,
        layout: Layout | None = None,
        device: DeviceLike | None = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **ignored: object,
    ) -> Any:
        """Return an instance of ``cls`` that has a shape and a dtype and no values: ``cls.__torch_dispatch__``
        implements every operation.

        Examples
        --------
        >>> import dualtape as dt
        >>> class Doubled(dt.Tensor):
        ...     @staticmethod
        ...     def __new__(cls, half):
        ...         return dt.Tensor._make_wrapper_subclass(cls, half.shape, dtype=half.dtype)
        ...     def __init__(self, half):
        ...         self.half = half
        ...     @classmethod
        ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        ...         return func(*[a.half * 2 if isinstance(a, Doubled) else a for a in args])
        >>> Doubled(dt.ones(2)) + 1
        tensor([3., 3.])
        """
        from ..overrides.dispatch import make_wrapper

        return make_wrapper(cls, size, strides, dtype, device, requires_grad)

    # --- place in the graph -----------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to or through this tensor."""
        return self._requires_grad or (
            self._view is not None and self._view.base._requires_grad and self._array.dtype.kind in "fc"
        )

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, got {type(value).__name__}")
        if self.grad_fn is not None:
            raise errors.not_a_leaf(self.grad_fn.name())
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool: assign False instead of deleting it")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switch recording on (or, for a leaf, off) and return the tensor.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2).requires_grad_().requires_grad
        True
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not"
                f" {type(requires_grad).__name__}"
            )
        if not requires_grad and self.grad_fn is not None:
            raise errors.not_a_leaf(self.grad_fn.name())
        if self._edge is not None:
            return self
        if requires_grad and self._array.dtype.kind not in "fc":
            raise RuntimeError(
                f"only Tensors of floating point and complex dtype can require gradients, got {self.dtype!r}: convert"
                " it with"
                " .to(dualtape.float32) first"
            )
        if requires_grad and self._version_counter is UNTRACKED and not current().inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed: clone() it first"
            )
        self._requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor; None for a leaf."""
        view = self._view
        if view is not None and view.seen != self._version_counter[0]:
            view.refresh(self)
        return None if self._edge is None else self._edge[0]

    @property
    def output_nr(self) -> int:
        """Which output of ``grad_fn`` this is."""
        return 0 if self.grad_fn is None else self._edge[1]  # type: ignore[index]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation computed this tensor."""
        return self.grad_fn is None

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward has accumulated."""
        tracing = current().tracing
        if tracing is not None:
            tracing.about_grads.add(id(self))
        if self._grad is None and self._edge is not None and not self.retains_grad:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad won't be"
                " populated"
                " during backward: call .retain_grad() on it first, or read the leaf's",
                UserWarning,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._grad = None
            return
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad: assign a clone() of it")
        a, b = value._array, self._array
        extra = self._extra
        if extra is not None and extra.grad_dtype is not SAME:
            if extra.grad_dtype is not None and extra.grad_dtype.numpy != a.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype!r}' to a tensor with grad_dtype"
                    f" '{extra.grad_dtype!r}': convert it, or set grad_dtype to another dtype, or to None to allow any"
                )
        elif a.dtype != b.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{value.dtype!r}' to a tensor with grad_dtype"
                f" '{self.dtype!r}', which is its dtype: convert it, or set grad_dtype, to None to allow any"
            )
        if module_of(a) != module_of(b):
            raise RuntimeError(
                f"assigned grad has data located on a different device: {value.device} where {self.device} is"
            )
        if a.shape != b.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(a.shape)}' to a tensor of size '{list(b.shape)}'."
                " Please ensure that the gradient and the tensor are the same size"
            )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own: writes to it are not noticed."""
        return _fresh_alias(self) if type(self._array) is not Absent else self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if value.layout is not self.layout:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor"
                f" type: {self.layout!r} and {value.layout!r}; convert the new data with to_dense() or to_sparse()"
            )
        if Batched in (type(self._array), type(value._array)):
            raise RuntimeError(
                "mutating directly with `.data` under vmap transform is not allowed: use detach() and copy_()"
            )
        if self._requires_grad and value._array.dtype.kind not in "fc":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if value._array.shape != self._array.shape or value._array.dtype != self._array.dtype:
            self._grad_accumulator = None  # else graphs that lead to this leaf still do
        self._array = value._array

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Targets | None = None,
    ) -> None:
        """Compute the gradients of this tensor and add them to the ``.grad`` of the leaves.

        Parameters
        ----------
        gradient : Tensor, optional
            The gradient of what is differentiated with respect to this tensor; needed unless it has one element.
        retain_graph : bool, optional
            Keep what the graph has saved, for another backward. Default: the value of ``create_graph``.
        create_graph : bool
            Record the backward itself, for higher derivatives.
        inputs : sequence of Tensor, optional
            Accumulate only into these.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.tensor(3.0, requires_grad=True)
        >>> (x ** 2).backward()
        >>> x.grad
        tensor(6.)
        """
        global _backward
        if _backward is None:
            from ..autograd.api import backward as _backward
        _backward(self, gradient, retain_graph, create_graph, None, inputs)  # type: ignore[misc]

    def detach(self) -> Tensor:
        """The same memory, without history; writes to it are noticed.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, requires_grad=True).detach().requires_grad
        False
        """
        return alias(self)

    def detach_(self) -> Tensor:
        """Remove this tensor's history, in place.

        Examples
        --------
        >>> import dualtape as dt
        >>> y = dt.ones(1, requires_grad=True) * 2
        >>> y.detach_().requires_grad
        False
        """
        if self._is_view():
            raise RuntimeError("Can't detach views in-place. Use detach() instead, which gives a new tensor")
        if self._extra is not None:
            self._extra.tangents = None
        self._edge = None
        self._requires_grad = False
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in ``.grad``.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.tensor(3.0, requires_grad=True)
        >>> y = x * 2; y.retain_grad(); y.sin().backward(); y.grad
        tensor(0.9602)
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False: call requires_grad_() first")
        if self._edge is None or self.retains_grad:
            return  # a leaf keeps its gradient anyway, a view made without history gets none
        edge = edge_of(self)
        assert edge is not None
        edge[0]._more().retained[edge[1]] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf tensor keeps its gradient."""
        if self._edge is None:
            return False
        extra = self._edge[0]._extra
        return extra is not None and self._edge[1] in extra.retained

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor is known; a tensor it returns replaces the gradient.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.tensor(3.0, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 2)
        >>> x.sin().backward(); x.grad
        tensor(-1.9800)
        """
        if not self.requires_grad:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient: call requires_grad_() first"
            )
        if self.grad_fn is None:
            return RemovableHandle.add(self._more().hooks, hook)
        node, number = self._edge[:2]  # type: ignore[index]
        return RemovableHandle.add(node._more().tensor_hooks.setdefault(number, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(tensor)`` each time a gradient has been added to this leaf.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.tensor(3.0, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print("grad is", leaf.grad))
        >>> (x * 2).backward()
        grad is tensor(2.)
        """
        if not self.requires_grad:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient: call requires_grad_() first"
            )
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors: use register_hook")
        return RemovableHandle.add(self._more().post_hooks, hook)

    def _more(self) -> TensorExtra:
        if self._extra is None:
            self._extra = TensorExtra()
        return self._extra

    @property
    def _shared_counter(self) -> list:
        """Return the version counter of this memory, shared by views and detached aliases; created on first use."""
        writes = self._version_counter
        if writes is None:
            result = [0, None]
            # once more: a new object may set off the garbage collector, and that other threads; none comes from
            # here on
            writes = self._version_counter
            if writes is None:
                writes = self._version_counter = result
        return writes

    @_shared_counter.setter
    def _shared_counter(self, counter: list) -> None:
        self._version_counter = counter

    @property
    def _version(self) -> int:
        if self._version_counter is UNTRACKED:
            raise RuntimeError("Inference tensors do not track version counter.")
        tracing = current().tracing
        if tracing is not None:
            tracing.tape.fail("it looks at how often a tensor was written to")
        return 0 if self._version_counter is None else self._version_counter[0]

    @property
    def _base(self) -> Tensor | None:
        tracing = current().tracing
        if tracing is not None:
            tracing.behind(self)
        return None if self._view is None or self._version_counter is UNTRACKED else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None and self._version_counter is not UNTRACKED

    def _view_func(self, new_base: Tensor) -> Tensor:
        """Return the view that the steps from this view's base to it give on ``new_base``."""
        if self._view is None:
            raise RuntimeError("_view_func is for views: this tensor is none")
        return replay(new_base, self._view.step, raw=False)

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(1).is_inference()
        False
        """
        return self._version_counter is UNTRACKED


def wrap(array: Any) -> Tensor:
    """Return a new leaf tensor over ``array``, without checks."""
    tensor = _new(Tensor)
    tensor._array = array
    tensor._edge = tensor._version_counter = tensor._view = tensor._grad = tensor._grad_accumulator = tensor._extra = (
        None
    )
    tensor._requires_grad = False
    return tensor


def new_tensor(array: Array) -> Tensor:
    """Return a new leaf tensor over ``array``; in inference mode, an inference tensor."""
    return untrack(wrap(array)) if current().inference else wrap(array)


def alias(tensor: Tensor) -> Tensor:
    """Return a tensor over the same memory and version counter, without history."""
    new = wrap(tensor._array)
    new._version_counter = tensor._shared_counter
    return untrack(new) if new._version_counter is UNTRACKED else new


def _fresh_alias(tensor: Tensor) -> Tensor:
    return untrack(wrap(tensor._array)) if tensor._version_counter is UNTRACKED else wrap(tensor._array)


def raw(value: object) -> Any:
    """Return the array of a tensor; other values unchanged."""
    return value._array if isinstance(value, Tensor) else value
