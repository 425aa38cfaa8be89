"""What ``halfseen info`` prints of a model. Model files keep it, so that printing it needs no model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen import families
from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.estimators.convergence import ended, unfinished


def blocks_of(model: Any, record: Mapping[str, Any]) -> list[Block]:
    """Return the description of a model with this record: how it was fitted, its columns, its classes.

    Parameters
    ----------
    model : fitted estimator
    record : dict          as `halfseen.app.model_file.read_record` returns it
    """
    first = unfinished(model)
    found = [blocks.text(f"{first}\n")] if first else []
    found += [blocks.facts(_facts(model, record)), blocks.text()]
    if record.get("columns"):
        columns = [_column(column) for column in record["columns"]]
        found += [blocks.table(("column", "kind", "categories"), columns, left=3), blocks.text()]
    if first:
        return [
            *found,
            blocks.note("The parameters may change much before the fit converges; info --parameters shows them."),
        ]
    return [*found, *described(model)]


def described(model: Any) -> list[Block]:
    """Return the classes, states or rules of a model in words."""
    found: list[Block] = _of_family(model).describe(model)
    return found


def _of_family(model: Any) -> Any:
    found = families.of_class(type(model))
    assert found is not None, f"{type(model).__name__} is of no family"
    return found[0].module("description")


def _facts(model: Any, record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    training = record["training"]
    stopped = training.get("stop_reason_")
    return [
        ("model", record["class"]),
        *_of_family(model).facts(model, record),
        ("fit", stopped and ended(stopped, training["n_iter_"])),
        ("seed", record["seed"]),
        ("fitted", record["fitted_at"]),
        ("by halfseen", record["halfseen_version"]),
        ("command", record["command"]),
    ]


def _column(column: Mapping[str, Any]) -> tuple[str, str, str]:
    listed = [str(category) for category in column.get("categories") or ()]
    more = f", ... {len(listed)} in total" if len(listed) > 8 else ""
    return column["name"], column["kind"], ", ".join(listed[:8]) + more
