"""Fast paths of writes: in-place methods, ``x[key] = value``, views by keys, saved-tensor hooks, Functions do
the same as the reference path.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape.autograd import views
from dualtape.ops import basic_indexing as keys
from dualtape.ops import dispatch
from dualtape.ops.table import TABLE
from tests.autograd.test_views import PRELUDE
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PROGRAMS = """
# numbers and tensors are assigned to rows, columns, elements, blocks
x = leaf(3, 4); w = leaf(4); b = x.clone()
b[0] = w; b[:, 1] = 2.5; b[2, 3] = w[0]; b[1:, 2:] = w[:2]; b[..., 0] = 7; b[None, 1] = w * 2
about(b), grad((b * b).sum(), (x, w))

# leading dimensions of size one are dropped
x = leaf(2, 3); w = leaf(1, 1, 3); b = x.clone(); b[1] = w; c = torch.zeros(2, 3, dtype=torch.float64); c[:, 1] = leaf(1); d = c * 1; d[0] = leaf(1, 3) * 2
about(b), grad((b * b).sum(), (x, w)), [f.name().rsplit("::", 1)[-1] for n in (b, d) for f, _ in n.grad_fn.next_functions if f is not None]

# an assignment to a view is one to its base
x = leaf(3, 4); b = x.clone(); r = b.t()[1:]; r[0, :2] = 5.; r[1] = leaf(3)
about(b, r, r[0]), grad((b * b).sum(), x, retain_graph=True), grad((r * r).sum(), x)

# a whole assignment is a copy
x = leaf(3); b = x.clone(); b[:] = leaf(3); b[...] = 2.
about(b)

# a tensor without history gets one from what is assigned to it
w = leaf(2); b = torch.zeros(3, 2, dtype=torch.float64); v = b[0]; b[1] = w; b[2, 0] = 3.
about(b, v), grad((b * b).sum(), w)

# a slice is multiplied in place, which is then assigned to itself
x = leaf(4, 2); b = x.clone(); b[1:3] *= 3.; b[0] += b[3]; b[:, 1] /= 2.
about(b), grad((b * b).sum(), x)

# what is assigned may be another part of the same memory
x = leaf(5); b = x.clone(); b[1:3] = b[3:]; b[0] = b[4]
about(b), grad((b * b).sum(), x)

# a view is written again after its base
x = leaf(2, 3); b = x.clone(); v = b[0]; w = b[:, 1]
for k in range(3):
    v.mul_(2.); b.add_(1.); w.mul_(v[1].detach())
about(b, v, w), grad((b * b).sum(), x)

# a number that an integer tensor cannot hold is counted round, or refused
x = torch.tensor([1, 2, 250], dtype=torch.uint8); log = []
x.add_(-3); x.mul_(2 ** 40 + 1); x.sub_(-1)
for write in (lambda: x.add_(math.nan), lambda: x.div_(-3), lambda: x.mul_(1e39)):
    try:
        write()
    except RuntimeError:
        log.append(x.tolist())
x, x._version, log

# values that formulas need are kept before the write
x = leaf(2, 3); y = leaf(3); b = x.clone(); b[1].mul_(y); b[0].exp_(); b[:, 2].div_(y[:2]); b[1].tanh_()
about(b), grad((b * b).sum(), (x, y), create_graph=False)

# second derivatives through writes to views
x = leaf(2, 3); y = leaf(3); b = x.clone(); b[1].mul_(y); b[:, 0] = y[0] * y[1]; b[0, 1] = 2.; b[1, 2:].add_(y[:1])
first = grad((b * b * b).sum(), (x, y), create_graph=True)
[t.detach() for t in first], grad(first[0].sum() + (first[1] * first[1]).sum(), (x, y))

# retained gradients follow a base that is assigned to
x = leaf(3); b = x * 2; b.retain_grad(); b[1] = 5.; (b * b).sum().backward()
b.grad, x.grad

# a hook stays with the history from before an assignment
seen = []; x = leaf(3); b = x * 2; b.register_hook(lambda g: seen.append(g.tolist())); b[1] = 5.; (b * b).sum().backward()
seen, x.grad

# a part of a leaf is not assigned to
x = leaf(3); x[0] = 1.

# a part of a view of a leaf is not assigned to
x = leaf(3, 2); v = x[1]; v[0] = 1.

# a part of a leaf is assigned to under no_grad
x = leaf(3)
with torch.no_grad():
    x[0] = 5.; x[1:] = torch.zeros(2, dtype=torch.float64)
about(x)

# a view made under no_grad is not assigned to with grad mode on
b = leaf(2, 2).clone()
with torch.no_grad():
    v = b[0]
v[0] = 1.

# one of several views is not assigned to
b = leaf(4).clone(); v = b.split(2)[0]; v[0] = 1.

