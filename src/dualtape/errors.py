"""Every error message of the library: classes where a type is needed, functions that build messages.

A message says which operation failed, what was expected, what came, and what to do; the phrase that PyTorch users
search for stays in it.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._typing import Edge

__all__ = ["ArgumentError", "DeclarationError", "FinalError", "IndexOutOfBounds"]


class FinalError(Exception):
    """Mixed into errors of operations that must not be repeated: fast paths let them pass instead of calling the
    reference path. A collective is one: the other processes would not take part again.
    """


class DeclarationError(TypeError):
    """An op's declaration is wrong: raised when it is registered, before anything can use it."""


class ArgumentError(ValueError):
    """An argument of an op has a value that it cannot have: a forward raises it where PyTorch raises ValueError."""


class IndexOutOfBounds(IndexError, RuntimeError):
    """An index tensor points outside of a dimension: PyTorch raises one or the other, depending on the operation."""


def _shape(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"{list(shape)}" if shape is not None else repr(value)


def promotion(a: object, b: object) -> RuntimeError:
    return RuntimeError(
        f"promotion of {a} and {b} is not supported: unsigned types other than uint8 mix with no signed type;"
        " convert one side with .to(...)"
    )


class MixedPlacements(RuntimeError):
    """A tensor of one process's own beside one that several processes have in parts."""

    def __init__(self, name: str, shape: tuple) -> None:
        super().__init__(
            f"{name}: got mixed Tensor and DTensor: give the tensor of shape {list(shape)} a placement first,"
            " distribute_tensor(x, mesh, [Replicate()]) where it is the same on every rank"
        )


def number_overflow(value: object, dtype: object) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtype!r} without overflow: {value!r}")


def forward_failed(op: str, arrays: list, cause: Exception) -> RuntimeError:
    if "broadcast together" in str(cause):
        cause = _unequal([a.shape for a in arrays if hasattr(a, "shape")]) or cause
    shapes = ", ".join(_shape(a) for a in arrays if hasattr(a, "shape"))
    return RuntimeError(f"{op}: {cause} (argument shapes: {shapes})")


def _unequal(shapes: list) -> Any:
    """Return what is wrong with shapes that cannot be combined: the first two that differ, and where."""
    for k, b in enumerate(shapes):
        for a in shapes[:k]:
            for d in range(1, min(len(a), len(b)) + 1):
                if a[-d] != b[-d] and 1 not in (a[-d], b[-d]):
                    return (
                        f"The size of tensor a ({a[-d]}) must match the size of tensor b ({b[-d]}) at non-singleton"
                        f" dimension {max(len(a), len(b)) - d}"
                    )
    return None


def not_a_tensor(op: str, param: str, value: object) -> TypeError:
    name = {"x": "input", "y": "other"}.get(param, param)
    return TypeError(
        f"{op}(): argument '{name}' must be Tensor, not {type(value).__name__}: it must be a Tensor or an array; wrap"
        " it with dualtape.tensor(...)"
    )


def no_history_for_out(name: str | None = None) -> RuntimeError:
    return RuntimeError(
        f"{f'{name}(): ' if name else ''}functions with out=... arguments don't support automatic differentiation,"
        " but one of the arguments requires grad or has a tangent: drop out=, or compute under no_grad()"
    )


def not_a_list(op: str, param: str, value: object) -> TypeError:
    return TypeError(
        f"{op}(): argument '{param}' must be tuple of Tensors, not {type(value).__name__}: give a list or tuple of"
        " them, as x.unbind() makes one of the rows of x"
    )


_RAW = re.compile(
    "has no attribute|object is not|object cannot be|not supported between|unsupported operand|must be real number"
    "|to unpack|index out of range|by zero|object can't be|can't multiply"
)  # what Python itself says
# What NumPy says of its own arguments, and Python of those of its functions.
_NUMPYS = re.compile(
    "out of bounds for a(xis|rray)|invalid index to scalar|too many indices for array|boolean index did not match"
    "|cannot do a non-empty take|only integers, slices|dimensional array given|shape mismatch: (value|indexing)"
    "|did not contain a loop|could not be promoted|Cannot cast|cannot convert float|signed integer is"
    "|array is too big|aximum allowed dimension|aximum supported dimension"
    "|too large to convert|too big to convert|failed for .* argument|is shorter than argument"
)
_NAMED = re.compile(r"(?!axis|source|destination)[\w.]+(\(\))?: ")  # an error that says whose it is
_INDEXING = ("index", "index_put", "index_put_", "__getitem__", "__setitem__")  # whose errors are IndexErrors
UNWORDED = (
    AttributeError,
    TypeError,
    IndexError,
    KeyError,
    AssertionError,
    ZeroDivisionError,
    OverflowError,
    ValueError,
    StopIteration,
)
_SAYS_NOTHING = (KeyError, AssertionError, StopIteration)  # the key, or nothing, is all that they say


