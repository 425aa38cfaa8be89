"""Widgets of notebooks, through anywidget: the studio, and the curve of a fit that a cell runs.

Imported only where there is anywidget; `notebook` and `watch` say in words where there is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from halfseen.studio.browser_module import browser_module
from halfseen.studio.messages import Correspondence
from halfseen.studio.session import Session

MOST = 8  # studios of a process: each has a copy of its rows; the oldest is closed when another one opens

_open: deque[StudioWidget] = deque()


class StudioWidget(anywidget.AnyWidget):
    """The studio in a notebook; `halfseen.studio` makes it.

    Attributes
    ----------
    model : fitted estimator or None     the version that is shown, with its names and as it was fitted last
    models : dict of int                 all versions, by number
    labels : dict                        row -> name of its class, as set by hand
    revision : int                       grows with every change, where a page is open: for ``observe``
    """

    _esm = browser_module("notebook/studio.js")

    screen: Any = traitlets.Unicode().tag(sync=True)
    revision: Any = traitlets.Int().tag(sync=True)

    def __init__(self, session: Session) -> None:
        super().__init__(screen="" if session.shown is None else "classes")  # where views begin
        self._session = session
        self._pages = Correspondence(session, lambda message, beside: self.send(message, buffers=beside or None))
        self.on_msg(lambda widget, content, buffers: self._pages.hear(content))
        _open.append(self)
        for other in [other for other in _open if other.is_closed]:
            other.close()
        while len(_open) > MOST:
            _open[0].close()

    @property
    def is_closed(self) -> bool:
        """Whether the page cannot ask any more, as its cell was run again (marimo)."""
        comm = self.comm
        return comm is None or bool(getattr(comm, "_closed", False))

    @property
    def model(self) -> Any:
        """The version that is shown; None before the first fit."""
        return self._own(self._session.shown)

    @property
    def models(self) -> dict[int, Any]:
        """All versions, by number."""
        return {version.number: self._own(version) for version in self._session.versions}

    def _own(self, version: Any) -> Any:
        held = self._session.held
        return None if version is None else version.model if held is None else held.of_user(version.model)

    @property
    def labels(self) -> dict[int, str]:
        """The classes of rows that were set by hand."""
        return dict(self._session.now.labels)

    def close(self) -> None:
        """Close the studio: its fit ends, and its copy of the rows is deleted."""
        if self in _open:
            _open.remove(self)
            self._session.close()
            self._pages.close()
        super().close()


class LiveCurve(anywidget.AnyWidget):
    """A fit that runs in a cell, as it runs; `halfseen.watch` makes it.

    Its traits hold all that is told of the fit, so that a view that opens late, or again, misses nothing.
    """

    _esm = browser_module("notebook/watch.js")
    told: Any = traitlets.Dict().tag(sync=True)
    earlier: Any = traitlets.List().tag(sync=True)

    def __init__(self, told: dict[str, Any], stop: Callable[[], object]) -> None:
        super().__init__(told=told)

        def hear(widget: Any, content: Any, buffers: Any) -> None:
            if isinstance(content, dict) and content.get("stop") is True and not self.told["ended"]:
                self.told = {**self.told, "stopping": True}
                stop()

        self.on_msg(hear)
