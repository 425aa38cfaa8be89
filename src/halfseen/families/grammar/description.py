"""The description of grammars that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import criteria_facts

if TYPE_CHECKING:
    from halfseen.families.grammar.estimator import PCFG

MOST = 40  # left-hand sides shown


def describe(model: PCFG) -> list[Block]:
    """Return the most probable rules of every left-hand side."""
    lines = model.describe().splitlines()
    shown = lines[:MOST]
    if len(lines) > MOST:
        shown.append(f"... and {len(lines) - MOST} more symbols: halfseen info --parameters has all rules")
    return [blocks.text("\n".join(shown))]


def facts(model: PCFG, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    training = record["training"]
    return [
        ("rules", len(model.rules_)),
        ("symbols", len(model._grammar.full)),
        ("words", len(model._grammar.words)),
        ("start", model.start_),
        ("parameters", model.n_parameters_),
        ("sentences", f"{training['n_rows']:,.10g}" if "n_rows" in training else None),
        ("without a parse", len(training.get("unparsable_", ())) or None),
        *criteria_facts(model),
    ]
