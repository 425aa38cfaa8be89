"""The report on a hidden Markov model: states, transitions, sequences over time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np

from halfseen.analysis.imputation_check import HiddenCells, check_imputation
from halfseen.analysis.missing_values import MissingValues
from halfseen.analysis.missing_values import count as count_missing
from halfseen.app.report import checks as shared
from halfseen.app.report import missing_values as of_tables
from halfseen.app.report import trust
from halfseen.app.report.charts import strips
from halfseen.app.report.errors import errors
from halfseen.app.report.material import Material
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
)
from halfseen.app.report.sections import methods, reproduce
from halfseen.app.report.words import count, cut, listed, percent, plural
from halfseen.data.sequences import plainly
from halfseen.errors import ParameterError
from halfseen.estimators.table.profile import profiles_of
from halfseen.estimators.table.scatter import places
from halfseen.families.hmm.imputation_check import SequenceCells
from halfseen.families.hmm.scored_sequences import ScoredSequences, score_sequences
from halfseen.kinds.records import ColumnProfile

MOST_STEPS = 300  # of a sequence in a picture
MOST_BARS = 16  # sequences in one picture
MOST_TIMELINES = 2
TOP = 8  # sequences, or steps, in a table
SURE = 0.95  # steps with a lower probability are listed
FEW = 10  # steps for the numbers of a state


class ChainMaterial(Material):
    """A hidden Markov model, sequences, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: Any, cost: Any, command: str | None) -> Self:
        """Accept sequences; labels, weights and costs are refused."""
        for name, value in (("y", y), ("sample_weight", sample_weight), ("cost", cost)):
            if value is not None:
                raise ParameterError(f"report: {name}= does not apply to an HMM.")
        return cls(model, X, command=command)

    def facts(self) -> list[tuple[str, str]]:
        """Return steps and sequences, and the times that they cover."""
        found = [("Steps", count(len(self.seen.path))), ("Sequences", count(len(self.seen.lengths)))]
        times = self.seen.cut.times
        if times is not None and len(times):
            first, last = (str(plainly(end)) for end in (min(times), max(times)))
            found.append(("Time", f"{_short_time(first)} to {_short_time(last)}"))
        return found

    @cached_property
    def colours(self) -> dict[str, int]:
        """The colour of each state."""
        return {name: k for k, name in enumerate(self.model.state_names_)}

    def reading(self) -> dict[str, Any]:
        """Return the columns of group and time that the fit had."""
        marks = zip(("groups", "time"), getattr(self.model, "_marks", ()), strict=False)
        return {option: name for option, name in marks if name is not None}

    @cached_property
    def seen(self) -> ScoredSequences:
        """All sequences, scored."""
        return score_sequences(self.model, self.X)

    @cached_property
    def profiles(self) -> list[ColumnProfile]:
        """Every column in every state, or in every component inside the states."""
        return profiles_of(self.model._fitted_blocks())

    @cached_property
    def telling_columns(self) -> list[str]:
        """The columns, the most informative about the states first."""
        share = self.model._component_shares
        return [p.name for p in sorted(self.profiles, key=lambda p: -float(share @ p.distance))]

    @cached_property
    def missing_values(self) -> MissingValues:
        """The missing values of all steps."""
        return count_missing(self.seen.missing, self.model._schema.names, np.ones(len(self.seen.path)))

    @cached_property
    def hidden(self) -> HiddenCells:
        """Known cells hidden and guessed."""
        return check_imputation(SequenceCells(self.model, self.seen.sequences))

    @property
    def mean_certainty(self) -> float:
        """Mean probability of the most likely state."""
        return float(self.seen.resp.max(axis=1).mean())

    def sequence(self, b: int) -> str:
        """The name of a sequence."""
        names = self.seen.cut.names
        return f"sequence {b}" if names is None else str(plainly(names[b]))

    def when(self, n: int) -> str:
        """The name of step n of all: its time, or its number in its sequence."""
        times = self.seen.cut.times
        return f"step {self.seen.place(n)[1]}" if times is None else _short_time(str(plainly(times[n])))

    @cached_property
    def shown(self) -> list[int]:
        """Sequences to draw: the longest, in the order of the data."""
        order = np.argsort(-self.seen.lengths, kind="stable")[:MOST_BARS]
        return sorted(order.tolist())


def _short_time(words: str) -> str:
    """Return a time without a clock that stands at midnight."""
    return words.removesuffix(" 00:00:00").removesuffix("T00:00:00")


# ---- the answer --------------------------------------------------------------------------------------------------