# an expanded tensor is not assigned to
b = torch.zeros(3, dtype=torch.float64).expand(2, 3); b[:, 1] = 1.

# what does not fit is not assigned, and nothing changes
b = leaf(3, 2).clone(); seen = []
for key, value in ((0, torch.zeros(3)), ((0, 0, 0), 1.), (5, 1.), ((slice(None), 3), 1.), (0, "text"), (slice(0, 2, -1), 1.)):
    try:
        b[key] = value
    except Exception as error:
        seen.append(type(error).__name__)
    else:
        seen.append("done")
about(b), seen

# numbers that are too large are refused
b = torch.zeros(2); b[0] = 1e300

# numbers of the largest size are not
b = torch.zeros(2); b[0] = 3e38; b[1] = -inf
b

# integers and booleans
b = torch.zeros(2, 2, dtype=torch.int64); b[0] = 3; b[1, 1] = True; b[1, 0] = 2.7; c = torch.zeros(2, dtype=torch.bool); c[0] = 2
b, c, b._version, c._version

# keys of zero dimensions
b = leaf(2).clone(); b[0][()] = 4.; b[1][...] = 5.
about(b)

# a saved tensor that is assigned to is noticed
x = leaf(3); b = x.clone(); y = (b * b).sum(); b[1] = 2.; y.backward()

# a saved result that is assigned to is noticed
x = leaf(3); b = x.exp(); b[1] = 2.; b.sum().backward()

# views by keys: names, versions, bases
x = leaf(4, 3, 2); v = x[1:, 0]; w = x[1, 2, 1]; u = x[:, 1:2, 0]
about(v, w, u), v._base is x, w.shape, u.stride(), x[..., 0].shape, x[:, :].shape

# keys that are refused
x = leaf(2, 3); seen = []
for key in (5, (0, 3), (0, 0, 0), slice(0, 2, 0), slice(2, 0, -1), (slice(None), -4)):
    try:
        x[key]
    except Exception as error:
        seen.append(type(error).__name__)
seen

# an optimizer's arithmetic
m, v, g = leaf(3).detach(), leaf(3).detach(), leaf(3).detach(); p = leaf(3)
with torch.no_grad():
    m.mul_(0.9).add_(g, alpha=0.1); v.mul_(0.999).addcmul_(g, g, value=0.001); p.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3)
    m.sub_(g, alpha=2.0); m.lerp_(g, 0.25); v.addcmul_(g[:1], g, value=0.5); v.addcdiv_(g, g[:1], value=0.5)
m, v, p.detach(), m._version, v._version, p._version

# the same arithmetic, recorded
x = leaf(3); y = leaf(3); b = x.clone(); b.add_(y, alpha=0.5); b.addcmul_(y, y, value=2.0); b.addcdiv_(x, y, value=0.25); b.sub_(x, alpha=3); b.clamp_(-1., 40.)
about(b), grad((b * b).sum(), (x, y))

# what adding with a factor saves
x = leaf(3); y = leaf(3); b = x.clone(); b.add_(y, alpha=0.5); c = x.clone()
c[1:].sub_(y[1:], alpha=2.5); d = torch.zeros(3, dtype=torch.float64).add_(y, alpha=3.0)
b.grad_fn._saved_alpha, about(b, c, d), grad((b * c * d).sum(), (x, y))

# whole tensors are written over
m = torch.zeros(2, 3, dtype=torch.float64); n = torch.zeros(3, dtype=torch.int64); seen = []
m.fill_(2); m.t().copy_(leaf(2).detach()); n.fill_(4); n[1:].zero_(); m[0].fill_(torch.tensor(3.)); m[1].copy_(n)
for write in (lambda: m.fill_(torch.zeros(2)), lambda: m.copy_(torch.zeros(2)), lambda: m.float().fill_(1e300), lambda: m[0].copy_(m)):
    try:
        write()
    except Exception as error:
        seen.append(type(error).__name__)
m, n, m._version, n._version, seen

# scaled changes that do not fit are refused, and nothing changes
m = torch.zeros(1, dtype=torch.float64); seen = []
for write in (lambda: m.addcmul_(torch.zeros(3, dtype=torch.float64), m, value=0.5), lambda: m.add_(torch.zeros(3, dtype=torch.float64), alpha=0.5),
              lambda: m.addcdiv_(m, torch.zeros(3, dtype=torch.float64), value=1.0), lambda: m.mul_(2., alpha=3.), lambda: m.add_(),
              lambda: m.add_(1., value=2.)):
    try:
        write()
    except Exception as error:
        seen.append(type(error).__name__)
seen, m, m._version

# other in-place methods, recorded on views
x = leaf(3, 4); b = x.clone(); b[0].zero_(); b[1].fill_(2.); b[:, 1].copy_(x[:, 0])
b[2].masked_fill_(torch.tensor([True, False, True, False]), 9.); b[:, 3].relu_()
about(b), grad((b * b).sum(), x)

