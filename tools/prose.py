"""Find wording that the pages avoid: python -m tools.prose.

A page says it in the field's own words, for a reader whose first language may not be English. The list has what read as
quaint or unclear before, each with what to write instead. ``codespell`` looks for misspelt words; this for phrases.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^(`{3,}).*?^\1", re.DOTALL | re.MULTILINE)  # what code prints has its own tests
INSTEAD = {
    r"holes?|holed": "missing values",
    r"guess(es|ed)? from": "predicted from",
    r"the climb|climbs?": "the objective rises",
    r"told right|tells? most": "classified correctly; strongest link",
    r"opens? the envelope|in the drawer": "compare with what was left out",
    r"(sure|certain) of theirs": "the most likely class has a probability of at least 0.9",
    r"says? nothing": "carries no information",
    r"takes? away": "subtracts; removes",
    r"shaky": "uncertain",
    r"in vain": "without effect",
    r"never written down|nobody (recorded|wrote)": "hidden; not recorded",
    r"capitals from small letters": "ignore case",
    r"when was what said|what was said when": "when each word was spoken",
    r"not (yet )?supported yet": "is refused",
    r"goes up until|has risen twice": "adds classes until the criterion has worsened twice in a row",
    r"has a meaning, and is refused": "Give one number; auto and ranges are refused",
    r"colors?|labeled|optimiz\w+|normaliz\w+|behavior": "British spelling, as everywhere in these pages",
}
PHRASES = {
    re.compile(rf"(?<![\w`_./-])(?:{phrase})(?![\w`_/-])", re.IGNORECASE): use for phrase, use in INSTEAD.items()
}


def faults(path: Path) -> Iterator[str]:
    """Yield each phrase to avoid in the text of one page, with its line."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), path.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", lambda code: "`" * len(code[0]), text)
    for number, line in enumerate(text.splitlines(), 1):
        for phrase, use in PHRASES.items():
            for found in phrase.finditer(line):
                yield f"{path.relative_to(ROOT)}:{number}: {found[0]!r}. Write: {use}"


def main() -> int:
    """Print all faults, and return 1 if there are any."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [fault for page in pages for fault in faults(page)]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
