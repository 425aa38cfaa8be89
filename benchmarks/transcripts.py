"""An hour of speech, aligned: `python -m benchmarks.transcripts [minutes] [pieces | one]`.

Features are made up: 40 phones of three states, 26 normal features each, 100 ms a phone; 360 utterances of ten seconds.
What is timed is `align` (scores, best segmentation, posterior of all segmentations: confidence and spread of every
boundary), one pass of EM, and cepstra of an hour of noise. With `one`, all utterances are one recording, aligned by one
thread with the text alone; also where words may be left out or inserted. Its seconds are of processor time. What the
numbers do not show: reading files, and the passes that a fit needs.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

import halfseen as hs

N_PHONES, N_STATES, N_FEATURES, RATE = 40, 3, 26, 100


def speech(minutes: float, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """Return utterances of ten seconds and the phones in each."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(N_PHONES, N_STATES, N_FEATURES))
    X, said = [], []
    for _ in range(max(1, round(minutes * 6))):
        phones = rng.integers(0, N_PHONES, 100)
        lengths = 1 + rng.poisson(10 / N_STATES - 1, size=(100, N_STATES))
        states = means[
            np.repeat(phones, lengths.sum(axis=1)), np.concatenate([np.repeat([0, 1, 2], n) for n in lengths])
        ]
        X.append(states + rng.normal(size=states.shape))
        said.append([f"p{phone}" for phone in phones])
    return X, said


def timed(task: Any) -> tuple[float, Any]:
    """Return the seconds that a task takes, and what it gives."""
    begun = time.perf_counter()
    found = task()
    return time.perf_counter() - begun, found


def run(minutes: float, n_jobs: int) -> dict[str, Any]:
    """Time all parts on so many minutes of speech."""
    X, said = speech(minutes)
    seconds = sum(map(len, X)) / RATE
    how = {"step": 1 / RATE, "silence": "sil", "n_jobs": n_jobs, "stop": "iterations"}
    model = hs.TranscriptAligner(N_STATES, max_iter=3, **how).fit(X[:60], said[:60])
    aligning, _ = timed(lambda: model.align(X, said))
    one, three = (timed(lambda n=n: hs.TranscriptAligner(N_STATES, max_iter=n, **how).fit(X, said))[0] for n in (1, 3))
    noise = np.random.default_rng(0).normal(size=int(min(seconds, 600) * 16000))
    cepstra = timed(lambda: hs.mfcc(noise, 16000))[0] * seconds / min(seconds, 600)
    return {
        "minutes of speech": round(seconds / 60, 1),
        "threads": n_jobs,
        "align, seconds": round(aligning, 2),
        "align, times real time": round(seconds / aligning),
        "one pass of EM, seconds": round((three - one) / 2, 2),
        "cepstra, seconds": round(cepstra, 2),
        "most memory, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def in_one_piece(minutes: float, **allowed: float) -> dict[str, Any]:
    """Align one recording of so many minutes."""
    X, said = speech(minutes)
    how: dict[str, Any] = {"step": 1 / RATE, "silence": "sil", "n_jobs": 1, "stop": "iterations"}
    model = hs.TranscriptAligner(N_STATES, max_iter=3, **how).fit(X[:60], said[:60])
    frames, words = np.concatenate(X), [word for part in said for word in part]
    del X
    before, begun = peak(), time.process_time()
    [found] = model.align([frames], [words], **allowed)
    seconds, length = time.process_time() - begun, len(frames) / RATE
    return {
        "minutes in one recording": round(length / 60, 1),
        **allowed,
        "words": len(words),
        "align, seconds of processor time": round(seconds, 2),
        "align, times real time": round(length / seconds),
        "states of the transcript": found.band.n_nodes if found.band else None,
        "in the band at a frame, mean": round(found.band.width) if found.band else None,
        "widened": found.band.widened if found.band else None,
        "words left out": len(found.left_out),
        "memory before, MB": before,
        "most memory, MB": peak(),
    }


def peak() -> int:
    """Return the most memory that this process has had, in MB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    if sys.argv[2:] != ["one"]:
        for threads in (1, 2):
            print(json.dumps(run(length, threads), indent=1))
    if sys.argv[2:] != ["pieces"]:
        print(json.dumps(in_one_piece(length), indent=1))
        print(json.dumps(in_one_piece(length, left_out=0.01, inserted=0.01), indent=1))
