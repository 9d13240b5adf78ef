"""Learning-rate schedules: the rates, the momentum and the state of PyTorch's, step by step."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

import dualtape as dt
from tests.same_program import needs_torch, torch


class Falling:
    """A callable object, whose attributes go into a checkpoint."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, step: float) -> float:
        return self.by**step


CASES: dict[str, Any] = {
    "LambdaLR": lambda S, o: S.LambdaLR(o, lambda step: 1 / (1 + step)),
    "LambdaLR of several": lambda S, o: S.LambdaLR(o, [Falling(0.9), lambda step: 0.5]),
    "MultiplicativeLR": lambda S, o: S.MultiplicativeLR(o, lambda step: 0.9 if step % 2 else 1.05),
    "StepLR": lambda S, o: S.StepLR(o, 4, 0.3),
    "MultiStepLR": lambda S, o: S.MultiStepLR(o, [3, 7, 7, 20], 0.5),
    "ConstantLR": lambda S, o: S.ConstantLR(o, 0.4, 6),
    "LinearLR": lambda S, o: S.LinearLR(o, 0.2, 0.9, 12),
    "ExponentialLR": lambda S, o: S.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda S, o: S.PolynomialLR(o, 20, 2.5),
    "CosineAnnealingLR": lambda S, o: S.CosineAnnealingLR(o, 7, 0.01),
    "CosineAnnealingWarmRestarts": lambda S, o: S.CosineAnnealingWarmRestarts(o, 4, 2, 0.001),
    "CyclicLR": lambda S, o: S.CyclicLR(o, 0.01, [0.2, 0.3], 4, 7),
    "CyclicLR, halved": lambda S, o: S.CyclicLR(o, 0.01, 0.2, 3, mode="triangular2"),
    "CyclicLR, by powers": lambda S, o: S.CyclicLR(o, 0.01, 0.2, 5, mode="exp_range", gamma=0.9),
    "CyclicLR, scaled": lambda S, o: S.CyclicLR(
        o, 0.01, 0.2, 5, scale_fn=Falling(0.8), scale_mode="iterations", cycle_momentum=False
    ),
    "OneCycleLR": lambda S, o: S.OneCycleLR(o, [0.1, 0.3], total_steps=31),
    "OneCycleLR, linear": lambda S, o: S.OneCycleLR(o, 0.1, epochs=8, steps_per_epoch=4, anneal_strategy="linear"),
    "OneCycleLR of three": lambda S, o: S.OneCycleLR(o, 0.1, 40, three_phase=True, pct_start=0.4),
    "SequentialLR": lambda S, o: S.SequentialLR(
        o, [S.LinearLR(o, 0.1, total_iters=5), S.ExponentialLR(o, 0.9), S.CosineAnnealingLR(o, 5)], [5, 12]
    ),
    "ChainedScheduler": lambda S, o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 4), S.ExponentialLR(o, 0.9)]),
    "SequentialLR in it": lambda S, o: S.ChainedScheduler(
        [S.SequentialLR(o, [S.ConstantLR(o, 0.5, 9), S.StepLR(o, 3)], [4]), S.ExponentialLR(o, 0.95)]
    ),
    "ReduceLROnPlateau": lambda S, o: S.ReduceLROnPlateau(o, patience=2, cooldown=1, factor=0.5, min_lr=[0.01, 0.02]),
    "ReduceLROnPlateau, up": lambda S, o: S.ReduceLROnPlateau(o, "max", 0.3, 1, 0.5, "abs"),
}
CLOSED = [
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "PolynomialLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "LambdaLR",
]


def optimizer_of(T: Any, kind: str, tensor_lr: bool = False) -> Any:
    params = [T.ones(2, requires_grad=True) for _ in range(2)]
    groups = [
        {"params": p, "lr": T.tensor(lr, dtype=T.float64) if tensor_lr else lr}
        for p, lr in zip(params, (0.1, 0.05), strict=True)
    ]
    return T.optim.SGD(groups, momentum=0.9) if kind == "SGD" else T.optim.Adam(groups)


def walk(scheduler: Any, optimizer: Any, steps: range) -> list:
    seen = []
    for k in steps:
        optimizer.step()
        scheduler.step(*([abs(k - 9) + k % 2] if "Plateau" in type(scheduler).__name__ else []))
        momentum = [group.get("momentum", group.get("betas")) for group in optimizer.param_groups]
        seen.append(([float(lr) for lr in scheduler.get_last_lr()], momentum))
        assert [float(group["lr"]) for group in optimizer.param_groups] == seen[-1][0]
    return seen


