"""`halfseen align` where recording and transcript differ: notes, options, files."""

import csv
import io
import json

import numpy as np
import pytest

import halfseen as hs
from tests.app.test_command_line import halfseen
from tests.sounds import WORDS, corpus, sound, write_wav

pytestmark = pytest.mark.thorough
SAID = ["ab", "ca", "dc", "bad", "ca"]


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """A model of made-up speech, and a recording of `SAID`."""
    folder = tmp_path_factory.mktemp("speech")
    corpus(folder / "corpus", 12)
    (folder / "words.dict").write_text("".join(f"{word}\t{units}\n" for word, units in WORDS.items()))
    model = folder / "m.halfseen"
    how = ("--model", "transcript", "--dictionary", folder / "words.dict", "--states", 2)
    halfseen("fit", folder / "corpus", *how, "-o", model)
    units = ["sil", *(unit for word in SAID for unit in [*WORDS[word].split(), "sil"])]
    samples, _ = sound(units, np.random.default_rng(3))
    write_wav(folder / "talk.wav", samples)
    return folder, model


def aligned(speech, said, output, *how):
    folder, model = speech
    (folder / "talk.txt").write_text(" ".join(said))
    return halfseen("align", model, folder / "talk.wav", folder / "talk.txt", "-o", output, *how)


def test_a_right_transcript_has_no_notes(speech, tmp_path):
    done = aligned(speech, SAID, tmp_path / "t.json", "--left-out", 0.01, "--inserted", 0.01)
    assert "note:" not in done.stderr
    found = json.loads((tmp_path / "t.json").read_text())
    assert [part["name"] for part in found["words"]] == SAID
    assert "left_out" not in found
    assert all(part["surprise"] < 4 and part["spoken"] > 0.9 for part in found["words"])


def test_a_wrong_word_is_noted_and_in_the_rows(speech, tmp_path):
    wrong = ["ab", "ca", "dc", "ab", "ca"]
    done = aligned(speech, wrong, tmp_path / "t.json")
    assert "1 word does not sound like it: ab (" in done.stderr.replace("\n", " ")
    folder, model = speech
    rows = list(csv.DictReader(io.StringIO(halfseen("align", model, folder / "talk.wav", folder / "talk.txt").stdout)))
    surprises = [float(row["surprise"]) for row in rows]
    assert int(np.argmax(surprises)) == 3
    assert surprises[3] > 4


def test_a_word_that_was_not_said_is_noted_and_marked_in_files(speech, tmp_path):
    more = [*SAID[:2], "bad", *SAID[2:]]
    done = aligned(speech, more, tmp_path / "t.json", "--left-out", 0.05)
    assert "1 word was not found in the recording: bad (" in done.stderr.replace("\n", " ")
    found = json.loads((tmp_path / "t.json").read_text())
    assert [part["name"] for part in found["words"]] == SAID
    assert [(part["name"], part["word"]) for part in found["left_out"]] == [("bad", 2)]
    aligned(speech, more, tmp_path / "t.csv", "--left-out", 0.05)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert [row["name"] for row in rows if row["level"] == "left out"] == ["bad"]


def test_what_the_transcript_lacks_is_noted_and_an_interval_of_the_words(speech, tmp_path):
    less = [*SAID[:2], *SAID[3:]]
    done = aligned(speech, less, tmp_path / "t.TextGrid", "--inserted", 0.01)
    assert "something that is not in the transcript is said at" in done.stderr.replace("\n", " ")
    grid = hs.read_textgrid(tmp_path / "t.TextGrid")
    assert [part.text for part in grid["words"] if part.text] == [*SAID[:2], "<other>", *SAID[3:]]


def test_what_is_no_probability_is_told(speech, tmp_path):
    folder, model = speech
    (folder / "talk.txt").write_text("ab")
    files = (folder / "talk.wav", folder / "talk.txt", "-o", tmp_path / "t.json")
    assert "--left-out 2.0 is not a probability" in halfseen("align", model, *files, "--left-out", 2, code=2).stderr
