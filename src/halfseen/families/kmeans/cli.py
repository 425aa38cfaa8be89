"""k-means on the command line: tables of numbers from files, and results written to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.app import console, options
from halfseen.app.dispatch import Fitted, Prepared
from halfseen.app.export import export
from halfseen.app.fits import of_end
from halfseen.app.paper_table import table
from halfseen.app.renaming import rename
from halfseen.app.tables import (
    batches,
    check,
    column,
    data,
    extended,
    impute,
    open_to_fit,
    reading_of_rows,
    rows_to_fit,
    weights,
    without_identifiers,
    writer,
)
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.convergence import ended
from halfseen.families.kmeans.centers import RULES, names_of, ruler
from halfseen.families.kmeans.estimator import KMeans
from halfseen.families.kmeans.rows import nearest
from halfseen.kinds.wording import number

__all__ = [
    "check",
    "data",
    "export",
    "fit",
    "impute",
    "outcome",
    "predict",
    "prepare",
    "rename",
    "score",
    "summary",
    "table",
    "truth",
]


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit centres to a file."""
    ready = prepare(request)
    with rows_to_fit(ready.table, request) as rows:
        model = ready.model.fit(rows)
    name, share = ruler(model)
    if share > RULES and model.n_features_in_ > 1:
        console.note(
            f"note: {name} accounts for {_percent(share)} of all distances, because it varies most: scale the columns "
            "with --sql, or use --model gaussian, which scales each column"
        )
    return Fitted(model, ready.table, ready.reading)


def prepare(request: Mapping[str, Any]) -> Prepared:
    """Return the estimator and the table of a fit."""
    reading = reading_of_rows(request, "weight")
    model = _estimator(request)
    table = open_to_fit(**reading, memory=request["memory"])
    table, apart = without_identifiers(table, {})
    reading["ignore"] += apart
    return Prepared(model, table, reading)


def _estimator(request: Mapping[str, Any]) -> KMeans:
    sizes = options.sizes(request["classes"])
    if not isinstance(sizes, int):
        raise ParameterError(
            f"--classes {request['classes']} cannot be used with --model kmeans: more clusters always lower the "
            "inertia, so give one number, such as -k 3. --model gaussian chooses it by BIC."
        )
    own = {"restarts": "n_init", "max_iter": "max_iter"}  # the defaults of KMeans, unless set
    chosen = {name: request[option] for option, name in own.items() if option in request["given"]}
    if "n_init" in chosen:
        chosen["n_init"] = options.restarts(chosen["n_init"])
    return KMeans(sizes, n_jobs=request["jobs"], random_state=request["seed"], **chosen)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share < 0.995 else "over 99%"


# ---- results by row --------------------------------------------------------------------------------------------------


def predict(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with the nearest and second nearest clusters and their distances."""
    model.set_params(n_jobs=request["jobs"])
    with writer(request) as out:
        for batch, X in batches(model, reading, request):
            found = nearest(model, X)
            answers: dict[str, Any] = {"cluster": _named(model, found.cluster), "distance": found.distance}
            if len(model.cluster_centers_) > 1:
                answers |= {"second": _named(model, found.second), "second_distance": found.second_distance}
            out.append(extended(batch, answers))


def _named(model: KMeans, clusters: NDArray[Any]) -> Any:
    """Return clusters by the names that they were given, else by number."""
    return [model.cluster_names_[k] for k in clusters.tolist()] if model._cluster_names else clusters


def score(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how close the rows of a file are to the centres."""
    weight = request["weight"] or reading.get("weight")
    inertia = n_rows = 0.0
    for batch, X in batches(model, reading, request):
        mass = weights(batch, weight, request["data"])
        inertia -= model.score(X, sample_weight=mass)
        n_rows += float(mass.sum())
    if not n_rows:
        raise DataError("all rows have weight 0: there is nothing to score.")
    return {"rows": n_rows, "inertia": inertia, "inertia_per_row": inertia / n_rows}


def truth(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the cluster of each row, and the true value in a column."""
    clusters: list[str] = []
    labels: list[Any] = []
    names = np.array(names_of(model), dtype=object)
    for batch, X in batches(model, reading, request):
        labels += column(batch, request["truth"], "--truth", request["data"])
        clusters += names[model.predict(X)].tolist()
    return clusters, labels


# ---- results --------------------------------------------------------------------------------------------------------


def outcome(model: KMeans) -> str:
    """Return the outcome of the fit in one sentence."""
    return f"inertia {number(model.inertia_, 6)}; {ended(model.stop_reason_, model.n_iter_)}"


def summary(model: KMeans) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "KMeans",
        "clusters": dict(zip(names_of(model), model.cluster_sizes_.tolist(), strict=True)),
        "columns": list(model._schema.names),
        "centers": model.cluster_centers_.tolist(),
        "inertia": model.inertia_,
        **of_end(model),
    }
