"""From a command to the family of models that carries it out.

A family has a module ``cli`` with a function for each verb that its manifest lists. ``fit(request)`` reads the data and
returns a `Fitted`; ``predict``, ``impute``, ``sample``, ``score`` and the others take a loaded model, how the data of
its fit was read, and the request; ``describe``, ``outcome``, ``summary`` and ``facts`` say what was found: as tables,
in a sentence, as plain values, and in the first lines of ``halfseen info``. A request has the value of every argument
and option of the verb, and more entries: ``given``, the names of those that were typed, ``flags``, how each option is
typed, and ``said``, which puts messages of estimators in terms of options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from halfseen import families
from halfseen.errors import ParameterError
from halfseen.families.family import Family, Option

ASKED = {  # functions of a family -> what was typed to call them
    "data": "report",
    "truth": "compare --truth",
    "check": "impute --check",
    "show_word": "info --word",
}


@dataclass(frozen=True)
class Fitted:
    """What a family gives back from a fit.

    Attributes
    ----------
    model : the fitted estimator
    X : what it was fitted to, for the report
    reading : dict           how the data was read; kept in the model file, so that other verbs read alike
    """

    model: Any
    X: Any
    reading: dict[str, Any] = field(default_factory=dict)


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


def command(model: Any, verb: str) -> Any:
    """Return the function by which the family of a model carries out a verb."""
    family = family_of(model)
    if verb not in family.verbs:
        others = _listed(other.title for other in families.offering(verb))
        raise ParameterError(f"{ASKED.get(verb, verb)} has no meaning for {_named(model)}. It is for {others}.")
    return getattr(family.module("cli"), verb)


def said_by(model: Any, what: str) -> Any:
    """Return one of the functions by which every family says what was found."""
    return getattr(family_of(model).module("cli"), what)


def reading_of(model: Any) -> dict[str, Any]:
    """Return how the data of a fit was read; nothing for a model that was not made at the command line."""
    return model._origin.reading or {}


# ---- options of other families ---------------------------------------------------------------------------------------


def check_fit(family: Family, request: Mapping[str, Any]) -> None:
    """Refuse options of a fit that have no meaning for a family, or that other families have."""
    word = request["model"]
    refused = family.refused.get("fit", {})
    own = {option.name for option in family.options.get("fit", ()) if not option.models or word in option.models}
    for name, flag in _typed(request):
        if name in refused:
            raise ParameterError(f"{flag} has no meaning with --model {word}: {refused[name]}.")
        owners = families.owners("fit", name)
        if owners and name not in own:
            models = [model for other, option in owners for model in option.models or other.asked]
            add = "use" if "model" in request["given"] else "add"
            raise ParameterError(
                f"{flag} is an option of {_called(owners)}: {add} "
                f"{' or '.join(f'--model {model}' for model in models)}."
            )


def check_use(model: Any, verb: str, request: Mapping[str, Any]) -> None:
    """Refuse options of a verb that have no meaning for a model, or that other families have."""
    family = family_of(model)
    refused = family.refused.get(verb, {})
    for name, flag in _typed(request):
        if name in refused:
            raise ParameterError(f"{flag} has no meaning for {_named(model)}: {refused[name]}.")
        owners = families.owners(verb, name)
        if owners and family not in [other for other, _ in owners]:
            raise ParameterError(f"{flag} has no meaning for {_named(model)}: it is an option of {_called(owners)}.")
    if request.get("target") is not None and not family.two_files:
        raise ParameterError(f"{_named(model)} takes one file of data, got a second: {request['target']}.")


def _typed(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the options that were typed, with their flags."""
    return [(name, flag) for name, flag in request["flags"].items() if name in request["given"]]


def _named(model: Any) -> str:
    name = type(model).__name__
    return f"{'an' if name.startswith('H') else 'a'} {name} model"


def _called(owners: list[tuple[Family, Option]]) -> str:
    """Return what the models that have an option are called."""
    return _listed([title for family, option in owners for title in family.called(option)])


def _listed(titles: Iterable[str]) -> str:
    *first, last = titles
    return f"{', '.join(first)} and {last}" if first else last
