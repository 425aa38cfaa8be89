"""Pronunciations at the command line: of words that a model does not know, from dictionaries and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from halfseen.app import console
from halfseen.app.model_file import read_model
from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.dictionary import read_dictionary
from halfseen.families.transcript.estimator import TranscriptAligner
from halfseen.families.transcript.phones import CMU
from halfseen.families.transcript.pronounce import Pronounced, cmu_words, is_english, listed, looked_up, no_source
from halfseen.families.transcript.recordings import AudioFolder

ENGLISH = "en"
ASKED = ("dictionary", "language", "g2p")  # options
MOST_CMU = 30  # phones of CMUdict, of which there are 39, that make a model one of English


@dataclass(frozen=True)
class Speech:
    """Where the pronunciations of words come from.

    Attributes
    ----------
    dictionary : mapping          word -> pronunciations
    language : str or None        of CMUdict and espeak-ng; None: neither is asked
    g2p : object or None          a model of letters and phones
    unknown : str or None         the unit for words that none of them has
    """

    dictionary: Mapping[str, Any]
    language: str | None
    g2p: Any
    unknown: str | None

    @cached_property
    def known(self) -> set[str]:
        """Words whose spelling is known."""
        return {*self.dictionary, *(cmu_words() if self.language is not None and is_english(self.language) else ())}

    def pronounced(self, corpus: AudioFolder) -> Pronounced:
        """Return the pronunciations of all words, and print where they come from."""
        places: dict[str, str] = {}
        for recording in corpus.recordings:
            for token in recording.tokens:
                places.setdefault(token.word, f"{recording.name}, line {token.line}")
        found = looked_up(places, self.dictionary, self.language, self.g2p)
        if found.unknown and self.unknown is None:
            raise DataError(
                f"{no_source(found.unknown, self.language, places)} Or give them in a file by --dictionary, a model of "
                "letters and phones by --g2p, or the unit that stands for such words by --unknown."
            )
        console.note(str(found))
        if found.unknown:
            console.note(f"note: unknown words, aligned as {self.unknown}: {listed(found.unknown, places)}")
        return found


def of_fit(request: Mapping[str, Any]) -> Speech | None:
    """Return the sources of a fit; None if the dictionary is all there is."""
    if request["language"] is None and request["g2p"] is None:
        return None
    return Speech(_dictionary(request), request["language"] or ENGLISH, _g2p(request), request["unknown"])


def of_use(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Speech | None:
    """Return the sources of the words that a fitted model is used with; None if it has its own words only."""
    asked = [f"--{name}" for name in ASKED if request.get(name) is not None]
    if model.dictionary is None:
        if asked:
            raise ParameterError(f"{asked[0]} is of no use: the units of this model are words, not phones.")
        return None
    english = len(CMU & set(model.units_)) >= MOST_CMU
    language = request.get("language") or reading.get("language") or (ENGLISH if english else None)
    if english and language is not None and not is_english(language):
        raise ParameterError(
            f"--language {language}: this model has the phones of English. Fit one to recordings of that language, and "
            f"their texts: halfseen fit corpus/ --model transcript --language {language} -o {language}.halfseen"
        )
    if language is None and not asked and request.get("unknown") is None:
        return None
    dictionary = {**model._lexicon.pronunciations, **_dictionary(request)}
    return Speech(dictionary, language, _g2p(request), request.get("unknown") or model.unknown)


def with_words(model: TranscriptAligner, speech: Speech, corpus: AudioFolder) -> TranscriptAligner:
    """Return the model with the pronunciations of all words of the recordings."""
    if speech.unknown is not None and speech.unknown not in model.units_:
        raise ParameterError(f"--unknown {speech.unknown!r} is none of the units of the model: {_units(model)}.")
    found = speech.pronounced(corpus)
    ready = model.with_dictionary(found, unknown=speech.unknown) if found else model
    lost = ready._lexicon.unknown_words(found)
    if lost:
        strange = sorted({unit for way in found[lost[0]] for unit in way} - set(model.units_))
        raise DataError(
            f"{len(lost)} words have units that the model does not have: {listed(lost)}. {lost[0]!r} has "
            f"{', '.join(strange)}; the model has {_units(model)}."
        )
    return ready


def _units(model: TranscriptAligner) -> str:
    more = " ..." if len(model.units_) > 12 else ""
    return f"{', '.join(model.units_[:12])}{more}"


def _dictionary(request: Mapping[str, Any]) -> dict[str, Any]:
    return {} if request.get("dictionary") is None else read_dictionary(request["dictionary"])


def _g2p(request: Mapping[str, Any]) -> Any:
    """Return the model of letters and phones."""
    if request.get("g2p") is None:
        return None
    found = read_model(request["g2p"])
    if not hasattr(found, "pronounce"):
        raise ParameterError(f"--g2p {request['g2p']}: {type(found).__name__} does not pronounce words.")
    if "on_unknown" in found.get_params():
        found.set_params(on_unknown="skip")  # words with letters that it does not know are for the other sources
    return found
