"""The native runtime: the loop that runs a program's table, the entry from Python, BLAS; and LLVM itself.

A program is a table of instructions: the address of a kernel, the number of its arguments, the arguments. Python calls
a program by a function that LLVM compiled, with arrays; the addresses of their memory are stored in the table, and the
loop runs it until an address is 0, or a kernel reports that a checked value has changed.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
import threading
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...arrays.kernels import blas
from . import disk_cache, maths, threads

_lock = threading.Lock()
_engines: list[Any] = []  # what holds the machine code
_functions: dict[str, int] = {}  # addresses by name
_machine: Any = None
# The version of the cache's format: entries of other versions are not read.
VERSION = 1

_RUNTIME = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @dt_memcmp(ptr, ptr, i64)
declare void @dt_sgemm(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)
declare void @dt_dgemm(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)

define i32 @dt_copy(ptr %args) #0 {
  %g1 = getelementptr i64, ptr %args, i64 1
  %g2 = getelementptr i64, ptr %args, i64 2
  %d = load ptr, ptr %args
  %s = load ptr, ptr %g1
  %n = load i64, ptr %g2
  call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr %s, i64 %n, i1 false)
  ret i32 0
}

define i32 @dt_check(ptr %args) #0 {
  %g1 = getelementptr i64, ptr %args, i64 1
  %g2 = getelementptr i64, ptr %args, i64 2
  %d = load ptr, ptr %args
  %s = load ptr, ptr %g1
  %n = load i64, ptr %g2
  %r = call i32 @dt_memcmp(ptr %d, ptr %s, i64 %n)
  ret i32 %r
}

GEMMS
THREADS
define i32 @dt_run(ptr %table) #0 {
start:
  br label %next
next:
  %ip = phi ptr [%table, %start], [%after, %ran]
  %f = load ptr, ptr %ip
  %end = icmp eq ptr %f, null
  br i1 %end, label %done, label %call
call:
  %np = getelementptr i64, ptr %ip, i64 1
  %n = load i64, ptr %np
  %given = getelementptr i64, ptr %ip, i64 2
  %r = call i32 %f(ptr %given)
  %failed = icmp ne i32 %r, 0
  br i1 %failed, label %done, label %ran
ran:
  %after = getelementptr i64, ptr %given, i64 %n
  br label %next
done:
  %result = phi i32 [0, %next], [1, %call]
  ret i32 %result
}

define ptr @dt_entry(ptr %self, ptr %args, i64 %count) #0 {
start:
  %t0 = getelementptr i8, ptr %self, i64 HEADER
  %table = load ptr, ptr %t0, align 8
  %t1 = getelementptr i64, ptr %t0, i64 1
  %relocations = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %t0, i64 2
  %many = load i64, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %t0, i64 3
  %good = load ptr, ptr %t3, align 8
  %t4 = getelementptr i64, ptr %t0, i64 4
  %bad = load ptr, ptr %t4, align 8
  %some = icmp sgt i64 %many, 0
  br i1 %some, label %place, label %go
place:
  %i = phi i64 [0, %start], [%j, %place]
  %o = mul i64 %i, 3
  %q0 = getelementptr i64, ptr %relocations, i64 %o
  %where = load i64, ptr %q0
  %q1 = getelementptr i64, ptr %q0, i64 1
  %which = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %q0, i64 2
  %off = load i64, ptr %q2
  %ap = getelementptr ptr, ptr %args, i64 %which
  %array = load ptr, ptr %ap
  %dp = getelementptr i8, ptr %array, i64 16
  %data = load ptr, ptr %dp
  %full = getelementptr i8, ptr %data, i64 %off
  %slot = getelementptr i64, ptr %table, i64 %where
  store ptr %full, ptr %slot
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %many
  br i1 %more, label %place, label %go
go:
  %r = call i32 @dt_run(ptr %table)
  %ok = icmp eq i32 %r, 0
  %result = select i1 %ok, ptr %good, ptr %bad
  %rc = load i32, ptr %result
  %rc1 = add i32 %rc, 1
  store i32 %rc1, ptr %result
  ret ptr %result
}

define ptr @dt_loop(ptr %self, ptr %args, i64 %count) #0 {
start:
  %t0 = getelementptr i8, ptr %self, i64 HEADER
  %table = load ptr, ptr %t0, align 8
  %t1 = getelementptr i64, ptr %t0, i64 1
  %relocations = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %t0, i64 2
  %many = load i64, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %t0, i64 3
  %good = load ptr, ptr %t3, align 8
  %t4 = getelementptr i64, ptr %t0, i64 4
  %bad = load ptr, ptr %t4, align 8
  %t5 = getelementptr i64, ptr %t0, i64 5
  %control = load ptr, ptr %t5, align 8
  %t6 = getelementptr i64, ptr %t0, i64 6
  %flag = load i64, ptr %t6, align 8
  %first = load i64, ptr %control, align 8
  %c1 = getelementptr i64, ptr %control, i64 1
  %limit = load i64, ptr %c1, align 8
  %tested = icmp sge i64 %flag, 0
  br label %round
round:
  %k = phi i64 [%first, %start], [%k1, %ended]
  br label %place
place:
  %i = phi i64 [0, %round], [%j, %place]
  %o = mul i64 %i, 6
  %q0 = getelementptr i64, ptr %relocations, i64 %o
  %where = load i64, ptr %q0
  %q1 = getelementptr i64, ptr %q0, i64 1
  %which = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %q0, i64 2
  %off = load i64, ptr %q2
  %q3 = getelementptr i64, ptr %q0, i64 3
  %stride = load i64, ptr %q3
  %q4 = getelementptr i64, ptr %q0, i64 4
  %mask = load i64, ptr %q4
  %q5 = getelementptr i64, ptr %q0, i64 5
  %ahead = load i64, ptr %q5
  %ka = add i64 %k, %ahead
  %km = and i64 %ka, %mask
  %steps = mul i64 %km, %stride
  %all = add i64 %off, %steps
  %ap = getelementptr ptr, ptr %args, i64 %which
  %array = load ptr, ptr %ap
  %dp = getelementptr i8, ptr %array, i64 16
  %data = load ptr, ptr %dp
  %full = getelementptr i8, ptr %data, i64 %all
  %slot = getelementptr i64, ptr %table, i64 %where
  store ptr %full, ptr %slot
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %many
  br i1 %more, label %place, label %go
go:
  %r = call i32 @dt_run(ptr %table)
  %ok = icmp eq i32 %r, 0
  br i1 %ok, label %ended, label %done
ended:
  %k1 = add i64 %k, 1
  store i64 %k1, ptr %control, align 8
  %fk = select i1 %tested, i64 %flag, i64 0
  %fp = getelementptr ptr, ptr %args, i64 %fk
  %fa = load ptr, ptr %fp
  %fd = getelementptr i8, ptr %fa, i64 16
  %fm = load ptr, ptr %fd
  %fv = load i8, ptr %fm
  %on = icmp ne i8 %fv, 0
  %goes = select i1 %tested, i1 %on, i1 true
  %short = icmp slt i64 %k1, %limit
  %again = and i1 %goes, %short
  br i1 %again, label %round, label %done
done:
  %result = phi ptr [%good, %ended], [%bad, %go]
  %rc = load i32, ptr %result
  %rc1 = add i32 %rc, 1
  store i32 %rc1, ptr %result
  ret ptr %result
}
"""


