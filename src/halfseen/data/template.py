"""The description of a container: enough to build tables of the same library, names and dtypes on another machine.

No cell of the user's table is kept. For a dtype that cannot be described the library chooses one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from halfseen.data.counts import SparseSource
from halfseen.data.frames import Source, read
from halfseen.errors import DataError, HalfseenWarning, warn

__all__ = ["described", "rebuilt"]

_PANDAS = re.compile(r"(u?int|float|U?Int|Float)(8|16|32|64)|bool|boolean|object")
_POLARS = re.compile(r"U?Int(8|16|32|64|128)|Float(32|64)|Boolean|String|Categorical|Null")
_ARROW = re.compile(r"u?int(8|16|32|64)|halffloat|float|double|bool|null|(large_)?string|string_view")
_DECIMAL = re.compile(r"decimal128\((\d{1,2}), (\d{1,2})\)")


def described(source: Source) -> dict[str, Any]:
    """Return the library, labels and dtypes of a table as plain values.

    Examples
    --------
    >>> import pandas as pd
    >>> described(read(pd.DataFrame({"size": [1.5], "n": [2]})))["columns"]
    [{'label': 'size', 'dtype': 'float64'}, {'label': 'n', 'dtype': 'int64'}]
    """
    if isinstance(source, SparseSource):
        return {"library": "scipy", "n_columns": source.counts.n_words}
    if source.backend is None or source.frame is None:
        return {"library": None, "n_columns": len(source.names)}
    library = source.backend.value
    words = {"pandas": _describe_pandas, "polars": _describe_polars, "pyarrow": _describe_arrow}.get(
        library, _no_description
    )
    columns = [source.frame.get_column(label) for label in source.frame.columns]
    return {
        "library": library,
        "columns": [
            {"label": _label(label), **words(series)}
            for label, series in zip(source.frame.columns, columns, strict=True)
        ],
    }


def rebuilt(description: Mapping[str, Any]) -> Source:
    """Return a table of one row with the library, labels and dtypes described.

    If the library is not installed: an array, with a warning.
    """
    library = description["library"]
    if library is None:
        return read(np.zeros((1, _size(description["n_columns"]))))
    if library == "scipy":
        return SparseSource(sparse.csr_array((1, _size(description["n_columns"]))))
    columns = description["columns"]
    build = {"pandas": _pandas_frame, "polars": _polars_frame, "pyarrow": _arrow_frame}.get(library)
    if build is None or not find_spec(library):
        warn(
            f"the model was fitted to a table of {library}, which is not installed: arrays are returned.",
            HalfseenWarning,
        )
        return read(np.zeros((1, len(columns))))
    return read(build(columns))


def _size(n_columns: Any) -> int:
    if not isinstance(n_columns, int) or not 0 < n_columns < 10**7:
        raise DataError(f"a table cannot have {n_columns!r:.80} columns.")
    return n_columns


def _label(label: Any) -> Any:
    """Return the label of a column; other than plain values become text."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, str | int | float) else str(plain)


def _no_description(series: nw.Series[Any]) -> dict[str, Any]:
    return {"dtype": None}


# ---- pandas ------------------------------------------------------------------------------------------------------


def _describe_pandas(series: nw.Series[Any]) -> dict[str, Any]:
    import pandas as pd

    dtype = series.to_native().dtype
    if isinstance(dtype, pd.CategoricalDtype):
        levels = dtype.categories.tolist()
        inside = _describe_pandas(nw.from_native(dtype.categories.to_series(), series_only=True))
        return {"dtype": "category", "levels": levels, "ordered": bool(dtype.ordered), "of": inside}
    if isinstance(dtype, pd.StringDtype):
        return {"dtype": "string", "storage": dtype.storage, "nan": dtype.na_value is not pd.NA}
    if isinstance(dtype, pd.ArrowDtype):
        return {"dtype": "arrow", "type": str(dtype.pyarrow_dtype)}
    if not _PANDAS.fullmatch(str(dtype)):
        return {"dtype": None}
    return {"dtype": str(dtype), "text": series.dtype == nw.String} if str(dtype) == "object" else {"dtype": str(dtype)}


