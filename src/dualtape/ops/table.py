"""The op table: how an op is declared, and the properties derived from its declaration.

One call of :func:`op` is one row: the forward on raw arrays, the derivative formulas, the properties, the samples that
test it. A formula's parameter names say what it reads: ``g`` (the gradient; ``g_values`` and so on for named outputs,
``grads`` for all), an input's name, an output's name (``out`` if there is one), another parameter, or
``x_shape``/``x_dtype`` of an input. A value that no formula names is not saved. Rows are checked when they are read, so
that a wrong row fails at import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from .. import _locks
from ..arrays.kernels.memory_order import reduces_in_rows
from ..errors import DeclarationError, warn
from .op_node import OpNode, saved_properties
from .saves import ATTRIBUTE, INPUT, OUTPUT

ELEMENTWISE = "elementwise"  # one input, same shape out
BROADCASTING = "broadcasting"  # several inputs, broadcast together
REDUCTION = "reduction"  # takes dim and keepdim
CONTRACTION = "contraction"  # two inputs, summed over an axis they share
GENERAL = "general"
LINEAR = "linear"  # jvp: the op itself on the tangents, together
BILINEAR = "bilinear"  # jvp: the op on one tangent at a time, summed
LISTED = "listed"  # outputs: as many as the arguments ask for

# Promotion to a common type that is floating point or complex.
FLOAT = "float"
COMMON = "common"  # promotion: to a common type


class Registry(dict):
    """A dict of ops by name; a missing name is looked up in the families that have not been imported."""

    load: Callable[[str], None]  # set by the package, which knows the families

    def __missing__(self, name: str) -> Any:
        Registry.load(name)
        if name not in self:
            raise KeyError(f"there is no op named {name!r}")
        return self[name]


TABLE: dict[str, Op] = Registry()
COMPOSITES: dict[str, Composite] = Registry()
UFUNCS: dict[np.ufunc, Callable] = {}

_PUBLIC = {"x": "self", "y": "other", "out": "result", "x_shape": "self_sym_sizes"}
_OUTSIDE = {"x": "input", "y": "other"}  # parameters as PyTorch's documentation names them
_ALIASES = {"axis": "dim", "keepdims": "keepdim"}
_SUFFIXES = {"_shape": "shape", "_dtype": "dtype"}


# ops whose factors once stood before their tensors: x.add_(2, y), which old programs still say
_FACTORS = {
    "add": ("alpha",),
    "sub": ("alpha",),
    "addcmul": ("value",),
    "addcdiv": ("value",),
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm"), ("beta", "alpha")),
}
_NUMBERS = (int, float, complex)


def _factors_last(op: Op, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return arguments in a deprecated order in their present one, with a warning; others unchanged."""
    name, first = op.name, 1
    given = (*args, *[kwargs[param] for param in op.params[len(args) :] if param in kwargs])
    while first < len(given) and isinstance(given[first], _NUMBERS):
        first += 1
    factors, numbers, tensors = _FACTORS[name], given[1:first], given[first:]
    count = 1 if name in ("add", "sub") else 2
    if len(numbers) > len(factors) or len(tensors) != count or any(isinstance(t, _NUMBERS) for t in tensors):
        return args, kwargs
    named = dict(zip(factors, numbers, strict=False))
    shown = ", ".join(f"{key}={value}" for key, value in named.items())
    warn(f"{name}: factors before tensors are deprecated: write {name}(..., {shown})")
    others = {key: value for key, value in kwargs.items() if key not in op.params}
    return (args[0], *tensors), {**others, **named}


