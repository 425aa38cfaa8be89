"""The description of Bayesian networks that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.app.fits import criteria_facts, selection
from halfseen.estimators.outcome import shown

if TYPE_CHECKING:
    from halfseen.families.network.estimator import BayesNet


def describe(model: BayesNet) -> list[Block]:
    """Return the numbers of hidden states that were tried, and the variables in words."""
    return [*selection(model), blocks.text(model.describe())]


def facts(model: BayesNet, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    training = record["training"]
    return [
        ("variables", len(model.nodes_)),
        ("edges", len(model.edges_)),
        ("hidden", ", ".join(model.hidden_) or None),
        ("parameters", model.n_parameters_),
        ("N", shown(training["n_rows"]) if training.get("n_rows") else None),
        *criteria_facts(model),
    ]
