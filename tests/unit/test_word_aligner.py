"""WordAligner: worked numbers, inputs in every form, evidence, symmetrisation, model files and messages."""

import gzip
import itertools
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.data.spill import scratch
from halfseen.errors import (
    CheckpointError,
    DataError,
    DataTypeError,
    InterruptedWarning,
    ModelFileError,
    ParameterError,
)
from halfseen.families.words import corpus
from halfseen.families.words.bitext import Bitext, encode_pairs
from halfseen.families.words.corpus import pairs_of
from halfseen.families.words.symmetrize import HEURISTICS, symmetrized
from halfseen.leaves.positions import Jumps

TOY = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]
NLTK = [
    ("the house is small", "klein ist das haus"),
    ("the house is big", "das haus ist ja groß"),
    ("the book is small", "das buch ist ja klein"),
    ("the house", "das haus"),
    ("the book", "das buch"),
    ("a book", "ein buch"),
]
MODELS = ("ibm1", "diagonal", "hmm")


def probability(aligner, source, target):
    return dict(aligner.translations(source, None))[target]


@pytest.fixture(scope="module")
def fitted():
    return {model: hs.WordAligner(model, max_iter=8).fit(NLTK) for model in MODELS}


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_a_word_that_is_known_to_have_none_gets_none():
    pairs = [("a b", "x y"), ("a", "x")]
    for links in ([(0, None)], [(0, 0)]):  # none at all, and one that leaves no others
        told = hs.WordAligner("ibm1", direction="forward", max_iter=2).fit(pairs, links=[links, None])
        assert probability(told, "a", "x") == pytest.approx(1.0)
    with pytest.raises(DataError, match="which needs NULL"):
        hs.WordAligner("ibm1", direction="forward", null=False).fit([("a", "x")], links=[[(0, None)]])


def test_model_one_by_hand():
    found = [hs.WordAligner("ibm1", null=False, direction="forward", max_iter=n).fit(TOY) for n in (2, 3, 4)]
    assert [round(probability(one, "das", "the"), 4) for one in found] == [0.5, 0.6364, 0.7479]
    assert [round(probability(one, "Haus", "house"), 4) for one in found] == [0.5, 0.5714, 0.6534]
    assert_allclose(found[-1].trace_[:3], [-8.3178, -5.3096, -5.0011], atol=5e-5)
    assert found[-1].loglik_ == found[-1].trace_[-1]


def test_the_numbers_of_another_library():
    """NLTK's docstring of IBMModel1, five iterations with NULL."""
    found = hs.WordAligner("ibm1", direction="forward", max_iter=6).fit(NLTK)
    assert probability(found, "book", "buch") == pytest.approx(0.889, abs=5e-4)
    assert probability(found, "book", "das") == pytest.approx(0.062, abs=5e-4)
    assert probability(found, None, "buch") == pytest.approx(0.113, abs=5e-4)
    assert probability(found, None, "ja") == pytest.approx(0.073, abs=5e-4)
    assert found.align([NLTK[2]]) == [[(0, 0), (1, 1), (2, 2), (2, 3), (3, 4)]]


SUMS = [{"agreement": False}, {"agreement": True}, {"assign": "hard"}, {"assign": "sample", "random_state": 0}]


@pytest.mark.parametrize("how", SUMS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_translations_sum_to_one(model, how):
    """Also those of words that no link is counted for: never chosen, of no weight, or known to have none."""
    pairs, links = [*NLTK, ("a b", "x y"), ("c d", "x z"), ("e", "y")], [None] * (len(NLTK) + 2) + [[(0, None)]]
    weight = np.arange(len(pairs)) % 3
    found = hs.WordAligner(model, **how).fit(pairs, links=links, sample_weight=weight)
    for reverse, words in ((False, found.source_words_), (True, found.target_words_)):
        for word in (None, *words):
            total = sum(p for _, p in found.translations(word, None, reverse=reverse))
            assert total == pytest.approx(1.0, abs=1e-12)


def test_words_that_never_stand_together_have_no_probability():
    found = hs.WordAligner("ibm1", direction="forward").fit(NLTK)
    assert "groß" not in dict(found.translations("book", None))


def test_sampled_links_lead_near_the_same_place():
    pairs = NLTK * 10  # a word that is never drawn would be lost: many pairs, and a prior
    how = {"direction": "forward", "dirichlet": 0.1, "max_iter": 30, "random_state": 0}
    soft, drawn, again = (
        hs.WordAligner("ibm1", assign=assign, **how).fit(pairs) for assign in ("soft", "sample", "sample")
    )
    assert drawn.trace_ == again.trace_
    for source, target in (("book", "buch"), ("house", "haus"), ("the", "das")):
        assert drawn.translations(source, 1)[0][0] == soft.translations(source, 1)[0][0] == target


def test_models_start_each_other():
    found = hs.WordAligner("hmm", sequence=["ibm1", "diagonal", "hmm"], agreement=False).fit(NLTK)
    assert [(s["model"], s["direction"]) for s in found.stages_] == list(
        itertools.product(MODELS, ("forward", "reverse"))
    )
    assert found.stages_[1]["trace"][0] > found.stages_[0]["trace"][0]


def test_a_rule_may_stop_earlier():
    found = hs.WordAligner("ibm1", direction="forward", stop="gain", tol=1e-3, max_iter=500).fit(TOY)
    assert found.converged_
    assert found.stop_reason_ == "tolerance"
    assert found.n_iter_ < 500


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("null", [True, False])
def test_a_pass_counts_every_word_once(model, null):
    """In training too, whatever the directions make of each other: with NULL by agreeing, without it apart."""
    from halfseen.families.words.model import WordModel

    counted, add = [], WordModel.expected

    def look(self, *args, **how):
        found = add(self, *args, **how)
        counted.append({name: part.sum() for name, part in self.view(found.stats).items() if "lexicon" in name})
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WordModel, "expected", look)
        aligner = hs.WordAligner(model, null=null, max_iter=3).fit(NLTK)
    assert aligner._agrees == null
    words = [sum(len(pair[side].split()) for pair in NLTK) for side in (0, 1)]
    for sums in counted:
        if "back_lexicon" in sums:
            assert_allclose([sums["lexicon"], sums["back_lexicon"]], words[::-1], rtol=1e-12)
        else:
            assert min(abs(sums["lexicon"] - n) for n in words) < 1e-9


