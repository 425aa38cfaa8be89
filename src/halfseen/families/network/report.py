"""The report on a Bayesian network: summary, drawing, strength of the edges, tables, missing values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from halfseen.analysis.missing_values import MissingValues
from halfseen.analysis.missing_values import count as count_missing
from halfseen.app.report.checks import converged, events, likelihood, missing_check
from halfseen.app.report.errors import errors
from halfseen.app.report.material import Material
from halfseen.app.report.missing_values import ASSUMED, missing_patterns
from halfseen.app.report.next_steps import files_of
from halfseen.app.report.parts import (
    Beside,
    Card,
    Cards,
    Check,
    Checks,
    Facts,
    Figure,
    Grid,
    Heat,
    HeatCell,
    HeatRow,
    Part,
    Section,
    Step,
    Steps,
    Text,
    Trait,
)
from halfseen.app.report.sections import methods, reproduce
from halfseen.app.report.words import count, cut, listed, number, percent, plural
from halfseen.data import read, row_weight
from halfseen.families.network.report_graph import drawn

MOST_TABLES = 40  # variables whose tables are shown
MOST_ROWS = 24  # rows of a table that are shown
MOST_EDGES = 40
MOST_CARDS = 9  # states of a hidden variable that have cards
MOST_QUERIES = 4
N_TRAITS = 3
RARE = 5  # expected rows below which a row of a table is uncertain


class NetworkMaterial(Material):
    """A network, a table, and what the sections of its report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Read the table once; a file may have a weight column."""
        source = read(X)
        return cls(model, source, y, source.weight if sample_weight is None else sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return rows and variables."""
        return [("Rows", count(self.X.n_rows)), ("Variables", count(len(self.model.nodes_)))]

    @cached_property
    def marginals(self) -> dict[str, list[tuple[str, float]]]:
        """The states of every variable with their probabilities."""
        return {name: self.given(name) for name in self.model.nodes_}

    def given(self, name: str, evidence: dict[str, Any] | None = None) -> list[tuple[str, float]]:
        """Return the states of a variable with their probabilities, given evidence."""
        found = self.model.query([name], evidence)
        return list(zip(map(str, found.states[name]), np.asarray(found).tolist(), strict=True))

    @cached_property
    def colours(self) -> dict[str, int]:
        """The colours of the states of the hidden variable, where there is one."""
        return {f"{self.hidden} {state}": k for k, state in enumerate(self.hidden_states)}

    @property
    def hidden(self) -> str:
        """The hidden variable whose states have cards; empty where there is none, or several."""
        names = self.model.hidden_
        return names[0] if len(names) == 1 and len(self.model.states_[names[0]]) <= MOST_CARDS else ""

    @property
    def hidden_states(self) -> list[Any]:
        """Its states."""
        return list(self.model.states_[self.hidden]) if self.hidden else []

    @cached_property
    def weight(self) -> Any:
        """The weights of the rows."""
        return row_weight(self.X, self.sample_weight)

    @cached_property
    def loglik(self) -> Any:
        """Log-probability of each row."""
        return self.model.score_samples(self.X)

    @cached_property
    def missing_values(self) -> MissingValues:
        """The missing values of the table."""
        missing = np.stack([self.X.column(j).missing for j in range(len(self.X.names))], axis=1)
        return count_missing(missing, self.X.names, self.weight)

    @cached_property
    def counts(self) -> dict[str, Any]:
        """Expected counts of every family in this table."""
        found: dict[str, Any] = self.model.expected_counts(self.X, self.weight)
        return found

    @cached_property
    def carried(self) -> dict[tuple[int, int], float]:
        """For each edge I(child; parent | other parents) / H(child): the share of the uncertainty that it removes."""
        graph, names = self.model._graph, self.model._graph.names
        found = {}
        for v, parents in enumerate(graph.parents):
            joint = np.asarray(self.model.query([names[m] for m in graph.members[v]]))
            own = entr(joint.sum(axis=tuple(range(len(parents))))).sum()
            for axis, parent in enumerate(parents):
                gain = _left(joint.sum(axis=axis)) - _left(joint)
                found[parent, v] = float(max(gain, 0.0) / own) if own > 0 else 0.0
        return found


def _left(joint: Any) -> float:
    """Return H(last axis | other axes)."""
    return float(entr(joint).sum() - entr(joint.sum(axis=-1)).sum())


