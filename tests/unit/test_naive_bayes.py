"""The classifier: worked numbers, scikit-learn's own where the models coincide, labels in every form, the guard."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import halfseen as hs
from benchmarks.few_labels import LabelledTable, against_alone, worse_by_a_point
from halfseen.errors import (
    DataError,
    ImpossibleRowWarning,
    ParameterError,
    UnknownCategoryWarning,
    UnlabeledWarning,
)

MELONS = """color,root,sound,texture,umbilicus,surface,ripe
green,curly,muffled,clear,hollow,hard,true
dark,curly,dull,clear,hollow,hard,true
dark,curly,muffled,clear,hollow,hard,true
green,curly,dull,clear,hollow,hard,true
light,curly,muffled,clear,hollow,hard,true
green,slightly curly,muffled,clear,slightly hollow,soft,true
dark,slightly curly,muffled,slightly blurry,slightly hollow,soft,true
dark,slightly curly,muffled,clear,slightly hollow,hard,true
dark,slightly curly,dull,slightly blurry,slightly hollow,hard,false
green,straight,crisp,clear,flat,soft,false
light,straight,crisp,blurry,flat,hard,false
light,curly,muffled,blurry,flat,soft,false
green,slightly curly,muffled,slightly blurry,hollow,hard,false
light,slightly curly,dull,slightly blurry,hollow,hard,false
dark,slightly curly,muffled,clear,slightly hollow,soft,false
light,curly,muffled,blurry,flat,hard,false
green,curly,dull,slightly blurry,slightly hollow,hard,false"""


@pytest.fixture(scope="module")
def melons():
    rows = [line.split(",") for line in MELONS.splitlines()]
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    return frame.drop(columns="ripe"), frame["ripe"]


QUESTION = pd.DataFrame(
    [["green", "curly", "crisp", "clear", "hollow", "hard"]],
    columns=["color", "root", "sound", "texture", "umbilicus", "surface"],
)


def test_watermelons_smoothed(melons):
    model = hs.NaiveBayes().fit(*melons)
    assert model.classes_.tolist() == ["false", "true"]
    assert model.params_["sound"]["crisp"][1] == pytest.approx(1 / 11, rel=1e-12)
    assert_allclose(model.class_prior_, [10 / 19, 9 / 19])
    assert_allclose(np.exp(model.predict_joint_log_proba(QUESTION)), [[0.00058147, 0.00237179]], atol=5e-9)
    assert model.predict_proba(QUESTION)[0, 1] == pytest.approx(0.803108, abs=5e-7)


def test_watermelons_by_maximum_likelihood(melons):
    model = hs.NaiveBayes(prior=None).fit(*melons)
    assert model.params_["sound"]["crisp"][1] == 0
    joint = np.exp(model.predict_joint_log_proba(QUESTION))
    assert joint[0, 1] == 0
    assert joint[0, 0] == pytest.approx(0.00043035, abs=5e-9)
    assert model.predict(QUESTION).tolist() == ["false"]


def test_four_documents_token_by_token():
    """A document is its words, each drawn from the class: a table with one row per word has the same counts."""
    documents = [("Chinese Beijing Chinese", "c"), ("Chinese Chinese Shanghai", "c")]
    documents += [("Chinese Macao", "c"), ("Tokyo Japan Chinese", "j")]
    words = [(word, label) for text, label in documents for word in text.split()]
    model = hs.NaiveBayes(class_prior=[2 / 3, 1 / 3]).fit([[word] for word, _ in words], [label for _, label in words])
    (column,) = (value for name, value in model.params_.items() if name != "weights")
    assert_allclose(column["Chinese"], [3 / 7, 2 / 9])
    assert_allclose(column["Tokyo"], [1 / 14, 2 / 9])
    assert_allclose(column["Japan"], [1 / 14, 2 / 9])
    test = [[word] for word in ["Chinese", "Chinese", "Chinese", "Tokyo", "Japan"]]
    log_prior = np.log(model.class_prior_)
    scores = log_prior + (model.predict_joint_log_proba(test) - log_prior).sum(axis=0)
    assert_allclose(np.exp(scores), [0.000267746, 0.000180641], atol=5e-10)  # MISSION: six digits after rounding
    assert np.exp(scores - logsumexp(scores))[0] == pytest.approx(0.5971, abs=5e-5)


def some_table(seed=0, n_rows=300, holes=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[(y + (rng.random(n_rows) < 0.4)) % 3],
            "size": rng.normal(2.0 * y),
            "visits": rng.poisson(1 + 2 * y),
        }
    )
    return X.mask(rng.random(X.shape) < holes), y


KINDS = {"visits": "poisson"}


def test_categorical_nb_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 500)
    X = (rng.integers(0, 3, (500, 6)) + y[:, None] * (rng.random((500, 6)) < 0.3)) % 5
    weight = rng.random(500)
    for alpha in (1.0, 0.3):
        ours = hs.NaiveBayes(prior=alpha).fit(X, y, weight)
        theirs = CategoricalNB(alpha=alpha, class_prior=ours.class_prior_).fit(X, y, weight)
        assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10, atol=1e-14)


def test_gaussian_nb_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 5)) * rng.random((3, 5))[y] + y[:, None] + 100
    ours = hs.NaiveBayes(prior=None, variance_floor=0.0).fit(X, y)
    theirs = GaussianNB(var_smoothing=0.0).fit(X, y)
    near_zero = 1e-12  # in some rows terms of size 10 cancel to a log-joint of 0.005
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10, atol=near_zero)
    assert_allclose(ours.class_count_, theirs.class_count_)


def test_all_labels_known_is_counting():
    X, y = some_table(holes=0.1)
    model = hs.NaiveBayes(columns=KINDS, prior=None).fit(X, y)
    for c in range(3):
        own = X[y == c]
        shares = own["color"].value_counts(normalize=True)
        assert_allclose([model.params_["color"][name][c] for name in shares.index], shares)
        assert model.params_["size"]["mean"][c] == pytest.approx(own["size"].mean())
        assert model.params_["size"]["sd"][c] == pytest.approx(own["size"].std(ddof=0))
        assert model.params_["visits"]["rate"][c] == pytest.approx(own["visits"].mean())
    assert model.converged_
    assert model.guard_ is None


def test_a_class_of_candidates_is_between(melons):
    """A row that may be either class counts in both; one that is a set of all classes is unlabelled."""
    X, y = some_table(holes=0.1)
    labels = [{0, 1} if i % 3 == 0 and c < 2 else c for i, c in enumerate(y.tolist())]
    model = hs.NaiveBayes(columns=KINDS).fit(X, labels)
    assert (model.predict(X) == y).mean() > 0.8
    assert model.guard_ is None  # every row has some evidence
    everything = hs.NaiveBayes(columns=KINDS, guard=False).fit(X, [{0, 1, 2} if i % 2 else c for i, c in enumerate(y)])
    holes = hs.NaiveBayes(columns=KINDS, guard=False).fit(X, [None if i % 2 else c for i, c in enumerate(y)])
    assert_allclose(everything.predict_proba(X), holes.predict_proba(X), rtol=1e-6)


def test_soft_labels_of_zeros_and_ones_are_labels():
    X, y = some_table()
    hard = hs.NaiveBayes(columns=KINDS).fit(X, y)
    soft = hs.NaiveBayes(columns=KINDS).fit(X, np.eye(3)[y])
    assert_allclose(soft.predict_proba(X), hard.predict_proba(X), rtol=1e-12)
    named = hs.NaiveBayes(columns=KINDS).fit(X, np.eye(3)[y], classes=["a", "b", "c"])
    assert named.classes_.tolist() == ["a", "b", "c"]


def test_unlabelled_rows_help_and_weigh_what_they_are_told():
    X, y = some_table(n_rows=600, holes=0.1)
    labels = np.where(np.arange(600) < 12, y, -1)
    few = hs.NaiveBayes(columns=KINDS).fit(X[:12], y[:12])
    semi = hs.NaiveBayes(columns=KINDS, guard=False).fit(X, labels)
    assert semi.score(X, y) > few.score(X, y) - 0.01
    none = hs.NaiveBayes(columns=KINDS, unlabeled_weight=0.0).fit(X, labels)
    assert_allclose(none.predict_proba(X), few.predict_proba(X), rtol=1e-12)
    half = hs.NaiveBayes(columns=KINDS, unlabeled_weight=0.5, guard=False).fit(X, labels)
    weighted = hs.NaiveBayes(columns=KINDS, guard=False).fit(X, labels, np.where(labels < 0, 0.5, 1.0))
    assert_allclose(half.predict_proba(X), weighted.predict_proba(X), rtol=1e-12)
    assert half.class_count_.sum() == pytest.approx(12 + 294)


def test_the_weight_of_unlabelled_rows_is_not_that_of_candidates():
    X, y = some_table()
    labels = [{0, 1} if c < 2 and i > 50 else int(c) for i, c in enumerate(y)]
    light = hs.NaiveBayes(columns=KINDS, unlabeled_weight=0.1).fit(X, labels)
    assert light.class_count_.sum() == pytest.approx(300)


def not_clusters():
    """The label follows one weak column; three others form strong clusters that have nothing to do with it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    cluster = rng.integers(0, 2, 500)
    X = np.column_stack([rng.normal(1.5 * y), *[rng.normal(8.0 * cluster) for _ in range(3)]])
    labels = y.astype(object)
    labels[60:] = None
    return X, y, labels


