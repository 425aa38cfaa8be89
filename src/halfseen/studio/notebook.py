"""The studio in a notebook: the page of ``halfseen studio`` as a widget, over a table in memory."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from halfseen import families
from halfseen.errors import ParameterError
from halfseen.optional import optional

NEEDED = ("anywidget", "duckdb", "pyarrow", "typer", "jinja2")


def studio(
    model: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    lengths: Any = None,
) -> Any:
    """Show a model and its data in a notebook: look at classes, correct them, fit again, decide, export.

    The widget has the screens of ``halfseen studio``, without a server: what it asks for goes through the kernel. The
    table is copied once, into a temporary file. Works in Jupyter, marimo, VS Code and wherever else anywidget does.

    Parameters
    ----------
    model : fitted estimator, optional
        Without one the studio begins with the table: ``hs.studio(X=table)``, or ``hs.studio(table)``.
    X : table, optional
        What the model was fitted to, or other data of the same columns: pandas, Polars, Arrow, an array, a list of
        rows, a file (path or `open_table`). Sequences, sentences and pairs as their `fit` takes them. Without it the
        screens that need data are left out.
    y, sample_weight, groups, time, lengths : optional
        As in the `fit` of the model, where that takes them.

    Returns
    -------
    StudioWidget
        Shown as the last line of a cell. Its `model` is the version that is on the screen: names, labels and fits made
        there are in it.

    Examples
    --------
    >>> import halfseen as hs
    >>> table = hs.load_penguins()
    >>> model = hs.LatentClass(3, random_state=0).fit(table)
    >>> shown = model.studio(table)  # in a notebook: the last line of a cell
    >>> shown.model.class_names_
    ('class 0', 'class 1', 'class 2')
    >>> shown.close()
    """
    for module in NEEDED:
        optional(module, "The studio in a notebook", "notebook")
    from halfseen.studio.held import hold, spec_of
    from halfseen.studio.session import Session
    from halfseen.studio.spec import Spec, word_of
    from halfseen.studio.widgets import StudioWidget

    if model is not None and families.of_class(type(model)) is None:
        if X is not None:
            raise ParameterError(
                f"studio: {type(model).__name__} is no model of halfseen. Give a fitted model first, then the table."
            )
        model, X = None, model
    if model is not None:
        check_is_fitted(model)
    marks = {"y": y, "sample_weight": sample_weight, "groups": groups, "time": time, "lengths": lengths}
    given = [name for name, value in marks.items() if value is not None]
    if X is None:
        if model is None or given:
            raise ParameterError("studio: give a fitted model, a table, or both: hs.studio(model, X).")
        return StudioWidget(Session(spec_of(model, None), model))
    if isinstance(X, str | os.PathLike):
        if given:
            raise ParameterError(f"studio: {given[0]}= is for tables in memory; open the file with hs.open_table.")
        spec = Spec((os.fspath(X),), "classes" if model is None else word_of(model))
        return StudioWidget(Session(spec, model))
    held = hold(X, model, **marks)
    return StudioWidget(Session(spec_of(model, held), model, held=held))
