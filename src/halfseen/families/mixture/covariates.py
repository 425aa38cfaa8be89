"""Mixtures whose class membership depends on covariates: fitting with them, and answers with and without them.

- *covariates*: a table beside the data, or a formula over columns of the data, which then are no indicators.
- *conditional*: the model as fitted, for rows whose covariates are given.
- *marginal*: the same classes with their average shares, for rows without covariates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, Self, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Design, Source, frame_from_dict, read
from halfseen.data.covariate_formula import variables_of
from halfseen.data.design import missing_rows, part, read_covariates, refuse_missing
from halfseen.errors import AbsentError, DataError, MarginalSharesWarning, ParameterError, warn
from halfseen.estimators import options
from halfseen.estimators.named_parameters import NamedParameters, Row, by_component, rows_of_columns
from halfseen.estimators.named_parameters import correlations as correlations_of
from halfseen.estimators.observed import Observed
from halfseen.estimators.table import profile
from halfseen.estimators.table.table_mixture import Given
from halfseen.families.mixture.fit import MixtureFit
from halfseen.families.mixture.membership import Membership
from halfseen.leaves.categorical import draw
from halfseen.leaves.leaf import Floats
from halfseen.runners.frames import is_elsewhere

Method = TypeVar("Method", bound=Callable[..., Any])

MEMBERSHIP = "(membership)"  # what coefficients are called among the parameters, in place of a column
INTERCEPT = "(intercept)"
MISSING = ("error", "drop")
DROP = "Fill them, leave these rows out, or use missing='drop'."
POINTS = 101  # values of a number in `shares_over`


def by_covariates(method: Method) -> Method:
    """Let a method take `covariates=`: it then answers with the conditional model; without, with the marginal one."""

    @wraps(method)
    def answered(self: Any, X: Any, *arguments: Any, covariates: Any = None, **named: Any) -> Any:
        check_is_fitted(self)
        model, rows = self._conditional(X, covariates, method.__name__)
        return method(model, rows, *arguments, **named)

    own = signature(method)
    extra = Parameter("covariates", Parameter.KEYWORD_ONLY, default=None, annotation=Any)
    answered.__signature__ = own.replace(parameters=[*own.parameters.values(), extra])  # type: ignore[attr-defined]
    answered.__doc__ = (
        f"{(method.__doc__ or '').rstrip()}\n\n"
        "        After a fit with covariates give those of the rows, `covariates=`; after one with a formula, its\n"
        "        columns in `X`. Without them the classes have their average shares, with a warning.\n        "
    )
    return answered  # type: ignore[return-value]


class Reading(NamedTuple):
    """Covariates of the rows of a fit."""

    source: Source
    formula: str | None
    missing: str


class CovariateMixture(MixtureFit):
    """A mixture that may be fitted with covariates on class membership."""

    _membership: Membership | None = None

    # ---- fitting -------------------------------------------------------------------------------------------------

    def _read_covariates(self, X: Any, covariates: Any, missing: str) -> tuple[Any, Reading | None]:
        """Return a table without its covariates, and these; None where there are none."""
        options.one_of("missing", missing, MISSING)
        if covariates is None:
            if missing != "error":
                raise ParameterError("missing= is about covariates; give covariates= too.")
            return X, None
        if is_elsewhere(X) or hasattr(X, "__halfseen_lanes__"):
            raise ParameterError("covariates: rows that other processes hold (Dask, Spark, Ray) cannot have them yet.")
        if "weights" in (self.fixed or ()):
            raise ParameterError("covariates: shares that depend on them cannot be fixed. Leave 'weights' free.")
        if isinstance(covariates, str):
            X, found = part(X, variables_of(covariates)[0])
            assert found is not None
            return X, Reading(found, covariates, missing)
        return X, Reading(read_covariates(covariates, read(X, counts=True).n_rows), None, missing)

    def _place_covariates(self, reading: Reading | None, source: Source, weight: Floats) -> tuple[Floats, Any, int]:
        """Return row weights, 0 where a covariate is missing; the matrix of the design; and how many rows are left out.

        The design is that of the fit under way.
        """
        if reading is None:
            return weight, None, 0
        if source.streams:
            raise ParameterError("covariates: the table must fit into memory. Give more memory, or fewer columns.")
        if reading.source.n_rows != source.n_rows:
            raise DataError(f"covariates: {reading.source.n_rows} rows, but X has {source.n_rows}.")
        lacking = missing_rows(reading.source)
        if reading.missing == "error":
            refuse_missing(reading.source, lacking, weight, DROP)
        n_dropped = int((lacking & (weight > 0)).sum())
        weight = np.where(lacking, 0.0, weight)
        if not weight.any():
            raise DataError("covariates: every row has a missing one. Nothing is left to fit to.")
        self._design = Design.learn(reading.source, weight, reading.formula)
        return weight, self._design.matrix(reading.source, weight == 0), n_dropped

    # ---- answers -------------------------------------------------------------------------------------------------

    def _conditional(self, X: Any, covariates: Any, what: str, missing: str = "error") -> tuple[Self, Any]:
        """Return the model for rows with these covariates, and the rows without them."""
        member = self._membership
        if member is None:
            if covariates is not None:
                raise ParameterError("covariates: this model was fitted without. Fit it with covariates= to use them.")
            return self, X
        if is_elsewhere(X):
            raise ParameterError(
                f"{what}: a model with covariates takes rows in memory. Predict a partition at a time."
            )
        design = member.design
        inside = None
        if design.formula is not None:
            X, inside = part(X, design.variables, required=False)
        if covariates is None and inside is None:
            named = ", ".join(design.variables)
            warn(
                f"the covariates ({named}) are not given; the average shares of the classes in the fit are used.",
                MarginalSharesWarning,
            )
            return self, X
        found = inside if covariates is None else self._beside(X, covariates, design)
        assert found is not None
        lacking = missing_rows(found)
        if missing == "error":
            refuse_missing(found, lacking, None, "Fill them, or predict these rows without covariates.")
        return self._given_matrix(design.matrix(found, lacking), lacking), X

    def _beside(self, X: Any, covariates: Any, design: Design) -> Source:
        """Return covariates that were given beside the rows."""
        if design.formula is not None and not isinstance(covariates, str):
            _, found = part(covariates, design.variables)
            covariates = found
        if isinstance(covariates, str):
            raise ParameterError("covariates: give those of the rows, a table. The formula is that of the fit.")
        return read_covariates(covariates, read(X, counts=True).n_rows)

    def _given_matrix(self, matrix: Floats, lacking: NDArray[np.bool_]) -> Self:
        """Return the conditional model for rows with this matrix of covariates, of which some lack one."""
        view = self._inferred()
        view._given = Given(matrix, self.weights_, lacking)
        return view

    def _inferred(self) -> Self:
        """Return the model whose likelihood was maximised: with covariates the conditional one."""
        member = self._membership
        if member is None:
            return self
        view = copy(self)
        view._model, view._params = member.model, member.params(self._params)
        view._stats = member.stats(self._model.view(self._stats))
        view._given = Given(np.zeros((0, member.design.n_columns)), self.weights_)
        return view

    @by_covariates
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable class of each row; the lowest index among equals."""
        return super().predict(X)

    @by_covariates
    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior probability of each class for each row, (N, K)."""
        return super().predict_proba(X)

    @by_covariates
    def score_samples(self, X: Any) -> Floats:
        """Return log p(observed cells) of each row; 0 for a row in which nothing was observed."""
        return super().score_samples(X)

    @by_covariates
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood per row."""
        return super().score(X, y, sample_weight)

    def impute(self, X: Any, draw: bool = False, random_state: Any = None, *, covariates: Any = None) -> Any:
        """Fill the missing values of `X` from the observed values of the same row; `covariates` as in `predict`."""
        check_is_fitted(self)
        model, rows = self._conditional(X, covariates, "impute")
        filled = MixtureFit.impute(model, rows, draw, random_state)
        if rows is X or self._membership is None or self._membership.design.formula is None:
            return filled
        parts = nw.from_native(filled, eager_only=True)
        return nw.from_native(X, eager_only=True).with_columns(*(parts[name] for name in parts.columns)).to_native()

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, covariates: Any = None
    ) -> tuple[Any, NDArray[np.int64]]:
        """Draw rows from the model.

        With `covariates`, a row is drawn for each row of these, and `n_samples` has no meaning.

        Returns
        -------
        X : container like the one fitted
        labels : (n_samples,) array    the class of each row
        """
        check_is_fitted(self)
        if covariates is None:
            if self._membership is not None:
                warn("sample: covariates are not given; classes have their average shares.", MarginalSharesWarning)
            return MixtureFit.sample(self, n_samples, random_state)
        design = self._with_covariates("sample").design
        found = part(covariates, design.variables)[1] if design.formula is not None else None
        source = read_covariates(covariates, read(covariates).n_rows) if found is None else found
        refuse_missing(source, missing_rows(source), None, "Fill them.")
        self._check_probable("sample")
        rng = self._generator(random_state)
        labels = draw(self._shares_at(design.matrix(source)), rng)
        blocks = self._model.leaves["emit"].sample(self._params["emit"], labels, rng)
        return self._template.like(self._decoded(blocks)), labels

    def _observed(
        self,
        X: Any,
        sample_weight: ArrayLike | None = None,
        labels: Any = None,
        apart: bool = False,
        covariates: Any = None,
        missing: str = "error",
    ) -> Observed:
        """Return a table as inference reads it."""
        check_is_fitted(self)
        if self._membership is None:
            if covariates is not None:
                raise ParameterError("covariates: this model was fitted without. Leave them out.")
            return super()._observed(X, sample_weight, labels, apart)
        options.one_of("missing", missing, MISSING)
        design = self._membership.design
        if design.formula is None and covariates is None:
            raise ParameterError("covariates: the model was fitted with them. Give those of the rows, covariates=.")
        X, inside = part(X, design.variables) if design.formula is not None else (X, None)
        source = self._beside(X, covariates, design) if covariates is not None or inside is None else inside
        lacking = missing_rows(source)
        if missing == "error":
            refuse_missing(source, lacking, None, DROP)
        rows = self._read(X, reset=False)
        weight = np.ones(rows.n_rows) if sample_weight is None and rows.weight is None else None
        weight = np.array(rows.weight if sample_weight is None else sample_weight) if weight is None else weight
        view = self._given_matrix(design.matrix(source, lacking), lacking)
        return MixtureFit._observed(view, rows, np.where(lacking, 0.0, weight), labels, apart)

    # ---- what was found ------------------------------------------------------------------------------------------

    def _with_covariates(self, what: str) -> Membership:
        check_is_fitted(self)
        if self._membership is None:
            raise AbsentError(f"{what}: this model was fitted without covariates.")
        return self._membership

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters; with covariates their coefficients are among them."""
        if self._membership is None:
            return super().n_parameters_
        n_free: int = self._membership.model.n_free()
        return n_free

    def _reference(self, reference: Any) -> int:
        """Return the number of a class that is given by name or number."""
        if isinstance(reference, str) and reference in self.class_names_:
            return self.class_names_.index(reference)
        if isinstance(reference, (int, np.integer)) and 0 <= reference < len(self.class_names_):
            return int(reference)
        raise ParameterError(f"reference={reference!r} is no class. Classes: {', '.join(self.class_names_)}.")

    @property
    def coefficients_(self) -> Any:
        """Coefficients of the covariates as a table: log-odds of each class against the first, and odds ratios.

        `hs.coefficients` has their standard errors, and other reference classes.
        """
        member = self._with_covariates("coefficients_")
        names = [INTERCEPT, *member.design.names]
        found = member.design.coefficients(member.coefficients)
        classes = range(1, len(self.class_names_))
        rows = [(name, k, float(found[p, k])) for k in classes for p, name in enumerate(names)]
        return frame_from_dict(
            {
                "class": [self.class_names_[k] for _, k, _ in rows],
                "covariate": [name for name, _, _ in rows],
                "estimate": [value for *_, value in rows],
                "odds_ratio": [float(np.exp(value)) for *_, value in rows],
            },
            self._template,
        )

    def shares_over(
        self, covariate: str, values: Sequence[Any] | None = None, at: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the shares of the classes over the values of one covariate, as a table.

        Parameters
        ----------
        covariate : str
            Column of the covariates.
        values : sequence, optional
            Its values; by default from the lowest to the highest of the fit, or all levels.
        at : mapping, optional
            Values of other covariates; by default the mean of a number, the most frequent level of categories.

        Examples
        --------
        >>> import halfseen as hs
        >>> votes = hs.load_votes()[["party", "crime", "mx_missile", "education_spending"]].dropna()
        >>> model = hs.LatentClass(2, random_state=0).fit(votes, covariates="party")
        >>> print(model.shares_over("party").round(2))
                party  class 0  class 1
        0    democrat     0.86     0.14
        1  republican     0.01     0.99
        """
        design = self._with_covariates("shares_over").design
        given = dict(at or {})
        for name in (covariate, *given):
            if name not in design.variables:
                raise ParameterError(f"there is no covariate {name!r}. Covariates: {', '.join(design.variables)}.")
        if values is None:
            low, _, high = design.typical[covariate] if covariate not in design.levels else (0, 0, 0)
            values = design.levels.get(covariate) or np.linspace(low, high, POINTS).tolist()
        if not len(values):
            raise ParameterError("values: give at least one value.")
        table = {covariate: list(values), **{name: [value] * len(values) for name, value in given.items()}}
        found = self._shares_at(design.matrix(design.rows(table)))
        by_class = {name: found[:, k].tolist() for k, name in enumerate(self.class_names_)}
        return frame_from_dict({covariate: list(values), **by_class}, self._template)

    def _shares_at(self, matrix: Floats) -> Floats:
        """Return the shares of the classes at rows of the design, (N, K)."""
        found: Floats = softmax(matrix @ self._with_covariates("shares").coefficients, axis=1)
        return found

    def _named_parameters(self) -> NamedParameters:
        """Return all parameters, one by one; in the conditional model coefficients in place of shares."""
        if self._membership is None or self._given is None:
            return super()._named_parameters()
        design = self._membership.design
        found = design.coefficients(self._params["mix"])
        anything = (-np.inf, np.inf)
        rows = [Row(MEMBERSHIP, name, found[p], anything) for p, name in enumerate([INTERCEPT, *design.names])]
        rows += [*rows_of_columns(profile.profiles(self)), *correlations_of(profile.fitted_blocks(self))]
        return by_component(rows, self.class_names_, "class")

    def _reorder(self, places: NDArray[np.int64]) -> None:
        super()._reorder(places)
        if self._membership is not None:
            self._membership = self._membership.reordered(places)

    def _measured(self, X: Any, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
        if X is None or self._membership is None or self._given is not None:
            return super()._measured(X, sample_weight)
        model, rows = self._with_columns(X)
        return model._measured(rows, sample_weight)

    def _with_entropy(self, X: Any) -> tuple[float, float, float]:
        if X is None or self._membership is None or self._given is not None:
            return super()._with_entropy(X)
        model, rows = self._with_columns(X)
        return model._with_entropy(rows)

    def _with_columns(self, X: Any) -> tuple[Self, Any]:
        """Return the conditional model for rows that have the covariates among their columns, and the rows."""
        design = self._with_covariates("criteria").design
        if design.formula is None:
            raise ParameterError(
                "criteria of a model with covariates are those of its fit: leave X out. score(X, covariates=...) "
                "measures it on other rows."
            )
        part(X, design.variables)
        return self._conditional(X, None, "criteria")

    def _cell_imputer(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Any:
        self._check_marginal("hidden_cells")
        return super()._cell_imputer(X, y, sample_weight)

    def _check_marginal(self, what: str) -> None:
        """Refuse what does not know covariates."""
        if self._membership is not None:
            raise ParameterError(f"{what} is not there for a model with covariates yet.")
