"""Reading and checking the description of a network: edges, states, hidden variables, tables, priors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.leaves.categorical import read_fixed_table, read_table
from halfseen.leaves.leaf import Floats
from halfseen.structures.graph import Graph

_ARROW = re.compile(r"(->|<-)")


class Plan(NamedTuple):
    """The graph by names: every variable with its parents, in the given order."""

    parents: dict[str, tuple[str, ...]]

    @property
    def edges(self) -> list[tuple[str, str]]:
        """All edges, parents in their order."""
        return [(parent, child) for child, own in self.parents.items() for parent in own]


def read_edges(edges: Any, others: Iterable[str] = ()) -> Plan:
    """Read edges: pairs (parent, child), single names, or text such as ``"A -> B <- C; D"``.

    Examples
    --------
    >>> read_edges("X <- Y -> Z").parents
    {'X': ('Y',), 'Y': (), 'Z': ('Y',)}
    >>> read_edges([("A", "C"), ("B", "C"), "D"]).parents["C"]
    ('A', 'B')
    """
    parents: dict[str, list[str]] = {}
    pairs = _from_text(edges) if isinstance(edges, str) else _from_list(edges)
    for parent, child in pairs:
        for name in (parent, child):
            if name is not None:
                parents.setdefault(name, [])
        if parent is None or child is None:
            continue
        if parent == child:
            raise ParameterError(f"edges: {parent!r} cannot be its own parent.")
        if parent in parents[child]:
            raise ParameterError(f"edges: {parent!r} -> {child!r} is given twice.")
        parents[child].append(parent)
    for name in others:
        parents.setdefault(str(name), [])
    if not parents:
        raise ParameterError("edges: a network needs at least one variable, such as edges=[('A', 'B')].")
    return Plan({name: tuple(own) for name, own in parents.items()})


def _from_text(text: str) -> list[tuple[str | None, str | None]]:
    found: list[tuple[str | None, str | None]] = []
    for chain in re.split(r"[;\n]", text):
        parts = [part.strip() for part in _ARROW.split(chain)]
        if parts == [""]:
            continue
        if "" in parts:
            raise ParameterError(f"edges: {chain.strip()!r} has an arrow without a name next to it.")
        if len(parts) == 1:
            found.append((parts[0], None))
        for i in range(1, len(parts), 2):
            pair = (parts[i - 1], parts[i + 1])
            found.append((None, pair[0]))  # variables are numbered in the order of the text
            found.append(pair if parts[i] == "->" else (pair[1], pair[0]))
    return found


def _from_list(edges: Any) -> list[tuple[str | None, str | None]]:
    if edges is None:
        return []
    if isinstance(edges, Mapping) or not isinstance(edges, Iterable):
        raise ParameterError(f"edges={edges!r:.80} is not a list of pairs (parent, child), nor text such as 'A -> B'.")
    found: list[tuple[str | None, str | None]] = []
    for edge in edges:
        if isinstance(edge, str):
            found.append((edge, None))
        elif isinstance(edge, Sequence | np.ndarray) and len(edge) == 2:
            found.append((str(edge[0]), str(edge[1])))
        else:
            raise ParameterError(f"edges: {edge!r:.80} is not a pair (parent, child), nor the name of a variable.")
    return found


def graph_of(plan: Plan, states: Mapping[str, Sequence[Any]]) -> Graph:
    """Return the graph, checked for cycles."""
    names = tuple(plan.parents)
    place = {name: v for v, name in enumerate(names)}
    parents = tuple(tuple(place[p] for p in plan.parents[name]) for name in names)
    graph = Graph(names, tuple(len(states[name]) for name in names), parents)
    assert graph.order is not None
    return graph


def read_states(states: Any) -> dict[str, tuple[Any, ...]]:
    """Read the states of some variables, in their order."""
    found = {}
    for name, listed in options.mapping("states", states).items():
        if isinstance(listed, str) or not isinstance(listed, Iterable):
            raise ParameterError(f"states[{name!r}]={listed!r:.80} is not a list of states.")
        own = tuple(state.item() if isinstance(state, np.generic) else state for state in listed)
        if not own or len(set(own)) < len(own) or not all(isinstance(state, str | int | float) for state in own):
            raise ParameterError(f"states[{name!r}]={list(own)!r:.80} must be distinct texts or numbers, at least one.")
        found[str(name)] = own
    return found


def read_hidden(hidden: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Read hidden variables: for each the candidates for its states.

    A number is one candidate; a range or a list of numbers are several, to choose among; a list of texts names the
    states.

    Examples
    --------
    >>> read_hidden({"C": 2, "D": range(2, 4), "E": ["low", "high"]})
    {'C': [(0, 1)], 'D': [(0, 1), (0, 1, 2)], 'E': [('low', 'high')]}
    """
    if isinstance(hidden, Collection) and not isinstance(hidden, str | Mapping):
        hidden = dict.fromkeys(hidden, 2)
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, given in options.mapping("hidden", hidden).items():
        several = isinstance(given, range | list | tuple | np.ndarray)
        listed = list(given) if several else [given]
        if several and listed and all(isinstance(state, str) for state in listed):
            found[str(name)] = list(read_states({name: listed}).values())
            continue
        if not listed:
            raise ParameterError(f"hidden[{name!r}] is empty: give a number of states, or a range.")
        sizes = sorted({options.whole(f"hidden[{name!r}]", size, 1) for size in listed})
        found[str(name)] = [tuple(range(size)) for size in sizes]
    return found


