"""A neural ordinary differential equation: a network learns the law of motion behind a spiral.

The state follows ``dx/dt = A tanh(W x)``. A hand-written Runge-Kutta method carries it from one observation to the
next, and the gradient flows back through every stage of it. At the end, ``dualtape.scipy``'s solver, which has its
own backward (the adjoint equation), gives the gradient of the same loss.
"""

import numpy as np

import dualtape as dt
from dualtape import nn
from dualtape.scipy.integrate import odeint

dt.manual_seed(0)
dt.set_default_dtype(dt.float64)


def truth(x):
    """The law to be found: a decaying spiral, stronger far out."""
    return x**3 @ dt.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def runge_kutta(f, x, step, count):
    """States at ``count`` equal steps, by the classical method of fourth order."""
    states = [x]
    for _ in range(count):
        k1 = f(x)
        k2 = f(x + step / 2 * k1)
        k3 = f(x + step / 2 * k2)
        k4 = f(x + step * k3)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    return dt.stack(states)


class Law(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x**3)


STEP, SPAN = 0.05, 5
with dt.no_grad():
    path = runge_kutta(truth, dt.tensor([2.0, 0.0]), STEP, 200)

law = Law()
optimizer = dt.optim.Adam(law.parameters(), lr=1e-2)
starts = dt.arange(len(path) - SPAN)
targets = dt.stack([path[starts + i] for i in range(SPAN + 1)])
losses = []
for _ in range(250):  # short pieces of the path, all of them at once
    optimizer.zero_grad()
    loss = (runge_kutta(law, path[starts], STEP, SPAN) - targets).abs().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

with dt.no_grad():
    found = runge_kutta(law, path[0], STEP, 200)
error = (found - path).abs().mean().item()
print(f"error of short pieces: {losses[0]:.3f} -> {losses[-1]:.4f}; of the whole path from its start: {error:.3f}")
assert losses[-1] < losses[0] / 20 and error < 0.25

# The same gradient from a solver that keeps no history: the adjoint equation, solved backward in time.
rate = dt.tensor(0.3, requires_grad=True)
start = dt.tensor([2.0, 0.0])
end = odeint(lambda x, t, r: dt.stack([-r * x[1], r * x[0]]) - 0.1 * x, start, np.linspace(0, 2, 3), args=(rate,))[-1]
(adjoint,) = dt.autograd.grad(end[0], rate)
stages = runge_kutta(lambda x: dt.stack([-rate * x[1], rate * x[0]]) - 0.1 * x, start, 0.02, 100)[-1]
(through,) = dt.autograd.grad(stages[0], rate)
print(f"d end / d rate: adjoint {adjoint.item():.6f}, through the stages {through.item():.6f}")
assert abs(adjoint.item() - through.item()) < 1e-5
