"""A fitted `WordAligner` as plain values and arrays, and back: what is in its model file."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.state import ORIGIN, State, created, is_texts, options_of, restore_stages
from halfseen.families.words.corpus import Rows, place_of
from halfseen.families.words.methods import KINDS, Direction
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.translations import Translations

if TYPE_CHECKING:
    from halfseen.families.words.estimator import WordAligner

Estimator = TypeVar("Estimator", bound="WordAligner")

RECORD = {"options", "columns", "source_words", "target_words", "n_pairs", "stages", "training"} | ORIGIN
LATER = {"longest"}  # entries that older files do not have
OWN = ("loglik_", "objective_", "trace_", "n_iter_", "converged_", "stop_reason_", "events_")
PARTS = ("firsts", "columns", "table", "place")


def taken(model: WordAligner) -> State:
    """Return the state of a fitted aligner."""
    record = {
        "options": options_of(model) | {"memory": None},
        "columns": [],
        "source_words": list(model.source_words_),
        "target_words": list(model.target_words_),
        "n_pairs": model._n_pairs,
        "stages": model.stages_,
        "longest": model._longest,
        "training": {name: vars(model)[name] for name in OWN},
        **model._origin.record(),
    }
    tensors: dict[str, Floats] = {}
    for name, learned in model._learned.items():
        arrays: tuple[NDArray[Any], ...] = (learned.rows.firsts, learned.rows.columns, learned.table, learned.place)
        tensors |= {f"{name}/{part}": array.astype(np.float64) for part, array in zip(PARTS, arrays, strict=True)}
    return State(record, tensors)


def restored(cls: type[Estimator], state: State) -> Estimator:
    """Return the aligner whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = state
    model: Estimator = created(cls, record, RECORD | (LATER & set(record)))
    model.source_words_, model.target_words_ = (_words(record, side) for side in ("source_words", "target_words"))
    model._n_pairs = options.whole("n_pairs", record["n_pairs"])
    names = model._directions()
    expected = {f"{name}/{part}" for name in names for part in PARTS}
    for name in sorted(set(tensors) ^ expected):
        raise ParameterError(f"array {name!r} is {'missing' if name in expected else 'not expected'}.")
    words = {
        "forward": (model.source_words_, model.target_words_),
        "reverse": (model.target_words_, model.source_words_),
    }
    model._learned = {name: _direction(model, name, tensors, *map(len, words[name])) for name in names}
    longest = options.mapping("longest", record.get("longest")) or {}
    model._longest = {name: options.whole("longest", longest[name]) for name in names if name in longest}
    restore_stages(model, record, OWN)
    return model


def _words(record: Mapping[str, Any], side: str) -> tuple[str, ...]:
    words = record[side]
    if not is_texts(words) or not words or any(one >= two for one, two in itertools.pairwise(words)):
        raise ParameterError(f"{side}: expected texts, sorted and each once.")
    return tuple(words)


def _direction(model: WordAligner, name: str, tensors: Mapping[str, Floats], n_source: int, n_target: int) -> Any:
    """Return what was learned in one direction, once it is known to be such."""
    firsts, columns, table, place = (tensors[f"{name}/{part}"] for part in PARTS)
    for part, array in zip(PARTS, (firsts, columns, table, place), strict=True):
        if array.ndim != 1 or not np.isfinite(array).all() or (part in PARTS[:2] and np.any(array != np.floor(array))):
            raise ParameterError(f"array '{name}/{part}' is not a row of finite numbers, or of whole ones.")
    n_null = n_target if model.null else 0
    if len(firsts) != n_source + 2 or firsts[0] != 0 or firsts[1] != n_null or np.any(np.diff(firsts) < 0):
        raise ParameterError(f"array '{name}/firsts' does not cut the lexicon into {n_source + 1} rows.")
    if len(columns) != firsts[-1] or len(table) != firsts[-1]:
        raise ParameterError(f"array '{name}/table' has {len(table)} cells, expected {int(firsts[-1])}.")
    rows = Rows(firsts.astype(np.int64), columns.astype(np.int32))
    fresh = np.zeros(len(columns), dtype=bool)
    fresh[rows.firsts[:-1][rows.sizes > 0]] = True
    if len(columns) and (columns.min() < 0 or columns.max() >= n_target or np.any(np.diff(columns)[~fresh[1:]] <= 0)):
        raise ParameterError(f"array '{name}/columns' are not target words, ascending in each row.")
    flaw = Translations(rows.firsts, n_target).flaw(table[None])
    if flaw is not None:
        raise ParameterError(f"{name}: {flaw}")
    _check_place(model, KINDS[model.model], name, place)
    return Direction(rows, frozen(table), frozen(place))


def _check_place(model: WordAligner, kind: int, name: str, place: Floats) -> None:
    """Refuse parameters that a place of this kind cannot have."""
    cells = np.zeros((0, 3), dtype=np.int64) if kind == 1 else ()
    leaf = place_of(kind, cells, model.max_jump, model.p_null, model.null)
    size = 0 if leaf is None else len(leaf.blank())
    if len(place) != size:
        raise ParameterError(f"array '{name}/place' has {len(place)} numbers, expected {size}.")
    flaw = None if leaf is None else leaf.flaw(place)
    if flaw is not None:
        raise ParameterError(f"{name}: {flaw}")