def named_hidden(
    hidden: Mapping[str, list[tuple[Any, ...]]], states: Mapping[str, tuple[Any, ...]]
) -> dict[str, list[tuple[Any, ...]]]:
    """Return hidden variables with the names that `states` gives theirs; refuse names for another number of states."""
    found = dict(hidden)
    for name in hidden.keys() & states.keys():
        sizes = [len(own) for own in hidden[name]]
        if sizes != [len(states[name])] and hidden[name] != [states[name]]:
            raise ParameterError(
                f"states[{name!r}] names {len(states[name])} states, but hidden[{name!r}] has "
                f"{' or '.join(map(str, sizes))}. Give the names once, as hidden={{{name!r}: {list(states[name])!r}}}."
            )
        found[name] = [states[name]]
    return found


def read_prior(prior: Any, sample_size: Any, graph: Graph, shares: Sequence[Floats] = ()) -> Floats | None:
    """Return pseudo-counts of all cells, (1, S).

    A number: that many in each. "bdeu": one sample spread evenly. "row": one row in each table, split evenly over the
    states of the parents and, within each, as `shares` say, which has an array for each variable.
    """
    if prior is None:
        return None
    if prior == "row":
        rows = [prod(shape[:-1]) for shape in graph.shapes]
        return np.concatenate([np.tile(own / n_rows, n_rows) for own, n_rows in zip(shares, rows, strict=True)])[None]
    if prior == "bdeu":
        size = options.number("equivalent_sample_size", sample_size)
        shares = [np.full(int(np.prod(shape)), size / np.prod(shape)) for shape in graph.shapes]
        return np.concatenate(shares)[None]
    if isinstance(prior, str):
        raise ParameterError(f"prior={prior!r} is not 'row', 'bdeu', None or a number of pseudo-counts.")
    return np.full((1, graph.n_cells), options.number("prior", prior))


def read_tables(what: str, tables: Any, graph: Graph) -> dict[int, Floats]:
    """Read tables of probabilities by variable: arrays with an axis for each parent, then the states."""
    found = {}
    for name, table in options.mapping(what, tables).items():
        v = _variable(what, name, graph)
        found[v] = read_table(table, graph.shapes[v], _titled(what, v, graph))
    return found


def _variable(what: str, name: str, graph: Graph) -> int:
    if name not in graph.names:
        raise ParameterError(f"{what}: there is no variable {name!r}. Variables: {', '.join(graph.names)}.")
    return graph.names.index(name)


def _titled(what: str, v: int, graph: Graph) -> str:
    """Return what a table is called in a message: start['X'], P(X | Y)."""
    name, parents = graph.names[v], ", ".join(graph.names[p] for p in graph.parents[v])
    return f"{what}[{name!r}], P({name}{f' | {parents}' if parents else ''})"


def read_fixed(fixed: Any, graph: Graph) -> Floats | None:
    """Return the cells that are fixed by a mapping of tables, (1, S), NaN where they are free; None without one."""
    if not isinstance(fixed, Mapping) or not fixed:
        return None
    cells = np.full((1, graph.n_cells), np.nan)
    for name, table in fixed.items():
        v = _variable("fixed", name, graph)
        cells[0, graph.slice(v)] = read_fixed_table(table, graph.shapes[v], _titled("fixed", v, graph)).ravel()
    return cells


def read_shared(tied: Any, graph: Graph) -> np.ndarray[Any, Any] | None:
    """Return the first cell among those tied to each cell; None where nothing is tied."""
    groups = list(tied or ())
    if not groups:
        return None
    shared = np.arange(graph.n_cells)
    used: set[str] = set()
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Collection):
            raise ParameterError(f"tied: {group!r:.80} is not a group of variables, such as tied=[('A', 'B')].")
        names = list(group)
        for name in names:
            if name not in graph.names:
                raise ParameterError(f"tied: there is no variable {name!r}. Variables: {', '.join(graph.names)}.")
            if name in used:
                raise ParameterError(f"tied: {name!r} is in two groups; join them.")
            used.add(name)
        first, *others = [graph.names.index(name) for name in names]
        for v in others:
            if graph.shapes[v] != graph.shapes[first]:
                raise ParameterError(
                    f"tied: the tables of {graph.names[first]!r} and {graph.names[v]!r} have shapes "
                    f"{graph.shapes[first]} and {graph.shapes[v]}; only tables of one shape can be shared."
                )
            shared[graph.slice(v)] = np.arange(graph.slice(first).start, graph.slice(first).stop)
    return shared
