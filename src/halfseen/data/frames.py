"""Reading and building tables: pandas, Polars, PyArrow and others through narwhals, NumPy arrays, nested lists.

A *source* is the user's table behind one small interface. It returns its columns one at a time, each as a *raw column*
in one of three forms, for all libraries and dtypes:

======== ===================== ==================================================== ==================
type     values                from                                                 missing cells are
======== ===================== ==================================================== ==================
number   float64               ints and floats of all sizes, nullable or not,       NaN
                               Decimal, Fraction
bool     float64 (0 and 1)     bool, nullable or not                                NaN
text     object (str)          str of all sorts                                     None
======== ===================== ==================================================== ==================

The type is inferred from the cells, never from the dtype: an object column of ints holds numbers, and so does a column
without any observed cell. Missing are NaN, None, ``pd.NA``, ``pd.NaT``, null of Polars and Arrow, and
masked cells of NumPy; the empty string is a text like any other. Integers beyond 2**53 are read as the nearest float64.

A source also returns results in the user's own library: `Source.like` builds a new table, `Source.fill` a copy
with some cells filled in, `frame_from_dict` a small table of results.
"""

from __future__ import annotations

import datetime
import numbers
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from halfseen.errors import DataError, DataTypeError

__all__ = ["RawColumn", "Source", "frame_from_dict", "read"]

CellType: TypeAlias = Literal["number", "bool", "text"]
Cells: TypeAlias = tuple[Sequence[int] | NDArray[Any], Sequence[Any] | NDArray[Any]]  # rows, and a value for each

_PLURAL = {"number": "numbers", "bool": "True/False", "text": "text"}
_BY_CAST = (nw.Boolean, nw.Decimal, nw.Int128, nw.UInt128)  # dtypes that NumPy has no number for


