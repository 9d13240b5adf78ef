"""What a backward, a checkpoint, a mode or a custom Function leaves behind, and what it may be asked twice: as PyTorch."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

import dualtape as dt
from op_cases import arrays, converted, first_samples, leaves, rows
from same_program import needs_torch, same

PROGRAMS = """
hooks = torch.autograd.graph.saved_tensors_hooks; seen = []; outer = hooks(lambda t: (seen.append("pack"), t)[1], lambda t: t)
x = torch.ones(2, requires_grad=True)
with hooks(lambda t: t, lambda t: (seen.append("left"), outer.__exit__(None, None, None) if seen.count("left") == 1 else None, t)[2]):
    y = (x * x).sum()
outer.__enter__(); y.backward(); z = x * x; outer.__exit__(None, None, None); z = x * x; seen
---
hooks = torch.autograd.graph.saved_tensors_hooks; seen = []; inner = hooks(lambda t: (seen.append("inner"), t)[1], lambda t: t)
x = torch.ones(2, requires_grad=True)
with hooks(lambda t: t, lambda t: (seen.append("in"), inner.__enter__() if len(seen) == 1 else None, t)[2]):
    y = (x * x).sum()
y.backward(); z = x * x; seen
---
class Mode(torch.overrides.TorchFunctionMode):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return "mode"
def call():
    with Mode(): return torch.add(torch.ones(1), 1)
raises(call), torch.add(torch.ones(1), 1)
---
class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return "named"
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None): return NotImplemented
named = torch.ones(2).as_subclass(Named)
def call(a):
    with Mode(): return torch.add(a, 1), a + 1
call(named), raises(lambda: call(torch.ones(2)), TypeError), 2 / named, named / 2, 2**named, 2 - named
---
seen = []
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * 2
    @staticmethod
    def backward(ctx, g): seen.append(len(ctx.saved_tensors)); return g * 2
    @staticmethod
    def jvp(ctx, t): seen.append(len(ctx.saved_tensors)); return t * 2
fw = torch.autograd.forward_ad
with fw.dual_level():
    y = F.apply(fw.make_dual(torch.ones(2, requires_grad=True), torch.ones(2))); y.sum().backward()
seen
---
fw = torch.autograd.forward_ad
def function(give, tangent):
    class F(torch.autograd.Function):
        forward = staticmethod(lambda ctx, x: give(x)); jvp = staticmethod(lambda ctx, t: tangent(t))
    def call():
        with fw.dual_level(): return fw.unpack_dual(F.apply(fw.make_dual(torch.ones(2), torch.ones(2)))).tangent
    return raises(call)
[function(give, tangent) for give in (lambda x: x, lambda x: x.view_as(x)) for tangent in (lambda t: t, lambda t: t.view_as(t), lambda t: t * 1, lambda t: t.clone())]
---
cp = torch.utils.checkpoint; n = []; x = torch.full((3,), 0.5, requires_grad=True)
def g(x): n.append("g"); return x.sin().exp()
def f(x): n.append("f"); return cp.checkpoint(g, x, use_reentrant=False).cos()
with cp.set_checkpoint_early_stop(False): y = cp.checkpoint(f, x, use_reentrant=False).sum()
y.backward(); n, x.grad
---
x = torch.ones(3, requires_grad=True); y = x.exp() * 2
with torch.no_grad(): y.set_()
y.grad_fn is None, y.requires_grad, y.shape
---
x = torch.ones(2, requires_grad=True); x.grad_dtype = None
class F(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x * 2); backward = staticmethod(lambda ctx, g: g.double())
F.apply(x).sum().backward(); first = x.grad; F.apply(x).sum().backward()
first.dtype, x.grad.dtype, x.grad
---
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dtype): ctx.dtype = dtype; return x * 2
    @staticmethod
    def backward(ctx, g): return g.to(ctx.dtype), None
def sums(leaf, dtypes, record):
    x = torch.ones(2, dtype=leaf, requires_grad=True); x.grad_dtype = None
    for dtype in dtypes: F.apply(x, dtype).sum().backward(create_graph=record)
    return x.grad.dtype, x.grad.detach().to(torch.complex64)
