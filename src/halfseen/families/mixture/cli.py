"""Tables: latent classes and classifiers, from files and back to files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfseen.app import console, fits, options
from halfseen.app.dispatch import Fitted, Prepared
from halfseen.app.export import export
from halfseen.app.fits import of_fit
from halfseen.app.model_file import read_model
from halfseen.app.paper_table import table
from halfseen.app.renaming import rename
from halfseen.app.tables import (
    DRAWN,
    batches,
    check,
    class_names,
    column,
    data,
    decided,
    details,
    errors,
    extended,
    impute,
    note_drawn,
    open_rows,
    open_to_fit,
    probabilities,
    read_costs,
    reading_of_rows,
    rows_to_fit,
    show_columns,
    unnamed,
    weights,
    without_identifiers,
    writer,
)
from halfseen.data.covariate_formula import variables_of
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.selection import read_sizes
from halfseen.estimators.table import why as reasons
from halfseen.families.mixture import explain as numbers
from halfseen.families.mixture.explain import Explanation
from halfseen.families.mixture.few_rows import all_differ, is_series
from halfseen.families.mixture.gaussian_classifier import GaussianClassifier
from halfseen.families.mixture.gaussian_mixture import GaussianMixture
from halfseen.families.mixture.latent_class import LatentClass
from halfseen.families.mixture.naive_bayes import NaiveBayes
from halfseen.families.mixture.supervised import MixtureClassifier
from halfseen.inference.blrt import ClassesTest, blrt
from halfseen.inference.relate import relate as related

__all__ = [
    "check",
    "data",
    "details",
    "errors",
    "explain",
    "export",
    "fit",
    "impute",
    "outcome",
    "predict",
    "prepare",
    "relate",
    "rename",
    "sample",
    "score",
    "summary",
    "table",
    "test",
    "truth",
]


READ_AS = {"covariates": "covariates", "missing": "missing_covariates"}  # what a model file calls arguments of `fit`


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit classes, or a classifier where there is a target, to a file."""
    ready = prepare(request)
    model = ready.model
    with rows_to_fit(ready.table, request) as rows:
        try:
            model.fit(rows, **ready.arguments)
        except DataError as error:  # the option has another name here
            raise DataError(str(error).replace("missing='drop'", "--drop-missing")) from None
    if request["choose"] is not None:
        model = _chosen(model, request)
    if request["blrt"] is not None:
        _test_sizes(model, ready.table, request)
    if isinstance(model, MixtureClassifier) and len(model.classes_) < 2:
        raise DataError(f"--target {request['target']}: all rows are {model.classes_[0]}: there is nothing to learn.")
    show_columns(model)
    return Fitted(model, ready.table, ready.reading)


def _sizes(request: Mapping[str, Any]) -> Any:
    """Return the numbers of classes to try; refuse to choose one that is not among them."""
    sizes = options.sizes(request["classes"])
    if sizes != "auto":
        _check_choice(request, read_sizes(sizes))
    return sizes


def _check_choice(request: Mapping[str, Any], sizes: Sequence[int]) -> None:
    wanted = request["choose"]
    if wanted is not None and wanted not in sizes:
        tried = ", ".join(map(str, sizes))
        raise ParameterError(f"--choose {wanted} is not among the numbers of --classes {request['classes']}: {tried}.")


def _chosen(model: Any, request: Mapping[str, Any]) -> Any:
    """Return the fit with the number of classes that --choose names."""
    _check_choice(request, model._tried["n_components"])
    return model.choose(request["choose"])


def _test_sizes(model: Any, table: Any, request: Mapping[str, Any]) -> None:
    """Test every number of classes that was tried against one more, and note the results with the figures of each."""
    tried = model._tried
    shapes = tried.get("covariance", [model._covariance] * len(tried["n_components"]))
    found: list[ClassesTest | None] = []
    for shape, size in zip(shapes, tried["n_components"], strict=True):
        own = None
        if shape == model._covariance:
            fit_of = model._as_tried(size)
            own = blrt(fit_of, table, request["blrt"], n_jobs=request["jobs"], random_state=request["seed"])
        found.append(own)
    tried["lr"] = [None if own is None else own.statistic for own in found]
    tried["lr_p"] = [None if own is None else own.p for own in found]
    tried["lr_draws"] = [None if own is None else len(own.draws) for own in found]


