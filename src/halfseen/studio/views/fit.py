"""The screen Fit: options, start, stop."""

from __future__ import annotations

from typing import Any

from halfseen.app import dispatch
from halfseen.app.requests import declared
from halfseen.studio.fitting import start_fit, start_refit
from halfseen.studio.routes import Ask

SHARED = {  # options that all models share, in the order of the screen -> title
    "restarts": "Starts",
    "seed": "Seed",
    "prior": "Prior",
    "assign": "Assignment",
    "criterion": "Criterion",
    "max_iter": "Most iterations",
    "weight": "Weight",
}
HELP = {"prior": "Pseudo-counts: row (one row in all), none (maximum likelihood), or a number for each class."}
CHOICES = {"assign": ["soft", "hard", "sample"], "criterion": ["bic", "aic", "icl"]}
OF_COLUMNS = ("weight", "target", "group", "time", "labels")
NOT_HERE = ("blrt", "start")


def options(ask: Ask) -> dict[str, Any]:
    """Return the options of the chosen model, as the command line declares them."""
    spec = ask.session.spec
    family = dispatch.family_named(spec.model)
    refused = family.refused.get("fit", {})
    known = declared("fit")
    found = [
        _option(name, title, HELP.get(name, known[name].help), known[name].default)
        for name, title in SHARED.items()
        if name not in refused
    ]
    found += [
        _option(own.name, own.name.replace("_", " ").capitalize(), own.help, None, own.type is bool)
        for own in family.options.get("fit", ())
        if (not own.models or spec.model in own.models) and own.name not in NOT_HERE
    ]
    columns = list(ask.session.rows().names) if ask.session.has_rows else []
    choices = {**CHOICES, **dict.fromkeys(OF_COLUMNS, columns)}
    shown = [{**one, "value": spec.options.get(one["name"]), "choices": choices.get(one["name"], [])} for one in found]
    return {"options": shown, "classes": "classes" not in refused, "one_number": "criterion" in refused}


def _option(name: str, title: str, help: str | None, default: Any, switch: bool = False) -> dict[str, Any]:
    kind = "switch" if switch else "choice" if name in CHOICES else "column" if name in OF_COLUMNS else "text"
    shown = None if default is None else str(default)
    return {"name": name, "title": title, "help": help or "", "default": shown, "kind": kind}


def fit(ask: Ask) -> dict[str, Any]:
    """Start a fit of what is chosen."""
    return {"job": start_fit(ask.session).number}


def refit(ask: Ask) -> dict[str, Any]:
    """Start a fit with the labels that were set."""
    return {"job": start_refit(ask.session).number}


def stop(ask: Ask) -> dict[str, Any]:
    """Stop the running job; the best model so far is kept."""
    job = ask.session.jobs.stop()
    return {"stopping": None if job is None else job.number}


ROUTES = {
    ("GET", "fit/options"): options,
    ("POST", "fit"): fit,
    ("POST", "refit"): refit,
    ("POST", "stop"): stop,
}
