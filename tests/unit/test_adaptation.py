"""Transforms of features by speaker: M-steps against optimisers, EM that climbs, recovery, what alignments say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript import adaptation
from halfseen.families.transcript.reestimation import reestimate
from halfseen.leaves.transforms import KINDS, Transform, gather, maximise, pseudo
from halfseen.sums import serial
from tests.app.test_command_line import halfseen
from tests.sounds import WORDS
from tests.sounds import corpus as sounds
from tests.strategies import examples
from tests.unit.test_transcript_aligner import corpus, off

TURN = np.array([[0.6, -0.5], [0.4, 0.8]])


def rows(rng, n=60, n_columns=3, n_densities=4):
    """Return rows drawn from densities and then transformed, with responsibilities, and their precision and pull."""
    mean, var = rng.normal(size=(n_densities, n_columns)), rng.uniform(0.3, 2.0, (n_densities, n_columns))
    resp = rng.dirichlet(np.full(n_densities, 0.1), n)
    x = resp @ mean + np.sqrt(resp @ var) * rng.normal(size=(n, n_columns))
    x = x @ (np.eye(n_columns) + 0.3 * rng.normal(size=(n_columns, n_columns))) + rng.normal(size=n_columns)
    return x, resp, mean, var, (resp @ (1 / var), resp @ (mean / var))


def packed(transform):
    if transform.kind == "full":
        return np.concatenate([transform.matrix.ravel(), transform.offset])
    scale = [] if transform.kind == "mean" else np.diag(transform.matrix)
    return np.concatenate([scale, transform.offset])


def unpacked(vector, like):
    n = len(like.offset)
    scale = vector[:-n]
    matrix = {"full": lambda: scale.reshape(n, n), "diagonal": lambda: np.diag(scale), "mean": lambda: np.eye(n)}
    return like._replace(matrix=matrix[like.kind](), offset=vector[-n:])


def settled(moments, transform):
    for _ in range(200):
        transform = maximise(moments, transform)
    return transform


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_the_expected_log_likelihood_of_the_rows(kind):
    rng = np.random.default_rng(0)
    x, resp, mean, var, pulls = rows(rng)
    moments, none = gather(kind, x, *pulls), Transform.identity(kind, np.zeros(3))

    def expected(transform):
        y = transform(x)
        logs = -0.5 * ((y[:, None] - mean) ** 2 / var + np.log(2 * np.pi * var)).sum(axis=2)
        return (resp * logs).sum() + len(x) * np.linalg.slogdet(transform.matrix)[1]

    other = unpacked(packed(none) + 0.2 * rng.normal(size=len(packed(none))), none)
    found = moments.value(other) - moments.value(none)
    assert found == pytest.approx(expected(other) - expected(none), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_m_step_is_as_good_as_an_optimiser(kind, seed):
    rng = np.random.default_rng(seed)
    x, *_, pulls = rows(rng)
    moments, none = gather(kind, x, *pulls), Transform.identity(kind, np.zeros(3))
    found = settled(moments, none)
    slow = minimize(lambda vector: -moments.value(unpacked(vector, none)), packed(none), method="BFGS")
    assert moments.value(found) >= -slow.fun - 1e-6 * abs(slow.fun)
    slope = approx_fprime(packed(found), lambda vector: moments.value(unpacked(vector, none)), 1e-7)
    assert np.abs(slope).max() < 1e-3 * len(x)


@examples(20)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), size=st.integers(8, 40))
def test_no_m_step_lowers_the_value(seed, kind, size):
    rng = np.random.default_rng(seed)
    x, *_, pulls = rows(rng, size)
    moments, transform = gather(kind, x, *pulls), Transform.identity(kind, np.zeros(3))
    for _ in range(5):
        before, transform = moments.value(transform), maximise(moments, transform)
        assert moments.value(transform) >= before - 1e-9 * max(1.0, abs(before))


@pytest.mark.parametrize("kind", KINDS)
def test_moments_add(kind):
    x, *_, (precision, pull) = rows(np.random.default_rng(1))
    whole = gather(kind, x, precision, pull)
    parts = [gather(kind, x[at], precision[at], pull[at]) for at in (slice(0, 13), slice(13, 60))]
    for one, other in zip(whole, parts[0] + parts[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_prior_is_what_rows_of_the_model_add_and_leaves_them_as_they_are(kind):
    rng = np.random.default_rng(2)
    weight, mean = np.array([3.0, 1.0]), rng.normal(size=(2, 2))
    var = rng.uniform(0.5, 2.0, (2, 2))
    prior, none = pseudo(kind, weight, mean, var), Transform.identity(kind, np.zeros(2))
    np.testing.assert_allclose(packed(maximise(prior, none)), packed(none), atol=1e-10)
    n = 200_000
    own = (rng.random(n) < 0.25).astype(int)
    x = mean[own] + np.sqrt(var[own]) * rng.normal(size=(n, 2))
    drawn = gather(kind, x, 1 / var[own], mean[own] / var[own])
    for one, other in zip(prior, drawn, strict=True):
        np.testing.assert_allclose(one, 4 / n * other, atol=0.1)


def test_a_transform_keeps_its_digits_far_from_zero():
    x = 1e9 + np.array([[-1.0], [0.0], [1.0]])
    moved = Transform("diagonal", np.diag([2.0]), np.array([1.0]), np.array([1e9]))(x)
    assert (moved - 1e9).ravel().tolist() == [-1.0, 1.0, 3.0]


# ---- transcripts -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    X, said, truth = corpus(16)
    return X, said, truth, hs.TranscriptAligner(1, random_state=0).fit(X, said)


def mixed():
    X, said, _ = corpus(16)
    return hs.TranscriptAligner(1, 2, random_state=0).fit(X, said)


def shared():
    """A model whose states share the densities of a codebook, in two streams."""
    means = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    weights = np.array([[[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]], [[0.1, 0.8, 0.1], [0.2, 0.6, 0.2]], [[0.1, 0.1, 0.8]] * 2])
    how = {"codebooks": np.zeros((3, 1), dtype=int), "streams": [1, 1]}
    return hs.TranscriptAligner.from_params(["a", "b", "c"], means[None], np.ones((1, 3, 2)), weights[:, None], **how)


@pytest.mark.parametrize("kind", KINDS)
def test_a_transform_of_the_features_is_undone(data, kind):
    X, said, truth, model = data
    change = {"mean": np.eye(2), "diagonal": np.diag([0.5, 1.5]), "full": TURN}[kind]
    others = [x @ change.T + [2.0, -1.5] for x in X]
    assert (off(model.align(others, said), truth) <= 1).mean() < 0.9
    found = model.adapt(others, said, speakers="one", kind=kind, prior=0.0, max_iter=100)["one"]
    np.testing.assert_allclose(found(np.concatenate(others)), np.concatenate(X), atol=0.15)
    assert (off(model.align(others, said, adapt={"one": found}, speakers="one"), truth) <= 1).mean() > 0.97
    assert found.kind == kind
    assert found.n_frames == sum(map(len, X))


@pytest.mark.parametrize("model", [None, mixed, shared], ids=["plain", "mixture", "shared"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_climbs_and_is_the_likelihood_of_the_recorded_features(data, model, kind):
    X, said, _, plain = data
    model = plain if model is None else model()
    others = [x @ TURN.T + 1.0 for x in X]
    found = model.adapt(others, said, speakers="one", kind=kind, prior=0.0, max_iter=8)["one"]
    trace = np.array(found.trace)
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()
    assert trace[0] == pytest.approx(model.score(others, said), rel=1e-10)
    logs = sum(np.linalg.slogdet(own.matrix)[1] for own in found.transforms)
    moved = model.score([found(x) for x in others], said)
    assert trace[-1] == pytest.approx(moved + found.n_frames * logs, rel=1e-9)


@pytest.mark.parametrize("model", [None, mixed, shared], ids=["plain", "mixture", "shared"])
def test_the_moments_are_the_slope_of_the_likelihood(data, model):
    """The gradient of the objective at the identity equals that of what the M-step maximises (Fisher's identity)."""
    X, said, _, plain = data
    model = plain if model is None else model()
    x, words = [X[0]], [said[0]]

    adapter = adaptation.Adapter(model._model, model._params, model._lexicon, model._frames)
    none = tuple(Transform.identity("diagonal", stream.centre) for stream in adapter.streams)
    centre = np.concatenate([stream.centre for stream in adapter.streams])

    def objective(vector):
        scale = 1 + vector[:2]
        return model.score([centre + (x[0] - centre) * scale + vector[2:]], words) + len(x[0]) * np.log(scale).sum()

    slow = approx_fprime(np.zeros(4), objective, 1e-6)
    read, layouts, _ = model._opened(x, words, None, None, None, None)
    [chunk] = read.chunks(model._schema, layouts, 10)
    found = adaptation._Task(adapter, read.names, layouts, none).expected(chunk)
    square, cross, mass = (np.concatenate([own[i] for own in found.moments]) for i in range(3))
    by_scale, by_offset = mass + cross[:, 0] - square[:, 0, 0], cross[:, 1] - square[:, 0, 1]
    np.testing.assert_allclose(slow, np.concatenate([by_scale, by_offset]), rtol=1e-4, atol=1e-3)


def test_the_prior_weighs_against_a_change(data):
    X, said, _, model = data
    others = [x + 3.0 for x in X[:2]]
    moves = [
        abs(model.adapt(others, said[:2], speakers="one", kind="mean", prior=prior)["one"].transforms[0].offset).sum()
        for prior in (0.0, 10.0, 100.0, 1e6)
    ]
    assert moves == sorted(moves, reverse=True)
    assert moves[0] > 3.0
    assert moves[-1] < 0.01


def test_each_speaker_is_estimated_alone_and_workers_change_no_bit(data):
    X, said, _, model = data
    of = ["anna", "ben"] * 8
    others = [x + (1.0 if speaker == "anna" else -1.0) for x, speaker in zip(X, of, strict=True)]
    together = model.adapt(others, said, speakers=of)
    alone = model.adapt(others[::2], said[::2], speakers="anna")
    several = hs.TranscriptAligner(1, random_state=0, n_jobs=2).fit(X, said).adapt(others, said, speakers=of)
    for found in (alone, several):
        assert found["anna"].trace == together["anna"].trace
        for one, other in zip(found["anna"].transforms, together["anna"].transforms, strict=True):
            np.testing.assert_array_equal(one.matrix, other.matrix)
            np.testing.assert_array_equal(one.offset, other.offset)
    assert list(together) == ["anna", "ben"]


def test_alignments_say_how_they_were_adapted(data):
    X, said, _, model = data
    others = [x @ TURN.T + 1.0 for x in X]
    plain, found = model.align(others, said), model.align(others, said, speakers="one")
    assert all(one.adapted is None for one in plain)
    assert {one.adapted.kind for one in found} == {"full"}
    assert found[0].adapted.gain > 0.1
    assert found[0].adapted.trace[-1] > found[0].adapted.trace[0] == pytest.approx(sum(one.loglik for one in plain))
    assert max(one.surprise for one in found) < 5 < min(one.surprise for one in plain)
    none = model.align(others, said, speakers="one", adapt="none")
    assert [one.loglik for one in none] == [one.loglik for one in plain]


def test_speakers_that_the_model_fits_stay_as_they_are(data):
    """Of two speakers only the stranger is transformed; a wrong transcript does not make one of the other."""
    X, said, truth, model = data
    seen = [*X[:8], *(x @ TURN.T + 1.0 for x in X[8:])]
    of = ["known"] * 8 + ["stranger"] * 8
    words = ["c a c a" if said[0].split()[0] != "c" else "b a b a", *said[1:]]
    found = model.align(seen, words, speakers=of)
    assert [one.adapted is None for one in found] == [speaker == "known" for speaker in of]
    none = model.align(seen, words, speakers=of, adapt="none")
    assert [one.surprise for one in found[:8]] == [one.surprise for one in none[:8]]
    assert found[0].surprise > 5
    assert np.median([one.surprise for one in found[8:]]) < np.median([one.surprise for one in none[8:]]) / 3
    assert (off(found[8:], truth[8:]) <= 1).mean() > 0.95
    alone = model.adapt(seen[8:], words[8:], speakers="stranger")["stranger"]
    assert_transforms_equal(found[-1].adapted, alone)
    assert all(one.adapted is not None for one in model.align(seen, words, speakers=of, adapt="full"))


def test_models_that_do_not_know_what_is_usual_transform_nothing_unasked(data):
    model = hs.TranscriptAligner.from_params(["a", "b"], [[[[0.0]]], [[[4.0]]]], [[[[1.0]]]] * 2)
    seen = [np.array([[9.0], [9.5], [14.0], [13.5]])]
    assert model.align(seen, ["a b"], speakers="one")[0].adapted is None
    assert model.align(seen, ["a b"], speakers="one", adapt="full")[0].adapted is not None


def test_a_wrong_transcript_is_still_a_surprise(data):
    X, said, _, model = data
    others = [x @ TURN.T + 1.0 for x in X]
    wrong = [*said[:-1], "c a c a" if said[-1].split()[0] != "c" else "b a b a"]
    found = model.align(others, wrong, speakers="one")
    assert found[-1].surprise > 5 > max(one.surprise for one in found[:-1])


def test_missing_values_leave_the_other_columns_and_refuse_a_full_transform(data):
    X, said, _, model = data
    others = [x * 0.5 + 2.0 for x in X]
    holes = [np.where(np.random.default_rng(0).random(x.shape) < 0.1, np.nan, x) for x in others]
    found = model.adapt(holes, said, speakers="one", prior=0.0, max_iter=50)["one"]
    assert found.kind == "diagonal"
    np.testing.assert_allclose(found(np.concatenate(others)), np.concatenate(X), atol=0.3)
    with pytest.raises(DataError, match="missing values, which a full transform cannot have"):
        model.adapt(holes, said, speakers="one", kind="full")


def test_long_recordings_are_adapted_along_their_best_path(data, monkeypatch):
    X, said, truth, model = data
    others = [x @ TURN.T + 1.0 for x in X]
    monkeypatch.setattr(adaptation, "LONG", 10)
    found = model.adapt(others, said, speakers="one", prior=0.0)["one"]
    assert found.trace[-1] > found.trace[0]
    assert (off(model.align(others, said, adapt={"one": found}, speakers="one"), truth) <= 1).mean() > 0.95


def test_words_that_may_be_left_out_do_not_stop_the_transform_of_their_speaker(data):
    """Utterances too short for all of their words are aligned under the transform of the others, or as they are."""
    X, said, _, model = data
    cut, more = X[0][:4], "a b c a b c"
    found = model.align([*X[1:4], cut], [*said[1:4], more], left_out=0.2, speakers="one", adapt="mean")
    others = model.adapt(X[1:4], said[1:4], speakers="one", kind="mean")["one"]
    for one in found:
        assert_transforms_equal(one.adapted, others)
    assert found[-1].left_out
    [alone] = model.align([cut], [more], left_out=0.2, speakers="one", adapt="mean")
    assert alone.adapted is None


def assert_transforms_equal(one, other):
    for own, its in zip(one.transforms, other.transforms, strict=True):
        np.testing.assert_array_equal(own.matrix, its.matrix)
        np.testing.assert_array_equal(own.offset, its.offset)


def test_what_cannot_be_done_is_said(data):
    X, said, _, model = data
    with pytest.raises(ParameterError, match="speakers: 2 for 16 utterances"):
        model.adapt(X, said, speakers=["anna", "ben"])
    with pytest.raises(ParameterError, match="'rows'"):
        model.align(X, said, adapt="rows", speakers="one")
    with pytest.raises(ParameterError, match="prior=-1"):
        model.adapt(X, said, prior=-1)
    with pytest.raises(ParameterError, match="it is not known who speaks: give speakers="):
        model.align(X, said, adapt=model.adapt(X, said))
    with pytest.raises(DataError, match="2 frames do not determine a full transform"):
        model.adapt([X[0][:2]], ["a b"], kind="full", prior=0.0)
    words = hs.TranscriptAligner(1, emission="categorical").fit([np.array([0, 0, 1]), np.array([1, 0])], ["a b", "b a"])
    with pytest.raises(ParameterError, match="no numeric features"):
        words.adapt([np.array([0, 1])], ["a b"])


# ---- the model -------------------------------------------------------------------------------------------------------


def means(model, seen, said, weight):
    return np.ravel(model.adapt_model(seen, said, weight=weight, adapt="none").means_)


def test_a_model_becomes_that_of_the_recordings_as_far_as_they_weigh(data):
    X, said, truth, model = data
    others = [x * [1.0, 0.6] + 1.5 for x in X]
    light, heavy = means(model, others, said, 1e-6), means(model, others, said, 1e9)
    np.testing.assert_allclose(heavy, model.means_.ravel(), atol=1e-5)
    np.testing.assert_allclose(light.reshape(-1, 2), model.means_.reshape(-1, 2) * [1.0, 0.6] + 1.5, atol=0.15)
    found = model.adapt_model(others, said, adapt="none")
    assert (off(found.align(others, said), truth) <= 1).mean() > 0.97
    assert "densities estimated again from 16 utterances" in found.events_[-1]
    assert found.score(others, said) > model.score(others, said)


def test_one_state_is_the_weighted_mean_of_model_and_frames():
    model = hs.TranscriptAligner.from_params(["a"], [[[[1.0]]]], [[[[2.0]]]])
    x = np.array([[3.0], [5.0], [4.0]])
    found = model.adapt_model([x], ["a"], weight=6.0)
    centre = (6 * 1.0 + x.sum()) / 9
    assert found.means_.item() == pytest.approx(centre)
    squares = 6 * (2.0 + (1.0 - centre) ** 2) + ((x - centre) ** 2).sum()
    assert found.covars_.item() == pytest.approx(squares / 9)


@pytest.mark.parametrize("model", [mixed, shared], ids=["mixture", "shared"])
def test_mixtures_climb_too_and_keep_their_shapes(data, model):
    X, said, _, _ = data
    model = model()
    others = [x + 1.0 for x in X]
    read, layouts, _ = model._opened(others, said, None, None, None, None)
    chunks = read.chunks(model._schema, layouts, 10)
    done = reestimate(model._model, model._params, chunks, int(read.lengths.sum()), 5.0, 8, serial)
    assert (np.diff(done.trace) >= -1e-9 * np.abs(done.trace[:-1])).all()
    assert done.trace[-1] > done.trace[0] + 10
    heavy = reestimate(model._model, model._params, chunks, 1, 1e12, 2, serial)
    for one, other in zip(_arrays(heavy.params["emit"]), _arrays(model._params["emit"]), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def _arrays(params):
    if isinstance(params, dict):
        return [array for name in sorted(params) for array in _arrays(params[name])]
    return [np.asarray(array) for array in (params if isinstance(params, tuple) else [params])]


def test_models_are_adapted_to_transformed_features_and_saved(data, tmp_path):
    X, said, truth, model = data
    others = [x @ TURN.T + 1.0 for x in X]
    found = model.adapt_model(others, said, speakers="one")
    aligned = found.align(others, said, speakers="one")
    assert (off(aligned, truth) <= 1).mean() > 0.97
    hs.save(found, tmp_path / "own.halfseen")
    again = hs.load(tmp_path / "own.halfseen").align(others, said, speakers="one")
    assert [one.loglik for one in again] == [one.loglik for one in aligned]
    with pytest.raises(ParameterError, match="weight=0 is not a number of frames above 0"):
        model.adapt_model(X, said, weight=0)


# ---- recordings ------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_recordings_are_adapted_by_their_folders_and_the_command_line_says_so(tmp_path):
    sounds(tmp_path / "corpus", 6, speakers=("ann", "ben"))
    (tmp_path / "words.dict").write_text("".join(f"{word}\t{units}\n" for word, units in WORDS.items()))
    how = ("--model", "transcript", "--dictionary", tmp_path / "words.dict", "--states", 2)
    halfseen("fit", tmp_path / "corpus", *how, "-o", tmp_path / "m.halfseen")
    model = hs.load(tmp_path / "m.halfseen")
    heard = hs.AudioFolder(tmp_path / "corpus", words=set(WORDS))
    assert all(one.adapted is None for one in model.align(heard, heard.transcripts))  # as they were in the fit
    found = model.align(heard, heard.transcripts, adapt="full")
    by = {}
    for recording, one in zip(heard.recordings, found, strict=True):
        by.setdefault(recording.speaker, one.adapted)
        assert one.adapted is by[recording.speaker]
    assert set(by) == {"ann", "ben"}
    assert all(one.adapted is None for one in model.align(list(heard), heard.transcripts))
    align = ("align", tmp_path / "m.halfseen", tmp_path / "corpus")
    assert "transformed" not in halfseen(*align).stderr
    assert "features of 2 speakers transformed (full)" in halfseen(*align, "--adapt", "full").stderr
    assert "features of 2 speakers transformed (mean)" in halfseen(*align, "--adapt", "mean").stderr
    assert "transformed" not in halfseen(*align, "--adapt", "none").stderr
    assert "densities estimated again from 6 utterances" in halfseen(*align, "--adapt", "model").stderr
    refused = halfseen(*align, "--adapt", "loud", code=2)
    assert "--adapt 'loud' is not one of 'auto', 'none', 'mean', 'diagonal', 'full'" in refused.stderr
