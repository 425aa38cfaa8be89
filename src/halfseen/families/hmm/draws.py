"""Draws of the parameters of a hidden Markov model by name, for `hs.posterior`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from halfseen.errors import ParameterError
from halfseen.estimators.named_parameters import DrawnRow, drawn_columns
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

if TYPE_CHECKING:
    from halfseen.families.hmm.methods import HMMMethods


def drawn_rows(model: HMMMethods, params: Params) -> Iterator[DrawnRow]:
    """Yield starts, transitions and emissions of draws (N, ...), or of one set of parameters."""
    if model._inside is not None:
        raise ParameterError("posterior: of an HMM with n_mix above 1 the components within a state have no order.")
    names = tuple(model.state_names_)
    start, trans = _chain(model, params)
    yield DrawnRow("(start)", "", start, names)
    for k, name in enumerate(names):
        yield DrawnRow("(next)", f"to {name}", trans[..., k], names)
    yield from drawn_columns(model._schema, params["emit"], names)


def _chain(model: HMMMethods, params: Params) -> tuple[Floats, Floats]:
    """Return starts (..., K) and transitions (..., K, K), after the minimum duration of states."""
    start, trans = params["start"], params["trans"]
    if start.ndim == 2:
        return model._topology.compressed(start, trans)
    found = [model._topology.compressed(*both) for both in zip(start, trans, strict=True)]
    return np.stack([each for each, _ in found]), np.stack([each for _, each in found])
