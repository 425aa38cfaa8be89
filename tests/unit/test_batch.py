"""Many fits of a small table in one call of a kernel: the maxima of the engine, in NumPy and in C++."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.engine.tables import batch as batch_module
from halfseen.engine.tables.batch import Batch
from halfseen.inference.refits import CAUTION, MAX_ITER, by_engine
from halfseen.kernels import plain

TOL = 1e-9


@pytest.fixture(params=["plain", "compiled"])
def kernels(request, monkeypatch):
    """The NumPy kernels, and the C++ ones where they were built."""
    found = plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")
    monkeypatch.setattr(batch_module, "kernels", found)
    return found


def people(n_rows=120):
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({"size": rng.normal(3.0 * z), "weight": rng.normal(2.0 * z, 1.5)})
    frame["color"] = np.where(
        rng.random(n_rows) < 0.7, np.array(["red", "blue"])[z], rng.choice(["red", "green", "blue"], n_rows)
    )
    frame["visits"] = rng.poisson(1 + 4 * z)
    frame["shape"] = np.where(rng.random(n_rows) < 0.3 + 0.4 * z, "round", "flat")
    for name in frame:
        frame.loc[rng.random(n_rows) < 0.15, name] = None
    return frame


PEOPLE = people()
TABLES = {
    "categories": PEOPLE[["color", "shape"]].dropna(how="all"),
    "mixed": PEOPLE,
    "numbers": PEOPLE[["size", "weight"]],
    "counts": PEOPLE[["visits", "shape"]],
    "one row": PEOPLE[["color", "shape"]].dropna().iloc[[0, 0, 0]],
}


def units_of(name, n_components=2):
    X = TABLES[name]
    kinds = {"visits": "poisson", "size": "gaussian", "weight": "gaussian"}
    own = {column: kind for column, kind in kinds.items() if column in X}
    own |= {column: "categorical" for column in ("color", "shape") if column in X}
    model = hs.LatentClass(n_components, prior=None, columns=own, n_init=1, max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not meant to converge
        return model.fit(X)._resampled(X)


def started(units, n_runs, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.array([rng.multinomial(units.n_units, units.frequency / units.n_units) for _ in range(n_runs)])
    starts = [units.model.jitter(units.off_bounds(units.params), 0.5, rng) for _ in range(n_runs)]
    return weights.astype(float), np.arange(n_runs), starts


@pytest.mark.parametrize("name", [*TABLES])
def test_runs_end_at_the_maxima_of_the_engine(kernels, name):
    units = units_of(name)
    weights, which, starts = started(units, 6)
    ended = Batch.find(units.model, units.table).run(weights, which, starts, TOL / CAUTION, MAX_ITER)
    for weight, start, end in zip(weights, starts, ended, strict=True):
        [own] = by_engine(units.model, units.weighted(weight).reduced(units.model), [start], tol=TOL)
        assert end.converged
        assert_allclose(end.loglik, own.loglik, rtol=0, atol=1e-8)
        assert_allclose(units.named(end.params), units.named(own.params), atol=1e-4)


@pytest.mark.parametrize("name", [*TABLES])
def test_both_kernels_make_the_same_runs(name, monkeypatch):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    units = units_of(name)
    given = started(units, 4)
    found = []
    for kernels in (plain, compiled):
        monkeypatch.setattr(batch_module, "kernels", kernels)
        found.append(Batch.find(units.model, units.table).run(*given, 1e-6, 8))
    for one, other in zip(*found, strict=True):
        assert abs(one.n_passes - other.n_passes) <= 1  # at rounding, one more
        assert_allclose(one.loglik, other.loglik, rtol=1e-12, atol=1e-12)
        assert_allclose(units.named(one.params), units.named(other.params), atol=1e-9)


def test_the_number_of_passes_is_that_of_the_engine(kernels):
    units = units_of("categories")
    weights, which, starts = started(units, 1)
    [end] = Batch.find(units.model, units.table).run(weights, which, starts, TOL / CAUTION, MAX_ITER)
    [end_short] = Batch.find(units.model, units.table).run(weights, which, starts, TOL / CAUTION, end.n_passes - 1)
    assert not end_short.converged
    assert end_short.n_passes == end.n_passes - 1
    [own] = by_engine(units.model, units.weighted(weights[0]).reduced(units.model), starts, TOL, end.n_passes)
    assert own.converged
    [own] = by_engine(units.model, units.weighted(weights[0]).reduced(units.model), starts, TOL, end.n_passes - 1)
    assert not own.converged


def test_several_starts_of_one_weighting_are_independent(kernels):
    units = units_of("mixed")
    weights, _, starts = started(units, 4)
    batch = Batch.find(units.model, units.table)
    together = batch.run(weights[:1], np.zeros(4, dtype=np.int64), starts, 1e-6, 50)
    alone = [batch.run(weights[:1], np.zeros(1, dtype=np.int64), [start], 1e-6, 50)[0] for start in starts]
    assert [end.loglik for end in together] == [end.loglik for end in alone]


def test_variances_stay_above_their_floor(kernels):
    X = pd.DataFrame({"x": [0.0] * 10 + [1.25, 2.5, 3.7, 7.1]})
    model = hs.LatentClass(2, prior=None, columns={"x": "gaussian"}, n_init=4, random_state=0).fit(X)
    units = model._resampled(X)
    [own] = by_engine(units.model, units.given().reduced(units.model), [units.off_bounds(units.params)], tol=TOL)
    [end] = Batch.find(units.model, units.table).run(
        units.frequency[None], np.zeros(1, dtype=np.int64), [units.off_bounds(units.params)], TOL / CAUTION, MAX_ITER
    )
    assert_allclose(units.named(end.params), units.named(own.params), rtol=1e-6)


def test_impossible_rows_are_left_to_the_engine(kernels):
    units = units_of("categories")
    weights, which, starts = started(units, 1)
    [start] = starts
    table = np.array(start["emit"]["categorical"])
    table[:, :3] = [1.0, 0.0, 0.0]  # one color is certain: rows with another are impossible
    [end] = Batch.find(units.model, units.table).run(
        weights, which, [{**start, "emit": {"categorical": table}}], 1e-6, 50
    )
    assert end.params is None
    assert not end.converged


def test_what_the_kernel_does_not_serve():
    units = units_of("mixed")
    assert Batch.find(units.model, units.table) is not None
    assert Batch.find(units.model, None) is None
    assert Batch.find(units.pulled, units.table) is None  # it has a prior
    X = TABLES["numbers"]
    for other in (
        hs.GaussianMixture(2, covariance_type="full", n_init=1),
        hs.GaussianMixture(2, covariance_type="diag", weights="uniform", n_init=1),
        hs.LatentClass(2, tied=["size"], n_init=1),
    ):
        found = other.fit(X)._resampled(X)
        assert Batch.find(found.model, found.table) is None
    many = replace(units.table, blocks={**units.table.blocks, "poisson": np.full((units.table.n_rows, 1), 5000.0)})
    assert Batch.find(units.model, many) is None


def test_parameters_survive_the_kernel(kernels):
    units = units_of("mixed", 3)
    start = units.off_bounds(units.params)
    batch = Batch.find(units.model, units.table)
    found = batch._unpacked(batch._packed(start))
    assert list(found["emit"]) == list(start["emit"])
    assert_array_equal(units.named(found), units.named(start))


def test_steps_are_measured_in_the_units_of_the_leaves():
    units = units_of("mixed")
    start = units.off_bounds(units.params)
    batch = Batch.find(units.model, units.table)
    assert_allclose(np.sort(batch._packed(start) / batch._units), np.sort(units.model.pack(start)), rtol=1e-12)
