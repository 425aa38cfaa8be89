"""Bayesian networks beside pyAgrum and pgmpy: asia and alarm, with holes and hidden nodes.

python -m benchmarks.networks CONTESTANT WORKLOAD runs one contestant and prints a line of JSON; `make bench
ONLY=bn_asia` and the like run all of them: the same rows, the same tables to start from, one pseudo-count in every
cell, the same number of iterations. Networks are read from ``$HALFSEEN_DATA`` (``asia/asia.bif``, ``bif/alarm.bif``).

- pyAgrum goes through the rows one by one: of alarm it gets `few_rows` of them, and its time is scaled to all.
- pgmpy drops rows with holes: it is a contestant only where there are none.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants import CHECKED, timed

Tables = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Rows:
    """Rows drawn from a network, some cells lost and some variables hidden.

    `quoted` is what was measured of a rival on another day, for a table without it: seconds per iteration.
    """

    name: str
    file: str
    hidden: tuple[str, ...]
    missing: float
    quoted: Mapping[str, str]
    n_rows: int = 20_000
    few_rows: int = 20_000
    iterations: tuple[int, int] = (10, 1010)  # many: an iteration takes less than reading differs from time to time
    peer_iterations: tuple[int, int] = (1, 3)

    @property
    def path(self) -> Path:
        """Where the network is."""
        folder = Path(os.environ.get("HALFSEEN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
        return folder / self.file

    @property
    def size(self) -> str:
        """Say the size in words."""
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        return f"{self.n_rows:,} rows of {Path(self.file).stem}{holes}, hidden: {', '.join(self.hidden)}"

    def data(self) -> tuple[Any, Any]:
        """Return the network and the rows."""
        import halfseen as hs

        net = hs.read_bif(self.path)
        rows = net.sample(self.n_rows, random_state=0)[0].astype(object)
        if self.missing:
            rows = rows.mask(np.random.default_rng(0).random(rows.shape) < self.missing, None)
        return net, rows.drop(columns=list(self.hidden))


NETWORKS = {
    work.name: work
    for work in [
        Rows("bn_asia", "asia/asia.bif", ("bronc",), 0.1, {"pyAgrum": "4.6 s"}),
        Rows("bn_asia_latent", "asia/asia.bif", ("bronc",), 0.0, {"pyAgrum": "4.2 s", "pgmpy": "0.121 s"}),
        Rows(
            *("bn_alarm", "bif/alarm.bif", ("LVFAILURE", "VENTLUNG"), 0.1),
            {"pyAgrum": "97 s, scaled from 500 rows"},
            few_rows=500,
            iterations=(10, 110),
        ),
    ]
}


def start(net: Any) -> dict[str, NDArray[np.float64]]:
    """Return the tables that everybody begins with, halfway between the true ones and random ones.

    From random ones alone what pyAgrum watches falls at first while the log-likelihood rises, and it gives back the
    tables of an earlier iteration.
    """
    rng = np.random.default_rng(1)
    tables = net.params_.items()
    return {name: (own + rng.dirichlet(np.full(own.shape[-1], 3.0), own.shape[:-1])) / 2 for name, own in tables}


def loglik(net: Any, tables: Tables, rows: Any) -> float:
    """Return the log-likelihood of rows under somebody's tables: no rival has one of tables with holes."""
    import halfseen as hs

    judge = hs.BayesNet.from_params(tables, net.edges, net.states)
    return float(judge.score_samples(rows.reindex(columns=list(judge.nodes_))).sum())


def halfseen(work: Rows) -> dict[str, Any]:
    """Time BayesNet with two threads."""
    import halfseen as hs

    net, rows = work.data()
    begin = start(net)

    def fitted(n: int, table: Any) -> float:
        how = {"max_iter": n + 1, "stop": "iterations", "accelerate": False, "n_init": 1, "n_jobs": 2}
        return hs.BayesNet(net.edges, states=net.states, start=begin, prior=1.0, **how).fit(table).loglik_

    found = timed(lambda n: fitted(n, rows), work.iterations)
    return found | {"loglik": fitted(CHECKED, rows[: work.few_rows])}


