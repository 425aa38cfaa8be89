"""Rows worth a look: those whose class is least certain, and those that the model finds most surprising.

A row is surprising when its cells are far less probable than the model expects of cells like these. Columns are
independent given the class, so what is expected is known in closed form,

    surprise[n] = sum_k resp[n, k] (expected[n, k] - log p(x[n] | k)) / sd[n],
    expected[n, k] = sum over observed d of E log p(x[d] | k),  sd[n]^2 = sum_k resp[n, k] sum over observed d of Var

which ranks rows with different holes on one scale. Of a text these are a sum over its words, as many as it has. For the
few that are shown, `tail` counts how many rows drawn from the model, with the same cells missing and texts as long, are
as improbable.

A row is typical of its class when the log-odds against all other classes are high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, xlogy

from halfseen.analysis.contrast import cut, percent, spread
from halfseen.analysis.scored_table import Mask, Seen, look, missing_cells, text_lengths
from halfseen.data import Table
from halfseen.estimators.table.profile import number
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.estimators.table.why import ABSENT, TextScores, Why, _values, _without_each, cell_scores, texts_of, why
from halfseen.leaves.leaf import Floats
from halfseen.leaves.multinomial import Multinomial
from halfseen.leaves.product import Product
from halfseen.leaves.wrappers import unwrapped

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


class Typical(NamedTuple):
    """A row that is surely of its class: its position, the class, its log-odds against all others, and what says so."""

    row: int
    class_name: str
    log_odds: float
    why: str


class Surprising(NamedTuple):
    """A row unlike the others: its position, its class, its surprise and tail, and which cells are to blame."""

    row: int
    class_name: str
    surprise: float
    tail: float
    why: str


def uncertain_rows(
    model: Any,
    X: Any,
    top: int = 10,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> list[Uncertain]:
    """Return the rows whose class is least certain, the least certain first; `names` as in `typical_rows`.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}})
    >>> [found] = uncertain_rows(model, [[0.1], [1.8], [4.2]], top=1)
    >>> found.row, found.classes, found.why
    (1, ('class 0', 'class 1'), 'x = 1.8 speaks for class 0')
    """
    return uncertain_of(look(model, X, sample_weight, names=names), top)


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
    found = why(seen.model, seen.table.take(np.array([n])), names=seen.names)
    pair = (found.target, found.against)
    if all(name in found.words and not found.words[name] for name in found.contributions if name != "(share)"):
        return "it has no known word"
    parts = sorted(_said(found), key=lambda part: -abs(part[1]))[:4]
    ours = [cell for cell, part in parts if part > 0]
    theirs = [cell for cell, part in parts if part < 0]
    if not ours and not theirs:
        return "its cells hardly tell the two apart"
    if not ours or not theirs:
        return _speaks(ours or theirs, pair[0] if ours else pair[1])
    return f"{_speaks(ours, pair[0])}, but {_listed(theirs)} for {cut(pair[1])}"


def _said(found: Why) -> Iterator[tuple[str, float]]:
    """Yield what each cell, and of text each word, says, if it says anything."""
    for name, part in found.contributions.items():
        if name in found.words:
            place = f" in {cut(name)}" if len(found.words) > 1 else ""
            yield from ((f"{_quoted(word)}{place}", own) for word, own in found.words[name].items() if abs(own) > 0.05)
        elif name != "(share)" and abs(part) > 0.05:
            yield f"{cut(name)} = {_shown(found.values[name])}", part


def _quoted(word: str) -> str:
    return "the lack of other words" if word == ABSENT else f"“{cut(word)}”"


def _speaks(cells: list[str], name: str) -> str:
    return f"{_listed(cells)} {'speaks' if len(cells) == 1 else 'speak'} for {cut(name)}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else cut(str(value))


# ---- typical ---------------------------------------------------------------------------------------------------


def typical_rows(
    model: Any,
    X: Any,
    top: int = 5,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> list[Typical]:
    """Return for each class the rows that are most surely of it, class by class, the surest first.

    Parameters
    ----------
    model : fitted LatentClass or NaiveBayes
    X : table
    top : int                        rows of each class
    sample_weight : (N,) array, optional
    names : sequence of str, optional
        The words of a sparse matrix, such as `CountVectorizer.get_feature_names_out()`.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}})
    >>> [(found.row, found.class_name, found.why) for found in typical_rows(model, [[0.1], [1.8], [4.2]], top=1)]
    [(0, 'class 0', 'x = 0.1'), (2, 'class 1', 'x = 4.2')]
    """
    return typical_of(look(model, X, sample_weight, names=names), top)


def typical_of(seen: Seen, top: int) -> list[Typical]:
    """Return the most typical of rows already looked at."""
    if seen.proba.shape[1] < 2:
        return []
    odds, best = _against_all(seen), seen.proba.argmax(axis=1)
    found = []
    for c in range(seen.proba.shape[1]):
        own = np.flatnonzero((best == c) & np.isfinite(seen.loglik))
        _, first = np.unique(-odds[own, c], return_index=True)  # equal rows are shown once
        found += [_typical(seen, int(n), c, float(odds[n, c])) for n in own[first[:top]]]
    return found


def _against_all(seen: Seen) -> Floats:
    """Return the log-odds of each class against all others, (N, C); in logs, as probabilities near 1 are all alike."""
    joint = seen.model._class_joint(seen.table)[1]
    found = np.empty_like(joint)
    for c in range(joint.shape[1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            found[:, c] = joint[:, c] - logsumexp(np.delete(joint, c, axis=1), axis=1)
    return np.nan_to_num(found, nan=0.0, posinf=1e6, neginf=-1e6)


def _typical(seen: Seen, n: int, c: int, odds: float) -> Typical:
    found = why(seen.model, seen.table.take(np.array([n])), names=seen.names)
    parts = sorted((part for part in _said(found) if part[1] > 0), key=lambda part: -part[1])[:4]
    told = [cell for cell, _ in parts]
    return Typical(int(seen.rows[n]), seen.class_names[c], odds, _listed(told) if told else "the class's share")


# ---- surprise ----------------------------------------------------------------------------------------------------


def surprising_rows(
    model: Any,
    X: Any,
    top: int = 10,
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
    names: Sequence[str] | None = None,
) -> list[Surprising]:
    """Return the rows that the model finds most surprising, given which of their cells are there.

    Of text: given how many words each has. `names` are the words of a sparse matrix.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 9], "sd": [1, 1]}})
    >>> [found] = surprising_rows(model, [[0.1], [4.8], [9.2]], top=1)
    >>> found.row, found.tail, found.why
    (1, 0.0, 'x = 4.8 is 4.2 standard deviations below class 1 (9.0 ± 1.0)')
    """
    return surprising_of(look(model, X, sample_weight, names=names), top, random_state)


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
    model._check_probable("surprise")
    mean, var = _expected(model)
    observed = _amount(seen.table)
    prepared = model._model.prepare(model._params)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.concatenate([model._model.joint(prepared, chunk.blocks) for chunk in seen.table.chunks()])
        away = observed @ mean.T - (joint - np.log(model.weights_))
        spread = np.sqrt(np.sum(seen.resp * (observed @ var.T), axis=1))
        total = np.sum(np.where(seen.resp > 0, seen.resp * away, 0.0), axis=1)
        found = np.where(spread > 0, total / spread, np.where(total > 1e-9, np.inf, 0.0))
    return np.where(np.isneginf(seen.loglik), np.inf, np.where((observed == 0).all(axis=1), 0.0, found))


def _amount(table: Table) -> Floats:
    """Return how much of each column was observed, (N, D): 0 or 1, of text the number of its words."""
    found = (~missing_cells(table)).astype(np.float64)
    for block, members in table.schema.blocks.items():
        if block == "text":
            found[:, list(members)] = text_lengths(table, block).T
    return found


def _expected(model: TableMixture) -> tuple[Floats, Floats]:
    """Return mean and variance of log p(x[d] | k) under component k, (K, D) each; of text for each word of it."""
    n_components, n_columns = len(model.weights_), len(model._schema.columns)
    mean, var = np.zeros((n_components, n_columns)), np.zeros((n_components, n_columns))
    for block, members in model._schema.blocks.items():
        params = model._params["emit"][block]
        discrete = block.startswith(("categorical", "text"))
        wide = 2 if block == "text.bernoulli" else 1
        stops = wide * np.cumsum(model._schema.cardinalities(block)) if discrete else ()
        for d, j in enumerate(members):
            if discrete:
                table = np.split(params, stops[:-1], axis=1)[d]
                mean[:, j], var[:, j] = _expected_logs(table.reshape(n_components, -1, 2) if wide == 2 else table)
            elif block.startswith("gaussian"):
                mean[:, j], var[:, j] = -0.5 * np.log(2 * np.pi * np.e * params.var[:, d]), 0.5
            else:
                mean[:, j], var[:, j] = np.transpose([_expected_count(rate) for rate in params[:, d].tolist()])
    return mean, var


def _expected_logs(table: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of log table[k, v] for v drawn from it, (K,) each; summed over tables (K, D, V)."""
    mean = xlogy(table, table).sum(axis=-1)
    logs = np.log(np.where(table > 0, table, 1.0))
    var = np.maximum((table * logs**2).sum(axis=-1) - mean**2, 0.0)
    return (mean, var) if table.ndim == 2 else (mean.sum(axis=1), var.sum(axis=1))


