"""What grammars show in the studio: sentences, best trees of these or of any other, and the rules of a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfseen.app.views import Ask, Memo, check_ask, flag, page, plain, remembered, text, whole
from halfseen.errors import DataError, ParameterError
from halfseen.families.grammar import reading
from halfseen.structures.rules import symbol_text
from halfseen.structures.trees import Tree, Word, read_brackets

MOST_SENTENCES = 100  # in one answer
MOST_RULES = 500
MOST_SYMBOLS = 5000
LONGEST = 150  # words of a sentence that is parsed for a page: the time grows with the third power
LETTERS = 4000  # of a sentence that is typed


# ---- sentences ---------------------------------------------------------------------------------------------------


def sentences(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return `count` sentences from `start`, those that have the text `find`, with their log-probabilities.

    Of a sentence that is too long to be parsed at once the log-probability is None, as of one that has no parse;
    `parsed` says which have one, None where it was not looked for.

    Examples
    --------
    >>> import halfseen as hs
    >>> grammar = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]")
    >>> [(one["text"], one["parsed"]) for one in sentences(grammar, ["a a", "a b"], {})["sentences"]]
    [('a a', True), ('a b', False)]
    """
    check_ask(ask, "start", "count", "find")
    part, wanted = page(ask, MOST_SENTENCES), text(ask, "find").casefold()
    words, brackets = _corpus(rows, memo)
    found = range(len(words))
    numbers = [s for s in found if wanted in _said(words[s]).casefold()] if wanted else found
    shown = list(numbers[part])
    short = [s for s in shown if len(words[s]) <= LONGEST]
    logs = dict(zip(short, _logliks(model, [words[s] for s in short], [brackets[s] for s in short]), strict=True))
    return {
        "total": len(words),
        "matching": len(numbers),
        "start": part.start,
        "sentences": [
            {
                "number": s,
                "text": _said(words[s]),
                "words": len(words[s]),
                "log_probability": plain(logs[s]) if s in logs else None,
                "parsed": bool(np.isfinite(logs[s])) if s in logs else None,
            }
            for s in shown
        ],
    }


def _corpus(rows: Any, memo: Memo) -> tuple[list[reading.Words], list[Any]]:
    """Return the sentences, and what is known of their phrases."""
    if rows is None:
        raise ParameterError("this view shows sentences: open the data too.")
    words = remembered(memo, "words", lambda: reading.read_words(getattr(rows, "sentences", rows)))
    brackets = getattr(rows, "brackets", None)
    return words, [None] * len(words) if brackets is None else brackets


def _said(words: reading.Words) -> str:
    return " ".join("_" if word is None else word for word in words)


def _logliks(model: Any, words: Sequence[reading.Words], brackets: Sequence[Any]) -> list[float]:
    found: list[float] = model.score_samples(words, brackets=brackets).tolist() if words else []
    return found


# ---- trees -------------------------------------------------------------------------------------------------------


