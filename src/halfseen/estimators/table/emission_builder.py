"""A table's columns as leaves: which block each column belongs to, its prior, and values given by the user."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halfseen.data import Schema, Table
from halfseen.data.columns import Column
from halfseen.data.text import read_options
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import options
from halfseen.leaves import (
    Bernoulli,
    Categorical,
    Cells,
    Complement,
    Floored,
    Frozen,
    Gaussian,
    GaussianParams,
    Leaf,
    Multinomial,
    Normal,
    Poisson,
    Portions,
    Product,
    PseudoRows,
    Ridged,
    Spherical,
    Tied,
)
from halfseen.leaves.categorical import read_table
from halfseen.leaves.leaf import Floats, Stats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.structures.independent import Independent

Prior = str | float | None

TEXTS = ("multinomial", "bernoulli", "complement")  # how words of a text are taken

COVARIANCES = ("full", "tied", "diag", "spherical", "fixed", "identity")

DISCRETE = ("categorical", "text")

HEAD = 1000  # rows that say roughly where numbers lie

TINY = 1e-299  # variances below this: a floor of 1e-8 of one has no digits left, and its inverse overflows


def read_prior(prior: Any) -> Prior:
    """Return "row", a number of pseudo-counts, or None."""
    return options.pseudo_counts("prior", prior)


def read_names(names: Any, schema: Schema, option: str) -> tuple[str, ...]:
    """Check a list of columns, and "weights", named in an option."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise ParameterError(f"{option}={names!r} is not a list of column names.")
    known = {column.name for column in schema.columns} | {"weights"}
    if "weights" in names and any(column.name == "weights" for column in schema.columns):
        raise ParameterError(f"{option}: 'weights' may mean the classes' shares or the column; rename the column.")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ParameterError(f"{option}: there is no column {unknown[0]!r}. Columns: {', '.join(sorted(known))}.")
    return tuple(names)


class Summary(NamedTuple):
    """What the leaves must know of the whole table: moments of numbers, frequencies of categories, by block.

    The frequencies of a block of text are those of its words, then the weight of all rows.
    """

    moments: dict[str, tuple[Floats, Floats]]
    frequencies: dict[str, Floats]


def summarise(table: Table) -> Summary:
    """Return the summary of a table."""
    discrete = [block for block in table.schema.blocks if block.startswith(DISCRETE)]
    with np.errstate(over="ignore", invalid="ignore"):
        moments = {block: table.moments(block) for block in table.schema.blocks if block not in discrete}
    return _check_finite(Summary(moments, {block: table.frequencies(block) for block in discrete}), table.schema)


def roughly(table: Table) -> Summary:
    """Return the summary of the first rows: pivots near the numbers, so that moments about them keep their digits."""
    found = summarise(table.take(slice(0, HEAD)))
    moments = {name: (np.nan_to_num(mean), np.where(var > 0, var, 1.0)) for name, (mean, var) in found.moments.items()}
    return Summary(moments, found.frequencies)


def summary_of(model: Mixture, stats: Stats, about: Params, schema: Schema) -> Summary:
    """Return the summary of the rows behind statistics gathered about `about`, whose components are all alike."""
    emit = model.leaves["emit"]
    assert isinstance(emit, Product)
    moments, frequencies = {}, {}
    for block, part in emit.view(model.view(stats)["emit"]).items():
        if block.startswith("text"):
            words = part[:, 1::2] if isinstance(unwrapped(emit.leaves[block]), Bernoulli) else part
            frequencies[block] = np.append(words.sum(axis=0), model.view(stats)["mix"].sum())
            continue
        if block.startswith("categorical"):
            frequencies[block] = part.sum(axis=0)
            continue
        mass, first, second = _sums(unwrapped(emit.leaves[block]), part)
        gaussian = block.startswith("gaussian")
        centre = about["emit"][block].mean[0] if gaussian else 0.0
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            shift = first / mass
            var = np.where(np.isinf(second), np.inf, np.maximum(second / mass - shift**2, 0.0)) if gaussian else shift
        moments[block] = (centre + shift, var)
    return _check_finite(Summary(moments, frequencies), schema)


