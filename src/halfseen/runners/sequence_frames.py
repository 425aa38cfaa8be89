"""Dask frames of steps: each partition holds whole sequences, which a column or the index names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from halfseen.errors import DataTypeError, ParameterError
from halfseen.runners.frames import _is_dask, is_elsewhere
from halfseen.sums import NOTHING, Nothing


def is_distributed(X: Any) -> bool:
    """Whether other processes hold the steps of a table of sequences; refuse frames of engines other than Dask."""
    if is_elsewhere(X) and not _is_dask(X):
        raise DataTypeError(
            f"sequences in a {type(X).__name__} of {type(X).__module__.partition('.')[0]} are not read: only Dask has "
            "them. Pass a Dask frame, or the sequences in a data frame of this process."
        )
    return _is_dask(X)


def sequences_of(X: Any, groups: Any, time: Any = None, weight: Any = None, target: Any = None) -> Any:
    """Return a source for sequences that other processes hold; None for any other table."""
    if not is_distributed(X):
        return X if getattr(X, "elsewhere", False) else None
    from halfseen.engine.tables.lane_source import SequenceSource

    cluster = _cluster_of(X, groups)
    return SequenceSource(cluster, _layout(cluster, groups, time, weight, target))


def mapped(X: Any, model: Any, method: str, given: dict[str, Any], called: str, names: list[str]) -> Any:
    """Return the answers of a method for all steps, or sequences, of a frame, computed where they are, lazily.

    That no sequence is in two partitions is checked now.
    """
    from halfseen.data.sequence_partition import NamesIn
    from halfseen.engine.tables.lane_source import refuse_split
    from halfseen.runners import dask

    if given.get("draw"):
        raise ParameterError(
            "draw=True: every partition of a Dask frame would get the same draws. Give each a seed of its own: "
            "model.impute(frame.partitions[i].compute(), draw=True, random_state=i)."
        )
    groups = given["groups"]
    cluster = _cluster_of(X, groups)
    _layout(cluster, groups, given.get("time"))
    cluster = _cluster_of(X if _is_index(X, groups) else X[[groups]], groups)
    found = [hashes for _, hashes in cluster.learned(NamesIn(groups)) if hashes is not None]
    if found:
        refuse_split(cluster, groups, np.concatenate(found))
    return dask.mapped(X, model, AskSequences(method, given, called, tuple(names), _is_index(X, groups)))


def summed(X: Any, model: Any, method: str, groups: Any, time: Any) -> Any:
    """Return the sum over the partitions of a frame of what a method says of their sequences."""
    source = sequences_of(X, groups, time)
    source.check_whole()
    cluster = _cluster_of(X, groups)
    from halfseen.engine.tables.lanes import added

    answers = list(cluster.learned(ToldSequences(_layout(cluster, groups, time), model, method)))
    total = added(answers, len(answers))
    assert not isinstance(total, Nothing)
    return total


def _cluster_of(X: Any, groups: Any) -> Any:
    from halfseen.runners.dask import cluster_of

    return cluster_of(X.reset_index() if _is_index(X, groups) else X)


def _is_index(X: Any, groups: Any) -> bool:
    """Whether the names of sequences are the index of a frame."""
    return isinstance(groups, str) and X.index.name == groups and groups not in X.columns


def _layout(cluster: Any, groups: Any, time: Any, weight: Any = None, target: Any = None) -> Any:
    from halfseen.data.sequence_partition import SequenceLayout

    return SequenceLayout.of_sequences(cluster.names, groups, time, weight, target)


def check_lengths(lengths: Any) -> None:
    """Refuse lengths of sequences that other processes hold."""
    if lengths is not None:
        raise ParameterError("lengths=: sequences that other processes hold are named by a column: give groups=.")


@dataclass(frozen=True)
class ToldSequences:
    """What a method of a model says of the sequences of a partition: a task for those who hold it.

    Parameters
    ----------
    layout : SequenceLayout
    model : estimator
    method : str         a method that takes steps and lengths, and returns something that adds
    """

    layout: Any
    model: Any
    method: str

    def __call__(self, frame: Any) -> Any:
        """Return it; nothing if no sequence counts."""
        part = self.layout.read(frame)
        return NOTHING if part is None else getattr(self.model, self.method)(part.source, part.lengths)


@dataclass(frozen=True)
class AskSequences:
    """A method of a model, asked of the sequences of one partition.

    Parameters
    ----------
    method : str
    given : dict              its arguments beside the table
    called : str              the column of the answer, if it has one
    names : tuple of str      its columns, if it has one for each state
    index : bool              whether the names of sequences are the index
    """

    method: str
    given: dict[str, Any]
    called: str
    names: tuple[str, ...]
    index: bool

    def __call__(self, frame: Any, model: Any, empty: Any = None) -> Any:
        """Return the answer for a pandas frame, with its index; `empty` is that for no rows."""
        import pandas as pd

        if not len(frame):
            return empty
        if empty is None:
            frame = frame.iloc[:1]  # of invented cells, to see what columns the answer has: one step for each time
        answer = getattr(model, self.method)(frame.reset_index() if self.index else frame, **self.given)
        if isinstance(answer, pd.DataFrame):
            return answer.set_index(self.given["groups"]) if self.index else answer
        if isinstance(answer, pd.Series):
            return answer
        if answer.ndim == 1:
            return pd.Series(answer, index=frame.index, name=self.called)
        return pd.DataFrame(answer, index=frame.index, columns=list(self.names))
