"""The law of recovery: data drawn from known parameters leads a poor guess back to them, and the guess was poor.

Errors are the largest difference of a parameter, in units of the column's scale. A share estimated from n rows is off
by about 0.5 / sqrt(n), a mean by sd / sqrt(n), a variance by var sqrt(2 / n): NEAR is four of the largest of these (the
smallest component has about 1000 rows; inside a mixture 400 that overlap). The guess was at least five times as far.
"""

import numpy as np
import pytest

from halfseen.data import Schema, Table
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import gain
from halfseen.engine.tables.mixture import Mixture
from halfseen.leaves import Binomial, Categorical, Cells, Gaussian, GaussianParams, Poisson, Product
from halfseen.leaves.beta import Beta, BetaParams
from halfseen.leaves.coarse import Coarse, Grid
from halfseen.leaves.gamma import Gamma, GammaParams
from halfseen.leaves.inflated import InflatedParams, ZeroInflated
from halfseen.leaves.negbin import NegBin, NegBinParams
from halfseen.leaves.ordinal import Ordinal
from halfseen.leaves.proportional_odds import shares_at
from halfseen.structures.independent import Independent
from tests.laws.models import inner_mixture

N = 3000
NEAR = {
    "categorical": 0.07,
    "gaussian": 0.2,
    "poisson": 0.1,
    "gamma": 0.15,
    "beta": 0.15,
    "binomial": 0.03,
    "negative binomial": 0.4,
    "rounded": 0.2,
    "zero-inflated Poisson": 0.15,
    "ordinal": 0.4,
    "mixed": 0.2,
    "a mixture inside": 0.3,
}

TABLE = np.array([[0.9, 0.1] * 5 + [0.8, 0.1, 0.1], [0.2, 0.8] * 5 + [0.1, 0.2, 0.7]])
NORMAL = GaussianParams(np.array([[0.0, 2.0], [3.0, -2.0]]), np.array([[1.0, 0.25], [0.5, 1.0]]))
CLUSTERED = NegBinParams(np.array([[1.0, 12.0, 3.0], [9.0, 1.0, 0.5]]), np.array([[1.0, 4.0, 2.0], [1.5, 0.7, 1.0]]))
SKEWED = GammaParams(np.array([[1.0, 8.0], [6.0, 1.5]]), np.array([[0.8, 4.0], [3.0, 9.0]]))
SHARES = BetaParams(np.array([[0.1, 0.6], [0.6, 0.9]]), np.array([[5.0, 2.0], [9.0, 30.0]]))
CHANCES = np.array([[0.2, 0.9, 0.5], [0.5, 0.6, 0.2]])
RATES = np.array([[1.0, 6.0, 3.0], [5.0, 1.0, 0.5]])
SCALES = np.hstack([shares_at(np.array([-1.5, 0.0, 1.0, 2.5]), np.array([0.0, up])) for up in (2.0, -1.0, 3.0, 1.5)])

LEAVES = {
    "categorical": (Categorical(2, [2] * 5 + [3]), TABLE),
    "gaussian": (Gaussian(2, np.zeros(2), np.ones(2)), NORMAL),
    "rounded": (Coarse(2, np.zeros(2), np.ones(2), coarsening=Grid(0.8)), NORMAL),
    "poisson": (Poisson(2, np.full(3, 3.0)), RATES),
    "gamma": (Gamma(2, np.full(2, 4.0), np.ones(2)), SKEWED),
    "beta": (Beta(2, np.full(2, 0.5), np.full(2, 3.0)), SHARES),
    "binomial": (Binomial(2, 9, np.full(3, 0.5)), CHANCES),
    "zero-inflated Poisson": (
        ZeroInflated(Poisson(2, np.full(3, 3.0)), np.full(3, 0.3)),
        InflatedParams(np.array([[0.5, 0.2, 0.3], [0.2, 0.6, 0.4]]), np.array([[1.0, 6.0, 3.0], [5.0, 1.0, 0.5]])),
    ),
    "ordinal": (Ordinal(2, [5] * 4), SCALES),
    "negative binomial": (NegBin(2, np.full(3, 3.0), np.full(3, 10.0)), CLUSTERED),
}