def _pandas_frame(columns: list[Mapping[str, Any]]) -> Any:
    import pandas as pd

    frame = pd.concat([_pandas_cell(column) for column in columns], axis=1)
    frame.columns = pd.Index([column["label"] for column in columns])
    return frame


def _pandas_cell(column: Mapping[str, Any]) -> Any:
    """Return a series of one row; narwhals reads a column of objects to see whether it holds text."""
    import pandas as pd

    dtype = _pandas_dtype(column)
    if str(dtype) == "object":
        return pd.Series(["" if column.get("text", True) else 0], dtype=object)
    return pd.Series([0], dtype=dtype) if isinstance(dtype, np.dtype) else pd.Series([None], dtype=dtype)


def _pandas_dtype(words: Mapping[str, Any]) -> Any:
    import pandas as pd

    name = words["dtype"]
    if name == "category":
        levels = pd.Index(words["levels"], dtype=_pandas_dtype(words["of"]))
        return pd.CategoricalDtype(levels, bool(words["ordered"]))
    if name == "string":
        storage = words["storage"] if words["storage"] == "python" or find_spec("pyarrow") else "python"
        return pd.StringDtype(storage, na_value=np.nan) if words["nan"] else pd.StringDtype(storage)
    if name == "arrow" and find_spec("pyarrow"):
        return pd.ArrowDtype(_arrow_type({"dtype": words["type"]}))
    return pd.api.types.pandas_dtype(name) if isinstance(name, str) and _PANDAS.fullmatch(name) else np.dtype(object)


# ---- Polars ------------------------------------------------------------------------------------------------------


def _describe_polars(series: nw.Series[Any]) -> dict[str, Any]:
    dtype = series.to_native().dtype
    name = type(dtype).__name__
    if name == "Enum":
        return {"dtype": "Enum", "levels": dtype.categories.to_list()}
    if name == "Decimal":
        return {"dtype": "Decimal", "precision": dtype.precision, "scale": dtype.scale}
    return {"dtype": name if _POLARS.fullmatch(name) else None}


def _polars_frame(columns: list[Mapping[str, Any]]) -> Any:
    import polars as pl

    return pl.DataFrame([pl.Series(column["label"], [None], dtype=_polars_dtype(column)) for column in columns])


def _polars_dtype(words: Mapping[str, Any]) -> Any:
    import polars as pl

    name = words["dtype"]
    if name == "Enum":
        return pl.Enum(words["levels"])
    if name == "Decimal":
        return pl.Decimal(words["precision"], words["scale"])
    return getattr(pl, name) if isinstance(name, str) and _POLARS.fullmatch(name) else pl.Float64


# ---- Arrow -------------------------------------------------------------------------------------------------------


def _describe_arrow(series: nw.Series[Any]) -> dict[str, Any]:
    import pyarrow as pa

    kind = series.to_native().type
    if not pa.types.is_dictionary(kind):
        return {"dtype": str(kind)}
    return {
        "dtype": "dictionary",
        "of": str(kind.value_type),
        "index": str(kind.index_type),
        "ordered": bool(kind.ordered),
    }


def _arrow_frame(columns: list[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    cells = [pa.array([None], _arrow_type(column)) for column in columns]
    return pa.table(cells, names=[column["label"] for column in columns])


def _arrow_type(words: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    name = words["dtype"]
    if name == "dictionary":
        index, inside = _arrow_type({"dtype": words["index"]}), _arrow_type({"dtype": words["of"]})
        return pa.dictionary(index, inside, bool(words["ordered"]))
    if isinstance(name, str) and (decimal := _DECIMAL.fullmatch(name)):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return pa.type_for_alias(name) if isinstance(name, str) and _ARROW.fullmatch(name) else pa.float64()