def flat(value: Any) -> list:
    if isinstance(value, (list, tuple)):
        return [part for each in value for part in flat(each)]
    return [part for key in sorted(value) for part in (key, *flat(value[key]))] if isinstance(value, dict) else [value]


def close(ours: Any, theirs: Any) -> None:
    a, b = flat(ours), flat(theirs)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x == pytest.approx(y, rel=1e-12, abs=1e-15) if isinstance(y, (int, float)) else x == y, (x, y)


def state_of(scheduler: Any) -> dict:
    """Without what only names a function."""
    state = {key: value for key, value in scheduler.state_dict().items() if key != "_scale_fn_ref"}
    return {key: dict(value) if key == "milestones" else value for key, value in state.items()}


@needs_torch
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("case", CASES)
def test_thirty_steps_have_pytorchs_rates_and_state(case: str, kind: str) -> None:
    ends = []
    for T in (dt, torch):
        optimizer = optimizer_of(T, kind)
        scheduler = CASES[case](T.optim.lr_scheduler, optimizer)
        ends.append(
            (
                [float(lr) for lr in scheduler.get_last_lr()],
                walk(scheduler, optimizer, range(30)),
                state_of(scheduler),
                [{**g, "params": 0} for g in optimizer.state_dict()["param_groups"]],
            )
        )
    close(*ends)


@needs_torch
@pytest.mark.parametrize("case", sorted(set(CASES) - {"SequentialLR", "SequentialLR in it", "OneCycleLR"}))
def test_rates_that_are_tensors_keep_their_place(case: str) -> None:
    ends = []
    for T in (dt, torch):
        optimizer = optimizer_of(T, "SGD", tensor_lr=True)
        rates = [group["lr"] for group in optimizer.param_groups]
        scheduler = CASES[case](T.optim.lr_scheduler, optimizer)
        ends.append(walk(scheduler, optimizer, range(9)))
        assert all(group["lr"] is rate for group, rate in zip(optimizer.param_groups, rates, strict=True))
    close(*ends)


@pytest.mark.parametrize("case", CASES)
def test_a_schedule_goes_on_from_its_checkpoint(case: str) -> None:
    optimizer = optimizer_of(dt, "SGD")
    scheduler = CASES[case](dt.optim.lr_scheduler, optimizer)
    walk(scheduler, optimizer, range(11))
    other = optimizer_of(dt, "SGD")
    resumed = CASES[case](dt.optim.lr_scheduler, other)
    resumed.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    other.load_state_dict(optimizer.state_dict())
    close(walk(resumed, other, range(11, 20)), walk(scheduler, optimizer, range(11, 20)))
    if "Lambda" not in case and "Multiplicative" not in case:
        pickle.loads(pickle.dumps(scheduler.state_dict()))


@needs_torch
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("case", CLOSED)
def test_epochs_have_their_closed_form(case: str) -> None:
    ends = []
    for T in (dt, torch):
        optimizer = optimizer_of(T, "SGD")
        scheduler = CASES[case](T.optim.lr_scheduler, optimizer)
        rates = []
        for epoch in (3, 0, 11, 25):
            scheduler.step(epoch)
            rates.append([float(lr) for lr in scheduler.get_last_lr()])
        ends.append(rates)
    close(*ends)


@needs_torch
@pytest.mark.parametrize("case", ["StepLR", "CosineAnnealingLR", "ExponentialLR", "LambdaLR", "CyclicLR"])
def test_schedules_resume_at_an_epoch(case: str) -> None:
    makers = {
        "StepLR": lambda S, o: S.StepLR(o, 3, 0.5, last_epoch=7),
        "CosineAnnealingLR": lambda S, o: S.CosineAnnealingLR(o, 9, last_epoch=7),
        "ExponentialLR": lambda S, o: S.ExponentialLR(o, 0.9, last_epoch=7),
        "LambdaLR": lambda S, o: S.LambdaLR(o, lambda step: 1 / (1 + step), last_epoch=7),
        "CyclicLR": lambda S, o: S.CyclicLR(o, 0.1, 0.2, 5, last_epoch=7),
    }
    ends = []
    for T in (dt, torch):
        optimizer = optimizer_of(T, "SGD")
        for group in optimizer.param_groups:
            group["initial_lr"] = 0.3
        scheduler = makers[case](T.optim.lr_scheduler, optimizer)
        ends.append(walk(scheduler, optimizer, range(9)))
    close(*ends)


