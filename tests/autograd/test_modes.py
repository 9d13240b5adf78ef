"""Grad modes: as contexts, switches and decorators, also of generators and coroutines.

Every program runs on dualtape and on PyTorch.
"""

from __future__ import annotations

import threading

import pytest

import dualtape as dt
from dualtape import modes
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
import asyncio, threading
on = torch.is_grad_enabled
log = []
def note():
    log.append(on())
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
x = torch.ones(2, dtype=torch.float64, requires_grad=True)
"""

PROGRAMS = """
# where nothing is recorded, arrays are given
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    a, b = x.numpy(), np.asarray(x)
with torch.inference_mode():
    d = x.numpy()
try:
    x.numpy()
except RuntimeError:
    a = a + 1
a, b, d

# generators that hold contexts are closed first in, first out
def holding(context):
    with context:
        yield
def crosswise(*contexts):
    held = [holding(context) for context in contexts]
    for one in held:
        next(one)
    for one in held:
        one.close()
        note()
graph = torch.autograd.graph
crosswise(torch.no_grad(), graph.save_on_cpu())
crosswise(graph.save_on_cpu(), torch.no_grad())
crosswise(graph.disable_saved_tensors_hooks("no"), torch.no_grad())
crosswise(torch.autograd.detect_anomaly(), torch.no_grad())
crosswise(torch.autograd.set_detect_anomaly(True), torch.no_grad(), torch.autograd.set_multithreading_enabled(False))
log, torch.is_anomaly_enabled(), torch.autograd.is_multithreading_enabled()

# inference mode and no_grad, left crosswise
a, b = torch.no_grad(), torch.inference_mode()
a.__enter__()
b.__enter__()
a.__exit__(None, None, None)
note()
b.__exit__(None, None, None)
note()
torch.set_grad_enabled(True)
b.__enter__()
a.__enter__()
b.__exit__(None, None, None)
note()
a.__exit__(None, None, None)
note()
torch.set_grad_enabled(True)
log, torch.is_inference_mode_enabled()

# a switch that acts before its block begins puts back its own setting only
torch.set_grad_enabled(True)
switch = torch.set_grad_enabled(False)
hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: log.append("packed") or t, lambda t: t)
hooks.__enter__()
with switch:
    pass
y = x.sin()
hooks.__exit__(None, None, None)
log, on()

