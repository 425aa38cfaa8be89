"""Mutants of every other file that the library reads: refused in words, or what was read can be used.

`READERS` lists all readers with what they take. ``tests/faults/test_faults.py`` holds the list against the functions in
the source, and against the extensions that `open_table` knows, so that a new reader is not forgotten.
"""

from __future__ import annotations

import ast
import gzip
import io
import json
import sqlite3
import wave
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import halfseen as hs
from halfseen.families.transcript import sphinx_files
from tests import sphinx_model
from tests.faults.campaign import FINE, REFUSED, ROOT, Campaign, Failed, answer, case_rng, folder, watched_warnings
from tests.faults.mutate import BYTES, TEXT, Rng, mutant
from tests.faults.uses import has_nan, use

# ---- files to damage -------------------------------------------------------------------------------------------------

ROWS = [
    {"color": "red", "size": 1.5, "n": 3, "ok": True, "note": "a, b"},
    {"color": "blue", "size": None, "n": 4, "ok": False, "note": 'say "hi"'},
    {"color": None, "size": -2.25, "n": 12, "ok": None, "note": "ü"},
    {"color": "red", "size": 1e3, "n": 0, "ok": True, "note": None},
] * 5

GRAMMAR = """\
%start S
S -> NP VP [1.0]
VP -> V NP [0.7] | VP PP [0.3]
NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | "saw" [0.04] | 'stars' [0.28]
PP -> P NP [1.0]   # a comment
P -> 'with' [1.0]
V -> 'saw' [1.0]
"""
TREES = """\
(S (NP (D the) (N dog)) (VP (V barks)))
( (S (NP (N cats)) (VP (V chase) (NP (D the) (N dog)))) )
"""
BIF = """\
network asia { property author = "x"; }
variable smoke { type discrete [ 2 ] { yes, no }; }
variable lung { type discrete [ 2 ] { yes, no }; property p = 1; }
variable xray { type discrete [ 3 ] { a, b, c }; }
// a comment
probability ( smoke ) { table 0.5, 0.5; }
probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
probability ( xray | lung, smoke ) {
  default 0.2, 0.3, 0.5;
  (yes, yes) 0.9, 0.05, 0.05;
}
"""
XML = """\
<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>wet</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>
<DEFINITION><FOR>wet</FOR><GIVEN>rain</GIVEN><TABLE>0.9 0.1 <!-- no --> 0.2 0.8</TABLE></DEFINITION>
</NETWORK></BIF>
"""
SRT = """\
1
00:00:01,000 --> 00:00:02,500
Hello <i>there</i>.

2
00:00:03,000 --> 00:00:04,000
{\\an8}Good
day &amp; night
"""
VTT = """\
WEBVTT

NOTE a note

STYLE
::cue {}

00:01.000 --> 00:02.500 align:left
<v Ann>Hello.

id
01:00:03.000 --> 01:00:04.000
Bye
"""
SHORT_SRT = "1\n00:00:00,000 --> 00:00:00,200\nHello\n\n2\n00:00:00,300 --> 00:00:00,450\nday\n"
LONG_GRID = '''File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.5
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2.5
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 1.2
            text = "he said ""hi"""
        intervals [2]:
            xmin = 1.2
            xmax = 2.5
            text = ""
    item [2]:
        class = "TextTier"
        name = "bell"
        xmin = 0
        xmax = 2.5
        points: size = 1
        points [1]:
            number = 1.5
            mark = "ding"
'''
SHORT_GRID = """File type = "ooTextFile"
Object class = "TextGrid"

0
1
<exists>
1
"IntervalTier"
"words"
0
1
1
0
1
"a"
"""
DICTIONARY = "the\tdh ah\nthe(2)\tdh iy\ncat  k ae t\n;;; a comment\nread 0.4 r eh d\nread 0.6 r iy d\n1\tw ah n\n"
BITEXT = "das Haus ||| the house\ndas Buch ||| the book\nein Buch ||| a book\n ||| \n"
LINKS = "0-0 1-1\n0-0\n\n1-0 0-1:0.93\n"
GOLD = "0001 1 1 S\n0001 2 2 P\n0002 1 1\n0003 2 1 S 0.9\n"
GOLD_PHARAOH = "0-0 1-1 1?0\n0-0\n1-0\n"
TRANSCRIPTS = "name,transcript\none,ab ca\ntwo,bad\ntwo,ab\n"
COSTS = "decision,sick,well\ntreat,0,1.5\nwait,10,0\n"
SENTENCES = "(the dog) barks\nthe (dog (that barks)) runs\n\nx\n"


