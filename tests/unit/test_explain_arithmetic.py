"""EM number by number: the arithmetic of every number comes to the number shown, and says what it should."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import ParameterError

CLOSE = 3e-6  # figures have seven digits, numbers are shown with six decimals
COLUMNS = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}}
POINTS = [[0, 1], [1, 1]]
NUMBERS = pd.DataFrame(
    {
        "a": [0.0, 1.0, 0.5, 5.0, 6.0, 5.5, 0.2, 1.4, 4.1, 5.2],
        "b": [1.0, 0.0, 0.7, 4.0, 5.0, None, -0.5, 0.9, 5.5, 4.4],
        "c": [3.1, None, 2.9, 1.0, 0.5, 0.4, 1.9, 2.2, 1.3, 2.0],
    }
)
MIXED = pd.DataFrame(
    {
        "n": [0, 2, 1, 7, 9, None],
        "m": [1, 0, 2, 5, 30, 3],
        "t": ["ab", "aab", "b", "cc", "ca", ""],
        "q": ["y", "n", "y", "n", None, "y"],
        "g": [0.3, 1.2, None, -2.0, -2.5, 0.1],
        "s": [4, 9, None, 1, 0, 10],
    }
)
KINDS = {"n": "poisson", "m": "negbin", "t": "text", "g": "gaussian", "s": "binomial(10)"}
MEANS = [[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]]


def mixed(**options):
    options = {"variance_floor": 0, **options}
    return hs.LatentClass(2, columns=KINDS, words={"analyzer": "char"}, random_state=0, **options)


def normal(shape, **options):
    options |= {"means_init": MEANS, "n_init": 1, "variance_floor": 0, "random_state": 0}
    return hs.GaussianMixture(2, covariance_type=shape, **options)


def worked(model, X, **options):
    return hs.explain(model, X, **{"n_iter": 2, **options}).to_dict()


EXPLAINED = {
    "two points": lambda: worked(hs.LatentClass.from_params([0.3, 0.7], COLUMNS), POINTS),
    "labels": lambda: worked(
        hs.LatentClass.from_params([0.3, 0.7], COLUMNS), POINTS, labels=np.array([[0.2, 1.0], [1.0, 1.0]])
    ),
    "weights": lambda: worked(mixed(prior=None), MIXED, sample_weight=[1, 2, 0.5, 1, 3, 1]),
    "soft": lambda: worked(mixed(), MIXED),
    "hard": lambda: worked(mixed(assign="hard"), MIXED),
    "sample": lambda: worked(mixed(assign="sample", draws=3), MIXED),
    "words that are there or not": lambda: worked(mixed(text="bernoulli"), MIXED),
    "tied": lambda: worked(mixed(tied=["n", "q", "g"]), MIXED),
    "partly fixed": lambda: worked(
        mixed(fixed={"q": {"y": [0.9, None]}, "weights": [0.4, None], "g": {"mean": [0.5, None]}}), MIXED
    ),
    "fixed": lambda: worked(mixed(start={"n": [1.0, 5.0]}, fixed=["n"]), MIXED),
    "floor": lambda: worked(mixed(variance_floor=0.9), MIXED),
    "full": lambda: worked(normal("full"), NUMBERS),
    "full with a prior": lambda: worked(normal("full", prior=1.0), NUMBERS),
    "tied covariance": lambda: worked(normal("tied"), NUMBERS),
    "diag": lambda: worked(normal("diag"), NUMBERS),
    "spherical": lambda: worked(normal("spherical", prior="row"), NUMBERS),
    "identity": lambda: worked(normal("identity", weights="uniform"), NUMBERS),
    "ridge": lambda: worked(normal("diag", reg_covar=0.1), NUMBERS),
    "k-means": lambda: worked(hs.KMeans(2, init=MEANS), NUMBERS),
    "k-means with weights": lambda: worked(hs.KMeans(2, init=MEANS), NUMBERS, sample_weight=[1, 2, 1, 1, 0.5] * 2),
}


@pytest.fixture(scope="module")
def explained():
    found = {}

    def get(name):
        if name not in found:
            found[name] = EXPLAINED[name]()
        return found[name]

    return get


def value(text):
    """What a line of arithmetic comes to; None where it says no formula."""
    text = re.sub(r"\(the other \d+ terms\)", "", text)
    text = re.sub(r"^.* together: ", "", text)
    if not re.fullmatch(r"[-+×/^()\d.e sqrtlog]+", text):
        return None
    text = re.sub(r"log ([\d.e+-]+)", r"log(\1)", text).replace("×", "*").replace("^", "**")
    return eval(text, {"__builtins__": {}}, {"sqrt": math.sqrt, "log": math.log})


def product(text):
    """What named factors make: the last number of each."""
    return math.prod(float(re.search(r"[\d.e+-]+$", factor)[0]) for factor in text.split(" × "))


def cells(found, *roles):
    """Yield role, number shown, and arithmetic, of every cell that has some."""
    for section in found["sections"]:
        for grid in section["grids"]:
            if not roles or grid["role"] in roles:
                for row, lines in zip(grid["rows"], grid["arithmetic"], strict=True):
                    yield from ((grid["role"], cell, line) for cell, line in zip(row, lines, strict=True) if line)


def close(computed, shown):
    return math.isclose(computed, shown, rel_tol=CLOSE, abs_tol=1e-6)


# ------------------------------------------------------------------------------------------------------- it reproduces


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_formula_comes_to_the_number_shown(explained, name):
    checked = 0
    for role, cell, line in cells(explained(name)):
        left, _, right = re.split("; the prior|; a limit", line)[0].rpartition(" = ")
        computed = product(left) if "P(class" in left else value(left.removesuffix(", the sum over all ways"))
        if computed is None:
            continue
        checked += 1
        assert close(computed, float(right)), (role, cell, line)
        assert name == "floor" or "; a limit" not in line, line
        if "; a limit" not in line:
            assert close(float(right), float(cell.split(" + ")[0])), (role, cell, line)
    assert checked > 20


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_number_has_a_line_and_ends_with_it(explained, name):
    """Sentences without a formula end with the number: 'fixed: 0.9'."""
    found = explained(name)
    assert list(cells({"sections": found["sections"][:1]})) == []
    for section in found["sections"][1:]:
        assert section["arithmetic"].startswith("before: ")
        for grid in section["grids"]:
            for row, lines in zip(grid["rows"], grid["arithmetic"], strict=True):
                assert not any(lines[: grid["n_labels"]])
                assert all(lines[grid["n_labels"] :]), (grid["role"], row)
                for cell, line in zip(row[grid["n_labels"] :], lines[grid["n_labels"] :], strict=True):
                    own, _, more = cell.partition(" + ")
                    assert own in line, (cell, line)
                    added = re.search(r"; the prior adds ([\d.e-]+)$", line)
                    assert_allclose(float(added[1]) if added else 0.0, float(more or 0), rtol=1e-3)


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_objective_is_the_sum_of_the_logs(explained, name):
    found = explained(name)
    before, after = found["objective"]["before"], found["objective"]["after"]
    assert_allclose(after[:-1], before[1:], rtol=1e-12)
    for number, section in enumerate(found["sections"][1:]):
        parts = re.fullmatch(r"before: (.*?) = (\S+?)(?:, log-prior (\S+): (\S+))?; after: (.*)", section["arithmetic"])
        sum_of_logs, loglik, log_prior, total, _ = parts.groups()
        assert close(value(sum_of_logs), float(loglik))
        assert math.isclose(float(total or loglik), before[number], abs_tol=1e-6)
        assert not log_prior or math.isclose(float(loglik) + float(log_prior), float(total), abs_tol=2e-6)


@pytest.mark.parametrize("name", [name for name in EXPLAINED if name not in ("hard", "sample") and "means" not in name])
def test_the_joint_is_what_responsibilities_are_made_of(explained, name):
    """With soft assignment a row counts joint / sum of the joints, times its weight."""
    for section in explained(name)["sections"][1:]:
        grids = {grid["role"]: grid for grid in section["grids"]}
        joint = np.array([[float(cell) for cell in row[1:]] for row in grids["joint"]["rows"]])
        assert_allclose(joint[:, :-1].sum(axis=1), joint[:, -1], rtol=1e-6)
        weight = np.array([float(row[-1]) for row in grids["responsibilities"]["rows"]]).reshape(len(joint), -1)
        resp = joint[:, :-1] / joint[:, -1:] * weight.sum(axis=1, keepdims=True)
        assert_allclose(weight, resp, atol=2e-6)


# ------------------------------------------------------------------------------------------------------- what is said


def lines(found, role, section=1):
    [grid] = [grid for grid in found["sections"][section]["grids"] if grid["role"] == role]
    return {row[0]: arithmetic[1:] for row, arithmetic in zip(grid["rows"], grid["arithmetic"], strict=True)}


def test_two_points_in_words(explained):
    found = explained("two points")
    assert lines(found, "joint")["1"] == [
        "P(class 0) 0.3 × P(x1 = 1 | class 0) 0.3 × P(x2 = 1 | class 0) 0.2 = 0.018",
        "P(class 1) 0.7 × P(x1 = 1 | class 1) 0.9 × P(x2 = 1 | class 1) 0.6 = 0.378",
        "0.018 + 0.378 = 0.396",
    ]
    grid = found["sections"][1]["grids"][2]
    assert grid["arithmetic"][3][-1] == "0.378 / (0.018 + 0.378) = 0.954545"
    assert lines(found, "counts")["rows"][1] == "0.5 + 0.9545455 = 1.454545"
    assert lines(found, "m-step")["P(x1 = 1)"][1] == "0.9545455 / 1.454545 = 0.656250"
    assert found["sections"][1]["arithmetic"].startswith("before: log 0.084 + log 0.396 = -3.4032795; after: ")


def test_densities_are_called_by_their_kind(explained):
    [first, *_] = (line for role, _, line in cells(explained("soft"), "joint"))
    for part in (
        "Poisson(n = 0; rate ",
        "NegBin(m = 1; mean ",
        "P(t: a | class 0) ",
        "P(q = y | class 0) ",
        "N(g = 0.3; ",
    ):
        assert part in first
    assert "P(t: a | class 0)^2 " in lines(explained("soft"), "joint")["1"][0]
    missing = lines(explained("soft"), "joint")["2"][0]
    assert "N(g" not in missing
    full = lines(explained("full"), "joint")
    assert "density of the row (class 0) " in full["0"][0]
    assert "density of the row (class 1; missing c integrated out) " in full["1"][1]


def test_hard_and_sampled_assignment_say_why():
    start = {"weights": [0.3, 0.7], **COLUMNS}
    points = pd.DataFrame(POINTS, columns=["x1", "x2"]).astype(pd.CategoricalDtype([0, 1]))
    model = hs.LatentClass(2, start=start, prior=None, assign="hard")
    assert [line for *_, line in cells(worked(model, points, n_iter=1), "responsibilities")] == [
        "0.042 is the largest of 0.042, 0.042, the first of equal ones: 1.000000",
        "0.042 is not the first of the largest of 0.042, 0.042: 0.000000",
        "0.018 is not the largest of 0.018, 0.378: 0.000000",
        "0.378 is the largest of 0.018, 0.378: 1.000000",
    ]
    sampled = hs.LatentClass(2, start=start, prior=None, assign="sample", random_state=5)
    one, two = (worked(sampled, points) for _ in range(2))
    assert one == two
    for _, cell, line in cells(one, "responsibilities"):
        assert line.startswith("drawn, with probability" if float(cell) else "not drawn, with probability")
    of_three = [line for *_, line in cells(EXPLAINED["sample"](), "responsibilities")]
    assert all(re.match(r"[0-3] of 3 draws, each with probability ", line) for line in of_three)


def test_what_holds_a_parameter_is_named(explained):
    assert lines(explained("fixed"), "m-step")["rate of n"] == ["fixed: 1.000000", "fixed: 5.000000"]
    part = lines(explained("partly fixed"), "m-step")
    assert part["P(q = y)"][0] == "fixed: 0.900000"
    assert part["P(q = n)"][0].startswith("(1 - 0.9) × ")
    assert part["P(class)"][0] == "fixed: 0.400000"
    assert "^2) / (" in part["sd of g"][0]  # about the mean that is fixed
    assert lines(explained("tied"), "m-step")["rate of n"][0].startswith("class 0 and class 1 together: ")
    floored = [line for pair in lines(explained("floor"), "m-step").values() for line in pair]
    assert any("; a limit of the model raises it to " in line for line in floored)
    assert lines(explained("soft"), "m-step")["size of m"][0].startswith("no quotient; found from the counts")
    assert re.search(r" \+ 0\.1\) = ", lines(explained("ridge"), "m-step")["sd of a"][0])


def test_a_class_without_rows_keeps_its_parameters():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {0: [1.0, 0.0], 1: [0.0, 1.0]}, "y": {"rate": [1, 5]}})
    found = worked(model, [[0, 3], [0, 1]], n_iter=1)
    assert lines(found, "m-step")["rate of y"] == ["4 / 2 = 2.000000", "no row counts here, so that it stays: 5.000000"]
    assert lines(found, "counts")["events of y"] == ["3 + 1 = 4.000000", "nothing to add: 0.000000"]


def test_long_sums_and_products_are_cut_and_still_come_out():
    model = hs.LatentClass.from_params([0.3, 0.7], COLUMNS)
    found = worked(model, [[n % 2, 1] for n in range(20)], n_iter=1)
    line = lines(found, "counts")["rows"][0]
    assert "(the other 12 terms)" in line
    left, _, right = line.rpartition(" = ")
    assert close(value(left), float(right))
    wide = {f"x{j}": {0: [0.7, 0.1], 1: [0.3, 0.9]} for j in range(15)}
    [line, *_] = (line for *_, line in cells(worked(hs.LatentClass.from_params([0.3, 0.7], wide), [[0] * 15]), "joint"))
    assert "the other 8 factors" in line
    left, _, right = line.rpartition(" = ")
    assert close(product(left), float(right))


def test_densities_too_small_for_floats_keep_their_digits():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 1], "sd": [1, 1]}})
    found = worked(model, [[60.0], [0.0]], n_iter=1)
    assert lines(found, "joint")["0"][0].endswith("0.5 × N(x = 60; 0, 1) 7.4275e-783 = 3.71375e-783")
    far = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [1e8, 1e8 + 2], "sd": [1, 1]}})
    far = worked(far, [[1e8 + 1], [1e8 + 2]], n_iter=1)
    assert "N(x = 100000001; 100000000, 1) " in lines(far, "joint")["0"][0]


def test_distances_and_means_of_k_means(explained):
    found = explained("k-means")
    distances = lines(found, "distances")
    assert distances["0"][0].startswith("(0 - 0)^2 + (1 - 0)^2 + (3.1 - 0)^2 = ")
    assert distances["1"][0] == "3/2 × ((1 - 0)^2 + (0 - 0)^2) = 1.500000"
    assert distances["0"][2].startswith("the smallest of ")
    assert lines(found, "sizes")["cluster 0"] == ["1 + 1 + 1 + 1 + 1 = 5"]
    assert lines(found, "centres")["cluster 0"][2] == "(3.1 + 2.9 + 1.9 + 2.2) / (1 + 1 + 1 + 1) = 2.525000"
    holes = worked(hs.KMeans(2, init=[[0, 0], [9, 9]]), [[1.0, 2.0], [3.0, np.nan], [8.0, 9.0]], n_iter=1)
    assert lines(holes, "centres")["cluster 0"] == ["(1 + 2 × 3) / (1 + 2) = 2.333333", "2 / 1 = 2.000000"]
    empty = worked(hs.KMeans(2, init=[[0.0], [99.0]]), [[1.0], [2.0]], n_iter=1)
    assert "no rows: moved to the row farthest from its centre" in lines(empty, "centres")["cluster 1"][0]


# ------------------------------------------------------------------------------------------------------- plain values


@pytest.mark.parametrize("name", EXPLAINED)
def test_plain_values_have_the_form_that_pages_read(explained, name):
    found = explained(name)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found) == {"heading", "sections", "objective"}
    assert set(found["objective"]) == {"name", "before", "after"}
    assert len(found["objective"]["before"]) == len(found["sections"]) - 1
    for section in found["sections"]:
        assert set(section) == {"title", "result", "arithmetic", "grids"}
        for grid in section["grids"]:
            assert set(grid) == {"role", "caption", "head", "rows", "n_labels", "arithmetic"}
            shapes = {tuple(len(row) for row in grid[part]) for part in ("rows", "arithmetic")}
            assert shapes == {(len(grid["head"]),) * len(grid["rows"])}
    roles = [grid["role"] for grid in found["sections"][2]["grids"]]
    if "k-means" in name:
        assert roles == ["distances", "sizes", "centres"]
    else:
        assert roles == ["joint", "responsibilities", "counts", "m-step"]


def test_the_completions_are_shown_once(explained):
    roles = [[grid["role"] for grid in section["grids"]] for section in explained("two points")["sections"]]
    assert [("completions" in found) for found in roles] == [False, True, False]
    assert [line for *_, line in cells(explained("two points"), "completions")][2:4] == [
        "0.042 × 0.378 = 0.015876",
        "0.015876 / 0.033264, the sum over all ways = 0.477273",
    ]


# ------------------------------------------------------------------------------------------------------------- starts


def test_a_start_may_name_some_columns():
    start = {"q": {"n": [0.2, 0.7], "y": [0.8, 0.3]}, "g": {"mean": [0.0, -2.0]}}
    for model in (mixed(start=start), mixed(start=start, assign="sample")):
        first = hs.explain(model, MIXED, n_iter=1).steps[0].before
        assert_allclose(first["q"]["y"], [0.8, 0.3])
        assert_allclose(first["g"]["mean"], [0.0, -2.0])
    means = hs.explain(normal("full", weights_init=[0.2, 0.8]), NUMBERS, n_iter=1).steps[0].before
    assert_allclose(means["weights"], [0.2, 0.8])
    assert_allclose([means[name]["mean"] for name in "abc"], np.transpose(MEANS))


@pytest.mark.parametrize(
    ("start", "match"),
    [
        ({"z": [0.5, 0.5]}, "start: there is no column 'z'. Columns: .*q"),
        ({"q": {"y": [0.7, 0.2], "no": [0.3, 0.8]}}, r"'q': categories .* are not those of the column, \('n', 'y'\)"),
        (
            {"q": {"y": [0.7], "n": [0.3]}},
            r"'q': each category needs a probability for each of the 2 components, got \[0.[37]\] for",
        ),
        ({"q": {"y": [0.7, 0.3], "n": [0.7, 0.3]}}, "'q': the probabilities of component 0 sum to 1.4, not 1"),
        ({"g": {"mean": [0.0]}}, r"'g': mean: .*\(2,\), got \(1,\)"),
        ({"weights": [0.5, 0.6]}, "weights: .*1.1"),
        ({"weights": "half"}, r"weights: expected probabilities of shape \(2,\), got 'half'"),
    ],
)
def test_a_start_that_does_not_fit_is_refused_in_words(start, match):
    with pytest.raises(ParameterError, match=match):
        hs.explain(mixed(start=start), MIXED)


def test_starts_of_numbers_that_do_not_fit_are_refused_in_words():
    with pytest.raises(ParameterError, match=r"means_init: expected shape \(2, 3\), got \(2, 1\)"):
        hs.explain(hs.GaussianMixture(2, means_init=[[0], [5]]), NUMBERS)
    with pytest.raises(ParameterError, match="init: centre 0 has nan in column 1"):
        hs.explain(hs.KMeans(2, init=[[0, None, 1], [5, 1, 1]]), NUMBERS)


def test_a_model_with_covariates_is_refused():
    ages = pd.DataFrame({"age": np.arange(24.0)})
    model = hs.LatentClass(2, columns={"m": "poisson"}, n_init=1, random_state=0)
    model.fit(pd.concat([MIXED[["m", "q"]]] * 4, ignore_index=True), covariates=ages)
    with pytest.raises(ParameterError, match="explain is not there for a model with covariates"):
        hs.explain(model, MIXED[["m", "q"]])
