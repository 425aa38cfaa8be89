"""Folders of recordings with their transcripts.

    corpus/anna/one.wav   corpus/anna/one.txt      a transcript: .txt, .lab, .TextGrid, .srt or .vtt of the same name
    corpus/ben/two.flac   corpus/ben/two.TextGrid  folders are speakers

With captions (.srt, .vtt) every caption is an utterance: the sound around its time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.encodings import read_text
from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.sound.endings import SOUNDS
from halfseen.families.transcript.sound.features import N_CEPSTRA
from halfseen.families.transcript.sound.files import read_sound
from halfseen.families.transcript.sound.front_ends import Features, front_end
from halfseen.families.transcript.sound.level import level
from halfseen.families.transcript.written.captions import Caption, read_captions
from halfseen.families.transcript.written.textgrid import read_textgrid
from halfseen.families.transcript.written.tokens import Token, tokens_of, words_of

if TYPE_CHECKING:
    from halfseen.families.transcript.alignment import Alignment

__all__ = ["AudioFolder", "Recording", "words_of"]

TEXTS = (".lab", ".txt", ".TextGrid", ".textgrid", ".srt", ".vtt")
TIERS = ("words", "word", "transcript", "utterance", "phones", "phone")  # of a TextGrid, the first that exists
MEMORY = 1 << 29  # bytes of features to cache; others are computed again in every pass
QUIET = 0.06  # of the range of the log-energy, above its lowest frames: in real speech few frames inside words
LOWEST = 0.02  # quantile of the log-energy that is lowest
AROUND = 0.5  # seconds of sound that a caption gets on both sides, at most to the middle of the adjacent pause


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
    tokens : tuple of Token   the words with their text, lines and sentences
    transcript : Path or None the file of the transcript
    """

    name: str
    path: Path
    words: tuple[str, ...]
    speaker: str
    start: float = 0.0
    end: float | None = None
    text: str = ""
    tokens: tuple[Token, ...] = ()
    transcript: Path | None = None

    @classmethod
    def of(
        cls, name: str, path: Path, text: str, known: Collection[str] | None, speaker: str, **more: Any
    ) -> Recording:
        """Return an utterance with the words of a text."""
        tokens = tokens_of(text, known)
        return cls(name, path, tuple(token.word for token in tokens), speaker, text=text, tokens=tokens, **more)


