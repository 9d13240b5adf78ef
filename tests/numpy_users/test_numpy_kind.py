"""What enters as a NumPy array is NumPy's in its methods: values, dtypes and errors are NumPy's, gradients are checked."""

from __future__ import annotations

import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.numpy as dnp
from dualtape import hips
from dualtape.func import grad, hessian, jacfwd, jacrev, jvp, linearize, sparse_jacobian, value_and_grad, vjp, vmap
from dualtape.hips.test_util import check_grads
from dualtape.numpy import NumpyTensor

RNG = np.random.default_rng(5)
VECTOR = np.array([0.7, -1.2, 2.5, 0.3, 1.9])
MATRIX = RNG.normal(size=(3, 4))
CUBE = RNG.normal(size=(2, 3, 4))
FLOATS = [VECTOR, MATRIX, MATRIX.T.copy().T, CUBE, CUBE.transpose(2, 0, 1), np.array(1.5), MATRIX[:, ::2]]
OTHERS = [VECTOR.astype(np.float32), np.arange(12).reshape(3, 4), np.arange(5, dtype=np.uint8), MATRIX > 0, MATRIX + 1j]


def plain(value: Any) -> Any:
    """A result with arrays for tensors; the tensors among new results are checked to be of the kind."""
    if isinstance(value, dt.Tensor):
        assert type(value) is NumpyTensor, type(value)
        return value.detach().numpy()
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return value


def same(ours: Any, theirs: Any, what: str) -> None:
    """Shape, dtype and values are NumPy's."""
    ours = plain(ours)
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), what
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, what)
        return
    if not isinstance(theirs, (np.ndarray, np.generic)):
        assert ours == theirs, what
        return
    assert np.shape(ours) == theirs.shape, f"{what}: shape {np.shape(ours)} where NumPy has {theirs.shape}"
    assert np.asarray(ours).dtype == theirs.dtype, f"{what}: {np.asarray(ours).dtype} where NumPy has {theirs.dtype}"
    tolerance = 1e-5 if theirs.dtype in (np.float32, np.complex64) else 1e-2 if theirs.dtype == np.float16 else 1e-11
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=what)


def outcome(function: Callable, *args: Any) -> Any:
    """The result of a call, or the class of its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return error


def compare(function: Callable, *args: Any) -> None:
    """``function`` gives for arrays of the kind what it gives for NumPy's."""
    theirs = outcome(function, *[a.copy() if isinstance(a, np.ndarray) else a for a in args])
    mine = [NumpyTensor(a.copy("K")) if isinstance(a, np.ndarray) else a for a in args]
    ours = outcome(function, *mine)
    what = f"{getattr(function, '__name__', function)}({', '.join(repr(a) for a in args)[:200]})"
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"{what}: {ours!r} where NumPy has {theirs!r}"
        return
    if isinstance(ours, NotImplementedError) and "complex" in str(ours):
        return  # complex numbers have an order to NumPy, but no derivative of it
    assert not isinstance(ours, Exception), f"{what}: {ours!r} where NumPy has {theirs!r}"
    same(ours, theirs, what)


# --- methods --------------------------------------------------------------------------------------

