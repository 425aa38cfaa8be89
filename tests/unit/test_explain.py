"""EM number by number: the sources' worked numbers, agreement with fits, every way to complete, the page."""

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, FitError, ParameterError

ROUND = 5e-7  # figures printed with six digits
POINTS = pd.DataFrame([[0, 1], [1, 1]], columns=["x1", "x2"]).astype(pd.CategoricalDtype([0, 1]))
COLUMNS = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}}
START = {"weights": [0.3, 0.7], **COLUMNS}


def from_params():
    return hs.LatentClass.from_params([0.3, 0.7], COLUMNS)


def from_start(**options):
    return hs.LatentClass(2, start=START, **{"prior": None, **options})


def mixed(n_rows=9):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(["p", "q", "r"], n_rows), "g": rng.normal(size=n_rows)})
    frame["n"] = rng.poisson(3, n_rows)
    return frame.mask(rng.random(frame.shape) < 0.15)


KINDS = {"n": "poisson"}

# ---------------------------------------------------------------------------------------------------- the two points


@pytest.mark.parametrize("model", [from_params(), from_start()], ids=["from_params", "start"])
def test_two_points_number_by_number(model):
    first, second, third = hs.explain(model, POINTS).steps
    joint = {line.components: line for line in first.joint}
    order = [(1, 1), (1, 0), (0, 1), (0, 0)]
    assert_allclose([joint[z].joint for z in order], [0.015876, 0.000756, 0.015876, 0.000756], rtol=1e-12)
    assert_allclose([joint[z].posterior for z in order], [0.4773, 0.0227, 0.4773, 0.0227], atol=5e-5)
    assert_allclose(first.usage[:, 1], [0.5, 0.954545], atol=ROUND)
    assert_allclose(first.class_counts, [0.545455, 1.454545], atol=ROUND)
    assert_allclose(first.value_counts["x1"][1][1], 0.954545, atol=ROUND)
    assert_allclose(first.value_counts["x1"][0][1], 0.5, atol=ROUND)
    assert_allclose(first.value_counts["x2"][1][1], 1.454545, atol=ROUND)
    assert_allclose(first.after["weights"][1], 0.727273, atol=ROUND)
    assert_allclose(first.after["x1"][1], [0.083333, 0.65625], atol=ROUND)
    assert_allclose(first.after["x2"][1], [1, 1], atol=ROUND)
    assert_allclose([first.objective, second.objective, third.objective], [-3.4032795, -1.3862944, -1.3862944])
    assert first.reached == second.objective
    assert_allclose(third.after["x1"][1], second.after["x1"][1], rtol=1e-14)


def test_the_numbers_are_in_the_text():
    text = str(hs.explain(from_params(), POINTS, n_iter=1))
    numbers = "0.015876 0.000756 0.477273 0.022727 1.454545 0.954545 0.727273 0.656250 0.083333 -3.4032795 -1.3862944"
    for number in numbers.split():
        assert number in text, number
    assert max(map(len, text.splitlines())) <= 100


def test_marginals_of_the_joint_table_are_the_weights():
    for step in hs.explain(hs.LatentClass(3, random_state=0, columns=KINDS), mixed(7), n_iter=2).steps:
        assert len(step.joint) == 3**7
        assert_allclose(sum(line.posterior for line in step.joint), 1, rtol=1e-12)
        for n, k in ((0, 0), (4, 2)):
            found = sum(line.posterior for line in step.joint if line.components[n] == k)
            assert_allclose(found, step.usage[n, k], atol=1e-12)


def test_a_joint_table_that_disagrees_is_an_error(monkeypatch):
    true = Mixture.joint
    monkeypatch.setattr(Mixture, "joint", lambda *given: true(*given) * 0.5)
    with pytest.raises(FitError, match=r"row 1: the joint table gives .* the E-step .* bug"):
        hs.explain(from_params(), POINTS)


