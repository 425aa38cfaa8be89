"""Why a row has its class: what each column adds to the log-odds, and of text each word.

    log P(a | row) / P(b | row) = log share[a] / share[b] + sum over observed columns d of contribution[d]

contribution[d] is how much the log-odds fall when the cell is taken away. Columns are independent given the class, so
the parts add up, and so do words of a text; where a class has several components they may not, and what remains is
shown as 'together'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from halfseen.assign import SOFT
from halfseen.data import Table
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table.cells import decoded
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.kinds.records import WordScores
from halfseen.kinds.wording import number
from halfseen.leaves.leaf import Floats
from halfseen.leaves.product import Product

if TYPE_CHECKING:
    from halfseen.estimators.table.table_mixture import TableMixture

SMALL = 5e-3  # parts below this round to nothing
MOST_WORDS = 6  # of a text that are named in a sentence


@dataclass(frozen=True)
class Why:
    """Why a row has its class.

    Attributes
    ----------
    target, against : str            the most probable class, and the one it is compared with
    probability : (float, float)     of the two
    log_odds : float                 of `target` against `against`
    contributions : dict             column -> its part of the log-odds; "(share)" is the classes' shares
    values : dict                    column -> its value in the row, None where missing
    together : float                 what the columns say only together
    words : dict                     column of text -> {word: its part of the log-odds}, the strongest first; with
                                     text="bernoulli" all words that are not there are one more
    """

    target: str
    against: str
    probability: tuple[float, float]
    log_odds: float
    contributions: dict[str, float]
    values: dict[str, Any]
    together: float = 0.0
    words: dict[str, dict[str, float]] = field(default_factory=dict)

    def __str__(self) -> str:
        ours, theirs = self.probability
        lines = [f"{self.target} ({ours:.0%}) rather than {self.against} ({theirs:.0%}): log-odds {self.log_odds:+.2f}"]
        parts = sorted(self.contributions.items(), key=lambda part: -abs(part[1]))
        lines += [self._line(name, part) for name, part in parts if self._tells(name, part)]
        if abs(self.together) >= SMALL:
            lines.append(f"  {self.together:+.2f}  columns together, beyond what each says alone")
        missing = [name for name, value in self.values.items() if value is None]
        empty = [name for name, found in self.words.items() if not found]
        lines += [f"   none  not seen: {', '.join(missing)}"] if missing else []
        return "\n".join(lines + ([f"   none  no known word: {', '.join(empty)}"] if empty else []))

    def _tells(self, name: str, part: float) -> bool:
        return max(map(abs, [part, *self.words.get(name, {}).values()])) >= SMALL

    def _line(self, name: str, part: float) -> str:
        favoured = self.target if part > 0 else self.against
        times = f"{np.exp(abs(part)):.1f} times as" if abs(part) < np.log(1e4) else "far more"
        if name == "(share)":
            return f"  {part:+.2f}  {favoured} is {times} common"
        if name in self.words:
            return f"  {part:+.2f}  {name}  {times} probable in {favoured}: {_named(self.words[name])}"
        value = self.values[name]
        shown = number(value, 4) if isinstance(value, float) else str(value)
        return f"  {part:+.2f}  {name} = {shown}  {times} probable in {favoured}"


def _named(parts: Mapping[str, float]) -> str:
    """Return the strongest words with their parts."""
    told = [f"{word} {part:+.2f}" for word, part in parts.items() if abs(part) >= SMALL][:MOST_WORDS]
    others = len(parts) - len(told)
    rest = sum(list(parts.values())[len(told) :])
    return ", ".join(told + ([f"{others} {'other' if others == 1 else 'others'} {rest:+.2f}"] if others else []))


def why(model: TableMixture, row: Table, against: Any = None, names: Sequence[str] | None = None) -> Why:
    """Return what each column of an encoded row, and each word of its texts, adds to the log-odds of its class."""
    if row.n_rows != 1:
        raise DataError(f"why explains one row, got {row.n_rows}. Pass X[i : i + 1].")
    texts = texts_of(model, row, names)
    classes, joint = model._by_class_joint(_joints(model, row, texts))
    if np.isneginf(joint[0]).all():
        raise DataError("why: this row is impossible under every class. Fit with a prior to leave no zero probability.")
    target = int(joint[0].argmax())
    other = _other(classes, joint[0], target, against)
    odds = _odds(joint, target, other)
    values = values_of(row)
    falls = (odds[0] - odds[1:]).tolist()
    parts = {"(share)": float(odds[0] - falls[len(values)])}
    parts |= {name: falls[j] for j, name in enumerate(values) if values[name] is not None}
    words, place = {}, len(values) + 1
    for j, text in texts.items():
        own = dict(zip(text.words, falls[place : place + len(text.words)], strict=True))
        words[row.schema.columns[j].name] = dict(sorted(own.items(), key=lambda part: -abs(part[1])))
        place += len(text.words)
    posterior = np.exp(joint[0] - logsumexp(joint[0]))
    together = float(odds[0] - sum(parts.values()))
    probability = (float(posterior[target]), float(posterior[other]))
    return Why(classes[target], classes[other], probability, float(odds[0]), parts, values, together, words)


def _other(names: tuple[str, ...], joint: Floats, target: int, against: Any) -> int:
    if len(names) < 2:
        raise ParameterError("why needs at least two classes: there is nothing to compare with.")
    if against is None:
        return int(np.argsort(-joint, kind="stable")[1])
    if str(against) not in names:
        raise ParameterError(f"against={against!r} is not one of the classes {', '.join(names)}.")
    if names.index(str(against)) == target:
        raise ParameterError(f"against={against!r} is the most probable class itself; name another.")
    return names.index(str(against))


def _odds(joint: Floats, target: int, other: int) -> Floats:
    """Return log-odds; where the other class is impossible, a large finite number."""
    return np.clip(joint[:, target], -1e6, None) - np.clip(joint[:, other], -1e6, None)


# ---- rows without something ------------------------------------------------------------------------------------------


def texts_of(model: TableMixture, row: Table, names: Sequence[str] | None = None) -> dict[int, WordScores]:
    """Return the texts of an encoded row by their column; `names` are the words of a sparse matrix."""
    found = {}
    for fitted in fitted_blocks(model):
        for d, j in enumerate(fitted.block.members):
            scores = fitted.block.kind.word_scores(fitted, row.blocks[fitted.block.name], d, names)
            if scores is not None:
                found[j] = scores
    return found


def _joints(model: TableMixture, row: Table, texts: Mapping[int, WordScores]) -> Floats:
    """Return log p(row, component) of the row, without each column, of an empty row, without each word."""
    n_columns = len(row.schema.columns)
    whole = {j: text.scores.sum(axis=0) for j, text in texts.items()}
    cells = cell_scores(model, without_each(row))  # (1 + D + 1, K): all but texts
    rows = []
    for r in range(n_columns + 2):
        kept = [score for j, score in whole.items() if r not in (1 + j, 1 + n_columns)]
        rows.append(cells[r] + sum(kept))
    for j, text in texts.items():
        others = cells[0] + sum(score for i, score in whole.items() if i != j)
        rows += list(others + _left_out(text.scores))
    return np.array(rows)


def cell_scores(model: TableMixture, rows: Table) -> Floats:
    """Return log p(row, component) of rows, (N, K), whose texts may have been left out."""
    emit = model._model.leaves["emit"]
    assert isinstance(emit, Product)
    with np.errstate(divide="ignore"):
        scores = np.tile(np.log(model.weights_), (rows.n_rows, 1))
    for block, cells in rows.blocks.items():
        leaf = emit.leaves[block]
        scores += leaf.score(leaf.prepare(model._params["emit"][block]), cells, SOFT)
    return scores


def _left_out(scores: Floats) -> Floats:
    """Return for each row the sum of the others, (M, K); minus infinity is not subtracted from itself."""
    never = np.isneginf(scores)
    finite = np.where(never, 0.0, scores)
    return np.where(never.sum(axis=0) - never > 0, -np.inf, finite.sum(axis=0) - finite)


def without_each(row: Table) -> Table:
    """Return the row itself, then the row without each column, then a row without any; texts are left out."""
    n_columns = len(row.schema.columns)
    hidden = np.vstack([np.zeros(n_columns, dtype=bool), np.eye(n_columns, dtype=bool), np.ones(n_columns, dtype=bool)])
    return hidden_in_turn(row, hidden)


def hidden_in_turn(row: Table, hidden: NDArray[np.bool_]) -> Table:
    """Return a row once for each row of `hidden`, (M, D), with these cells made missing; texts are left out."""
    alike = row.take(np.zeros(len(hidden), dtype=np.intp)).hide(hidden)
    blocks = {block.name: alike.blocks[block.name] for block in row.schema.each_block() if not block.kind.of_words}
    return replace(alike, blocks=blocks, weight=np.ones(len(hidden)))


def values_of(row: Table) -> dict[str, Any]:
    """Return the values of a table of one row by column, in the order of the table."""
    return dict(zip(row.schema.names, [column[0] for column in decoded(row.schema, row.blocks)], strict=True))