@dataclass(frozen=True)
class RawColumn:
    """One column as it was given, in one of three forms (see the module).

    Parameters
    ----------
    values : (N,) array
        float64 for numbers and bools, objects of type str for text.
    missing : (N,) bool array
        Which cells are missing.
    type : {"number", "bool", "text"}
        What the observed cells hold.
    levels : tuple or None
        Levels declared by the container, seen or not (pandas category, Polars Enum, Arrow dictionary); None when it is
        not of a categorical dtype. An empty tuple: categorical, with nothing declared beyond the values.
    ordered : bool
        Whether the order of the levels was declared.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_]
    type: CellType
    levels: tuple[Any, ...] | None = None
    ordered: bool = False


class CodedColumn(RawColumn):
    """A raw column of text as codes into its distinct values: each text is processed once, not in every cell.

    Parameters
    ----------
    codes : (N,) integer array
        Which text each cell holds; -1 where missing.
    texts : sequence of str
        Distinct texts. Some may occur in no cell.
    levels, ordered : as in `RawColumn`

    Examples
    --------
    >>> CodedColumn(np.array([1, -1, 0]), ["a", "b"]).values
    array(['b', None, 'a'], dtype=object)
    """

    codes: NDArray[np.integer[Any]]
    texts: tuple[str, ...]

    def __init__(
        self,
        codes: NDArray[np.integer[Any]],
        texts: Sequence[str],
        levels: tuple[Any, ...] | None = None,
        ordered: bool = False,
    ) -> None:
        fields = {"codes": codes, "texts": tuple(texts), "missing": codes < 0, "type": "text"}
        self.__dict__.update(fields, levels=levels, ordered=ordered)

    @cached_property
    def values(self) -> NDArray[Any]:
        """The cells as Python objects."""
        return np.array([*self.texts, None], dtype=object)[self.codes]  # -1 is None

    @property
    def seen(self) -> list[str]:
        """The texts that occur in some cell."""
        held = np.zeros(len(self.texts) + 1, dtype=bool)
        held[self.codes] = True
        return [text for text, used in zip(self.texts, held, strict=False) if used]


class Source(ABC):
    """A user's table: columns out one at a time, results back in the same library. Made by `read`.

    Attributes
    ----------
    names : tuple of str
        Column names; "x0", "x1", ... for arrays.
    named : bool
        Whether the names are the user's.
    n_rows : int
    backend : narwhals.Implementation or None
        The library of a data frame; None for arrays and lists.
    weight, target : (N,) arrays or None
        Row weights and labels that came with the table.
    line_of : callable or None
        The line of a row in the file that the table comes from, None where there are no lines; None for other tables.
    as_text : collection of str
        Columns that the user asked to be read as text.
    streams : bool
        Whether the table is outside memory and must be read by `batches`.
    elsewhere : bool
        Whether other processes hold the rows, and learn and encode them.
    memory_limit : int
        Bytes of memory to use for a table outside memory.
    workers : int
        Threads that read a table outside memory. No result depends on it.
    n_entries : int
        About how many different words the texts of a table outside memory have, all together.
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    backend: nw.Implementation | None
    of_file: bool = False  # the description of a file: its rows came in no library of the user's
    weight: NDArray[np.float64] | None = None
    target: Any = None
    line_of: Callable[[int], int | None] | None = None
    as_text: Collection[str] = ()
    streams: bool = False
    elsewhere: bool = False
    memory_limit: int = 0
    workers: int = 1
    n_entries: int = 0

    @property
    def n_labels(self) -> int:
        """The number of labels to give: one for each row."""
        return self.n_rows

    @abstractmethod
    def column(self, j: int) -> RawColumn:
        """Column `j`, converted now and not kept."""

    @property
    def frame(self) -> nw.DataFrame[Any] | None:
        """The table as narwhals sees it; None for arrays and lists."""
        return None

    def where(self, row: int) -> str:
        """The place of a row in words: its line in a file of text, else its number."""
        line = None if self.line_of is None else self.line_of(row)
        return f"row {row}" if line is None else f"line {line}"

    def numbers(self) -> NDArray[Any] | None:
        """All cells as an array of numbers, NaN where missing, if the user passed one; else None."""
        return None

    def words(self, j: int) -> tuple[tuple[Any, ...], Any] | None:
        """The words of column `j` and their `Counts`, if it has been tokenized; else None."""
        return None

    def options(self, j: int) -> tuple[tuple[str, Any], ...]:
        """The options with which column `j` was tokenized; empty if it was not."""
        return ()

    def batches(self) -> Iterator[Source]:
        """Batches of rows, each in memory."""
        yield self

    def head(self) -> Source | None:
        """The first rows of a table outside memory that is read here; None for others."""
        return None

    def learn(self, kinds: Mapping[int, str], by_choice: bool) -> tuple[Any, ...]:
        """Infer the columns of a table outside memory; `kinds` are given, by position."""
        raise NotImplementedError

    def weighing(self, unlabeled: float) -> Source:
        """The source with rows without a label counting so much, if other processes hold them."""
        raise NotImplementedError

    def tokenised(self, columns: Sequence[int], options: tuple[tuple[str, Any], ...], length: Any) -> Source:
        """The source with some columns as text, if other processes hold the rows; arguments as of `text.tokenised`."""
        raise NotImplementedError

    def encoded(self, schema: Any, evidence: Any) -> Any:
        """Have the rows encoded by those who hold them."""
        raise NotImplementedError

    def grouped(self) -> Source | None:
        """The same rows with equal ones merged outside memory, their numbers as weights; None if not possible."""
        return None

    def keep_codes(self) -> Source:
        """The same source; it may cache the codes of text."""
        return self

    def for_sklearn(self, X: Any) -> Any:
        """What scikit-learn reads names and the number of columns from, if not `X` itself."""
        return X

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Source:
        """Some rows of the table."""

    def template(self) -> Source:
        """The same table cut to its first row: enough for `like`, light enough to keep."""
        return self.take(np.zeros(1, dtype=np.intp))

    @abstractmethod
    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Any:
        """Build a new table of the same library, names and (where the values allow it) dtypes.

        Parameters
        ----------
        columns : sequence of (M,) sequences
            The values of each column, None for a missing one.

        Returns
        -------
        container
            A data frame with a fresh index. For arrays and lists an array: float64 when all columns are of numbers,
            else object. Floats for an integer column stay floats.

        Examples
        --------
        >>> read([[1, 2.5], [2, 3.5]]).like([[1, 1], [0.25, None]])
        array([[1.  , 0.25],
               [1.  ,  nan]])
        """

    @abstractmethod
    def fill(self, cells: Mapping[int, Cells]) -> Any:
        """Copy the table, with some of its missing cells filled in.

        Parameters
        ----------
        cells : mapping of int to (rows, values)
            For some columns, which rows to fill and with what. Values for an integer column are rounded.

        Returns
        -------
        container
            The same library (an array for lists), and the same dtypes, index and other cells.

        Examples
        --------
        >>> read(np.array([[1.0, np.nan], [2.0, 3.0]])).fill({1: ([0], [9.0])})
        array([[1., 9.],
               [2., 3.]])
        """


