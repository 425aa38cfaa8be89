"""Versions: models that were fitted, opened, renamed. A version never changes; a correction makes another one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from halfseen.app import dispatch, fits
from halfseen.app.model_file import save
from halfseen.estimators.convergence import ended, unfinished
from halfseen.families.family import Family
from halfseen.studio.spec import Spec


@dataclass(frozen=True, eq=False)
class Version:
    """A fitted model, and where it came from.

    Attributes
    ----------
    number : int
    parent : int or None      the version that it was made from
    how : str                 "fit", "refit", "rename", "opened", "number of classes"
    model : fitted estimator
    reading : dict            how the data were read
    spec : Spec               what was chosen when it was fitted
    labels : dict             row -> name of its class, as it was fitted with
    seconds : float or None   that the fit took
    notes : tuple of str      what was said during the fit
    """

    number: int
    parent: int | None
    how: str
    model: Any
    reading: Mapping[str, Any]
    spec: Spec
    labels: Mapping[int, str] = field(default_factory=dict)
    seconds: float | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def family(self) -> Family:
        """The family of the model."""
        return dispatch.family_of(self.model)

    @cached_property
    def studio(self) -> ModuleType | None:
        """What its family adds to the studio; None where it adds nothing."""
        return studio_of(self.family)

    @cached_property
    def names(self) -> list[str]:
        """The names of its classes, states or clusters; none where it has none."""
        named = getattr(self.studio, "names", None)
        return [] if named is None else [str(name) for name in named(self.model)]

    @property
    def takes_labels(self) -> bool:
        """Whether rows can be given a class by hand."""
        asked = getattr(self.studio, "takes_labels", None)
        return asked is not None and bool(asked(self.model))

    @property
    def has_answers(self) -> bool:
        """Whether it gives each row a class."""
        return hasattr(self.studio, "answers") and bool(self.names)

    def answers(self, request: Mapping[str, Any]) -> Iterator[pa.Table]:
        """Yield the class of the rows of a request, its certainty, and where it has them probabilities p0, p1, ..."""
        assert self.studio is not None, "has_answers was not asked"
        found: Iterator[pa.Table] = self.studio.answers(self.model, self.reading, request)
        return found

    @cached_property
    def content(self) -> bytes:
        """The model as the bytes of its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.halfseen")
            save(self.model, path)
            return path.read_bytes()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The outcome of the fit as plain values."""
        model = self.model
        restarts = getattr(model, "restarts_", None) or {}
        fitted = hasattr(model, "stop_reason_")
        likely = fits.of_fit(model) if fitted and hasattr(model, "bic") and not fits.is_rule(model) else {}
        return {
            "number": self.number,
            "parent": self.parent,
            "how": self.how,
            "title": self._title,
            "model": _called(self.family, self.spec.model),
            "n_components": len(self.names) or None,
            "loglik": finite(getattr(model, "loglik_", None)),
            **{name: finite(likely.get(name)) for name in ("bic", "aic", "n")},
            "inertia": finite(getattr(model, "inertia_", None)),
            "estimate": likely.get("estimate"),
            "n_parameters": getattr(model, "n_parameters_", None),
            "converged": bool(getattr(model, "converged_", False)),
            "stop_reason": getattr(model, "stop_reason_", None),
            "ended": unfinished(model) or ended(model.stop_reason_, model.n_iter_) if fitted else "not fitted here",
            "outcome": self.family.module("cli").outcome(model) if fitted else "",
            "starts": restarts.get("n_init"),
            "agree": restarts.get("n_reached_best"),
            "names": self.names,
            "labels": len(self.labels),
            "seconds": self.seconds,
            "notes": [*self.notes, *getattr(model, "events_", ())],
        }

    @property
    def _title(self) -> str:
        n, (one, several) = len(self.names), self.family.component
        what = f"{n} {one if n == 1 else several}" if n else self.family.title
        return what + (f", {len(self.labels)} {'label' if len(self.labels) == 1 else 'labels'}" if self.labels else "")


def studio_of(family: Family) -> ModuleType | None:
    """Return the module with what a family adds to the studio."""
    if find_spec(family.home("studio")) is None:
        return None
    found: ModuleType = family.module("studio")
    return found


def finite(value: Any) -> float | None:
    """Return a number as JSON has it: None for what is not finite, or no number."""
    if value is None:
        return None
    number = float(value)
    return number if abs(number) < float("inf") else None


def _called(family: Family, word: str) -> str:
    return family.models.get(word, family.title)
