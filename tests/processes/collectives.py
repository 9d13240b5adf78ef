"""Collectives against what NumPy makes of all ranks' values, which every rank can compute."""

from __future__ import annotations

import warnings
from datetime import timedelta

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist

Op = dist.ReduceOp
REDUCE = {
    Op.SUM: np.add,
    Op.PRODUCT: np.multiply,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.BAND: np.bitwise_and,
    Op.BOR: np.bitwise_or,
    Op.BXOR: np.bitwise_xor,
}
DTYPES = "float16 bfloat16 float32 float64 complex64 complex128 uint8 int8 int16 int32 int64 bool".split()


def value(rank: int, dtype: str = "float32", shape: tuple = (3, 4)) -> dt.Tensor:
    """The tensor that a rank has; every rank knows those of all."""
    numbers = np.random.default_rng(rank).integers(1, 4, shape)
    return dt.tensor(numbers > 2) if dtype == "bool" else dt.tensor(numbers).to(getattr(dt, dtype))


def numpy_of(x: dt.Tensor) -> np.ndarray:
    return (x.float() if x.dtype == dt.bfloat16 else x).numpy()


def reduced(op, rank_values: list) -> np.ndarray:
    if op == Op.AVG:
        return sum(rank_values[1:], rank_values[0]) / len(rank_values)
    out = rank_values[0]
    for other in rank_values[1:]:
        out = REDUCE[op](out, other)
    return out


def supported(op, dtype: str) -> bool:
    kind = {"b": "b", "f": "f", "c": "c"}.get(dtype[0], "i")
    kind = "f" if dtype == "bfloat16" else kind
    bits = op in (Op.BAND, Op.BOR, Op.BXOR)
    return not (bits and kind in "fc" or op in (Op.MIN, Op.MAX) and kind == "c" or op == Op.AVG and kind in "bi")


def check_every_reduction_of_every_dtype(rank, size):
    for op in (*REDUCE, Op.AVG):
        for dtype in DTYPES:
            if not supported(op, dtype):
                continue
            want = reduced(op, [numpy_of(value(r, dtype)) for r in range(size)])
            x = value(rank, dtype)
            assert dist.all_reduce(x, op) is None
            np.testing.assert_allclose(numpy_of(x), want, rtol=1e-2 if "16" in dtype else 1e-6, err_msg=f"{op} {dtype}")
            assert x.dtype == getattr(dt, dtype)


def check_what_does_not_lie_contiguously_is_written_back(rank, size):
    whole = dt.zeros(6, 8)
    part = whole[1::2, ::2].t()
    part.copy_(value(rank).t())
    before = whole._version
    dist.all_reduce(part)
    want = sum(numpy_of(value(r)) for r in range(size))
    np.testing.assert_array_equal(whole[1::2, ::2].numpy(), want)
    assert whole._version == before + 1 and not whole[::2].any()


def check_nan_spreads_to_every_rank(rank, size):
    x = dt.tensor([float("nan") if rank == size - 1 else 1.0, float(rank)])
    dist.all_reduce(x, Op.MIN)
    assert x[0].isnan() and x[1] == 0


def check_reduce_leaves_the_others(rank, size):
    x = value(rank)
    dist.reduce(x, size - 1)
    want = sum(numpy_of(value(r)) for r in range(size)) if rank == size - 1 else numpy_of(value(rank))
    np.testing.assert_array_equal(x.numpy(), want)
    assert x._version == (rank == size - 1)


def check_broadcast_and_gathers(rank, size):
    for dtype in DTYPES:
        x = value(rank, dtype)
        dist.broadcast(x, src=size - 1)
        assert dt.equal(x, value(size - 1, dtype))
        out = [value(0, dtype) * 0 if dtype != "bool" else dt.zeros(3, 4, dtype=dt.bool) for _ in range(size)]
        dist.all_gather(out, value(rank, dtype))
        assert all(dt.equal(o, value(r, dtype)) for r, o in enumerate(out))
        into = dt.zeros(3 * size, 4, dtype=getattr(dt, dtype))
        dist.all_gather_into_tensor(into, value(rank, dtype))
        assert dt.equal(into, dt.cat(out))


def check_reduce_scatter(rank, size):
    mine = [value(10 * rank + k) for k in range(size)]
    out = dt.zeros(3, 4)
    dist.reduce_scatter(out, mine)
    want = sum(numpy_of(value(10 * r + rank)) for r in range(size))
    np.testing.assert_array_equal(out.numpy(), want)
    for op, scale in ((Op.AVG, 1 / size), (dist._make_nccl_premul_sum(2.0), 2.0)):
        out = dt.zeros(3, 4)
        dist.reduce_scatter_tensor(out, dt.cat(mine), op)
        np.testing.assert_allclose(out.numpy(), want * scale)


