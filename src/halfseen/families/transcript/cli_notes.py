"""What `halfseen align` says beside times: of the transforms of speakers, and of each recording what to check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from halfseen.families.transcript.alignment import Alignment, Segment
from halfseen.families.transcript.report_doubtful import ODD
from halfseen.families.transcript.surprise import DOUBTFUL
from halfseen.leaves.transforms import KINDS

MOST = 5  # words that a note lists
UNSURE = 0.5  # median confidence of the words of a recording, below which its transcript is probably another one


def notes(name: str, one: Alignment, offset: float = 0.0) -> Iterator[str]:
    """Yield notes on an alignment; `offset` is where its recording begins."""
    if one.surprise > ODD:
        yield f"{name} fits badly (surprise {one.surprise:.1f}): check its transcript"
    elif one.words and median(part.confidence for part in one.words) < UNSURE:
        yield f"{name}: half of the words have a confidence below {UNSURE:g}: check its transcript"
    doubtful = sorted((part for part in one.words if part.surprise > DOUBTFUL), key=lambda part: -part.surprise)
    if doubtful:
        yield f"{name}: {_counted(doubtful, 'does', 'do')} not sound like it: {_listed(doubtful, offset)}"
    if one.left_out:
        absent = _counted(one.left_out, "was", "were")
        yield f"{name}: {absent} not found in the recording: {_listed(one.left_out, offset)}"
    if one.inserted:
        times = ", ".join(f"{offset + part.start:.2f} to {offset + part.end:.2f} s" for part in one.inserted[:MOST])
        more = " ..." if len(one.inserted) > MOST else ""
        yield f"{name}: something that is not in the transcript is said at {times}{more}"


def adapted_summary(alignments: Sequence[Alignment | None]) -> str | None:
    """Return a sentence about the transforms of some alignments; None: there are none."""
    adapted = [one.adapted for one in alignments if one is not None and one.adapted is not None]
    by = list({id(found): found for found in adapted}.values())
    if not by:
        return None
    gain = sum(found.trace[-1] - found.trace[0] for found in by) / sum(found.n_frames for found in by)
    kinds = " and ".join(kind for kind in KINDS if any(found.kind == kind for found in by))
    speakers = "1 speaker" if len(by) == 1 else f"{len(by)} speakers"
    return f"features of {speakers} transformed ({kinds}): log-likelihood + {gain:.3g} per frame; --adapt none does not"


def _counted(parts: Sequence[Segment], one: str, several: str) -> str:
    return f"1 word {one}" if len(parts) == 1 else f"{len(parts)} words {several}"


def _listed(parts: Sequence[Segment], offset: float) -> str:
    more = " ..." if len(parts) > MOST else ""
    return ", ".join(f"{part.written} ({offset + part.start:.2f} s)" for part in parts[:MOST]) + more
