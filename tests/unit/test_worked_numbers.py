"""Numbers worked by hand or in print: the lecture's two points, Do & Batzoglou's coins, Rao's linkage data, deaths.

Each is built from the library's own parts, step by step, and where it can be through `LatentClass` as well.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import xlog1py, xlogy

import halfseen as hs
from halfseen.assign import SOFT
from halfseen.engine.loop.em import evaluate, steps
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.leaves import FREE, Categorical, Cells, Frozen, Leaf, Poisson, Product, Tied
from halfseen.structures.independent import Independent
from tests.shared_data import shared_data

ROUND = 5e-7  # figures printed with six digits


@dataclass(frozen=True)
class Rows:
    """The smallest chunk: what the leaves read, and how often each row counts."""

    blocks: Any
    weight: Any
    index: int = 0
    log_evidence: Any = None


def nth(iterator, n):
    """The n-th item, counted from 1."""
    return next(item for i, item in enumerate(iterator, 1) if i == n)


# ----------------------------------------------------------------------------------------- two points (source 000, 8.3)

POINTS = np.array([[0, 1], [1, 1]], dtype=np.int8)
WEIGHTS = np.array([0.3, 0.7])  # P(y = 0), P(y = 1)
ONES = np.array([[0.3, 0.2], [0.9, 0.6]])  # ONES[y, d] = P(x_d = 1 | y)


def two_points():
    """The model over two binary columns, its data and the parameters of the lecture."""
    model = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": Product(2, {"x": Categorical(2, [2, 2])})})
    start = {"mix": WEIGHTS[None], "emit": {"x": np.stack([1 - ONES, ONES], axis=2).reshape(2, 4)}}
    return model, Reduced([Rows({"x": POINTS}, np.ones(2))]), start


def joint_of(x, y):
    """P(x, y) of one point, by the definition of naive Bayes."""
    return WEIGHTS[y] * np.prod(np.where(x == 1, ONES[y], 1 - ONES[y]))


def test_two_points_joint_table_by_brute_force():
    """All completions (y1, y2) at once: what EM never builds, and what it agrees with."""
    joint = {ys: np.prod([joint_of(x, y) for x, y in zip(POINTS, ys, strict=True)]) for ys in product((0, 1), repeat=2)}
    assert_allclose([joint[1, 1], joint[1, 0], joint[0, 1], joint[0, 0]], [0.015876, 0.000756] * 2, rtol=1e-12)
    posterior = {ys: p / sum(joint.values()) for ys, p in joint.items()}
    assert_allclose([posterior[1, 1], posterior[1, 0]], [0.4773, 0.0227], atol=5e-5)
    assert_allclose(posterior[1, 1] + posterior[1, 0], 0.5, rtol=1e-12)

    model, data, start = two_points()
    [step] = evaluate(model, data, [start])
    assert_allclose(step.loglik, np.log(sum(joint.values())), rtol=1e-14)
    found = model.infer(model.prepare(start), data.chunks[0].blocks, np.ones((2, 1)), SOFT)
    by_brute_force = [[sum(p for ys, p in posterior.items() if ys[n] == y) for y in (0, 1)] for n in (0, 1)]
    assert_allclose(found.usage["emit"], by_brute_force, rtol=1e-12)
    assert_allclose(found.usage["emit"][:, 1], [0.5, 0.954545], atol=ROUND)


def test_two_points_step_by_step():
    model, data, start = two_points()
    first, second, third = (step for step, _ in zip(steps(model, data, start), range(3), strict=False))
    counts = model.view(first.expected.stats)
    assert_allclose(counts["mix"], [[0.545455, 1.454545]], atol=ROUND)  # N_0, N_1
    n_110, n_111, n_120, n_121 = counts["emit"].reshape(2, 4)[1]  # of class 1: x1 = 0, x1 = 1, x2 = 0, x2 = 1
    assert_allclose([n_111, n_110, n_121, n_120], [0.954545, 0.5, 1.454545, 0.0], atol=ROUND)
    assert_allclose(first.loglik, -3.4032795, atol=5e-8)

    assert_allclose(second.params["mix"][0, 1], 0.727273, atol=ROUND)
    ones = second.params["emit"]["x"][:, [1, 3]]
    assert_allclose(ones, [[0.083333, 1.0], [0.65625, 1.0]], atol=ROUND)
    assert_allclose(second.loglik, 2 * np.log(0.5), rtol=1e-14)
    assert_allclose(second.loglik, -1.3862944, atol=5e-8)

    assert_allclose(model.pack(third.params), model.pack(second.params), rtol=1e-14, atol=0)
    assert third.objective == pytest.approx(second.objective, abs=1e-14)


@pytest.mark.parametrize(
    ("passes", "loglik", "weight", "ones"),
    [
        (1, -3.4032795, 0.7, [[0.3, 0.2], [0.9, 0.6]]),
        (2, -1.3862944, 0.727273, [[0.083333, 1.0], [0.65625, 1.0]]),
        (3, -1.3862944, 0.727273, [[0.083333, 1.0], [0.65625, 1.0]]),
    ],
)
def test_two_points_through_latent_class(passes, loglik, weight, ones):
    """n passes evaluate n parameters: the start, and n - 1 steps. Declared categories count as levels."""
    X = pd.DataFrame(POINTS, columns=["x1", "x2"]).astype(pd.CategoricalDtype([0, 1]))
    start = {
        "weights": WEIGHTS,
        "x1": {0: 1 - ONES[:, 0], 1: ONES[:, 0]},
        "x2": {0: 1 - ONES[:, 1], 1: ONES[:, 1]},
    }
    model = hs.LatentClass(2, start=start, prior=None, accelerate=False, stop="iterations", max_iter=passes).fit(X)
    assert_allclose(model.loglik_, loglik, atol=5e-8)
    assert_allclose(model.weights_[1], weight, atol=ROUND)
    table = model.to_frame()
    assert_allclose(table.loc[table["value"] == "1", ["class 0", "class 1"]].T, ones, atol=ROUND)
    assert (model.n_iter_, model.stop_reason_, model.converged_) == (passes, "iterations", False)
    assert len(model.trace_) == passes


# -------------------------------------------------------------------------------------- augmented data (source 001, 10)


def test_an_example_split_over_three_classes_adds_exactly_that():
    """cc[c] and fc[i, v_i, c] grow by 0.4, 0.1, 0.5 for every attribute i, and nothing else grows."""
    split = [0.4, 0.1, 0.5]
    model = Mixture(
        Independent(), {"mix": Cells(1, [3], axes=(1,)), "emit": Product(3, {"x": Categorical(3, [2, 3, 4])})}
    )
    stats = np.zeros(model.stats_shape)
    counts = model.view(stats)
    row, usage = {"x": np.array([[1, 0, 2]])}, np.array([split])
    prepared = model.prepare(model.blank())
    model.leaves["mix"].expect(usage, prepared["mix"], row, SOFT, counts["mix"])
    model.leaves["emit"].expect(usage, prepared["emit"], row, SOFT, counts["emit"])
    assert_array_equal(counts["mix"], [split])
    fc = counts["emit"].reshape(3, 9)
    cells = [1, 2 + 0, 5 + 2]
    assert_array_equal(fc[:, cells], np.array([split] * 3).T)
    assert_array_equal(np.delete(fc, cells, axis=1), 0)


def test_the_posterior_straight_from_counts():
    """prod_i fc[i, v_i, c] / cc[c]^(n-1), normalised (001, example 10.10), is the posterior of the fitted classes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 4))
    model = hs.LatentClass(3, prior=None, random_state=0, tol=1e-12, max_iter=20000).fit(X)
    resp = model.predict_proba(X)
    cc = resp.sum(axis=0)
    fc = np.stack([[resp[X[:, i] == v].sum(axis=0) for v in range(3)] for i in range(4)])
    by_counts = np.prod([fc[i, X[:, i]] for i in range(4)], axis=0) / cc**3
    # loose: counts under the returned parameters are those of the next step, which still moves a little
    assert_allclose(by_counts / by_counts.sum(axis=1, keepdims=True), resp, atol=1e-5)


