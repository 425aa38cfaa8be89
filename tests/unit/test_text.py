"""Text: kernels of sparse counts, rows of counts, naive Bayes and latent classes on documents."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import halfseen as hs
from halfseen.data import Schema, Table
from halfseen.data.columns import Column
from halfseen.data.counts import Counts, joined
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import DataError, DataTypeError, ParameterError
from halfseen.estimators.table.emission_builder import Recipe, summarise
from halfseen.kernels import active, plain

DOCUMENTS = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
COUNTRY = ["c", "c", "c", "j"]
NEW = "Chinese Chinese Chinese Tokyo Japan"


def documents(n_rows=60, n_words=30, n_classes=3, seed=0):
    """Counts of words in documents of some classes, and the classes."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_words, 0.2), n_classes)
    labels = rng.integers(0, n_classes, n_rows)
    lengths = rng.integers(0, 15, n_rows)
    return np.array([rng.multinomial(m, shares[k]) for m, k in zip(lengths, labels, strict=True)]), labels


# ---- kernels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("n_rows", [0, 1, 25])
@pytest.mark.parametrize("width", [8, 24, 64])
def test_kernels_agree_with_their_formulas(dtype, n_rows, width):
    rng = np.random.default_rng(1)
    dense = rng.poisson(0.4, (n_rows + 9, 17)).astype(dtype)
    counts = Counts.of(csr_array(dense))[5 : 5 + n_rows]
    dense = dense[5 : 5 + n_rows]
    table = np.log(rng.dirichlet(np.ones(17), width).T.copy())
    table[3, :2] = -1e300
    table[:, -2:] = -1e300
    mix = np.log(rng.dirichlet(np.ones(width)))
    weight, component = rng.random(n_rows), rng.integers(0, width, n_rows)
    usage = rng.random((n_rows, width))
    for kernels in (plain, active):
        scores, sums, found = np.ones((n_rows, width)), np.ones((17, width)), np.ones((width, 17))
        kernels.counts_score(*counts.arrays, table, scores)
        assert_allclose(scores, 1 + dense @ table, rtol=1e-12)
        kernels.counts_expect(*counts.arrays, usage, sums)
        assert_allclose(sums, 1 + dense.T @ usage, rtol=1e-12)
        kernels.counts_count(*counts.arrays, component, weight, found)
        assert_allclose(found, 1 + (np.eye(width)[component] * weight[:, None]).T @ dense, rtol=1e-12)
        mixed, words, best = np.zeros(width), np.zeros((17, width)), np.empty(n_rows, dtype=np.int64)
        loglik = kernels.counts_soft(*counts.arrays, weight, mix, table, mixed, words)
        joint = mix + dense @ table
        resp = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)) * weight[:, None]
        assert_allclose(mixed, resp.sum(axis=0), rtol=1e-10, atol=1e-300)
        assert_allclose(words, dense.T @ resp, rtol=1e-10, atol=1e-300)
        assert_allclose(loglik, weight @ np.logaddexp.reduce(joint, axis=1), rtol=1e-12)
        kernels.counts_best(*counts.arrays, mix, table, best)
        assert_array_equal(best, joint.argmax(axis=1) if n_rows else [])


@pytest.mark.parametrize("n_words", [0, 1, 7, 64, 131])
def test_logs_of_shares_are_turned_and_summed(n_words):
    rng = np.random.default_rng(n_words)
    shares = rng.dirichlet(np.ones(n_words), 5) if n_words else np.empty((5, 0))
    counts = rng.poisson(1.0, shares.shape) * 1.0
    if n_words > 5:
        shares[2, 3], counts[2, 3], shares[1, 4] = 0.0, 0.0, 5e-324  # 0 log 0, and a number below the normal ones
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(shares), -1e300)
    for kernels in (plain, active):
        table = np.empty((n_words, 8))
        kernels.log_turned(shares, table)
        assert_allclose(table[:, :5], logs.T, rtol=1e-15)
        assert (table[:, 5:] == -1e300).all()
        assert_allclose(kernels.log_inner(counts, shares), (counts * logs).sum(), rtol=1e-13)


