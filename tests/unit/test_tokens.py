"""Words of a transcript and the text around them: nothing is lost, and what was not spoken is no word."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from halfseen.families.transcript.written.tokens import ends_sentence, logical_lines, text_of, tokens_of, words_of

SIGNS = st.sampled_from(
    [*"abcABCéß123 \n\t.,;:!?-–—…\"'“”’()[]{}<>/&%$♪*#_\\|你好。，", "...", "--", "[x]", "\nANNA: ", " "]
)
TEXTS = st.lists(SIGNS, max_size=60).map("".join)


def squeezed(text):
    return " ".join(text.split())


def sentences(text):
    """Return the sentences of a text."""
    found = {}
    for token in tokens_of(text):
        found.setdefault(token.sentence, []).append(token)
    return [text_of(part) for part in found.values()]


@given(TEXTS)
def test_the_text_of_the_tokens_is_the_transcript(text):
    tokens = tokens_of(text)
    if tokens:
        assert text_of(tokens) == squeezed(text)
    assert all(token.word and token.text and token.text.strip() == token.text for token in tokens)
    assert [token.line for token in tokens] == sorted(token.line for token in tokens)
    steps = [b.sentence - a.sentence for a, b in pairwise(tokens)]
    assert all(step in (0, 1) for step in steps)


@given(TEXTS)
def test_words_of_a_dictionary_are_spelled_as_there(text):
    plain = words_of(text)
    assert words_of(text, {word.upper() for word in plain if word.upper().lower() == word}) is not None
    assert words_of(text, set()) == plain


def test_words_are_bare_and_the_text_is_kept():
    text = '"Don’t," she said — (quietly) — “go!” $5.50, 50% … R&D; A_B'
    assert words_of(text) == ("don't", "she", "said", "quietly", "go", "$5.50", "50%", "r&d", "a_b")
    assert text_of(tokens_of(text)) == text
    assert words_of("DON'T go", {"don't", "GO"}) == ("don't", "GO")
    assert words_of("'tis 'quoted'", {"'tis", "quoted"}) == ("'tis", "quoted")


def test_dashes_split_words_and_hyphens_only_if_the_parts_are_known():
    assert words_of("yes—no well-known 10-12") == ("yes", "no", "well-known", "10-12")
    assert words_of("well-known", {"well", "known"}) == ("well", "known")
    assert words_of("well-known", {"well", "known", "well-known"}) == ("well-known",)
    assert [token.joined for token in tokens_of("yes—no so")] == [False, True, False]


def test_cues_and_labels_are_shown_and_not_spoken():
    text = "ANNA: Hello. [laughs]\n[door slams] BEN: Bye."
    tokens = tokens_of(text)
    assert [token.word for token in tokens] == ["hello", "ben", "bye"]  # a label is in front of its line
    tokens = tokens_of("ANNA: Hello. [laughs]\nDR. BEN: Bye. [end of part one]")
    assert [(token.word, token.text) for token in tokens] == [
        ("hello", "ANNA: Hello. [laughs]"),
        ("bye", "DR. BEN: Bye. [end of part one]"),
    ]
    assert words_of("[music]") == ()


def test_names_that_come_back_are_labels():
    turns = "Anna: Hi.\nSpeaker 2: Hello.\nAnna: Bye.\nПётр: да."
    assert words_of(turns) == ("hi", "hello", "bye", "да")
    assert words_of("Remember: go.\nLet me be clear: no.") == ("remember", "go", "let", "me", "be", "clear", "no")
    assert words_of("STOP: GO") == ("stop", "go")  # all is in capitals, this tells nothing
    assert words_of("I said this to Anna: go.\nI said this to Anna: go.")[:4] == ("i", "said", "this", "to")


def test_sentences_end_where_they_do():
    assert sentences("Dr. Smith met J. K. Lee on Jan. 3rd. See p. 5. Good!") == [
        "Dr. Smith met J. K. Lee on Jan. 3rd.",
        "See p. 5.",
        "Good!",
    ]
    assert sentences('"Why?" he asked. "Because." She left… and came back... Then?! No.') == [
        '"Why?" he asked.',
        '"Because."',
        "She left… and came back...",
        "Then?!",
        "No.",
    ]
    assert sentences("He won. [applause] Ben did. [music]\nANNA: It rained; e.g. here, i.e. in Rome.") == [
        "He won.",
        "[applause] Ben did. [music]",
        "ANNA: It rained; e.g. here, i.e. in Rome.",
    ]
    assert sentences("你好。 再见！ 好") == ["你好。", "再见！", "好"]
    assert ends_sentence("1.", "OK")
    assert not ends_sentence("no", "Then")
    assert ends_sentence("no.", "Then")


def test_lines_of_wrapped_prose_have_no_meaning_and_those_of_poems_do():
    prose = (
        "This is a text that somebody has wrapped at the width of sixty\n"
        "characters, as many programs for mail and plain text files do,\n"
        "so that the ends of its lines tell nothing about the sentences.\n"
    )
    assert set(logical_lines(tokens_of(prose)).values()) == {1}
    poem = "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough winds"
    assert logical_lines(tokens_of(poem)) == {1: 1, 2: 2, 3: 3}
    assert set(logical_lines(tokens_of(prose + "\n" + prose)).values()) == {1, 5}
    assert logical_lines([]) == {}
