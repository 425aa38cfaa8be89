"""How well a latent class model describes a table: what papers report beside its parameters.

G2 = 2 sum O log(O / E),  X2 = sum (O - E)^2 / E     over all patterns of categories, seen or not;  E = N p(pattern)
entropy (Mplus)          1 - EN / (N log K),  EN = -sum_nk w[n] resp[n, k] log resp[n, k]
entropy R2 (Latent GOLD) 1 - (EN / N) / (-sum_k share[k] log share[k])
classification table     row j, column k: sum of w[n] resp[n, k] over the rows whose most probable class is j
CAIC = -2 loglik + p (log N + 1)
AWE  = -2 (loglik - EN) + 2 p (3/2 + log N)          (Banfield and Raftery 1993)
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, xlogy

from halfseen.analysis.missing_values import MissingValues, count
from halfseen.analysis.residuals import Residual, residuals_of
from halfseen.analysis.scored_table import Seen, class_names, class_shares, look
from halfseen.data import frame_from_dict
from halfseen.data.canonical import hash_rows
from halfseen.errors import DataError
from halfseen.estimators.publication import Line, Panel, PaperTable
from halfseen.estimators.publication.facts import measured_facts
from halfseen.estimators.selection import aic, bic, relative_entropy, sabic
from halfseen.inference.residual_tests import residuals_with_p
from halfseen.leaves.leaf import Floats

SHOWN = 8  # patterns of missing values and residuals that are printed
WIDEST = 60  # columns whose pairs are looked at without being asked


@dataclass(frozen=True)
class PatternFit:
    """How the frequencies of patterns of categories agree with those expected.

    Attributes
    ----------
    g2, x2 : float           likelihood ratio and Pearson's chi-square
    n_cells : float          number of possible patterns
    df_by_cells : float      n_cells - 1 - parameters
    df_by_rows : float       min(N, n_cells - 1) - parameters, as poLCA counts
    p_g2, p_x2 : float       probability of a larger value by chance, by df_by_cells. Of no use if most cells are empty
    observed, expected : (P,) arrays    frequencies of the patterns that occur
    patterns : (P, D) array of objects
    """

    g2: float
    x2: float
    n_cells: float
    df_by_cells: float
    df_by_rows: float
    p_g2: float
    p_x2: float
    observed: Floats = field(repr=False)
    expected: Floats = field(repr=False)
    patterns: Any = field(repr=False)


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """The fit of a model to a table.

    Attributes
    ----------
    loglik, n, n_parameters :        log-likelihood, N of the criteria, free parameters
    criteria : dict                  aic, bic, sabic, caic, awe, icl
    entropy, entropy_r2 : float      relative entropy (as Mplus), entropy R-squared (as Latent GOLD); 1: no doubt
    classification_error : float     expected share of rows whose most probable class is not theirs
    classification : (C, C) array    rows whose most probable class is j that belong to class k
    average_posterior : (C,) array   mean posterior of the most probable class, by class
    pattern_fit : PatternFit or None     where all columns are categories and nothing is missing
    why_not : str                    why there is none
    missing : MissingValues          how many values are missing, in which patterns
    residuals : list of Residual     what is left between pairs of columns, the largest first; with p-values where asked
    """

    loglik: float
    n: float
    n_parameters: int
    criteria: dict[str, float]
    entropy: float
    entropy_r2: float
    classification_error: float
    classification: Floats
    average_posterior: Floats
    pattern_fit: PatternFit | None
    why_not: str
    missing: MissingValues
    class_names: tuple[str, ...]
    residuals: list[Residual] = field(repr=False, default_factory=list)
    template: Any = field(repr=False, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values, the frequencies of patterns left out."""
        found: dict[str, Any] = {
            "loglik": self.loglik,
            "n": self.n,
            "n_parameters": self.n_parameters,
            **self.criteria,
            "entropy": self.entropy,
            "entropy_r2": self.entropy_r2,
            "classification_error": self.classification_error,
            "classification": self.classification.tolist(),
            "average_posterior": self.average_posterior.tolist(),
        }
        if self.pattern_fit is not None:
            left_out = ("observed", "expected", "patterns")
            found |= {name: value for name, value in asdict(self.pattern_fit).items() if name not in left_out}
        found["missing"] = [{"rows": one.n_rows, "columns": list(one.missing)} for one in self.missing.patterns]
        found["residuals"] = [one._asdict() for one in self.residuals]
        return found

    def patterns(self) -> Any:
        """Return the patterns that occur with their observed and expected frequencies, the most frequent first."""
        if self.pattern_fit is None:
            raise DataError(f"expected frequencies: {self.why_not}")
        fit = self.pattern_fit
        order = np.argsort(-fit.observed, kind="stable")
        names = self.missing.names
        table = {name: fit.patterns[order, d].tolist() for d, name in enumerate(names)}
        return frame_from_dict(
            {**table, "observed": fit.observed[order].tolist(), "expected": fit.expected[order].tolist()}, self.template
        )

    def table(self) -> PaperTable:
        """Return the figures as a table for a paper: most probable against true class, and the figures of fit."""
        lines = [
            Line(name, (*(f"{cell:,.1f}" for cell in row), f"{mean:.3f}"))
            for name, row, mean in zip(self.class_names, self.classification, self.average_posterior, strict=True)
        ]
        panel = Panel((*self.class_names, "Average posterior"), tuple(lines))
        notes = ["Rows by their most probable class, columns by the class that they belong to."]
        notes += [f"G2 and X2: {self.why_not}"] if self.pattern_fit is None else []
        return PaperTable("Fit and classification", (panel,), tuple(measured_facts(self)), tuple(notes))

    def __str__(self) -> str:
        parts = [self._likelihoods(), self._classification(), self._patterns(), self._missing(), self._residuals()]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def _likelihoods(self) -> list[str]:
        names = {"aic": "AIC", "bic": "BIC", "sabic": "SABIC", "caic": "CAIC", "awe": "AWE", "icl": "ICL"}
        facts = [("log-likelihood", f"{self.loglik:,.4f}"), ("N", f"{self.n:,.10g}")]
        facts += [("parameters", f"{self.n_parameters:,}")]
        facts += [(names[name], f"{value:,.4f}") for name, value in self.criteria.items()]
        return [f"{name:15} {value:>16}" for name, value in facts]

    def _classification(self) -> list[str]:
        lines = [
            f"entropy {self.entropy:.4f} (as Mplus), R2 {self.entropy_r2:.4f} (as Latent GOLD)",
            f"classification error {self.classification_error:.4f}",
        ]
        width = max(map(len, self.class_names))
        for name, row, mean in zip(self.class_names, self.classification, self.average_posterior, strict=True):
            cells = "  ".join(f"{cell:10.2f}" for cell in row)
            lines.append(f"most probably {name:{width}} {cells}   average posterior {mean:.4f}")
        return lines

    def _patterns(self) -> list[str]:
        if self.pattern_fit is None:
            return [f"G2 and X2: {self.why_not}"]
        fit = self.pattern_fit
        return [
            f"G2 {fit.g2:.4f}, X2 {fit.x2:.4f}",
            f"degrees of freedom: {fit.df_by_cells:,.10g} by cells, {fit.df_by_rows:,.10g} by rows (as poLCA)",
            f"p by cells: {fit.p_g2:.4f} (G2), {fit.p_x2:.4f} (X2)",
        ]

    def _missing(self) -> list[str]:
        """The patterns of missing values, the most frequent first."""
        patterns = self.missing.patterns
        if len(patterns) == 1 and not patterns[0].missing:
            return []
        lines = [f"patterns of missing values ({self.missing.total_share:.1%} of all cells):"]
        lines += [f"{one.n_rows:>10,.10g} rows  {', '.join(one.missing) or 'complete'}" for one in patterns[:SHOWN]]
        more = patterns[SHOWN:]
        if more:
            lines.append(f"{sum(one.n_rows for one in more):>10,.10g} rows  in {len(more):,} other patterns")
        return lines

    def _residuals(self) -> list[str]:
        """The largest residuals between columns."""
        if not self.residuals:
            return []
        n_pairs = len(self.residuals)
        lines = [f"largest of {n_pairs:,} residuals between columns (X2 / df; near 1 or below: independent):"]
        for one in self.residuals[:SHOWN]:
            p = f"   p {one.p:.3f}" if one.p is not None else ""
            lines.append(f"{one.value:10.2f}   strength {one.strength:.2f}{p}   {one.first} with {one.second}")
        return lines


