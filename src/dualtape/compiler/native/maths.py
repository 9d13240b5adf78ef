"""Vector mathematics: elementwise ops as LLVM IR, on vectors of any number of lanes.

Functions are written once for each width and type, as functions of the module that uses them, or inlined. exp, log,
log1p, tanh, erf, sin and cos are branch-free polynomials on all lanes; the others, and arguments too large for the
polynomials, call the C library's functions lane by lane, which are correct within an ulp.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import math
import struct
from collections.abc import Callable
from typing import Any

FLOAT, DOUBLE = "float", "double"
_LIBM = {
    "expm1": "expm1",
    "log1p": "log1p",
    "exp2": "exp2",
    "log2": "log2",
    "log10": "log10",
    "tan": "tan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "cbrt": "cbrt",
    "erf": "erf",
    "erfc": "erfc",
    "power": "pow",
    "arctan2": "atan2",
    "hypot": "hypot",
    "sin": "sin",
    "cos": "cos",
}
_TWO = {"power", "arctan2", "hypot"}
_DIRECT = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "negative",
    "absolute",
    "square",
    "reciprocal",
    "sqrt",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "sign",
    "floor",
    "ceil",
    "rint",
    "trunc",
    "copysign",
    "positive",
}
_COMPARISONS = {
    "greater": ("ogt", "sgt"),
    "less": ("olt", "slt"),
    "greater_equal": ("oge", "sge"),
    "less_equal": ("ole", "sle"),
    "equal": ("oeq", "eq"),
    "not_equal": ("une", "ne"),
}
PREDICATES = frozenset(
    {
        *_COMPARISONS,
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
        "logical_not",
        "logical_and",
        "logical_or",
        "logical_xor",
    }
)
FLOAT_OPS = frozenset({*_DIRECT, *PREDICATES, *_LIBM, "exp", "log", "tanh", "expit", "logaddexp"})
INT_OPS = frozenset(
    {
        *_COMPARISONS,
        "add",
        "subtract",
        "multiply",
        "negative",
        "maximum",
        "minimum",
        "positive",
        "absolute",
        "square",
    }
)


def double_text(number: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"


def float_text(number: float) -> str:
    """Return a float as LLVM writes it: as the double that equals it."""
    with_limit = number
    try:
        rounded = struct.unpack("<f", struct.pack("<f", with_limit))[0]
    except OverflowError:
        rounded = math.copysign(math.inf, number)
    return double_text(rounded)


def vector(lanes: int, kind: str) -> str:
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


def constant(lanes: int, kind: str, number: Any) -> str:
    """Return a number in all lanes."""
    text = (
        float_text(number)
        if kind == FLOAT
        else double_text(number)
        if kind == DOUBLE
        else str(int(bool(number)) if kind == "i1" else int(number))
    )
    return text if lanes == 1 else f"splat ({kind} {text})"


def symbols() -> dict[str, int]:
    """Return the C library's functions that kernels may call, by the names they have there."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = {}
    for name in set(_LIBM.values()):
        for suffix in ("", "f"):
            found[f"dt_{name}{suffix}"] = ctypes.cast(getattr(library, name + suffix), ctypes.c_void_p).value or 0
    return found


@functools.cache
def scales_vectors() -> bool:
    """Return whether this processor multiplies vectors by powers of two (AVX-512)."""
    import llvmlite.binding as llvm

    return bool(llvm.get_host_cpu_features().get("avx512f"))


class Library:
    """The functions that the kernels of one module use."""

    def __init__(self) -> None:
        self.declared: dict[str, None] = {}
        self.bodies: dict[str, str] = {}

    def declare(self, text: str) -> None:
        self.declared[f"declare {text}"] = None

    def call(self, name: str, on: Lanes, args: tuple) -> str:
        """Return the name of a function's value on vectors."""
        if on.inline and name in _BODIES and name not in _BRANCHING:
            return _BODIES[name](on, *[on.value(a) for a in args])
        symbol = f"@m_{name}_{on.suffix}"
        if symbol not in self.bodies:
            self.bodies[symbol] = ""
            inner = Lanes(on.lanes, on.kind, self, [])
            parameters = [f"%x{k}" for k in range(len(args))]
            value = _BODIES[name](inner, *parameters) if name in _BODIES else inner.by_lane(name, parameters)
            head = ", ".join(f"{on.type} {p}" for p in parameters)
            body = "\n".join(inner.lines)
            self.bodies[symbol] = (
                f"define internal fastcc {on.type} {symbol}({head}) #1"
                f" {{\nentry:\n{body}\n  ret {on.type} {value}\n}}\n"
            )
        given = ", ".join(f"{on.type} {on.value(a)}" for a in args)
        return on.emit(f"call fastcc {on.type} {symbol}({given})")

    def text(self) -> str:
        return "\n".join([*self.declared, *self.bodies.values()])


