"""The description of transcript aligners that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import likelihood_fact

if TYPE_CHECKING:
    from halfseen.families.transcript.estimator import TranscriptAligner


def describe(model: TranscriptAligner) -> list[Block]:
    """Return the units in words."""
    return [blocks.text(model.describe())]


def facts(model: TranscriptAligner, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    return [
        ("units", len(model.units_)),
        ("states per unit", model._lexicon.n_states),
        ("components", model._n_mix if model._sharing is None else model._sharing.width),
        ("words with several pronunciations", len(model._lexicon.various) or None),
        likelihood_fact(model),
    ]
