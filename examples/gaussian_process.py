"""A Gaussian process whose length, height and noise are found from the data, by L-BFGS on the marginal likelihood.

The gradient goes through a Cholesky factorisation. Which number is which is kept in one place: the parameters are
logarithms, so that any real number is a valid one.
"""

import math

import dualtape as dt

dt.manual_seed(3)
dt.set_default_dtype(dt.float64)


def truth(x):
    return (3 * x).sin() + 0.5 * x


NOISE = 0.2
x = dt.rand(60) * 4 - 2
y = truth(x) + NOISE * dt.randn(60)


def kernel(a, b, length, height):
    """The covariance of the function's values at two points, which falls with their distance."""
    return height**2 * (-((a[:, None] - b[None, :]) ** 2) / (2 * length**2)).exp()


def factor(p):
    """The lower factor of the covariance of the data."""
    length, height, noise = p.exp()
    return dt.linalg.cholesky(kernel(x, x, length, height) + (noise**2 + 1e-10) * dt.eye(len(x)))


def minus_log_evidence(p):
    lower = factor(p)
    white = dt.linalg.solve_triangular(lower, y[:, None], upper=False)
    return (white**2).sum() / 2 + lower.diagonal().log().sum() + len(x) / 2 * math.log(2 * math.pi)


def predict(p, places):
    """Mean and standard deviation of the function at other points."""
    length, height, _ = p.exp()
    lower = factor(p)
    cross = dt.linalg.solve_triangular(lower, kernel(x, places, length, height), upper=False)
    white = dt.linalg.solve_triangular(lower, y[:, None], upper=False)
    return (cross.T @ white)[:, 0], (height**2 - (cross**2).sum(0)).clamp_min(0).sqrt()


p = dt.zeros(3, requires_grad=True)
optimizer = dt.optim.LBFGS([p], max_iter=60, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = minus_log_evidence(p)
    loss.backward()
    return loss


before = closure().item()
optimizer.step(closure)
after = closure().item()
length, height, noise = p.detach().exp().tolist()
print(f"minus log-evidence {before:.2f} -> {after:.2f}")
print(f"length {length:.2f}, height {height:.2f}, noise {noise:.3f} (true: {NOISE})")

places = dt.linspace(-1.9, 1.9, 9)
with dt.no_grad():
    mean, spread = predict(p, places)
for at, middle, width, true in zip(places, mean, spread, truth(places), strict=True):
    print(f"f({at:5.2f}) = {middle:6.3f} +- {2 * width:.3f}   (true: {true:6.3f})")
covered = ((mean - truth(places)).abs() < 3 * spread).double().mean().item()
assert after < before and p.grad.abs().max() < 1e-2
assert abs(noise - NOISE) < 0.06
assert covered == 1.0
