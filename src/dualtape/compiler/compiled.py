"""``dualtape.compile``: a function that is traced on its first call, and replayed while its guards pass."""

from __future__ import annotations

import functools
import gc
import logging
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from .. import modes
from .._tensor import dtypes
from .._tensor.tensor import Tensor
from .._tracebacks import shorten
from ..arrays.fp_errors import reports_errors
from ..arrays.malloc import give_back
from ..arrays.traced.number import can_vary
from ..nn import Module
from ..pytree import tree_flatten
from .backends import chosen as chosen_backend
from .backends import forget_memory, shown, watched
from .guards import kinds
from .module import OptimizedModule
from .replay import Mismatch, Raised
from .specialization import Refusal, Specialization, Unfinished, trace

_tracing = threading.RLock()  # tensors have other arrays during a traced run: one at a time
# The most specializations of one function for arguments of the same shapes.
_LIMIT = 8
# So many calls may change Python objects before other calls are traced.
_AGAIN = 2
_KEPT = 256  # shapes whose programs are kept
# From so many shapes on, a new one is traced only when it comes again; with dynamic=False no more are traced.
_SHAPES = 64
_REMEMBERED = 4096  # shapes that have come once
_MUCH = 1 << 25  # bytes of a program, whose traced run has left as many free
_all: weakref.WeakSet[Compiled] = weakref.WeakSet()
_log = logging.getLogger("dualtape.compile")
_FLAT = {*kinds(), int, float, bool, str, type(None), np.ndarray}  # arguments that are leaves of their tree
_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


