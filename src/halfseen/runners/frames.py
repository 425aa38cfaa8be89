"""Frames whose rows other processes hold: which cluster holds them, and how a model is asked about their rows.

Vocabulary
----------
held        rows that other processes hold: frames of Dask and Spark, datasets of Ray, files that workers read
elsewhere   those whose rows are answered one by one, lazily: frames of Dask and Spark
`Ask`       a method of a model, asked of one partition; answers are rows
`Told`      the same where answers are added
"""

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


def is_held(X: Any) -> bool:
    """Whether other processes hold the rows of a table."""
    return is_elsewhere(X) or is_ray(X) or hasattr(X, "__halfseen_cluster__")


def is_elsewhere(X: Any) -> bool:
    """Whether other processes hold the rows of a table, and answer for them one by one."""
    return is_dask(X) or is_spark(X)


def is_dask(X: Any) -> bool:
    """Whether this is a frame or a series of Dask."""
    return type(X).__module__.startswith(("dask.dataframe", "dask_expr")) and hasattr(X, "map_partitions")


def is_spark(X: Any) -> bool:
    """Whether this is a frame of Spark, classic or Connect."""
    return type(X).__module__.startswith("pyspark.sql") and type(X).__name__ == "DataFrame"


def is_ray(X: Any) -> bool:
    """Whether this is a dataset of Ray."""
    return type(X).__module__ == "ray.data.dataset"


def refuse_ray(X: Any, method: str, groups: str | None = None) -> None:
    """Refuse a Ray dataset where rows are answered one by one: Ray itself maps over its blocks, or over `groups`."""
    if is_ray(X):
        each = "block: dataset.map_batches" if groups is None else f"sequence: dataset.groupby({groups!r}).map_groups"
        raise DataTypeError(
            f"{method} takes no Ray dataset. Let Ray call it for each {each}(lambda rows: "
            f"pyarrow.table({{'answer': model.{method}(rows)}}), batch_format='pyarrow')."
        )


def rows_of(X: Any, weight: Any = None, target: Any = None) -> Any:
    """Return a table to fit to: a source for rows that other processes hold, anything else as it is."""
    if not is_held(X):
        return X
    from halfseen.engine.tables.lane_source import LaneSource

    return LaneSource(cluster_of(X), **roles_of(X, weight=weight, target=target))


def roles_of(X: Any, **given: Any) -> dict[str, Any]:
    """Return the columns of weights and labels: those given, else those that a table in files has."""
    own: dict[str, Any] = getattr(X, "roles", {}) if hasattr(X, "__halfseen_cluster__") else {}
    return {**given, **own, **{role: column for role, column in given.items() if column is not None}}


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


def cluster_of(X: Any) -> Any:
    """Return the cluster that holds the rows of a table."""
    if hasattr(X, "__halfseen_cluster__"):
        return X.__halfseen_cluster__
    if is_ray(X):
        from halfseen.runners.ray import RayCluster

        return RayCluster(X)
    cluster = _engine(X).cluster_of(X)
    opened = _opened.get()
    if opened is not None and hasattr(cluster, "close"):
        opened.append(cluster)
    return cluster


def _engine(X: Any) -> Any:
    """Return the module of the engine that holds a frame."""
    if is_dask(X):
        from halfseen.runners import dask

        return dask
    from halfseen.runners import spark

    return spark


# ---- sums ------------------------------------------------------------------------------------------------------------


def summed(X: Any, model: Any, method: str, weight: Any = None, target: Any = None) -> Any:
    """Return the sum over the partitions of a frame of what a method says of their rows, labels and weights."""
    from halfseen.data.partition import Layout

    if is_spark(X):
        from halfseen.runners.spark_mapped import needed

        X = needed(X, model, (weight, target))
    cluster = cluster_of(X)
    return told(cluster, Told(Layout.of(cluster.names, weight, target), model, method))


def told(cluster: Any, task: Told) -> Any:
    """Return the sum over the partitions of a cluster."""
    from halfseen.engine.tables.lanes import added

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
    layout : Layout      reads a part, whose `given` are the arguments of the method
    model : estimator
    method : str         a method that returns something that adds
    """

    layout: Any
    model: Any
    method: str

    def __call__(self, frame: Any) -> Any:
        """Return it; nothing if no row counts."""
        part = self.layout.read(frame)
        return NOTHING if part is None else getattr(self.model, self.method)(*part.given)


# ---- rows ------------------------------------------------------------------------------------------------------------


def mapped(X: Any, model: Any, method: str, arguments: Any, named: Any, called: str, names: list[str]) -> Any:
    """Return the answers of a method for all rows of a frame, computed where they are, lazily."""
    given = signature(getattr(model, method)).bind(X, *arguments, **named).arguments
    del given["X"]
    return _engine(X).mapped(X, model, Ask.of(model, method, given, called, names))


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
    index : str, optional     the index of a partition that the model reads as a column
    """

    method: str
    given: dict[str, Any]
    called: str
    names: tuple[str, ...]
    seed: Any = None
    index: str | None = None

    @classmethod
    def of(
        cls, model: Any, method: str, given: dict[str, Any], called: str, names: list[str], index: str | None = None
    ) -> Ask:
        """Return what is asked, with the seed of the draws if there are any."""
        seed = None
        if given.get("draw"):
            random_state = given.get("random_state")
            seed = seed_of(model.random_state if random_state is None else random_state)
        return cls(method, given, called, tuple(names), seed, index)

    @property
    def replaces(self) -> bool:
        """Whether the answer is the table with other cells."""
        return not self.called

    def __call__(self, frame: Any, model: Any, empty: Any = None, partition_info: Any = None) -> Any:
        """Return the answer for a pandas frame, with its index; `empty` is that for no rows, which no method takes.

        Without `empty` cells are invented, to see what columns the answer has: the first row is enough, and has one
        step of each sequence and time. Dask passes `partition_info`.
        """
        import pandas as pd

        if not len(frame):
            return empty
        if empty is None:
            frame = frame.iloc[:1]
        rows = frame if self.index is None else frame.reset_index()
        answer = self.answer(rows, model, *(() if partition_info is None else (partition_info["number"],)))
        if isinstance(answer, pd.DataFrame):
            return answer if self.index is None else answer.set_index(self.index)
        if isinstance(answer, pd.Series):
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
