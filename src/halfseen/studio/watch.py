"""A call that fits, watched: its curve as a widget in a notebook, one line of progress on a terminal.

The call runs in the thread that asks for it, as it would without being watched, with the same result.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from halfseen import families
from halfseen.app import console, status_line
from halfseen.engine.services.progress import Draws, Progress, watching
from halfseen.errors import HalfseenError, ParameterError
from halfseen.estimators.convergence import unfinished
from halfseen.optional import optional
from halfseen.stop_request import stopping_when
from halfseen.studio.display import display

if TYPE_CHECKING:
    from halfseen.studio.live import Live, Sampled
    from halfseen.studio.widgets import LiveCurve

PAUSE = 0.1  # seconds between two looks at a fit,
SHARE = 8  # and so many times as long as a look takes
MOST_POINTS = 5000  # of all curves of a search, each time it is sent: about 100 kB
MOST_ROWS = 250  # shown while a fit runs
KEPT = 12  # searches

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

log = logging.getLogger("halfseen")


def watch(call: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Call a function, such as the `fit` of a model, and show how its fit goes while it runs.

    In a notebook (Jupyter, marimo, VS Code; extra halfseen[notebook]) the cell shows the curve of every start, what is
    found so far, and a button that stops the fit. Elsewhere a terminal shows one line of progress, and a script shows
    nothing. The result is what the call returns, the same as without `watch`.

    Parameters
    ----------
    call : callable              not called yet: ``hs.watch(model.fit, X)``
    *args, **kwargs : its arguments

    Returns
    -------
    object
        What the call returns: of `fit`, the fitted model.

    Notes
    -----
    Stop, as well as an interrupt of the kernel or Ctrl-C, keeps the best model so far, with a warning. A kernel that
    reads no messages while a cell runs does not hear the button; the cell then says so, and an interrupt serves.

    Examples
    --------
    >>> import halfseen as hs
    >>> table = hs.load_penguins()
    >>> model = hs.watch(hs.LatentClass(3, random_state=0).fit, table)
    >>> model.n_components_
    3
    """
    if not callable(call):
        raise ParameterError(
            f"watch: {type(call).__name__} cannot be called. Give the function and its arguments apart: "
            "hs.watch(model.fit, X), not hs.watch(model.fit(X))."
        )
    show = display()
    if show is not None:
        try:
            watched = _Watched(call, args, kwargs)
        except ImportError as error:
            sys.stderr.write(f"halfseen: no live curve; the fit itself runs without it. {error}\n")
        else:
            show(watched.widget)
            return watched.run()
    with _line(call):
        return call(*args, **kwargs)


