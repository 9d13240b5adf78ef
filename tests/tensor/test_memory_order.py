"""What results share with arguments, and how they lie in memory: as PyTorch's do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from layouts import in_c_order, in_fortran_order
from op_cases import arrays, cases, converted, leaves, oracle

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")

# Ops that share or copy otherwise, and why; each name is checked to be one of an op.
SHARES_OTHERWISE = {
    "contiguous_copy": "an op of our own, which is asked for where a copy is needed",
    "conj_physical": "of real numbers PyTorch gives the argument itself: a write to the copy would be one to it",
    "unsafe_split": "PyTorch's parts share memory without being views: a write would reach what nobody sees",
    "unsafe_split_with_sizes": "PyTorch's parts share memory without being views: a write would reach what nobody sees",
    "unsafe_chunk": "PyTorch's parts share memory without being views: a write would reach what nobody sees",
}


def laid_out(library: Any, function: Callable, row: Any, sample: Any, layout: Callable) -> list:
    """For each result, its shape and strides, and the numbers of the arguments that it shares memory with or is."""
    args, kwargs, _ = arrays(sample, "complex64" if row.complex == "only" else "float32")
    given: list = []

    def convert(array: np.ndarray) -> Any:
        given.append(library.from_numpy(layout(array).reshape(array.shape) if not array.ndim else layout(array)))
        return given[-1]

    library.manual_seed(0)
    results = function(*(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()})
    return [described(library, out, given) for out in leaves(results)]


def described(library: Any, out: Any, given: list) -> Any:
    if not isinstance(out, library.Tensor) or "strided" not in str(out.layout):
        return None
    strides = tuple(s for s, n in zip(out.stride(), out.shape, strict=True) if n > 1) if out.numel() else ()
    return tuple(out.shape), strides, [(k, x is out) for k, x in enumerate(given) if out.numel() and share(x, out)]


def share(a: Any, b: Any) -> bool:
    if isinstance(a, dt.Tensor):
        return np.may_share_memory(a._array, b._array)
    return bool(a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())


def pairs(layouts: tuple) -> Any:
    """(id, row, layout, PyTorch's results, ours) for every sample that PyTorch takes."""
    for ident, row, sample in cases():
        function = oracle(row)
        if function is None or not sample.torch or "out" in sample.kwargs:
            continue
        for layout in layouts:
            if "strided" in row.name and layout is not in_c_order:
                continue  # strides of the sample's arguments, which lie otherwise
            try:
                theirs = laid_out(torch, function, row, sample, layout)
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                continue
            ours = laid_out(dt, row.function, row, sample, layout)
            yield f"{ident}, {layout.__name__}", row, layout, theirs, ours


def test_results_share_memory_with_arguments_as_pytorchs_do() -> None:
    compared, wrong = 0, []
    for ident, row, _, theirs, ours in pairs((in_c_order, in_fortran_order)):
        for a, b in zip(ours, theirs, strict=True):
            if a is not None and b is not None and row.name not in SHARES_OTHERWISE:
                compared += 1
                if a[2] != b[2]:
                    wrong.append(f"{ident}: shares with {a[2]} where PyTorch does with {b[2]}")
    assert not wrong, "\n".join(wrong)
    assert compared > 2000


def test_the_exceptions_are_ops() -> None:
    names = {row.name for _, row, _ in cases()}
    assert not SHARES_OTHERWISE.keys() - names


# Arguments that leave nothing to do, which may or may not be copied.
TRIVIAL = """
T.channel_shuffle(x4, 1) | T.channel_shuffle(x4, 4) | T.native_channel_shuffle(x4, 1) | F.pixel_unshuffle(x4, 1) |
F.pixel_shuffle(x4, 1) | T.chain_matmul(x) | x.repeat(1, 1) | x.repeat_interleave(1, 0) | T.tile(x, (1,)) |
x.expand(3, 3) | x.reshape(3, 3) | x.t().reshape(9) | x.t().flatten() | x.contiguous() | x.to(x.dtype) | x.to("cpu") |
x.type(x.dtype) | x.type_as(x) | T.cat([x]) | T.cat([x, e]) | T.stack([x]) | T.hstack([x]) | T.vstack([x]) |
T.column_stack([x]) | T.block_diag(x) | T.atleast_1d(x) | T.atleast_2d(x) | T.broadcast_tensors(x)[0] |
T.broadcast_to(x, (3, 3)) | T.cartesian_prod(v) | T.meshgrid(v, indexing="ij")[0] | T.combinations(v, 1) |
T.einsum("ij->ij", x) | T.einsum("ij->ji", x) | x.roll(0) | x.roll(3, 0) | x.flip([]) | T.rot90(x, 0) | T.rot90(x, 4) |
F.pad(x, (0, 0)) | F.pad(x4, (0, 0, 0, 0), mode="reflect") | F.pad(x4, (0, 0, 0, 0), mode="circular") |
F.max_pool2d(x4, 1) | F.avg_pool2d(x4, 1) | F.adaptive_avg_pool2d(x4, (2, 2)) | F.adaptive_max_pool2d(x4, (2, 2)) |
F.interpolate(x4, scale_factor=1) | F.interpolate(x4, size=(2, 2), mode="bilinear") | F.unfold(x4, 1) |
F.dropout(x, 0.0) | F.dropout(x, 0.5, training=False) | F.alpha_dropout(x, 0.0) | F.dropout2d(x4, 0.0) | T.squeeze(x) |
x.permute(0, 1) | x.transpose(0, 0) | x.narrow(0, 0, 3) | x[:] | x[i] | x.index_select(0, i) | x.split(3)[0] |
x.chunk(1)[0] | x.unfold(0, 3, 1) | T.diag(v) | T.diag_embed(v) | x.real | x.conj() | x.resolve_conj() | x.positive() |
T.conj_physical(c) | x.view_as(x) | x.expand_as(x) | x.sum_to_size(3, 3) | x.sum(()) | T.amax(x, ()) |
x.mT | x.H | T.round(i) | T.floor(i) | T.ceil(i) | T.trunc(i) | T.nan_to_num(i) | T.sort(v)[0] | T.cumsum(s, 0) |
T.logcumsumexp(s, 0) | T.ravel(x) | T.ravel(x.t()) | T.matrix_power(x, 1) | T.as_tensor(x) | T.asarray(x) |
T.asarray(x, copy=True) | T.diff(x, n=0) | T.vander(v, 1) | T.view_as_real(c) | T.real(x) | T.imag(c) |
T.narrow_copy(x, 0, 0, 3) | T.squeeze_copy(x) | T.hsplit(x, 1)[0] | x.unflatten(0, (3,)) | F.normalize(x, eps=1) |
T.renorm(x, 2, 0, 1e9) | x.tril(9) | x.triu(-9) | T.mean(s) | T.sum(s) | T.max(s) | s.squeeze() | s.reshape(()) |
T.fft.fftshift(x, (0,)) | T.swapdims(x, 0, 1) | x.to_dense() | x.to(x) | i.long() | x.to(T.float32, copy=True) |
x4.contiguous(memory_format=T.channels_last) | x1.contiguous(memory_format=T.channels_last) | x.requires_grad_(False) |
T.nn.Flatten()(x) | T.nn.Identity()(x) | T.nn.Dropout(0.0)(x) | x.swapaxes(0, 0) | x.movedim(0, 0) | x.detach() | x.data
"""


@pytest.mark.parametrize("line", [line.strip() for line in TRIVIAL.replace("\n", " ").split("|")])
def test_what_leaves_nothing_to_do_is_copied_where_pytorch_copies(line: str) -> None:
    found = []
    for library in (torch, dt):
        names = {
            "x": library.arange(9.0).reshape(3, 3),
            "v": library.arange(3.0),
            "i": library.arange(3),
            "x4": library.arange(16.0).reshape(1, 4, 2, 2),
            "x1": library.arange(4.0).reshape(1, 1, 2, 2),
            "s": library.tensor(2.0),
            "c": library.tensor([1 + 2j, 3j]),
            "e": library.empty(0),
        }
        out = eval(line, {"T": library, "F": library.nn.functional, **names})
        found.append(
            (
                [k for k, x in names.items() if out.numel() and share(x, out)],
                [k for k, x in names.items() if x is out],
                tuple(out.stride()),
            )
        )
    assert found[1] == found[0]


FORMATS = """
empty
t.empty(0, 3).stride(), t.empty(3, 0).stride(), t.empty(2, 0, 3).stride(), t.zeros(0).stride(), t.zeros(0, 2, 1).stride()
t.ones(3)[None].stride(), t.ones(3)[:, None].stride(), t.ones(2, 3)[:, None].stride(), t.ones(3).expand(1, 3).stride()
t.ones(1, 3).expand(2, 3).stride(), t.ones(2, 3)[:, :1].stride(), t.ones(2).unsqueeze(-1).stride(), t.atleast_3d(t.ones(3)).stride()
t.linalg.cholesky(m).mT.is_contiguous(), t.linalg.cholesky(m).stride(), t.linalg.cholesky(m, upper=True).stride()
[p.stride() for p in t.linalg.eigh(m)], [p.stride() for p in t.linalg.eig(m)], t.linalg.inv(m).stride(), t.linalg.inv(m.expand(2, 3, 3)).stride()
[p.stride() for p in t.linalg.svd(m[:, :2])], [p.stride() for p in t.linalg.svd(m[:, :2], full_matrices=False)]
[p.stride() for p in t.linalg.qr(m)], [p.stride() for p in t.linalg.qr(m[:, :2])], [p.stride() for p in t.linalg.lu(m)]
t.linalg.solve(m, m[:, :2]).stride(), t.linalg.solve(m, m[0]).stride(), t.linalg.solve(m, m, left=False).stride()
F.max_pool2d(c, 2).stride(), F.max_pool2d(c, 2, return_indices=True)[1].stride(), F.avg_pool2d(c, 2).stride(), F.lp_pool2d(c, 2, 2).stride()
F.adaptive_avg_pool2d(c, 2).stride(), F.adaptive_max_pool2d(c, 2).stride(), F.fractional_max_pool2d(c, 2, output_size=2).stride()
[F.interpolate(c, scale_factor=2, mode=k).stride() for k in ("nearest", "bilinear", "bicubic", "area", "nearest-exact")]
F.max_pool3d(v, 2).stride(), F.avg_pool3d(v, 2).stride(), F.adaptive_avg_pool3d(v, 2).stride(), F.adaptive_max_pool3d(v, 2).stride()
[F.interpolate(v, scale_factor=2, mode=k).stride() for k in ("nearest", "trilinear")]
F.batch_norm(c, t.zeros(3), t.ones(3)).stride(), F.batch_norm(c, None, None, training=True).stride(), F.group_norm(c, 3).stride(), F.instance_norm(c).stride()
F.batch_norm(v, t.zeros(3), t.ones(3)).stride(), F.group_norm(v, 3).stride(), F.instance_norm(v).stride()
F.relu(c).stride(), (c + 1).stride(), (c * t.ones(3, 1, 1)).stride(), F.gelu(c).stride(), c.clone().stride(), c.to(t.float64).stride(), c.clamp(0).stride(), F.prelu(c, t.ones(3)).stride()
F.conv2d(c, t.ones(5, 3, 3, 3)).stride(), F.conv2d(r, t.ones(5, 3, 3, 3).contiguous(memory_format=t.channels_last)).stride(), F.conv2d(c, t.ones(3, 1, 3, 3), groups=3).stride()
F.conv_transpose2d(c, t.ones(3, 5, 3, 3)).stride(), F.conv2d(c, t.ones(5, 3, 1, 1)).stride()
[f(c).stride() for f in (t.empty_like, t.zeros_like, t.ones_like, t.rand_like, t.randn_like)], t.full_like(c, 2).stride(), t.randint_like(c, 3).stride()
[f(c, memory_format=t.contiguous_format).stride() for f in (t.empty_like, t.zeros_like, t.ones_like, t.rand_like, t.randn_like)], t.full_like(c, 2, memory_format=t.contiguous_format).stride()
[f(r, memory_format=t.channels_last).stride() for f in (t.empty_like, t.zeros_like, t.ones_like, t.rand_like, t.randn_like)], t.full_like(r, 2, memory_format=t.channels_last).stride()
t.empty_like(v.contiguous(), memory_format=t.channels_last_3d).stride(), t.empty(2, 3, 4, 4, memory_format=t.channels_last).stride(), t.ones_like(r, memory_format=t.channels_last)
t.empty_like(t.ones(2, 3), memory_format=t.channels_last)
t.empty(2, 3, memory_format=t.channels_last_3d)
v.contiguous().clone(memory_format=t.channels_last)
t.rand_like(t.ones(2, 3).t()).stride(), t.randn_like(t.ones(1, 3).expand(2, 3)).stride(), t.empty_like(t.ones(2, 3, 4).permute(1, 2, 0)[::2]).stride()
v.is_contiguous(memory_format=t.channels_last_3d), v.to(t.float64, memory_format=t.contiguous_format).stride(), v.contiguous().to(memory_format=t.channels_last_3d).stride()
(lambda o: (t.logspace(0, 1, 4, out=o[::2]), o.round()))(t.zeros(8))[1].tolist(), (lambda o: (t.arange(4, out=o[::2]), o))(t.zeros(8))[1].tolist()
(lambda o: (t.linspace(0, 3, 4, out=o[1::2]), o))(t.zeros(8))[1].tolist(), (lambda o: (t.eye(2, out=o.t()[:2]), o))(t.zeros(2, 3))[1].tolist() if 0 else 0
(lambda o: (t.full((4,), 3.0, out=o[::2]), o))(t.ones(8))[1].tolist(), (lambda o: (t.zeros(4, out=o[::2]), o))(t.ones(8))[1].tolist()
(lambda i: (t.sparse_coo_tensor(i, t.ones(2), (3,)), i.fill_(1)))(t.tensor([[0, 2]]))[0]._indices().tolist()
(lambda a, b: (F.embedding(t.tensor([0, 2]), a + b, sparse=True).sum().backward(), a.grad._values().fill_(7), b.grad.to_dense().tolist())[2])(t.ones(3, 2, requires_grad=True), t.ones(3, 2, requires_grad=True))
setattr(t.zeros(2, 2), "data", t.eye(2).to_sparse())
F.softmax(m.t(), 1).stride(), F.softmax(c, 1).stride(), F.log_softmax(c, 1).stride(), F.softmax(m.t(), 0).stride(), F.layer_norm(c, (4, 4)).stride(), F.layer_norm(m.t(), (3,)).stride()
m.t().roll(1, 0).stride(), m.t().flip(0).stride(), c.flip(2).stride(), m.t().index_fill(0, t.tensor([1]), 2.0).stride(), m.t().select_scatter(m[0], 0, 1).stride(), m.t().slice_scatter(m[:1], 0, 1, 2).stride(), m.t().diagonal_scatter(m[0]).stride(), t.index_put(m.t(), (t.tensor([0]),), m[0]).stride()
setattr(t.zeros(2, 2), "data", t.eye(2).to_sparse_csr())
"""


@pytest.mark.parametrize("line", FORMATS.strip().splitlines()[1:])
def test_memory_formats_and_strides_are_pytorchs(line: str) -> None:
    found: list = []
    for library in (torch, dt):
        image = library.arange(96.0).reshape(2, 3, 4, 4)
        volume = library.arange(384.0).reshape(2, 3, 4, 4, 4)
        names = {
            "t": library,
            "F": library.nn.functional,
            "m": library.tensor([[3.0, 1, 0], [1, 4, 1], [0, 1, 5]]),
            "r": image,
            "c": image.contiguous(memory_format=library.channels_last),
            "v": volume.contiguous(memory_format=library.channels_last_3d),
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(str(eval(line, names)))
        except Exception as error:
            found.append(type(error))
    assert found[1] == found[0]


def test_a_convolution_of_volumes_keeps_channels_last() -> None:
    # PyTorch's result depends on the number of its threads: with one it is contiguous.
    volume = dt.arange(384.0).reshape(2, 3, 4, 4, 4).contiguous(memory_format=dt.channels_last_3d)
    result = dt.nn.functional.conv3d(volume, dt.ones(5, 3, 1, 1, 1))
    assert result.is_contiguous(memory_format=dt.channels_last_3d)


# Results that PyTorch writes row by row whatever lies before it, and that keep the order of the argument here.
KEEP_THE_ORDER = {
    "logsigmoid": "an elementwise function, as all others are",
    "mvlgamma": "an elementwise function, as all others are",
    "nn_rrelu": "an elementwise function, as all others are",
    "pad": "with channels last, also where it goes around",
    "conv_tbc": "a view of what convolutions compute",
}


def turned(library: Any, array: np.ndarray, order: str) -> Any:
    """A tensor of the same numbers, in another order of memory."""
    tensor = library.tensor(array.copy())
    if tensor.ndim < 2:
        return tensor
    if order == "channels last":
        return tensor.contiguous(memory_format=library.channels_last) if tensor.ndim == 4 else tensor
    a, b = {"columns": (-1, -2), "batch inside": (0, 1)}[order]
    return tensor.transpose(a, b).contiguous().transpose(a, b)


@pytest.mark.parametrize("order", ["columns", "batch inside", "channels last"])
def test_what_pytorch_lays_out_row_by_row_is_so_here(order: str) -> None:
    """Then a view of the result is a view here too, and not an error or a copy."""
    wrong, seen, compared = [], set(), 0
    for ident, row, sample in cases():
        function = oracle(row)
        if function is None or not sample.torch or "out" in sample.kwargs or row.name in KEEP_THE_ORDER:
            continue
        args, kwargs, _ = arrays(sample, "complex64" if row.complex == "only" else "float32")
        results = []
        for library, run in ((torch, function), (dt, row.function)):
            library.manual_seed(0)
            convert = lambda a, library=library: turned(library, a, order)
            try:
                found = run(
                    *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
                )
            except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
                break
            results.append([t for t in leaves(found) if isinstance(t, library.Tensor) and "strided" in str(t.layout)])
        if len(results) < 2:
            continue
        for theirs, ours in zip(*results, strict=True):
            if theirs.shape == tuple(ours.shape) and theirs.numel() > 1 and not theirs._is_view():
                compared += 1
                seen.add(row.name)
                if theirs.is_contiguous() and not ours.is_contiguous():
                    wrong.append(f"{ident}: strides {ours.stride()} where PyTorch has {theirs.stride()}")
    assert not wrong, "\n".join(wrong)
    assert compared > 1000 and len(seen) > 300


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "std", "var", "any", "all",
    "logsumexp", "nansum", "median", "nanmedian", "mode", "norm", "count_nonzero", "std_mean", "aminmax"])  # fmt: skip
def test_reductions_of_turned_tensors_can_be_viewed(name: str) -> None:
    def run(m: Any) -> list:
        images = m.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5).contiguous(memory_format=m.channels_last)
        found = []
        for x in (images, images.permute(1, 3, 0, 2), m.arange(60.0).reshape(3, 4, 5).permute(2, 0, 1)):
            out = x.norm(dim=0) if name == "norm" else getattr(m, name)(x, dim=0)
            for each in out if isinstance(out, tuple) else [out]:
                found.append((each.stride(), each.view(-1).data_ptr() == each.data_ptr()))
        return found

    assert run(dt) == run(torch)
