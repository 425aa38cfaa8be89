"""Transcript alignment on the command line: folders of audio, and tables of steps.

A folder has recordings (.wav, .flac, .mp3, ...) with transcripts of the same name (.txt, .lab, .TextGrid, .srt, .vtt),
or `--transcripts` names a file with them. A table has a row for each step, `--group` and `--time` name the columns of
sequence and time, and `--transcripts` names a file with the transcript of each group.
"""

from __future__ import annotations

import copy
import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from halfseen.app import console, options
from halfseen.app.dispatch import Fitted
from halfseen.app.fits import estimate_of, of_end
from halfseen.app.report.words import plural
from halfseen.app.tables import column, open_rows, writer
from halfseen.data.encodings import read_text
from halfseen.data.memory import read_memory
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.convergence import ended
from halfseen.estimators.outcome import likelihood
from halfseen.families.transcript.alignment import Aligned, Segment
from halfseen.families.transcript.cli_files import RULES, Files
from halfseen.families.transcript.cli_notes import adapted_summary, notes
from halfseen.families.transcript.cli_words import of_fit, of_use, with_words
from halfseen.families.transcript.dictionary import read_dictionary
from halfseen.families.transcript.estimator import TranscriptAligner
from halfseen.families.transcript.recordings import MEMORY, AudioFolder
from halfseen.families.transcript.sound.endings import SOUNDS, is_audio
from halfseen.families.transcript.starter import load_speech

SILENCE = "sil"
OF_FILES = ("format", *RULES)  # options that have no use for standard output
OF_AUDIO = (*OF_FILES, "language", "g2p", "adapt")  # and those that have none for a table
SHOWN = ("start", "end", "log_probability", "confidence", "start_sd", "end_sd")
OF_WORDS = ("surprise", "spoken")  # shown of words of recordings, with their text


def fit(request: Mapping[str, Any]) -> Fitted:
    """Fit the models of units to a folder of audio, or to a table."""
    paths = request["data"] or []
    if len(paths) != 1:
        raise ParameterError(f"give one folder of audio, or one file of steps, not {len(paths)} paths.")
    reading = {
        "data": paths[0],
        "sql": request["sql"],
        "missing": options.names(request["missing"]),
        "ignore": options.names(request["ignore"]),
        **{name: request[name] for name in ("group", "time", "transcripts", "dictionary", "language", "tier")},
    }
    audio = is_audio(paths[0])
    if audio:
        dictionary, corpus = _pronounced(request, reading)
        model = _estimator(request, dictionary, corpus.step)
        if model.silence is not None:
            model.set_params(start={model.silence: corpus.quiet()})
        model.fit(corpus, corpus.transcripts)
        console.note(f"{len(corpus)} utterances, {sum(map(len, corpus.transcripts)):,} words")
        return Fitted(model, corpus, reading)
    if request["memory"] is not None:
        raise ParameterError("--memory is for recordings: a table of steps is read whole.")
    _refuse_of_audio({**request, "data": paths[0]})
    dictionary = None if request["dictionary"] is None else read_dictionary(request["dictionary"])
    model = _estimator(request, dictionary, None)
    table = _table(paths[0], reading)
    model.fit(
        table.drop_columns(reading["ignore"]), _transcripts(reading), groups=reading["group"], time=reading["time"]
    )
    return Fitted(model, (table.drop_columns(reading["ignore"]), _transcripts(reading)), reading)


def _pronounced(request: Mapping[str, Any], reading: Mapping[str, Any]) -> tuple[dict[str, Any] | None, AudioFolder]:
    """Return the dictionary of a fit, and its recordings."""
    speech = of_fit(request)
    if speech is None:
        dictionary = None if request["dictionary"] is None else read_dictionary(request["dictionary"])
        return dictionary, _corpus(reading["data"], reading, dictionary, request["memory"])
    corpus = _corpus(reading["data"], reading, speech.known, request["memory"])
    return {**speech.dictionary, **speech.pronounced(corpus)}, corpus


