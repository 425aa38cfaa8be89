"""The guided tour: every number in its words is computed, and is what the sources say."""

import json
import re
import string

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.studio.lessons import LESSONS, em, lesson, show, tables
from halfseen.studio.lessons.page import computed

LONGEST = 330  # letters of a paragraph that is read from a screen in a lecture
MOST = 3  # paragraphs


@pytest.fixture(scope="module")
def tour():
    return lesson("em")


def words(tour, title):
    [page] = [page for page in tour["pages"] if page["title"].startswith(title)]
    return " ".join(page["text"])


def rows_of(shown):
    return pd.DataFrame(list(shown.rows), columns=list(shown.columns))


# ---------------------------------------------------------------------------------------------------------- its form


def test_a_lesson_is_plain_data(tour):
    assert json.loads(json.dumps(tour, allow_nan=False)) == tour
    assert LESSONS == ("em",)
    assert 15 <= len(tour["pages"]) <= 22
    for page in tour["pages"]:
        assert set(page) == {"title", "text", "show"}
        assert 0 < len(page["text"]) <= MOST
        assert all(len(paragraph) <= LONGEST and not re.search("[{}]", paragraph) for paragraph in page["text"])
    with pytest.raises(ParameterError, match="there is no lesson 'latin'"):
        lesson("latin")


def test_what_a_page_shows_has_the_form_of_the_screen_em(tour):
    for page in tour["pages"]:
        found = show(page)
        json.dumps(found, allow_nan=False)
        assert (found["kind"], found["section"], found["grid"]) == tuple(
            page["show"][name] for name in ("kind", "section", "grid")
        )
        if found["kind"] == "bound":
            assert {"places", "objective", "bound", "touch", "end"} <= set(found)
            continue
        assert {"heading", "sections", "objective", "names"} <= set(found)
        assert found["grid"] in [grid["role"] for grid in found["sections"][found["section"]]["grids"]]
    changed = show(tour["pages"][0])
    changed["sections"].clear()
    assert show(tour["pages"][0])["sections"]  # what is kept is not what is handed out


def test_every_figure_is_used_and_numbers_with_decimals_are_figures_or_data():
    data = {str(abs(cell)) for shown in (tables.VALUES, tables.OVERLAP) for (cell,) in shown.rows}
    for page in em.pages():
        used = {name for paragraph in page.text for _, name, _, _ in string.Formatter().parse(paragraph) if name}
        assert used == set(page.figures), page.title
        typed = set(re.findall(r"\d+\.\d+", " ".join(page.text)))
        assert typed <= data, page.title


def test_figures_follow_what_is_computed(monkeypatch):
    """Another guess gives other words: no number is typed."""
    start = {"x1": {"0": (0.5, 0.1), "1": (0.5, 0.9)}, "x2": {"0": (0.8, 0.4), "1": (0.2, 0.6)}}
    before = [page.words() for page in [*em.two_points(), *em.one_iteration()]]
    monkeypatch.setattr(em, "POINTS", tables.POINTS.__class__(**{**vars(tables.POINTS), "start": start}))
    after = [page.words() for page in [*em.two_points(), *em.one_iteration()]]
    changed = [one != other for one, other in zip(before, after, strict=True)]
    assert changed[1:7] == [True] * 6


# -------------------------------------------------------------------------------------------------- what the words say


def test_two_points_are_those_of_the_source(tour):
    for title, numbers in {
        "Begin": "0.7 0.9 0.3",
        "All ways": "0.015876 0.000756 0.4773 0.0227",
        "One row": "0.378 0.396",
        "E-step": "0.5 0.954545",
        "Count": "1.454545 0.545455 0.954545 0.5",
        "M-step": "1.454545 0.727273 0.954545 0.65625 0.083333",
        "The rows have": "-3.4032795 -1.3862944 -1.3862944",
    }.items():
        said = re.findall(r"-?\d+\.\d+", words(tour, title))
        assert set(numbers.split()) <= set(said), title


def test_coins_are_those_of_do_and_batzoglou(tour):
    assert {"0.6", "0.5", "0.80", "0.45"} <= set(re.findall(r"\d\.\d+", words(tour, "Two coins: which")))
    assert {"21.3", "8.6", "11.7", "8.4", "0.713", "0.581"} <= set(
        re.findall(r"\d+\.\d+", words(tour, "Two coins: heads"))
    )
    assert "at 0.80 and 0.52" in words(tour, "Two coins: after")
    start = {"weights": [0.5, 0.5], "heads": {"p": [0.6, 0.5]}}
    options = {"columns": {"heads": "binomial(10)"}, "start": start, "fixed": ["weights"], "prior": None}
    heads = pd.DataFrame({"heads": [5, 9, 8, 4, 7]})
    step = hs.explain(hs.LatentClass(2, **options), heads, n_iter=1).steps[0]
    assert_allclose(step.usage[:, 0], [0.45, 0.80, 0.73, 0.35, 0.65], atol=0.005)
    assert_allclose(step.after["heads"]["p"], [0.713012, 0.581339], atol=5e-7)
    fitted = hs.LatentClass(2, **options, n_init=1, tol=1e-12).fit(heads)
    assert_allclose(fitted.params_["heads"]["p"], [0.7967890669, 0.5195831201], atol=1e-6)


