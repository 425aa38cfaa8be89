"""The description of mixtures and classifiers that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import criteria_facts, selection
from halfseen.estimators.outcome import shown


def describe(model: Any) -> list[Block]:
    """Return the sizes that were tried, and the classes in words."""
    return [*selection(model), blocks.classes(model.describe(top=3))]


def facts(model: Any, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what to say first of a model file."""
    training = record["training"]
    return [
        ("classes", len(model.class_names_)),
        ("parameters", model.n_parameters_),
        ("N", shown(training["n_rows"]) if training.get("n_rows") else None),
        *criteria_facts(model),
    ]