def test_a_count_that_meets_a_share_of_zero_is_impossible():
    shares = np.array([[1.0, 0.0]])
    for kernels in (plain, active):
        assert kernels.log_inner(np.array([[3.0, 1e-200]]), shares) == -np.inf
        assert kernels.log_inner(np.array([[3.0, 0.0]]), shares) == 0


def test_impossible_documents_are_told():
    counts = Counts.of(csr_array([[0, 2], [1, 0], [0, 0]]))
    table = np.full((2, 8), -1e300)
    table[0, 0] = 0.0
    mix = np.full(8, -1e300)
    mix[0] = 0.0
    for kernels in (plain, active):
        mixed, words, best = np.zeros(8), np.zeros((2, 8)), np.empty(3, dtype=np.int64)
        with np.errstate(all="ignore"):
            assert kernels.counts_soft(*counts.arrays, np.ones(3), mix, table, mixed, words) == -np.inf
        assert_allclose(mixed[0], 2)
        kernels.counts_best(*counts.arrays, mix, table, best)
        assert_array_equal(best, [-1, 0, 0])


def test_the_fused_path_adds_up_to_the_three_steps():
    X, _ = documents(300, 40)
    schema = Schema.of([Column("words", "text", tuple(range(40)))])
    table = Table(schema, {"text": Counts.of(csr_array(X))}, np.random.default_rng(0).integers(1, 3, 300) * 1.0)
    model = Recipe(schema, summarise(table), 5, 0.5).model()
    rng = np.random.default_rng(2)
    params = {"mix": rng.dirichlet(np.ones(5))[None], "emit": {"text": rng.dirichlet(np.ones(40), 5)}}
    data = reduce(model, table)
    assert (data.path is None) == (active is plain)
    [quick] = evaluate(model, data, [params])
    [slow] = evaluate(model, Reduced(table.chunks(70)), [params])
    assert_allclose(quick.expected.stats, slow.expected.stats, rtol=1e-10)
    assert_allclose(quick.loglik, slow.loglik, rtol=1e-12)


# ---- rows of counts -------------------------------------------------------------------------------------------------


def test_counts_are_cut_and_taken_as_rows_of_an_array():
    X, _ = documents()
    counts = Counts.of(csr_matrix(X))
    for rows in (slice(3, 9), slice(50, 500), slice(9, 3), slice(0, 60, 7), np.array([5, 5, 0]), X[:, 0] > 0):
        assert_array_equal(counts[rows].matrix().toarray(), X[rows])
        assert_array_equal(counts[2:][:50].lengths, X[2:52].sum(axis=1))
    assert_array_equal(joined([counts[:7], counts[7:]]).matrix().toarray(), X)
    assert_allclose(counts.scaled(5.0).lengths, 5.0 * (X.sum(axis=1) > 0))
    assert_array_equal(counts.presence().matrix().toarray(), X > 0)


def test_counts_that_cannot_be_are_refused_with_their_place():
    with pytest.raises(DataError, match="row 1, column 0 is -2"):
        Counts.of(csr_array([[0, 1], [-2, 0]]))
    with pytest.raises(DataError, match="row 0, column 1 is nan"):
        Counts.of(csr_array([[0, np.nan], [2.0, 0]]))
    with pytest.raises(DataTypeError, match="complex"):
        Counts.of(csr_array([[1j]]))