# ------------------------------------------------------------- the two coins of Do & Batzoglou (2008), with a new leaf


@dataclass(frozen=True, eq=False)
class Binomial(Leaf):
    """Sets of tosses: data[n] = (heads, tails), params[k] = P(heads). This is all that a new leaf takes.

    score[n, k] = heads log p[k] + tails log(1 - p[k]): the probability of this very sequence of tosses.
    """

    n_components: int

    @property
    def stats_shape(self):
        return (self.n_components, 2)

    def blank(self):
        return np.full(self.n_components, 0.5)

    def score(self, prepared, data, assign):
        return xlogy(data[:, :1], prepared) + xlog1py(data[:, 1:], -prepared)

    def expect(self, usage, prepared, data, assign, out):
        out += usage.T @ data

    def maximise(self, stats, params, limits=FREE):
        tosses = stats.sum(axis=1)
        return np.where(tosses > 0, stats[:, 0] / np.where(tosses > 0, tosses, 1.0), params)

    def complete(self, stats, about, params):
        return float(np.sum(xlogy(stats[:, 0], params) + xlog1py(stats[:, 1], -params)))

    def jitter(self, params, amount, rng):
        odds = params / (1 - params) * np.exp(amount * rng.standard_normal(params.shape))
        return odds / (1 + odds)

    def conform(self, params, like, limits=FREE):
        return params

    def sample(self, params, components, rng):
        heads = rng.binomial(10, params[components])
        return np.stack([heads, 10 - heads], axis=1).astype(float)

    def impute(self, params, data, resp, rng):
        return data

    def n_free(self, limits=FREE):
        return self.n_components

    def affinity(self, params, other):
        return np.log(np.sqrt(np.outer(params, other)) + np.sqrt(np.outer(1 - params, 1 - other)))

    def feasible(self, params, limits=FREE):
        return bool(np.all((params >= 0) & (params <= 1)))