class AudioFolder(Sequence[NDArray[np.float64]]):
    """The features of all recordings of a folder, computed at access; `TranscriptAligner` accepts it.

    Features are 13 mel-frequency cepstra (`mfcc`), minus their mean over the frames of speech of all recordings of a
    speaker if folders name speakers, else of the recording.

    Parameters
    ----------
    folder : path
        A folder, or one sound file: WAV, and with the library soundfile FLAC, OGG, MP3 and others.
    transcripts : mapping or path, optional
        Transcripts by the name of the recording ("anna/one", with or without .wav), instead of files next to them.
        The name may be without its folder ("one") if it is unique. For one sound file: the file of its transcript.
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
        Seconds from one frame to the next. In clear speech 0.005 locates boundaries better, in twice the time.
    normalise : {"speech", "window", "none"}, default "speech"
        "speech": subtract the mean over the speech of the speaker. "window": that over the speech within 1.5 s of each
        frame, for channels that change. "none": subtract nothing.
    features : str or function, default "mfcc"
        "mfcc", or "sphinx" for acoustic models of CMU Sphinx (`read_sphinx`), or what the `front_end_` of a model says,
        such as "mfcc -deltas 1 -step 0.01", or a function (samples, rate) -> features, of which no mean is subtracted.
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
        transcripts: Mapping[str, str] | str | os.PathLike[str] | None = None,
        words: Collection[str] | None = None,
        tier: str | None = None,
        needs_text: bool = True,
        deltas: int | None = None,
        step: float | None = None,
        normalise: str | bool = "speech",
        features: Features = "mfcc",
        memory: int = MEMORY,
    ) -> None:
        self.folder, self.deltas, self.memory = Path(folder), deltas, memory
        self._front_end = front_end(features, deltas, step, normalise)
        self.step = self._front_end.step
        self.without_text: list[str] = []
        self._given = self._read_given(transcripts)
        self.recordings = list(self._found(words, tier, needs_text))
        if not self.recordings:
            lacking = self._no_transcripts_message() if self.without_text else ""
            kinds = ", ".join(SOUNDS[:4])
            raise DataError(f"{self.folder}: no recording ({kinds}) with a transcript was found.{lacking}")
        self._kept: dict[int, NDArray[np.float64]] = {}
        self._size = 0
        self._means: dict[str, NDArray[np.float64]] = {}

    @property
    def front_end(self) -> str | None:
        """Name of the front end of the features; None for a function."""
        return self._front_end.name

    def _read_given(self, transcripts: Any) -> dict[str, str] | Path | None:
        """Return transcripts by name, or the file of one."""
        if not isinstance(transcripts, str | os.PathLike):
            return None if transcripts is None else dict(transcripts)
        if self.folder.is_dir():
            raise ParameterError(
                f"transcripts={os.fspath(transcripts)!r} is one file, but {self.folder} is a folder. Give a mapping "
                "from names of recordings to transcripts, or put a transcript of the same name beside each recording."
            )
        return Path(transcripts)

    def _no_transcripts_message(self) -> str:
        """Return why no recording has a transcript."""
        if not isinstance(self._given, dict):
            first = self.without_text[0]
            return f" {len(self.without_text)} without a transcript: write that of {first} to {first}.txt beside it."
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

    def with_text(self, alignments: Sequence[Alignment | None]) -> list[Alignment | None]:
        """Return alignments of all utterances with their names and text; `TranscriptAligner.align` calls it."""
        pairs = zip(alignments, self.recordings, strict=True)
        return [None if one is None else one.with_text(found.tokens, found.name) for one, found in pairs]

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

    def quiet(self) -> NDArray[np.float64]:
        """Return the frames of which the log-energy is in the lowest 6 % of its range in a recording: mostly silence.

        They are examples of silence to start from: ``TranscriptAligner(silence="sil", start={"sil": corpus.quiet()})``.
        """
        found = []
        for frames in self:
            low, high = np.quantile(frames[:, 0], LOWEST), level(frames[:, 0])
            found.append(frames[frames[:, 0] <= low + QUIET * (high - low)])
        return np.concatenate(found)

    def _features(self, found: Recording) -> NDArray[np.float64]:
        cepstra = self._cepstra(found)
        if not self._front_end.centred:
            return cepstra
        if found.speaker not in self._means:
            total, n_frames = np.zeros(N_CEPSTRA), 0
            for other in self.recordings:  # in their order, independent of the order of access
                if other.speaker == found.speaker:
                    own = cepstra if other is found else self._cepstra(other)
                    speech = own[self._front_end.speech(own), :N_CEPSTRA]
                    total, n_frames = total + speech.sum(axis=0), n_frames + len(speech)
            self._means[found.speaker] = total / n_frames
        cepstra[:, :N_CEPSTRA] -= self._means[found.speaker]
        return cepstra

    def _cepstra(self, found: Recording) -> NDArray[np.float64]:
        return self._front_end.read(*_clip(found))

    # ---- files ---------------------------------------------------------------------------------------------------

    def _found(self, known: Collection[str] | None, tier: str | None, needs_text: bool) -> Iterator[Recording]:
        if not self.folder.exists():
            raise DataError(f"{self.folder}: there is no such file or folder.")
        root = self.folder.parent if self.folder.is_file() else self.folder
        sounds = [self.folder] if self.folder.is_file() else sorted(_sounds(self.folder))
        bare = Counter(path.name for path in sounds)
        _check_names(sounds)
        for path in sounds:
            inside = path.relative_to(root)
            name = inside.with_suffix("").as_posix()
            speaker = inside.parent.as_posix() if len(inside.parts) > 1 else name
            if isinstance(self._given, Path):
                yield from _transcribed(name, path, self._given, speaker, known, tier)
            elif self._given is not None:
                transcript = self._given.get(name, self._given.get(inside.as_posix()))
                if transcript is None and bare[path.name] == 1:  # not one for two speakers
                    transcript = self._given.get(path.name, self._given.get(path.stem))
                if transcript is None:
                    self.without_text.append(name)
                if transcript is not None or not needs_text:
                    yield Recording.of(name, path, transcript or "", known, speaker)
            elif (text := _beside(path)) is not None:
                yield from _transcribed(name, path, text, speaker, known, tier)
            else:
                self.without_text.append(name)
                if not needs_text:
                    yield Recording(name, path, (), speaker)


@lru_cache(maxsize=1)
def _loaded(path: Path, changed: int) -> tuple[NDArray[np.float64], int]:
    """Return the sound of a file as it was last `changed`; cached because all captions of a file use it."""
    return read_sound(path)


def _clip(found: Recording) -> tuple[NDArray[np.float64], int]:
    samples, rate = _loaded(found.path, found.path.stat().st_mtime_ns)
    last = None if found.end is None else round(found.end * rate)
    clip = samples[round(found.start * rate) : last]
    if not len(clip):
        raise DataError(f"{found.name}: the utterance begins at {found.start:.6g} s, after the end of {found.path}.")
    return clip, rate


def _sounds(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix.lower() in SOUNDS)


def _check_names(sounds: Sequence[Path]) -> None:
    """Refuse recordings whose names differ in their extensions only: they would have one transcript and one result."""
    seen: dict[Path, Path] = {}
    for path in sounds:
        other = seen.setdefault(path.with_suffix(""), path)
        if other != path:
            raise DataError(f"{other} and {path.name} have the same name. Keep one of them, or rename one.")


def _beside(path: Path) -> Path | None:
    """Return the transcript next to a recording."""
    return next((path.with_suffix(end) for end in TEXTS if path.with_suffix(end).exists()), None)


def _transcribed(
    name: str, path: Path, text: Path, speaker: str, known: Collection[str] | None, tier: str | None
) -> Iterator[Recording]:
    """Yield the utterances of a recording whose transcript is in a file."""
    if not text.exists():
        raise DataError(f"{text}: there is no such file of a transcript.")
    if text.suffix.lower() in (".srt", ".vtt"):
        yield from _captioned(name, path, text, speaker, known)
        return
    if text.suffix.lower() not in (ending.lower() for ending in TEXTS):
        kinds = ", ".join(ending for ending in TEXTS if ending != ".textgrid")
        raise DataError(f"{text}: a transcript is one of {kinds}. Save it as plain text, for example.")
    found = Recording.of(name, path, _transcript_of(text, tier), known, speaker, transcript=text)
    if not found.words and found.text.strip():
        raise DataError(f"{text}: the transcript has no words that are spoken: {found.text.strip()!r:.60}.")
    yield found


def _transcript_of(path: Path, tier: str | None) -> str:
    """Return the text of a transcript file; the intervals of a TextGrid are lines if most are of several words."""
    if path.suffix.lower() != ".textgrid":
        return read_text(path)
    tiers = read_textgrid(path)
    chosen = tier if tier is not None else next((name for name in TIERS if name in tiers), next(iter(tiers), None))
    if chosen is None or chosen not in tiers:
        raise DataError(f"{path}: there is no tier {chosen!r}. Tiers: {', '.join(tiers) or 'none'}.")
    texts = [interval.text.strip() for interval in tiers[chosen] if interval.text.strip()]
    return ("\n" if 2 * sum(" " in text for text in texts) > len(texts) else " ").join(texts)


def _captioned(name: str, path: Path, text: Path, speaker: str, known: Collection[str] | None) -> Iterator[Recording]:
    """Yield an utterance for each caption with words: its time, and up to half of the adjacent pauses."""
    captions = sorted(read_captions(text))
    for i, caption in enumerate(captions):
        low, high = _around(captions, i)
        more = {"start": low, "end": high, "transcript": text}
        found = Recording.of(f"{name}#{i + 1}", path, caption.text, known, speaker, **more)
        if found.words:
            yield found


def _around(captions: Sequence[Caption], i: int) -> tuple[float, float]:
    """Return the time in which the words of a caption are sought."""
    start, end, _ = captions[i]
    before = captions[i - 1].end if i else -np.inf
    after = captions[i + 1].start if i + 1 < len(captions) else np.inf
    low = max(start - AROUND, min((before + start) / 2, start), 0.0)
    return low, min(end + AROUND, max((after + end) / 2, end))
