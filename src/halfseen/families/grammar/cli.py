"""Grammars on the command line: files of rules and sentences, and trees written to files.

``--model`` takes rules in NLTK's syntax (.cfg, .pcfg) or bracketed trees from which the rules are read (.mrg, .trees).
A corpus has a sentence on each line, words separated by blanks; with ``--brackets`` round brackets enclose known
phrases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halfseen.app import console, options, status_line
from halfseen.app.dispatch import Fitted
from halfseen.app.fits import estimate_of, of_fit
from halfseen.app.paper_table import table as table
from halfseen.app.tables import check_on
from halfseen.data.encodings import read_text
from halfseen.data.memory import read_memory
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.convergence import ended
from halfseen.estimators.outcome import criteria, likelihood
from halfseen.families.grammar.estimator import PCFG
from halfseen.families.grammar.methods import Parse
from halfseen.families.grammar.sentence_file import NOTHING, SentenceFile, read_line
from halfseen.families.grammar.sentence_parts import parts_of
from halfseen.inference.standard_errors import StandardErrors, standard_errors
from halfseen.runners.placed import placed_parts
from halfseen.structures.trees import read_brackets
from halfseen.whole_file import whole_file

TREES = (".mrg", ".trees")
FORMATS = ("brackets", "picture", "svg")


class Corpus(NamedTuple):
    """Sentences of a file, and the brackets in them if they are read."""

    sentences: list[list[str]]
    brackets: list[list[tuple[int, int]]] | None


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit the probabilities of rules to a file of sentences."""
    paths = request["data"] or []
    if len(paths) != 1:
        raise ParameterError(f"give one file of sentences, not {len(paths)} files.")
    model = _estimator(request)
    reading = {"data": paths[0], "grammar": request["model"], "brackets": "yes" if request["brackets"] else None}
    if request["on"] is not None:
        return _fitted_there(model, paths[0], reading, request)
    file = SentenceFile(paths[0], read_memory(request["memory"]), bool(request["brackets"]))
    if paths[0] == "-" or not Path(paths[0]).is_file() or file.fits:
        corpus = read_corpus(paths[0], request["brackets"])
        model.fit(corpus.sentences, brackets=corpus.brackets)
        n_words = sum(map(len, corpus.sentences))
        console.note(f"{len(corpus.sentences):,} sentences, {n_words:,} words, {len(model.rules_):,} rules")
        return Fitted(model, corpus, reading)
    if request["report"] is not None:
        raise ParameterError(
            "--report reads all sentences, which do not fit into memory: raise --memory or leave it out."
        )
    model.fit(file)
    console.note(f"{paths[0]}: read in pieces; {len(model.rules_):,} rules")
    return Fitted(model, None, reading)


