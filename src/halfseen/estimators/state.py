"""A fitted estimator as plain values and arrays, and back: what all families share of what is in a model file.

What models over a table share is in `halfseen.estimators.table.state`; each family has a module `state` of its own.

Vocabulary
----------
State     a record of plain values, and named arrays; no class, no function
Origin    where a fit came from: its data, seed and time
taken     estimator -> State
restored  State -> estimator, checked as untrusted input: every name, type, shape and value
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from halfseen.errors import FitError, ParameterError
from halfseen.estimators import options
from halfseen.leaves import Leaf, Normal
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Bundle
from halfseen.leaves.wrappers import unwrapped
from halfseen.runners.threads import read_jobs

Shape = tuple[int, ...]
Training = dict[str, tuple[str, Callable[[Any], bool]]]

ORIGIN = {"data_fingerprint", "seed", "fitted_at", "command", "reading"}  # entries of every record


class State(NamedTuple):
    """A fitted estimator without its class.

    Attributes
    ----------
    record : dict        plain values: None, bool, int, float, str, list, tuple, range, set, dict and small arrays
    tensors : dict       float64 arrays by name; parts of a name are separated by "/"
    """

    record: dict[str, Any]
    tensors: dict[str, Floats]


class Origin(NamedTuple):
    """Where a fit came from.

    Attributes
    ----------
    fingerprint : str or None    of the data; None without data, or with data in pieces
    seed : int, list or None     what `random_state` led to: passed as `random_state` it gives the same fit again
    fitted_at : str or None      time of the fit in UTC
    command : str or None        what was typed, for a fit at the command line
    reading : dict or None       and how its data was read: file, query, missing markers, columns set aside
    """

    fingerprint: str | None = None
    seed: Any = None
    fitted_at: str | None = None
    command: str | None = None
    reading: dict[str, Any] | None = None

    @classmethod
    def now(cls, print_of_data: str | None, seed: np.random.SeedSequence) -> Origin:
        """Return the origin of a fit that ends now, to data with this fingerprint (None: not taken)."""
        return cls(print_of_data, seed.entropy, _now())

    def in_pieces(self) -> Origin:
        """Return the origin after one more batch, now: the rows are not one table any more."""
        return self._replace(fingerprint=None, fitted_at=_now())

    def record(self) -> dict[str, Any]:
        """Return the origin as entries of a record."""
        own = self._asdict()
        return {"data_fingerprint": own.pop("fingerprint"), **own}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Origin:
        """Return the origin in a record, checked."""
        words = {name: record[name] for name in ("data_fingerprint", "fitted_at", "command")}
        if not all(text is None or isinstance(text, str) for text in words.values()):
            raise ParameterError(f"{', '.join(words)} must be text.")
        reading = record["reading"]
        if reading is not None and not _is_reading(reading):
            raise ParameterError("reading: how the data was read must be names and lists of names.")
        return cls(words["data_fingerprint"], record["seed"], words["fitted_at"], words["command"], reading)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_reading(value: Any) -> bool:
    entries = value.values() if isinstance(value, dict) and all(isinstance(key, str) for key in value) else [0]
    return all(entry is None or isinstance(entry, str) or is_texts(entry) for entry in entries)


# ---- out ---------------------------------------------------------------------------------------------------------


def options_of(model: Any) -> dict[str, Any]:
    """Return the constructor's arguments; a generator, which moves on, is left out."""
    found = dict(model.get_params(deep=False))
    if not isinstance(found["random_state"], int | np.integer):
        found["random_state"] = None
    return found


def training_of(model: Any, training: Training) -> dict[str, Any]:
    """Return what the fit left beside the parameters: whatever of it there is."""
    own = vars(model)
    return {name: own[attribute] for name, (attribute, _) in training.items() if attribute in own}


def named_arrays(name: str, params: Params) -> dict[str, Floats]:
    """Return the arrays in a tree of parameters, each by its place in the tree."""
    if isinstance(params, Mapping):
        inside = dict(params)
    elif isinstance(params, tuple):
        inside = dict(zip(params._fields, params, strict=True))  # type: ignore[attr-defined]
    else:
        return {name: params}
    parts = [named_arrays(f"{name}/{part}", value) for part, value in inside.items()]
    return {key: array for part in parts for key, array in part.items()}