def read(X: Any, counts: bool = False) -> Source:
    """Read a table from any container, without copying it.

    Parameters
    ----------
    X : data frame, array or nested list of shape (N, D)
        Any eager data frame known to narwhals, a NumPy array (masked ones too), an object with ``__array__``, a list
        of rows, or a table in a file (`open_table`).
    counts : bool
        Whether a sparse matrix is accepted, as counts of words.

    Raises
    ------
    DataError
        No rows, no columns, not 2-D, or two columns of one name.
    DataTypeError
        Sparse matrices and lazy frames.

    Examples
    --------
    >>> source = read([["a", 1], [None, 2]])
    >>> source.names, source.n_rows
    (('x0', 'x1'), 2)
    >>> source.column(0).values, source.column(1).values
    (array(['a', None], dtype=object), array([1., 2.]))
    """
    if isinstance(X, Source):
        return X
    if hasattr(X, "__halfseen_source__"):  # a table in a file
        opened: Source = X.__halfseen_source__()
        return opened
    if sparse.issparse(X) and counts:
        from halfseen.data.counts import SparseSource  # a source of its own, built on this module

        return SparseSource(X)
    if sparse.issparse(X):
        raise DataTypeError(
            f"sparse data (a {type(X).__name__} of shape {X.shape}) is not supported: its zeros would be read as "
            "observed zeros. Pass X.toarray() if they are; NaiveBayes and LatentClass take it as counts."
        )
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"{error}. Rename or drop all but one.") from None
    if isinstance(frame, nw.LazyFrame):
        rows = {"dask": "compute", "pyspark": "toPandas"}.get(type(X).__module__.partition(".")[0], "collect")
        raise DataTypeError(f"a lazy frame ({type(X).__module__}) holds no rows yet. Pass X.{rows}().")
    return _FrameSource(frame) if isinstance(frame, nw.DataFrame) else _ArraySource(X)


def frame_from_dict(data: Mapping[str, Any], like: Source | None = None) -> Any:
    """Build a small table of results in the user's library.

    Parameters
    ----------
    data : mapping of str to (M,) sequence
        Name and values of each column.
    like : Source, optional
        Whose library to use. For arrays, lists and files, and without it: the first installed of pandas, Polars and
        PyArrow.

    Examples
    --------
    >>> frame_from_dict({"component": [0, 1], "weight": [0.25, 0.75]})
       component  weight
    0          0    0.25
    1          1    0.75
    """
    backend: Any = None if like is None or like.of_file else like.backend
    if backend is None:
        backend = next((library for library in ("pandas", "polars", "pyarrow") if find_spec(library)), None)
    if backend is None:
        raise ImportError("a table of results needs a data frame library. Run: pip install pandas (or polars).")
    try:
        return nw.from_dict(data, backend=backend).to_native()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{error.object!r:.80} has half of a surrogate pair, which data frames cannot hold. Replace such "
            "characters: text.encode('utf-8', 'replace').decode()."
        ) from None


# ---------------------------------------------------------------------------------------------------- the two sources


def _flat_texts(array: Any) -> str | None:
    """Say how to pass a list of texts, which is not a table; None for anything else."""
    values = np.asarray(array)
    if values.ndim != 1 or not len(values) or not isinstance(values[0], str):
        return None
    return (
        f"Expected 2D array, got 1D array instead: {len(values):,} texts, the first {str(values[0])[:40]!r}. Texts are "
        "a table of one column: pass X[[name]] of a data frame, or [[text] for text in X]. Reshape your data."
    )


