"""The Python that reproduces a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from halfseen import families

HEAD = "import halfseen as hs\n"
DESCRIBED = "print(model.describe())"
OF_FIT = {  # options of `fit`, not of `open_table`
    "group": "groups",
    "time": "time",
    "covariates": "covariates",
    "missing_covariates": "missing",
}


@dataclass(frozen=True)
class Given:
    """A table in memory, in place of the file that a model was fitted to.

    Attributes
    ----------
    name : str              of the variable
    reading : dict          how it is read, as of a file
    arguments : dict        options of reading that are no columns of the table -> how `fit` is given them, as code
    """

    name: str
    reading: Mapping[str, Any]
    arguments: Mapping[str, str] = field(default_factory=dict)


def python_of(model: Any, table: Given | None = None) -> str:
    """Return a script that reads the same data the same way and fits the same model."""
    own = _own_code(model)
    if own is not None and table is None:
        return f"{HEAD}\n{own(model)}"
    reading, lines = _reading(model, table), [HEAD]
    if reading is None:
        lines.append("table = ...  # the data of this model")
    elif table is None or _options(table.reading, table):
        data = [table.name] if table is not None else [repr(reading["data"])] if reading["data"] else []
        data += [f"{name}={value!r}" for name, value in _options(reading, table).items()]
        lines.append(f"table = hs.open_table({', '.join(data)})")
    fit = f"model = {fit_of(model, data_of(model, table), table)}"
    if "preferred" in getattr(model, "_tried", ()):  # by the criterion; another one was chosen
        fit += f".choose({model.n_components_})"
    return "\n".join([*lines, fit, DESCRIBED])


def _reading(model: Any, table: Given | None) -> Mapping[str, Any] | None:
    """Return how the data of a model are read; None where it is not known."""
    reading: Mapping[str, Any] | None = model._origin.reading if table is None else table.reading
    return reading


def _options(reading: Mapping[str, Any], table: Given | None) -> dict[str, Any]:
    """Return the options with which data are opened."""
    apart = ("data", "start", *OF_FIT, *(() if table is None else table.arguments))
    given = {name: value for name, value in reading.items() if value and name not in apart}
    return given | ({"quotes": False} if "quotes" in given else {})


def fit_of(model: Any, data: str, table: Given | None = None, **more: str) -> str:
    """Return the expression that fits a model to data of this name; `more` are further arguments, as code."""
    reading, apart = _reading(model, table) or {}, {} if table is None else table.arguments
    given = {OF_FIT[name]: repr(reading[name]) for name in OF_FIT if reading.get(name) and name not in apart}
    if reading.get("start"):
        given["begin"] = f"hs.load({reading['start']!r})"
    listed = [f"{name}={value}" for name, value in (given | more).items()]
    listed += [text for name, text in apart.items() if text and reading.get(name)]
    return f"hs.{call(model)}.fit({', '.join([data, *listed])})"


def data_of(model: Any, table: Given | None = None) -> str:
    """Return what the script of `python_of` calls the data."""
    if table is not None:
        return "table" if _options(table.reading, table) else table.name
    own = _own_code(model, "code_of_data")
    return "table" if own is None else own(model)


def _own_code(model: Any, name: str = "code") -> Any:
    """Return the function by which a family writes the Python of a fit; None where its data are one table."""
    found = families.of_class(type(model))
    return None if found is None else getattr(found[0].module("cli"), name, None)


def call(model: Any) -> str:
    """Return the constructor with the options that differ from their defaults."""
    defaults = type(model)().get_params()
    given = {key: value for key, value in model.get_params().items() if repr(value) != repr(defaults[key])}
    return f"{type(model).__name__}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