def test_unlabelled_rows_that_make_it_worse_are_left_out():
    X, y, labels = not_clusters()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hs.NaiveBayes().fit(X, labels)
    alone = hs.NaiveBayes(unlabeled_weight=0).fit(X, labels)
    assert model.unlabeled_weight_ == 0
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert model.guard_["accuracy"] == model.guard_["labelled_only"]
    assert abs(model.guard_["accuracy"] - model.score(X[60:], y[60:])) < 0.1  # cross-validated, not its own certainty


def test_a_weight_that_the_user_chose_is_kept_and_warned_of_where_it_is_worse():
    X, _, labels = not_clusters()
    with pytest.warns(UnlabeledWarning, match=r"unlabeled_weight=1 makes .* worse.*unlabeled_weight='auto'"):
        model = hs.NaiveBayes(unlabeled_weight=1.0).fit(X, labels)
    assert model.unlabeled_weight_ == 1
    assert model.guard_["accuracy"] == model.guard_["with_unlabeled"] < model.guard_["labelled_only"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hs.NaiveBayes(guard=False).fit(X, labels).guard_ is None
        assert hs.NaiveBayes(unlabeled_weight=0).fit(X, labels).guard_ is None
    with pytest.raises(ParameterError, match="unlabeled_weight='cv' is not 'auto' or a number from 0 to 1"):
        hs.NaiveBayes(unlabeled_weight="cv").fit(X, labels)


@pytest.mark.parametrize("cls", [hs.NaiveBayes, hs.GaussianClassifier])
def test_the_choice_depends_on_neither_row_order_nor_threads(cls):
    X, _, labels = not_clusters()
    order = np.random.default_rng(1).permutation(500)
    first, other = cls().fit(X, labels), cls(n_jobs=2).fit(X[order], labels[order])
    assert first.guard_ == other.guard_
    assert first.unlabeled_weight_ == other.unlabeled_weight_


def test_the_guard_is_silent_when_they_help_and_says_when_it_cannot_tell():
    X, y = some_table(n_rows=400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hs.NaiveBayes(columns=KINDS).fit(X, np.where(np.arange(400) < 60, y, -1))
        assert 0.5 < model.guard_["with_unlabeled"] <= 1
        assert model.guard_["folds"] == 5
        lonely = hs.NaiveBayes(columns=KINDS).fit(X, [c if i in (0, 1, 2) else None for i, c in enumerate(y)])
    assert lonely.guard_ is None
    assert any("too few labelled rows" in event for event in lonely.events_)


def test_several_components_find_what_one_cannot():
    """A class at both ends and a class in the middle: one normal per class fails, two find it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = rng.normal(np.where(y == 1, rng.choice([-6.0, 6.0], 600), 0.0))[:, None]
    two = hs.NaiveBayes(components_per_class=2, random_state=0).fit(X, y)
    assert two.score(X, y) > 0.99
    assert two.class_names_ == ("0 (1)", "0 (2)", "1 (1)", "1 (2)")
    assert_allclose(two.predict_proba(X).sum(axis=1), 1)
    assert_allclose(two.class_prior_, [(602 - (y == 1).sum()) / 604, ((y == 1).sum() + 2) / 604])
    given = hs.NaiveBayes(components_per_class=2, class_prior=[0.9, 0.1], random_state=0).fit(X, y)
    assert_allclose(given.class_prior_, [0.9, 0.1], rtol=1e-12)
    assert given.weights_.min() > 0
    _, labels = two.sample(50, random_state=0)
    assert set(labels.tolist()) == {0, 1}


def test_given_class_priors_are_kept(melons):
    model = hs.NaiveBayes(class_prior=[0.25, 0.75]).fit(*melons)
    assert_allclose(model.class_prior_, [0.25, 0.75], rtol=1e-15)
    with pytest.raises(ParameterError, match=r"class_prior: row 0 sums to 0\.5"):
        hs.NaiveBayes(class_prior=[0.25, 0.25]).fit(*melons)
    with pytest.raises(ParameterError, match=r"class_prior: expected shape \(2,\)"):
        hs.NaiveBayes(class_prior=[1.0]).fit(*melons)


@pytest.mark.parametrize("prior", [None, 1.0, "row"])
def test_batches_add_up_to_one_fit(prior):
    X, y = some_table(holes=0.1)
    X = X.assign(color=pd.Categorical(X["color"], ["red", "green", "blue"]))
    whole = hs.NaiveBayes(columns=KINDS, prior=prior).fit(X, y)
    pieces = hs.NaiveBayes(columns=KINDS, prior=prior)
    for first in range(0, 300, 70):
        pieces.partial_fit(X[first : first + 70], y[first : first + 70], classes=[0, 1, 2])
    assert_allclose(pieces.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert_allclose(pieces.class_count_, whole.class_count_)
    resumed = hs.NaiveBayes(columns=KINDS, prior=prior).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert_allclose(resumed.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    with pytest.raises(ParameterError, match="in pieces"):
        pieces.bic()


def test_a_batch_may_lack_a_class_and_no_batch_may_bring_a_new_one():
    X, y = some_table()
    model = hs.NaiveBayes(columns=KINDS).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (300, 3)
    with pytest.raises(DataError, match="unknown label 7"):
        model.partial_fit(X[:5], [0, 1, 2, 7, 0])


def test_a_class_may_come_in_a_later_batch():
    """Its share was 0 until then, or the probability of a category: that does not make labelled rows impossible."""
    X, y = some_table()
    whole = hs.NaiveBayes(columns=KINDS, prior=None).fit(X, y)
    early = X["color"] == "red"
    declared = X.assign(color=pd.Categorical(X["color"], ["red", "green", "blue"]))
    for first in (y < 2, early):
        model = hs.NaiveBayes(columns=KINDS, prior=None).partial_fit(declared[first], y[first], classes=[0, 1, 2])
        model.partial_fit(declared[~first], y[~first])
        assert_allclose(model.class_count_, whole.class_count_, rtol=1e-12)
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_missing_cells_say_nothing(melons):
    model = hs.NaiveBayes().fit(*melons)
    empty = pd.DataFrame([[None] * 6], columns=melons[0].columns)
    assert_allclose(model.predict_proba(empty)[0], model.class_prior_)


def test_errors_say_what_to_do():
    X, y = some_table()
    with pytest.raises(DataError, match=r"no label in any row.*LatentClass"):
        hs.NaiveBayes().fit(X, [None] * 300)
    with pytest.raises(DataError, match="requires y"):
        hs.NaiveBayes().fit(X, None)
    with pytest.raises(ParameterError, match="unlabeled_weight=2 is above 1"):
        hs.NaiveBayes(unlabeled_weight=2).fit(X, y)
    with pytest.raises(ParameterError, match="components_per_class=0"):
        hs.NaiveBayes(components_per_class=0).fit(X, y)
    with pytest.raises(DataError, match="300"):
        hs.NaiveBayes().fit(X, y[:10])


def test_labels_of_every_type_come_back():
    X, y = some_table(n_rows=60)
    for labels in (y, y + 5, np.array(["a", "b", "c"])[y], y == 1, pd.Series(y, dtype="Int64"), list(y.astype(float))):
        model = hs.NaiveBayes(columns=KINDS).fit(X, labels)
        assert_array_equal(model.classes_, np.unique(np.asarray(labels)))
        assert set(model.predict(X).tolist()) <= set(np.asarray(labels).tolist())


def test_classes_in_another_order_and_by_other_names():
    X, y = some_table()
    for inside in (1, 2):
        model = hs.NaiveBayes(columns=KINDS, components_per_class=inside, n_init=2, random_state=0).fit(X, y)
        turned = model.relabel([2, 0, 1])
        assert turned.classes_.tolist() == [2, 0, 1]
        assert_array_equal(turned.predict(X), model.predict(X))
        assert_allclose(turned.predict_proba(X), model.predict_proba(X)[:, [2, 0, 1]])
        assert_allclose(turned.class_count_, model.class_count_[[2, 0, 1]])
        named = model.rename(["a", "b", "c"])
        assert_array_equal(named.predict(X), np.array(["a", "b", "c"])[model.predict(X)])
        with pytest.raises(ParameterError, match="own name"):
            model.rename(["a", "a", "c"])
        with pytest.raises(ParameterError, match="does not name each of the 3 classes"):
            model.relabel([0, 1])
    with pytest.raises(ParameterError, match="hidden classes"):
        model.match_to(turned)


def test_batches_go_on_after_relabelling():
    X, y = some_table()
    whole = hs.NaiveBayes(columns=KINDS).fit(X, y)
    turned = hs.NaiveBayes(columns=KINDS).partial_fit(X[:150], y[:150], classes=[0, 1, 2]).relabel([2, 0, 1])
    turned.partial_fit(X[150:], y[150:])
    assert_allclose(turned.predict_proba(X), whole.predict_proba(X)[:, [2, 0, 1]], rtol=1e-9)


def test_a_later_batch_may_have_no_label_at_all():
    X, y = some_table()
    model = hs.NaiveBayes(columns=KINDS).partial_fit(X[:200], y[:200]).partial_fit(X[200:], [None] * 100)
    assert model.class_count_.sum() == pytest.approx(300)
    for first in (hs.NaiveBayes().fit, hs.NaiveBayes().partial_fit):
        with pytest.raises(DataError, match="no label in any row"):
            first(X, [None] * 300, classes=[0, 1, 2])


# ---- one pass --------------------------------------------------------------------------------------------------------


def large(rng, n_rows=20_000):
    """More than one chunk: numbers, categories and holes."""
    y = rng.integers(0, 3, n_rows)
    X = np.column_stack([rng.normal(y, 1.0), rng.normal(-y, 2.0), (rng.random(n_rows) < 0.2 + 0.2 * y) * 2.0])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("columns", [[0, 1], [2], [0, 1, 2]], ids=["numbers", "categories", "both"])
def test_a_large_array_is_read_as_a_frame_is(columns):
    """The array is encoded chunk by chunk, the frame column by column."""
    X, y = large(np.random.default_rng(0))
    X = np.ascontiguousarray(X[:, columns])
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(len(columns))])
    arrays, frames = (hs.NaiveBayes(n_jobs=2).fit(table, y) for table in (X, frame))
    assert arrays.loglik_ == frames.loglik_
    assert arrays.params_.keys() == frames.params_.keys()
    assert_array_equal(arrays.predict(X), frames.predict(frame))
    assert_array_equal(arrays.predict_proba(X), frames.predict_proba(frame))


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize(
    ("first", "later"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 1, 2], [0, 1, 5]),  # one more category
        ([0, 1, 2], [-9, 7000]),
        ([3], [3, 4]),  # no longer constant
        ([2.5], [2.5, 3.5]),
        ([2.5], [2.5]),
        ([0, 1], [0.5]),  # a quantity after all
        ([0, 1], range(20)),
        ([np.nan], [0, 1]),
        ([np.nan], [np.nan]),
        ([np.nan, 1], [2, 3]),
        (range(20), [0, 1]),  # a quantity, whatever follows
    ],
    ids=str,
)
def test_rows_unlike_the_first_ones_are_not_overlooked(first, later, dtype):
    """What the first rows suggest is used only if all others agree: as a frame is read, which is read in full."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.choice(list(first), 3000), rng.choice(list(later), 3000)])[:, None].astype(float)
    if dtype is np.int64:
        X = np.nan_to_num(X).astype(dtype)
    y = rng.integers(0, 2, 6000)
    with warnings.catch_warnings(action="error"):
        array, frame = (hs.NaiveBayes().fit(table, y) for table in (X, pd.DataFrame(X, columns=["x0"])))
    assert array._schema.columns == frame._schema.columns
    assert array.loglik_ == frame.loglik_
    assert array.events_ == frame.events_
    assert_array_equal(array.predict(X), frame.predict(pd.DataFrame(X, columns=["x0"])))


def test_options_name_columns_of_a_large_array():
    X, y = large(np.random.default_rng(5))
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    for kinds in ({"x2": "gaussian"}, {"x2": "poisson"}, {"x2": "categorical"}):
        array, framed = (hs.NaiveBayes(columns=kinds).fit(table, y) for table in (X, frame))
        assert array.columns_ == framed.columns_
        assert array.loglik_ == framed.loglik_
    with pytest.raises(ParameterError, match="no column 'x9'"):
        hs.NaiveBayes(columns={"x9": "gaussian"}).fit(X, y)


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("columns", [[0, 1], [0, 1, 2]], ids=["numbers", "both"])
@pytest.mark.parametrize("row", [5, 17_777])
def test_an_infinite_cell_is_named_wherever_it_is(columns, infinity, row):
    X, y = large(np.random.default_rng(1))
    X = np.ascontiguousarray(X[:, columns])  # numbers alone are read where they are
    model = hs.NaiveBayes().fit(X, y)
    X[row, 1] = infinity
    uses = [model.predict, model.predict_proba, model.score_samples, lambda X: hs.NaiveBayes().fit(X, y)]
    uses += [lambda X: model.score(X, y), hs.LatentClass(2, n_init=1).fit]
    for use in uses:
        with pytest.raises(DataError, match=rf"infinity: column 'x1', row {row} is {infinity} \(1 in this column\)"):
            use(X)


def test_numbers_too_large_are_no_infinite_ones():
    X, y = large(np.random.default_rng(2))
    X = X[:, :2].copy()
    model = hs.NaiveBayes().fit(X, y)
    X[17_777, 1] = 1e200
    with pytest.raises(DataError, match="column 'x1': its numbers are so large"):
        hs.NaiveBayes().fit(X, y)
    with pytest.warns(ImpossibleRowWarning, match="1 rows"):
        model.predict(X)


def test_an_unknown_category_in_a_large_array_is_missing_and_named_once():
    X, y = large(np.random.default_rng(3))
    model = hs.NaiveBayes().fit(X, y)
    seen = X.copy()
    seen[[3, 19_000], 2] = np.nan
    X[[3, 19_000], 2] = 7
    with pytest.warns(UnknownCategoryWarning, match=r"column 'x2': 7 \(2x\)") as caught:
        assert_array_equal(model.predict(X), model.predict(seen))
    assert len(caught) == 1


def test_the_same_bits_for_any_number_of_workers():
    X, y = large(np.random.default_rng(4), 50_000)
    one, many = (hs.NaiveBayes(n_jobs=n).fit(X, y) for n in (1, 3))
    assert one.loglik_ == many.loglik_
    assert_array_equal(one.predict_proba(X), many.predict_proba(X))
    assert_array_equal(one.predict(X), many.predict(X))


@pytest.mark.thorough
@pytest.mark.parametrize("cls", [hs.NaiveBayes, hs.GaussianClassifier])
def test_the_default_is_no_worse_than_labels_alone_on_real_rows(cls):
    """Ten draws of 100 labels; ``python -m benchmarks.few_labels tables`` makes 50 on five tables."""
    cells = load_breast_cancer(as_frame=True)
    table = LabelledTable("tumours", cells.data.iloc[:, :6], cells.target, cls)
    trials = against_alone(table, draws=10)
    alone, auto = (np.array(trials[way]).mean(axis=0) for way in ("alone", "auto"))
    assert auto[0] >= alone[0] - 1e-12
    assert auto[1] <= alone[1] + 1e-12
    assert worse_by_a_point(trials["auto"], trials["alone"]) <= 0.1
