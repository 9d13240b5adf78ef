"""captum: attributions of a small network, which add up to the difference that they explain."""

import torch
from captum.attr import DeepLift, FeatureAblation, IntegratedGradients, LayerConductance, Saliency

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
x = torch.randn(4, 3, requires_grad=True)
change = model(x)[:, 0] - model(torch.zeros(3))[0]
parts = IntegratedGradients(model).attribute(x, target=0, n_steps=200)
assert torch.allclose(parts.sum(1).to(change.dtype), change, atol=1e-2)
assert torch.allclose(DeepLift(model).attribute(x, target=0).sum(1), change, atol=1e-4)
assert torch.allclose(
    LayerConductance(model, model[0]).attribute(x, target=0).sum(1).to(change.dtype), change, atol=0.1
)
(gradient,) = torch.autograd.grad(model(x)[:, 1].sum(), x)
assert torch.allclose(Saliency(model).attribute(x, target=1), gradient.abs())
assert FeatureAblation(model).attribute(x, target=0).shape == x.shape
