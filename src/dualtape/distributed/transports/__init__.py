"""Transports between processes: MPI (:mod:`.mpi`), NCCL (:mod:`.nccl`), or none, in a world of one (:mod:`.alone`).

All have the same methods: they take contiguous arrays of their own kind, start an operation, and return a request that
is asked ``Test()`` until it is done. Waiting and time limits are handled elsewhere.
"""
