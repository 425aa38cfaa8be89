"""Long recordings: the coarse pass, the band of words about it, and that the result is the one without a band."""

import itertools

import numpy as np
import pytest

import halfseen as hs
from halfseen.errors import DataError
from halfseen.families.transcript import aligner, bands
from halfseen.families.transcript.lexicon import Lexicon
from halfseen.kernels import plain
from tests.unit.test_transcript_aligner import CENTRES, corpus, spoken


@pytest.fixture(params=["plain", "compiled"])
def kernels(request):
    """The NumPy kernels, and the C++ ones where they were built."""
    return plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")


# ---- kernels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 2])
def test_the_free_sequence_is_the_best_of_all(kernels, n_states):
    rng, size = np.random.default_rng(n_states), 2 * n_states
    for _ in range(5):
        scores, stay = 2 * rng.normal(size=(5, size)), rng.random(size)
        logs, enter = np.log(np.stack([stay, 1 - stay], axis=1)), -0.7
        best = (-np.inf, ())
        for way in itertools.product(range(size), repeat=5):
            total = enter + scores[0, way[0]] if way[0] % n_states == 0 else -np.inf
            for t in range(1, 5):
                old, new = way[t - 1 : t + 1]
                last, first = old % n_states == n_states - 1, new % n_states == 0
                ways = [logs[old, 0]] if new == old else []
                ways += [logs[old, 1]] if new == old + 1 and not first else []
                ways += [logs[old, 1] + enter] if last and first else []
                total += scores[t, new] + max(ways, default=-np.inf)
            best = max(best, (total, way))
        states = np.zeros(5, dtype=np.int64)
        found = kernels.align_free(n_states, logs, enter, scores, states)
        assert found == pytest.approx(best[0], rel=1e-12)
        assert tuple(states.tolist()) == best[1]


