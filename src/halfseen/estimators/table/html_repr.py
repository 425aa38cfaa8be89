"""A fitted mixture in a notebook: a short card with its classes in words. Colours are those of the page around it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from halfseen.estimators.convergence import ended, unfinished
from halfseen.estimators.outcome import criteria, likelihood
from halfseen.estimators.table import profile

if TYPE_CHECKING:
    from halfseen.estimators.table.table_mixture import TableMixture

MOST = 12  # classes on a card
LONGEST = 160  # letters of a class in words

_BOX = "border:1px solid rgb(128 128 128/.4);border-radius:8px;padding:.7em 1em;max-width:64em;display:inline-block"
_NAME = "text-align:left;padding:.15em 1em .15em 0;white-space:nowrap"
_BAR = "display:inline-block;height:.55em;background:#3a85c0;border-radius:2px;vertical-align:middle"


def card(model: TableMixture) -> str:
    """Return a fitted model as a small piece of HTML."""
    words = profile.in_words(profile.profiles(model), top=3)
    rows = [
        f'<tr><th scope="row" style="{_NAME}">{_cut(name, 32)}</th>'
        f'<td style="text-align:right;padding:.15em .6em">{share:.0%}</td>'
        f'<td style="padding:.15em .6em;min-width:5em"><span style="{_BAR};width:{5 * share:.2f}em"></span></td>'
        f'<td style="text-align:left;padding:.15em 0">{_cut(text, LONGEST)}</td></tr>'
        for name, share, text in zip(model.class_names_, model.weights_.tolist(), words, strict=True)
    ]
    left_out = f"<p>and {len(rows) - MOST} more classes</p>" if len(rows) > MOST else ""
    return (
        f'<div style="{_BOX}">{_first(model)}<strong>{type(model).__name__}</strong>, fitted: {len(rows)} '
        f"class{'es' if len(rows) > 1 else ''}{_state(model)}"
        f'<table style="margin-top:.5em;border:0"><tbody>{"".join(rows[:MOST])}</tbody></table>{left_out}</div>'
    )


def _first(model: TableMixture) -> str:
    """Say first if the fit was interrupted."""
    text = unfinished(model)
    return f"<p><strong>{escape(text)}</strong></p>" if text else ""


def _state(model: TableMixture) -> str:
    """Say how the fit ended, if there was one."""
    if not all(hasattr(model, name) for name in ("stop_reason_", "loglik_", "n_iter_")):
        return ""
    if model._schema.rule:  # which has no likelihood
        return ""
    return escape(f", {likelihood(model)}, {criteria(model)}, {ended(model.stop_reason_, model.n_iter_)}")


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return escape(text)
    return f'<span title="{escape(text)}">{escape(text[: longest - 1])}…</span>'
