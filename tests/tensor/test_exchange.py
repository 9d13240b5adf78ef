"""Memory shared with other libraries: DLPack both ways, columns of tables, plots, and libraries that take any tensor."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, same

PROGRAMS = """
torch.from_dlpack(x, copy=True).data_ptr() == x.data_ptr(), torch.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
torch.from_dlpack(a, device="cpu"), torch.from_dlpack(a, copy=True), torch.from_dlpack(a.astype("float16"), copy=False)
torch.from_dlpack(x.__dlpack__()), torch.from_dlpack(x.__dlpack__(max_version=(1, 0)))
type(x.__dlpack__()).__name__, type(x.__dlpack__(stream=None, dl_device=(1, 0), copy=True)).__name__, "versioned" in repr(x.__dlpack__(max_version=(1, 0)))
x.__dlpack__(stream="a")
x.__dlpack__(dl_device=(99, 0))
x.__dlpack__(max_version=3)
x.requires_grad_().__dlpack__()
torch.from_dlpack(x.requires_grad_())
tuple(map(int, x.requires_grad_().__dlpack_device__()))
torch.from_dlpack(np.array(["a"]))
torch.from_dlpack(np.array([1], ">i4"))
torch.from_dlpack(torch.ones(2, dtype=torch.bfloat16)).float()
torch.from_dlpack(torch.nn.Parameter(torch.ones(1)))
torch.from_dlpack(np.arange(6.0).reshape(2, 3).T).stride(), torch.from_dlpack(np.zeros((0, 3))).shape, torch.from_dlpack(np.array(2.0))
torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)), torch.from_dlpack(torch.to_dlpack(x))
torch.from_dlpack(a, None)
{kind.name: int(kind) for kind in torch.utils.dlpack.DLDeviceType}
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_dlpack_does_what_pytorchs_does(program: str) -> None:
    same(f"x, a = torch.arange(3.0), np.arange(3.0)\n{program}")


@needs_torch
@pytest.mark.parametrize("kind", "float16 float32 float64 complex64 int8 int64 uint8 uint16 bool".split())
def test_tensors_of_both_libraries_are_one_memory(kind: str) -> None:
    import torch

    ours, theirs = dt.zeros(2, 3, dtype=getattr(dt, kind)).t(), torch.zeros(2, 3, dtype=getattr(torch, kind)).t()
    for mine, other in ((ours, torch.from_dlpack(ours)), (dt.from_dlpack(theirs), theirs)):
        assert mine.data_ptr() == other.data_ptr() and tuple(mine.stride()) == tuple(other.stride())
        assert str(other.dtype).removeprefix("torch.") == kind == mine.dtype.name
        other[0, 1] = 1
        assert mine[0, 1] == 1
    assert dt.tensor(theirs).tolist() == theirs.tolist() and dt.as_tensor(theirs).data_ptr() == theirs.data_ptr()
    with pytest.raises(RuntimeError, match="requires grad"):
        dt.tensor(torch.ones(1, requires_grad=True))
    with dt.overrides.BaseTorchFunctionMode():  # PyTorch's own class is not asked
        assert dt.tensor(theirs).shape == (3, 2)


def test_numpy_shares_what_it_gets_and_gives() -> None:
    array = np.arange(3.0)
    tensor = dt.from_dlpack(array)
    tensor[0] = 5
    assert array[0] == 5 and np.from_dlpack(tensor).ctypes.data == array.ctypes.data
    assert np.from_dlpack(tensor, copy=True).ctypes.data != array.ctypes.data
    assert dt.from_dlpack(array, device="cpu", copy=True).data_ptr() != tensor.data_ptr()
    capsule = tensor.__dlpack__()
    dt.from_dlpack(capsule)
    with pytest.raises(ValueError, match="PyCapsule"):
        dt.from_dlpack(capsule)


def test_what_may_only_be_read_is_not_written() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    tensor = dt.from_dlpack(array)
    assert tensor.data_ptr() == array.ctypes.data
    with pytest.raises((ValueError, RuntimeError), match="read-only"):
        tensor[0] = 1
    assert array[0] == 0


def test_streams_are_of_gpus() -> None:
    with pytest.raises(ValueError, match="stream must be None or -1 on the CPU"):
        dt.ones(1).__dlpack__(stream=0)
    with pytest.raises(TypeError, match="has __dlpack__"):
        dt.from_dlpack([1])
    with pytest.raises(BufferError, match="bfloat16"):
        np.from_dlpack(dt.ones(1, dtype=dt.bfloat16))


