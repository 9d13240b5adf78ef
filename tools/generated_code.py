"""Write ``docs/dev/generated-code.md``: the functions that the library generates for ``mul``, as it runs them.

``make generate`` runs it; ``tests/project/test_pages.py`` fails where the page and the library differ.
"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from textwrap import fill

PAGE = Path(__file__).parent.parent / "docs" / "dev" / "generated-code.md"

_HEAD = """# The generated code of one op, whole

Each op has functions of its own, written as Python source from its row when they are first called (`ops/codegen/`).
This page shows those of `mul`, which the row

    op("mul", np.multiply, kind=BROADCASTING, jvp=BILINEAR,
       vjp=dict(x=lambda g, y: g * np.conj(y), y=lambda g, x: g * np.conj(x)))

leads to. `python -m tools.generated_code` writes it from the running library. Names that begin with an underscore are
bound in `ops/codegen/source.py` (`NAMES`); `_forward` is the row's `np.multiply`, and `numpy_formula0` is the formula
of the first input in the form for NumPy's arrays.
"""

_PARTS = {
    "mul": (
        "The call: `dt.mul(x, y)`",
        "Plain tensors of one dtype take the fast path: the forward on arrays, a tensor around the result, and a node"
        " if an input requires grad. `_mode.quick` is true where only grad mode and hooks on saved tensors are active."
        " Whatever does not fit falls through to the last line, the reference path in `ops/dispatch.py`.",
    ),
    "the backward of mul": (
        "The backward of its node",
        "For each input that needs a gradient: check that the saved value was not written to, and apply the formula. It"
        " returns pairs of edge and gradient, or `None`, and then the engine takes the reference path of the node.",
    ),
}


def page() -> str:
    """Return the text of the page."""
    import dualtape as dt

    x = dt.ones(2, requires_grad=True)
    dt.mul(x, x).sum().backward()
    parts = [_HEAD]
    for name, (title, text) in _PARTS.items():
        source = "".join(linecache.cache[f"<dualtape: {name}>"][2])  # type: ignore[misc]
        parts.append(f"## {title}\n\n{fill(text, 118)}\n\n```python\n{source.rstrip()}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page; return the exit status."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
