"""``dualtape profile``: a script, run and watched."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import dualtape as dt


def profiled(script: Path, arguments: list[str], out: Path) -> Any:
    """Run a script as ``python`` does, and write its trace and a picture; the profile, with what the script raised."""
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
