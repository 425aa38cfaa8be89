"""scikit-learn without the libraries that it imports at once but a command seldom needs: they are imported when used.

``import sklearn`` imports pandas, where it is installed, and `scipy.stats`, which take most of its time.
`import_sklearn` lets it have stand-ins for them. Only the command line does this; the library imports it as it is.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

DEFERRED = ("pandas", "scipy.stats")


class Deferred(ModuleType):
    """Stands for a module, which is imported when one of its attributes is used."""

    def __getattr__(self, name: str) -> Any:
        _give_way(self)
        return getattr(import_module(self.__name__), name)


def _give_way(stand_in: Deferred) -> None:
    if sys.modules.get(stand_in.__name__) is stand_in:
        del sys.modules[stand_in.__name__]


def import_sklearn() -> None:
    """Import scikit-learn with stand-ins; later imports of these libraries get them."""
    if "sklearn" in sys.modules:
        return
    wanted = [name for name in DEFERRED if name not in sys.modules and find_spec(name.partition(".")[0]) is not None]
    stand_ins = [Deferred(name) for name in wanted]
    sys.modules.update({one.__name__: one for one in stand_ins})
    try:
        import_module("sklearn.base")
    finally:
        for one in stand_ins:
            _give_way(one)
