"""From a command to the family of models that runs it.

A family has a module ``cli`` with a function for each verb that its manifest lists. ``fit(request)`` reads the data and
returns a `Fitted`; ``predict``, ``impute``, ``sample``, ``score`` and the others take a loaded model, how the data of
its fit was read, and the request; ``outcome`` and ``summary`` return the results as a sentence and as plain values. The
module ``description`` has ``describe`` and ``facts``, what ``halfseen info`` prints. What a request is,
`halfseen.app.requests` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from halfseen import families
from halfseen.errors import DataError, ParameterError
from halfseen.families.family import Family, Option

ASKED = {  # functions of a family -> the command that calls them
    "data": "report",
    "details": "score --details",
    "errors": "info --errors",
    "truth": "compare --truth",
    "check": "impute --check",
    "show_word": "info --word",
}


@dataclass(frozen=True)
class Fitted:
    """The result of a fit by a family.

    Attributes
    ----------
    model : the fitted estimator
    X : the data, for the report
    reading : dict           how the data was read; kept in the model file, so that other verbs read data in the same
    way
    """

    model: Any
    X: Any
    reading: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A fit that can begin: what a family makes of a request.

    Attributes
    ----------
    model : the estimator
    table : FileTable        the data
    reading : dict           how the data was read
    arguments : dict         further arguments of `fit`
    """

    model: Any
    table: Any
    reading: dict[str, Any]
    arguments: dict[str, Any] = field(default_factory=dict)


def family_named(model: str) -> Family:
    """Return the family that ``--model`` asks for."""
    found = families.of_model(model)
    if found is None:
        words = [word for family in families.FAMILIES for word in family.models]
        near = get_close_matches(model, words, n=1)
        others = [f"{' or '.join(family.forms)} ({family.title})" for family in families.FAMILIES if family.forms]
        raise ParameterError(
            f"--model {model!r} is not known.{f' Did you mean {near[0]}?' if near else ''} It takes "
            f"{', '.join(words)}; {'; '.join(others)}."
        )
    return found


def family_of(model: Any) -> Family:
    """Return the family of a loaded model."""
    found = families.of_class(type(model))
    assert found is not None, f"{type(model).__name__} is of no family, but was loaded"
    return found[0]


def model_to_use(path: str) -> Any:
    """Load a model for use; note if its fit was interrupted."""
    from halfseen.app import console
    from halfseen.app.model_file import read_model
    from halfseen.estimators.convergence import unfinished

    model = read_model(path)
    first = unfinished(model)
    if first:
        console.note(f"note: {path}: {first}")
    return model


def opened(verb: str, request: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Return the model to use, and the request with the data that are left: the model may stand before them or not.

    Of two files of data, such as sound and its text, either may come first.
    """
    paths = [request[name] for name in ("model", "data", "target") if request.get(name) is not None]
    owner = families.without_model(verb, paths[0])
    if owner is None and len(paths) == 2 and request.get("model_file") is None and _is_other_file(paths[0]):
        owner = families.without_model(verb, paths[1])
    if request.get("model_file") is not None:
        model = model_to_use(request["model_file"])
    elif owner is not None:
        for path in paths:
            if not os.path.exists(path):
                raise DataError(f"{path}: there is no such file or folder.")
        model = owner.module("cli").own_model(verb)
    elif len(paths) < 2 and "model_file" in request:
        raise ParameterError(f"{paths[0]} is taken for a model, and there are no data after it. Give both.")
    else:
        return model_to_use(request["model"]), request
    if len(paths) > 2:
        raise ParameterError(f"{paths[2]}: there is one path too many; the model is not among them.")
    return model, {**request, "data": paths[0], "target": paths[1] if len(paths) == 2 else None}


def _is_other_file(path: str) -> bool:
    """Whether a file exists that is no model."""
    from halfseen.app.model_header import metadata_in, read
    from halfseen.errors import ModelFileError

    if not os.path.isfile(path):
        return False
    try:
        metadata_in(read(path), path)
    except ModelFileError:
        return True
    return False


def command(model: Any, verb: str) -> Any:
    """Return the function with which the family of a model runs a verb."""
    return getattr(family_with(model, verb).module("cli"), verb)


def family_with(model: Any, verb: str) -> Family:
    """Return the family of a model; refuse one that does not have a verb."""
    family = family_of(model)
    if verb not in family.verbs:
        others = _listed(other.title for other in families.offering(verb))
        raise ParameterError(f"{ASKED.get(verb, verb)} cannot be used with {_named(model)}. It is for {others}.")
    return family


def reading_of(model: Any) -> dict[str, Any]:
    """Return how the data of a fit was read; empty for a model that was not made on the command line."""
    return model._origin.reading or {}


# ---- options of other families ---------------------------------------------------------------------------------------


def check_fit(family: Family, request: Mapping[str, Any]) -> None:
    """Refuse options of a fit that do not apply to a family, or that belong to other families."""
    word = request["model"]
    refused = family.refused.get("fit", {})
    own = {option.name for option in family.options.get("fit", ()) if not option.models or word in option.models}
    for name, flag in _typed(request):
        if name in refused:
            raise ParameterError(f"{flag} cannot be used with --model {word}: {refused[name]}.")
        owners = families.owners("fit", name)
        if owners and name not in own:
            models = [model for other, option in owners for model in option.models or other.asked]
            add = "use" if "model" in request["given"] else "add"
            raise ParameterError(
                f"{flag} is an option of {_called(owners)}: {add} "
                f"{' or '.join(f'--model {model}' for model in models)}."
            )


def check_use(model: Any, verb: str, request: Mapping[str, Any]) -> None:
    """Refuse options of a verb that do not apply to a model, or that belong to other families."""
    family = family_of(model)
    refused = family.refused.get(verb, {})
    for name, flag in _typed(request):
        if name in refused:
            raise ParameterError(f"{flag} cannot be used with {_named(model)}: {refused[name]}.")
        owners = families.owners(verb, name)
        if owners and family not in [other for other, _ in owners]:
            raise ParameterError(f"{flag} cannot be used with {_named(model)}: it is an option of {_called(owners)}.")
    if request.get("target") is not None and not family.two_files:
        raise ParameterError(f"{_named(model)} takes one file of data; remove the second: {request['target']}.")


def _typed(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the options that were typed, with their flags."""
    return [(name, flag) for name, flag in request["flags"].items() if name in request["given"]]


def _named(model: Any) -> str:
    name = type(model).__name__
    return f"{'an' if name.startswith('H') else 'a'} {name} model"


def _called(owners: list[tuple[Family, Option]]) -> str:
    """Return the names of the models that have an option."""
    return _listed([title for family, option in owners for title in family.called(option)])


def _listed(titles: Iterable[str]) -> str:
    *first, last = titles
    return f"{', '.join(first)} and {last}" if first else last