class Op:
    """One row of the table, checked and ready to run."""

    __slots__ = (
        "name",
        "forward",
        "params",
        "defaults",
        "required",
        "kind",
        "inputs",
        "constants",
        "tensor_places",
        "input_places",
        "optional_places",
        "listed_place",
        "formulas",
        "loads",
        "leads",
        "simple",
        "saves",
        "sources",
        "users",
        "saves_tensors",
        "jvp",
        "promote",
        "view",
        "outputs",
        "node_names",
        "variant",
        "_node_classes",
        "samples",
        "doc",
        "function",
        "inplace",
        "inplace_function",
        "varargs",
        "scalars",
        "result_type",
        "aliases",
        "torch_name",
        "complex",
        "quiet",
        "numpy_forward",
        "numpy_vjp",
        "numpy_formulas",
        "numpy_scalars",
        "numpy_change",
        "numpy_joint",
        "overwrites",
        "keywords",
        "whole",
        "frees",
        "key",
        "_save",
    )

    function: Callable  # what users call; given when the row is published
    inplace_function: Callable  # its in-place form, if there is one

    def __init__(self, name: str, forward: Callable, **row: Any) -> None:
        self.name = name
        self.forward = reduces_in_rows(forward) if row["kind"] == REDUCTION else forward
        self.frees: bool = row["frees"]
        self.key: str | None = row["key"]
        self.kind = row["kind"]
        self.params, self.defaults = _signature(name, forward, row["params"])
        self.required = len(self.params) - len(self.defaults)
        self.doc = row["doc"]
        self.samples = row["samples"]
        self.promote = row["promote"]
        self.view = row["view"]
        self.varargs = None if row["varargs"] is None else self.params.index(row["varargs"])
        self.outputs = row["outputs"]
        self.result_type = _result_type(name, self.outputs) if isinstance(self.outputs, tuple) else None
        self.variant = row["variant"]
        names = row["node"] or f"{camel(name)}Backward0"
        self.node_names = (names,) if isinstance(names, str) else tuple(names)
        self._node_classes: list[type[OpNode] | None] = [None] * len(self.node_names)
        self.aliases = {**_ALIASES, "input": self.params[0], "self": self.params[0], "other": "y", **row["aliases"]}
        self.torch_name = row["torch_name"] or name
        self.complex = row["complex"]
        self.inplace = row["inplace"]
        self.jvp = row["jvp"]
        self.numpy_forward, self.numpy_vjp = row["numpy_forward"], row["numpy_vjp"] or {}
        self.numpy_scalars, self.numpy_change = row["numpy_scalars"], row["numpy_change"]
        self.overwrites, self.whole = row["overwrites"], row["whole"]
        self.keywords = tuple(row["keywords"])
        last = self.params[max(self.required, len(self.params) - len(self.keywords)) :]
        if self.keywords and self.keywords != last:
            raise DeclarationError(f"op {name!r}: keywords are its last parameters with defaults, got {self.keywords}")
        self._save: Callable | None = None

        vjp = dict(row["vjp"] or {})
        self.constants = tuple(row["constants"])
        listed = row["listed"]
        for key in (*vjp, *self.constants):
            if key not in self.params:
                raise DeclarationError(f"op {name!r}: {key!r} is not a parameter; it has {', '.join(self.params)}")
        self.inputs = tuple(p for p in self.params if p in vjp)
        self.quiet = not self.view and row["quiet"]
        self.listed_place = None if listed is None else self.params.index(listed)
        if listed is not None and self.inputs not in ((), (listed,)):
            raise DeclarationError(f"op {name!r}: a list input must be the only differentiable one")
        self.input_places = tuple(self.params.index(p) for p in self.inputs)
        places = {*self.input_places, *(self.params.index(c) for c in self.constants)}
        if not vjp and not self.constants and self.kind in (ELEMENTWISE, BROADCASTING, REDUCTION):
            arity = forward.nin if isinstance(forward, np.ufunc) else (2 if self.kind == BROADCASTING else 1)
            places = set(range(arity))
        self.tensor_places = tuple(sorted(places)) or (0,)
        self.scalars = row["scalars"] if row["scalars"] is not None else self.kind == BROADCASTING
        self._read_formulas(vjp, listed, row["numpy_joint"])
        _check_jvp(self)
        self.optional_places = frozenset(
            place for place in self.tensor_places if place >= self.required or self.scalars
        )  # what may be None there, or a number
        for key, formula in self.numpy_vjp.items():
            if key not in vjp or formula_names(formula) != formula_names(vjp[key]):
                raise DeclarationError(f"op {name!r}: numpy_vjp's formula of {key!r} must have the parameters of vjp's")

    def _read_formulas(self, vjp: dict[str, Callable], listed: str | None, joint: Callable | None) -> None:
        asked = [(vjp[key], formula_names(vjp[key])) for key in self.inputs]
        saves: list[tuple[str, int, int]] = []
        sources: list[tuple[int, int, str]] = []
        places: dict[str, int] = {}  # of what is saved
        if self.kind in (ELEMENTWISE, BROADCASTING, CONTRACTION) and any([names != ("g",) for _, names in asked]):
            # a fixed beginning, so that the fast paths can lay the tuple out without looking
            for place in self.tensor_places:
                places[self.params[place]] = len(saves)
                saves.append((self.params[place], INPUT, 0))
                sources.append((INPUT, place, "value"))
            places["out"] = len(saves)
            saves.append(("out", OUTPUT, 0))
            sources.append((OUTPUT, 0, "value"))
        outputs = self.outputs if isinstance(self.outputs, tuple) else ("out",)
        # their numbers; -1: all of them
        gradients = {
            "grads": -1,
            "g": 0,
            **{f"g_{name}": number for number, name in enumerate(outputs)},
        }
        for key, (_, names) in zip(self.inputs, asked, strict=True):
            if gradients.keys().isdisjoint(names):
                raise DeclarationError(f"op {self.name!r}: the formula of {key!r} takes no gradient (g)")
            for name in names:
                if name not in gradients and name not in places:
                    saves.append(self._saved_as(name, outputs, listed, key))
                    sources.append(self._source(name, outputs))
                    places[name] = len(saves) - 1
        count = len(saves)
        for name, number in gradients.items():
            places[name] = number if number < 0 else count + number
        self.formulas = tuple([(f, tuple([places[n] for n in names])) for f, names in asked])
        self.numpy_formulas = tuple(
            [(self.numpy_vjp.get(key, f), where) for key, (f, where) in zip(self.inputs, self.formulas, strict=True)]
        )
        self.numpy_joint = None if joint is None else (joint, tuple([places[n] for n in formula_names(joint)]))
        self.users = tuple(
            [tuple([i for i, (_, where) in enumerate(self.formulas) if k in where]) for k in range(count)]
        )
        self.saves = tuple(saves)
        self.sources = tuple(sources)
        self.saves_tensors = any(
            [0 <= k < count and saves[k][1] != ATTRIBUTE for _, where in self.formulas for k in where]
        )
        self.frees = self.saves_tensors or self.frees
        # the gradient of one output, or those of all, the first parameter of each formula: what a node runs without
        # ceremony
        self.simple = all([names[0] in gradients and gradients.keys().isdisjoint(names[1:]) for _, names in asked])
        self.loads = (
            tuple([(f, tuple([(saves[k][1], k) for k in where[1:]])) for f, where in self.formulas])
            if self.simple
            else ()
        )
        self.leads = tuple([gradients[names[0]] for _, names in asked]) if self.simple else ()

    def _saved_as(self, name: str, outputs: tuple, listed: str | None, key: str) -> tuple[str, int, int]:
        if name in outputs and self.outputs is not LISTED:
            return (name, OUTPUT, outputs.index(name))
        if name in self.params:
            if self.params.index(name) in self.tensor_places:
                if name == listed:
                    raise DeclarationError(
                        f"op {self.name!r}: the formula of {key!r} asks for the list {name!r} itself"
                    )
                return (name, INPUT, 0)
            return (name, ATTRIBUTE, 0)
        if name[-6:] in _SUFFIXES and name[:-6] in self.params:
            return (name, ATTRIBUTE, 0)
        raise DeclarationError(
            f"op {self.name!r}: the formula of {key!r} asks for {name!r}; it may ask for g,"
            f" {', '.join((*self.params, *outputs))},"
            " and an input's _shape or _dtype"
        )

    def _source(self, name: str, outputs: tuple) -> tuple[int, int, str]:
        if name in outputs and name not in self.params:
            return (OUTPUT, outputs.index(name), "value")
        if name in self.params:
            return (INPUT, self.params.index(name), "value")
        return (INPUT, self.params.index(name[:-6]), _SUFFIXES[name[-6:]])

    def save(self, values: list, raws: list, results: list, needs: tuple) -> tuple:
        """Return the values that a node saves: of arguments, their arrays and the entries of results, by which inputs
        need a gradient.
        """
        if self._save is None:
            from .codegen.source import compiled, saver

            with _locks.making:
                self._save = self._save or compiled(saver(self), f"what {self.name} saves", {})
        return self._save(values, raws, results, needs)

    def vjp_of_view(self, grads: list, x_shape: tuple, x_dtype: Any, values: tuple) -> Any:
        """Return the gradient of a view op's tensor from those of its results, given its other arguments."""
        formula, places = self.formulas[0]
        saved: list = []
        for _, place, what in self.sources:
            saved.append({"shape": x_shape, "dtype": x_dtype}[what] if what != "value" else values[place - 1])
        everything = [*saved, *grads, grads]
        return formula(*(everything[k] for k in places))

    def node_class(self, number: int = 0) -> type[OpNode]:
        """Return the class of this op's nodes, made on first use; ``number`` selects one of several names."""
        return self._node_classes[number] or self._made_class(number)

    def _made_class(self, number: int) -> type[OpNode]:
        fields = {
            "__slots__": (),
            "op": self,
            "__module__": __name__,
            "_holds": self.frees,
            **saved_properties(self),
        }
        if self.simple:
            from .codegen.functions import vjps

            fields.update(vjps(self))
        made = type(self.node_names[number], (OpNode,), fields)
        with _locks.making:
            known = self._node_classes[number] = self._node_classes[number] or made
        return known

    def public_name(self, saved: str) -> str:
        """Return the name under which a node shows a saved value, PyTorch's where it has one."""
        return _PUBLIC.get(saved, saved)

    def bind(self, args: tuple, kwargs: dict) -> list:
        """Return the arguments of a call, one for each parameter."""
        params = self.params
        at = self.varargs
        if self.name in _FACTORS and len(args) > 1 and isinstance(args[1], _NUMBERS):
            args, kwargs = _factors_last(self, args, kwargs)
        if (
            at is not None
            and len(args) > at
            and not isinstance(args[at], (tuple, list))
            and at not in self.tensor_places
        ):
            if args[at] is not None:
                args = (*args[:at], tuple(args[at:]))
        if len(args) > len(params):
            raise TypeError(
                f"{self.name}() takes at most {len(params)} arguments ({', '.join(params)}), got {len(args)}"
            )
        if not kwargs and len(args) >= self.required:
            return [*args, *self.defaults[len(args) - self.required :]]
        values = list(args) + [MISSING] * (len(params) - len(args))
        for key, value in kwargs.items():
            name = key if key in params else self.aliases.get(key, key)
            if name not in params:
                raise TypeError(
                    f"{self.name}() got an unexpected keyword argument {key!r}; it takes {', '.join(params)}"
                )
            place = params.index(name)
            if values[place] is not MISSING:
                raise TypeError(f"{self.name}() got multiple values for argument {key!r}")
            values[place] = value
        for place in range(len(params)):
            if values[place] is MISSING:
                if place < self.required:
                    raise TypeError(
                        f"{self.name}() is missing its argument {params[place]!r}; it takes {', '.join(params)}"
                    )
                values[place] = self.defaults[place - self.required]
        return values

    def given(self, values: tuple) -> tuple:
        """Return positional arguments without trailing ones that were not given: overrides see no defaults."""
        count, required, defaults = len(values), self.required, self.defaults
        if self.varargs is None:
            while count > required and values[count - 1] is defaults[count - 1 - required]:
                count -= 1
        while count and values[count - 1] is MISSING:
            count -= 1
        return values[:count]

    @property
    def is_pointwise_pair(self) -> bool:
        """Whether this is an op of two tensors, elementwise or contracted, as Python's operators are."""
        return self.kind in (BROADCASTING, CONTRACTION) and self.tensor_places == (0, 1) and self.required == 2

    @property
    def __signature__(self) -> Any:
        return self.signature(out=not self.view)

    def signature(self, out: bool) -> Any:
        """Return the public signature; ``out`` says whether it has a parameter of that name."""
        import inspect

        kinds = inspect.Parameter
        parameters = []
        for place, name in enumerate(self.params):
            default = self.defaults[place - self.required] if place >= self.required else kinds.empty
            kind = kinds.KEYWORD_ONLY if name in self.keywords else kinds.POSITIONAL_OR_KEYWORD
            parameters.append(kinds(_OUTSIDE.get(name, name), kind, default=default))
        if out:
            parameters.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
        return inspect.Signature(parameters)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join(self.params)})>"


