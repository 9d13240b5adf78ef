"""Pipelines: layers of a model on different processes, and batches split into microbatches that pass through them."""

from __future__ import annotations

from .schedules import Schedule1F1B, ScheduleGPipe
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe"]
