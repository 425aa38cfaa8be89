"""``halfseen info``: what is in a model file."""

from __future__ import annotations

from typing import Any

from halfseen.app import console
from halfseen.app.code import python_of
from halfseen.app.model_file import load, read_header


def run(model: str, code: bool, parameters: bool, json: bool) -> None:
    """Print the header, the classes in words, or the code that makes the model."""
    header = read_header(model)
    loaded = load(model)
    if code:
        console.show(python_of(loaded, header))
    elif json:
        console.show_json(header)
    elif parameters:
        _show_parameters(loaded)
    else:
        _show(loaded, header)


def _show(model: Any, header: dict[str, Any]) -> None:
    console.show_table(("", ""), [(name, value) for name, value in _facts(model, header) if value is not None])
    console.show()
    console.show_table(("column", "kind", "categories"), [_column(column) for column in header["columns"]], left=3)
    console.show()
    console.show(model.describe(top=3))


def _facts(model: Any, header: dict[str, Any]) -> list[tuple[str, Any]]:
    record = header.get("record", {})
    stopped = record.get("stop_reason_")
    return [
        ("model", header["class"]),
        ("classes", len(model.class_names_)),
        ("parameters", model.n_parameters_),
        ("rows", f"{record['n_rows']:,.10g}" if record.get("n_rows") else None),
        ("log-likelihood", f"{record['loglik_']:,.2f}" if record.get("loglik_") is not None else None),
        ("stopped by", stopped and f"{stopped} after {record['n_iter_']} passes"),
        ("fitted", header.get("time")),
        ("by halfseen", header.get("halfseen")),
        ("command", header.get("command")),
    ]


def _column(column: dict[str, Any]) -> tuple[str, str, str]:
    listed = [str(category) for category in column.get("categories") or ()]
    more = f", ... {len(listed)} in all" if len(listed) > 8 else ""
    return column["name"], column["kind"], ", ".join(listed[:8]) + more


def _show_parameters(model: Any) -> None:
    import narwhals as nw

    frame = nw.from_native(model.to_frame())
    rows = [[f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in frame.iter_rows()]
    console.show_table(frame.columns, rows, left=3)