def _sums(leaf: Leaf, stats: Stats) -> tuple[Floats, ...]:
    """Return mass and sums of a block of numbers or counts by column, over all components."""
    if not isinstance(leaf, Normal):
        return tuple(stats[:3].sum(axis=1))
    parts = leaf.parts(stats.sum(axis=0, keepdims=True))
    return np.repeat(parts.mass, len(leaf.scale)), parts.first[0], np.diagonal(parts.second[0])


def lost_digits(summary: Summary, rough: Summary) -> bool:
    """Whether pivots lay so far from the numbers that moments about them lost digits."""
    pairs = [(summary.moments[name], rough.moments[name][0]) for name in summary.moments if name.startswith("gaussian")]
    return any(np.any((mean - pivot) ** 2 > 100 * var) for (mean, var), pivot in pairs)


def _check_finite(summary: Summary, schema: Schema) -> Summary:
    for block, (mean, var) in summary.moments.items():
        overflow = np.isinf(mean) | np.isinf(var)  # NaN is another matter: no cell was seen
        # a variance of 0 belongs to a constant, unless the squares of its numbers are 0
        underflow = np.where(var == 0, mean != 0, var > 0) & (var < TINY) & (np.abs(mean) < np.sqrt(TINY))
        for column, large, small in zip(schema.block_columns(block), overflow, underflow, strict=True):
            if large or small:
                how = "large that their variance overflows" if large else "small that their variance underflows"
                raise DataError(f"column {column.name!r}: its numbers are so {how}. Rescale it.")
    return summary


def check_fixed(fixed: Collection[str], start: Mapping[str, Any], schema: Schema) -> None:
    """Refuse fixed columns whose value to keep is not given in full."""
    kinds = {column.name: column.kind for column in schema.columns}
    for name in fixed:
        if name not in start:
            raise ParameterError(f"fixed: {name!r} has no value to keep; give it in start={{{name!r}: ...}}.")
        if kinds.get(name) == "gaussian" and len(start[name]) < 2:
            raise ParameterError(f"fixed: {name!r} needs both its mean and its sd in start, got {start[name]!r}.")


