"""The GPU: the same ops over CuPy's arrays. Needs CuPy and a device; without them the tests are skipped."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import cases, compared, over_a_batch, pushed


def available() -> Any:
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
        return cupy
    except Exception:  # no CuPy, no driver, no device: each library says it in its own way
        return None


cupy = available()
gpu = pytest.mark.skipif(cupy is None, reason="CuPy or a GPU is missing")

# what CuPy itself has no counterpart for, with its reason
LACKING: dict[str, str] = {}
CASES = list(cases()) if cupy is not None else []  # thousands of skips would say nothing


def test_cupy_is_never_imported_unasked() -> None:
    code = "import sys, dualtape as dt; (dt.ones(3, requires_grad=True) * 2).sum().backward(); print('cupy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


def test_asking_for_a_gpu_without_cupy_says_what_to_install() -> None:
    if cupy is not None:
        pytest.skip("CuPy is installed")
    with pytest.raises((RuntimeError, Exception), match="CuPy|CUDA|cuda"):
        dt.ones(2, device="cuda")


@gpu
def test_a_training_loop_runs_on_the_gpu_and_agrees_with_the_cpu() -> None:
    def train(device: str) -> np.ndarray:
        rng = np.random.default_rng(0)
        x, y = dt.tensor(rng.normal(size=(64, 5))).to(device), dt.tensor(rng.normal(size=(64, 1))).to(device)
        weight = dt.tensor(rng.normal(size=(5, 8))).to(device).requires_grad_()
        out = dt.tensor(rng.normal(size=(8, 1))).to(device).requires_grad_()
        for _ in range(5):
            loss = (((x @ weight).tanh() @ out - y) ** 2).mean()
            loss.backward()
            with dt.no_grad():
                for p in (weight, out):
                    p -= 0.1 * p.grad
                    p.grad = None
        assert weight.device.type == device
        return weight.detach().cpu().numpy()

    np.testing.assert_allclose(train("cuda"), train("cpu"), rtol=1e-9)


@gpu
def test_an_array_already_on_the_gpu_is_shared() -> None:
    array = cupy.arange(3.0)
    x = dt.as_tensor(array)
    x += 1
    assert array.tolist() == [1.0, 2.0, 3.0] and x.is_cuda and x.device == dt.device("cuda", 0)
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()


@gpu
def test_gradients_cross_devices() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    (x.cuda() * 3).sum().cpu().backward()
    assert x.grad.tolist() == [3.0, 3.0] and not x.grad.is_cuda


@gpu
@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_every_op_gives_on_the_gpu_what_it_gives_on_the_cpu(row: Any, sample: Any) -> None:
    if row.name in LACKING:
        pytest.xfail(LACKING[row.name])
    for ours, theirs in compared(row, sample, lambda a: dt.tensor(a), lambda a: dt.tensor(a).cuda()):
        assert theirs.is_cuda or row.torch_name == "-"
        np.testing.assert_allclose(theirs.cpu().numpy(), ours, rtol=1e-7, atol=1e-9, equal_nan=True)


@gpu
@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_every_ops_tangent_is_on_the_gpu_what_it_is_on_the_cpu(row: Any, sample: Any) -> None:
    for ours, theirs in pushed(row, sample, lambda a: dt.tensor(a), lambda a: dt.tensor(a).cuda()):
        assert theirs.is_cuda or row.torch_name == "-"
        np.testing.assert_allclose(theirs.cpu().numpy(), ours, rtol=1e-7, atol=1e-9, equal_nan=True)


@gpu
@pytest.mark.filterwarnings("ignore:vmap")
@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_every_op_over_a_batch_gives_on_the_gpu_what_it_gives_on_the_cpu(row: Any, sample: Any) -> None:
    ours, theirs = (
        over_a_batch(row, sample, lambda a: dt.tensor(a)),
        over_a_batch(row, sample, lambda a: dt.tensor(a).cuda()),
    )
    assert isinstance(ours, str) == isinstance(theirs, str), (ours, theirs)
    if not isinstance(ours, str):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), rtol=1e-7, atol=1e-9, equal_nan=True)


@gpu
def test_transforms_run_on_the_gpu() -> None:
    rng = np.random.default_rng(3)
    weight, data = dt.tensor(rng.normal(size=(4, 3))), dt.tensor(rng.normal(size=(5, 3)))
    loss = lambda w, x: ((w @ x).tanh() ** 2).sum() + w[0].exp().sum()
    for transform in (
        lambda w, x: dt.func.vmap(dt.func.grad(loss), in_dims=(None, 0))(w, x),
        lambda w, x: dt.func.jacfwd(lambda w: dt.func.vmap(lambda x: loss(w, x))(x))(w),
        lambda w, x: dt.func.jacrev(lambda w: dt.func.vmap(lambda x: loss(w, x))(x))(w),
        lambda w, x: dt.func.hessian(lambda w: loss(w, x[0]))(w),
        lambda w, x: dt.func.jvp(dt.func.grad(lambda w: loss(w, x[1])), (w,), (w * 2,))[1],
    ):
        found = transform(weight.cuda(), data.cuda())
        assert found.is_cuda
        np.testing.assert_allclose(found.cpu().numpy(), transform(weight, data).numpy(), rtol=1e-9, atol=1e-12)


@gpu
def test_tensors_over_one_memory_share_it_again_on_the_gpu() -> None:
    import io

    file = io.BytesIO()
    x = dt.arange(6.0, device="cuda").reshape(2, 3)
    dt.save({"x": x, "row": x[1], "turned": x.t()}, file)
    file.seek(0)
    found = dt.load(file)
    found["x"][1, 0] = 9
    assert found["row"].tolist() == [9, 4, 5] and found["turned"][0, 1] == 9 and found["row"].is_cuda
    file.seek(0)
    assert not dt.load(file, map_location="cpu")["x"].is_cuda
