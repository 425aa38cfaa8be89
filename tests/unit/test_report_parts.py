"""Parts of the report one by one: tables as CSV, the head, checks, colours, and what is chosen to be shown."""

import csv
import io
import re
import warnings
from html import unescape
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.app.report import csv_link, header
from halfseen.app.report.charts.svg import N_COLOURS, Frame, padded, ticks
from halfseen.app.report.checks import close_call, like_counts, runner_up
from halfseen.app.report.material import Material
from halfseen.app.report.page import TEMPLATES
from halfseen.app.report.parts import ClassName, Grid
from halfseen.estimators.table.profile import profiles
from halfseen.families.grammar import report as of_grammars
from halfseen.families.words import report as of_words
from halfseen.plots import style
from tests import report_pages

pytest.importorskip("jinja2")


def rows_of(link):
    """The cells of a table in a link."""
    text = unquote(link.removeprefix("data:text/csv;charset=utf-8,"), errors="strict")
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))


def test_a_link_holds_the_whole_table_and_no_formula():
    rows = [
        ["=HYPERLINK(1)", "1,234.5", "−0.5"],
        ['a "b", c', "45%", "+1"],
        ["@x", "-y", "line\nbreak"],
        ["#é%", "", "1e-5"],
    ]
    grid = Grid("A table", ["a", "b", "c"], rows)
    assert rows_of(grid.csv) == [
        ["a", "b", "c"],
        ["'=HYPERLINK(1)", "1234.5", "-0.5"],
        ['a "b", c', "45%", "+1"],
        ["'@x", "'-y", "line\nbreak"],
        ["#é%", "", "1e-5"],
    ]
    assert not re.search(r'["<>#\s]', grid.csv.replace(" ", ""))
    assert csv_link.file_name("??") == "table.csv"


def test_names_are_cut_on_the_page_but_not_in_the_csv():
    long = "a class with a very long name" * 4
    X = [[v, v % 3 + 0.5] for v in np.linspace(0, 9, 40).tolist()]
    model = hs.LatentClass(2, n_init=2, random_state=0).fit(X).rename([long, "d"])
    page = hs.report(model, X)
    heads = [rows_of(unescape(link))[0] for link in re.findall(r'href="(data:text/csv[^"]*)"', page)]
    assert any(long in head for head in heads)


def test_colours_of_the_page_are_those_of_the_plots():
    css = (TEMPLATES / "report.css").read_text()
    assert len(style.CLASSES) == N_COLOURS
    light = dict(re.findall(r"--c(\d): (#\w+)", css.split("@media")[0]))
    assert [light[str(k)] for k in range(N_COLOURS)] == list(style.CLASSES)
    dark = dict(re.findall(r"--c(\d): (#\w+)", css.split("@media")[1]))
    assert set(dark) == set(light)


def test_a_class_has_one_colour_everywhere():
    birds = hs.load_penguins()[report_pages.MEASURES]
    model = hs.GaussianMixture(2, n_init=2, random_state=0).fit(birds).rename(["small", "large"])
    page = hs.report(model, birds)
    assert set(re.findall(r'<span class="c c(\d)">small', page)) == {"0"}
    assert set(re.findall(r'<span class="c c(\d)">large', page)) == {"1"}
    assert '<article class="card k1">\n<h4>large</h4>' in page
    assert ClassName.of("x", 9).k == 9


