"""A table of probabilities whose axes are variables and whose positions are states; NumPy reads it as an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import frame_from_dict
from halfseen.errors import ParameterError
from halfseen.leaves.leaf import Floats

WIDEST = 200  # rows that are printed


class Labelled:
    """Probabilities of the joint states of some variables.

    Attributes
    ----------
    variables : tuple of str           one for each axis
    states : dict                      the states of each, in the order of the axis
    values : array

    Examples
    --------
    >>> import numpy as np
    >>> found = Labelled({"rain": ("no", "yes"), "wet": (0, 1)}, np.array([[0.6, 0.1], [0.1, 0.2]]))
    >>> found["yes", 1]
    0.2
    >>> np.asarray(found).sum(axis=0).round(3).tolist()
    [0.7, 0.3]
    >>> found
    rain  wet
    no    0    0.6
    no    1    0.1
    yes   0    0.1
    yes   1    0.2
    """

    def __init__(self, states: Mapping[str, Sequence[Any]], values: Floats) -> None:
        self.states = {name: tuple(own) for name, own in states.items()}
        self.variables = tuple(self.states)
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype) if copy or dtype is not None else self.values

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each variable."""
        return self.values.shape

    def __getitem__(self, places: Any) -> Any:
        """Return the probability of states, one for each variable in their order; fewer give a smaller table."""
        named = places if isinstance(places, tuple) else (places,)
        if len(named) > len(self.variables):
            raise ParameterError(
                f"{len(named)} states for {len(self.variables)} variables: {', '.join(self.variables)}."
            )
        index = tuple(
            position(name, self.states[name], state) for name, state in zip(self.variables, named, strict=False)
        )
        found = self.values[index]
        if len(index) == len(self.variables):
            return float(found)
        return Labelled({name: self.states[name] for name in self.variables[len(index) :]}, found)

    def to_dict(self) -> dict[Any, float]:
        """Return the probability of every state, or tuple of states."""
        keys = product(*self.states.values())
        single = len(self.variables) == 1
        return {key[0] if single else key: float(p) for key, p in zip(keys, self.values.ravel(), strict=True)}

    def to_frame(self) -> Any:
        """Return a table with a row for every joint state, and the column `probability`."""
        columns = list(zip(*product(*self.states.values()), strict=True))
        named = dict(zip(self.variables, map(list, columns), strict=True))
        return frame_from_dict({**named, "probability": self.values.ravel().tolist()})

    def __repr__(self) -> str:
        rows = [[str(state) for state in key] for key in product(*self.states.values())][:WIDEST]
        numbers = [f"{p:.6g}" for p in self.values.ravel()[:WIDEST]]
        widths = [max(len(row[j]) for row in [list(self.variables), *rows]) for j in range(len(self.variables))]
        lines = ["  ".join(name.ljust(w) for name, w in zip(self.variables, widths, strict=True)).rstrip()]
        for row, number in zip(rows, numbers, strict=True):
            lines.append("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + "  " + number)
        if self.values.size > WIDEST:
            lines.append(f"... {self.values.size:,} joint states in all")
        return "\n".join(lines)


def position(name: str, states: Sequence[Any], state: Any) -> int:
    """Return the index of a state of a variable; if there is none, of the one with the same text."""
    plain = state.item() if isinstance(state, np.generic) else state
    for place, known in enumerate(states):
        if known == plain and isinstance(known, str) == isinstance(plain, str):
            return place
    printed = [_printed(known) for known in states]
    if printed.count(_printed(plain)) == 1:
        return printed.index(_printed(plain))
    raise ParameterError(f"{name} has no state {state!r}. States: {', '.join(map(repr, states))}.")


def _printed(state: Any) -> str:
    """Return a state as text: files write True, TRUE or true."""
    text = str(state)
    return text.lower() if text.lower() in ("true", "false") else text
