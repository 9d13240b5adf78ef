"""Sparse Jacobians and Hessians: find the pattern, colour it, compute a few products, return SciPy's sparse arrays.

The function runs once over arrays that track dependences (:mod:`dualtape.arrays.sparsity.dependent`), which gives the
pattern; that of the Hessian is the pattern of the gradient, whose backward runs over the same arrays. The colouring
(:mod:`.colouring`) says which columns a single product can recover. The number of products does not grow with the size
of the problem if each value depends on a few inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from .._progress import steps
from .._tensor.tensor import Tensor, wrap
from ..arrays.lazy import Lazy
from ..arrays.protocol import becoming
from ..autograd import forward_ad
from ..autograd.api import grad
from .colouring import colour_columns, star_colouring
from .scope import entered

if TYPE_CHECKING:
    from .._typing import SparsePattern, Tree

__all__ = ["SparseDerivative", "hessian_pattern", "jacobian_pattern", "sparse_hessian", "sparse_jacobian"]

_sparse = Lazy("scipy.sparse")
_FORWARD, _REVERSE, _SYMMETRIC = "forward", "reverse", "symmetric"
# of a product in forward mode, which runs the function again, over one in reverse (python -m
# benchmarks.sparse_hessian --modes)
_FORWARD_COST = 2.0


# --- the public functions -------------------------------------------------------------------------


def jacobian_pattern(func: Callable, argnums: int = 0) -> Callable[..., Any]:
    """Return a function of the same arguments that gives the sparsity pattern of ``func``'s Jacobian.

    The pattern holds wherever the function takes the same branches, indices and orders as at the arguments given.
    It may have more entries than the Jacobian has nonzeros, never fewer: what has no rule of its own counts as
    depending on all of its inputs.

    Parameters
    ----------
    func : callable
        Takes tensors (and anything else), returns a tensor.
    argnums : int
        Which argument to differentiate by: a real floating-point tensor or array.

    Returns
    -------
    callable
        Gives a ``scipy.sparse.csr_array`` of bools, one row for each element of the result, one column for each of
        the argument.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.func.sparse import jacobian_pattern
    >>> jacobian_pattern(lambda x: x[1:] * x[:-1])(dt.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """

    def pattern(*args: Tree, **kwargs: object) -> Any:
        return _detect(func, argnums, args, kwargs, False, False)

    return pattern


def hessian_pattern(func: Callable, argnums: int = 0) -> Callable[..., Any]:
    """Return a function of the same arguments that gives the sparsity pattern of the Hessian of a scalar ``func``.

    It is symmetric, and otherwise as :func:`jacobian_pattern` says.

    Parameters
    ----------
    func : callable
        Takes tensors (and anything else), returns a tensor of one element.
    argnums : int
        Which argument to differentiate by: a real floating-point tensor or array.

    Returns
    -------
    callable
        Gives a square ``scipy.sparse.csr_array`` of bools.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.func.sparse import hessian_pattern
    >>> hessian_pattern(lambda x: (x[1:] * x[:-1] ** 2).sum())(dt.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 0]])
    """

    def pattern(*args: Tree, **kwargs: object) -> Any:
        return _detect(func, argnums, args, kwargs, False, True)

    return pattern


def sparse_jacobian(
    func: Callable,
    argnums: int = 0,
    *,
    pattern: Any = None,
    has_aux: bool = False,
    mode: str | None = None,
    check: bool = False,
    progress: bool | None = None,
) -> SparseDerivative:
    """Return a function of the same arguments that gives the Jacobian of ``func`` as a sparse array.

    Without ``pattern`` each call detects the pattern, because at another point the function may take another
    branch, and colours it. With ``pattern`` neither is done: it is coloured at the first call, and used for all.

    Parameters
    ----------
    func : callable
        Takes tensors (and anything else), returns a tensor; with ``has_aux`` a pair of a tensor and something to
        pass on.
    argnums : int
        Which argument to differentiate by: a real floating-point tensor or array.
    pattern : sparse array, optional
        Its stored entries, explicit zeros included, are where the Jacobian may differ from zero. If it lacks
        some, the result is wrong; ``check`` finds out.
    has_aux : bool
        The result is a pair of the Jacobian and what ``func`` passed on.
    mode : {"forward", "reverse"}, optional
        Products with columns or with rows; by default what costs less.
    check : bool
        Compare one product with a random vector, and raise ``RuntimeError`` if the pattern lacks entries.
    progress : bool, optional
        Show how many products are computed; by default on a terminal, once it has taken a second.

    Returns
    -------
    SparseDerivative
        Gives a ``scipy.sparse.csr_array`` of shape (elements of the result, elements of the argument), with all
        entries of the pattern stored. Its attributes ``pattern``, ``passes`` and ``mode`` tell about the latest
        call.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.func.sparse import sparse_jacobian
    >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> jacobian(dt.arange(4.0)).toarray()
    array([[1., 0., 0., 0.],
           [0., 2., 1., 0.],
           [0., 0., 3., 2.]], dtype=float32)
    >>> jacobian.passes
    2
    """
    if mode not in (None, _FORWARD, _REVERSE):
        raise ValueError(f"sparse_jacobian: mode must be 'forward', 'reverse' or None, got {mode!r}")
    return SparseDerivative(func, argnums, pattern, has_aux, mode, check, False, progress)


def sparse_hessian(
    func: Callable,
    argnums: int = 0,
    *,
    pattern: Any = None,
    has_aux: bool = False,
    check: bool = False,
    progress: bool | None = None,
) -> SparseDerivative:
    """Return a function of the same arguments that gives the Hessian of a scalar ``func`` as a sparse array.

    Without ``pattern`` each call detects the pattern, because at another point the function may take another
    branch, and colours it. With ``pattern`` neither is done: it is coloured at the first call, and used for all.

    Parameters
    ----------
    func : callable
        Takes tensors (and anything else), returns a tensor of one element; with ``has_aux`` a pair of it and
        something to pass on.
    argnums : int
        Which argument to differentiate by: a real floating-point tensor or array.
    pattern : sparse array, optional
        Its stored entries, explicit zeros included, are the entries that may differ from zero; the transposed
        entries are added. If it lacks some, the result is wrong; ``check`` finds out.
    has_aux : bool
        The result is a pair of the Hessian and what ``func`` passed on.
    check : bool
        Compare one product with a random vector, and raise ``RuntimeError`` if the pattern lacks entries.
    progress : bool, optional
        Show how many products are computed; by default on a terminal, once it has taken a second.

    Returns
    -------
    SparseDerivative
        Gives a square ``scipy.sparse.csr_array``, symmetric to the last bit, with all entries of the pattern
        stored. Its attributes ``pattern`` and ``passes`` tell about the latest call.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.func.sparse import hessian_pattern, sparse_hessian
    >>> f = lambda x: (x[1:] * x[:-1] ** 2).sum()
    >>> hessian = sparse_hessian(f, pattern=hessian_pattern(f)(dt.ones(4)))
    >>> hessian(dt.arange(4.0)).toarray()
    array([[2., 0., 0., 0.],
           [0., 4., 2., 0.],
           [0., 2., 6., 4.],
           [0., 0., 4., 0.]], dtype=float32)
    >>> hessian.passes
    3
    """
    return SparseDerivative(func, argnums, pattern, has_aux, None, check, True, progress)


class SparseDerivative:
    """A sparse Jacobian or Hessian as a function; made by :func:`sparse_jacobian` and :func:`sparse_hessian`.

    Attributes
    ----------
    pattern : scipy.sparse.csr_array or None
        The pattern given, or that of the latest call.
    passes : int or None
        How many products the latest call computed: one for each colour.
    mode : str or None
        How: "forward" (products with columns), "reverse" (with rows), or "symmetric" (both at once).
    """

    __slots__ = (
        "_func",
        "_argnums",
        "_given",
        "_has_aux",
        "_wanted",
        "_check",
        "_twice",
        "_plan",
        "_progress",
        "__weakref__",
    )

    def __init__(
        self,
        func: Callable,
        argnums: int,
        pattern: SparsePattern,
        has_aux: bool,
        mode: str | None,
        check: bool,
        twice: bool,
        progress: bool | None,
    ) -> None:
        self._func = func
        self._argnums = argnums
        self._given = None if pattern is None else _as_pattern(pattern, twice)
        self._has_aux = has_aux
        self._wanted = mode
        self._check = check
        self._twice = twice
        self._progress = progress
        self._plan: _Plan | None = None

    pattern = property(lambda self: self._plan.pattern if self._plan is not None else self._given)
    passes = property(lambda self: None if self._plan is None else self._plan.passes)
    mode = property(lambda self: None if self._plan is None else self._plan.mode)

    def __call__(self, *args: Tree, **kwargs: object) -> Any:
        x = _input(args, self._argnums, self._name)
        plan = self._plan
        if plan is None or self._given is None:
            found = (
                self._given
                if self._given is not None
                else _detect(self._func, self._argnums, args, kwargs, self._has_aux, self._twice)
            )
            plan = _Plan(found, _SYMMETRIC if self._twice else self._wanted)
        if plan.pattern.shape[1] != x.size:
            raise ValueError(
                f"{self._name}: the pattern has shape {plan.pattern.shape}, but argument {self._argnums} has {x.size}"
                " elements: give the pattern of"
                " this argument, or none"
            )
        self._plan = plan
        with modes.enable_grad():
            values, aux = (self._hessian if self._twice else self._jacobian)(plan, x, args, kwargs)
        result = _sparse.csr_array((values, plan.pattern.indices, plan.pattern.indptr), plan.pattern.shape)
        return (result, aux) if self._has_aux else result

    @property
    def _name(self) -> str:
        return "sparse_hessian" if self._twice else "sparse_jacobian"

    def _run(self, x: Tensor, args: tuple, kwargs: dict) -> tuple[Tensor, Any]:
        return _called(self._func, self._argnums, x, args, kwargs, self._has_aux, self._name)

    def _jacobian(self, plan: _Plan, array: np.ndarray, args: tuple, kwargs: dict) -> tuple[np.ndarray, Any]:
        x = wrap(array).requires_grad_()
        out, aux = self._run(x, args, kwargs)
        if out.numel() != plan.pattern.shape[0]:
            raise ValueError(
                f"{self._name}: the pattern has shape {plan.pattern.shape}, but the function's result has {out.numel()}"
                " elements:"
                " give the pattern of this function, or none"
            )
        values = np.zeros(plan.pattern.nnz, out._array.dtype)

        def pulled(seed: np.ndarray) -> np.ndarray:
            if not out.requires_grad:
                return np.zeros(x._array.size, out._array.dtype)
            start = wrap(seed.astype(out._array.dtype).reshape(out._array.shape))
            (found,) = grad(out, x, start, retain_graph=True, allow_unused=True)
            return np.zeros(x._array.size) if found is None else found._array.ravel()

        def pushed(seed: np.ndarray) -> np.ndarray:
            with forward_ad.dual_level(), modes.no_grad():
                dual = forward_ad.make_dual(wrap(array), wrap(seed.astype(array.dtype).reshape(array.shape)))
                tangent = forward_ad.unpack_dual(self._run(dual, args, kwargs)[0]).tangent
            return np.zeros(out._array.size) if tangent is None else tangent._array.ravel()

        product = pushed if plan.mode == _FORWARD else pulled
        for seed, entries, places in steps(plan.products(), self._name, self._progress, plan.passes):
            values[entries] = product(seed)[places]
        if self._check:
            seed = _random(out._array.size, array)
            self._compare(plan, values, seed, pulled(seed), True)
        return values, aux

    def _hessian(self, plan: _Plan, array: np.ndarray, args: tuple, kwargs: dict) -> tuple[np.ndarray, Any]:
        x = wrap(array).requires_grad_()
        out, aux = self._run(x, args, kwargs)
        _check_single(out, self._name)
        gradient = grad(out, x, create_graph=True, allow_unused=True)[0] if out.requires_grad else None
        values = np.zeros(plan.pattern.nnz, array.dtype)

        def product(seed: np.ndarray) -> np.ndarray:
            found = None
            if gradient is not None and gradient.requires_grad:
                (found,) = grad(
                    gradient,
                    x,
                    wrap(seed.astype(array.dtype).reshape(array.shape)),
                    retain_graph=True,
                    allow_unused=True,
                )
            return np.zeros(array.size, array.dtype) if found is None else found._array.ravel()

        for seed, entries, places in steps(plan.products(), self._name, self._progress, plan.passes):
            values[entries] = product(seed)[places]
        values = values[plan.twins]
        if self._check:
            seed = _random(array.size, array)
            self._compare(plan, values, seed, product(seed), False)
        return values, aux

    def _compare(
        self, plan: _Plan, values: np.ndarray, seed: np.ndarray, expected: np.ndarray, transposed: bool
    ) -> None:
        matrix = _sparse.csr_array((values, plan.pattern.indices, plan.pattern.indptr), plan.pattern.shape)
        if transposed:
            matrix = matrix.T
        scale = abs(matrix) @ np.abs(seed) + np.abs(expected)
        difference = np.abs(matrix @ seed - expected)
        wrong = np.isfinite(expected) & ~(difference <= np.sqrt(np.finfo(values.dtype).eps) * scale)
        if wrong.any():
            raise RuntimeError(
                f"{self._name}: a product with the result differs from the derivative's own in {int(wrong.sum())} of"
                f" {wrong.size} elements, the first at"
                f" {int(np.argmax(wrong))}: the pattern lacks entries. Detect it at this point, or give a larger one"
            )


# --- plans ----------------------------------------------------------------------------------------


class _Plan:
    """A pattern, its colours, and the product from which each entry is read.

    Attributes
    ----------
    twins : numpy.ndarray
        Of a symmetric pattern: for each entry the one it is read from, itself or the transposed one.
    """

    __slots__ = ("pattern", "mode", "passes", "twins", "_colours", "_order", "_bounds", "_places")

    def __init__(self, pattern: SparsePattern, mode: str | None) -> None:
        self.pattern = pattern
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        columns = pattern.indices
        self.twins: Any = None
        if mode == _SYMMETRIC:
            colours = star_colouring(pattern)
            # entry (i, j) is read in the row of its end of higher colour; the other one is its twin
            readable = colours[rows] >= colours[columns]
            numbered = _sparse.csr_array((np.arange(1, rows.size + 1), columns, pattern.indptr), pattern.shape)
            transposed = numbered.T.tocsr()
            transposed.sort_indices()
            self.twins = np.where(readable, np.arange(rows.size), transposed.data - 1)
            entries = np.flatnonzero(readable)
            colour, self._places = colours[columns[entries]], rows[entries]
        else:
            mode, colours = _cheaper(pattern, mode)
            entries = np.arange(rows.size)
            colour, self._places = (colours[columns], rows) if mode == _FORWARD else (colours[rows], columns)
        self.mode = mode
        self.passes = int(colours.max(initial=-1)) + 1
        self._colours = colours
        order = np.argsort(colour, kind="stable")
        self._order, self._places = entries[order], self._places[order]
        self._bounds = np.searchsorted(colour[order], np.arange(self.passes + 1))

    def products(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield, for each product, the vector, the entries that are read from it, and their positions."""
        for colour in range(self.passes):
            part = slice(self._bounds[colour], self._bounds[colour + 1])
            yield self._colours == colour, self._order[part], self._places[part]


