"""The law of enumeration: evidence, usage, best completion and draws equal brute force over all completions."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from halfseen.assign import HARD, Assign
from tests.laws.closeness import close
from tests.laws.models import every_model
from tests.reference.enumerate import completions, component_counts, enumerate_table, rows_of
from tests.strategies import examples

MOST = 600  # completions of a table: enough for 5 rows and 3 components
SIGMAS = 6.0  # a true law fails one comparison in 5e8


def tiny(case, most=MOST):
    """Return the case with as many of its first rows as can be enumerated."""
    kept, size = [], 1
    for n, weight in enumerate(case.table.weight):
        ways = 1
        for row in rows_of(case.model, case.params, case.table.take([n])):
            ways *= len(row)
        if size * ways > most and weight:
            continue
        size *= ways
        kept.append(n)
    return case.but(table=case.table.take(np.array(kept, dtype=np.intp)))


def uncertain(case):
    """Whether there is something to draw: several rows, one of them of weight 2 or more, and two components."""
    weight = case.table.weight
    return weight.max() > 1 and np.count_nonzero(weight) > 2 and case.params["mix"].shape[1] > 1


@every_model("whole", "rows")
@examples(6)
@given(data=st.data())
def test_soft_is_the_mean_over_all_completions(entry, data):
    case = tiny(data.draw(entry.cases))
    truth, step = enumerate_table(case.model, case.params, case.table), case.step()
    close(step.loglik, truth.log_evidence)
    close(step.expected.stats, truth.expected)


@every_model("whole", "rows")
@examples(6)
@given(data=st.data())
def test_hard_is_the_best_of_all_completions(entry, data):
    case = tiny(data.draw(entry.cases))
    truth, step = enumerate_table(case.model, case.params, case.table), case.step(HARD)
    close(step.loglik, truth.best.log_joint)
    rivals = [
        way.stats
        for way in completions(case.model, case.params, case.table)
        if way.log_joint >= truth.best.log_joint - 1e-9 * max(1.0, abs(truth.best.log_joint))
    ]
    assert any(np.allclose(step.expected.stats, stats, rtol=1e-10, atol=1e-9) for stats in rivals)


@every_model("whole", "exchangeable", "rows")
@examples(4)
@given(data=st.data())
def test_equals_go_to_the_lowest_index(entry, data):
    """With all components alike every completion is as good as any other, and all rows go to component 0."""
    case = data.draw(entry.cases)
    unlabelled = replace(case.table, evidence=None)
    case = tiny(case.but(params=case.model.blank(), table=unlabelled))
    truth, step = enumerate_table(case.model, case.params, case.table), case.step(HARD)
    assert all(way == 0 for row in truth.best.hidden for way in row)
    close(step.expected.stats, truth.best.stats)


@every_model("whole", "rows")
@settings(max_examples=1, derandomize=True)
@given(data=st.data())
def test_draws_are_distributed_as_the_completions(entry, data):
    """One draw gives each vector of component counts as often as the sum over completions says."""
    case = tiny(data.draw(entry.cases.filter(uncertain)), most=200)
    truth = enumerate_table(case.model, case.params, case.table)
    n_draws = 300
    drawn = [case.step(Assign("sample"), seed=np.random.SeedSequence(i)).expected.stats for i in range(n_draws)]
    seen = Counter(component_counts(case.model, stats) for stats in drawn)
    assert set(seen) <= set(truth.counts)
    for counts, chance in truth.counts.items():
        error = np.sqrt(chance * (1 - chance) / n_draws)
        assert abs(seen[counts] / n_draws - chance) <= SIGMAS * error + 1 / n_draws, counts  # one draw of a rare one
    error = np.sqrt(truth.variance / n_draws)
    off = np.abs(np.mean(drawn, axis=0) - truth.expected)
    assert np.all(off <= SIGMAS * error + 1e-8 * max(1.0, np.abs(truth.expected).max()))


@every_model("whole", "rows")
@settings(max_examples=1, derandomize=True)
@given(data=st.data())
def test_many_draws_tend_to_the_soft_step(entry, data):
    """The virtual sample: the mean of M draws is off by less and less, as 1 / sqrt(M)."""
    case = tiny(data.draw(entry.cases.filter(uncertain)))
    truth = enumerate_table(case.model, case.params, case.table)
    for n_draws in (4, 400, 40_000):
        step = case.step(Assign("sample", draws=n_draws), seed=np.random.SeedSequence(7))
        close(step.loglik, truth.log_evidence)
        error = np.sqrt(truth.variance / n_draws)
        off = np.abs(step.expected.stats - truth.expected)
        assert np.all(off <= SIGMAS * error + 1e-8 * max(1.0, np.abs(truth.expected).max())), n_draws


@every_model("rows")
@examples(4)
@given(data=st.data())
def test_drawn_usage_of_a_row_sums_to_its_weight(entry, data):
    case = data.draw(entry.cases)
    for n, weight in enumerate(case.table.weight):
        row = case.but(table=case.table.take([n]))
        used = case.model.view(row.step(Assign("sample", draws=2)).expected.stats)["mix"][:1]
        close(used.sum(), weight)
        if weight == int(weight):
            close(2 * used, np.rint(2 * used))
