"""Measurements: the same programs on dualtape and on PyTorch, side by side.

`python -m benchmarks` runs the workloads, `python -m benchmarks.import_time` measures the import. Everything
runs on one thread: the question is what a library costs on small problems, not how many cores there are.
"""

import os

# The libraries read these when they are loaded, so they are set before NumPy or PyTorch is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
