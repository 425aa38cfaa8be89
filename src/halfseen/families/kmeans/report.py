"""The report on k-means: summary, clusters, centres, separation, missing values, rows worth a look."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.analysis.imputation_check import HiddenCells, check_imputation
from halfseen.analysis.missing_values import MissingByClass, MissingValues, missing_by_class_of
from halfseen.analysis.missing_values import count as count_missing
from halfseen.app.report.charts import bars, lines
from halfseen.app.report.checks import FAR, MOST_HEAT_ROWS, N_TRAITS, advice, events, missing_check
from halfseen.app.report.material import MOST_ROWS, TOP_ROWS, Material
from halfseen.app.report.missing_values import hidden_grid, patterns_and_classes
from halfseen.app.report.next_steps import files_of
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
    Step,
    Steps,
    Text,
    Trait,
)
from halfseen.app.report.pictures import pictures
from halfseen.app.report.sections import reproduce
from halfseen.app.report.words import count, cut, listed, number, percent, plural
from halfseen.data import read
from halfseen.estimators.convergence import ended
from halfseen.estimators.table.scatter import places
from halfseen.families.kmeans import rows as centred
from halfseen.families.kmeans.centers import RULES, contrast, names_of, overall, ruler, scatter, traits_of
from halfseen.families.kmeans.imputation_check import ClusterCells

CLEAR = 0.5  # gap of a row at least twice as close to its own centre as to the next
GAPS = (0.1, 0.3, 0.5)  # grades of the gap
BETWEEN = 0.1  # gap of a row that could as well belong to the next cluster
FEW = 10  # rows of a cluster below which its centre is uncertain


class ClusterMaterial(Material):
    """A model of k-means, a table, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Read the table once; a file may have a weight column."""
        source = read(X)
        return cls(model, source, y, source.weight if sample_weight is None else sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return rows and columns."""
        return [("Rows", count(self.X.n_rows)), ("Columns", count(len(self.model._schema.names)))]

    @cached_property
    def colours(self) -> dict[str, int]:
        """The colour of each cluster."""
        return {name: k for k, name in enumerate(names_of(self.model))}

    @cached_property
    def seen(self) -> centred.ScoredRows:
        """The rows, or a sample of them."""
        return centred.score_rows(self.model, self.X, self.sample_weight, most=MOST_ROWS)

    @cached_property
    def sizes(self) -> Any:
        """Rows of each cluster in the table given."""
        mass = self.seen.table.weight @ self.seen.proba
        return mass * (self.seen.n_given / len(self.seen.rows))

    @cached_property
    def missing_values(self) -> MissingValues:
        """The missing values of the scored rows."""
        return count_missing(self.seen.missing, self.seen.table.schema.names, self.seen.table.weight)

    @cached_property
    def missing_by_class(self) -> list[MissingByClass]:
        """Missing values by cluster."""
        return missing_by_class_of(self.seen)

    @cached_property
    def hidden(self) -> HiddenCells:
        """Known cells hidden and guessed."""
        return check_imputation(ClusterCells(self.model, self.seen.table))

    def share_of(self, rows: Any) -> float:
        """Return the share of some rows, by weight."""
        return float(self.seen.table.weight @ rows / self.seen.table.weight.sum())


# ---- the answer --------------------------------------------------------------------------------------------------


def answer(model: Any, material: ClusterMaterial) -> Section:
    """Three sentences, and checks of reliability."""
    shares, n_rows = material.sizes / material.sizes.sum(), count(material.seen.n_given)
    if len(shares) == 1:
        sentences = [f"All {n_rows} rows are in one cluster: its centre is the mean of the columns."]
    else:
        far = np.abs(contrast(model)).max(axis=0)
        telling = [cut(model._schema.names[d]) for d in np.argsort(-far, kind="stable")[:3].tolist()]
        clear = material.share_of(material.seen.nearest.gap >= CLEAR)
        sentences = [
            f"The {n_rows} rows fall into {len(shares)} clusters: the largest has {percent(shares.max())} of them, "
            f"the smallest {percent(shares.min())}.",
            f"Their centres differ most in {listed(telling)}.",
            f"{percent(clear)} of the rows are at least twice as close to their own centre as to any other.",
        ]
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [_cards(model, material), _next_steps(model, material), Checks(checks, "Before you rely on it")]
    return Section("answer", "Summary", " ".join(sentences), parts)