# The calls of each method, as programs on ``x``; what is differentiable among them is differentiated, too.
CALLS = {
    "T": ["x.T"],
    "all": ["x.all()", "x.all(axis=0)", "(x > 0).all(axis=-1, keepdims=True)", "x.all(0)"],
    "any": ["x.any()", "(x > 1).any(axis=0)"],
    "argmax": ["x.argmax()", "x.argmax(axis=0)", "x.argmax(-1)"],
    "argmin": ["x.argmin()", "x.argmin(axis=-1)"],
    "argpartition": ["np.sort(np.take(x.ravel(), x.ravel().argpartition(1)[:2]))"],
    "argsort": ["x.argsort()", "x.argsort(axis=0)", "x.argsort(axis=None)"],
    "astype": ["x.astype(np.float64)", "x.astype('f4')", "x.astype(complex)", "x.astype(float, copy=False)"],
    "choose": ["(x.ravel() > 0).astype(int).choose([x.ravel(), -x.ravel()])"],
    "clip": ["x.clip(-0.5, 1.0)", "x.clip(0)", "x.clip(max=1)", "x.clip(min=-1, max=x.mean())"],
    "compress": ["x.compress([True, False], axis=0)", "x.compress([True, False, True])"],
    "conj": ["x.conj()"],
    "conjugate": ["x.conjugate()"],
    "copy": ["x.copy()", "x.copy(order='F')"],
    "cumprod": ["x.cumprod()", "x.cumprod(axis=0)", "x.cumprod(-1)"],
    "cumsum": ["x.cumsum()", "x.cumsum(axis=0)", "x.cumsum(-1, dtype=np.float64)"],
    "device": ["x.device"],
    "diagonal": ["x.diagonal()", "x.diagonal(1)", "x.diagonal(offset=-1, axis1=1, axis2=0)"],
    "dot": ["x.dot(x.T)", "x.dot(2.0)", "x.ravel().dot(x.ravel())"],
    "dtype": ["x.dtype", "np.zeros(2, dtype=x.dtype)"],
    "fill": ["filled(x, 2.5)"],
    "flat": ["[v for v in x.flat]", "x.flat[1]", "x.flat[::2]", "len(x.flat)", "x.flat.copy()"],
    "flatten": ["x.flatten()", "x.flatten('F')", "x.flatten(order='C')"],
    "imag": ["x.imag"],
    "item": ["x.ravel()[:1].item()", "x.item(0)", "x.ravel().item(1)"],
    "itemsize": ["x.itemsize"],
    "max": ["x.max()", "x.max(axis=0)", "x.max(-1, keepdims=True)", "x.max(axis=0).sum()", "x.max(initial=0.5)"],
    "mean": ["x.mean()", "x.mean(axis=0)", "x.mean(-1, keepdims=True)", "x.mean(dtype=np.float64)", "x.mean((0,))"],
    "min": ["x.min()", "x.min(axis=0)", "x.min(axis=-1)[..., :1]"],
    "mT": ["x.mT"],
    "nbytes": ["x.nbytes"],
    "ndim": ["x.ndim"],
    "nonzero": ["x.nonzero()", "(x > 0).nonzero()"],
    "partition": ["np.sort(changed(x.ravel(), 'partition', 1)[:2])"],
    "prod": ["x.prod()", "x.prod(axis=0)", "x.prod(axis=-1, keepdims=True)"],
    "put": ["changed(x, 'put', [0, 2], [5.0, 7.0])", "changed(x, 'put', 1, 3.0)"],
    "ravel": ["x.ravel()", "x.ravel('F')", "x.ravel(order='K').shape"],
    "real": ["x.real"],
    "repeat": ["x.repeat(2)", "x.repeat(2, axis=0)", "x.ravel().repeat(3, 0)", "x.repeat(2, 1)"],
    "reshape": ["x.reshape(-1)", "x.reshape((1, -1))", "x.reshape(x.size, 1)", "x.reshape(-1, order='F')"],
    "round": ["x.round()", "x.round(1)", "x.round(decimals=2)"],
    "searchsorted": [
        "np.sort(x.ravel()).searchsorted(0.5)",
        "np.sort(x.ravel()).searchsorted([0.0, 1.0], side='right')",
    ],
    "shape": ["x.shape", "x.shape[0]", "len(x.shape)"],
    "size": ["x.size", "x.size * 2", "np.ones(x.size)", "x / x.size"],
    "sort": ["changed(x, 'sort')", "changed(x, 'sort', 0)", "x.copy().sort()"],
    "squeeze": ["x[None].squeeze()", "x[None].squeeze(0)", "x[None].squeeze(axis=0)", "x.squeeze(axis=0)"],
    "std": ["x.std()", "x.std(axis=0)", "x.std(axis=0, ddof=1)", "x.std(-1, keepdims=True)", "x.std(ddof=1)"],
    "strides": ["x.copy().strides"],
    "sum": ["x.sum()", "x.sum(axis=0)", "x.sum(-1, keepdims=True)", "x.sum(axis=(0,))", "x.sum(initial=3.0)"],
    "swapaxes": ["x.swapaxes(0, -1)"],
    "take": ["x.take([0, 1])", "x.take([0, 1], axis=0)", "x.take([[0, -1]], axis=-1)", "x.take(7, mode='wrap')"],
    "tobytes": ["x.tobytes()", "x.tobytes('F')"],
    "to_device": ["x.to_device('cpu')"],
    "tolist": ["x.tolist()"],
    "trace": ["x.trace()", "x.trace(1)", "x.trace(offset=-1, axis1=1, axis2=0)"],
    "transpose": [
        "x.transpose()",
        "x.transpose(None)",
        "x.transpose(*range(x.ndim)[::-1])",
        "x.transpose(0, 1)",
        "x.transpose([1, 0])",
        "x.transpose(1, 0, 2)",
    ],
    "var": ["x.var()", "x.var(axis=0)", "x.var(axis=0, ddof=1)", "x.var(-1)", "x.var(where=x > 0)"],
    "view": ["x.view()", "x.view(x.dtype)"],
}

