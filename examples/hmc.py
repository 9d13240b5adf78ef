"""Bayesian logistic regression by Hamiltonian Monte Carlo.

Which temperatures damaged the seals of a rocket? The posterior of two weights is sampled: each proposal follows the
gradient of the log-density, and is accepted or not by the energy it lost.
"""

import numpy as np

import dualtape as dt
from dualtape.nn.functional import softplus

temperature = dt.tensor([53.0, 57, 58, 63, 66, 67, 67, 67, 68, 69, 70, 70, 72, 73, 75, 75, 76, 78, 79, 81]).double()
damage = dt.tensor([1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0]).double()
warmth = (temperature - temperature.mean()) / temperature.std()


def energy(w):
    """Minus the log-posterior: the likelihood of the damage, and a normal prior of width 3 on each weight."""
    score = w[0] + w[1] * warmth
    return (softplus(score) - damage * score).sum() + (w**2).sum() / (2 * 3.0**2)


slope = dt.func.grad(energy)


def proposal(w, momentum, step, steps):
    """The end of a leapfrog path, which keeps the sum of potential and kinetic energy nearly constant."""
    momentum = momentum - step / 2 * slope(w)
    for i in range(steps):
        w = w + step * momentum
        momentum = momentum - (step if i < steps - 1 else step / 2) * slope(w)
    return w, momentum


def sample(count, step=0.35, steps=6, seed=0):
    """Draws from the posterior, and the part of the proposals that was accepted."""
    rng = np.random.default_rng(seed)
    w, draws, accepted = np.zeros(2), [], 0
    for _ in range(count):
        momentum = rng.normal(size=2)
        new, new_momentum = proposal(w, momentum, step, steps)
        before = float(energy(dt.from_numpy(w))) + momentum @ momentum / 2
        after = float(energy(dt.from_numpy(new))) + new_momentum @ new_momentum / 2
        if np.log(rng.random()) < before - after:
            w, accepted = new, accepted + 1
        draws.append(w)
    return np.array(draws[count // 10 :]), accepted / count


def exact_mean():
    """The posterior mean by brute force, on a grid."""
    axis = np.linspace(-8, 8, 161)
    a, b = (dt.from_numpy(side.ravel()) for side in np.meshgrid(axis, axis))
    density = (-dt.func.vmap(energy)(dt.stack([a, b], 1))).softmax(0)
    return np.array([float((density * a).sum()), float((density * b).sum())])


draws, accepted = sample(600)
print(f"accepted {accepted:.0%} of the proposals")
print("posterior mean  ", draws.mean(0).round(2), "  on a grid", exact_mean().round(2))
print("posterior spread", draws.std(0).round(2))
print(f"P(warmer is safer) = {(draws[:, 1] < 0).mean():.3f}")
assert accepted > 0.8
assert np.abs(draws.mean(0) - exact_mean()).max() < 0.25
