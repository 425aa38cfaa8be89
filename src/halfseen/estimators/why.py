"""Why a row has its class: what each column adds to the log-odds.

    log P(a | row) / P(b | row) = log share[a] / share[b] + sum over observed columns d of contribution[d]

contribution[d] is how much the log-odds fall when the cell is taken away. Columns are independent given the class, so
the parts add up; where a class has several components they may not, and what remains is shown as 'together'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from halfseen.data import Table
from halfseen.data.counts import Counts
from halfseen.errors import DataError, ParameterError
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.estimators.table_mixture import TableMixture

SMALL = 5e-3  # parts below this round to nothing


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
    """

    target: str
    against: str
    probability: tuple[float, float]
    log_odds: float
    contributions: dict[str, float]
    values: dict[str, Any]
    together: float = 0.0

    def __str__(self) -> str:
        ours, theirs = self.probability
        lines = [f"{self.target} ({ours:.0%}) rather than {self.against} ({theirs:.0%}): log-odds {self.log_odds:+.2f}"]
        parts = sorted(self.contributions.items(), key=lambda part: -abs(part[1]))
        lines += [self._line(name, part) for name, part in parts if abs(part) >= SMALL]
        if abs(self.together) >= SMALL:
            lines.append(f"  {self.together:+.2f}  columns together, beyond what each says alone")
        missing = [name for name, value in self.values.items() if value is None]
        return "\n".join(lines + ([f"   none  not seen: {', '.join(missing)}"] if missing else []))

    def _line(self, name: str, part: float) -> str:
        favoured = self.target if part > 0 else self.against
        times = f"{np.exp(abs(part)):.1f} times as" if abs(part) < np.log(1e4) else "far more"
        if name == "(share)":
            return f"  {part:+.2f}  {favoured} is {times} common"
        value = self.values[name]
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"  {part:+.2f}  {name} = {shown}  {times} probable in {favoured}"


def why(model: TableMixture, row: Table, against: Any = None) -> Why:
    """Return what each column of an encoded row adds to the log-odds of its class."""
    if row.n_rows != 1:
        raise DataError(f"why explains one row, got {row.n_rows}. Pass X[i : i + 1].")
    names, joint = model._class_joint(_without_each(row))
    if np.isneginf(joint[0]).all():
        raise DataError("why: this row is impossible under every class. Fit with a prior to leave no zero probability.")
    target = int(joint[0].argmax())
    other = _other(names, joint[0], target, against)
    odds = _odds(joint, target, other)
    values = _values(row)
    parts = {"(share)": float(odds[-1])}
    parts |= {name: float(odds[0] - odds[1 + j]) for j, name in enumerate(values) if values[name] is not None}
    posterior = np.exp(joint[0] - logsumexp(joint[0]))
    together = float(odds[0] - sum(parts.values()))
    probability = (float(posterior[target]), float(posterior[other]))
    return Why(names[target], names[other], probability, float(odds[0]), parts, values, together)


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


def _without_each(row: Table) -> Table:
    """Return the row itself, then the row without each column, then a row of holes."""
    n_columns = len(row.schema.columns)
    blocks: dict[str, Any] = {}
    for name, members in row.schema.blocks.items():
        if name.startswith("text"):
            blocks[name] = _without_texts(row, name, n_columns + 2)
            continue
        hole: Any = -1 if name.startswith("categorical") else np.nan
        block = np.repeat(row.blocks[name], n_columns + 2, axis=0)
        for d, j in enumerate(members):
            block[1 + j, d] = hole
        block[-1] = hole
        blocks[name] = block
    return replace(row, blocks=blocks, weight=np.ones(n_columns + 2))


def _without_texts(row: Table, name: str, n_rows: int) -> Counts:
    """Return a block of text repeated, each time without one of its columns."""
    words = row.blocks[name].matrix()
    stops = np.cumsum([0, *row.schema.cardinalities(name)])
    rows = [words.copy() for _ in range(n_rows)]
    for d, j in enumerate(row.schema.blocks[name]):
        rows[1 + j].data[(words.indices >= stops[d]) & (words.indices < stops[d + 1])] = 0
    rows[-1].data[:] = 0
    return Counts.of(sparse.vstack(rows, format="csr"))


def _values(row: Table) -> dict[str, Any]:
    """Return the values of the row by column, in the order of the table."""
    found: dict[int, Any] = {}
    for name, members in row.schema.blocks.items():
        found |= {j: column[0] for j, column in zip(members, row.schema.decode(name, row.blocks[name]), strict=True)}
    return {row.schema.columns[j].name: found[j] for j in sorted(found)}
