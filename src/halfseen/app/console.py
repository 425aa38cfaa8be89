"""Terminal output: notes, warnings and progress on standard error, results on standard output.

Rich is imported where it is used. What goes to a file or a pipe is written without it, so that `info` starts quickly:
plain, and the same everywhere. Colour, headings and links are for terminals alone. All that is printed hides the status
line first. Inside `collected` nothing is printed: a caller in the same process gets the text.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO

from halfseen.app import status_line
from halfseen.app.collected import collected as collected
from halfseen.app.collected import current

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from halfseen.app.blocks import Block
    from halfseen.engine.services.progress import Draws, Progress

NAME, HEADING, BEST = "bold cyan", "bold", "bold green"  # styles
MARK = "<- "  # before a remark in the row of a table that is to be looked at


def errors() -> Console:
    """Return the console of standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def results() -> Console:
    """Return the console of results; text is never cut if it goes to a file or a pipe."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note to standard error."""
    _put(sys.stderr, text, "dim")


def fail(text: str) -> None:
    """Print an error."""
    _put(sys.stderr, _named(sys.stderr, "halfseen: ", text, "bold red"))


def wrote(what: str, path: str) -> None:
    """Print what was written to a file; on a terminal with a link to it."""
    if is_plain(sys.stderr) or not Path(path).exists():
        note(f"{what}: {path}")
        return
    from rich.text import Text

    _put(sys.stderr, Text(f"{what}: ", style="dim").append(path, style=f"link {Path(path).resolve().as_uri()}"))


def show(text: str = "") -> None:
    """Print a result."""
    _put(sys.stdout, text)


def _put(stream: TextIO, text: str | Text, style: str | None = None) -> None:
    """Print a line of text, in a style if it goes to a terminal; keep it where output is collected."""
    kept = current()
    if kept is not None:
        (kept.notes if stream is sys.stderr else kept.results).append(str(text))
        return
    with status_line.hidden():
        if is_plain(stream):
            stream.write(f"{text}\n")
        else:
            (errors() if stream is sys.stderr else results()).print(text, style=style, markup=False)


def _named(stream: TextIO, name: str, rest: str, style: str) -> str | Text:
    """Return a line that begins with a name, which is styled if it goes to a terminal."""
    if is_plain(stream):
        return name + rest
    from rich.text import Text

    return Text(name, style=style).append(rest, style="not bold default")


def is_plain(stream: TextIO) -> bool:
    """Whether text goes to a file or a pipe, or is collected: without colours."""
    return current() is not None or (not stream.isatty() and not os.environ.get("FORCE_COLOR"))


def clear_for(output: str) -> None:
    """Remove the status line for good if results are to be written to the terminal."""
    if output == "-" and sys.stdout.isatty() and current() is None:
        status_line.end()


def show_json(value: Any) -> None:
    """Print a result for a program."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False, default=lambda array: array.tolist())
    kept = current()
    if kept is not None:
        kept.results.append(text)
        return
    with status_line.hidden():
        sys.stdout.write(text + "\n")


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1, to_errors: bool = False) -> None:
    """Print a table: the first `left` columns are text, the others numbers.

    It is as wide as it needs to be. Where a terminal is narrower, words of the header stand one below the other.
    """
    stream = sys.stderr if to_errors else sys.stdout
    cells = [[_on_one_line(str(cell)) for cell in row] for row in rows]
    heads, lines = [list(header)], aligned([list(header), *cells], left)
    if not is_plain(stream) and max(map(len, lines)) > status_line.width():
        heads = _stacked(header)
        lines = aligned([*heads, *cells], left)
    for n, line in enumerate(lines):
        best = n >= len(heads) and any(cell.startswith(MARK) for cell in cells[n - len(heads)])
        _put(stream, line, HEADING if n < len(heads) else BEST if best else None)


def _stacked(header: Sequence[str]) -> list[list[str]]:
    """Return a header in several lines, the words of a cell one below the other, the last of them in the last line."""
    words = [name.split(" ") for name in header]
    height = max(map(len, words))
    return [[([""] * (height - len(own)) + own)[line] for own in words] for line in range(height)]


def _on_one_line(cell: str) -> str:
    """Return a cell without signs that end a line or move the cursor."""
    return cell if cell.isprintable() else "".join(sign if sign.isprintable() else " " for sign in cell)


def aligned(cells: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return the lines of a table, header first."""
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        space = [" " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)]
        padded = [cell + space[j] if j < left else space[j] + cell for j, cell in enumerate(row)]
        lines.append("  ".join(padded).rstrip())
    return lines