class _ArraySource(Source):
    """A NumPy array or a list of rows."""

    def __init__(self, X: Any) -> None:
        array = X if isinstance(X, np.ma.MaskedArray) else _array_of(X)
        try:
            checked = check_array(
                np.ma.getdata(array), dtype=None, ensure_all_finite=False, input_name="X", estimator="halfseen"
            )
        except ValueError as error:
            raise DataError(_flat_texts(np.ma.getdata(array)) or str(error)) from None
        self._array = array if isinstance(array, np.ma.MaskedArray) else checked
        if self._array.dtype.kind in "mM":
            raise DataTypeError(f"X is an array of {self._array.dtype}. {_ADVICE_ON_DATES}")
        self.n_rows, n_columns = checked.shape
        self.names = tuple(f"x{j}" for j in range(n_columns))
        self.named = False
        self.backend = None

    def column(self, j: int) -> RawColumn:
        cells, where = self._array[:, j], f"column {self.names[j]!r}"
        if isinstance(cells, np.ma.MaskedArray):
            if np.ma.is_masked(cells):
                return _from_objects(cells.tolist(), where)  # masked cells become None
            cells = cells.data
        if cells.dtype.kind in "iufb":
            return _from_numbers(cells, "bool" if cells.dtype.kind == "b" else "number", where)
        return _from_objects(cells.tolist(), where)

    def for_sklearn(self, X: Any) -> Any:
        return self._array if isinstance(X, Source) else X

    def numbers(self) -> NDArray[Any] | None:
        plain = not isinstance(self._array, np.ma.MaskedArray) and self._array.dtype.kind in "iuf"
        return self._array if plain and self._array.dtype != np.uint64 else None  # uint64 does not fit into int64

    def take(self, rows: NDArray[np.intp]) -> Source:
        return _ArraySource(self._array[rows])

    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> NDArray[Any]:
        raws = [_from_objects(column, f"column {name!r}") for column, name in zip(columns, self.names, strict=True)]
        if all(raw.type == "number" for raw in raws):
            return np.column_stack([raw.values for raw in raws])
        return np.column_stack([_object_array(column) for column in columns])

    def fill(self, cells: Mapping[int, Cells]) -> NDArray[Any]:
        out = self._array.copy()
        for j, (rows, values) in cells.items():
            if out.dtype.kind == "U":  # widen for longer strings
                out = out.astype(np.result_type(out.dtype, np.asarray(values, dtype=str)))
            if out.dtype.kind in "fiub" and any(isinstance(value, str) for value in values):
                out = out.astype(object)  # a column without any text in it was read as numbers
            whole = out.dtype.kind in "iu"
            out[np.asarray(rows, dtype=np.intp), j] = [round(value) for value in values] if whole else values
        return out


