"""What follows the last step of sequences: probabilities of states and values, with names and times.

Times of the steps ahead are known where those of the sequence are regular: equally far apart, working days, or the same
day (or the last) of following months.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Cut, Source, frame_from_dict
from halfseen.data.sequences import plainly
from halfseen.kinds.wording import cut as cut_name
from halfseen.kinds.wording import percent, spread
from halfseen.leaves.leaf import Floats

MOST = 20  # rows that are printed
DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, repr=False)
class Forecast:
    """What comes next, for every sequence. It prints as a table; `to_frame` returns all numbers.

    Attributes
    ----------
    states : (B, H, K) array           probability of each state, 1 to H steps ahead
    observations : dict                by column: {"mean": (B, H), "sd": (B, H)} of numbers and counts,
                                       {category: (B, H)} of categories
    names : tuple or None              names of the sequences, if a column or `groups` has them
    times : (B, H) array or None       times of the steps ahead, if those of the sequences are known and regular

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> days = np.array(["2026-01-05", "2026-01-06", "2026-01-05", "2026-01-06"], dtype="datetime64[D]")
    >>> model.forecast([0.1, -0.3, 4.9, 5.2], steps=2, groups=["a", "a", "b", "b"], time=days)
    sequence  step  time        state 0  state 1          x
    a            1  2026-01-07      90%      10%  0.5 ± 1.8
    a            2  2026-01-08      83%      17%  0.9 ± 2.1
    b            1  2026-01-07      20%      80%  4.0 ± 2.2
    b            2  2026-01-08      34%      66%  3.3 ± 2.6
    """

    states: Floats
    observations: dict[str, dict[Any, Floats]]
    _template: Source
    _state_names: tuple[str, ...]
    names: tuple[Any, ...] | None = None
    times: NDArray[Any] | None = None

    def to_frame(self) -> Any:
        """Return a table with a row for each sequence and step ahead, in the library of the data.

        Columns are the sequence (its name, or else its number), the step ahead, the time where it is known, the
        probability of each state by its name, and of each column of the data its mean and sd ("x mean", "x sd") or the
        probability of each category ("x=a").

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
        >>> model.forecast([0.1, -0.3, 4.9, 5.2], groups=["a", "a", "b", "b"]).to_frame().round(2)
          sequence  step  state 0  state 1  x mean  x sd
        0        a     1      0.9      0.1     0.5  1.80
        1        b     1      0.2      0.8     4.0  2.24
        """
        columns: dict[str, list[Any]] = self._marks()
        for k, name in enumerate(self._state_names):
            columns[name] = self.states[:, :, k].ravel().tolist()
        for column, parts in self.observations.items():
            for part, values in parts.items():
                columns[f"{column} {part}" if part in ("mean", "sd") else f"{column}={part}"] = values.ravel().tolist()
        return frame_from_dict(columns, self._template)

    def _marks(self) -> dict[str, list[Any]]:
        """Return sequence, step ahead and time of every row."""
        n_sequences, n_steps, _ = self.states.shape
        names = range(n_sequences) if self.names is None else [plainly(name) for name in self.names]
        found: dict[str, list[Any]] = {
            "sequence": [name for name in names for _ in range(n_steps)],
            "step": list(range(1, n_steps + 1)) * n_sequences,
        }
        if self.times is not None:
            found["time"] = [_as_time(value) for value in self.times.ravel()]
        return found

    def __repr__(self) -> str:
        marks = self._marks()
        if "time" in marks:
            marks["time"] = [plainly(value) for value in self.times.ravel()[:MOST]]  # type: ignore[union-attr]
        shown = {name: [cut_name(str(value), 24) for value in values[:MOST]] for name, values in marks.items()}
        left = [name for name in shown if name != "step"]
        for k, name in enumerate(self._state_names):
            shown[name] = [percent(share) for share in self.states[:, :, k].ravel()[:MOST].tolist()]
        for column, parts in self.observations.items():
            if "mean" in parts and "sd" in parts:
                both = zip(parts["mean"].ravel()[:MOST].tolist(), parts["sd"].ravel()[:MOST].tolist(), strict=True)
                shown[cut_name(column, 24)] = [spread(mean, sd) for mean, sd in both]
            else:
                for part, values in parts.items():
                    label = cut_name(f"{column} {part}" if part in ("mean", "sd") else f"{column}={part}", 24)
                    shown[label] = [percent(value) for value in values.ravel()[:MOST].tolist()]
        more = len(marks["step"]) - len(shown["step"])
        ending = [f"... {more} more rows: to_frame() returns all"] if more else []
        return "\n".join([*_aligned(shown, left), *ending])


def _as_time(value: Any) -> Any:
    """Return a time as a value of Python: nanoseconds would become whole numbers."""
    return value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value.item()


def _aligned(columns: dict[str, list[str]], left: list[str]) -> list[str]:
    """Return the lines of a table, columns in `left` aligned to the left."""
    widths = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return [
        "  ".join(
            cell.ljust(widths[name]) if name in left else cell.rjust(widths[name])
            for name, cell in zip(columns, row, strict=True)
        ).rstrip()
        for row in rows
    ]


def times_ahead(cut: Cut, steps: int) -> NDArray[Any] | None:
    """Return the times of the steps that follow each sequence, (B, H); None where one has irregular times, or none.

    Examples
    --------
    >>> months = np.array(["2026-01-31", "2026-02-28", "2026-03-31"], dtype="datetime64[D]")
    >>> times_ahead(Cut(np.array([3]), times=months), 2).astype(str).tolist()
    [['2026-04-30', '2026-05-31']]
    >>> times_ahead(Cut(np.array([3]), times=np.array([1, 2, 7])), 2) is None
    True
    """
    times = cut.clock()
    if times is None:
        return None
    found = []
    for own in np.split(times, np.cumsum(cut.lengths)[:-1]):
        ahead = _following(own, steps) if len(own) > 1 else None
        if ahead is None:
            return None
        found.append(ahead)
    return np.stack(found)


def _following(own: NDArray[Any], steps: int) -> NDArray[Any] | None:
    """Return the times that follow regular ones."""
    number = np.arange(1, steps + 1)
    if own.dtype.kind == "M":
        days = own.astype("datetime64[D]")
        ahead = None if (days != own).any() else _months(days, number)
        if ahead is not None:
            return ahead.astype(own.dtype)
    gaps = np.diff(own)
    tolerance = 1e-9 * np.abs(own).max() if own.dtype.kind == "f" else 0 * gaps[0]
    if (np.abs(gaps - gaps[0]) <= tolerance).all():
        return own[-1] + number * gaps[0]
    if own.dtype.kind != "M" or (days != own).any() or not np.is_busday(days).all():
        return None
    following = (np.busday_count(days[:-1], days[1:]) == 1).all()
    return np.busday_offset(days[-1], number).astype(own.dtype) if following else None


def _months(days: NDArray[Any], number: NDArray[Any]) -> NDArray[Any] | None:
    """Return the days that follow the same day, or the last, of months that are equally far apart."""
    months = days.astype("datetime64[M]")
    gaps = np.diff(months)
    if gaps[0] < np.timedelta64(1, "M") or (gaps != gaps[0]).any():
        return None
    ahead = months[-1] + number * gaps[0]
    if ((months + 1).astype("datetime64[D]") - DAY == days).all():  # the last of each month
        return (ahead + 1).astype("datetime64[D]") - DAY
    within = days - months.astype("datetime64[D]")
    if (within == within[0]).all() and within[0] < 28 * DAY:
        return ahead.astype("datetime64[D]") + within[0]
    return None