# index tensors are assigned to
x = leaf(4, 2); w = leaf(2, 2); b = x.clone(); i = torch.tensor([0, 2]); b[i] = w; b[1:][i[:1]] = 3.; b[:, 0][i] = w[0]
about(b), grad((b * b).sum(), (x, w)), x[i], x[i.unsqueeze(0)].shape

# nothing is recorded under no_grad, whatever is assigned
w = leaf(2); b = torch.zeros(3, 2, dtype=torch.float64)
with torch.no_grad():
    b[0] = w; b[1] = w * 2
about(b)

# a view that was written behind its back is assigned with its new history
w = leaf(3); b = torch.ones(2, 3, dtype=torch.float64); v = b[0]; b.mul_(w)
c = torch.zeros(2, 3, dtype=torch.float64); c[1] = v
about(c), grad((c * c).sum(), w)

# a step that is a tensor is read when it is assigned by
x = leaf(4); b = x.clone(); s = torch.tensor(2); b[0:4:s] = 0.; s.fill_(1)
about(b), grad(b.sum(), x)

# numbers that a dtype does not hold are refused, and nothing changes
seen = []
for dtype, value in ((torch.float32, 1j), (torch.float32, np.float64(1e300)), (torch.uint8, 300), (torch.int8, 128), (torch.int64, 1j), (torch.float64, 2 - 1j)):
    b = torch.ones(2, 2).to(dtype)
    try:
        b[0] = value
    except RuntimeError:
        seen.append((b.tolist(), b._version))
seen

# integers and booleans among floating-point numbers
b = torch.zeros(2, 3); b[0, 0] = 2 ** 40 + 1; b[0, 1] = True; b[1] = -7
b, b._version

# an assignment is gone back through once
x = leaf(3); b = x.clone(); b[0] = 2.; y = b.sum(); y.backward(); y.backward()

# a write to a view is gone back through once, even if nothing was saved
x = leaf(3); b = x.clone(); b[1:].add_(1.); y = b.sum(); y.backward(); y.backward()

# an assignment is gone back through again if the graph is kept
x = leaf(3); b = x.clone(); b[0] = 2.; b[1:].mul_(3.); y = b.sum(); y.backward(retain_graph=True); y.backward()
x.grad

# a part of a base that lies column by column
x = leaf(3, 4); b = x.clone().t().clone(); b.t().view(12)[1:5].mul_(5.); b.t().view(12)[7] = 0.; g = leaf(4, 3).detach()
b.stride(), about(b), grad((b * b * g).sum(), x)

# an operand of a dtype that the result cannot be written in is refused, and nothing changes
b = torch.ones(2); seen = []
for write in (lambda: b.mul_(torch.ones(2, dtype=torch.complex64)), lambda: b.add_(torch.ones(2, dtype=torch.complex128), alpha=0.5), lambda: b.add_(torch.ones(2), alpha=1j)):
    try:
        write()
    except RuntimeError:
        seen.append((b.tolist(), b._version))
b.mul_(torch.full((2,), 0.1, dtype=torch.float64)); b.copy_(b.to(torch.complex64) * 3)
seen, b, b._version

# an operand of another dtype gets its gradient in its own
x = leaf(2); y = torch.ones(2, requires_grad=True); b = x.clone(); b.mul_(y); b[0:1].add_(y[:1], alpha=0.5); b.sum().backward()
x.grad, y.grad

# a view of a view that was made under no_grad is not written to with grad mode on
b = leaf(2, 2).clone()
with torch.no_grad():
    v = b[0]
w = v[1:]; w.mul_(2.)

# in-place operations that have no derivatives
b = torch.tensor([6, 10, 12]); b.bitwise_and_(torch.tensor([3, 6, 8])); b.bitwise_or_(torch.tensor([1, 1, 1])); b.gcd_(torch.tensor([9, 3, 3])); b.bitwise_not_()
b, b._version
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


# --- against the reference path -------------------------------------------------------------------

KEYS = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, 2),
    (slice(None), 1),
    (1, slice(1, None)),
    (2, -1),
    (..., 0),
    (None, 0),
    (slice(0, 0),),
    (slice(None), slice(1, 3)),
]
BASES = {
    "a result": lambda x: x * 1.5,
    "a transposed view": lambda x: (x * 1.5).t(),
    "a part": lambda x: (x * 1.5)[1:],
    "a view of several steps": lambda x: (x * 1.5).reshape(2, 8)[:, 4:].t(),
    "without history": lambda x: dt.ones(4, 4, dtype=dt.float64),
}