# ---- inputs ----------------------------------------------------------------------------------------------------------


def test_pairs_come_in_many_forms(tmp_path):
    source, target = ([pair[i] for pair in NLTK] for i in (0, 1))
    (tmp_path / "s").write_text("\n".join(source) + "\n", encoding="utf-8")
    (tmp_path / "t").write_text("\r\n".join(target), encoding="utf-8")  # other ends of lines, and none at the last
    bars = [f"{s} ||| {t}" for s, t in NLTK]
    with gzip.open(tmp_path / "both.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeff" + "\n".join(bars))
    forms = [
        (NLTK,),
        ([(s.split(), t.split()) for s, t in NLTK],),
        (bars,),
        (source, target),
        ([s.split() for s in source], [t.split() for t in target]),
        (str(tmp_path / "s"), str(tmp_path / "t")),
        (tmp_path / "both.gz",),
        (iter(NLTK),),
    ]
    traces = [hs.WordAligner(max_iter=3).fit(*form).trace_ for form in forms]
    assert all(trace == traces[0] for trace in traces)


def test_beyond_its_memory_a_corpus_lies_in_files():
    rng = np.random.default_rng(0)
    pairs = [([f"s{w}" for w in rng.integers(0, 50, 9)], [f"t{w}" for w in rng.integers(0, 50, 8)]) for _ in range(300)]
    for links in (None, [[(0, 0)], *[None] * 299]):
        made = {}
        for memory in ("1GB", 10_000):
            files = []
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(
                    corpus, "scratch", lambda shape, dtype, to=files: to.append(shape) or scratch(shape, dtype)
                )
                made[memory] = hs.WordAligner(max_iter=2, memory=memory).fit(pairs, links=links), files
        assert made["1GB"][0].trace_ == made[10_000][0].trace_
        assert not made["1GB"][1]
        sizes = [(2400,), (300 * 10 * 8,), (2700,), (300 * 9 * 9,)]  # words, and links with NULL, of each direction
        assert made[10_000][1] == sizes[:: 1 if links else 2]


def test_a_corpus_in_blocks_gives_the_same(monkeypatch):
    from halfseen.families.words import model as word_model

    known = [[(0, 1)], None, [(1, 0), (0, None)], *[[(0, 0)]] * 3][: len(NLTK)]
    one = hs.WordAligner().fit(NLTK, links=known)
    monkeypatch.setattr(word_model, "LEAST", 8)
    monkeypatch.setattr(
        "halfseen.families.words.estimator.n_blocks", lambda links, cells: word_model.n_blocks(links, 3)
    )
    two = hs.WordAligner().fit(NLTK, links=known)
    assert_allclose(one.trace_, two.trace_, rtol=1e-12)
    assert_allclose(one._learned["reverse"].table, two._learned["reverse"].table, rtol=1e-9, atol=1e-15)


def test_text_without_words_has_no_links(fitted):
    pairs = [("", "the"), ("", "")]
    for found in fitted.values():
        assert found.align(pairs) == [[], []]
        assert found.score_samples(pairs).tolist() == [0, 0]
        assert [post.shape for post in found.align_proba(pairs)] == [(0, 1), (0, 0)]


def test_empty_sides_keep_their_line(fitted):
    pairs = [("", "the"), *NLTK, ("das", ""), ("", "")]
    found = hs.WordAligner().fit(pairs)
    assert found.events_ == ["3 of 9 pairs have an empty side and are ignored: pair 0, 7, 8"]
    links = found.align(pairs)
    assert len(links) == 9
    assert links[0] == links[7] == links[8] == []
    assert links[1]
    assert next(p.shape for p in found.align_proba(pairs)) == (0, 1)
    scores = found.score_samples(pairs)
    assert scores[0] == scores[8] == 0
    assert np.all(scores[1:7] < 0)


def test_a_sentence_that_is_too_long_is_refused():
    """Its length would not fit beside its place: what stands where would be wrong."""
    ends, longer = np.array([0, 1, 2]), np.array([0, 1, 1 + (1 << 24)])
    words = np.zeros(0, dtype=np.int32)
    with pytest.raises(DataError, match=r"pair 1 .* 16,777,216 words, more than 16,777,215"):
        pairs_of(Bitext(words, words, ends, longer, ("a",), ("b",)))
    assert len(pairs_of(Bitext(words, words, longer, ends, ("a",), ("b",)))) == 2


def test_capitals_may_be_alike():
    found = hs.WordAligner("ibm1", lowercase=True).fit([("Das HAUS", "The house")])
    assert found.source_words_ == ("das", "haus")
    assert found.translations("Haus", 1)
    assert found.score([("das haus", "THE HOUSE")]) == pytest.approx(found.loglik_)


