"""Folders of recordings with their transcripts.

    corpus/anna/one.wav   corpus/anna/one.txt      a transcript: .txt, .lab, .TextGrid, .srt or .vtt of the same name
    corpus/ben/two.wav    corpus/ben/two.TextGrid  folders are speakers

With captions (.srt, .vtt) every caption is an utterance: the sound around its time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.encodings import read_text
from halfseen.errors import DataError
from halfseen.families.transcript.sound.features import STEP, mfcc
from halfseen.families.transcript.sound.wav import read_wav
from halfseen.families.transcript.written.captions import read_captions
from halfseen.families.transcript.written.textgrid import read_textgrid

__all__ = ["AudioFolder", "Recording", "words_of"]

TEXTS = (".lab", ".txt", ".TextGrid", ".textgrid", ".srt", ".vtt")
TIERS = ("words", "word", "transcript", "utterance", "phones", "phone")  # of a TextGrid, the first that exists
MEMORY = 1 << 29  # bytes of features to cache; others are computed again in every pass
QUIET = 0.15  # of the range of the log-energy, above its lowest frames
AROUND = 0.5  # seconds of sound that a caption gets on both sides, at most to the middle of the adjacent pause
EDGES = '.,;:!?"“”„()[]{}«»…—–-*_/\\'


class Recording(NamedTuple):
    """An utterance: its sound and its transcript.

    Attributes
    ----------
    name : str                path below the folder, without its extension; of a caption, with its number: "news#3"
    path : Path
    words : tuple of str
    speaker : str
    start : float             seconds at which it begins in the file
    end : float or None       and ends; None: at the end of the file
    text : str                the transcript as written in the file
    """

    name: str
    path: Path
    words: tuple[str, ...]
    speaker: str
    start: float = 0.0
    end: float | None = None
    text: str = ""


class AudioFolder(Sequence[NDArray[np.float64]]):
    """The features of all recordings of a folder, computed at access; `TranscriptAligner` accepts it.

    Features are 13 mel-frequency cepstra with their slopes every 10 ms (`mfcc`), minus the mean over all
    recordings of a speaker if folders name speakers, else over the recording.

    Parameters
    ----------
    folder : path             a folder, or one WAV file
    transcripts : mapping, optional
        Transcripts by the name of the recording ("anna/one", with or without .wav), instead of files next to them.
        The name may be without its folder ("one") if it is unique.
    words : collection, optional
        Known words, such as a pronunciation dictionary: they define the spelling ("Don't" may be "don't").
    tier : str, optional
        Tier of TextGrid files that has the words; by default the first of words, word, transcript, utterance, phones,
        phone, or the first tier.
    needs_text : bool, default True
        Leave out recordings without a transcript; `without_text` names them. False: keep them, with no words.
    deltas : {0, 1, 2}, default 1
        Add slopes, and slopes of slopes, to the cepstra: more distinguish units better, fewer locate boundaries better.
    step : float, default 0.01
    memory : int              bytes of features to keep in memory

    Attributes
    ----------
    recordings : list of Recording
    names : list of str
    transcripts : list of tuples of str
    without_text : list of str

    Examples
    --------
    >>> corpus = hs.AudioFolder("corpus/", words=dictionary)  # doctest: +SKIP
    >>> aligner = hs.TranscriptAligner(dictionary=dictionary, silence="sil", step=corpus.step)  # doctest: +SKIP
    >>> found = aligner.fit(corpus, corpus.transcripts).align(corpus, corpus.transcripts)  # doctest: +SKIP
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        transcripts: Mapping[str, str] | None = None,
        words: Collection[str] | None = None,
        tier: str | None = None,
        needs_text: bool = True,
        deltas: int = 1,
        step: float = STEP,
        memory: int = MEMORY,
    ) -> None:
        self.folder, self.step, self.deltas, self.memory = Path(folder), step, deltas, memory
        self.without_text: list[str] = []
        self._given = None if transcripts is None else dict(transcripts)
        self.recordings = list(self._found(words, tier, needs_text))
        if not self.recordings:
            lacking = self._no_transcripts_message() if self.without_text else ""
            raise DataError(f"{self.folder}: no recording (.wav) with a transcript was found.{lacking}")
        self._kept: dict[int, NDArray[np.float64]] = {}
        self._size = 0
        self._means: dict[str, NDArray[np.float64]] = {}

    def _no_transcripts_message(self) -> str:
        """Return why no recording has a transcript."""
        if self._given is None:
            return f" {len(self.without_text)} have no {', '.join(TEXTS)} next to them."
        given, without = (", ".join(map(repr, list(names)[:3])) for names in (self._given, self.without_text))
        return f" Transcripts: {given}; recordings: {without}."

    @property
    def names(self) -> list[str]:
        """The name of each utterance."""
        return [found.name for found in self.recordings]

    @property
    def transcripts(self) -> list[tuple[str, ...]]:
        """The transcript of each utterance."""
        return [found.words for found in self.recordings]

    def __len__(self) -> int:
        return len(self.recordings)

    def __getitem__(self, b: Any) -> Any:
        if isinstance(b, slice):
            return [self[i] for i in range(*b.indices(len(self)))]
        if b not in self._kept:
            found = self._features(self.recordings[b])
            if self._size + found.nbytes > self.memory:
                return found
            self._kept[b] = found
            self._size += found.nbytes
        return self._kept[b]

    def samples(self, b: int) -> tuple[NDArray[np.float64], int]:
        """Return the sound of an utterance and its rate."""
        return _clip(self.recordings[b])

    def quiet(self, share: float = QUIET) -> NDArray[np.float64]:
        """Return the frames whose log-energy is in the lowest `share` of its range in a recording: mostly silence.

        They are examples of silence to start from if recordings are long: ``TranscriptAligner(silence="sil",
        start={"sil": corpus.quiet()})``.
        """
        found = []
        for frames in self:
            low, high = np.quantile(frames[:, 0], [0.02, 0.95])
            found.append(frames[frames[:, 0] <= low + share * (high - low)])
        return np.concatenate(found)

    def _features(self, found: Recording) -> NDArray[np.float64]:
        cepstra = self._cepstra(found)
        if found.speaker not in self._means:
            total, n_frames = np.zeros(13), 0
            for other in self.recordings:  # in their order, independent of the order of access
                if other.speaker == found.speaker:
                    own = cepstra if other is found else self._cepstra(other)
                    total, n_frames = total + own[:, :13].sum(axis=0), n_frames + len(own)
            self._means[found.speaker] = total / n_frames
        cepstra[:, :13] -= self._means[found.speaker]
        return cepstra

    def _cepstra(self, found: Recording) -> NDArray[np.float64]:
        samples, rate = _clip(found)
        return mfcc(samples, rate, deltas=self.deltas, normalise=False, step=self.step)

    # ---- files ---------------------------------------------------------------------------------------------------

    def _found(self, known: Collection[str] | None, tier: str | None, needs_text: bool) -> Iterator[Recording]:
        if not self.folder.exists():
            raise DataError(f"{self.folder}: there is no such folder.")
        root = self.folder.parent if self.folder.is_file() else self.folder
        waves = [self.folder] if self.folder.is_file() else sorted(_waves(self.folder))
        bare = Counter(path.name for path in waves)
        for path in waves:
            inside = path.relative_to(root)
            name = inside.with_suffix("").as_posix()
            speaker = inside.parent.as_posix() if len(inside.parts) > 1 else name
            if self._given is not None:
                transcript = self._given.get(name, self._given.get(inside.as_posix()))
                if transcript is None and bare[path.name] == 1:  # not one for two speakers
                    transcript = self._given.get(path.name, self._given.get(path.stem))
                if transcript is None:
                    self.without_text.append(name)
                if transcript is not None or not needs_text:
                    yield Recording(name, path, words_of(transcript or "", known), speaker, text=transcript or "")
                continue
            text = next((path.with_suffix(end) for end in TEXTS if path.with_suffix(end).exists()), None)
            if text is None:
                self.without_text.append(name)
                if not needs_text:
                    yield Recording(name, path, (), speaker)
            elif text.suffix in (".srt", ".vtt"):
                yield from _captioned(name, path, text, speaker, known)
            else:
                transcript = _transcript_of(text, tier)
                yield Recording(name, path, words_of(transcript, known), speaker, text=transcript)