def _estimator(request: Mapping[str, Any], dictionary: Any, step: float | None) -> TranscriptAligner:
    audio = step is not None
    silence = request["silence"] or (SILENCE if audio else "none")
    kinds = options.kinds(request["columns"])
    return TranscriptAligner(
        request["states"] or TranscriptAligner.states_per_unit,
        request["mixtures"] or 1,
        dictionary=dictionary,
        unknown=request["unknown"],
        silence=None if silence == "none" else silence,
        emission="gaussian" if audio else "auto",
        columns=dict(kinds) or None,
        step=step or 1.0,
        assign=request["assign"],
        prior=options.prior(request["prior"], None),
        too_short="skip" if audio else "raise",
        max_iter=min(request["max_iter"], 200),
        **options.of_numbers(request),
        n_jobs=request["jobs"],
        random_state=request["seed"],
    )


def _corpus(
    path: str,
    reading: Mapping[str, Any],
    words: Any,
    memory: str | None = None,
    step: float | None = None,
    features: str | None = None,
) -> AudioFolder:
    """Return the recordings, with frames `step` apart; features beyond `memory` are computed anew in every pass."""
    limit = MEMORY if memory is None else read_memory(memory)
    given = _given(path, reading)
    how: dict[str, Any] = {"tier": reading.get("tier"), "memory": limit, "step": step, "features": features or "mfcc"}
    corpus = AudioFolder(path, transcripts=given, words=words, **how)
    if corpus.without_text:
        listed = ", ".join(corpus.without_text[:5]) + (" ..." if len(corpus.without_text) > 5 else "")
        console.note(f"left out, no transcript: {len(corpus.without_text)} recordings: {listed}")
    _check_texts(corpus, given if isinstance(given, str) else path, reading.get("tier"))
    return corpus


def _check_texts(corpus: AudioFolder, path: str, tier: str | None) -> None:
    """Refuse transcripts without any word, and a tier without TextGrids."""
    if not any(corpus.transcripts):
        raise DataError(f"{path}: no words: the transcript is empty.")
    files = [found.transcript for found in corpus.recordings if found.transcript is not None]
    if tier is not None and not any(file.suffix.lower() == ".textgrid" for file in files):
        raise ParameterError(f"--tier {tier} is for transcripts in TextGrid files, and there is none.")


def _given(path: str, reading: Mapping[str, Any]) -> dict[str, str] | str | None:
    """Return the transcripts that a command names: by the names of recordings, or the file of one recording."""
    text, listed = reading.get("text"), reading.get("transcripts")
    if text is None:
        return None if listed is None else read_transcript_file(listed)
    if listed is not None:
        raise ParameterError(f"give {text}, or --transcripts, not both.")
    if Path(path).is_dir():
        raise ParameterError(
            f"{text} is one file, but {path} is a folder. Put a transcript of the same name beside each recording, or "
            "name a file of all of them by --transcripts."
        )
    if not Path(path).exists() and Path(text).exists():
        raise DataError(f"{path}: there is no such file or folder.")
    if is_audio(text):
        raise ParameterError(f"{text} is sound, not a transcript of {path}. For several recordings, name their folder.")
    return str(text)


def _table(path: str, reading: Mapping[str, Any]) -> pa.Table:
    if reading["group"] is None:
        raise ParameterError("--group is needed: the column that says which transcript a row belongs to.")
    if reading["transcripts"] is None:
        raise ParameterError("--transcripts is needed: a file with the name of each group and its transcript.")
    opened = open_rows(path, reading["sql"], reading["missing"])
    table = pa.concat_tables(opened.batches(everything=True))
    for option in ("group", "time"):
        if reading[option] is not None:
            column(table, reading[option], f"--{option}", path)
    absent = [name for name in reading["ignore"] if name not in table.column_names]
    if absent:
        raise DataError(f"--ignore {absent[0]}: {path} has no such column.")
    groups = table.column(reading["group"])
    at = table.column_names.index(reading["group"])
    names = [None if value is None else _name(value) for value in groups.to_pylist()]
    return table.set_column(at, reading["group"], pa.array(names, pa.string()))


