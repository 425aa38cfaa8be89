"""Grammars as users meet them: what is read, what is fitted, what is refused and how."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.app import model_file
from halfseen.errors import (
    DataError,
    FitError,
    ImpossibleRowWarning,
    ModelFileError,
    ParameterError,
    UnknownCategoryWarning,
)
from halfseen.families.grammar.grammar_text import read_grammar
from halfseen.kernels import active, plain
from halfseen.structures.rules import rule_text
from halfseen.structures.trees import Word
from tests.shared_data import shared_data

ASTRONOMERS = """
S -> NP VP [1.0]
PP -> P NP [1.0]
VP -> V NP [0.7] | VP PP [0.3]
P -> 'with' [1.0]
V -> 'saw' [1.0]
NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
"""
SENTENCE = "astronomers saw stars with ears"
BLANK = """
S -> NP VP
PP -> P NP
VP -> V NP | VP PP
P -> 'with'
V -> 'saw'
NP -> NP PP | 'astronomers' | 'ears' | 'stars'
"""
CORPUS = [
    SENTENCE,
    "stars saw ears",
    "ears with stars saw astronomers",
    "astronomers saw ears with stars with ears",
] * 3


def quiet(model, *args, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **how)


# ---- the sentence of the textbook --------------------------------------------------------------------------------


def test_the_astronomers():
    grammar = hs.PCFG.from_string(ASTRONOMERS)
    assert np.exp(grammar.score_samples([SENTENCE])[0]) == pytest.approx(0.0015876, rel=1e-12)
    assert grammar.n_parses(SENTENCE) == 2
    found = grammar.parse(SENTENCE)
    assert np.exp(found.log_probability) == pytest.approx(0.0009072, rel=1e-12)
    assert str(found.tree) == "(S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))"
    counts = grammar.expected_counts([SENTENCE])
    assert counts["NP -> NP PP"] == pytest.approx(0.0009072 / 0.0015876)
    assert counts["VP -> VP PP"] == pytest.approx(0.0006804 / 0.0015876)
    drawn = grammar.parse(SENTENCE, draws=400, random_state=0)
    assert {str(one.tree) for one in drawn} == {
        str(found.tree),
        str(found.tree).replace(
            "(VP (V saw) (NP (NP stars) (PP (P with) (NP ears))))",
            "(VP (VP (V saw) (NP stars)) (PP (P with) (NP ears)))",
        ),
    }
    assert np.mean([one.tree == found.tree for one in drawn]) == pytest.approx(0.571, abs=0.1)


def test_every_sentence_of_atis_has_its_exact_number_of_trees():
    rules = hs.PCFG.from_string(shared_data("atis_cfg/atis.cfg").read_text(encoding="latin-1"), random_state=0)
    lines = shared_data("atis_cfg/atis_sentences.txt").read_text(encoding="latin-1").splitlines()
    pairs = [line.split(" : ") for line in lines if " : " in line]
    sentences, numbers = [text for _, text in pairs], [int(number) for number, _ in pairs]
    assert len(numbers) == 98
    short = [s for s, text in enumerate(sentences) if len(text.split()) < 9]
    chosen = short if active is plain else range(98)  # the NumPy kernels take their time
    assert rules.n_parses([sentences[s] for s in chosen]) == [numbers[s] for s in chosen]
    parsed = np.isfinite(rules.score_samples([sentences[s] for s in chosen]))
    assert_array_equal(parsed, [numbers[s] > 0 for s in chosen])


# ---- fits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_all_modes_fit_and_the_objective_belongs_to_the_result(assign):
    model = quiet(hs.PCFG.from_string(BLANK, assign=assign, random_state=0, n_init=3, max_iter=30, prior=None), CORPUS)
    assert model.score(CORPUS) == pytest.approx(model.loglik_, rel=1e-10)
    if assign == "hard":
        best = sum(one.log_probability for one in model.parse(CORPUS))
        assert model.objective_ == pytest.approx(best, rel=1e-10)
    for left in model._grammar.full:
        own = [p for rule, p in model.probabilities_.items() if rule.startswith(f"{left} ->")]
        assert sum(own) == pytest.approx(1)
    assert sum(c for rule, c in model.counts_.items() if rule.startswith("S ->")) == pytest.approx(len(CORPUS))


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_same_seed_same_bits_for_any_number_of_workers(assign, monkeypatch):
    monkeypatch.setattr("halfseen.families.grammar.model.WORK", 1)  # a chunk for every sentence
    how = {"assign": assign, "random_state": 1, "n_init": 2, "max_iter": 12}
    one, two = (quiet(hs.PCFG.from_string(BLANK, n_jobs=n, **how), CORPUS) for n in (1, 2))
    assert one.probabilities_ == two.probabilities_
    assert one.trace_ == two.trace_


def test_order_and_repetition_of_sentences_do_not_matter():
    how = {"random_state": 0, "n_init": 2, "max_iter": 40}
    one = quiet(hs.PCFG.from_string(BLANK, **how), CORPUS)
    other = quiet(hs.PCFG.from_string(BLANK, **how), CORPUS[:4][::-1], sample_weight=[3, 3, 3, 3])
    assert one.probabilities_ == other.probabilities_
    zero = quiet(hs.PCFG.from_string(BLANK, **how), [*CORPUS, "never said"], sample_weight=[1] * len(CORPUS) + [0])
    assert zero.probabilities_ == one.probabilities_


def test_gradient_methods_reach_the_same_place():
    em = quiet(hs.PCFG.from_string(ASTRONOMERS, tol=1e-9), CORPUS)
    other = quiet(hs.PCFG.from_string(ASTRONOMERS, method="lbfgs", tol=1e-9), CORPUS)
    assert other.loglik_ == pytest.approx(em.loglik_, abs=1e-3)


def test_fixed_rules_and_priors():
    fixed = quiet(hs.PCFG.from_string(ASTRONOMERS, fixed=["VP", "NP -> NP PP"]), CORPUS).probabilities_
    assert (fixed["VP -> V NP"], fixed["VP -> VP PP"], fixed["NP -> NP PP"]) == (0.7, 0.3, 0.4)
    assert fixed["NP -> 'ears'"] != 0.18
    free = quiet(hs.PCFG.from_string(ASTRONOMERS, prior=None), CORPUS)
    assert free.probabilities_["NP -> 'telescopes'"] == 0
    prior = quiet(hs.PCFG.from_string(ASTRONOMERS, prior=1.0), CORPUS)
    counts = prior.counts_
    total = sum(c + 1 for rule, c in counts.items() if rule.startswith("NP"))
    assert prior.probabilities_["NP -> 'telescopes'"] == pytest.approx(1 / total, rel=1e-3)
    some = quiet(hs.PCFG.from_string(ASTRONOMERS, prior={"NP -> 'telescopes'": 5.0, "VP": 1}), CORPUS)
    assert some.probabilities_["NP -> 'telescopes'"] > prior.probabilities_["NP -> 'telescopes'"]


def test_brackets_and_tags_rule_out_trees():
    grammar = hs.PCFG.from_string(ASTRONOMERS)
    low = "(astronomers saw (stars with ears))"
    for brackets in ([[(2, 5)]], [low], [hs.Tree.from_string("(X astronomers saw (Y stars with ears))")]):
        assert grammar.n_parses([SENTENCE], brackets=brackets) == [1]
    assert np.exp(grammar.score_samples([SENTENCE], brackets=[[(2, 5)]]))[0] == pytest.approx(0.0009072)
    assert grammar.n_parses([SENTENCE], tags=["NP V NP P NP"]) == [2]
    assert grammar.n_parses([SENTENCE], tags=[[None, {"NP"}, None, None, None]]) == [0]
    high = quiet(
        hs.PCFG.from_string(ASTRONOMERS, prior=None),
        [SENTENCE],
        brackets=["((astronomers (saw stars)) with ears)"][:0] or [[(1, 3)]],
    )
    assert high.probabilities_["NP -> NP PP"] == pytest.approx(0, abs=1e-12)
    assert high.counts_["VP -> VP PP"] == pytest.approx(1)


def test_brackets_do_not_cut_flat_rules():
    """A bracket inside a flat rule of three is not crossed by it."""
    grammar = hs.PCFG.from_string("S -> 'a' 'b' 'c' [0.5] | A 'c' [0.5]\nA -> 'a' 'b' [1.0]")
    assert grammar.n_parses([["a", "b", "c"]] * 3, brackets=[None, [(1, 3)], [(0, 2)]]) == [2, 1, 2]


def test_words_that_were_not_seen():
    grammar = hs.PCFG.from_string("S -> A 'x' [0.5] | A A [0.5]\nA -> 'a' [0.25] | 'b' [0.75]")
    assert np.exp(grammar.score_samples([[None, None]]))[0] == pytest.approx(1.0)
    assert np.exp(grammar.score_samples([["a", None]]))[0] == pytest.approx(0.25)
    assert str(grammar.parse(["a", None]).tree) == "(S (A a) x)"
    assert sum(grammar.expected_counts([[None, None]]).values()) == pytest.approx(1 + 0.5 + 1.0)


def test_unknown_words_by_policy():
    text = "S -> N V\nN -> 'dogs' | '<unk>'\nV -> 'bark'"
    assert hs.PCFG.from_string(text).score_samples(["cats bark"])[0] == -np.inf
    stand_in = hs.PCFG.from_string(text, unknown="<unk>", random_state=0)
    assert str(stand_in.parse("cats bark").tree) == "(S (N cats) (V bark))"
    with pytest.warns(UnknownCategoryWarning, match="'cats'"):
        assert hs.PCFG.from_string(text, unknown="missing").score_samples(["cats bark"])[0] == pytest.approx(0)
    with pytest.raises(ParameterError, match="unknown='zzz'"):
        hs.PCFG.from_string(text, unknown="zzz")


# ---- sentences without a parse -----------------------------------------------------------------------------------


def test_a_sentence_without_a_parse_is_named():
    said = [*CORPUS, "saw saw", "cows moo"]
    with pytest.raises(
        DataError,
        match=r"2 of 14 sentences have no parse: sentence 12 'saw saw' .*no tree .*; sentence 13 .*'cows', 'moo'.*skip",
    ):
        hs.PCFG.from_string(BLANK, random_state=0).fit(said)
    model = quiet(hs.PCFG.from_string(BLANK, random_state=0, n_init=2, on_unparsable="skip"), said)
    assert (model.unparsable_, model.n_unparsable_) == ([12, 13], 2)
    assert "left out: 2 of 14 sentences" in model.events_[0]
    assert np.isfinite(model.loglik_)
    assert model.parse(said)[12] is None
    with pytest.warns(ImpossibleRowWarning, match="2 of 14"):
        assert model.score(said) == pytest.approx(model.loglik_)
    with pytest.raises(DataError, match="nothing to fit"):
        hs.PCFG.from_string(BLANK, on_unparsable="skip").fit(["cows moo"])
    with pytest.raises(DataError, match="1 of 1 sentence has no parse"):
        hs.PCFG.from_string(BLANK).parse("cows moo")
    given_zero = ASTRONOMERS.replace("[0.18] | 'saw' [0.04]", "[0.22] | 'saw' [0.0]")
    with pytest.raises(DataError, match="sentence 0 'saw saw saw'"):
        hs.PCFG.from_string(given_zero).fit(["saw saw saw"])


def test_a_sentence_says_what_it_was_given_when_that_leaves_no_parse():
    model, said = hs.PCFG.from_string(ASTRONOMERS), "astronomers saw stars"
    with pytest.raises(DataError, match=r"\(given its tags\)"):
        model.parse([said], tags=[["V", None, None]])
    with pytest.raises(DataError, match=r"\(given its brackets\)"):
        model.parse([said], brackets=[[(0, 2)]])
    with pytest.raises(DataError, match=r"\(given its brackets and tags\)"):
        model.parse([said], brackets=[[(1, 3)]], tags=[["V", None, None]])


# ---- grammars ----------------------------------------------------------------------------------------------------


def test_long_mixed_and_unary_rules_come_back_as_they_were_written():
    top = "S -> 'if' C 'then' S 'else' S [0.25] | X [0.75]"
    grammar = hs.PCFG.from_string(f"{top}\nX -> 'go' [0.5] | Y [0.5]\nY -> 'stop' [1.0]\nC -> 'a' 'b' [1.0]")
    found = grammar.parse("if a b then go else stop")
    assert str(found.tree) == "(S if (C a b) then (S (X go)) else (S (X (Y stop))))"
    assert np.exp(found.log_probability) == pytest.approx(0.25 * 0.75**2 * 0.5**2)
    again = hs.PCFG.from_string(grammar.to_string())
    assert again.probabilities_ == grammar.probabilities_


def test_the_syntax_of_nltk():
    found = read_grammar(
        """
        # a comment with 'quotes' -> and arrows
        %start S
        N -> "o'clock" | 'a#b' [0.5] \\
             | M/x^<y>
        S -> N   # the top
        M/x^<y> -> 'm'
        N -> 'a#b' [.25]
        """
    )
    assert found.start == "S"
    assert [rule_text(*rule) for rule in found.rules] == [
        *('N -> "o\'clock"', "N -> 'a#b'", "N -> M/x^<y>", "S -> N", "M/x^<y> -> 'm'"),
    ]
    assert found.rules["N", (Word("a#b"),)] == 0.75


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rules"),
        ("S -> ", "line 1: S has an empty right-hand side, and empty productions are not supported"),
        ("S -> 'a' |", "line 1: S has an empty right-hand side"),
        ("S -> 'a'\nA -> ''", "line 2: A has an empty word"),
        ("S -> NP VP", "2 of the symbols .* 'NP', 'VP'.*quoted"),
        ("S => 'a'", "line 1: .* is not a rule"),
        ("'S' -> 'a'", "line 1: .* is not a rule"),
        ("S -> 'a' [1.5]", r"line 1: \[1.5\] is not a probability"),
        ("S -> 'a' [x]", r"line 1: \[x\] is not a probability"),
        ("S -> 'a' [0.5] 'b'", "follows a probability"),
        ("S -> 'a' [0.5] | 'b' [0.2]", "probabilities of S sum to 0.7, not 1"),
        ("S -> 'a' [0.9] | 'b' [0.9] | 'c'", "probabilities of S sum to 1.8"),
        ("S -> 'a", "unexpected"),
        ("%start X\nS -> 'a'", "no rule for 'X'"),
        ("%end\nS -> 'a'", "not a known directive"),
    ],
)
def test_bad_grammars_are_refused_in_words(text, message):
    with pytest.raises((DataError, ParameterError), match=message):
        hs.PCFG.from_string(text)


def test_a_grammar_read_off_trees():
    grammar = hs.PCFG.from_trees(
        ["(S (NP the dog) (VP barks))", hs.Tree("S", [hs.Tree("NP", ["it"]), hs.Tree("VP", ["barks"])])]
    )
    assert grammar.probabilities_ == {
        "S -> NP VP": 1.0,
        "NP -> 'the' 'dog'": 0.5,
        "NP -> 'it'": 0.5,
        "VP -> 'barks'": 1.0,
    }
    for trees, message in [
        ("(S (NP a)", "not closed"),
        ("(S a))", "closes nothing"),
        ("(S a) b", "outside of all brackets"),
        ("(S)", "nothing below"),
        ("((A a) (B b))", "without a label"),
        ("", "no trees"),
        ("(A a) (B b)", "different symbols at the top"),
        ("(A it's\"it)", "cannot be written"),
        ([3], "tree 0: 3"),
    ]:
        with pytest.raises(DataError, match=message):
            hs.PCFG.from_trees(trees)


def test_symbols_with_marks_of_the_syntax():
    text = r"""(S (`` ``) (NP|X (% %) (S\NP 'em)) (VP[fin] said) (# #) ($ $) ('' ''))"""
    tree = hs.Tree.from_string(text)
    grammar = hs.PCFG.from_trees(text, fixed=["''", r"\# -> '#'"])
    assert grammar.rules_[0] == r"S -> `` NP\|X VP\[fin\] \# $ \'\'"
    assert grammar.parse(tree.words(), tags=[["``", "%", "S\\NP", "VP[fin]", "#", "$", "''"]][0]).tree == tree
    again = hs.PCFG.from_string(grammar.to_string())
    assert again.probabilities_ == grammar.probabilities_
    assert again.start_ == "S"
    assert hs.PCFG.from_trees("('' (# a))").start_ == "''"
    assert hs.PCFG.from_string("A -> B 'x' # and more\nB -> 'y#'  # it's").rules_ == ["A -> B 'x'", "B -> 'y#'"]
    with pytest.raises(DataError, match="'a b' cannot be written"):
        hs.PCFG.from_trees(hs.Tree("a b", ["c"]))


def test_random_grammars():
    grammar = hs.PCFG.random(3, "abc", n_preterminals=2, random_state=0)
    assert len(grammar.rules_) == 3 * 5 * 5 + 2 * 3
    assert grammar.probabilities_ == hs.PCFG.random(3, "abc", n_preterminals=2, random_state=0).probabilities_
    assert grammar.probabilities_ != hs.PCFG.random(3, "abc", n_preterminals=2, random_state=1).probabilities_
    with pytest.raises(FitError, match="beyond max_length=1000"):
        hs.PCFG.from_string("S -> S S [0.9] | 'a' [0.1]").sample(3, random_state=0)


def test_samples_follow_the_grammar():
    sentences, trees = hs.PCFG.from_string(ASTRONOMERS).sample(600, random_state=0)
    assert [tree.words() for tree in trees] == sentences
    again = hs.PCFG.from_trees(trees).probabilities_
    assert_allclose([again["VP -> V NP"], again["NP -> NP PP"]], [0.7, 0.4], atol=0.05)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"sentences": "one text"}, "put one into a list"),
        ({"sentences": []}, "no sentences"),
        ({"sentences": ["a", ""]}, "sentence 1 has no words"),
        ({"sentences": [["a", 3]]}, "sentence 0: 3 is not a word"),
        ({"sentences": [7]}, "sentence 0: 7"),
        ({"brackets": [[(0, 9)]]}, r"\(0, 9\) is not within its 5 words"),
        ({"brackets": [[(0, 2), (1, 3)]]}, "cross each other"),
        ({"brackets": [["x"]]}, "not a pair"),
        ({"brackets": []}, "0 entries for 1 sentences"),
        ({"brackets": ["(other words)"]}, "are not those of the sentence"),
        ({"tags": ["N V"]}, "2 tags for 5 words"),
        ({"tags": [["ZZ", None, None, None, None]]}, "'ZZ' is not a symbol"),
        ({"sample_weight": [1, 2]}, "2 values"),
        ({"sample_weight": [0]}, "at least one non-zero"),
    ],
)
def test_bad_sentences_are_refused_in_words(how, message):
    how = {"sentences": [SENTENCE], **how}
    with pytest.raises(DataError, match=message):
        hs.PCFG.from_string(ASTRONOMERS).fit(how.pop("sentences"), **how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"assign": "firm"}, "assign='firm'"),
        ({"fixed": ["XP"]}, "'XP' is not a rule"),
        ({"fixed": "NP"}, "not a list"),
        ({"prior": -1}, "prior=-1"),
        ({"prior": {"XP": 1}}, "'XP'"),
        ({"on_unparsable": "shout"}, "on_unparsable='shout'"),
        ({"n_init": 0}, "n_init=0"),
        ({"anneal": (0.5,), "assign": "hard"}, "anneal"),
    ],
)
def test_bad_options_are_refused_in_words(how, message):
    with pytest.raises(ParameterError, match=message):
        hs.PCFG(ASTRONOMERS, **how).fit([SENTENCE])


