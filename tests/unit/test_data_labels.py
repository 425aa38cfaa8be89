"""Labels in all their forms."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from halfseen.data import Evidence, read_labels
from halfseen.errors import DataError, ParameterError

NAN = float("nan")


def evidence(labels, n_components, **options):
    """Evidence of each row as plain lists, and the names."""
    found, names = read_labels(labels, len(labels), n_components, **options)
    return np.exp(found.log_evidence).tolist(), names


# ------------------------------------------------------------------------------------------------------------ the forms


@pytest.mark.parametrize(
    "labels",
    [
        [0, None, 1],
        (0, NAN, 1),
        [0, pd.NA, np.int8(1)],
        [{0}, None, frozenset({1})],
        [[0], pd.NaT, (1,)],
        [[0], [0, 1], [1]],
        np.array([0.0, NAN, 1.0]),
        np.array([0, None, 1], dtype=object),
        np.array([[0.0], [NAN], [1.0]]),
        np.ma.MaskedArray([0, 5, 1], mask=[0, 1, 0]),
        pd.Series([0, None, 1], index=[7, 8, 9]),
        pd.Series(pd.array([0, None, 1], dtype="Int64")),
        pd.DataFrame({"y": [0, None, 1]}),
        pd.Categorical([0, None, 1]),
        pl.Series([0, None, 1]),
        pl.DataFrame({"y": [0.0, NAN, 1.0]}),
        pa.chunked_array([[0, None], [1]]),
        pa.array([0, None, 1]),
        pa.chunked_array([pa.array([0, None, 1]).dictionary_encode()]),
    ],
)
def test_all_containers(labels):
    assert evidence(labels, 2) == ([[1, 0], [1, 1], [0, 1]], None)


def test_text_labels_name_the_first_components():
    assert evidence(["dog", None, "cat"], 3) == ([[0, 1, 0], [1, 1, 1], [1, 0, 0]], ("cat", "dog", None))
    assert evidence(pd.Series(["dog", None, "cat"]), 2)[1] == ("cat", "dog")
    assert evidence(np.array(["dog", "cat"]), 2)[1] == ("cat", "dog")


def test_integers_in_range_stand_for_themselves():
    assert evidence([2, 0], 3) == ([[0, 0, 1], [1, 0, 0]], None)
    assert evidence([1.0, 1.0], 3) == ([[0, 1, 0], [0, 1, 0]], None)


def test_other_integers_are_names():
    rows, names = evidence([30, 10, None], 2)
    assert (rows, names) == ([[0, 1], [1, 0], [1, 1]], (10, 30))
    assert all(type(name) is int for name in names)


def test_bools_are_names():
    assert evidence([True, False, None], 2) == ([[0, 1], [1, 0], [1, 1]], (False, True))


def test_classes_give_the_order():
    assert evidence(["b", "a"], 3, classes=["b", "a", "c"]) == ([[1, 0, 0], [0, 1, 0]], ("b", "a", "c"))
    assert evidence([0, 1], 2, classes=[1, 0]) == ([[0, 1], [1, 0]], (1, 0))
    assert evidence(["b"], 2, classes=np.array(["b"]))[1] == ("b", None)
    assert evidence(["b", 1], 2, classes=["b", 1])[1] == ("b", 1)


def test_candidate_sets():
    assert evidence([{"a", "b"}, ("c",), ["a"]], 4) == (
        [[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]],
        ("a", "b", "c", None),
    )


def test_nothing_known():
    for labels in (None, [None, NAN], np.full(2, NAN), pd.Series([None, None])):
        assert read_labels(labels, 2, 3) == (None, None)
    assert read_labels(["?", "?"], 2, 3, unlabeled="?") == (None, None)
    assert read_labels(None, 2, 3, classes=["a"]) == (None, None)


# ------------------------------------------------------------------------------------------------------- holes by value


def test_minus_one_is_a_hole_among_two_other_numbers():
    assert evidence([0, 1, -1], 2) == ([[1, 0], [0, 1], [1, 1]], None)
    assert evidence([5.0, 7.0, -1.0], 2) == ([[1, 0], [0, 1], [1, 1]], (5, 7))
    assert evidence([{0, 1}, -1], 3)[0] == [[1, 1, 0], [1, 1, 1]]


def test_minus_one_is_a_label_otherwise():
    assert evidence([1, -1, None], 2) == ([[0, 1], [1, 0], [1, 1]], (-1, 1))
    assert evidence(["a", "b", "-1"], 3)[1] == ("-1", "a", "b")


def test_unlabeled_overrides():
    assert evidence([0, 1, -1], 3, unlabeled=99)[1] == (-1, 0, 1)
    assert evidence([0, 1, -1], 3, unlabeled=NAN)[1] == (-1, 0, 1)
    assert evidence([0, -1], 2, unlabeled=-1) == ([[1, 0], [1, 1]], None)
    assert evidence(["a", "?"], 2, unlabeled="?") == ([[1, 0], [1, 1]], ("a", None))


# -------------------------------------------------------------------------------------------------------- soft evidence


def test_soft_evidence():
    soft = np.array([[0.2, 0.8], [1.0, 1.0], [3.0, 0.0]])
    found, names = read_labels(soft, 3, 2)
    np.testing.assert_allclose(np.exp(found.log_evidence), soft, rtol=1e-15)
    assert names is None
    assert found.index[1] == 0
    np.testing.assert_allclose(evidence(pd.DataFrame(soft), 2)[0], soft, rtol=1e-15)
    np.testing.assert_allclose(evidence(pl.DataFrame(soft), 2)[0], soft, rtol=1e-15)


def test_soft_evidence_over_classes():
    rows, names = evidence(np.array([[0.5, 0.25]]), 3, classes=["b", "a"])
    assert rows == [[0.5, 0.25, 0.0]]
    assert names == ("b", "a", None)


@pytest.mark.parametrize(
    ("soft", "match"),
    [
        ([[1.0, 1.0], [0.5, -0.5]], r"row 1, column 1 is -0.5"),
        ([[1.0, NAN], [1.0, 1.0]], r"row 0, column 1 is nan.*row of ones"),
        ([[1.0, np.inf], [1.0, 1.0]], r"row 0, column 1 is inf"),
        ([[1.0, 1.0], [0.0, 0.0]], r"row 1 is all zeros.*1 such rows.*row of ones"),
        ([[1.0, 1.0, 1.0]] * 2, r"3 columns of soft evidence, but there are 2 components"),
        ([[1.0, 1.0]] * 3, r"labels has 3 rows, but X has 2"),
        ([["a", "b"]] * 2, r"shape \(2, 2\), must be of numbers"),
    ],
)
def test_soft_evidence_that_cannot_be(soft, match):
    with pytest.raises(DataError, match=match):
        read_labels(np.array(soft), 2, 2)


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([0, 1], "labels has 2 entries, but X has 3 rows"),
        ([0, set(), 1], "row 1 has no candidates.*None"),
        ([0, 1, {0, None}], "row 2 has a missing value among its candidates"),
        (
            ["a", "b", "c"],
            r"labels has 3 distinct labels \('a', 'b', 'c'\), but the model has 2 components.*n_components=3",
        ),
        ([0, 1, 2], "3 distinct labels .* 2 components"),
        ([{0, -1}, 1, 2], "candidates of row 0 include -1, which means unlabelled"),
        ([0.2, 0.8, 1], "Unknown label type: continuous.*row 0 is 0.2.*2-D array"),
        ([[0.2, 0.8], [1, 0], [0.5, 0.5]], "Unknown label type: continuous.*candidate of row 0 is 0.[28].*2-D array"),
        (["a", 1, None], r"labels mix text \('a'\) and numbers \(1\).*classes="),
        ([datetime.date(2020, 1, 1), None, None], "Unknown label type: date.*row 0"),
        ([0, {"a": 1}, 1], r"row 1 is \{'a': 1\}"),
        ([0, [["a"]], 1], r"row 1 is \[\['a'\]\]"),
        ("abc", "must be a sequence.*not a str"),
        ({0, 1, 2}, "must be a sequence.*not a set"),
        (5, "must be a sequence.*not a int"),
    ],
)
def test_labels_that_cannot_be(labels, match):
    with pytest.raises(DataError, match=match):
        read_labels(labels, 3, 2)


def test_unknown_label():
    with pytest.raises(DataError, match=r"row 2 has the unknown label 'c'. The classes are \['a', 'b'\]"):
        read_labels(["a", "b", {"a", "c"}], 3, 3, classes=["a", "b"])


def test_classes_that_cannot_be():
    with pytest.raises(ParameterError, match=r"distinct labels, not \['a', 'a'\]"):
        read_labels(["a"], 1, 3, classes=["a", "a"])
    with pytest.raises(DataError, match=r"classes has 3 distinct labels .* 2 components"):
        read_labels(["a"], 1, 2, classes=["a", "b", "c"])


# --------------------------------------------------------------------------------------------------------- the evidence


def test_pattern_zero_is_nothing_known_and_patterns_do_not_depend_on_row_order():
    labels = ["c", None, {"a", "b"}, "a", "c"]
    found, _ = read_labels(labels, 5, 3)
    shuffled, _ = read_labels(labels[::-1], 5, 3)
    assert found.n_components == 3
    assert found.index.dtype == np.int32
    assert not found.patterns[0].any()
    np.testing.assert_array_equal(found.patterns, shuffled.patterns)
    np.testing.assert_array_equal(found.index, shuffled.index[::-1])
    assert len(found.patterns) == 4


def test_take():
    found, _ = read_labels([0, 1, None], 3, 2)
    np.testing.assert_array_equal(found.take([2, 0]).log_evidence, [[0, 0], [0, -np.inf]])
    assert np.shares_memory(found.take(slice(1, 3)).index, found.index)


def test_canonical_drops_unused_and_repeated_patterns():
    rows = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -np.inf], [-1.0, 0.0]])
    found = Evidence(rows, np.array([3, 1, 0], dtype=np.int32))
    canonical = found.canonical()
    np.testing.assert_array_equal(canonical.patterns, [[0, 0], [-1, 0]])
    np.testing.assert_array_equal(canonical.log_evidence, found.log_evidence)
    assert canonical.index.dtype == np.int32
