"""Combining the links of two directions into one set.

Links are (source index, target index). In one direction every target word has at most one source word, in the other
every source word at most one target word; links of both are reliable, links of one less so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

Link = tuple[int, int]
Set = set[Link]

AROUND = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]  # in the published order


def _grown(ahead: Set, back: Set) -> Set:
    """Start with the intersection; add links of one direction that touch a link and cover a new word.

    The order decides where two links would cover the same word: rounds over all links, source word by source word, in
    which new links count at once. Words stay covered, so a refused link stays refused, and every link is
    checked once.
    """
    found, union = ahead & back, ahead | back
    sources, targets = {i for i, _ in found}, {j for _, j in found}
    waiting = sorted(found)
    while waiting:
        later: list[Link] = []  # links that this round is already past
        while waiting:
            own = heappop(waiting)
            for down, right in AROUND:
                link = (own[0] + down, own[1] + right)
                if link in union and link not in found and (link[0] not in sources or link[1] not in targets):
                    found.add(link)
                    sources.add(link[0])
                    targets.add(link[1])
                    heappush(waiting if link > own else later, link)
        waiting = later
    return found


def _finished(found: Set, ahead: Set, back: Set, enough: Callable[[Iterable[bool]], bool]) -> Set:
    """Add the remaining links of either direction whose words are uncovered: any of the two, or both."""
    sources, targets = {i for i, _ in found}, {j for _, j in found}
    for link in (*sorted(ahead), *sorted(back)):
        if link not in found and enough((link[0] not in sources, link[1] not in targets)):
            found.add(link)
            sources.add(link[0])
            targets.add(link[1])
    return found


HEURISTICS: dict[str, Callable[[Set, Set], Set]] = {
    "forward": lambda ahead, back: set(ahead),
    "reverse": lambda ahead, back: set(back),
    "intersection": lambda ahead, back: ahead & back,
    "union": lambda ahead, back: ahead | back,
    "grow-diag": _grown,
    "grow-diag-final": lambda ahead, back: _finished(_grown(ahead, back), ahead, back, any),
    "grow-diag-final-and": lambda ahead, back: _finished(_grown(ahead, back), ahead, back, all),
}


def symmetrized(how: str, ahead: Iterable[Link], back: Iterable[Link]) -> list[Link]:
    """Return the links of two directions combined by a heuristic, sorted.

    Examples
    --------
    >>> symmetrized("intersection", [(0, 0), (1, 1)], [(0, 0), (2, 1)])
    [(0, 0)]
    >>> symmetrized("grow-diag", [(0, 0), (1, 1), (3, 3)], [(0, 0), (2, 1)])
    [(0, 0), (1, 1), (2, 1)]
    >>> symmetrized("grow-diag-final-and", [(0, 0), (1, 1), (3, 3)], [(0, 0), (2, 1)])
    [(0, 0), (1, 1), (2, 1), (3, 3)]
    """
    return sorted(HEURISTICS[how](set(ahead), set(back)))
