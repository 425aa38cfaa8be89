"""Random seeds: read from `random_state`, and derived by key, so that the same seed gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.errors import ParameterError


def seed_of(random_state: Any) -> np.random.SeedSequence:
    """Return a seed from None, a number, a RandomState or a Generator; the latter two move on."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**31, size=4).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**31 - 1, size=4).tolist())
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise ParameterError(f"random_state={random_state!r} is not None, a whole number of at least 0 or a generator.")


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator from anything scikit-learn accepts as random_state."""
    return np.random.default_rng(seed_of(random_state))


def child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return the seed of `key` under `seed`: the same whatever was spawned before."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))
