"""The law of meeting: where two models or methods are the same thing, they give the same numbers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as distributions

import halfseen as hs
from halfseen.assign import HARD, SOFT
from halfseen.data import Column, Evidence, Schema, Table
from halfseen.engine.tables.lloyd import Rows, move, sweep
from halfseen.engine.tables.mixture import Mixture
from halfseen.estimators.table.emission_builder import Recipe
from halfseen.leaves import Binomial, Categorical, Cells, Frozen, Gaussian, GaussianParams, Poisson, Product
from halfseen.structures.independent import Independent
from tests.laws.closeness import close, same_step
from tests.laws.models import FLOOR, Case, every_model, inner_mixture, mixtures, mixtures_of_mixtures, summary
from tests.strategies import anywhere, examples, generators, tables


def as_table(weight=None, evidence=None, **blocks):
    """Return a table of blocks; laws need no names of columns."""
    arrays = {name: np.asarray(block) for name, block in blocks.items()}
    n_rows = len(next(iter(arrays.values())))
    return Table(Schema((), {}), arrays, np.ones(n_rows) if weight is None else np.asarray(weight), evidence)


def weights(n_components):
    return Cells(1, [n_components], axes=(1,))


# ---- one component: the closed form ---------------------------------------------------------------------------------


@examples(20)
@given(table=tables(), rng=generators)
def test_one_component_is_the_closed_form(table, rng):
    """Frequencies, means, variances and mean counts of the observed cells, after one step from anywhere."""
    model = Recipe(table.schema, summary(table), 1, None, FLOOR).model()
    case = Case(model, table, anywhere(model, rng))
    fitted = model.improved(case.step())["emit"]
    weight = table.weight
    starts = np.cumsum([0, *table.schema.cardinalities("categorical")])
    for d, codes in enumerate(table.blocks["categorical"].T):
        counts = np.array([weight[codes == v].sum() for v in range(starts[d + 1] - starts[d])])
        if counts.sum():
            close(fitted["categorical"][0, starts[d] : starts[d + 1]], counts / counts.sum())
    for d, values in enumerate(table.blocks["gaussian"].T):
        seen = ~np.isnan(values) & (weight > 0)
        if seen.any():
            mean = np.average(values[seen], weights=weight[seen])
            var = np.average((values[seen] - mean) ** 2, weights=weight[seen])
            lowest = FLOOR * model.leaves["emit"].leaves["gaussian"].leaf.scale[d] ** 2
            close(fitted["gaussian"].mean[0, d], mean, 1e-9)
            close(fitted["gaussian"].var[0, d], max(var, lowest), 1e-9)
    for d, values in enumerate(table.blocks["poisson"].T):
        seen = ~np.isnan(values) & (weight > 0)
        if seen.any():
            close(fitted["poisson"][0, d], np.average(values[seen], weights=weight[seen]))


@examples(10)
@given(mixtures(prior="row"))
def test_one_pseudo_row_adds_one_row_to_the_closed_form(case):
    """The prior has mass 1 in all: mixing weights are (n_k + 1/K) / (N + 1)."""
    n_components = case.params["mix"].shape[1]
    counts = case.model.view(case.step().expected.stats)["mix"][0]
    after = case.model.improved(case.step())["mix"][0]
    close(after, (counts + 1 / n_components) / (counts.sum() + 1))


# ---- k-means --------------------------------------------------------------------------------------------------------


@examples(20)
@given(rng=generators, n_components=st.integers(1, 4))
def test_hard_assignment_with_one_frozen_variance_is_k_means(rng, n_components):
    """One step = one iteration of Lloyd: nearest centre, then the mean of its rows; an empty centre stays."""
    rows = rng.normal(size=(15, 2))
    centres = rng.normal(size=(n_components, 2))
    fixed = GaussianParams(np.zeros((n_components, 2), dtype=bool), np.ones((n_components, 2), dtype=bool))
    emit = Frozen(Gaussian(n_components, np.zeros(2), np.ones(2)), fixed)
    model = Mixture(Independent(), {"mix": Frozen(weights(n_components)), "emit": Product(n_components, {"x": emit})})
    start = {
        "mix": np.full((1, n_components), 1 / n_components),
        "emit": {"x": GaussianParams(centres, np.ones((n_components, 2)))},
    }
    case = Case(model, as_table(x=rows), start)
    step = case.step(HARD)
    after = model.improved(step)

    distances = ((rows[:, None] - centres) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=1)
    lloyd = [rows[nearest == k].mean(axis=0) if np.any(nearest == k) else centres[k] for k in range(n_components)]
    close(after["emit"]["x"].mean, np.array(lloyd))
    np.testing.assert_array_equal(after["emit"]["x"].var, 1.0)
    inertia = distances.min(axis=1).sum()
    close(step.loglik, -inertia / 2 - 15 * np.log(2 * np.pi) - 15 * np.log(n_components))


def equal_spheres(n_components, n_columns, centres):
    """Return the mixture that k-means is: equal weights and unit variances, both frozen; and its parameters."""
    shape = (n_components, n_columns)
    fixed = GaussianParams(np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool))
    emit = Frozen(Gaussian(n_components, np.zeros(n_columns), np.ones(n_columns)), fixed)
    model = Mixture(Independent(), {"mix": Frozen(weights(n_components)), "emit": Product(n_components, {"x": emit})})
    mix = np.full((1, n_components), 1 / n_components)
    return model, {"mix": mix, "emit": {"x": GaussianParams(centres, np.ones(shape))}}


@examples(40)
@given(rng=generators, n_components=st.integers(1, 9), holes=st.booleans())
def test_the_fast_path_of_k_means_is_the_mixture_sweep_by_sweep(rng, n_components, holes):
    """Same assignments, same centres, same objective. A row with holes has D / n_seen times its weight in k-means."""
    rows = rng.normal(size=(40, 3)) + rng.choice([-2.0, 0.0, 2.0], (40, 1))
    rows[rng.random(rows.shape) < (0.3 if holes else 0.0)] = np.nan
    n_seen = (~np.isnan(rows)).sum(axis=1)
    weight = rng.integers(0, 3, 40) / 2
    scaled = weight * np.where(n_seen > 0, 3 / np.maximum(n_seen, 1), 0.0)
    model, params = equal_spheres(n_components, 3, rng.normal(size=(n_components, 3)))
    table, labels = as_table(weight=scaled, x=rows), np.full(40, -1, dtype=np.int32)
    centres, pivot = params["emit"]["x"].mean, np.array([0.5, -0.25, 0.0])
    for _ in range(4):
        step = Case(model, table, params).step(HARD)
        swept = sweep(Rows(rows, weight, pivot), centres - pivot, labels)
        [chunk] = table.chunks()
        usage = model.infer(model.prepare(params), chunk.blocks, np.ones((40, 1)), HARD).usage["emit"]
        np.testing.assert_array_equal(labels, usage.argmax(axis=1))
        constant = (scaled * n_seen).sum() * np.log(2 * np.pi) / 2 + scaled.sum() * np.log(n_components)
        close(step.loglik, -swept.inertia / 2 - constant)
        params, centres = model.improved(step), move(centres - pivot, swept) + pivot
        close(centres, params["emit"]["x"].mean)
        centres = params["emit"]["x"].mean


@examples(20)
@given(rng=generators, n_components=st.integers(1, 4))
def test_k_means_ends_where_hard_em_ends(rng, n_components):
    rows = rng.normal(size=(60, 2)) + rng.choice([-4.0, 0.0, 4.0], (60, 2))
    start = rows[rng.choice(60, n_components, replace=False)]
    fast = hs.KMeans(n_components, init=start, tol=0.0).fit(rows)
    model, params = equal_spheres(n_components, 2, start)
    for _ in range(fast.n_iter_):
        params = model.improved(Case(model, as_table(x=rows), params).step(HARD))
    close(fast.cluster_centers_, params["emit"]["x"].mean)
    step = Case(model, as_table(x=rows), params).step(HARD)
    close(step.loglik, -fast.inertia_ / 2 - 60 * np.log(2 * np.pi) - 60 * np.log(n_components))


# ---- soft, hard and sampled agree where they must -------------------------------------------------------------------


@every_model()
@examples(3)
@given(data=st.data())
def test_soft_at_zero_temperature_is_hard(entry, data):
    case = data.draw(entry.cases)
    cold, hard = case.step(SOFT.cooled(1e7)), case.step(HARD)
    close(cold.loglik, hard.loglik, 1e-5)  # log(K) / beta for each row


@every_model("rows")
@examples(3)
@given(data=st.data())
def test_at_infinite_temperature_every_completion_counts_alike(entry, data):
    case = data.draw(entry.cases)
    if case.table.evidence is not None:
        return  # what labels exclude stays excluded
    used = case.model.view(case.step(SOFT.cooled(1e-12)).expected.stats)["mix"][:1]
    n_components = used.shape[1]
    close(used, np.full((1, n_components), case.table.weight.sum() / n_components), 1e-6)


@examples(10)
@given(mixtures(), generators)
def test_evidence_of_ones_is_no_evidence(case, rng):
    n_components = case.params["mix"].shape[1]
    blank = Evidence(np.zeros((1, n_components)), np.zeros(case.table.n_rows, dtype=np.int32))
    same_step(case.but(table=replace(case.table, evidence=blank)).step(), case.step())


# ---- mixtures inside mixtures ---------------------------------------------------------------------------------------


@examples(10)
@given(mixtures_of_mixtures())
def test_a_mixture_of_mixtures_is_a_flat_mixture(case):
    """Same evidence and the same statistics of the innermost leaves, with weights multiplied out."""
    inner = case.model.leaves["emit"]
    products = case.params["mix"].T * case.params["emit"]["mix"]  # (G, M)
    leaf = inner.leaves["emit"]
    flat = Mixture(Independent(), {"mix": weights(leaf.n_components), "emit": leaf})
    flat_params = {"mix": products.reshape(1, -1), "emit": case.params["emit"]["emit"]}
    for assign in (SOFT, HARD):
        nested, plain = case.step(assign), case.but(model=flat, params=flat_params).step(assign)
        close(nested.loglik, plain.loglik)
        inside = inner.view(case.model.view(nested.expected.stats)["emit"])
        expected = flat.view(plain.expected.stats)
        close(inside["emit"], expected["emit"])
        close(inside["mix"].ravel(), expected["mix"].ravel())


@examples(10)
@given(tables("c", n_labels=2), generators)
def test_a_class_with_two_components_is_a_label_with_two_candidates(table, rng):
    """Labels of G classes on a nested model = candidate sets of their components on the flat one."""
    flat = Recipe(table.schema, summary(table), 4, None).model()
    nested = Mixture(Independent(), {"mix": weights(2), "emit": inner_mixture(flat.leaves["emit"], 2, 2)})
    params = anywhere(nested, rng)
    one = Case(nested, table, params).step()
    candidates = Evidence(np.repeat(table.evidence.patterns, 2, axis=1), table.evidence.index)
    products = (params["mix"].T * params["emit"]["mix"]).reshape(1, -1)
    other = Case(flat, replace(table, evidence=candidates), {"mix": products, "emit": params["emit"]["emit"]}).step()
    close(one.loglik, other.loglik)


@examples(10)
@given(tables("c"), generators)
def test_a_product_of_blocks_is_one_wide_block(table, rng):
    sizes, codes = table.schema.cardinalities("categorical"), table.blocks["categorical"]
    cut = len(sizes) // 2
    wide = Mixture(Independent(), {"mix": weights(2), "emit": Product(2, {"all": Categorical(2, sizes)})})
    halves = {"left": Categorical(2, sizes[:cut]), "right": Categorical(2, sizes[cut:])}
    split = Mixture(Independent(), {"mix": weights(2), "emit": Product(2, halves)})
    params = anywhere(wide, rng)
    cells = sum(sizes[:cut])
    left, right = params["emit"]["all"][:, :cells], params["emit"]["all"][:, cells:]
    one = Case(wide, as_table(table.weight, all=codes), params).step()
    two = Case(
        split,
        as_table(table.weight, left=codes[:, :cut], right=codes[:, cut:]),
        {"mix": params["mix"], "emit": {"left": left, "right": right}},
    ).step()
    close(one.loglik, two.loglik)
    parts = split.leaves["emit"].view(split.view(two.expected.stats)["emit"])
    whole = wide.leaves["emit"].view(wide.view(one.expected.stats)["emit"])["all"]
    close(np.hstack([parts["left"], parts["right"]]), whole)


# ---- counts, categories, numbers ------------------------------------------------------------------------------------


@examples(10)
@given(rng=generators)
def test_counts_are_categories_with_poisson_probabilities(rng):
    """A Poisson column and a categorical one whose table holds the Poisson probabilities say the same of every row."""
    n_levels = 80  # the tail beyond is below 1e-16 for rates up to 9
    rates = rng.uniform(0.5, 9.0, (3, 2))
    rows = rng.integers(0, 12, (10, 2)).astype(np.float64)
    rows[rng.random((10, 2)) < 0.2] = np.nan
    chances = distributions.poisson.pmf(np.arange(n_levels), rates[:, :, None]).reshape(3, -1)
    shares = rng.dirichlet(np.ones(3))[None]
    counted = Mixture(Independent(), {"mix": weights(3), "emit": Product(3, {"x": Poisson(3, np.ones(2))})})
    coded = Mixture(Independent(), {"mix": weights(3), "emit": Product(3, {"x": Categorical(3, [n_levels] * 2)})})
    codes = np.where(np.isnan(rows), -1, rows).astype(np.int64)
    for assign in (SOFT, HARD):
        one = Case(counted, as_table(x=rows), {"mix": shares, "emit": {"x": rates}}).step(assign)
        two = Case(coded, as_table(x=codes), {"mix": shares, "emit": {"x": chances}}).step(assign)
        close(one.loglik, two.loglik)
        close(counted.view(one.expected.stats)["mix"], coded.view(two.expected.stats)["mix"])
    sums = counted.leaves["emit"].view(counted.view(one.expected.stats)["emit"])["x"]
    table = coded.leaves["emit"].view(coded.view(two.expected.stats)["emit"])["x"].reshape(3, 2, n_levels)
    close(sums[0], table.sum(axis=-1))
    close(sums[1], table @ np.arange(n_levels))


@examples(10)
@given(rng=generators)
def test_successes_of_one_trial_are_two_categories(rng):
    """Also in log-likelihood, with missing cells and probabilities of exactly 0 and 1."""
    p, shares = rng.uniform(size=(3, 4)), rng.dirichlet(np.ones(3))[None]
    p[1, :2] = 0.0, 1.0
    rows = rng.integers(0, 2, (12, 4)).astype(np.float64)
    rows[rng.random((12, 4)) < 0.2] = np.nan
    table = np.stack([1 - p, p], axis=-1).reshape(3, 8)
    counted = Mixture(Independent(), {"mix": weights(3), "emit": Product(3, {"x": Binomial(3, 1, np.full(4, 0.5))})})
    coded = Mixture(Independent(), {"mix": weights(3), "emit": Product(3, {"x": Categorical(3, [2] * 4)})})
    codes = np.where(np.isnan(rows), -1, rows).astype(np.int64)
    for assign in (SOFT, HARD):
        one = Case(counted, as_table(x=rows), {"mix": shares, "emit": {"x": p}})
        two = Case(coded, as_table(x=codes), {"mix": shares, "emit": {"x": table}})
        close(one.step(assign).loglik, two.step(assign).loglik)
        after, expected = counted.improved(one.step(assign)), coded.improved(two.step(assign))
        close(after["mix"], expected["mix"])
        close(after["emit"]["x"], expected["emit"]["x"][:, 1::2])


@examples(10)
@given(rng=generators)
def test_poisson_columns_given_their_total_are_one_multinomial(rng):
    """With equal total rates the classes are told apart by the shares alone: resp ~ mix prod_d share[k, d]^x[d]."""
    shares = rng.dirichlet(np.ones(3), size=2)
    rows = rng.integers(0, 5, (6, 3)).astype(np.float64)
    mix = np.array([[0.3, 0.7]])
    model = Mixture(Independent(), {"mix": weights(2), "emit": Poisson(2, np.ones(3))})
    params = {"mix": mix, "emit": 4.0 * shares}
    resp = model.infer(model.prepare(params), rows, np.ones((6, 1))).usage["emit"]
    joint = mix * np.prod(shares[None] ** rows[:, None], axis=-1)
    close(resp, joint / joint.sum(axis=1, keepdims=True))


def test_the_posterior_from_counts():
    """Source 001, example 10.10: P(c | v) ~ prod_i fc[i, v_i, c] / cc[c]^(n - 1), from the counts alone."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (40, 4))
    labels = rng.integers(0, 2, 40)
    cc = np.array([(labels == c).sum() for c in range(2)])
    fc = np.array([[[((rows[:, i] == v) & (labels == c)).sum() for c in range(2)] for v in range(3)] for i in range(4)])
    joint = np.array(
        [[np.prod([fc[i, v, c] for i, v in enumerate(row)]) / cc[c] ** 3 for c in range(2)] for row in rows]
    )

    known = Evidence(np.where(np.eye(2), 0.0, -np.inf), labels.astype(np.int32))
    model = Mixture(Independent(), {"mix": weights(2), "emit": Product(2, {"x": Categorical(2, [3] * 4)})})
    params = model.improved(Case(model, as_table(evidence=known, x=rows), model.blank()).step())
    found = model.infer(model.prepare(params), {"x": rows}, np.ones((40, 1)))
    close(found.usage["emit"], joint / joint.sum(axis=1, keepdims=True))
    close(np.exp(found.log_evidence[:, 0]), joint.sum(axis=1) / 40)


