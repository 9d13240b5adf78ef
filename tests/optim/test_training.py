"""Training: each network with each optimizer, and each schedule, from the same weights gives PyTorch's losses."""

from __future__ import annotations

import pytest

from networks import NETWORKS
from networks import SETUP as NETS
from same_program import needs_torch, same

OPTIMIZERS = {
    "ASGD": "lr=0.02",
    "Adadelta": "lr=1.0",
    "Adafactor": "lr=0.02",
    "Adagrad": "lr=0.05",
    "Adam": "lr=0.01",
    "AdamW": "lr=0.01, amsgrad=True",
    "Adamax": "lr=0.01",
    "LBFGS": "lr=0.1, max_iter=3",
    "NAdam": "lr=0.01",
    "RAdam": "lr=0.01",
    "RMSprop": "lr=0.005, momentum=0.9",
    "Rprop": "lr=0.01",
    "SGD": "lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.01",
}
SCHEDULES = {
    "StepLR": "opt, 3, 0.5",
    "MultiStepLR": "opt, [2, 5], 0.3",
    "ConstantLR": "opt, 0.5, 3",
    "LinearLR": "opt, 0.2, 1.0, 4",
    "ExponentialLR": "opt, 0.8",
    "CosineAnnealingLR": "opt, 6",
    "PolynomialLR": "opt, 8, 2.0",
    "LambdaLR": "opt, lambda k: 0.9 ** k",
    "MultiplicativeLR": "opt, lambda k: 0.95",
    "CosineAnnealingWarmRestarts": "opt, 3",
    "OneCycleLR": "opt, 0.1, total_steps=12",
    "CyclicLR": "opt, 0.001, 0.02, 3, cycle_momentum=False",
    "ReduceLROnPlateau": "opt, patience=1, factor=0.3",
}
NAMES = (
    "a perceptron",
    "convolutions with batch norm",
    "a long short-term memory",
    "a transformer encoder",
    "attention over ragged batches",
)
TRAIN = """
def train(module, loss, lr=0.05, steps=10):
    opt = torch.optim.OPTIMIZER(module.parameters(), ARGUMENTS)
    schedule = torch.optim.lr_scheduler.SCHEDULE(RATES)
    losses = []
    def closure():
        opt.zero_grad()
        value = loss()
        value.backward()
        return value
    for _ in range(steps):
        value = opt.step(closure)
        losses.append(float(value))
        schedule.step(*([float(value)] if "SCHEDULE" == "ReduceLROnPlateau" else []))
    return losses, [group["lr"] for group in opt.param_groups]
"""


def program(network: str, optimizer: str, schedule: str) -> str:
    """A network's program with another way to train it."""
    words = {
        "OPTIMIZER": optimizer,
        "ARGUMENTS": OPTIMIZERS[optimizer],
        "SCHEDULE": schedule,
        "RATES": SCHEDULES[schedule],
    }
    train = TRAIN
    for word, meaning in words.items():
        train = train.replace(word, meaning)
    return train + NETWORKS[network]


# a bias before a batch norm has no gradient but rounding: what goes by its sign, or its size alone, goes anywhere
UNSTEADY = {("convolutions with batch norm", "Rprop"), ("convolutions with batch norm", "Adafactor")}
CASES = [
    (network, optimizer, list(SCHEDULES)[(n * 5 + k) % len(SCHEDULES)])
    for n, network in enumerate(NAMES)
    for k, optimizer in enumerate(OPTIMIZERS)
    if (network, optimizer) not in UNSTEADY
]


@needs_torch
@pytest.mark.parametrize(("network", "optimizer", "schedule"), CASES)
def test_ten_steps_give_pytorchs_losses(network: str, optimizer: str, schedule: str) -> None:
    same(NETS + program(network, optimizer, schedule), tolerance=1e-6)


def test_every_schedule_and_optimizer_is_tried() -> None:
    assert {schedule for _, _, schedule in CASES} == set(SCHEDULES)
    assert {optimizer for _, optimizer, _ in CASES} == set(OPTIMIZERS)
