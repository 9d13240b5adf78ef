"""Graphs as pictures: the graph behind a tensor, or recorded by a function or module on examples."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ..autograd.node import AccumulateGrad, Node, next_sequence
from ..nn import Module
from ..ops.known_names import known_name
from ..ops.op_node import OpNode
from ..profiler.memory import counted, line_of, users_frames
from ..pytree import tree_flatten, tree_map
from .picture import Group, Item, Picture
from .words import shared_levels


def shape_words(shape: Any) -> str:
    """Return a shape as text, as boxes show it."""
    return str(list(shape)) if len(shape) else "scalar"


def of_tensors(
    roots: list[Node], title: str, names: Mapping[int, str], groups: Callable[[Node], Group] | None = None
) -> Picture:
    """Return the picture of the graph behind nodes, in recording order; ``names`` maps ids of leaves to names."""
    nodes = _ordered(roots)
    number = {node: k for k, node in enumerate(nodes)}
    kept: dict[Node, int] = {}
    for node, *_, size in counted(roots):
        kept[node] = kept.get(node, 0) + size
    items = []
    for node in nodes:
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            name = names.get(id(leaf), "leaf")
            items.append(Item(name, shape_words(leaf.shape), "leaf"))
        else:
            shapes = [shape_words(m.shape) for m in getattr(node, "_input_metadata", None) or () if m is not None]
            name = known_name(node.op, node._title()) if isinstance(node, OpNode) else node._title().rsplit("::", 1)[-1]
            kind = "output" if node in roots else "op"
            line = _short(line_of(node))
            items.append(Item(name, ", ".join(shapes), kind, (), line, kept.get(node, 0), node._title()))
    edges = [
        (number[source], k) for k, node in enumerate(nodes) for source, _ in node.next_functions if source is not None
    ]
    picture = Picture(title, items, edges)
    if groups is not None:
        _grouped(picture, nodes, groups)
    return picture


def _ordered(roots: list[Node]) -> list[Node]:
    """Return the nodes of a graph, the oldest first; a leaf before its first use."""
    seen, waiting = set(roots), list(roots)
    while waiting:
        for source, _ in waiting.pop().next_functions:
            if source is not None and source not in seen:
                seen.add(source)
                waiting.append(source)
    result: dict[Node, None] = {}
    for node in sorted((n for n in seen if not isinstance(n, AccumulateGrad)), key=lambda n: n._seq):
        for source, _ in node.next_functions:
            if isinstance(source, AccumulateGrad):
                result.setdefault(source)
        result[node] = None
    return [*result, *(n for n in seen if n not in result)]


def _short(line: str) -> str:
    return os.path.relpath(line) if line and not os.path.relpath(line).startswith("..") else os.path.basename(line)


def _grouped(picture: Picture, nodes: list[Node], groups: Callable[[Node], Group]) -> None:
    """Give each item its group; a leaf has that of its first use."""
    following: Group = ()
    for k in reversed(range(len(nodes))):
        if not isinstance(nodes[k], AccumulateGrad):
            following = groups(nodes[k])
        picture.items[k].group = following


# --- functions and modules ---------------------------------------------------------------------------


def of_function(function: Callable, args: tuple, kwargs: dict) -> Picture:
    """Return the picture of the graph that ``function`` records on examples; modules, and functions that it calls, are
    groups.
    """
    if isinstance(function, Module):
        title, names = type(function).__name__, {id(p): n for n, p in function.named_parameters()}
    else:
        title, names = getattr(function, "__name__", type(function).__name__), {}
    args, kwargs = tree_map(_as_leaf, (args, kwargs))
    names |= _argument_names(function, args, kwargs)
    calls: list[tuple[int, int, Group]] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Anomaly Detection")
        with dt.enable_grad(), dt.autograd.detect_anomaly(check_nan=False), _watching(function, calls):
            result = function(*args, **kwargs)
    found = [t for t in tree_flatten(result)[0] if isinstance(t, Tensor) and t.grad_fn is not None]
    if not found:
        raise ValueError(
            f"draw: {title} gave nothing with a history: it must compute with its tensors, outside no_grad(), and have"
            " floating-point arguments or parameters"
        )
    roots = list(dict.fromkeys(t.grad_fn for t in found if t.grad_fn is not None))
    groups = _by_module(calls) if calls else _by_function(_ordered(roots), function)
    return of_tensors(roots, title, names, groups)


def _as_leaf(value: Any) -> Any:
    if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex()):
        return value.detach().requires_grad_()
    return value


def _argument_names(function: Callable, args: tuple, kwargs: dict) -> dict[int, str]:
    target = function.forward if isinstance(function, Module) else function
    try:
        given = inspect.signature(target).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {f"argument {k}": value for k, value in enumerate(args)} | kwargs
    names = {}
    for name, value in given.items():
        tensors = [t for t in tree_flatten(value)[0] if isinstance(t, Tensor)]
        for k, tensor in enumerate(tensors):
            names[id(tensor)] = name if len(tensors) == 1 else f"{name}[{k}]"
    return names


@contextlib.contextmanager
def _watching(function: Any, calls: list[tuple[int, int, Group]]) -> Iterator[None]:
    """Context that records, for each call of a module inside ``function``, the range of its node numbers."""
    if not isinstance(function, Module):
        yield
        return
    running: list[tuple[int, str, Group]] = []
    times: dict[Group, int] = {}

    def before(name: str, module: Module) -> None:
        outer_name, outer = running[-1][1:] if running else ("", ())
        own = name.removeprefix(f"{outer_name}.") if outer_name else name
        path = (*outer, f"{own} ({type(module).__name__})")
        times[path] = times.get(path, 0) + 1
        if times[path] > 1:
            path = (*path[:-1], f"{path[-1]} again {times[path]}")
        running.append((next_sequence(), name, path))

    def after() -> None:
        began, _, path = running.pop()
        calls.append((began, next_sequence(), path))

    with contextlib.ExitStack() as handles:
        for name, module in function.named_modules():
            if name:
                handles.enter_context(module.register_forward_pre_hook(lambda m, _, name=name: before(name, m)))
                handles.enter_context(module.register_forward_hook(lambda *_: after(), always_call=True))
        yield


def _by_module(calls: list[tuple[int, int, Group]]) -> Callable[[Node], Group]:
    def group(node: Node) -> Group:
        inside = [path for began, ended, path in calls if began < node._seq < ended]
        return max(inside, key=len, default=())

    return group


def _by_function(nodes: list[Node], function: Callable) -> Callable[[Node], Group]:
    """Return groups by the functions that the drawn one calls: a group for each run of nodes with the same callers."""
    code = getattr(function, "__code__", None)
    found: dict[Node, Group] = {}
    before: tuple[str, ...] = ()
    path: Group = ()
    times: dict[Group, int] = {}
    for node in nodes:
        if isinstance(node, AccumulateGrad):
            continue
        frames = users_frames(node)
        inside = frames[frames.index(code) + 1 :] if code in frames else []
        callers = tuple(frame.co_name for frame in inside)
        if callers != before:
            same = shared_levels(before, callers)
            path = path[:same]
            for name in callers[same:]:
                times[(*path, name)] = times.get((*path, name), 0) + 1
                again = times[(*path, name)]
                path = (*path, name if again == 1 else f"{name} {again}")
            before = callers
        found[node] = path
    return lambda node: found.get(node, ())