# The rest of the methods: what they need is not an array of numbers that is differentiated.
ELSEWHERE = {
    "base": "other objects than NumPy's own: tested below",
    "byteswap": "gives NumPy's arrays",
    "ctypes": "a pointer",
    "data": "a buffer",
    "dump": "a file",
    "dumps": "text",
    "flags": "an object",
    "getfield": "gives NumPy's arrays",
    "resize": "refused",
    "setfield": "refused",
    "setflags": "refused",
    "tofile": "a file",
}


def changed(x: Any, method: str, *args: Any) -> Any:
    """A copy of ``x`` that was changed in place, and is what the method returns nothing of."""
    y = x.copy()
    assert getattr(y, method)(*args) is None
    return y


def filled(x: Any, value: Any) -> Any:
    return changed(x, "fill", value)


def test_every_member_of_numpys_arrays_is_there() -> None:
    members = {name for name in dir(np.ndarray) if not name.startswith("_")}
    assert members - set(CALLS) - set(ELSEWHERE) == set()
    x = NumpyTensor(VECTOR)
    for name in members:
        assert name in dir(x)
        if name != "mT":  # of matrices alone
            getattr(x, name)


def evaluate(program: str, x: Any) -> Any:
    return eval(program, {"np": np, "x": x, "changed": changed, "filled": filled})


PROGRAMS = [program for programs in CALLS.values() for program in programs]


@pytest.mark.parametrize("program", PROGRAMS)
def test_methods_give_what_numpys_give(program: str) -> None:
    run = lambda x: evaluate(program, x)
    run.__name__ = program
    for x in (*FLOATS, *OTHERS, np.zeros((0, 3)), np.array([1.0, np.nan, np.inf])):
        if ("argpartition" in program or "list" in program or "item" in program) and np.isnan(x).any():
            continue
        compare(run, x)


NOT_DIFFERENTIABLE = ("arg", "tobytes", "nonzero", "searchsorted", "all(", "any(", "item(", "round(")


@pytest.mark.parametrize("program", [p for p in PROGRAMS if not any(name in p for name in NOT_DIFFERENTIABLE)])
def test_methods_have_the_gradients_that_differences_give(program: str) -> None:
    for x in (VECTOR, MATRIX, CUBE.transpose(2, 0, 1)):
        value = outcome(lambda x=x: evaluate(program, x.copy()))
        if not isinstance(value, (np.ndarray, np.floating)) or value.dtype != np.float64 or not value.size:
            continue
        if "zeros(2" in program or "ones(" in program or program == "x.imag" or "fill" in program:
            continue
        assert dt.autograd.gradcheck(lambda x: evaluate(program, x), (x.copy(),)), program
        weights = np.cos(np.arange(value.size)).reshape(value.shape)
        found = jacfwd(lambda x, weights=weights: np.sum(evaluate(program, x) * weights))(x)
        np.testing.assert_allclose(found, grad(lambda x, w=weights: np.sum(evaluate(program, x) * w))(x), atol=1e-12)


