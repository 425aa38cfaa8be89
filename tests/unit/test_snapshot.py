"""What a watcher sees of a fit that is under way: curves of all starts, parameters, shares and columns by class."""

import copy
import threading
import warnings

import numpy as np
import pytest

import halfseen as hs
from halfseen.engine.services.progress import Progress, watching
from halfseen.estimators.table.view import TableView
from halfseen.leaves.leaf import map_arrays
from halfseen.plots.pairs import scatter
from tests.unit.test_progress import SERIES, UNFINISHED

RNG = np.random.default_rng(3)
CLASS = RNG.integers(0, 2, 300)
COLOURS = np.where(RNG.random(300) < 0.8, np.array(["red", "blue"])[CLASS], "green")
ROWS = [[colour, x, n] for colour, x, n in zip(COLOURS, RNG.normal(3.0 * CLASS), RNG.poisson(4 + CLASS), strict=True)]
KINDS = {"x2": "poisson"}
STATES = {"running", "dropped", "converged", "stopped", "best"}


def last_of(fit):
    """Return the fitted model and the last that a watcher was told."""
    seen = []
    with watching(seen.append), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit()
    return model, seen[-1]


def classes(**options):
    return hs.LatentClass(**{"n_components": 2, "columns": KINDS, "random_state": 0, "n_init": 6, **options})


def never_falls(curve):
    return bool((np.diff(curve.objectives) >= 0).all())


