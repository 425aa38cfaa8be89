"""What hidden Markov models show in the studio: sequences over time, what follows them, and the state of each row.

A sequence is asked for by its number from 0, as in the list, or by its name as text. Times are given as one of

- date      texts 2026-01-05, or 2026-01-05T12:00:00 where there are times of a day
- number    numbers
- text      texts that are no dates: steps have labels
- step      None: the data have no times
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from halfseen.app.views import Ask, Memo, check_ask, page, plain, remembered, text, whole
from halfseen.data import Cut, Sequences
from halfseen.data.sequences import as_clock, plainly
from halfseen.errors import ParameterError
from halfseen.estimators.table.scatter import levels_of, places
from halfseen.families.hmm.cli import posterior
from halfseen.families.hmm.scored_sequences import ScoredSequences, scored
from halfseen.families.hmm.thinning import Points
from halfseen.leaves.leaf import Floats

MOST_POINTS = 1500  # of a window: one for each pixel of a wide screen
MOST_AHEAD = 500  # steps of a forecast
MOST_LISTED = 200  # sequences in one answer
SHOWN = 6  # columns in an answer that asks for none


# ---- which sequences there are -----------------------------------------------------------------------------------


def sequences(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return `count` sequences from `start`, those whose name has the text `find`; and what all of them share.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> sequences(model, [np.array([0.1, 5.2]), np.array([4.9])], {"count": 1})["sequences"]
    [{'number': 0, 'name': None, 'steps': 2, 'first': None, 'last': None}]
    """
    check_ask(ask, "start", "count", "find")
    part, wanted = page(ask, MOST_LISTED, 50), text(ask, "find").casefold()
    cut = _read(model, rows, memo)[1]
    found = np.arange(len(cut.lengths))
    if wanted:
        names = found.tolist() if cut.names is None else cut.names
        found = np.array([b for b in found.tolist() if wanted in str(plainly(names[b])).casefold()], dtype=np.int64)
    return {
        "total": len(cut.lengths),
        "matching": len(found),
        "start": part.start,
        "steps": int(cut.lengths.sum()),
        "longest": int(cut.lengths.max()),
        "group": model._marks[0],
        "time": model._marks[1],
        "columns": _columns(model),
        "states": _states(model),
        "sequences": _listed(cut, found[part]),
    }