def test_doubled_and_stored_zero_entries_are_tidied():
    raw = csr_array((np.array([1, 2, 0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    assert_array_equal(Counts.of(raw).matrix().toarray(), [[0, 3]])
    assert raw.nnz == 3


def test_equal_documents_are_merged_whatever_their_order():
    X, _ = documents(40)
    rng = np.random.default_rng(0)
    doubled = np.vstack([X, X])[rng.permutation(80)]
    schema = Schema.of([Column("words", "text", tuple(range(30)))])
    once, twice = (
        Table(schema, {"text": Counts.of(csr_array(rows))}, np.full(len(rows), weight)).canonical()
        for rows, weight in ((X, 2.0), (doubled.astype(float), 1.0))
    )
    assert once.n_rows == len(np.unique(X, axis=0))
    assert_array_equal(once.blocks["text"].matrix().toarray(), twice.blocks["text"].matrix().toarray())
    assert_array_equal(once.weight, twice.weight)


# ---- supervised -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize(
    ("text", "peer"), [("multinomial", MultinomialNB), ("bernoulli", BernoulliNB), ("complement", ComplementNB)]
)
def test_as_in_scikit_learn(text, peer, alpha):
    X, y = documents()
    weight = np.random.default_rng(3).random(len(X))
    rows = csr_array(X)
    given = None if text == "complement" else "observed"
    ours = hs.NaiveBayes(text=text, prior=alpha, class_prior=given).fit(rows, y, sample_weight=weight)
    theirs = peer(alpha=alpha).fit(rows, y, sample_weight=weight)
    assert_allclose(ours.predict_log_proba(rows), theirs.predict_log_proba(rows), rtol=1e-10, atol=1e-10)
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-10)
    assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-10, atol=1e-12)
    assert_array_equal(ours.predict(rows), theirs.predict(rows))
    linear = (X > 0 if text == "bernoulli" else X) @ ours.coef_.T + ours.intercept_
    assert_allclose(linear, ours.predict_joint_log_proba(rows), rtol=1e-10, atol=1e-10)
    if text != "complement":
        assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-10)
        assert_allclose(ours.predict_joint_log_proba(rows), theirs.predict_joint_log_proba(rows), rtol=1e-10)


def test_four_documents():
    model = hs.NaiveBayes(columns={"text": "text"}).fit(frame(DOCUMENTS), COUNTRY)
    words = model.params_["text"]
    assert_allclose(model.class_prior_, [2 / 3, 1 / 3], rtol=1e-12)
    assert_allclose(words["chinese"], [3 / 7, 2 / 9], rtol=1e-12)
    assert_allclose([words["tokyo"], words["japan"]], [[1 / 14, 2 / 9]] * 2, rtol=1e-12)
    scores = np.exp(model.predict_joint_log_proba(frame([NEW])))[0]
    assert_allclose(scores, [0.000267746, 0.000180641], rtol=2e-6)
    assert_allclose(model.predict_proba(frame([NEW]))[0, 0], 0.5971, atol=5e-5)
    assert model.predict(frame([NEW])) == ["c"]


def test_one_sentence_from_given_parameters():
    words = {"i": (0.1, 0.2), "love": (0.1, 0.001), "this": (0.01, 0.01), "fun": (0.05, 0.005), "film": (0.1, 0.1)}
    words["(other)"] = tuple(1 - np.sum(list(words.values()), axis=0))
    told = {"words": words, "options": {"token_pattern": r"(?u)\b\w+\b"}}
    for k, likelihood in enumerate((5e-7, 1e-9)):
        alone = {**told, "words": {word: [p[k]] for word, p in words.items()}}
        model = hs.LatentClass.from_params([1.0], {"text": alone})
        assert_allclose(np.exp(model.score_samples([["I love this fun film"]])), [likelihood], rtol=1e-10)
    model = hs.LatentClass.from_params([0.5, 0.5], {"text": told})
    assert_allclose(model.predict_proba([["I love this fun film"]])[0, 0], 5e-7 / (5e-7 + 1e-9), rtol=1e-10)


def frame(texts, **others):
    import pandas as pd

    return pd.DataFrame({"text": texts, **others})


