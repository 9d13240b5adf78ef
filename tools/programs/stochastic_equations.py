"""torchsde: the mean of geometric Brownian motion, and its gradient."""

import torch
import torchsde


class Motion(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Parameter(torch.tensor(0.5))

    def f(self, t, y):
        return self.drift * y

    def g(self, t, y):
        return 0.2 * y


torch.manual_seed(0)
motion = Motion()
path = torchsde.sdeint(motion, torch.ones(2000, 1), torch.linspace(0, 1, 3), dt=0.05)
mean = path[-1].mean()
assert abs(mean.item() - torch.tensor(0.5).exp().item()) < 0.05, mean
mean.backward()
assert abs(motion.drift.grad.item() - mean.item()) < 0.1
