"""`posterior` as a user meets it: exact where nothing is hidden, Gibbs against brute force where something is."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import halfseen as hs
from halfseen.analysis.chains import ess_bulk
from halfseen.errors import FitError, ParameterError
from tests.shared_data import shared_data

pytestmark = pytest.mark.thorough


def two_groups(n_rows=60, apart=12.0, seed=0):
    """Two groups of rows, so far apart that nobody doubts which is which, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 3 // 2
    rows = np.empty((n_rows, 3), dtype=object)
    rows[:, 0] = rng.normal(apart * labels, 1.0)
    rows[:, 1] = np.where(rng.random(n_rows) < 0.3 + 0.4 * labels, "yes", "no")
    rows[:, 2] = rng.poisson(2.0 + 3.0 * labels)
    rows[::7, 1] = None
    return rows, labels


KINDS = {"x2": "poisson"}


def test_labelled_rows_have_an_exact_posterior():
    X, labels = two_groups()
    model = hs.LatentClass(2, columns=KINDS, prior=None, random_state=0).fit(X, labels=labels)
    found = hs.posterior(model, X, labels=labels, level=0.9)
    assert (found.method, found.draws, found.ess, found.level) == ("exact", None, None, 0.9)
    for k in (0, 1):
        own = X[labels == k]
        sizes = np.bincount(labels)
        share = stats.beta(sizes[k] + 1, len(X) - sizes[k] + 1)
        assert found.mean["weights"][k] == pytest.approx(share.mean())
        assert found.low["weights"][k] == pytest.approx(share.ppf(0.05))
        seen = [cell for cell in own[:, 1] if cell is not None]  # holes are not counted
        yes = stats.beta(seen.count("yes") + 1, seen.count("no") + 1)
        assert found.high["x1"]["yes"][k] == pytest.approx(yes.ppf(0.95))
        values = own[:, 0].astype(float)
        n, spread = len(values), values.var() * len(values)
        var = stats.invgamma((n - 3) / 2, scale=spread / 2)
        assert found.mean["x0"]["var"][k] == pytest.approx(var.mean())
        assert found.low["x0"]["var"][k] == pytest.approx(var.ppf(0.05))
        mean = stats.t(n - 3, values.mean(), np.sqrt(spread / ((n - 3) * n)))
        assert found.high["x0"]["mean"][k] == pytest.approx(mean.ppf(0.95))
        rate = stats.gamma(own[:, 2].sum() + 1, scale=1 / n)
        assert found.high["x2"]["rate"][k] == pytest.approx(rate.ppf(0.95))


def test_one_class_has_an_exact_posterior_and_weights_repeat_rows():
    X = [["a"], ["b"], ["a"], [None]]
    model = hs.LatentClass(1, prior=1.0).fit(X)
    found = hs.posterior(model, X, sample_weight=[2, 1, 0, 5])
    known = stats.beta(2 + 1 + 1, 1 + 1 + 1)  # weight, one pseudo-count, one for the flat density
    assert found.mean["x0"]["a"][0] == pytest.approx(known.mean())
    assert found.low["x0"]["a"][0] == pytest.approx(known.ppf(0.025))


def test_draws_of_almost_sure_rows_agree_with_the_exact_posterior():
    """Twelve standard deviations apart the classes are as good as labelled."""
    X, labels = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X, labels=labels)
    exact = hs.posterior(model, X, labels=labels)
    drawn = hs.posterior(model, X, n_draws=2000, random_state=1)
    assert drawn.n_chains == 4
    assert (exact.method, drawn.method) == ("exact", "gibbs")
    width = exact.to_frame()["high"] - exact.to_frame()["low"]
    for name in ("mean", "low", "high"):
        off = (drawn.to_frame()[name] - exact.to_frame()[name]).abs() / width
        assert off.max() < 0.1, name  # of the interval's width: 5 standard errors of its ends at 1500 effective draws
    assert drawn.to_frame()["ess"].min() > 1000
    assert drawn.to_frame()["rhat"].max() < 1.02


