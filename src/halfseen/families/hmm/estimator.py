"""Hidden Markov models over sequences of mixed columns with missing values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import Cut, Evidence, Source, check_sequence_weight, read, read_labels, rows_of
from halfseen.data.sequence_stream import UnsortedSteps, read_large_sequences
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.errors import ParameterError
from halfseen.estimators import convergence, options, selection
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.estimators.table import covariance_types, emission_builder, numeric_schema
from halfseen.estimators.table.column_events import check_seen, misfit_notes
from halfseen.estimators.table.state import fingerprint
from halfseen.families.hmm.fit import PRIORS, FittedHMM, HMMFit
from halfseen.families.hmm.panel import RawSequences
from halfseen.families.hmm.state import HMMRecipe
from halfseen.families.hmm.time_gaps import skipped_steps
from halfseen.families.hmm.topology import Topology
from halfseen.leaves.categorical import read_table
from halfseen.runners import reading_jobs
from halfseen.runners.sequence_frames import check_lengths, sequences_of
from halfseen.seeds import child

if TYPE_CHECKING:
    from halfseen.families.hmm.lanes import RawElsewhere

Known = Callable[[int], tuple[Evidence | None, tuple[Any, ...] | None]]


@options.with_hints
@dataclass(eq=False, repr=False)
class HMM(HMMFit):
    """Find hidden states in sequences, by expectation-maximization (Baum-Welch, Viterbi training, sampling).

    Behind every step of a sequence is one of K hidden states, and each state depends on the one before.
    Given the state, numbers are jointly normal, categories have their own probabilities, counts are Poisson, and these
    three are independent. Missing values, and missing steps, are summed out exactly, in fitting and in prediction.

        p(z, x) = startprob[z_1] p(x_1 | z_1) prod_t transmat[z_t-1, z_t] p(x_t | z_t)

    Parameters
    ----------
    n_components : int, range, list of int or "auto", default 2
        Number of components (classes, states). Of a range or list (range(1, 7), [2, 3, 5]) the best by `criterion` is
        kept; "auto" adds components, from 1, until the criterion has worsened twice in a row. `selection_` shows all
        that were tried.
    emission : str, default "gaussian"
        Kind of all columns that `columns` does not name: "gaussian", "categorical", "poisson", "negbin", "binomial(10)"
        or a registered kind; or "auto", which finds the kind of each by its values. Then text, True/False and whole
        numbers with at most 12 distinct values are categories, other numbers normal.
    covariance_type : {"full", "tied", "diag", "spherical"} or a list of these, default "full"
        Covariance of numbers within a component. "full": one covariance per component; "tied": one for all components;
        "diag": one variance per component and column; "spherical": one variance per component. Of a list the best by
        `criterion` is kept. Columns that are fixed or tied by name are independent of the others.
    columns : mapping, optional
        Kinds of columns by name, where they are not to be found by the rule: {"visits": "poisson"}.
    transitions : "left-right", (K, K) array or None, default None
        Which states may follow which: True or 1 where they may, or probabilities to begin with, whose zeros stay.
        "left-right": a state stays or goes on to the next, and the first comes first.
    min_dwell : int or list of int, default 1
        Fewest steps of a stay in each state.
    n_mix : int, default 1
        Number of mixture components in the emission of each state.
    criterion : {"bic", "aic", "icl"}, default "bic"
        Information criterion that chooses among several models; lower is better. "icl" is BIC plus twice the
        entropy of the posteriors.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden is
        the path of states: "soft" is Baum-Welch, "hard" Viterbi training, and "sample" draws paths backwards.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    prior : float, "categories", "row" or None, default "categories"
        Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and as
        many pseudo-rows for numbers and counts. "row": one pseudo-row in all. "categories": one pseudo-row in all for
        columns of categories, half of it spread as their values are and half evenly; all else is maximum likelihood.
        None: maximum likelihood. With a number or "row", starts and allowed transitions get pseudo-counts too.
        Pseudo-rows of numbers are about the mean of the state, uncorrelated, with the variances of the columns (inverse
        Wishart, flat in the mean).
    init : {"mixed", "rows", "spread", "parameters", "posteriors", "kmeans"}, default "mixed"
        How random starts are made: see `halfseen.engine.tables.starts`. Starts are made of emissions. Where states have
        an order ("left-right"), every other start cuts each sequence into equal pieces instead.
    start : mapping, optional
        Parameters to start from, by name, any subset. For example {"startprob": [...], "transmat": [[...]], "x":
        {"mean": [...], "sd": [...]}, "color": {"red": [p, q], ...}, "visits": [rate, rate]}, with one number per state
        in each list ("mixture": (K, n_mix), and K * n_mix numbers for columns, with n_mix > 1). "means" and
        "covariances" are those of all numbers at once, in the shapes of `means_` and `covars_`.
    fixed : list of str, optional
        Parameters that keep their start value exactly, by name. Names are those of columns, "startprob", "transmat",
        "means" or "covariances".
    tied : list of str, optional
        Columns with the same parameters in all components.
    n_init : int or "auto", default "auto"
        Number of starts, each run on its own; those that clearly end below the best are dropped. "auto": 16, doubled up
        to 128 until three of them reach the best log-likelihood (within 0.001). After the first 16, half of the starts
        are near the best solution so far: one state of it is drawn anew. They do not count as starts that reached it.
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    method : {"em", "gradient", "lbfgs"}, default "em"
        How the objective is maximised: by EM, by its gradient with an adaptive rate, or by L-BFGS (the last two need
        assign="soft"). All have the same optima.
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    anneal : sequence of float, optional
        Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations at
        each before the fit.
    variance_floor : float or "resolution", default "resolution"
        Smallest variance. "resolution": where the numbers of a column lie on a grid of step h (whole numbers, 0.1),
        h^2 / (2 pi), so that no density exceeds 1 / h; of other columns 1e-8 of their variance. A number: that share of
        the variance of every column. A run that ends on such a share has collapsed onto a few rows: it ranks behind
        every other run, and a warning says so if there is no other.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number. Work is divided by
        sequences.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    startprob_, transmat_ : (K,) and (K, K) arrays
    params_ : dict                   all parameters by name
    means_, emissionprob_, lambdas_ : arrays      the same in the names of hmmlearn, (K, D) or (K, V)
    covars_ : array                  full (K, D, D); tied (D, D); diag (K, D); spherical (K,); with n_mix > 1, `means_`
                                     and `covars_` have an axis for the components after that for the states
    covariance_type_ : str           the type chosen
    occupancy_ : (K,) array          expected share of the steps in each state; largest first, from our own starts
    stationary_ : (K,) array         share of time in each state in the long run
    dwell_ : (K,) array              expected number of steps of a stay
    loglik_ : float                  log-likelihood of all sequences under the returned parameters
    objective_, trace_, n_iter_, converged_, stop_reason_, restarts_, events_, selection_ : as in `LatentClass`
    n_components_ : int
    columns_ : dict                  the kind of each column
    state_names_ : tuple of str

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [[0.1], [0.3], [-0.2], [5.1], [4.8], [None], [5.2], [0.2], [0.0], [-0.1]]
    >>> model = hs.HMM(2, random_state=0).fit(X)
    >>> model.predict(X).tolist()
    [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]
    >>> model.means_.round(2).ravel().tolist()
    [0.05, 5.03]
    """

    n_components: int | Sequence[int] | str = 2
    emission: str = "gaussian"
    _: KW_ONLY
    covariance_type: str | Sequence[str] = "full"
    columns: Mapping[str | int, str] | None = None
    transitions: Any = None
    min_dwell: int | Sequence[int] = 1
    n_mix: int = 1
    criterion: str = "bic"
    assign: str = "soft"
    draws: int = 1
    prior: str | float | None = "categories"
    init: str = "mixed"
    start: Mapping[str, Any] | None = None
    fixed: Collection[str] | None = ()
    tied: Collection[str] | None = ()
    n_init: int | str = "auto"
    stop: str = "gain"
    tol: float = 1e-8
    max_iter: int = 1000
    method: str = "em"
    accelerate: bool = True
    anneal: Sequence[float] = ()
    variance_floor: float | str = "resolution"
    n_jobs: int | None = None
    random_state: Any = None

    _deviations: ClassVar[options.Deviations] = {
        "prior": options.Deviation(
            "keeps unseen categories possible, and leaves all else to the data",
            default="categories",
            type='float, "categories", "row" or None',
            text="Pseudo-counts added to the expected counts. A number: as many for each cell of a table of "
            'probabilities, and as many pseudo-rows for numbers and counts. "row": one pseudo-row in all. '
            '"categories": one pseudo-row in all for columns of categories, half of it spread as their values are and '
            "half evenly; all else is maximum likelihood. None: maximum likelihood.",
            check=partial(options.pseudo_counts, words=PRIORS),
        ),
    }

    @rollback_on_error
    def fit(
        self,
        X: Any,
        lengths: ArrayLike | None = None,
        *,
        groups: Any = None,
        time: Any = None,
        labels: Any = None,
        sample_weight: ArrayLike | None = None,
        classes: Sequence[Any] | None = None,
        unlabeled: Any = None,
    ) -> Self:
        """Fit to sequences.

        Parameters
        ----------
        X : table, list of tables, or 1-D array
            A table (array, pandas, Polars, Arrow, list of rows) is one sequence, or several with `lengths` or `groups`.
            A list of arrays or frames has a sequence in each. NaN, None and nulls are missing; whole steps may be
            missing.
        lengths : sequence of int, optional
            How many rows of the table each sequence has.
        groups, time : str or (N,) array, optional
            Column (or values) with the sequence and the time of a row. Rows are sorted by time; times have no other
            effect, so gaps must be filled with missing steps. Of a Dask or Spark frame the names of columns; each
            partition must have whole sequences.
        labels : optional
            What is known of the states: a label or None for each step, a set of candidates, or an (N, K) array of
            evidence; in a list like X where X is a list. Of a Dask or Spark frame the name of a column.
        sample_weight : (B,) array, optional
            Weight of each sequence. Of a Dask or Spark frame the name of a column.
        classes, unlabeled : optional
            How to read labels, as in `LatentClass`.
        """
        self._check_options()
        sizes = selection.read_sizes(self.n_components)
        shapes = options.some_of("covariance_type", self.covariance_type, options.COVARIANCE_TYPES)
        if len(sizes) > 1 and (self.start or np.ndim(self.min_dwell) or not isinstance(self.transitions, str | None)):
            raise ParameterError(
                "start=, transitions= and a list of min_dwell= need one number of states, n_components: they give a "
                "value for each state."
            )
        if len(shapes) > 1 and "covariances" in (self.start or {}):
            raise ParameterError("start: 'covariances' needs one covariance_type, which defines its shape.")
        if labels is None and (classes is not None or unlabeled is not None):
            raise ParameterError("classes= and unlabeled= apply to labels=; give labels= too.")
        raw, known = self._opened(X, lengths, groups, time, labels, sample_weight, classes, unlabeled)
        self._remember(raw.source, groups, time)
        if isinstance(self.n_components, str):
            sizes = sizes[: raw.n_steps]
        seed = lasting_seed(self.random_state)

        rows: list[Any] = []

        def fitted(shape: str, n_components: int, smaller: FittedHMM | None) -> FittedHMM:
            panel = self._begin(raw, known(n_components)[0])
            rows[:] = [panel.rows]
            own_seed = child(seed, n_components) if len(sizes) > 1 else seed
            return self._fitted(panel, n_components, own_seed, shape)

        best, interrupted = self._select(shapes, sizes, fitted)
        self._publish(best, known(best.n_components)[1])
        self.events_ += misfit_notes(rows[0], self._fitted_blocks())
        if isinstance(raw, RawSequences):
            self.events_ += skipped_steps(raw.cut)
        self._origin = Origin.now(fingerprint(self._schema, best.summary, best.n_rows, raw.mark), seed)
        if interrupted:
            convergence.warn_search_interrupted(self, "before all numbers of states were tried")
        return self

    def _opened(
        self,
        X: Any,
        lengths: Any,
        groups: Any,
        time: Any,
        labels: Any,
        sample_weight: Any,
        classes: Any,
        unlabeled: Any,
    ) -> tuple[RawSequences | RawElsewhere, Known]:
        """Read sequences; return them, and what is known of their states, given the number of these."""
        source = sequences_of(X, groups, time, sample_weight, labels)
        if source is None:
            raw, stacked, kept = self._opened_here(X, lengths, groups, time, labels, sample_weight)

            def known(n_components: int) -> tuple[Evidence | None, tuple[Any, ...] | None]:
                found, names = read_labels(stacked, len(kept), n_components, classes, unlabeled)
                return None if found is None else found.take(kept), names

            return raw, known
        check_lengths(lengths)
        from halfseen.families.hmm.lanes import RawElsewhere

        source.check_whole()
        return RawElsewhere(source), lambda size: read_labels(source.target, source.n_labels, size, classes, unlabeled)

    def _opened_here(
        self, X: Any, lengths: Any, groups: Any, time: Any, labels: Any, sample_weight: Any
    ) -> tuple[RawSequences, Any, Any]:
        """Read sequences without those of weight 0; return them, all labels, and the row of each step in them."""
        source, cut = read_large_sequences(X, lengths, groups, time)
        source.workers = reading_jobs(self.n_jobs)
        weight = check_sequence_weight(sample_weight, len(cut.lengths))
        stacked = cut.stacked(labels)
        if source.streams and cut.names is not None and labels is not None:
            raise ParameterError("labels: the table does not fit into memory, and its rows are sorted. Raise memory=.")
        rows: Any = range(source.n_rows) if labels is None else np.arange(source.n_rows)
        rows = rows if cut.order is None else cut.order
        if weight.all():
            return RawSequences(source, cut, weight, np.arange(len(weight))), stacked, rows
        if isinstance(source, UnsortedSteps):
            raise ParameterError(
                "sample_weight: sequences of weight 0 in a file that does not fit into memory, and is not sorted by "
                "sequence. Leave them out of the file, or raise memory=."
            )
        used = np.flatnonzero(weight)
        steps = rows_of(cut.lengths, used)
        names = None if cut.names is None else tuple(cut.names[b] for b in used)
        times = None if cut.times is None else cut.times[steps]
        part = Cut(cut.lengths[used], listed=cut.listed, names=names, times=times)
        return RawSequences(source.take(steps), part, weight[used], used), stacked, np.asarray(rows)[steps]

    def _remember(self, source: Source, groups: Any, time: Any) -> None:
        """Keep what later calls need: columns, never rows."""
        self.__dict__.pop("_stats", None)
        self._template = source.template()
        self._schema = self._learn_schema(source)
        check_seen(self._schema)
        self._marks = (groups if isinstance(groups, str) else None, time if isinstance(time, str) else None)
        self.columns_ = self._schema.kind_names
        self._remember_features(source)

    @classmethod
    def from_params(
        cls,
        startprob: Sequence[float],
        transmat: Sequence[Sequence[float]],
        columns: Mapping[str, Any] | None = None,
        *,
        means: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        covariance_type: str = "full",
    ) -> Self:
        """Build a model without data.

        Parameters
        ----------
        startprob : (K,) probabilities of the states at the first step
        transmat : (K, K) probabilities, row i: probabilities of the state after state i
        columns : mapping from a column's name to its parameters
            {category: (K,) probabilities} for categories, {"mean": (K,), "sd": (K,)} (or "var") for numbers,
            {"rate": (K,)} for counts.
        means : (K, D) array, optional          numbers, as columns "x0", "x1", ... before those in `columns`
        covariances : array, optional           of these numbers, in the shape of `covars_` for `covariance_type`
        covariance_type : {"full", "tied", "diag", "spherical"}

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params(
        ...     startprob=[0.6, 0.4],
        ...     transmat=[[0.7, 0.3], [0.4, 0.6]],
        ...     columns={"day": {"walk": [0.1, 0.6], "shop": [0.4, 0.3], "clean": [0.5, 0.1]}},
        ... )
        >>> found = model.decode([["walk"], ["shop"], ["clean"]])
        >>> found.states.tolist(), np.exp(found.log_probability).round(5).tolist()
        ([1, 0, 0], [0.01344])

        Numbers that vary together, by means and covariances:

        >>> pair = hs.HMM.from_params(
        ...     [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], means=[[0, 0], [2, 2]], covariances=[[[1, 0.8], [0.8, 1]]] * 2
        ... )
        >>> pair.covars_.shape
        (2, 2, 2)
        """
        size = len(startprob)
        columns = dict(options.mapping("columns", columns))
        together: dict[str, Any] = {}
        if means is not None or covariances is not None:
            columns, together = _with_numbers(columns, means, covariances, covariance_type, size)
        shape = covariance_type if together else "diag"
        model = cls(size, "auto", covariance_type=shape)
        model._covariance = shape
        model._topology = Topology.read(None, size)
        model._schema = emission_builder.read_columns(columns)
        model._recipe = HMMRecipe.of(model, emission_builder.unit_summary(model._schema))
        model._model = model._build(model._recipe.summary, model._topology)
        start = read_table(startprob, (size,), "startprob")
        trans = read_table(transmat, (size, size), "transmat")
        begin, follow = model._topology.expanded(start, trans)
        blank = {**model._model.blank(), "start": begin, "trans": follow}
        emit = emission_builder.overlay({"mix": None, "emit": blank["emit"]}, columns, model._schema, size)["emit"]
        model._params = {**blank, "emit": covariance_types.place(emit, together, shape, (size, 1))}
        model._template = read(np.zeros((1, len(columns))))
        model._marks = (None, None)
        model._set_names((None,) * size)
        model.columns_ = model._schema.kind_names
        model.n_features_in_ = len(columns)
        model.n_components_ = size
        return model


def _with_numbers(
    columns: dict[str, Any], means: Any, covariances: Any, covariance_type: str, size: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns with those of `means` before them, and means and covariances as `joint.place` takes them."""
    if means is None or covariances is None:
        raise ParameterError("means= and covariances= must be given together.")
    options.one_of("covariance_type", covariance_type, options.COVARIANCE_TYPES)
    width = np.shape(means)[-1] if np.ndim(means) == 2 else 1
    centres = numeric_schema.read_array("means", means, [(size, width)])
    given = numeric_schema.read_covariances("covariances", covariances, covariance_type, size, width)
    own = {f"x{d}": {"mean": centres[:, d], "var": given[:, d, d]} for d in range(width)}
    for name, column in columns.items():
        if name in own or emission_builder.kind_of(name, column).any_number:
            raise ParameterError(
                f"columns[{name!r}]: with means= and covariances= all numbers are given, as columns "
                f"{', '.join(map(repr, own))}; columns= is for other columns."
            )
    return {**own, **columns}, {"means": centres, "covariances": covariances}
