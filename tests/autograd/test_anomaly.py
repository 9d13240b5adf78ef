"""Anomaly mode: the backward that fails shows the forward that is to blame."""

from __future__ import annotations

import warnings

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
import warnings
grad = torch.autograd.grad
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def said(function, *phrases):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function()
            end = "fine"
        except Exception as error:
            end = type(error).__name__, str(error).split(":")[0].rstrip(".")
    texts = [str(w.message) for w in caught]
    return end, [any(phrase in text for text in texts) for phrase in phrases]
def mode():
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        raise KeyError("no")
class FailsTwice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return Fails.apply(g)
"""

PROGRAMS = """
# the context
before = mode()
with torch.autograd.detect_anomaly():
    inside = mode()
with torch.autograd.detect_anomaly(check_nan=False):
    other = mode()
before, inside, other, mode()

# the context nests
with torch.autograd.detect_anomaly():
    with torch.autograd.detect_anomaly(check_nan=False):
        a = mode()
    b = mode()
a, b, mode()

# the context is left by an exception
try:
    with torch.autograd.detect_anomaly():
        raise KeyError
except KeyError:
    pass
mode()

# the switch
torch.autograd.set_detect_anomaly(True)
a = mode()
torch.autograd.set_detect_anomaly(True, check_nan=False)
b = mode()
torch.autograd.set_detect_anomaly(False, check_nan=True)
a, b, mode()

# the switch as a context
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    a = mode()
    with torch.autograd.set_detect_anomaly(False):
        b = mode()
    c = mode()
a, b[0], c, mode()[0]

# the warning on entry
said(lambda: torch.autograd.detect_anomaly(), "Anomaly Detection has been enabled"), said(lambda: torch.autograd.set_detect_anomaly(False), "Anomaly")

# NaN made by an op
x = leaf(0., 2.)
def f():
    with torch.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()
said(f, "Error detected in SqrtBackward0", "Traceback of forward call")

# the stack is among the node's metadata, and the node whose backward made it
x = leaf(1., 2.)
with torch.autograd.detect_anomaly():
    y = x * 2
    g, = torch.autograd.grad((y * y).sum(), x, create_graph=True)
z = x * 2
sorted(y.grad_fn.metadata), isinstance(y.grad_fn.metadata["traceback_"], list), len(y.grad_fn.metadata["traceback_"]) > 0, sorted(g.grad_fn.metadata), z.grad_fn.metadata, str(type(g.grad_fn.metadata["parent_"]).__name__)

# NaN in the second input
x, w = leaf(1., 2.), leaf(0., 2.)
def f():
    with torch.autograd.detect_anomaly():
        y = x * w
        y.backward(torch.tensor([float("nan"), 1.], dtype=torch.float64))
said(f, "Error detected in MulBackward0")

# NaN not looked for
x = leaf(0., 2.)
def f():
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
said(f, "Error detected"), x.grad

# NaN of a forward made outside
x = leaf(0., 2.)
y = (x.sqrt() * 0).sum()
def f():
    with torch.autograd.detect_anomaly():
        y.backward()
said(f, "Error detected in SqrtBackward0", "No forward pass information available")

# NaN made by a hook
x = leaf(1.)
def f():
    with torch.autograd.detect_anomaly():
        y = x * 2
        y.register_hook(lambda g: g * float("nan"))
        y.exp().backward()
said(f, "Error detected in MulBackward0")

# NaN for an input that needs no gradient
x = leaf(1.)
def f():
    with torch.autograd.detect_anomaly():
        (x * torch.tensor([float("nan")], dtype=torch.float64)).backward()
said(f, "Error detected in MulBackward0")

# infinity is no anomaly
x = leaf(0.)
def f():
    with torch.autograd.detect_anomaly():
        x.sqrt().backward()
said(f, "Error detected"), x.grad

# a failing Function
x = leaf(1.)
def f():
    with torch.autograd.detect_anomaly():
        Fails.apply(x).backward()
said(f, "Error detected in FailsBackward", "Traceback of forward call")

# a failing Function outside of the mode
x = leaf(1.)
def f():
    Fails.apply(x).backward()
said(f, "Error detected")

# a failure in double backward
x = leaf(1.)
def f():
    with torch.autograd.detect_anomaly():
        y = FailsTwice.apply(x)
        (g,) = grad((y * y).sum(), x, create_graph=True)
        grad(g.sum(), x)
said(f, "Error detected in FailsBackward", "Previous calculation was induced by FailsTwiceBackward")

# a saved tensor written in place
x = leaf(1.)
def f():
    with torch.autograd.detect_anomaly():
        t = x * 1
        y = t.sin()
        t.add_(1)
        y.backward()
said(f, "Error detected in SinBackward0")[1]

# an integer backward
x = leaf(1., 2.)
def f():
    with torch.autograd.detect_anomaly():
        x[torch.tensor([0, 0])].sum().backward()
said(f, "Error detected"), x.grad

