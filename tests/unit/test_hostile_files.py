"""Files made to break their readers: linear time, bounded memory, an error in words with the line.

No time is measured: with quadratic time these files take hours.
"""

import gzip
import struct

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.grammar.reading import read_corpus
from halfseen.families.network.bif import parse_bif
from halfseen.families.network.xmlbif import parse_xmlbif
from halfseen.families.words import bitext
from halfseen.structures.grammar import Grammar
from halfseen.structures.trees import Tree, read_brackets, read_trees

N = 300_000
CAPTION = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"


@pytest.fixture
def written(tmp_path):
    def write(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# ---- captions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["<" * N, "{\\" * N, "<a" * N, "&nbsp;" * N], ids=["<", "{", "<a", "nbsp"])
def test_captions_with_markup_that_does_not_end(written, text):
    [caption] = hs.read_captions(written(CAPTION.format(text)))
    assert caption[:2] == (1.0, 2.0)


@pytest.mark.parametrize(
    "line", ["1" * 100_000 + ":00:01,000 --> 00:00:02,000", "1" * N + "-->", "00:00:01,000" + " " * N + "-->"]
)
def test_captions_with_endless_times(written, line):
    with pytest.raises(DataError, match=r"file, line 3: '.{20,90} is not of the form 00:00:01,000 --> 00:00:02,500"):
        hs.read_captions(written(f"\n1\n{line}\nhello"))


def test_captions_with_endless_blank_lines(written):
    assert len(hs.read_captions(written(CAPTION.format("a") + "\n \t" * N + "\n" + CAPTION.format("b")))) == 2


# ---- TextGrid --------------------------------------------------------------------------------------------------------

GRID = '"ooTextFile" "TextGrid"\n0 1 <exists>\n{}'


@pytest.mark.parametrize(
    "rest",
    ["1" * N + "a", "1" * N, "1." + "1" * N + "a", "1e" + "1" * N + "a", '"' * (N + 1), "<" + "a" * N, "999999999"],
)
def test_textgrids(written, rest):
    with pytest.raises(DataError, match="file, line 3: the TextGrid ends too early"):
        hs.read_textgrid(written(GRID.format(rest)))


# ---- WAV -------------------------------------------------------------------------------------------------------------


def wav(fmt, size=None, data=b"\0\0" * 100):
    head = b"RIFF" + struct.pack("<I", 36) + b"WAVE"
    return (
        head
        + b"fmt "
        + struct.pack("<I", len(fmt) if size is None else size)
        + fmt
        + b"data"
        + struct.pack("<I", 0xFFFFFFFF)
        + data
    )


def test_a_format_of_4_gb(written):
    form = struct.pack("<HHIIHH", 1, 1, 16000, 32000, 2, 16)
    with pytest.raises(DataError, match=r"not an uncompressed WAV file \(it ends before its samples\)"):
        hs.read_wav(written(wav(form, 0xFFFFFFF0)))


def test_a_rate_of_4_ghz(written):
    form = struct.pack("<HHIIHH", 1, 1, 4_000_000_000, 32000, 2, 16)
    with pytest.raises(DataError, match="1 channels, 4,000,000,000 samples per second"):
        hs.read_wav(written(wav(form)))


def test_samples_of_4_gb_that_are_not_there(written):
    samples, rate = hs.read_wav(written(wav(struct.pack("<HHIIHH", 1, 1, 16000, 32000, 2, 16))))
    assert (len(samples), rate) == (100, 16000)


# ---- dictionaries ----------------------------------------------------------------------------------------------------


def test_phones_that_are_digits_are_kept(written):
    """As in SAMPA and eSpeak; where there are tabs, only whole fields are probabilities."""
    assert hs.read_dictionary(written("of\t0 v\non\t0 n\n")) == {"of": [["0", "v"]], "on": [["0", "n"]]}
    assert hs.read_dictionary(written("of 0 v\nthe 0.25 D 0\n")) == {"of": [["0", "v"]], "the": [["D", "0"]]}


@pytest.mark.parametrize(
    ("line", "units"),
    [
        ("the\t0.99\tdh ah", ["dh", "ah"]),
        ("the\t0.16\t0.08\t2.17\t1\t1e-05\tdh 1", ["dh", "1"]),
        ("the\t1\t0 1", ["0", "1"]),
        ("the\t1", ["1"]),
        ("the 0.5 0.25 dh ah", ["dh", "ah"]),
        ("the 1.0\tdh ah", ["dh", "ah"]),
        ("the\tdh\tah", ["dh", "ah"]),
        ("the  dh ah ", ["dh", "ah"]),
        ("the(2)\tdh ah", ["dh", "ah"]),
    ],
)
def test_formats_of_dictionaries(written, line, units):
    assert hs.read_dictionary(written(line)) == {"the": [units]}


def test_a_word_with_many_pronunciations(written):
    assert len(hs.read_dictionary(written("".join(f"a\tx{j}\n" for j in range(100_000))))["a"]) == 100_000


# ---- networks --------------------------------------------------------------------------------------------------------


def family(n_parents, n_states=2):
    states = ", ".join(f"s{k}" for k in range(n_states))
    names = [f"v{j}" for j in range(n_parents + 1)]
    variables = "".join(f"variable {name} {{ type discrete [ {n_states} ] {{ {states} }}; }}\n" for name in names)
    return variables + f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}\n"


