"""Grapheme-to-phoneme conversion: joint units of letters and phones, found by EM in a pronunciation dictionary."""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from halfseen.assign import SOFT
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.search import fit
from halfseen.errors import ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.families.pronunciation import state
from halfseen.families.pronunciation.lexicon import distinct, read_entries
from halfseen.families.pronunciation.methods import UNKNOWN, G2PMethods, independent
from halfseen.families.pronunciation.model import PairChunk, UnitModel, reduce_pairs, segments_of
from halfseen.families.pronunciation.ngrams import contexts_of
from halfseen.families.pronunciation.units import Inventory
from halfseen.leaves.leaf import Floats
from halfseen.runners import runner
from halfseen.structures.joint_units import END, Codes, Contexts, Pairs, best
from halfseen.sums import Runner

log = logging.getLogger("halfseen")


@options.with_hints
@dataclass(eq=False, repr=False)
class G2P(G2PMethods):
    """Learn how words are pronounced from a dictionary, and pronounce others: joint-sequence models by EM.

    A word and its phones are made by the same sequence of joint units of a few letters and phones; which letters make
    which phones is hidden:

        p(word, phones) = sum over segmentations of prod over their units u of p(u | order - 1 units before it)

    Units are found by EM with order 1. Then for each higher order in turn an n-gram model is counted from the best
    segmentations under the order before, smoothed by Kneser-Ney discounting, and the dictionary is segmented again
    until nothing changes. EM with order 1 is maximum likelihood and never falls; the smoothed stages have no objective.

    Parameters
    ----------
    order : int, default 7
        Length of the n-grams of units.
    max_letters, max_phones : int, default 1
        Most letters and most phones of a unit; it may have none of one of them.
    lowercase : bool, default True
        Ignore case.
    stress : bool, default True
        Keep the digits of stress after vowels, as of CMUdict; False reads AH0, AH1 and AH2 as AH.
    on_unknown : {"error", "replace", "skip"}, default "error"
        Letters that the dictionary did not have: an error that names them; or read é as e where only e is known, leave
        out those without such a form, and warn; or leave out words with them, and warn.
    beam : int, default 32
        Hypotheses that `pronounce` keeps after every letter.
    assign : {"soft", "hard"}, default "soft"
        How the E-step completes hidden values: in expectation, or by the most probable completion. Hidden are the
        segmentations; higher orders take the most probable ones.
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
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.

    Attributes
    ----------
    letters_, phones_ : tuples of str
    units_ : list of (letters, phones)
    loglik_ : float
        Log-likelihood of the dictionary under the fitted model, summed over all segmentations.
    objective_, trace_, n_iter_, converged_, stop_reason_ :
        Of EM with order 1, as in `LatentClass`.
    stages_ : list of dict
        Order, log-probability of the best segmentations, and how many of them changed, of every stage.
    events_ : list of str

    Examples
    --------
    >>> import halfseen as hs
    >>> words = {"cat": "K AE T", "back": "B AE K", "tack": "T AE K", "bat": "B AE T", "cab": "K AE B", "act": "AE K T"}
    >>> model = hs.G2P(order=2).fit({word: [phones.split()] for word, phones in words.items()})
    >>> model.pronounce(["tact", "Cack"])
    {'tact': [['T', 'AE', 'K', 'T']], 'Cack': [['K', 'AE', 'K']]}
    >>> model.segment({"back": [["B", "AE", "K"]]})
    {'back': [[('b', ('B',)), ('a', ('AE',)), ('c', ('K',)), ('k', ())]]}
    """

    order: int = 7
    _: KW_ONLY
    max_letters: int = 1
    max_phones: int = 1
    lowercase: bool = True
    stress: bool = True
    on_unknown: str = "error"
    beam: int = 32
    assign: str = "soft"
    stop: str = "gain"
    tol: float = 1e-8
    max_iter: int = 1000
    accelerate: bool = True
    n_jobs: int | None = None

    _state_module = state
    _deviations: ClassVar[options.Deviations] = {
        "assign": options.Deviation(
            "segmentations are not drawn",
            text="How the E-step completes hidden values: in expectation, or by the most probable completion.",
            **options.words("soft", "hard"),
        ),
    }

    def _check_options(self) -> None:
        super()._check_options()
        for name in ("order", "max_letters", "max_phones", "beam"):
            options.whole(name, getattr(self, name))
        options.flag("lowercase", self.lowercase)
        options.flag("stress", self.stress)
        options.one_of("on_unknown", self.on_unknown, UNKNOWN)
        if self.assign == "soft" and self.stop == "assignments":
            raise ParameterError("stop='assignments' needs assign='hard'.")

    @property
    def _soft_estimate(self) -> str:
        return "maximum likelihood" if self.order == 1 else "smoothed by Kneser-Ney"

    @property
    def _estimate(self) -> str:
        return super()._estimate if self.order == 1 else self._soft_estimate

    # ---- fit -----------------------------------------------------------------------------------------------------

    @rollback_on_error
    def fit(self, dictionary: Any, y: Any = None) -> Self:
        """Fit to a pronunciation dictionary.

        Parameters
        ----------
        dictionary : dict or path
            {word: [[phones], ...]}, as `read_dictionary` returns it, or the file that it reads. Every pronunciation of
            a word counts as one example; one that is there twice counts once.
        y : ignored
        """
        self._check_options()
        self.__dict__.pop("_counted", None)
        self._order, self._lowercase, self._stress = self.order, self.lowercase, self.stress
        entries = read_entries(dictionary, self.lowercase, self.stress)
        self._n_words = len({entry.letters for entry in entries})
        entries = distinct(entries)
        self._n_pairs = len(entries)
        self.events_: list[str] = []
        self._origin = Origin.now(None, np.random.SeedSequence(0))
        full = Inventory.learned(entries, self.max_letters, self.max_phones)
        pairs = full.pairs(entries)
        data = reduce_pairs(pairs)
        with runner(self.n_jobs, len(data.chunks)) as run:
            interrupted = self._independent(full, data, run)
            log_joint, taken = _segmented(independent(self._params), data, run)
            self.stages_ = [{"order": 1, "log_joint": float(log_joint.sum()), "changed": len(pairs)}]
            if self.order == 1:
                self._inventory, self._inserted = full, _most_inserted(segments_of(pairs, taken), full)
            else:
                self._grown(full, pairs, taken, run)
        self.loglik_ = float(self._evidence(entries).sum())
        convergence.warn_of_end(self, interrupted)
        log.info("fitted %d units to %d words: %s", self._inventory.n_units, self._n_words, self.stop_reason_)
        return self

    def _independent(self, full: Inventory, data: Reduced, run: Runner) -> bool:
        """Fit order 1 by EM; return whether it was interrupted."""
        model = UnitModel.of(full.n_units)
        search = fit(model, data, [model.blank()], options.plan(self, np.random.SeedSequence(0), run))
        accepted = search.best.accepted
        self._model, self._params = model, accepted.params
        self._counts = accepted.expected.stats
        if self.assign != "soft":
            [step] = evaluate(model, data, [accepted.params], SOFT, run)
            self._counts = step.expected.stats
        self.objective_ = accepted.objective
        convergence.record_end(self, search.best.trace, search.best.n_passes, search.best.reason)
        return search.interrupted

    def _grown(self, full: Inventory, pairs: Pairs, taken: Codes, run: Runner) -> None:
        """Count n-grams of rising order, from the best segmentations under the order before; `taken` is of order 1."""
        used = np.unique(taken[taken >= 0])
        inventory = full.having(np.union1d(full.codes[used - 1], full.single()))
        numbers = np.full(full.n_units, -1, dtype=np.int32)
        numbers[1:] = inventory.numbers_of(full.codes)
        taken = np.append(numbers, -1).astype(np.int32)[taken]
        data = reduce_pairs(pairs.renumbered(numbers))
        changed = len(pairs)
        for order in range(2, self.order + 1):
            contexts = contexts_of(segments_of(pairs, taken), order, inventory.n_units)
            if changed:
                log_joint, again = _segmented(contexts, data, run)
                changed = int(np.maximum.reduceat(again != taken, pairs.firsts[:-1]).sum())
                taken = again
                self.stages_.append({"order": order, "log_joint": float(log_joint.sum()), "changed": changed})
        self._inventory = inventory
        self._take_segments(segments_of(pairs, taken))
        self._inserted = _most_inserted(self._segments, inventory)


def _segmented(contexts: Contexts, data: Reduced, run: Runner) -> tuple[Floats, Codes]:
    """Return the best segmentations: their log-probabilities, and the unit into each node."""
    found = list(run(partial(_chunk_best, contexts), data.chunks))
    return np.concatenate([log_joint for log_joint, _ in found]), np.concatenate([taken for _, taken in found])


def _chunk_best(contexts: Contexts, chunk: PairChunk) -> tuple[Floats, Codes]:
    return best(contexts, chunk.blocks)


def _most_inserted(segments: Codes, inventory: Inventory) -> int:
    """Return how many units without letters there are in a row at most, at least one."""
    silent = np.array([u != END and not letters for u, (letters, _) in enumerate(inventory.units)])[segments]
    passed = np.cumsum(silent)
    before = np.maximum.accumulate(np.where(silent, 0, passed))
    return max(1, int((passed - before).max()))
