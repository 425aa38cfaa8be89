"""Speech whose times are known, for `benchmarks.speech`: sentences said by espeak-ng, and recordings with labels.

espeak-ng tells when each phone begins. For a stop it means the release: the closure before it, which is digital silence
in its sound, counts to the phone before. Phonetics, hand labels and aligners count the closure to the stop.
`closures_of` therefore moves the start of a stop to where the silence before it begins, which is exact.
"""

from __future__ import annotations

import csv
import re
import subprocess
import wave
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen import read_wav
from tests.espeak import speaker

Floats = NDArray[np.float64]

# Sentences and voices that defaults were chosen with.
DEVELOPMENT = """
the birch canoe slid on the smooth planks
glue the sheet to the dark blue background
it is easy to tell the depth of a well
these days a chicken leg is a rare dish
rice is often served in round bowls
the juice of lemons makes fine punch
the box was thrown beside the parked truck
four hours of steady work faced us
a large size in stockings is hard to sell
the boy was there when the sun rose
a rod is used to catch pink salmon
the source of the huge river is the clear spring
kick the ball straight and follow through
help the woman get back to her feet
a pot of tea helps to pass the evening
smoky fires lack flame and heat
the soft cushion broke the fall
the salt breeze came across from the sea
the girl at the booth sold fifty bonds
the small pup gnawed a hole in the sock
the fish twisted and turned on the bent hook
press the pants and sew a button on the vest
the swan dive was far short of perfect
the beauty of the view stunned the young boy
two blue fish swam in the tank
her purse was full of useless trash
the colt reared and threw the tall rider
it snowed and rained and hailed the same morning
read verse out loud for pleasure
hoist the load to your left shoulder
take the winding path to reach the lake
note closely the size of the gas tank
wipe the grease off his dirty face
mend the coat before you go out
the wrist was badly strained and hung limp
the stray cat gave birth to kittens
the young girl gave no clear response
the meal was cooked before the bell rang
what joy there is in living
a king ruled the state in the early days
"""

# Sentences and voices that no choice was made with.
TEST = """
our garden gate squeaks when the north wind blows
the teacher drew a yellow circle on the board
fresh coffee and warm toast are waiting downstairs
nobody noticed the quiet visitor in the corner
each autumn the geese fly south above this valley
a thin sheet of ice covered the village pond
they argued about money for over an hour
put the heavy suitcase behind the wooden chair
my cousin repairs old watches in his workshop
the train to the coast leaves at half past nine
few people remember who built that bridge
she poured milk over a bowl of strawberries
the judge asked the witness to speak louder
bright stars shone above the empty desert
every child in the choir knew the song by heart
an owl was hooting somewhere near the barn
we should paint the fence before the rain begins
the nurse gave him two pills and a glass of water
loud music kept the neighbours awake all night
this map shows where the treasure was buried
his grandfather fished in these waters for years
the lawyer shut the folder and smiled
a narrow path leads up to the castle ruins
would you rather have soup or salad today
the boat drifted slowly toward the rocky shore
cheese from this farm wins prizes in france
the young painter mixed green and orange
please return these books to the library on thursday
a sudden noise frightened the sleeping puppy
the mayor will open the new museum tomorrow
rust had eaten through the iron chain
good weather is expected until the weekend
the pilot checked the gauges once again
her voice was calm although her hands were shaking
dust danced in the beam of yellow light
the baker sells brown bread and jam doughnuts
we found an ancient coin beneath the oak
thick fog hid the top of the tower
the queen wore a purple robe with gold buttons
he measured the width of the door twice
"""

STOPS = frozenset(["p", "b", "t", "d", "k", "g", "tS", "dZ", "p#", "t#", "k#", "?", "t2", "d#"])
CLOSED = 2e-4  # samples of a closure are below this: the synthesiser writes zeros


class Utterance(NamedTuple):
    """A recording and its truth.

    Attributes
    ----------
    name : str
    samples, rate : sound
    phones : tuple of (phone, start in seconds)     without pauses
    words : tuple of (word, number of its first phone)
    closures : tuple of float     starts of the phones, in seconds, if stops begin with their closures
    """

    name: str
    samples: Floats
    rate: int
    phones: tuple[tuple[str, float], ...]
    words: tuple[tuple[str, int], ...]
    closures: tuple[float, ...]

    @property
    def pronounced(self) -> list[tuple[str, str]]:
        """Words with their phones."""
        ends = [*(first for _, first in self.words[1:]), len(self.phones)]
        return [
            (word, " ".join(phone for phone, _ in self.phones[first:end]))
            for (word, first), end in zip(self.words, ends, strict=True)
        ]

    def closed(self) -> Utterance:
        """Return it with stops that begin with their closures."""
        names = [phone for phone, _ in self.phones]
        return self._replace(phones=tuple(zip(names, self.closures, strict=True)))

    def changed(self, samples: Floats, later: float = 0.0) -> Utterance:
        """Return it with other sound, in which everything is later."""
        phones = tuple((phone, start + later) for phone, start in self.phones)
        return self._replace(samples=samples, phones=phones, closures=tuple(start + later for start in self.closures))


