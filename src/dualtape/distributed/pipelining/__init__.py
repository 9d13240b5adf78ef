"""Layers of a model on different processes, and batches cut into pieces that follow one another through them."""

from __future__ import annotations

from .schedules import Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe"]
