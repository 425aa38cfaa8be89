"""What transcript alignment shows in the studio: utterances, and the words and units of one of them over time.

Utterances of a table are aligned together, once; recordings are aligned one by one, when they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halfseen.app.views import Ask, Memo, check_ask, page, plain, remembered, text, whole
from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Alignment, Segment

MOST_LISTED = 200  # utterances in one answer


def utterances(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return `count` utterances from `start`, those whose name or transcript has the text `find`.

    Examples
    --------
    >>> utterances(None, ([[0.1, 5.2], [4.9, 0.3]], ["a b", "b a"]), {"find": "B A"})["utterances"]
    [{'number': 1, 'name': 'utterance 1', 'text': 'b a'}]
    """
    check_ask(ask, "start", "count", "find")
    part, wanted = page(ask, MOST_LISTED, 50), text(ask, "find").casefold()
    names, texts = _named(model, rows, memo)
    found = [b for b, own in enumerate(texts) if wanted in names[b].casefold() or wanted in own.casefold()]
    listed = [{"number": b, "name": names[b], "text": texts[b]} for b in found[part]]
    return {"total": len(names), "matching": len(found), "start": part.start, "utterances": listed}


def utterance(model: Any, rows: Any, ask: Ask, memo: Memo = None) -> dict[str, Any]:
    """Return the words and units of an utterance with their times; `seconds` says what these are counted in.

    `surprise` is how far the utterance fits worse than those of the fit: above 5 its transcript is probably wrong.
    """
    check_ask(ask, "number")
    names, texts = _named(model, rows, memo)
    b = whole(ask, "number", 0, 0, len(names) - 1)
    found = _aligned(model, rows, b, names[b], memo)
    answer = {"number": b, "name": names[b], "text": texts[b], "seconds": float(model.step) != 1.0, "why": ""}
    if found is None:
        return answer | {"words": None, "units": None, "why": "it is too short for its transcript."}
    figures = {name: plain(getattr(found, name)) for name in ("duration", "log_probability", "loglik", "surprise")}
    levels = {level: [_plainly(part) for part in found.tier(level)] for level in ("words", "units")}
    return answer | figures | levels


def _plainly(part: Segment) -> dict[str, Any]:
    return {name: plain(value) if isinstance(value, float) else value for name, value in part._asdict().items()}


def _given(rows: Any) -> tuple[Any, Any]:
    if rows is None:
        raise ParameterError("this view shows utterances: open the data too.")
    features, transcripts = rows
    return features, transcripts


def _is_table(features: Any) -> bool:
    return hasattr(features, "column_names")


def _named(model: Any, rows: Any, memo: Memo) -> tuple[list[str], list[str]]:
    """Return the names of the utterances, and their transcripts as text."""
    return remembered(memo, "names", lambda: _read_names(model, *_given(rows)))


def _read_names(model: Any, features: Any, transcripts: Any) -> tuple[list[str], list[str]]:
    if _is_table(features):
        names = [str(name) for name in dict.fromkeys(features.column(_marks(model, features)["groups"]).to_pylist())]
        own = [transcripts[name] for name in names] if isinstance(transcripts, Mapping) else list(transcripts)
    else:
        names = [str(name) for name in getattr(features, "names", map("utterance {}".format, range(len(features))))]
        own = list(transcripts)
    return names, [words if isinstance(words, str) else " ".join(words) for words in own]


def _marks(model: Any, features: Any) -> dict[str, Any]:
    """Return the columns of group and time that a table has."""
    known = (mark if mark in features.column_names else None for mark in model._marks)
    return dict(zip(("groups", "time"), known, strict=True))


def _aligned(model: Any, rows: Any, b: int, name: str, memo: Memo) -> Alignment | None:
    """Return the alignment of an utterance; None where it is too short."""
    features, transcripts = _given(rows)
    if _is_table(features):
        found: Sequence[Any] = remembered(
            memo, "aligned", lambda: model.align(features, transcripts, **_marks(model, features))
        )
        one: Alignment | None = found[b]
        return one
    return remembered(memo, ("aligned", b), lambda: _recording(model, features, transcripts, b, name))


def _recording(model: Any, features: Any, transcripts: Any, b: int, name: str) -> Alignment | None:
    found: Alignment | None = model.align([features[b]], [transcripts[b]], names=[name])[0]
    recordings = getattr(features, "recordings", None)
    return found if found is None or recordings is None else found.shifted(recordings[b].start)


SCREENS = (("utterances", "Utterances"),)
VIEWS = {"utterances": utterances, "utterance": utterance}
