"""Lloyd's algorithm: k-means by a path of its own, one kernel for assignment and sums.

k-means is hard EM of a mixture with equal weights and one fixed variance: a sweep finds the nearest centre of each row
and moves each centre to the mean of its rows. This gives the same assignments and centres as `em` would.

- *rows*: values in float32 or float64; all that is computed of them, less a pivot, is float64.
- *part*: some consecutive rows, the unit of work. There are at most 16, whatever the number of workers.
- *sweep*: one pass over the rows under some centres: assignment, inertia, sums.
- *kept*: sums that outlive a sweep. Rows that keep their centre do not change them, and most are not read.
- *sweeps*: rows to be swept over again and again: `Held` in this process, or rows that other processes hold.
- *run*: the sweeps from one start; `run.reason` says why it ended.

A row with missing cells is compared over its observed columns, and counts as if the others were as far:
distance = D / n_seen * sum over seen columns of (x - centre)^2. Its cells weigh D / n_seen in the means too, so that
the inertia never rises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.engine.services.progress import DROPPED
from halfseen.errors import ObjectiveFell
from halfseen.kernels import active as kernels
from halfseen.leaves.leaf import Floats
from halfseen.sums import Runner, serial

PARTS = 16
SMALLEST = 1024  # rows; below, handing a part to a worker costs more than the part
PANEL = 16  # centres that lie side by side, and are never apart: a group has some panels
GROUPS = (1, 2, 4, 8)  # numbers of groups with a bound of their own; each costs 4 bytes a row
QUEUE = 96  # rows that the kernel holds back
BEYOND = 1e24  # squared numbers, in units, that float32 is not used for
FAR = 16  # squares about the anchors above so many times the inertia: digits would be lost
FELL = 1024  # mass of a centre that was once so many times what it is: heavy rows left, and took digits of light ones
STILL = 5  # sweeps without a gain after which none is expected
NOISE = 4 * np.finfo(np.float64).eps
ROUNDING = 1e-9  # relative rise of the inertia that rounding explains
NOWHERE = 1e-22  # a squared distance below this part of the squared numbers is rounding of a mean
CLOSE = 1e-6  # a squared distance below this part of the squared numbers has lost digits when expanded
FIRST_ROUND = 5  # sweeps before the worse half of the starts is dropped; doubled in every round
FINALISTS = 2  # starts that are run to the end
SLICE = 4096  # rows for which all distances are held at once

CONVERGED = ("assignments unchanged", "tolerance", "rounding")


@dataclass(frozen=True, eq=False)
class Rows:
    """What a sweep goes over.

    Attributes
    ----------
    values : (N, D) float32 or float64, NaN = missing
    weight : (N,)
    pivot : (D,)
    """

    values: NDArray[Any]
    weight: Floats
    pivot: Floats

    def centred(self, part: slice) -> Cells:
        """Return some rows less the pivot."""
        return Cells.of(self.values[part] - self.pivot)


class Cells(NamedTuple):
    """Some rows in float64, ready for distances to centres.

    Attributes
    ----------
    values : (n, D)            0 in missing cells
    seen : (n, D) or None      1 for each observed cell; None if all are
    norm : (n,)                squared
    scale : (n,) or None       D / number of cells seen, 0 where none is
    """

    values: Floats
    seen: Floats | None
    norm: Floats
    scale: Floats | None

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Cells:
        """Return the cells of rows with NaN in missing cells."""
        values = rows.astype(np.float64)
        missing = np.isnan(values)
        seen = scale = None
        if missing.any():
            values[missing] = 0.0
            seen = (~missing).astype(np.float64)
            n_seen = seen.sum(axis=1)
            scale = np.where(n_seen > 0, values.shape[1] / np.maximum(n_seen, 1), 0.0)
        return cls(values, seen, np.einsum("nd,nd->n", values, values), scale)

    def distances(self, centres: Floats) -> Floats:
        """Return the scaled squared distances to centres, (K, n), with all their digits.

        Examples
        --------
        >>> Cells.of(np.array([[3.0, np.nan]])).distances(np.array([[1.0, 7.0]]))
        array([[8.]])
        """
        squares = centres**2
        size = squares.sum(axis=1)[:, None] if self.seen is None else squares @ self.seen.T
        squared = (-2 * centres) @ self.values.T
        squared += self.norm + size
        for k, row in enumerate(squared):
            close = np.flatnonzero(row <= CLOSE * (self.norm + size[k]))
            row[close] = self._apart(close, centres[k])
        return squared if self.scale is None else squared * self.scale

    def to_own(self, centres: Floats) -> Floats:
        """Return the scaled squared distance of row n to centre n, (n,)."""
        apart = self._apart(slice(None), centres)
        return apart if self.scale is None else apart * self.scale

    def filled(self, rows: Any, default: Floats) -> Floats:
        """Return some rows with `default` in their missing cells."""
        return self.values[rows] if self.seen is None else np.where(self.seen[rows] > 0, self.values[rows], default)

    def _apart(self, rows: Any, centres: Floats) -> Floats:
        gaps = self.values[rows] - centres
        if self.seen is not None:
            gaps *= self.seen[rows]
        return np.einsum("nd,nd->n", gaps, gaps)


def parts(n_rows: int) -> list[slice]:
    """Cut rows into parts: their number alone decides."""
    size = max(SMALLEST, -(-n_rows // PARTS))
    return [slice(first, first + size) for first in range(0, n_rows, size)]


class Kept(NamedTuple):
    """Sums over the complete rows of each centre, which only rows that change their centre change.

    Attributes
    ----------
    anchors : (K, D)      what the sums are about: the centres of the last sweep that summed all rows
    sums : (K, D)         of weighted rows less their centre's anchor
    mass : (2, K)         weight of the rows, and how many have any: only that says for sure that a centre has none
    most : (K,)           the greatest weight of the rows after any sweep since all were summed
    squares : float       of all rows about the anchors, weighted
    n_changed : int       rows that came or went since all were summed
    """

    anchors: Floats
    sums: Floats
    mass: Floats
    most: Floats
    squares: float = 0.0
    n_changed: int = 0

    @classmethod
    def none(cls, centres: Floats) -> Kept:
        """Return the sums of no rows."""
        return cls(centres, np.zeros(centres.shape), np.zeros((2, len(centres))), np.zeros(len(centres)))

    def plus(self, sums: Floats, mass: Floats, squares: float, n_changed: int) -> Kept:
        """Return the sums after some rows came and others went; of a centre without rows they are 0."""
        total = self.mass + mass
        used = total[1] > 0
        sums = np.where(used[:, None], self.sums + sums, 0.0)
        most = np.where(used, np.maximum(self.most, total[0]), 0.0)
        return Kept(self.anchors, sums, total * used, most, self.squares + squares, self.n_changed + n_changed)

    def rough(self, inertia: float) -> bool:
        """Whether what went took digits of what is left."""
        return self.squares > FAR * inertia or bool((self.mass[0] * FELL < self.most).any())

    def inertia(self, centres: Floats) -> float:
        """Return the inertia of the rows under other centres."""
        way = centres - self.anchors
        return self.squares - float((way * (2 * self.sums - self.mass[0][:, None] * way)).sum())


class Swept(NamedTuple):
    """What a sweep found under some centres."""

    sums: Floats  # (K, D)  of weighted rows less their centre
    mass: Floats  # (K, D)  weight of the cells in `sums`
    inertia: float
    n_changed: int
    kept: Kept | None  # None: all rows were summed, and will be


class Bounds(NamedTuple):
    """What spares work: how near the centres of a group may be to each row, and how far they moved since.

    All in float32 and times `unit`, rounded so that they hold.

    Attributes
    ----------
    least : (N, G)      less `moved[k, g]`, no centre of group g is nearer to a row of centre k, but k itself; 0 is
                        always true. Written by each sweep
    own : (N,)          plus `went[k]`, centre k is not farther from its row; infinity is always true. Written too
    moved : (K, G)      the longest ways that a centre of group g other than k went so far, added up
    went : (K,)         the ways that centre k went so far, added up
    unit : float        a power of two: distances times this are of moderate size
    """

    least: NDArray[np.float32]
    own: NDArray[np.float32]
    moved: NDArray[np.float32]
    went: NDArray[np.float32]
    unit: float

    @classmethod
    def none(cls, n_rows: int, n_centres: int, size: float) -> Bounds:
        """Return trivial bounds, for numbers of about this size."""
        n_groups = next((n for n in GROUPS if n * PANEL >= n_centres), GROUPS[-1])
        unit = float(2.0 ** -np.frexp(size)[1]) if 1e-290 < size < 1e290 else 1.0
        least, own = np.zeros((n_rows, n_groups), np.float32), np.full(n_rows, np.inf, np.float32)
        return cls(least, own, np.zeros((n_centres, n_groups), np.float32), np.zeros(n_centres, np.float32), unit)

    def after(self, moved: Floats) -> Bounds:
        """Return the bounds for centres of which k went the way `moved[k]`, (K, D)."""
        ways = np.sqrt((moved**2).sum(axis=1)) * self.unit * (1 + 1e-12)  # rounding must not make it shorter
        n_panels = -(-len(ways) // PANEL)
        group = np.arange(len(ways)) // (PANEL * -(-n_panels // self.moved.shape[1]))
        longest = np.zeros(self.moved.shape)
        for g in range(self.moved.shape[1]):
            own = np.where(group == g, ways, 0.0)
            first = int(own.argmax())
            longest[:, g] = own[first]
            longest[first, g] = np.delete(own, first).max(initial=0.0)
        return self._replace(moved=_longer(self.moved, longest), went=_longer(self.went, ways))


def _longer(way: NDArray[np.float32], more: Floats) -> NDArray[np.float32]:
    """Return the sum of two ways, rounded up."""
    with np.errstate(over="ignore"):
        total = (way + more).astype(np.float32)
    return np.where(more > 0, np.nextafter(total, np.float32(np.inf)), way)


def sweep(
    rows: Rows,
    centres: Floats,
    labels: NDArray[np.int32],
    runner: Runner = serial,
    bounds: Bounds | None = None,
    kept: Kept | None = None,
) -> Swept:
    """Assign every row to its nearest centre (less the pivot), in `labels`, and sum the rows of each centre.

    `kept` are the sums of the last sweep, to be changed by the rows that change their centre. After as many changes as
    there are rows, where the centres left their anchors far behind, and where one lost nearly all its weight, all rows
    are summed again, so that rounding is no more than in a single pass.
    """
    bounds = bounds or Bounds.none(len(labels), len(centres), float(np.abs(centres).max()))
    fresh = kept is None or kept.n_changed > len(labels)
    before = Kept.none(centres) if kept is None or fresh else kept
    near = rows.pivot.astype(rows.values.dtype)
    rounded, panels, half = pack(centres + (rows.pivot - near), bounds.unit)
    inputs = rows.pivot, centres, before.anchors, fresh, bounds.unit, near, rounded, panels, half
    ways = bounds.moved, bounds.went

    def task(part: slice) -> Floats:
        whole, out = _zeros(centres.shape)
        workspace = np.empty((QUEUE, 3 * centres.shape[1] + half.shape[1]), np.float32)
        weight = np.ascontiguousarray(rows.weight[part])  # equal weights may be one number, repeated
        own = labels[part], bounds.least[part], bounds.own[part]
        kernels.lloyd(rows.values[part], weight, *inputs, *ways, workspace, *own, *out)
        return whole

    total, (sums, mass, cell_sums, cell_mass, totals) = _zeros(centres.shape)
    for found in runner(task, parts(len(rows.values))):
        total += found
    squares, holed, n_changed = totals.tolist()
    with np.errstate(invalid="ignore"):  # infinities show in the inertia
        after = before.plus(sums, mass, squares, 0 if fresh else int(n_changed))
        inertia = after.inertia(centres)
        way = centres - after.anchors
        if not fresh and (after.rough(inertia) or float((cell_mass * way**2).sum()) > FAR * holed):
            return sweep(rows, centres, labels, runner, bounds)._replace(n_changed=int(n_changed))
        whole = after.mass[0][:, None] + cell_mass
        about = after.sums + cell_sums - whole * way
    return Swept(about, whole, inertia + holed, int(n_changed), after)


def _zeros(shape: tuple[int, int]) -> tuple[Floats, tuple[Floats, ...]]:
    """Return zeros for what a sweep of centres of this shape adds up: in one piece, and one array for each thing."""
    n_centres, n_columns = shape
    size = n_centres * n_columns
    whole = np.zeros(3 * size + 2 * n_centres + 3)
    sums, cell_sums, cell_mass = whole[: 3 * size].reshape(3, *shape)
    mass = whole[3 * size : -3].reshape(2, n_centres)
    return whole, (sums, mass, cell_sums, cell_mass, whole[-3:])


class Packed(NamedTuple):
    """Centres as the kernel takes them, all times `unit` or its square."""

    rounded: NDArray[np.float32]  # (K, D)
    panels: NDArray[np.float32]  # (P, 2 D, 16)  sixteen side by side, then -c^2 / 2
    half: NDArray[np.float32]  # (2, 16 P)  -|c|^2 / 2, and 0; -inf in the padding


def pack(centres: Floats, unit: float) -> Packed:
    """Return centres as the kernel takes them.

    Examples
    --------
    >>> rounded, panels, half = pack(np.array([[3.0], [4.0]]), 1.0)
    >>> panels.shape, panels[0, :, :2].tolist(), half[:, 1:3].tolist()
    ((1, 2, 16), [[3.0, 4.0], [-4.5, -8.0]], [[-8.0, -inf], [0.0, -inf]])
    """
    n_centres, n_columns = centres.shape
    n_padded = -(-n_centres // PANEL) * PANEL
    half = np.full((2, n_padded), -np.inf, np.float32)
    padded = np.zeros((n_padded, 2 * n_columns), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (centres * unit) ** 2
        if not (squares.sum(axis=1) < BEYOND).all():  # NaN: the kernel does not use float32
            half[:] = np.nan
            return Packed(padded[:n_centres, :n_columns].copy(), padded.reshape(-1, 2 * n_columns, PANEL), half)
    half[0, :n_centres] = -squares.sum(axis=1) / 2
    half[1, :n_centres] = 0.0
    padded[:n_centres, :n_columns] = centres * unit
    padded[:n_centres, n_columns:] = -squares / 2
    panels = np.ascontiguousarray(padded.reshape(-1, PANEL, 2 * n_columns).transpose(0, 2, 1))
    return Packed(padded[:n_centres, :n_columns].copy(), panels, half)


@dataclass(frozen=True)
class Plan:
    """When to stop: centres moved by at most `tol` in all (squared), or after `max_iter` sweeps.

    `told` is called after each sweep with all runs that are compared.
    """

    tol: float
    max_iter: int
    runner: Runner = serial
    told: Callable[[Sequence[Run]], None] | None = None


class Sweeps(Protocol):
    """Rows that are swept over again and again."""

    @property
    def pivot(self) -> Floats:
        """What centres are measured from."""

    @property
    def mass(self) -> float:
        """The weight of all rows."""

    def begin(self, n_centres: int, variance: float) -> None:
        """Begin a run with so many centres; forget earlier sweeps."""

    def sweep(self, centres: Floats, runner: Runner = serial, anew: bool = False) -> Swept:
        """Assign every row to its nearest centre; `anew`: sum all rows again."""

    def went(self, moved: Floats) -> None:
        """Note that the centres of the next sweep went these ways since the last."""

    def farthest(self, centres: Floats, n_wanted: int) -> list[Floats]:
        """Return rows far from their own centre, as of the last sweep, and from each other; see `farthest`."""

    def sizes(self) -> Floats:
        """Return the weight of the rows of each centre, as of the last sweep."""


class Held:
    """Rows in this process, with labels, bounds and sums of the last sweep."""

    def __init__(self, rows: Rows) -> None:
        self._n_centres = 1
        self.rows = rows
        self.labels = np.full(len(rows.values), -1, dtype=np.int32)
        self._bounds: Bounds | None = None
        self._kept: Kept | None = None

    @property
    def pivot(self) -> Floats:
        """What centres are measured from."""
        return self.rows.pivot

    @property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self.rows.weight.sum())

    def begin(self, n_centres: int, variance: float) -> None:
        """Forget earlier sweeps."""
        self.labels[:] = -1
        self._bounds = Bounds.none(len(self.labels), n_centres, float(np.sqrt(variance)))
        self._kept = None

    def sweep(self, centres: Floats, runner: Runner = serial, anew: bool = False) -> Swept:
        """Assign every row to its nearest centre."""
        swept = sweep(self.rows, centres, self.labels, runner, self._bounds, None if anew else self._kept)
        self._kept, self._n_centres = swept.kept, len(centres)
        return swept

    def went(self, moved: Floats) -> None:
        """Note that the centres of the next sweep went these ways since the last."""
        assert self._bounds is not None
        self._bounds = self._bounds.after(moved)

    def farthest(self, centres: Floats, n_wanted: int) -> list[Floats]:
        """Return rows far from their own centre and from each other."""
        return farthest(self.rows, self.labels, centres, n_wanted)

    def sizes(self) -> Floats:
        """Return the weight of the rows of each centre."""
        return np.bincount(self.labels, self.rows.weight, minlength=self._n_centres).astype(np.float64)


@dataclass
class Run:
    """The sweeps from one start, so far.

    Attributes
    ----------
    rows : Sweeps
    centres : (K, D) less the pivot
    variance : float       mean variance of the columns: what rounding is measured by
    key : int              number of the start
    begun : bool           whether the centres are from sweeps over some of the rows: an interrupt then keeps them
    trace : list           inertia of the centres before each sweep; in the end, of those returned too
    n_iter : int
    reason : str or None   None while it runs
    events : list of str
    """

    rows: Sweeps
    centres: Floats
    variance: float
    key: int = 0
    begun: bool = False
    trace: list[float] = field(default_factory=list)
    n_iter: int = 0
    reason: str | None = None
    events: list[str] = field(default_factory=list)
    weight: float = field(init=False)  # of all rows

    def __post_init__(self) -> None:
        self.weight = self.rows.mass
        self.rows.begin(len(self.centres), self.variance)

    def advance(self, plan: Plan, n_sweeps: int, beside: Sequence[Run] = ()) -> None:
        """Make so many more sweeps, or fewer if the run ends; `beside` are all runs that it is compared with."""
        for _ in range(n_sweeps):
            if self.reason is not None:
                return
            self._step(plan)
            if plan.told is not None:
                plan.told(beside or [self])

    def finish(self, plan: Plan, beside: Sequence[Run] = ()) -> None:
        """Run to the end; a keyboard interrupt after the first sweep ends it where it is."""
        try:
            self.advance(plan, plan.max_iter, beside)
        except KeyboardInterrupt:
            if not (self.trace or self.begun):
                raise
            self.reason = "interrupted"
        last = self.rows.sweep(self.centres, plan.runner, anew=True).inertia
        if self.reason == "assignments unchanged":
            self.trace.pop()  # the same, of sums that were kept
        self._record(last)

    def _step(self, plan: Plan) -> None:
        swept = self.rows.sweep(self.centres, plan.runner)
        self._record(swept.inertia)
        self.n_iter += 1
        centres = move(self.centres, swept)
        filled = self._fill_empty(centres, swept)
        if swept.n_changed == 0 and not filled:
            self.reason = "assignments unchanged"
            if swept.kept is None or swept.kept.anchors is self.centres:  # sums about far anchors had lost digits
                self._go(centres)
            return  # these are the means already, and what the labels belong to
        if float((self._go(centres) ** 2).sum()) <= plan.tol:
            self.reason = "tolerance"
        elif self._still():
            self.reason = "rounding"
        elif self.n_iter >= plan.max_iter:
            self.reason = "max_iter"

    def _go(self, centres: Floats) -> Floats:
        """Move to other centres; return the ways that they went."""
        moved = centres - self.centres
        self.rows.went(moved)
        self.centres = centres
        return moved

    def _still(self) -> bool:
        """Whether the last sweeps gained nothing: rows at equal distance from two centres alternate."""
        return len(self.trace) > STILL and bool(self.trace[-1] >= self.trace[-1 - STILL] * (1 - NOISE))

    def _record(self, inertia: float) -> None:
        nothing = 1e-12 * self.variance * self.weight * self.centres.shape[1]
        if self.trace and inertia > self.trace[-1] * (1 + ROUNDING) + nothing:
            raise ObjectiveFell(self.n_iter, -self.trace[-1], -inertia)
        self.trace.append(inertia)

    def _fill_empty(self, centres: Floats, swept: Swept) -> bool:
        """Move centres without rows to the rows that are farthest from theirs; return whether any moved."""
        empty = np.flatnonzero(~(swept.mass > 0).any(axis=1))
        if not len(empty):
            return False
        places = self.rows.farthest(centres, len(empty))
        for k, place in zip(empty, places, strict=False):
            centres[k] = place
            self.events.append(f"sweep {self.n_iter}: centre {k} had no rows and was moved to the farthest row")
        return len(places) > 0


def move(centres: Floats, swept: Swept) -> Floats:
    """Return the means of the rows of each centre; a cell without mass stays where it was."""
    return centres + np.where(swept.mass > 0, swept.sums / np.where(swept.mass > 0, swept.mass, 1.0), 0.0)


def farthest(rows: Rows, labels: NDArray[np.int32], centres: Floats, n_wanted: int) -> list[Floats]:
    """Return rows far from their own centre and from each other, less the pivot, farthest first.

    Missing cells are filled from the row's own centre. Fewer are returned when no other row is away from its centre.
    """
    far = gaps(rows, labels, centres)
    found: list[Floats] = []
    while len(found) < n_wanted and far.max() > 0:
        row = int(far.argmax())
        found.append(rows.centred(slice(row, row + 1)).filled(0, centres[labels[row]]))
        _nearer(far, rows, found[-1])
    return found


def gaps(rows: Rows, labels: NDArray[np.int32], centres: Floats, places: Sequence[Floats] = ()) -> Floats:
    """Return the squared distance of each row to the nearest of its own centre and some places; 0 without weight."""
    found = np.empty(len(labels))
    for part in _slices(len(labels)):
        own = centres[labels[part]]
        apart = rows.centred(part).to_own(own)
        found[part] = np.where(apart > NOWHERE * (own**2).sum(axis=1), apart, 0.0)
    found[rows.weight == 0] = 0.0
    for place in places:
        _nearer(found, rows, place)
    return found


def _nearer(found: Floats, rows: Rows, place: Floats) -> None:
    """Lower the distances of rows that are nearer to a place."""
    for part in _slices(len(found)):
        found[part] = np.minimum(found[part], rows.centred(part).distances(place[None])[0])


def _slices(n_rows: int) -> list[slice]:
    return [slice(first, first + SLICE) for first in range(0, n_rows, SLICE)]


def race(runs: Sequence[Run], plan: Plan) -> Run:
    """Successive halving: drop the worse half of the runs, finish the rest, and return the best.

    A keyboard interrupt ends all of them; the best so far is returned.
    """
    racing, n_sweeps = list(runs), FIRST_ROUND
    try:
        while len(racing) > FINALISTS:
            for run in racing:
                run.advance(plan, n_sweeps, runs)
            racing = sorted(racing, key=lambda run: run.trace[-1])
            for run in racing[max(FINALISTS, len(racing) // 2) :]:
                run.reason = DROPPED
            racing = [run for run in racing if run.reason != DROPPED]
            n_sweeps *= 2
        for run in racing:
            run.finish(plan, runs)
            if run.reason == "interrupted":
                return run
    except KeyboardInterrupt:
        begun = [run for run in racing if run.trace]
        if not begun:
            raise
        racing = [min(begun, key=lambda run: run.trace[-1])]
        racing[0].reason = "interrupted"
        racing[0].finish(plan)
    return min(racing, key=lambda run: run.trace[-1])