def test_what_has_no_derivative_is_refused_where_one_would_be_lost() -> None:
    x = NumpyTensor(VECTOR.copy(), requires_grad=True)
    for name, args in (("tobytes", ()), ("dumps", ()), ("byteswap", ()), ("getfield", (np.float64,))):
        with pytest.raises(TypeError, match=f"{name}: its bytes"):
            getattr(x, name)(*args)
    for name in ("data", "ctypes"):
        with pytest.raises(TypeError, match="would lose the derivative"):
            getattr(x, name)
    with pytest.raises(ValueError, match="np.resize"):
        x.resize(3)
    with pytest.raises(AttributeError, match="reshape"):
        x.shape = (5, 1)
    y = NumpyTensor(VECTOR.copy())
    assert y.tobytes() == VECTOR.tobytes() and y.data == VECTOR.data and y.flags.c_contiguous
    assert np.frombuffer(y.byteswap().tobytes()).shape == (5,) and pickle.loads(y.dumps()).shape == (5,)


def test_methods_of_pytorch_stay_with_their_keywords() -> None:
    x = NumpyTensor(MATRIX)
    t = dt.tensor(MATRIX)
    for program in (
        "x.exp()",
        "x.unsqueeze(0)",
        "x.sum(dim=0)",
        "x.mean(dim=1, keepdim=True)",
        "x.std(dim=0)",
        "x.var(unbiased=True)",
        "x.max(dim=0)",
        "x.sort(dim=0)",
        "x.size()",
        "x.size(0)",
        "x.view(4, 3)",
        "x.view((2, 6))",
        "x.flip(0)",
        "x.norm()",
        "x.flatten(start_dim=0)",
        "x.softmax(1)",
        "x.clone()",
        "x.detach()",
        "x.relu()",
        "x.transpose(dim0=0, dim1=1)",
        "x.numel()",
        "x.add(1)",
        "x.chunk(2)",
        "x.unbind(1)",
        "x.logsumexp(0)",
        "x.float()",
        "x.new_zeros(2)",
    ):
        ours, theirs = (eval(program, {"x": one}) for one in (x, t))
        flat = dt.utils._pytree.tree_leaves(ours)
        for one, other in zip(flat, dt.utils._pytree.tree_leaves(theirs), strict=True):
            if isinstance(other, dt.Tensor):
                assert type(one) is NumpyTensor, program
                np.testing.assert_array_equal(one.numpy(), other.numpy(), program)
            else:
                assert one == other, program


# --- operators and ufuncs -------------------------------------------------------------------------

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.rshift,
    operator.matmul,
    divmod,
]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "u2", "?", "c16", "c8"]
SCALARS = [2, -1, 0, 1000, 2.5, True, 1 + 2j, np.float64(1.5), np.float32(0.5), np.int8(3), np.bool_(True)]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_have_numpys_dtypes_and_values(function: Callable, dtype: str) -> None:
    x = (
        np.array([[1, 2, 3], [4, 0, 1]]) if np.dtype(dtype).kind in "u?" else np.array([[1, -2, 3], [4, 0, 1]])
    ).astype(dtype)
    for other in DTYPES:
        y = np.array([2, 1, 3]).astype(other)
        compare(function, x, y)
        compare(lambda a, y=y: function(a, y), x)  # an array beside one of the kind
        compare(lambda a, y=y: function(y, a), x)
        compare(function, x, np.array(2).astype(other))
    for scalar in SCALARS:
        compare(lambda a, s=scalar: function(a, s), x)
        compare(lambda a, s=scalar: function(s, a), x)
    compare(lambda a: function(a, [1, 2, 3]), x)
    compare(lambda a: function([1, 2, 3], a), x)


