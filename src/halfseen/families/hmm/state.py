"""A fitted hidden Markov model as plain values and arrays, and back: what is in a model file.

What it shares with other models over tables is in `halfseen.estimators.table.state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from halfseen.data import Schema
from halfseen.errors import ParameterError
from halfseen.estimators import options, state
from halfseen.estimators.state import State, is_number
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table import state as table_state
from halfseen.families.hmm.topology import Topology
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.families.hmm.fit import HMMFit

Estimator = TypeVar("Estimator", bound="HMMFit")

BUILT = ("covariance_type", "n_mix", "prior", "variance_floor", "fixed")  # options that say which leaves a model has
RECORD = table_state.RECORD | {"state_names", "marks"}
TRAINING = state.OF_ALL | {
    "n_steps": ("_n_steps", lambda value: is_number(value) and value > 0),
    "n_sequences": ("_n_sequences", lambda value: is_number(value) and value > 0),
    "path_entropy": ("_uncertain", lambda value: is_number(value) and value >= 0),
}


class HMMRecipe(NamedTuple):
    """All that a model was built from beside its topology: options changed later do not change it.

    Attributes
    ----------
    schema : Schema
    summary : Summary      what the leaves had to know of the steps
    built : dict           the options that say which leaves there are
    """

    schema: Schema
    summary: emission_builder.Summary
    built: dict[str, Any]

    @classmethod
    def of(cls, model: HMMFit, summary: emission_builder.Summary) -> HMMRecipe:
        """Return the recipe by the options of an estimator; of several shapes of covariance it has the one chosen."""
        built = {name: getattr(model, name) for name in BUILT}
        built["covariance_type"] = getattr(model, "_covariance", built["covariance_type"])
        return cls(model._schema, summary, built)


# ---- out ---------------------------------------------------------------------------------------------------------


def taken(model: HMMFit) -> State:
    """Return the state of a fitted estimator."""
    topology, recipe = model._topology, model._recipe
    record = table_state.common(model, TRAINING) | {
        "state_names": list(model.state_names_),
        "marks": list(model._marks),
        "model": {
            "built": recipe.built,
            "begin": topology.begin.tolist(),
            "follow": topology.follow.tolist(),
            "dwell": topology.dwell.tolist(),
        },
    }
    return State(record, table_state.arrays_of(model, recipe.summary))


# ---- in ----------------------------------------------------------------------------------------------------------


def restored(cls: type[Estimator], found: State) -> Estimator:
    """Return the estimator whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = found
    model: Estimator = table_state.opened(cls, record, RECORD)
    tensors = table_state.with_scanned(model._schema, tensors)
    options.mapping("model", record["model"])
    model._topology = _topology(record["model"], tensors)
    size = len(model._topology.begin)
    builder = _builder(cls, record["model"]["built"], model._schema, size, tensors)
    summary = table_state.read_summary(model._schema, tensors)
    model._recipe, model._covariance = HMMRecipe.of(builder, summary), builder._covariance
    model._model = builder._build(summary, model._topology)
    table_state.put_arrays(model, tensors, {})
    _check_zeros(model)
    model.n_components_ = size
    model.state_names_ = state.read_labels("state_names", record["state_names"], size)
    model._marks = state.read_marks(record["marks"])
    table_state.restore_columns(model, record)
    state.restore_training(model, record["training"], TRAINING)
    if model.n_components_ != size or hasattr(model, "_stats") != hasattr(model, "_n_steps"):
        raise ParameterError("training: the number of steps or of states is not there or wrong.")
    return model


def _topology(found: Mapping[str, Any], tensors: Mapping[str, Floats]) -> Topology:
    """Return the topology, once starts and transitions are known to have the shapes it implies."""
    begin, dwell = found["begin"], found["dwell"]
    if not isinstance(begin, list) or not isinstance(dwell, list) or len(begin) != len(dwell) or not begin:
        raise ParameterError("model: begin and dwell do not have an entry for each state.")
    n_states = sum(options.whole("dwell", steps) for steps in dwell)
    for name, shape in (("params/start", (1, n_states)), ("params/trans", (n_states, n_states))):
        state.check_shapes({key: array for key, array in tensors.items() if key == name}, {name: shape})
    size = len(begin)
    first, follow = (np.array(found[name]) for name in ("begin", "follow"))
    if first.dtype != bool or follow.dtype != bool or follow.shape != (size, size):
        raise ParameterError(f"model: begin and follow are not True or False for each of {size} states.")
    if not first.any() or not follow.any(axis=1).all():
        raise ParameterError("model: no state may come first, or nothing may follow one.")
    return Topology(first, follow, np.array(dwell, dtype=np.int64))


def _builder(
    cls: type[Estimator], built: Any, schema: Schema, n_components: int, tensors: Mapping[str, Floats]
) -> Estimator:
    """Return an estimator that builds the model of the record, whatever its options are today."""
    if set(options.mapping("built", built)) != set(BUILT):
        raise ParameterError(f"built: it has other entries than {', '.join(BUILT)}.")
    builder = cls(n_components, **{name: built[name] for name in BUILT})
    builder._check_options()
    builder._schema = schema
    builder._covariance = str(options.one_of("covariance_type", builder.covariance_type, options.COVARIANCE_TYPES))
    if builder.n_mix > 1:  # before anything of that size is made
        inside = {name: array for name, array in tensors.items() if name == "params/emit/mix"}
        state.check_shapes(inside, {"params/emit/mix": (n_components, builder.n_mix)})
    return builder


def _check_zeros(model: HMMFit) -> None:
    """Refuse probabilities where nothing may follow."""
    topology = model._topology
    begin, follow = topology.expanded(topology.begin.astype(np.float64), topology.follow.astype(np.float64))
    if (model._params["start"][begin == 0] > 0).any() or (model._params["trans"][follow == 0] > 0).any():
        raise ParameterError("params: a start or a transition that is ruled out has a probability above 0.")
