"""What estimators of all families have: options, seeds, states and pickles; and parts that several of them have.

`Estimator`             the base of every estimator
`InformationCriteria`   BIC and AIC of models with a likelihood
`NamedComponents`       hidden classes or states that can be put in another order and given names
`SelectsModels`         fits several models and keeps the best: `selection_`
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from halfseen import __version__
from halfseen.data import Schema, Source, frame_from_dict
from halfseen.data.named_columns import check_columns
from halfseen.errors import AbsentError, ParameterError, VersionWarning, warn
from halfseen.estimators import convergence, options, selection
from halfseen.estimators.selection import Fitted, aic, bic, sabic
from halfseen.estimators.state import Origin, State
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.seeds import generator


class Estimator(BaseEstimator):
    """The base of every estimator."""

    _state_module: Any  # has `taken`, which makes a state of an estimator, and `restored`, the way back
    _origin: Origin = Origin()
    assign: str
    n_jobs: int | None
    random_state: Any
    _model: Any
    _params: Params

    @property
    def _estimate(self) -> str:
        """What the parameters of a fit are; hard and sampled assignment maximise neither likelihood nor posterior."""
        if self.assign != "soft":
            return "hard assignment" if self.assign == "hard" else "sampled assignment"
        return self._soft_estimate

    @property
    def _soft_estimate(self) -> str:
        """What soft assignment leads to: a maximum of the likelihood, or of the posterior under a prior."""
        return "posterior mode" if self._model.log_prior(self._params) else "maximum likelihood"

    def set_params(self, **params: Any) -> Self:
        """Set options by name; one that another library has is answered by what it is called here."""
        wrong = options.unknown([name for name in params if "__" not in name], known := self._get_param_names())
        if wrong is not None:
            raise ParameterError(options.hint(type(self).__name__, wrong, known))
        changed: Self = super().set_params(**params)
        return changed

    def _check_options(self) -> None:
        """Refuse values of options that are not allowed."""
        options.check(self)

    def _generator(self, random_state: Any) -> np.random.Generator:
        """Return the generator of a draw: from the given seed, by default from the estimator's."""
        return generator(self.random_state if random_state is None else random_state)

    def _remember_features(self, source: Source) -> None:
        """Set what scikit-learn wants to know of a table: the number of columns, and their names if they have any."""
        self.n_features_in_ = len(source.names)
        self.__dict__.pop("feature_names_in_", None)
        if source.named:
            self.feature_names_in_ = np.array(source.names, dtype=object)

    def _check_features(self, source: Source, reset: bool) -> None:
        """Refuse a table whose columns have other names than those of the fit."""
        names = getattr(self, "feature_names_in_", None)
        if not reset and source.named and names is not None:
            check_columns(source.names, names.tolist())

    def _state(self) -> State:
        """Return all that makes up the fitted estimator, as plain values and arrays: what a model file holds."""
        found: State = self._state_module.taken(self)
        return found

    @classmethod
    def _from_state(cls, found: State) -> Self:
        """Return the estimator that `_state` was taken of; refuse what cannot be one."""
        model: Self = cls._state_module.restored(cls, found)
        return model

    def studio(self, X: Any = None, y: Any = None, **marks: Any) -> Any:
        """Show the fitted model and its data in a notebook: look at it, correct it, fit again, export.

        As ``halfseen.studio(model, X, ...)``, which says what can be given. Needs the extra halfseen[notebook].

        Parameters
        ----------
        X : table, optional            what it was fitted to, or other data of the same columns
        y : labels, optional           of a classifier
        **marks : as in `fit`          sample_weight, groups, time, lengths
        """
        return import_module("halfseen.studio.notebook").studio(self, X, y, **marks)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        first = convergence.unfinished(self)
        shown: str = super().__repr__(N_CHAR_MAX)
        return f"{first} {shown}" if first else shown

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_halfseen_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a pickle; those are for processes that run side by side, so another version is warned of."""
        written = state.pop("_halfseen_version", "unknown")
        if written != __version__:
            warn(
                f"a {type(self).__name__} pickled by halfseen {written} may not work with {__version__}. Keep models "
                "with halfseen.save, which later versions read.",
                VersionWarning,
            )
        super().__setstate__(state)


class SelectsModels(Estimator):
    """An estimator that fits several models and keeps the best by a criterion."""

    criterion: str
    _tried: dict[str, list[Any]]  # figures of all models that were fitted, by name
    _template: Source

    @property
    def selection_(self) -> Any:
        """The models that were tried, with their figures: a table in the library of the data, or one that is installed.

        It is made when it is asked for: a fit needs no data frame library.
        """
        if "_tried" not in vars(self):
            raise AbsentError("selection_: no models were compared in this fit, or it was made without data.")
        return frame_from_dict(self._tried, self._template)

    def _select(
        self, shapes: Sequence[str], sizes: Sequence[int], fitted: Callable[[str, int, Fitted | None], Fitted]
    ) -> tuple[Fitted, bool]:
        """Fit every size with every shape of covariance, and note their figures.

        Return the best, and whether an interrupt ended it before its time, though not in the run of the best.
        """
        tried, interrupted = selection.search_shapes(shapes, sizes, fitted, self.criterion)
        self._tried = selection.compared(tried, self.criterion)
        best = selection.best(tried, self.criterion)
        return best, interrupted and not best.search.interrupted


class InformationCriteria(Estimator):
    """A model with a likelihood and a number of free parameters."""

    _unit: ClassVar[str] = "rows"
    _paper_priors: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "row": "one pseudo-row in all, with the distribution of the whole table",
            "categories": "one pseudo-row in all for columns of categories",
        }
    )  # what values of `prior` are called in papers

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters; cells that are ruled out do not count."""
        check_is_fitted(self)
        n_free: int = self._model.n_free()
        return n_free

    @abstractmethod
    def _measured(self, X: Any) -> tuple[float, float]:
        """Return log-likelihood and N, of `X` or (None) of the training data."""

    def _units(self) -> dict[str, float]:
        """Return the numbers of units in the training data that N may be, the default first."""
        return {self._unit: self._measured(None)[1]}

    def bic(self, X: Any = None) -> float:
        """Return -2 loglik + n_parameters log N; lower is better.

        N is the number of rows with any observed cell or label, or the sum of their weights. Without `X`, of the data
        it was fitted to. After a fit with a prior, loglik is that of the posterior mode, which is below the maximum of
        the likelihood; published figures are of maximum likelihood, `prior=None`. (bnlearn's BIC is this divided
        by -2.)
        """
        loglik, n_rows = self._measured(X)
        return bic(loglik, self.n_parameters_, n_rows)

    def sabic(self, X: Any = None) -> float:
        """Return the sample-size adjusted BIC (Sclove 1987), with (N + 2) / 24 in place of N; lower is better."""
        loglik, n_rows = self._measured(X)
        return sabic(loglik, self.n_parameters_, n_rows)

    def aic(self, X: Any = None) -> float:
        """Return -2 loglik + 2 n_parameters; lower is better."""
        return aic(self._measured(X)[0], self.n_parameters_)


