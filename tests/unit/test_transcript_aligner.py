"""Transcripts found in signals: recovery, modes, pauses, pronunciations, growth, errors, streaming, files."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import halfseen as hs
from halfseen.data import read
from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.certainty import HEARD
from halfseen.families.transcript.chunks import TranscriptSteps
from halfseen.structures.transcript import best, posterior

CENTRES = {"a": [0.0, 0.0], "b": [4.0, 0.0], "c": [0.0, 4.0], "sil": [-5.0, -5.0]}


def spoken(said, rng, spread=0.6, low=3, high=9):
    """Return frames of units one after the other, and where each begins and ends."""
    frames, ends = [], [0]
    for unit in said:
        n = int(rng.integers(low, high))
        frames.append(np.array(CENTRES[unit]) + spread * rng.normal(size=(n, 2)))
        ends.append(ends[-1] + n)
    return np.concatenate(frames), list(itertools.pairwise(ends))


def corpus(n=12, seed=0, pause=0.0, **how):
    """Return utterances, transcripts and the truth; `pause` is the chance of a silence before each unit."""
    rng, X, said, truth = np.random.default_rng(seed), [], [], []
    for _ in range(n):
        words = [str(word) for word in rng.choice(["a", "b", "c"], rng.integers(2, 6))]
        words = [word for i, word in enumerate(words) if i == 0 or word != words[i - 1]]
        units = [unit for word in words for unit in (["sil", word] if rng.random() < pause else [word])]
        frames, ends = spoken(units, rng, **how)
        X.append(frames)
        said.append(" ".join(words))
        truth.append([end for unit, end in zip(units, ends, strict=True) if unit != "sil"])
    return X, said, truth


def off(found, truth):
    """Return the distance of all starts from the truth, in frames."""
    return np.array([
        abs(part.start / 1.0 - first)
        for one, ends in zip(found, truth, strict=True)
        for part, (first, _) in zip(one.words, ends, strict=True)
    ])  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return corpus()


@pytest.fixture(scope="module")
def fitted(data):
    X, said, _ = data
    return hs.TranscriptAligner(1, random_state=0).fit(X, said)


@pytest.mark.parametrize(
    "how", [{}, {"init": "equal"}, {"assign": "hard"}, {"assign": "sample", "max_iter": 40}], ids=str
)
def test_timing_is_found_from_nothing_but_the_order(data, how):
    X, said, truth = data
    model = hs.TranscriptAligner(1, random_state=0, **how).fit(X, said)
    found = model.align(X, said)
    assert (off(found, truth) <= 1).mean() > 0.97
    for k, unit in enumerate(model.units_):
        np.testing.assert_allclose(model.means_[k, 0, 0], CENTRES[unit], atol=0.25)
    assert model.score(X, said) == pytest.approx(model.loglik_, rel=1e-10)


def test_segments_tile_the_utterance_and_add_up(data, fitted):
    X, said, _ = data
    for found, frames, words in zip(fitted.align(X, said), X, said, strict=True):
        assert [part.name for part in found.words] == words.split()
        for level in ("words", "units", "states"):
            parts = found.tier(level)
            assert parts[0].start == 0
            assert parts[-1].end == found.duration == len(frames)
            assert all(one.end == other.start for one, other in itertools.pairwise(parts))
            assert sum(part.log_probability for part in parts) == pytest.approx(found.log_probability, rel=1e-10)
            assert all(0 < part.confidence <= 1 for part in parts)
        assert found.log_probability <= found.loglik


def test_confidence_and_spread_equal_enumeration():
    """Posterior of every frame, and standard deviation of every boundary, over all segmentations."""
    X, said, _ = corpus(6, spread=3.0)
    model = hs.TranscriptAligner(1, max_iter=3, stop="iterations").fit(X, said)
    frames, words = X[0][:9], "a b c"
    [found] = model.align([frames], [words])
    layout = model._lexicon.layout(words.split())
    prepared = model._model.prepare(model._params)
    blocks = model._schema.encode(read(frames)).blocks
    scores = model._model.leaves["emit"].score(
        prepared["emit"], TranscriptSteps(blocks, np.array([9]), [layout.graph]), None
    )
    moves, cuts, logs = prepared["moves"][0], [], []
    number = [model.units_.index(unit) for unit in "abc"]
    for one, two in itertools.combinations(range(1, 9), 2):
        place = np.repeat([0, 1, 2], [one, two - one, 9 - two])
        at = np.array(number)[place]
        total = scores[np.arange(9), at].sum() + sum(moves[2 * k + 1] for k in number)
        total += sum(moves[2 * number[p]] * (np.count_nonzero(place == p) - 1) for p in range(3))
        cuts.append((one, two))
        logs.append(total)
    share = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    cuts = np.array(cuts)
    sd = np.sqrt(share @ cuts**2 - (share @ cuts) ** 2)
    assert found.loglik == pytest.approx(np.logaddexp.reduce(logs), rel=1e-10)
    assert found.log_probability == pytest.approx(max(logs), rel=1e-10)
    assert [part.start for part in found.words[1:]] == cuts[int(np.argmax(logs))].tolist()
    np.testing.assert_allclose([part.start_sd for part in found.words], [0, *sd], atol=1e-6)
    np.testing.assert_allclose([part.end_sd for part in found.words], [*sd, 0], atol=1e-6)
    for part, low, high in zip(found.words, [0, *cuts[np.argmax(logs)]], [*cuts[np.argmax(logs)], 9], strict=True):
        place = np.stack([np.repeat([0, 1, 2], [a, b - a, 9 - b]) for a, b in cuts])
        at = "abc".index(part.name)
        expected = np.mean([share @ (place[:, t] == at) for t in range(low, high)])
        assert part.confidence == pytest.approx(expected, rel=1e-9)


def test_pauses_are_found_where_they_are_and_nowhere_else():
    X, said, truth = corpus(15, seed=3, pause=0.4)
    model = hs.TranscriptAligner(2, silence="sil", random_state=0).fit(X, said)
    found = model.align(X, said)
    assert (off(found, truth) <= 1).mean() > 0.95
    pauses = [part for one in found for part in one.units if part.word < 0]
    assert {part.name for part in pauses} == {"sil"}
    assert len(pauses) == sum(sum(a[1] != b[0] for a, b in itertools.pairwise([(0, 0), *ends])) for ends in truth)


def test_the_share_of_each_pronunciation_is_learned():
    rng, X, said = np.random.default_rng(5), [], []
    for i in range(30):
        way = ["a", "b"] if i % 3 else ["c"]  # "x" is said "a b" in two of three
        X.append(spoken([*way, "b", "a"], rng)[0])
        said.append("x y")
    model = hs.TranscriptAligner(1, dictionary={"x": [["a", "b"], ["c"]], "y": "b a"}).fit(X, said)
    shares = model.pronunciations_["x"]
    assert shares["a b"] == pytest.approx(2 / 3, abs=0.02)
    found = model.align(X, said)
    heard = [" ".join(part.name for part in one.units if part.word == 0) for one in found]
    assert heard == ["a b" if i % 3 else "c" for i in range(30)]
    assert all([part.name for part in one.words] == ["x", "y"] for one in found)
    assert "x: a b 67%, c 33%" in model.describe()


def test_words_outside_the_dictionary_stand_for_the_unknown_unit():
    rng = np.random.default_rng(0)
    X = [spoken(["a", "c", "b"], rng)[0] for _ in range(8)]
    said = [f"alpha {word} beta" for word in ["um", "er"] * 4]
    model = hs.TranscriptAligner(1, dictionary={"alpha": "a", "beta": "b"}, unknown="spn").fit(X, said)
    assert model.units_ == ("a", "b", "spn")
    [found] = model.align(X[:1], ["alpha never-heard beta"])
    assert [part.name for part in found.units] == ["a", "spn", "b"]


def test_growing_raises_the_likelihood_and_says_how():
    rng, X, said = np.random.default_rng(2), [], []
    for _ in range(10):
        frames, _ = spoken(["a", "b", "a"], rng, low=5)
        frames[::2] += 2.5  # every unit has two kinds of frames
        X.append(frames)
        said.append("a b a")
    models = [hs.TranscriptAligner(1, n_mix, tol=0.1, random_state=0).fit(X, said) for n_mix in (1, 2, 3)]
    assert [stage["n_mix"] for stage in models[2].stages_] == [1, 2, 3]
    assert models[0].loglik_ < models[1].loglik_ - 10
    assert models[2].loglik_ > models[1].loglik_ - 1
    assert models[1].means_.shape == (2, 1, 2, 2)


def test_categories_and_holes():
    """Activities behind categories; every third cell is missing."""
    rng, X, said = np.random.default_rng(0), [], []
    for _ in range(20):
        cells = np.concatenate([rng.choice(["on", "off"], 6, p=p) for p in ([0.9, 0.1], [0.1, 0.9])]).astype(object)
        cells[1::3] = None
        X.append(cells.reshape(-1, 1))
        said.append(["run", "rest"])
    model = hs.TranscriptAligner(1, emission="categorical").fit(X, said)
    starts = [one.words[1].start for one in model.align(X, said)]
    assert np.median(starts) == 6


def test_a_table_with_groups_and_times_is_the_list_of_its_utterances(data, fitted):
    X, said, _ = data
    table = pd.DataFrame(np.concatenate(X), columns=["p", "q"])
    table["run"] = np.repeat([f"r{b}" for b in range(len(X))], [len(x) for x in X])
    table["t"] = np.concatenate([np.arange(len(x)) for x in X])
    shuffled = table.sample(frac=1.0, random_state=0)
    order = list(dict.fromkeys(shuffled["run"]))
    by_name = {f"r{b}": words for b, words in enumerate(said)}
    model = hs.TranscriptAligner(1, random_state=0).fit(shuffled, by_name, groups="run", time="t")
    assert model.loglik_ == pytest.approx(fitted.loglik_, rel=1e-9)
    found = {one.name: one for one in model.align(shuffled, by_name)}
    assert [part.start for part in found[f"utterance {order.index('r0')} (r0)"].words] == [
        part.start for part in fitted.align(X[:1], said[:1])[0].words
    ]
    assert list(model.to_frame(list(found.values())).columns)[:3] == ["utterance", "name", "start"]


class Made:
    """A sequence that makes its items, and counts."""

    def __init__(self, X):
        self.X, self.n_made = X, 0

    def __len__(self):
        return len(self.X)

    def __getitem__(self, b):
        self.n_made += 1
        return self.X[b].copy()


def test_a_sequence_that_makes_its_items_gives_the_same_model(data, fitted):
    X, said, _ = data
    made = Made(X)
    model = hs.TranscriptAligner(1, random_state=0).fit(made, said)
    assert made.n_made >= model.n_iter_ * len(X)
    assert model.loglik_ == pytest.approx(fitted.loglik_, rel=1e-8)
    one, other = model.align(made, said), fitted.align(X, said)
    assert [part.start for a in one for part in a.words] == [part.start for a in other for part in a.words]


def test_any_number_of_workers_gives_the_same_bits(data):
    X, said, _ = data
    for assign in ("soft", "sample"):
        how = {"assign": assign, "max_iter": 5, "stop": "iterations", "random_state": 3}
        one, other = (hs.TranscriptAligner(2, 2, n_jobs=n, **how).fit(Made(X), said) for n in (1, 3))
        assert one.trace_ == other.trace_
        assert one.means_.tobytes() == other.means_.tobytes()


def test_weights_count_utterances(data):
    X, said, _ = data
    how = {"max_iter": 5, "stop": "iterations"}
    one = hs.TranscriptAligner(1, **how).fit(X[:3], said[:3], sample_weight=[2, 0, 1])
    other = hs.TranscriptAligner(1, **how).fit([X[0], X[0], X[2]], [said[0], said[0], said[2]])
    np.testing.assert_allclose(one.means_[[one.units_.index(u) for u in other.units_]], other.means_, rtol=1e-8)


def test_examples_of_units_are_where_a_fit_begins(data):
    X, said, _ = data
    around = np.array([[-0.5, 0.5], [0.5, 0.0], [0.0, -0.5]])
    shown = {unit: np.array(CENTRES[unit]) + around for unit in "abc"}
    model = hs.TranscriptAligner(1, max_iter=1, stop="iterations", start=shown).fit(X, said)
    for k, unit in enumerate(model.units_):
        np.testing.assert_allclose(model.means_[k, 0, 0], CENTRES[unit], atol=1e-12)
    with pytest.raises(ParameterError, match="start: there is no unit 'z'"):
        hs.TranscriptAligner(1, start={"z": X[0]}).fit(X, said)


def test_annealing_warms_up_and_is_refused_where_it_cannot(data):
    X, said, truth = data
    model = hs.TranscriptAligner(1, anneal=(0.1, 0.4), random_state=0).fit(X, said)
    assert model.n_iter_ > 20
    assert (off(model.align(X, said), truth) <= 1).mean() > 0.97
    with pytest.raises(ParameterError, match="no meaning with assign='hard'"):
        hs.TranscriptAligner(assign="hard", anneal=(0.5,)).fit(X, said)


# ---- what goes wrong ------------------------------------------------------------------------------------------------


def test_units_that_were_never_seen_are_named(data, fitted):
    X, _, _ = data
    with pytest.raises(DataError, match=r"2 words are not seen in training: 'zz' \(utterance 0\), 'y' \(utterance 1\)"):
        fitted.align(X[:2], ["a zz", "y b"])


def test_words_without_a_pronunciation_are_named(data):
    X, said, _ = data
    with pytest.raises(DataError, match=r"1 word is not in the dictionary: 'c' \(utterance \d+\).*unknown="):
        hs.TranscriptAligner(dictionary={"a": "x y", "b": "z"}).fit(X, said)


def test_too_few_frames_are_told_with_their_place(data):
    X, said, _ = data
    short = [*X, X[0][:4]]
    with pytest.raises(DataError, match=r"utterance 12 has 4 frames for 6 states"):
        hs.TranscriptAligner(3).fit(short, [*said, "a b"])
    model = hs.TranscriptAligner(3, too_short="skip", max_iter=2, stop="iterations").fit(short, [*said, "a b"])
    assert "left out: utterance 12 has 4 frames for 6 states" in model.events_[0]
    assert model.align([X[0][:4]], ["a b"]) == [None]
    assert model.score_samples([X[0][:4]], ["a b"]).tolist() == [-np.inf]


def test_an_utterance_that_fits_badly_is_reported_with_its_place():
    X, said, _ = corpus(25, low=4)
    X[7] = X[7] + 15.0
    names = [f"u{b}.wav" for b in range(25)]
    model = hs.TranscriptAligner(1).fit(X, said, names=names)
    [event] = [event for event in model.events_ if "fits badly" in event]
    assert "utterance 7 (u7.wav) fits badly" in event
    assert "worst at" in event
    assert model.align(X, said, names=names)[7].surprise > 5
    assert not hs.TranscriptAligner(1).fit(X[2:9], said[2:9]).events_  # seven do not tell what is usual


def test_silence_alone_and_empty_transcripts(data):
    X, said, _ = data
    quiet = np.full((5, 2), -5.0) + np.random.default_rng(0).normal(size=(5, 2)) / 5
    with pytest.raises(DataError, match=r"utterance 12 has an empty transcript"):
        hs.TranscriptAligner(1).fit([*X, quiet], [*said, ""])
    model = hs.TranscriptAligner(1, silence="sil").fit([*X, quiet], [*said, ""])
    [found] = model.align([quiet], [""])
    assert found.words == ()
    assert [(part.name, part.start, part.end) for part in found.units] == [("sil", 0.0, 5.0)]


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"states_per_unit": 0}, "states_per_unit=0"),
        ({"n_mix": 1.5}, "n_mix=1.5"),
        ({"init": "even"}, "init='even'"),
        ({"step": 0}, "step=0"),
        ({"silence": "long pause"}, "silence='long pause'"),
        ({"unknown": "spn"}, "give dictionary= too"),
        ({"too_short": "cut"}, "too_short='cut'"),
        ({"assign": "firm"}, "assign='firm'"),
    ],
)
def test_options_that_make_no_sense_are_refused(data, how, match):
    X, said, _ = data
    with pytest.raises(ParameterError, match=match):
        hs.TranscriptAligner(**how).fit(X, said)


def test_transcripts_and_utterances_must_agree_in_number(data):
    X, said, _ = data
    with pytest.raises(DataError, match="12 utterances, but there are 11 transcripts"):
        hs.TranscriptAligner().fit(X, said[1:])
    with pytest.raises(DataError, match="1 of 2 utterances have no transcript: 'q'"):
        hs.TranscriptAligner().fit(X[:2], {"p": "a"}, names=["p", "q"])


def test_a_capped_fit_warns_and_an_unfitted_one_says_so(data):
    X, said, _ = data
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        hs.TranscriptAligner(1, max_iter=2).fit(X, said)
    with pytest.raises(NotFittedError):
        hs.TranscriptAligner().align(X, said)


# ---- beside others --------------------------------------------------------------------------------------------------


def test_options_can_be_read_and_cloned():
    model = hs.TranscriptAligner(2, 4, silence="sil", dictionary={"a": "b"}, step=0.01)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    "how", [{}, {"n_mix": 2, "silence": "sil"}, {"dictionary": {"a": [["a", "b"], ["b"]], "b": "b", "c": "c"}}]
)
def test_a_model_file_gives_the_same_model_back(data, tmp_path, how):
    X, said, _ = data
    model = hs.TranscriptAligner(1, max_iter=5, stop="iterations", random_state=0, **how).fit(X, said)
    hs.save(model, tmp_path / "m.halfseen")
    again = hs.load(tmp_path / "m.halfseen")
    assert [one.to_dict() for one in again.align(X, said)] == [one.to_dict() for one in model.align(X, said)]
    assert (again.loglik_, again.units_, again.events_) == (model.loglik_, model.units_, model.events_)
    assert again.describe() == model.describe()
    hs.save(again, tmp_path / "n.halfseen")
    assert (tmp_path / "m.halfseen").read_bytes() == (tmp_path / "n.halfseen").read_bytes()


def test_an_empty_transcript_is_told_where_silence_has_no_unit(data, fitted):
    X, _, _ = data
    with pytest.raises(DataError, match=r"utterance 1 has an empty transcript.*fit with silence="):
        fitted.align(X[:2], ["a b", ""])
    with pytest.raises(DataError, match=r"utterance 0 has an empty transcript.*name a unit"):
        hs.TranscriptAligner(1).fit(X[:1], [""])


def test_transcripts_may_be_of_unknown_words_alone(data):
    X, _, _ = data
    model = hs.TranscriptAligner(1, dictionary={"never": "a b"}, unknown="spn", max_iter=2, stop="iterations")
    [found] = model.fit(X, ["what ever"] * len(X)).align(X[:1], ["who knows"])
    assert [part.name for part in found.units] == ["spn", "spn"]
    assert [part.name for part in found.words] == ["who", "knows"]


def test_a_word_keeps_the_pronunciations_whose_units_were_heard(data):
    X, _, _ = data
    ways = {"x": "a", "y": "b", "z": ["b a", "b q"], "w": "q"}
    model = hs.TranscriptAligner(1, dictionary=ways, max_iter=2, stop="iterations").fit(X, ["x y"] * len(X))
    [found] = model.align(X[:1], ["x z"])
    assert [part.name for part in found.units] == ["a", "b", "a"]
    with pytest.raises(DataError, match="1 word is not seen in training: 'w'"):
        model.align(X[:1], ["x w"])


def test_the_first_utterance_may_be_a_single_frame_or_all_alike(data, fitted):
    X, _, _ = data
    how = {"max_iter": 2, "stop": "iterations"}
    for first in (X[0][:1], np.repeat(X[0][:1], 4, axis=0)):
        said = ["a", *(["a b"] * 9)]
        lazy = hs.TranscriptAligner(1, **how).fit(Made([first, *X[1:10]]), said)
        listed = hs.TranscriptAligner(1, **how).fit([first, *X[1:10]], said)
        assert lazy.loglik_ == pytest.approx(listed.loglik_, rel=1e-9)
    with pytest.raises(ParameterError, match="of a lazy sequence must be gaussian"):
        hs.TranscriptAligner(1, columns={"x0": "categorical"}).fit(Made(X), ["a"] * len(X))


@pytest.mark.parametrize(
    ("features", "said", "match"),
    [
        ({"one": np.zeros((4, 2))}, {"one": "a"}, "a list of its values, and its keys as names="),
        ([], [], "no utterance"),
        ([np.zeros((4, 2))], [["a", None]], "utterance 0.*an item that is not a name"),
        ([np.zeros((4, 2))], [[0.5]], "an item that is not a name"),
    ],
)
def test_what_is_no_utterance_or_transcript_is_told(features, said, match):
    with pytest.raises(DataError, match=match):
        hs.TranscriptAligner(1).fit(features, said)


def test_examples_without_frames_are_told(data):
    X, said, _ = data
    with pytest.raises(ParameterError, match="no frames of 'a'"):
        hs.TranscriptAligner(1, start={"a": X[0][:0]}).fit(X, said)


def test_an_utterance_longer_than_memory_is_computed_in_blocks(data, fitted, monkeypatch):
    X, said, _ = data
    before = fitted.align(X, said)
    monkeypatch.setattr("halfseen.structures.transcript_passes.CELLS", 1)
    for one, other in zip(before, fitted.align(X, said), strict=True):
        assert [part.start for part in one.words] == [part.start for part in other.words]
        assert one.loglik == pytest.approx(other.loglik, rel=1e-12)


def test_best_and_posterior_work_on_a_graph_alone(fitted):
    graph = fitted._lexicon.layout(["a", "b"]).graph
    moves, scores = np.log(np.full(6, 0.5)), np.array([[0.0, -9, -9], [-9, 0, -9], [-9, 0, -9]])
    assert best(graph, moves, scores).nodes.tolist() == [0, 1, 1]
    held = posterior(graph, moves, scores, np.array([[[0, 1]] * 3]))
    assert held.held[0].round(3).tolist() == [1.0, 0.0, 0.0]


def test_a_fit_from_nothing_is_annealed_the_same_way_with_any_seed():
    rng = np.random.default_rng(0)
    X = [np.concatenate([rng.normal(m, 1, size=(8, 2)) for m in (0, 3, 6)]) for _ in range(6)]
    said = ["a b c"] * 6
    models = [hs.TranscriptAligner(2, random_state=seed).fit(X, said) for seed in (0, 1)]
    np.testing.assert_array_equal(models[0].means_, models[1].means_)
    assert models[0].n_iter_ > 30
    for how in ({"init": "equal"}, {"start": {"a": X[0][:8]}}, {"max_iter": 50}):
        auto, cold = (hs.TranscriptAligner(2, anneal=anneal, **how).fit(X, said) for anneal in ("auto", ()))
        assert auto.n_iter_ == cold.n_iter_, how
    with pytest.raises(ParameterError, match="anneal='warm'"):
        hs.TranscriptAligner(2, anneal="warm").fit(X, said)


def test_recordings_and_models_have_the_same_frames():
    class Spoken(list):
        step = 0.005

    rng = np.random.default_rng(0)
    X = Spoken(np.concatenate([rng.normal(m, 1, size=(8, 2)) for m in (0, 30)]) for _ in range(6))
    with pytest.raises(ParameterError, match=r"every 0\.005 s.*step=corpus\.step"):
        hs.TranscriptAligner(1, step=0.01).fit(X, ["a b"] * 6)
    [one, *_] = hs.TranscriptAligner(1, step=0.005).fit(X, ["a b"] * 6).align(X, ["a b"] * 6)
    assert one.words[1].start_sd == pytest.approx(np.hypot(HEARD, 0.005 / 12**0.5))  # the posterior is sure


def test_too_little_data_says_what_helps():
    X = [np.concatenate([np.zeros((4, 1)), np.full((4, 1), 9.0)]) for _ in range(3)]
    model = hs.TranscriptAligner(2, variance_floor=0.01).fit(X, ["a b"] * 3)
    assert any(
        word in event
        for event in model.events_
        for word in ("more recordings in which they occur, or fewer states (states_per_unit=1)",)
    )
