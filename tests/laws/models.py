"""The models that every law runs on. Adding a model to the library means adding one entry to `MODELS`.

An entry has a name, a strategy of cases (model, table, parameters) and what the laws must know of it:

exchangeable   nothing but their parameters tells the components apart, so that they may be relabelled
holes          a row may have nothing observed, which then says nothing; words that are not there say something
whole          all weights are whole numbers, so that rows can be repeated instead (enumeration)
rows           every row has one hidden component; where not, units are sequences, and `tests/laws/test_chain.py` has
               the laws of their own
closed         the M-step has a closed form, and `complete` is the expected log-likelihood itself, not a lower bound
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from halfseen.assign import SOFT, Assign
from halfseen.data import Sequences, Table
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.estimators.table.emission_builder import Recipe, filled, summarise
from halfseen.families.hmm.model import HiddenMarkov
from halfseen.leaves import Categorical, Cells, Floored, Frozen, Gaussian, GaussianParams, NormalParams, Product, Tied
from halfseen.leaves.beta import Beta, BetaParams
from halfseen.leaves.coarse import Bands, Coarse, Grid
from halfseen.leaves.coarse import Limits as Detection
from halfseen.leaves.gamma import Exponential, Gamma, GammaParams
from halfseen.leaves.inflated import ZeroInflated
from halfseen.leaves.leaf import map_arrays
from halfseen.leaves.logit import BLOCK, Logit
from halfseen.leaves.lognormal import LogNormal
from halfseen.leaves.negbin import NegBin, NegBinParams
from halfseen.leaves.ordinal import Ordinal
from halfseen.structures.chain import MarkovChain
from halfseen.structures.independent import Independent
from tests.strategies import FRACTIONS, WHOLE, anywhere, generators, present, tables

_sizes = st.sampled_from([2, 3, 2, 3, 1])
_nested_sizes = st.sampled_from([(2, 2), (2, 2), (1, 2), (2, 1)])  # groups, components in each
FLOOR = 1e-3  # of a column's variance: no floor at all lets a component shrink onto one row without end


class Case(NamedTuple):
    """A model, a table for it, and parameters to start from."""

    model: Model
    table: Table | Sequences
    params: Any

    def data(self, size: int = 4096) -> Reduced:
        return Reduced(self.table.chunks(size))

    def step(self, assign: Assign = SOFT, params: Any = None, size: int = 4096, **how: Any) -> Step:
        """One pass over the table."""
        [step] = evaluate(self.model, self.data(size), [self.params if params is None else params], assign, **how)
        return step

    def but(self, **changes: Any) -> Case:
        return self._replace(**changes)


@dataclass(frozen=True)
class Entry:
    name: str
    cases: st.SearchStrategy[Case]
    exchangeable: bool = True
    whole: bool = True
    rows: bool = True
    holes: bool = True
    closed: bool = True


def every_model(*needs: str):
    """Run a law on every model that has all the properties it needs; `make quick` runs it on those of `EVERYDAY`."""
    entries = [
        pytest.param(entry, id=entry.name, marks=() if entry.name in EVERYDAY else pytest.mark.thorough)
        for entry in MODELS
        if all(getattr(entry, need) for need in needs)
    ]
    return pytest.mark.parametrize("entry", entries)


# ---- how cases are made ---------------------------------------------------------------------------------------------


def summary(table: Table):
    """Return the summary of a table; a column that does not vary gets the unit scale."""
    return filled(table.schema, summarise(table))


@st.composite
def mixtures(
    draw,
    kinds: str = "cgp",
    prior: Any = None,
    labels: bool = False,
    weights: tuple[float, ...] = WHOLE,
    fixed: tuple[str, ...] = (),
    offset: float = 0.0,
    wrap: Callable[[str, Any, np.random.Generator], Any] | None = None,
    covariance: str = "diag",
    presence: bool = False,
) -> Case:
    """Draw a mixture over a table as the estimators build it; `wrap(block, leaf, rng)` may replace its leaves."""
    n_components = draw(_sizes)
    labelled = n_components if labels else None
    table = draw(tables(kinds, weights=weights, n_labels=labelled, offset=offset))
    table = present(table) if presence else table
    model = Recipe(table.schema, summary(table), n_components, prior, FLOOR, fixed, covariance=covariance).model()
    if wrap is not None:
        emit, rng = model.leaves["emit"], draw(generators)
        wrapped = {name: wrap(name, leaf, rng) for name, leaf in emit.leaves.items()}
        model = replace(model, leaves={**model.leaves, "emit": replace(emit, leaves=wrapped)})
    return Case(model, table, anywhere(model, draw(generators)))


def frozen_entries(block, leaf, rng):
    """Freeze some cells, means, variances, rates or sizes."""
    inside = leaf.leaf if isinstance(leaf, Floored) else leaf
    if isinstance(inside, ZeroInflated):
        return Frozen(leaf, map_arrays(lambda part: rng.random(part.shape) < 0.4, inside.blank()))
    shape = inside.stats_shape if isinstance(inside, Categorical) else inside.stats_shape[1:]
    mask = rng.random((2, *shape)) < 0.4
    pairs = {Gaussian: GaussianParams, NegBin: NegBinParams, Coarse: GaussianParams}
    pairs |= {LogNormal: GaussianParams, Gamma: GammaParams, Exponential: GammaParams, Beta: BetaParams}
    return Frozen(leaf, pairs[type(inside)](*mask) if type(inside) in pairs else mask[0])


def clustered(block, leaf, rng):
    """Let counts be negative binomial."""
    if block != "poisson":
        return leaf
    return NegBin(leaf.n_components, leaf.scale, rng.choice([0.3, 2.0, 50.0], len(leaf.scale)), leaf.pseudo)


def coarse(block, leaf, rng):
    """Let numbers be rounded, in bands or beyond limits of detection; cells are quarters from -3 to 3."""
    if block != "gaussian":
        return leaf
    if isinstance(leaf, Floored):
        return replace(leaf, leaf=coarse(block, leaf.leaf, rng))
    how = (Grid(0.25), Bands((-1.0, 0.1, 2.0)), Detection(-1.0, 2.0), Detection(0.5))[rng.integers(4)]
    return Coarse(leaf.n_components, leaf.centre, leaf.scale, leaf.pseudo, leaf.least, how)


def inflated(block, leaf, rng):
    """Let some zeros of counts be structural."""
    if block != "poisson":
        return leaf
    return ZeroInflated(leaf, rng.choice([0.1, 0.5, 0.9], len(leaf.scale)), leaf.pseudo)


def ordered(block, leaf, rng):
    """Let categories be ordered, with proportional odds."""
    return Ordinal(leaf.n_components, leaf.cardinalities, leaf.pseudo) if block == "categorical" else leaf


def and_then(*wraps):
    """Wrap leaves in one way after the other."""

    def wrap(block, leaf, rng):
        for each in wraps:
            leaf = each(block, leaf, rng)
        return leaf

    return wrap


def frozen_normal(block, leaf, rng):
    """Freeze some means and some covariances."""
    fixed = rng.random((2, leaf.n_components)) < 0.4
    parts = zip(fixed, leaf.blank(), strict=True)
    masks = [np.broadcast_to(mask.reshape(-1, *[1] * (part.ndim - 1)), part.shape) for mask, part in parts]
    return Frozen(leaf, NormalParams(*masks))


def frozen_whole(block, leaf, rng):
    """Freeze every block but the first."""
    return leaf if block == "categorical" else Frozen(leaf)


def tied_components(block, leaf, rng):
    """Let components share their parameters by groups."""
    return Tied(leaf, components=rng.integers(0, 2, leaf.n_components).tolist())


def tied_cells(block, leaf, rng):
    """Let the first and the last cell of every column be equal."""
    if not isinstance(leaf, Categorical):
        return leaf
    ends = zip(leaf.offsets, leaf.offsets[1:] - 1, strict=False)
    return Tied(leaf, cells=[[int(first), int(last)] for first, last in ends if last > first])


def floored(block, leaf, rng):
    """Keep probabilities, rates and variances well above zero."""
    return Floored(leaf, rng.choice([0.01, 0.1, 0.25]))


def inner_mixture(emit, n_groups: int, n_inside: int) -> Mixture:
    """Return a leaf of `n_groups` components, each a mixture of its own."""
    return Mixture(Independent(n_groups), {"mix": Cells(n_groups, [n_inside]), "emit": emit})


@st.composite
def mixtures_of_mixtures(draw, prior: Any = None) -> Case:
    """Draw a class with several components: the emission of a mixture is a mixture."""
    n_groups, n_inside = draw(_nested_sizes)
    table = draw(tables("cg", most=6))
    flat = Recipe(table.schema, summary(table), n_groups * n_inside, prior, FLOOR).model()
    emit = inner_mixture(flat.leaves["emit"], n_groups, n_inside)
    model = Mixture(Independent(), {"mix": Cells(1, [n_groups], axes=(1,)), "emit": emit})
    return Case(model, table, anywhere(model, draw(generators)))


@st.composite
def products_with_mixtures(draw) -> Case:
    """Draw a product one of whose blocks is a mixture inside each component."""
    n_components, n_inside = draw(_nested_sizes)
    table = draw(tables("cgp", most=6, n_labels=n_components))
    outside = Recipe(table.schema, summary(table), n_components, None, FLOOR).model()
    wide = Recipe(table.schema, summary(table), n_inside * n_components, "row", FLOOR).model()
    inside = wide.leaves["emit"].leaves["gaussian"]
    blocks = {**outside.leaves["emit"].leaves, "gaussian": inner_mixture(inside, n_components, n_inside)}
    model = Mixture(Independent(), {**outside.leaves, "emit": Product(n_components, blocks)})
    return Case(model, table, anywhere(model, draw(generators)))


@st.composite
def classes_of_given_shares(draw) -> Case:
    """Draw a mixture of two classes whose shares are known, with two components in each."""
    table = draw(tables("cg", n_labels=4))
    share = draw(st.sampled_from([0.5, 0.9, 0.2]))
    masses = np.array([share, 1 - share])
    model = Recipe(table.schema, summary(table), 4, draw(st.sampled_from([None, 1.0])), FLOOR, masses=masses).model()
    return Case(model, table, anywhere(model, draw(generators)))


@st.composite
def with_covariates(draw, kinds: str = "cg", prior: Any = None, **how: Any) -> Case:
    """Draw a mixture whose weights depend on a number and a yes or no, which some rows share."""
    case = draw(mixtures(kinds, prior, **how))
    rng, size = draw(generators), case.model.leaves["emit"].n_components
    n_rows = len(case.table.weight)
    z = np.column_stack([np.ones(n_rows), rng.choice([-1.2, 0.3, 1.5], n_rows), rng.integers(0, 2, n_rows)])
    mix = Logit(size, np.array([1.0, 1.5, np.sqrt(2)]), None if prior is None else np.full(size, 0.5))
    model = replace(case.model, leaves={**case.model.leaves, "mix": mix})
    table = replace(case.table, blocks={**case.table.blocks, BLOCK: z})
    return Case(model, table, anywhere(model, draw(generators)))


@st.composite
def chains(
    draw,
    kinds: str = "cg",
    prior: Any = None,
    labels: bool = False,
    weights: tuple[float, ...] = WHOLE,
    topology: bool = False,
    last: bool = False,
    inside: int = 1,
    wrap: Callable[[str, Any, np.random.Generator], Any] | None = None,
    covariance: str = "diag",
) -> Case:
    """Draw a hidden Markov model over sequences of 1 to 4 steps.

    `topology` forbids some transitions, `last` expands a state into two that share their emissions, `inside` > 1 makes
    the emission of each state a mixture.
    """
    n_components = draw(_sizes)
    steps = draw(tables(kinds, most=8, n_labels=n_components if labels else None))
    rng = draw(generators)
    lengths = cuts(steps.n_rows, rng)
    table = Sequences.of(steps, lengths, rng.choice(weights, len(lengths)))
    flat = Recipe(steps.schema, summary(steps), n_components * inside, prior, FLOOR, covariance=covariance).model()
    emit = flat.leaves["emit"]
    if wrap is not None:
        emit = replace(emit, leaves={name: wrap(name, leaf, rng) for name, leaf in emit.leaves.items()})
    if inside > 1:
        emit = inner_mixture(emit, n_components, inside)
    owner = (0, *range(n_components)) if last else tuple(range(n_components))
    size = len(owner)
    pseudo = None if prior is None else np.full((size, size), 0.5)
    trans: Any = Cells(size, [size], pseudo, axes=(0, 1))
    leaves = {"start": Cells(1, [size], None if prior is None else pseudo[:1], axes=(1,)), "emit": emit}
    model = HiddenMarkov(MarkovChain(owner if last else None), {**leaves, "trans": trans})
    params = anywhere(model, draw(generators))
    if topology:
        allowed = np.triu(np.ones((size, size), dtype=bool))
        allowed[-1, 0] = True
        fixed = Frozen(Cells(size, [size], None if prior is None else pseudo * allowed, axes=(0, 1)), ~allowed)
        params["trans"] = trans.maximise(params["trans"] * allowed, params["trans"])
        model = replace(model, leaves={**model.leaves, "trans": fixed})
    return Case(model, table, params)


def cuts(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return lengths between 1 and 4 that add up to `n_rows`."""
    lengths = []
    while n_rows:
        lengths.append(int(rng.integers(1, min(4, n_rows) + 1)))
        n_rows -= lengths[-1]
    return np.array(lengths, dtype=np.int64)


