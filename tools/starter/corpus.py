"""The speech of the starter model: which voices say what, and what is done to the sound, so that a model hears much.

- *take*: sentences of one voice in one file, with pauses between them, as it sounds in some room and over some line.
- *cast*: a voice and how it is called. Those of `TESTED` are never trained on, those of `TUNING` neither: with them the
  acoustic scale, the jitter of boundaries and the typical likelihood are estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.io import wavfile

from halfseen.families.transcript.phones import SIL
from tools.starter.rooms import recorded
from tools.starter.texts import sentences
from tools.starter.voices import Part, Spoken, espeak, festival, flite

TOGETHER = 3  # sentences of a take


class Cast(NamedTuple):
    """A voice: its name, how it says sentences, how many takes it has, and how its rate is changed."""

    name: str
    say: Callable[[Sequence[str]], Iterator[Spoken]]
    takes: int
    warps: tuple[float, ...] = (1.0,)


class Take(NamedTuple):
    """A file of speech: its sound, its parts with their times, and its sentences."""

    name: str
    samples: np.ndarray
    rate: int
    parts: list[Part]
    texts: list[str]


def _espeak(voice: str, rate: int, pitch: int, takes: int = 8, warps: tuple[float, ...] = (1.0,)) -> Cast:
    rhotic = voice.startswith(("en-us", "en-gb-scotland"))

    def say(texts: Sequence[str]) -> Iterator[Spoken]:
        return map(_speaking(espeak, voice, rhotic, rate=rate, pitch=pitch), texts)

    return Cast(f"espeak {voice}", say, takes, warps)


def _speaking(make: Callable[..., Callable[[str], Spoken]], *given: object, **how: int) -> Callable[[str], Spoken]:
    return make(*given, **how)


def _flite(voice: str, takes: int, warps: tuple[float, ...]) -> Cast:
    return Cast(f"flite {voice}", lambda texts: map(flite(voice), texts), takes, warps)


def _festival(voice: str, takes: int, warps: tuple[float, ...]) -> Cast:
    return Cast(f"festival {voice}", lambda texts: festival(voice, texts), takes, warps)


WIDE = (1.0, 0.9, 1.1, 1.2)  # voices of a longer and of shorter throats
TRAINING = (
    _flite("rms", 24, WIDE),
    _flite("slt", 24, (1.0, 0.85, 0.93, 1.08)),
    _festival("kal_diphone", 16, WIDE),
    _festival("cmu_us_slt_arctic_hts", 12, (1.0, 0.85, 0.93, 1.08)),
    _espeak("en-us", 150, 40),
    _espeak("en-us+f2", 165, 55),
    _espeak("en-us+m3", 140, 35),
    _espeak("en-us+klatt2", 150, 45),
    _espeak("en-us+f5", 175, 60),
    _espeak("en-us+steph", 150, 50),
    _espeak("en-us+michael", 130, 45),
    _espeak("en-gb-x-rp", 150, 45),
    _espeak("en-gb-x-rp+f4", 160, 55),
    _espeak("en-gb-x-gbclan+m1", 150, 40),
    _espeak("en-gb-scotland+m7", 145, 45),
    _espeak("en-us-nyc+f3", 160, 50),
    _espeak("en-029+m4", 150, 45),
)
TUNING = (_espeak("en-gb-x-gbcwmd+linda", 150, 50), _festival("ked_diphone", 8, WIDE))
TESTED = (_espeak("en", 160, 50), _espeak("en-us+belinda", 150, 55), _flite("awb", 8, (1.0,)))


def takes(cast: Sequence[Cast], seed: int, plain: bool = False) -> Iterator[Take]:
    """Yield the takes of voices; the texts follow from the seed. `plain`: the sound is left as it is."""
    rng = np.random.default_rng(seed)
    texts = sentences(TOGETHER * sum(voice.takes for voice in cast), seed)
    for voice in cast:
        own, texts = texts[: TOGETHER * voice.takes], texts[TOGETHER * voice.takes :]
        said = list(voice.say(own))
        for i in range(voice.takes):
            group = slice(TOGETHER * i, TOGETHER * (i + 1))
            take = _joined(f"{voice.name} {i}", said[group], own[group], rng)
            yield take if plain else _recorded(_warped(take, voice.warps[i % len(voice.warps)]), rng)


def _joined(name: str, said: Sequence[Spoken], texts: list[str], rng: np.random.Generator) -> Take:
    """Return sentences in one file, with silence around each."""
    rate, at, sounds, parts = said[0].rate, 0.0, [], []
    for spoken in said:
        n_quiet = int(rng.uniform(0.1, 0.6) * rate)
        sounds += [np.zeros(n_quiet), spoken.samples]
        parts.append(Part((SIL,), at, at + n_quiet / rate))
        at += n_quiet / rate
        length = len(spoken.samples) / rate
        inside = [part._replace(end=min(part.end, length)) for part in spoken.parts if part.start < length]
        parts += [part._replace(start=at + part.start, end=at + part.end) for part in inside]
        if inside[-1].end < length:
            parts.append(Part((SIL,), at + inside[-1].end, at + length))
        at += length
    return Take(name, np.concatenate(sounds), rate, parts, texts)


def _warped(take: Take, factor: float) -> Take:
    """Return a take played at another speed: its pitch and formants change as with the size of the speaker."""
    rate = round(take.rate * factor)
    exact = take.rate / rate
    parts = [part._replace(start=part.start * exact, end=part.end * exact) for part in take.parts]
    return take._replace(rate=rate, parts=parts)


def _recorded(take: Take, rng: np.random.Generator) -> Take:
    """Return a take as recorded somewhere."""
    pauses = [(part.start, part.end) for part in take.parts if part.phones == (SIL,)]
    samples, rate = recorded(take.samples, take.rate, pauses, rng)
    return take._replace(samples=samples, rate=rate)


def write(takes: Iterator[Take], folder: Path) -> list[Take]:
    """Write the sound and the text of takes to a folder, and return them in the order of `AudioFolder`."""
    found = {}
    for take in takes:
        name = take.name.replace(" ", "_")
        loudest = max(1.0, np.abs(take.samples).max())
        wavfile.write(folder / f"{name}.wav", take.rate, (take.samples * 32767 / loudest).astype(np.int16))
        (folder / f"{name}.txt").write_text(" ".join(take.texts))
        found[name] = take
    return [found[name] for name in sorted(found)]
