"""A table's columns as leaves: a block for each kind and treatment, priors, and values given by the user.

The kind of a column (`halfseen.kinds`) decides which leaf it has; here blocks are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halfseen.data import Block, Design, Schema, Table
from halfseen.data.columns import read_kind
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import Build, Figures, Floor, Prior
from halfseen.leaves import Cells, Frozen, Leaf, Logit, Portions, Product, Tied
from halfseen.leaves.categorical import read_table
from halfseen.leaves.leaf import Floats, Stats, frozen, map_arrays
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.registry import kinds
from halfseen.structures.independent import Independent

TIED = "tied"  # treatment of columns whose parameters classes share: all of them, or in groups, "tied 0 0 1"
CELLS = "cells"  # treatment of columns of which some parameters are fixed

Summary = dict[str, Figures]  # what the leaves must know of the whole table, by block: moments, counts of categories


def read_prior(prior: Any, words: Collection[str] = ("row",)) -> Prior:
    """Return one of the words, a number of pseudo-counts, or None."""
    return options.pseudo_counts("prior", prior, words)


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


# ---- the whole table -----------------------------------------------------------------------------------------------


def _by_block(schema: Schema, make: Callable[[Kind, Block], Figures]) -> Summary:
    return {block.name: make(block.kind, block) for block in schema.each_block()}


def summarise(table: Table) -> Summary:
    """Return the summary of a table."""
    return _by_block(table.schema, lambda kind, block: kind.summarise(table, block))


def filled(schema: Schema, summary: Summary) -> Summary:
    """Return a summary that can be used as it is, also where a column was never seen or never varies."""
    return _by_block(schema, lambda kind, block: kind.filled(summary[block.name]))


def unit_summary(schema: Schema) -> Summary:
    """Return a summary without data: centre 0, scale 1, no counts."""
    return _by_block(schema, lambda kind, block: kind.unit_summary(block))


def scan(table: Table) -> Summary:
    """Return the part of a summary that no statistics hold."""
    return _by_block(table.schema, lambda kind, block: kind.scan(table, block))


def joined(schema: Schema, before: Summary, scanned: Summary) -> Summary:
    """Return what was scanned of rows that came in pieces: `before`, and one more piece."""
    return _by_block(schema, lambda kind, block: kind.joined(before[block.name], scanned[block.name]))


def summary_of(model: Mixture, stats: Stats, about: Params, schema: Schema, scanned: Summary) -> Summary | None:
    """Return the summary of the rows behind statistics gathered about `about`, whose components are all alike.

    None where the statistics of some kind do not hold it; `scanned` is what none hold.
    """
    emit = model.leaves["emit"]
    assert isinstance(emit, Product)
    parts, mass = emit.view(model.view(stats)["emit"]), float(model.view(stats)["mix"].sum())
    summary: Summary = {}
    for block in schema.each_block():
        leaf, own = unwrapped(emit.leaves[block.name]), about["emit"][block.name]
        found = block.kind.summary_from(block, leaf, parts[block.name], own, mass)
        if found is None:
            return None
        summary[block.name] = {**found, **scanned[block.name]}
    return summary


def lost_digits(schema: Schema, summary: Summary, rough: Summary) -> bool:
    """Whether pivots lay so far from the numbers that moments about them lost digits."""
    return any(block.kind.lost_digits(summary[block.name], rough[block.name]) for block in schema.each_block())


# ---- the model -----------------------------------------------------------------------------------------------------


class Recipe(NamedTuple):
    """All that a mixture over a table is built from, as values: the same recipe builds the same model again.

    Attributes
    ----------
    schema, summary, n_components, prior, variance_floor :
    fixed : tuple of str     columns, and "weights", that keep what they start with
    masses : array or None   given shares of groups of neighbouring components, all of one size
    covariance : str         that of the block of numbers; those that are fixed or tied are independent
    ridge : float            what is added to the variances of that block
    observed : bool          whether the mixing weights have no prior
    design : Design or None  covariates that the mixing weights depend on
    masks : tree or None     single parameters that are fixed: {"mix": mask, "emit": {block: mask}}, any of these
    """

    schema: Schema
    summary: Summary
    n_components: int
    prior: Prior = None
    variance_floor: Floor = 0.0
    fixed: Collection[str] = ()
    masses: Floats | None = None
    covariance: str = "diag"
    ridge: float = 0.0
    observed: bool = False
    design: Design | None = None
    masks: Params = None

    @property
    def names_components(self) -> bool:
        """Whether constraints name components by number: single parameters that are fixed, groups that are tied."""
        return self.masks is not None or any(" " in block.treatment for block in self.schema.each_block())

    def model(self) -> Mixture:
        """Build the mixture: mixing weights and one leaf per block of columns."""
        n_components = self.n_components
        build = Build(n_components, self.prior, self.variance_floor, self.covariance, self.ridge)
        rows = build.pseudo_rows
        pseudo = None if rows is None or self.observed else rows[None]
        mix: Leaf = Cells(1, [n_components], pseudo, axes=(1,))
        if self.masses is not None:
            mix = Portions(self.masses, n_components // len(self.masses), pseudo)
        if self.design is not None:
            mix = Logit(n_components, self.design.largest, rows)
        if "weights" in self.fixed:
            mix = Frozen(Cells(1, [n_components], axes=(1,)))
        masks = self.masks or {}
        if "mix" in masks:
            mix = Frozen(mix, masks["mix"])
        inside = masks.get("emit", {})
        leaves = {
            block.name: _leaf(block, self.summary[block.name], build, inside.get(block.name))
            for block in self.schema.each_block()
        }
        return Mixture(Independent(), {"mix": mix, "emit": Product(n_components, leaves)})


def _leaf(block: Block, summary: Figures, build: Build, mask: Params = None) -> Leaf:
    """Return the leaf of a block; wrapped where its columns, or the entries of the mask, are fixed, or tied."""
    if block.treatment == "fixed":
        return Frozen(block.kind.leaf(block, summary, build._replace(prior=None)))
    leaf = block.kind.leaf(block, summary, build)
    if mask is not None:
        return Frozen(leaf, mask)
    groups = tied_groups(block.treatment, leaf.n_components)
    return leaf if groups is None else Tied(leaf, components=groups)


def tied_groups(treatment: str, n_components: int) -> list[int] | None:
    """Return the group of each component of a block that is tied; None where it is not.

    Examples
    --------
    >>> tied_groups("tied", 2), tied_groups("tied 0 0 2", 3), tied_groups("fixed", 2)
    ([0, 0], [0, 0, 2], None)
    """
    word, *groups = treatment.split(" ")
    if word != TIED:
        return None
    if not all(text.isdecimal() for text in groups):
        raise ParameterError(f"a column cannot be {treatment!r:.80}.")
    return [int(text) for text in groups] or [0] * n_components


# ---- values given by the user --------------------------------------------------------------------------------------


def read_columns(columns: Mapping[str, Any]) -> Schema:
    """Return the schema of columns whose parameters are given without data.

    A kind is known by the names of its parameters, or by the entry "kind" among them; what no other kind claims is
    categories with their probabilities.
    """
    found = []
    for name, given in columns.items():
        if not isinstance(given, Mapping) or not given:
            *forms, last = (kind.form for kind in kinds)
            raise ParameterError(f"columns[{name!r}]: expected {', '.join(forms)} or {last}.")
        found.append(kind_of(name, given).column_of(name, _values(given)))
    return replace(Schema.of(found), named=True)


def kind_of(name: str, given: Mapping[Any, Any]) -> Kind:
    """Return the kind of a column whose parameters are given."""
    if isinstance(given.get("kind"), str):
        return read_kind(given["kind"], f"columns[{name!r}]")
    return next((known for known in kinds if known.claims(given)), kinds["categorical"])


def _values(given: Any) -> Any:
    """Return the parameters of a column without the name of its kind."""
    if not isinstance(given, Mapping) or not isinstance(given.get("kind"), str):
        return given
    return {key: value for key, value in given.items() if key != "kind"}


def check_fixed(fixed: Collection[str], start: Mapping[str, Any], schema: Schema) -> None:
    """Refuse fixed columns whose value to keep is not given in full."""
    known = {column.name: column.kind for column in schema.columns}
    for name in fixed:
        if name not in start:
            raise ParameterError(f"fixed: {name!r} has no value to keep; give it in start={{{name!r}: ...}}.")
        if name in known:
            known[name].check_complete(name, start[name])


def overlay(params: Params, start: Mapping[str, Any], schema: Schema, n_components: int) -> Params:
    """Return the parameters with those that the user gave put in their place.

    Parameters
    ----------
    params : dict with "mix" and "emit"
    start : mapping
        "weights" -> (K,) array; a column's name -> its parameters, in the form that its kind reads: a (K, V) table or
        {category: (K,) array} for categories, {"mean": (K,), "var": (K,)} (or "sd", or one of them) for numbers, (K,)
        rates or {"rate": (K,)} for counts.
    """
    emit = {name: _writable(block) for name, block in params["emit"].items()}
    mix = params["mix"]
    for name, given in start.items():
        if name == "weights":
            mix = frozen(read_table(given, (n_components,), "weights").reshape(1, -1))
            continue
        block, d = where(schema, name)
        block.kind.place(emit[block.name], block, d, _values(given), n_components)
    return {"mix": mix, "emit": {name: _frozen_block(block) for name, block in emit.items()}}


def where(schema: Schema, name: str) -> tuple[Block, int]:
    """Return the block of a column and its place in it."""
    for block in schema.each_block():
        names = [column.name for column in block.columns]
        if name in names:
            return block, names.index(name)
    raise KeyError(name)


def _writable(block: Params) -> Params:
    return map_arrays(np.array, block)


def _frozen_block(block: Params) -> Params:
    return map_arrays(frozen, block)
