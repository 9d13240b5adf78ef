"""The training loop that PyTorch's users know: modules, an optimizer, a schedule, a loader, a checkpoint.

Change the import lines to ``torch`` and it is a PyTorch program. The task: which of three spirals a point is on.
"""

import tempfile
from pathlib import Path

import dualtape as dt
from dualtape import nn
from dualtape.optim.lr_scheduler import CosineAnnealingLR
from dualtape.utils.data import DataLoader, TensorDataset, random_split


def spirals(count, noise=0.15):
    """Points on three arms, and which arm."""
    arm = dt.randint(0, 3, (count,))
    radius = dt.rand(count)
    angle = 5 * radius + arm * (2 * dt.pi / 3) + noise * dt.randn(count)
    return dt.stack([radius * angle.cos(), radius * angle.sin()], 1), arm


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Dropout(0.05),
            nn.Linear(width, width),
            nn.GELU(),
        )
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.body(x))


@dt.no_grad()
def accuracy(model, data):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, batch_size=256))
    model.train()
    return right / len(data)


dt.manual_seed(0)
train, test = random_split(TensorDataset(*spirals(1200)), [1000, 200])
loader = DataLoader(train, batch_size=50, shuffle=True)
model = Net()
optimizer = dt.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-3)
schedule = CosineAnnealingLR(optimizer, T_max=25)
criterion = nn.CrossEntropyLoss(label_smoothing=0.02)

for epoch in range(25):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    schedule.step()
    if epoch % 6 == 0:
        print(f"epoch {epoch:2}  loss {total / len(loader):.3f}  accuracy on unseen points {accuracy(model, test):.3f}")

reached = accuracy(model, test)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "checkpoint.safetensors"
    dt.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    checkpoint = dt.load(file)

restored = Net()
restored.load_state_dict(checkpoint["model"])
print(f"reached {reached:.3f}; the restored model: {accuracy(restored, test):.3f}")
assert reached > 0.93
assert accuracy(restored, test) == reached