def _cards(model: Any, material: ClusterMaterial) -> Cards:
    """Return a card per cluster: its size, and the columns in which its centre is farthest from the mean."""
    shares = material.sizes / material.sizes.sum()
    cards = [
        Card(
            *(name, float(shares[k]), percent(shares[k]), [Trait(*trait) for trait in traits_of(model, k, N_TRAITS)]),
            of=f"about {plural(material.sizes[k], 'row')}",
            k=k,
        )
        for k, name in enumerate(names_of(model))
    ]
    return Cards(cards, "The clusters, and what marks them")


def _next_steps(model: Any, material: ClusterMaterial) -> Steps:
    model_file, data = files_of(model, material) or ("MODEL.halfseen", "DATA")
    return Steps(
        [
            Step("Write the cluster of every row:", f"halfseen predict {model_file} {data} -o clusters.csv"),
            Step("Check the rows listed under 'Rows worth a look': each shifts the centre of its cluster."),
            Step(
                "For probabilities of clusters, a number of clusters by BIC and missing values summed out, fit "
                "--model gaussian to the same table."
            ),
        ]
    )


def _checks(model: Any, material: ClusterMaterial) -> Iterator[Check]:
    yield _converged(model)
    yield from _scales(model)
    yield from _apart(material)
    yield _small(model, material)
    yield from events(model)
    yield missing_check(material)
    if material.seen.is_sample:
        text = f"Results by row use a random sample of {count(len(material.seen.rows))} rows."
        yield Check(True, "Sample", text)


def _converged(model: Any) -> Check:
    if not hasattr(model, "stop_reason_"):
        return Check(True, "Convergence", "The model was built from centres: there is no fit to check.")
    iterations = plural(model.n_iter_, "iteration")
    if model.converged_:
        text = f"The fit converged after {iterations} ({model.stop_reason_}). Other starts may end elsewhere."
        return Check(True, "Convergence", text)
    text = f"The fit stopped after {iterations} without converging ({model.stop_reason_}). {advice(model)}"
    return Check(False, "Convergence", text)


def _scales(model: Any) -> Iterator[Check]:
    if len(model._schema.names) < 2:
        return
    name, share = ruler(model)
    if share <= RULES:
        yield Check(
            True,
            "Scales",
            f"No column dominates the distances: {cut(name)}, which varies most, accounts for {percent(share)}.",
        )
        return
    text = (
        f"{cut(name)} accounts for {percent(share)} of all distances, because it varies most: the other columns "
        "hardly count. Scale the columns (scikit-learn's StandardScaler), or use GaussianMixture."
    )
    yield Check(False, "Scales", text)


def _apart(material: ClusterMaterial) -> Iterator[Check]:
    if material.seen.proba.shape[1] < 2:
        return
    between = material.share_of(material.seen.nearest.gap < BETWEEN)
    text = f"{percent(between)} of the rows are nearly halfway between two centres."
    if between > 2 * BETWEEN:
        text += " The clusters are parts of one group rather than separate groups; GaussianMixture gives probabilities."
    yield Check(between <= 2 * BETWEEN, "Between clusters", text)


def _small(model: Any, material: ClusterMaterial) -> Check:
    names, sizes = names_of(model), material.sizes
    small = [f"{names[k]} ({count(sizes[k])} rows)" for k in np.flatnonzero(sizes < FEW)]
    if small:
        return Check(
            False, "Small clusters", f"Too few rows for a reliable mean: {listed(small)}. They may be outliers."
        )
    return Check(
        True, "Small clusters", f"Every cluster has enough rows for a mean; the smallest has {count(sizes.min())}."
    )


# ---- clusters and centres ----------------------------------------------------------------------------------------