def _written(key: Any, base: str, value: str) -> tuple:
    """What an assignment, then a write to a view, leave behind: values, versions, names, first and second gradients."""
    x = (dt.arange(16, dtype=dt.float64) / 8 + 0.5).reshape(4, 4).requires_grad_()
    w = dt.tensor(0.7, dtype=dt.float64, requires_grad=True)
    target = BASES[base](x)
    target[key] = {"number": 1.25, "tensor": dt.tensor(2.0, dtype=dt.float64), "with history": w * 2}[value]
    target[key].mul_(w)
    root = target if target._base is None else target._base
    loss = (root * root * target.sum()).sum()
    first = dt.autograd.grad(loss, (x, w), create_graph=True, allow_unused=True)
    second = dt.autograd.grad(
        sum((g * g).sum() for g in first if g is not None), (x, w), retain_graph=True, allow_unused=True
    )
    plain = dt.autograd.grad((root * root * target.sum()).sum(), (x, w), allow_unused=True)
    return (
        root.tolist(),
        root._version,
        root.grad_fn.name(),
        [f and f.name() for f, _ in root.grad_fn.next_functions],
        target.grad_fn.name(),
        *(None if g is None else g.tolist() for g in (*first, *second, *plain)),
    )


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("value", ["number", "tensor", "with history"])
def test_an_assignment_does_what_the_whole_way_does(base: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [_written(key, base, value) for key in KEYS]
    monkeypatch.setattr(keys, "assign", lambda *args: False)
    monkeypatch.setattr(keys, "view_at", lambda *args: None)
    monkeypatch.setattr(views.CopySlices, "_vjp", lambda *args: None)
    monkeypatch.setattr(views.AsStridedBackward0, "_vjp", lambda *args: None)
    for key, found in zip(KEYS, quick, strict=True):
        wanted = _written(key, base, value)
        assert found[:5] == wanted[:5], key
        for a, b in zip(found[5:], wanted[5:], strict=True):
            assert (a is None) == (b is None), key
            if a is not None:
                np.testing.assert_allclose(a, b, err_msg=repr(key))


def test_an_assignment_takes_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "call_inplace", None)
    b = dt.ones(3, 3, requires_grad=True) * 2
    for key in (0, slice(1), (slice(None), 1), (2, 2)):
        b[key] = 1.5
    b[1] = dt.ones(3, requires_grad=True)
    assert b._version == 5 and b.grad_fn.name() == "CopySlices"


@pytest.mark.parametrize(
    ("shape", "strides", "apart"),
    [
        ((3,), (8,), True),
        ((3,), (0,), False),
        ((1,), (0,), True),
        ((0, 3), (0, 8), True),
        ((2, 3), (8, 16), True),
        ((2, 3), (8, 8), False),
        ((3, 2), (-16, 8), True),
        ((3, 3), (8, 16), False),
        ((4, 3, 2), (8, 64, 32), True),
    ],
)
def test_memory_that_elements_share_is_seen_in_the_strides(shape: tuple, strides: tuple, apart: bool) -> None:
    start = np.zeros(100)[50:]
    assert views.disjoint(np.lib.stride_tricks.as_strided(start, shape, strides)) == apart


def test_windows_that_overlap_are_written_as_the_whole_way_writes_them() -> None:
    b = dt.arange(6, dtype=dt.float32)
    b.unfold(0, 3, 1).mul_(2.0)
    assert b.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


# --- nothing partly written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.mul_(1e30),
        lambda x: x.mul_(dt.full((3,), 1e30)),
        lambda x: x.exp_(),
        lambda x: x[0:2].mul_(1e30),
        lambda x: x.add_(dt.full((3,), 3e38), alpha=10.0),
        lambda x: x.addcmul_(x.detach().clone(), dt.full((3,), 1e30), value=1e30),
        lambda x: x.addcdiv_(x.detach().clone(), dt.zeros(3), value=2.0),
        lambda x: x.div_(0.0).sub_(x.detach().clone()),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("strict", ["a warning is an error", "NumPy raises"])
def test_a_complaint_about_values_leaves_no_write_behind_uncounted(write: Any, recorded: bool, strict: str) -> None:
    def result() -> tuple:
        x = dt.full((3,), 1e20).requires_grad_(recorded) * 1
        write(x)
        return x.tolist(), x._version, x.grad_fn and x.grad_fn.name()

    wanted = result()
    with warnings.catch_warnings():
        if strict == "NumPy raises":
            with np.errstate(all="raise"):
                found = result()
        else:
            warnings.simplefilter("error")
            found = result()
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize("strict", ["a warning is an error", "NumPy raises"])
def test_a_complaint_about_values_loses_no_write_beside_an_alias(strict: str) -> None:
    x = dt.tensor([1e20, 2.0, 1e20, 1e20])
    with warnings.catch_warnings(), np.errstate(all="raise" if strict == "NumPy raises" else "warn"):
        warnings.simplefilter("error")
        x[1:].mul_(x[:-1])  # NumPy copies what overlaps
    assert x._version == 1
    np.testing.assert_allclose(x, np.array([1e20, 2e20, 2e20, np.inf]), rtol=1e-6)


