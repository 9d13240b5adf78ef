"""Lightning: a module, its trainer, and losses that fall."""

import logging

import pytorch_lightning as lightning
import torch

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
losses = []


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        x, y = batch
        loss = (self.layer(x) - y).square().mean()
        losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.05)


torch.manual_seed(0)
x = torch.randn(64, 4)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(max_epochs=20, accelerator="cpu", **quiet)
trainer.fit(Regression(), loader)
assert trainer.global_step == 80 and losses[-1] < losses[0] / 5
