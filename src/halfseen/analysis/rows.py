"""Rows worth a look: those whose class is least certain, and those that the model finds most surprising.

A row is surprising when its cells are far less probable than the model expects of cells like these. Columns are
independent given the class, so what is expected is known in closed form,

    surprise[n] = sum_k resp[n, k] (expected[n, k] - log p(x[n] | k)) / sd[n],
    expected[n, k] = sum over observed d of E log p(x[d] | k),  sd[n]^2 = sum_k resp[n, k] sum over observed d of Var

which ranks rows with different missing cells on one scale. Of a text these are a sum over its words, as many as it
has. For the few rows that are shown, `tail` is the share of rows drawn from the model, with the same cells missing and
texts as long, that are as improbable.

A row is typical of its class when the log-odds against all other classes are high.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from halfseen.analysis.scored_table import Seen, look
from halfseen.data import Table
from halfseen.estimators.table.profile import fitted_blocks, profiles
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.estimators.table.why import Why, cell_scores, hidden_in_turn, texts_of, values_of, why
from halfseen.kinds.records import WordScores
from halfseen.kinds.text import ABSENT
from halfseen.kinds.wording import cut, shown
from halfseen.leaves.leaf import Floats

DRAWS = 2000  # rows drawn to see how far out a row is: a tail of one in a thousand is seen with two
CANDIDATES = 4  # times as many rows as are shown have their tail counted
SURE = 0.95  # a row whose class is this certain is not worth a look


class Uncertain(NamedTuple):
    """A row between classes: its position, the two most probable classes with their probabilities, and why."""

    row: int
    classes: tuple[str, str]
    probability: tuple[float, float]
    why: str


class Typical(NamedTuple):
    """A row whose class is certain: its position, the class, its log-odds against all others, and why."""

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
    """Return the least certain rows of a scored table; none whose class is certain."""
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
    """Return which cells speak for the one class and which for the other."""
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
        return "its cells are about as probable in both classes"
    if not ours or not theirs:
        return _speaks(ours or theirs, pair[0] if ours else pair[1])
    return f"{_speaks(ours, pair[0])}, but {_listed(theirs)} for {cut(pair[1])}"


def _said(found: Why) -> Iterator[tuple[str, float]]:
    """Yield each cell, and of text each word, that favours one of the classes, with its contribution."""
    for name, part in found.contributions.items():
        if name in found.words:
            place = f" in {cut(name)}" if len(found.words) > 1 else ""
            yield from ((f"{_quoted(word)}{place}", own) for word, own in found.words[name].items() if abs(own) > 0.05)
        elif name != "(share)" and abs(part) > 0.05:
            yield f"{cut(name)} = {shown(found.values[name])}", part


def _quoted(word: str) -> str:
    return "the lack of other words" if word == ABSENT else f"“{cut(word)}”"


def _speaks(cells: list[str], name: str) -> str:
    return f"{_listed(cells)} {'speaks' if len(cells) == 1 else 'speak'} for {cut(name)}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


# ---- typical ---------------------------------------------------------------------------------------------------


def typical_rows(
    model: Any,
    X: Any,
    top: int = 5,
    sample_weight: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> list[Typical]:
    """Return for each class the rows that belong to it most certainly, the most certain first.

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
    """Return the most typical rows of a scored table."""
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
    """Return the most surprising rows of a scored table."""
    score = surprise(seen)
    order = np.argsort(-score, kind="stable")[: top * CANDIDATES]
    tails = _tails(seen, order, random_state)
    ranked = sorted(range(len(order)), key=lambda i: (tails[i], -score[order[i]]))[:top]
    mean, _ = expected_log_density(seen.model)
    return [_surprising(seen, int(order[i]), float(score[order[i]]), tails[i], mean) for i in ranked]


def surprise(seen: Seen) -> Floats:
    """Return how surprising each row is, (N,), in standard deviations."""
    model = seen.model
    model._check_probable("surprise")
    mean, var = expected_log_density(model)
    observed = seen.table.observed
    prepared = model._model.prepare(model._params)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.concatenate([model._model.joint(prepared, chunk.blocks) for chunk in seen.table.chunks()])
        away = observed @ mean.T - (joint - np.log(model.weights_))
        spread = np.sqrt(np.sum(seen.resp * (observed @ var.T), axis=1))
        total = np.sum(np.where(seen.resp > 0, seen.resp * away, 0.0), axis=1)
        found = np.where(spread > 0, total / spread, np.where(total > 1e-9, np.inf, 0.0))
    return np.where(np.isneginf(seen.loglik), np.inf, np.where((observed == 0).all(axis=1), 0.0, found))


