"""The law of missing values: nothing hidden is counting, nothing observed is no information."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from halfseen.assign import HARD, SOFT, Assign
from halfseen.data import Evidence
from halfseen.data.counts import Counts
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.tables.preprocess import reduce
from halfseen.leaves.logit import BLOCK
from tests.laws.closeness import close, same_step
from tests.laws.models import every_model
from tests.reference.enumerate import rows_of
from tests.strategies import anywhere, examples, generators


def labelled(case, rng, share=1.0):
    """Return the case with the component of each row (or of a share of them) known."""
    n_components = case.params["mix"].shape[1]
    patterns = np.vstack([np.zeros(n_components), np.where(np.eye(n_components), 0.0, -np.inf)])
    index = 1 + rng.integers(0, n_components, case.table.n_rows)
    index[rng.random(case.table.n_rows) >= share] = 0
    return case.but(table=replace(case.table, evidence=Evidence(patterns, index.astype(np.int32))))


def nested(case):
    return not all(len(way.hidden) == 1 for way in rows_of(case.model, case.params, _one_row(case))[0])


def _one_row(case):
    row = case.table.take([0])
    row.weight[:] = 1.0
    return row


@every_model("whole", "rows", "closed")
@pytest.mark.parametrize("assign", [SOFT, HARD, Assign("sample")], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data(), rng=generators)
def test_with_nothing_hidden_a_step_is_counting(entry, assign, data, rng):
    """Whatever the parameters, statistics are those of the completed rows and one step is their estimate."""
    case = labelled(data.draw(entry.cases), rng)
    if nested(case) or case.model.leaves["emit"].settled(case.table.blocks) is not None:
        return  # something is still hidden inside: a component, or cells on which others depend
    ways = [[way for way in row if way.log_joint > -np.inf] for row in rows_of(case.model, case.params, case.table)]
    assert all(len(row) == 1 for row in ways)
    counted = sum((row[0].stats for row in ways), np.zeros(case.model.stats_shape))
    step = case.step(assign)
    close(step.expected.stats, counted)
    other = anywhere(case.model, rng)
    again = case.model.recentre(case.step(assign, other).expected.stats, other, case.params)
    close(again, counted, 1e-8)
    estimate = case.model.improved(Step(case.params, replace(step.expected, stats=counted)))
    close(case.model.improved(step), estimate, 1e-8)


@every_model("rows")
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data(), rng=generators)
def test_counting_known_rows_once_changes_nothing(entry, assign, data, rng):
    case = labelled(data.draw(entry.cases), rng, share=0.6)
    if nested(case):
        return
    [quick] = evaluate(case.model, reduce(case.model, case.table), [case.params], assign)
    same_step(quick, case.step(assign), 1e-8)


@every_model("rows", "holes")
@examples(4)
@given(data=st.data())
def test_a_row_without_observed_cells_has_loglik_zero(entry, data):
    case = blind(data.draw(entry.cases))
    step = case.step()
    close(step.loglik, 0.0)
    total = case.table.weight.sum()
    if case.params["mix"].min() >= 0 and len(case.params["mix"]) == 1:  # weights that depend on nothing
        close(case.model.view(step.expected.stats)["mix"][0], total * case.params["mix"][0])


def blind(case):
    """Return the case with all cells erased and no labels."""
    blocks = {name: hole_like(block) for name, block in case.table.blocks.items() if name != BLOCK}
    blocks |= {BLOCK: case.table.blocks[BLOCK]} if BLOCK in case.table.blocks else {}
    return case.but(table=replace(case.table, blocks=blocks, evidence=None))


def hole_like(block):
    """Return a block without any observed cell: of text, one without words."""
    if isinstance(block, Counts):
        return Counts.of(csr_array(block.shape))
    return np.full_like(block, -1 if block.dtype.kind == "i" else np.nan)


@every_model("rows", "holes")
@examples(2)
@given(data=st.data())
def test_rows_without_observed_cells_leave_the_fixed_point(entry, data):
    """At a fixed point without a prior such rows change nothing: their usage is the mixing weights themselves."""
    case = data.draw(entry.cases)
    params = case.params
    for _ in range(60):
        params = case.model.improved(case.step(params=params))
    case = case.but(params=params)
    still = case.model.improved(case.step())
    if np.abs(case.model.pack(still) - case.model.pack(params)).max(initial=0.0) > 1e-12:
        return  # not there yet
    if case.model.prior(params) is not None:
        return  # a prior pulls less when there are more rows
    added = case.step().expected + blind(case).step().expected
    close(case.model.improved(Step(params, added)), params, 1e-8)


@every_model("rows")
@examples(4)
@given(data=st.data())
def test_a_missing_cell_is_summed_out(entry, data):
    """The evidence of a hole is the sum over the categories it may have had."""
    case = data.draw(entry.cases)
    if "categorical" not in case.table.blocks:
        return
    [column, *_] = case.table.schema.block_columns("categorical")
    if not column.categories:
        return
    logliks = []
    for code in range(len(column.categories)):
        codes = case.table.blocks["categorical"].copy()
        codes[:, 0] = code
        filled = replace(case.table, blocks={**case.table.blocks, "categorical": codes})
        logliks.append(evidences(case.but(table=filled)))
    erased = case.table.blocks["categorical"].copy()
    erased[:, 0] = -1
    hole = replace(case.table, blocks={**case.table.blocks, "categorical": erased})
    close(np.logaddexp.reduce(logliks, axis=0), evidences(case.but(table=hole)), 1e-9)


def evidences(case):
    """Return the log-evidence of each row."""
    model = case.model
    labels = None if case.table.evidence is None else case.table.evidence.log_evidence
    outer = np.ones((case.table.n_rows, 1))
    return model.infer(model.prepare(case.params), case.table.blocks, outer, SOFT, labels).log_evidence[:, 0]