def _fitted_there(model: PCFG, path: str, reading: dict[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Fit to sentences that the workers of a cluster read."""
    check_on(request)
    brackets = bool(request["brackets"])
    with placed_parts(parts_of(path, brackets), request["on"], request["jobs"]) as sentences:
        model.fit(sentences, brackets="brackets" if brackets else None)
    console.note(f"{path}: read by workers; {len(model.rules_):,} rules")
    return Fitted(model, None if request["report"] is None else read_corpus(path, brackets), reading)


def _estimator(request: Mapping[str, Any]) -> PCFG:
    given = {
        **options.of_every_fit(request),
        "prior": options.prior(request["prior"], "lhs", ("lhs",)),
        "unknown": request["unknown"] or "unparsable",
        "on_unparsable": request["unparsable"] or "error",
    }
    text = read_text(request["model"])
    try:
        build = PCFG.from_trees if request["model"].lower().endswith(TREES) else PCFG.from_string
        return build(text, **given)
    except DataError as error:
        raise DataError(f"{request['model']}: {error}") from error


def read_corpus(path: str, brackets: Any = None) -> Corpus:
    """Read a sentence from each line that is not blank; - is standard input."""
    text = sys.stdin.read() if path == "-" else read_text(path)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        raise DataError(NOTHING.format(path))
    found = [read_line(line, bool(brackets), f"{path}, line {number}") for number, line in lines]
    return Corpus([words for words, _ in found], [spans for _, spans in found] if brackets else None)


def data(model: PCFG, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Return the sentences of a file, read as in the fit: for the report."""
    return Fitted(model, read_corpus(request["data"], reading.get("brackets")), dict(reading))


def errors(model: PCFG, reading: Mapping[str, Any], request: Mapping[str, Any]) -> StandardErrors:
    """Return the standard errors of the probabilities of rules, given the sentences of the fit."""
    corpus = read_corpus(request["data"], reading.get("brackets"))
    how: dict[str, Any] = {"brackets": corpus.brackets} | options.of_errors(request)
    return standard_errors(model, corpus.sentences, request["error_kind"], **how)


# ---- use -------------------------------------------------------------------------------------------------------------


def parse(model: PCFG, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the trees of sentences."""
    if request["format"] not in FORMATS:
        raise ParameterError(f"--format {request['format']!r} is not one of {', '.join(FORMATS)}.")
    if request["unparsable"] not in (None, "error", "skip"):
        raise ParameterError(f"--unparsable {request['unparsable']!r} is not error or skip.")
    if request["format"] == "svg" and request["output"] == "-":
        raise ParameterError("--format svg needs -o: a file trees.html for all, or trees.svg for one sentence.")
    if request["text"] is not None:
        words, spans = read_brackets(request["text"]) if request["brackets"] else (request["text"].split(), [])
        if not words:
            raise ParameterError("--text has no words.")
        corpus = Corpus([words], [spans] if request["brackets"] else None)
    else:
        corpus = read_corpus(request["data"], request["brackets"])
    model.set_params(n_jobs=request["jobs"], on_unparsable="skip")
    if request["unknown"] is not None:
        model.set_params(unknown=request["unknown"])
    draws = request["draws"] or None
    status_line.say(f"parsing {len(corpus.sentences):,} sentences")
    found = model.parse(corpus.sentences, brackets=corpus.brackets, draws=draws, random_state=request["seed"])
    listed: list[list[Parse]] = [[] if own is None else own if draws else [own] for own in found]
    _write(request["output"], request["format"], corpus, listed)
    told = model.why_unparsable(corpus.sentences, [s for s, own in enumerate(listed) if not own], corpus.brackets)
    if told and request["unparsable"] != "skip":
        advice = " --unknown missing lets any word stand there." if "not in the grammar" in told else ""
        raise DataError(told + advice)
    if told:
        console.note(f"note: {told}")


def _write(output: str, form: str, corpus: Corpus, listed: Sequence[Sequence[Parse]]) -> None:
    if form == "svg":
        _write_svg(output, corpus, listed)
        return
    _put(output, _as_brackets(listed) if form == "brackets" else _as_pictures(corpus, listed))


def _as_brackets(listed: Sequence[Sequence[Parse]]) -> Iterator[str]:
    for own in listed:
        yield from [f"{one.log_probability:.6f}\t{one.tree}" for one in own] or ["-inf\tno parse"]


def _as_pictures(corpus: Corpus, listed: Sequence[Sequence[Parse]]) -> Iterator[str]:
    for words, own in zip(corpus.sentences, listed, strict=True):
        for one in own:
            yield f"{one.tree.picture()}\nlog-probability {one.log_probability:.4f}\n"
        if not own:
            yield f"{' '.join(words)}\nno parse\n"


def _write_svg(output: str, corpus: Corpus, listed: Sequence[Sequence[Parse]]) -> None:
    trees = [one for own in listed for one in own]
    if output.lower().endswith(".svg"):
        if len(trees) != 1:
            raise ParameterError(
                f"-o {output}: a .svg file holds one tree, but there are {len(trees)}. Use trees.html."
            )
        _save(output, trees[0].tree.to_svg())
        return
    body = "".join(f"<p>log-probability {one.log_probability:.4f}</p>{one.tree.to_svg()}" for one in trees)
    _save(
        output,
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'\"><title>Trees</title><body>{body}</body></html>",
    )


def _put(output: str, lines: Iterable[str]) -> None:
    """Write lines to a file, or as they are to standard output."""
    text = "".join(f"{line}\n" for line in lines)
    if output == "-":
        console.clear_for(output)
        sys.stdout.write(text)
    else:
        _save(output, text)


def _save(path: str, text: str) -> None:
    if not Path(path).parent.is_dir():
        raise ParameterError(f"-o: there is no directory {Path(path).parent}.")
    with whole_file(path) as file:
        file.write(text.encode())


def sample(model: PCFG, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write sentences drawn from the grammar, one on each line."""
    sentences, _ = model.sample(request["rows"], random_state=request["seed"])
    _put(request["output"], (" ".join(words) for words in sentences))


def score(model: PCFG, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the grammar describes the sentences of a file."""
    corpus = read_corpus(request["data"], reading.get("brackets"))
    found = model.score_samples(corpus.sentences, brackets=corpus.brackets)
    parsed = np.isfinite(found)
    n_words = sum(len(words) for words, ok in zip(corpus.sentences, parsed, strict=True) if ok)
    scores: dict[str, Any] = {"sentences": len(found), "without a parse": int((~parsed).sum())}
    if n_words:
        total = float(found[parsed].sum())
        scores |= {"loglik": total, **estimate_of(model)}
        scores |= {"per sentence": total / int(parsed.sum()), "per word": total / n_words}
    return scores


# ---- results --------------------------------------------------------------------------------------------------------


def outcome(model: PCFG) -> str:
    """Return the outcome of the fit in one sentence."""
    n_lost = model.n_unparsable_
    lost = f"; {n_lost} sentence{'s' * (n_lost > 1)} without a parse left out" if n_lost else ""
    end = ended(model.stop_reason_, model.n_iter_)
    return f"{likelihood(model, 2)}, {criteria(model)}; {end}{lost}"


def summary(model: PCFG) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "PCFG",
        "start": model.start_,
        "rules": model.probabilities_,
        "unparsable": list(model.unparsable_),
        **of_fit(model),
    }


def code_of_data(model: PCFG) -> str:
    """Return what `code` calls the sentences."""
    return "sentences"


def code(model: PCFG) -> str:
    """Return the Python that reads the same files and fits the same grammar."""
    defaults = PCFG().get_params()
    own = {name: value for name, value in model.get_params().items() if name not in ("grammar", "fixed")}
    given = "".join(f", {name}={value!r}" for name, value in own.items() if repr(value) != repr(defaults[name]))
    reading = model._origin.reading
    if reading is None:
        lines = ["rules, sentences = ...  # the data of this model"]
        return "\n".join(
            [*lines, f"model = hs.PCFG.from_string(rules{given}).fit(sentences)", "print(model.describe())"]
        )
    build = "from_trees" if reading["grammar"].lower().endswith(TREES) else "from_string"
    lines = [
        "from pathlib import Path\n",
        f"rules = Path({reading['grammar']!r}).read_text()",
        f"sentences = [line for line in Path({reading['data']!r}).read_text().splitlines() if line.strip()]",
    ]
    if reading.get("brackets"):
        lines.append("sentences, brackets = zip(*map(hs.read_brackets, sentences))")
        fitted = "fit(sentences, brackets=brackets)"
    else:
        fitted = "fit(sentences)"
    return "\n".join([*lines, f"model = hs.PCFG.{build}(rules{given}).{fitted}", "print(model.describe())"])
