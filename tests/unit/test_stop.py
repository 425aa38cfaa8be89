"""A fit that another thread stops: between chunks, batches and draws, with the best model so far."""

import threading
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfseen as hs
from halfseen import stop_request
from halfseen.data.in_order import in_order
from halfseen.engine.services.progress import watching
from halfseen.errors import InterruptedWarning
from halfseen.runners import runner
from halfseen.stop_request import stopping_when
from tests.unit.test_progress import UNFINISHED

RNG = np.random.default_rng(0)
MANY = np.concatenate([RNG.normal(size=(9000, 3)), RNG.normal(3.0, 1.0, size=(9000, 3))])  # 5 chunks
FEW = MANY[::60]


class After:
    """An event that is set from the n-th look on."""

    def __init__(self, n_looks):
        self.left = n_looks

    def is_set(self):
        self.left -= 1
        return self.left < 0


def mixture(**options):
    return hs.LatentClass(**{"n_components": 2, "n_init": 2, "random_state": 0, "accelerate": False, **options})


def at_pass(number, event):
    def watch(seen):
        if seen.n_passes == number:
            event.set()

    return watching(watch)


@pytest.mark.parametrize("chunks_of_pass", [1, 3])
def test_a_pass_is_left_between_two_chunks(chunks_of_pass):
    done = []
    whole = mixture().fit(MANY)
    counted = After(10**9)
    with stopping_when(counted), watching(lambda seen: done.append(counted.left)):
        mixture().fit(MANY)
    looks = 10**9 - done[2] + chunks_of_pass  # up to the end of the third pass, and some chunks more
    passes = []
    with pytest.warns(InterruptedWarning), stopping_when(After(looks)), watching(lambda seen: passes.append(seen)):
        model = mixture().fit(MANY)
    assert len(passes) == 3
    assert model.stop_reason_ == "interrupted"
    assert not model.converged_
    assert model.n_iter_ == 3
    assert model.trace_ == whole.trace_[:3]


def test_workers_leave_a_pass_between_two_chunks():
    event, begun = threading.Event(), []

    def task(chunk):
        begun.append(chunk)
        if len(begun) == 4:
            event.set()
        return chunk

    with stopping_when(event), runner(2, 1000) as run, pytest.raises(KeyboardInterrupt):
        run.total(task, list(range(1000)))
    assert 4 <= len(begun) <= 6


def test_a_stopped_fit_of_workers_is_that_of_as_many_passes():
    event = threading.Event()
    with pytest.warns(InterruptedWarning), stopping_when(event), at_pass(3, event):
        model = mixture(n_jobs=2).fit(MANY)
    assert model.trace_ == mixture().fit(MANY).trace_[:3]


def test_what_is_done_after_a_stop_is_not_stopped_again():
    event = threading.Event()
    with stopping_when(event), at_pass(2, event):
        with pytest.warns(InterruptedWarning):
            model = mixture().fit(MANY)
        assert event.is_set()
        again = mixture().fit(MANY)
    assert model.n_iter_ == 2
    assert again.converged_


def test_an_event_that_is_cleared_at_once_stops_all_the_same():
    event = threading.Event()

    def blink(chunk):
        if chunk == 1:
            event.set()
            while event.is_set() and not request.is_set():
                pass
            event.clear()
        return chunk

    with stopping_when(event), runner(2, 50) as run:
        request = stop_request.current()
        with pytest.raises(KeyboardInterrupt):
            run.total(blink, list(range(50)))


def test_before_the_first_pass_there_is_no_model():
    event = threading.Event()
    event.set()
    model = mixture()
    with stopping_when(event), pytest.raises(KeyboardInterrupt):
        model.fit(MANY)
    assert not hasattr(model, "weights_")


def test_another_thread_is_not_stopped():
    event = threading.Event()
    event.set()
    found = []
    with stopping_when(event):
        other = threading.Thread(target=lambda: found.append(mixture().fit(FEW)))
        other.start()
        other.join()
    assert found[0].converged_


