"""Frames whose rows other processes hold: which cluster holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from halfseen.errors import DataError
from halfseen.sums import NOTHING, Nothing


def is_elsewhere(X: Any) -> bool:
    """Whether other processes hold the rows of a table."""
    return _is_dask(X)


def rows_of(X: Any, weight: Any = None, target: Any = None) -> Any:
    """Return a table to fit to: a source for rows that other processes hold, anything else as it is."""
    if is_elsewhere(X):
        from halfseen.engine.tables.lane_source import LaneSource

        return LaneSource(_cluster_of(X), weight, target)
    if hasattr(X, "__halfseen_lanes__"):
        return X.__halfseen_lanes__(weight, target)
    return X


def summed(X: Any, model: Any, method: str, weight: Any = None, target: Any = None) -> Any:
    """Return the sum over the partitions of a frame of what a method says of their rows, labels and weights."""
    from halfseen.data.partition import Layout
    from halfseen.engine.tables.lanes import added

    cluster = _cluster_of(X)
    task = Told(Layout.of(cluster.names, weight, target), model, method)
    answers = list(cluster.learned(task))
    total = added(answers, len(answers)) if answers else NOTHING
    if isinstance(total, Nothing):
        raise DataError(f"{cluster.title} has no rows that count.")
    return total


@dataclass(frozen=True)
class Told:
    """What a method of a model says of the rows of a partition: a task for those who hold it.

    Parameters
    ----------
    layout : Layout
    model : estimator
    method : str         a method that takes rows, labels and weights, and returns something that adds
    """

    layout: Any
    model: Any
    method: str

    def __call__(self, frame: Any) -> Any:
        """Return it; nothing if no row counts."""
        part = self.layout.read(frame)
        return NOTHING if part is None else getattr(self.model, self.method)(part.source, part.labels, part.weight)


def _cluster_of(X: Any) -> Any:
    from halfseen.runners.dask import cluster_of

    return cluster_of(X)


def _is_dask(X: Any) -> bool:
    return type(X).__module__.startswith(("dask.dataframe", "dask_expr")) and hasattr(X, "map_partitions")


def mapped(X: Any, model: Any, method: str, arguments: Any, named: Any, called: str, names: list[str]) -> Any:
    """Return the answers of a method for all rows of a frame, computed where they are, lazily."""
    from halfseen.runners import dask

    return dask.mapped(X, model, Ask(method, tuple(arguments), dict(named), called, tuple(names)))


@dataclass(frozen=True)
class Ask:
    """A method of a model, asked of one partition.

    Parameters
    ----------
    method : str
    arguments, named :        of the method, after the table
    called : str              the column of the answer, if it has one
    names : tuple of str      its columns, if it has one for each class
    """

    method: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    called: str
    names: tuple[str, ...]

    def __call__(self, frame: Any, model: Any, empty: Any = None) -> Any:
        """Return the answer for a pandas frame, with its index; `empty` is that for no rows, which no method takes."""
        import pandas as pd

        if not len(frame):
            return empty
        answer = getattr(model, self.method)(frame, *self.arguments, **self.named)
        if isinstance(answer, pd.DataFrame):
            return answer
        if answer.ndim == 1:
            return pd.Series(answer, index=frame.index, name=self.called)
        return pd.DataFrame(answer, index=frame.index, columns=list(self.names))
