"""Word alignment on the command line: from one or two files of sentences to files of links.

Source and target come in two files, a sentence in each line, or in one, ``source ||| target``; words are
separated by blanks. Links are written as ``i-j``, a line for each pair, also for a pair without any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from halfseen.app import console, status_line
from halfseen.app.code import call
from halfseen.app.dispatch import Fitted
from halfseen.app.fits import estimate_of, of_end
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.convergence import ended
from halfseen.estimators.outcome import likelihood
from halfseen.families.words.bitext import open_lines, read_gold
from halfseen.families.words.estimator import WordAligner
from halfseen.families.words.link_scores import LinkScores, compared
from halfseen.whole_file import whole_file

PASSES = 5  # iterations of each model without --max-iter
SHARE = 5e-4  # translations with a lower probability are not shown
LINK = re.compile(r"\d+[-?]\d+(:\S+)?")


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit to one or two files of sentences."""
    source, target = _files(request["data"] or [])
    if request["ml"] and request["dirichlet"] is not None:
        raise ParameterError("--ml means no prior: leave out --dirichlet, or --ml.")
    reading = {"data": source, "target": target, "links": request["links"]}
    model = WordAligner(
        request["aligner"] or "hmm",
        direction=request["direction"] or "both",
        symmetrize=request["symmetrize"] or WordAligner().symmetrize,
        dirichlet=request["dirichlet"],
        lowercase=bool(request["lowercase"]),
        assign=request["assign"],
        max_iter=request["max_iter"] if "max_iter" in request["given"] else PASSES,
        memory=request["memory"],
        n_jobs=request["jobs"],
        random_state=request["seed"],
    )
    model.fit(source, target, links=request["links"])
    return Fitted(model, (source, target), reading)


def _files(paths: list[str]) -> tuple[str, str | None]:
    if len(paths) not in (1, 2):
        raise ParameterError(
            f"--model words needs two files, source and target, or one of lines 'source ||| target', got {len(paths)}."
        )
    for path in paths:
        if path == "-" or not Path(path).is_file():
            raise DataError(f"{path}: there is no such file.")
    return paths[0], paths[1] if len(paths) == 2 else None


# ---- use -------------------------------------------------------------------------------------------------------------


