"""Trees above sentences: read from brackets, written as brackets and as pictures.

- *tree*: a label over children; a child is a tree or a word.
- *span*: the words first .. last of a subtree, as (start, end), end excluded.
- *brackets*: spans without labels, which other spans may not cross: ``(the dog) barks``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from halfseen.errors import DataError

__all__ = ["Tree", "Word", "read_brackets", "read_trees"]

_TOKEN = re.compile(r"[()]|[^\s()]+")
DEEPEST = 10_000  # brackets within brackets; deeper ones are taken for a mistake
HIGHEST = 200  # levels of a picture
_LETTER, _LEVEL, _GAP = 8.0, 44.0, 14.0  # of pictures: width of a letter, height of a level, space between words
_BOLD = 9.4  # width of a letter of a label


@dataclass(frozen=True)
class Word:
    """A word on the right-hand side of a rule: what is not a symbol."""

    text: str

    def __str__(self) -> str:
        return f'"{self.text}"' if "'" in self.text else f"'{self.text}'"


Rule = tuple[str, tuple["str | Word", ...]]


class Label(NamedTuple):
    """A text of a picture: its middle, and its base line; y grows downwards."""

    text: str
    x: float
    y: float
    is_word: bool


class Branch(NamedTuple):
    """A line of a picture, from a label to one below."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Tree:
    """A label over children, which are trees or words.

    Examples
    --------
    >>> tree = Tree.from_string("(S (NP the dog) (VP barks))")
    >>> tree.words()
    ['the', 'dog', 'barks']
    >>> print(tree)
    (S (NP the dog) (VP barks))
    >>> print(tree.picture())
          S
       ┌──┴───┐
      NP     VP
     ┌─┴─┐    │
    the dog barks
    """

    label: str
    children: tuple[Tree | str, ...]

    def __init__(self, label: str, children: Sequence[Tree | str] = ()) -> None:
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "children", tuple(children))

    @classmethod
    def from_string(cls, text: str) -> Tree:
        """Read one tree in brackets; a pair of brackets around it without a label is taken off."""
        found = read_trees(text)
        if len(found) != 1:
            raise DataError(f"{text!r:.80} is {len(found)} trees, not one.")
        return found[0]

    def __str__(self) -> str:
        pieces: list[str] = []
        waiting: list[Tree | str | None] = [self]  # None: a bracket closes
        while waiting:
            node = waiting.pop()
            if node is None:
                pieces[-1] += ")"
            elif isinstance(node, str):
                pieces.append(node)
            else:
                pieces.append(f"({node.label}")
                waiting += [None, *reversed(node.children)]
        return " ".join(pieces)

    def __repr__(self) -> str:
        return f"Tree.from_string({str(self)!r})"

    def words(self) -> list[str]:
        """Return the words below, from left to right."""
        return [child for node in self.walk() for child in ([node] if isinstance(node, str) else [])]

    def walk(self) -> Iterator[Tree | str]:
        """Yield the tree, all subtrees and words, each before what is below it."""
        waiting: list[Tree | str] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, Tree):
                waiting.extend(reversed(node.children))

    def rules(self) -> list[Rule]:
        """Return the rule used at every label: the label, and what stands below."""
        return [
            (node.label, tuple(child.label if isinstance(child, Tree) else Word(child) for child in node.children))
            for node in self.walk()
            if isinstance(node, Tree)
        ]

    def spans(self) -> list[tuple[str, int, int]]:
        """Return (label, start, end) of every subtree, each before what is below it.

        Examples
        --------
        >>> Tree.from_string("(S (NP the dog) (VP barks))").spans()
        [('S', 0, 3), ('NP', 0, 2), ('VP', 2, 3)]
        """
        found: list[tuple[str, int, int]] = []
        waiting: list[Tree | str | int] = [self]  # a number: the subtree of that place ends
        at = 0
        while waiting:
            node = waiting.pop()
            if isinstance(node, int):
                found[node] = (*found[node][:2], at)
            elif isinstance(node, str):
                at += 1
            else:
                waiting += [len(found), *reversed(node.children)]
                found.append((node.label, at, at))
        return found

    def height(self) -> int:
        """Return the number of labels on the longest way down."""
        deepest, level = 0, [self]
        while level:
            deepest += 1
            level = [child for node in level for child in node.children if isinstance(child, Tree)]
        return deepest

    def _drawable_height(self) -> int:
        height = self.height()
        if height > HIGHEST:
            raise DataError(f"the tree has {height:,} levels; a picture has at most {HIGHEST}. Write it in brackets.")
        return height

    def picture(self) -> str:
        """Return the tree as a drawing of lines and letters, the words in one row at the bottom."""
        lines, _ = _drawn(self, self._drawable_height())
        return "\n".join(line.rstrip() for line in lines)

    def layout(self) -> tuple[list[Label], list[Branch], float, float]:
        """Return the labels and lines of a picture, for letters of 14 points, and its width and height."""
        labels: list[Label] = []
        branches: list[Branch] = []
        bottom = self._drawable_height()
        width, _ = _placed(self, 0, 0.0, bottom, labels, branches)
        return labels, branches, width, _LEVEL * bottom

    def to_svg(self) -> str:
        """Return the tree as a drawing in SVG, which takes its colours from the page around it."""
        labels, branches, width, height = self.layout()
        shapes = [
            f'<line x1="{line.x1:.1f}" y1="{line.y1:.1f}" x2="{line.x2:.1f}" y2="{line.y2:.1f}" stroke="currentColor" '
            'stroke-opacity=".45"/>'
            for line in branches
        ]
        for label in labels:
            weight = ' font-style="italic"' if label.is_word else ' font-weight="600"'
            shapes.append(f'<text x="{label.x:.1f}" y="{label.y:.1f}"{weight}>{escape(label.text)}</text>')
        size = f'width="{width + 2 * _GAP:.0f}" height="{height + 40:.0f}"'
        box = f'viewBox="{-_GAP:.0f} -20 {width + 2 * _GAP:.0f} {height + 40:.0f}"'
        style = 'font-family="sans-serif" font-size="14" text-anchor="middle" fill="currentColor" stroke-width="1.2"'
        title, words = f"<title>{escape(str(self))}</title>", f'aria-label="Tree of {len(self.words())} words"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {style} role="img" {words}>'
        return f"{head}{title}{''.join(shapes)}</svg>"

    def _repr_html_(self) -> str:
        return self.to_svg()


