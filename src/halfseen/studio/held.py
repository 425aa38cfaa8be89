"""A table of a notebook as the data of a session: kept in an Arrow file while the session lasts.

The session then reads, fits and predicts by the words of the command line, as with any other file, and with the same
bits: the file has the columns that estimators see in the table, with declared levels and their order. What the user is
shown has the name of the table in place of the path of the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from halfseen import families
from halfseen.app import dispatch
from halfseen.app.code import Given
from halfseen.app.tables import covariate_columns
from halfseen.data.arrow_table import arrow_of, write_arrow
from halfseen.data.files import FileTable
from halfseen.data.frames import Source, read
from halfseen.data.sequences import column_names, read_sequences
from halfseen.errors import ParameterError
from halfseen.studio.spec import Spec, word_of
from halfseen.temporary import TemporaryFolder

DEFAULT = "X"
WORDS = {  # parameter of an estimator -> option of the command line
    "random_state": "seed",
    "n_init": "restarts",
    "prior": "prior",
    "assign": "assign",
    "criterion": "criterion",
    "max_iter": "max_iter",
    "covariance_type": "covariance",
    "emission": "emission",
    "min_dwell": "min_dwell",
    "variance_floor": "variance_floor",
}


@dataclass(frozen=True, eq=False)
class Held:
    """A table in memory, as a session has it.

    Attributes
    ----------
    name : str           of the variable, as code shows it
    path : str           the file that holds a copy; empty where the data are no table
    X : the data         as they were given
    reading : dict       option of reading -> column: weight, target, group, time
    arguments : dict     those of `reading` whose columns were added -> how `fit` is given them
    """

    name: str
    path: str
    X: Any
    reading: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    folder: TemporaryFolder | None = None

    def given(self, model: Any, reading: Mapping[str, Any]) -> Given:
        """Return the table as code has it, for a model and how it was read."""
        arguments = dict(self.arguments)
        if hasattr(model, "classes_") and "target" not in reading:  # a classifier, whose labels were not given
            reading, arguments = {**reading, "target": "y"}, {**arguments, "target": "y=y"}
        return Given(self.name, reading, arguments)

    def of_file(self, model: Any) -> Any:
        """Return a copy of a model that was fitted to the table in memory as if it had been fitted to the file."""
        found = copy(model)
        if not self.path:
            return found
        if not hasattr(found, "feature_names_in_") and hasattr(found, "_schema"):
            found.feature_names_in_ = np.array(found._schema.names, dtype=object)
        if hasattr(found, "_marks"):
            found._marks = (self.reading.get("group"), self.reading.get("time"))
        return found

    def of_user(self, model: Any) -> Any:
        """Return a copy of a model for use with the table in memory: an array has no names of columns."""
        found = copy(model)
        if self.path and not column_names(self.X):
            found.__dict__.pop("feature_names_in_", None)
        return found

    def read_by(self, model: Any, spec: Spec) -> dict[str, Any]:
        """Return how the table is read for a model that was opened with it."""
        covariates = {name: spec.options[name] for name in ("covariates",) if name in spec.options}
        return {"missing": list(spec.missing), "ignore": list(spec.ignore), **covariates, **self.reading}

    def renamed(self, text: str) -> str:
        """Return a text of JSON with the name of the table in place of the path."""
        return text.replace(json.dumps(self.path)[1:-1], self.name) if self.path else text

    def own(self, model: Any) -> Any:
        """Return a model that was fitted to the file as one that was fitted to the table."""
        reading = model._origin.reading
        named = None if reading is None else {**reading, "data": self.name}
        model._origin = model._origin._replace(command=None, reading=named)
        return model

    def close(self) -> None:
        """Remove the file."""
        if self.folder is not None:
            self.folder.remove()


def hold(
    X: Any,
    model: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    lengths: Any = None,
) -> Held:
    """Copy a table into a file; refuse in words what cannot be shown.

    Parameters
    ----------
    X : table of any library, an array, a list of rows; of sequences in any of the forms that `HMM.fit` takes
    model : fitted estimator, optional
    y, sample_weight, groups, time, lengths : as in `fit`
    """
    name = _name_of(X, DEFAULT)
    if isinstance(X, FileTable):
        own = {option: column for option, column in X.roles.items() if column is not None}
        X, y, sample_weight = (
            X.__halfseen_frame__([*own.values()]),
            own.get("target", y),
            own.get("weight", sample_weight),
        )
    found = None if model is None else families.of_class(type(model))
    if found is not None and not found[0].of_rows and not hasattr(model, "_schema"):
        _refuse(found[0].title, y=y, sample_weight=sample_weight, groups=groups, time=time, lengths=lengths)
        return Held(name, "", X)
    sequences = found is not None and found[0].name == "hmm"
    if sequences and lengths is None:
        groups, time = model._marked(X, None, groups, time)  # the columns of the fit, where the table has them
    if sequences:
        _refuse("hidden Markov models, whose weights are of sequences,", sample_weight=sample_weight)
    given: dict[str, tuple[str, Any, str]] = {}  # option -> argument of fit, its value, the column to add
    for option, argument, value, column in (
        ("weight", "sample_weight", sample_weight, "weight"),
        ("target", "y", y, str(getattr(y, "name", None) or "y")),
        ("group", "groups", groups, "sequence"),
        ("time", "time", time, "time"),
    ):
        if value is not None:
            given[option] = argument, value, column
    if lengths is not None or (sequences and groups is None and time is None):
        source, cut = read_sequences(X, lengths)
        if lengths is not None or cut.listed:
            given["group"] = "lengths", np.repeat(np.arange(len(cut.lengths)), cut.lengths), "sequence"
        return _kept(name, X, source, given, {} if lengths is None else {"lengths": lengths})
    return _kept(name, X, X, given, {})


def _kept(name: str, X: Any, table: Any, given: Mapping[str, tuple[str, Any, str]], also: Mapping[str, Any]) -> Held:
    """Write a table and further columns into a file."""
    known = list(table.names) if isinstance(table, Source) else list(column_names(table) or read(table).names)
    reading: dict[str, str] = {}
    arguments: dict[str, str] = {}
    extra: dict[str, Any] = {}
    for option, (argument, value, column) in given.items():
        if isinstance(value, str):
            if value not in known:
                raise ParameterError(f"{argument}={value!r}: the table has no such column. It has: {_some(known)}.")
            reading[option] = value
            continue
        while column in (*known, *extra):
            column += "_"
        extra[column] = _cells(value)
        reading[option] = column
        if argument == "lengths":
            arguments[option] = f"lengths={_name_of(also['lengths'], 'lengths')}" if also else ""
        else:
            arguments[option] = f"{argument}={_name_of(value, argument)}"
    folder = TemporaryFolder()
    path = Path(folder.name, f"{name}.arrow")
    write_arrow(arrow_of(table, extra), path)
    return Held(name, str(path), X, reading, arguments, folder)


def _cells(value: Any) -> Any:
    """Return the values of a column that was given by itself."""
    listed = getattr(value, "to_list", None) or getattr(value, "to_pylist", None)
    cells = np.asarray(value, dtype=object).tolist() if listed is None else listed()
    if any(isinstance(cell, list) for cell in cells):
        raise ParameterError("weights, labels, groups and times are given one for each row.")
    return cells


def _refuse(what: str, **given: Any) -> None:
    """Refuse arguments that do not apply."""
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise ParameterError(f"{wrong[0]}= cannot be used in a studio of {what}: leave it out.")


def _name_of(value: Any, default: str) -> str:
    """Return the name that the notebook has for a value."""
    own = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    names = [name for name, held in list(own.items()) if held is value and not name.startswith("_")]
    return names[0] if names and names[0].isidentifier() else default


def _some(names: list[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


# ---- what a model was told, as the words of a command ----------------------------------------------------------------


def spec_of(model: Any, held: Held | None) -> Spec:
    """Return what the screens Data and Fit begin with: the options of a model that are words of a command."""
    reading = dict(held.reading) if held is not None else {}
    data = (held.path,) if held is not None and held.path else ()
    if model is None:
        return Spec(data, options=reading)
    spec = Spec(data, word_of(model), missing=tuple(map(str, dispatch.reading_of(model).get("missing") or ())))
    if not data:
        return spec
    reading |= _covariates(model, held)
    spec = replace(spec, ignore=_left_out(model, held), options=reading)
    params = model.get_params()
    fuller = replace(
        spec,
        classes=_sizes(params.get("n_components", params.get("n_clusters", "auto"))),
        kinds=kinds_of(params.get("columns"), model),
        options={**reading, **options_of(params, type(model)().get_params())},
    )
    return next(each for each in (fuller, replace(fuller, options=reading), spec) if is_taken(each))


def _covariates(model: Any, held: Held | None) -> dict[str, str]:
    """Return the formula of what class membership depends on, where it is about columns of the table."""
    member, names = getattr(model, "_membership", None), covariate_columns(model)
    if member is None or held is None or not set(names) <= set(column_names(held.X)):
        return {}
    formula = member.design.formula
    if formula is None and not all(name.isidentifier() for name in names):
        return {}
    return {"covariates": " + ".join(names) if formula is None else formula}


def is_taken(spec: Spec) -> bool:
    """Whether the command line takes it; the last of those that are tried is taken as it is."""
    if not spec.kinds and spec.classes == "auto":
        return True
    try:
        dispatch.check_fit(dispatch.family_named(spec.model), spec.request())
    except ParameterError:
        return False
    return True


def _left_out(model: Any, held: Held | None) -> tuple[str, ...]:
    """Return the columns of the table that the model does not use."""
    schema = getattr(model, "_schema", None)
    if schema is None or held is None or not held.path:
        return ()
    own = {*schema.names, *covariate_columns(model), *held.reading.values()}
    return tuple(name for name in column_names(held.X) if name not in own)


def _sizes(given: Any) -> str:
    if isinstance(given, int | np.integer) or given == "auto":
        return str(given)
    try:
        found = sorted(int(size) for size in given)
    except (TypeError, ValueError):
        return "auto"
    if len(found) > 1 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]}..{found[-1]}"
    return ",".join(map(str, found)) or "auto"


def kinds_of(given: Any, model: Any) -> dict[str, str]:
    """Return the kinds that the option `columns` of an estimator gives to columns, by name."""
    if not isinstance(given, Mapping):
        return {}
    names = model._schema.names
    return {
        (names[key] if isinstance(key, int) else str(key)): str(kind)
        for key, kind in given.items()
        if isinstance(kind, str)
    }


def options_of(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, str | bool]:
    """Return the options that differ from their defaults and can be written in words."""
    found: dict[str, str | bool] = {}
    for name, option in WORDS.items():
        value = params.get(name)
        if name not in params or repr(value) == repr(defaults.get(name)):
            continue
        if value is None and name == "prior":
            found[option] = "none"
        elif isinstance(value, str | int | float | np.integer) and not isinstance(value, bool):
            found[option] = str(value)
    return found
