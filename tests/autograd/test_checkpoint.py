"""Checkpointing: every program runs on dualtape and on PyTorch."""

from __future__ import annotations

import gc
import weakref

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
import contextlib
grad = torch.autograd.grad
module = torch.utils.checkpoint
checkpoint = module.checkpoint
calls = []
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
def said(function, phrase):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__, phrase in str(error)
def part(x):
    calls.append("part")
    return (x * x).sin().exp()
x = leaf(1., 2.)
"""

BOTH = """
# values and gradients
y = checkpoint(part, x, use_reentrant=REENTRANT)
y.sum().backward()
y.detach(), x.grad, calls

# a vmap inside
y = checkpoint(lambda t: torch.func.vmap(lambda row: row * t.sum() + row.sin())(t).sum(), x, use_reentrant=REENTRANT)
y.backward()
x.grad

# nested vmap inside
v = torch.func.vmap
f = lambda t: v(v(torch.exp))(t * torch.ones(2, 1, dtype=torch.float64)).sum()
checkpoint(f, x, use_reentrant=REENTRANT).backward()
x.grad

# backward calls in a group run a part again once
def f(t):
    calls.append(1)
    return t.sin(), t.exp()
a, b = checkpoint(f, x, use_reentrant=False)
group = module.GraphExecGroup()
with group:
    a.sum().backward()
    current = module.GraphExecGroup._get_current_group() is group
with group:
    b.sum().backward()
nested = kind(lambda: [each.__enter__() for each in (module.GraphExecGroup(), module.GraphExecGroup())])
module.GraphExecGroup._get_current_group().__exit__(None, None, None)
len(calls), x.grad, current, nested, module.GraphExecGroup._get_current_group()

# the context goes before the argument
def f(t):
    calls.append("begin")
    y = t.sin() + 1
    calls.append("end")
    return y
for context in (True, False):
    for argument in (True, False):
        with module.set_checkpoint_early_stop(context):
            y = checkpoint(f, x, use_reentrant=False, early_stop=argument)
        y.sum().backward()
calls

# debug and contexts of one's own
kind(lambda: checkpoint(part, x, use_reentrant=False, debug=True, context_fn=lambda: module.noop_context_fn()))

# several arguments and results
def f(a, n, b, word=None):
    calls.append(1)
    return a * n * b, "word", b.sin()
w = leaf(3., 4.)
p, q, r = checkpoint(f, x, 2, w, use_reentrant=REENTRANT)
(p + r).sum().backward()
q, x.grad, w.grad, len(calls)

# a captured parameter
w = leaf(3., 4.)
checkpoint(lambda t: (t * w).sin().sum(), x, use_reentrant=REENTRANT).backward()
x.grad, w.grad

# a constant argument
c = torch.ones(2, dtype=torch.float64)
checkpoint(lambda t, k: (t * k).sin().sum(), x, c, use_reentrant=REENTRANT).backward()
x.grad, c.grad

# one after another
y = checkpoint(part, checkpoint(part, x, use_reentrant=REENTRANT), use_reentrant=REENTRANT)
y.sum().backward()
x.grad, len(calls)

# nested
def outer(t):
    calls.append("outer")
    return checkpoint(part, t * 2, use_reentrant=REENTRANT) * 3
y = checkpoint(outer, x, use_reentrant=REENTRANT)
y.sum().backward()
x.grad

# three deep
def third(t):
    return (t * t).sin()
def second(t):
    return checkpoint(third, t.sin(), use_reentrant=REENTRANT).cos()
def first(t):
    return checkpoint(second, t.exp(), use_reentrant=REENTRANT) * t
checkpoint(first, x, use_reentrant=REENTRANT).sum().backward()
x.grad

# under no_grad
with torch.no_grad():
    y = checkpoint(part, x, use_reentrant=REENTRANT)
y, y.requires_grad, calls

# no argument requires grad
y = checkpoint(part, torch.ones(2), use_reentrant=REENTRANT)
y.requires_grad

# no tensor among the arguments
w = leaf(3.)
y = checkpoint(lambda n: w.sin() * n, 3, use_reentrant=REENTRANT)
y.detach()

