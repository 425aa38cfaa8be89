"""Words that were left out and what is said beside the transcript: all ways, one after the other, and on speech."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.families.transcript.departures import (
    MOST_LEFT_OUT,
    OTHER,
    OUTLIERS,
    Background,
    Departures,
    filler_leaves,
)
from halfseen.families.transcript.lexicon import Lexicon
from halfseen.structures.transcript import best, evidence, posterior
from halfseen.structures.transcript_passes import Scored
from tests.reference.enumerate_departures import Spoken, every_way
from tests.unit.test_transcript_aligner import CENTRES, corpus, spoken

WAYS = {"ab": (("a", "b"), ("b",)), "c": (("c",),)}
ALLOWED = [Departures(0.2, 0.0), Departures(0.0, 0.3), Departures(0.2, 0.3)]
every = pytest.mark.parametrize("allowed", ALLOWED, ids=str)


def case(said, allowed, n_frames, seed=0, spread=2.0):
    """Return a layout, log-probabilities of moves, scores with that of the filler, and the same for enumeration."""
    lexicon, rng = Lexicon(("a", "b", "c", "sil"), 1, "sil", WAYS), np.random.default_rng(seed)
    rows = [rng.random(size) + 0.5 for size in lexicon.cardinalities]
    rows = [row / row.sum() for row in rows]
    leave = 0.3
    layout = lexicon.layout(said, allowed)
    moves = allowed.moves(np.log(np.concatenate(rows)), leave)
    scores = spread * rng.normal(size=(n_frames, lexicon.n_emissions))
    background = Background(rng.random(lexicon.n_emissions) * 9)
    scores = background.beside(Scored.of(scores)).rows(0, n_frames)
    shares = {"ab": rows[-1], "c": [1.0]}
    ways = [
        [(tuple(lexicon.number[unit] for unit in way), p) for way, p in zip(WAYS[word], shares[word], strict=True)]
        for word in said
    ]
    stay = np.append([row[0] for row in rows[: lexicon.n_emissions]], 1 - leave)
    pauses = tuple(rows[lexicon.n_emissions + i][1] for i in (0, 1))
    known = Spoken(ways, lexicon.number["sil"], 1, pauses, allowed.left_out, allowed.inserted, stay)
    return layout, moves, scores, list(every_way(known, scores))


@every
@pytest.mark.parametrize("said", [["c"], ["ab", "c"], ["c", "ab", "c"]], ids=" ".join)
def test_evidence_best_path_and_posteriors_equal_enumeration(said, allowed):
    for seed in range(3):
        layout, moves, scores, ways = case(said, allowed, 5, seed)
        logs = np.array([way.log_joint for way in ways])
        total = logsumexp(logs)
        np.testing.assert_allclose(evidence(layout.graph, moves, scores), total, rtol=1e-12)
        way, expected = best(layout.graph, moves, scores), ways[int(np.argmax(logs))]
        np.testing.assert_allclose(way.log_joint, expected.log_joint, rtol=1e-12)
        assert tuple(layout.word_of[way.nodes]) == expected.word
        assert tuple(layout.graph.owner[way.nodes] == scores.shape[1] - 1) == expected.filler
        shares = np.exp(logs - total)
        spans = np.array([[[piece.first, piece.last]] * len(scores) for piece in layout.pieces])
        held = posterior(layout.graph, moves, scores, spans)
        for i in range(len(said)):
            inside = [p for p, piece in enumerate(layout.pieces) if piece.word == i]
            wanted = [[share * (way.word[t] == i) for t in range(5)] for share, way in zip(shares, ways, strict=True)]
            np.testing.assert_allclose(held.held[inside].sum(axis=0), np.sum(wanted, axis=0), atol=1e-12)
        fillers = [p for p, piece in enumerate(layout.pieces) if piece.unit == 4]
        wanted = np.sum([share * np.array(way.filler) for share, way in zip(shares, ways, strict=True)], axis=0)
        np.testing.assert_allclose(held.held[fillers].sum(axis=0), wanted, atol=1e-12)


@every
def test_the_probability_that_a_word_is_spoken_equals_enumeration(allowed):
    from halfseen.families.transcript.aligner import _entered

    said = ["c", "ab", "c"]
    layout, moves, scores, ways = case(said, allowed, 5, 7)
    logs = np.array([way.log_joint for way in ways])
    shares = np.exp(logs - logsumexp(logs))
    found = _entered(layout, posterior(layout.graph, moves, scores).arcs)
    expected = [sum(p for p, way in zip(shares, ways, strict=True) if i in way.spoken) for i in range(len(said))]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@every
def test_all_ways_of_all_lengths_have_probability_one(allowed):
    lexicon = Lexicon(("a", "b", "c", "sil"), 1, "sil", WAYS)
    rows = [np.full(size, 1 / size) for size in lexicon.cardinalities]
    moves, layout = allowed.moves(np.log(np.concatenate(rows)), 0.4), lexicon.layout(["c", "ab"], allowed)
    total = sum(np.exp(evidence(layout.graph, moves, np.zeros((n, 5)))) for n in range(120))
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_the_fillers_density_is_that_of_all_states():
    """Weighted by their training frames: it sums to one over categories, whatever these weights are."""
    chances = np.random.default_rng(0).dirichlet(np.ones(4), 6)  # of four categories, in six states
    frames = np.array([10.0, 0.0, 3.0, 5.0, 1.0, 2.0])
    with np.errstate(divide="ignore"):
        density = np.exp(Background(frames).log_density(np.log(chances).T))
    np.testing.assert_allclose(density, (frames + 1) @ chances / (frames + 1).sum(), rtol=1e-12)
    assert density.sum() == pytest.approx(1.0)
    assert Background(frames).log_density(np.full((1, 6), -np.inf)).tolist() == [-np.inf]
    # units of two states that last 5 and 10 frames, seen 4 and 2 times: a filler lasts as long as four of them
    assert filler_leaves(np.array([0.4, 0.4, 0.2, 0.2]), np.array([9.5, 9.5, 9.5, 9.5]), 2) == pytest.approx(6 / 160)


def test_a_share_of_the_frames_of_a_state_may_be_anything():
    """So that no frame speaks against a word by more than the log of that share."""
    rng, background = np.random.default_rng(0), Background(np.array([3.0, 1.0, 5.0]))
    scores = 40 * rng.normal(size=(50, 3))
    filled = background.beside(Scored.of(scores), OUTLIERS).rows(0, 50)
    own = background.log_density(scores)
    np.testing.assert_array_equal(filled[:, 3], own)
    expected = (1 - OUTLIERS) * np.exp(scores - own[:, None]) + OUTLIERS
    np.testing.assert_allclose(filled[:, :3] - own[:, None], np.log(expected), rtol=1e-12, atol=1e-12)
    states = rng.integers(0, 4, 50)
    margins = (filled - own[:, None])[np.arange(50), states]
    for block in (7, 4096):
        np.testing.assert_allclose(background.margins(Scored.of(scores), states, block), margins, atol=1e-12)
    assert margins.min() == pytest.approx(np.log(OUTLIERS), rel=1e-3)


def test_no_more_than_some_words_in_a_row_are_left_out():
    lexicon = Lexicon(("a", "b"), 1)
    layout = lexicon.layout(["a"] * (MOST_LEFT_OUT + 2), Departures(0.1, 0.0))
    assert layout.graph.n_least == 1
    assert lexicon.layout(["a"] * (2 * MOST_LEFT_OUT + 2), Departures(0.1, 0.0)).graph.n_least == 2


# ---- align ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, said, _ = corpus(15, seed=3, pause=0.4)
    return hs.TranscriptAligner(1, silence="sil", random_state=0).fit(X, said)


def test_a_word_that_was_left_out_is_passed_over(fitted):
    frames, ends = spoken("acba", np.random.default_rng(1))
    [found] = fitted.align([frames], ["a b c b a"], left_out=0.05)
    assert [part.name for part in found.words] == ["a", "c", "b", "a"]
    assert [(part.start, part.end) for part in found.words] == ends
    [missing] = found.left_out
    assert (missing.name, missing.word, missing.start, missing.end) == ("b", 1, ends[0][1], ends[0][1])
    assert missing.spoken < 0.05
    assert missing.confidence == pytest.approx(1 - missing.spoken)
    assert all(part.spoken > 0.99 for part in found.words)
    assert "left_out" in found.to_dict()
    assert fitted.to_frame([found], "left_out").shape[0] == 1
    moved = found.shifted(10.0)
    assert moved.left_out[0].start == missing.start + 10


def test_what_is_not_in_the_transcript_is_marked_as_other(fitted):
    frames, ends = spoken("acba", np.random.default_rng(1))
    [found] = fitted.align([frames], ["a b a"], inserted=0.05)
    assert [(part.start, part.end) for part in found.words] == [ends[0], *ends[2:]]
    [other] = found.inserted
    assert (other.name, other.start, other.end, other.word) == (OTHER, *ends[1], -1)
    assert OTHER in [part.name for part in found.units]
    assert found.log_probability <= found.loglik


@pytest.mark.parametrize("allowed", [{"left_out": 0.02}, {"inserted": 0.02}, {"left_out": 0.02, "inserted": 0.02}])
def test_a_right_transcript_stays_as_it_is(fitted, allowed):
    X, said, _ = corpus(15, seed=3, pause=0.4)
    for one, other in zip(fitted.align(X, said), fitted.align(X, said, **allowed), strict=True):
        assert other.left_out == other.inserted == ()
        assert [(part.name, part.start, part.end) for part in one.units] == [
            (part.name, part.start, part.end) for part in other.units
        ]
        for level in ("words", "units", "states"):
            parts = other.tier(level)
            assert sum(part.log_probability for part in other.states) == pytest.approx(other.log_probability)
            assert all(a.end <= b.start for a, b in itertools.pairwise(parts))


def test_departures_within_a_band_are_those_without_one(fitted, monkeypatch):
    rng = np.random.default_rng(5)
    said = [str(word) for word in rng.choice(["a", "b", "c"], 60)]
    said = [word for i, word in enumerate(said) if i == 0 or word != said[i - 1]]
    frames, _ = spoken(said, rng)
    wrong = [*said[:9], *said[10:20], "a" if said[20] != "a" else "b", *said[20:]]
    [free] = fitted.align([frames], [wrong], left_out=0.05, inserted=0.05)
    monkeypatch.setattr("halfseen.families.transcript.bands.LONG", 0)
    monkeypatch.setattr("halfseen.families.transcript.bands.REACH", 10)
    [narrow] = fitted.align([frames], [wrong], left_out=0.05, inserted=0.05)
    assert narrow.band.width < 0.8 * narrow.band.n_nodes
    assert [tuple(part[:3]) for part in narrow.units] == [tuple(part[:3]) for part in free.units]
    assert [part.word for part in narrow.left_out] == [part.word for part in free.left_out]


def test_an_empty_transcript_may_be_all_other(fitted):
    frames, _ = spoken("acba", np.random.default_rng(1))
    [found] = fitted.align([frames], [""], inserted=0.05)
    assert found.words == ()
    assert {part.name for part in found.units} <= {OTHER, "sil"}
    assert OTHER in {part.name for part in found.units}
    [found] = fitted.align([np.array([CENTRES["sil"]] * 6)], ["a b c"], left_out=0.05)
    assert [part.name for part in found.left_out] == ["a", "b", "c"]


@pytest.mark.parametrize("bad", [1.0, -0.1, "often", True, np.nan])
def test_what_is_no_probability_is_told(fitted, bad):
    with pytest.raises(ParameterError, match=r"left_out=.* is not a probability"):
        fitted.align([np.zeros((5, 2))], ["a"], left_out=bad)