# create_graph under the mode
x = leaf(2.)
with torch.autograd.detect_anomaly():
    (g,) = grad((x ** 3).sum(), x, create_graph=True)
    (h,) = grad(g, x)
g, h

# in place under the mode
x = leaf(2., 3.)
with torch.autograd.detect_anomaly():
    y = x * 2
    y[0].mul_(5)
    y.exp_()
    y.sum().backward()
x.grad
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def culprit(x):
    return x.sqrt()


def test_the_error_itself_shows_the_line_of_the_forward(quiet) -> None:
    x = dt.tensor([0.0, 1.0], requires_grad=True)
    with pytest.raises(RuntimeError) as caught, dt.autograd.detect_anomaly():
        (culprit(x) * 0).sum().backward()
    notes = "\n".join(caught.value.__notes__)
    assert "in culprit" in notes
    assert "return x.sqrt()" in notes
    assert "dualtape/ops" not in notes


def test_the_error_says_how_many_entries_and_who_made_them(quiet) -> None:
    x = dt.tensor([0.0, 0.0, 1.0], requires_grad=True)
    with (
        pytest.raises(RuntimeError, match="2 of 3 entries, which had none in the gradient it was given"),
        dt.autograd.detect_anomaly(),
    ):
        (x.sqrt() * 0).sum().backward()
    with (
        pytest.raises(RuntimeError, match="1 of 3 entries, passed on from the gradient it was given"),
        dt.autograd.detect_anomaly(),
    ):
        x.exp().backward(dt.tensor([1.0, float("nan"), 1.0]))


def test_a_written_view_remembers_who_wrote(quiet) -> None:
    x = dt.tensor([0.0, 1.0], requires_grad=True)
    with pytest.raises(RuntimeError) as caught, dt.autograd.detect_anomaly():
        y = x * 1
        y[:1].sqrt_()
        (y * 0).sum().backward()
    assert "y[:1].sqrt_()" in "\n".join(caught.value.__notes__)


def test_as_a_decorator_it_acts_inside_only(quiet) -> None:
    @dt.autograd.detect_anomaly()
    def inside():
        return dt.is_anomaly_enabled()

    @dt.autograd.set_detect_anomaly(True)
    def switched():
        return dt.is_anomaly_enabled()

    assert (inside(), switched(), dt.is_anomaly_enabled()) == (True, True, False)


def test_double_backward_tells_the_whole_story(quiet) -> None:
    x = dt.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError) as caught, dt.autograd.detect_anomaly():
        (g,) = dt.autograd.grad((x**1.5).sum(), x, create_graph=True)
        g.grad_fn.register_prehook(lambda grads: (grads[0] * float("nan"),))
        dt.autograd.grad(g, x)
    assert "induced by PowBackward0" in "\n".join(caught.value.__notes__)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_bad_value_in_the_forward_is_an_error_at_once_if_asked_for() -> None:
    x = dt.tensor([0.0, 1.0, 4.0], requires_grad=True)
    with (
        dt.autograd.detect_anomaly(check_forward=True),
        pytest.raises(RuntimeError, match=r"log computed .* 0th result: 1 of 3 entries, which had none"),
    ):
        x.log()
    with dt.autograd.detect_anomaly():
        bad = x.log()
    with (
        dt.autograd.detect_anomaly(check_forward=True),
        pytest.raises(RuntimeError, match="passed on from its arguments"),
    ):
        bad * 2
    y = dt.tensor([0.0])
    with (
        dt.autograd.set_detect_anomaly(True, check_forward=True),
        pytest.raises(RuntimeError, match="computed NaN or infinity"),
    ):
        y.reciprocal_()
    assert y.tolist() == [0.0] and y._version == 0


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected in")
def test_stacks_and_the_search_for_nan_are_switched_separately() -> None:
    x = dt.tensor([0.0], requires_grad=True)
    with dt.autograd.detect_anomaly(stacks=False):
        y = x.sqrt() * 0
        assert y.grad_fn._extra is None
        with pytest.raises(RuntimeError, match="nan values"):
            y.backward()
    with dt.autograd.detect_anomaly(check_nan=False):
        y = x.sqrt() * 0
        assert y.grad_fn._extra.stack
        y.backward()


@pytest.mark.parametrize(
    "error, backward", [("KeyError", lambda x: fails(x)), ("RuntimeError", lambda x: x.sqrt() * 0)]
)
def test_warnings_as_errors_do_not_take_the_place_of_the_error(error: str, backward) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mode = dt.autograd.detect_anomaly()
        warnings.simplefilter("error")
        with mode, pytest.raises(Exception, match="no|nan values") as caught:
            backward(dt.zeros(2, requires_grad=True)).sum().backward()
    assert caught.type.__name__ == error
    assert any("Traceback of forward call" in note for note in caught.value.__notes__)


def fails(x: dt.Tensor) -> dt.Tensor:
    class Fails(dt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("no")

    return Fails.apply(x)
