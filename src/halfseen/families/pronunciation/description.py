"""The description of models of pronunciation that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import likelihood_fact

if TYPE_CHECKING:
    from halfseen.families.pronunciation.estimator import G2P


def describe(model: G2P) -> list[Block]:
    """Return letters, phones, and the most frequent units."""
    return [blocks.text(model.describe())]


def facts(model: G2P, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    return [
        ("order", str(model._order)),
        ("words", f"{model._n_words:,}, with {model._n_pairs:,} pronunciations"),
        ("units", f"{len(model.units_):,} of {len(model.letters_)} letters and {len(model.phones_)} phones"),
        likelihood_fact(model),
    ]
