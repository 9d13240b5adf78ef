"""Measurements: the same programs on dualtape and on its peers, side by side.

`python -m benchmarks` runs the workloads, `python -m benchmarks.scaling` the long graphs and the memory, `python -m
benchmarks.footprint` the import and the installed size. One thread unless `BENCH_THREADS` (or `--threads`) says
otherwise: the question is what a library costs, not how many cores there are.
"""

import os

THREADS = int(os.environ.get("BENCH_THREADS", "1"))

# The libraries read these when they are loaded, so they are set before any of them is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = str(THREADS)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if THREADS == 1:
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
