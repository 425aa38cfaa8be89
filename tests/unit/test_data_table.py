"""Schemas, tables, chunks and weights."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfseen.data.canonical as canonical_module
from halfseen.data import CHUNK, Column, Evidence, Schema, Table, check_weight, read, read_labels
from halfseen.errors import DataError, ParameterError, UnknownCategoryWarning

NAN = float("nan")
MIXED = [["b", 1.5, 3, True], ["a", None, 3, None], [None, 2.5, 4, False]]


def table_of(rows, weight=None, labels=None, n_components=2, kinds=None):
    source = read(rows)
    evidence = None if labels is None else read_labels(labels, source.n_rows, n_components)[0]
    return Schema.learn(source, kinds).encode(source, weight, evidence)


def contents(table):
    """Everything in a table, as bytes."""
    parts = [table.weight, *table.blocks.values()]
    if table.evidence is not None:
        parts += [table.evidence.patterns, table.evidence.index]
    return [(part.shape, part.dtype, part.tobytes()) for part in parts]


# ----------------------------------------------------------------------------------------------------------- the schema


def test_learn():
    schema = Schema.learn(read(MIXED))
    assert schema.columns == (
        Column("x0", "categorical", ("a", "b")),
        Column("x1", "gaussian"),
        Column("x2", "categorical", (3, 4)),
        Column("x3", "categorical", (False, True)),
    )
    assert schema.blocks == {"categorical": (0, 2, 3), "gaussian": (1,)}
    assert schema.cardinalities("categorical") == (2, 2, 2)
    assert schema.names == ("x0", "x1", "x2", "x3")
    assert schema.block_columns("gaussian") == (Column("x1", "gaussian"),)


def test_kinds_by_name_and_by_position():
    frame = pd.DataFrame({"sex": [0, 1], "count": [3, 4], "size": [1, 2]})
    schema = Schema.learn(read(frame), {"count": "poisson", 2: "gaussian"})
    assert [column.kind.name for column in schema.columns] == ["categorical", "poisson", "gaussian"]
    assert schema.blocks == {"categorical": (0,), "poisson": (1,), "gaussian": (2,)}


@pytest.mark.parametrize(
    ("kinds", "match"),
    [
        ({"incme": "gaussian"}, "columns: there is no column 'incme' among the 2. Did you mean 'income'?"),
        ({7: "gaussian"}, "columns: there is no column 7 among the 2"),
        ({-1: "gaussian"}, "columns: there is no column -1 among the 2"),
        ({"income": "normal"}, "column 'income': unknown kind 'normal'"),
    ],
)
def test_kinds_that_cannot_be(kinds, match):
    with pytest.raises(ParameterError, match=match):
        Schema.learn(read(pd.DataFrame({"age": [1, 2], "income": [1, 2]})), kinds)


def test_arrange():
    schema = Schema.learn(read([[0, 1.5, 1, 0.5], [1, 2.5, 0, 1.5]]))
    arranged = schema.arrange({"x2": "frozen", "x3": "frozen", "x1": "tied"})
    assert arranged.blocks == {
        "categorical": (0,),
        "gaussian.tied": (1,),
        "categorical.frozen": (2,),
        "gaussian.frozen": (3,),
    }
    assert arranged.columns == schema.columns
    assert arranged.cardinalities("categorical.frozen") == (2,)
    with pytest.raises(ParameterError, match=r"treatment: there is no column 'x9'.*Did you mean 'x\d'"):
        schema.arrange({"x9": "frozen"})
    encoded = arranged.encode(read([[0, 1.5, 1, 0.5]]))
    assert {name: block.tolist() for name, block in encoded.blocks.items()} == {
        "categorical": [[0]],
        "gaussian.tied": [[1.5]],
        "categorical.frozen": [[1]],
        "gaussian.frozen": [[0.5]],
    }


def test_a_schema_without_data():
    schema = Schema.of([Column("a", "gaussian"), Column("b", "categorical", ("u", "v")), Column("c", "gaussian")])
    assert schema.blocks == {"gaussian": (0, 2), "categorical": (1,)}
    assert schema.encode(read([[1.5, "v", None]])).blocks["categorical"].tolist() == [[1]]


# --------------------------------------------------------------------------------------------------------- the encoding


def test_encode():
    table = table_of(MIXED)
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.blocks["categorical"], [[1, 0, 1], [0, 0, -1], [-1, 1, 0]])
    np.testing.assert_array_equal(table.blocks["gaussian"], [[1.5], [NAN], [2.5]])
    assert table.blocks["gaussian"].flags.c_contiguous
    assert table.weight.tolist() == [1, 1, 1]
    assert table.evidence is None


@pytest.mark.parametrize(
    ("cardinality", "dtype"), [(2, "int8"), (128, "int8"), (129, "int16"), (2**15, "int16"), (2**15 + 1, "int32")]
)
def test_codes_take_the_smallest_integers(cardinality, dtype):
    table = table_of([[str(v)] for v in range(cardinality)])
    assert table.blocks["categorical"].dtype == dtype
    assert table.blocks["categorical"].max() == cardinality - 1


def test_unknown_categories_warn_once_and_are_missing():
    schema = Schema.learn(read([["a", 1, 0.5], ["b", 2, 1.5]]))
    with pytest.warns(UnknownCategoryWarning) as caught:
        table = schema.encode(read([["z", 1, 0.5], ["z", 7, 1.5], ["y", None, 1.5]]))
    assert len(caught) == 1
    assert "column 'x0': 'z' (2x), 'y' (1x); column 'x1': 7 (1x)." in str(caught[0].message)
    assert "treated as missing" in str(caught[0].message)
    assert table.blocks["categorical"].tolist() == [[-1, 0], [-1, -1], [-1, -1]]


def test_many_unknown_categories_are_summed_up():
    schema = Schema.learn(read([["a"]]))
    with pytest.warns(UnknownCategoryWarning, match="and 15 others"):
        schema.encode(read([[f"u{v}"] for v in range(20)]))


def test_an_unknown_category_is_warned_of_once():
    schema = Schema.learn(read([["a"], ["b"]]))
    with pytest.warns(UnknownCategoryWarning, match="'c'"):
        schema.encode(read([["c"]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema.encode(read([["c"], ["a"]]))
    with pytest.warns(UnknownCategoryWarning, match=r"column 'x0': 'd' \(1x\)\.$"):
        schema.encode(read([["c"], ["d"]]))


def test_known_categories_do_not_warn():
    table = table_of(MIXED)
    with warnings.catch_warnings(record=True) as caught:
        again = table.schema.encode(read(MIXED))
    assert not caught
    assert again.blocks["categorical"].tolist() == table.blocks["categorical"].tolist()


def test_other_columns_are_refused():
    schema = Schema.learn(read(pd.DataFrame({"a": [1, 2], "b": [1, 2]})))
    with pytest.raises(
        DataError, match=r"Missing: 'b'\. New: 'c'\. If 'c' is the column 'b' under another name, rename it"
    ):
        schema.encode(read(pl.DataFrame({"a": [1], "c": [2]})))
    with pytest.raises(DataError, match=r"Missing: 'b'\. Add what is missing"):
        schema.encode(read(pl.DataFrame({"a": [1]})))
    with pytest.raises(DataError, match=r"in another order.*X = X\[\['a', 'b'\]\]"):
        schema.encode(read(pl.DataFrame({"b": [1], "a": [2]})))
    with pytest.raises(DataError, match="X has 3 features, but model is expecting 2 features as input: a, b"):
        schema.encode(read([[1, 1, 1]]))
    wide = Schema.learn(read(pd.DataFrame({f"c{j}": [1, 2] for j in range(9)})))
    with pytest.raises(DataError, match=r"'c5' and 3 more\. New: 'z'"):
        wide.encode(read(pl.DataFrame({"z": [1]})))


def test_arrays_have_no_names_to_check():
    schema = Schema.learn(read(pd.DataFrame({"a": [1, 2], "b": [1, 2]})))
    assert schema.encode(read(np.array([[1, 2]]))).blocks["categorical"].tolist() == [[0, 1]]
    unnamed = Schema.learn(read([[1, 1], [2, 2]]))
    assert unnamed.encode(read(pd.DataFrame({"a": [1], "b": [2]}))).blocks["categorical"].tolist() == [[0, 1]]


def test_decode_is_the_way_back():
    table = table_of([["b", 1.5, 3], ["a", None, 0], [None, 2.5, None]], kinds={"x2": "poisson"})
    assert table.schema.decode("categorical", table.blocks["categorical"]) == [["b", "a", None]]
    assert table.schema.decode("gaussian", table.blocks["gaussian"]) == [[1.5, None, 2.5]]
    counts = table.schema.decode("poisson", table.blocks["poisson"])[0]
    assert counts == [3, 0, None]
    assert type(counts[0]) is int
    assert table.schema.decode("categorical", np.empty((0, 1), dtype=np.int8)) == [[]]


def test_decode_gives_categories_of_their_own_type():
    schema = table_of([[True, 2, 0.5], [False, 3, 0.5]]).schema
    decoded = schema.decode("categorical", np.array([[0, 0, 0], [1, 1, 0]]))
    assert decoded == [[False, True], [2, 3], [0.5, 0.5]]
    assert [type(column[0]) for column in decoded] == [bool, int, float]


def test_a_column_never_observed():
    table = table_of([[None, 1], [None, 2]])
    assert table.schema.cardinalities("categorical") == (0, 2)
    assert table.blocks["categorical"].tolist() == [[-1, 0], [-1, 1]]
    assert table.frequencies("categorical").tolist() == [1, 1]
    assert table.schema.decode("categorical", table.blocks["categorical"])[0] == [None, None]


# ---------------------------------------------------------------------------------------------------------- the weights


def test_check_weight():
    assert check_weight(None, 2).tolist() == [1, 1]
    assert check_weight(2, 3).tolist() == [2, 2, 2]
    for weight in ([1, 0], (1.0, 0.0), np.array([1, 0], dtype=np.int8), pd.Series([1, 0]), pl.Series([1, 0])):
        values = check_weight(weight, 2)
        assert values.dtype == np.float64
        assert values.tolist() == [1, 0]
    given_weight = np.ones(2)
    assert not np.shares_memory(check_weight(given_weight, 2), given_weight)


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        ([1, 1], r"sample_weight.shape == \(2,\), expected \(3,\)!"),
        (np.ones((3, 2)), r"Sample weights must be 1D array or scalar, got 2D array of shape \(3, 2\)"),
        ([1, -0.5, -1], r"row 1 is -0.5 \(2 such rows\); weights must not be negative"),
        ([1, NAN, 1], r"row 1 is nan .*finite"),
        ([1, 1, np.inf], r"row 2 is inf .*finite"),
        ([0, 0, 0], "Sample weights must contain at least one non-zero number"),
        (["a", "b", "c"], "sample_weight must be numbers"),
    ],
)
def test_weights_that_cannot_be(weight, match):
    with pytest.raises(DataError, match=match):
        check_weight(weight, 3)


# ---------------------------------------------------------------------------------------------------- rows of the table


def test_take():
    table = table_of(MIXED, weight=[1, 2, 3], labels=[0, None, 1])
    for rows in ([2, 0], np.array([True, False, True]), slice(0, 3, 2)):
        part = table.take(rows)
        assert part.schema is table.schema
        assert sorted(part.weight.tolist()) == [1, 3]
        np.testing.assert_array_equal(part.blocks["gaussian"], table.blocks["gaussian"][rows])
        np.testing.assert_array_equal(part.evidence.log_evidence, table.evidence.log_evidence[rows])


def test_chunks_are_views_that_cover_the_table():
    n_rows = 2 * CHUNK + 5
    X = np.arange(2.0 * n_rows).reshape(-1, 2)
    table = table_of(X, weight=np.arange(1, n_rows + 1), labels=np.arange(n_rows) % 2)
    chunks = table.chunks()
    assert [chunk.n_rows for chunk in chunks] == [CHUNK, CHUNK, 5]
    assert table.n_chunks == 3
    assert [chunk.index for chunk in chunks] == [0, 1, 2]
    np.testing.assert_array_equal(np.concatenate([chunk.weight for chunk in chunks]), table.weight)
    np.testing.assert_array_equal(np.vstack([chunk.blocks["gaussian"] for chunk in chunks]), X)
    np.testing.assert_array_equal(np.vstack([chunk.log_evidence for chunk in chunks]), table.evidence.log_evidence)
    for chunk in chunks:
        assert np.shares_memory(chunk.weight, table.weight)
        assert np.shares_memory(chunk.blocks["gaussian"], table.blocks["gaussian"])
        assert np.shares_memory(chunk.evidence.index, table.evidence.index)


@pytest.mark.parametrize(("n_columns", "rows", "light"), [(1, 16384, 62528), (500, 16384, 16384)])
def test_chunks_may_be_larger_where_nothing_is_kept_for_components(n_columns, rows, light):
    """Unless their cells alone would take much memory."""
    cells = np.broadcast_to(np.arange(100.0)[:, None], (100, n_columns))
    schema = Schema.learn(read(cells))
    table = Table(schema, {"gaussian": np.empty((1_000_000, 0))}, np.broadcast_to(1.0, 1_000_000))
    assert table.chunks()[0].n_rows == rows
    assert table.n_chunks == len(table.chunks())
    assert table.mass == 1_000_000
    assert table.chunks(light=True)[0].n_rows == light
    assert sum(chunk.n_rows for chunk in table.chunks(light=True)) == 1_000_000


def test_chunks_without_labels_and_of_another_size():
    chunks = table_of([[v] for v in range(5)]).chunks(size=2)
    assert [chunk.n_rows for chunk in chunks] == [2, 2, 1]
    assert chunks[0].log_evidence is None


# ---------------------------------------------------------------------------------------------------------- the summary


def test_moments():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1, 2, 3] + [0, 5, -5]
    X[rng.random(X.shape) < 0.3] = NAN
    weight = rng.integers(0, 4, size=50).astype(float)
    mean, var, mass = table_of(X, weight).moments("gaussian")
    for d in range(3):
        seen = ~np.isnan(X[:, d])
        assert mass[d] == weight[seen].sum()
        expected = np.average(X[seen, d], weights=weight[seen])
        np.testing.assert_allclose(mean[d], expected, rtol=1e-12)
        np.testing.assert_allclose(var[d], np.average((X[seen, d] - expected) ** 2, weights=weight[seen]), rtol=1e-12)


def test_moments_far_from_zero():
    rng = np.random.default_rng(0)
    far, weight = 1e8 + rng.normal(size=(100_000, 1)), rng.random(100_000)
    near = far - 1e8  # exactly
    mean, var, _ = table_of(far, weight).moments("gaussian")
    mean_near, var_near, _ = table_of(near, weight).moments("gaussian")
    np.testing.assert_allclose(mean, 1e8 + mean_near, rtol=1e-15)
    np.testing.assert_allclose(var, var_near, rtol=1e-12)


def test_moments_of_a_column_that_the_first_rows_miss_keep_their_digits():
    rng = np.random.default_rng(0)
    near = np.where(np.arange(3 * CHUNK)[:, None] < 2 * CHUNK, NAN, rng.normal(size=(3 * CHUNK, 1)))
    mean, var, _ = table_of(near + 1e9).moments("gaussian")
    seen = near[2 * CHUNK :] + 1e9 - 1e9
    np.testing.assert_allclose(mean, 1e9 + seen.mean(), rtol=1e-15)
    np.testing.assert_allclose(var, seen.var(), rtol=1e-12)


def test_moments_of_a_column_without_weight():
    schema = Schema.learn(read([[1.5, 1.5], [2.5, 2.5]]))
    mean, var, _ = schema.encode(read([[None, 1.5]])).moments("gaussian")
    assert np.isnan([mean[0], var[0]]).all()
    assert (mean[1], var[1]) == (1.5, 0.0)


def test_frequencies():
    table = table_of([["a", 1], ["b", None], [None, 2]], weight=[1, 2, 4])
    assert table.frequencies("categorical").tolist() == [1, 2, 1, 4]


# -------------------------------------------------------------------------------------------------------- the canonical

CELLS = st.sampled_from([0.0, -0.0, 1.5, NAN])
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), CELLS, st.sampled_from([0, 1, None])), min_size=1, max_size=12
)
ANCHOR = [("a", 0.25, 0), ("b", 1.25, 1)]  # so that every table has one schema
SCHEMA = Schema.learn(read([row[:2] for row in ANCHOR]))


def drawn_table(rows, weight):
    evidence, _ = read_labels([row[2] for row in [*ANCHOR, *rows]], len(rows) + 2, 2)
    table = SCHEMA.encode(read([row[:2] for row in [*ANCHOR, *rows]]), [1.0, 1.0, *weight], evidence)
    return table.take(slice(2, None))


@given(ROWS, st.data())
def test_canonical_depends_on_the_multiset_only(rows, data):
    weight = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.7, 1.0, 3.0]), min_size=len(rows), max_size=len(rows)))
    order = data.draw(st.permutations(range(len(rows))))
    table = drawn_table(rows, weight)
    shuffled = table.take(np.array(order))
    assert contents(table.canonical()) == contents(shuffled.canonical())
    assert contents(table.canonical()) == contents(table.take(table.weight > 0).canonical())
    assert contents(table.canonical()) == contents(table.canonical().canonical())


@given(ROWS, st.data())
def test_a_row_repeated_is_a_row_of_weight_two(rows, data):
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    repeated = drawn_table(rows, np.ones(len(rows))).take(np.repeat(np.arange(len(rows)), times))
    assert contents(drawn_table(rows, times).canonical()) == contents(repeated.canonical())


@pytest.mark.parametrize("hashing", ["good", "bad"])
@given(ROWS)
def test_canonical_merges_equal_rows_only(hashing, rows):
    """Against a dictionary; a hash that is the same for all rows may merge less, and never wrongly."""
    table = drawn_table(rows, np.arange(1.0, len(rows) + 1))
    with pytest.MonkeyPatch.context() as patch:
        if hashing == "bad":
            patch.setattr(canonical_module, "hash_rows", lambda columns, n: np.zeros((2, n), dtype=np.uint64))
        merged = table.canonical()
    assert weights_by_row(merged) == weights_by_row(table)
    if hashing == "good":
        assert merged.n_rows == len(weights_by_row(table))


def weights_by_row(table):
    total = {}
    for n in range(table.n_rows):
        cells = [block[n].tolist() for block in table.blocks.values()] + [
            table.evidence.log_evidence[n].tolist() if table.evidence else []
        ]
        key = str([[cell + 0.0 for cell in part] for part in cells])
        total[key] = total.get(key, 0.0) + table.weight[n]
    return total


def test_canonical_leaves_the_table_as_it_was():
    table = table_of([["b", 1.5], ["a", 2.5], ["b", 1.5]], weight=[1, 0, 2], labels=[0, None, 0])
    before = contents(table)
    canonical = table.canonical()
    assert contents(table) == before
    assert canonical.weight.tolist() == [3]
    assert not np.shares_memory(canonical.blocks["gaussian"], table.blocks["gaussian"])


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 25])
def test_canonical_may_overwrite(at_once, monkeypatch):
    monkeypatch.setattr(canonical_module, "AT_ONCE", at_once)  # bytes: one column, two, all
    rows = [[str(v % 7), v % 5 + 0.5, v % 3 - 0.5, -0.0 if v % 2 else NAN] for v in range(100)]
    expected = contents(table_of(rows).canonical())
    table = table_of(rows)
    canonical = table.canonical(overwrite=True)
    assert contents(canonical) == expected
    assert np.shares_memory(canonical.blocks["gaussian"], table.blocks["gaussian"])


def test_canonical_has_one_zero_and_one_nan():
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    table = table_of([[0.0], [1.5]])
    odd = Table(table.schema, {"gaussian": np.array([[-0.0], [other_nan], [0.0], [NAN]])}, np.ones(4))
    plain = Table(table.schema, {"gaussian": np.array([[0.0], [NAN], [0.0], [NAN]])}, np.ones(4))
    assert contents(odd.canonical()) == contents(plain.canonical())
    assert odd.canonical().weight.tolist() == [2, 2]


def test_canonical_drops_patterns_of_rows_without_weight():
    table = table_of([["a"], ["b"], ["a"]], weight=[1, 1, 0], labels=[None, 0, 1]).canonical()
    np.testing.assert_array_equal(table.evidence.patterns, [[0, 0], [0, -np.inf]])


def test_rows_with_other_evidence_stay_apart():
    table = table_of([["a"]] * 4, labels=[0, 1, None, {0, 1}]).canonical()
    assert sorted(table.weight.tolist()) == [1, 1, 2]


def test_rows_far_apart_do_not_collide():
    X = np.arange(300_000).reshape(-1, 3) % 1009
    table = Table(table_of([[0.5] * 3, [1.5] * 3]).schema, {"gaussian": X.astype(float)}, np.ones(len(X)))
    assert table.canonical().n_rows == len(np.unique(X, axis=0))


def test_canonical_in_little_memory():
    n_rows = 1_000_000
    codes = np.random.default_rng(0).integers(-1, 5, size=(n_rows, 20)).astype(np.int8)  # 20 MB, all rows distinct
    table = Table(table_of([[v] * 20 for v in range(5)]).schema, {"categorical": codes}, np.ones(n_rows))
    tracemalloc.start()
    try:
        canonical = table.canonical()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert canonical.n_rows == n_rows
    assert peak < 45e6


def test_evidence_and_rows_agree():
    evidence = Evidence(np.zeros((1, 2)), np.zeros(3, dtype=np.int32))
    with pytest.raises(DataError, match="evidence is about 3 rows, but X has 2"):
        Schema.learn(read([[1], [2]])).encode(read([[1], [2]]), evidence=evidence)