class Composite:
    """An op made of other ops: it has a name and samples, and no formula."""

    __slots__ = ("name", "function", "samples", "doc", "torch_name", "complex")

    def __init__(
        self, name: str, function: Callable, samples: Any, doc: str, torch_name: str, complex: bool | str | None
    ) -> None:
        self.name, self.function, self.samples, self.doc = name, function, samples, doc
        self.torch_name = torch_name
        self.complex = complex


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()


def formula_names(function: Callable) -> tuple[str, ...]:
    """Return the parameter names of a formula, which say what it reads."""
    names = getattr(function, "formula_names", None)
    if names is not None:
        return names
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def named(function: Callable, names: Sequence[str]) -> Callable:
    """Return ``function`` with the given parameter names."""
    function.formula_names = tuple(names)  # type: ignore[attr-defined]
    return function


def _signature(name: str, forward: Callable, params: Sequence[str] | None) -> tuple[tuple[str, ...], tuple]:
    if isinstance(forward, np.ufunc):
        return tuple(params or ("x", "y", "z")[: forward.nin]), ()
    forward = getattr(forward, "__wrapped__", forward)
    if not hasattr(forward, "__code__"):
        if params is None:
            raise DeclarationError(f"op {name!r}: give params=, the forward {forward!r} does not show its own")
        return tuple(params), ()
    code = forward.__code__
    return code.co_varnames[: code.co_argcount], forward.__defaults__ or ()


