"""What k-means shows in the studio: names of clusters, and the cluster of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from halfseen.app.tables import batches
from halfseen.families.kmeans.centers import names_of
from halfseen.families.kmeans.estimator import KMeans

SCREENS: tuple[tuple[str, str], ...] = ()
VIEWS: dict[str, Any] = {}

names = names_of


def answers(model: KMeans, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[pa.Table]:
    """Yield the cluster of the rows of a file, in their order; a cluster has no probability."""
    labels = pa.array(names(model))
    for _, X in batches(model, reading, request):
        cluster = model.predict(X)
        yield pa.table({"class": labels.take(pa.array(cluster)), "certainty": pa.nulls(len(cluster), pa.float64())})


def takes_labels(model: KMeans) -> bool:
    """Whether rows can be given a cluster by hand: not by k-means."""
    return False