def _expected_count(rate: float) -> tuple[float, float]:
    """Return mean and variance of log Poisson(x; rate) for x of that rate."""
    if rate > MANY_EVENTS:
        return -0.5 * float(np.log(2 * np.pi * np.e * rate)), 0.5
    events = np.arange(np.ceil(rate + 10 * np.sqrt(rate) + 20))
    logs = xlogy(events, rate) - rate - gammaln(events + 1)
    mean = float(np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs, 0.0)))
    return mean, max(float(np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs**2, 0.0))) - mean**2, 0.0)


def _tails(seen: Seen, order: Any, random_state: int) -> list[float]:
    """Return for some rows the share of rows drawn from the model, with the same holes, that are as improbable.

    Texts that are drawn are as long as that of the row.
    """
    model, rng = seen.model, np.random.default_rng(random_state)
    texts = {block: text_lengths(seen.table, block) for block in seen.table.schema.blocks if block == "text"}
    components = model._model.draw_components(model._params, np.zeros(DRAWS, dtype=np.int64), rng)
    drawn = {block: _draw(model, block, components, rng) for block in seen.table.schema.blocks if block not in texts}
    known: dict[bytes, Floats] = {}
    tails = []
    for n in order:
        key = seen.missing[n].tobytes() + b"".join(lengths[:, n].tobytes() for lengths in texts.values())
        if key not in known:
            words = {block: _draw(model, block, components, rng, lengths[:, n]) for block, lengths in texts.items()}
            masked = _masked(Table(seen.table.schema, drawn | words, np.ones(DRAWS)), seen.missing[n])
            known[key] = np.concatenate(model._infer(masked, lambda part: part.log_evidence[:, 0]))
        tails.append(float(np.mean(known[key] <= seen.loglik[n])))
    return tails


