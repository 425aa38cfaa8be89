"""The fused path is an optimisation, never a second model: its sums equal those of the three steps."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.data import Schema, read
from halfseen.engine.loop.em import evaluate, steps
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.fused import GROUP, MOST, FusedMixture
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import ImpossibleRowWarning
from halfseen.estimators.table import emission_builder
from halfseen.kernels import active, plain

compiled = pytest.importorskip("halfseen.kernels.compiled")
needs_compiled = pytest.mark.skipif(active is plain, reason="HALFSEEN_KERNELS=plain: the fused path is not in use")

SAME = 1e-11  # relative: products instead of sums of logs, and another order of adding


def some_table(rng, n_rows, kinds="cgp", missing=0.2, n_columns=3):
    """Mixed columns with holes, some rows without any observed cell, and fractional weights."""
    columns = {}
    for j, kind in enumerate(kinds * n_columns):
        if kind == "c":
            values = rng.integers(0, 2 + j, n_rows).astype(float)
        else:
            values = rng.normal(5, 3, n_rows) if kind == "g" else rng.poisson(3, n_rows).astype(float)
        columns[f"{kind}{j}"] = np.where(rng.random(n_rows) < missing, np.nan, values)
    kind_of = {"c": "categorical", "g": "gaussian", "p": "poisson"}
    source = read(pd.DataFrame(columns))
    schema = Schema.learn(source, {name: kind_of[name[0]] for name in columns})
    return schema.encode(source, rng.random(n_rows) * 2).canonical()


def some_model(rng, table, n_components):
    model = emission_builder.Recipe(table.schema, emission_builder.summarise(table), n_components, "row", 1e-8).model()
    params = model.jitter(model.blank(), 0.7, rng)
    return model, params


@needs_compiled
@pytest.mark.parametrize("n_components", [1, 2, 7, 8, 9, 16, 23, 32])
@pytest.mark.parametrize("kinds", ["c", "g", "p", "cg", "cgp"])
def test_sums_equal_those_of_the_three_steps(kinds, n_components):
    rng = np.random.default_rng(n_components)
    table = some_table(rng, 500, kinds)
    model, params = some_model(rng, table, n_components)
    data = reduce(model, table)
    assert data.path is not None
    [fused] = evaluate(model, data, [params])
    [plainly] = evaluate(model, Reduced(table.chunks()), [params])
    assert_allclose(fused.loglik, plainly.loglik, rtol=SAME)
    scale = np.abs(plainly.expected.stats).max()
    assert_allclose(fused.expected.stats, plainly.expected.stats, rtol=SAME, atol=SAME * scale)


@needs_compiled
def test_early_steps_agree_as_well_as_late_ones():
    """A wrong exp once reached nearly the same optimum: only the first steps showed it."""
    rng = np.random.default_rng(0)
    table = some_table(rng, 800)
    model, params = some_model(rng, table, 4)
    fused, plainly = (steps(model, data, params) for data in (reduce(model, table), Reduced(table.chunks())))
    for _, first, second in zip(range(20), fused, plainly, strict=False):
        assert_allclose(first.objective, second.objective, rtol=1e-12)


@needs_compiled
@pytest.mark.parametrize("n_columns", [120, 600])
def test_products_that_run_out_of_range_are_done_in_logs(n_columns):
    """Hundreds of columns: the product of their probabilities is below the smallest double."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (60, n_columns))
    table = Schema.learn(read(X)).encode(read(X)).canonical()
    model, params = some_model(rng, table, 3)
    [fused] = evaluate(model, reduce(model, table), [params])
    [plainly] = evaluate(model, Reduced(table.chunks()), [params])
    assert_allclose(fused.loglik, plainly.loglik, rtol=SAME)
    assert_allclose(fused.expected.stats, plainly.expected.stats, rtol=1e-9, atol=1e-9)


@needs_compiled
def test_far_values_do_not_vanish():
    """A value thousands of standard deviations from every class still has a most probable one."""
    X = np.array([[0.5], [1.5], [1e6], [-1e6], [np.nan]])
    table = Schema.learn(read(X)).encode(read(X)).canonical()
    model = emission_builder.Recipe(table.schema, emission_builder.summarise(table), 2).model()
    start = {"weights": [0.3, 0.7], "x0": {"mean": [0.0, 1.0], "sd": [1.0, 2.0]}}
    params = emission_builder.overlay(model.blank(), start, table.schema, 2)
    [fused] = evaluate(model, reduce(model, table), [params])
    [plainly] = evaluate(model, Reduced(table.chunks()), [params])
    assert_allclose(fused.loglik, plainly.loglik, rtol=SAME)
    assert_allclose(fused.expected.stats, plainly.expected.stats, rtol=1e-9)


