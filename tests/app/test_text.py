"""Text at the command line: a column of it, its classifier and its classes, their files and reports."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app

pytestmark = pytest.mark.thorough
GOOD, BAD = ["great", "lovely", "moving", "fun", "loved", "story"], ["awful", "boring", "bad", "dull", "left", "early"]
BOTH = ["film", "plot", "actors", "sound", "the", "and"]


def halfseen(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A file of reviews, half of them without a label, and a classifier of them."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("reviews")
    data = folder / "reviews.csv"
    with open(data, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["body", "label"])
        for n in range(60):
            good = n % 2 == 0
            words = rng.choice([*(GOOD if good else BAD), *BOTH], 8)
            out.writerow([" ".join(words), ("good" if good else "bad") if n < 30 else ""])
    options = ["--words", "min_df=2", "--document-length", "mean", "--unlabeled-weight", "0.5"]
    done = halfseen("fit", data, "--text", "body", "--target", "label", *options, "-o", folder / "m.halfseen")
    assert "body    text" in done.output
    return data, folder / "m.halfseen", folder


def test_a_classifier_of_text_is_kept_used_and_scored(reviews):
    data, model, folder = reviews
    loaded = hs.load(model)
    assert loaded.unlabeled_weight_ == 0.5
    new = folder / "new.csv"
    new.write_text("body\ngreat lovely zebra\nboring and dull\n")
    done = halfseen("predict", model, new)
    assert "1 words were not seen when fitting and were ignored" in done.stderr
    assert [row["class"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["good", "bad"]
    assert json.loads(halfseen("score", model, data, "--json").stdout)["accuracy"] > 0.9
    told = halfseen("info", model).stdout
    assert "great" in told
    assert "boring" in told


def test_reports_name_the_words_and_what_unlabelled_documents_changed(reviews):
    data, model, folder = reviews
    halfseen("report", model, data, "-o", folder / "m.html")
    page = (folder / "m.html").read_text()
    for part in (
        "Most distinctive words of body",
        "great (",
        "boring (",
        "without and with the unlabelled",
        "Confusion",
    ):
        assert part in page


def test_classes_of_text(reviews):
    data, _, folder = reviews
    arguments = ["fit", data, "--text", "body", "--ignore", "label", "-k", 2, "--restarts", 4, "--json"]
    found = json.loads(halfseen(*arguments, "--report", folder / "classes.html").stdout)
    tops = [set(words) for words in found["top_words"].values()]
    assert any(set(GOOD) <= top for top in tops)
    assert any(set(BAD) <= top for top in tops)
    assert "Most distinctive words" in (folder / "classes.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--words", "min_df=2"], "need --text"),
        (["--text", "body", "--words", "nonsense"], "not of the form option=value"),
        (
            ["--text", "body", "--model", "kmeans"],
            "--text is an option of latent classes",
        ),
        (["--text", "body", "--unlabeled-weight", "1"], "--unlabeled-weight needs --target"),
        (["--text", "body", "--components-per-class", "2"], "--components-per-class needs --target"),
    ],
)
def test_mistakes_are_explained(reviews, options, message):
    assert message in halfseen("fit", reviews[0], *options, code=2).output


def test_classes_of_several_kinds(reviews):
    data, _, folder = reviews
    options = ["--text", "body", "--target", "label", "--components-per-class", "2", "--seed", "0"]
    halfseen("fit", data, *options, "-o", folder / "kinds.halfseen")
    assert hs.load(folder / "kinds.halfseen").components_per_class == 2
    assert json.loads(halfseen("score", folder / "kinds.halfseen", data, "--json").stdout)["accuracy"] > 0.9


def test_every_verb_takes_text(reviews):
    data, model, folder = reviews
    why = halfseen("predict", model, data, "--why").stdout
    assert "body" in why
    assert "times as probable in good: " in why
    drawn = list(csv.DictReader(io.StringIO(halfseen("sample", model, "-n", 5).stdout)))
    assert {row["drawn_class"] for row in drawn} <= {"good", "bad"}
    assert set(drawn[0]["body"].split()) <= {*GOOD, *BAD, *BOTH}
    assert "nothing but text" in halfseen("impute", model, data, "--check").stdout
    assert "text columns are not imputed" in halfseen("impute", model, data, "-o", folder / "filled.csv").stderr
    assert "Adjusted Rand" in halfseen("compare", model, data, "--truth", "label").stdout
    other = folder / "other.halfseen"
    halfseen("fit", data, "--text", "body", "--target", "label", "--prior", "3", "-o", other)
    assert "cut or scaled by other options" in halfseen("compare", model, other, code=2).stderr
    assert "no changes" in halfseen("compare", other, other).stdout
    assert "text" in halfseen("info", model, "--code").stdout
    assert "boring" in halfseen("info", model, "--parameters").stdout
    assert "forecast cannot be used" in halfseen("forecast", model, data, code=2).stderr
    few = folder / "few.csv"
    few.write_text("".join(data.read_text().splitlines(keepends=True)[:7]))
    told = halfseen("explain", few, "--text", "body", "--ignore", "label", "--steps", 1).stdout
    assert "count of body = film" in told


def test_a_rule_is_fitted_used_and_reported_without_a_likelihood(reviews):
    data, _, folder = reviews
    rule, full = folder / "rule.halfseen", folder / "full.csv"
    full.write_text("".join(data.read_text().splitlines(keepends=True)[:31]))
    options = ["--text-model", "complement", "-o", rule, "--report", folder / "rule.html"]
    done = halfseen("fit", full, "--text", "body", "--target", "label", *options)
    assert "no likelihood" in done.stderr
    told = json.loads(halfseen("fit", full, "--text", "body", "--target", "label", *options, "--json").stdout)
    assert "loglik" not in told
    assert told["top_words"]["good"][0] in GOOD
    assert json.loads(halfseen("score", rule, full, "--json").stdout) == {
        "rows": 30.0, "accuracy": 1.0, "labelled_rows": 30.0
    }  # fmt: skip
    assert "there is no sample" in halfseen("sample", rule, code=2).stderr
    assert "log-likelihood" not in halfseen("info", rule).stdout
    page = (folder / "rule.html").read_text()
    assert "Typical of each class" in page
    assert "Improbable rows" not in page


def test_the_report_shows_documents_beside_their_words(reviews):
    data, model, folder = reviews
    halfseen("report", model, data, "-o", folder / "words.html")
    page = (folder / "words.html").read_text()
    for part in (
        "Typical of each class",
        "Between classes|For every row the most likely class",
        "Improbable rows",
        "Profiles",
    ):
        assert any(word in page for word in part.split("|")), part
    assert "Relations between columns within the classes" in page
    assert 'id="missing"' not in page
    first = data.read_text().splitlines()[1].split(",")[0]
    assert any(line.split(",")[0] in page for line in data.read_text().splitlines()[1:]), first
