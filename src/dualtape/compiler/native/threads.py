"""Threads that share the loops of large kernels.

The threads are Python's, so that the interpreter knows them; each waits in native code, without the interpreter's lock,
until a kernel gives it some iterations of its outermost loop. The assignment of iterations to threads does not affect
results. One kernel is shared at a time; if the threads are busy, or there is only one, the caller runs all iterations.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

MOST = 64
FUNCTIONS = ("dt_parallel", "dt_worker", "dt_begin", "dt_set")
_ROOM = 64  # bytes for a semaphore of the C library's: 32 on Linux
_lock = threading.Lock()
_state: dict[str, Any] = {"functions": None, "started": 0, "asked": None}

# a thread waits for its own semaphore; the one that calls waits for as many posts as there are others
TEXT = f"""
@dt_threads = internal global i64 1
@dt_busy = internal global i32 0
@dt_function = internal global ptr null
@dt_given = internal global ptr null
@dt_rounds = internal global i64 0
@dt_parts = internal global i64 0
@dt_starts = internal global [{MOST} x [{_ROOM} x i8]] zeroinitializer, align 64
@dt_ends = internal global [{_ROOM} x i8] zeroinitializer, align 64
declare i32 @dt_sem_init(ptr, i32, i32)
declare i32 @dt_sem_wait(ptr)
declare i32 @dt_sem_post(ptr)

define internal void @dt_await(ptr %s) #0 {{
start:
  br label %again
again:
  %r = call i32 @dt_sem_wait(ptr %s)
  %interrupted = icmp ne i32 %r, 0
  br i1 %interrupted, label %again, label %done
done:
  ret void
}}

define internal void @dt_share(i64 %k, ptr %f, ptr %args, i64 %n, i64 %parts) #0 {{
  %a = mul i64 %n, %k
  %low = sdiv i64 %a, %parts
  %k1 = add i64 %k, 1
  %b = mul i64 %n, %k1
  %high = sdiv i64 %b, %parts
  %r = call i32 %f(ptr %args, i64 %low, i64 %high)
  ret void
}}

define void @dt_begin() #0 {{
start:
  %e = call i32 @dt_sem_init(ptr @dt_ends, i32 0, i32 0)
  store i64 1, ptr @dt_threads
  store i32 0, ptr @dt_busy
  br label %next
next:
  %k = phi i64 [0, %start], [%j, %next]
  %s = getelementptr [{MOST} x [{_ROOM} x i8]], ptr @dt_starts, i64 0, i64 %k
  %r = call i32 @dt_sem_init(ptr %s, i32 0, i32 0)
  %j = add i64 %k, 1
  %more = icmp slt i64 %j, {MOST}
  br i1 %more, label %next, label %done
done:
  ret void
}}

define void @dt_set(i64 %count) #0 {{
  store i64 %count, ptr @dt_threads
  ret void
}}

define void @dt_worker(i64 %k) #0 {{
start:
  %s = getelementptr [{MOST} x [{_ROOM} x i8]], ptr @dt_starts, i64 0, i64 %k
  br label %again
again:
  call void @dt_await(ptr %s)
  %f = load ptr, ptr @dt_function
  %args = load ptr, ptr @dt_given
  %n = load i64, ptr @dt_rounds
  %parts = load i64, ptr @dt_parts
  call void @dt_share(i64 %k, ptr %f, ptr %args, i64 %n, i64 %parts)
  %p = call i32 @dt_sem_post(ptr @dt_ends)
  br label %again
}}

define i32 @dt_parallel(ptr %f, ptr %args, i64 %n) #0 {{
start:
  %t = load i64, ptr @dt_threads
  %few = icmp slt i64 %n, %t
  %parts = select i1 %few, i64 %n, i64 %t
  %several = icmp sgt i64 %parts, 1
  br i1 %several, label %try, label %alone
try:
  %was = atomicrmw xchg ptr @dt_busy, i32 1 acquire
  %free = icmp eq i32 %was, 0
  br i1 %free, label %share, label %alone
alone:
  %r = call i32 %f(ptr %args, i64 0, i64 %n)
  ret i32 %r
share:
  store ptr %f, ptr @dt_function
  store ptr %args, ptr @dt_given
  store i64 %n, ptr @dt_rounds
  store i64 %parts, ptr @dt_parts
  br label %post
post:
  %k = phi i64 [1, %share], [%j, %post]
  %s = getelementptr [{MOST} x [{_ROOM} x i8]], ptr @dt_starts, i64 0, i64 %k
  %p = call i32 @dt_sem_post(ptr %s)
  %j = add i64 %k, 1
  %more = icmp slt i64 %j, %parts
  br i1 %more, label %post, label %own
own:
  call void @dt_share(i64 0, ptr %f, ptr %args, i64 %n, i64 %parts)
  br label %wait
wait:
  %w = phi i64 [1, %own], [%v, %wait]
  call void @dt_await(ptr @dt_ends)
  %v = add i64 %w, 1
  %rest = icmp slt i64 %v, %parts
  br i1 %rest, label %wait, label %done
done:
  store atomic i32 0, ptr @dt_busy release, align 4
  ret i32 0
}}
"""


def symbols() -> dict[str, int]:
    """Return the C library's semaphores; where they do not work, functions that are never called."""
    if not supported():
        anything = ctypes.cast(ctypes.CDLL(None).memcmp, ctypes.c_void_p).value or 0
        return dict.fromkeys(("dt_sem_init", "dt_sem_wait", "dt_sem_post"), anything)
    library = ctypes.CDLL(None)
    return {
        f"dt_{name}": ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        for name in ("sem_init", "sem_wait", "sem_post")
    }


def supported() -> bool:
    """Return whether the C library has unnamed semaphores: not everywhere but on Linux."""
    return sys.platform == "linux"


def begin(start: int, worker: int, set_count: int) -> None:
    """Store the functions of the runtime, and start as many threads as were requested."""
    if not supported():
        return
    _state["functions"] = (
        ctypes.CFUNCTYPE(None)(start),
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(worker),
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(set_count),
    )
    _state["functions"][0]()
    os.register_at_fork(after_in_child=_forked)
    set_threads(wanted())


def default() -> int:
    """Return the default number of threads, that of BLAS: from the environment, or the cores available to this
    process.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value):
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int) -> None:
    """Set how many threads share a kernel from now on; before the first kernel the number is only stored."""
    with _lock:
        _state["asked"] = count
        if _state["functions"] is None:
            return
        _, worker, set_count = _state["functions"]
        count = min(count, MOST)
        while _state["started"] < count - 1:
            _state["started"] += 1
            name = f"dualtape kernels {_state['started']}"
            threading.Thread(target=worker, args=(_state["started"],), name=name, daemon=True).start()
        set_count(count)


def wanted() -> int:
    """Return how many threads are to share a kernel: the requested number, or the default."""
    return default() if _state["asked"] is None else _state["asked"]


def _forked() -> None:
    """Forget the threads in a child process, which has none of them: new ones are started."""
    global _lock
    _lock = threading.Lock()
    _state["started"] = 0
    _state["functions"][0]()
    set_threads(_state["asked"])
