"""Random programs of views and writes on dual tensors: values, tangents and second derivatives must be PyTorch's
after each of them.
"""

from __future__ import annotations

import random

import pytest

from same_program import needs_torch, same

BEGIN = """
fwAD = torch.autograd.forward_ad
T = lambda x: fwAD.unpack_dual(x).tangent
still = lambda x: None if x is None else x.detach()
level = fwAD.enter_dual_level()
leaf = torch.arange(6.0).reshape(2, 3) * 0.3 + 0.5
leaf.requires_grad_({graph})
pool = [fwAD.make_dual(leaf, torch.arange(6.0).reshape(2, 3) * 0.5 + 1), torch.ones(2, 3) * 2, torch.arange(4.0) + 1]
pool += [fwAD.make_dual(torch.arange(3.0) + 1, torch.tensor([1.0, 2.0, 3.0])), pool[0] * 1]
log = []
try:
"""
END = {
    False: """
    result = [log, [p.detach() for p in pool], [still(T(p)) for p in pool]]
finally:
    fwAD.exit_dual_level(level=level)
result
""",
    True: """
    total = sum((p * p).sum() for p in pool)
    g, = torch.autograd.grad(total, leaf, create_graph=True)
    slope = T(total)
    h = torch.autograd.grad(slope, leaf, retain_graph=True)[0] if slope is not None and slope.requires_grad else None
    result = [log, [p.detach() for p in pool], [still(T(p)) for p in pool], still(g), still(T(g)), still(h)]
finally:
    fwAD.exit_dual_level(level=level)
result
""",
}
STEPS = [
    "pool.append({a}[0])",
    "pool.append({a}[..., 1:])",
    "pool.append({a}.t())",
    "pool.append({a}.reshape(-1))",
    "pool.append({a}.unbind()[-1])",
    "pool.append({a}.diagonal())",
    "pool.append({a} * {b})",
    "pool.append({a}.sin())",
    "pool.append({a}.sum(0))",
    "pool.append({a}.clone())",
    "pool.append({a}.detach())",
    "pool.append(fwAD.make_dual({a}.detach(), torch.ones_like({a})))",
    "{a}.mul_(1.5)",
    "{a}.mul_({b}.clone())",
    "{a}.add_({b}.clone())",
    "{a}.copy_({b}.clone())",
    "{a}.zero_()",
    "{a}.fill_(2.0)",
]
PARTS = ["{a}.__setitem__(0, {b}.clone().sum())", "{a}.__setitem__((..., slice(1, None)), {b}.clone()[..., 1:])"]
PRIMAL = ["pool.append(fwAD.unpack_dual({a}).primal)"]
MODES = ["torch.no_grad()", "fwAD._set_fwd_grad_enabled(False)"]


def program(seed: int, graph: bool) -> str:
    """A program of some steps, each of which may be refused."""
    draw = random.Random(seed)
    steps = STEPS + (PARTS if graph or seed % 2 else PRIMAL)
    lines = []
    for _ in range(12):
        a, b = (f"pool[{draw.randrange(60)} % len(pool)]" for _ in "ab")
        mode = draw.choice(MODES) if draw.random() < 0.08 else "torch.enable_grad()"
        lines += [
            f"with {mode}:",
            "    try:",
            f"        {draw.choice(steps).format(a=a, b=b)}",
            "        log.append('done')",
        ]
        lines += ["    except Exception:", "        log.append('refused')"]
    return BEGIN.format(graph=graph) + "\n".join(f"    {line}" for line in lines) + END[graph]


@needs_torch
@pytest.mark.parametrize("graph", [False, True], ids=["tangents", "with a graph"])
@pytest.mark.parametrize("batch", range(12))
def test_random_programs_have_the_tangents_of_pytorch(batch: int, graph: bool) -> None:
    for seed in range(batch * 12, batch * 12 + 12):
        same(program(seed, graph), 1e-4)