@needs_compiled
def test_an_impossible_row_is_impossible_on_both_paths():
    X = np.array([["a", "b"], ["b", "a"], ["a", "a"]], dtype=object)
    table = Schema.learn(read(X)).encode(read(X)).canonical()
    model = emission_builder.Recipe(table.schema, emission_builder.summarise(table), 2).model()
    start = {"weights": [0.5, 0.5], "x0": [[1.0, 0.0], [0.0, 1.0]], "x1": [[0.0, 1.0], [1.0, 0.0]]}
    params = emission_builder.overlay(model.blank(), start, table.schema, 2)
    for data in (reduce(model, table), Reduced(table.chunks())):
        [step] = evaluate(model, data, [params])
        assert step.loglik == -np.inf
        assert np.isfinite(step.expected.stats).all()


@needs_compiled
def test_columns_are_grouped_within_bounds():
    rng = np.random.default_rng(2)
    table = some_table(rng, 50, "c", n_columns=8)
    model, _ = some_model(rng, table, 3)
    path = FusedMixture.find(model, table)
    holes = (table.blocks["categorical"] < 0).any(axis=0)
    sizes = [size + hole for size, hole in zip(table.schema.cardinalities("categorical"), holes, strict=True)]
    grouped = [np.prod([sizes[d] for d in members]) for members in path.groups.members]
    assert max(grouped) <= max(GROUP, max(sizes))
    assert [d for members in path.groups.members for d in members] == list(range(len(sizes)))
    assert sum(grouped) == path.groups.n_rows


@needs_compiled
def test_what_the_kernel_cannot_do_goes_the_other_way():
    rng = np.random.default_rng(3)
    table = some_table(rng, 60)
    assert FusedMixture.find(some_model(rng, table, MOST)[0], table) is not None
    assert FusedMixture.find(some_model(rng, table, MOST + 1)[0], table) is None
    X = [[0, 1], [1, 1], [1, 0]] * 9
    model = hs.LatentClass(2, random_state=0).fit(X, labels=[{0, 1}] * 13 + [0] + [None] * 13)
    assert np.isfinite(model.loglik_)


def kernel_arguments(rng, n_rows, n_groups=3, n_numbers=2, n_counts=2, width=8, n_used=5):
    """Arrays for mixture_soft, padding included."""
    cells = (rng.integers(0, 4, (n_rows, n_groups)) + 4 * np.arange(n_groups)).astype(np.uint16)
    values = np.where(rng.random((n_rows, n_numbers)) < 0.3, np.nan, rng.normal(size=(n_rows, n_numbers)))
    counts = np.where(rng.random((n_rows, n_counts)) < 0.3, np.nan, rng.poisson(2, (n_rows, n_counts)))
    padding = np.arange(width) >= n_used
    mix = np.where(padding, 0.0, rng.random(width))
    table = np.where(padding, 0.0, rng.random((4 * n_groups, width)))
    table[1:2, 0] = 0.0
    half_log = np.where(padding, 1e300, rng.normal(size=(n_numbers, width)))
    rate = np.where(padding, 1e300, rng.random((n_counts, width)))
    rate[:, 1] = 0.0
    with np.errstate(divide="ignore"):
        log_rate = np.maximum(np.log(rate), -1e300)
    constants = np.where(np.isnan(counts), 0.0, -np.log(np.maximum(np.nan_to_num(counts), 1)))
    inputs = (cells, values, counts, constants, rng.integers(0, 3, n_rows).astype(float), False, mix, table)
    inputs += (rng.normal(size=(n_numbers, width)), np.where(padding, 0.0, rng.random((n_numbers, width))), half_log)
    outputs = (np.zeros(width), np.zeros(table.shape), np.zeros((3, n_numbers, width)), np.zeros((3, n_counts, width)))
    return (*inputs, rate, log_rate), outputs


