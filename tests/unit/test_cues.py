"""Captions of a text: the rules of subtitles as properties of any text, and of one with everything in it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Alignment, Segment
from halfseen.families.transcript.written.cues import Piece, Rules, cues_of, pieces_of, shown_until
from halfseen.families.transcript.written.tokens import text_of, tokens_of
from tests.shared_data import shared_data

TALK = """\
ANNA: Good evening, everyone, and welcome back to the programme that asks the questions nobody else will.
DR. BEN: Thank you. It's 10:30 p.m., and Dr. Smith paid $5.50 for a coffee on Jan. 3rd, 1999; I was there!
ANNA: "Why?" he asked. "Because," she said, "I can." [applause] Well-known facts — aren't they?
[music]

DR. BEN: The Donaudampfschifffahrtsgesellschaftskapitänswitwenversicherung is longer than a line…
- Really?
- No. 3 & 4 <are> here: a --> b, 50% of "R&D".
你好世界。 再见！ And so it went on and on without any punctuation at all for as long as anybody cared to listen to it
ANNA: ... OK. Bye—bye!
"""
RULES = Rules()
DIGITS = 1e-9


def aligned(text, seed=0, known=None, pauses=True):
    """Return a text with made-up times: the longer a word the longer it lasts; most pauses are between sentences."""
    rng, at, words = np.random.default_rng(seed), 0.4, []
    tokens = tokens_of(text, known)
    for i, token in enumerate(tokens):
        end = at + 0.08 + 0.05 * len(token.word) * rng.uniform(0.7, 1.3)
        words.append(Segment(token.word, at, end, -1.0, 0.9, 0.01, 0.01, i))
        last = i + 1 < len(tokens) and tokens[i + 1].sentence != token.sentence
        at = end + (pauses and rng.random() < (0.6 if last else 0.1)) * rng.uniform(0.1, 1.2)
    found = Alignment("talk", tuple(words), (), (), at + 0.5, -1.0, -1.0, 0.0)
    return found.with_text(tokens, "talk")


def check(cues, pieces, rules, until=math.inf):
    """Assert the rules of captions."""
    said = [piece for cue in cues for line in cue.lines for piece in line]
    assert [piece.text for piece in said] == [piece.text for piece in pieces]  # every word once, in order
    for cue in cues:
        lines = cue.caption.text.split("\n")
        assert len(lines) <= rules.lines
        assert all(len(line) <= rules.line_length or " " not in line for line in lines)
        assert cue.end - cue.start <= rules.longest + DIGITS
        assert cue.start < cue.end
        assert cue.end <= max(until, cue.start + 0.001) + DIGITS
        assert all(math.isclose(1000 * time, round(1000 * time), abs_tol=1e-6) for time in (cue.start, cue.end))
    for one, other in itertools.pairwise(cues):
        assert one.end <= other.start - 0 + DIGITS
        room = other.start - one.start
        if room >= 2 * rules.gap:
            assert other.start - one.end >= rules.gap - 0.001 - DIGITS
        length, spoken = len(one.caption.text), max(piece.end for line in one.lines for piece in line)
        needed = min(max(rules.shortest, length / rules.speed), rules.longest)
        if other.start - rules.gap >= one.start + needed and until >= one.start + needed:
            assert one.end - one.start >= needed - 0.002  # there is room, and it stays until it is read
        if spoken <= other.start - rules.gap and spoken - one.start <= rules.longest and spoken <= until:
            assert one.end >= spoken - 0.001


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "rules",
    [RULES, Rules(line_length=32, lines=2), Rules(lines=1), Rules(line_length=37, lines=3, speed=12.0, gap=0.2)],
    ids=["default", "narrow", "one line", "slow"],
)
def test_a_talk_keeps_the_rules(seed, rules):
    one = aligned(TALK, seed)
    pieces = pieces_of([one])
    cues = cues_of(pieces, rules, one.duration)
    check(cues, pieces, rules, one.duration)
    assert " ".join(cue.caption.text for cue in cues).split() == TALK.split()
    assert len(cues) >= 6


texts = st.text("abcdefghij", min_size=1, max_size=14) | st.sampled_from(["x" * 60, "so,", "end.", "a", "—"])


@st.composite
def spoken(draw):
    """Pieces of text with rising times, some of which have no length."""
    at, found, line, sentence = draw(st.sampled_from([0.0, 3.7])), [], 0, 0
    for text in draw(st.lists(texts, max_size=30)):
        end = at + draw(st.sampled_from([0.0, 0.03, 0.2, 0.5, 1.3, 9.0]))
        found.append(Piece(text, at, end, line, sentence))
        at = end + draw(st.sampled_from([0.0, 0.0, 0.0, 0.04, 0.3, 0.8, 12.0]))
        line += draw(st.booleans())
        sentence += draw(st.integers(0, 3)) == 0
    return found


@given(
    spoken(),
    st.builds(
        Rules,
        line_length=st.sampled_from([42, 20, 5]),
        lines=st.integers(1, 3),
        speed=st.sampled_from([17.0, 5.0]),
        gap=st.sampled_from([0.083, 0.0, 0.5]),
    ),
)
def test_any_text_keeps_the_rules(pieces, rules):
    until = max((piece.end for piece in pieces), default=0.0) + 0.2
    check(cues_of(pieces, rules, until), pieces, rules, until)


def test_captions_end_at_sentences_and_pauses():
    """With time to read, most captions end where a sentence, a clause or a line of the text does, or at a pause."""
    one = aligned(TALK, 3)
    pieces = pieces_of([one])
    cues = cues_of(pieces)
    last = [cue.lines[-1][-1] for cue in cues[:-1]]
    first = [cue.lines[0][0] for cue in cues[1:]]
    good = [
        a.sentence != b.sentence or a.line != b.line or b.start - a.end >= 0.3 or a.text[-1] in ",;:—-…"
        for a, b in zip(last, first, strict=True)
    ]
    assert np.mean(good) >= 0.7


def test_a_short_sentence_is_not_torn():
    said = "The quick brown fox jumps over the dog. It was lazy."
    cues = cues_of(pieces_of([aligned(said, pauses=False)]))
    assert [cue.caption.text for cue in cues] == ["The quick brown fox jumps over the dog.\nIt was lazy."]
    long = "When the rain had stopped at last, the children went out into the garden, and they played until dark."
    texts = [cue.caption.text for cue in cues_of(pieces_of([aligned(long, pauses=False)]))]
    assert all(text.endswith((",", ".")) for text in texts)


def test_lines_are_of_like_length_and_break_after_commas():
    said = "I have a dream, that one day this nation will rise up"
    (cue,) = cues_of([Piece(text, 0.1 * i, 0.1 * i + 0.1) for i, text in enumerate(said.split())])
    assert cue.caption.text == "I have a dream,\nthat one day this nation will rise up"
    plain = "We went on to the house of a very old man I know"
    (cue,) = cues_of([Piece(text, 0.1 * i, 0.1 * i + 0.1) for i, text in enumerate(plain.split())])
    assert cue.caption.text == "We went on to the house\nof a very old man I know"  # not after "the", "of" or "a"


def test_a_pause_within_a_text_is_a_cut():
    pieces = [Piece("one", 0.0, 0.3), Piece("two", 0.3, 0.6), Piece("three", 4.0, 4.3), Piece("four", 4.3, 4.6)]
    assert [cue.caption.text for cue in cues_of(pieces)] == ["one two", "three four"]
    assert [(cue.start, cue.end) for cue in cues_of(pieces, until=4.7)] == [(0.0, 1.0), (4.0, 4.7)]


def test_captions_are_shown_until_they_are_read():
    assert shown_until(0.0, 0.5, 17, RULES) == 1.0
    assert shown_until(0.0, 0.5, 84, RULES) == pytest.approx(84 / 17, abs=1e-3)
    assert shown_until(0.0, 0.5, 84, RULES, following=2.0) == pytest.approx(2 - 0.083)
    assert shown_until(0.0, 0.5, 84, RULES, until=1.5) == 1.5
    assert shown_until(0.0, 20.0, 10, RULES) == 7.0
    assert shown_until(5.0, 5.2, 10, RULES, following=5.001) == 5.001


def test_words_in_the_text_have_times_of_their_own():
    one = aligned("ANNA: So—be it. [music]", pauses=False)
    (cue,) = cues_of(pieces_of([one]))
    pieces = pieces_of([one])
    assert [piece.text for piece in pieces] == ["ANNA:", "So—be", "it.", "[music]"]
    assert pieces[1].end == one.words[1].end
    assert cue.timed_text.startswith("ANNA: So—be <00:00:0")
    assert pieces_of([]) == []
    assert cues_of([]) == []


def test_pieces_of_several_alignments_go_on():
    first, second = aligned("One. Two."), aligned("Three.\nFour.").shifted(10.0)
    pieces = pieces_of([first, second])
    assert [piece.sentence for piece in pieces] == [0, 1, 2, 3]
    assert [piece.line for piece in pieces] == [1, 1, 3, 4]


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"line_length": 0}, "line_length=0 is not a whole number above 0"),
        ({"lines": 1.5}, "lines=1.5 is not a whole number"),
        ({"speed": math.nan}, "speed=nan is not a number above 0"),
        ({"gap": -1}, "gap=-1 is not a number of at least 0"),
        ({"shortest": 9.0}, r"shortest=9.0 is more than longest=7.0"),
    ],
)
def test_rules_that_cannot_be_are_refused(how, match):
    with pytest.raises(ParameterError, match=match):
        Rules(**how)


SPOKEN = """\
This is the acoustic corpus. I'm talking pretty fast here; there's nothing going else -- going on, we're just, y'know...
There's some speech errors, but who cares?