def test_a_column_of_text_is_the_same_as_its_counts_and_as_a_pipeline():
    texts = ["a cat sat on a cat", "the dog ran", "cat and dog", "dog dog ran far", "", None]
    labels = ["c", "d", "c", "d", "c", "d"]
    vectorizer = CountVectorizer(ngram_range=(1, 2), min_df=1)
    rows = vectorizer.fit_transform([text or "" for text in texts])
    ours = hs.NaiveBayes(columns={"text": "text"}, words={"ngram_range": (1, 2)}).fit(frame(texts), labels)
    sparse = hs.NaiveBayes().fit(rows, labels)
    piped = make_pipeline(clone(vectorizer), hs.NaiveBayes()).fit([text or "" for text in texts], labels)
    new = ["cat cat zebra", "far dog", ""]
    expected = sparse.predict_proba(vectorizer.transform(new))
    assert_array_equal(ours.predict_proba(frame(new)), expected)
    assert_array_equal(piped.predict_proba(new), expected)
    assert_array_equal(sparse.predict_proba(vectorizer.transform(new).toarray()), expected)
    assert ours.unknown_words(frame(new)) == {"zebra": 1, "cat cat": 1, "cat zebra": 1, "far dog": 1}
    assert_allclose(expected[2], sparse.class_prior_)
    names = vectorizer.get_feature_names_out()
    assert sparse.top_words(2, names) == ours.top_words(2)


def test_text_stands_beside_other_columns():
    X = frame(["cheap pills", "hello dear friend", "cheap offer", None, "my friend"], size=[9.5, 1.5, 8.0, 9.0, 1.0])
    model = hs.NaiveBayes(columns={"text": "text"}).fit(X, ["spam", "ham", "spam", "spam", "ham"])
    new = frame(["cheap", None, "friend"], size=[None, 1.2, None])
    assert model.predict(new).tolist() == ["spam", "ham", "ham"]
    alone = hs.NaiveBayes(columns={"text": "text"}).fit(X[["text"]], ["spam", "ham", "spam", "spam", "ham"])
    both = model.predict_joint_log_proba(new)[0]
    assert_allclose(both, alone.predict_joint_log_proba(new[["text"]])[0], rtol=1e-12)
    assert "text" in str(model.why(new[:1]))
    drawn, _ = model.sample(4, random_state=0)
    assert list(drawn.columns) == ["text", "size"]
    assert model.impute(new)["text"].tolist()[:1] == ["cheap"]
    with pytest.raises(AttributeError, match="text alone"):
        model.coef_  # noqa: B018


def test_the_rule_of_complements_needs_all_labels_and_text_alone():
    X, y = documents()
    with pytest.raises(ParameterError, match="a label for every row"):
        hs.NaiveBayes(text="complement").fit(csr_array(X), [None, *y[1:]])
    with pytest.raises(ParameterError, match="nothing but text"):
        hs.NaiveBayes(text="complement", columns={"text": "text"}).fit(frame(["a cat", "the dog"], n=[1.5, 2]), [0, 1])
    with pytest.raises(ParameterError, match="text='complement'"):
        hs.LatentClass(text="complement").fit(csr_array(X))


def test_batches_add_up_to_one_fit():
    X, y = documents(90)
    for text in ("multinomial", "bernoulli"):
        model = hs.NaiveBayes(text=text)
        for rows in (slice(0, 30), slice(30, 31), slice(31, 90)):
            model.partial_fit(csr_array(X[rows]), y[rows], classes=[0, 1, 2])
        whole = hs.NaiveBayes(text=text).fit(csr_array(X), y)
        assert_allclose(model.predict_log_proba(csr_array(X)), whole.predict_log_proba(csr_array(X)), rtol=1e-9)


def test_options_are_checked():
    X = frame(["a cat", "the dog"])
    for options, message in (
        ({"words": {"tokenizer": str.split}}, "no option 'tokenizer'"),
        ({"words": {"analyzer": str.split}}, "is a function"),
        ({"words": {"min_df": -1}}, "min_df"),
        ({"words": {"token_pattern": "("}}, r"token_pattern='\('"),
        ({"words": {"token_pattern": "(a)(b)"}}, "capturing group"),
        ({"document_length": 0}, "document_length=0"),
        ({"document_length": "long"}, "document_length"),
        ({"text": "gaussian"}, "text='gaussian'"),
        ({"class_prior": "uniform"}, "class_prior='uniform'"),
    ):
        with pytest.raises(ParameterError, match=message):
            hs.NaiveBayes(columns={"text": "text"}, **options).fit(X, [0, 1])
    with pytest.raises(DataError, match="column 'text': empty vocabulary"):
        hs.NaiveBayes(columns={"text": "text"}).fit(frame(["a", ""]), [0, 1])
    with pytest.raises(DataError, match=r"column 'n' cannot be text: row 0 is 1\."):
        hs.NaiveBayes(columns={"n": "text"}).fit(frame(["a", "b"], n=[1, 2]), [0, 1])
    with pytest.raises(DataTypeError, match="sparse"):
        hs.GaussianMixture().fit(csr_array(np.eye(4)))
    with pytest.raises(ValueError, match="4 features"):
        hs.NaiveBayes().fit(csr_array(np.eye(4)), [0, 1, 0, 1]).predict(csr_array(np.eye(5)))


