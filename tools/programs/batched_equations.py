"""torchode: decays with their own times, and the gradient of the solutions."""

import torch
import torchode

term = torchode.ODETerm(lambda t, y: -y)
controller = torchode.IntegralController(atol=1e-6, rtol=1e-4, term=term)
solver = torchode.AutoDiffAdjoint(torchode.Tsit5(term=term), controller)
start = torch.tensor([[1.2], [5.0]], requires_grad=True)
times = torch.stack((torch.linspace(0, 5, 10), torch.linspace(3, 4, 10)))
solution = solver.solve(torchode.InitialValueProblem(y0=start, t_eval=times))
exact = start * torch.exp(-(times - times[:, :1]))
assert torch.allclose(solution.ys[..., 0], exact, atol=1e-3)
(gradient,) = torch.autograd.grad(solution.ys[:, -1].sum(), start)
assert torch.allclose(gradient, torch.exp(-(times[:, -1:] - times[:, :1])), atol=1e-3)
