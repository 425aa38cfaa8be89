"""What kinds of columns are given and give back: parameters of a block, profiles, contrasts, features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import Block, Column
from halfseen.leaves.leaf import Floats, Leaf, Stats

if TYPE_CHECKING:
    from halfseen.kinds.kind import Kind

Prior = str | float | None
Floor = str | float  # "resolution", or a share of the variance of a column
Mask = NDArray[np.bool_]
Figures = Mapping[str, Floats]  # what a block's leaf must know of the whole table, by name


class Bound(NamedTuple):
    """What a parameter may be: finite, above `low`, or at least `low` where that is `inclusive`, at most `high`.

    Below `high` where that is `open`.
    """

    low: float = -np.inf
    inclusive: bool = False
    high: float = np.inf
    open: bool = False

    def allows(self, numbers: Floats) -> Mask:
        """Return which numbers the parameter may be."""
        above = numbers >= self.low if self.inclusive else numbers > self.low
        below = numbers < self.high if self.open else numbers <= self.high
        return np.isfinite(numbers) & above & below

    def __str__(self) -> str:
        words = ["finite"]
        if np.isfinite(self.low):
            words.append(f"{'at least' if self.inclusive else 'above'} {self.low:g}")
        if np.isfinite(self.high):
            words.append(f"{'below' if self.open else 'at most'} {self.high:g}")
        return " and ".join(words)


REAL, POSITIVE, NOT_NEGATIVE = Bound(), Bound(0.0), Bound(0.0, inclusive=True)
SHARE = Bound(0.0, inclusive=True, high=1.0)


class Build(NamedTuple):
    """How to build a leaf.

    Attributes
    ----------
    n_components : int
    prior : Prior                    pseudo-rows: "row", one in all; "categories", one in all for columns of categories
                                     alone; a number, this many for each component; or None
    variance_floor : float or "resolution"    share of a column's variance below which none may fall
    covariance : str                 shape of the covariance of numbers
    ridge : float                    what is added to variances
    """

    n_components: int
    prior: Prior = None
    variance_floor: Floor = 0.0
    covariance: str = "diag"
    ridge: float = 0.0

    @property
    def pseudo_rows(self) -> Floats | None:
        """How many pseudo-rows each component gets, (K,); None without a prior."""
        if self.prior is None or self.prior == "categories":
            return None
        return np.full(self.n_components, 1 / self.n_components if self.prior == "row" else float(self.prior))


class Fitted(NamedTuple):
    """A block of columns in a fitted model.

    Attributes
    ----------
    block : Block
    params : Params              of its leaf
    weights : (K,) array         shares of the components
    leaf : Leaf
    stats : Stats or None        its expected statistics, where the model comes from a fit
    """

    block: Block
    params: Any
    weights: Floats
    leaf: Leaf
    stats: Stats | None = None


class ColumnProfile(NamedTuple):
    """One column in every component.

    Attributes
    ----------
    name : str
    kind : Kind
    rows : list                 names of the parameters, the categories or the words
    values : (R, K) array       one row for each entry of `rows`
    overall : (R,) array        the same in the whole table, as the model sees it
    distance : (K,) array       relative entropy of each component against the whole: how much the column sets it apart
    whole : (float, float)      mean and standard deviation of the whole, of numbers; None for categories and words
    length : float or None      of text: words of an average one; None where words are there or not
    """

    name: str
    kind: Kind
    rows: list[Any]
    values: Floats
    overall: Floats
    distance: Floats
    whole: tuple[float, float] | None = None
    length: float | None = None

    @property
    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance in each component, (K,) each, of numbers."""
        return self.kind.moments(**dict(zip(self.rows, self.values, strict=True)))


class Contrast(NamedTuple):
    """One number, or one category of a column, in every component.

    Attributes
    ----------
    column : str
    kind : Kind
    category : str               empty for numbers and counts; a word of a text
    values : (K,) array          means or probabilities
    contrast : (K,) array        distance from the whole, in its standard deviations
    shown : list of str          `values` in the column's own unit
    overall : str                the same of the whole table
    """

    column: str
    kind: Kind
    category: str
    values: Floats
    contrast: Floats
    shown: list[str]
    overall: str

    @property
    def label(self) -> str:
        """The column, and the category if it has any."""
        return f"{self.column}{self.kind.sign}{self.category}" if self.category else self.column

    @property
    def spread(self) -> float:
        """The largest distance from the whole."""
        return float(np.abs(self.contrast).max())


class Feature(NamedTuple):
    """What a column is compared by in residuals: a number, the indicators of its categories, or a word.

    Attributes
    ----------
    column : Column
    block : Block
    position : int               in the block; of a word, its place in it
    mean : (K, V) array          probabilities of categories, or (K, 1) means; of a word its probability
    sd : (K, 1) array or None    None for categories
    word : str or None
    ratio : (K,) array or None   variance of a word in each component, in units of sd^2
    crowded : bool               whether it shares the length of a text with the other words
    place : int                  among all that are compared, and
    span : slice                 slice of its V cells among those of all
    """

    column: Column
    block: Block
    position: int
    mean: Floats
    sd: Floats | None = None
    word: str | None = None
    ratio: Floats | None = None
    crowded: bool = False
    place: int = 0
    span: slice = slice(0)

    @property
    def name(self) -> str:
        """The column, and the word if it is one."""
        return self.column.name if self.word is None else f"{self.column.name}: {self.word}"

    @property
    def own(self) -> Floats:
        """Variance of the standardised cells in each component, (K,): 1, but for words."""
        return np.ones(len(self.mean)) if self.ratio is None else self.ratio


class WordScores(NamedTuple):
    """A text of one row, word by word: how much each of its words scores in each component, (M, K)."""

    words: list[str]
    scores: Floats


class Density(NamedTuple):
    """A factor of the density of one row in every component: that of a cell, or of cells that belong together.

    Attributes
    ----------
    member : int              the place in the table of its column, or of the first of them
    names : list of str       what it is called in each component, such as "P(x1 = 0 | class 0)"
    log : (K,) array          its logarithm
    """

    member: int
    names: list[str]
    log: Floats


class Addends(NamedTuple):
    """What each row adds to a statistic for each time that it counts in a component.

    Attributes
    ----------
    values : (N, K) array
    texts : list of list of str    the same in figures, or what they are made of, such as "(1.2 - 1)^2"
    """

    values: Floats
    texts: list[list[str]]


class MStep(NamedTuple):
    """An M-step of a block: from statistics to parameters.

    Attributes
    ----------
    block : Block
    leaf : Leaf               with its wrappers: what is fixed, floors
    before, after : Params    of the leaf
    stats : Stats             expected statistics, those of tied components added up
    pseudo : Stats or None    those that the prior adds
    """

    block: Block
    leaf: Leaf
    before: Any
    after: Any
    stats: Stats
    pseudo: Stats | None


class Estimate(NamedTuple):
    """A parameter as it follows from statistics.

    Attributes
    ----------
    texts : list of str    the formula in figures; empty for a component without mass
    values : (K,) array    what it comes to, before limits; NaN where the parameter is fixed
    """

    texts: list[str]
    values: Floats
