"""Why a row has its class: what each column adds to the log-odds, and of text each word.

    log P(a | row) / P(b | row) = log share[a] / share[b] + sum over observed columns d of contribution[d]

contribution[d] is how much the log-odds fall when the cell is taken away. Columns are independent given the class, so
the parts add up, and so do words of a text; where a class has several components they may not, and what remains is
shown as 'together'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from halfseen.assign import SOFT
from halfseen.data import Table
from halfseen.errors import DataError, ParameterError
from halfseen.leaves.leaf import Floats
from halfseen.leaves.multinomial import Multinomial
from halfseen.leaves.product import Product
from halfseen.leaves.wrappers import unwrapped

if TYPE_CHECKING:
    from halfseen.estimators.table.table_mixture import TableMixture

SMALL = 5e-3  # parts below this round to nothing
MOST_WORDS = 6  # of a text that are named in a sentence
ABSENT = "(words not there)"


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
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
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
    values = _values(row)
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


class TextScores(NamedTuple):
    """A text of one row, word by word: how much each of its words scores in each component, (M, K)."""

    words: list[str]
    scores: Floats


def texts_of(model: TableMixture, row: Table, names: Sequence[str] | None = None) -> dict[int, TextScores]:
    """Return the texts of an encoded row by their column; `names` are the words of a sparse matrix."""
    emit = model._model.leaves["emit"]
    assert isinstance(emit, Product)
    found = {}
    for block, members in row.schema.blocks.items():
        if not block.startswith("text"):
            continue
        leaf = unwrapped(emit.leaves[block])
        assert isinstance(leaf, Multinomial)
        stops = np.cumsum([0, *row.schema.cardinalities(block)]).tolist()
        for j, start, stop in zip(members, stops, stops[1:], strict=False):
            own = slice(start, stop)
            words, scores, absent = leaf.by_word(model._params["emit"][block], row.blocks[block], own)
            known = spelt(row.schema.columns[j].categories or (), names)
            told = [known[v - start] for v in words.tolist()]
            if block == "text.bernoulli":
                told, scores = [*told, ABSENT], np.vstack([scores, absent])
            found[j] = TextScores(told, scores)
    return found


def spelt(words: Sequence[Any], names: Sequence[str] | None = None) -> Sequence[str]:
    """Return words as texts: those of a sparse matrix, which are numbers, by the names given."""
    if words and isinstance(words[0], str):
        return words
    if names is None:
        return [f"word {word}" for word in words]
    if len(names) != len(words):
        raise ParameterError(f"names: {len(names)} names for {len(words)} words. Pass get_feature_names_out().")
    return [str(name) for name in names]


def _joints(model: TableMixture, row: Table, texts: Mapping[int, TextScores]) -> Floats:
    """Return log p(row, component) of the row, without each column, of a row of holes, without each word."""
    n_columns = len(row.schema.columns)
    whole = {j: text.scores.sum(axis=0) for j, text in texts.items()}
    cells = cell_scores(model, _without_each(row))  # (1 + D + 1, K): all but texts
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


def _without_each(row: Table) -> Table:
    """Return the row itself, then the row without each column, then a row of holes; texts are left out."""
    n_columns = len(row.schema.columns)
    blocks: dict[str, Any] = {}
    for name, members in row.schema.blocks.items():
        if name.startswith("text"):
            continue
        hole: Any = -1 if name.startswith("categorical") else np.nan
        block = np.repeat(row.blocks[name], n_columns + 2, axis=0)
        for d, j in enumerate(members):
            block[1 + j, d] = hole
        block[-1] = hole
        blocks[name] = block
    return replace(row, blocks=blocks, weight=np.ones(n_columns + 2))


def _values(row: Table) -> dict[str, Any]:
    """Return the values of the row by column, in the order of the table."""
    found: dict[int, Any] = {}
    for name, members in row.schema.blocks.items():
        found |= {j: column[0] for j, column in zip(members, row.schema.decode(name, row.blocks[name]), strict=True)}
    return {row.schema.columns[j].name: found[j] for j in sorted(found)}
