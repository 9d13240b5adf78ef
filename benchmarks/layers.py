"""``python -m benchmarks.layers``: what networks are made of, on large arrays, eager, beside PyTorch: forward, and with
its gradients; turns are taken, so that a slow moment of the machine hits both.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import dualtape as dt  # noqa: E402

_IMAGES, _ROWS, _TALL, _LONG = (64, 32, 28, 28), (512, 1000), (2048, 512), (1_000_000,)
_rng = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return _rng.standard_normal(shape).astype("f4")


def _applied(name: str, *rest: Any, **named: Any) -> Callable:
    return lambda library: lambda x, *more: getattr(library.nn.functional, name)(x, *rest, *more, **named)


def _cross_entropy(library: Any) -> Callable:
    target = library.tensor(np.arange(_ROWS[0]) * 7 % _ROWS[1])
    return lambda x: library.nn.functional.cross_entropy(x, target)


def _batch_norm(library: Any) -> Callable:
    return lambda x, w, b: library.nn.functional.batch_norm(x, None, None, w, b, training=True)


def layers() -> dict[str, tuple[Callable, list[np.ndarray]]]:
    """Name to the function of a library, and its arguments, all of which are differentiated."""
    found: dict[str, tuple[Callable, list[np.ndarray]]] = {}
    for shape in (_ROWS, _LONG):
        size = "x".join(map(str, shape)) if len(shape) > 1 else "10^6"
        found[f"gelu {size}"] = (_applied("gelu"), [_normal(*shape)])
        found[f"gelu by tanh {size}"] = (_applied("gelu", approximate="tanh"), [_normal(*shape)])
        found[f"silu {size}"] = (_applied("silu"), [_normal(*shape)])
    for shape in (_ROWS, _TALL):
        size = "x".join(map(str, shape))
        found[f"softmax {size}"] = (_applied("softmax", -1), [_normal(*shape)])
        found[f"log_softmax {size}"] = (_applied("log_softmax", -1), [_normal(*shape)])
        columns = [_normal(*shape), _normal(shape[1]), _normal(shape[1])]
        found[f"layer_norm {size}"] = (_applied("layer_norm", (shape[1],)), columns)
        found[f"batch_norm {size}"] = (_batch_norm, columns)
    channels = [_normal(*_IMAGES), _normal(32), _normal(32)]
    found["batch_norm 64x32x28x28"] = (_batch_norm, channels)
    found["group_norm 64x32x28x28"] = (_applied("group_norm", 8), channels)
    found["cross_entropy 512x1000"] = (_cross_entropy, [_normal(*_ROWS)])
    found["conv2d 64x32x28x28, 3x3"] = (
        lambda library: lambda x, w, b: library.nn.functional.conv2d(x, w, b, padding=1),
        [_normal(*_IMAGES), _normal(32, 32, 3, 3), _normal(32)],
    )
    found["conv2d 16x3x64x64, 5x5"] = (
        lambda library: lambda x, w, b: library.nn.functional.conv2d(x, w, b, stride=2),
        [_normal(16, 3, 64, 64), _normal(32, 3, 5, 5), _normal(32)],
    )
    found["conv2d 8x32x56x56, depthwise"] = (
        lambda library: lambda x, w, b: library.nn.functional.conv2d(x, w, b, padding=1, groups=32),
        [_normal(8, 32, 56, 56), _normal(32, 1, 3, 3), _normal(32)],
    )
    return found


def optimizers() -> dict[str, Callable]:
    """Name to the optimizer of a library, given its parameters."""
    return {
        "SGD, momentum": lambda library, p: library.optim.SGD(p, lr=1e-3, momentum=0.9),
        "Adam": lambda library, p: library.optim.Adam(p, lr=1e-3),
        "AdamW": lambda library, p: library.optim.AdamW(p, lr=1e-3),
        "RMSprop": lambda library, p: library.optim.RMSprop(p, lr=1e-3),
    }


def _in_turns(calls: list[Callable], seconds: float) -> list[float]:
    """The least time of each, in microseconds, once kernels are made."""
    for call in calls:
        for _ in range(6):
            call()
    least, end = [np.inf] * len(calls), time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            for _ in range(4):
                started = time.perf_counter()
                call()
                least[k] = min(least[k], time.perf_counter() - started)
    return [t * 1e6 for t in least]


def _call(library: Any, make: Callable, arrays: list[np.ndarray], back: bool) -> Callable:
    function = make(library)
    given = [library.tensor(a, requires_grad=back) for a in arrays]
    if not back:
        return lambda: function(*given)
    out = function(*given).detach()
    g = library.tensor(np.ones(tuple(out.shape), "f4") if not out.ndim else _normal(*out.shape))
    return lambda: library.autograd.grad(function(*given), given, g)


def _step(library: Any, make: Callable) -> Callable:
    parameters = []
    for shape in ((1000, 1000), (1000,), (300, 1000)):
        p = library.tensor(_normal(*shape), requires_grad=True)
        p.grad = library.tensor(_normal(*shape))
        parameters.append(p)
    return make(library, parameters).step


def main() -> int:
    import torch

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("only", nargs="*", help="parts of names")
    options.add_argument("--seconds", type=float, default=0.4, help="for each figure")
    chosen = options.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    asked = lambda name: not chosen.only or any(part in name for part in chosen.only)
    print(f"{'':28}{'forward':>10}{'torch':>10}{'ratio':>7}  {'and back':>10}{'torch':>10}{'ratio':>7}")
    for name, (make, arrays) in layers().items():
        if not asked(name):
            continue
        line = f"{name:28}"
        for back in (False, True):
            ours, theirs = _in_turns([_call(library, make, arrays, back) for library in (dt, torch)], chosen.seconds)
            line += f"{ours:7.0f} µs{theirs:7.0f} µs{ours / theirs:7.2f}  "
        print(line, flush=True)
    for name, make in optimizers().items():
        if asked(name):
            ours, theirs = _in_turns([_step(library, make) for library in (dt, torch)], chosen.seconds)
            print(f"{name + ', 1.3 10^6 numbers':28}{ours:7.0f} µs{theirs:7.0f} µs{ours / theirs:7.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
