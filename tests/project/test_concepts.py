"""The map of concepts names every identifier of PyTorch's autograd core, and what it points to exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concepts.md").read_text()
ROWS = [row.split(" | ") for row in re.findall(r"^\| (?!concept)(.*) \|$", PAGE, re.M)]

IDENTIFIERS = """SavedVariable ERR_BACKWARD_TWICE SavedVariableHooks AutogradMeta Edge gradient_edge CreationMeta
ForwardADLevel ForwardGrad Device DeviceType TensorFlavor DTensor Placement DTensorState OpSchema Function.apply PyNode
CompiledNodeArgs AotAutograd FuncTorchTLS DistEngine NJT RECORD_FUNCTION requires_grad_() detach() detach_() .data
""".split()
IDEAS = [
    "saved version",
    "weak `grad_fn`",
    "saved forward gradient",
    "clear on access, raw data",
    "grad accumulator",
    "version counter",
    "differentiable views",
    "hooks",
    "sparse gradients",
    "layout rule",
    "nesting",
    "jvp of everything",
    "properties",
    "identity",
    "subclasses and modes",
    "context",
    "return rules",
    "anomaly mode",
]


@cache
def names(module: Path) -> set[str]:
    """What a module defines: functions, classes and their attributes, names it assigns."""
    found = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def is_there(place: str, folder: Path) -> bool:
    module, _, name = place.strip("`").partition("::")
    return (folder / module).is_file() and (not name or name in names(folder / module))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_module_name_and_test_of_a_concept_exist(row):
    _, here, _, held = row
    assert is_there(here, ROOT / "src" / "dualtape"), f"{here} is not there"
    assert "::" in held and is_there(held, ROOT), f"{held} is not there"


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_every_identifier_is_on_the_map(identifier):
    assert f"`{identifier}`" in PAGE


@pytest.mark.parametrize("idea", IDEAS)
def test_every_idea_has_a_row(idea):
    assert idea in [row[0] for row in ROWS]


@pytest.mark.parametrize(
    "place", ["autograd/engine.py::nothing", "autograd/nothing.py", "autograd/node.py::Node.nothing"]
)
def test_what_is_not_there_is_noticed(place):
    assert not is_there(place, ROOT / "src" / "dualtape")
