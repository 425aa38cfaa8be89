"""The model en-us of pocketsphinx: its features, the scores of its states, and its alignment, on real speech."""

import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.families.transcript import sphinx_files
from halfseen.families.transcript.sound.sphinx_features import SphinxFrontEnd, with_differences
from tests.shared_data import shared_data

pocketsphinx = pytest.importorskip("pocketsphinx")
pytestmark = pytest.mark.slow

UNIT = 1024 * np.log(1.0001)  # of a score that pocketsphinx writes: logs to base 1.0001 without their lowest 10 bits
SECONDS = 6


@pytest.fixture(scope="module")
def en():
    return Path(pocketsphinx.get_model_path(), "en-us", "en-us")


@pytest.fixture(scope="module")
def talk():
    """A recording at 16 kHz, of real speech."""
    samples, rate = hs.read_wav(shared_data("speech_mfa/acoustic_corpus.wav"))
    assert rate == 16000
    return samples


@pytest.fixture(scope="module")
def written(en, talk, tmp_path_factory):
    """What pocketsphinx writes about the first seconds: cepstra, and scores of all states at each frame."""
    folder = tmp_path_factory.mktemp("written")
    options = (en / "feat.params").read_text().replace("remove_noise yes", "remove_noise no")
    (folder / "feat.params").write_text(options)
    decoder = pocketsphinx.Decoder(
        hmm=str(en), dict=str(en.parent / "cmudict-en-us.dict"), lm=None, featparams=str(folder / "feat.params"),
        mfclogdir=str(folder), senlogdir=str(folder), compallsen=True, topn=128, loglevel="FATAL",
    )  # fmt: skip
    decoder.set_align_text("this is the acoustic corpus")
    decoder.start_utt()
    decoder.process_raw(np.round(talk[: SECONDS * 16000] * 32768).astype("<i2").tobytes(), full_utt=True)
    decoder.end_utt()
    [cepstra], [scores] = folder.glob("*.mfc"), folder.glob("*.sen")
    return np.frombuffer(cepstra.read_bytes()[4:], ">f4").reshape(-1, 13), senones(scores.read_bytes())


def senones(raw):
    """Return the scores in a log of pocketsphinx, (T, S): costs, 0 for the best of a frame."""
    at, rows = raw.index(b"endhdr\n") + len(b"endhdr\n") + 4, []
    while at < len(raw):
        [n] = struct.unpack("<h", raw[at : at + 2])
        rows.append(np.frombuffer(raw, "<i2", n, at + 2))
        at += 2 + 2 * n
    return np.array(rows)


def test_cepstra(written, talk):
    theirs, _ = written
    ours = SphinxFrontEnd().cepstra(np.round(talk[: SECONDS * 16000] * 32768) / 32768, 0, len(theirs))
    assert_allclose(ours, theirs, atol=1e-4)


def test_scores_of_states(en, written):
    """Pocketsphinx rounds scores to 0.1, and cuts small densities off: its best states are compared."""
    cepstra, costs = written
    frames = with_differences(cepstra - cepstra.mean(axis=0, dtype=np.float64))
    model = hs.read_sphinx(en)
    leaf = model._model.leaves["emit"]
    ours = leaf.score(leaf.prepare(model._params["emit"]), {"gaussian": frames}, None)
    phones = sphinx_files.read_phones(en / "mdef")
    theirs = -UNIT * costs[:, phones.senones.ravel()].astype(np.float64)
    ours -= ours.max(axis=1, keepdims=True)
    theirs -= theirs.max(axis=1, keepdims=True)
    near = ours > -3
    apart = np.abs(ours - theirs)[near]
    assert near.sum() > 3000
    assert np.median(apart) < 0.2
    assert np.quantile(apart, 0.95) < 1.0
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.9


def test_boundaries_of_words(en):
    grid = [part for part in hs.read_textgrid(shared_data("speech_mfa/acoustic_corpus.TextGrid"))["words"] if part.text]
    known = hs.read_dictionary(en.parent / "cmudict-en-us.dict")
    known["yknow"] = [["Y", "AH", "N", "OW"]]
    model = hs.read_sphinx(en, {part.text: known[part.text] for part in grid})
    said = " ".join(part.text for part in grid)
    path = shared_data("speech_mfa/acoustic_corpus.wav")
    corpus = hs.AudioFolder(path, transcripts={path.stem: said}, words=model.dictionary, features=model.front_end_)
    [found] = model.align(corpus, corpus.transcripts)
    assert [word.name for word in found.words] == [part.text for part in grid]
    errors = np.array([[a.start - b.start, a.end - b.end] for a, b in zip(found.words, grid, strict=True)])
    assert (np.abs(errors) < 0.0501).mean() > 0.8
    sd = np.array([[word.start_sd, word.end_sd] for word in found.words])
    assert (np.abs(errors) <= 2 * sd + 0.0051).mean() >= 0.9
    assert np.median(sd) < 0.03
