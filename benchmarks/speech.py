"""How exact times of speech are: `python -m benchmarks.speech [accuracy robust calibration wrong ...]`.

Every figure is of default settings: `TranscriptAligner(dictionary=..., silence="sil", step=corpus.step,
start={"sil": corpus.quiet()})`, which is what `halfseen fit FOLDER --model transcript --dictionary FILE` does, fitted
to the recordings that are aligned; or `load_speech` (`benchmarks.speech_starter`). What en-us of CMU Sphinx does is
shown by `benchmarks.sphinx`. Sentences are those that no choice was made with (`benchmarks.spoken.TEST`), and so are
the voices of `VOICES` and `FEMALE`; `robust` uses the voice en, which is one of the development. `espeak_dev` was
looked at early, when annealing was chosen: it is no unseen test.
`events`: the times of espeak-ng's events. `closures`: stops begin with their closures (see `benchmarks.spoken`).
Recordings are those of HALFSEEN_DATA, else of ../shared/data beside the repository. Times are processor times.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import halfseen as hs
from benchmarks import speech_starter
from benchmarks.speech_starter import DATA, console, reliability, shares
from benchmarks.spoken import TEST, Utterance, dictionary_of, recorded, said, with_noise, with_silence, write

Floats = NDArray[np.float64]
VOICES = ("en+m3", "en-gb-scotland", "en+f4")  # no choice was made with them
FEMALE = "en+f3"


class Found(NamedTuple):
    """Boundaries of some utterances: errors in seconds, whether a word begins there, their sd; and of each phone the
    confidence and the share of its time that is truly its own."""

    error: Floats
    is_word: NDArray[np.bool_]
    sd: Floats
    confidence: Floats
    inside: Floats


def from_nothing(spoken: Sequence[Utterance], folder: Path, phones: bool = False) -> Any:
    """Return a model that is fitted by default settings."""
    dictionary = None if phones else dictionary_of(spoken)
    corpus = corpus_of(spoken, folder, dictionary)
    model = hs.TranscriptAligner(dictionary=dictionary, silence="sil", step=corpus.step, start={"sil": corpus.quiet()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(corpus, corpus.transcripts)


def corpus_of(spoken: Sequence[Utterance], folder: Path, dictionary: Mapping[str, Any] | None) -> hs.AudioFolder:
    """Write utterances to a folder and read them."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    if dictionary is None:
        texts = {one.name: " ".join(phone for phone, _ in one.phones) for one in spoken}
        known = {phone for one in spoken for phone, _ in one.phones}
        return hs.AudioFolder(write(spoken, folder), transcripts=texts, words=known)
    return hs.AudioFolder(write(spoken, folder), words=dictionary)


