"""Speech made on the spot by espeak-ng: when each phone began is known to the sample, and found from order alone."""

import numpy as np
import pytest

import halfseen as hs
from tests.espeak import speaker
from tests.sounds import write_wav

pytestmark = pytest.mark.thorough
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
def spoken(say, tmp_path_factory):
    """A folder of a dozen sentences with their phones as transcripts, and the truth: {name: [(phone, start)]}."""
    folder, truth = tmp_path_factory.mktemp("espeak"), {}
    for i, sentence in enumerate(SENTENCES):
        said, name = say(sentence), f"s{i:02d}"
        truth[name] = [(phone, start) for phone, start in said.phones if phone and not phone.startswith("_")]
        write_wav(folder / f"{name}.wav", said.samples, said.rate)
    return folder, truth


def test_phones_are_found_from_their_order_alone(spoken):
    """Half a minute, some fifty phones, no times: most boundaries are off by less than a frame.

    No two runs get the same sound, as the voice wavers; 91%, 95% and 8 ms are usual.
    """
    folder, truth = spoken
    known = {phone for phones in truth.values() for phone, _ in phones}
    said = {name: " ".join(phone for phone, _ in phones) for name, phones in truth.items()}
    corpus = hs.AudioFolder(folder, transcripts=said, words=known)
    model = hs.TranscriptAligner(2, silence="sil", step=corpus.step, start={"sil": corpus.quiet()}, tol=10.0)
    found = model.fit(corpus, corpus.transcripts).align(corpus, corpus.transcripts)
    errors = []
    for name, one in zip(corpus.names, found, strict=True):
        assert [part.name for part in one.words] == [phone for phone, _ in truth[name]]
        errors += [abs(part.start - start) for part, (_, start) in zip(one.words, truth[name], strict=True)]
    errors = np.array(errors)
    assert len(errors) > 300
    assert (errors <= 0.0201).mean() > 0.85
    assert (errors <= 0.0501).mean() > 0.93
    assert np.median(errors) < 0.012
