"""Pronunciation at the command line: dictionaries in and out, errors on words held out, and words to align."""

import csv

import pytest

import halfseen as hs
from tests.app.test_command_line import halfseen
from tests.sounds import WORDS, corpus

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    """A model of the words of the example."""
    path = tmp_path_factory.mktemp("english") / "en.halfseen"
    done = halfseen("fit", "example:english.dict", "--model", "g2p", "-o", path)
    assert "1,000 words in" in done.stdout
    return path


def test_words_become_a_dictionary(english, tmp_path):
    (tmp_path / "words.txt").write_text("unseen\nmodels models\n")
    halfseen("pronounce", english, tmp_path / "words.txt", "-o", tmp_path / "more.dict", "-n", 2)
    found = hs.read_dictionary(tmp_path / "more.dict")
    assert list(found) == ["unseen", "models"]
    assert found == hs.load(english).pronounce(["unseen", "models"], n_best=2)
    assert all(len(own) == 2 for own in found.values())
    halfseen("pronounce", english, tmp_path / "words.txt", "-o", tmp_path / "p.dict", "-n", 2, "--probs")
    assert hs.read_dictionary(tmp_path / "p.dict") == found


def test_words_become_a_table(english, tmp_path):
    halfseen("pronounce", english, "--text", "unseen models", "-n", 3, "-o", tmp_path / "said.csv")
    with open(tmp_path / "said.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["word"] for row in rows] == ["unseen"] * 3 + ["models"] * 3
    assert all(0 < float(row["probability"]) <= 1 for row in rows)


def test_words_come_from_standard_input(english):
    assert halfseen("pronounce", english, stdin="cat\n").stdout == "cat\tK AE T\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--text", "na\u00efve"), 1, "letters that the dictionary did not have: '\u00ef' (na\u00efve)"),
        (("--text", " "), 1, "--text: there are no words"),
        (("no.txt",), 1, "no.txt"),
        (("words.txt", "--text", "a"), 2, "give words by --text or in a file, not both"),
        (("--text", "cat", "--unknown-letters", "guess"), 2, "--unknown-letters 'guess' is not one of"),
        (("--text", "cat", "-o", "no/where.dict"), 2, "there is no directory no"),
    ],
)
def test_what_is_wrong_is_told(english, arguments, code, said):
    assert said in halfseen("pronounce", english, *arguments, code=code).stderr.replace("\n", " ")


def test_unknown_letters_are_replaced(english):
    done = halfseen("pronounce", english, "--text", "c\u00e4t", "--unknown-letters", "replace")
    assert done.stdout == "c\u00e4t\tK AE T\n"
    assert "read '\u00e4' as 'a'" in done.stderr


def test_a_dictionary_is_scored(english, tmp_path):
    (tmp_path / "held.dict").write_text("cat\tK AE T\nunseen\tAH N S IY N\nthe\tDH AH\nthe\tX\n")
    done = halfseen("score", english, tmp_path / "held.dict", code=1)
    assert "phones that the model does not have: 'X' (the)" in done.stderr
    (tmp_path / "held.dict").write_text("cat\tK AE T\nunseen\tAH N S IY N\nthe\tDH AH\nthe\tDH IY\n")
    shown = halfseen("score", english, tmp_path / "held.dict").stdout
    for name, value in (("words ", "3"), ("words of the fit ", "1"), ("pronunciations", "4"), ("word error ", "0")):
        [line] = [line for line in shown.splitlines() if line.startswith(name) and line.split()[-1] == value]
        assert line


def test_a_report_lists_words_to_check(english, tmp_path):
    (tmp_path / "held.dict").write_text("cat\tK AE T\ndog\tD AH G\n")
    halfseen("report", english, tmp_path / "held.dict", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for text in ("Words to check", "D AA G", "Phones that were confused", "Silent letters"):
        assert text in page


def test_options_of_a_fit(tmp_path):
    (tmp_path / "a.dict").write_text("Cat K AE1 T\ncat K AE1 D\n")
    how = ("--ngram", 2, "--max-letters", 2, "--max-phones", 2, "--keep-case", "--no-stress")
    halfseen("fit", tmp_path / "a.dict", "--model", "g2p", *how, "-o", tmp_path / "m.halfseen")
    model = hs.load(tmp_path / "m.halfseen")
    assert (model.order, model.max_letters, model.max_phones, model.lowercase, model.stress) == (2, 2, 2, False, False)
    assert model.letters_ == ("C", "a", "c", "t")
    assert model.phones_ == ("AE", "D", "K", "T")
    done = halfseen("fit", tmp_path / "a.dict", "--model", "g2p", "-k", 3, code=2)
    assert "--classes cannot be used with --model g2p: there are no classes" in done.stderr


def test_speech_is_aligned_with_words_that_a_model_pronounces(tmp_path):
    truth = corpus(tmp_path / "corpus", 12)
    known = {word: units for word, units in WORDS.items() if word != "bad"}
    (tmp_path / "known.dict").write_text("".join(f"{word}\t{units}\n" for word, units in known.items()))
    (tmp_path / "spelled.dict").write_text("".join(f"{word}\t{' '.join(word)}\n" for word in known))
    halfseen("fit", tmp_path / "spelled.dict", "--model", "g2p", "-o", tmp_path / "g2p.halfseen")
    said = ("--dictionary", tmp_path / "known.dict", "--g2p", tmp_path / "g2p.halfseen", "--language", "x-none")
    speech = tmp_path / "speech.halfseen"
    halfseen("fit", tmp_path / "corpus", "--model", "transcript", *said, "--states", 2, "-o", speech)
    known_to = hs.load(speech)
    assert known_to.dictionary["bad"] == [["b", "a", "d"]]
    name = next(iter(truth))
    words = ["abb", *(word for word, _, _ in truth[name][1:])]
    (tmp_path / "own.csv").write_text(f"{name},{' '.join(words)}\n")
    own = ("--transcripts", tmp_path / "own.csv", "-o", tmp_path / "out", "--format", "csv")
    halfseen("align", speech, tmp_path / "corpus", *own, *said[2:])
    assert "abb" in (tmp_path / "out" / f"{name}.csv").read_text()
