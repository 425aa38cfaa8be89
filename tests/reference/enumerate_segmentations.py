"""Joint units the slow way: every segmentation of a word and its phones, and every pronunciation of a few phones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def segmentations(n_letters: int, n_phones: int, steps, i: int = 0, j: int = 0) -> Iterator[list[tuple[int, int]]]:
    """Yield every way from (i, j) to the end, as (step, node that it leads to)."""
    if (i, j) == (n_letters, n_phones):
        yield []
        return
    for s, (a, b) in enumerate(steps):
        if i + a <= n_letters and j + b <= n_phones:
            node = (i + a) * (n_phones + 1) + j + b
            for rest in segmentations(n_letters, n_phones, steps, i + a, j + b):
                yield [(s, node), *rest]


def log_of(sequence, probability) -> float:
    """Return the log-probability of units, and the end, one after the other; `probability(u, units before it)`."""
    before, total = (0,), 0.0
    for unit in (*sequence, 0):
        p = probability(unit, before)
        total += np.log(p) if p > 0 else -np.inf
        before = (*before, unit)
    return total


def every_way(data, b, probability) -> list[tuple[tuple[int, ...], float]]:
    """Return all segmentations of pair b that its units allow, each as its units with its log-probability."""
    n_letters, n_phones = data.sizes[b].tolist()
    found = []
    for way in segmentations(n_letters, n_phones, data.steps.tolist()):
        units = tuple(int(data.units[data.firsts[b] + node, s]) for s, node in way)
        if all(unit >= 0 for unit in units):
            found.append((units, log_of(units, probability)))
    return found


def every_pronunciation(letters, units, probability, inserted: int) -> dict[tuple[str, ...], float]:
    """Return p(letters, phones) of every sequence of phones that units make.

    `units` has the letters and phones of each unit, the end first; at most `inserted` in a row have no letters.
    """
    found: dict[tuple[str, ...], float] = {}
    for way in _ways(letters, units, inserted, inserted):
        said = tuple(y for u in way for y in units[u][1])
        found[said] = found.get(said, 0.0) + np.exp(log_of(way, probability))
    return found


def _ways(letters, units, inserted: int, left: int) -> Iterator[list[int]]:
    """Yield every sequence of units that makes some letters; `left` may be inserted before the next letter."""
    if not letters:
        yield []
    for u, (own, _) in enumerate(units[1:], start=1):
        if letters.startswith(own) and (own or left):
            for rest in _ways(letters[len(own) :], units, inserted, inserted if own else left - 1):
                yield [u, *rest]
