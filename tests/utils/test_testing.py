"""``dualtape.testing``: what is close, what is not, and what is said about it; tensors to try things on."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, same

PROGRAMS = """
torch.testing.assert_close(torch.tensor([1., 2, 3]), torch.tensor([1., 2, 4]))
torch.testing.assert_close(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4]))
torch.testing.assert_close(torch.tensor([1., 2, 3]), torch.tensor([1., 2, 3 + 2e-6]))
torch.testing.assert_close(torch.tensor([1., 2, 3]), torch.tensor([1., 2, 3 + 2e-5]))
torch.testing.assert_close(torch.tensor([1., 2.], dtype=torch.float64), torch.tensor([1., 2 + 1e-6], dtype=torch.float64))
torch.testing.assert_close(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.float16) * 1.001)
torch.testing.assert_close(torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16) * 1.02)
torch.testing.assert_close(torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16) * 1.1)
torch.testing.assert_close(1.0, 1.1)
torch.testing.assert_close(1.0, 1.0 + 1e-9)
torch.testing.assert_close(1, 1.0)
torch.testing.assert_close(1, 1.0, check_dtype=False)
torch.testing.assert_close(1, 2)
torch.testing.assert_close(1j, 1j + 1)
torch.testing.assert_close(torch.ones(2), torch.ones(2).double())
torch.testing.assert_close(torch.ones(2), torch.ones(2).double(), check_dtype=False)
torch.testing.assert_close(torch.ones(2), torch.ones(2).long(), check_dtype=False)
torch.testing.assert_close([torch.ones(2), torch.zeros(1)], [torch.ones(2), torch.ones(1)])
torch.testing.assert_close([1, [2, 3]], [1, [2, 4]])
torch.testing.assert_close((1,), [1])
torch.testing.assert_close([1], [1, 2])
torch.testing.assert_close({"a": 1}, {"b": 1})
torch.testing.assert_close({"a": 1}, {"a": 2})
torch.testing.assert_close({"a": torch.ones(1), "b": [1.0]}, {"b": [1.0], "a": torch.ones(1)})
torch.testing.assert_close(torch.ones(1), torch.ones(1), rtol=1.0)
torch.testing.assert_close(torch.ones(1), torch.ones(1), atol=1.0)
torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.4]), rtol=0.0, atol=0.5)
torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.6]), rtol=0.0, atol=0.5)
torch.testing.assert_close(None, None)
torch.testing.assert_close(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True)
torch.testing.assert_close(torch.tensor([float("inf"), -float("inf")]), torch.tensor([float("inf"), -float("inf")]))
torch.testing.assert_close(torch.tensor([float("inf")]), torch.tensor([-float("inf")]))
torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([float("inf")]))
torch.testing.assert_close(torch.tensor(1.), torch.tensor(2.))
torch.testing.assert_close(torch.ones(2), torch.zeros(2), msg="hey")
torch.testing.assert_close(torch.ones(2), torch.zeros(2), msg=lambda m: "X" + m)
torch.testing.assert_close(torch.ones(2, 2).t(), torch.ones(2, 2))
torch.testing.assert_close(torch.ones(2, 2).t(), torch.ones(2, 2), check_stride=True)
torch.testing.assert_close(torch.tensor([True]), torch.tensor([False]))
torch.testing.assert_close(torch.tensor([1 + 1j]), torch.tensor([1 + 2j]))
torch.testing.assert_close(torch.eye(2).to_sparse(), torch.eye(2).to_sparse())
torch.testing.assert_close(torch.eye(2).to_sparse(), torch.eye(2), check_layout=False)
torch.testing.assert_close(torch.ones(0), torch.ones(0))
torch.testing.assert_close(torch.ones(2, requires_grad=True) * 2, torch.ones(2) * 2)
torch.testing.assert_close(torch.tensor([250], dtype=torch.uint8), torch.tensor([2], dtype=torch.uint8))
[torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", noncontiguous=True).stride(), torch.testing.make_tensor((2, 3), dtype=torch.int8, device="cpu").shape]
torch.testing.make_tensor(2, dtype=torch.int8, device="cpu", low=5, high=2)
torch.testing.make_tensor(2, dtype=torch.int8, device="cpu", requires_grad=True)
torch.testing.make_tensor(2, dtype=torch.float32, device="cpu", low=float("nan"))
torch.testing.make_tensor(2, dtype=torch.float64, device="cpu", requires_grad=True).requires_grad
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_comparing_is_as_in_pytorch(program):
    same(program)


MESSAGES = [
    "(torch.tensor([1., 2, 3]), torch.tensor([1., 2, 4]))",
    "(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4]))",
    "([torch.ones(2), torch.zeros(1)], [torch.ones(2), torch.ones(1)])",
    "(1.0, 1.1)",
    "({'a': 1}, {'b': 1})",
    "(torch.tensor(1.), torch.tensor(2.))",
    "(torch.ones(2), torch.ones(3))",
]


@needs_torch
@pytest.mark.parametrize("arguments", MESSAGES)
def test_what_is_said_is_what_pytorch_says(arguments):
    import torch

    texts = []
    for library in (dt, torch):
        with pytest.raises(AssertionError) as error:
            library.testing.assert_close(*eval(arguments, {"torch": library}))
        texts.append(str(error.value).replace("torch.", "dualtape."))
    assert texts[0] == texts[1]


def test_what_is_not_alike_is_not_compared():
    for pair in ((dt.ones(1), [1.0]), ("a", "a"), (dt.ones(1), 1.0), (np.ones(1), dt.ones(1))):
        with pytest.raises(TypeError, match="comparison"):
            dt.testing.assert_close(*pair)
    dt.testing.assert_close(np.ones(2), np.ones(2))


@pytest.mark.parametrize("dtype", sorted({d.name for d in dt._tensor.dtypes.NAMED.values()}))
def test_made_tensors_are_in_their_range(dtype):
    dtype = getattr(dt, dtype)
    x = dt.testing.make_tensor(200, dtype=dtype, device="cpu")
    assert x.dtype == dtype and len({*x.tolist()}) > 1
    values = x.float() if not x.is_complex() else dt.view_as_real(x)
    assert values.min() >= (-9 if dtype.is_signed else 0) and values.max() <= 9
    assert (dt.testing.make_tensor(200, dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True) != 0).all()
    bounds = dt.testing.make_tensor(200, dtype=dtype, device="cpu", low=0, high=1e9 if dtype.is_signed else 100)
    assert not (bounds.float() if not bounds.is_complex() else bounds.real).isnan().any()