def test_an_example_split_over_classes_adds_its_shares_to_every_count():
    """Source 001, augmented data: 0.4 / 0.1 / 0.5 goes to cc and to fc of every attribute."""
    shares = np.array([0.4, 0.1, 0.5])
    model = Mixture(Independent(), {"mix": weights(3), "emit": Product(3, {"x": Categorical(3, [2, 3])})})
    blank = {**model.blank(), "mix": shares[None]}
    stats = model.view(Case(model, as_table(x=np.array([[1, 0]])), blank).step().expected.stats)
    close(stats["mix"][0], shares)
    counts = model.leaves["emit"].view(stats["emit"])["x"]
    close(counts, np.outer(shares, [0, 1, 1, 0, 0]))


def test_two_points():
    """Source 000: the joint over (y1, y2), the expected counts, the next parameters and the log-likelihoods."""
    columns = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}}
    X = [[0, 1], [1, 1]]
    start = hs.LatentClass.from_params([0.3, 0.7], columns)
    close(start.predict_proba(X)[:, 1], [0.5, 0.954545454545], 1e-10)
    close(start.score_samples(X).sum(), -3.4032795, 1e-7)
    model, params = start._model, start._params
    case = Case(model, start._encode(X), params)
    after = model.improved(case.step())
    close(after["mix"][0], [1 - 0.7272727272727, 0.7272727272727], 1e-10)
    table = after["emit"]["categorical"]
    close(table[:, 1], [0.0833333333333, 0.65625], 1e-10)
    close(table[:, 3], [1.0, 1.0])
    close(case.step(params=after).loglik, 2 * np.log(0.5))
    close(model.improved(case.step(params=after)), after)


