"""The slow truth: sums over all completions of a tiny table, written from the definition.

A *completion* says for every row which component it came from (and, where an emission is itself a mixture, which
component inside). Its joint probability is the product over rows of

    mix[z] * evidence[z] * product over observed cells of p(cell | z)

With N rows and K components there are K^N completions. Everything here looks at each of them: the log-evidence of the
table is the log of the sum of the joints, the expected statistics are the mean of the complete-data statistics under
joint / evidence, the best completion is the largest joint. Densities come from scipy.stats; no kernel is used.
A row of whole weight w is the row w times.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from scipy import stats as distributions
from scipy.special import gammaln, logsumexp

from halfseen.engine.tables.mixture import Mixture
from halfseen.leaves import Bernoulli, Binomial, Categorical, Gaussian, Multinomial, Normal, Poisson, Product
from halfseen.leaves.beta import Beta
from halfseen.leaves.coarse import Coarse
from halfseen.leaves.inflated import ZeroInflated
from halfseen.leaves.logit import BLOCK, Logit
from halfseen.leaves.lognormal import LogNormal
from halfseen.leaves.negbin import NegBin
from halfseen.leaves.per_column import PerColumn
from halfseen.leaves.wrappers import Wrapped


class Completion(NamedTuple):
    """One way to fill in what is hidden: where, how probable together with what was seen, and what it would count."""

    hidden: tuple
    log_joint: float
    stats: np.ndarray


def log(p):
    return -np.inf if p == 0 else float(np.log(p))


# ---- one row in one component ---------------------------------------------------------------------------------------


def in_component(leaf, params, k, row):
    """Return all completions of a row that came from component k of a leaf."""
    if isinstance(leaf, Wrapped):
        return in_component(leaf.leaf, params, k, row)
    if isinstance(leaf, Multinomial):
        return [Completion((), *_words(leaf, params, k, row))]
    if isinstance(leaf, Categorical):
        return [Completion((), *_categories(leaf, params, k, row))]
    if isinstance(leaf, PerColumn):
        return [Completion((), *_concentrated(leaf, params, k, row))]
    if isinstance(leaf, LogNormal):
        total, moments = _normal(leaf, params, k, np.log(row))
        return [Completion((), total - np.nansum(np.log(row)), moments)]
    if isinstance(leaf, Coarse):
        return [Completion((), *_coarse(leaf, params, k, row))]
    if isinstance(leaf, Gaussian):
        return [Completion((), *_normal(leaf, params, k, row))]
    if isinstance(leaf, Normal):
        return [Completion((), *_joint_normal(leaf, params, k, row))]
    if isinstance(leaf, Poisson):
        return [Completion((), *_counts(leaf, params, k, row))]
    if isinstance(leaf, Binomial):
        return [Completion((), *_successes(leaf, params, k, row))]
    if isinstance(leaf, NegBin):
        return [Completion((), *_clustered(leaf, params, k, row))]
    if isinstance(leaf, ZeroInflated):
        return [Completion((), *_inflated(leaf, params, k, row))]
    if isinstance(leaf, Product):
        return _product(leaf, params, k, row)
    return _mixture(leaf, params, k, row)


def _categories(leaf, table, k, row):
    total, counts = 0.0, np.zeros(leaf.stats_shape)
    starts = np.cumsum([0, *leaf.cardinalities])
    for start, code in zip(starts, row, strict=False):
        if code >= 0:
            total += log(table[k, start + code])
            counts[k, start + code] += 1
    return total, counts.ravel()


def _words(leaf, table, k, row):
    """Every word of a document, one after the other; or every word of the vocabulary, there or not."""
    total, counts = 0.0, np.zeros(leaf.stats_shape)
    for v, times in enumerate(row.matrix().toarray()[0]):
        cells = [2 * v + (times > 0)] if isinstance(leaf, Bernoulli) else [v] * round(times)
        for cell in cells:
            total += log(table[k, cell])
            counts[k, cell] += 1
    return total, counts.ravel()


def _normal(leaf, params, k, row):
    total, moments = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if not np.isnan(x):
            mean, var = params.mean[k, d], params.var[k, d]
            total += distributions.norm.logpdf(x, mean, np.sqrt(var))
            moments[:3, k, d] += 1, x - mean, (x - mean) ** 2
    return float(total), moments.ravel()


def _concentrated(leaf, params, k, row):
    total, sums = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if not np.isnan(x):
            mean, conc = params[0][k, d], params[1][k, d]
            if isinstance(leaf, Beta):
                total += distributions.beta.logpdf(x, mean * conc, (1 - mean) * conc)
                up, down = np.log(x / mean), np.log((1 - x) / (1 - mean))
                sums[:, k, d] += 1, up - down, -mean * up - (1 - mean) * down
                continue
            ratio = x / mean
            total += distributions.gamma.logpdf(x, conc, scale=mean / conc)
            sums[:, k, d] += 1, ratio - 1, ratio - 1 - np.log(ratio)
    return float(total), sums.ravel()


def _joint_normal(leaf, params, k, row):
    """From the covariance: the density of the observed cells, the regression of the missing ones on them."""
    sums = np.zeros(leaf.stats_shape)
    o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
    if not len(o):
        return 0.0, sums.ravel()
    mean, cov = params.mean[k], params.cov[k]
    deviation = np.zeros(len(row))
    deviation[o] = row[o] - mean[o]
    coefficients = np.linalg.solve(cov[np.ix_(o, o)], cov[np.ix_(o, m)])
    deviation[m] = deviation[o] @ coefficients
    second = np.outer(deviation, deviation)
    second[np.ix_(m, m)] += cov[np.ix_(m, m)] - cov[np.ix_(m, o)] @ coefficients
    sums[k] = [1, 0, *deviation, *second.ravel()]
    inside = cov[np.ix_(o, o)]
    loss = deviation[o] @ np.linalg.solve(inside, deviation[o]) + np.linalg.slogdet(2 * np.pi * inside)[1]
    return float(-0.5 * loss), sums.ravel()


def _counts(leaf, rate, k, row):
    total, sums = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if not np.isnan(x):
            total += distributions.poisson.logpmf(x, rate[k, d])
            sums[:, k, d] += 1, x, distributions.poisson.logpmf(x, leaf.scale[d])
    return float(total), sums.ravel()


def _successes(leaf, p, k, row):
    """Every trial is a success or not, and any of them may be the successes."""
    total, sums = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if not np.isnan(x):
            ways = log(math.comb(leaf.trials, int(x)))
            own, whole = (
                ways + sum([log(rate)] * int(x) + [log(1 - rate)] * int(leaf.trials - x))
                for rate in (p[k, d], leaf.rate[d])
            )
            total += own
            sums[:, k, d] += 1, x, leaf.trials - x, whole
    return total, sums.ravel()


NODES, SHARES = np.polynomial.legendre.leggauss(200)
REACH = 14  # standard deviations


def _coarse(leaf, params, k, row):
    """Moments of what is behind a cell, by numerical integration."""
    total, stats = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if np.isnan(x):
            continue
        mean, sd = params.mean[k, d], np.sqrt(params.var[k, d])
        known = leaf.coarsening.intervals(np.array([x]))
        points, shares = np.array([x]), np.ones(1)
        if (place := known.place[0]) < len(known.low):
            low, high = known.low[place], known.high[place]
            low = low if np.isfinite(low) else min(high, mean) - REACH * sd
            high = high if np.isfinite(high) else max(low, mean) + REACH * sd
            points, shares = (low + high) / 2 + (high - low) / 2 * NODES, (high - low) / 2 * SHARES
        logs = -0.5 * ((points - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
        density = shares * np.exp(logs - logs.max())
        total += logs.max() + np.log(density.sum())
        stats[:3, k, d] += [1, *((points - mean) ** p @ density / density.sum() for p in (1, 2))]
    return total, stats.ravel()


def _clustered(leaf, params, k, row):
    """Event j opens a cluster with probability size / (size + j), else it joins one."""
    total, sums = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if not np.isnan(x):
            mean, size = params.mean[k, d], params.size[k, d]
            total += distributions.nbinom.logpmf(x, size, size / (size + mean))
            before = np.arange(x)
            joined = (before / (size + before)).sum()
            constant = np.log1p(before / size).sum() - gammaln(x + 1) + joined * np.log(size)
            sums[:, k, d] += 1, x, joined, constant, x - joined
    return float(total), sums.ravel()


def _inflated(leaf, params, k, row):
    """A count that is no structural zero comes from the leaf inside; a zero may be either."""
    total, sums = 0.0, np.zeros(leaf.stats_shape)
    for d, x in enumerate(row):
        if np.isnan(x):
            continue
        lone, zero = np.full(len(row), np.nan), params.zero[k, d]
        lone[d] = x
        [plain] = in_component(leaf.inner, params.counts, k, lone)
        flags = np.array([log(1 - zero) + plain.log_joint, log(zero) if x == 0 else -np.inf])
        either = logsumexp(flags)
        ordinary, structural = np.exp(flags - either)
        total += either
        sums[:2, k, d] += 1, structural
        sums[2:] += ordinary * plain.stats.reshape(leaf.inner.stats_shape)
    return float(total), sums.ravel()


def _product(leaf, params, k, row):
    blocks = [in_component(part, params[name], k, row[name]) for name, part in leaf.leaves.items()]
    return [_together(parts) for parts in itertools.product(*blocks)]


def _together(parts):
    """Join completions of independent blocks: joints multiply, statistics stand side by side."""
    hidden = sum((part.hidden for part in parts), ())
    return Completion(hidden, sum(part.log_joint for part in parts), np.concatenate([part.stats for part in parts]))


def _mixture(model, params, g, row, log_labels=None):
    """Return the completions of a row that came from group g of a model: its M components, each with its own."""
    assert isinstance(model, Mixture)
    mix, emit = params["mix"], model.leaves["emit"]
    width = mix.shape[1]
    found = []
    for m in range(width):
        if isinstance(model.leaves["mix"], Logit):
            log_share, chosen = _logit(mix, m, row[BLOCK])
        else:
            log_share, chosen = log(mix[g, m]), np.zeros(mix.shape)
            chosen[g, m] = 1
        weight = log_share + (0.0 if log_labels is None else log_labels[m])
        for inside in in_component(emit, params["emit"], g * width + m, row):
            parts = {"mix": chosen.ravel(), "emit": inside.stats}
            counts = np.concatenate([parts[name] for name in model.leaves])
            found.append(Completion((m, *inside.hidden), weight + inside.log_joint, counts))
    return found


def _logit(coefficients, k, z):
    """Return the log-probability of component k given covariates; and counts, value, gradient and curvature.

    The gradient of log p[k] is z (1[j = k] - p[j]), its curvature z z' p[j] (1[j = l] - p[l]), from the definition.
    """
    n_covariates, width = coefficients.shape
    odds = np.exp(z @ coefficients)
    p = odds / odds.sum()
    one = np.eye(width)
    stats = [one[k], one[k] * np.log(p[k])]
    stats += [z[i] * (one[k] - p) for i in range(n_covariates)]
    for i, other, j in itertools.product(range(n_covariates), range(width), range(n_covariates)):
        stats.append(z[i] * z[j] * p * (one[other] - p[other]))
    return float(np.log(p[k])), np.concatenate(stats)


# ---- a sequence in a chain of states -------------------------------------------------------------------------------


def paths(model, params, steps, log_labels=None):
    """Return all completions of one sequence: every path of states, each with what its steps hide inside."""
    start, trans = params["start"][0], params["trans"]
    owner = model.structure.owner or tuple(range(len(start)))
    found = []
    for path in itertools.product(range(len(start)), repeat=len(steps)):
        log_path = log(start[path[0]]) + sum(log(trans[i, j]) for i, j in itertools.pairwise(path))
        if log_labels is not None:
            log_path += sum(labels[owner[k]] for k, labels in zip(path, log_labels, strict=True))
        begun, moved = np.zeros((1, len(start))), np.zeros(trans.shape)
        begun[0, path[0]] = 1
        for i, j in itertools.pairwise(path):
            moved[i, j] += 1
        emissions = [
            in_component(model.leaves["emit"], params["emit"], owner[k], row)
            for k, row in zip(path, steps, strict=True)
        ]
        for inside in itertools.product(*emissions):
            parts = {"start": begun.ravel(), "trans": moved.ravel(), "emit": sum(way.stats for way in inside)}
            counts = np.concatenate([parts[name] for name in model.leaves])
            log_joint = log_path + sum(way.log_joint for way in inside)
            found.append(Completion((path, tuple(way.hidden for way in inside)), log_joint, counts))
    return found


def enumerate_sequences(model, params, sequences):
    """Return, for every sequence, the log of the sum of its joints, the mean statistics, and its best joint."""
    labels = None if sequences.evidence is None else sequences.evidence.log_evidence
    truths, first = [], 0
    for length in sequences.lengths:
        rows = range(first, first + length)
        steps = [{name: block[n] for name, block in sequences.blocks.items()} for n in rows]
        ways = paths(model, params, steps, None if labels is None else labels[first : first + length])
        joints = np.array([way.log_joint for way in ways])
        log_evidence = float(logsumexp(joints))
        expected = np.exp(joints - log_evidence) @ np.array([way.stats for way in ways])
        truths.append((log_evidence, expected, ways))
        first += length
    return truths


# ---- the whole table ------------------------------------------------------------------------------------------------


def rows_of(model, params, table):
    """Return, for every row (as often as its weight says), the list of its completions."""
    log_labels = None if table.evidence is None else table.evidence.log_evidence
    rows = []
    for n, weight in enumerate(table.weight):
        assert weight == int(weight), "enumeration repeats rows: weights must be whole"
        row = {name: block[n] for name, block in table.blocks.items()}
        ways = _mixture(model, params, 0, row, None if log_labels is None else log_labels[n])
        rows += [ways] * int(weight)
    return rows


def completions(model, params, table):
    """Return every completion of the table, in lexicographic order of the components."""
    zero = np.zeros(model.stats_shape)
    for ways in itertools.product(*rows_of(model, params, table)):
        log_joint = sum((way.log_joint for way in ways), 0.0)
        yield Completion(tuple(way.hidden for way in ways), log_joint, sum((way.stats for way in ways), zero))


class Truth(NamedTuple):
    """What the sum over all completions says.

    Attributes
    ----------
    log_evidence : float      log of the sum of the joints
    expected : array          mean of the complete-data statistics
    variance : array          their variance, for the error of sampled means
    best : Completion         the largest joint; the first in lexicographic order among equals
    margin : float            how far the second best joint is below it, in logs
    counts : dict             probability of each vector of component counts (n_1, ..., n_K)
    """

    log_evidence: float
    expected: np.ndarray
    variance: np.ndarray
    best: Completion
    margin: float
    counts: dict


def enumerate_table(model, params, table) -> Truth:
    """Sum over all completions of the table."""
    every = list(completions(model, params, table))
    joints = np.array([way.log_joint for way in every])
    log_evidence = float(logsumexp(joints))
    chances = np.exp(joints - log_evidence)
    stats = np.array([way.stats for way in every])
    expected = chances @ stats
    best = every[int(joints.argmax())]
    others = np.delete(joints, joints.argmax())
    counts: dict = defaultdict(float)
    for chance, way in zip(chances, every, strict=True):
        counts[component_counts(model, way.stats)] += chance
    return Truth(
        log_evidence,
        expected,
        chances @ (stats - expected) ** 2,
        best,
        float(best.log_joint - others.max(initial=-np.inf)),
        dict(counts),
    )


def component_counts(model, stats):
    """Return how many rows each component has, as a tuple."""
    return tuple(np.rint(model.view(stats)["mix"][:1].ravel()).astype(int).tolist())
