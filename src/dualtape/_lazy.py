"""The parts of the package that load on first use: ``dualtape.nn``, ``dualtape.linalg``, the ops read on demand."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .ops import FUNCTIONS, load, load_all
from .overrides.watching import overridable

_MODULES = (
    "random", "nn", "linalg", "special", "fft", "signal", "data", "tour", "draw", "utils", "overrides", "sparse",
    "nested", "amp", "cpu", "_C", "_functorch", "func", "library", "compiler",
)  # fmt: skip
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
    "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout", "alpha_dropout_",
    "binary_cross_entropy_with_logits", "convolution", "cosine_embedding_loss", "ctc_loss", "dropout_",
    "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout_", "hinge_embedding_loss", "instance_norm",
    "margin_ranking_loss", "native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm",
    "poisson_nll_loss", "rrelu", "triplet_margin_loss",
)  # fmt: skip
_IN_PLACE = ("celu_", "relu_", "rrelu_", "selu_", "threshold_")
_WINDOWS = ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
_ANOMALY = ("is_anomaly_enabled", "is_anomaly_check_nan_enabled")
_SPARSE = (
    "sparse_coo_tensor", "sparse_compressed_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
    "sparse_bsc_tensor", "hspmm", "smm", "sspaddmm",
)  # fmt: skip
_LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged")
_AUTOCAST = (
    "autocast", "is_autocast_enabled", "is_autocast_cpu_enabled", "get_autocast_dtype", "get_autocast_cpu_dtype",
    "set_autocast_enabled", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_cpu_dtype",
    "is_autocast_cache_enabled", "set_autocast_cache_enabled", "clear_autocast_cache",
)  # fmt: skip
_SAME = {"dsmm": "mm", "spmm": "mm", "hsmm": "hspmm", "saddmm": "sspaddmm"}  # other names
_NAMES = {
    **dict.fromkeys(_SPARSE, "sparse"),
    **dict.fromkeys(_LAYOUTS, "_tensor.device"),
    **dict.fromkeys(_AUTOCAST, "amp.autocast_mode"),
    "GradScaler": "amp",
    "set_printoptions": "_tensor.printing",
    "vmap": "func",
    **dict.fromkeys(_REMOVED, "removed"),
    **dict.fromkeys(_WINDOWS, "signal.windows"),
    **dict.fromkeys(_NATIVE, "nn.native"),
    **dict.fromkeys(_IN_PLACE, "nn.functional"),
    "compile": "compiler",
    **dict.fromkeys(_ANOMALY, "autograd.anomaly"),
    **dict.fromkeys(_LEGACY, "_tensor.legacy"),
    **dict.fromkeys((*_DRAWS, *_SETTINGS), "random"),
}


def __dir__() -> list[str]:
    load_all()
    return sorted({*vars(sys.modules[__package__]), *FUNCTIONS, *_MODULES, *_NAMES, *_SAME})


def __getattr__(name: str) -> Any:
    package = sys.modules[__package__]
    value: Any
    if name in _MODULES:
        value = import_module(f".{name}", __package__)
    elif name in _NAMES:
        value = getattr(import_module(f".{_NAMES[name]}", __package__), name)
        if name in _DRAWS or name in _SPARSE[:6]:
            value = overridable(value, leaf=True)
    elif name in _SAME:
        value = getattr(package, _SAME[name])
    elif name.startswith("_"):
        raise AttributeError(f"module 'dualtape' has no attribute {name!r}")
    else:
        if name not in FUNCTIONS:
            load(name)
        if name not in FUNCTIONS:
            raise AttributeError(f"module 'dualtape' has no attribute {name!r}")
        value = FUNCTIONS[name]
    setattr(package, name, value)
    return value