def two_classes(*names):
    """Return a mixture of two components over some blocks, with its true parameters."""
    emit = Product(2, {name: LEAVES[name][0] for name in names})
    model = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": emit})
    return model, {"mix": np.array([[0.65, 0.35]]), "emit": {name: LEAVES[name][1] for name in names}}


def nested():
    """Return two classes of two normal components each; a column of categories tells the classes apart."""
    inside = Gaussian(4, np.zeros(1), np.ones(1))
    blocks = {"categorical": LEAVES["categorical"][0], "gaussian": inner_mixture(inside, 2, 2)}
    model = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": Product(2, blocks)})
    normal = GaussianParams(np.array([[-3.0], [0.0], [1.0], [4.0]]), np.array([[0.5], [0.25], [0.25], [1.0]]))
    inner = {"mix": np.array([[0.3, 0.7], [0.6, 0.4]]), "emit": normal}
    return model, {"mix": np.array([[0.65, 0.35]]), "emit": {"categorical": TABLE, "gaussian": inner}}


CASES = {
    "categorical": two_classes("categorical"),
    "gaussian": two_classes("gaussian"),
    "poisson": two_classes("poisson"),
    "gamma": two_classes("gamma"),
    "beta": two_classes("beta"),
    "binomial": two_classes("binomial"),
    "negative binomial": two_classes("negative binomial"),
    "rounded": two_classes("rounded"),
    "zero-inflated Poisson": two_classes("zero-inflated Poisson"),
    "ordinal": two_classes("ordinal"),
    "mixed": two_classes("categorical", "gaussian", "poisson"),
    "a mixture inside": nested(),
}


def drawn(model, truth, holes, rng):
    """Return rows drawn from the truth, a share of their cells erased."""
    blocks = model.sample(truth, np.zeros(N, dtype=np.int64), rng)
    for block in blocks.values():
        block[rng.random(block.shape) < holes] = -1 if block.dtype.kind == "i" else np.nan
    return Table(Schema((), {}), blocks, np.ones(N))


def poor_guess(model, truth):
    """Return the truth pulled nine tenths of the way to where all components are alike."""
    blank = model.blank()
    return model.unpack(0.1 * model.pack(truth) + 0.9 * model.pack(blank), blank)


@pytest.mark.parametrize("holes", [0.0, 0.3], ids=["complete", "with holes"])
@pytest.mark.parametrize("name", CASES)
def test_a_poor_guess_comes_back_to_the_truth(name, holes):
    model, truth = CASES[name]
    data = Reduced(drawn(model, truth, holes, np.random.default_rng(11)).chunks())
    start = poor_guess(model, truth)
    chain = EMRun(model, start, rule=gain(1e-6), squarem=Squarem(), max_iter=500)
    for _ in em(lambda chains: evaluate(model, data, [chains[0].params]), [chain]):
        pass
    assert chain.reason == "tolerance"
    assert error(model, start, truth) > 5 * NEAR[name]
    assert error(model, chain.accepted.params, truth) < NEAR[name]
    [at_truth] = evaluate(model, data, [truth])
    assert at_truth.loglik <= chain.accepted.loglik <= at_truth.loglik + 3 * model.n_free()


def error(model, params, truth):
    return np.abs(model.pack(params) - model.pack(truth)).max()


@pytest.mark.parametrize("name", CASES)
def test_rows_drawn_from_a_model_have_its_moments(name):
    """The statistics of drawn rows, counted with the true posteriors, give the true parameters back in one step."""
    model, truth = CASES[name]
    data = Reduced(drawn(model, truth, 0.0, np.random.default_rng(5)).chunks())
    [step] = evaluate(model, data, [truth])
    assert error(model, model.improved(step), truth) < NEAR[name]
