"""The cases of `benchmarks.same_bits`: every family and what can be asked of it, small, with fixed seeds.

Only the public API is used. A case is a function that takes a `Record`; `@case` gives it a name and the data sets that
it needs.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import halfseen as hs
from benchmarks.same_bits import ROOT, Record

Case = Callable[[Record], None]
CASES: dict[str, tuple[Case, tuple[str, ...]]] = {}

ATTRIBUTES = """
    loglik_ objective_ n_iter_ stop_reason_ converged_ trace_ restarts_ selection_ n_components_ n_parameters_ columns_
    class_names_ classes_ params_ weights_ means_ covariances_ covariance_ covariance_type_ precisions_ covars_
    startprob_ transmat_ stationary_ occupancy_ dwell_ emissionprob_ lambdas_ cluster_centers_ cluster_sizes_ labels_
    inertia_ probabilities_ counts_ rules_ start_ unparsable_ n_unparsable_ jumps_ p_null_ tension_ pronunciations_
    coef_ intercept_ feature_log_prob_ feature_count_ class_count_ class_prior_ class_log_prior_ guard_ edges_ nodes_
    parents_ states_ hidden_ units_ lower_bound_
"""
ASKED_ROWS = ("predict", "predict_proba", "predict_joint_log_proba", "score_samples", "impute", "transform", "filter")
ASKED_WHOLE = ("score", "bic", "aic", "icl", "entropy")


def folder() -> Path:
    """Return the folder of the real data sets."""
    return Path(os.environ.get("HALFSEEN_DATA") or ROOT / ".." / "shared" / "data").resolve()


def case(name: str, *needs: str) -> Callable[[Case], Case]:
    """Register a case, with the real data files that it needs."""

    def register(function: Case) -> Case:
        if name in CASES:
            raise KeyError(f"two cases are called {name!r}")
        CASES[name] = (function, needs)
        return function

    return register


def cases(prefix: str, *needs: str, **variants: Any) -> Callable[[Callable[[Record, Any], None]], Any]:
    """Register a case for each variant; the function takes the record and the variant."""

    def register(function: Callable[[Record, Any], None]) -> Callable[[Record, Any], None]:
        for name, variant in variants.items():
            case(f"{prefix} {name}", *needs)(functools.partial(function, given=variant))
        return function

    return register


def main() -> None:
    """Run the cases whose name contains a text, and write what they found."""
    found = {name: run(*CASES[name]) for name in CASES if sys.argv[2] in name}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")


def run(function: Case, needs: Sequence[str]) -> dict[str, Any]:
    """Run one case; a failure is a result."""
    absent = [name for name in needs if not (folder() / name).exists()]
    if absent:
        return {"skipped": f"no {', '.join(absent)} among the real data"}
    record = Record()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            function(record)
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"}
    record.word("warnings", sorted({f"{one.category.__name__}: {one.message}" for one in said}))
    return record.result()


# ---- what is asked of a model ---------------------------------------------------------------------------------------


def observe(record: Record, model: Any, X: Any = None, how: Mapping[str, Any] | None = None, prefix: str = "") -> None:
    """Record everything that a fitted model has and can be asked, and the same of it from a file."""
    for name in ATTRIBUTES.split():
        if hasattr(model, name):
            record.number(prefix + name, getattr(model, name))
    if hasattr(model, "events_"):
        record.word(f"{prefix}events_", [str(event) for event in model.events_])
    record.word(f"{prefix}describe", model.describe())
    answers(record, model, X, how, prefix)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model.halfseen"
        hs.save(model, path)
        answers(record, hs.load(path), X, how, f"{prefix}loaded ")


def answers(record: Record, model: Any, X: Any, how: Mapping[str, Any] | None, prefix: str) -> None:
    """Record what a model answers."""
    record.call(f"{prefix}to_frame", lambda: model.to_frame())
    if hasattr(model, "sample"):
        record.call(f"{prefix}sample", lambda: model.sample(7, random_state=3))
    if X is None:
        return
    for name in ASKED_ROWS + ASKED_WHOLE:
        needs_labels = name == "score" and hasattr(model, "classes_")
        if hasattr(model, name) and not needs_labels:
            record.call(f"{prefix}{name}", lambda name=name: getattr(model, name)(X, **(how or {})))
    if hasattr(model, "impute") and hasattr(model, "sample"):
        drawn = {"draw": True, "random_state": 5}
        record.call(f"{prefix}impute drawn", lambda: model.impute(X, **drawn, **(how or {})))


# ---- data -----------------------------------------------------------------------------------------------------------

SEEDS = {"n_init": 4, "random_state": 0, "max_iter": 60}
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@functools.cache
def penguins() -> Any:
    return hs.load_penguins()


def birds() -> Any:
    """Return penguins without what is looked for."""
    return penguins().drop(columns=["species", "year"])


def measured(missing: bool = True) -> Any:
    """Return the measures of the penguins; all of them, or those without missing values."""
    frame = penguins()[NUMBERS]
    return frame.mask(np.random.default_rng(4).random(frame.shape) < 0.1) if missing else frame.dropna()


def counted() -> Any:
    """Return penguins with two columns of counts."""
    rng, frame = np.random.default_rng(1), birds()
    weight = frame["body_mass_g"].fillna(4000) / 1000
    frame["eggs"] = rng.poisson(weight).astype(float)
    frame["visits"] = rng.poisson(3 * weight).astype(float)
    return frame.mask(rng.random(frame.shape) < 0.05)


def partly(values: Any, share: float, seed: int = 0) -> list[Any]:
    """Return values with only a share of them known, None for the others."""
    known = np.random.default_rng(seed).random(len(values)) < share
    return [value if keep else None for value, keep in zip(values, known, strict=True)]


def weights(n: int) -> Any:
    return np.random.default_rng(2).integers(0, 4, n) + 0.5


def real(name: str, **options: Any) -> Any:
    """Read a real table."""
    return pd.read_csv(folder() / name, **options)


# ---- latent classes -------------------------------------------------------------------------------------------------

START = {
    "weights": [0.3, 0.7],
    "island": {"Biscoe": [0.6, 0.3], "Dream": [0.2, 0.4], "Torgersen": [0.2, 0.3]},
    "bill_length_mm": {"mean": [40.0, 47.0], "sd": [4.0, 5.0]},
}


@cases(
    "latent class",
    plain={},
    hard={"assign": "hard"},
    sample={"assign": "sample", "draws": 2},
    no_prior={"prior": None},
    number_prior={"prior": 1.0},
    full_covariance={"covariance": "full"},
    full_covariance_prior={"covariance": "full", "prior": 1.0},
    tied={"tied": ["sex", "bill_depth_mm"]},
    start={"n_components": 2, "start": START},
    fixed={"n_components": 2, "start": START, "fixed": ["weights", "island", "bill_length_mm"]},
    some={"n_components": range(1, 5)},
    some_icl={"n_components": [2, 3], "criterion": "icl"},
    gradient={"method": "gradient", "n_init": 2},
    lbfgs={"method": "lbfgs", "n_init": 2},
    anneal={"anneal": [0.5, 0.8]},
    plain_steps={"accelerate": False},
    few_steps={"stop": "iterations", "max_iter": 5},
    init_rows={"init": "rows"},
    init_spread={"init": "spread"},
    init_parameters={"init": "parameters"},
    init_posteriors={"init": "posteriors"},
    threads={"n_jobs": 2},
)
def latent_class(record: Record, given: Mapping[str, Any]) -> None:
    model = hs.LatentClass(**{"n_components": 3, **SEEDS, **given}).fit(birds())
    observe(record, model, birds())


@cases("latent class on votes", soft={}, hard={"assign": "hard"}, no_prior={"prior": None})
def latent_votes(record: Record, given: Mapping[str, Any]) -> None:
    votes = hs.load_votes().drop(columns="party")
    observe(record, hs.LatentClass(2, **{**SEEDS, **given}).fit(votes), votes)


@cases("latent class with counts", soft={}, hard={"assign": "hard"}, tied={"tied": ["eggs"]})
def latent_counts(record: Record, given: Mapping[str, Any]) -> None:
    kinds = {"eggs": "poisson", "visits": "poisson"}
    observe(record, hs.LatentClass(3, columns=kinds, **{**SEEDS, **given}).fit(counted()), counted())


@case("latent class with weights")
def latent_weights(record: Record) -> None:
    model = hs.LatentClass(3, **SEEDS).fit(birds(), sample_weight=weights(len(birds())))
    observe(record, model, birds())


@case("latent class with labels")
def latent_labels(record: Record) -> None:
    labels = partly(penguins()["species"].tolist(), 0.2)
    labels[3] = {"Adelie", "Gentoo"}
    model = hs.LatentClass(3, **SEEDS).fit(birds(), labels=labels)
    observe(record, model, birds())
    record.number("why", vars_of(model.why(birds()[:1]), "log_odds contributions together probability"))
    record.number("relabelled", model.relabel([2, 0, 1]).to_frame())


@case("latent class partial fit")
def latent_partial(record: Record) -> None:
    model = hs.LatentClass(3, **SEEDS).fit(birds()[:200])
    for first in range(200, 344, 48):
        model.partial_fit(birds()[first : first + 48])
    observe(record, model, birds())
    record.number("forgetting", model.partial_fit(birds()[:50], forget=0.5).to_frame())


@case("latent class on an array")
def latent_array(record: Record) -> None:
    X = measured().to_numpy()
    observe(record, hs.LatentClass(3, **SEEDS).fit(X), X)
    observe(record, hs.LatentClass(3, init="kmeans", **SEEDS).fit(X), X, prefix="from k-means ")


@case("latent class from parameters")
def latent_given(record: Record) -> None:
    columns = {
        "city": {"Lima": [0.2, 0.6], "Oslo": [0.3, 0.4], "Rome": [0.5, 0.0]},
        "spend": {"mean": [0.0, 4.0], "sd": [1.0, 2.0]},
        "visits": {"rate": [1.0, 5.0]},
    }
    rows = [["Lima", 1.0, 2.0], ["Rome", None, 0.0], [None, 3.5, None], [None, None, None]]
    model = hs.LatentClass.from_params([0.25, 0.75], columns)
    record.number("to_frame", model.to_frame())
    for name in ASKED_ROWS + ASKED_WHOLE:
        if hasattr(model, name):
            record.call(name, lambda name=name: getattr(model, name)(rows))


def latent_real(record: Record, given: str) -> None:
    X = real(given).astype("object")
    observe(record, hs.LatentClass(3, **SEEDS).fit(X), X)


for _path in ("carcinoma/carcinoma.csv", "gss82/gss82.csv", "symptoms/symptoms.csv", "cheating/cheating.csv"):
    case(f"latent class {Path(_path).stem}", _path)(functools.partial(latent_real, given=_path))


@cases("latent class container", polars="polars", arrow="arrow", rows="rows")
def latent_containers(record: Record, given: str) -> None:
    X: Any = birds()
    if given == "polars":
        X = __import__("polars").from_pandas(X)
    elif given == "arrow":
        X = __import__("pyarrow").Table.from_pandas(X, preserve_index=False)
    else:
        X = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    model = hs.LatentClass(3, **SEEDS).fit(X)
    record.number("trace_", model.trace_)
    record.number("params_", model.params_)
    record.number("predict_proba", model.predict_proba(X))


@case("latent class from a file")
def latent_file(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "counted.csv"
        pd.concat([counted()] * 30).to_csv(path, index=False)
        for memory in (None, 100_000):
            table = hs.open_table(path, memory=memory)
            model = hs.LatentClass(3, columns={"eggs": "poisson"}, **{**SEEDS, "max_iter": 10}).fit(table)
            record.number(f"memory {memory} trace_", model.trace_)
            record.number(f"memory {memory} to_frame", model.to_frame())
            record.number(f"memory {memory} score_samples", model.score_samples(counted()))


@case("latent class resumed")
def latent_resumed(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        for said in ("first", "again"):
            with hs.checkpoint(Path(place) / "fit.checkpoint"):
                model = hs.LatentClass(3, **SEEDS).fit(birds())
            record.number(f"{said} trace_", model.trace_)
            record.number(f"{said} to_frame", model.to_frame())


@case("latent class matched and renamed")
def latent_matched(record: Record) -> None:
    one = hs.LatentClass(3, **SEEDS).fit(birds())
    other = hs.LatentClass(3, **{**SEEDS, "random_state": 1}).fit(birds()[40:])
    record.number("matched", other.match_to(one).to_frame())
    record.number("renamed", one.rename(["a", "b", "c"]).to_frame())
    record.number("predicted", one.predict(birds()))


# ---- text -----------------------------------------------------------------------------------------------------------

SMS = "sms_spam/SMSSpamCollection.tsv"
TEXT = {"columns": {"SMS": "text"}, "words": {"min_df": 3}}


def messages(n: int = 500) -> Any:
    return real(SMS, sep="\t", quoting=3)[:n]


@cases("text classes", SMS, multinomial={}, bernoulli={"text": "bernoulli"}, length={"document_length": "mean"})
def text_classes(record: Record, given: Mapping[str, Any]) -> None:
    X = messages()[["SMS"]]
    model = hs.LatentClass(2, **TEXT, **{**SEEDS, "max_iter": 20}, **given).fit(X)
    observe(record, model, X)
    record.number("top words", model.top_words(5))


@cases(
    "text classifier",
    SMS,
    multinomial={},
    bernoulli={"text": "bernoulli"},
    complement={"text": "complement"},
    length={"document_length": "mean"},
)
def text_classifier(record: Record, given: Mapping[str, Any]) -> None:
    X = messages()
    model = hs.NaiveBayes(**TEXT, random_state=0, **given).fit(X[["SMS"]], X["Label"])
    observe(record, model, X[["SMS"]])
    record.number("top words", model.top_words(5))
    record.call("why", lambda: vars_of(model.why(X[["SMS"]][:1]), "log_odds contributions words"))


@cases("text classifier few labels", SMS, full={}, auto={"unlabeled_weight": "auto"}, two={"components_per_class": 2})
def text_few(record: Record, given: Mapping[str, Any]) -> None:
    X = messages()
    model = hs.NaiveBayes(**TEXT, **{**SEEDS, "n_init": 2, "max_iter": 20}, **given)
    observe(record, model.fit(X[["SMS"]], partly(X["Label"].tolist(), 0.1)), X[["SMS"]])


@case("text classifier of a sparse matrix")
def sparse_text(record: Record) -> None:
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = csr_matrix(rng.poisson(np.where(np.arange(60) % 3 == y[:, None], 0.6, 0.1)).astype(float))
    observe(record, hs.NaiveBayes(random_state=0).fit(X, y), X)
    observe(record, hs.LatentClass(3, **SEEDS).fit(X), X, prefix="classes ")


# ---- classifiers ----------------------------------------------------------------------------------------------------


@cases(
    "naive bayes",
    full={},
    prior_row={"prior": "row"},
    prior_none={"prior": None},
    class_prior={"class_prior": [0.2, 0.3, 0.5]},
    observed={"class_prior": "observed"},
    two_per_class={"components_per_class": 2},
)
def naive_bayes(record: Record, given: Mapping[str, Any]) -> None:
    model = hs.NaiveBayes(**SEEDS, **given).fit(birds(), penguins()["species"])
    observe(record, model, birds())
    record.call("accuracy", lambda: model.score(birds(), penguins()["species"]))


@cases(
    "naive bayes few labels",
    soft={},
    hard={"assign": "hard"},
    half={"unlabeled_weight": 0.5},
    auto={"unlabeled_weight": "auto"},
    two_per_class={"components_per_class": 2},
    no_guard={"guard": False},
)
def naive_bayes_few(record: Record, given: Mapping[str, Any]) -> None:
    y = partly(penguins()["species"].tolist(), 0.15)
    observe(record, hs.NaiveBayes(**SEEDS, **given).fit(birds(), y), birds())


@case("naive bayes on votes with weights")
def naive_bayes_votes(record: Record) -> None:
    votes = hs.load_votes()
    X, y = votes.drop(columns="party"), votes["party"]
    observe(record, hs.NaiveBayes(random_state=0).fit(X, y, sample_weight=weights(len(X))), X)


@case("naive bayes partial fit")
def naive_bayes_partial(record: Record) -> None:
    model, y = hs.NaiveBayes(random_state=0), penguins()["species"]
    for first in range(0, 344, 100):
        part = slice(first, first + 100)
        model.partial_fit(birds()[part], y[part], classes=["Adelie", "Chinstrap", "Gentoo"])
    observe(record, model, birds())


@cases(
    "gaussian classifier",
    full={},
    tied={"covariance_type": "tied"},
    diag={"covariance_type": "diag"},
    spherical={"covariance_type": "spherical"},
    prior={"prior": 1.0},
    two_per_class={"components_per_class": 2},
)
def gaussian_classifier(record: Record, given: Mapping[str, Any]) -> None:
    y = penguins()["species"]
    model = hs.GaussianClassifier(**SEEDS, **given)
    observe(record, model.fit(measured(), y), measured())
    record.number("accuracy", model.score(measured(), y))
    if "components_per_class" not in given:
        observe(record, model.fit(measured(), partly(y.tolist(), 0.3)), measured(), prefix="few labels ")


# ---- Gaussian mixtures and k-means ----------------------------------------------------------------------------------

COVARIANCES = {name: {"covariance_type": name} for name in ("full", "tied", "diag", "spherical")}


@cases("gaussian mixture", **COVARIANCES)
def gaussian_mixture(record: Record, given: Mapping[str, Any]) -> None:
    for said, X in (("", measured(missing=False)), ("missing ", measured())):
        observe(record, hs.GaussianMixture(3, **SEEDS, **given).fit(X), X, prefix=said)


@cases(
    "gaussian mixture",
    chosen={"n_components": [2, 3], "covariance_type": ["full", "tied", "diag"]},
    hard={"assign": "hard"},
    sample={"assign": "sample"},
    prior={"prior": 1.0},
    uniform_weights={"weights": "uniform"},
    given_weights={"weights": [0.5, 0.3, 0.2]},
    regularised={"reg_covar": 0.01},
    means={"means_init": [[38, 18, 190, 3700], [48, 15, 215, 5000], [49, 18, 195, 3700]]},
    kmeans={"init_params": "kmeans"},
    lbfgs={"method": "lbfgs", "n_init": 2},
    anneal={"anneal": [0.5]},
)
def gaussian_mixture_options(record: Record, given: Mapping[str, Any]) -> None:
    X = measured()
    observe(record, hs.GaussianMixture(**{"n_components": 3, **SEEDS, **given}).fit(X), X)


@case("gaussian mixture faithful", "faithful/faithful.csv")
def faithful(record: Record) -> None:
    X = real("faithful/faithful.csv")
    observe(record, hs.GaussianMixture([1, 2, 3], **SEEDS).fit(X, sample_weight=weights(len(X))), X)


@case("gaussian mixture galaxies", "galaxies/galaxies.csv")
def galaxies(record: Record) -> None:
    X = real("galaxies/galaxies.csv").to_numpy()
    observe(record, hs.GaussianMixture(4, **SEEDS).fit(X), X)


@cases("k-means", float64=np.float64, float32=np.float32)
def kmeans(record: Record, given: Any) -> None:
    for said, X in (("", measured(missing=False)), ("missing ", measured())):
        data = X.to_numpy().astype(given)
        observe(record, hs.KMeans(4, random_state=0).fit(data), data, prefix=said)
    weighted = hs.KMeans(3, init="random", random_state=1).fit(X, sample_weight=weights(len(X)))
    observe(record, weighted, X, prefix="weighted ")


@case("k-means of many rows")
def kmeans_large(record: Record) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 16)) + 2 * rng.integers(0, 3, (4000, 1))
    for said, data in (("float64 ", X), ("float32 ", X.astype(np.float32))):
        model = hs.KMeans(12, random_state=0, n_init=2).fit(data)
        record.number(f"{said}centres", model.cluster_centers_)
        record.number(f"{said}labels", model.labels_)
        record.number(f"{said}trace", model.trace_)


# ---- hidden Markov models -------------------------------------------------------------------------------------------


@functools.cache
def machines() -> Any:
    """Return four machines of sixty steps with numbers, categories and counts, with missing values, in mixed order."""
    rng = np.random.default_rng(7)
    move = np.array([[0.92, 0.05, 0.03], [0.1, 0.9, 0.0], [0.15, 0.0, 0.85]]).cumsum(axis=1)
    states = []
    for _ in range(4):
        state = 0
        for _ in range(60):
            states.append(state)
            state = int(np.searchsorted(move[state], rng.random()))
    hidden = np.minimum(states, 2)
    frame = pd.DataFrame(
        {
            "heat": rng.normal(np.array([60, 35, 80])[hidden], 4),
            "shake": rng.normal(np.array([2.0, 0.3, 4.0])[hidden], 0.5),
            "sound": np.array(["hum", "quiet", "rattle"])[np.where(rng.random(240) < 0.8, hidden, 0)],
            "faults": rng.poisson(np.array([1.0, 0.2, 6.0])[hidden]).astype(float),
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["machine"], frame["hour"] = np.repeat(list("ABCD"), 60), np.tile(np.arange(60), 4)
    frame["truth"] = np.array(["run", "idle", "labour"])[hidden]
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


BY_MACHINE = {"groups": "machine", "time": "hour"}
LEFT_RIGHT = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]]


def ask_chain(record: Record, model: Any, X: Any) -> None:
    """Record a chain and what only chains are asked."""
    observe(record, model, X)
    record.call("decode", lambda: model.decode(X))
    record.call("forecast", lambda: vars_of(model.forecast(X, steps=3), "states observations"))
    record.call("forecast frame", lambda: model.forecast(X, steps=3).to_frame())
    record.call("sample of two", lambda: model.sample(lengths=[3, 4], random_state=2))


@cases(
    "hmm",
    full={},
    tied={"covariance_type": "tied"},
    diag={"covariance_type": "diag"},
    spherical={"covariance_type": "spherical"},
    hard={"assign": "hard"},
    sample={"assign": "sample"},
    prior={"prior": 1.0},
    dwell={"min_dwell": 2},
    dwell_each={"min_dwell": [1, 2, 3]},
    left_right={"transitions": "left-right", "prior": 1.0},
    topology={"transitions": LEFT_RIGHT, "prior": 1.0},
    two_inside={"n_mix": 2, "prior": 1.0},
    two_inside_diag={"n_mix": 2, "covariance_type": "diag", "prior": 1.0},
    some={"n_components": [1, 2, 3], "covariance_type": ["full", "diag"], "n_init": 2},
    fixed={"start": {"transmat": LEFT_RIGHT, "startprob": [1, 0, 0]}, "fixed": ["startprob"]},
    tied_column={"tied": ["shake"]},
    lbfgs={"method": "lbfgs", "n_init": 1, "max_iter": 20},
    anneal={"anneal": [0.5]},
    threads={"n_jobs": 2},
)
def hmm(record: Record, given: Mapping[str, Any]) -> None:
    X = machines()[["heat", "shake", "machine", "hour"]]
    model = hs.HMM(**{"n_components": 3, **SEEDS, "max_iter": 40, **given}).fit(X, **BY_MACHINE)
    ask_chain(record, model, X)


@cases("hmm of all columns", auto={}, hard={"assign": "hard"}, inside={"n_mix": 2}, dwell={"min_dwell": 2})
def hmm_mixed(record: Record, given: Mapping[str, Any]) -> None:
    X = machines().drop(columns="truth")
    how = {**SEEDS, "prior": 1.0, "columns": {"faults": "poisson"}, **given}
    ask_chain(record, hs.HMM(3, "auto", **how).fit(X, **BY_MACHINE), X)


@cases("hmm of one column", categorical=("categorical", "sound"), poisson=("poisson", "faults"))
def hmm_column(record: Record, given: tuple[str, str]) -> None:
    emission, name = given
    X = machines()[[name, "machine", "hour"]]
    ask_chain(record, hs.HMM(2, emission, prior=0.5, **SEEDS).fit(X, **BY_MACHINE), X)


@case("hmm with labels and weights")
def hmm_labels(record: Record) -> None:
    X = machines()[["heat", "shake", "machine", "hour"]]
    labels = partly(machines()["truth"].tolist(), 0.2)
    model = hs.HMM(3, **SEEDS).fit(X, **BY_MACHINE, labels=labels, sample_weight=[1, 2, 0.5, 1])
    ask_chain(record, model, X)


@case("hmm of a list and of lengths")
def hmm_forms(record: Record) -> None:
    ordered = machines().sort_values(["machine", "hour"])[["heat", "shake"]].to_numpy()
    pieces = np.split(ordered, [100, 101, 180])
    observe(record, hs.HMM(2, **SEEDS).fit(pieces), pieces)
    lengths = [len(piece) for piece in pieces]
    model = hs.HMM(2, **SEEDS).fit(ordered, lengths)
    observe(record, model, ordered, {"lengths": lengths}, prefix="lengths ")


@case("hmm earthquakes", "earthquakes/earthquakes.csv")
def earthquakes(record: Record) -> None:
    X = real("earthquakes/earthquakes.csv")[["count"]]
    ask_chain(record, hs.HMM([2, 3], "poisson", **SEEDS).fit(X), X)


@case("hmm speed", "speed/speed.csv")
def speed(record: Record) -> None:
    X = real("speed/speed.csv")[["rt", "corr", "seq", "t"]]
    ask_chain(record, hs.HMM(2, "auto", **SEEDS).fit(X, groups="seq", time="t"), X)


# ---- transcripts ----------------------------------------------------------------------------------------------------


def runs() -> tuple[list[Any], list[str]]:
    """Return runs of phases, and which phases each went through."""
    rng = np.random.default_rng(1)
    levels = {"heat": (300.0, 1.0), "hold": (420.0, 3.0), "cool": (150.0, 2.0)}
    steps, said = [], []
    for r in range(8):
        phases = ["heat", "hold", "cool"] if r % 2 else ["heat", "hold", "heat", "cool"]
        lengths = rng.integers(6, 15, len(phases))
        means = np.repeat([levels[phase] for phase in phases], lengths, axis=0)
        steps.append(means + rng.normal(size=means.shape) * [50, 1])
        said.append(" ".join(phases))
    return steps, said


PHONES = {"heat": ["h ea t", "h t"], "hold": "h o l d", "cool": "c oo l"}


@cases(
    "transcripts",
    soft={},
    hard={"assign": "hard"},
    sample={"assign": "sample", "random_state": 0},
    three_states={"states_per_unit": 3},
    mixtures={"n_mix": 2},
    silence={"silence": "sil"},
    dictionary={"dictionary": PHONES, "silence": "sil"},
    prior={"prior": 1.0},
    threads={"n_jobs": 2},
)
def transcripts(record: Record, given: Mapping[str, Any]) -> None:
    X, said = runs()
    model = hs.TranscriptAligner(**{"states_per_unit": 1, "max_iter": 30, "random_state": 0, **given}).fit(X, said)
    observe(record, model)
    ask_aligner(record, model, X, said)


def ask_aligner(record: Record, model: Any, X: Any, said: Any) -> None:
    """Record when everything was."""
    found = model.align(X, said)
    for level in ("words", "units"):
        record.number(f"align {level}", model.to_frame(found, level))
    record.number("align loglik", [(one.log_probability, one.loglik, one.surprise) for one in found])
    record.number("score_samples", model.score_samples(X, said))


@case("transcripts of speech", "espeak_dev/transcripts.tsv", "espeak_dev/phones.csv")
def speech(record: Record) -> None:
    phones = real("espeak_dev/phones.csv", keep_default_na=False)
    phones = phones[~phones["phone"].str.startswith("_") & (phones["phone"] != "")]
    said = {Path(name).stem: " ".join(part["phone"]) for name, part in phones.groupby("file")}
    known = sorted(set(phones["phone"]))
    corpus = hs.AudioFolder(folder() / "espeak_dev", transcripts=said, words=known)
    record.number("features", list(corpus))
    how = {"silence": "sil", "step": corpus.step, "start": {"sil": corpus.quiet()}, "max_iter": 4, "random_state": 0}
    model = hs.TranscriptAligner(2, **how).fit(corpus, corpus.transcripts)
    observe(record, model)
    ask_aligner(record, model, corpus, corpus.transcripts)


# ---- Bayesian networks ----------------------------------------------------------------------------------------------

ASIA = "A -> T; S -> L; S -> B; T -> E; L -> E; E -> X; E -> D; B -> D"


def asia(n: int = 1500) -> Any:
    return real("asia/asia_holes.csv", na_values="?")[:n]


@cases(
    "network asia",
    "asia/asia_holes.csv",
    soft={},
    hard={"assign": "hard"},
    sample={"assign": "sample"},
    number={"prior": 1.0},
    bdeu={"prior": "bdeu"},
    tied={"tied": [("L", "B")]},
    fixed={"start": {"A": [0.99, 0.01]}, "fixed": ["A"]},
    lbfgs={"method": "lbfgs", "n_init": 1, "max_iter": 20},
)
def network(record: Record, given: Mapping[str, Any]) -> None:
    X = asia()
    model = hs.BayesNet(ASIA, **{**SEEDS, **given}).fit(X)
    ask_network(record, model, X)
    record.number("predict L", model.predict(X, "L"))
    record.number("predict_proba L", model.predict_proba(X, "L"))


def ask_network(record: Record, model: Any, X: Any) -> None:
    """Record a network and what only networks are asked."""
    observe(record, model, X)
    record.call("mpe", lambda: model.mpe(X[:200]))
    record.call("expected counts", lambda: model.expected_counts(X))
    for evidence in ({}, {"S": "yes", "X": "yes"}):
        record.call(f"query {evidence}", lambda e=evidence: np.asarray(model.query(["D", "B"], e)))
        record.call(f"probability {evidence}", lambda e=evidence: model.probability(e))


@cases("network hidden", "asia/asia_holes.csv", one={"B": 2}, some={"B": range(1, 4)}, two={"B": 2, "E": 2})
def network_hidden(record: Record, given: Mapping[str, Any]) -> None:
    X = asia().drop(columns=list(given))
    model = hs.BayesNet(ASIA, hidden=given, **{**SEEDS, "n_init": 2}).fit(X, sample_weight=weights(len(X)))
    observe(record, model, X)
    record.call("query", lambda: np.asarray(model.query(["D", "B"], {"S": "yes"})))


@cases(
    "network file",
    "asia/asia.bif",
    "bif/alarm.bif",
    "bif/sachs.bif",
    asia="asia/asia",
    alarm="bif/alarm",
    sachs="bif/sachs",
)
def network_file(record: Record, given: str) -> None:
    model = hs.read_bif(folder() / f"{given}.bif")
    record.number("to_frame", model.to_frame())
    drawn, *_ = model.sample(300, random_state=0)
    record.number("sample", drawn)
    record.number("score_samples", model.score_samples(drawn))
    with tempfile.TemporaryDirectory() as place:
        for name in ("net.bif", "net.xmlbif"):
            hs.write_bif(model, Path(place) / name)
            record.number(name, hs.read_bif(Path(place) / name).to_frame())


# ---- grammars -------------------------------------------------------------------------------------------------------

RULES = """
    S -> NP VP
    VP -> V NP | VP PP
    NP -> NP PP | Det N | 'she'
    PP -> 'with' NP
    Det -> 'the'
    N -> 'dog' | 'man' | 'hat'
    V -> 'saw'