def answer(model: Any, material: ChainMaterial) -> Section:
    """Three sentences, and checks of reliability."""
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [_cards(model, material), _next_steps(model, material), Checks(checks, "Before you rely on it")]
    return Section("answer", "Summary", " ".join(_sentences(model, material)), parts)


def _cards(model: Any, material: ChainMaterial) -> Cards:
    """Return a card per state: its share of the steps, its duration, and the columns that mark it."""
    inside = 1 if model._inside is None else model._inside.shape[1]
    cards = []
    for k, name in enumerate(model.state_names_):
        share = float(model.occupancy_[k])
        found = [trait for m in range(inside) for trait in shared.traits(material.profiles, k * inside + m, least=0.0)]
        cards.append(Card(name, share, percent(share), found, "of the steps", _stay(model, k), k))
    more = f", each a mixture of {inside} components" if inside > 1 else ""
    return Cards(cards, f"The states, and what marks them{more}")


def _next_steps(model: Any, material: ChainMaterial) -> Steps:
    model_file, data = files_of(model, material) or ("MODEL.halfseen", "DATA")
    steps = [
        Step("Write the state of every step:", f"halfseen predict {model_file} {data} -o states.csv"),
        Step("Forecast the steps to come:", f"halfseen forecast {model_file} {data}"),
    ]
    if material.missing_values.n_missing:
        steps.append(Step("Fill in the missing values:", f"halfseen impute {model_file} {data} -o filled.csv"))
    return Steps(steps)


def _sentences(model: Any, material: ChainMaterial) -> Iterator[str]:
    seen, n_states = material.seen, model.n_components_
    many = f"{plural(len(seen.path), 'step')} of {plural(len(seen.lengths), 'sequence')}"
    chosen = trust.choice(model, ("state", "states"))
    if n_states == 1:
        yield f"The model has one state for the {many}{chosen}."
        yield "With one state, steps are independent."
        return
    share = model.occupancy_
    yield (
        f"The model has {n_states} hidden states for the {many}{chosen}: the most frequent covers "
        f"{percent(share.max())} of the steps, the least frequent {percent(share.min())}."
    )
    stays = [f"{cut(name)} {_steps(dwell)}" for name, dwell in zip(model.state_names_, model.dwell_, strict=True)]
    differ = listed([cut(name) for name in material.telling_columns[:3]])
    yield f"They differ most in {differ}. Once entered, a state lasts on average: {listed(stays)}."
    certain = percent(float((seen.resp.max(axis=1) >= 0.9).mean()))
    yield f"For {certain} of the steps the most likely state has a probability of at least 0.9."


def _steps(dwell: float) -> str:
    """Return the mean duration of a state as text."""
    return "never left" if not np.isfinite(dwell) else f"{dwell:.3g} steps"


def _checks(model: Any, material: ChainMaterial) -> Iterator[Check]:
    yield shared.converged(model)
    yield from shared.likelihood(model)
    yield from shared.starts(model)
    yield from shared.close_call(model, ("state", "states"))
    if model.n_components_ > 1:
        sure = material.mean_certainty
        text = f"The most likely state of a step has a mean probability of {sure:.2f}."
        if sure >= shared.OVERLAP:
            yield Check(True, "Overlap", f"The states are well separated. {text}")
        else:
            yield Check(False, "Overlap", f"The states overlap. {text} Use probabilities, not the best path alone.")
    mass = material.seen.resp.sum(axis=0)
    small = [f"{cut(model.state_names_[k])} ({count(mass[k])} steps)" for k in np.flatnonzero(mass < FEW)]
    if small:
        yield Check(False, "Rare states", f"Too few steps for reliable estimates: {listed(small)}.")
    yield from _few_visits(model, material)
    yield from shared.events(model)
    yield from _like_counts(model, material)
    yield shared.missing_check(material)


def _like_counts(model: Any, material: ChainMaterial) -> Iterator[Check]:
    columns, values = places(material.seen.sequences.steps)
    if model._inside is None and columns:
        own = [material.profiles[j] for j in columns]
        yield from shared.like_counts(own, values, model.occupancy_, getattr(model, "events_", ()))


def _few_visits(model: Any, material: ChainMaterial) -> Iterator[Check]:
    """Check whether there are enough changes of state to estimate transitions."""
    if model.n_components_ == 1:
        return
    seen = material.seen
    change = np.diff(seen.path) != 0
    change[seen.firsts[1:] - 1] = False
    n_changes = int(change.sum())
    changes = plural(n_changes, "state change")
    if n_changes < FEW:
        yield Check(False, "Transitions", f"Only {changes} on the best paths; durations are uncertain.")
    else:
        yield Check(True, "Transitions", f"{changes} on the best paths.")


