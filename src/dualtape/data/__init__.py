"""Data sets small enough to ship: what the tour and the examples fit.

`load_iris` reads Fisher's iris measurements from the CSV file next to this module. Nothing is downloaded, and
nothing here knows about tensors: loaders return NumPy arrays.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np

__all__ = ["load_iris"]


def load_iris() -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return Fisher's iris data: 150 flowers, four lengths in centimetres, three species.

    The columns are sepal length, sepal width, petal length and petal width; there are 50 flowers of each
    species, in the order of the names. The figures are those of R. A. Fisher, "The use of multiple
    measurements in taxonomic problems", Annals of Eugenics 7 (1936), and are in the public domain.

    Returns
    -------
    features : numpy.ndarray
        float64, shape (150, 4).
    labels : numpy.ndarray
        int64, shape (150,): positions in `names`.
    names : tuple of str
        The three species.

    Examples
    --------
    >>> features, labels, names = load_iris()
    >>> features.shape, labels.shape
    ((150, 4), (150,))
    >>> names
    ('setosa', 'versicolor', 'virginica')
    >>> features[0].tolist(), names[labels[0]]
    ([5.1, 3.5, 1.4, 0.2], 'setosa')
    """
    text = files(__name__).joinpath("iris.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))[1:]
    features = np.array([[float(value) for value in row[:4]] for row in rows])
    names = tuple(dict.fromkeys(row[4] for row in rows))
    labels = np.array([names.index(row[4]) for row in rows], dtype=np.int64)
    return features, labels, names
