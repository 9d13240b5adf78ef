"""The layers: a module knows what stands below it, and nothing above; an import inside a function has its reason."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dualtape as dt
from tools import layers
from tools.layers import LAYERS

SOURCE = Path(dt.__file__).parent

# Imports upwards, when a function runs: what they wait for, and why it cannot be otherwise.
UPWARDS = {
    ("_tensor.layouts", "sparse.compressed"): "x.to_sparse() makes another kind of tensor",
    ("_tensor.layouts", "sparse.coo"): "x.to_sparse() makes another kind of tensor",
    ("_tensor.layouts", "sparse.functions"): "x.sparse_mask(mask), x.smm(y) do too",
    ("autograd.gradcheck", "ops.numpy_tensor"): "a function gets tensors with NumPy's methods for arrays",
    ("overrides.active_overrides", "ops.numpy_tensor"): "functions of PyTorch's get plain tensors for those of NumPy's",
    ("autograd.gradcheck", "sparse.checks"): "of a sparse tensor, a check moves the values",
    ("_tensor.protocols", "ops.numpy_entries"): "NumPy's functions on tensors are ops",
    ("_tensor.protocols", "array_api"): "the array API's namespace is made of ops",
    ("_tensor.protocols", "draw.notebook"): "a notebook shows a tensor with its graph",
    ("autograd.node", "draw"): "and a node",
    ("_tensor.protocols", "ops"): "dir(x) lists the methods of families that were not read yet",
    ("_tensor.tensor", "overrides.dispatch"): "a wrapper subclass is a tensor whose ops its class answers",
    ("autograd.api", "ops.batching"): "batched gradients go in and out of a batch by ops",
    ("autograd.api", "ops.dispatch"): "zeros for an input without memory are made by its class",
    ("autograd.api", ""): "the first gradient is ones_like the output",
    ("autograd.forward_ad", "ops.jvp"): "a tangent is laid out as its tensor is, by ops",
    ("autograd.function", "ops.table"): "a Function's view is replayed by the alias op",
    ("autograd.function_batching", "ops.batching"): "Function.vmap gets and gives batches",
    ("autograd.function_forward", "ops.jvp"): "a Function's tangent is laid out as its result is",
    ("arrays.kernels.fused", "compiler.eager"): "a function of many passes is compiled where that pays",
    ("compiler.compiled", "draw.programs"): "compiler.draw(f) gives pictures",
    ("func.functional_call", "nn"): "modules have parameters",
    ("autograd.graph", "profiler.memory"): "the report on what a graph keeps is found where graphs are",
    ("func.functional_call", "nn.modules"): "batch norms are modules",
    ("nn.modules.module", "compiler"): "module.compile()",
    ("settings", "compiler.native.threads"): "kernels have threads of their own",
    ("ops.families.gathering", "sparse.coo"): "gather(sparse_grad=True) gives a sparse gradient",
    ("ops.families.embedding", "sparse.coo"): "embedding(sparse=True) gives a sparse gradient",
    ("overrides.subclass", "overrides.dispatch"): "a mode below autograd is asked where one above it declined",
    ("overrides.subclass", "ops.table"): "the default __torch_function__ gives results their class by the alias op",
    ("overrides.active_overrides", "overrides.dispatch"): "what no op is beneath asks __torch_dispatch__ itself",
    ("overrides.active_overrides", "ops.batching"): "a composite that wants to see values runs sample by sample",
    ("random.draws", "ops.jvp"): "what is drawn over a tensor with a tangent has none",
}


def rank(module: str) -> int:
    """Return the layer of a module: that of its longest name that is in one."""
    parts = module.split(".") if module else ["__init__"]
    for length in range(len(parts), 0, -1):
        for number, layer in enumerate(LAYERS):
            if ".".join(parts[:length]) in layer.modules:
                return number
    raise AssertionError(f"{module} is in no layer")


@cache
def imports() -> set[tuple[str, str, bool]]:
    """(importer, imported, whether inside a function) for every import between modules of the package."""
    return {edge for path in SOURCE.rglob("*.py") for edge in _imports_of(path)}


def _imports_of(path: Path) -> Iterator[tuple[str, str, bool]]:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")

    def walk(node: ast.AST, deferred: bool) -> Iterator[tuple[str, str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            inside = deferred or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            if isinstance(child, ast.ImportFrom) and child.level:
                base = parts[:-1][: len(parts) - child.level]
                module = ".".join([*base, *(child.module.split(".") if child.module else [])])
                for alias in child.names:
                    full = f"{module}.{alias.name}".strip(".")
                    found = SOURCE.joinpath(*full.split("."))
                    yield name, full if found.is_dir() or found.with_suffix(".py").exists() else module, inside
            yield from walk(child, inside)

    return walk(ast.parse(path.read_text()), False)


def test_the_architecture_page_shows_these_layers() -> None:
    page = layers.PAGE.read_text(encoding="utf-8")
    assert page == layers.with_diagram(page), "run make generate"


def test_no_module_imports_what_stands_above_it() -> None:
    assert not sorted((a, b) for a, b, deferred in imports() if not deferred and rank(b) > rank(a))


def test_imports_upwards_that_wait_for_a_call_are_listed_with_their_reason() -> None:
    assert {(a, b) for a, b, deferred in imports() if deferred and rank(b) > rank(a)} == set(UPWARDS)


def test_an_import_inside_a_function_saves_time_or_breaks_a_cycle() -> None:
    """Else it belongs to the top of its module."""
    program = "import dualtape, sys; print(*(m[9:] for m in sys.modules if m.startswith('dualtape.')))"
    loaded = set(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.split())
    at_top: dict[str, set[str]] = {}
    for importer, imported, deferred in imports():
        if not deferred:
            at_top.setdefault(importer, set()).add(imported)

    def reached(module: str) -> set[str]:
        found, todo = set(), [module]
        while todo:
            parts = todo.pop().split(".")
            for length in range(1, len(parts) + 1):  # a package is loaded before what is in it
                new = at_top.get(".".join(parts[:length]), set()) - found
                found |= new
                todo.extend(new)
        return found

    needless = {
        (a, b)
        for a, b, deferred in imports()
        if deferred and rank(b) <= rank(a) and b in loaded and a not in reached(b)
    }
    assert not sorted(needless)


@pytest.mark.parametrize("path", sorted((SOURCE / "autograd").glob("*.py")), ids=lambda p: p.name)
def test_autograd_knows_no_family_of_ops(path: Path) -> None:
    name = f"autograd.{path.stem}"
    assert not any(a == name and b.startswith("ops.families") for a, b, _ in imports())
