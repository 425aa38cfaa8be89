"""Tables for papers in LaTeX, HTML, Markdown, Word and plain text. Texts of users are escaped in each.

A line begins with its label, indented below a heading; heads and cells follow. Facts are lines of one cell. What is
written with a hyphen before a number becomes a minus sign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from halfseen.optional import optional
from halfseen.whole_file import whole_file

if TYPE_CHECKING:
    from halfseen.estimators.publication.paper_table import Line, PaperTable

NEGATIVE = re.compile(r"(?<![\w.-])-(?=[\d.])")
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]+")  # no character of XML
OF_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}
INDENT = "\u2003"  # an em space

# ---- LaTeX -----------------------------------------------------------------------------------------------------------


def latex(table: PaperTable) -> str:
    """Return a LaTeX table with the rules of booktabs."""
    width = table.width
    lines = ["% needs \\usepackage{booktabs}", "\\begin{table}", "\\centering", f"\\caption{{{tex(table.caption)}}}"]
    lines += [f"\\begin{{tabular}}{{l{'r' * width}}}", "\\toprule"]
    for i, panel in enumerate(table.panels):
        lines += ["\\midrule"] if i else []
        lines += [_tex_row(["", *panel.heads], width), "\\midrule"]
        lines += [_tex_line(line, width) for line in panel.lines]
    if table.facts:
        lines.append("\\midrule")
        lines += [_tex_fact(name, value, width) for name, value in table.facts]
    lines += ["\\bottomrule", "\\end{tabular}"]
    if table.notes:
        lines += ["", "\\smallskip", f"\\begin{{minipage}}{{\\linewidth}}\\footnotesize {tex(' '.join(table.notes))}"]
        lines += ["\\end{minipage}"]
    return "\n".join([*lines, "\\end{table}", ""])


def _tex_fact(name: str, value: str, width: int) -> str:
    return f"{tex(name)} & \\multicolumn{{{width}}}{{l}}{{{_tex_cell(value)}}} \\\\"


def _tex_line(line: Line, width: int) -> str:
    if not line.cells:
        return f"\\multicolumn{{{width + 1}}}{{l}}{{{tex(line.label)}}} \\\\"
    first = f"\\quad {tex(line.label)}" if line.inside else tex(line.label)
    return _joined(first, map(_tex_cell, line.cells), width - len(line.cells))


def _tex_row(cells: list[str], width: int) -> str:
    return _joined(tex(cells[0]), map(tex, cells[1:]), width + 1 - len(cells))


def _joined(first: str, cells: Iterator[str], empty: int) -> str:
    return " & ".join([first, *cells, *[""] * empty]) + " \\\\"


def _tex_cell(text: str) -> str:
    return NEGATIVE.sub("$-$", tex(text))


def tex(text: str) -> str:
    r"""Return a text for LaTeX.

    Examples
    --------
    >>> tex("50 % of A&B_1")
    '50 \\% of A\\&B\\_1'
    """
    return "".join(OF_LATEX.get(each, each) for each in _clean(text))


# ---- HTML ------------------------------------------------------------------------------------------------------------


def html(table: PaperTable) -> str:
    """Return an HTML table; its notes are in its foot."""
    width = table.width
    lines = ['<table class="halfseen-paper">', f"<caption>{_html_text(table.caption)}</caption>"]
    for panel in table.panels:
        heads = "".join(f'<th scope="col">{_html_text(head)}</th>' for head in panel.heads)
        lines += [f"<tbody>\n<tr><th></th>{heads}{_empty(width - len(panel.heads))}</tr>"]
        lines += [_html_line(line, width) for line in panel.lines] + ["</tbody>"]
    if table.facts:
        lines += ["<tbody>", *(_html_fact(name, value, width) for name, value in table.facts), "</tbody>"]
    if table.notes:
        notes = _html_text(" ".join(table.notes))
        lines += [f'<tfoot><tr><td colspan="{width + 1}">{notes}</td></tr></tfoot>']
    return "\n".join([*lines, "</table>", ""])


def _html_line(line: Line, width: int) -> str:
    if not line.cells:
        span = f'scope="rowgroup" colspan="{width + 1}" style="text-align:left"'
        return f"<tr><th {span}>{_html_text(line.label)}</th></tr>"
    indent = ";padding-left:2em" if line.inside else ""
    first = f'<th scope="row" style="text-align:left;font-weight:normal{indent}">{_html_text(line.label)}</th>'
    cells = "".join(f'<td style="text-align:right">{_signed(_html_text(cell))}</td>' for cell in line.cells)
    return f"<tr>{first}{cells}{_empty(width - len(line.cells))}</tr>"


def _html_fact(name: str, value: str, width: int) -> str:
    head = f'<th scope="row" style="text-align:left;font-weight:normal">{_html_text(name)}</th>'
    return f'<tr>{head}<td colspan="{width}" style="text-align:left">{_signed(_html_text(value))}</td></tr>'


def _empty(n: int) -> str:
    return "<td></td>" * n


def _html_text(text: str) -> str:
    return escape(_clean(text))


# ---- Markdown and plain text -----------------------------------------------------------------------------------------


def markdown(table: PaperTable) -> str:
    """Return a table of Markdown: a paragraph with the caption, the panels, the notes."""
    parts = [_md(table.caption)]
    for i, panel in enumerate(table.panels):
        rows = [["", *map(_md, panel.heads)], ["---", *["---:"] * len(panel.heads)]]
        rows += [_md_line(line, len(panel.heads)) for line in panel.lines]
        if i + 1 == len(table.panels):
            empty = [""] * (len(panel.heads) - 1)
            rows += [[_md(name), _md(value), *empty] for name, value in table.facts]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join([*parts, *map(_md, table.notes)]) + "\n"


def _md_line(line: Line, width: int) -> list[str]:
    if not line.cells:
        return [f"**{_md(line.label)}**", *[""] * width]
    return [(INDENT if line.inside else "") + _md(line.label), *map(_md, line.cells)]


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", _clean(text))


def plain(table: PaperTable) -> str:
    """Return the table as aligned text."""
    parts = [table.caption]
    for i, panel in enumerate(table.panels):
        rows = [["", *panel.heads]]
        rows += [[f"{'  ' if line.inside else ''}{_clean(line.label)}", *line.cells] for line in panel.lines]
        rows += [[name, value] for name, value in table.facts] if i + 1 == len(table.panels) else []
        parts.append(_aligned(rows))
    return "\n\n".join([*parts, "\n".join(table.notes)]).rstrip()


def _aligned(rows: list[list[str]]) -> str:
    size = max(map(len, rows))
    widths = [max((len(row[j]) for row in rows if j < len(row)), default=0) for j in range(size)]
    lines = []
    for row in rows:
        padded = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=False)]
        lines.append("  ".join([row[0].ljust(widths[0]), *padded]).rstrip())
    return "\n".join(lines)


# ---- Word ------------------------------------------------------------------------------------------------------------


def docx(table: PaperTable, path: Any) -> None:
    """Write a Word document with the table."""
    word = optional("docx", "Word documents", "stats")
    document = word.Document()
    document.add_paragraph().add_run(_clean(table.caption)).bold = True
    width = table.width + 1
    grid = document.add_table(rows=0, cols=width)
    for panel in table.panels:
        _word_row(grid, ["", *panel.heads], ("top", "bottom"))
        for line in panel.lines:
            _word_row(grid, [(INDENT if line.inside else "") + line.label, *line.cells])
    for i, (name, value) in enumerate(table.facts):
        cells = _word_row(grid, [name], ("top",) if i == 0 else ())
        joined = cells[1].merge(cells[-1])
        joined.text = _signed(_clean(value))
    _rule(grid.rows[-1].cells, ("bottom",))
    for note in table.notes:
        document.add_paragraph().add_run(_clean(note)).italic = True
    with whole_file(path) as file:
        document.save(file)


def _word_row(grid: Any, texts: list[str], rules: tuple[str, ...] = ()) -> Any:
    """Add a row; numbers stand on the right."""
    right = optional("docx.enum.text", "Word documents", "stats").WD_ALIGN_PARAGRAPH.RIGHT
    cells = grid.add_row().cells
    for j, (cell, text) in enumerate(zip(cells, texts, strict=False)):
        cell.text = _clean(text) if j == 0 else _signed(_clean(text))
        if j:
            cell.paragraphs[0].alignment = right
    _rule(cells, rules)
    return cells


def _rule(cells: Any, sides: tuple[str, ...]) -> None:
    """Draw rules at some sides of a row."""
    element: Callable[[str], Any] = optional("docx.oxml", "Word documents", "stats").OxmlElement
    name = optional("docx.oxml.ns", "Word documents", "stats").qn
    for cell in cells:
        properties = cell._tc.get_or_add_tcPr()
        borders = properties.find(name("w:tcBorders"))
        if borders is None:
            borders = element("w:tcBorders")
            properties.append(borders)
        for side in sides:
            line = element(f"w:{side}")
            for key, value in (("val", "single"), ("sz", "6"), ("space", "0"), ("color", "000000")):
                line.set(name(f"w:{key}"), value)
            borders.append(line)


# ---- text ------------------------------------------------------------------------------------------------------------


def _clean(text: str) -> str:
    """Return a text in one line, without characters that no format can hold."""
    return CONTROL.sub(" ", str(text)).strip(" ")


def _signed(text: str) -> str:
    return NEGATIVE.sub("\u2212", text)
