"""The generator: a source of random numbers with a state that can be seeded, saved and restored.

The streams are NumPy's (PCG64), not PyTorch's: a seed gives reproducible numbers, but not PyTorch's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import modes
from .._tensor.device import device as Device
from .._tensor.tensor import Tensor, wrap

# A PCG64 state as 64-bit words: state (2), increment (2), the spare 32 bits (1).
_WORDS = 5


def _not_traced(what: str) -> None:
    """Stop tracing a program: a replay would not repeat this."""
    tracing = modes.current().tracing
    if tracing is not None:
        tracing.tape.fail(f"it {what} a generator")


class Generator:
    """A source of random numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> g = dt.Generator().manual_seed(3)
    >>> a = dt.rand(2, generator=g); g.manual_seed(3); bool((dt.rand(2, generator=g) == a).all())
    <dualtape.Generator seed=3>
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = Device("cpu" if device is None else device)
        self._bits: Any = None
        self._seed = 67280421310721

    @property
    def _rng(self) -> np.random.Generator:
        """NumPy's generator, made on first use because importing ``numpy.random`` takes time."""
        bits = self._bits
        if bits is None:
            made = np.random.Generator(np.random.PCG64(self._seed))
            # once more: another thread may have made one, and none comes between here and the next line
            bits = self._bits
            if bits is None:
                bits = self._bits = made
        return bits

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of ``seed``.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.Generator().manual_seed(3)
        <dualtape.Generator seed=3>
        """
        _not_traced("seeds")
        if not isinstance(seed, (int, np.integer)):
            raise TypeError(f"manual_seed expected an int, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long: the seed {seed} does not fit in 64 bits")
        self._seed = int(seed) % 2**64
        self._bits = None
        return self

    def seed(self) -> int:
        """Start a stream from the operating system's randomness, and return its seed.

        Examples
        --------
        >>> import dualtape as dt
        >>> g = dt.Generator()
        >>> g.seed() == g.initial_seed()
        True
        """
        import secrets

        self.manual_seed(secrets.randbits(63))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed of the stream.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.Generator().manual_seed(3).initial_seed()
        3
        """
        _not_traced("looks at the seed of")
        return self._seed

    def get_state(self) -> Tensor:
        """Return the state as a tensor of bytes.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.Generator().get_state().dtype
        dualtape.uint8
        """
        state = self._rng.bit_generator.state
        inner = state["state"]
        low = 2**64 - 1
        words = [inner["state"] & low, inner["state"] >> 64, inner["inc"] & low, inner["inc"] >> 64]
        words.append(state["has_uint32"] << 32 | state["uinteger"])
        found = np.array([*words, self._seed], np.uint64).view(np.uint8).copy()
        tracing = modes.current().tracing
        return wrap(found if tracing is None else tracing.state_of(self, found))

    def _state_array(self) -> np.ndarray:
        return self.get_state()._array

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state returned by :meth:`get_state`.

        Examples
        --------
        >>> import dualtape as dt
        >>> g = dt.Generator()
        >>> state = g.get_state(); a = dt.rand(2, generator=g)
        >>> bool((dt.rand(2, generator=g.set_state(state)) == a).all())
        True
        """
        tracing = modes.current().tracing
        if tracing is not None and isinstance(new_state, Tensor):
            new_state = wrap(tracing.state_is_set(self, new_state._array))
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            raise TypeError("expected a ByteTensor, the result of get_state(): the state is a tensor of dtype uint8")
        if new_state._array.size != 8 * (_WORDS + 1):
            raise RuntimeError(
                f"RNG state is wrong size: expected {8 * (_WORDS + 1)} bytes, got {new_state._array.size}"
            )
        words = [int(w) for w in np.ascontiguousarray(new_state._array).view(np.uint64)]
        self._seed = words[5]
        self._bits = None
        self._rng.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": words[0] | words[1] << 64, "inc": words[2] | words[3] << 64},
            "has_uint32": words[4] >> 32,
            "uinteger": words[4] & (2**32 - 1),
        }
        return self

    def _set_state_array(self, state: np.ndarray) -> None:
        self.set_state(wrap(state))

    def clone_state(self) -> Generator:
        """Return another generator in the same state.

        Examples
        --------
        >>> import dualtape as dt
        >>> g = dt.Generator()
        >>> bool((dt.rand(2, generator=g.clone_state()) == dt.rand(2, generator=g)).all())
        True
        """
        return Generator(self.device).set_state(self.get_state())

    def __repr__(self) -> str:
        return f"<dualtape.Generator seed={self._seed}>"


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator.

    Examples
    --------
    >>> import dualtape as dt
    >>> _ = dt.manual_seed(0); a = dt.rand(3); _ = dt.manual_seed(0); bool((dt.rand(3) == a).all())
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system's randomness.

    Examples
    --------
    >>> import dualtape as dt
    >>> state = dt.get_rng_state()
    >>> dt.seed() == dt.initial_seed()
    True
    >>> dt.set_rng_state(state)
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed of the default generator.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.manual_seed(5).initial_seed() == dt.initial_seed()
    True
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default generator.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_rng_state().dtype
    dualtape.uint8
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator.

    Examples
    --------
    >>> import dualtape as dt
    >>> state = dt.get_rng_state(); a = dt.rand(2); dt.set_rng_state(state); bool((dt.rand(2) == a).all())
    True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **ignored: Any) -> Iterator[None]:
    """Context after which the default generator continues as if nothing was drawn inside.

    Examples
    --------
    >>> import dualtape as dt
    >>> state = dt.get_rng_state()
    >>> with dt.random.fork_rng():
    ...     x = dt.rand(3)
    >>> bool((dt.get_rng_state() == state).all())
    True
    """
    # What draws is exchanged, not its state: an interrupt comes before two assignments or after them.
    now = default_generator._rng, default_generator._seed
    # a program that is replayed knows of states alone
    state = default_generator.get_state() if enabled and modes.current().tracing is not None else None
    try:
        if enabled:
            default_generator.set_state(default_generator.get_state())
        yield
    finally:
        if state is not None:
            default_generator.set_state(state)
        elif enabled:
            default_generator._bits, default_generator._seed = now


def source(generator: Generator | None) -> np.random.Generator:
    """Return NumPy's generator behind ``generator``, or behind the default one."""
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be a dualtape.Generator, got {type(generator).__name__}")
    chosen = default_generator if generator is None else generator
    mode = modes.current()
    rng = chosen._rng if mode.tracing is None else mode.tracing.source(chosen)
    if mode.batches:
        from .batches import Source

        return Source(rng)  # type: ignore[return-value]
    return rng
