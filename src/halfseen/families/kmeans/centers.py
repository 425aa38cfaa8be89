"""The centres of k-means as a table, as text, and in a model file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Column, Schema, frame_from_dict
from halfseen.engine.tables.lloyd import Run
from halfseen.errors import ParameterError
from halfseen.estimators import options, state
from halfseen.estimators.named_parameters import SHARE, NamedParameters, Row, by_component
from halfseen.estimators.state import State
from halfseen.estimators.table import state as table_state
from halfseen.estimators.table.scatter import Scatter
from halfseen.estimators.table.view import ColumnView, TableView
from halfseen.families.kmeans.points import Points, spread
from halfseen.kinds.numbers import in_units
from halfseen.kinds.records import Contrast
from halfseen.kinds.wording import number
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.families.kmeans.estimator import KMeans

Estimator = TypeVar("Estimator", bound="KMeans")

RULES = 0.9  # share of all variance above which one column dominates
DTYPES = ("float32", "float64")


def schema_of(names: Iterable[str], named: bool) -> Schema:
    """Return the schema of a table of numbers."""
    columns = Schema.of(Column(name, "gaussian") for name in names)
    return Schema(columns.columns, columns.blocks, named)


def fingerprint(schema: Schema, n_rows: Floats, mean: Floats, spread: Floats) -> str:
    """Return a fingerprint of a table of numbers: its columns, rows, means and standard deviations."""
    return table_state.digested(schema, n_rows, in_units(mean, spread**2), spread)


# ---- as text -----------------------------------------------------------------------------------------------------


def names_of(model: KMeans) -> list[str]:
    """Return the names of the clusters."""
    return list(model._cluster_names or (f"cluster {k}" for k in range(len(model._centred))))


def shares(model: KMeans) -> Floats | None:
    """Return the share of the rows in each cluster, (K,); None for a model without data."""
    sizes = getattr(model, "cluster_sizes_", None)
    return None if sizes is None else sizes / sizes.sum()


def contrast(model: KMeans) -> Floats:
    """Return how far each centre is from the overall mean, (K, D), in standard deviations of the columns."""
    return np.divide(model._centred, model._spread, out=np.zeros_like(model._centred), where=model._spread > 0)


def overall(model: KMeans) -> Floats:
    """Return the means of the columns; a mean within rounding of 0 is 0."""
    return np.where(np.abs(model._pivot) > 1e-9 * model._spread, model._pivot, 0.0)


def to_frame(model: KMeans) -> Any:
    """Return shares and centres as a table with a column per cluster."""
    columns, part = model._schema.names, shares(model)
    labels = {"column": list(columns), "kind": ["gaussian"] * len(columns), "value": ["centre"] * len(columns)}
    values, whole = model.cluster_centers_.astype(np.float64).T, overall(model)
    if part is not None:
        labels = {name: [first, *labels[name]] for name, first in zip(labels, ("(share)", "share", ""), strict=True)}
        values, whole = np.concatenate([part[None], values]), np.append(1.0, whole)
    shown = {"overall": whole.tolist()} if part is not None else {}
    shown |= dict(zip(names_of(model), values.T.tolist(), strict=True))
    return frame_from_dict(labels | shown, model._template)


def paper_parameters(model: KMeans) -> NamedParameters:
    """Return shares, where they are known, and centres, one by one."""
    part = shares(model)
    rows = [] if part is None else [Row("(share)", "", part, SHARE)]
    for name, centres in zip(model._schema.names, model.cluster_centers_.astype(np.float64).T, strict=True):
        rows.append(Row(name, "centre", centres, (-np.inf, np.inf)))
    return by_component(rows, tuple(names_of(model)), "cluster")


def profiled(model: KMeans) -> tuple[list[str], list[float | None], list[Contrast], str]:
    """Return names and shares of the clusters, and how each centre differs from the mean of all rows."""
    part, names, far, whole = shares(model), names_of(model), contrast(model), overall(model)
    rows = []
    for d, column in enumerate(model._schema.columns):
        values = model.cluster_centers_[:, d].astype(np.float64)
        texts = [number(float(value)) for value in values]
        rows.append(Contrast(column.name, column.kind, "", values, far[:, d], texts, number(float(whole[d]))))
    return names, [None] * len(names) if part is None else part.tolist(), rows, "cluster"


def scatter(model: KMeans, values: Floats, labels: NDArray[np.int32], n_given: int, rows: NDArray[np.int64]) -> Scatter:
    """Return rows as points; a column separates clusters by the squares of its contrasts."""
    part, size, width = shares(model), len(model._centred), len(model._schema.names)
    weights = np.full(size, 1 / size) if part is None else part
    return Scatter(
        list(model._schema.names),
        [None] * width,
        values,
        np.eye(size)[labels],
        names_of(model),
        part,
        weights @ contrast(model) ** 2,
        model.cluster_centers_.astype(np.float64),
        np.full((size, width, width), np.nan),
        list(range(size)),
        n_given,
        rows,
    )


def viewer(points: Points, pivot: Floats) -> Callable[[Run], TableView]:
    """Return what makes of a run over some rows, less a pivot, what a watcher is shown."""
    schema = schema_of(points.names, named=True)
    deviations = cache(lambda: spread(points, pivot))  # a pass over the rows, once, if anybody looks

    def view(run: Run) -> TableView:
        centres, part = run.centres + pivot, run.rows.sizes() / run.rows.mass
        width, units = len(schema.columns), deviations()
        far = np.divide(run.centres, units, out=np.zeros_like(run.centres), where=units > 0)
        return TableView(
            schema,
            part,
            [
                ColumnView(name, "gaussian", {"centre": own}, own)
                for name, own in zip(schema.names, centres.T.copy(), strict=True)
            ],
            list(range(len(centres))),
            list(range(width)),
            part @ far**2,
            centres,
            np.full((len(centres), width, width), np.nan),
        )

    return view


def describe(model: KMeans, top: int) -> str:
    """Return a line per cluster: its share, and the columns in which it is farthest from the mean."""
    part = shares(model)
    lines = []
    for k, name in enumerate(names_of(model)):
        if part is None:  # there is no overall mean to compare with
            traits = traits_of(model, k, top, least=-1.0)
            lines.append(f"{name}: " + "; ".join(f"{column} {value}" for column, value, _ in traits))
        else:
            apart = traits_of(model, k, top)
            traits = apart or traits_of(model, k, top, least=-1.0)
            shown = "; ".join(f"{column} {value} (all {whole})" for column, value, whole in traits)
            lines.append(f"{name} ({part[k]:.0%}): {'' if apart else 'like the whole table: '}{shown}")
    return "\n".join(lines)


def ruler(model: KMeans) -> tuple[str, float]:
    """Return the column that dominates the distances, and its share of all variance.

    k-means adds up squares in the units of the columns: one column in grams outweighs ten in kilograms.
    """
    variance = model._spread**2
    d = int(variance.argmax())
    return model._schema.names[d], float(variance[d] / variance.sum()) if variance[d] > 0 else 0.0


def traits_of(model: KMeans, k: int, top: int, least: float = 0.01) -> list[tuple[str, str, str]]:
    """Return the columns in which a centre is farthest from the overall mean: name, value, and mean of all rows.

    Those within `least` standard deviations are left out.
    """
    far = np.abs(contrast(model)[k])
    centre, whole = model.cluster_centers_[k], overall(model)
    order = [d for d in np.argsort(-far, kind="stable")[:top].tolist() if far[d] > least]
    return [(model._schema.names[d], number(float(centre[d])), number(float(whole[d]))) for d in order]


# ---- in a file ---------------------------------------------------------------------------------------------------


def taken(model: KMeans) -> State:
    """Return the state of a fitted model. It has no rows and no labels of rows."""
    inside: dict[str, Any] = {"dtype": model._dtype, "n_clusters": len(model._centred)}
    if model._cluster_names:
        inside["cluster_names"] = list(model._cluster_names)
    record = table_state.common(model, TRAINING) | {"model": inside}
    tensors = {"centres": model._centred, "pivot": model._pivot, "spread": model._spread}
    if hasattr(model, "cluster_sizes_"):
        tensors["sizes"] = model.cluster_sizes_
    return State(record, tensors)


def restored(cls: type[Estimator], found: State) -> Estimator:
    """Return the model of a state; raise `ParameterError` for an invalid state."""
    record, tensors = found
    model: Estimator = table_state.opened(cls, record, table_state.RECORD)
    if not all(column.kind.any_number for column in model._schema.columns):
        raise ParameterError("a column of k-means cannot be of categories or counts.")
    state.check_shapes(tensors, _shapes(model._schema, record["model"], tensors))
    model._dtype = options.one_of("dtype", record["model"]["dtype"], DTYPES)
    model._centred, model._pivot, model._spread = tensors["centres"], tensors["pivot"], tensors["spread"]
    with np.errstate(over="ignore"):
        if not np.isfinite(model.cluster_centers_).all() or model._spread.min() < 0:
            raise ParameterError("a centre is outside the range of its dtype, or a standard deviation is below 0.")
    model._n_features_out = len(model._centred)
    if "cluster_names" in record["model"]:
        model._cluster_names = state.read_labels("cluster_names", record["model"]["cluster_names"], len(model._centred))
    table_state.restore_container(model, record)
    _restore_training(model, record["training"], tensors)
    return model


def _shapes(schema: Schema, model: Any, tensors: Mapping[str, Floats]) -> dict[str, tuple[int, ...]]:
    width, n_clusters = len(schema.columns), options.whole("n_clusters", model["n_clusters"])
    shapes: dict[str, tuple[int, ...]] = {"centres": (n_clusters, width), "pivot": (width,), "spread": (width,)}
    return shapes | ({"sizes": (n_clusters,)} if "sizes" in tensors else {})


def _restore_training(model: KMeans, training: Any, tensors: Mapping[str, Floats]) -> None:
    found = options.mapping("training", training)
    if bool(found) != ("sizes" in tensors) or (found and set(found) != set(TRAINING)):
        raise ParameterError("training: some fitted values are missing.")
    state.restore_training(model, found, TRAINING)
    if "sizes" in tensors:
        if not (tensors["sizes"].min() >= 0 and tensors["sizes"].sum() > 0):
            raise ParameterError("sizes: the number of rows of a cluster is negative, or there are none.")
        model.cluster_sizes_ = tensors["sizes"]


TRAINING = {name: state.OF_ALL[name] for name in ("trace_", "n_iter_", "converged_", "stop_reason_", "events_")}
TRAINING["inertia_"] = ("inertia_", lambda value: state.is_number(value) and value >= 0)