# grad mode inside
seen = []
def f(t):
    seen.append(torch.is_grad_enabled())
    return t * t
checkpoint(f, x, use_reentrant=REENTRANT).sum().backward()
seen

# the random state comes again and nothing else notices
torch.manual_seed(3)
seen = []
def f(t):
    seen.append(torch.rand(2, dtype=torch.float64))
    return (t * seen[-1]).sin() * t
y = checkpoint(f, x, use_reentrant=REENTRANT)
a = torch.get_rng_state()
y.sum().backward()
bool((seen[0] == seen[1]).all()), bool((torch.get_rng_state() == a).all()), bool((x.grad == ((x * seen[0]).sin() + x * seen[0] * (x * seen[0]).cos())).all())

# the random state goes on
torch.manual_seed(3)
seen = []
def f(t):
    seen.append(torch.rand(2, dtype=torch.float64))
    return (t * seen[-1]).sin() * t
y = checkpoint(f, x, use_reentrant=REENTRANT, preserve_rng_state=False)
y.sum().backward()
bool((seen[0] == seen[1]).all())

# a retained graph
y = checkpoint(part, x, use_reentrant=REENTRANT).sum()
y.backward(retain_graph=True)
y.backward()
x.grad, len(calls)

# a second backward
y = checkpoint(part, x, use_reentrant=REENTRANT).sum()
y.backward()
kind(lambda: y.backward())

# an argument written in place
t = x * 1
y = checkpoint(part, t, use_reentrant=REENTRANT).sum()
t.mul_(2)
kind(lambda: y.backward())

# an in-place write inside
def f(t):
    u = t * 2
    u.sin_()
    u[0].mul_(3)
    return u * u
checkpoint(f, x, use_reentrant=REENTRANT).sum().backward()
x.grad

# the function raises
def f(t):
    raise KeyError
kind(lambda: checkpoint(f, x, use_reentrant=REENTRANT)), torch.is_grad_enabled()

# the function raises the second time
def f(t):
    calls.append(1)
    if len(calls) == 2:
        raise KeyError
    return t.sin()
y = checkpoint(f, x, use_reentrant=REENTRANT).sum()
kind(lambda: y.backward(retain_graph=True)), kind(lambda: y.backward()), x.grad

# a view as the result
y = checkpoint(lambda t: (t * t).view(-1)[:1], x, use_reentrant=REENTRANT)
y.sum().backward()
x.grad

# a sequence of functions
steps = [lambda t: t.sin(), lambda t: t * t, lambda t: t.exp(), lambda t: t * 3, lambda t: t.cos()]
module.checkpoint_sequential(steps, 2, x, use_reentrant=REENTRANT).sum().backward()
x.grad

# unused results
def f(t):
    return t.sin(), t.cos()
a, b = checkpoint(f, x, use_reentrant=REENTRANT)
a.sum().backward()
x.grad
"""

PROGRAMS = """
# without use_reentrant
y = checkpoint(part, x)
y.sum().backward()
y.grad_fn.name(), x.grad

# names of nodes
checkpoint(part, x, use_reentrant=True).grad_fn.name(), checkpoint(part, x, use_reentrant=False).grad_fn.name()

# keyword arguments
y = checkpoint(lambda t, k=1: t * t * k, x, k=5, use_reentrant=False)
y.sum().backward()
x.grad

# keyword arguments of the reentrant kind
kind(lambda: checkpoint(lambda t, k=1: t * k, x, k=5, use_reentrant=True))

# a check that is none
kind(lambda: checkpoint(part, x, use_reentrant=False, determinism_check="some"))

# a context for the reentrant kind
kind(lambda: checkpoint(part, x, use_reentrant=True, context_fn=lambda: (contextlib.nullcontext(), contextlib.nullcontext())))

# grad of the reentrant kind
y = checkpoint(part, x, use_reentrant=True).sum()
kind(lambda: grad(y, x, retain_graph=True)), kind(lambda: y.backward(inputs=[x], retain_graph=True)), kind(lambda: y.backward())