def points(model: Any, material: ClusterMaterial) -> Section | None:
    """Rows over the columns that separate the clusters most."""
    values = places(material.seen.table)[1]
    if len(names_of(model)) < 2 or values.shape[1] != len(model._schema.names):
        return None
    seen = material.seen
    found = scatter(model, values, seen.nearest.cluster.astype(np.int32), seen.n_given, seen.rows)
    return pictures(found, "clusters")


def centres(model: Any, material: ClusterMaterial) -> Section | None:
    """The centres as a heat map."""
    if len(model.cluster_centers_) < 2:
        return None
    far, whole, names = contrast(model), overall(model), names_of(model)
    order = np.argsort(-np.abs(far).max(axis=0), kind="stable")[:MOST_HEAT_ROWS].tolist()
    rows = [
        HeatRow(
            *(model._schema.names[d], "", number(float(whole[d]))),
            [_heat_cell(float(model.cluster_centers_[k, d]), float(far[k, d])) for k in range(len(names))],
        )
        for d in order
    ]
    left_out = len(whole) - len(order)
    note = f"The {len(order)} columns that differ most; {left_out:,} others are not shown." if left_out else ""
    lead = (
        "Values are in the units of their column. Red with an arrow up is above the mean of all rows, blue with an "
        "arrow down below it; a stronger colour means more standard deviations of the column."
    )
    heat = Heat(
        "Centre of each cluster, and the mean of all rows",
        ["column", "", "all", *material.each_tagged(names)],
        rows,
        note,
    )
    return Section("centres", "The centres", lead, [heat])


def _heat_cell(value: float, far: float) -> HeatCell:
    side = "above" if far > 0 else "below"
    return HeatCell(
        number(value), float(np.clip(far / FAR, -1, 1)), f"{abs(far):.1f} standard deviations {side} the mean"
    )


# ---- separation ----------------------------------------------------------------------------------------------------


def trust(model: Any, material: ClusterMaterial) -> Section | None:
    """Convergence of the inertia, and how much closer rows are to their own centre than to the next."""
    parts: list[Part] = []
    if material.seen.is_sample:
        n_rows, n_given = count(len(material.seen.rows)), count(material.seen.n_given)
        parts.append(Text(f"This section uses a random sample of {n_rows} of the {n_given} rows."))
    figures: list[Part] = []
    if len(getattr(model, "trace_", ())) > 2:
        figures.append(_trace_figure(model))
    if len(model.cluster_centers_) > 1:
        figures.append(_gap_figure(model, material))
    if figures:
        parts.append(Beside(figures))
    parts.append(_nearness_grid(model, material))
    lead = "Whether the fit converged, and how much closer rows are to their own centre than to the next."
    if hasattr(model, "inertia_"):
        lead += f" The inertia, the sum of all squared distances, is {number(model.inertia_)}."
    return Section("trust", "Can it be trusted?", lead, parts)


def _trace_figure(model: Any) -> Figure:
    label = f"Inertia before each of {plural(model.n_iter_, 'iteration')}, decreasing to {model.trace_[-1]:,.1f}."
    drawing = lines.trace(model.trace_, "iteration", "inertia", label)
    end = ended(model.stop_reason_, model.n_iter_)
    return Figure(drawing, f"Inertia of the best start by iteration; {end}.", "Convergence")


def _gap_figure(model: Any, material: ClusterMaterial) -> Figure:
    found, names, weight = material.seen.nearest, names_of(model), material.seen.table.weight
    mean = float(np.average(found.gap, weights=weight))
    label = f"Bars of how clearly the rows of each cluster belong to it; the gap is {mean:.2f} on average."
    words = [f"below {GAPS[0]}", *(f"{low} to {high}" for low, high in pairwise(GAPS)), f"{GAPS[-1]} or more"]
    counts = np.zeros((len(names), len(words)))
    np.add.at(counts, (found.cluster, np.searchsorted(GAPS, found.gap, side="right")), weight)
    drawing = bars.graded(counts, words, names, "row", label)
    caption = (
        f"Gap: 1 for a row at its own centre, {CLEAR} for one twice as close to it as to the next, 0 halfway. The mean "
        f"is {mean:.2f}."
    )
    return Figure(drawing, caption, "Separation of the clusters")


