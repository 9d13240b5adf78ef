"""What training does beside derivatives: optimizer steps, and batches."""

from __future__ import annotations

from typing import Any

from . import LARGE, Step, numbers, workload


def _steps(name: str, count: int, shape: tuple[int, ...], **options: Any) -> Any:
    def program(torch: Any) -> Step:
        params = [torch.tensor(numbers(*shape, seed=k)).requires_grad_() for k in range(count)]
        for k, p in enumerate(params):
            p.grad = torch.tensor(numbers(*shape, seed=k + 1))
        optimizer = getattr(torch.optim, name)(params, lr=1e-3, **options)

        def step() -> Any:
            optimizer.step()
            return tuple(params[:2])

        return step

    return program


for _name in ("SGD", "Adam", "AdamW"):
    for _count in (4, 100):
        workload(f"{_name}, a step of {_count} parameters")(_steps(_name, _count, (10, 10)))
    workload(f"{_name}, a step of 10^6 numbers", LARGE)(_steps(_name, 1, (1000, 1000)))
workload("SGD with momentum, a step of 100 parameters")(_steps("SGD", 100, (10, 10), momentum=0.9))


@workload("batches of a TensorDataset")
def batches(torch: Any) -> Step:
    """A loader over a thousand rows, in batches of 32."""
    data = torch.utils.data.TensorDataset(torch.tensor(numbers(1000, 10)), torch.arange(1000))
    loader = torch.utils.data.DataLoader(data, batch_size=32)

    def step() -> Any:
        for x, y in loader:
            last = (x, y)
        return last

    return step
