"""Things found by name: a small registry, and the one of kinds of columns.

A registry knows where each thing lives and imports it when it is first used. The package that has the built-in ones
(`home`) is imported when a name is looked up for the first time, so that modules below it in the order of imports can
ask for what is defined above them. Others add their own with `add`, or through an entry point of their distribution,
which is loaded only when a name is asked for that is not known otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from halfseen.errors import ParameterError

if TYPE_CHECKING:
    from halfseen.kinds.kind import Kind

__all__ = ["Registry", "kind_named", "kinds"]

T = TypeVar("T")

WITH_ARGUMENT = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)  # binomial(10)


class Registry(Generic[T]):
    """Things by name, each imported when it is first used.

    Parameters
    ----------
    what : str              what one of them is called in error messages
    home : str              the module that adds the built-in ones when it is imported
    group : str, optional   entry-point group through which other distributions add theirs

    Examples
    --------
    >>> shapes = Registry("shape", "halfseen.registry")
    >>> shapes.add("product", "math:prod")
    >>> shapes["product"]([2, 3]), shapes.names
    (6, ('product',))
    """

    def __init__(self, what: str, home: str, group: str | None = None) -> None:
        self._what, self._home, self._group = what, home, group
        self._known: dict[str, T | str] = {}

    def add(self, name: str, value: T | str) -> None:
        """Add a thing, or where it is: "module:attribute". A class there is called without arguments."""
        self._known[name] = value

    def remove(self, name: str) -> None:
        """Forget a thing."""
        del self._known[name]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they were added."""
        import_module(self._home)
        return tuple(self._known)

    def find(self, name: object, load: bool = False) -> T | None:
        """Return the thing of this name; None where there is none. With `load`, entry points are looked at too."""
        import_module(self._home)
        value = self._known.get(name) if isinstance(name, str) else None
        if value is None and load and self._group is not None and isinstance(name, str):
            for entry in entry_points(group=self._group, name=name):
                value = self._known[name] = _made(entry.load())
        if isinstance(value, str):
            value = self._known[str(name)] = _loaded(value)
        return value

    def __getitem__(self, name: object) -> T:
        """Return the thing of this name, from an entry point if need be; refuse a name that nothing has."""
        found = self.find(name, load=True)
        if found is None:
            known = ", ".join(map(repr, self.names))
            raise ParameterError(f"unknown {self._what} {name!r:.80}. Use one of {known}.")
        return found

    def __iter__(self) -> Iterator[T]:
        """Yield all things, in the order in which they were added."""
        return (self[name] for name in self.names)


def _loaded(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return _made(getattr(import_module(module), attribute))


def _made(value: Any) -> Any:
    return value() if isinstance(value, type) else value


class Kinds(Registry["Kind"]):
    """Kinds of columns; a name may have an argument: "binomial(10)" is made by the kind "binomial".

    So a kind with an argument is found wherever one is named: in options, at the command line, in model files.

    Examples
    --------
    >>> kinds["binomial(10)"] == kinds[" binomial( 10 ) "], kinds["binomial(10)"] == kinds["binomial(20)"]
    (True, False)
    """

    def find(self, name: object, load: bool = False) -> Kind | None:
        """Return the kind of this name; refuse an argument that the kind cannot have."""
        named = WITH_ARGUMENT.fullmatch(name.strip()) if isinstance(name, str) else None
        if named is None:
            return super().find(name, load)
        found = super().find(named[1], load)
        return None if found is None else found.with_argument(named[2].strip())


kinds = Kinds("kind", "halfseen.kinds", "halfseen.kinds")


def kind_named(name: str, treatment: str = "") -> Kind:
    """Return a kind of column by its name, and its variant: how pickles refer to it."""
    return kinds[name].treated(treatment)