def tree(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return the best tree of a sentence, by its `number` or as `text`, with a layout; or why there is none.

    `tree` is nested lists: a label, and what stands below. In a text with `brackets`, round brackets enclose known
    phrases. `log_probability` is that of the tree, `loglik` that of the sentence, the sum over all its trees. In
    `drawing`, labels are 14 units high; a label has the words `start` to `end` (excluded) below it, and its rule.

    Examples
    --------
    >>> import halfseen as hs
    >>> grammar = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]")
    >>> tree(grammar, None, {"text": "a a"})["tree"]
    ['S', ['S', 'a'], ['S', 'a']]
    >>> tree(grammar, None, {"text": "a b"})["why"]
    "no tree for 'a b' (not in the grammar: 'b')."
    """
    check_ask(ask, "text", "number", "brackets")
    number, words, spans = _asked(rows, ask, memo)
    if len(words) > LONGEST:
        raise ParameterError(f"the sentence has {len(words):,} words; here at most {LONGEST} are parsed.")
    key = ("tree", words, None if spans is None else tuple(map(tuple, spans)))
    return {"number": number, **remembered(memo, key, lambda: _parsed(model, words, spans))}


def _asked(rows: Any, ask: Ask, memo: Memo) -> tuple[int | None, reading.Words, Any]:
    """Return the number, the words and the known phrases of the sentence that a question is about."""
    typed = text(ask, "text", LETTERS)
    if typed and ask.get("number") is not None:
        raise ParameterError("give a text or the number of a sentence, not both.")
    if typed:
        try:
            words, spans = read_brackets(typed) if flag(ask, "brackets") else (typed.split(), None)
        except DataError as error:
            raise ParameterError(str(error)) from None
        if not words:
            raise ParameterError("the text has no words.")
        return None, tuple(words), spans
    if ask.get("number") is None:
        raise ParameterError("give a text, or the number of a sentence.")
    known, brackets = _corpus(rows, memo)
    number = whole(ask, "number", None, 0, len(known) - 1)
    return number, known[number], brackets[number]


def _parsed(model: Any, words: reading.Words, spans: Any) -> dict[str, Any]:
    given = None if spans is None else [spans]
    unknown = list(reading.unknown_words(model._grammar, [words]))
    found: dict[str, Any] = {"words": list(words), "unknown": unknown, "tree": None, "drawing": None, "brackets": ""}
    found |= {"log_probability": None, "loglik": None, "n_trees": "0", "why": ""}
    corpus = model._corpus([words], given, None)
    [loglik] = _logliks(model, [words], [spans])
    if loglik == -np.inf:
        return found | {"why": f"no tree for {reading.lost_sentence(model._grammar, corpus, 0)}."}
    [best] = model.parse([words], brackets=given)
    [number] = model.n_parses([words], brackets=given)
    found |= {"log_probability": best.log_probability, "loglik": loglik, "brackets": str(best.tree)}
    found["n_trees"] = "infinitely many" if number == np.inf else _many(number)
    try:
        return found | {"drawing": _drawing(model, best.tree), "tree": _nested(best.tree)}
    except DataError as error:  # more levels than a picture has
        return found | {"why": str(error)}


def _many(number: int) -> str:
    """Return a number of trees as text; of a very large one the number of its digits."""
    return f"{number:,}" if number < 10**15 else f"about 10^{number.bit_length() * 30103 // 100000}"


def _nested(node: Tree) -> list[Any]:
    return [node.label, *(child if isinstance(child, str) else _nested(child) for child in node.children)]


def _drawing(model: Any, best: Tree) -> dict[str, Any]:
    """Return the layout of a tree, its labels with their words and rules."""
    labels, branches, width, height = best.layout()
    nodes: list[dict[str, Any]] = []
    _add_nodes(model, best, 0, nodes)
    for node, label in zip(nodes, labels, strict=True):  # both have what is below before what is above
        node |= {"text": label.text, "x": label.x, "y": label.y, "word": label.is_word}
    lines = [[line.x1, line.y1, line.x2, line.y2] for line in branches]
    return {"width": width, "height": height, "nodes": nodes, "branches": lines}


def _add_nodes(model: Any, node: Tree | str, start: int, nodes: list[dict[str, Any]]) -> int:
    """Add a subtree whose first word is number `start`; return the word after it."""
    if isinstance(node, str):
        nodes.append({"start": start, "end": start + 1, "rule": None, "probability": None})
        return start + 1
    end = start
    for child in node.children:
        end = _add_nodes(model, child, end, nodes)
    below = tuple(child.label if isinstance(child, Tree) else Word(child) for child in node.children)
    cell = model._grammar.cell.get((node.label, below))  # None where a missing word was filled in
    rule = None if cell is None else model._grammar.text(cell)
    probability = None if cell is None else float(model._params["rules"][0][cell])
    nodes.append({"start": start, "end": end, "rule": rule, "probability": probability})
    return end


# ---- rules -------------------------------------------------------------------------------------------------------


def rules(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return `count` rules of a symbol from `start`, the most probable first; and all symbols.

    Examples
    --------
    >>> import halfseen as hs
    >>> grammar = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]")
    >>> [(one["rule"], one["probability"]) for one in rules(grammar, None, {"symbol": "S"})["rules"]]
    [("S -> 'a'", 0.6), ('S -> S S', 0.4)]
    """
    check_ask(ask, "symbol", "start", "count")
    grammar, table = model._known_grammar(), model._params["rules"][0]
    wanted = text(ask, "symbol") or grammar.start
    part = page(ask, MOST_RULES, 50)
    if wanted not in grammar.number:
        raise ParameterError(f"symbol={wanted!r:.80} is not a symbol of the grammar. Its first: {_some(grammar.full)}.")
    own = np.flatnonzero(grammar.owner == grammar.number[wanted])
    ranked = own[np.argsort(-table[own], kind="stable")]
    counts = model._stats if hasattr(model, "_stats") else None
    return {
        "symbol": wanted,
        "start_symbol": grammar.start,
        "total": len(own),
        "start": part.start,
        "symbols": [[name, int(n)] for name, n in zip(grammar.full, grammar.rows, strict=True)][:MOST_SYMBOLS],
        "rules": [
            {
                "rule": grammar.text(c),
                "right": [_part(part) for part in grammar.rules[c][1]],
                "probability": float(table[c]),
                "count": None if counts is None else float(counts[c]),
            }
            for c in ranked[part].tolist()
        ],
    }


def _part(part: str | Word) -> list[Any]:
    """Return a part of a right-hand side: its text, and whether it is a word."""
    return [part.text, True] if isinstance(part, Word) else [part, False]


def _some(names: Sequence[str]) -> str:
    return ", ".join(symbol_text(name) for name in names[:8])


SCREENS = (("trees", "Trees"),)
VIEWS = {"sentences": sentences, "tree": tree, "rules": rules}
