"""Calls on other processes, references, and backwards across them: as in one process, and as PyTorch's."""

from __future__ import annotations

import gc
import re
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
import dualtape.distributed.autograd as dist_autograd
from dualtape.distributed import rpc
from dualtape.distributed.optim import DistributedOptimizer
from dualtape.distributed.rpc import rref

# --- what is called; of either library ------------------------------------------------------------


def product(a: Any, b: Any) -> Any:
    return a * b


def twice(a: Any) -> tuple:
    return a * 2, {"square": a * a, "name": "twice"}


def fail(x: Any) -> None:
    raise ValueError(f"bad {x}")


class Odd(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


def fail_oddly() -> None:
    raise Odd(1, 2)


class Counter:
    def __init__(self, n: int = 0) -> None:
        self.n = n

    def add(self, k: int = 1) -> int:
        self.n += k
        return self.n


def chain(calls: Any, names: list, x: Any) -> Any:
    """Through several workers, one inside the other."""
    module = _libraries[calls].rpc
    return x * x if not names else module.rpc_sync(names[0], chain, args=(calls, names[1:], x * 2)) + x


def with_ref(ref: Any, x: Any) -> Any:
    return ref.local_value() * x if ref.is_owner() else ref.to_here() * x


def weights(calls: str) -> Any:
    made = _libraries[calls].lib.arange(1.0, 4.0, dtype=_libraries[calls].lib.float64)
    return made.requires_grad_()


_libraries: dict[str, SimpleNamespace] = {
    "ours": SimpleNamespace(lib=dt, rpc=rpc, autograd=dist_autograd),
}


class Calling:
    """All processes take calls inside; ``with Calling(rank) as names``."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __enter__(self) -> list[str]:
        rpc.init_rpc(f"worker{self.rank}")
        return [f"worker{k}" for k in range(dist.get_world_size())]

    def __exit__(self, kind: Any, *exc: object) -> None:
        rpc.shutdown(timeout=15)


# --- calls ----------------------------------------------------------------------------------------


def check_calls(rank, size):
    with Calling(rank) as names:
        other = names[(rank + 1) % size]
        here = rpc.get_worker_info()
        assert (here.name, here.id) == (names[rank], rank) and repr(
            here
        ) == f"WorkerInfo(id={rank}, name={names[rank]})"
        x = dt.arange(6.0).reshape(2, 3).t()
        for to in (other, (rank + 1) % size, rpc.get_worker_info(other), names[rank]):
            assert dt.equal(rpc.rpc_sync(to, product, args=(x, 3)), x * 3)
        assert dt.equal(rpc.rpc_sync(other, dt.add, args=(x, x), kwargs={"alpha": 2}), x * 3)
        for dtype in (dt.float16, dt.bfloat16, dt.bool, dt.complex128, dt.int8):
            y = dt.ones(2, 0, 3).to(dtype), dt.tensor(1).to(dtype), dt.ones(5)[::2].to(dtype)
            back = rpc.rpc_sync(other, tuple, args=(y,))
            assert all(
                dt.equal(a, b) and a.dtype is b.dtype and a.shape == b.shape for a, b in zip(back, y, strict=True)
            )
        array = np.arange(10)
        assert np.array_equal(rpc.rpc_sync(other, product, args=(array[::3], 2)), array[::3] * 2)
        big = dt.ones(300_000)
        futures = [rpc.rpc_async(names[k % size], product, args=(big, k)) for k in range(8)]
        assert [float(f.wait()[0]) for f in futures] == list(range(8))
        future = rpc.rpc_async(other, product, args=(2, 3)).then(lambda f: f.value() + 1)
        assert future.wait() == 7 and future.done()
        assert rpc.rpc_sync(other, chain, args=("ours", names * 2, dt.ones(1))).item() == chain_alone(2 * size)
        came = rpc.rpc_sync(other, product, args=(dt.ones(2, requires_grad=True), 1))
        assert came.requires_grad and came.is_leaf  # outside a context it has no history
        same = dt.ones(2)
        a, b = rpc.rpc_sync(other, tuple, args=([same, same],))
        a.add_(1)
        assert a is b


def chain_alone(depth: int) -> float:
    def run(depth: int, x: float) -> float:
        return x * x if depth == 0 else run(depth - 1, x * 2) + x

    return run(depth, 1.0)


def check_errors_come_back(rank, size):
    with Calling(rank) as names:
        other = names[(rank + 1) % size]
        for kind, words, call in [
            (
                ValueError,
                r"On WorkerInfo\(id=\d, name=worker\d\).*ValueError\('bad 3'\).*in fail",
                lambda: rpc.rpc_sync(other, fail, args=(3,)),
            ),
            (RuntimeError, r"Odd\(1, 2\)", lambda: rpc.rpc_sync(other, fail_oddly)),
            (RuntimeError, "could not find destination 'nobody'", lambda: rpc.rpc_sync("nobody", max, args=(1, 2))),
            (TypeError, "should be callable", lambda: rpc.rpc_sync(other, 3)),
            (Exception, "pickle|local", lambda: rpc.rpc_sync(other, lambda: 3)),
            (
                RuntimeError,
                r"more than set timeout \(300 ms\)",
                lambda: rpc.rpc_sync(other, time.sleep, args=(1.0,), timeout=0.3),
            ),
            (TypeError, "pickle", lambda: rpc.rpc_sync(other, threading.Lock)),
            (ValueError, "bad 4", lambda: rpc.remote(other, fail, args=(4,)).to_here()),
            (ValueError, "bad 5", lambda: rpc.rpc_async(other, fail, args=(5,)).then(lambda f: f.value()).wait()),
            (RuntimeError, "already initialized", lambda: rpc.init_rpc("again")),
        ]:
            with pytest.raises(kind) as raised:
                call()
            assert re.search(words, str(raised.value), re.DOTALL), (words, str(raised.value))
        assert rpc.rpc_sync(other, max, args=(1, 2)) == 2  # all is as before
    with pytest.raises(RuntimeError, match="init_rpc has not been called"):
        rpc.get_worker_info()
    for words, options in [("rank is", {"rank": size + 1}), ("leave backend out", {"backend": "gloo"})]:
        with pytest.raises(ValueError, match=words):
            rpc.init_rpc("name", **options)


def check_references(rank, size):
    with Calling(rank) as names:
        other, place = names[(rank + 1) % size], (rank + 1) % size
        ref = rpc.remote(other, Counter, args=(5,))
        assert ref.owner_name() == other and ref.owner().id == place and not ref.is_owner()
        assert ref.rpc_sync().add(3) == 8 and ref.rpc_async().add().wait() == 9 and ref.remote().add(2).to_here() == 11
        assert ref.to_here().n == 11 and ref.confirmed_by_owner() and repr(ref).startswith("UserRRef(")
        with pytest.raises(RuntimeError, match="to_here"):
            ref.local_value()
        mine = rpc.RRef(dt.ones(2))
        assert mine.is_owner() and mine.local_value() is mine.to_here() and repr(mine).startswith("OwnerRRef(")
        third = names[(rank + 2) % size]
        assert dt.equal(rpc.rpc_sync(third, with_ref, args=(mine, 3.0)), dt.full((2,), 3.0))
        weight = rpc.remote(other, dt.ones, args=(2,))
        assert dt.equal(rpc.rpc_sync(third, with_ref, args=(weight, 2.0)), dt.full((2,), 2.0))
        again = rpc.rpc_sync(third, tuple, args=([ref, mine],))
        assert again[1].is_owner() and again[1].local_value() is mine.local_value() and again[0].rpc_sync().add(0) == 11
        del ref, weight, again, mine
        dist.barrier()
        deadline = time.monotonic() + 5
        while rref._owned and time.monotonic() < deadline:  # nobody has a reference any more
            gc.collect()
            time.sleep(0.01)
        dist.barrier()
        assert not rref._owned, [(k, v.forks, v.ended) for k, v in rref._owned.items()]


# --- backwards ------------------------------------------------------------------------------------


def programs(calls: str, names: list) -> dict[str, Any]:
    """Losses of one process, computed on several; each gives its context's gradients of x and w."""
    module = _libraries[calls]
    call = module.rpc.rpc_sync
    last = names[-1]

    def there_and_back(x, w):
        return [call(last, product, args=(x * 2, w)).sin().sum()]

    def nested(x, w):
        return [call(last, chain, args=(calls, names, x * w)).sum()]

    def shared(x, w):
        a = x * w
        b = call(last, product, args=(a, a))
        c = call(last, product, args=(b + a, x))
        return [(b * c).sum(), call(names[0], product, args=(c, c)).sum()]

    def several_tensors(x, w):
        a, rest = call(last, twice, args=(x * w,))
        return [(a * rest["square"]).sum()]

    def unused(x, w):
        call(last, product, args=(x, w))  # nothing comes back for it
        return [call(last, product, args=(x, 3.0)).sum() + (w * w).sum()]

    def there_and_on(x, w):
        for name in names * 2:
            x = call(name, product, args=(x, w)) + x
        return [x.sum()]

    return {f.__name__: f for f in (there_and_back, nested, shared, several_tensors, unused, there_and_on)}


def gradients(calls: str, program: Any, passes: int) -> list:
    module = _libraries[calls]
    x, w = (
        module.lib.tensor(v, dtype=module.lib.float64, requires_grad=True) for v in ([1.0, 2.0, 3.0], [0.5, -1.0, 2.0])
    )
    seen: list = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    with module.autograd.context() as number:
        losses = program(x, w)
        for k in range(passes):
            module.autograd.backward(number, losses, retain_graph=k + 1 < passes)
        found = module.autograd.get_gradients(number)
        assert x.grad is None and w.grad is None
        return [[float(loss.detach()) for loss in losses], found[x].tolist(), found[w].tolist(), seen]


class Locally:
    """Calls that are no calls: the same programs in one process."""

    @staticmethod
    def rpc_sync(to: str, function: Any, args: tuple) -> Any:
        return function(*args)


_libraries["alone"] = SimpleNamespace(lib=dt, rpc=Locally)


def check_backwards_across_processes(rank, size):
    with Calling(rank) as names:
        if rank == 0:
            for name, program in programs("ours", names).items():
                for passes in (1, 2):
                    found = gradients("ours", program, passes)
                    x, w = (
                        dt.tensor(v, dtype=dt.float64, requires_grad=True) for v in ([1.0, 2.0, 3.0], [0.5, -1.0, 2.0])
                    )
                    losses = programs("alone", names)[name](x, w)
                    sum(losses).backward()
                    np.testing.assert_allclose(
                        found[0], [float(loss.detach()) for loss in losses], rtol=1e-12, err_msg=name
                    )
                    np.testing.assert_allclose(found[1], passes * x.grad.numpy(), rtol=1e-12, err_msg=name)
                    np.testing.assert_allclose(found[2], passes * w.grad.numpy(), rtol=1e-12, err_msg=name)
                    np.testing.assert_allclose(found[3], [x.grad.numpy()] * passes, rtol=1e-12, err_msg=name)
        dist.barrier()
        time.sleep(0.05)
        assert not rpc.history._contexts  # all of it is forgotten


def check_parameters_elsewhere_are_trained(rank, size):
    with Calling(rank) as names:
        if rank == 0:
            refs = [rpc.remote(name, weights, args=("ours",)) for name in names]
            optimizer = DistributedOptimizer(dt.optim.SGD, refs, lr=0.1, momentum=0.9)
            single = [weights("ours") for _ in names]
            plain = dt.optim.SGD(single, lr=0.1, momentum=0.9)
            for _ in range(3):
                with dist_autograd.context() as number:
                    x = dt.ones(3, dtype=dt.float64)
                    for name, ref in zip(names, refs, strict=True):
                        x = rpc.rpc_sync(name, with_ref, args=(ref, x)).tanh()
                    dist_autograd.backward(number, [x.sum()])
                    optimizer.step(number)
                plain.zero_grad()
                y = dt.ones(3, dtype=dt.float64)
                for w in single:
                    y = (w * y).tanh()
                y.sum().backward()
                plain.step()
            for ref, w in zip(refs, single, strict=True):
                dt.testing.assert_close(ref.to_here(), w.detach(), check_dtype=True)


def broken(x: Any) -> Any:
    y = x * 2
    y.register_hook(fail)
    return y


def check_failures_in_a_backward_reach_the_caller(rank, size):
    with Calling(rank) as names:
        if rank == 0:
            x = dt.ones(2, requires_grad=True)
            with dist_autograd.context() as number:
                loss = rpc.rpc_sync(names[-1], broken, args=(x,)).sum()
                with pytest.raises(ValueError, match="in fail"):
                    dist_autograd.backward(number, [loss])
                y = rpc.rpc_sync(names[-1], product, args=(x, x))
                y.register_hook(fail)  # here, while the other waits for what comes of it
                with pytest.raises(ValueError, match="bad tensor"):
                    dist_autograd.backward(number, [y.sum()])
                loss = rpc.rpc_sync(names[-1], product, args=(x, x)).sum()
                dist_autograd.backward(number, [loss])
                with pytest.raises(RuntimeError, match="a second time"):
                    dist_autograd.backward(number, [loss])
                for words, roots in [
                    ("No tensors", []),
                    ("requires_grad not set", [dt.ones(())]),
                    ("not a scalar", [x * 2]),
                ]:
                    with pytest.raises(RuntimeError, match=words):
                        dist_autograd.backward(number, roots)
                y = rpc.rpc_sync(names[-1], product, args=(x, 2.0))
                with pytest.raises(RuntimeError, match="distributed.autograd.backward"):
                    y.sum().backward()
            with pytest.raises(RuntimeError, match="Could not find autograd context"):
                dist_autograd.get_gradients(number)
            with dist_autograd.context() as number, pytest.raises(RuntimeError, match="another context"):
                dist_autograd.backward(number, [y.sum()])


def check_backwards_are_pytorchs(rank, size):
    if size != 2:
        return
    try:
        import torch.distributed.autograd
        import torch.distributed.rpc as theirs
    except ImportError:
        return
    import os
    import socket

    place: list = [None]
    if rank == 0:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            place = [s.getsockname()[1]]
    dist.broadcast_object_list(place, 0)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(place[0]))
    modules: Any = SimpleNamespace(lib=torch, rpc=theirs, autograd=torch.distributed.autograd)
    _libraries["theirs"] = modules
    theirs.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    try:
        with Calling(rank) as names:
            if rank == 0:
                for name in programs("ours", names):
                    if name == "unused":  # where PyTorch's waits for a gradient that never comes
                        continue
                    found, want = (gradients(c, programs(c, names)[name], 1) for c in ("ours", "theirs"))
                    for a, b in zip(found, want, strict=True):
                        np.testing.assert_allclose(a, b, rtol=1e-10, err_msg=name)
    finally:
        theirs.shutdown()


def call_and_fetch(to: str) -> Any:
    return rpc.remote(to, fail, args=(7,)).to_here()


def check_an_error_is_described_once_however_it_comes_back(rank, size):
    with Calling(rank) as names:
        for to in names:
            ref = rpc.remote(to, fail, args=(3,))
            for call in (
                ref.to_here,
                ref.to_here,
                ref.rpc_sync().anything,
                ref.remote().anything().to_here,
                lambda to=to: rpc.rpc_sync(to, fail, args=(3,)),
                lambda to=to: rpc.rpc_sync(to, call_and_fetch, args=(names[-1],)),
            ):
                with pytest.raises(ValueError) as raised:
                    call()
                text = str(raised.value)
                assert text.count("Traceback") == 1 and text.count("On WorkerInfo") == 1, text
                assert "in fail" in text and re.search(r"bad [37]", text)
        del raised, ref, call  # references live as long as tracebacks
        gc.collect()
