"""Optimizers: from the same start and the same gradients, PyTorch's parameters, state and options."""

from __future__ import annotations

import copy
import doctest
import gc
import pickle
import weakref
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from tests.duck_array import asarray
from tests.same_program import needs_torch, torch

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        dict(momentum=0.9),
        dict(momentum=0.9, nesterov=True),
        dict(momentum=0.5, dampening=0.3, weight_decay=0.1),
        dict(weight_decay=0.1, maximize=True),
    ],
    "Adam": [
        {},
        dict(amsgrad=True),
        dict(weight_decay=0.1, betas=(0.5, 0.9)),
        dict(maximize=True, eps=1e-3),
        dict(weight_decay=0.1, decoupled_weight_decay=True),
    ],
    "AdamW": [{}, dict(amsgrad=True, weight_decay=0.3), dict(maximize=True)],
    "Adamax": [{}, dict(weight_decay=0.1, maximize=True, betas=(0.8, 0.9))],
    "NAdam": [
        {},
        dict(weight_decay=0.1),
        dict(weight_decay=0.1, decoupled_weight_decay=True, momentum_decay=0.1),
        dict(maximize=True),
    ],
    "RAdam": [
        {},
        dict(weight_decay=0.1, betas=(0.8, 0.9)),
        dict(weight_decay=0.1, decoupled_weight_decay=True),
        dict(maximize=True),
    ],
    "Adagrad": [{}, dict(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.2), dict(maximize=True)],
    "Adadelta": [{}, dict(rho=0.5, weight_decay=0.1, maximize=True)],
    "RMSprop": [
        {},
        dict(momentum=0.9),
        dict(centered=True, weight_decay=0.1),
        dict(centered=True, momentum=0.5, maximize=True, alpha=0.5),
    ],
    "Rprop": [{}, dict(etas=(0.4, 1.5), step_sizes=(1e-3, 0.3)), dict(maximize=True)],
    "ASGD": [{}, dict(lambd=0.1, alpha=0.5, t0=5, weight_decay=0.1), dict(maximize=True)],
}
RECORDED = sorted(OPTIONS)
FUSED = ["Adam", "AdamW", "Adagrad", "SGD"]
FORMS: list[dict[str, Any]] = [{}, {"foreach": False}, {"foreach": True}, {"fused": True}, {"differentiable": True}]
CASES = [
    (name, options, form)
    for name, several in OPTIONS.items()
    for options in several
    for form in FORMS
    if "fused" not in form or name in FUSED
]
SHAPES = [(3, 2), (4,), (), (2, 1, 2)]


@pytest.fixture
def doubles() -> Any:
    """Counts of steps in float64, so that what is computed from them can be compared."""
    for T in (torch, dt):
        T.set_default_dtype(T.float64)
    yield
    for T in (torch, dt):
        T.set_default_dtype(T.float32)


def start(T: Any, dtype: str) -> list:
    draw = np.random.default_rng(0)
    values = [draw.normal(size=shape) + (1j * draw.normal(size=shape) if "complex" in dtype else 0) for shape in SHAPES]
    return [T.tensor(v.tolist(), dtype=getattr(T, dtype)).reshape(v.shape) for v in values]


