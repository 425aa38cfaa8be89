"""HMM: what goes in, what comes out, what is refused; and failures reported of other tools, each as a test."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import halfseen as hs
from halfseen.errors import CollapseWarning, DataError, FitError, ParameterError

TRANS = [[0.95, 0.05], [0.1, 0.9]]
SHAPES = ["full", "tied", "diag", "spherical"]


def two_states(n_steps=300, seed=0):
    """Steps around 0 and around 4, and the states behind them."""
    truth = hs.HMM.from_params([0.5, 0.5], TRANS, {"x": {"mean": [0, 4], "sd": [1, 1]}})
    return truth.sample(n_steps, random_state=seed)


def weather():
    return hs.HMM.from_params(
        [0.6, 0.4],
        [[0.7, 0.3], [0.4, 0.6]],
        {"day": {"walk": [0.1, 0.6], "shop": [0.4, 0.3], "clean": [0.5, 0.1]}},
    )


# ---- one toy, by hand -----------------------------------------------------------------------------------------------


def test_weather_by_hand():
    """Rainy and sunny days behind what a friend does: the example of every textbook."""
    model, days = weather(), [["walk"], ["shop"], ["clean"]]
    states, log_probability = model.decode(days)
    assert states.tolist() == [1, 0, 0]
    assert_allclose(np.exp(log_probability), [0.01344])
    assert_allclose(np.exp(model.score(days)), 0.033612)
    first = np.array([0.06, 0.24]) / 0.3
    second = np.array([(first @ [0.7, 0.4]) * 0.4, (first @ [0.3, 0.6]) * 0.3])
    assert_allclose(model.filter(days)[:2], [first, second / second.sum()])
    assert_allclose(model.predict_proba(days)[-1], model.filter(days)[-1])  # at the end there is no hindsight
    ahead = model.forecast(days, steps=2)
    next_day = model.filter(days)[-1] @ model.transmat_
    assert_allclose(ahead.states[0, 0], next_day)
    assert_allclose(ahead.observations["day"]["walk"][0, 0], next_day @ [0.1, 0.6])
    assert_allclose(model.stationary_, [4 / 7, 3 / 7])
    assert_allclose(model.dwell_, [1 / 0.3, 1 / 0.4])


def test_one_step_of_a_fit_by_hand():
    """Two days, by the four paths: start 0.8 .2, then counts."""
    how = {"n_init": 1, "max_iter": 2, "stop": "iterations", "accelerate": False, "prior": None}
    model = hs.HMM(2, "categorical", start=toy_start(), **how)
    X = [["a"], ["b"]]
    model.fit(X)
    start, trans, emit = np.array([0.8, 0.2]), np.array(TRANS), np.array([[0.3, 0.7], [0.6, 0.4]])
    joint = start[:, None] * emit[:, [0]] * trans * emit[:, 1]
    posterior = joint / joint.sum()
    assert_allclose(model.trace_[0], np.log(joint.sum()))
    assert_allclose(model.startprob_, posterior.sum(axis=1))
    assert_allclose(model.transmat_, posterior / posterior.sum(axis=1, keepdims=True))
    counts = np.stack([posterior.sum(axis=1), posterior.sum(axis=0)], axis=1)
    assert_allclose(model.emissionprob_, counts / counts.sum(axis=1, keepdims=True))


def toy_start():
    return {"startprob": [0.8, 0.2], "transmat": TRANS, "x0": {"a": [0.3, 0.6], "b": [0.7, 0.4]}}


# ---- forms of input -------------------------------------------------------------------------------------------------


def test_all_forms_of_sequences_give_the_same_fit():
    X, _ = two_states(90)
    X = np.asarray(X)
    lengths = [40, 20, 30]
    parts = np.split(X, [40, 60])
    frame = pd.DataFrame({"id": np.repeat(["u", "v", "w"], lengths), "t": np.r_[:40, :20, :30], "x": X[:, 0]})
    shuffled = frame.sample(frac=1, random_state=0)

    def fit(*args, **how):
        return hs.HMM(2, random_state=0, n_init=2).fit(*args, **how)

    stacked = fit(X, lengths)
    listed = fit(parts)
    by_group = fit(frame, groups="id", time="t")
    mixed_up = fit(shuffled, groups="id", time="t")
    by_array = fit(X, groups=frame["id"].to_numpy())
    for other in (listed, by_group, by_array):
        assert other.loglik_ == stacked.loglik_
    assert_allclose(mixed_up.loglik_, stacked.loglik_)
    expected = stacked.predict(X, lengths)
    assert np.concatenate(listed.predict(parts)).tolist() == expected.tolist()
    assert by_group.predict(frame).tolist() == expected.tolist()  # the columns of the fit are found again
    assert mixed_up.predict(shuffled)[np.argsort(shuffled.index)].tolist() == expected.tolist()
    assert_allclose(np.concatenate(listed.predict_proba(parts)), stacked.predict_proba(X, lengths))
    assert_allclose(by_group.filter(frame), stacked.filter(X, lengths))
    assert_allclose(stacked.score_samples(X, lengths), listed.score_samples(parts))
    assert stacked.score_samples(X, lengths).shape == (3,)


def test_one_column_may_be_a_plain_list():
    model = weather()
    assert model.predict(["walk", "shop", "clean"]).tolist() == [1, 0, 0]
    assert model.predict(np.array(["walk", "shop", "clean"], dtype=object)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"lengths": [2, 2]}, "lengths sum to 4, but X has 5 rows"),
        ({"lengths": [5, 0]}, "sequence 1 has 0 steps"),
        ({"lengths": [2.5, 2.5]}, "not a list of whole numbers"),
        ({"lengths": [5], "groups": [1] * 5}, "lengths= and groups= both"),
        ({"groups": "id"}, "groups='id' is no column of X"),
        ({"groups": [1, 1, None, 2, 2]}, "groups: row 2 is missing"),
        ({"groups": [1, 1, 1, 2, 2], "time": [1, 2, 2, 1, 2]}, "rows 1 and 2 of sequence 1 are both at 2"),
        ({"groups": [1, 1]}, r"groups has shape \(2,\), but X has 5 rows"),
        ({"sample_weight": [1, 2]}, "2 values, but X has 1 sequences"),
        ({"labels": [0, 1]}, "2"),
    ],
)
def test_sequences_that_make_no_sense_are_refused(how, said):
    with pytest.raises((DataError, ParameterError), match=said):
        hs.HMM(2, n_init=1).fit(np.arange(5.0)[:, None] ** 2, **how)


def test_a_list_of_sequences_needs_no_lengths():
    with pytest.raises(ParameterError, match="lengths= does not apply to a list of sequences"):
        hs.HMM(1).fit([np.zeros(3), np.ones(2)], lengths=[3, 2])
    with pytest.raises(DataError, match="same columns"):
        hs.HMM(1).fit([np.zeros((3, 2)), np.ones((2, 1))])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"emission": "normal"}, "emission='normal' is not one of"),
        ({"covariance_type": "round"}, "covariance_type='round'"),
        ({"covariance_type": []}, r"covariance_type=\[\] is empty"),
        ({"covariance_type": ["full", 3]}, "covariance_type=3 is not one of 'full'"),
        ({"start": {"means": [[0.0], [1.0], [2.0]]}}, r"start: means: expected shape \(2, 1\), got \(3, 1\)"),
        ({"start": {"covariances": [1.0, 2.0]}}, r"start: covariances: expected shape \(2, 1, 1\), got \(2,\)"),
        ({"start": {"covariances": [[[1.0]], [[-1.0]]]}}, "that of component 1 is not symmetric and positive"),
        ({"fixed": ["means"]}, "fixed: 'means' has no value to keep"),
        (
            {"start": {"covariances": [[[1.0]]] * 2}, "covariance_type": ["full", "diag"]},
            "'covariances' needs one covariance_type",
        ),
        ({"transitions": [[1, 1]]}, r"transitions has shape \(1, 2\), expected \(2, 2\)"),
        ({"transitions": [[1, 1], [0, 0]]}, "row 1 is all zero"),
        ({"transitions": [[0.5, 0.6], [0.5, 0.5]]}, "row 0 sums to 1.1"),
        ({"transitions": "circle"}, "transitions='circle'"),
        ({"min_dwell": [1, 2, 3]}, "3 numbers for 2 states"),
        ({"min_dwell": 0}, "min_dwell=0"),
        ({"start": {"speed": [1, 2]}}, "start: there is no 'speed'"),
        ({"fixed": ["transmat"]}, "fixed: 'transmat' has no value to keep"),
        ({"fixed": ["transmat"], "transitions": [[1, 1], [0, 1]]}, "fixed: 'transmat' has no value to keep"),
        ({"start": {"startprob": [0.5, 0.6]}}, "startprob"),
        ({"transitions": "left-right", "start": {"transmat": [[0.5, 0.5], [0.5, 0.5]]}}, r"0.5 at \(1, 0\)"),
        ({"n_components": [1, 2], "min_dwell": [1, 2]}, "need one number of states"),
        ({"assign": "firm"}, "assign='firm'"),
    ],
)
def test_options_that_make_no_sense_are_refused(how, said):
    with pytest.raises(ParameterError, match=said):
        hs.HMM(**{"n_components": 2, "n_init": 1, **how}).fit(np.arange(8.0) ** 2)


# ---- fits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_states_are_found_again(assign):
    X, states = two_states(1500)
    model = hs.HMM(2, assign=assign, random_state=0, max_iter=60).fit(X)
    order = np.argsort(model.means_.ravel())
    assert_allclose(model.means_.ravel()[order], [0, 4], atol=0.25)
    assert_allclose(model.transmat_[np.ix_(order, order)], TRANS, atol=0.06)
    agree = (order.argsort()[model.predict(X)] == states).mean()
    assert agree > 0.97
    assert_allclose(model.score(X), model.loglik_)
    assert model.occupancy_.tolist() == sorted(model.occupancy_, reverse=True)


@pytest.mark.parametrize("method", ["gradient", "lbfgs"])
def test_gradient_methods_end_where_em_does(method):
    X, _ = two_states(200)
    how = {
        "start": {"startprob": [0.5, 0.5], "x0": {"mean": [0, 3], "sd": [1, 1]}},
        "fixed": ["startprob"],
        "n_init": 1,
    }
    em = hs.HMM(2, **how).fit(X)
    other = hs.HMM(2, method=method, max_iter=3000, **how).fit(X)
    assert_allclose(other.loglik_, em.loglik_, atol=1e-2)


def test_annealing_and_restarts_reach_the_same_top():
    X, _ = two_states(200)
    plain = hs.HMM(2, random_state=0).fit(X)
    warm = hs.HMM(2, random_state=1, anneal=(0.5, 0.8), n_init=4).fit(X)
    assert_allclose(warm.loglik_, plain.loglik_, atol=1e-2)


@pytest.mark.parametrize("emission", ["gaussian", "categorical"])
def test_the_number_of_threads_does_not_change_a_bit(emission):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (9000, 1)) if emission == "categorical" else rng.normal(size=(9000, 1))
    one, two = (
        hs.HMM(3, emission, n_init=2, max_iter=6, stop="iterations", random_state=0, n_jobs=n_jobs).fit(X, [300] * 30)
        for n_jobs in (1, 2)
    )
    assert one.loglik_ == two.loglik_
    np.testing.assert_array_equal(one.transmat_, two.transmat_)


@pytest.mark.parametrize("shape", SHAPES)
def test_holes_in_cells_and_in_whole_steps(shape):
    X, states = two_states(600)
    rng = np.random.default_rng(1)
    wide = np.column_stack([X, rng.normal(-np.asarray(X)[:, 0], 1)])
    wide[rng.random(wide.shape) < 0.3] = np.nan
    wide[50:60] = np.nan
    model = hs.HMM(2, covariance_type=shape, random_state=0, n_init=4).fit(wide)
    order = np.argsort(model.means_[:, 0])
    assert_allclose(model.means_[order], [[0, 0], [4, -4]], atol=0.4)
    assert (order.argsort()[model.predict(wide)] == states).mean() > 0.9
    seen = np.count_nonzero(~np.isnan(wide).all(axis=1))
    assert_allclose(model.bic(), -2 * model.loglik_ + model.n_parameters_ * np.log(seen))


def test_mixed_columns_by_value():
    rng = np.random.default_rng(0)
    states = np.repeat([0, 1, 0, 1], 50)
    frame = pd.DataFrame(
        {
            "mood": np.where(rng.random(200) < 0.9, np.array(["low", "high"])[states], "high"),
            "pulse": rng.normal(60 + 30 * states, 5),
            "steps": rng.poisson(3 + 10 * states),
        }
    )
    model = hs.HMM(2, "auto", columns={"steps": "poisson"}, random_state=0, n_init=4).fit(frame)
    assert model.columns_ == {"mood": "categorical", "pulse": "gaussian", "steps": "poisson"}
    assert (model.predict(frame) == states).mean() in (0.0, 1.0)
    assert set(model.params_) == {"startprob", "transmat", "mood", "pulse", "steps"}
    table = model.to_frame()
    assert list(table.columns) == ["column", "kind", "value", "state 0", "state 1"]
    drawn, hidden = model.sample(5, random_state=0)
    assert list(drawn.columns) == list(frame.columns)
    assert len(hidden) == 5
    assert "pulse" in model.describe()
    ahead = model.forecast(frame, steps=3).to_frame()
    assert ahead["step"].tolist() == [1, 2, 3]
    assert {"pulse mean", "pulse sd", "mood=low", "steps mean"} <= set(ahead.columns)


def test_mixtures_as_emissions():
    """A state with two modes: one normal per state cannot fit it, two can."""
    rng = np.random.default_rng(0)
    states = np.repeat([0, 1] * 5, 40)
    X = np.where(states, rng.normal(0, 1, 400), rng.choice([-6.0, 6.0], 400) + rng.normal(0, 1, 400))[:, None]
    model = hs.HMM(2, n_mix=2, random_state=0).fit(X)
    assert model.params_["mixture"].shape == (2, 2)
    assert (model.predict(X) == states).mean() in (0.0, 1.0)
    assert model.n_parameters_ == 1 + 2 + 2 + 8
    assert_allclose(model.relabel([1, 0]).score(X), model.score(X))
    assert model.sample(3, random_state=0)[0].shape == (3, 1)
    assert model.forecast(X).observations["x0"]["mean"].shape == (1, 1)
    assert len(model.describe().split("\n")) == 2


# ---- labels, weights ------------------------------------------------------------------------------------------------


def test_labels_at_some_steps_and_candidate_sets():
    X, states = two_states(300)
    names = np.array(["calm", "storm"])[states]
    labels = [{"calm", "storm"} if i % 9 == 1 else (name if i % 3 == 0 else None) for i, name in enumerate(names)]
    model = hs.HMM(2, random_state=0, n_init=2).fit(X, labels=labels)
    assert model.state_names_ == ("calm", "storm")
    assert (model.predict(X) == states).mean() > 0.97
    assert model.means_[0, 0] < model.means_[1, 0]


def test_all_states_known_is_counting():
    X, states = two_states(200)
    model = hs.HMM(2, n_init=1).fit(X, [120, 80], labels=states)
    moved = np.zeros((2, 2))
    for part in np.split(states, [120]):
        np.add.at(moved, (part[:-1], part[1:]), 1)
    assert_allclose(model.transmat_, moved / moved.sum(axis=1, keepdims=True))
    assert_allclose(model.startprob_, np.bincount(states[[0, 120]], minlength=2) / 2)
    assert_allclose(model.means_[:, 0], [np.asarray(X)[states == k].mean() for k in (0, 1)])


def test_labels_follow_their_rows_through_groups_and_lists():
    X, states = two_states(60)
    X = np.asarray(X)
    parts, marks = [X[:20], X[20:]], [states[:20], None]
    listed = hs.HMM(2, random_state=0, n_init=2).fit(parts, labels=marks)
    order = np.random.default_rng(0).permutation(60)
    time, group = np.r_[:20, :40], np.repeat([0, 1], [20, 40])
    labels = [int(states[n]) if n < 20 else None for n in range(60)]
    other = hs.HMM(2, random_state=0, n_init=2).fit(
        X[order], groups=group[order], time=time[order], labels=[labels[n] for n in order]
    )
    assert_allclose(np.sort(other.means_, axis=0), np.sort(listed.means_, axis=0), rtol=1e-3)
    with pytest.raises(DataError, match="sequence 1 has 3 labels for 40 steps"):
        hs.HMM(2).fit(parts, labels=[None, [0, 1, 0]])


def test_twice_the_same_is_weight_two():
    """hmmlearn#410, #455: statistics of all sequences count, not those of the last."""
    X, _ = two_states(80)
    X = np.asarray(X)

    def fit(data, **how):
        return hs.HMM(2, random_state=0, n_init=2, max_iter=20, stop="iterations").fit(data, **how)

    twice, heavy = fit([X, X]), fit([X], sample_weight=[2])
    assert_allclose(twice.loglik_, heavy.loglik_)
    assert_allclose(twice.transmat_, heavy.transmat_, rtol=1e-6)
    assert_allclose(twice.bic(), heavy.bic())
    absent = fit([X, 100 + X], sample_weight=[1, 0])
    assert_allclose(absent.loglik_, fit([X]).loglik_)