def test_the_joint_table_is_left_out_where_it_is_too_long_or_rows_have_weights():
    many = hs.explain(hs.LatentClass(2, random_state=0, columns=KINDS), mixed(13), n_iter=1)
    assert many.steps[0].joint is None
    assert "joint table" not in str(many)
    assert hs.explain(from_params(), POINTS, sample_weight=[2, 1]).steps[0].joint is None
    long = hs.explain(hs.LatentClass(2, random_state=0, columns=KINDS), mixed(12), n_iter=1)
    assert len(long.steps[0].joint) == 4096
    text, best = str(long), max(line.posterior for line in long.steps[0].joint)
    assert "The 16 most probable are shown." in " ".join(text.split())
    assert f"{best:.6f}" in text


# ------------------------------------------------------------------------------------------ augmented data (source 001)


def test_an_example_split_over_three_classes():
    """One row t, f, t, t in three classes with weights 0.4, 0.1, 0.5: they add exactly those to cc and fc."""
    split = [0.4, 0.1, 0.5]
    half = {"t": [0.5] * 3, "f": [0.5] * 3}
    model = hs.LatentClass.from_params(split, dict.fromkeys(("X1", "X2", "X3", "X4"), half))
    [step] = hs.explain(model, [["t", "f", "t", "t"]], n_iter=1).steps
    assert [(line.row, line.component) for line in step.augmented] == [(0, 0), (0, 1), (0, 2)]
    assert_allclose([line.weight for line in step.augmented], split, rtol=1e-15)
    assert_allclose(step.class_counts, split, rtol=1e-15)
    for name, value in zip(step.value_counts, "tftt", strict=True):
        other = "f" if value == "t" else "t"
        assert_allclose(step.value_counts[name][value], split, rtol=1e-15)
        assert_array_equal(step.value_counts[name][other], 0)


# ------------------------------------------------------------------------------------------- watermelons (source 002)

MELONS = """green,curly,muffled,clear,hollow,hard
dark,curly,dull,clear,hollow,hard
dark,curly,muffled,clear,hollow,hard
green,curly,dull,clear,hollow,hard
light,curly,muffled,clear,hollow,hard
green,slightly curly,muffled,clear,slightly hollow,soft
dark,slightly curly,muffled,slightly blurry,slightly hollow,soft
dark,slightly curly,muffled,clear,slightly hollow,hard
dark,slightly curly,dull,slightly blurry,slightly hollow,hard
green,straight,crisp,clear,flat,soft
light,straight,crisp,blurry,flat,hard
light,curly,muffled,blurry,flat,soft
green,slightly curly,muffled,slightly blurry,hollow,hard
light,slightly curly,dull,slightly blurry,hollow,hard
dark,slightly curly,muffled,clear,slightly hollow,soft
light,curly,muffled,blurry,flat,hard
green,curly,dull,slightly blurry,slightly hollow,hard"""


def test_a_step_of_soft_clustering_of_watermelons():
    """From the smoothed tables of the labelled melons: the posterior of the new one, then counts and division."""
    X = pd.DataFrame([line.split(",") for line in MELONS.splitlines()])
    X.columns = ["color", "root", "sound", "texture", "umbilicus", "surface"]
    known = hs.NaiveBayes().fit(X, ["ripe"] * 8 + ["unripe"] * 9).params_
    model = hs.LatentClass.from_params(known["weights"], {name: known[name] for name in X})
    rows = pd.concat([X, pd.DataFrame([["green", "curly", "crisp", "clear", "hollow", "hard"]], columns=X.columns)])
    [step] = hs.explain(model, rows, n_iter=1).steps
    assert_allclose(np.exp(step.log_joint[17]), [0.00237179, 0.00058147], atol=5e-9)
    assert_allclose(step.usage[17, 0], 0.803108, atol=ROUND)
    joint = np.tile(known["weights"], (18, 1))
    for name in X:
        joint *= np.array([known[name][value] for value in rows[name]])
    resp = joint / joint.sum(axis=1, keepdims=True)
    assert_allclose(step.usage, resp, rtol=1e-12)
    assert_allclose(step.after["weights"], resp.mean(axis=0), rtol=1e-12)
    crisp = resp[rows["sound"] == "crisp"].sum(axis=0)
    assert_allclose(step.value_counts["sound"]["crisp"], crisp, rtol=1e-12)
    assert_allclose(step.after["sound"]["crisp"], crisp / resp.sum(axis=0), rtol=1e-12)
    shown = hs.explain(model, rows, n_iter=1).to_dict()["sections"][1]["grids"][0]
    assert shown["rows"][17] == ["17", "0.002371789", "0.0005814726", "0.002953261"]
    assert "P(sound = crisp | class 0) 0.09090909" in shown["arithmetic"][17][1]