def test_watermelons_are_those_of_the_source(tour):
    known = words(tour, "Watermelons: when")
    assert all(number in known for number in ("0.00237179", "0.00058147", "0.803108"))
    labels = ["ripe"] * tables.N_RIPE + ["unripe"] * 9
    X = pd.DataFrame(list(tables.MELONS), columns=list(tables.ATTRIBUTES))
    model = hs.NaiveBayes().fit(X, labels)
    assert_allclose(model.params_["sound"]["crisp"][0], 1 / 11)
    assert_allclose(model.predict_proba(pd.DataFrame([tables.NEW], columns=X.columns))[0, 0], 0.803108, atol=5e-7)
    hidden = words(tour, "Watermelons: take")
    assert "class 1 has 4 melons, exactly those with a flat umbilicus, and class 0 the other 13" in hidden
    last = computed(tables.melons(tables.MELONS, 10, "responsibilities", 10).to_dict())["sections"][10]["grids"][1]
    class_1 = [int(row[0]) for row in last["rows"] if row[-2] == "class 1" and float(row[-1]) > 0.5]
    assert class_1 == X.index[X["umbilicus"] == "flat"].tolist()


def test_the_bound_of_the_words_is_that_of_the_model(tour):
    start = {"weights": [0.5, 0.5], "x": {"mean": [0, 2.5], "sd": [1, 1]}}
    model = hs.LatentClass(2, columns={"x": "gaussian"}, start=start, prior=None)
    X = rows_of(tables.VALUES)
    first, second = hs.explain(model, X, n_iter=2).steps
    assert f"{first.objective:.4f}" in words(tour, "A bound")
    never = words(tour, "Why the likelihood")
    given = hs.LatentClass.from_params([0.5, 0.5], {"x": start["x"]})
    top = hs.bound(given, X, first.after).bound
    assert all(f"{number:.4f}" in never for number in (first.objective, top, first.reached, second.objective))
    assert first.objective < top < first.reached


def test_ways_to_assign_are_those_of_the_model(tour):
    found = {}
    start = {"weights": [0.5, 0.5], "x": {"mean": [-1.1, 1.9], "sd": [1, 1]}}
    for assign, seed in (("soft", 0), ("hard", 0), ("sample", 1)):
        model = hs.LatentClass(
            2, columns={"x": "gaussian"}, start=start, assign=assign, prior=None, random_state=seed, n_init=1
        )
        found[assign] = hs.explain(model, rows_of(tables.OVERLAP), n_iter=5).steps
    assert f"{found['soft'][4].reached:.3f} after five iterations" in words(tour, "Soft")
    hard = words(tour, "Hard")
    assert f"leaves {found['hard'][0].usage[4, 0]:.0f} of the number 0.6" in hard
    assert f"soft assignment left {found['soft'][0].usage[4, 0]:.2f}" in hard
    assert f"together, {found['hard'][4].reached:.3f} in the end" in hard
    assert found["hard"][0].reached == found["hard"][1].reached  # after one iteration nothing changes
    for assign, said in (("hard", "The means are"), ("soft", "soft assignment has")):
        x = found[assign][4].after["x"]
        numbers = [f"{number:.2f}" for number in (*x["mean"], *x["sd"])]
        assert re.search(rf"{said} {numbers[0]} and {numbers[1]} with.* {numbers[2]} and {numbers[3]}[;.]", hard)
    hard_x, soft_x = (found[assign][4].after["x"] for assign in ("hard", "soft"))
    assert np.ptp(hard_x["mean"]) > np.ptp(soft_x["mean"])
    assert (hard_x["sd"] < soft_x["sd"]).all()
    reached = [step.reached for step in found["sample"][:3]]
    assert "it is {:.3f}, {:.3f} and {:.3f} after".format(*reached) in words(tour, "Sampled")
    assert min(np.diff(reached)) < 0  # it need not rise


def test_k_means_is_that_of_the_model(tour):
    x = np.array(tables.NUMBERS.rows)
    trace = hs.KMeans(2, init=[[1.0], [2.0]], tol=0).fit(x).trace_
    assert "falls from {:.0f} to {:.0f}, {:.2f} and {:.2f}".format(*trace) in words(tour, "k-means is")
    twin = computed(tables.NUMBERS.to_dict())["twin"]
    assert all(twin["same"])
    corners = np.array(tables.CORNERS.rows)
    bad, good = (hs.KMeans(2, init=init).fit(corners).inertia_ for init in ([[2, 0], [2, 1]], [[0, 0], [4, 1]]))
    ends = words(tour, "A bad start")
    assert f"stays at {bad:.0f}" in ends
    assert f"it is {good:.0f}" in ends


def test_the_start_that_tells_nothing_apart_is_no_maximum(tour):
    heads = pd.DataFrame({"heads": [5, 9, 8, 4, 7]})
    options = {"columns": {"heads": "binomial(10)"}, "fixed": ["weights"], "prior": None, "n_init": 1}
    said, reached = words(tour, "A start"), []
    for p in ([0.5, 0.5], [0.67, 0.65]):
        start = {"weights": [0.5, 0.5], "heads": {"p": p}}
        reached.append(hs.LatentClass(2, start=start, **options).fit(heads).loglik_)
    assert f"The log-likelihood is {reached[0]:.3f}; the two coins of before have {reached[1]:.3f}" in said
    assert "become 0.66" in said
