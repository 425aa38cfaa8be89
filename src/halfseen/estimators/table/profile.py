"""Classes in tables and in words: what each looks like, and what sets it apart from the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import rel_entr

from halfseen.data import frame_from_dict
from halfseen.leaves.leaf import Floats
from halfseen.leaves.multinomial import Multinomial
from halfseen.leaves.product import Product
from halfseen.leaves.wrappers import unwrapped

if TYPE_CHECKING:
    from halfseen.estimators.table.table_mixture import TableMixture


WORDS = 6  # shown of a class


class ColumnProfile(NamedTuple):
    """One column in every class.

    Attributes
    ----------
    name, kind : str
    rows : list of str          "mean" and "sd", "rate", or the categories
    values : (R, K) array       one row for each entry of `rows`
    overall : (R,) array        the same in the whole table, as the model sees it
    distance : (K,) array       relative entropy of each class against the whole: how much the column sets it apart
    length : float or None      of text: words of an average one; None where words are there or not
    """

    name: str
    kind: str
    rows: list[Any]
    values: Floats
    overall: Floats
    distance: Floats
    length: float | None = None


def profiles(model: TableMixture) -> list[ColumnProfile]:
    """Return the profile of every column, in the order of the table."""
    found: dict[int, ColumnProfile] = {}
    for block, members in model._schema.blocks.items():
        params = model._params["emit"][block]
        if block.startswith("text"):
            parts: Any = _text(model, block, params)
        elif block.startswith("categorical"):
            parts = _categorical(model, block, params)
        elif block.startswith("gaussian"):
            parts = _gaussian(model, block, params)
        else:
            parts = _poisson(model, block, params)
        found |= dict(zip(members, parts, strict=True))
    return [found[j] for j in sorted(found)]


def _categorical(model: TableMixture, block: str, table: Floats) -> Iterator[ColumnProfile]:
    stops = np.cumsum(model._schema.cardinalities(block))
    for column, values in zip(model._schema.block_columns(block), np.split(table.T, stops[:-1]), strict=True):
        overall = values @ model.weights_
        distance = rel_entr(values, overall[:, None]).sum(axis=0)
        yield ColumnProfile(column.name, column.kind, list(column.categories or ()), values, overall, distance)


def _text(model: TableMixture, block: str, table: Floats) -> Iterator[ColumnProfile]:
    """Shares of words, or of documents that have them; the distance is that of an average document."""
    presence = block == "text.bernoulli"
    sizes = model._schema.cardinalities(block)
    if block == "text.complement":  # whose parameters are the words of all other classes
        table = _own_shares(model, block)
    values = table[:, 1::2].T if presence else table.T
    lengths = _leaf(model, block).lengths
    parts = np.split(values, np.cumsum(sizes)[:-1])
    for d, (column, own) in enumerate(zip(model._schema.block_columns(block), parts, strict=True)):
        overall = own @ model.weights_
        distance = rel_entr(own, overall[:, None])
        length = None if presence else max(lengths[d], 1.0)
        distance = distance + rel_entr(1 - own, 1 - overall[:, None]) if length is None else distance * length
        words = list(column.categories or ())
        yield ColumnProfile(column.name, column.kind, words, own, overall, distance.sum(axis=0), length)


def _leaf(model: TableMixture, block: str) -> Multinomial:
    emit = model._model.leaves["emit"]
    assert isinstance(emit, Product)
    leaf = unwrapped(emit.leaves[block])
    assert isinstance(leaf, Multinomial)
    return leaf


def _own_shares(model: TableMixture, block: str) -> Floats:
    """Return the shares of words in each class, (K, V), where the parameters are not these: what was counted."""
    leaf = _leaf(model, block)
    stats = model._model.view(model._stats)["emit"].reshape(leaf.stats_shape)
    pseudo = leaf.prior(model._params["emit"][block])
    return Multinomial(leaf.n_components, leaf.cardinalities).maximise(
        stats if pseudo is None else stats + pseudo, leaf.blank()
    )


def telling_words(column: ColumnProfile, k: int, top: int) -> list[int]:
    """Return the rows of the words that set a class apart most: frequent in it, and more so than in the whole."""
    apart = rel_entr(column.values[:, k], column.overall)
    order = np.argsort(-apart, kind="stable")[:top]
    return [int(v) for v in order if apart[v] > 0]


def _gaussian(model: TableMixture, block: str, params: Any) -> Iterator[ColumnProfile]:
    weights = model.weights_
    for column, mean, var in zip(model._schema.block_columns(block), params.mean.T, params.var.T, strict=True):
        centre = float(weights @ mean)
        total = float(weights @ (var + (mean - centre) ** 2))
        distance = 0.5 * ((var + (mean - centre) ** 2) / total - 1 - np.log(var / total))
        values = np.stack([mean, np.sqrt(var)])
        yield ColumnProfile(column.name, column.kind, ["mean", "sd"], values, np.array([centre, total**0.5]), distance)


def _poisson(model: TableMixture, block: str, rates: Floats) -> Iterator[ColumnProfile]:
    for column, rate in zip(model._schema.block_columns(block), rates.T, strict=True):
        overall = float(model.weights_ @ rate)
        distance = rel_entr(rate, overall) - rate + overall
        yield ColumnProfile(column.name, column.kind, ["rate"], rate[None], np.array([overall]), distance)


def columns(model: TableMixture) -> dict[str, dict[Any, Floats]]:
    """Return the parameters of every column: {category: (K,)}, {"mean": (K,), "sd": (K,)} or {"rate": (K,)}."""
    return {column.name: dict(zip(column.rows, column.values, strict=True)) for column in profiles(model)}


def to_frame(model: TableMixture) -> Any:
    """Return shares and parameters as a table with a column per class."""
    columns = profiles(model)
    labels: dict[str, list[Any]] = {
        "column": ["(share)"] + [column.name for column in columns for _ in column.rows],
        "kind": ["share"] + [column.kind for column in columns for _ in column.rows],
        "value": [""] + [str(row) for column in columns for row in column.rows],
    }
    values = np.concatenate([model.weights_[None], *[column.values for column in columns]])
    overall = np.concatenate([[1.0], *[column.overall for column in columns]])
    numbers = {"overall": overall} | dict(zip(model.class_names_, values.T, strict=True))
    return frame_from_dict({**labels, **{name: column.tolist() for name, column in numbers.items()}}, model._template)


def describe(model: TableMixture, top: int) -> str:
    """Return a paragraph per class: its share, and the columns that set it apart most."""
    parts = zip(model.class_names_, model.weights_, in_words(model, top), strict=True)
    return "\n".join(f"{name} ({share:.0%}): {words}" for name, share, words in parts)


def in_words(model: TableMixture, top: int) -> list[str]:
    """Return for each class the columns that set it apart most."""
    columns = [column for column in profiles(model) if len(column.rows)]
    found = []
    for k in range(len(model.weights_)):
        telling = sorted(columns, key=lambda c: -c.distance[k])[:top]
        found.append("; ".join(_trait(c, k) for c in telling if c.distance[k] > 0.01) or "like the whole table")
    return found


def _trait(column: ColumnProfile, k: int) -> str:
    values, overall = column.values[:, k], column.overall
    if column.kind == "gaussian":
        own, whole = (f"{number(mean)} ± {number(sd)}" for mean, sd in (values, overall))
        return f"{column.name} {own} (all {whole})"
    if column.kind == "poisson":
        return f"{column.name} {number(values[0])} on average (all {number(overall[0])})"
    if column.kind == "text":
        words = telling_words(column, k, WORDS)
        sign = f"{column.name}: " + ", ".join(str(column.rows[v]) for v in words)
        return sign + (f" ({times(values[words[0]], overall[words[0]])})" if words else "")
    telling = int(np.argmax(rel_entr(values, overall)))
    return f"{column.name} = {column.rows[telling]} in {values[telling]:.0%} (all {overall[telling]:.0%})"


def times(value: float, overall: float) -> str:
    """Return how much more frequent a word is than in the whole."""
    return f"{value / overall:.1f} times as frequent as in all"


def number(value: float) -> str:
    """Return three telling digits, without an exponent where a person would not use one."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
