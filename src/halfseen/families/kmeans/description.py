"""The description of k-means that ``halfseen info`` and ``halfseen fit`` print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.kinds.wording import number

if TYPE_CHECKING:
    from halfseen.families.kmeans.estimator import KMeans


def describe(model: KMeans) -> list[Block]:
    """Return the clusters in words."""
    return [blocks.classes(model.describe(top=3))]


def facts(model: KMeans, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the first facts about a model file."""
    fitted = hasattr(model, "inertia_")
    return [
        ("clusters", len(model.cluster_centers_)),
        ("rows", f"{model.cluster_sizes_.sum():,.10g}" if fitted else None),
        ("inertia", number(model.inertia_, 6) if fitted else None),
    ]
