"""Traced modules: generated source and names beside PyTorch's, values and gradients beside the module's own."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape import fx
from dualtape.fx.experimental.proxy_tensor import make_fx
from dualtape.fx.passes.shape_prop import ShapeProp
from dualtape.fx.proxy import TraceError
from same_program import needs_torch


def _modules(lib: ModuleType) -> dict[str, tuple[Any, Callable]]:
    """Return modules of dualtape or PyTorch, each with a function that makes inputs."""
    nn, functional = lib.nn, lib.nn.functional
    found: dict[str, tuple[Any, Callable]] = {}
    square = lambda: (lib.linspace(-1, 1, 16).reshape(4, 4),)

    def add(inputs: Callable) -> Callable:
        def keep(kind: type) -> type:
            found[kind.__name__] = (kind(), inputs)
            return kind

        return keep

    @add(square)
    class Attributes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.param = nn.Parameter(lib.ones(4, 4))
            self.register_buffer("buffer", lib.ones(4))

        def forward(self, x):
            return self.linear(x + self.param).clamp(min=0.0, max=1.0) * self.buffer

    @add(square)
    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.Tanh()))

        def forward(self, x):
            return self.net(x)

    @add(square)
    class Operators(nn.Module):
        def forward(self, x, y=2, *, z=None):
            return (
                (x * y - 1, 2 / x, -x, x @ x.t(), x[0], x[:, 0], x[..., None], ~(x > 0), abs(x), x**2, x // 2),
                (x % 2, +x, 1 - x, 2**x, (x > 0) & (x < 1), (x > 0) | (x < 1), (x > 0) ^ (x < 1), x != x, x >= x),
            )

    @add(square)
    class Containers(nn.Module):
        def forward(self, x):
            x = x + 1
            y, z = x.size(), x.size(0)
            return {"a": x.reshape(z, -1), "b": [y, (z, None)], "c": x.dtype, "d": slice(z, None)}

    @add(square)
    class Functions(nn.Module):
        def forward(self, x):
            return (
                lib.cat([x, x], dim=1),
                lib.relu(x),
                functional.gelu(x),
                functional.softmax(x, dim=-1),
                lib.einsum("ij,jk->ik", x, x),
                lib.where(x > 0, x, -x),
                lib.stack((x, x)),
                functional.layer_norm(x, (4,)),
                functional.linear(x, x),
                functional.pad(x, (1, 1)),
                functional.mse_loss(x, x),
                functional.silu(x),
                functional.leaky_relu(x, 0.1),
                functional.dropout(x, training=False),
                functional.normalize(x),
                functional.logsigmoid(x),
                lib.linalg.norm(x),
                lib.fft.fft(x),
                lib.add(x, x, alpha=2),
                lib.flatten(x, 1),
                lib.clamp(x, max=float("inf")),
                lib.mean(x),
                lib.split(x, 2),
                x.to(lib.float64),
                math.pi * x,
                x.new_zeros(3),
                x[0, 1:2, None],
                x[[0, 1]],
            )

    @add(square)
    class Lists(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
            self.named = nn.ModuleDict({"a-b": nn.ReLU(), "c": nn.Dropout(0.0)})

        def forward(self, x):
            for layer in self.layers:
                x = layer(x) + self.layers[0].weight.sum()
            return self.named["c"](self.named["a-b"](x))

    @add(lambda: (lib.ones(1, 1, 8, 8),))
    class Images(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.pool, self.flat = nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Flatten()

        def forward(self, x):
            return functional.log_softmax(self.flat(self.pool(self.conv(x))), dim=1)

    @add(lambda: (lib.ones(3),) * 7)
    class Names(nn.Module):
        def forward(self, input, self_1, list_1, sum, len, float, add_1):
            add = input + 1
            b = input + 2
            c = add_1 + 1
            return add, b, c, sum + len

    @add(lambda: (lib.ones(3), 1, 2))
    class Stars(nn.Module):
        def forward(self, x, *args, **kwargs):
            return x + 1, args, kwargs

    @add(lambda: (lib.ones(3), lib.ones(3)))
    class Unused(nn.Module):
        def forward(self, x, unused):
            y = x.sum()
            z = (x[0], y, x.shape)
            return x if z else y

    @add(square)
    class Constants(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain = lib.ones(4)

        def forward(self, x):
            return x + lib.tensor([1.0, 2.0, 3.0, 4.0]) + self.plain, x.T, x.device

    return found


_NAMES = list(_modules(dt))


@needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", _NAMES)
def test_generated_source_and_graphs_are_those_of_pytorch(name: str) -> None:
    import torch

    ours, theirs = (lib_fx.symbolic_trace(_modules(lib)[name][0]) for lib, lib_fx in ((dt, fx), (torch, torch.fx)))
    assert ours.code == theirs.code
    assert str(ours.graph) == str(theirs.graph)


def _leaves(value: Any) -> list[dt.Tensor]:
    return [leaf for leaf in dt.utils._pytree.tree_leaves(value) if isinstance(leaf, dt.Tensor)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("run", ["traced", "interpreted", "transformed", "copied", "pickled"])
@pytest.mark.parametrize("name", _NAMES)
def test_a_traced_module_gives_the_module_s_values_and_gradients(name: str, run: str) -> None:
    module, inputs = _modules(dt)[name]
    traced = fx.symbolic_trace(module)
    if run == "interpreted":
        if name == "Stars":
            pytest.skip("an interpreter takes no arguments by name, as in PyTorch")
        other: Callable = fx.Interpreter(traced).run
    elif run == "transformed":
        other = fx.Transformer(traced).transform()
    elif run == "copied":
        other = copy.deepcopy(traced)
        assert other.code == traced.code
    elif run == "pickled":
        other = pickle.loads(pickle.dumps(traced))
        assert other.code == traced.code
    else:
        other = traced
    for expected, found in zip(_leaves(module(*inputs())), _leaves(other(*inputs())), strict=True):
        np.testing.assert_array_equal(found.detach(), expected.detach())
    parameters = list(module.named_parameters())
    if parameters and run in ("traced", "interpreted"):
        module(*inputs()).sum().backward()
        expected_grads = {key: p.grad.numpy().copy() for key, p in parameters if p.grad is not None}
        module.zero_grad()
        other(*inputs()).sum().backward()
        for key, p in parameters:
            if key in expected_grads:
                np.testing.assert_array_equal(p.grad, expected_grads[key])


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, TraceError, "cannot be used as inputs to control flow"),
        (lambda x: x and x, TraceError, "cannot be used as inputs to control flow"),
        (lambda x: [y for y in x], TraceError, "Proxy object cannot be iterated"),  # noqa: C416
        (lambda x: 3 in x, TraceError, "Proxy object cannot be iterated"),
        (lambda x: x.__len__(), RuntimeError, "'len' is not supported in symbolic tracing by default"),
        (lambda x: int(x), TypeError, "int\\(\\) argument must be"),
        (lambda x: operator.setitem(x, 0, 1), TypeError, "does not support item assignment"),
        (lambda x: range(x), TypeError, "cannot be interpreted as an integer"),
    ],
)
def test_what_a_trace_cannot_know_raises(function: Callable, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        fx.symbolic_trace(function)
    assert dt.nn.Linear(1, 1)(dt.ones(1)).shape == (1,)


def test_arguments_may_be_fixed_which_the_graph_asserts() -> None:
    def branch(x: Any, y: Any) -> Any:
        return x + 1 if y else x

    traced = fx.symbolic_trace(branch, concrete_args={"y": True})
    assert traced(dt.ones(1), True).tolist() == [2.0]
    with pytest.raises(AssertionError, match="y has been specialized to have value True"):
        traced(dt.ones(1), False)
    free = fx.symbolic_trace(lambda x, y: x + y, concrete_args={"y": fx.PH})
    assert free(1, 2) == 3


# --- graphs ---------------------------------------------------------------------------------------


def _traced() -> fx.GraphModule:
    return fx.symbolic_trace(lambda x: dt.relu(x) + dt.relu(x * 2))


def test_nodes_are_inserted_replaced_and_erased() -> None:
    traced = _traced()
    graph = traced.graph
    first, second = graph.find_nodes(op="call_function", target=dt.relu)
    with graph.inserting_after(first):
        new = graph.call_function(dt.tanh, (first,))
        newer = graph.call_method("neg", (new,))
    assert [node.name for node in graph.nodes] == ["x", "relu", "tanh", "neg", "mul", "relu_1", "add", "output"]
    assert first.replace_all_uses_with(newer, delete_user_cb=lambda user: user is not new) == [
        graph.output_node().args[0]
    ]
    with pytest.raises(RuntimeError, match="it still had 1 users"):
        graph.erase_node(second)
    graph.lint()
    traced.recompile()
    x = dt.linspace(-1, 1, 5)
    np.testing.assert_allclose(traced(x), -dt.tanh(dt.relu(x)) + dt.relu(x * 2))
    with graph.inserting_before(first):
        unused = graph.call_function(dt.sin, (graph.find_nodes(op="placeholder")[0],))
    assert graph.eliminate_dead_code() and unused._erased
    assert not graph.eliminate_dead_code()


def test_arguments_of_nodes_know_their_users_and_refuse_to_be_changed() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    node = graph.call_function(dt.cat, ([x, x, y],), {"dim": 0})
    assert node.all_input_nodes == [x, y] and list(x.users) == [node]
    node.update_arg(0, [y])
    assert not x.users
    node.update_kwarg("dim", 1)
    assert node.kwargs == {"dim": 1}
    with pytest.raises(TypeError, match="does not support mutation"):
        node.args[0].append(x)
    node.replace_input_with(y, x)
    assert list(x.users) == [node] and not y.users
    x.append(y)
    assert x.next is y and y.prev is x and x < y


def test_a_graph_that_is_wrong_is_found() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(dt.relu, (x,))
    y.append(x)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        graph.lint()
    with pytest.raises(AssertionError, match="Unknown op"):
        graph.create_node("call", "x")
    other = fx.Graph()
    with pytest.raises(RuntimeError, match="belongs to another graph"):
        other.call_function(dt.relu, (x,))


def test_generated_lines_may_be_changed() -> None:
    traced = _traced()
    with traced.graph.on_generate_code(lambda before: lambda lines: ["print('called')\n", *lines]):
        assert "print('called')" in traced.recompile().src
    assert "called" not in traced.recompile().src


def test_patterns_are_replaced_wherever_they_are() -> None:
    traced = _traced()
    matches = fx.replace_pattern(traced, lambda x: dt.relu(x), lambda x: dt.tanh(x) * 2)
    assert len(matches) == 2
    x = dt.linspace(-1, 1, 5)
    np.testing.assert_allclose(traced(x), dt.tanh(x) * 2 + dt.tanh(x * 2) * 2)
    nested = fx.symbolic_trace(lambda x: dt.sin(dt.sin(dt.sin(x))))
    fx.replace_pattern(nested, lambda x: dt.sin(x), lambda x: dt.cos(x))
    np.testing.assert_allclose(nested(x), dt.cos(dt.cos(dt.cos(x))))


def test_submodules_are_added_and_removed() -> None:
    traced = fx.symbolic_trace(_modules(dt)["Nested"][0])
    assert traced.add_submodule("a.b.c", dt.nn.ReLU()) and traced.delete_submodule("a.b.c")
    assert not traced.delete_submodule("nothing")
    traced.add_submodule("unused", dt.nn.ReLU())
    traced.delete_all_unused_submodules()
    assert not hasattr(traced, "unused") and not hasattr(traced, "a")
    assert traced(dt.ones(4, 4)).shape == (4, 2)
    assert traced.print_readable(print_output=False).startswith(
        "class Nested(torch.nn.Module):\n    def forward(self, x)"
    )


def test_shapes_are_noted_by_a_run() -> None:
    traced = fx.symbolic_trace(dt.nn.Linear(2, 3))
    ShapeProp(traced).propagate(dt.ones(5, 2))
    shapes = {node.name: tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes}
    assert shapes == {"input_1": (5, 2), "weight": (3, 2), "bias": (3,), "linear": (5, 3), "output": (5, 3)}


def _whole(a: Any, b: Any) -> Any:
    return a + b if bool(b) else a


fx.wrap("_whole")
fx.wrap("len")


def test_wrapped_functions_are_recorded_as_a_whole() -> None:
    traced = fx.symbolic_trace(lambda x: _whole(x, 2) + len(x) + math.floor(x[0]))
    names = [node.name for node in traced.graph.nodes if node.op == "call_function"]
    assert names == ["_whole", "len_1", "add", "getitem", "floor", "add_1"]
    assert traced(dt.ones(3)).tolist() == [7.0] * 3
    assert len([1]) == 1 and math.floor(1.5) == 1


def test_operations_of_a_run_are_recorded_with_those_of_its_gradient() -> None:
    def gradient(x: dt.Tensor) -> dt.Tensor:
        x = x.detach().requires_grad_(True)
        return dt.autograd.grad((x.sin() * 3).sum(), x)[0]

    traced = make_fx(gradient)(dt.linspace(0, 1, 3))
    assert {"sin", "cos"} <= {node.name for node in traced.graph.nodes}
    other = dt.linspace(1, 2, 3)
    np.testing.assert_allclose(traced(other), 3 * other.cos(), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="symbolic"):
        make_fx(gradient, tracing_mode="symbolic")


def test_a_trace_that_fails_leaves_modules_as_they_were() -> None:
    before = dt.nn.Module.__call__
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: 1 / 0)
    assert dt.nn.Module.__call__ is before and not fx._symbolic_trace.is_fx_tracing()