def _name(value: Any) -> str:
    """Return the name of a group as text: 3.0 in a table is 3 in a file of transcripts."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", str(value).strip())


def _transcripts(reading: Mapping[str, Any]) -> dict[str, str]:
    return read_transcript_file(reading["transcripts"])


def read_transcript_file(path: str) -> dict[str, str]:
    """Read transcripts: a name and a text on each line, or a line for each unit, in their order.

    Columns are separated by tabs or commas. A first line is skipped if it is a header: its second cell is
    transcript, text, words, units, unit, word, phase, activity or step.
    """
    text = read_text(path)
    tab = "\t" in text.partition("\n")[0]
    reader = csv.reader(text.splitlines(), delimiter="\t" if tab else ",")
    rows = [(reader.line_num, row) for row in reader if any(row)]
    heads = {"transcript", "text", "words", "units", "unit", "word", "phase", "phases", "activity", "step", "steps"}
    if rows and len(rows[0][1]) > 1 and rows[0][1][1].strip().lower() in heads:
        rows = rows[1:]
    found: dict[str, str] = {}
    for number, row in rows:
        if len(row) < 2:
            raise DataError(f"{path}, line {number}: {row!r:.80} has no transcript after the name.")
        name = _name(row[0])
        found[name] = f"{found[name]} {row[1].strip()}" if name in found else row[1].strip()
    if not found:
        raise DataError(f"{path}: the file has no transcript.")
    return found


# ---- use -------------------------------------------------------------------------------------------------------------


def own_model(verb: str) -> TranscriptAligner:
    """Return the model that sound is aligned with where none is named: the starter model."""
    return load_speech()


def align(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the times of all words or units."""
    request = {**request, "level": request["level"] or "words"}
    if request["level"] not in ("words", "units"):
        raise ParameterError(f"--level {request['level']!r} is not words or units.")
    if request.get("target") is not None and is_audio(request["target"]) and not is_audio(request["data"]):
        request = {**request, "data": request["target"], "target": request["data"]}  # text before its sound
    model = copy.copy(model).set_params(n_jobs=request["jobs"])  # that of the caller keeps its options
    now = _read_as(model, reading, request)
    now |= {name: request[name] for name in ("transcripts", "tier") if request[name] is not None}
    if request["missing"] is not None:
        now["missing"] = options.names(request["missing"])
    _check_kind(request["data"], now)
    if is_audio(request["data"]):
        if request["transcripts"] is None:
            now["transcripts"] = None  # those next to the recordings, not those of the fit
        _align_audio(model, now, request)
    else:
        _refuse_of_audio(request)
        if request.get("report") is not None:
            _report(model, data(model, reading, request).X, request)
        _align_table(model, now, request)


def _refuse_of_audio(request: Mapping[str, Any]) -> None:
    """Refuse options that only apply to sound."""
    for name, flag in request["flags"].items():
        if name in OF_AUDIO and request.get(name) is not None:
            raise ParameterError(f"{flag} is for sound: {request['data']} is read as a table.")


