"""Gradient methods as a user meets them: `method=` on tables with holes, mixed kinds and priors, beside EM."""

import numpy as np
import pytest

import halfseen as hs
from halfseen.assign import HARD
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.gradient import remaining, two_loops
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.search import Plan
from halfseen.errors import ParameterError


def mixed(n_rows=200, seed=0):
    """Two classes told apart by a category, a number and a count, one cell in five missing."""
    rng = np.random.default_rng(seed)
    second = rng.random(n_rows) < 0.4
    rows = np.empty((n_rows, 4), dtype=object)
    rows[:, 0] = np.where(rng.random(n_rows) < np.where(second, 0.8, 0.2), "yes", "no")
    rows[:, 1] = rng.choice(["a", "b", "c"], n_rows)
    rows[:, 2] = rng.normal(np.where(second, 6.0, 3.0), 1.0)
    rows[:, 3] = rng.poisson(np.where(second, 9.0, 2.0))
    rows[rng.random(rows.shape) < 0.2] = None
    return rows


KINDS = {"x3": "poisson"}


@pytest.mark.parametrize("prior", ["row", 1.0, None])
@pytest.mark.parametrize("columns", [[0, 1], [2], [0, 1, 2, 3]], ids=str)
def test_lbfgs_reaches_the_optimum_of_em_from_the_same_start(prior, columns):
    X = mixed()[:, columns]
    kinds = KINDS if 3 in columns else None
    how = {"columns": kinds, "prior": prior, "n_init": 1, "random_state": 3, "tol": 1e-6, "max_iter": 5000}
    em, lbfgs = (hs.LatentClass(2, method=method, **how).fit(X) for method in ("em", "lbfgs"))
    assert lbfgs.objective_ == pytest.approx(em.objective_, abs=1e-3)
    assert lbfgs.converged_


@pytest.mark.parametrize("method", ["gradient", "lbfgs"])
def test_many_starts_are_compared(method):
    model = hs.LatentClass(2, columns=KINDS, method=method, random_state=0, max_iter=3000).fit(mixed())
    em = hs.LatentClass(2, columns=KINDS, random_state=0).fit(mixed())
    assert model.objective_ == pytest.approx(em.objective_, abs=0.02)
    assert model.stop_reason_ == "tolerance"
    assert model.restarts_["n_reached_best"] >= 3
    assert np.all(np.diff(model.trace_) >= 0)
    assert model.trace_[-1] == model.objective_


@pytest.mark.parametrize("stop", ["gain", "counts", "parameters"])
def test_every_rule_stops_lbfgs(stop):
    model = hs.LatentClass(2, columns=KINDS, method="lbfgs", stop=stop, tol=1e-3, random_state=0).fit(mixed())
    assert model.converged_


def test_a_fixed_number_of_passes_is_made():
    model = hs.LatentClass(2, columns=KINDS, method="gradient", stop="iterations", max_iter=17, random_state=0)
    assert model.fit(mixed()).n_iter_ == 17
    assert model.stop_reason_ == "iterations"


def test_fixed_and_tied_columns_and_labels_are_honoured():
    X = mixed()
    start = {"x2": {"mean": [3.0, 6.0], "sd": [1.0, 1.0]}}
    labels = [0, 1, *[None] * (len(X) - 2)]
    how = {"columns": KINDS, "start": start, "fixed": ["x2"], "tied": ["x1"], "random_state": 0}
    em, lbfgs = (hs.LatentClass(2, method=m, **how).fit(X, labels=labels) for m in ("em", "lbfgs"))
    assert lbfgs.params_["x2"]["mean"].tolist() == [3.0, 6.0]
    assert all(values[0] == values[1] for values in lbfgs.params_["x1"].values())
    assert lbfgs.objective_ == pytest.approx(em.objective_, abs=2e-3)


def test_one_class_is_solved_at_once():
    """Whatever the method, the closed form of complete data."""
    X = mixed()[:, :3]
    fits = [hs.LatentClass(1, method=method, random_state=0).fit(X) for method in ("em", "lbfgs")]
    assert fits[1].objective_ == pytest.approx(fits[0].objective_, abs=1e-4)


def test_only_soft_fits_have_a_gradient():
    with pytest.raises(ParameterError, match=r"method='lbfgs'.*assign='soft'.*'hard'"):
        hs.LatentClass(2, method="lbfgs", assign="hard").fit(mixed())
    with pytest.raises(ParameterError, match="method='newton' is not one of 'em', 'gradient', 'lbfgs'"):
        hs.LatentClass(2, method="newton").fit(mixed())
    with pytest.raises(ParameterError, match="assign='hard'"):
        Plan(assign=HARD, method="gradient")


def test_a_learning_rate_is_tried_first():
    """The first step of steepest ascent is that multiple of the slope; a wild one is cut short, and climbs too."""
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(mixed())
    engine, table = model._model, model._encode(mixed())
    start = engine.jitter(model._params, 0.5, np.random.default_rng(0))
    data = Reduced(table.chunks())
    for rate in (1e-4, 1e3):
        chain = Plan(method="gradient", learning_rate=rate, max_iter=30).run(engine, start, 0)
        chain.move(*evaluate(engine, data, [chain.params]))
        farthest = np.abs(chain.slope).max()
        moved = engine.free(chain.params) - engine.free(start)
        assert np.abs(moved).max() <= min(rate * farthest, 3.0) * (1 + 1e-9) + 3.0 * (rate > 1)
        assert chain.length == pytest.approx(min(rate, 3.0 / farthest))
        while chain.running:
            chain.move(*evaluate(engine, data, [chain.params]))
        assert np.all(np.diff(chain.trace) >= 0)
        assert chain.objective > chain.trace[0]


def test_two_loops_solve_a_parabola():
    """After as many steps as there are coordinates the inverse curvature of a parabola is known exactly."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    curvature = root @ root.T + np.eye(4)
    steps = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    conjugate = np.linalg.solve(np.linalg.cholesky(curvature).T, steps)  # conjugate steps: each teaches one direction
    slope = rng.normal(size=4)
    memory = [(step, curvature @ step) for step in conjugate.T]
    np.testing.assert_allclose(two_loops(slope, memory), np.linalg.solve(curvature, slope), rtol=1e-10)


def test_what_is_left_is_estimated_from_the_trace():
    trace = (-(0.98 ** np.arange(400.0))).tolist()
    assert remaining(trace) == pytest.approx(0.98**399, rel=1e-6)
    assert remaining(trace[:4]) == np.inf  # too few steps
    assert remaining([float(t) for t in range(30)]) == np.inf  # gains do not shrink
    assert remaining([1.0] * 30) == 0.0
