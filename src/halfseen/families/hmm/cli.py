"""Hidden Markov models on the command line: sequences from files, and results written to files.

A file has a row for each step. `--group` names the column of the sequence that a row belongs to, `--time` that of
its time; both are kept in the model file, so that later commands know them. Results are in the order of the rows of
the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfseen.analysis.imputation_check import hidden_cells
from halfseen.app import console, options, status_line
from halfseen.app.dispatch import Fitted, Prepared
from halfseen.app.fits import estimate_of, of_criteria, of_fit, outcome
from halfseen.app.paper_table import table
from halfseen.app.renaming import rename
from halfseen.app.tables import (
    DRAWN,
    column,
    decided,
    extended,
    features,
    filled,
    note_drawn,
    note_filled,
    open_to_fit,
    opened,
    probabilities,
    read_costs,
    reading_of_rows,
    reading_words,
    rows_to_fit,
    show_columns,
    unnamed,
    without_identifiers,
    writer,
)
from halfseen.data.files import FileTable
from halfseen.data.sequences import plainly
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.families.hmm.estimator import HMM
from halfseen.inference.standard_errors import StandardErrors, standard_errors

__all__ = [
    "check",
    "data",
    "errors",
    "fit",
    "forecast",
    "impute",
    "outcome",
    "predict",
    "prepare",
    "rename",
    "sample",
    "score",
    "summary",
    "table",
    "truth",
]

MARKS = ("group", "time")


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit hidden states to the sequences of a file."""
    ready = prepare(request)
    if request["on"] is not None and ready.reading["group"] is None:
        raise ParameterError("--on needs --group: without it all rows are one sequence, which one worker would read.")
    with _about(ready.reading["data"]), rows_to_fit(ready.table, request, **ready.arguments) as rows:
        ready.model.fit(rows, **ready.arguments)
    show_columns(ready.model)
    return Fitted(ready.model, ready.table, ready.reading)


def prepare(request: Mapping[str, Any]) -> Prepared:
    """Return the estimator and the table of a fit."""
    kinds = options.kinds(request["columns"])
    reading = reading_of_rows(request, *MARKS)
    path = reading["data"]
    model = _estimator(request, kinds)
    table = open_to_fit(
        data=path,
        sql=reading["sql"],
        missing=reading["missing"],
        glob=reading.get("glob"),
        ignore=reading["ignore"],
        codes=reading.get("codes", ()),
        quotes=reading.get("quotes"),
        memory=request["memory"],
    )
    table = table.without(_known_marks(table, reading, path or "the query"))
    table, apart = without_identifiers(table, kinds)
    reading["ignore"] += apart
    return Prepared(model, table, reading, {"groups": reading["group"], "time": reading["time"]})


def _estimator(request: Mapping[str, Any], kinds: Mapping[str | int, str]) -> HMM:
    given: dict[str, Any] = {"transitions": request["transitions"]}
    shapes = options.names(request["covariance"])
    if shapes:
        given["covariance_type"] = shapes[0] if len(shapes) == 1 else shapes
    if request["min_dwell"] is not None:
        given["min_dwell"] = request["min_dwell"]
    return HMM(
        options.sizes(request["classes"]),
        request["emission"] or "auto",
        columns=dict(kinds) or None,
        prior=options.prior(request["prior"], "categories", ("categories", "row")),
        criterion=request["criterion"],
        **options.of_every_fit(request),
        **options.of_numbers(request),
        **given,
    )


def _known_marks(table: FileTable, reading: Mapping[str, Any], where: str) -> list[str]:
    """Return the columns of group and time, which the file must have."""
    names = [(option, reading[option]) for option in MARKS if reading.get(option) is not None]
    for option, name in names:
        if name not in table.columns:
            listed = ", ".join(table.columns[:12])
            raise DataError(f"--{option} {name}: {where} has no such column. It has: {listed}.")
    if len({name for _, name in names}) < len(names):
        raise ParameterError(f"--group and --time are both {names[0][1]}: give two different columns.")
    return [name for _, name in names]


@contextmanager
def _about(path: str | None) -> Iterator[None]:
    """Add the name of the file to errors about its sequences."""
    try:
        yield
    except (DataError, FitError) as error:
        if path is None or path in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


# ---- results by step ----------------------------------------------------------------------------------------------