@lru_cache(maxsize=1)
def _loaded(path: Path, changed: int) -> tuple[NDArray[np.float64], int]:
    """Return the sound of a file as it was last `changed`; cached because all captions of a file use it."""
    return read_wav(path)


def _clip(found: Recording) -> tuple[NDArray[np.float64], int]:
    samples, rate = _loaded(found.path, found.path.stat().st_mtime_ns)
    last = None if found.end is None else round(found.end * rate)
    clip = samples[round(found.start * rate) : last]
    if not len(clip):
        raise DataError(f"{found.name}: the utterance begins at {found.start:.6g} s, after the end of {found.path}.")
    return clip, rate


def _waves(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix.lower() == ".wav")


def _transcript_of(path: Path, tier: str | None) -> str:
    """Return the text of a transcript file."""
    if path.suffix.lower() != ".textgrid":
        return " ".join(read_text(path).split())
    tiers = read_textgrid(path)
    chosen = tier if tier is not None else next((name for name in TIERS if name in tiers), next(iter(tiers), None))
    if chosen is None or chosen not in tiers:
        raise DataError(f"{path}: there is no tier {chosen!r}. Tiers: {', '.join(tiers) or 'none'}.")
    return " ".join(interval.text.strip() for interval in tiers[chosen] if interval.text.strip())


def _captioned(name: str, path: Path, text: Path, speaker: str, known: Collection[str] | None) -> Iterator[Recording]:
    """Yield an utterance for each caption: its time, and up to half of the adjacent pauses."""
    captions = sorted(read_captions(text))
    for i, (start, end, transcript) in enumerate(captions):
        words = words_of(transcript, known)
        if not words:
            continue
        before = captions[i - 1].end if i else -np.inf
        after = captions[i + 1].start if i + 1 < len(captions) else np.inf
        low = max(start - AROUND, min((before + start) / 2, start), 0.0)
        high = min(end + AROUND, max((after + end) / 2, end))
        yield Recording(f"{name}#{i + 1}", path, words, speaker, low, high, transcript)


def words_of(text: str, known: Collection[str] | None = None) -> tuple[str, ...]:
    r"""Return the words of a text, spelled as in the dictionary; without one, in lower case without punctuation.

    Examples
    --------
    >>> words_of('"Don\'t," she said.', {"don't", "SHE"})
    ("don't", 'SHE', 'said')
    """
    found = []
    for token in text.replace("’", "'").split():
        bare = token.strip(EDGES)
        forms = (token, bare, bare.lower(), bare.upper(), bare.strip("'").lower(), bare.strip("'").upper())
        word = next((form for form in forms if known and form in known), bare.lower())
        if word:
            found.append(word)
    return tuple(found)
