"""A fitted Bayesian network as plain values and arrays, and back: what is in a model file.

What it shares with other models over tables is in `halfseen.estimators.table.state`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halfseen.errors import ParameterError
from halfseen.estimators import options, state
from halfseen.estimators.state import State, is_number, is_texts
from halfseen.estimators.table import state as table_state
from halfseen.families.network import reading
from halfseen.families.network.fit import NetworkRecipe
from halfseen.families.network.reading import Plan
from halfseen.leaves.leaf import Floats, frozen

if TYPE_CHECKING:
    from halfseen.families.network.fit import NetworkFit

Estimator = TypeVar("Estimator", bound="NetworkFit")

TRAINING = {name: own for name, own in state.OF_ALL.items() if name != "n_components_"} | {
    "n_rows": ("_n_rows", lambda value: is_number(value) and value > 0),
}
MOST = 1 << 27  # cells of all tables: 1 GB


def taken(model: NetworkFit) -> State:
    """Return the state of a fitted estimator."""
    recipe = model._recipe
    record = table_state.common(model, TRAINING) | {
        "model": {
            "variables": [
                {"name": name, "states": list(model._states[name]), "parents": list(parents)}
                for name, parents in model.parents_.items()
            ],
            "prior": recipe.prior,
            "equivalent_sample_size": recipe.sample_size,
            "fixed": list(recipe.fixed),
            "tied": [list(group) for group in recipe.tied],
        },
    }
    tensors = {"params/tables": model._params["tables"]}
    if hasattr(model, "_stats"):
        tensors["stats/tables"] = model._stats[None]
    if recipe.pseudo is not None:
        tensors["prior/tables"] = recipe.pseudo
    if recipe.cells is not None:
        tensors["fixed/tables"] = recipe.cells.astype(np.float64)
    return State(record, tensors)


def restored(cls: type[Estimator], found: State) -> Estimator:
    """Return the estimator whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = found
    model: Estimator = table_state.opened(cls, record, table_state.RECORD)
    inside = options.mapping("model", record["model"])
    plan, model._states = _variables(inside["variables"])
    cells = sum(prod(len(model._states[m]) for m in (*own, name)) for name, own in plan.parents.items())
    if cells > MOST:
        raise ParameterError(f"model: its tables have {cells:,} cells, more than {MOST:,}.")
    expected = [
        "params/tables",
        *(name for name in ("stats/tables", "prior/tables", "fixed/tables") if name in tensors),
    ]
    state.check_shapes(tensors, dict.fromkeys(expected, (1, cells)))
    model._graph = reading.graph_of(plan, model._states)
    model._recipe = _read_recipe(inside, model._states, tensors.get("prior/tables"), tensors.get("fixed/tables"))
    model._model = model._recipe.model(model._graph)
    model._params = {"tables": frozen(tensors["params/tables"])}
    state.check_params(model._model, model._params)
    if "stats/tables" in tensors:
        model._stats = tensors["stats/tables"][0]
        state.check_counts(model._stats)
    _check_columns(model)
    table_state.restore_columns(model, record)
    state.restore_training(model, record["training"], TRAINING)
    if hasattr(model, "_stats") != ("n_rows" in record["training"]):
        raise ParameterError("training: the number of rows is not there, or should not be.")
    return model


def _variables(found: Any) -> tuple[Plan, dict[str, tuple[Any, ...]]]:
    """Return parents and states of the variables, once they are known to be such as a network has."""
    if not isinstance(found, list) or not found:
        raise ParameterError("model: there are no variables.")
    parents: dict[str, tuple[str, ...]] = {}
    states: dict[str, tuple[Any, ...]] = {}
    for one in found:
        name, own = one["name"], one["parents"]
        if not isinstance(name, str) or name in parents or not is_texts(own) or len(set(own)) < len(own):
            raise ParameterError(f"model: variable {name!r:.80} has no name of its own, or no list of parents.")
        parents[name] = tuple(own)
        states |= reading.read_states({name: one["states"]})
    unknown = [p for own in parents.values() for p in own if p not in parents]
    if unknown:
        raise ParameterError(f"model: the parent {unknown[0]!r:.80} is no variable.")
    return Plan(parents), states


def _read_recipe(
    found: Mapping[str, Any], states: Mapping[str, Any], pseudo: Floats | None, cells: Floats | None
) -> NetworkRecipe:
    fixed, tied = found["fixed"], found["tied"]
    if (
        not is_texts(fixed)
        or not isinstance(tied, list)
        or not all(map(is_texts, tied))
        or not set(fixed) <= set(states)
    ):
        raise ParameterError("model: fixed and tied are not lists of variables.")
    size = options.number("equivalent_sample_size", found["equivalent_sample_size"])
    if pseudo is None and found["prior"] == "row":
        raise ParameterError("model: the pseudo-counts of its prior are not there.")
    if pseudo is not None:
        state.check_counts(pseudo)
    if cells is not None and not np.isin(cells, (0.0, 1.0)).all():
        raise ParameterError("model: its mask of fixed cells has numbers other than 0 and 1.")
    mask = None if cells is None else cells == 1.0
    return NetworkRecipe(found["prior"], size, tuple(fixed), tuple(map(tuple, tied)), pseudo, mask)


def _check_columns(model: NetworkFit) -> None:
    """Refuse columns that are no variables, or have another number of states."""
    for column in model._schema.columns:
        if not column.kind.has_categories or len(column.categories or ()) != len(model._states.get(column.name, ())):
            raise ParameterError(f"column {column.name!r} does not fit the variable of its name.")
