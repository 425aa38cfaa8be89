"""From a model and a table to one HTML file: gather the sections, fill the template, write it in one go."""

from __future__ import annotations

import os
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from halfseen import families
from halfseen.app.report.charts.svg import N_COLOURS
from halfseen.app.report.header import Header, header
from halfseen.app.report.parts import ClassName, Section, has_sound
from halfseen.errors import ParameterError
from halfseen.estimators.convergence import unfinished
from halfseen.families.family import Family
from halfseen.optional import optional
from halfseen.whole_file import whole_file

TEMPLATES = Path(__file__).parent / "templates"
LONGEST = 32  # letters of a name; the rest is in the title of the element


@overload
def report(
    model: Any,
    X: Any,
    path: None = None,
    y: Any = None,
    *,
    cost: ArrayLike | None = None,
    command: str | None = None,
    title: str | None = None,
    sample_weight: ArrayLike | None = None,
) -> str: ...


@overload
def report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    y: Any = None,
    *,
    cost: ArrayLike | None = None,
    command: str | None = None,
    title: str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Path: ...


def report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str] | None = None,
    y: Any = None,
    *,
    cost: ArrayLike | None = None,
    command: str | None = None,
    title: str | None = None,
    sample_weight: ArrayLike | None = None,
) -> str | Path:
    """Write a report on a fitted model and its data: one HTML file that needs no network.

    It begins with a summary of one page, then shows what was found, whether it can be trusted, the missing values,
    unusual rows, and how to reproduce the result; every table can be saved as CSV. The same model and data give the
    same bytes.

    Parameters
    ----------
    model : LatentClass, GaussianMixture, KMeans, NaiveBayes, GaussianClassifier, HMM, BayesNet, PCFG, WordAligner or
        TranscriptAligner, fitted
    X : table
        The data it was fitted to, or other data to evaluate it on. Sequences come in a list, or in a data frame with
        the columns of group and time that the fit had; pairs of sentences in a list, or as the path of a file, or two.
        Of more than 50,000 rows, analyses of single rows use a random sample of 50,000, and the page says so.
    path : str or path, optional
        File to write; it is replaced as a whole or not at all. Without it the HTML is returned.
    y : labels, optional
        Of a classifier: needed for cross-validation. Of a TranscriptAligner: the transcripts.
    cost : (C, C) array, optional
        What decisions cost: see `decide`.
    command : str, optional
        The command that was used, to show on the page.
    title : str, optional
    sample_weight : (N,) array, optional

    Returns
    -------
    str or Path
        The HTML, or the path of the file written.

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.1], ["a", 0.9], ["b", 5.2], ["b", None]] * 5
    >>> page = hs.report(hs.LatentClass(2, random_state=0).fit(X), X)
    >>> page.startswith("<!doctype html>"), len(page) < 1_000_000
    (True, True)
    """
    family, own_title = _registered(model)
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"title={title!r} is not text.")
    if path is not None and not Path(path).parent.is_dir():
        raise FileNotFoundError(
            f"report: there is no folder {str(Path(path).parent)!r} to write {Path(path).name!r} to."
        )
    own = family.module("report")
    material = own.MATERIAL(model, X, y, sample_weight, cost, command)
    sections = [section for build in own.SECTIONS if (section := build(model, material)) is not None]
    html = render(sections, header(model, material, own_title, title), unfinished(model))
    return html if path is None else write(html, path)


def _registered(model: Any) -> tuple[Family, str]:
    """Return the family of a model and the title of its report; a subclass has the report of its parent."""
    family, name = families.of_class(type(model)) or (None, "")
    if family is None or name not in family.reports:
        known = ", ".join(sorted(name for family in families.FAMILIES for name in family.reports))
        raise ParameterError(f"report: there is no report for {type(model).__name__}. There is one for: {known}.")
    return family, family.reports[name]


def render(sections: list[Section], head: Header, first: str = "") -> str:
    """Fill the template; `first` is said before everything else."""
    from halfseen import __version__

    sounds = any(has_sound(part) for section in sections for part in section.parts)
    more = ("sound.css", "sound.js") if sounds else ("", "")
    style, script = (_inline(name, own) for name, own in zip(("report.css", "report.js"), more, strict=True))
    page: str = (
        _environment()
        .get_template("report.html")
        .render(
            sections=sections,
            head=head,
            first=first,
            sounds=sounds,
            version=__version__,
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )
    return page


def _environment() -> Any:
    """Return where templates are read: all text is escaped, and unknown names are errors."""
    jinja2 = optional("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["short"] = _short
    return environment


@cache
def _inline(*names: str) -> str:
    """Return the style or the script of the page, from one file or several."""
    return "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names if name)


def _hash(text: str) -> str:
    """Return the hash by which the page's policy allows this one style or script, and no other."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _short(name: Any, longest: int = LONGEST) -> Any:
    """Cut a long name and keep the whole of it in the title of the element; the name of a class has its colour."""
    markup = optional("markupsafe", "report")
    text = str(name)
    shown, whole = text, ""
    if len(text) > longest:
        shown, whole = text[: longest - 1] + "…", text
    if isinstance(name, ClassName):
        title = markup.Markup(' title="{}"').format(whole) if whole else ""
        again = " again" if name.k >= N_COLOURS else ""
        return markup.Markup('<span class="c c{}{}"{}>{}</span>').format(name.k % N_COLOURS, again, title, shown)
    return markup.Markup('<span title="{}">{}</span>').format(whole, shown) if whole else text


def write(html: str, path: str | os.PathLike[str]) -> Path:
    """Write a file as a whole or not at all."""
    with whole_file(path) as file:
        file.write(html.encode())
    return Path(path)
