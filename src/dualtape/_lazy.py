"""The parts of the package that are imported on first use: ``dualtape.nn``, ``dualtape.linalg``, ops read on demand."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from . import errors
from .ops import FUNCTIONS, load, load_all
from .ops.foreach import foreach
from .overrides.active_overrides import overridable

_MODULES = (
    "random",
    "nn",
    "linalg",
    "special",
    "fft",
    "signal",
    "data",
    "tour",
    "draw",
    "utils",
    "overrides",
    "sparse",
    "nested",
    "amp",
    "cpu",
    "_C",
    "_dynamo",
    "_functorch",
    "_jit_internal",
    "fx",
    "functional",
    "_library",
    "_ops",
    "func",
    "library",
    "compiler",
    "control_flow",
    "numpy",
    "scipy",
    "hips",
    "serialization",
    "cuda",
    "jit",
    "testing",
    "backends",
    "version",
    "types",
    "multiprocessing",
    "as_torch",
    "optim",
    "profiler",
    "distributions",
    "distributed",
    "array_api",
    "accelerator",
    "futures",
    "hub",
    "onnx",
    "quasirandom",
    "return_types",
    "__config__",
    "__future__",
)
_LEGACY = (
    "FloatTensor",
    "DoubleTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "LongTensor",
    "IntTensor",
    "ShortTensor",
    "CharTensor",
    "ByteTensor",
    "BoolTensor",
)
_DRAWS = (
    "bernoulli",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
)
# which nothing overrides
_SETTINGS = (
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
)
_REMOVED = ("eig", "lstsq", "matrix_rank", "solve", "symeig")
_NATIVE = (
    "adaptive_max_pool1d",
    "affine_grid_generator",
    "alpha_dropout",
    "alpha_dropout_",
    "binary_cross_entropy_with_logits",
    "convolution",
    "cosine_embedding_loss",
    "ctc_loss",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "hinge_embedding_loss",
    "instance_norm",
    "margin_ranking_loss",
    "native_batch_norm",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "poisson_nll_loss",
    "rrelu",
    "triplet_margin_loss",
)
_IN_PLACE = ("celu_", "relu_", "rrelu_", "selu_", "threshold_")
_WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
_STORAGES = (
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
    "TypedStorage",
    "UntypedStorage",
    "is_storage",
)
_MACHINE = (
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
)
_DISTRIBUTIONS = ("_sample_dirichlet", "_standard_gamma", "binomial", "poisson")
_ANOMALY = ("is_anomaly_enabled", "is_anomaly_check_nan_enabled", "set_anomaly_enabled")
_SPARSE = (
    "sparse_coo_tensor",
    "sparse_compressed_tensor",
    "sparse_csr_tensor",
    "sparse_csc_tensor",
    "sparse_bsr_tensor",
    "sparse_bsc_tensor",
    "hspmm",
    "smm",
    "sspaddmm",
)
_LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged")
_AUTOCAST = (
    "autocast",
    "is_autocast_enabled",
    "is_autocast_cpu_enabled",
    "get_autocast_dtype",
    "get_autocast_cpu_dtype",
    "set_autocast_enabled",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_cpu_dtype",
    "is_autocast_cache_enabled",
    "set_autocast_cache_enabled",
    "clear_autocast_cache",
)
_SAME = {"dsmm": "mm", "spmm": "mm", "hsmm": "hspmm", "saddmm": "sspaddmm"}  # other names
_NAMES = {
    **dict.fromkeys(_SPARSE, "sparse"),
    **dict.fromkeys(_LAYOUTS, "_tensor.device"),
    **dict.fromkeys(_AUTOCAST, "amp.autocast_mode"),
    "GradScaler": "amp",
    "_assert": "fx.asserts",
    "load": "serialization",
    "save": "serialization",
    "memory_summary": "profiler.memory",
    "set_printoptions": "_tensor.printing",
    "layout": "_tensor.device",
    "memory_format": "_tensor.device",
    "vmap": "func",
    **dict.fromkeys(_REMOVED, "removed"),
    **dict.fromkeys(_WINDOWS, "signal.windows"),
    **dict.fromkeys(_NATIVE, "nn.native"),
    **dict.fromkeys(_IN_PLACE, "nn.functional"),
    "compile": "compiler",
    "cond": "control_flow",
    "while_loop": "control_flow",
    **dict.fromkeys(_ANOMALY, "autograd.anomaly"),
    **dict.fromkeys(_LEGACY, "_tensor.legacy"),
    **dict.fromkeys(_MACHINE, "settings"),
    **dict.fromkeys(_DISTRIBUTIONS, "random.distributions"),
    **dict.fromkeys(_STORAGES, "_tensor.storage"),
    **dict.fromkeys((*_DRAWS, *_SETTINGS), "random"),
}


def __dir__() -> list[str]:
    load_all()
    return sorted({*vars(sys.modules[__package__]), *FUNCTIONS, *_MODULES, *_NAMES, *_SAME})


# names of NumPy's for what PyTorch calls otherwise
_TRANSLATIONS = {
    "array": "tensor",
    "astype": "Tensor.to",
    "copy": "clone",
    "expand_dims": "unsqueeze",
    "invert": "bitwise_not",
    "mod": "remainder",
    "ndarray": "Tensor",
    "power": "pow",
    "repeat": "repeat_interleave",
    "rint": "round",
}


# names that JAX and HIPS autograd have at the top
_TRANSFORMS = ("grad", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp")


def _missing(name: str) -> AttributeError:
    hints = []
    if name in _TRANSLATIONS:
        hints.append(f"PyTorch's name for NumPy's is {_TRANSLATIONS[name]}")
    elif name in _TRANSFORMS:
        hints.append(f"the transform of functions is dualtape.func.{name}")
    elif hasattr(np, name):
        hints.append(f"dualtape.numpy.{name} is NumPy's, which takes tensors")
    hints.append("docs/left-out.md lists what of PyTorch's is not here, and why")
    return errors.missing("dualtape", name, __dir__(), *hints)


def __getattr__(name: str) -> Any:
    package = sys.modules[__package__]
    value: Any
    if name in _MODULES:
        value = import_module(f".{name}", __package__)
    elif name in _NAMES:
        value = getattr(import_module(f".{_NAMES[name]}", __package__), name)
        if name in _DRAWS or name in _DISTRIBUTIONS or name in _SPARSE[:6]:
            value = overridable(value, leaf=True)
    elif name in _SAME:
        value = getattr(package, _SAME[name])
    elif name.startswith("_foreach_") and (value := foreach(name)) is not None:
        pass
    elif name.startswith("_"):
        raise AttributeError(f"module 'dualtape' has no attribute {name!r}")
    else:
        if name not in FUNCTIONS:
            load(name)
        if name not in FUNCTIONS:
            raise _missing(name)
        value = FUNCTIONS[name]
    setattr(package, name, value)
    return value