def pyagrum(work: Rows) -> dict[str, Any] | None:
    """Time pyAgrum's EM without noise; None where it is not installed."""
    try:
        import pyagrum as gum
    except ImportError:
        return None
    net, rows = work.data()
    rows = rows[: work.few_rows]
    families = {name: [*net.parents_[name], name] for name in net.nodes_}
    begin = gum.BayesNet()
    for name in net.nodes_:
        begin.add(gum.LabelizedVariable(name, name, [str(state) for state in net.states_[name]]))
    for parent, child in net.edges_:
        begin.addArc(parent, child)
    for name, table in start(net).items():
        axes = [families[name].index(member) for member in reversed(begin.cpt(name).names)]
        begin.cpt(name)[:] = np.ascontiguousarray(np.transpose(table, axes))
    told = rows.reindex(columns=list(net.nodes_))
    told = told.where(told.notna(), "?").astype(str)

    def run(n: int) -> float:
        learner = gum.BNLearner(told, begin, ["?"])
        learner.useSmoothingPrior(1.0)
        learner.useEMWithDiffCriterion(1e-300, 0.0)
        learner.EMdisableEpsilon()
        learner.EMsetMaxIter(n)
        found = learner.learnParameters(begin)
        tables = {}
        for name, own in families.items():
            axes = list(reversed(found.cpt(name).names))
            tables[name] = np.transpose(found.cpt(name).toarray(), [axes.index(member) for member in own])
        return loglik(net, tables, rows)

    found = timed(run, work.peer_iterations, repeats=1)
    return found | {"times": [taken * work.n_rows / len(rows) for taken in found["times"]], "rows": len(rows)}


def pgmpy(work: Rows) -> dict[str, Any] | None:
    """Time pgmpy's EM; None where it is not installed. Its hidden states have numbers for names."""
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
        from pgmpy.parameter_estimator import DiscreteBayesianEstimator, DiscreteEM
    except ImportError:
        return None
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    net, rows = work.data()
    states = {name: [str(state) for state in own] for name, own in net.states_.items()}
    states |= {name: list(range(len(states[name]))) for name in work.hidden}
    begin = {}
    for name, table in start(net).items():
        parents = list(net.parents_[name])
        values = np.moveaxis(table, -1, 0).reshape(len(states[name]), -1)
        named = {member: states[member] for member in (*parents, name)}
        cards = [len(states[parent]) for parent in parents]
        begin[name] = TabularCPD(name, len(states[name]), values, parents, cards, state_names=named)
    graph = DiscreteBayesianNetwork(net.edges_, latents=set(work.hidden))

    def run(n: int) -> float:
        fitted = DiscreteEM(
            state_names=states,
            latent_card={name: len(states[name]) for name in work.hidden},
            m_step_estimator=DiscreteBayesianEstimator(prior_type="dirichlet", pseudo_counts=1),
            init_cpds=begin,
            max_iter=n,
            atol=0.0,
            show_progress=False,
        ).fit(graph, rows)
        tables = {}
        for cpd in fitted.parameters_:
            own = [*net.parents_[cpd.variable], cpd.variable]
            axes = [list(cpd.variables).index(member) for member in own]
            tables[cpd.variable] = np.transpose(np.asarray(cpd.values), axes)
        return loglik(net, tables, rows)

    return timed(run, work.peer_iterations, repeats=1)


CONTESTANTS = {"halfseen": halfseen, "pyAgrum": pyagrum, "pgmpy": pgmpy}


def main() -> None:
    """Run one contestant."""
    name, workload = sys.argv[1:3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rivals warn about parts of their own
        print(json.dumps(CONTESTANTS[name](NETWORKS[workload])))


if __name__ == "__main__":
    main()
