"""Every kernel in plain NumPy, written from its formula.

Index letters: n row of N, k component of K, d column of D, s cell of S (all categories of all columns, one
column after the other). A missing category is code -1, a missing number is NaN; neither adds anything.
Outputs come last and are allocated by the caller; `scores` are added to, so that blocks of columns can share one array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.sparse import csr_array
from scipy.special import gammaln, xlogy

from halfseen.kernels import missing_cells
from halfseen.kernels.align import (  # noqa: F401 - kernels of transcripts have a file of their own
    align_back,
    align_draw,
    align_forward,
    align_trace,
)
from halfseen.kernels.align_coarse import align_free, align_match  # noqa: F401 - and those of their coarse pass
from halfseen.kernels.batch import batch_em  # noqa: F401 - many fits of a small table have a file of their own
from halfseen.kernels.chain import (  # noqa: F401 - kernels of chains have a file of their own
    chain_draw,
    chain_filter,
    chain_filter_log,
    chain_fused,
    chain_hard,
    chain_room,
    chain_soft,
    chain_soft_log,
)
from halfseen.kernels.exact import exact_moments  # noqa: F401 - and so have sums without rounding
from halfseen.kernels.graphones import (  # noqa: F401 - and those of letters and phones
    graphone_hard,
    graphone_soft,
    ngram_best,
    ngram_search,
    ngram_sum,
)
from halfseen.kernels.links import (  # noqa: F401 - so have those of word alignment
    links_agree,
    links_best,
    links_chances,
    links_counts,
    links_divide,
    links_draw,
    links_find,
    links_posterior,
    links_rows,
    links_shares,
    links_steps,
    links_sums,
    links_turn,
    links_uniform,
)
from halfseen.kernels.network import network_soft  # noqa: F401 - so have those of networks
from halfseen.kernels.text import (  # noqa: F401 - and so have those of sparse counts
    counts_best,
    counts_count,
    counts_expect,
    counts_score,
    counts_soft,
    log_inner,
    log_turned,
)
from halfseen.kernels.tree import (  # noqa: F401 - and those of charts over sentences
    tree_best,
    tree_draw,
    tree_parsable,
    tree_soft,
)

Floats = NDArray[np.float64]
Codes = NDArray[np.signedinteger]

SMALL = 4096.0  # counts below which x log rate - rate - log x! has its digits
NEAR = 0.1  # below this d - log(1 + d) comes from its series
SLICE = 1 << 12  # rows looked at together where all pairs of rows and components are needed at once


def _indicator(codes: Codes, starts: NDArray[np.int64], n_cells: int) -> csr_array:
    """Return the (N, S + D) matrix with a one where a row holds a cell; each column begins with its 'missing' cell."""
    n_rows, n_columns = codes.shape
    cells = codes + (starts + np.arange(1, n_columns + 1))
    ends = np.arange(0, cells.size + 1, n_columns)
    return csr_array((np.ones(cells.size), cells.ravel(), ends), shape=(n_rows, n_cells + n_columns))


def categorical_score(
    codes: Codes,  # (N, D)      in, -1 = missing
    starts: NDArray[np.int64],  # (D,)  in, first cell of each column
    table: Floats,  # (S + D, K)  in, log-probabilities; each column begins with a row of zeros for 'missing'
    scores: Floats,  # (N, K)      added to
) -> None:
    """scores[n, k] += sum_d table[cell(n, d), k]."""
    if codes.shape[1]:
        scores += _indicator(codes, starts, len(table) - codes.shape[1]) @ table


def categorical_expect(
    codes: Codes,  # (N, D)  in, -1 = missing
    starts: NDArray[np.int64],  # (D,)  in
    usage: Floats,  # (N, K)  in
    counts: Floats,  # (K, S)  added to
) -> None:
    """counts[k, s] += sum over rows n that hold cell s of usage[n, k]."""
    if not codes.shape[1]:
        return
    n_cells = counts.shape[1]
    summed = _indicator(codes, starts, n_cells).T @ usage
    missing = starts + np.arange(codes.shape[1])
    counts += np.delete(summed, missing, axis=0).T


def categorical_count(
    codes: Codes,  # (N, D)  in, -1 = missing
    starts: NDArray[np.int64],  # (D,)  in
    component: NDArray[np.int64],  # (N,)  in, the one component that uses the row
    weight: Floats,  # (N,)    in
    counts: Floats,  # (K, S)  added to
) -> None:
    """counts[component[n], s] += weight[n] for every cell s that row n holds."""
    n_cells = counts.shape[1]
    for column, start in zip(codes.T, starts, strict=True):
        seen = column >= 0
        cells = component[seen] * n_cells + start + column[seen]
        counts += np.bincount(cells, weight[seen], minlength=counts.size).reshape(counts.shape)


def group_codes(
    codes: Codes,  # (N, D)  in, -1 = missing
    strides: NDArray[np.int64],  # (D,)  in
    stops: NDArray[np.int64],  # (G,)  in, the column behind the last of each group
    firsts: NDArray[np.int64],  # (G,)  in, where a row of zeros stands
    cells: NDArray[np.uint16],  # (N, G)  out
) -> None:
    """cells[n, g] = firsts[g] + sum over the columns d of group g of codes[n, d] strides[d]."""
    starts = [0, *stops[:-1]]
    for g, (start, stop) in enumerate(zip(starts, stops, strict=False)):
        cells[:, g] = firsts[g] + codes[:, start:stop].astype(np.int64) @ strides[start:stop]


def cell_pairs(
    cells: NDArray[np.uint16],  # (N, G)  in
    sizes: NDArray[np.int64],  # (G,)  in, how many cells each group has
    places: NDArray[np.int64],  # (G, G)  in, where the cells 0 and 0 of groups g <= h have their sums
    usage: Floats,  # (N, M)  in
    sums: Floats,  # (T, M)  added to
) -> None:
    """sums[places[g, h] + (cell of g) sizes[h] + cell of h] += usage[n] for every row n and g < h; g = h: by cell."""
    own = cells.astype(np.int64)
    for g in range(cells.shape[1]):
        for h in range(g, cells.shape[1]):
            first = 0 if g == h else own[:, g] * sizes[h]
            np.add.at(sums, places[g, h] + first + own[:, h], usage)


def survey_cells(
    cells: NDArray[np.int64] | Floats,  # (N, D)  in, NaN = missing
    close: int,
    seen: NDArray[np.uint8],  # (D, 2 * close + 1)  set to 1 at close + cell; the ends for all beyond
    whole: NDArray[np.uint8],  # (D,)  set to 0 where a cell has a fraction
) -> None:
    """seen[d, close + x] = 1 for every whole number x within `close` of 0 that column d holds."""
    observed = cells == cells
    whole &= ((cells == np.rint(cells)) | ~observed).all(axis=0)
    inside = np.clip(np.where(observed, cells, 0), -close, close).astype(np.int64)
    columns = np.broadcast_to(np.arange(cells.shape[1]), cells.shape)
    seen[columns[observed], inside[observed] + close] = 1


def survey_near(
    cells: NDArray[np.int64] | Floats,  # (N, D)  in, NaN = missing
    low: NDArray[np.int64] | Floats,  # (D,)  in, whole numbers in the type of the cells
    seen: NDArray[np.uint64],  # (D,)  bit x - low set for every whole number x from low to low + 63
    far: NDArray[np.uint64],  # (D,)  set to something else than 0 where another number is met
) -> None:
    """The same as `survey_cells` for cells that are expected close together, in few instructions."""
    inside = (cells >= low) & (cells < low + 64) & (cells == np.rint(cells))
    bits = np.uint64(1) << (np.where(inside, cells, low).astype(np.int64) - low).astype(np.uint64)
    seen |= np.bitwise_or.reduce(np.where(inside, bits, np.uint64(0)), axis=0)
    far |= (~inside & (cells == cells)).any(axis=0).astype(np.uint64)


def hash_cells(
    cells: NDArray[np.integer[Any]] | Floats,  # (N,)  in
    hashes: NDArray[np.uint64],  # (N,)  the hash of the cells before this one; of this one too
) -> None:
    """The finaliser of splitmix64, of hash xor cell; there is one zero and one NaN, and all integer types are alike.

    h ^= x;  h = (h ^ h >> 30) 0xBF58476D1CE4E5B9;  h = (h ^ h >> 27) 0x94D049BB133111EB;  h ^= h >> 31.
    """
    if cells.dtype.kind == "f":
        bits = np.where(np.isnan(cells), np.nan, cells + 0.0).view(np.uint64)
    else:
        bits = cells.astype(np.int64).view(np.uint64)
    hashes ^= bits
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)


def any_infinite(
    cells: Floats,  # (N, D)  in
) -> bool:
    """Return whether a cell is infinite."""
    return bool(np.isinf(cells).any())


def first_rows(
    labels: NDArray[np.int64],  # (N,)  in
    low: int,
    first: NDArray[np.int64],  # (L,)  in: N; out: the first row with label low + l
) -> None:
    """first[l] = min over rows n with labels[n] = low + l of n."""
    np.minimum.at(first, labels - low, np.arange(len(labels)))


def components_of(
    owner: NDArray[np.int64],  # (P,)  in, the component of each pattern of labels
    pattern: NDArray[np.int32],  # (N,)  in
    component: NDArray[np.int64],  # (N,)  out
) -> None:
    """component[n] = owner[pattern[n]]."""
    component[:] = owner[pattern]


def tally(
    component: NDArray[np.int64],  # (N,)  in
    weight: Floats,  # (N,)  in
    mass: Floats,  # (K,)  added to
) -> None:
    """mass[component[n]] += weight[n]."""
    mass += np.bincount(component, weight, minlength=len(mass))


def encode_cells(
    cells: NDArray[np.int64] | Floats,  # (N, D)  in, NaN = missing
    low: NDArray[np.int64],  # (D,)  in, smallest whole number of each column's look-up
    size: NDArray[np.int64],  # (D,)  in, how many follow
    starts: NDArray[np.int64],  # (D,)  in, where they begin in `lookup`
    lookup: NDArray[np.int32],  # (L,)  in, code of each whole number, -1 = none
    out: Codes,  # (N, D)  out
) -> bool:
    """out[n, d] = lookup[starts[d] + cells[n, d] - low[d]], -1 where there is none; return whether all have one."""
    inside = (cells >= low) & (cells < low + size) & (cells == np.rint(cells))
    place = np.where(inside, cells, low).astype(np.int64) - low + starts
    out[:] = np.where(inside, lookup[np.minimum(place, len(lookup) - 1)] if len(lookup) else -1, -1)
    return bool(((out >= 0) | (cells != cells)).all())


def gaussian_score(
    values: Floats,  # (N, D)  in, NaN = missing
    mean: Floats,  # (K, D)  in
    var: Floats,  # (K, D)  in
    scores: Floats,  # (N, K)  added to
) -> None:
    """scores[n, k] -= 1/2 sum_d seen[n, d] (log(2 pi var[k, d]) + (values[n, d] - mean[k, d])^2 / var[k, d])."""
    missing = np.isnan(values)
    for k, (centre, spread) in enumerate(zip(mean, var, strict=True)):
        with np.errstate(over="ignore"):  # a cell too far away for a square is impossible
            loss = np.log(2 * np.pi * spread) + ((values - centre) / np.sqrt(spread)) ** 2
        loss[missing] = 0.0  # of cells, not of what else is NaN: parameters that are no numbers must show
        scores[:, k] -= 0.5 * loss.sum(axis=1)


def gaussian_expect(
    values: Floats,  # (N, D)     in, NaN = missing
    mean: Floats,  # (K, D)     in, the pivot of the moments
    usage: Floats,  # (N, K)     in
    moments: Floats,  # (3, K, D)  added to: mass, first and second moment about `mean`
) -> None:
    """moments[p, k, d] += sum_n usage[n, k] seen[n, d] (values[n, d] - mean[k, d])^p  for p = 0, 1, 2."""
    missing = np.isnan(values)
    moments[0] += usage.T @ (~missing).astype(np.float64)
    filled = np.where(missing, 0.0, values)
    for k, centre in enumerate(mean):
        deviation = filled - centre
        deviation[missing] = 0.0
        moments[1, k] += usage[:, k] @ deviation
        moments[2, k] += usage[:, k] @ (deviation * deviation)


def gaussian_count(
    values: Floats,  # (N, D)     in, NaN = missing
    mean: Floats,  # (K, D)     in, the pivot of the moments
    component: NDArray[np.int64],  # (N,)  in
    weight: Floats,  # (N,)       in
    moments: Floats,  # (3, K, D)  added to
) -> None:
    """moments[p, component[n], d] += weight[n] seen[n, d] (values[n, d] - mean[component[n], d])^p."""
    n_components = len(mean)
    for d, column in enumerate(values.T):
        seen = ~np.isnan(column)
        own, used = component[seen], weight[seen]
        deviation = column[seen] - mean[own, d]
        for power in range(3):
            moments[power, :, d] += np.bincount(own, used * deviation**power, minlength=n_components)


def normal_score(
    values: Floats,  # (N, D)     in, NaN = missing
    mean: Floats,  # (K, D)     in
    factor: Floats,  # (K, D, D)  in, upper triangular, factor factor' = precision
    precision: Floats,  # (K, D, D)  in
    offset: Floats,  # (K,)       in, log-density at the mean
    scores: Floats,  # (N, K)     added to
) -> None:
    """scores[n, k] += log Normal(observed cells of values[n]; mean[k], precision[k]^-1); nothing without any.

    With e the deviation from the mean, completed by its expectation, and m of D cells missing,
    offset - |e factor|^2 / 2 + m / 2 log 2 pi - log |precision of the missing cells| / 2.
    """
    for rows, missing in missing_cells.patterns(values):
        if missing.all():
            continue
        for k in range(len(mean)):
            deviation, inner = missing_cells.complete_rows(values[rows], missing, mean[k], precision[k])
            hidden = 0.5 * len(inner) * np.log(2 * np.pi) - np.log(np.diagonal(inner)).sum()
            scores[rows, k] += offset[k] + hidden - 0.5 * ((deviation @ factor[k]) ** 2).sum(axis=1)


def normal_expect(
    values: Floats,  # (N, D)     in, NaN = missing
    mean: Floats,  # (K, D)     in, the pivot of the moments
    precision: Floats,  # (K, D, D)  in
    usage: Floats,  # (N, K)     in
    sums: Floats,  # (K, 2 + D + D D)  added to: mass, -, first and second moments
) -> None:
    """mass += usage[n], first += usage[n] e[n], second += usage[n] (e[n] e[n]' + c[n]), of each component.

    e is the completed deviation, c the conditional covariance of the missing cells.
    """
    width = values.shape[1]
    for rows, missing in missing_cells.patterns(values):
        if missing.all():
            continue
        for k, total in enumerate(sums):
            used = usage[rows, k]
            deviation, inner = missing_cells.complete_rows(values[rows], missing, mean[k], precision[k])
            second = (used[:, None] * deviation).T @ deviation
            if missing.any():
                spread = cho_solve((inner, True), np.eye(len(inner)), check_finite=False)
                second[np.ix_(missing, missing)] += used.sum() * spread
            total[0] += used.sum()
            total[2 : 2 + width] += used @ deviation
            total[2 + width :] += second.ravel()


def poisson_score(
    counts: Floats,  # (N, D)  in, NaN = missing
    rate: Floats,  # (K, D)  in
    scores: Floats,  # (N, K)  added to
) -> None:
    """scores[n, k] += sum_d seen[n, d] log Poisson(counts[n, d]; rate[k, d])."""
    for k, own in enumerate(rate):
        scores[:, k] += _log_poisson(counts, own).sum(axis=1)


def poisson_constants(
    counts: Floats,  # (N, D)  in, NaN = missing
    unit: Floats,  # (D,)    in
    constants: Floats,  # (N, D)  out
) -> None:
    """constants[n, d] = log Poisson(counts[n, d]; unit[d]), 0 where missing."""
    constants[:] = _log_poisson(counts, unit)


def poisson_expect(
    counts: Floats,  # (N, D)     in, NaN = missing
    unit: Floats,  # (D,)       in
    usage: Floats,  # (N, K)     in
    sums: Floats,  # (3, K, D)  added to: mass, events, constants
) -> None:
    """sums[:, k, d] += sum_n usage[n, k] seen[n, d] (1, counts[n, d], log Poisson(counts[n, d]; unit[d]))."""
    missing = np.isnan(counts)
    sums[0] += usage.T @ (~missing).astype(np.float64)
    sums[1] += usage.T @ np.where(missing, 0.0, counts)
    sums[2] += usage.T @ _log_poisson(counts, unit)


def _log_poisson(x: Floats, rate: Floats) -> Floats:
    """Return x log rate - rate - log x!, 0 where x is missing.

    In large counts these terms cancel. There it is log Poisson(x; x), by Stirling's series, less the deviance
    x e((rate - x) / x), e(d) = d - log(1 + d).
    """
    missing = np.isnan(x)
    small = np.where(missing | (x >= SMALL), 0.0, x)
    large = np.where(x >= SMALL, x, SMALL)
    w = 1 / large**2
    peak = -(1 / 12 - w * (1 / 360 - w * (1 / 1260 - w / 1680))) / large - 0.5 * np.log(2 * np.pi * large)
    d = (rate - large) / large
    near = np.where(np.abs(d) < NEAR, d, 0.0)
    series = near**2 * np.polynomial.polynomial.polyval(near, [(-1.0) ** n / n for n in range(2, 19)])
    with np.errstate(divide="ignore"):
        below = np.where(np.abs(d) < NEAR, large * series, (rate - large) - large * np.log(rate / large))
        direct = xlogy(small, rate) - rate - gammaln(small + 1.0)
    return np.where(missing, 0.0, np.where(x >= SMALL, peak - below, direct))


def independent_soft(
    scores: Floats,  # (N, K)  in; out: usage
    outer: Floats,  # (N,)    in, how often each row is used
    beta: float,
    log_evidence: Floats,  # (N,)    out
) -> None:
    """usage[n, k] = outer[n] p[n, k], p ~ exp(beta scores); log_evidence[n] = log(sum_k exp(beta scores[n, k])) / beta.

    A row that is impossible under every component (-inf throughout) has evidence -inf and no usage. Nor has one with a
    score of NaN or +inf, which its evidence passes on.
    """
    if beta != 1.0:
        scores *= beta
    best = scores.max(axis=1)
    possible = np.isfinite(best)
    scores[~possible] = -np.inf
    scores -= np.where(possible, best, 0.0)[:, None]
    np.exp(scores, out=scores)
    total = np.where(possible, scores.sum(axis=1), 1.0)
    log_evidence[:] = (best + np.log(total)) / beta
    scores *= (outer / total)[:, None]


def independent_hard(
    scores: Floats,  # (N, K)  in; out: usage
    outer: Floats,  # (N,)    in
    best: NDArray[np.int64],  # (N,)    out, the best component, the lowest index among equals
    log_evidence: Floats,  # (N,)    out
) -> None:
    """usage[n, best[n]] = outer[n], zero elsewhere; log_evidence[n] = max_k scores[n, k]."""
    rows = np.arange(len(scores))
    best[:] = scores.argmax(axis=1)
    log_evidence[:] = scores[rows, best]
    scores[:] = 0.0
    scores[rows, best] = np.where(np.isfinite(log_evidence), outer, 0.0)


def multiply_cells(
    rows: NDArray[np.int64],  # (M,)    in, row of `table`
    cells: NDArray[np.int64],  # (M,)    in, row of `probabilities`
    probabilities: Floats,  # (S, W)  in
    table: Floats,  # (R, W)  multiplied
) -> None:
    """table[rows[m]] *= probabilities[cells[m]] for all m: tables of columns become tables of groups of columns."""
    np.multiply.at(table, rows, probabilities[cells])


def add_cells(
    rows: NDArray[np.int64],  # (M,)    in, row of `usage`
    cells: NDArray[np.int64],  # (M,)    in, row of `counts`
    usage: Floats,  # (R, W)  in
    counts: Floats,  # (S, W)  added to
) -> None:
    """counts[cells[m]] += usage[rows[m]] for all m: usage of groups of columns becomes counts of columns."""
    np.add.at(counts, cells, usage[rows])


def mixture_posterior(
    cells: NDArray[np.uint16],  # (N, G)  in, and so on: as in `mixture_soft`
    values: Floats,
    counts: Floats,
    constants: Floats,
    weight: Floats,  # (N,)    in, ones
    in_order: bool,
    mix: Floats,
    table: Floats,
    mean: Floats,
    half_precision: Floats,
    half_log: Floats,
    rate: Floats,
    log_rate: Floats,
    usage: Floats,  # (N, K)  out, K components of the W padded ones
    log_evidence: Floats,  # (N,)    out
) -> None:
    """Infer only: usage[n] = weight[n] p(component | row n), and the log-evidence."""
    joint = _mixture_scores(
        cells, values, counts, constants, _log(mix), _log(table), mean, half_precision, half_log, rate, log_rate
    )
    independent_soft(joint, weight, 1.0, log_evidence)
    usage[:] = joint[:, : usage.shape[1]]


def mixture_best(
    codes: Codes,  # (N, C)  in, -1 = missing
    starts: NDArray[np.int64],  # (C,)    in, first cell of each column
    values: Floats,  # (N, D)  in, and so on: as in `mixture_soft`
    counts: Floats,
    constants: Floats,
    log_mix: Floats,  # (W,)    in, logs of weights; -inf in the padding
    log_table: Floats,  # (S + C, W)  in, logs of probabilities; each column begins with a row of zeros for 'missing'
    mean: Floats,
    half_precision: Floats,
    half_log: Floats,
    rate: Floats,
    log_rate: Floats,
    best: NDArray[np.int64],  # (N,)    out, the most probable component, the first among equals; -1 in impossible rows
) -> None:
    """best[n] = argmax_k of log p(row n, component k): infer no more than that."""
    cells = starts + np.arange(1, len(starts) + 1) + codes
    joint = _mixture_scores(
        cells, values, counts, constants, log_mix, log_table, mean, half_precision, half_log, rate, log_rate
    )
    best[:] = np.where(joint.max(axis=1) > -np.inf, joint.argmax(axis=1), -1)


def _log(probabilities: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def _mixture_scores(
    cells: NDArray[Any],
    values: Floats,
    counts: Floats,
    constants: Floats,
    log_mix: Floats,
    log_table: Floats,
    mean: Floats,
    half_precision: Floats,
    half_log: Floats,
    rate: Floats,
    log_rate: Floats,
) -> Floats:
    """Return log(mix prod_g table[cells[n, g]] prod_d Normal(values[n, d]) prod_p Poisson(counts[n, p]))."""
    scores = log_mix + log_table[cells].sum(axis=1)
    seen, counted = ~np.isnan(values), ~np.isnan(counts)
    deviation = np.where(seen, values, 0.0)[:, :, None] - mean
    scores -= (seen[:, :, None] * (half_log + half_precision * deviation**2)).sum(axis=1)
    scores += np.where(counted, counts, 0.0) @ log_rate - counted @ rate + constants.sum(axis=1)[:, None]
    scores[scores < -1e299] = -np.inf
    return scores


def mixture_soft(
    cells: NDArray[np.uint16],  # (N, G)  in, row of `table` for each group of columns
    values: Floats,  # (N, D)  in, NaN = missing
    counts: Floats,  # (N, P)  in, NaN = missing
    constants: Floats,  # (N, P)  in, log Poisson(counts; unit), 0 where missing
    weight: Floats,  # (N,)    in
    in_order: bool,  # whether equal cells of the first group follow each other, which is quicker in C++
    mix: Floats,  # (W,)    in, weights; 0 in the padding
    table: Floats,  # (R, W)  in, probabilities of groups of categories
    mean: Floats,  # (D, W)  in
    half_precision: Floats,  # (D, W)  in, 1 / (2 var)
    half_log: Floats,  # (D, W)  in, log(2 pi var) / 2
    rate: Floats,  # (P, W)  in
    log_rate: Floats,  # (P, W)  in, -1e300 for log 0
    mix_usage: Floats,  # (W,)       added to
    table_usage: Floats,  # (R, W)     added to
    moments: Floats,  # (3, D, W)  added to, about `mean`
    sums: Floats,  # (3, P, W)  added to: mass, events, constants
) -> float:
    """Score, infer and expect a mixture over a table at once; return the log-likelihood.

    usage[n] ~ weight[n] mix prod_g table[cells[n, g]] prod_d Normal(values[n, d]) prod_p Poisson(counts[n, p])
    """
    usage = _mixture_scores(
        cells, values, counts, constants, _log(mix), _log(table), mean, half_precision, half_log, rate, log_rate
    )
    seen, counted = ~np.isnan(values), ~np.isnan(counts)
    deviation = np.where(seen, values, 0.0)[:, :, None] - mean
    events = np.where(counted, counts, 0.0)
    log_evidence = np.empty(len(usage))
    independent_soft(usage, weight, 1.0, log_evidence)
    mix_usage += usage.sum(axis=0)
    np.add.at(table_usage, cells, usage[:, None, :])
    for power in range(3):
        moments[power] += np.einsum("nw,nd,ndw->dw", usage, seen, deviation**power)
    for sum_, factor in zip(sums, (counted, events, constants), strict=True):
        sum_ += factor.T @ usage
    used = weight > 0
    return float(weight[used] @ log_evidence[used])


def lloyd(
    values: NDArray[Any],  # (N, D)  in, float32 or float64 (T); NaN = missing
    weight: Floats,  # (N,)    in
    pivot: Floats,  # (D,)    in; all else is less this
    centres: Floats,  # (K, D)  in, less the pivot
    anchors: Floats,  # (K, D)  in, less the pivot: what sums are about
    fresh: bool,  # in: sum all complete rows, not only those that change their centre
    unit: float,  # in, a power of two: numbers times this are of moderate size; used in C++, as all that follows
    near: NDArray[Any],  # (D,)    in, T: the pivot as a T, which float32 is used about
    rounded: NDArray[np.float32],  # (K, D)  in: centres times unit
    panels: NDArray[np.float32],  # (P, 2 D, 16)  in: centres times unit, 16 side by side, then their -c^2 / 2
    half: NDArray[np.float32],  # (2, 16 P)  in: -|centre|^2 / 2 times unit^2, and 0; -inf in the padding
    moved: NDArray[np.float32],  # (K, G)  in, how far centres of each group went so far, k apart, times unit
    went: NDArray[np.float32],  # (K,)    in, how far each centre went so far, times unit
    workspace: NDArray[np.float32],  # (96, 3 D + 16 P)  overwritten
    labels: NDArray[np.int32],  # (N,)    in: the last ones, or -1; out: the nearest centre, the lowest index of equals
    bounds: NDArray[np.float32],  # (N, G)  in, out: less `moved`, no centre of the group but the own is nearer; 0 here
    own: NDArray[np.float32],  # (N,)    in, out: plus `went`, the own centre is not farther; infinity here
    sums: Floats,  # (K, D)  added to: weighted complete rows about the anchors
    mass: Floats,  # (2, K)  added to: weight of complete rows, and the number of those with any
    cell_sums: Floats,  # (K, D)  added to: the same of all rows with missing cells, over observed cells
    cell_mass: Floats,  # (K, D)
    totals: Floats,  # (3,)    added to: squares of `sums`; inertia of rows with missing cells; changed labels
) -> None:
    """One sweep of k-means: each row joins its nearest centre k and adds to the sums of k.

    distance[n, k] = scale[n] sum_d seen[n, d] (values[n, d] - centres[k, d])^2,  scale[n] = D / sum_d seen[n, d]
    sums[k] += weight scale (values - anchors[k]),  mass[k, d] += weight scale seen[d],  inertia += weight distance

    A complete row that had another centre is taken from the sums of that one, and one that stays adds nothing, unless
    they are to be summed anew.
    """
    n_columns = values.shape[1]
    bounds[:], own[:] = 0.0, np.inf
    with np.errstate(over="ignore", invalid="ignore"):  # it shows in the inertia, as in C++
        for first in range(0, len(values), SLICE):
            part = slice(first, first + SLICE)
            rows = values[part] - pivot
            seen = ~np.isnan(rows)
            rows[~seen] = 0.0
            old, nearest = labels[part].copy(), _nearest(rows, seen, centres)
            labels[part] = nearest
            totals[2] += np.count_nonzero(old != nearest)
            n_seen = seen.sum(axis=1)
            whole = n_seen == n_columns
            weights = weight[part] * np.where(n_seen > 0, n_columns / np.maximum(n_seen, 1), 0.0)
            comes = np.flatnonzero(whole & ((old != nearest) | fresh))
            goes = np.flatnonzero(whole & (old != nearest) & (old >= 0) & (not fresh))
            for some, centre, sign in ((comes, nearest, 1.0), (goes, old, -1.0)):
                k, signed = centre[some], sign * weights[some]
                gaps = rows[some] - anchors[k]
                np.add.at(sums, k, signed[:, None] * gaps)
                np.add.at(mass[0], k, signed)
                np.add.at(mass[1], k, np.sign(signed))
                totals[0] += signed @ (gaps**2).sum(axis=1)
            k, cells = nearest[~whole], seen[~whole].astype(np.float64)
            np.add.at(cell_sums, k, weights[~whole, None] * cells * (rows[~whole] - anchors[k]))
            np.add.at(cell_mass, k, weights[~whole, None] * cells)
            totals[1] += weights[~whole] @ (cells * (rows[~whole] - centres[k]) ** 2).sum(axis=1)


def _nearest(rows: Floats, seen: NDArray[np.bool_], centres: Floats) -> NDArray[np.intp]:
    """Return the nearest centre of each row: by the square expanded, and by differences where rounding could matter."""
    scores = rows @ centres.T - seen @ (centres**2).T / 2
    nearest = scores.argmax(axis=1)
    if len(centres) == 1 or not len(rows):
        return nearest
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    slack = 5 * np.finfo(np.float64).eps * (2 * rows.shape[1] + 4)  # see kmeans.cpp
    close = np.flatnonzero(~(best - second > slack * ((rows**2).sum(axis=1) - best)))
    apart = [(seen[close] * (rows[close] - centre) ** 2).sum(axis=1) for centre in centres]
    nearest[close] = np.argmin(apart, axis=0)
    return nearest


def normal_soft(
    values: Floats,  # (N, D)  in, NaN = missing
    weight: Floats,  # (N,)    in
    log_mix: Floats,  # (K,)    in, -1e300 for log 0
    mean: Floats,  # (K, D)  in
    factor: Floats,  # (K, D, D)  in
    precision: Floats,  # (K, D, D)  in
    offset: Floats,  # (K,)    in
    mix_usage: Floats,  # (K,)    added to
    sums: Floats,  # (K, 2 + D + D D)  added to: mass, -, first and second moments
) -> float:
    """Score, infer and expect a mixture of jointly normal rows at once; return the log-likelihood."""
    usage = np.zeros((len(values), len(mean)))
    normal_score(values, mean, factor, precision, offset, usage)
    loglik = _infer(usage, log_mix, weight, mix_usage)
    normal_expect(values, mean, precision, usage, sums)
    return loglik


def diagonal_soft(
    values: Floats,  # (N, D)  in, NaN = missing
    weight: Floats,  # (N,)    in
    log_mix: Floats,  # (K,)    in, -1e300 for log 0
    mean: Floats,  # (K, D)  in
    half_precision: Floats,  # (K, D)  in, 1 / (2 var)
    half_log: Floats,  # (K, D)  in, log(2 pi var) / 2
    mix_usage: Floats,  # (K,)    added to
    moments: Floats,  # (3, K, D)  added to, about `mean`
) -> float:
    """Score, infer and expect a mixture of independent normal columns at once; return the log-likelihood."""
    with np.errstate(over="ignore"):  # a cell too far away for a square is impossible
        loss = half_precision * (values[:, None] - mean) ** 2 + half_log
    usage = -np.where(np.isnan(values)[:, None], 0.0, loss).sum(axis=2)
    loglik = _infer(usage, log_mix, weight, mix_usage)
    gaussian_expect(values, mean, usage, moments)
    return loglik


def _infer(usage: Floats, log_mix: Floats, weight: Floats, mix_usage: Floats) -> float:
    """Overwrite scores with weighted responsibilities, add these up, and return the log-likelihood."""
    usage += log_mix
    usage[usage < -1e299] = -np.inf
    log_evidence = np.empty(len(usage))
    independent_soft(usage, weight, 1.0, log_evidence)
    mix_usage += usage.sum(axis=0)
    used = weight > 0
    return float(weight[used] @ log_evidence[used])
