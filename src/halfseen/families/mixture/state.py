"""A fitted mixture over a table as plain values and arrays, and back: what is in its model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from halfseen.data import Schema
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.state import (
    OF_ALL,
    State,
    Training,
    check_shapes,
    is_number,
    named_arrays,
    read_labels,
    restore_training,
)
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table import state as table_state
from halfseen.families.mixture import membership
from halfseen.kinds.gaussian import COVARIANCES
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

if TYPE_CHECKING:
    from halfseen.families.mixture.fit import MixtureFit

Estimator = TypeVar("Estimator", bound="MixtureFit")

RECORD = table_state.RECORD | {"class_names"}


def _guard(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(map(is_number, value.values())))


TRAINING: Training = OF_ALL | {
    "n_rows": ("_n_rows", lambda value: is_number(value) and value >= 0),
    "classification_entropy": ("_entropy", is_number),
    "n_rows_seen_": ("n_rows_seen_", lambda value: is_number(value) and value > 0),
    "guard_": ("guard_", _guard),
}


def taken(model: MixtureFit) -> State:
    """Return the state of a fitted estimator."""
    recipe, member = model._recipe, model._membership
    record = table_state.common(model, TRAINING) | {
        "class_names": list(model.class_names_),
        "model": {
            "n_components": recipe.n_components,
            "prior": recipe.prior,
            "variance_floor": recipe.variance_floor,
            "fixed": list(recipe.fixed),
            "covariance": recipe.covariance,
            "ridge": recipe.ridge,
            "observed": recipe.observed,
            "from_params": model._without_data,
            **({} if member is None else {"covariates": member.design.record()}),
        },
    }
    tensors = table_state.arrays_of(model, recipe.summary) | ({} if member is None else membership.arrays(member))
    if recipe.masks is not None:
        tensors |= {name: mask.astype(np.float64) for name, mask in named_arrays("fixed", recipe.masks).items()}
    return State(record, tensors if recipe.masses is None else {**tensors, "masses": recipe.masses})


def restored(cls: type[Estimator], state: State) -> Estimator:
    """Return the estimator whose state this is; raise `ParameterError` for what cannot be one."""
    record, tensors = state
    model: Estimator = table_state.opened(cls, record, RECORD)
    tensors = table_state.with_scanned(model._schema, tensors)
    recipe = _recipe(model._schema, record["model"], tensors)
    recipe = recipe._replace(masks=_masks(recipe, tensors))
    model._recipe, model._model = recipe, recipe.model()
    others = {"masses": recipe.masses.shape} if recipe.masses is not None else {}
    others |= {name: mask.shape for name, mask in named_arrays("fixed", recipe.masks or {}).items()}
    if record["model"].get("covariates") is not None:
        model._membership = membership.read(recipe, record["model"]["covariates"], tensors)
        others |= {name: tensors[name].shape for name in membership.ARRAYS}
    table_state.put_arrays(model, tensors, others)
    model.class_names_ = read_labels("class_names", record["class_names"], recipe.n_components)
    table_state.restore_columns(model, record)
    restore_training(model, record["training"], TRAINING)
    found = record["training"]
    if "n_rows" not in found or found.get("n_components_", recipe.n_components) != recipe.n_components:
        raise ParameterError("training: the number of rows or of components is not there or wrong.")
    if record["model"]["from_params"] is True:
        model._without_data = True
    elif not hasattr(model, "_stats"):
        raise ParameterError("the statistics of the fit are missing.")
    return model


def _masks(recipe: emission_builder.Recipe, tensors: Mapping[str, Floats]) -> Params:
    """Return the masks of parameters that are fixed one by one; None where there are none."""
    blank = recipe.model().blank()
    blocks = [block.name for block in recipe.schema.each_block() if block.treatment == emission_builder.CELLS]
    wanted = {"emit": {name: blank["emit"][name] for name in blocks}}
    if "fixed/mix" in tensors:
        wanted["mix"] = blank["mix"]
    shapes = {name: array.shape for name, array in named_arrays("fixed", wanted).items()}
    found = {name: array for name, array in tensors.items() if name.startswith("fixed/")}
    if not shapes and not found:
        return None
    check_shapes(found, shapes)
    if any(not np.isin(mask, (0.0, 1.0)).all() for mask in found.values()):
        raise ParameterError("fixed: a mask has numbers other than 0 and 1.")
    return _filled("fixed", wanted, found)


def _filled(name: str, like: Params, masks: Mapping[str, Floats]) -> Params:
    """Return masks in the tree of parameters `like`, each found by its place in the tree."""
    if isinstance(like, Mapping):
        return {part: _filled(f"{name}/{part}", inside, masks) for part, inside in like.items()}
    if isinstance(like, tuple):
        named = zip(like._fields, like, strict=True)  # type: ignore[attr-defined]
        return type(like)(*(_filled(f"{name}/{part}", inside, masks) for part, inside in named))
    return masks[name] == 1.0


def _recipe(schema: Schema, found: Any, tensors: Mapping[str, Floats]) -> emission_builder.Recipe:
    """Return the recipe, once the arrays it is made of are known to have the shapes it implies."""
    n_components = options.whole("n_components", found["n_components"])
    shares = {name: array for name, array in tensors.items() if name == "params/mix"}
    check_shapes(shares, {"params/mix": (1, n_components)})  # before anything of that size is made
    masses = tensors.get("masses")
    groups = 1 if masses is None else len(masses)
    if groups == 0 or n_components % groups:
        raise ParameterError(f"{groups} given shares do not fit {n_components} components.")
    check_shapes({} if masses is None else {"masses": masses}, {} if masses is None else {"masses": (groups,)})
    if masses is not None and not (masses.min() >= 0 and abs(masses.sum() - 1) < 1e-6):
        raise ParameterError(f"masses: given shares must be at least 0 and sum to 1, got {masses.tolist()!r:.80}.")
    return emission_builder.Recipe(
        schema,
        table_state.read_summary(schema, tensors),
        n_components,
        emission_builder.read_prior(found["prior"]),
        options.variance_floor("variance_floor", found["variance_floor"]),
        emission_builder.read_names(found["fixed"], schema, "fixed"),
        masses,
        options.one_of("covariance", found.get("covariance", "diag"), COVARIANCES),
        options.number("ridge", found.get("ridge", 0.0)),
        options.flag("observed", found.get("observed", False)),
    )
