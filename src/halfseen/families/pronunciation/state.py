"""A fitted `G2P` as plain values and arrays, and back: what is in its model file.

The n-grams are not in it, but what they are counted from: the dictionary in units, a word after the other. That is a
tenth of their size. With order 1 it is the probabilities of the units and their expected counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halfseen.errors import ParameterError
from halfseen.estimators import options, state
from halfseen.estimators.state import ORIGIN, State, is_texts
from halfseen.families.pronunciation.model import UnitModel
from halfseen.families.pronunciation.units import MOST, Inventory
from halfseen.leaves.leaf import Floats, frozen
from halfseen.structures.joint_units import END

if TYPE_CHECKING:
    from halfseen.families.pronunciation.estimator import G2P

Estimator = TypeVar("Estimator", bound="G2P")

RECORD = {"options", "letters", "phones", "model", "n_words", "n_pairs", "stages", "training"} | ORIGIN
OWN = ("loglik_", "objective_", "trace_", "n_iter_", "converged_", "stop_reason_", "events_")
MODEL = ("order", "max_letters", "max_phones", "inserted", "lowercase", "stress")


def taken(model: G2P) -> State:
    """Return the state of a model."""
    inventory = model._inventory
    record = {
        "options": dict(model.get_params(deep=False)),
        "letters": list(inventory.letters),
        "phones": list(inventory.phones),
        "model": {
            "order": model._order,
            "max_letters": inventory.max_letters,
            "max_phones": inventory.max_phones,
            "inserted": model._inserted,
            "lowercase": model._lowercase,
            "stress": model._stress,
        },
        "n_words": model._n_words,
        "n_pairs": model._n_pairs,
        "stages": model.stages_,
        "training": {name: vars(model)[name] for name in OWN},
        **model._origin.record(),
    }
    tensors = {"summary/units": inventory.codes.astype(np.float64)}
    if model._order == 1:
        tensors |= {"params/units": model._params["units"], "stats/units": model._counts[None]}
    else:
        tensors["summary/segments"] = model._segments.astype(np.float64)
    return State(record, tensors)


def restored(cls: type[Estimator], found: State) -> Estimator:
    """Return the model whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = found
    model: Estimator = state.created(cls, record, RECORD)
    inside = options.mapping("model", record["model"])
    if set(inside) != set(MODEL):
        raise ParameterError(f"model: expected {', '.join(MODEL)}.")
    for name in MODEL[:3]:
        options.whole(name, inside[name])
    model._order, model._inserted = inside["order"], options.whole("inserted", inside["inserted"])
    model._lowercase, model._stress = (options.flag(name, inside[name]) for name in ("lowercase", "stress"))
    names = ("params/units", "stats/units") if model._order == 1 else ("summary/segments",)
    for name in sorted(set(tensors) ^ {"summary/units", *names}):
        raise ParameterError(f"array {name!r} is {'missing' if name not in tensors else 'not expected'}.")
    model._inventory = _inventory(record, inside, tensors["summary/units"])
    model._n_words, model._n_pairs = (options.whole(name, record[name]) for name in ("n_words", "n_pairs"))
    if model._order == 1:
        _take_params(model, tensors)
    else:
        model._take_segments(_segments(tensors["summary/segments"], model._inventory.n_units))
    state.restore_stages(model, record, OWN)
    return model


def _inventory(record: Mapping[str, Any], inside: Mapping[str, Any], codes: Floats) -> Inventory:
    """Return the units, once letters, phones and codes are known to be such."""
    letters, phones = (_texts(name, record[name]) for name in ("letters", "phones"))
    if any(len(letter) != 1 for letter in letters):
        raise ParameterError("letters: one has more than a character.")
    whole = _whole("summary/units", codes, MOST)
    found = Inventory(letters, phones, inside["max_letters"], inside["max_phones"], whole)
    flaw = "units: there are too many." if found.n_codes >= MOST else found.flaw()
    if flaw is not None:
        raise ParameterError(flaw)
    return found


def _texts(name: str, texts: Any) -> tuple[str, ...]:
    if not is_texts(texts) or not texts or any(one >= two for one, two in pairwise(texts)):
        raise ParameterError(f"{name}: expected texts, sorted and each once.")
    return tuple(texts)


def _whole(name: str, array: Floats, below: int) -> Any:
    """Return whole numbers from 0 on."""
    if array.ndim != 1 or not np.isfinite(array).all() or np.any(array != np.floor(array)):
        raise ParameterError(f"array {name!r} is not a row of whole numbers.")
    if len(array) and (array.min() < 0 or array.max() >= below):
        raise ParameterError(f"array {name!r} has numbers outside of 0 .. {below - 1}.")
    return array.astype(np.int64)


def _segments(array: Floats, n_units: int) -> Any:
    """Return the dictionary in units: words that end, none of them empty."""
    found = _whole("summary/segments", array, n_units)
    if not len(found) or found[-1] != END or np.any((found == END) & (np.append(END, found[:-1]) == END)):
        raise ParameterError("array 'summary/segments' does not consist of words, each with its end.")
    return found.astype(np.int32)


def _take_params(model: G2P, tensors: Mapping[str, Floats]) -> None:
    """Give a model of order 1 its parameters."""
    n_units = model._inventory.n_units
    for name in ("params/units", "stats/units"):
        if tensors[name].shape != (1, n_units) or not np.isfinite(tensors[name]).all():
            raise ParameterError(f"array {name!r} is not a row of {n_units} finite numbers.")
    state.check_counts(tensors["stats/units"])
    model._model, model._params = UnitModel.of(n_units), {"units": frozen(tensors["params/units"])}
    flaw = model._model.flaw(model._params)
    if flaw is not None:
        raise ParameterError(flaw)
    model._counts = tensors["stats/units"][0]
