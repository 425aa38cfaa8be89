"""Voices of Debian's free synthesisers, each of which tells when its phones end: espeak-ng, flite, festival.

Phones are written as in the CMU dictionary, in upper case without stress. A segment may have two of them where a
synthesiser has one sound for both.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import halfseen as hs
from halfseen.families.transcript.phones import FESTIVAL, SIL, espeak_table
from tests.espeak import speaker


class Part(NamedTuple):
    """A stretch of sound: its phones, and the seconds at which it begins and ends."""

    phones: tuple[str, ...]
    start: float
    end: float


class Spoken(NamedTuple):
    """A sentence of a voice: its sound and the parts of it."""

    voice: str
    samples: np.ndarray
    rate: int
    parts: list[Part]


def espeak(voice: str, rhotic: bool, **how: int) -> Callable[[str], Spoken]:
    """Return a voice of espeak-ng's library; `how` are its parameters."""
    say = speaker(voice)
    assert say is not None, f"espeak-ng has no voice {voice}; install it, on Debian: apt-get install espeak-ng"
    table = espeak_table(rhotic)

    def spoken(text: str) -> Spoken:
        said = say(text, **how)
        ends = [start for _, start in said.phones[1:]] + [len(said.samples) / said.rate]
        parts = [Part((SIL,), 0.0, said.phones[0][1])]
        for (name, start), end in zip(said.phones, ends, strict=True):
            phones = (SIL,) if not name or name.startswith("_") else tuple(table[name].split()) if name != ";" else ()
            if phones:
                parts.append(Part(phones, start, end))
            else:  # a mark of palatalisation belongs to the consonant before it
                parts[-1] = parts[-1]._replace(end=end)
        return Spoken(voice, said.samples, said.rate, [part for part in parts if part.end > part.start])

    return spoken


def flite(voice: str) -> Callable[[str], Spoken]:
    """Return a voice of flite."""

    def spoken(text: str) -> Spoken:
        with tempfile.TemporaryDirectory() as folder:
            wav = Path(folder, "a.wav")
            ran = subprocess.run(
                ["flite", "-voice", voice, "-psdur", "-t", text, "-o", str(wav)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            samples, rate = hs.read_wav(wav)
        ends = [(name, float(end)) for name, _, end in (item.rpartition(":") for item in ran.stdout.split())]
        return Spoken(f"flite {voice}", samples, rate, list(_parts(ends)))

    return spoken


def festival(voice: str, texts: Sequence[str]) -> Iterator[Spoken]:
    """Yield sentences of a voice of festival, which is started once for all of them."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"(voice_{voice})"]
        for i, text in enumerate(texts):
            lines += [
                f'(set! u (utt.synth (Utterance Text "{text}.")))',
                f'(utt.save.wave u "{folder}/{i}.wav" \'riff)',
                f'(utt.save.segs u "{folder}/{i}.seg")',
            ]
        script = Path(folder, "all.scm")
        script.write_text("\n".join(lines))
        subprocess.run(["festival", "-b", str(script)], check=True, capture_output=True)
        for i in range(len(texts)):
            rows = [line.split() for line in Path(folder, f"{i}.seg").read_text().splitlines()]
            ends = [(row[2], float(row[0])) for row in rows if len(row) == 3]
            yield Spoken(f"festival {voice}", *hs.read_wav(Path(folder, f"{i}.wav")), list(_parts(ends)))


def _parts(ends: Sequence[tuple[str, float]]) -> Iterator[Part]:
    """Yield parts from phones of Carnegie Mellon's synthesisers and their ends."""
    start = 0.0
    for name, end in ends:
        if end > start:
            yield Part(tuple(FESTIVAL.get(name.upper(), name.upper()).split()), start, end)
        start = end