@pytest.mark.parametrize("n_rows", [0, 1, 7, 64, 65, 200])
@pytest.mark.parametrize("columns", [(3, 2, 2), (0, 2, 0), (3, 0, 0), (0, 0, 1), (40, 0, 0)])
@pytest.mark.parametrize("order", ["none", "untrue", "by the first group"])
def test_the_kernel_and_its_twin(n_rows, columns, order):
    inputs, outputs = kernel_arguments(np.random.default_rng(n_rows), n_rows, *columns)
    if order != "none":
        inputs = (*inputs[:5], True, *inputs[6:])  # costs time where it is not so, never the result
    if order == "by the first group" and columns[0]:
        inputs = (inputs[0][np.argsort(inputs[0][:, 0])], *inputs[1:])
    copies = tuple(array.copy() for array in outputs)
    loglik, twin = compiled.mixture_soft(*inputs, *outputs), plain.mixture_soft(*inputs, *copies)
    assert_allclose(loglik, twin, rtol=1e-12)
    for array, copy in zip(outputs, copies, strict=True):
        assert_allclose(array, copy, rtol=1e-11, atol=1e-12)


def test_outputs_are_never_copied_silently():
    """An output of another layout would be filled in a copy and lost: it is refused instead."""
    inputs, outputs = kernel_arguments(np.random.default_rng(0), 5)
    with pytest.raises(TypeError):
        compiled.mixture_soft(*inputs, outputs[0][::2], *outputs[1:])
    with pytest.raises(TypeError):
        compiled.gaussian_score(np.zeros((2, 1)), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((2, 1), dtype=np.float32))


@pytest.mark.parametrize("n_rows", [0, 1, 7, 64, 65, 200])
@pytest.mark.parametrize("columns", [(3, 2, 2), (0, 2, 0), (3, 0, 0), (0, 0, 1), (40, 0, 0)])
def test_the_posterior_kernel_and_its_twin(n_rows, columns):
    inputs, _ = kernel_arguments(np.random.default_rng(n_rows), n_rows, *columns)
    inputs = (*inputs[:4], np.ones(n_rows), *inputs[5:])
    found, twin = ((np.empty((n_rows, 5)), np.empty(n_rows)) for _ in range(2))
    compiled.mixture_posterior(*inputs, *found)
    plain.mixture_posterior(*inputs, *twin)
    assert_allclose(found[0], twin[0], rtol=1e-11, atol=1e-13)
    assert_allclose(found[1], twin[1], rtol=1e-12, atol=1e-12)


@needs_compiled
def test_posteriors_of_many_rows_are_those_of_few():
    """Large tables go through the fused kernel, small ones through three steps; impossible rows get the shares."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, (5000, 4)), rng.normal(size=(5000, 2))])
    X[rng.random(X.shape) < 0.2] = np.nan
    model = hs.LatentClass(3, n_init=1, stop="iterations", max_iter=5, random_state=0).fit(X)
    parts = np.array_split(X, 50)
    assert model.predict(X).tolist() == np.concatenate([model.predict(part) for part in parts]).tolist()
    assert_allclose(model.predict_proba(X), np.concatenate([model.predict_proba(part) for part in parts]), atol=1e-12)
    assert_allclose(
        model.score_samples(X), np.concatenate([model.score_samples(part) for part in parts]), rtol=1e-12, atol=1e-12
    )
    built = hs.LatentClass.from_params([0.3, 0.7], {"x": {0: [1.0, 1.0], 1: [0.0, 0.0]}})
    with pytest.warns(ImpossibleRowWarning, match="2500 rows"):
        assert_allclose(built.predict_proba([[0], [1]] * 2500), np.full((5000, 2), [0.3, 0.7]))
    with pytest.warns(ImpossibleRowWarning, match="2500 rows"):
        assert built.predict([[0], [1]] * 2500).tolist() == [1] * 5000


@needs_compiled
@pytest.mark.parametrize("n_components", [1, 3, 11, 32])
@pytest.mark.parametrize("kinds", ["c", "g", "p", "cgp"])
def test_the_best_component_is_that_of_the_posterior(kinds, n_components):
    rng = np.random.default_rng(n_components)
    table = some_table(rng, 500, kinds)
    model, params = some_model(rng, table, n_components)
    fused = FusedMixture.find(model)
    prepared, ready = fused.prepare_best(params), model.prepare(params)
    for chunk in table.chunks():
        joint = model.joint(ready, chunk.blocks)
        assert fused.best(prepared, chunk).tolist() == joint.argmax(axis=1).tolist()
