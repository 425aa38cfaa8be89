"""Small real tables that come with the library, for examples and first steps; and a few sentences."""

import csv
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Literal

import narwhals as nw

from halfseen.errors import ParameterError

__all__ = ["load_earthquakes", "load_penguins", "load_votes", "path_of"]

PENGUINS = {
    "species": str,
    "island": str,
    "bill_length_mm": float,
    "bill_depth_mm": float,
    "flipper_length_mm": int,
    "body_mass_g": int,
    "sex": str,
    "year": int,
}


def load_earthquakes() -> Any:
    """Load the number of major earthquakes (magnitude 7 and above) in the world in each year from 1900 to 2006.

    Returns
    -------
    table : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        107 rows: year and count; of the first of these three libraries that is installed.

    Notes
    -----
    Counted from the catalogue of the US Geological Survey (public domain), as in table 1.1 of: Zucchini W, MacDonald IL
    (2009), *Hidden Markov Models for Time Series*.

    Examples
    --------
    >>> from halfseen.datasets import load_earthquakes
    >>> load_earthquakes().shape
    (107, 2)
    """
    return _read("earthquakes.csv", {"year": int, "count": int})


def load_penguins() -> Any:
    """Load the Palmer penguins: 344 birds of three species, with missing values.

    Two birds were not measured at all, and the sex of eleven (these two among them) is not known.

    Returns
    -------
    table : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        344 rows and the columns species, island, bill_length_mm, bill_depth_mm, flipper_length_mm,
        body_mass_g, sex and year; of the first of these three libraries that is installed.

    Raises
    ------
    ImportError
        If none of the three libraries is installed.

    Notes
    -----
    Collected by Kristen Gorman at Palmer Station, Antarctica, 2007-2009. Published as: Horst AM, Hill AP,
    Gorman KB (2020), *palmerpenguins: Palmer Archipelago (Antarctica) penguin data*,
    doi:10.5281/zenodo.3960218. Licence: CC0 (public domain).

    Examples
    --------
    >>> from halfseen.datasets import load_penguins
    >>> penguins = load_penguins()
    >>> penguins.shape
    (344, 8)
    """
    return _read("penguins.csv", PENGUINS)


def load_votes() -> Any:
    """Load the votes of 1984: how 435 members of the US House of Representatives voted on 16 bills, 392 values missing.

    A missing value means that a member did not vote, or that the position is not known.

    Returns
    -------
    table : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        435 rows: party, and for each bill y, n or missing; of the first of these three libraries that is installed.

    Notes
    -----
    Collected by the Congressional Quarterly Almanac, 98th Congress, 2nd session 1984. Published as: Congressional
    Voting Records (1987), UCI Machine Learning Repository, doi:10.24432/C5C01P. Licence: CC BY 4.0. Changes: the
    columns are named in one style, and an unknown vote is an empty cell.

    Examples
    --------
    >>> from halfseen.datasets import load_votes
    >>> load_votes().shape
    (435, 17)
    """
    return _read("votes.csv", None)


TABLES = ("penguins", "votes", "earthquakes")
TEXTS = ("english.txt", "english.cfg", "pairs.de", "pairs.en", "english.dict")
# sentences, a grammar of them, translations, and pronunciations


def path_of(name: str) -> str:
    """Return the path of the file of a table, such as "penguins", or of a text, such as "english.txt"."""
    if name not in TABLES + TEXTS:
        raise ParameterError(f"there is no example {name!r}. Examples: {', '.join(TABLES + TEXTS)}.")
    return str(files(__name__).joinpath(f"{name}.csv" if name in TABLES else name))


def _read(name: str, kinds: dict[str, type] | None) -> Any:
    """Read a CSV file of this folder, as text unless `kinds` says otherwise; an empty cell is a missing value."""
    rows = list(csv.DictReader(files(__name__).joinpath(name).read_text(encoding="utf-8").splitlines()))
    kinds = kinds or dict.fromkeys(rows[0], str)
    columns = {column: [kind(row[column]) if row[column] else None for row in rows] for column, kind in kinds.items()}
    return nw.from_dict(columns, backend=_table_library()).to_native()


def _table_library() -> Literal["pandas", "polars", "pyarrow"]:
    if find_spec("pandas"):
        return "pandas"
    if find_spec("polars"):
        return "polars"
    if find_spec("pyarrow"):
        return "pyarrow"
    raise ImportError(
        "the datasets need pandas, polars or pyarrow. Install one of them, for example: pip install pandas"
    )
