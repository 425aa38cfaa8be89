"""The lower bound that EM maximises: its parts, and where it touches the likelihood.

Let q be the posterior of the hidden classes under the parameters `about`. For any parameters `params`

    loglik(params) = q(params) + entropy + kl(params)
    q       = sum_n weight[n] sum_k q[n, k] log p(x[n], k | params)     expected complete-data log-likelihood
    entropy = -sum_n weight[n] sum_k q[n, k] log q[n, k]                does not depend on params
    kl      = sum_n weight[n] sum_k q[n, k] log(q[n, k] / p(k | x[n], params))

so bound = q + entropy lies below loglik, and touches it where kl = 0: at params = about. The M-step goes where the
bound (plus the log-prior, if there is one) is highest; the likelihood there is at least as high.

Missing cells are integrated out of p(x[n], k | params): they are no part of q. Latent content of a leaf is: where
numbers are jointly normal (full and tied covariances), EM completes the missing ones, and q is over classes and cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Chunk, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats, Latent
from halfseen.leaves.limits import Params
from halfseen.optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 0.01  # gain of a step, in log-likelihood, below which its curves cannot be told apart
N_POINTS = 121  # along the line: a smooth curve, at the price of so many passes over the data
STILL = 1e-9  # a step shorter than this, in units of the data's scale, is no line to draw
REACH = 1.0  # how far a curve may fall, in heights between the likelihoods at the two ends, before it is cut off
ABOVE, BELOW, INK = "#1b6ca8", "#d1495b", "#333333"  # the likelihood, the bound, marks


@dataclass(frozen=True)
class Bound:
    """The parts of the log-likelihood at some parameters, for the q of others; all summed over rows.

    Attributes
    ----------
    q : float           expected complete-data log-likelihood, Q(params | about)
    entropy : float     entropy of q
    kl : float          Kullback-Leibler divergence from q to the posterior under params; 0 where they are the same
    loglik : float      log-likelihood of params
    log_prior : float   log-prior of params, up to a constant; 0 without a prior
    """

    q: float
    entropy: float
    kl: float
    loglik: float
    log_prior: float = 0.0

    @property
    def bound(self) -> float:
        """The lower bound on the log-likelihood: q + entropy."""
        return self.q + self.entropy

    def __str__(self) -> str:
        lines = {
            "q": (self.q, "expected complete-data log-likelihood"),
            "+ entropy": (self.entropy, "of the posterior that q was taken with"),
            "= bound": (self.bound, "on the log-likelihood, from below"),
            "+ kl": (self.kl, "between that posterior and the one here"),
            "= loglik": (self.loglik, "log-likelihood of what was seen"),
        }
        if self.log_prior:
            lines["log_prior"] = (self.log_prior, "the M-step raises bound + log_prior")
        return "\n".join(f"{name:<10} {value:16.7f}   {what}" for name, (value, what) in lines.items())


def bound(
    model: TableMixture, X: Any, params: Mapping[str, Any] | TableMixture | None = None, sample_weight: Any = None
) -> Bound:
    """Take the log-likelihood apart: Q, entropy and Kullback-Leibler divergence.

    q is the posterior of the classes under the parameters of `model`; the parts are those of `params`.

        loglik = q + entropy + kl,   bound = q + entropy,   kl >= 0 and 0 at the model's own parameters

    Missing cells are summed out; with full and tied covariances missing numbers are hidden beside the class, and the
    entropy of such a density may be below 0.

    Parameters
    ----------
    model : a fitted model, or one from `from_params`
    X : table
    params : mapping or model, optional
        Parameters to evaluate, in the form of `params_`, any subset (the rest stays as in `model`); or another model of
        the same columns and number of classes. By default those of `model`.
    sample_weight : (N,) array, optional
        How often each row counts.

    Returns
    -------
    Bound
        With attributes q, entropy, bound, kl, loglik and log_prior.

    Examples
    --------
    >>> import halfseen as hs
    >>> columns = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}}
    >>> model = hs.LatentClass.from_params([0.3, 0.7], columns)
    >>> print(hs.bound(model, [[0, 1], [1, 1]], params={"weights": [0.5, 0.5]}))
    q                -4.4921161   expected complete-data log-likelihood
    + entropy         0.8780546   of the posterior that q was taken with
    = bound          -3.6140616   on the log-likelihood, from below
    + kl              0.1075037   between that posterior and the one here
    = loglik         -3.5065579   log-likelihood of what was seen
    """
    _check_model(model)
    chunks = model._encode(X, sample_weight).chunks()
    return lower_bound(model._model, chunks, model._params, read_params(model, params))


def lower_bound(model: Mixture, chunks: Sequence[Chunk], about: Params, params: Params) -> Bound:
    """Return the parts of the log-likelihood of `params`, for the posterior q under `about`.

    The evidence of labels multiplies p(x[n], k) and is counted in q.
    """
    here, there = evaluate(model, Reduced(chunks), [about, params])
    _check_possible(model, chunks, about, here.loglik)
    ready = model.prepare(about), model.prepare(params)
    hidden, labels = Latent(), 0.0
    for chunk in chunks:
        hidden = hidden.plus(model.latent(*ready, chunk.blocks, chunk.weight[:, None], chunk.log_evidence))
        labels += _labels(model, ready[0], chunk)
    q = model.complete(here.expected.stats, about, params) + labels
    return Bound(q, hidden.entropy, max(hidden.kl, 0.0), there.loglik, there.log_prior)


def _check_possible(model: Mixture, chunks: Sequence[Chunk], about: Params, loglik: float) -> None:
    """Refuse rows that have no posterior."""
    if np.isfinite(loglik):
        return
    ready, first = model.prepare(about), 0
    for chunk in chunks:
        logliks = logsumexp(model.joint(ready, chunk.blocks, chunk.log_evidence), axis=1)
        wrong = np.flatnonzero(~np.isfinite(logliks) & (chunk.weight > 0))
        if len(wrong):
            raise DataError(
                f"row {first + wrong[0]} is impossible under the model, so its class has no posterior. Leave it out, "
                "or use a model fitted with a prior."
            )
        first += len(chunk.weight)


def _labels(model: Mixture, prepared: Any, chunk: Chunk) -> float:
    """Return what labels contribute to q: the sum of weight[n] q[n, k] log evidence[n, k]."""
    if chunk.log_evidence is None:
        return 0.0
    resp = np.exp(model.log_posterior(prepared, chunk.blocks, chunk.log_evidence))
    usage = resp * np.reshape(chunk.weight, (len(resp), 1, 1))
    used = usage > 0
    return float(usage[used] @ chunk.log_evidence.reshape(usage.shape)[used])


# ---- parameters to compare with ----------------------------------------------------------------------------------


def read_params(model: TableMixture, params: Mapping[str, Any] | TableMixture | None) -> Params:
    """Return parameters given by the user, laid over those of the model."""
    if params is None:
        return model._params
    if isinstance(params, TableMixture):
        check_is_fitted(params)
        if params._schema.columns != model._schema.columns or len(params.weights_) != len(model.weights_):
            raise ParameterError("params: the two models differ in their columns, categories or number of classes.")
        params = params.params_
    if not isinstance(params, Mapping):
        raise ParameterError(f"params={params!r:.80} is neither a mapping in the form of params_ nor a fitted model.")
    emission_builder.read_names(list(params), model._schema, "params")
    given = {name: value for name, value in params.items() if not _empty(value)}
    return emission_builder.overlay(model._params, given, model._schema, len(model.weights_))


def _empty(value: Any) -> bool:
    """Whether these are the parameters of a column without any category."""
    return isinstance(value, Mapping) and not value


def _check_model(model: Any) -> None:
    if not isinstance(model, TableMixture):
        raise ParameterError(f"model={model!r:.80} is not a mixture over a table, such as LatentClass.")
    model._check_probable("bound")
    model._check_marginal("bound")


# ---- the picture -------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """Objective and bound at some places between two sets of parameters, 0 and 1.

    The log-prior, if there is one, is added to both, as EM maximises it too.
    """

    places: Floats
    objective: Floats
    bound: Floats


def plot_bound(
    model: TableMixture,
    X: Any,
    params: Mapping[str, Any] | TableMixture | None = None,
    sample_weight: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the log-likelihood and the lower bound that touches it, along a line through parameter space.

    The line runs from the parameters of `model` through those of the next EM step, where the bound is highest; or to
    `params`. With a prior, both curves are drawn with the log-prior added. Of a model whose fit has converged the next
    step is too small to be seen: then the first step of a fit from another start is drawn, which the title says.

    Parameters
    ----------
    model : a mixture over a table: fitted, or from `from_params`
    X : table
    params : mapping or model, optional
        Where the line goes to instead: see `bound`.
    sample_weight : (N,) array, optional
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [-1, 2], "sd": [1, 1]}})
    >>> ax = hs.plot_bound(model, [[-2.1], [-1.4], [0.3], [2.5], [3.1]])
    """
    _check_model(model)
    if ax is None:
        _, ax = optional("matplotlib.pyplot", "plot_bound").subplots(figsize=(7, 4.5), layout="constrained")
    assert ax is not None
    chunks = model._encode(X, sample_weight).chunks()
    [here] = evaluate(model._model, Reduced(chunks), [model._params])
    to = model._model.improved(here) if params is None else read_params(model, params)
    if params is None and _can_restart(model) and _gain(model, chunks, here, to) < SMALL:
        early = _restarted(model, X, sample_weight)
        plot_bound(early, X, sample_weight=sample_weight, ax=ax)
        ax.set_title("The fit has converged: this is the first step from another start", fontsize=10)
        return ax
    line = _line(model._model, chunks, model._params, to, params is None)
    return _draw(ax, line, params is None, bool(here.log_prior))


