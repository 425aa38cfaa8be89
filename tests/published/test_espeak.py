"""Speech made on the spot by espeak-ng: when each phone began is known to the sample, and found from order alone."""

import numpy as np
import pytest

from benchmarks.speech import aligned, from_nothing
from benchmarks.spoken import said, with_silence
from tests.espeak import speaker

pytestmark = pytest.mark.thorough
WITHIN_20, WITHIN_50, COVERED = 0.75, 0.9, 0.8  # each at least 5 points below what is usual
SENTENCES = (
    "she sells sea shells by the sea shore",
    "the cat sat on the mat and the dog sat on the log",
    "seven big dogs ran across the green field",
    "please open the window in the kitchen",
    "a quick brown fox jumps over a lazy dog",
    "we saw nine ships sail past the old harbour",
    "turn left at the next traffic light",
    "my brother plays the piano every morning",
    "the children found a red ball under the table",
    "it was cold and dark when they came home",
    "good bread needs water, salt and a little time",
    "thank you for your letter, I will write again soon",
)


@pytest.fixture(scope="module")
def say():
    found = speaker()
    if found is None:
        pytest.skip("libespeak-ng not found; install it, on Debian: apt-get install espeak-ng")
    return found


def test_the_synthesiser_tells_when_each_word_and_phone_begins(say):
    said = say("the cat sat")
    assert [word for word, _ in said.words] == ["the", "cat", "sat"]
    assert [phone for phone, _ in said.phones if not phone.startswith("_")] == ["D", "@", "k", "a", "t", "s", "a", "t"]
    starts = [start for _, start in said.phones]
    assert starts == sorted(starts)
    assert starts[-1] <= len(said.samples) / said.rate


@pytest.fixture(scope="module")
def spoken(say):
    """Twelve sentences, half a minute, of a voice that no default was chosen with."""
    return said(SENTENCES, ["en+m3"])


@pytest.fixture(scope="module")
def model(spoken, tmp_path_factory):
    return from_nothing(spoken, tmp_path_factory.mktemp("espeak"))


def test_words_with_a_dictionary_show_their_phones(model, spoken, tmp_path):
    """Half a minute, some fifty phones, no times, default settings. No two runs get the same sound."""
    found = aligned(model, spoken, tmp_path, closures=True)
    errors = np.abs(found.error)
    assert len(errors) > 250
    assert (errors <= 0.0201).mean() > WITHIN_20
    assert (errors <= 0.0501).mean() > WITHIN_50
    assert np.median(errors) < 0.012


def test_standard_deviations_of_boundaries_hold(model, spoken, tmp_path):
    found = aligned(model, spoken, tmp_path, closures=True)
    assert (np.abs(found.error) <= 2 * found.sd + 0.005).mean() > COVERED
    assert np.median(found.sd) < 0.0151
    assert abs(found.confidence.mean() - found.inside.mean()) < 0.1


def test_silence_at_both_ends_costs_little(model, spoken, tmp_path):
    clean, silent = (aligned(model, some, tmp_path, closures=True) for some in (spoken, with_silence(spoken, 3.0)))
    assert np.mean(np.abs(silent.error) <= 0.0201) > np.mean(np.abs(clean.error) <= 0.0201) - 0.1