def test(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> ClassesTest:
    """Test the number of classes of a model against one more, given the rows of its fit."""
    if isinstance(model, MixtureClassifier):
        raise ParameterError(
            f"test cannot be used with a {type(model).__name__} model. It is for hidden classes: those of a classifier "
            "have labels."
        )
    rows = data(model, reading, request).X
    how = {name: request[name] for name in ("draws", "starts")}
    return blrt(model, rows, **how, n_jobs=request["jobs"], random_state=request["seed"])


def prepare(request: Mapping[str, Any]) -> Prepared:
    """Return the estimator and the table of a fit."""
    kinds = options.kinds(request["columns"]) | dict.fromkeys(options.names(request["text"]), "text")
    reading = reading_of_rows(request, "weight", "target")
    _check_labels(request)
    reading["target"] = request["labels"] or request["target"]
    request = _begun(request)
    model = _estimator(request, kinds)
    try:
        table = open_to_fit(**reading, memory=request["memory"])
    except DataError as error:
        if request["labels"] is None:
            raise
        raise DataError(str(error).replace("target: ", "--labels: ")) from None
    table, apart = without_identifiers(table, kinds | dict.fromkeys(_covariate_columns(request), ""))
    reading["ignore"] += apart
    arguments = _covariates(request)
    reading |= {READ_AS[name]: value for name, value in arguments.items()}
    reading |= {} if request["start"] is None else {"start": request["start"]}
    return Prepared(model, table, reading, arguments | _known(request, table) | _begin(request))


def _check_labels(request: Mapping[str, Any]) -> None:
    """Refuse options that cannot be used with known classes of rows, or with a model to begin with."""
    known = "--labels" if request["labels"] is not None else "known classes" if request.get("known") else None
    begun = "--start" if request["start"] is not None or request.get("begin") is not None else None
    for name in filter(None, (known, begun)):
        if request["target"] is not None:
            raise ParameterError(f"{name} cannot be used with --target, which makes a classifier: leave out one.")
        if request["blrt"] is not None:
            raise ParameterError(f"{name} cannot be used with --blrt, which draws tables without labels or a start.")
    if begun and "restarts" in request["given"]:
        raise ParameterError("--restarts cannot be used with --start: the model is the one start.")
    if known and not begun and request["classes"] == "auto":
        raise ParameterError(f"{known}: give the number of classes, -k: that of the labels, or more.")


def _begun(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the request with the model to begin with, and its number of classes where none is given."""
    begin = request.get("begin")
    if begin is None and request["start"] is not None:
        begin = read_model(request["start"])
    if begin is None or request["classes"] != "auto":
        return {**request, "begin": begin}
    return {**request, "begin": begin, "classes": str(len(class_names(begin)))}


def _begin(request: Mapping[str, Any]) -> dict[str, Any]:
    return {} if request["begin"] is None else {"begin": request["begin"]}


def _known(request: Mapping[str, Any], table: Any) -> dict[str, Any]:
    """Return the labels that a caller in this process gives: names of classes in order, and the class of some rows."""
    if request.get("known") is None:
        return {}
    if request["labels"] is not None or request["on"] is not None:
        raise ParameterError("known classes of rows: leave out --labels and --on.")
    classes, of_rows = request["known"]
    labels = np.full(table.n_rows, None, dtype=object)
    for row, label in of_rows.items():
        if not 0 <= row < len(labels):
            raise DataError(f"row {row} has a known class, but there are {len(labels):,} rows.")
        labels[row] = label
    return {"labels": labels, "classes": classes}


def _covariates(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how covariates are passed to `fit`."""
    formula = request["covariates"]
    if formula is None:
        if request["drop_missing"]:
            raise ParameterError("--drop-missing is about covariates: it needs --covariates.")
        return {}
    if request["blrt"] is not None:
        raise ParameterError("--covariates cannot be used with --blrt: tables are not drawn anew given covariates yet.")
    if request["target"] is not None:
        raise ParameterError("--covariates cannot be used with --target: a classifier takes all columns as features.")
    if request["on"] is not None:
        raise ParameterError("--covariates cannot be used with --on: the rows must be on this machine.")
    return {"covariates": formula, **({"missing": "drop"} if request["drop_missing"] else {})}


def _covariate_columns(request: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that --covariates names; refuse it where it cannot be used."""
    return variables_of(request["covariates"])[0] if _covariates(request) else ()


def _estimator(request: Mapping[str, Any], kinds: Mapping[str | int, str]) -> Any:
    common = options.of_every_fit(request) | options.of_numbers(request)
    if request["blrt"] is not None and (request["target"] is not None or request["on"] is not None):
        apart = "--target: a classifier has the classes of its target" if request["target"] else "--on"
        raise ParameterError(f"--blrt cannot be used with {apart}.")
    if request["target"] is not None and request["choose"] is not None:
        raise ParameterError("--choose cannot be used with --target: the classes are those of the target.")
    if request["target"] is not None and request["classes"] != "auto":
        raise ParameterError("--classes cannot be used with --target: the classes are those of the target.")
    if request["weight_kind"] is not None:
        if request["weight"] is None or request["target"] is not None:
            raise ParameterError("--weight-kind needs --weight, and no --target: classifiers take frequencies.")
        common["weight_kind"] = request["weight_kind"]
    if request["unlabeled_weight"] is not None:
        if request["target"] is None:
            raise ParameterError("--unlabeled-weight needs --target: without one no row has a label.")
        common["unlabeled_weight"] = options.length(request["unlabeled_weight"])
    if request["model"] == "gaussian":
        return _gaussian(request, kinds, common)
    common["columns"] = dict(kinds) or None
    common |= _of_text(request, kinds)
    if request["target"] is not None:
        common["components_per_class"] = request["components_per_class"] or 1
        return NaiveBayes(prior=options.prior(request["prior"], 1.0), **common)
    if request["components_per_class"] is not None:
        raise ParameterError("--components-per-class needs --target: without one, --classes is the number of classes.")
    sizes, prior = _sizes(request), options.prior(request["prior"], "row")
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
        raise ParameterError("--columns cannot be used with --model gaussian: all its columns are numbers.")
    shapes = options.names(request["covariance"]) or ["full"]
    if "fixed" in shapes:
        raise ParameterError(
            "--covariance fixed needs the covariance itself, which only Python takes: "
            "GaussianMixture(covariance_type='fixed', covariance=...)."
        )
    prior = options.prior(request["prior"], None)
    if request["target"] is None:
        shape = shapes[0] if len(shapes) == 1 else shapes
        sizes = _sizes(request)
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
    with writer(request) as out:
        for batch, X in batches(model, reading, request):
            out.append(extended(batch, _answers(model, X, names, cost, request)))
            unknown += sum(model.unknown_words(X).values()) if has_text(model) else 0
    if unknown:
        console.note(f"{unknown:,} words were not seen when fitting and were ignored")


def has_text(model: Any) -> bool:
    """Whether a model takes text."""
    return bool(model._schema.texts)


def _answers(model: Any, X: Any, names: Sequence[str], cost: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    proba = model.predict_proba(X)
    best = proba.argmax(axis=1)
    found: dict[str, Any] = {"class": _labels(model, names, best)}
    found |= probabilities(request, proba, names)
    found |= decided(proba, names, cost, request["reject"])
    if request["why"]:
        found["why"] = list(_reasons(model, X))
    return found


def _labels(model: Any, names: Sequence[str], best: Any) -> Any:
    """Return the class of each row, in the type of the target where there was one."""
    if hasattr(model, "classes_"):
        return model.classes_[best].tolist()
    return [names[k] for k in best.tolist()]


def _reasons(model: Any, X: Any) -> Iterator[str]:
    model._check_marginal("--why")
    table = model._encode(X)
    for n in range(table.n_rows):
        lines = str(reasons.why(model, table.take(slice(n, n + 1)))).splitlines()
        yield "; ".join(" ".join(line.split()) for line in lines)


def sample(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write rows drawn from the model, with their class."""
    X, labels = model.sample(request["rows"], random_state=request["seed"])
    columns = nw.from_native(X).to_dict(as_series=False) if model._schema.named else dict(unnamed(model, X))
    drawn = labels.tolist() if hasattr(model, "classes_") else [str(model.class_names_[k]) for k in labels.tolist()]
    with writer(request) as out:
        out.append(extended(pa.table(columns), {f"{DRAWN}class": drawn}))
    note_drawn(f"{DRAWN}class", "class")


def score(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the model describes the rows of a file."""
    weight = request["weight"] or reading.get("weight")
    target, names = reading.get("target"), np.array(class_names(model), dtype=object)
    found, right, known = fits.Scored(model), 0.0, 0.0
    for batch, X in batches(model, reading, request):
        mass = weights(batch, weight, request["data"])
        found.add(X, mass)
        if target is not None and target in batch.column_names:
            truth = np.array([None if label is None else str(label) for label in batch.column(target).to_pylist()])
            seen = truth != np.array(None)
            best = model.predict(X) if hasattr(model, "classes_") else names[model.predict(X)]
            guess = np.array([str(label) for label in best], dtype=object)
            right += float(mass[seen & (truth == guess)].sum())
            known += float(mass[seen].sum())
    return found.figures() | ({"accuracy": right / known, "labelled_rows": known} if known else {})


def relate(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Print how the classes are related to covariates or outcomes."""
    if isinstance(model, MixtureClassifier):
        raise ParameterError(
            f"relate cannot be used with a {type(model).__name__} model. It is for hidden classes: those of a "
            "classifier have labels."
        )
    if (request["covariates"] is None) == (request["outcomes"] is None):
        raise ParameterError("relate needs either --covariates or --outcomes.")
    outcomes = options.names(request["outcomes"])
    others = list(variables_of(request["covariates"])[0]) if request["covariates"] else outcomes
    rows = pa.concat_tables([batch for batch, _ in batches(model, reading, request)])
    lost = [name for name in others if name not in rows.column_names]
    if lost:
        raise DataError(f"{request['data']} has no column {lost[0]!r}. It has: {', '.join(rows.column_names[:12])}.")
    weight = request["weight"] or reading.get("weight")
    reference = request["reference"]
    try:
        found = related(
            model,
            rows.select([*model._schema.names, *others]),
            covariates=request["covariates"],
            outcomes=outcomes or None,
            method=request["method"],
            assign=request["assign"],
            reference=0 if reference is None else int(reference) if reference.isdecimal() else reference,
            columns=options.kinds(request["columns"]) or None,
            missing="drop" if request["drop_missing"] else "error",
            sample_weight=None if weight is None else weights(rows, weight, request["data"]),
            propagate=not request["known"],
        )
    except DataError as error:  # the option has another name here
        raise DataError(str(error).replace("missing='drop'", "--drop-missing")) from None
    if request["json"]:
        console.show_json(found.to_dict())
    else:
        console.show(str(found))


def truth(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the class of each row, and what a column says is true."""
    classes: list[str] = []
    labels: list[Any] = []
    names = class_names(model)
    for batch, X in batches(model, reading, request):
        labels += column(batch, request["truth"], "--truth", request["data"])
        classes += [names[k] for k in model.predict_proba(X).argmax(axis=1).tolist()]
    return classes, labels


def explain(request: Mapping[str, Any]) -> Explanation:
    """Read a small table and return every number of a few iterations."""
    kinds = options.kinds(request["columns"]) | dict.fromkeys(options.names(request["text"]), "text")
    missing, ignore = (options.names(request[name]) for name in ("missing", "ignore"))
    table, _ = without_identifiers(open_rows(request["data"], request["sql"], missing, ignore=ignore), kinds)
    table, series = _of_few_rows(table, kinds)
    model = LatentClass(
        request["classes"],
        columns=kinds | dict.fromkeys(series, "text") or None,
        words={"analyzer": "char", "lowercase": False} if series else None,
        assign=request["assign"],
        random_state=request["seed"],
    )
    return numbers.explain(model, table, n_iter=request["steps"])


def _of_few_rows(table: Any, kinds: Mapping[str | int, str]) -> tuple[Any, list[str]]:
    """Leave out columns whose values all differ, and find those that are series of outcomes; notes say which."""
    if table.n_rows > numbers.MOST_ROWS:
        return table, []  # which is refused
    rows = pa.concat_tables(table.batches())
    cells = {name: rows[name].to_pylist() for name in rows.column_names if name not in kinds}
    series = [] if "text" in kinds.values() else [name for name, own in cells.items() if is_series(own)]
    for name in series:
        letters = ", ".join(sorted(set("".join(cell for cell in cells[name] if cell is not None))))
        console.note(f"note: {name} is read as series of {letters}, which are counted; --ignore {name} leaves it out")
    apart = [name for name, own in cells.items() if name not in series and all_differ(own)]
    if len(apart) == len(rows.column_names):
        raise DataError(
            f"{', '.join(apart)}: every row has another value, so that they have no classes in common. Numbers need "
            f"a kind: --columns {apart[0]}=gaussian or poisson."
        )
    for name in apart:
        console.note(f"left out: {name} (every row has another value); --columns {name}=KIND keeps it")
    return (table.without(apart) if apart else table), series


# ---- what was found --------------------------------------------------------------------------------------------------


def outcome(model: Any) -> str:
    """Return the outcome of the fit in one sentence; of a classifier, what unlabelled rows count and why."""
    scores = getattr(model, "guard_", None)
    if not scores:
        return fits.outcome(model)
    weight = model.unlabeled_weight_
    used = f"unlabelled rows count {weight:g} of a labelled one" if weight else "unlabelled rows are left out"
    return (
        f"{fits.outcome(model)}\n{used}: cross-validated accuracy {scores['with_unlabeled']:.3f} with them, "
        f"{scores['labelled_only']:.3f} without ({scores['n_labelled']} labelled rows)"
    )


def summary(model: Any) -> dict[str, Any]:
    """Return the fit as plain values."""
    names = [str(name) for name in model.class_names_]
    supervised = getattr(model, "guard_", None) is not None
    words = {"top_words": model.top_words(10)} if has_text(model) else {}
    return {
        "estimator": type(model).__name__,
        "classes": dict(zip(names, model.weights_.tolist(), strict=True)),
        "columns": dict(model.columns_),
        **of_fit(model),
        **({"unlabeled_weight": model.unlabeled_weight_, "cross_validated": model.guard_} if supervised else {}),
        **words,
    }