# the reentrant kind without gradients
w = leaf(3.)
y = checkpoint(lambda n: w.sin() * n, 3, use_reentrant=True)
y.requires_grad

# grad
y = checkpoint(part, x, use_reentrant=False).sum()
grad(y, x)

# double backward
y = checkpoint(part, x, use_reentrant=False).sum()
(g,) = grad(y, x, create_graph=True)
(h,) = grad(g.sum(), x)
g, h

# double backward of a nested checkpoint
def outer(t):
    return checkpoint(part, t * 2, use_reentrant=False) * t
y = checkpoint(outer, x, use_reentrant=False).sum()
(g,) = grad(y, x, create_graph=True)
(h,) = grad(g.sum(), x)
g, h

# backward to inputs
w = leaf(3., 4.)
y = checkpoint(lambda t, w: (t * w).sin(), x, w, use_reentrant=False).sum()
y.backward(inputs=[x])
x.grad, w.grad

# early stop
def f(t):
    calls.append("a")
    u = t.sin()
    v = u * 2
    calls.append("b")
    return v + 1
checkpoint(f, x, use_reentrant=False).sum().backward()
calls

# no early stop
def f(t):
    calls.append("a")
    u = t.sin()
    v = u * 2
    calls.append("b")
    return v + 1
checkpoint(f, x, use_reentrant=False, early_stop=False).sum().backward()
with module.set_checkpoint_early_stop(False):
    y = checkpoint(f, x, use_reentrant=False)
y.sum().backward()
calls

# contexts
class Says:
    def __init__(self, word):
        self.word = word
    def __enter__(self):
        calls.append("enter " + self.word)
    def __exit__(self, *error):
        calls.append("exit " + self.word)
y = checkpoint(lambda t: (calls.append("run"), t.sin())[1], x, use_reentrant=False, context_fn=lambda: (Says("first"), Says("second")))
y.sum().backward()
calls

# fewer tensors the second time
def f(t):
    calls.append(1)
    return t.sin().sin() if len(calls) == 1 else t.sin()
y = checkpoint(f, x, use_reentrant=False).sum()
said(lambda: y.backward(), "different number of tensors")

# more tensors the second time, with early stop
def f(t):
    calls.append(1)
    return t.sin() if len(calls) == 1 else t.sin().sin()
y = checkpoint(f, x, use_reentrant=False).sum()
kind(lambda: y.backward())

# more tensors the second time
def f(t):
    calls.append(1)
    return t.sin() if len(calls) == 1 else t.sin().sin()
y = checkpoint(f, x, use_reentrant=False, early_stop=False).sum()
said(lambda: y.backward(), "more tensors")

# another shape the second time
def f(t):
    calls.append(1)
    return t.sin().sum() if len(calls) == 1 else t[:1].sin().sum()
y = checkpoint(f, x, use_reentrant=False)
said(lambda: y.backward(), "different metadata")

# another shape the second time, unchecked
def f(t):
    calls.append(1)
    return t.sin() if len(calls) == 1 else t.reshape(2, 1).sin()
y = checkpoint(f, x, use_reentrant=False, determinism_check="none").sum()
kind(lambda: y.backward())

# the error is a RuntimeError
issubclass(module.CheckpointError, RuntimeError), module.CheckpointError.__name__

# saved values can be read
y = checkpoint(lambda t: t.exp(), x, use_reentrant=False)
y.grad_fn._saved_result, len(calls)

# a custom Function inside
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        calls.append("forward")
        ctx.save_for_backward(t)
        return t * t
    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return g * 2 * t
checkpoint(lambda t: Mine.apply(t).sin(), x, use_reentrant=False).sum().backward()
x.grad, calls

# hooks inside
y = checkpoint(lambda t: t.sin(), x, use_reentrant=False)
y.register_hook(lambda g: calls.append("hook"))
y.sum().backward()
calls

# default hooks around
with torch.autograd.graph.saved_tensors_hooks(lambda t: (calls.append("pack"), t)[1], lambda t: t):
    y = checkpoint(lambda t: t.sin(), x, use_reentrant=False)
y.sum().backward()
x.grad