def named_stats(name: str, leaf: Leaf, stats: Floats) -> dict[str, Floats]:
    """Return the statistics of the leaves inside a leaf, each by its place in the tree."""
    if not isinstance(leaf, Bundle):
        return {name: stats}
    parts = [named_stats(f"{name}/{part}", leaf.leaves[part], own) for part, own in leaf.view(stats).items()]
    return {key: array for part in parts for key, array in part.items()}


def check_sound(model: Any) -> None:
    """Refuse the result of a fit that could not be used again: what a model file may not hold."""
    wrong = _unsound(model)
    if wrong is not None:
        raise unusable(wrong)


def unusable(what: str) -> FitError:
    """Return the error for a fit that ends at what is no model."""
    return FitError(
        f"the fit ended at a result that cannot be used: {what.rstrip('.')}. Numbers or weights of extreme size, or "
        "columns that repeat each other, lead there. Rescale or leave out such columns, or raise the variance floor."
    )


def _unsound(model: Any) -> str | None:
    """Return what is wrong with the result of a fit, if anything is."""
    arrays = model._state().tensors
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            return f"{name} has entries that are not finite"
    params = getattr(model, "_params", None)
    flaw = None if params is None else model._model.flaw(params)
    if flaw is not None:
        return flaw
    for name in ("loglik_", "objective_", "inertia_"):
        if not is_number(vars(model).get(name, 0.0)):
            return f"{name.rstrip('_')} is {getattr(model, name)!r}"
    return None


# ---- in ----------------------------------------------------------------------------------------------------------


def created(cls: type[Any], record: Mapping[str, Any], keys: Collection[str]) -> Any:
    """Return an estimator with the options and the origin of a record, all checked."""
    if set(record) != set(keys):
        wrong = sorted(map(str, set(record) ^ set(keys)))
        raise ParameterError(f"its record has too many or too few entries: {', '.join(wrong)}.")
    found = options.mapping("options", record["options"])
    unknown = sorted(set(found) - set(cls._get_param_names()))
    if unknown:
        raise ParameterError(f"{cls.__name__} has no option {unknown[0]!r}.")
    model = cls(**found)
    model._check_options()
    read_jobs(model.n_jobs)
    options.whole("random_state", model.random_state or 0, 0)
    model._origin = Origin.read(record)
    return model


def check_shapes(tensors: Mapping[str, Floats], shapes: Mapping[str, Shape]) -> None:
    """Refuse arrays that are missing, not expected, of another shape, or not finite."""
    for name in sorted(set(tensors) ^ set(shapes)):
        raise ParameterError(f"array {name!r} is {'missing' if name in shapes else 'not expected'}.")
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ParameterError(f"array {name!r} has shape {tensors[name].shape}, expected {shape}.")
        if not np.isfinite(tensors[name]).all():
            raise ParameterError(f"array {name!r} has entries that are not finite.")


def read_params(leaf: Leaf, tensors: Mapping[str, Floats]) -> Params:
    """Return the parameters of a leaf from arrays whose shapes were checked; refuse what is not legal."""
    params = _rebuilt("params", leaf.blank(), tensors)
    check_params(leaf, params)
    return params


def check_params(leaf: Leaf, params: Params) -> None:
    """Refuse parameters that a leaf cannot have."""
    flaw = leaf.flaw(params)
    if flaw is not None:
        raise ParameterError(flaw)


def _rebuilt(name: str, blank: Params, tensors: Mapping[str, Floats]) -> Params:
    """Return a tree of parameters like `blank`, its arrays found by their places."""
    if isinstance(blank, Mapping):
        return {part: _rebuilt(f"{name}/{part}", value, tensors) for part, value in blank.items()}
    if isinstance(blank, tuple):
        named = zip(blank._fields, blank, strict=True)  # type: ignore[attr-defined]
        return type(blank)(*(_rebuilt(f"{name}/{part}", value, tensors) for part, value in named))
    return frozen(tensors[name])


