"""Progress of a fit, as a watcher sees it."""

import threading

import numpy as np
import pytest

import halfseen as hs
from halfseen.engine.services.progress import Progress, watching
from halfseen.errors import InterruptedWarning

ROWS = np.random.default_rng(0).integers(0, 3, size=(200, 4))


def watched(**options):
    seen = []
    with watching(seen.append):
        model = hs.LatentClass(**{"n_components": 2, "random_state": 0, "n_init": 6, **options}).fit(ROWS)
    return model, seen


def test_every_pass_is_told():
    model, seen = watched()
    assert all(isinstance(step, Progress) for step in seen)
    assert {(step.n_components, step.n_starts, step.max_iter) for step in seen} == {(2, 6, 1000)}
    assert seen[0].n_passes == 1
    assert seen[0].n_running == 6
    assert [step.n_running for step in seen].count(0) == 2  # all starts are compared, and the best one is polished
    assert seen[-1].n_running == 0
    assert seen[-1].objective == model.objective_
    assert max(step.n_passes for step in seen) >= model.n_iter_


def test_the_best_objective_never_falls():
    objectives = [step.objective for step in watched()[1]]
    assert all(np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1]))


def test_several_sizes_are_told_apart():
    assert {step.n_components for step in watched(n_components=range(1, 4))[1]} == {1, 2, 3}


def test_warming_up_has_no_objective():
    seen = watched(anneal=(0.5,))[1]
    assert [step.objective for step in seen[:10]] == [None] * 10
    assert seen[10].objective is not None
    assert [step.n_passes for step in seen[:11]] == list(range(1, 12))


def test_a_sampled_fit_is_told_too():
    model, seen = watched(assign="sample", max_iter=30)
    assert seen[-1].n_passes == model.n_iter_ == 30


def test_what_a_watcher_raises_ends_the_fit():
    def refuse(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), watching(refuse):
        hs.LatentClass(2, random_state=0).fit(ROWS)


def test_a_watcher_may_interrupt():
    def enough(progress):
        if progress.n_passes == 3:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning), watching(enough):
        model = hs.LatentClass(2, random_state=0).fit(ROWS)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == 3


def test_nobody_watches_afterwards_nor_in_another_thread():
    seen = []
    with watching(seen.append):
        other = threading.Thread(target=lambda: hs.LatentClass(2, random_state=0).fit(ROWS))
        other.start()
        other.join()
    hs.LatentClass(2, random_state=0).fit(ROWS)
    assert seen == []


def test_watching_changes_nothing():
    alone = hs.LatentClass(2, random_state=0, n_init=6).fit(ROWS)
    assert watched()[0].trace_ == alone.trace_
