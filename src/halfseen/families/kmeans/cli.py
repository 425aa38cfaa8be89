"""Clusters by k-means: tables of numbers from files, and answers back to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.analysis.imputation_check import hidden_cells
from halfseen.app import console, options
from halfseen.app.families import Fitted
from halfseen.app.tables import batches, column, data, extended, filled, open_rows, weights, without_identifiers
from halfseen.data.write import TableWriter
from halfseen.errors import DataError, ParameterError
from halfseen.families.kmeans.centers import RULES, names_of, ruler
from halfseen.families.kmeans.estimator import KMeans
from halfseen.families.kmeans.rows import nearest

WORDS = ("cluster", "clusters")
RESUMES = False  # a sweep is quick, and none is recorded
FOREIGN = {  # options of fit that other families have
    "target": "--target needs --model classes or gaussian: k-means has no column to predict.",
    "columns": "--columns has no meaning with --model kmeans: all its columns are numbers.",
    "covariance": "--covariance needs --model gaussian: k-means has no covariances.",
    "assign": "--assign has no meaning with --model kmeans: each row belongs to its nearest centre.",
    "prior": "--prior has no meaning with --model kmeans: it has no probabilities.",
    "criterion": "--criterion has no meaning with --model kmeans: the number of clusters is yours to give, -k 3.",
}


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit centres to a file."""
    paths = request["data"] or [None]
    if len(paths) > 1:
        raise ParameterError(f"one file of rows is needed, got {len(paths)}: {', '.join(paths)}.")
    model = _estimator(request)
    reading = {
        "data": paths[0],
        "sql": request["sql"],
        "missing": options.names(request["missing"]),
        "ignore": options.names(request["ignore"]),
        "weight": request["weight"],
    }
    table = open_rows(
        *(paths[0], reading["sql"], reading["missing"]),
        ignore=reading["ignore"],
        weight=reading["weight"],
        memory=request["memory"],
    )
    table, apart = without_identifiers(table, {})
    reading["ignore"] += apart
    model.fit(table)
    name, share = ruler(model)
    if share > RULES and model.n_features_in_ > 1:
        console.note(
            f"note: {name} makes {_percent(share)} of all distances, as its numbers vary most: scale the columns with "
            "--sql, or use --model gaussian, which has a scale of its own for each"
        )
    return Fitted(model, table, reading)


def _estimator(request: Mapping[str, Any]) -> KMeans:
    for option, reason in FOREIGN.items():
        if option in request["given"]:
            raise ParameterError(reason)
    sizes = options.sizes(request["k"])
    if not isinstance(sizes, int):
        raise ParameterError(
            f"-k {request['k']} has no meaning with --model kmeans: more clusters always lower the inertia, so give "
            "one number, such as -k 3. --model gaussian chooses it by BIC."
        )
    own = {"restarts": "n_init", "max_iter": "max_iter"}  # the defaults of KMeans, unless others were asked for
    chosen = {name: request[option] for option, name in own.items() if option in request["given"]}
    return KMeans(sizes, n_jobs=request["jobs"], random_state=request["seed"], **chosen)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share < 0.995 else "over 99%"


# ---- rows in, answers out --------------------------------------------------------------------------------------------


def predict(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with their cluster and its distance, and the next one with its distance."""
    for option in ("cost", "reject", "why"):
        if request[option] not in (None, False):
            raise ParameterError(f"--{option} has no meaning for a KMeans model: it has no probabilities.")
    model.set_params(n_jobs=request["jobs"])
    with TableWriter(request["output"]) as out:
        for batch, X in batches(model, reading, request):
            found = nearest(model, X)
            answers: dict[str, NDArray[Any]] = {"cluster": found.cluster, "distance": found.distance}
            if len(model.cluster_centers_) > 1:
                answers |= {"second": found.second, "second_distance": found.second_distance}
            out.append(extended(batch, answers))


def impute(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with their holes filled from the centre of their cluster."""
    if request["draws"]:
        raise ParameterError("--draws has no meaning for a KMeans model: it has no probabilities to draw from.")
    n_holes = 0
    with TableWriter(request["output"]) as out:
        for batch, X in batches(model, reading, request):
            n_holes += sum(cells.null_count for cells in X.columns)
            out.append(filled(batch, model.impute(X)))
    if request["output"] != "-":
        console.note(f"{n_holes:,} holes filled: {request['output']}")


def check(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Hide known cells, impute them, and print how far off the guesses are, beside those of column means."""
    console.show(str(hidden_cells(model, data(model, reading, request).X, random_state=request["seed"])))


def score(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how near the rows of a file are to the centres."""
    weight = request["weight"] or reading.get("weight")
    inertia = n_rows = 0.0
    for batch, X in batches(model, reading, request):
        mass = weights(batch, weight, request["data"])
        inertia -= model.score(X, sample_weight=mass)
        n_rows += float(mass.sum())
    if not n_rows:
        raise DataError("all rows are of weight 0: there is nothing to score.")
    return {"rows": n_rows, "inertia": inertia, "inertia_per_row": inertia / n_rows}


def truth(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the cluster of each row, and what a column says is true."""
    clusters: list[str] = []
    labels: list[Any] = []
    names = np.array(names_of(model), dtype=object)
    for batch, X in batches(model, reading, request):
        labels += column(batch, request["truth"], "--truth", request["data"])
        clusters += names[model.predict(X)].tolist()
    return clusters, labels


# ---- what was found --------------------------------------------------------------------------------------------------


def describe(model: KMeans) -> None:
    """Print the clusters in words."""
    console.show_classes(model.describe(top=3))


def outcome(model: KMeans) -> str:
    """Return how the fit went, in one sentence."""
    sweeps = "1 sweep" if model.n_iter_ == 1 else f"{model.n_iter_} sweeps"
    return f"inertia {model.inertia_:,.6g}; stopped by {model.stop_reason_} after {sweeps}"


def summary(model: KMeans) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "KMeans",
        "clusters": dict(zip(names_of(model), model.cluster_sizes_.tolist(), strict=True)),
        "columns": list(model._schema.names),
        "centers": model.cluster_centers_.tolist(),
        "inertia": model.inertia_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "stop_reason": model.stop_reason_,
        "events": list(model.events_),
    }


def facts(model: KMeans, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what to say first of a model file."""
    fitted = hasattr(model, "inertia_")
    return [
        ("clusters", len(model.cluster_centers_)),
        ("rows", f"{model.cluster_sizes_.sum():,.10g}" if fitted else None),
        ("inertia", f"{model.inertia_:,.6g}" if fitted else None),
    ]