FITS = UNFINISHED | {
    "KMeans": lambda: hs.KMeans(3, random_state=0, n_init=8).fit(SERIES),
    "KMeans from centres": lambda: hs.KMeans(2, init=[[0, 0], [1, 1]]).fit(SERIES),
    "hard": lambda: classes(assign="hard").fit(ROWS),
    "gradient": lambda: classes(method="lbfgs").fit(ROWS),
    "annealed": lambda: classes(anneal=(0.5,)).fit(ROWS),
    "auto": lambda: classes(n_init="auto").fit(ROWS),
    "fixed length": lambda: classes(stop="iterations", max_iter=12).fit(ROWS),
    "classifier": lambda: hs.NaiveBayes(random_state=0).fit(
        ROWS, np.where(np.arange(300) % 3, CLASS, -9), unlabeled=-9
    ),
    "complement": lambda: hs.NaiveBayes(columns={"x0": "text"}, text="complement").fit(
        [["cat"], ["dog"]] * 9, [0, 1] * 9
    ),
    "HMM mixtures": lambda: hs.HMM(2, n_mix=2, random_state=0, max_iter=50).fit(SERIES),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_every_fit_has_curves_that_rise_and_one_best(fit):
    _, seen = last_of(fit)
    found = seen.snapshot()
    assert {curve.state for curve in found.curves} <= STATES - {"running"}
    assert [curve.state for curve in found.curves].count("best") == 1
    assert all(map(never_falls, found.curves))
    best = next(curve for curve in found.curves if curve.state == "best")
    assert best.number == found.leader
    compared = [curve for curve in found.curves if curve.state != "dropped" and curve.healthy == best.healthy]
    assert best.objectives[-1] == max(curve.objectives[-1] for curve in compared)
    assert best.healthy or not any(curve.healthy for curve in found.curves)
    assert [curve.number for curve in found.curves] == sorted({curve.number for curve in found.curves})


@pytest.mark.parametrize("fit", UNFINISHED.values(), ids=UNFINISHED)
def test_the_best_curve_is_the_trace_of_the_model(fit):
    model, seen = last_of(fit)
    found = seen.snapshot()
    assert next(curve.objectives for curve in found.curves if curve.number == found.leader) == model.trace_


def test_who_looks_once_sees_what_who_looks_always_sees():
    traces = {}

    def watch(seen):
        for curve in seen.snapshot().curves:
            assert curve.objectives[: len(traces.get(curve.number, []))] == traces.get(curve.number, [])
            traces[curve.number] = curve.objectives

    with watching(watch):
        classes(n_init=20).fit(ROWS)
    found = last_of(lambda: classes(n_init=20).fit(ROWS))[1].snapshot()
    assert {curve.number: curve.objectives for curve in found.curves} == traces
    assert len(traces) == 20


def test_starts_of_all_rounds_are_there_and_those_that_were_dropped():
    _, seen = last_of(lambda: hs.HMM(3, random_state=0, max_iter=60, n_init=40).fit(SERIES))
    found = seen.snapshot()
    assert len(found.curves) == seen.n_starts == 40
    assert {"best", "dropped"} <= {curve.state for curve in found.curves}


def test_the_worse_half_of_a_race_is_dropped():
    found = last_of(lambda: classes(assign="sample", n_init=8, max_iter=40).fit(ROWS))[1].snapshot()
    assert sorted(curve.state for curve in found.curves) == ["best", *["dropped"] * 7]
    assert len(found.curves[found.leader].objectives) == 40


def test_states_while_starts_are_running():
    states = []

    def watch(seen):
        states.append([curve.state for curve in seen.snapshot().curves])

    with watching(watch):
        classes().fit(ROWS)
    assert states[0] == ["running"] * 6
    assert states[-1].count("best") == 1


def test_annealing_has_no_objectives():
    kept = []

    def watch(seen):
        found = seen.snapshot()
        kept.append((seen.objective, [curve.objectives for curve in found.curves], found.view.shares))

    with watching(watch):
        classes(anneal=(0.5,)).fit(ROWS)
    objective, objectives, shares = kept[0]
    assert objective is None
    assert objectives == [[]] * 6
    assert shares.sum() == pytest.approx(1.0)
    assert [len(one) for one in kept[10][1]] == [1] * 6


def test_searches_are_numbered_and_the_last_of_each_has_its_end():
    last = {}

    def watch(seen):
        last[seen.search] = seen

    with watching(watch):
        model = classes(n_components=range(1, 4)).fit(ROWS)
    assert {number: seen.n_components for number, seen in last.items()} == {0: 1, 1: 2, 2: 3}
    logliks = [max(curve.objectives[-1] for curve in last[number].snapshot().curves) for number in last]
    assert [seen.snapshot().search for seen in last.values()] == [0, 1, 2]
    assert logliks[model.n_components_ - 1] == model.objective_


def test_searches_are_counted_anew_by_every_watcher():
    numbers = [last_of(lambda: classes().fit(ROWS))[1].search for _ in range(2)]
    assert numbers == [0, 0]


def test_nothing_is_computed_for_who_does_not_look(monkeypatch):
    def refuse(*given, **named):
        raise AssertionError("nobody has looked")

    monkeypatch.setattr(TableView, "of", refuse)
    monkeypatch.setattr("halfseen.engine.loop.course.Curve", refuse)
    seen = []
    with watching(seen.append):
        classes(n_init=1).fit(ROWS)
    assert len(seen) > 2
    with pytest.raises(AssertionError):
        seen[-1].snapshot()


def test_a_snapshot_has_arrays_of_its_own():
    alone = classes().fit(ROWS)

    def spoil(seen):
        found = seen.snapshot()

        def zeroed(array):
            array[...] = 0.0

        map_arrays(zeroed, found.params)
        for curve in found.curves:
            curve.objectives.clear()
        for array in (found.view.shares, found.view.means, found.view.covariances):
            array[...] = 0.0
        for column in found.view.columns:
            for values in column.parameters.values():
                values[...] = 0.0

    with watching(spoil):
        model = classes().fit(ROWS)
    assert model.trace_ == alone.trace_


def test_another_thread_may_have_a_snapshot():
    _, seen = last_of(lambda: classes().fit(ROWS))
    found, proba = seen.snapshot(), []
    table = found.view.schema.encode(hs.data.read(ROWS))
    other = threading.Thread(target=lambda: proba.append(found.view.proba(table)))
    other.start()
    other.join()
    np.testing.assert_allclose(proba[0].sum(axis=1), 1.0)


def order_of(view, model):
    """Return which component of a view each class of the model is."""
    return [int(np.abs(view.shares - share).argmin()) for share in model.weights_]


def test_the_view_is_what_the_model_will_show():
    model, seen = last_of(lambda: classes().fit(ROWS))
    view = seen.snapshot().view
    order = order_of(view, model)
    np.testing.assert_allclose(view.shares[order], model.weights_)
    assert [(column.name, column.kind) for column in view.columns] == list(model.columns_.items())
    for column in view.columns:
        expected = model.params_[column.name]
        assert list(column.parameters) == list(expected)
        for row, values in column.parameters.items():
            np.testing.assert_allclose(values[order], expected[row])
    number, count = view.columns[1], view.columns[2]
    np.testing.assert_allclose(number.mean[order], model.params_["x1"]["mean"])
    np.testing.assert_allclose(number.sd[order], model.params_["x1"]["sd"])
    np.testing.assert_allclose(count.mean[order], model.params_["x2"]["rate"])
    assert view.columns[0].mean is None
    table = view.schema.encode(hs.data.read(ROWS))
    np.testing.assert_allclose(view.proba(table)[:, order], model.predict_proba(ROWS))


def test_rows_and_ellipses_are_those_of_the_plots():
    model, seen = last_of(lambda: hs.GaussianMixture(2, random_state=0).fit(SERIES))
    view = seen.snapshot().view
    found = view.scatter(view.schema.encode(hs.data.read(SERIES)))
    order = order_of(view, model)
    expected = scatter(model, SERIES)
    np.testing.assert_allclose(found.values, expected.values)
    np.testing.assert_allclose(found.proba[:, order], expected.proba)
    np.testing.assert_allclose(found.means[order], expected.means)
    np.testing.assert_allclose(found.covariances[order], expected.covariances)
    np.testing.assert_allclose(found.separation, expected.separation)
    assert (found.names, found.levels, found.owner) == (expected.names, expected.levels, expected.owner)


def test_states_of_a_chain_have_their_shares_of_the_steps():
    model, seen = last_of(lambda: hs.HMM(2, random_state=0).fit(SERIES))
    view = seen.snapshot().view
    np.testing.assert_allclose(np.sort(view.shares), np.sort(model.occupancy_))
    means = np.stack([column.mean for column in view.columns], axis=1)
    order = np.argsort(-view.shares, kind="stable")
    np.testing.assert_allclose(means[order], model.means_)


def test_components_of_a_class_know_it():
    labels = np.where(np.arange(300) % 4 == 0, None, CLASS)
    model = hs.NaiveBayes(components_per_class=2, random_state=0, unlabeled_weight=1.0, guard=False, columns=KINDS)
    fitted, seen = last_of(lambda: copy.copy(model).fit(ROWS, labels))
    view = seen.snapshot().view
    assert view.owner == [0, 0, 1, 1]
    found = view.scatter(view.schema.encode(hs.data.read(ROWS)), names=["a", "b"])
    np.testing.assert_allclose(found.proba, fitted.predict_proba(ROWS))
    assert list(found.class_names) == ["a", "b"]


def test_weights_that_depend_on_covariates_are_shown_by_their_mean():
    model, seen = last_of(lambda: classes().fit(ROWS, covariates=CLASS[:, None].astype(float)))
    view = seen.snapshot().view
    np.testing.assert_allclose(np.sort(view.shares), np.sort(model.weights_), rtol=1e-6)


def test_centres_of_k_means():
    model, seen = last_of(lambda: hs.KMeans(3, random_state=0).fit(SERIES))
    found = seen.snapshot()
    order = [int(((found.params["centers"] - centre) ** 2).sum(axis=1).argmin()) for centre in model.cluster_centers_]
    np.testing.assert_allclose(found.params["centers"][order], model.cluster_centers_)
    np.testing.assert_allclose(found.view.shares[order], model.cluster_sizes_ / 60)
    np.testing.assert_allclose(found.view.columns[0].mean[order], model.cluster_centers_[:, 0])
    assert found.view.proba(None) is None
    assert seen.objective == pytest.approx(-model.inertia_)


def test_progress_of_k_means_is_told_sweep_by_sweep():
    seen = []
    with watching(seen.append):
        hs.KMeans(4, random_state=0, n_init=5).fit(SERIES)
    assert {(step.n_components, step.n_starts) for step in seen} == {(4, 5)}
    assert seen[0].n_running == 5
    assert seen[-1].n_running == 0
    assert (np.diff([step.objective for step in seen]) >= -1e-9).all()


def test_lexicons_are_too_large_to_copy():
    found = last_of(UNFINISHED["WordAligner"])[1].snapshot()
    assert found.params is None
    assert found.view is None


def test_progress_without_a_search_has_an_empty_snapshot():
    assert Progress(2, 1, 1, 1, 10, None).snapshot().curves == []
