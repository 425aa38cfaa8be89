"""Columns of text in tables that do not fit into memory: the same bits as in memory."""

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.data import Schema, open_table, read
from halfseen.data.counts import Counts
from halfseen.data.stream import StreamSource
from halfseen.data.text import read_options, tokenised

SMALL = 30_000  # bytes
FIT = {"random_state": 0, "n_init": 2, "max_iter": 4, "stop": "iterations"}
WORDS = np.array([f"word{i}" for i in range(80)], dtype=object)


def reviews(n=3000, seed=0):
    """Texts of two kinds, some missing, some empty, some repeated; with a number and a category."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, n)
    texts = [" ".join(WORDS[(rng.geometric(0.08, rng.integers(0, 12)) * (1 + z)) % 80]) for z in hidden]
    frame = pd.DataFrame({"text": texts, "x": rng.normal(2.0 * hidden), "k": rng.integers(0, 3, n), "y": hidden})
    frame["text"] = frame["text"].astype(object)
    frame.loc[rng.random(n) < 0.1, "text"] = None
    return pd.concat([frame, frame.head(n // 4)], ignore_index=True)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("halfseen.data.stream.LEAST", 300)
    monkeypatch.setattr("halfseen.data.stream.OF_WORKER", 1000)


@pytest.fixture(params=[".parquet", ".csv"])
def path(tmp_path, request):
    frame, path = reviews(), tmp_path / f"reviews{request.param}"
    frame.to_csv(path, index=False) if request.param == ".csv" else frame.to_parquet(path, row_group_size=900)
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"words": {"min_df": 3, "max_features": 20, "ngram_range": (1, 2)}},
        {"text": "bernoulli"},
        {"document_length": "mean"},
    ],
)
def test_latent_classes_of_texts_have_the_same_bits(path, options):
    columns = {"text": "text"}
    whole = hs.LatentClass(2, columns=columns, **options, **FIT).fit(open_table(path, ignore=["y"]))
    for n_jobs, memory in ((1, SMALL), (3, SMALL)):
        table = open_table(path, ignore=["y"], memory=memory)
        streamed = hs.LatentClass(2, columns=columns, n_jobs=n_jobs, **options, **FIT).fit(table)
        assert streamed._schema == whole._schema
        assert streamed.loglik_ == whole.loglik_
        np.testing.assert_array_equal(streamed.trace_, whole.trace_)
        np.testing.assert_array_equal(streamed.predict(table), whole.predict(open_table(path, ignore=["y"])))


@pytest.mark.parametrize("known", [1.0, 0.5])
def test_classifiers_of_texts_have_the_same_bits(tmp_path, known):
    frame = reviews()
    frame["y"] = np.where(
        np.random.default_rng(1).random(len(frame)) <= known, frame["y"].map(["no", "yes"].__getitem__), None
    )
    frame.to_parquet(tmp_path / "t.parquet")
    found = []
    for memory in ("1GB", SMALL):
        table = open_table(tmp_path / "t.parquet", target="y", memory=memory)
        found.append(hs.NaiveBayes(columns={"text": "text"}, random_state=0).fit(table))
    assert found[0].loglik_ == found[1].loglik_
    np.testing.assert_array_equal(found[0].weights_, found[1].weights_)


def test_the_table_is_that_in_memory(path):
    source = read(open_table(path, ignore=["y"], memory=SMALL))
    assert isinstance(source, StreamSource)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], source.n_rows)
    found = []
    for each in (source, read(open_table(path, ignore=["y"]))):
        worded = tokenised(each, [0], read_options({}))
        schema = Schema.learn(worded)
        encoded = schema.encode(worded, weight)
        found.append([encoded, encoded.canonical(), schema.gather(worded, weight), encoded.take(np.arange(7, 2000, 3))])
    for spilled, whole in zip(*found, strict=True):
        assert spilled.memory_limit == SMALL
        for name, block in whole.blocks.items():
            if isinstance(block, Counts):
                for one, other in zip(spilled.blocks[name][:].arrays, block[:].arrays, strict=True):
                    np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_array_equal(spilled.blocks[name], block)
        np.testing.assert_array_equal(spilled.weight, whole.weight)


def test_batches_of_long_texts_have_few_rows(tmp_path):
    frame = reviews()
    frame["text"] = (frame["text"].fillna("") + " ") * 20
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=900)
    source = tokenised(read(open_table(tmp_path / "t.parquet", memory=400_000)), [0], read_options({}))
    rows = [batch.n_rows for batch in source.batches()]
    plain = [batch.n_rows for batch in read(open_table(tmp_path / "t.parquet", memory=400_000)).batches()]
    assert sum(rows) == sum(plain) == len(frame)
    assert max(rows) < max(plain)
