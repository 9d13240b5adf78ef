"""Derivatives of a NumPy function that knows nothing of dualtape.

The function is code as it stands in many notebooks: it imports NumPy, is not touched, and takes tensors all the same,
since NumPy's functions ask their arguments. First its gradient, then its Hessian; then SciPy uses both.
"""

import numpy as np
from scipy.optimize import minimize

import dualtape as dt


def potential(places):
    """Energy of unit charges in a bowl; ``places`` is a flat array of coordinates in the plane."""
    xy = np.reshape(places, (-1, 2))
    bowl = np.sum(xy**2) / 2
    apart = xy[:, np.newaxis, :] - xy[np.newaxis, :, :]
    i, j = np.triu_indices(len(xy), k=1)
    distance = np.linalg.norm(apart[i, j], axis=-1)
    return bowl + np.sum(1 / distance)


rng = np.random.default_rng(0)
start = rng.normal(size=14)

gradient, hessian = dt.func.grad(potential), dt.func.hessian(potential)
by_differences = np.array(
    [(potential(start + h) - potential(start - h)) / 2e-6 for h in 1e-6 * np.eye(len(start))],
)
print("gradient and central differences agree to", f"{np.abs(gradient(start) - by_differences).max():.1e}")
assert isinstance(gradient(start), np.ndarray)  # arrays in, arrays out
assert np.allclose(gradient(start), by_differences, rtol=1e-5)


def forces(places):
    """The same through tensors, as PyTorch's users would write it."""
    x = dt.from_numpy(places).requires_grad_()
    potential(x).backward()
    return -x.grad.numpy()


assert np.allclose(forces(start), -gradient(start))

found = minimize(potential, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-10})
stiffness = np.linalg.eigvalsh(hessian(found.x))
print(f"energy {potential(start):.4f} -> {found.fun:.6f} in {found.nit} steps, {found.nfev} evaluations")
print("squared frequencies:", stiffness.round(3))
radii = np.sort(np.linalg.norm(found.x.reshape(-1, 2), axis=1))
print("distances from the middle:", radii.round(3))
assert np.abs(gradient(found.x)).max() < 1e-8
assert stiffness[0] > -1e-8 and abs(stiffness[0]) < 1e-6  # the cluster turns freely, everything else is stable
assert np.isclose(stiffness, 1.0).sum() >= 2  # and swings as a whole with the bowl's own frequency
