"""How each class differs from the whole, on one scale for all columns.

    numbers      (mean[k] - mean) / sd            in standard deviations of the whole table
    counts       (rate[k] - rate) / sd
    categories   (p[k] - p) / sqrt(p (1 - p))     the same for an indicator
    words        as counts, of a text of average length; as categories where they are there or not

Of a text only the words that set classes apart most are looked at.

Values are also given in the column's own unit, in words.
"""

from __future__ import annotations

from itertools import zip_longest
from math import floor, log10
from typing import NamedTuple

import numpy as np

from halfseen.estimators.table.profile import ColumnProfile, number, profiles, telling_words
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats

MOST_WORDS = 20  # of a column of text


class Contrast(NamedTuple):
    """One number, or one category of a column, in every class.

    Attributes
    ----------
    column, kind : str
    category : str               empty for numbers and counts; a word of a text
    values : (K,) array          means, rates or probabilities
    contrast : (K,) array        distance from the whole, in its standard deviations
    shown : list of str          `values` in the column's own unit
    overall : str                the same of the whole table
    """

    column: str
    kind: str
    category: str
    values: Floats
    contrast: Floats
    shown: list[str]
    overall: str

    @property
    def label(self) -> str:
        """The column, and the category if it has any."""
        sign = ": " if self.kind == "text" else " = "
        return f"{self.column}{sign}{self.category}" if self.category else self.column

    @property
    def spread(self) -> float:
        """The largest distance from the whole."""
        return float(np.abs(self.contrast).max())


def contrasts(model: TableMixture) -> list[Contrast]:
    """Return every number and category in every class, in the order of the table.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.1], "b": [0.1, 0.9]}})
    >>> first = contrasts(model)[0]
    >>> first.label, first.shown, first.overall, first.contrast
    ('x = a', ['90%', '10%'], '50%', array([ 0.8, -0.8]))
    """
    return [found for column in profiles(model) for found in _of_column(column, model.weights_)]


def most_telling(column: ColumnProfile, most: int = MOST_WORDS) -> list[int]:
    """Return the words of a text, by their place, that set some class apart most: the first of each, the second ...

    Where there is one class, the most frequent.
    """
    if column.values.shape[1] == 1:
        return [int(v) for v in np.argsort(-column.overall, kind="stable")[:most]]
    ranked = [telling_words(column, k, most) for k in range(column.values.shape[1])]
    found = [word for words in zip_longest(*ranked) for word in words if word is not None]
    return list(dict.fromkeys(found))[:most]


def _of_column(column: ColumnProfile, weights: Floats) -> list[Contrast]:
    if column.kind == "categorical":
        return [_category(column, i) for i in range(len(column.rows))]
    if column.kind == "text":
        return [_word(column, v, weights) for v in most_telling(column)]
    centre = float(column.overall[0])
    if column.kind == "gaussian":
        sd = float(column.overall[1])
    else:
        sd = float(np.sqrt(centre + weights @ (column.values[0] - centre) ** 2))
    values = column.values[0]
    contrast = (values - centre) / sd if sd > 0 else np.zeros_like(values)
    return [Contrast(column.name, column.kind, "", values, contrast, [number(v) for v in values], number(centre))]


def _category(column: ColumnProfile, i: int) -> Contrast:
    values, whole = column.values[i], float(column.overall[i])
    spread = np.sqrt(whole * (1 - whole))
    contrast = (values - whole) / spread if spread > 1e-9 else np.zeros_like(values)
    shown = [percent(value) for value in values]
    return Contrast(column.name, column.kind, str(column.rows[i]), values, contrast, shown, percent(whole))


def _word(column: ColumnProfile, v: int, weights: Floats) -> Contrast:
    """Return a word: of a text of `length` words it is a count, where it is there or not a category."""
    values, whole = column.values[v], float(column.overall[v])
    if column.length is None:
        sd = np.sqrt(whole * (1 - whole))
    else:
        sd = np.sqrt(whole / column.length + weights @ (values - whole) ** 2)
    contrast = (values - whole) / sd if sd > 1e-9 else np.zeros_like(values)
    shown = [small_percent(value) for value in values]
    return Contrast(column.name, column.kind, str(column.rows[v]), values, contrast, shown, small_percent(whole))


def small_percent(share: float) -> str:
    """Return a share in percent with two digits, however small.

    Examples
    --------
    >>> small_percent(0.123), small_percent(0.00123), small_percent(0.0)
    ('12%', '0.12%', '0%')
    """
    return percent(share) if share >= 0.1 or share == 0 else f"{100 * share:.2g}%"


def percent(share: float) -> str:
    """Return a share in whole percent; what is not quite 0 or 100 % does not become it.

    Examples
    --------
    >>> percent(0.123), percent(0.001), percent(0.9999), percent(1.0)
    ('12%', '<1%', '>99%', '100%')
    """
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def spread(mean: float, sd: float) -> str:
    """Return a mean and a standard deviation with the digits that the latter warrants.

    Examples
    --------
    >>> spread(14.1666, 0.5523), spread(3357.4, 265.1), spread(43.92, 5.46)
    ('14.17 ± 0.55', '3,357 ± 265', '43.9 ± 5.5')
    """
    if not 1e-4 <= sd < 1e15:
        return f"{number(mean)} ± {number(sd)}"
    digits = max(0, 1 - floor(log10(sd)))
    mean = round(mean, digits) + 0.0  # no minus before a zero
    return f"{mean:,.{digits}f} ± {sd:,.{digits}f}"


def cut(name: str, longest: int = 40) -> str:
    """Return a name short enough for a sentence.

    Examples
    --------
    >>> cut("a name that goes on", 12)
    'a name that…'
    """
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"
