"""A report on made-up speech with some wrong transcripts, for tests of the page."""

import tempfile
import warnings
from pathlib import Path

import halfseen as hs
from tests import sounds


def fitted(folder):
    """Return an aligner of made-up speech, after a few passes."""
    sounds.corpus(folder, n=30, seed=3)  # fewer, and the spread of their likelihoods is too wide to find errors
    corpus = hs.AudioFolder(folder, words=sounds.WORDS)
    model = hs.TranscriptAligner(
        2, dictionary=sounds.WORDS, silence="sil", step=corpus.step, start={"sil": corpus.quiet()}, max_iter=5
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(corpus, corpus.transcripts)


def with_errors(folder, n=20):
    """Return other recordings of one speaker, every fifth with a wrong transcript: first and last word are exchanged.

    Most are right: to speech with wrong transcripts alone `align` would adapt.
    """
    sounds.corpus(folder, n=n, seed=5, speakers=("ann",))
    for path in sorted(folder.rglob("*.txt"))[::5]:
        words = path.read_text().strip(".\n").lower().split()
        path.write_text(" ".join([words[-1], *words[1:-1], words[0]]) + "\n")
    return hs.AudioFolder(folder, words=sounds.WORDS)


def speech():
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder:
        model = fitted(Path(folder, "clean"))
        return hs.report(model, with_errors(Path(folder, "wrong")))
