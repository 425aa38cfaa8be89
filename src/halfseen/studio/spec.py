"""What is chosen on the screens Data and Fit: exactly the words of a command ``halfseen fit``.

The studio fits by these words, so that the command that it shows is the one that ran.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from halfseen import families
from halfseen.app.requests import request_of
from halfseen.errors import ParameterError

MOST_WORDS = 10_000  # letters of one value that a page sends
OWN = ("data", "model", "classes", "columns", "ignore", "missing")  # options that have fields of their own
AUTOMATIC = "auto"  # what --classes is where it is not given: models without a number refuse the option
WITHHELD = ("output", "report", "resume", "json", "dry_run", "names", "on", "sql", "glob")  # not for pages to set


@dataclass(frozen=True)
class Spec:
    """The words of a fit.

    Attributes
    ----------
    data : tuple of str       files, as they were named on the command line
    model : str               value of ``--model``
    classes : str             value of ``--classes``; empty where a model has none
    kinds : dict              column -> kind, of those whose kind was chosen
    ignore : tuple of str     columns left out
    missing : tuple of str    codes that mean missing
    options : dict            other options of the fit, by name: text, or True for a switch
    reading : dict            options of reading that only the command line may set, such as a query

    Examples
    --------
    >>> Spec(("a b.csv",), classes="3", kinds={"last, first": "categorical"}, options={"seed": "1"}).words()
    ['a b.csv', '--classes', '3', '--columns', '"last, first=categorical"', '--seed', '1']
    """

    data: tuple[str, ...]
    model: str = "classes"
    classes: str = AUTOMATIC
    kinds: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    options: Mapping[str, str | bool] = field(default_factory=dict)
    reading: Mapping[str, str | bool] = field(default_factory=dict)

    def words(self) -> list[str]:
        """Return the words after ``halfseen fit``."""
        found = list(self.data)
        found += [] if self.model == "classes" else ["--model", self.model]
        found += [] if self.classes in ("", AUTOMATIC) else ["--classes", self.classes]
        found += ["--columns", listed(f"{name}={kind}" for name, kind in self.kinds.items())] if self.kinds else []
        found += ["--ignore", listed(self.ignore)] if self.ignore else []
        found += ["--missing", listed(self.missing)] if self.missing else []
        for name, value in {**self.reading, **self.options}.items():
            flag = f"--{name.replace('_', '-')}"
            found += [flag] if value is True else [flag, str(value)]
        return found

    def request(self) -> dict[str, Any]:
        """Return the request of the fit; refuse values that the command line refuses."""
        return request_of("fit", self.words())

    def changed(self, changes: Mapping[str, Any]) -> Spec:
        """Return the spec with what a page changed."""
        unknown = set(changes) - {"model", "classes", "columns", "ignore", "missing", "options"}
        if unknown:
            raise ParameterError(f"{', '.join(sorted(map(str, unknown)))} cannot be changed.")
        found = self
        if "model" in changes:
            found = replace(found, model=_text(changes["model"], "model"))
        if "classes" in changes:
            found = replace(found, classes=_text(changes["classes"], "classes"))
        if "ignore" in changes:
            found = replace(found, ignore=tuple(dict.fromkeys(_texts(changes["ignore"], "ignore"))))
        if "missing" in changes:
            found = replace(found, missing=tuple(dict.fromkeys(_texts(changes["missing"], "missing"))))
        if "columns" in changes:
            found = replace(found, kinds=_updated(found.kinds, changes["columns"], "columns"))
        if "options" in changes:
            options = _updated(found.options, changes["options"], "options")
            refused = [name for name in options if name in OWN + WITHHELD or name in found.reading]
            if refused:
                raise ParameterError(f"{refused[0]} cannot be set here.")
            found = replace(found, options=options)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "data": list(self.data),
            "model": self.model,
            "classes": self.classes,
            "columns": dict(self.kinds),
            "ignore": list(self.ignore),
            "missing": list(self.missing),
            "options": dict(self.options),
            "reading": dict(self.reading),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Spec:
        """Return the spec of plain values, which may come from a file of anyone."""
        spec = cls(tuple(_texts(given.get("data"), "data")))
        spec = spec.changed(
            {name: given[name] for name in ("model", "classes", "columns", "ignore", "missing", "options")}
        )
        return replace(spec, reading=_updated({}, given["reading"], "reading"))


def word_of(model: Any) -> str:
    """Return the value of --model that fits such a model again."""
    found = families.of_class(type(model))
    words = [] if found is None else list(found[0].models)
    named = type(model).__name__.lower()
    return next((word for word in words if word in named), words[0] if words else "classes")


def listed(names: Iterable[str]) -> str:
    """Return names as the command line takes them: with commas between, as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(list(names))
    return out.getvalue()


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > MOST_WORDS:
        raise ParameterError(f"{name}: {value!r:.80} is not a short text.")
    return value.strip()


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list):
        raise ParameterError(f"{name}: {value!r:.80} is not a list.")
    return [_text(one, name) for one in value]


def _updated(before: Mapping[str, Any], changes: Any, name: str) -> dict[str, Any]:
    """Return a mapping with changes; None takes an entry away."""
    if not isinstance(changes, dict):
        raise ParameterError(f"{name}: {changes!r:.80} is not a mapping of names to values.")
    found = dict(before)
    for key, value in changes.items():
        if value is None or value == "" or value is False:
            found.pop(key, None)
        else:
            found[key] = True if value is True else _text(value, f"{name}: {key}")
    return found
