"""Names of functions in generated code: those of PyTorch, and the arguments that its functions of Python record."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

# Of functions that PyTorch writes in Python: how many arguments a trace has by position; the others it has by name,
# with their defaults.
EXPLICIT = {
    "cdist": 2, "norm": 1, "split": 2, "stft": 2,
    **dict.fromkeys(
        (
            "alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout glu gumbel_softmax"
            " hardsigmoid hardswish hardtanh instance_norm interpolate leaky_relu log_softmax mish normalize relu relu6"
            " rrelu selu silu softmax softmin softsign tanhshrink"
        ).split(),
        1,
    ),
    **dict.fromkeys(
        (
            "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d"
            " affine_grid binary_cross_entropy binary_cross_entropy_with_logits cross_entropy embedding embedding_bag"
            " grid_sample group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm local_response_norm"
            " max_pool1d max_pool2d max_pool3d mse_loss multi_margin_loss multilabel_margin_loss"
            " multilabel_soft_margin_loss nll_loss pad poisson_nll_loss rms_norm smooth_l1_loss soft_margin_loss unfold"
        ).split(),
        2,
    ),
    **dict.fromkeys(
        (
            "batch_norm cosine_embedding_loss fold gaussian_nll_loss lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss"
            " max_unpool1d max_unpool2d max_unpool3d threshold triplet_margin_loss"
        ).split(),
        3,
    ),
    "ctc_loss": 4,
}  # fmt: skip
_OF_TORCH = ("cdist", "norm", "split", "stft")
# What PyTorch has in its module functional.
FUNCTIONAL = (
    "atleast_1d atleast_2d atleast_3d align_tensors block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist"
    " chain_matmul einsum istft lu norm meshgrid pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive"
    " unravel_index"
).split()
_SPACES = ("nn.functional", "", "linalg", "fft", "special")


@cache
def _paths() -> dict[Any, str]:
    """Return PyTorch's names of the public functions, by function."""
    found: dict[Any, str] = {}
    for space in _SPACES:
        module = import_module(f"dualtape.{space}" if space else "dualtape")
        for name in dir(module):
            value = None if name.startswith("_") else getattr(module, name, None)
            if not callable(value) or isinstance(value, type):
                continue
            # Aliases of one function: the name that it has itself.
            path = _path(space, name)
            if value not in found or getattr(value, "__name__", "") == name and space in ("", "nn.functional"):
                if not (value in found and name in EXPLICIT and space == ""):
                    found[value] = path
    return found


def _path(space: str, name: str) -> str:
    if space == "":
        return f"torch.functional.{name}" if name in FUNCTIONAL else f"torch.{name}"
    if space != "nn.functional":
        return f"torch._C._{space}.{space}_{name}"
    if name in EXPLICIT and name not in _OF_TORCH:
        return f"torch.nn.functional.{name}"
    if name == "logsigmoid":
        return "torch._C._nn.log_sigmoid"
    return f"torch._C._nn.{name}" if name in _NATIVE else f"torch.nn.functional.{name}"


_NATIVE = (
    "avg_pool2d avg_pool3d gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus softshrink"
    " elu_"
).split()


def qualified_name(function: Callable) -> str:
    """Return the name of a function in generated code.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.fx.node import _get_qualified_name
    >>> _get_qualified_name(dt.relu), _get_qualified_name(len)
    ('torch.relu', 'len')
    """
    import builtins

    name = getattr(function, "__name__", "")
    if getattr(builtins, name, None) is function:
        return name
    try:
        known = _paths().get(function)
    except TypeError:
        known = None
    if known is not None:
        return known
    if hasattr(function, "overloadpacket"):
        overload = getattr(function, "_overloadname", "default")
        schema: Any = getattr(function, "_schema", None)
        space, _, op = schema.name.partition("::")
        return f"torch.ops.{space}.{op}.{overload}"
    if name == "<lambda>":
        name = inspect.getsource(function).split("=")[0].strip()
    module = getattr(function, "__module__", None) or _module_of(function)
    if module.split(".")[0] == "dualtape":
        return f"torch{module.removeprefix('dualtape')}.{getattr(function, '__qualname__', name)}"
    return f"{module}.{name}"


def is_public(function: Any) -> bool:
    """Return whether a function is one of the library's public functions."""
    try:
        return function in _paths()
    except TypeError:
        return False


def short_name(function: Callable) -> str:
    """Return the name of a function without its module, which nodes are named after."""
    if is_public(function):
        return _paths()[function].rpartition(".")[2]
    return function.__name__


def _module_of(function: Callable) -> str:
    for name, module in list(sys.modules.items()):
        if getattr(module, function.__name__, None) is function:
            return name
    raise RuntimeError(f"cannot find module for {function}")


def recorded(function: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[Callable, tuple, dict[str, Any]]:
    """Return a call as a trace has it: of a public function, and where PyTorch's is written in Python, with all
    arguments but the first by name.
    """
    if not is_public(function):
        # The op beneath a function of nn.functional.
        inner = getattr(import_module("dualtape.nn.functional"), getattr(function, "__name__", ""), None)
        function = function if inner is None else inner
    path = _paths().get(function, "")
    name = path.rpartition(".")[2]
    if name == "einsum" and len(args) == 2 and isinstance(args[1], (tuple, list)):
        return function, (args[0], *args[1]), kwargs
    if name not in EXPLICIT or not path.startswith(("torch.nn.functional.", "torch.functional.")):
        return function, args, kwargs
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return function, args, kwargs
    bound.apply_defaults()
    values = bound.arguments
    count = EXPLICIT[name]
    return function, tuple(list(values.values())[:count]), {key: values[key] for key in list(values)[count:]}
