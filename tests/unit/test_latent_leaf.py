"""Latent content inside a leaf is declared: estimators and analyses give right answers with it, or refuse."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import nbinom

import halfseen as hs
from halfseen.analysis.bound import lower_bound
from halfseen.assign import SOFT
from halfseen.data import Schema, read
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.estimators.table.emission_builder import Recipe
from halfseen.leaves import Cells, Product
from halfseen.structures.independent import Independent
from tests.latent_leaf import NegativeBinomial

RNG = np.random.default_rng(5)
MEAN, SIZE = np.array([3.0, 9.0]), np.array([1.3, 4.0])
Y = np.repeat([0, 1], 150)
X = RNG.poisson(RNG.gamma(SIZE[Y], MEAN[Y] / SIZE[Y])).astype(float)[:, None]
KINDS = {"x0": "poisson"}


class WithLatent(Recipe):
    """The recipe with the negative binomial of the tests for every block of counts."""

    def model(self) -> Mixture:
        plain = super().model()
        emit = plain.leaves["emit"]
        leaves = {
            name: NegativeBinomial(leaf.n_components, 1) if name == "poisson" else leaf
            for name, leaf in emit.leaves.items()
        }
        return Mixture(plain.structure, {"mix": plain.leaves["mix"], "emit": Product(emit.n_components, leaves)})


class Classifier(hs.NaiveBayes):
    def _recipe_for(self, *args, **how):
        return WithLatent(*super()._recipe_for(*args, **how))


class Classes(hs.LatentClass):
    def _recipe_for(self, *args, **how):
        return WithLatent(*super()._recipe_for(*args, **how))


def maximum_likelihood(counts):
    """Mean and size by a numerical optimiser."""

    def loss(logs):
        mean, size = np.exp(logs)
        return -nbinom.logpmf(counts, size, size / (size + mean)).sum()

    return np.exp(minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}).x)


def fitted(**how):
    return Classifier(columns=KINDS, prior=None, tol=1e-10, max_iter=20_000, random_state=0, **how)


@pytest.mark.parametrize("holes", [False, True])
def test_a_labelled_fit_is_maximum_likelihood(holes):
    rows = X.copy()
    if holes:
        rows[::7] = np.nan
    model = fitted().fit(rows, Y)
    assert model.n_iter_ > 2  # EM iterates, although every row has its label
    loglik = len(Y) * np.log(0.5)
    for k in (0, 1):
        known = rows[(k == Y) & ~np.isnan(rows[:, 0]), 0]
        mean, size = (part[k, 0] for part in model._params["emit"]["poisson"])
        np.testing.assert_allclose([mean, size], maximum_likelihood(known), rtol=1e-4)  # EM is slow near its end
        loglik += nbinom.logpmf(known, size, size / (size + mean)).sum()
    assert model.loglik_ == pytest.approx(loglik)


def test_the_order_of_labelled_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(len(Y))
    one, other = fitted().fit(X, Y), fitted().fit(X[order], Y[order])
    assert one.loglik_ == other.loglik_


def test_statistics_that_would_be_added_once_are_refused():
    with pytest.raises(ValueError, match=r"partial_fit: row 0 .* latent values in the columns x0.*Use fit"):
        fitted().partial_fit(X, Y)
    model = fitted().fit(X, Y)
    with pytest.raises(ValueError, match="partial_fit: row 0"):
        model.partial_fit(X[:10], Y[:10])


def test_missing_cells_of_joint_normals_are_refused_in_batches():
    rows = np.random.default_rng(0).standard_normal((60, 2))
    labels = np.arange(60) % 2
    model = hs.GaussianClassifier().partial_fit(rows, labels)
    rows[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"partial_fit: row 4 .* columns x0, x1"):
        model.partial_fit(rows, labels)
    hs.GaussianClassifier(covariance_type="diag").partial_fit(rows, labels)


def case():
    leaf = NegativeBinomial(2, 1)
    model = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": Product(2, {"poisson": leaf})})
    source = read(X)
    table = Schema.learn(source, KINDS).encode(source)
    here = model.jitter(model.blank(), 0.5, np.random.default_rng(0))
    return model, table.chunks(), here, model.jitter(here, 0.3, np.random.default_rng(1))


def test_the_bound_counts_latent_content():
    model, chunks, here, there = case()
    parts = lower_bound(model, chunks, here, there)
    assert parts.bound + parts.kl == pytest.approx(parts.loglik, rel=1e-12)
    assert parts.kl > 0
    touching = lower_bound(model, chunks, here, here)
    assert touching.kl == 0
    assert touching.bound == pytest.approx(touching.loglik, rel=1e-12)
    [step] = evaluate(model, Reduced(chunks), [here], SOFT)
    assert lower_bound(model, chunks, here, model.improved(step)).bound > parts.bound


def test_the_bound_of_an_estimator_counts_latent_content():
    model = Classes(2, columns=KINDS, prior=None, random_state=0, n_init=2, tol=0.1).fit(X)
    parts = hs.bound(model, X)
    assert parts.bound == pytest.approx(model.loglik_, rel=1e-9)


def test_a_leaf_that_keeps_its_latent_content_to_itself_is_refused():
    model, chunks, here, there = case()

    class Silent(NegativeBinomial):
        latent = NegativeBinomial.__mro__[1].latent

    silent = Mixture(model.structure, dict(model.leaves) | {"emit": Product(2, {"poisson": Silent(2, 1)})})
    with pytest.raises(ValueError, match="Silent does not implement `latent`"):
        lower_bound(silent, chunks, here, there)


def test_no_row_with_latent_content_is_settled():
    leaf = NegativeBinomial(2, 1)
    assert leaf.settled(X).tolist() == [False] * len(X)
    assert Product(2, {"poisson": leaf}).settled({"poisson": X}).sum() == 0


def test_posterior_draws_need_the_leaf_to_draw():
    model = Classes(1, columns=KINDS, prior=None, random_state=0, n_init=1).fit(X)
    with pytest.raises(ValueError, match="NegativeBinomial does not implement `draw`"):
        hs.posterior(model, X)


def test_learning_goes_on_in_batches_of_hidden_classes():
    """Stepwise EM moves mean statistics, latent ones too; it promises no more than to come near."""
    model = Classes(1, columns=KINDS, prior=None, random_state=0, n_init=1, tol=1e-8)
    some = X[Y == 1][np.random.default_rng(0).permutation(150)]
    for batch in np.split(np.tile(some, (20, 1)), 10):
        model.partial_fit(batch)
    found = [part[0, 0] for part in model._params["emit"]["poisson"]]
    np.testing.assert_allclose(found, maximum_likelihood(some[:, 0]), rtol=0.2)


def test_the_entropy_of_a_path_is_not_that_of_latent_cells():
    """With one state there is nothing to be unsure of, however many cells are missing or components mixed."""
    rows = np.random.default_rng(0).standard_normal((80, 2))
    rows[::3, 0] = np.nan
    for how in ({"covariance_type": "full"}, {"n_mix": 2}):
        model = hs.HMM(1, emission="gaussian", random_state=0, n_init=1, **how).fit(rows)
        assert model._uncertain == pytest.approx(0.0, abs=1e-8)


def test_hard_mode_goes_on_while_latent_content_moves_the_parameters():
    """With one class the assignments never change; the size does, for many iterations."""
    rows = X[Y == 0]
    model = Classes(1, columns=KINDS, prior=None, assign="hard", n_init=1, tol=1e-9, max_iter=20_000).fit(rows)
    found = [part[0, 0] for part in model._params["emit"]["poisson"]]
    np.testing.assert_allclose(found, maximum_likelihood(rows[:, 0]), rtol=1e-3)
    assert model.stop_reason_ == "tolerance"


def test_hard_mode_of_complete_rows_ends_with_the_assignments():
    rows = np.random.default_rng(0).standard_normal((60, 2)) + 6 * (np.arange(60)[:, None] % 2)
    model = hs.GaussianMixture(2, covariance_type="full", assign="hard", n_init=2, random_state=0).fit(rows)
    assert model.stop_reason_ == "assignments unchanged"


def test_the_entropy_of_a_path_is_that_of_all_paths_with_cells_missing():
    rows = np.random.default_rng(3).standard_normal((7, 2))
    rows[[1, 4], 0] = np.nan
    model = hs.HMM(2, emission="gaussian", covariance_type="full", prior="row", random_state=0, n_init=1, tol=1e-4).fit(
        rows
    )
    engine, params = model._model, model._params
    emit = engine.leaves["emit"].score(engine.prepare(params)["emit"], {"gaussian": rows}, SOFT)
    paths = np.array(list(product(range(2), repeat=7)))
    logs = np.log(params["start"][0])[paths[:, 0]] + emit[np.arange(7), paths].sum(axis=1)
    logs += np.log(params["trans"])[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    posterior = np.exp(logs - logsumexp(logs))
    assert model._uncertain == pytest.approx(-posterior @ np.log(posterior), rel=1e-9)