def test_a_write_that_fails_changes_nothing() -> None:
    b = dt.ones(2, 3, requires_grad=True) * 2
    view = b[0]
    node = b.grad_fn
    for write in (
        lambda: view.mul_(dt.ones(4)),
        lambda: view.add_(dt.ones(2, 3)),
        lambda: b.__setitem__(0, dt.ones(4)),
        lambda: b.__setitem__(9, 1.0),
        lambda: view.addcmul_(dt.ones(4), dt.ones(4), value=0.5),
        lambda: view.copy_(dt.ones(4)),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            write()
    assert (
        b._version == 0
        and b.grad_fn is node
        and b.tolist() == [[2.0] * 3] * 2
        and view.grad_fn.name() == "SelectBackward0"
    )


def test_memory_that_may_not_be_written_is_not() -> None:
    array = np.ones((2, 3))
    array.flags.writeable = False
    x = dt.from_numpy(array)
    for write in (lambda: x.mul_(2.0), lambda: x.__setitem__(0, 1.0), lambda: x.addcmul_(x, x, value=0.5)):
        with pytest.raises((RuntimeError, ValueError)):
            write()
    assert x._version == 0


def test_inference_tensors_are_not_written_outside() -> None:
    with dt.inference_mode():
        x = dt.ones(3)
        x[0] = 2.0
    for write in (
        lambda: x.__setitem__(1, 2.0),
        lambda: x.mul_(2.0),
        lambda: x.addcmul_(x, x, value=1.0),
        lambda: x.add_(x, alpha=2.0),
    ):
        with pytest.raises(RuntimeError, match="[Ii]nference"):
            write()
    b = dt.zeros(3)
    b[1:] = x[1:]
    assert b.tolist() == [0.0, 1.0, 1.0]


# --- who wrote ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        "b[1] = 2.0",
        "b[0:1].mul_(2.0)",
        "b.mul_(2.0)",
        "b.add_(b.detach(), alpha=2.0)",
        "b.detach().addcmul_(c, c, value=2.0)",
        "b.clamp_(0.0)",
        "b[1:] += 1",
    ],
)
def test_the_error_names_the_line_of_the_write(write: str) -> None:
    source = f"b = dt.ones(3, requires_grad=True) * 1\nc = dt.ones(3)\ny = b * b\n\n{write}\n"
    names = {"dt": dt, "__name__": "a_users_module"}
    exec(compile(source, "a_users_file.py", "exec"), names)
    with pytest.raises(RuntimeError, match=r"MulBackward0.*a_users_file\.py:5"):
        names["y"].sum().backward()  # type: ignore[attr-defined]


def test_a_write_that_no_python_code_asked_for_is_counted() -> None:
    import _thread

    x, done = dt.ones(2), threading.Event()

    _thread.start_new_thread(x.mul_, (3.0,))
    for _ in range(1000):
        if x._version:
            break
        done.wait(0.01)
    assert x.tolist() == [3.0, 3.0] and x._version == 1


# --- saved-tensor hooks ---------------------------------------------------------------------------


