"""A fitted `TranscriptAligner` as plain values and arrays, and back: what is in its model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from halfseen.data.template import described, rebuilt
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.state import (
    OF_ALL,
    ORIGIN,
    State,
    check_shapes,
    created,
    is_texts,
    named_arrays,
    options_of,
    read_marks,
    read_params,
    restore_stages,
    restore_training,
)
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.state import (
    columns_record,
    read_schema,
    read_summary,
    summary_shapes,
    with_scanned,
    written_summary,
)
from halfseen.families.transcript.certainty import Certainty
from halfseen.families.transcript.lexicon import Lexicon, read_pronunciations
from halfseen.families.transcript.sharing import Sharing
from halfseen.families.transcript.surprise import Typical

if TYPE_CHECKING:
    from halfseen.families.transcript.estimator import TranscriptAligner

Estimator = TypeVar("Estimator", bound="TranscriptAligner")

RECORD = {
    *(
        "options",
        "columns",
        "named",
        "container",
        "lexicon",
        "n_mix",
        "typical",
        "typical_words",
        "certainty",
        "sharing",
        "front_end",
        "stages",
        "marks",
        "training",
    ),
    *ORIGIN,
}
OWN = ("loglik_", "objective_", "trace_", "n_iter_", "converged_", "stop_reason_", "restarts_", "events_")

OF_OLD = {  # what files of 0.1 do not have
    "certainty": list(Certainty()),
    "typical_words": list(Typical()),
    "sharing": None,
    "front_end": None,
}
UNTRAINED = {"events_"}  # of a model that was not fitted but built from parameters


def taken(model: TranscriptAligner) -> State:
    """Return the state of a fitted aligner."""
    lexicon = model._lexicon
    record = {
        "options": _options(model),
        **columns_record(model._schema),
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
        "typical_words": list(model._typical_words),
        "certainty": list(model._certainty),
        "sharing": None if model._sharing is None else model._sharing.record(),
        "front_end": model._front_end,
        "stages": vars(model).get("stages_", []),
        "marks": list(model._marks),
        "training": {name: vars(model)[name] for name in OWN if name in vars(model)},
        **model._origin.record(),
    }
    tensors = named_arrays("params", model._params) | written_summary(model._schema, model._summary)
    return State(record, {**tensors, "frames": model._frames})


def _options(model: TranscriptAligner) -> dict[str, Any]:
    """Return the constructor's arguments; the dictionary, of which only what was used is kept, is left out."""
    found = options_of(model)
    found["dictionary"] = None if found["dictionary"] is None else {}
    found["start"] = None  # frames of the training data
    return found


def restored(cls: type[Estimator], state: State) -> Estimator:
    """Return the aligner whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = state
    record = {**OF_OLD, **record}
    model: Estimator = created(cls, record, RECORD)
    model._lexicon = _lexicon(record["lexicon"])
    if model.dictionary is not None:
        model.dictionary = {word: [list(way) for way in ways] for word, ways in model._lexicon.pronunciations.items()}
    model._schema = read_schema(record["columns"], record["named"])
    tensors = with_scanned(model._schema, tensors)
    model._n_mix = options.whole("n_mix", record["n_mix"])
    sizes = (model._lexicon.n_emissions, len(model._schema.columns))
    model._sharing = None if record["sharing"] is None else Sharing.read(record["sharing"], *sizes)
    model._front_end = _front_end(record["front_end"])
    model._template, model.n_features_in_ = rebuilt(record["container"]), len(model._schema.columns)
    model._marks = read_marks(record["marks"])
    model._summary = read_summary(model._schema, tensors)
    model._model = model._build(model._summary, emission_builder.read_prior(model.prior), model._n_mix)
    shapes = {name: array.shape for name, array in named_arrays("params", model._model.blank()).items()}
    frames = {"frames": (model._lexicon.n_emissions,)}
    check_shapes(tensors, shapes | frames | summary_shapes(model._schema))
    model._params = read_params(model._model, tensors)
    model._frames, model.units_ = tensors["frames"], model._lexicon.units
    if model._frames.min(initial=0.0) < 0:
        raise ParameterError("frames: a number of frames is negative.")
    model._typical, model._typical_words = (
        Typical(float(centre), options.number("typical", spread))
        for centre, spread in (record["typical"], record["typical_words"])
    )
    scale, jitter = (options.number("certainty", value) for value in record["certainty"])
    if not 0 < scale <= 1 or not jitter >= 0:
        raise ParameterError(f"certainty: {record['certainty']} are not a scale up to 1 and a standard deviation.")
    model._certainty = Certainty(scale, jitter)
    if set(record["training"]) == UNTRAINED:
        restore_training(model, record["training"], OF_ALL)
    else:
        restore_stages(model, record, OWN)
    return model


def _front_end(found: Any) -> str | None:
    if found is not None and not isinstance(found, str):
        raise ParameterError(f"front_end={found!r:.40} is not a text.")
    return found


def _lexicon(found: Any) -> Lexicon:
    units, words = found["units"], found["words"]
    if not is_texts(units) or not is_texts(words) or len(set(units)) != len(units) or not units:
        raise ParameterError("lexicon: units and words must be texts, each unit once.")
    ways = read_pronunciations(dict(zip(words, found["pronunciations"], strict=True)))
    silence, unknown = found["silence"], found["unknown"]
    used = {unit for way in ways.values() for one in way for unit in one} | ({silence} - {None})
    if not used <= set(units):
        raise ParameterError(f"lexicon: {sorted(map(str, used - set(units)))[:3]} are no units.")
    if unknown is not None and not isinstance(unknown, str):
        raise ParameterError(f"lexicon: unknown={unknown!r} is not a text.")
    return Lexicon(tuple(units), options.whole("n_states", found["n_states"]), silence, ways, unknown)