def test_lines_that_cannot_be_are_named(tmp_path):
    (tmp_path / "bars").write_text("a b ||| c\na|||c\n")
    with pytest.raises(DataError, match=r"bars, line 2: there is no ' \|\|\| ' .* space on both sides"):
        hs.WordAligner().fit(tmp_path / "bars")
    with pytest.raises(DataError, match=r"pair 0: there are 2 of ' \|\|\| '"):
        hs.WordAligner().fit(["a ||| b ||| c"])
    (tmp_path / "s").write_text("a\nb\nc\n")
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(DataError, match=r"t has 1 lines and .*s has 3"):
        hs.WordAligner().fit(tmp_path / "s", tmp_path / "t")
    (tmp_path / "latin").write_bytes("a ||| b\ncaf\xe9 ||| d\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin, line 2: not UTF-8"):
        hs.WordAligner().fit(tmp_path / "latin")
    with pytest.raises(FileNotFoundError):
        hs.WordAligner().fit("no_such_file")
    with pytest.raises(DataError, match="0 pairs"):
        hs.WordAligner().fit([])
    with pytest.raises(DataError, match="2 pairs, but none"):
        hs.WordAligner().fit([("", "a"), ("b", "")])
    with pytest.raises(DataTypeError, match=r"pair 1 is .*a pair is"):
        hs.WordAligner().fit([("a", "b"), ("a", "b", "c")])
    with pytest.raises(DataTypeError, match="the word 3 is int"):
        hs.WordAligner().fit([(["a", 3], ["b"])])
    with pytest.raises(DataTypeError, match="two paths, or two lists"):
        hs.WordAligner().fit(str(tmp_path / "s"), ["a"])
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="not a gzip file"):
        hs.WordAligner().fit(tmp_path / "bad.gz")
    whole = gzip.compress(b"das Haus ||| the house\n" * 9)
    for damaged in (whole[:-9], whole[:10] + b"\xff" + whole[11:], whole[:-8] + bytes(8)):
        (tmp_path / "bad.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"bad.gz: after line \d+ it is not a gzip file"):
            hs.WordAligner().fit(tmp_path / "bad.gz")


def test_options_that_cannot_be_are_refused():
    for how, match in (
        ({"model": "ibm3"}, "model='ibm3' is not one of"),
        ({"direction": "left"}, "direction='left'"),
        ({"symmetrize": "grow"}, "symmetrize='grow'"),
        ({"dirichlet": 0}, "dirichlet=0"),
        ({"p_null": 1.0}, "p_null=1.0"),
        ({"p_null": 0.1, "null": False}, "cannot be used with null=False"),
        ({"sequence": ["ibm1"]}, "does not end with model='hmm'"),
        ({"sequence": 3}, "sequence=3 is not a list of models"),
        ({"agreement": True, "assign": "hard"}, "agreement=True needs assign='soft'"),
        ({"agreement": True, "direction": "forward"}, "needs direction='both'"),
        ({"agreement": True, "null": False}, "needs null=True: NULL gets the words"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"assign": "softly"}, "assign='softly'"),
        ({"stop": "never"}, "stop='never'"),
    ):
        with pytest.raises(ParameterError, match=match):
            hs.WordAligner(**how).fit(TOY)


def test_a_fit_is_settled_where_both_directions_are():
    """Here one stops by itself and the other is cut short, whichever comes first: that is said, and said once."""
    rng = np.random.default_rng(0)
    pairs = [
        ([f"s{k}" for k in rng.integers(5, size=4)], [f"t{k}" for k in rng.integers(9, size=2)]) for _ in range(30)
    ]
    how = {"agreement": False, "stop": "gain", "tol": 1, "max_iter": 6}
    for own in (pairs, [pair[::-1] for pair in pairs]):
        with pytest.warns(ConvergenceWarning, match="max_iter=6") as told:
            found = hs.WordAligner("ibm1", **how).fit(own)
        assert sorted(stage["n_iter"] for stage in found.stages_) == [5, 6]
        assert (found.stop_reason_, found.converged_, len(told)) == ("max_iter", False, 1)


# ---- evidence --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_known_links_are_kept(model):
    """Told that the first pair is linked crosswise, the lexicon follows."""
    pairs = [("a b", "x y"), ("a b", "x y"), ("b", "x")]
    plain = hs.WordAligner(model, direction="forward", max_iter=10).fit(pairs[:2])
    told = hs.WordAligner(model, direction="forward", max_iter=10).fit(pairs[:2], links=[[(0, 1), (1, 0)], None])
    assert probability(told, "a", "y") > probability(plain, "a", "y") + 0.2
    both = hs.WordAligner(model, max_iter=10).fit(pairs[:2], links=["0-1 1-0", "0-1 1-0"])
    assert both.align([("a b", "x y")], symmetrize="union") == [[(0, 1), (1, 0)]]


def test_a_word_known_to_have_no_link():
    pairs = [("a", "x y")] * 3
    told = hs.WordAligner("ibm1", direction="forward", max_iter=5).fit(pairs, links=[[(None, 1)]] * 3)
    assert probability(told, "a", "x") == pytest.approx(1.0)
    with pytest.raises(DataError, match="word 1 is declared unlinked, which needs NULL"):
        hs.WordAligner("ibm1", null=False).fit(pairs, links=[[(None, 1)]] * 3)


def test_known_links_that_cannot_be():
    with pytest.raises(DataError, match="links of pair 0: there is no source word 5; the sentence has 2"):
        hs.WordAligner().fit(TOY, links=[[(5, 0)], None, None])
    with pytest.raises(DataError, match="links of pair 1: there is no target word 2; the sentence has 0"):
        hs.WordAligner().fit([*TOY[:1], ("das", "")], links=[None, [(0, 2)]])
    with pytest.raises(DataError, match="2 lists for 3 pairs"):
        hs.WordAligner().fit(TOY, links=[None, None])
    with pytest.raises(DataError, match="links of pair 1: '0_1' is not a link i-j"):
        hs.WordAligner().fit(TOY, links=[None, "0_1", None])


