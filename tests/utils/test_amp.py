"""Autocast and gradient scaling, against PyTorch's on the CPU."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.op_cases import arrays, converted, leaves
from tests.ops.test_ops_generated import ONE_EACH, oracle
from tests.same_program import needs_torch, same, torch

PRELUDE = """
F = torch.nn.functional
a = torch.tensor([[1., 2.], [3., 4.]])
def w(): return torch.tensor([[0.5, -1.], [2., 0.25]], requires_grad=True)
class Sgd:
    def __init__(self, *params):
        self.param_groups = [{"params": list(params)}]
        self.steps = 0
    def step(self):
        self.steps += 1
        with torch.no_grad():
            for p in self.param_groups[0]["params"]:
                p.sub_(p.grad)
        return "stepped"
    zero_grad_ = None
"""

PROGRAMS = """
# what is on
states = lambda: (torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu"), torch.is_autocast_cpu_enabled(), torch.get_autocast_dtype("cpu"), torch.get_autocast_cpu_dtype(), torch.is_autocast_cache_enabled())
before = states()
with torch.autocast("cpu"):
    inside = states()
    with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
        deeper = states()
    with torch.autocast("cpu", enabled=False):
        off = states()
    again = states()
before, inside, deeper, off, again, states()

# products are narrow, sums are not
with torch.autocast("cpu"):
    found = [(a @ a).dtype, (a + a).dtype, ((a @ a) + a).dtype, a.sum().dtype, (a @ a).exp().dtype, F.linear(a, a).dtype, torch.mv(a, a[0]).dtype, torch.dot(a[0], a[0]).dtype]
found

# in half precision
with torch.autocast("cpu", torch.float16):
    y = a @ a
y.dtype, y.float()

# switched off inside
with torch.autocast("cpu"):
    with torch.autocast("cpu", enabled=False):
        inner = (a @ a).dtype
    outer = (a @ a).dtype
inner, outer, (a @ a).dtype

# other types
with torch.autocast("cpu"):
    found = [(t @ t).dtype for t in (a.double(), a.long(), a.half(), a.bfloat16())], (a.half() @ a).dtype
found

# losses are not narrow
with torch.autocast("cpu"):
    b = a.bfloat16()
    found = [t.dtype for t in (F.mse_loss(b, a), F.cross_entropy(b, torch.tensor([0, 1])), b.prod(), b.softmax(0), F.layer_norm(b, (2,)))]
found

# what joins takes the widest
with torch.autocast("cpu"):
    found = torch.cat([a, a.bfloat16()]).dtype, torch.stack([a.double(), a.bfloat16().double()]).dtype, torch.cat([a.double(), a.bfloat16()]).dtype
found

# results that are given
out = torch.empty(2, 2)
with torch.autocast("cpu"):
    torch.mm(a, a, out=out)
out

# gradients have the type of the leaves
x = w()
with torch.autocast("cpu"):
    y = (x @ a).relu() @ x
y.float().sum().backward()
y.dtype, y.float(), x.grad, [type(f[0]).__name__ for f in y.grad_fn.next_functions]

# each leaf is cast once
x = w()
with torch.autocast("cpu"):
    y, z = x @ a, x @ a
with torch.autocast("cpu", cache_enabled=False):
    u, v = x @ a, x @ a
cast = lambda t: t.grad_fn.next_functions[0][0]
cast(y) is cast(z), cast(u) is cast(v)

# as a decorator
@torch.autocast("cpu")
def f(x):
    return (x @ x).dtype
f(a), f.__name__, (a @ a).dtype

# older names
with torch.cpu.amp.autocast():
    one = (a @ a).dtype
with torch.amp.autocast("cpu", dtype=torch.bfloat16):
    two = (a @ a).dtype
one, two, torch.amp.is_autocast_available("cpu")

# set from now on
torch.set_autocast_enabled("cpu", True)
one = (a @ a).dtype, torch.is_autocast_enabled("cpu")
torch.set_autocast_enabled("cpu", False)
one, (a @ a).dtype, torch.is_autocast_enabled("cpu")

# left by an error
try:
    with torch.autocast("cpu"):
        a @ torch.ones(3)
except RuntimeError:
    pass
torch.is_autocast_enabled("cpu"), (a @ a).dtype

# a type that cannot be
torch.autocast("cpu", torch.float64)._enabled

# no device
torch.autocast(3)

# an unknown device
torch.autocast("nothing")

# a Function with inputs cast
seen = []
class Square(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x):
        seen.append((x.dtype, torch.is_autocast_enabled("cpu"), ctx._fwd_used_autocast))
        ctx.save_for_backward(x)
        return x @ x
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        x, = ctx.saved_tensors
        seen.append((g.dtype, torch.is_autocast_enabled("cpu")))
        return g @ x.t() + x.t() @ g
x = a.bfloat16().requires_grad_()
with torch.autocast("cpu"):
    y = Square.apply(x)
y.sum().backward()
seen, y.dtype, y.detach(), x.grad.float()

# a Function in autocast
seen = []
class Square(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x):
        seen.append((x.dtype, torch.is_autocast_enabled("cpu"), ctx._fwd_used_autocast))
        ctx.save_for_backward(x)
        return x @ x
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        seen.append((g.dtype, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
        return g.float()
x = w()
with torch.autocast("cpu"):
    y = Square.apply(x)
y.sum().backward()
z = Square.apply(x)
z.sum().backward()
seen, y.dtype, z.dtype

# scaled losses
s = torch.amp.GradScaler("cpu", init_scale=8.)
s.scale(torch.tensor(3.)), s.scale([torch.ones(2), torch.ones(1)]), s.scale((torch.ones(1),)), s.get_scale(), s.is_enabled(), s.state_dict()

# a step
x = w()
o, s = Sgd(x), torch.amp.GradScaler("cpu", growth_interval=2)
for _ in range(3):
    x.grad = None
    s.scale((x * x).sum()).backward()
    result = s.step(o)
    s.update()
result, x.detach(), s.get_scale(), s.state_dict(), o.steps

# a step that is left out
x = w()
o, s = Sgd(x), torch.amp.GradScaler("cpu")
s.scale((x * torch.tensor([1., inf])).sum()).backward()
result = s.step(o)
s.update()
result, x.detach(), s.get_scale(), o.steps

# unscaled before the step
x = w()
o, s = Sgd(x), torch.amp.GradScaler("cpu")
s.scale((x * 3).sum()).backward()
s.unscale_(o)
before = x.grad.clone()
s.step(o)
s.update(4.)
before, x.detach(), s.get_scale()

# unscaled twice
x = w()
o, s = Sgd(x), torch.amp.GradScaler("cpu")
s.scale(x.sum()).backward()
s.unscale_(o)
s.unscale_(o)

# two steps
x = w()
o, s = Sgd(x), torch.amp.GradScaler("cpu")
s.scale(x.sum()).backward()
s.step(o)
s.step(o)

# an update before a step
s = torch.amp.GradScaler("cpu")
s.scale(torch.ones(()))
s.update()

# gradients of half precision
x = w().detach().half().requires_grad_()
o, s = Sgd(x), torch.amp.GradScaler("cpu", init_scale=2.)
s.scale(x.sum().float()).backward()
s.step(o)

# disabled
x = w()
o, s = Sgd(x), torch.amp.GradScaler("cpu", enabled=False)
s.scale(x.sum()).backward()
s.step(o), s.update(), s.get_scale(), x.detach(), s.state_dict()

# kept between runs
s, t = torch.amp.GradScaler("cpu", init_scale=2., growth_factor=3.), torch.amp.GradScaler("cpu")
t.load_state_dict(s.state_dict())
t.get_scale(), t.get_growth_factor(), t.get_backoff_factor(), t.get_growth_interval(), t.state_dict() == s.state_dict()

# nothing kept
torch.amp.GradScaler("cpu").load_state_dict({})

# wrong factors
torch.amp.GradScaler("cpu", growth_factor=0.5)

# for another device
torch.amp.GradScaler().is_enabled()
"""


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    same(PRELUDE + program)


OTHERWISE = {"qr_tall", "pinverse", "matrix_exp", "linalg_pinv", "matrix_power", "lu_unpack", "det"}
OTHERWISE |= {"local_response_norm", "multi_head_attention_forward", "lstm"}  # made of other ops than PyTorch's


def _types(library: Any, function: Any, sample: Any, name: str) -> list[str]:
    args, kwargs, _ = arrays(sample, "float32")

    def convert(array: Any) -> Any:
        tensor = library.tensor(array)
        return tensor.to(getattr(library, name)) if tensor.dtype == library.float32 else tensor

    with warnings.catch_warnings(), library.autocast("cpu"):
        warnings.simplefilter("ignore")
        result = function(*converted(args, convert), **{k: converted(v, convert) for k, v in kwargs.items()})
    return [str(t.dtype).partition(".")[2] for t in leaves(result) if isinstance(t, library.Tensor)]


@needs_torch
@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in ONE_EACH], ids=[c[0] for c in ONE_EACH])
def test_every_op_has_pytorchs_type_in_autocast(row, sample):
    """But for factorisations, whose products are not cast, and which take no narrow types, and a few compositions."""
    theirs = oracle(row)
    if theirs is None or row.complex == "only" or row.name in OTHERWISE:
        pytest.skip("PyTorch does not compute it under autocast")
    for name in ("float32", "bfloat16"):
        try:
            expected = _types(torch, theirs, sample, name)
        except Exception:
            continue  # it has none
        assert _types(dt, row.function, sample, name) == expected, (row.name, name)


def test_a_leaf_that_was_written_is_cast_again():
    """PyTorch goes on with what it was."""
    x = dt.ones(2, 2, requires_grad=True)
    with dt.autocast("cpu"):
        before = x @ x
        with dt.no_grad():
            x.mul_(2)
        after = x @ x
    assert (before[0, 0].item(), after[0, 0].item()) == (2.0, 8.0)


def test_training_in_autocast_finds_what_training_without_finds():
    rng = np.random.default_rng(0)
    inputs, wanted = dt.tensor(rng.standard_normal((64, 4)).astype("f4")), None
    wanted = (inputs @ dt.tensor([[1.0], [-2.0], [0.5], [3.0]])).tanh()
    weight = dt.zeros(4, 1, requires_grad=True)
    scaler = dt.amp.GradScaler("cpu")

    class Descent:
        param_groups = [{"params": [weight]}]

        def step(self):
            with dt.no_grad():
                weight.sub_(weight.grad, alpha=2.0)

    for _ in range(200):
        weight.grad = None
        with dt.autocast("cpu"):
            loss = dt.nn.functional.mse_loss((inputs @ weight).tanh(), wanted)
        scaler.scale(loss).backward()
        scaler.step(Descent())
        scaler.update()
    assert weight.grad.dtype == dt.float32
    assert loss.item() < 0.01


def test_other_devices_are_refused():
    with pytest.raises(RuntimeError, match="CPU"):
        dt.set_autocast_enabled("cuda", True)
    with pytest.raises(RuntimeError, match="CPU"):
        dt.amp.custom_fwd(lambda ctx: None, device_type="cuda")


@pytest.mark.parametrize("wrong", [1, None, "yes"])
def test_a_switch_takes_true_or_false(wrong):
    for switch in (dt.set_autocast_cpu_enabled, dt.set_autocast_cache_enabled):
        with pytest.raises(TypeError, match="bool"):
            switch(wrong)
    assert not dt.is_autocast_cpu_enabled()
