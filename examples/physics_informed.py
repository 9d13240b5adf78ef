"""A physics-informed network: Burgers' equation without a single value of its solution.

The network ``u(t, x)`` is asked to satisfy ``u_t + u u_x = 0.1 u_xx`` at points inside, and ``u = -sin(pi x)`` at the
start. Its derivatives with respect to ``t`` and ``x`` are taken by nesting ``func.jvp``; the loss that is made of them
is differentiated once more, with respect to the weights. The answer is compared with finite differences on a fine grid.
"""

import numpy as np

import dualtape as dt
from dualtape import nn

dt.manual_seed(1)
dt.set_default_dtype(dt.float64)
VISCOSITY, END = 0.1, 0.5

net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))


def u(t, x):
    """The network, made to hold the values at the start and at both ends of the interval."""
    raw = net(dt.stack([t, x], 1))[:, 0]
    return -(np.pi * x).sin() + t * (1 - x**2) * raw


def residual(t, x):
    """By how much the equation fails at each point: the sum of u_t, u u_x and -viscosity u_xx."""
    one = dt.ones_like(x)

    def slope(x):
        return dt.func.jvp(lambda x: u(t, x), (x,), (one,))

    (value, u_x), (_, u_xx) = dt.func.jvp(slope, (x,), (one,))
    _, u_t = dt.func.jvp(lambda t: u(t, x), (t,), (one,))
    return u_t + value * u_x - VISCOSITY * u_xx


def by_differences(count=201, steps=4000):
    """The solution at the end, by explicit steps on a grid."""
    x = np.linspace(-1, 1, count)
    v, h, k = -np.sin(np.pi * x), 2 / (count - 1), END / steps
    for _ in range(steps):
        middle = v[1:-1]
        change = VISCOSITY * (v[2:] - 2 * middle + v[:-2]) / h**2 - middle * (v[2:] - v[:-2]) / (2 * h)
        v = np.concatenate([[0.0], middle + k * change, [0.0]])
    return x, v


t, x = dt.rand(256) * END, dt.rand(256) * 2 - 1
optimizer = dt.optim.LBFGS(net.parameters(), lr=1.0, max_iter=150, history_size=30, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = (residual(t, x) ** 2).mean()
    loss.backward()
    return loss


first = closure().item()
optimizer.step(closure)
last = closure().item()
grid, reference = by_differences()
with dt.no_grad():
    error = np.abs(u(dt.full((len(grid),), END), dt.from_numpy(grid)).numpy() - reference).max()
print(f"mean square of the residual: {first:.3f} -> {last:.6f}")
print(f"largest error at t = {END}: {error:.4f}")
assert last < first / 100 and error < 0.05