# ---- states ------------------------------------------------------------------------------------------------------


def _stay(model: Any, k: int) -> str:
    words = model._stay(k).partition(", ")[2]
    return f"{words[:1].upper()}{words[1:]}"


def transitions(model: Any, material: ChainMaterial) -> Section | None:
    """The transition matrix as a heat map."""
    if model.n_components_ == 1:
        return None
    rows = []
    for k, name in enumerate(model.state_names_):
        cells = [_cell(float(p), name, other) for p, other in zip(model.transmat_[k], model.state_names_, strict=True)]
        stay, long_run = _steps(float(model.dwell_[k])), percent(float(model.stationary_[k]))
        rows.append(HeatRow(material.tagged(name), stay, long_run, cells))
    start = [f"{cut(name)} {percent(p)}" for name, p in zip(model.state_names_, model.startprob_, strict=True) if p > 0]
    note = f"At the first step: {listed(start)}."
    if (np.asarray(model._topology.dwell) > 1).any():
        note += " Transitions apply after the minimum duration of a state."
    lead = (
        "The probability that the state of the column follows that of the row; on the diagonal the state stays. A dot "
        "is an impossible transition. The long run is the share of time after many steps."
    )
    head = ["from", "duration", "long run", *[material.tagged(name, f"to {name}") for name in model.state_names_]]
    heat = Heat("Transition probabilities", head, rows, note, arrows=False)
    return Section("transitions", "Transitions", lead, [heat])


def _cell(p: float, here: str, there: str) -> HeatCell:
    shown = "·" if p == 0 else "<0.1%" if p < 0.001 else f"{p:.1%}"
    return HeatCell(shown, -p, f"{here} is followed by {there} in {p:.4%}")


# ---- over time ---------------------------------------------------------------------------------------------------


def along_time(model: Any, material: ChainMaterial) -> Section | None:
    """Plots of sequences and their states."""
    if model.n_components_ == 1:
        return None
    seen, shown = material.seen, material.shown
    parts: list[Part] = []
    if len(shown) > 1:
        parts.append(_paths_figure(material))
    longest = sorted(shown, key=lambda b: -int(seen.lengths[b]))[:MOST_TIMELINES]
    parts += [part for b in longest for part in _timeline(material, b)]
    left_out = len(seen.lengths) - len(shown)
    lead = "The height of a colour is the probability of its state at a step given the whole sequence."
    if left_out:
        lead += (
            f" The {len(shown)} longest sequences are shown; {plural(left_out, 'other is', 'others are')} not shown."
        )
    if seen.lengths.max() > MOST_STEPS:
        lead += f" Of longer sequences the first {MOST_STEPS} steps are drawn."
    return Section("time", "Sequences over time", lead, parts)


def _paths_figure(material: ChainMaterial) -> Figure:
    seen, shown = material.seen, material.shown
    labels = [material.sequence(b) for b in shown]
    label = f"Best paths of {len(shown)} sequences: a bar for each, coloured by state."
    found = [seen.path[seen.steps(b)][:MOST_STEPS] for b in shown]
    drawing = strips.paths(found, labels, seen.model.state_names_, label)
    return Figure(drawing, "The best path of each sequence as a whole, step by step.", "States of the sequences")


def _timeline(material: ChainMaterial, b: int) -> list[Part]:
    """Draw a sequence in strips, after a sentence on it."""
    name, seen = material.sequence(b), material.seen
    whole = seen.steps(b)
    part = slice(whole.start, min(whole.stop, whole.start + MOST_STEPS))
    shares = [
        f"{percent(float(share))} {state}"
        for state, share in zip(material.model.state_names_, seen.resp[whole].mean(axis=0), strict=True)
    ]
    column, values = _numbers(material, part)
    line = "" if values is None else f" The line is {cut(column)}, with gaps where it is missing."
    label = f"Probabilities of states over {name}: {listed(shares)} on average."
    found = strips.strips(
        seen.resp[part], values, column, seen.model.state_names_, lambda n: material.when(part.start + n), label
    )
    alone = len(seen.lengths) == 1
    about = Text(f"On average {listed(shares)}.{line}", "" if alone else f"One sequence: {cut(name)}")
    return [about, Beside([Figure(drawing, "") for drawing in found])]