def diagnostics(
    model: Any,
    X: Any,
    sample_weight: ArrayLike | None = None,
    *,
    covariates: Any = None,
    bootstrap: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Diagnostics:
    """Return how well a model describes a table: criteria, entropies, classification, frequencies of patterns.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes or GaussianClassifier
    X : table
    sample_weight : (N,) array, optional
    covariates : table, optional
        Those of a model that was fitted with some; a formula finds its columns in `X`.
    bootstrap : int, optional
        Number of tables drawn from the model, such as 99: residuals between columns then have p-values.
    n_jobs : int, optional
        Threads of the bootstrap; the result is the same with any number.
    random_state : int, RandomState or Generator, optional
        Seed of the bootstrap.

    Examples
    --------
    >>> import halfseen as hs
    >>> votes = hs.load_votes()[["el_salvador_aid", "mx_missile", "education_spending", "crime"]].dropna()
    >>> model = hs.LatentClass(2, prior=None, random_state=0).fit(votes)
    >>> found = hs.diagnostics(model, votes)
    >>> print(f"G2 {found.pattern_fit.g2:.2f} with {found.pattern_fit.df_by_cells:g} degrees of freedom")
    G2 43.93 with 6 degrees of freedom
    """
    seen = look(model, X, sample_weight, covariates=covariates)
    model._check_probable("fit")
    weight = np.where(seen.table.blank, 0.0, seen.table.weight)
    n, proba = float(weight.sum()), seen.proba
    if not n:
        raise DataError("no row of weight above 0 has an observed cell: there is no fit to describe.")
    loglik, p = float(weight @ np.where(weight > 0, seen.loglik, 0.0)), int(model.n_parameters_)
    uncertain = float(weight @ entr(seen.resp).sum(axis=1))
    modal = proba.argmax(axis=1)
    size = proba.shape[1]
    classification = np.zeros((size, size))
    np.add.at(classification, modal, weight[:, None] * proba)
    mass = classification.sum(axis=1)
    own = np.diagonal(classification)
    doubt = float(weight @ entr(proba).sum(axis=1))
    apart = float(entr(class_shares(model)).sum())
    fit, why_not = _pattern_fit(seen, weight, n, p)
    return Diagnostics(
        loglik=loglik,
        n=n,
        n_parameters=p,
        criteria={
            "aic": aic(loglik, p),
            "bic": bic(loglik, p, n),
            "sabic": sabic(loglik, p, n),
            "caic": bic(loglik, p, n) + p,
            "awe": -2 * (loglik - uncertain) + 2 * p * (1.5 + float(np.log(n))),
            "icl": bic(loglik, p, n) + 2 * uncertain,
        },
        entropy=relative_entropy(doubt, n, size),
        entropy_r2=1.0 - doubt / n / apart if apart > 0 else 1.0,
        classification_error=1.0 - float(own.sum()) / n,
        classification=classification,
        average_posterior=np.divide(own, mass, out=np.zeros(size), where=mass > 0),
        pattern_fit=fit,
        why_not=why_not,
        missing=count(seen.missing, tuple(model._schema.names), weight),
        class_names=class_names(model),
        residuals=_residuals(model, X, seen, sample_weight, bootstrap, n_jobs, random_state),
        template=model._template,
    )


def _residuals(
    model: Any, X: Any, seen: Seen, sample_weight: Any, bootstrap: int | None, n_jobs: int | None, random_state: Any
) -> list[Residual]:
    """Return the residuals between columns; without a test, of tables that are not too wide."""
    if bootstrap is not None:
        return residuals_with_p(model, X, bootstrap, sample_weight, n_jobs=n_jobs, random_state=random_state)
    return residuals_of(seen) if len(model._schema.columns) <= WIDEST else []


def _pattern_fit(seen: Seen, weight: Floats, n: float, n_parameters: int) -> tuple[PatternFit | None, str]:
    """Return the fit of patterns; None and the reason where there are none."""
    from scipy.stats import chi2

    if seen.model.weight_kind == "survey":
        return None, "only where weights are frequencies; with survey weights G2 and X2 are not chi-square."
    columns = seen.model._schema.columns
    if seen.conditional:
        return None, "only without covariates: patterns then have other frequencies at other covariates."
    odd = next((column.name for column in columns if not column.kind.has_categories), None)
    if odd is not None:
        return None, f"only where all columns are categories; {odd} is not."
    n_missing = int(seen.missing.any(axis=1).sum())
    if n_missing:
        return None, f"only without missing values; {n_missing:,} rows have some. Leave them out to compare."
    codes = np.concatenate(list(seen.table.blocks.values()), axis=1)
    hashes = hash_rows(list(codes.T), len(codes))
    _, first, number = np.unique(hashes, axis=1, return_index=True, return_inverse=True)
    observed = np.bincount(number.ravel(), weight).astype(np.float64)
    used = observed > 0
    first, observed = first[used], observed[used]
    expected = n * np.exp(seen.loglik[first])
    g2 = float(2 * xlogy(observed, observed / expected).sum())
    unseen = n - expected.sum()  # each such pattern adds what is expected
    x2 = float(((observed - expected) ** 2 / expected).sum() + unseen)
    n_cells = float(prod(len(column.categories or ()) for column in columns))
    by_cells, by_rows = n_cells - 1 - n_parameters, min(n, n_cells - 1) - n_parameters
    p_g2, p_x2 = (float(chi2.sf(value, by_cells)) if by_cells > 0 else 1.0 for value in (g2, x2))
    cells = np.array([seen.source.column(d).values[first] for d in range(len(columns))], dtype=object).T
    return PatternFit(g2, x2, n_cells, by_cells, by_rows, p_g2, p_x2, observed, expected, cells), ""