# ------------------------------------------------------------------------------------------------- agreement with fits


@pytest.mark.parametrize("assign", ["soft", "hard"])
@pytest.mark.parametrize("prior", [None, "row", 1.0])
def test_it_goes_where_a_fit_goes(assign, prior):
    how = {"n_components": 2, "assign": assign, "prior": prior, "columns": KINDS, "random_state": 3}
    explained = hs.explain(hs.LatentClass(**how), mixed(), n_iter=4)
    fitted = hs.LatentClass(**how, n_init=1, accelerate=False, stop="iterations", max_iter=5).fit(mixed())
    assert_allclose([step.objective for step in explained.steps], fitted.trace_[:4], rtol=1e-12)
    assert_allclose(explained.steps[-1].reached, fitted.trace_[4], rtol=1e-12)
    places = fitted.match_to(_at(explained, fitted))
    assert_allclose(explained.steps[-1].after["weights"], places.weights_, rtol=1e-10)


def _at(explained, fitted):
    """The model at the end of an explanation, to bring classes into the same order."""
    after = explained.steps[-1].after
    how = {"columns": KINDS, "n_init": 1, "stop": "iterations", "max_iter": 1, "prior": None}
    return hs.LatentClass(2, start=after, **how).fit(mixed())


def test_it_goes_on_from_a_fitted_model():
    fitted = hs.LatentClass(2, columns=KINDS, random_state=0).fit(mixed(20))
    [step] = hs.explain(fitted, mixed(20)[:5], n_iter=1).steps
    assert_array_equal(step.before["weights"], fitted.weights_)
    assert_allclose(step.usage, fitted.predict_proba(mixed(20)[:5]), rtol=1e-12)


def test_the_model_is_not_changed():
    model = from_start(assign="hard")
    before = repr(model.get_params())
    hs.explain(model, POINTS)
    assert repr(model.get_params()) == before
    assert not hasattr(model, "_params")


def test_numbers_and_counts_are_summed():
    frame = mixed()
    [step] = hs.explain(hs.LatentClass(2, columns=KINDS, prior=None, random_state=0), frame, n_iter=1).steps
    seen = frame["g"].notna().to_numpy()
    values, usage = frame["g"].to_numpy()[seen], step.usage[seen]
    sums = step.counts.sums["g"]
    assert_allclose(sums["mass"], usage.sum(axis=0), rtol=1e-10)
    assert_allclose(sums["sum"], values @ usage, rtol=1e-10)
    mean = sums["sum"] / sums["mass"]
    assert_allclose(sums["squares"], np.sum(usage * (values[:, None] - mean) ** 2, axis=0), rtol=1e-9)
    assert_allclose(step.after["g"]["mean"], mean, rtol=1e-10)
    assert_allclose(step.after["g"]["sd"], np.sqrt(sums["squares"] / sums["mass"]), rtol=1e-9)
    events = step.counts.sums["n"]
    assert_allclose(step.after["n"]["rate"], events["events"] / events["mass"], rtol=1e-10)


def test_counts_with_the_prior_give_the_parameters():
    [step] = hs.explain(hs.LatentClass(2, columns=KINDS, random_state=0), mixed(), n_iter=1).steps
    cc = step.class_counts + step.prior.classes
    assert_allclose(step.after["weights"], cc / cc.sum(), rtol=1e-12)
    fc = np.stack([step.value_counts["c"][v] + step.prior.values["c"][v] for v in step.value_counts["c"]])
    assert_allclose(np.stack(list(step.after["c"].values())), fc / fc.sum(axis=0), rtol=1e-12)
    sums, pseudo = step.counts.sums["g"], step.prior.sums["g"]
    var = (sums["squares"] + pseudo["squares"]) / (sums["mass"] + pseudo["mass"])
    assert_allclose(step.after["g"]["sd"], np.sqrt(var), rtol=1e-9)


# --------------------------------------------------------------------------------------------------- ways to complete


