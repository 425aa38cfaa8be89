"""Check links: python -m tools.links [SITE] [--web].

Without arguments, those of the Markdown files: every relative link, picture and ``{doc}`` names a file that exists, and
every anchor a heading of it. With the folder of a built site, those of its HTML pages: every ``href`` and ``src``
within the site is a file, and every fragment an ``id`` in it; nothing is loaded from another site. External links must
be complete addresses; ``--web`` also asks for each of them, which needs a network.
"""

import re
import sys
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"(?<!\\)\]\(([^()\s]*(?:\([^()\s]*\))?[^()\s]*)\)")
DOC = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
BUILT = ("gallery/", "api/")  # pages that exist only in the built site
# Attributes by which a page loads a file, as opposed to leading to one.
LOADS = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


# ---- Markdown --------------------------------------------------------------------------------------------------------


def markdown_files(root: Path = ROOT) -> list[Path]:
    """Return the pages of the project, in and outside of docs/."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]


def markdown_faults(page: Path, root: Path = ROOT) -> Iterator[str]:
    """Yield what is wrong with the links of one page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for name in DOC.findall(text):
        if not name.startswith(BUILT) and not (root / "docs" / f"{name}.md").exists():
            yield f"{page.name}: no page {name!r}"
    for link in LINK.findall(CODE.sub("", text)):
        fault = external_fault(link) if ":" in link else relative_fault(page, link)
        if fault:
            yield f"{page.name}: {link}: {fault}"


def relative_fault(page: Path, link: str) -> str | None:
    """Return what is wrong with a link to a file or a heading, or None."""
    path, _, anchor = link.partition("#")
    target = page.parent / unquote(path) if path else page
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
        return f"{target.name} has no heading #{anchor}"
    return None


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")
        found.add(next(name for i in range(1000) if (name := f"{slug}-{i}" if i else slug) not in found))
    return found


def external_fault(link: str) -> str | None:
    """Return what is wrong with the address of another site, or None."""
    parts = urlsplit(link)
    if parts.scheme == "mailto":
        return None
    if parts.scheme not in ("http", "https") or "." not in parts.netloc:
        return "not a complete address"
    return None


# ---- the built site --------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page of HTML defines and refers to: `ids`, `links`, `loads`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids and references of one element."""
        known = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := known.get(name))}
        loaded = known.get(LOADS.get(tag, ""))
        if loaded and not (tag == "link" and known.get("rel") in ("canonical", "next", "prev", "search", "index")):
            self.loads.add(loaded)
        elif tag == "a" and known.get("href"):
            self.links.add(known["href"] or "")


def site_faults(site: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a built site."""
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    if not pages:
        yield f"{site}: no pages"
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in sorted(page.links | page.loads):
            if urlsplit(link).scheme == "data":
                continue
            if urlsplit(link).scheme or link.startswith("//"):
                fault = "loaded from another site" if link in page.loads else external_fault(link)
            else:
                fault = site_fault(path, unquote(link), pages)
            if fault:
                yield f"{where}: {link}: {fault}"


def site_fault(path: Path, link: str, pages: dict[Path, Page]) -> str | None:
    """Return what is wrong with a link from one page to another, or None."""
    name, _, fragment = link.partition("#")
    name = name.partition("?")[0]
    target = (path.parent / name).resolve() if name else path
    if not target.exists():
        return "no such file"
    known = pages.get(target)
    if fragment and known is not None and fragment not in known.ids:
        return f"no #{fragment} there"
    return None


# ---- the web ---------------------------------------------------------------------------------------------------------


def web_faults() -> Iterator[str]:
    """Yield the external links of the Markdown files that do not answer."""
    links = {
        link for page in markdown_files() for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    }
    for link in sorted(link for link in links if link.startswith("http")):
        request = urllib.request.Request(link, headers={"User-Agent": "halfseen-links"})
        try:
            urllib.request.urlopen(request, timeout=20).close()
        except (URLError, OSError) as error:
            yield f"{link}: {error}"


def main(arguments: list[str]) -> int:
    """Print all faults, and return 1 if there are any."""
    if "--web" in arguments:
        faults = list(web_faults())
    elif arguments:
        faults = list(site_faults(Path(arguments[0]).resolve()))
    else:
        faults = [fault for page in markdown_files() for fault in markdown_faults(page)]
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