def _nearness_grid(model: Any, material: ClusterMaterial) -> Grid:
    found, weight = material.seen.nearest, material.seen.table.weight
    names, rows = names_of(model), []
    for k, name in enumerate(names):
        own = (found.cluster == k) & (weight > 0)
        if not own.any():
            rows.append([material.tagged(name), "0", "", "", "", ""])
            continue
        mass = weight[own]
        nexts = np.bincount(found.second[own], mass, minlength=len(names))
        distance, second = (np.average(part[own], weights=mass) for part in (found.distance, found.second_distance))
        between = float(mass @ (found.gap[own] < BETWEEN) / mass.sum())
        several = len(names) > 1
        rows.append(
            [
                material.tagged(name),
                count(material.sizes[k]),
                number(distance),
                number(second) if several else "",
                material.tagged(names[int(nexts.argmax())]) if several else "",
                percent(between) if several else "",
            ]
        )
    head = ["", "rows", "to its centre", "to the next", "most often next", "nearly halfway"]
    caption = "Mean distance of the rows of each cluster to its centre and to the next, in the units of the columns"
    return Grid(caption, head, rows, "Distances to centres", frozenset({4}))


# ---- missing values and rows -----------------------------------------------------------------------------------------

ASSUMED = (
    "A row with missing values is compared with the centres over its observed cells, and the distance is scaled up "
    "to all columns. That is unbiased if cells are missing at random. If other columns predict the missing values, "
    "GaussianMixture uses them: it sums missing values out exactly."
)


def missing_values(model: Any, material: ClusterMaterial) -> Section:
    """Where values are missing, how they are treated, and how well they can be imputed."""
    found = material.missing_values
    parts: list[Part] = []
    if found.n_missing:
        parts += [patterns_and_classes(material, "cluster"), Text(ASSUMED)]
    parts.append(hidden_grid(material))
    lead = "The table has no missing values."
    if found.n_missing:
        lead = f"{percent(found.total_share)} of the cells are missing ({count(found.n_missing)})."
    return Section("missing", "Missing values", lead, parts)


def rows(model: Any, material: ClusterMaterial) -> Section:
    """Rows between clusters, and rows far from their centre."""
    parts: list[Part] = []
    if material.seen.proba.shape[1] > 1:
        parts.append(_between_grid(model, material))
    names = names_of(model)
    far = [
        [
            f"row {f.row}",
            material.tagged(names[f.cluster]),
            number(f.distance),
            f"{f.times:,.1f}" if np.isfinite(f.times) else "",
            f.why,
        ]
        for f in centred.farthest(material.seen, TOP_ROWS)
    ]
    if far:
        caption = (
            "The rows farthest from their centre, in units of the usual (median) distance in their cluster. Each "
            "of them shifts its centre, which is a mean."
        )
        head = ["row", "cluster", "distance", "times the usual", "why"]
        parts.append(Grid(caption, head, far, "Far from their centre", frozenset({1, 4})))
    return Section("rows", "Rows worth a look", "Rows are counted from 0, in the order of the table.", parts)


def _between_grid(model: Any, material: ClusterMaterial) -> Part:
    found, names = material.seen.nearest, names_of(model)
    gap = np.where(material.seen.table.weight > 0, found.gap, np.inf)
    some = ~material.seen.missing.all(axis=1)
    order = [n for n in np.argsort(np.where(some, gap, np.inf), kind="stable")[:TOP_ROWS].tolist() if gap[n] < BETWEEN]
    if not order:
        return Text(f"No row has a gap below {BETWEEN}: none is nearly halfway between two centres.")
    listed_rows = [
        [
            f"row {material.seen.rows[n]}",
            *(material.tagged(names[found.cluster[n]]), number(found.distance[n])),
            *(material.tagged(names[found.second[n]]), number(found.second_distance[n])),
        ]
        for n in order
    ]
    head = ["row", "nearest", "distance", "next", "its distance"]
    return Grid("The rows closest to the border", head, listed_rows, "Between clusters", frozenset({1, 3}))


SECTIONS = [answer, points, centres, trust, missing_values, rows, reproduce]
MATERIAL = ClusterMaterial.gathered
