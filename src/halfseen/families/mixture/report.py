"""The report on a mixture over a table, LatentClass or NaiveBayes: the answer, the classes, and all its sections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from halfseen.analysis.imputation_check import HiddenCells, check_imputation
from halfseen.analysis.validation import Validated, calibration_error
from halfseen.app.report.checks import (
    OVERLAP,
    close_call,
    converged,
    events,
    like_counts,
    likelihood,
    missing_check,
    starts,
    traits,
)
from halfseen.app.report.errors import errors
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.missing_values import missing_values
from halfseen.app.report.next_steps import files_of
from halfseen.app.report.parts import (
    Card,
    Cards,
    Check,
    Checks,
    Part,
    Section,
    Step,
    Steps,
)
from halfseen.app.report.pictures import pictures
from halfseen.app.report.profiles import TONES, profile_heat
from halfseen.app.report.rows import rows
from halfseen.app.report.sections import methods, reproduce
from halfseen.app.report.text import of_cells, text_alone, words
from halfseen.app.report.trust import choice, trust
from halfseen.app.report.words import count, cut, listed, percent, plural
from halfseen.estimators.outcome import shown
from halfseen.estimators.table.column_events import few_values
from halfseen.estimators.table.scatter import Scatter
from halfseen.families.mixture.imputation_check import MixtureCells
from halfseen.families.mixture.report_classifier import classifier
from halfseen.families.mixture.report_covariates import covariates
from halfseen.kinds.records import Contrast
from halfseen.plots.pairs import scatter_of

FEW_LABELS = 300  # rows below which an accuracy is off by several points


class MixtureMaterial(TableMaterial):
    """A mixture over a table that EM fits again without some cells."""

    @cached_property
    def points(self) -> Scatter:
        """The rows as points."""
        return scatter_of(self.seen)

    @cached_property
    def hidden(self) -> HiddenCells:
        """Known cells hidden and guessed."""
        return check_imputation(MixtureCells(self.model, self.seen.table, None if self.seen.is_sample else self.y))


# ---- the answer --------------------------------------------------------------------------------------------------


def answer(model: Any, material: MixtureMaterial) -> Section:
    """The summary: three sentences, a card per class, what to do next, and the checks."""
    supervised = hasattr(model, "classes_")
    sentences = _classifier_answer(model, material) if supervised else _classes_answer(model, material)
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [_cards(model, material), _next_steps(model, material), Checks(checks, "Before you rely on it")]
    return Section("answer", "Summary", " ".join(sentences), parts)


def _cards(model: Any, material: TableMaterial) -> Cards:
    """Return a card per class: its share, and the three columns in which it differs most from the whole table."""
    total = material.seen.n_given
    cards = [
        Card(
            *(name, float(share), percent(share), traits(material.profiles, k)),
            of=f"about {plural(share * total, 'row')}",
            k=material.colours[name],
        )
        for k, (name, share) in enumerate(zip(model.class_names_, model.weights_, strict=True))
    ]
    return Cards(cards, "The classes, and what marks them")


def _next_steps(model: Any, material: TableMaterial) -> Steps:
    files, supervised = files_of(model, material), hasattr(model, "classes_")
    target = files or ("MODEL.halfseen", "DATA")
    steps = []
    if not supervised and len(model.weights_) > 1 and _unnamed(model):
        names = " ".join(f"{k}=NAME" for k in range(min(len(model.weights_), 3)))
        steps.append(Step("Give the classes names, after what marks them:", f"halfseen rename {target[0]} {names}"))
    what = "Predict the class of new rows" if supervised else "Write the class of every row, with its probability"
    steps.append(
        Step(f"{what}:", f"halfseen predict {target[0]} {'NEW_ROWS' if supervised else target[1]} -o classes.csv")
    )
    if material.missing_values.n_missing and not text_alone(model):
        steps.append(Step("Fill in the missing values:", f"halfseen impute {target[0]} {target[1]} -o filled.csv"))
    if material.surprising:
        steps.append(Step("Check the rows listed under 'Rows worth a look': data entry errors are often among them."))
    return Steps(steps)


def _unnamed(model: Any) -> bool:
    """Whether the classes have the names that the fit gave them."""
    return tuple(model.class_names_) == tuple(f"class {k}" for k in range(len(model.class_names_)))


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
        f"predicts {found.accuracy:.1%} correctly (95% interval {found.interval[0]:.0%} to {found.interval[1]:.0%}); "
        f"always predicting the most frequent class would reach {found.baseline:.1%}."
    )
    off = calibration_error(found)
    verdict = "use them with care"
    if off < 0.05:
        verdict = "they are well calibrated"
        if len(found.truth) < FEW_LABELS:
            verdict = f"no sign of bad calibration, but {plural(len(found.truth), 'label')} cannot show much"
    return [first, second, f"Its probabilities are off by {100 * off:.1f} percentage points on average: {verdict}."]


def _checks(model: Any, material: MixtureMaterial) -> Iterator[Check]:
    yield converged(model)
    yield from likelihood(model)
    yield from starts(model)
    yield from close_call(model)
    yield from _few_labels(material)
    yield from _overlap(material)
    yield from _small(model, material)
    yield from events(model)
    yield from _like_counts(model, material)
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


def _like_counts(model: Any, material: MixtureMaterial) -> Iterator[Check]:
    shown = dict(zip(material.points.names, material.points.values.T, strict=True))
    columns = [column for column in material.profiles if column.name in shown]
    if columns:
        values = np.stack([shown[column.name] for column in columns], axis=1)
        yield from like_counts(columns, values, model.weights_, getattr(model, "events_", ()))


def _few_labels(material: TableMaterial) -> Iterator[Check]:
    if not hasattr(material.model, "classes_") or not isinstance(material.validated, Validated):
        return
    n, (low, high) = len(material.validated.truth), material.validated.interval
    if n < FEW_LABELS:
        text = (
            f"Accuracy and calibration rest on {plural(n, 'labelled row')}: the accuracy on new rows may be anywhere "
            f"from {low:.0%} to {high:.0%} (95% interval). More labels narrow it."
        )
        yield Check(False, "Few labels", text)


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


def points(model: Any, material: MixtureMaterial) -> Section | None:
    """Rows over the columns that separate the classes most."""
    if len(material.seen.class_names) < 2 or text_alone(model):
        return None
    return pictures(material.points)


def profile(model: Any, material: TableMaterial) -> Section | None:
    """The heat map of profiles, as a table."""
    if len(model.weights_) < 2 or not material.contrasts:
        return None
    told = _one_of_two(material)
    lead = TONES + (" Of columns with two categories one is shown." if len(told) < len(material.contrasts) else "")
    return Section("profiles", "Profiles", lead, [profile_heat(told, material.each_tagged(model.class_names_))])


def _one_of_two(material: TableMaterial) -> list[Contrast]:
    """Return numbers and categories without the first of two categories: it is the rest of the second."""
    pairs = {column.name for column in material.profiles if column.kind.has_categories and len(column.rows) == 2}
    firsts = {row.column: row for row in reversed(material.contrasts) if row.column in pairs}
    return [row for row in material.contrasts if firsts.get(row.column) is not row]


SECTIONS = [
    answer, points, words, profile, covariates, trust, of_cells(missing_values), rows, classifier, errors, methods,
    reproduce,
]  # fmt: skip
MATERIAL = MixtureMaterial.gathered