def delimited(delimiter: str) -> bytes:
    """The table as text, quoted where it must be."""
    text = io.StringIO()
    print(*ROWS[0], sep=delimiter, file=text)
    for row in ROWS:
        cells = ["" if cell is None else str(cell).replace('"', '""') for cell in row.values()]
        print(*(f'"{cell}"' if set(cell) & {delimiter, '"'} else cell for cell in cells), sep=delimiter, file=text)
    return text.getvalue().encode()


def json_lines() -> bytes:
    return "\n".join(map(json.dumps, ROWS)).encode()


def parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), sink)
    return sink.getvalue()


def arrow() -> bytes:
    import pyarrow as pa

    table, sink = pa.Table.from_pylist(ROWS), io.BytesIO()
    table = table.set_column(0, "color", table["color"].dictionary_encode())
    with pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue()


def _database(connection: Any, text: str) -> None:
    connection.execute(f"CREATE TABLE survey (color {text}, size DOUBLE, n INTEGER, ok BOOLEAN, note {text})")
    connection.executemany("INSERT INTO survey VALUES (?, ?, ?, ?, ?)", [tuple(row.values()) for row in ROWS])


def stat_file(write: str, suffix: str) -> Callable[[], bytes]:
    """Return the maker of a file of SPSS, Stata or SAS, with value labels where the format has them."""

    def made() -> bytes:
        import pandas as pd
        import pyreadstat

        frame = pd.DataFrame(ROWS).drop(columns="ok").assign(answer=[1, 2, 9, 1] * 5)
        if suffix == ".por":
            frame = frame.replace("ü", "u")  # it has its own set of characters
        labels = {"answer": {1: "yes", 2: "no", 9: "refused"}}
        options = {
            "write_sav": {"variable_value_labels": labels, "missing_ranges": {"answer": [9]}},
            "write_dta": {"variable_value_labels": labels},
        }
        path = folder() / f"made{suffix}"
        getattr(pyreadstat, write)(frame, path, **options.get(write, {}))
        return path.read_bytes()

    return made


def sas_head() -> bytes:
    """The first bytes of a SAS file: no library writes one."""
    magic = "00" * 12 + "c2ea8160b31411cfbd92080009c7318c181f1011"
    return bytes.fromhex(magic) + bytes([0x22, 0x22, 0, 0x32, 0x33, 1, 2]) + bytes(2000)


def sqlite_file() -> bytes:
    path = folder() / "seed.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    _database(connection, "TEXT")
    connection.commit()
    connection.close()
    return path.read_bytes()


def duckdb_file() -> bytes:
    import duckdb

    path = folder() / "seed.duckdb"
    path.unlink(missing_ok=True)
    connection = duckdb.connect(str(path))
    _database(connection, "VARCHAR")
    connection.close()
    return path.read_bytes()