@pytest.mark.parametrize(("n_parents", "n_states"), [(39, 2), (25, 2), (1000, 2), (40, 1)])
def test_a_table_of_too_many_cells(n_parents, n_states):
    with pytest.raises(DataError, match=rf"text, line \d+: the table of 'v0' would have .* {n_parents} parents"):
        parse_bif(family(n_parents, n_states))


def test_an_xml_table_of_too_many_cells():
    names = [f"v{j}" for j in range(40)]
    variables = "".join(f"<VARIABLE><NAME>{n}</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>" for n in names)
    given = "".join(f"<GIVEN>{name}</GIVEN>" for name in names[1:])
    table = f"<DEFINITION><FOR>v0</FOR>{given}<TABLE>0.5</TABLE></DEFINITION>"
    with pytest.raises(DataError, match=r"line 2: the table of 'v0' would have 1\.1e\+12 cells"):
        parse_xmlbif(f"<BIF><NETWORK>{variables}\n{table}</NETWORK></BIF>".encode())


def test_a_fit_with_too_many_parents():
    edges = [(f"v{j}", "v39") for j in range(39)]
    with pytest.raises(ParameterError, match=r"the table of 'v39' would have .* Use fewer parents"):
        hs.BayesNet(edges).fit(pd.DataFrame(np.eye(40, dtype=int), columns=[f"v{j}" for j in range(40)]))


@pytest.mark.parametrize("text", ["/* " * N, "\n/*" + "*" * N])
def test_a_comment_that_does_not_end(text):
    with pytest.raises(DataError, match=r"text, line [12]: a comment begins here"):
        parse_bif(text)


def test_a_quote_that_does_not_end():
    with pytest.raises(DataError, match=r"text, line 1: .* does not end"):
        parse_bif('"' + "\\a" * N)


def test_xml_in_a_strange_encoding():
    for encoding in ("utf-7", "no-such", "shift_jis", "idna"):
        with pytest.raises(DataError, match="line 1"):
            parse_xmlbif(f'<?xml version="1.0" encoding="{encoding}"?><BIF></BIF>'.encode())


def test_xml_of_a_hundred_thousand_levels():
    with pytest.raises(DataError, match="no <NETWORK>"):
        parse_xmlbif(b"<a>" * 100_000 + b"</a>" * 100_000)


@pytest.mark.parametrize("suffix", [".xdsl", ".net", ".uai", ".dne", ".json", ".halfseen"])
def test_a_network_is_not_written_under_the_name_of_another_format(tmp_path, suffix):
    net = hs.BayesNet.from_params({"a": [0.5, 0.5]}, ["a"])
    with pytest.raises(ParameterError, match=rf"x\{suffix}: \{suffix} is not an extension of BIF.*\.bif, or XMLBIF to"):
        hs.write_bif(net, tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())
    for good in ("x.bif", "x.BIF", "x", "x.xml", "x.bifxml"):
        hs.write_bif(net, tmp_path / good)


