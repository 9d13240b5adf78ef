"""Looking at the graph and hooking into it: every program runs on dualtape and on PyTorch."""

from __future__ import annotations

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

PRELUDE = """
grad = torch.autograd.grad
graph = torch.autograd.graph
edge = torch.autograd.graph.get_gradient_edge
def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64, requires_grad=True)
def kind(function):
    try:
        function()
        return "fine"
    except Exception as error:
        return type(error).__name__
def name(node):
    return None if node is None else node.name().rsplit("::")[-1]
"""

PROGRAMS = """
# nodes are Nodes
x = leaf(2.)
y = x.exp()
n = y.grad_fn
issubclass(type(n), graph.Node), [isinstance(t, graph.Node) for t in (n, n.next_functions[0][0], 3, y)]

# a dict of inputs gives a dict
x, w, u = leaf(1., 2.), leaf(3., 4.), leaf(5.)
y = lambda: (x * w).sum()
found = [
    grad(y(), {"w": w, 0: x}),
    grad(y(), {"x": x, (1, 2): edge(w)}, create_graph=True),
    grad(y(), {"x": x, "u": u}, allow_unused=True),
    grad(y(), {"x": x, "u": u}, materialize_grads=True),
    grad(x * w, {"x": x}, torch.eye(2, dtype=torch.float64), is_grads_batched=True),
]
found, [type(one).__name__ for one in found]

# dicts of inputs that are refused
from collections import OrderedDict
x, u = leaf(1., 2.), leaf(5.)
y = lambda: (x * x).sum()
given = [{}, OrderedDict(x=x), {"x": x, "u": u}, {"x": 3}, {"x": [x]}, {"x": torch.ones(2)}, [3], 3]
[kind(lambda: grad(y(), each)) for each in given], [kind(lambda: y().backward(inputs=each)) for each in given[:2] + given[3:]]

# a dict of inputs of backward
x, w = leaf(1., 2.), leaf(3., 4.)
(x * w).sum().backward(inputs={"x": x})
torch.autograd.backward((x * w).sum(), inputs={"x": x})
x.grad, w.grad

# arguments of grad by position
import warnings
x, u = leaf(1., 2.), leaf(5.)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = grad((x * x).sum(), [x, u], None, True, False, False, True)
found, [w.category.__name__ for w in caught]

# a leaf's edge
x = leaf(2.)
e = edge(x)
name(e.node), e.output_nr, e[1], e.node.variable is x, type(e).__name__, isinstance(e, tuple)

# a result's edge
y = leaf(2.).exp()
e = edge(y)
e.node is y.grad_fn, e.output_nr

# the edge of an output among several
v, i = leaf(2., 3.).max(0)
w = leaf(2., 3.).unbind(0)[1]
edge(v).output_nr, edge(w).output_nr

# the edge of a constant
kind(lambda: edge(torch.ones(1)))

# grad to an edge
x = leaf(2.)
y = x * 3
z = y * y
grad(z, edge(y), retain_graph=True), grad(z, [edge(x), x])

# grad from an edge
x = leaf(2.)
y = x * 3
grad(edge(y), x)

# grad from an edge with a gradient
x = leaf(2., 3.)
y = x * 3
grad(edge(y), x, torch.ones(2, dtype=torch.float64) * 5)

# grad from an edge that is no scalar
x = leaf(2., 3.)
y = x * 3
kind(lambda: grad(edge(y), x))

# backward from an edge
x = leaf(2.)
y = x * 3
torch.autograd.backward(edge(y))
x.grad

# backward from an edge and a tensor
x = leaf(2.)
y, z = x * 3, x * 10
torch.autograd.backward([edge(y), z])
x.grad

# backward into an edge
x, w = leaf(2.), leaf(3.)
y = x * w
y.backward(inputs=[edge(x)])
x.grad, w.grad

# backward into a non-leaf edge
x = leaf(2.)
y = x * 3
z = y * y
kind(lambda: z.backward(inputs=[edge(y)]))

# an edge keeps the graph alive
x = leaf(2.)
y = x * 3
e = edge(y)
del y
grad(e, x)

# an edge of an unused tensor
x, w = leaf(2.), leaf(3.)
kind(lambda: grad(x * 3, edge(w))), grad(x * 3, edge(w), allow_unused=True)

# an edge after an in-place write
x = leaf(2.)
y = x * 3
e = edge(y)
y.mul_(5)
grad(y, e, retain_graph=True), name(e.node), name(edge(y).node)

# edges made by hand
x = leaf(2.)
y = x * 3
grad(y, graph.GradientEdge(x.grad_fn or y.grad_fn.next_functions[0][0], 0))

# the order of nodes by sequence number
x = leaf(2.)
y = x * 3
z = y.exp()
z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr()

# next_functions
x = leaf(2.)
y = x * torch.ones(1) + x.exp()
[(name(n), k) for n, k in y.grad_fn.next_functions], [(name(n), k) for n, k in y.grad_fn.next_functions[0][0].next_functions]

# metadata
y = leaf(2.).exp()
y.grad_fn.metadata["key"] = 5
y.grad_fn.metadata["key"], y.grad_fn is y.grad_fn

# the input metadata
y = leaf(2., 3.).exp()
m = y.grad_fn._input_metadata
len(m), tuple(m[0].shape), m[0].dtype

# AccumulateGrad is one for a leaf
x = leaf(2.)
a, b = (x * 2).grad_fn.next_functions[0][0], (x * 3).grad_fn.next_functions[0][0]
n = edge(x).node
m = edge(x).node
n is m

# calling a node
x = leaf(2.)
y = x * 3
r = y.grad_fn(torch.ones(1, dtype=torch.float64))
r[0] if isinstance(r, tuple) else r

# multi-grad hook, all
log = []
x, y = leaf(2.), leaf(3.)
a, b = x * 2, y * 3
h = graph.register_multi_grad_hook([a, b], lambda gs: log.append([g.tolist() for g in gs]))
(a * b).backward(retain_graph=True)
h.remove()
(a * b).backward()
log

# multi-grad hook, all, runs each time
log = []
x, y = leaf(2.), leaf(3.)
a, b = x * 2, y * 3
h = graph.register_multi_grad_hook([a, b], lambda gs: log.append([g.tolist() for g in gs]))
z = a * b
z.backward(retain_graph=True)
z.backward()
log

# multi-grad hook, all, with an unused tensor
log = []
x, y = leaf(2.), leaf(3.)
a, b, c = x * 2, y * 3, x * 4
graph.register_multi_grad_hook([a, b, c], lambda gs: log.append([None if g is None else g.tolist() for g in gs]))
(a * b).backward()
log

# multi-grad hook, all, on leaves
log = []
x, y, z = leaf(2.), leaf(3.), leaf(4.)
graph.register_multi_grad_hook([x, y, z], lambda gs: log.append(([None if g is None else g.tolist() for g in gs], x.grad is None)))
(x * y).backward()
(x * y * z).backward()
log

# multi-grad hook, all, with inputs
log = []
x, y = leaf(2.), leaf(3.)
a, b = x * 2, y * 3
graph.register_multi_grad_hook([a, b], lambda gs: log.append([None if g is None else g.tolist() for g in gs]))
grad(a * b, x)
log

# multi-grad hook, any
log = []
x, y = leaf(2.), leaf(3.)
a, b = x * 2, y * 3
h = graph.register_multi_grad_hook([a, b], lambda g: log.append(g.tolist()), mode="any")
z = a * b
z.backward(retain_graph=True)
z.backward(retain_graph=True)
h.remove()
z.backward()
log

# multi-grad hook, a mode that is none
kind(lambda: graph.register_multi_grad_hook([leaf(1.)], lambda g: None, mode="some"))

# multi-grad hook on a constant
kind(lambda: graph.register_multi_grad_hook([torch.ones(1)], lambda g: None))

# multi-grad hook, order with tensor hooks
log = []
x = leaf(2.)
a, b = x * 2, x * 3
a.register_hook(lambda g: log.append("a"))
graph.register_multi_grad_hook([a, b], lambda gs: log.append("multi"))
b.register_hook(lambda g: log.append("b"))
(a * b).backward()
log

# multi-grad hook that raises
x = leaf(2.)
a, b = x * 2, x * 3
def hook(gs):
    raise KeyError
graph.register_multi_grad_hook([a, b], hook)
z = a * b
kind(lambda: z.backward(retain_graph=True)), kind(lambda: z.backward())

# handles as a context
log = []
x = leaf(2.)
with graph.register_multi_grad_hook([x], lambda gs: log.append("in")):
    (x * 2).backward()
(x * 2).backward()
log

# names of nodes
x = leaf(2., 3.)
[name(t.grad_fn) for t in (x.exp(), x * 2, x + x, x.sum(), x[0], x.clone(), x.view(-1), x.T, x @ x, x.unbind(0)[0], -x, x / 2, x - 1, x ** 2)]
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_same_as_pytorch(program: str) -> None:
    same(PRELUDE + program)


def test_zeros_are_made_for_an_unused_edge() -> None:
    x, w = dt.ones(2, requires_grad=True), dt.ones(3, requires_grad=True)
    edge = dt.autograd.graph.get_gradient_edge(w)
    (g,) = dt.autograd.grad((x * 3).sum(), edge, materialize_grads=True)
    assert g.tolist() == [0.0, 0.0, 0.0]


def test_a_multi_grad_hook_may_name_a_tensor_twice() -> None:
    seen = []
    a = dt.ones(1, requires_grad=True) * 2
    dt.autograd.graph.register_multi_grad_hook([a, a], lambda grads: seen.append([g.item() for g in grads]))
    a.backward()
    assert seen == [[1.0, 1.0]]


def test_the_running_backward_can_be_asked_for_its_node() -> None:
    graph, seen = dt.autograd.graph, []
    x = dt.ones(1, requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: seen.append((graph._current_autograd_node().name(), graph._current_graph_task_id() >= 0)))
    y.backward()
    assert seen == [("ExpBackward0", True)]
    assert graph._current_graph_task_id() == -1
    assert graph._current_autograd_node() is None


def test_a_multi_grad_hook_on_a_leaf_runs_under_grad() -> None:
    seen = []
    x, w = dt.ones(1, requires_grad=True), dt.ones(1, requires_grad=True)
    dt.autograd.graph.register_multi_grad_hook(
        [x, w], lambda grads: seen.append([g if g is None else g.item() for g in grads])
    )
    dt.autograd.grad(x * 3, x)
    assert seen == [[3.0, None]]


def test_the_execution_order_is_known_while_backward_runs() -> None:
    order = dt.autograd.graph._current_graph_task_execution_order
    x = dt.ones(1, requires_grad=True)
    a = x * 2
    b = a + x
    c = b.exp()
    seen: list = []
    b.register_hook(lambda g: seen.append([node.name() for node in order()]))
    ran: list = []
    for t in (a, b, c):
        t.grad_fn.register_hook(lambda *grads, t=t: ran.append(t.grad_fn.name()))
    c.sum().backward()
    assert seen == [["SumBackward0", "ExpBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"]]
    assert ran == ["ExpBackward0", "AddBackward0", "MulBackward0"]
    assert order() == []
