"""Starts: how many, which are dropped, how many agree, and what the best one is worth."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import halfseen as hs
from halfseen.engine.loop import search
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.search import AGREE, ENOUGH, FIRST_STARTS, MOST_STARTS, Contest, Starts
from halfseen.errors import InterruptedWarning
from halfseen.families.hmm.starts import ChainStarts
from halfseen.leaves.leaf import arrays

RNG = np.random.default_rng(0)
APART = np.where(RNG.random((200, 1)) < 0.5, RNG.normal(0, 1, (200, 2)), RNG.normal(9, 1, (200, 2)))
NOISE = RNG.integers(0, 3, (60, 4)).astype(str)  # no classes: many local maxima


def counted(monkeypatch):
    """Count the evaluations of parameters in all passes."""
    seen = []
    monkeypatch.setattr(search, "evaluate", lambda *args, **how: seen.append(len(args[2])) or evaluate(*args, **how))
    return seen


def test_sixteen_starts_are_enough_where_they_agree():
    model = hs.GaussianMixture(2, random_state=0).fit(APART)
    assert model.restarts_["n_init"] == FIRST_STARTS
    assert model.restarts_["n_reached_best"] >= ENOUGH
    assert not model.events_


def test_starts_are_doubled_until_enough_agree():
    model = hs.LatentClass(6, prior=None, random_state=0).fit(NOISE)
    assert model.restarts_["n_init"] in (32, 64)
    assert model.restarts_["n_reached_best"] >= ENOUGH
    sixteen = hs.LatentClass(6, prior=None, n_init=16, random_state=0).fit(NOISE)  # the first round
    assert sixteen.restarts_["n_reached_best"] < ENOUGH
    assert sixteen.objective_ <= model.objective_ + AGREE


def test_a_best_that_no_other_start_reached_is_noted(monkeypatch):
    monkeypatch.setattr(search, "_slack", lambda objective: 0.0)
    model = hs.LatentClass(2, prior=None, random_state=0, tol=1e-2).fit(NOISE)
    assert MOST_STARTS - 3 < model.restarts_["n_init"] <= MOST_STARTS  # some are drawn twice
    assert model.restarts_["n_reached_best"] == 1
    [note] = [event for event in model.events_ if "starts" in event]
    assert "raise n_init above 128" in note
    assert re.match("only 1 of 12[678] starts reached the best log-likelihood: ", note)


@pytest.mark.parametrize("n_init", [1, 2, 5])
def test_a_number_is_obeyed(n_init):
    model = hs.LatentClass(4, prior=None, n_init=n_init, random_state=0).fit(NOISE)
    assert model.restarts_["n_init"] == n_init
    assert not any("starts" in event for event in model.events_)


def test_one_start_where_there_is_one_solution():
    for model in (hs.LatentClass(1), hs.GaussianMixture(1), hs.HMM(1)):
        assert model.fit(APART).restarts_["n_init"] == 1
    assert hs.NaiveBayes().fit(NOISE[:, :-1], NOISE[:, -1]).restarts_["n_init"] == 1
    assert hs.BayesNet([("x0", "x1")]).fit(NOISE[:, :2]).restarts_["n_init"] == 1
    assert hs.PCFG.from_string("S -> 'a' S [0.5] | 'a' [0.5]").fit(["a a"]).restarts_["n_init"] == 1


def test_those_that_agree_are_the_starts_that_reach_the_best_on_their_own():
    """Starts do not help each other: as many agree as reach the best when each is run alone."""
    model = hs.LatentClass(3, prior=None, n_init=12, random_state=3).fit(NOISE)
    alone = [hs.LatentClass(3, prior=None, n_init=n, random_state=3).fit(NOISE).objective_ for n in range(1, 13)]
    assert model.objective_ == pytest.approx(max(alone), abs=AGREE)
    assert (np.diff(alone) > -1e-6).all()  # more starts of one seed are never worse
    reached = model.restarts_["objectives"]
    assert model.restarts_["n_reached_best"] == sum(one > reached[0] - AGREE for one in reached)
    assert len(reached) == model.restarts_["n_finalists"]


def test_hopeless_starts_are_dropped(monkeypatch):
    seen = counted(monkeypatch)
    model = hs.LatentClass(3, prior=None, n_init=16, random_state=0).fit(NOISE)
    dropped = sum(seen)
    monkeypatch.setattr(search, "HOPELESS", np.inf)
    seen.clear()
    every = hs.LatentClass(3, prior=None, n_init=16, random_state=0).fit(NOISE)
    assert model.objective_ == every.objective_
    assert dropped < sum(seen)
    assert every.restarts_["n_finalists"] == 16 > model.restarts_["n_finalists"]


def test_only_the_best_is_polished(monkeypatch):
    seen = counted(monkeypatch)
    hs.LatentClass(3, prior=None, n_init=16, tol=1e-10, random_state=0).fit(NOISE)
    last = len(seen) - next(i for i, n in enumerate(reversed(seen)) if n > 1)
    polishing = len(seen) - last
    assert polishing > 5
    assert seen[-polishing:] == [1] * polishing
    seen.clear()
    coarse = hs.LatentClass(3, prior=None, n_init=16, tol=1e-4, random_state=0).fit(NOISE)
    assert coarse.stop_reason_ == "tolerance"
    assert abs(len(seen) - last) < 5  # the best one may be among the last to be compared


@pytest.mark.parametrize("weight", [1.0, 1e6, 1e12])
def test_polishing_ends_where_the_digits_end(weight):
    """Below rounding nothing can be gained: with large weights that comes long before the tolerance."""
    model = hs.LatentClass(2, prior=None, n_init=4, random_state=0)
    model.fit(NOISE, sample_weight=np.full(len(NOISE), weight))
    assert model.converged_
    assert model.n_iter_ < 400
    one = hs.LatentClass(2, prior=None, n_init=4, random_state=0).fit(NOISE)
    np.testing.assert_allclose(model.weights_, one.weights_, atol=1e-3)


def test_any_number_of_workers_makes_the_same_search():
    fits = [hs.LatentClass(6, prior=None, random_state=0, n_jobs=n).fit(NOISE) for n in (1, 3)]
    assert fits[0].restarts_ == fits[1].restarts_
    assert_array_equal(fits[0].weights_, fits[1].weights_)


def test_sampled_and_fixed_runs_race_for_one_finalist():
    for how in ({"assign": "sample", "max_iter": 20}, {"stop": "iterations", "max_iter": 20}):
        model = hs.LatentClass(3, random_state=0, **how).fit(NOISE)
        assert model.n_iter_ == 20
        assert model.restarts_["n_init"] == FIRST_STARTS
        assert model.restarts_["n_finalists"] == 1


def test_an_interrupt_in_a_later_round_keeps_the_best_of_all(monkeypatch):
    made = []
    monkeypatch.setattr(search, "ENOUGH", 99)
    monkeypatch.setattr(Starts, "rounds", lambda self: iter([range(16), range(16, 32)]))

    def interrupted(*args, **how):
        made.append(len(args[2]))
        if sum(made) > 900:
            raise KeyboardInterrupt
        return evaluate(*args, **how)

    monkeypatch.setattr(search, "evaluate", interrupted)
    with pytest.warns(InterruptedWarning):
        model = hs.LatentClass(4, prior=None, random_state=0).fit(NOISE)
    assert model.stop_reason_ == "interrupted"
    assert model.restarts_["n_init"] == 32
    assert model.objective_ == model.restarts_["objectives"][0]


# ---- starts near the best so far, of chains ----------------------------------------------------------------------

SERIES = RNG.normal(size=(60, 2))  # no states: many local maxima
QUICK = {"random_state": 0, "covariance_type": "diag", "tol": 1e-3}
SHAPES = {
    "free": {"covariance_type": "full"},
    "tied": {"tied": ["x0"]},
    "one covariance": {"covariance_type": "tied"},
    "fixed": {"start": {"x0": {"mean": [-1.0, 0, 1], "var": [1.0, 1, 1]}}, "fixed": ["x0"]},
    "mixtures": {"n_mix": 2},
    "left-right": {"transitions": "left-right"},
    "durations": {"min_dwell": [1, 3, 1]},
    "labelled": {"labels": [*[0] * 5, *[-1] * 50, *[2] * 5]},
}


def near_starts(monkeypatch, **how):
    """Fit a chain; return it, and of every start near a solution its number, the solution and the start."""
    made, near = [], ChainStarts.near

    def noted(self, solution, i):
        made.append((i, solution, near(self, solution, i)))
        return made[-1][2]

    monkeypatch.setattr(ChainStarts, "near", noted)
    monkeypatch.setattr(search, "ENOUGH", how.pop("enough", ENOUGH))
    labels = how.pop("labels", None)
    return hs.HMM(3, **{**QUICK, "n_init": 32, **how}).fit(SERIES, labels=labels), made


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_start_near_a_solution_draws_one_state_anew_within_the_same_limits(shape, monkeypatch):
    model, made = near_starts(monkeypatch, **shape)
    assert [i for i, _, _ in made] == [i for i in range(FIRST_STARTS, 32) if i % 4 >= 2]
    for _, solution, start in made:
        kept = model._model.conform(start, solution)
        assert all(np.allclose(one, other) for one, other in zip(arrays(kept), arrays(start), strict=True))
        assert_array_equal(start["trans"] > 0, start["trans"] + solution["trans"] > 0)  # allowed, and none is zero
        for old, new in zip(arrays(solution["emit"]), arrays(start["emit"]), strict=True):
            moved = np.any(~np.isclose(old, new, rtol=1e-12, atol=0).reshape(3, -1), axis=1).sum()
            assert moved <= 1 or np.ptp(new, axis=0).max() == 0  # one state, or what all states share
        assert not np.array_equal(model._model.pack(solution), model._model.pack(start))


def test_a_start_near_the_best_is_no_evidence_that_others_agree(monkeypatch):
    """Where all of them return to the best, only the starts of their own that reached it count."""
    monkeypatch.setattr(ChainStarts, "near", lambda self, solution, i: self.model.jitter(solution, 1e-6, RNG))
    back = hs.HMM(3, n_init=24, **QUICK).fit(SERIES)
    assert back.restarts_["n_init"] == 24
    own, draw = [*range(FIRST_STARTS), 16, 17, 20, 21], ChainStarts.draw
    monkeypatch.setattr(ChainStarts, "draw", lambda self, i: draw(self, own[i]))
    monkeypatch.setattr(Contest, "_start", lambda self, starts, number: starts.draw(number))
    alone = hs.HMM(3, n_init=len(own), **QUICK).fit(SERIES)
    assert {**back.restarts_, "n_init": 20} == alone.restarts_


def test_every_start_of_a_number_that_is_given_is_made_whether_others_agree_or_not(monkeypatch):
    model, made = near_starts(monkeypatch, n_init=40, enough=1)
    assert model.restarts_["n_init"] == 40
    assert len(made) == 12
    few, none = near_starts(monkeypatch, n_init=16)
    assert few.restarts_["n_init"] == 16
    assert not none
    raced, _ = near_starts(monkeypatch, n_init=40, stop="iterations", max_iter=20)
    assert raced.restarts_["n_init"] == 40


def test_the_order_of_sequences_does_not_matter_to_starts_near_the_best():
    pieces = np.split(SERIES, [10, 25, 45])
    one = hs.HMM(3, n_init=32, **QUICK).fit(pieces)
    other = hs.HMM(3, n_init=32, **QUICK).fit(pieces[::-1])
    assert one.restarts_ == other.restarts_
