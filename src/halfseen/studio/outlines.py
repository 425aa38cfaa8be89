"""Outlines of components over two columns: ellipses at one and two standard deviations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from halfseen.app.report.charts.scatter import LEVELS, TURNS
from halfseen.leaves.leaf import Floats


def outlines(means: Floats, covs: Floats, owner: Iterable[int]) -> list[dict[str, Any]]:
    """Return centre and ellipses of components over two columns; no ellipses where they have no spread there.

    Parameters
    ----------
    means : (K, 2) array
    covs : (K, 2, 2) array
    owner : (K,)             the class of each component

    Examples
    --------
    >>> found = outlines(np.array([[0.0, 1.0], [np.nan, 2.0]]), np.full((2, 2, 2), np.nan), [0, 1])
    >>> found
    [{'component': 0, 'class': 0, 'centre': [0.0, 1.0], 'paths': []}]
    """
    found = []
    for k, (centre, cov, own) in enumerate(zip(means, covs, owner, strict=True)):
        if not np.isfinite(centre).all():
            continue
        paths = []
        if np.isfinite(cov).all():
            values, vectors = np.linalg.eigh(cov)
            around = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.stack([np.cos(TURNS), np.sin(TURNS)])
            paths = [(centre[:, None] + level * around).T.tolist() for level in LEVELS]
        found.append({"component": k, "class": int(own), "centre": [float(v) for v in centre], "paths": paths})
    return found
