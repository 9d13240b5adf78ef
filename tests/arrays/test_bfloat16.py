"""The type bfloat16: numbers, promotion, rounding once per op, gradients; against PyTorch and against float32."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.bfloat16 import rounded
from tests.blocks import blocks
from tests.op_cases import arrays, converted, leaves
from tests.ops.test_ops_generated import NO_HALF, ONE_EACH
from tests.same_program import needs_torch, same

PRELUDE = """
F = torch.nn.functional
b = torch.bfloat16
def show(t):
    if isinstance(t, (tuple, list)):
        return [show(part) for part in t]
    if isinstance(t, torch.Tensor) and t.dtype == b:
        return "bfloat16", t.detach().float(), t.requires_grad
    return t.detach() if isinstance(t, torch.Tensor) else t
def X(): return torch.tensor([[1., -2.3, 3.14159], [0.1, 1e-3, 300.7]], dtype=b)
def W(): return torch.tensor([[0.3, 1.7], [-0.7, 0.01], [2.2, 5.5]], dtype=b)
def grads(f, *xs):
    xs = [x.clone().requires_grad_() for x in xs]
    y = f(*xs)
    (y if y.ndim == 0 else y.sum()).backward()
    return show([y, *(x.grad for x in xs)])
x = X()
"""

PROGRAMS = """
# what it is
b.itemsize, b.is_floating_point, b.is_complex, b.is_signed, x.element_size(), x.nbytes, x.stride(), x.is_floating_point(), x[1].storage_offset()

# its limits
i = torch.finfo(b)
i.eps, i.max, i.min, i.tiny, i.smallest_normal, i.resolution, i.bits, i.dtype

# rounding, half to even
show(torch.tensor([1.00390625, 1.01171875, 1 + 2**-8 + 2**-20, -1.00390625, 3.4e38, 1e-40, 0.1], dtype=b))

# from double by way of single
show(torch.tensor([1 + 2**-8 + 2**-30], dtype=torch.float64).to(b))

# what is not finite
show(torch.tensor([nan, inf, -inf, -0.0], dtype=b).abs()), show(torch.tensor(1e39, dtype=b))

# made
[show(t) for t in (torch.zeros(2, dtype=b), torch.ones(2, dtype=b), torch.full((2,), 0.1, dtype=b), torch.arange(0, 1, 0.3, dtype=b), torch.eye(2, dtype=b), torch.zeros_like(x), torch.ones_like(torch.ones(2), dtype=b), torch.full_like(x, 0.1), torch.tensor([1, 2], dtype=b), torch.as_tensor([0.1], dtype=b), x.new_zeros(2), x.new_tensor([0.1]), torch.BFloat16Tensor([1, 2]))]

# drawn
[t.dtype for t in (torch.rand(3, dtype=b), torch.randn(3, dtype=b), torch.rand_like(x), torch.randint(0, 9, (3,), dtype=b), x.clone().normal_(), x.clone().uniform_(), torch.bernoulli(x.abs().clamp(0, 1)))], bool((torch.rand(1000, dtype=b) < 1).all())

# conversions
[show(t) for t in (x.float(), x.double(), x.int(), x.half(), x.bool(), torch.ones(2).bfloat16(), torch.tensor([1, 300]).to(b), x.to(torch.complex64), x.type(torch.float64))], x.bfloat16() is x

# promotion
[torch.promote_types(b, d) for d in (torch.float16, torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64, torch.complex128, torch.uint8)]

# what may be cast
[torch.can_cast(b, torch.float32), torch.can_cast(torch.float64, b), torch.can_cast(b, torch.int64)]

# types of results
[(x + t).dtype for t in (1, 1.5, 1j, torch.tensor(1., dtype=torch.float64), torch.ones(3), torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.float16))], torch.result_type(x, 1.5)

# arithmetic
[show(t) for t in (x * x, x + 1e-3, x / 3, 1 - x, x ** 2, x * 0.1, -x, x.sqrt(), x @ W(), x.t() @ x, x.sum(), x.sum(1), x.mean(), x.exp(), F.gelu(x), x.cumsum(1), x.prod(1), x.max(1), x.sort(1), x.argmax(), x > 1, x == x, x.norm(), x.clamp(0, 1), x.var())]

# indices
[show(t) for t in (x[:, 1:], x[x > 1], x[[1, 0]], x.gather(1, torch.tensor([[0], [2]])), torch.where(x > 0, x, -x), torch.cat([x, x]), x.flip(0), x.nonzero())], torch.cat([x, x.float()]).dtype

