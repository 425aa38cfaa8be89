"""What every fitted hidden Markov model can do: paths, posteriors, forecasts, scores, samples, criteria, relabelling.

All of it comes from the model and the structure that training uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.assign import SOFT
from halfseen.data import Cut, Schema, SequenceChunk, Sequences, Source, frame_from_dict, read_sequences
from halfseen.data.sequences import column_names, fill_sequences
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import AbsentError, DataError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.base import InformationCriteria, NamedComponents, SelectsModels
from halfseen.estimators.by_partition import by_sequence
from halfseen.estimators.named_parameters import (
    SHARE,
    DrawnRow,
    NamedParameters,
    Row,
    by_component,
    correlations,
    rows_of_columns,
)
from halfseen.estimators.observed import Observed, observed_units
from halfseen.estimators.publication import Tabulated
from halfseen.estimators.resampled import Resampled
from halfseen.estimators.selection import aic, bic, sabic
from halfseen.estimators.table import covariance_types, numeric_schema, profile
from halfseen.estimators.table.cells import decoded, filled_cells
from halfseen.estimators.table.scatter import Scatter, ellipses, levels_of, places, separations
from halfseen.families.hmm import draws
from halfseen.families.hmm.comparison import States, states_of
from halfseen.families.hmm.forecast import Forecast, times_ahead
from halfseen.families.hmm.imputation_check import SequenceCells
from halfseen.families.hmm.impute import full_blocks
from halfseen.families.hmm.model import HiddenMarkov, entropy_inside, path_entropy, reduce_sequences
from halfseen.families.hmm.topology import Topology
from halfseen.kinds.records import Contrast, Fitted
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.runners.frames import is_held
from halfseen.runners.sequence_frames import check_lengths, summed
from halfseen.structures.chain import MarkovChain
from halfseen.sums import Parts

UNITS = ("steps", "sequences")  # what N in BIC may count


class Decoded(NamedTuple):
    """The best path, and how probable it is.

    Attributes
    ----------
    states : (N,) array, or a list of arrays where sequences came in a list
    log_probability : (B,) array      of each sequence's path together with what was observed
    """

    states: Any
    log_probability: Floats


class HMMMethods(Tabulated, SelectsModels, InformationCriteria, NamedComponents):
    """A hidden Markov model, once it has a model, parameters and a schema."""

    _component_word = "state"
    _paper_name = "hidden Markov model"
    _drawn_labels = ("column", "value", "state")
    _names_attribute = "state_names_"
    _components_called: ClassVar[str] = "states"  # in plots of the fit
    _model: HiddenMarkov
    _params: Params
    _schema: Schema
    _template: Source
    _topology: Topology
    _stats: Stats
    _n_steps: float
    _n_sequences: float
    _marks: tuple[Any, Any]
    _uncertain: float
    _covariance: str
    loglik_: float
    state_names_: tuple[str, ...]
    n_components_: int

    # ---- what is in it -------------------------------------------------------------------------------------------

    @property
    def startprob_(self) -> Floats:
        """Probability of each state at the first step, (K,)."""
        return self._chain()[0]

    @property
    def transmat_(self) -> Floats:
        """Probability that state j follows state i, (K, K); with `min_dwell`, once a stay may end."""
        return self._chain()[1]

    def _chain(self) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        return self._topology.compressed(self._params["start"], self._params["trans"])

    @property
    def occupancy_(self) -> Floats:
        """Expected share of the steps spent in each state, (K,); of a model built without data, in the long run."""
        check_is_fitted(self)
        if not hasattr(self, "_stats"):
            return self.stationary_
        parts = self._model.view(self._stats)
        steps = self._topology.occupancy(parts["start"], parts["trans"])
        return steps / steps.sum()

    @property
    def stationary_(self) -> Floats:
        """Share of time in each state in the long run, (K,).

        Where several sets of states hold what enters them, the run begins at `startprob_`.
        """
        check_is_fitted(self)
        return self._topology.joined(_long_run(self._params["start"][0], self._params["trans"])[None])[0]

    @property
    def dwell_(self) -> Floats:
        """Expected number of steps of a stay in each state, (K,); infinite where it is never left."""
        check_is_fitted(self)
        trans, found = self._params["trans"], []
        for first, last in zip(self._topology.firsts, self._topology.lasts, strict=True):
            stay = trans[last, last]
            found.append(float(last - first) + (np.inf if stay >= 1 else 1 / (1 - stay)))
        return np.array(found)

    @property
    def params_(self) -> dict[str, Any]:
        """All parameters by name, in the form that `start=` takes.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
        >>> sorted(model.params_)
        ['startprob', 'transmat', 'x']
        """
        check_is_fitted(self)
        columns = profile.parameters(profile.profiles_of(self._fitted_blocks()))
        found: dict[str, Any] = {"startprob": self.startprob_, "transmat": self.transmat_, **columns}
        block = self._emissions.get(numeric_schema.BLOCK)
        if hasattr(block, "cov") and "covariances" in covariance_types.names(self._schema):
            found["covariances"] = covariance_types.covariances(block, self._covariance, self._n_inside)
        return found if self._inside is None else {**found, "mixture": self._inside}

    @property
    def _inside(self) -> Floats | None:
        """Weights of the components inside each state, (K, M); None where a state has one."""
        return self._params["emit"].get("mix")

    @property
    def _n_inside(self) -> int:
        """Components of the emission of a state, M."""
        return 1 if self._inside is None else int(self._inside.shape[1])

    @property
    def _emissions(self) -> dict[str, Any]:
        """Parameters of the emissions by block, a component for each of every state's."""
        emit: dict[str, Any] = self._params["emit"]
        return emit if self._inside is None else emit["emit"]

    @property
    def _component_shares(self) -> Floats:
        """Expected share of the steps of every component of the emissions."""
        share = self.occupancy_
        return share if self._inside is None else (share[:, None] * self._inside).ravel()

    @property
    def _component_names(self) -> tuple[str, ...]:
        if self._inside is None:
            return self.state_names_
        return tuple(f"{name}.{m}" for name in self.state_names_ for m in range(self._n_inside))

    def _fitted_blocks(self) -> Iterator[Fitted]:
        """Yield the blocks of columns, the emissions taken as a mixture over all steps."""
        emit = self._model.leaves["emit"]
        stats = self._model.view(self._stats)["emit"] if hasattr(self, "_stats") else None
        if self._inside is None:
            return profile.blocks_of(self._schema, emit, self._emissions, self._component_shares, stats)
        assert isinstance(emit, Mixture)
        stats = None if stats is None else emit.view(stats)["emit"]
        return profile.blocks_of(self._schema, emit.leaves["emit"], self._emissions, self._component_shares, stats)

    def _block(self, kind: str) -> tuple[str, Any]:
        """Return the one block of columns of a kind and its parameters, for the names that hmmlearn uses."""
        check_is_fitted(self)
        found = [block.name for block in self._schema.each_block() if block.kind.name == kind]
        if len(found) != 1:
            raise AttributeError(f"this model has no single block of {kind} columns; see params_.")
        return found[0], self._emissions[found[0]]

    @property
    def covariance_type_(self) -> str:
        """The shape of the covariances, chosen from those in `covariance_type`."""
        check_is_fitted(self)
        return self._covariance

    @property
    def means_(self) -> Floats:
        """Means of numeric columns, (K, D); (K, M, D) of states with M components each."""
        return covariance_types.means(self._block("gaussian")[1], self._n_inside)

    @property
    def covars_(self) -> Floats:
        """Covariances of numeric columns: full (K, D, D), tied (D, D), diag (K, D), spherical (K,).

        Of states with M components each there is an M after K. Columns that are fixed or tied one by one are "diag".
        """
        name, block = self._block("gaussian")
        shape = self._covariance if name == numeric_schema.BLOCK else "diag"
        return covariance_types.covariances(block, shape, self._n_inside)

    @property
    def emissionprob_(self) -> Floats:
        """Probabilities of categories, (K, V), columns one after the other."""
        return self._block("categorical")[1]

    @property
    def lambdas_(self) -> Floats:
        """Rates of counts, (K, D)."""
        return self._block("poisson")[1]

    def to_frame(self) -> Any:
        """Return the parameters as a table: starts, transitions, and a row per category, mean, sd or rate.

        How numbers vary together is in `covars_`.
        """
        check_is_fitted(self)
        inside = self._n_inside
        rows: list[tuple[str, str, str, Floats]] = [("(share)", "share", "", self.occupancy_)]
        rows.append(("(start)", "start", "", self.startprob_))
        rows += [
            ("(next)", "transition", f"to {name}", column)
            for name, column in zip(self.state_names_, self.transmat_.T, strict=True)
        ]
        spread = [(*row[:3], np.repeat(row[3], inside)) for row in rows]
        for column in profile.profiles_of(self._fitted_blocks()):
            named = zip(column.rows, column.values, strict=True)
            spread += [(column.name, column.kind.name, str(row), values) for row, values in named]
        table: dict[str, list[Any]] = {
            "column": [row[0] for row in spread],
            "kind": [row[1] for row in spread],
            "value": [row[2] for row in spread],
        }
        numbers = np.array([row[3] for row in spread])
        return frame_from_dict(
            {**table, **dict(zip(self._component_names, numbers.T.tolist(), strict=True))}, self._template
        )

    def _named_parameters(self) -> NamedParameters:
        """Return starts, transitions and emissions, one by one."""
        chain = by_component(
            [
                Row("(start)", "", self.startprob_, SHARE),
                *(
                    Row("(next)", f"to {name}", column, SHARE)
                    for name, column in zip(self.state_names_, self.transmat_.T, strict=True)
                ),
            ],
            self.state_names_,
            "state",
        )
        columns = profile.profiles_of(self._fitted_blocks())
        rows = [*rows_of_columns(columns), *correlations(self._fitted_blocks())]
        if self._inside is not None:
            rows.insert(0, Row("(mixture)", "", self._inside.ravel(), SHARE))
        return chain + by_component(rows, tuple(self._component_names), "state")

    def _drawn_rows(self, params: Params) -> list[DrawnRow]:
        """Return draws of the parameters by name."""
        return list(draws.drawn_rows(self, params))

    @property
    def _identified(self) -> bool:
        return bool(getattr(self, "fixed", ()) or getattr(self, "tied", ())) or not self._topology.free

    def _observed(self, X: Any, lengths: Any = None, groups: Any = None, time: Any = None) -> Observed:
        """Return sequences as inference reads them; a unit is a sequence."""
        sequences = self._sequences(X, lengths, groups, time)[0]
        used = np.flatnonzero(sequences.observed)
        place = np.full(len(sequences.lengths), -1, dtype=np.intp)
        place[used] = np.arange(len(used))

        def unit(m: int) -> Reduced:
            return reduce_sequences(self._model, sequences.take(used[m : m + 1]))

        data = reduce_sequences(self._model, sequences.canonical())
        return observed_units(self._model, data, unit, np.ones(len(used)), place, sequences.weight)

    def _resampled(self, X: Any, lengths: Any = None, groups: Any = None, time: Any = None) -> Resampled:
        """Return sequences as the bootstrap reads them."""
        from halfseen.families.hmm.resampled import resampled_sequences

        return resampled_sequences(self, self._sequences(X, lengths, groups, time)[0])

    def describe(self, top: int = 3) -> str:
        """Return the states in words: share, length of a stay, what follows, and the columns that set each apart.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
        >>> print(model.describe())
        state 0 (67% of steps, 10 at a time, then state 1): x 0 ± 1 (all 1.67 ± 2.56)
        state 1 (33% of steps, 5 at a time, then state 0): x 5 ± 1 (all 1.67 ± 2.56)
        """
        check_is_fitted(self)
        options.whole("top", top)
        traits = profile.in_words(profile.profiles_of(self._fitted_blocks()), top)
        inside, lines = self._n_inside, []
        for k, name in enumerate(self.state_names_):
            own = traits[k * inside : (k + 1) * inside]
            lines.append(f"{name} ({self._stay(k)}): {' | '.join(own)}")
        return convergence.described(self, "\n".join(lines))

    def _stay(self, k: int) -> str:
        onward = self.transmat_[k].copy()
        onward[k] = 0.0
        words = [f"{self.occupancy_[k]:.0%} of steps"]
        if not onward.sum() > 0:
            return ", ".join([*words, "never left"])
        words.append(f"{self.dwell_[k]:.3g} at a time")
        likely = int(onward.argmax())
        share = onward[likely] / onward.sum()
        sure = "" if share > 0.995 else f" in {share:.0%}"
        return ", ".join([*words, f"then {self.state_names_[likely]}{sure}"])

    # ---- sequences in, answers out -------------------------------------------------------------------------------

    def decode(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> Decoded:
        """Return the best path of every sequence (Viterbi) and its log-probability.

        The best path as a whole: it is possible under the transitions, which states picked step by step need not be.
        Of a Dask or Spark frame both are lazy, the second with a row for each sequence.
        """
        if is_held(X):
            marks = {"groups": groups, "time": time}
            return Decoded(self.predict(X, lengths, **marks), self._best_scores(X, lengths, **marks))
        sequences, cut = self._sequences(X, lengths, groups, time)

        def path(prepared: Any, chunk: SequenceChunk) -> Any:
            return self._model.decode(prepared, chunk.blocks, chunk.blocks.lengths)

        found = self._over(sequences, path)
        joint = np.concatenate([part.log_joint for part in found])
        self._refuse_impossible(joint, sequences, cut)
        states = np.concatenate([part.states for part in found])
        owner = self._topology.owner
        return Decoded(cut.back(states if owner is None else np.array(owner)[states]), joint)

    @by_sequence("state")
    def predict(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> Any:
        """Return the state of every step on the best path (Viterbi)."""
        return self.decode(X, lengths, groups=groups, time=time).states

    @by_sequence("log_probability", "_best_scored")
    def _best_scores(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> Any:
        """Return the log-probability of the best path of every sequence, (B,)."""
        return self.decode(X, lengths, groups=groups, time=time).log_probability

    @by_sequence("state")
    def predict_proba(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> Any:
        """Return the probability of each state at each step given the whole sequence (smoothed), (N, K)."""
        sequences, cut = self._sequences(X, lengths, groups, time)
        return cut.back(self._smoothed(sequences, cut))

    def _smoothed(self, sequences: Sequences, cut: Cut) -> Floats:
        def smooth(prepared: Any, chunk: SequenceChunk) -> Any:
            found = self._model.infer(prepared, chunk.blocks, np.ones((len(chunk.weight), 1)), SOFT)
            return found.usage["emit"], found.log_evidence[:, 0]

        found = self._over(sequences, smooth)
        self._refuse_impossible(np.concatenate([part[1] for part in found]), sequences, cut)
        return np.concatenate([part[0] for part in found])

    def _profiled(self) -> tuple[Sequence[str], list[float], list[Contrast], str]:
        """Return names and shares of the states, and how each differs from all steps."""
        columns, shares = profile.profiles_of(self._fitted_blocks()), self._component_shares
        rows = [found for column in columns for found in column.kind.contrasts(column, shares)]
        return self._component_names, shares.tolist(), rows, "state"

    def _scatter(self, X: Any, most: int, random_state: int) -> Scatter:
        """Return steps as points, or a random sample of `most` of them."""
        sequences, cut = self._sequences(X, None, None, None)
        proba, steps = self._smoothed(sequences, cut), sequences.steps
        n_given = steps.n_rows
        rows = np.arange(n_given) if cut.order is None else cut.order
        if n_given > most:
            some = np.sort(np.random.default_rng(random_state).choice(n_given, most, replace=False))
            proba, steps, rows = proba[some], steps.take(some), rows[some]
        columns, values = places(steps)
        return Scatter(
            [self._schema.names[j] for j in columns],
            levels_of(self._schema, columns),
            *(values, proba, self.state_names_, self.occupancy_),
            separations(self._fitted_blocks(), self._component_shares, columns),
            *ellipses(self._fitted_blocks(), columns),
            np.repeat(np.arange(len(self.state_names_)), self._n_inside).tolist(),
            n_given,
            rows,
        )

    @by_sequence("state")
    def filter(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> Any:
        """Return the probability of each state at each step given what was observed up to it, (N, K).

        `predict_proba` uses later observations too; `filter` does not.
        """
        sequences, cut = self._sequences(X, lengths, groups, time)
        found = self._over(sequences, self._filtered)
        self._refuse_impossible(np.concatenate([part[1] for part in found]), sequences, cut)
        return cut.back(self._topology.joined(np.concatenate([np.exp(part[0]) for part in found])))

    def _filtered(self, prepared: Any, chunk: SequenceChunk) -> tuple[Floats, Floats]:
        return self._model.filter(prepared, chunk.blocks, chunk.blocks.lengths)

    def forecast(
        self, X: Any, steps: int = 1, lengths: Any = None, *, groups: Any = None, time: Any = None
    ) -> Forecast:
        """Say what follows the last step of every sequence.

        Parameters
        ----------
        X : sequences
        steps : int            how far to look ahead, H
        lengths, groups, time :    as in `fit`

        Returns
        -------
        Forecast
            Prints as a table with the names of the sequences and the times of the steps; `to_frame` returns the same
            as numbers, `states` and `observations` as arrays.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
        >>> ahead = model.forecast([[0.1], [-0.3], [0.2]], steps=2)
        >>> ahead.states.round(2), ahead.observations["x"]["mean"].round(2)
        (array([[[0.9 , 0.1 ],
                [0.83, 0.17]]]), array([[0.5 , 0.85]]))
        >>> ahead
        sequence  step  state 0  state 1          x
        0            1      90%      10%  0.5 ± 1.8
        0            2      83%      17%  0.9 ± 2.1
        """
        options.whole("steps", steps)
        return self._forecast(*self._sequences(X, lengths, groups, time), steps)

    def _forecast(self, sequences: Sequences, cut: Cut, steps: int) -> Forecast:
        """Return what follows sequences that have been read."""
        found = self._over(sequences, self._filtered)
        self._refuse_impossible(np.concatenate([part[1] for part in found]), sequences, cut)
        current = np.exp(np.concatenate([part[0] for part in found])[np.cumsum(sequences.lengths) - 1])
        ahead = []
        for _ in range(steps):
            current = current @ self._params["trans"]
            ahead.append(self._topology.joined(current))
        states = np.stack(ahead, axis=1)
        ahead_of = (cut.names, times_ahead(cut, steps))
        return Forecast(states, self._expected(states), self._template, self.state_names_, *ahead_of)

    def _expected(self, states: Floats) -> dict[str, dict[Any, Floats]]:
        """Return the distribution of every column under probabilities of states (..., K)."""
        if self._inside is not None:
            states = (states[..., None] * self._inside).reshape(*states.shape[:-1], -1)
        columns = profile.profiles_of(self._fitted_blocks())
        return {column.name: column.kind.forecast(column, states) for column in columns}

    @by_sequence("loglik", "_scored")
    def score_samples(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> Floats:
        """Return log p(observed cells) of each sequence, (B,); -inf for one that is impossible."""
        sequences, _ = self._sequences(X, lengths, groups, time)
        return np.concatenate([part[1] for part in self._over(sequences, self._filtered)])

    def score(self, X: Any, lengths: Any = None, *, groups: Any = None, time: Any = None) -> float:
        """Return the total log-likelihood of all sequences."""
        if is_held(X):
            return self._measured(X, lengths, groups, time)[0]
        return float(self.score_samples(X, lengths, groups=groups, time=time).sum())

    def sample(
        self, n_samples: int = 1, *, lengths: Sequence[int] | None = None, random_state: Any = None
    ) -> tuple[Any, NDArray[np.int64]]:
        """Draw one sequence of `n_samples` steps, or sequences of the given `lengths`.

        Returns
        -------
        X : container like the one fitted      all steps, sequence after sequence
        states : (N,) array
        """
        check_is_fitted(self)
        wanted = [options.whole("n_samples", n_samples)] if lengths is None else lengths
        sizes = np.array([options.whole("lengths", size) for size in wanted], dtype=np.int64)
        rng = self._generator(random_state)
        states = self._model.draw_states(self._params, sizes, rng)
        owner = self._topology.owner
        states = states if owner is None else np.array(owner)[states]
        blocks = self._model.leaves["emit"].sample(self._params["emit"], states, rng)
        return self._template.like(decoded(self._schema, blocks)), states

    @by_sequence("")
    def impute(
        self,
        X: Any,
        lengths: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
        draw: bool = False,
        random_state: Any = None,
    ) -> Any:
        """Fill the missing values of sequences from all that was observed before, at and after each step.

        Parameters
        ----------
        X, lengths, groups, time :    as in `fit`
        draw : bool
            False: numbers get their expected value, categories the most probable one. True: a path of states is drawn,
            and each missing value given the state of its step, so that variation is kept.
        random_state : seed of the draws; by default the estimator's

        Returns
        -------
        The same container, columns and dtypes; observed cells are untouched.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
        >>> model.impute(np.array([0.1, np.nan, -0.3, 5.2, np.nan, 4.9])).round(2)
        array([ 0.1 ,  0.12, -0.3 ,  5.2 ,  4.85,  4.9 ])
        """
        check_is_fitted(self)
        options.flag("draw", draw)
        groups, time = self._marked(X, lengths, groups, time)
        source, cut = read_sequences(X, lengths, groups, time)
        sequences = Sequences.of(self._schema.encode(source), cut.lengths)
        rng = self._generator(random_state) if draw else None
        full, log_evidence = full_blocks(self._model, self._params, sequences, rng)
        self._refuse_impossible(log_evidence, sequences, cut)
        marks = [mark for mark in (groups, time) if isinstance(mark, str)]
        return fill_sequences(X, cut, marks, filled_cells(source, self._schema, full))

    def _components(self) -> States:
        """Return what a comparison with another model asks for."""
        return states_of(self)

    def _cell_imputer(self, X: Any, y: Any, sample_weight: Any) -> SequenceCells:
        """Return what the check of imputation asks for."""
        if y is not None or sample_weight is not None:
            raise ParameterError("y= and sample_weight= have no meaning for an HMM.")
        return SequenceCells(self, self._sequences(X, None, None, None)[0])

    # ---- how good ------------------------------------------------------------------------------------------------

    def bic(
        self, X: Any = None, lengths: Any = None, *, groups: Any = None, time: Any = None, unit: str = "steps"
    ) -> float:
        """Return -2 loglik + n_parameters log N; lower is better.

        Parameters
        ----------
        X, lengths, groups, time : as in `fit`; by default the data it was fitted to
        unit : {"steps", "sequences"}
            What N counts: steps with any observed cell or label, or sequences with any such step. Sequences are the
            usual choice for panels, many short sequences of independent people (latent transition analysis).

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
        >>> panel = [np.array([0.1, 0.3]), np.array([5.2, 4.9]), np.array([0.2, np.nan])]
        >>> round(model.bic(panel), 2), round(model.bic(panel, unit="sequences"), 2)
        (25.46, 21.89)
        """
        loglik, n_units = self._measured(X, lengths, groups, time, unit)
        return bic(loglik, self.n_parameters_, n_units)

    def sabic(
        self, X: Any = None, lengths: Any = None, *, groups: Any = None, time: Any = None, unit: str = "steps"
    ) -> float:
        """Return the sample-size adjusted BIC (Sclove 1987), with (N + 2) / 24 in place of N; arguments as in `bic`."""
        loglik, n_units = self._measured(X, lengths, groups, time, unit)
        return sabic(loglik, self.n_parameters_, n_units)

    def aic(self, X: Any = None, lengths: Any = None, *, groups: Any = None, time: Any = None) -> float:
        """Return -2 loglik + 2 n_parameters; lower is better."""
        return aic(self._measured(X, lengths, groups, time)[0], self.n_parameters_)

    def icl(
        self, X: Any = None, lengths: Any = None, *, groups: Any = None, time: Any = None, unit: str = "steps"
    ) -> float:
        """Return the integrated completed likelihood: BIC with a charge for uncertain paths; lower is better.

        It is bic + 2 EN, EN the entropy of the whole path given the observations. Arguments as in `bic`.
        """
        if is_held(X):
            check_is_fitted(self)
            charge = float(summed(X, self, "_entropy_of", self._group(groups), time or self._marks[1]))
        else:
            charge = self._uncertain if X is None else self._path_entropy(X, lengths, groups, time)
        return self.bic(X, lengths, groups=groups, time=time, unit=unit) + 2 * charge

    def _path_entropy(self, X: Any, lengths: Any, groups: Any, time: Any) -> float:
        sequences = self._sequences(X, lengths, groups, time)[0]
        [step] = evaluate(self._model, reduce_sequences(self._model, sequences), [self._params])
        return path_entropy(self._model, step, entropy_inside(self._model, self._params, sequences))

    def _entropy_of(self, X: Any, lengths: Any) -> float:
        """Return the entropy of the paths of sequences of a partition; it adds."""
        return self._path_entropy(X, lengths, None, None)

    def _measured(
        self, X: Any, lengths: Any = None, groups: Any = None, time: Any = None, unit: str = "steps"
    ) -> tuple[float, float]:
        check_is_fitted(self)
        options.one_of("unit", unit, UNITS)
        if is_held(X):
            check_lengths(lengths)
            loglik, *units = summed(X, self, "_sums", self._group(groups), time or self._marks[1])
            return float(loglik), units[UNITS.index(unit)]
        if X is not None:
            sequences = self._sequences(X, lengths, groups, time)[0]
            loglik = self.score(X, lengths, groups=groups, time=time)
            return loglik, sequences.n_observed if unit == "steps" else sequences.n_observed_sequences
        if not hasattr(self, "_stats"):
            raise ParameterError("this model was built without data; give the sequences to measure it on, as X.")
        if unit == "sequences" and not hasattr(self, "_n_sequences"):
            raise AbsentError("unit='sequences': this model file does not say how many there were; give them, as X.")
        return self.loglik_, self._n_steps if unit == "steps" else self._n_sequences

    def _sums(self, X: Any, lengths: Any) -> Parts:
        """Return log-likelihood and numbers of observed steps and sequences."""
        sequences = self._sequences(X, lengths, None, None)[0]
        return Parts((self.score(X, lengths), sequences.n_observed, sequences.n_observed_sequences))

    def _scored(self, X: Any, groups: str, time: Any = None) -> Any:
        """Return the log-likelihoods of sequences of a partition by their names, as a series."""
        return self._named(X, groups, time, self.score_samples(X, groups=groups, time=time), "loglik")

    def _best_scored(self, X: Any, groups: str, time: Any = None) -> Any:
        """Return the log-probabilities of the best paths of sequences of a partition by their names, as a series."""
        return self._named(X, groups, time, self._best_scores(X, groups=groups, time=time), "log_probability")

    def _named(self, X: Any, groups: str, time: Any, values: Floats, called: str) -> Any:
        import pandas as pd

        names = read_sequences(X, None, *self._marked(X, None, groups, time))[1].names
        return pd.Series(values, index=pd.Index(list(names or ()), name=groups), name=called)

    def _group(self, groups: Any) -> Any:
        """Return the column of sequences that was given, or else that of the fit."""
        return self._marks[0] if groups is None else groups

    def _units(self) -> dict[str, float]:
        """Return the number of observed steps; of several sequences, theirs too."""
        n_sequences = getattr(self, "_n_sequences", 1.0)
        return {"steps": self._n_steps} | ({"sequences": n_sequences} if n_sequences > 1 else {})

    def _reorder(self, places: NDArray[np.int64]) -> None:
        fitted = hasattr(self, "_stats")
        self._model, self._params, stats = self._taken(places)
        self._topology = self._topology.taken(places)
        if fitted:
            self._stats = stats

    def _taken(self, places: NDArray[np.int64]) -> tuple[HiddenMarkov, Params, Stats]:
        """Return model, parameters and statistics with states in another order."""
        leaves, expanded = self._model.leaves, self._topology.order(places)
        orders = {"start": expanded, "trans": expanded, "emit": places}
        params = {name: leaf.take(self._params[name], orders[name]) for name, leaf in leaves.items()}
        parts = self._model.view(getattr(self, "_stats", np.zeros(self._model.stats_shape)))
        stats = {name: leaf.reorder(parts[name], orders[name]) for name, leaf in leaves.items() if name != "emit"}
        stats["emit"] = _reordered(leaves["emit"], parts["emit"], places)
        model = self._model
        if self._topology.owner is not None:
            model = replace(model, structure=MarkovChain(self._topology.taken(places).owner))
        return model, params, np.concatenate([np.ravel(stats[name]) for name in leaves])

    # ---- reading and inference -----------------------------------------------------------------------------------

    def _sequences(self, X: Any, lengths: Any, groups: Any, time: Any) -> tuple[Sequences, Cut]:
        """Read and encode sequences; columns of group and time are those of the fit, where X has them."""
        check_is_fitted(self)
        source, cut = read_sequences(X, lengths, *self._marked(X, lengths, groups, time))
        return Sequences.of(self._schema.encode(source), cut.lengths), cut

    def _marked(self, X: Any, lengths: Any, groups: Any, time: Any) -> tuple[Any, Any]:
        """Return the columns of group and time: those given, or those of the fit, where X has them."""
        if lengths is not None:
            return groups, time
        names, given = column_names(X), (groups, time)
        first, second = (
            mark if said is None and mark in names else said for said, mark in zip(given, self._marks, strict=True)
        )
        return first, second

    def _over(self, sequences: Sequences, task: Callable[[Any, SequenceChunk], Any]) -> list[Any]:
        """Run a task on every chunk, in their order."""
        prepared, chunks = self._model.prepare(self._params), sequences.chunks()
        with runner(self.n_jobs, len(chunks)) as run:
            return list(run(lambda chunk: task(prepared, chunk), chunks))

    def _refuse_impossible(self, log_evidence: Floats, sequences: Sequences, cut: Cut) -> None:
        if np.isfinite(log_evidence).all():
            return
        found = self._model.impossible(self._params, sequences.chunks())
        if found is not None:
            raise DataError(
                f"{cut.name(found[0])} is impossible under the model: at {cut.step(*found)} no state is left that may "
                "come next and emit what was observed. Fit with a prior to leave no probability at zero, or make "
                "the cells of that step missing."
            )


def _reordered(leaf: Any, stats: Stats, places: NDArray[np.int64]) -> Stats:
    """Return statistics of an emission leaf with its states in another order, mixtures inside included."""
    if not hasattr(leaf, "structure"):
        return leaf.reorder(stats, places)
    parts, width = leaf.view(stats), leaf.leaves["emit"].n_components // leaf.n_components
    inner = (places[:, None] * width + np.arange(width)).ravel()
    emit = leaf.leaves["emit"].reorder(parts["emit"], inner)
    return np.concatenate([np.ravel({"mix": parts["mix"][places], "emit": emit}[name]) for name in leaf.leaves])


def _long_run(start: Floats, trans: Floats) -> Floats:
    """Return the shares p = p trans; where several fit, the one that is reached from `start` on average."""
    size = len(start)
    system = np.vstack([trans.T - np.eye(size), np.ones(size)])
    found, _, rank, _ = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)
    if rank == size:
        shares = np.maximum(found, 0.0)
        return shares / shares.sum()
    lazy = (trans + np.eye(size)) / 2
    for _ in range(60):  # its powers tend to the mean of all powers of `trans`
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return start @ lazy