# hooks entered in the forward of a Function stay
hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: log.append("packed") or t, lambda t: t)
class Entering(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        hooks.__enter__()
        return t * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
Entering.apply(x)
y = x.sin()
hooks.__exit__(None, None, None)
y = x.sin()
log, on()

# anomaly mode switched in a hook stays
y = x.sin()
y.register_hook(lambda g: torch.autograd.set_detect_anomaly(True) and None)
y.sum().backward()
stays = torch.is_anomaly_enabled()
torch.autograd.set_detect_anomaly(False)
stays, on()

# anomaly mode switched in a pack hook stays
def pack(t):
    torch.autograd.set_detect_anomaly(True)
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = x.sin()
stays = torch.is_anomaly_enabled()
torch.autograd.set_detect_anomaly(False)
stays, on()

# the layout of gradients
def strides(enforced, decorated=False):
    x = torch.ones(3, 2).t().requires_grad_()
    def run():
        (x.contiguous() ** 2).sum().backward()
    policy = torch.autograd.enforce_grad_layout_policy(enforced)
    if decorated:
        policy(run)()
    else:
        with policy:
            run()
    return x.grad.stride()
x = torch.ones(3, 2).t().requires_grad_()
torch.autograd.enforce_grad_layout_policy(False)
g = torch.ones(2, 3)
x.contiguous().backward(g)
torch.autograd.enforce_grad_layout_policy()
[strides(e, d) for e in (True, False) for d in (True, False)], x.grad.stride(), x.grad.data_ptr() == g.data_ptr()

# contexts nest
with torch.no_grad():
    a = on()
    with torch.enable_grad():
        b = on()
        with torch.no_grad():
            c = on()
    d = on()
a, b, c, d, on()

# what is computed inside
with torch.no_grad():
    y = x * 2
    with torch.enable_grad():
        z = x * 2
y.requires_grad, z.requires_grad, y.is_leaf, z.is_leaf

# a context is left by an exception
try:
    with torch.no_grad():
        raise KeyError
except KeyError:
    pass
on()

# one context, entered twice
mode = torch.no_grad()
with mode:
    with torch.enable_grad():
        with mode:
            a = on()
        b = on()
    c = on()
a, b, c, on()

# the switch as a function
torch.set_grad_enabled(False)
a = on()
torch.set_grad_enabled(True)
a, on()

# the switch as a context
with torch.set_grad_enabled(False):
    a = on()
    with torch.set_grad_enabled(True):
        b = on()
    c = on()
a, b, c, on()

# the switch made before it is entered
mode = torch.set_grad_enabled(False)
a = on()
with mode:
    b = on()
a, b, on()

# the switch inside a context
with torch.no_grad():
    torch.set_grad_enabled(True)
    a = on()
a, on()

# a decorated function
@torch.no_grad()
def f():
    return on()
@torch.no_grad
def g():
    return on()
@torch.enable_grad()
def h():
    return on()
with torch.no_grad():
    r = h()
f(), g(), r, on(), f.__name__

# the switch as a decorator
@torch.set_grad_enabled(False)
def f():
    return on()
a = on()
a, f(), on()

# a decorated function that raises
@torch.no_grad()
def f():
    raise KeyError
kind(f), on()

# a decorated function that recurses
@torch.no_grad()
def f(n):
    note()
    if n:
        f(n - 1)
    note()
f(2)
log, on()

# a decorated method
class A:
    @torch.no_grad()
    def f(self, k=1):
        return on(), k
A().f(k=5)

# a decorated class
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("error")
    r = kind(lambda: torch.no_grad()(type("A", (), {})))
r != "fine"

# a decorated generator
@torch.no_grad()
def f():
    note()
    yield 1
    note()
    yield 2
    note()
for item in f():
    note()
log, on()

# a decorated generator that is sent values
@torch.no_grad()
def f():
    got = yield on()
    got = yield got, on()
    return got
g = f()
a = next(g)
b = g.send("hello")
try:
    g.send("end")
except StopIteration as stop:
    c = stop.value
a, b, c, on()

# a decorated generator that is thrown into
@torch.no_grad()
def f():
    try:
        yield 1
    except KeyError:
        note()
        yield 2
g = f()
next(g)
g.throw(KeyError), log, on()

# a decorated generator that is closed
@torch.no_grad()
def f():
    try:
        yield 1
    finally:
        note()
g = f()
next(g)
g.close()
log, on()

# a decorated generator that raises
@torch.no_grad()
def f():
    yield 1
    raise KeyError
g = f()
next(g)
kind(lambda: next(g)), on()

# an undecorated generator inside a context
def f():
    with torch.no_grad():
        yield on()
    yield on()
g = f()
a = next(g)
b = on()
c = next(g)
a, b, c, on()

# a thread starts with grad mode on
def f():
    note()
with torch.no_grad():
    t = threading.Thread(target=f)
    t.start()
    t.join()
log

# backward keeps grad mode
y = (x * x).sum()
with torch.no_grad():
    y.backward()
    a = on()
a, on(), x.grad

# grad mode in a hook
y = x * x
y.register_hook(lambda g: note())
y.sum().backward()
torch.autograd.grad((x * x * 1).sum(), x, create_graph=True)
log

# create_graph under no_grad
y = (x * x * x).sum()
with torch.no_grad():
    (g,) = torch.autograd.grad(y, x, create_graph=True)
g.requires_grad

# multithreading
a = torch.autograd.is_multithreading_enabled()
with torch.autograd.set_multithreading_enabled(False):
    b = torch.autograd.is_multithreading_enabled()
torch.autograd.set_multithreading_enabled(False)
c = torch.autograd.is_multithreading_enabled()
torch.autograd.set_multithreading_enabled(True)
a, b, c, torch.autograd.is_multithreading_enabled()

# names under which modes are known
grad_mode = torch.autograd.grad_mode
anomaly = torch.autograd.anomaly_mode.detect_anomaly is torch.autograd.detect_anomaly
grad_mode.no_grad is torch.no_grad, torch.autograd.enable_grad is torch.enable_grad, grad_mode.inference_mode is torch.inference_mode, anomaly

# a decorator keeps name and doc
@torch.no_grad()
def f():
    "doc"
f.__name__, f.__doc__

# inference mode as a decorator of a generator
@torch.inference_mode()
def f():
    yield torch.is_inference_mode_enabled()
[(inside, torch.is_inference_mode_enabled()) for inside in f()]
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


def test_a_decorated_coroutine_keeps_its_mode_to_itself() -> None:
    import asyncio

    seen = []

    @dt.no_grad()
    async def inside():
        seen.append(("inside", dt.is_grad_enabled()))
        await asyncio.sleep(0)
        seen.append(("inside", dt.is_grad_enabled()))

    async def beside():
        for _ in range(3):
            seen.append(("beside", dt.is_grad_enabled()))
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(inside(), beside())

    asyncio.run(main())
    assert {entry for entry in seen} == {("inside", False), ("beside", True)}


def test_a_decorated_async_generator_has_the_mode_in_its_own_code_only() -> None:
    import asyncio

    seen = []

    @dt.no_grad()
    async def items():
        seen.append(dt.is_grad_enabled())
        yield 1
        seen.append(dt.is_grad_enabled())

    async def main():
        async for _ in items():
            seen.append(dt.is_grad_enabled())

    asyncio.run(main())
    assert seen == [False, True, False]


def test_a_switch_used_as_a_decorator_acts_inside_only() -> None:
    """PyTorch's for multithreading stays as it was switched."""

    @dt.autograd.set_multithreading_enabled(False)
    def inside():
        return dt.autograd.is_multithreading_enabled(), dt.is_grad_enabled()

    assert (inside(), dt.autograd.is_multithreading_enabled()) == ((False, True), True)


def test_modes_of_threads_do_not_meet() -> None:
    barrier, seen = threading.Barrier(2), {}

    def run(name, mode):
        with mode:
            barrier.wait()
            seen[name] = dt.is_grad_enabled()
            barrier.wait()

    threads = [threading.Thread(target=run, args=args) for args in (("off", dt.no_grad()), ("on", dt.enable_grad()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"off": False, "on": True}


def test_hooks_entered_while_backward_unpacks_are_left_without_a_trace() -> None:
    x = dt.ones(2, requires_grad=True)
    late = dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def unpack(tensor: dt.Tensor) -> dt.Tensor:
        late.__enter__()
        return tensor

    with dt.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.sin()
    y.sum().backward()
    late.__exit__()
    assert dt.is_grad_enabled() and not modes.current().saved_hooks


def test_every_context_is_left_without_arguments() -> None:
    graph, forward = dt.autograd.graph, dt.autograd.forward_ad
    contexts = [
        dt.no_grad(),
        dt.enable_grad(),
        dt.inference_mode(),
        dt.set_grad_enabled(False),
        forward.dual_level(),
        dt.autograd.set_multithreading_enabled(False),
        forward.set_fwd_grad_enabled(False),
        graph.save_on_cpu(),
        graph.disable_saved_tensors_hooks("no"),
        graph.allow_mutation_on_saved_tensors(),
        dt.autograd.set_detect_anomaly(True),
        dt.overrides.BaseTorchFunctionMode(),
    ]
    for context in contexts:
        context.__enter__()
        context.__exit__()
    assert modes.current().plain and dt.is_grad_enabled()


def test_two_stacks_of_hooks_and_two_levels_are_left_in_any_order() -> None:
    x = dt.ones(2, requires_grad=True)
    packed: list = []
    first, second = (
        dt.autograd.graph.saved_tensors_hooks(lambda t, name=name: packed.append(name) or t, lambda t: t)
        for name in "ab"
    )
    first.__enter__()
    second.__enter__()
    first.__exit__()
    x.sin()
    second.__exit__()
    assert packed == ["b"] and modes.current().plain
    forward = dt.autograd.forward_ad
    older, newer = forward.dual_level(), forward.dual_level()
    older.__enter__()
    newer.__enter__()
    dual = forward.make_dual(dt.ones(2), dt.ones(2))
    older.__exit__()
    assert forward.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]
    newer.__exit__()
    assert modes.current().plain
