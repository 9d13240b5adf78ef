"""skorch: a network as an estimator of scikit-learn's, in a search over a grid."""

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier

torch.manual_seed(0)


class Network(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x).softmax(-1)


x = np.random.default_rng(0).standard_normal((80, 4)).astype("f4")
y = (x[:, 0] > 0).astype("i8")
network = NeuralNetClassifier(Network, max_epochs=60, lr=0.5, verbose=0)
assert network.fit(x, y).score(x, y) > 0.85
search = GridSearchCV(network, {"module__width": [2, 8]}, cv=2).fit(x, y)
assert search.best_params_["module__width"] in (2, 8)