# ---- grammars and trees ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "right", ["[" * N, "'a' [" + "1" * N + "x]", '"' + "a" * N, "\\'" * N + "'", "'a' [1e" + "9" * N + "]"]
)
def test_rules_that_do_not_end(right):
    with pytest.raises(DataError, match="line 2: "):
        hs.PCFG.from_string("\nS -> " + right)


def test_a_rule_of_many_symbols():
    with pytest.raises(DataError, match=r"line 1: a right-hand side of S has 2,000 symbols; at most 1,000"):
        hs.PCFG.from_string("S -> " + "A " * 2000 + "\nA -> 'a'")
    with pytest.raises(DataError, match=r"a right-hand side of S has 2,000 symbols; at most 1,000"):
        hs.PCFG.from_trees([Tree("S", ["a"] * 2000)])
    with pytest.raises(ParameterError, match=r"a right-hand side of S has 2,000 symbols; at most 1,000"):
        Grammar.of("S", [("S", ("S",) * 2000)])


def test_a_grammar_of_many_symbols():
    """Each left-hand side once: what is done for each of them looks at its own rules alone."""
    rules = "\n".join(f"A{j} -> 'a' A{(j + 1) % 20_000} [0.5] | 'b' [0.5]" for j in range(20_000))
    assert hs.PCFG.from_string(rules).score(["a a b"]) == pytest.approx(3 * -0.6931471805599453)


def test_a_sentence_whose_chart_does_not_fit():
    grammar = hs.PCFG.from_string("S -> S S [0.5] | 'a' [0.5]")
    with pytest.raises(DataError, match=r"sentence 1 has 300,000 words; its chart, with 1 symbols, needs .* Cut it"):
        grammar.score(["a", "a " * N])


def test_trees_of_many_levels():
    with pytest.raises(DataError, match=r"line 1, letter 20001: more than 10,000 brackets"):
        read_trees("(a" * N)
    [tree] = read_trees("(a " * 5000 + "b" + ")" * 5000)
    for draw in (tree.picture, tree.to_svg):
        with pytest.raises(DataError, match=r"the tree has 5,000 levels; a picture has at most 200"):
            draw()
    assert tree.height() == 5000


def test_many_brackets_around_a_phrase():
    text = "(" * 30_000 + "a a" + ")" * 30_000
    assert len(read_brackets(text)[1]) == 30_000
    grammar = hs.PCFG.from_string("S -> S S [0.5] | 'a' [0.5]")._known_grammar()
    assert read_corpus(grammar, ["a a"], [text], None, "unparsable").brackets == [()]


def test_crossing_brackets_are_named():
    grammar = hs.PCFG.from_string("S -> S S [0.5] | 'a' [0.5]")._known_grammar()
    with pytest.raises(DataError, match=r"brackets of sentence 0: \(0, 3\) and \(1, 4\) cross"):
        read_corpus(grammar, ["a a a a a"], [[(1, 4), (0, 3), (0, 5)]], None, "unparsable")


# ---- links and sentences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["1" * 5000 + "-0", "0-" + "9" * 10, "1" * N + "?1"])
def test_links_with_endless_numbers(written, line):
    path = written(line)
    with pytest.raises(DataError, match=r"file, line 1: '.{5,70} is not a link"):
        hs.WordAligner("ibm1").fit(["a ||| b"], links=path) if "?" not in line else bitext.read_gold(path)


@pytest.mark.parametrize("line", ["1" * 5000 + " 1 1", "1 1 " + "1" * 5000])
def test_numbered_links_with_endless_numbers(written, line):
    with pytest.raises(DataError, match=r"file, line 1: .* is not"):
        bitext.read_gold(written(line))


def test_the_number_of_a_sentence_takes_no_memory(written):
    with pytest.raises(DataError, match=r"a link of sentence 999,999,999, but 1 lines"):
        bitext.read_gold(written("999999999 1 1"))


def test_a_compressed_line_that_does_not_end(tmp_path, monkeypatch):
    monkeypatch.setattr(bitext, "LONGEST", 1 << 16)
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"a ||| b\n" + b"a " * (1 << 16))
    with pytest.raises(DataError, match=r"a\.gz, line 2: it has more than 65,536 bytes"):
        hs.WordAligner("ibm1").fit(tmp_path / "a.gz")
