"""Surprise of words: what it is compared with, and that wrong words have much of it."""

import numpy as np
import pytest

import halfseen as hs
from halfseen.families.transcript.report_doubtful import doubtful_words, is_doubtful
from halfseen.families.transcript.surprise import DOUBTFUL, Typical, word_surprises
from tests.unit.test_transcript_aligner import corpus, spoken

WAYS = {"x": "a b", "y": "b a c", "z": "c a"}


@pytest.fixture(scope="module")
def fitted():
    rng, X, said = np.random.default_rng(0), [], []
    for _ in range(25):
        words = [str(word) for word in rng.choice(list(WAYS), 4)]
        X.append(spoken([unit for word in words for unit in WAYS[word].split()], rng)[0])
        said.append(words)
    return hs.TranscriptAligner(1, dictionary=WAYS, random_state=0).fit(X, said), X, said


def test_words_of_the_training_data_are_typical(fitted):
    model, X, said = fitted
    found = np.array([part.surprise for one in model.align(X, said) for part in one.words])
    assert np.median(found) == pytest.approx(0.0, abs=0.3)
    assert (found > DOUBTFUL).mean() < 0.02


def test_a_wrong_word_is_doubtful_and_the_others_are_not(fitted):
    model, _, _ = fitted
    frames, _ = spoken(list("abbaccaab"), np.random.default_rng(1))
    [right] = model.align([frames], ["x y z x"])
    [wrong] = model.align([frames], ["x y x x"])
    assert not any(is_doubtful(part, 1e-4) for part in right.words)
    assert [part.surprise > DOUBTFUL for part in wrong.words] == [False, False, True, False]
    [worst, *_] = doubtful_words([(0, wrong)], 1e-4, 5)
    assert worst.at == 2
    assert any("does not sound like it" in reason for reason in worst.reasons)
    assert "surprise" in wrong.to_dict()["words"][2]
    assert "surprise" not in wrong.to_dict()["units"][2]
    assert list(model.to_frame([wrong])["surprise"]) == [part.surprise for part in wrong.words]


def test_a_recording_that_fits_worse_as_a_whole_is_compared_with_itself():
    typical, fits = Typical(3.0, 1.0), dict(enumerate([*np.linspace(-4.2, -3.8, 21), -12.0]))
    found = word_surprises(fits, typical)
    assert all(found[word] < 1 for word in range(21))
    assert found[21] == pytest.approx(8.0, abs=0.05)
    few = word_surprises({0: -4.0, 1: 3.0}, typical)
    assert few == {0: 7.0, 1: 0.0}
    assert word_surprises({0: -4.0}, Typical()) == {0: 0.0}  # a model that knows nothing of words


def test_a_model_file_keeps_what_is_typical_and_old_files_have_none(fitted, tmp_path):
    model, X, said = fitted
    hs.save(model, tmp_path / "m.halfseen")
    assert hs.load(tmp_path / "m.halfseen")._typical_words == model._typical_words
    state = model._state_module.taken(model)
    del state.record["typical_words"]
    old = model._state_module.restored(hs.TranscriptAligner, state)
    assert old._typical_words == Typical()
    assert {part.surprise for one in old.align(X[:3], said[:3]) for part in one.words} == {0.0}
    built = hs.TranscriptAligner.from_params(["a", "b"], [[[[0.0]]], [[[4.0]]]], [[[[1.0]]], [[[1.0]]]])
    assert {part.surprise for part in built.align([[[0.1], [4.2]]], ["a b"])[0].words} == {0.0}


def test_units_that_are_words_have_it_too():
    X, said, _ = corpus(15)
    model = hs.TranscriptAligner(1, random_state=0).fit(X, said)
    frames, _ = spoken("abc", np.random.default_rng(0))
    [right], [wrong] = (model.align([frames], [words]) for words in ("a b c", "a c c"))
    assert max(part.surprise for part in right.words) < DOUBTFUL < max(part.surprise for part in wrong.words)
