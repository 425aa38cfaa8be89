"""Sections of the report on a mixture over a table: LatentClass and NaiveBayes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from scipy.special import rel_entr

from halfseen.analysis import plots
from halfseen.analysis.residuals import UNLIKELY
from halfseen.analysis.rows import DRAWS
from halfseen.analysis.validation import Validated, calibration_error
from halfseen.app.report.classifier import classifier
from halfseen.app.report.figures import svg
from halfseen.app.report.material import MOST_PAIRED, TableMaterial
from halfseen.app.report.parts import (
    Beside,
    Card,
    Cards,
    Check,
    Checks,
    Figure,
    Grid,
    Heat,
    HeatCell,
    HeatRow,
    Part,
    Section,
    Text,
    Trait,
)
from halfseen.app.report.sections import MATERIAL, SECTIONS, reproduce
from halfseen.app.report.words import chance, count, listed, number, one_in, percent, plural, spread
from halfseen.estimators.profile import ColumnProfile

MOST_HEAT_ROWS = 40
MOST_GRID_ROWS = 30
MANY_HOLES = 0.2  # of all cells
FAR = 2.0  # standard deviations from the whole that get the full colour
OVERLAP = 0.8  # mean certainty below which classes overlap much
N_TRAITS = 3


# ---- the answer --------------------------------------------------------------------------------------------------


def answer(model: Any, material: TableMaterial) -> Section:
    """Three sentences, and what to be careful about."""
    supervised = hasattr(model, "classes_")
    sentences = _classifier_answer(model, material) if supervised else _classes_answer(model, material)
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    return Section("answer", "The answer", " ".join(sentences), [Checks(checks, "Before you rely on it")])


def _classes_answer(model: Any, material: TableMaterial) -> list[str]:
    weights, n_rows = model.weights_, material.seen.n_given
    if len(weights) == 1:
        first = f"All {count(n_rows)} rows are taken as one class"
    else:
        first = (
            f"The {count(n_rows)} rows fall into {len(weights)} classes: the largest holds {percent(weights.max())} of "
            f"them, the smallest {percent(weights.min())}"
        )
    tried = _tried(model)
    if len(tried.get("n_components", ())) > 1:
        sizes = tried["n_components"]
        first += f"; of {len(sizes)} numbers of classes tried, from {sizes[0]} to {sizes[-1]}, "
        first += f"{model.n_components_} has the lowest {model.criterion.upper()}"
    if len(weights) == 1:
        return [first + ".", "With one class there is nothing to tell apart, and columns are taken as unrelated."]
    second = f"The classes differ most in {listed(material.telling_columns[:3])}."
    sure = material.seen.table.weight @ (material.seen.proba.max(axis=1) >= 0.9) / material.seen.table.weight.sum()
    third = f"{percent(float(sure))} of the rows are at least 90% sure of their class."
    return [first + ".", second, third]


def _classifier_answer(model: Any, material: TableMaterial) -> list[str]:
    names, shares = material.seen.class_names, model.class_prior_
    by_share = [f"{names[c]} {percent(shares[c])}" for c in np.argsort(-shares, kind="stable")]
    first = f"The model tells {len(names)} classes apart ({listed(by_share)}), best by {listed(material.telling_columns[:3])}."
    found = material.validated
    if not isinstance(found, Validated):
        return [first, "How well it does on new rows is not known here.", found]
    second = (
        f"On labelled rows it was not fitted to ({found.folds}-fold cross-validation, {plural(len(found.truth), 'row')}) it "
        f"is right in {found.accuracy:.1%}; always saying the most frequent class would be right in {found.baseline:.1%}."
    )
    off = calibration_error(found)
    verdict = "can be taken at face value" if off < 0.05 else "are to be taken with care"
    return [first, second, f"Its probabilities are off by {100 * off:.1f} points on average and {verdict}."]


def _tried(model: Any) -> dict[str, list[Any]]:
    found = getattr(model, "selection_", None)
    return {} if found is None else nw.from_native(found).to_dict(as_series=False)


def _checks(model: Any, material: TableMaterial) -> Iterator[Check]:
    yield _converged(model)
    yield from _starts(model)
    yield from _overlap(material)
    yield from _small(model, material)
    yield from (Check(False, "Event", f"{_capital(event)}.") for event in getattr(model, "events_", ()))
    yield from _guarded(model)
    yield _holes_check(material)
    yield from _dependence(material)
    impossible = int(np.isneginf(material.seen.loglik).sum())
    if impossible:
        text = f"{plural(impossible, 'row')} cannot occur under the model. Fit with a prior to leave no probability at zero."
        yield Check(False, "Impossible rows", text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _converged(model: Any) -> Check:
    if not hasattr(model, "stop_reason_"):
        return Check(
            True, "Convergence", "The model was given by its parameters, or learned in pieces: no fit to judge."
        )
    passes = plural(model.n_iter_, "pass", "passes")
    if model.converged_:
        return Check(True, "Convergence", f"The fit converged after {passes} over the data ({model.stop_reason_}).")
    return Check(
        False,
        "Convergence",
        f"The fit stopped after {passes} without converging ({model.stop_reason_}). Raise max_iter.",
    )


def _starts(model: Any) -> Iterator[Check]:
    starts = getattr(model, "restarts_", None)
    if starts is None or starts["n_init"] < 2:
        return
    reached, finalists = starts["n_reached_best"], starts["n_finalists"]
    text = f"{reached} of the last {finalists} of {starts['n_init']} random starts reached the same best solution."
    if reached > 1 or finalists < 2:
        yield Check(True, "Starts agree", text)
    else:
        yield Check(False, "Starts agree", f"Only {text} There may be a better one: raise n_init.")


def _overlap(material: TableMaterial) -> Iterator[Check]:
    if material.seen.proba.shape[1] < 2:
        return
    sure = material.mean_certainty
    if sure >= OVERLAP:
        yield Check(True, "Overlap", f"The classes are well apart: rows are {percent(sure)} sure of theirs on average.")
    else:
        text = (
            f"The classes overlap: rows are {percent(sure)} sure of theirs on average. Use probabilities, not labels."
        )
        yield Check(False, "Overlap", text)


def _small(model: Any, material: TableMaterial) -> Iterator[Check]:
    mass = material.class_mass
    least = max(10.0, 2.0 * model.n_parameters_ / len(mass))
    small = [f"{model.class_names_[k]} ({count(mass[k])} rows)" for k in np.flatnonzero(mass < least)]
    if small:
        text = f"Few rows for the numbers estimated from them: {listed(small)}. What is said of these is shaky."
        yield Check(False, "Small classes", text)
    else:
        yield Check(True, "Small classes", f"Every class has enough rows; the smallest about {count(mass.min())}.")


def _guarded(model: Any) -> Iterator[Check]:
    scores = getattr(model, "guard_", None)
    if not scores:
        return
    helped = scores["with_unlabeled"] >= scores["labelled_only"]
    text = (
        f"Cross-validated accuracy is {scores['with_unlabeled']:.1%} with the unlabelled rows and "
        f"{scores['labelled_only']:.1%} without ({plural(scores['n_labelled'], 'labelled row')})."
    )
    yield Check(helped, "Unlabelled rows", text)


def _holes_check(material: TableMaterial) -> Check:
    share = material.holes.total_share
    if not material.holes.n_missing:
        return Check(True, "Holes", "Every cell is filled.")
    text = f"{percent(share)} of the cells are missing."
    if share > MANY_HOLES:
        return Check(False, "Holes", f"{text} That is much: see whether what is assumed about them is believable.")
    return Check(True, "Holes", text)


def _dependence(material: TableMaterial) -> Iterator[Check]:
    if not material.residuals:
        return
    related = material.related
    if not related:
        text = (
            "Inside the classes no pair of columns stays related beyond chance, or so weakly that it does not matter."
        )
        yield Check(True, "Independence", text)
        return
    first = related[0]
    text = (
        f"{len(related)} of {plural(len(material.residuals), 'pair')} of columns stay related inside the "
        f"classes, most of all {first.first} and {first.second} ({first.detail}). Shares and certainties are then too "
        "sharp; more classes, or dropping one of such a pair, may help."
    )
    yield Check(False, "Independence", text)


# ---- classes -----------------------------------------------------------------------------------------------------


def classes(model: Any, material: TableMaterial) -> Section:
    """A card per class, and the heat map."""
    cards = [
        Card(name, float(share), percent(share), _traits(material.profiles, k))
        for k, (name, share) in enumerate(zip(model.class_names_, model.weights_, strict=True))
    ]
    lead = "Share of each class, and the three columns that set it apart most from the whole table."
    return Section("classes", "The classes", lead, [Cards(cards)])


def _traits(columns: list[ColumnProfile], k: int) -> list[Trait]:
    ranked = sorted((c for c in columns if len(c.rows)), key=lambda c: -c.distance[k])[:N_TRAITS]
    return [_trait(column, k) for column in ranked if column.distance[k] > 0.01]


def _trait(column: ColumnProfile, k: int) -> Trait:
    values, overall = column.values[:, k], column.overall
    if column.kind == "gaussian":
        return Trait(column.name, spread(*values), spread(*overall))
    if column.kind == "poisson":
        return Trait(column.name, f"{number(values[0])} on average", number(overall[0]))
    telling = int(np.argmax(rel_entr(values, overall)))
    return Trait(column.name, f"{column.rows[telling]} in {percent(values[telling])}", percent(overall[telling]))


def profile(model: Any, material: TableMaterial) -> Section | None:
    """The heat map of profiles, as a table."""
    if len(model.weights_) < 2 or not material.contrasts:
        return None
    shown = plots.strongest(material.contrasts, MOST_HEAT_ROWS)
    rows = [
        HeatRow(row.column, row.category, row.overall, [_heat_cell(row, k) for k in range(len(model.weights_))])
        for row in shown
    ]
    left_out = len(material.contrasts) - len(shown)
    note = f"The {len(shown)} rows that differ most; {left_out:,} others are left out." if left_out else ""
    lead = (
        "Each value in its own unit: means of numbers, shares of categories. Red with an arrow up is above the whole "
        "table, blue with an arrow down below it; the stronger the colour, the further."
    )
    caption = "Profile of each class beside the whole table"
    heat = Heat(caption, ["column", "category", "all", *model.class_names_], rows, note)
    return Section("profiles", "Profiles", lead, [heat])


def _heat_cell(row: Any, k: int) -> HeatCell:
    far = float(row.contrast[k])
    side = "above" if far > 0 else "below"
    return HeatCell(
        row.shown[k], float(np.clip(far / FAR, -1, 1)), f"{abs(far):.1f} standard deviations {side} the whole"
    )


# ---- trust -------------------------------------------------------------------------------------------------------


def trust(model: Any, material: TableMaterial) -> Section:
    """Number of classes, starts, certainty, what is left between columns."""
    parts: list[Part] = [_sample_note(material)] if material.seen.is_sample else []
    figures = [figure for figure in (_selection_figure(model), _trace_figure(model)) if figure is not None]
    if figures:
        parts.append(Beside(figures))
    parts += _starts_text(model)
    names = material.seen.class_names
    if len(names) > 1:
        parts.append(_certainty_figure(material))
    parts.append(_residual_grid(material))
    lead = "How many classes the data ask for, whether the fit found them, how sure rows are, and what is left over."
    return Section("trust", "Can it be trusted?", lead, parts)


def _sample_note(material: TableMaterial) -> Text:
    n_rows, n_given = len(material.seen.rows), material.seen.n_given
    return Text(
        f"What follows goes row by row, and looks at a random sample of {count(n_rows)} of the {count(n_given)} rows. "
        "Shares, profiles and parameters come from the fit to all rows it was given."
    )


def _selection_figure(model: Any) -> Figure | None:
    tried = _tried(model)
    if len(tried.get("n_components", ())) < 2:
        return None
    label = (
        f"Information criteria against the number of classes; the lowest {model.criterion.upper()} is at "
        f"{model.n_components_} classes."
    )
    drawing = svg(partial(plots.draw_selection, tried, model.criterion), "selection", (5.6, 3.6), label)
    caption = f"The lowest {model.criterion.upper()} is at {plural(model.n_components_, 'class', 'classes')}. "
    return Figure(drawing, caption + _runner_up(tried, model.criterion), "Number of classes")


def _runner_up(tried: dict[str, list[Any]], criterion: str) -> str:
    order = sorted(zip(tried[criterion], tried["n_components"], strict=True))
    gap, second = order[1][0] - order[0][0], order[1][1]
    strong = "a clear choice" if gap > 10 else "some preference" if gap > 2 else "hardly a difference"
    return f"Next is {second}, higher by {gap:,.1f}: {strong}."


def _trace_figure(model: Any) -> Figure | None:
    trace = getattr(model, "trace_", [])
    if len(trace) < 2:
        return None
    label = f"Objective after each of {len(trace)} steps, rising to {trace[-1]:,.1f}."
    drawing = svg(partial(plots.draw_trace, trace), "trace", (5.6, 3.6), label)
    return Figure(drawing, f"The climb of the best start, which ended by “{model.stop_reason_}”.", "Climb")


def _starts_text(model: Any) -> list[Part]:
    starts = getattr(model, "restarts_", None)
    if starts is None or starts["n_init"] < 2:
        return []
    rows = [
        [f"run {i + 1}", f"{objective:,.3f}", f"{starts['objectives'][0] - objective:,.3f}"]
        for i, objective in enumerate(starts["objectives"][:8])
    ]
    caption = (
        f"{starts['n_init']} random starts were raced; {starts['n_finalists']} ran to the end and "
        f"{starts['n_reached_best']} reached the best."
    )
    return [Grid(caption, ["", "objective", "below the best"], rows, "Do the starts agree?")]


def _certainty_figure(material: TableMaterial) -> Figure:
    seen = material.seen
    names = seen.class_names
    label = f"Bars of how sure the rows of each class are; on average {percent(material.mean_certainty)}."
    draw = partial(plots.draw_certainty, seen.proba, names, seen.table.weight)
    drawing = svg(draw, "certainty", (8.2, 1.3 + 0.36 * len(names)), label)
    caption = (
        f"Rows by their most probable class, and how probable it is. The mean is {percent(material.mean_certainty)}."
    )
    return Figure(drawing, caption, "How sure are the rows?")


def _residual_grid(material: TableMaterial) -> Part:
    found = material.residuals
    if not found:
        return Text("There is no pair of columns to compare inside the classes.")
    rows = [
        [f"{pair.first} and {pair.second}", f"{pair.value:,.1f}", f"{pair.strength:.2f}", pair.detail]
        for pair in found[:8]
    ]
    caption = (
        f"Pairs of columns inside the classes. A residual near 1 or below means independent, as assumed; above "
        f"{UNLIKELY} is unlikely by chance, and strength (0 to 1) says whether it matters."
    )
    note = (
        f"{len(material.related)} of {plural(len(found), 'pair')} are above {UNLIKELY} with a strength of 0.1 or more."
    )
    if len(material.telling_columns) > MOST_PAIRED:
        note += f" Only the {MOST_PAIRED} columns that tell the classes apart best were paired."
    head = ["pair", "residual", "strength", "where"]
    return Grid(caption, head, rows, "What is left between columns", frozenset({3}), note)


# ---- holes -------------------------------------------------------------------------------------------------------


def holes(model: Any, material: TableMaterial) -> Section:
    """Where the holes are, what is assumed of them, and how well they can be filled."""
    found = material.holes
    parts: list[Part] = []
    if found.n_missing:
        parts += [_holes_figure(material), Text(ASSUMED)]
        if material.seen.proba.shape[1] > 1:
            parts.append(_holes_grid(material))
    parts.append(_hidden_grid(material))
    if found.n_missing:
        lead = f"{percent(found.total_share)} of the cells are missing ({count(found.n_missing)})."
    else:
        lead = "The table has no holes."
    return Section("holes", "Holes", lead, parts)


ASSUMED = (
    "Assumed: a cell is missing for reasons that have nothing to do with its value, beyond what the rest of the row tells "
    "(missing at random). Then holes need no filling, and nothing is biased. If being missing is itself telling, as "
    "when the rich do not state their income, make it a category of its own. The data cannot prove this assumption."
)


def _holes_figure(material: TableMaterial) -> Figure:
    found = material.holes
    n_columns, n_patterns = min(len(found.names), plots.MOST_COLUMNS), min(len(found.patterns), plots.MOST_PATTERNS)
    size = (min(max(4.5, 2.2 + 0.62 * n_columns), 11.0), 1.7 + 0.3 * n_patterns)
    worst = int(np.argmax(found.share))
    label = (
        f"Map of {len(found.patterns)} patterns of missing cells; {found.names[worst]} is missing most often, in "
        f"{percent(float(found.share[worst]))} of the rows."
    )
    drawing = svg(partial(plots.draw_missing, found), "missing", size, label)
    complete = sum(pattern.n_rows for pattern in found.patterns if not pattern.missing)
    caption = f"Rows with the same cells missing are drawn as one. {percent(complete / found.n_rows)} of the rows are complete."
    return Figure(drawing, caption, "Where the holes are")


def _holes_grid(material: TableMaterial) -> Grid:
    found = material.holes_by_class[:MOST_GRID_ROWS]
    rows = [[column.column, *map(percent, column.share.tolist()), chance(column.p)] for column in found]
    left_out = len(material.holes_by_class) - len(found)
    differ = [column.column for column in material.holes_by_class if column.p < 0.01]
    note = (
        f"Missing more often in some classes than in others: {listed(differ)}."
        if differ
        else ("No column is missing much more often in one class than in another.")
    )
    note += f" {left_out} other columns with holes are left out." if left_out else ""
    caption = "Share of holes in each class, and how probable such a difference is by chance"
    return Grid(
        caption, ["column", *material.seen.class_names, "by chance"], rows, "Do holes differ by class?", note=note
    )


def _hidden_grid(material: TableMaterial) -> Part:
    found = material.hidden
    if not found.columns:
        return Text("No column has enough known cells to hide some of them and see how well they are guessed.")
    rows = []
    for column in found.columns[:MOST_GRID_ROWS]:
        shown = [percent(e) if column.unit == "wrong" else number(e) for e in (column.error, column.plain)]
        gain = "no better" if column.gain <= 0.005 else f"{column.gain:.0%} smaller"
        rows.append([column.column, column.unit, str(column.n_cells), *shown, gain])
    left_out = len(found.columns) - len(rows)
    note = f"{left_out} other columns are left out." if left_out else ""
    head = ["column", "error", "cells hidden", "the model", "mean or mode", "the model's error is"]
    return Grid(found.note, head, rows, "Can the model guess what it does not see?", frozenset({1, 5}), note)


# ---- rows --------------------------------------------------------------------------------------------------------


def rows(model: Any, material: TableMaterial) -> Section:
    """Rows that are uncertain, and rows that are surprising."""
    parts: list[Part] = []
    if material.seen.proba.shape[1] > 1:
        parts.append(_uncertain_grid(material))
    parts.append(_surprising_grid(material))
    return Section("rows", "Rows worth a look", "Rows are counted from 0, in the order of the table.", parts)


def _uncertain_grid(material: TableMaterial) -> Part:
    if not material.uncertain:
        return Text("Every row is at least 95% sure of its class.")
    found = [
        [
            f"row {r.row}",
            f"{r.classes[0]} {percent(r.probability[0])}",
            f"{r.classes[1]} {percent(r.probability[1])}",
            r.why,
        ]
        for r in material.uncertain
    ]
    head = ["row", "most probable", "or", "why"]
    caption = "The rows least sure of their class, and which cells pull which way"
    return Grid(caption, head, found, "Between classes", frozenset({1, 2, 3}))


def _surprising_grid(material: TableMaterial) -> Part:
    found = [[f"row {r.row}", r.class_name, one_in(r.tail, 1 / DRAWS), r.why] for r in material.surprising]
    caption = (
        "The rows least like what the model expects: how many rows drawn from the model, with the same cells missing, are "
        "as improbable. Errors in the data are often among them."
    )
    return Grid(caption, ["row", "class", "as improbable", "why"], found, "Unlike the others", frozenset({1, 2, 3}))


TABLE_SECTIONS = [answer, classes, profile, trust, holes, rows]

SECTIONS["LatentClass"] = [*TABLE_SECTIONS, reproduce]
SECTIONS["NaiveBayes"] = [*TABLE_SECTIONS, classifier, reproduce]
MATERIAL["LatentClass"] = MATERIAL["NaiveBayes"] = TableMaterial
