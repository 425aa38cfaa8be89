"""Sentences in Dask frames: the same bits as the same partitions in this process, and the rules of a local fit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.engine.loop.em import Gather
from halfseen.engine.services.progress import watching
from halfseen.engine.tables.lanes import OverReduced
from halfseen.errors import DataError, DataTypeError, ImpossibleRowWarning, ParameterError, UnknownCategoryWarning
from halfseen.runners.local import LocalCluster
from tests.distributed.clusters import Shuffled, partitions

dd = pytest.importorskip("dask.dataframe", reason="needs dask")

RULES = """
S -> NP VP
VP -> V NP | VP PP
NP -> NP PP | 'astronomers' | 'ears' | 'saw' | 'stars' | 'telescopes'
PP -> P NP
P -> 'with'
V -> 'saw'
"""
OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 8, "tol": 1e-4}


def table(n_sentences=150):
    drawn, trees = hs.PCFG.from_string(RULES, random_state=3).sample(n_sentences, random_state=1, max_length=10**4)
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "text": [" ".join(words) for words in drawn],
            "times": rng.integers(0, 3, n_sentences) * 1.0,
            "phrases": [_bracketed(tree) if rng.random() < 0.3 else None for tree in trees],
        }
    )


def _bracketed(tree):
    inside = [part if isinstance(part, str) else _bracketed(part) for part in tree.children]
    return f"({' '.join(inside)})" if len(inside) > 1 else inside[0]


DATA = table()

CASES = {
    "soft": (hs.PCFG(RULES, **OPTIONS), {}),
    "hard": (hs.PCFG(RULES, assign="hard", **OPTIONS), {}),
    "sample": (hs.PCFG(RULES, assign="sample", **OPTIONS), {}),
    "weights": (hs.PCFG(RULES, prior=None, **OPTIONS), {"sample_weight": "times"}),
    "brackets": (hs.PCFG(RULES, **OPTIONS), {"brackets": "phrases"}),
}


class Held:
    """Partitions in this process, as a frame that others hold."""

    def __init__(self, frame, cluster=LocalCluster, n_jobs=None):
        self.__halfseen_cluster__ = cluster(partitions(frame), n_jobs)


def fitted(model, frame, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(frame, **given)


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request):
    model, roles = CASES[request.param]
    return model, dd.from_pandas(DATA[["text", *roles.values()]], npartitions=4), roles


def same_bits(one, other):
    assert one.loglik_ == other.loglik_
    assert one.trace_ == other.trace_
    assert_array_equal(one._params["rules"], other._params["rules"])
    assert_array_equal(one._stats, other._stats)


def test_the_same_partitions_give_the_same_bits_with_any_workers(client, case):
    model, frame, roles = case
    same_bits(fitted(model, frame, **roles), fitted(model, Held(frame), **roles))


def test_threads_and_the_order_of_arrival_change_no_bit(case):
    model, frame, roles = case
    here = fitted(model, Held(frame), **roles)
    same_bits(here, fitted(model, Held(frame, n_jobs=3), **roles))
    same_bits(here, fitted(model, Held(frame, Shuffled), **roles))


def test_lanes_agree_with_one_corpus(case):
    model, frame, roles = case
    if model.assign == "sample":
        pytest.skip("draws belong to chunks, and these differ")
    given = {
        role: DATA[column].astype(object).where(DATA[column].notna(), None).tolist() for role, column in roles.items()
    }
    there, here = fitted(model, Held(frame), **roles), fitted(model, DATA["text"].tolist(), **given)
    assert_allclose(there.loglik_, here.loglik_, rtol=1e-10)
    assert_allclose(there._params["rules"], here._params["rules"], rtol=1e-6, atol=1e-9)
    assert there.bic() == pytest.approx(here.bic(), rel=1e-10)
    assert there._origin.fingerprint == here._origin.fingerprint


def test_sampled_draws_differ_between_lanes():
    seen = []

    class Watched(LocalCluster):
        def answers(self, job, first_chunks):
            for answer in super().answers(job, first_chunks):
                if isinstance(job, OverReduced) and isinstance(job.task, Gather) and job.task.assign.mode == "sample":
                    seen.append(answer.value[0].stats)
                yield answer

    twins = dd.concat([dd.from_pandas(DATA[["text"]], npartitions=1)] * 2)
    fitted(hs.PCFG(RULES, assign="sample", n_init=1, max_iter=3, random_state=0), Held(twins, Watched))
    assert any(not np.array_equal(one, other) for one, other in zip(seen[::2], seen[1::2], strict=True))


def test_scores_are_lazy_and_sums_are_those_of_one_corpus(client):
    series = dd.from_pandas(DATA["text"], npartitions=3)
    model = fitted(CASES["soft"][0], series)
    lazy, texts = model.score_samples(series), DATA["text"].tolist()
    assert isinstance(lazy, dd.Series)
    assert lazy.name == "loglik"
    assert_allclose(lazy.compute(), model.score_samples(texts), rtol=1e-12)
    assert_array_equal(lazy.compute().index, DATA.index)
    frame = dd.from_pandas(DATA, npartitions=3)  # the column is that of the fit
    assert_allclose(model.score_samples(frame).compute(), model.score_samples(texts), rtol=1e-12)
    assert model.score(series) == pytest.approx(model.score(texts), rel=1e-12)
    assert model.bic(series) == pytest.approx(model.bic(texts), rel=1e-12)
    weighted = model.score(texts, sample_weight=DATA["times"])
    assert model.score(frame, sample_weight="times") == pytest.approx(weighted, rel=1e-12)


def test_the_column_of_sentences_is_remembered_in_model_files(tmp_path):
    frame = dd.from_pandas(DATA[["text", "times"]], npartitions=2)
    model = fitted(CASES["weights"][0], frame, sample_weight="times")
    hs.save(model, tmp_path / "rules.halfseen")
    assert len(hs.load(tmp_path / "rules.halfseen").score_samples(frame)) == len(DATA)
    again = fitted(CASES["weights"][0], DATA["text"].tolist())
    with pytest.raises(DataError, match="one column must have them, and there are 2: text, times"):
        again.score_samples(frame)


# ---- sentences without a parse, unknown words ------------------------------------------------------------------------

LOST = pd.concat([DATA["text"][:40], pd.Series(["stars saw the moon", "saw"]), DATA["text"][40:60]], ignore_index=True)


def test_sentences_without_a_parse_are_named_as_locally():
    frame = dd.from_pandas(LOST, npartitions=3)
    model = hs.PCFG(RULES, **OPTIONS)
    with pytest.raises(DataError) as here:
        fitted(model, LOST.tolist())
    with pytest.raises(DataError) as there:
        fitted(model, frame)
    assert str(there.value) == str(here.value)
    assert "sentence 40 'stars saw the moon' (not in the grammar: 'the', 'moon'); sentence 41 'saw'" in str(here.value)
    skips = hs.PCFG(RULES, on_unparsable="skip", **OPTIONS)
    one, other = fitted(skips, frame), fitted(skips, LOST.tolist())
    assert one.unparsable_ == other.unparsable_ == [40, 41]
    assert one.events_ == other.events_
    assert_allclose(one.loglik_, other.loglik_, rtol=1e-10)
    assert one._n_rows == other._n_rows == 60
    for sentences in (frame, LOST.tolist()):
        with pytest.warns(ImpossibleRowWarning, match="left out: 2 of 62 sentences have no parse: sentence 40"):
            one.score(sentences)
    nothing = dd.from_pandas(LOST[40:42], npartitions=1)
    with pytest.raises(DataError, match=r"2 of 2 sentences .* There is nothing to fit"):
        fitted(skips, nothing)


def test_unknown_words_are_told_of_here():
    frame = dd.from_pandas(LOST[:41], npartitions=3)
    with pytest.warns(UnknownCategoryWarning, match="2 words are not in the grammar .*: 'moon', 'the'"):
        fitted(hs.PCFG(RULES, unknown="missing", on_unparsable="skip", **OPTIONS), frame)


@pytest.mark.parametrize(
    ("sentences", "given", "error", "said"),
    [
        (DATA[["text", "times"]], {}, DataError, "one column must have them, and there are 2: text, times"),
        (DATA[["text"]], {"sample_weight": np.ones(len(DATA))}, ParameterError, "sample_weight: .* name of a column"),
        (DATA[["text"]], {"sample_weight": "often"}, ParameterError, "sample_weight='often': there is no such column"),
        (DATA[["text"]], {"tags": ["N"] * len(DATA)}, ParameterError, "tags: .* give the name of a column"),
        (DATA[["text", "times"]][:0], {"sample_weight": "times"}, DataError, "no sentences that count"),
        (DATA[["text"]].assign(none=0.0), {"sample_weight": "none"}, DataError, "no sentences that count"),
        (
            pd.DataFrame({"text": ["stars saw stars", None, "ears saw ears"]}),
            {},
            DataError,
            "in each partition: sentence 1: None is not a text",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(sentences, given, error, said):
    with pytest.raises(error, match=said):
        hs.PCFG(RULES).fit(dd.from_pandas(sentences, npartitions=1), **given)


def test_trees_of_a_frame_are_refused():
    with pytest.raises(DataError, match="only fit, score and score_samples take a frame of Dask or Spark"):
        hs.PCFG.from_string(RULES, random_state=0).parse(dd.from_pandas(DATA, npartitions=1))


# ---- faults ----------------------------------------------------------------------------------------------------------


class Forgetful(LocalCluster):
    """Lanes are lost before every pass, and encoded again from partitions, which may have changed."""

    changed = None

    def encode(self, task, numbers):
        self.again = (task, numbers)
        super().encode(task, numbers)

    def answers(self, job, first_chunks):
        if isinstance(job, OverReduced) and isinstance(job.task, Gather):
            if self.changed is not None:
                self._partitions = [self.changed, *self._partitions[1:]]
            super().encode(*self.again)
        return super().answers(job, first_chunks)


def test_lanes_that_are_encoded_again_change_no_bit(case):
    model, frame, roles = case
    same_bits(fitted(model, Held(frame, Forgetful), **roles), fitted(model, Held(frame), **roles))


def test_partitions_that_change_are_refused():
    class Changing(Forgetful):
        changed = DATA[["text"]][:3]

    with pytest.raises(DataError, match="partition 0 was read again, after a worker was lost, and holds other rows"):
        fitted(CASES["soft"][0], Held(dd.from_pandas(DATA[["text"]], npartitions=2), Changing))


def test_an_interrupted_fit_resumes_from_its_checkpoint(tmp_path):
    model, frame = CASES["soft"][0], dd.from_pandas(DATA[["text"]], npartitions=3)
    undisturbed, passes = fitted(model, Held(frame)), []

    def stop(*_):
        passes.append(1)
        if len(passes) == 3:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"), hs.checkpoint(tmp_path / "fit.ckpt"), watching(stop):
        fitted(model, Held(frame))
    with hs.checkpoint(tmp_path / "fit.ckpt"):
        same_bits(fitted(model, Held(frame)), undisturbed)


def test_ray_is_refused_where_sentences_are_answered():
    class Dataset:
        pass

    Dataset.__module__ = "ray.data.dataset"
    with pytest.raises(DataTypeError, match="score_samples takes no Ray dataset"):
        hs.PCFG.from_string(RULES, random_state=0).score_samples(Dataset())