def test_the_head_has_file_and_date_of_the_fit(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    model = hs.KMeans.from_params([[0.0], [1.0]])
    assert header.date_of(model) == header.data_name(model) == ""
    reading = {"data": "/somewhere/my table.csv"}
    model._origin = model._origin._replace(fitted_at="2026-03-01T23:59:59+00:00", reading=reading)
    assert header.date_of(model) == "1 March 2026"
    assert header.data_name(model) == "my table.csv"
    found = header.header(model, Material(model, None), "Report on clusters", None)
    assert found.title == "Clusters: my table.csv"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert header.date_of(model) == "1 January 1970"
    model._origin = model._origin._replace(reading={"data": "a.de", "target": "a.en", "links": None})
    assert header.data_name(model) == "a.de and a.en"


@pytest.mark.parametrize(
    ("bic", "fine", "words"),
    [([9.0, 5.0, 6.3], False, "1.3 lower than that of the next best, 3 classes: next to nothing"),
     ([12.0, 5.0, 30.0], False, "7.0 lower than that of the next best, 1 class: a small difference"),
     ([99.0, 5.0, 30.0], True, "25.0 lower than that of the next best, 3 classes: a clear difference")],
)  # fmt: skip
def test_a_small_gap_of_bic_is_mentioned(bic, fine, words):
    class Model:
        criterion = "bic"
        selection_ = pd.DataFrame({"n_components": [1, 2, 3], "bic": bic, "chosen": [False, True, False]})

    [check] = close_call(Model())
    assert check.fine == fine
    assert words in check.text
    assert runner_up({"chosen": [True, False], "bic": [1.0, 4.0]}, "bic") == (1, 3.0)


def test_counts_taken_as_continuous_are_suggested_as_poisson():
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.repeat([20.0, 60.0], 150)) * 1.0
    sizes = np.round(rng.normal(np.repeat([200.0, 300.0], 150), 5))
    X = np.column_stack([counts, sizes, counts + 0.5])
    model = hs.GaussianMixture(2, covariance_type="diag", n_init=2, random_state=0).fit(X)
    [check] = like_counts(profiles(model), X, model.weights_)
    assert check.text.startswith("x0: whole numbers")
    assert "--columns x0=poisson" in check.text
    assert "x1" not in check.text
    assert list(like_counts(profiles(model), X, model.weights_, ["column 'x0': counts; try 'poisson'"])) == []
    assert "x0: whole numbers from 0 on" in hs.report(model, X)


def test_few_labels_come_with_an_interval():
    page = report_pages.few_labels()
    assert re.search(r"correctly \(95% interval \d+% to \d+%\)", page)
    assert "Accuracy and calibration rest on 43 labelled rows" in page
    assert "well calibrated" not in page
    assert "Accuracy and calibration rest on" not in report_pages.classifier()


def test_a_column_of_two_categories_has_one_row():
    votes = hs.load_votes()[["party", "crime", "mx_missile"]]
    page = hs.report(hs.LatentClass(2, n_init=2, random_state=0).fit(votes), votes)
    profile = page[page.index('<section id="profiles"') : page.index('<section id="trust"')]
    assert re.findall(r'<th scope="row" class="word">(\w+)</th>', profile) == ["party", "crime", "mx_missile"]
    assert "Of columns with two categories one is shown" in profile


def test_pairs_to_draw_are_good_typical_and_doubtful():
    pairs = [("a b c d", "w x y z")] * 3 + [(f"a b c {i}", f"w x y {i}") for i in range(8)]
    material = of_words.PairMaterial.gathered(hs.WordAligner().fit(pairs), pairs, None, None, None, None)
    chosen = of_words._examples(material)
    assert chosen[0][0] == "good"
    certain = [material.certainty[p] for _, p in chosen]
    assert certain == sorted(certain, reverse=True)
    assert len({p for _, p in chosen}) == len(chosen)


def test_the_first_pairs_of_many_are_named_as_such(monkeypatch):
    pairs = [(f"a b c {i % 3}", f"w x y {i % 3}") for i in range(12)]
    model = hs.WordAligner().fit(pairs)
    assert "looks at the first" not in hs.report(model, pairs)
    monkeypatch.setattr(of_words, "MOST_PAIRS", 5)
    page = hs.report(model, pairs)
    assert "this page looks at the first 5 pairs" in page
    assert "the first 5 of 12" in page


def test_no_sentence_is_drawn_twice():
    said = [tuple(words.split()) for words in ["Ann barks"] * 6 + ["Bob sees Ann"] * 6 + ["the dog barks"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hs.PCFG.from_string(report_pages.RULES).fit(said)
    material = of_grammars.GrammarMaterial.gathered(model, said, None, None, None, None)
    drawn = [material.words[s] for _, s in of_grammars._examples(material)]
    assert len(drawn) == len(set(drawn)) == 3


def test_a_network_shows_its_states_and_answers():
    page = report_pages.network()
    assert page.count('class="box"') == 5
    assert "party, given" in page
    hidden = report_pages.class_network()
    assert '<article class="card k1">\n<h4>bloc 1</h4>' in hidden


def test_dates_are_on_the_axis_of_a_sequence():
    page = report_pages.states()
    assert ">2024-01-01</text>" in page
    assert "2024-01-01 to 2024-06-08" in page


def test_axes():
    assert ticks(-3.0, 3.0, 3) == [(-2.0, "−2"), (0.0, "0"), (2.0, "2")]
    assert padded([2.0, 2.0]) == (1.88, 2.12)
    frame = Frame.of((0.0, 1.0), (0.0, 1.0))
    assert frame.x(1.0) > frame.x(0.0)
    assert frame.y(1.0) < frame.y(0.0)