# ---- in ----------------------------------------------------------------------------------------------------------


def read_trees(text: str) -> list[Tree]:
    """Read trees in brackets, over any number of lines.

    Examples
    --------
    >>> read_trees("( (S (NP dogs) (VP bark)) ) (S (VP go))")
    [Tree.from_string('(S (NP dogs) (VP bark))'), Tree.from_string('(S (VP go))')]
    """
    found: list[Tree] = []
    stack: list[list[Tree | str]] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "(":
            stack.append([])
            if len(stack) > DEEPEST:
                raise DataError(f"{_place(text, match.start())}: more than {DEEPEST:,} brackets within each other.")
        elif token == ")":
            if not stack:
                raise DataError(f"{_place(text, match.start())}: this ) closes nothing.")
            tree = _closed(stack.pop(), text, match.start())
            (stack[-1] if stack else found).append(tree)
        elif not stack:
            raise DataError(f"{_place(text, match.start())}: {token!r} stands outside of all brackets.")
        else:
            stack[-1].append(token)
    if stack:
        raise DataError(f"{len(stack)} brackets are not closed at the end of {text!r:.60}.")
    return found


def _closed(parts: list[Tree | str], text: str, at: int) -> Tree:
    if len(parts) == 1 and isinstance(parts[0], Tree):
        return parts[0]
    if not parts or isinstance(parts[0], Tree):
        raise DataError(f"{_place(text, at)}: a bracket without a label ends here.")
    if len(parts) == 1:
        raise DataError(f"{_place(text, at)}: ({parts[0]}) has a label and nothing below it.")
    return Tree(parts[0], parts[1:])


