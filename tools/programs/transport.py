"""geomloss: losses between clouds of points, which vanish where the clouds are the same, and pull them together."""

import torch
from geomloss import SamplesLoss

torch.manual_seed(0)
x, y = torch.rand(20, 2, requires_grad=True), torch.rand(30, 2) + 1
for kind, options in (("sinkhorn", {"p": 2, "blur": 0.05}), ("energy", {}), ("gaussian", {"blur": 0.5})):
    loss = SamplesLoss(kind, backend="tensorized", **options)
    assert loss(y, y).abs() < 1e-4 and loss(x, y) > 0.01
    (gradient,) = torch.autograd.grad(loss(x, y), x)
    assert loss(x - 0.5 * gradient, y) < loss(x, y)