def coins(mix):
    """Five sets of ten tosses with one of two coins, and the start of figure 1: theta_A = 0.6, theta_B = 0.5."""
    table = pd.read_csv(shared_data("coins/coins.csv"))
    tosses = np.array([[sets.count("H"), sets.count("T")] for sets in table["tosses"]], dtype=float)
    assert_array_equal(tosses, table[["heads", "tails"]])
    model = Mixture(Independent(), {"mix": mix, "emit": Binomial(2)})
    start = {"mix": np.array([[0.5, 0.5]]), "emit": np.array([0.6, 0.5])}
    return model, Reduced([Rows(tosses, np.ones(5))]), start


FAIR = Frozen(Cells(1, [2], axes=(1,)))  # the coin is chosen evenly, and that is known


def test_coins_first_e_step():
    model, data, start = coins(FAIR)
    found = model.infer(model.prepare(start), data.chunks[0].blocks, np.ones((5, 1)), SOFT)
    assert_array_equal(found.usage["emit"][:, 0].round(2), [0.45, 0.80, 0.73, 0.35, 0.65])
    [step] = evaluate(model, data, [start])
    # the paper adds rounded numbers and prints 21.3, 8.6, 11.7, 8.4
    assert_allclose(model.view(step.expected.stats)["emit"], [[21.3, 8.6], [11.7, 8.4]], atol=0.06)


