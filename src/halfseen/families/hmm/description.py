"""The description of hidden Markov models that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import criteria_facts, selection


def describe(model: Any) -> list[Block]:
    """Return the sizes that were tried, and the states in words."""
    return [*selection(model, "states"), blocks.classes(model.describe(top=3))]


def facts(model: Any, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    training = record["training"]
    group, time = record["marks"]
    return [
        ("states", len(model.state_names_)),
        ("parameters", model.n_parameters_),
        ("sequences by", group),
        ("in the order of", time),
        ("observed steps", f"{training['n_steps']:,.10g}" if "n_steps" in training else None),
        *criteria_facts(model),
    ]
