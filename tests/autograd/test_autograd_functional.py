"""``autograd.functional``: values, nesting, graphs and refusals as PyTorch's, and known derivatives without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.autograd import functional as F
from same_program import differences, needs_torch, outcome, torch

# --- generated: every function at every kind of point, with every combination of options ----------

FUNCTIONS = {  # source of the function; its inputs, by the letters of POINTS
    "square": ("lambda x: x * x", "a"),
    "linear": ("lambda x: x * 3", "a"),
    "identity": ("lambda x: x", "a"),
    "transposed": ("lambda x: x.t() @ x", "m"),
    "non-contiguous": ("lambda x: (x * x).sum(0)", "n"),
    "two in": ("lambda x, y: x * y.exp()", "ab"),
    "two out": ("lambda x: (x.sin(), x.sum() * x[0])", "a"),
    "two in, two out": ("lambda x, y: (x * y, (x + y).prod())", "ab"),
    "tuples of one": ("lambda x: (x.tanh(),)", "(a)"),
    "scalar": ("lambda x: (x ** 3).sum()", "a"),
    "number": ("lambda x: x ** 3", "s"),
    "one element": ("lambda x: (x ** 3).sum().reshape(1, 1)", "a"),
    "scalar of two": ("lambda x, y: (x * x * y).sum()", "ab"),
    "sum of parts": ("lambda x, y: (x ** 3).sum() + (y * y).sum()", "ab"),
    "linear in one": ("lambda x, y: (x ** 3).sum() + y.sum()", "ab"),
    "one input unused": ("lambda x, y: (x ** 3).sum()", "ab"),
    "linear scalar": ("lambda x: x.sum()", "a"),
    "constant": ("lambda x: torch.tensor(1.0)", "a"),
    "constant output": ("lambda x: (x * x, torch.ones(2))", "a"),
    "captured": ("lambda x: (w * x * x).sum()", "a"),
    "captured only": ("lambda x: w.sum()", "a"),
    "captured and linear": ("lambda x: (w * x).sum()", "a"),
    "detached": ("lambda x: x.detach() * x", "a"),
    "under no_grad": ("lambda x: x * x + torch.no_grad()(lambda x: x * x)(x)", "a"),
    "in place on a copy": ("lambda x: x.clone().mul_(x).sum()", "a"),
    "in place": ("lambda x: x.mul_(2).sum()", "a"),
    "indexed": ("lambda x: x[torch.tensor([0, 0, 1])] * x[1]", "a"),
    "double precision in part": ("lambda x, y: (x * y).sum()", "ad"),
    "complex": ("lambda z: z * z * z.conj()", "z"),
    "complex to real": ("lambda z: (z.abs() ** 2).sum()", "z"),
    "real to complex": ("lambda x: x * (1 + 2j)", "a"),
    "not a tensor": ("lambda x: 3", "a"),
    "a list": ("lambda x: [x]", "a"),
    "None inside": ("lambda x: (x, None)", "a"),
    "integers": ("lambda x: x * x", "i"),
    "nothing in": ("lambda x: x.sum()", "e"),
}
POINTS = {
    "a": "torch.tensor([0.7, 1.3])",
    "b": "torch.tensor([-0.4, 0.9])",
    "d": "torch.tensor([0.2, 0.6], dtype=torch.float64)",
    "m": "torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])",
    "n": "torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]).t()",
    "s": "torch.tensor(1.5)",
    "z": "torch.tensor([0.3 + 0.4j, -0.5 + 0.2j])",
    "i": "torch.tensor([1, 2])",
    "e": "torch.ones(0, 3)",
}
LEAF = {"leaf": ".requires_grad_()", "result": ".requires_grad_() * 1", "plain": ""}


def program(name: str, call: str, kind: str = "plain") -> str:
    """The source of one call: ``call`` with the function ``f``, the inputs ``x`` and vectors like the inputs and
    the outputs.
    """
    source, letters = FUNCTIONS[name]
    points = [f"{POINTS[k]}{LEAF[kind] if k != 'i' else ''}" for k in letters if k in POINTS]
    x = points[0] if len(letters) == 1 else f"({', '.join(points)},)"
    return f"""
w = torch.tensor([0.3, 0.8], requires_grad=True)
f = {source}
x = {x}
def like(values, factor):
    if isinstance(values, (tuple, list)):
        return tuple(like(one, factor) for one in values)
    ramp = (torch.arange(values.numel()).reshape(values.shape) + 1) * factor
    return ramp.to(values.dtype) * (1 - 0.5j) if values.is_complex() else ramp.to(values.dtype)
