"""Successes of a number of trials: P(x) = C(trials, x) p^x (1 - p)^(trials - x), "binomial(10)" for 10 trials.

The kind `binomial` itself has no columns: its name needs the number of trials, which all cells of a column share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import rel_entr

from halfseen.data.columns import Block, Column
from halfseen.errors import ParameterError
from halfseen.export.formula import Formula, Language, observed
from halfseen.export.series import FEW_COUNTS, excess, stirling_series
from halfseen.kinds import by_numbers
from halfseen.kinds.arithmetic import figure, plus
from halfseen.kinds.counting import Counting
from halfseen.kinds.kind import Kind
from halfseen.kinds.numbers import check_moments
from halfseen.kinds.records import SHARE, Build, ColumnProfile, Contrast, Estimate, Figures, Fitted, Mask, MStep
from halfseen.kinds.wording import cut, number, percent, shown
from halfseen.leaves.binomial import MOST_TRIALS, Binomial, log_density
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.leaves.negbin import stirling_error

ALL = 64  # trials up to which every log-density is summed, and written in a table
MANY = 1000.0  # a variance from which successes are as good as normal
WIDE = 10.0  # standard deviations about the mean that hold all but 1e-22


class BinomialKind(Counting):
    """Successes with a probability; `trials` is None in the kind that only makes others."""

    name = "binomial"
    parameters = {"p": SHARE}  # noqa: RUF012
    statistics = ("mass", "successes", "failures")

    def __init__(self, trials: int | None = None) -> None:
        self.trials = trials
        if trials is None:
            self.lacks = f"a binomial column needs its number of trials in brackets, {_EXAMPLE}."
            return
        self.name = f"binomial({trials})"
        self.domain = f"a whole number from 0 to {trials}"

    def with_argument(self, argument: str) -> Kind:
        """Return the kind of columns with so many trials."""
        known = argument.isdecimal() and len(argument) <= len(str(MOST_TRIALS))
        if not known or not 1 <= int(argument) <= MOST_TRIALS:
            raise ParameterError(
                f"'binomial({argument:.40})': the number of trials is a whole number from 1 to {MOST_TRIALS:.0e} that "
                f"all rows share, {_EXAMPLE}."
            )
        return BinomialKind(int(argument))

    @property
    def form(self) -> str:
        """The probability; without data the number of trials is said beside it."""
        return "{'kind': 'binomial(10)', 'p': ...}" if self.trials is None else super().form

    def claims(self, given: Mapping[Any, Any]) -> bool:
        """Whether parameters given without data are of this kind; a category 'p' that all cells have is none."""
        return super().claims(given) and bool(np.any(np.asarray(given["p"], dtype=object) != 1))

    def column_of(self, name: str, given: Mapping[Any, Any]) -> Column:
        """Refuse a probability alone, which does not say of how many trials."""
        if self.trials is None:
            raise ParameterError(f"columns[{name!r}]: {self.lacks[:-1]}: {self.form}.")
        return super().column_of(name, given)

    def legal(self, values: Floats) -> Mask:
        """Which numbers are successes of so many trials."""
        return super().legal(values) & (values <= self._trials)

    @property
    def _trials(self) -> int:
        if self.trials is None:
            raise ParameterError(self.lacks)
        return self.trials

    # ---- the whole table, and the leaf ---------------------------------------------------------------------------

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a column without successes, or failures, has half of one in each row for a unit."""
        trials = self._trials
        rate, least = summary["mean"] / trials, 0.5 / trials
        rate = np.where(rate > 0, rate, least)
        return Binomial(build.n_components, trials, np.where(rate < 1, rate, 1 - least), build.pseudo_rows)

    def unit_summary(self, block: Block) -> Figures:
        """Return a summary that knows nothing: every other trial is a success."""
        mean = np.full(len(block.members), 0.5 * self._trials)
        return {"mean": mean, "var": 0.5 * mean}

    def legal_summary(self, summary: Figures) -> bool:
        """Whether means and variances are at least 0, and means at most the number of trials."""
        return super().legal_summary(summary) and bool((summary["mean"] <= self._trials).all())

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """Return mean = successes / mass; the variance is that of one binomial distribution."""
        seen, successes, failures = stats[:3].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mean = successes / seen
            var = mean * (failures / (successes + failures))
        return check_moments({"mean": mean, "var": var}, block, seen)

    # ---- what a component looks like -----------------------------------------------------------------------------

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """mean = trials p,  var = trials p (1 - p)."""
        p = parameters["p"]
        return self._trials * p, self._trials * p * (1 - p)

    def profile(self, column: Column, values: Mapping[str, Floats], weights: Floats) -> ColumnProfile:
        """distance[k] = trials KL(p[k] || p), where p = sum_k weights[k] p[k]."""
        p, trials = values["p"], self._trials
        overall = float(np.clip(weights @ p, 0.0, 1.0))
        sd = np.sqrt(weights @ (trials * p * (1 - p) + (trials * (p - overall)) ** 2))
        distance = trials * (rel_entr(p, overall) + rel_entr(1 - p, 1 - overall))
        whole = (trials * overall, float(sd))
        return ColumnProfile(column.name, self, ["p"], p[None], np.array([overall]), distance, whole)

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Say the probability."""
        own, whole = self.card(column, k)
        return f"{column.name} {own} (all {whole})"

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return the probabilities."""
        return f"{percent(column.values[0, k])} of {self._trials:,}", percent(column.overall[0])

    def odd_cell(self, column: ColumnProfile, k: int, value: Any, who: str) -> str:
        """Say the successes, and how many the component has on average."""
        mean = number(self._trials * column.values[0, k])
        return f"{cut(column.name)} = {shown(float(value))} of {self._trials:,}, where {who} has {mean} on average"

    def contrasts(self, column: ColumnProfile, weights: Floats) -> Iterator[Contrast]:
        """Yield how each component differs from the whole, as numbers do, and the probabilities."""
        [contrast] = super().contrasts(column, weights)
        texts = [percent(p) for p in column.values[0]]
        yield contrast._replace(values=column.values[0], shown=texts, overall=percent(column.overall[0]))

    def unit(self, column: ColumnProfile) -> float:
        """Return 1: probabilities are compared as they are."""
        return 1.0

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """Return sum_x P(x) log P(x), and the variance likewise."""
        found = np.array([[_expected(self._trials, p) for p in row] for row in fitted.params.tolist()])
        return found[..., 0], found[..., 1]

    # ---- number by number ----------------------------------------------------------------------------------------

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return Binomial(x; trials, p)."""
        return f"Binomial({column.name} = {value}; {self._trials} trials, p {figure(parameters['p'])})"

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """p = successes / (successes + failures)."""
        for own, pseudo in by_numbers.counted(self, step):
            successes, failures = ((own[name], pseudo[name]) for name in ("successes", "failures"))
            trials = own["successes"] + own["failures"], pseudo["successes"] + pseudo["failures"]
            found = by_numbers.quotient(successes, trials)
            parts = zip(*successes, *failures, found.texts, strict=True)
            texts = [
                _over_trials(plus(s, more_s), plus(f, more_f)) if text else "" for s, more_s, f, more_f, text in parts
            ]
            yield {"p": found._replace(texts=texts)}

    # ---- in other languages --------------------------------------------------------------------------------------

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield the log-density of each column: a table, or of many trials a table of both ends, and a series."""
        trials = self._trials
        ends = [*range(FEW_COUNTS), *range(trials - FEW_COUNTS + 1, trials + 1)]
        counts = list(range(trials + 1)) if trials <= ALL else ends
        for count, p in zip(cells, fitted.params.T, strict=True):
            table = log_density(np.array(counts, dtype=np.float64)[:, None], trials, p)
            tail = self._exported_tail(count, p) if trials > ALL else language.undefined
            score = language.lookup(count, counts, table, tail)
            legal = count.finite() & count.floor().equals(count) & (count > -1.0) & (count < trials + 1.0)
            yield observed(count, legal, score)

    def _exported_tail(self, x: Formula, p: Floats) -> Formula:
        """Return log Binomial(x; trials, p) as `leaves.binomial.log_density` does, for counts far from both ends."""
        trials = float(self._trials)
        inside = (p > 0) & (p < 1)
        some = np.where(inside, p, 0.5)
        y = trials - x
        errors = float(stirling_error(np.float64(trials))) - stirling_series(x) - stirling_series(y)
        peak = errors - 0.5 * (2 * np.pi / trials * x * y).log()
        up, down = (trials * some - x) / x, (x - trials * some) / y
        deviance = x * excess(up, np.log(trials * some) - x.log())
        tail = peak - deviance - y * excess(down, np.log(trials * (1 - some)) - y.log())
        return tail if inside.all() else tail + np.where(inside, 0.0, -np.inf)


_EXAMPLE = "as in 'binomial(10)'"


def _over_trials(successes: str, failures: str) -> str:
    """Return successes over all trials; either may be a sum in brackets."""
    return f"{successes} / ({successes.strip('()')} + {failures.strip('()')})"


def _expected(trials: int, p: float) -> tuple[float, float]:
    """Return mean and variance of log Binomial(x; trials, p) for x of that distribution."""
    var = trials * p * (1 - p)
    if var > MANY:
        return -0.5 * float(np.log(2 * np.pi * np.e * var)), 0.5
    reach = WIDE * np.sqrt(var) + 2 * WIDE
    low, high = (0, trials) if trials <= ALL else (max(0.0, trials * p - reach), min(trials, trials * p + reach))
    logs = log_density(np.arange(np.floor(low), np.ceil(high) + 1), trials, p)
    chances = np.exp(logs)
    logs = np.where(chances > 0, logs, 0.0)
    mean = float(chances @ logs)
    return mean, max(float(chances @ logs**2) - mean**2, 0.0)