def test_the_match_is_the_best_of_all(kernels):
    """Places of segments: each stays or goes on by one to three units; those between are skipped."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        units, scores = rng.integers(0, 3, 4), -3 * rng.random((4, 3)).astype(np.float32)
        extra, skip = (-2 * rng.random(4)).astype(np.float32), -1.0

        def value(way, units=units, scores=scores, extra=extra, skip=skip):
            total, before = 0.0, 0
            for n, place in enumerate(way):
                step, own = place - before, scores[n, units[place - 1]] if place else -np.inf
                total += max(own, extra[n]) if step == 0 else own + (step - 1) * skip if 1 <= step <= 3 else -np.inf
                before = place
            return total + skip * (len(units) - before)

        places = np.zeros(4, dtype=np.int64)
        kernels.align_match(units, scores, extra, skip, places)
        best = max(value(way) for way in itertools.product(range(5), repeat=4))
        assert value(places.tolist()) == pytest.approx(best, rel=1e-5)
        assert (np.diff(places) >= 0).all()


@pytest.mark.parametrize(("n_segments", "n_places"), [(1, 1), (7, 3), (3, 40), (90, 70), (0, 5)])
def test_the_two_kinds_of_kernels_agree(n_segments, n_places):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    rng = np.random.default_rng(n_segments)
    units, scores = rng.integers(0, 6, n_places), -4 * rng.random((n_segments, 6)).astype(np.float32)
    scores[:, 2] = -0.5  # equal ways
    extra = np.full(n_segments, -0.5, dtype=np.float32)
    found = [np.zeros(n_segments, dtype=np.int64) for _ in range(2)]
    for one, places in zip((plain, compiled), found, strict=True):
        one.align_match(units, scores, extra, -1.0, places)
    assert found[0].tolist() == found[1].tolist()
    logs = np.log(np.tile([0.8, 0.2], (6, 1)))
    frames = np.round(rng.normal(size=(n_segments, 6)), 1)  # equal ways here too
    states = [np.zeros(n_segments, dtype=np.int64) for _ in range(2)]
    levels = [one.align_free(3, logs, -1.0, frames, own) for one, own in zip((plain, compiled), states, strict=True)]
    assert levels[0] == pytest.approx(levels[1], rel=1e-12)
    assert states[0].tolist() == states[1].tolist()


# ---- bands ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, said, _ = corpus(15, seed=3, pause=0.4)
    return hs.TranscriptAligner(1, silence="sil", random_state=0).fit(X, said)


def long(n_words=150, seed=0, quiet=0):
    """Return a recording, its transcript, and the frames at which words begin; `quiet` frames come first."""
    rng = np.random.default_rng(seed)
    said = [str(word) for word in rng.choice(["a", "b", "c"], n_words)]
    said = [word for i, word in enumerate(said) if i == 0 or word != said[i - 1]]
    frames, ends = spoken(said, rng)
    silent = np.array(CENTRES["sil"]) + 0.6 * rng.normal(size=(quiet, 2))
    return np.concatenate([silent, frames]), said, [quiet + first for first, _ in ends]


def banded(model, frames, said, monkeypatch, reach, **how):
    """Return the alignment with a band of so many segments on both sides."""
    monkeypatch.setattr(bands, "LONG", 0)
    monkeypatch.setattr(bands, "REACH", reach)
    [found] = model.align([frames], [said], **how)
    monkeypatch.undo()
    return found


def test_a_band_of_everything_is_no_band(fitted, monkeypatch):
    frames, said, _ = long()
    [free] = fitted.align([frames], [said])
    assert free.band is None
    found = banded(fitted, frames, said, monkeypatch, 10**6)
    assert found.band == (found.band.n_nodes, found.band.n_nodes, 0)
    assert found.to_dict() == free.to_dict()
    assert found.states == free.states


@pytest.mark.parametrize("reach", [1, 4, 12])
def test_a_narrow_band_is_widened_to_the_path_without_one(fitted, monkeypatch, reach):
    frames, said, _ = long()
    [free] = fitted.align([frames], [said])
    found = banded(fitted, frames, said, monkeypatch, reach)
    assert [part[:3] for part in found.states] == [part[:3] for part in free.states]
    assert found.log_probability == pytest.approx(free.log_probability, rel=1e-12)
    assert found.loglik == pytest.approx(free.loglik, rel=1e-9)
    assert found.band.width < found.band.n_nodes / 2
    again = banded(fitted, frames, said, monkeypatch, reach)
    assert (again.to_dict(), again.band) == (found.to_dict(), found.band)


def test_a_coarse_pass_that_is_wrong_costs_time_and_nothing_else(fitted, monkeypatch):
    """All words at the end of the recording: the band is widened until the path is inside."""
    frames, said, _ = long(60)
    [free] = fitted.align([frames], [said])
    right = bands.coarse

    def wrong(lexicon, words, moves, scored):
        found = right(lexicon, words, moves, scored)
        word = np.zeros_like(found.word)
        word[-1] = len(words) - 1
        return bands.Coarse(found.segment, word, found.n_words)

    monkeypatch.setattr(bands, "coarse", wrong)
    found = banded(fitted, frames, said, monkeypatch, 2)
    assert [part[:3] for part in found.states] == [part[:3] for part in free.states]
    assert found.band.widened > 0


def test_silence_or_something_else_before_the_first_word_does_no_harm(fitted, monkeypatch):
    frames, said, starts = long(80, quiet=3000)
    found = banded(fitted, frames, said, monkeypatch, 10)
    assert [round(part.start) for part in found.words[1:-1]] == pytest.approx(starts[1:-1], abs=2)
    rng = np.random.default_rng(1)
    music = np.array([2.0, 12.0]) + rng.normal(size=(600, 2))
    loud = np.concatenate([music, frames[3000:]])
    found = banded(fitted, loud, said, monkeypatch, 10)
    assert [round(part.start) for part in found.words[1:-1]] == pytest.approx(
        [start - 2400 for start in starts[1:-1]], abs=2
    )


@pytest.mark.parametrize("shown", [slice(0, 3), slice(0, 20), slice(60, 80)], ids=str)
def test_a_transcript_of_a_small_part_does_not_fit_and_all_its_words_are_placed(fitted, monkeypatch, shown):
    frames, said, _ = long(80)
    [free] = fitted.align([frames], [said[shown]])
    found = banded(fitted, frames, said[shown], monkeypatch, 6)
    assert [part.name for part in found.words] == said[shown]
    assert found.log_probability <= free.log_probability * (1 - 1e-12)
    assert found.surprise > 5


def test_a_transcript_of_more_than_was_said_does_not_fit(fitted, monkeypatch):
    frames, said, starts = long(80)
    found = banded(fitted, frames[: starts[20]], said, monkeypatch, 6)
    assert [part.name for part in found.words] == said
    assert found.surprise > 5
    with pytest.raises(DataError, match="frames for"):
        fitted.align([frames[:20]], [said])


def test_an_empty_transcript_of_a_long_recording_needs_no_band(fitted, monkeypatch):
    silent = np.array(CENTRES["sil"]) + 0.1 * np.random.default_rng(0).normal(size=(500, 2))
    found = banded(fitted, silent, "", monkeypatch, 5)
    assert (found.words, found.band) == ((), None)


def test_pronunciations_are_chosen_within_a_band_as_without_one(monkeypatch):
    rng, X, said = np.random.default_rng(5), [], []
    for i in range(30):
        X.append(spoken([*(["a", "b"] if i % 3 else ["c"]), "b", "a"], rng)[0])
        said.append("x y")
    model = hs.TranscriptAligner(1, dictionary={"x": [["a", "b"], ["c"]], "y": "b a"}).fit(X, said)
    frames, words = np.concatenate(X), ["x", "y"] * 30
    [free] = model.align([frames], [words])
    found = banded(model, frames, words, monkeypatch, 8)
    assert [part[:3] for part in found.units] == [part[:3] for part in free.units]
    for one, other in zip(found.units, free.units, strict=True):
        assert one.start_sd == pytest.approx(other.start_sd, abs=1e-5)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-5)


def test_scores_that_do_not_fit_into_memory_are_computed_as_they_are_needed(fitted, monkeypatch):
    frames, said, _ = long(60)
    [free] = fitted.align([frames], [said])
    monkeypatch.setattr(aligner, "IN_MEMORY", 1)
    monkeypatch.setattr("halfseen.structures.transcript_passes.CELLS", 1)
    [again] = fitted.align([frames], [said])
    assert [part[:3] for part in again.states] == [part[:3] for part in free.states]
    assert again.loglik == pytest.approx(free.loglik, rel=1e-10)


def test_words_beside_and_bands_of_nodes():
    layout = Lexicon(("a", "b", "sil"), 1, "sil").layout(["a", "b", "a"])
    words = bands.Words(np.array([0, 0, 1]), np.array([0, 1, 2]))
    names = [layout.pieces[layout.piece_of[node]].unit for node in range(layout.graph.n_nodes)]
    assert names == [2, 0, 2, 1, 2, 0, 2]  # pauses are 2
    assert words.nodes(layout).tolist() == [[0, 3], [0, 5], [2, 7]]
