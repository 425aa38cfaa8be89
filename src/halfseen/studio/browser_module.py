"""The page as one module of JavaScript, for widgets: there is no server that its files could be fetched from.

Each module of the page becomes a blob with an address of its own, after those that it imports, whose addresses take the
place of its relative imports. A view has modules of its own, so that two studios in one notebook share nothing.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

PAGE = Path(__file__).parent / "page"
IMPORT = re.compile(r'^((?:import|export) [^"\n]*from )"(\.{1,2}/[^"\n]+)";$', re.MULTILINE)
STYLES = ("vendor/uplot.css", "style.css")
START = """
const modules = %(modules)s;
const style = %(style)s;
async function opened() {
  const addresses = [];
  for (const text of modules) {
    const linked = text.replace(/from "module:(\\d+)";/g, (_, i) => `from "${addresses[i]}";`);
    addresses.push(URL.createObjectURL(new Blob([linked], { type: "text/javascript" })));
  }
  try {
    return await import(addresses[addresses.length - 1]);
  } finally {
    addresses.forEach((address) => URL.revokeObjectURL(address));
  }
}
export default {
  async render({ model, el }) {
    const page = await opened();
    return page.show({ model, el, style });
  },
};
"""


@lru_cache
def browser_module(start: str) -> str:
    """Return the module that shows a part of the page: it has what `start` imports, directly or not.

    Parameters
    ----------
    start : str      a module of the page that has a function ``show({model, el, style})``: "notebook/studio.js"

    Examples
    --------
    >>> text = browser_module("notebook/watch.js")
    >>> "export function hostIn" in text, "export function useShortcuts" in text
    (True, False)
    """
    return START % {"modules": _script(linked(start)), "style": _script(style())}


def linked(start: str) -> list[str]:
    """Return the text of modules, each after those that it imports, which it names by their number in this list."""
    texts: list[str] = []
    numbers: dict[Path, int] = {}
    open_: list[Path] = []

    def add(path: Path) -> int:
        if path in numbers:
            return numbers[path]
        if path in open_:
            circle = " imports ".join(each.relative_to(PAGE).as_posix() for each in [*open_[open_.index(path) :], path])
            raise AssertionError(f"modules of the page import each other, so that none can come first: {circle}")
        open_.append(path)
        text = IMPORT.sub(
            lambda found: f'{found[1]}"module:{add((path.parent / found[2]).resolve())}";',
            path.read_text(encoding="utf-8"),
        )
        open_.pop()
        numbers[path] = len(texts)
        texts.append(text)
        return numbers[path]

    add((PAGE / start).resolve())
    return texts


@lru_cache
def style() -> str:
    """Return the style sheet for an element of another page, whose theme its class says and whose width it has."""
    text = "\n".join((PAGE / name).read_text(encoding="utf-8") for name in STYLES)
    dark = re.compile(r"@media \(prefers-color-scheme: dark\) \{\s*:root (\{[^}]*\})\s*\}")
    text, n_dark = dark.subn(r":host(.dark) \1", text)
    assert n_dark == 1, "the dark colours of the style sheet were not found"
    text = text.replace("@media (max-width:", "@container (max-width:")
    text = re.sub(r"^(\s*)(:root|html) \{", r"\1:host {", text, flags=re.MULTILINE)
    text = re.sub(r"^(\s*)body\b", r"\1.page", text, flags=re.MULTILINE)
    return f"{BEFORE}\n{text}\n{AFTER}"


BEFORE = ":host { all: initial; display: block; container-type: inline-size; }"
AFTER = """:host { color-scheme: light; scrollbar-gutter: auto; }
:host(.dark) { color-scheme: dark; }
.page { max-width: none; padding: .6rem .9rem 1rem; border: 1px solid var(--line); border-radius: .4rem; }
.foot { margin-top: 1rem; }
.watched .job { margin-top: 0; }
"""


def _script(value: object) -> str:
    """Return a value as JavaScript that can also stand in a page of HTML."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")
