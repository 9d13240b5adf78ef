"""Small programs, forward and backward: what a user of a library on small problems waits for."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Step, numbers, workload

# --- chains ---------------------------------------------------------------------------------------


@workload("chain of 200 ops 10x10, recorded")
def chain_forward(torch: Any) -> Step:
    """A long chain of cheap operations: the cost per node, without its gradient."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)
    factor = torch.tensor(numbers(10, 10, seed=1))

    def step() -> Any:
        value = start
        for _ in range(100):
            value = torch.tanh(value * factor)
        return value

    return step


@workload("chain of 200 ops 10x10, backward")
def chain_backward(torch: Any) -> Step:
    """The same chain, forward and backward."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)
    factor = torch.tensor(numbers(10, 10, seed=1))

    def step() -> Any:
        value = start
        for _ in range(100):
            value = torch.tanh(value * factor)
        return torch.autograd.grad(value.sum(), start)

    return step


@chain_backward.for_functions
def _(lib: Any) -> Step:
    start, factor = lib.array(numbers(10, 10)), lib.array(numbers(10, 10, seed=1))

    def value(x: Any) -> Any:
        for _ in range(100):
            x = lib.np.tanh(x * factor)
        return lib.np.sum(x)

    gradient = lib.compiled(lib.grad(value))
    return lambda: (gradient(start),)


@workload("loop of 200 ops on numbers")
def scalar_loop(torch: Any) -> Step:
    """Newton's iteration for a root, on 0-d tensors and Python numbers."""
    number = torch.tensor(np.float64(2.0), requires_grad=True)

    def step() -> Any:
        root = number
        for _ in range(50):
            root = 0.5 * (root + number / root)
        return torch.autograd.grad(root, number)

    return step


@scalar_loop.for_functions
def _(lib: Any) -> Step:
    def value(number: Any) -> Any:
        root = number
        for _ in range(50):
            root = 0.5 * (root + number / root)
        return root

    gradient = lib.compiled(lib.grad(value))
    number = lib.array(np.float64(2.0))
    return lambda: (gradient(number),)


# --- training -------------------------------------------------------------------------------------

SIZES = (16, 32, 32, 4)


def _mlp(torch: Any, leaf: Any) -> Step:
    pairs = list(zip(SIZES, SIZES[1:], strict=False))
    weights = [leaf(numbers(rows, columns, seed=rows, scale=0.3)) for rows, columns in pairs]
    biases = [leaf(np.zeros(columns, dtype=np.float32)) for _, columns in pairs]
    inputs, labels = torch.tensor(numbers(32, SIZES[0], seed=5)), torch.tensor(np.arange(32) % SIZES[-1])

    def step() -> Any:
        hidden = inputs
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            hidden = torch.tanh(hidden @ weight + bias)
        loss = torch.nn.functional.cross_entropy(hidden @ weights[-1] + biases[-1], labels)
        loss.backward()
        with torch.no_grad():
            for parameter in (*weights, *biases):
                parameter -= 1e-3 * parameter.grad
                parameter.grad = None
        return loss

    return step


@workload("MLP training step, batch 32")
def mlp_step(torch: Any) -> Step:
    """Forward, cross entropy, backward and one step of gradient descent on three layers."""
    return _mlp(torch, lambda values: torch.tensor(values, requires_grad=True))


@workload("MLP training step, nn.Parameter")
def mlp_parameters(torch: Any) -> Step:
    """The same with parameters, which are of a subclass."""
    return _mlp(torch, lambda values: torch.nn.Parameter(torch.tensor(values)))


@mlp_step.for_functions
def _(lib: Any) -> Step:
    np_ = lib.np
    pairs = list(zip(SIZES, SIZES[1:], strict=False))
    state = [lib.array(numbers(rows, columns, seed=rows, scale=0.3)) for rows, columns in pairs]
    state += [lib.array(np.zeros(columns, dtype=np.float32)) for _, columns in pairs]
    inputs, chosen = (
        lib.array(numbers(32, SIZES[0], seed=5)),
        lib.array(np.eye(SIZES[-1], dtype=np.float32)[np.arange(32) % SIZES[-1]]),
    )
    places = tuple(range(6))

    def loss(*p: Any) -> Any:
        hidden = inputs
        for k in range(2):
            hidden = np_.tanh(hidden @ p[k] + p[3 + k])
        scores = hidden @ p[2] + p[5]
        top = np_.max(scores, axis=1, keepdims=True)
        logs = scores - top - np_.log(np_.sum(np_.exp(scores - top), axis=1, keepdims=True))
        return -np_.sum(logs * chosen) / np.float32(32)

    @lib.compiled
    def update(*p: Any) -> Any:
        grads = lib.grad(loss, places)(*p)
        return loss(*p), [a - np.float32(1e-3) * g for a, g in zip(p, grads, strict=True)]

    def step() -> Any:
        value, state[:] = update(*state)
        return value

    return step