@pytest.mark.parametrize(
    ("n_steps", "heads"),
    [(1, [0.713012, 0.581339]), (10, [0.796744, 0.519659]), (200, [0.7967890669, 0.5195831201])],
)
def test_coins_with_an_even_choice(n_steps, heads):
    model, data, start = coins(FAIR)
    after = nth(steps(model, data, start), n_steps + 1)
    assert_allclose(after.params["emit"], heads, atol=ROUND if n_steps < 100 else 5e-11)
    assert_array_equal(after.params["mix"], [[0.5, 0.5]])
    assert model.n_free() == 2


def test_coins_with_the_choice_estimated_too():
    model, data, start = coins(Cells(1, [2], axes=(1,)))
    after = nth(steps(model, data, start), 1000)
    assert_allclose(after.params["emit"], [0.7933676496, 0.5139165912], atol=5e-11)
    assert_allclose(after.params["mix"], [[0.5227513169, 1 - 0.5227513169]], atol=5e-11)
    assert model.n_free() == 3


# -------------------------------------------------------------------- Rao's linkage data (Dempster, Laird & Rubin 1977)


def linkage():
    """197 animals in four cells with probabilities (1/2 + t/4, (1-t)/4, (1-t)/4, t/4).

    The first cell hides two: five components with shares (1/2, t/4, (1-t)/4, (1-t)/4, t/4), the first fixed and the
    others equal in pairs, of which the first two show the same category.
    """
    counts = pd.read_csv(shared_data("linkage197/linkage197.csv"))["count"].to_numpy(dtype=float)
    shares = Frozen(Cells(1, [5], axes=(1,)), np.array([[True, False, False, False, False]]))
    shown = Frozen(Categorical(5, [4]))
    model = Mixture(Independent(), {"mix": Tied(shares, cells=[(1, 4), (2, 3)]), "emit": Product(5, {"cell": shown})})
    start = {"mix": shares_of(0.5), "emit": {"cell": np.eye(4)[[0, 0, 1, 2, 3]]}}
    rows = {"cell": np.arange(4)[:, None]}
    return model, Reduced([Rows(rows, counts)]), start


def shares_of(theta):
    return np.array([[0.5, theta / 4, (1 - theta) / 4, (1 - theta) / 4, theta / 4]])


PUBLISHED_LINKAGE = [
    0.608247423,
    0.624321050,
    0.626488879,
    0.626777322,
    0.626815632,
    0.626820719,
    0.626821394,
    0.626821484,
]


def test_linkage_iterates_are_those_of_dempster_laird_and_rubin():
    model, data, start = linkage()
    run = steps(model, data, start)
    next(run)
    for theta in PUBLISHED_LINKAGE:
        step = next(run)
        assert_allclose(4 * step.params["mix"][0, 4], theta, atol=6e-10)
        assert_allclose(step.params["mix"], shares_of(4 * step.params["mix"][0, 4]), rtol=1e-14)
    assert_allclose(4 * nth(run, 30).params["mix"][0, 4], 0.626821497871, atol=5e-13)


def test_linkage_has_one_free_parameter_and_frozen_parts_stay_to_the_bit():
    model, data, start = linkage()
    assert model.n_free() == 1
    step = nth(steps(model, data, start), 20)
    assert step.params["mix"][0, 0] == 0.5
    assert_array_equal(step.params["emit"]["cell"], start["emit"]["cell"])


def test_linkage_loglik_is_the_multinomial_one():
    model, data, start = linkage()
    [step] = evaluate(model, data, [start])
    probabilities = np.array([0.5 + 0.5 / 4, 0.5 / 4, 0.5 / 4, 0.5 / 4])
    assert_allclose(step.loglik, data.chunks[0].weight @ np.log(probabilities), rtol=1e-14)


# ------------------------------------------------- deaths of women over 80 in the London Times (Hasselblad 1969, slow!)

DEATHS_LOGLIK = -1989.9458598830
DEATHS_START = {"weights": [0.3, 0.7], "deaths": [1.0, 2.5]}


