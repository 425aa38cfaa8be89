"""What mixtures over a table show in the studio: names of classes, and the class of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from halfseen.app.tables import batches, class_names
from halfseen.families.mixture.supervised import MixtureClassifier

SCREENS: tuple[tuple[str, str], ...] = ()
VIEWS: dict[str, Any] = {}

names = class_names


def answers(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[pa.Table]:
    """Yield class, certainty and probabilities of the rows of a file, in their order."""
    labels = pa.array(names(model))
    for _, X in batches(model, reading, request):
        proba = model.predict_proba(X)
        found = {"class": labels.take(pa.array(proba.argmax(axis=1))), "certainty": proba.max(axis=1)}
        yield pa.table(found | {f"p{k}": proba[:, k] for k in range(proba.shape[1])})


def takes_labels(model: Any) -> bool:
    """Whether rows can be given a class by hand, and the model be fitted again."""
    return not isinstance(model, MixtureClassifier) and len(model.weights_) > 1
