"""How exact the times of the starter model are: a part of `python -m benchmarks.speech`, which says the conditions.

Voices and sentences are those that it was neither trained nor tuned with (`tools.starter.corpus.TESTED`); flite and
espeak-ng must be installed. Phones are given, pauses are not. Real recordings are aligned from their text and the
pronunciations of CMUdict and espeak-ng.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import signal

import halfseen as hs
from halfseen.families.transcript.phones import CMU, SIL
from tools.starter.corpus import TESTED, Take, takes, write

Floats = NDArray[np.float64]
DATA = Path(os.environ.get("HALFSEEN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
WITHIN = (0.010, 0.020, 0.050)  # seconds
SLACK = 1e-4  # of comparisons
TRUE, SURE = 2.0, 0.005  # a true boundary is within so many standard deviations and seconds
BINS = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0001)  # of confidence
SEED = 3  # of the sentences that `tools.starter` reports
TELEPHONE = (300, 3400)  # Hz
LEFT_OUT = {"speech_mfa/acoustic_corpus": "uh"}  # a word of the text that the reference does not have
TALKS = {  # sound: file and tier of its words
    "speech_mfa/acoustic_corpus": ("speech_mfa/acoustic_corpus", "words"),
    "speech_praatio/bobby": ("speech_praatio/bobby_words", "word"),
    "speech_praatio/mary": ("speech_praatio/mary", "word"),
}
UNUSUAL = {"yknow": "Y AH N OW"}

console = Console(width=120)


class Found(NamedTuple):
    """Starts of phones: errors and standard deviations in seconds; confidence, and the share of time that is right."""

    error: Floats
    sd: Floats
    confidence: Floats
    inside: Floats


def shares(errors: Floats) -> str:
    """Return the shares of errors within 10, 20 and 50 ms."""
    return " / ".join(f"{100 * np.mean(np.abs(errors) <= within + SLACK):.0f}" for within in WITHIN)


def certainty(error: Floats, sd: Floats) -> list[str]:
    """Return the median standard deviation, and the share of errors within two of them and 5 ms."""
    return [f"{1000 * np.median(sd):.1f} ms", f"{np.mean(np.abs(error) <= TRUE * sd + SURE):.0%}"]


def reliability(name: str, error: Floats, sd: Floats, confidence: Floats, inside: Floats) -> None:
    """Print a table of confidence and of what is true."""
    middle, covered = certainty(error, sd)
    title = f"{name}: {covered} within 2 sd + 5 ms, median sd {middle}"
    table = Table("confidence", "phones", "mean confidence", "share of their time that is theirs", title=title)
    for low, high in itertools.pairwise(BINS):
        own = (confidence >= low) & (confidence < high)
        if own.any():
            means = (confidence[own].mean(), inside[own].mean())
            table.add_row(f"{low:.2f} to {min(high, 1):.2f}", str(own.sum()), *(f"{mean:.2f}" for mean in means))
    console.print(table)


# ---- synthetic voices ------------------------------------------------------------------------------------------------


def noisy(decibels: float) -> Callable[[Take], Take]:
    """Return what adds white noise, so many decibels below the mean power."""
    rng = np.random.default_rng(0)

    def change(take: Take) -> Take:
        sd = np.sqrt(np.mean(take.samples**2) * 10 ** (-decibels / 10))
        return take._replace(samples=take.samples + sd * rng.normal(size=len(take.samples)))

    return change


def silent(take: Take, seconds: float = 3.0) -> Take:
    """Return a take with digital silence at both ends."""
    none = np.zeros(round(seconds * take.rate))
    parts = [part._replace(start=part.start + seconds, end=part.end + seconds) for part in take.parts]
    return take._replace(samples=np.concatenate([none, take.samples, none]), parts=parts)


def telephone(take: Take) -> Take:
    """Return a take as heard over a telephone."""
    band = signal.butter(4, TELEPHONE, btype="band", fs=take.rate, output="sos")
    return take._replace(samples=signal.sosfilt(band, take.samples))


CONDITIONS: Mapping[str, Callable[[Take], Take]] = {
    "clean": lambda take: take,
    "3 s of silence at both ends": silent,
    "noise, 20 dB": noisy(20),
    "noise, 10 dB": noisy(10),
    "telephone": telephone,
}


def phones_found(model: Any, said: Sequence[Take], folder: Path, adapt: str = "auto") -> dict[str, Found]:
    """Return the phones of takes by voice, each take a recording."""
    own = Path(tempfile.mkdtemp(dir=folder))
    listed = write(iter(said), own)
    spoken = [[part for part in take.parts if part.phones != (SIL,)] for take in listed]
    texts = [" ".join(phone for part in parts for phone in part.phones) for parts in spoken]
    given = dict(zip(sorted(path.stem for path in own.glob("*.wav")), texts, strict=True))
    corpus = hs.AudioFolder(own, transcripts=given, words=CMU, features=model.front_end_)
    by: dict[str, list[Found]] = {}
    for take, parts, found in zip(listed, spoken, model.align(corpus, corpus.transcripts, adapt=adapt), strict=True):
        units = [unit for unit in found.units if unit.name != SIL]
        firsts = np.cumsum([0, *(len(part.phones) for part in parts)])
        by.setdefault(take.name.rpartition(" ")[0], []).append(_compared(units, parts, firsts.tolist()))
    return {voice: Found(*map(np.concatenate, zip(*some, strict=True))) for voice, some in by.items()}


def _compared(units: Sequence[Any], parts: Sequence[Any], firsts: Sequence[int]) -> Found:
    """Compare parts, of one or two phones, with units."""
    first, last = [units[i] for i in firsts[:-1]], [units[i - 1] for i in firsts[1:]]
    begun, ended = np.array([unit.start for unit in first]), np.array([unit.end for unit in last])
    starts, ends = np.array([part.start for part in parts]), np.array([part.end for part in parts])
    common = np.maximum(0.0, np.minimum(ended, ends) - np.maximum(begun, starts))
    sd, confidence = (np.array([getattr(unit, name) for unit in first]) for name in ("start_sd", "confidence"))
    return Found(begun - starts, sd, confidence, common / (ended - begun))


def voices(folder: Path) -> None:
    """Print tables of voices that the model was not trained on, in noise and silence, and how sure it is of them."""
    model = hs.load_speech().with_dictionary({phone: [phone] for phone in CMU})
    said = list(takes(TESTED, SEED, plain=True))
    table = Table("voice", "sound", "phones", "10 / 20 / 50 ms", "adapt full", "median sd", "within 2 sd + 5 ms",
                  title="starter model, voices and sentences that it was not trained on")  # fmt: skip
    clean: list[Found] = []
    for label, change in CONDITIONS.items():
        heard = [change(take) for take in said]
        found, full = phones_found(model, heard, folder), phones_found(model, heard, folder, "full")
        clean = clean or list(found.values())
        for voice, own in found.items():
            cells = [shares(own.error), shares(full[voice].error), *certainty(own.error, own.sd)]
            table.add_row(voice, label, str(len(own.error)), *cells)
    console.print(table)
    reliability("starter model, clean", *map(np.concatenate, zip(*clean, strict=True)))


# ---- real speech -----------------------------------------------------------------------------------------------------


def talks(folder: Path) -> None:
    """Print starts and ends of words of real recordings, and how fast they are aligned."""
    table = Table("recording", "adapt", "words", "10 / 20 / 50 ms", "median sd", "within 2 sd + 5 ms", "real time x",
                  title="starter model, real speech, starts and ends of words")  # fmt: skip
    for name, (grid, tier) in TALKS.items():
        marks = [part for part in hs.read_textgrid(DATA / f"{grid}.TextGrid")[tier] if part.text.strip()]
        path = DATA / f"{name}.wav"
        text = path.with_suffix(".lab")
        words = text.read_text().split() if text.exists() else [part.text.strip() for part in marks]
        ways = hs.pronunciations_of(words, dictionary=UNUSUAL)
        model = hs.load_speech().with_dictionary(ways)
        corpus = hs.AudioFolder(path, transcripts={path.stem: " ".join(words)}, words=ways, features=model.front_end_)
        seconds = len(corpus[0]) * corpus.step  # features are read now
        for adapt in ("auto", "full"):
            begun = time.process_time()
            [found] = model.align(corpus, corpus.transcripts, adapt=adapt)
            used = time.process_time() - begun
            parts = [part for part in found.words if part.name != LEFT_OUT.get(name)]
            error, sd = (
                np.array([(part.start, part.end) for part in parts]) - [(mark.start, mark.end) for mark in marks],
                np.array([(part.start_sd, part.end_sd) for part in parts]),
            )
            cells = [shares(error), *certainty(error, sd), f"{seconds / used:.0f}"]
            table.add_row(name, adapt, str(len(marks)), *cells)
    console.print(table)


def everything(folder: Path) -> None:
    """Print all tables of the starter model."""
    voices(folder)
    if DATA.exists():
        talks(folder)