def predict(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the steps with their state, its probabilities given the whole sequence, and other requested columns."""
    names = list(model.state_names_)
    cost = None if request["cost"] is None else read_costs(request["cost"], names)
    model.set_params(n_jobs=request["jobs"])
    rows, steps = _steps(model, reading, request)
    with _about(request["data"]):
        proba = model.predict_proba(steps, **_marks(model, reading))
        found: dict[str, Any] = {"state": [names[k] for k in proba.argmax(axis=1).tolist()]}
        found |= probabilities(request, proba, names)
        if request["path"]:
            found["path"] = [names[k] for k in model.predict(steps, **_marks(model, reading)).tolist()]
    found |= decided(proba, names, cost, request["reject"])
    with writer(request) as out:
        out.append(extended(rows, found))


def impute(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the steps with their missing cells filled; with draws, the completed tables one below the other."""
    rows, steps = _steps(model, reading, request)
    marks, n_draws = _marks(model, reading), request["draws"]
    n_missing = sum(steps.column(name).null_count for name in model._schema.names)
    with _about(request["data"]), writer(request) as out:
        if not n_draws:
            out.append(filled(rows, model.impute(steps, **marks)))
        for i in range(n_draws):
            rng = np.random.default_rng([request["seed"], i])
            drawn = filled(rows, model.impute(steps, draw=True, random_state=rng, **marks))
            out.append(drawn.add_column(0, "draw", pa.array(np.full(len(drawn), i + 1))))
    note_filled(request, n_missing)


def check(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Hide known cells, impute them, and print the errors of the imputed values and of column means."""
    with _about(request["data"]):
        console.show(str(hidden_cells(model, _steps(model, reading, request)[1], random_state=request["seed"])))


def sample(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write sequences drawn from the model: group, time, the columns, and the state of each step."""
    n_steps, n_sequences = request["rows"], request["sequences"] or 1
    X, states = model.sample(lengths=[n_steps] * n_sequences, random_state=request["seed"])
    drawn = nw.from_native(X).to_dict(as_series=False) if model._schema.named else dict(unnamed(model, X))
    group, time = _mark_names(model, reading)
    columns = {
        group: np.repeat(np.arange(n_sequences), n_steps),
        time: np.tile(np.arange(n_steps), n_sequences),
        **drawn,
    }
    with writer(request) as out:
        drawn_states = [model.state_names_[k] for k in states.tolist()]
        out.append(extended(pa.table(columns), {f"{DRAWN}state": drawn_states}))
    note_drawn(f"{DRAWN}state", "state")


def forecast(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the forecast after the last step of each sequence: probabilities of states, and predicted values."""
    _, steps = _steps(model, reading, request)
    marks = _marks(model, reading)
    with _about(request["data"]):
        ahead = model.forecast(steps, request["steps"], **marks)
    frame = nw.from_native(ahead.to_frame()).to_dict(as_series=False)
    group, time = _mark_names(model, reading)
    found: dict[str, Any] = {group: frame.pop("sequence"), "steps_ahead": frame.pop("step")}
    found |= {time: frame.pop("time")} if "time" in frame else {}
    found |= {f"p_{name}": frame.pop(name) for name in model.state_names_}
    with writer(request) as out:
        out.append(extended(pa.table(found), frame))


def score(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the model describes the sequences of a file, in total and one by one."""
    _, steps = _steps(model, reading, request)
    sequences, cut = model._sequences(steps, None, **_marks(model, reading))
    each = model.score_samples(steps, **_marks(model, reading))
    with _about(request["data"]):
        model._refuse_impossible(each, sequences, cut)
    total, n_steps = float(each.sum()), int(cut.lengths.sum())
    units = {"steps": sequences.n_observed}
    if len(each) > 1:
        units["sequences"] = sequences.n_observed_sequences
    names = cut.names or range(len(each))
    rows = zip(names, cut.lengths.tolist(), each.tolist(), strict=True)
    return {
        "sequences": len(each),
        "steps": n_steps,
        "loglik": total,
        **estimate_of(model),
        "loglik_per_step": total / n_steps,
        **of_criteria(model, total, units),
        "each": [{"sequence": str(plainly(b)), "steps": t, "loglik": v, "loglik_per_step": v / t} for b, t, v in rows],
    }


def truth(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the state of each step, and the true value in a column."""
    rows, proba = posterior(model, reading, request)
    labels = column(rows, request["truth"], "--truth", request["data"])
    return [model.state_names_[k] for k in proba.argmax(axis=1).tolist()], labels


def posterior(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[pa.Table, Any]:
    """Return the rows of a file, and the probability of each state at each of them, (N, K)."""
    rows, steps = _steps(model, reading, request)
    with _about(request["data"]):
        return rows, model.predict_proba(steps, **_marks(model, reading))


def data(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Return the steps of a file as the model reads them, for the report."""
    return Fitted(model, _steps(model, reading, request)[1], dict(reading))


def errors(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> StandardErrors:
    """Return the standard errors of a model, given the steps of its fit."""
    marks: dict[str, Any] = dict(_marks(model, reading))
    how = marks | options.of_errors(request)
    return standard_errors(model, data(model, reading, request).X, request["error_kind"], **how)


def _steps(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[pa.Table, pa.Table]:
    """Return the rows of a file with all their columns, and with those that the model reads, group and time first."""
    status_line.say(reading_words(request))
    table = opened(reading, request)
    known = _marks(model, reading)
    marks = _known_marks(table, {"group": known["groups"], "time": known["time"]}, request["data"] or "the query")
    batches = list(table.batches(everything=True))
    if not batches or not sum(batch.num_rows for batch in batches):
        raise DataError(f"{request['data'] or 'the query'} has no rows.")
    rows = pa.concat_tables(batches)
    found = features(model, rows, request["data"])
    for name in reversed(marks):
        found = found.add_column(0, name, rows.column(name))
    status_line.say(f"inferring the states of {rows.num_rows:,} steps")
    return rows, found


def _marks(model: Any, reading: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the columns of group and time, as given in the fit, on the command line or in Python."""
    group, time = (reading.get(option) or mark for option, mark in zip(MARKS, model._marks, strict=True))
    return {"groups": group, "time": time}


def _mark_names(model: Any, reading: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the columns of group and time in a written file."""
    found = _marks(model, reading)
    return found["groups"] or "sequence", found["time"] or "step"


# ---- results --------------------------------------------------------------------------------------------------------


def summary(model: Any) -> dict[str, Any]:
    """Return the fit as plain values."""
    names = list(model.state_names_)
    dwell = [steps if np.isfinite(steps) else None for steps in model.dwell_.tolist()]
    return {
        "estimator": type(model).__name__,
        "states": dict(zip(names, model.occupancy_.tolist(), strict=True)),
        "startprob": model.startprob_.tolist(),
        "transmat": model.transmat_.tolist(),
        "dwell": dict(zip(names, dwell, strict=True)),
        "stationary": dict(zip(names, model.stationary_.tolist(), strict=True)),
        "columns": dict(model.columns_),
        **of_fit(model),
    }