class OutOfMemory(RuntimeError, MemoryError):
    """There is no memory for a result: a RuntimeError, as PyTorch's, and a MemoryError, as NumPy's."""


def out_of_memory(name: str, error: MemoryError) -> MemoryError:
    """Return NumPy's error as one that names the operation."""
    return error if isinstance(error, OutOfMemory) else OutOfMemory(f"{name}: {str(error) or 'out of memory'}")


def too_large(name: str, error: Exception) -> Exception:
    """Return NumPy's error about a size as one that names the operation; others unchanged."""
    if isinstance(error, MemoryError):
        return out_of_memory(name, error)
    return RuntimeError(f"{name}: {error}") if re.search("array is too big|aximum ", str(error)) else error


def _of_the_library(error: Exception) -> bool:
    """Whether the library, or what it is built on, raised an error, rather than a function that it was given."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else trace.tb_frame.f_globals.get("__name__") or ""
    return name.partition(".")[0] in ("dualtape", "numpy", "scipy") or name == __name__


def _unworded(name: str, error: Exception) -> bool:
    """Whether an error says what went wrong inside of a function, and not what is wrong with its arguments."""
    text = str(error)
    if isinstance(error, _SAYS_NOTHING):
        return (type(error) is KeyError or " " not in text) and _of_the_library(error)
    if type(error).__module__.partition(".")[0] == "dualtape":
        return False
    if _NAMED.match(text):
        return not isinstance(error, IndexError) and bool(_RAW.search(text))
    return bool(_RAW.search(text)) or bool(_NUMPYS.search(text)) and _of_the_library(error)


def explained(name: str, error: Exception, parameters: Sequence[str], values: Sequence[Any]) -> Exception:
    """Return an error in Python's wording from inside an operation as one that names its arguments; others
    unchanged.
    """
    text = str(error)
    if "(): " in text or text.startswith((f"{name}(", f"{name}:")) or not _unworded(name, error):
        return error
    given = ", ".join([f"{p}={_described(v)}" for p, v in zip(parameters, values, strict=False)])
    kind: type[Exception] = RuntimeError
    if isinstance(error, (TypeError, AttributeError)):
        kind = TypeError
    elif isinstance(error, IndexError) and (name in _INDEXING or text.startswith("index ")):
        kind = IndexOutOfBounds
    return kind(f"{name}(): invalid arguments ({given}): {text or type(error).__name__}")


def explained_call(name: str, error: Exception, function: Callable, args: tuple, kwargs: dict) -> Exception:
    """:func:`explained` for the call of a Python function."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return error
    return explained(name, error, list(bound), list(bound.values()))


def _described(value: object) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{type(value).__name__} {list(value.shape)}"
    text = repr(value)
    return text if len(text) < 40 else type(value).__name__


def moved_leaf() -> RuntimeError:
    return RuntimeError(
        "leaf variable has been moved into the graph interior: it was written in place after its requires_grad was"
        " taken away, so that it is a leaf no"
        " longer; write to a clone() of it, or detach() what was computed from it"
    )


def dtype_write(op: str, source: object, target: object) -> RuntimeError:
    return RuntimeError(
        f"{op}: result type {source} can't be cast to the desired output type {target}: an in-place operation keeps its"
        f" tensor's dtype; convert the tensor first, or use the out-of-place form"
    )


def shape_write(op: str, source: tuple, target: tuple) -> RuntimeError:
    return RuntimeError(
        f"{op}: output with shape {list(target)} doesn't match the broadcast shape {list(source)}: an in-place"
        " operation keeps"
        " its tensor's shape; use the out-of-place form, or expand the tensor first"
    )


def batched_write(op: str) -> RuntimeError:
    return RuntimeError(
        f"vmap: inplace arithmetic(self, *extra_args) is not possible in {op}: what is written differs from sample to"
        " sample, and the tensor it is"
        " written to is one for all of them. Use the out-of-place form (x = x + y), or make the target from a batched"
        " tensor (zeros_like, clone)"
    )


