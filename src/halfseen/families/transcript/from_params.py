"""Aligners without a fit: built from parameters, and fitted ones with the words of another dictionary."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import Schema, read
from halfseen.errors import ParameterError
from halfseen.estimators.state import Origin
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.column_kinds import named_kinds
from halfseen.families.transcript.aligner import Typical
from halfseen.families.transcript.certainty import Certainty
from halfseen.families.transcript.lexicon import Lexicon, read_pronunciations
from halfseen.leaves import Cells
from halfseen.leaves.leaf import Floats, frozen

if TYPE_CHECKING:
    from halfseen.families.transcript.estimator import TranscriptAligner

PAUSES = np.array([[0.5, 0.5], [0.9, 0.1]])  # no, yes: at the ends, between words


def built(
    cls: type[Any],
    units: Sequence[str],
    means: ArrayLike,
    covars: ArrayLike,
    weights: ArrayLike | None,
    leave: ArrayLike | None,
    how: Mapping[str, Any],
) -> Any:
    """Return an aligner with these parameters; see `TranscriptAligner.from_params`."""
    mean, var = _tables(means, covars, len(units))
    n_states, n_mix = mean.shape[1:3]
    model = cls(n_states, n_mix, **how)
    model._check_options()
    _check_units(units, model.silence)
    model._lexicon = Lexicon(
        tuple(units), n_states, model.silence, read_pronunciations(model.dictionary), model.unknown
    )
    if strange := model._lexicon.unknown_words(model._lexicon.pronunciations):
        raise ParameterError(f"dictionary: {strange[0]!r} has a unit that is not one of units=.")
    columns = mean.reshape(-1, mean.shape[-1])
    source = read(np.stack([columns.min(axis=0) - 1.0, columns.max(axis=0) + 1.0]))
    model._template, model._marks, model.n_features_in_ = source.template(), (None, None), columns.shape[1]
    model._schema = Schema.learn(source, named_kinds(None, "gaussian", source.names))
    model._summary = emission_builder.unit_summary(model._schema)
    model._n_mix, model.units_ = n_mix, model._lexicon.units
    model._model = model._build(model._summary, None, n_mix)
    blank = model._model.blank()["emit"]
    inside = blank if n_mix == 1 else blank["emit"]
    numbers = inside["gaussian"]._replace(mean=frozen(columns), var=frozen(var.reshape(columns.shape)))
    emit: Any = {**inside, "gaussian": numbers}
    if n_mix > 1:
        emit = {"mix": frozen(_shares(weights, (len(units) * n_states, n_mix))), "emit": emit}
    stays = np.full((len(units), n_states), 0.3) if leave is None else np.asarray(leave, dtype=np.float64)
    if stays.shape != (len(units), n_states) or not ((stays > 0) & (stays <= 1)).all():
        raise ParameterError(f"leave: {stays.shape} probabilities above 0, at most 1, expected {mean.shape[:2]}.")
    model._params = {"moves": frozen(_moves(model._lexicon, stays)), "emit": emit}
    model._certainty = Certainty(
        1.0 if model.acoustic_scale == "auto" else float(model.acoustic_scale),
        0.0 if model.boundary_sd == "auto" else float(model.boundary_sd) / float(model.step),
    )
    model._typical, model._origin, model.events_ = Typical(0.0, 0.0), Origin(), []
    model._frames = (1 / stays).ravel()
    return model


def with_dictionary(model: TranscriptAligner, dictionary: Any, unknown: str | None) -> Any:
    """Return a copy of a fitted aligner for other words; see `TranscriptAligner.with_dictionary`."""
    lexicon, ways = model._lexicon, read_pronunciations(dictionary)
    if not lexicon.pronunciations:
        raise ParameterError("the units of this model are the words themselves: a dictionary has no use for them.")
    known = {word: tuple(way for way in listed if set(way) <= set(lexicon.units)) for word, listed in ways.items()}
    known = {word: listed for word, listed in known.items() if listed}
    if not known:
        missing = sorted({unit for listed in ways.values() for way in listed for unit in way} - set(lexicon.units))
        raise ParameterError(
            f"dictionary: no word is made of the units of this model. It has units such as {', '.join(missing[:5])}, the "
            f"model {', '.join(lexicon.units[:10])} ..."
        )
    found = copy.copy(model)
    found.dictionary = {word: [list(way) for way in listed] for word, listed in known.items()}
    found.unknown = model.unknown if unknown is None else unknown
    found._lexicon = replace(lexicon, pronunciations=known, unknown=found.unknown)
    n_kept = sum(lexicon.cardinalities[: len(lexicon.cardinalities) - len(lexicon.various)])
    shares = [_old_shares(model, word, known[word]) for word in found._lexicon.various]
    moves = np.concatenate([model._params["moves"][0, :n_kept], *shares])[None]
    leaf = Cells(1, list(found._lexicon.cardinalities))
    found._model = replace(model._model, leaves={**model._model.leaves, "moves": leaf})
    found._params = {**model._params, "moves": frozen(moves)}
    return found


def _old_shares(model: TranscriptAligner, word: str, ways: Sequence[tuple[str, ...]]) -> Floats:
    """Return the shares of a word's pronunciations: those of the model if it has the same, else alike."""
    first = model._lexicon.first_way.get(word)
    if first is not None and model._lexicon.pronunciations[word] == tuple(ways):
        return np.asarray(model._params["moves"][0, first : first + len(ways)])
    return np.full(len(ways), 1 / len(ways))


def _tables(means: ArrayLike, covars: ArrayLike, n_units: int) -> tuple[Floats, Floats]:
    """Return means and variances as (U, S, M, D), checked."""
    mean, var = (np.asarray(table, dtype=np.float64) for table in (means, covars))
    if mean.ndim != 4 or mean.shape != var.shape or len(mean) != n_units or not mean.size:
        raise ParameterError(
            f"means and covars have shapes {mean.shape} and {var.shape}, expected (units, states, components, "
            f"features) with {n_units} units."
        )
    if not np.isfinite(mean).all() or not (np.isfinite(var) & (var > 0)).all():
        raise ParameterError("means must be finite and covars finite and above 0.")
    return mean, var


def _shares(weights: ArrayLike | None, shape: tuple[int, int]) -> Floats:
    found = np.full(shape, 1 / shape[1]) if weights is None else np.asarray(weights, dtype=np.float64).reshape(shape)
    if not (found >= 0).all() or not np.allclose(found.sum(axis=1), 1.0, atol=1e-6):
        raise ParameterError("weights: the components of each state have shares of 0 or more that sum to one.")
    return found / found.sum(axis=1, keepdims=True)


def _check_units(units: Sequence[str], silence: str | None) -> None:
    if len(set(units)) != len(units) or not all(isinstance(unit, str) and unit.split() == [unit] for unit in units):
        raise ParameterError("units: names without blanks, each once.")
    if silence is not None and silence not in units:
        raise ParameterError(f"silence={silence!r} is not one of units=.")


def _moves(lexicon: Lexicon, leave: Floats) -> Floats:
    """Return the probabilities of all moves, (1, S)."""
    stays = np.stack([1 - leave.ravel(), leave.ravel()], axis=1).ravel()
    pauses = PAUSES.ravel() if lexicon.silence is not None else np.zeros(0)
    ways = [
        np.full(len(lexicon.pronunciations[word]), 1 / len(lexicon.pronunciations[word])) for word in lexicon.various
    ]
    return np.concatenate([stays, pauses, *ways])[None]