def test_draws_agree_with_the_sum_over_all_completions():
    """Five rows of two binary columns: the posterior is a mixture of Dirichlets over the 2^5 completions.

    p(z | X) is proportional to the product of the Dirichlet normalisers of the completed counts; the mean of what does
    not know the order of the classes, the larger share's square and a pair's probability, follows exactly.
    """
    X = [[0, 0], [0, 1], [1, 1], [1, 1], [0, 0]]
    prior = 1.0
    log_weight, squares = [], []
    for z in itertools.product((0, 1), repeat=5):
        sizes = np.bincount(z, minlength=2) + prior + 1
        total = _log_normaliser(sizes)
        for k, d in itertools.product((0, 1), repeat=2):
            counts = np.bincount([row[d] for row, own in zip(X, z, strict=True) if own == k], minlength=2)
            total += _log_normaliser(counts + prior + 1)
        log_weight.append(total)
        squares.append((sizes * (sizes + 1)).sum() / (sizes.sum() * (sizes.sum() + 1)))  # E sum of squared shares
    weight = np.exp(np.array(log_weight) - logsumexp(log_weight))
    model = hs.LatentClass(2, prior=prior, random_state=0).fit(X)
    found = hs.posterior(model, X, n_draws=4000, random_state=0)
    drawn = (found.draws["weights"] ** 2).sum(axis=1)
    error = drawn.std() / np.sqrt(ess_bulk(drawn.reshape(4, 1000)))
    assert abs(drawn.mean() - weight @ squares) < 5 * error
    assert error < 0.005


def _log_normaliser(alpha):
    return gammaln(alpha).sum() - gammaln(alpha.sum())


def test_labelled_rows_pin_the_shares_of_a_tiny_table():
    """The same with one row of each class labelled: now the shares themselves are compared, class by class."""
    X = [[0, 0], [0, 1], [1, 1], [1, 1], [0, 0]]
    labels = [0, None, 1, None, None]
    log_weight, shares = [], []
    for z in itertools.product((0, 1), repeat=5):
        if z[0] != 0 or z[2] != 1:
            continue
        sizes = np.bincount(z, minlength=2) + 2.0
        total = _log_normaliser(sizes)
        for k, d in itertools.product((0, 1), repeat=2):
            counts = np.bincount([row[d] for row, own in zip(X, z, strict=True) if own == k], minlength=2)
            total += _log_normaliser(counts + 2.0)
        log_weight.append(total)
        shares.append(sizes[0] / sizes.sum())
    weight = np.exp(np.array(log_weight) - logsumexp(log_weight))
    model = hs.LatentClass(2, prior=1.0, random_state=0).fit(X, labels=labels)
    found = hs.posterior(model, X, n_draws=4000, labels=labels, random_state=0)
    drawn = found.draws["weights"][:, 0]
    error = drawn.std() / np.sqrt(found.ess["weights"][0])
    assert abs(drawn.mean() - weight @ shares) < 5 * error
    assert found.mean["weights"][0] == pytest.approx(drawn.mean())


def test_classes_keep_their_order_in_every_draw():
    """Begun with its classes swapped, the chain is the other mode; the draws are reported in the fitted order."""
    X, _ = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    draws = hs.posterior(model, X, n_draws=200, min_ess=0, random_state=0).draws["x0"]["mean"]
    swapped = model.relabel([1, 0])
    again = hs.posterior(swapped, X, n_draws=200, min_ess=0, random_state=0).draws["x0"]["mean"]
    assert np.all((draws[:, 0] < draws[:, 1]) == (model.params_["x0"]["mean"][0] < model.params_["x0"]["mean"][1]))
    assert np.all((again[:, 0] < again[:, 1]) != (draws[:, 0] < draws[:, 1]))


def test_label_switching_is_undone(monkeypatch):
    """Draws whose classes were swapped at random come out in the order of the fit."""
    from halfseen.analysis import posterior as module

    X, _ = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    plain, rng = module.gibbs, np.random.default_rng(0)

    def switching(engine, *args):
        for params in plain(engine, *args):
            yield engine.relabel(params, rng.permutation(2))

    expected = hs.posterior(model, X, n_draws=100, min_ess=0, random_state=0)
    monkeypatch.setattr(module, "gibbs", switching)
    found = hs.posterior(model, X, n_draws=100, min_ess=0, random_state=0)
    np.testing.assert_array_equal(found.draws["x0"]["mean"], expected.draws["x0"]["mean"])


def test_labels_tell_the_classes_apart(monkeypatch):
    """With some rows labelled, or a column fixed, draws keep their own order: no likeness may overrule it."""
    X, labels = two_groups()
    some = [label if n < 10 else None for n, label in enumerate(labels.tolist())]
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X, labels=some)
    monkeypatch.setattr(hs.LatentClass, "_in_fitted_order", lambda *draw: pytest.fail("a draw was reordered"))
    assert hs.posterior(model, X, n_draws=16, labels=some, min_ess=0, random_state=0).method == "gibbs"