def test_jax_shares_memory() -> None:
    jnp = pytest.importorskip("jax.numpy")
    theirs, ours = jnp.arange(3.0), dt.arange(64.0)
    taken, given = dt.from_dlpack(theirs), jnp.from_dlpack(ours)
    assert taken.tolist() == dt.tensor(theirs).tolist() == [0, 1, 2] and given.tolist() == ours.tolist()
    assert taken.data_ptr() == dt.as_tensor(theirs).data_ptr() == theirs.unsafe_buffer_pointer()
    if ours.data_ptr() % 64 == 0:  # JAX copies what lies otherwise
        assert given.unsafe_buffer_pointer() == ours.data_ptr()
    with pytest.raises(RuntimeError, match="read-only"):  # JAX's arrays do not change
        taken.add_(1)
    assert (dt.tensor(theirs).add_(1) == taken + 1).all() and theirs.tolist() == [0, 1, 2]
    (taken.clone().requires_grad_() ** 2).sum().backward()
    with pytest.raises(RuntimeError, match="requires grad"):
        jnp.asarray(dt.ones(2, requires_grad=True))
    assert dt.tensor(jnp.ones(2, jnp.bfloat16)).dtype == dt.bfloat16
    with pytest.raises(BufferError, match="bfloat16"):
        dt.from_dlpack(jnp.ones(2, jnp.bfloat16))


