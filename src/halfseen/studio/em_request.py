"""What the screen EM asks for: a few rows, columns, a model, a start; read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from halfseen.errors import ParameterError
from halfseen.families.mixture.explain import MOST_ROWS
from halfseen.studio.rows import RowStore

MODELS = ("classes", "gaussian", "kmeans")
ASSIGN = ("soft", "hard", "sample")
COVARIANCES = ("full", "diag", "spherical", "tied", "identity")
FIRST = 10  # rows that are shown where none are named
FEW = 6  # columns, likewise
MOST_COLUMNS, MOST_CLASSES, MOST_ITERATIONS = 12, 8, 50
MOST_SEED = 2**32 - 1
LARGEST = 1e300  # of a number that is typed
APART = 3  # rows from which a column of categories that differs in every row is refused

Numbers = Sequence[float | None]  # one for each class; None: as it is drawn by the seed
Start = Mapping[str, Mapping[str, Numbers]]


@dataclass(frozen=True)
class Asked:
    """What a page asks to see.

    Attributes
    ----------
    rows : tuple of int            numbers of rows of the file
    columns : tuple of str
    kinds : dict                   column -> kind, of all columns; without meaning for Gaussian mixtures and k-means
    model : str                    "classes", "gaussian" or "kmeans"
    classes : int
    n_iter : int
    assign : str                   "soft", "hard" or "sample"
    covariance : str               of a Gaussian mixture
    start : dict or None           column -> {name of a parameter: a number for each class}, of those that were typed
    shares : "equal", tuple or None    of the classes: held equal, begin here, or begin as drawn
    seed : int
    prior : "row" or None
    """

    rows: tuple[int, ...]
    columns: tuple[str, ...]
    kinds: Mapping[str, str]
    model: str = "classes"
    classes: int = 2
    n_iter: int = 10
    assign: str = "soft"
    covariance: str = "full"
    start: Start | None = None
    shares: str | tuple[float | None, ...] | None = None
    seed: int = 0
    prior: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self) | {"rows": list(self.rows), "columns": list(self.columns), "shares": _plain(self.shares)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


# ---- reading what a page sent ----------------------------------------------------------------------------------------


def read(given: Mapping[str, Any], store: RowStore, columns: Sequence[Mapping[str, Any]], model: str) -> Asked:
    """Return what a page asks for, checked.

    Parameters
    ----------
    given : dict           from the page
    store : RowStore
    columns : list of dict     name, kind, type, problem and left_out of each, as on the screen Data
    model : str            by default
    """
    model = _one_of(given, "model", MODELS, model if model in MODELS else "classes")
    rows = _rows(given.get("rows"), store.n_rows)
    chosen = _kinds(given.get("kinds"), columns)
    names = _columns(given.get("columns"), store, rows, columns, chosen, model)
    kinds = {one["name"]: chosen.get(one["name"]) or one["kind"] or "categorical" for one in columns}
    classes = whole(given, "classes", 1, MOST_CLASSES, 2)
    if classes > len(rows):
        raise ParameterError(f"{classes} classes for {len(rows)} rows: choose fewer classes, or more rows.")
    return Asked(
        rows=rows,
        columns=names,
        kinds={name: kinds[name] for name in names},
        model=model,
        classes=classes,
        n_iter=whole(given, "n_iter", 1, MOST_ITERATIONS, 10),
        assign="hard" if model == "kmeans" else _one_of(given, "assign", ASSIGN, "soft"),
        covariance=_one_of(given, "covariance", COVARIANCES, "full"),
        start=_start(given.get("start"), names, classes),
        shares=_shares(given.get("shares"), classes),
        seed=whole(given, "seed", 0, MOST_SEED, 0),
        prior=None if given.get("prior") is None else _one_of(given, "prior", ("row",), "row"),
    )


def _one_of(given: Mapping[str, Any], name: str, known: Sequence[str], default: str) -> str:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in known:
        raise ParameterError(f"{name}={value!r:.40} is not one of {', '.join(known)}.")
    return value


def whole(given: Mapping[str, Any], name: str, low: int, high: int, default: int) -> int:
    """Return a whole number that a page sent."""
    value = given.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(f"{name}={value!r:.40} is not a whole number from {low} to {high}.")
    return value


def _rows(given: Any, n_rows: int) -> tuple[int, ...]:
    if given is None:
        return tuple(range(min(FIRST, n_rows)))
    if not isinstance(given, list) or not given:
        raise ParameterError(f"rows={given!r:.40} is not a list of numbers of rows.")
    if len(given) > MOST_ROWS:
        raise ParameterError(
            f"{len(given)} rows are too many to read number by number: choose at most {MOST_ROWS} of them."
        )
    wrong = [row for row in given if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < n_rows]
    if wrong:
        raise ParameterError(f"there is no row {wrong[0]!r:.40}: rows are numbered from 0 to {n_rows - 1}.")
    if len(set(given)) < len(given):
        raise ParameterError(f"row {next(row for row in given if given.count(row) > 1)} is named twice.")
    return tuple(given)


def _kinds(given: Any, columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the kinds that were chosen on this screen; what they mean is for the model to say."""
    if given is None:
        return {}
    known = {one["name"] for one in columns}
    if not isinstance(given, dict) or not all(isinstance(kind, str) for kind in given.values()):
        raise ParameterError(f"kinds={given!r:.60} does not name a kind for each column.")
    for name in given:
        if name not in known:
            raise ParameterError(f"kinds: there is no column {name!r:.60}.")
    return dict(given)