def _hooked(program: Any, unusual: bool) -> tuple:
    """Return what hooks see in forward and backward of ``program``, on the fast or the reference path."""
    seen: list = []

    def pack(t: dt.Tensor) -> Any:
        seen.append(("pack", t.tolist(), t.requires_grad, t.grad_fn and t.grad_fn.name(), dt.is_grad_enabled()))
        return (len(seen), t.detach().clone())

    def unpack(packed: Any) -> dt.Tensor:
        seen.append(("unpack", packed[0]))
        return packed[1]

    x = dt.tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True)
    w = dt.tensor([2.0, 3.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = dt.autograd.detect_anomaly(check_nan=False) if unusual else dt.enable_grad()
        with context, dt.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = program(x, w)
    gradients = dt.autograd.grad(y.sum(), (x, w), allow_unused=True)
    return seen, y.tolist(), [None if g is None else g.tolist() for g in gradients]


@pytest.mark.parametrize(
    "program",
    [
        lambda x, w: (x * w).tanh(),
        lambda x, w: (x @ x).exp() / w,
        lambda x, w: x.softmax(dim=1) * w.sum(0, keepdim=True),
        lambda x, w: (x * 2.0 + 1).pow(3),
        lambda x, w: dt.where(x > 1, x * w, w),
        lambda x, w: x.max(dim=0)[0] * w,
        lambda x, w: x[0] * w.mul(2)[[1, 0]],
        lambda x, w: dt.cat([x, x * w]).prod(),
        lambda x, w: (x * 1).mul_(w).exp_(),
        lambda x, w: x.norm() * w.std(),
    ],
)
def test_hooks_see_the_same_on_the_quick_way(program: Any) -> None:
    assert repr(_hooked(program, False)) == repr(_hooked(program, True))


def test_a_pack_hook_that_raises_leaves_the_mode_as_it_was() -> None:
    x = dt.ones(2, requires_grad=True)

    def refuse(t: dt.Tensor) -> Any:
        raise ValueError("no room")

    with dt.autograd.graph.saved_tensors_hooks(refuse, lambda t: t):
        mode = dt.modes.current()
        for op in (lambda: x * x, lambda: x.exp(), lambda: x.sum(dim=0).exp(), lambda: dt.where(x > 0, x * x, x)):
            with pytest.raises(ValueError, match="no room"):
                op()
            assert dt.modes.current() is mode
    assert (x * x).grad_fn is not None


def test_a_pack_hook_may_not_write_on_the_quick_way() -> None:
    x = dt.ones(2, requires_grad=True)
    y = dt.ones(2)
    with (
        dt.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
        pytest.raises(RuntimeError, match="modifying its input in place"),
    ):
        x * y


def test_the_innermost_hooks_are_the_ones_that_are_called() -> None:
    seen: list = []
    hooks = lambda name: dt.autograd.graph.saved_tensors_hooks(
        lambda t: seen.append(name) or t, lambda t: seen.append(f"-{name}") or t
    )
    x = dt.ones(2, requires_grad=True)
    with hooks("outer"):
        y = x.exp()
        with hooks("inner"):
            y = y.exp()
        with dt.no_grad():
            x.exp()
        y = y.exp()
    y.sum().backward()
    assert seen == ["outer", "inner", "outer", "-outer", "-inner", "-outer"]


def test_a_result_that_is_packed_as_it_is_forms_no_cycle_and_comes_back_with_history() -> None:
    x = dt.tensor(0.5, requires_grad=True)
    seen: list = []
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append(t) or t):
        y = x.tanh()
    (first,) = dt.autograd.grad(y, x, create_graph=True)
    (second,) = dt.autograd.grad(first, x)
    np.testing.assert_allclose(second.item(), -2 * np.tanh(0.5) * (1 - np.tanh(0.5) ** 2), rtol=1e-5)
    assert seen[0].grad_fn is y.grad_fn


# --- Functions ------------------------------------------------------------------------------------


class Scale(dt.autograd.Function):
    """x * factor, with everything a context offers."""

    @staticmethod
    def forward(ctx: Any, x: dt.Tensor, factor: Any, other: Any = None) -> dt.Tensor:
        out = x * factor
        ctx.save_for_backward(x, None, out)
        ctx.factor = factor
        return out

    @staticmethod
    def backward(ctx: Any, g: dt.Tensor) -> tuple:
        x, nothing, out = ctx.saved_tensors
        assert nothing is None and out.tolist() == (x * ctx.factor).tolist()
        return g * ctx.factor, None, None


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_function_with_options_runs_forward_and_back(create_graph: bool) -> None:
    x = dt.ones(3, requires_grad=True)
    y = Scale.apply(x * 2, 3.0)
    assert y.grad_fn.name() == "ScaleBackward" and y.grad_fn.needs_input_grad == (True, False)
    assert dt.autograd.grad(y.sum(), x, create_graph=create_graph)[0].tolist() == [6.0] * 3


def test_the_saved_values_of_a_function_are_released_and_checked() -> None:
    x = dt.ones(3, requires_grad=True)
    y = Scale.apply(x, 3.0)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    b = x * 1
    y = Scale.apply(b, 3.0)
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = Scale.apply(x, 3.0)
    y.sum().backward(retain_graph=True)
    y.sum().backward()


def test_a_function_that_fails_leaves_grad_mode_on() -> None:
    class Fails(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: dt.Tensor) -> dt.Tensor:
            raise ValueError("in forward")

    with pytest.raises(ValueError, match="in forward"):
        Fails.apply(dt.ones(2, requires_grad=True))
    assert dt.is_grad_enabled()


def test_a_function_writes_to_a_view_and_its_base_gets_the_history() -> None:
    class Double(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: dt.Tensor) -> dt.Tensor:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: dt.Tensor) -> dt.Tensor:
            return g * 2

    x = dt.ones(3, requires_grad=True)
    b = x * 1
    Double.apply(b[1:])
    assert b.grad_fn.name() == "CopySlices" and b.tolist() == [1.0, 2.0, 2.0]
    assert dt.autograd.grad(b.sum(), x)[0].tolist() == [1.0, 2.0, 2.0]


def test_hooks_pack_what_a_function_saves() -> None:
    seen: list = []
    x = dt.ones(2, requires_grad=True)
    with dt.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
        y = Scale.apply(x, 3.0)
    assert seen == [[1.0, 1.0], [3.0, 3.0]]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# --- several threads ------------------------------------------------------------------------------


