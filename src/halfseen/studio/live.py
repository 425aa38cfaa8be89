"""What pages see of a running fit: the curve of every start, whole however seldom one looks, and what it found.

A look sends only what is new since the last one. When a search has ended and another begun (another number of classes),
the rest of the earlier one is sent first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from halfseen.data import Table, read
from halfseen.engine.services.progress import Curve, Progress, Snapshot
from halfseen.errors import HalfseenError
from halfseen.estimators.table.view import TableView
from halfseen.studio.outlines import outlines
from halfseen.studio.versions import finite

SETTLED = 5  # iterations after which the two columns of the picture stay the same
BETWEEN = 0.25  # seconds between two pictures
MOST_MEANS = 12  # columns whose means are sent

Sampled = Callable[[list[str]], pa.Table]


class Live:
    """The looks at a fit.

    Parameters
    ----------
    sampled : callable, optional     returns some rows of these columns, to be shown as points
    """

    def __init__(self, sampled: Sampled | None = None) -> None:
        self._sampled = sampled
        self._state: Progress | None = None
        self._sent: dict[int, tuple[int, str]] = {}  # of each start: points, and the state of its run
        self._axes: list[int] | None = None
        self._rows: tuple[Any, Table | None] = (None, None)
        self._pictured = -BETWEEN

    def look(self, state: Progress) -> Iterator[dict[str, Any]]:
        """Yield what is new: of an earlier search, then of the present one."""
        before = self._state
        if before is not None and before.search != state.search:
            yield self._said(before, last=True)
            self._sent, self._axes = {}, None
        self._state = state
        yield self._said(state)

    def last(self) -> Iterator[dict[str, Any]]:
        """Yield what is new since the last look, when the fit has ended."""
        if self._state is not None:
            yield self._said(self._state, last=True)

    def _said(self, state: Progress, last: bool = False) -> dict[str, Any]:
        snapshot = state.snapshot()
        return {
            "search": state.search,
            "n_components": state.n_components,
            "n_starts": state.n_starts,
            "n_running": 0 if last else state.n_running,
            "n_passes": state.n_passes,
            "max_iter": state.max_iter,
            "objective": finite(state.objective),
            "polishing": state.polishing,
            "curves": {str(curve.number): new for curve in snapshot.curves if (new := self._new(curve)) is not None},
            "seen": self._seen(state, snapshot, last),
        }

    def _new(self, curve: Curve) -> dict[str, Any] | None:
        """Return what is new of a curve; None where nothing is."""
        sent = self._sent.get(curve.number, (0, ""))
        self._sent[curve.number] = len(curve.objectives), curve.state
        if sent == self._sent[curve.number]:
            return None
        values = [finite(value) for value in curve.objectives[sent[0] :]]
        return {"from": sent[0], "values": values, "state": curve.state}

    # ---- what it found -------------------------------------------------------------------------------------------

    def _seen(self, state: Progress, snapshot: Snapshot, last: bool) -> dict[str, Any] | None:
        """Return shares, means and a picture of the leading run; None where it is too early, or there is nothing."""
        view = snapshot.view
        if not isinstance(view, TableView) or (monotonic() - self._pictured < BETWEEN and not last):
            return None
        self._pictured = monotonic()
        means = [column for column in view.columns if column.mean is not None][:MOST_MEANS]
        return {
            "start": snapshot.leader,
            "shares": [float(share) for share in view.shares],
            "means": [{"column": one.name, "values": [finite(v) for v in one.mean]} for one in means],  # type: ignore[union-attr]
            **self._picture(view, state.n_passes),
        }

    def _picture(self, view: TableView, n_passes: int) -> dict[str, Any]:
        """Return rows as points in their classes and the outlines of these, over two columns."""
        if len(view.places) < 2:
            return {"points": None, "ellipses": None}
        axes = self._axes or np.argsort(-view.separation, kind="stable")[:2].tolist()
        if n_passes >= SETTLED:
            self._axes = axes
        names = [view.schema.names[view.places[j]] for j in axes]
        covs = view.covariances[:, [[axes[0]] * 2, [axes[1]] * 2], [axes, axes]]
        found = outlines(view.means[:, axes], covs, view.owner)
        table = self._encoded(view)
        points = None
        if table is not None:
            seen = view.scatter(table)
            values = seen.values[:, axes]
            there = np.isfinite(values).all(axis=1)
            owner = seen.proba.argmax(axis=1) if np.isfinite(seen.proba).all() else None
            points = {
                "columns": names,
                "values": values[there].tolist(),
                "classes": None if owner is None else owner[there].tolist(),
            }
        return {"points": points, "ellipses": {"columns": names, "classes": found}}

    def _encoded(self, view: TableView) -> Table | None:
        """Return the sampled rows as the fit reads them; they are encoded once for each schema."""
        if self._sampled is None:
            return None
        if self._rows[0] is not view.schema:
            try:
                found: Table | None = view.schema.encode(read(self._sampled(list(view.schema.names))))
            except HalfseenError:  # the fit itself says what is wrong with the rows
                found = None
            self._rows = view.schema, found
        return self._rows[1]
