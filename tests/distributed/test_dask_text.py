"""Columns of text in Dask frames: the words of a local fit, the same bits as the same partitions in this process."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

import halfseen as hs
from halfseen.data import read
from halfseen.data.text import WordCounts, read_options
from halfseen.errors import DataError
from halfseen.leaves.leaf import arrays
from tests.distributed.clusters import Shuffled, fitted, lanes

dd = pytest.importorskip("dask.dataframe", reason="needs dask")

OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 30, "tol": 1e-4}
TOPICS = [["cat", "dog", "mouse", "fur"], ["car", "road", "wheel", "Fuel"], ["tea", "milk", "cup", "the"]]


def table(n_rows=900):
    rng = np.random.default_rng(4)
    topic = rng.integers(0, 3, n_rows)

    def text(z, most):
        own = rng.random(rng.integers(0, most)) < 0.7
        return " ".join(rng.choice(TOPICS[z if same else rng.integers(3)]) for same in own) or None

    return pd.DataFrame(
        {
            "body": [text(z, 9) for z in topic],
            "size": rng.normal(topic, 1.0),
            "title": [text(z, 3) for z in topic],
            "topic": np.where(rng.random(n_rows) < 0.7, np.array(["animals", "cars", "drinks"])[topic], None),
            "weight": rng.integers(1, 4, n_rows) * 1.0,
        }
    )


DATA = table()
TEXT = {"columns": {"body": "text", "title": "text"}}

CASES = {
    "classes": (hs.LatentClass(3, **TEXT, **OPTIONS), {}),
    "weights": (hs.LatentClass(2, words={"min_df": 2, "max_features": 7}, **TEXT, **OPTIONS), {"weight": "weight"}),
    "length": (hs.LatentClass(2, document_length="mean", words={"binary": True}, **TEXT, **OPTIONS), {}),
    "partly labelled": (hs.NaiveBayes(unlabeled_weight=1.0, guard=False, **TEXT, **OPTIONS), {"target": "topic"}),
    "bernoulli": (hs.NaiveBayes(text="bernoulli", **TEXT), {"target": "topic"}),
    "complement": (hs.NaiveBayes(text="complement", **TEXT), {"target": "topic"}),
}


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request):
    model, roles = CASES[request.param]
    data = DATA.dropna(subset="topic") if request.param in ("bernoulli", "complement") else DATA
    features = ["body", "title"] if request.param == "complement" else ["body", "size", "title"]
    columns = [*features, *roles.values()]
    return model, dd.from_pandas(data[columns], npartitions=4), roles


def of_frame(model, frame, roles):
    names = {"weight": "sample_weight", "target": "y"}
    return fitted(model, frame, **{names[role]: column for role, column in roles.items()})


def same_bits(one, other):
    assert one.loglik_ == other.loglik_
    assert one._schema == other._schema
    for own, its in zip(arrays(one._params), arrays(other._params), strict=True):
        assert_array_equal(own, its)


def test_the_same_partitions_give_the_same_bits_with_any_workers(client, case):
    model, frame, roles = case
    same_bits(of_frame(model, frame, roles), fitted(model, lanes(frame, **roles)))


def test_threads_and_the_order_of_arrival_change_no_bit(case):
    model, frame, roles = case
    here = fitted(model, lanes(frame, **roles))
    same_bits(here, fitted(model, lanes(frame, **roles, n_jobs=3)))
    same_bits(here, fitted(model, lanes(frame, **roles, cluster=Shuffled)))


def test_lanes_agree_with_one_table(case):
    model, frame, roles = case
    data = frame.compute()
    features = [name for name in data if name not in roles.values()]
    given = {role: data[column] for role, column in roles.items()}
    if isinstance(model, hs.LatentClass):  # a chunk of text has fewer rows, and starts are drawn from one
        start = of_frame(clone(model).set_params(max_iter=1, n_init=1), data[features], given).params_
        model = clone(model).set_params(start=start)
    there, here = fitted(model, lanes(frame, **roles)), of_frame(model, data[features], given)
    assert there._schema.columns == here._schema.columns
    assert_allclose(there.loglik_, here.loglik_, rtol=1e-10)
    for own, its in zip(arrays(there._params), arrays(here._params), strict=True):
        assert_allclose(own, its, rtol=1e-6, atol=1e-10)


def test_text_alone(client):
    frame = dd.from_pandas(DATA[["body"]], npartitions=3)
    model = hs.LatentClass(3, columns={"body": "text"}, **OPTIONS)
    there = fitted(model, frame)
    assert_allclose(there.loglik_, fitted(model, DATA[["body"]]).loglik_, rtol=1e-10)
    assert_allclose(there.predict_proba(frame).compute(), there.predict_proba(DATA[["body"]]), rtol=1e-12)
    assert there.score(frame) == pytest.approx(there.score(DATA[["body"]]), rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_df": 3},
        {"max_df": 0.3},
        {"max_features": 4},
        {"max_features": 3, "binary": True},
        {"ngram_range": (1, 2), "min_df": 0.05, "max_df": 60},
        {"lowercase": False, "stop_words": ["the", "cat"]},
    ],
    ids=str,
)
def test_words_are_chosen_as_scikit_learn_chooses_them(options):
    texts = DATA["body"].fillna("").tolist()
    read_as = read_options(options)
    parts = [read([[text] for text in texts[i::3]]).column(0) for i in range(3)]
    one, two, three = (WordCounts.of(part, "body", read_as) for part in parts)
    theirs = CountVectorizer(**options).fit(texts).get_feature_names_out()
    assert (one + (two + three)).chosen("body", read_as) == tuple(theirs)


@pytest.mark.parametrize(
    ("words", "said"),
    [({"min_df": 5000}, "column 'body': after min_df=5000"), ({"token_pattern": "[0-9]+"}, "empty vocabulary")],
)
def test_a_column_without_any_word_is_refused(words, said):
    with pytest.raises(DataError, match=said):
        fitted(hs.LatentClass(2, words=words, **TEXT), lanes(dd.from_pandas(DATA[["body", "title"]], npartitions=2)))


def test_numbers_are_no_text():
    with pytest.raises(DataError, match="column 'size' cannot be text"):
        fitted(hs.LatentClass(2, columns={"size": "text"}), lanes(dd.from_pandas(DATA[["size"]], npartitions=2)))
