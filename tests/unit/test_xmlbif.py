"""XMLBIF files: what other programs write, odd names, entities, and what is said about mistakes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.network.xmlbif import parse_xmlbif

HEAD = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- as JavaBayes writes it -->
<!DOCTYPE BIF [
<!ELEMENT BIF ( NETWORK )*>
<!ATTLIST BIF VERSION CDATA #REQUIRED>
<!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
]>
"""
A = "<VARIABLE TYPE='nature'><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
VALUES = "<VALUE>&lt;5</VALUE><VALUE>5 &amp; more</VALUE><VALUE>?</VALUE>"
B = f"<VARIABLE><NAME> b\n</NAME><PROPERTY>p = 1</PROPERTY>{VALUES}</VARIABLE>"
OF_A = "<DEFINITION><FOR>a</FOR><TABLE>.25 7.5e-1</TABLE></DEFINITION>"
OF_B = "<PROBABILITY><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.5 0.25 0.25 <!-- y --> 0.1 0.2\n 0.7</TABLE></PROBABILITY>"


def file(*parts):
    return f"<BIF VERSION='0.3'><NETWORK><NAME>n</NAME>{''.join(parts)}</NETWORK></BIF>"


def test_files_of_several_programs():
    net = parse_xmlbif((HEAD + file(A, B, OF_B, OF_A)).encode())
    assert net.states == {"a": ("x", "y"), "b": ("<5", "5 & more", "?")}
    assert net.parents == {"a": (), "b": ("a",)}
    assert_allclose(net.tables["a"], [0.25, 0.75])
    assert_allclose(net.tables["b"], [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])


def test_own_state_changes_quickest_then_the_last_parent():
    c = "<VARIABLE><NAME>c</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>"
    table = " ".join(f"{p} {1 - p}" for p in (0.0, 0.125, 0.25, 0.5, 0.75, 1.0))
    of_c = f"<DEFINITION><FOR>c</FOR><GIVEN>b</GIVEN><GIVEN>a</GIVEN><TABLE>{table}</TABLE></DEFINITION>"
    net = parse_xmlbif(file(A, B, c, OF_A, OF_B, of_c).encode())
    assert net.tables["c"].shape == (3, 2, 2)
    assert net.tables["c"][2, 0].tolist() == [0.75, 0.25]


@pytest.mark.parametrize("ending", ["xmlbif", "bifxml", "XML"])
def test_odd_names_and_all_bits_come_back(tmp_path, ending):
    states = {
        "größe, m": ["<5", "a (b)", 'say "hi"', " blanks ", ""],
        "x|y": ["]]>", "&amp;", "two\nlines\r\n", "\t<!-- no -->"],
    }
    rows = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    net = hs.BayesNet.from_params({"größe, m": [0.1, 0.2, 0.3, 0.3, 0.1], "x|y": rows}, [("größe, m", "x|y")], states)
    path = tmp_path / f"odd.{ending}"
    hs.write_bif(net, path)
    assert path.read_bytes().startswith(b"<?xml")
    again = hs.read_bif(path)
    assert again.states_ == {name: tuple(own) for name, own in states.items()}
    assert again.edges_ == net.edges_
    for name in states:
        assert (again.params_[name] == net.params_[name]).all()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_and_any_name_of_the_file(tmp_path, encoding):
    text = file(A.replace("<OUTCOME>x", "<OUTCOME>é"), OF_A)
    named = "" if encoding.startswith("utf") else '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
    (tmp_path / "net.bif").write_bytes((named + text).encode(encoding))
    assert hs.read_bif(tmp_path / "net.bif").states_ == {"a": ("é", "y")}


BOMB = """<!DOCTYPE BIF [
<!ENTITY lol "lol">
<!ENTITY lol2 "&lol;&lol;">]>"""


@pytest.mark.parametrize(
    ("head", "name", "line"),
    [
        (BOMB, "lol", 2),
        ("<!DOCTYPE BIF [<!ENTITY file SYSTEM 'file:///etc/hostname'>]>", "file", 1),
        ("<!DOCTYPE BIF [\n\n<!ENTITY % all SYSTEM 'http://localhost/all.dtd'>]>", "all", 3),
        ("<!DOCTYPE BIF SYSTEM 'http://localhost/all.dtd'>\n", "elsewhere", 2),
    ],
)
def test_entities_are_refused(head, name, line):
    text = head + file(A.replace("<OUTCOME>x", f"<OUTCOME>&{name};"), OF_A)
    with pytest.raises(DataError, match=f"net.xml, line {line}: entity '{name}': entities are not supported"):
        parse_xmlbif(text.encode(), "net.xml")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<BIF>", "line 1: this is not well-formed XML: no element found"),
        ("<html/>", "there is no <NETWORK>: this is not an XMLBIF file"),
        ("<a>" * 50_000 + "</a>" * 50_000, "there is no <NETWORK>"),
        (file(), "there is no <VARIABLE>"),
        (file("\n", A, "\n", A), "line 3: variable 'a' is defined twice"),
        (file(A.replace("nature", "utility")), "of type 'utility'; only 'nature'"),
        (file(A.replace("y<", "x<"), OF_A), "variable 'a' has a state twice: x, x"),
        (file("<VARIABLE><NAME>a</NAME></VARIABLE>"), "variable 'a' has no states"),
        (file("<VARIABLE/>"), "<VARIABLE> has 0 <NAME>; it should have one"),
        (file(A), "variable 'a' has no <DEFINITION>"),
        (file(A, OF_A, "\n", OF_A), "line 2: the probabilities of 'a' are given twice"),
        (file(A, OF_A, "\n", OF_B), "line 2: there are probabilities of 'b', but no variable"),
        (file(A, B, OF_A, OF_B.replace("<GIVEN>a", "<GIVEN>b")), "a parent of 'b' is repeated, or is 'b' itself"),
        (file(A, "\n", OF_A.replace(".25", "")), "line 2: the table of 'a' has 1 numbers; .* require 2"),
        (file(A, OF_A.replace(".25", "half")), "'half' in the table of 'a' is not a number"),
        (file(A, "\n\n", OF_A.replace(".25", ".5")), "line 3: a row of 'a' sums to 1.25"),
    ],
)
def test_mistakes_are_told_with_their_line(text, what):
    with pytest.raises(DataError, match=f"net.xml, .*{what}"):
        parse_xmlbif(text.encode(), "net.xml")


def test_a_sign_that_xml_does_not_have(tmp_path):
    net = hs.BayesNet.from_params({"a": [0.5, 0.5]}, ["a"], {"a": ["bell\x07", "y"]})
    with pytest.raises(ParameterError, match=r"cannot represent, '\\x07': use a .bif file"):
        hs.write_bif(net, tmp_path / "x.xmlbif")
    assert not (tmp_path / "x.xmlbif").exists()