def test_looking_for_a_stop_changes_nothing():
    with stopping_when(threading.Event()):
        watched = mixture().fit(MANY)
    assert watched.trace_ == mixture().fit(MANY).trace_


@pytest.mark.parametrize("family", UNFINISHED)
def test_every_family_keeps_its_model(family):
    event = threading.Event()
    with pytest.warns(InterruptedWarning), stopping_when(event), at_pass(2, event):
        model = UNFINISHED[family]()
    assert model.stop_reason_ == "interrupted"
    assert not model.converged_


def test_a_stop_of_k_means_keeps_the_best_centres():
    whole = hs.KMeans(6, random_state=0, n_init=4).fit(MANY)
    counted = After(10**9)
    with stopping_when(counted):
        hs.KMeans(6, random_state=0, n_init=4).fit(MANY)
    with pytest.warns(InterruptedWarning), stopping_when(After((10**9 - counted.left) // 2)):
        model = hs.KMeans(6, random_state=0, n_init=4).fit(MANY)
    assert model.stop_reason_ == "interrupted"
    assert whole.inertia_ <= model.inertia_ < 2 * whole.inertia_


def test_a_stop_between_the_sample_and_all_rows_keeps_the_centres_of_the_sample():
    rows = RNG.normal(size=(40_000, 1))  # more than starts are raced on
    rows[::2] += 9.0
    left, told = After(10**9), []
    with stopping_when(left), watching(lambda seen: told.append((seen.search, 10**9 - left.left))):
        whole = hs.KMeans(2, random_state=0, n_init=2).fit(rows)
    last_of_sample, first_of_all = ([looks for search, looks in told if search == number] for number in (0, 1))
    for looks in np.linspace(last_of_sample[-1] + 40, first_of_all[0] - 1, 4).astype(int).tolist():
        with pytest.warns(InterruptedWarning), stopping_when(After(looks)):
            model = hs.KMeans(2, random_state=0, n_init=2).fit(rows)
        assert model.stop_reason_ == "interrupted"
        np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, atol=0.1)


PAIRS = ["a b ||| c d", "b ||| d", "a ||| c", "b b ||| d d"] * 5


def test_words_stop_after_a_pass_with_usable_parameters():
    short = hs.WordAligner("ibm1", max_iter=3).fit(PAIRS)
    event = threading.Event()
    with pytest.warns(InterruptedWarning), stopping_when(event), at_pass(3, event):
        model = hs.WordAligner("ibm1", max_iter=9).fit(PAIRS)
    assert model.n_iter_ == 3
    assert model.loglik_ == short.loglik_
    assert model.translations("a") == short.translations("a")


def test_words_that_are_stopped_within_a_pass_complete_it():
    counted, begun = After(10**9), []
    with stopping_when(counted), watching(lambda seen: begun.append(counted.left)):
        hs.WordAligner("ibm1", max_iter=9).fit(PAIRS)
    event = After(10**9 - begun[3])
    with pytest.warns(InterruptedWarning), stopping_when(event):
        model = hs.WordAligner("ibm1", max_iter=9).fit(PAIRS)
    short = hs.WordAligner("ibm1", max_iter=model.n_iter_).fit(PAIRS)
    assert 3 <= model.n_iter_ < 9
    assert model.loglik_ == short.loglik_


def test_words_stopped_before_the_last_model_have_none():
    event = threading.Event()
    with stopping_when(event), at_pass(1, event), pytest.raises(KeyboardInterrupt):
        hs.WordAligner("hmm", max_iter=3).fit(PAIRS)


def test_a_choice_among_numbers_of_classes_keeps_what_was_found():
    event = threading.Event()

    def watch(seen):
        if seen.n_components == 3:
            event.set()

    with pytest.warns(InterruptedWarning), stopping_when(event), watching(watch):
        model = mixture(n_components=range(1, 6)).fit(MANY)
    assert list(model.selection_["n_components"]) == [1, 2, 3]
    assert model.describe().startswith("Interrupted")


def test_a_cross_validation_that_is_stopped_is_not_gone_on_with():
    labels = [("a" if row[0] > 1.5 else "b") if n % 3 else None for n, row in enumerate(FEW)]
    event = threading.Event()
    with stopping_when(event), at_pass(3, event), pytest.raises(KeyboardInterrupt):
        hs.NaiveBayes(random_state=0).fit(FEW, labels)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("draw", [hs.bootstrap, hs.blrt])
def test_draws_are_left(draw, n_jobs):
    model = mixture(prior=None).fit(FEW)
    event, seen = threading.Event(), []

    def watch(step):
        seen.append(step.done)
        event.set()

    with stopping_when(event), watching(watch), pytest.raises(KeyboardInterrupt):
        draw(model, FEW, draws=500, random_state=0, n_jobs=n_jobs)
    assert len(seen) == 1
    assert seen[0] < 500


def test_workers_leave_what_they_are_doing():
    event, left = threading.Event(), []

    def task(chunk):
        if chunk:  # a worker: its own work is in pieces too
            event.set()
            try:
                for _ in stop_request.stoppable(iter(int, 1)):  # without end
                    pass
            finally:
                left.append(chunk)

    with stopping_when(event), runner(2, 2) as run, pytest.raises(KeyboardInterrupt):
        list(run(task, [0, 1]))
    assert left == [1]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.parquet"
    columns = {f"x{j}": column for j, column in enumerate(MANY.T)}
    pq.write_table(pa.table({**columns, "c": np.where(MANY[:, 0] > 1, "high", "low")}), path)
    return path


@pytest.mark.parametrize("memory", ["1GB", "200KB"])
def test_reading_and_encoding_are_left(table, memory):
    counted, begun = After(10**9), []
    with stopping_when(counted), watching(lambda seen: begun.append(counted.left)):
        mixture(stop="iterations", max_iter=1).fit(hs.open_table(table, memory=memory))
    looks = 10**9 - begun[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for share in (0.02, 0.3, 0.6, 0.9):
            with stopping_when(After(int(share * looks))), pytest.raises(KeyboardInterrupt):
                mixture().fit(hs.open_table(table, memory=memory))


def looks_before_the_first_pass(model, X):
    counted, begun = After(10**9), []
    with stopping_when(counted), watching(lambda seen: begun.append(counted.left)):
        model.fit(X)
    return 10**9 - begun[0]


def test_starts_are_drawn_one_by_one():
    few, many = (looks_before_the_first_pass(mixture(n_init=n_init), FEW) for n_init in (2, 40))
    assert many - few >= 38


def test_columns_are_encoded_one_by_one():
    cells = np.where(RNG.random((50, 30)) < 0.5, "a", "b")
    assert looks_before_the_first_pass(mixture(), cells) - looks_before_the_first_pass(mixture(), cells[:, :1]) >= 29


@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_that_are_read_one_after_the_other_are_left(workers):
    event, read = threading.Event(), []

    def use(piece):
        read.append(piece)
        event.set()

    with stopping_when(event), pytest.raises(KeyboardInterrupt):
        list(in_order(use, range(1000), workers))
    assert len(read) < 1000


def test_a_query_that_takes_for_ever_is_interrupted():
    event = threading.Event()
    source = hs.open_table(sql="SELECT count(*) AS n FROM range(1000000000000) WHERE sin(range) > 2", memory="1GB")
    timer = threading.Timer(0.1, event.set)
    timer.start()
    with stopping_when(event), pytest.raises(KeyboardInterrupt):
        mixture().fit(source)


def test_cutting_texts_into_words_is_left():
    texts = [["a cat sat"], ["a dog ran"]] * 50
    model = hs.LatentClass(2, columns={"x0": "text"}, random_state=0)
    with stopping_when(After(20)), pytest.raises(KeyboardInterrupt) as raised:
        model.fit(texts)
    assert any(entry.name == "stoppable" for entry in raised.traceback)


def test_the_innermost_event_alone_counts():
    outer, inner = threading.Event(), threading.Event()
    outer.set()
    with stopping_when(outer), stopping_when(inner):
        stop_request.check()
    with stopping_when(outer), pytest.raises(KeyboardInterrupt):
        stop_request.check()
