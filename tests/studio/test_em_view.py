"""The screen EM: its numbers are those of `explain` on the chosen rows; what cannot be shown says why."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.analysis.bound_line import bound_line
from halfseen.errors import FitError
from halfseen.studio import em_numbers
from halfseen.studio.lessons import lesson, show
from tests.shared_data import shared_data
from tests.studio.served import studio

COINS = {"columns": ["heads"], "kinds": {"heads": "binomial(10)"}, "start": {"heads": {"p": [0.6, 0.5]}}}
TABLE = pd.DataFrame(
    {
        "name": list("abcdefgh"),
        "size": [1.0, 1.4, 0.8, 5.2, 4.9, 5.5, None, 0.9],
        "mass": [2.0, 2.2, 1.7, 8.0, 7.4, 8.3, 7.9, 2.1],
        "color": ["red", "red", "blue", "blue", None, "blue", "blue", "red"],
        "visits": [0, 1, 0, 7, 9, 6, 8, 0],
        "blank": [None, None, None, None, None, None, 1.5, 2.5],
    }
)


@pytest.fixture
def page(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    with studio(tmp_path / "table.csv") as found:
        yield found


@pytest.fixture
def coins():
    with studio(shared_data("coins/coins.csv")) as found:
        yield found


def em(page, **ask):
    found = page.post("em", **ask)
    assert found["problem"] is None, found["problem"]
    return found


def grid(found, section, role):
    [shown] = [grid for grid in found["sections"][section]["grids"] if grid["role"] == role]
    return shown


def numbers(found, section, role, row):
    [cells] = [cells for cells in grid(found, section, role)["rows"] if cells[0] == row]
    return [float(cell) for cell in cells[1:]]


# ---- coins -----------------------------------------------------------------------------------------------------------


def test_coins_as_published(coins):
    """Do and Batzoglou (2008): from .60 and .50, after one iteration .71 and .58, after ten .80 and .52."""
    found = em(coins, **COINS, shares="equal")
    assert numbers(found, 0, "parameters", "p of heads") == [0.6, 0.5]
    assert [f"{p:.3f}" for p in numbers(found, 1, "m-step", "p of heads")] == ["0.713", "0.581"]
    assert [f"{p:.2f}" for p in numbers(found, 10, "m-step", "p of heads")] == ["0.80", "0.52"]
    assert grid(found, 1, "m-step")["arithmetic"][1][1] == "21.29748 / (21.29748 + 8.572247) = 0.713012"
    assert numbers(found, 1, "m-step", "P(class)") == [0.5, 0.5]
    assert em(coins, **COINS)["sections"][1]["grids"][-1]["rows"][0][1:] == ["0.597395", "0.402605"]


def test_the_bound_of_coins_touches_and_lands(coins):
    found = em(coins, **COINS)
    for iteration in (1, 3):
        line = coins.post("bound", **COINS, iteration=iteration)
        assert line["problem"] is None
        assert_allclose(line["touch"]["objective"], found["objective"]["before"][iteration - 1], rtol=1e-10)
        assert_allclose(line["end"]["objective"], found["objective"]["after"][iteration - 1], rtol=1e-10)
        assert line["touch"]["objective"] <= line["end"]["bound"] <= line["end"]["objective"]
    model = hs.LatentClass(2, columns=COINS["kinds"], start=COINS["start"], prior=None, n_init=1, random_state=0)
    expected = bound_line(model, pd.DataFrame({"heads": [5, 9, 8, 4, 7]}), step=2).to_dict()
    assert {name: line[name] for name in expected} == expected


def test_coins_cannot_be_taken_as_they_are_read(coins):
    """With five rows every column has another value in each: nothing is computed before a kind is chosen."""
    found = coins.post("em")
    assert found["asked"]["columns"] == []
    assert found["asked"]["rows"] == [0, 1, 2, 3, 4]
    assert found["problem"].startswith("There is no column to work with")
    assert "'tosses' has another value in every row" in coins.post("em", columns=["tosses"])["problem"]


# ---- the numbers are those of explain --------------------------------------------------------------------------------


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_numbers_are_those_of_explain_on_these_rows(page, assign):
    rows, kinds = [7, 2, 3, 5, 0], {"size": "gaussian", "color": "categorical", "visits": "poisson"}
    found = em(page, rows=rows, columns=list(kinds), kinds=kinds, assign=assign, seed=3, prior="row", n_iter=2)
    model = hs.LatentClass(2, columns=kinds, assign=assign, random_state=3, prior="row", n_init=1)
    expected = hs.explain(model, TABLE.loc[rows, list(kinds)], n_iter=2).to_dict()
    assert found["objective"] == expected["objective"]
    assert found["names"] == ["class 0", "class 1"]
    for shown, own in zip(found["sections"], expected["sections"], strict=True):
        assert (shown["title"], shown["result"], shown["arithmetic"]) == (
            own["title"],
            own["result"],
            own["arithmetic"],
        )
        for one, other in zip(shown["grids"], own["grids"], strict=True):
            assert one["arithmetic"] == other["arithmetic"]
            assert [cells[1:] for cells in one["rows"]] == [cells[1:] for cells in other["rows"]]


def test_rows_have_their_numbers_in_the_file(page):
    found = em(page, rows=[7, 2, 3, 5], columns=["size", "mass"], kinds={}, model="gaussian")
    for role in ("joint", "responsibilities"):
        assert list(dict.fromkeys(cells[0] for cells in grid(found, 1, role)["rows"])) == ["7", "2", "3", "5"]
    assert grid(found, 0, "data")["rows"][1] == ["2", "0.8", "1.7"]
    assert grid(found, 1, "completions")["head"][:4] == ["row 7", "row 2", "row 3", "row 5"]


def test_the_same_request_has_the_same_answer_and_more_iterations_begin_alike(page):
    ask = {"columns": ["size", "mass"], "assign": "sample", "seed": 5}
    found = em(page, **ask, n_iter=4)
    assert em(page, **ask, n_iter=4) == found
    assert em(page, **ask, n_iter=9)["sections"][:5] == found["sections"]
    assert em(page, **ask | {"seed": 6}, n_iter=4)["sections"] != found["sections"]


def test_columns_and_kinds_are_those_of_the_screen_data(page):
    page.post("spec", changes={"columns": {"visits": "poisson"}, "ignore": ["mass"]})
    asked = em(page)["asked"]
    assert asked["columns"] == ["size", "color", "visits", "blank"]  # the names tell rows apart
    assert asked["kinds"]["visits"] == "poisson"
    assert em(page, kinds={"visits": "gaussian"})["asked"]["kinds"]["visits"] == "gaussian"
    assert em(page, model="kmeans", rows=[0, 1, 2, 3, 4, 5])["asked"]["columns"] == ["size", "visits"]


def test_json_has_no_text_that_is_no_number(page):
    for ask in ({}, {"model": "gaussian"}, {"model": "kmeans", "compare": True}):
        json.dumps(em(page, **ask, columns=["size", "mass"]), allow_nan=False)


# ---- where it starts -------------------------------------------------------------------------------------------------


def start_of(found):
    return {entry["label"]: entry["values"] for entry in found["start"]}


def test_what_is_not_typed_is_as_drawn(page):
    ask = {"columns": ["size", "color"], "kinds": {"color": "categorical", "size": "gaussian"}, "seed": 2}
    drawn = start_of(em(page, **ask))
    typed = start_of(em(page, **ask, start={"size": {"mean": [None, 4.5]}}, shares=[0.25, None]))
    assert typed["mean of size"] == [pytest.approx(drawn["mean of size"][0]), 4.5]
    assert typed["sd of size"] == pytest.approx(drawn["sd of size"])
    assert typed["P(color = red)"] == pytest.approx(drawn["P(color = red)"])
    assert typed["P(class)"] == pytest.approx([0.25, 0.75])


def test_probabilities_that_are_not_typed_share_what_is_left(page):
    ask = {"columns": ["color"], "kinds": {"color": "categorical"}}
    typed = start_of(em(page, **ask, start={"color": {"red": [0.9, None]}}))
    assert typed["P(color = red)"][0] == 0.9
    assert typed["P(color = blue)"][0] == pytest.approx(0.1)
    three = em(page, columns=["color"], classes=3, shares=[0.5, None, None])
    assert sum(start_of(three)["P(class)"]) == pytest.approx(1)
    more = page.post("em", **ask, start={"color": {"red": [0.9, 0.5], "blue": [0.3, 0.5]}})
    assert "add up to 1.2, which is more than 1" in more["problem"]


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_a_gaussian_mixture_starts_where_it_is_told(page, covariance):
    start = {"size": {"mean": [1.0, 5.0], "sd": [0.5, 2.0]}, "mass": {"mean": [2.0, None]}}
    ask = {"model": "gaussian", "covariance": covariance, "columns": ["size", "mass"], "start": start}
    found = start_of(em(page, **ask, shares="equal"))
    assert found["mean of size"] == [1.0, 5.0]
    assert found["sd of size"] == pytest.approx([0.5, 2.0])
    assert found["mean of mass"][0] == 2.0
    refused = page.post("em", **ask | {"covariance": "tied"})["problem"]
    assert refused == "start: standard deviations can be given for covariances full and diag, not for tied."


def test_shares_are_estimated_held_equal_or_begin_as_typed(page):
    ask = {"columns": ["size", "mass"], "n_iter": 3}
    for model in ("classes", "gaussian"):
        equal = em(page, **ask, model=model, shares="equal")
        assert numbers(equal, 3, "m-step", "P(class)") == [0.5, 0.5]
        assert equal["start"][0]["fixed"]
        typed = em(page, **ask, model=model, shares=[0.2, 0.8])
        assert typed["start"][0]["values"] == pytest.approx([0.2, 0.8])
        assert numbers(typed, 3, "m-step", "P(class)") != [0.2, 0.8]


# ---- k-means is hard EM ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("classes", [2, 3])
def test_k_means_assigns_as_the_mixture_that_it_is(page, seed, classes):
    """Row 6 has a missing cell: it weighs twice in the mixture, as its distance counts twice."""
    ask = {"model": "kmeans", "columns": ["size", "mass"], "classes": classes, "seed": seed}
    found = em(page, **ask, compare=True, n_iter=5)
    moved = any("farthest" in str(grid(found, i, "centres")["arithmetic"]) for i in range(1, 6))
    assert found["twin"]["same"] == [True] * 5 or moved
    centres = np.array([cells[1:] for cells in grid(found, 5, "centres")["rows"]], dtype=float)
    means = [numbers(found["twin"], 5, "m-step", f"mean of {name}") for name in ("size", "mass")]
    assert_allclose(centres.T, means, atol=2e-6)


def test_k_means_starts_at_typed_centres(page):
    found = em(page, model="kmeans", columns=["size", "mass"], start={"size": {"mean": [0.0, 9.0]}})
    assert start_of(found)["centre in size"] == [0.0, 9.0]
    assert grid(found, 0, "centres")["rows"][0][1] == "0.000000"
    assert found["twin"] is None


def test_a_row_without_cells_has_no_place_in_the_mixture(page):
    found = em(page, model="kmeans", columns=["size", "blank"], rows=[0, 3, 6, 7], compare=True)
    assert found["twin"]["same"] == [True] * 10
    found = em(page, model="kmeans", columns=["size"], rows=[0, 3, 6, 7], compare=True)
    assert found["twin"] == {
        "problem": "row 6 has no observed cell: a mixture cannot weigh it as k-means does. Leave it out."
    }


# ---- what cannot be shown --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        ({"rows": list(range(31))}, "31 rows are too many to read number by number: choose at most 30"),
        ({"rows": [0, 0]}, "row 0 is named twice"),
        ({"rows": [8]}, "there is no row 8: rows are numbered from 0 to 7"),
        ({"rows": "0-7"}, "not a list"),
        ({"rows": []}, "not a list"),
        ({"rows": [True]}, "there is no row True"),
        ({"columns": ["weight"]}, "there is no column 'weight'"),
        ({"columns": "size"}, "not a list"),
        ({"kinds": {"weight": "gaussian"}}, "there is no column 'weight'"),
        ({"kinds": ["gaussian"]}, "does not name a kind"),
        ({"model": "hmm"}, "model='hmm' is not one of classes, gaussian, kmeans"),
        ({"classes": 9}, "classes=9 is not a whole number from 1 to 8"),
        ({"classes": 3, "rows": [0, 1]}, "3 classes for 2 rows"),
        ({"n_iter": 51}, "from 1 to 50"),
        ({"assign": "sampled"}, "not one of soft, hard, sample"),
        ({"seed": -1}, "seed=-1"),
        ({"prior": 2.0}, "prior=2.0 is not one of row"),
        ({"start": {"weight": {"mean": [1, 2]}}, "columns": ["size"]}, "'weight' is not one of the columns size"),
        ({"start": {"size": {"mean": [1]}}, "columns": ["size"]}, "mean of size: 1 numbers for 2 classes"),
        ({"start": {"size": {"mean": "x"}}, "columns": ["size"]}, "not a list of numbers"),
        ({"start": {"size": {"mean": [1e300, 1]}}, "columns": ["size"]}, "not a list of numbers"),
        ({"start": {"size": 3}, "columns": ["size"]}, "does not name parameters"),
        ({"shares": "mine"}, "the shares of the classes: 'mine'"),
        ({"shares": [1.0]}, "1 numbers for 2 classes"),
    ],
)
def test_a_wrong_request_is_refused_in_words(page, ask, says):
    status, words = page.refused("em", **ask)
    assert status == 422
    assert says in words


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        ({"columns": ["name"]}, "column 'name' has another value in every row and is taken as categories"),
        ({"columns": ["blank"], "rows": [0, 1, 2]}, "column 'blank' is missing in all of these rows"),
        ({"columns": ["color"], "model": "gaussian"}, "column 'color' holds no numbers"),
        ({"columns": ["color"], "model": "kmeans"}, "column 'color' holds no numbers"),
        ({"columns": ["visits"], "kinds": {"visits": "binomial(5)"}}, "column 'visits' cannot be binomial"),
        ({"columns": ["visits"], "kinds": {"visits": "binomial"}}, "needs its number of trials"),
        ({"columns": ["visits"], "kinds": {"visits": "sunny"}}, "unknown kind 'sunny'"),
        ({"columns": ["size"], "start": {"size": {"rate": [1, 2]}}}, "start: size has mean, sd, not 'rate'"),
        ({"columns": ["size"], "start": {"size": {"sd": [1, -2]}}}, "sd: numbers must be finite and above 0"),
        ({"columns": ["size"], "shares": [0.5, 0.6]}, "probabilities of the shares add up to 1.1"),
        ({"columns": ["size"], "model": "gaussian", "start": {"size": {"sd": [1, 0]}}}, "it must be above 0"),
        ({"columns": ["color"], "start": {"color": {"red": [0, 0]}}}, "makes some row impossible"),
        ({"columns": []}, "There is no column to work with"),
    ],
)
def test_a_set_up_that_cannot_be_computed_says_what_is_wrong(page, ask, says):
    for path in ("em", "bound") if ask.get("model") != "kmeans" else ("em",):
        found = page.post(path, **ask)
        assert says in found["problem"]
        assert found["asked"]["columns"] == ask["columns"]
        assert "sections" not in found


def test_the_bound_is_of_soft_assignment(page):
    for ask in ({"assign": "hard"}, {"assign": "sample"}, {"model": "kmeans"}):
        found = page.post("bound", **ask, columns=["size"], iteration=1)
        assert (
            found["problem"] == "The bound touches the likelihood that soft assignment raises. Choose soft to see it."
        )
    assert page.refused("bound", columns=["size"], iteration=0)[0] == 422
    arrived = page.post("bound", columns=["size"], start={"size": {"mean": [3, 3], "sd": [1, 1]}}, iteration=50)
    assert "the line has no length" in arrived["problem"]


def test_a_run_that_cannot_go_on_is_shown_as_far_as_it_went(page, monkeypatch):
    whole = em_numbers.explain

    def explain(model, X, n_iter, *more):
        if n_iter > 3:
            raise FitError("iteration 5: the objective is -inf.")
        return whole(model, X, n_iter, *more)

    found = em(page, columns=["size"])
    assert (len(found["sections"]), found["stopped"]) == (11, None)
    monkeypatch.setattr(em_numbers, "explain", explain)
    found = em(page, columns=["size"])
    assert (len(found["sections"]), found["stopped"]) == (4, "iteration 5: the objective is -inf.")


def test_too_many_categories_are_too_many_to_read(page, monkeypatch):
    monkeypatch.setattr(em_numbers, "MOST_PARAMETERS", 4)
    assert "are too many to read" in page.post("em", columns=["size", "visits"])["problem"]


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 60)
    | st.floats()
    | st.sampled_from(["soft", "gaussian", "kmeans", "equal", "row", "size", "color", "binomial(9)", "poisson", ""])
)
NESTED = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["size", "color", "mean", "red"]), inner, max_size=2)
    ),
    max_leaves=6,
)
NAMES = [
    "rows",
    "columns",
    "kinds",
    "model",
    "classes",
    "n_iter",
    "assign",
    "covariance",
    "start",
    "shares",
    "seed",
    "prior",
    "compare",
    "iteration",
]


@pytest.mark.thorough
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ask=st.dictionaries(st.sampled_from(NAMES), NESTED, max_size=5), path=st.sampled_from(["em", "bound"]))
def test_whatever_is_sent_is_answered_or_refused(page, ask, path):
    answer = page.client.post(f"/api/{path}", content=json.dumps(ask))
    assert answer.status_code in (200, 422), (ask, answer.text)
    assert answer.json().get("error", "words")


# ---- lessons ---------------------------------------------------------------------------------------------------------


def test_a_lesson_is_told_page_by_page():
    with studio("--lesson", "em") as tour:
        assert [screen["key"] for screen in tour.get("state")["screens"]] == ["lesson"]
        found = tour.get("lesson")
        assert found == lesson("em")
        for number in (0, 8, len(found["pages"]) - 1):
            shown = tour.post("lesson", name="em", page=number)
            assert shown == {**show(found["pages"][number]), "page": number}
        status, words = tour.refused("lesson", page=len(found["pages"]))
        assert (status, "page=" in words) == (422, True)
        assert tour.refused("lesson", name="calculus")[0] == 422
