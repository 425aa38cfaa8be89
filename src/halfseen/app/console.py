"""Terminal output: notes, warnings and progress on standard error, results on standard output.

Rich is imported where it is used. What goes to a file or a pipe is written without it, so that `info` starts quickly.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from halfseen.app.blocks import Block
    from halfseen.engine.services.progress import Draws, Progress

QUIET = 1.5  # seconds before progress is shown
SPINNER = 3  # columns that the sign of a running program takes before the line, and one after it


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
    errors().print(text, style="dim", markup=False)


def fail(text: str) -> None:
    """Print an error."""
    errors().print(f"halfseen: {text}", style="bold red" if sys.stderr.isatty() else None, markup=False)


def show(text: str = "") -> None:
    """Print a result."""
    if is_plain(sys.stdout):
        sys.stdout.write(f"{text}\n")
    else:
        results().print(text, markup=False)


def is_plain(stream: TextIO) -> bool:
    """Whether text goes to a file or a pipe, without colours."""
    return not stream.isatty() and not os.environ.get("FORCE_COLOR")


def show_json(value: Any) -> None:
    """Print a result for a program."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False, default=lambda array: array.tolist())
    sys.stdout.write(text + "\n")


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1, to_errors: bool = False) -> None:
    """Print a table: the first `left` columns are text, the others numbers."""
    stream = sys.stderr if to_errors else sys.stdout
    lines = aligned([list(header), *([str(cell) for cell in row] for row in rows)], left) if is_plain(stream) else None
    if lines is not None:
        stream.writelines(lines)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold" if sys.stdout.isatty() else "")
    for j, name in enumerate(header):
        table.add_column(name, justify="left" if j < left else "right", overflow="fold", no_wrap=True)
    for row in rows:
        table.add_row(*[_plain(cell) for cell in row])
    console = Console(stderr=to_errors, highlight=False)
    if not console.is_terminal:  # a file is as wide as it needs to be
        console = Console(stderr=to_errors, highlight=False, width=100_000)
    for line in _lines(console, table):
        console.file.write(line)


def aligned(cells: Sequence[Sequence[str]], left: int) -> list[str] | None:
    """Return the lines of a table, header first; None if a cell has more than one line or moves the cursor."""
    if not all(cell.isprintable() for row in cells for cell in row):
        return None
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        space = [" " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)]
        padded = [cell + space[j] if j < left else space[j] + cell for j, cell in enumerate(row)]
        lines.append("  ".join(padded).rstrip() + "\n")
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
        show(f"{name:{width}}  {value}")


def show_classes(text: str) -> None:
    """Print the descriptions of classes, a line for each trait."""
    for line in text.splitlines():
        name, colon, traits = line.partition("): ")
        show(name + colon + traits.replace("; ", "\n" + " " * len(name + colon)))


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
def status(wanted: bool = True) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a line of progress on a terminal, once some time has passed; nothing elsewhere."""
    console = errors()
    if not (wanted and console.is_terminal):
        yield lambda text: None
        return
    began = monotonic()
    with console.status("") as line:
        line.stop()

        def show_line(text: str) -> None:
            if monotonic() - began > QUIET:
                line.start()
                line.update(text)

        yield show_line


@contextmanager
def progress() -> Iterator[Callable[[Progress | Draws], None]]:
    """Yield a function that shows the progress of a long fit on a terminal, and nothing elsewhere."""
    with status() as show_line:
        yield lambda seen: show_line(progress_line(seen, errors().width))


def progress_line(seen: Progress | Draws, width: int) -> str:
    """Return the state of a fit in a line that is not cut: what matters least is left out where there is no room."""
    from halfseen.engine.services.progress import Draws

    if isinstance(seen, Draws):
        return f"{seen.what}: draw {seen.done} of {seen.wanted}"
    parts = [
        f"{seen.n_components} components",
        f"{seen.n_running} of {seen.n_starts} starts running",
        f"iteration {seen.n_passes} of at most {seen.max_iter}",
        *([] if seen.objective is None else [f"objective {seen.objective:,.1f}"]),
    ]
    while len(parts) > 1 and len(", ".join(parts)) > width - SPINNER:
        del parts[min(1, len(parts) - 2)]
    return ", ".join(parts)
