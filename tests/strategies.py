"""Hypothesis strategies: small tables with everything that can go wrong in them, and parameters anywhere.

A table may have holes, rows and columns without any observed cell, equal rows, rows of weight 0, labels that are
absent, certain, a set of candidates or soft. Hypothesis draws the shape (which shrinks: few rows, few columns, few
components); cells and parameters come from a seeded generator, which is ten times quicker than drawing them one by one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from halfseen.data import Column, Evidence, Schema, Table
from halfseen.data.counts import Counts
from halfseen.leaves import Bundle, Leaf
from halfseen.leaves.wrappers import Wrapped

WHOLE = (1.0, 1.0, 2.0, 0.0, 3.0)
FRACTIONS = (1.0, 0.5, 0.0, 2.25, 1e-3)
KINDS = {"c": "categorical", "g": "gaussian", "p": "poisson", "b": "binomial(9)", "t": "text"}
KINDS |= {"l": "lognormal", "a": "gamma", "x": "exponential", "e": "beta"}
CARDINALITIES = (2, 3, 4, 1, 0)  # a column of which no cell was ever observed has no categories

seeds = st.integers(0, 2**32 - 1)
generators = seeds.map(np.random.default_rng)
_few, _hole_rates, _flags = st.integers(1, 3), st.sampled_from([0.3, 0.0, 0.7]), st.booleans()


def examples(n: int, **how) -> settings:
    """Look at n examples; HALFSEEN_EXAMPLES=20 looks at twenty times as many, 0.1 at a tenth."""
    scaled = n * settings.default.max_examples // 100
    return settings(max_examples=max(scaled, min(n, 2)), **how)  # the first example is the simplest there is


# ---- tables ---------------------------------------------------------------------------------------------------------


def schema_of(columns) -> Schema:
    """Return the schema in which columns of one kind share a block."""
    blocks: dict[str, tuple[int, ...]] = {}
    for j, column in enumerate(columns):
        blocks[column.kind.name] = (*blocks.get(column.kind.name, ()), j)
    return Schema(tuple(columns), blocks)


def some_schema(kinds: str, width: int, rng: np.random.Generator) -> Schema:
    """Return `width` columns of each kind: c categorical (ragged), g gaussian, p poisson, b binomial, t text."""
    columns = []
    for j, kind in enumerate(kinds * width):
        levels = tuple(range(rng.choice(CARDINALITIES))) if kind == "c" else None
        levels = tuple("abcd"[: rng.integers(1, 5)]) if kind == "t" else levels
        columns.append(Column(f"x{j}", KINDS[kind], levels))
    return schema_of(columns)


@st.composite
def tables(
    draw,
    kinds: str = "cgp",
    most: int = 10,
    weights: tuple[float, ...] = WHOLE,
    n_labels: int | None = None,
    offset: float = 0.0,
) -> Table:
    """Draw a table; `n_labels` = K adds evidence about K components, `offset` moves the gaussian columns far away."""
    width, n_rows, holes, rng = draw(_few), draw(_n_rows(most)), draw(_hole_rates), draw(generators)
    schema = some_schema(kinds, width, rng)
    picked = rng.integers(0, n_rows, n_rows) if draw(_flags) else np.arange(n_rows)  # with equal rows
    blocks = {}
    for name, members in schema.blocks.items():
        if name == "text":
            blocks[name] = words_of(sum(schema.cardinalities(name)), n_rows, rng)[picked]
            continue
        dtype = np.int8 if name == "categorical" else np.float64
        cells = [column_of(schema.columns[j], n_rows, holes, offset, rng) for j in members]
        blocks[name] = np.array(cells, dtype=dtype).T[picked]
    if holes:
        _erase_row(blocks, int(rng.integers(n_rows)))
    if "text" in blocks:
        blocks["text"] = Counts.of(csr_array(blocks["text"]))
    evidence = None if n_labels is None else evidence_of(n_rows, n_labels, rng)
    return Table(schema, blocks, rng.choice(weights, n_rows), evidence)


def words_of(n_words: int, n_rows: int, rng: np.random.Generator):
    """Return how often each word occurs in each document; some have none, some words never occur."""
    usual = rng.choice([0.0, 0.3, 1.0, 3.0], n_words)
    return rng.poisson(usual, (n_rows, n_words)).astype(rng.choice([np.float64, np.int64]))


def present(table: Table) -> Table:
    """Return the table with its text taken as words that are there or not."""
    schema = table.schema.arrange(dict.fromkeys(table.schema.texts, "bernoulli"))
    blocks = {name + ".bernoulli" * (name == "text"): block for name, block in table.blocks.items()}
    blocks["text.bernoulli"] = blocks["text.bernoulli"].presence()
    return replace(table, schema=schema, blocks={name: blocks[name] for name in schema.blocks})


@cache
def _n_rows(most: int):
    return st.integers(1, most)


def column_of(column: Column, n_rows: int, holes: float, offset: float, rng: np.random.Generator):
    """Return one encoded column; one in ten of those with holes has no observed cell at all."""
    hole = column.kind.missing_mark
    if column.categories == () or rng.random() < holes / 5:
        return np.full(n_rows, hole)
    if column.kind.has_categories:
        cells = rng.integers(0, len(column.categories), n_rows)
    elif column.kind.name in ("poisson", "binomial(9)"):
        cells = rng.integers(0, 10, n_rows)
    elif column.kind.name in ("lognormal", "gamma", "exponential"):
        cells = rng.integers(1, 25, n_rows) / 4
    elif column.kind.name == "beta":
        cells = rng.integers(1, 20, n_rows) / 20
    else:
        cells = offset + rng.integers(-12, 13, n_rows) / 4
    return np.where(rng.random(n_rows) < holes, hole, cells)


def _erase_row(blocks, n: int) -> None:
    for name, block in blocks.items():
        block[n] = 0 if name == "text" else -1 if block.dtype.kind == "i" else np.nan


def evidence_of(n_rows: int, n_components: int, rng: np.random.Generator) -> Evidence:
    """Return what is known of each row: nothing, its component, a set of candidates, or soft evidence."""
    certain = np.eye(n_components)[rng.integers(n_components)]
    candidates = np.maximum(certain, rng.integers(0, 2, n_components))
    soft = np.where(certain, 2.5, rng.choice([0.0, 0.1, 1.0], n_components))
    patterns = np.array([np.ones(n_components), certain, candidates, soft])
    with np.errstate(divide="ignore"):
        return Evidence(np.log(patterns), rng.integers(0, 4, n_rows).astype(np.int32))


# ---- parameters -----------------------------------------------------------------------------------------------------


def anywhere(leaf: Leaf, rng: np.random.Generator, spread: float = 1.0):
    """Return random legal parameters; those inside `Frozen` are random too."""
    if isinstance(leaf, Wrapped):
        inside = anywhere(leaf.leaf, rng, spread)
        return leaf.conform(inside, inside)
    if isinstance(leaf, Bundle):
        return {name: anywhere(part, rng, spread) for name, part in leaf.leaves.items()}
    return leaf.jitter(leaf.blank(), spread, rng)