def _numbers(material: ChainMaterial, part: slice) -> tuple[str, Any]:
    """Return the first column of numbers or counts in some steps; None where there is none."""
    schema = material.model._schema
    columns, values = places(material.seen.sequences.steps.take(part))
    for at, j in enumerate(columns):
        if not schema.columns[j].kind.has_categories:
            return schema.columns[j].name, values[:, at]
    return "", None


# ---- trust, missing values, what to check---------------------------------------------------------------------------


def trusted(model: Any, material: ChainMaterial) -> Section:
    """Number of states, starts, certainty."""
    parts: list[Part] = []
    figures = [trust.selection_figure(model, ("state", "states")), trust.trace_figure(model)]
    drawn = [figure for figure in figures if figure is not None]
    if model.n_components_ > 1:
        resp, names = material.seen.resp, model.state_names_
        drawn.append(trust.certainty_figure(resp, names, np.ones(len(resp)), ("step", "state")))
    if drawn:
        parts.append(Beside(drawn))
    parts += trust.starts_text(model)
    if not parts:
        parts.append(Text("The model was built from given parameters: there is no fit to check."))
    lead = "The number of states, the convergence of the fit, and the certainty of the states of steps."
    return Section("trust", "Can it be trusted?", lead, parts)


def missing_values(model: Any, material: ChainMaterial) -> Section:
    """Where values are missing, what is assumed about them, and how well they can be imputed."""
    found = material.missing_values
    parts: list[Part] = []
    lead = "The sequences have no missing values."
    if found.n_missing:
        lead = f"{percent(found.total_share)} of the cells are missing ({count(found.n_missing)})."
        empty = int(material.seen.missing.all(axis=1).sum())
        if empty:
            verb = "has" if empty == 1 else "have"
            lead += f" {plural(empty, 'step')} {verb} no observed value; the states there follow from the steps around."
        parts = [of_tables.missing_patterns(material), Text(of_tables.ASSUMED)]
    parts.append(of_tables.hidden_grid(material))
    return Section("missing", "Missing values", lead, parts)


def worth_a_look(model: Any, material: ChainMaterial) -> Section:
    """Sequences that fit worst, and steps whose state is least certain."""
    parts: list[Part] = []
    if len(material.seen.lengths) > 1:
        parts.append(_worst_grid(material))
    if model.n_components_ > 1:
        parts.append(_unsure_grid(material))
    lead = "Steps and sequences are named by their time and group if the data have them, else counted from 0."
    return Section("look", "Worth a look", lead, parts)


def _worst_grid(material: ChainMaterial) -> Grid:
    seen = material.seen
    order = np.argsort(seen.per_step, kind="stable")[:TOP].tolist()
    middle = float(np.median(seen.per_step))
    rows = [
        [
            material.sequence(b),
            count(seen.lengths[b]),
            f"{seen.loglik[b]:,.1f}",
            f"{seen.per_step[b]:.3f}",
            f"{seen.per_step[b] - middle:+.3f}",
        ]
        for b in order
    ]
    head = ["sequence", "steps", "log-likelihood", "per step", "against the median"]
    caption = "The sequences with the lowest log-likelihood per step. Missing values do not contribute to it."
    return Grid(caption, head, rows, "Sequences that fit worst")


def _unsure_grid(material: ChainMaterial) -> Part:
    seen, names = material.seen, material.model.state_names_
    highest = seen.resp.max(axis=1)
    order = [n for n in np.argsort(highest, kind="stable")[:TOP].tolist() if highest[n] < SURE]
    if not order:
        return Text(f"In every step the most likely state has a probability of at least {SURE:.2f}.")
    rows = []
    for n in order:
        first, second = np.argsort(-seen.resp[n], kind="stable")[:2].tolist()
        both = [
            material.tagged(names[k], f"{cut(names[k])} {percent(float(seen.resp[n, k]))}") for k in (first, second)
        ]
        n_missing = int(seen.missing[n].sum())
        missing = "" if not n_missing else "all cells" if seen.missing[n].all() else plural(n_missing, "cell")
        where = (material.sequence(seen.place(n)[0]), material.when(n))
        rows.append([*where, *both, material.tagged(names[seen.path[n]]), missing])
    head = ["sequence", "step", "most probable", "or", "on the best path", "missing"]
    caption = "The steps with the least certain states, given the whole sequence"
    return Grid(caption, head, rows, "Steps between states", frozenset({1, 2, 3, 4, 5}))


SECTIONS = [
    answer, along_time, transitions, trusted, missing_values, worth_a_look, errors, methods, reproduce,
]  # fmt: skip
MATERIAL = ChainMaterial.gathered