class NamedComponents(Estimator):
    """A model over a table with hidden classes or states, in an order and with names that can be changed."""

    _component_word: ClassVar[str] = "class"
    _names_attribute: ClassVar[str] = "class_names_"
    _schema: Schema
    _model: Any
    _params: Params

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the components."""
        names: tuple[str, ...] = getattr(self, self._names_attribute)
        return names

    def _set_names(self, names: Sequence[Any]) -> None:
        """Name the components; those without a name (None) are counted: 'class 2'."""
        named = [self._default_name(k) if name is None else str(name) for k, name in enumerate(names)]
        setattr(self, self._names_attribute, tuple(named))

    @classmethod
    def _default_name(cls, k: int) -> str:
        """Return the name of component k until it is given another."""
        return f"{cls._component_word} {k}"

    @abstractmethod
    def _reorder(self, places: NDArray[np.int64]) -> None:
        """Put parameters and statistics in another order: component i becomes the former places[i]."""

    @property
    def _identified(self) -> bool:
        """Whether options identify the components, so that their order in a draw of the parameters means something."""
        return False

    def _in_fitted_order(self, params: Params) -> Params:
        """Return a draw of the parameters with components in the order of the fitted ones that they resemble most."""
        if self._identified:
            return params
        relabelled: Params = self._model.relabel(params, matching(self._model.overlap(params, self._params)))
        return relabelled

    def relabel(self, order: Sequence[int]) -> Self:
        """Return a copy in which class (or state) i is the former class order[i]."""
        check_is_fitted(self)
        names = self._names
        places = read_order(order, len(names), self._component_word)
        relabelled = copy(self)
        relabelled._reorder(places)
        relabelled._set_names([None if names[j] == self._default_name(j) else names[j] for j in places.tolist()])
        return relabelled

    def match_to(self, other: Self) -> Self:
        """Return a copy whose classes (or states) stand in the order of those of `other` that they resemble most.

        Resemblance is the Bhattacharyya overlap of their distributions; all are matched at once.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        same = self._schema.columns == other._schema.columns and list(self._schema.blocks) == list(other._schema.blocks)
        if not same or len(self._names) != len(other._names):
            raise ParameterError(
                "match_to: the two models differ in their columns, categories or number of "
                f"{plural(self._component_word)}."
            )
        return self.relabel(matching(self._model.overlap(self._params, other._params)).tolist())

    def rename(self, names: Sequence[Any] | Mapping[Any, Any]) -> Self:
        """Return a copy whose classes (or states) have these names, in every table, text and file made from it.

        Parameters
        ----------
        names : list or dict      all names in order; or by number or present name, {0: "mild", "class 2": "severe"}
        """
        check_is_fitted(self)
        renamed = copy(self)
        renamed._set_names(new_names(names, self._names, self._component_word))
        return renamed


