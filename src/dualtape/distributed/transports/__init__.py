"""What carries values between processes: MPI (:mod:`mpi`), NCCL (:mod:`nccl`), or nothing, in a world of
one (:mod:`alone`).

All have the same methods: they take contiguous arrays of their own kind, start, and return a request that is asked
``Test()`` until it is done. Who waits, and for how long, is said elsewhere.
"""
