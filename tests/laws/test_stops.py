"""Laws of stopping: every rule can be reached, says why it stopped, and means what it says."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.assign import HARD, SOFT
from halfseen.engine.loop import search
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.search import Plan, fit
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import assignments, counts, gain, never, parameters, read_rule
from halfseen.errors import FitError, ObjectiveFell, ParameterError
from tests.laws.closeness import close
from tests.laws.models import Case
from tests.laws.test_recovers import CASES, drawn, poor_guess

RNG = np.random.default_rng(2)
X = np.where(RNG.random((200, 1)) < 0.5, RNG.random((200, 6)) < 0.8, RNG.random((200, 6)) < 0.3).astype(float)


def slow_case():
    """Return a mixture whose components overlap, so that EM needs hundreds of steps."""
    model, truth = CASES["categorical"]
    blurred = model.unpack(0.6 * model.pack(truth) + 0.4 * model.pack(model.blank()), truth)
    return Case(model, drawn(model, blurred, 0.1, np.random.default_rng(3)).take(slice(0, 300)), truth)


def run(case, rule=never, assign=SOFT, squarem=None, max_iter=3000):
    chain = EMRun(case.model, case.params, assign, rule, max_iter, squarem)
    for _ in em(lambda chains: evaluate(case.model, case.data(), [chains[0].params], assign), [chain]):
        pass
    return chain


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({}, "tolerance"),
        ({"tol": 0.0, "prior": 1.0}, "rounding"),
        ({"stop": "counts"}, "counts stable"),
        ({"stop": "parameters"}, "parameters stable"),
        ({"stop": "iterations", "max_iter": 7}, "iterations"),
        ({"assign": "hard"}, "assignments unchanged"),
        ({"assign": "hard", "stop": "assignments"}, "assignments unchanged"),
        ({"assign": "sample", "max_iter": 9}, "iterations"),
    ],
    ids=str,
)
def test_every_reason_to_stop_is_reached(how, reason):
    model = hs.LatentClass(2, n_init=2, random_state=0, **how).fit(X)
    assert model.stop_reason_ == reason
    assert model.converged_ == (reason != "iterations")
    assert model.n_iter_ >= 1
    if how.get("stop") == "iterations" or how.get("assign") == "sample":
        assert model.n_iter_ == how["max_iter"]


def test_a_capped_fit_is_not_called_converged():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = hs.LatentClass(2, n_init=1, max_iter=3, tol=1e-9, random_state=0).fit(X)
    assert (model.stop_reason_, model.converged_, model.n_iter_) == ("max_iter", False, 3)


def test_the_estimated_gain_is_not_below_what_was_left():
    """At `tolerance` about tol is left at most, though the steps crawl; the bare change of the objective would lie."""
    case = slow_case()
    top = run(case, gain(1e-11)).objective
    for tol in (1e-3, 1e-4, 1e-6):
        stopped = run(case, gain(tol))
        left, last_gain = top - stopped.objective, stopped.trace[-1] - stopped.trace[-2]
        assert stopped.reason == "tolerance"
        assert 1.1 * last_gain < left < 1.1 * tol  # the rate is itself an estimate


def test_stable_counts_do_not_move():
    case = slow_case()
    chain = run(case, counts(1e-3))
    assert chain.reason == "counts stable"
    moved = case.step(params=chain.params).expected.stats - chain.accepted.expected.stats
    assert np.abs(moved).max() < 1e-3


def test_stable_parameters_do_not_move():
    case = slow_case()
    chain = run(case, parameters(1e-5))
    assert chain.reason == "parameters stable"
    assert np.abs(case.model.pack(chain.params) - case.model.pack(chain.accepted.params)).max() < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_unchanged_assignments_are_a_fixed_point(name):
    """Nothing can move any more: neither the objective nor the parameters, inside nested mixtures either."""
    model, truth = CASES[name]
    table = drawn(model, truth, 0.1, np.random.default_rng(8)).take(slice(0, 400))
    case = Case(model, table, poor_guess(model, truth))
    if model.integrates:  # what is latent inside a leaf moves on while assignments stay the same
        chain = run(case, assignments(gain(1e-9)), HARD)
        assert chain.reason in ("tolerance", "assignments unchanged", "rounding")
        assert abs(case.step(HARD, chain.params).objective - chain.objective) < 1e-6
        return
    chain = run(case, assignments(), HARD)
    assert chain.reason == "assignments unchanged"
    after = case.step(HARD, chain.params)
    close(after.objective, chain.objective)
    close(model.improved(after), chain.params, 1e-12)  # moments about another pivot round differently


def test_leaping_needs_fewer_passes_and_ends_as_high():
    case = slow_case()
    walking, leaping = run(case, gain(1e-8)), run(case, gain(1e-8), squarem=Squarem())
    assert leaping.n_passes < walking.n_passes / 2
    assert leaping.objective >= walking.objective - 1e-6


def test_the_objective_reported_belongs_to_the_parameters_returned():
    for how in ({}, {"assign": "hard"}, {"assign": "sample", "max_iter": 15}, {"max_iter": 5, "stop": "iterations"}):
        model = hs.LatentClass(2, n_init=3, random_state=1, **how).fit(X)
        close(model.loglik_, model.score_samples(X).sum())
        if how.get("assign") != "hard":
            close(model.objective_, model.loglik_ + model._model.log_prior(model._params))


def test_the_best_of_all_starts_is_kept_and_those_that_agree_are_counted():
    case = slow_case()
    rng = np.random.default_rng(0)
    starts = [case.model.jitter(case.params, 1.0, rng) for _ in range(9)]
    found = fit(case.model, case.data(), starts, Plan(rule=gain(1e-6)))
    assert found.n_starts == 9
    assert found.objectives == sorted(found.objectives, reverse=True)
    alone = [fit(case.model, case.data(), [start], Plan(rule=gain(1e-6))).best.objective for start in starts]
    close(found.best.objective, max(alone))
    assert found.n_agree == sum(objective > found.best.objective - 1e-3 for objective in alone)
    close(case.step(params=found.best.accepted.params).objective, found.best.objective)


def test_a_falling_objective_raises_with_both_values():
    case = slow_case()
    chain = EMRun(case.model, case.params)
    chain.move(case.step(params=case.model.improved(case.step())))
    with pytest.raises(ObjectiveFell, match=r"fell from .* to .* at step 2"):
        chain.move(case.step(params=case.model.blank()))


def lowered(step, by):
    """Return the step with an objective that is lower by a share of it."""
    return replace(step, log_prior=step.log_prior - by * abs(step.objective))


def test_a_fall_beyond_rounding_raises_while_the_best_run_is_polished_too(monkeypatch):
    polish, passes = search.Contest.polish, []

    def falling(contest):
        monkeypatch.setattr(search, "evaluate", lower)
        polish(contest)

    def lower(*args, **how):
        passes.append(args)
        return [lowered(step, 2e-7 * len(passes)) for step in evaluate(*args, **how)]

    monkeypatch.setattr(search.Contest, "polish", falling)
    with pytest.raises(ObjectiveFell):
        hs.LatentClass(3, n_init=2, prior=None, random_state=0).fit(np.random.default_rng(0).random((200, 6)) < 0.5)
    assert passes


def test_a_step_that_rounding_lowered_is_not_accepted_and_the_run_goes_on_from_it():
    case = slow_case()
    chain = EMRun(case.model, case.params)
    chain.move(case.step())
    best, second = chain.accepted, case.step(params=chain.params)
    chain.move(replace(second, log_prior=best.objective - second.loglik - 1e-13 * abs(best.objective)))
    assert chain.accepted is best
    assert chain.trace == [best.objective, best.objective]
    assert chain.n_passes == 2
    close(chain.params["mix"], case.model.improved(second)["mix"])
    chain.move(case.step(params=chain.params))
    assert len(chain.trace) == 3
    assert chain.trace[2] == chain.objective > best.objective


def test_an_impossible_start_says_so():
    case = slow_case()
    impossible = {**case.params, "mix": np.array([[1.0, 0.0]])}
    table = np.array(case.params["emit"]["categorical"])
    table[0, :2] = [1.0, 0.0]
    impossible["emit"] = {"categorical": table}
    with pytest.raises(FitError, match="iteration 1: the objective is -inf"):
        run(case.but(params=impossible), max_iter=2)


@pytest.mark.parametrize(
    ("name", "tol", "mode", "said"),
    [
        ("soon", 1e-4, "soft", "stop='soon' is not one of 'gain'"),
        ("assignments", 0.0, "soft", "needs assign='hard', got assign='soft'"),
        ("counts", 1e-4, "sample", "a sampled run makes max_iter iterations"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(name, tol, mode, said):
    with pytest.raises(ParameterError, match=said):
        read_rule(name, tol, mode)


@pytest.mark.parametrize("tol", [-1.0, float("nan"), "small", True])
def test_a_tolerance_that_makes_no_sense_is_refused(tol):
    with pytest.raises(ParameterError, match=f"tol={tol!r}"):
        hs.LatentClass(2, tol=tol).fit(X)