def _listed(cut: Cut, numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
    lengths = cut.lengths[numbers]
    last = np.cumsum(cut.lengths)[numbers] - 1
    clock = _Clock.of(None if cut.times is None else cut.times[np.concatenate([last - lengths + 1, last])])
    ends = clock.said(slice(None)) or [None] * (2 * len(numbers))
    return [
        {
            "number": b,
            "name": None if cut.names is None else str(plainly(cut.names[b])),
            "steps": int(lengths[i]),
            "first": ends[i],
            "last": ends[len(numbers) + i],
        }
        for i, b in enumerate(numbers.tolist())
    ]


def _columns(model: Any) -> list[dict[str, Any]]:
    """Return name, kind and categories of every column."""
    columns = model._schema.columns
    return [
        {"name": column.name, "kind": column.kind.name, "levels": None if levels is None else list(levels)}
        for column, levels in zip(columns, levels_of(model._schema, range(len(columns))), strict=True)
    ]


def _states(model: Any) -> list[dict[str, Any]]:
    """Return name, share of the steps and mean duration of every state; a duration of None never ends."""
    values = zip(model.state_names_, plain(model.occupancy_), plain(model.dwell_), strict=True)
    return [{"name": str(name), "share": share, "dwell": dwell} for name, share, dwell in values]


# ---- one sequence over time --------------------------------------------------------------------------------------


def timeline(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return the steps `from` to `to` (excluded) of a sequence: times, values, probabilities of states, best path.

    Where these are more than `points`, each point stands for `thinned` steps: columns of numbers have the `low` and the
    `high` of them, states the mean probability and the `highest`, path and categories the most frequent one.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> found = timeline(model, [0.1, 5.2, None, 4.9], {"from": 1})
    >>> found["steps"], found["columns"][0]["values"], found["path"]
    ([1, 2, 3], [5.2, None, 4.9], [1, 1, 1])
    """
    check_ask(ask, "sequence", "from", "to", "points", "columns")
    one = _one(model, rows, ask, memo)
    points = Points(*_window(ask, one.length), whole(ask, "points", MOST_POINTS, 2, MOST_POINTS))
    window = slice(int(points.steps[0]), int(points.steps[-1] + points.sizes[-1]))
    mean, highest = points.shares(one.seen.resp[window])
    path = points.commonest(one.seen.path[window], model.n_components_)
    return {
        **one.named(),
        "loglik": float(one.seen.loglik[0]),
        "from": window.start,
        "to": window.stop,
        "thinned": points.width,
        "steps": points.steps.tolist(),
        "times": one.clock.said(points.steps),
        "last_time": (one.clock.said(slice(window.stop - 1, window.stop)) or [None])[0],
        "states": _states(model),
        "probabilities": plain(mean),
        "highest": None if points.width == 1 else plain(highest),
        "path": path.code.tolist(),
        "path_states": None if points.width == 1 else path.n_different.tolist(),
        "columns": [_column(model, one, j, window, points) for j in _chosen(model, ask)],
    }


def _window(ask: Ask, length: int) -> tuple[int, int]:
    first = whole(ask, "from", 0, 0, length - 1)
    return first, whole(ask, "to", length, first + 1, length)


def _chosen(model: Any, ask: Ask) -> list[int]:
    """Return the numbers of the columns that are asked for; by default the first ones."""
    names = [column.name for column in model._schema.columns]
    wanted = ask.get("columns")
    if wanted is None:
        return list(range(min(SHOWN, len(names))))
    if not isinstance(wanted, list):
        raise ParameterError(f"columns={wanted!r:.80} is not a list of names of columns.")
    wrong = [name for name in wanted if name not in names]
    if wrong:
        raise ParameterError(f"columns: {wrong[0]!r:.80} is not a column of the model. Columns: {', '.join(names)}.")
    return [names.index(name) for name in dict.fromkeys(wanted)]


def _column(model: Any, one: _Sequence, j: int, window: slice, points: Points) -> dict[str, Any]:
    """Return one column in a window, and its mean and standard deviation, or its probabilities, in every state."""
    column = model._schema.columns[j]
    found: dict[str, Any] = {"name": column.name, "kind": column.kind.name}
    values = one.values[window, j]
    known = model._expected(np.eye(model.n_components_))[column.name]
    if column.kind.has_categories:
        [levels] = levels_of(model._schema, [j])
        common = points.commonest(np.nan_to_num(values, nan=-1.0).astype(np.int64), len(levels or ()))
        found["levels"] = list(levels or ())
        found["codes"] = [None if code < 0 else code for code in common.code.tolist()]
        found["different"] = None if points.width == 1 else common.n_different.tolist()
        found["shares"] = plain(np.stack(list(known.values()), axis=1))
        return found
    found |= {"means": plain(known["mean"]), "sds": plain(known["sd"])}
    low, high = points.extremes(values)
    return found | ({"values": plain(low)} if points.width == 1 else {"low": plain(low), "high": plain(high)})


# ---- what follows ------------------------------------------------------------------------------------------------


def forecast(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return what follows the last step of a sequence: states, values and times, `steps` ahead.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> found = forecast(model, [[0.1], [-0.3], [0.2]], {"steps": 2})
    >>> np.round(found["columns"][0]["mean"], 2).tolist()
    [0.5, 0.85]
    """
    check_ask(ask, "sequence", "steps", "columns")
    one = _one(model, rows, ask, memo)
    n_steps, chosen = whole(ask, "steps", 10, 1, MOST_AHEAD), _chosen(model, ask)
    ahead = model._forecast(one.seen.sequences, one.seen.cut, n_steps)
    columns = []
    for j in chosen:
        column, parts = model._schema.columns[j], ahead.observations[model._schema.columns[j].name]
        found = {"name": column.name, "kind": column.kind.name}
        if column.kind.has_categories:
            found |= {"levels": [str(level) for level in parts]}
            found |= {"shares": plain(np.stack([shares[0] for shares in parts.values()], axis=1))}
        else:
            found |= {"mean": plain(parts["mean"][0]), "sd": plain(parts["sd"][0])}
        columns.append(found)
    return {
        **one.named(),
        "steps": n_steps,
        "times": None if ahead.times is None else _Clock.of(ahead.times[0]).said(slice(None)),
        "probabilities": plain(ahead.states[0]),
        "columns": columns,
    }


# ---- what they share ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sequence:
    """One sequence, scored; kept between questions."""

    number: int
    seen: ScoredSequences

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.seen.path)

    @cached_property
    def clock(self) -> _Clock:
        """The times of its steps."""
        return _Clock.of(self.seen.cut.times)

    @cached_property
    def values(self) -> Floats:
        """Numbers, and codes of categories, (T, D); NaN where missing."""
        return places(self.seen.sequences.steps)[1]

    def named(self) -> dict[str, Any]:
        """Return what every answer about it has."""
        names = self.seen.cut.names
        return {
            "sequence": self.number,
            "name": None if names is None else str(plainly(names[0])),
            "length": self.length,
            "axis": self.clock.axis,
        }


@dataclass(frozen=True, eq=False)
class _Clock:
    """Times as values that JSON has; `axis` is "date", "number", "text" or "step"."""

    axis: str
    times: NDArray[Any] | None = None
    unit: str = ""  # of dates: all are written alike

    @classmethod
    def of(cls, times: NDArray[Any] | None) -> _Clock:
        if times is None:
            return cls("step")
        clock = as_clock(times)
        if clock is None:
            return cls("text", times)
        if clock.dtype.kind != "M":
            return cls("number", clock)
        units = (unit for unit in ("D", "s", "ms") if (clock.astype(f"datetime64[{unit}]") == clock).all())
        return cls("date", clock, next(units, "us"))

    def said(self, places: Any) -> list[Any] | None:
        """Return the times of some steps; None where there are none."""
        if self.times is None:
            return None
        some = self.times[places]
        if self.axis == "date":
            found: list[Any] = np.datetime_as_string(some.astype(f"datetime64[{self.unit}]")).tolist()
            return found
        return [str(plainly(time)) for time in some] if self.axis == "text" else plain(some)


def _read(model: Any, rows: Any, memo: Memo) -> tuple[Sequences, Cut]:
    """Return all sequences, encoded."""
    if rows is None:
        raise ParameterError("this view shows sequences: open the data too.")
    return remembered(memo, "sequences", lambda: model._sequences(rows, None, None, None))


def _one(model: Any, rows: Any, ask: Ask, memo: Memo) -> _Sequence:
    """Return the sequence of a question; by default the first."""
    found, cut = _read(model, rows, memo)
    wanted = ask.get("sequence", 0)
    b = cut.number(wanted) if isinstance(wanted, str) else whole(ask, "sequence", 0, 0, len(cut.lengths) - 1)
    return remembered(memo, ("sequence", b), lambda: _Sequence(b, scored(model, found.take([b]), cut.only(b))))


# ---- rows of the table -------------------------------------------------------------------------------------------


def names(model: Any) -> list[str]:
    """Return the names of the states."""
    return [str(name) for name in model.state_names_]


def answers(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[pa.Table]:
    """Yield state, certainty and probabilities of the rows of a file, in their order."""
    _, proba = posterior(model, reading, request)
    state = pa.array(names(model)).take(pa.array(proba.argmax(axis=1)))
    found = {"class": state, "certainty": proba.max(axis=1)}
    yield pa.table(found | {f"p{k}": proba[:, k] for k in range(proba.shape[1])})


SCREENS = (("timeline", "Timeline"),)
VIEWS = {"sequences": sequences, "timeline": timeline, "forecast": forecast}