@contextmanager
def _line(call: Callable[..., Any]) -> Iterator[None]:
    """Show progress in the status line, where there is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    status_line.begin("fitting")
    try:
        with console.progress(_components(call)[1]) as look, watching(look):
            yield
    finally:
        status_line.end()


def _components(call: Callable[..., Any]) -> tuple[str, str]:
    """Return what the components of the model are called whose method is called."""
    found = families.of_class(type(getattr(call, "__self__", None)))
    return ("component", "components") if found is None else found[0].component


class _Watched:
    """A call in a notebook, and the widget that shows it.

    Raises
    ------
    ImportError
        The widget cannot be made: libraries are missing.
    """

    def __init__(self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        for module in ("anywidget", "pyarrow"):
            optional(module, "The live curve of a fit", "notebook")
        from halfseen.studio.live import Live
        from halfseen.studio.widgets import LiveCurve

        self._call, self._args, self._kwargs = call, args, kwargs
        self._stop = Event()
        self._began = monotonic()
        self._next, self._search = 0.0, -1  # when to look again, and the search that was looked at
        self._live: Live = Live(_sampled(kwargs.get("X", args[0] if args else None)))
        self._curves = _Curves()
        self._draws: dict[str, Any] | None = None
        self._told = {"what": "Fitting", "component": list(_components(call)), "ended": None, "outcome": ""}
        self.widget: LiveCurve = LiveCurve(self._state(), self._stop.set)

    def run(self) -> Any:
        """Make the call; tell the widget how it goes and how it ended."""
        try:
            with stopping_when(self._stop), watching(self._look):
                found = self._call(*self._args, **self._kwargs)
        except BaseException as error:
            said = str(error) if isinstance(error, HalfseenError) else type(error).__name__
            self._end("failed", "Stopped before there was a model." if isinstance(error, KeyboardInterrupt) else said)
            raise
        interrupted = self._stop.is_set() or getattr(found, "stop_reason_", None) == "interrupted"
        self._end("stopped" if interrupted else "done", _outcome(found))
        return found

    def _look(self, state: Progress | Draws) -> None:
        """Take the state of the fit, and tell it now and then."""
        now, search = monotonic(), state.search if isinstance(state, Progress) else -1
        if now < self._next and search == self._search:  # a short search is seen too
            return
        self._search = search
        if isinstance(state, Draws):
            self._draws = {"what": state.what, "done": state.done, "wanted": state.wanted}
        else:
            for found in self._live.look(state):
                self._curves.add(found)
        self._tell()
        after = monotonic()
        self._next = after + max(PAUSE, SHARE * (after - now))

    def _end(self, how: str, outcome: str) -> None:
        for found in self._live.last():
            self._curves.add(found)
        self._told |= {"ended": how, "outcome": outcome}
        self._tell()

    def _state(self) -> dict[str, Any]:
        run = self._curves.runs[-1] if self._curves.runs else None
        return {
            **self._told,
            "stopping": self._stop.is_set(),
            "elapsed": round(monotonic() - self._began, 2),
            "draws": self._draws,
            "run": None if run is None else run.plain(),
        }

    def _tell(self) -> None:
        """Send the state; a page that is gone does not end the fit."""
        earlier = self._curves.runs[:-1][-KEPT:]
        try:
            if len(earlier) != len(self.widget.earlier):
                self.widget.earlier = [run.plain() for run in earlier]
            self.widget.told = self._state()
        except Exception:
            log.debug("watch: the state of the fit was not sent", exc_info=True)


class _Curves:
    """All curves that a fit has told so far."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []

    def add(self, look: Mapping[str, Any]) -> None:
        """Take what is new."""
        if not self.runs or self.runs[-1].search != look["search"]:
            self.runs.append(_Run(look["search"]))
        self.runs[-1].add(look)


class _Run:
    """The curves of one search."""

    def __init__(self, search: int) -> None:
        self.search = search
        self._progress: dict[str, Any] = {}
        self._seen: Any = None
        self._values: dict[str, list[float | None]] = {}
        self._states: dict[str, str] = {}

    def add(self, look: Mapping[str, Any]) -> None:
        """Take what is new."""
        self._progress = {name: value for name, value in look.items() if name not in ("curves", "seen")}
        self._seen = look["seen"] or self._seen
        for start, curve in look["curves"].items():
            self._values.setdefault(start, []).extend(curve["values"])
            self._states[start] = curve["state"]

    def plain(self) -> dict[str, Any]:
        """Return it as plain values, with so many points that it can be sent often."""
        most = max(40, MOST_POINTS // max(len(self._values), 1))
        return {
            "progress": self._progress,
            "seen": self._seen,
            "curves": {
                start: {**_thinned(values, most), "state": self._states[start]}
                for start, values in self._values.items()
            },
        }


def _thinned(values: Sequence[float | None], most: int) -> dict[str, list[Any]]:
    """Return at most about so many values with their places, the first and the last among them.

    Examples
    --------
    >>> _thinned([5.0, 6.0, 7.0, 8.0, 9.0, 9.5], 3)
    {'at': [0, 2, 4, 5], 'values': [5.0, 7.0, 9.0, 9.5]}
    """
    step = -(-len(values) // most) or 1
    places = sorted({*range(0, len(values), step), *([len(values) - 1] if values else [])})
    return {"at": places, "values": [values[i] for i in places]}


def _outcome(found: Any) -> str:
    """Return in words how a call ended."""
    known = families.of_class(type(found))
    if known is None or not hasattr(found, "stop_reason_"):
        return "Done"
    return unfinished(found) or str(known[0].module("cli").outcome(found))


def _sampled(X: Any) -> Sampled | None:
    """Return what gives some rows of a table, spread over it; None where the data are of another form."""
    import narwhals as nw
    import numpy as np

    from halfseen.data.arrow_table import arrow_of
    from halfseen.data.frames import read

    if not nw.dependencies.is_into_dataframe(X) and not (isinstance(X, np.ndarray) and X.ndim == 2):
        return None
    try:
        source = read(X)
        rows = np.unique(np.linspace(0, source.n_rows - 1, MOST_ROWS).astype(np.intp))
        part = arrow_of(source.take(rows))
    except HalfseenError:  # the fit itself says what is wrong with the rows
        return None
    return lambda names: part.select(names)
