"""Run the checks of some modules on every rank, and write what came of them to a file: name -> "" or tracebacks."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from datetime import timedelta

import dualtape.distributed as dist

LIMIT = timedelta(seconds=20)


def checks(module: str) -> list[str]:
    return [name for name in vars(importlib.import_module(module)) if name.startswith("check_")]


def main(path: str, modules: list[str]) -> None:
    dist.init_process_group(timeout=LIMIT)
    rank, size = dist.get_rank(), dist.get_world_size()
    results = {}
    for module in modules:
        for name in checks(module):
            try:
                getattr(importlib.import_module(module), name)(rank, size)
                found = ""
            except BaseException:
                found = f"rank {rank}: {traceback.format_exc()}"
            answers: list = [None] * size
            dist.all_gather_object(answers, found)
            results[f"{module}.{name}"] = "\n".join(filter(None, answers))
            if rank == 0:
                with open(path, "w") as file:
                    json.dump(results, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