def _gemm(name: str) -> str:
    """Return BLAS's product: three pointers, then characters, sizes and numbers in the table itself."""
    places = "\n".join(f"  %g{k} = getelementptr i64, ptr %args, i64 {k}" for k in range(13))
    given = ", ".join(f"ptr {name}" for name in "%g3 %g4 %g5 %g6 %g7 %g8 %B %g9 %A %g10 %g11 %C %g12".split())
    return f"""
define i32 @{name}_call(ptr %args) #0 {{
{places}
  %B = load ptr, ptr %g0
  %A = load ptr, ptr %g1
  %C = load ptr, ptr %g2
  call void @{name}({given})
  ret i32 0
}}
"""


def _capsule(module: Any, name: str) -> int:
    """Return the address of a function that a Cython module exports."""
    capsule = module.__pyx_capi__[name]
    title = ctypes.pythonapi.PyCapsule_GetName
    title.restype, title.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, title(capsule))


def _begin() -> None:
    """Start LLVM, and compile the functions that all programs use."""
    global _machine
    from scipy.linalg import cython_blas

    blas.loaded_scipy()

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name, address in maths.symbols().items():
        llvm.add_symbol(name, address)
    llvm.add_symbol("dt_memcmp", ctypes.cast(ctypes.CDLL(None).memcmp, ctypes.c_void_p).value)
    for name in ("sgemm", "dgemm"):
        llvm.add_symbol(f"dt_{name}", _capsule(cython_blas, name))
    target = llvm.Target.from_default_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    _machine = (target, cpu, features)
    header = bytes.__basicsize__ - 1  # where the content of a bytes object begins
    gemms = _gemm("dt_sgemm") + _gemm("dt_dgemm")
    text = _RUNTIME.replace("HEADER", str(header)).replace("GEMMS", gemms).replace("THREADS", threads.TEXT)
    for name, pointer in threads.symbols().items():
        llvm.add_symbol(name, pointer)
    _load(text, ["dt_copy", "dt_check", "dt_entry", "dt_loop", "dt_sgemm_call", "dt_dgemm_call", *threads.FUNCTIONS], 2)
    llvm.add_symbol("dt_parallel", _functions["dt_parallel"])
    threads.begin(_functions["dt_begin"], _functions["dt_worker"], _functions["dt_set"])


