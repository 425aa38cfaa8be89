"""Parsing of options: from text to the parameters of estimators."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from typing import Any

from halfseen.errors import ParameterError

MOST_SIZES = 10_000  # numbers of classes to try


def of_every_fit(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of every fit by EM under the names of the parameters of estimators."""
    return {
        "assign": request["assign"],
        "n_init": restarts(request["restarts"]),
        "max_iter": request["max_iter"],
        "n_jobs": request["jobs"],
        "random_state": request["seed"],
    }


def of_numbers(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of columns of numbers, those that are given, under the names of parameters."""
    floor = request["variance_floor"]
    return {} if floor is None else {"variance_floor": _number(floor)}


def names(text: str | None) -> list[str]:
    """Read a list of names; a name with a comma is quoted, as in CSV.

    Examples
    --------
    >>> names('id, "last, first"')
    ['id', 'last, first']
    """
    if not text:
        return []
    try:
        [row] = csv.reader([text], skipinitialspace=True)
    except (csv.Error, ValueError) as error:
        raise ParameterError(f"{text!r:.80} is not a list of names with commas between ({error}).") from None
    return [name.strip() for name in row if name.strip()]


def kinds(text: str | None) -> dict[str | int, str]:
    """Read kinds of columns.

    Examples
    --------
    >>> kinds("age=gaussian, heads=binomial(10)")
    {'age': 'gaussian', 'heads': 'binomial(10)'}
    >>> kinds("income=rounded(0, 500, 1000), age=gaussian")
    {'income': 'rounded(0, 500, 1000)', 'age': 'gaussian'}
    """
    found: dict[str | int, str] = {}
    parts: list[str] = []
    for part in names(text):  # a comma within brackets belongs to the kind
        last = parts[-1].rpartition("=")[2] if parts else ""
        if last.count("(") > last.count(")"):
            parts[-1] += f", {part}"
        else:
            parts.append(part)
    for part in parts:
        name, equals, kind = part.rpartition("=")
        if not equals:
            raise ParameterError(f"--columns {part!r} is not of the form column=kind, for example age=gaussian.")
        found[name.strip()] = kind.strip()
    return found


def words(text: str | None) -> dict[str, Any] | None:
    """Read how text is tokenized: options of scikit-learn's CountVectorizer.

    Examples
    --------
    >>> words("stop_words=english, min_df=2, ngram_range=1-2, lowercase=false, max_df=0.5")
    {'stop_words': 'english', 'min_df': 2, 'ngram_range': (1, 2), 'lowercase': False, 'max_df': 0.5}
    """
    found: dict[str, Any] = {}
    for part in names(text):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ParameterError(f"--words {part!r} is not of the form option=value, for example min_df=2.")
        if name == "ngram_range":
            low, _, high = value.partition("-")
            found[name] = (_number(low), _number(high or low))
        elif value in ("true", "false"):
            found[name] = value == "true"
        else:
            found[name] = _number(value)
    return found or None


def length(text: str | None) -> float | str | None:
    """Read the number of words to which every text is scaled, or the weight of a row without a label.

    Examples
    --------
    >>> length("100"), length("mean"), length(None)
    (100, 'mean', None)
    """
    return None if text is None else _number(text)


def _number(text: str) -> Any:
    """Return a number if the text is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def sizes(text: str, option: str = "--classes") -> int | list[int] | str:
    """Read numbers of classes.

    Examples
    --------
    >>> sizes("3"), sizes("2..5"), sizes("2,4"), sizes("auto")
    (3, [2, 3, 4, 5], [2, 4], 'auto')
    """
    if text == "auto":
        return text
    try:
        if ".." in text:
            low, high = (int(part) for part in text.split(".."))
            found = list(range(low, min(high, low + MOST_SIZES) + 1))
        else:
            found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) > MOST_SIZES:
        raise ParameterError(f"{option} {text!r:.40}: at most {MOST_SIZES:,} numbers of classes can be tried.")
    if not found or min(found) < 1:
        raise ParameterError(f"{option} {text!r:.40} is not a number of classes. Use 3, a range such as 2..8, or auto.")
    return found[0] if len(found) == 1 else found


def restarts(text: str) -> int | str:
    """Read a number of starts.

    Examples
    --------
    >>> restarts("auto"), restarts("20")
    ('auto', 20)
    """
    if text == "auto" or (text.isdecimal() and int(text) > 0):
        return text if text == "auto" else int(text)
    raise ParameterError(f"--restarts {text!r} is not auto, nor a number of at least 1.")


def prior(text: str | None, default: Any, words: Collection[str] = ("row",)) -> Any:
    """Read a prior.

    Examples
    --------
    >>> prior("none", "row"), prior("0.5", "row"), prior(None, "row"), prior("bdeu", "row", ("row", "bdeu"))
    (None, 0.5, 'row', 'bdeu')
    """
    if text is None:
        return default
    if text == "none" or text in words:
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--prior {text!r} is not a number, {', '.join(words)} or none.") from None


def of_errors(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how standard errors are computed: those of a bootstrap are the same in every run, by all cores."""
    return {"n_jobs": -1, "random_state": 0} if request["error_kind"] == "bootstrap" else {}