def expected_log_density(model: TableMixture) -> tuple[Floats, Floats]:
    """Return mean and variance of log p(x[d] | k) under component k, (K, D) each; of text for each word of it."""
    shape = len(model.weights_), len(model._schema.columns)
    mean, var = np.zeros(shape), np.zeros(shape)
    for fitted in fitted_blocks(model):
        members = list(fitted.block.members)
        mean[:, members], var[:, members] = fitted.block.kind.expected_log_density(fitted)
    return mean, var


def _tails(seen: Seen, order: Any, random_state: int) -> list[float]:
    """Return for some rows the share of rows drawn from the model, with the same missing cells, that are as improbable.

    Texts that are drawn are as long as that of the row.
    """
    model, rng = seen.model, np.random.default_rng(random_state)
    components = model._model.draw_components(model._params, np.zeros(DRAWS, dtype=np.int64), rng)
    blocks = {fitted.block.name: fitted for fitted in fitted_blocks(model)}
    drawn, lengths = {}, {}
    for name, fitted in blocks.items():
        block = fitted.block
        if block.kind.by_length:
            lengths[name] = block.kind.observed(block, seen.table.blocks[name])
        else:
            drawn[name] = block.kind.draw(fitted, components, rng)
    known: dict[bytes, Floats] = {}
    tails = []
    for n in order:
        key = seen.missing[n].tobytes() + b"".join(own[n].tobytes() for own in lengths.values())
        if key not in known:
            words = {
                name: blocks[name].block.kind.draw(blocks[name], components, rng, own[n])
                for name, own in lengths.items()
            }
            every = Table(seen.table.schema, drawn | words, np.ones(DRAWS))
            masked = every.hide(np.broadcast_to(seen.missing[n], (DRAWS, len(seen.missing[n]))))
            known[key] = np.concatenate(model._infer(masked, lambda part: part.log_evidence[:, 0]))
        tails.append(float(np.mean(known[key] <= seen.loglik[n])))
    return tails


def _surprising(seen: Seen, n: int, score: float, tail: float, expected: Floats) -> Surprising:
    k = int(seen.resp[n].argmax())
    c = int(seen.proba[n].argmax())
    return Surprising(int(seen.rows[n]), seen.class_names[c], score, tail, _blame(seen, n, k, expected[k]))


def _blame(seen: Seen, n: int, k: int, expected: Floats) -> str:
    """Say which one or two cells are least like component k, whose expected log-densities are given, (D,)."""
    model, row = seen.model, seen.table.take(np.array([n]))
    texts = texts_of(model, row, seen.names)
    amount = row.observed[0]
    with np.errstate(divide="ignore"):
        logs = cell_scores(model, hidden_in_turn(row, ~np.eye(len(amount), dtype=bool)))[:, k] - np.log(
            model.weights_[k]
        )
    for j, text in texts.items():
        logs[j] = text.scores[:, k].sum()
    away = np.where(seen.missing[n], -np.inf, amount * expected - logs)
    worst = [int(d) for d in np.argsort(-away, kind="stable")[:2] if away[d] > 1.0]
    if not worst:
        return "no cell alone; it is their combination"
    return "; ".join(_odd_words(seen, d, k, texts[d]) if d in texts else _unlike(seen, row, d, k) for d in worst)


def _odd_words(seen: Seen, d: int, k: int, text: WordScores) -> str:
    """Say which words of a text are rarest in component k."""
    rare = [int(i) for i in np.argsort(text.scores[:, k], kind="stable") if text.words[i] != ABSENT][:3]
    if not rare:
        return f"{cut(seen.table.schema.columns[d].name)} lacks words that {cut(seen.model.class_names_[k])} has"
    told = _listed([_quoted(text.words[i]) for i in rare])
    return f"{told} in {cut(seen.table.schema.columns[d].name)}, rare in {cut(seen.model.class_names_[k])}"


def _unlike(seen: Seen, row: Table, d: int, k: int) -> str:
    column = profiles(seen.model)[d]
    return column.kind.odd_cell(column, k, values_of(row)[column.name], cut(seen.model.class_names_[k]))
