"""Latent classes as a network: groups of respondents, items that measure differently in them, items that depend.

Vocabulary
----------
items     observed columns of categories that the hidden class explains
group     an observed variable whose values are populations to compare: shares of the classes differ between them
vary      items whose probabilities given the class differ between groups; those of the others are the same in all
          groups (measurement invariance)
depend    pairs of items that are not independent given the class (local dependence)

    group -> class -> item        for every item
    group -> item                 for every item that varies
    first item -> second item     for every pair that depends
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from halfseen.errors import ParameterError

Edge = tuple[str, str]


def latent_class_edges(items: Any, name: str, group: Any = None, vary: Any = (), depend: Any = ()) -> list[Edge]:
    """Return the edges of a network of latent classes.

    Examples
    --------
    >>> latent_class_edges(["q1", "q2"], "class", group="country", vary=["q2"])
    [('country', 'class'), ('class', 'q1'), ('class', 'q2'), ('country', 'q2')]
    """
    columns = _read_items(items)
    _check_name(name, [*columns, *([] if group is None else [group])])
    if group is not None and (not isinstance(group, str) or group in columns):
        raise ParameterError(
            f"group={group!r:.80} is not the name of a column beside the items: groups are compared, not explained by "
            "the classes. Take it out of items."
        )
    varying = _read_vary(vary, columns, group)
    edges = [] if group is None else [(group, name)]
    for item in columns:
        edges.append((name, item))
        if group is not None and item in varying:
            edges.append((group, item))
    return edges + _read_depend(depend, columns)


def _read_items(items: Any) -> list[str]:
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ParameterError(f"items={items!r:.80} is not a list of columns, such as ['q1', 'q2', 'q3'].")
    found = list(items)
    wrong = [item for item in found if not isinstance(item, str)]
    if wrong:
        raise ParameterError(f"items: {wrong[0]!r:.80} is not the name of a column.")
    if len(found) < 2:
        raise ParameterError(f"items={found!r}: classes are found from at least two columns.")
    twice = [item for item in found if found.count(item) > 1]
    if twice:
        raise ParameterError(f"items: {twice[0]!r} is named twice.")
    return found


def _check_name(name: Any, columns: Collection[str]) -> None:
    if not isinstance(name, str) or not name:
        raise ParameterError(f"name={name!r:.80} is not a name for the hidden variable.")
    if name in columns:
        raise ParameterError(f"name={name!r} is a column too: name the hidden variable something else, name='type'.")


def _read_vary(vary: Any, items: Sequence[str], group: str | None) -> set[str]:
    """Return the items whose probabilities differ between groups."""
    if isinstance(vary, str):
        if vary != "all":
            raise ParameterError(f"vary={vary!r} is not a list of items, nor 'all'. For one item: vary=[{vary!r}].")
        found = set(items)
    elif vary is None or not isinstance(vary, Collection):
        if vary is not None:
            raise ParameterError(f"vary={vary!r:.80} is not a list of items, nor 'all'.")
        found = set()
    else:
        _check_items("vary", vary, items)
        found = set(vary)
    if found and group is None:
        raise ParameterError(
            f"vary={sorted(found)!r:.80} needs groups in which the items vary: give group='column' too."
        )
    return found


def _read_depend(depend: Any, items: Sequence[str]) -> list[Edge]:
    """Return the pairs of items that depend on each other given the class."""
    if depend is None:
        return []
    if isinstance(depend, str) or not isinstance(depend, Collection):
        raise ParameterError(f"depend={depend!r:.80} is not a list of pairs of items, such as [('D', 'F')].")
    found: list[Edge] = []
    for pair in depend:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ParameterError(f"depend: {pair!r:.80} is not a pair of items, such as ('D', 'F').")
        _check_items("depend", pair, items)
        first, second = pair
        if first == second:
            raise ParameterError(f"depend: {first!r} is paired with itself.")
        if (first, second) in found or (second, first) in found:
            raise ParameterError(f"depend: the pair ({first!r}, {second!r}) is named twice; its order does not matter.")
        found.append((first, second))
    return found


def _check_items(option: str, names: Iterable[Any], items: Sequence[str]) -> None:
    unknown = [name for name in names if name not in items]
    if unknown:
        raise ParameterError(f"{option}: {unknown[0]!r:.80} is not one of the items: {', '.join(items[:12])}.")
