"""``dualtape.optim.lr_scheduler``: learning-rate schedules."""

from __future__ import annotations

from ..._listing import listing
from .base import LRScheduler as LRScheduler
from .base import _LRScheduler as _LRScheduler
from .combined import ChainedScheduler as ChainedScheduler
from .combined import SequentialLR as SequentialLR
from .cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cycles import CyclicLR as CyclicLR
from .cycles import OneCycleLR as OneCycleLR
from .factors import ConstantLR as ConstantLR
from .factors import CosineAnnealingLR as CosineAnnealingLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LambdaLR as LambdaLR
from .factors import LinearLR as LinearLR
from .factors import MultiplicativeLR as MultiplicativeLR
from .factors import MultiStepLR as MultiStepLR
from .factors import PolynomialLR as PolynomialLR
from .factors import StepLR as StepLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

__dir__ = listing(__name__)
