"""Edges of the engine: models, chains, squared extrapolation, restarts, starts, runners."""

import threading
import time
import weakref
from itertools import islice

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from halfseen.assign import HARD, SOFT, Assign
from halfseen.data import Chunk, Column, Schema, Table
from halfseen.engine.loop.em import em, evaluate, steps
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.search import Plan, fit
from halfseen.engine.loop.stopping import gain
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.starts import STARTS, Start, whole
from halfseen.errors import FitError, ParameterError
from halfseen.leaves import Categorical, Cells, Floored, Gaussian, GaussianParams, Poisson, Product
from halfseen.runners import runner
from halfseen.runners.threads import read_jobs
from halfseen.structures.independent import Independent
from halfseen.sums import Serial


def mixture(emit):
    return Mixture(Independent(), {"mix": Cells(1, [emit.n_components], axes=(1,)), "emit": emit})


def counts_model():
    """Return a mixture of two Poisson columns, rows for it, and a start."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.poisson(1.0, (60, 1)), rng.poisson(6.0, (40, 1))]).astype(float)
    model = mixture(Poisson(2, rows.mean(axis=0)))
    start = {"mix": np.array([[0.5, 0.5]]), "emit": np.array([[2.0], [4.0]])}
    return model, Reduced([Chunk(0, rows, np.ones(100))]), start


# ---- models ---------------------------------------------------------------------------------------------------------


def test_a_model_needs_the_parts_of_its_structure():
    with pytest.raises(ValueError, match=r"parts \('mix', 'emit'\), got leaves \('mix',\)"):
        Mixture(Independent(), {"mix": Cells(1, [2])})


def test_a_model_names_its_statistics():
    model, data, start = counts_model()
    [step] = evaluate(model, data, [start])
    parts = model.view(step.expected.stats)
    assert parts["mix"].shape == (1, 2)
    assert parts["emit"].shape == (3, 2, 1)
    parts["mix"][:] = 7  # a view, not a copy
    assert step.expected.stats[:2].tolist() == [7, 7]


def test_a_nested_model_is_relabelled_as_a_leaf_by_its_groups():
    inner = Mixture(Independent(2), {"mix": Cells(2, [3]), "emit": Poisson(6, np.ones(1))})
    params = {"mix": np.arange(6.0).reshape(2, 3), "emit": np.arange(6.0)[:, None]}
    taken = inner.take(params, np.array([1, 0]))
    assert taken["mix"].tolist() == [[3, 4, 5], [0, 1, 2]]
    assert taken["emit"].ravel().tolist() == [3, 4, 5, 0, 1, 2]
    outer = mixture(inner)
    relabelled = outer.relabel({"mix": np.array([[0.2, 0.8]]), "emit": params}, np.array([1, 0]))
    assert relabelled["mix"].tolist() == [[0.8, 0.2]]
    assert relabelled["emit"]["emit"].ravel().tolist() == [3, 4, 5, 0, 1, 2]


def test_rows_drawn_from_a_nested_model_come_from_the_group_asked_for():
    inner = Mixture(Independent(2), {"mix": Cells(2, [2]), "emit": Poisson(4, np.ones(1))})
    params = {"mix": np.array([[0.5, 0.5], [1.0, 0.0]]), "emit": np.array([[0.0], [0.0], [50.0], [0.0]])}
    rows = inner.sample(params, np.array([0, 1, 0, 1]), np.random.default_rng(0))
    assert (rows.ravel() > 10).tolist() == [False, True, False, True]


def test_holes_in_a_nested_model_are_filled_by_the_component_inside():
    inner = Mixture(Independent(1), {"mix": Cells(1, [2]), "emit": Gaussian(2, np.zeros(2), np.ones(2))})
    normal = GaussianParams(np.array([[0.0, 100.0], [10.0, 200.0]]), np.ones((2, 2)))
    params = {"mix": np.array([[0.5, 0.5]]), "emit": normal}
    rows = np.array([[0.0, np.nan], [10.0, np.nan]])
    filled = inner.impute(params, rows, np.ones((2, 1)), None)
    np.testing.assert_allclose(filled[:, 1], [100.0, 200.0], atol=1e-6)
    drawn = inner.impute(params, rows, np.ones((2, 1)), np.random.default_rng(0))
    assert np.all(np.abs(drawn[:, 1] - [100.0, 200.0]) < 6)


# ---- evaluate and the loop ------------------------------------------------------------------------------------------


def test_known_data_is_restated_for_every_candidate():
    """Statistics counted once under `about` give the same step as a pass over the rows would."""
    model = mixture(Gaussian(1, np.zeros(1), np.ones(1)))
    chunk = Chunk(0, np.array([[1.0], [4.0]]), np.ones(2))
    about = model.blank()
    [counted] = evaluate(model, Reduced([chunk]), [about])
    elsewhere = {"mix": np.ones((1, 1)), "emit": GaussianParams(np.array([[3.0]]), np.array([[2.0]]))}
    [quick] = evaluate(model, Reduced([], counted.expected, about), [elsewhere])
    [slow] = evaluate(model, Reduced([chunk]), [elsewhere])
    np.testing.assert_allclose(quick.expected.stats, slow.expected.stats)
    assert quick.loglik == pytest.approx(slow.loglik, rel=1e-12)


def test_the_loop_ends_when_no_chain_runs():
    model, data, start = counts_model()
    chains = [EMRun(model, start, max_iter=3), EMRun(model, start, max_iter=5)]
    passes = [len(running) for running in em(lambda ready: evaluate(model, data, [c.params for c in ready]), chains)]
    assert passes == [2, 2, 2, 1, 1]
    assert [chain.n_passes for chain in chains] == [3, 5]
    assert [len(chain.trace) for chain in chains] == [3, 5]


def test_a_paused_chain_goes_on_where_it_was():
    model, data, start = counts_model()
    straight, paused = EMRun(model, start, max_iter=6), EMRun(model, start, max_iter=6, pause=2)
    for chain in (straight, paused):
        for _ in em(lambda ready: evaluate(model, data, [c.params for c in ready]), [chain]):
            pass
    assert paused.reason is None
    paused.pause = None
    for _ in em(lambda ready: evaluate(model, data, [c.params for c in ready]), [paused]):
        pass
    assert paused.trace == straight.trace


def test_steps_walk_without_end():
    model, data, start = counts_model()
    walk = steps(model, data, start)
    objectives = [next(walk).objective for _ in range(5)]
    assert objectives == sorted(objectives)


def test_a_chain_that_has_not_moved_ranks_last():
    model, _, start = counts_model()
    assert EMRun(model, start).rank == (False, -np.inf)
    with pytest.raises(AssertionError, match="no pass"):
        _ = EMRun(model, start).accepted


def test_a_collapsed_chain_ranks_behind_a_healthy_one():
    model = mixture(Floored(Gaussian(2, np.zeros(1), np.ones(1)), 0.01))
    rows = np.array([[0.0], [0.0], [3.0], [5.0]])
    data = Reduced([Chunk(0, rows, np.ones(4))])
    healthy = {"mix": np.full((1, 2), 0.5), "emit": GaussianParams(np.array([[0.0], [4.0]]), np.ones((2, 1)))}
    collapsed = {**healthy, "emit": GaussianParams(np.array([[0.0], [4.0]]), np.array([[0.01], [1.0]]))}
    chains = [EMRun(model, params, max_iter=1) for params in (healthy, collapsed)]
    for _ in em(lambda ready: evaluate(model, data, [c.params for c in ready]), chains):
        pass
    assert chains[1].objective > chains[0].objective
    assert chains[1].rank < chains[0].rank


def test_a_start_that_shrinks_without_a_floor_says_so():
    model = mixture(Gaussian(2, np.zeros(1), np.ones(1)))
    data = Reduced([Chunk(0, np.array([[0.0], [5.0], [6.0]]), np.ones(3))])
    start = {
        "mix": np.full((1, 2), 0.5),
        "emit": GaussianParams(np.array([[0.0], [5.5]]), np.array([[1e-3], [1.0]])),
    }
    with pytest.raises(FitError, match=r"start 0, iteration \d+"):
        list(islice(steps(model, data, start), 50))


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_a_parameter_that_is_nan_ends_a_fit(mode):
    """The best of two scores is a number, though the other one is none."""
    model = mixture(Gaussian(2, np.zeros(1), np.ones(1)))
    data = Reduced([Chunk(0, np.array([[0.0], [5.0], [6.0]]), np.ones(3))])
    start = {"mix": np.full((1, 2), 0.5), "emit": GaussianParams(np.array([[0.0], [np.nan]]), np.ones((2, 1)))}
    with pytest.raises(FitError, match=r"start 0, iteration 1"):
        list(islice(steps(model, data, start, Assign.read(mode)), 3))


def test_an_objective_is_loglik_plus_log_prior():
    step = Step(None, Expected(np.zeros(1), -3.0), -0.5)
    assert (step.loglik, step.objective) == (-3.0, -3.5)


# ---- many starts ----------------------------------------------------------------------------------------------------


def test_annealing_counts_its_passes_and_still_ends_at_the_plain_objective():
    model, data, start = counts_model()
    plain = fit(model, data, [start], Plan(rule=gain(1e-8)))
    warmed = fit(model, data, [start], Plan(rule=gain(1e-8), anneal=(0.5, 0.8)))
    assert warmed.best.n_passes > 20
    assert warmed.best.objective == pytest.approx(plain.best.objective, abs=1e-5)


def test_annealing_moves_components_apart_that_coincide():
    model, data, start = counts_model()
    alike = {**start, "emit": np.full((2, 1), 3.0)}
    stuck = fit(model, data, [alike], Plan(max_iter=40))
    free = fit(model, data, [alike], Plan(max_iter=100, anneal=(0.9,)))
    assert np.ptp(stuck.best.accepted.params["emit"]) < 1e-9
    assert np.ptp(free.best.accepted.params["emit"]) > 2


def test_an_interrupt_keeps_the_best_so_far():
    model, data, start = counts_model()
    seen = []

    class Interrupted(Serial):
        def total(self, task, chunks):
            seen.append(1)
            if len(seen) > 4:
                raise KeyboardInterrupt
            return super().total(task, chunks)

    interrupted = Interrupted()

    search = fit(model, data, [start], Plan(rule=gain(0.0), runner=interrupted))
    assert search.interrupted
    assert search.best.reason == "interrupted"
    assert len(search.best.trace) == 4
    with pytest.raises(KeyboardInterrupt):
        fit(model, data, [start], Plan(runner=interrupted))


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_a_search_with_many_starts_is_no_worse_than_with_any_finalist(mode):
    model, data, start = counts_model()
    rng = np.random.default_rng(1)
    starts = [model.jitter(start, 1.0, rng) for _ in range(16)]
    search = fit(model, data, starts, Plan(assign=Assign(mode), rule=gain(1e-6)))
    assert search.n_starts == 16
    assert search.best.objective == max(search.objectives) == search.objectives[0]
    assert 1 <= search.n_agree <= len(search.objectives) <= 16


def test_sampled_searches_end_with_one_chain_at_its_average():
    model, data, start = counts_model()
    search = fit(model, data, [start, start, start], Plan(assign=Assign("sample"), max_iter=20))
    assert len(search.objectives) == 1
    assert search.best.n_passes == 20
    [soft] = evaluate(model, data, [search.best.accepted.params])
    assert search.best.objective == soft.objective


# ---- where EM begins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", STARTS)
def test_every_start_breaks_the_symmetry_and_repeats_with_its_seed(init):
    rng = np.random.default_rng(0)
    blocks = {
        "categorical": rng.integers(-1, 3, (50, 2)),
        "gaussian": rng.normal(size=(50, 1)),
        "poisson": rng.poisson(2.0, (50, 1)).astype(float),
    }
    leaves = {
        "categorical": Categorical(3, [3, 3]),
        "gaussian": Gaussian(3, np.zeros(1), np.ones(1)),
        "poisson": Poisson(3, np.ones(1)),
    }
    if init == "kmeans":  # which has no distance between categories
        del blocks["categorical"], leaves["categorical"]
    model = mixture(Product(3, leaves))
    schema = Schema.of(Column(f"{name}{d}", name, (0, 1, 2)) for name in blocks for d in range(blocks[name].shape[1]))
    table = Table(schema, blocks, rng.choice([0.5, 1.0, 2.0], 50))
    begin = Start.of(model, table)
    emit = STARTS[init](begin, np.random.default_rng(7))
    again = STARTS[init](begin, np.random.default_rng(7))
    for name in leaves:
        packed, repeated = (leaves[name].pack(params[name]) for params in (emit, again))
        np.testing.assert_array_equal(packed, repeated)
        first, second = (leaves[name].pack(leaves[name].take(emit[name], np.full(3, k))) for k in (0, 1))
        assert not np.allclose(first, second)
    params = {"mix": model.leaves["mix"].blank(), "emit": emit}
    assert model.feasible(params)
    assert np.isfinite(evaluate(model, Reduced(table.chunks()), [params])[0].loglik)


def test_the_whole_table_is_the_fit_of_one_component():
    rows = np.array([[1.0], [3.0], [np.nan]])
    leaf = Product(2, {"gaussian": Gaussian(2, np.full(1, 2.0), np.ones(1))})
    table = Table(Schema.of([Column("x", "gaussian")]), {"gaussian": rows}, np.array([1.0, 3.0, 5.0]))
    found = whole(leaf, table)
    np.testing.assert_allclose(found.params["gaussian"].mean, 2.5)
    np.testing.assert_allclose(found.params["gaussian"].var, 0.75)
    stats = leaf.view(found.row)["gaussian"]
    np.testing.assert_allclose(stats[:3, 0, 0], np.array([4.0, 0.0, 3.0]) / 9, atol=1e-12)


# ---- runners --------------------------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_chunks():
    def task(i):
        time.sleep(0.002 * (5 - i % 5))
        return i

    with runner(4, 20) as run:
        assert list(run(task, range(20))) == list(range(20))


def test_a_slow_worker_keeps_no_chunk_waiting():
    """The first chunk ends only when all others are done: the second worker takes those of the first."""
    done, everything = [], threading.Event()

    def task(chunk):
        if chunk == 0:
            return chunk if everything.wait(30) else "nobody took the rest"
        done.append(chunk)
        if len(done) == 9:
            everything.set()
        return chunk

    with runner(2, 10) as run:
        assert list(run(task, list(range(10)))) == list(range(10))


def test_threads_are_used_and_not_more_than_chunks():
    names = set()

    def task(_):
        names.add(threading.current_thread().name)
        time.sleep(0.002)

    with runner(8, 2) as run:
        list(run(task, range(10)))
    assert len(names) == 2
    names.clear()
    with runner(None, 10) as run:
        list(run(task, range(3)))
    assert names == {threading.current_thread().name}


def test_an_error_in_a_task_reaches_the_caller():
    def task(i):
        if i == 3:
            raise FitError("row 3")
        return i

    with pytest.raises(FitError, match="row 3"), runner(2, 10) as run:
        list(run(task, range(10)))


def test_an_error_in_a_worker_stops_the_others():
    begun, failed = [], threading.Event()

    def task(i):
        begun.append(i)
        if i == 50:  # the first of the other lane
            failed.set()
            raise FitError("row 50")
        failed.wait(10)
        time.sleep(0.002)

    with pytest.raises(FitError, match="row 50"), runner(2, 100) as run:
        list(run(task, range(100)))
    assert len(begun) < 50


def test_an_error_does_not_keep_the_results_of_the_others_alive():
    class Big:
        pass

    made = []

    def task(i):
        if i == 9:
            raise FitError("row 9")
        big = Big()
        made.append(weakref.ref(big))
        return big

    with pytest.raises(FitError) as error, runner(2, 10) as run:
        list(run(task, range(10)))
    assert error.value.args == ("row 9",)
    assert made
    assert not any(ref() for ref in made)


def test_a_task_may_use_the_threads_it_runs_on():
    found = []

    def all_of_it():
        with runner(3, 8) as run:
            found.extend(run(lambda i: i + sum(run(lambda j: j, range(5))), range(8)))

    thread = threading.Thread(target=all_of_it, daemon=True)  # it would wait for ever
    thread.start()
    thread.join(20)
    assert found == [i + 10 for i in range(8)]


def test_blas_is_held_to_one_thread_and_given_back():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with runner(1, 1), runner(1, 1):
        assert set(threads()) <= {1}
    assert threads() == before


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "all"])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs="):
        read_jobs(n_jobs)


def test_numbers_of_jobs_follow_joblib(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert [read_jobs(n) for n in (None, 1, 3, -1, -2, -9)] == [1, 1, 3, 6, 5, 1]


# ---- hard assignments -----------------------------------------------------------------------------------------------


def test_the_fingerprint_sees_every_change_of_assignment():
    model, data, start = counts_model()
    swapped = model.relabel(start, np.array([1, 0]))
    prints = [evaluate(model, data, [params], HARD)[0].expected.digest for params in (start, start, swapped)]
    assert prints[0] == prints[1] != prints[2]
    assert evaluate(model, data, [start], SOFT)[0].expected.digest == 0


def test_the_fingerprint_sees_inside_nested_models():
    inner = Mixture(Independent(1), {"mix": Cells(1, [2]), "emit": Poisson(2, np.ones(1))})
    model = mixture(inner)
    data = Reduced([Chunk(0, np.array([[0.0], [9.0]]), np.ones(2))])
    params = {"mix": np.ones((1, 1)), "emit": {"mix": np.array([[0.5, 0.5]]), "emit": np.array([[1.0], [9.0]])}}
    other = {**params, "emit": {**params["emit"], "emit": np.array([[9.0], [1.0]])}}
    one, two = evaluate(model, data, [params, other], HARD)
    assert one.expected.digest != two.expected.digest
