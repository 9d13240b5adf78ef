"""``python -m tools.coverage``: writes ``docs/coverage.md``, what each op of the table was found to do.

Nothing is declared: each op is called on its first sample in each dtype, differentiated once and twice, pushed
forward, and mapped over a batch. ``tests/ops/test_table.py`` holds the page to list every op.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dualtape as dt
from dualtape.ops import load_all
from dualtape.ops.samples import Array, Sample
from dualtape.ops.table import COMPOSITES, TABLE

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "complex128": "c128",
    "int64": "i64",
    "bool": "bool",
}
HEAD = """# What each op does

Written by `python -m tools.coverage`, which calls each op on its first sample: the dtypes that it takes, whether it
has a first and a second derivative, forward mode and `vmap`, and whether there is an in-place form. An op without a
derivative is one of integers, comparisons or shapes, or PyTorch has none either. The tests generated from the table
compare values, dtypes and derivatives with PyTorch and with differences.

| op | PyTorch's | dtypes | gradient | second | forward | vmap | in place |
|---|---|---|:-:|:-:|:-:|:-:|:-:|
"""


def rows() -> list[Any]:
    """The ops that users call, by name."""
    load_all()
    named: dict[str, Any] = {**TABLE, **COMPOSITES}
    return [named[name] for name in sorted(named) if named[name].torch_name != "-"]


def made(sample: Sample, dtype: str) -> tuple[tuple, dict, list]:
    """The arguments of a sample as tensors; and those that can be differentiated."""
    rng = np.random.default_rng(0)
    inputs: list[Any] = []

    def tensor(value: Any) -> Any:
        if isinstance(value, Array):
            brief = dtype == "bfloat16"
            result = dt.tensor(value.make(rng, "float32" if brief else dtype))
            if value.differentiable:
                result = result.to(dt.bfloat16) if brief else result
                inputs.append(result)
            return result
        if isinstance(value, np.ndarray):
            return dt.tensor(value)
        return type(value)(tensor(item) for item in value) if type(value) in (list, tuple) else value

    args = tuple(tensor(a) for a in sample.args)
    return args, {k: tensor(v) for k, v in sample.kwargs.items()}, inputs


def tried(call: Callable[[], Any]) -> Any:
    """What a call gives; None where it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception:
            return None


def outputs(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in outputs(item)]
    return [result] if isinstance(result, dt.Tensor) else []


def facts(row: Any) -> list[str]:
    """One line of the page."""
    sample = row.samples[0] if row.samples else None
    if sample is None:
        return ["", "", "", "", ""]
    takes = []
    for dtype, short in DTYPES.items():
        args, kwargs, _ = made(sample, dtype)
        if tried(lambda: [row.function(*args, **kwargs)]) is not None:  # noqa: B023 - called at once
            takes.append(short)
    kind = "complex128" if row.complex == "only" else "float64"
    return [" ".join(takes), *(_mark(each) for each in derivatives(row, sample, kind))]


def derivatives(row: Any, sample: Sample, kind: str) -> list[bool]:
    """Whether there is a first and a second derivative, a tangent, and a result over a batch."""

    def found(*values: Any) -> list:
        known = dict(zip(map(id, inputs), values, strict=True))

        def swap(v: Any) -> Any:
            if isinstance(v, dt.Tensor):
                return known.get(id(v), v)
            return type(v)(swap(item) for item in v) if type(v) in (list, tuple) else v

        return outputs(row.function(*(swap(a) for a in args), **{k: swap(v) for k, v in kwargs.items()}))

    def loss(*values: Any) -> Any:
        chosen = [o for o in found(*values) if o.is_floating_point() or o.is_complex()]
        total = sum((o * o).abs().sum() for o in chosen) if chosen else None
        if total is None:
            raise TypeError("no result that has a derivative")
        return total

    args, kwargs, inputs = made(sample, kind)
    if not inputs:
        return [False] * 4
    given = [x.detach().requires_grad_() for x in inputs]
    first = tried(lambda: dt.autograd.grad(loss(*given), given, create_graph=True, allow_unused=True))
    second = first and tried(
        lambda: dt.autograd.grad(sum((g * g).abs().sum() for g in first if g is not None), given, allow_unused=True)
    )
    points = tuple(x.detach() for x in inputs)
    forward = tried(lambda: dt.func.jvp(loss, points, tuple(dt.ones_like(p) for p in points)))
    stacked = [dt.stack([x, x]) for x in points]
    batched = tried(lambda: dt.func.vmap(lambda *v: tuple(found(*v)), randomness="same")(*stacked))
    some = first is not None and any(g is not None for g in first)
    return [some, some and second is not None, some and forward is not None, batched is not None]


def _mark(yes: bool) -> str:
    return "✓" if yes else ""


def page() -> str:
    """The whole page."""
    lines = []
    for row in rows():
        inplace = bool(getattr(row, "inplace", False)) or hasattr(dt.Tensor, f"{row.name}_")
        lines.append(
            "| " + " | ".join([f"`{row.name}`", f"`{row.torch_name or row.name}`", *facts(row), _mark(inplace)]) + " |"
        )
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page())
    print(f"{PAGE.name}: {len(rows())} ops")
    return 0


if __name__ == "__main__":
    sys.exit(main())
