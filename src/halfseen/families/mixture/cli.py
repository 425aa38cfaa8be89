"""Tables: latent classes and classifiers, from files and back to files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfseen.analysis.decisions import decide
from halfseen.analysis.imputation_check import hidden_cells
from halfseen.app import console, options
from halfseen.app.families import Fitted
from halfseen.app.tables import (
    batches,
    class_names,
    column,
    data,
    extended,
    filled,
    open_rows,
    read_costs,
    show_columns,
    weights,
    without_identifiers,
)
from halfseen.data.write import TableWriter
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table import why as reasons
from halfseen.families.mixture.gaussian_classifier import GaussianClassifier
from halfseen.families.mixture.gaussian_mixture import GaussianMixture
from halfseen.families.mixture.latent_class import LatentClass
from halfseen.families.mixture.naive_bayes import NaiveBayes

WORDS = ("class", "classes")


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit classes, or a classifier where there is a target, to a file."""
    paths = request["data"] or [None]
    if len(paths) > 1:
        raise ParameterError(f"one file of rows is needed, got {len(paths)}: {', '.join(paths)}.")
    kinds = options.kinds(request["columns"]) | dict.fromkeys(options.names(request["text"]), "text")
    reading = {
        "data": paths[0],
        "sql": request["sql"],
        "missing": options.names(request["missing"]),
        "ignore": options.names(request["ignore"]),
        "weight": request["weight"],
        "target": request["target"],
    }
    model = _estimator(request, kinds)
    table = open_rows(
        *(paths[0], reading["sql"], reading["missing"]),
        ignore=reading["ignore"],
        weight=reading["weight"],
        target=reading["target"],
        memory=request["memory"],
    )
    table, apart = without_identifiers(table, kinds)
    reading["ignore"] += apart
    model.fit(table)
    if isinstance(model, NaiveBayes) and len(model.classes_) < 2:
        raise DataError(f"--target {request['target']}: all rows are {model.classes_[0]}: there is nothing to learn.")
    show_columns(model)
    return Fitted(model, table, reading)


def _estimator(request: Mapping[str, Any], kinds: Mapping[str | int, str]) -> Any:
    common: dict[str, Any] = {
        "assign": request["assign"],
        "n_init": request["restarts"],
        "max_iter": request["max_iter"],
        "n_jobs": request["jobs"],
        "random_state": request["seed"],
    }
    if request["target"] is not None and request["k"] != "auto":
        raise ParameterError("-k has no meaning with --target: the classes are those of the target.")
    if request["model"] == "gaussian":
        return _gaussian(request, kinds, common)
    if request["covariance"] is not None:
        raise ParameterError("--covariance needs --model gaussian or hmm.")
    common["columns"] = dict(kinds) or None
    common |= _of_text(request, kinds)
    if request["target"] is not None:
        if request["unlabeled_weight"] is not None:
            common["unlabeled_weight"] = options.length(request["unlabeled_weight"])
        common["components_per_class"] = request["components_per_class"] or 1
        return NaiveBayes(prior=options.prior(request["prior"], 1.0), **common)
    if request["unlabeled_weight"] is not None:
        raise ParameterError("--unlabeled-weight needs --target: without one no row has a label.")
    if request["components_per_class"] is not None:
        raise ParameterError("--components-per-class needs --target: without one, -k is the number of classes.")
    sizes, prior = options.sizes(request["k"]), options.prior(request["prior"], "row")
    return LatentClass(sizes, prior=prior, criterion=request["criterion"], **common)


def _of_text(request: Mapping[str, Any], kinds: Mapping[str | int, str]) -> dict[str, Any]:
    """Return how text is taken; refuse it where there is none."""
    given = {
        "text": request["text_model"],
        "words": options.words(request["words"]),
        "document_length": options.length(request["document_length"]),
    }
    found = {name: value for name, value in given.items() if value is not None}
    if found and "text" not in kinds.values():
        raise ParameterError("--text-model, --words and --document-length need --text: columns of text.")
    return found


def _gaussian(request: Mapping[str, Any], kinds: Mapping[str | int, str], common: dict[str, Any]) -> Any:
    """Return a mixture of joint normals, or with a target the classifier by them."""
    if kinds:
        raise ParameterError("--columns has no meaning with --model gaussian: all its columns are numbers.")
    shapes = options.names(request["covariance"]) or ["full"]
    if "fixed" in shapes:
        raise ParameterError(
            "--covariance fixed needs the covariance itself, which only Python takes: "
            "GaussianMixture(covariance_type='fixed', covariance=...)."
        )
    prior = options.prior(request["prior"], None)
    if request["target"] is None:
        shape = shapes[0] if len(shapes) == 1 else shapes
        sizes = options.sizes(request["k"])
        return GaussianMixture(sizes, covariance_type=shape, prior=prior, criterion=request["criterion"], **common)
    if len(shapes) > 1:
        raise ParameterError("--covariance: a classifier needs one shape.")
    return GaussianClassifier(covariance_type=shapes[0], prior=prior, **common)


