"""What can be done with a fitted model of each class: done after every fit, and with what damaged files give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from halfseen.errors import FitError
from tests.faults.campaign import Failed


def _of_a_table(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    yield "predict_proba", model.predict_proba(X)
    yield "predict", model.predict(X)
    yield "score_samples", model.score_samples(X)
    yield "impute", model.impute(X)
    yield "sample", model.sample(3, random_state=0)
    yield "n_parameters_", model.n_parameters_


def _of_a_mixture(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    yield from _of_a_table(model, X)
    if len(getattr(model, "classes_", model.class_names_)) > 1:
        yield "why", model.why(X[:1])


def _of_a_classifier(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    if getattr(model, "text", None) != "complement":
        yield from _of_a_mixture(model, X)
    yield "predict_log_proba", model.predict_log_proba(X)


def _of_clusters(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    yield "predict", model.predict(X)
    yield "transform", model.transform(X)
    yield "impute", model.impute(X)


def _of_states(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    yield "predict_proba", model.predict_proba(X)
    yield "decode", model.decode(X)
    yield "filter", model.filter(X)
    yield "score_samples", model.score_samples(X)
    yield "impute", model.impute(X)
    yield "sample", model.sample(4, random_state=0)
    yield "forecast", model.forecast(X, 2)
    yield "dwell_", model.dwell_
    yield "stationary_", model.stationary_


def _of_a_network(model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    for name in model.nodes_:
        yield "query", model.query(name)
        yield "table", model.table(name)
    yield "score_samples", model.score_samples(X)
    yield "mpe", model.mpe(X)
    yield "impute", model.impute(X)
    yield "sample", model.sample(3, random_state=0)


def _of_a_grammar(model: Any, sentences: Any) -> Iterator[tuple[str, Any]]:
    yield "parse", model.parse(sentences)
    yield "score_samples", model.score_samples(sentences)
    yield "n_parses", model.n_parses(sentences)
    yield "to_string", model.to_string()
    try:
        yield "sample", model.sample(2, max_length=50, random_state=0)
    except FitError as error:
        if "may have no end" not in str(error):
            raise


def _of_words(model: Any, pairs: Any) -> Iterator[tuple[str, Any]]:
    yield "align", model.align(pairs)
    yield "align_proba", model.align_proba(pairs)
    yield "score_samples", model.score_samples(pairs)
    known = model.target_words_ if model.direction == "reverse" else model.source_words_
    yield "translations", model.translations(known[0] if known else None, reverse=model.direction == "reverse")


def _of_transcripts(model: Any, features: Any, transcripts: Any) -> Iterator[tuple[str, Any]]:
    yield "align", model.align(features, transcripts)
    yield "score_samples", model.score_samples(features, transcripts)
    yield "dwell_", model.dwell_


def _of_pronunciation(model: Any, said: Any) -> Iterator[tuple[str, Any]]:
    yield "pronounce_proba", [[one.probability for one in own] for own in model.pronounce_proba(list(said), 2).values()]
    yield "score_samples", model.score_samples(said)
    yield "segment", model.segment(said)
    yield "error_rates", model.error_rates(said)


USES = {
    "LatentClass": _of_a_mixture,
    "GaussianMixture": _of_a_mixture,
    "NaiveBayes": _of_a_classifier,
    "GaussianClassifier": _of_a_classifier,
    "KMeans": _of_clusters,
    "HMM": _of_states,
    "BayesNet": _of_a_network,
    "PCFG": _of_a_grammar,
    "WordAligner": _of_words,
    "TranscriptAligner": _of_transcripts,
    "G2P": _of_pronunciation,
}
MAY_HAVE_NAN = ("impute", "mpe", "sample", "transform")  # a column never observed stays missing


def use(model: Any, *data: Any, named_nan: bool = False) -> None:
    """Call every method of use, and `describe`, `to_frame` and `repr`; what they give has no NaN.

    `named_nan`: a class or category may be called so, and be described by its name.
    """
    for name, given in USES[type(model).__name__](model, *data):
        if name not in MAY_HAVE_NAN and has_nan(given):
            raise Failed(f"NaN in {name}: {given!r:.300}")
    repr(model)
    model._repr_html_()
    if "nan" in model.describe().split() and not named_nan:
        raise Failed(f"NaN in describe: {model.describe():.300}")
    model.to_frame(**({"reverse": True} if getattr(model, "direction", "") == "reverse" else {}))


def has_nan(value: Any) -> bool:
    """Whether there is a NaN in numbers, arrays, and lists or mappings of them."""
    if isinstance(value, float):
        return value != value
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    return isinstance(value, list | tuple) and any(map(has_nan, value))
