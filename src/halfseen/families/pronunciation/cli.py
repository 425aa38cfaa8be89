"""Pronunciation on the command line: dictionaries are read, and written for words that are not in them.

A dictionary has a word and its phones in each line, as `halfseen.data.pronunciations` reads it. Words to pronounce
are separated by blanks or lines.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halfseen.app import console, status_line
from halfseen.app.code import call
from halfseen.app.dispatch import Fitted
from halfseen.app.fits import estimate_of, of_end
from halfseen.data.encodings import read_text
from halfseen.data.pronunciations import read_dictionary
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.convergence import ended
from halfseen.estimators.outcome import likelihood
from halfseen.families.pronunciation.estimator import G2P
from halfseen.families.pronunciation.methods import Pronunciation
from halfseen.whole_file import whole_file

TABLE = ".csv"
GIVEN = {"ngram": "order", "max_letters": "max_letters", "max_phones": "max_phones"}


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit to a dictionary."""
    paths = request["data"] or []
    if len(paths) != 1:
        raise ParameterError(f"--model g2p needs one dictionary, a word and its phones in each line, not {len(paths)}.")
    model = G2P(
        **{name: request[option] for option, name in GIVEN.items() if request[option] is not None},
        lowercase=not request["keep_case"],
        stress=not request["no_stress"],
        assign=request["assign"],
        max_iter=request["max_iter"],
        n_jobs=request["jobs"],
    )
    dictionary = _dictionary(paths[0])
    model.fit(dictionary)
    return Fitted(model, dictionary, {"data": paths[0]})


def _dictionary(path: str) -> dict[str, list[list[str]]]:
    if path == "-":
        raise ParameterError("a dictionary is read from a file, not from standard input.")
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file.")
    return read_dictionary(path)


# ---- use -------------------------------------------------------------------------------------------------------------


def pronounce(model: G2P, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the pronunciations of words: a dictionary, or a table where the file is CSV."""
    if request["text"] is not None and request["data"] != "-":
        raise ParameterError(f"give words by --text or in a file, not both: {request['data']}.")
    text = request["text"]
    if text is None:
        text = sys.stdin.read() if request["data"] == "-" else read_text(request["data"])
    words = list(dict.fromkeys(text.split()))
    if not words:
        raise DataError(f"{'--text' if request['text'] is not None else request['data']}: there are no words.")
    _read_options(model, request)
    status_line.say(f"pronouncing {len(words):,} words")
    found = model.pronounce_proba(words, n_best=request["n_best"])
    output, probs = request["output"], request["probs"]
    text = _table(found) if output.lower().endswith(TABLE) else _lines(found, probs)
    if output == "-":
        console.clear_for(output)
        sys.stdout.write(text)
        return
    if not Path(output).parent.is_dir():
        raise ParameterError(f"-o: there is no directory {Path(output).parent}.")
    with whole_file(output) as file:
        file.write(text.encode())


def _read_options(model: G2P, request: Mapping[str, Any]) -> None:
    """Take over options of a use."""
    if request.get("jobs") is not None:
        model.set_params(n_jobs=request["jobs"])
    if request["unknown_letters"] is not None:
        model.set_params(on_unknown=request["unknown_letters"])
        model._check_options()


def _lines(found: Mapping[str, list[Pronunciation]], probs: bool) -> str:
    """Return a dictionary: word, with `probs` the probability, and phones."""
    return "".join(
        f"{word}\t{f'{one.probability:.4f}' + chr(9) if probs else ''}{' '.join(one.phones)}\n"
        for word, own in found.items()
        for one in own
    )


def _table(found: Mapping[str, list[Pronunciation]]) -> str:
    """Return the pronunciations as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["word", "phones", "probability"])
    for word, own in found.items():
        writer.writerows([word, " ".join(one.phones), repr(round(one.probability, 6))] for one in own)
    return text.getvalue()


def score(model: G2P, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the model describes and predicts the pronunciations of a dictionary."""
    _read_options(model, request)
    dictionary = _dictionary(request["data"])
    logs = model.score_samples(dictionary)
    total = float(logs.sum())
    errors = model.error_rates(dictionary)
    n_fitted = model._n_fitted(dictionary)
    return {
        "words": errors.n_words,
        **({} if n_fitted is None else {"words_of_the_fit": n_fitted}),
        "pronunciations": len(logs),
        "loglik": total,
        **estimate_of(model),
        "phone_error_rate": errors.phone_error_rate,
        "word_error_rate": errors.word_error_rate,
    }


def data(model: G2P, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Return the dictionary for a report."""
    return Fitted(model, _dictionary(request["data"]))


# ---- results --------------------------------------------------------------------------------------------------------


def outcome(model: G2P) -> str:
    """Return the outcome of the fit in one sentence."""
    return f"{likelihood(model)}; {ended(model.stop_reason_, model.n_iter_)}"


def summary(model: G2P) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "G2P",
        "order": model._order,
        "words": model._n_words,
        "pronunciations": model._n_pairs,
        "letters": list(model.letters_),
        "phones": list(model.phones_),
        "units": len(model.units_),
        "loglik": model.loglik_,
        "estimate": model._estimate,
        "stages": model.stages_,
        **of_end(model),
    }


def code(model: G2P) -> str:
    """Return the Python that reads the same file and fits the same model."""
    reading = model._origin.reading
    if reading is None:
        first, fitted = ["dictionary = ...  # {word: [[phones], ...]}"], "dictionary"
    else:
        first, fitted = [], repr(reading["data"])
    return "\n".join([*first, f"model = hs.{call(model)}.fit({fitted})", "print(model.describe())"])


def code_of_data(model: G2P) -> str:
    """Return the path of the dictionary, as a report takes it."""
    return repr((model._origin.reading or {}).get("data", "words.dict"))