def test_names_of_weightless_sequences_are_not_counted():
    X = np.array([[0.0], [1.0], [5.0], [5.5]])
    model = hs.HMM(1).fit(X, groups=["a", "b", "a", "b"], sample_weight=[1, 0])
    assert_allclose(model.means_, [[2.5]])


# ---- topologies -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
@pytest.mark.parametrize("prior", [None, 1.0, "row"])
def test_zero_transitions_stay_exactly_zero(assign, prior):
    """hmmlearn#316, pyhsmm#88; a prior does not fill them either."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1))
    allowed = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hs.HMM(3, transitions=allowed, assign=assign, prior=prior, max_iter=20, n_init=3, random_state=0).fit(X)
    assert np.all(model.transmat_[~allowed] == 0.0)
    assert_allclose(model.transmat_.sum(axis=1), 1)
    assert model.n_parameters_ == 2 + 3 + 6


def test_given_transitions_begin_the_fit_and_their_zeros_stay():
    X, _ = two_states(100)
    given = np.array([[0.9, 0.1, 0.0], [0.0, 0.8, 0.2], [0.5, 0.0, 0.5]])
    kept = hs.HMM(3, transitions=given, fixed=["transmat"], n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(kept.transmat_, given)
    moved = hs.HMM(3, transitions=given, n_init=2, random_state=0).fit(X)
    assert np.all((moved.transmat_ == 0)[given == 0])
    assert not np.array_equal(moved.transmat_, given)


def test_left_right_goes_one_way():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [12, 9, 15])
    parts = [rng.normal(3.0 * truth, 0.5)[:, None] for _ in range(6)]
    model = hs.HMM(3, transitions="left-right", n_init=2, random_state=0).fit(parts)
    assert_allclose(model.means_.ravel(), [0, 3, 6], atol=0.2)
    assert model.startprob_.tolist() == [1, 0, 0]
    for path in model.predict(parts):
        assert path.tolist() == truth.tolist()
    assert model.dwell_[2] == np.inf
    assert_allclose(model.stationary_, [0, 0, 1], atol=1e-9)
    assert "never left" in model.describe()


def test_a_stay_lasts_as_long_as_asked():
    rng = np.random.default_rng(3)
    states = np.repeat([0, 1, 0, 1, 0, 1, 0], [8, 5, 9, 6, 7, 5, 10])
    X = rng.normal(2.0 * states, 1.2)[:, None]
    model = hs.HMM(2, min_dwell=[4, 3], n_init=8, random_state=0).fit(X)
    assert model.startprob_.shape == (2,)
    assert model.transmat_.shape == (2, 2)
    path = model.predict(X)
    runs = np.diff(np.flatnonzero(np.r_[True, np.diff(path) != 0, True]))
    fewest = [4, 3]
    for state, run in zip(path[np.cumsum(runs[:-1]) - 1], runs[:-1], strict=True):  # the last stay may be cut off
        assert run >= fewest[state]
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.predict_proba(X).shape == (50, 2)
    assert np.all(model.dwell_ >= fewest)
    assert model.n_parameters_ == 1 + 2 + 4
    other = model.relabel([1, 0])
    assert_allclose(other.score(X), model.score(X))
    assert_allclose(other.dwell_, model.dwell_[::-1])
    assert_allclose(other.match_to(model).transmat_, model.transmat_)
    drawn = model.sample(200, random_state=0)[1]
    runs = np.diff(np.flatnonzero(np.r_[True, np.diff(drawn) != 0, True]))
    assert runs[:-1].min() >= 3


def test_fixed_and_tied_columns():
    X, _ = two_states(200)
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=200)])
    start = {"x0": {"mean": [0.5, 3.5], "sd": [1.0, 2.0]}}
    model = hs.HMM(2, start=start, fixed=["x0"], tied=["x1"], n_init=2, random_state=0).fit(wide)
    assert_allclose(model.params_["x0"]["mean"], [0.5, 3.5], rtol=0, atol=0)
    assert model.params_["x1"]["mean"][0] == model.params_["x1"]["mean"][1]
    with pytest.raises(AttributeError, match="no single block of gaussian columns"):
        _ = model.means_


# ---- how many -------------------------------------------------------------------------------------------------------


def test_the_number_of_states_by_bic():
    X, _ = two_states(400)
    model = hs.HMM(range(1, 4), n_init=4, random_state=0).fit(X)
    assert model.n_components_ == 2
    assert model.selection_["n_components"].tolist() == [1, 2, 3]
    assert model.selection_["chosen"].tolist() == [False, True, False]
    chosen = model.selection_[model.selection_["chosen"]].iloc[0]
    assert_allclose(chosen["bic"], model.bic())
    assert_allclose(chosen["aic"], model.aic())
    assert_allclose(model.bic(X), model.bic())


def test_the_entropy_of_the_path_is_that_of_all_paths():
    model = hs.HMM(2, "categorical", start=toy_start(), n_init=1, max_iter=1, stop="iterations").fit([["a"], ["b"]])
    start, trans, emit = np.array([0.8, 0.2]), np.array(TRANS), np.array([[0.3, 0.7], [0.6, 0.4]])
    posterior = start[:, None] * emit[:, [0]] * trans * emit[:, 1]
    posterior /= posterior.sum()
    assert_allclose(model._uncertain, -(posterior * np.log(posterior)).sum())


# ---- order and names ------------------------------------------------------------------------------------------------


def test_relabelling_there_and_back():
    X, _ = two_states(200)
    model = hs.HMM(3, random_state=0, n_init=3).fit(X)
    other = model.relabel([2, 0, 1])
    assert_allclose(other.predict_proba(X), model.predict_proba(X)[:, [2, 0, 1]], atol=1e-12)
    assert_allclose(other.occupancy_, model.occupancy_[[2, 0, 1]])
    back = other.match_to(model)
    np.testing.assert_array_equal(back.transmat_, model.transmat_)
    named = model.rename(["a", "b", "c"])
    assert named.relabel([2, 0, 1]).state_names_ == ("c", "a", "b")
    with pytest.raises(ParameterError, match="does not name each of the 3 states once"):
        model.relabel([0, 0, 1])
    with pytest.raises(ParameterError, match="its own name"):
        model.rename(["a", "a", "b"])


def test_what_the_user_began_keeps_its_order():
    X, _ = two_states(300)
    model = hs.HMM(2, start={"x0": {"mean": [4, 0], "sd": [1, 1]}}, n_init=2, random_state=0).fit(X)
    assert model.means_[0, 0] > model.means_[1, 0]


def test_estimators_are_cloned_and_say_what_they_are():
    model = hs.HMM(3, "poisson", transitions="left-right", prior=0.5)
    assert clone(model).get_params() == model.get_params()
    assert "HMM" in repr(model)


def test_the_long_run_begins_at_the_start_where_states_are_never_left():
    column = {"x": {"mean": [0, 1, 2], "sd": [1, 1, 1]}}
    apart = hs.HMM.from_params([0.2, 0.3, 0.5], np.eye(3), column)
    assert_allclose(apart.stationary_, [0.2, 0.3, 0.5])
    assert_allclose(apart.occupancy_, [0.2, 0.3, 0.5])
    round_about = hs.HMM.from_params([1, 0, 0], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], column)
    assert_allclose(round_about.stationary_, [1 / 3] * 3)
    trap = hs.HMM.from_params([1, 0, 0], [[0.5, 0.3, 0.2], [0, 1, 0], [0, 0, 1]], column)
    assert_allclose(trap.stationary_, [0, 0.6, 0.4], atol=1e-9)


def test_models_without_data_are_measured_on_data_only():
    with pytest.raises(ParameterError, match="built without data"):
        weather().bic()
    assert np.isfinite(weather().bic([["walk"], ["shop"]]))


def test_columns_of_the_fit_complete_those_given_in_use():
    X, _ = two_states(40)
    frame = pd.DataFrame({"x": X[:, 0], "who": ["a", "b"] * 20, "day": np.arange(40)[::-1]})
    model = hs.HMM(2, n_init=2, random_state=0, prior=1.0).fit(frame, groups="who", time="day")
    for given in ({"groups": "who"}, {"time": "day"}, {"groups": "who", "time": "day"}):
        np.testing.assert_array_equal(model.predict_proba(frame, **given), model.predict_proba(frame))


def test_states_of_missing_steps_count_in_the_entropy():
    """They are hidden, and unsure: with observed steps alone in the denominator it would fall below 0."""
    X = [[0.0], [None], [None], [None], [None], [3.0], [None], [None], [None], [1.0]]
    model = hs.HMM([1, 2], n_init=2, prior=5.0, random_state=0).fit(X)
    assert 0 <= model.selection_["entropy"].min() < 0.5
    assert model.selection_["entropy"][0] == 1


def test_sequences_without_observed_steps_have_criteria():
    holes = [[None], [None]]
    model = hs.HMM.from_params([0.5, 0.5], TRANS, {"x": {"mean": [0, 4], "sd": [1, 1]}})
    assert model.bic(holes) == 0
    assert model.aic(holes) == 2 * model.n_parameters_


def test_forecasts_of_numbers_far_from_zero_keep_their_spread():
    """Squares of numbers near 1e8 have no digit left for a variance of 1."""
    near, far = (
        hs.HMM.from_params([0.5, 0.5], TRANS, {"x": {"mean": [a, a + 4], "sd": [1, 2]}}).forecast([[a + 1.0]], 3)
        for a in (0.0, 1e8)
    )
    assert_allclose(far.observations["x"]["sd"], near.observations["x"]["sd"], rtol=1e-7)
    assert_allclose(far.observations["x"]["mean"] - 1e8, near.observations["x"]["mean"], atol=1e-6)


def test_draws_come_in_sequences_and_by_seed():
    model = weather()
    X, states = model.sample(lengths=[3, 1, 50], random_state=5)
    assert len(X) == len(states) == 54
    again, _ = model.sample(lengths=[3, 1, 50], random_state=5)
    assert X.tolist() == again.tolist()
    _, many = model.sample(lengths=[1] * 4000, random_state=0)
    assert abs(many.mean() - 0.4) < 0.04
    _, path = model.sample(20000, random_state=0)
    assert_allclose(np.bincount(path) / len(path), model.stationary_, atol=0.02)


# ---- failures of others ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_that_follow_from_others(shape):
    """pomegranate#615, #633: binary columns, one the product of the others."""
    rng = np.random.default_rng(0)
    two = rng.integers(0, 2, (200, 2)).astype(float)
    X = np.column_stack([two, two.prod(axis=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model = hs.HMM(2, covariance_type=shape, n_init=4, random_state=0).fit(X)
    assert np.isfinite(model.loglik_)
    assert np.isfinite(model.score(X))
    joint = shape in ("full", "tied")
    assert np.all((np.linalg.eigvalsh(model.covars_) if joint else model.covars_) > 0)
    calm = hs.HMM(2, covariance_type=shape, prior=1.0, n_init=4, random_state=0).fit(X)  # no warning of a collapse
    assert np.isfinite(calm.loglik_)


def test_a_constant_segment():
    """dynamax#316: a state that fits it has no variance; runs that do not collapse come first."""
    X, _ = two_states(200)
    X = np.asarray(X).copy()
    X[80:120] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model = hs.HMM(3, n_init=4, random_state=0).fit(X)
    assert np.isfinite(model.loglik_)
    assert np.isfinite(model.transmat_).all()
    smooth = hs.HMM(3, prior=1.0, n_init=4, random_state=0).fit(X)
    assert smooth.covars_.min() > 1e-3


def test_small_numbers_are_as_good_as_large_ones():
    """hmmlearn's fixed prior swamps log-returns: here the unit of a column changes nothing but the unit."""
    X, _ = two_states(300)
    small = hs.HMM(2, n_init=2, random_state=0).fit(1e-5 * np.asarray(X))
    plain = hs.HMM(2, n_init=2, random_state=0).fit(np.asarray(X))
    assert_allclose(small.transmat_, plain.transmat_, rtol=1e-4)
    assert_allclose(1e5 * small.means_, plain.means_, atol=1e-3)
    assert_allclose(small.loglik_, plain.loglik_ + 300 * np.log(1e5), rtol=1e-9)
    assert small.loglik_ > 0  # a positive log-likelihood is legal


def test_a_state_that_is_never_visited_keeps_its_parameters():
    """hmmlearn#169: rows of zeros and NaN."""
    X, _ = two_states(100)
    unreachable = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    start = {"startprob": [0.5, 0.5, 0.0], "x0": {"mean": [0, 4, 9], "sd": [1, 1, 1]}}
    model = hs.HMM(3, transitions=unreachable, start=start, n_init=1).fit(X)
    assert_allclose(model.transmat_.sum(axis=1), 1)
    assert model.means_[2, 0] == 9.0
    assert any("without any expected steps" in event for event in model.events_)
    assert np.isfinite(model.score(X))


def test_an_impossible_labelled_path_is_named():
    """pomegranate#660: which sequence, which step."""
    X = np.random.default_rng(0).normal(size=(9, 1))
    labels = [None, None, None, None, 0, 1, None, 0, None]
    with pytest.raises(FitError, match="sequence 1 has probability zero at the start of the fit: at step 3 "):
        hs.HMM(2, transitions="left-right", n_init=2).fit(X, [4, 5], labels=labels)
    with pytest.raises(FitError, match=r"sequence 1 \('late'\) has probability zero .* at step 3 "):
        hs.HMM(2, transitions="left-right", n_init=2).fit(
            X, groups=["early"] * 4 + ["late"] * 5, labels=labels, sample_weight=[1, 3]
        )
    days = np.arange("2026-01-05", "2026-01-14", dtype="datetime64[D]")
    with pytest.raises(FitError, match=r"sequence 0 has probability zero .* at step 7 \(2026-01-12\) "):
        hs.HMM(2, transitions="left-right", n_init=2).fit(X, time=days, labels=labels)


def test_an_impossible_sequence_is_named_in_use():
    model = hs.HMM.from_params([1, 0], [[0.5, 0.5], [0, 1]], {"x": {"a": [1, 0], "b": [0, 1]}})
    sequences = [np.array([["a"], ["b"]]), np.array([["a"], ["b"], ["a"]])]
    assert model.score_samples(sequences)[1] == -np.inf
    for ask in (model.predict, model.predict_proba, model.filter, model.forecast):
        with pytest.raises(DataError, match="sequence 1 is impossible under the model: at step 2 "):
            ask(sequences)
    assert model.predict(sequences[:1])[0].tolist() == [0, 1]


@pytest.mark.parametrize("emission", ["gaussian", "categorical"])
def test_a_hundred_thousand_steps(emission):
    """Filters in linear space return 0 or NaN; the sum over short pieces of independent steps is the truth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 1)) if emission == "gaussian" else rng.integers(0, 3, (120_000, 1))
    column = {"mean": [0, 1], "sd": [1, 2]} if emission == "gaussian" else {0: [0.2, 0.5], 1: [0.3, 0.3], 2: [0.5, 0.2]}
    same = hs.HMM.from_params([0.3, 0.7], [[0.3, 0.7], [0.3, 0.7]], {"x0": column})
    mixture = hs.LatentClass.from_params([0.3, 0.7], {"x0": column})
    assert_allclose(same.score(X), mixture.score(X) * len(X), rtol=1e-10)
    fitted = hs.HMM(2, emission, n_init=1, max_iter=3, stop="iterations", random_state=0).fit(X)
    assert np.isfinite(fitted.loglik_)
    assert_allclose(fitted.score(X), fitted.loglik_, rtol=1e-9)


def test_one_outlier_in_ten_thousand():
    """An RHmm user's question: a value of 100 among N(0, 1) made everything NaN."""
    X = np.random.default_rng(0).normal(size=(10_000, 1))
    X[5000] = 100.0
    model = hs.HMM(2, n_init=2, max_iter=40, random_state=0, prior=0.1, tol=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert np.isfinite(model.loglik_)
    assert np.isfinite(model.transmat_).all()


def test_start_probabilities_are_estimated():
    """NLTK's Baum-Welch never updated them: they are the mean posterior of the first steps."""
    model = hs.HMM(2, "categorical", start=toy_start(), n_init=1, max_iter=2, stop="iterations", accelerate=False)
    sequences = [np.array([["a"], ["b"], ["b"]]), np.array([["b"]]), np.array([["a"], ["a"]])]
    model.fit(sequences)
    before = hs.HMM.from_params([0.8, 0.2], TRANS, {"x0": toy_start()["x0"]})
    assert_allclose(model.startprob_, np.mean([part[0] for part in before.predict_proba(sequences)], axis=0))


def test_sequences_of_one_step_are_a_mixture():
    """pomegranate#1049, latrend#94: no transition was seen, so the transitions stay where they began."""
    X, _ = two_states(150)
    chain = hs.HMM(2, random_state=0, n_init=4).fit(X, [1] * 150)
    mixture = hs.LatentClass(2, prior=None, random_state=0).fit(X)
    assert_allclose(chain.loglik_, mixture.loglik_, atol=1e-3)
    assert_allclose(np.sort(chain.startprob_), np.sort(mixture.weights_), atol=1e-3)
    unequal = hs.HMM(2, random_state=0, n_init=2).fit(X, [1, 2, 7, 40, 100])
    assert np.isfinite(unequal.loglik_)


def test_an_unknown_category_counts_as_missing():
    model = weather()
    with pytest.warns(hs.errors.UnknownCategoryWarning, match="sleep"):
        found = model.score([["walk"], ["sleep"]])
    assert_allclose(found, model.score([["walk"]]))


def test_a_state_like_the_whole_is_described_by_mean_and_sd():
    X = np.random.default_rng(0).normal(2.0, 3.0, 50)
    assert "like the whole table: x0" in (said := hs.HMM(1).fit(X).describe())
    assert "±" in said
    clusters = hs.KMeans(1).fit(X.reshape(-1, 1)).describe()
    assert clusters.startswith("cluster 0 (100%): like the whole table: x0 ")