def camel(name: str) -> str:
    """Return ``name`` in the form of node class names."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _result_type(name: str, outputs: tuple[str, ...]) -> type:
    fields: dict[str, Any] = {o: property(itemgetter(i)) for i, o in enumerate(outputs)}
    fields.update(__slots__=(), _fields=outputs, __module__="dualtape.return_types")
    return type(name, (ResultTuple,), fields)


class ResultTuple(tuple):
    """A named tuple of several results."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        inner = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"dualtape.return_types.{type(self).__name__}(\n{inner})"

    def __reduce__(self) -> tuple:
        return (tuple, (tuple(self),))


def _check_jvp(op: Op) -> None:
    jvp = op.jvp
    if jvp is None or jvp in (LINEAR, BILINEAR):
        return
    if not isinstance(jvp, dict):
        raise DeclarationError(f"op {op.name!r}: jvp is LINEAR, BILINEAR or a dict of formulas, got {jvp!r}")
    outputs = op.outputs if isinstance(op.outputs, tuple) else ("out",)
    for key, formula in jvp.items():
        if key not in op.inputs:
            raise DeclarationError(
                f"op {op.name!r}: jvp names {key!r}; its differentiable inputs are {', '.join(op.inputs)}"
            )
        for name in formula_names(formula):
            known = name == "t" or name in op.params or name in outputs
            if not known and not (name[-6:] in _SUFFIXES and name[:-6] in op.params):
                raise DeclarationError(
                    f"op {op.name!r}: the jvp formula of {key!r} asks for {name!r}, which it does not have"
                )


