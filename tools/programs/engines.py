"""ignite: a trainer and an evaluator with metrics."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss

torch.manual_seed(0)
model, criterion = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
batches = [(x, (x[:, 0] > 0).long()) for x in torch.randn(10, 16, 4)]
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), 0.5), criterion)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})
losses = []
trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: losses.append(evaluator.run(batches).metrics["loss"]))
trainer.run(batches, max_epochs=5)
assert losses == sorted(losses, reverse=True) and evaluator.state.metrics["accuracy"] > 0.9
