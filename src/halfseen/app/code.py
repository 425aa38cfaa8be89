"""The Python that reproduces a fit."""

from __future__ import annotations

from typing import Any

from halfseen import families

HEAD = "import halfseen as hs\n"
OF_FIT = {  # options of `fit`, not of `open_table`
    "group": "groups",
    "time": "time",
    "covariates": "covariates",
    "missing_covariates": "missing",
}


def python_of(model: Any) -> str:
    """Return a script that reads the same data the same way and fits the same model."""
    own = _own_code(model)
    if own is not None:
        return f"{HEAD}\n{own(model)}"
    reading = model._origin.reading
    if reading is None:
        data = "table = ...  # the data of this model"
    else:
        given = {name: value for name, value in reading.items() if value and name not in ("data", *OF_FIT)}
        if "quotes" in given:
            given["quotes"] = False
        arguments = [repr(reading["data"])] if reading["data"] else []
        arguments += [f"{name}={value!r}" for name, value in given.items()]
        data = f"table = hs.open_table({', '.join(arguments)})"
    marks = "".join(f", {OF_FIT[name]}={reading[name]!r}" for name in OF_FIT if reading and reading.get(name))
    return "\n".join([HEAD, data, f"model = hs.{call(model)}.fit(table{marks})", "print(model.describe())"])


def data_of(model: Any) -> str:
    """Return what the script of `python_of` calls the data."""
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
