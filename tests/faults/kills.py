"""kill -9 at random moments: every family that keeps a checkpoint resumes to the bits of an undisturbed fit.

A fit runs in a process of its own and is killed after a random share of the time that it takes, up to three times; then
it is resumed to its end. Records are flushed after every pass, so that there is something to resume from.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import halfseen as hs
from halfseen.engine.services import checkpoint as checkpoints
from tests.faults.campaign import FINE, Campaign, Failed, answer, case_rng, folder, watched_warnings
from tests.faults.fits import learned

RNG = np.random.default_rng(0)
N = 1500
NUMBERS = RNG.normal(size=(N, 3)) + 2.0 * RNG.integers(0, 3, (N, 1))
NUMBERS[RNG.random(NUMBERS.shape) < 0.1] = np.nan
TABLE = pd.DataFrame({"a": RNG.integers(0, 4, N), "b": RNG.integers(0, 3, N).astype(str), "x": NUMBERS[:, 0]})
LABELS = [int(label) if RNG.random() < 0.2 else None for label in RNG.integers(0, 3, N)]
SEQUENCES = np.split(NUMBERS[:600], 6)
SENTENCES = [list(RNG.choice(["x", "y", "z"], RNG.integers(2, 9))) for _ in range(60)]
GRAMMAR = "S -> S S | A B | 'x'\nA -> S A | 'y' | 'x'\nB -> B A | 'z' | 'y'\n"
PAIRS = [(list(RNG.choice(list("abcdefg"), 6)), list(RNG.choice(list("ABCDEFG"), 6))) for _ in range(300)]
HEADER = 600  # bytes, at most, of a checkpoint without a pass
QUICK = {"n_init": 4, "max_iter": 40, "random_state": 0}


def _words(large: int) -> Callable[[], Any]:
    """Word alignment; with `large` small statistics count as large, so that positions are kept in place of passes."""

    def fit() -> Any:
        with mock.patch.object(checkpoints, "LARGE", large):
            return hs.WordAligner("hmm", max_iter=12, random_state=0).fit(PAIRS)

    return fit


FITS: dict[str, Callable[[], Any]] = {
    "classes": lambda: hs.LatentClass(3, **QUICK).fit(TABLE),
    "classes_range": lambda: hs.LatentClass(range(1, 4), **QUICK).fit(TABLE),
    "classes_sampled": lambda: hs.LatentClass(3, assign="sample", **QUICK).fit(TABLE),
    "naive_bayes": lambda: hs.NaiveBayes(components_per_class=2, guard=False, **QUICK).fit(TABLE, LABELS),
    "gaussian_mixture": lambda: hs.GaussianMixture(3, **QUICK).fit(NUMBERS),
    "gaussian_classifier": lambda: hs.GaussianClassifier(components_per_class=2, guard=False, **QUICK).fit(
        NUMBERS, LABELS
    ),
    "hmm": lambda: hs.HMM(3, **QUICK).fit(SEQUENCES),
    "network": lambda: hs.BayesNet("H -> a; H -> b; H -> c", hidden={"H": 3}, **QUICK).fit(
        pd.DataFrame({name: RNG_COLUMNS[name] for name in "abc"})
    ),
    "grammar": lambda: hs.PCFG(GRAMMAR, on_unparsable="skip", **QUICK).fit(SENTENCES),
    "words": _words(1 << 40),
    "words_positions": _words(1),
    "transcripts": lambda: hs.TranscriptAligner(2, max_iter=40, random_state=0).fit(SEQUENCES, ["p q r"] * 6),
}
RNG_COLUMNS = {name: RNG.integers(0, 3, N).astype(str) for name in "abc"}


def digest(model: Any) -> str:
    """A fingerprint of all that was learned."""
    found = blake2b(digest_size=16)
    for part in learned(model):
        found.update(np.ascontiguousarray(np.asarray(part, dtype=np.float64)).tobytes())
    return found.hexdigest()


def child(subject: str, checkpoint: Path, out: Path) -> int:
    """Fit in a process of its own, which writes the fingerprint of the result; return its number."""
    process = os.fork()
    if process:
        return process
    try:
        with watched_warnings(strict=False), mock.patch.object(checkpoints, "FLUSH_AFTER", 0.0):
            with hs.checkpoint(checkpoint) as record:
                model = FITS[subject]()
            out.write_text(f"{digest(model)} {record.n_replayed} {record.n_recorded}")
        os._exit(0)
    except BaseException as error:
        out.write_text(f"{type(error).__name__}: {error}")
        os._exit(1)


def finished(process: int, out: Path) -> list[str]:
    _, status = os.waitpid(process, 0)
    said = out.read_text() if out.exists() else "nothing was written"
    if status:
        raise Failed(f"a fit cannot be resumed: {said}")
    return said.split()


@cache
def undisturbed(subject: str) -> tuple[str, float]:
    """The result of a fit, and the seconds that it takes with a checkpoint."""
    checkpoint, out = folder() / "whole.checkpoint", folder() / "whole.txt"
    with watched_warnings(strict=False):
        wanted = digest(FITS[subject]())
    begun = time.monotonic()
    [found, *_] = finished(child(subject, checkpoint, out), out)
    if found != wanted:
        raise Failed("a fit in a checkpoint gives other bits than one without")
    return wanted, time.monotonic() - begun


def kill_case(subject: str, number: int) -> str:
    """Kill a fit, maybe several times, and resume it."""
    rng = case_rng(subject, number)
    wanted, seconds = undisturbed(subject)
    checkpoint, out = folder() / "run.checkpoint", folder() / "run.txt"
    for left in folder().glob("run.*"):
        left.unlink()
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        process = child(subject, checkpoint, out)
        if number % 2:  # half of the kills come after the first record, the others at any moment
            begun_by = time.monotonic() + seconds
            while time.monotonic() < begun_by and not (checkpoint.exists() and checkpoint.stat().st_size > HEADER):
                time.sleep(0.001)
        time.sleep(float(rng.uniform(0.0, seconds)))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    out.unlink(missing_ok=True)
    found, replayed, recorded = finished(child(subject, checkpoint, out), out)
    if found != wanted:
        raise Failed(f"a resumed fit gives other bits: after {replayed} passes replayed and {recorded} made")
    left_over = [path.name for path in folder().glob("run.checkpoint*")]
    if left_over:
        raise Failed(f"left behind: {left_over}")
    answer.reason = (
        "resumed from recorded passes"
        if int(replayed)
        else "nothing recorded: killed before the first pass, or after the end"
    )
    return FINE


CAMPAIGN = Campaign("kills", tuple(FITS), kill_case, size=100, seconds=120, memory=4 << 30)