def _read_as(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how to read data: as in the fit; a model made in Python has the columns of group and time."""
    group, time = model._marks
    blank = dict.fromkeys(("sql", "transcripts", "dictionary", "tier", "language"))
    read = {**blank, "missing": [], "ignore": [], "group": group, "time": time, **reading}
    return {**read, "text": request.get("target")}


def _check_kind(path: str, reading: Mapping[str, Any]) -> None:
    """Refuse audio where the model is of a table, and the other way round."""
    if path.endswith(("/", "\\")) and not Path(path).is_dir():
        raise DataError(f"{path}: there is no such folder.")
    if is_audio(path) and reading["group"] is not None:
        raise ParameterError(f"{path} is audio, but the model was fitted to a table. Give a table of steps.")
    if not is_audio(path) and reading["group"] is None:
        raise ParameterError(
            f"{path} is not a folder or a sound file ({', '.join(SOUNDS[:4])}, ...), and the model has no group column "
            "to read it as a table."
        )
    if reading["text"] is not None and not is_audio(path):
        raise ParameterError(f"{reading['text']}: transcripts of a table are given by --transcripts.")


def _spoken(
    model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]
) -> tuple[TranscriptAligner, AudioFolder]:
    """Return the recordings, and the model with the pronunciations of their words."""
    speech = of_use(model, reading, request)
    known = speech.known if speech is not None else model._lexicon.pronunciations or set(model.units_)
    corpus = _corpus(request["data"], reading, known, request.get("memory"), float(model.step), model.front_end_)
    return (model if speech is None else with_words(model, speech, corpus)), corpus


def _align_audio(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    output, page = request["output"], request.get("report")
    if page is not None and not Path(page).parent.is_dir():
        raise ParameterError(f"--report {page}: there is no folder {Path(page).parent}. Make it, or name another one.")
    files = None if output == "-" else Files.asked(request)
    if files is None and (given := [request["flags"][name] for name in OF_FILES if request.get(name) is not None]):
        example = "aligned/" if Path(request["data"]).is_dir() else f"{Path(request['data']).stem}.srt"
        raise ParameterError(f"{given[0]} is for files: add -o, for example -o {example}")
    model, corpus = _spoken(model, reading, request)
    if files is not None:
        files.check(corpus)
    adapt = request.get("adapt") or "auto"
    model.set_params(too_short="skip")
    if adapt == "model":
        model, adapt = model.adapt_model(corpus, corpus.transcripts), "auto"
        console.note(model.events_[-1])
    found = model.align(corpus, corpus.transcripts, adapt=adapt, **_allowed(request))
    if (said := adapted_summary(found)) is not None:
        console.note(said)
    for recording, one in zip(corpus.recordings, found, strict=True):
        if one is None:
            console.note(
                f"note: {recording.name} is too short for its {plural(len(recording.words), 'word')} and was left out: "
                "is it the right transcript?"
            )
            continue
        for note in notes(recording.name, one, recording.start):
            console.note(f"note: {note}")
    pairs = [
        (recording, None if one is None else one.shifted(recording.start))
        for recording, one in zip(corpus.recordings, found, strict=True)
    ]
    if not any(found):
        raise DataError(f"{request['data']}: nothing could be aligned, and nothing was written.")
    if request.get("report") is not None:
        _report(model, Aligned(corpus, corpus.transcripts, found), request)
    if files is None:
        aligned = [(recording.name, one) for recording, one in pairs if one is not None]
        _rows(
            request, [(name, part) for name, one in aligned for part in one.tier(request["level"])], *OF_WORDS, "text"
        )
        return
    count = files.write(pairs)
    console.note(f"{count} recording{'s' if count != 1 else ''} aligned: {output}")


def _report(model: TranscriptAligner, found: Any, request: Mapping[str, Any]) -> None:
    """Write the page on the data that are aligned."""
    from halfseen.app.report.page import report  # which needs the library jinja2

    title = f"Transcript alignment: {Path(request['data']).name}"
    report(model, found, request["report"], command=model._origin.command, title=title)
    console.wrote("report", request["report"])


def _align_table(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    table = _table(request["data"], {**reading, "sql": None})
    group, time = reading["group"], reading["time"]
    kept = [name for name in model._schema.names if name in table.column_names]
    names = list(dict.fromkeys(table.column(group).to_pylist()))
    transcripts = _transcripts(reading)
    marks = [group, *([time] if time is not None else [])]
    found = model.align(table.select([*kept, *marks]), transcripts, groups=group, time=time, **_allowed(request))
    times = _times(table, group, time)
    rows = []
    for name, one in zip(names, found, strict=True):
        for part in () if one is None else one.tier(request["level"]):
            first, last = round(part.start / model.step), round(part.end / model.step) - 1
            rows.append((name, part._replace(start=times[name][first], end=times[name][last])))
    _rows(request, rows)


def _allowed(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how what is said may depart from the transcripts."""
    return {name: request.get(name) for name in ("left_out", "inserted")}


def _times(table: pa.Table, group: str, time: str | None) -> dict[str, list[Any]]:
    """Return the times of the rows of each group, in order; their numbers if there is no time column."""
    names = table.column(group).to_pylist()
    found: dict[str, list[Any]] = {}
    for i, name in enumerate(names):
        own = found.setdefault(name, [])
        own.append(len(own) if time is None else table.column(time)[i].as_py())
    return {name: sorted(values) for name, values in found.items()}


def _rows(request: Mapping[str, Any], rows: Sequence[tuple[str, Segment]], *more: str) -> None:
    columns: dict[str, list[Any]] = {"name": [name for name, _ in rows], "unit": [part.name for _, part in rows]}
    shown = (*SHOWN, *(more if request["level"] == "words" else ()))
    columns |= {field: [_shown(getattr(part, field)) for _, part in rows] for field in shown}
    with writer(request) as out:
        out.append(pa.table(columns))


def _shown(value: Any) -> Any:
    """Return a value without digits that are rounding errors: 0.35, not 0.35000000000000003."""
    return float(f"{value:.8g}") if isinstance(value, float) else value


def score(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the log-likelihood of utterances; transcripts of a table are those of the fit."""
    group, time = model._marks
    read = data(model, reading, request)
    model = read.model
    found = model.score_samples(*read.X, groups=group, time=time)
    total = float(found.sum())
    return {"utterances": float(len(found)), "loglik": total, **estimate_of(model), "per utterance": total / len(found)}


def data(model: TranscriptAligner, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Return the utterances and their transcripts; those of a table are those of the fit."""
    reading = _read_as(model, reading, request)
    _check_kind(request["data"], reading)
    if is_audio(request["data"]):
        model, corpus = _spoken(model, reading, request)
        return Fitted(model, (corpus, corpus.transcripts))
    table = _table(request["data"], {**reading, "sql": request.get("sql")})
    kept = [name for name in (*model._schema.names, reading["group"], reading["time"]) if name is not None]
    return Fitted(model, (table.select(kept), _transcripts(reading)))


# ---- results --------------------------------------------------------------------------------------------------------


def outcome(model: TranscriptAligner) -> str:
    """Return the outcome of the fit in one sentence."""
    grown = "" if len(model.stages_) == 1 else f", grown to {model.stages_[-1]['n_mix']} components"
    return f"{len(model.units_)} units{grown}; {likelihood(model)}; {ended(model.stop_reason_, model.n_iter_)}"


def summary(model: TranscriptAligner) -> dict[str, Any]:
    """Return the fit as plain values."""
    return {
        "estimator": "TranscriptAligner",
        "units": list(model.units_),
        "durations": model.dwell_,
        "pronunciations": model.pronunciations_,
        "loglik": model.loglik_,
        "estimate": model._estimate,
        **of_end(model),
    }


def code(model: TranscriptAligner) -> str:
    """Return the Python that reads the same data and fits the same model."""
    reading = model._origin.reading
    options_of = {name: value for name, value in model.get_params().items() if name not in ("dictionary", "start")}
    defaults = TranscriptAligner().get_params()
    given = [f"{name}={value!r}" for name, value in options_of.items() if repr(value) != repr(defaults[name])]
    lines = []
    if reading is None:
        lines.append("features, transcripts = ...  # the data of this model")
        lines.append(f"model = hs.TranscriptAligner({', '.join(given)}).fit(features, transcripts)")
        return "\n".join([*lines, "print(model.describe())"])
    words = ""
    if reading.get("language"):
        lines.append("dictionary = ...  # hs.pronunciations_of(words, language=" + repr(reading["language"]) + ")")
    elif reading.get("dictionary"):
        lines.append(f"dictionary = hs.read_dictionary({reading['dictionary']!r})")
    if reading.get("language") or reading.get("dictionary"):
        given.insert(0, "dictionary=dictionary")
        words = ", words=dictionary"
    if reading.get("transcripts"):
        lines.append(f"transcripts = ...  # {{name: transcript}}, from {reading['transcripts']}")
    if is_audio(reading["data"]):
        named = ", transcripts=transcripts" if reading.get("transcripts") else ""
        tier = f", tier={reading['tier']!r}" if reading.get("tier") else ""
        lines.append(f"corpus = hs.AudioFolder({reading['data']!r}{named}{words}{tier})")
        if model.silence is not None:
            given.append(f"start={{{model.silence!r}: corpus.quiet()}}")
        lines.append(f"model = hs.TranscriptAligner({', '.join(given)}).fit(corpus, corpus.transcripts)")
    else:
        marks = "".join(
            f", {to}={reading[name]!r}" for name, to in (("group", "groups"), ("time", "time")) if reading[name]
        )
        lines.append(f"table = ...  # the rows of {reading['data']}")
        lines.append(f"model = hs.TranscriptAligner({', '.join(given)}).fit(table, transcripts{marks})")
    return "\n".join([*lines, "print(model.describe())"])


def code_of_data(model: TranscriptAligner) -> str:
    """Return what the Python of a fit calls the data: recordings have their transcripts, other features do not."""
    reading = model._origin.reading
    if reading is None:
        return "features, y=transcripts"
    return "corpus" if is_audio(reading["data"]) else "table, y=transcripts"
