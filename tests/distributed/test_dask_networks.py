"""Networks of Dask frames: the same bits as the same partitions in this process, and the tables of a local fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.engine.loop.em import Gather
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.engine.tables.lanes import OverReduced
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.runners.local import LocalCluster
from tests.distributed.clusters import Shuffled, fitted, lanes

dd = pytest.importorskip("dask.dataframe", reason="needs dask")

COLUMNS = ["season", "rain", "wet", "slippery"]
EDGES = "season -> rain; season -> C; rain -> wet; C -> wet; wet -> slippery"
KNOWN = "season -> rain -> wet -> slippery"
OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 40}


def table(n_rows=3000):
    rng = np.random.default_rng(1)
    season = rng.integers(0, 3, n_rows)
    rain = rng.random(n_rows) < np.array([0.7, 0.2, 0.4])[season]
    sprinkler = rng.random(n_rows) < np.array([0.1, 0.8, 0.3])[season]
    wet = rng.random(n_rows) < np.where(rain | sprinkler, 0.9, 0.1)
    slippery = rng.random(n_rows) < np.where(wet, 0.7, 0.05)
    df = pd.DataFrame(
        {"season": np.array(["dry", "hot", "mild"])[season], "rain": rain, "wet": wet, "slippery": slippery}
    ).astype({"rain": object, "wet": object, "slippery": object})
    return df.mask(rng.random(df.shape) < 0.1).assign(weight=rng.integers(0, 3, n_rows) * 1.0)


DATA = table()

CASES = {
    "soft": (hs.BayesNet(EDGES, hidden={"C": 2}, **OPTIONS), None),
    "hard": (hs.BayesNet(EDGES, hidden={"C": 2}, assign="hard", **OPTIONS), None),
    "sample": (hs.BayesNet(EDGES, hidden={"C": 2}, assign="sample", **OPTIONS | {"max_iter": 6}), None),
    "missing": (hs.BayesNet(KNOWN, **OPTIONS), None),
    "weights": (hs.BayesNet(KNOWN, prior="bdeu", **OPTIONS), "weight"),
    "sizes": (hs.BayesNet(EDGES, hidden={"C": [1, 2]}, **OPTIONS), "weight"),
}


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request):
    model, weight = CASES[request.param]
    columns = COLUMNS if weight is None else [*COLUMNS, weight]
    return model, dd.from_pandas(DATA[columns], npartitions=5), weight


def same_bits(one, other):
    assert one.loglik_ == other.loglik_
    assert one.trace_ == other.trace_
    assert_array_equal(one._params["tables"], other._params["tables"])
    assert_array_equal(one._stats, other._stats)


def test_the_same_partitions_give_the_same_bits_with_any_workers(client, case):
    model, frame, weight = case
    same_bits(fitted(model, frame, sample_weight=weight), fitted(model, lanes(frame, weight)))


def test_threads_and_the_order_of_arrival_change_no_bit(case):
    model, frame, weight = case
    here = fitted(model, lanes(frame, weight))
    same_bits(here, fitted(model, lanes(frame, weight, n_jobs=3)))
    same_bits(here, fitted(model, lanes(frame, weight, cluster=Shuffled)))


def test_lanes_agree_with_one_table(case):
    model, frame, weight = case
    if model.assign == "sample":
        pytest.skip("draws belong to chunks, and these differ")
    there = fitted(model, lanes(frame, weight))
    here = fitted(model, DATA[COLUMNS], sample_weight=None if weight is None else DATA[weight].to_numpy())
    assert_allclose(there.loglik_, here.loglik_, rtol=1e-10)
    assert_allclose(there._params["tables"], here._params["tables"], rtol=1e-6, atol=1e-9)
    assert there.bic() == pytest.approx(here.bic(), rel=1e-10)
    assert there.events_ == here.events_


def test_complete_rows_are_counted_without_a_pass():
    whole = DATA[COLUMNS].dropna()
    there = fitted(hs.BayesNet(KNOWN), lanes(dd.from_pandas(whole, npartitions=4)))
    here = fitted(hs.BayesNet(KNOWN), whole)
    assert_allclose(there._params["tables"], here._params["tables"], rtol=1e-12)
    assert there.n_iter_ == here.n_iter_


def test_sampled_draws_differ_between_lanes():
    part = DATA[COLUMNS][:200]
    seen = []

    class Watched(LocalCluster):
        def answers(self, job, first_chunks):
            for answer in super().answers(job, first_chunks):
                if isinstance(job, OverReduced) and isinstance(job.task, Gather) and job.task.assign.mode == "sample":
                    seen.append(answer.value[0].stats)
                yield answer

    model = hs.BayesNet(EDGES, hidden={"C": 2}, assign="sample", n_init=1, max_iter=2, random_state=0)
    fitted(model, LaneSource(Watched([part, part.copy()])))
    assert any(not np.array_equal(one, other) for one, other in zip(seen[::2], seen[1::2], strict=True))


def test_answers_are_lazy_frames(client):
    frame = dd.from_pandas(DATA[COLUMNS].set_index(np.arange(len(DATA)) * 2), npartitions=4)
    model, whole = fitted(CASES["soft"][0], frame), frame.compute()
    for arguments, columns in (((), ["0", "1"]), (("season",), ["dry", "hot", "mild"])):
        shares = model.predict_proba(frame, *arguments)
        assert list(shares.columns) == columns
        assert_allclose(shares.compute(), model.predict_proba(whole, *arguments), rtol=1e-12)
    states = model.predict(frame, variable="season")
    assert_array_equal(states.compute(), model.predict(whole, variable="season"))
    assert_array_equal(states.compute().index, whole.index)
    assert_allclose(model.score_samples(frame).compute(), model.score_samples(whole), rtol=1e-12)
    pd.testing.assert_frame_equal(model.impute(frame).compute(), model.impute(whole))
    assert model.score(frame) == pytest.approx(model.score(whole), rel=1e-12)
    assert model.bic(frame) == pytest.approx(model.bic(whole), rel=1e-12)


def test_what_cannot_be_done_is_refused():
    frame = dd.from_pandas(DATA, npartitions=3)
    model = hs.BayesNet(KNOWN)
    with pytest.raises(DataError, match="column 'weight' is not in the network"):
        model.fit(frame)
    with pytest.raises(ParameterError, match="evidence=: arrays on this machine"):
        model.fit(frame, sample_weight="weight", evidence={"rain": np.ones((len(DATA), 2))})
    with pytest.raises(DataError, match="has no observed cell"):
        model.fit(frame[COLUMNS].assign(wet=None))
    impossible = {"season": [0.5, 0.5, 0.0]}
    with pytest.raises(FitError, match=r"a row \([\d,]+ of [\d,]+\) has probability zero at the start"):
        hs.BayesNet(KNOWN, start=impossible, prior=None).fit(frame[COLUMNS])