def plural(word: str) -> str:
    """Return "classes" or "states"."""
    return f"{word}es" if word.endswith("s") else f"{word}s"


def read_order(order: Sequence[int], size: int, word: str) -> NDArray[np.int64]:
    """Return the new order of so many components; refuse one that does not name each once."""
    places = np.asarray(order)
    if sorted(places.tolist()) != list(range(size)):
        raise ParameterError(f"order={order!r} does not name each of the {size} {plural(word)} once.")
    return places


def new_names(names: Sequence[Any] | Mapping[Any, Any], present: Sequence[Any], word: str) -> tuple[str, ...]:
    """Return the names that components get; refuse an unknown component, a wrong number of names, and one name twice.

    Parameters
    ----------
    names : list or dict      all names in order, or new names by number or present name
    present : list            the present names
    word : str                what a component is called

    Examples
    --------
    >>> new_names({0: "mild", "class 2": "severe"}, ["class 0", "class 1", "class 2"], "class")
    ('mild', 'class 1', 'severe')
    >>> new_names({7: "mild"}, ["class 0", "class 1"], "class")
    Traceback (most recent call last):
        ...
    halfseen.errors.ParameterError: there is no class 7. Classes: 0 (class 0), 1 (class 1).
    """
    if isinstance(names, str):
        raise ParameterError(f"names={names!r:.80} is a text, not a list of names.")
    if isinstance(names, Mapping):
        found = list(map(str, present))
        for key, name in names.items():
            found[_place(key, present, word)] = str(name).strip()
    else:
        found = [str(name).strip() for name in names]
    if len(found) != len(present):
        raise ParameterError(
            f"{len(found)} names for {len(present)} {plural(word)}: give each of them its own name, in order."
        )
    twice = [name for name in found if found.count(name) > 1]
    if twice or "" in found:
        told = f"{twice[0]!r} would name two" if twice and twice[0] else "an empty name is none"
        raise ParameterError(f"{told}: give each of the {len(present)} {plural(word)} its own name.")
    return tuple(found)


def _place(key: Any, present: Sequence[Any], word: str) -> int:
    """Return which component a key means: a present name, or a number."""
    if key in present:
        return list(present).index(key)
    if str(key) in list(map(str, present)):
        return list(map(str, present)).index(str(key))
    if str(key).isdecimal() and int(key) < len(present):
        return int(key)
    listed = ", ".join(f"{k} ({name})" for k, name in enumerate(present))
    raise ParameterError(f"there is no {word} {key}. {plural(word).capitalize()}: {listed}.")


def matching(overlap: Floats) -> NDArray[np.int64]:
    """Return the order of the rows of `overlap` (K, K) in which they overlap most with columns 0, 1, ..., in sum."""
    from scipy.optimize import linear_sum_assignment

    lowest = overlap[np.isfinite(overlap)].min(initial=0.0) - 1e6
    rows, columns = linear_sum_assignment(np.where(np.isfinite(overlap), overlap, lowest), maximize=True)
    return rows[np.argsort(columns)]
