"""Word alignment of the Canadian Hansards: published error rates, and those of our own fits."""

import pytest

import halfseen as hs
from halfseen.families.words.link_scores import compared
from tests.shared_data import shared_data

pytestmark = pytest.mark.thorough
PUBLISHED = {  # alignment error rates of links that others made
    "lilt.giza.enfr.talp": 0.0799,
    "lilt.giza.enfr.gd.talp": 0.0594,
    "lilt.fastalign.enfr.talp": 0.1639,
    "ibm1.mle.naacl": 0.2852,
    "ibm2.mle.naacl": 0.2047,
}
OF_A_SAMPLER = 0.140  # of an HMM aligner trained on the same pairs by Gibbs sampling


def sentences(name):
    with open(shared_data(f"hansards/{name}"), encoding="utf-8", errors="replace") as file:
        return [line.lower().split() for line in file]


@pytest.fixture(scope="module")
def gold():
    return hs.read_gold(shared_data("hansards/test.wa.nonullalign"), 447)


@pytest.fixture(scope="module")
def corpus():
    return tuple([s for part in ("train", "dev", "test") for s in sentences(f"{part}.{side}")] for side in "ef")


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_scorer_gives_published_rates(gold, name):
    found = hs.read_gold(shared_data(f"hansards/{name}"), 447 if name.endswith("naacl") else None)
    scores = compared(found.possible, gold)
    assert scores.aer == pytest.approx(PUBLISHED[name], abs=5e-5)
    if name == "lilt.giza.enfr.talp":
        assert (scores.precision, scores.recall) == (pytest.approx(0.9142, abs=5e-5), pytest.approx(0.9289, abs=5e-5))


def test_model_one_as_others_have_it(gold, corpus):
    found = hs.WordAligner("ibm1", agreement=False, max_iter=11, n_jobs=2).fit(*corpus)
    trace = found.stages_[0]["trace"]
    assert trace[0] == pytest.approx(-533174.605, abs=5e-4)
    assert trace[4] == pytest.approx(-223661.787, abs=5e-4)
    assert trace[9] == pytest.approx(-217970.339, abs=5e-4)
    pairs = [side[-447:] for side in corpus]
    for how, rate in (("forward", 0.4256), ("reverse", 0.3870), ("intersection", 0.3017)):
        # equally probable links may be chosen otherwise
        assert compared(found.align(*pairs, symmetrize=how), gold).aer == pytest.approx(rate, abs=1e-3)


def test_directions_that_agree_beat_a_sampler(gold, corpus):
    found = hs.WordAligner("hmm", n_jobs=2).fit(*corpus)
    pairs = [side[-447:] for side in corpus]
    rates = {how: compared(found.align(*pairs, symmetrize=how), gold).aer for how in ("forward", "reverse")}
    assert max(rates.values()) <= OF_A_SAMPLER
    assert compared(found.align(*pairs), gold).aer <= 0.11