def test_hard_assignment_gives_whole_rows():
    explained = hs.explain(from_start(assign="hard"), POINTS, n_iter=1)
    [step] = explained.steps
    assert_array_equal(step.usage, [[1, 0], [0, 1]])  # row 0 is a tie: the lowest index
    assert_allclose(step.objective, np.log(0.042 * 0.378), rtol=1e-12)
    assert "best joint log-probability" in str(explained)


def test_draws_are_repeatable_and_whole():
    model = from_start(assign="sample", random_state=5)
    one, two = (hs.explain(model, POINTS).steps for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert_array_equal(a.usage, b.usage)
        assert_array_equal(a.usage.sum(axis=1), 1)
        assert set(a.usage.ravel()) <= {0.0, 1.0}
    many = hs.explain(from_start(assign="sample", draws=400, random_state=5), POINTS, n_iter=1).steps[0]
    assert_allclose(many.usage[:, 1], [0.5, 0.954545], atol=0.1)  # loose: the mean of 400 draws


def test_labels_and_weights_are_honoured():
    explained = hs.explain(from_start(), POINTS, 1, sample_weight=[3, 1], labels=[1, None])
    [step] = explained.steps
    assert_allclose(step.usage, [[0, 3], [0.045455, 0.954545]], atol=ROUND)
    assert "weight" in str(explained).splitlines()[5]
    named = hs.explain(hs.LatentClass(2, random_state=0), [[0, 1], [1, 1]], 1, labels=["dog", "cat"])
    assert named.class_names == ("cat", "dog")
    assert_array_equal(named.steps[0].usage, [[0, 1], [1, 0]])


def test_fixed_and_tied_columns_stay():
    model = from_start(fixed=["x1"], tied=["x2"])
    for step in hs.explain(model, POINTS).steps:
        assert_array_equal(step.after["x1"][1], [0.3, 0.9])
        assert step.after["x2"][1][0] == step.after["x2"][1][1]


def test_holes_are_shown_and_add_nothing():
    explained = hs.explain(from_params(), [[0, None], [1, 1]], 1)
    assert "·" in str(explained)
    [step] = explained.steps
    assert_allclose(sum(step.value_counts["x2"].values()), step.usage[1], rtol=1e-12)


# --------------------------------------------------------------------------------------------------------------- errors


def test_too_many_rows_are_refused():
    with pytest.raises(DataError, match=r"31 rows.*at most 30.*few rows"):
        hs.explain(from_params(), [[0, 1]] * 31)


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(ParameterError, match="explain shows LatentClass, GaussianMixture and KMeans, got"):
        hs.explain("model", POINTS)
    with pytest.raises(ParameterError, match="n_iter=0"):
        hs.explain(from_params(), POINTS, n_iter=0)


def test_an_impossible_row_is_reported():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {0: [0, 0], 1: [1, 1]}})
    with pytest.raises(FitError, match=r"iteration 1: .*impossible"):
        hs.explain(model, [[1], [0]])


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_page_stands_alone_and_has_the_numbers(tmp_path):
    explained = hs.explain(from_params(), POINTS, n_iter=1)
    explained.save(tmp_path / "em.html")
    page = (tmp_path / "em.html").read_text(encoding="utf-8")
    for number in ("0.015876", "1.454545", "0.656250", "-1.3862944"):
        assert number in page
    assert not re.search(r"https?://|src=|<script|@import", page)
    assert page.startswith("<!doctype html>")
    assert explained._repr_html_().startswith("<iframe srcdoc=")
    text, shown = str(explained), re.sub(r"<[^>]*>", " ", page)
    assert all(word in shown for word in re.findall(r"\d\.\d{6}", text))


def test_every_computed_number_of_the_page_shows_its_arithmetic():
    """As its title; with the keyboard and by touch too, as it can be focused."""
    page = hs.explain(from_params(), POINTS, n_iter=1).html()
    cells = re.findall(r"<td[^>]*>[^<]*</td>", page)
    worked = [cell for cell in cells if "title=" in cell]
    assert '<td tabindex="0" title="0.018 / (0.018 + 0.378) = 0.045455">0.045455</td>' in worked
    assert all('tabindex="0"' in cell and "label" not in cell for cell in worked)
    assert len(worked) == 4 * 2 + 2 * 3 + 4 + 5 * 2 + 5 * 2  # completions, joint, responsibilities, counts, parameters
    assert '<p class="result" tabindex="0" title="before: log 0.084 + log 0.396 = -3.4032795; after: ' in page
    assert "[title]:focus::after" in page
    centres = hs.explain(hs.KMeans.from_params([[0.0], [4.0]]), [[1.0], [2.5]], n_iter=1).html()
    assert 'title="(1 - 4)^2 = 9.000000">9.000000<' in centres