def test_same_seed_same_bits_and_any_number_of_threads():
    X, _ = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    first, again = (hs.posterior(model, X, n_draws=20, min_ess=0, random_state=5).draws["weights"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = hs.posterior(model.set_params(n_jobs=2), X, n_draws=20, min_ess=0, random_state=5).draws["weights"]
    np.testing.assert_array_equal(first, other)


def test_fixed_columns_stay():
    X, _ = two_groups()
    start = {"x0": {"mean": [0.0, 12.0], "sd": [1.0, 1.0]}}
    model = hs.LatentClass(2, columns=KINDS, start=start, fixed=["x0"], random_state=0).fit(X)
    found = hs.posterior(model, X, n_draws=20, min_ess=0, random_state=0)
    assert found.low["x0"]["mean"].tolist() == found.high["x0"]["mean"].tolist() == [0.0, 12.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_frame_is_like_the_table(library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame({"answer": ["yes", "no", "yes", "yes"], "size": [1.5, 2.5, 1.25, 2.0]})
    model = hs.LatentClass(1, columns={"size": "gaussian"}).fit(X).rename(["all"])
    frame = hs.posterior(model, X).to_frame()
    assert type(frame) is type(X)
    assert list(frame.columns) == ["column", "value", "class", "mean", "low", "high"]
    assert list(frame["column"]) == ["(share)", "answer", "answer", "size", "size"]
    assert list(frame["value"]) == ["", "no", "yes", "mean", "var"]
    assert set(frame["class"]) == {"all"}


def test_what_makes_no_sense_is_refused():
    X = [[0, 1.5], [1, 2.5], [0, 3.75], [1, 0.25]]
    model = hs.LatentClass(2, columns={"x1": "gaussian"}, n_init=1, random_state=0).fit(X)
    with pytest.raises(ParameterError, match="n_draws=1 is not a whole number of at least 2"):
        hs.posterior(model, X, n_draws=1)
    with pytest.raises(ParameterError, match=r"level=95 is not a number of at least 0 and below 1"):
        hs.posterior(model, X, level=95)
    with pytest.raises(FitError, match=r"gaussian: .* of component \d, column 0 .*Use a prior, fewer components"):
        hs.posterior(model, X, n_draws=48, random_state=0)


def test_impossible_rows_are_refused():
    model = hs.LatentClass.from_params([0.5, 0.5], {"a": {"x": [1.0, 1.0], "y": [0.0, 0.0]}})
    with pytest.raises(FitError, match="some row impossible"):
        hs.posterior(model, [["y"], ["x"]], n_draws=16, random_state=0)


# ---- chains ----------------------------------------------------------------------------------------------------------


def test_draws_that_are_worth_too_few_are_refused():
    """The case of a review: two classes of gss82 gave an interval from 8.8 effective draws, without a word."""
    gss82 = pd.read_csv(shared_data("gss82/gss82.csv"))
    model = hs.LatentClass(2, random_state=0).fit(gss82)
    with pytest.raises(
        FitError, match=r"effective sample size of .* is [\d.]+ of 1,000 draws, below 100 \(R-hat 1\.\d\d\)"
    ):
        hs.posterior(model, gss82, n_draws=1000, random_state=0)
    with pytest.raises(FitError, match=r"Take more draws, such as n_draws=\d+00"):
        hs.posterior(model, gss82, n_draws=1000, random_state=0)
    found = hs.posterior(model, gss82, n_draws=1000, min_ess=0, random_state=0)
    assert found.to_frame()["ess"].min() < 100


def test_the_advice_is_enough():
    X, _ = two_groups(apart=3.0)
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    with pytest.raises(FitError) as caught:
        hs.posterior(model, X, n_draws=160, random_state=0)
    needed = int(str(caught.value).split("n_draws=")[1].split(".")[0])
    assert needed % 400 == 0
    assert hs.posterior(model, X, n_draws=needed, random_state=0).to_frame()["ess"].min() >= 100


def test_diagnostics_are_those_of_arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # arviz announces its next version
        arviz = pytest.importorskip("arviz")
    X, _ = two_groups(apart=4.0)
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    found = hs.posterior(model, X, n_draws=800, min_ess=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = found.to_arviz()
        shown = {method: arviz.ess(data, method=method) for method in ("bulk", "tail")}
        apart = arviz.rhat(data)
    for name, ours in (("weights", lambda kind: kind["weights"]), ("x0 mean", lambda kind: kind["x0"]["mean"])):
        np.testing.assert_allclose(ours(found.ess), shown["bulk"][name], rtol=1e-6)
        np.testing.assert_allclose(ours(found.ess_tail), shown["tail"][name], rtol=1e-6)
        np.testing.assert_allclose(ours(found.rhat), apart[name], rtol=1e-6)
    assert data.posterior["weights"].shape == (4, 200, 2)
    assert list(data.posterior.coords["class of x0"].values) == ["class 0", "class 1"]
    exact = hs.posterior(hs.LatentClass(1).fit([["a"], ["b"]]), [["a"], ["b"]])
    with pytest.raises(ParameterError, match="exact, without draws"):
        exact.to_arviz()


def test_chains_start_apart_and_agree():
    X, _ = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    draws = hs.posterior(model, X, n_draws=16, burn_in=0, min_ess=0, random_state=0).draws["x0"]["mean"]
    assert len(np.unique(draws.reshape(4, 4, 2)[:, 0, 0])) == 4


def test_numbers_of_draws_that_do_not_fit_are_refused():
    X, _ = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    with pytest.raises(ParameterError, match=r"n_draws=50 in 4 chains: give a multiple of 4, .*such as 52"):
        hs.posterior(model, X, n_draws=50)
    with pytest.raises(ParameterError, match="such as 16"):
        hs.posterior(model, X, n_draws=8)
    with pytest.raises(ParameterError, match="lengths= is for sequences"):
        hs.posterior(model, X, lengths=[60])
    with pytest.raises(ParameterError, match="KMeans has no posterior draws"):
        hs.posterior(hs.KMeans(2, random_state=0).fit([[1.0], [2.0], [3.0]]), [[1.0]])


# ---- other models ----------------------------------------------------------------------------------------------------


def test_covariances_of_full_models_are_in_the_frame():
    """One component: the mean of the covariance is exact, its interval that of an inverse Wishart distribution."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0], [[2, 1], [1, 3]], size=80)
    model = hs.GaussianMixture(1).fit(X)
    found = hs.posterior(model, X, random_state=0)
    assert found.method == "exact"
    scatter = np.cov(X.T, bias=True) * 80
    freedom = 80 - 2 - 2
    assert found.mean["x0"]["covariance with x1"][0] == pytest.approx(scatter[0, 1] / (freedom - 3))
    draws = stats.invwishart(freedom, scatter).rvs(20_000, random_state=1)[:, 0, 1]
    low, high = np.quantile(draws, [0.025, 0.975])
    width = high - low
    assert found.low["x0"]["covariance with x1"][0] == pytest.approx(low, abs=0.04 * width)
    assert found.high["x0"]["covariance with x1"][0] == pytest.approx(high, abs=0.04 * width)
    assert "covariance with x1" in list(found.to_frame()["value"])
    two = np.concatenate([X, X + 30])
    drawn = hs.posterior(hs.GaussianMixture(2, random_state=0).fit(two), two, n_draws=2000, random_state=0)
    assert_near = np.abs(drawn.mean["x0"]["covariance with x1"] - found.mean["x0"]["covariance with x1"])
    assert (assert_near < 0.05 * width).all()  # each half is the same sample, 30 apart
    assert drawn.draws["x0"]["covariance with x1"].shape == (2000, 2)


def test_a_network_with_nothing_hidden_is_exact():
    X = [["a", "x"], ["a", "y"], ["b", "y"], ["a", "x"], ["a", "x"]]
    net = hs.BayesNet([("x0", "x1")], prior=None).fit(X)
    found = hs.posterior(net, X)
    assert found.method == "exact"
    assert found.mean["x0"][0] == pytest.approx(5 / 7)
    known = stats.beta(3 + 1, 1 + 1)
    assert found.mean["x1"]["x0=a"][0] == pytest.approx(known.mean())
    assert found.low["x1"]["x0=a"][0] == pytest.approx(known.ppf(0.025))
    frame = found.to_frame()
    assert list(frame.columns) == ["variable", "given", "state", "mean", "low", "high"]


def test_a_network_and_latent_classes_have_the_same_posterior():
    """C -> x0, x1, x2 is the latent class model: with the same prior, a flat one, draws have the same distribution."""
    rng = np.random.default_rng(0)
    hidden = rng.random(150) < 0.4
    X = np.where(rng.random((150, 3)) < np.where(hidden, 0.9, 0.15)[:, None], "y", "n")
    classes = hs.posterior(hs.LatentClass(2, prior=None, random_state=0).fit(X), X, random_state=0)
    net = hs.BayesNet([("C", f"x{d}") for d in range(3)], hidden={"C": 2}, prior=None, random_state=0).fit(X)
    found = hs.posterior(net, X, random_state=0)
    assert found.to_frame()["rhat"].max() < 1.05
    for k in range(2):
        pairs = [(classes.mean["x1"]["y"][k], found.mean["x1"][f"C={k}"][1], classes.draws["x1"]["y"][:, k].std())]
        pairs += [(classes.mean["weights"][k], found.mean["C"][k], classes.draws["weights"][:, k].std())]
        for a, b, sd in pairs:
            assert abs(a - b) < 0.35 * sd  # effective draws of 150 or more: 3 standard errors of a difference


def test_hidden_states_of_a_network_keep_their_order(monkeypatch):
    """Draws whose hidden states were swapped at random come out in the order of the fit."""
    from halfseen.analysis import posterior as module
    from halfseen.families.network.hidden_order import permuted

    rng = np.random.default_rng(0)
    a, b = rng.random(200) < 0.4, rng.random(200) < 0.3
    X = np.empty((200, 4), dtype=object)
    for d, own in enumerate((a, a, b, b)):
        X[:, d] = np.where(rng.random(200) < np.where(own, 0.95, 0.05), "y", "n")
    edges = [("A", "x0"), ("A", "x1"), ("A", "B"), ("B", "x2"), ("B", "x3")]
    net = hs.BayesNet(edges, hidden={"A": 2, "B": 2}, random_state=0).fit(X)
    plain, swaps = module.gibbs, np.random.default_rng(1)

    def switching(engine, *args):
        for params in plain(engine, *args):
            cells = params["tables"]
            for name in ("A", "B"):
                cells = permuted(net._graph, cells, net._graph.names.index(name), swaps.permutation(2))
            yield {"tables": cells}

    expected = hs.posterior(net, X, n_draws=80, min_ess=0, random_state=0)
    monkeypatch.setattr(module, "gibbs", switching)
    found = hs.posterior(net, X, n_draws=80, min_ess=0, random_state=0)
    np.testing.assert_array_equal(found.draws["x2"]["B=0"], expected.draws["x2"]["B=0"])
    np.testing.assert_array_equal(found.draws["B"]["A=1"], expected.draws["B"]["A=1"])


def test_a_hidden_markov_model_of_almost_sure_states():
    """States twelve standard deviations apart are as good as seen: transitions are Dirichlet, means Student's t."""
    rng = np.random.default_rng(0)
    state = (np.arange(120) // 15) % 2
    X = (rng.normal(size=120) + 12 * state)[:, None]
    model = hs.HMM(2, prior=None, random_state=0).fit(X)
    found = hs.posterior(model, X, n_draws=2000, random_state=0)
    assert found.to_frame()["rhat"].max() < 1.02
    assert list(found.to_frame().columns)[:3] == ["column", "value", "state"]
    low = int(model.params_["x0"]["mean"][0] > 6)  # which of the true states is state 0
    for k in range(2):
        true = state == (k if not low else 1 - k)
        stays = int((true[:-1] & true[1:]).sum())
        leaves = int((true[:-1] & ~true[1:]).sum())
        share = stats.beta(stays + 1, leaves + 1)
        assert found.mean["transmat"][f"to state {k}"][k] == pytest.approx(share.mean(), abs=0.1 * share.std())
        assert found.low["transmat"][f"to state {k}"][k] == pytest.approx(share.ppf(0.025), abs=0.2 * share.std())
        own = X[true, 0]
        assert found.mean["x0"]["mean"][k] == pytest.approx(own.mean(), abs=0.02)
    assert found.mean["startprob"].sum() == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="labels= are for mixtures, not for a HMM"):
        hs.posterior(model, X, labels=[0] * 120)


def test_sequences_are_read_as_in_the_fit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 1)) + 10 * (np.arange(120) // 20 % 2)[:, None]
    model = hs.HMM(2, random_state=0).fit(X, lengths=[60, 60])
    listed = hs.posterior(model, [X[:60], X[60:]], n_draws=40, min_ess=0, random_state=0)
    cut = hs.posterior(model, X, n_draws=40, min_ess=0, random_state=0, lengths=[60, 60])
    np.testing.assert_array_equal(listed.draws["startprob"], cut.draws["startprob"])
    mixed = hs.HMM(2, n_mix=2, prior="row", random_state=0).fit(X)
    with pytest.raises(ParameterError, match="n_mix above 1"):
        hs.posterior(mixed, X, n_draws=40, min_ess=0)
