"""What a program is warned of: the same programs on both libraries, warnings of the same kind, at the program's own
line; and what PyTorch warns of that is not so here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt

WARNED = """
F.mse_loss(T.ones(2, 3), T.ones(3))
F.l1_loss(T.ones(2, 3), T.ones(3))
F.smooth_l1_loss(T.ones(2, 3), T.ones(3))
F.huber_loss(T.ones(2, 3), T.ones(2, 1))
T.nn.MSELoss()(T.ones(2, 3), T.ones(3))
F.softmax(T.ones(2, 3))
F.log_softmax(T.ones(2, 3))
F.softmin(T.ones(2, 3))
T.nn.Softmax()(T.ones(2, 3))
T.nn.LogSoftmax()(T.ones(2, 3))
F.kl_div(T.ones(2, 3), T.ones(2, 3))
T.nn.KLDivLoss()(T.ones(2, 3), T.ones(2, 3))
F.mse_loss(T.ones(2), T.ones(2), size_average=True)
F.mse_loss(T.ones(2), T.ones(2), reduction="elementwise_mean")
F.cross_entropy(T.ones(2, 3), T.tensor([0, 1]), reduction="elementwise_mean")
F.soft_margin_loss(T.ones(2), T.ones(2), reduction="elementwise_mean")
T.nn.MSELoss(size_average=True)
F.dropout2d(T.ones(2, 3))
F.dropout2d(T.ones(2, 3, 4))
F.dropout3d(T.ones(2, 3, 4))
F.gumbel_softmax(T.ones(2, 3), eps=1e-5)
F.embedding_bag(T.ones(4, 3), T.tensor([[0, 1]]))
F.upsample(T.ones(1, 1, 2, 2), scale_factor=2)
F.upsample_nearest(T.ones(1, 1, 2, 2), scale_factor=2)
F.upsample_bilinear(T.ones(1, 1, 2, 2), scale_factor=2)
F.grid_sample(T.ones(1, 1, 2, 2), T.zeros(1, 2, 2, 2))
F.affine_grid(T.ones(1, 2, 3), (1, 1, 2, 2))
F.affine_grid(T.ones(1, 2, 3), (1, 1, 1, 2), align_corners=True)
T.nn.MultiheadAttention(4, 2)(*[T.ones(2, 1, 4)] * 3, key_padding_mask=T.zeros(1, 2) > 0, attn_mask=T.zeros(2, 2))
T.nn.Transformer(4, 2, 1, 1, 4)
T.nn.InstanceNorm1d(3)(T.ones(2, 4, 5))
T.nn.Linear(0, 2)
T.nn.utils.clip_grad_norm_((p for p in []), 1.0)
T.ones(2).T
T.ones(2, 3, 4).T
T.ones(()).T
T.ones(()).mT
T.ones(()).mH
T.ones(()).H
T.ones(2, 2)[[slice(0, 1), 0]]
T.ones(2, 2).__setitem__([slice(0, 1), 0], 1.0)
T.ones(2, 2)[T.tensor([0, 1], dtype=T.uint8)]
T.where(T.tensor([0, 1], dtype=T.uint8), T.ones(2), T.zeros(2))
T.tensor([1j, 2]).to(T.float32)
T.tensor([1j, 2]).double()
T.tensor([1j, 2]).int()
T.tensor([1j, 2]).sum(dtype=T.float32)
T.ones(2).copy_(T.tensor([1j, 2]))
T.ones(2).__setitem__(0, T.tensor(1j))
T.ones(2).fill_(T.tensor(1j))
T.add(T.ones(2), T.ones(2), out=T.ones(3))
T.max(T.ones(3, 2), 0, out=(T.ones(3), T.ones(3, dtype=T.int64)))
T.arange(5, out=T.ones(3))
T.cross(T.ones(2, 3), T.ones(2, 3))
T.scatter(T.ones(2, 2), 0, T.tensor([[0, 1]]), T.ones(2, 2), reduce="add")
T.ones(2, 2).scatter_(0, T.tensor([[0, 1]]), T.ones(2, 2), reduce="multiply")
T.stft(T.ones(20), 4, return_complex=True)
T.stft(T.ones(20), 4, window=T.ones(4), return_complex=False)
T.istft(T.ones(3, 6, dtype=T.complex64), 4)
T.meshgrid(T.ones(2), T.ones(2))
T.qr(T.eye(2))
T.cholesky(T.eye(2))
T.lu(T.eye(2))
T.chain_matmul(T.eye(2), T.eye(2))
T.triangular_solve(T.ones(2, 1), T.eye(2))
T.std(T.ones(1))
T.ones(3, 1).var(1)
T.var_mean(T.ones(2), correction=2)
T.std_mean(T.empty(0, 3), 0)
T.cov(T.ones(3, 1))
T.corrcoef(T.ones(3, 1))
T.add(T.ones(2), 2, T.ones(2))
T.ones(2, 2).addmm_(2, T.ones(2, 2), T.ones(2, 2))
T.set_default_tensor_type(T.FloatTensor)
T.ones(2).random_(0, 2**30)
T.ones(2, dtype=T.float16).random_(-(2**12), 0)
T.amp.autocast("cuda")
T.autograd.Variable(T.ones(2), volatile=True)
T.ones(2).volatile
T.ones(3).resize(3)
T.ones(2, requires_grad=True).backward(T.ones(2), create_graph=True)
T.optim.SGD([T.ones(2, requires_grad=True)] * 2, lr=0.1)
T.optim.lr_scheduler.StepLR(T.optim.SGD([T.ones(2, requires_grad=True)], lr=0.1), 1).step()
T.tensor(T.ones(2))
(T.ones(2, requires_grad=True) * 2).grad
T.distributions.Normal(0.0, 1.0).sample_n(2)
"""
SILENT = """
F.mse_loss(T.ones(2, 3), T.ones(2, 3))
F.kl_div(T.ones(2, 3), T.ones(2, 3), reduction="batchmean")
F.kl_div(T.ones(2, 3), T.ones(2, 3), reduction="sum")
F.softmax(T.ones(2, 3), 1)
F.dropout2d(T.ones(2, 3, 4, 5))
F.dropout3d(T.ones(2, 3, 4, 5))
F.grid_sample(T.ones(1, 1, 2, 2), T.zeros(1, 2, 2, 2), align_corners=False)
F.interpolate(T.ones(1, 1, 2, 2), scale_factor=2)
T.ones(2, 3).T
T.ones(2, 3, 4).mT
T.ones(2, 2)[[0, 1]]
T.ones(2, 2)[[True, False]]
T.tensor([1j, 2]).bool()
T.tensor([1j, 2]).abs()
T.tensor([1.0, 2.0]).to(T.complex64)
T.add(T.ones(2), T.ones(2), out=T.empty(0))
T.arange(5, out=T.empty(0))
T.cross(T.ones(2, 3), T.ones(2, 3), dim=1)
T.scatter_reduce(T.ones(2, 2), 0, T.tensor([[0, 1]]), T.ones(2, 2), reduce="sum")
T.ones(2, 2).scatter_(0, T.tensor([[0, 1]]), 2.0, reduce="add")
T.meshgrid(T.ones(2), T.ones(2), indexing="ij")
T.linalg.qr(T.eye(2))
T.linalg.cholesky(T.eye(2))
T.var(T.ones(1), correction=0)
T.ones(3, 1).var(0)
T.ones(2).random_(0, 2**24)
T.amp.autocast("cuda", enabled=False)
"""


SAID_ONCE = "T.ones(2).storage()"  # in a process, by PyTorch


def told(library: Any, program: str) -> list:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, whose filter the line before has put out of force
        exec(compile(program, "<the program>", "exec"), {"T": library, "F": library.nn.functional})
    return heard


@pytest.fixture
def oracle() -> Any:
    """PyTorch, saying all that it otherwise says once in a process."""
    torch = pytest.importorskip("torch")
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield torch
    torch.set_warn_always(before)


@pytest.mark.parametrize("program", [*WARNED.strip().splitlines(), SAID_ONCE])
def test_a_warning_names_the_line_of_the_program(program: str) -> None:
    heard = told(dt, program)
    assert heard
    assert {each.filename for each in heard} == {"<the program>"}


@pytest.mark.parametrize("program", WARNED.strip().splitlines())
def test_warnings_are_of_pytorchs_kind(program: str, oracle: Any) -> None:
    assert {each.category for each in told(dt, program)} == {each.category for each in told(oracle, program)}


@pytest.mark.parametrize("program", SILENT.strip().splitlines())
def test_what_pytorch_says_nothing_about_is_not_warned_of(program: str, oracle: Any) -> None:
    assert not told(oracle, program)
    assert not told(dt, program)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss"])
@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((3,), (2, 1)), ((3,), ())])
def test_a_loss_of_two_shapes_is_that_of_both_broadcast(name: str, shapes: tuple, oracle: Any) -> None:
    """A 0-d target of a wider dtype then counts as any other, and the expansion is part of the graph."""
    results = []
    for library in (dt, oracle):
        x = library.arange(float(np.prod(shapes[0]))).reshape(shapes[0]).requires_grad_()
        y = library.full(shapes[1], 0.5, dtype=library.float64, requires_grad=True)
        with pytest.warns(UserWarning, match="target size"):
            loss = getattr(library.nn.functional, name)(x, y)
        loss.backward()
        results.append((str(loss.dtype).split(".")[-1], float(loss.detach()), x.grad.tolist(), y.grad.tolist()))
    assert results[0][0] == results[1][0] == "float64"
    for mine, theirs in zip(results[0][1:], results[1][1:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    with pytest.warns(UserWarning, match="target size"):
        expanded = dt.nn.functional.mse_loss(dt.ones(2), dt.ones((), requires_grad=True))
    assert type(expanded.grad_fn.next_functions[1][0]).__name__ == "ExpandBackward0"


def test_channels_of_inputs_with_unusual_dimensions_are_dropped_as_pytorchs(oracle: Any) -> None:
    """A 3D input of dropout3d is one image without a batch: its second dimension is dropped with the first."""
    for library in (dt, oracle):
        with pytest.warns(UserWarning, match="dropout3d"):
            y = library.nn.functional.dropout3d(library.ones(64, 2, 3), 0.5)
        rows = y.reshape(64, -1)
        assert (rows == rows[:, :1]).all() and 0 < (rows[:, 0] == 0).sum() < 64
        with pytest.raises(RuntimeError, match="at least 2 dimensions"), pytest.warns(UserWarning):
            library.nn.functional.dropout3d(library.ones(()))


def test_complex_numbers_are_true_if_either_part_is_not_zero(oracle: Any) -> None:
    for library in (dt, oracle):
        x = library.tensor([1j, 0, 1])
        for y in (x.bool(), x.to(library.bool), library.zeros(3, dtype=library.bool).copy_(x)):
            assert y.tolist() == [True, False, True]
        assert library.zeros(1, dtype=library.bool).fill_(x[0]).tolist() == [True]


def test_an_array_that_may_only_be_read_is_shared_without_a_warning_since_writes_are_refused() -> None:
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        dt.from_numpy(array).add_(1)


@pytest.mark.parametrize(
    "program",
    [
        "T.tensor([T.ones(2).numpy()] * 2)",
        "T.bucketize(T.ones(4, 2).t(), T.arange(4.0))",
        "F.conv1d(T.ones(1, 1, 4), T.ones(1, 1, 2), padding='same')",
        "T.eye(2).to_sparse_csr()",
        "T.sparse_coo_tensor(T.tensor([[0]]), T.ones(1), (2,))",
        "T.nested.nested_tensor([T.ones(2), T.ones(3)])",
        "T.index_reduce(T.ones(2, 2), 0, T.tensor([0, 1]), T.ones(2, 2), 'prod')",
    ],
)
def test_what_is_slow_or_new_or_dangerous_in_pytorch_alone_is_not_warned_of(program: str) -> None:
    assert not told(dt, program)