kinds = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool]
[(leaf, a, b, record, raises(lambda: sums(leaf, (a, b), record))) for leaf in (torch.float32, torch.bfloat16, torch.complex64) for a in kinds for b in kinds for record in (False, True)]
---
x = torch.ones(2, requires_grad=True); x.grad_dtype = None; wide = torch.ones(2, dtype=torch.float64)
def gradient(y, record): return torch.autograd.grad(y, x, create_graph=record)[0].detach()
[gradient(y(), r) for r in (False, True) for y in (lambda: (x * (1 + 2j)).sum().abs(), lambda: (x * wide).sum() + (x * (1 + 2j)).sum().abs())]
---
x = torch.ones(2, requires_grad=True); x.grad_dtype = None
x.register_hook(lambda g: g * 2); x.register_hook(lambda g: g.double() if len(seen) else None); seen = []
(x * 3).sum().backward(); first = x.grad; seen.append(1)
first, raises(lambda: (x * 3).sum().backward())
---
cp = torch.utils.checkpoint; seen = []; w = torch.ones(3, requires_grad=True); c = torch.full((3,), 2.0)
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, c): ctx.save_for_backward(x, w, c); return x * w * c
    @staticmethod
    def backward(ctx, g): x, v, d = ctx.saved_tensors; seen.append((v is w, d is c, v.data_ptr() == w.data_ptr())); return g, g, None
x = torch.ones(3, requires_grad=True); cp.checkpoint(lambda x: F.apply(x * 2, w, c), x, use_reentrant=False).sum().backward()
seen
"""
RAISES = """
def raises(function, kind=RuntimeError):
    try:
        return function()
    except kind:
        return kind.__name__
"""


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS.strip().split("---\n"))
def test_state_and_lifetime_are_pytorchs(program: str) -> None:
    importlib.import_module("torch.utils.checkpoint")
    importlib.import_module("dualtape.utils.checkpoint")
    same(RAISES + program)


def test_a_context_that_was_not_entered_cannot_be_left() -> None:
    context = dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="was not entered"):
        context.__exit__(None, None, None)
    with context:
        pass
    with pytest.raises(RuntimeError, match="was not entered"):
        context.__exit__(None, None, None)


# --- a second backward --------------------------------------------------------------------------------

# What PyTorch composes, or has a formula for that saves nothing, and is written with ops that save tensors here.
REFUSED_HERE = {
    "remainder",
    "fmod",
    "lerp",
    "repeat_interleave",
    "trapezoid",
    "cumulative_trapezoid",
    "gradient",
    "affine_grid",
}
# PyTorch saves tensors for gradients that are zero, or for the other of two kinds of transform.
COMPUTED_HERE = {"div", "fft_fft", "fft_ifft"}


def outcome(function: Any, module: Any, row: Any, sample: Any) -> str | None:
    """What a second backward through the result of an op does; None if the op has no gradient for a sample."""
    args, kwargs, differentiable = arrays(sample, "complex64" if row.complex == "only" else "float32")
    moving = {id(array) for array in differentiable}

    def tensor(array: Any) -> Any:
        made = module.from_numpy(array.copy())
        return made.requires_grad_() if id(array) in moving else made

    results = leaves(
        function(*(converted(a, tensor) for a in args), **{k: converted(v, tensor) for k, v in kwargs.items()})
    )
    results = [r for r in results if isinstance(r, module.Tensor) and r.requires_grad]
    if not results:
        return None
    gradient = module.ones_like(results[0])
    results[0].backward(gradient)
    try:
        results[0].backward(gradient)
    except RuntimeError as error:
        assert "second time" in str(error)
        return "refused"
    return "computed"


def pytorchs(torch: Any, row: Any) -> Any:
    """PyTorch's function for a row; None if it has none by that name."""
    for space in (
        getattr(torch, getattr(row, "namespace", None) or "", None),
        torch,
        torch.nn.functional,
        torch.linalg,
        torch.special,
    ):
        for prefix in ("", "linalg_", "special_", "nn_", "fft_"):
            found = getattr(space, row.name.removeprefix(prefix), None) if space is not None else None
            if callable(found) and not isinstance(found, type):
                return found
    return None


CASES = [
    (f"{row.name}-{k}", row, sample)
    for row in rows()
    if getattr(row, "public", True)
    for k, sample in enumerate(row.samples)
    if "out" not in sample.kwargs
]


@needs_torch
@pytest.mark.parametrize(("row", "sample"), [pytest.param(*c[1:], id=c[0]) for c in first_samples(CASES, 1)])
def test_a_second_backward_is_refused_where_pytorch_refuses_it(row: Any, sample: Any) -> None:
    import torch

    function = pytorchs(torch, row)
    if function is None:
        pytest.skip("PyTorch has no function of this name")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = outcome(function, torch, row, sample)
        except Exception:
            pytest.skip("PyTorch does not take the sample")
        found = outcome(row.function, dt, row, sample)
    if expected is not None and row.name not in (REFUSED_HERE if found == "refused" else COMPUTED_HERE):
        assert found == expected
