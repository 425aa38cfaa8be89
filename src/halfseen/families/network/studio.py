"""What networks show in the studio: the graph, the probabilities of all states given evidence, the state of each row.

Evidence is a dict of variables and the text of their states, as on the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from halfseen.app.tables import batches
from halfseen.app.views import Ask, Memo, check_ask, plain, remembered, whole
from halfseen.errors import ParameterError
from halfseen.families.network.layout import layout

BOLD, LETTER, CAPITAL = 8.0, 6.8, 9.2  # width of a letter of a name, of a state, of a capital one
HEAD, LINE, PAD = 30.0, 20.0, 8.0  # height of a name; of a state below it; below the last state
GAP, DEPTH = 24.0, 56.0  # between boxes; between layers
LONGEST, LONGEST_STATE = 24, 11  # letters that are shown
BAR, SHARE = 72.0, 46.0  # width of a bar; of a share beside it
MOST_STATES = 6  # in a box
MOST_DETAILED = 60  # variables up to which boxes show states


def graph(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return the variables with their boxes, and the edges between them; y grows downwards.

    A box has a name, `head` high, and `rows` states below it, each `line` high; where there are more states, the last
    row is for the others. With `states`, boxes show at most so many; by default those of large networks show none.

    Examples
    --------
    >>> import halfseen as hs
    >>> net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
    >>> found = graph(net, None, {})
    >>> found["variables"][1]["parents"], found["edges"][0]["from"], len(found["edges"][0]["points"])
    (['rain'], 'rain', 2)
    """
    check_ask(ask, "states")
    usual = MOST_STATES if len(model.nodes_) <= MOST_DETAILED else 0
    most = whole(ask, "states", usual, 0, 50)
    return remembered(memo, ("graph", most), lambda: _drawn(model, most))


def _drawn(model: Any, most: int) -> dict[str, Any]:
    own = model._graph
    states = [_texts(model, name) for name in own.names]
    shown = [min(len(listed), most) for listed in states]
    labels = [max(map(_width, listed), default=0.0) if most else 0.0 for listed in states]
    sizes = [
        (
            max(BOLD * min(len(name), LONGEST) + 2 * PAD + 8, label + BAR + SHARE + 2 * PAD + 8 if n else 0.0),
            HEAD + (LINE * n + PAD if n else 0.0),
        )
        for name, n, label in zip(own.names, shown, labels, strict=True)
    ]
    found = layout(own, sizes, GAP, DEPTH)
    hidden, parents = set(model.hidden_), model.parents_
    return {
        "width": found.width,
        "height": found.height,
        "head": HEAD,
        "line": LINE,
        "share": SHARE,
        "letters": [LONGEST, LONGEST_STATE],
        "variables": [
            {
                "name": name,
                "hidden": name in hidden,
                "parents": list(parents[name]),
                "states": states[v],
                "rows": shown[v],
                "label": labels[v],
                "x": found.places[v][0] - sizes[v][0] / 2,
                "y": found.places[v][1] - sizes[v][1] / 2,
                "width": sizes[v][0],
                "height": sizes[v][1],
            }
            for v, name in enumerate(own.names)
        ],
        "edges": [
            {"from": own.names[parent], "to": own.names[child], "points": [list(point) for point in points]}
            for (parent, child), points in found.edges.items()
        ],
    }


def _width(state: str) -> float:
    """Return the width of the text of a state, cut where it is long."""
    return sum(CAPITAL if letter.isupper() else LETTER for letter in state[:LONGEST_STATE])


def marginals(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return the probability of each state of every variable given evidence, and the log-probability of the evidence.

    Examples
    --------
    >>> import halfseen as hs
    >>> net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
    >>> found = marginals(net, None, {"evidence": {"wet": "1"}})
    >>> [[round(share, 4) for share in shares] for shares in found["marginals"].values()]
    [[0.3333, 0.6667], [0.0, 1.0]]
    """
    check_ask(ask, "evidence")
    evidence = _evidence(model, ask)
    key = ("marginals", *sorted(evidence.items()))
    return remembered(memo, key, lambda: _inferred(model, evidence))


def _inferred(model: Any, evidence: Mapping[str, str]) -> dict[str, Any]:
    log_probability = model._log_probability(evidence)
    if log_probability == -np.inf:
        told = ", ".join(f"{name}={state}" for name, state in evidence.items())
        raise ParameterError(f"the evidence is impossible under the network: {told}.")
    found = {}
    for name in model.nodes_:
        if name in evidence:
            states = _texts(model, name)
            found[name] = [float(state == evidence[name]) for state in states]
        else:
            found[name] = plain(model.query([name], evidence))
    return {"evidence": dict(evidence), "log_probability": log_probability, "marginals": found}


def _evidence(model: Any, ask: Ask) -> dict[str, str]:
    """Return the evidence of a question, by the texts of states; refuse variables and states that there are not."""
    given = ask.get("evidence")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"evidence={given!r:.80} is not a mapping from variables to states.")
    found = {}
    for name, state in given.items():
        if name not in model.nodes_:
            raise ParameterError(f"evidence: {name!r:.80} is not a variable of the network.")
        if isinstance(state, bool | int | float):
            state = str(state)
        states = _texts(model, name)
        if not isinstance(state, str) or states.count(state) != 1:
            raise ParameterError(f"evidence: {name} has no state {state!r:.80}. States: {', '.join(states[:20])}.")
        found[name] = state
    return found


def _texts(model: Any, name: str) -> list[str]:
    return [str(state) for state in model.states_[name]]


# ---- rows of the table -------------------------------------------------------------------------------------------


def names(model: Any) -> list[str]:
    """Return the states of the hidden variable; none where there is not one such variable."""
    hidden = model.hidden_
    return _texts(model, hidden[0]) if len(hidden) == 1 else []


def answers(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[pa.Table]:
    """Yield state of the hidden variable, certainty and probabilities of the rows of a file, in their order."""
    labels = pa.array(names(model))
    for _, X in batches(model, reading, request):
        proba = model.predict_proba(X)
        found = {"class": labels.take(pa.array(proba.argmax(axis=1))), "certainty": proba.max(axis=1)}
        yield pa.table(found | {f"p{k}": proba[:, k] for k in range(proba.shape[1])})


SCREENS = (("network", "Network"),)
VIEWS = {"graph": graph, "marginals": marginals}
