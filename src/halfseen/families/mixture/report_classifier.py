"""The section of the report on a classifier: confusion, calibration, costs and rejection, by cross-validation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from halfseen.analysis.validation import Validated, calibration_error, confusion, costs, reject_curve
from halfseen.app.report.figures import svg
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Beside, Figure, Grid, Part, Section, Text
from halfseen.app.report.words import count, percent
from halfseen.plots import validation as pictures

MOST_CLASSES = 25  # in a confusion matrix


def classifier(model: Any, material: TableMaterial) -> Section | None:
    """How good the classifier is on rows that were not used for fitting."""
    if not hasattr(model, "classes_"):
        return None
    found = material.validated
    if not isinstance(found, Validated):
        return Section("classifier", "How good is the classifier?", found)
    lead = (
        f"Each of {count(len(found.truth))} labelled rows was predicted by a model fitted without it "
        f"({found.folds}-fold cross-validation). {found.accuracy:.1%} were correct; always predicting the most "
        f"frequent class would reach {found.baseline:.1%}. The mean log-loss is {found.log_loss:.3f}."
    )
    if len(found.truth) < found.n_labelled:
        lead += f" These are a random sample of the {count(found.n_labelled)} labelled rows."
    figures: list[Part] = [_calibration(found), _reject(found, material.cost)]
    parts: list[Part] = [_confusion(found), Beside(figures)]
    parts.append(_costs(found, material.cost) if material.cost is not None else _cost_curve(found))
    return Section("classifier", "How good is the classifier?", lead, parts)


def _confusion(found: Validated) -> Part:
    if len(found.class_names) > MOST_CLASSES:
        return Text(f"With {len(found.class_names)} classes the confusion matrix is too large to show.")
    table = confusion(found)
    rows = []
    for c, name in enumerate(found.class_names):
        total = table[c].sum()
        rows.append([name, *map(count, table[c].tolist()), percent(table[c, c] / total) if total else ""])
    caption = "Rows by their true class (down) and predicted class (across); correct predictions on the diagonal"
    head = ["true class", *found.class_names, "recall"]
    return Grid(caption, head, rows, "Confusion")


def _calibration(found: Validated) -> Figure:
    off = calibration_error(found)
    label = f"Share of correct predictions against predicted probability; off by {100 * off:.1f} points on average."
    drawing = svg(partial(pictures.plot_calibration, found), "calibration", (5.4, 4.2), label)
    return Figure(
        drawing,
        f"On the dotted line probabilities are correct. They are off by {100 * off:.1f} percentage points on average.",
        "Calibration",
    )


def _reject(found: Validated, cost: Any) -> Figure:
    curve = reject_curve(found)
    near = min(curve, key=lambda point: abs(point.coverage - 0.9))
    label = (
        f"Accuracy of decided rows against the share decided; with {percent(near.coverage)} decided, "
        f"{near.accuracy:.1%} are correct."
    )
    drawing = svg(partial(pictures.plot_reject, found, None), "reject", (5.4, 4.2), label)
    caption = (
        f"Leave the least certain rows to a person: with {percent(near.coverage)} of the rows decided, "
        f"{near.accuracy:.1%} of these are correct. hs.decide(..., reject={near.reject:.2g}) does so."
    )
    return Figure(drawing, caption, "Rejecting uncertain rows")


def _costs(found: Validated, cost: Any) -> Part:
    spent = costs(found, cost)
    rows = [
        ["least expected cost", f"{spent.decided:.4g}"],
        ["most probable class", f"{spent.most_probable:.4g}"],
        ["always the same decision", f"{spent.always:.4g}"],
    ]
    if np.isnan(spent.most_probable):
        del rows[1]  # decisions are not classes
    caption = "Mean cost per row with the costs given, on rows that were not used for fitting"
    return Grid(caption, ["decided by", "mean cost"], rows, "Costs")


def _cost_curve(found: Validated) -> Part:
    if len(found.class_names) != 2:
        return Text("All mistakes count the same here. Pass cost= to the report to see their cost: see hs.decide.")
    label = "Mean cost per row as one mistake becomes more expensive than the other, for three ways to decide."
    drawing = svg(partial(pictures.plot_cost, found), "cost", (7.0, 3.8), label)
    caption = (
        "If one mistake is worse than the other, decide by the least expected cost: hs.decide(proba, cost). Costs at "
        "each ratio are scaled to add up to one."
    )
    return Figure(drawing, caption, "What mistakes cost")
