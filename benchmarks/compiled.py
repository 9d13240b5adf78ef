"""``python -m benchmarks.compiled``: compiled programs beside JAX's jit, and dualtape's own eager way.

Each program is a function of arrays that gives values and gradients. A compiled call is timed as its user sees it, with
guards and the tensors it makes; one thread, on one core, where the system can hold a process there (XLA takes others
whatever it is told). The first call (tracing and compiling) is a column of its own. With
``--torch`` PyTorch's compile stands beside them: it gets the same lines; a program that it has not compiled after some
minutes is left out.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("DUALTAPE_CACHE", "0")  # the first call compiles

import numpy as np  # noqa: E402

import dualtape as dt  # noqa: E402

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = jnp = None  # type: ignore[assignment]
try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

_rng = np.random.default_rng(0)


def _normal(*shape: int, dtype: str = "f4", scale: float = 1.0) -> np.ndarray:
    return (_rng.standard_normal(shape) * scale).astype(dtype)


def _symmetric(n: int) -> np.ndarray:
    """A matrix with the eigenvalues 1 to n, over n."""
    q = np.linalg.qr(_normal(n, n, dtype="f8"))[0]
    return (q * np.arange(1, n + 1) / n) @ q.T


# --- programs: of a library's functions (``xp``), so that both run the same lines -----------------------------------


def chain(xp: Any, x: Any) -> Any:
    y = x
    for _ in range(50):
        y = xp.tanh(y * 1.01 + x) * 0.9 + y * 0.1
    return (y * y).sum()


def mlp(xp: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, y: Any) -> Any:
    h = xp.tanh(x @ w1 + b1)
    d = h @ w2 + b2 - y
    return (d * d).mean()


def lstm(xp: Any, xs: Any, w: Any, u: Any, b: Any) -> Any:
    h = xs[0] * 0
    c = xs[0] * 0
    n = h.shape[-1]
    for t in range(50):
        z = xs[t] @ w + h @ u + b
        i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
        c = c / (1 + xp.exp(-f)) + xp.tanh(g) / (1 + xp.exp(-i))
        h = xp.tanh(c) / (1 + xp.exp(-o))
    return (h * h).sum()


def bodies(xp: Any, y: Any, m: Any, steps: int = 100, total: bool = True) -> Any:
    def f(y: Any) -> Any:
        q, v = y[:3], y[3:]
        d = q[None, :, :] - q[:, None, :]
        r2 = (d * d).sum(-1) + 0.01
        a = (d * (m[None, :] / (r2 * xp.sqrt(r2)))[:, :, None]).sum(1)
        return xp.concatenate([v, a])

    h = 0.01
    for _ in range(steps):
        k1 = f(y)
        k2 = f(y + k1 * (h / 2))
        k3 = f(y + k2 * (h / 2))
        k4 = f(y + k3 * h)
        y = y + (k1 + k2 * 2 + k3 * 2 + k4) * (h / 6)
    return (y * y).sum() if total else y


# Each program in two forms: of a library with PyTorch's interface and its functions, and in JAX's words.
Forms = tuple[Callable[[Any, Any], Callable], Callable]


def _bodies() -> Forms:
    """XLA cannot compile the loop as it is written in reasonable time: there it is a scan."""

    def theirs(y: Any, m: Any) -> Any:
        def loss(y: Any) -> Any:
            return (jax.lax.scan(lambda y, _: (bodies(jnp, y, m, 1, False), None), y, None, length=100)[0] ** 2).sum()

        return jax.value_and_grad(loss)(y)

    return gradients(bodies, 1)[0], theirs


def rosenbrock(xp: Any, x: Any) -> Any:
    a, b = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    return (a * a * 100 + b * b).sum()


def small_map(xp: Any, x: Any, w: Any) -> Any:
    return xp.tanh(w @ x) * x


def logistic(xp: Any, w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return (xp.log(1 + xp.exp(-xp.abs(z))) + xp.maximum(z, 0) - z * y).mean() + (w * w).sum() * 0.1


def black_scholes(xp: Any, s: Any, k: Any, t: Any) -> Any:
    r, v = 0.05, 0.2
    root = xp.sqrt(t) * v
    d1 = (xp.log(s / k) + t * (r + v * v / 2)) / root
    d2 = d1 - root
    cdf = lambda z: 1 / (1 + xp.exp(z * -1.702))
    return (s * cdf(d1) - k * xp.exp(t * -r) * cdf(d2)).sum()


def cross_entropy(xp: Any, x: Any, y: Any) -> Any:
    m = xp.max(x, 1)[:, None]
    z = x - m
    return (xp.log(xp.exp(z).sum(1)) - (z * y).sum(1)).mean()


def elementwise(xp: Any, x: Any) -> Any:
    return (xp.sin(x) * xp.exp(x * x * -0.5) + xp.tanh(x) * xp.log(x * x + 1)).sum()


def softmax(xp: Any, x: Any, y: Any) -> Any:
    e = xp.exp(x - xp.max(x, 1)[:, None])
    return (e / e.sum(1)[:, None] * y).sum()


def logsumexp(xp: Any, x: Any) -> Any:
    m = xp.max(x, 1)
    return (xp.log(xp.exp(x - m[:, None]).sum(1)) + m).sum()


def transformer(xp: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any) -> Any:
    def norm(x: Any) -> Any:
        d = x - x.mean(-1)[..., None]
        return d / xp.sqrt((d * d).mean(-1)[..., None] + 1e-5)

    h, n = 4, x.shape[-1] // 4
    z = norm(x)
    q, k, v = ((z @ w).reshape(x.shape[0], x.shape[1], h, n) for w in (wq, wk, wv))
    q, k, v = xp.swapaxes(q, 1, 2), xp.swapaxes(k, 1, 2), xp.swapaxes(v, 1, 2)
    s = q @ xp.swapaxes(k, 2, 3) * (1 / n**0.5)
    s = xp.exp(s - xp.max(s, -1)[..., None])
    s = s / s.sum(-1)[..., None]
    x = x + xp.swapaxes(s @ v, 1, 2).reshape(x.shape) @ wo
    y = norm(x) @ w1
    y = y / (1 + xp.exp(y * -1.702)) @ w2
    return ((x + y) ** 2).mean()


def _scan() -> Forms:
    """A recurrence of a thousand steps: value and gradients."""

    def loss(xp: Any, scan: Callable, w: Any, h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(h @ w + x)
            return h, h.sum()

        h, sums = scan(step, h, xs)
        return (h * h).sum() + (sums * sums).sum()

    def ours(lib: Any, xp: Any) -> Any:
        return lib.func.grad_and_value(lambda *a: loss(xp, lib.control_flow.scan, *a), argnums=(0, 1, 2))

    def theirs(*args: Any) -> Any:
        return jax.value_and_grad(lambda *a: loss(jnp, jax.lax.scan, *a), argnums=(0, 1, 2))(*args)

    return ours, theirs


def _until() -> Forms:
    """A power iteration, until the vector turns no more: the number of rounds is not known before."""

    def ours(lib: Any, xp: Any) -> Any:
        def run(a: Any, x: Any) -> Any:
            def step(x: Any, before: Any) -> Any:
                y = a @ x
                return y / (y * y).sum().sqrt(), x

            return lib.while_loop(lambda x, before: ((x - before) ** 2).sum() > 1e-20, step, (x, x * 0))[0]

        return run

    def theirs(a: Any, x: Any) -> Any:
        def step(pair: Any) -> Any:
            y = a @ pair[0]
            return y / jnp.sqrt((y * y).sum()), pair[0]

        return jax.lax.while_loop(lambda pair: ((pair[0] - pair[1]) ** 2).sum() > 1e-20, step, (x, x * 0))[0]

    return ours, theirs


def gradients(program: Callable, count: int | None = None) -> Forms:
    """Value and gradients with respect to the first ``count`` arguments, here and there."""

    def ours(lib: Any, xp: Any) -> Any:
        def run(*args: Any) -> Any:
            numbers = tuple(range(len(args) if count is None else count))
            return lib.func.grad_and_value(lambda *a: program(xp, *a), argnums=numbers)(*args)

        return run

    def theirs(*args: Any) -> Any:
        numbers = tuple(range(len(args) if count is None else count))
        return jax.value_and_grad(lambda *a: program(jnp, *a), argnums=numbers)(*args)

    return ours, theirs


def _hessian() -> Forms:
    return (
        lambda lib, xp: lambda x: lib.func.hessian(lambda x: rosenbrock(xp, x))(x),
        lambda x: jax.hessian(lambda x: rosenbrock(jnp, x))(x),
    )


def _jacobian() -> Forms:
    return (
        lambda lib, xp: lambda x, w: lib.func.jacrev(lambda x: small_map(xp, x, w))(x),
        lambda x, w: jax.jacrev(lambda x: small_map(jnp, x, w))(x),
    )


def _jvp() -> Forms:
    return (
        lambda lib, xp: lambda x, t: lib.func.jvp(lambda x: chain(xp, x[:10]), (x,), (t,)),
        lambda x, t: jax.jvp(lambda x: chain(jnp, x[:10]), (x,), (t,)),
    )


def _hvp() -> Forms:
    def ours(lib: Any, xp: Any) -> Any:
        return lambda w, v, x, y: lib.func.jvp(lib.func.grad(lambda w: logistic(xp, w, x, y)), (w,), (v,))[1]

    def theirs(w: Any, v: Any, x: Any, y: Any) -> Any:
        return jax.jvp(jax.grad(lambda w: logistic(jnp, w, x, y)), (w,), (v,))[1]

    return ours, theirs


def _writes() -> Forms:
    def ours(lib: Any, xp: Any) -> Any:
        def f(x: Any) -> Any:
            b = lib.zeros(60, dtype=x.dtype)
            b[:10] = x
            for k in range(50):
                b[k + 10] = b[k] * 0.5 + b[k + 5].clone() * x[k % 10]
            return (b * b).sum()

        return lib.func.grad_and_value(f)

    def theirs(x: Any) -> Any:
        def f(x: Any) -> Any:
            b = jnp.zeros(60, dtype=x.dtype).at[:10].set(x)
            for k in range(50):
                b = b.at[k + 10].set(b[k] * 0.5 + b[k + 5] * x[k % 10])
            return (b * b).sum()

        return jax.value_and_grad(f)(x)

    return ours, theirs


def _custom() -> Forms:
    def ours(lib: Any, xp: Any) -> Any:
        class Square(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return g * x * 2

        def run(x: Any) -> Any:
            x = x.detach().requires_grad_()
            y = x
            for _ in range(100):
                y = Square.apply(y) * 0.5 + x
            (g,) = lib.autograd.grad(y.sum(), x)
            return g

        return run

    def theirs(x: Any) -> Any:
        @jax.custom_vjp
        def square(x: Any) -> Any:
            return x * x

        square.defvjp(lambda x: (x * x, x), lambda x, g: (g * x * 2,))

        def f(x: Any) -> Any:
            y = x
            for _ in range(100):
                y = square(y) * 0.5 + x
            return y.sum()

        return jax.grad(f)(x)

    return ours, theirs


def programs() -> dict[str, tuple[Forms, list[np.ndarray]]]:
    """Name to the two forms and the arguments."""
    big = 1000 * 1000
    one_hot = np.eye(1000, dtype="f4")[_rng.integers(0, 1000, 2000)]
    return {
        "chain of 300 ops, 10x10": (gradients(chain), [_normal(10, 10)]),
        "MLP step, 32x10": (
            gradients(mlp, 5),
            [
                _normal(32, 10),
                _normal(10, 32, scale=0.3),
                _normal(32),
                _normal(32, 1, scale=0.3),
                _normal(1),
                _normal(32, 1),
            ],
        ),
        "LSTM, 50 steps": (
            gradients(lstm),
            [_normal(50, 8, 16), _normal(16, 64, scale=0.2), _normal(16, 64, scale=0.2), _normal(64)],
        ),
        "Runge-Kutta, 100 steps": (_bodies(), [_normal(6, 3, dtype="f8"), np.abs(_normal(3, dtype="f8"))]),
        "scan, 1000 steps": (
            _scan(),
            [_normal(16, 16, dtype="f8", scale=0.2), _normal(16, dtype="f8"), _normal(1000, 16, dtype="f8")],
        ),
        "while_loop, power iteration": (_until(), [_symmetric(32), _normal(32, dtype="f8")]),
        "Hessian, 50 unknowns": (_hessian(), [_normal(50, dtype="f8")]),
        "Jacobian, 50x50": (_jacobian(), [_normal(50), _normal(50, 50, scale=0.2)]),
        "jvp of a chain": (_jvp(), [_normal(100), _normal(100)]),
        "Hessian-vector product, 1000x20": (
            _hvp(),
            [_normal(20), _normal(20), _normal(1000, 20), (_normal(1000) > 0).astype("f4")],
        ),
        "in-place loop": (_writes(), [_normal(10)]),
        "100 custom functions": (_custom(), [_normal(10, scale=0.1)]),
        "Black-Scholes, 10^6": (
            gradients(black_scholes),
            [np.abs(_normal(big)) + 1, np.abs(_normal(big)) + 1, np.abs(_normal(big)) + 0.5],
        ),
        "elementwise maths, 10^6": (gradients(elementwise), [_normal(big)]),
        "softmax, 2000x1000": (gradients(softmax, 1), [_normal(2000, 1000), _normal(2000, 1000)]),
        "logsumexp, 2000x1000": (gradients(logsumexp), [_normal(2000, 1000)]),
        "cross-entropy, 2000x1000": (gradients(cross_entropy, 1), [_normal(2000, 1000), one_hot]),
        "transformer block, 8x64x64": (
            gradients(transformer),
            [
                _normal(8, 64, 64),
                *[_normal(64, 64, scale=0.1) for _ in range(4)],
                _normal(64, 256, scale=0.1),
                _normal(256, 64, scale=0.1),
            ],
        ),
        "MLP, large": (
            gradients(mlp, 5),
            [
                _normal(512, 512),
                _normal(512, 1024, scale=0.05),
                _normal(1024),
                _normal(1024, 512, scale=0.05),
                _normal(512),
                _normal(512, 512),
            ],
        ),
    }


def _best(call: Callable, seconds: float) -> float:
    """The least time of a call, over turns of some calls each."""
    started = time.perf_counter()
    call()
    once = max(time.perf_counter() - started, 1e-6)
    many = max(1, min(1000, int(0.02 / once)))
    best = np.inf
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        for _ in range(many):
            call()
        best = min(best, (time.perf_counter() - started) / many)
    return best


def _flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in _flat(part)]
    return [np.asarray(result.detach() if hasattr(result, "detach") else result)]


def _alike(ours: Any, theirs: Any) -> bool:
    """Whether both gave the same, in whatever order."""
    mine, other = ([*sorted(_flat(x), key=lambda a: (a.ndim, a.size, float(np.abs(a).sum())))] for x in (ours, theirs))
    return len(mine) == len(other) and all(
        a.shape == b.shape and np.allclose(a, b, 2e-3, 1e-4) for a, b in zip(mine, other, strict=True)
    )


def _timed(call: Callable, seconds: float) -> tuple[float, float, Any]:
    """The least time of a call, the time of the first, and what it gives."""
    started = time.perf_counter()
    call()
    first = time.perf_counter() - started
    result = call()
    return _best(call, seconds), first, result


class _TooLong(Exception):
    pass


def _give_up(*_: Any) -> None:
    raise _TooLong


def _by_torch(make: Callable, arrays: list[np.ndarray], seconds: float, patience: int) -> tuple | None:
    """PyTorch's compiled program; None if it does not get there."""
    torch.set_num_threads(1)
    torch._dynamo.reset()
    given = [torch.tensor(a) for a in arrays]
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(patience)
    try:
        compiled = torch.compile(make(torch, torch), fullgraph=True)
        return _timed(lambda: compiled(*given), seconds)
    except Exception as error:  # whatever stops it: a program it does not take, or our patience
        print(f"  (torch.compile: {type(error).__name__})", file=sys.stderr)
        return None
    finally:
        signal.alarm(0)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("only", nargs="*", help="parts of names")
    options.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    options.add_argument("--backend", default=None)
    options.add_argument("--torch", action="store_true", help="PyTorch's compile, too")
    options.add_argument("--patience", type=int, default=240, help="seconds for what PyTorch compiles")
    chosen = options.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(
        f"{'':34}{'compiled':>12}{'eager':>12}{'JAX jit':>12}{'ratio':>8}   first call (JAX)"
        f"{'   PyTorch compile, ratio, first call' if chosen.torch else ''}"
    )
    wrong = False
    for name, ((make, theirs), arrays) in programs().items():
        if chosen.only and not any(part in name for part in chosen.only):
            continue
        tensors = [dt.tensor(a) for a in arrays]
        ours = make(dt, np)
        compiled = dt.compile(ours, backend=chosen.backend, fullgraph=True)
        gc.collect()
        fast, first, mine = _timed(lambda: compiled(*tensors), chosen.seconds)  # noqa: B023 - used at once
        slow = _best(lambda: ours(*tensors), min(chosen.seconds, 0.3))  # noqa: B023
        line = f"{name:34}{fast * 1e6:9.1f} µs{slow * 1e6:9.0f} µs"
        found = []
        if jax is not None:
            jitted = jax.jit(theirs)
            given = [jnp.asarray(a) for a in arrays]
            found.append(_timed(lambda: jax.block_until_ready(jitted(*given)), chosen.seconds))  # noqa: B023
            other, their_first, _ = found[-1]
            line += f"{other * 1e6:9.1f} µs{fast / other:8.2f}   {first * 1e3:.0f} ({their_first * 1e3:.0f}) ms"
        else:
            line += f"{'':20}   {first * 1e3:.0f} ms"
        if chosen.torch and torch is not None:
            there = _by_torch(make, arrays, chosen.seconds, chosen.patience)
            found += [] if there is None else [there]
            line += (
                "   none"
                if there is None
                else (f"   {there[0] * 1e6:9.1f} µs{fast / there[0]:8.2f}   {there[1] * 1e3:.0f} ms")
            )
        if not all([_alike(mine, other) for _, _, other in found]):
            wrong, line = True, f"{line}   DIFFERENT RESULTS"
        print(line, flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
