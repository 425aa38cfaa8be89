"""Bayesian networks on the command line: from BIF or XMLBIF files and tables, with results written to files.

``--model`` takes such a file, or the edges themselves: ``"smoke -> lung -> xray"``. Columns of the table that are not
variables of the network are left out; variables without a column are hidden, with the states of the file or the number
of states that ``--hidden`` gives. ``--model class-network`` makes a network of latent classes of the columns: with
groups (``--group``, ``--vary``) or pairs of items that depend on each other (``--depend``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa

from halfseen.app import console, options
from halfseen.app.dispatch import Fitted, Prepared
from halfseen.app.fits import Scored, of_fit, outcome
from halfseen.app.paper_table import table
from halfseen.app.tables import (
    DRAWN,
    batches,
    data,
    errors,
    extended,
    impute,
    note_drawn,
    open_to_fit,
    probabilities,
    reading_of_rows,
    rows_to_fit,
    unnamed,
    weights,
    writer,
)
from halfseen.data.identifiers import identifiers
from halfseen.errors import DataError, ParameterError
from halfseen.families.network.estimator import BayesNet
from halfseen.families.network.files import read_bif as read
from halfseen.families.network.manifest import CLASSES, FAMILY
from halfseen.families.network.reading import read_edges

__all__ = [
    "data",
    "errors",
    "fit",
    "impute",
    "outcome",
    "predict",
    "prepare",
    "query",
    "read",
    "rename",
    "sample",
    "score",
    "summary",
    "table",
]

HIDDEN_NAMES = ("class", "latent class")  # of the hidden variable; another if a column has them


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit the tables of a network to a file."""
    ready = prepare(request)
    with rows_to_fit(ready.table, request) as rows:
        model = ready.model.fit(rows)
    return Fitted(model, ready.table, ready.reading)


def prepare(request: Mapping[str, Any]) -> Prepared:
    """Return the estimator and the table of a fit."""
    reading = reading_of_rows(request, "weight")
    if request["model"] == CLASSES:
        return _prepare_classes(request, reading)
    model = _estimator(request)
    table = open_to_fit(**reading, memory=request["memory"])
    variables = set(read_edges(model.edges, [*(model.states or {}), *(model.hidden or {})]).parents)
    apart = [name for name in table.names if name not in variables]
    if len(apart) == len(table.names):
        raise DataError(
            f"no column of {reading['data'] or 'the query'} is a variable of the network. Columns: "
            f"{', '.join(table.names[:8])}. Variables: {', '.join(sorted(variables)[:8])}."
        )
    if apart:
        console.note(f"left out: {', '.join(apart)}: not in the network")
        reading["ignore"] += apart
        table = table.without(apart)
    return Prepared(model, table, reading)


def _prepare_classes(request: Mapping[str, Any], reading: dict[str, Any]) -> Prepared:
    """Return a network of latent classes whose items are all columns of the table beside the group."""
    table = open_to_fit(**reading, memory=request["memory"])
    group = request["group"]
    columns = list(table.names)
    if group is not None and group not in columns:
        raise ParameterError(f"--group {group}: there is no such column. Columns: {', '.join(columns[:12])}.")
    apart = [name for name, _ in identifiers(table) if name != group and not name.startswith(DRAWN)]
    apart += [name for name in table.names if name.startswith(DRAWN) and name != group]
    if apart:
        console.note(f"left out: {', '.join(apart)}: identifiers, what halfseen sample drew, or what cannot be read")
        reading["ignore"] += apart
        table = table.without(apart)
    name, sizes = _hidden_classes(request, columns)
    model = BayesNet.latent_classes(
        sizes,
        [item for item in columns if item not in (group, *apart)],
        group=group,
        vary="all" if request["vary"] == "all" else options.names(request["vary"]),
        depend=_pairs(request["depend"]),
        name=name,
        **_of_fit(request),
    )
    return Prepared(model, table, reading)


def _hidden_classes(request: Mapping[str, Any], columns: Sequence[str]) -> tuple[str, Any]:
    """Return name and numbers of states of the hidden variable: --classes, or --hidden with one name."""
    hidden = _hidden(request["hidden"])
    if hidden and ("classes" in request["given"] or len(hidden) > 1):
        raise ParameterError(f"--model {CLASSES} has one hidden variable: give --classes K, or --hidden NAME=K.")
    sizes = options.sizes(request["classes"])
    [(name, number)] = hidden.items() or [(_new_name(columns), sizes)]
    if isinstance(number, str):
        raise ParameterError(f"--model {CLASSES} needs numbers of classes to try: --classes 2, or --classes 1..5.")
    return name, number


def _pairs(text: str | None) -> list[tuple[str, str]]:
    """Read pairs of items: D:F,A:B."""
    found = []
    for part in options.names(text):
        first, colon, second = (piece.strip() for piece in part.partition(":"))
        if not colon or not first or not second:
            raise ParameterError(f"--depend {part!r} is not of the form ITEM:ITEM, for example D:F.")
        found.append((first, second))
    return found


