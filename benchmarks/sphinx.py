"""Alignment with the model en-us of CMU Sphinx, here and in pocketsphinx: `python -m benchmarks.sphinx`.

Both align the same 16-bit sound at 16 kHz with the same dictionary, on one thread: `read_sphinx` with phones without
context, pocketsphinx with its triphones and its own second pass for phones. Recordings are those of HALFSEEN_DATA; the
digits are joined to sequences of ten, with the joins as the true boundaries. What the numbers do not show: reading the
files, the model and the dictionary.

Pocketsphinx gives the first sample of a window of 25.6 ms as the time of a frame. `centred` is its result 7.8 ms later,
which puts its frames where they are here.
"""

from __future__ import annotations

import csv
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pocketsphinx
from scipy.io import wavfile

import halfseen as hs
from halfseen.families.transcript.sound.sphinx_features import RATE, at_16_khz

DATA = Path(os.environ.get("HALFSEEN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
MODEL = Path(pocketsphinx.get_model_path(), "en-us")
STEP, LATER = 0.01, 0.0078
TOLERANCES = (0.02, 0.05)
SLACK = 0.005  # of boundaries that are to be within two standard deviations

Times = list[tuple[float, float]]


class Recording(NamedTuple):
    """Sound between -1 and 1, its words, and where words and the phones of each word are."""

    sound: Any
    words: list[str]
    at: Times
    phones: list[Times]


class Found(NamedTuple):
    """Where words and their phones were found, with the standard deviation of each start if it is given."""

    at: Times
    phones: list[Times]
    sd: Sequence[float] = ()


# ---- recordings ------------------------------------------------------------------------------------------------------


def of_grids(sound: str, words: tuple[str, str], phones: tuple[str, str]) -> Iterator[Recording]:
    """Yield a recording with times in TextGrids: file and tier of words and of phones."""
    tiers = [
        [part for part in hs.read_textgrid(DATA / f"{name}.TextGrid")[tier] if part.text.strip()]
        for name, tier in (words, phones)
    ]
    inside = [
        [(p.start, p.end) for p in tiers[1] if word.start <= (p.start + p.end) / 2 < word.end] for word in tiers[0]
    ]
    names = [part.text.strip().lower() for part in tiers[0]]
    yield Recording(read(DATA / f"{sound}.wav"), names, [(part.start, part.end) for part in tiers[0]], inside)


def of_espeak() -> Iterator[Recording]:
    """Yield synthetic speech; a row of words.csv may be of two words, whose inner boundary is not known."""
    rows = {}
    for name in ("words", "phones"):
        with open(DATA / "espeak_dev" / f"{name}.csv", newline="") as file:
            rows[name] = list(csv.DictReader(file))
    for path in sorted((DATA / "espeak_dev").glob("*.wav")):
        rate = wavfile.read(path)[0]
        own = {name: [r for r in listed if r["file"] == path.name] for name, listed in rows.items()}
        names: list[str] = []
        at: Times = []
        phones: list[Times] = []
        for row in own["words"]:
            (start, end), parts = sample_span(row, rate), row["word"].split()
            phones_at = [sample_span(phone, rate) for phone in own["phones"]]
            inside = [at_phone for at_phone in phones_at if start <= sum(at_phone) / 2 < end]
            cuts = [start, *[np.nan] * (len(parts) - 1), end]
            names += parts
            at += itertools.pairwise(cuts)
            phones += [inside if len(parts) == 1 else []] * len(parts)
        yield Recording(read(path), names, at, phones)


def sample_span(row: Any, rate: int) -> tuple[float, float]:
    """Return start and end of a row of a table, in seconds."""
    return int(row["start_sample"]) / rate, int(row["end_sample"]) / rate


def of_digits() -> Iterator[Recording]:
    """Yield sequences of ten digits of a speaker, joined."""
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for speaker in ("jackson", "theo"):
        for take in range(10):
            order = np.random.default_rng(take).permutation(10)
            parts = [read(DATA / "fsdd" / f"{digit}_{speaker}_{take}.wav") for digit in order]
            cuts = np.cumsum([0, *map(len, parts)]) / RATE
            at = list(itertools.pairwise(cuts.tolist()))
            yield Recording(np.concatenate(parts), [names[digit] for digit in order], at, [[]] * 10)


def read(path: Path) -> Any:
    """Return sound at 16 kHz, rounded to 16 bits as pocketsphinx takes it."""
    sound = at_16_khz(*hs.read_sound(path))
    return np.clip(np.round(sound * 32768), -32768, 32767) / 32768


CORPORA = {
    "speech_mfa": lambda: of_grids(
        "speech_mfa/acoustic_corpus",
        ("speech_mfa/acoustic_corpus", "words"),
        ("speech_mfa/acoustic_corpus", "phones"),
    ),
    "praatio bobby": lambda: of_grids(
        "speech_praatio/bobby", ("speech_praatio/bobby_words", "word"), ("speech_praatio/bobby_phones", "phone")
    ),
    "praatio mary": lambda: of_grids(
        "speech_praatio/mary", ("speech_praatio/mary", "word"), ("speech_praatio/mary", "phone")
    ),
    "espeak_dev": of_espeak,
    "fsdd, ten digits": of_digits,
}


# ---- aligners --------------------------------------------------------------------------------------------------------


class Ours:
    """`read_sphinx`."""

    def __init__(self, dictionary: Any) -> None:
        self.model = hs.read_sphinx(MODEL / "en-us", dictionary, n_jobs=1)

    def align(self, one: Recording) -> Found:
        """Return the words and phones of a recording."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.wav")
            wavfile.write(path, RATE, np.round(one.sound * 32768).astype(np.int16))
            given = {"a": " ".join(one.words)}
            corpus = hs.AudioFolder(path, transcripts=given, words=set(one.words), features=self.model.front_end_)
            [found] = self.model.align(corpus, [one.words])
        phones: list[Times] = [[] for _ in one.words]
        for part in found.units:
            if part.word >= 0:
                phones[part.word].append((part.start, part.end))
        return Found([(w.start, w.end) for w in found.words], phones, [w.start_sd for w in found.words])


class Theirs:
    """Pocketsphinx, with the options of its model but without the removal of noise."""

    def __init__(self, dictionary: Any) -> None:
        folder = Path(tempfile.mkdtemp())
        options = (MODEL / "en-us" / "feat.params").read_text().replace("remove_noise yes", "remove_noise no")
        (folder / "feat.params").write_text(options)
        lines = [
            f"{word}{f'({i + 1})' if i else ''} {' '.join(way)}"
            for word, ways in dictionary.items()
            for i, way in enumerate(ways)
        ]
        (folder / "words.dict").write_text("\n".join(lines) + "\n")
        self.decoder = pocketsphinx.Decoder(
            hmm=str(MODEL / "en-us"), featparams=str(folder / "feat.params"), dict=str(folder / "words.dict"), lm=None,
            loglevel="FATAL",
        )  # fmt: skip

    def _pass(self, sound: bytes) -> None:
        self.decoder.start_utt()
        self.decoder.process_raw(sound, full_utt=True)
        self.decoder.end_utt()

    def align(self, one: Recording) -> Found | None:
        """Return the words and phones of a recording; None if pocketsphinx does not reach the end of the text."""
        sound = np.round(one.sound * 32768).astype("<i2").tobytes()
        self.decoder.set_align_text(" ".join(one.words))
        try:
            self._pass(sound)
            if self.decoder.hyp() is None:
                return None
            self.decoder.set_alignment()
            self._pass(sound)
        except RuntimeError:  # "Failed to stop utterance processing": no path reached the end
            return None
        alignment = self.decoder.get_alignment()  # its entries are valid as long as it is
        entries = [(w.name.split("(")[0], span(w), [span(p) for p in w]) for w in alignment if w.name[0] not in "<["]
        if [name for name, _, _ in entries] != one.words:  # it ended in the middle of the text
            return None
        return Found([at for _, at, _ in entries], [phones for _, _, phones in entries])


def span(part: Any) -> tuple[float, float]:
    """Return start and end of an entry of pocketsphinx, in seconds."""
    return part.start * STEP, (part.start + part.duration) * STEP


# ---- comparison ------------------------------------------------------------------------------------------------------


def errors(truth: Recording, found: Found, later: float = 0.0) -> tuple[Any, Any]:
    """Return the errors of all boundaries of words, and of phones in words with as many phones as in the truth."""
    words = np.array(found.at) - np.array(truth.at) + later
    pairs = [(a, b) for a, b in zip(found.phones, truth.phones, strict=True) if len(a) == len(b) and b]
    phones = [np.array(a) - np.array(b) + later for a, b in pairs]
    return words.ravel(), np.concatenate(phones).ravel() if phones else np.zeros(0)


def shares(found: Any) -> str:
    """Return the shares of boundaries within the tolerances."""
    known = np.abs(found[~np.isnan(found)])
    return (
        "  ".join(f"{(known <= limit + 1e-9).mean():5.1%}" for limit in TOLERANCES) if len(known) else "     -       -"
    )


def run(name: str, corpus: Sequence[Recording], aligners: dict[str, Any]) -> None:
    """Print a line for each aligner."""
    seconds = sum(len(one.sound) for one in corpus) / RATE
    for which, aligner in aligners.items():
        begun = time.process_time()
        found = [aligner.align(one) for one in corpus]
        used = time.process_time() - begun
        pairs = [(one, result) for one, result in zip(corpus, found, strict=True) if result is not None]
        lost = "" if len(pairs) == len(corpus) else f"  ({len(corpus) - len(pairs)} of {len(corpus)} not aligned)"
        for later in (0.0,) if which == "halfseen" else (0.0, LATER):
            both = [np.concatenate(part) for part in zip(*(errors(*pair, later) for pair in pairs), strict=True)]
            label = f"{which}{', centred' if later else ''}"
            print(f"{name:17}{label:23}{shares(both[0])}   {shares(both[1])}   {seconds / used:6.0f}x{lost}")
        if pairs[0][1].sd:
            starts = np.concatenate([np.array(f.at)[:, 0] - np.array(one.at)[:, 0] for one, f in pairs])
            sd = np.concatenate([f.sd for _, f in pairs])
            known = ~np.isnan(starts)
            inside = (np.abs(starts) <= 2 * sd + SLACK + 1e-9)[known].mean()
            print(f"{'':17}  starts of words within 2 sd + 5 ms: {inside:.1%}; median sd {np.median(sd) * 1000:.1f} ms")


def main(names: Sequence[str]) -> None:
    """Compare on the corpora named, or on all."""
    corpora = {name: list(CORPORA[name]()) for name in names or CORPORA}
    words = sorted({word for corpus in corpora.values() for one in corpus for word in one.words})
    known = hs.read_dictionary(MODEL / "cmudict-en-us.dict")
    dictionary = hs.pronunciations_of(words, dictionary={word: known[word] for word in words if word in known})
    print(dictionary)
    print(f"{'':40}words: 20 ms  50 ms   phones: 20 ms  50 ms   times real time")
    aligners = {"halfseen": Ours(dictionary), "pocketsphinx": Theirs(dictionary)}
    for name, corpus in corpora.items():
        run(name, corpus, aligners)


if __name__ == "__main__":
    main(sys.argv[1:])