class _FrameSource(Source):
    """A data frame, through narwhals."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self._codes: dict[int, CodedColumn] | None = None
        self._labels = frame.columns
        self.names = tuple(map(str, self._labels))
        self.named = True
        self.backend = frame.implementation
        self.n_rows = len(frame)
        if len(set(self.names)) < len(self.names):
            twice = Counter(self.names).most_common(1)[0][0]
            raise DataError(f"Expected unique column names, got {twice!r} twice. Rename or drop one of them.")
        for j, name in enumerate(self.names):
            if not name.isascii() and name.encode(errors="replace").decode() != name:
                raise DataError(
                    f"the name of column {j}, {name!a}, is not valid text: it has half of a pair (a lone surrogate). "
                    "Rename it."
                )
        for size, what in ((self.n_rows, "sample(s)"), (len(self.names), "feature(s)")):
            if not size:  # the wording of scikit-learn
                raise DataError(
                    f"Found array with 0 {what} (shape={(self.n_rows, len(self.names))}) while a minimum of 1 is "
                    "required."
                )

    @property
    def frame(self) -> nw.DataFrame[Any]:
        return self._frame

    def column(self, j: int) -> RawColumn:
        series, where = self._series(j), f"column {self.names[j]!r}"
        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            numbers = series.cast(nw.Float64) if isinstance(dtype, _BY_CAST) else series
            return _from_numbers(numbers.to_numpy(), "bool" if dtype == nw.Boolean else "number", where)
        if type(getattr(series.to_native(), "dtype", None)).__name__ == "SparseDtype":
            raise DataTypeError(f"{where} is sparse, which is not supported. Pass X.sparse.to_dense().")
        if not isinstance(dtype, (nw.Categorical, nw.Enum)):
            return self._coded(j) or _from_objects(series.to_list(), where)
        levels, ordered = _declared_levels(series)
        coded = _coded(series, levels, ordered)
        if coded is not None:
            return coded
        declared = _from_objects(levels, f"levels of {where}")
        raw = _from_objects(series.to_list(), where, if_empty=declared.type)
        return replace(raw, levels=levels, ordered=ordered)

    def _series(self, j: int) -> nw.Series[Any]:
        """Column `j`, by its label: by its position it would take longer the more columns there are."""
        return self._frame.get_column(self._labels[j])

    def keep_codes(self) -> Source:
        """Cache the codes of text, for a table that is read twice: to infer its columns and to encode it."""
        self._codes = {}
        return self

    def _coded(self, j: int) -> CodedColumn | None:
        if self._codes is None:
            return _coded(self._series(j))
        if j not in self._codes and (coded := _coded(self._series(j))) is not None:
            self._codes[j] = coded
        return self._codes.get(j)

    def for_sklearn(self, X: Any) -> Any:
        return self._frame.to_native() if isinstance(X, Source) or hasattr(X, "__halfseen_source__") else X

    def take(self, rows: NDArray[np.intp]) -> Source:
        if not self._frame.implementation.is_pyarrow():
            return _FrameSource(self._frame[rows.tolist()])
        native = self._frame.to_native()
        columns = [_arrow_take(column, rows) for column in native.columns]
        return _FrameSource(nw.from_native(type(native).from_arrays(columns, schema=native.schema)))

    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Any:
        out = []
        for j, (label, values) in enumerate(zip(self._frame.columns, columns, strict=True)):
            template = self._series(j)
            if _fits(_plain(values), template.dtype):
                series = nw.from_native(_values_like(template, values), series_only=True).alias(label)
            else:
                series = nw.new_series(label, _plain(values), backend=self._frame.implementation)
            out.append(series.to_frame())
        return nw.concat(out, how="horizontal").to_native()

    def fill(self, cells: Mapping[int, Cells]) -> Any:
        frame = self._frame.clone()
        native = frame.to_native()
        for j, (rows, values) in cells.items():
            series = self._series(j)
            rows = np.asarray(rows, dtype=np.intp)
            if len(rows) == len(series) and not _can_take(values, series.dtype):
                frame = nw.from_native(native, eager_only=True).with_columns(_other_column(series, rows, values))
                native = frame.to_native()
                continue
            new = _values_like(series, values)
            if frame.implementation.is_pandas_like():
                column = series.to_native().copy()  # a view, before pandas 3
                column.iloc[rows] = new.array
                native.isetitem(j, column)
            elif frame.implementation.is_pyarrow():
                native = native.set_column(j, native.schema.field(j), _arrow_scatter(series.to_native(), rows, new))
            else:
                frame = frame.with_columns(series.scatter(rows.tolist(), nw.from_native(new, series_only=True)))
                native = frame.to_native()
        return native


# --------------------------------------------------------------------------------------------------- cells to columns

_ADVICE_ON_DATES = (
    "Turn dates and times into numbers (days since a start, say) or categories (the month, say), or drop the column."
)


def _from_numbers(cells: NDArray[Any], kind: CellType, where: str) -> RawColumn:
    """A raw column from an array of ints, floats or bools."""
    values = np.array(cells, dtype=np.float64)
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise DataError(
            f"Input X contains infinity: {where}, row {row} is {values[row]} ({infinite.sum()} in this "
            "column). Replace it by a finite number, or by NaN if it is unknown."
        )
    return RawColumn(values, np.isnan(values), kind)


def _from_objects(cells: Iterable[Any], where: str, if_empty: CellType = "number") -> RawColumn:
    """A raw column from any Python objects."""
    objects = _object_array(cells)
    types = {kind: _cell_type(kind) for kind in set(map(type, objects))}
    if None in types.values():
        row = next(row for row, cell in enumerate(objects) if types[type(cell)] is None)
        raise _unreadable(objects[row], f"{where}, row {row}")
    missing = _missing_cells(objects, types)
    found = {types[kind] for kind in set(map(type, objects[~missing]))}
    if len(found) > 1:
        raise _mixed(objects, missing, types, where)
    cell_type: Any = found.pop() if found else if_empty
    if cell_type == "text":
        objects[missing] = None
        return RawColumn(objects, missing, "text")
    objects[missing] = np.nan
    return _from_numbers(objects, cell_type, where)


def _missing_cells(objects: NDArray[Any], types: Mapping[type, Any]) -> NDArray[np.bool_]:
    """Which cells are of a type that means missing, or a NaN. No Python loop: there may be millions."""
    nothing = {kind for kind, cell_type in types.items() if cell_type == "missing"}
    missing = np.fromiter(map(nothing.__contains__, map(type, objects)), bool, len(objects))
    if "number" in types.values():
        cells = objects[~missing]
        missing[~missing] = cells != cells
    return missing


def _cell_type(kind: type) -> CellType | Literal["missing"] | None:
    """What a cell of Python type `kind` holds; None if it cannot be read. A number may still be NaN."""
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "bool"
    if issubclass(kind, np.timedelta64):  # a subclass of integer in NumPy
        return None
    if issubclass(kind, (numbers.Real, Decimal)):
        return "number"
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):  # pandas need not be installed
        return "missing"
    return None


def _unreadable(cell: Any, where: str) -> DataError:
    if isinstance(cell, (complex, np.complexfloating)):
        return DataError(
            f"Complex data not supported: {where} is {cell!r}. Pass real and imaginary parts as two columns."
        )
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    advice = _ADVICE_ON_DATES if isinstance(cell, dates) else "Convert it to one of these, or drop the column."
    return DataTypeError(
        f"{where} is {cell!r:.80}, of type {type(cell).__name__}, but each cell of the argument must be a string, "
        f"a number, True/False or missing. {advice}"
    )


def _mixed(objects: NDArray[Any], missing: NDArray[np.bool_], types: Mapping[type, Any], where: str) -> DataError:
    first: dict[str, int] = {}
    for row in np.flatnonzero(~missing):
        first.setdefault(types[type(objects[row])], int(row))
    if set(first) == {"number", "text"} and (few := _few_texts(objects, missing, where)):
        return few
    examples = " and ".join(f"{_PLURAL[kind]} (row {row}: {objects[row]!r:.80})" for kind, row in first.items())
    return DataError(f"{where} mixes {examples}. Make all its cells of one type; use None or NaN for a missing one.")


def _few_texts(objects: NDArray[Any], missing: NDArray[np.bool_], where: str) -> DataError | None:
    """The error for a column of numbers in which some cells are text; None where there are many of them."""
    from halfseen.data.nearly_numbers import OtherCells, not_numbers  # which is built on this module

    cells = OtherCells(int((~missing).sum()))
    for row in np.flatnonzero(~missing).tolist():
        if isinstance(objects[row], str):
            cells.others[objects[row]] += 1
            cells.first.setdefault(objects[row], row)
    if not cells.few:
        return None
    said = not_numbers(where, cells.n_cells, cells.others, cells.first, lambda row: f"row {row}")
    return DataError(f"{said} Make such cells None or NaN if they are missing; else make all cells of one type.")


def _declared_levels(series: nw.Series[Any]) -> tuple[tuple[Any, ...], bool]:
    """The levels of a column of categorical dtype, and whether they are ordered."""
    native, dtype = series.to_native(), series.dtype
    if isinstance(dtype, nw.Enum):  # Polars Enum, and ordered pandas categories
        return tuple(dtype.categories), True
    if series.implementation.is_pyarrow():
        levels = {level: None for chunk in native.chunks for level in chunk.dictionary.to_pylist() if level is not None}
        return tuple(levels), bool(native.type.ordered)
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "categories"):
        return tuple(native.dtype.categories.tolist()), bool(native.dtype.ordered)
    return (), False  # Polars Categorical: its pool of strings is shared between columns and declares nothing


def _coded(series: nw.Series[Any], levels: tuple[Any, ...] | None = None, ordered: bool = False) -> CodedColumn | None:
    """A column of text as codes, if the library can make them quickly; None if it cannot, or it is not text."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        if type(native.dtype).__name__ == "StringDtype":
            codes, texts = native.factorize()
        elif hasattr(native.dtype, "categories"):
            codes, texts = native.cat.codes.to_numpy(), native.dtype.categories
        else:
            return None
    elif series.implementation.is_pyarrow():
        return _coded_arrow(native, levels, ordered)
    elif series.implementation.is_polars() and find_spec("pyarrow"):
        return _coded_arrow(native.to_arrow(), levels, ordered)
    else:
        return None
    texts = texts.tolist()
    if not texts or not all(type(text) is str for text in texts):
        return None
    return CodedColumn(codes, texts, levels, ordered)


