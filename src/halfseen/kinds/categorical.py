"""One of a fixed tuple of categories: component k holds category v with probability p[k, v].

Categories are plain Python values: whole numbers are `int` wherever they came from, and all are sorted, except that a
declared order (ordered pandas categories, Polars Enum) is kept. Levels that were declared but never seen count.
Codes are 0, 1, ...; -1 is a missing cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, xlogy

from halfseen.data.columns import (
    CLOSE,
    MAX_DISTINCT,
    Block,
    Category,
    Column,
    canonical_values,
    distinct_numbers,
    is_whole,
)
from halfseen.data.frames import CodedColumn, RawColumn
from halfseen.data.rows import Rows
from halfseen.errors import ParameterError
from halfseen.export.formula import Formula, Language
from halfseen.kinds import by_numbers
from halfseen.kinds.doubts import (
    FEWEST,
    codes_note,
    looks_like_a_scale,
    marks_notes,
    scales_note,
    suspected_codes,
)
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import (
    Build,
    ColumnProfile,
    Contrast,
    Estimate,
    Feature,
    Figures,
    Fitted,
    Mask,
    MStep,
)
from halfseen.kinds.wording import cut, percent, shown
from halfseen.leaves.categorical import SUM_TOLERANCE, Categorical, read_fixed_table, read_table
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.leaves.wrappers import fixed_entries

MANY_SPACES = 2  # in what may be a sentence
HEAD = 20  # categories read
FEW = 4  # whole numbers with more distinct values than this, hardly ever repeated, may be a quantity


class Tabular(Kind):
    """What categories and words share: a block is a table of probabilities, its columns one after the other."""

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """counts[v] = sum_k stats[k, v]."""
        return {"counts": stats.sum(axis=0)}

    def unit_summary(self, block: Block) -> Figures:
        """Return no counts."""
        return {"counts": np.zeros(sum(block.sizes))}

    def filled(self, summary: Figures) -> Figures:
        """Return the counts as they are."""
        return summary

    def legal_summary(self, summary: Figures) -> bool:
        """Whether no count is negative."""
        return not summary["counts"].min(initial=0.0) < 0

    def fingerprint(self, summary: Figures) -> list[Floats]:
        """Return the counts."""
        return [summary["counts"]]

    def column_of(self, name: str, given: Mapping[Any, Any]) -> Column:
        """Return the column with the categories that have probabilities."""
        return Column(name, self, tuple(given))

    def place(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the probabilities of one column."""
        column, first = block.columns[d], block.starts[d]
        if isinstance(given, Mapping):
            given = self._by_category(column, given, n_components)
        table = read_table(given, (n_components, block.sizes[d]), f"{column.name!r}")
        params[:, first : first + block.sizes[d]] = table

    def fix(self, params: Any, mask: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the probabilities of one column that are fixed: {category: (K,)} of some, or a (K, V) table."""
        column, first, size = block.columns[d], block.starts[d], block.sizes[d]
        what = f"fixed[{column.name!r}]"
        if isinstance(given, Mapping):
            categories = column.categories or ()
            if not set(given) <= set(categories):
                self._refuse(column, given)
            none = [None] * n_components
            rows = [given.get(category, none) for category in categories]
            if any(np.shape(row) != (n_components,) for row in rows):
                raise ParameterError(
                    f"{what}: each category needs a probability for each of {n_components} classes, None where free, "
                    f"got {given!r:.80}."
                )
            given = list(zip(*rows, strict=True))
        table = read_fixed_table(given, (n_components, size), what)
        known = ~np.isnan(table)
        params[:, first : first + size][known] = table[known]
        mask[:, first : first + size] = known

    def _by_category(self, column: Column, given: Mapping[Any, Any], n_components: int) -> Floats:
        """Return probabilities given by category as a table, (K, V)."""
        categories = column.categories or ()
        if set(given) != set(categories):
            self._refuse(column, given)
        parts = {category: _numbers(given[category]) for category in categories}
        for category, part in parts.items():
            if part.shape != (n_components,):
                raise ParameterError(
                    f"{column.name!r}: each category needs a probability for each of the {n_components} components, "
                    f"got {given[category]!r:.80} for {category!r}."
                )
        table = np.stack(list(parts.values()), axis=-1) if parts else np.zeros((n_components, 0))
        off = np.flatnonzero(np.abs(table.sum(axis=1) - 1) > SUM_TOLERANCE)
        if len(off) and (table >= 0).all():
            raise ParameterError(
                f"{column.name!r}: the probabilities of component {off[0]} sum to {table[off[0]].sum():.6g}, not 1 "
                f"({len(off)} of {n_components} components are off). Divide them by their sum."
            )
        return table

    def _refuse(self, column: Column, given: Mapping[Any, Any]) -> None:
        raise ParameterError(
            f"{column.name!r}: categories {sorted(map(repr, given))} are not those of the column, {column.categories}."
        )

    def shares(self, params: Any) -> Floats:
        """Return the probabilities, (..., K, V)."""
        table: Floats = params
        return table

    def named(self, block: Block, params: Any) -> Iterator[dict[Any, Floats]]:
        """Yield {category: (..., K)} for each column."""
        table = self.shares(params)
        for column, first in zip(block.columns, block.starts, strict=True):
            yield {category: table[..., first + v] for v, category in enumerate(column.categories or ())}

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Yield the expected count of each category."""
        return self.named(block, stats)

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return the probability of a category."""
        return f"P({column.name}{self.sign}{value} | {who})"

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """p[k, v] = count[k, v] / sum_v count[k, v];  beside fixed probabilities the others share what these leave."""
        mask = fixed_entries(step.leaf, step.before)
        columns = zip(
            by_numbers.counted(self, step),
            self.named(step.block, mask),
            self.named(step.block, step.before),
            strict=True,
        )
        for (own, pseudo), fixed, before in columns:
            yield by_numbers.shares_of_counts(own, pseudo, fixed, before)

    def unit(self, column: ColumnProfile) -> float:
        """Return 1: probabilities are compared as they are."""
        return 1.0


class CategoricalKind(Tabular):
    """Categories with probabilities."""

    name = "categorical"
    missing_mark = -1
    has_categories = True

    # ---- cells ---------------------------------------------------------------------------------------------------

    def recognises(self, raw: RawColumn) -> bool:
        """Text, True/False, declared categories, numbers that never change, few distinct whole numbers."""
        if raw.type != "number" or raw.levels is not None:
            return True
        distinct = distinct_numbers(raw)
        return len(distinct) <= 1 or (len(distinct) <= MAX_DISTINCT and bool(is_whole(distinct).all()))

    def read(self, raw: RawColumn, name: str) -> Floats:
        """Return the cells as they are: any of them may be a category."""
        return raw.values

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Return the column with its categories."""
        return Column(name, self, _categories(raw))

    def encode(self, raw: RawColumn, column: Column, out: NDArray[Any]) -> Counter[Any]:
        """Write codes; return the categories that are not known."""
        out[:] = _codes(raw, column.categories or ())
        unknown = (out < 0) & ~raw.missing
        return Counter(canonical_values(raw.values[unknown], raw.type)) if unknown.any() else Counter()

    def decode(self, column: Column, cells: NDArray[Any]) -> list[Any]:
        """Return the categories."""
        lookup = np.array([*(column.categories or ()), None], dtype=object)  # so that -1 is None
        return list(lookup[cells.astype(np.intp)])

    def dtype(self, block: Block) -> np.dtype[Any]:
        """Return the smallest integers that hold all codes."""
        largest = max(block.sizes) - 1
        return next(np.dtype(t) for t in (np.int8, np.int16, np.int32) if largest <= np.iinfo(t).max)

    def missing(self, block: Block, cells: Any) -> Mask:
        """Return which codes are negative."""
        found: Mask = cells < 0
        return found

    # ---- in a model file -----------------------------------------------------------------------------------------

    def to_record(self, column: Column) -> dict[str, Any]:
        """Return the categories."""
        return {"categories": list(column.categories or ())}

    def from_record(self, name: str, record: Mapping[str, Any]) -> Column:
        """Return the column; its categories are texts and numbers, none of them twice."""
        categories = record["categories"]
        if not isinstance(categories, list):
            raise ParameterError(f"column {name!r}: a categorical column has a list of categories.")
        for category in categories:
            if not isinstance(category, str | int | float) or category != category:
                raise ParameterError(f"column {name!r}: {category!r:.80} cannot be a category.")
        if len(set(categories)) != len(categories):
            raise ParameterError(f"column {name!r} has a category twice.")
        if 0 < sum(isinstance(category, str) for category in categories) < len(categories):
            raise ParameterError(f"column {name!r} has both texts and numbers as categories.")
        return Column(name, self, tuple(categories))

    def n_values(self, column: Column) -> int:
        """Return the number of categories."""
        return len(column.categories or ())

    def every_value(self, block: Block, n_rows: int) -> Any:
        """Return every code, and the last one again."""
        return np.minimum(np.arange(n_rows)[:, None], np.array(block.sizes) - 1)

    # ---- the whole table, and the leaf ---------------------------------------------------------------------------

    def summarise(self, table: Rows, block: Block) -> Figures:
        """Return the weighted count of every category."""
        return {"counts": table.frequencies(block.name)}

    def notes(self, block: Block, summary: Figures, params: Any) -> Iterator[str]:
        """Name columns that cannot tell components apart, and quantities or texts that may be no categories."""
        columns = np.split(summary["counts"], block.starts[1:])
        for column, counts in zip(block.columns, columns, strict=True):
            note = _note(column, counts)
            if note:
                yield f"column {column.name!r}{note}"

    def doubts(self, block: Block, cells: Any, weight: Floats, inferred: Container[str]) -> Iterator[str]:
        """Name texts, and whole numbers among those that count as categories, that may mean missing."""
        for d, column in enumerate(block.columns):
            categories = column.categories or ()
            if len(categories) > FEWEST and all(type(category) is int for category in categories):
                codes = cells[:, d]
                values = np.array([*categories, np.nan], dtype=np.float64)[codes.astype(np.intp)]  # -1 is missing
                found = suspected_codes(values, weight)
                if found:
                    yield codes_note(column.name, found)
        scales = [
            column.name for d, column in enumerate(block.columns) if _is_scale(column, cells[:, d], weight, inferred)
        ]
        if scales:
            yield scales_note(scales)
        yield from marks_notes((column.name, column.categories or ()) for column in block.columns)

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a pseudo-row is spread as the categories of the whole table are."""
        n_components, pseudo = build.n_components, None
        if build.prior in ("row", "categories"):
            spread = smoothed_shares if build.prior == "row" else half_even_shares
            pseudo = np.tile(spread(summary["counts"], block.sizes) / n_components, (n_components, 1))
        elif build.prior is not None:
            pseudo = np.full((n_components, sum(block.sizes)), float(build.prior))
        return Categorical(n_components, block.sizes, pseudo)

    @property
    def form(self) -> str:
        """Probabilities by category."""
        return "{category: probabilities}"

    # ---- what a component looks like -----------------------------------------------------------------------------

    def profiles(self, fitted: Fitted) -> Iterator[ColumnProfile]:
        """distance[k] = sum_v p[k, v] log(p[k, v] / p[v]), where p[v] = sum_k weights[k] p[k, v]."""
        parts = np.split(fitted.params.T, fitted.block.starts[1:])
        for column, values in zip(fitted.block.columns, parts, strict=True):
            overall = values @ fitted.weights
            distance = rel_entr(values, overall[:, None]).sum(axis=0)
            yield ColumnProfile(column.name, self, list(column.categories or ()), values, overall, distance)

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Name the category that sets the component apart most."""
        values, overall = column.values[:, k], column.overall
        telling = int(np.argmax(rel_entr(values, overall)))
        return f"{column.name} = {column.rows[telling]} in {values[telling]:.0%} (all {overall[telling]:.0%})"

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return the category that sets the component apart most, with its shares."""
        values, overall = column.values[:, k], column.overall
        telling = int(np.argmax(rel_entr(values, overall)))
        return f"{column.rows[telling]} in {percent(values[telling])}", percent(overall[telling])

    def odd_cell(self, column: ColumnProfile, k: int, value: Any, who: str) -> str:
        """Say how often the category is seen in the component."""
        share = column.values[column.rows.index(value), k]
        return f"{cut(column.name)} = {shown(value)}, seen in {percent(share)} of {who}"

    def contrasts(self, column: ColumnProfile, weights: Floats) -> Iterator[Contrast]:
        """Yield (p[k] - p) / sqrt(p (1 - p)) for each category: the distance of its indicator."""
        for category, values, share in zip(column.rows, column.values, column.overall.tolist(), strict=True):
            sd = np.sqrt(share * (1 - share))
            far = (values - share) / sd if sd > 1e-9 else np.zeros_like(values)
            texts = [percent(value) for value in values]
            yield Contrast(column.name, self, str(category), values, far, texts, percent(share))

    def forecast(self, column: ColumnProfile, proba: Floats) -> dict[Any, Floats]:
        """p[v] = sum_k proba[k] p[k, v]."""
        return {row: proba @ values for row, values in zip(column.rows, column.values, strict=True)}

    # ---- rows ----------------------------------------------------------------------------------------------------

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """mean[k, d] = sum_v p[k, v] log p[k, v] over the categories of column d, and the variance likewise."""
        parts = np.split(fitted.params, fitted.block.starts[1:], axis=1)
        mean, var = np.stack([expected_logs(table) for table in parts], axis=-1)
        return mean, var

    def features(self, fitted: Fitted, d: int, names: Sequence[str] | None) -> Iterator[Feature]:
        """Yield the indicators of the categories; a column with one of them is not compared."""
        block = fitted.block
        first, size = block.starts[d], block.sizes[d]
        if size > 1:
            yield Feature(block.columns[d], block, d, fitted.params[:, first : first + size])

    def feature_cells(self, cells: Any, feature: Feature) -> Floats:
        """Return indicators."""
        codes = cells[:, feature.position]
        found = np.zeros((len(codes), feature.mean.shape[1]))
        rows = np.flatnonzero(codes >= 0)
        found[rows, codes[rows].astype(np.intp)] = 1.0
        return found

    # ---- in other languages --------------------------------------------------------------------------------------

    def exported_as_text(self, column: Column) -> bool:
        """Whether the categories are texts."""
        return {type(category) for category in column.categories or ()} == {str}

    def exported_cell(self, column: Column, language: Language) -> Formula:
        """Return the place of the cell among the categories; -1 where it is missing or none of them."""
        categories = column.categories or ()
        types = {type(category) for category in categories}
        if not types:  # no cell was ever seen
            return language.constant(-1.0)
        places = np.arange(len(categories), dtype=np.float64)[:, None]
        if self.exported_as_text(column):
            return language.lookup(language.text(column.name), [str(text) for text in categories], places, -1.0)
        if str in types or (bool in types and len(types) > 1):
            raise ParameterError(
                f"{language.name} cannot compare column {column.name!r}, whose categories are of several types: "
                f"{categories!r:.80}."
            )
        cell = language.truth(column.name) if bool in types else language.number(column.name)
        known = language.lookup(cell, [float(value) for value in categories], places, -1.0)
        return language.choose((cell.missing(), -1.0), (cell.finite(), known), otherwise=language.undefined)

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield log p[v] of the category of each column; 0 where there is none."""
        with np.errstate(divide="ignore"):
            tables = np.split(np.log(fitted.params.T), fitted.block.starts[1:])
        for code, table in zip(cells, tables, strict=True):
            if not table.any():
                continue  # one category, or none
            known = language.lookup(code, range(len(table)), table, 0.0)
            yield language.choose((code.missing(), language.undefined), otherwise=known)

    def error(self, truth: Any, guess: Any, weight: Floats, left: Any, left_weight: Floats) -> tuple[str, float, float]:
        """Return the share of wrong guesses, and that of the most frequent category."""
        mode = int(np.bincount(left.astype(np.intp), weights=left_weight).argmax())
        return "wrong", float(weight @ (guess != truth)), float(weight @ (truth != mode))


def smoothed_shares(counts: Floats, sizes: Sequence[int]) -> Floats:
    """Return the share of each category in its column; one row spread evenly keeps unseen levels above zero."""
    parts = np.split(counts, np.cumsum(sizes)[:-1])
    shares = [(part + 1 / len(part)) / (part.sum() + 1) for part in parts if len(part)]
    return np.concatenate(shares) if shares else np.zeros(0)


def half_even_shares(counts: Floats, sizes: Sequence[int]) -> Floats:
    """Return one half of the share of each category in its column, plus one half spread evenly.

    Examples
    --------
    >>> half_even_shares(np.array([3.0, 1.0, 0.0, 0.0]), [4])
    array([0.5  , 0.25 , 0.125, 0.125])
    """
    parts = [part for part in np.split(counts, np.cumsum(sizes)[:-1]) if len(part)]
    seen = [part if part.any() else np.ones(len(part)) for part in parts]
    shares = [0.5 * part / part.sum() + 0.5 / len(part) for part in seen]
    return np.concatenate(shares) if shares else np.zeros(0)


def expected_logs(table: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of log table[k, v] for v drawn from it, (K,) each; summed over tables (K, D, V)."""
    mean = xlogy(table, table).sum(axis=-1)
    logs = np.log(np.where(table > 0, table, 1.0))
    var = np.maximum((table * logs**2).sum(axis=-1) - mean**2, 0.0)
    return (mean, var) if table.ndim == 2 else (mean.sum(axis=1), var.sum(axis=1))


def _categories(raw: RawColumn) -> tuple[Category, ...]:
    levels = canonical_values(raw.levels or (), raw.type)
    if raw.ordered:
        return tuple(levels)
    if isinstance(raw, CodedColumn):
        distinct: Any = raw.seen
    else:
        distinct = set(raw.values[~raw.missing]) if raw.type == "text" else distinct_numbers(raw)
    return tuple(sorted({*levels, *canonical_values(distinct, raw.type)}))  # all of one type


def _codes(raw: RawColumn, categories: tuple[Category, ...]) -> NDArray[np.integer[Any]]:
    """The position of each cell among the categories, or -1."""
    if raw.type == "text":
        code_of = {category: code for code, category in enumerate(categories)}
        if isinstance(raw, CodedColumn):
            return np.array([*map(code_of.get, raw.texts, repeat(-1)), -1], dtype=np.int32)[raw.codes]
        return np.fromiter(map(code_of.get, raw.values, repeat(-1)), np.int32, len(raw.values))
    known = {float(category): code for code, category in enumerate(categories) if not isinstance(category, str)}
    if not known:
        return np.full(len(raw.values), -1, dtype=np.int32)
    ordered = np.array(sorted(known))
    low, high = ordered[0], ordered[-1]
    if high < low + CLOSE and is_whole(ordered).all():  # whole numbers close together: a look-up
        lookup = np.full(int(high - low) + 3, -1, dtype=np.int32)  # with room for smaller and larger ones
        lookup[(ordered - low).astype(np.int64) + 1] = [known[value] for value in ordered]
        place = np.clip(np.where(raw.missing, low - 1, raw.values) - low + 1, 0, len(lookup) - 1)
        codes = lookup[place.astype(np.int64)]
        return np.where(is_whole(place), codes, np.int32(-1))
    place = np.searchsorted(ordered, raw.values).clip(max=len(ordered) - 1)
    codes = np.array([known[value] for value in ordered], dtype=np.int32)
    return np.where(ordered[place] == raw.values, codes[place], np.int32(-1))


def _numbers(given: Any) -> Floats:
    """Return numbers as a user typed them; none where they are no numbers."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros((0, 0))


def _is_scale(column: Column, codes: Any, weight: Floats, inferred: Container[str]) -> bool:
    """Whether a column of which nothing was said may be a scale."""
    categories = column.categories or ()
    if column.name not in inferred or not all(type(category) is int for category in categories):
        return False
    seen = codes >= 0
    counts = np.bincount(codes[seen].astype(np.intp), weights=weight[seen], minlength=len(categories))
    return looks_like_a_scale(np.array(categories, dtype=np.float64), counts)


def _note(column: Column, counts: Floats) -> str:
    """Return what is worth saying of a column with these counts of its categories; empty if nothing is."""
    name, size = column.name, len(counts)
    if size == 0:
        return " has no observed cell: it carries no information"
    if size == 1:
        return " is constant: it carries no information"
    if size <= FEW or counts.sum() >= 2 * size:
        return ""
    if all(type(category) is int for category in column.categories or ()):
        return (
            f": its {size} whole numbers count as categories, most of them seen once; columns={{{name!r}: 'gaussian'}} "
            "makes it a quantity"
        )
    if all(isinstance(text, str) and text.count(" ") >= MANY_SPACES for text in (column.categories or ())[:HEAD]):
        return (
            f": its {size} texts count as categories, most of them seen once; NaiveBayes and LatentClass count their "
            f"words with columns={{{name!r}: 'text'}}"
        )
    return ""
