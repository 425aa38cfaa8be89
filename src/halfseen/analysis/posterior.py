"""The posterior of the parameters: exact where nothing is hidden, by Gibbs sampling where something is.

Vocabulary
----------
exact    the posterior of complete data has closed forms: beta, Student's t, inverse gamma, gamma
gibbs    draws of all parameters in turn with draws of what is hidden
chain    a series of such draws, each from the one before; several chains start at different points
rhat     whether the chains agree: about 1 (`chains`)
ess      effective sample size: the number of independent draws that would be as informative
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.chains import FEWEST, ess_bulk, ess_tail, rhat
from halfseen.data import Source, Table, frame_from_dict, read_labels
from halfseen.engine.loop.gibbs import gibbs
from halfseen.engine.loop.model import Reduced
from halfseen.engine.services.checkpoint import evaluate, lasting_seed
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import FitError, ParameterError, warn
from halfseen.estimators import options
from halfseen.estimators.named_parameters import DrawnRow
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats, map_arrays
from halfseen.leaves.limits import Params
from halfseen.optional import optional
from halfseen.runners import runner
from halfseen.seeds import child

MOST_NUMBERS = 250_000_000  # in all draws: 2 GB
APART = 0.3  # how far from the fitted parameters chains start, in logs of probabilities and in units of others
DISAGREE = 1.05  # R-hat above which chains are said to disagree
LEAST_ESS = 100.0
Named = dict[str, Any]  # {"weights": (K,), column: {value: (K,)}}; draws have one more axis, the first
CALLED = {"(share)": "weights", "(start)": "startprob", "(next)": "transmat"}  # as in `params_`


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the data, with the prior, say of every parameter.

    Attributes
    ----------
    method : "exact" or "gibbs"
    mean, low, high : dict          posterior mean and interval: {"weights": (K,), column: {value: (K,)}}, where value
                                    is a category, a word, "mean", "var", "rate" or "covariance with ..."; of an HMM
                                    also "startprob" and "transmat", of a BayesNet {variable: {given: (S,)}}
    level : float                   probability of each interval; the rest is shared by both sides
    draws : dict or None            the same form with one more axis, the first: (n_draws, K), chain after chain. None
                                    where exact
    ess, ess_tail : dict or None    effective number of draws of each parameter for its mean and for its interval, in
                                    the same form. None where exact
    rhat : dict or None             R-hat of each parameter, in the same form: about 1 where the chains agree; NaN of a
                                    parameter that is fixed. None where exact
    n_chains : int                  0 where exact
    """

    method: str
    mean: Named
    low: Named
    high: Named
    level: float
    draws: Named | None = None
    ess: Named | None = None
    ess_tail: Named | None = None
    rhat: Named | None = None
    n_chains: int = 0
    rows: Sequence[DrawnRow] = field(default=(), repr=False)
    labels: tuple[str, str, str] = field(default=("column", "value", "class"), repr=False)
    template: Source | None = field(default=None, repr=False)

    def to_frame(self) -> Any:
        """Return a table: a row per parameter and class, with mean, low, high, and ess, ess_tail, rhat of draws."""
        shown = {"mean": self.mean, "low": self.low, "high": self.high}
        if self.draws is not None:
            shown |= {"ess": self.ess, "ess_tail": self.ess_tail, "rhat": self.rhat}  # type: ignore[dict-item]
        table: dict[str, list[Any]] = {name: [] for name in (*self.labels, *shown)}
        for row in self.rows:
            for k, name in enumerate(row.components):
                for key, entry in zip(self.labels, (row.column, str(row.value), name), strict=True):
                    table[key].append(entry)
                for key, found in shown.items():
                    table[key].append(float(_entry(found, row)[k]))
        return frame_from_dict(table, self.template)

    def to_arviz(self) -> Any:
        """Return the draws as arviz's InferenceData, for its plots and summaries; needs arviz."""
        if self.draws is None:
            raise ParameterError("to_arviz: this posterior is exact, without draws.")
        arviz = optional("arviz", "to_arviz", "dev")
        found, dims, coords = {}, {}, {}
        for row in self.rows:
            name = " ".join(part for part in (_called(row.column), str(row.value)) if part)
            draws = _entry(self.draws, row)
            found[name] = draws.reshape(self.n_chains, -1, draws.shape[-1])
            dims[name] = [f"{self.labels[2]} of {row.column}"]
            coords[dims[name][0]] = list(row.components)
        return arviz.from_dict(posterior=found, dims=dims, coords=coords)


