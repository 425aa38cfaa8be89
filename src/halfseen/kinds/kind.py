"""The protocol of a kind of column: all that the rest of the library asks of a column.

A kind has no state but what its name says; one object serves all columns of its kind. What is written here fits a plain
column of numbers whose distribution has a mean and a variance, so that a new kind of that sort is short. `categorical`,
`gaussian`, `poisson` and `text` are built-in kinds, and examples; `binomial` is one whose name has an argument.

You implement
-------------
name                  what `columns={"x": name}` calls it
parameters            the names of its parameters, as users see them, and their bounds
leaf                  the leaf of a block of such columns: its prior, unit and start
moments               mean and variance, given the parameters

You may implement
-----------------
with_argument, lacks  a kind whose name has something in brackets: "binomial(10)"
legal, domain         which numbers a cell may hold, and how that is said
recognises            whether a column is of this kind by its values (default: by choice only)
learn, encode, decode, dtype, missing_mark   cells that are not numbers
arrays                where the parameters are, if the leaf's params are not one array (K, D) for each of them
claims, place, fix    parameters as a user gives them, if not as {name: (K,) array}
profile, trait, card, odd_cell          what a component looks like, if not 'mean ± standard deviation'
whole                 the parameters of the whole table, if not a mean over components
expected_log_density  in closed form
statistics            the names of the first statistics of its leaf, for `hs.explain`
density, estimates    for `hs.explain`: what the density of a cell is called (default: by the parameters' names), the
                      formula of a parameter (default: of one that is the second of `statistics` over the first)
densities, addends    likewise, where cells belong together, or statistics are shown otherwise than they are gathered
summary_from          the summary read off statistics: then `NaiveBayes.partial_fit` takes the column
scanned, seen, scan_figures, joined   what of the summary must be read off the cells, and how it adds
notes                 what a fit records about its columns in `events_`
doubts                likewise, from the cells: suspected codes for missing values, another kind that may fit better
misfits               likewise, from the cells and the fitted parameters: what the kind cannot describe in them
few_values            columns that hold so few distinct values that they may be categories
degenerate            components that rest on next to nothing
to_record, from_record   what a model file holds of a column, if it has more than a name
exported_scores, exported_cell   its log-density as a formula: then models can be written as SQL or ONNX

You get for free
----------------
fit, predict, impute, sample, start=, fixed=, tied=, from_params, params_, to_frame, describe, why, posterior (where the
leaf has it), residuals, rows worth a look, contrasts, comparison, imputation check, forecasts, report, plots, command
line and model files; as an emission of `HMM` and `TranscriptAligner` too.

Arrays of parameters are (K, D): components, columns of the block. Statistics of the leaf begin with the mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from halfseen import stop_request
from halfseen.assign import SOFT
from halfseen.data.columns import Block, Column, numbers_of
from halfseen.data.frames import RawColumn, Source
from halfseen.data.rows import Chunk, Rows
from halfseen.errors import DataError, ParameterError
from halfseen.export.formula import Formula, Language
from halfseen.kinds import by_numbers
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.doubts import CODES, codes_note, suspected_codes
from halfseen.kinds.numbers import apart, check_moments, in_units, or_free, read_numbers
from halfseen.kinds.records import (
    REAL,
    Addends,
    Bound,
    Build,
    ColumnProfile,
    Contrast,
    Density,
    Estimate,
    Feature,
    Figures,
    Fitted,
    Mask,
    MStep,
    WordScores,
)
from halfseen.kinds.wording import cut, number, shown, spread
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.registry import kind_named

DRAWS = 2000  # of each component, to estimate the expected log-density


class Kind(ABC):
    """A kind of column; see the module's lists. Equal, hashed and pickled by its name."""

    name: str
    treatment: ClassVar[str] = ""  # which variant of the kind this is
    treatments: ClassVar[tuple[str, ...]] = ("fixed", "tied", "cells")  # how columns may be treated
    parameters: ClassVar[Mapping[str, Bound]] = {}
    statistics: ClassVar[tuple[str, ...]] = ()
    scanned: ClassVar[tuple[str, ...]] = ()  # what of the summary `scan` reads off the cells
    domain: str = "a number"
    lacks: str = ""  # what its name needs in brackets before a column can be of this kind
    missing_mark: ClassVar[float] = np.nan  # the mark of a missing cell in a block
    sign: ClassVar[str] = " = "  # between a column and its category
    any_number: ClassVar[bool] = False  # whether a cell may hold any finite number: then arrays are encoded at once
    has_categories: ClassVar[bool] = False  # whether a cell holds one of the column's categories
    of_words: ClassVar[bool] = False  # whether a cell is a text: then blocks are `Counts`, and no cell is missing
    by_length: ClassVar[bool] = False  # whether a cell has a length, a number of words, that is given
    rule: ClassVar[str | None] = None  # the option that makes it a rule without probabilities, such as "text='...'"

    def __repr__(self) -> str:
        return repr(self.name)

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and (other.name, other.treatment) == (self.name, self.treatment)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return kind_named, (self.name, self.treatment)

    def treated(self, treatment: str) -> Kind:
        """Return the kind of a block whose columns are treated in some way; most kinds are what they are."""
        return self

    def with_argument(self, argument: str) -> Kind:
        """Return the kind that its name with something in brackets means, "binomial(10)"; most have nothing there."""
        raise ParameterError(f"the kind {self.name!r} takes nothing in brackets, got '{self.name}({argument:.40})'.")

    # ---- cells ---------------------------------------------------------------------------------------------------

    def recognises(self, raw: RawColumn) -> bool:
        """Whether a column of which nothing is said is of this kind; kinds are asked in the order of registration."""
        return False

    def legal(self, values: Floats) -> Mask:
        """Which numbers a cell may hold, (N,)."""
        return np.isfinite(values)

    def read(self, raw: RawColumn, name: str) -> Floats:
        """Return the numbers of a column; refuse what is not in the domain."""
        values = numbers_of(raw, name, self.name)
        if self.any_number:
            return values
        with np.errstate(invalid="ignore"):
            wrong = ~raw.missing & ~self.legal(values)
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"column {name!r} cannot be {self.name}: row {row} is {values[row]:g}, not {self.domain} "
                f"({wrong.sum()} such rows). Fit it as kind 'gaussian', or make such cells missing."
            )
        return values

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Return what a column means, once its cells are known to be of this kind.

        Of a stream these are its distinct values, or enough of them; `read` has looked at every batch.
        """
        if raw.missing.all():
            raise DataError(
                f"column {name!r} cannot be {self.name}: all its {len(raw.missing)} cells are missing. "
                "Drop the column, or leave its kind open."
            )
        self.read(raw, name)
        return Column(name, self)

    def encode(self, raw: RawColumn, column: Column, out: NDArray[Any]) -> Counter[Any]:
        """Write a column into one column of a block; return categories that it does not have, and how often."""
        np.add(self.read(raw, column.name), 0.0, out=out)  # which turns -0.0 into 0.0
        out[raw.missing] = self.missing_mark
        return Counter()

    def decode(self, column: Column, cells: NDArray[Any]) -> list[Any]:
        """Return one column of a block as values; None where missing."""
        return [None if value != value else value for value in cells.tolist()]

    def encode_block(self, source: Source, block: Block) -> tuple[Any, Counter[tuple[str, Any]]]:
        """Return the cells of a block, (N, D), and the unknown categories by column, with how often they were met."""
        cells = np.empty((source.n_rows, len(block.members)), self.dtype(block))
        unknown: Counter[tuple[str, Any]] = Counter()
        for d, (j, column) in enumerate(zip(block.members, block.columns, strict=True)):
            stop_request.check()
            for value, count in self.encode(source.column(j), column, cells[:, d]).items():
                unknown[column.name, value] += count
        return cells, unknown

    def decode_block(self, block: Block, cells: Any) -> list[list[Any]]:
        """Return the columns of a block as values."""
        return [self.decode(column, cells[:, d]) for d, column in enumerate(block.columns)]

    def dtype(self, block: Block) -> np.dtype[Any]:
        """Return the type of the cells of a block."""
        return np.dtype(np.float64)

    def missing(self, block: Block, cells: Any) -> Mask:
        """Return which cells are missing, (N, D)."""
        return np.isnan(cells)

    def hide(self, cells: Any, hidden: Mask) -> Any:
        """Return the cells with some of them, (N, D), made missing."""
        return np.where(hidden, np.asarray(self.missing_mark, dtype=cells.dtype), cells)

    def observed(self, block: Block, cells: Any) -> Floats:
        """Return how much was observed of each cell, (N, D): 0 or 1; of a text the number of its words."""
        return (~self.missing(block, cells)).astype(np.float64)

    def unknown_words(self, source: Source, block: Block) -> Counter[str]:
        """Return the words of a text that the model does not know, and how often they were met."""
        return Counter()

    # ---- in a model file -----------------------------------------------------------------------------------------

    def to_record(self, column: Column) -> dict[str, Any]:
        """Return what a model file holds of a column in addition to its name and kind, as plain values."""
        return {"categories": None}

    def from_record(self, name: str, record: Mapping[str, Any]) -> Column:
        """Return the column of a record; refuse what cannot be one."""
        if record["categories"] is not None:
            raise ParameterError(f"column {name!r}: a {self.name} column has no categories.")
        return Column(name, self)

    def n_values(self, column: Column) -> int:
        """Return how many rows `every_value` needs."""
        return 1

    def every_value(self, block: Block, n_rows: int) -> Any:
        """Return cells with every category: what can be decoded and put into its container can be drawn."""
        return np.full((n_rows, len(block.members)), 0.5)

    # ---- the whole table -----------------------------------------------------------------------------------------

    def summarise(self, table: Rows, block: Block) -> Figures:
        """Return what the leaf must know of the whole table: mean and variance of each column, (D,) each."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, var, mass = table.moments(block.name)
        return {**check_moments({"mean": mean, "var": var}, block, mass), **self.scan(table, block)}

    def scan(self, table: Rows, block: Block) -> Figures:
        """Return the part of the summary that no statistics hold: it must be read off the cells."""
        if not self.scanned:
            return {}
        first = self.seen(table.first().blocks[block.name])
        if first.settled:
            return self.scan_figures(first)
        return self.scan_figures(table.total(partial(_seen, kind=self, block=block.name, known=first), light=True))

    def scan_pieces(self, pieces: Iterable[Any]) -> Figures:
        """Return that part of the cells of a block, which come in pieces, (N, D) each; it need not take all of them."""
        if not self.scanned:
            return {}
        found = None
        for cells in pieces:
            found = self.seen(cells, found) if found is None else found + self.seen(cells, found)
            if found.settled:
                break
        return self.scan_figures(found)

    def seen(self, cells: Any, known: Any = None) -> Any:
        """Return what is seen in cells, (N, D): it adds, and is `settled` once more cells change nothing."""
        raise NotImplementedError(f"{self.name} scans cells: it needs the method seen.")

    def scan_figures(self, seen: Any) -> Figures:
        """Return the figures of what was seen, named as in `scanned`, (D,) each."""
        raise NotImplementedError(f"{self.name} scans cells: it needs the method scan_figures.")

    def joined(self, before: Figures, scanned: Figures) -> Figures:
        """Return what was scanned of rows that came in pieces: `before`, and one more piece."""
        return scanned

    def unit_summary(self, block: Block) -> Figures:
        """Return a summary that knows nothing: mean 0, variance 1."""
        return {"mean": np.zeros(len(block.members)), "var": np.ones(len(block.members))}

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures | None:
        """Return the summary read off statistics gathered about `about`; None where they do not hold it.

        All components of `about` are alike; `mass` is the weight of all rows. What `scan` reads is not part of it.
        """
        return None

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is: mean 0 and variance 1 where nothing is known."""
        return {"mean": np.nan_to_num(summary["mean"]), "var": np.where(summary["var"] > 0, summary["var"], 1.0)}

    def lost_digits(self, summary: Figures, rough: Figures) -> bool:
        """Whether the pivots in `rough` lay so far from the numbers that moments about them lost digits."""
        return False

    def legal_summary(self, summary: Figures) -> bool:
        """Whether a summary from a file can be one."""
        return bool((summary["var"] >= 0).all())

    def fingerprint(self, summary: Figures) -> list[Floats]:
        """Return the figures by which a table is recognised: means in standard deviations, and variances."""
        return [in_units(summary["mean"], summary["var"]), summary["var"]]

    def notes(self, block: Block, summary: Figures, params: Any) -> Iterator[str]:
        """Yield what a fit records about the columns of a block in `events_`; `params` are those of its leaf."""
        return iter(())

    def doubts(self, block: Block, cells: Any, weight: Floats, inferred: Container[str]) -> Iterator[str]:
        """Yield what cells of a block, (n, D), make one doubt; `inferred`: the columns whose kind was not given."""
        edges = np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)
        for d in np.flatnonzero(np.isin(edges, CODES).any(axis=0)).tolist():
            codes = suspected_codes(np.asarray(cells[:, d]), weight)
            if codes:
                yield codes_note(block.columns[d].name, codes)

    def misfits(self, fitted: Fitted, cells: Any, weight: Floats) -> Iterator[str]:
        """Yield what in cells of a block, (n, D), its fitted parameters do not describe, and which kind may."""
        return iter(())

    def few_values(self, block: Block, summary: Figures) -> dict[str, int]:
        """Return the columns with so few distinct values that they may be categories, and how many values."""
        return {}

    def degenerate(self, fitted: Fitted) -> Iterator[tuple[int, str]]:
        """Yield components that rest on next to nothing, and in what way, as the end of a sentence."""
        return iter(())

    # ---- the leaf, and parameters given by the user --------------------------------------------------------------

    @abstractmethod
    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf of a block of columns."""

    @property
    def form(self) -> str:
        """The parameters of a column as a user gives them."""
        return "{" + ", ".join(f"{name!r}: ..." for name in self.parameters) + "}"

    def claims(self, given: Mapping[Any, Any]) -> bool:
        """Whether parameters given without data are of this kind."""
        return bool(self.parameters) and set(given) == set(self.parameters)

    def column_of(self, name: str, given: Mapping[Any, Any]) -> Column:
        """Return the column whose parameters are given without data."""
        return Column(name, self)

    def arrays(self, params: Any) -> dict[str, Floats]:
        """Return the arrays of the leaf's parameters by name, (..., K, D) each."""
        return dict(zip(self.parameters, params if isinstance(params, tuple) else (params,), strict=True))

    def named(self, block: Block, params: Any) -> Iterator[dict[Any, Floats]]:
        """Yield {name: (..., K)} for each column, of parameters or of draws of them."""
        arrays = self.arrays(params)
        for d in range(len(block.members)):
            yield {name: array[..., d] for name, array in arrays.items()}

    def place(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the parameters that a user gave for column d into those of the leaf, whose arrays may be written."""
        arrays = self.arrays(params)
        for name, values in self.read_parameters(block.columns[d].name, given, n_components).items():
            arrays[name][:, d] = values

    def read_parameters(self, column: str, given: Any, n_components: int) -> dict[str, Floats]:
        """Return the parameters that a user gave: {name: (K,)}, some or all; or the array, where there is just one."""
        if not isinstance(given, Mapping) and len(self.parameters) == 1:
            given = dict.fromkeys(self.parameters, given)
        if not isinstance(given, Mapping) or not given or not set(given) <= set(self.parameters):
            got = f"names {sorted(map(str, given))}" if isinstance(given, Mapping) else f"{given!r:.80}"
            some = " (or some of them)" if len(self.parameters) > 1 else ""
            raise ParameterError(
                f"{column!r} is a {self.name} column: expected {self.form}{some} with a number for each component, "
                f"got {got}."
            )
        return {
            name: read_numbers(values, f"{column!r}: {name}", n_components, self.parameters[name])
            for name, values in given.items()
        }

    def fix(self, params: Any, mask: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the parameters of column d that a user fixed, None or NaN where they are free, and mark them.

        The arrays of `params`, and of `mask` in their shape, may be written.
        """
        column = block.columns[d].name
        if not isinstance(given, Mapping) and len(self.parameters) == 1:
            given = dict.fromkeys(self.parameters, given)
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(f"fixed[{column!r}]: expected {self.form}, None where free, got {given!r:.80}.")
        arrays, masks = self.arrays(params), self.arrays(mask)
        for key, values in given.items():
            numbers = or_free(values, f"fixed[{column!r}]: {key}", n_components)
            known = ~np.isnan(numbers)
            bound = self.parameters.get(key, REAL)  # inside is a legal number where it is free
            inside = bound.high / 2 if bound.open else 1.0 + max(0.0, bound.low)
            [(name, read)] = self.read_parameters(column, {key: np.where(known, numbers, inside)}, n_components).items()
            if masks[name][:, d].any():
                raise ParameterError(f"fixed[{column!r}]: {name} is given twice.")
            arrays[name][known, d] = read[known]
            masks[name][known, d] = True

    def check_complete(self, column: str, given: Any) -> None:
        """Refuse parameters to keep that are not given in full."""
        if isinstance(given, Mapping) and len(given) < len(self.parameters):
            needed = " and ".join(f"its {name}" for name in self.parameters)
            both = "both " if len(self.parameters) == 2 else ""
            raise ParameterError(f"fixed: {column!r} needs {both}{needed} in start, got {given!r}.")

    # ---- what a component looks like -----------------------------------------------------------------------------

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance, (K,) each, given the parameters by name."""
        raise NotImplementedError(f"the kind {self.name} does not implement `moments`.")

    def bounds(self, row: Any) -> tuple[float, float]:
        """Return between which numbers a parameter of a profile is, by its name; those of categories are shares."""
        bound = self.parameters.get(row)
        return (0.0, 1.0) if bound is None else (bound.low, bound.high)

    def profiles(self, fitted: Fitted) -> Iterator[ColumnProfile]:
        """Yield the profile of each column of a block."""
        for column, values in zip(fitted.block.columns, self.named(fitted.block, fitted.params), strict=True):
            yield self.profile(column, values, fitted.weights)

    def profile(self, column: Column, values: Mapping[str, Floats], weights: Floats) -> ColumnProfile:
        """Return the profile of a column with these parameters; the distance is that of normal distributions.

        whole mean m = sum_k weights[k] mean[k],  whole variance v = sum_k weights[k] (var[k] + (mean[k] - m)^2),
        distance[k] = 1/2 ((var[k] + (mean[k] - m)^2) / v - 1 - log(var[k] / v))
        """
        mean, var = self.moments(**values)
        centre, total, distance = apart(mean, var, weights)
        table = np.stack(list(values.values()))
        whole = self.whole(values, weights, centre, total)
        return ColumnProfile(column.name, self, list(values), table, whole, distance, (centre, total**0.5))

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """Return the parameters of the whole table, which has this mean and variance: their mean over components."""
        return np.stack(list(values.values())) @ weights

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Say what component k is like in a column, compared with the whole."""
        own, whole = (f"{number(mean)} ± {number(sd)}" for mean, sd in _own_and_whole(column, k))
        return f"{column.name} {own} (all {whole})"

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return component k and the whole in a few words each, for a table."""
        own, whole = (spread(mean, sd) for mean, sd in _own_and_whole(column, k))
        return own, whole

    def odd_cell(self, column: ColumnProfile, k: int, value: Any, who: str) -> str:
        """Say how a value is unlike component k, which is called `who`."""
        mean, sd = _own_and_whole(column, k)[0]
        far = (value - mean) / sd
        side = "above" if far > 0 else "below"
        return (
            f"{cut(column.name)} = {shown(float(value))} is {abs(far):.1f} standard deviations {side} {who} "
            f"({spread(mean, sd)})"
        )

    def contrasts(self, column: ColumnProfile, weights: Floats) -> Iterator[Contrast]:
        """Yield how each component differs from the whole: (mean[k] - mean) / sd, in its standard deviations."""
        assert column.whole is not None
        (centre, sd), (values, _) = column.whole, column.moments
        far = (values - centre) / sd if sd > 0 else np.zeros_like(values)
        yield Contrast(column.name, self, "", values, far, [number(v) for v in values], number(centre))

    def unit(self, column: ColumnProfile) -> float:
        """Return what differences between two models are measured in: the standard deviation of the whole."""
        assert column.whole is not None
        return max(abs(column.whole[1]), 1e-300)

    def forecast(self, column: ColumnProfile, proba: Floats) -> dict[Any, Floats]:
        """Return the distribution of a column under probabilities of components (..., K): {"mean", "sd"}, (...) each.

        mean = sum_k proba[k] mean[k],  var = sum_k proba[k] (var[k] + (mean[k] - mean)^2)
        """
        own, var = column.moments
        centre = proba @ own
        about = own - centre[..., None]  # squares of the means themselves would drown a small variance
        return {"mean": centre, "sd": np.sqrt(proba @ var + (proba * about**2).sum(axis=-1))}

    # ---- rows ----------------------------------------------------------------------------------------------------

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """Return mean and variance of log p(x[d] | k) for x drawn from component k, (K, D) each.

        Of text, for each word of it. Estimated from draws, unless a kind has a closed form.
        """
        rng, prepared = np.random.default_rng(0), fitted.leaf.prepare(fitted.params)
        shape = (len(fitted.weights), len(fitted.block.members))
        mean, var = np.zeros(shape), np.zeros(shape)
        for k in range(shape[0]):
            drawn = fitted.leaf.sample(fitted.params, np.full(DRAWS, k), rng)
            for d in range(shape[1]):
                others = np.broadcast_to(np.arange(shape[1]) != d, drawn.shape)
                scores = fitted.leaf.score(prepared, self.hide(drawn, others), SOFT)[:, k]
                mean[k, d], var[k, d] = scores.mean(), scores.var()
        return mean, var

    def draw(
        self, fitted: Fitted, components: NDArray[np.int64], rng: np.random.Generator, lengths: Floats | None = None
    ) -> Any:
        """Draw rows of a block, one for each of `components`; texts with given numbers of words, (D,)."""
        return fitted.leaf.sample(fitted.params, components, rng)

    def word_scores(self, fitted: Fitted, cells: Any, d: int, names: Sequence[str] | None) -> WordScores | None:
        """Return what each word of one text scores; None for other kinds. `names` are the words of a matrix."""
        return None

    def features(self, fitted: Fitted, d: int, names: Sequence[str] | None) -> Iterator[Feature]:
        """Yield what column d is compared by with others: its mean and standard deviation in each component."""
        column, values = fitted.block.columns[d], next(islice(self.named(fitted.block, fitted.params), d, None))
        mean, var = self.profile(column, values, fitted.weights).moments
        yield Feature(column, fitted.block, d, mean[:, None], np.sqrt(var[:, None]))

    def feature_cells(self, cells: Any, feature: Feature) -> Floats:
        """Return the cells of a feature, (N, V); 0 where missing."""
        return np.nan_to_num(cells[:, feature.position, None])

    def error(self, truth: Any, guess: Any, weight: Floats, left: Any, left_weight: Floats) -> tuple[str, float, float]:
        """Return what errors of imputation are called, that of the guesses, and that of the column's mean.

        Mean absolute errors ``sum_n weight[n] |guess[n] - truth[n]|``; `left` are the cells that were not hidden.
        """
        mean = float(np.average(left, weights=left_weight))
        return "mean error", float(weight @ np.abs(guess - truth)), float(weight @ np.abs(truth - mean))

    def exact(self, truth: Any, guess: Any, weight: Floats) -> float | None:
        """Return the share of guesses that are right to the letter, where `error` says how near they are; else None."""
        return None

    # ---- in other languages --------------------------------------------------------------------------------------

    def exported_as_text(self, column: Column) -> bool:
        """Whether a cell is read as text, and not as a number."""
        return False

    def exported_cell(self, column: Column, language: Language) -> Formula:
        """Return what `exported_scores` reads of a cell."""
        return language.number(column.name)

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield formulas, wide, that add up to the log-density of the cells of a block in each component."""
        names = ", ".join(repr(column.name) for column in fitted.block.columns)
        raise ParameterError(
            f"{names}: columns of kind {self.name!r} cannot be written in {language.name}: it has no `exported_scores`."
        )

    # ---- number by number ----------------------------------------------------------------------------------------

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Yield the statistics of each column by name, (K,) each, as a person would count them.

        `leaf` is that of the block, `about` the parameters under which the statistics were gathered.
        """
        for d in range(len(block.members)):
            yield {name: stats[i][:, d] for i, name in enumerate(self.statistics)}

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return what the density of a cell in a component is called; `who` is the component."""
        given = "".join(f", {name} {figure(number)}" for name, number in parameters.items())
        return f"p({column.name} = {value} | {who}{given})"

    def densities(self, fitted: Fitted, cells: Any, classes: Sequence[str]) -> list[list[Density]]:
        """Return the factors of the density of each row: one for each observed cell, unless cells belong together."""
        return by_numbers.cell_densities(self, fitted, cells, classes)

    def addends(self, fitted: Fitted, cells: Any, stats: Stats) -> Iterator[dict[Any, Addends]]:
        """Yield what each row adds to the statistics of each column, by the names of `counted`.

        `stats` are those of all rows together, gathered under the parameters of `fitted`.
        """
        return by_numbers.addends(self, fitted, cells)

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """Yield the parameters of each column as they follow from the statistics; those without a formula are left out.

        By their names in a profile. Here: a single parameter that is the second of `statistics` over the first.
        """
        return by_numbers.ratio_of_first_two(self, step)


def _seen(chunk: Chunk, kind: Kind, block: str, known: Any) -> Any:
    """Return what a kind sees in a block of a chunk."""
    return kind.seen(chunk.blocks[block], known)


def _own_and_whole(column: ColumnProfile, k: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return mean and standard deviation of component k, and of the whole."""
    assert column.whole is not None
    mean, var = column.moments
    return (float(mean[k]), float(np.sqrt(var[k]))), column.whole
