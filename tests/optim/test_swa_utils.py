"""Averages of weights, against PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from tests.same_program import needs_torch, torch

WAYS: dict[str, Any] = {
    "equal": lambda S: {},
    "decayed": lambda S: {"avg_fn": S.get_ema_avg_fn(0.9)},
    "decayed, lists": lambda S: {"multi_avg_fn": S.get_ema_multi_avg_fn(0.9)},
    "equal, lists": lambda S: {"multi_avg_fn": S.get_swa_multi_avg_fn()},
    "buffers": lambda S: {"avg_fn": S.get_ema_avg_fn(0.5), "use_buffers": True},
}


def model_of(T: Any) -> Any:
    model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3))
    with T.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(T.arange(p.numel()).reshape(p.shape) + k)
    return model


@needs_torch
@pytest.mark.parametrize("way", WAYS)
def test_averages_are_pytorchs(way: str) -> None:
    ends = []
    for T in (dt, torch):
        model = model_of(T)
        averaged = T.optim.swa_utils.AveragedModel(model, **WAYS[way](T.optim.swa_utils))
        for k in range(4):
            averaged.update_parameters(model)
            with T.no_grad():
                for p in model.parameters():
                    p.mul_(0.5).add_(k)
                model[1].running_mean.add_(1)
        assert averaged.n_averaged == 4
        ends.append({key: value.numpy() for key, value in averaged.state_dict().items()})
    assert list(ends[0]) == list(ends[1])
    for key, value in ends[1].items():
        np.testing.assert_allclose(ends[0][key], value, rtol=1e-6, err_msg=key)


def test_an_averaged_model_computes_as_its_model_does() -> None:
    model = model_of(dt).eval()
    averaged = dt.optim.swa_utils.AveragedModel(model)
    x = dt.ones(2, 2)
    assert averaged(x).equal(model(x)) and averaged.module is not model
    with pytest.raises(AssertionError):
        dt.optim.swa_utils.AveragedModel(model, avg_fn=max, multi_avg_fn=max)
    with pytest.raises(ValueError, match="Invalid decay"):
        dt.optim.swa_utils.get_ema_avg_fn(2.0)


@needs_torch
def test_batch_norms_see_the_loaders_data_alone() -> None:
    ends = []
    for T in (dt, torch):
        model = model_of(T)
        model[1].running_mean.fill_(7)
        batches = [[T.arange(6.0).reshape(3, 2) * k, None] for k in (1, 2)]
        T.optim.swa_utils.update_bn(batches, model.eval())
        ends.append(model[1].running_mean.numpy())
        assert not model.training and model[1].momentum == 0.1
    np.testing.assert_allclose(*ends, rtol=1e-6)
    dt.optim.swa_utils.update_bn([], dt.nn.Linear(1, 1))


@needs_torch
@pytest.mark.parametrize("options", [{}, dict(anneal_epochs=0), dict(anneal_strategy="linear", anneal_epochs=4)])
def test_the_schedule_has_pytorchs_rates(options: dict) -> None:
    ends = []
    for T in (dt, torch):
        optimizer = T.optim.SGD(
            [{"params": [T.ones(1, requires_grad=True)]}, {"params": [T.ones(1, requires_grad=True)]}]
        )
        scheduler = T.optim.swa_utils.SWALR(optimizer, [0.5, 0.1], **options)
        rates = []
        for _ in range(15):
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        other = copy.deepcopy(optimizer)
        resumed = T.optim.swa_utils.SWALR(other, 0.3)
        resumed.load_state_dict(scheduler.state_dict())
        ends.append((rates, sorted(scheduler.state_dict())))
        for bad in (dict(anneal_epochs=-1), dict(anneal_strategy="mine"), dict(swa_lr=[1.0])):
            with pytest.raises(ValueError, match="anneal|swa_lr"):
                T.optim.swa_utils.SWALR(optimizer, **{"swa_lr": 0.5, **bad})
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-12)
    assert ends[0][1] == ends[1][1]
