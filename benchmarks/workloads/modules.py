"""Modules: the cost of a call, and training steps of networks made of layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import LARGE, Step, numbers, workload


def weighted(torch: Any, module: Any) -> Any:
    """A module with parameters that are the same in each library."""
    for k, parameter in enumerate(module.parameters()):
        parameter.data = torch.tensor(numbers(*parameter.shape, seed=k, scale=0.1))
    return module


def learned(module: Any, loss_of: Any) -> Step:
    """A forward and a backward; the gradients are what is compared."""
    parameters = list(module.parameters())

    def step() -> Any:
        module.zero_grad()
        loss = loss_of()
        loss.backward()
        return [loss, *[parameter.grad for parameter in parameters]]

    return step


@workload("nn.Linear, a call")
def linear_call(torch: Any) -> Step:
    """A layer of 8 by 8 on a batch of 4, forward alone."""
    layer, x = weighted(torch, torch.nn.Linear(8, 8)), torch.tensor(numbers(4, 8))
    return lambda: layer(x)


@workload("nn.Sequential MLP, forward and backward")
def sequential(torch: Any) -> Step:
    """Three linear layers with relu, a batch of 16."""
    nn = torch.nn
    net = weighted(torch, nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    loss, x, labels = nn.CrossEntropyLoss(), torch.tensor(numbers(16, 32)), torch.tensor(np.arange(16) % 10)
    return learned(net, lambda: loss(net(x), labels))


@workload("nn.LSTM, 10 steps, forward and backward")
def recurrent(torch: Any) -> Step:
    """32 states, a batch of 4."""
    net, x = weighted(torch, torch.nn.LSTM(16, 32)), torch.tensor(numbers(10, 4, 16))
    return learned(net, lambda: net(x)[0].pow(2).mean())


@workload("nn.Conv2d net with batch norm, forward and backward", LARGE, threaded=True)
def convolutions(torch: Any) -> Step:
    """Two convolutions with batch norm and pooling, 8 images of 28 x 28."""
    nn = torch.nn
    block = lambda a, b: [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2)]
    net = weighted(torch, nn.Sequential(*block(1, 8), *block(8, 16), nn.Flatten(), nn.Linear(16 * 7 * 7, 10)))
    loss, x, labels = nn.CrossEntropyLoss(), torch.tensor(numbers(8, 1, 28, 28)), torch.tensor(np.arange(8) % 10)
    return learned(net, lambda: loss(net(x), labels))


@workload("nn.TransformerEncoderLayer, forward and backward", LARGE)
def transformer_layer(torch: Any) -> Step:
    """4 heads in 128 dimensions, 8 sequences of 32."""
    net = weighted(torch, torch.nn.TransformerEncoderLayer(128, 4, 256, 0.0, batch_first=True))
    x = torch.tensor(numbers(8, 32, 128))
    return learned(net, lambda: net(x).pow(2).mean())