@pytest.mark.parametrize(
    "function",
    [
        operator.iadd,
        operator.isub,
        operator.imul,
        operator.itruediv,
        operator.ipow,
        operator.ifloordiv,
        operator.imod,
        operator.iand,
        operator.ior,
        operator.ixor,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_in_place_cast_as_numpys(function: Callable, dtype: str) -> None:
    x = np.array([[1, 2, 3], [4, 5, 1]]).astype(dtype)
    for other in (*(np.array([2, 1, 3]).astype(d) for d in DTYPES), *SCALARS, np.ones((2, 2, 3))):
        if isinstance(other, (int, np.integer)) and other == -1 and function is operator.ipow:
            continue
        compare(lambda a, y=other: function(a, y), x)


UFUNCS = sorted(
    {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None and f.nin <= 2},
    key=lambda f: f.__name__,
)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs_have_numpys_dtypes_and_values(ufunc: Any) -> None:
    for dtype in DTYPES:
        x = np.array([1, 2, 3]).astype(dtype)
        if ufunc.nin == 1:
            for values in (x, (x * 0.25).astype(dtype)):
                compare(ufunc, values)
            continue
        for other in DTYPES:
            compare(ufunc, x, np.array([2, 1, 1]).astype(other))
        for scalar in (2, 0.5, np.float64(1.5)):
            compare(lambda a, s=scalar: ufunc(a, s), x)
            compare(lambda a, s=scalar: ufunc(s, a), x)


def test_ufuncs_write_into_arrays_of_the_kind_and_take_options() -> None:
    for program in (
        "np.add(x, 1, out=y)",
        "np.multiply(x, x, out=y, where=x > 0)",
        "np.exp(x, out=(y,))",
        "np.add(x, 1, dtype='f4')",
        "np.add.reduce(x, axis=1)",
        "np.multiply.accumulate(x)",
        "np.add.outer(x[0], x[1])",
        "np.subtract(x, 2, out=x)",
        "np.add.at(y, ([0, 0], [1, 1]), 2.0)",
        "np.maximum.reduce(x)",
        "np.add.reduceat(x, [0, 2], axis=1)",
    ):

        def run(x: Any, y: Any, program: str = program) -> Any:
            result = eval(program, {"np": np, "x": x, "y": y})
            return [result, y, x] if result is not None else [y, x]

        compare(run, MATRIX, MATRIX * 2)


# --- indexing -------------------------------------------------------------------------------------


def keys(shape: tuple, rng: np.random.Generator) -> Any:
    """A random key for an array of ``shape``."""
    parts: list = []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        start, stop = (None if rng.random() < 0.3 else int(rng.integers(-n - 1, n + 2)) for _ in range(2))
        step = int(rng.choice([-3, -2, -1, 1, 2]))
        parts.append(
            [
                int(rng.integers(-n, n)),
                slice(start, stop, step),
                slice(start, stop),
                rng.integers(-n, n, size=2),
                rng.integers(0, n, size=(2, 1)).astype(np.uint8),
                (rng.random(n) < 0.5),
                [int(k) for k in rng.integers(0, n, size=2)],
                np.int64(rng.integers(0, n)),
            ][rng.integers(0, 8)]
        )
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    if rng.random() < 0.3 and ... not in parts[:0]:
        parts.insert(int(rng.integers(0, len(parts) + 1)), Ellipsis)
    return tuple(parts) if len(parts) != 1 or rng.random() < 0.5 else parts[0]


@pytest.mark.parametrize("seed", range(20))
def test_keys_mean_what_they_mean_to_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        x = [VECTOR, MATRIX, CUBE][rng.integers(0, 3)]
        key = keys(x.shape, rng)

        def read(x: Any, key: Any = key) -> Any:
            return x[key]

        read.__name__ = f"x[{key!r}]"
        compare(read, x)
        found = outcome(read, x)
        if isinstance(found, Exception):
            continue
        value = rng.normal(size=found.shape) if rng.random() < 0.5 else 2.5

        def write(x: Any, key: Any = key, value: Any = value) -> Any:
            x = x.copy()
            x[key] = value
            return x

        def write_back(x: Any, key: Any = key) -> Any:  # to what was read, which is a view or is none
            x = x.copy()
            part = x[key]
            if part.ndim:
                part[...] = 7.0
            return x

        for function in (write, write_back):
            function.__name__ = f"{function.__name__}: x[{key!r}]"
            compare(function, x)
        if found.size:
            weights = rng.normal(size=found.shape)
            expected = np.zeros_like(x)
            np.add.at(expected, key, weights)
            np.testing.assert_allclose(
                grad(lambda x, k=key, w=weights: (x[k] * w).sum())(x), expected, err_msg=str(key)
            )


def test_elements_are_values_and_rows_are_views() -> None:
    def swapped(x: Any) -> Any:
        x = x.copy()
        first = x[0]
        x[0] = x[1]
        x[1] = first
        return x

    compare(swapped, VECTOR)
    compare(swapped, MATRIX)  # rows are views: both are the second then

    def rows(x: Any) -> Any:
        x = x.copy()
        for row in x:
            row *= 2
            row[0] = row[1] * row[2]
        return x

    compare(rows, MATRIX)
    assert dt.autograd.gradcheck(rows, (MATRIX,))

    def running(x: Any) -> Any:
        x = x.copy()
        total = x[:1].copy() * 0
        for k, v in enumerate(x):  # what is written on the way is read
            if k + 1 < x.size:
                x[k + 1] += v
            total += v
        return total

    compare(running, VECTOR)
    assert dt.autograd.gradcheck(running, (VECTOR,))


def test_flat_is_written_to() -> None:
    for program in (
        "x.flat[1] = 5",
        "x.flat[::2] = [1, 2]",
        "x.flat = 3",
        "x.flat = [1, 2, 3]",
        "x.flat[[0, 1]] = 9.5",
    ):

        def run(x: Any, program: str = program) -> Any:
            x = x.copy()
            exec(program, {"x": x})
            return x

        compare(run, MATRIX)


def test_writes_to_an_argument_are_differentiated_and_reach_the_caller() -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * x[2]
        x += 1
        x[::-1][1:] *= 2
        np.add.at(x, [0, 0, 1], x[2:3])
        np.multiply(x, 0.5, out=x)
        return (x * x).sum()

    x = VECTOR.copy()
    value, gradient = value_and_grad(f)(x)
    y = VECTOR.copy()
    np.testing.assert_allclose(value, f(y))
    np.testing.assert_array_equal(x, y)
    steps = [(f(VECTOR + d) - f(VECTOR - d)) / 2e-6 for d in np.eye(5) * 1e-6]
    np.testing.assert_allclose(gradient, steps, rtol=1e-6)
    np.testing.assert_allclose(jacfwd(f)(VECTOR.copy()), gradient)


# --- functions ------------------------------------------------------------------------------------

MIXED = [
    "np.where(x > 1, x, y)",
    "np.concatenate([x, y])",
    "np.stack([x, y])",
    "np.dot(x, y)",
    "np.inner(x, y)",
    "np.outer(x, y)",
    "np.maximum(x, y)",
    "np.hypot(x, y)",
    "np.append(x, y)",
    "np.hstack([x, y])",
    "np.vstack([x, y])",
    "np.cross(x, y)",
    "np.convolve(x, y)",
    "np.kron(x, y)",
    "np.tensordot(x, y, 1)",
    "np.einsum('i,i->', x, y)",
    "np.vdot(x, y)",
    "np.clip(x, 1, 2)",
    "np.sum(x)",
    "np.mean(x)",
    "np.prod(x)",
    "np.cumsum(x)",
    "np.std(x)",
    "np.median(x)",
    "np.diff(x)",
    "np.linspace(x[0], x[1], 3)",
    "np.full_like(x, 2)",
    "np.zeros_like(x)",
    "np.ones_like(x)",
    "np.interp(x, [0, 5], [1, 2])",
    "np.trapezoid(x, y)",
    "np.average(x, weights=y)",
    "np.polyval(x, 2)",
    "np.round(x)",
    "np.flip(x)",
    "np.roll(x, 1)",
    "np.pad(x, 1)",
    "np.select([x > 2, x > 1], [x, y])",
    "np.nan_to_num(x)",
    "np.searchsorted(x, y)",
    "np.isclose(x, y)",
    "np.allclose(x, y)",
    "np.sort(x)",
    "np.unique(x)",
    "np.percentile(x, 50)",
    "np.matmul(x, y)",
    "np.ptp(x)",
    "np.square(x)",
]


@pytest.mark.parametrize("program", MIXED)
def test_functions_have_numpys_dtypes(program: str) -> None:
    run = lambda x, y: eval(program, {"np": np, "x": x, "y": y})
    run.__name__ = program
    for first in ("f8", "f4", "i8", "i4", "u1"):
        for second in ("f8", "f4", "i8", "i2"):
            compare(run, np.array([1, 2, 3]).astype(first), np.array([3, 1, 1]).astype(second))


# --- where arrays enter ---------------------------------------------------------------------------


def spread(x: Any) -> Any:
    """A function whose value depends on whose methods ``x`` has."""
    return x.std() + x[::-1][0] * x.max(axis=0) / x.size


VALUE = spread(VECTOR)


def test_every_transform_gives_functions_arrays_of_numpys_kind() -> None:
    x = VECTOR.copy()
    steps = np.array([(spread(x + d) - spread(x - d)) / 2e-6 for d in np.eye(5) * 1e-6])
    gradients = {
        "grad": grad(spread)(x),
        "value_and_grad": value_and_grad(spread)(x)[1],
        "jacrev": jacrev(spread)(x),
        "jacfwd": jacfwd(spread)(x),
        "vjp": vjp(spread, x)[1](1.0)[0],
        "jvp": np.array([jvp(spread, (x,), (d,))[1] for d in np.eye(5)]),
        "linearize": np.array([linearize(spread, x)[1](d) for d in np.eye(5)]),
        "hips": hips.grad(spread)(x),
        "compiled": dt.compile(grad(spread))(x),
        "of a compiled function": grad(dt.compile(spread))(x),
        "sparse": sparse_jacobian(lambda x: spread(x).reshape(1))(x).toarray()[0],
    }
    for name, found in gradients.items():
        assert type(found) is np.ndarray, name
        np.testing.assert_allclose(found, steps, rtol=1e-6, atol=1e-8, err_msg=name)
    assert value_and_grad(spread)(x)[0] == pytest.approx(VALUE)
    np.testing.assert_allclose(vmap(spread)(np.stack([x, x])), [VALUE, VALUE])
    np.testing.assert_allclose(vmap(grad(spread))(np.stack([x, x])), [steps, steps], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian(spread)(x), jacrev(grad(spread))(x))
    assert dt.compile(spread)(x) == pytest.approx(VALUE)
    assert dt.autograd.gradcheck(spread, (x,)) and dt.autograd.gradgradcheck(spread, (x,))
    np.testing.assert_allclose(hips.hessian(spread)(x), hessian(spread)(x))
    check_grads(spread)(x)


def test_a_tensor_that_enters_stays_pytorchs() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(type(x))
        return x.std()

    t = dt.tensor(VECTOR)
    assert value_and_grad(f)(t)[0] == t.std() and type(grad(f)(t)) is dt.Tensor
    assert jacfwd(f)(t).shape == (5,) and vmap(f)(t.reshape(1, 5)).shape == (1,)
    assert set(seen) == {dt.Tensor}


def test_nested_transforms_keep_the_kind_and_functions_of_dualtape_give_tensors() -> None:
    seen = []

    def inner(y: Any) -> Any:
        seen.append(type(y))
        return y.std() * y.size

    def outer(x: Any) -> Any:
        g = grad(inner)(x)
        seen.extend([type(g), type(x.exp()), type(np.sin(x)), type(x[::-1]), type(dnp.array([x[0], 1.0]))])
        assert type(dt.exp(x)) is dt.Tensor and dt.std(x) == dt.tensor(x.detach().numpy()).std()
        return (g[::-1] * np.arange(5)).sum()

    assert type(grad(outer)(VECTOR)) is np.ndarray
    assert set(seen) == {NumpyTensor}
    net = dt.nn.Linear(5, 2).double()
    assert type(net(NumpyTensor(VECTOR))) is dt.Tensor


def test_compiled_functions_return_the_kind_at_every_call() -> None:
    doubled = dt.compile(lambda x: (x * 2, x[1:], x, x.reshape(1, 5)))
    kinds = []

    def f(x: Any) -> Any:
        results = doubled(x)
        kinds.extend(map(type, results))
        return results[0].std() + results[1].std()

    found = [value_and_grad(f)(VECTOR.copy()) for _ in range(3)]
    assert set(kinds) == {NumpyTensor}
    expected = VECTOR.std() * 2 + VECTOR[1:].std()
    for value, gradient in found:
        assert value == pytest.approx(expected)
        np.testing.assert_array_equal(gradient, found[0][1])
    t = dt.tensor(VECTOR)
    assert {type(one) for one in doubled(t)} == {dt.Tensor}  # another specialization


def test_they_are_printed_as_numpys_arrays_are() -> None:
    for x in (VECTOR, MATRIX, np.arange(3), np.array(2.5), np.array([True]), np.zeros((0, 2)), VECTOR.astype("f4")):
        assert repr(NumpyTensor(x)) == repr(x) and str(NumpyTensor(x)) == str(x)
    assert f"{NumpyTensor(np.array(2.5)):.2f}" == "2.50"
    x = NumpyTensor(np.array([1.0, 2.0]), requires_grad=True)
    assert repr(x) == "array([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "array([2., 4.], grad_fn=<MulBackward0>)"


def test_they_are_copied_pickled_and_converted() -> None:
    import copy

    x = NumpyTensor(VECTOR.copy(), requires_grad=True)
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(other) is NumpyTensor
        np.testing.assert_array_equal(other.detach().numpy(), VECTOR)
        assert other.requires_grad
    assert type(dt.as_tensor(VECTOR)) is dt.Tensor
    np.testing.assert_array_equal(np.asarray(NumpyTensor(VECTOR)), VECTOR)
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(x)
    (x**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * VECTOR)


def test_truth_and_iteration_fail_as_numpys_do() -> None:
    x = NumpyTensor(VECTOR)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x > 0)
    with pytest.raises(TypeError, match="0-d"):
        list(NumpyTensor(np.array(1.0)))
    with pytest.raises(IndexError, match="out of bounds"):
        x[7]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0]
    assert VECTOR[0] in x and 77 not in x and len(x) == 5


