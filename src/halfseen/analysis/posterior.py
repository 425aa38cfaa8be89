"""The posterior of the parameters: exact where nothing is hidden, by Gibbs sampling where something is.

Vocabulary
----------
exact    the posterior of complete data has closed forms: beta, Student's t, inverse gamma, gamma
gibbs    draws of all parameters in turn with draws of the hidden classes
ess      effective sample size: the number of independent draws that would be as informative
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import Source, Table, frame_from_dict, read_labels
from halfseen.engine.loop.gibbs import gibbs
from halfseen.engine.loop.model import Reduced
from halfseen.engine.services.checkpoint import evaluate, lasting_seed
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.base import matching
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats, map_arrays
from halfseen.leaves.limits import Params
from halfseen.runners import runner

MOST_NUMBERS = 250_000_000  # in all draws: 2 GB
Named = dict[str, Any]  # {"weights": (K,), column: {value: (K,)}}; draws have one more axis, the first


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the data, with the prior, say of every parameter.

    Attributes
    ----------
    method : "exact" or "gibbs"
    mean, low, high : dict          posterior mean and interval: {"weights": (K,), column: {value: (K,)}}, where value
                                    is a category, a word, "mean", "var" or "rate"
    level : float                   probability of each interval; the rest is shared by both sides
    draws : dict or None            the same form with one more axis, the first: (n_draws, K). None where exact
    ess : dict or None              effective number of draws of each parameter, in the same form. If it is small,
                                    successive draws are alike: take more. None where exact
    """

    method: str
    mean: Named
    low: Named
    high: Named
    level: float
    draws: Named | None = None
    ess: Named | None = None
    class_names: tuple[str, ...] = field(default=(), repr=False)
    template: Source | None = field(default=None, repr=False)

    def to_frame(self) -> Any:
        """Return a table: a row per parameter and class, with mean, low and high, and ess where there are draws."""
        shown = {"mean": self.mean, "low": self.low, "high": self.high}
        if self.ess is not None:
            shown["ess"] = self.ess
        table: dict[str, list[Any]] = {"column": [], "value": [], "class": []}
        for column, value, _ in _rows(self.mean):
            for name in self.class_names:
                for key, entry in zip(table, (column, value, name), strict=True):
                    table[key].append(entry)
        for key, found in shown.items():
            table[key] = [number for _, _, numbers in _rows(found) for number in numbers.tolist()]
        return frame_from_dict(table, self.template)


def posterior(
    model: TableMixture,
    X: Any,
    n_draws: int = 1000,
    burn_in: int = 200,
    sample_weight: ArrayLike | None = None,
    labels: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    random_state: Any = None,
) -> Posterior:
    """Return the posterior of a fitted model's parameters, given a table.

    The prior is that of the fit, whose density is over probabilities, means, variances and rates themselves: flat with
    `prior=None`. Where nothing is hidden, with one class or a label for every row, the answer is exact; missing cells
    are simply not counted (but with dependent numbers they are hidden too). Otherwise it comes from Gibbs draws that
    begin at the fitted parameters.

    The posterior does not know the order of the classes. Every draw is brought into that of the fitted model by the
    overlap of the classes, unless labels or fixed columns tell them apart.

    Parameters
    ----------
    model : fitted LatentClass
    X : table                        usually that of the fit
    n_draws, burn_in : int           draws kept, and draws left out before them
    sample_weight : (N,) array       how often each row counts. Whole numbers are repetitions
    labels, classes :                what is known of the rows' classes, as in `LatentClass.fit`
    level : float                    probability of the intervals
    random_state : seed              by default the estimator's; same seed, same bits

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["yes"], ["yes"], ["yes"], ["no"]]
    >>> model = hs.LatentClass(1, prior=None).fit(X)
    >>> found = hs.posterior(model, X)  # one class, nothing hidden: Beta(4, 2)
    >>> found.method, found.mean["x0"]["yes"].round(4), found.low["x0"]["yes"].round(4)
    ('exact', array([0.6667]), array([0.2836]))
    """
    if not isinstance(model, TableMixture):
        raise ParameterError(f"{type(model).__name__} is not a mixture over a table, such as LatentClass.")
    model._check_probable("posterior")
    model._check_marginal("posterior")
    options.whole("n_draws", n_draws, 2)
    options.whole("burn_in", burn_in, 0)
    tails = (1 - options.number("level", level, 0, 1)) / 2
    table = _encoded(model, X, sample_weight, labels, classes)
    data = reduce(model._model, table)
    alone = len(model.weights_) == 1 and model._model.leaves["emit"].settled(table.blocks) is None
    if alone or not len(data.chunks):
        draws = None
        mean, low, high = _exact(model, data, tails)
    else:
        _check_size(model, n_draws)
        seed = lasting_seed(getattr(model, "random_state", None) if random_state is None else random_state)
        draws = _drawn(model, data, table, seed, slice(burn_in, burn_in + n_draws))
        mean, low, high = (map_arrays(how, draws) for how in (_mean, _quantile(tails), _quantile(1 - tails)))
    return Posterior(
        method="exact" if draws is None else "gibbs",
        mean=_named(model, mean),
        low=_named(model, low),
        high=_named(model, high),
        level=level,
        draws=None if draws is None else _named(model, draws),
        ess=None if draws is None else _named(model, map_arrays(effective, draws)),
        class_names=model.class_names_,
        template=model._template,
    )