def wav(width: int = 2, channels: int = 1) -> bytes:
    sink = io.BytesIO()
    with wave.open(sink, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(np.random.default_rng(0).bytes(width * channels * 4000))
    return sink.getvalue()


def compressed(form: str) -> bytes:
    """A sound file of the library soundfile."""
    import soundfile

    sink = io.BytesIO()
    soundfile.write(sink, 0.1 * np.random.default_rng(0).normal(size=3000), 8000, format=form)
    return sink.getvalue()


def float_wav() -> bytes:
    """A WAV file in 32-bit floats with a list of notes before the samples."""
    samples = np.random.default_rng(0).normal(size=3000).astype("<f4").tobytes()
    form = b"fmt " + (18).to_bytes(4, "little") + b"\x03\x00\x01\x00" + (8000).to_bytes(4, "little")
    form += (32000).to_bytes(4, "little") + b"\x04\x00\x20\x00\x00\x00"
    note = b"LIST" + (4).to_bytes(4, "little") + b"INFO"
    body = b"WAVE" + form + note + b"data" + len(samples).to_bytes(4, "little") + samples
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def checkpoint_file() -> bytes:
    """A checkpoint of a fit that was cut off."""
    path = folder() / "seed.checkpoint"
    path.unlink(missing_ok=True)
    try:
        with hs.checkpoint(path):
            _checkpointed()
            raise KeyError
    except KeyError:
        return path.read_bytes()


def _checkpointed() -> Any:
    X = [["a", 1.0], ["b", 2.5], ["a", None], ["b", 0.5], [None, 1.5]] * 3
    with watched_warnings(strict=True):
        return hs.LatentClass(2, n_init=2, max_iter=4, random_state=0).fit(X)


# ---- what is done with a file ----------------------------------------------------------------------------------------


def a_table(path: Path) -> None:
    """Open and read; fit to one in eight, which takes longer than the rest."""
    opened = hs.open_table(path)
    repr(opened)
    assert opened.n_rows >= 0
    opened.unreadable()
    frame = opened.__halfseen_frame__()
    if frame.num_rows > 1 and crc32(path.read_bytes()) % 8 == 0:
        hs.LatentClass(1, n_init=1, max_iter=2, tol=1.0, random_state=0).fit(opened)


def a_network(path: Path) -> None:
    model = hs.read_bif(path)
    use(model, np.full((1, len(model.nodes_)), None, dtype=object))
    back = folder() / ("back.bif" if path.suffix == ".bif" else "back.xml")
    hs.write_bif(model, back)
    again = hs.read_bif(back)
    if list(again.nodes_) != list(model.nodes_):
        raise Failed("a network that was read and written has other variables")


def a_grammar(path: Path) -> None:
    model = hs.PCFG.from_string(path.read_text(encoding="utf-8", errors="replace"))
    answer(lambda: use(model, [["astronomers", "saw", "stars"]]))


def a_grammar_file(path: Path) -> None:
    from halfseen.families.grammar.cli import _estimator

    _estimator({"model": str(path), "prior": None, "unknown": None, "unparsable": None, **_NO_OPTIONS})


_NO_OPTIONS: dict[str, Any] = dict.fromkeys(
    ("assign", "restarts", "seed", "jobs", "tol", "max_iter", "iterations", "method", "anneal", "draws", "ml")
)


def some_trees(path: Path) -> None:
    for tree in hs.read_trees(path.read_text(encoding="utf-8", errors="replace")):
        if hs.Tree.from_string(str(tree)) != tree:
            raise Failed("a tree that was read and written is another")
        tree.spans(), tree.rules(), tree.height()
        if len(str(tree)) < 1000:
            tree.picture()
    model = hs.PCFG.from_trees(path.read_text(encoding="utf-8", errors="replace"))
    answer(lambda: model.parse([["the", "dog", "barks"]]))


def some_brackets(path: Path) -> None:
    words, spans = hs.read_brackets(path.read_text(encoding="utf-8", errors="replace"))
    if any(not 0 <= start < end <= len(words) for start, end in spans):
        raise Failed("brackets beyond the words")


def a_corpus(path: Path) -> None:
    from halfseen.families.grammar.cli import read_corpus

    read_corpus(str(path))
    read_corpus(str(path), brackets=True)


def a_bitext(path: Path) -> None:
    model = hs.WordAligner("ibm1", max_iter=1, random_state=0).fit(path)
    model.align(path)


def some_links(path: Path) -> None:
    hs.read_links(path)
    hs.read_links(path, nulls=True)


def some_gold(path: Path) -> None:
    hs.read_gold(path)
    hs.read_gold(path, n_pairs=4)


def a_dictionary(path: Path) -> None:
    found = hs.read_dictionary(path)
    if not all(units for ways in found.values() for units in ways):
        raise Failed("a pronunciation without units")


def some_captions(path: Path) -> None:
    if has_nan([(caption.start, caption.end) for caption in hs.read_captions(path)]):
        raise Failed("a caption at no time")


def a_grid(path: Path) -> None:
    for intervals in hs.read_textgrid(path).values():
        if has_nan([(interval.start, interval.end) for interval in intervals]):
            raise Failed("an interval at no time")


def a_sphinx_phone(path: Path) -> None:
    found = sphinx_files.read_phones(path)
    if found.senones.shape[0] != len(found.names) or found.senones.max() >= found.n_senones:
        raise Failed("a phone without senones")


def some_codebooks(path: Path) -> None:
    if has_nan(sphinx_files.read_codebooks(path)[1]):
        raise Failed("a density without a place")


def some_moves(path: Path) -> None:
    if has_nan(sphinx_files.read_transitions(path)):
        raise Failed("a move without a probability")


def some_weights(path: Path) -> None:
    if has_nan(sphinx_files.read_weights(path.parent, 3)):
        raise Failed("a density without a weight")


def a_sound(path: Path) -> None:
    samples, rate = hs.read_wav(path)
    if has_nan(samples) or not rate > 0:
        raise Failed(f"a sound of NaN, or of rate {rate}")
    hs.mfcc(samples, rate)


def a_compressed_sound(path: Path) -> None:
    samples, rate = hs.read_sound(path)
    if has_nan(samples) or not rate > 0:
        raise Failed(f"a sound of NaN, or of rate {rate}")


def some_transcripts(path: Path) -> None:
    from halfseen.families.transcript.cli import read_transcript_file

    read_transcript_file(str(path))


def some_costs(path: Path) -> None:
    from halfseen.app.tables import read_costs

    _, cost = read_costs(str(path), ["sick", "well"])
    answer(lambda: hs.decide(np.array([[0.2, 0.8]]), cost=cost))


def an_audio_folder(path: Path) -> None:
    """A recording beside the transcript that was damaged."""
    sound = path.with_suffix(".wav")
    sound.write_bytes(_seed("wav"))
    try:
        corpus = hs.AudioFolder(sound)
        for b in range(len(corpus.recordings)):
            corpus[b]
    finally:
        sound.unlink()


def a_checkpoint(path: Path) -> None:
    """Resume: refused, or the result is that of an undisturbed fit."""
    with hs.checkpoint(path):
        model = _checkpointed()
    if model.trace_ != _undisturbed().trace_:
        raise Failed("a damaged checkpoint gives another result")


@cache
def _undisturbed() -> Any:
    return _checkpointed()


class Reader(NamedTuple):
    """A reader: functions that it covers, the name of a file, files to damage, and what is done with them."""

    covers: tuple[str, ...]
    name: str
    seeds: tuple[Callable[[], bytes] | str, ...]
    action: Callable[[Path], None]
    ways: tuple[Callable[[Rng, bytes], bytes], ...] = TEXT


def packed(make: Callable[[], bytes]) -> Callable[[], bytes]:
    return lambda: gzip.compress(make(), mtime=0)


READERS = {
    "csv": Reader(
        (".csv", ".txt", "read_dialect"),
        "a.csv",
        (lambda: delimited(","), lambda: delimited(";"), lambda: delimited("|")),
        a_table,
    ),
    "tsv": Reader((".tsv",), "a.tsv", (lambda: delimited("\t"),), a_table),
    "csv_gz": Reader(
        (".csv.gz", ".tsv.gz", ".txt.gz"), "a.csv.gz", (packed(lambda: delimited(",")),), a_table, (*BYTES, *BYTES)
    ),
    "jsonl": Reader((".jsonl", ".ndjson"), "a.jsonl", (json_lines,), a_table),
    "json": Reader((".json",), "a.json", (lambda: json.dumps(ROWS, indent=1).encode(),), a_table),
    "parquet": Reader((".parquet", ".pq"), "a.parquet", (parquet,), a_table, BYTES),
    "arrow": Reader((".arrow", ".feather"), "a.arrow", (arrow,), a_table, BYTES),
    "sqlite": Reader((".sqlite", ".sqlite3", ".db"), "a.sqlite", (sqlite_file,), a_table, BYTES),
    "duckdb": Reader((".duckdb", "open_table"), "a.duckdb", (duckdb_file,), a_table, BYTES),
    "sav": Reader((".sav", ".zsav"), "a.sav", (stat_file("write_sav", ".sav"),), a_table, BYTES),
    "dta": Reader((".dta",), "a.dta", (stat_file("write_dta", ".dta"),), a_table, BYTES),
    "por": Reader((".por",), "a.por", (stat_file("write_por", ".por"),), a_table, BYTES),
    "xpt": Reader((".xpt",), "a.xpt", (stat_file("write_xport", ".xpt"),), a_table, BYTES),
    "sas7bdat": Reader((".sas7bdat",), "a.sas7bdat", (sas_head,), a_table, BYTES),
    "bif": Reader(("read_bif", "read_network_file", "parse_bif"), "a.bif", (BIF,), a_network),
    "xmlbif": Reader(("parse_xmlbif",), "a.xml", (XML,), a_network),
    "grammar": Reader(("from_string", "read_grammar"), "a.cfg", (GRAMMAR,), a_grammar),
    "trees": Reader(("read_trees", "from_trees"), "a.mrg", (TREES,), some_trees),
    "brackets": Reader(("read_brackets",), "a.txt", (SENTENCES,), some_brackets),
    "corpus": Reader(("read_corpus", "read_text"), "a.txt", (SENTENCES,), a_corpus),
    "bitext": Reader(("read_pairs", "open_lines"), "a.txt", (BITEXT,), a_bitext),
    "bitext_gz": Reader((), "a.gz", (packed(BITEXT.encode),), a_bitext, (*BYTES, *BYTES)),
    "links": Reader(("read_links",), "a.links", (LINKS,), some_links),
    "gold": Reader(("read_gold",), "a.gold", (GOLD, GOLD_PHARAOH), some_gold),
    "dictionary": Reader(("read_dictionary",), "a.dict", (DICTIONARY,), a_dictionary),
    "captions": Reader(("read_captions",), "a.srt", (SRT, VTT), some_captions),
    "textgrid": Reader(("read_textgrid",), "a.TextGrid", (LONG_GRID, SHORT_GRID), a_grid),
    "flac": Reader(
        ("read_sound",), "a.flac", (lambda: compressed("FLAC"), lambda: compressed("OGG")), a_compressed_sound, BYTES
    ),
    "wav": Reader(("read_wav",), "a.wav", (wav, lambda: wav(3, 2), lambda: wav(1), float_wav), a_sound, BYTES),
    "sphinx_phones": Reader(
        ("read_phones",), "a.mdef", (sphinx_model.text_mdef, sphinx_model.binary_mdef), a_sphinx_phone, (*BYTES, *TEXT)
    ),
    "sphinx_codebooks": Reader(
        ("read_codebooks",), "a.means", (lambda: sphinx_model.codebooks(np.ones((2, 2, 39))),), some_codebooks, BYTES
    ),
    "sphinx_moves": Reader(
        ("read_transitions",),
        "a.transition_matrices",
        (lambda: sphinx_model.s3((2, 1, 2), [0.5, 0.5, 0.1, 0.9], checksum=False),),
        some_moves,
        BYTES,
    ),
    "sphinx_weights": Reader(
        (), "sendump", (lambda: sphinx_model.sendump(np.full((4, 3, 2), 0.5)),), some_weights, BYTES
    ),
    "sphinx_options": Reader(("read_options",), "a.params", (sphinx_model.FEATURES,), sphinx_files.read_options),
    "audio_folder": Reader(
        ("AudioFolder",),
        "a.srt",
        ("1\n00:00:00,000 --> 00:00:00,200\nHello\n\n2\n00:00:00,300 --> 00:00:00,450\nday\n",),
        an_audio_folder,
    ),
    "transcripts": Reader(("read_transcript_file",), "a.csv", (TRANSCRIPTS,), some_transcripts),
    "costs": Reader(("read_costs",), "a.csv", (COSTS,), some_costs),
    "checkpoint": Reader(("checkpoint",), "a.checkpoint", (checkpoint_file,), a_checkpoint, BYTES),
}
ELSEWHERE = {"load", "read_model", "read_record"}  # model files have a campaign of their own
COMMON = ("load", "open", "parse", "from_string", "from_trees", "checkpoint", "AudioFolder")


@cache
def _seed(reader: str, which: int = 0) -> bytes:
    seed = READERS[reader].seeds[which]
    return seed.encode() if isinstance(seed, str) else seed()


def readers_in_the_source() -> set[str]:
    """Public functions that take a path or the content of a file, and the extensions that `open_table` knows."""
    from halfseen.data.files import SUFFIXES

    found = {"AudioFolder", "from_trees", "open_lines", "read_pairs", "read_links", *SUFFIXES}
    for path in (ROOT / "src" / "halfseen").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and _reads(node):
                found.add(node.name)
    return found


def _reads(node: ast.FunctionDef) -> bool:
    """Whether a function is a reader, by its name and its first argument."""
    named = node.name.startswith(("read_", "parse_", "open_", "load")) or node.name in ("checkpoint", "from_string")
    first = [argument.arg for argument in node.args.args if argument.arg not in ("self", "cls")][:1]
    of_files = first in (["path"], ["content"]) or (first == ["text"] and node.name not in NOT_FILES)
    return named and of_files


NOT_FILES = ("read_rule", "read_given", "loads")  # they read a rule, an option and a record, which others pass on


# ---- a case ----------------------------------------------------------------------------------------------------------


def read_case(subject: str, number: int) -> str:
    """Read a mutant."""
    reader = READERS[subject]
    path = write_mutant(subject, number, folder())
    try:
        return REFUSED if answer(lambda: reader.action(path)) is REFUSED else FINE
    finally:
        for left in folder().glob("a.*"):
            left.unlink(missing_ok=True)


def write_mutant(subject: str, number: int, where: Path) -> Path:
    """Write the mutant of a case into a folder."""
    rng, reader = case_rng(subject, number), READERS[subject]
    content = _seed(subject, int(rng.integers(len(reader.seeds))))
    if reader.name.endswith(".gz") and rng.random() < 0.5:  # damage inside a sound shell
        damaged = gzip.compress(mutant(rng, gzip.decompress(content), TEXT), mtime=0)
    else:
        damaged = mutant(rng, content, reader.ways)
    path = where / reader.name
    path.write_bytes(damaged)
    return path


CAMPAIGN = Campaign("readers", tuple(READERS), read_case, size=20_000, seconds=10, memory=2 << 30)
