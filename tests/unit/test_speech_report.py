"""The report on recordings: which words and excerpts it shows, what it embeds, and what it leaves as it was."""

import re
from itertools import pairwise

import numpy as np
import pytest

import halfseen as hs
from halfseen.families.transcript import report as of_transcripts
from halfseen.families.transcript import report_sound
from halfseen.families.transcript.alignment import Aligned, Alignment, Segment
from halfseen.families.transcript.report_doubtful import SURE, VAGUE, doubtful_words, in_context, is_doubtful
from halfseen.families.transcript.report_excerpts import LONGEST, examples, excerpts_of, with_word
from halfseen.families.transcript.report_sound import Gallery, clock
from tests import report_pages, speech_page

pytest.importorskip("jinja2")


def word(name, start, end, confidence=0.99, sd=0.005, number=0):
    return Segment(name, start, end, -1.0, confidence, sd, sd, number)


def utterance(words, duration, surprise=0.0, name="u"):
    words = tuple(part._replace(word=i) for i, part in enumerate(words))
    return Alignment(name, words, words, (), duration, -1.0, -1.0, surprise)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model and recordings of which some have wrong transcripts."""
    folder = tmp_path_factory.mktemp("speech")
    return speech_page.fitted(folder / "clean"), speech_page.with_errors(folder / "wrong")


@pytest.fixture(scope="module")
def page(made):
    return hs.report(*made)


def test_words_are_doubtful_for_three_reasons():
    fine, low, vague = word("fine", 0, 1), word("low", 1, 2, confidence=0.2), word("vague", 2, 3, sd=0.2)
    odd = utterance([fine, word("least", 1, 2, confidence=0.9)], 2.0, surprise=9.0)
    found = doubtful_words([(4, utterance([fine, low, vague], 3.0)), (7, odd)], 1.0, top=9)
    assert [(one.b, one.at) for one in found] == [(4, 2), (7, 1), (4, 1)]
    assert [one.degree for one in found] == pytest.approx([0.2 / VAGUE, 9 / 5, 0.8 / (1 - SURE)])
    assert [one.reasons for one in found] == [
        ("start ± 200 ms",),
        ("the utterance fits badly: surprise 9.0",),
        ("confidence 0.20",),
    ]
    assert len(doubtful_words([(4, utterance([fine, low, vague], 3.0)), (7, odd)], 1.0, top=2)) == 2
    assert [is_doubtful(part, 1.0) for part in (fine, low, vague)] == [False, True, True]
    assert not is_doubtful(vague, 0.01)  # times in frames of 10 ms


def test_the_context_of_a_word_is_its_neighbours():
    one = utterance([word(name, i, i + 1) for i, name in enumerate("abcdefghij")], 10.0)
    assert in_context(one, 0) == "[a] b c d …"
    assert in_context(one, 5) == "… c d e [f] g h i …"
    capital = utterance([word("a", 0, 1)._replace(text="A,"), word("b", 1, 2)], 2.0)
    assert in_context(capital, 1) == "A, [b]"


def test_a_long_utterance_is_cut_into_excerpts_between_words():
    rng = np.random.default_rng(0)
    ends = 60 + np.cumsum(rng.uniform(0.1, 1.5, 500))
    one = utterance([word(f"w{i}", a, b) for i, (a, b) in enumerate(pairwise([60.0, *ends.tolist()]))], 3600.0)
    found = list(excerpts_of(3, one, 1.0))
    assert [part.first for part in found[1:]] == [part.last for part in found[:-1]]
    assert (found[0].first, found[-1].last) == (0, len(one.words))
    for part in found:
        assert 0 < part.high - part.low <= LONGEST + 1e-9
        assert part.low <= one.words[part.first].start
        assert one.words[part.last - 1].end <= part.high + 1e-9
    assert with_word(3, one, 123, 1.0).first <= 123 < with_word(3, one, 123, 1.0).last


def test_a_word_stretched_over_a_minute_is_a_short_excerpt():
    one = utterance([word("a", 0.0, 0.4), word("b", 0.4, 61.0), word("c", 61.0, 61.5)], 62.0)
    found = list(excerpts_of(0, one, 1.0))
    assert [(part.first, part.last) for part in found] == [(0, 1), (1, 2), (2, 3)]
    assert all(part.high - part.low <= LONGEST + 1e-9 for part in found)


def test_examples_are_from_the_best_to_the_worst():
    found = [(b, utterance([word("a", 0.0, 1.0, confidence=c)], 1.0)) for b, c in enumerate(np.linspace(0, 1, 21))]
    chosen = examples(found, 1.0)
    assert [(name, part.b) for name, part in chosen] == [("Best tenth", 18), ("Middle", 10), ("Worst tenth", 2)]
    assert [part.b for _, part in examples(found[:1], 1.0)] == [0]
    assert examples([(0, utterance([], 1.0))], 1.0) == []


class Corpus:
    """An hour of sound in one file, of which `samples` returns a view."""

    step = 0.01

    def __init__(self, seconds=3600, rate=8000):
        self.sound, self.rate = np.random.default_rng(0).normal(size=seconds * rate) * 0.1, rate
        self.names = ["hour"]
        self.recordings = [type("Recording", (), {"start": 0.0})()]

    def samples(self, b):
        return self.sound, self.rate


def test_of_an_hour_only_seconds_are_embedded():
    words = [word(f"w{i}", 2.0 * i, 2.0 * i + 0.8, confidence=i % 7 / 6) for i in range(1800)]
    one, corpus = utterance(words, 3600.0), Corpus()
    gallery = Gallery(corpus, 1.0)
    places = [with_word(0, one, found.at, 1.0) for found in doubtful_words([(0, one)], 1.0, 20)]
    figures = gallery.figures([("", part, one) for part in places])
    assert 10 < len(figures) <= 20
    assert sum(len(figure.audio) + sum(map(len, figure.tiles)) for figure in figures) < 4_000_000
    assert not np.shares_memory(gallery._heard(places[0]).samples, corpus.sound)
    shown = [figure.title for figure in figures]
    assert len(set(shown)) == len(shown)
    assert gallery.figures([("", part, one) for part in places]) == []  # each once


def test_the_page_says_which_sound_is_left_out(made, monkeypatch):
    whole = hs.report(*made)
    monkeypatch.setattr(report_sound, "MOST_SOUND", 80_000)
    monkeypatch.setattr(of_transcripts, "MOST_SOUND", 80_000)
    page = hs.report(*made)
    uris = re.findall(r'src="(data:audio/wav[^"]+)"', page)
    assert 0 < len(uris) < whole.count("<audio")
    assert sum(map(len, uris)) <= 80_000
    assert page.count("Its sound is left out") == whole.count("<audio") - len(uris)
    assert re.search(r"The sound of \d excerpts? is left out: this page holds at most 0.08 MB", page)
    assert "left out" not in whole


def test_every_place_is_in_a_figure_with_its_sound(page):
    lengths = {
        key: max(map(float, re.findall(r'role="none"[^>]*data-to="([\d.]+)"', body)))
        for key, body in re.findall(r'<figure class="sound" id="([^"]+)">(.*?)</figure>', page, re.DOTALL)
    }
    places = re.findall(r'<a href="#(sound-\d+)" data-from="([\d.]+)" data-to="([\d.]+)" aria-label="show ', page)
    assert len(places) >= 3
    for key, start, end in places:
        assert 0 <= float(start) < float(end) <= lengths[key] + 1e-3
    look = page[page.index('<section id="look"') : page.index('<section id="reproduce"')]
    assert "fits badly: surprise" in look
    assert "download=" in look


def test_the_policy_allows_embedded_sound_and_no_more(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == rules["media-src"] == "data:"
    assert len(rules["script-src"].split()) == len(rules["style-src"].split()) == 1
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert page.count("<script") == page.count("<style") == 1


def test_pages_without_sound_are_as_before():
    page = report_pages.transcripts()
    assert "Worth a look" in page
    assert "media-src" not in page
    assert "audio" not in page
    assert "Doubtful places" not in page


def test_the_same_recordings_give_the_same_page(made, page):
    assert hs.report(*made) == page
    model, corpus = made
    assert hs.report(model, (corpus, corpus.transcripts)) == page


def test_a_model_in_frames_shows_seconds(made):
    model, corpus = made
    material = of_transcripts.TranscriptMaterial.gathered(model, corpus, None, None, None, None)
    assert material.seconds == 1.0
    frames = type("Model", (), {"step": 1.0})()
    assert of_transcripts.TranscriptMaterial(frames, corpus).seconds == pytest.approx(corpus.step)


def test_without_doubtful_words_the_page_says_so(made, monkeypatch):
    monkeypatch.setattr(of_transcripts, "doubtful_words", lambda *given: [])
    page = hs.report(*made)
    assert "No word has a confidence below 0.5 or a start uncertain by more than 50 ms." in page


def test_times_are_those_of_the_recording():
    assert [clock(t) for t in (0.0, 59.999, 3599.999, 61.5)] == ["0.00 s", "1:00.00", "1:00:00.00", "1:01.50"]


def test_what_was_aligned_is_not_aligned_again(made, page, monkeypatch):
    """A page of what `align` has found is the page of the recordings."""
    model, corpus = made
    found = Aligned(corpus, corpus.transcripts, model.align(corpus, corpus.transcripts))
    monkeypatch.setattr(type(model), "align", None)
    assert hs.report(model, found) == page