"""
GIVEN_RULES = """
    S -> NP VP [1.0]
    VP -> V NP [0.7] | VP PP [0.3]
    NP -> NP PP [0.2] | Det N [0.5] | 'she' [0.3]
    PP -> 'with' NP [1.0]
    Det -> 'the' [1.0]
    N -> 'dog' [0.4] | 'man' [0.3] | 'hat' [0.3]
    V -> 'saw' [1.0]
"""
SENTENCES = [
    "she saw the dog",
    "the dog saw the man with the hat",
    "she saw the man",
    "the man with the dog saw the hat",
] * 5
BRACKETS = [None, "the dog (saw (the man with the hat))", None, None] * 5
TAGS = [["NP", None, "Det", "N"], None, None, None] * 5


def ask_grammar(record: Record, model: Any, sentences: Any) -> None:
    """Record a grammar and what only grammars are asked."""
    observe(record, model)
    record.number("score_samples", model.score_samples(sentences))
    record.number("n_parses", model.n_parses(sentences))
    record.number("parse", model.parse(sentences))
    record.number("parse drawn", model.parse(sentences[:3], draws=3, random_state=0))
    record.number("expected counts", model.expected_counts(sentences))
    record.number("to_string", model.to_string())


@cases(
    "grammar",
    soft={},
    hard={"assign": "hard"},
    sample={"assign": "sample"},
    prior={"prior": 0.5},
    fixed={"fixed": ["VP", "NP -> Det N"]},
    lbfgs={"method": "lbfgs", "n_init": 2},
)
def grammar(record: Record, given: Mapping[str, Any]) -> None:
    rules = GIVEN_RULES if "fixed" in given else RULES
    ask_grammar(record, hs.PCFG.from_string(rules, **{**SEEDS, **given}).fit(SENTENCES), SENTENCES)


@case("grammar with brackets and tags")
def grammar_brackets(record: Record) -> None:
    model = hs.PCFG.from_string(RULES, **SEEDS).fit(
        SENTENCES, brackets=BRACKETS, tags=TAGS, sample_weight=weights(len(SENTENCES))
    )
    ask_grammar(record, model, SENTENCES)
    record.number("bracketed", model.score_samples(SENTENCES, brackets=BRACKETS))


@case("grammar of all rules")
def grammar_dense(record: Record) -> None:
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    ask_grammar(record, hs.PCFG.random(5, words, **{**SEEDS, "n_init": 2, "max_iter": 15}).fit(SENTENCES), SENTENCES)


@case("grammar of trees", "gum/news.mrg")
def grammar_trees(record: Record) -> None:
    trees = hs.read_trees((folder() / "gum/news.mrg").read_text(encoding="utf-8"))[:40]
    model = hs.PCFG.from_trees(trees)
    record.number("to_frame", model.to_frame())
    short = sorted((tree.words() for tree in trees), key=len)[:15]
    record.number("parse", model.parse(short))
    record.number("score_samples", model.score_samples(short))


@case("grammar atis", "atis_cfg/atis.cfg", "atis_cfg/atis_sentences.txt")
def atis(record: Record) -> None:
    text = (folder() / "atis_cfg/atis.cfg").read_text(encoding="latin-1")
    lines = (folder() / "atis_cfg/atis_sentences.txt").read_text(encoding="latin-1").splitlines()
    pairs = [line.split(" : ") for line in lines if " : " in line]
    said = sorted((words.split() for number, words in pairs if int(number) > 0), key=len)[:15]
    model = hs.PCFG.from_string(text, random_state=0, n_init=1, max_iter=5, stop="iterations").fit(said)
    record.number("trace_", model.trace_)
    record.number("to_frame", model.to_frame())
    record.number("parse", model.parse(said))
    record.number("score_samples", model.score_samples(said))


# ---- words ----------------------------------------------------------------------------------------------------------

PAIRS = [
    ("das Haus ist klein", "the house is small"),
    ("das Haus ist ja groß", "the house is big"),
    ("das Buch ist ja klein", "the book is small"),
    ("das Haus", "the house"),
    ("das Buch", "the book"),
    ("ein Buch", "a book"),
]
ALIGNERS: dict[str, dict[str, Any]] = {
    "default": {},
    "model1": {"model": "ibm1"},
    "model1_apart": {"model": "ibm1", "agreement": False},
    "diagonal": {"model": "diagonal"},
    "hmm_apart": {"agreement": False},
    "dirichlet": {"dirichlet": 0.01},
    "dirichlet_apart": {"dirichlet": 0.01, "agreement": False},
    "all_three": {"sequence": ["ibm1", "diagonal", "hmm"]},
    "forward": {"direction": "forward"},
    "hard": {"assign": "hard", "agreement": False},
    "sample": {"assign": "sample", "agreement": False, "random_state": 0},
    "no_null": {"null": False},
}


def ask_words(record: Record, model: Any, pairs: Any) -> None:
    """Record a word aligner and its links."""
    observe(record, model)
    record.number("align", model.align(pairs))
    record.call("align_proba", lambda: model.align_proba(pairs[:50]))
    record.number("score_samples", model.score_samples(pairs))
    record.call("union", lambda: model.align(pairs, symmetrize="union"))


@cases("words", **ALIGNERS)
def words(record: Record, given: Mapping[str, Any]) -> None:
    model = hs.WordAligner(**{"max_iter": 5, **given}).fit(PAIRS)
    ask_words(record, model, PAIRS)
    record.call("translations", lambda: [model.translations(word, 5) for word in ("Buch", "ist", None)])


@case("words with known links")
def words_known(record: Record) -> None:
    known = [[(0, 0)], None, [(None, 2)], None, None, None]
    model = hs.WordAligner("ibm1", direction="forward").fit(PAIRS, links=known, sample_weight=[1, 2, 1, 3, 1, 1])
    ask_words(record, model, PAIRS)


@cases("words hansards", "hansards/dev.e", "hansards/dev.f", "hansards/test.e", "hansards/test.f", **ALIGNERS)
def hansards(record: Record, given: Mapping[str, Any]) -> None:
    pairs = hansard_pairs(120)
    model = hs.WordAligner(**{"max_iter": 3, "lowercase": True, **given}).fit(pairs)
    ask_words(record, model, pairs)


def hansard_pairs(n: int) -> list[tuple[str, str]]:
    """Return the first pairs of the test set."""
    sides = [(folder() / f"hansards/test.{side}").read_text(encoding="utf-8").splitlines() for side in "ef"]
    return list(zip(*sides, strict=True))[:n]


@case("words scored", "hansards/test.e", "hansards/test.f", "hansards/test.wa.nonullalign")
def words_scored(record: Record) -> None:
    n = 120
    gold = hs.read_gold(folder() / "hansards/test.wa.nonullalign")
    found = hs.WordAligner(max_iter=3, lowercase=True).fit(hansard_pairs(n)).align(hansard_pairs(n))
    record.number("figures", hs.score_links(found, gold.sure[:n], gold.possible[:n])._asdict())


# ---- what else can be asked -----------------------------------------------------------------------------------------


def vars_of(value: Any, names: str) -> dict[str, Any]:
    """Return the named attributes of a result."""
    return {name: getattr(value, name) for name in names.split()}


@case("posterior by gibbs")
def posterior_gibbs(record: Record) -> None:
    model = hs.LatentClass(3, **SEEDS).fit(birds())
    found = hs.posterior(model, birds(), n_draws=60, burn_in=20, min_ess=0, random_state=0)
    record.number("posterior", vars_of(found, "method mean low high level draws ess"))
    record.number("to_frame", found.to_frame())


@case("posterior exact")
def posterior_exact(record: Record) -> None:
    y = penguins()["species"]
    model = hs.NaiveBayes().fit(birds(), y)
    found = hs.posterior(model, birds(), labels=y, classes=sorted(set(y)), random_state=0)
    record.number("posterior", vars_of(found, "method mean low high level draws ess"))


@cases("bound", soft={}, number={"prior": 1.0}, full={"covariance": "full"})
def bound(record: Record, given: Mapping[str, Any]) -> None:
    model = hs.LatentClass(3, **SEEDS, **given).fit(birds())
    early = hs.LatentClass(3, **{**SEEDS, "n_init": 1, "max_iter": 3}, stop="iterations", **given).fit(birds())
    parts = "q entropy kl loglik log_prior bound"
    record.number("at itself", vars_of(hs.bound(model, birds()), parts))
    record.number("at another", vars_of(hs.bound(model, birds(), early), parts))


@case("decisions")
def decisions(record: Record) -> None:
    proba = hs.NaiveBayes().fit(birds(), penguins()["species"]).predict_proba(birds())
    cost = [[0, 1, 5], [2, 0, 1], [1, 3, 0]]
    record.number("decide", hs.decide(proba))
    record.number("decide by cost", hs.decide(proba, cost, reject=0.01, return_risk=True))
    record.number("risk", hs.bayes_risk(proba, cost))


@cases("explain", soft={}, hard={"assign": "hard"}, no_prior={"prior": None})
def explain(record: Record, given: Mapping[str, Any]) -> None:
    rows = birds()[:6]
    how = {"start": {"weights": [0.4, 0.6]}, "n_init": 1, "random_state": 0}
    found = hs.explain(hs.LatentClass(2, **how, **given), rows, n_iter=3)
    parts = "number before after usage loglik log_prior objective reached"
    record.number("steps", [vars_of(step, parts) for step in found.steps])
    record.word("text", str(found))


@case("hidden cells")
def hidden_cells(record: Record) -> None:
    for said, model in {
        "classes ": hs.LatentClass(3, **SEEDS),
        "classifier ": hs.NaiveBayes(random_state=0),
    }.items():
        y = penguins()["species"] if said == "classifier " else None
        fitted = model.fit(birds(), y)
        found = hs.hidden_cells(fitted, birds(), y, random_state=0)
        record.number(f"{said}n_cells", found.n_cells)
        record.number(f"{said}columns", found.columns)
        record.word(f"{said}text", str(found))
    mixture = hs.GaussianMixture(3, **SEEDS).fit(measured())
    record.number("mixture columns", hs.hidden_cells(mixture, measured(), random_state=0).columns)


@case("report")
def report(record: Record) -> None:
    models = {
        "classes": (hs.LatentClass(3, **SEEDS).fit(birds()), birds(), None),
        "classifier": (hs.NaiveBayes().fit(birds(), penguins()["species"]), birds(), penguins()["species"]),
    }
    for said, (model, X, y) in models.items():
        record.word(said, page_text(str(hs.report(model, X, y=y))))


def page_text(page: str) -> str:
    """Return the words of a page, without drawings and times."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page)
    return re.sub(r"\s+", " ", unescape(re.sub(r"(?s)<[^>]*>", " ", page))).strip()