def test_known_links_that_contradict_each_other():
    """A word that has none has no link; several links of one word are the ones that it may have."""
    with pytest.raises(DataError, match="links of pair 1: target word 0 is declared unlinked but has the link 1-0"):
        hs.WordAligner().fit(TOY, links=[None, [(1, 0), (None, 0)], None])
    with pytest.raises(DataError, match="links of pair 0: source word 1 is declared unlinked but has the link 1-0"):
        hs.WordAligner().fit(TOY, links=[[(1, 0), (1, None), (None, 1)], None, None])
    hs.WordAligner().fit(TOY, links=[[(0, 0), (1, 0), (None, 1)], [(0, None), (None, 0)], None])


def test_known_links_of_a_file_are_named_by_their_line(tmp_path):
    path = tmp_path / "known"
    path.write_text("0-0\n\n7-0\n")
    with pytest.raises(DataError, match=r"known, line 3: there is no source word 7; the sentence has 2"):
        hs.WordAligner().fit(TOY, links=path)


# ---- links -----------------------------------------------------------------------------------------------------------


def test_probabilities_of_links(fitted):
    for found in fitted.values():
        for (source, target), ahead, back, both in zip(
            NLTK,
            found.align_proba(NLTK, direction="forward"),
            found.align_proba(NLTK, direction="reverse"),
            found.align_proba(NLTK),
            strict=True,
        ):
            assert ahead.shape == (len(source.split()), len(target.split()))
            assert np.all(ahead.sum(axis=0) <= 1 + 1e-12)
            assert np.all(back.sum(axis=1) <= 1 + 1e-12)
            assert_allclose(both, (ahead + back) / 2)


def test_scores_of_training_pairs_sum_to_the_log_likelihood(fitted):
    for found in fitted.values():
        assert found.score(NLTK) == pytest.approx(found.loglik_, rel=1e-12)


def test_new_words_are_linked_by_their_place(fitted):
    found = fitted["hmm"].align([("the zebra is small", "das zebra ist klein")], symmetrize="forward")
    assert (1, 1) in found[0]


def test_many_pairs_are_aligned_bit_by_bit(fitted, monkeypatch):
    from halfseen.families.words import methods

    whole = fitted["hmm"].align(NLTK), fitted["hmm"].score_samples(NLTK)
    monkeypatch.setattr(methods, "BATCH", 10)
    assert fitted["hmm"].align(NLTK) == whole[0]
    assert_allclose(fitted["hmm"].score_samples(NLTK), whole[1], rtol=1e-12)


def test_directions_that_were_not_fitted_are_refused():
    found = hs.WordAligner("ibm1", direction="reverse").fit(TOY)
    assert all(len({i for i, _ in links}) == len(links) for links in found.align(TOY))
    with pytest.raises(ParameterError, match="symmetrize='union' needs both directions"):
        found.align(TOY, symmetrize="union")
    with pytest.raises(ParameterError, match="direction='forward'"):
        found.align_proba(TOY, direction="forward")
    with pytest.raises(ParameterError, match="reverse direction, which has no such lexicon"):
        found.translations("das")
    assert found.translations("house", 1, reverse=True)


def test_a_way_to_make_one_of_two_directions_needs_two():
    """The default is nobody's wish."""
    with pytest.raises(ParameterError, match="symmetrize='union' needs direction='both', got 'forward'"):
        hs.WordAligner(direction="forward", symmetrize="union").fit(TOY)
    for how in ("reverse", hs.WordAligner().symmetrize):
        hs.WordAligner(direction="reverse", symmetrize=how).fit(TOY)


def test_words_that_were_not_seen_have_no_translations(fitted):
    with pytest.raises(DataError, match=r"the word 'hous' was not seen when fitting. Did you mean 'house'"):
        fitted["ibm1"].translations("hous")


def test_heuristics_nest():
    rng = np.random.default_rng(0)
    for _ in range(50):
        ahead = {(int(rng.integers(0, 5)), j) for j in range(5) if rng.random() < 0.8}
        back = {(i, int(rng.integers(0, 5))) for i in range(5) if rng.random() < 0.8}
        found = {how: set(symmetrized(how, ahead, back)) for how in HEURISTICS}
        assert found["intersection"] == ahead & back
        assert found["union"] == ahead | back
        order = ["intersection", "grow-diag", "grow-diag-final-and", "grow-diag-final", "union"]
        for small, large in itertools.pairwise(order):
            assert found[small] <= found[large] or small == "grow-diag-final-and"
        assert found["grow-diag"] <= found["grow-diag-final"] <= found["union"]


def test_heuristics_by_hand():
    """A link grows from one that grew before it; what touches nothing waits for the end."""
    ahead, back = [(0, 0), (1, 1), (2, 2), (5, 4), (6, 6)], [(0, 0), (2, 1), (2, 2), (5, 4), (6, 5)]
    assert symmetrized("grow-diag", ahead, back) == [(0, 0), (1, 1), (2, 2), (5, 4), (6, 5), (6, 6)]
    ahead, back = [(0, 0), (1, 1), (2, 2), (5, 5)], [(0, 0), (0, 5), (3, 3)]
    assert symmetrized("grow-diag", ahead, back) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert symmetrized("grow-diag-final-and", ahead, back) == [(0, 0), (1, 1), (2, 2), (3, 3), (5, 5)]
    assert symmetrized("grow-diag-final", ahead, [*back, (5, 0)])[-2:] == [(3, 3), (5, 5)]