def _gain(model: TableMixture, chunks: Sequence[Chunk], here: Step, to: Params) -> float:
    """Return how much a step gains."""
    [there] = evaluate(model._model, Reduced(chunks), [to])
    return there.objective - here.objective


def _can_restart(model: TableMixture) -> bool:
    """Whether the model comes from a fit of hidden classes, which can begin elsewhere."""
    return hasattr(model, "trace_") and "n_components" in model.get_params(deep=False) and len(model.weights_) > 1


def _restarted(model: TableMixture, X: Any, sample_weight: Any) -> TableMixture:
    """Return a model that stands where a fit with one start would begin: a single pass leaves the start as it is."""
    plain = {"assign": "soft", "draws": 1, "accelerate": False, "anneal": (), "n_init": 1, "stop": "iterations"}
    plain |= {"max_iter": 1, "n_components": len(model.weights_)}
    for name in ("covariance", "covariance_type"):
        if isinstance(getattr(model, name, None), str | list | tuple):
            plain[name] = getattr(model, f"{name}_", getattr(model, name))
    begun: TableMixture = clone(model).set_params(**plain)
    begun.fit(X, sample_weight=sample_weight)
    begun.__dict__.pop("trace_", None)  # it is a start, and drawn as it is
    return begun


def _line(model: Mixture, chunks: Sequence[Chunk], about: Params, to: Params, is_step: bool) -> _Line:
    """Follow the straight line in the packed parameters, as far as they are legal and the curves are near the top."""
    first, last = model.pack(about), model.pack(to)
    if np.abs(last - first).max(initial=0.0) < STILL:
        advice = "EM has arrived. Use a model stopped early, or" if is_step else "These are the model's own:"
        raise ParameterError(f"the line has no length: both ends are the same parameters. {advice} give other params.")

    def at(place: float) -> Params:
        return to if place == 1.0 else model.unpack(first + place * (last - first), about)

    def measured(place: float) -> Bound | None:
        there = at(place)
        return lower_bound(model, chunks, about, there) if model.feasible(there) else None

    end = lower_bound(model, chunks, about, to)
    low, high = (_reach(measured, way, end) for way in (-1.0, 1.0))
    places = np.union1d(np.linspace(low, high, N_POINTS), [0.0, 1.0])
    found = [(place, parts) for place in places if (parts := measured(place)) is not None]
    return _Line(
        np.array([place for place, _ in found]),
        np.array([parts.loglik + parts.log_prior for _, parts in found]),
        np.array([parts.bound + parts.log_prior for _, parts in found]),
    )


