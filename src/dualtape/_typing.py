"""Types that signatures share; a name that ends in ``Like`` is of what is accepted and converted.

What is passed around inside of the library is defined for type checkers alone: import it where ``TYPE_CHECKING`` is
true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Protocol

    from ._tensor.device import device, layout, memory_format
    from ._tensor.dtypes import dtype
    from ._tensor.tensor import Tensor
    from .autograd.graph import GradientEdge
    from .autograd.node import AccumulateGrad, Node
    from .autograd.saved import SavedKey, SavedVariable

    # The extents of an array, from the outermost dimension to the innermost.
    Shape: TypeAlias = tuple[int, ...]
    # Where a gradient goes: a node and the number of its output; to a leaf's accumulator the leaf follows.
    Edge: TypeAlias = tuple[Node, int] | tuple[AccumulateGrad, int, Tensor]
    # What a node holds for one saved tensor: see autograd/saved.py.
    SavedEntry: TypeAlias = Tensor | tuple[Any, ...] | SavedVariable | SavedKey | None
    # The nodes that get a gradient, each with whether it also runs; None if all do.
    Wanted: TypeAlias = Mapping[Node, bool | None] | None
    # One tensor, or several.
    Tensors: TypeAlias = Tensor | Sequence[Tensor]
    # One gradient to start from, or several; None where it is implied.
    StartGradients: TypeAlias = Tensor | Sequence[Tensor | None] | None
    # What a backward starts from, or ends at.
    Ends: TypeAlias = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
    # The inputs whose gradients are asked for; in a dict the gradients come back under its keys.
    Targets: TypeAlias = Ends | Mapping[Any, Tensor | GradientEdge]
    # A dimension for each leaf of a tree: a number or None holds for all leaves below it.
    Dims: TypeAlias = int | None | Sequence["Dims"] | Mapping[Any, "Dims"]
    # How the elements of a tensor are stored: densely, or in one of the sparse forms.
    Layout: TypeAlias = layout
    # In which order the elements of a dense tensor lie in memory.
    MemoryFormat: TypeAlias = memory_format
    # A number as Python or NumPy has it.
    Number: TypeAlias = bool | int | float | complex | np.generic

    class Array(Protocol):
        """What a tensor holds: an array of NumPy's or CuPy's, or one that is batched, traced or absent."""

        @property
        def shape(self) -> Any: ...
        @property
        def dtype(self) -> Any: ...
        @property
        def ndim(self) -> int: ...
        @property
        def size(self) -> int: ...
        @property
        def itemsize(self) -> int: ...
        @property
        def nbytes(self) -> int: ...
        @property
        def strides(self) -> Any: ...
        @property
        def flags(self) -> Any: ...
        @property
        def base(self) -> Any: ...
        @property
        def real(self) -> Any: ...
        @property
        def imag(self) -> Any: ...
        @property
        def T(self) -> Any: ...
        def __array__(self) -> np.ndarray: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __getitem__(self, key: Any, /) -> Any: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def __add__(self, other: Any, /) -> Any: ...
        def __sub__(self, other: Any, /) -> Any: ...
        def __mul__(self, other: Any, /) -> Any: ...
        def __truediv__(self, other: Any, /) -> Any: ...
        def __lt__(self, other: Any, /) -> Any: ...
        def __gt__(self, other: Any, /) -> Any: ...
        def __neg__(self) -> Any: ...
        @property
        def reshape(self) -> Any: ...
        @property
        def transpose(self) -> Any: ...
        @property
        def astype(self) -> Any: ...
        @property
        def copy(self) -> Any: ...
        @property
        def view(self) -> Any: ...
        @property
        def item(self) -> Any: ...
        @property
        def any(self) -> Any: ...
        @property
        def all(self) -> Any: ...

    class SparsePattern(Protocol):
        """Where a matrix has entries: a sparse array of SciPy's, which brings no types."""

        indptr: Any
        indices: Any
        shape: Any
        nnz: Any

        @property
        def T(self) -> Any: ...
        def tocsr(self) -> Any: ...
        def tocsc(self) -> Any: ...

    # A gradient inside of the engine: an array, or a tensor where the backward is recorded.
    Gradient: TypeAlias = Array | Tensor
    # The gradients of a node's outputs; None for an output that got none.
    Gradients: TypeAlias = Collection[Gradient | None]


__all__ = ["DTypeLike", "DeviceLike", "Tree"]

DTypeLike: TypeAlias = "dtype | np.dtype[Any] | type | str"
DeviceLike: TypeAlias = "device | str | int"
# A tensor, or tuples, lists, dicts and registered containers of trees.
Tree: TypeAlias = Any
