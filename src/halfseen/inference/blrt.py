"""Is one class more justified? The bootstrap likelihood ratio test (McLachlan 1987).

    LR = 2 (loglik of K + 1 classes - loglik of K classes)

Under the hypothesis of K classes LR has no known distribution: parameters are on a boundary. So tables are drawn from
the fitted model of K classes, with the same values missing as in the data, and both models are fitted to each:

    p = (b + 1) / (B + 1)        b of the B drawn tables have an LR at least as large as that of the data

Both models are fitted by maximum likelihood. That of K + 1 classes has several starts, half of them splits of a class
of the smaller model, half of them random. An LR below 0 means that all of these ended at local maxima: four times as
many starts are then tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.starts import STARTS, Start, split
from halfseen.errors import BootstrapWarning, FitError, ParameterError, warn
from halfseen.estimators import options
from halfseen.estimators.resampled import Resampled, Sample
from halfseen.inference.bootstrap import at_maximum, resampled
from halfseen.inference.refits import Refit, each_draw, refits
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.sums import Runner

ROUGH = 0.1  # estimated remaining gain at which the runs of many starts are compared
POLISHED = 3  # of them are run to the end
MORE = 4  # times as many starts where all ended at local maxima
NEGATIVE = 1e-5  # an LR below minus this is no rounding: runs stop at an estimated remaining gain of 1e-6
FEWER = 4  # the smaller model has one start near the truth and this many times fewer random ones than the larger


@dataclass(frozen=True, eq=False)
class ClassesTest:
    """A test of K classes against K + 1.

    Attributes
    ----------
    n_classes : int             K
    statistic : float           LR of the data
    p : float
    draws : (B,) array          LR of the drawn tables
    loglik, loglik_more : float     of K and of K + 1 classes, in the data
    n_starts : int              starts of the larger model, in the data and in each drawn table
    n_local : int               drawn tables in which no start of the larger model reached the smaller one
    n_failed : int              drawn tables to which a model could not be fitted; they are left out
    """

    n_classes: int
    statistic: float
    p: float
    draws: Floats = field(repr=False)
    loglik: float
    loglik_more: float
    n_starts: int
    n_local: int
    n_failed: int

    def critical(self, level: float = 0.95) -> float:
        """Return the value that LR exceeds in a share of 1 - `level` of the drawn tables."""
        return float(np.quantile(self.draws, options.number("level", level, 0, 1)))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        names = ("n_classes", "statistic", "p", "loglik", "loglik_more", "n_starts", "n_local", "n_failed")
        figures = {name: getattr(self, name) for name in names}
        return {**figures, "n_draws": len(self.draws), "critical": self.critical()}

    def __str__(self) -> str:
        k = self.n_classes
        said = [
            f"{k} {'class' if k == 1 else 'classes'} against {k + 1}: LR {self.statistic:,.2f}, p = {self.p:.3g}",
            f"log-likelihoods {self.loglik:,.4f} and {self.loglik_more:,.4f}",
            f"LR of {len(self.draws)} tables drawn from {k} {'class' if k == 1 else 'classes'}: 95 % are below "
            f"{self.critical():,.2f}, the largest is {self.draws.max():,.2f}",
            f"{self.n_starts} starts of the larger model for each table",
        ]
        if self.n_local:
            said.append(f"in {self.n_local} tables the larger model ended at local maxima: their LR counts as 0")
        if self.n_failed:
            said.append(f"{self.n_failed} tables are left out: a class collapsed")
        return "\n".join(said)


class _Pair(NamedTuple):
    """The two models that are compared, and how they are started."""

    smaller: Mixture
    larger: Mixture
    init: str
    n_starts: int


def blrt(
    model: Any,
    X: Any,
    draws: int = 99,
    *,
    starts: int = 20,
    n_jobs: int | None = None,
    random_state: Any = None,
    **how: Any,
) -> ClassesTest:
    """Test the number of classes of a model against one more, by the bootstrap likelihood ratio test.

    A small p-value says that the classes of the model are too few. Both models are fitted by maximum likelihood, to the
    data and to tables drawn from the model, with the same values missing. Weights are frequencies.

    Parameters
    ----------
    model : fitted LatentClass or GaussianMixture
        Its number of classes is the hypothesis. After a fit with a prior the maximum of the likelihood nearby is taken.
    X : data of the fit
    draws : int, default 99
        Number of drawn tables; p is at least 1 / (draws + 1).
    starts : int, default 20
        Starts of the larger model, in the data and in each drawn table: half of them split a class of the smaller
        model, the others are random. With too few, p-values are too small. The smaller model starts at the truth
        and from a quarter as many random starts.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
    how :
        How the data are read, as in `fit`: `sample_weight`.

    Returns
    -------
    ClassesTest

    Examples
    --------
    >>> import halfseen as hs
    >>> votes = hs.load_votes()[["el_salvador_aid", "mx_missile", "education_spending", "crime"]]
    >>> model = hs.LatentClass(1, prior=None).fit(votes)
    >>> found = hs.blrt(model, votes, draws=19, random_state=0)
    >>> found.p  # two groups at least
    0.05
    """
    options.whole("draws", draws, 2)
    options.whole("starts", starts, 2)
    if not hasattr(model, "_one_more"):
        raise ParameterError(
            f"{type(model).__name__}: the number of classes cannot be tested. The test is for LatentClass and "
            "GaussianMixture."
        )
    seed = lasting_seed(random_state)
    units = resampled(model, X, how)
    pair = _Pair(_mixture(units), model._one_more(), model.init, starts)
    best = at_maximum(model, units)
    start = units.off_bounds(best.params)
    larger, lr = _larger_fit(pair, units.given(), best, start, np.random.default_rng(child(seed, 0)))
    if larger is None or not larger.healthy:
        raise FitError(
            f"{units.params['mix'].shape[1] + 1} classes cannot be fitted to these data: in every start a class "
            "collapses onto single rows. The test needs a variance floor, or fewer classes."
        )
    rows = _drawn(pair, units, best, start, child(seed, 1), draws, n_jobs)
    return _result(pair, best, larger, lr, rows)


def _mixture(units: Resampled) -> Mixture:
    if units.table is None:
        raise ParameterError("the test is for rows without labels: labels say how many classes there are.")
    assert isinstance(units.model, Mixture)
    return units.model


def _larger_fit(
    pair: _Pair, sample: Sample, smaller: Refit, near: Params, rng: np.random.Generator
) -> tuple[Refit | None, float]:
    """Return the best fit with one class more, from more starts where all end below the smaller model; and LR."""
    best: Refit | None = None
    lr = np.nan
    for n_starts in (pair.n_starts, MORE * pair.n_starts):
        found = _best_of(pair.larger, sample, _starts(pair, sample, near, n_starts, rng))
        best = max([one for one in (best, found) if one is not None], key=lambda one: one.rank, default=None)
        if best is None:
            continue
        lr = 2 * (best.loglik - smaller.loglik)
        if best.healthy and lr >= -NEGATIVE:
            break
    return best, lr


def _starts(pair: _Pair, sample: Sample, near: Params, n_starts: int, rng: np.random.Generator) -> list[Params]:
    """Return starts of the larger model: splits of a class of the smaller one, and random ones."""
    n_random = n_starts // 2
    splits = [split(pair.larger, near, rng) for _ in range(n_starts - n_random)]
    return [
        pair.larger.conform(start, start) for start in splits + _random(pair.larger, pair.init, sample, n_random, rng)
    ]


def _random(model: Mixture, init: str, sample: Sample, n_starts: int, rng: np.random.Generator) -> list[Params]:
    """Return random starts, as a fit makes them."""
    assert sample.table is not None
    begin = Start.of(model, sample.table)
    mix = model.leaves["mix"].blank()
    return [{"mix": mix, "emit": STARTS[init](begin, rng)} for _ in range(n_starts)]


def _best_of(model: Mixture, sample: Sample, starts: Sequence[Params]) -> Refit | None:
    """Return the best maximum that is reached from some starts; None where all fail."""
    rough = sorted(refits(model, sample, starts, tol=ROUGH), key=lambda one: one.rank, reverse=True)
    fine = refits(model, sample, [one.params for one in rough[:POLISHED]])
    return max(fine, key=lambda one: one.rank, default=None)


def _drawn(
    pair: _Pair,
    units: Resampled,
    best: Refit,
    start: Params,
    seed: np.random.SeedSequence,
    draws: int,
    n_jobs: int | None,
) -> Floats:
    """Return LR of every drawn table, (B, 1); NaN where a model could not be fitted."""

    def one(rng: np.random.Generator) -> list[float]:
        sample = units.drawn(best.params, rng)
        own = [start, *_random(pair.smaller, pair.init, sample, pair.n_starts // FEWER, rng)]
        smaller = _best_of(pair.smaller, sample, own)
        if smaller is None or not smaller.healthy:
            return [np.nan]
        larger, lr = _larger_fit(pair, sample, smaller, start, rng)
        return [lr if larger is not None and larger.healthy else np.nan]

    def rows(rngs: Sequence[np.random.Generator], run: Runner) -> Floats:
        return np.array(list(run(one, rngs)))

    what = f"test of {pair.smaller.leaves['emit'].n_components} classes, {pair.n_starts} starts"
    return each_draw(what, units, best.params, seed, draws, rows, n_jobs)


def _result(pair: _Pair, best: Refit, larger: Refit, lr: float, rows: Floats) -> ClassesTest:
    found = rows[~np.isnan(rows[:, 0]), 0]
    if not len(found):
        raise FitError("to none of the drawn tables both models could be fitted: a class collapses in each.")
    n_local = int((found < -NEGATIVE).sum())
    if lr < -NEGATIVE:
        warn(
            f"no start of the larger model reached the log-likelihood of the smaller one (LR {lr:.3g}): all ended at "
            "local maxima. LR counts as 0; raise starts.",
            BootstrapWarning,
        )
    draws = np.maximum(found, 0.0)
    lr = max(lr, 0.0)
    n_above = int((draws >= lr).sum())
    return ClassesTest(
        n_classes=pair.smaller.leaves["emit"].n_components,
        statistic=lr,
        p=(n_above + 1) / (len(draws) + 1),
        draws=draws,
        loglik=best.loglik,
        loglik_more=larger.loglik,
        n_starts=pair.n_starts,
        n_local=n_local,
        n_failed=len(rows) - len(found),
    )