def _cheaper(pattern: SparsePattern, mode: str | None) -> tuple[str, np.ndarray]:
    """Return the mode with cheaper products, and its colours."""
    if mode == _FORWARD:
        return mode, colour_columns(pattern)
    if mode == _REVERSE:
        return mode, colour_columns(pattern.T)
    widest = int(np.diff(pattern.indptr).max(initial=0))
    tallest = int(np.bincount(pattern.indices, minlength=1).max(initial=0))
    # a colouring needs as many colours as its fullest row (or column) has entries: often that settles it without
    # the other
    least = {_FORWARD: _FORWARD_COST * widest, _REVERSE: tallest}
    first, second = (_REVERSE, _FORWARD) if least[_REVERSE] <= least[_FORWARD] else (_FORWARD, _REVERSE)
    weight = {_FORWARD: _FORWARD_COST, _REVERSE: 1}
    colours = colour_columns(pattern if first == _FORWARD else pattern.T)
    cost = weight[first] * (colours.max(initial=-1) + 1)
    if cost <= least[second]:
        return first, colours
    others = colour_columns(pattern if second == _FORWARD else pattern.T)
    return (second, others) if weight[second] * (others.max(initial=-1) + 1) < cost else (first, colours)


def _as_pattern(pattern: SparsePattern | np.ndarray, symmetric: bool) -> Any:
    """Return a given pattern as CSR with sorted indices."""
    try:
        given = _sparse.csr_array(pattern)
    except (TypeError, ValueError) as error:
        raise TypeError(f"pattern must be a sparse or dense matrix, got {type(pattern).__name__}") from error
    if given.ndim != 2 or (symmetric and given.shape[0] != given.shape[1]):
        raise ValueError(
            f"the pattern of a {'Hessian must be square' if symmetric else 'Jacobian must be a matrix'}, got shape"
            f" {given.shape}"
        )
    return _structure(given.indptr, given.indices, given.shape, symmetric)


