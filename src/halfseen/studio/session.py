"""A session: what is on the screen. Data, options, the models that were fitted, labels, and the way back.

What was done is a list of moments, none of which ever changes; undo goes one back, redo one forward. All that changes a
session goes through the methods below, one at a time.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import PurePath
from threading import RLock
from typing import TYPE_CHECKING, Any

from halfseen import families
from halfseen.app import dispatch, options
from halfseen.app.requests import request_of
from halfseen.app.tables import open_rows
from halfseen.data.files import FileTable
from halfseen.errors import ParameterError
from halfseen.families.family import Family
from halfseen.registry import kinds
from halfseen.studio.events import Events
from halfseen.studio.jobs import Jobs
from halfseen.studio.refusal import Busy, NotThere, Refusal
from halfseen.studio.rows import RowStore
from halfseen.studio.spec import Spec, listed
from halfseen.studio.versions import Version, studio_of

if TYPE_CHECKING:
    from halfseen.studio.held import Held

FIRST, LAST = (("data", "Data"), ("fit", "Fit")), (("compare", "Compare"), ("export", "Export"))
OF_MODEL = (("classes", "Classes"), ("decide", "Decide"), ("em", "EM"))


@dataclass(frozen=True)
class Moment:
    """A state of a session.

    Attributes
    ----------
    what : str                what was done to get there, as undo names it
    spec : Spec
    version : int or None     the model that is shown
    labels : dict             row -> name of its class, as set by hand
    """

    what: str
    spec: Spec
    version: int | None = None
    labels: Mapping[int, str] = field(default_factory=dict)


class Session:
    """What is on the screen, and all that can be done to it.

    Parameters
    ----------
    spec : Spec                    what the command line named
    model : fitted, optional       a model to begin with
    lesson : str, optional         a guided tour to show
    upload : bool                  whether pages may send files
    held : Held, optional          the table of a notebook, in place of files

    Attributes
    ----------
    on_change : callable           called after each change: keeps the session in a file
    events : Events
    jobs : Jobs
    versions : list of Version
    """

    def __init__(
        self,
        spec: Spec,
        model: Any = None,
        lesson: str | None = None,
        upload: bool = False,
        held: Held | None = None,
    ) -> None:
        self.lock = RLock()
        self.upload, self.held = upload, held
        self.events = Events()
        self._rows: tuple[Any, RowStore] | None = None
        self.jobs = Jobs(self.events)
        self.lesson = lesson
        self.revision = 0
        self.begin(spec)
        self.on_change: Callable[[], None] = lambda: None
        self.file: str | None = None
        if model is not None and held is not None:
            self.add("opened", held.of_file(model), held.read_by(model, spec))
        elif model is not None:
            self.add("opened", model, dispatch.reading_of(model))

    def begin(self, spec: Spec, rows: RowStore | None = None) -> None:
        """Begin with other data, whose rows may have been read; what was there is gone."""
        if self.jobs.running is not None:
            raise Busy("A fit is running. Stop it first, or wait until it has ended.")
        self.versions: list[Version] = []
        self.moments = [Moment("open", spec)]
        self.position = 0
        self.memo: dict[Any, Any] = {}  # what views have computed, by version
        before, self._rows = self._rows, None if rows is None else (_rows_key(spec), rows)
        if before is not None:
            before[1].close()

    # ---- what is there -------------------------------------------------------------------------------------------

    @property
    def now(self) -> Moment:
        """The present state."""
        return self.moments[self.position]

    @property
    def spec(self) -> Spec:
        """What is chosen on the screens Data and Fit."""
        return self.now.spec

    @property
    def family(self) -> Family:
        """The family of the model that is shown, or would be fitted."""
        version = self.shown
        return version.family if version is not None else dispatch.family_named(self.spec.model)

    @property
    def shown(self) -> Version | None:
        """The version that is shown."""
        return None if self.now.version is None else self.version(self.now.version)

    def version(self, number: int | None = None) -> Version:
        """Return a version by its number; by default the one that is shown."""
        wanted = self.now.version if number is None else number
        if wanted is None:
            raise NotThere("There is no model yet: fit one first.")
        found = next((version for version in self.versions if version.number == wanted), None)
        if found is None:
            raise NotThere(f"There is no model number {wanted}.")
        return found

    @property
    def has_rows(self) -> bool:
        """Whether there is one table of rows to look at."""
        spec = self.moments[0].spec
        return len(spec.data) == 1 and dispatch.family_named(spec.model).of_rows

    @property
    def has_data(self) -> bool:
        """Whether there are data, of rows or others."""
        return bool(self.spec.data or self.spec.reading) or self.held is not None

    def table(self, spec: Spec | None = None) -> FileTable:
        """Open the file, with the present codes for missing values."""
        spec = spec or self.spec
        if not self.has_rows and spec is self.spec:
            raise NotThere("There is no table of rows in this session.")
        request = spec.request()
        return open_rows(
            request["data"][0],
            request["sql"],
            list(spec.missing),
            codes=options.names(request.get("codes")),
            quotes="none" if request.get("no_quotes") else None,
        )

    def read(self, spec: Spec) -> RowStore:
        """Read the rows of a file."""
        return RowStore(self.table(spec))

    def rows(self) -> RowStore:
        """Return the rows of the file; they are read again where other codes mean missing."""
        with self.lock:
            key = _rows_key(self.spec)
            if self._rows is None or self._rows[0] != key:
                store = RowStore(self.table())
                if self._rows is not None:
                    self._rows[1].close()
                self._rows = key, store
            return self._rows[1]

    def answered_rows(self, version: Version | None = None) -> RowStore:
        """Return the rows with the classes that a version gives them, where it gives any."""
        store, version = self.rows(), version or self.shown
        if version is not None and version.has_answers:
            answers = version.answers(self.request("predict", version))
            store.answer(f"version {version.number}", answers, version.labels)
        return store

    def request(self, verb: str, version: Version, *words: str) -> dict[str, Any]:
        """Return the request of a verb for a version and the data of the session."""
        spec = self.spec
        reading = [
            f"--{name.replace('_', '-')}={value}" for name, value in spec.reading.items() if name in ("sql", "glob")
        ]
        missing = [f"--missing={listed(spec.missing)}"] if spec.missing else []
        return request_of(verb, ["MODEL.halfseen", *spec.data, *reading, *missing, *words])

    def material(self, version: Version) -> Any:
        """Return the data as a version reads them."""
        if self.held is not None and not self.held.path:
            return self.held.X
        if not self.has_data:
            raise Refusal("This needs the data that the model was fitted to, or others: name them too.")
        commands = version.family.module("cli")
        return self.kept(
            "data",
            version,
            lambda: commands.data(version.model, version.reading, self.request("report", version)).X,
        )

    def kept(self, what: str, version: Version, make: Callable[[], Any]) -> Any:
        """Return what was computed about a version and the present data; compute it the first time."""
        key = (what, version.number, self.spec.data, self.spec.missing)
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]

    def state(self) -> dict[str, Any]:
        """Return the session as pages see it."""
        with self.lock:
            version, job = self.shown, self.jobs.running
            before = self.moments[self.position].what if self.position else None
            after = self.moments[self.position + 1].what if self.position + 1 < len(self.moments) else None
            pending = version is not None and dict(self.now.labels) != dict(version.labels)
            return {
                "revision": self.revision,
                "title": self.title,
                "n_rows": self.rows().n_rows if self.has_rows else None,
                "table": self.has_rows,
                "version": None if version is None else version.number,
                "components": [] if version is None else version.names,
                "component": list(self.family.component),
                "family": self.family.name,
                "takes_labels": version is not None and version.takes_labels,
                "screens": [{"key": key, "title": title} for key, title in self._screens()],
                "spec": self.spec.to_dict(),
                "models": [{"word": word, "title": title} for word, title in self.models().items()],
                "job": None if job is None else job.to_dict(),
                "versions": [each.summary for each in self.versions],
                "labels": {str(row): name for row, name in self.now.labels.items()},
                "pending": pending,
                "undo": before,
                "redo": after,
                "saved": None if self.file is None else PurePath(self.file).name,
                "kinds": list(kinds.names),
                "lesson": self.lesson,
                "upload": self.upload,
                "event": self.events.newest,
            }

    @property
    def title(self) -> str:
        """The name of the data."""
        if self.held is not None:
            return self.held.name
        data = self.moments[0].spec.data
        if not data:
            if self.lesson or not (self.spec.reading or self.versions):
                return "A lesson" if self.lesson else "No data yet"
            return "A query" if self.spec.reading else self.family.title
        return " and ".join(PurePath(path.removeprefix("example:")).name or path for path in data[:2])

    def models(self) -> dict[str, str]:
        """Return the models that can be fitted to the data: value of --model -> name."""
        first = self.moments[0].spec
        own = dispatch.family_named(first.model)
        if not self.has_rows:
            return {first.model: own.models.get(first.model, own.title)}
        found = {word: title for each in families.FAMILIES if each.of_rows for word, title in each.models.items()}
        return found if first.model in found else {first.model: own.title, **found}

    def _screens(self) -> list[tuple[str, str]]:
        lesson = [("lesson", "Lesson")] if self.lesson else []
        if not self.spec.data and not self.versions:
            return lesson
        family = self.family
        decides = "cost" not in family.refused.get("predict", {}) and "predict" in family.verbs
        applies = {
            "classes": True,
            "decide": self.has_rows and decides,
            "em": self.has_rows and find_spec(family.home("explain")) is not None,
        }
        titles = dict(OF_MODEL) | {"classes": family.component[1].capitalize()}
        own = getattr(studio_of(family), "SCREENS", ())
        first = FIRST if self.spec.data else ()
        return [*lesson, *first, *((key, titles[key]) for key, _ in OF_MODEL if applies[key]), *own, *LAST]

    # ---- what changes it -----------------------------------------------------------------------------------------

    def move(self, what: str, **changes: Any) -> None:
        """Add a moment after the present one; what had been undone is forgotten."""
        with self.lock:
            self.moments = [*self.moments[: self.position + 1], replace(self.now, what=what, **changes)]
            self.position += 1
            self.changed()

    def changed(self) -> None:
        """Tell pages, and keep the session."""
        self.revision += 1
        self.on_change()
        self.events.publish("state", {"revision": self.revision})

    def undo(self, steps: int = 1) -> None:
        """Go back, or forward."""
        with self.lock:
            if not 0 <= self.position - steps < len(self.moments):
                raise Refusal("There is nothing to undo." if steps > 0 else "There is nothing to redo.")
            self.position -= steps
            self.changed()

    def change_spec(self, changes: Mapping[str, Any]) -> None:
        """Take over what a page changed; refuse what a fit would refuse at once."""
        with self.lock:
            spec = self.spec.changed(changes)
            if spec.model not in self.models():
                raise ParameterError(f"model {spec.model!r:.80} is not one of {', '.join(self.models())}.")
            if spec.model != self.spec.model:
                spec = replace(spec, options=_that_apply(spec, changes.get("options", {})))
            if self.has_rows:
                known = set(self.rows().names)
                absent = [name for name in (*spec.kinds, *spec.ignore) if name not in known]
                if absent:
                    raise ParameterError(f"there is no column {absent[0]!r:.80}.")
            spec.request()
            if spec != self.spec:
                self.move(_said(changes), spec=spec)

    def add(
        self, how: str, model: Any, reading: Mapping[str, Any], set_now: Mapping[int, str] | None = None, **more: Any
    ) -> Version:
        """Add a version, and show it; `set_now` are the labels now, where not those that it was fitted with."""
        with self.lock:
            parent = more.pop("parent", self.now.version)
            if how == "refit" and parent == self.now.version:  # labels may have been set while it ran
                set_now = self.now.labels
            number = 1 + max((version.number for version in self.versions), default=0)
            spec = more.pop("spec", self.spec)
            if self.held is not None and how != "opened":
                model, reading = self.held.own(model), {**reading, "data": self.held.name}
            version = Version(number, parent, how, model, reading, spec, **more)
            self.versions.append(version)
            self.move(how, version=number, labels=version.labels if set_now is None else set_now)
            return version

    def show(self, number: int) -> None:
        """Show another version."""
        with self.lock:
            version = self.version(number)
            if version.number != self.now.version:
                self.move(f"show model {number}", version=number, labels=version.labels)

    def rename(self, names: Sequence[str]) -> Version:
        """Give the classes of the shown version other names: a new version."""
        with self.lock:
            version = self.version()
            if len(names) != len(version.names):
                raise ParameterError(f"{len(names)} names for {len(version.names)} {version.family.component[1]}.")
            commands = version.family.module("cli")
            if "rename" not in version.family.verbs:
                raise Refusal(f"{version.family.title} have no names to change.")
            model = commands.rename(version.model, list(names), self.request("rename", version, "x"))
            model._origin = version.model._origin
            new = dict(zip(version.names, [str(name) for name in names], strict=True))
            labels = {row: new[label] for row, label in version.labels.items()}
            more: dict[str, Any] = {
                "spec": version.spec,
                "labels": labels,
                "seconds": version.seconds,
                "notes": version.notes,
            }
            now = {row: new[label] for row, label in self.now.labels.items()}
            return self.add("rename", model, version.reading, now, **more)

    def label(self, row: int, name: str | None) -> None:
        """Set the class of a row by hand; None takes the label away."""
        with self.lock:
            version = self.version()
            if not version.takes_labels:
                raise Refusal(f"Labels are not for {version.family.title} of this form.")
            if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < self.rows().n_rows:
                raise ParameterError(f"there is no row {row!r:.40}.")
            if name is not None and name not in version.names:
                raise ParameterError(f"{name!r:.80} is not one of {', '.join(version.names)}.")
            labels = {key: value for key, value in self.now.labels.items() if key != row}
            self.move(
                f"label row {row}" if name else f"take label of row {row} away",
                labels=labels | ({row: name} if name else {}),
            )

    def close(self) -> None:
        """End the running job and close the rows."""
        job = self.jobs.stop()
        if job is not None:
            self.jobs.wait(5)
        self.events.close()
        if self._rows is not None:
            self._rows[1].close()
        if self.held is not None:
            self.held.close()


def _that_apply(spec: Spec, asked: Mapping[str, Any]) -> dict[str, str | bool]:
    """Return the options that the chosen model has, and those that were asked for with it."""
    family = dispatch.family_named(spec.model)
    refused = family.refused.get("fit", {})
    own = {option.name for option in family.options.get("fit", ()) if not option.models or spec.model in option.models}
    return {
        name: value
        for name, value in spec.options.items()
        if name in own or name in asked or (not families.owners("fit", name) and name not in refused)
    }


def _rows_key(spec: Spec) -> Any:
    """Return what of a spec decides what is read."""
    return spec.data, spec.missing, tuple(spec.reading.items())


def command_of(spec: Spec) -> str:
    """Return the command that fits what is chosen."""
    return shlex.join(["halfseen", "fit", *spec.words()])


def _said(changes: Mapping[str, Any]) -> str:
    """Return a change in words, for undo."""
    parts = []
    for name, value in changes.items():
        if name in ("columns", "options") and isinstance(value, dict):
            parts += [f"{key}: {one if one not in (None, '', False) else 'default'}" for key, one in value.items()]
        else:
            parts.append(f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return "; ".join(parts)[:120] or "no change"
