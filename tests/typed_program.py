"""A program as users write them, in which checkers of types shall find nothing: tests/project/test_stubs.py lets them look.

It is never run: what it says of types is all that counts.
"""

from typing import Any

import numpy as np

import dualtape as dt
import dualtape.nn.functional as F
from dualtape import Tensor, nn, optim
from dualtape.autograd import Function, grad, gradcheck
from dualtape.func import grad as gradient
from dualtape.func import hessian, jacrev, jvp, vjp, vmap
from dualtape.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    scale: Tensor

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(width, 2))
        self.register_buffer("scale", dt.ones(2))
        self.offset = nn.Parameter(dt.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.rest(self.first(x).tanh()) * self.scale + self.offset


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

    @staticmethod
    def jvp(ctx: Any, t: Tensor) -> Tensor:
        return t


def square(x: Tensor) -> Tensor:
    return (x**2).sum()


def training(net: Net, x: Tensor, y: Tensor) -> float:
    optimizer = optim.AdamW(net.parameters(), lr=1e-3)
    schedule = optim.lr_scheduler.StepLR(optimizer, 10)
    loss = dt.zeros(())
    for xs, ys in DataLoader(TensorDataset(x.detach(), y), batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(xs), ys)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    with dt.no_grad():
        right = (net.eval()(x).argmax(dim=-1) == y).float().mean().item()
    net.load_state_dict(net.state_dict())
    for _, parameter in net.named_parameters():
        parameter.data.mul_(0.5)
        parameter.grad = None
    dt.draw(loss).save("loss.svg")
    dt.draw.Picture("nothing", [dt.draw.Item("x")], []).save("nothing.html")
    return float(loss) + right


def tensors(x: Tensor) -> list[Any]:
    rows: int = x.shape[0]
    shape: dt.Size = x.shape[1:]
    total: float = x.sum().item()
    array: np.ndarray = x.detach().numpy()
    largest, places = x.max(dim=1)
    u, s, vh = dt.linalg.svd(x)
    a = x.sum(dim=0, keepdim=True) + 1.0
    a[0, 0] = 3.0
    b = 2 - a[0, :2] + a[..., None][0, 0]
    joined = dt.cat([a, b], dim=0).reshape(-1, 2).T.contiguous().view(-1).unsqueeze(0).permute(1, 0)
    if x.grad is not None:
        x.grad.zero_()
    handle = x.register_hook(lambda g: g * 2)
    handle.remove()
    x += 1
    masks = [x > 0, ~(x > 0) & (x < 1), x == x, dt.where(x > 0, x, 0.0)]
    numbers = [x @ x.T, -x, abs(x), 2**x, 3 / x, x // 2, x % 2, x.to(dt.float64).cpu(), dt.from_numpy(array)]
    sums = [row.sum() for row in x]
    return [rows, shape, total, largest, places, u, s, vh, joined, masks, numbers, sums, np.tanh(x), len(x), bool(a[0])]


def transforms(x: Tensor) -> list[Any]:
    (g,) = grad(square(x), x, create_graph=True)
    gradcheck(Cube.apply, (x.double(),))
    value, tangent = jvp(square, (x,), (x,))
    out, pull = vjp(square, x)
    found = [hessian(square)(x), jacrev(square)(x), vmap(gradient(square))(x), g, value, tangent, out, pull]
    net = Net()
    found += [dt.func.functional_call(net, dict(net.named_parameters()), (x,))]
    found += [dt.autograd.functional.hessian(square, x, progress=False), dt.compile(square)(x)]
    found += [dt.scipy.optimize.least_squares(square, np.ones(2)), dt.func.sparse_hessian(square)(np.ones(3))]
    with dt.profiler.profile() as profile, dt.autograd.detect_anomaly():
        F.conv2d(dt.ones(1, 1, 3, 3), dt.ones(1, 1, 2, 2))
    print(profile.key_averages().table(sort_by="cpu_time_total"))
    found += [dt.distributions.Normal(0.0, 1.0).log_prob(x).sum(), nn.LSTM(3, 4)(dt.ones(2, 1, 3))]
    return found