@workload("LSTM of 50 steps, batch 8")
def lstm(torch: Any) -> Step:
    """A recurrent cell unrolled over 50 steps: matrix products, slices of a row of gates, products."""
    hidden_size = 16
    inputs = [torch.tensor(numbers(8, 8, seed=k)) for k in range(50)]
    w_in = torch.tensor(numbers(8, 4 * hidden_size, seed=51, scale=0.2), requires_grad=True)
    w_hidden = torch.tensor(numbers(hidden_size, 4 * hidden_size, seed=52, scale=0.2), requires_grad=True)
    bias = torch.tensor(np.zeros(4 * hidden_size, dtype=np.float32), requires_grad=True)

    def step() -> Any:
        hidden = cell = torch.zeros(8, hidden_size)
        for x in inputs:
            gates = x @ w_in + hidden @ w_hidden + bias
            i, f, g, o = gates.chunk(4, 1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            hidden = torch.sigmoid(o) * torch.tanh(cell)
        return torch.autograd.grad((hidden * hidden).sum(), (w_in, w_hidden, bias))

    return step


@lstm.for_short_functions
def _(lib: Any) -> Step:
    np_, size = lib.np, 16
    inputs = [lib.array(numbers(8, 8, seed=k)) for k in range(50)]
    weights = (
        lib.array(numbers(8, 4 * size, seed=51, scale=0.2)),
        lib.array(numbers(size, 4 * size, seed=52, scale=0.2)),
        lib.array(np.zeros(4 * size, dtype=np.float32)),
    )
    one = np.float32(1)

    def value(w_in: Any, w_hidden: Any, bias: Any) -> Any:
        hidden = cell = lib.array(np.zeros((8, size), dtype=np.float32))
        for x in inputs:
            gates = np_.matmul(x, w_in) + np_.matmul(hidden, w_hidden) + bias
            i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
            cell = cell / (one + np_.exp(-f)) + np_.tanh(g) / (one + np_.exp(-i))
            hidden = np_.tanh(cell) / (one + np_.exp(-o))
        return np_.sum(hidden * hidden)

    gradient = lib.compiled(lib.grad(value, (0, 1, 2)))
    return lambda: gradient(*weights)


# --- simulation -----------------------------------------------------------------------------------


@workload("orbit, 100 leapfrog steps")
def orbit(torch: Any) -> Step:
    """A simulation on states of two numbers, differentiated by its start: overhead and nothing else."""
    start = torch.tensor(np.array([1.0, 0.0]))
    launch = torch.tensor(np.array([0.1, 1.1]), requires_grad=True)

    def pull(position: Any) -> Any:
        return -position * (position * position).sum() ** -1.5

    def step() -> Any:
        position, velocity = start, launch
        force = pull(position)
        for _ in range(100):
            half = velocity + 0.005 * force
            position = position + 0.01 * half
            force = pull(position)
            velocity = half + 0.005 * force
        return torch.autograd.grad((position * position).sum(), launch)

    return step


@orbit.for_short_functions
def _(lib: Any) -> Step:
    np_ = lib.np
    start, launch = lib.array(np.array([1.0, 0.0])), lib.array(np.array([0.1, 1.1]))

    def pull(position: Any) -> Any:
        return -position * np_.sum(position * position) ** -1.5

    def value(velocity: Any) -> Any:
        position, force = start, pull(start)
        for _ in range(100):
            half = velocity + 0.005 * force
            position = position + 0.01 * half
            force = pull(position)
            velocity = half + 0.005 * force
        return np_.sum(position * position)

    gradient = lib.compiled(lib.grad(value))
    return lambda: (gradient(launch),)


@workload("ODE, 100 Runge-Kutta steps")
def runge_kutta(torch: Any) -> Step:
    """The predator-prey equations, the classical fourth-order method, gradients with respect to their four
    parameters.
    """
    parameters = torch.tensor(np.array([1.1, 0.4, 0.4, 0.1]), requires_grad=True)
    start = torch.tensor(np.array([10.0, 5.0]))

    def slope(state: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        prey, predator = state[0], state[1]
        return torch.stack([prey * (a - b * predator), predator * (d * prey - c)])

    def step() -> Any:
        a, b, c, d = parameters
        state = start
        for _ in range(100):
            k1 = slope(state, a, b, c, d)
            k2 = slope(state + 0.005 * k1, a, b, c, d)
            k3 = slope(state + 0.005 * k2, a, b, c, d)
            k4 = slope(state + 0.01 * k3, a, b, c, d)
            state = state + (k1 + 2 * k2 + 2 * k3 + k4) * (0.01 / 6)
        return torch.autograd.grad(state.sum(), parameters)

    return step


@runge_kutta.for_short_functions
def _(lib: Any) -> Step:
    np_ = lib.np
    start, parameters = lib.array(np.array([10.0, 5.0])), lib.array(np.array([1.1, 0.4, 0.4, 0.1]))

    def slope(state: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        prey, predator = state[0], state[1]
        return np_.stack([prey * (a - b * predator), predator * (d * prey - c)])

    def value(p: Any) -> Any:
        a, b, c, d = p[0], p[1], p[2], p[3]
        state = start
        for _ in range(100):
            k1 = slope(state, a, b, c, d)
            k2 = slope(state + 0.005 * k1, a, b, c, d)
            k3 = slope(state + 0.005 * k2, a, b, c, d)
            k4 = slope(state + 0.01 * k3, a, b, c, d)
            state = state + (k1 + 2 * k2 + 2 * k3 + k4) * (0.01 / 6)
        return np_.sum(state)

    gradient = lib.compiled(lib.grad(value))
    return lambda: (gradient(parameters),)
