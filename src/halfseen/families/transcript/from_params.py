"""Aligners without a fit: built from parameters, and fitted ones with the words of another dictionary."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import Schema, read
from halfseen.errors import ParameterError
from halfseen.estimators.state import Origin
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.column_kinds import named_kinds
from halfseen.families.transcript.certainty import Certainty
from halfseen.families.transcript.lexicon import Lexicon, read_pronunciations
from halfseen.families.transcript.sharing import Sharing
from halfseen.families.transcript.surprise import Typical
from halfseen.leaves import Cells
from halfseen.leaves.leaf import Floats, frozen

if TYPE_CHECKING:
    from halfseen.families.transcript.methods import AlignerMethods

PAUSES = np.array([[0.5, 0.5], [0.9, 0.1]])  # no, yes: at the ends, between words


class Given(NamedTuple):
    """Densities as `TranscriptAligner.from_params` takes them."""

    means: ArrayLike
    covars: ArrayLike
    weights: ArrayLike | None = None
    codebooks: ArrayLike | None = None
    streams: Sequence[int] | None = None


class Emissions(NamedTuple):
    """Densities, checked.

    Attributes
    ----------
    n_states, n_mix : int         states of a unit; components of a state, 1 if states share them
    mean, var : (K, D) arrays
    mix : array or None           rows of weights; None if states have one density each
    sharing : Sharing or None
    """

    n_states: int
    n_mix: int
    mean: Floats
    var: Floats
    mix: Floats | None
    sharing: Sharing | None

    def params(self, blank: Any) -> Any:
        """Return the parameters of the leaf whose blank ones these are."""
        if self.sharing is not None:
            [(block, inside)] = blank.items()
            emit = inside["emit"]._replace(mean=frozen(self.mean), var=frozen(self.var))
            return {block: {"mix": frozen(self.mix), "emit": emit}}
        inside = blank if self.mix is None else blank["emit"]
        emit = {**inside, "gaussian": inside["gaussian"]._replace(mean=frozen(self.mean), var=frozen(self.var))}
        return emit if self.mix is None else {"mix": frozen(self.mix), "emit": emit}


def built(cls: type[Any], units: Sequence[str], given: Given, leave: ArrayLike | None, how: Mapping[str, Any]) -> Any:
    """Return an aligner with these parameters; see `TranscriptAligner.from_params`."""
    found = _own(units, given) if given.codebooks is None else _shared(units, given)
    model = cls(found.n_states, found.n_mix, **how)
    model._check_options()
    _check_units(units, model.silence)
    model._lexicon = Lexicon(
        tuple(units), found.n_states, model.silence, read_pronunciations(model.dictionary), model.unknown
    )
    if strange := model._lexicon.unknown_words(model._lexicon.pronunciations):
        raise ParameterError(f"dictionary: {strange[0]!r} has a unit that is not one of units=.")
    source = read(np.stack([found.mean.min(axis=0) - 1.0, found.mean.max(axis=0) + 1.0]))
    model._template, model._marks, model.n_features_in_ = source.template(), (None, None), found.mean.shape[1]
    model._schema = Schema.learn(source, named_kinds(None, "gaussian", source.names))
    model._summary = emission_builder.unit_summary(model._schema)
    model._n_mix, model._sharing, model._front_end = found.n_mix, found.sharing, None
    model.units_ = model._lexicon.units
    model._model = model._build(model._summary, None, found.n_mix)
    emit = found.params(model._model.blank()["emit"])
    stays = np.full((len(units), found.n_states), 0.3) if leave is None else np.asarray(leave, dtype=np.float64)
    if stays.shape != (len(units), found.n_states) or not ((stays > 0) & (stays <= 1)).all():
        raise ParameterError(
            f"leave: {stays.shape} probabilities above 0, at most 1, expected {(len(units), found.n_states)}."
        )
    model._params = {"moves": frozen(_moves(model._lexicon, stays)), "emit": emit}
    model._certainty = Certainty(
        1.0 if model.acoustic_scale == "auto" else float(model.acoustic_scale),
        0.0 if model.boundary_sd == "auto" else float(model.boundary_sd) / float(model.step),
    )
    model._typical, model._typical_words, model._origin, model.events_ = Typical(), Typical(), Origin(), []
    model._frames = (1 / stays).ravel()
    return model


def _own(units: Sequence[str], given: Given) -> Emissions:
    """Return densities that each state has for itself."""
    if given.streams is not None:
        raise ParameterError("streams= cut the columns of codebooks=; give these too.")
    mean, var = _tables(given.means, given.covars, ("units", "states", "components", "features"), len(units))
    n_states, n_mix = mean.shape[1:3]
    columns = mean.reshape(-1, mean.shape[-1])
    mix = None if n_mix == 1 else _shares(given.weights, (len(units) * n_states, n_mix))
    return Emissions(n_states, n_mix, columns, var.reshape(columns.shape), mix, None)


def _shared(units: Sequence[str], given: Given) -> Emissions:
    """Return densities that states share."""
    books = np.asarray(given.codebooks)
    if books.ndim != 2 or len(books) != len(units) or not books.size or books.dtype.kind not in "iu":
        raise ParameterError(f"codebooks: shape {books.shape}, expected a whole number for each unit and state.")
    mean, var = _tables(given.means, given.covars, ("codebooks", "components", "features"), int(books.max()) + 1)
    _, width, n_columns = mean.shape
    streams = (n_columns,) if given.streams is None else tuple(int(n) for n in given.streams)
    sharing = Sharing(tuple(books.ravel().tolist()), streams, width)
    sharing.check(books.size, n_columns)
    columns = mean.reshape(-1, n_columns)
    mix = _shares(given.weights, (books.size * len(streams), width))
    return Emissions(books.shape[1], 1, columns, var.reshape(columns.shape), mix, sharing)


def with_dictionary(model: AlignerMethods, dictionary: Any, unknown: str | None) -> Any:
    """Return a copy of a fitted aligner for other words; see `TranscriptAligner.with_dictionary`."""
    lexicon, ways = model._lexicon, read_pronunciations(dictionary)
    if model.dictionary is None:
        raise ParameterError("the units of this model are the words themselves: a dictionary has no use for them.")
    known = {word: tuple(way for way in listed if set(way) <= set(lexicon.units)) for word, listed in ways.items()}
    known = {word: listed for word, listed in known.items() if listed}
    if not known:
        missing = sorted({unit for listed in ways.values() for way in listed for unit in way} - set(lexicon.units))
        raise ParameterError(
            f"dictionary: no word is made of the units of this model. It has units such as {', '.join(missing[:5])}, "
            f"the model {', '.join(lexicon.units[:10])} ..."
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


def _old_shares(model: AlignerMethods, word: str, ways: Sequence[tuple[str, ...]]) -> Floats:
    """Return the shares of a word's pronunciations: those of the model if it has the same, else alike."""
    first = model._lexicon.first_way.get(word)
    if first is not None and model._lexicon.pronunciations[word] == tuple(ways):
        return np.asarray(model._params["moves"][0, first : first + len(ways)])
    return np.full(len(ways), 1 / len(ways))


def _tables(means: ArrayLike, covars: ArrayLike, axes: Sequence[str], n_first: int) -> tuple[Floats, Floats]:
    """Return means and variances with these axes, checked."""
    mean, var = (np.asarray(table, dtype=np.float64) for table in (means, covars))
    if mean.ndim != len(axes) or mean.shape != var.shape or len(mean) != n_first or not mean.size:
        raise ParameterError(
            f"means and covars have shapes {mean.shape} and {var.shape}, expected ({', '.join(axes)}) with {n_first} "
            f"{axes[0]}."
        )
    if not np.isfinite(mean).all() or not (np.isfinite(var) & (var > 0)).all():
        raise ParameterError("means must be finite and covars finite and above 0.")
    return mean, var


def _shares(weights: ArrayLike | None, shape: tuple[int, int]) -> Floats:
    found = np.full(shape, 1 / shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if found.size != shape[0] * shape[1]:
        raise ParameterError(f"weights: shape {found.shape}, expected {shape[0]} rows of {shape[1]} shares.")
    found = found.reshape(shape)
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
