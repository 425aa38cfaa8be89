"""Fitting an aligner: from utterances and their transcripts to a model that is grown in stages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halfseen.assign import SOFT
from halfseen.data import Schema, Source, read
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.search import Plan, Search, fit
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.column_kinds import named_kinds
from halfseen.families.transcript import state
from halfseen.families.transcript.certainty import FRAMES, Certainty, Residuals, acoustic_scale
from halfseen.families.transcript.departures import Background
from halfseen.families.transcript.lexicon import Layout, Lexicon, read_pronunciations
from halfseen.families.transcript.methods import AlignerMethods
from halfseen.families.transcript.surprise import Typical, typical_words
from halfseen.families.transcript.utterances import (
    Corpus,
    check_empty_transcripts,
    short_utterances_message,
    too_short,
    unknown_words_message,
)
from halfseen.kinds.records import Prior
from halfseen.leaves import Cells, Leaf, Product
from halfseen.leaves.leaf import NO_MASS, Floats, frozen, map_arrays
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.structures.independent import Independent
from halfseen.structures.transcript import LeftRight, best

log = logging.getLogger("halfseen")

MISFIT = 5.0  # robust standard deviations below the other utterances
MANY = 8  # utterances needed to estimate their median and spread
ADD = "Add them, or name a unit for them with unknown=."
WARM = (0.02, 0.1, 0.4)  # inverse temperatures of a fit from nothing: without them EM on a minute of speech goes astray
LEAST_PASSES = 60  # of max_iter, from which there are enough for these
SPLIT = 0.2  # distance of the halves of a split component, in standard deviations


class Stage(NamedTuple):
    """A fit with `n_mix` components in every state."""

    n_mix: int
    model: Model
    search: Search


class AlignerFit(AlignerMethods):
    """An aligner that is fitted by EM."""

    n_mix: int
    silence: str | None
    emission: str
    columns: Mapping[str | int, str] | None
    init: str
    prior: str | float | None
    acoustic_scale: float | str
    boundary_sd: float | str
    start: Mapping[str, Any] | None
    variance_floor: float | str
    anneal: Sequence[float] | str
    max_iter: int
    _state_module = state

    def _learn_lexicon(self, corpus: Corpus) -> Lexicon:
        """Return the units of the transcripts; words without a pronunciation are named."""
        used = list(dict.fromkeys(word for words in corpus.transcripts for word in words))
        ways = read_pronunciations(self.dictionary)
        known = {word: ways[word] for word in used if word in ways}
        if self.dictionary is not None:
            unknown_words = [word for word in used if word not in ways and word != self.silence]
            if unknown_words and self.unknown is None:
                raise DataError(unknown_words_message(unknown_words, corpus, "not in the dictionary", ADD))
            units = {unit for word in known.values() for way in word for unit in way}
            units |= {self.unknown} if unknown_words and self.unknown else set()
        else:
            units = set(used)
        check_empty_transcripts(corpus, self.silence, "name a unit for silence=")
        units |= set() if self.silence is None else {self.silence}
        # words that later transcripts may use: all pronunciations of the dictionary whose units were trained
        heard = {word: tuple(way for way in listed if units.issuperset(way)) for word, listed in ways.items()}
        heard = {word: listed for word, listed in heard.items() if listed}
        return Lexicon(tuple(sorted(units)), int(self.states_per_unit), self.silence, heard, self.unknown)

    def _fitting(self, corpus: Corpus) -> tuple[Corpus, list[Layout]]:
        """Return the utterances that are long enough for their transcripts, with their graphs."""
        layouts = [self._lexicon.layout(words) for words in corpus.transcripts]
        short = too_short(corpus, layouts)
        if not short:
            return corpus, layouts
        message = short_utterances_message(corpus, layouts, short, self.states_per_unit)
        if self.too_short == "raise" or len(short) == len(layouts):
            raise DataError(f"{message} too_short='skip' leaves such utterances out.")
        self.events_.append(f"left out: {message}")
        kept = np.setdiff1d(np.arange(len(layouts)), short)
        return corpus.take(kept), [layouts[b] for b in kept]

    def _learn_schema(self, source: Source) -> Schema:
        return Schema.learn(source, named_kinds(self.columns, self.emission, source.names))

    def _build(self, summary: emission_builder.Summary, prior: Prior, n_mix: int) -> Model:
        """Return the model that the options describe."""
        size, rows = self._lexicon.n_emissions, self._lexicon.cardinalities
        sharing = self._sharing
        n_densities = size * n_mix if sharing is None else sharing.n_densities
        recipe = emission_builder.Recipe(self._schema, summary, n_densities, prior, self.variance_floor)
        emit: Leaf = recipe.model().leaves["emit"]
        if sharing is not None:
            assert isinstance(emit, Product)
            emit = Product(size, {name: sharing.leaf(leaf) for name, leaf in emit.leaves.items()})
        each = None if prior is None else 1 / (size * n_mix) if prior == "row" else float(prior)
        if n_mix > 1:
            pseudo = None if each is None else np.full((size, n_mix), each)
            emit = Mixture(Independent(size), {"mix": Cells(size, [n_mix], pseudo), "emit": emit})
        pseudo = None if each is None else np.full((1, sum(rows)), 1 / sum(rows) if prior == "row" else each)
        return Model(LeftRight(), {"moves": Cells(1, rows, pseudo), "emit": emit})

    def _plan(self, seed: np.random.SeedSequence, run: Any) -> Plan:
        """Return how to search; a fit from nothing is annealed, with the same jitter whatever the seed."""
        if not isinstance(self.anneal, str):
            return options.plan(self, seed, run)
        given = set(self.start or {}) - {self.silence}
        fresh = self.init == "flat" and self.assign == "soft" and not given and self.max_iter >= LEAST_PASSES
        plan = options.plan(self, seed, run, anneal=WARM if fresh else ())
        return replace(plan, seed=np.random.SeedSequence(0)) if fresh else plan

    # ---- starts --------------------------------------------------------------------------------------------------

    def _start(self, model: Model, corpus: Corpus, layouts: Sequence[Layout], chunks: Sequence[Any]) -> Params:
        """Return the parameters to start from: states last as long as the mean over all utterances requires."""
        least = sum(layout.graph.n_least for layout in layouts)
        leave = min(0.9, least / float(corpus.lengths.sum()))
        moves = np.array(model.leaves["moves"].blank())
        n_stays = 2 * self._lexicon.n_emissions
        moves[0, :n_stays] = np.tile([1 - leave, leave], n_stays // 2)
        params = {"moves": frozen(moves), "emit": model.leaves["emit"].blank()}
        if self.init == "equal" or self.assign == "hard":
            params["emit"] = self._equal(model.leaves["emit"], params["emit"], corpus, chunks)
        if self.start:
            params["emit"] = self._from_examples(model.leaves["emit"], params["emit"])
        return params

    def _from_examples(self, leaf: Leaf, params: Params) -> Params:
        """Return emissions in which units with examples in `start` start from them."""
        stats, prepared, seen = (
            np.zeros(leaf.stats_shape),
            leaf.prepare(params),
            np.zeros(leaf.n_components, dtype=bool),
        )
        for unit, frames in options.mapping("start", self.start).items():
            if unit not in self._lexicon.number:
                raise ParameterError(f"start: there is no unit {unit!r}. Units: {', '.join(self._lexicon.units[:20])}.")
            if not len(frames):
                raise ParameterError(f"start: there are no frames of {unit!r}.")
            table = self._schema.encode(read(frames))
            for s in range(self._lexicon.n_states):
                component = self._lexicon.number[unit] * self._lexicon.n_states + s
                leaf.count(np.full(table.n_rows, component), np.ones(table.n_rows), prepared, table.blocks, stats)
                seen[component] = True
        pseudo = leaf.prior(params)
        estimated = leaf.maximise(stats if pseudo is None else stats + pseudo, params)

        def choose(first: Floats, second: Floats) -> Floats:
            return frozen(np.where(seen.reshape(-1, *[1] * (first.ndim - 1)), first, second))

        return map_arrays(choose, estimated, params)

    def _equal(self, leaf: Leaf, about: Params, corpus: Corpus, chunks: Sequence[Any]) -> Params:
        """Return emissions of states that get equal pieces of every utterance, with a pause at both ends."""
        stats, prepared = np.zeros(leaf.stats_shape), leaf.prepare(about)
        for chunk in chunks:
            owner = [
                self._cut(corpus.transcripts[chunk.first + i], length)
                for i, length in enumerate(chunk.blocks.lengths.tolist())
            ]
            weight = np.repeat(chunk.weight, chunk.blocks.lengths)
            leaf.count(np.concatenate(owner), weight, prepared, chunk.blocks, stats)
        pseudo = leaf.prior(about)
        return leaf.maximise(stats if pseudo is None else stats + pseudo, about)

    def _cut(self, words: Sequence[str], length: int) -> Any:
        """Return the emission at each frame when all states of the first pronunciations last equally long."""
        lexicon = self._lexicon
        pause = [] if lexicon.silence is None else [lexicon.silence]
        units = [*pause, *(unit for word in words for unit in lexicon.ways(word)[0]), *pause]
        states = np.array([lexicon.number[u] * lexicon.n_states + s for u in units for s in range(lexicon.n_states)])
        return states[np.arange(length) * len(states) // length]

    # ---- results -------------------------------------------------------------------------------------------------

    def _publish(self, stages: Sequence[Stage], corpus: Corpus) -> None:
        last = stages[-1]
        self._model, self._params = last.model, last.search.best.accepted.params
        self.units_ = self._lexicon.units
        convergence.record(self, last.search)
        self.stages_ = [
            {"n_mix": stage.n_mix, "n_iter": stage.search.best.n_passes, "objective": stage.search.best.objective}
            for stage in stages
        ]
        usage = last.model.view(last.search.best.accepted.expected.stats)["moves"][0]
        n_emissions = self._lexicon.n_emissions
        self._frames = usage[: 2 * n_emissions].reshape(n_emissions, 2).sum(axis=1)
        empty = self._by_unit(self._frames).sum(axis=1) < NO_MASS
        if empty.any():
            named = ", ".join(unit for unit, none in zip(self.units_, empty, strict=True) if none)
            self.events_.append(f"no frames for: {named}. These units kept their start parameters")
        collapsed = sorted({k // (self.states_per_unit * self._n_mix) for k in last.model.collapsed(self._params)})
        if collapsed:
            named = ", ".join(self.units_[k] for k in collapsed[:10]) + (" ..." if len(collapsed) > 10 else "")
            fewer = (
                f", or fewer states (states_per_unit={self.states_per_unit - 1})" if self.states_per_unit > 1 else ""
            )
            self.events_.append(
                f"too little data for: {named}. A state of each has so few frames that a variance is at its floor, and "
                f"times there are less certain. What helps: more recordings in which they occur{fewer}, pseudo-counts "
                "(prior=1), or a model that is trained already."
            )
        log.info("fitted %d units to %d utterances: %s", len(self.units_), len(corpus.transcripts), self.stop_reason_)

    def _measured(self, spoken: float | None, layouts: Sequence[Layout], chunks: Sequence[Any]) -> Certainty:
        """Return how sharp the posterior may be; `spoken`: seconds from one frame of speech to the next."""
        heard = 0.0 if spoken is None else Certainty.heard(float(spoken))
        jitter = heard if self.boundary_sd == "auto" else float(self.boundary_sd) / float(self.step)
        if self.acoustic_scale != "auto":
            return Certainty(float(self.acoustic_scale), jitter)
        moments = self._moments()
        scale = 1.0 if moments is None else acoustic_scale(self._residuals(*moments, layouts, chunks))
        return Certainty(scale, jitter)

    def _moments(self) -> tuple[Floats, Floats] | None:
        """Return means and variances of the numeric features in each state, (E, D); None if there are none."""
        emit = self._params["emit"] if self._n_mix == 1 else self._params["emit"]["emit"]
        if "gaussian" not in emit:
            return None
        shape = (self._lexicon.n_emissions, self._n_mix, -1)
        means, variances = emit["gaussian"].mean.reshape(shape), emit["gaussian"].var.reshape(shape)
        mix = np.ones(shape[:2]) if self._n_mix == 1 else np.asarray(self._params["emit"]["mix"])
        mean = np.einsum("em,emd->ed", mix, means)
        return mean, np.einsum("em,emd->ed", mix, variances + (means - mean[:, None]) ** 2)

    def _residuals(
        self, mean: Floats, var: Floats, layouts: Sequence[Layout], chunks: Sequence[Any]
    ) -> Iterator[Residuals]:
        """Yield residuals along the best paths of the first utterances, up to `FRAMES` frames."""
        prepared, seen = self._model.prepare(self._params), 0
        unit = np.arange(self._lexicon.n_emissions) // self._lexicon.n_states
        pause = unit == self._lexicon.number.get(self.silence or "", -1)
        for chunk in chunks:
            scores = self._model.leaves["emit"].score(prepared["emit"], chunk.blocks, SOFT)
            last = np.cumsum(chunk.blocks.lengths)
            for i, end in enumerate(last.tolist()):
                first, graph = end - int(chunk.blocks.lengths[i]), layouts[chunk.first + i].graph
                way = best(graph, prepared["moves"][0], np.ascontiguousarray(scores[first:end]))
                if way.log_joint > -np.inf:
                    frames = np.asarray(chunk.blocks["gaussian"], dtype=np.float64)[first:end]
                    yield Residuals.along(frames, graph.owner[way.nodes], mean, var, pause)
                seen += end - first
                if seen >= FRAMES:
                    return

    def _measured_words(self, layouts: Sequence[Layout], chunks: Sequence[Any]) -> Typical:
        """Return the typical fit of the words of the training data."""
        prepared = self._model.prepare(self._params)
        pairs = ((layouts[b], scored) for chunk in chunks for b, scored in self._utterances(prepared, chunk))
        return typical_words(prepared["moves"][0], Background(self._frames), pairs)

    def _note_misfits(self, corpus: Corpus, layouts: Sequence[Layout], logliks: Floats, chunks: Sequence[Any]) -> None:
        """Note the utterances whose log-likelihood per frame is far below that of the others, and where."""
        if len(logliks) < MANY:
            return
        surprise = np.array([self._typical.surprise(value) for value in logliks / corpus.lengths])
        for b in np.argsort(-surprise)[: np.count_nonzero(surprise > MISFIT)].tolist():
            found = self._aligned(corpus.take(np.array([b])), [layouts[b]])[0]
            worst = min(found.words, key=lambda part: part.log_probability / (part.end - part.start), default=None)
            at = "" if worst is None else f", worst at {worst.name!r}, {worst.start:.6g} to {worst.end:.6g}"
            self.events_.append(
                f"{corpus.names[b]} fits badly: log-likelihood {logliks[b] / corpus.lengths[b]:.4g} per frame, "
                f"{self._typical.centre:.4g} in most{at}. Check its transcript."
            )


def sizes(n_mix: int) -> list[int]:
    """Return the numbers of components on the way to `n_mix`: each at most twice the one before."""
    sizes = [1]
    while sizes[-1] < n_mix:
        sizes.append(min(2 * sizes[-1], n_mix))
    return sizes


def grown(
    models: Iterable[tuple[int, Model]],
    start: Callable[[Model], Params],
    chunks: Sequence[Any],
    plan: Plan,
    seed: np.random.SeedSequence,
) -> list[Stage]:
    """Fit models of more and more components, each from the one before; an interrupt ends the growing."""
    stages: list[Stage] = []
    for n_mix, model in models:
        if not stages:
            params = start(model)
        else:
            params = _split(stages[-1], model, n_mix, np.random.default_rng(child(seed, 0, n_mix)))
            plan = replace(plan, anneal=())
        stages.append(Stage(n_mix, model, fit(model, Reduced(chunks), [params], plan)))
        if stages[-1].search.interrupted:
            break
    return stages


def _split(stage: Stage, model: Model, n_mix: int, rng: np.random.Generator) -> Params:
    """Return parameters with more components: the heaviest of every state are split in two."""
    params, before = stage.search.best.accepted.params, stage.n_mix
    inside = model.leaves["emit"]
    assert isinstance(inside, Mixture)
    n_states = inside.n_components
    mix = np.ones((n_states, 1)) if before == 1 else params["emit"]["mix"]
    flat = params["emit"] if before == 1 else params["emit"]["emit"]
    heavy = np.argsort(-mix, axis=1, kind="stable")[:, : n_mix - before]
    shares = np.array(mix)
    np.put_along_axis(shares, heavy, np.take_along_axis(mix, heavy, 1) / 2, axis=1)
    shares = np.concatenate([shares, np.take_along_axis(mix, heavy, 1) / 2], axis=1)
    order = np.concatenate([np.tile(np.arange(before), (n_states, 1)), heavy], axis=1)
    places = (np.arange(n_states)[:, None] * before + order).ravel()
    leaf = inside.leaves["emit"]
    emit = leaf.jitter(leaf.take(flat, places), SPLIT, rng)
    emit = {"mix": frozen(shares), "emit": leaf.conform(emit, emit)}
    return {"moves": params["moves"], "emit": emit}