# writing
y = X()
y[0, 0] = 1.2345678
y[1] = torch.tensor([0.1, 0.2, 0.3])
y.add_(1e-3)
y.mul_(0.333)
y.t().sub_(0.5)
show(y), show(X().copy_(torch.full((2, 3), 0.1))), show(X().fill_(0.1)), show(torch.zeros(2, 3).copy_(X())), y._version

# numpy
x.numpy()

# numbers
x[0, 2].item(), x.tolist(), float(x[0, 1])

# two types in a product
x @ torch.ones(3, 2)

# no factorisations
torch.linalg.inv(torch.eye(2, dtype=b))

# no transforms
torch.fft.fft(x)

# gradients
[grads(f, *xs) for f, *xs in ((lambda a: a * a, X()), (lambda a, c: a @ c, X(), W()), (lambda a: a.float() * 3, X()), (lambda a: a.exp().log(), X().clamp(-1, 1)), (lambda a: a[:, 1:].sum(0), X()), (lambda a: a.amax(1), X()), (lambda a: F.relu(a), X()))]

# gradients of mixed types
grads(lambda a, c: a * c, X(), torch.ones(3) * 0.1)

# gradients add up
a = X().requires_grad_()
(a * 2).sum().backward()
(a * 0.1).sum().backward()
show(a.grad)

# second derivatives
a = X().clamp(-1, 1).requires_grad_()
g, = torch.autograd.grad((a ** 3).sum(), a, create_graph=True)
show(torch.autograd.grad(g.sum(), a))

# a conversion back
a = torch.tensor([0.1, 0.7], requires_grad=True)
(a.bfloat16() * 3).sum().backward()
a.grad

# the default type
before = torch.get_default_dtype()
torch.set_default_dtype(b)
found = show([torch.ones(2), torch.tensor(1.5), torch.arange(2) / 3])
torch.set_default_dtype(before)
found

# vmap and forward mode
show(torch.func.vmap(lambda r: (r * r).sum())(X())), show(torch.func.jvp(lambda a: a * a, (X(),), (X(),)))
"""

HALF_PRELUDE = """
F = torch.nn.functional
h = torch.HALF
torch.manual_seed(0)
def show(t):
    if isinstance(t, (tuple, list)):
        return [show(part) for part in t]
    return str(t.dtype).split(".")[1], t.detach().double(), t.requires_grad
near = show
x = torch.tensor([[0.1, -0.7, 1.3], [2.7, 0.0, -1.1]]).to(h)
"""

HALF_PROGRAMS = """
# windows
near([torch.hann_window(5, dtype=h), torch.hamming_window(5, dtype=h), torch.blackman_window(5, dtype=h), torch.bartlett_window(5, dtype=h), torch.kaiser_window(5, dtype=h)])

# layers
near([F.rms_norm(x, (3,), x[0]), torch.nn.RMSNorm(3, dtype=h)(x), F.avg_pool2d(x[None], 2), F.avg_pool1d(x, 2), F.interpolate(x[None], 5, mode="linear")])

# a sum of rounded numbers is rounded once
show(F.avg_pool2d(torch.arange(16.).to(h).div(7).reshape(1, 1, 4, 4), 3, 1))

# made like a tensor
show([x.new([1, 2, 3]), x.new_full((2,), 0.1), x.new_tensor([0.1]), torch.tensor([x[0, 0], x[0, 1]]), torch.scalar_tensor(0.1, dtype=h), torch.frombuffer(bytearray(b"AB"), dtype=h)]), list(x.new(2, 3).shape), x.new(2).dtype == h

# random integers
n = torch.zeros(4000, dtype=h)
sorted(n.random_(3).unique().tolist()), sorted(n.random_(-2, 2).unique().tolist()), bool(n.random_().max() <= 2**11)

# drawn values have the digits of the type
init = torch.nn.init
[f(torch.zeros(200, 100, dtype=h)).unique().numel() > 1000 for f in (init.trunc_normal_, init.xavier_uniform_, init.normal_)], bool((torch.zeros(5000, dtype=h).uniform_(-0.3, 0.3) < 0.3).all())

# draws of distributions
show([torch.poisson(torch.zeros(2, dtype=h)), torch.bernoulli(torch.ones(2, dtype=h)), torch.normal(x, 0 * x)])

