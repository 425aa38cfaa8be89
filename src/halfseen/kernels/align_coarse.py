"""The kernels of the coarse pass over long recordings in plain NumPy; `plain` offers them with the others.

First the recording is cut: `align_free` finds the best sequence of units of any number and order. Then `align_match`
matches segments, instead of frames, with the units of the transcript, instead of states. Both are small: frames times
the states of all units, and segments times the units of the transcript.

Index letters: t frame of T, e state of E, S states of each unit, n segment of N, p unit of the transcript, of P.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]


def align_free(
    n_states: int,  # S
    logs: Floats,  # (E, 2)  in: log-probabilities to stay in a state and to leave it
    enter: float,  # of a unit after another
    scores: Floats,  # (T, E)  in
    states: Ints,  # (T,)    out
) -> float:
    """Viterbi over all sequences of units: the log-probability of the best, and its states.

    value[t, e] = scores[t, e] + max(value[t - 1, e] + stay, what comes from the state before, or from any last state).
    It begins with a unit, and ends anywhere.
    """
    n_frames, size = scores.shape
    if n_frames == 0:
        return 0.0
    first, last = np.arange(0, size, n_states), np.arange(n_states - 1, size, n_states)
    moved, left = np.zeros((n_frames, size), dtype=bool), np.zeros(n_frames, dtype=np.int64)
    value = np.full(size, -np.inf)
    value[first] = enter + scores[0, first]
    for t in range(1, n_frames):
        come = np.roll(value + logs[:, 1], 1)
        leaving = (value + logs[:, 1])[last]
        left[t] = last[np.argmax(leaving)]
        come[first] = leaving.max() + enter
        stayed = value + logs[:, 0]
        moved[t] = come > stayed
        value = np.where(moved[t], come, stayed) + scores[t]
    states[-1] = np.argmax(value)
    for t in range(n_frames - 1, 0, -1):
        e = int(states[t])
        states[t - 1] = e if not moved[t, e] else left[t] if e % n_states == 0 else e - 1
    return float(value.max())


def align_match(
    units: Ints,  # (P,)    in, unit at each place of the transcript
    scores: Floats32,  # (N, U)  in, of each segment as each unit, at most 0
    extra: Floats32,  # (N,)    in, of each segment as something that is not in the transcript
    skip: float,  # of a unit of the transcript that is left out; at most two between neighbouring segments
    places: Ints,  # (N,)    out, how many units of the transcript have begun at each segment; it never falls
) -> None:
    """Match segments with a transcript, in single precision.

    value[n, p] = max(value[n - 1, p] + max(score, extra), value[n - 1, p - k] + score + (k - 1) skip for k = 1, 2, 3)

    with the score of segment n as unit p - 1; at p = 0 a segment is `extra`. Units that are left at the end are
    skipped. Of equal ways that with the smallest k is taken. sqrt(N) rows are kept, and what lies between them is
    computed again where the path is.
    """
    n_segments, n_places = len(scores), len(units)
    stride = max(1, int(np.ceil(np.sqrt(n_segments))))
    value = np.full(n_places + 1, -np.inf, dtype=np.float32)
    value[0] = 0.0
    kept, tops = [], np.zeros(n_segments, dtype=np.float32)
    cost, step = np.float32(skip), slice(0, n_places)
    for n in range(n_segments):
        if n % stride == 0:
            kept.append(value)
        tops[n] = value.max()
        value = _matched(value, units[step], scores[n], extra[n], cost, tops[n], beginning=True)
    place = int(np.argmax(value + cost * np.arange(n_places, -1, -1, dtype=np.float32)))
    for block in range(len(kept) - 1, -1, -1):
        numbers = range(block * stride, min((block + 1) * stride, n_segments))
        low = max(0, place - 3 * len(numbers))  # the path cannot come from further below
        rows = [kept[block][low : place + 1]]
        for n in numbers:
            own = units[max(low - 1, 0) : place]
            rows.append(_matched(rows[-1], own, scores[n], extra[n], cost, tops[n], beginning=low == 0))
        for n in reversed(numbers):
            places[n], past = place, rows[n - numbers.start]
            if place == 0:
                continue
            score = scores[n, units[place - 1]]
            ways = [past[place - low] + max(score, extra[n])]
            ways += [past[place - low - k] + (score + np.float32(k - 1) * cost) for k in (1, 2, 3) if place - k >= low]
            place -= int(np.argmax(ways))


def _matched(
    value: Floats32,
    units: Ints,
    own: Floats32,
    extra: np.float32,
    cost: np.float32,
    top: np.float32,
    *,
    beginning: bool,
) -> Floats32:
    """Return the next row of some neighbouring places; `units` are those of all of them but p = 0."""
    score = own[units]
    score = np.concatenate([[np.float32(-np.inf)], score]) if beginning else score
    found = value + np.maximum(score, extra)
    for k in (1, 2, 3):
        found[k:] = np.maximum(found[k:], value[:-k] + (score[k:] + np.float32(k - 1) * cost))
    return np.asarray(found - top, dtype=np.float32)
