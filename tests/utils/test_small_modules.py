"""The small modules that programs ask for: hub, futures, quasirandom, nn.grad, __future__, and names like these."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape import futures, hub, nn
from same_program import needs_torch

# --- hub ------------------------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "parts.py").write_text("WIDTH = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['numpy']\nfrom parts import WIDTH\nimport dualtape as dt\n"
        "def small(width=WIDTH):\n    'A small network.'\n    return dt.nn.Linear(width, 1)\n"
        "def _hidden():\n    return None\n"
    )
    return tmp_path


def test_models_come_from_a_local_folder(models: Path) -> None:
    assert hub.list(str(models), source="local") == ["small"]
    assert hub.help(str(models), "small", source="local") == "A small network."
    assert hub.load(str(models), "small", width=2, source="local").in_features == 2
    with pytest.raises(RuntimeError, match="Cannot find callable large in hubconf"):
        hub.load(str(models), "large", source="local")
    with pytest.raises(FileNotFoundError, match="hubconf.py"):
        hub.load(str(models / "none"), "small", source="local")


def test_missing_dependencies_of_a_model_are_named(models: Path) -> None:
    (models / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef small(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(str(models), "small", source="local")


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="nothing is downloaded.*source='local'"):
        hub.load("pytorch/vision", "resnet18")
    monkeypatch.setattr(hub, "_chosen", [str(tmp_path)])
    with pytest.raises(RuntimeError, match="fetch https://example.org/w.pt yourself, and put it at"):
        hub.load_state_dict_from_url("https://example.org/w.pt")
    (tmp_path / "checkpoints").mkdir()
    dt.save({"w": dt.ones(2)}, tmp_path / "checkpoints" / "w.pt")
    assert hub.load_state_dict_from_url("https://example.org/w.pt")["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid hash value"):
        (tmp_path / "checkpoints" / "w-abc123.pt").write_bytes((tmp_path / "checkpoints" / "w.pt").read_bytes())
        hub.load_state_dict_from_url("https://example.org/w-abc123.pt", check_hash=True)


def test_files_are_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"weights")
    hub.download_url_to_file(source.as_uri(), str(target))
    assert target.read_bytes() == b"weights"
    with pytest.raises(RuntimeError, match="invalid hash"):
        hub.download_url_to_file(source.as_uri(), str(target), hash_prefix="00")
    assert target.read_bytes() == b"weights" and sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


# --- futures --------------------------------------------------------------------------------------


def test_several_futures_are_waited_for_together() -> None:
    several: list[futures.Future] = [futures.Future() for _ in range(3)]
    together = futures.collect_all(several)
    for number, each in enumerate(several):
        assert not together.done()
        threading.Timer(0.001, each.set_result, (number,)).start()
        each.wait()
    assert futures.wait_all(several) == [0, 1, 2] and together.wait() == several
    assert futures.collect_all([]).wait() == []


def test_an_error_among_several_futures_is_raised_where_values_are_wanted() -> None:
    good, bad = futures.Future(), futures.Future()
    good.set_result(1)
    bad.set_exception(ValueError("lost"))
    assert futures.collect_all([good, bad]).wait() == [good, bad]
    with pytest.raises(ValueError, match="lost"):
        futures.wait_all([good, bad])
    with pytest.raises(TypeError, match="expected Futures, got int"):
        futures.collect_all([3])  # type: ignore[list-item]


# --- quasirandom ----------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("dimension", [1, 2, 7, 50])
def test_points_of_sobol_sequences_are_pytorchs(dimension: int) -> None:
    import torch

    ours, theirs = dt.quasirandom.SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
    for step in ("draw", 5, "skip", 3, "draw", 1, "reset", 0, "draw", 4):
        if isinstance(step, int):
            continue
        if step == "draw":
            assert np.array_equal(ours.draw(5).numpy(), theirs.draw(5).numpy())
        elif step == "skip":
            ours.fast_forward(3), theirs.fast_forward(3)
        else:
            ours.reset(), theirs.reset()
        assert ours.num_generated == theirs.num_generated
    assert repr(ours) == repr(theirs)
    assert ours.draw(2, dtype=dt.float64).dtype is dt.float64


def test_scrambled_points_follow_their_seed_and_fill_the_cube() -> None:
    engine = dt.quasirandom.SobolEngine(3, scramble=True, seed=5)
    points = engine.draw_base2(6)
    assert dt.equal(points, dt.quasirandom.SobolEngine(3, scramble=True, seed=5).draw(64))
    assert points.min() >= 0 and points.max() < 1 and (points.mean(0) - 0.5).abs().max() < 0.05
    dt.manual_seed(3)
    first = dt.quasirandom.SobolEngine(2, scramble=True).draw(4)
    dt.manual_seed(3)
    assert dt.equal(first, dt.quasirandom.SobolEngine(2, scramble=True).draw(4))


def test_wrong_numbers_of_points_and_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="Supported range of dimensionality"):
        dt.quasirandom.SobolEngine(0)
    engine = dt.quasirandom.SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2. 3 points have been generated"):
        engine.draw_base2(2)
    with pytest.raises(RuntimeError, match="not negative"):
        engine.draw(-1)


# --- nn.grad --------------------------------------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_are_pytorchs(dims: int) -> None:
    import torch

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 4, *(5,) * dims)), rng.standard_normal((6, 2, *(2,) * dims))
    options: dict[str, Any] = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    shape = getattr(torch.nn.functional, f"conv{dims}d")(torch.tensor(x), torch.tensor(w), None, **options).shape
    g = rng.standard_normal(tuple(shape))

    def both(library: Any) -> list[np.ndarray]:
        make = library.tensor
        of_input = getattr(library.nn.grad, f"conv{dims}d_input")(x.shape, make(w), make(g), **options)
        of_weight = getattr(library.nn.grad, f"conv{dims}d_weight")(make(x), w.shape, make(g), **options)
        return [of_input.numpy(), of_weight.numpy()]

    for ours, theirs in zip(both(dt), both(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


# --- parameters that are exchanged ----------------------------------------------------------------


def test_two_tensors_exchange_what_they_are() -> None:
    a, b = nn.Parameter(dt.zeros(2)), dt.ones(3, dtype=dt.float64)
    a.grad, b.mark = dt.full((2,), 5.0), "b"
    dt.utils.swap_tensors(a, b)
    assert type(a) is dt.Tensor and type(b) is nn.Parameter
    assert a.tolist() == [1, 1, 1] and a.dtype is dt.float64 and a.mark == "b" and not a.requires_grad
    assert b.tolist() == [0, 0] and b.requires_grad and b.grad.tolist() == [5, 5] and not hasattr(b, "mark")
    (b * 2).sum().backward()
    assert b.grad.tolist() == [7, 7]


def test_tensors_that_others_refer_to_are_not_exchanged() -> None:
    a, b = dt.zeros(2, requires_grad=True), dt.ones(2)
    y = a * 2
    with pytest.raises(RuntimeError, match="Cannot swap t1: it is a leaf of a graph that is alive"):
        dt.utils.swap_tensors(a, b)
    del y
    reference = weakref.ref(b)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref associated with it"):
        dt.utils.swap_tensors(a, b)
    del reference
    view = b[0:1]
    with pytest.raises(RuntimeError, match="Cannot swap t2: it is a view, or has views"):
        dt.utils.swap_tensors(a, b)
    with pytest.raises(RuntimeError, match="Cannot swap t1: it is a view, or has views"):
        dt.utils.swap_tensors(view, a)
    with pytest.raises(TypeError, match="t2 to be a Tensor, got int"):
        dt.utils.swap_tensors(a, 3)  # type: ignore[arg-type]
    assert a.tolist() == [0, 0] and b.tolist() == [1, 1]


@pytest.mark.parametrize("way", ["overwrite", "swap"])
def test_conversions_of_modules_replace_or_swap_parameters_if_told_to(way: str) -> None:
    future = dt.__future__
    layer = nn.Linear(2, 2)
    before, values = layer.weight, layer.weight.detach().clone()
    layer(dt.ones(1, 2)).sum().backward()
    setting = getattr(future, f"set_{way}_module_params_on_conversion")
    setting(True)
    try:
        assert getattr(future, f"get_{way}_module_params_on_conversion")()
        layer.double()
    finally:
        setting(False)
    assert (layer.weight is before) is (way == "swap")
    assert layer.weight.dtype is dt.float64 and layer.weight.grad.dtype is dt.float64
    assert dt.equal(layer.weight.detach().float(), values) and layer.weight.requires_grad
    layer(dt.ones(1, 2, dtype=dt.float64)).sum().backward()
    assert layer.weight.grad.tolist() == [[2, 2], [2, 2]]


# --- names ----------------------------------------------------------------------------------------


def test_the_older_comparison_warns_and_is_looser() -> None:
    with pytest.warns(FutureWarning, match="assert_allclose.*deprecated"):
        dt.testing.assert_allclose(dt.tensor([1.0, float("nan")]), [1.00005, float("nan")])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        dt.testing.assert_allclose(dt.tensor([1.0]), dt.tensor([1.01]))


def test_names_that_libraries_ask_for_at_import_have_meaning() -> None:
    assert dt._C._get_tracing_state() is None and dt._C._log_api_usage_once("x") is None
    assert issubclass(dt._C._LinAlgError, RuntimeError) and dt._C._LinAlgError is dt.linalg.LinAlgError
    assert dt.distributed.Backend.GLOO == "gloo" and dt.distributed.Backend("GLOO") == dt.distributed.Backend.GLOO
    assert not dt.onnx.is_in_onnx_export() and not dt.compiler.is_exporting()
    assert not isinstance(dt.sin, dt.jit.ScriptFunction) and issubclass(dt.jit.TracerWarning, Warning)
    assert "inductor" in dt._dynamo.list_backends() and "eager" in dt.compiler.list_backends(exclude_tags=())
    assert isinstance(dt.ones(2, 2).max(0), dt.return_types.max)
    assert dt.return_types.linalg_eigh in dt.return_types.all_return_types
    with pytest.raises(NotImplementedError, match="dualtape writes no ONNX files"):
        dt.onnx.export(None)
    with pytest.raises(ValueError, match="expected 'file_descriptor'"):
        dt.multiprocessing.set_sharing_strategy("nothing")
    assert "NumPy" in dt.__config__.show()


def test_decorators_for_scripts_leave_functions_as_they_are() -> None:
    from dualtape import _jit_internal as internal

    assert internal._copy_to_script_wrapper(abs) is abs and internal._overload_method(abs) is abs
    assert internal.export(abs) is abs and not internal.is_scripting()
    assert internal.BroadcastingList2[int] == int | list[int]
    assert futures.Future[int] is not None
    with pytest.raises(OSError, match="ops are declared in Python"):
        dt.ops.load_library("lib.so")


def test_devices_that_are_not_here_may_be_named_and_hold_nothing() -> None:
    assert dt.device("mps") != dt.device("cpu") and str(dt.device("xpu:1")) == "xpu:1"
    for use in (
        lambda: dt.ones(2, device="mps"),
        lambda: dt.ones(2).to("xpu"),
        lambda: nn.Linear(1, 1, device="hpu"),
        lambda: dt.set_default_device("mtia"),
    ):
        with pytest.raises(NotImplementedError, match="there are no tensors on .* here"):
            use()
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .* at start of device string: tpu"):
        dt.device("tpu")
    assert dt.ones(1).device == dt.device("cpu")


@needs_torch
def test_limits_of_types_of_eight_bits_are_pytorchs() -> None:
    import torch

    from dualtape._placeholders import placeholder

    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"):
        ours, theirs = dt.finfo(placeholder(f"torch.{name}")), torch.finfo(getattr(torch, name))
        for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
            assert getattr(ours, field) == getattr(theirs, field)


def test_arguments_of_to_are_read_as_pytorch_reads_them() -> None:
    parse = dt._C._nn._parse_to
    assert parse(dt.ones(1)) == (dt.device("cpu"), dt.float32, False, None)
    assert parse(dtype=dt.float16, non_blocking=True) == (None, dt.float16, True, None)
