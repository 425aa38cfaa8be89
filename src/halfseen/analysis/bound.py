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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Chunk, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Latent
from halfseen.leaves.limits import Params


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
    check_model(model)
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


def check_model(model: Any) -> None:
    """Refuse what has no bound: models that are no mixture over a table, rules, models with covariates."""
    if not isinstance(model, TableMixture):
        raise ParameterError(f"model={model!r:.80} is not a mixture over a table, such as LatentClass.")
    model._check_probable("bound")
    model._check_marginal("bound")
