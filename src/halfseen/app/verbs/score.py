"""``halfseen score``: how well a model describes a file."""

from __future__ import annotations

from typing import Any

from halfseen.app import console, families
from halfseen.app.model_file import load

WORDS = {
    "rows": "rows",
    "loglik": "log-likelihood",
    "loglik_per_row": "per row",
    "bic": "BIC",
    "aic": "AIC",
    "accuracy": "accuracy",
    "inertia_per_row": "per row",
    "labelled_rows": "on labelled rows",
}


def run(model: str, json: bool, **request: Any) -> None:
    """Load the model, score the rows, print the figures."""
    loaded = load(model)
    reading = families.reading_of(loaded)
    found = families.verb_of(loaded, "score")(loaded, reading, request)
    if json:
        console.show_json(found)
        return
    console.show_facts([(WORDS.get(name, name), f"{value:,.10g}") for name, value in found.items()])
