"""torchmetrics: running and functional metrics against their definitions."""

import torch
import torchmetrics

torch.manual_seed(0)
scores, targets = torch.randn(30, 3).softmax(-1), torch.randint(3, (30,))
accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3, average="micro")
for part in range(3):
    accuracy(scores[10 * part : 10 * part + 10], targets[10 * part : 10 * part + 10])
assert torch.allclose(accuracy.compute(), (scores.argmax(-1) == targets).float().mean())
x, y = torch.randn(9), torch.randn(9)
found = torchmetrics.MetricCollection([torchmetrics.MeanSquaredError(), torchmetrics.R2Score()])(x, y)
assert torch.allclose(found["MeanSquaredError"], (x - y).square().mean())
assert torchmetrics.AUROC(task="binary")(torch.tensor([0.1, 0.4, 0.8]), torch.tensor([0, 1, 1])) == 1
