"""Sensitivity of an epidemic: what does one percent more contacts do to its height?

Susceptible, exposed, infectious, removed: four numbers and a differential equation, solved by
``dualtape.scipy.integrate.odeint``. The derivatives come from the adjoint equation. Then the rates are fitted to
reported cases.
"""

import numpy as np
from scipy.optimize import minimize

import dualtape as dt
from dualtape.scipy.integrate import odeint

DAYS = np.arange(0.0, 121.0, 10.0)
START = dt.tensor([0.999, 0.0, 0.001, 0.0], dtype=dt.float64)
NAMES = ("contacts per day", "incubation rate", "recovery rate")
TRUE = np.array([0.5, 0.2, 0.14])


def flow(state, t, rates):
    """How the four parts of a population change."""
    s, e, i, r = state
    contacts, incubation, recovery = rates
    infected, ill, well = contacts * s * i, incubation * e, recovery * i
    return dt.stack([-infected, infected - ill, ill - well, well])


def infectious(rates):
    """The infectious part at each of the days."""
    return odeint(flow, START, DAYS, args=(rates,), rtol=1e-6, atol=1e-8)[:, 2]


rates = dt.tensor(TRUE, requires_grad=True)
curve = infectious(rates)
peak = curve.max()
(slope,) = dt.autograd.grad(peak, rates, retain_graph=True)
print(f"at the peak, day {DAYS[int(curve.argmax())]:.0f}, {peak.item():.1%} are infectious; one percent more of")
for name, value, s in zip(NAMES, TRUE, slope, strict=True):
    print(f"  {name:17} changes that by {100 * 0.01 * value * s.item():+.3f} percent points")

by_differences = []
for h in np.eye(3) * 1e-4:
    more, less = infectious(dt.tensor(TRUE + h)).max(), infectious(dt.tensor(TRUE - h)).max()
    by_differences.append((more - less).item() / 2e-4)
assert np.allclose(slope.numpy(), by_differences, rtol=2e-3)

# Fit the contacts and the recovery to noisy reports; the incubation is known from elsewhere.
reports = curve.detach().numpy() * (1 + 0.05 * np.random.default_rng(0).normal(size=len(DAYS)))
known = dt.tensor(TRUE[1])


def misfit(logs):
    contacts, recovery = logs.exp()
    return (((infectious(dt.stack([contacts, known, recovery])) - dt.tensor(reports)) / 0.05) ** 2).sum()


found = minimize(dt.func.value_and_grad(misfit), np.log([0.4, 0.2]), jac=True, method="BFGS", options={"gtol": 1e-3})
contacts, recovery = np.exp(found.x)
print(f"fitted to reports: contacts {contacts:.3f} (true: {TRUE[0]}), recovery {recovery:.3f} (true: {TRUE[2]})")
print(f"each ill person infects {contacts / recovery:.2f} others at first (true: {TRUE[0] / TRUE[2]:.2f})")
assert abs(contacts - TRUE[0]) < 0.03 and abs(recovery - TRUE[2]) < 0.02