MODELS = [
    Entry("categorical", mixtures("c")),
    Entry("gaussian", mixtures("g")),
    Entry("gaussian far from zero", mixtures("g", offset=1e8)),
    Entry("poisson", mixtures("p")),
    Entry("negative binomial", mixtures("p", wrap=clustered)),
    Entry("negative binomial and others, one pseudo-row", mixtures("cgp", "row", wrap=clustered)),
    Entry("negative binomial, labels, add one", mixtures("p", 1.0, labels=True, wrap=clustered)),
    Entry("negative binomial, fractions", mixtures("p", weights=FRACTIONS, wrap=clustered), whole=False),
    Entry(
        "negative binomial, frozen entries", mixtures("p", wrap=and_then(clustered, frozen_entries)), exchangeable=False
    ),
    Entry("negative binomial, tied", mixtures("p", wrap=and_then(clustered, tied_components)), exchangeable=False),
    Entry("negative binomial, floored", mixtures("p", wrap=and_then(clustered, floored))),
    Entry("zero-inflated Poisson and others, one pseudo-row", mixtures("cgp", "row", wrap=inflated)),
    Entry(
        "zero-inflated Poisson, frozen entries",
        mixtures("p", wrap=and_then(inflated, frozen_entries)),
        exchangeable=False,
    ),
    Entry(
        "zero-inflated Poisson, labels, tied, floored",
        mixtures("p", 1.0, labels=True, wrap=and_then(inflated, tied_components, floored)),
        exchangeable=False,
    ),
    Entry("zero-inflated negative binomial", mixtures("p", wrap=and_then(clustered, inflated))),
    Entry("ordinal", mixtures("c", wrap=ordered)),
    Entry("ordinal and others, one pseudo-row", mixtures("cgp", "row", wrap=ordered)),
    Entry("ordinal, labels, add one", mixtures("c", 1.0, labels=True, wrap=ordered)),
    Entry("ordinal, fractions", mixtures("c", weights=FRACTIONS, wrap=ordered), whole=False),
    Entry("ordinal, tied", mixtures("c", wrap=and_then(ordered, tied_components)), exchangeable=False),
    Entry("binomial", mixtures("b")),
    Entry("binomial and others, one pseudo-row", mixtures("cgb", "row")),
    Entry("binomial, labels, add one", mixtures("b", 1.0, labels=True)),
    Entry("binomial, fractions", mixtures("b", weights=FRACTIONS), whole=False),
    Entry("binomial, frozen entries", mixtures("b", wrap=frozen_entries), exchangeable=False),
    Entry("binomial, tied", mixtures("b", wrap=tied_components), exchangeable=False),
    Entry("binomial, floored", mixtures("b", wrap=floored)),
    Entry("lognormal and others, one pseudo-row", mixtures("lc", "row")),
    Entry(
        "lognormal, labels, fractions, frozen", mixtures("l", 1.0, True, FRACTIONS, wrap=frozen_entries), False, False
    ),
    Entry("gamma, exponential and others, one pseudo-row", mixtures("axc", "row"), closed=False),
    Entry("gamma, labels, fractions", mixtures("a", 1.0, True, FRACTIONS), whole=False, closed=False),
    Entry("gamma and exponential, frozen entries", mixtures("ax", wrap=frozen_entries), False, closed=False),
    Entry(
        "gamma and exponential, tied, floored",
        mixtures("ax", wrap=and_then(tied_components, floored)),
        exchangeable=False,
        closed=False,
    ),
    Entry("beta and others, one pseudo-row", mixtures("ec", "row"), closed=False),
    Entry("beta, labels, fractions", mixtures("e", 1.0, True, FRACTIONS), whole=False, closed=False),
    Entry(
        "beta, frozen, floored", mixtures("e", wrap=and_then(frozen_entries, floored)), exchangeable=False, closed=False
    ),
    Entry("chain over positive numbers and shares", chains("laxec", 1.0), rows=False, closed=False),
    Entry("coarse and others, one pseudo-row", mixtures("cgp", "row", wrap=coarse)),
    Entry("coarse, frozen entries", mixtures("g", wrap=and_then(coarse, frozen_entries)), exchangeable=False),
    Entry("mixed", mixtures()),
    Entry("mixed, one pseudo-row", mixtures(prior="row")),
    Entry("mixed, add one", mixtures(prior=1.0)),
    Entry("spherical", mixtures("g", covariance="spherical")),
    Entry("normal", mixtures("g", covariance="full")),
    Entry("normal far from zero", mixtures("g", covariance="full", offset=1e8)),
    Entry("normal, one pseudo-row", mixtures("gc", covariance="full", prior="row")),
    Entry("normal with labels", mixtures("gp", covariance="full", labels=True)),
    Entry("normal of a fixed covariance", mixtures("g", covariance="fixed")),
    Entry("normal, some components fixed", mixtures("g", covariance="full", wrap=frozen_normal), exchangeable=False),
    Entry("tied covariance", mixtures("g", covariance="tied")),
    Entry("tied covariance, one pseudo-row", mixtures("gc", covariance="tied", prior="row")),
    Entry("text", mixtures("t")),
    Entry("text and other columns, labels, add one", mixtures("tc", prior=1.0, labels=True)),
    Entry("words that are there or not", mixtures("t", presence=True), holes=False),
    Entry("labels", mixtures(labels=True)),
    Entry("labels and prior", mixtures("cg", prior="row", labels=True)),
    Entry("fractional weights", mixtures(weights=FRACTIONS, prior="row"), whole=False),
    Entry("frozen weights", mixtures(fixed=("weights",))),
    Entry("frozen blocks", mixtures(wrap=frozen_whole)),
    Entry("frozen entries", mixtures(wrap=frozen_entries), exchangeable=False),
    Entry("tied components", mixtures(wrap=tied_components), exchangeable=False),
    Entry("tied cells", mixtures("c", wrap=tied_cells)),
    Entry("floored", mixtures(wrap=floored)),
    Entry("shares of classes given", classes_of_given_shares(), exchangeable=False),
    Entry("mixture of mixtures", mixtures_of_mixtures()),
    Entry("mixture of mixtures, one pseudo-row", mixtures_of_mixtures("row")),
    Entry("product with a mixture inside", products_with_mixtures()),
    Entry("covariates", with_covariates(), closed=False),
    Entry("covariates, one pseudo-row, labels", with_covariates("cp", "row", labels=True), closed=False),
    Entry("covariates, fractional weights", with_covariates("c", weights=FRACTIONS), whole=False, closed=False),
    Entry("covariates of joint normals", with_covariates("g", covariance="full"), closed=False),
    Entry("chain", chains(), rows=False),
    Entry("chain over categories", chains("c"), rows=False),
    Entry("chain over mixed columns, add one", chains("cgp", prior=1.0), rows=False),
    Entry("chain over negative binomials", chains("pc", 1.0, wrap=clustered), rows=False),
    Entry("chain over binomials", chains("bc", 1.0), rows=False),
    Entry("chain over coarse numbers", chains("gc", 1.0, wrap=coarse), rows=False),
    Entry("chain over ordered categories", chains("cg", 1.0, wrap=ordered), rows=False),
    Entry("chain with labels", chains("c", labels=True), rows=False),
    Entry("chain, fractional weights", chains(weights=FRACTIONS), rows=False, whole=False),
    Entry("chain with forbidden transitions", chains(topology=True), rows=False, exchangeable=False),
    Entry("chain with a state that lasts", chains(last=True), rows=False, exchangeable=False),
    Entry("chain with tied states", chains(wrap=tied_components), rows=False, exchangeable=False),
    Entry("chain of mixtures", chains("g", inside=2), rows=False),
    Entry("chain of joint normals", chains("g", covariance="full"), rows=False),
    Entry("chain of joint normals, labels, prior", chains("gc", "row", True, covariance="full"), rows=False),
    Entry("chain with one covariance", chains("g", covariance="tied"), rows=False),
    Entry("chain of spherical normals", chains("g", covariance="spherical"), rows=False),
    Entry("chain of mixtures of joint normals", chains("g", inside=2, covariance="full"), rows=False),
]

# Every kind of leaf, wrapper and structure once or twice.
EVERYDAY = {
    "gamma, exponential and others, one pseudo-row",
    "mixed, one pseudo-row",
    "binomial and others, one pseudo-row",
    "coarse and others, one pseudo-row",
    "ordinal and others, one pseudo-row",
    "normal far from zero",
    "normal, one pseudo-row",
    "tied covariance",
    "text and other columns, labels, add one",
    "fractional weights",
    "frozen entries",
    "tied components",
    "floored",
    "shares of classes given",
    "mixture of mixtures, one pseudo-row",
    "covariates, one pseudo-row, labels",
    "product with a mixture inside",
    "chain over mixed columns, add one",
    "chain with labels",
    "chain with forbidden transitions",
    "chain with a state that lasts",
    "chain of mixtures of joint normals",
}
