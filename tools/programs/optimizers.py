"""Optimizers of three libraries, each on a small regression."""

import torch
from lion_pytorch import Lion
from madgrad import MADGRAD
from schedulefree import AdamWScheduleFree

torch.manual_seed(0)
for make in (lambda p: Lion(p, lr=1e-2), lambda p: AdamWScheduleFree(p, lr=1e-1), lambda p: MADGRAD(p, lr=1e-1)):
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = make(model.parameters())
    x = torch.randn(64, 2)
    y = x[:, :1] * x[:, 1:]
    if hasattr(optimizer, "train"):
        optimizer.train()
    losses = []
    for _ in range(100):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, type(optimizer).__name__
    print(type(optimizer).__name__, losses[0], losses[-1])
