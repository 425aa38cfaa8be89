"""A fitted `TranscriptAligner` as plain values and arrays, and back: what is in its model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halfseen.data import Schema
from halfseen.data.template import described, rebuilt
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.state import State, _column, _known_options, _origin, _schema, restore_stages
from halfseen.estimators.table import emission_builder
from halfseen.families.transcript.alignment import Typical
from halfseen.families.transcript.lexicon import Lexicon, read_pronunciations
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params

if TYPE_CHECKING:
    from halfseen.engine.loop.model import Model
    from halfseen.families.transcript.estimator import TranscriptAligner

Estimator = TypeVar("Estimator", bound="TranscriptAligner")
Shape = tuple[int, ...]

RECORD = {
    *("options", "columns", "named", "container", "lexicon", "n_mix", "typical", "stages", "marks", "training"),
    *("data_fingerprint", "seed", "fitted_at", "command", "reading"),
}
OWN = ("loglik_", "objective_", "trace_", "n_iter_", "converged_", "stop_reason_", "restarts_", "events_")


def taken(model: TranscriptAligner) -> State:
    """Return the state of a fitted aligner."""
    schema, lexicon, origin = model._schema, model._lexicon, model._origin
    record = {
        "options": _options(model),
        "columns": [_column(schema, j) for j in range(len(schema.columns))],
        "named": schema.named,
        "container": described(model._template),
        "lexicon": {
            "units": list(lexicon.units),
            "n_states": lexicon.n_states,
            "silence": lexicon.silence,
            "unknown": lexicon.unknown,
            "words": list(lexicon.pronunciations),
            "pronunciations": [[list(way) for way in ways] for ways in lexicon.pronunciations.values()],
        },
        "n_mix": model._n_mix,
        "typical": list(model._typical),
        "stages": model.stages_,
        "marks": list(model._marks),
        "training": {name: vars(model)[name] for name in OWN},
        "data_fingerprint": origin.fingerprint,
        "seed": origin.seed,
        "fitted_at": origin.fitted_at,
        "command": origin.command,
        "reading": origin.reading,
    }
    tensors = {f"params/{name}": array for name, array in _named(model._params).items()}
    tensors["frames"] = model._frames
    for block, (mean, var) in model._summary.moments.items():
        tensors |= {f"summary/{block}/mean": mean, f"summary/{block}/var": var}
    tensors |= {f"summary/{block}/counts": counts for block, counts in model._summary.frequencies.items()}
    return State(record, tensors)


def _options(model: TranscriptAligner) -> dict[str, Any]:
    """Return the constructor's arguments; the dictionary, of which only what was used is kept, is left out."""
    found = dict(model.get_params(deep=False))
    if not isinstance(found["random_state"], int | np.integer):
        found["random_state"] = None
    found["dictionary"] = None if found["dictionary"] is None else {}
    found["start"] = None  # frames of the training data
    return found


def _named(params: Params, inside: str = "") -> dict[str, Floats]:
    """Return the arrays of a tree of parameters by name."""
    found: dict[str, Floats] = {}
    for name, part in params.items():
        if isinstance(part, dict):
            found |= _named(part, f"{inside}{name}/")
        else:
            found |= {f"{inside}{name}{end}": array for end, array in _parts(part)}
    return found


def _filled(blank: Params, tensors: dict[str, Floats], inside: str = "params/") -> Params:
    """Return parameters shaped as `blank` from arrays by name."""
    found: dict[str, Any] = {}
    for name, part in blank.items():
        if isinstance(part, dict):
            found[name] = _filled(part, tensors, f"{inside}{name}/")
            continue
        arrays = [frozen(tensors[f"{inside}{name}{end}"]) for end, _ in _parts(part)]
        found[name] = type(part)(*arrays) if isinstance(part, tuple) else arrays[0]
    return found


