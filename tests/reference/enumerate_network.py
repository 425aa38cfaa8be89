"""Bayesian networks the slow way: every joint state of all variables, one after the other."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """What enumeration finds of one row: probability of what was seen, usage of cells, best state, its probability."""

    evidence: float
    usage: np.ndarray
    best: tuple[int, ...]
    best_joint: float
    marginals: list[np.ndarray]


def network_row(graph, table, codes, likelihoods=None):
    """Go through all joint states that agree with one row of codes (-1: unobserved)."""
    usage, evidence, best, best_joint = np.zeros(graph.n_cells), 0.0, (), -1.0
    marginals = [np.zeros(card) for card in graph.cards]
    for state in product(*map(range, graph.cards)):
        if any(seen >= 0 and seen != own for seen, own in zip(codes, state, strict=True)):
            continue
        cells = []
        for v, (members, shape) in enumerate(zip(graph.members, graph.shapes, strict=True)):
            cells.append(graph.offsets[v] + np.ravel_multi_index([state[m] for m in members], shape))
        joint = np.prod(table[cells])
        for v, likelihood in (likelihoods or {}).items():
            joint *= likelihood[state[v]]
        evidence += joint
        usage[cells] += joint
        for v, own in enumerate(state):
            marginals[v][own] += joint
        if joint > best_joint:
            best, best_joint = state, joint
    return Row(evidence, usage / evidence, best, best_joint, [own / evidence for own in marginals])
