"""Families of models: a folder for each, and in it a manifest that describes it to the rest of the library.

To add a family, write its folder and add its name to `NAMES`; nothing else lists families.
"""

from __future__ import annotations

from importlib import import_module

from halfseen.families.family import Family, Option

NAMES = (  # in the order of the help
    *("mixture", "kmeans", "hmm", "transcript", "network", "grammar", "words", "pronunciation"),
)
FAMILIES: tuple[Family, ...] = tuple(import_module(f"halfseen.families.{name}.manifest").FAMILY for name in NAMES)

ESTIMATORS = {name: family.home(module) for family in FAMILIES for name, module in family.estimators.items()}
PUBLIC = ESTIMATORS | {name: family.home(module) for family in FAMILIES for name, module in family.public.items()}


def of_class(estimator: type) -> tuple[Family, str] | None:
    """Return the family of a class or of the nearest of its parents, and that parent's name; None if it has none."""
    for parent in estimator.__mro__:
        for family in FAMILIES:
            if parent.__name__ in family.estimators:
                return family, parent.__name__
    return None


def of_model(model: str) -> Family | None:
    """Return the family that a value of ``--model`` asks for; None if there is none."""
    return next((family for family in FAMILIES if family.accepts(model)), None)


def offering(verb: str) -> list[Family]:
    """Return the families that have a verb of the command line."""
    return [family for family in FAMILIES if verb in family.verbs]


def without_model(verb: str, path: str) -> Family | None:
    """Return the family that uses these data with a model of its own; None if the path is that of a model file."""
    return next((family for family in FAMILIES if family.has_model_for(verb, path)), None)


def owners(verb: str, option: str) -> list[tuple[Family, Option]]:
    """Return the families that have an option of a verb, each with its declaration."""
    return [(family, own) for family in FAMILIES for own in family.options.get(verb, ()) if own.name == option]
