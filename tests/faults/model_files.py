"""Mutants of model files: `load` refuses them in words, or the model that it gives works.

Most mutants have a right checksum: their record or arrays were changed by someone who can compute one. Loading executes
nothing, writes nothing and opens no connection; `Watch` sees to it.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import halfseen as hs
from halfseen.app import model_file
from halfseen.families import ESTIMATORS
from tests.faults.campaign import FINE, REFUSED, ROOT, Campaign, Failed, answer, case_rng, folder, watched_warnings
from tests.faults.fits import TRIALS
from tests.faults.mutate import BYTES, Rng, damaged_array, edited, mutant
from tests.faults.uses import use

MADE_BY = {
    "LatentClass": "classes",
    "NaiveBayes": "naive_bayes",
    "GaussianMixture": "gaussian_mixture",
    "GaussianClassifier": "gaussian_classifier",
    "KMeans": "kmeans",
    "HMM": "hmm",
    "BayesNet": "network",
    "PCFG": "grammar",
    "WordAligner": "words",
    "TranscriptAligner": "transcripts",
    "G2P": "pronunciation",
}
N_MODELS = 25  # models of each class, random fits all, from which mutants are made


@cache
def models(name: str) -> list[tuple[bytes, tuple[Any, ...]]]:
    """Files of fitted models, each with data for them."""
    found = []
    number = 0
    while len(found) < N_MODELS:
        trial = TRIALS[MADE_BY[name]](case_rng(f"model of {name}", number))
        number += 1
        path = folder() / "seed.halfseen"
        with suppress(Exception), watched_warnings(strict=False):  # what fails is for `fits` to tell
            hs.save(trial.fitted(), path)
            found.append((path.read_bytes(), trial.seen or trial.units))
    return found


# ---- mutants ---------------------------------------------------------------------------------------------------------


def opened(content: bytes) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Metadata and arrays of a model file."""
    return model_file._parts(content, "the seed")


def written(metadata: dict[str, str], tensors: dict[str, np.ndarray], dtypes: dict[str, str] | None = None) -> bytes:
    """A model file with a right checksum; `dtypes` are declared for arrays that are none of float64."""
    checked = {**metadata, "checksum": model_file._checksum(metadata, tensors)}
    content = model_file._safetensors(checked, tensors)
    for name, dtype in (dtypes or {}).items():
        content = _redeclared(content, name, dtype)
    return content


def _redeclared(content: bytes, name: str, dtype: str) -> bytes:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header[name]["dtype"] = dtype
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def edited_header(rng: Rng, content: bytes) -> bytes:
    """Edit the JSON header: names, shapes, offsets, metadata; the checksum in it is left as it is."""
    length = int.from_bytes(content[:8], "little")
    text = json.dumps(edited(rng, json.loads(content[8 : 8 + length])), ensure_ascii=True).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def edited_record(rng: Rng, content: bytes) -> bytes:
    """Edit options, columns and the rest of the record, with a right checksum."""
    metadata, tensors = opened(content)
    record = json.loads(metadata["record"])
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        record = edited(rng, record)
    return written({**metadata, "record": json.dumps(record)}, tensors)


def edited_arrays(rng: Rng, content: bytes) -> bytes:
    """Change, drop, add or exchange arrays, with a right checksum."""
    metadata, tensors = opened(content)
    tensors = dict(tensors)
    names = sorted(tensors)
    if not names:
        return edited_record(rng, content)
    name, other = (names[int(rng.integers(len(names)))] for _ in range(2))
    how = int(rng.integers(12))
    if how == 0:
        del tensors[name]
    elif how == 1:
        tensors[name + "/more"] = tensors[name]
    elif how == 2:
        tensors[name], tensors[other] = tensors[other], tensors[name]
    elif how == 3:
        return written(metadata, tensors, {name: str(rng.choice(["F32", "I64", "BF16", "BOOL", "Q9"]))})
    else:
        tensors[name] = damaged_array(rng, tensors[name])
    return written(metadata, tensors)


def edited_metadata(rng: Rng, content: bytes) -> bytes:
    """Another class, version or format, with a right checksum; or a record that is nested without end."""
    metadata, tensors = opened(content)
    how = int(rng.integers(4))
    if how == 0:
        metadata = {**metadata, "class": str(rng.choice([*ESTIMATORS, "os.system", "object", "", "Pipeline"]))}
    elif how == 1:
        metadata = {**metadata, "format_version": str(rng.choice(["0", "2", "-1", "1.0", "x", "9" * 5000, "\u0661"]))}
    elif how == 2:
        metadata = {**metadata, "record": "[" * int(rng.choice([10, 100_000])) + "1"}
    else:
        metadata = {**metadata, "record": metadata["record"].replace("1", "9" * int(rng.choice([30, 5000])), 1)}
    return written(metadata, tensors)


def damaged(rng: Rng, content: bytes) -> bytes:
    how = rng.random()
    if how < 0.2:
        return mutant(rng, content, BYTES)
    if how < 0.3:
        return edited_header(rng, content)
    if how < 0.6:
        return edited_record(rng, content)
    if how < 0.97:
        return edited_arrays(rng, content)
    return edited_metadata(rng, content)


# ---- a case ----------------------------------------------------------------------------------------------------------


class Watch:
    """Note what a program must not do while it loads a file."""

    FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect",
                 "pickle.find_class", "os.remove", "os.rename", "shutil.rmtree", "urllib.Request")  # fmt: skip

    def __init__(self) -> None:
        self.on, self.seen = False, ""
        sys.addaudithook(self.note)

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in self.FORBIDDEN:
            self.seen = f"{event} {arguments!r:.200}"
        if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            self.seen = f"{event} {arguments!r:.200}"


@cache
def watch() -> Watch:
    return Watch()


def load_case(subject: str, number: int) -> str:
    """Load a mutant; use the model if there is one."""
    rng = case_rng(subject, number)
    seeds = models(subject)
    content, data = seeds[int(rng.integers(len(seeds)))]
    path = folder() / "mutant.halfseen"
    path.write_bytes(damaged(rng, content))
    watching = watch()
    watching.on, watching.seen = True, ""
    try:
        model = answer(lambda: hs.load(path))
    finally:
        watching.on = False
    if watching.seen:
        raise Failed(f"loading did more than reading: {watching.seen}")
    if model is REFUSED:
        return REFUSED
    if type(model).__name__ in MADE_BY:
        own = data if type(model).__name__ == subject else None
        if own is not None:
            answer(lambda: use(model, *own, named_nan=True), strict=False)  # a refusal in words is an answer too
    return FINE


def keep(subject: str, number: int, path: Path = ROOT / "build" / "faults" / "mutant.halfseen") -> Path:
    """Write the mutant of a case to a file, to look at it."""
    rng = case_rng(subject, number)
    seeds = models(subject)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(damaged(rng, seeds[int(rng.integers(len(seeds)))][0]))
    return path


CAMPAIGN = Campaign("model_files", tuple(sorted(MADE_BY)), load_case, size=10_000, seconds=20, memory=1 << 30)