def _new_name(columns: Sequence[str]) -> str:
    """Return a name for the hidden variable that no column has."""
    return next(name for name in (*HIDDEN_NAMES, *map("class {}".format, range(len(columns)))) if name not in columns)


def _of_fit(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of every fit of a network."""
    prior = options.prior(request["prior"], "row", ("row", "bdeu"))
    return {"criterion": request["criterion"], "prior": prior, **options.of_every_fit(request)}


def _estimator(request: Mapping[str, Any]) -> BayesNet:
    if "classes" in request["given"]:
        raise ParameterError(
            f"--classes cannot be used with --model {request['model']}: give the numbers of states of hidden "
            f"variables, --hidden C=3, or use --model {CLASSES}."
        )
    hidden = _hidden(request["hidden"])
    word = request["model"]
    edges, states = (word, {})
    if FAMILY.reads(word):
        net = read(word)
        edges, states = net.edges, {name: own for name, own in (net.states or {}).items() if name not in hidden}
    return BayesNet(edges, states=states | _order(request["order"]) or None, hidden=hidden or None, **_of_fit(request))


def _order(text: str | None) -> dict[str, list[str]]:
    """Read states in their order: size=small/middle/large,age=young/old."""
    found = {}
    for part in options.names(text):
        name, equals, states = part.partition("=")
        listed = [state.strip() for state in states.split("/")]
        if not equals or len(listed) < 2 or not all(listed):
            raise ParameterError(
                f"--order {part!r} is not of the form COLUMN=STATE/STATE, for example size=small/large."
            )
        found[name.strip()] = listed
    return found


def _hidden(text: str | None) -> dict[str, Any]:
    """Read hidden variables with their numbers of states: C=2,D=2..4."""
    found: dict[str, Any] = {}
    for part in options.names(text):
        name, equals, size = part.rpartition("=")
        if not equals:
            raise ParameterError(f"--hidden {part!r} is not of the form NAME=STATES, for example C=2 or C=2..5.")
        found[name.strip()] = options.sizes(size.strip(), f"--hidden {name.strip()}=")
    return found


def rename(model: BayesNet, names: Any, request: Mapping[str, Any]) -> BayesNet:
    """Return the model with other names of the states of a hidden variable."""
    return model.rename(names, request.get("variable"))


# ---- queries ---------------------------------------------------------------------------------------------------------


def query(model: BayesNet, variables: Sequence[str], given: Sequence[str]) -> Any:
    """Return the joint distribution of variables given evidence, ``name=state`` each."""
    evidence: dict[str, Any] = {}
    for text in given:
        name, equals, state = text.partition("=")
        if not equals:
            raise ParameterError(f"--given {text!r} is not of the form NAME=STATE, for example smoke=yes.")
        if name in evidence:
            raise ParameterError(f"--given {name} is given twice.")
        evidence[name] = state
    return model.query(list(variables), evidence)


def predict(model: BayesNet, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with the state of the one hidden variable, and its probabilities."""
    if len(model.hidden_) != 1:
        raise ParameterError(
            "predict needs a network with one hidden variable; use halfseen query or impute for others. "
            f"Hidden: {', '.join(model.hidden_) or 'none'}."
        )
    name = model.hidden_[0]
    states = [str(state) for state in model.states_[name]]
    with writer(request) as out:
        for batch, X in batches(model, reading, request):
            proba = model.predict_proba(X)
            answers: dict[str, Any] = {name: [states[k] for k in proba.argmax(axis=1).tolist()]}
            out.append(extended(batch, answers | probabilities(request, proba, states)))


def sample(model: BayesNet, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write rows drawn from the network, hidden variables last."""
    X, hidden = model.sample(request["rows"], random_state=request["seed"])
    columns = nw.from_native(X).to_dict(as_series=False) if model._schema.named else dict(unnamed(model, X))
    with writer(request) as out:
        drawn = {f"{DRAWN}{name}": states.tolist() for name, states in hidden.items()}
        out.append(extended(pa.table(columns), drawn))
    if drawn:
        note_drawn(", ".join(drawn), "hidden state")


def score(model: BayesNet, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the network describes the rows of a file."""
    weight = request["weight"] or reading.get("weight")
    found = Scored(model)
    for batch, X in batches(model, reading, request):
        found.add(X, weights(batch, weight, request["data"]))
    return found.figures()


# ---- results --------------------------------------------------------------------------------------------------------


def summary(model: BayesNet) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "BayesNet",
        "nodes": list(model.nodes_),
        "edges": [list(edge) for edge in model.edges_],
        "states": {name: list(states) for name, states in model.states_.items()},
        "hidden": list(model.hidden_),
        "tables": {name: table.tolist() for name, table in model.params_.items()},
        **of_fit(model),
    }