def _called(column: str) -> str:
    return CALLED.get(column, column)


def _entry(named: Named, row: DrawnRow) -> Floats:
    """Return the numbers of one row."""
    found = named[_called(row.column)]
    numbers: Floats = found[row.value] if isinstance(found, dict) else found
    return numbers


def _by_name(rows: Sequence[DrawnRow], numbers: Sequence[Floats]) -> Named:
    """Return numbers of rows by column and value; a row without a value is its column's only one."""
    named: Named = {}
    for row, own in zip(rows, numbers, strict=True):
        if row.value == "":
            named[_called(row.column)] = own
        else:
            named.setdefault(_called(row.column), {})[row.value] = own
    return named


def posterior(
    model: Any,
    X: Any,
    n_draws: int = 4000,
    burn_in: int = 200,
    sample_weight: ArrayLike | None = None,
    labels: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    chains: int = 4,
    min_ess: float = LEAST_ESS,
    random_state: Any = None,
    **how: Any,
) -> Posterior:
    """Return the posterior of a fitted model's parameters, given a table.

    The prior is that of the fit, whose density is over probabilities, means, variances and rates themselves: flat with
    `prior=None`. Where nothing is hidden, with one class or a label for every row, the answer is exact; missing cells
    are simply not counted (but with dependent numbers they are hidden too). Otherwise it comes from Gibbs draws, in
    several chains that begin near the fitted parameters.

    The posterior does not know the order of the classes, states, or values of a hidden variable. Every draw is brought
    into that of the fitted model by the overlap of their distributions, unless labels or fixed columns tell them apart;
    then the chains are compared. Draws that are worth fewer than `min_ess` independent ones, for the mean or the
    interval of any parameter, are refused.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, HMM or BayesNet
    X : data                         usually those of the fit
    n_draws : int                    draws kept, of all chains together
    burn_in : int                    draws of each chain left out before them
    sample_weight : (N,) array       how often each row counts. Whole numbers are repetitions
    labels, classes :                what is known of the rows' classes, as in `LatentClass.fit`
    level : float                    probability of the intervals
    chains : int                     number of chains
    min_ess : float                  least effective sample size; 0 accepts any, without a warning
    random_state : seed              by default the estimator's; same seed, same bits
    how :                            `lengths`, `groups` and `time` of sequences, as in `HMM.fit`

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["yes"], ["yes"], ["yes"], ["no"]]
    >>> model = hs.LatentClass(1, prior=None).fit(X)
    >>> found = hs.posterior(model, X)  # one class, nothing hidden: Beta(4, 2)
    >>> found.method, found.mean["x0"]["yes"].round(4), found.low["x0"]["yes"].round(4)
    ('exact', array([0.6667]), array([0.2836]))
    """
    _check_asked(model, n_draws, burn_in, chains, min_ess)
    tails = (1 - options.number("level", level, 0, 1)) / 2
    state = getattr(model, "random_state", None) if random_state is None else random_state
    data, known, exact = _data(model, X, sample_weight, labels, classes, how)
    shared: dict[str, Any] = {
        "level": level,
        "labels": model._drawn_labels,
        "template": getattr(model, "_template", None),
    }
    if exact:
        found = _exact(model, data, tails, state)
        return Posterior("exact", *found, rows=model._drawn_rows(model._params), **shared)
    _check_size(model, n_draws)
    each = n_draws // chains
    drawn = _drawn(model, data, known, lasting_seed(state), chains, slice(burn_in, burn_in + each))
    rows = model._drawn_rows(drawn)
    stacked = [row.numbers.reshape(chains, each, -1) for row in rows]
    mixed = {name: [measure(draws) for draws in stacked] for name, measure in MEASURES.items()}
    _check_mixed(rows, mixed, n_draws, chains, min_ess)
    numbers = [row.numbers for row in rows]
    summaries = {"mean": _mean, "low": _quantile(tails), "high": _quantile(1 - tails)}
    named: dict[str, Any] = {
        name: _by_name(rows, [summary(own) for own in numbers]) for name, summary in summaries.items()
    }
    named |= {name: _by_name(rows, own) for name, own in mixed.items()}
    own = model._drawn_rows(model._params)
    return Posterior("gibbs", **named, draws=_by_name(rows, numbers), n_chains=chains, rows=own, **shared)


