"""Sequences, sentences, networks and text in Spark frames: the same bits as the same partitions in this process."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.errors import DataError, ParameterError
from halfseen.leaves.leaf import arrays
from halfseen.runners.local import LocalCluster
from tests.distributed import test_dask_grammars as grammars
from tests.distributed import test_dask_networks as networks
from tests.distributed import test_dask_sequences as sequences
from tests.distributed import test_dask_text as texts
from tests.distributed.clusters import fitted, spark_partitions

pytest.importorskip("pyspark.sql", reason="needs pyspark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of pyspark
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java (Debian: default-jre-headless)"),
]

FEW = {"n_init": 1, "random_state": 0, "max_iter": 2}


@pytest.fixture(autouse=True)
def nothing_left(folder):
    yield
    assert not list(folder.rglob("halfseen-lanes-*"))


def spark_frame(session, data, schema):
    return session.createDataFrame(data.astype(object).where(data.notna(), None), schema)


def same_bits(one, other):
    assert one.loglik_ == other.loglik_
    assert one.trace_ == other.trace_
    for own, its in zip(arrays(one._params), arrays(other._params), strict=True):
        assert_array_equal(own, its)


class Held:
    """The same partitions in this process, as a frame that others hold."""

    def __init__(self, frame):
        self.__halfseen_cluster__ = LocalCluster(spark_partitions(frame))


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_networks_give_the_same_bits(session):
    frame = spark_frame(session, networks.DATA, "season string, rain boolean, wet boolean, slippery boolean, w double")
    frame = frame.repartition(2)
    model = hs.BayesNet(networks.EDGES, hidden={"C": 2}, **FEW)
    found = fitted(model, frame, sample_weight="w")
    same_bits(found, fitted(model, LaneSource(LocalCluster(spark_partitions(frame)), "w")))
    scores = found.score_samples(frame).toPandas()
    assert_allclose(scores["loglik"], found.score_samples(scores[networks.COLUMNS]), rtol=1e-12)


def test_columns_of_text_give_the_same_bits(session):
    data = texts.DATA[["body", "size", "title"]]
    frame = spark_frame(session, data, "body string, size double, title string").repartition(2)
    model = hs.LatentClass(2, **texts.TEXT, **FEW)
    found = fitted(model, frame)
    same_bits(found, fitted(model, LaneSource(LocalCluster(spark_partitions(frame)))))
    classes = found.predict(frame).toPandas()
    assert_array_equal(classes["class"], found.predict(classes[["body", "size", "title"]]))


# ---- sequences -------------------------------------------------------------------------------------------------------

STEPS = ["person", "day", "x", "mood", "label", "weight"]


@pytest.fixture(scope="module")
def steps(session):
    columns = "person string, day long, x double, mood string, label string, weight double"
    return spark_frame(session, sequences.DATA[STEPS], columns).repartition(3, "person")


@pytest.mark.parametrize(
    ("model", "columns", "roles"),
    [
        (hs.HMM(2, "auto", **FEW), ["x", "mood"], {}),
        (hs.HMM(2, "categorical", assign="sample", **FEW), ["mood", "weight"], {"sample_weight": "weight"}),
        (hs.HMM(2, "auto", **FEW), ["x", "label"], {"labels": "label"}),
    ],
    ids=["soft", "sample, weights", "labels"],
)
def test_sequences_give_the_same_bits(steps, model, columns, roles):
    frame = steps.select("person", "day", *columns)
    found = fitted(model, frame, **sequences.MARKS, **roles)
    same_bits(found, fitted(model, Held(frame), **sequences.MARKS, **roles))


def test_states_are_lazy_frames_with_the_columns_that_were_there(steps):
    frame = steps.select("person", "day", "x", "weight").repartition(2)  # steps of one person in several partitions
    model = fitted(hs.HMM(2, "auto", **FEW), sequences.DATA[["person", "day", "x"]], **sequences.MARKS)
    for method, added in (
        ("predict", ["state"]),
        ("predict_proba", model.state_names_),
        ("filter", model.state_names_),
    ):
        lazy = getattr(model, method)(frame)
        assert lazy.columns == [*frame.columns, *added]
        found = lazy.toPandas()
        expected = getattr(model, method)(found[["person", "day", "x"]])
        assert_allclose(found[list(added)].to_numpy().squeeze(), expected, rtol=1e-12)
    filled = model.impute(frame)
    assert filled.schema == frame.schema
    found = filled.toPandas().sort_values(["person", "day"], ignore_index=True)
    whole = sequences.DATA[["person", "day", "x"]].sort_values(["person", "day"], ignore_index=True)
    pd.testing.assert_frame_equal(found[["person", "day", "x"]], model.impute(whole), rtol=1e-12)
    scores = model.score_samples(frame)
    assert scores.columns == ["person", "loglik"]
    expected = dict(zip(whole["person"].drop_duplicates(), model.score_samples(whole), strict=True))
    assert dict(scores.toPandas().to_numpy().tolist()) == pytest.approx(expected, rel=1e-12)
    assert model.decode(frame).log_probability.columns == ["person", "log_probability"]
    drawn = model.impute(frame, draw=True, random_state=0).where("x IS NOT NULL")
    assert drawn.toPandas().equals(drawn.toPandas())
    with pytest.raises(DataError, match="has a column 'state' already"):
        model.predict(frame.withColumnRenamed("weight", "state"))


def test_sums_over_sequences(steps):
    frame = steps.select("person", "day", "x")
    whole = sequences.DATA[["person", "day", "x"]]
    model = fitted(hs.HMM(2, "auto", **FEW), whole, **sequences.MARKS)
    assert model.score(frame) == pytest.approx(model.score(whole), rel=1e-12)
    assert model.bic(frame, unit="sequences") == pytest.approx(model.bic(whole, unit="sequences"), rel=1e-12)


def test_sequences_that_cannot_be_ordered_or_are_split_are_refused(steps):
    frame = steps.select("person", "day", "x")
    with pytest.raises(ParameterError, match="time: the rows of a Spark frame or a Ray dataset have no order"):
        hs.HMM(2).fit(frame, groups="person")
    with pytest.raises(DataError, match=r"sequence 'p\d+' is in partitions 0 and 1.*frame.repartition\(8, 'person'\)"):
        hs.HMM(2).fit(frame.repartition(2), **sequences.MARKS)


def test_lanes_of_sequences_that_are_deleted_are_encoded_again(steps, folder, monkeypatch):
    from halfseen.runners.spark import SparkCluster

    frame = steps.select("person", "day", "x")
    model = hs.HMM(2, "auto", **FEW)
    asked, passes, again = SparkCluster.answers, [], []
    encode = SparkCluster._encoded_again

    def answers(self, job, first_chunks):
        passes.append(1)
        if len(passes) == 8:
            os.unlink(sorted(folder.rglob("*.lane"))[1])
        return asked(self, job, first_chunks)

    monkeypatch.setattr(SparkCluster, "answers", answers)
    monkeypatch.setattr(SparkCluster, "_encoded_again", lambda self, lost: (again.append(lost), encode(self, lost))[1])
    same_bits(fitted(model, frame, **sequences.MARKS), fitted(model, Held(frame), **sequences.MARKS))
    assert again == [[1]]


# ---- sentences -------------------------------------------------------------------------------------------------------


def test_sentences_give_the_same_bits(session):
    data = grammars.DATA.assign(number=range(len(grammars.DATA)))[["text", "times", "number"]]
    frame = spark_frame(session, data, "text string, times double, number long").repartition(2)
    model = hs.PCFG(grammars.RULES, **FEW)
    columns = frame.select("text", "times")
    found = fitted(model, columns, sample_weight="times")
    same_bits(found, fitted(model, Held(columns), sample_weight="times"))
    scores = found.score_samples(frame)
    assert scores.columns == ["text", "times", "number", "loglik"]
    local = scores.toPandas().sort_values("number")
    assert_allclose(local["loglik"], found.score_samples(grammars.DATA["text"]), rtol=1e-12)
    expected = found.score(grammars.DATA["text"], sample_weight=grammars.DATA["times"])
    assert found.score(columns, sample_weight="times") == pytest.approx(expected, rel=1e-12)


def test_sentences_without_a_parse_are_named(session):
    frame = session.createDataFrame([(["stars", "saw", "ears"],), (["stars", "moon"],)], "words array<string>")
    with pytest.raises(
        DataError, match=r"1 of 2 sentences has no parse: .* 'stars moon' \(not in the grammar: 'moon'\)"
    ):
        hs.PCFG(grammars.RULES).fit(frame.coalesce(1))
    found = fitted(hs.PCFG(grammars.RULES, on_unparsable="skip", **FEW), frame)
    assert np.isneginf(found.score_samples(frame).toPandas()["loglik"]).sum() == 1
