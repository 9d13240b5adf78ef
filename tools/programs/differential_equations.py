"""A network as the right-hand side of an equation: every solver of torchdiffeq, and gradients through it."""

import torch
import torchdiffeq
from torch import nn


class Side(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y)


torch.manual_seed(0)
side = Side().double()
start = torch.tensor([[1.0, 0.0]], dtype=torch.float64, requires_grad=True)
times = torch.linspace(0, 1, 5, dtype=torch.float64)
exact = None
for solver in (torchdiffeq.odeint, torchdiffeq.odeint_adjoint):
    for method in ("dopri8", "dopri5", "rk4", "bosh3", "adaptive_heun", "midpoint", "implicit_adams", "explicit_adams"):
        end = solver(side, start, times, method=method)[-1]
        gradients = torch.autograd.grad(end.sum(), [start, *side.parameters()])
        found = torch.cat([end.detach().flatten(), *(g.flatten() for g in gradients)])
        exact = found if exact is None else exact
        assert torch.allclose(found, exact, atol=3e-3), (solver.__name__, method)
print("every solver agrees")