def _from_derivative(derivative: Callable) -> tuple[dict, dict]:
    """Return vjp and jvp of an elementwise function from its derivative."""
    names = formula_names(derivative)
    if len(names) == 1:
        vjp = named(lambda g, value: g * derivative(value).conj(), ("g", *names))
    else:
        vjp = named(lambda g, *values: g * derivative(*values).conj(), ("g", *names))
    jvp = named(lambda t, *values: np.multiply(t, derivative(*values)), ("t", *names))
    return {"x": vjp}, {"x": jvp}


def op(
    name: str,
    forward: Callable,
    *,
    kind: str,
    samples: Any,
    vjp: dict[str, Callable] | None = None,
    derivative: Callable | None = None,
    jvp: Any = None,
    params: Sequence[str] | None = None,
    constants: Sequence[str] = (),
    listed: str | None = None,
    outputs: Any = None,
    promote: str | None = None,
    node: Any = None,
    variant: Callable | None = None,
    view: bool | str = False,
    varargs: str | None = None,
    keywords: Sequence[str] = (),
    scalars: bool | None = None,
    quiet: bool = True,
    numpy_forward: Callable | None = None,
    numpy_vjp: dict[str, Callable] | None = None,
    numpy_joint: Callable | None = None,
    whole: bool = False,
    frees: bool = False,
    key: str | None = None,
    numpy_scalars: bool = False,
    numpy_change: Callable | None = None,
    overwrites: str | None = None,
    inplace: bool | None = None,
    namespace: str | None = None,
    method: bool | str | None = None,
    public: bool | None = None,
    also: Sequence[str] = (),
    aliases: dict[str, str] | None = None,
    torch_name: str | None = None,
    complex: bool | str | None = True,
    doc: str = "",
) -> Callable:
    """Declare an op, and return its function.

    Parameters
    ----------
    name : str
        PyTorch's name.
    forward : callable
        The op on raw arrays: a ufunc, or a function whose parameter names are the op's.
    kind : str
        ELEMENTWISE, BROADCASTING, REDUCTION, CONTRACTION or GENERAL: what batching and sharding can know without
        looking inside.
    samples : sequence
        Arguments to test with; see :mod:`dualtape.ops.samples`.
    vjp : dict
        For each differentiable input, the formula of its gradient. Arguments come to it as they were given, be it
        integers, and not as the forward saw them: :func:`.formulas.in_dtype_of` where that makes a difference.
    derivative : callable
        For an ELEMENTWISE op instead: its derivative, from which vjp and jvp follow.
    jvp : dict, LINEAR or BILINEAR
        For each differentiable input, what its tangent ``t`` adds to the output's; or the property that says it.
        Without it the tangent comes from the vjp, transposed.
    constants : sequence of str
        Parameters that are tensors but not differentiable (indices, masks).
    listed : str
        The parameter that is a list of tensors.
    outputs : tuple of str or LISTED
        Names of several outputs; LISTED if their number depends on the arguments.
    promote : FLOAT or COMMON
        How the tensor arguments are brought to one dtype before the forward.
    node : str or tuple of str; variant : callable
        The node's name where it is not the default; several, and the function of the arguments that picks one.
    view : bool or "overlapping"
        The result shares the first argument's memory; its elements may share memory with each other.
    varargs : str
        The parameter that may also be given as separate integers.
    keywords : sequence of str
        The last parameters, those that PyTorch takes by keyword alone.
    scalars : bool
        Python numbers may stand for tensors. Default: for BROADCASTING.
    quiet : bool
        NumPy's floating-point warnings must be silenced around the forward. Not needed where it calls ufuncs itself.
    numpy_forward : callable
        The forward once more, for NumPy's arrays and the required arguments alone; it may refuse with a ValueError.
        These and the following only where they are measured to pay.
    numpy_vjp : dict
        The vjp's formulas once more, with the same parameters and results, for NumPy's arrays (and scalars, which stand
        for 0-d ones) and a backward that is not recorded: these may write into what they made themselves.
    numpy_joint : callable
        Of an op with several outputs: one formula more, of what numpy_vjp's read, that gives the gradients of all
        inputs at once, or None where they are better computed one by one.
    whole : bool
        A compiled program calls forward and formulas as they are: they are no loops over elements.
    frees : bool
        A second backward through a node is refused, as of every op that saves tensors: PyTorch's saves some where this
        one keeps options (indices, sizes).
    key : str
        The parameter that is a tuple of index tensors and slices: the forward takes it as it is, and the tensors in it
        are saved.
    numpy_scalars : bool
        Whether they are the better ones for scalars, too.
    numpy_change : callable
        What the in-place form adds to the first argument, for arrays of one dtype, where nothing is recorded.
    overwrites : {"zero", "value", "array"}
        The in-place form takes nothing of the first argument: zeros are written, a number, or an array.
    inplace : bool
        There is an in-place method. Default: for ELEMENTWISE and BROADCASTING ops that have a method and a derivative.
    namespace : str
        Where the function lives, if it is not the package's own namespace: "linalg", "special". A name that begins with
        it (``linalg_solve``) goes by the rest there.
    method : bool or str
        There is a method (of another name). Default: unless there is a namespace.
    public : bool
        There is a function in the package's namespace. Default: unless there is another.
    also : sequence of str
        Further names for the same function and method; with a namespace before a dot, for the function there.
    torch_name : str
        Dotted name of PyTorch's function, where it is not ``torch.<name>``.
    complex : bool, "only" or None
        Complex inputs are supported, or refused; or no others are supported; None: what happens to them is for who
        calls the op to know.
    doc : str
        One line on what it computes, and an example after a blank line.
    """
    if name in TABLE or name in COMPOSITES:
        raise DeclarationError(f"op {name!r} is declared twice")
    if derivative is not None:
        if vjp is not None or jvp is not None:
            raise DeclarationError(f"op {name!r}: give derivative, or vjp and jvp, not both")
        vjp, jvp = _from_derivative(derivative)
    if not samples:
        raise DeclarationError(f"op {name!r} has no samples: nothing would test it")
    public, method, also, torch_name = _places(name, namespace, public, method, also, torch_name)
    if inplace is None:
        inplace = kind in (ELEMENTWISE, BROADCASTING) and bool(vjp) and bool(method)
    row = Op(
        name,
        forward,
        kind=kind,
        samples=samples,
        vjp=vjp,
        jvp=jvp,
        params=params,
        constants=constants,
        listed=listed,
        outputs=outputs,
        promote=promote,
        node=node,
        variant=variant,
        view=view,
        varargs=varargs,
        scalars=scalars,
        quiet=quiet,
        numpy_forward=numpy_forward,
        numpy_vjp=numpy_vjp,
        numpy_scalars=numpy_scalars,
        numpy_change=numpy_change,
        numpy_joint=numpy_joint,
        whole=whole,
        frees=frees,
        key=key,
        overwrites=overwrites,
        keywords=keywords,
        inplace=inplace,
        aliases=aliases or {},
        torch_name=torch_name,
        complex=complex,
        doc=doc,
    )
    from .publish import publish

    publish(row, method=method, public=public, also=also)
    TABLE[name] = row
    return row.function