# filled in
show([x.masked_fill(x > 0, 0.1), x.masked_fill(x > 0, torch.tensor(0.1)), x.clone().masked_fill_(x > 0, torch.tensor(0.1, dtype=torch.float64)), x.index_fill(0, torch.tensor([0]), torch.tensor(0.1)), x.slice_scatter(x[:1], 0, 0, 1), x.masked_scatter(x > 0, x * 2), x.select_scatter(x[0] * 2, 0, 1), x.diagonal_scatter(x[0, :2])])

# a limit is rounded first
show(F.hardshrink(x, 0.1)), show(F.softshrink(x, 0.1))

# tensors in the place of numbers
t = torch.tensor(0.25).to(h)
near([torch.nan_to_num(x, t), torch.logit(x.abs().clamp(0, 0.9), t), F.elu_(x.clone(), t), F.leaky_relu(x, t), F.threshold(x, t, t), torch.add(x, x, alpha=t), F.dropout(x, t * 0), x.clone().uniform_(t, t), x.clone().normal_(t, t * 0)]), torch.isclose(x, x * 1.1, t, t)

# sparse
[show(s.to_dense()) for s in (x.to_sparse(), x.to_sparse_csr(), x.to_sparse_csc(), torch.ones(4, 4, dtype=h).to_sparse_bsr((2, 2)), torch.ones(4, 4, dtype=h).to_sparse_bsc((2, 2)), torch.sparse_coo_tensor([[0, 1]], x[0, :2]))]

# sums of sparse
s = x.to_sparse()
show(torch.sparse_coo_tensor([[0, 0]], x[0, :2], (2,)).coalesce().values())

# other types beside
[F.huber_loss(a, b).dtype == a.dtype for a, b in ((x, x.float()), (x.float(), x), (x.double(), x.float()))], (F.l1_loss(x, x.float()).dtype, F.smooth_l1_loss(x, x.double()).dtype)

# weighted counts
torch.bincount(torch.tensor([0, 1, 1]), x[0])

# results in another type
near([f(x.float(), 1, dtype=h) for f in (torch.softmax, torch.log_softmax, torch.cumsum, torch.sum, torch.prod, torch.mean)]), near([f(x, 1, dtype=torch.float32) for f in (torch.softmax, torch.sum)])

# the next number
show(torch.nextafter(x, -x)), show(torch.nextafter(torch.tensor([0., -0., 1., inf, 2., nan]).to(h), torch.tensor([1., -1., 1., 0., 3., 0.]).to(h)))

# powers and exponentials of matrices
near(torch.linalg.matrix_power(x[:, :2], 3)), torch.linalg.matrix_exp(0 * x[:, :2]).tolist()

# no inverse
torch.linalg.matrix_power(x[:, :2], -1)

# networks
torch.nn.TransformerEncoderLayer(4, 2, 8, dtype=h)(torch.ones(2, 1, 4, dtype=h)).dtype == h, torch.nn.GRU(3, 2, dtype=h)(x)[0].dtype == h

# norms under autocast
with torch.autocast("cpu", dtype=h):
    y = torch.nn.Linear(4, 4)(torch.ones(2, 4))
    found = [y.dtype == h, torch.nn.RMSNorm(4)(y).dtype, torch.nn.LayerNorm(4)(y).dtype, torch.einsum("i,i->i", torch.ones(3), torch.ones(3)).dtype, torch.einsum("i,i->", torch.ones(3), torch.ones(3)).dtype, F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).dtype]
found

