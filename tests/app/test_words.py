"""Word alignment at the command line: files of sentences in, files of links out."""

import gzip
import json
from types import SimpleNamespace

import pytest

import halfseen as hs
from halfseen.app.report.sections import _python
from halfseen.families.words.cli import compare_links, is_links
from tests.app.test_command_line import halfseen

pytestmark = pytest.mark.thorough
SOURCE = ["das Haus", "das Buch", "ein Buch", "das Haus ist klein", "ein Haus", ""]
TARGET = ["the house", "the book", "a book", "the house is small", "a house", "x"]


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Two files, and a model of them."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "a.de").write_text("\n".join(SOURCE) + "\n")
    (folder / "a.en").write_text("\n".join(TARGET) + "\n")
    model = folder / "m.halfseen"
    done = halfseen("fit", folder / "a.de", folder / "a.en", "--model", "words", "--max-iter", 10, "-o", model)
    assert "1 of 6 pairs have an empty side and are ignored: line 6" in done.stderr
    assert "Haus: house" in done.stdout
    return folder, model


def test_links_go_to_a_file(words, tmp_path):
    folder, model = words
    halfseen("align", model, folder / "a.de", folder / "a.en", "-o", tmp_path / "links")
    lines = (tmp_path / "links").read_text().split("\n")
    assert lines[:3] == ["0-0 1-1"] * 3
    assert lines[5:] == ["", ""]  # a line for each pair, and the end of the last
    done = halfseen("align", model, folder / "a.de", folder / "a.en", "--probs", "--symmetrize", "intersection")
    assert done.stdout.startswith("0-0:1.0000 1-1:1.0000\n")


def test_links_are_compared(words, tmp_path):
    folder, model = words
    (tmp_path / "gold").write_text("0-0 1-1\n" * 3 + "0-0 1-1 2-2 3?3\n0-0 1-1\n\n")
    halfseen("align", model, folder / "a.de", folder / "a.en", "-o", tmp_path / "links")
    assert "alignment error rate" in halfseen("compare", tmp_path / "links", tmp_path / "gold").stdout
    found = json.loads(halfseen("compare", tmp_path / "links", tmp_path / "gold", "--json").stdout)
    assert found["n_pairs"] == 6
    assert 0 <= found["aer"] < 0.3
    (tmp_path / "short").write_text("0-0\n")
    done = halfseen("compare", tmp_path / "links", tmp_path / "short", code=1)
    assert "has 6 lines" in done.stderr


def test_links_are_known_in_any_dress(words, tmp_path):
    """Compressed, with a byte order mark, of pairs without links, with a slip in them; a model is none."""
    _, model = words
    path = tmp_path / "links"
    for raw, wanted in (
        (b"\xef\xbb\xbf0-0\r\n", True),
        (b"\n\n\n", True),
        (b"0-0 1_1\n", True),
        (b"\n0001 1 1 S\n", True),
        (b"0?0\n", True),
        (b"", False),
        (b"a,b\n", False),
        (b"\xff\xfe", False),
    ):
        path.write_bytes(raw)
        assert is_links(str(path)) is wanted, raw
    (tmp_path / "links.gz").write_bytes(gzip.compress(b"0-0\n"))
    (tmp_path / "numbers.gz").write_bytes(gzip.compress(b"1 1 1\n"))
    assert is_links(str(tmp_path / "links.gz"))
    assert compare_links(str(tmp_path / "links.gz"), str(tmp_path / "numbers.gz")).aer == 0
    path.write_bytes(b"\n0-0\n")
    assert compare_links(str(path), str(tmp_path / "numbers.gz")).n_pairs == 2
    assert not is_links(str(model))
    assert not is_links(str(tmp_path / "nothing"))


def test_a_word_is_looked_up(words):
    _, model = words
    done = halfseen("info", model, "--word", "Haus")
    assert "house" in done.stdout
    assert json.loads(halfseen("info", model, "--word", "Haus", "--json").stdout)[0]["translation"] == "house"
    done = halfseen("info", model, "--word", "Hau", code=1)
    assert "was not seen when fitting. Did you mean 'Haus'" in done.stderr
    shown = halfseen("info", model).stdout
    assert "6 of the source, 7 of the target" in shown
    assert "hs.WordAligner(" in halfseen("info", model, "--code").stdout


def test_scores_and_report(words, tmp_path):
    folder, model = words
    found = json.loads(halfseen("score", model, folder / "a.de", folder / "a.en", "--json").stdout)
    assert found["pairs"] == 6
    assert found["loglik"] == pytest.approx(hs.load(model).loglik_)
    halfseen("report", model, folder / "a.de", folder / "a.en", "-o", tmp_path / "r.html")
    assert "Word alignment: " in (tmp_path / "r.html").read_text()


def test_the_python_of_a_report_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = hs.load(words[1])
    exec(_python(model, SimpleNamespace(cost=None)), found := {"hs": hs})
    assert found["model"].loglik_ == model.loglik_
    assert (tmp_path / "report.html").exists()


def test_one_file_of_both(tmp_path):
    (tmp_path / "both").write_text("".join(f"{s} ||| {t}\n" for s, t in zip(SOURCE, TARGET, strict=True)))
    how = ("--model", "words", "--aligner", "ibm1", "--direction", "forward", "--lowercase", "--dirichlet", 0.01)
    done = halfseen("fit", tmp_path / "both", *how, "-o", tmp_path / "m", "--json", "--report", tmp_path / "r.html")
    assert json.loads(done.stdout)["model"] == "ibm1"
    assert len(halfseen("align", tmp_path / "m", tmp_path / "both").stdout.splitlines()) == 6


def test_ml_means_no_dirichlet_prior(words):
    how = ("fit", words[0] / "a.de", words[0] / "a.en", "--model", "words", "--ml")
    assert "Haus: house" in halfseen(*how).stdout
    assert "--ml means no prior: leave out --dirichlet, or --ml" in halfseen(*how, "--dirichlet", 0.1, code=2).stderr


def test_mistakes_are_told(words, tmp_path):
    folder, model = words
    for code, said, *command in (
        (2, "needs two files", "fit", folder / "a.de", folder / "a.en", folder / "a.en", "--model", "words"),
        (1, "no_such_file: there is no such file", "fit", folder / "no_such_file", folder / "a.en", "--model", "words"),
        (1, "line 1: there is no ' ||| '", "fit", folder / "a.de", "--model", "words"),
        (
            2,
            "--classes cannot be used with --model words",
            "fit",
            folder / "a.de",
            folder / "a.en",
            "--model",
            "words",
            "-k",
            3,
        ),
        (2, "--aligner is an option of word alignment: add --model words", "fit", folder / "a.de", "--aligner", "hmm"),
        (
            2,
            "--aligner 'ibm7' is not one of",
            "fit",
            folder / "a.de",
            folder / "a.en",
            "--model",
            "words",
            "--aligner",
            "ibm7",
        ),
        (2, "--symmetrize 'x' is not one of", "align", model, folder / "a.de", folder / "a.en", "--symmetrize", "x"),
        (2, "--format cannot be used", "align", model, folder / "a.de", folder / "a.en", "--format", "srt"),
        (1, "there is no such file", "align", model, folder / "a.de", folder / "b.en"),
        (2, "there is no directory", "align", model, folder / "a.de", folder / "a.en", "-o", tmp_path / "no" / "x"),
        (2, "predict cannot be used with a WordAligner model", "predict", model, folder / "a.de"),
    ):
        assert said in halfseen(*command, code=code).stderr
