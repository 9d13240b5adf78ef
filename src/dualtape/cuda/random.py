"""Random numbers of GPUs: they are drawn on the CPU, by the one generator, so that they do not depend on the device."""

from __future__ import annotations

from typing import Any

from .. import random
from .._tensor.tensor import Tensor
from .devices import device_count


def manual_seed(seed: int) -> None:
    """Restart the random stream of every device.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.manual_seed(0)
    """
    if device_count():
        random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Begin the stream of random numbers at a random place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.seed()
    """
    if device_count():
        random.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed of the stream.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.initial_seed() == dt.initial_seed()
    True
    """
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Where the stream is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.get_rng_state().dtype
    dualtape.uint8
    """
    return random.get_rng_state()


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Go to a place of the stream.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.set_rng_state(dt.cuda.get_rng_state())
    """
    random.set_rng_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """Where the stream is, for each GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> len(dt.cuda.get_rng_state_all()) == dt.cuda.device_count()
    True
    """
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Go to a place of the stream.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.set_rng_state_all(dt.cuda.get_rng_state_all())
    """
    for state in new_states:
        random.set_rng_state(state)