def test_threads_write_and_go_back_each_on_their_own() -> None:
    failed: list = []

    def work(seed: int) -> None:
        try:
            for k in range(50):
                x = dt.full((3, 3), float(seed), requires_grad=True)
                b = x * 1
                b[k % 3] = 1.0
                b[:, 1].mul_(2.0)
                (g,) = dt.autograd.grad(b.sum(), x)
                wanted = np.ones((3, 3))
                wanted[:, 1] = 2
                wanted[k % 3] = 0
                assert g.tolist() == wanted.tolist()
        except BaseException as error:
            failed.append(error)

    team = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert not failed


def test_a_write_beside_an_overlapping_operand_computes_as_if_that_were_a_copy() -> None:
    b = dt.arange(6.0).reshape(2, 3)
    b.mul_(b[0])  # PyTorch refuses: see docs/differences.md
    assert b.tolist() == [[0.0, 1.0, 4.0], [0.0, 4.0, 10.0]]
    c = dt.arange(5.0)
    c[1:] = c[:-1]
    assert c.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]


# --- when the fast paths of x[key] are taken ----------------------------------------------------------


UNUSUAL_MODES = {
    "hooks on what is saved": lambda: dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "inference mode": dt.inference_mode,
    "a level": fwAD.dual_level,
}


def test_a_plain_key_takes_the_short_cuts() -> None:
    x = dt.ones(3, 3)
    assert keys.view_at(x, (1,), False) is not None
    for key in (0, slice(1), (slice(None), 1), (2, 2)):
        assert keys.assign(x, key, 2.0)
        assert keys.assign(x, key, dt.tensor(3.0))


@pytest.mark.parametrize("mode", UNUSUAL_MODES)
def test_no_short_cut_is_taken_where_a_mode_is_on(mode: str) -> None:
    x = dt.ones(3, 3)
    with UNUSUAL_MODES[mode]():
        assert keys.view_at(x, (1,), False) is None
        assert not keys.assign(x, 0, 2.0)
    assert x._version == 0 and bool((x == 1).all())


def test_no_short_cut_is_taken_for_values_of_another_dtype_or_over_other_arrays() -> None:
    x = dt.ones(3, 3)
    assert not keys.assign(x, 0, dt.ones(3, dtype=dt.float64))
    assert x._version == 0 and bool((x == 1).all())

    def inside(t: dt.Tensor) -> dt.Tensor:
        assert keys.view_at(t, (1,), False) is None and not keys.assign(t, 0, 2.0)
        return t

    dt.vmap(inside)(dt.ones(2, 3, 3))


def test_a_value_of_another_dtype_gets_its_gradient_in_its_own() -> None:
    x, v = dt.ones(3) * 1, dt.ones(1, dtype=dt.float64, requires_grad=True)
    x[1:2] = v * 2
    x.sum().backward()
    assert v.grad.dtype is dt.float64 and v.grad.tolist() == [2.0]


@pytest.mark.parametrize("written", [False, True])
def test_a_saved_value_that_was_written_is_noticed_whichever_gradient_is_asked_for(written: bool) -> None:
    x, w = dt.ones(2, requires_grad=True), dt.ones(2, requires_grad=True)
    a, b = (x * 2).add_(0), (w * 3).add_(0)  # both have been written before they are saved
    z = a * b
    if written:
        a.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            dt.autograd.grad(z.sum(), x)
    else:
        assert dt.autograd.grad(z.sum(), x)[0].tolist() == [6.0, 6.0]


def test_an_unknown_keyword_is_refused_and_out_is_written() -> None:
    x, out = dt.ones(2, 2), dt.empty(0)
    with pytest.raises(TypeError):
        x.sum(dims=0)
    with pytest.raises(TypeError):
        dt.clamp(x, lowest=0.0)
    assert dt.sum(x, dim=0, out=out) is out and out.tolist() == [2.0, 2.0]