def _draw(
    model: TableMixture, block: str, components: Any, rng: np.random.Generator, lengths: Floats | None = None
) -> Any:
    """Draw rows of one block; texts of so many words, (D,)."""
    emit, params = model._model.leaves["emit"], model._params["emit"][block]
    assert isinstance(emit, Product)
    leaf = unwrapped(emit.leaves[block])
    if lengths is None:
        return leaf.sample(params, components, rng)
    assert isinstance(leaf, Multinomial)
    whole = np.maximum(np.rint(lengths), lengths > 0).astype(np.int64)
    return leaf.documents(params, components, np.repeat(whole[:, None], len(components), axis=1), rng)


def _masked(table: Table, holes: Mask) -> Table:
    """Return a table in which some columns are not seen."""
    blocks = {}
    for name, members in table.schema.blocks.items():
        if name.startswith("text"):
            blocks[name] = table.blocks[name]
            continue
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
    texts = texts_of(model, row, seen.names)
    amount = _amount(row)[0]
    with np.errstate(divide="ignore"):
        logs = cell_scores(model, _only_each(row))[:, k] - np.log(model.weights_[k])
    for j, text in texts.items():
        logs[j] = text.scores[:, k].sum()
    away = np.where(seen.missing[n], -np.inf, amount * mean[k] - logs)
    worst = [int(d) for d in np.argsort(-away, kind="stable")[:2] if away[d] > 1.0]
    if not worst:
        return "no cell alone; it is their combination"
    return "; ".join(_odd_words(seen, d, k, texts[d]) if d in texts else _unlike(seen, row, d, k) for d in worst)


def _only_each(row: Table) -> Table:
    """Return rows in each of which one column is left; texts are left out."""
    every = _without_each(row)  # the row, without each column, a row of holes
    n_columns = len(row.schema.columns)
    blocks = {}
    for name, cells in every.blocks.items():
        block = np.repeat(cells[-1:], n_columns, axis=0)
        for d, j in enumerate(row.schema.blocks[name]):
            block[j, d] = row.blocks[name][0, d]
        blocks[name] = block
    return Table(row.schema, blocks, np.ones(n_columns))


def _odd_words(seen: Seen, d: int, k: int, text: TextScores) -> str:
    """Say which words of a text are rarest in component k."""
    rare = [int(i) for i in np.argsort(text.scores[:, k], kind="stable") if text.words[i] != ABSENT][:3]
    if not rare:
        return f"{cut(seen.table.schema.columns[d].name)} lacks words that {cut(seen.model.class_names_[k])} has"
    told = _listed([_quoted(text.words[i]) for i in rare])
    return f"{told} in {cut(seen.table.schema.columns[d].name)}, rare in {cut(seen.model.class_names_[k])}"


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
