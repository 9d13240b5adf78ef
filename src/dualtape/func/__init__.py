"""``dualtape.func``: transforms of functions. They nest in any order, and take NumPy arrays as well as tensors."""

from typing import TYPE_CHECKING  # by this name alone do checkers know it

from .. import errors as _errors
from .._listing import listing
from .functional_call import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .functionalize import functionalize
from .jacobians import hessian, jacfwd, jacrev
from .patterns import rearrange
from .sparse import hessian_pattern, jacobian_pattern, sparse_hessian, sparse_jacobian
from .transforms import grad, grad_and_value, jvp, linearize, value_and_grad, vjp
from .vmap import chunk_vmap, debug_unwrap, vmap

__all__ = [
    "chunk_vmap",
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "hessian_pattern",
    "jacfwd",
    "jacobian_pattern",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "sparse_hessian",
    "sparse_jacobian",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]

_ELSEWHERE = {  # what JAX and HIPS autograd have beside their transforms
    "jit": "dualtape.compile",
    "checkpoint": "dualtape.utils.checkpoint.checkpoint",
    "custom_vjp": "dualtape.autograd.Function, with backward",
    "custom_jvp": "dualtape.autograd.Function, with jvp",
    "jacobian": "jacrev, row by row, or jacfwd, column by column",
    "stop_gradient": "x.detach()",
    "elementwise_grad": "dualtape.hips.elementwise_grad, or vmap(grad(f))",
    "pmap": "jacrev, jacfwd and vmap take mesh=, a DeviceMesh of processes",
    "tree_map": "dualtape.utils._pytree.tree_map",
}

if not TYPE_CHECKING:  # checkers would believe every name

    def __getattr__(name):
        here = [f"here it is {_ELSEWHERE[name]}"] if name in _ELSEWHERE else []
        raise _errors.missing(__name__, name, __all__, *here)


__dir__ = listing(__name__)
