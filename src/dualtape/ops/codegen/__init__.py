"""The generator: an op's functions, written as Python source from its row when they are first called.

``source`` writes code, and is the only module that names the slots of a tensor, a node and a view. ``call`` writes the
function that users call, ``inplace`` its in-place form, ``vjp`` the backward of a node, ``jvp`` the propagation of a
tangent. Generated functions are fast paths; in any unusual case they call :mod:`dualtape.ops.dispatch`, which alone
builds error messages. The source is in ``linecache``, so that debuggers step through it.
"""
