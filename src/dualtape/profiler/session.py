"""``profile``: record a part of a program, step by step if a schedule says so."""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from .. import modes
from ..overrides.active_overrides import profiling
from .events import EventList
from .recorder import Recorder, record_function
from .traces import export_chrome_trace, export_stacks, flame_svg


class ProfilerActivity(enum.Enum):
    """The kinds of activity that are recorded.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """The action of a profile in a step.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.profiler.ProfilerAction.RECORD.value
    2
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Return False: profiles are taken in Python, and not by PyTorch's library for them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.profiler.kineto_available()
    False
    """
    return False


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded: the CPU. Work on a GPU appears as the time to submit it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function that says what to do in which step: skip `skip_first`, then repeat `repeat` times (0: for ever) wait,
    warm up, record. `skip_first_wait`: the first repetition does not wait.

    Examples
    --------
    >>> import dualtape as dt
    >>> steps = dt.profiler.schedule(wait=1, warmup=0, active=2, repeat=1)
    >>> [steps(k).name for k in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        raise AssertionError("schedule: expected numbers of steps that are not negative, and some that are active")
    # Where each of the actions ends within a repetition, in their order.
    ends = list(accumulate((wait, warmup, active - 1, 1)))

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"schedule: expected the number of a step, got {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        repetition, within = divmod(step - skip_first + (wait if skip_first_wait else 0), ends[-1])
        if repeat and repetition >= repeat:
            return ProfilerAction.NONE
        return list(ProfilerAction)[bisect_right(ends, within)]

    return action


class profile:
    """Record the events of a program: a context, or ``start()`` and ``stop()``.

    Parameters
    ----------
    activities : iterable of ProfilerActivity, optional
        The CPU, in any case.
    schedule : callable, optional
        What to do in which step (:func:`schedule`); the program calls :meth:`step` after each.
    on_trace_ready : callable, optional
        Called with the profile when something has been recorded.
    record_shapes, profile_memory, with_stack : bool
        Whether shapes of arguments, bytes of results, and lines of the program are noted.
    with_modules : bool
        Whether calls of modules are events, around what happens in them.
    with_flops : bool
        Not counted: refused.
    acc_events : bool
        Whether events of earlier rounds of a schedule are kept.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(3, requires_grad=True)
    >>> with dt.profiler.profile(record_shapes=True) as p:
    ...     (x * 2).sum().backward()
    >>> [event.name for event in p.events()]
    ['aten::mul', 'aten::sum', 'SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        if with_flops:
            raise NotImplementedError("profile: with_flops is not there; record_shapes has the sizes")
        self.activities = {ProfilerActivity.CPU} if activities is None else set(activities)
        if not self.activities or not all(isinstance(a, ProfilerActivity) for a in self.activities):
            raise TypeError(f"profile: expected activities out of {list(ProfilerActivity)}, got {activities!r}")
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self._options = (record_shapes, profile_memory, with_stack, with_modules)
        self._memory = profile_memory
        self._keep = acc_events
        self._recorder: Recorder | None = None
        self._recorded: list = []
        self._before: Any = None
        self._step: Any = None
        self.step_num = 0
        self.current_action = ProfilerAction.NONE

    # --- from when to when --------------------------------------------------------------------------

    def __enter__(self) -> profile:
        try:
            self.start()
        except BaseException:  # an interrupt: nobody will leave it
            self._switch(None)
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self.stop()
        except BaseException:
            self._switch(None)
            raise

    def start(self) -> None:
        """Begin."""
        self._go_on(self.schedule(self.step_num) if self.schedule else ProfilerAction.RECORD_AND_SAVE)

    def step(self) -> None:
        """End a step of the program, and act as the schedule says for the next."""
        if self.schedule is None:
            return
        was = self.current_action
        self._end_step()
        self.step_num += 1
        following = self.schedule(self.step_num)
        if was is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
        self._go_on(following)

    def stop(self) -> None:
        """End the profile; do nothing if it has ended."""
        self._end_step()
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._finish()
        self._switch(None)
        self.current_action = ProfilerAction.NONE

    def _go_on(self, action: ProfilerAction) -> None:
        self.current_action = action
        recording = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and self._recorder is None:
            self._recorder = Recorder(*self._options)
        self._switch(self._recorder if recording else None)
        if recording and self.schedule is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _switch(self, recorder: Recorder | None) -> None:
        """Set the recorder in the modes, or restore the previous value; each mode restores its own field only."""
        mode = modes.current()
        if recorder is not None and mode.profiler is not recorder:
            self._before = (mode.profiler,)
            profiling.append(recorder)
            modes._set(mode.replace(profiler=recorder))
        elif recorder is None and self._before is not None:
            modes._set(mode.replace(profiler=self._before[0]))
            self._before = None
            profiling.pop()

    def _finish(self) -> None:
        """Make the recorded events available."""
        self._switch(None)
        if self._recorder is not None:
            self._recorded = [*(self._recorded if self._keep else ()), *self._recorder.events]
            self._recorder = None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # --- what came of it ----------------------------------------------------------------------------

    def events(self) -> EventList:
        """Return the recorded events in order."""
        return EventList(self._recorded, self._memory)

    @property
    def function_events(self) -> EventList:
        """Return the recorded events in order."""
        return self.events()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Averages over events of one name: print them with ``.table(sort_by="self_cpu_time_total")``."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events in the format of ``chrome://tracing`` and Perfetto."""
        export_chrome_trace(self._recorded, path)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write each stack with its time, in the format of flame-graph tools; needs ``with_stack``."""
        export_stacks(self._recorded, path, metric)

    def flame_svg(self) -> str:
        """Return a flame graph by source line (with ``with_stack``), else by nesting of events.

        Returns
        -------
        str
            An SVG document.
        """
        return flame_svg(self._recorded)

    def __str__(self) -> str:
        return self.key_averages().table(sort_by="self_cpu_time_total", row_limit=20)

    def _repr_svg_(self) -> str:
        return self.flame_svg()
