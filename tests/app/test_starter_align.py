"""`halfseen align talk.wav talk.txt`: a recording and its text are all that is needed."""

import csv
import html
import io
import json

import pytest

import halfseen as hs
from tests.app.test_command_line import halfseen
from tests.unit.test_starter import SENTENCE, WAYS, said

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("talk")
    path, truth = said(folder)
    (folder / "own.dict").write_text("".join(f"{word}\t{way}\n" for word, way in WAYS.items()))
    return folder, path, dict(truth)


def test_captions_of_one_recording(talk, tmp_path):
    folder, path, truth = talk
    done = halfseen("align", path, folder / "talk.txt", "-o", tmp_path / "talk.srt")
    assert "1 recording aligned" in done.stderr
    assert "check its transcript" not in done.stderr
    [first, *_] = hs.read_captions(tmp_path / "talk.srt")
    assert first.text.startswith("Seven yellow")
    assert abs(first.start - truth["seven"]) < 0.2


def test_a_table_of_words(talk):
    folder, path, truth = talk
    done = halfseen("align", path, folder / "talk.txt", "--dictionary", folder / "own.dict")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["unit"] for row in rows] == SENTENCE.split()
    assert abs(float(rows[0]["start"]) - truth["seven"]) < 0.05
    assert "fits badly" not in done.stderr


def test_a_folder(talk, tmp_path):
    folder, _, _ = talk
    halfseen("align", folder, "-o", tmp_path / "out", "--format", "json")
    words = json.loads((tmp_path / "out" / "talk.json").read_text())["words"]
    assert [word["name"] for word in words] == SENTENCE.split()


def test_the_text_of_another_recording_is_noted(talk, tmp_path):
    _, path, _ = talk
    (tmp_path / "other.txt").write_text("Did you see her, asked the old man, who never slept.")
    done = halfseen("align", path, tmp_path / "other.txt", "-o", tmp_path / "talk.srt")
    assert "confidence below 0.5: check its transcript" in done.stderr


def test_the_report_names_a_command_that_runs_without_a_model(talk, tmp_path):
    folder, path, _ = talk
    halfseen("align", path, folder / "talk.txt", "-o", tmp_path / "talk.srt", "--report", tmp_path / "talk.html")
    page = (tmp_path / "talk.html").read_text()
    assert "halfseen align MODEL.halfseen" not in page
    assert f"halfseen align {path} -o talk.srt" in html.unescape(page)
