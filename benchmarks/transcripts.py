"""An hour of speech, aligned: `python -m benchmarks.transcripts [minutes]`.

Features are made up: 40 phones of three states, 26 normal features each, 100 ms a phone; 360 utterances of ten seconds.
What is timed is `align` (scores, best segmentation, posterior of all segmentations: confidence and spread of every
boundary), one pass of EM, and cepstra of an hour of noise. What the numbers do not show: reading files, and the passes
that a fit needs.
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


if __name__ == "__main__":
    length = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    for threads in (1, 2):
        print(json.dumps(run(length, threads), indent=1))