def read_stats(leaf: Leaf, tensors: Mapping[str, Floats]) -> Floats:
    """Return the statistics of a leaf from arrays whose shapes were checked."""
    return np.concatenate(list(_stats("stats", leaf, tensors)))


def _stats(name: str, leaf: Leaf, tensors: Mapping[str, Floats]) -> Iterator[Floats]:
    """Yield the statistics of the leaves inside a leaf, in their order."""
    if isinstance(leaf, Bundle):
        for part, inside in leaf.leaves.items():
            yield from _stats(f"{name}/{part}", inside, tensors)
        return
    check_counts(_mass(unwrapped(leaf), tensors[name]))
    yield tensors[name].ravel()


def _mass(leaf: Leaf, stats: Floats) -> Floats:
    """Return the expected counts among the statistics of a leaf."""
    if isinstance(leaf, Normal):
        return leaf.parts(stats).mass
    return stats if stats.ndim == 2 else stats[0]


def check_counts(counts: Floats) -> None:
    """Refuse expected counts below 0."""
    if counts.min(initial=0.0) < 0:
        raise ParameterError("stats: an expected count is negative.")


def read_marks(found: Any) -> tuple[str | None, str | None]:
    """Return the names of the columns of group and time."""
    if not isinstance(found, list) or [mark is None or isinstance(mark, str) for mark in found] != [True, True]:
        raise ParameterError(f"marks={found!r:.80} are not the names of the columns of group and time.")
    return found[0], found[1]


def read_labels(what: str, names: Any, size: int) -> tuple[str, ...]:
    """Return the names of so many components."""
    if not is_texts(names) or len(names) != size:
        raise ParameterError(f"{what}={names!r:.80} do not name {size} components.")
    return tuple(names)


def restore_training(model: Any, training: Any, known: Training) -> None:
    """Give a model what its fit left beside the parameters."""
    for name, value in options.mapping("training", training).items():
        attribute, possible = known.get(name, (name, None))
        if possible is None or not possible(value):
            raise ParameterError(f"training: {name}={value!r:.80} cannot be.")
        setattr(model, attribute, value)


def restore_stages(model: Any, record: Mapping[str, Any], own: Sequence[str]) -> None:
    """The same for a model trained in stages: all of `own` must be there, and a table of each stage."""
    if set(options.mapping("training", record["training"])) != set(own):
        raise ParameterError(f"training: expected {', '.join(own)}.")
    restore_training(model, record["training"], OF_ALL)
    stages = record["stages"]
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise ParameterError("stages: expected a list of tables.")
    model.stages_ = stages


# ---- what each value left by a fit may be ------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, float | int) and not isinstance(value, bool) and isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_table(value: Any) -> bool:
    if not isinstance(value, dict) or not all(isinstance(column, list) for column in value.values()):
        return False
    return is_texts(list(value)) and len(set(map(len, value.values()))) < 2


def _restarts(value: Any) -> bool:
    if not isinstance(value, dict) or set(value) != {"n_init", "n_finalists", "n_reached_best", "objectives"}:
        return False
    counts = [value[name] for name in ("n_init", "n_finalists", "n_reached_best")]
    return all(map(is_whole, counts)) and isinstance(value["objectives"], list)


OF_ALL: Training = {  # name in the record -> attribute, and what it may be
    "n_components_": ("n_components_", is_whole),
    "loglik_": ("loglik_", is_number),
    "objective_": ("objective_", is_number),
    "trace_": ("trace_", _numbers),
    "n_iter_": ("n_iter_", is_whole),
    "converged_": ("converged_", lambda value: isinstance(value, bool)),
    "stop_reason_": ("stop_reason_", lambda value: isinstance(value, str)),
    "restarts_": ("restarts_", _restarts),
    "events_": ("events_", is_texts),
    "selection_": ("_tried", _is_table),
    "n_incomplete": ("_n_incomplete", lambda value: is_number(value) and value >= 0),
    "n_blank": ("_n_blank", lambda value: is_number(value) and value >= 0),
}