def grown_slow(ahead, back, size, enough):
    """Growing as Koehn, Och and Marcu have it: over the whole matrix, again and again."""
    around = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
    found, cells = ahead & back, list(itertools.product(range(size), repeat=2))

    def bare(link):
        return all(i != link[0] for i, _ in found), all(j != link[1] for _, j in found)

    before = None
    while before != len(found):
        before = len(found)
        for i, j in cells:
            for link in [(i + down, j + right) for down, right in around if (i, j) in found]:
                if link in ahead | back and any(bare(link)):
                    found.add(link)
    for side in (ahead, back) if enough else ():
        for link in cells:
            if link in side and enough(bare(link)):
                found.add(link)
    return sorted(found)


def test_heuristics_are_those_that_were_published():
    rng = np.random.default_rng(1)
    for _ in range(300):
        ahead = {(int(rng.integers(0, 6)), j) for j in range(6) if rng.random() < 0.85}
        back = {(i, int(rng.integers(0, 6))) for i in range(6) if rng.random() < 0.85}
        for how, enough in (("grow-diag", None), ("grow-diag-final", any), ("grow-diag-final-and", all)):
            assert symmetrized(how, ahead, back) == grown_slow(ahead, back, 6, enough)


def test_scores_of_links():
    found = hs.score_links(["0-0 1-1"], ["0-0 2-1"], ["1-1"])
    assert (found.aer, found.precision, found.recall) == (0.25, 1.0, 0.5)
    assert hs.score_links([[]], [[]]).aer == 0.0
    with pytest.raises(DataError, match="links of 2 pairs, and sure links of 1"):
        hs.score_links([[], []], [[]])


def test_gold_in_the_form_of_shared_tasks(tmp_path):
    (tmp_path / "gold").write_text("0001 1 1 S\n0001 2 3 P\n3 1 2\n")
    gold = hs.read_gold(tmp_path / "gold")
    assert gold.sure == [{(0, 0)}, set(), {(0, 1)}]
    assert gold.possible == [{(0, 0), (1, 2)}, set(), {(0, 1)}]
    found = ["0-0 1-2", "", "0-0"]
    for given in (gold, tmp_path / "gold"):
        assert hs.score_links(found, given) == hs.score_links(found, gold.sure, gold.possible)
    with pytest.raises(DataError, match="links of sentence 3; there are 2"):
        hs.read_gold(tmp_path / "gold", 2)
    for line in ("1 x 2", "1 1 2 p", "0 1 1", "1 1 2 S P Q", "1 1"):
        (tmp_path / "bad").write_text(f"1 1 1\n{line}\n")
        with pytest.raises(DataError, match="bad, line 2"):
            hs.read_gold(tmp_path / "bad")


def test_null_of_shared_tasks_is_no_link(tmp_path):
    (tmp_path / "gold").write_text("1 1 1 S 0.5\n1 2 0 S\n2 0 1 1e-3 P\n")
    assert hs.read_gold(tmp_path / "gold").possible == [{(0, 0)}, set()]


# ---- pictures --------------------------------------------------------------------------------------------------------


def test_a_matrix_in_text():
    shown = hs.link_matrix("das Haus", "the house", [(0, 0)], np.array([[1.0, 0.0], [0.1, 0.7]]))
    assert shown.splitlines() == ["     the house", " das  X", "Haus      +"]
    with pytest.raises(DataError, match="the link 2-0 is outside a pair of 2 and 2 words"):
        hs.link_matrix("a b", "c d", [(2, 0)])
    with pytest.raises(DataError, match=r"proba has shape \(1, 1\), expected \(2, 2\)"):
        hs.link_matrix("a b", "c d", [], np.ones((1, 1)))


def test_a_matrix_drawn(tmp_path):
    ax = hs.plot_links("das Haus", "the house", [(0, 0), (1, 1)], np.eye(2))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["the", "house"]
    ax.figure.savefig(tmp_path / "links.svg")
    assert (tmp_path / "links.svg").stat().st_size > 0


def test_a_report(fitted):
    page = hs.report(fitted["hmm"], NLTK)
    assert page.count("<svg") >= 1
    assert "Report on word alignment" in page
    assert "Jump +1".lower() in page.lower()
    assert hs.report(fitted["ibm1"], NLTK).startswith("<!doctype html>")
    assert "tension" in (other := hs.report(fitted["diagonal"], NLTK))
    assert "that of the previous target word" in page
    assert "that of the previous target word" not in other