def test_fixed_needs_a_probability_and_fit_a_grammar():
    with pytest.raises(ParameterError, match="no probability in the grammar"):
        hs.PCFG(BLANK, fixed=["NP"]).fit(CORPUS)
    with pytest.raises(ParameterError, match="grammar= is needed"):
        hs.PCFG().fit(CORPUS)


def test_manners():
    model = hs.PCFG.from_string(ASTRONOMERS)
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).probabilities_ == model.probabilities_
    before = dict(model.probabilities_)
    with pytest.raises(DataError):
        model.fit(["nonsense"])
    assert model.probabilities_ == before
    fitted = quiet(model, CORPUS)
    assert fitted.bic() == pytest.approx(-2 * fitted.loglik_ + fitted.n_parameters_ * np.log(len(CORPUS)))
    assert fitted.aic() == pytest.approx(-2 * fitted.loglik_ + 2 * fitted.n_parameters_)
    assert list(fitted.to_frame().columns) == ["left", "right", "probability", "count"]


# ---- trees -------------------------------------------------------------------------------------------------------


def test_trees_are_drawn():
    tree = hs.Tree.from_string("(S (A <&>) (Bee (C x) y))")
    svg = tree.to_svg()
    assert svg.startswith("<svg")
    assert "&lt;&amp;&gt;" in svg
    assert svg.count("<text") == 7
    lines = tree.picture().splitlines()
    assert lines[0].strip() == "S"
    assert lines[-1].split() == ["<&>", "x", "y"]
    long = hs.Tree("LongLabel", ["a"])
    assert long.picture().splitlines() == ["LongLabel", "    │", "    a"]


