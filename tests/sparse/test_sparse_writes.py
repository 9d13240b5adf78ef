"""Writes to sparse tensors, and the memory that they share with others: PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.sparse.coo import ZERO_KEEPING
from outcomes import same_outcome, torch

pytestmark = pytest.mark.filterwarnings("ignore")

VALUES = [[0.25, 0.0, -0.5], [0.0, 0.75, 0.0]]
LAYOUTS = ("to_sparse", "to_sparse_csr", "to_sparse_csc")


def made(m: Any, layout: str, dtype: str = "float32") -> Any:
    return getattr(m.tensor(VALUES).to(getattr(m, dtype)), layout)()


def written(m: Any, layout: str, write: Any) -> list:
    x = made(m, layout)
    version = x._version
    found = write(x)
    return [found is x, x._version - version, str(x.layout).rpartition(".")[2], x.to_dense()]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(n for n in ZERO_KEEPING if hasattr(dt.Tensor, f"{n}_")))
def test_functions_that_keep_zero_write_in_place(name: str, layout: str) -> None:
    theirs = getattr(torch.Tensor, f"{name}_", None)
    try:
        theirs(made(torch, layout))
    except Exception:
        pytest.skip("PyTorch has it not for this layout")
    same_outcome(lambda m: written(m, layout, lambda x: getattr(x, f"{name}_")()), 1e-5)


WRITES = {
    "div_": lambda m, x: x.div_(2),
    "div_ and floor": lambda m, x: x.div_(0.3, rounding_mode="floor"),
    "true_divide_": lambda m, x: x.true_divide_(2),
    "/=": lambda m, x: x.__itruediv__(2),
    "//=": lambda m, x: x.__ifloordiv__(0.3),
    "mul_": lambda m, x: x.mul_(2),
    "*=": lambda m, x: x.__imul__(x),
    "add_": lambda m, x: x.add_(x),
    "-=": lambda m, x: x.__isub__(x * 3),
    "zero_": lambda m, x: x.zero_(),
    "copy_": lambda m, x: x.copy_(x * 2),
    "copy_ of another dtype": lambda m, x: x.copy_((x * 2).to(m.float64)),
    "copy_ of a dense one": lambda m, x: x.copy_(m.ones(2, 3)),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_with_another_operand(name: str) -> None:
    same_outcome(lambda m: written(m, "to_sparse", lambda x: WRITES[name](m, x)), 1e-6)


@pytest.mark.parametrize("name", WRITES)
def test_writes_are_the_same_once_methods_can_be_overridden(name: str) -> None:
    class Watching(dt.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            return function(*args, **(kwargs or {}))

    def run(m: Any) -> list:
        if m is torch:
            return written(m, "to_sparse", lambda x: WRITES[name](m, x))
        with Watching():
            return written(m, "to_sparse", lambda x: WRITES[name](m, x))

    same_outcome(run, 1e-6)


def test_a_write_that_does_not_fit_changes_nothing() -> None:
    whole = dt.tensor([[1, 0], [0, 2]]).to_sparse()
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole.sin_()
    assert whole.to_dense().tolist() == [[1, 0], [0, 2]]
    with pytest.raises(RuntimeError, match="does not take one of size"):
        made(dt, "to_sparse").copy_(whole)
    with pytest.raises(NotImplementedError, match="to_dense"):
        dt.zeros(2, 2).copy_(whole)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_do_not_share_what_is_written(layout: str) -> None:
    x = made(dt, layout)
    kept = x.clone()
    x.neg_()
    np.testing.assert_array_equal(kept.to_dense().numpy(), np.array(VALUES, np.float32))


@pytest.mark.parametrize("name", ["neg_", "sin_", "expm1_", "zero_", "mul_"])
def test_gradients_behind_a_write(name: str) -> None:
    def run(m: Any) -> list:
        x = made(m, "to_sparse").requires_grad_()
        y = x * 2
        getattr(y, name)(*((3,) if name == "mul_" else ()))
        m.sparse.sum(y).backward()
        return [y.requires_grad, x.grad.to_dense()]

    same_outcome(run, 1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reduce", ["sum", "to_dense"])
def test_two_leaves_have_gradients_of_their_own(layout: str, reduce: str) -> None:
    a, b = (made(dt, layout).requires_grad_() for _ in "ab")
    out = a + b
    out.sum().backward() if reduce == "sum" else out.to_dense().backward(dt.ones(2, 3))
    before = b.grad.to_dense().clone()
    a.grad.mul_(5)
    assert (b.grad.to_dense() == before).all() and (a.grad.to_dense() == 5 * before).all()


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_a_compressed_tensor_shares_what_it_is_made_of(layout: str) -> None:
    def run(m: Any) -> list:
        parts = [m.tensor([0, 1, 2]), m.tensor([0, 1]), m.tensor([1.0, 2.0])]
        x = getattr(m, f"sparse_{layout}_tensor")(*parts, (2, 2))
        names = ("crow_indices", "col_indices") if layout == "csr" else ("ccol_indices", "row_indices")
        held = [getattr(x, name)() for name in (*names, "values")]
        return [a.data_ptr() == b.data_ptr() for a, b in zip(held, parts, strict=True)]

    same_outcome(run, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_data_is_exchanged_for_that_of_the_same_layout(layout: str) -> None:
    x = made(dt, layout).requires_grad_()
    x.data = getattr(dt.eye(3), layout)()
    assert tuple(x.shape) == (3, 3) and x.requires_grad and (x.detach().to_dense() == dt.eye(3)).all()
    for other in {"clone", *LAYOUTS} - {layout}:
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            x.data = getattr(dt.eye(3), other)()
    with pytest.raises(RuntimeError, match="floating point or complex"):
        x.data = getattr(dt.eye(3, dtype=dt.int64), layout)()