# ---- few labels -----------------------------------------------------------------------------------------------------


def few_labels(n_rows=400, seed=1):
    X, y = documents(n_rows, 60, 3, seed)
    return csr_array(X), y, np.where(np.arange(n_rows) < 30, y, -1)


def test_unlabelled_documents_help():
    X, y, some = few_labels()
    alone = hs.NaiveBayes(unlabeled_weight=0).fit(X, some)
    model = hs.NaiveBayes().fit(X, some)
    assert model.guard_["n_labelled"] == 30
    assert model.score(X[30:], y[30:]) > alone.score(X[30:], y[30:]) + 0.02
    by_thread = hs.NaiveBayes(n_jobs=2).fit(X, some)
    assert_array_equal(by_thread.feature_log_prob_, model.feature_log_prob_)


def test_the_weight_of_unlabelled_documents_is_chosen_by_cross_validation():
    X, _, some = few_labels()
    model = hs.NaiveBayes().fit(X, some)
    assert model.unlabeled_weight_ in (0.03, 0.3, 1.0)
    assert model.guard_["accuracy"] == model.guard_["with_unlabeled"] >= model.guard_["labelled_only"]
    same = hs.NaiveBayes(unlabeled_weight=model.unlabeled_weight_, guard=False).fit(X, some)
    assert_array_equal(model.feature_log_prob_, same.feature_log_prob_)
    shuffled = np.where(some >= 0, np.random.default_rng(0).permutation(some % 3), -1)
    worse = hs.NaiveBayes().fit(X, shuffled)
    assert worse.guard_["accuracy"] >= worse.guard_["labelled_only"]
    assert worse.guard_["squared_error"] <= worse.guard_["squared_error_labelled_only"]
    assert hs.NaiveBayes().fit(X, some.clip(0)).unlabeled_weight_ == 1.0


def test_classes_of_several_kinds_and_documents_of_one_length():
    X, y, some = few_labels()
    model = hs.NaiveBayes(components_per_class=2, document_length="mean", n_init=2, random_state=0, guard=False)
    model.fit(X, some)
    assert len(model.weights_) == 6
    assert model.score(X, y) > 0.7
    lengths = model._schema.encode(model._read(X, reset=False)).blocks["text"].lengths
    mean = X.sum(axis=1)[X.sum(axis=1) > 0].mean()
    assert_allclose(lengths, mean * (X.sum(axis=1) > 0))


# ---- no labels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["multinomial", "bernoulli"])
def test_latent_classes_of_documents(text):
    X, y = documents(400, 60)
    model = hs.LatentClass(3, text=text, n_init=4, random_state=0).fit(csr_array(X))
    found = model.predict(csr_array(X))[X.sum(axis=1) > 4]
    truth = y[X.sum(axis=1) > 4]
    agree = np.array([[np.sum((found == i) & (truth == j)) for j in range(3)] for i in range(3)])
    assert agree.max(axis=1).sum() > 0.9 * len(truth)
    words = model.top_words(3)
    assert all(len(set(top)) == 3 for top in words.values())
    first = next(iter(words.values()))
    assert f"words: {first[0]}, {first[1]}, {first[2]}" in model.describe(top=1).splitlines()[0]
    drawn, labels = model.sample(5, random_state=0)
    assert drawn.shape == (5, 60)
    assert len(labels) == 5
