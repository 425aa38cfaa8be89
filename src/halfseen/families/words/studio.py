"""What word alignment shows in the studio: pairs of sentences with their links, and the translations of a word.

Files of pairs are read from the beginning up to the pairs that are asked for, and are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from halfseen.app.views import Ask, Memo, check_ask, page, text
from halfseen.errors import DataError, ParameterError
from halfseen.families.words.bitext import Pair, read_pairs
from halfseen.families.words.cli import show_word

MOST_PAIRS = 100  # in one answer
MOST_SEARCHED = 200_000  # pairs in which one question looks for a text: about a second
LONGEST = 250  # words of a side; links of longer sentences are not drawn
LEAST = 0.05  # probability of links that are shown beside the best ones


def pairs(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return `count` pairs from number `start`, those that have the text `find`, each with its links.

    A link is [source index, target index, probability, whether it is one of the best alignment]. `next` is the number
    of the pair to go on with, None after the last; a search that takes too long stops there too.

    Examples
    --------
    >>> import halfseen as hs
    >>> lines = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book"]
    >>> model = hs.WordAligner("ibm1", null=False, max_iter=20).fit(lines)
    >>> found = pairs(model, lines, {"find": "book", "count": 1})
    >>> found["pairs"][0]["number"], found["pairs"][0]["target"], found["next"]
    (1, ['the', 'book'], 2)
    """
    check_ask(ask, "start", "count", "find")
    part, wanted = page(ask, MOST_PAIRS, 10), text(ask, "find").casefold()
    n_wanted = part.stop - part.start
    found: list[tuple[int, Pair]] = []
    number, n_read, after = part.start, 0, None
    for number, pair in _numbered(rows, part.start):
        if len(found) == n_wanted or n_read == MOST_SEARCHED:
            after = number
            break
        n_read += 1
        if not wanted or wanted in _joined(pair):
            found.append((number, pair))
    return {
        "start": part.start,
        "next": after,
        "searched": n_read,
        "total": None if after is not None or not n_read else number + 1,
        "fitted": model._n_pairs,
        "pairs": _linked(model, found),
    }


def _numbered(rows: Any, start: int) -> Iterator[tuple[int, Pair]]:
    """Yield pairs with their numbers, from number `start`."""
    if rows is None:
        raise ParameterError("this view shows pairs of sentences: open the data too.")
    given = rows if isinstance(rows, tuple) and len(rows) == 2 else (rows, None)
    return enumerate((pair for _, pair in islice(read_pairs(*given), start, None)), start)


def _joined(pair: Pair) -> str:
    return "\n".join(" ".join(side) for side in pair).casefold()


def _linked(model: Any, found: Sequence[tuple[int, Pair]]) -> list[dict[str, Any]]:
    """Return pairs with their links; without them where a side is too long."""
    short = [pair for _, pair in found if max(map(len, pair)) <= LONGEST]
    aligned = iter(zip(model.align(short), model.align_proba(short), strict=True) if short else ())
    answers = []
    for number, pair in found:
        source, target = (list(side) for side in pair)
        drawn = max(map(len, pair)) <= LONGEST
        unseen = [[k for k, word in enumerate(side) if not _known(model, n, word)] for n, side in enumerate(pair)]
        answers.append(
            {
                "number": number,
                "source": source,
                "target": target,
                "unseen": {"source": unseen[0], "target": unseen[1]},
                "links": _links(*next(aligned)) if drawn else None,
                "why": "" if drawn else f"a side has more than {LONGEST} words; halfseen align writes the links.",
            }
        )
    return answers


def _known(model: Any, side: int, word: str) -> bool:
    return (word.lower() if model.lowercase else word) in model._numbers[side]


def _links(best: Sequence[tuple[int, int]], proba: Any) -> list[list[Any]]:
    chosen = set(best)
    listed = sorted(chosen | {(i, j) for i, j in zip(*(proba >= LEAST).nonzero(), strict=True)})
    return [[int(i), int(j), float(proba[i, j]), (i, j) in chosen] for i, j in listed]


def word(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return the most probable translations of a word, of either side.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.WordAligner("ibm1", null=False, max_iter=20).fit(["das Haus ||| the house", "das Buch ||| the book"])
    >>> [(side["side"], side["translations"][0][0]) for side in word(model, None, {"word": "das"})["sides"]]
    [('source', 'the')]
    """
    check_ask(ask, "word")
    wanted = text(ask, "word")
    if not wanted:
        raise ParameterError("word: name a word of either side.")
    try:
        found = show_word(model, wanted)
    except DataError as error:
        raise ParameterError(str(error)) from None
    sides = [
        {
            "side": side,
            "translations": [[own["translation"], own["probability"]] for own in found if own["side"] == side],
        }
        for side in dict.fromkeys(own["side"] for own in found)
    ]
    return {"word": wanted, "sides": sides}


SCREENS = (("links", "Links"),)
VIEWS = {"pairs": pairs, "word": word}
