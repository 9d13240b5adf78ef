"""Training steps of networks of a size that people train on a laptop: kernels and memory traffic decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import LARGE, Step, numbers, workload


def trained(torch: Any, parameters: list, loss_of: Any) -> Step:
    """A step of gradient descent on what ``loss_of`` gives."""

    def step() -> Any:
        loss = loss_of()
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter -= 1e-4 * parameter.grad
                parameter.grad = None
        return loss

    return step


def leaves(torch: Any, *shapes: tuple[int, ...], scale: float = 0.1) -> list:
    """Parameters of the given shapes."""
    return [torch.tensor(numbers(*shape, seed=k, scale=scale), requires_grad=True) for k, shape in enumerate(shapes)]


@workload("MLP training step, 256 x 512 wide", LARGE)
def wide_mlp(torch: Any) -> Step:
    """Three layers of 512 on a batch of 256."""
    functional = torch.nn.functional
    w1, w2, w3, b1, b2, b3 = parameters = leaves(
        torch, (512, 512), (512, 512), (10, 512), (512,), (512,), (10,), scale=0.05
    )
    inputs, labels = torch.tensor(numbers(256, 512, seed=9)), torch.tensor(np.arange(256) % 10)

    def loss() -> Any:
        hidden = torch.relu(functional.linear(inputs, w1, b1))
        hidden = torch.relu(functional.linear(hidden, w2, b2))
        return functional.cross_entropy(functional.linear(hidden, w3, b3), labels)

    return trained(torch, parameters, loss)


@workload("conv net training step", LARGE, threaded=True)
def conv_net(torch: Any) -> Step:
    """Two convolutions with pooling and a linear layer, 16 images of 28 x 28."""
    functional = torch.nn.functional
    k1, k2, w, b1, b2 = parameters = leaves(torch, (8, 1, 3, 3), (16, 8, 3, 3), (10, 16 * 7 * 7), (8,), (16,))
    images, labels = torch.tensor(numbers(16, 1, 28, 28, seed=9)), torch.tensor(np.arange(16) % 10)

    def loss() -> Any:
        hidden = functional.max_pool2d(torch.relu(functional.conv2d(images, k1, b1, padding=1)), 2)
        hidden = functional.max_pool2d(torch.relu(functional.conv2d(hidden, k2, b2, padding=1)), 2)
        return functional.cross_entropy(functional.linear(hidden.reshape(16, -1), w), labels)

    return trained(torch, parameters, loss)


@workload("transformer block, training step", LARGE)
def transformer(torch: Any) -> Step:
    """Attention of 4 heads and a two-layer network with layer norms, 8 sequences of 64 in 128 dimensions."""
    functional = torch.nn.functional
    batch, length, width, heads = 8, 64, 128, 4
    w_qkv, w_out, w_up, w_down, s1, s2, b1, b2 = parameters = leaves(
        torch,
        (3 * width, width),
        (width, width),
        (4 * width, width),
        (width, 4 * width),
        (width,),
        (width,),
        (width,),
        (width,),
        scale=0.05,
    )
    inputs = torch.tensor(numbers(batch, length, width, seed=20))

    def loss() -> Any:
        normal = functional.layer_norm(inputs, (width,), s1, b1)
        q, k, v = (
            part.reshape(batch, length, heads, width // heads).transpose(1, 2)
            for part in functional.linear(normal, w_qkv).chunk(3, -1)
        )
        weights = torch.softmax(q @ k.transpose(-2, -1) * (width // heads) ** -0.5, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        hidden = inputs + functional.linear(mixed, w_out)
        normal = functional.layer_norm(hidden, (width,), s2, b2)
        out = hidden + functional.linear(functional.gelu(functional.linear(normal, w_up)), w_down)
        return (out * out).mean()

    return trained(torch, parameters, loss)


@workload("attention on 32 sequences of 5 to 60 words", LARGE)
def ragged_attention(torch: Any) -> Step:
    """Attention with 4 heads of 16 on a ragged batch."""
    functional = torch.nn.functional
    lengths = np.random.default_rng(0).integers(5, 61, 32)
    joint, out = parameters = leaves(torch, (192, 64), (64, 64))
    words = torch.tensor(numbers(int(lengths.sum()), 64, seed=9))
    offsets = torch.tensor(np.concatenate([[0], np.cumsum(lengths)]))

    def loss() -> Any:
        batch = torch.nested.nested_tensor_from_jagged(words, offsets)
        parts = (part.contiguous() for part in functional.linear(batch, joint).chunk(3, -1))
        heads = [part.unflatten(-1, (4, 16)).transpose(1, 2) for part in parts]
        mixed = functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(-2)
        return functional.linear(mixed, out).values().pow(2).mean()

    return trained(torch, parameters, loss)