def aligned(
    model: Any, spoken: Sequence[Utterance], folder: Path, closures: bool = False, adapt: str = "auto"
) -> Found:
    """Return how far the boundaries that a model finds are from the true ones; each word is said as it was said."""
    phones = model.dictionary is None
    usable = [one for one in spoken if {phone for phone, _ in one.phones} <= set(model.units_)]
    if not phones:
        model = model.with_dictionary(dictionary_of(usable))
    corpus = corpus_of(usable, folder, None if phones else dictionary_of(usable))
    parts = []
    for one, found in zip(usable, model.align(corpus, corpus.transcripts, adapt=adapt), strict=True):
        truth = one.closed() if closures else one
        units = found.words if phones else [part for part in found.units if part.name != "sil"]
        if [part.name for part in units] == [phone for phone, _ in truth.phones]:  # else it took another pronunciation
            parts.append(_compared(units, truth))
    return Found(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _compared(units: Sequence[Any], truth: Utterance) -> Found:
    starts = np.array([start for _, start in truth.phones])
    begun, ended = (np.array([getattr(part, name) for part in units]) for name in ("start", "end"))
    ends = np.append(starts[1:], len(truth.samples) / truth.rate)
    common = np.maximum(0.0, np.minimum(ended, ends) - np.maximum(begun, starts))
    return Found(
        begun - starts,
        np.isin(np.arange(len(starts)), [first for _, first in truth.words]),
        np.array([part.start_sd for part in units]),
        np.array([part.confidence for part in units]),
        common / (ended - begun),
    )


def _row(table: Table, name: str, model: Any, spoken: Sequence[Utterance], folder: Path, adapt: str = "auto") -> None:
    events, closures = (aligned(model, spoken, folder, closed, adapt) for closed in (False, True))
    cells = [shares(events.error), shares(events.error[events.is_word])]
    cells += [shares(closures.error), shares(closures.error[closures.is_word])]
    table.add_row(name, str(len(events.error)), *cells)


def _table(title: str) -> Table:
    return Table(
        "speech", "phones", "phones, events", "words, events", "phones, closures", "words, closures", title=title
    )


def sentences(voice: str, n: int = 40) -> list[Utterance]:
    """Return test sentences of a voice."""
    return said([line for line in TEST.split("\n") if line.strip()][:n], [voice])


def accuracy(folder: Path) -> None:
    """Print a table of clean speech."""
    sets = {"espeak_dev, 8 sentences": recorded(DATA / "espeak_dev")} if DATA.exists() else {}
    sets |= {f"{voice}, {n} sentences": sentences(voice, n) for n in (8, 40) for voice in VOICES}
    table = _table("clean speech, share of boundaries within 10 / 20 / 50 ms, model of the same recordings")
    for label, spoken in sets.items():
        _row(table, f"{label}, words", from_nothing(spoken, folder), spoken, folder)
        _row(table, f"{label}, phones", from_nothing(spoken, folder, True), spoken, folder)
    console.print(table)


def robust(folder: Path) -> None:
    """Print a table of speech other than that of the fit, with and without transforms for speakers."""
    spoken = sentences("en")
    clean = from_nothing(spoken, folder)
    table = _table("40 sentences of en, model of the clean sentences where nothing else is said")
    _row(table, "clean", clean, spoken, folder)
    _row(table, "3 s of silence at both ends", clean, with_silence(spoken, 3.0), folder)
    for decibels in (20, 10):
        noisy = with_noise(spoken, decibels)
        _row(table, f"noise, {decibels} dB", clean, noisy, folder)
        _row(table, f"noise, {decibels} dB, adapt none", clean, noisy, folder, "none")
        _row(table, f"noise, {decibels} dB, model of these", from_nothing(noisy, folder), noisy, folder)
    other = sentences(FEMALE)
    _row(table, f"another speaker, {FEMALE}", clean, other, folder)
    _row(table, f"another speaker, {FEMALE}, adapt none", clean, other, folder, "none")
    console.print(table)
    _times(clean, spoken, folder)


def _times(model: Any, spoken: Sequence[Utterance], folder: Path) -> None:
    """Print how fast a model aligns sentences, without reading the sound."""
    corpus = corpus_of(spoken, folder, dictionary_of(spoken))
    frames, seconds = list(corpus), sum(len(one.samples) / one.rate for one in spoken)
    for adapt in ("none", "full"):
        begun = time.process_time()
        model.align(frames, corpus.transcripts, speakers=corpus.names, adapt=adapt)
        console.print(f"align, adapt {adapt}: {seconds / (time.process_time() - begun):.0f} times real time")


def calibration(folder: Path) -> None:
    """Print what confidence and standard deviations say, and what is true."""
    sets = [sentences(voice, n) for n in (8, 40) for voice in VOICES]
    models = [from_nothing(spoken, folder) for spoken in sets]
    for closures in (False, True):
        found = [aligned(one, spoken, folder, closures) for one, spoken in zip(models, sets, strict=True)]
        every = Found(*(np.concatenate(column) for column in zip(*found, strict=True)))
        against = "closures" if closures else "events"
        reliability(f"from nothing, {against}", every.error, every.sd, every.confidence, every.inside)


def wrong(folder: Path) -> None:
    """Print the surprise of right and of wrong texts, of sentences that are each a speaker, always transformed."""
    spoken = sentences(VOICES[1])
    model = from_nothing(spoken, folder)
    sets = {"clean": spoken, "noise, 10 dB": with_noise(spoken, 10)}
    sets |= {voice: sentences(voice) for voice in (f"{VOICES[1]}+f3", VOICES[0])}
    table = Table("sound", "adapt", "right, largest", "wrong, smallest", title=f"surprise, model of {VOICES[1]}")
    for label, said_so in sets.items():
        usable = [one for one in said_so if {phone for phone, _ in one.phones} <= set(model.units_)]
        corpus = corpus_of(usable, folder, dictionary_of(usable))
        known = model.with_dictionary(dictionary_of(usable))
        others = [*corpus.transcripts[1:], corpus.transcripts[0]]
        for adapt in ("none", "full"):
            right, spoilt = (known.align(corpus, texts, adapt=adapt) for texts in (corpus.transcripts, others))
            ends = max(one.surprise for one in right), min(one.surprise for one in spoilt)
            table.add_row(label, adapt, *(f"{value:.1f}" for value in ends))
    console.print(table)


def digits(folder: Path) -> None:
    """Print how many digits are recognised: two speakers, recordings 5 to 9 of each for training, 0 to 4 to test."""
    keys = [path.stem.split("_") for path in sorted((DATA / "fsdd").glob("*.wav"))]
    link = Path(tempfile.mkdtemp(dir=folder))
    for key in keys:
        (link / key[1]).mkdir(exist_ok=True)
        name = "_".join(key)
        os.symlink((DATA / "fsdd" / f"{name}.wav").resolve(), link / key[1] / f"{name}.wav")
    corpus = hs.AudioFolder(link, transcripts={"_".join(key): key[0] for key in keys})
    own = [name.split("/")[-1].split("_") for name in corpus.names]
    train, test = ([b for b, key in enumerate(own) if (int(key[2]) > 4) == late] for late in (True, False))
    model = hs.TranscriptAligner(step=corpus.step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit([corpus[b] for b in train], [[own[b][0]] for b in train])
    scores = [model.score_samples([corpus[b] for b in test], [[digit]] * len(test)) for digit in "0123456789"]
    right = np.mean([str(digit) == own[b][0] for digit, b in zip(np.argmax(scores, axis=0), test, strict=True)])
    console.print(f"digits: {right:.0%} of {len(test)} recognised")


def real(folder: Path) -> None:
    """Print boundaries of hand-labelled recordings, aligned from their text and true phones alone."""
    grids = {
        "speech_mfa": ("acoustic_corpus", "acoustic_corpus", "words", "phones"),
        "speech_praatio, bobby": ("bobby", "bobby_phones", None, "phone"),
        "speech_praatio, mary": ("mary", "mary", "word", "phone"),
    }
    table = Table(
        "recording", "words", "words", "phones", "phones", title="from nothing, hand labels, within 10 / 20 / 50 ms"
    )
    for label, (sound, grid, word_tier, phone_tier) in grids.items():
        where = DATA / label.partition(",")[0]
        read = hs.read_textgrid(where / f"{grid}.TextGrid")
        phones = [part for part in read[phone_tier] if part.text]
        marks = phones if word_tier is None else [part for part in read[word_tier] if part.text]
        ways = [" ".join(p.text for p in phones if m.start - 1e-6 <= p.start < m.end - 1e-6) for m in marks]
        dictionary: dict[str, list[str]] = {}
        for mark, way in zip(marks, ways, strict=True):
            dictionary.setdefault(mark.text, []).append(way)
        own = Path(tempfile.mkdtemp(dir=folder))
        os.symlink((where / f"{sound}.wav").resolve(), own / "talk.wav")
        corpus = hs.AudioFolder(own, transcripts={"talk": " ".join(m.text for m in marks)}, words=dictionary)
        model = hs.TranscriptAligner(
            dictionary={word: list(dict.fromkeys(found)) for word, found in dictionary.items()},
            silence="sil", step=corpus.step, start={"sil": corpus.quiet()},
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [found] = model.fit(corpus, corpus.transcripts).align(corpus, corpus.transcripts)
        units = [part for part in found.units if part.name != "sil"]
        cells = []
        for parts, truth in ((found.words, marks), (units, phones)):
            same = [part.name for part in parts] == [mark.text for mark in truth]
            errors = np.array([a.start - b.start for a, b in zip(parts, truth, strict=False)])
            cells += [str(len(truth)), shares(errors) if same else "other pronunciations"]
        table.add_row(label, *cells)
    console.print(table)


PARTS = {
    "accuracy": accuracy,
    "robust": robust,
    "calibration": calibration,
    "wrong": wrong,
    "digits": digits,
    "real": real,
    "starter": speech_starter.everything,
}

if __name__ == "__main__":
    chosen = sys.argv[1:] or list(PARTS)
    with tempfile.TemporaryDirectory() as temporary:
        for part in chosen:
            PARTS[part](Path(temporary))
