"""Transcripts the slow way: every choice of words, pronunciations, pauses and fillers, and every time of each state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np


class Way(NamedTuple):
    """One way in which frames come about: log of its joint, word of each frame (-1: none), fillers, words spoken."""

    log_joint: float
    word: tuple[int, ...]
    filler: tuple[bool, ...]
    spoken: frozenset[int]


class Spoken(NamedTuple):
    """What is known of a transcript.

    `ways` are the pronunciations of each word, as units, with their probabilities. `pause` has the probability of a
    pause at the ends and of one between words; `left_out` and `inserted` are as in `align`. `stay` is that of each
    state, and at the end that of the filler.
    """

    ways: list[list[tuple[tuple[int, ...], float]]]
    silence: int
    n_states: int
    pause: tuple[float, float]
    left_out: float
    inserted: float
    stay: np.ndarray


def every_way(said: Spoken, scores: np.ndarray) -> Iterator[Way]:
    """Yield all ways; the last column of `scores` is the filler's."""
    filler = scores.shape[1] - 1
    for units, log_prior in _sequences(said, 0, filler):
        states = [
            (state, word)
            for unit, word in units
            for state in (
                [filler] if unit == filler else range(unit * said.n_states, unit * said.n_states + said.n_states)
            )
        ]
        for cuts in combinations(range(1, len(scores)), len(states) - 1) if states else ():
            lengths = np.diff([0, *cuts, len(scores)])
            at = np.repeat([state for state, _ in states], lengths)
            stays = sum((n - 1) * np.log(said.stay[s]) for n, (s, _) in zip(lengths, states, strict=True))
            leaves = sum(np.log(1 - said.stay[s]) for s, _ in states)
            joint = log_prior + stays + leaves + scores[np.arange(len(scores)), at].sum()
            word = np.repeat([word for _, word in states], lengths)
            spoken = frozenset(word for _, word in states if word >= 0)
            yield Way(float(joint), tuple(word.tolist()), tuple((at == filler).tolist()), spoken)


def _sequences(said: Spoken, i: int, filler: int) -> Iterator[tuple[list[tuple[int, int]], float]]:
    """Yield what may be said from word i on: units with their words, and the log-probability of these choices."""
    if i == len(said.ways):
        yield from _gaps(said, said.pause[0], filler)
        return
    for rest, log_rest in _sequences(said, i + 1, filler):
        if said.left_out > 0:
            yield rest, np.log(said.left_out) + log_rest
        for gap, log_gap in _gaps(said, said.pause[0 if i == 0 else 1], filler):
            for way, p in said.ways[i]:
                log_word = np.log(1 - said.left_out) + np.log(p)
                yield [*gap, *((unit, i) for unit in way), *rest], log_gap + log_word + log_rest


def _gaps(said: Spoken, pause: float, filler: int) -> Iterator[tuple[list[tuple[int, int]], float]]:
    """Yield what may be in a gap."""
    silence = (said.silence, -1)
    for before, log_before in (([], np.log(1 - pause)), ([silence], np.log(pause))):
        if said.inserted == 0:
            yield before, log_before
            continue
        yield before, log_before + np.log(1 - said.inserted)
        for after, log_after in (([], np.log(1 - said.pause[1])), ([silence], np.log(said.pause[1]))):
            yield [*before, (filler, -1), *after], log_before + np.log(said.inserted) + log_after