def answer(model: Any, material: NetworkMaterial) -> Section:
    """Three sentences, and checks of reliability."""
    hidden = model.hidden_
    sentences = [
        f"The network has {plural(len(model.nodes_), 'variable')}, {plural(len(model.edges_), 'edge')} and "
        f"{plural(model.n_parameters_, 'free parameter')}."
    ]
    if hidden:
        sentences.append(f"{listed([cut(name) for name in hidden])} {'is' if len(hidden) == 1 else 'are'} hidden.")
    strong = sorted(material.carried.items(), key=lambda one: -one[1])[:3]
    if strong and strong[0][1] > 0:
        words = [f"{cut(model.nodes_[p])} -> {cut(model.nodes_[v])}" for (p, v), _ in strong]
        sentences.append(f"Strongest {'link' if len(words) == 1 else 'links'}: {listed(words)}.")
    figures = [(count(len(model.nodes_)), "variables"), (count(len(model.edges_)), "edges")]
    figures.append((count(model.n_parameters_), "free parameters"))
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [_cards(material) if material.hidden else Facts(figures), _next_steps(model, material)]
    return Section("answer", "Summary", " ".join(sentences), [*parts, Checks(checks, "Before you rely on it")])


def _cards(material: NetworkMaterial) -> Cards:
    """Return a card for each state of the hidden variable: its share, and what marks it."""
    total, cards = float(material.weight.sum()), []
    for k, (state, (shown, share)) in enumerate(
        zip(material.hidden_states, material.marginals[material.hidden], strict=True)
    ):
        name = f"{material.hidden} {shown}"
        about = f"about {plural(share * total, 'row')}"
        cards.append(Card(name, share, percent(share), _traits(material, state), about, k=k))
    return Cards(cards, f"The states of {cut(material.hidden)}, which is hidden, and what marks them")


def _traits(material: NetworkMaterial, state: Any) -> list[Trait]:
    """Return the states of other variables that are most unusual given a state of the hidden one."""
    found = []
    for name in material.model.nodes_:
        if name == material.hidden:
            continue
        pairs = zip(material.given(name, {material.hidden: state}), material.marginals[name], strict=True)
        gain, words, share, overall = max((own[1] - all_[1], own[0], own[1], all_[1]) for own, all_ in pairs)
        found.append((-gain, Trait(name, f"{words} in {percent(share)}", percent(overall))))
    return [trait for _, trait in sorted(found, key=lambda one: one[0])[:N_TRAITS]]


def _next_steps(model: Any, material: NetworkMaterial) -> Steps:
    model_file, data = files_of(model, material) or ("MODEL.halfseen", "DATA")
    steps = [Step("Ask for the probability of a variable, given what is known of others:", _asked(model, model_file))]
    if material.hidden:
        steps.append(
            Step("Write the most likely states of all rows:", f"halfseen predict {model_file} {data} -o states.csv")
        )
    if material.missing_values.n_missing:
        steps.append(Step("Fill in the missing values:", f"halfseen impute {model_file} {data} -o filled.csv"))
    return Steps(steps)


def _asked(model: Any, model_file: str) -> str:
    parent, child = model.edges_[0] if model.edges_ else (model.nodes_[0], None)
    given = "" if child is None else f" --given {shlex.quote(f'{child}={model.states_[child][-1]}')}"
    return f"halfseen query {model_file} {shlex.quote(str(parent))}{given}"


def _checks(model: Any, material: NetworkMaterial) -> Iterator[Check]:
    yield converged(model)
    yield from likelihood(model)
    restarts = getattr(model, "restarts_", {"n_finalists": 1})
    if restarts["n_finalists"] > 1:
        agree = restarts["n_reached_best"]
        text = f"{agree} of {restarts['n_init']} starts reached the best log-likelihood."
        yield Check(agree > 1, "Starts", text)
    yield from events(model)
    yield missing_check(material)
    impossible = int(np.isneginf(material.loglik).sum())
    if impossible:
        text = f"{plural(impossible, 'row')} have probability zero under the network. Fit with a prior to avoid that."
        yield Check(False, "Impossible rows", text)
    rare = sum(int((table.sum(axis=-1) < RARE).sum()) for table in material.counts.values())
    total = sum(table[..., 0].size for table in material.counts.values())
    text = f"{count(rare)} of {count(total)} rows of tables are estimated from fewer than {RARE} rows of data."
    yield Check(rare <= total / 4, "Rows with little data", text)


