"""``dualtape.cuda``: questions about GPUs, answered by CuPy where it is installed, and by False and 0 where not.

What needs a GPU raises without one. Streams and events are CuPy's; memory is that of CuPy's pool.
"""

from __future__ import annotations

from .._listing import listing
from .._tensor import legacy as _legacy
from . import amp as amp
from .devices import can_device_access_peer as can_device_access_peer
from .devices import current_device as current_device
from .devices import device as device
from .devices import device_count as device_count
from .devices import device_of as device_of
from .devices import get_arch_list as get_arch_list
from .devices import get_device_capability as get_device_capability
from .devices import get_device_name as get_device_name
from .devices import get_device_properties as get_device_properties
from .devices import init as init
from .devices import is_available as is_available
from .devices import is_bf16_supported as is_bf16_supported
from .devices import is_initialized as is_initialized
from .devices import set_device as set_device
from .devices import synchronize as synchronize
from .memory import OutOfMemoryError as OutOfMemoryError
from .memory import empty_cache as empty_cache
from .memory import max_memory_allocated as max_memory_allocated
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_allocated as memory_allocated
from .memory import memory_reserved as memory_reserved
from .memory import memory_stats as memory_stats
from .memory import reset_peak_memory_stats as reset_peak_memory_stats
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .streams import Event as Event
from .streams import Stream as Stream
from .streams import current_stream as current_stream
from .streams import default_stream as default_stream
from .streams import is_current_stream_capturing as is_current_stream_capturing
from .streams import stream as stream

globals().update(
    _legacy.types_of("cuda", lambda dtype, *data: _legacy._made(data, dtype.numpy).to("cuda"), lambda t: t.is_cuda)
)

__dir__ = listing(__name__)
