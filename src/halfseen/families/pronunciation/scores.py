"""How far pronunciations that were found are from those of a dictionary: phone errors and word errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from halfseen.errors import DataError
from halfseen.families.pronunciation.lexicon import read_entries


class PronunciationScores(NamedTuple):
    """Errors of pronunciations.

    Attributes
    ----------
    phone_error_rate : float      phones substituted, inserted or left out, per phone of the references
    word_error_rate : float       share of the words whose phones are those of no reference
    n_words, n_phones : int
    word_errors, phone_errors : int
    """

    phone_error_rate: float
    word_error_rate: float
    n_words: int
    n_phones: int
    word_errors: int
    phone_errors: int


def score_pronunciations(found: Any, dictionary: Any) -> PronunciationScores:
    """Compare the first pronunciation found of each word with a dictionary.

    Of several references the one with the fewest errors counts, the first of equal ones.

    Parameters
    ----------
    found : dict
        {word: [[phones], ...]}, as `G2P.pronounce` returns it; the first pronunciation of each word is judged.
    dictionary : dict
        The references, {word: [[phones], ...]}: every word found must be there; its other words do not count.

    Examples
    --------
    >>> import halfseen as hs
    >>> scores = hs.score_pronunciations({"the": [["DH", "IY"]], "cat": [["K", "AA"]]},
    ...     {"the": [["DH", "AH"], ["DH", "IY"]], "cat": [["K", "AE", "T"]]})
    >>> scores.phone_error_rate, scores.word_error_rate
    (0.4, 0.5)
    """
    judged = [nearest(word, said, references) for word, said, references in compared(found, dictionary)]
    n_words, n_phones = len(judged), sum(len(reference) for reference, _ in judged)
    wrong, errors = sum(edits > 0 for _, edits in judged), sum(edits for _, edits in judged)
    return PronunciationScores(errors / n_phones, wrong / n_words, n_words, n_phones, wrong, errors)


def compared(found: Any, dictionary: Any) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Return every word with the first pronunciation found and its references."""
    first: dict[str, tuple[str, ...]] = {}
    for entry in read_entries(found, lowercase=False):
        first.setdefault(entry.word, entry.phones)
    references: dict[str, list[tuple[str, ...]]] = {}
    for entry in read_entries(dictionary, lowercase=False):
        references.setdefault(entry.word, []).append(entry.phones)
    lost = [word for word in first if word not in references]
    if lost:
        raise DataError(f"{len(lost)} words found are not in the dictionary, the first is {lost[0]!r}.")
    return [(word, phones, references[word]) for word, phones in first.items()]


def nearest(word: str, said: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[Sequence[str], int]:
    """Return the reference with the fewest edits, and how many."""
    edits = [n_edits(said, reference) for reference in references]
    best = min(range(len(edits)), key=edits.__getitem__)
    return references[best], edits[best]


def n_edits(said: Sequence[str], reference: Sequence[str]) -> int:
    """Return how many phones must be replaced, inserted or left out.

    Examples
    --------
    >>> n_edits(["K", "AA"], ["K", "AE", "T"])
    2
    """
    return _table(said, reference)[-1][-1]


def _table(said: Sequence[str], reference: Sequence[str]) -> list[list[int]]:
    """Return the numbers of edits between all beginnings."""
    rows = [list(range(len(reference) + 1))]
    for i, one in enumerate(said, start=1):
        row = [i]
        for j, other in enumerate(reference, start=1):
            row.append(min(row[-1] + 1, rows[-1][j] + 1, rows[-1][j - 1] + (one != other)))
        rows.append(row)
    return rows


def confusions(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Mapping[tuple[str, str], int]:
    """Return how often each phone of a reference was said as another; "" is none.

    Examples
    --------
    >>> dict(confusions([(["K", "AA", "T"], ["K", "AE", "T", "S"])]))
    {('S', ''): 1, ('AE', 'AA'): 1}
    """
    found: Counter[tuple[str, str]] = Counter()
    for said, reference in pairs:
        table, i, j = _table(said, reference), len(said), len(reference)
        while i or j:
            if i and j and table[i][j] == table[i - 1][j - 1] + (said[i - 1] != reference[j - 1]):
                i, j = i - 1, j - 1
                if said[i] != reference[j]:
                    found[reference[j], said[i]] += 1
            elif j and table[i][j] == table[i][j - 1] + 1:
                j -= 1
                found[reference[j], ""] += 1
            else:
                i -= 1
                found["", said[i]] += 1
    return found
