"""BoTorch: a Gaussian process is fitted, and the next point to try is found."""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
x = torch.rand(8, 2, dtype=torch.float64)
y = 1 - (x - 0.5).norm(dim=-1, keepdim=True)
process = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(process.likelihood, process))
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
point, _ = optimize_acqf(LogExpectedImprovement(process, y.max()), bounds=bounds, q=1, num_restarts=2, raw_samples=16)
assert point.shape == (1, 2) and (point >= 0).all() and (point <= 1).all()
