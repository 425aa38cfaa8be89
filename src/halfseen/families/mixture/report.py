"""The report on a mixture over a table, LatentClass or NaiveBayes: the answer, the classes, and all its sections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from halfseen.analysis.imputation_check import HiddenCells, check_imputation
from halfseen.analysis.validation import Validated, calibration_error
from halfseen.app.report.checks import FAR, MOST_HEAT_ROWS, OVERLAP, converged, events, holes_check, starts, traits
from halfseen.app.report.holes import holes
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Card, Cards, Check, Checks, Heat, HeatCell, HeatRow, Section
from halfseen.app.report.rows import rows
from halfseen.app.report.sections import reproduce
from halfseen.app.report.text import of_cells, text_alone, words
from halfseen.app.report.trust import choice, trust
from halfseen.app.report.words import count, cut, listed, percent, plural
from halfseen.families.mixture.imputation_check import MixtureCells
from halfseen.families.mixture.report_classifier import classifier
from halfseen.plots import tables as table_plots


class MixtureMaterial(TableMaterial):
    """A mixture over a table that EM fits again without some cells."""

    @cached_property
    def hidden(self) -> HiddenCells:
        """Known cells hidden and guessed."""
        return check_imputation(MixtureCells(self.model, self.seen.table, None if self.seen.is_sample else self.y))


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
    first += choice(model)
    if len(weights) == 1:
        joint = getattr(model, "_covariance", "diag") in ("full", "tied", "fixed")
        related = "" if joint else ", and columns are taken as unrelated"
        return [first + ".", f"With one class there is nothing to tell apart{related}."]
    second = f"The classes differ most in {listed([cut(name) for name in material.telling_columns[:3]])}."
    sure = material.seen.table.weight @ (material.seen.proba.max(axis=1) >= 0.9) / material.seen.table.weight.sum()
    third = f"{percent(float(sure))} of the rows are at least 90% sure of their class."
    return [first + ".", second, third]


def _classifier_answer(model: Any, material: TableMaterial) -> list[str]:
    names, shares = material.seen.class_names, model.class_prior_
    by_share = [f"{cut(names[c])} {percent(shares[c])}" for c in np.argsort(-shares, kind="stable")]
    best = listed([cut(name) for name in material.telling_columns[:3]])
    first = f"The model tells {len(names)} classes apart ({listed(by_share)}), best by {best}."
    found = material.validated
    if not isinstance(found, Validated):
        return [first, "How well it does on new rows is not known here.", found]
    second = (
        f"On {plural(len(found.truth), 'labelled row')} not used for fitting ({found.folds}-fold cross-validation) it "
        f"is right in {found.accuracy:.1%}; always saying the most frequent class would be right in "
        f"{found.baseline:.1%}."
    )
    off = calibration_error(found)
    verdict = "can be taken at face value" if off < 0.05 else "are to be taken with care"
    return [first, second, f"Its probabilities are off by {100 * off:.1f} points on average and {verdict}."]


def _checks(model: Any, material: TableMaterial) -> Iterator[Check]:
    yield converged(model)
    yield from starts(model)
    yield from _overlap(material)
    yield from _small(model, material)
    yield from events(model)
    yield from _guarded(model)
    if not text_alone(model):
        yield holes_check(material)
    yield from _dependence(material)
    if material.seen.is_sample:
        text = f"What goes row by row looks at {count(len(material.seen.rows))} of the rows, drawn at random."
        yield Check(True, "Sample", text)
    impossible = int(np.isneginf(material.seen.loglik).sum())
    if impossible:
        text = f"{plural(impossible, 'row')} cannot occur under the model. A prior leaves no probability at zero."
        yield Check(False, "Impossible rows", text)


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
    most_categories = max((len(column.rows) for column in material.profiles if not column.kind.of_words), default=0)
    least = max(10, 2 * most_categories)
    small = [f"{cut(model.class_names_[k])} ({count(mass[k])} rows)" for k in np.flatnonzero(mass < least)]
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
    what = "words or columns" if any(column.kind.of_words for column in material.profiles) else "columns"
    text = (
        f"{len(related)} of {plural(len(material.residuals), 'pair')} of {what} stay related inside the "
        f"classes, most of all {cut(first.first)} and {cut(first.second)} ({first.detail}). Shares and certainties "
        "are then too sharp; more classes, or dropping one of such a pair, may help."
    )
    yield Check(False, "Independence", text)


# ---- classes -----------------------------------------------------------------------------------------------------


def classes(model: Any, material: TableMaterial) -> Section:
    """A card per class, and the heat map."""
    cards = [
        Card(name, float(share), percent(share), traits(material.profiles, k))
        for k, (name, share) in enumerate(zip(model.class_names_, model.weights_, strict=True))
    ]
    lead = "Share of each class, and the three columns that set it apart most from the whole table."
    return Section("classes", "The classes", lead, [Cards(cards)])


def profile(model: Any, material: TableMaterial) -> Section | None:
    """The heat map of profiles, as a table."""
    if len(model.weights_) < 2 or not material.contrasts:
        return None
    shown = table_plots.strongest(material.contrasts, MOST_HEAT_ROWS)
    rows = [
        HeatRow(row.column, row.category, row.overall, [_heat_cell(row, k) for k in range(len(model.weights_))])
        for row in shown
    ]
    left_out = len(material.contrasts) - len(shown)
    note = f"The {len(shown)} rows that differ most; {left_out:,} others are left out." if left_out else ""
    lead = (
        "Each value in its own unit: means of numbers, shares of categories and words. Red with an arrow up is above "
        "the whole table, blue with an arrow down below it; the stronger the colour, the further."
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


SECTIONS = [answer, classes, words, profile, trust, of_cells(holes), rows, classifier, reproduce]
MATERIAL = MixtureMaterial.gathered