class Compiled:
    """A compiled function: made by :func:`compile`, called like the function."""

    def __init__(
        self,
        function: Callable,
        fullgraph: bool,
        backend: str,
        limit: int,
        name: str | None = None,
        dynamic: bool | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=() if isinstance(function, Module) else ("__dict__",))
        self._function = function
        self._fullgraph = fullgraph
        self._backend = backend
        self._limit = limit
        self._given_name = name
        self._dynamic = dynamic
        self._by_shape = bool(dynamic)  # whether specializations are found by the shapes of arguments
        self._specializations: dict[Any, list[Specialization]] = {}
        self._once: dict[Any, None] = {}  # what has come once, when there were many shapes already
        self._eager: dict[Any, str] = {}  # kinds of calls that run as they are, and why
        self._tries: dict[Any, int] = {}
        self._traced: list[str] = []  # why calls were traced again
        self._constants: dict[Any, frozenset[int]] = {}  # by kind: numbers among arguments that are no inputs
        _all.add(self)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> tuple:
        settings = self._fullgraph, self._backend, self._limit, self._given_name, self._dynamic
        return Compiled, (self._function, *settings)  # the copy traces its own programs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mode = modes.current()
        if mode.profiler is not None:
            with watched(mode.profiler):
                return mode.profiler.program(f"compiled: {self._name}", mode, lambda: self(*args, **kwargs))
        if not mode.plain or mode.batches or reports_errors():
            return self._function(*args, **kwargs)  # inside a transform, a mode, or another traced function
        leaves: Any = args
        spec = None
        # of calls with tensors and plain values, one after the other
        kind: Any = (len(args), mode.grad, mode.layout, dtypes.default_float())
        if kwargs or not _FLAT.issuperset(map(type, args)):
            leaves, spec = tree_flatten((args, kwargs))
            kind = (spec, *kind[1:])
        specializations = self._specializations.get((kind, _shapes(leaves)) if self._by_shape else kind, ())
        tried, raised = len(specializations), False
        for specialization in specializations:
            found = specialization.guard.check(self._function, leaves)
            if found is not None:
                try:
                    return specialization.run(found, (leaves, spec))
                except Raised:
                    raised = True
                    break
                except Mismatch:
                    continue
        if raised or kind in self._eager:
            return self._function(*args, **kwargs)
        try:
            return self._trace(args, kwargs, kind, tried)
        except Exception as error:
            shorten(error)
            raise

    def _trace(self, args: tuple, kwargs: dict, kind: Any, tried: int) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        with _tracing:
            shapes = _shapes(leaves)
            if self._dynamic is None and not self._by_shape:
                self._find_by_shape(shapes)
                tried = min(tried, len(self._specializations.get((kind, shapes), ()))) if self._by_shape else tried
            key = (kind, shapes) if self._by_shape else kind
            known = self._specializations.get(key, [])
            if len(known) > tried:  # another thread has traced in the meantime
                return self(*args, **kwargs)
            if self._by_shape and not known and not self._is_wanted(key):
                return self._function(*args, **kwargs)
            alike = sum(specialization.facts["shapes of arguments"] == shapes for specialization in known)
            nearest = known or (next(reversed(self._specializations.values()), []) if self._by_shape else [])
            changed = (
                max(specialization.guard.why(self._function, leaves) for specialization in nearest)[1]
                if nearest
                else ""
            )
            if alike >= self._limit or len(known) >= _SHAPES:
                count, what = (alike, "values") if alike >= self._limit else (len(known), "shapes")
                self._give_up(
                    kind,
                    f"it was traced {count} times for calls of this kind, and each time other {what} or settings led to"
                    f" another program; now {changed}",
                )
                return self._function(*args, **kwargs)
            if nearest:
                self._traced.append(changed)
                _log.info("%s: traced again: %s", self._name, changed)
            varying = self._varying(kind, nearest, leaves)
            constants = self._constants.get(kind, frozenset())
            specialization: Any
            try:
                result, specialization = trace(self._backend, self._function, args, kwargs, leaves, spec, varying)
            except Unfinished:
                result, specialization = None, None
            except BaseException:
                self._constants[kind] = constants | varying
                raise
            if specialization is None:  # what is written in C need not take a traced number for one
                self._constants[kind] = constants | varying
                return self._function(*args, **kwargs)
            if isinstance(specialization, Refusal) and specialization.numbers_read:
                self._constants[kind] = constants | specialization.numbers_read
            elif isinstance(specialization, str):
                # what a first call makes once (the state of an optimizer, a cache) is there in the next
                self._tries[kind] = self._tries.get(kind, 0) + 1
                if not getattr(specialization, "retry", False) or self._tries[kind] > _AGAIN:
                    self._give_up(kind, specialization)
            else:
                specialization.facts["shapes of arguments"] = shapes
                specialization.numbers = {
                    k: leaf for k, leaf in enumerate(leaves) if k not in varying and can_vary(leaf)
                }
                self._specializations.setdefault(key, []).append(specialization)
                if specialization.arena > _MUCH:
                    gc.collect()
                    give_back()  # of what the traced run took, the program takes a part
                while len(self._specializations) > _KEPT:
                    self._specializations.pop(next(iter(self._specializations)))
                _log.info(
                    "%s: traced, %s instructions, %s kept",
                    self._name,
                    specialization.facts["traced"],
                    specialization.facts["kept"],
                )
            return result

    def _varying(self, kind: Any, nearest: list[Specialization], leaves: list) -> frozenset[int]:
        """Return the indices of the numbers among a call's arguments that have changed since they were traced."""
        changed: set[int] = set()
        for specialization in nearest:
            for k, leaf in enumerate(leaves):
                if can_vary(leaf) and (k not in specialization.numbers or specialization.numbers[k] != leaf):
                    changed.add(k)
        return frozenset(changed - self._constants.get(kind, frozenset()))

    def _find_by_shape(self, shapes: tuple) -> None:
        """Index the specializations by the shapes of arguments, from the second shape on."""
        if all(
            v.facts["shapes of arguments"] == shapes
            for specializations in self._specializations.values()
            for v in specializations
        ):
            return
        sorted_out: dict[Any, list[Specialization]] = {}
        for kind, specializations in self._specializations.items():
            for specialization in specializations:
                sorted_out.setdefault((kind, specialization.facts["shapes of arguments"]), []).append(specialization)
        self._specializations, self._by_shape = sorted_out, True

    def _is_wanted(self, key: Any) -> bool:
        """Return whether to compile for new shapes: if there are very many already, only for those that come again."""
        if self._fullgraph or len(self._specializations) < _SHAPES:
            return True
        if not self._once and self._dynamic is None:
            warnings.warn(
                f"compile({self._name}): its calls have had {_SHAPES} different shapes, and each has a program of its"
                " own; from now on other shapes run as they are, until they come a second time (dynamic=True: without"
                " this warning)",
                stacklevel=4,
            )
        if key in self._once:
            return True
        self._once[key] = None
        if len(self._once) > _REMEMBERED:
            self._once.pop(next(iter(self._once)))
        return False

    @property
    def _name(self) -> str:
        if isinstance(self._function, Module):
            return self._given_name or type(self._function).__name__
        return self._given_name or str(getattr(self._function, "__qualname__", repr(self._function)))

    def _give_up(self, key: Any, reason: str) -> None:
        """Run calls of this kind uncompiled from now on, with one warning."""
        if self._fullgraph:
            raise RuntimeError(f"compile({self._name}, fullgraph=True): {reason}")
        self._eager[key] = reason
        _log.info("%s: runs as it is: %s", self._name, reason)
        warnings.warn(f"compile({self._name}): runs as it is, without a compiled program: {reason}", stacklevel=4)

    def _reset(self) -> None:
        with _tracing:
            self._specializations.clear()
            self._by_shape = bool(self._dynamic)
            self._once.clear()
            self._eager.clear()
            self._tries.clear()
            self._traced.clear()
            self._constants.clear()

    def __repr__(self) -> str:
        return f"<compiled {self._name}>"