# --- writes to what was saved ---------------------------------------------------------------------

STEPS = (
    "a = np.exp(a * 0.3)",
    "a = np.sin(a) * b",
    "b = a * a",
    "c = a[1:]; c *= b[1:]",
    "a /= 1 + np.abs(a).sum()",
    "a *= a",
    "b -= b.mean()",
    "a[0] = b[1] * a[2]",
    "b[::-1][:2] += a[:2]",
    "np.add.at(a, [0, 0], b[:1])",
    "a[b > 0] *= 0.5",
    "np.multiply(a, b, out=b)",
    "c = np.sqrt(1 + a * a)",
    "c += c",
    "b = c.copy() if c.shape == a.shape else a.copy()",
    "a = a.reshape(2, 3); a[0] *= a[1]; a = a.ravel()",
    "m = np.outer(a, b); m[0] += m[:, 0] * m[1]; a = m.sum(axis=0)",
    "for row in a.reshape(3, 2): row *= row[::-1].copy()",
    "a = np.tanh(a); a -= a[0]",
    "b = a ** 2; a += b; b *= a",
    "a **= 2",
)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_that_write_in_place_have_the_gradients_of_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = "\n".join(["a = x * 1.0", "b = x + 0.5", "c = a"] + [str(rng.choice(STEPS)) for _ in range(6)])
    weights = rng.normal(size=6)

    def f(x: Any) -> Any:
        names = {"np": np, "x": x}
        exec(program, names)
        return (names["a"] * weights).sum() + (names["b"] * names["b"]).sum() * 0.1

    x = rng.normal(size=6)
    before = x.copy()
    expected = np.array([(f(x + d) - f(x - d)) / 2e-6 for d in np.eye(6) * 1e-6])
    if not np.isfinite(expected).all() or np.abs(expected).max() > 1e6:
        pytest.skip("the program overflows")
    scale = 1 + np.abs(expected).max()
    found = grad(f)(x)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-5, err_msg=program)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(jacfwd(f)(x) / scale, found / scale, atol=1e-9, err_msg=program)
    second = outcome(hessian(f), x)  # forward over reverse: right, or refused where what was saved is written
    if isinstance(second, Exception):
        assert "modified by an inplace operation" in str(second), program
    else:
        np.testing.assert_allclose(second, jacrev(grad(f))(x), rtol=1e-6, atol=1e-6 * scale, err_msg=program)


def test_what_was_saved_of_an_array_is_let_go_with_its_graph() -> None:
    x = NumpyTensor(VECTOR.copy(), requires_grad=True) * 1.0
    for _ in range(200):
        (x * x).sum()
    assert len(x._version_counter) < 70
    y = np.exp(x)
    y /= 2
    assert len(y._version_counter) == 2
