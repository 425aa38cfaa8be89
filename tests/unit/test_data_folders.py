"""Folders and patterns: several files of one format are one table."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.data import read
from halfseen.errors import DataError, ParameterError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"color": RNG.choice(["red", "blue"], 90), "size": RNG.normal(size=90).round(3), "n": RNG.integers(0, 50, 90)}
)
PARTS = [FRAME[:30], FRAME[30:60], FRAME[60:]]
WRITE = {
    ".csv": lambda part, path: part.to_csv(path, index=False),
    ".csv.gz": lambda part, path: part.to_csv(path, index=False),
    ".tsv": lambda part, path: part.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda part, path: part.to_parquet(path),
    ".jsonl": lambda part, path: part.to_json(path, orient="records", lines=True, double_precision=15),
    ".json": lambda part, path: part.to_json(path, orient="records", double_precision=15),
}


def folder_of(folder, suffix, parts=PARTS):
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(parts):
        WRITE[suffix](part, folder / f"part-{number}{suffix}")
    return folder


def rows(table):
    return table.__halfseen_frame__().to_pandas()


@pytest.mark.parametrize("suffix", WRITE)
def test_a_folder_and_a_pattern_are_one_table(tmp_path, suffix):
    folder = folder_of(tmp_path / "visits", suffix)
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").write_text("no,table\n")
    whole = hs.LatentClass(2, n_init=1, random_state=0).fit(FRAME)
    for table in (hs.open_table(folder), hs.open_table(glob=str(folder / f"*{suffix}"))):
        pd.testing.assert_frame_equal(rows(table), FRAME, check_dtype=False)
        assert table.n_rows == 90
        assert hs.LatentClass(2, n_init=1, random_state=0).fit(table).loglik_ == whole.loglik_
    some = hs.open_table(glob=str(folder / "part-[02]*"))
    pd.testing.assert_frame_equal(rows(some), pd.concat(PARTS[::2], ignore_index=True), check_dtype=False)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_larger_than_memory(tmp_path, suffix):
    big = pd.DataFrame(RNG.normal(size=(30_000, 3)).round(6), columns=list("abc"))
    folder = folder_of(tmp_path / "big", suffix, [big[:10_000], big[10_000:]])
    streamed = read(hs.open_table(folder, memory="200KB"))
    assert streamed.streams
    one = hs.GaussianMixture(1, random_state=0).fit(hs.open_table(folder, memory="200KB"))
    assert one.loglik_ == hs.GaussianMixture(1, random_state=0).fit(big).loglik_


def test_folders_named_by_a_value_make_a_column(tmp_path):
    for year, part in zip((2024, 2025, 2026), PARTS, strict=True):
        (tmp_path / f"year={year}").mkdir()
        part.to_parquet(tmp_path / f"year={year}" / "part.parquet")
    found = rows(hs.open_table(tmp_path))
    assert found["year"].value_counts().to_dict() == {2024: 30, 2025: 30, 2026: 30}


def test_a_column_that_is_text_in_one_file_is_text_in_all(tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "a.csv").write_text("x,y\n1,\n2,\n")
    (folder / "b.csv").write_text("y;x\n0.5;3\nb;4\n")
    found = rows(hs.open_table(folder))
    assert found["x"].tolist() == [1, 2, 3, 4]
    assert found["y"].tolist()[2:] == ["0.5", "b"]
    assert found["y"].isna().tolist() == [True, True, False, False]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_with_other_columns_are_refused(tmp_path, suffix):
    folder = folder_of(tmp_path / "odd", suffix, [FRAME, FRAME.drop(columns="n").assign(m=1)])
    with pytest.raises(DataError, match=r"part-1.* lacks n and also has m, unlike .*part-0.*same columns"):
        hs.open_table(folder)


def test_what_is_no_table_is_refused_in_words(tmp_path):
    with pytest.raises(DataError, match="no data files in it"):
        hs.open_table(tmp_path)
    folder_of(tmp_path / "a", ".csv")
    with pytest.raises(DataError, match=r"no file matches .*\.parquet"):
        hs.open_table(glob=str(tmp_path / "a" / "*.parquet"))
    with pytest.raises(ParameterError, match="not both"):
        hs.open_table(tmp_path / "a", glob="*.csv")
    with pytest.raises(ParameterError, match="name them in the query"):
        hs.open_table(tmp_path / "a", sql="SELECT * FROM data")
    FRAME.to_parquet(tmp_path / "a" / "more.parquet")
    with pytest.raises(DataError, match=r"several formats: 3 \.csv, 1 \.parquet.*glob="):
        hs.open_table(tmp_path / "a")
    (tmp_path / "a" / "more.parquet").unlink()
    (tmp_path / "a" / "none.csv").touch()
    with pytest.raises(DataError, match=r"none\.csv is empty"):
        hs.open_table(tmp_path / "a")
    (tmp_path / "b").mkdir()
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / "b" / name).write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="no Parquet file"):
        hs.open_table(tmp_path / "b")


def test_a_query_over_a_folder_of_parquet(tmp_path):
    folder = folder_of(tmp_path / "q", ".parquet")
    found = rows(hs.open_table(folder, sql="SELECT size, n FROM data WHERE n < 25"))
    assert len(found) == (FRAME["n"] < 25).sum()


def test_a_file_name_with_special_characters_stays_one_file(tmp_path):
    path = tmp_path / "a[1]*.csv"
    FRAME.to_csv(path, index=False)
    pd.testing.assert_frame_equal(rows(hs.open_table(path)), FRAME, check_dtype=False)
    folder = tmp_path / "b[1]"
    folder_of(folder, ".parquet")
    pd.testing.assert_frame_equal(rows(hs.open_table(folder)), FRAME, check_dtype=False)


def test_a_folder_at_the_command_line(tmp_path):
    folder = folder_of(tmp_path / "visits", ".csv")
    done = CliRunner().invoke(app, ["fit", str(folder), "-k", "1", "-o", str(tmp_path / "m.halfseen")])
    assert done.exit_code == 0, done.output
    assert hs.load(tmp_path / "m.halfseen").bic() == pytest.approx(hs.LatentClass(1).fit(FRAME).bic())
