"""Progress of a fit, as a watcher sees it."""

import re
import threading

import numpy as np
import pytest

import halfseen as hs
from halfseen.app.console import progress_parts
from halfseen.app.status_line import fitted
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


def at_pass(number):
    def interrupt(progress):
        if progress.n_passes == number:
            raise KeyboardInterrupt

    return watching(interrupt)


SERIES = np.random.default_rng(1).normal(size=(60, 2))
UNFINISHED = {
    "LatentClass": lambda: hs.LatentClass(2, random_state=0).fit(ROWS),
    "GaussianMixture": lambda: hs.GaussianMixture(2, random_state=0).fit(SERIES),
    "HMM": lambda: hs.HMM(2, random_state=0).fit(SERIES),
    "BayesNet": lambda: hs.BayesNet([("C", "x0"), ("C", "x1")], hidden={"C": 2}, random_state=0).fit(ROWS[:, :2]),
    "PCFG": lambda: hs.PCFG.random(2, ["a", "b"], random_state=0).fit(["a b a", "b b a", "a a"]),
    "WordAligner": lambda: hs.WordAligner("ibm1", max_iter=5).fit(["a b ||| c d", "b ||| d"] * 3),
    "G2P": lambda: hs.G2P(order=2).fit({"ab": [["X", "Y"]], "ba": [["Y"]], "bb": [["Y", "X"]]}),
    "TranscriptAligner": lambda: hs.TranscriptAligner(1, anneal=()).fit([SERIES[:30], SERIES[30:]], ["u v u", "v u v"]),
}


@pytest.mark.parametrize("fit", UNFINISHED.values(), ids=UNFINISHED)
def test_an_interrupted_fit_says_so_first(fit, tmp_path):
    with pytest.warns(InterruptedWarning), at_pass(2):
        model = fit()
    assert not model.converged_
    hs.save(model, tmp_path / "m.halfseen")
    for each in (model, hs.load(tmp_path / "m.halfseen")):
        first = f"Interrupted after {each.n_iter_} iterations; not converged."
        assert each.describe().startswith(f"{first}\n")
        assert repr(each).startswith(f"{first} {type(model).__name__}(")
        if hasattr(each, "_repr_html_") and hasattr(each, "class_names_"):
            assert first in each._repr_html_().split("<table")[0]
    assert "Interrupted" not in fit().describe()


def test_a_search_that_was_interrupted_between_numbers_says_so_first():
    def interrupt(progress):
        if progress.n_components == 3:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning), watching(interrupt):
        model = hs.LatentClass(range(1, 5), random_state=0, tol=1e9).fit(ROWS)
    assert model.describe().startswith("Interrupted before all numbers of classes were tried.\nclass 0")


def test_a_finished_fit_has_the_repr_of_scikit_learn():
    assert repr(hs.LatentClass(3).fit(ROWS)) == repr(hs.LatentClass(3)) == "LatentClass(n_components=3)"


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


@pytest.mark.parametrize("width", [200, 80, 60, 40, 20, 5])
@pytest.mark.parametrize("loglik", [-123.4, -1.2e9, None])
def test_the_line_on_a_terminal_is_never_cut_inside_a_number(width, loglik):
    parts = progress_parts(Progress(12, 16, 128, 1000, 1000, loglik, loglik), "classes")
    line = fitted(parts, width)
    assert len(line) <= width
    numbers = re.findall(r"[-\d.,]*\d", ", ".join(parts))
    assert all(number in numbers for number in re.findall(r"[-\d.,]*\d", line))
    if width >= 80:
        assert line.startswith("12 classes, ")
        assert "112 of 128 starts finished" in line


def test_progress_in_words():
    def words(*seen, components="classes", **more):
        return ", ".join(progress_parts(Progress(*seen, **more), components))

    assert words(6, 3, 16, 35, 1000, -5425.1, -5420.2) == (
        "6 classes, iteration 35, 13 of 16 starts finished, log-likelihood -5,420.2"
    )
    assert words(6, 1, 16, 35, 1000, -1.0, -1.0, polishing=True).startswith("6 classes, iteration 35, final polish")
    assert words(1, 1, 1, 2, 1000, -3.0) == "1 class, iteration 2, objective -3.0"
    assert words(9, 1, 1, 2, 1000, None, components="") == "iteration 2"


def test_the_polish_and_the_log_likelihood_are_told():
    seen = []
    with watching(seen.append):
        model = hs.LatentClass(2, n_init=4, random_state=0).fit(ROWS)
    assert seen[-1].loglik == model.loglik_ != seen[-1].objective
    assert seen[-1].polishing
    assert not seen[0].polishing
