"""``dualtape.profiler``: times of ops and nodes, under PyTorch's names."""

from __future__ import annotations

from .._listing import listing
from .events import DeviceType as DeviceType
from .recorder import record_function as record_function
from .session import ProfilerAction as ProfilerAction
from .session import ProfilerActivity as ProfilerActivity
from .session import kineto_available as kineto_available
from .session import profile as profile
from .session import schedule as schedule
from .session import supported_activities as supported_activities
from .traces import tensorboard_trace_handler as tensorboard_trace_handler

__dir__ = listing(__name__)
