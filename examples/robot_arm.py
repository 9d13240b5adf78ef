"""Inverse kinematics: which angles of six joints bring the hand of an arm to a place, pointing a given way?

The arm is a chain of rotations, as one would write them down. Its Jacobian comes from forward mode (six numbers go in),
and damped Gauss-Newton steps do the rest. ``vmap`` solves for many targets at once, with the same code.
"""

import math

import dualtape as dt
from dualtape.func import jacfwd, vmap

dt.manual_seed(0)
dt.set_default_dtype(dt.float64)
LENGTHS = (0.4, 0.4, 0.3, 0.3, 0.2, 0.1)
AXES = "zyyxyx"


def rotation(axis, angle):
    """The matrix that turns by ``angle`` about a coordinate axis."""
    c, s, one, zero = angle.cos(), angle.sin(), dt.ones_like(angle), dt.zeros_like(angle)
    rows = {
        "x": [one, zero, zero, zero, c, -s, zero, s, c],
        "y": [c, zero, s, zero, one, zero, -s, zero, c],
        "z": [c, -s, zero, s, c, zero, zero, zero, one],
    }
    return dt.stack(rows[axis]).reshape(3, 3)


def hand(angles):
    """Where the hand is, and the direction it points in: six numbers."""
    turned, place = dt.eye(3), dt.zeros(3)
    for axis, length, angle in zip(AXES, LENGTHS, angles, strict=True):
        turned = turned @ rotation(axis, angle)
        place = place + length * turned[:, 0]
    return dt.cat([place, turned[:, 0]])


def step(angles, goal):
    """One damped Gauss-Newton step towards a goal."""
    error = goal - hand(angles)
    jacobian = jacfwd(hand)(angles)
    damping = 1e-9 + 0.1 * (error**2).sum()
    change = dt.linalg.solve(jacobian.T @ jacobian + damping * dt.eye(6), jacobian.T @ error)
    return angles + change.clamp(-0.5, 0.5)


def miss(angles, goals):
    """How far from its goal each arm is."""
    return dt.linalg.vector_norm(vmap(hand)(angles) - goals, dim=1)


true = (dt.rand(64, 6) - 0.5) * math.pi
goals = vmap(hand)(true)
angles = true + 0.8 * (dt.rand(64, 6) - 0.5)  # poses nearby, from which the arms set out
print(f"at the start   the arms miss by {miss(angles, goals).mean():.3f} on average")
for count in range(1, 41):
    angles = vmap(step)(angles, goals)
    if count in (1, 5, 10, 40):
        print(f"after {count:2} steps the arms miss by {miss(angles, goals).mean():.2e} on average")
arrived = (miss(angles, goals) < 1e-6).double().mean().item()
print(f"{arrived:.0%} of 64 arms arrived, not all in the pose that their goal was made from:")
print(f"their angles differ by up to {(angles - true).abs().max():.2f} rad")
assert arrived > 0.95

one = (goals[0] - hand(true[0] + 0.01)).detach()
predicted = jacfwd(hand)(true[0]) @ dt.full((6,), -0.01)
assert (one - predicted).abs().max() < 1e-3  # the Jacobian is right to first order