def width_of(text: str) -> int:
    """Return the number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def show_blocks(found: Sequence[Block]) -> None:
    """Print the description of a model."""
    show_one: dict[str, Callable[[Any], None]] = {
        "text": show,
        "facts": show_facts,
        "table": lambda table: show_table(**table),
        "classes": show_classes,
        "note": note,
    }
    for block in found:
        for kind, content in block.items():
            show_one[kind](content)


def show_facts(facts: Sequence[tuple[str, Any]]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        _put(sys.stdout, _named(sys.stdout, f"{name:{width}}", f"  {value}", HEADING))


def show_classes(text: str) -> None:
    """Print the descriptions of classes, a line for each trait."""
    for line in text.splitlines():
        name, colon, traits = line.partition("): ")
        _put(sys.stdout, _named(sys.stdout, name + colon, traits.replace("; ", "\n" + " " * len(name + colon)), NAME))


Shown = Callable[[Warning | str, type[Warning]], None]

_shown: ContextVar[Shown | None] = ContextVar("halfseen_shown_warnings", default=None)


class _Hook:
    """Sends warnings to the thread that they are of: what Python does with warnings is one for the whole process.

    The first thread that shows warnings changes that, the last one restores it.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.before: Any = None

    def __enter__(self) -> None:
        with self.lock:
            self.users += 1
            if self.users > 1:
                return
            self.before = warnings.catch_warnings()
            self.before.__enter__()
            others = warnings.showwarning

            def dispatched(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
                shown = _shown.get()
                if shown is None:
                    others(message, category, *rest, **more)
                else:
                    shown(message, category)

            warnings.simplefilter("always")
            warnings.showwarning = dispatched

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.before.__exit__(*error)


_hook = _Hook()


@contextmanager
def shown_warnings(translate: Callable[[str], str]) -> Iterator[set[type[Warning]]]:
    """Show each warning once, as a note translated by `translate`; yields the categories shown so far.

    Warnings of this thread alone; several threads may show theirs at the same time.
    """
    seen: set[str] = set()
    categories: set[type[Warning]] = set()

    def shown(message: Warning | str, category: type[Warning]) -> None:
        categories.add(category)
        if str(message) not in seen:
            seen.add(str(message))
            note(f"note: {translate(str(message))}")

    token = _shown.set(shown)
    try:
        with _hook:
            yield categories
    finally:
        _shown.reset(token)


@contextmanager
def progress(components: str = "components") -> Iterator[Callable[[Progress | Draws], None]]:
    """Yield a function that shows the progress of a fit in the status line.

    Parameters
    ----------
    components : str      what its components are called: "classes"
    """
    yield lambda seen: status_line.say(*progress_parts(seen, components))


def progress_parts(seen: Progress | Draws, components: str) -> list[str]:
    """Return the state of a fit in words, what matters most first and last.

    Examples
    --------
    >>> from halfseen.engine.services.progress import Progress
    >>> ", ".join(progress_parts(Progress(6, 3, 16, 35, 1000, -5425.1, -5420.2), "classes"))
    '6 classes, iteration 35, 13 of 16 starts finished, log-likelihood -5,420.2'
    """
    from halfseen.engine.services.progress import Draws

    if isinstance(seen, Draws):
        return [seen.what, f"draw {seen.done:,} of {seen.wanted:,}"]
    word = components if seen.n_components != 1 else singular(components)
    parts = [f"{seen.n_components:,} {word}"] if components else []
    parts.append(f"iteration {seen.n_passes:,}")
    if seen.n_starts > 1:
        parts.append(_starts(seen))
    if seen.loglik is not None:
        parts.append(f"log-likelihood {seen.loglik:,.1f}")
    elif seen.objective is not None:
        parts.append(f"objective {seen.objective:,.1f}")
    return parts


def _starts(seen: Progress) -> str:
    finished = seen.n_starts - seen.n_running
    if seen.polishing or not seen.n_running:
        return "final polish"
    return f"{finished} of {seen.n_starts} starts finished" if finished else f"{seen.n_starts} starts"


def singular(plural: str) -> str:
    """Return "class" for "classes"."""
    return plural.removesuffix("es") if plural.endswith("sses") else plural.removesuffix("s")