@case("sound")
def sound(record: Record) -> None:
    noise = np.random.default_rng(0).normal(size=8000) + np.sin(np.arange(8000) / 9)
    record.number("mfcc", hs.mfcc(noise, 16000))
    record.number("mfcc of two slopes", hs.mfcc(noise, 8000, deltas=2, normalise=False))


# ---- the command line -----------------------------------------------------------------------------------------------


class Shell:
    """Runs `halfseen` in a folder of its own, so that no path stands in its output."""

    def __init__(self, record: Record, place: str) -> None:
        self.record, self.place = record, Path(place)

    def write(self, name: str, frame: Any) -> None:
        frame.to_csv(self.place / name, index=False)

    def run(self, *words: Any, files: Sequence[str] = ()) -> str:
        """Run a command, keep what it prints among words, and the files that it writes among numbers."""
        command = " ".join(map(str, words))
        paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
        done = subprocess.run(
            [sys.executable, "-m", "halfseen", *map(str, words)],
            cwd=self.place,
            env=os.environ | {"COLUMNS": "100", "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"halfseen {command} ended with {done.returncode}: {done.stderr}")
        self.record.word(command, done.stdout + done.stderr)
        for name in files:
            self.record.number(f"{command}: {name}", (self.place / name).read_text(encoding="utf-8").splitlines())
        return done.stdout

    def numbers(self, *words: Any) -> None:
        """Run a command that prints JSON, and keep what it holds among numbers."""
        self.record.number(" ".join(map(str, words)), json.loads(self.run(*words)))


@case("command line penguins")
def shell_penguins(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        shell.write("penguins.csv", birds())
        shell.run(
            "fit", "example:penguins", "--ignore", "species,year", "-k", "2..3", "--restarts", 4, "-o", "m.halfseen"
        )
        shell.run("predict", "m.halfseen", "penguins.csv", "-o", "classes.csv", files=["classes.csv"])
        shell.run("impute", "m.halfseen", "penguins.csv", "-o", "filled.csv", files=["filled.csv"])
        shell.run("impute", "m.halfseen", "penguins.csv", "--draws", 2, "-o", "drawn.csv", files=["drawn.csv"])
        shell.numbers("score", "m.halfseen", "penguins.csv", "--json")
        shell.run("sample", "m.halfseen", "-n", 20, "-o", "made.csv", files=["made.csv"])


@case("command line classifier")
def shell_classifier(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        shell.write("penguins.csv", penguins())
        shell.run("fit", "penguins.csv", "--target", "species", "--ignore", "year", "-o", "m.halfseen")
        shell.run("predict", "m.halfseen", "penguins.csv", "--why", "-o", "classes.csv")
        answered = pd.read_csv(Path(place) / "classes.csv")
        record.number("classes.csv", answered.drop(columns="why", errors="ignore"))
        shell.numbers("score", "m.halfseen", "penguins.csv", "--json")


@case("command line sequences")
def shell_sequences(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        shell.write("steps.csv", machines().drop(columns="truth"))
        how = ("--model", "hmm", "--group", "machine", "--time", "hour", "--prior", "1.0", "--restarts", 2, "-k", 3)
        shell.run("fit", "steps.csv", *how, "-o", "m.halfseen")
        shell.run("predict", "m.halfseen", "steps.csv", "--path", "-o", "states.csv", files=["states.csv"])
        shell.run("impute", "m.halfseen", "steps.csv", "-o", "filled.csv", files=["filled.csv"])
        shell.run("forecast", "m.halfseen", "steps.csv", "--steps", 3, "-o", "next.csv", files=["next.csv"])
        shell.numbers("score", "m.halfseen", "steps.csv", "--json")


@case("command line network", "asia/asia_holes.csv")
def shell_network(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        shell.write("asia.csv", asia(800))
        shell.run("fit", "asia.csv", "--model", ASIA, "--restarts", 2, "-o", "m.halfseen")
        shell.numbers("query", "m.halfseen", "L", "--given", "S=yes", "--given", "X=no", "--json")
        shell.run("impute", "m.halfseen", "asia.csv", "-o", "filled.csv", files=["filled.csv"])
        shell.numbers("score", "m.halfseen", "asia.csv", "--json")


@case("command line words")
def shell_words(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        for side, name in enumerate(("a.de", "a.en")):
            (Path(place) / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
        shell.run("fit", "a.de", "a.en", "--model", "words", "-o", "m.halfseen")
        shell.run("align", "m.halfseen", "a.de", "a.en", "-o", "links.txt", files=["links.txt"])
        shell.run("align", "m.halfseen", "a.de", "a.en", "--probs", "-o", "probs.txt", files=["probs.txt"])
        shell.numbers("score", "m.halfseen", "a.de", "a.en", "--json")


@case("command line grammar")
def shell_grammar(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        (Path(place) / "rules.cfg").write_text(RULES, encoding="utf-8")
        (Path(place) / "said.txt").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
        shell.run("fit", "said.txt", "--model", "rules.cfg", "--restarts", 2, "-o", "m.halfseen")
        shell.run("parse", "m.halfseen", "said.txt", "-o", "trees.txt", files=["trees.txt"])


@case("command line gaussian and k-means")
def shell_numbers(record: Record) -> None:
    with tempfile.TemporaryDirectory() as place:
        shell = Shell(record, place)
        shell.write("sizes.csv", measured())
        for model in ("gaussian", "kmeans"):
            shell.run("fit", "sizes.csv", "--model", model, "-k", 3, "--restarts", 4, "-o", f"{model}.halfseen")
            out = f"{model}.csv"
            shell.run("predict", f"{model}.halfseen", "sizes.csv", "-o", out, files=[out])


if __name__ == "__main__":
    main()
