"""The section on trust: number of classes, starts, certainty of the rows, residuals between columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfseen.analysis.residuals import LARGE
from halfseen.app.report.charts import bars, lines
from halfseen.app.report.checks import preferred, runner_up, tried_sizes
from halfseen.app.report.material import MOST_PAIRED, TableMaterial
from halfseen.app.report.parts import Beside, Figure, Grid, Part, Section, Text
from halfseen.app.report.words import count, listed, percent, plural
from halfseen.estimators.convergence import ended
from halfseen.leaves.leaf import Floats

CERTAINTY = (0.7, 0.9, 0.99)
CERTAINTY_WORDS = ("below 70%", "70 to 90%", "90 to 99%", "99% or more")


def choice(model: Any, what: tuple[str, str] = ("class", "classes")) -> str:
    """Return what was tried and chosen as the end of a sentence; empty where there was no choice."""
    tried = tried_sizes(model)
    if len(tried.get("n_components", ())) < 2:
        return ""
    sizes, shapes = sorted(set(tried["n_components"])), list(dict.fromkeys(tried.get("covariance", ())))
    lowest = f"the lowest {model.criterion.upper()}"
    if (other := preferred(tried)) is not None:
        many = f"{len(sizes)} numbers of {what[1]} tried, from {sizes[0]} to {sizes[-1]}"
        return f"; of {many}, the one chosen is {_named(tried, what)}; {lowest} is at {_named(tried, what, other)}"
    if min(tried[model.criterion]) < tried[model.criterion][tried["chosen"].index(True)]:
        lowest += " of the fits that did not collapse"
    many = f"{len(sizes)} numbers of {what[1]} tried, from {sizes[0]} to {sizes[-1]}"
    if not shapes:
        return f"; of {many}, {model.n_components_} has {lowest}"
    if len(sizes) == 1:
        shape = tried["covariance"][tried["chosen"].index(True)]
        return f"; of the covariances tried, {listed(shapes)}, {shape} has {lowest}"
    return f"; of {many}, with covariances {listed(shapes)}, {lowest} is that of {_named(tried, what)}"


def trust(model: Any, material: TableMaterial) -> Section:
    """Number of classes, starts, certainty, residuals between columns."""
    parts: list[Part] = [_sample_note(material)] if material.seen.is_sample else []
    figures = [figure for figure in (selection_figure(model), trace_figure(model)) if figure is not None]
    seen = material.seen
    if len(seen.class_names) > 1:
        figures.append(certainty_figure(seen.proba, seen.class_names, seen.table.weight, ("row", "class")))
    if figures:
        parts.append(Beside(figures))
    parts += tests_grid(model)
    parts += starts_text(model)
    parts.append(_residual_grid(material))
    lead = (
        "How the number of classes was chosen, whether the fit converged, how certain the classes of the rows are, and "
        "which relations between columns the model leaves unexplained."
    )
    return Section("trust", "Can it be trusted?", lead, parts)


def _sample_note(material: TableMaterial) -> Text:
    n_rows, n_given = len(material.seen.rows), material.seen.n_given
    return Text(
        f"The analyses of single rows below use a random sample of {count(n_rows)} of the {count(n_given)} rows. "
        "Shares, profiles and parameters come from the fit to all rows."
    )


def selection_figure(model: Any, what: tuple[str, str] = ("class", "classes")) -> Figure | None:
    """Draw the numbers of classes tried."""
    tried = tried_sizes(model)
    if len(tried.get("n_components", ())) < 2:
        return None
    several = len(set(tried["n_components"])) > 1
    axis = f"the number of {what[1]}" if several else "the shape of covariance"
    label = f"Information criteria against {axis}; the {model.criterion.upper()} chosen is at {_named(tried, what)}."
    drawing = lines.selection(tried, model.criterion, what[1], label)
    title = f"Number of {what[1]}" if several else "Shape of covariance"
    return Figure(drawing, _chosen(tried, model.criterion, what), title)


def tests_grid(model: Any) -> list[Part]:
    """Return the tests of each number of classes against one more, where there are any."""
    tried = tried_sizes(model)
    tested = [i for i, value in enumerate(tried.get("lr", ())) if value is not None]
    if not tested:
        return []
    rows = [
        [
            f"{tried['n_components'][i]} against {tried['n_components'][i] + 1}",
            f"{tried['lr'][i]:,.2f}",
            f"{tried['lr_p'][i]:.3g}",
            f"{tried['lr_draws'][i]:,.0f}",
        ]
        for i in tested
    ]
    caption = (
        "Bootstrap likelihood ratio tests, by maximum likelihood. A small p says that the smaller number of classes is "
        "too few; the first number that is not rejected is a candidate."
    )
    return [Grid(caption, ["classes", "LR", "p", "tables drawn"], rows, "Is one class more justified?")]


def _chosen(tried: dict[str, list[Any]], criterion: str, what: tuple[str, str]) -> str:
    """Return which has the lowest criterion, and the difference to the next."""
    if (first_choice := preferred(tried)) is not None:
        best = _named(tried, what, first_choice)
        return f"Chosen: {_named(tried, what)}. The lowest {criterion.upper()} is at {best}."
    second, gap = runner_up(tried, criterion)
    other = _named(tried, what, second) if "covariance" in tried else str(tried["n_components"][second])
    if gap < 0:
        return f"Chosen: {_named(tried, what)}. {other} has a lower {criterion.upper()}, but its fit collapsed."
    strong = "a clear difference" if gap > 10 else "a small difference" if gap > 2 else "hardly any difference"
    first = f"The lowest {criterion.upper()} is at {_named(tried, what)}."
    return f"{first} Next is {other}, higher by {gap:,.1f}: {strong}."


def _named(tried: dict[str, list[Any]], what: tuple[str, str], i: int | None = None) -> str:
    """Return what to call one of those tried, by default the one chosen."""
    i = tried["chosen"].index(True) if i is None else i
    name = plural(tried["n_components"][i], *what)
    return f"{name} of {tried['covariance'][i]} covariance" if "covariance" in tried else name


def trace_figure(model: Any) -> Figure | None:
    """Draw the objective of the best start."""
    trace = getattr(model, "trace_", [])
    if len(trace) < 4:  # with nothing hidden it ends after a few steps
        return None
    label = f"Objective after each of {len(trace)} steps, rising to {trace[-1]:,.1f}."
    drawing = lines.trace(trace, "iteration", "objective: log-likelihood + log-prior", label)
    end = ended(model.stop_reason_, model.n_iter_)
    return Figure(drawing, f"Objective of the best start by iteration; {end}.", "Objective")


def starts_text(model: Any) -> list[Part]:
    """Return the objectives that the starts reached; where all are the same, in a sentence."""
    starts = getattr(model, "restarts_", None)
    if starts is None or starts["n_init"] < 2:
        return []
    caption = (
        f"{starts['n_init']} random starts; {starts['n_reached_best']} of them reached the best objective. Those that "
        "clearly ended below it were dropped on the way."
    )
    title, best = "Do the starts agree?", starts["objectives"][0]
    objectives = starts["objectives"][:8]
    if best - objectives[-1] < 0.0005:
        return [Text(caption, title)]
    rows = [[f"run {i + 1}", f"{objective:,.3f}", f"{best - objective:,.3f}"] for i, objective in enumerate(objectives)]
    return [Grid(caption, ["", "objective", "below the best"], rows, title)]


def certainty_figure(proba: Floats, names: Sequence[str], weight: Floats, of: tuple[str, str]) -> Figure:
    """Draw how certain the classes of the rows are; `of` is what is counted, and what it belongs to."""
    counts = np.zeros((len(names), len(CERTAINTY_WORDS)))
    highest = proba.max(axis=1)
    np.add.at(counts, (proba.argmax(axis=1), np.searchsorted(CERTAINTY, highest, side="right")), weight)
    mean, many = percent(float(np.average(highest, weights=weight))), "classes" if of[1] == "class" else f"{of[1]}s"
    label = f"Bars of the probability of the most likely {of[1]}; on average {mean}."
    drawing = bars.graded(counts, CERTAINTY_WORDS, names, of[0], label)
    caption = f"{of[0].capitalize()}s by their most likely {of[1]}, and its probability. The mean is {mean}."
    return Figure(drawing, caption, f"How certain are the {many} of the {of[0]}s?")


def _residual_grid(material: TableMaterial) -> Part:
    found = material.residuals
    if not found:
        return Text("There is no pair of columns to compare within the classes.")
    rows = [[pair.first, pair.second, f"{pair.value:,.1f}", f"{pair.strength:.2f}", pair.detail] for pair in found[:8]]
    caption = (
        "Pairs of columns within the classes. A residual near 1 or below means independent, as assumed. It has no "
        "known distribution: score --details --bootstrap 99 gives p-values. The strength (0 to 1) shows whether it "
        "matters."
    )
    note = (
        f"{len(material.related)} of {plural(len(found), 'pair')} are above {LARGE:g} with a strength of 0.1 or more."
    )
    if len(material.telling_columns) > MOST_PAIRED:
        note += f" Only the {MOST_PAIRED} columns that differ most between the classes were paired."
    head = ["column", "and column", "residual", "strength", "where"]
    return Grid(caption, head, rows, "Relations between columns within the classes", frozenset({1, 4}), note)
