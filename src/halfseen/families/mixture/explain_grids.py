"""What `explain` shows of a mixture: the grids of each iteration, every number with its arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from halfseen.analysis.worked_numbers import Grid, Section
from halfseen.families.mixture.completions import Completion
from halfseen.families.mixture.workings import ByColumn, number
from halfseen.kinds.arithmetic import figure, of_log
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.families.mixture.explain import Counts, Explanation, Iteration

SHOWN = 16  # lines of the joint table in text and page; `joint` has them all

HOW = {
    "soft": "every row is split over the classes by their probability given the row",
    "hard": "every row is given in full to its most probable class",
    "sample": "every row is given to a class drawn by its probability given the row",
}


def sections(explanation: Explanation) -> list[Section]:
    """Return what text and page show, so that they show the same."""
    begin = Section("Data and initial parameters", [_rows_grid(explanation), _params_grid(explanation)], "")
    return [begin, *(_section(explanation, step) for step in explanation.steps)]


def _section(explanation: Explanation, step: Iteration) -> Section:
    grids = [_joint_grid(explanation, step), _augmented_grid(explanation, step)]
    if step.joint is not None and step.number == 1:
        grids.insert(0, _completions_grid(explanation, step, step.joint))
    grids += [_counts_grid(explanation, step), _after_grid(explanation, step)]
    result = f"{explanation.quantity}: {step.objective:.7f} before, {step.reached:.7f} after"
    return Section(f"Iteration {step.number}", grids, result, explanation.workings.objective(step.done))


# ---- data and parameters ---------------------------------------------------------------------------------------------


def _rows_grid(explanation: Explanation) -> Grid:
    names = list(explanation.columns)
    weighted = not np.all(explanation.row_weight == 1)
    head = ["row", *names, *(["weight"] if weighted else [])]
    rows = [
        [str(n), *_cells(explanation, n), *([f"{weight:g}"] if weighted else [])]
        for n, weight in enumerate(explanation.row_weight.tolist())
    ]
    return Grid("data", "The rows; their classes are hidden.", head, rows, len(names) + 1)


def _cells(explanation: Explanation, n: int) -> list[str]:
    """Return the cells of a row, a dot for a missing one."""
    return ["·" if column[n] is None else _value(column[n]) for column in explanation.columns.values()]


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _params_grid(explanation: Explanation) -> Grid:
    params = explanation.steps[0].before
    rows = [[name, *map(number, values)] for name, values, _ in _params_rows(explanation, params)]
    return Grid("parameters", "The initial parameters.", _head(explanation), rows)


def _params_rows(
    explanation: Explanation, params: Mapping[str, Any]
) -> Iterator[tuple[str, Floats, tuple[str, Any] | None]]:
    """Yield each parameter with its name, and with column and name: P(class), P(column = value), mean, sd, rate ..."""
    yield "P(class)", params["weights"], None
    for column, values in params.items():
        if column != "weights":
            for value, numbers in values.items():
                named = column in explanation.quantities
                yield f"{value} of {column}" if named else f"P({column} = {value})", numbers, (column, value)


# ---- E-step ----------------------------------------------------------------------------------------------------------


def _completions_grid(explanation: Explanation, step: Iteration, joint: list[Completion]) -> Grid:
    n_rows = len(explanation.row_weight)
    head = [*(f"row {n}" for n in range(n_rows)), "P(rows, classes)", "P(classes | rows)"]
    rows, arithmetic = [], []
    for line in _likeliest(joint):
        classes = [explanation.class_names[k] for k in line.components]
        rows.append([*classes, figure(line.joint), number(line.posterior)])
        arithmetic.append([*[""] * n_rows, *explanation.workings.completions(step.done, line.components)])
    more = "" if len(joint) <= SHOWN else f" The {SHOWN} most probable are shown."
    caption = (
        f"The joint table: all {len(joint)} ways to complete the rows at once. EM never builds it; summed over the "
        f"other rows it gives the probabilities that the E-step works with.{more}"
    )
    return Grid("completions", caption, head, rows, n_rows, arithmetic)


def _likeliest(joint: list[Completion]) -> list[Completion]:
    """Return the lines to show: all of them in their order, or the most probable."""
    return joint if len(joint) <= SHOWN else sorted(joint, key=lambda line: -line.posterior)[:SHOWN]


def _joint_grid(explanation: Explanation, step: Iteration) -> Grid:
    evidence = logsumexp(step.log_joint, axis=1)
    rows = [[str(n), *map(of_log, logs), of_log(evidence[n])] for n, logs in enumerate(step.log_joint)]
    arithmetic = [["", *lines] for lines in explanation.workings.joint(step.done)]
    caption = (
        "Joint: P(class) times the density of every cell of the row in that class. The sum over the classes is the "
        "evidence of the row."
    )
    return Grid("joint", caption, ["row", *explanation.class_names, "sum"], rows, 1, arithmetic)


def _augmented_grid(explanation: Explanation, step: Iteration) -> Grid:
    head = ["row", *explanation.columns, "class", "weight"]
    rows = [
        [str(line.row), *_cells(explanation, line.row), explanation.class_names[line.component], number(line.weight)]
        for line in step.augmented
    ]
    blank = [""] * (len(head) - 1)
    arithmetic = [[*blank, line] for line in explanation.workings.responsibilities(step.done)]
    caption = f"E-step: the augmented data; {HOW[explanation.assign]}."
    return Grid("responsibilities", caption, head, rows, len(head) - 1, arithmetic)


# ---- counts, M-step --------------------------------------------------------------------------------------------------


def _counts_grid(explanation: Explanation, step: Iteration) -> Grid:
    workings = explanation.workings
    added = {} if step.prior is None else {place: values for _, values, place in _counts_rows(step.prior)}
    lines, of_rows = workings.counts(step.done), workings.rows(step.done)
    rows, arithmetic = [], []
    for name, values, place in _counts_rows(step.counts):
        pseudo = added.get(place, np.zeros(len(values)))
        rows.append([name, *(_sum(value, more) for value, more in zip(values, pseudo, strict=True))])
        arithmetic.append(["", *_line(lines, place, of_rows)])
    plus = "" if step.prior is None else " The prior adds what stands after the plus"
    if plus:  # a prior on the variance does not move the mean
        numbers = any("squares" in values for values in step.counts.sums.values())
        plus += " (to numbers: for their variance, not for their mean)." if numbers else "."
    caption = f"Counting: the sums of the weights in each class, and of those with each value.{plus}"
    return Grid("counts", caption, _head(explanation), rows, 1, arithmetic)


def _counts_rows(counts: Counts) -> Iterator[tuple[str, Floats, tuple[str, Any] | None]]:
    yield "rows", counts.classes, None
    for column, values in counts.values.items():
        for value, numbers in values.items():
            yield f"count of {column} = {value}", numbers, (column, value)
    for column, values in counts.sums.items():
        for what, numbers in values.items():
            yield f"{what} of {column}", numbers, (column, what)


def _after_grid(explanation: Explanation, step: Iteration) -> Grid:
    workings = explanation.workings
    lines, of_classes = workings.estimates(step.done, step.after), workings.weights(step.done)
    rows, arithmetic = [], []
    for name, values, place in _params_rows(explanation, step.after):
        rows.append([name, *map(number, values)])
        arithmetic.append(["", *_line(lines, place, of_classes)])
    caption = "M-step: the parameters, from the counts by division."
    return Grid("m-step", caption, _head(explanation), rows, 1, arithmetic)


def _line(lines: ByColumn, place: tuple[str, Any] | None, of_classes: list[str]) -> list[str]:
    """Return the arithmetic of a row of a grid: of a parameter of a column, or of the classes."""
    return of_classes if place is None else lines[place[0]][place[1]]


def _head(explanation: Explanation) -> list[str]:
    return ["", *explanation.class_names]


def _sum(value: float, pseudo: float) -> str:
    return number(value) + (f" + {pseudo:.4g}" if pseudo else "")
