"""Joint units: a word and its phones are observed, how they were cut into units of a few letters and phones is hidden.

    log_evidence[b] = log sum over segmentations of pair b of p(end) * prod over its units u of p(u)
    usage[u]        = expected number of times that unit u is used

A unit makes some letters and some phones, of which one may be none: ("p h", "F"), ("e", none). Sums are by
forward-backward over the numbers of letters and phones that were made: `kernels.graphones` has the recursions.

Vocabulary
----------
Pairs       words with their pronunciations, as the kernels read them
JointUnits  the structure: units are drawn one by one, independently (order 1)
Contexts    a tree of units with the probabilities of what follows (order n)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.errors import ParameterError
from halfseen.kernels import active as kernels
from halfseen.structures.structure import Floats, Inference

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

END = 0  # the unit at the end of every word; as a context, its beginning


@dataclass(frozen=True, eq=False)
class Pairs:
    """Words with their pronunciations, as the kernels read them.

    Attributes
    ----------
    sizes : (B, 2)       letters and phones of each pair
    firsts : (B + 1,)    its first node
    units : (nodes, S)   the unit of each step into a node; -1: none
    steps : (S, 2)       letters and phones of each step
    """

    sizes: Ints
    firsts: Ints
    units: Codes
    steps: Ints

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def arrays(self) -> tuple[Ints, Ints, Codes, Ints]:
        """What every kernel takes."""
        return self.sizes, self.firsts, self.units, self.steps

    def part(self, first: int, last: int) -> Pairs:
        """Return the pairs first .. last."""
        start, end = self.firsts[[first, last]]
        return Pairs(self.sizes[first:last], self.firsts[first : last + 1] - start, self.units[start:end], self.steps)

    def renumbered(self, numbers: Codes) -> Pairs:
        """Return the pairs with other numbers of the units; -1 rules one out."""
        units = np.append(numbers, -1).astype(np.int32)[self.units]
        return Pairs(self.sizes, self.firsts, units, self.steps)


class Contexts(NamedTuple):
    """A tree of units and the probabilities of what follows them: see `kernels.graphones`.

    Attributes
    ----------
    unit : (M,) ints           the last unit of each node
    children : (M + 1,) ints   those of node m, sorted by unit, are children[m] .. children[m + 1]
    log_p : (M,)               of the last unit after the others
    log_back : (M,)            cost of asking the shorter context
    shorter : (M,) ints        the node without the first unit
    """

    unit: Codes
    children: Ints
    log_p: Floats
    log_back: Floats
    shorter: Ints

    @classmethod
    def none(cls, logs: Floats) -> Contexts:
        """Return the tree of independent units, order 1, from their log-probabilities (U,)."""
        n_units = len(logs)
        children = np.full(n_units + 2, n_units + 1, dtype=np.int64)
        children[0] = 1
        return cls(
            np.concatenate([[0], np.arange(n_units)]).astype(np.int32),
            children,
            np.concatenate([[0.0], logs]),
            np.zeros(n_units + 1),
            np.zeros(n_units + 1, dtype=np.int64),
        )


@dataclass(frozen=True)
class JointUnits:
    """Segmentations into independent units: part `units` (1, U), the logs of the probabilities of all units.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.assign import SOFT
    >>> steps = np.array([[0, 1], [1, 0], [1, 1]])  # one letter, one phone: three units, 1 .. 3, and the end
    >>> units = np.array([[-1, -1, -1], [1, -1, -1], [-1, 2, -1], [1, 2, 3]], dtype=np.int32)
    >>> pair = Pairs(np.array([[1, 1]]), np.array([0, 4]), units, steps)
    >>> found = JointUnits().infer({"units": np.log([[0.4, 0.1, 0.2, 0.3]])}, np.ones((1, 1)), SOFT, data=pair)
    >>> np.exp(found.log_evidence).round(6)  # 0.4 (0.3 + 2 x 0.1 x 0.2): both at once, or one after the other
    array([[0.136]])
    >>> found.usage["units"].round(3)
    array([[1.   , 0.118, 0.118, 0.882]])
    """

    n_groups: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """The units."""
        return ("units",)

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return the uses of all units, and the log-evidence of every pair."""
        logs = np.ascontiguousarray(scores["units"][0] * assign.beta)
        weight = np.ascontiguousarray(np.ravel(outer), dtype=np.float64)
        if assign.mode == "soft":
            usage, log_evidence = soft(logs, data, weight)
            return Inference({"units": usage[None]}, (log_evidence / assign.beta)[:, None])
        if assign.mode != "hard":
            raise ParameterError(f"assign={assign.mode!r}: joint units are segmented by assign='soft' or 'hard'.")
        log_joint, taken = best(Contexts.none(logs), data)
        used = np.where(log_joint > -np.inf, weight, 0.0)
        usage = counted(data, taken, used, len(logs))
        return Inference({"units": usage[None]}, (log_joint / assign.beta)[:, None], zlib.crc32(taken.tobytes()))


def soft(logs: Floats, data: Pairs, weight: Floats) -> tuple[Floats, Floats]:
    """Return expected uses of all units under order 1, and the log-evidence of every pair."""
    usage, log_evidence = np.zeros(len(logs)), np.empty(len(data))
    kernels.graphone_soft(*data.arrays, logs, weight, usage, log_evidence)
    return usage, log_evidence


def best(contexts: Contexts, data: Pairs) -> tuple[Floats, Codes]:
    """Return the log-probability of the best segmentation of every pair, and its unit into each node, -1 elsewhere."""
    log_joint, taken = np.empty(len(data)), np.empty(len(data.units), dtype=np.int32)
    if contexts.children[1] == contexts.children[-1]:  # no contexts: order 1
        kernels.graphone_hard(*data.arrays, np.ascontiguousarray(contexts.log_p[1:]), log_joint, taken)
    else:
        kernels.ngram_best(*data.arrays, *contexts, log_joint, taken)
    return log_joint, taken


def evidence(contexts: Contexts, data: Pairs) -> Floats:
    """Return the log of the sum over all segmentations of every pair."""
    log_evidence = np.empty(len(data))
    kernels.ngram_sum(*data.arrays, *contexts, log_evidence)
    return log_evidence


def counted(data: Pairs, taken: Codes, weight: Floats, n_units: int) -> Floats:
    """Return how often segmentations use each unit."""
    on = np.flatnonzero(taken >= 0)
    owner = np.searchsorted(data.firsts, on, side="right") - 1
    usage = np.bincount(taken[on], weight[owner], minlength=n_units).astype(np.float64)
    usage[END] += weight.sum()
    return usage
