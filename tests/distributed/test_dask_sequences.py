"""Sequences in Dask frames: the same bits as the same partitions in this process, and the states of a local fit."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.data.sequence_partition import SequenceLayout
from halfseen.engine.loop.em import Gather
from halfseen.engine.services.progress import watching
from halfseen.engine.tables.lane_source import SequenceSource
from halfseen.engine.tables.lanes import OverReduced
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.leaves.leaf import arrays
from halfseen.runners.local import LocalCluster
from tests.distributed.clusters import Shuffled, fitted, partitions

dd = pytest.importorskip("dask.dataframe", reason="needs dask")

OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 20, "tol": 1e-4}
MARKS = {"groups": "person", "time": "day"}


def table(n_people=60):
    rng = np.random.default_rng(7)
    rows = []
    for person in range(n_people):
        state, weight = rng.integers(2), float(rng.integers(0, 3))
        for day in rng.permutation(int(rng.integers(5, 30))):
            state = state if rng.random() < 0.9 else 1 - state
            x, y = rng.normal(4.0 * state, 1.0, 2)
            mood = ["low", "high"][state] if rng.random() < 0.8 else "so-so"
            label = ["a", "b"][state] if rng.random() < 0.2 else None
            rows.append((f"p{person}", int(day), x, y, mood, label, weight))
    df = pd.DataFrame(rows, columns=["person", "day", "x", "y", "mood", "label", "weight"])
    hidden = rng.random((len(df), 3)) < 0.1
    df[["x", "y", "mood"]] = df[["x", "y", "mood"]].mask(hidden)
    return df


DATA = table()
CUTS = [0, 17, 18, 40, 60]  # people of each partition

CASES = {
    "numbers": (hs.HMM(2, covariance_type="diag", **OPTIONS), ["x", "y"], {}),
    "together": (hs.HMM(2, covariance_type="full", **OPTIONS), ["x", "y"], {}),
    "mixed": (hs.HMM([1, 2], "auto", **OPTIONS), ["x", "mood"], {}),
    "hard": (hs.HMM(2, "auto", assign="hard", **OPTIONS), ["x", "mood"], {}),
    "sample": (hs.HMM(2, "auto", assign="sample", **OPTIONS | {"max_iter": 5}), ["x", "mood"], {}),
    "weights": (hs.HMM(2, "categorical", **OPTIONS), ["mood"], {"sample_weight": "weight"}),
    "labels": (hs.HMM(2, "auto", **OPTIONS), ["x", "mood"], {"labels": "label"}),
    "left to right": (hs.HMM(3, transitions="left-right", **OPTIONS), ["x"], {}),
    "mixtures": (hs.HMM(2, n_mix=2, covariance_type="diag", **OPTIONS), ["x"], {}),
}


def framed(data, columns, cuts=CUTS):
    """Return a Dask frame whose partitions are cut between people."""
    number = data["person"].str[1:].astype(int)
    parts = [data.loc[(number >= low) & (number < high), columns] for low, high in pairwise(cuts)]
    return dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request):
    model, columns, roles = CASES[request.param]
    return model, framed(DATA, ["person", "day", *columns, *roles.values()]), roles


def lanes(frame, roles, cluster=LocalCluster, n_jobs=None):
    names = list(frame.columns)
    layout = SequenceLayout.of_sequences(names, "person", "day", roles.get("sample_weight"), roles.get("labels"))
    return SequenceSource(cluster(partitions(frame), n_jobs), layout)


def same_bits(one, other):
    assert one.loglik_ == other.loglik_
    assert one.trace_ == other.trace_
    for own, its in zip(arrays(one._params), arrays(other._params), strict=True):
        assert_array_equal(own, its)


def test_the_same_partitions_give_the_same_bits_with_any_workers(client, case):
    model, frame, roles = case
    there = fitted(model, frame, **MARKS, **roles)
    same_bits(there, fitted(model, lanes(frame, roles), **MARKS))


def test_threads_and_the_order_of_arrival_change_no_bit(case):
    model, frame, roles = case
    here = fitted(model, lanes(frame, roles), **MARKS)
    same_bits(here, fitted(model, lanes(frame, roles, n_jobs=3), **MARKS))
    same_bits(here, fitted(model, lanes(frame, roles, cluster=Shuffled), **MARKS))


def test_lanes_agree_with_one_table(case):
    model, frame, roles = case
    if model.assign == "sample" or model.n_mix > 1:
        pytest.skip("draws belong to chunks, and these differ")
    data = frame.compute()
    given = {"labels": data["label"].tolist()} if "labels" in roles else {}
    if "sample_weight" in roles:
        given["sample_weight"] = data.drop_duplicates("person")["weight"].to_numpy()
    there = fitted(model, lanes(frame, roles), **MARKS)
    here = fitted(model, data.drop(columns=list(roles.values())), **MARKS, **given)
    assert_allclose(there.loglik_, here.loglik_, rtol=1e-10)
    for own, its in zip(arrays(there._params), arrays(here._params), strict=True):
        assert_allclose(own, its, rtol=1e-6, atol=1e-9)
    for name in ("bic", "icl"):
        assert getattr(there, name)() == pytest.approx(getattr(here, name)(), rel=1e-9)
    assert there.bic(unit="sequences") == pytest.approx(here.bic(unit="sequences"), rel=1e-9)


def test_sampled_draws_differ_between_lanes():
    part = DATA.loc[DATA["person"].isin(["p1", "p2"]), ["person", "day", "mood"]]
    twins = [part, part.assign(person=part["person"] + "'")]
    seen = []

    class Watched(LocalCluster):
        def answers(self, job, first_chunks):
            for answer in super().answers(job, first_chunks):
                if isinstance(job, OverReduced) and isinstance(job.task, Gather) and job.task.assign.mode == "sample":
                    seen.append(answer.value[0].stats)
                yield answer

    source = SequenceSource(Watched(twins), SequenceLayout.of_sequences(part.columns, "person", "day"))
    fitted(hs.HMM(2, "categorical", assign="sample", n_init=1, max_iter=3, random_state=0), source, **MARKS)
    assert any(not np.array_equal(one, other) for one, other in zip(seen[::2], seen[1::2], strict=True))


@pytest.mark.parametrize("by_index", [False, True], ids=["column", "index"])
def test_answers_are_lazy_frames(client, by_index):
    frame = framed(DATA, ["person", "day", "x", "mood"])
    whole = frame.compute()
    if by_index:
        frame = frame.set_index("person", divisions=None)
    model = fitted(hs.HMM(2, "auto", **OPTIONS), frame, **MARKS)
    ordered = whole if not by_index else frame.compute().reset_index()
    states = model.predict(frame, **MARKS)
    assert isinstance(states, dd.Series)
    assert_array_equal(states.compute(), model.predict(ordered, **MARKS))
    assert_array_equal(states.compute().index, frame.compute().index)
    for name in ("predict_proba", "filter"):
        shares = getattr(model, name)(frame)
        assert list(shares.columns) == list(model.state_names_)
        assert_allclose(shares.compute(), getattr(model, name)(ordered), rtol=1e-9)
    filled = model.impute(frame).compute()
    pd.testing.assert_frame_equal(filled.reset_index(drop=not by_index), model.impute(ordered.reset_index(drop=True)))
    scores = model.score_samples(frame).compute()
    expected = dict(zip(ordered["person"].drop_duplicates(), model.score_samples(ordered), strict=True))
    assert scores.to_dict() == pytest.approx(expected, rel=1e-12)
    assert model.score(frame) == pytest.approx(model.score(ordered), rel=1e-12)
    assert model.bic(frame) == pytest.approx(model.bic(ordered), rel=1e-12)
    assert model.bic(frame, unit="sequences") == pytest.approx(model.bic(ordered, unit="sequences"), rel=1e-12)
    assert model.icl(frame) == pytest.approx(model.icl(ordered), rel=1e-10)
    paths, best = model.decode(frame), model.decode(ordered)
    assert_array_equal(paths.states.compute(), best.states)
    expected = dict(zip(ordered["person"].drop_duplicates(), best.log_probability, strict=True))
    assert paths.log_probability.compute().to_dict() == pytest.approx(expected, rel=1e-12)


def test_draws_differ_between_partitions_and_not_between_evaluations():
    part = pd.DataFrame({"person": ["p1"] * 5, "day": range(5), "x": np.nan})
    frame = dd.concat([dd.from_pandas(part.assign(person=name), npartitions=1) for name in "abc"])
    model = fitted(hs.HMM(2, **OPTIONS), DATA[["person", "day", "x"]], **MARKS)
    drawn = model.impute(frame, draw=True, random_state=0)
    values = drawn.compute()["x"]
    assert len(set(values)) == 15
    assert_array_equal(values, drawn.compute()["x"])


def test_a_sequence_in_two_partitions_is_refused():
    frame = dd.from_pandas(DATA[["person", "day", "x"]], npartitions=4, sort=False)
    said = r"sequence 'p\d+' is in partitions \d and \d\. .*frame.shuffle\('person'\)"
    with pytest.raises(DataError, match=said):
        fitted(hs.HMM(2), frame, **MARKS)
    whole = frame.shuffle("person")
    model = fitted(hs.HMM(2, **OPTIONS), whole, **MARKS)
    for ask in (model.predict, model.score_samples, model.score, model.bic):
        with pytest.raises(DataError, match=said):
            ask(frame)
    assert len(model.predict(whole)) == len(DATA)


def test_what_cannot_be_done_is_refused():
    frame = framed(DATA, ["person", "day", "x", "weight"])
    with pytest.raises(ParameterError, match=r"groups: .* give the name of a column, not nothing"):
        hs.HMM(2).fit(frame)
    with pytest.raises(ParameterError, match="time='when': there is no such column"):
        hs.HMM(2).fit(frame, groups="person", time="when")
    with pytest.raises(ParameterError, match=r"lengths=: .* give groups="):
        hs.HMM(2).fit(frame, lengths=[3], groups="person")
    uneven = framed(DATA.assign(weight=np.arange(len(DATA)) + 1.0), ["person", "day", "x", "weight"])
    with pytest.raises(DataError, match=r"sequence 'p\d+' has steps of weight .*one weight"):
        hs.HMM(2).fit(uneven, **MARKS, sample_weight="weight")
    impossible = {"mood": {"low": [1.0, 1.0], "high": [0.0, 0.0], "so-so": [0.0, 0.0]}}
    with pytest.raises(FitError, match=r"\d+ sequences have probability zero at the start of the fit"):
        hs.HMM(2, "categorical", start=impossible, prior=None).fit(framed(DATA, ["person", "day", "mood"]), **MARKS)


def test_an_interrupted_fit_resumes_from_its_checkpoint(tmp_path):
    model, frame = CASES["mixed"][0], framed(DATA, ["person", "day", "x", "mood"])
    undisturbed, passes = fitted(model, lanes(frame, {}), **MARKS), []

    def stop(*_):
        passes.append(1)
        if len(passes) == 4:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"), hs.checkpoint(tmp_path / "fit.ckpt"), watching(stop):
        fitted(model, lanes(frame, {}), **MARKS)
    with hs.checkpoint(tmp_path / "fit.ckpt"):
        same_bits(fitted(model, lanes(frame, {}), **MARKS), undisturbed)
