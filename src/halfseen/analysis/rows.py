"""Rows worth a look: those whose class is least certain, and those that the model finds most surprising.

A row is surprising when its cells are far less probable than the model expects of cells like these. Columns are
independent given the class, so what is expected is known in closed form,

    surprise[n] = sum_k resp[n, k] (expected[n, k] - log p(x[n] | k)) / sd[n],
    expected[n, k] = sum over observed d of E log p(x[d] | k),  sd[n]^2 = sum_k resp[n, k] sum over observed d of Var

which ranks rows with different holes on one scale. For the few that are shown, `tail` counts how many rows drawn from
the model, with the same cells missing, are as improbable.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from halfseen.analysis.contrast import cut, percent, spread
from halfseen.analysis.seen import Mask, Seen, look
from halfseen.data import Table
from halfseen.estimators.profile import number
from halfseen.estimators.table_mixture import TableMixture
from halfseen.estimators.why import _values, _without_each, why
from halfseen.leaves.leaf import Floats

DRAWS = 2000  # rows drawn to see how far out a row is: a tail of one in a thousand is seen with two
CANDIDATES = 4  # times as many rows as are shown have their tail counted
MANY_EVENTS = 1000.0  # a rate from which counts are as good as normal
SURE = 0.95  # a row whose class is this certain is not worth a look


class Uncertain(NamedTuple):
    """A row between classes: its position, the two most probable classes with their probabilities, and why."""

    row: int
    classes: tuple[str, str]
    probability: tuple[float, float]
    why: str


class Surprising(NamedTuple):
    """A row unlike the others: its position, its class, its surprise and tail, and which cells are to blame."""

    row: int
    class_name: str
    surprise: float
    tail: float
    why: str


def uncertain_rows(model: Any, X: Any, top: int = 10, sample_weight: ArrayLike | None = None) -> list[Uncertain]:
    """Return the rows whose class is least certain, the least certain first.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}})
    >>> [found] = uncertain_rows(model, [[0.1], [1.8], [4.2]], top=1)
    >>> found.row, found.classes, found.why
    (1, ('class 0', 'class 1'), 'x = 1.8 speaks for class 0')
    """
    return uncertain_of(look(model, X, sample_weight), top)


def uncertain_of(seen: Seen, top: int) -> list[Uncertain]:
    """Return the least certain of rows already looked at; none in which the class is beyond doubt."""
    if seen.proba.shape[1] < 2:
        return []
    highest = seen.proba.max(axis=1)
    order = np.argsort(highest, kind="stable")[:top]
    return [_uncertain(seen, int(n)) for n in order if highest[n] < SURE]


def _uncertain(seen: Seen, n: int) -> Uncertain:
    first, second = np.argsort(-seen.proba[n], kind="stable")[:2].tolist()
    names = seen.class_names
    pair = (names[first], names[second])
    probability = (float(seen.proba[n, first]), float(seen.proba[n, second]))
    if not np.isfinite(seen.loglik[n]):
        return Uncertain(int(seen.rows[n]), pair, probability, "impossible under every class")
    return Uncertain(int(seen.rows[n]), pair, probability, _doubt(seen, n, pair))


def _doubt(seen: Seen, n: int, pair: tuple[str, str]) -> str:
    """Say what speaks for the one class and what for the other."""
    if seen.missing[n].all():
        return "nothing was observed in this row"
    found = why(seen.model, seen.table.take(np.array([n])))
    pair = (found.target, found.against)
    parts = [(name, part) for name, part in found.contributions.items() if name != "(share)" and abs(part) > 0.05]
    parts = sorted(parts, key=lambda part: -abs(part[1]))[:4]
    ours = [f"{cut(name)} = {_shown(found.values[name])}" for name, part in parts if part > 0]
    theirs = [f"{cut(name)} = {_shown(found.values[name])}" for name, part in parts if part < 0]
    if not ours and not theirs:
        return "its cells hardly tell the two apart"
    if not ours or not theirs:
        return _speaks(ours or theirs, pair[0] if ours else pair[1])
    return f"{_speaks(ours, pair[0])}, but {_listed(theirs)} for {cut(pair[1])}"


def _speaks(cells: list[str], name: str) -> str:
    return f"{_listed(cells)} {'speaks' if len(cells) == 1 else 'speak'} for {cut(name)}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else cut(str(value))


# ---- surprise ----------------------------------------------------------------------------------------------------


def surprising_rows(
    model: Any, X: Any, top: int = 10, sample_weight: ArrayLike | None = None, random_state: int = 0
) -> list[Surprising]:
    """Return the rows that the model finds most surprising, given which of their cells are there.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 9], "sd": [1, 1]}})
    >>> [found] = surprising_rows(model, [[0.1], [4.8], [9.2]], top=1)
    >>> found.row, found.tail, found.why
    (1, 0.0, 'x = 4.8 is 4.2 standard deviations below class 1 (9.0 ± 1.0)')
    """
    return surprising_of(look(model, X, sample_weight), top, random_state)


def surprising_of(seen: Seen, top: int, random_state: int = 0) -> list[Surprising]:
    """Return the most surprising of rows already looked at."""
    score = surprise(seen)
    order = np.argsort(-score, kind="stable")[: top * CANDIDATES]
    tails = _tails(seen, order, random_state)
    ranked = sorted(range(len(order)), key=lambda i: (tails[i], -score[order[i]]))[:top]
    return [_surprising(seen, int(order[i]), float(score[order[i]]), tails[i]) for i in ranked]


def surprise(seen: Seen) -> Floats:
    """Return how surprising each row is, (N,), in standard deviations."""
    model = seen.model
    mean, var = _expected(model)
    observed = (~seen.missing).astype(np.float64)
    prepared = model._model.prepare(model._params)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.concatenate([model._model.joint(prepared, chunk.blocks) for chunk in seen.table.chunks()])
        away = observed @ mean.T - (joint - np.log(model.weights_))
        spread = np.sqrt(np.sum(seen.resp * (observed @ var.T), axis=1))
        total = np.sum(np.where(seen.resp > 0, seen.resp * away, 0.0), axis=1)
        found = np.where(spread > 0, total / spread, np.where(total > 1e-9, np.inf, 0.0))
    return np.where(np.isneginf(seen.loglik), np.inf, np.where(seen.missing.all(axis=1), 0.0, found))


def _expected(model: TableMixture) -> tuple[Floats, Floats]:
    """Return mean and variance of log p(x[d] | k) under component k, (K, D) each."""
    n_components, n_columns = len(model.weights_), len(model._schema.columns)
    mean, var = np.zeros((n_components, n_columns)), np.zeros((n_components, n_columns))
    for block, members in model._schema.blocks.items():
        params = model._params["emit"][block]
        stops = np.cumsum(model._schema.cardinalities(block)) if block.startswith("categorical") else ()
        for d, j in enumerate(members):
            if block.startswith("categorical"):
                table = np.split(params, stops[:-1], axis=1)[d]
                mean[:, j] = xlogy(table, table).sum(axis=1)
                logs = np.log(np.where(table > 0, table, 1.0))
                var[:, j] = np.maximum((table * logs**2).sum(axis=1) - mean[:, j] ** 2, 0.0)
            elif block.startswith("gaussian"):
                mean[:, j], var[:, j] = -0.5 * np.log(2 * np.pi * np.e * params.var[:, d]), 0.5
            else:
                mean[:, j], var[:, j] = np.transpose([_expected_count(rate) for rate in params[:, d].tolist()])
    return mean, var


def _expected_count(rate: float) -> tuple[float, float]:
    """Return mean and variance of log Poisson(x; rate) for x of that rate."""
    if rate > MANY_EVENTS:
        return -0.5 * float(np.log(2 * np.pi * np.e * rate)), 0.5
    events = np.arange(np.ceil(rate + 10 * np.sqrt(rate) + 20))
    logs = xlogy(events, rate) - rate - gammaln(events + 1)
    mean = float(np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs, 0.0)))
    return mean, max(float(np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs**2, 0.0))) - mean**2, 0.0)


def _tails(seen: Seen, order: Any, random_state: int) -> list[float]:
    """Return for some rows the share of rows drawn from the model, with the same holes, that are as improbable."""
    model, rng = seen.model, np.random.default_rng(random_state)
    components = model._model.draw_components(model._params, np.zeros(DRAWS, dtype=np.int64), rng)
    drawn = model._model.leaves["emit"].sample(model._params["emit"], components, rng)
    known: dict[bytes, Floats] = {}
    tails = []
    for n in order:
        holes = seen.missing[n]
        if holes.tobytes() not in known:
            masked = _masked(Table(seen.table.schema, drawn, np.ones(DRAWS)), holes)
            known[holes.tobytes()] = np.concatenate(model._infer(masked, lambda part: part.log_evidence[:, 0]))
        tails.append(float(np.mean(known[holes.tobytes()] <= seen.loglik[n])))
    return tails


def _masked(table: Table, holes: Mask) -> Table:
    """Return a table in which some columns are not seen."""
    blocks = {}
    for name, members in table.schema.blocks.items():
        hole: Any = -1 if name.startswith("categorical") else np.nan
        block = np.array(table.blocks[name])
        block[:, holes[list(members)]] = hole
        blocks[name] = block
    return replace(table, blocks=blocks)


def _surprising(seen: Seen, n: int, score: float, tail: float) -> Surprising:
    k = int(seen.resp[n].argmax())
    c = int(seen.proba[n].argmax())
    return Surprising(int(seen.rows[n]), seen.class_names[c], score, tail, _blame(seen, n, k))


def _blame(seen: Seen, n: int, k: int) -> str:
    """Say which one or two cells are least like component k."""
    model, row = seen.model, seen.table.take(np.array([n]))
    mean, _ = _expected(model)
    alone = _only_each(row)
    prepared = model._model.prepare(model._params)
    with np.errstate(divide="ignore"):
        logs = model._model.joint(prepared, alone.blocks)[:, k] - np.log(model.weights_[k])
    away = np.where(seen.missing[n], -np.inf, mean[k] - logs)
    worst = [int(d) for d in np.argsort(-away, kind="stable")[:2] if away[d] > 1.0]
    if not worst:
        return "no cell alone; it is their combination"
    return "; ".join(_unlike(seen, row, d, k) for d in worst)


def _only_each(row: Table) -> Table:
    """Return rows in each of which one column is left."""
    every = _without_each(row)  # the row, without each column, a row of holes
    n_columns = len(row.schema.columns)
    blocks = {}
    for name, members in row.schema.blocks.items():
        block = np.repeat(every.blocks[name][-1:], n_columns, axis=0)
        for d, j in enumerate(members):
            block[j, d] = row.blocks[name][0, d]
        blocks[name] = block
    return Table(row.schema, blocks, np.ones(n_columns))


def _unlike(seen: Seen, row: Table, d: int, k: int) -> str:
    column = seen.table.schema.columns[d]
    value, name = _values(row)[column.name], cut(seen.model.class_names_[k])
    params = seen.model.params_[column.name]
    if column.kind == "categorical":
        return f"{cut(column.name)} = {_shown(value)}, seen in {percent(params[value][k])} of {name}"
    mean, sd = (params["mean"][k], params["sd"][k]) if column.kind == "gaussian" else (params["rate"][k], None)
    if sd is None:
        return f"{cut(column.name)} = {_shown(float(value))}, where {name} has {number(mean)} on average"
    far = (value - mean) / sd
    side = "above" if far > 0 else "below"
    return (
        f"{cut(column.name)} = {_shown(value)} is {abs(far):.1f} standard deviations {side} {name} ({spread(mean, sd)})"
    )