def _load(text: str, names: list[str], level: int) -> None:
    """Return the machine code of a module: from the cache, or compiled and stored there."""
    target, cpu, features = _machine
    text += "\nattributes #0 = { nounwind }\nattributes #1 = { noinline nounwind memory(none) }\n"
    key = hashlib.sha256(
        "\0".join([text, cpu, features, llvmlite.__version__, str(level), str(VERSION)]).encode()
    ).hexdigest()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True)
    cache = disk_cache.folder()
    code = None if cache is None else cache.get(key)
    if code is None:
        module = llvm.parse_assembly(text)
        code = machine.emit_object(module)
        if cache is not None:
            cache.put(key, code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    for name in names:
        address = engine.get_function_address(name)
        if not address:
            raise RuntimeError(f"compiled code without {name}")
        _functions[name] = address
    _engines.append(engine)


def functions(texts: dict[str, str], library: maths.Library, level: int = 2) -> None:
    """Compile kernels; :func:`address` then returns their addresses."""
    with _lock:
        if _machine is None:
            _begin()
        if texts:
            declared = "declare i32 @dt_parallel(ptr, ptr, i64)\n"
            _load("\n".join([declared, library.text(), *texts.values()]), list(texts), level)


def address(name: str) -> int:
    return _functions[name]


# --- the way in -----------------------------------------------------------------------------------


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_definitions: dict[str, _MethodDef] = {}  # C functions point to theirs, and may outlive everything else


def _definition(name: str) -> _MethodDef:
    """Return the definition of a method, one for each name, which is never freed, not even when Python ends."""
    if name not in _definitions:
        made = _MethodDef(b"program", address(name), 0x80, None)  # METH_FASTCALL
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
        _definitions[name] = made
    return _definitions[name]


def entry(table: Any, relocations: Any, many: int) -> tuple[Any, Any]:
    """Return a Python function of arrays that runs a table: it returns True, or False if a checked value has changed.

    Returned with what it needs to stay alive.
    """
    return _made("dt_entry", table, relocations, many, "")


def loop(table: Any, relocations: Any, many: int, control: Any, flag: int) -> tuple[Any, Any]:
    """Return the same for many iterations: from ``control[0]``, which it increments, to before ``control[1]``, or until
    the array number ``flag``, if that is not -1, holds False.

    A relocation says how far its array advances in each iteration, which bits of the iteration's number count, and what
    is added to it before.
    """
    return _made("dt_loop", table, relocations, many, "Qq", control.ctypes.data, flag, control)


def _made(name: str, table: Any, relocations: Any, many: int, more: str, *rest: Any) -> tuple[Any, Any]:
    numbers = (table.ctypes.data, relocations.ctypes.data, many, id(True), id(False), *rest[: len(more)])
    state = struct.pack(f"<QQQQQ{more}", *numbers)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_definition(name)), state, None), (state, table, relocations, *rest)
