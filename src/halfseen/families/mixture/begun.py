"""A fit that begins at the parameters of an earlier one, whose classes keep their order and their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ParameterError
from halfseen.families.mixture import membership
from halfseen.leaves.leaf import map_arrays
from halfseen.leaves.limits import Params


def classes(begin: Any, labels: Any, given: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return the labels in the order of the classes: those given, else the names of the classes to begin with.

    Labels that are whole numbers without such a name are the numbers of classes.
    """
    if begin is None or labels is None or given is not None or getattr(labels, "ndim", 1) != 1:
        return given
    known = {_text(label): label for label in labels if isinstance(label, str | int | float | np.number)}
    of_classes = known.keys() & set(begin.class_names_) or any(isinstance(label, str) for label in known.values())
    return [known.get(name, name) for name in begin.class_names_] if of_classes else None


def _text(label: Any) -> str:
    """Return a label as the name of its class: 1.0 in a column with missing cells is 1."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def params(model: Any, begin: Any, sizes: Sequence[int]) -> Params:
    """Return the parameters to begin with; refuse those of another kind of model, of other columns or classes."""
    kind = type(model).__name__
    if not isinstance(begin, type(model)) or not hasattr(begin, "_params"):
        raise ParameterError(f"a fit can begin at a fitted {kind}; this is a {type(begin).__name__}.")
    if begin._schema.columns != model._schema.columns or list(begin._schema.blocks) != list(model._schema.blocks):
        mine, its = ([f"{c.name} ({c.kind.name})" for c in one._schema.columns] for one in (model, begin))
        differ = sorted(set(mine) ^ set(its)) or ["their categories"]
        raise ParameterError(
            f"the model to begin with has other columns, kinds or categories: {', '.join(differ[:6])}. Give the same "
            "columns and options as for that model."
        )
    if list(sizes) != [len(begin.weights_)]:
        raise ParameterError(
            f"the model to begin with has {len(begin.weights_)} classes: set n_components={len(begin.weights_)}."
        )
    found: Params = begin._params
    return found


def placed(model: Mixture, begin: Params) -> Params:
    """Return the parameters as those of a model; refuse those of another shape of covariance."""
    start = membership.begun(model, begin)
    if map_arrays(np.shape, start) != map_arrays(np.shape, model.blank()):
        raise ParameterError("the model to begin with has another covariance. Set that one.")
    return model.conform(start, start)


def names(begin: Any, given: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return the names of the classes: those given, else those of the model to begin with; None: they have none."""
    if begin is None:
        return None if given is None else tuple(given)
    own = [None] * len(begin.class_names_) if given is None else given
    taken = {str(name) for name in own if name is not None}
    return tuple(
        name if name is not None else None if old in taken else old
        for name, old in zip(own, begin.class_names_, strict=True)
    )
