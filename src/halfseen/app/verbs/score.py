"""``halfseen score``: how well a model describes a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halfseen.app import console, dispatch
from halfseen.engine.services.progress import watching
from halfseen.errors import ParameterError

WORDS = {
    "loglik_per_step": "per step",
    "rows": "rows",
    "pairs": "pairs",
    "loglik_per_pair": "per pair",
    "loglik": "log-likelihood",
    "loglik_per_row": "per row",
    "estimate": "parameters",
    "n": "N of BIC",
    "bic": "BIC",
    "n_sequences": "N of BIC, sequences",
    "bic_sequences": "BIC by sequences",
    "aic": "AIC",
    "accuracy": "accuracy",
    "inertia_per_row": "per row",
    "labelled_rows": "on labelled rows",
    "words_of_the_fit": "words of the fit",
    "phone_error_rate": "phone error",
    "word_error_rate": "word error",
}

MOST_SEQUENCES = 12


def run(request: Mapping[str, Any]) -> None:
    """Load the model, score the rows, print the scores."""
    loaded = dispatch.model_to_use(request["model"])
    dispatch.check_use(loaded, "score", request)
    reading = dispatch.reading_of(loaded)
    if request["bootstrap"] is not None and not request["details"]:
        raise ParameterError("--bootstrap is for the residuals of --details: add --details.")
    if request["details"]:
        with console.progress(dispatch.family_of(loaded).component[1]) as watch, watching(watch):
            found = dispatch.command(loaded, "details")(loaded, reading, request)
        _show_details(found, request["json"])
        return
    found = dispatch.command(loaded, "score")(loaded, reading, request)
    if request["json"]:
        console.show_json(found)
        return
    each = found.pop("each", ())
    shown = {name: value if isinstance(value, str) else f"{value:,.10g}" for name, value in found.items()}
    console.show_facts([(WORDS.get(name, name), value) for name, value in shown.items()])
    if len(each) > 1:
        _show_each(each)


def _show_details(found: Any, json: bool) -> None:
    if json:
        console.show_json(found.to_dict())
    else:
        console.show(str(found))


def _show_each(each: Sequence[Mapping[str, Any]]) -> None:
    """Print the sequences with the lowest log-likelihood per step."""
    console.show()
    worst = sorted(each, key=lambda one: float(one["loglik_per_step"]))[:MOST_SEQUENCES]
    head = ("sequence", "steps", "log-likelihood", "per step")
    rows = [(s["sequence"], f"{s['steps']:,}", f"{s['loglik']:,.1f}", f"{s['loglik_per_step']:.3f}") for s in worst]
    console.show_table(head, rows)
    if len(each) > len(worst):
        console.show(f"... and {len(each) - len(worst):,} others that fit better")