@pytest.mark.parametrize("kind", "float16 float32 int8 int32 uint8 uint32 bool complex64".split())
def test_types_go_over_to_jax_and_back(kind: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    assert jnp.from_dlpack(dt.ones(2, 3, dtype=getattr(dt, kind)).t()).dtype.name == kind
    back = dt.from_dlpack(jnp.ones((2, 3), kind))
    assert back.dtype.name == kind and back.shape == (2, 3)


@pytest.mark.parametrize("kind", "float16 float32 float64 int8 int64 uint8 uint32 bool complex64 complex128".split())
def test_tensorflow_shares_memory(kind: str) -> None:
    tensorflow = pytest.importorskip("tensorflow")
    packs = tensorflow.experimental.dlpack
    ours = dt.zeros(2, 3, dtype=getattr(dt, kind))
    given = packs.from_dlpack(ours.__dlpack__())
    ours[1, 2] = 1
    assert given.dtype.name == kind and given.numpy()[1, 2] == 1  # one memory
    theirs = tensorflow.ones((2, 3), kind)
    for taken in (dt.from_dlpack(theirs), dt.from_dlpack(packs.to_dlpack(theirs))):
        assert taken.dtype.name == kind and taken.shape == (2, 3) and bool(taken.all())
        with pytest.raises(RuntimeError, match="read-only"):  # TensorFlow's tensors do not change
            taken.zero_()
    with pytest.raises(BufferError, match="require gradient"):
        packs.from_dlpack(dt.ones(2, requires_grad=True).__dlpack__())


def test_memory_outlives_the_library_it_came_from() -> None:
    tensorflow = pytest.importorskip("tensorflow")
    taken = dt.from_dlpack(tensorflow.range(5.0) * 2)
    others = [tensorflow.zeros(5) for _ in range(100)]
    assert taken.tolist() == [0, 2, 4, 6, 8] and len(others) == 100


@pytest.mark.parametrize("make", ["tensor", "as_tensor", "asarray"])
def test_columns_of_pandas_are_data(make: str) -> None:
    pandas, function = pytest.importorskip("pandas"), getattr(dt, make)
    assert function(pandas.Series([1, 2, 3], index=[5, 6, 7])).tolist() == [1, 2, 3]
    assert function(pandas.Series([1.5, None])).dtype == dt.float64  # NaN is one of NumPy's numbers
    assert function(pandas.DataFrame({"a": [1, 2], "b": [3.5, 4.5]}), dtype=dt.float32).shape == (2, 2)
    assert function(pandas.Series([1, 2], dtype="Int64")).tolist() == [1, 2]
    with pytest.raises(ValueError, match="1 missing values"):
        function(pandas.Series([1, None], dtype="Int64"))
    with pytest.raises(TypeError, match="numeric"):
        function(pandas.Series(["a", "b"], dtype=object))
    with pytest.raises(TypeError, match="datetime"):
        function(pandas.Series(pandas.to_datetime(["2020-01-01"])))


@pytest.mark.parametrize("make", ["tensor", "as_tensor", "asarray"])
def test_columns_of_polars_and_arrow_are_data(make: str) -> None:
    polars, function = pytest.importorskip("polars"), getattr(dt, make)
    assert function(polars.Series([1.5, 2.5])).dtype == dt.float64
    assert function(polars.DataFrame({"a": [1, 2], "b": [3, 4]})).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(ValueError, match="1 missing values"):
        function(polars.Series([1, None]))
    arrow = pytest.importorskip("pyarrow")
    assert function(arrow.array([1.0, 2.0])).tolist() == [1, 2] and function(arrow.array([True])).dtype == dt.bool
    assert function(arrow.chunked_array([[1, 2], [3]])).tolist() == [1, 2, 3]
    assert dt.from_dlpack(arrow.array([1, 2])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="1 missing values"):
        function(arrow.array([1.0, None]))


def test_what_says_that_it_is_an_array_is_data() -> None:
    class Column:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return values

    values = np.array([1, 2], np.int16)
    assert (
        dt.tensor(Column()).dtype == dt.int16
        and dt.tensor(Column(), dtype=dt.float32, requires_grad=True).requires_grad
    )
    dt.as_tensor(Column())[0] = 5
    assert values[0] == 5
    dt.tensor(Column())[0] = 6
    dt.asarray(Column(), copy=True)[0] = 7
    assert values[0] == 5


def test_matplotlib_plots_tensors() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    x = dt.linspace(0, 1, 5)
    (line,) = pyplot.plot(x, x.exp())
    assert np.allclose(line.get_ydata(), np.exp(x.numpy()))
    assert len(pyplot.hist(x)[0]) == 10 and pyplot.imshow(dt.eye(3)).get_array().shape == (3, 3)
    pyplot.scatter(x, x, c=x)
    pyplot.bar(x, x)
    with pytest.raises(RuntimeError, match="detach"):  # as PyTorch's
        pyplot.plot(x.requires_grad_())
    pyplot.close("all")


def test_einops_rearranges_tensors_by_the_array_api() -> None:
    einops = pytest.importorskip("einops.array_api")
    x = dt.arange(6.0).reshape(2, 3).requires_grad_()
    assert einops.rearrange(x, "a b -> b a").shape == (3, 2) and einops.repeat(x, "a b -> (r a) b", r=2).shape == (4, 3)
    assert dt.autograd.grad(einops.reduce(x, "a b -> b", "mean").sum(), x)[0].tolist() == [[0.5] * 3] * 2
    assert einops.pack([x, x], "* b")[0].shape == (4, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda e, x: e.rearrange(x, "a b (c d) -> c (b a) d", d=2),
        lambda e, x: e.rearrange([x, x], "n a b c -> a n (b c)"),
        lambda e, x: e.rearrange(x, "... c -> c ..."),
        lambda e, x: e.repeat(x, "a b c -> (r a) b c s", r=2, s=3),
        *[lambda e, x, how=how: e.reduce(x, "a b c -> b", how) for how in ("min", "max", "sum", "mean", "prod")],
        lambda e, x: e.reduce(x > 0.5, "a b c -> a", "any"),
        lambda e, x: e.reduce(x > 0.5, "a b c -> a 1", "all"),
        lambda e, x: e.einsum(x, x, "a b c, a d c -> b d"),
        lambda e, x: e.pack([x, x[:, 0]], "a * c")[0],
        lambda e, x: e.unpack(x, [(1,), (2,)], "a * c")[1],
    ],
)
def test_einops_takes_tensors_once_it_is_told_of_them(call: Any) -> None:
    einops = pytest.importorskip("dualtape.utils.einops", exc_type=ImportError)
    array = np.random.default_rng(0).random((2, 3, 4))
    x = dt.tensor(array, requires_grad=True)
    found, expected = call(einops, x), call(einops, array)
    np.testing.assert_allclose(found.detach(), expected)
    if found.is_floating_point():
        assert dt.autograd.gradcheck(lambda x: call(einops, x), x)


def test_einops_of_ones_own_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "einops", None)
    monkeypatch.delitem(sys.modules, "dualtape.utils.einops", raising=False)
    with pytest.raises(ModuleNotFoundError, match="pip install einops"):
        importlib.import_module("dualtape.utils.einops")


def test_opt_einsum_contracts_tensors() -> None:
    opt_einsum = pytest.importorskip("opt_einsum")
    x = dt.ones(2, 3, requires_grad=True)
    y = opt_einsum.contract("ij,kj,kl->il", x, dt.ones(4, 3), dt.ones(4, 5))
    assert y.shape == (2, 5) and y[0, 0] == 12 and y.requires_grad


def test_annotations_of_jaxtyping_are_checked() -> None:
    jaxtyping = pytest.importorskip("jaxtyping")
    annotation = jaxtyping.Float[dt.Tensor, "rows 3"]
    assert isinstance(dt.ones(2, 3), annotation) and not isinstance(dt.ones(2, 4), annotation)
    assert not isinstance(dt.ones(2, 3, dtype=dt.int64), annotation)
    assert isinstance(dt.ones(2, 3, dtype=dt.int64), jaxtyping.Int[dt.Tensor, "a b"])