def outputs_like():
    with torch.no_grad():
        point = tuple(one.clone() for one in x) if isinstance(x, tuple) else x.clone()
        return like(f(*point) if isinstance(x, tuple) else f(point), 0.25)
{call}
"""


def compared(source: str) -> tuple[Any, Any]:
    return outcome(source, dt), outcome(source, torch)


PRODUCTS = {
    "vjp": "torch.autograd.functional.vjp(f, x, outputs_like(), {})",
    "jvp": "torch.autograd.functional.jvp(f, x, like(x, 0.5), {})",
    "vhp": "torch.autograd.functional.vhp(f, x, like(x, 0.5), {})",
    "hvp": "torch.autograd.functional.hvp(f, x, like(x, 0.5), {})",
    "no v: vjp": "torch.autograd.functional.vjp(f, x, None, {})",
    "no v: jvp": "torch.autograd.functional.jvp(f, x, None, {})",
    "no v: vhp": "torch.autograd.functional.vhp(f, x, None, {})",
    "no v: hvp": "torch.autograd.functional.hvp(f, x, None, {})",
}
OPTIONS = ["", "create_graph=True", "strict=True", "create_graph=True, strict=True"]


@needs_torch
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_are_those_of_pytorch(name: str, product: str) -> None:
    given = "no v" not in product
    for kind in LEAF if given else ["plain"]:
        for options in OPTIONS if given else OPTIONS[:2]:
            source = program(name, PRODUCTS[product].format(options), kind)
            found = differences(*compared(source))
            assert found is None, f"{kind}, {options}: {found}"


WAYS = [*OPTIONS, "vectorize=True", "vectorize=True, create_graph=True"]


def detached(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return tuple(detached(one) for one in tree)
    return tree.detach() if hasattr(tree, "detach") else tree


@needs_torch
@pytest.mark.parametrize("matrix", ["jacobian", "hessian"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices_are_those_of_pytorch(name: str, matrix: str) -> None:
    for kind in LEAF:
        for options in WAYS:
            ours, theirs = compared(program(name, f"torch.autograd.functional.{matrix}(f, x, {options})", kind))
            refusal = str(getattr(theirs, "error", ""))
            if name == "nothing in" and refusal:
                continue
            if options == "vectorize=True, create_graph=True":  # its zeros are rows of one batch, and require grad
                ours, theirs = detached(ours), detached(theirs)
            found = differences(ours, theirs)
            assert found is None, f"{kind}, {options}: {found}"


# it writes to the caller's; has no batching rule; names no function
PYTORCH_FAILS = {
    "in place",
    "nothing in",
    "a list",
    "not a tensor",
    "None inside",
}


@needs_torch
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in PYTORCH_FAILS])
def test_forward_mode_gives_the_jacobian_of_pytorch(name: str) -> None:
    for kind in LEAF:
        ours, theirs = compared(
            program(name, "torch.autograd.functional.jacobian(f, x, vectorize=True, strategy='forward-mode')", kind)
        )
        if "INTERNAL ASSERT" in str(getattr(theirs, "error", "")):
            continue
        loop = outcome(program(name, "torch.autograd.functional.jacobian(f, x, strategy='forward-mode')", kind), dt)
        assert differences(ours, detached(theirs)) is None
        assert differences(loop, detached(theirs)) is None, "in a loop"


@needs_torch
@pytest.mark.parametrize(
    "name",
    [
        "scalar",
        "number",
        "one element",
        "scalar of two",
        "sum of parts",
        "linear in one",
        "linear scalar",
        "constant",
        "captured",
    ],
)
def test_forward_over_reverse_gives_the_hessian_of_pytorch(name: str) -> None:
    for kind in LEAF:
        ours = outcome(
            program(
                name,
                "torch.autograd.functional.hessian(f, x, vectorize=True, outer_jacobian_strategy='forward-mode')",
                kind,
            ),
            dt,
        )
        loop = outcome(
            program(name, "torch.autograd.functional.hessian(f, x, outer_jacobian_strategy='forward-mode')", kind), dt
        )
        theirs = outcome(program(name, "torch.autograd.functional.hessian(f, x)", kind), torch)
        assert differences(ours, theirs) is None
        assert differences(loop, theirs) is None


DIFFERENTIATED = [
    "vjp(f, x, v, create_graph=True)[1]",
    "jvp(f, x, v, create_graph=True)[1]",
    "vhp(s, x, v, create_graph=True)[1]",
    "hvp(s, x, v, create_graph=True)[1]",
    "jacobian(f, x, create_graph=True)",
    "jacobian(f, x, create_graph=True, vectorize=True)",
    "hessian(s, x, create_graph=True)",
    "hessian(s, x, create_graph=True, vectorize=True)",
]


@needs_torch
@pytest.mark.parametrize("call", DIFFERENTIATED)
def test_results_with_a_graph_can_be_differentiated(call: str) -> None:
    source = f"""
x = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
v = torch.tensor([0.2, -0.5], dtype=torch.float64, requires_grad=True)
w = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
f = lambda x: (x * w).sin() * x.sum()
s = lambda x: f(x).prod()
found = torch.autograd.functional.{call}
torch.autograd.grad((found * found).sum(), (x, v, w), allow_unused=True)
"""
    assert differences(*compared(source)) is None


@pytest.mark.parametrize(
    "call",
    [
        "jacobian(f, x, strategy='forward-mode', vectorize=True, create_graph=True)",
        "jacobian(f, x, strategy='forward-mode', create_graph=True)",
    ],
)
def test_a_jacobian_in_forward_mode_can_be_differentiated_too(call: str) -> None:
    source = """
x = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
w = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
f = lambda x: (x * w).sin() * x.sum()
found = torch.autograd.functional.{}
[g.numpy() for g in torch.autograd.grad((found * found).sum(), (x, w))]
"""
    forward, reverse = outcome(source.format(call), dt), outcome(source.format("jacobian(f, x, create_graph=True)"), dt)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)


@pytest.mark.parametrize("vectorize", [False, True])
def test_a_hessian_forward_over_reverse_can_be_differentiated_too(vectorize: bool) -> None:
    x = dt.tensor([0.7, 1.3], dtype=dt.float64, requires_grad=True)
    found = F.hessian(
        lambda x: (x**4).sum(), x, create_graph=True, vectorize=vectorize, outer_jacobian_strategy="forward-mode"
    )
    (third,) = dt.autograd.grad(found.sum(), x)
    np.testing.assert_allclose(third.numpy(), 24 * x.detach().numpy(), rtol=1e-12)


# --- what is refused ------------------------------------------------------------------------------

X, V = dt.tensor([1.0, 2.0]), dt.ones(2)
W = dt.tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (
            lambda: F.vjp(lambda x: x, [X], V),
            TypeError,
            "inputs given to vjp must be either a Tensor or a tuple of Tensors .* has type .*list",
        ),
        (lambda: F.jvp(lambda x: x, (X, 3), V), TypeError, "inputs given to jvp .* value at index 1 has type .*int"),
        (
            lambda: F.vjp(lambda x: (x, None), X, V),
            TypeError,
            "outputs of the user-provided function given to vjp .* value at index 1 has type .*NoneType",
        ),
        (lambda: F.jacobian(lambda x: 3, X), TypeError, "outputs of the user-provided function given to jacobian"),
        (lambda: F.hessian(lambda x: 3, X), TypeError, "outputs of the user-provided function given to hessian"),
        (lambda: F.vjp(lambda x: x, X, [V]), TypeError, "The v given to vjp"),
        (
            lambda: F.vjp(lambda x: x, X),
            RuntimeError,
            "The vector v can only be None if the user-provided function returns a single Tensor",
        ),
        (
            lambda: F.jvp(lambda x: x, X),
            RuntimeError,
            "The vector v can only be None if the input to the user-provided function is a single Tensor",
        ),
        (lambda: F.vjp(lambda x: x, X, (V, V)), RuntimeError, "The given v should contain a single Tensor"),
        (
            lambda: F.jvp(lambda x, y: x, (X, X), V),
            RuntimeError,
            "v is a tuple of invalid length: should be 2 but got 1",
        ),
        (
            lambda: F.vjp(lambda x: x, X, dt.ones(3)),
            RuntimeError,
            r"v has invalid size: .*Size\(\[2\]\) but got .*Size\(\[3\]\)",
        ),
        (
            lambda: F.vhp(lambda x: x, X, V),
            RuntimeError,
            "The Tensor returned by the function given to vhp should contain a single element",
        ),
        (
            lambda: F.hvp(lambda x: (x.sum(),), X, V),
            RuntimeError,
            "The function given to hvp should return a single Tensor",
        ),
        (
            lambda: F.hessian(lambda x: x, X),
            RuntimeError,
            "The Tensor returned by the function given to hessian should contain a single element",
        ),
        (
            lambda: F.vjp(lambda x: V, X, V, strict=True),
            RuntimeError,
            "Output 0 of the user-provided function does not require gradients",
        ),
        (
            lambda: F.vjp(lambda x, y: x, (X, X), V, strict=True),
            RuntimeError,
            "independent of input 1. This is not allowed in strict mode",
        ),
        (
            lambda: F.jvp(lambda x, y: x, (X, X), (V, V), strict=True),
            RuntimeError,
            "independent of input 1. This is not allowed in strict mode",
        ),
        (
            lambda: F.vjp(lambda x: x * 2, X, V, True, True),
            RuntimeError,
            "jacobian .* independent of input 0.* when create_graph=True",
        ),
        (
            lambda: F.jvp(lambda x: x * 2, X, V, True, True),
            RuntimeError,
            "jacobian .* independent of input 0.* when create_graph=True",
        ),
        (
            lambda: F.vhp(lambda x: x.sum(), X, V, strict=True),
            RuntimeError,
            "jacobian of the user-provided function with respect to input 0 is independent",
        ),
        (
            lambda: F.hvp(lambda x: (x * W).sum(), X, V, strict=True),
            RuntimeError,
            "independent of input 0. This is not allowed in strict mode",
        ),
        (
            lambda: F.vhp(lambda x: (x * x).sum(), X, V, True, True),
            RuntimeError,
            "hessian .* independent of input 0.* when create_graph=True",
        ),
        (
            lambda: F.jacobian(lambda x, y: (x * y, x), (X, X), strict=True),
            RuntimeError,
            "Output 1 .* independent of input 1",
        ),
        (
            lambda: F.jacobian(lambda x, y: (x * y, x), (X, X), strict=True, vectorize=True),
            RuntimeError,
            "Output 1 .* independent of input 1",
        ),
        (
            lambda: F.jacobian(lambda x: x * 2, X, True, True),
            RuntimeError,
            "jacobian .* independent of input 0.* when create_graph=True",
        ),
        (lambda: F.hessian(lambda x: x.sum(), X, strict=True), RuntimeError, "While computing the hessian"),
        (
            lambda: F.jacobian(lambda x: x, X, strategy="sideways"),
            AssertionError,
            "Expected strategy to be either .* got 'sideways'",
        ),
        (
            lambda: F.hessian(lambda x: x, X, outer_jacobian_strategy="sideways"),
            AssertionError,
            "Expected strategy to be either",
        ),
        (
            lambda: F.jacobian(lambda x: x, X, strict=True, strategy="forward-mode"),
            RuntimeError,
            "not supported together",
        ),
        (
            lambda: F.hessian(lambda x: x.sum(), X, strict=True, outer_jacobian_strategy="forward-mode"),
            RuntimeError,
            "not supported together",
        ),
        (lambda: F.jacobian(lambda x: x, (X,), sparse=True), TypeError, "takes a single Tensor"),
        (lambda: F.jacobian(lambda x: x, X, create_graph=True, sparse=True), ValueError, "leave out create_graph"),
        (
            lambda: F.hessian(lambda x: x.sum(), X, strict=True, sparse=True),
            ValueError,
            "leave out create_graph and strict",
        ),
    ],
)
def test_it_is_refused_and_says_why(call: Any, error: type, phrase: str) -> None:
    with pytest.raises(error, match=phrase):
        call()


# --- without the oracle ---------------------------------------------------------------------------

MATRIX = dt.tensor(np.random.default_rng(0).normal(size=(3, 4)))


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"strategy": "forward-mode"}, {"strategy": "forward-mode", "vectorize": True}]
)
def test_the_jacobian_of_a_linear_map_is_its_matrix(options: dict) -> None:
    np.testing.assert_array_equal(
        F.jacobian(lambda x: MATRIX @ x, dt.ones(4, dtype=dt.float64), **options).numpy(), MATRIX.numpy()
    )


def test_products_with_the_jacobian_of_a_linear_map_are_those_with_its_matrix() -> None:
    rng = np.random.default_rng(1)
    x, t, g = (dt.tensor(rng.normal(size=n)) for n in (4, 4, 3))
    np.testing.assert_allclose(F.jvp(lambda x: MATRIX @ x, x, t)[1].numpy(), MATRIX.numpy() @ t.numpy(), rtol=1e-12)
    np.testing.assert_allclose(F.vjp(lambda x: MATRIX @ x, x, g)[1].numpy(), g.numpy() @ MATRIX.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"vectorize": True},
        {"outer_jacobian_strategy": "forward-mode"},
        {"outer_jacobian_strategy": "forward-mode", "vectorize": True},
    ],
)
def test_the_hessian_of_a_quadratic_form_is_its_matrix(options: dict) -> None:
    a = np.random.default_rng(2).normal(size=(4, 4))
    form = dt.tensor(a + a.T)
    x = dt.tensor(a[0])
    np.testing.assert_allclose(F.hessian(lambda x: 0.5 * x @ form @ x, x, **options).numpy(), form.numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        F.hvp(lambda x: 0.5 * x @ form @ x, x, dt.ones(4, dtype=dt.float64))[1].numpy(), form.numpy().sum(1), rtol=1e-12
    )


def test_forward_mode_gives_the_derivative_of_a_holomorphic_function_and_reverse_mode_its_conjugate_or_nothing() -> (
    None
):
    z = dt.tensor([1 + 2j, 0.5 - 1j])
    for vectorize in (False, True):
        forward = F.jacobian(lambda z: z**2, z, vectorize=vectorize, strategy="forward-mode")
        np.testing.assert_allclose(forward.numpy(), np.diag(2 * z.numpy()), rtol=1e-6)
    reverse = F.jacobian(lambda z: z**2, z, vectorize=True)
    np.testing.assert_allclose(reverse.numpy(), np.diag(2 * z.numpy()).conj(), rtol=1e-6)
    with pytest.raises(RuntimeError, match="output 0 is complex"):
        F.jacobian(lambda z: z**2, z)


def test_hvp_and_vhp_differ_where_the_second_derivatives_are_not_symmetric() -> None:
    def func(x: Any) -> Any:
        return (x[0].detach() * x[1] ** 2).sum() + (x[0] * x[1]).sum()

    x, v = dt.tensor([[2.0], [3.0]]), dt.tensor([[1.0], [0.0]])
    full = F.hessian(func, x).numpy().reshape(2, 2)
    np.testing.assert_array_equal(full, [[0, 1], [1, 4]])
    assert F.hvp(func, x, v)[1].tolist() == [[0.0], [1.0]]

    def lopsided(x: Any) -> Any:
        return x[0] * x[1].detach()

    assert F.hvp(lambda x: lopsided(x) * 1.0, dt.tensor([2.0, 3.0]), dt.tensor([0.0, 1.0]))[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shapes", [((0,), (3,)), ((3,), (0,)), ((0,), (0,)), ((2, 0), ())])
@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"strategy": "forward-mode"}, {"strategy": "forward-mode", "vectorize": True}]
)
def test_empty_outputs_and_inputs_give_empty_jacobians(shapes: Any, options: dict) -> None:
    given, wanted = shapes
    found = F.jacobian(lambda x: x.sum() + dt.ones(*wanted) if wanted else x.sum(), dt.ones(*given), **options)
    assert found.shape == (*wanted, *given)


def test_jvp_gives_zero_for_an_output_of_integers() -> None:
    (values, place), (moved, still) = F.jvp(lambda x: (x * 2, x.argmax()), X, V)
    assert moved.tolist() == [2.0, 2.0] and still.tolist() == 0 and place.tolist() == 1


def test_strict_and_vectorize_go_together() -> None:
    assert F.jacobian(lambda x: x * x, X, strict=True, vectorize=True).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert F.hessian(lambda x: (x**3).sum(), X, strict=True, vectorize=True).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_the_tensors_of_the_caller_are_left_alone() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.retain_grad()
    before = (x._version, y._version)
    for call in (
        lambda p: F.vjp(lambda x: x * W, p, V),
        lambda p: F.jvp(lambda x: x * W, p, V),
        lambda p: F.vhp(lambda x: (x * x * W).sum(), p, V),
        lambda p: F.hvp(lambda x: (x * x * W).sum(), p, V),
        lambda p: F.jacobian(lambda x: x * W, p),
        lambda p: F.hessian(lambda x: (x * x * W).sum(), p),
        lambda p: F.jacobian(lambda x: x * W, p, strategy="forward-mode"),
        lambda p: F.jacobian(lambda x: x * W, p, create_graph=True),
    ):
        for point in (x, y):
            call(point)
    assert x.grad is None and y.grad is None and W.grad is None and V.grad is None
    assert (x._version, y._version) == before and y.grad_fn is not None and not V.requires_grad


@pytest.mark.parametrize("vectorize", [False, True])
def test_in_forward_mode_too_a_function_that_writes_to_its_argument_does_not_reach_the_caller(vectorize: bool) -> None:
    x = dt.tensor([1.0, 2.0])
    assert F.jacobian(lambda x: x.mul_(x) * 1, x, strategy="forward-mode", vectorize=vectorize).tolist() == [
        [2.0, 0.0],
        [0.0, 4.0],
    ]
    assert x.tolist() == [1.0, 2.0]


def test_the_function_sees_an_argument_of_its_own_even_if_it_captured_the_same_tensor() -> None:
    x = dt.tensor(3.0, requires_grad=True)
    assert F.vjp(lambda y: y * x, x)[1].item() == 3.0
    assert F.jvp(lambda y: y * x, x)[1].item() == 3.0
    assert F.jacobian(lambda y: y * x, x).item() == 3.0
    assert F.jacobian(lambda y: y * x, x, strategy="forward-mode").item() == 3.0
    assert F.vjp(lambda y: y * x, x, create_graph=True)[1].item() == 3.0


def test_results_need_no_graph_to_be_alive() -> None:
    import gc
    import weakref

    gc.disable()
    try:
        seen = []

        def func(x: Any) -> Any:
            y = x * x
            seen.append(weakref.ref(y))
            return y

        results = [
            F.vjp(func, X, V),
            F.jvp(func, X, V),
            F.jacobian(func, X),
            F.jacobian(func, X, vectorize=True),
            F.jacobian(func, X, strategy="forward-mode"),
        ]
        assert len(results) == 5 and len(seen) >= 5
        assert all(ref() is None for ref in seen)
    finally:
        gc.enable()


def test_a_sparse_jacobian_is_the_dense_one() -> None:
    scipy = pytest.importorskip("scipy.sparse")
    x = dt.tensor(np.linspace(0.1, 1.0, 6), requires_grad=True)

    def func(x: Any) -> Any:
        return x[1:] * x[:-1] ** 2

    found = F.jacobian(func, x, sparse=True)
    assert scipy.issparse(found) and found.nnz == 10
    np.testing.assert_allclose(found.toarray(), F.jacobian(func, x).numpy(), rtol=1e-12)
    found = F.hessian(lambda x: func(x).sum(), x, sparse=True)
    np.testing.assert_allclose(found.toarray(), F.hessian(lambda x: func(x).sum(), x).numpy(), rtol=1e-12)
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        F.jacobian(lambda x: (x, x), x, sparse=True)


OF_ONE = {
    "jvp": lambda x: F.jvp(lambda x: x**2 * x.sum(), x, V)[1],
    "vjp": lambda x: F.vjp(lambda x: x**2 * x.sum(), x, V)[1],
    "vhp": lambda x: F.vhp(lambda x: (x**3).sum(), x, V)[1],
    "hvp": lambda x: F.hvp(lambda x: (x**3).sum(), x, V)[1],
    "jacobian": lambda x: F.jacobian(lambda x: x**2 * x.sum(), x),
    "jacobian, batched": lambda x: F.jacobian(lambda x: x**2 * x.sum(), x, vectorize=True),
    "jacobian, forward": lambda x: F.jacobian(lambda x: x**2 * x.sum(), x, strategy="forward-mode"),
    "jacobian, forward, batched": lambda x: F.jacobian(
        lambda x: x**2 * x.sum(), x, strategy="forward-mode", vectorize=True
    ),
    "hessian": lambda x: F.hessian(lambda x: x.prod() ** 2, x),
    "hessian, forward, batched": lambda x: F.hessian(
        lambda x: x.prod() ** 2, x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_vmap_of_it_is_a_loop(name: str) -> None:
    points = dt.tensor([[0.5, 1.0], [2.0, -1.0], [0.1, 0.2]])
    loop = np.stack([OF_ONE[name](point).numpy() for point in points])
    np.testing.assert_allclose(dt.func.vmap(OF_ONE[name])(points).numpy(), loop, rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"strategy": "forward-mode"}, {"strategy": "forward-mode", "vectorize": True}]
)
def test_with_a_graph_the_tangents_of_the_inputs_go_through(options: dict) -> None:
    forward_ad = dt.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(dt.tensor([1.0, 2.0], requires_grad=True), dt.tensor([1.0, 10.0]))
        found = F.jacobian(lambda x: x**3, x, create_graph=True, **options)
        assert forward_ad.unpack_dual(found).tangent.tolist() == [[6.0, 0.0], [0.0, 120.0]]