def restored(cls: type[Estimator], state: State) -> Estimator:
    """Return the aligner whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = state
    if set(record) != RECORD:
        raise ParameterError(f"its record has too many or too few entries: {sorted(set(record) ^ RECORD)}.")
    model = cls(**_known_options(cls, record["options"]))
    model._check_options()
    model._lexicon = _lexicon(record["lexicon"])
    if model.dictionary is not None:
        model.dictionary = {word: [list(way) for way in ways] for word, ways in model._lexicon.pronunciations.items()}
    model._schema = _schema(record["columns"], record["named"])
    model._n_mix = options.whole("n_mix", record["n_mix"])
    model._template, model.n_features_in_ = rebuilt(record["container"]), len(model._schema.columns)
    model._marks = _marks(record["marks"])
    known = {name: array for name, array in tensors.items() if name.startswith("summary/")}
    _check_shapes(known, _summary_shapes(model._schema))
    model._summary = _summary(model._schema, tensors)
    model._model = model._build(model._summary, emission_builder.read_prior(model.prior), model._n_mix)
    _check_shapes(tensors, _shapes(model._model, model))
    model._params = _filled(model._model.blank(), dict(tensors))
    flaw = model._model.flaw(model._params)
    if flaw is not None:
        raise ParameterError(flaw)
    model._frames, model.units_ = tensors["frames"], model._lexicon.units
    if model._frames.min(initial=0.0) < 0:
        raise ParameterError("frames: a number of frames is negative.")
    centre, spread = record["typical"]
    model._typical = Typical(float(centre), options.number("typical", spread))
    restore_stages(model, record, OWN)
    model._origin = _origin(record)
    return model


def _parts(params: Any) -> list[tuple[str, Floats]]:
    """Return the arrays of a block's parameters, and what to add to its name for each."""
    if isinstance(params, tuple):
        return [(f"/{name}", array) for name, array in zip(params._fields, params, strict=True)]  # type: ignore[attr-defined]
    return [("", params)]


def _summary_shapes(schema: Schema) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for block, members in schema.blocks.items():
        if block.startswith("categorical"):
            shapes[f"summary/{block}/counts"] = (sum(schema.cardinalities(block)),)
        else:
            shapes |= {f"summary/{block}/{part}": (len(members),) for part in ("mean", "var")}
    return shapes


def _check_shapes(tensors: Mapping[str, Floats], shapes: Mapping[str, Shape]) -> None:
    for name in sorted(set(tensors) ^ set(shapes)):
        raise ParameterError(f"array {name!r} is {'missing' if name in shapes else 'not expected'}.")
    for name, shape in shapes.items():
        if tensors[name].shape != shape or not np.isfinite(tensors[name]).all():
            raise ParameterError(f"array {name!r} has shape {tensors[name].shape}, expected finite {shape}.")


def _summary(schema: Schema, tensors: Mapping[str, Floats]) -> emission_builder.Summary:
    moments, frequencies = {}, {}
    for block in schema.blocks:
        if block.startswith("categorical"):
            frequencies[block] = tensors[f"summary/{block}/counts"]
        else:
            moments[block] = (tensors[f"summary/{block}/mean"], tensors[f"summary/{block}/var"])
    if any(counts.min(initial=0.0) < 0 for counts in frequencies.values()):
        raise ParameterError("summary: a count is negative.")
    if any(not (var > 0).all() for _, var in moments.values()):
        raise ParameterError("summary: a variance is not above 0.")
    return emission_builder.Summary(moments, frequencies)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _lexicon(found: Any) -> Lexicon:
    units, words = found["units"], found["words"]
    if not _texts(units) or not _texts(words) or len(set(units)) != len(units) or not units:
        raise ParameterError("lexicon: units and words must be texts, each unit once.")
    ways = read_pronunciations(dict(zip(words, found["pronunciations"], strict=True)))
    silence, unknown = found["silence"], found["unknown"]
    used = {unit for way in ways.values() for one in way for unit in one} | ({silence} - {None})
    if not used <= set(units):
        raise ParameterError(f"lexicon: {sorted(map(str, used - set(units)))[:3]} are no units.")
    if unknown is not None and not isinstance(unknown, str):
        raise ParameterError(f"lexicon: unknown={unknown!r} is not a text.")
    return Lexicon(tuple(units), options.whole("n_states", found["n_states"]), silence, ways, unknown)


def _marks(found: Any) -> tuple[str | None, str | None]:
    if len(found) != 2 or not all(mark is None or isinstance(mark, str) for mark in found):
        raise ParameterError(f"marks={found!r} are not two names of columns.")
    return (found[0], found[1])


def _shapes(model: Model, aligner: TranscriptAligner) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {f"params/{name}": a.shape for name, a in _named(model.blank()).items()}
    shapes["frames"] = (aligner._lexicon.n_emissions,)
    return shapes | _summary_shapes(aligner._schema)
