"""``dualtape.random``: generators and random functions under PyTorch's names."""

from __future__ import annotations

from .._listing import listing
from .draws import bernoulli, multinomial, normal, rand, rand_like, randint, randint_like, randn, randn_like, randperm
from .generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "Generator",
    "bernoulli",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]

__dir__ = listing(__name__)
