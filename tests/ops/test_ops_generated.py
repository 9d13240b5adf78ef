"""Generated from the table: every op, for each of its samples, against PyTorch and against finite differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape.arrays.batched.array import NotBatchable, innermost
from dualtape.autograd import gradcheck, gradgradcheck
from dualtape.ops.table import TABLE
from op_cases import arrays, cases, converted, cotangents, first_samples, leaves, oracle, prepared, rows

try:
    import torch
except ImportError:
    torch = None

OTHER_NODES = {"matmul_batched", "nll_loss", "real_part", "unsafe_view"}  # parts of what PyTorch does in several nodes
# nor has PyTorch: linear algebra, complex numbers of two halves, quantiles; bytes seen as another type; and the norms'
# statistics are of single precision in both
NO_HALF = {
    "cholesky",
    "cholesky_solve",
    "cofactor_change",
    "cofactors",
    "complex",
    "det",
    "inverse",
    "linalg_cholesky",
    "linalg_cond",
    "linalg_eigh",
    "linalg_eigvalsh",
    "linalg_lstsq",
    "linalg_pinv",
    "linalg_qr",
    "linalg_solve",
    "linalg_solve_adjoint",
    "linalg_solve_triangular",
    "linalg_svd",
    "linalg_svdvals",
    "logdet",
    "nanquantile",
    "native_norm",
    "nuclear_norm",
    "pinverse",
    "polar",
    "qr_complete",
    "qr_right",
    "inverse_anyway",
    "qr_tall",
    "quantile",
    "slogdet",
    "solve_triangular",
    "svd",
    "view_as_complex",
    "view_as_complex_copy",
    "view_dtype",
}
NO_HALF |= {row.name for row in rows() if row.name.startswith("fft_") and "shift" not in row.name}
NO_HALF |= {
    "scipy_solve_sylvester",
    "stft",
    "istft",
    "cholesky_inverse",
    "geqrf",
    "geqrf_plain",
    "ldl_plain",
    "ldl_solve_plain",
    "linalg_cholesky_ex",
    "linalg_eig",
    "linalg_eigvals",
    "linalg_info",
    "linalg_inv_ex",
    "linalg_ldl_factor",
    "linalg_ldl_factor_ex",
    "linalg_ldl_solve",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_lu_solve",
    "linalg_matrix_rank",
    "linalg_solve_ex",
    "linalg_tensorinv",
    "linalg_tensorsolve",
    "lu",
    "lu_permutation",
    "lu_solve",
    "lu_unpack",
    "pca_lowrank",
    "qr",
    "svd_lowrank",
    "triangular_solve",
}
CASES = list(cases())
IDS = [c[0] for c in CASES]
TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "complex128": 1e-9}


def is_float(tensor: Any) -> bool:
    return (
        isinstance(tensor, dt.Tensor)
        and tensor.is_floating_point()
        or isinstance(tensor, dt.Tensor)
        and tensor.is_complex()
    )


def close(ours: Any, theirs: Any, tolerance: float, what: str) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape), (
        f"{what}: shape {tuple(ours.shape)} where PyTorch has {tuple(theirs.shape)}"
    )
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch."), (
        f"{what}: {ours.dtype} where PyTorch has {theirs.dtype}"
    )
    np.testing.assert_allclose(
        ours.detach().numpy(),
        theirs.numpy(force=True),
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
        err_msg=what,
    )


def dtypes_of(row: Any) -> list[str]:
    if row.complex == "only":
        return ["complex128"]
    return ["float64", "float32", "complex128"] if row.complex else ["float64", "float32"]


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in CASES], ids=IDS)
def test_values_dtypes_gradients_and_node_names_are_pytorchs(row: Any, sample: Any) -> None:
    function = oracle(row)
    if function is None or not sample.torch:
        pytest.skip("PyTorch has no such op: finite differences cover it")
    for dtype in dtypes_of(row):
        if dtype == "complex128" and not sample.check:
            continue  # at poles and ties complex division gives NaN for other operands in NumPy than in PyTorch
        args, kwargs, result = arrays(sample, dtype)
        ours_in = {id(a): dt.tensor(a, requires_grad=True) for a in result}
        theirs_in = {id(a): torch.tensor(a, requires_grad=True) for a in result}

        def ours_of(a: Any, known: Any = ours_in) -> Any:
            return known.get(id(a)) if id(a) in known else dt.from_numpy(a)

        def theirs_of(a: Any, known: Any = theirs_in) -> Any:
            return known.get(id(a)) if id(a) in known else torch.from_numpy(a.copy())

        theirs_args = tuple(converted(a, theirs_of) for a in args)
        theirs_kwargs = {k: converted(v, theirs_of) for k, v in kwargs.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = leaves(function(*theirs_args, **theirs_kwargs))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            if dtype == "complex128":
                continue  # PyTorch has no complex form; ours is checked by finite differences
            raise AssertionError(f"PyTorch refuses the sample: {error}") from error
        ours = leaves(
            row.function(
                *(converted(a, ours_of) for a in args), **{k: converted(v, ours_of) for k, v in kwargs.items()}
            )
        )
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            if isinstance(a, dt.Tensor):
                close(a, b, TOLERANCE[dtype], f"{row.name} value {dtype}")
                assert a.requires_grad == b.requires_grad, f"{row.name}: requires_grad {a.requires_grad}"
                if a.grad_fn is not None and row.name in TABLE and torch.is_tensor(b) and b.grad_fn is not None:
                    if row.name not in OTHER_NODES and "NotImplemented" not in b.grad_fn.name():
                        assert a.grad_fn.name() == b.grad_fn.name(), (
                            f"node {a.grad_fn.name()}, PyTorch's {b.grad_fn.name()}"
                        )
            else:
                assert a == b
        pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if is_float(a) and a.requires_grad]
        if not pairs or any(b.grad_fn is not None and "NotImplemented" in b.grad_fn.name() for _, b in pairs):
            continue
        starts = cotangents([a for a, _ in pairs])
        mine = dt.autograd.grad(
            [a for a, _ in pairs], list(ours_in.values()), [dt.tensor(g) for g in starts], allow_unused=True
        )
        other = torch.autograd.grad(
            [b for _, b in pairs], list(theirs_in.values()), [torch.tensor(g) for g in starts], allow_unused=True
        )
        for k, (a, b) in enumerate(zip(mine, other, strict=True)):
            if b is None or a is None:
                zero = a if b is None else b
                assert zero is None or not np.any(zero.numpy()), f"gradient {k}: {a} where PyTorch has {b}"
                continue
            close(a, b, TOLERANCE[dtype] * 10, f"{row.name} gradient {k} {dtype}")


FIRST = [case for case in CASES if case[2] is next(s for s in case[1].samples if s.check or s is case[1].samples[-1])]


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in FIRST], ids=[c[0] for c in FIRST])
def test_half_precision_gives_what_single_precision_gives_rounded(row: Any, sample: Any) -> None:
    if row.complex == "only" or row.name in NO_HALF:
        pytest.skip("there is no half precision of it")
    found = []
    for dtype in ("float16", "float32"):
        args, kwargs, result = arrays(sample, "float16")
        known = {id(a): dt.tensor(a.astype(dtype), requires_grad=True) for a in result}

        def convert(a: np.ndarray, known: dict = known, dtype: str = dtype) -> Any:
            return (
                known[id(a)]
                if id(a) in known
                else dt.from_numpy(a.astype(dtype) if a.dtype == np.float16 or "fractional" in row.name else a)
            )

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outs = leaves(
                row.function(
                    *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
                )
            )
        floats = [o for o in outs if is_float(o) and o.requires_grad]
        grads = dt.autograd.grad([o.sum() for o in floats], list(known.values()), allow_unused=True) if floats else ()
        found.append(([o for o in outs if isinstance(o, dt.Tensor)], [g for g in grads if g is not None]))
    (values, gradients), (wide_values, wide_gradients) = found
    for narrow, wide in zip([*values, *gradients], [*wide_values, *wide_gradients], strict=True):
        if wide.dtype == dt.float32:
            assert narrow.dtype == dt.float16, f"{row.name}: {narrow.dtype}"
        with np.errstate(over="ignore"):
            expected = wide.detach().numpy().astype(narrow.detach().numpy().dtype)
        np.testing.assert_allclose(narrow.detach().numpy(), expected, rtol=2e-2, atol=2e-2, err_msg=row.name)


def checked(row: Any, sample: Any, dtype: str) -> tuple[Any, tuple]:
    bind, inputs = prepared(sample, dtype)

    def function(*tensors: Any) -> Any:
        args, kwargs = bind(tensors)
        return tuple(out for out in leaves(row.function(*args, **kwargs)) if is_float(out))

    return function, tuple(inputs)


DIFFERENTIABLE = [c for c in CASES if c[2].check and (c[1].name not in TABLE or TABLE[c[1].name].inputs)]


def check_dtypes(row: Any) -> list[str]:
    if row.complex == "only":
        return ["complex128"]
    return ["float64", "complex128"] if row.complex else ["float64"]


FIRST, ONE_EACH = first_samples(DIFFERENTIABLE, 3), first_samples(DIFFERENTIABLE, 1)
SECOND = first_samples([c for c in DIFFERENTIABLE if c[2].second and c[1].name in TABLE], 2)
SECOND += first_samples([c for c in DIFFERENTIABLE if c[2].second and c[1].name not in TABLE], 1)  # made of the others


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in FIRST], ids=[c[0] for c in FIRST])
def test_gradients_are_right_by_finite_differences(row: Any, sample: Any) -> None:
    for dtype in check_dtypes(row):
        function, inputs = checked(row, sample, dtype)
        if inputs:
            assert gradcheck(function, inputs, check_undefined_grad=False)


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in SECOND], ids=[c[0] for c in SECOND])
def test_second_derivatives_are_right_by_finite_differences(row: Any, sample: Any) -> None:
    for dtype in check_dtypes(row):
        function, inputs = checked(row, sample, dtype)
        if inputs:
            assert gradgradcheck(function, inputs, check_undefined_grad=False, atol=1e-4)


INPLACE = [c for c in CASES if getattr(c[1], "inplace", False)]


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in INPLACE], ids=[c[0] for c in INPLACE])
def test_the_in_place_form_equals_the_other_and_writes_the_same_memory(row: Any, sample: Any) -> None:
    args, kwargs, output = arrays(sample, "float64")
    if not isinstance(args[0], np.ndarray):
        pytest.skip("the first argument is no tensor")
    tensors = {id(a): dt.tensor(a, requires_grad=True) for a in output}
    convert = lambda a: tensors[id(a)] if id(a) in tensors else dt.from_numpy(a)
    rest = [converted(a, convert) for a in args[1:]]
    named = {k: converted(v, convert) for k, v in kwargs.items()}
    first = convert(args[0])
    expected = row.function(first, *rest, **named)
    target = first.clone()
    method = row.inplace_function
    if tuple(expected.shape) != tuple(target.shape) or not dt.can_cast(expected.dtype, target.dtype):
        with pytest.raises(RuntimeError):
            method(target, *rest, **named)
        assert target._version == 0
        return
    memory, version = target.data_ptr(), target._version
    result = method(target, *rest, **named)
    assert result is target
    assert target.data_ptr() == memory
    assert target._version == version + 1
    np.testing.assert_array_equal(target.detach().numpy(), expected.detach().numpy())
    if not expected.requires_grad:
        pytest.skip("the result is not differentiable")
    inputs = list(tensors.values())
    start = dt.tensor(cotangents([expected])[0])
    a = dt.autograd.grad(expected, inputs, start, allow_unused=True)
    b = dt.autograd.grad(target, inputs, start, allow_unused=True)
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-12, atol=1e-12)


# steps of other ops and of gradients, which see to it themselves
OF_OTHERS = {
    "unsafe_view",
    "to_device",
    "spread",
    "pick",
}


NO_VIEWS = pytest.mark.parametrize(
    "row",
    [row for row in rows() if not getattr(row, "view", False) and row.name not in OF_OTHERS],
    ids=lambda row: row.name,
)


def on_every_sample(row: Any, batched: bool, check: Any) -> None:
    """Call ``check(run, values, *given)``: ``run`` is the op as a function of its differentiable arguments, which are
    ``given`` as tensors, of a batch or not, and as arrays.
    """
    for sample in row.samples:
        args, kwargs, values = arrays(sample, "complex128" if row.complex == "only" else "float64")
        if not values or not values[0].size:
            continue

        def run(*tensors: Any, args: Any = args, kwargs: Any = kwargs, values: Any = values) -> list:
            known = {id(a): t for a, t in zip(values, tensors, strict=True)}
            convert = lambda a: known[id(a)] if id(a) in known else dt.from_numpy(a)
            given = {k: converted(v, convert) for k, v in kwargs.items()}
            out = leaves(row.function(*(converted(a, convert) for a in args), **given))
            found = [t for t in out if isinstance(t, dt.Tensor) and t._view is None]
            return [t for t in found if not any(t is one for one in tensors)]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if batched:
                    stacks = [dt.from_numpy(np.stack([a, a])) for a in values]
                    dt.func.vmap(lambda *given: (check(run, values, *given), given[0])[1])(*stacks)  # noqa: B023 - used at once
                else:
                    check(run, values, *map(dt.from_numpy, values))
            except (NotBatchable, ValueError):
                assert batched  # its result has a shape of its own for each sample, or is no tensor
            except NotImplementedError:
                pass  # no derivative


def apart_in_memory(results: list, others: list) -> None:
    for result in results:
        for other in others:
            assert not np.may_share_memory(innermost(result._array), innermost(other._array))


@NO_VIEWS
@pytest.mark.parametrize("batched", [False, True], ids=["plain", "batched"])
def test_what_is_no_view_is_in_memory_of_its_own(row: Any, batched: bool) -> None:
    on_every_sample(row, batched, lambda run, values, *given: apart_in_memory(run(*given), list(given)))


@NO_VIEWS
@pytest.mark.parametrize("batched", ["nothing", "tangents", "both"])
def test_the_tangent_of_what_is_no_view_is_in_memory_of_its_own(row: Any, batched: str) -> None:
    def check(run: Any, values: list, *given: Any) -> None:
        points = given if batched == "both" else [dt.tensor(a) for a in values]
        with fwAD.dual_level():
            duals = [fwAD.make_dual(x, t * 1.5) for x, t in zip(points, given, strict=True)]
            found = [fwAD.unpack_dual(result).tangent for result in run(*duals)]
            apart_in_memory([t for t in found if t is not None], [fwAD.unpack_dual(d).tangent for d in duals])

    on_every_sample(row, batched != "nothing", check)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_every_op_has_samples_and_a_docstring(row: Any) -> None:
    assert row.samples
    assert row.doc