def _coded_arrow(column: Any, levels: tuple[Any, ...] | None, ordered: bool) -> CodedColumn | None:
    """An Arrow column of text as codes; None for other types."""
    import pyarrow as pa

    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    inside = str(column.type.value_type if pa.types.is_dictionary(column.type) else column.type)
    if inside not in ("string", "large_string", "string_view"):
        return None
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.dictionary(pa.int32(), pa.large_string())) if inside == "string_view" else column
        column = column.unify_dictionaries()
    else:
        column = (column.cast(pa.large_string()) if inside == "string_view" else column).dictionary_encode()
    merged = column.combine_chunks()
    texts = [] if isinstance(merged, pa.ChunkedArray) else merged.dictionary.to_pylist()
    if not texts:
        return None
    codes = merged.indices.cast(pa.int32())
    codes = (codes.fill_null(-1) if codes.null_count else codes).to_numpy(zero_copy_only=False)
    if len(set(texts)) < len(texts) or None in texts:  # an Arrow dictionary made elsewhere may have repeated entries
        return None
    return CodedColumn(codes, texts, levels, ordered)


# --------------------------------------------------------------------------------------------------- columns to cells


def _array_of(X: Any) -> NDArray[Any]:
    """An array of numbers or of objects from an array-like, with every cell as it was given.

    (``np.asarray([["a", 1]])`` would turn the 1 into text, and ``[[True, 2]]`` the True into a number.)
    """
    if not isinstance(X, (list, tuple)):
        return np.asarray(X)
    lengths = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else 0 for row in X]
    if len(set(lengths)) > 1:
        row = next(row for row, length in enumerate(lengths) if length != lengths[0])
        raise DataError(f"rows must be of one length: row 0 has {lengths[0]} cells, but row {row} has {lengths[row]}.")
    objects = np.array(X, dtype=object)
    types = {kind: _cell_type(kind) for kind in set(map(type, objects.flat))}
    if not set(types.values()) <= {"number", "missing"}:
        return objects
    cells = [np.nan if types[type(cell)] == "missing" else cell for cell in objects.flat]
    return np.array(cells, dtype=np.float64).reshape(objects.shape)


