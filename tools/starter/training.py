"""Models of phones from speech whose times are known.

Each phone is learned on its own, from its pieces of sound: where it begins and ends is evidence, where its states
change is hidden. So the fit of a phone is that of a `TranscriptAligner` whose utterances are pieces of one phone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.families.transcript.phones import CMU, SIL
from tools.starter.corpus import Take

STATES, COMPONENTS = 3, 4
FLOOR = 0.02  # of the variances over all frames: no speaker is as regular as a synthesiser
MOST = 20_000  # frames of a phone: more do not change it
PASSES = 12  # of EM after each splitting of components: more fit the synthesisers, and other voices less
WORD = {"[AH]": "AH"}  # a model of phones needs a dictionary; no text has this word, which would hide CMUdict's


class Phone(NamedTuple):
    """Densities of a phone: means and variances (S, M, D), shares (S, M), and probabilities of leaving (S,)."""

    mean: np.ndarray
    var: np.ndarray
    mix: np.ndarray
    leave: np.ndarray


def pieces(takes: Sequence[Take], features: Sequence[np.ndarray], step: float) -> dict[str, list[np.ndarray]]:
    """Return the frames of every occurrence of each phone; frame t is the sound around (t + 1/2) step."""
    found: dict[str, list[np.ndarray]] = {}
    for take, frames in zip(takes, features, strict=True):
        for part in _merged(take):
            first, last = (max(0, round(time / step)) for time in part[1:])
            if len(frames[first:last]):
                found.setdefault(part[0], []).append(frames[first:last])
    return found


def _merged(take: Take) -> list[tuple[str, float, float]]:
    """Return the phones with their times; neighbouring pauses are one, and segments of two phones are left out."""
    found: list[tuple[str, float, float]] = []
    for part in take.parts:
        [name] = part.phones if len(part.phones) == 1 else [""]
        if found and found[-1][0] == name == SIL:
            found[-1] = (name, found[-1][1], part.end)
        else:
            found.append((name, part.start, part.end))
    return [one for one in found if one[0]]


def fitted(own: Sequence[np.ndarray], spread: np.ndarray, n_states: int = STATES, n_mix: int = COMPONENTS) -> Phone:
    """Return the densities of one phone; `spread` are the variances of all frames."""
    rng = np.random.default_rng(0)
    long = [piece for piece in own if len(piece) >= n_states]
    order = rng.permutation(len(long))
    kept = order[: np.searchsorted(np.cumsum([len(long[i]) for i in order]), MOST) + 1]
    model = hs.TranscriptAligner(n_states, n_mix, init="equal", tol=1.0, max_iter=PASSES, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `PASSES` is meant to end it
        model.fit([long[i] for i in sorted(kept)], ["x"] * len(kept))
    shape = (n_states, n_mix, -1)
    emit = model._params["emit"]
    mix = np.ones((n_states, 1)) if n_mix == 1 else np.asarray(emit["mix"])
    normal = (emit if n_mix == 1 else emit["emit"])["gaussian"]
    moves = np.asarray(model._params["moves"])[0, : 2 * n_states].reshape(n_states, 2)
    var = np.maximum(normal.var.reshape(shape), FLOOR * spread)
    return Phone(normal.mean.reshape(shape), var, mix, moves[:, 1])


def phones_of(takes: Sequence[Take], corpus: hs.AudioFolder) -> dict[str, Phone]:
    """Return the densities of the phones of CMUdict and of pauses; every one must have been said."""
    features = list(corpus)
    spread = np.concatenate(features).var(axis=0)
    found = pieces(takes, features, corpus.step)
    assert set(found) == CMU | {SIL}, f"phones: {set(found) ^ (CMU | {SIL})} are missing, or not of CMUdict"
    return {unit: fitted(found[unit], spread) for unit in sorted(found)}


def aligner_of(
    phones: dict[str, Phone], corpus: hs.AudioFolder, scale: float = 1.0, boundary_sd: float = 0.0
) -> hs.TranscriptAligner:
    """Return the aligner of these phones, for features as those of a corpus."""
    tables = (np.stack([getattr(phone, name) for phone in phones.values()]) for name in Phone._fields)
    model = hs.TranscriptAligner.from_params(
        list(phones),
        *tables,
        silence=SIL,
        step=corpus.step,
        dictionary=WORD,
        acoustic_scale=scale,
        boundary_sd=boundary_sd,
    )
    model._front_end = corpus.front_end
    return model