def _reach(measured: Callable[[float], Bound | None], way: float, end: Bound) -> float:
    """Return how far from 0 (backward) or 1 (forward) to draw: until the bound fell by the gain of the EM step."""
    start = 0.0 if way < 0 else 1.0
    here = measured(0.0)
    assert here is not None
    lowest = min(here.bound + here.log_prior, end.bound + end.log_prior)
    gain = max(end.loglik + end.log_prior - here.loglik - here.log_prior, 1e-12)
    reached = start
    for distance in np.linspace(0, 1.5, 61)[1:]:
        parts = measured(start + way * distance)
        if parts is None or not parts.bound + parts.log_prior > lowest - REACH * gain:
            break
        reached = start + way * float(distance)
    return reached


def _draw(ax: Axes, line: _Line, is_step: bool, with_prior: bool) -> Axes:
    """Draw the two curves, where they touch, and how far apart they are at the end of the line."""
    prior = " + log-prior" if with_prior else ""
    ax.fill_between(line.places, line.bound, line.objective, color=ABOVE, alpha=0.08, linewidth=0)
    ax.plot(line.places, line.objective, color=ABOVE, linewidth=2.2, label=f"log-likelihood{prior}")
    ax.plot(line.places, line.bound, color=BELOW, linewidth=2.0, linestyle=(0, (5, 2)), label=f"lower bound{prior}")
    _mark(ax, line, is_step)
    ax.set_xticks([0, 1], ["parameters now", "after the M-step" if is_step else "params"])
    ax.set_ylabel(f"log-likelihood{prior}, sum over rows")
    ax.margins(x=0.06, y=0.14)
    ax.ticklabel_format(axis="y", useOffset=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, loc="best")
    return ax


def _mark(ax: Axes, line: _Line, is_step: bool) -> None:
    """Mark where the curves touch, and both of them at the end: what the step gains, and the gap it leaves."""
    start, end = (int(np.searchsorted(line.places, place)) for place in (0.0, 1.0))
    touching, after, below = line.objective[start], line.objective[end], line.bound[end]
    paper = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
    note: dict[str, Any] = {"color": INK, "fontsize": 9, "textcoords": "offset points", "bbox": paper}
    ax.vlines(1, below, after, color=INK, linewidth=1.0, linestyle=":")
    ax.plot([0], [touching], "o", color=INK, markersize=7, zorder=5)
    ax.plot([1], [below], "^", color=BELOW, markersize=8, zorder=5)
    ax.plot([1], [after], "o", color=ABOVE, markersize=7, zorder=5)
    ax.annotate("they touch: kl = 0", (0, touching), xytext=(9, -13), ha="left", **note)
    word = "rises" if after >= touching else "falls"
    ax.annotate(f"{word} by {abs(after - touching):.4g}", (1, after), xytext=(0, 10), ha="center", **note)
    lower = "highest bound" if is_step else f"kl = {after - below:.4g}"
    ax.annotate(lower, (1, below), xytext=(0, -22), ha="center", **note)
