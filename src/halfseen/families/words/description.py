"""The description of word aligners that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import likelihood_fact

if TYPE_CHECKING:
    from halfseen.families.words.estimator import WordAligner


def describe(model: WordAligner) -> list[Block]:
    """Return the model of word order, and translations of some words."""
    return [blocks.text(model.describe())]


def facts(model: WordAligner, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    return [
        ("kind", model.model),
        ("direction", f"{model.direction}{', trained to agree' if model._agrees else ''}"),
        ("pairs", f"{model._n_pairs:,}"),
        ("words", f"{len(model.source_words_):,} of the source, {len(model.target_words_):,} of the target"),
        likelihood_fact(model),
    ]