def _encoded(model: TableMixture, X: Any, weight: Any, labels: Any, classes: Any) -> Table:
    table = model._encode(X, weight)
    evidence, _ = read_labels(labels, table.n_rows, len(model.weights_), classes)
    return replace(table, evidence=evidence).canonical()


def _check_size(model: TableMixture, n_draws: int) -> None:
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


def _exact(model: TableMixture, data: Reduced, tails: float) -> tuple[Params, Params, Params]:
    """Return mean, low and high in closed form."""
    engine = model._model
    [step] = evaluate(engine, data, [model._params])
    stats = engine.with_prior(step)
    low, high = (engine.quantile(stats, step.params, q) for q in (tails, 1 - tails))
    return engine.average(stats, step.params), low, high


def _drawn(model: TableMixture, data: Reduced, table: Table, seed: np.random.SeedSequence, kept: slice) -> Params:
    """Return Gibbs draws of all parameters, one more axis in front of each array."""
    apart = table.evidence is not None or bool(getattr(model, "fixed", ())) or model._recipe.names_components
    with runner(getattr(model, "n_jobs", None), len(data.chunks)) as run:
        chain = islice(gibbs(model._model, data, model._params, seed, run), kept.start, kept.stop)
        draws = [params if apart else _matched(model, params) for params in chain]
    return map_arrays(lambda *each: np.stack(each), *draws)


def _matched(model: TableMixture, params: Params) -> Params:
    """Return a draw with its classes in the order of the fitted ones that they resemble most."""
    order = matching(model._model.overlap(params, model._params))
    return model._model.relabel(params, order)


# ---- draws in numbers -----------------------------------------------------------------------------------------------


def _mean(draws: Floats) -> Floats:
    return draws.mean(axis=0)


def _quantile(q: float) -> Callable[[Floats], Floats]:
    return lambda draws: np.quantile(draws, q, axis=0)


def effective(draws: Floats) -> Floats:
    """Return n / (1 + 2 sum of autocorrelations), for draws along the first axis; at most n.

    The sum runs over pairs of neighbouring lags while those are positive and falling (Geyer 1992): beyond that there
    is only noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(4000, 1))
    >>> bool(effective(noise)[0] > 3000), bool(effective(np.repeat(noise, 10, axis=0))[0] < 5000)
    (True, True)
    """
    n = len(draws)
    centred = draws - draws.mean(axis=0)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    covariance = np.fft.irfft(power, axis=0)[: n - n % 2]
    moves = covariance[0] > 1e-20 * np.maximum((draws**2).sum(axis=0), np.finfo(float).tiny)  # what is fixed has none
    correlation = covariance / np.where(moves, covariance[0], 1.0)
    paired = correlation[::2] + correlation[1::2]
    falling = np.minimum.accumulate(paired, axis=0)
    time = 2 * np.where(falling > 0, falling, 0.0).sum(axis=0) - 1
    return np.where(moves, np.minimum(n / np.maximum(time, 1e-3), n), n)


# ---- parameters by name ---------------------------------------------------------------------------------------------


def _named(model: TableMixture, params: Params) -> Named:
    """Return parameters, or something in their shape, by column and value."""
    found: dict[int, tuple[str, dict[Any, Floats]]] = {}
    for block in model._schema.each_block():
        columns = zip(block.columns, block.kind.named(block, params["emit"][block.name]), strict=True)
        found |= {j: (column.name, values) for j, (column, values) in zip(block.members, columns, strict=True)}
    return {"weights": params["mix"][..., 0, :], **dict(found[j] for j in sorted(found))}


def _rows(named: Named) -> Iterator[tuple[str, str, Floats]]:
    """Yield (column, value, (K,)) for each parameter; the classes' shares are called as in `to_frame`."""
    for name, values in named.items():
        if not isinstance(values, dict):
            yield "(share)", "", values
            continue
        for value, numbers in values.items():
            yield name, str(value), numbers
