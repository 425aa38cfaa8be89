"""Help of the command line: verbs by task, options in sections by task and by family, examples that run.

Nothing is cut: a description that is too long for its line goes on in the next one. Headings and flags are coloured on
a terminal, unless ``NO_COLOR`` is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from typer import style
from typer.core import TyperCommand, TyperGroup

from halfseen import families
from halfseen.app.examples import BEGIN, EXAMPLES
from halfseen.app.flags import own_flag
from halfseen.families.family import Family

TASKS = {  # verbs
    "Fit a model": ("fit", "studio"),
    "Use it on data": ("predict", "impute", "score", "forecast", "query", "parse", "align", "pronounce", "sample"),
    "Look at it": ("info", "rename", "report", "compare", "explain"),
    "For a paper": ("test", "relate", "table"),
    "Elsewhere": ("export", "doctor"),
}
SECTIONS = {  # options of verbs
    "Model": ("model", "classes", "names", "criterion", "prior", "ml", "assign"),
    "Data": ("columns", "ignore", "missing", "codes", "no_quotes", "weight", "sql", "glob"),
    "Search and computing": ("restarts", "max_iter", "seed", "jobs", "memory", "on", "dry_run", "resume"),
    "The page": ("session", "lesson", "upload", "port", "host", "i_know", "no_browser"),
    "Output": ("output", "report", "format", "safe_csv", "json"),
}
SQL_IS_OUTPUT = ("export",)  # verbs with an option --sql that is about what is written


NEAR = 0.75  # of a misspelt option and those that may be meant


def coloured() -> bool:
    """Whether text on standard output may be coloured."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _heading(text: str) -> str:
    return style(text, fg="cyan", bold=True) if coloured() else text


def _listed(formatter: Any, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write a section of names and descriptions."""
    shown = [(style(name, bold=True) if coloured() else name, text) for name, text in rows]
    with formatter.section(_heading(title)):
        formatter.write_dl(shown, col_max=26)


class Command(TyperCommand):
    """A verb: its options by task, then those of each family, then its examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what stands after the verb in the first line."""
        arguments = [param for param in self.params if param.param_type_name == "argument"]
        pieces = [f"{param.metavar}{'' if param.nargs == 1 else '...'}" for param in arguments]
        return [
            *(piece if param.required else f"[{piece}]" for piece, param in zip(pieces, arguments, strict=True)),
            "[OPTIONS]",
        ]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; say what an option of another library is called here."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if hasattr(error, "possibilities") and hasattr(error, "option_name"):  # typer does not export its class
                self._advise(error)
            raise

    def _advise(self, error: Any) -> None:
        """Complete the message about an option that there is not."""
        flags = {str(param.name): max(param.opts, key=len) for param in self.params if param.opts[0][0] == "-"}
        ours = own_flag(str(self.name), error.option_name, flags)
        error.message += "." if ours is None else f". Here it is {ours}."
        error.possibilities = None if ours else get_close_matches(error.option_name, [*flags.values()], 3, NEAR)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        for title, rows in sections(self, ctx):
            _listed(formatter, title, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, each command on one line, to be copied."""
        known = EXAMPLES[str(self.name)]
        with formatter.section(_heading("Examples")):
            for command in (*known.after, *known.commands):
                formatter.write(f"{'':>{formatter.current_indent}}{command}\n")


class Group(TyperGroup):
    """All verbs, by task."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs, then the options without a verb."""
        for title, verbs in TASKS.items():
            rows = [(verb, self.commands[verb].help.partition("\n\n")[0]) for verb in verbs]  # type: ignore[union-attr]
            _listed(formatter, title, [(verb, " ".join(text.split())) for verb, text in rows])
        _listed(formatter, "Options", [record for record in _records(self, ctx).values() if record is not None])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Say how to begin."""
        with formatter.section(_heading("To begin")):
            for command in BEGIN:
                formatter.write(f"{'':>{formatter.current_indent}}{command}\n")


def sections(command: TyperCommand, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the sections of a verb's help: a title, and a flag and its description for each option."""
    verb, records = str(command.name), _records(command, ctx)
    arguments = {param.name for param in command.params if param.param_type_name == "argument"}
    of_families = {option.name for own in families.FAMILIES for option in own.options.get(verb, ())}
    task = {name: title for title, names in SECTIONS.items() for name in names}
    task["help"] = "Output"
    if verb in SQL_IS_OUTPUT:
        task["sql"] = "Output"
    of_task: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], **{title: [] for title in SECTIONS}}
    for name, record in records.items():
        if record is not None and name not in of_families:
            of_task["Arguments" if name in arguments else task.get(name, "Options")].append(record)
    found = [*of_task.items(), *(_of_family(own, verb, records) for own in families.FAMILIES)]
    yield from ((title, rows) for title, rows in found if rows)


def _records(command: Any, ctx: Any) -> dict[str, tuple[str, str] | None]:
    """Return the flags and description of each parameter; arguments by the name that stands in the usage."""
    found = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None and param.param_type_name == "argument":
            record = (param.metavar or record[0], record[1])
        found[param.name] = record
    return found


def _of_family(own: Family, verb: str, records: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return the heading and the options of a family; for a fit, with the values of --model."""
    models = f" (--model {', '.join(own.asked)})" if verb == "fit" else ""
    listed = []
    for option in own.options.get(verb, ()):
        flag, text = records[option.name]
        listed.append((flag, f"{text}  [--model {', '.join(option.models)}]" if models and option.models else text))
    return f"Options of {own.title}{models}", listed


def beginning() -> str:
    """Return what ``halfseen`` alone prints: how to begin."""
    first, *others = BEGIN
    return "\n".join(
        [
            "Find hidden groups, states and structure in your data, even with missing values.",
            "",
            _heading("To begin, with a table that comes along:"),
            f"  {first}",
            *(f"  {command}" for command in others),
            "",
            "Your own file, CSV or Parquet for example, goes in place of example:penguins.",
            "halfseen --help lists all commands; halfseen fit --help the options and examples of one.",
        ]
    )
