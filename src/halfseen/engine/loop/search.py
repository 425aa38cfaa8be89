"""Restarts: independent runs from many starts, all in the same passes over the data.

Every start is run by itself until it has nearly converged, or until it is clear that it will end below the best. How
many reach the best objective tells how far it can be trusted. Where the number of starts is left open ("auto"), it is
doubled until enough of them agree. Only the best run is then polished to the tolerance asked for.

After the first round, half of the starts may be near the best solution so far, where the family knows how to draw such
starts. They can improve it, but they are no independent evidence for it.

Runs of a fixed length (sampled assignment, `stop="iterations"`) cannot be compared like this: they are raced by
successive halving, and one is run to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from halfseen import stop_request
from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.course import Course, View
from halfseen.engine.loop.em import em
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.gradient import METHODS, GradientRun
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.run import Average, EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import NEARLY, Rule, never
from halfseen.engine.services.checkpoint import current, evaluate, stop_recording
from halfseen.engine.services.progress import DROPPED
from halfseen.errors import ParameterError
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.sums import Runner, serial

FIRST_STARTS = 16  # of an open number of starts; doubled until enough agree
MOST_STARTS = 128
ENOUGH = 3  # runs that agree: two often meet at a local maximum that is easily found
AGREE = 1e-3  # objectives of runs that reached the same maximum differ by less than this,
AGREE_SHARE = 1e-9  # or by less than this share of them, where they are large
COMPARED = 1e-4  # estimated remaining gain at which runs are compared
TRIAL = 15  # passes before a run may be dropped: ranks after 5 are nearly random
EVERY = 5  # passes between two looks at which runs may be dropped
HOPELESS = 30  # a run is dropped if not even this many times its estimated remaining gain takes it to the best
FIRST_ROUND = 5  # of a race: passes before the first half is dropped; doubled in every round
STAGE = 10  # passes at each temperature of annealing
JITTER = 0.1  # of components after each temperature: identical ones would stay identical


@dataclass(frozen=True)
class Plan:
    """How to search: what a fit needs to know beside the model, the data and the starts.

    Attributes
    ----------
    assign : Assign
    rule : Rule             when a run has converged; `never` makes exactly `max_iter` passes
    max_iter : int          most passes over the data per run
    accelerate : bool       extrapolate by SQUAREM (soft mode)
    method : str            "em", or a gradient method: "gradient", "lbfgs" (soft mode)
    learning_rate : float   "gradient": first multiple of the gradient to move by; None: chosen
    anneal : sequence       rising inverse temperatures of deterministic annealing
    runner : Runner         maps tasks over chunks
    seed : SeedSequence     of annealing and of sampled completions
    compared : Rule         when runs are compared, after which the best goes on to `rule`; None: `rule`
    """

    assign: Assign = SOFT
    rule: Rule = never
    max_iter: int = 1000
    accelerate: bool = True
    method: str = "em"
    learning_rate: float | None = None
    anneal: Sequence[float] = ()
    runner: Runner = serial
    seed: np.random.SeedSequence = field(default_factory=lambda: np.random.SeedSequence(0))
    compared: Rule | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"method={self.method!r} is not one of {', '.join(map(repr, METHODS))}.")
        if self.method != "em" and self.assign.mode != "soft":
            raise ParameterError(
                f"method={self.method!r} maximises the log-likelihood and needs assign='soft', got "
                f"assign={self.assign.mode!r}. Use method='em'."
            )

    @property
    def plain(self) -> bool:
        """Whether runs make `max_iter` plain soft iterations, each of which needs the last parameters only."""
        return self.rule is never and self.assign.mode == "soft" and not (self.accelerate or self.anneal)

    @property
    def fixed_length(self) -> bool:
        """Whether runs make `max_iter` passes, whatever they find."""
        return self.rule is never

    def run(self, model: Model, params: Params, key: int) -> EMRun:
        """Return a run that follows this plan up to the point where runs are compared."""
        passed, rule = STAGE * len(self.anneal), self.compared or self.rule
        if self.method != "em":
            return GradientRun(
                model,
                params,
                self.assign,
                rule,
                self.max_iter,
                key=key,
                n_passes=passed,
                method=self.method,
                rate=self.learning_rate,
            )
        squarem = Squarem() if self.accelerate and self.assign.mode == "soft" else None
        return EMRun(model, params, self.assign, rule, self.max_iter, squarem, key, n_passes=passed)


@dataclass(frozen=True)
class Starts:
    """Where runs begin.

    Attributes
    ----------
    draw : callable       gives start number i, which depends on i alone
    number : int or None  how many starts; None: as many as it takes until enough agree
    near : callable       gives start number i near given parameters; None: all starts are drawn on their own
    """

    draw: Callable[[int], Params]
    number: int | None = None
    near: Callable[[Params, int], Params] | None = None

    @classmethod
    def given(cls, starts: Sequence[Params]) -> Starts:
        """Return the starts of a list."""
        return cls(starts.__getitem__, len(starts))

    def rounds(self) -> Iterator[range]:
        """Yield the numbers of the starts, round by round.

        Examples
        --------
        >>> [len(numbers) for numbers in Starts(lambda i: None).rounds()]
        [16, 16, 32, 64]
        """
        if self.number is not None and self.near is None:
            yield range(self.number)
            return
        n_starts, most = 0, MOST_STARTS if self.number is None else self.number
        while n_starts < most:
            following = min(max(FIRST_STARTS, 2 * n_starts), most)
            yield range(n_starts, following)
            n_starts = following

    def first(self) -> Iterator[Params]:
        """Yield the starts of their own: as many as were asked for, else those of the first round."""
        return map(self.draw, range(self.number or FIRST_STARTS))


@dataclass(frozen=True)
class Search:
    """The result of a search.

    Attributes
    ----------
    best : EMRun            the winner; `best.step` has the parameters and their objective
    objectives : list       of the runs that were not dropped, best first; the others as they were compared
    n_starts : int
    n_agree : int           runs that reached the best objective, the best one among them
    interrupted : bool
    """

    best: EMRun
    objectives: list[float]
    n_starts: int
    n_agree: int
    interrupted: bool = False


def fit(
    model: Model,
    data: Reduced,
    starts: Starts | Sequence[Params],
    plan: Plan,
    trace: Sequence[float] | None = None,
    view: View | None = None,
) -> Search:
    """Run EM from every start until runs can be compared, and polish the best.

    A keyboard interrupt, or a stop from another thread, ends the search with the best run so far, once every start of
    the first round was evaluated.
    With a `trace`, the objectives of iterations already made, the one start is the position of a run that is resumed.
    `view` makes what a watcher is shown of the leading run.
    """
    contest = Contest(model, data, plan, view)
    starts = starts if isinstance(starts, Starts) else Starts.given(starts)
    if plan.fixed_length:
        starts = replace(starts, near=None)  # runs of a given length race: there is no solution before the last pass
    interrupted = False
    try:
        contest.hold(starts, trace)
        contest.polish()
    except KeyboardInterrupt:
        contest.close()
        if contest.best is None:
            raise
        interrupted = True
        stop_recording()
    return contest.result(interrupted)


class Contest:
    """The runs of a search.

    Attributes
    ----------
    best : EMRun or None    the best of all runs that are done
    ranks : list            health and objective of each run that is done, was not dropped and began on its own
    near : set              numbers of the runs that began near the best: they are no evidence that others agree with it
    running : list          those of the present round
    n_starts : int          starts so far
    course : Course         what a watcher is told
    """

    def __init__(self, model: Model, data: Reduced, plan: Plan, view: View | None = None) -> None:
        self.model, self.data, self.plan = model, data, plan
        self.best: EMRun | None = None
        self.ranks: list[tuple[bool, float]] = []
        self.near: set[int] = set()
        self.running: list[EMRun] = []
        self.n_starts = 0
        self.course = Course(plan.max_iter, view)
        self._known: set[bytes] = set()

    def hold(self, starts: Starts, trace: Sequence[float] | None) -> None:
        """Run round after round until there are no more starts; of an open number, until enough runs agree."""
        for numbers in starts.rounds():
            self.running = self._entered(starts, numbers)
            if not self.running:
                return
            if trace is not None:
                assert self.plan.plain, "only a run of plain iterations can be resumed from its parameters"
                [run] = self.running
                run.trace, run.n_passes = list(trace), len(trace)
            self._advance()
            self.close()
            if starts.number is None and (self.n_agree >= ENOUGH or not self._comparable):
                return

    def _entered(self, starts: Starts, numbers: range) -> list[EMRun]:
        """Return the runs of a round; a start that repeats an earlier one is dropped.

        Starts repeat where labels or the user leave nothing to chance.
        """
        fresh: dict[int, Params] = {}
        for number in numbers:
            stop_request.check()
            params = self._start(starts, number)
            content = self.model.pack(params).tobytes() if len(numbers) > 1 else b""
            if content not in self._known:
                self._known.add(content)
                fresh[number] = params
        self.n_starts += len(fresh)
        begun = self._annealed(fresh)
        return [self.plan.run(self.model, params, number) for number, params in begun.items()]

    def _start(self, starts: Starts, number: int) -> Params:
        """Return start number i: after the first round, two of four are near the best solution so far.

        Two in a row: what a family draws by turns, it goes on to draw by turns.
        """
        if starts.near is None or self.best is None or number % 4 < 2:
            return starts.draw(number)
        self.near.add(number)
        return starts.near(self.best.accepted.params, number)

    def _annealed(self, starts: dict[int, Params]) -> dict[int, Params]:
        """Deterministic annealing: iterations at rising inverse temperatures, with a jitter after each."""
        model, plan = self.model, self.plan
        for stage, beta in enumerate(plan.anneal):
            hot = plan.assign.cooled(beta)
            runs = [
                EMRun(model, params, hot, key=number, n_passes=stage * STAGE, pause=(stage + 1) * STAGE)
                for number, params in starts.items()
            ]
            for _ in em(self._pass(hot), runs):
                self.course.report(self._all(), self.n_starts, warm=runs)
            rngs = [np.random.default_rng(child(plan.seed, run.key, stage)) for run in runs]
            starts = {run.key: model.jitter(run.params, JITTER, rng) for run, rng in zip(runs, rngs, strict=True)}
        return starts

    def _advance(self) -> None:
        """Run a round to the point where its runs can be compared."""
        if self.plan.fixed_length:
            self._race()
            self._complete()
            return
        for n_passes, _ in enumerate(em(self._pass(self.plan.assign), self.running), start=1):
            self._report()
            if n_passes >= TRIAL and n_passes % EVERY == 0:
                self._drop_hopeless()

    def _drop_hopeless(self) -> None:
        """Drop the runs that will clearly end below the best so far."""
        best = max(run.rank for run in self._all())
        within = _slack(best[1])
        for run in self.running:
            if run.reason is None and run.rank < best and run.objective + HOPELESS * run.left < best[1] - within:
                run.reason = DROPPED

    def _race(self) -> None:
        """Successive halving: drop the worse half, give the rest twice as many iterations, until one is left.

        Sampled runs race within the first half of their passes: the second half is averaged.
        """
        plan = self.plan
        last = plan.max_iter // 2 if plan.assign.mode == "sample" else plan.max_iter
        extra = FIRST_ROUND
        while len(self.running) > 1:
            for run in self.running:
                run.pause = min(run.n_passes + extra, max(last, 1))
            for _ in em(self._pass(plan.assign), self.running):
                self._report()
            self.running.sort(key=lambda run: run.rank, reverse=True)
            worse = self.running[ceil(len(self.running) / 2) :]
            for run in worse:
                run.reason = DROPPED
            self.course.leave(worse)
            del self.running[-len(worse) :]
            extra *= 2

    def _complete(self) -> None:
        """Make the passes that are left; a sampled run ends with the mean statistics of its second half."""
        [run], plan, average = self.running, self.plan, Average()
        run.pause = None
        for _ in em(self._pass(plan.assign), [run]):
            if plan.assign.mode == "sample" and run.n_passes > plan.max_iter // 2:
                average.add(self.model, run.accepted)
            self._report()
        if average.n_steps:
            [run.step] = evaluate(self.model, self.data, [average.params(self.model)], SOFT, plan.runner)

    def close(self) -> None:
        """End a round: keep its best run, if it is the best of all, and of the others how they ended."""
        every = self._all()
        done = [run for run in every if run.step is not None]
        alone = [run for run in self.running if run.key not in self.near]
        self.ranks += [run.rank for run in alone if run.step is not None and run.reason != DROPPED]
        self.best = max(done, key=lambda run: run.rank, default=None)
        self.course.leave(run for run in every if run is not self.best)
        self.running = []

    def _all(self) -> list[EMRun]:
        return self.running if self.best is None else [self.best, *self.running]

    @property
    def n_agree(self) -> int:
        """How many runs are as healthy as the best and reached its objective; itself, and others that began alone."""
        healthy, objective = max(self._compared)
        return sum(rank >= (healthy, objective - _slack(objective)) for rank in self._compared)

    @property
    def _compared(self) -> list[tuple[bool, float]]:
        """The ranks of the runs that began alone, and of the best if it is another one."""
        assert self.best is not None
        return [*self.ranks, self.best.rank] if self.best.key in self.near else self.ranks

    @property
    def _comparable(self) -> bool:
        """Whether the best run has gone far enough for others to be compared with it."""
        return not self.plan.fixed_length and self.best is not None and self.best.reason != "max_iter"

    def polish(self) -> None:
        """Let the best run go on to the tolerance asked for."""
        run, plan = self.best, self.plan
        if run is None or run.reason != NEARLY:
            return
        run.rule, run.reason = plan.rule, None
        for _ in em(self._pass(plan.assign), [run]):
            self._report(polishing=True)

    def result(self, interrupted: bool) -> Search:
        """Return what was found."""
        assert self.best is not None
        if self.best.reason in (None, NEARLY):
            self.best.reason = "interrupted"
        others = [objective for _, objective in sorted(self._compared, reverse=True)[1:]]
        return Search(self.best, [self.best.objective, *others], self.n_starts, self.n_agree, interrupted)

    def _report(self, polishing: bool = False) -> None:
        self.course.report(self._all(), self.n_starts, polishing=polishing)

    def _pass(self, assign: Assign) -> Callable[[Sequence[EMRun]], list[Step]]:
        """Return the E-step of all active runs, in one pass over the data, each with its own generators."""
        data, plan = self.data, self.plan

        def one_pass(active: Sequence[EMRun]) -> list[Step]:
            params = [run.params for run in active]
            keys = [(run.key, run.n_passes) for run in active]
            if plan.plain and (checkpoint := current()):
                checkpoint.save_position(data, active[0].trace, params[0])
            return evaluate(self.model, data, params, assign, plan.runner, plan.seed, keys)

        return one_pass


def _slack(objective: float) -> float:
    """Return by how much the objectives of two runs may differ that reached the same maximum."""
    return max(AGREE, AGREE_SHARE * abs(objective))
