"""Frames whose rows other processes hold: which cluster holds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from halfseen.errors import DataError, DataTypeError
from halfseen.seeds import child, seed_of
from halfseen.sums import NOTHING, Nothing

_opened: ContextVar[list[Any] | None] = ContextVar("clusters that a fit has opened", default=None)


def is_elsewhere(X: Any) -> bool:
    """Whether other processes hold the rows of a table."""
    return _is_dask(X) or _is_spark(X)


def rows_of(X: Any, weight: Any = None, target: Any = None) -> Any:
    """Return a table to fit to: a source for rows that other processes hold, anything else as it is."""
    if is_elsewhere(X):
        from halfseen.engine.tables.lane_source import LaneSource

        return LaneSource(_cluster_of(X), weight, target)
    if hasattr(X, "__halfseen_lanes__"):
        return X.__halfseen_lanes__(weight, target)
    if _is_ray(X):
        from halfseen.engine.tables.lane_source import LaneSource
        from halfseen.runners.ray import RayCluster

        return LaneSource(RayCluster(X), weight, target)
    return X


@contextmanager
def clusters_closed() -> Iterator[None]:
    """Let the clusters that are opened in a block close when it ends: some keep lanes in files."""
    token = _opened.set([])
    try:
        yield
    finally:
        for cluster in _opened.get() or ():
            cluster.close()
        _opened.reset(token)


def _cluster_of(X: Any) -> Any:
    cluster = _engine(X).cluster_of(X)
    opened = _opened.get()
    if opened is not None and hasattr(cluster, "close"):
        opened.append(cluster)
    return cluster


def _engine(X: Any) -> Any:
    """Return the module of the engine that holds a frame."""
    if _is_dask(X):
        from halfseen.runners import dask

        return dask
    from halfseen.runners import spark

    return spark


def summed(X: Any, model: Any, method: str, weight: Any = None, target: Any = None) -> Any:
    """Return the sum over the partitions of a frame of what a method says of their rows, labels and weights."""
    from halfseen.data.partition import Layout
    from halfseen.engine.tables.lanes import added

    if _is_spark(X):
        from halfseen.runners.spark_mapped import needed

        X = needed(X, model, (weight, target))
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


def _is_ray(X: Any) -> bool:
    return type(X).__module__ == "ray.data.dataset"


def refuse_ray(X: Any, method: str) -> None:
    """Refuse a Ray dataset where rows are answered one by one: Ray itself maps over its blocks."""
    if _is_ray(X):
        raise DataTypeError(
            f"{method} takes no Ray dataset. Let Ray call it for each block: dataset.map_batches(lambda block: "
            f"pyarrow.table({{'answer': model.{method}(block)}}), batch_format='pyarrow')."
        )


def _is_dask(X: Any) -> bool:
    return type(X).__module__.startswith(("dask.dataframe", "dask_expr")) and hasattr(X, "map_partitions")


def _is_spark(X: Any) -> bool:
    return type(X).__module__.startswith("pyspark.sql") and type(X).__name__ == "DataFrame"


def mapped(X: Any, model: Any, method: str, arguments: Any, named: Any, called: str, names: list[str]) -> Any:
    """Return the answers of a method for all rows of a frame, computed where they are, lazily."""
    given = signature(getattr(model, method)).bind(X, *arguments, **named).arguments
    seed = None
    if given.get("draw"):
        random_state = given.get("random_state")
        seed = seed_of(model.random_state if random_state is None else random_state)
    del given["X"]
    return _engine(X).mapped(X, model, Ask(method, given, called, tuple(names), seed))


@dataclass(frozen=True)
class Ask:
    """A method of a model, asked of one partition.

    Parameters
    ----------
    method : str
    given : dict              its arguments beside the table
    called : str              the column of the answer, if it has one
    names : tuple of str      its columns, if it has one for each class
    seed : SeedSequence, optional    of the draws, if it draws
    """

    method: str
    given: dict[str, Any]
    called: str
    names: tuple[str, ...]
    seed: Any = None

    @property
    def replaces(self) -> bool:
        """Whether the answer is the table with other cells."""
        return not self.called

    def __call__(self, frame: Any, model: Any, empty: Any = None, partition_info: Any = None) -> Any:
        """Return the answer for a pandas frame, with its index; `empty` is that for no rows, which no method takes.

        Dask passes `partition_info`.
        """
        import pandas as pd

        if not len(frame):
            return empty
        answer = self.answer(frame, model, *(() if partition_info is None else (partition_info["number"],)))
        if isinstance(answer, pd.DataFrame):
            return answer
        if answer.ndim == 1:
            return pd.Series(answer, index=frame.index, name=self.called)
        return pd.DataFrame(answer, index=frame.index, columns=list(self.names))

    def answer(self, frame: Any, model: Any, *key: int) -> Any:
        """Return what the model answers for some rows; `key` is theirs, so that others have other draws."""
        drawn = {} if self.seed is None else {"random_state": np.random.default_rng(child(self.seed, *key))}
        return getattr(model, self.method)(frame, **self.given | drawn)

    def columns(self, answer: Any) -> dict[str, Any]:
        """Return an array by its columns."""
        return {self.called: answer} if answer.ndim == 1 else dict(zip(self.names, answer.T, strict=True))
