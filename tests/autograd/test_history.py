"""History: what is computed from a tensor that requires grad is on the tape, or backward says that it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import arrays, cases, converted, leaves
from same_program import needs_torch, programs, same

CASES = list(cases())
CONSTANT = {  # floating-point results that do not depend on the values, or only by steps
    "bernoulli",
    "histc",
    "histogram",
    "histogramdd",
    "heaviside",
    "ones_like",
    "zeros_like",
    "full_like",
    "empty_like",
    "isclose",
    "zero",
    "ties",
    "qr_complete",
    "linalg_lstsq",
    "ldl_plain",
    "ldl_solve_plain",
    "geqrf_plain",
    "lu_unpack",
    "linalg_lu",
}


@pytest.mark.parametrize(("row", "sample"), [(row, s) for _, row, s in CASES], ids=[name for name, _, _ in CASES])
def test_every_floating_result_of_a_tensor_that_requires_grad_has_a_history(row: Any, sample: Any) -> None:
    args, kwargs, _ = arrays(sample, "complex128" if row.complex == "only" else "float64")
    given: list = []

    def convert(array: np.ndarray) -> dt.Tensor:
        given.append(dt.tensor(array, requires_grad=array.dtype.kind in "fc"))
        return given[-1]

    args = tuple(converted(a, convert) for a in args)
    kwargs = {k: converted(v, convert) for k, v in kwargs.items()}
    if not any(x.requires_grad for x in given):
        pytest.skip("no argument is differentiable")
    try:
        found = [x for x in leaves(row.function(*args, **kwargs)) if isinstance(x, dt.Tensor)]
    except (RuntimeError, TypeError) as error:
        assert "deriv" in str(error) or "requires grad" in str(error) or "requires_grad" in str(error)
        return
    floats = [x for x in found if x.dtype.is_floating_point or x.dtype.is_complex]
    if row.name not in CONSTANT:
        assert all(x.requires_grad for x in floats if x.numel())


UNDERIVED = programs(
    r"""
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); y = torch.unique(x); [y.requires_grad, y.detach()]
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); torch.unique(x).sum().backward()
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); y, i = torch.unique(x, return_inverse=True); [y.requires_grad, i.requires_grad]
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); torch.unique(x, return_counts=True)[0].sum().backward()
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); torch.unique_consecutive(x).requires_grad
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); torch.unique_consecutive(x).sum().backward()
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); torch.bincount(torch.tensor([0, 1, 1]), weights=x).requires_grad
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True); torch.bincount(torch.tensor([0, 1, 1]), weights=x).sum().backward()
    """
)
WEIGHTS = programs(
    r"""
    torch.nn.functional.nll_loss(torch.rand(3, 4), torch.tensor([0, 1, 2]), weight=torch.ones(4, requires_grad=True))
    torch.nn.functional.nll_loss(torch.rand(3, 4), torch.tensor([0, 1, 2]), torch.ones(4, requires_grad=True))
    torch.nn.functional.cross_entropy(torch.rand(3, 4), torch.tensor([0, 1, 2]), weight=torch.ones(4, requires_grad=True))
    torch.nn.functional.binary_cross_entropy(torch.rand(4), torch.rand(4), weight=torch.ones(4, requires_grad=True))
    torch.nn.functional.binary_cross_entropy_with_logits(torch.rand(4), torch.rand(4), pos_weight=torch.ones(4, requires_grad=True))
    torch.nn.functional.batch_norm(torch.rand(3, 4), torch.ones(4, requires_grad=True), torch.ones(4))
    """
)


@needs_torch
@pytest.mark.parametrize("line", UNDERIVED)
def test_what_has_no_derivative_says_so_in_backward(line: str) -> None:
    same(line)


@needs_torch
@pytest.mark.parametrize("line", WEIGHTS)
def test_an_argument_without_a_derivative_must_not_require_grad(line: str) -> None:
    same(line)


def test_a_result_without_a_derivative_is_not_mistaken_for_a_constant() -> None:
    x = dt.tensor([1.0, 1.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="the derivative for 'unique' is not implemented"):
        (dt.unique(x).sum() + x.sum()).backward()
    with dt.no_grad():
        assert not dt.unique(x).requires_grad
    weight = dt.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        dt.nn.functional.nll_loss(dt.zeros(1, 3), dt.tensor([0]), weight=weight)