# ---- model files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_a_model_comes_back_to_the_last_bit(fitted, model, tmp_path):
    found = fitted[model]
    hs.save(found, tmp_path / "m")
    back = hs.load(tmp_path / "m")
    assert back.align(NLTK) == found.align(NLTK)
    assert_array_equal(back.score_samples(NLTK), found.score_samples(NLTK))
    assert back.describe() == found.describe()
    assert back.get_params() == found.get_params()
    hs.save(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_states_that_cannot_be_are_refused(fitted):
    """Every array and entry of a model, spoiled one at a time, is refused in words."""
    good = fitted["hmm"]._state()
    for name, array in good.tensors.items():
        for spoil in (
            lambda a: a[:-1],
            lambda a: np.append(a, 1.0),
            lambda a: a * np.nan,
            lambda a: -1 - a,
            lambda a: a[None],
        ):
            with pytest.raises(ParameterError):
                hs.WordAligner._from_state(good._replace(tensors=good.tensors | {name: spoil(array)}))
        with pytest.raises(ParameterError, match="missing"):
            hs.WordAligner._from_state(good._replace(tensors={k: v for k, v in good.tensors.items() if k != name}))
    for entry, value in (
        ("source_words", ["b", "a"]),
        ("target_words", []),
        ("n_pairs", 0),
        ("stages", 3),
        ("training", {}),
        ("options", {"model": "ibm9"}),
    ):
        with pytest.raises(ParameterError):
            hs.WordAligner._from_state(good._replace(record=good.record | {entry: value}))
    with pytest.raises(ParameterError, match="too many or too few"):
        hs.WordAligner._from_state(good._replace(record=good.record | {"more": 1}))


def test_a_damaged_file_is_refused(fitted, tmp_path):
    hs.save(fitted["ibm1"], tmp_path / "m")
    raw = bytearray((tmp_path / "m").read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(raw), 30).tolist():
        spoiled = bytearray(raw)
        spoiled[place] ^= 0x41
        (tmp_path / "spoiled").write_bytes(spoiled)
        with pytest.raises(ModelFileError):
            hs.load(tmp_path / "spoiled")


# ---- manners ---------------------------------------------------------------------------------------------------------


def test_a_failed_fit_leaves_the_model_as_it_was():
    found = hs.WordAligner("ibm1").fit(TOY)
    before = found.align(TOY)
    with pytest.raises(DataError):
        found.fit(["no bars"])
    assert found.align(TOY) == before


@pytest.fixture
def _large():
    """Take every lexicon for a large one, and keep where it stands before each pass."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("halfseen.engine.services.checkpoint.LARGE", 0)
        patched.setattr("halfseen.engine.services.checkpoint.SPARE", 0)
        patched.setattr("halfseen.engine.services.checkpoint.FLUSH_AFTER", -1)  # records are in the file at once
        yield


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize("how", [{}, {"agreement": False}, {"dirichlet": 0.1}, {"dirichlet": 0.1, "agreement": False}])
@pytest.mark.parametrize("passes", [1, 3, 5, 7])
def test_a_checkpoint_of_a_large_lexicon_does_not_grow(tmp_path, monkeypatch, how, passes):
    from halfseen.families.words.model import WordModel

    whole = hs.WordAligner(max_iter=4, **how).fit(NLTK)
    expected, calls, sizes = WordModel.expected, iter(range(1000)), []

    def killed(self, *args):
        files = sorted(tmp_path.iterdir())
        sizes.append([file.stat().st_size for file in files])
        if next(calls) == passes:
            raise SystemExit
        return expected(self, *args)

    monkeypatch.setattr(WordModel, "expected", killed)
    with pytest.raises(SystemExit), hs.checkpoint(tmp_path / "checkpoint"):
        hs.WordAligner(max_iter=4, **how).fit(NLTK)
    for fewer, more in itertools.pairwise(sizes):
        assert len(more) > len(fewer) or sum(more) - sum(fewer) < 64  # a number of the trace, or a fingerprint
    monkeypatch.setattr(WordModel, "expected", expected)
    with hs.checkpoint(tmp_path / "checkpoint") as record:
        kept = hs.WordAligner(max_iter=4, n_jobs=2, memory=1 << 20, **how).fit(NLTK)
    assert record.n_replayed > 0 or passes == 1
    assert kept.stages_ == whole.stages_
    assert kept.loglik_ == whole.loglik_
    for name, learned in whole._learned.items():
        assert_array_equal(kept._learned[name].table, learned.table)
        assert_array_equal(kept._learned[name].place, learned.place)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_large")
def test_a_checkpoint_of_a_large_lexicon_is_told_from_others(tmp_path):
    def fit_and_fail():
        hs.WordAligner("ibm1", max_iter=4).fit(NLTK)
        raise SystemExit

    def left():
        with pytest.raises(SystemExit), hs.checkpoint(tmp_path / "checkpoint"):
            fit_and_fail()

    left()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["checkpoint", "checkpoint.1"]
    with pytest.raises(CheckpointError, match=r"3 iterations, but max_iter=2"), hs.checkpoint(tmp_path / "checkpoint"):
        hs.WordAligner("ibm1", max_iter=2).fit(NLTK)
    with pytest.raises(CheckpointError, match="its data are others"), hs.checkpoint(tmp_path / "checkpoint"):
        hs.WordAligner("ibm1", max_iter=4).fit(TOY)
    (tmp_path / "checkpoint").unlink()  # what is left beside it is of no use to a new one
    with hs.checkpoint(tmp_path / "checkpoint") as record:
        hs.WordAligner("ibm1", max_iter=4).fit(TOY)
    assert record.n_replayed == 0
    assert not list(tmp_path.iterdir())
    left()
    (tmp_path / "checkpoint.1").write_bytes(b"spoiled")
    with (
        pytest.raises(CheckpointError, match=r"checkpoint\.1: .* cannot be read"),
        hs.checkpoint(tmp_path / "checkpoint"),
    ):
        hs.WordAligner("ibm1", max_iter=4).fit(NLTK)


KILLED = """
import halfseen as hs
from halfseen.engine.services import checkpoint
checkpoint.LARGE = checkpoint.SPARE = 0
words = [f"w{k * k % 97}" for k in range(400)]
pairs = [(" ".join(words[k : k + 9]), " ".join(words[k + 1 : k + 10])) for k in range(380)]
def fit():
    return hs.WordAligner("hmm", max_iter=40, agreement=False).fit(pairs)
"""


@pytest.mark.thorough
def test_a_process_killed_outright_goes_on(tmp_path):
    path = tmp_path / "checkpoint"
    code = f"{KILLED}\nwith hs.checkpoint({str(path)!r}):\n    fit()\n    import time; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        while not (tmp_path / "checkpoint.3").exists():  # the second model is under way
            time.sleep(0.02)
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    namespace = {}
    with pytest.MonkeyPatch.context() as patched:
        for name in ("LARGE", "SPARE"):
            patched.setattr(f"halfseen.engine.services.checkpoint.{name}", 0)
        exec(KILLED, namespace)
        whole = namespace["fit"]()
        with hs.checkpoint(path) as record:
            kept = namespace["fit"]()
    assert record.n_replayed >= 2 * 39
    assert record.n_recorded < 4 * 40
    assert kept.stages_ == whole.stages_
    assert_array_equal(kept._learned["reverse"].table, whole._learned["reverse"].table)


@pytest.mark.parametrize("how", [{}, {"agreement": False}, {"assign": "sample", "random_state": 0}, {"dirichlet": 0.1}])
def test_an_interrupted_fit_goes_on_to_the_same_result(tmp_path, monkeypatch, how):
    from halfseen.families.words.model import WordModel

    whole = hs.WordAligner(max_iter=4, **how).fit(NLTK)
    expected, calls = WordModel.expected, iter(range(1000))

    def interrupted(self, *args):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return expected(self, *args)

    monkeypatch.setattr(WordModel, "expected", interrupted)
    with pytest.raises(KeyboardInterrupt), hs.checkpoint(tmp_path / "checkpoint"):
        hs.WordAligner(max_iter=4, n_jobs=1, **how).fit(NLTK)
    monkeypatch.undo()
    with hs.checkpoint(tmp_path / "checkpoint") as record:
        kept = hs.WordAligner(max_iter=4, **how).fit(NLTK)
        assert record.n_replayed > 1
    assert kept.stages_ == whole.stages_
    assert kept.loglik_ == whole.loglik_


@pytest.mark.parametrize("agreement", [True, False])
def test_what_is_told_is_of_the_last_model_also_where_it_came_before(agreement):
    found = hs.WordAligner(sequence=["hmm", "ibm1", "hmm"], agreement=agreement, max_iter=3).fit(NLTK)
    assert found.score(NLTK) == pytest.approx(found.loglik_, rel=1e-12)
    assert len(found.trace_) == found.n_iter_ == 3


def test_an_interrupted_fit_is_kept_only_once_it_is_a_model_of_its_kind(monkeypatch):
    """An aligner of Model 1 alone, or of one direction, is not what was asked for."""
    from halfseen.families.words.model import WordModel

    whole = WordModel.expected

    def fitted(at, **how):
        passes = iter(range(1000))

        def expected(self, *args):
            if next(passes) == at:
                raise KeyboardInterrupt
            return whole(self, *args)

        monkeypatch.setattr(WordModel, "expected", expected)
        found = hs.WordAligner(max_iter=3, n_jobs=1, **how).fit(NLTK)
        monkeypatch.setattr(WordModel, "expected", whole)
        return found

    for at, how in ((1, {}), (4, {"agreement": False}), (8, {"agreement": False}), (1, {"direction": "forward"})):
        with pytest.raises(KeyboardInterrupt):
            fitted(at, **how)
    for at, how in ((4, {}), (11, {"agreement": False}), (5, {"direction": "forward"})):
        with pytest.warns(InterruptedWarning):
            found = fitted(at, **how)
        assert found.stop_reason_ == "interrupted" or found.direction == "both"
        assert found.score(NLTK) == pytest.approx(found.loglik_, rel=1e-12)
        assert set(found._learned) == set(found._directions())


@pytest.mark.parametrize("how", [{"model": "ibm1"}, {"model": "hmm"}, {"model": "ibm1", "dirichlet": 0.1}])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_fit_that_is_stopped_in_a_pass_keeps_whole_parameters(monkeypatch, how, n_jobs):
    """A pass writes over the parameters that were accepted before it."""
    from halfseen.families.words.model import WordModel

    how = {"sequence": [how["model"]], "direction": "forward", "n_jobs": n_jobs, **how}
    whole = hs.WordAligner(max_iter=9, **how).fit(NLTK)
    expected, calls = WordModel.expected, iter(range(1000))

    def interrupted(self, prepared, chunk, assign, stats):
        if next(calls) == 5:
            stats[:] = 1e3
            raise KeyboardInterrupt
        return expected(self, prepared, chunk, assign, stats)

    monkeypatch.setattr(WordModel, "expected", interrupted)
    with pytest.warns(InterruptedWarning):
        found = hs.WordAligner(max_iter=9, **how).fit(NLTK)
    assert 2 < len(found.trace_) == found.n_iter_ < 9
    assert found.trace_ == whole.trace_[: len(found.trace_)]
    if "dirichlet" not in how:
        assert found.score(NLTK) == pytest.approx(found.loglik_, rel=1e-9)


@pytest.mark.parametrize("how", [{}, {"model": "ibm1"}, {"direction": "forward"}, {"agreement": False}])
@pytest.mark.parametrize("before_the_end", [1, 2, 3])
def test_ctrl_c_in_the_last_model_costs_no_other_pass(monkeypatch, how, before_the_end):
    """The pass under way is made to its end, and no other begins; a second Ctrl-C ends it at once."""
    from halfseen.families.words.model import WordModel

    expected, calls = WordModel.expected, []

    def fitted(at=None, twice=False):
        def interrupted(self, *args):
            calls.append(1)
            if len(calls) == at:
                signal.raise_signal(signal.SIGINT)
                if twice:
                    signal.raise_signal(signal.SIGINT)
            return expected(self, *args)

        calls.clear()
        monkeypatch.setattr(WordModel, "expected", interrupted)
        return hs.WordAligner(max_iter=4, **how).fit(NLTK), len(calls)

    whole, n_calls = fitted()
    at = n_calls - before_the_end + 1
    with pytest.warns(InterruptedWarning):
        found, n_made = fitted(at)
    assert n_made == at
    assert found.stop_reason_ == ("iterations" if before_the_end == 1 else "interrupted")
    assert found.stages_[-1]["trace"] == whole.stages_[-1]["trace"][: 5 - before_the_end]
    assert found.score(NLTK) == pytest.approx(found.loglik_, rel=1e-9)
    with pytest.raises(KeyboardInterrupt):
        fitted(at, twice=True)
    assert len(calls) == at
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_before_the_last_model_ends_at_once(monkeypatch):
    """What was learned is no model of the kind that was asked for: nothing is worth waiting for."""
    from halfseen.families.words.model import WordModel

    expected, calls = WordModel.expected, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return expected(self, *args)

    monkeypatch.setattr(WordModel, "expected", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hs.WordAligner(max_iter=4).fit(NLTK)
    assert len(calls) == 3


def test_what_is_told_of_jumps_is_of_those_that_some_sentence_allows(tmp_path):
    """From the start or one of n words to one of n: -(n - 1) to n, here 1 and 3 words to look for sources in."""
    found = hs.WordAligner(max_iter=2).fit(["a b c ||| x", "b a ||| x"])
    for model in (found, hs.load(hs.save(found, tmp_path / "m.halfseen") or tmp_path / "m.halfseen")):
        assert list(model._made("forward")) == [-2, -1, 0, 1, 2, 3]
        assert list(model._made("reverse")) == [0, 1]
        assert sum(model._made("forward").values()) == pytest.approx(1.0)
        assert "-3" not in model.describe()
        assert "+4" not in model.describe()
    assert len(found.jumps_["forward"]) == 15
    state = found._state()
    older = state._replace(record={k: v for k, v in state.record.items() if k != "longest"})
    assert len(type(found)._from_state(older)._made("forward")) == 15


def test_weights_of_empty_pairs_alone_teach_nothing():
    with pytest.raises(DataError, match="all pairs with words on both sides have weight 0"):
        hs.WordAligner().fit(["a ||| x", " ||| y"], sample_weight=[0, 1])


def test_a_table_is_no_list_of_pairs():
    """Its columns would be taken for the pairs."""
    table = pd.DataFrame({"de": ["das Haus"], "en": ["the house"]})
    with pytest.raises(DataError, match="pairs is a table; give its columns"):
        hs.WordAligner().fit(table)
    assert hs.WordAligner().fit(table["de"], table["en"]).source_words_ == ("Haus", "das")


@pytest.mark.parametrize("width", [1, 2, 7])
def test_ways_that_lead_to_a_jump_are_counted(width):
    """Those to word k = 1 .. n from i = 0 .. n, jumps beyond the width taken for it."""
    n, reach = 5, np.zeros((6, 2 * width + 1))
    for i, k in itertools.product(range(n + 1), range(1, n + 1)):
        reach[i, min(max(k - i, -width), width) + width] += 1
    assert_array_equal(Jumps([n], width)._reach, reach)


def test_under_a_prior_directions_agree_from_the_second_model_on():
    """A product of first guesses is far below one use, which a sparse prior takes for none."""
    how = {"dirichlet": 0.01, "max_iter": 2}
    stages = [(stage["model"], stage["direction"]) for stage in hs.WordAligner(**how).fit(NLTK).stages_]
    assert stages == [("ibm1", "forward"), ("ibm1", "reverse"), ("hmm", "forward and reverse")]
    assert len(hs.WordAligner("ibm1", **how).fit(NLTK).stages_) == 2
    assert len(hs.WordAligner("ibm1", agreement=True, **how).fit(NLTK).stages_) == 1


@pytest.mark.parametrize("model", MODELS)
def test_no_new_text_is_impossible(model):
    """Words that stood together, and never were each other's translation, have a probability of 0."""
    found = hs.WordAligner(model, assign="hard", null=False, sequence=["ibm1", model]).fit(TOY, links=["0-0 1-1"] * 3)
    assert probability(found, "Haus", "the") == 0
    pair = [("Haus Haus", "the the")]
    assert np.isfinite(found.score(pair))
    assert found.align(pair, symmetrize="forward")[0]
    assert found.align_proba(pair, direction="forward")[0].sum(axis=0) == pytest.approx(1)
    assert found.score(TOY) == pytest.approx(found.loglik_, rel=1e-12)


def test_words_that_are_none(fitted):
    with pytest.raises(DataTypeError, match="the word 3 is int"):
        fitted["ibm1"].translations(3)
    with pytest.raises(ParameterError, match="n=-1"):
        fitted["ibm1"].translations("house", -1)
    assert len(fitted["ibm1"].to_frame(0)) == 0


def test_words_are_numbered_in_order():
    text = encode_pairs([("b a", "y x y")])
    assert text.source.tolist() == [2, 1]
    assert text.target.tolist() == [1, 0, 1]
    assert (text.n_pairs, text.n_links) == (1, 6)


def test_the_summary_has_words_and_no_punctuation():
    pairs = ["das Haus , ja . ||| the house , yes .", "ein Buch . ||| a book .", "das Buch ! ||| the book !"]
    model = hs.WordAligner("ibm1", max_iter=5).fit(pairs)
    first = [line.partition(":")[0] for line in model.describe().splitlines()]
    assert "das" in first
    assert not {",", ".", "!"} & set(first)
    marks = hs.WordAligner("ibm1", max_iter=2, null=False).fit([". ||| .", "! ||| !"]).describe()
    assert marks.splitlines()[0].startswith("!: ! ")  # nothing else to show