def deaths(**options):
    table = pd.read_csv(shared_data("times_deaths/times_deaths.csv"))
    model = hs.LatentClass(
        2, columns={"deaths": "poisson"}, prior=None, start=DEATHS_START, max_iter=100_000, **options
    )
    return model.fit(table[["deaths"]], sample_weight=table["days"])


@pytest.fixture(scope="module")
def slow_deaths():
    return {tol: deaths(accelerate=False, tol=tol) for tol in (1e-4, 1e-6, 1e-8)}


@pytest.fixture(scope="module")
def fast_deaths():
    return {tol: deaths(accelerate=True, tol=tol) for tol in (1e-4, 1e-6, 1e-8)}


def test_deaths_maximum_likelihood():
    model = deaths(tol=1e-12)
    assert_allclose(model.loglik_, DEATHS_LOGLIK, atol=1e-8, rtol=0)
    # loose: on this flat ridge a share 2e-6 off costs 1e-12 of log-likelihood, which is below rounding
    assert_allclose(model.weights_, [0.3598854, 0.6401146], atol=5e-6)
    table = model.to_frame()
    assert_allclose(table.loc[table["value"] == "rate", ["class 0", "class 1"]], [[1.2560951, 2.6634044]], atol=1e-5)
    assert model.n_parameters_ == 3


def test_deaths_first_plain_step_by_hand():
    """Responsibilities of the ten counts, then weighted means."""
    table = pd.read_csv(shared_data("times_deaths/times_deaths.csv"))
    x, days = table["deaths"].to_numpy(float), table["days"].to_numpy(float)
    rates, shares = np.array([1.0, 2.5]), np.array([0.3, 0.7])
    joint = shares * rates ** x[:, None] * np.exp(-rates)
    usage = days[:, None] * joint / joint.sum(axis=1, keepdims=True)

    model = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": Poisson(2, np.ones(1))})
    start = {"mix": shares[None], "emit": rates[:, None]}
    after = nth(steps(model, Reduced([Rows(x[:, None], days)]), start), 2)
    assert_allclose(after.params["mix"][0], usage.sum(axis=0) / 1096, rtol=1e-12)
    assert_allclose(after.params["emit"][:, 0], usage.T @ x / usage.sum(axis=0), rtol=1e-12)


def test_deaths_rate_of_convergence(slow_deaths):
    """Each gain is the square of 0.995666, the largest eigenvalue of the EM map, times the one before."""
    gains = np.diff(slow_deaths[1e-8].trace_)
    late = gains[-800:-300]  # after the fast part has died out, before rounding blurs the gains
    shrinkage = (late[-1] / late[0]) ** (1 / (len(late) - 1))
    assert_allclose(np.sqrt(shrinkage), 0.995666, atol=1e-5)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
def test_deaths_stop_leaves_about_tol(slow_deaths, tol):
    """The remaining gain is estimated, so tol means what it says; the change of a step understates it a hundredfold."""
    model = slow_deaths[tol]
    assert model.stop_reason_ == "tolerance"
    assert 0.05 * tol < DEATHS_LOGLIK - model.loglik_ < 1.2 * tol + 1e-10  # below 1e-4 a tenth is aimed at
    trace = np.array(model.trace_)
    naive = trace[1:][np.diff(trace) < tol][0]  # where a rule that looks at the change alone would have stopped
    assert DEATHS_LOGLIK - naive > 50 * tol


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
def test_deaths_accelerated(slow_deaths, fast_deaths, tol):
    """SQUAREM reaches the same place in at most 150 passes, with at least eight times fewer than plain EM."""
    slow, fast = slow_deaths[tol], fast_deaths[tol]
    assert fast.n_iter_ <= 150
    assert 8 * fast.n_iter_ <= slow.n_iter_
    assert DEATHS_LOGLIK - fast.loglik_ < 2 * tol + 1e-9
    assert np.all(np.diff(fast.trace_) >= -1e-9)
