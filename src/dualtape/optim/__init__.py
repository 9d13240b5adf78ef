"""``dualtape.optim``: optimizers, learning-rate schedules, averages of weights."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import errors
from .._listing import listing
from . import lr_scheduler as lr_scheduler
from ._adafactor import Adafactor as Adafactor
from ._muon import Muon as Muon
from ._stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
from .adadelta import Adadelta as Adadelta
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adamax import Adamax as Adamax
from .adamw import AdamW as AdamW
from .asgd import ASGD as ASGD
from .lbfgs import LBFGS as LBFGS
from .nadam import NAdam as NAdam
from .optimizer import Optimizer as Optimizer
from .radam import RAdam as RAdam
from .rmsprop import RMSprop as RMSprop
from .rprop import Rprop as Rprop
from .sgd import SGD as SGD
from .sparse_adam import SparseAdam as SparseAdam

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]


def __getattr__(name: str) -> Any:
    if name == "swa_utils":  # which needs the modules of nn
        return import_module(".swa_utils", __name__)
    raise errors.missing(__name__, name, globals())


__dir__ = listing(__name__)
