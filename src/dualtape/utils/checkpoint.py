"""``dualtape.utils.checkpoint``, where PyTorch has it."""

from __future__ import annotations

from .._listing import listing
from ..autograd.checkpoint import CheckpointError as CheckpointError
from ..autograd.checkpoint import GraphExecGroup as GraphExecGroup
from ..autograd.checkpoint import checkpoint as checkpoint
from ..autograd.checkpoint import checkpoint_sequential as checkpoint_sequential
from ..autograd.checkpoint import noop_context_fn as noop_context_fn
from ..autograd.checkpoint import set_checkpoint_debug_enabled as set_checkpoint_debug_enabled
from ..autograd.checkpoint import set_checkpoint_early_stop as set_checkpoint_early_stop
from ..autograd.selective import CheckpointPolicy as CheckpointPolicy
from ..autograd.selective import SelectiveCheckpointContext as SelectiveCheckpointContext
from ..autograd.selective import create_selective_checkpoint_contexts as create_selective_checkpoint_contexts

__dir__ = listing(__name__)