MEASURES: dict[str, Callable[[Floats], Floats]] = {"ess": ess_bulk, "ess_tail": ess_tail, "rhat": rhat}


# ---- what is asked for ----------------------------------------------------------------------------------------------


def _check_asked(model: Any, n_draws: int, burn_in: int, chains: int, min_ess: float) -> None:
    if not hasattr(model, "_drawn_rows"):
        raise ParameterError(
            f"{type(model).__name__} has no posterior draws. They are for LatentClass, GaussianMixture, NaiveBayes, "
            "GaussianClassifier, HMM and BayesNet."
        )
    check_is_fitted(model)
    options.whole("chains", chains)
    options.whole("n_draws", n_draws, 2)
    options.whole("burn_in", burn_in, 0)
    options.number("min_ess", min_ess)
    if n_draws % chains or n_draws // chains < FEWEST:
        least = max(FEWEST * chains, -(-n_draws // chains) * chains)
        raise ParameterError(
            f"n_draws={n_draws} in {chains} chains: give a multiple of {chains}, of at least {FEWEST} draws for each "
            f"chain, such as {least}."
        )


def _data(
    model: Any, X: Any, weight: Any, labels: Any, classes: Any, how: dict[str, Any]
) -> tuple[Reduced, bool, bool]:
    """Return the data, whether labels identify the classes, and whether nothing is hidden."""
    if isinstance(model, TableMixture):
        if how:
            raise ParameterError(f"posterior: {next(iter(how))}= is for sequences.")
        model._check_probable("posterior")
        model._check_marginal("posterior")
        table = _encoded(model, X, weight, labels, classes)
        data = reduce(model._model, table)
        alone = len(model.weights_) == 1 and model._model.leaves["emit"].settled(table.blocks) is None
        return data, table.evidence is not None, alone or not len(data.chunks)
    if labels is not None or classes is not None:
        raise ParameterError(f"posterior: labels= are for mixtures, not for a {type(model).__name__}.")
    if getattr(model, "tied", None):
        raise ParameterError("posterior: draws of tied tables are not implemented.")
    model._drawn_rows(model._params)  # refuses what cannot be named, before anything is drawn
    given = dict(how) if weight is None else {**how, "sample_weight": weight}
    asked = signature(model._observed).parameters
    for name in given:
        if name not in asked:
            raise ParameterError(f"posterior: {name}= is not known for a {type(model).__name__}.")
    data = model._observed(X, **given).data
    return data, False, not len(data.chunks)


def _encoded(model: TableMixture, X: Any, weight: Any, labels: Any, classes: Any) -> Table:
    table = model._encode(X, weight)
    evidence, _ = read_labels(labels, table.n_rows, len(model.weights_), classes)
    return replace(table, evidence=evidence).canonical()


def _check_size(model: Any, n_draws: int) -> None:
    """Refuse draws that no memory holds: a text has a parameter for every word and class."""
    size = n_draws * sum(np.size(array) for array in _arrays(model._params))
    if size > MOST_NUMBERS:
        raise ParameterError(
            f"{n_draws} draws of {size // n_draws:,} parameters are {8e-9 * size:,.0f} GB. Take fewer draws, keep "
            'fewer words (words={"min_df": 5}), or give a label for every row: then the answer is exact, without draws.'
        )


def _arrays(params: Params) -> Iterator[Floats]:
    for part in params.values() if isinstance(params, dict) else params if isinstance(params, tuple) else [params]:
        yield from [part] if isinstance(part, np.ndarray) else _arrays(part)


# ---- exact, or drawn ------------------------------------------------------------------------------------------------


def _exact(model: Any, data: Reduced, tails: float, state: Any) -> tuple[Named, Named, Named]:
    """Return mean, low and high in closed form; intervals of covariances, which have none, by independent draws."""
    engine = model._model
    [step] = evaluate(engine, data, [model._params])
    stats = engine.with_prior(step)
    sides = [engine.quantile(stats, step.params, q) for q in (tails, 1 - tails)]
    mean, low, high = (model._drawn_rows(params) for params in (engine.average(stats, step.params), *sides))
    if any(np.isnan(row.numbers).any() for row in low):
        rng = np.random.default_rng(lasting_seed(state))
        draws = _stacked([engine.draw(stats, step.params, rng) for _ in range(DRAWS_OF_COVARIANCES)])
        for i, row in enumerate(model._drawn_rows(draws)):
            for side, q in ((low, tails), (high, 1 - tails)):
                gone = np.isnan(side[i].numbers)
                side[i] = side[i]._replace(numbers=np.where(gone, _quantile(q)(row.numbers), side[i].numbers))
    return _named(mean), _named(low), _named(high)


DRAWS_OF_COVARIANCES = 10_000  # independent ones


def _named(rows: Sequence[DrawnRow]) -> Named:
    return _by_name(rows, [row.numbers for row in rows])


def _stacked(draws: list[Params]) -> Params:
    return map_arrays(lambda *each: np.stack(each), *draws)


def _drawn(model: Any, data: Reduced, known: bool, seed: np.random.SeedSequence, chains: int, kept: slice) -> Params:
    """Return Gibbs draws of all parameters, chain after chain, one more axis in front of each array."""
    draws = []
    with runner(getattr(model, "n_jobs", None), len(data.chunks)) as run:
        for number in range(chains):
            own = child(seed, number)
            chain = gibbs(model._model, data, _start(model, own, number), own, run)
            draws += [
                params if known else model._in_fitted_order(params) for params in islice(chain, kept.start, kept.stop)
            ]
    return _stacked(draws)


def _start(model: Any, seed: np.random.SeedSequence, number: int) -> Params:
    """Return where a chain begins: the first at the fitted parameters, the others around them."""
    if number == 0:
        return model._params
    jittered = model._model.jitter(model._params, APART, np.random.default_rng(child(seed, 2)))
    return model._model.conform(jittered, model._params)


def _check_mixed(
    rows: Sequence[DrawnRow], found: dict[str, list[Floats]], n_draws: int, chains: int, least: float
) -> None:
    """Refuse draws that are worth too few; warn of chains that disagree."""
    worth = [np.minimum(bulk, tail) for bulk, tail in zip(found["ess"], found["ess_tail"], strict=True)]
    row, own, apart = min(zip(rows, worth, found["rhat"], strict=True), key=lambda each: float(each[1].min()))
    k = int(own.argmin())
    if own[k] < least:
        raise FitError(_too_few(row, k, float(own[k]), float(np.nan_to_num(apart[k], nan=1.0)), n_draws, chains, least))
    worst = max(float(np.nan_to_num(each, nan=1.0).max()) for each in found["rhat"])
    if least and worst > DISAGREE:
        warn(
            f"the chains disagree: R-hat is {worst:.2f}, more than {DISAGREE}. Raise burn_in and n_draws.",
            ConvergenceWarning,
        )


def _too_few(row: DrawnRow, k: int, ess: float, apart: float, n_draws: int, chains: int, least: float) -> str:
    """Return what is wrong with draws that are worth few, and what to do."""
    name = " ".join(part for part in (_called(row.column), str(row.value), "of", row.components[k]) if part)
    needed = chains * 100 * -(-int(1.5 * n_draws * least / ess) // (100 * chains))
    modes = (
        " The chains disagree, as where the posterior has several modes: fewer classes, a prior or labels may help."
        if apart > DISAGREE
        else ""
    )
    return (
        f"the effective sample size of {name} is {ess:.1f} of {n_draws:,} draws, below {least:g} (R-hat {apart:.2f}), "
        f"so that its interval would be a matter of chance. Take more draws, such as n_draws={needed}.{modes}"
    )


# ---- draws in numbers -----------------------------------------------------------------------------------------------


def _mean(draws: Floats) -> Floats:
    return draws.mean(axis=0)


def _quantile(q: float) -> Callable[[Floats], Floats]:
    return lambda draws: np.quantile(draws, q, axis=0)
