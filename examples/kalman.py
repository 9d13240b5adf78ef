"""A Kalman filter whose noises are found by maximum likelihood, with SciPy's optimiser and exact gradients.

A cart moves with random pushes; its place is measured with noise. The likelihood of the measurements is a loop of
small matrix products. ``func.value_and_grad`` makes of it what ``scipy.optimize.minimize`` wants.
"""

import numpy as np
from scipy.optimize import minimize

import dualtape as dt

PUSH, NOISE, COUNT = 0.3, 0.8, 100
F = np.array([[1.0, 1.0], [0.0, 1.0]])  # place and speed, one step later
B = np.array([0.5, 1.0])  # what a push does to them


def simulate(seed=0):
    """Measured positions."""
    rng = np.random.default_rng(seed)
    state, measured = np.zeros(2), []
    for _ in range(COUNT):
        state = F @ state + B * PUSH * rng.normal()
        measured.append(state[0] + NOISE * rng.normal())
    return np.array(measured)


measured = simulate()


def minus_log_likelihood(log_noises):
    """How unlikely the measurements are, given the logarithms of the noises of pushes and of measurements."""
    push, noise = dt.exp(2 * log_noises)
    mean, cov = dt.zeros(2, dtype=dt.float64), dt.eye(2, dtype=dt.float64)
    outer, step = dt.from_numpy(np.outer(B, B)), dt.from_numpy(F)
    total = 0.0
    for y in measured:
        mean, cov = step @ mean, step @ cov @ step.T + push * outer
        spread = cov[0, 0] + noise
        surprise = y - mean[0]
        total = total + (spread.log() + surprise**2 / spread) / 2
        gain = cov[:, 0] / spread
        mean, cov = mean + gain * surprise, cov - dt.outer(gain, cov[0])
    return total


start = np.array([0.0, 0.0])
found = minimize(dt.func.value_and_grad(minus_log_likelihood), start, jac=True, method="BFGS")
curvature = dt.func.jacfwd(dt.func.grad(minus_log_likelihood))(found.x)
error = np.sqrt(np.diag(np.linalg.inv(curvature)))
print(f"minus log-likelihood {float(minus_log_likelihood(dt.from_numpy(start))):.2f} -> {found.fun:.2f}")
for name, value, spread, true in zip(("push", "noise"), found.x, error, (PUSH, NOISE), strict=True):
    print(f"{name:>6}: {np.exp(value):.3f}, between {np.exp(value - 2 * spread):.3f} and", end=" ")
    print(f"{np.exp(value + 2 * spread):.3f} (true: {true})")

by_differences = [
    float(minus_log_likelihood(dt.from_numpy(found.x + h)) - minus_log_likelihood(dt.from_numpy(found.x - h))) / 2e-5
    for h in np.eye(2) * 1e-5
]
assert found.success and np.abs(found.jac).max() < 1e-3
assert np.allclose(by_differences, found.jac, atol=1e-4)
assert (np.abs(found.x - np.log([PUSH, NOISE])) < 3 * error).all()
