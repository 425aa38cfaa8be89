"""How sure the starter model may be: estimated with voices that it was not trained on, whose times are known.

    score(kappa, jitter) = mean of log t_4(error / sd) - log sd        sd^2 = sd(kappa)^2 + jitter^2

Errors of boundaries have long tails, as Student's distribution with four degrees of freedom has. Of all acoustic scales
kappa and jitters, the best is taken of those by which at least `COVERED` of the boundaries are within 2 sd + 5 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import halfseen as hs
from halfseen.families.transcript.aligner import Typical
from halfseen.families.transcript.phones import CMU, SIL
from tools.starter.corpus import Take
from tools.starter.training import Phone, aligner_of

SCALES = (0.05, 0.1, 0.2, 0.4)
JITTERS = tuple(np.arange(10, 15) / 1000)  # seconds: people who mark the same boundaries differ by about 10 ms
COVERED = 0.94  # more than the 90 % that are promised: voices differ


class Bounds(NamedTuple):
    """Where phones begin: how far from the truth, and the standard deviation that the model gives, in seconds."""

    error: np.ndarray
    sd: np.ndarray

    def covered(self) -> float:
        """Return the share of errors within 2 sd + 5 ms."""
        return float(np.mean(np.abs(self.error) <= 2 * self.sd + 0.005))

    def within(self, limit: float) -> float:
        """Return the share of errors of at most so many seconds."""
        return float(np.mean(np.abs(self.error) <= limit + 1e-9))


def bounds_of(model: hs.TranscriptAligner, take: Take, frames: np.ndarray) -> Bounds:
    """Return the beginnings of all phones of a take; the phones are known, the pauses are not."""
    said = [part for part in take.parts if part.phones != (SIL,)]
    phones = [phone for part in said for phone in part.phones]
    [found] = model.with_dictionary({phone: [phone] for phone in CMU}).align([frames], [phones])
    units = [unit for unit in found.units if unit.name != SIL]
    first = np.cumsum([0, *(len(part.phones) for part in said)])[:-1]  # of the phones of each part
    error = [units[i].start - part.start for i, part in zip(first, said, strict=True)]
    return Bounds(np.array(error), np.array([units[i].start_sd for i in first]))


def all_bounds(model: hs.TranscriptAligner, takes: Sequence[Take], corpus: hs.AudioFolder) -> Bounds:
    """Return the beginnings of all phones of some takes."""
    found = [bounds_of(model, take, frames) for take, frames in zip(takes, corpus, strict=True)]
    return Bounds(*(np.concatenate(column) for column in zip(*found, strict=True)))


def tuned(phones: dict[str, Phone], takes: Sequence[Take], corpus: hs.AudioFolder) -> hs.TranscriptAligner:
    """Return the aligner of these phones, as sure as it may be."""
    found = []
    for scale in SCALES:
        error, sd = all_bounds(aligner_of(phones, corpus, scale), takes, corpus)
        for jitter in JITTERS:
            bounds = Bounds(error, np.hypot(sd, jitter))
            if bounds.covered() >= COVERED:
                found.append((_fit(bounds), scale, jitter))
    assert found, "no scale makes the model as sure as it may be: are the times of these voices right?"
    _, scale, jitter = max(found)
    model = aligner_of(phones, corpus, scale, float(jitter))
    model._typical = typical(model, takes, corpus)
    return model


def typical(model: hs.TranscriptAligner, takes: Sequence[Take], corpus: hs.AudioFolder) -> Typical:
    """Return the log-likelihood per frame of most recordings."""
    known = model.with_dictionary({phone: [phone] for phone in CMU})
    said = [[phone for part in take.parts for phone in part.phones if phone != SIL] for take in takes]
    lengths = np.array([len(frames) for frames in corpus])
    return Typical.of(known.score_samples(list(corpus), said) / lengths)


def _fit(bounds: Bounds) -> float:
    return float(np.mean(-2.5 * np.log1p((bounds.error / bounds.sd) ** 2 / 4) - np.log(bounds.sd)))
