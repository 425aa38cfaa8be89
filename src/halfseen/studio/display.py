"""Where a widget can be shown: in the notebook that runs this process, if one does. Nothing is imported to find out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def display() -> Callable[[Any], Any] | None:
    """Return what shows a widget in the cell that runs, or None outside of notebooks.

    Examples
    --------
    >>> display() is None
    True
    """
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        shown: Callable[[Any], Any] = marimo.output.append
        return shown
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # IPython in a terminal shows no widgets
        return None
    from IPython.display import display as show

    found: Callable[[Any], Any] = show
    return found