def _place(text: str, at: int) -> str:
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}, letter {at - before.rfind(chr(10))}"


def read_brackets(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Read a sentence with brackets around some of its phrases; return its words, and the spans of the brackets.

    Examples
    --------
    >>> read_brackets("(the dog) (chased (a cat))")
    (['the', 'dog', 'chased', 'a', 'cat'], [(0, 2), (3, 5), (2, 5)])
    """
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "(":
            opened.append(len(words))
        elif token == ")":
            if not opened:
                raise DataError(f"{text!r:.60}, letter {match.start() + 1}: this ) closes nothing.")
            spans.append((opened.pop(), len(words)))
        else:
            words.append(token)
    if opened:
        raise DataError(f"{len(opened)} brackets are not closed at the end of {text!r:.60}.")
    return words, [(start, end) for start, end in spans if end > start]


# ---- out ---------------------------------------------------------------------------------------------------------


def _drawn(node: Tree | str, below: int) -> tuple[list[str], int]:
    """Return the lines of a drawing with `below` levels under its top, all of one width, and the middle of its top."""
    if isinstance(node, str):
        width = len(node)
        return [" " * (width // 2) + "│" + " " * (width - width // 2 - 1)] * (2 * below) + [node], width // 2
    parts = [_drawn(child, below - 1) for child in node.children]
    lines = [" ".join(row) for row in zip(*(lines for lines, _ in parts), strict=True)]
    middles, at = [], 0
    for own, middle in parts:
        middles.append(at + middle)
        at += len(own[0]) + 1
    width, top = at - 1, (middles[0] + middles[-1]) // 2
    left = top - len(node.label) // 2
    pad, more = max(0, -left), max(0, left + len(node.label) - width)
    bars = [" "] * width
    for place in range(middles[0], middles[-1] + 1):
        bars[place] = "─"
    for place in middles:
        bars[place] = "┬"
    bars[middles[0]], bars[middles[-1]] = "┌", "┐"
    bars[top] = "│" if len(middles) == 1 else "┼" if top in middles else "┴"
    head = " " * max(0, left) + node.label
    rows = [head.ljust(width + pad + more)]
    rows += [" " * pad + row + " " * more for row in ("".join(bars), *lines)]
    return rows, top + pad


def _width(children: Sequence[Tree | str]) -> float:
    """Return the width of some subtrees beside each other."""
    each = [
        _LETTER * len(child) if isinstance(child, str) else max(_BOLD * len(child.label), _width(child.children))
        for child in children
    ]
    return sum(each) + _GAP * (len(each) - 1)


def _placed(
    node: Tree | str, level: int, left: float, bottom: int, labels: list[Label], branches: list[Branch]
) -> tuple[float, float]:
    """Place a subtree with its left edge at `left`; return where the next one may begin, and its middle."""
    text = node if isinstance(node, str) else node.label
    own = (_LETTER if isinstance(node, str) else _BOLD) * len(text)
    y = _LEVEL * (bottom if isinstance(node, str) else level)
    if isinstance(node, str):
        middle, right = left + own / 2, left + own
    else:
        spare = max(own - _width(node.children), 0.0)  # a label may be wider than what is below it
        right, ends = left + spare / 2, []
        for child in node.children:
            right, place = _placed(child, level + 1, right, bottom, labels, branches)
            low = _LEVEL * (bottom if isinstance(child, str) else level + 1) - 14
            ends.append((place, low))
            right += _GAP
        right -= _GAP
        middle = (ends[0][0] + ends[-1][0]) / 2
        branches.extend(Branch(middle, y + 5, x, low) for x, low in ends)
        right = max(right, middle + own / 2)
    labels.append(Label(text, middle, y, isinstance(node, str)))
    return right, middle