def _object_array(cells: Iterable[Any]) -> NDArray[Any]:
    """A new 1-D object array, even of nested cells; NumPy's scalars become Python's."""
    return np.fromiter(cells.tolist() if isinstance(cells, np.ndarray) else cells, dtype=object)


def _plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _can_take(values: Any, dtype: nw.dtypes.DType) -> bool:
    """Whether values are of the sort of a column; one without any value is of numbers, or of nothing, to its reader."""
    return not (dtype == nw.Unknown or (dtype.is_numeric() and any(isinstance(x, (str, bool)) for x in _plain(values))))


def _other_column(series: nw.Series[Any], rows: NDArray[np.intp], values: Any) -> nw.Series[Any]:
    """Values in place of a column without any value, in the dtype that they have."""
    cells = np.empty(len(series), dtype=object)
    cells[rows] = _plain(values)
    return nw.new_series(series.name, cells.tolist(), backend=series.implementation)


def _fits(values: list[Any], dtype: nw.dtypes.DType) -> bool:
    """Whether a column of this dtype can hold these values as they are."""
    if dtype.is_integer():
        return all(isinstance(value, (int, float)) and float(value).is_integer() for value in values)
    return _can_take(values, dtype) and not (dtype == nw.Boolean and None in values)


def _values_like(template: nw.Series[Any], values: Any) -> Any:
    """A native series of the given values in the dtype of the template."""
    native, values = template.to_native(), _plain(values)
    if template.dtype.is_integer():
        values = [round(value) for value in values]
    if template.implementation.is_pandas_like():
        return type(native)(values, dtype=object).astype(native.dtype)
    if template.implementation.is_pyarrow():
        import pyarrow as pa

        if isinstance(template.dtype, nw.Decimal):
            return pa.chunked_array([values], pa.float64()).cast(native.type)
        return pa.chunked_array([values], native.type)
    return nw.new_series(template.name, values, backend=template.implementation).cast(template.dtype).to_native()


def _arrow_scatter(column: Any, rows: NDArray[np.intp], new: Any) -> Any:
    """An Arrow column with other values in some rows: a gather from the column followed by the new values."""
    import pyarrow as pa

    source = np.arange(len(column))
    source[rows] = len(column) + np.arange(len(rows))
    return _arrow_take(pa.chunked_array([*column.chunks, *new.chunks]), source)


def _arrow_take(column: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of an Arrow column, of views of strings too, which Arrow itself cannot gather."""
    if str(column.type) == "string_view":
        return column.cast("large_string").take(rows).cast(column.type)
    return column.take(rows)
