"""``torch.fx.experimental``: ``proxy_tensor.make_fx``."""

from . import proxy_tensor as proxy_tensor