def _columns(
    given: Any,
    store: RowStore,
    rows: Sequence[int],
    columns: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, str],
    model: str,
) -> tuple[str, ...]:
    """Return the columns that were named, or the first that can be used; there may be none."""
    if given is not None:
        return _named_columns(given, columns)
    kinds = {one["name"]: chosen.get(one["name"]) or one["kind"] for one in columns}
    numeric = [one["name"] for one in columns if one["type"] == "number"]
    usable = [one["name"] for one in columns if not one["left_out"] and not one["problem"]]
    cells = store.cells(rows)
    found = [
        name
        for name in usable
        if (name in numeric if model != "classes" else not tells_rows_apart(cells[name], kinds[name]))
        and len(cells[name].drop_null().unique()) > 1
    ]
    return tuple(found[:FEW])


def _named_columns(given: Any, columns: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    known = [one["name"] for one in columns]
    if not isinstance(given, list):
        raise ParameterError(f"columns={given!r:.60} is not a list of names of columns.")
    absent = [name for name in given if name not in known]
    if absent:
        raise ParameterError(f"columns: there is no column {absent[0]!r:.60}.")
    if len(given) > MOST_COLUMNS:
        raise ParameterError(f"{len(given)} columns are too many to read: choose at most {MOST_COLUMNS}.")
    return tuple(name for name in known if name in given)


def tells_rows_apart(cells: pa.ChunkedArray, kind: str | None) -> bool:
    """Say whether a column of categories has another value in every row, so that it cannot group them."""
    seen = len(cells) - cells.null_count
    return kind in (None, "categorical") and seen >= APART and len(cells.drop_null().unique()) == seen


def _start(given: Any, columns: Sequence[str], classes: int) -> Start | None:
    """Return the parameters that were typed; which names and numbers are legal is for the model to say."""
    if given is None or given == {}:
        return None
    if not isinstance(given, dict):
        raise ParameterError(f"start={given!r:.60} does not name columns and their parameters.")
    for column, values in given.items():
        if column not in columns:
            raise ParameterError(f"start: {column!r:.60} is not one of the columns {', '.join(columns)}.")
        if not isinstance(values, dict):
            raise ParameterError(f"start: {column}: {values!r:.60} does not name parameters.")
        for name, numbers in values.items():
            _numbers(numbers, f"start: {name} of {column}", classes)
    return given


def _numbers(given: Any, what: str, classes: int) -> tuple[float | None, ...]:
    if not isinstance(given, list) or not all(map(_is_number, given)):
        raise ParameterError(f"{what}: {given!r:.60} is not a list of numbers, one for each class.")
    if len(given) != classes:
        raise ParameterError(f"{what}: {len(given)} numbers for {classes} classes.")
    return tuple(None if one is None else float(one) for one in given)


def _is_number(one: Any) -> bool:
    return one is None or (isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < LARGEST)


def _shares(given: Any, classes: int) -> str | tuple[float | None, ...] | None:
    return given if given is None or given == "equal" else _numbers(given, "the shares of the classes", classes)