def batched_leaf() -> RuntimeError:
    return RuntimeError(
        "vmap: backward() inside vmap reached a leaf from outside, which cannot take the gradient of each sample: it"
        " has room for one. Use"
        " func.grad inside, with the leaf as an argument that is not mapped over (vmap(grad(f), in_dims=(None,"
        " 0))(leaf, batch)), or"
        " autograd.grad; or call backward() on the result, outside of vmap"
    )


def leaf_write(op: str) -> RuntimeError:
    return RuntimeError(
        f"{op}: a leaf Variable that requires grad is being used in an in-place operation. Its value is what backward"
        " will"
        " differentiate with respect to: write under no_grad(), or work on x.clone()"
    )


def leaf_written(function: str) -> RuntimeError:
    return RuntimeError(
        f"{function}: a leaf Variable that requires grad has been used in an in-place operation, says mark_dirty. Pass"
        " x.clone() to the Function, or return a new tensor"
    )


def leaf_view_write(op: str) -> RuntimeError:
    return RuntimeError(
        f"{op}: a view of a leaf Variable that requires grad is being used in an in-place operation. Write under"
        " no_grad(), or"
        " take the view from x.clone()"
    )


def not_a_leaf(node: str) -> RuntimeError:
    return RuntimeError(
        f"you can only change requires_grad flags of leaf variables: this tensor was computed by {node}; use detach()"
        " for a copy without history"
    )


def internal_overlap(op: str) -> RuntimeError:
    return RuntimeError(
        f"{op}: unsupported operation: more than one element of the written-to tensor refers to a single memory"
        " location."
        " Please clone() the tensor before performing the operation"
    )


def read_only(op: str) -> RuntimeError:
    return RuntimeError(
        f"{op}: the tensor's memory is read-only, since the array it was made of is: write to a clone() of it"
    )


def view_write(op: str, why: str) -> RuntimeError:
    return RuntimeError(f"{op}: {why}")


def inference_write(op: str) -> RuntimeError:
    return RuntimeError(
        f"{op}: Inplace update to inference tensor outside InferenceMode is not allowed. Make a normal tensor of it"
        " with clone()"
    )


def inference_saved(op: str) -> RuntimeError:
    return RuntimeError(
        f"{op}: Inference tensors cannot be saved for backward. Make a normal tensor of it with clone() outside of"
        " inference mode"
    )


def freed(node: str, where: str | None = None) -> RuntimeError:
    at = f" It was freed by the backward at {where}." if where else ""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already"
        f" been freed): what {node} had saved is gone.{at} Specify retain_graph=True in the first backward if you need"
        " to go through the graph twice, or to read saved tensors after it"
    )


def detached(node: str, name: str) -> RuntimeError:
    return RuntimeError(
        f"Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(): '{name}', saved by"
        f" {node}, is needed with its history to"
        " record the backward. Use the out-of-place .detach(), or leave create_graph out"
    )


def overwritten(
    node: str, name: str, shape: tuple, dtype: object, edge: Edge | None, saved: int, now: int, where: str | None
) -> RuntimeError:
    at = f" The last write was at {where}." if where else ""
    made = "" if edge is None else f" which is output {edge[1]} of {edge[0]._title()},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{dtype} {list(shape)}],{made} is at version {now}; expected version {saved} instead. It was saved as"
        f" '{name}' by {node}.{at}"
        " Use the out-of-place form of that write, or write before the value is used, or clone() what is saved"
    )


def no_graph(i: int) -> RuntimeError:
    return RuntimeError(
        f"element {i} of tensors does not require grad and does not have a grad_fn: nothing it was computed from"
        " requires"
        " grad, or it was computed under no_grad(); call requires_grad_() on the inputs before computing it"
    )


def non_scalar(shape: tuple) -> RuntimeError:
    return RuntimeError(
        f"grad can be implicitly created only for scalar outputs, and this one has shape {list(shape)}: reduce it"
        " (.sum()), or pass the gradient to start from"
    )


def unused_input(i: int) -> RuntimeError:
    return RuntimeError(
        f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if"
        " this is the desired behavior (its gradient is then None), or materialize_grads=True (then zeros)"
    )


def formula_shape(node: str, i: int, got: tuple, expected: tuple) -> RuntimeError:
    return RuntimeError(
        f"Function {node} returned an invalid gradient at index {i} - got {list(got)} but expected shape compatible"
        " with"
        f" {list(expected)}"
    )