BAD = {
    "no optimizer": lambda S, o: S.StepLR(o.param_groups, 3),
    "no first rate": lambda S, o: S.StepLR(o, 3, last_epoch=2),
    "one function too few": lambda S, o: S.LambdaLR(o, [abs]),
    "no function": lambda S, o: S.MultiplicativeLR(o, 3),
    "factor": lambda S, o: S.ConstantLR(o, 2.0),
    "first factor": lambda S, o: S.LinearLR(o, 0.0),
    "last factor": lambda S, o: S.LinearLR(o, 0.5, 2.0),
    "no schedules": lambda S, o: S.SequentialLR(o, [], []),
    "milestones": lambda S, o: S.SequentialLR(o, [S.StepLR(o, 3)], [4]),
    "a plateau in a sequence": lambda S, o: S.SequentialLR(o, [S.ReduceLROnPlateau(o)], []),
    "a plateau in a chain": lambda S, o: S.ChainedScheduler([S.ReduceLROnPlateau(o)]),
    "an empty chain": lambda S, o: S.ChainedScheduler([]),
    "not a schedule": lambda S, o: S.ChainedScheduler([S.StepLR(o, 3), 7]),
    "another optimizer": lambda S, o: S.SequentialLR(o, [S.StepLR(copy.deepcopy(o), 3)], []),
    "plateau's factor": lambda S, o: S.ReduceLROnPlateau(o, factor=1.0),
    "plateau's mode": lambda S, o: S.ReduceLROnPlateau(o, mode="both"),
    "plateau's threshold": lambda S, o: S.ReduceLROnPlateau(o, threshold_mode="both"),
    "plateau's rates": lambda S, o: S.ReduceLROnPlateau(o, min_lr=[0.1]),
    "cycle's mode": lambda S, o: S.CyclicLR(o, 0.1, 0.2, mode="mine"),
    "cycle's rates": lambda S, o: S.CyclicLR(o, [0.1], 0.2),
    "no steps": lambda S, o: S.OneCycleLR(o, 0.1),
    "steps": lambda S, o: S.OneCycleLR(o, 0.1, total_steps=-1),
    "epochs": lambda S, o: S.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=2),
    "start": lambda S, o: S.OneCycleLR(o, 0.1, 10, pct_start=2.0),
    "strategy": lambda S, o: S.OneCycleLR(o, 0.1, 10, anneal_strategy="mine"),
    "T_0": lambda S, o: S.CosineAnnealingWarmRestarts(o, 0),
    "T_mult": lambda S, o: S.CosineAnnealingWarmRestarts(o, 2, 1.5),
    "a negative epoch": lambda S, o: S.CosineAnnealingWarmRestarts(o, 2).step(-3),
    "too many steps": lambda S, o: (
        [S.OneCycleLR(o, 0.1, 2)._update_lr() for _ in range(1)] and walk(S.OneCycleLR(o, 0.1, 2), o, range(4))
    ),
    "no get_lr": lambda S, o: S.LRScheduler(o),
}


@needs_torch
@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_is_refused_with_pytorchs_type(case: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever it is
        BAD[case](torch.optim.lr_scheduler, optimizer_of(torch, "SGD"))
    with pytest.raises(theirs.type):
        BAD[case](dt.optim.lr_scheduler, optimizer_of(dt, "SGD"))


@needs_torch
def test_momentum_needs_an_optimizer_that_has_it() -> None:
    for T in (torch, dt):
        optimizer = T.optim.Adagrad([T.ones(1, requires_grad=True)])
        with pytest.raises(ValueError, match="momentum"):
            T.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 10)


def test_the_order_of_steps_is_looked_at() -> None:
    optimizer = optimizer_of(dt, "SGD")
    scheduler = dt.optim.lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="before the optimizer"):
        scheduler.step()
    optimizer.step()
    scheduler.step()
    optimizer = optimizer_of(dt, "SGD")
    scheduler = dt.optim.lr_scheduler.StepLR(optimizer, 3)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="overridden"):
        scheduler.step()


def test_warnings_of_old_and_wrong_calls() -> None:
    optimizer = optimizer_of(dt, "SGD")
    scheduler = dt.optim.lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()
    optimizer.step()
    with pytest.warns(UserWarning, match="deprecated"):
        scheduler.step(4)
    assert scheduler.last_epoch == 4


def test_a_scheduled_optimizer_is_copied_and_freed() -> None:
    optimizer = optimizer_of(dt, "SGD")
    dt.optim.lr_scheduler.StepLR(optimizer, 3)
    copied = pickle.loads(pickle.dumps(optimizer))
    assert copied.param_groups[0]["initial_lr"] == 0.1 and copied.step() is None
    gone = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert gone() is None
    finally:
        gc.enable()