def _structure(indptr: np.ndarray, indices: np.ndarray, shape: tuple, symmetric: bool) -> Any:
    found = _sparse.csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape)
    if symmetric:
        found = (found + found.T).tocsr()
    found.sum_duplicates()
    found.sort_indices()
    return found


# --- running --------------------------------------------------------------------------------------


def _input(args: tuple, argnums: int | tuple[int, ...], name: str) -> np.ndarray:
    """Return the array to differentiate with respect to, checked."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, np.integer)):
        raise TypeError(
            f"{name}: argnums must be an int, got {argnums!r}: to differentiate by several arguments, join them in one"
        )
    if not -len(args) <= argnums < len(args):
        raise ValueError(
            f"{name}: argnums is {argnums}, but the function was called with {len(args)} positional arguments"
        )
    given = args[argnums]
    array = given._array if isinstance(given, Tensor) else given
    if isinstance(array, (list, tuple, bool, int, float, complex, np.generic)) or not hasattr(array, "dtype"):
        raise TypeError(f"{name}: argument {argnums} must be a Tensor or a NumPy array, got {type(given).__name__}")
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}: argument {argnums} must be over NumPy's memory, got one over {type(array).__name__}")
    if array.dtype.kind != "f":
        raise TypeError(f"{name}: argument {argnums} must be real floating point, got {array.dtype}: convert it first")
    return np.ascontiguousarray(array)


def _called(
    func: Callable, argnums: int, x: Tensor, args: tuple, kwargs: dict, has_aux: bool, name: str
) -> tuple[Tensor, Any]:
    replaced = list(args)
    replaced[argnums] = x if isinstance(args[argnums], Tensor) else entered(x)
    out = func(*replaced, **kwargs)
    aux = None
    if has_aux:
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(
                f"{name}: with has_aux=True the function must return a pair of a Tensor and something else, got"
                f" {type(out).__name__}"
            )
        out, aux = out
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}: the function must return a Tensor, got {type(out).__name__}")
    if out._array.dtype.kind == "c":
        raise TypeError(
            f"{name}: the function must return a real Tensor, got {out.dtype!r}: take its real or imaginary part"
        )
    return out, aux


def _check_single(out: Tensor, name: str) -> None:
    if out._array.size != 1:
        raise ValueError(
            f"{name}: the function must return one number, got shape {list(out._array.shape)}: reduce it, or use"
            " sparse_jacobian"
        )


def _random(size: int, like: np.ndarray) -> np.ndarray:
    return np.random.default_rng(size).standard_normal(size).astype(like.dtype)


def _detect(func: Callable, argnums: int, args: tuple, kwargs: dict, has_aux: bool, twice: bool) -> Any:
    """Return the pattern of the Jacobian, or of the Hessian."""
    from ..arrays.sparsity import dependent
    from ..arrays.sparsity.dependence import Table

    name = "hessian_pattern" if twice else "jacobian_pattern"
    array = _input(args, argnums, name)
    table = Table(array.size)
    detecting, creating = dependent.detecting.get(), becoming.get()
    try:
        dependent.detecting.set(table)
        becoming.set(lambda output: dependent.constant(output) if isinstance(output, np.ndarray) else output)
        with modes.enable_grad():
            x = wrap(dependent.inputs(array)).requires_grad_()
            result, _ = _called(func, argnums, x, args, kwargs, has_aux, name)
            found: Any = result._array
            if twice:
                _check_single(result, name)
                gradient = grad(result, x, allow_unused=True)[0] if result.requires_grad else None
                found = np.zeros(array.shape) if gradient is None else gradient._array
            sets = dependent.sets_of(found).ravel()
            indptr, indices = table.rows(sets)
    finally:
        try:
            becoming.set(creating)
        finally:
            dependent.detecting.set(detecting)
    return _structure(indptr, indices, (sets.size, array.size), twice)