def test_one_sentence():
    """Source 002: likelihoods 5e-7 and 1e-9, without a multinomial coefficient, from given parameters."""
    words = {"I": [0.1, 0.2], "love": [0.1, 0.001], "this": [0.01, 0.01], "fun": [0.05, 0.005], "film": [0.1, 0.1]}
    columns = {word: {word: chances, "other": [1 - p for p in chances]} for word, chances in words.items()}
    model = hs.LatentClass.from_params([0.5, 0.5], columns)
    [loglik] = model.score_samples([list(words)])
    close(np.exp(loglik), 0.5 * 5e-7 + 0.5 * 1e-9, 1e-12)


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_binary_columns_as_categories_or_as_columns_of_their_own_name(kind):
    """The treatment of a column (its block) does not change the model: arranged apart it is still the same mixture."""
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 2, (30, 3)) if kind == "categorical" else rng.normal(size=(30, 3))
    levels = (0, 1) if kind == "categorical" else None
    schema = Schema(tuple(Column(f"x{j}", kind, levels) for j in range(3)), {kind: (0, 1, 2)})
    apart = schema.arrange({"x1": "apart"})
    X = Table(schema, {kind: cells}, np.ones(30))
    Y = Table(apart, {kind: cells[:, [0, 2]], f"{kind}.apart": cells[:, [1]]}, np.ones(30))
    usage = rng.dirichlet(np.ones(2), 30)
    logliks = []
    for table in (X, Y):
        model = Recipe(table.schema, summary(table), 2, "row", FLOOR).model()
        case = Case(model, table, model.blank())
        stats = np.zeros(model.leaves["emit"].stats_shape)
        emit = model.leaves["emit"]
        emit.expect(usage, emit.prepare(case.params["emit"]), table.blocks, SOFT, stats)
        params = {"mix": np.array([[0.4, 0.6]]), "emit": emit.maximise(stats, case.params["emit"])}
        logliks.append(case.step(params=params).objective)
    close(*logliks)
