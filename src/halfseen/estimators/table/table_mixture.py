"""What every fitted mixture over a table can do: posteriors, scores, samples, imputation, criteria, relabelling.

All of it comes from the model and the structures that training uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import entr
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from halfseen.assign import SOFT
from halfseen.data import Chunk, Evidence, FastEncodingFailed, Schema, Source, Table, read, read_labels, row_weight
from halfseen.data.counts import SparseSource, joined
from halfseen.data.survey_weights import effective
from halfseen.engine.loop.model import Chunk as AnyChunk
from halfseen.engine.loop.model import Reduced, weighted_sum
from halfseen.engine.tables.fused import FusedMixture
from halfseen.engine.tables.fused_text import FusedText
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ImpossibleRowWarning, ParameterError, warn
from halfseen.estimators import convergence, options
from halfseen.estimators.base import InformationCriteria, NamedComponents
from halfseen.estimators.by_partition import by_partition, summed
from halfseen.estimators.named_parameters import (
    SHARE,
    DrawnRow,
    NamedParameters,
    Row,
    by_component,
    correlations,
    drawn_columns,
    rows_of_columns,
)
from halfseen.estimators.observed import Observed, observed_rows
from halfseen.estimators.publication import Tabulated
from halfseen.estimators.resampled import Resampled
from halfseen.estimators.selection import bic, relative_entropy
from halfseen.estimators.table import html_repr, profile, why
from halfseen.estimators.table.cells import decoded, filled_cells
from halfseen.estimators.table.components import Components
from halfseen.estimators.table.emission_builder import Recipe
from halfseen.estimators.table.resampled_rows import resampled_rows
from halfseen.kinds.text import telling_words
from halfseen.leaves.categorical import draw
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.leaves.logit import BLOCK
from halfseen.runners import reading_jobs, runner
from halfseen.runners.frames import is_elsewhere
from halfseen.structures.structure import Inference
from halfseen.sums import Parts, Runner, serial

Result = TypeVar("Result")

MANY = 2000  # rows from which the fused path is worth its preparation


class TableMixture(Tabulated, InformationCriteria, NamedComponents):
    """A mixture over a table, once it has a model, parameters and a schema."""

    _recipe: Recipe
    _model: Mixture
    _params: Params
    _schema: Schema
    _template: Source
    _n_rows: float
    _components_called: ClassVar[str] = "classes"  # in plots of the fit
    _drawn_labels: ClassVar[tuple[str, str, str]] = ("column", "value", "class")  # columns that name a parameter
    _without_data: bool = False  # built from parameters
    weight_kind: str = "frequency"  # of models that do not offer a choice
    _takes_text: bool = False  # and sparse matrices of counts
    _given: Given | None = None  # covariates of the rows that are read next
    _entropy: float
    _stats: Stats
    loglik_: float
    class_names_: tuple[str, ...]

    # ---- what is in it -------------------------------------------------------------------------------------------

    @property
    def weights_(self) -> Floats:
        """Shares of the components, (K,); with covariates the mean over the rows of the fit."""
        check_is_fitted(self)
        return self._params["mix"][0] if self._given is None else self._given.shares

    @property
    def params_(self) -> dict[str, Any]:
        """All parameters by name, in the form that `start=` and `from_params` take.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params([0.3, 0.7], {"size": {"mean": [1, 5], "sd": [1, 2]}})
        >>> {name: value.tolist() for name, value in model.params_["size"].items()}
        {'mean': [1.0, 5.0], 'sd': [1.0, 2.0]}
        """
        check_is_fitted(self)
        return {"weights": self.weights_, **profile.parameters(profile.profiles(self))}

    def to_frame(self) -> Any:
        """Return all parameters as a table: a row per category, mean, sd or rate; a column per class."""
        check_is_fitted(self)
        return profile.to_frame(self)

    def _named_parameters(self) -> NamedParameters:
        """Return all parameters, one by one."""
        shares = Row("(share)", "", self.weights_, SHARE)
        rows = [shares, *rows_of_columns(profile.profiles(self)), *correlations(profile.fitted_blocks(self))]
        return by_component(rows, self.class_names_, "class")

    def _drawn_rows(self, params: Params) -> list[DrawnRow]:
        """Return draws of the parameters by name."""
        shares = DrawnRow("(share)", "", params["mix"][..., 0, :], self.class_names_)
        return [shares, *drawn_columns(self._schema, params["emit"], self.class_names_)]

    @property
    def _identified(self) -> bool:
        return bool(getattr(self, "fixed", ())) or self._recipe.names_components

    def _observed(
        self, X: Any, sample_weight: ArrayLike | None = None, labels: Any = None, apart: bool = False
    ) -> Observed:
        """Return a table as inference reads it; `apart` with equal rows each in its place."""
        check_is_fitted(self)
        source = self._read(X, reset=False)
        table = self._schema.encode(source, self._weight_of(source, sample_weight))
        table = table if self._given is None else with_covariates(table, self._given.matrix)
        labels = source.target if labels is None else labels
        evidence, _ = read_labels(labels, table.n_rows, len(self.weights_), getattr(self, "classes_", None))
        return observed_rows(self._model, replace(table, evidence=evidence), apart)

    def _resampled(self, X: Any, sample_weight: ArrayLike | None = None, labels: Any = None) -> Resampled:
        """Return a table as the bootstrap reads it."""
        self._check_probable("bootstrap")
        source = self._read(X, reset=False)
        table = self._schema.encode(source, sample_weight)
        evidence = self._known_components(source.target if labels is None else labels, table.n_rows)
        unlabelled = float(getattr(self, "unlabeled_weight_", 1.0))
        rows = replace(table, evidence=evidence)
        return resampled_rows(self, self._recipe, rows, self._params, unlabelled, self._identified)

    def _known_components(self, labels: Any, n_rows: int) -> Evidence | None:
        """Return labels as evidence of the components."""
        return read_labels(labels, n_rows, len(self.weights_))[0]

    def describe(self, top: int = 3) -> str:
        """Return the classes in words: share, and the `top` columns that set each apart most.

        Examples
        --------
        >>> import halfseen as hs
        >>> X = [["red", 1]] * 6 + [["blue", 0]] * 3
        >>> print(hs.LatentClass(2, random_state=0).fit(X).describe(top=1))
        class 0 (65%): x0 = red in 97% (all 66%)
        class 1 (35%): x0 = blue in 90% (all 34%)
        """
        check_is_fitted(self)
        return convergence.described(self, profile.describe(self, options.whole("top", top)))

    # ---- rows in, answers out ------------------------------------------------------------------------------------

    @by_partition("class")
    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior probability of each class for each row, (N, K)."""
        return np.concatenate(self._over(X, lambda table: self._posteriors(table, lambda resp: resp)))

    @by_partition("class")
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable class of each row; the lowest index among equals."""
        return self._over(X, lambda table: self._most_probable(table, np.arange(len(self.weights_))))

    def _most_probable(self, table: Table, names: NDArray[Any]) -> NDArray[Any]:
        """Return the name of the most probable component of each row; the first among equals."""
        fused: Any = FusedText.find(self._model)
        if fused is None and table.n_rows > MANY:
            fused = FusedMixture.find(self._model)
        if fused is None:
            return names[np.concatenate(self._posteriors(table, lambda resp: resp.argmax(axis=1)))]
        prepared = fused.prepare_best(self._params)
        likely = self.weights_.argmax()
        out = np.empty(table.n_rows, names.dtype)

        def task(piece: tuple[Chunk, NDArray[Any]]) -> int:
            chunk, own = piece
            best = fused.best(prepared, chunk)
            impossible = best < 0
            if impossible.any():
                chunk.check_finite()
                best[impossible] = likely
            names.take(best, out=own, mode="clip")  # the other modes would copy
            return int(np.count_nonzero(impossible))

        chunks = table.chunks(light=True)
        pieces = list(zip(chunks, np.split(out, np.cumsum([chunk.n_rows for chunk in chunks])), strict=False))
        with runner(self.n_jobs, len(pieces)) as run:
            self._warn_impossible(sum(run(task, pieces)))
        return out

    def _posteriors(self, table: Table, use: Callable[[Floats], Any]) -> list[Any]:
        """Return what `use` makes of the (n, K) posteriors of each chunk."""
        found = self._infer(table, lambda part: (use(part.usage["emit"]), int(np.isneginf(part.log_evidence).sum())))
        self._warn_impossible(sum(impossible for _, impossible in found))
        return [used for used, _ in found]

    @by_partition("loglik")
    def score_samples(self, X: Any) -> Floats:
        """Return log p(observed cells) of each row; 0 for a row in which nothing was observed."""
        self._check_probable("score_samples")
        return self._over(X, self._logliks)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood per row."""
        if is_elsewhere(X):
            self._check_probable("score")
            *_, mass = sums = summed(self, "_sums", X, sample_weight)
            return float(sums[0] / mass)

        def mean(table: Table) -> float:
            return weighted_sum(table.weight, self._logliks(table)) / float(table.weight.sum())

        return self._over(X, mean, sample_weight)

    def _logliks(self, table: Table) -> Floats:
        return np.concatenate(self._infer(table, lambda found: found.log_evidence[:, 0]))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[np.int64]]:
        """Draw rows from the model.

        Returns
        -------
        X : container like the one fitted
        labels : (n_samples,) array    the class of each row
        """
        self._check_probable("sample")
        options.whole("n_samples", n_samples)
        rng = self._generator(random_state)
        labels = self._model.draw_components(self._params, np.zeros(n_samples, dtype=np.int64), rng)
        blocks = self._model.leaves["emit"].sample(self._params["emit"], labels, rng)
        return self._template.like(self._decoded(blocks)), labels

    @by_partition("")
    def impute(self, X: Any, draw: bool = False, random_state: Any = None) -> Any:
        """Fill the missing values of `X` from the observed values of the same row.

        Parameters
        ----------
        X : table
        draw : bool
            False: numbers get their expected value, categories the most probable one. True: a random draw from the
            model given the row, so that variation and relations between columns are kept.
        random_state : seed of the draws; by default the estimator's

        Returns
        -------
        The same container, columns and dtypes; observed cells are untouched.
        """
        check_is_fitted(self)
        source = self._read(X, reset=False)
        rng = self._generator(random_state) if draw else None
        table = self._encode(source)
        pairs = zip(table.chunks(), self._posteriors(table, lambda resp: resp), strict=True)
        parts = [self._filled(chunk, resp, rng) for chunk, resp in pairs]
        full = {name: joined([part[name] for part in parts]) for name in parts[0]}
        return source.fill({j: (rows, values) for j, rows, values in filled_cells(source, self._schema, full)})

    def _filled(self, chunk: Chunk, resp: Floats, rng: np.random.Generator | None) -> Any:
        if rng is not None:
            resp = np.eye(resp.shape[1])[draw(resp, rng)]
        return self._model.leaves["emit"].impute(self._params["emit"], chunk.blocks, resp, rng)

    def why(self, X: Any, against: Any = None, names: Sequence[str] | None = None) -> why.Why:
        """Explain the class of one row: what each column, and of text each word, adds to the log-odds of its class.

        Parameters
        ----------
        X : table with one row
        against : name of a class, optional
            The class to compare with; the second most probable by default.
        names : sequence of str, optional
            The words of a sparse matrix, such as `CountVectorizer.get_feature_names_out()`.

        Returns
        -------
        Why
            Prints as a sentence for each column; `contributions` and `words` have the numbers.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.3], "b": [0.1, 0.7]}})
        >>> print(model.why([["a"]]))
        class 0 (75%) rather than class 1 (25%): log-odds +1.10
          +1.10  x = a  3.0 times as probable in class 0
        """
        check_is_fitted(self)
        self._check_marginal("why")
        return why.why(self, self._encode(X), against, names)

    def unknown_words(self, X: Any) -> dict[str, int]:
        """Return the words of `X` that were not seen when fitting, most frequent first; every use ignores them.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.NaiveBayes(columns={"x0": "text"}).fit([["a cat"], ["a dog"]], [0, 1])
        >>> model.unknown_words([["the cat, the mouse"]])
        {'the': 2, 'mouse': 1}
        """
        check_is_fitted(self)
        source = self._read(X, reset=False)
        unknown: Counter[str] = Counter()
        for block in self._schema.each_block():
            unknown += block.kind.unknown_words(source, block)
        return dict(unknown.most_common())

    def top_words(self, n: int = 10, names: Sequence[str] | None = None) -> dict[str, list[str]]:
        """Return for each class the words that set it apart most from the whole, over all columns of text.

        Parameters
        ----------
        n : int
        names : sequence of str, optional
            The words of a sparse matrix, such as `CountVectorizer.get_feature_names_out()`.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.NaiveBayes(columns={"x0": "text"}).fit([["a cat sat"], ["a dog ran"]], ["c", "d"])
        >>> model.top_words(2)
        {'c': ['cat', 'sat'], 'd': ['dog', 'ran']}
        """
        check_is_fitted(self)
        texts = [column for column in profile.profiles(self) if column.kind.of_words]
        if not texts:
            raise ParameterError("top_words: the model has no column of text.")
        found: dict[str, list[str]] = {}
        for k, name in enumerate(self.class_names_):
            found[name] = [
                str(column.rows[v] if names is None else names[column.rows[v]])
                for column in texts
                for v in telling_words(column, k, options.whole("n", n))
            ]
        return found

    # ---- how good, how sure --------------------------------------------------------------------------------------

    def icl(self, X: Any = None) -> float:
        """Return the integrated completed likelihood: BIC with a charge for classes that overlap; lower is better.

        It is bic + 2 EN with EN = -sum resp log resp, the entropy of the posteriors (responsibilities). mclust and some
        others charge -2 sum log of the largest responsibility of each row, which is less: their figures differ.
        """
        loglik, uncertain, n_rows = self._with_entropy(X)
        return bic(loglik, self.n_parameters_, n_rows) + 2 * uncertain

    def entropy(self, X: Any = None) -> float:
        """Return the relative entropy 1 - EN / (N log K): 1 when every row is sure of its class, 0 when none is.

        Of the rows with any observed cell or label, as in `bic` and `icl`.
        """
        _, uncertain, n_rows = self._with_entropy(X)
        return relative_entropy(uncertain, n_rows, len(self.weights_))

    def _measured(self, X: Any, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
        self._check_measured(X)
        if X is None:
            return self.loglik_, self._n_rows
        if is_elsewhere(X):
            loglik, _, n_rows, _ = summed(self, "_sums", X, sample_weight)
            return loglik, n_rows
        table = self._encode(X, sample_weight)
        return weighted_sum(table.weight, self._logliks(table)), table.n_observed

    def _sums(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Parts:
        """Return log-likelihood, classification entropy, and the weights of rows with any observed cell and of all."""
        table = self._encode(X, sample_weight)
        return Parts((*measure(self._model, self._params, Reduced(table.seen().chunks())), table.mass))

    def _check_measured(self, X: Any) -> None:
        """Refuse criteria of a rule, or of training data that are not known."""
        self._check_probable("bic, sabic, aic, icl or entropy")
        if X is None and self._n_rows == 0:
            raise ParameterError(
                "this model was built without data, or in pieces; give the data to measure it on, as X."
            )

    def _with_entropy(self, X: Any) -> tuple[float, float, float]:
        """Return loglik, classification entropy EN and N, of `X` or of the training data."""
        self._check_measured(X)
        if X is None:
            return self.loglik_, self._entropy, self._n_rows
        if is_elsewhere(X):
            loglik, uncertain, n_rows, _ = summed(self, "_sums", X)
            return loglik, uncertain, n_rows
        return measure(self._model, self._params, Reduced(self._encode(X).seen().chunks()))

    def _reorder(self, places: NDArray[np.int64]) -> None:
        self._params = self._model.relabel(self._params, places)
        if hasattr(self, "_stats"):
            self._stats = self._model.reorder(self._stats, places)

    def _components(self) -> Components:
        """Return what a comparison with another model asks for."""
        return Components(self.class_names_, self.weights_, self._model, self._params, profile.profiles(self))

    # ---- reading and inference -----------------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> Source:
        """Read a table, and remember or check what scikit-learn wants to know of it."""
        source = read(X, counts=self._takes_text)
        source.workers = reading_jobs(self.n_jobs)
        if not reset and hasattr(self, "_schema") and self._schema.is_sparse and source.numbers() is not None:
            source = SparseSource(sparse.csr_array(source.numbers()))  # the same counts, zeros and all
        face = source.for_sklearn(X)
        if not reset and self._without_data:  # the schema checks names, if there are any
            face = np.empty((1, len(source.names)))
        self._check_features(source, reset)
        validate_data(self, face, reset=reset, skip_check_array=True)
        return self._worded(source) if reset else source

    def _conditional(self, X: Any, covariates: Any, what: str, missing: str = "error") -> tuple[Self, Any]:
        """Return the model for rows with these covariates, and the rows without them; few models take any."""
        if covariates is not None:
            raise ParameterError(f"{what}: a {type(self).__name__} takes no covariates.")
        return self, X

    def _worded(self, source: Source) -> Source:
        """Return a table to be fitted to with its text cut into words."""
        return source

    def _encode(self, X: Any, weight: ArrayLike | None = None) -> Table:
        check_is_fitted(self)
        source = self._read(X, reset=False)
        table = self._schema.encode(source, self._weight_of(source, weight))
        return table if self._given is None else with_covariates(table, self._given.matrix)

    def _weight_of(self, source: Source, weight: ArrayLike | None) -> ArrayLike | None:
        """Return the weights of rows as they count: survey weights sum to the effective number of rows."""
        return weight if self.weight_kind == "frequency" else effective(row_weight(source, weight))

    def _over(self, X: Any, use: Callable[[Table], Result], weight: ArrayLike | None = None) -> Result:
        """Return what `use` makes of a table in one pass over its chunks."""
        check_is_fitted(self)
        if self._given is not None:
            return use(self._encode(X, weight))
        return in_one_pass(use, self._schema, self._read(X, reset=False), weight)

    def _decoded(self, blocks: Mapping[str, Any]) -> list[Any]:
        """Return blocks as columns of values in the order of the table."""
        return decoded(self._schema, blocks)

    def _infer(self, table: Table, use: Callable[[Inference], Any]) -> list[Any]:
        """Infer chunk by chunk and keep what `use` makes of it.

        A row that is impossible under every class falls back on the shares of the classes.
        """
        fused = FusedMixture.find(self._model) if table.n_rows > MANY else None
        prepared = (fused or self._model).prepare(self._params)

        def task(chunk: Chunk) -> Any:
            if fused is not None:
                found = fused.infer(prepared, chunk)
            else:
                found = self._model.infer(prepared, chunk.blocks, np.ones((chunk.n_rows, 1)), SOFT)
            if not np.isfinite(found.log_evidence).all():
                chunk.check_finite()
                found.usage["emit"][np.isneginf(found.log_evidence[:, 0])] = self.weights_
            return use(found)

        chunks = table.chunks()
        with runner(self.n_jobs, len(chunks)) as run:
            return list(run(task, chunks))

    def _class_joint(self, table: Table) -> tuple[tuple[str, ...], Floats]:
        """Return the names of the classes and log p(observed cells, class) of each row, (N, C)."""
        prepared = self._model.prepare(self._params)
        joints = [self._model.joint(prepared, chunk.blocks) for chunk in table.chunks()]
        return self._by_class_joint(np.concatenate(joints))

    def _by_class(self, by_component: Floats) -> Floats:
        """Sum over the components of each class, along the last axis; here every component is a class."""
        return by_component

    def _by_class_joint(self, joint: Floats) -> tuple[tuple[str, ...], Floats]:
        """Return the names of the classes and log p(row, class), (N, C), given that of the components."""
        return self.class_names_, joint

    def _check_probable(self, what: str) -> None:
        """Refuse what needs the probability of a row from a rule that has none."""
        check_is_fitted(self)
        if self._schema.rule:
            raise ParameterError(
                f"{self._schema.rule} is a rule, no probability model: there is no {what}. Use text='multinomial'."
            )

    def _check_marginal(self, what: str) -> None:
        """Refuse what does not know covariates, for a model that was fitted with some."""

    def _warn_impossible(self, impossible: int) -> None:
        if impossible:
            warn(
                f"{impossible} rows are impossible under every class; they get the classes' overall shares. "
                "Fit with a prior to leave no probability at zero.",
                ImpossibleRowWarning,
            )

    # ---- in a notebook -------------------------------------------------------------------------------------------

    def _repr_html_inner(self) -> str:
        """Return a card of the classes; before the fit, the diagram of scikit-learn."""
        if hasattr(self, "class_names_"):
            return html_repr.card(self)
        diagram: str = super()._repr_html_inner()
        return diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = False
        tags.input_tags.sparse = self._takes_text
        return tags


class Given(NamedTuple):
    """Covariates of some rows: the matrix of a design, and the mean shares of the classes in the fit.

    `lacking` are the rows with a missing covariate, if these are to be left out.
    """

    matrix: Floats
    shares: Floats
    lacking: NDArray[np.bool_] | None = None


def with_covariates(table: Table, matrix: Floats) -> Table:
    """Return a table with covariates, which mixing weights depend on, as one more block."""
    return replace(table, blocks={**table.blocks, BLOCK: matrix})


def in_one_pass(
    use: Callable[[Table], Result],
    schema: Schema,
    source: Source,
    weight: ArrayLike | None = None,
    evidence: Evidence | None = None,
) -> Result:
    """Return what `use` makes of a table in one pass over its chunks, which are encoded on the way.

    Where a cell needs an error or a warning, the table is encoded first, and `use` begins again.
    """
    try:
        return use(schema.encode(source, weight, evidence, once=True))
    except FastEncodingFailed:
        pass
    return use(schema.encode(source, weight, evidence))


def measure(model: Mixture, params: Params, data: Reduced, run: Runner = serial) -> Measured:
    """Return log-likelihood, classification entropy -sum resp log resp, and number of rows, all weighted."""
    if not data.chunks:
        return Measured(0.0, 0.0, 0.0)
    return Measured(*data.total(partial(_measured, model=model, prepared=model.prepare(params)), run))


class Measured(NamedTuple):
    """How a mixture describes some rows."""

    loglik: float
    entropy: float
    n_rows: float


def _measured(chunk: AnyChunk, model: Mixture, prepared: Any) -> Parts:
    found = model.infer(prepared, chunk.blocks, np.ones((len(chunk.weight), 1)), SOFT, chunk.log_evidence)
    uncertain = float(chunk.weight @ entr(found.usage["emit"]).sum(axis=1))
    return Parts((weighted_sum(chunk.weight, found.log_evidence[:, 0]), uncertain, float(chunk.weight.sum())))
