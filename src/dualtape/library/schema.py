"""Schemas of ops, as ``mine::scale(Tensor x, float k=1.0) -> Tensor``: read, shown, held against a call's arguments.

The text is PyTorch's. A type here converts what a caller gave (a tuple where a list is declared, an int where a float
is), and says what it expected where it cannot.
"""

from __future__ import annotations

import numbers
import operator
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from .._tensor import dtypes
from .._tensor.device import device as Device
from .._tensor.device import layout as Layout
from .._tensor.device import memory_format as MemoryFormat
from .._tensor.dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ..random import Generator

__all__ = ["AliasInfo", "Argument", "FunctionSchema", "Type", "parse"]


class Mismatch(Exception):
    """A value is not of the declared type."""


# --- types ----------------------------------------------------------------------------------------

# What messages call a type that schemas call otherwise.
_SHOWN = {"SymInt": "int", "Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}
_NAMES = (
    "Tensor",
    "int",
    "SymInt",
    "float",
    "bool",
    "str",
    "Scalar",
    "Device",
    "ScalarType",
    "Layout",
    "MemoryFormat",
    "Generator",
)


@dataclass(frozen=True)
class Type:
    """A type of a schema: a name, or a list or optional of another type.

    Examples
    --------
    >>> from dualtape.library.schema import parse
    >>> kind = parse("mine::f(Tensor x, int[]? sizes) -> ()").arguments[1].type
    >>> str(kind), kind.written()
    ('Optional[List[int]]', 'int[]?')
    """

    name: str
    of: Type | None = None
    # Of a list: its length, if the schema says one; a single number then stands for that many.
    length: int | None = None

    def written(self) -> str:
        """Return the type as a schema has it."""
        if self.of is None:
            return self.name
        if self.name == "Optional":
            return f"{self.of.written()}?"
        return f"{self.of.written()}[{'' if self.length is None else self.length}]"

    def __str__(self) -> str:
        return _SHOWN.get(self.name, self.name) if self.of is None else f"{self.name}[{self.of}]"

    def is_tensors(self) -> bool:
        """Return whether this is a tensor, or a list or optional of tensors."""
        return self.name == "Tensor" if self.of is None else self.of.is_tensors()

    def convert(self, value: Any) -> Any:
        """Return ``value`` as this type has it; raise :class:`Mismatch` if it is none."""
        if self.of is None:
            return _single(self.name, value)
        if self.name == "Optional":
            return None if value is None else self.of.convert(value)
        if self.length is not None and isinstance(value, numbers.Number):
            return [self.of.convert(value)] * self.length
        if not isinstance(value, (list, tuple)):
            raise Mismatch
        return [self.of.convert(item) for item in value]


def _single(name: str, value: Any) -> Any:
    if name in _CLASSES:
        if isinstance(value, _CLASSES[name]):
            return value
    elif name in ("int", "SymInt"):
        if isinstance(value, numbers.Integral):
            return operator.index(value)
    elif name == "float":
        if isinstance(value, numbers.Real):
            return float(value)
    elif name == "bool":
        if isinstance(value, numbers.Integral):
            return bool(value)
    elif name == "Device":
        if isinstance(value, (str, Device)):
            return Device(value)
    elif isinstance(value, numbers.Number):
        return value
    raise Mismatch


_CLASSES: dict[str, type] = {
    "Tensor": Tensor,
    "str": str,
    "ScalarType": DType,
    "Layout": Layout,
    "MemoryFormat": MemoryFormat,
    "Generator": Generator,
}


# --- schemas --------------------------------------------------------------------------------------


class AliasInfo(NamedTuple):
    """What a schema says of the memory of an argument or a result: ``(a!)`` is written to."""

    before_set: frozenset[str]
    is_write: bool
    after_set: frozenset[str]


class Argument(NamedTuple):
    """An argument or a result of a schema."""

    name: str
    type: Type
    default: Any
    required: bool
    kwarg_only: bool
    alias_info: AliasInfo | None
    alias: str

    @property
    def default_value(self) -> Any:
        """The default; None if there is none."""
        return self.default

    @property
    def is_write(self) -> bool:
        """Whether the op writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is given by keyword for results to be written to."""
        return self.kwarg_only and self.is_write

    @property
    def real_type(self) -> Type:
        """The type."""
        return self.type

    def _shown_default(self) -> Any:
        """Return the default, a single number for a list of a fixed length that repeats it."""
        value = self.default
        if self.type.length is not None and isinstance(value, list) and value and value == value[:1] * len(value):
            return value[0]
        return value

    def has_default_value(self) -> bool:
        """Return whether a call may leave it out."""
        return not self.required

    def __str__(self) -> str:
        written = self.type.written()
        if self.alias:
            written = re.sub(r"^\w+", lambda found: f"{found[0]}({self.alias})", written)
        if not self.name:
            return written
        return f"{written} {self.name}" + ("" if self.required else f"={_default(self._shown_default())}")


def _default(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return f"{int(value)}." if value.is_integer() and abs(value) < 1e10 else format(value, ".17g")
    if isinstance(value, list):
        return f"[{', '.join(map(_default, value))}]"
    return str(value)


@dataclass(frozen=True)
class FunctionSchema:
    """The name, arguments and results of an op.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.define("mine::scaled", "(Tensor x, float k=1) -> Tensor")
    >>> schema = dt.ops.mine.scaled.default._schema
    >>> print(schema)
    mine::scaled(Tensor x, float k=1.) -> Tensor
    >>> [argument.name for argument in schema.arguments]
    ['x', 'k']
    """

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]

    @property
    def is_mutable(self) -> bool:
        """Whether the op writes to an argument."""
        return any(argument.is_write for argument in self.arguments)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that may be given by position."""
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments that are given by keyword."""
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    def signature(self) -> str:
        """Return the arguments and results as text."""
        given = [str(argument) for argument in self.positional]
        if self.keyword_only:
            given += ["*", *map(str, self.keyword_only)]
        results = ", ".join(map(str, self.returns))
        return f"({', '.join(given)}) -> {results if len(self.returns) == 1 else f'({results})'}"

    def __str__(self) -> str:
        return f"{self.name}{'.' if self.overload_name else ''}{self.overload_name}{self.signature()}"

    # --- calls ------------------------------------------------------------------------------------

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Return the arguments of a call, converted: all that have a position, and those that have none by name."""
        positional = self.positional
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() takes {len(positional)} positional argument(s) but {len(args)} was/were given. "
                f" Declaration: {self}"
            )
        values: dict[str, Any] = {}
        known = {argument.name for argument in self.arguments}
        for name in kwargs:
            if name not in known:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
        for place, argument in enumerate(self.arguments):
            if place < len(args) and not argument.kwarg_only:
                if argument.name in kwargs:
                    raise RuntimeError(
                        f"{self.name}() got multiple values for argument '{argument.name}'. Declaration: {self}"
                    )
                given = args[place]
            elif argument.name in kwargs:
                given = kwargs[argument.name]
            elif argument.required:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{argument.name}'. Declaration: {self}"
                )
            else:
                values[argument.name] = argument.default
                continue
            try:
                values[argument.name] = argument.type.convert(given)
            except Mismatch:
                self._refuse(place, argument, given)
        rest = {argument.name: values[argument.name] for argument in self.keyword_only}
        return tuple(values[argument.name] for argument in positional), rest

    def _refuse(self, place: int, argument: Argument, value: Any) -> NoReturn:
        reason = (
            f"Unable to cast {value} to Tensor"
            if argument.type.name == "Tensor"
            else f"Unable to cast Python instance of type {type(value)} to {argument.type}"
        )
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{argument.type}' for argument '{argument.name}' but instead"
            f" found type '{type(value).__name__}'.\nPosition: {place}\nValue: {value!r}\nDeclaration: {self}\n"
            f"Cast error details: {reason}"
        ) from None

    def trimmed(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Return the arguments of :meth:`bind` without those that are the declared defaults."""
        count = len(args)
        positional = self.positional
        while count and not positional[count - 1].required and _same(args[count - 1], positional[count - 1].default):
            count -= 1
        defaults = {argument.name: argument for argument in self.keyword_only}
        rest = {
            name: value
            for name, value in kwargs.items()
            if defaults[name].required or not _same(value, defaults[name].default)
        }
        return args[:count], rest

    def results(self, output: Any) -> Any:
        """Return what a kernel returned, checked."""
        if not self.returns:
            return None
        if len(self.returns) == 1:
            return self._result(self.returns[0], output)
        if not isinstance(output, (list, tuple)) or len(output) != len(self.returns):
            raise RuntimeError(
                f"{self.name}: the schema declares {len(self.returns)} results, and the kernel returned {output!r}:"
                " return a tuple of as many"
            )
        return tuple(self._result(kind, value) for kind, value in zip(self.returns, output, strict=True))

    def _result(self, declared: Argument, value: Any) -> Any:
        try:
            return declared.type.convert(value)
        except Mismatch:
            raise RuntimeError(
                f"Unable to cast {value!r} to {declared.type}: {self.name} declares such a result"
            ) from None


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not isinstance(value, Tensor) and value == default


# --- reading --------------------------------------------------------------------------------------

_TOKEN = re.compile(r"""\s*(->|"[^"]*"|'[^']*'|[\w:.+-]+|[()\[\]?,=!*|])""")


class _Reader:
    """The words of a schema, one after the other."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.next = ""
        self.advance()

    def advance(self) -> str:
        """Return the current word, and go on to the next one."""
        word = self.next
        if self.text[self.at :].strip() == "":
            self.start, self.next = len(self.text), ""
            return word
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise RuntimeError(f"unexpected character here:\n{self.text}\n{' ' * self.at}~ <--- HERE\n")
        self.next, self.start, self.at = found[1], found.start(1), found.end()
        return word

    def refuse(self, expected: str) -> NoReturn:
        raise RuntimeError(
            f"expected {expected} but found '{self.next or 'eof'}' here:\n{self.text}\n"
            f"{' ' * self.start}{'~' * max(len(self.next), 1)} <--- HERE\n"
        )

    def take(self, word: str, name: str = "") -> bool:
        """Skip ``word`` if it is the next one; with ``name``, it must be."""
        if self.next != word:
            if name:
                self.refuse(name)
            return False
        self.advance()
        return True


def parse(text: str) -> FunctionSchema:
    """Return the schema of a text such as ``mine::scale.out(Tensor x, float k=1.0, *, Tensor(a!) out) -> Tensor(a!)``.

    Examples
    --------
    >>> from dualtape.library.schema import parse
    >>> schema = parse("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    >>> schema.is_mutable, schema.overload_name
    (True, '')
    """
    head = re.match(r"\s*((?:\w+::)?\w+)(?:\.(\w+))?\s*(?=\()", text)
    reader = _Reader(text if head is None else text[head.end() :])
    if head is None:
        reader.advance()
        raise RuntimeError(
            f"expected eof but found 'ident' here:\n{text}\n{' ' * reader.start}{'~' * max(len(reader.next), 1)}"
            " <--- HERE\n: a schema is name(arguments) -> results"
        )
    reader.take("(")
    arguments: list[Argument] = []
    kwarg_only = False
    while reader.next != ")":
        if reader.take("*"):
            kwarg_only = True
        else:
            arguments.append(_argument(reader, kwarg_only, named=True))
        if not reader.take(","):
            break
    reader.take(")", ")")
    reader.take("->", "arrow")
    returns: list[Argument] = []
    if reader.take("("):
        while reader.next != ")":
            returns.append(_argument(reader, False, named=False))
            if not reader.take(","):
                break
        reader.take(")", ")")
    else:
        returns.append(_argument(reader, False, named=False))
    if reader.next:
        reader.refuse("eof")
    return FunctionSchema(head[1], head[2] or "", tuple(arguments), tuple(returns))


def _argument(reader: _Reader, kwarg_only: bool, named: bool) -> Argument:
    word = reader.next
    if word not in _NAMES:
        if not word or not word.isidentifier():
            reader.refuse("a type")
        raise RuntimeError(
            "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; here"
            f" also {', '.join(_NAMES[7:])}:\n{reader.text}\n{' ' * reader.start}{'~' * len(word)} <--- HERE\n"
        )
    reader.advance()
    kind = Type(word)
    alias = ""
    if reader.take("("):
        while reader.next and reader.next != ")":
            alias += f" {reader.next} " if reader.next == "->" else reader.next
            reader.advance()
        reader.take(")", ")")
    while reader.next in ("?", "["):
        if reader.take("?"):
            kind = Type("Optional", kind)
            continue
        reader.take("[")
        length = int(reader.advance()) if reader.next.isdigit() else None
        reader.take("]", "]")
        kind = Type("List", kind, length)
    name, default, required = "", None, True
    if named and not reader.next.isidentifier():
        reader.refuse("ident")
    if reader.next.isidentifier():
        name = reader.advance()
    if named and reader.take("="):
        required = False
        default = _value(reader, kind)
    return Argument(name, kind, default, required, kwarg_only, _alias(alias), alias)


def _alias(text: str) -> AliasInfo | None:
    if not text:
        return None
    before, _, after = text.replace("!", "").partition(" -> ")
    first = frozenset(before.split("|"))
    return AliasInfo(first, "!" in text, frozenset(after.split("|")) if after else first)


def _value(reader: _Reader, kind: Type) -> Any:
    """Read a default."""
    word = reader.next
    inner = kind.of if kind.name == "Optional" and kind.of is not None else kind
    if word == "None":
        if kind.name != "Optional":
            reader.refuse("string_literal" if inner.name in ("str", "Device") else "number")
        reader.advance()
        return None
    if reader.take("["):
        values = []
        while reader.next != "]":
            values.append(_value(reader, inner.of or inner))
            if not reader.take(","):
                break
        reader.take("]", "]")
        return values
    reader.advance()
    if inner.name == "List" and inner.of is not None and inner.length is not None:
        return [_constant(word, inner.of)] * inner.length
    return _constant(word, inner)


def _constant(word: str, kind: Type) -> Any:
    if word[:1] in ("'", '"'):
        return Device(word[1:-1]) if kind.name == "Device" else word[1:-1]
    if word in ("True", "False"):
        return word == "True"
    if kind.name == "ScalarType":
        return _dtype(word)
    try:
        return float(word) if kind.name == "float" or re.search(r"[.einf]", word) else int(word)
    except ValueError:
        raise RuntimeError(f"expected a number as the default of a {kind}, found {word!r}") from None


def _dtype(word: str) -> DType:
    found = getattr(dtypes, "bool_" if word == "bool" else word, None)
    if not isinstance(found, DType):
        raise RuntimeError(f"expected the name of a dtype, as in ScalarType t=float32, found {word!r}")
    return found