class Lanes:
    """Writes operations on vectors of one type; values are names or numbers."""

    def __init__(
        self, lanes: int, kind: str, library: Library, lines: list[str], fresh: Callable | None = None
    ) -> None:
        self.lanes, self.kind, self.library, self.lines = lanes, kind, library, lines
        self.inline = False  # functions are written out where they are called
        self.whole = "i32" if kind in (FLOAT, "i32") else "i64"
        self.type, self.whole_type, self.mask_type = (vector(lanes, k) for k in (kind, self.whole, "i1"))
        short = {FLOAT: "f32", DOUBLE: "f64"}.get(kind, kind)
        self.suffix = f"v{lanes}{short}" if lanes > 1 else short
        self._fresh = fresh or iter(f"%t{k}" for k in range(10**9)).__next__

    def emit(self, text: str) -> str:
        name = self._fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def value(self, x: Any) -> str:
        return x if isinstance(x, str) else constant(self.lanes, self.kind, x)

    def two(self, op: str, a: Any, b: Any) -> str:
        return self.emit(f"{op} {self.type} {self.value(a)}, {self.value(b)}")

    def add(self, a: Any, b: Any) -> str:
        return self.two("fadd", a, b)

    def sub(self, a: Any, b: Any) -> str:
        return self.two("fsub", a, b)

    def mul(self, a: Any, b: Any) -> str:
        return self.two("fmul", a, b)

    def div(self, a: Any, b: Any) -> str:
        return self.two("fdiv", a, b)

    def neg(self, a: Any) -> str:
        return self.emit(f"fneg {self.type} {self.value(a)}")

    def intrinsic(self, name: str, *args: Any) -> str:
        self.library.declare(f"{self.type} @llvm.{name}.{self.suffix}({', '.join([self.type] * len(args))})")
        given = ", ".join(f"{self.type} {self.value(a)}" for a in args)
        return self.emit(f"call {self.type} @llvm.{name}.{self.suffix}({given})")

    def fma(self, a: Any, b: Any, c: Any) -> str:
        return self.intrinsic("fma", a, b, c)

    def abs(self, a: Any) -> str:
        return self.intrinsic("fabs", a)

    def compare(self, how: str, a: Any, b: Any) -> str:
        word = "icmp" if self.kind.startswith("i") else "fcmp"
        return self.emit(f"{word} {how} {self.type} {self.value(a)}, {self.value(b)}")

    def select(self, mask: str, a: Any, b: Any) -> str:
        return self.emit(f"select {self.mask_type} {mask}, {self.type} {self.value(a)}, {self.type} {self.value(b)}")

    def polynomial(self, x: Any, coefficients: list[float]) -> str:
        """Write a polynomial, coefficients of the highest power first."""
        result: Any = coefficients[0]
        for c in coefficients[1:]:
            result = self.fma(result, x, c)
        return result

    def halved(self, x: Any, coefficients: list[float], square: str | None = None) -> str:
        """Write a polynomial with even and odd powers evaluated separately: half the latency for one more product."""
        z = self.mul(x, x) if square is None else square
        last, before = (
            self.polynomial(z, coefficients[::-1][::2][::-1]),
            self.polynomial(z, coefficients[::-1][1::2][::-1]),
        )
        return self.fma(before, x, last)

    def bits(self, a: Any) -> str:
        return self.emit(f"bitcast {self.type} {self.value(a)} to {self.whole_type}")

    def unbits(self, a: str) -> str:
        return self.emit(f"bitcast {self.whole_type} {a} to {self.type}")

    def whole_two(self, op: str, a: Any, b: Any) -> str:
        text = b if isinstance(b, str) else constant(self.lanes, self.whole, b)
        return self.emit(f"{op} {self.whole_type} {a}, {text}")

    def call(self, name: str, *args: Any) -> str:
        return self.library.call(name, self, args)

    def by_lane(self, name: str, args: list[str]) -> str:
        """Write the call of a C library function on each lane."""
        symbol = f"@dt_{_LIBM[name]}{'f' if self.kind == FLOAT else ''}"
        self.library.declare(f"{self.kind} {symbol}({', '.join([self.kind] * len(args))})")
        if self.lanes == 1:
            return self.emit(f"call {self.kind} {symbol}({', '.join(f'{self.kind} {a}' for a in args)})")
        result = "poison"
        for k in range(self.lanes):
            parts = [self.emit(f"extractelement {self.type} {a}, i32 {k}") for a in args]
            one = self.emit(f"call {self.kind} {symbol}({', '.join(f'{self.kind} {p}' for p in parts)})")
            result = self.emit(f"insertelement {self.type} {result}, {self.kind} {one}, i32 {k}")
        return result

    def any(self, mask: str) -> str:
        """Write whether a mask is true in any lane."""
        if self.lanes == 1:
            return mask
        self.library.declare(f"i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.mask_type})")
        return self.emit(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.mask_type} {mask})")

    # --- small whole numbers: AVX2 converts no doubles to 64-bit integers, adding a magic number does ---------------

    def to_whole(self, a: str) -> str:
        if self.kind == FLOAT:
            return self.emit(f"fptosi {self.type} {a} to {self.whole_type}")
        return self.whole_two("sub", self.bits(self.add(a, _MAGIC)), _MAGIC_BITS)

    def from_whole(self, a: str) -> str:
        if self.kind == FLOAT:
            return self.emit(f"sitofp {self.whole_type} {a} to {self.type}")
        return self.sub(self.unbits(self.whole_two("add", a, _MAGIC_BITS)), _MAGIC)

    def power_of_two(self, a: str) -> str:
        bias, shift = (127, 23) if self.kind == FLOAT else (1023, 52)
        return self.unbits(self.whole_two("shl", self.whole_two("add", a, bias), shift))

    def scaled(self, a: str, n: str) -> str:
        """Write ``a`` times two to an integer power ``n``, rounded once, also where the result is subnormal."""
        whole = 16 if self.kind == FLOAT else 8
        if scales_vectors() and self.lanes in (whole, 2 * whole, 4 * whole):  # AVX-512 has an instruction for it
            short, mask = ("ps", "i16") if self.kind == FLOAT else ("pd", "i8")
            part = vector(whole, self.kind)
            name = f"@llvm.x86.avx512.mask.scalef.{short}.512"
            self.library.declare(f"{part} {name}({part}, {part}, {part}, {mask}, i32)")
            return self.in_parts(
                whole,
                lambda x, k: self.emit(
                    f"call {part} {name}({part} {x}, {part} {k}, {part} zeroinitializer, {mask} -1, i32 4)"
                ),
                a,
                n,
            )
        i = self.to_whole(n)
        half = (
            self.whole_two("ashr", i, 1)
            if self.kind == FLOAT
            else self.to_whole(self.intrinsic("floor", self.mul(n, 0.5)))
        )
        other = self.whole_two("sub", i, half)
        return self.mul(self.mul(a, self.power_of_two(half)), self.power_of_two(other))

    def in_parts(self, width: int, function: Callable, *args: str) -> str:
        """Write ``function`` on parts of ``width`` lanes and join the results."""
        if self.lanes == width:
            return function(*args)
        places = lambda first, count: "<" + ", ".join(f"i32 {first + k}" for k in range(count)) + ">"
        pieces = []
        for at in range(0, self.lanes, width):
            some = [
                self.emit(f"shufflevector {self.type} {a}, {self.type} poison, <{width} x i32> {places(at, width)}")
                for a in args
            ]
            pieces.append(function(*some))
        while len(pieces) > 1:
            part = vector(width, self.kind)
            both = f"<{2 * width} x i32> {places(0, 2 * width)}"
            pieces = [
                self.emit(f"shufflevector {part} {a}, {part} {b}, {both}")
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            width *= 2
        return pieces[0]

    # --- ops --------------------------------------------------------------------------------------

    def apply(self, op: str, *a: Any) -> str:
        """Write an elementwise op by its ufunc's name; predicates give a mask."""
        if self.kind == "i1":
            return self._of_masks(op, *a)
        if self.kind.startswith("i"):
            return self._of_integers(op, *a)
        if op in _COMPARISONS:
            return self.compare(_COMPARISONS[op][0], *a)
        simple = {"add": "fadd", "subtract": "fsub", "multiply": "fmul"}.get(op)
        if simple is not None:
            return self.two(simple, *a)
        if op == "divide":
            exact = isinstance(a[1], (int, float)) and a[1] != 0 and abs(math.frexp(a[1])[0]) == 0.5
            tame = exact and 1e-30 < abs(a[1]) < 1e30
            return self.mul(a[0], 1.0 / a[1]) if tame else self.div(*a)
        if op == "power" and isinstance(a[1], (int, float)):
            special = self._fixed_power(a[0], a[1])
            if special is not None:
                return special
        found = getattr(self, f"_{op}", None)
        if found is not None:
            return found(*a)
        if op in ("sqrt", "floor", "ceil", "rint", "trunc", "copysign"):
            return self.intrinsic(op, *a)
        return self.call(op, *a)

    def _fixed_power(self, x: Any, exponent: float) -> str | None:
        if exponent == 2:
            return self.mul(x, x)
        if exponent == -1:
            return self.div(1.0, x)
        # As in NumPy, the root of -0.0 is -0.0, and that of -inf is NaN.
        if exponent == 0.5:
            return self.intrinsic("sqrt", x)
        return None

    def _negative(self, x: Any) -> str:
        return self.neg(x)

    def _positive(self, x: Any) -> str:
        return self.value(x)

    def _absolute(self, x: Any) -> str:
        return self.abs(x)

    def _square(self, x: Any) -> str:
        return self.mul(x, x)

    def _reciprocal(self, x: Any) -> str:
        return self.div(1.0, x)

    def _maximum(self, a: Any, b: Any) -> str:
        """Write the larger value, or NaN if one is."""
        larger = self.select(self.compare("ogt", a, b), a, b)
        return self.select(self.compare("uno", a, a), a, larger)

    def _minimum(self, a: Any, b: Any) -> str:
        smaller = self.select(self.compare("olt", a, b), a, b)
        return self.select(self.compare("uno", a, a), a, smaller)

    def _fmax(self, a: Any, b: Any) -> str:
        """Write the larger value, or the one that is not NaN."""
        larger = self.select(self.compare("ogt", b, a), b, a)
        return self.select(self.compare("uno", a, a), b, larger)

    def _fmin(self, a: Any, b: Any) -> str:
        smaller = self.select(self.compare("olt", b, a), b, a)
        return self.select(self.compare("uno", a, a), b, smaller)

    def _sign(self, x: Any) -> str:
        one = self.select(self.compare("ogt", x, 0.0), 1.0, self.select(self.compare("olt", x, 0.0), -1.0, 0.0))
        return self.select(self.compare("uno", x, x), x, one)

    def _isnan(self, x: Any) -> str:
        return self.compare("uno", x, x)

    def _isinf(self, x: Any) -> str:
        return self.compare("oeq", self.abs(x), math.inf)

    def _isfinite(self, x: Any) -> str:
        return self.compare("olt", self.abs(x), math.inf)

    def _signbit(self, x: Any) -> str:
        zero = constant(self.lanes, self.whole, 0)
        return self.emit(f"icmp slt {self.whole_type} {self.bits(x)}, {zero}")

    def _logical_not(self, x: Any) -> str:
        return self.compare("oeq", x, 0.0)

    def _mask(self, x: Any) -> str:
        return self.compare("une", x, 0.0)

    def _logical_and(self, a: Any, b: Any) -> str:
        return self.emit(f"and {self.mask_type} {self._mask(a)}, {self._mask(b)}")

    def _logical_or(self, a: Any, b: Any) -> str:
        return self.emit(f"or {self.mask_type} {self._mask(a)}, {self._mask(b)}")

    def _logical_xor(self, a: Any, b: Any) -> str:
        return self.emit(f"xor {self.mask_type} {self._mask(a)}, {self._mask(b)}")

    def _of_masks(self, op: str, *a: Any) -> str:
        word = {
            "logical_and": "and",
            "multiply": "and",
            "logical_or": "or",
            "add": "or",
            "logical_xor": "xor",
            "not_equal": "xor",
        }.get(op)
        if word is not None:
            return self.two(word, *a)
        if op == "logical_not":
            return self.two("xor", a[0], 1)
        if op == "equal":
            return self.two("xor", self.two("xor", *a), 1)
        raise NotImplementedError(op)

    def _of_integers(self, op: str, *a: Any) -> str:
        word = {"add": "add", "subtract": "sub", "multiply": "mul"}.get(op)
        if word is not None:
            return self.two(word, *a)
        if op in _COMPARISONS:
            return self.compare(_COMPARISONS[op][1], *a)
        if op == "negative":
            return self.two("sub", 0, a[0])
        if op == "square":
            return self.two("mul", a[0], a[0])
        if op == "positive":
            return self.value(a[0])
        if op == "absolute":
            return self.select(self.compare("slt", a[0], 0), self.two("sub", 0, a[0]), a[0])
        if op in ("maximum", "minimum"):
            return self.select(self.compare("sgt" if op == "maximum" else "slt", *a), *a)
        raise NotImplementedError(op)


_MAGIC = 6755399441055744.0
_MAGIC_SINGLE = 12582912.0
_MAGIC_BITS = int.from_bytes(struct.pack("<d", _MAGIC), "little")


def _exp(b: Lanes, x: str) -> str:
    """Write 2^n e^r with |r| <= ln(2)/2, and a polynomial for e^r.

    The bounds on x, beyond which the result is 0 or infinity, preserve NaN.
    """
    if b.kind == FLOAT:
        y = b.select(b.compare("olt", x, -104.0), -104.0, b.select(b.compare("ogt", x, 89.0), 89.0, x))
        n = b.intrinsic("rint", b.mul(y, 1.4426950408889634))
        r = b.fma(n, 2.12194440e-4, b.fma(n, -0.693359375, y))
        z = b.mul(r, r)
        q = b.halved(
            r, [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1], z
        )
        p = b.add(b.fma(q, z, r), 1.0)
    else:
        y = b.select(b.compare("olt", x, -746.0), -746.0, b.select(b.compare("ogt", x, 710.0), 710.0, x))
        n = b.intrinsic("rint", b.mul(y, 1.4426950408889634))
        r = b.fma(n, -1.90821492927058770002e-10, b.fma(n, -6.93147180369123816490e-01, y))
        c = [1 / math.factorial(k) for k in range(14)]
        z = b.mul(r, r)
        pairs = [b.fma(r, c[k + 1], c[k]) for k in range(2, 12, 2)]  # degrees 2..11
        top = b.fma(r, c[13], c[12])
        z2 = b.mul(z, z)
        q0, q1, q2 = b.fma(pairs[1], z, pairs[0]), b.fma(pairs[3], z, pairs[2]), b.fma(top, z, pairs[4])
        q = b.fma(b.fma(q2, z2, q1), z2, q0)
        p = b.add(b.fma(q, z, r), 1.0)
    return b.scaled(p, n)


def _log_single(b: Lanes, k: str, f: str, more: Any) -> str:
    """Write k ln(2) + log(1 + f) + more in single precision: f - f^2/2 + f^3 p(f), since a quotient would take
    longer.
    """
    z = b.mul(f, f)
    p = b.halved(
        f,
        [
            -7.634492963552475e-2,
            1.276157498359680e-1,
            -1.316018253564835e-1,
            1.420175880193710e-1,
            -1.662335693836212e-1,
            2.000122666358948e-1,
            -2.500081956386566e-1,
            3.333333134651184e-1,
        ],
        z,
    )
    rest = b.fma(b.fma(f, p, -0.5), z, b.fma(k, 9.0580006145e-06, more))
    return b.fma(k, 6.9313812256e-01, b.add(f, rest))


def _log_double(b: Lanes, k: str, f: str, more: Any) -> str:
    """Write the same in double precision, by a polynomial in (f / (2 + f))^2."""
    s = b.div(f, b.add(f, 2.0))
    z = b.mul(s, s)
    rest = b.mul(
        z,
        b.polynomial(
            z,
            [
                1.479819860511658591e-01,
                1.531383769920937332e-01,
                1.818357216161805012e-01,
                2.222219843214978396e-01,
                2.857142874366239149e-01,
                3.999999999940941908e-01,
                6.666666666666735130e-01,
            ],
        ),
    )
    h = b.mul(b.mul(f, 0.5), f)
    inner = b.sub(b.sub(h, b.fma(s, b.add(h, rest), b.fma(k, 1.90821492927058770002e-10, more))), f)
    return b.sub(b.mul(k, 6.93147180369123816490e-01), inner)


def _parts(b: Lanes, x: str) -> tuple[str, str]:
    """Write k and f of a normal number 2^k (1 + f), with 1 + f between sqrt(1/2) and sqrt(2)."""
    bits = b.bits(x)
    if b.kind == FLOAT:
        e = b.whole_two("ashr", b.whole_two("sub", bits, 0x3F3504F3), 23)
        m = b.unbits(b.whole_two("sub", bits, b.whole_two("shl", e, 23)))
        return b.from_whole(e), b.sub(m, 1.0)
    # AVX2 shifts no 64-bit integers with their sign
    e = b.whole_two("lshr", b.whole_two("add", b.whole_two("sub", bits, 0x3FE6A09E667F3BCD), 1024 << 52), 52)
    m = b.unbits(b.whole_two("sub", bits, b.whole_two("shl", b.whole_two("sub", e, 1024), 52)))
    return b.sub(b.from_whole(e), 1024.0), b.sub(m, 1.0)


def _log1p(b: Lanes, x: str) -> str:
    """Write log(u) for the rounded u = 1 + x, plus the rounding error over u."""
    u = b.add(x, 1.0)
    back = b.sub(u, 1.0)
    lost = b.add(b.sub(1.0, b.sub(u, back)), b.sub(x, back))
    share = b.div(b.select(b.compare("ogt", x, 1e17), 0.0, lost), u)
    k, f = _parts(b, u)
    result = (_log_single if b.kind == FLOAT else _log_double)(b, k, f, share)
    result = b.select(b.compare("oeq", x, math.inf), math.inf, result)
    result = b.select(b.compare("oeq", x, -1.0), -math.inf, result)
    result = b.select(b.compare("oeq", x, 0.0), x, result)
    return b.select(b.compare("ult", x, -1.0), math.nan, result)


def _log(b: Lanes, x: str) -> str:
    single = b.kind == FLOAT
    tiny, up, down = (1.17549435e-38, 8388608.0, -23.0) if single else (2.2250738585072014e-308, 2.0**54, -54.0)
    small = b.compare("olt", x, tiny)
    k, f = _parts(b, b.select(small, b.mul(x, up), x))
    k = b.add(k, b.select(small, down, 0.0))
    result = (_log_single if single else _log_double)(b, k, f, 0.0)
    result = b.select(b.compare("oeq", x, math.inf), math.inf, result)
    result = b.select(b.compare("oeq", x, 0.0), -math.inf, result)
    return b.select(b.compare("ult", x, 0.0), math.nan, result)


def _tanh(b: Lanes, x: str) -> str:
    """Write x + x^3 p(x^2) below 0.625, 1 - 2 / (e^2|x| + 1) above."""
    a = b.abs(x)
    z = b.mul(x, x)
    small = b.compare("olt", a, 0.625)
    if b.kind == FLOAT:
        p = b.polynomial(
            z, [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1]
        )
        near = b.fma(b.mul(p, z), x, x)
        e = b.call("exp", b.select(b.compare("olt", a, 10.0), b.add(a, a), 20.0))
        far = b.intrinsic("copysign", b.sub(1.0, b.div(2.0, b.add(e, 1.0))), x)
        result = b.select(small, near, far)
    else:
        p = b.polynomial(z, [-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3])
        q = b.polynomial(z, [1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3])
        e = b.call("exp", b.select(b.compare("olt", a, 25.0), b.add(a, a), 50.0))
        # one division for both: numerator and denominator are chosen
        quotient = b.div(b.select(small, b.mul(b.mul(x, z), p), -2.0), b.select(small, q, b.add(e, 1.0)))
        far = b.intrinsic("copysign", b.add(quotient, 1.0), x)
        result = b.select(small, b.add(x, quotient), far)
    return b.select(b.compare("ueq", x, 0.0), x, result)  # NaN, and zero with its sign


def _sin_cos(b: Lanes, x: str, name: str) -> str:
    """Write sin and cos of the remainder of a quarter turn; far from 0 by the C library's, lane by lane."""
    single = b.kind == FLOAT
    limit = 30000.0 if single else 1e5
    far = b.emit(f"fcmp uge {b.type} {b.abs(x)}, {constant(b.lanes, b.kind, limit)}")
    near = b.select(far, 0.0, x)
    q = b.intrinsic("rint", b.mul(near, 0.63661977236758134))
    parts = (
        [-1.5707962512969971, -7.5497894158615964e-08, -5.3903029534742384e-15]
        if single
        else [-1.5707963267948966, -6.123233995736766e-17, 1.4973849048591833e-33]
    )
    r = near
    for part in parts:
        r = b.fma(q, part, r)
    z = b.mul(r, r)
    if single:
        s = b.fma(b.mul(z, r), b.polynomial(z, [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]), r)
        c = b.fma(
            b.mul(z, z),
            b.polynomial(z, [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]),
            b.fma(z, -0.5, 1.0),
        )
    else:
        s = b.fma(
            b.mul(z, r),
            b.polynomial(
                z,
                [
                    1.58962301576546568060e-10,
                    -2.50507477628578072866e-8,
                    2.75573136213857245213e-6,
                    -1.98412698295895385996e-4,
                    8.33333333332211858878e-3,
                    -1.66666666666666307295e-1,
                ],
            ),
            r,
        )
        c = b.fma(
            b.mul(z, z),
            b.polynomial(
                z,
                [
                    -1.13585365213876817300e-11,
                    2.08757008419747316778e-9,
                    -2.75573141792967388112e-7,
                    2.48015872888517045348e-5,
                    -1.38888888888730564116e-3,
                    4.16666666666665929218e-2,
                ],
            ),
            b.fma(z, -0.5, 1.0),
        )
    i = b.to_whole(q)
    if name == "cos":
        i = b.whole_two("add", i, 1)
    odd = b.emit(f"icmp ne {b.whole_type} {b.whole_two('and', i, 1)}, {constant(b.lanes, b.whole, 0)}")
    sign = b.whole_two("shl", b.whole_two("and", i, 2), 30 if single else 62)
    result = b.unbits(b.whole_two("xor", b.bits(b.select(odd, c, s)), sign))
    if name == "sin":  # -0 stays -0
        result = b.select(b.compare("oeq", x, 0.0), x, result)
    some = b.any(far)
    b.lines.append(f"  br i1 {some}, label %far, label %done\nfar:")
    slow = b.by_lane(name, [x])
    mixed = b.select(far, slow, result)
    b.lines.append("  br label %done\ndone:")
    start = "entry"
    return b.emit(f"phi {b.type} [{result}, %{start}], [{mixed}, %far]")


def _in_double(name: str) -> Callable:
    """Return a single-precision function computed in double precision."""

    def body(b: Lanes, *args: str) -> str:
        if b.kind == DOUBLE:
            return b.by_lane(name, list(args))
        wide = Lanes(b.lanes, DOUBLE, b.library, b.lines, b._fresh)
        wide.inline = b.inline
        given = [wide.emit(f"fpext {b.type} {a} to {wide.type}") for a in args]
        return b.emit(f"fptrunc {wide.type} {_WIDE_BODIES[name](wide, *given)} to {b.type}")

    return body


def _power_below_one(b: Lanes, q: str) -> str:
    """Write 2^-q in single precision for q of 0 to 126, with an error of 2^-23: small relative to a number that it is
    subtracted from.
    """
    whole = b.add(q, _MAGIC_SINGLE)  # its last bits are q, rounded
    r = b.sub(q, b.sub(whole, _MAGIC_SINGLE))
    p = b.halved(
        r,
        [
            -1.327647129073739e-3,
            9.675540961325169e-3,
            -5.550713092088699e-2,
            2.402212023735046e-1,
            -6.931469440460205e-1,
            1.000000119209290,
        ],
    )
    return b.unbits(b.whole_two("sub", b.bits(p), b.whole_two("shl", b.bits(whole), 23)))


def _normal_share(b: Lanes, x: str) -> str:
    """Write the normal distribution function of x: 2^-q(|x|), or 1 minus that; in single precision accurate relative to
    1.
    """
    a = b.abs(x)
    q = b.halved(
        b.select(b.compare("ogt", a, 6.0), 6.0, a),
        [
            -2.8268146934351535e-7,
            6.311122888291720e-6,
            -5.658490772475489e-5,
            2.303299988852814e-4,
            7.400337199214846e-5,
            -7.013977039605379e-3,
            5.247645825147629e-2,
            4.592113196849823e-1,
            1.151105165481567,
            1.0,
        ],
    )
    below = b.select(b.compare("ogt", a, 6.0), 0.0, _power_below_one(b, q))
    return b.select(b.compare("olt", x, 0.0), below, b.sub(1.0, below))


def _erf(b: Lanes, x: str) -> str:
    """Write erf: near 0, x + x p(x^2); further away 1 - erfc, in single precision as 1 - 2^-q(|x|), in double as 1 -
    e^-x^2 r(|x|) / s(|x|).
    """
    a = b.abs(x)
    z = b.mul(x, x)
    if b.kind == FLOAT:
        near = b.fma(
            x,
            b.polynomial(
                z,
                [
                    -6.270511075854301e-4,
                    5.043684039264917e-3,
                    -2.679828181862831e-2,
                    1.128261834383011e-1,
                    -3.761256337165833e-1,
                    1.283791661262512e-1,
                ],
            ),
            x,
        )
        y = b.select(b.compare("ogt", a, 4.0), 4.0, a)
        q = b.halved(
            y,
            [
                -2.906870504375547e-4,
                4.468395374715328e-3,
                -3.237484022974968e-2,
                1.505751013755798e-1,
                9.185450077056885e-1,
                1.627311825752258,
                1.818807359086350e-4,
            ],
        )
        rest = _power_below_one(b, q)
        far = b.intrinsic("copysign", b.sub(1.0, rest), x)
        return b.select(b.compare("ult", a, 0.86), near, far)  # NaN is near
    above, below = (
        [
            9.60497373987051638749e0,
            9.00260197203842689217e1,
            2.23200534594684319226e3,
            7.00332514112805075473e3,
            5.55923013010394962768e4,
        ],
        [
            1.0,
            3.35617141647503099647e1,
            5.21357949780152679795e2,
            4.59432382970980127987e3,
            2.26290000613890934246e4,
            4.92673942608635921086e4,
        ],
    )
    # the quotient less 1, so that its rounding counts little
    less = [p - q for p, q in zip([0.0, *above], below, strict=True)]
    near = b.fma(x, b.div(b.polynomial(z, less), b.polynomial(z, below)), x)
    y = b.select(b.compare("olt", a, 6.5), a, 6.5)
    tail = b.div(
        b.polynomial(
            y,
            [
                2.46196981473530512524e-10,
                5.64189564831068821977e-1,
                7.46321056442269912687e0,
                4.86371970985681366614e1,
                1.96520832956077098242e2,
                5.26445194995477358631e2,
                9.34528527171957607540e2,
                1.02755188689515710272e3,
                5.57535335369399327526e2,
            ],
        ),
        b.polynomial(
            y,
            [
                1.0,
                1.32281951154744992508e1,
                8.67072140885989742329e1,
                3.54937778887819891062e2,
                9.75708501743205489753e2,
                1.82390916687909736289e3,
                2.24633760818710981792e3,
                1.65666309194161350182e3,
                5.57535340817727675546e2,
            ],
        ),
    )
    far = b.intrinsic("copysign", b.sub(1.0, b.mul(b.call("exp", b.neg(b.mul(y, y))), tail)), x)
    return b.select(b.compare("ult", a, 1.0), near, far)


def _expm1_wide(b: Lanes, x: str) -> str:
    """Write e^x - 1 with extra digits; near 0 by its series."""
    series = b.polynomial(x, [1 / math.factorial(k) for k in range(9, 0, -1)])
    plain = b.sub(b.call("exp", x), 1.0)
    result = b.select(b.compare("olt", b.abs(x), 0.05), b.mul(series, x), plain)
    return b.select(b.compare("ueq", x, 0.0), x, result)


def _power_wide(b: Lanes, x: str, y: str) -> str:
    """Write e^(y log|x|), with the sign and the special cases of the C library."""
    a = b.abs(x)
    size = b.call("exp", b.mul(y, b.call("log", a)))
    size = b.select(b.compare("oeq", y, 0.0), 1.0, size)
    one = b.compare("oeq", a, 1.0)
    endless = b.compare("oeq", b.abs(y), math.inf)
    size = b.select(b.emit(f"and {b.mask_type} {one}, {endless}"), 1.0, size)
    whole = b.compare("oeq", b.intrinsic("rint", y), y)
    half = b.mul(y, 0.5)
    odd = b.emit(f"and {b.mask_type} {whole}, {b.compare('une', b.intrinsic('rint', half), half)}")
    below = b.emit(f"icmp slt {b.whole_type} {b.bits(x)}, {constant(b.lanes, b.whole, 0)}")
    flip = b.emit(f"and {b.mask_type} {below}, {odd}")
    result = b.select(flip, b.neg(size), size)
    finite = b.emit(f"and {b.mask_type} {b.compare('olt', x, 0.0)}, {b.compare('one', a, math.inf)}")
    nothing = b.emit(f"and {b.mask_type} {finite}, {b.compare('une', b.intrinsic('rint', y), y)}")
    result = b.select(nothing, math.nan, result)
    result = b.select(b.compare("uno", x, y), b.add(x, y), result)
    result = b.select(b.compare("oeq", y, 0.0), 1.0, result)
    return b.select(b.compare("oeq", x, 1.0), 1.0, result)


_WIDE_BODIES: dict[str, Callable] = {"expm1": _expm1_wide, "power": _power_wide}


def _expit(b: Lanes, x: str) -> str:
    return b.div(1.0, b.add(b.call("exp", b.neg(x)), 1.0))


def _logaddexp(b: Lanes, x: str, y: str) -> str:
    d = b.sub(x, y)
    larger = b.select(b.compare("ogt", x, y), x, y)
    result = b.add(larger, b.call("log1p", b.call("exp", b.neg(b.abs(d)))))
    result = b.select(b.compare("oeq", x, y), b.add(x, math.log(2)), result)  # infinities, too
    return b.select(b.compare("uno", d, d), b.select(b.compare("oeq", x, y), result, b.add(x, y)), result)


_BODIES: dict[str, Callable] = {
    "exp": _exp,
    "log": _log,
    "log1p": _log1p,
    "tanh": _tanh,
    "expit": _expit,
    "logaddexp": _logaddexp,
    **{name: _in_double(name) for name in ("expm1", "power")},
    "erf": _erf,
    "normal_share": _normal_share,
    "sin": lambda b, x: _sin_cos(b, x, "sin"),
    "cos": lambda b, x: _sin_cos(b, x, "cos"),
}
_BRANCHING = frozenset({"sin", "cos"})
FUNCTIONS = frozenset(_BODIES)  # those that are long