def train(T: Any, name: str, options: dict, dtype: str = "float64", steps: int = 20) -> tuple:
    leaves = [p.requires_grad_() for p in start(T, dtype)]
    recorded = options.get("differentiable")
    params = [p.clone() for p in leaves] if recorded else leaves
    optimizer = getattr(T.optim, name)(params[:3], **options)
    optimizer.add_param_group({"params": params[3:], "lr": 0.05})
    for k in range(steps):
        for number, p in enumerate(params):
            # a gradient that depends on the parameter, changes its sign, and is now and then not there
            value = (p.detach() * (number + 1) - 0.3 * (k % 3)) * (-1) ** (k // 7)
            p.grad = None if number == 1 and k % 5 == 2 and not recorded else value
        optimizer.step()
    return params, optimizer


def plain(value: Any) -> Any:
    """A state with arrays in the place of tensors."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if hasattr(value, "detach"):
        value = value.detach()
        value = value.float() if "bfloat16" in str(value.dtype) else value
        return (str(value.dtype).split(".")[1], np.asarray(value.numpy()))
    return value


def compare(ours: Any, theirs: Any, tolerance: float, path: str = "") -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs), path
        for key in theirs:
            compare(ours[key], theirs[key], tolerance, f"{path}/{key}")
    elif isinstance(theirs, (list, tuple)) and not (len(theirs) == 2 and isinstance(theirs[1], np.ndarray)):
        assert len(ours) == len(theirs), path
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            compare(a, b, tolerance, f"{path}/{k}")
    elif isinstance(theirs, (list, tuple)):
        assert ours[0] == theirs[0] and ours[1].shape == theirs[1].shape, path
        np.testing.assert_allclose(ours[1], theirs[1], rtol=tolerance, atol=tolerance, err_msg=path)
    else:
        assert ours == theirs, path


def case_id(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(f"{k}={v}" for k, v in value.items()) or "default"


@needs_torch
@pytest.mark.parametrize("name, options, form", CASES, ids=case_id)
def test_steps_give_pytorchs_parameters_and_state(name: str, options: dict, form: dict, doubles: Any) -> None:
    options = {**options, **form}
    (ours, a), (theirs, b) = (train(T, name, options) for T in (dt, torch))
    compare(plain(ours), plain(theirs), 1e-12)
    compare(plain(a.state_dict()), plain(b.state_dict()), 1e-12)


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "float16", "bfloat16"])
@pytest.mark.parametrize("name", sorted(OPTIONS))
@pytest.mark.parametrize("recorded", [False, True])
def test_steps_in_other_dtypes(name: str, dtype: str, recorded: bool) -> None:
    options = {**OPTIONS[name][-1], "differentiable": recorded}
    (ours, a), (theirs, b) = (train(T, name, options, dtype, 3 if dtype == "bfloat16" else 5) for T in (dt, torch))
    tolerance = {"float16": 2e-2, "bfloat16": 6e-2}.get(dtype, 1e-5)
    compare(plain(ours), plain(theirs), tolerance)
    compare(plain(a.state_dict()), plain(b.state_dict()), tolerance)


@needs_torch
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_a_checkpoint_goes_over_in_both_directions(name: str, doubles: Any) -> None:
    def carried(state: Any, T: Any) -> Any:
        if isinstance(state, dict):
            return {key: carried(value, T) for key, value in state.items()}
        if isinstance(state, list):
            return [carried(value, T) for value in state]
        return (
            T.tensor(state.numpy().tolist(), dtype=getattr(T, str(state.dtype).split(".")[1]))
            if hasattr(state, "numpy")
            else state
        )

    options = OPTIONS[name][-1]
    ends = []
    for source, target in ((dt, torch), (torch, dt), (torch, torch)):
        params, optimizer = train(source, name, options, steps=7)
        moved = [target.tensor(p.detach().numpy().tolist(), requires_grad=True) for p in params]
        other = getattr(target.optim, name)(moved[:3], **options)
        other.add_param_group({"params": moved[3:]})
        other.load_state_dict(carried(optimizer.state_dict(), target))
        for _ in range(5):
            for p in moved:
                p.grad = p.detach() * 2
            other.step()
        ends.append(plain([moved, other.state_dict()]))
    compare(ends[0], ends[2], 1e-12)
    compare(ends[1], ends[2], 1e-12)


@needs_torch
@pytest.mark.parametrize("name", RECORDED)
def test_gradients_flow_through_recorded_steps(name: str, doubles: Any) -> None:
    def meta(T: Any) -> tuple:
        x = T.tensor([0.5, -1.0, 2.0], requires_grad=True)
        lr = T.tensor(0.1, requires_grad=True)
        takes = name in ("SGD", "Adam", "AdamW", "RAdam")  # PyTorch's others refuse a rate that requires grad
        p = x.clone()
        optimizer = getattr(T.optim, name)([p], lr=lr if takes else 0.1, differentiable=True)
        for _ in range(1 if name in ("Adamax", "NAdam", "Rprop") else 4):  # PyTorch's overwrite what they saved
            p.grad = T.autograd.grad((p.clone() ** 3).sum() * 0.1 + (p.clone() ** 2).sum(), p, create_graph=True)[0]
            optimizer.step()
        return T.autograd.grad((p * p).sum(), (x, lr) if takes else (x,))

    compare(plain(list(meta(dt))), plain(list(meta(torch))), 1e-9)


@pytest.mark.parametrize("name", sorted(set(RECORDED) - {"Rprop", "ASGD"}))
def test_recorded_steps_have_the_gradients_that_differences_tell(name: str) -> None:
    """With momentum, PyTorch's first step cuts the graph, and so does ours: SGD is without."""

    def after(x: Any, lr: Any) -> Any:
        p = x.clone()
        optimizer = getattr(dt.optim, name)([p], lr=lr, differentiable=True)
        for _ in range(3):
            (p.grad,) = dt.autograd.grad((p.clone() ** 3).sum(), p, create_graph=True)
            optimizer.step()
        return p

    x = dt.tensor([0.5, -1.0], dtype=dt.float64, requires_grad=True)
    dt.set_default_dtype(dt.float64)
    try:
        assert dt.autograd.gradcheck(after, (x, dt.tensor(0.1, dtype=dt.float64, requires_grad=True)), atol=1e-4)
    finally:
        dt.set_default_dtype(dt.float32)


@needs_torch
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("history, max_iter", [(100, 20), (2, 7)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lbfgs_walks_pytorchs_way(search: str | None, history: int, max_iter: int, dtype: str) -> None:
    def walk(T: Any) -> tuple:
        x, y = (T.tensor(v, dtype=getattr(T, dtype), requires_grad=True) for v in ([-1.2, 1.0], [[0.5], [2.0]]))
        optimizer = T.optim.LBFGS([x, y], lr=0.1, history_size=history, max_iter=max_iter, line_search_fn=search)
        losses = []

        def closure() -> Any:
            optimizer.zero_grad()
            a, b = x.abs(), y.abs()
            loss = 100 * (a[1] - a[0] ** 2) ** 2 + (1 - a[0]) ** 2 + ((b - 1) ** 4).sum()
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return plain([x, y]), losses, optimizer.state_dict()

    (ours, our_losses, a), (theirs, their_losses, b) = walk(dt), walk(torch)
    assert len(our_losses) == len(their_losses)
    np.testing.assert_allclose(our_losses, their_losses, rtol=1e-7)
    compare(ours, theirs, 1e-7)
    assert set(a["state"][0]) == set(b["state"][0])
    assert a["state"][0]["n_iter"] == b["state"][0]["n_iter"] and a["param_groups"] == b["param_groups"]


@needs_torch
@pytest.mark.parametrize(
    "name, options",
    [
        ("Adafactor", {}),
        ("Adafactor", dict(weight_decay=0.1, d=2.0, maximize=True, eps=(1e-5, 1e-2))),
        ("Muon", {}),
        ("Muon", dict(nesterov=False, adjust_lr_fn="match_rms_adamw", lr=0.1)),
    ],
    ids=case_id,
)
def test_optimizers_of_matrices(name: str, options: dict, doubles: Any) -> None:
    def walk(T: Any) -> list:
        draw = np.random.default_rng(1)
        shapes = [(3, 5), (4, 2)] + ([(4,), (2, 3, 2)] if name == "Adafactor" else [])
        params = [T.tensor(draw.normal(size=shape).tolist(), requires_grad=True) for shape in shapes]
        optimizer = getattr(T.optim, name)(params, **options)
        for _ in range(20):
            for p in params:
                p.grad = p.detach() * 2 - 0.3
            optimizer.step()
        return plain([params, optimizer.state_dict()])

    compare(walk(dt), walk(torch), 1e-11 if name == "Adafactor" else 2e-2)


@needs_torch
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("name", ["SparseAdam", "Adagrad", "SGD"])
def test_sparse_gradients(name: str, doubles: Any) -> None:
    def walk(T: Any) -> list:
        p = T.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
        optimizer = getattr(T.optim, name)([p], lr=0.1)
        for k in range(5):
            values = T.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]) * (k + 1)
            p.grad = T.sparse_coo_tensor(T.tensor([[0, 2, 0]]), values, (3, 2), check_invariants=True)
            optimizer.step()
        return plain([p, optimizer.state_dict()])

    compare(walk(dt), walk(torch), 1e-12)


def leaf(T: Any, *shape: int) -> Any:
    return T.ones(*shape or (2,), requires_grad=True)


BAD = {
    "no parameters": lambda T: T.optim.SGD([]),
    "a tensor": lambda T: T.optim.SGD(leaf(T)),
    "no tensors": lambda T: T.optim.SGD([1.0]),
    "not a leaf": lambda T: T.optim.SGD([leaf(T) * 2]),
    "a set": lambda T: T.optim.SGD([{"params": {leaf(T)}}]),
    "not a group": lambda T: T.optim.SGD([leaf(T)]).add_param_group([leaf(T)]),
    "some names": lambda T: T.optim.SGD([("a", leaf(T)), leaf(T)]),
    "names in one group": lambda T: T.optim.SGD([("a", leaf(T))]).add_param_group({"params": [leaf(T)]}),
    "twice": lambda T: (lambda p: T.optim.SGD([p]).add_param_group({"params": p}))(leaf(T)),
    "required": lambda T: import_module(f"{T.__name__}.optim.optimizer").Optimizer(
        [leaf(T)], {"lr": import_module(f"{T.__name__}.optim.optimizer").required}
    ),
    "lr": lambda T: T.optim.SGD([leaf(T)], lr=-1.0),
    "lr of two": lambda T: T.optim.Adam([leaf(T)], lr=T.ones(2)),
    "momentum": lambda T: T.optim.SGD([leaf(T)], momentum=-1.0),
    "nesterov": lambda T: T.optim.SGD([leaf(T)], nesterov=True),
    "betas": lambda T: T.optim.Adam([leaf(T)], betas=(1.0, 0.9)),
    "betas of two kinds": lambda T: T.optim.Adam([leaf(T)], betas=(T.tensor(0.9), 0.9)),
    "tensor betas and foreach": lambda T: T.optim.Adam([leaf(T)], betas=(T.tensor(0.9),) * 2, foreach=True),
    "tensor lr and foreach": lambda T: T.optim.Adam([leaf(T)], lr=T.tensor(0.1), foreach=True),
    "eps": lambda T: T.optim.Adam([leaf(T)], eps=-1.0),
    "decay": lambda T: T.optim.AdamW([leaf(T)], weight_decay=-1.0),
    "fused and foreach": lambda T: T.optim.Adam([leaf(T)], fused=True, foreach=True),
    "fused and differentiable": lambda T: T.optim.SGD([leaf(T)], fused=True, differentiable=True),
    "rho": lambda T: T.optim.Adadelta([leaf(T)], rho=2.0),
    "etas": lambda T: T.optim.Rprop([leaf(T)], etas=(2.0, 1.0)),
    "momentum decay": lambda T: T.optim.NAdam([leaf(T)], momentum_decay=-1.0),
    "alpha": lambda T: T.optim.RMSprop([leaf(T)], alpha=-1.0),
    "lr decay": lambda T: T.optim.Adagrad([leaf(T)], lr_decay=-1.0),
    "beta2 decay": lambda T: T.optim.Adafactor([leaf(T)], beta2_decay=1.0),
    "d": lambda T: T.optim.Adafactor([leaf(T)], d=0.5),
    "groups of LBFGS": lambda T: T.optim.LBFGS([{"params": [leaf(T)]}, {"params": [leaf(T)]}]),
    "a vector in Muon": lambda T: T.optim.Muon([leaf(T)]),
    "Muon's rate": lambda T: T.optim.Muon([leaf(T, 2, 2)], adjust_lr_fn="mine"),
    "complex SparseAdam": lambda T: T.optim.SparseAdam([T.ones(2, dtype=T.complex64, requires_grad=True)]),
    "SparseAdam's lr": lambda T: T.optim.SparseAdam([leaf(T)], lr=0.0),
    "fewer groups": lambda T: T.optim.SGD([leaf(T)]).load_state_dict({"state": {}, "param_groups": []}),
    "fewer params": lambda T: T.optim.SGD([leaf(T)]).load_state_dict({"state": {}, "param_groups": [{"params": []}]}),
    "no step": lambda T: import_module(f"{T.__name__}.optim").Optimizer([leaf(T)], {}).step(),
}


@needs_torch
@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_is_refused_with_pytorchs_type(case: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever it is
        BAD[case](torch)
    with pytest.raises(theirs.type):
        BAD[case](dt)


STEPS = {
    "sparse": ("Adam", {}, lambda T, p: p.to_sparse()),
    "dense": ("SparseAdam", {}, lambda T, p: p),
    "capturable": ("Adam", {"capturable": True}, lambda T, p: p),
    "complex Adafactor": ("Adafactor", {}, lambda T, p: p),
    "complex fused": ("Adam", {"fused": True}, lambda T, p: p),
    "sparse with decay": ("Adagrad", {"weight_decay": 0.1}, lambda T, p: p.to_sparse()),
}


@needs_torch
@pytest.mark.parametrize("case", STEPS)
def test_steps_that_are_refused_change_nothing(case: str) -> None:
    name, options, gradient = STEPS[case]
    for T in (torch, dt):
        p = T.ones(2, 2, dtype=T.complex64 if "complex" in case else T.float32, requires_grad=True)
        p.grad = gradient(T, p.detach())
        optimizer = getattr(T.optim, name)([p], **options)
        with pytest.raises(Exception) as error:  # noqa: PT011 - PyTorch's type
            optimizer.step()
        kind = error.type if T is torch else kind  # noqa: F821
        assert error.type is kind and p.detach().eq(1).all()


# --- what needs no oracle -------------------------------------------------------------------------


def stepped(optimizer: Any, p: Any) -> None:
    (p * p).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_a_step_is_a_write_that_a_stale_graph_notices(name: str) -> None:
    p = dt.ones(3, requires_grad=True)
    other = dt.ones(2, requires_grad=True)
    optimizer = getattr(dt.optim, name)([p, other])
    stale = (p * p).sum()
    p.grad, other.grad = dt.ones(3), dt.ones(2)
    before = p._version
    optimizer.step()
    assert p._version == before + 1 and p.is_leaf and p.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        stale.backward()


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("same", [True, False])
def test_parameters_that_share_memory_are_changed_one_after_the_other(foreach: bool | None, same: bool) -> None:
    memory = dt.ones(3)
    other = dt.ones(2, dtype=dt.float32 if same else dt.float64, requires_grad=True)
    first, second = memory[:2].detach().requires_grad_(), memory[1:].detach().requires_grad_()
    first.grad = second.grad = dt.ones(2)
    other.grad = dt.ones_like(other)
    dt.optim.SGD([first, second, other], lr=1.0, foreach=foreach).step()
    assert memory.tolist() == [0.0, -1.0, 0.0]


def test_parameters_of_every_layout_are_changed_where_they_are() -> None:
    base = dt.zeros(4, 4)
    for p in (base.T.detach(), base[::2, ::2].detach(), base[:, 1].detach()):
        base.zero_()
        p.requires_grad_().grad = dt.arange(p.numel()).reshape(p.shape).float()
        dt.optim.SGD([p], lr=1.0, momentum=0.5).step()
        assert (p == -p.grad).all() and base.sum() == p.sum()


@pytest.mark.parametrize(
    "name, options",
    [
        ("SGD", dict(weight_decay=0.1)),
        ("SGD", {}),
        ("SGD", dict(momentum=0.9, dampening=0.2)),
        ("SGD", dict(momentum=0.9, nesterov=True, maximize=True)),
        ("Adam", dict(weight_decay=0.1)),
    ],
    ids=case_id,
)
def test_large_parameters_are_changed_as_small_ones_are(name: str, options: dict) -> None:
    draw = np.random.default_rng(0)
    values, gradient = draw.normal(size=(2, 70001)).astype(np.float32)
    for dtype in (dt.float32, dt.float16, dt.complex64):
        ends = []
        for split in (False, True):
            whole = dt.tensor(values).to(dtype)
            parts = [part.clone() for part in whole.split(3000)] if split else [whole.clone()]
            grads = [*dt.tensor(gradient).to(dtype).split(3000)] if split else [dt.tensor(gradient).to(dtype)]
            optimizer = getattr(dt.optim, name)([p.requires_grad_() for p in parts], lr=0.1, **options)
            for p, g in zip(parts, grads, strict=True):
                p.grad = g
            for _ in range(3):
                optimizer.step()
            ends.append(dt.cat([p.detach() for p in parts]))
        assert dt.allclose(ends[0], ends[1], rtol=1e-5, atol=1e-6)


def test_an_expanded_parameter_is_refused() -> None:
    p = dt.ones(1).expand(3).requires_grad_()
    p.grad = dt.ones(3)
    with pytest.raises(RuntimeError):
        dt.optim.SGD([p], lr=1.0).step()


def test_state_of_another_shape_is_refused() -> None:
    p, q = dt.ones(4, requires_grad=True), dt.ones(2, 2, requires_grad=True)
    p.grad, q.grad = dt.ones(4), dt.ones(2, 2)
    optimizer = dt.optim.Adam([p, q])
    optimizer.step()
    state = optimizer.state_dict()["state"]
    state[0]["exp_avg"], state[1]["exp_avg"] = dt.ones(3), dt.ones(5)
    with pytest.raises(RuntimeError):
        optimizer.step()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name, options, form", CASES, ids=case_id)
def test_arrays_as_strict_as_cupys_stay_what_they_are(name: str, options: dict, form: dict, dtype: Any) -> None:
    if "fused" in form and dtype is np.complex64:
        form = {}
    ends = []
    for make in (np.array, asarray):
        draw = np.random.default_rng(0)
        values = [draw.normal(size=(2, *shape)).astype(dtype) for shape in ((3, 2), (4,), ())]
        leaves = [dt.as_tensor(make(a[0])).requires_grad_() for a in values]
        params = [p.clone() for p in leaves] if form.get("differentiable") else leaves
        optimizer = getattr(dt.optim, name)(params, **options, **form)
        for _ in range(3):
            for p, a in zip(params, values, strict=True):
                p.grad = dt.as_tensor(make(a[1]))
            optimizer.step()
        slots = [t for state in optimizer.state.values() for t in state.values() if t.dim()]
        assert all(type(t._array) is type(leaves[0]._array) for t in (*params, *slots))
        ends.append([t.tolist() for t in (*params, *slots)])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - {"SGD", "Adagrad"}))