def test_deep_trees():
    tree = hs.Tree("S", ["a"])
    for _ in range(1499):
        tree = hs.Tree("S", ["a", tree])
    assert tree.height() == 1500
    assert str(tree).endswith("(S a" + ")" * 1500)
    assert hs.PCFG.from_trees([tree]).probabilities_["S -> 'a'"] == pytest.approx(1 / 1500)
    assert hs.Tree.from_string(str(tree)).spans() == [("S", i, 1500) for i in range(1500)]


# ---- model files -------------------------------------------------------------------------------------------------


@pytest.fixture
def good(tmp_path):
    model = quiet(hs.PCFG.from_string(ASTRONOMERS, prior={"NP": 0.5}, fixed=["PP"], n_jobs=1), CORPUS)
    hs.save(model, tmp_path / "m.halfseen")
    return model, tmp_path / "m.halfseen"


def test_a_grammar_comes_back(good):
    model, path = good
    loaded = hs.load(path)
    assert loaded.probabilities_ == model.probabilities_
    assert loaded.counts_ == model.counts_
    assert loaded.get_params() == {**model.get_params(), "fixed": ["PP"]}
    assert_array_equal(loaded.score_samples(CORPUS), model.score_samples(CORPUS))
    assert (loaded.trace_, loaded.events_, loaded.unparsable_) == (model.trace_, model.events_, [])
    assert quiet(loaded, CORPUS).probabilities_ == model.probabilities_
    hs.save(hs.PCFG.from_string(ASTRONOMERS), path)
    assert hs.load(path).parse(SENTENCE) == hs.PCFG.from_string(ASTRONOMERS).parse(SENTENCE)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(0, 2), max_size=2),
)


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_odd_records_are_refused_or_work(good, data):
    model, path = good
    state = model._state()
    record, tensors = copy.deepcopy(state.record), dict(state.tensors)
    part = data.draw(st.sampled_from([*record, "inside rules", "inside training", "arrays"]))
    if part == "inside rules":
        rule = record["rules"][data.draw(st.integers(0, len(record["rules"]) - 1))]
        rule[data.draw(st.integers(0, 1))] = data.draw(ODD)
    elif part == "inside training":
        record["training"][data.draw(st.sampled_from(list(record["training"])))] = data.draw(ODD)
    elif part == "arrays":
        tensors[data.draw(st.sampled_from(list(tensors)))] = np.array(data.draw(st.lists(st.floats(), max_size=3)))
    else:
        record[part] = data.draw(ODD)
    try:
        content = model_file._content("PCFG", type(state)(record, tensors))
    except (ParameterError, ModelFileError):
        return
    path.write_bytes(content)
    try:
        loaded = hs.load(path)
    except ModelFileError:
        return
    assert np.isfinite(loaded.parse(SENTENCE).log_probability)


def test_numbers_are_no_brackets_and_no_tags():
    grammar = hs.PCFG.from_string("S -> 'a'")
    for what, message in [
        ("brackets", "brackets of sentence 0: 3 is neither"),
        ("tags", "tags of sentence 0: 3 is not"),
    ]:
        with pytest.raises(DataError, match=message):
            grammar.fit(["a"], **{what: [3]})


def test_a_table_is_no_list_of_sentences():
    pd = pytest.importorskip("pandas")
    grammar = hs.PCFG.from_string("S -> 'a' [0.5] | 'b' [0.5]")
    frame = pd.DataFrame({"a": ["b", "b"]})
    with pytest.raises(DataError, match=r"Pass the column that has them, such as frame\['sentence'\]"):
        grammar.fit(frame)
    assert grammar.fit(frame["a"]).score(["b"]) > grammar.score(["a"])
