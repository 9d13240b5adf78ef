"""What programs ask before they compute anything: devices, GPUs, backends, scripts, versions."""

from __future__ import annotations

import pytest

import dualtape as dt
from same_program import needs_torch, same

GPU = dt.cuda.is_available()

PROGRAMS = """
torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
torch.cuda.current_device()
torch.cuda.synchronize()
torch.cuda.empty_cache(), torch.cuda.manual_seed(0), torch.cuda.manual_seed_all(0), torch.cuda.get_rng_state_all()
torch.cuda.get_device_name()
torch.backends.mps.is_available(), torch.backends.cudnn.is_available(), torch.backends.cudnn.version(), torch.backends.mps.is_built()
torch.jit.script(lambda x: x * 2)(torch.ones(1)) if torch.jit.is_scripting() else torch.jit.is_tracing()
torch.jit.annotate(int, 3), torch.jit.isinstance([1], list[int]), torch.jit.isinstance({"a": [1.0]}, dict[str, list[int]]), torch.jit.isinstance((1, "a"), tuple[int, str]), torch.jit.wait(torch.jit.fork(lambda x: x + 1, torch.ones(1)))
torch.version.cuda, torch.version.hip, torch.version.debug
torch.get_default_device().type,
torch.accelerator.is_available(), torch.accelerator.device_count(), torch.accelerator.current_accelerator(), torch.accelerator.current_accelerator(True)
torch.accelerator.current_device_index()
torch.accelerator.set_device_index(0)
torch.accelerator.synchronize()
torch.accelerator.current_stream()
torch.accelerator.empty_cache()
torch.accelerator.memory_allocated()
torch.accelerator.max_memory_reserved()
"""


@needs_torch
@pytest.mark.skipif(GPU, reason="the oracle here has no GPU")
@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_questions_are_answered_as_by_pytorch_without_a_gpu(program):
    same(program)


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_what_needs_a_gpu_says_so():
    for call in (dt.cuda.current_device, dt.cuda.Stream, dt.cuda.Event, dt.cuda.mem_get_info, dt.cuda.init):
        with pytest.raises(RuntimeError, match="needs a GPU"):
            call()
    with pytest.raises(RuntimeError, match="CuPy"):
        dt.set_default_device("cuda")
    with dt.cuda.stream(None), dt.cuda.device(None), dt.cuda.device_of(dt.ones(1)):
        pass


def test_a_device_is_a_context_for_new_tensors():
    seen = []

    class Watch(dt.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, str((kwargs or {}).get("device"))))
            return func(*args, **{k: v for k, v in (kwargs or {}).items() if k != "device"})

    with Watch(), dt.device("cuda:1"):
        assert dt.get_default_device() == dt.device("cuda:1")
        with dt.device("cpu"):
            dt.ones(2), dt.rand(2, device="cuda:3")
        dt.zeros(2), dt.tensor([1.0]), dt.ones(2, device="cpu").sin()
    assert seen == [
        ("ones", "cpu"),
        ("rand", "cuda:3"),
        ("zeros", "cuda:1"),
        ("tensor", "cuda:1"),
        ("ones", "cpu"),
        ("sin", "None"),
    ]
    assert dt.get_default_device() == dt.device("cpu")


def test_a_context_is_left_where_an_exception_is_raised():
    with pytest.raises(ZeroDivisionError), dt.device("cpu"):
        raise ZeroDivisionError
    assert not dt.modes.current().functions
    with pytest.raises(RuntimeError, match="not entered"):
        dt.device("cpu").__exit__(None, None, None)


def test_a_script_is_the_function_itself():
    def f(x):
        return x * 2

    for how in (dt.jit.script, dt.jit.ignore, dt.jit.unused, dt.jit.export, dt.jit.script_if_tracing, dt.jit.ignore()):
        assert how(f) is f
    assert dt.jit.trace(f, (dt.ones(1),)) is f
    with pytest.raises(TypeError):
        dt.jit.trace(f, (dt.ones(1), 2))  # the example is tried
    with pytest.raises(NotImplementedError, match="state_dict"):
        dt.jit.save(f, "f.pt")


@pytest.mark.parametrize(("where", "name", "near"), [("nn", "Flaten", "Flatten"), ("optim", "Adm", "Adam")])
def test_a_name_that_is_not_there_leads_to_one_that_is(where: str, name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean {near}"):
        getattr(getattr(dt, where), name)
