"""``_foreach_...``: an op on each tensor of a list."""

from __future__ import annotations

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch

UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""".split()
OTHERS = {
    "add": ["y", "2.0", "[1.0, 2.0]"],
    "sub": ["y", "2.0"],
    "mul": ["y", "2.0", "[1.0, 2.0]", "lib.tensor(3.0)"],
    "div": ["y", "2.0"],
    "maximum": ["y", "0.3", "[0.2, 0.4]"],
    "minimum": ["y", "0.3"],
    "clamp_min": ["y", "0.3"],
    "clamp_max": ["0.3"],
    "addcmul": ["y, y", "y, y, 2.0", "y, y, [1.0, 2.0]"],
    "addcdiv": ["y, y", "y, y, 0.5"],
    "lerp": ["y, 0.5", "y, y"],
    "pow": ["2.0", "y", "[1.0, 2.0]"],
}
CALLS = [f"_foreach_{name}{end}(x)" for name in UNARY for end in ("", "_")]
CALLS += [f"_foreach_{name}{end}(x, {rest})" for name, more in OTHERS.items() for rest in more for end in ("", "_")]
CALLS += [
    "_foreach_add(x, y, alpha=2)",
    "_foreach_norm(x)",
    "_foreach_norm(x, 1)",
    "_foreach_max(x)",
    "_foreach_zero_(x)",
    "_foreach_copy_(x, y)",
    "_foreach_clone(x)",
    "_foreach_pow(2.0, x)",
]


@needs_torch
@pytest.mark.parametrize("call", CALLS)
def test_each_tensor_gets_what_pytorch_gives_it(call):
    import torch

    rng = np.random.default_rng(0)
    arrays = [[rng.random(n) * 0.8 + 0.1 for n in (2, 3)] for _ in range(2)]
    found = []
    for lib in (dt, torch):
        x, y = ([lib.tensor(a) for a in group] for group in arrays)
        result = eval(f"lib.{call}", {"lib": lib, "x": x, "y": y})
        assert (result is x) == call.split("(")[0].endswith("_")
        found.append([t.numpy() for t in result] + [t.numpy() for t in x])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-12)


def test_gradients_and_versions_are_those_of_the_ops():
    x = [dt.ones(2, requires_grad=True), dt.ones(3, requires_grad=True)]
    sum(t.sum() for t in dt._foreach_mul(x, [2.0, 3.0])).backward()
    assert x[0].grad.tolist() == [2, 2] and x[1].grad.tolist() == [3, 3, 3]
    y = [dt.ones(2)]
    dt._foreach_add_(y, 1)
    assert y[0]._version == 1


def test_what_is_no_list_of_tensors_is_refused():
    for call in (lambda: dt._foreach_add(dt.ones(2), 1), lambda: dt._foreach_add([1.0], 1)):
        with pytest.raises(TypeError, match="list of tensors"):
            call()
    for call in (lambda: dt._foreach_add([], 1), lambda: dt._foreach_add([dt.ones(1)], [1.0, 2.0])):
        with pytest.raises(RuntimeError, match="_foreach_add"):
            call()
    assert not hasattr(dt, "_foreach_nothing") and not hasattr(dt, "_foreach_norm_")