def mixture(
    schema: Schema,
    summary: Summary,
    n_components: int,
    prior: Prior = None,
    variance_floor: float = 0.0,
    fixed: Collection[str] = (),
    masses: Floats | None = None,
    covariance: str = "diag",
    ridge: float = 0.0,
    observed: bool = False,
) -> Mixture:
    """Return the mixture over a table: mixing weights and one leaf per block of columns.

    `masses` are given shares of groups of neighbouring components, all of one size; `covariance` is that of the block
    of numbers (those that are fixed or tied are independent), `ridge` what is added to its variances; with `observed`
    the mixing weights have no prior.
    """
    rows = _pseudo_rows(prior, n_components)
    pseudo = None if rows is None or observed else rows[None]
    mix: Leaf = Cells(1, [n_components], pseudo, axes=(1,))
    if masses is not None:
        mix = Portions(masses, n_components // len(masses), pseudo)
    if "weights" in fixed:
        mix = Frozen(Cells(1, [n_components], axes=(1,)))
    leaves = {}
    for block in schema.blocks:
        kind, _, treatment = block.partition(".")
        own_prior = None if treatment == "fixed" else prior
        if kind == "categorical":
            leaf = _categorical(schema.cardinalities(block), summary.frequencies[block], n_components, own_prior)
        elif kind == "gaussian":
            shape = "diag" if treatment else covariance
            leaf = _gaussian(*summary.moments[block], n_components, own_prior, variance_floor, shape, ridge)
        elif kind == "text":
            sizes = schema.cardinalities(block)
            leaf = _text(sizes, summary.frequencies[block], n_components, own_prior, treatment)
        else:
            leaf = _poisson(summary.moments[block][0], n_components, own_prior)
        leaves[block] = _treated(leaf, treatment)
    return Mixture(Independent(), {"mix": mix, "emit": Product(n_components, leaves)})


class Recipe(NamedTuple):
    """All that a mixture is built from, as values: whoever keeps a recipe can build the same model again."""

    schema: Schema
    summary: Summary
    n_components: int
    prior: Prior = None
    variance_floor: float = 0.0
    fixed: tuple[str, ...] = ()
    masses: Floats | None = None
    covariance: str = "diag"
    ridge: float = 0.0
    observed: bool = False

    def model(self) -> Mixture:
        """Build the mixture."""
        return mixture(*self)


def _treated(leaf: Leaf, treatment: str) -> Leaf:
    """Wrap the leaf of a block whose columns are fixed or tied."""
    if treatment == "fixed":
        return Frozen(leaf)
    return Tied(leaf, components=[0] * leaf.n_components) if treatment == "tied" else leaf


def _pseudo_rows(prior: Prior, n_components: int) -> Floats | None:
    """Return how many pseudo-rows each component gets."""
    if prior is None:
        return None
    return np.full(n_components, 1 / n_components if prior == "row" else float(prior))


def _categorical(sizes: tuple[int, ...], counts: Floats, n_components: int, prior: Prior) -> Leaf:
    pseudo = None
    if prior == "row":
        pseudo = np.tile(_shares(counts, sizes) / n_components, (n_components, 1))
    elif prior is not None:
        pseudo = np.full((n_components, sum(sizes)), float(prior))
    return Categorical(n_components, sizes, pseudo)


def _text(sizes: tuple[int, ...], counts: Floats, n_components: int, prior: Prior, treatment: str) -> Leaf:
    """Return the leaf of a block of text; a pseudo-row is a document as long as the average one."""
    words, n_rows = counts[:-1], max(float(counts[-1]), 1e-300)
    if treatment == "bernoulli":
        there = words / n_rows if counts[-1] > 0 else np.zeros(len(words))
        share = (there * n_rows + 0.5) / (n_rows + 1)
        row = np.column_stack([1 - share, share]).ravel() / n_components
        return Bernoulli(n_components, sum(sizes), _of_prior(prior, row, n_components))
    lengths = [float(part.sum()) / n_rows if counts[-1] > 0 else 1.0 for part in np.split(words, np.cumsum(sizes)[:-1])]
    row = _shares(words, sizes) * np.repeat(np.maximum(lengths, 1.0), sizes) / n_components
    pseudo = _of_prior(prior, row, n_components)
    if treatment != "complement":
        return Multinomial(n_components, sizes, pseudo, lengths)
    # what all other classes add up to gets the pseudo-counts
    return Complement(n_components, sizes, None if pseudo is None else pseudo / max(n_components - 1, 1), lengths)


def _of_prior(prior: Prior, row: Floats, n_components: int) -> Floats | None:
    """Return pseudo-counts: none, one row in all, or a number for every cell."""
    if prior is None:
        return None
    cells = row if prior == "row" else np.full(len(row), float(prior))
    return np.broadcast_to(cells, (n_components, len(cells)))


def _shares(counts: Floats, sizes: tuple[int, ...]) -> Floats:
    """Return the share of each category in its column; one row spread evenly keeps unseen levels above zero."""
    parts = np.split(counts, np.cumsum(sizes)[:-1])
    shares = [(part + 1 / len(part)) / (part.sum() + 1) for part in parts if len(part)]
    return np.concatenate(shares) if shares else np.zeros(0)


def _gaussian(
    mean: Floats, var: Floats, n_components: int, prior: Prior, floor: float, covariance: str, ridge: float
) -> Leaf:
    """Return the leaf of a block of numbers, by the shape of its covariance."""
    rows = _pseudo_rows(prior, n_components)
    pseudo = None if rows is None else PseudoRows(rows, var)
    inside: Gaussian | Normal
    if covariance in ("full", "tied", "fixed"):
        inside = Normal(n_components, mean, np.sqrt(var), pseudo, tied=covariance == "tied")
    else:
        inside = (Spherical if covariance == "spherical" else Gaussian)(n_components, mean, np.sqrt(var), pseudo)
    leaf: Leaf = Ridged(inside, ridge) if ridge > 0 else inside
    if covariance in ("fixed", "identity"):
        blank = inside.blank()
        mask = [np.full(part.shape, fixed) for part, fixed in zip(blank, (False, True), strict=True)]
        return Frozen(leaf, type(blank)(*mask))
    return Floored(leaf, floor) if floor > 0 else leaf


def _poisson(mean: Floats, n_components: int, prior: Prior) -> Leaf:
    scale = np.where(mean > 0, mean, 1.0)  # a column of zeros has no unit of its own
    return Poisson(n_components, scale, _pseudo_rows(prior, n_components))


def read_columns(columns: Mapping[str, Any]) -> Schema:
    """Return the schema of columns whose parameters are given without data."""
    found = []
    for name, value in columns.items():
        if not isinstance(value, Mapping) or not value:
            raise ParameterError(
                f"columns[{name!r}]: expected {{category: probabilities}}, {{'mean': ..., 'sd': ...}}, "
                "{'rate': ...} or {'words': {word: probabilities}}."
            )
        if set(value) == {"rate"}:
            found.append(Column(name, "poisson"))
        elif set(value) in ({"words"}, {"words", "options"}) and isinstance(value["words"], Mapping):
            words = tuple(sorted(map(str, value["words"])))
            found.append(Column(name, "text", words, read_options(value.get("options"))))
        elif set(value) in ({"mean", "sd"}, {"mean", "var"}):
            found.append(Column(name, "gaussian"))
        else:
            found.append(Column(name, "categorical", tuple(value)))
    return replace(Schema.of(found), named=True)


def unit_summary(schema: Schema) -> Summary:
    """Return a summary that knows nothing: centre 0, scale 1, no counts."""
    sizes = {block: len(members) for block, members in schema.blocks.items()}
    discrete = [block for block in schema.blocks if block.startswith(DISCRETE)]
    return Summary(
        {block: (np.zeros(size), np.ones(size)) for block, size in sizes.items() if block not in discrete},
        {block: np.zeros(n_frequencies(schema, block)) for block in discrete},
    )


def n_frequencies(schema: Schema, block: str) -> int:
    """Return how many frequencies a block has in a summary."""
    return sum(schema.cardinalities(block)) + block.startswith("text")


# ---- values given by the user ------------------------------------------------------------------------------------


def overlay(params: Params, start: Mapping[str, Any], schema: Schema, n_components: int) -> Params:
    """Return the parameters with those that the user gave put in their place.

    Parameters
    ----------
    params : dict with "mix" and "emit"
    start : mapping
        "weights" -> (K,) array; a column's name -> its parameters: a (K, V) table or {category: (K,) array} for
        categories, {"mean": (K,), "var": (K,)} (or "sd", or one of them) for numbers, (K,) rates for counts.
    """
    emit = {name: _writable(block) for name, block in params["emit"].items()}
    mix = params["mix"]
    for name, value in start.items():
        if name == "weights":
            mix = frozen(read_table(value, (n_components,), "weights").reshape(1, -1))
        else:
            _place(emit, name, value, schema, n_components)
    return {"mix": mix, "emit": {name: _frozen_block(block) for name, block in emit.items()}}


def _place(emit: dict[str, Any], name: str, value: Any, schema: Schema, n_components: int) -> None:
    block, position = where(schema, name)
    kind = block.partition(".")[0]
    if kind == "text" and isinstance(value, Mapping) and isinstance(value.get("words"), Mapping):
        value = value["words"]
    if block == "text.bernoulli":
        first = sum(schema.cardinalities(block)[:position])
        column = schema.columns[schema.blocks[block][position]]
        for v, there in _read_presence(value, column, n_components):
            emit[block][:, 2 * (first + v)], emit[block][:, 2 * (first + v) + 1] = 1 - there, there
    elif kind in ("categorical", "text"):
        sizes = schema.cardinalities(block)
        first = sum(sizes[:position])
        column = schema.columns[schema.blocks[block][position]]
        emit[block][:, first : first + sizes[position]] = _read_categories(value, column, n_components)
    elif kind == "gaussian":
        for field, numbers in _read_gaussian(value, name, n_components).items():
            _set_numbers(emit[block], field, position, numbers)
    else:
        rate = value["rate"] if isinstance(value, Mapping) and set(value) == {"rate"} else value
        emit[block][:, position] = _read_numbers(rate, f"{name!r}: rate", n_components, 0.0, inclusive=True)


def _set_numbers(block: Params, field: str, position: int, numbers: Floats) -> None:
    """Write means or variances of one column; a covariance keeps its correlations."""
    if field == "mean" or isinstance(block, GaussianParams):
        getattr(block, field)[:, position] = numbers
        return
    factor = np.sqrt(numbers / block.cov[:, position, position])[:, None]
    block.cov[:, position] *= factor
    block.cov[:, :, position] *= factor


def where(schema: Schema, name: str) -> tuple[str, int]:
    """Return the block of a column and its place in it."""
    for block, members in schema.blocks.items():
        names = [schema.columns[j].name for j in members]
        if name in names:
            return block, names.index(name)
    raise KeyError(name)


def _read_presence(value: Any, column: Column, n_components: int) -> Iterator[tuple[int, Floats]]:
    """Yield the place of each word given, and how many documents of each component have it."""
    if not isinstance(value, Mapping):
        raise ParameterError(f"{column.name!r}: words that are there or not are given as {{word: shares}}.")
    places = {word: v for v, word in enumerate(column.categories or ())}
    for word, numbers in value.items():
        if word not in places:
            raise ParameterError(f"{column.name!r}: there is no word {word!r:.80} in it.")
        there = _read_numbers(numbers, f"{column.name!r}: {word!r}", n_components, 0.0, inclusive=True)
        if there.max() > 1:
            raise ParameterError(f"{column.name!r}: {word!r} cannot be in a share of {there.max():g} of the documents.")
        yield places[word], there


def _read_categories(value: Any, column: Column, n_components: int) -> Floats:
    assert column.categories is not None
    what = f"{column.name!r}"
    if isinstance(value, Mapping):
        if column.kind == "text" and set(value) != set(column.categories):
            odd = sorted(map(repr, set(value) ^ set(column.categories)))
            raise ParameterError(
                f"{what}: each of its {len(column.categories):,} words needs its probabilities, and no other word has "
                f"any. {len(odd):,} are missing or unknown, such as {', '.join(odd[:3])}."
            )
        if set(value) != set(column.categories):
            raise ParameterError(
                f"{what}: categories {sorted(map(repr, value))} are not those of the column, {column.categories}."
            )
        value = np.stack([np.asarray(value[category], dtype=np.float64) for category in column.categories], axis=-1)
    return read_table(value, (n_components, len(column.categories)), what)


def _read_gaussian(value: Any, name: str, n_components: int) -> dict[str, Floats]:
    what = f"{name!r}"
    if (
        not isinstance(value, Mapping)
        or not value
        or not set(value) <= {"mean", "var", "sd"}
        or {"var", "sd"} <= set(value)
    ):
        raise ParameterError(f"{what}: expected {{'mean': ..., 'var': ...}} ('sd' instead of 'var', or one of them).")
    found = {}
    if "mean" in value:
        found["mean"] = _read_numbers(value["mean"], f"{what}: mean", n_components, -np.inf)
    if "var" in value:
        found["var"] = _read_numbers(value["var"], f"{what}: var", n_components, 0.0)
    if "sd" in value:
        found["var"] = _read_numbers(value["sd"], f"{what}: sd", n_components, 0.0) ** 2
    return found


def _read_numbers(value: Any, what: str, n_components: int, low: float, inclusive: bool = False) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape != (n_components,):
        raise ParameterError(
            f"{what}: expected one number per component, shape ({n_components},), got {numbers.shape}."
        )
    if not np.all(np.isfinite(numbers)) or not np.all(numbers >= low if inclusive else numbers > low):
        bound = "finite" if low == -np.inf else f"finite and {'at least' if inclusive else 'above'} {low:g}"
        raise ParameterError(f"{what}: numbers must be {bound}, got {numbers.tolist()}.")
    return numbers


def _writable(block: Params) -> Params:
    return type(block)(*map(np.array, block)) if isinstance(block, tuple) else np.array(block)


def _frozen_block(block: Params) -> Params:
    return type(block)(*map(frozen, block)) if isinstance(block, tuple) else frozen(block)
