"""torchdyn: the loss of a neural differential equation falls."""

import torch
from torchdyn.core import NeuralODE

torch.manual_seed(0)
field = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
model = NeuralODE(field, sensitivity="adjoint", solver="dopri5")
optimizer = torch.optim.Adam(field.parameters(), 0.05)
x = torch.randn(16, 2)
losses = []
for _ in range(15):
    _, path = model(x, torch.linspace(0, 1, 3))
    loss = (path[-1] - x.flip(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < 0.8 * losses[0], losses