def test_capturable_steps_keep_their_numbers_beside_the_parameters(name: str) -> None:
    ends = []
    for make, options in ((np.array, {}), (asarray, {"capturable": True})):
        params = [dt.as_tensor(make(np.arange(4.0) + k)).requires_grad_() for k in range(2)]
        optimizer = getattr(dt.optim, name)(params, lr=0.1, **options)
        for _ in range(7):
            for p in params:
                p.grad = dt.as_tensor(make(np.ones(4)))
            optimizer.step()
        ends.append([p.tolist() for p in params])
        numbers = [t for state in optimizer.state.values() for t in state.values() if t.dim() == 0]
        assert numbers and all(type(t._array) is type(make(0.0)) for t in numbers)
    np.testing.assert_allclose(*ends, rtol=1e-3)


def test_subclasses_are_asked() -> None:
    class Mine(dt.Tensor):
        pass

    p = dt.ones(2).as_subclass(Mine).requires_grad_()
    p.grad = dt.ones(2).as_subclass(Mine)
    optimizer = dt.optim.Adam([p], lr=0.5)
    optimizer.step()
    assert type(p) is Mine and dt.allclose(p.detach().as_subclass(dt.Tensor), dt.tensor([0.5, 0.5]))


def test_steps_run_inside_inference_mode() -> None:
    p = dt.ones(2, requires_grad=True)
    p.grad = dt.ones(2)
    with dt.inference_mode():
        dt.optim.SGD([p], lr=1.0).step()
    assert p.tolist() == [0.0, 0.0]


