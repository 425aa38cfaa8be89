"""Quality of links: precision, recall and the alignment error rate against links made by hand."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from halfseen.errors import DataError
from halfseen.families.words.bitext import Gold, read_gold, read_links

__all__ = ["LinkScores", "score_links"]


class LinkScores(NamedTuple):
    """Scores over all pairs.

    Attributes
    ----------
    aer : float          alignment error rate, 1 - (found & sure + found & possible) / (found + sure)
    precision : float    share of the found links that are possible
    recall : float       share of the sure links that were found
    f1 : float           their harmonic mean
    n_pairs, n_found, n_sure, n_possible : int
    """

    aer: float
    precision: float
    recall: float
    f1: float
    n_pairs: int
    n_found: int
    n_sure: int
    n_possible: int


def score_links(found: Any, sure: Any, possible: Any = None) -> LinkScores:
    """Compare links with those made by hand.

    Parameters
    ----------
    found : list of links of each pair, or path of a Pharaoh file
        Links are (source index, target index), counted from 0.
    sure : the same, or path of a file that `read_gold` reads
        Links that must be found. A file of links made by hand has the possible ones too.
    possible : the same, optional
        Links that may be found, in addition to the sure ones. By default none.

    Examples
    --------
    >>> score_links([[(0, 0), (1, 1)]], sure=[[(0, 0), (2, 1)]], possible=[[(1, 1)]])._asdict()["aer"]
    0.25
    """
    given = read_links(found)
    gold = _gold(sure, possible, len(given))
    for name, links in (("sure", gold.sure), ("possible", gold.possible)):
        if len(links) != len(given):
            raise DataError(f"there are links of {len(given):,} pairs, and {name} links of {len(links):,}.")
    return compared(given, gold)


def _gold(sure: Any, possible: Any, n_pairs: int) -> Gold:
    """Return gold links: two lists or files, or a file that has both."""
    if possible is None and isinstance(sure, Gold):
        return sure
    if possible is None and isinstance(sure, str | os.PathLike):
        return read_gold(sure, n_pairs)
    return Gold(read_links(sure), read_links(sure if possible is None else possible))


def compared(found: Sequence[Collection[tuple[int, int]]], gold: Gold) -> LinkScores:
    """Return the scores of links of the same pairs."""
    n_found = n_sure = n_possible = hit_sure = hit_possible = 0
    for own, sure, possible in zip(map(set, found), gold.sure, gold.possible, strict=True):
        may = possible | sure
        n_found, n_sure, n_possible = n_found + len(own), n_sure + len(sure), n_possible + len(may)
        hit_sure, hit_possible = hit_sure + len(own & sure), hit_possible + len(own & may)
    precision = hit_possible / n_found if n_found else 0.0
    recall = hit_sure / n_sure if n_sure else 0.0
    aer = 1 - (hit_sure + hit_possible) / (n_found + n_sure) if n_found + n_sure else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return LinkScores(aer, precision, recall, f1, len(gold.sure), n_found, n_sure, n_possible)
