"""Options of the command line that several families have, declared once."""

from __future__ import annotations

from dataclasses import replace

from halfseen.families.family import Option

COVARIANCE = Option(
    "covariance",
    "Covariances of numeric columns: full, tied, diag or spherical; with several, such as full,tied, the best is kept.",
    "SHAPES",
    parameter="covariance_type",
)
GROUP = Option(
    "group", "Column with the sequence that a row belongs to; of class-network with the groups to compare.", "COLUMN"
)
TIME = Option("time", "Column that orders the rows of a sequence. Default: the order of the file.", "COLUMN")
VARIANCE_FLOOR = Option(
    "variance_floor",
    "Smallest variance of numbers: resolution (the step in which a column was recorded), or a share of its variance.",
    "F",
)
UNKNOWN = Option(
    "unknown",
    "Words not seen in training. Grammars: missing (any word may stand there), unparsable, or a word of the grammar "
    "that stands for them; transcripts: a unit that stands for them.",
    "HOW",
)


def only(option: Option, *models: str) -> Option:
    """Return an option that only some of the family's models take."""
    return replace(option, models=models)
