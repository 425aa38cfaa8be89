"""The report on a mixture over a table, LatentClass or NaiveBayes: the answer, the classes, and all its sections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from halfseen.analysis.imputation_check import HiddenCells, check_imputation
from halfseen.analysis.validation import Validated, calibration_error
from halfseen.app.report.checks import (
    FAR,
    MOST_HEAT_ROWS,
    OVERLAP,
    converged,
    events,
    likelihood,
    missing_check,
    starts,
    traits,
)
from halfseen.app.report.errors import errors
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.missing_values import missing_values
from halfseen.app.report.parts import Card, Cards, Check, Checks, Heat, HeatCell, HeatRow, Section
from halfseen.app.report.rows import rows
from halfseen.app.report.sections import reproduce
from halfseen.app.report.text import of_cells, text_alone, words
from halfseen.app.report.trust import choice, trust
from halfseen.app.report.words import count, cut, listed, percent, plural
from halfseen.estimators.outcome import shown
from halfseen.estimators.table.column_events import few_values
from halfseen.families.mixture.imputation_check import MixtureCells
from halfseen.families.mixture.report_classifier import classifier
from halfseen.families.mixture.report_covariates import covariates
from halfseen.plots import tables as table_plots


class MixtureMaterial(TableMaterial):
    """A mixture over a table that EM fits again without some cells."""

    @cached_property
    def hidden(self) -> HiddenCells:
        """Known cells hidden and guessed."""
        return check_imputation(MixtureCells(self.model, self.seen.table, None if self.seen.is_sample else self.y))


# ---- the answer --------------------------------------------------------------------------------------------------


def answer(model: Any, material: TableMaterial) -> Section:
    """Three sentences, and the checks."""
    supervised = hasattr(model, "classes_")
    sentences = _classifier_answer(model, material) if supervised else _classes_answer(model, material)
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    return Section("answer", "The answer", " ".join(sentences), [Checks(checks, "Before you rely on it")])


def _classes_answer(model: Any, material: TableMaterial) -> list[str]:
    weights, n_rows = model.weights_, _rows_and_n(material)
    if len(weights) == 1:
        first = f"All {n_rows} are in one class"
    else:
        first = (
            f"The {n_rows} fall into {len(weights)} classes: the largest holds {percent(weights.max())} of "
            f"them, the smallest {percent(weights.min())}"
        )
    first += choice(model)
    if len(weights) == 1:
        joint = getattr(model, "_covariance", "diag") in ("full", "tied", "fixed")
        related = "" if joint else " The columns are assumed to be independent."
        return [first + ".", f"With one class there are no differences to describe.{related}"]
    second = f"The classes differ most in {listed([cut(name) for name in material.telling_columns[:3]])}."
    sure = material.seen.table.weight @ (material.seen.proba.max(axis=1) >= 0.9) / material.seen.table.weight.sum()
    third = f"For {percent(float(sure))} of the rows the most likely class has a probability of at least 0.9."
    return [first + ".", second, third]


def _rows_and_n(material: TableMaterial) -> str:
    """Return the number of rows, and N where weights or rows without any value make it another one."""
    n_rows, n_observed = material.seen.n_given, material.seen.table.n_observed
    same = n_rows == n_observed or material.seen.is_sample
    return f"{count(n_rows)} rows" + ("" if same else f" (N = {shown(n_observed)})")


def _classifier_answer(model: Any, material: TableMaterial) -> list[str]:
    names, shares = material.seen.class_names, model.class_prior_
    by_share = [f"{cut(names[c])} {percent(shares[c])}" for c in np.argsort(-shares, kind="stable")]
    best = listed([cut(name) for name in material.telling_columns[:3]])
    first = f"The model distinguishes {len(names)} classes ({listed(by_share)}), which differ most in {best}."
    found = material.validated
    if not isinstance(found, Validated):
        return [first, "Its accuracy on new rows is not known.", found]
    second = (
        f"On {plural(len(found.truth), 'labelled row')} not used for fitting ({found.folds}-fold cross-validation) it "
        f"predicts {found.accuracy:.1%} correctly; always predicting the most frequent class would reach "
        f"{found.baseline:.1%}."
    )
    off = calibration_error(found)
    verdict = "they are well calibrated" if off < 0.05 else "use them with care"
    return [first, second, f"Its probabilities are off by {100 * off:.1f} percentage points on average: {verdict}."]


def _checks(model: Any, material: TableMaterial) -> Iterator[Check]:
    yield converged(model)
    yield from likelihood(model)
    yield from starts(model)
    yield from _overlap(material)
    yield from _small(model, material)
    yield from events(model)
    yield from _guarded(model)
    if not text_alone(model):
        yield missing_check(material)
    yield from _dependence(model, material)
    if material.seen.is_sample:
        text = f"Analyses of single rows use a random sample of {count(len(material.seen.rows))} rows."
        yield Check(True, "Sample", text)
    impossible = int(np.isneginf(material.seen.loglik).sum())
    if impossible:
        text = f"Rows with probability 0 under the model: {count(impossible)}. Fit with a prior to avoid this."
        yield Check(False, "Impossible rows", text)


def _overlap(material: TableMaterial) -> Iterator[Check]:
    if material.seen.proba.shape[1] < 2:
        return
    sure = material.mean_certainty
    if sure >= OVERLAP:
        yield Check(
            True,
            "Overlap",
            f"The classes are well separated: the most likely class has a probability of {percent(sure)} on average.",
        )
    else:
        text = (
            f"The classes overlap: the most likely class has a probability of {percent(sure)} on average. Use "
            "probabilities, not labels."
        )
        yield Check(False, "Overlap", text)


def _small(model: Any, material: TableMaterial) -> Iterator[Check]:
    mass = material.class_mass
    most_categories = max((len(column.rows) for column in material.profiles if not column.kind.of_words), default=0)
    least = max(10, 2 * most_categories)
    small = [f"{cut(model.class_names_[k])} ({count(mass[k])} rows)" for k in np.flatnonzero(mass < least)]
    if small:
        text = f"Classes with few rows: {listed(small)}. Their parameters are uncertain."
        yield Check(False, "Small classes", text)
    else:
        yield Check(True, "Small classes", f"Every class has enough rows; the smallest about {count(mass.min())}.")


def _guarded(model: Any) -> Iterator[Check]:
    scores = getattr(model, "guard_", None)
    if not scores:
        return
    text = (
        f"Cross-validated accuracy is {scores['with_unlabeled']:.1%} with the unlabelled rows and "
        f"{scores['labelled_only']:.1%} without ({plural(scores['n_labelled'], 'labelled row')})."
    )
    if not model.unlabeled_weight_:
        yield Check(True, "Unlabelled rows", f"{text} Unlabelled rows are not clearly better, so they are left out.")
    else:
        worse = scores["with_unlabeled"] < scores["labelled_only"]
        yield Check(not worse, "Unlabelled rows", f"{text} They count {model.unlabeled_weight_:g} of a labelled row.")


def _concerns(pairs: list[Any], column: str) -> bool:
    """Whether a column is one of some pair."""
    return any(column in (pair.first, pair.second) for pair in pairs)


def _dependence(model: Any, material: TableMaterial) -> Iterator[Check]:
    if not material.residuals:
        return
    related = material.related
    if not related:
        text = "No pair of columns is clearly related within the classes."
        yield Check(True, "Independence", text)
        return
    first = related[0]
    few = [name for name in few_values(model._schema, model._recipe.summary, model._n_rows) if _concerns(related, name)]
    advice = "use more classes, or drop one column of such a pair"
    if few:  # more classes would settle on their values, one by one
        advice = f"{listed([cut(name) for name in few])} has few distinct values: take it as categories"
    what = "words or columns" if any(column.kind.of_words for column in material.profiles) else "columns"
    text = (
        f"{len(related)} of {plural(len(material.residuals), 'pair')} of {what} are related within the "
        f"classes, most of all {cut(first.first)} and {cut(first.second)} ({first.detail}). The probabilities of "
        f"classes are then too extreme; {advice}."
    )
    yield Check(False, "Independence", text)


# ---- classes -----------------------------------------------------------------------------------------------------


def classes(model: Any, material: TableMaterial) -> Section:
    """A card per class, and the heat map."""
    cards = [
        Card(name, float(share), percent(share), traits(material.profiles, k))
        for k, (name, share) in enumerate(zip(model.class_names_, model.weights_, strict=True))
    ]
    lead = "Share of each class, and the three columns in which it differs most from the whole table."
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


SECTIONS = [
    answer, classes, words, profile, covariates, trust, of_cells(missing_values), rows, classifier, errors, reproduce,
]  # fmt: skip
MATERIAL = MixtureMaterial.gathered