# ---- rows in, answers out --------------------------------------------------------------------------------------------


def predict(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with their class, its probabilities, and what else was asked for."""
    names = class_names(model)
    cost = None if request["cost"] is None else read_costs(request["cost"], names)
    model.set_params(n_jobs=request["jobs"])
    unknown = 0
    with TableWriter(request["output"]) as out:
        for batch, X in batches(model, reading, request):
            out.append(extended(batch, _answers(model, X, names, cost, request["reject"], request["why"])))
            unknown += sum(model.unknown_words(X).values()) if has_text(model) else 0
    if unknown:
        console.note(f"{unknown:,} words were not seen when fitting and were ignored")


def has_text(model: Any) -> bool:
    """Whether a model takes text."""
    return bool(model._schema.texts)


def is_rule(model: Any) -> bool:
    """Whether a model is a rule, without probabilities of rows."""
    return getattr(getattr(model, "_schema", None), "rule", None) is not None


def _answers(
    model: Any, X: Any, names: Sequence[str], cost: Any, reject: float | None, explain: bool
) -> dict[str, Any]:
    proba = model.predict_proba(X)
    best = proba.argmax(axis=1)
    found: dict[str, Any] = {"class": _labels(model, names, best)}
    found |= {f"p_{name}": proba[:, j] for j, name in enumerate(names)}
    found["certainty"] = proba.max(axis=1)
    found |= decided(proba, names, cost, reject)
    if explain:
        found["why"] = list(_reasons(model, X))
    return found


def decided(proba: Any, names: Sequence[str], cost: Any, reject: float | None) -> dict[str, Any]:
    """Return the decision for each row and its risk, where costs were given."""
    if cost is None and reject is None:
        return {}
    decisions, matrix = (names, None) if cost is None else cost
    decision, risk = decide(proba, matrix, reject, return_risk=True)
    return {"decision": ["reject" if i < 0 else decisions[i] for i in decision.tolist()], "risk": risk}


def _labels(model: Any, names: Sequence[str], best: Any) -> Any:
    """Return the class of each row, in the type of the target where there was one."""
    if hasattr(model, "classes_"):
        return model.classes_[best].tolist()
    return [names[k] for k in best.tolist()]


def _reasons(model: Any, X: Any) -> Iterator[str]:
    table = model._encode(X)
    for n in range(table.n_rows):
        lines = str(reasons.why(model, table.take(slice(n, n + 1)))).splitlines()
        yield "; ".join(" ".join(line.split()) for line in lines)


def impute(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with their holes filled; with draws, so many completed tables one below the other."""
    n_draws, n_holes, schema = request["draws"], 0, getattr(model, "_schema", None)
    texts = [] if schema is None else schema.texts
    if schema is not None and len(texts) == len(schema.columns):
        console.note("text is not filled: a model of words can tell which ones are likely, not what was written")
    with TableWriter(request["output"]) as out:
        if not n_draws:
            for batch, X in batches(model, reading, request):
                n_holes += sum(X[name].null_count for name in X.column_names if name not in texts)
                out.append(filled(batch, model.impute(X)))
        for i in range(n_draws):
            rng = np.random.default_rng([request["seed"], i])
            for batch, X in batches(model, reading, request):
                drawn = filled(batch, model.impute(X, draw=True, random_state=rng))
                out.append(drawn.add_column(0, "draw", pa.array(np.full(len(drawn), i + 1))))
    if request["output"] != "-":
        done = f"{n_draws} completed tables" if n_draws else f"{n_holes:,} holes filled"
        console.note(f"{done}: {request['output']}")


def check(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Hide known cells, impute them, and print how far off the guesses are, beside those of column means."""
    console.show(str(hidden_cells(model, data(model, reading, request).X, random_state=request["seed"])))


def sample(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write rows drawn from the model, with their class."""
    X, labels = model.sample(request["n"], random_state=request["seed"])
    columns = nw.from_native(X).to_dict(as_series=False) if model._schema.named else dict(unnamed(model, X))
    drawn = labels.tolist() if hasattr(model, "classes_") else [str(model.class_names_[k]) for k in labels.tolist()]
    with TableWriter(request["output"]) as out:
        out.append(extended(pa.table(columns), {"class": drawn}))


def unnamed(model: Any, X: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the columns of an array under the names that the model gave them."""
    for j, name in enumerate(model._schema.names):
        yield name, [row[j] for row in X.tolist()]


def score(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the model describes the rows of a file."""
    weight = request["weight"] or reading.get("weight")
    target = reading.get("target")
    total = n_rows = right = known = 0.0
    rule = is_rule(model)
    for batch, X in batches(model, reading, request):
        mass = weights(batch, weight, request["data"])
        used = mass > 0
        total += 0.0 if rule else float(mass[used] @ model.score_samples(X)[used])
        n_rows += float(mass.sum())
        if target is not None and target in batch.column_names:
            truth = np.array([None if label is None else str(label) for label in batch.column(target).to_pylist()])
            seen = truth != np.array(None)
            guess = np.array([str(label) for label in model.predict(X)], dtype=object)
            right += float(mass[seen & (truth == guess)].sum())
            known += float(mass[seen].sum())
    if not n_rows:
        raise DataError("all rows are of weight 0: there is nothing to score.")
    found = {"rows": n_rows}
    if not rule:
        found |= {
            "loglik": total,
            "loglik_per_row": total / n_rows,
            "bic": -2 * total + model.n_parameters_ * float(np.log(n_rows)),
            "aic": -2 * total + 2 * model.n_parameters_,
        }
    return found | ({"accuracy": right / known, "labelled_rows": known} if known else {})


def truth(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the class of each row, and what a column says is true."""
    classes: list[str] = []
    labels: list[Any] = []
    names = class_names(model)
    for batch, X in batches(model, reading, request):
        labels += column(batch, request["truth"], "--truth", request["data"])
        classes += [names[k] for k in model.predict_proba(X).argmax(axis=1).tolist()]
    return classes, labels


# ---- what was found --------------------------------------------------------------------------------------------------


def describe(model: Any) -> None:
    """Print what was found."""
    if hasattr(model, "selection_"):
        show_selection(model)
    console.show_classes(model.describe(top=3))


def outcome(model: Any) -> str:
    """Return how the fit went, in one sentence."""
    if is_rule(model):
        return "words were counted; a rule by complements has no likelihood"
    restarts = getattr(model, "restarts_", None)
    agree = ""
    if restarts and restarts["n_init"] > 1:
        agree = f"; {restarts['n_reached_best']} of the last {restarts['n_finalists']} starts agree"
    return (
        f"log-likelihood {model.loglik_:,.1f}, BIC {model.bic():,.1f}; stopped by {model.stop_reason_} after "
        f"{model.n_iter_} passes{agree}"
    )


def summary(model: Any) -> dict[str, Any]:
    """Return the fit as plain values."""
    names = [str(name) for name in model.class_names_]
    words = {"top_words": model.top_words(10)} if has_text(model) else {}
    return {
        "estimator": type(model).__name__,
        "classes": dict(zip(names, model.weights_.tolist(), strict=True)),
        "columns": dict(model.columns_),
        **of_fit(model),
        **words,
    }


def of_fit(model: Any) -> dict[str, Any]:
    """Return how well a fit went, as plain values."""
    likelihood = {} if is_rule(model) else {"loglik": model.loglik_, "bic": model.bic(), "aic": model.aic()}
    return {
        **likelihood,
        "n_parameters": model.n_parameters_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "stop_reason": model.stop_reason_,
        "events": list(model.events_),
    }


def facts(model: Any, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what to say first of a model file."""
    training = record["training"]
    return [
        ("classes", len(model.class_names_)),
        ("parameters", model.n_parameters_),
        ("rows", f"{training['n_rows']:,.10g}" if training.get("n_rows") else None),
        ("log-likelihood", f"{training['loglik_']:,.2f}" if "loglik_" in training and not is_rule(model) else None),
    ]


def show_selection(model: Any, what: str = "classes") -> None:
    """Print the numbers of classes that were tried, and which was chosen."""
    tried = pa.table(nw.from_native(model.selection_).to_dict(as_series=False))
    if len(tried) < 2:
        return
    rows = [
        (
            row["n_components"],
            row.get("covariance", ""),
            *[f"{row[name]:,.1f}" for name in ("loglik", "bic")],
            f"{row['entropy']:.2f}",
        )
        for row in tried.to_pylist()
    ]
    chosen = [row["chosen"] for row in tried.to_pylist()]
    marked = [(*row, "<- chosen" if keep else "") for row, keep in zip(rows, chosen, strict=True)]
    head = (what, "covariance", "log-likelihood", "BIC", "entropy", "")
    kept = [j for j, name in enumerate(head) if name != "covariance" or "covariance" in tried.column_names]
    console.show_table([head[j] for j in kept], [[row[j] for j in kept] for row in marked], left=0)
    console.show()