# conversions inside of vmap
torch.func.vmap(lambda r: r.to(h).sum())(torch.ones(2, 3)).dtype == h, torch.func.vmap(lambda r: torch.special.xlog1py(r, r))(x.abs()).dtype == h
"""


@needs_torch
@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize("program", blocks(HALF_PROGRAMS))
def test_programs_of_both_half_types_are_as_pytorchs(program, half):
    # what is near has intermediate results that PyTorch rounds
    same(HALF_PRELUDE.replace("HALF", half) + program, tolerance=0.02 if "near(" in program else 1e-7)


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    same(PRELUDE + program, tolerance=1e-7)


@needs_torch
def test_printing_is_as_pytorchs():
    import torch

    shown = [repr(lib.tensor([[1.0, -2.3], [0.1, 300.7]], dtype=lib.bfloat16)) for lib in (dt, torch)]
    assert shown[0].replace("dualtape", "torch") == shown[1]


@needs_torch
def test_layers_are_pytorchs_but_for_the_last_place():
    import torch

    found = []
    for lib in (dt, torch):
        x = lib.tensor(np.random.default_rng(0).standard_normal((4, 8)).astype("f4")).to(lib.bfloat16)
        functional = lib.nn.functional
        weight = x[:, :4].contiguous()
        found.append(
            [
                t.float().numpy()
                for t in (
                    x.softmax(1),
                    functional.layer_norm(x, (8,)),
                    functional.linear(x[:, :4], weight),
                    functional.cross_entropy(x, lib.tensor([0, 1, 2, 3])),
                    functional.mse_loss(x, x * 2),
                    functional.scaled_dot_product_attention(x[None], x[None], x[None]),
                )
            ]
        )
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2**-7, atol=2**-8)


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in ONE_EACH], ids=[c[0] for c in ONE_EACH])
def test_every_op_gives_what_single_precision_gives_rounded(row, sample):
    if row.complex == "only" or row.name in NO_HALF | {"scipy_solve_sylvester"}:
        pytest.skip("there is no half precision of it")
    if row.name.endswith("norm") and sample.args[1:] in (("nuc",), (2,)) and row.name.startswith("linalg"):
        pytest.skip("nobody has singular values in half precision")
    found = []
    for dtype in (dt.bfloat16, dt.float32):
        args, kwargs, inputs = arrays(sample, "float32")
        known = {}

        def convert(array, dtype=dtype, known=known, inputs=inputs):
            if id(array) not in known:
                tensor = dt.tensor(array.astype(np.float32) if array.dtype == np.float64 else array)
                tensor = tensor.bfloat16().to(dtype) if tensor.dtype == dt.float32 else tensor
                known[id(array)] = tensor.requires_grad_(any(array is each for each in inputs))
            return known[id(array)]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = row.function(
                *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
            )
        tensors = [t for t in leaves(results) if isinstance(t, dt.Tensor)]
        differentiable = [t for t in tensors if t.requires_grad and t.is_floating_point()]
        if differentiable:
            sum(t.float().sum() for t in differentiable).backward()
        found.append((tensors, [t.grad for t in known.values() if t.grad is not None]))
    (values, gradients), (wide_values, wide_gradients) = found
    for narrow, wide in zip([*values, *gradients], [*wide_values, *wide_gradients], strict=True):
        if wide.dtype == dt.float32:
            assert narrow.dtype == dt.bfloat16, f"{row.name}: {narrow.dtype}"
            assert np.array_equal(rounded(narrow._array.values).values, narrow._array.values, equal_nan=True)
        a, b = (t.detach().to_dense().double().numpy() for t in (narrow, wide))
        size = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))  # sums of what nearly cancels
        np.testing.assert_allclose(a, b, rtol=5e-2, atol=8e-2 * size, err_msg=row.name)


def test_a_result_is_rounded_once():
    """The sum of a thousand and one numbers is that of float32, rounded: not a sum of rounded sums."""
    x = dt.full((1001,), 0.1, dtype=dt.bfloat16)
    assert x.sum().item() == dt.tensor(1001 * x[0].item()).bfloat16().item()


def test_views_share_memory():
    x = dt.zeros(2, 3, dtype=dt.bfloat16)
    x.t()[1] += 0.1
    assert x[:, 1].tolist() == [0.10009765625] * 2
    assert x.reshape(-1)[1:3]._base is x
    assert x.data_ptr() == x.detach().data_ptr()


def test_copies_and_pickles():
    x = dt.tensor([0.1, 2.0], dtype=dt.bfloat16, requires_grad=True)
    for found in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert found.dtype == dt.bfloat16
        assert found.requires_grad
        assert found.tolist() == x.tolist()


def test_arrays_of_ml_dtypes_are_read():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([0.1, 2.0], ml_dtypes.bfloat16)
    for made in (dt.tensor, dt.as_tensor):
        assert made(array).dtype == dt.bfloat16
        assert made(array).tolist() == [0.10009765625, 2.0]


def test_rounding_is_that_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        expected = bits.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(rounded(bits).values, expected, equal_nan=True)


def test_numpy_cannot_read_it_by_accident():
    for wrong in (lambda x: np.asarray(x), lambda x: np.asarray(x._array), lambda x: x.view(dt.int16)):
        with pytest.raises((TypeError, NotImplementedError)):
            wrong(dt.ones(2, dtype=dt.bfloat16))