def check_all_to_all(rank, size):
    out = [dt.zeros(r + 1) for r in range(size)]
    dist.all_to_all(out, [dt.full((rank + 1,), 10.0 * rank + k) for k in range(size)])
    assert [o.tolist() for o in out] == [[10.0 * r + rank] * (r + 1) for r in range(size)]
    x = dt.arange(size * (size + 1) // 2 * 2).reshape(-1, 2) + 100 * rank
    splits = [k + 1 for k in range(size)]
    got = dt.zeros((rank + 1) * size, 2, dtype=dt.int64)
    dist.all_to_all_single(got, x, [rank + 1] * size, splits)
    start = rank * (rank + 1) // 2
    own = dt.arange(size * (size + 1) // 2 * 2).reshape(-1, 2)[start : start + rank + 1]
    assert dt.equal(got, dt.cat([own + 100 * r for r in range(size)]))


def check_scatter_and_gather(rank, size):
    out = dt.zeros(3, 4)
    dist.scatter(out, [value(k) for k in range(size)] if rank == 1 else None, src=1)
    assert dt.equal(out, value(rank))
    found = [dt.zeros(3, 4) for _ in range(size)] if rank == 0 else None
    dist.gather(out, found)
    assert rank or all(dt.equal(f, value(r)) for r, f in enumerate(found))


def check_messages(rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    out = dt.zeros(3, 4).t()
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, value(rank).t(), right, tag=3), dist.P2POp(dist.irecv, out, left, tag=3)]
    )
    assert all(work.wait() for work in works) and all(work.is_completed() for work in works)
    assert dt.equal(out, value(left).t())
    if rank == 0:
        sources = {dist.recv(dt.zeros(2)) for _ in range(size - 1)}
        assert sources == set(range(1, size))
    else:
        dist.send(dt.ones(2), 0)
    dist.barrier()


def check_handles(rank, size):
    x, y = value(rank), value(rank)
    first, second = dist.all_reduce(x, async_op=True), dist.broadcast(y, 0, async_op=True)
    assert second.wait() and first.wait(timedelta(seconds=5)) and first.is_success()
    assert first.result()[0] is x and first.exception() is None
    assert dt.equal(y, value(0))


def check_objects(rank, size):
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "long": "x" * rank})
    assert found == [{"rank": r, "long": "x" * r} for r in range(size)]
    some = ["a", {"b": 2}] if rank == 0 else [None, None]
    dist.broadcast_object_list(some, 0)
    assert some == ["a", {"b": 2}]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {k}" for k in range(size)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"]
    gathered = [None] * size if rank == 1 else None
    dist.gather_object(rank, gathered, 1)
    assert rank != 1 or gathered == list(range(size))
    if rank == 0:
        dist.send_object_list(["one", 2], 1)
    elif rank == 1:
        here = [None, None]
        assert dist.recv_object_list(here, 0) == 0 and here == ["one", 2]


def check_groups(rank, size):
    last = dist.new_group([size - 1, 0], sort_ranks=False)
    x = value(rank)
    if rank in (0, size - 1):
        assert dist.get_rank(last) == (0 if rank else 1) and dist.get_process_group_ranks(last) == [size - 1, 0]
        dist.broadcast(x, src=size - 1, group=last)
        assert dt.equal(x, value(size - 1))
        assert dist.get_global_rank(last, 0) == size - 1 and dist.get_group_rank(last, 0) == 1
        dist.destroy_process_group(last)
    else:
        assert last == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(last) == -1
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert dist.all_reduce(x, group=last) is None
        assert "does not belong" in str(seen[0].message)
    mine, groups = dist.new_subgroups(size // 2)
    dist.all_reduce(x := dt.tensor([1.0 * rank]), group=mine)
    half = rank // (size // 2) * (size // 2)
    assert x.item() == sum(range(half, half + size // 2)) and len(groups) == 2


def check_samplers_share_a_dataset(rank, size):
    found = [None] * size
    dist.all_gather_object(found, list(dt.utils.data.DistributedSampler(range(8), shuffle=False)))
    assert found == [list(range(r, 8, size)) for r in range(size)]


def check_wrong_arguments_say_what_was_expected(rank, size):
    x = dt.ones(3)
    cases = [
        (TypeError, "Expected parameter `tensor`", lambda: dist.all_reduce([1])),
        (TypeError, "op must be one of", lambda: dist.all_reduce(x, "sum")),
        (ValueError, "does not support", lambda: dist.all_reduce(dt.ones(2, dtype=dt.complex64), Op.MAX)),
        (ValueError, f"{size} expected, got 1", lambda: dist.all_gather([x], x)),
        (ValueError, r"shape \[2\], where \[3\]", lambda: dist.all_gather([dt.ones(2)] * size, x)),
        (ValueError, "different dtypes", lambda: dist.all_gather([x.long()] * size, x)),
        (ValueError, "times the elements", lambda: dist.all_gather_into_tensor(dt.ones(7), x)),
        (TypeError, "dtype", lambda: dist.all_gather_into_tensor(dt.ones(3 * size).long(), x)),
        (ValueError, "Must specify", lambda: dist.broadcast(x)),
        (ValueError, "not part of group", lambda: dist.broadcast(x, 99)),
        (ValueError, "Can't specify both", lambda: dist.broadcast(x, 0, group_src=0)),
        (ValueError, "same as the rank", lambda: dist.send(x, rank)),
        (RuntimeError, "Split sizes", lambda: dist.all_to_all_single(x, x, [2] * size, [2] * size)),
        (ValueError, "duplicate", lambda: dist.new_group([0, 0])),
        (ValueError, "twice", lambda: dist.init_process_group()),
        (TypeError, "dense", lambda: dist.all_reduce(dt.ones(2, 2).to_sparse())),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words):
            call()
    assert x._version == 0
