"""The generator: an op's functions, written as Python source from its row of the table when they are first called.

``source`` knows how code is written, and is the only place that knows the slots of a tensor, a node and a view, and
what a node saves. ``call`` writes the function that users call, ``inplace`` its in-place form, ``vjp`` the way back
through a node, ``jvp`` the way of a tangent. What they write holds the way that nearly every call takes, and hands
everything else to :mod:`dualtape.ops.dispatch`, which alone words errors. The text is in ``linecache``: debuggers step
through it.
"""