def closures_of(samples: Floats, rate: int, phones: Sequence[tuple[str, float]]) -> tuple[float, ...]:
    """Return where phones begin if stops begin with the silence before them."""
    found, before = [], 0.0
    for phone, start in phones:
        at, least = round(start * rate), round(before * rate)
        if phone in STOPS:
            loud = np.flatnonzero(np.abs(samples[least : at + 1]) > CLOSED)
            loud = loud[loud < at - least - round(0.002 * rate)]  # the release may begin just before
            quiet = least + int(loud[-1]) + 1 if len(loud) else least
            start = quiet / rate if start - quiet / rate > 0.005 else start
        found.append(start)
        before = start
    return tuple(found)


def said(sentences: Iterable[str], voices: Sequence[str]) -> list[Utterance]:
    """Return sentences said by voices, each by the next voice; empty where espeak-ng is not installed."""
    found = []
    for i, sentence in enumerate(line.strip() for line in sentences if line.strip()):
        say = speaker(voices[i % len(voices)])
        if say is None:
            return []
        voice = voices[i % len(voices)]
        found.append(_utterance(f"{voice}-{i:02d}", say(sentence), voice, sentence))
    return found


def _utterance(name: str, spoken: Any, voice: str, sentence: str) -> Utterance:
    phones = tuple((phone, start) for phone, start in spoken.phones if phone and not phone.startswith("_"))
    words = [word for word, _ in spoken.words if word]
    firsts = _firsts([phone for phone, _ in phones], _transcribed(voice, sentence))
    if len(words) != len(firsts):
        raise SystemExit(f"{sentence!r}: espeak-ng says {len(words)} words in sound and {len(firsts)} in text")
    closures = closures_of(spoken.samples, spoken.rate, phones)
    return Utterance(name, spoken.samples, spoken.rate, phones, tuple(zip(words, firsts, strict=True)), closures)


def _transcribed(voice: str, sentence: str) -> list[str]:
    """Return the phones of each word as espeak-ng writes them; events do not tell which word a phone is of."""
    program = ["espeak-ng", "-q", "-x", "-v", voice, sentence]
    written = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    return re.sub("[',|_:]+(?= |$)|[',|]", lambda found: found[0] if found[0] == ":" else "", written).split()


def _firsts(phones: Sequence[str], words: Sequence[str]) -> list[int]:
    """Return the number of the first phone of each word."""
    letters, text = "".join(phones), "".join(words)
    phone_of = [i for i, phone in enumerate(phones) for _ in phone]
    matched = {
        b + k: a + k for a, b, n in SequenceMatcher(None, letters, text, False).get_matching_blocks() for k in range(n)
    }
    found, at = [0], len(words[0])
    for word in words[1:]:
        first = next(matched[i] for i in range(at, len(text)) if i in matched)
        found.append(max(phone_of[first], found[-1] + 1))
        at += len(word)
    return found


def recorded(folder: Path) -> list[Utterance]:
    """Return the utterances of `espeak_dev`, whose words get phones by their number in espeak-ng's own sentences."""
    phones: dict[str, list[tuple[str, int]]] = {}
    with open(folder / "phones.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["phone"].startswith("_"):
                phones.setdefault(row["file"], []).append((row["phone"], int(row["start_sample"])))
    found = []
    for line in (folder / "transcripts.tsv").read_text().splitlines():
        file_name, text = line.split("\t")
        samples, rate = read_wav(folder / file_name)
        own = tuple((phone, start / rate) for phone, start in phones[file_name])
        [again] = said([text], ["en"])
        if [phone for phone, _ in again.phones] != [phone for phone, _ in own]:
            raise SystemExit(f"{file_name}: this espeak-ng says other phones than the one that made the file")
        found.append(Utterance(Path(file_name).stem, samples, rate, own, again.words, closures_of(samples, rate, own)))
    return found


def with_noise(spoken: Sequence[Utterance], decibels: float, seed: int = 0) -> list[Utterance]:
    """Return utterances with white noise, so many decibels below their mean power."""
    rng = np.random.default_rng(seed)
    found = []
    for one in spoken:
        sd = np.sqrt(np.mean(one.samples**2) * 10 ** (-decibels / 10))
        found.append(one.changed(one.samples + sd * rng.normal(size=len(one.samples))))
    return found


def with_silence(spoken: Sequence[Utterance], seconds: float) -> list[Utterance]:
    """Return utterances with digital silence at both ends."""
    found = []
    for one in spoken:
        silent = np.zeros(round(seconds * one.rate))
        found.append(one.changed(np.concatenate([silent, one.samples, silent]), len(silent) / one.rate))
    return found


def write(spoken: Sequence[Utterance], folder: Path) -> Path:
    """Write sounds and their texts, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in spoken:
        scaled = np.round(np.clip(one.samples, -1, 1) * 32767).astype("<i2")
        path = folder / f"{one.name}.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(one.rate)
            file.writeframes(scaled.tobytes())
        path.with_suffix(".txt").write_text(" ".join(word for word, _ in one.words), encoding="utf-8")
    return folder


def dictionary_of(*spoken: Sequence[Utterance]) -> Mapping[str, list[str]]:
    """Return all pronunciations that were said, of each word."""
    found: dict[str, list[str]] = {}
    for one in (one for some in spoken for one in some):
        for word, phones in one.pronounced:
            if phones not in found.setdefault(word, []):
                found[word].append(phones)
    return found