def test_assigning_to_a_part_of_a_subclass_asks_it():
    asked = []

    class Asked(dt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = dt.zeros(2, 3).as_subclass(Asked)
    x[0] = 1.0
    x[1, :2] = dt.ones(2)
    assert asked.count("__setitem__") == 2


def test_an_operand_that_is_nothing_we_know_answers_for_itself_in_place():
    class Other:
        def __radd__(self, other):
            return "mine"

    x = dt.ones(2)
    y = x
    y += Other()
    assert y == "mine" and x.tolist() == [1.0, 1.0]


def test_a_value_of_another_shape_that_is_assigned_has_the_gradient_of_what_it_is_spread_over():
    for shape in ((1,), (3,), (1, 3), (2, 1), (1, 1)):
        value = dt.ones(shape, requires_grad=True)
        x = dt.zeros(4, 2, 3)
        x[1] = value
        (x * dt.arange(24.0).reshape(4, 2, 3)).sum().backward()
        spread = dt.arange(24.0).reshape(4, 2, 3)[1].numpy()
        expected = np.zeros(shape, np.float32)
        np.add.at(expected, tuple(np.indices((2, 3))[-len(shape) :] % np.reshape(shape, (-1, 1, 1))), spread)
        assert np.allclose(value.grad.numpy(), expected)


# --- which way is taken -------------------------------------------------------------------------------


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the whole way was taken")


WRITES = {
    "mul_(y)": ("mul", lambda x, y: x.mul_(y)),
    "mul_(y), spread": ("mul", lambda x, y: x.mul_(y[0])),
    "add_(2)": ("add", lambda x, y: x.add_(2)),
    "add_(y, alpha=0.5)": ("add", lambda x, y: x.add_(y, alpha=0.5)),
    "exp_()": ("exp", lambda x, y: x.exp_()),
    "clamp_(0, 1)": ("clamp", lambda x, y: x.clamp_(0.0, 1.0)),
    "copy_(y)": ("copy", lambda x, y: x.copy_(y)),
    "fill_(2.0)": ("refill", lambda x, y: x.fill_(2.0)),
    "addcmul_(y, y)": ("addcmul", lambda x, y: x.detach().addcmul_(y, y, value=0.5)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("write", WRITES)
def test_a_usual_write_takes_the_quick_way(
    write: str, history: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, run = WRITES[write]
    start = dt.ones(2, 3, dtype=getattr(dt, dtype), requires_grad=history)
    y = dt.ones(2, 3, dtype=start.dtype)
    run(start * 1, y)  # its function is written
    monkeypatch.setitem(TABLE[name].inplace_function.__globals__, "_call_inplace", _refuse)
    x = start * 1
    run(x, y)
    assert x._version == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("history", [False, True])
def test_usual_assignments_take_the_quick_way(history: bool, dtype: str) -> None:
    x = dt.ones(4, 3, dtype=getattr(dt, dtype), requires_grad=history) * 1
    y = dt.ones(4, 3, dtype=x.dtype)
    assert keys.assign(x, slice(0, 4, 2), 1.5) and keys.assign(x, (slice(1, None), 0), 2)
    assert keys.assign(x, 0, y[0]) and keys.assign(x, slice(1, 3), y[0]) and keys.assign(x, slice(1, 3), y[:1])
    assert keys.assign(x, (slice(None), 1), y[:, 1]) and keys.assign(x.t(), 1, y[1, 0])
    assert keys.assign(y, 0, dt.nn.Parameter(dt.ones(3, dtype=x.dtype)))
    for key in (0, slice(1, 3), slice(0, 4, 2), slice(None, 2), slice(1, None)):
        assert keys.view_at(x, (key,), type(key) is slice) is not None
        assert keys.view_at(x.t()[1:].t(), (key,), type(key) is slice) is not None


def test_a_view_is_written_in_the_quick_way_when_its_base_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dt.ones(2, 3, requires_grad=True)
    for row in ("mul", "add"):
        (x * 1).mul_(2).add_(1)
        monkeypatch.setitem(TABLE[row].inplace_function.__globals__, "_call_inplace", _refuse)
    b = x * 1
    v = b[0]
    b.mul_(2)
    v.add_(1)
    b.mul_(3)
    v.mul_(2)
    assert dt.autograd.grad(b.sum(), x)[0].tolist() == [[12.0] * 3, [6.0] * 3]


# --- operands and options that are not plain ------------------------------------------------------------


def test_an_array_is_added_in_place() -> None:
    x = dt.ones(2)
    y = x
    y += np.ones(2, np.float32)
    y *= np.full(2, 3.0, np.float32)
    assert y is x and x.tolist() == [6.0, 6.0] and x._version == 2


def test_an_operand_that_overrides_is_asked_in_place() -> None:
    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    x = dt.ones(2)
    x += Other()
    assert x == "add_"


def test_a_place_that_overrides_is_asked_where_values_are_put() -> None:
    asked = []

    class Asked(dt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = dt.zeros(3)
    x.index_put_((dt.tensor([1]).as_subclass(Asked),), dt.ones(1))
    assert "index_put_" in asked and x.tolist() == [0.0, 1.0, 0.0]


def test_a_number_too_large_is_complained_about_each_time() -> None:
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert (dt.ones(1) * 3e300).item() == np.inf
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            dt.ones(1) * 3e300


@pytest.mark.parametrize("number", [2**63, -(2**70)])
def test_an_integer_that_no_integer_holds_is_refused(number: int) -> None:
    x = dt.ones(2, 2, dtype=dt.int64)
    for write in (lambda: x.__setitem__(0, number), lambda: x.fill_(number)):
        with pytest.raises(RuntimeError, match="without overflow"):
            write()
    assert x._version == 0 and bool((x == 1).all())