def test_names_cannot_break_the_page():
    model = hs.LatentClass.from_params([0.5, 0.5], {"<b>": {"<script>": [0.3, 0.6], "b": [0.7, 0.4]}})
    page = hs.explain(model, [["<script>"], ["b"]], 1).html()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    quoted = hs.LatentClass.from_params([1.0], {'"x': {'a" onfocus="b': [0.5], "b": [0.5]}})
    assert '" onfocus="' not in hs.explain(quoted, [["b"]], 1).html()


def test_without_jinja_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'needs jinja2.*pip install "halfseen\[app\]"'):
        hs.explain(from_params(), POINTS).html()


def test_steps_are_plain_data():
    [step] = hs.explain(from_params(), POINTS, 1).steps
    assert json.loads(json.dumps(step.augmented)) == [list(line) for line in step.augmented]


def test_counts_are_called_by_words():
    columns = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}}
    said = str(hs.explain(hs.LatentClass.from_params([0.3, 0.7], columns), [[0], [1]], n_iter=1))
    assert "count of x1 = 0" in said
    assert "cc" not in said.split()
    assert "fc[" not in said


@pytest.mark.parametrize("shape", ["full", "diag"])
def test_a_gaussian_mixture_makes_the_steps_of_its_fit(shape):
    X = pd.DataFrame({"a": [0.0, 1.0, 0.5, 5.0, 6.0, 5.5], "b": [1.0, 0.0, 0.7, 4.0, 5.0, None]})
    model = hs.GaussianMixture(2, covariance_type=shape, n_init=1, random_state=0, means_init=[[0, 0], [5, 5]])
    found = hs.explain(model, X, n_iter=2)
    first = found.steps[0]
    assert_allclose(first.class_counts, first.usage.sum(axis=0), rtol=1e-12)
    assert_allclose(first.after["weights"], first.class_counts / 6, rtol=1e-9)
    assert_allclose(first.after["a"]["mean"], first.usage.T @ X["a"] / first.class_counts, rtol=1e-9)
    assert first.reached >= first.objective
    assert "mean of a" in str(found)


def test_k_means_makes_the_steps_of_lloyd():
    X = np.array([[1.0, 0.0], [2.5, 1.0], [6.0, 4.0], [7.0, np.nan]])
    found = hs.explain(hs.KMeans.from_params([[0.0, 0.0], [4.0, 4.0]]), X[:3], n_iter=3)
    first = found.steps[0]
    assert_allclose(first.squares, [[1, 25], [7.25, 11.25], [52, 4]])
    assert first.cluster.tolist() == [0, 0, 1]
    assert_allclose(first.after, [[1.75, 0.5], [6, 4]])
    assert first.inertia == pytest.approx(12.25)
    assert [step.reached for step in found.steps] == sorted((step.reached for step in found.steps), reverse=True)
    assert "Iteration 3" in str(found)
    assert "squared distances" in found.html()
    told = str(hs.explain(hs.KMeans(2, random_state=0), pd.DataFrame(X, columns=["a", "b"]), n_iter=1))
    assert "·" in told
    fitted = hs.KMeans(2, random_state=0).fit(X)
    still = hs.explain(fitted, X, n_iter=1).steps[0]
    assert_allclose(still.before, still.after)
    assert still.inertia == pytest.approx(fitted.inertia_)


def test_too_many_rows_for_k_means_are_refused():
    with pytest.raises(DataError, match="X has 31 rows; at most 30"):
        hs.explain(hs.KMeans(2), np.zeros((31, 1)))
    with pytest.raises(ParameterError, match="labels="):
        hs.explain(hs.KMeans(2), [[1.0], [2.0]], labels=[0, 1])