def _shapes(leaves: Any) -> tuple:
    """Return the shapes of tensors and arrays among arguments."""
    arrays = [leaf._array if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return tuple([array.shape if type(array) is np.ndarray else None for array in arrays])


C = TypeVar("C", bound=Callable[..., Any])


@overload
def compile(
    model: C,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> C: ...


@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Callable[[C], C]: ...


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | None = None,
    mode: str | None = None,
    options: dict | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function that does what ``model`` does, by a program that is traced at its first call.

    The program is what the function did with arrays, forward and backward, without tensors, dispatch and tape in
    between. It holds for calls of the same kind: shapes, dtypes, ``requires_grad``, plain arguments, and everything
    else that the function can see are checked at each call, values that it looked at (``if x.sum() > 0``) while the
    program runs; another kind of call is traced for itself.

    Parameters
    ----------
    model : callable
        The function; without it, a decorator is returned. Of an ``nn.Module`` a module is made that has its
        parameters, attributes and state.
    fullgraph : bool, default False
        Raise where the function cannot be traced, rather than run it as it is, with a warning.
    dynamic : bool, optional
        Whether shapes change from call to call; None: found out, when a second one comes. Then programs are found by
        the shapes of arguments, so that any number of them may alternate. A new shape is traced, but its kernels are
        those of other sizes, so that this takes milliseconds; programs of 256 shapes are kept; from the 64th on, a new
        shape runs as it is and is traced when it comes again. False: a function whose calls have more than 64 different
        shapes runs as it is, with a warning.
    backend : {"native", "numpy"}, optional
        What runs the program: native code, if llvmlite is installed (``pip install dualtape[compile]``), or NumPy.
        PyTorch's "inductor" means the first, "eager" and "aot_eager" the second.
    mode : str, optional
        PyTorch's names are taken; all mean the same here.
    options : dict, optional
        There are none.
    name : str, optional
        What messages call the function.
    disable : bool, default False
        Return the function itself.
    recompile_limit : int, optional
        How many programs calls with arguments of the same shapes may have before they run as they are: 8.
    isolate_recompiles : bool
        Each compiled function has programs of its own, and a limit of its own, in any case.
    shapes_spec : None
        Not taken: shapes are those of the arguments.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.compile
    ... def energy(x):
    ...     return (x * x).sum()
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> energy(x).backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            name=name,
            disable=disable,
            recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles,
            shapes_spec=shapes_spec,
        )
    if not callable(model):
        raise TypeError(f"compile: expected a function, got a {type(model).__name__}")
    if mode not in _MODES:
        raise ValueError(f"compile: mode must be one of {', '.join(map(str, _MODES))}, got {mode!r}")
    if dynamic not in (None, True, False):
        raise TypeError(f"compile: dynamic must be True, False or None, got {dynamic!r}")
    if shapes_spec is not None:
        raise NotImplementedError("compile: shapes_spec is not there: sizes that vary are found by themselves")
    if options:
        raise ValueError(f"compile: there is no option {', '.join(map(repr, options))}")
    if recompile_limit is not None and (not isinstance(recompile_limit, int) or recompile_limit < 1):
        raise ValueError(f"compile: recompile_limit must be a positive number, got {recompile_limit!r}")
    if disable:
        return model
    inside = model._orig_mod if isinstance(model, OptimizedModule) else model
    compiled = Compiled(inside, fullgraph, chosen_backend(backend), recompile_limit or _LIMIT, name, dynamic)
    if not isinstance(inside, Module):
        return compiled
    again = functools.partial(
        compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, name=name, recompile_limit=recompile_limit
    )
    return OptimizedModule(inside, compiled, again)


def reset() -> None:
    """Discard all traced programs, and free the memory that they share.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.reset()
    """
    for compiled in list(_all):
        compiled._reset()
    forget_memory()


def disable(fn: Callable | None = None, recursive: bool = True) -> Any:
    """Return a function that is not traced: a compiled function that calls it runs uncompiled.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.compiler.disable
    ... def shown(x):
    ...     return x * 2
    >>> shown(dt.ones(2))
    tensor([2., 2.])
    """
    if fn is None:
        return disable

    @functools.wraps(fn)
    def untraced(*args: Any, **kwargs: Any) -> Any:
        tracer = modes.current().tracing
        if tracer is not None:
            tracer.tape.fail(f"it calls {getattr(fn, '__qualname__', fn)}, which is not to be compiled")
        return fn(*args, **kwargs)

    return untraced


def is_compiling() -> bool:
    """Return whether a function is being traced.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.is_compiling()
    False
    """
    return modes.current().tracing is not None


def explain(function: Callable) -> Callable[..., Explanation]:
    """Report what compiling a call does: ``explain(f)(*args)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> told = dt.compiler.explain(lambda x: (x * 2).sum())(dt.ones(3))
    >>> told.kept
    2
    """

    @functools.wraps(function)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        inside = function._compiled if isinstance(function, OptimizedModule) else function
        compiled = inside if isinstance(inside, Compiled) else Compiled(inside, False, chosen_backend(None), _LIMIT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(*args, **kwargs)
        return Explanation(compiled)

    return explained


def draw(function: Callable) -> Callable[..., Any]:
    """Draw the programs of a call, ``draw(f)(*args)``: as they were traced, and in kernels.

    Examples
    --------
    >>> import dualtape as dt
    >>> pictures = dt.compiler.draw(lambda x: (x * 2).sum())(dt.ones(3))
    >>> pictures[0].title
    'forward, as it was traced'
    """

    @functools.wraps(function)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        from ..draw.programs import Pictures, of_program

        inside = function._compiled if isinstance(function, OptimizedModule) else function
        inside = inside._function if isinstance(inside, Compiled) else inside
        compiled = Compiled(inside, False, chosen_backend(None), _LIMIT)
        programs: list[tuple] = []
        before = shown.set(programs)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled(*args, **kwargs)
        finally:
            shown.reset(before)
        if not programs:
            reasons = "; ".join(compiled._eager.values()) or "it runs inside a transform or another mode"
            raise ValueError(f"draw: {compiled._name} is not compiled for these arguments: {reasons}")
        return Pictures(picture for program in programs for picture in of_program(*program))

    return drawn


class Explanation:
    """The programs of a compiled function, and why calls were traced again or run uncompiled.

    Attributes
    ----------
    traced, kept, backward : int
        Instructions of the traced run, of a replay, and of the backward.
    guards, checks : list
        What is checked before a replay, and the lines whose values are checked in it.
    reasons, retraced : list of str
        Why calls run as they are, and why they were traced again: what was not as it had been.
    kernels, calls, bytes : int
        Native kernels, calls of libraries between them, and bytes of memory that a call uses; 0 where NumPy runs it.
    phases : dict of str to float
        Seconds: tracing, planning, machine code.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.name = compiled._name
        self.specializations = [v for specializations in compiled._specializations.values() for v in specializations]
        self.reasons = list(compiled._eager.values())
        last = self.specializations[-1].facts if self.specializations else {}
        self.traced, self.kept = last.get("traced", 0), last.get("kept", 0)
        self.backward, self.saved_bytes = last.get("backward", 0), last.get("saved bytes", 0)
        self.guards, self.checks = last.get("guards", []), last.get("checks", [])
        self.seconds = last.get("seconds", 0.0)
        self.retraced = list(compiled._traced)
        native = self.specializations[-1].native if self.specializations else []
        self.kernels, self.calls, self.bytes = (sum(f[key] for f in native) for key in ("kernels", "calls", "arena"))
        planning, code = (sum(f[key] for f in native) for key in ("planning", "code"))
        self.phases = {"tracing": max(self.seconds - planning - code, 0.0), "planning": planning, "machine code": code}

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.specializations)} programs"]
        lines += [f"runs as it is: {reason}" for reason in self.reasons]
        lines += [f"traced again: {reason}" for reason in self.retraced]
        if self.specializations:
            lines += [
                f"instructions: {self.traced} traced, {self.kept} kept, {self.backward} on the way back",
                f"kernels: {self.kernels}, calls of libraries: {self.calls}, memory: {self.bytes} bytes",
                f"saved for the way back: {self.saved_bytes} bytes",
                f"time of the first call: {self.seconds:.3f} s ("
                + ", ".join(f"{name} {time:.3f}" for name, time in self.phases.items())
                + ")",
                f"guards: {len(self.guards)}",
                *[f"  {line}" for line in self.guards],
                f"values looked at: {len(self.checks)}",
                *[f"  {where}" for where in self.checks],
            ]
        return "\n".join(lines)

    __repr__ = __str__


if "compile" in os.environ.get("DUALTAPE_LOGS", "").split(","):
    logging.basicConfig()
    _log.setLevel(logging.INFO)
