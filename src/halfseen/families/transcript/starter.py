"""The starter model: phones of English, so that one recording and its text align at once.

It was trained on speech of free synthesisers (espeak-ng, flite and festival of Debian), whose times are known, by
`python -m tools.starter` in the repository, and is under the licence of this library.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

from halfseen.app.model_file import load
from halfseen.families.transcript.estimator import TranscriptAligner

__all__ = ["load_speech"]

FILE = Path(__file__).with_name("starter.halfseen")


def load_speech() -> TranscriptAligner:
    """Return the starter model of English speech, which comes with the library.

    Its units are the 39 phones of CMUdict, without stress, and SIL for pauses. Give it the pronunciations of the words
    of your transcripts by `TranscriptAligner.with_dictionary`; `pronunciations_of` finds them. Features are those of
    ``AudioFolder(..., features=model.front_end_)``.

    It was trained on synthetic speech only, made by espeak-ng, flite and festival of Debian with voices and texts that
    are in no test. It is a file of numbers of less than 1 MB, under the licence of this library (BSD-3-Clause). Loading
    it runs no code.

    Returns
    -------
    TranscriptAligner

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.load_speech().with_dictionary({"cat": "K AE T"})
    >>> len(model.units_), "AE" in model.units_
    (40, True)
    >>> model = hs.load_speech()
    >>> corpus = hs.AudioFolder(  # doctest: +SKIP
    ...     "talk.wav", transcripts="talk.txt", features=model.front_end_
    ... )
    >>> words = {word for said in corpus.transcripts for word in said}  # doctest: +SKIP
    >>> model = model.with_dictionary(hs.pronunciations_of(words))  # doctest: +SKIP
    >>> [found] = model.align(corpus, corpus.transcripts)  # doctest: +SKIP
    """
    return cast(TranscriptAligner, load(FILE))