def test_hooks_run_in_order_and_may_change_the_arguments() -> None:
    seen: list = []
    p = dt.ones(1, requires_grad=True)
    optimizer = dt.optim.SGD([p], lr=0.5)
    module = import_module("dualtape.optim.optimizer")
    handles = [
        module.register_optimizer_step_pre_hook(lambda *_: seen.append("all before")),
        module.register_optimizer_step_post_hook(lambda *_: seen.append("all after")),
        optimizer.register_step_post_hook(lambda *_: seen.append("after")),
        optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: seen.append("closure") or 7), {})),
    ]
    assert optimizer.step() == 7
    assert seen == ["all before", "closure", "after", "all after"]
    for handle in handles:
        handle.remove()
    assert optimizer.step() is None and len(seen) == 4
    optimizer.register_step_pre_hook(lambda *_: 1)
    with pytest.raises(RuntimeError, match="expected None or a pair"):
        optimizer.step()


def test_hooks_around_checkpoints() -> None:
    seen: list = []
    optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=0.5)
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    state = optimizer.state_dict()
    assert seen == ["first", "second"] and state["more"] == 1

    def faster(o: Any, state: dict) -> dict:
        groups = [{**group, "lr": 3.0} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(state)
    assert seen[-1] == 3.0


def test_names_of_parameters_go_through_a_checkpoint() -> None:
    make = lambda *names: dt.optim.SGD([(name, dt.ones(1, requires_grad=True)) for name in names])
    optimizer = make("a", "b")
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    optimizer.load_state_dict(make("c", "d").state_dict())
    assert optimizer.param_groups[0]["param_names"] == ["c", "d"]
    optimizer.load_state_dict(dt.optim.SGD([dt.ones(1, requires_grad=True) for _ in "ef"]).state_dict())
    assert optimizer.param_groups[0]["param_names"] == ["c", "d"]


def test_loaded_state_gets_the_type_of_its_parameter_but_for_counts() -> None:
    p = dt.ones(2, requires_grad=True)
    optimizer = dt.optim.Adam([p])
    stepped(optimizer, p)
    state = optimizer.state_dict()
    double = dt.optim.Adam([dt.ones(2, dtype=dt.float64, requires_grad=True)])
    double.load_state_dict(state)
    (kept,) = double.state.values()
    assert (kept["exp_avg"].dtype, kept["step"].dtype) == (dt.float64, dt.float32)
    state["state"][0]["step"] = 3  # as old checkpoints have it
    double.load_state_dict(state)
    (kept,) = double.state.values()
    assert kept["step"].item() == 3 and kept["step"].dtype == dt.float32


@needs_torch
@pytest.mark.parametrize("name", [*sorted(OPTIONS), "LBFGS", "Adafactor", "SparseAdam"])
def test_optimizers_are_shown_copied_and_pickled(name: str) -> None:
    p = dt.ones(2, requires_grad=True)
    optimizer = getattr(dt.optim, name)([p])
    theirs = getattr(torch.optim, name)([torch.ones(2, requires_grad=True)])
    assert repr(optimizer) == repr(theirs) and optimizer.defaults == theirs.defaults
    if name not in ("LBFGS", "SparseAdam"):
        stepped(optimizer, p)
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = copied.param_groups[0]["params"]
        compare(plain(copied.state_dict()), plain(optimizer.state_dict()), 0)
        assert q is not p
        if name not in ("LBFGS", "SparseAdam"):
            q.grad = dt.ones(2)
            copied.step()
            assert not q.detach().equal(p.detach())


def test_zero_grad_forgets_or_empties() -> None:
    p = dt.ones(2, requires_grad=True)
    optimizer = dt.optim.SGD([p])
    (gradient,) = dt.autograd.grad((p**3).sum(), p, create_graph=True)
    p.grad = gradient
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is gradient and gradient.tolist() == [0, 0] and not gradient.requires_grad
    optimizer.zero_grad()
    assert p.grad is None


def test_a_dropped_optimizer_is_freed_at_once() -> None:
    p = dt.ones(2, requires_grad=True)
    optimizer = dt.optim.Adam([p])
    stepped(optimizer, p)
    gone = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert gone() is None
    finally:
        gc.enable()


@needs_torch
@pytest.mark.parametrize(
    "path", ["optimizer", "adam", "adamw", "sgd", "_functional", "lr_scheduler", "swa_utils", "rmsprop", "lbfgs"]
)
def test_the_modules_that_libraries_import_are_there(path: str) -> None:
    ours, theirs = (import_module(f"{name}.optim.{path}") for name in ("dualtape", "torch"))
    for name in getattr(theirs, "__all__", []):
        assert hasattr(ours, name), name


def test_functions_on_lists_leave_out_steps_with_infinite_gradients() -> None:
    from dualtape.optim.sgd import sgd

    rest = dict(weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0, nesterov=False, maximize=False)
    p, g = dt.ones(2), dt.full((2,), 4.0)
    sgd([p], [g], [None], fused=True, grad_scale=dt.tensor(4.0), found_inf=dt.tensor(1.0), **rest)
    assert p.tolist() == [1, 1]
    sgd([p], [g], [None], fused=True, grad_scale=dt.tensor(4.0), found_inf=dt.tensor(0.0), **rest)
    assert p.tolist() == [0, 0]
    with pytest.raises(AssertionError):
        sgd([p], [g], [None], grad_scale=dt.tensor(4.0), **rest)


def test_the_example_of_the_page_does_what_it_shows() -> None:
    page = Path(__file__).parents[2] / "docs" / "optim.md"
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted and not found.failed