def _places(
    name: str, namespace: str | None, public: bool | None, method: Any, also: Sequence[str], torch_name: str | None
) -> tuple[bool, Any, tuple[str, ...], str | None]:
    """Return the names under which a function is published, as its row says, or by default: the package and Tensor, or
    a namespace alone.
    """
    everywhere = namespace is None
    if namespace is not None:
        place = f"{namespace}.{name.removeprefix(namespace.replace('.', '_') + '_')}"
        also, torch_name = (*also, place), torch_name or place
    return everywhere if public is None else public, everywhere if method is None else method, tuple(also), torch_name


def composite(
    name: str,
    *,
    samples: Any,
    namespace: str | None = None,
    method: bool | None = None,
    public: bool | None = None,
    also: Sequence[str] = (),
    torch_name: str | None = None,
    complex: bool | str | None = True,
) -> Callable[[Callable], Callable]:
    """Declare a function made of other ops: a decorator. The docstring is public.

    The gradient, forward mode and batching come from the ops it is made of.
    """

    def declare(function: Callable) -> Callable:
        if name in TABLE or name in COMPOSITES:
            raise DeclarationError(f"op {name!r} is declared twice")
        if not samples:
            raise DeclarationError(f"op {name!r} has no samples: nothing would test it")
        from .publish import publish_composite

        shown, is_method, places, there = _places(name, namespace, public, method, also, torch_name)
        row = Composite(name, function, samples, function.__doc__ or "", there or name, complex)
        row.function = publish_composite(row, method=is_method, public=shown, also=places)
        COMPOSITES[name] = row
        return row.function

    return declare
