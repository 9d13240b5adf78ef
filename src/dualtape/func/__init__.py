"""``dualtape.func``: functions of functions. They nest in any order, and take NumPy arrays as well as tensors."""

from .functional_call import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .functionalize import functionalize
from .jacobians import hessian, jacfwd, jacrev
from .patterns import rearrange
from .sparse import hessian_pattern, jacobian_pattern, sparse_hessian, sparse_jacobian
from .transforms import grad, grad_and_value, jvp, linearize, value_and_grad, vjp
from .vmap import chunk_vmap, debug_unwrap, vmap

__all__ = [
    "chunk_vmap", "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian",
    "hessian_pattern", "jacfwd", "jacobian_pattern", "jacrev", "jvp", "linearize", "rearrange",
    "replace_all_batch_norm_modules_", "sparse_hessian", "sparse_jacobian", "stack_module_state", "value_and_grad",
    "vjp", "vmap",
]  # fmt: skip