def align(model: WordAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the links of every pair, a line for each."""
    model.set_params(n_jobs=request["jobs"])
    source, target = _files([path for path in (request["data"], request["target"]) if path is not None])
    lines: Iterable[str] = (
        " ".join(f"{i}-{j}" for i, j in links)
        for links in model.iter_align(source, target, symmetrize=request["symmetrize"])
    )
    if request["probs"]:
        lines = _with_probabilities(model, source, target, request["symmetrize"])
    with _opened(request["output"]) as out:
        for number, line in enumerate(lines, start=1):
            out.write(f"{line}\n")
            status_line.say("aligning", f"{number:,} pairs")


def _with_probabilities(model: WordAligner, source: str, target: str | None, how: str | None) -> Iterator[str]:
    """Yield lines of links with the probability of each, ``i-j:0.97``."""
    both = zip(model.iter_align(source, target, symmetrize=how), model.iter_proba(source, target), strict=True)
    for links, proba in both:
        yield " ".join(f"{i}-{j}:{proba[i, j]:.4f}" for i, j in links)


@contextmanager
def _opened(output: str) -> Iterator[TextIO]:
    """Open the file to write; it is written completely or not at all. - is standard output."""
    if output == "-":
        console.clear_for(output)
        yield sys.stdout
        return
    if not Path(output).parent.is_dir():
        raise ParameterError(f"-o: there is no directory {Path(output).parent}.")
    with whole_file(output) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.detach()  # what is left of the text goes into the file, which stays open


def score(model: WordAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well the model describes pairs of sentences."""
    source, target = _files([path for path in (request["data"], request["target"]) if path is not None])
    logliks = model.score_samples(source, target)
    if not len(logliks):
        raise DataError(f"{source}: the file has no pairs.")
    total = float(logliks.sum())
    return {"pairs": len(logliks), "loglik": total, **estimate_of(model), "loglik_per_pair": float(logliks.mean())}


def data(model: WordAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Return the pairs for a report."""
    return Fitted(model, _files([path for path in (request["data"], request["target"]) if path is not None]))


def compare_files(found: str, gold: str) -> tuple[dict[str, Any], list[tuple[str, str]]] | None:
    """Compare a file of links with links made by hand: as values, and as text; None if it is not a file of links."""
    if not is_links(found):
        return None
    scores = compare_links(found, gold)
    shares = {
        "alignment error rate": scores.aer,
        "precision": scores.precision,
        "recall": scores.recall,
        "F1": scores.f1,
    }
    numbers = {
        "pairs": scores.n_pairs,
        "links": scores.n_found,
        "sure": scores.n_sure,
        "possible": scores.n_possible,
    }
    facts = [(name, f"{share:.4f}") for name, share in shares.items()]
    return scores._asdict(), facts + [(name, f"{number:,}") for name, number in numbers.items()]


def is_links(path: str) -> bool:
    """Whether a file looks like links: its first line that is not blank has ``i-j``, or numbers of a shared task.

    Blank lines are pairs without links.
    """
    try:
        first = _first(path)
        if not first:
            return Path(path).stat().st_size > 0
        return _has_numbers(first) or LINK.fullmatch(first[0]) is not None
    except (OSError, DataError):
        return False


def compare_links(found: str, gold: str) -> LinkScores:
    """Compare a file of links with links made by hand."""
    one = read_gold(found)
    two = read_gold(gold)
    short, long = sorted((len(one.possible), len(two.possible)))
    if short < long:
        numbered = [path for path in (found, gold) if _is_numbered(path)]
        if not numbered:
            raise DataError(
                f"{found} has {len(one.possible):,} lines and {gold} has {len(two.possible):,}. Line n of both "
                "must be the links of the same pair."
            )
        one, two = (read_gold(path, long) if path in numbered else own for path, own in ((found, one), (gold, two)))
        if len(one.possible) != len(two.possible):
            raise DataError(f"{found} has links of {len(one.possible):,} pairs, {gold} of {len(two.possible):,}.")
    return compared(one.possible, two)


def _is_numbered(path: str) -> bool:
    return _has_numbers(_first(path))


def _first(path: str) -> list[str]:
    """Return the items of the first line that has any."""
    return next((line.split() for line in open_lines(path) if line.strip()), [])


def _has_numbers(items: list[str]) -> bool:
    return len(items) >= 3 and all(item.isdecimal() for item in items[:3])


# ---- results --------------------------------------------------------------------------------------------------------


def outcome(model: WordAligner) -> str:
    """Return the outcome of the fit in one sentence."""
    return f"{likelihood(model)}; {ended(model.stop_reason_, model.n_iter_)}"


def summary(model: WordAligner) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "WordAligner",
        "model": model.model,
        "pairs": model._n_pairs,
        "source_words": len(model.source_words_),
        "target_words": len(model.target_words_),
        "p_null": model.p_null_,
        "loglik": model.loglik_,
        "estimate": model._estimate,
        "stages": [{name: value for name, value in stage.items() if name != "trace"} for stage in model.stages_],
        **of_end(model),
    }


def show_word(model: WordAligner, word: str) -> list[dict[str, Any]]:
    """Return the translations of a word, of either side."""
    found = []
    for name, words, reverse in (("source", model.source_words_, False), ("target", model.target_words_, True)):
        if ("reverse" if reverse else "forward") not in model._learned:
            continue
        if (word.lower() if model.lowercase else word) in set(words):
            found += [
                {"word": word, "side": name, "translation": other, "probability": share}
                for other, share in model.translations(word, reverse=reverse)
                if share >= SHARE
            ]
    if not found:
        model.translations(
            word, reverse="forward" not in model._learned
        )  # raises the error for an unknown word, with suggestions
    return found


def code(model: WordAligner) -> str:
    """Return the Python that reads the same files and fits the same model."""
    reading = model._origin.reading
    fitted = "source, target" if reading is None else _arguments(reading)
    first = ["source, target = ...  # the data of this model"] if reading is None else []
    return "\n".join([*first, f"model = hs.{call(model)}.fit({fitted})", "print(model.describe())"])


def code_of_data(model: WordAligner) -> str:
    """Return the path of the pairs, or both paths in a tuple, as a report takes them."""
    reading = model._origin.reading or {}
    paths = [reading[name] for name in ("data", "target") if reading.get(name) is not None]
    return repr(paths[0] if len(paths) == 1 else tuple(paths))


def _arguments(reading: Mapping[str, Any]) -> str:
    parts = [repr(path) for path in (reading["data"], reading["target"]) if path is not None]
    return ", ".join(parts + ([f"links={reading['links']!r}"] if reading.get("links") else []))
