"""Captions made of aligned words: where they are cut, how they are broken into lines, how long they are shown.

- *piece*: what stands between two blanks of the text, with its time.
- *cue*: a caption, as lines of pieces.

Captions of pieces i to j - 1 are chosen to minimise the sum of their costs by dynamic programming,

    best[j] = min over i of best[i] + caption + cut[j] + sum of kept[i < k < j] + uneven (1 - fill)^2 + hurried * lack,

over all captions that fit in the lines, and last no longer than allowed unless they have one piece. `cut[k]` is small
where a sentence, a line or a clause of the text ends, and falls to zero with the pause there; `kept[k]` is paid for the
end of a sentence or a line, or a pause, within a caption; `fill` is the share of the characters that would fit; `lack`
is the time, in seconds, that the reader has too little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from halfseen.errors import ParameterError
from halfseen.families.transcript.written.captions import Caption, clock, escaped
from halfseen.families.transcript.written.tokens import Token, logical_lines

if TYPE_CHECKING:
    from halfseen.families.transcript.alignment import Alignment

CAPTION = 2.0  # cost of every caption: few are better than many
CUT_SENTENCE, CUT_LINE, CUT_CLAUSE, CUT_WORD = 0.0, 0.5, 2.0, 5.0  # of a cut there, without a pause
CUT_SHORT = 2.0  # more after a short word: "the" and "of" belong to what follows
KEPT_SENTENCE, KEPT_LINE, KEPT_PAUSE = 3.0, 1.5, 2.0  # within a caption; of a pause: for each `pause` that it lasts
UNEVEN = 2.0  # of an empty caption: two of one half are better than a full one and a scrap
HURRIED = 4.0  # of a second that is missing to read a caption
BREAK_WORD, BREAK_SHORT, BREAK_CLAUSE = 400.0, 150.0, 30.0  # of a line, in squared characters: see `_broken`
SHORT = 3  # letters of a short word
CLAUSE = (",", ";", ":", "—", "–", "…", "-", "،", "、")
CLOSING = "\"'”’»)]"


@dataclass(frozen=True)
class Rules:
    """Rules of captions.

    Attributes
    ----------
    line_length : int     characters in a line; a longer word has a line of its own
    lines : int           most lines of a caption
    speed : float         characters per second that can be read: a caption stays, if there is a pause, until it is read
    shortest, longest : float     seconds that a caption is shown, if the next one leaves room
    gap : float           seconds between captions: two frames of a film
    pause : float         seconds of silence at which a cut is always good
    """

    line_length: int = 42
    lines: int = 2
    speed: float = 17.0
    shortest: float = 1.0
    longest: float = 7.0
    gap: float = 0.083
    pause: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value, zero = getattr(self, field.name), field.name in ("shortest", "gap")
            whole = field.name in ("line_length", "lines")
            if not (
                math.isfinite(value) and (value > 0 or (zero and value == 0)) and (not whole or value == int(value))
            ):
                kind = "whole number" if whole else "number"
                raise ParameterError(f"{field.name}={value!r} is not a {kind} {'of at least' if zero else 'above'} 0.")
        if self.shortest > self.longest:
            raise ParameterError(f"shortest={self.shortest!r} is more than longest={self.longest!r}.")


class Piece(NamedTuple):
    """Text without blanks around it, the seconds at which it is said, its line and its sentence in the transcript."""

    text: str
    start: float
    end: float
    line: int = 0
    sentence: int = 0


class Cue(NamedTuple):
    """A caption: the seconds at which it is shown, and its lines."""

    start: float
    end: float
    lines: tuple[tuple[Piece, ...], ...]

    @property
    def caption(self) -> Caption:
        """The caption as plain text."""
        return Caption(self.start, self.end, "\n".join(" ".join(piece.text for piece in line) for line in self.lines))

    @property
    def timed_text(self) -> str:
        """The text as WebVTT with the time of each piece after the first."""
        last, end = round(self.start * 1000), round(self.end * 1000)
        lines = []
        for line in self.lines:
            shown = []
            for piece in line:
                at = round(piece.start * 1000)
                timed = last < at < end and piece is not self.lines[0][0]
                shown.append(f"<{clock(at / 1000, True)}>{escaped(piece.text)}" if timed else escaped(piece.text))
                last = at if timed else last
            lines.append(" ".join(shown))
        return "\n".join(lines)


def pieces_of(alignments: Sequence[Alignment]) -> list[Piece]:
    """Return the text of alignments with its times; a word without a time is said when the one before it ends."""
    found: list[Piece] = []
    line = sentence = 0
    for one in alignments:
        tokens = one.tokens or [Token(part.name, part.name, 1) for part in one.words if part.word >= 0]
        numbers = {part.word: part for part in one.words} if one.tokens else dict(enumerate(one.words))
        lines = logical_lines(tokens)
        at = min((part.start for part in one.words), default=0.0)
        for i, token in enumerate(tokens):
            start, end = (numbers[i].start, numbers[i].end) if i in numbers else (at, at)
            first, *more = token.text.split()
            if token.joined and found:
                found[-1] = found[-1]._replace(text=found[-1].text + first, end=end)
            else:
                more = [first, *more]
            found += [Piece(text, start, end, line + lines[token.line], sentence + token.sentence) for text in more]
            at = end
        if tokens:
            line, sentence = line + tokens[-1].line + 1, sentence + tokens[-1].sentence + 1
    return found


def cues_of(pieces: Sequence[Piece], rules: Rules | None = None, until: float = math.inf) -> list[Cue]:
    r"""Return the captions of a text; `until` is the end of the recording.

    Every piece is in one of them, in its order; times rise, and captions do not overlap.

    Examples
    --------
    >>> said = "I have a dream that one day this nation will rise up and live out its creed. Yes!".split()
    >>> pieces = [Piece(text, 0.4 * i, 0.4 * i + 0.4, sentence=i // 17) for i, text in enumerate(said)]
    >>> for cue in cues_of(pieces):
    ...     print(cue.caption)
    Caption(start=0.0, end=6.717, text='I have a dream that one day this nation\nwill rise up and live out its creed.')
    Caption(start=6.8, end=7.8, text='Yes!')
    """
    rules = Rules() if rules is None else rules
    cuts = [0, *_cuts(pieces, rules)]
    chosen = [pieces[i:j] for i, j in pairwise(cuts)]
    times = _times(chosen, rules, until)
    return [Cue(*time, tuple(_broken(part, rules))) for time, part in zip(times, chosen, strict=True)]


def _cuts(pieces: Sequence[Piece], rules: Rules) -> list[int]:
    """Return the numbers of the pieces after which captions end, by dynamic programming."""
    n = len(pieces)
    cut, kept = _boundaries(pieces, rules)
    best, back = [0.0] + [math.inf] * n, [0] * (n + 1)
    for j in range(1, n + 1):
        inside, room = 0.0, pieces[j].start - rules.gap if j < n else math.inf
        for i in range(j - 1, -1, -1):
            part = pieces[i:j]
            if j - i > 1:
                inside += kept[i + 1]
                if pieces[j - 1].end - pieces[i].start > rules.longest or not _fits(part, rules):
                    break
            length = sum(len(piece.text) + 1 for piece in part) - 1
            lack = _needed(length, rules) - min(room - pieces[i].start, rules.longest)
            uneven = (1 - min(1.0, length / (rules.lines * rules.line_length))) ** 2
            cost = best[i] + CAPTION + cut[j] + inside + UNEVEN * uneven + HURRIED * max(0.0, lack)
            if cost < best[j]:
                best[j], back[j] = cost, i
    found = [n] if n else []
    while found and back[found[-1]]:
        found.append(back[found[-1]])
    return found[::-1]


def _boundaries(pieces: Sequence[Piece], rules: Rules) -> tuple[list[float], list[float]]:
    """Return the costs of a cut before each piece and after the last, and those of none."""
    cut, kept = [0.0], [0.0]
    for one, other in pairwise(pieces):
        pause = max(0.0, other.start - one.end)
        sentence, line = other.sentence != one.sentence, other.line != one.line
        word = CUT_CLAUSE if _ends_clause(one) else CUT_WORD + CUT_SHORT * _is_short(one)
        base = CUT_SENTENCE if sentence else CUT_LINE if line else word
        cut.append(base * max(0.0, 1 - pause / rules.pause))
        longer = KEPT_PAUSE * pause / rules.pause if pause >= rules.pause else 0.0
        kept.append(max(KEPT_SENTENCE if sentence else KEPT_LINE if line else 0.0, longer))
    return [*cut, 0.0], kept


def _ends_clause(piece: Piece) -> bool:
    return piece.text.rstrip(CLOSING).endswith(CLAUSE)


def _is_short(piece: Piece) -> bool:
    """Whether a piece is a short word, without punctuation."""
    return len(piece.text) <= SHORT and piece.text.isalpha()


def _needed(length: int, rules: Rules) -> float:
    """Return the seconds that a caption of so many characters should be shown."""
    return min(rules.longest, max(rules.shortest, length / rules.speed))


def _fits(part: Sequence[Piece], rules: Rules) -> bool:
    return _n_lines(part, rules) <= rules.lines and all(len(piece.text) <= rules.line_length for piece in part)


def _n_lines(part: Sequence[Piece], rules: Rules) -> int:
    """Return the smallest number of lines that hold the pieces."""
    count, at = 1, -1
    for piece in part:
        at += 1 + len(piece.text)
        if at > rules.line_length and at > len(piece.text):
            count, at = count + 1, len(piece.text)
    return count


def _broken(part: Sequence[Piece], rules: Rules) -> list[tuple[Piece, ...]]:
    """Return the fewest lines, of like length.

    The sum of their squared lengths, and of what each break costs, is the least.
    """
    n, n_lines = len(part), _n_lines(part, rules)
    best = {(0, 0): (0.0, 0)}
    for k in range(1, n_lines + 1):
        for j in range(k, n + 1):
            ways = []
            for i in range(k - 1, j):
                length = sum(len(piece.text) + 1 for piece in part[i:j]) - 1
                if (k - 1, i) in best and (length <= rules.line_length or j - i == 1):
                    ways.append((best[k - 1, i][0] + length**2 + (_break_cost(part, j) if j < n else 0.0), i))
            if ways:
                best[k, j] = min(ways)
    ends = [n]
    for k in range(n_lines, 0, -1):
        ends.append(best[k, ends[-1]][1])
    return [tuple(part[i:j]) for i, j in pairwise(ends[::-1])]


def _break_cost(part: Sequence[Piece], j: int) -> float:
    """Return the cost of a new line before piece j."""
    if part[j].sentence != part[j - 1].sentence or part[j].line != part[j - 1].line:
        return 0.0
    return BREAK_CLAUSE if _ends_clause(part[j - 1]) else BREAK_WORD + BREAK_SHORT * _is_short(part[j - 1])


def _times(chosen: Sequence[Sequence[Piece]], rules: Rules, until: float) -> list[tuple[float, float]]:
    """Return when captions are shown: in whole milliseconds, rising, with a gap between them where there is room."""
    starts: list[int] = []
    for part in chosen:
        starts.append(max(round(1000 * part[0].start), starts[-1] + 1 if starts else 0))
    found = []
    for i, part in enumerate(chosen):
        length = sum(len(piece.text) + 1 for piece in part) - 1
        spoken = max(piece.end for piece in part)
        following = starts[i + 1] / 1000 if i + 1 < len(chosen) else None
        found.append((starts[i] / 1000, shown_until(starts[i] / 1000, spoken, length, rules, following, until)))
    return found


def shown_until(
    start: float, spoken: float, length: int, rules: Rules, following: float | None = None, until: float = math.inf
) -> float:
    """Return when a caption of so many characters ends: when it is said and can be read.

    It ends before the `following` one begins, with a gap if there is room for one, and by the end of the recording.

    Examples
    --------
    >>> shown_until(1.0, 1.5, 34, Rules()), shown_until(1.0, 1.5, 34, Rules(), following=2.0)
    (3.0, 1.917)
    """
    first, gap = round(1000 * start), round(1000 * rules.gap)
    end = max(round(1000 * spoken), first + round(1000 * _needed(length, rules)))
    end = min(end, first + round(1000 * rules.longest), math.floor(1000 * min(until, 1e9)))
    if following is not None:
        room = round(1000 * following) - first
        end = min(end, first + max(room - gap, room // 2, 1))
    return max(end, first + 1) / 1000