def needs_detach() -> RuntimeError:
    """Return the error of a tensor that requires grad where an array is wanted; where a function of NumPy's or SciPy's
    wants it, the error names what to call in its place.
    """
    called, instead = _caller_of_arrays(sys._getframe(1))
    if called:
        return RuntimeError(
            f"{called} makes arrays of its arguments, which carry no history (Can't call numpy() on Tensor that"
            f" requires grad): {instead}"
        )
    return RuntimeError(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. (The array would not"
        " carry the history: where it is wanted, dualtape.numpy and dualtape.scipy have functions that take tensors"
        " where NumPy's and SciPy's make arrays of them.)"
    )


# What to use for functions of NumPy's that call back.
_CALLING_BACK = {
    "vectorize": "use dualtape.vmap(function), or functions of NumPy's, which take whole tensors",
    "apply_along_axis": "use dualtape.vmap(function, in_dims=...)",
    "fromiter": "use dualtape.stack(list(values))",
    "piecewise": "use dualtape.where(condition, x, y)",
}


def _caller_of_arrays(frame: FrameType | None) -> tuple[str, str]:
    """Return the name of the function of NumPy's or SciPy's that was called last from outside of them, and what to use
    instead; two empty strings if there is none.
    """
    while frame is not None and _top(frame) == "dualtape":
        frame = frame.f_back
    inside: list[FrameType] = []
    while frame is not None and _top(frame) in ("scipy", "numpy", "dualtape"):
        inside.append(frame)
        frame = frame.f_back
    names: list[str] = []
    for found in reversed(inside):
        parts, name = found.f_globals.get("__name__", "").split("."), _called_name(found)
        if parts[0] == "numpy" and name in _CALLING_BACK:
            return f"numpy.{name}", _CALLING_BACK[name]
        if parts[0] == "scipy" and len(parts) > 1:
            names.append(f"scipy.{parts[1]}.{name}")
    for name in names:
        if _exists(f"dualtape.{name}"):
            return name, f"use dualtape.{name}, which takes tensors"
    for name in names:
        module, _, member = name.rpartition(".")
        if hasattr(sys.modules.get(module), member):
            return name, "there is no version of it that takes tensors (docs/numpy.md says what there is)"
    return "", ""


def _called_name(frame: FrameType) -> str:
    """Return the name by which users know the function of a frame: of a distribution's method with the distribution's
    name, of a wrapper that of what it wraps, of a constructor that of its class.
    """
    name, inside = frame.f_code.co_name, frame.f_locals
    owner = inside.get("self")
    if name.endswith("wrapper"):
        wrapped = inside.get("func") or inside.get("f") or inside.get("fun")
        return getattr(wrapped, "__name__", name)
    if owner is None:
        return name
    if name.startswith("__"):
        return type(owner).__name__
    return f"{owner.name}.{name}" if isinstance(getattr(owner, "name", None), str) else name


def _top(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _exists(path: str) -> bool:
    """Return whether there is a function of ours of that name."""
    package, scipy, part, *members = path.split(".")
    try:
        found: Any = import_module(f"{package}.{scipy}.{part}")
    except ImportError:
        return False
    if members[0] not in getattr(found, "__all__", ()):
        return False
    for member in members:
        found = getattr(found, member, None)
    return found is not None


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program: the first frame outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__', '')}.".startswith("dualtape."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_lost_history(kind: type) -> None:
    """Warn that a tensor with history is converted to a number, also by a method that subclasses override."""
    warn(
        f"Converting a tensor with requires_grad=True to a scalar ({kind.__name__}(x), math.sin(x), array[0] = x) loses"
        " its history. If that is meant, use x.item() or x.detach(); if not, np.sin(x), and a tensor or"
        " dualtape.numpy.array instead of the array"
    )


def warn_of_lost_imaginary(op: str, dtype: object) -> None:
    warn(f"{op}: Casting complex values to real discards the imaginary part ({dtype}): use .real if that is meant")


def ambiguous_bool(shape: tuple) -> RuntimeError:
    return RuntimeError(
        f"Boolean value of Tensor with more than one value is ambiguous (shape {list(shape)}): use .any() or .all(), or"
        " where()"
    )


def missing(where: str, name: str, known: Iterable[str], *hints: str) -> AttributeError:
    """Return the error for a name that a module lacks: similar names, and further hints."""
    from difflib import get_close_matches  # not loaded by an ordinary program

    near = get_close_matches(name, [n for n in known if not n.startswith("_")], 3, 0.75)
    said = [f"did you mean {' or '.join(near)}?"] if near else []
    return AttributeError("; ".join([f"module {where!r} has no attribute {name!r}", *said, *hints]), name=name)
