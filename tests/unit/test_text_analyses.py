"""Every analysis of a table takes text: words one by one, named in sentences, or an error that says why not."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import beta
from sklearn.feature_extraction.text import CountVectorizer

import halfseen as hs
from halfseen.analysis import comparison
from halfseen.analysis.contrast import contrasts
from halfseen.analysis.missing_values import missing_values
from halfseen.analysis.residuals import residuals
from halfseen.analysis.rows import surprise, surprising_rows, typical_rows, uncertain_rows
from halfseen.analysis.scored_table import look
from halfseen.errors import DataTypeError, ParameterError
from halfseen.estimators.table.profile import profiles
from halfseen.kinds.text import most_telling

matplotlib.use("Agg")

SPAM, HAM, BOTH = "cheap pills offer win prize", "hello dear friend dinner late", "and the you"
RNG = np.random.default_rng(0)
Y = np.arange(80) % 2
LABELS = np.array(["ham", "spam"])[Y]
TEXTS = [" ".join(RNG.choice(f"{SPAM if k else HAM} {BOTH}".split(), 6)) for k in Y]
FRAME = pd.DataFrame({"body": TEXTS})
MIXED = FRAME.assign(size=RNG.normal(2.0 * Y, 1.0), colour=np.where(RNG.random(80) < 0.5, "red", "blue"))
MIXED.loc[3, "size"] = None
TWO = FRAME.assign(title=[" ".join(text.split()[:2]) for text in TEXTS])
VECTORIZER = CountVectorizer().fit(TEXTS)
COUNTS = VECTORIZER.transform(TEXTS)
WORDS = VECTORIZER.get_feature_names_out()
TABLES = {"column": FRAME, "sparse": COUNTS, "beside others": MIXED, "two columns": TWO}
TEXT = ("multinomial", "bernoulli")


def kinds(X):
    return {name: "text" for name in ("body", "title") if name in X} if isinstance(X, pd.DataFrame) else None


def bayes(X=FRAME, y=LABELS, **how):
    return hs.NaiveBayes(columns=kinds(X), **how).fit(X, y)


def latent(X=FRAME, n_components=2, **how):
    return hs.LatentClass(n_components, columns=kinds(X), n_init=2, random_state=0, **how).fit(X)


# ---- why -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("text", TEXT)
def test_words_add_up_to_the_log_odds(name, text):
    X = TABLES[name]
    for model in (bayes(X, text=text), latent(X, text=text)):
        joint = model._class_joint(model._encode(X[3:4]))[1][0]
        found = model.why(X[3:4])
        assert_allclose(found.log_odds, joint.max() - joint.min(), rtol=1e-9)
        assert_allclose(sum(found.contributions.values()), found.log_odds, rtol=1e-9)
        for column, words in found.words.items():
            assert_allclose(sum(words.values()), found.contributions[column], rtol=1e-9)
            assert list(words.values()) == sorted(words.values(), key=abs, reverse=True)
        shares = np.log(model.weights_)[[joint.argmax(), joint.argmin()]]
        assert_allclose(found.contributions["(share)"], shares[0] - shares[1], atol=1e-12)


def test_a_word_counts_as_often_as_it_occurs():
    model = bayes()
    found = model.why(pd.DataFrame({"body": ["prize prize hello"]}))
    shares = model.params_["body"]
    assert_allclose(found.words["body"]["prize"], 2 * np.log(shares["prize"][1] / shares["prize"][0]), rtol=1e-12)
    assert "body  " in str(found)
    assert "prize +" in str(found)
    assert "hello -" in str(found)
    names = hs.NaiveBayes().fit(COUNTS, LABELS)
    row = VECTORIZER.transform(["prize prize hello"])
    assert_allclose(names.why(row, names=WORDS).words["words"]["prize"], found.words["body"]["prize"], rtol=1e-12)
    assert "word " in str(names.why(row))
    with pytest.raises(ParameterError, match="2 names for 13 words"):
        names.why(row, names=["a", "b"])


def test_a_word_that_a_class_never_uses_does_not_break_the_sentence():
    X = pd.DataFrame({"body": ["only here", "there it is", "it is only there"]})
    model = hs.NaiveBayes(columns={"body": "text"}, prior=None).fit(X, ["a", "b", "b"])
    found = model.why(X[:1])
    assert found.target == "a"
    assert np.isfinite(list(found.words["body"].values())).all()
    assert found.words["body"]["here"] > 1e5
    assert "no known word: body" in str(model.why(pd.DataFrame({"body": ["zebra"]})))


def test_several_components_take_words_away_one_by_one():
    model = bayes(components_per_class=2, n_init=2, random_state=0)
    found = model.why(FRAME[3:4])
    for word in set(FRAME["body"][3].split()):
        rest = " ".join(other for other in FRAME["body"][3].split() if other != word)
        joint = model._class_joint(model._encode(pd.DataFrame({"body": [rest]})))[1][0]
        fall = found.log_odds - (joint.max() - joint.min()) * (1 if joint.argmax() == 1 else -1)
        assert_allclose(found.words["body"][word], fall, rtol=1e-8, atol=1e-10)


# ---- rows ------------------------------------------------------------------------------------------------------------


def test_doubtful_and_typical_documents_name_their_words():
    texts = pd.DataFrame({"body": ["prize hello", "win win win prize", "dear dear friend", "zebra", ""]})
    found = uncertain_rows(bayes(), texts)
    assert [row.row for row in found[:2]] == [3, 4]
    assert found[0].why == "it has no known word"
    doubt = next(row for row in found if row.row == 0)
    assert "“prize” speaks for spam" in doubt.why
    assert "“hello”" in doubt.why
    typical = typical_rows(bayes(), texts, top=1)
    assert [(row.class_name, row.row) for row in typical] == [("ham", 2), ("spam", 1)]
    assert typical[1].why.startswith("“win”")
    rows = VECTORIZER.transform(texts["body"])
    assert typical_rows(hs.NaiveBayes().fit(COUNTS, LABELS), rows, top=1, names=WORDS)[1].why.startswith("“win”")
    assert "“prize” in body" in str(uncertain_rows(bayes(TWO), texts.assign(title=""))[2].why)


@pytest.mark.parametrize("text", TEXT)
def test_surprise_is_measured_against_texts_as_long(text):
    model = latent(text=text)
    drawn, _ = model.sample(500, random_state=1)
    found = surprise(look(model, drawn))
    assert abs(found.mean()) < 0.1
    assert 0.4 < found.std() < 1.2
    odd = pd.DataFrame({"body": ["prize hello " * 3, "win prize offer", "dear friend dinner"]})
    [first] = surprising_rows(model, odd, top=1)
    assert first.row == 0
    assert first.tail < 0.01
    assert "in body, rare in class" in first.why


def test_surprise_beside_other_columns_and_holes():
    odd = MIXED.copy()
    odd.loc[7, "size"] = 40.0
    found = surprising_rows(bayes(MIXED), odd, top=3)
    assert found[0].row == 7
    assert "size = 40" in found[0].why


# ---- residuals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXT)
def test_words_drawn_from_the_model_leave_nothing(text):
    model = latent(TWO, text=text)
    drawn, _ = model.sample(1500, random_state=0)
    values = np.array([pair.value for pair in residuals(model, drawn)])
    assert len(values) > 100
    assert values.mean() < 1.5
    assert np.mean(values > 3.84) < 0.1


def test_words_that_go_together_are_found():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdef"), 5)) + (" new york" if n % 3 else "") for n in range(200)]
    X = pd.DataFrame({"t": texts, "n": rng.normal(size=200)})
    model = hs.LatentClass(1, columns={"t": "text"}, words={"token_pattern": r"\w+"}).fit(X)
    first = residuals(model, X)[0]
    assert {first.first, first.second} == {"t: new", "t: york"}
    assert first.detail.startswith("rise together")
    assert first.value > 20
    doubled = X.assign(t=X["t"].str.replace("new york", "new york " * 30))  # in bursts
    assert all(0 <= pair.strength <= 1 for pair in residuals(model, doubled))
    assert "r = +1.00" in residuals(model, doubled)[0].detail
    assert residuals(model, X, columns=["n"]) == []


# ---- posteriors ------------------------------------------------------------------------------------------------------


def test_the_posterior_of_words_is_a_dirichlet():
    model = bayes()
    found = hs.posterior(model, FRAME, labels=LABELS, classes=["ham", "spam"])
    assert found.method == "exact"
    counts = model.feature_count_ + 2.0  # add one, and the flat density
    total = counts.sum(axis=1)
    for v, word in enumerate(WORDS):
        assert_allclose(found.mean["body"][word], counts[:, v] / total, rtol=1e-10)
        assert_allclose(found.low["body"][word], beta.ppf(0.025, counts[:, v], total - counts[:, v]), rtol=1e-6)
    assert len(found.to_frame()) == 2 * (1 + len(WORDS))


def test_the_posterior_of_words_that_are_there_or_not_is_a_beta():
    model = hs.NaiveBayes(text="bernoulli").fit(COUNTS, LABELS)
    found = hs.posterior(model, COUNTS, labels=LABELS, classes=["ham", "spam"])
    there = np.array([np.asarray((COUNTS[k == Y] > 0).sum(axis=0)).ravel() for k in (0, 1)])
    assert_allclose(found.mean["words"][0], (there[:, 0] + 2) / (40 + 4), rtol=1e-10)


def test_gibbs_draws_of_words():
    found = hs.posterior(latent(MIXED), MIXED, n_draws=32, burn_in=10, min_ess=0, random_state=0)
    assert found.method == "gibbs"
    assert found.draws["body"]["prize"].shape == (32, 2)
    wide = latent(csr_array((np.ones(40), (np.arange(40), np.arange(40))), shape=(40, 200_000)))
    with pytest.raises(ParameterError, match=r"4000 draws of 400,002 parameters are 13 GB.*min_df"):
        hs.posterior(wide, csr_array((2, 200_000)))


# ---- cells, moves, bounds, numbers -----------------------------------------------------------------------------------


def test_cells_beside_text_are_hidden_and_text_is_not():
    found = hs.hidden_cells(bayes(MIXED), MIXED, LABELS, share=0.4)
    assert found.refitted
    assert [column.column for column in found.columns] == ["size", "colour"]
    assert found.columns[0].error < found.columns[0].plain
    for X in (FRAME, COUNTS):
        assert str(hs.hidden_cells(bayes(X), X, LABELS)).startswith("There is nothing but text")


def test_two_models_of_text_are_compared():
    one, two = latent(), latent(prior=1.0).relabel([1, 0])
    found = comparison.models(one, two)
    assert [(pair.first, pair.second) for pair in found.pairs] == [("class 0", "class 1"), ("class 1", "class 0")]
    move = found.moves[0]
    assert_allclose(move.size, abs(move.after - move.before) * 6, rtol=1e-9)  # six words in a text
    with pytest.raises(ParameterError, match="taken as multinomial in the first and as bernoulli in the second"):
        comparison.models(one, latent(text="bernoulli"))
    with pytest.raises(ParameterError, match="2 words only in the first and 1 only in the second"):
        comparison.models(
            hs.LatentClass(1, columns={"x0": "text"}).fit([["aa bb cc"]] * 2),
            hs.LatentClass(1, columns={"x0": "text"}).fit([["cc dd"]] * 2),
        )
    with pytest.raises(ParameterError, match="cut or scaled"):
        comparison.models(one, latent(document_length=3))
    with pytest.raises(ParameterError, match="differ"):
        one.match_to(latent(text="bernoulli"))


@pytest.mark.parametrize("text", TEXT)
def test_the_bound_of_other_parameters(text):
    one, two = latent(MIXED, text=text), latent(MIXED, text=text, prior=2.0)
    found = hs.bound(one, MIXED, params=two)
    assert_allclose(found.loglik, two.score_samples(MIXED).sum(), rtol=1e-10)
    assert_allclose(found.bound + found.kl, found.loglik, rtol=1e-10)
    assert found.kl > 0
    word = {"body": {"prize": [0.5, 0.25]}}
    if text == "bernoulli":
        assert np.isfinite(hs.bound(one, MIXED, params=word).loglik)
        with pytest.raises(ParameterError, match=r"'prize' cannot be in a share of 1\.5"):
            hs.bound(one, MIXED, params={"body": {"prize": [0.5, 1.5]}})
        with pytest.raises(ParameterError, match="no word 'zebra'"):
            hs.bound(one, MIXED, params={"body": {"zebra": [0.5, 0.5]}})
    else:
        with pytest.raises(ParameterError, match=r"each of its 13 words .* 12 are missing or unknown"):
            hs.bound(one, MIXED, params=word)


def test_a_column_may_have_the_word_words():
    X = pd.DataFrame({"t": ["words and words", "other and other", "words", "other"]})
    model = hs.LatentClass(2, columns={"t": "text"}, random_state=0, n_init=2).fit(X)
    again = hs.LatentClass(2, columns={"t": "text"}, start=model.params_, max_iter=1, stop="iterations").fit(X)
    assert_allclose(again.params_["t"]["words"], model.params_["t"]["words"], atol=1e-3)


@pytest.mark.parametrize("text", TEXT)
def test_em_by_numbers_counts_words(text):
    model = latent(text=text)
    step = hs.explain(model, FRAME[:6], n_iter=1).steps[0]
    rows = (COUNTS[:6] > 0).astype(float) if text == "bernoulli" else COUNTS[:6]
    expected = rows.T @ step.usage
    assert_allclose([step.value_counts["body"][word] for word in WORDS], np.asarray(expected), atol=1e-12)
    shown = str(hs.explain(latent(COUNTS, text=text), COUNTS[:3], n_iter=1))
    assert "np." not in shown
    with pytest.raises(ParameterError, match="explain shows LatentClass, GaussianMixture and KMeans"):
        hs.explain(bayes(), FRAME[:6])


# ---- profiles and pictures -------------------------------------------------------------------------------------------


def test_profiles_show_the_telling_words():
    for X in TABLES.values():
        for text in TEXT:
            rows = [row for row in contrasts(bayes(X, text=text)) if row.kind.of_words]
            assert 10 <= len(rows) <= 40
            assert np.abs([row.contrast for row in rows]).max() > 0.3
    by_label = {row.label: row for row in contrasts(bayes())}
    assert by_label["body: prize"].contrast[1] > 0 > by_label["body: prize"].contrast[0]
    assert by_label["body: prize"].shown[1].endswith("%")
    [column] = profiles(latent(n_components=1))
    assert len(most_telling(column, 3)) == 3


def test_every_picture_draws_or_says_why_not():
    import matplotlib.pyplot as plt

    for X in TABLES.values():
        model = latent(X, n_components=[1, 2])
        hs.plot_profiles(model), hs.plot_selection(model), hs.plot_trace(model), hs.plot_certainty(model, X)
        hs.plot_missing(X, model=model)
        if all(column.kind.of_words for column in model._schema.columns):
            with pytest.raises(ParameterError, match="no column of numbers"):
                hs.plot_mixture(model, X)
        else:
            hs.plot_mixture(model, X)
        plt.close("all")
    hs.plot_missing(MIXED)
    plt.close("all")
    with pytest.raises(DataTypeError, match="no missing values"):
        missing_values(COUNTS)


# ---- the rule of complements -----------------------------------------------------------------------------------------


def test_a_rule_has_words_but_no_probabilities():
    rule, plain = bayes(text="complement"), bayes()
    assert rule.top_words(3) == plain.top_words(3)
    assert rule.describe().startswith("ham (50%)")
    assert_allclose(rule.params_["body"]["prize"], plain.params_["body"]["prize"], rtol=1e-12)
    assert_array_equal(list(rule.why(FRAME[3:4]).words), ["body"])
    uses = {
        "score_samples": lambda: rule.score_samples(FRAME),
        "sample": lambda: rule.sample(2),
        "bic": rule.bic,
        "posterior": lambda: hs.posterior(rule, FRAME),
        "bound": lambda: hs.bound(rule, FRAME),
        "residual": lambda: residuals(rule, FRAME),
        "surprise": lambda: surprising_rows(rule, FRAME),
    }
    for name, use in uses.items():
        with pytest.raises(ParameterError, match=f"a rule, no probability model: there is no .*{name}"):
            use()
    assert "log-likelihood" not in rule._repr_html_inner()


# ---- several components ----------------------------------------------------------------------------------------------


def test_components_of_a_class_begin_at_its_labelled_documents():
    """Unlabelled documents, where they are many, must not lead components away from the class they stand for."""
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.full(200, 0.1), 6)  # three classes of two kinds each
    kind = rng.integers(0, 6, 600)
    X = csr_array(np.array([rng.multinomial(30, shares[k] / 2 + 1 / 400) for k in kind]))
    y = kind // 2
    some = np.where(np.arange(600) < 24, y, -1)
    model = hs.NaiveBayes(components_per_class=2, n_init=2, random_state=0, guard=False).fit(X, some)
    assert model.score(X[24:], y[24:]) > 0.9


def test_draws_are_as_long_and_as_frequent_as_asked():
    model = latent(COUNTS, n_components=1)
    X, _ = model.sample(4000, random_state=0)
    assert_allclose(X.sum(axis=1).mean(), 6, rtol=0.05)
    shares = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    assert_allclose(shares, [model.params_["words"][v][0] for v in range(13)], atol=0.01)


def test_texts_that_were_not_declared_are_noted():
    X = pd.DataFrame({"body": [f"a message, number {n}" for n in range(20)], "n": RNG.normal(size=20)})
    [note] = hs.NaiveBayes().fit(X, Y[:20]).events_
    assert "columns={'body': 'text'}" in note
    assert hs.NaiveBayes(columns={"body": "text"}).fit(X, Y[:20]).events_ == []
    with pytest.raises(ValueError, match=r"one column: .*X\[\[name\]\]"):
        hs.NaiveBayes(columns={0: "text"}).fit(X["body"], Y[:20])
    with pytest.raises(ValueError, match="one column"):
        hs.NaiveBayes(columns={0: "text"}).fit(X["body"].tolist(), Y[:20])
