"""Terminal output: notes, warnings and progress on standard error, results on standard output.

Colour, headings and links are for terminals alone; what goes to a file or a pipe is plain, and the same everywhere. All
that is printed hides the status line first.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from halfseen.app import status_line

if TYPE_CHECKING:
    from halfseen.engine.services.progress import Draws, Progress

NAME, HEADING = "bold cyan", "bold"  # styles


def errors() -> Console:
    """Return the console of standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def results() -> Console:
    """Return the console of results; text is never cut if it goes to a file or a pipe."""
    return Console(highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note to standard error."""
    _print(errors(), text, "dim")


def fail(text: str) -> None:
    """Print an error."""
    _print(errors(), f"halfseen: {text}", "bold red")


def wrote(what: str, path: str) -> None:
    """Print what was written to a file, with a link to it."""
    name = Text(path)
    if Path(path).exists():
        name.stylize(f"link {Path(path).resolve().as_uri()}")
    _print(errors(), Text(f"{what}: ", style="dim").append_text(name))


def heading(text: str, to_errors: bool = False) -> None:
    """Print a heading on a terminal; nothing elsewhere."""
    console = errors() if to_errors else results()
    if console.is_terminal:
        _print(console, text, HEADING)


def show(text: str = "") -> None:
    """Print a result."""
    _print(results(), text)


def _print(console: Console, text: str | Text, style: str | None = None) -> None:
    with status_line.hidden():
        console.print(text, style=style, markup=False)


def show_json(value: Any) -> None:
    """Print a result for a program."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False, default=lambda array: array.tolist())
    with status_line.hidden():
        sys.stdout.write(text + "\n")


def show_table(
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    left: int = 1,
    to_errors: bool = False,
    best: int | None = None,
) -> None:
    """Print a table: the first `left` columns are text, the others numbers; row `best` is the one to look at."""
    console = Console(stderr=to_errors, highlight=False)
    if not console.is_terminal:  # a file is as wide as it needs to be
        console = Console(stderr=to_errors, highlight=False, width=100_000)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=HEADING if console.is_terminal else "")
    for j, name in enumerate(header):
        table.add_column(name, justify="left" if j < left else "right", overflow="fold", no_wrap=True)
    for n, row in enumerate(rows):
        table.add_row(*[_plain(cell) for cell in row], style="bold green" if n == best else None)
    with status_line.hidden():
        for line in _lines(console, table):
            console.file.write(line)


def show_facts(facts: Sequence[tuple[str, Any]]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        _print(results(), Text(f"{name:{width}}", style=HEADING).append(f"  {value}", style="not bold"))


def show_classes(text: str) -> None:
    """Print the descriptions of classes, a line for each trait."""
    for line in text.splitlines():
        name, colon, traits = line.partition("): ")
        listed = traits.replace("; ", "\n" + " " * len(name + colon))
        _print(results(), Text(name + colon, style=NAME if colon else "").append(listed, style="none"))


def _lines(console: Console, table: Table) -> Iterator[str]:
    with console.capture() as captured:
        console.print(table)
    yield from (line.rstrip() + "\n" for line in captured.get().splitlines())


def _plain(cell: Any) -> str:
    return str(cell).replace("[", r"\[")


@contextmanager
def shown_warnings(translate: Callable[[str], str]) -> Iterator[set[type[Warning]]]:
    """Show each warning once, as a note translated by `translate`; yields the categories shown so far."""
    seen: set[str] = set()
    categories: set[type[Warning]] = set()

    def shown(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        categories.add(category)
        if str(message) not in seen:
            seen.add(str(message))
            note(f"note: {translate(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = shown
        yield categories


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