def network(model: Any, material: NetworkMaterial) -> Section:
    """The drawing, and the strength of the edges."""
    strength = {edge: share**0.5 for edge, share in material.carried.items()}
    picture = drawn(model._graph, model.hidden_, strength, material.marginals)
    caption = (
        "Parents are above their children; wider edges are stronger. Hidden variables are dashed. Bars are the "
        "probabilities of states when nothing is known."
    )
    parts: list[Part] = [Figure(picture, caption, wide=True), *_queries(model, material)]
    ranked = sorted(material.carried.items(), key=lambda one: (-one[1], one[0]))
    if ranked:
        names = model.nodes_
        rows = [[names[p], names[v], percent(share)] for (p, v), share in ranked[:MOST_EDGES]]
        left_out = len(ranked) - len(rows)
        note = f"{plural(left_out, 'edge')} that are weaker are not shown." if left_out else ""
        text = "Share of the uncertainty about the child that each parent removes, given the other parents"
        parts.append(
            Grid(text, ["parent", "child", "uncertainty removed"], rows, "Strength of the edges", frozenset({1}), note)
        )
    return Section("network", "The network", "", parts)


def _queries(model: Any, material: NetworkMaterial) -> list[Part]:
    """Return answers to questions along the strongest edges: from the effect, in its rarer state, to the cause."""
    strong = sorted(material.carried.items(), key=lambda one: (-one[1], one[0]))[:MOST_QUERIES]
    rows = []
    for (p, v), _ in strong:
        cause, effect = model.nodes_[p], model.nodes_[v]
        rarest = min(range(len(model.states_[effect])), key=lambda i: material.marginals[effect][i][1])
        state, share = model.states_[effect][rarest], material.marginals[effect][rarest][1]
        if share > 0:
            known = material.given(cause, {effect: state})
            rows.append([f"{cause}, given {effect} = {state}", _spelled(known), _spelled(material.marginals[cause])])
    if not rows:
        return []
    caption = "Along the strongest edges, from the rarest state of the child back to its parent"
    head = ["question", "answer", "when nothing is known"]
    return [Grid(caption, head, rows, "What the network answers", frozenset({1, 2}))]


def _spelled(states: list[tuple[str, float]]) -> str:
    ranked = sorted(states, key=lambda one: -one[1])
    return ", ".join(f"{cut(name, 20)} {percent(share)}" for name, share in ranked[:4])


def tables(model: Any, material: NetworkMaterial) -> Section:
    """The tables as heat maps: cells above the overall share of the state are warm, those below cold."""
    order = [model.nodes_[v] for v in model._graph.order]
    parts: list[Part] = [Beside([_heat(model, material, name) for name in order[:MOST_TABLES]])]
    if len(order) > MOST_TABLES:
        parts.append(Text(f"{len(order) - MOST_TABLES} more tables are not shown; model.table(name) returns them."))
    lead = "P(variable | parents). Colours show how far a cell is above or below the overall share of the state."
    return Section("tables", "The tables", lead, parts)


def _heat(model: Any, material: NetworkMaterial, name: str) -> Heat:
    found = model.table(name)
    parents, states = found.variables[:-1], found.states[name]
    shares = np.asarray(model.query([name]))
    keys = list(product(*[found.states[p] for p in parents]))
    table = found.values.reshape(-1, len(states))
    mass = material.counts[name].reshape(-1, len(states)).sum(axis=1)
    shown = np.sort(np.argsort(-mass, kind="stable")[:MOST_ROWS])
    rows = []
    for r in shown.tolist():
        cells = [
            HeatCell(f"{p:.3f}", float(np.clip(p - share, -1, 1)), f"{state}: overall {share:.3f}")
            for p, share, state in zip(table[r].tolist(), shares.tolist(), states, strict=True)
        ]
        rows.append(HeatRow(", ".join(map(str, keys[r])) or "overall", "", number(float(mass[r])), cells))
    given = f" given {', '.join(parents)}" if parents else ""
    note = f"The {len(rows)} most frequent of {len(keys)} rows." if len(keys) > len(rows) else ""
    head = [", ".join(parents) or name, "", "rows", *map(str, states)]
    return Heat(f"{name}{given}", head, rows, note, arrows=False)


def missing_values(model: Any, material: NetworkMaterial) -> Section | None:
    """Where values are missing, and what is assumed about them."""
    found = material.missing_values
    if not found.n_missing:
        return Section("missing", "Missing values", "The table has no missing values.", [])
    lead = f"{percent(found.total_share)} of the cells are missing ({count(found.n_missing)})."
    return Section("missing", "Missing values", lead, [missing_patterns(material), Text(ASSUMED)])


SECTIONS = [answer, network, tables, missing_values, errors, methods, reproduce]
MATERIAL = NetworkMaterial.gathered
