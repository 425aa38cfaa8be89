"""Laws of constraints over whole runs: frozen keeps its bits, tied stays equal, floored stays above, leaping or not."""

import numpy as np
from hypothesis import given

from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.leaves import Categorical, Floored, Frozen, Gaussian, Tied
from halfseen.leaves.leaf import arrays
from halfseen.leaves.wrappers import Wrapped
from tests.laws.models import MODELS, mixtures, tied_components
from tests.strategies import examples, generators

BY_NAME = {entry.name: entry.cases for entry in MODELS}


def run(case, n_passes=20):
    """Return the parameters after a run that may leap."""
    chain = EMRun(case.model, case.params, squarem=Squarem(), max_iter=n_passes)
    for _ in em(lambda chains: evaluate(case.model, case.data(), [chains[0].params]), [chain]):
        pass
    return chain.params


def wrappers(case, kind):
    """Return the wrapped leaves of a kind, each with its parameters before and after a run."""
    after = run(case)
    for name, leaf in case.model.leaves["emit"].leaves.items():
        while isinstance(leaf, Wrapped):
            if isinstance(leaf, kind):
                yield leaf, case.params["emit"][name], after["emit"][name]
            leaf = leaf.leaf


@examples(10)
@given(BY_NAME["frozen blocks"])
def test_a_frozen_leaf_keeps_every_bit(case):
    for _, before, after in wrappers(case, Frozen):
        for one, other in zip(arrays(before), arrays(after), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


@examples(10)
@given(BY_NAME["frozen entries"])
def test_frozen_entries_keep_every_bit(case):
    for leaf, before, after in wrappers(case, Frozen):
        for mask, one, other in zip(arrays(leaf.fixed), arrays(before), arrays(after), strict=True):
            np.testing.assert_array_equal(one[mask], other[mask], strict=True)


@examples(10)
@given(BY_NAME["frozen entries"], generators)
def test_a_leap_keeps_every_bit_of_frozen_entries(case, rng):
    """Whatever the vector says of them, in whatever units."""
    vector = case.model.pack(case.params)
    leap = case.model.unpack(vector + rng.normal(size=vector.shape), case.params)
    for name, leaf in case.model.leaves["emit"].leaves.items():
        fixed, before, after = leaf.fixed, case.params["emit"][name], leap["emit"][name]
        for mask, one, other in zip(arrays(fixed), arrays(before), arrays(after), strict=True):
            np.testing.assert_array_equal(one[mask], other[mask], strict=True)


@examples(10)
@given(BY_NAME["frozen weights"])
def test_frozen_weights_keep_every_bit(case):
    np.testing.assert_array_equal(run(case)["mix"], case.params["mix"], strict=True)


@examples(10)
@given(mixtures(wrap=tied_components, prior="row"))
def test_tied_components_stay_equal_to_the_last_bit(case):
    for leaf, _, after in wrappers(case, Tied):
        groups = np.array(leaf.components)
        for array in arrays(after):
            for group in set(leaf.components):
                assert np.all(array[groups == group] == array[groups == group][0])


@examples(10)
@given(BY_NAME["tied cells"])
def test_tied_cells_stay_equal_to_the_last_bit(case):
    for leaf, _, after in wrappers(case, Tied):
        for group in leaf.cells:
            assert np.all(after[:, group] == after[:, group[:1]])


@examples(10)
@given(BY_NAME["floored"])
def test_nothing_falls_below_its_floor(case):
    for leaf, _, after in wrappers(case, Floored):
        inside = leaf.leaf
        while isinstance(inside, Wrapped):
            inside = inside.leaf
        if isinstance(inside, Categorical):
            lowest = leaf.floor
        else:
            lowest = leaf.floor * inside.scale ** (2 if isinstance(inside, Gaussian) else 1)
        assert np.all(arrays(after)[-1] >= np.multiply(lowest, 1 - 1e-12))
