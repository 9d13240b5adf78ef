"""``dualtape profile``: run a script under the profiler."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import dualtape as dt


def profiled(script: Path, arguments: list[str], out: Path) -> Any:
    """Run a script as ``python`` does, and write its trace and a picture; return the profile, with the script's
    exception.
    """
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    failure: BaseException | None = None
    with dt.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as error:
            failure = error if error.code else None
        except BaseException as error:
            failure = error
    out.mkdir(parents=True, exist_ok=True)
    profile.export_chrome_trace(out / "trace.json")
    (out / "flames.svg").write_text(profile.flame_svg())
    return profile, failure


def averages(profile: Any, rows: int, out: Path) -> dict[str, Any]:
    """Return the table of a profile as plain values: times in microseconds, memory in bytes; and the files."""
    found = sorted(profile.key_averages(), key=lambda event: -event.self_cpu_time_total)[:rows]
    fields = ("count", "self_cpu_time_total", "cpu_time_total", "self_cpu_memory_usage", "cpu_memory_usage")
    return {
        "events": [{"name": event.key, **{field: getattr(event, field) for field in fields}} for event in found],
        "self_cpu_time_total": profile.key_averages().self_cpu_time_total,
        "trace": str(out / "trace.json"),
        "flames": str(out / "flames.svg"),
    }
