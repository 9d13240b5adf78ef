"""Problem 2: fit a classifier to Fisher's irises, to the likelihood and accuracy that are known for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import dualtape as dt
from dualtape import draw
from dualtape.data import load_iris
from dualtape.tour.report import Report

__all__ = ["TITLE", "WHAT", "Softmax", "fit", "solve"]

TITLE = "Fitting Fisher's irises"
WHAT = """
Softmax regression tells three species of iris apart by four lengths. SciPy's L-BFGS minimises the
negative log-likelihood, the gradient comes from backward(). The maximum of the likelihood is well known
(deviance 11.90, 2 of 150 flowers misclassified), and so is the accuracy on flowers the fit has not seen:
about 98 %.
"""

COLOURS = ("#2f6fb0", "#d98324", "#3c9257")
TINTS = ("#d3e3f3", "#fae3c6", "#d3ecda")
MARKERS = ("circle", "square", "triangle")


class Softmax:
    """A linear map from standardised features to one score per class.

    Parameters
    ----------
    weight, bias : numpy.ndarray
        The scores are `features @ weight + bias`.
    """

    def __init__(self, weight: np.ndarray, bias: np.ndarray) -> None:
        self.weight, self.bias = weight, bias

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the class with the highest score, for each row."""
        return np.argmax(features @ self.weight + self.bias, axis=1)


def fit(features: np.ndarray, labels: np.ndarray, classes: int = 3) -> tuple[Softmax, float, float]:
    """Maximise the likelihood; return the model, its deviance and the largest entry of the last gradient."""
    centre, scale = features.mean(axis=0), features.std(axis=0)
    inputs = dt.from_numpy((features - centre) / scale)
    targets = dt.from_numpy(labels)
    width = features.shape[1]
    last = [np.inf]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = dt.tensor(flat, requires_grad=True)
        weight = parameters[: width * classes].reshape(width, classes)
        bias = parameters[width * classes :]
        loss = dt.nn.functional.cross_entropy(inputs @ weight + bias, targets, reduction="sum")
        loss.backward()
        assert parameters.grad is not None
        gradient = parameters.grad.numpy()
        last[0] = float(np.abs(gradient).max())
        return loss.item(), gradient

    start = np.zeros((width + 1) * classes)
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-5}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    objective(found.x)
    weight = found.x[: width * classes].reshape(width, classes) / scale[:, None]
    bias = found.x[width * classes :] - centre @ weight
    return Softmax(weight, bias), 2 * float(found.fun), last[0]


def solve(report: Report, out: Path | None) -> None:
    """Fit all flowers, cross-validate, and draw the regions of a fit on the two petal lengths."""
    features, labels, names = load_iris()
    model, deviance, slope = fit(features, labels)
    right = int((model.predict(features) == labels).sum())
    report.figure("flowers, measurements, species", f"{len(labels)}, {features.shape[1]}, {len(names)}")
    report.figure("largest gradient entry at the solution", f"{slope:.1e}")
    report.check("deviance", f"{deviance:.3f}", "known: 11.90", abs(deviance - 11.90) < 0.01)
    report.check("flowers classified right", f"{right}/150", "known: 148/150", right == 148)
    unseen = 0
    for fold in range(10):
        held_out = np.arange(len(labels)) % 10 == fold
        partial = fit(features[~held_out], labels[~held_out])[0]
        unseen += int((partial.predict(features[held_out]) == labels[held_out]).sum())
    accuracy = unseen / len(labels)
    report.check(
        "accuracy on unseen flowers (10 folds)",
        f"{accuracy:.1%}",
        "known: 97 to 98 %",
        0.966 < accuracy < 0.985,
    )
    if out is not None:
        path = out / "iris.svg"
        path.write_text(picture(features[:, 2:], labels, names), encoding="utf-8")
        report.picture(path)


def picture(petals: np.ndarray, labels: np.ndarray, names: tuple[str, ...]) -> str:
    """Draw a fit on petal length and width: the region of each species, and the flowers."""
    model = fit(petals, labels)[0]
    xlim, ylim = (0.5, 7.5), (0.0, 2.8)
    rows, columns = 205, 628
    xs = xlim[0] + (np.arange(columns) + 0.5) / columns * (xlim[1] - xlim[0])
    ys = ylim[0] + (np.arange(rows) + 0.5) / rows * (ylim[1] - ylim[0])
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    right = int((model.predict(petals) == labels).sum())
    plot = draw.Plot(
        f"Softmax regression on two petal measurements: {right} of 150 right",
        "petal length (cm)",
        "petal width (cm)",
        xlim,
        ylim,
    )
    plot.regions(model.predict(grid).reshape(rows, columns), TINTS)
    for k, name in enumerate(names):
        chosen = petals[labels == k]
        plot.scatter(chosen[:, 0], chosen[:, 1], COLOURS[k], f"Iris {name}", MARKERS[k])
    return plot.svg()
