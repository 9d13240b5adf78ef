"""The layers of the package, from the bottom up, and the diagram of them in ``docs/architecture.md``.

``tests/project/test_layers.py`` holds every import to them; ``python -m tools.layers`` writes the diagram.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
_BEGIN, _END = "<!-- layers: written by python -m tools.layers -->\n```text\n", "```\n<!-- end of layers -->"
_WIDTH = 118


class Layer(NamedTuple):
    """Modules of one layer, which may import one another and what is below, and what they are for."""

    modules: tuple[str, ...]
    purpose: str


LAYERS = (
    Layer(
        ("errors", "pytree", "_listing", "_locks", "_progress", "_tracebacks", "_typing"),
        "error messages; trees of containers; shared types",
    ),
    Layer(("arrays",), "what an array is; kinds of arrays; numerical kernels"),
    Layer(("modes", "_contextlib"), "one record: grad mode, hooks, levels"),
    Layer(
        ("_tensor", "autograd", "overrides", "random"),
        "the tensor, its graph, overrides, generators: mutually dependent",
    ),
    Layer(("ops", "overrides.dispatch", "overrides.listing"), "the op table, generated fast paths, the reference path"),
    Layer(("sparse", "nested"), "sparse tensors; ragged batches"),
    Layer(("func", "autograd.functional", "profiler", "autograd.profiler"), "transforms of functions; profiles"),
    Layer(("amp",), "automatic mixed precision"),
    Layer(
        (
            "nn",
            "linalg",
            "special",
            "fft",
            "signal",
            "library",
            "removed",
            "settings",
            "control_flow",
            "return_types",
            "__config__",
            "__future__",
            "quasirandom",
            "onnx",
        ),
        "namespaces filled from the op table; user-defined ops; loops",
    ),
    Layer(("serialization", "optim", "hub"), "files that run no code; optimizers; models from folders"),
    Layer(("distributed", "nn.parallel", "futures"), "several processes"),
    Layer(("numpy", "hips", "scipy", "array_api"), "the names of NumPy, HIPS autograd, SciPy, the array API"),
    Layer(("distributions",), "samples, densities, divergences: use the public names alone"),
    Layer(("compiler",), "traced programs: guards, replay, native code"),
    Layer(
        (
            "utils",
            "_C",
            "_library",
            "_ops",
            "fx",
            "functional",
            "_dynamo",
            "_functorch",
            "_jit_internal",
            "_lazy",
            "data",
            "cpu",
            "accelerator",
            "cuda",
            "jit",
            "backends",
            "testing",
            "multiprocessing",
        ),
        "PyTorch's names for what is elsewhere; questions about the machine",
    ),
    Layer(
        ("tour", "draw", "cli", "__main__", "__init__", "types", "version", "_placeholders", "as_torch", "commands"),
        "the command, pictures, the doorway for programs that import torch",
    ),
)


def diagram() -> str:
    """Return the layers as lines of text, the top one first: modules on the left, their purpose on the right."""
    rows = []
    for layer in reversed(LAYERS):
        names = [name for name in layer.modules if not name.startswith("__")]
        lines = [""]
        for name in names:
            if len(lines[-1]) + len(name) > 46:
                lines.append("")
            lines[-1] += name + "  "
        for number, line in enumerate(lines):
            rows.append(f"  {line:<48}{layer.purpose if number == 0 else ''}".rstrip())
    assert max(map(len, rows)) <= _WIDTH
    return "\n".join(rows) + "\n"


def with_diagram(page: str) -> str:
    """Return the text of a page with the diagram between its two marks."""
    begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    return page[:begin] + diagram() + page[end:]


def main() -> int:
    """Write the diagram into the page; return the exit status."""
    PAGE.write_text(with_diagram(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
