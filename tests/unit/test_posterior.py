"""`posterior` as a user meets it: exact where nothing is hidden, Gibbs against brute force where something is."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import halfseen as hs
from halfseen.analysis.posterior import effective
from halfseen.errors import FitError, ParameterError

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
    assert (exact.method, drawn.method) == ("exact", "gibbs")
    width = exact.to_frame()["high"] - exact.to_frame()["low"]
    for name in ("mean", "low", "high"):
        off = (drawn.to_frame()[name] - exact.to_frame()[name]).abs() / width
        assert off.max() < 0.1, name  # of the interval's width: 5 standard errors of its ends at 1500 effective draws
    assert drawn.to_frame()["ess"].min() > 1000


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
    error = drawn.std() / np.sqrt(effective(drawn[:, None])[0])
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
    draws = hs.posterior(model, X, n_draws=200, random_state=0).draws["x0"]["mean"]
    swapped = model.relabel([1, 0])
    again = hs.posterior(swapped, X, n_draws=200, random_state=0).draws["x0"]["mean"]
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

    expected = hs.posterior(model, X, n_draws=100, random_state=0)
    monkeypatch.setattr(module, "gibbs", switching)
    found = hs.posterior(model, X, n_draws=100, random_state=0)
    np.testing.assert_array_equal(found.draws["x0"]["mean"], expected.draws["x0"]["mean"])


def test_labels_tell_the_classes_apart(monkeypatch):
    """With some rows labelled, or a column fixed, draws keep their own order: no likeness may overrule it."""
    from halfseen.analysis import posterior as module

    X, labels = two_groups()
    some = [label if n < 10 else None for n, label in enumerate(labels.tolist())]
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X, labels=some)
    monkeypatch.setattr(module, "_matched", lambda *draw: pytest.fail("a draw was reordered"))
    assert hs.posterior(model, X, n_draws=5, labels=some, random_state=0).method == "gibbs"


def test_same_seed_same_bits_and_any_number_of_threads():
    X, _ = two_groups()
    model = hs.LatentClass(2, columns=KINDS, random_state=0).fit(X)
    first, again = (hs.posterior(model, X, n_draws=20, random_state=5).draws["weights"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = hs.posterior(model.set_params(n_jobs=2), X, n_draws=20, random_state=5).draws["weights"]
    np.testing.assert_array_equal(first, other)


def test_fixed_columns_stay():
    X, _ = two_groups()
    start = {"x0": {"mean": [0.0, 12.0], "sd": [1.0, 1.0]}}
    model = hs.LatentClass(2, columns=KINDS, start=start, fixed=["x0"], random_state=0).fit(X)
    found = hs.posterior(model, X, n_draws=20, random_state=0)
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
        hs.posterior(model, X, n_draws=50, random_state=0)


def test_impossible_rows_are_refused():
    model = hs.LatentClass.from_params([0.5, 0.5], {"a": {"x": [1.0, 1.0], "y": [0.0, 0.0]}})
    with pytest.raises(FitError, match="some row impossible"):
        hs.posterior(model, [["y"], ["x"]], n_draws=5, random_state=0)


def test_effective_draws_of_a_slow_series_are_few():
    """An autoregression x' = 0.9 x + noise has n (1 - 0.9) / (1 + 0.9) effective draws."""
    rng = np.random.default_rng(0)
    series = np.zeros(20_000)
    for t in range(1, len(series)):
        series[t] = 0.9 * series[t - 1] + rng.normal()
    assert effective(series[:, None])[0] == pytest.approx(20_000 * 0.1 / 1.9, rel=0.25)
    assert effective(np.ones((50, 1)))[0] == 50