# default hooks inside
def f(t):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        u = t.sin()
    return u.cos()
checkpoint(f, x, use_reentrant=False).sum().backward()
x.grad

# a part of the results
def f(t):
    a = t.sin()
    b = t.exp()
    return a, b
a, b = checkpoint(f, x, use_reentrant=False)
del a
b.sum().backward()
x.grad
"""

TABLE = [*blocks(PROGRAMS)]
for reentrant in (False, True):
    TABLE.extend(
        pytest.param(
            p.values[0].replace("REENTRANT", str(reentrant)), id=f"{p.id}, {'re-entrant' if reentrant else 'by hooks'}"
        )
        for p in blocks(BOTH)
    )


@needs_torch
@pytest.mark.parametrize("program", TABLE)
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


def checkpoint(*args, **kwargs):
    return dt.utils.checkpoint.checkpoint(*args, use_reentrant=False, **kwargs)


def test_nothing_of_the_first_run_is_kept() -> None:
    arrays = []

    def part(t):
        u = t.sin()
        v = u.exp()
        arrays.extend([weakref.ref(u), weakref.ref(v)])
        return v * u

    y = checkpoint(part, dt.ones(3, requires_grad=True))
    assert [ref() for ref in arrays] == [None, None]
    y.sum().backward()
    assert len(arrays) == 4


def test_an_inner_checkpoint_keeps_not_even_its_arguments() -> None:
    arrays = []

    def inner(t):
        return t.sin().exp()

    def outer(t):
        u = t * t
        arrays.append(weakref.ref(u))
        return checkpoint(inner, u)

    x = dt.ones(3, requires_grad=True)
    y = checkpoint(outer, x)
    assert arrays[0]() is None
    y.sum().backward()
    assert x.grad is not None


def test_everything_goes_with_the_result() -> None:
    gc.collect()
    gc.disable()
    try:
        x = dt.ones(3, requires_grad=True)
        for run in (False, True):
            y = checkpoint(lambda t: (t * t).sin(), x)
            refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
            if run:
                y.sum().backward(retain_graph=True)
            del y
            assert [ref() for ref in refs] == [None, None]
    finally:
        gc.enable()


def test_per_sample_gradients_inside_a_checkpoint() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    f = lambda t: dt.func.vmap(dt.func.grad(dt.sin))(t).sum()
    checkpoint = dt.utils.checkpoint.checkpoint
    (found,) = dt.autograd.grad(checkpoint(f, x, use_reentrant=False), x)
    assert found.tolist() == pytest.approx((-x.sin()).tolist())


def test_an_error_shows_the_ops_of_both_runs_if_asked_to() -> None:
    from dualtape.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled

    def changing(t: dt.Tensor) -> dt.Tensor:
        runs.append(1)
        return t.sin().exp() if len(runs) == 1 else t.sin().cos().exp()

    x = dt.ones(2, requires_grad=True)
    for enabled, debug, shown in ((None, True, True), (True, False, True), (False, True, False), (None, False, False)):
        runs: list = []
        with set_checkpoint_debug_enabled(enabled):
            y = checkpoint(changing, x, use_reentrant=False, debug=debug, early_stop=False)
        with pytest.raises(CheckpointError, match="more tensors") as caught:
            y.sum().backward()
        text = str(caught.value)
        first, _, second = text.partition("Ops that ran in the recomputation")
        assert ("exp(" in first and "cos(" not in first and "cos(" in second and __file__ in text) == shown
        assert shown == ("Ops that ran" in text)
        assert shown != ("debug=True" in str(getattr(caught.value, "__notes__", "")))


def test_backward_calls_of_a_group_may_overlap() -> None:
    from dualtape.utils.checkpoint import GraphExecGroup, checkpoint

    runs: list = []
    x = dt.ones(2, requires_grad=True)
    y = checkpoint(lambda t: runs.append(1) or t.sin().exp(), x, use_reentrant=False)
    with GraphExecGroup() as group:
        first, second = (dt.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() for _ in range(2))
    assert first == second and len(runs) == 2 and len(group.found) == 1
    del y
    assert not group.found


def test_an_error_says_which_tensor_is_different() -> None:
    calls = []

    def part(t):
        calls.append(1)
        return t.sin().sum() if len(calls) == 1 else t[:2].sin().sum()

    y = checkpoint(part, dt.ones(3, requires_grad=True))
    with pytest.raises(
        dt.utils.checkpoint.CheckpointError, match=r"tensor 0 was \[3\] float32 on cpu, and is \[2\] float32 on cpu"
    ):
        y.backward()


def test_a_failing_second_run_leaves_the_random_state_alone() -> None:
    calls = []

    def part(t):
        calls.append(1)
        dt.rand(3)
        if len(calls) == 2:
            raise KeyError
        return t.sin()

    y = checkpoint(part, dt.ones(3, requires_grad=True))
    state = dt.get_rng_state()
    with pytest.raises(KeyError):
        y.sum().backward()
    assert (dt.get_rng_state() == state).all()
    assert dt.is_grad_enabled()


# --- selective ------------------------------------------------------------------------------------


def counted(policy: object) -> tuple:
    """Contexts for ``checkpoint`` with ``policy``, and the log of ops that were really computed."""
    from dualtape.overrides.dispatch_modes import TorchDispatchMode
    from dualtape.utils.checkpoint import create_selective_checkpoint_contexts

    log: list = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Both:
        def __init__(self, outer, inner):
            self.outer, self.inner = outer, inner

        def __enter__(self):
            self.outer.__enter__()
            self.inner.__enter__()

        def __exit__(self, *error):
            self.inner.__exit__(*error)
            self.outer.__exit__(*error)

    def contexts():
        first, second = create_selective_checkpoint_contexts(policy)
        return Both(Log(), first), Both(Log(), second)

    return contexts, log


def test_selective_checkpointing_computes_again_only_what_was_not_kept() -> None:
    from dualtape.utils.checkpoint import checkpoint

    x = dt.tensor([[0.5, 1.0], [2.0, 0.25]], dtype=dt.float64, requires_grad=True)
    contexts, log = counted([dt.mm])
    out = checkpoint(lambda t: ((t @ t).sin() @ t).exp().sum(), x, use_reentrant=False, context_fn=contexts)
    assert log.count("mm") == 2 and log.count("sin") == 1
    out.backward()
    assert log.count("mm") == 2 and log.count("sin") == 2
    y = x.detach().clone().requires_grad_()
    ((y @ y).sin() @ y).exp().sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_a_selective_policy_is_asked_in_the_first_run_only_and_must_answer_properly() -> None:
    from dualtape.utils.checkpoint import CheckpointPolicy, checkpoint

    runs: list = []

    def policy(ctx, op, *args, **kwargs):
        runs.append(ctx.is_recompute)
        return CheckpointPolicy.MUST_SAVE if op is dt.exp else CheckpointPolicy.MUST_RECOMPUTE

    contexts, log = counted(policy)
    x = dt.ones(2, requires_grad=True)
    y = checkpoint(lambda t: (t.exp() * t).sin().sum(), x, use_reentrant=False, context_fn=contexts)
    y.backward(retain_graph=True)
    assert runs == [False] * 4 and log.count("exp") == 1 and log.count("mul") == 2
    y.backward()
    assert runs == [False] * 4 and log.count("exp") == 1 and log.count("mul") == 3
    contexts, _ = counted(lambda ctx, op, *args, **kwargs: "perhaps")
    with pytest.raises(TypeError, match="CheckpointPolicy"):
        checkpoint(lambda t: t.exp(), x, use_reentrant=False, context_fn=contexts)
    with pytest.raises(TypeError, match="a function or a list"):
        counted(3)[0]()


def test_a_kept_result_that_was_written_is_an_error_unless_allowed() -> None:
    import functools

    from dualtape.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

    def function(t):
        return (t.exp().add_(1) * t).sin().sum()

    x = dt.ones(2, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [dt.exp])
    with pytest.raises(RuntimeError, match="modified in place"):
        checkpoint(function, x, use_reentrant=False, context_fn=contexts).backward()