Um, this is me talking really slow (and slightly lower in intensity).
We're just saying some words, and here's some more words: "words, words, words". Um, and that should be all. Thanks!
"""


def test_captions_of_real_speech_keep_the_rules_and_the_text():
    """The times are those of the words of a real recording, the text was punctuated by hand."""
    from halfseen.families.transcript.written.textgrid import read_textgrid

    folder = shared_data("speech_mfa")
    tiers = read_textgrid(folder / "acoustic_corpus.TextGrid")
    tier = next(tiers[name] for name in tiers if "word" in name.lower())
    timed = [interval for interval in tier if interval.text.strip() and interval.text not in ("sil", "sp", "<eps>")]
    tokens = tokens_of(SPOKEN)
    assert len(tokens) == len(timed)
    words = tuple(
        Segment(token.word, part.start, part.end, -1.0, 0.9, 0.01, 0.01, i)
        for i, (token, part) in enumerate(zip(tokens, timed, strict=True))
    )
    one = Alignment("talk", words, (), (), 26.72, -1.0, -1.0, 0.0).with_text(tokens, "talk")
    pieces = pieces_of([one])
    cues = cues_of(pieces, RULES, one.duration)
    check(cues, pieces, RULES, one.duration)
    assert " ".join(cue.caption.text for cue in cues).split() == SPOKEN.split()
    assert text_of(tokens) == " ".join(SPOKEN.split())
    assert sum(cue.caption.text[-1] in ".?!;:,-)" or "..." in cue.caption.text for cue in cues) >= 0.8 * len(cues)
