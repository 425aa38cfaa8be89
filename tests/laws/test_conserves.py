"""The law of conservation: statistics sum to what was seen, in every mode."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfseen.assign import HARD, SOFT, Assign
from halfseen.engine.tables.mixture import Mixture
from halfseen.leaves import Bernoulli, Binomial, Categorical, Gaussian, Multinomial, Normal, Poisson, Product
from halfseen.leaves.coarse import Coarse
from halfseen.leaves.gamma import Gamma
from halfseen.leaves.inflated import ZeroInflated
from halfseen.leaves.lognormal import LogNormal
from halfseen.leaves.negbin import NegBin
from halfseen.leaves.wrappers import Wrapped
from tests.laws.closeness import close
from tests.laws.models import every_model
from tests.strategies import examples


def check(leaf, stats, params, data, weight):
    """Walk down a leaf: the statistics of all its components together are those of the rows."""
    if isinstance(leaf, Wrapped):
        check(leaf.leaf, stats, params, data, weight)
    elif isinstance(leaf, Product):
        for name, part in leaf.leaves.items():
            check(part, leaf.view(stats)[name], params[name], data[name], weight)
    elif isinstance(leaf, Mixture):
        parts = leaf.view(stats)
        close(parts["mix"][: leaf.n_components].sum(), weight.sum())
        check(leaf.leaves["emit"], parts["emit"], params["emit"], data, weight)
    elif isinstance(leaf, Bernoulli):
        close(stats[:, 1::2].sum(axis=0), weight @ data.matrix().toarray())
        close((stats[:, 0::2] + stats[:, 1::2]).sum(axis=0), np.full(data.n_words, weight.sum()))
    elif isinstance(leaf, Multinomial):
        close(stats.sum(axis=0), weight @ data.matrix().toarray())
    elif isinstance(leaf, Categorical):
        for codes, counts in zip(data.T, np.split(stats.sum(axis=0), leaf.offsets[1:-1]), strict=True):
            close(counts, [weight[codes == v].sum() for v in range(len(counts))])
    elif isinstance(leaf, Normal):
        check_normal(leaf, stats, params, data, weight)
    elif isinstance(leaf, ZeroInflated):
        close(stats[0].sum(axis=0), weight @ ~np.isnan(data))
        close(stats[1] + stats[2], stats[0])
        close(stats[3].sum(axis=0), weight @ np.nan_to_num(data))
    else:
        seen = ~np.isnan(data)
        close(stats[0].sum(axis=0), weight @ seen)
        total = weight @ np.where(seen, data, 0.0)
        if isinstance(leaf, Poisson | NegBin | Binomial):
            close(stats[1].sum(axis=0), total)
        if isinstance(leaf, Binomial):
            close(stats[2].sum(axis=0), leaf.trials * (weight @ seen) - total)
        if isinstance(leaf, LogNormal):
            total = weight @ np.where(seen, np.log(np.where(seen, data, 1.0)), 0.0)
        if isinstance(leaf, Gamma):
            close((params.mean * (stats[0] + stats[1])).sum(axis=0), total)
        if isinstance(leaf, Gaussian) and not isinstance(leaf, Coarse):
            close((stats[1] + params.mean * stats[0]).sum(axis=0), total)


def check_normal(leaf, stats, params, data, weight):
    """Mass is that of rows with any observed cell; fully observed tables have their sums and sums of squares."""
    parts = leaf.parts(stats)
    close(parts.mass.sum(), weight[~np.isnan(data).all(axis=1)].sum())
    if not np.isnan(data).any():
        raw = parts.first + parts.mass[:, None] * params.mean
        close(raw.sum(axis=0), weight @ data)
        second = parts.second + params.mean[:, :, None] * raw[:, None] + parts.first[:, :, None] * params.mean[:, None]
        close(second.sum(axis=0), (weight[:, None] * data).T @ data)


@every_model("rows")
@pytest.mark.parametrize("assign", [SOFT, HARD, Assign("sample"), Assign("sample", draws=3)], ids=str)
@examples(4)
@given(data=st.data())
def test_statistics_sum_to_what_was_seen(entry, assign, data):
    case = data.draw(entry.cases)
    step = case.step(assign)
    close(case.model.view(step.expected.stats)["mix"][:1].sum(), case.table.weight.sum())
    check(case.model, step.expected.stats, case.params, case.table.blocks, case.table.weight)


@every_model("rows", "closed")
@examples(4)
@given(data=st.data())
def test_probabilities_still_sum_to_one_after_a_step(entry, data):
    case = data.draw(entry.cases)
    after = case.model.improved(case.step())
    close(after["mix"].sum(axis=1), np.ones(len(after["mix"])))
    assert np.all(after["mix"] >= 0)
