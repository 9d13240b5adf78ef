"""opacus: training with differential privacy, whose gradients are those of each sample, clipped."""

import torch
from opacus import PrivacyEngine

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = torch.utils.data.TensorDataset(torch.randn(40, 4), torch.randint(2, (40,)))
loader = torch.utils.data.DataLoader(data, batch_size=8)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    assert all(p.grad_sample.shape == (len(x), *p.shape) for p in model.parameters())
    optimizer.step()
assert 0 < engine.get_epsilon(1e-5) < 10
