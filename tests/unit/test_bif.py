"""BIF files: what other programs write, odd names, and what is said about mistakes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.network.bif import parse_bif

HEAD = """
network "dog-problem" { property "author me"; }   // a comment
variable a { type discrete [ 2 ] { yes, no }; property x = y ; }
variable b { type discrete[3]{ <5 , >=7.5, Asy/Patchy }; }
"""


def test_odd_labels_comments_and_properties():
    net = parse_bif(
        HEAD
        + """
        probability ( a ) { table 0.25 0.75; }        /* numbers without
                                                         commas */
        probability ( b | a ) { (no) 0.1, 0.2, 0.7; (yes) .5, .25, 2.5e-1; }
        """
    )
    assert net.states["b"] == ("<5", ">=7.5", "Asy/Patchy")
    assert_allclose(net.tables["b"], [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])


def test_default_rows_and_the_order_of_parents():
    net = parse_bif(
        HEAD
        + """
        variable c { type discrete [ 2 ] { 0, 1 }; }
        probability ( c | b, a ) { default 0.5, 0.5; (>=7.5, no) 0.1, 0.9; }
        probability ( b ) { table 0.2, 0.3, 0.5; }
        probability ( a ) { table 0.25, 0.75; }
        """
    )
    assert net.parents["c"] == ("b", "a")
    assert_allclose(net.tables["c"][1, 1], [0.1, 0.9])
    assert_allclose(net.tables["c"].sum(), 6)
    assert (net.tables["c"][0] == 0.5).all()


@pytest.mark.parametrize("numbers", ["0.6, 0.05, 0.4, 0.95", "0.6, 0.4, 0.05, 0.95"])
def test_a_whole_table_in_either_order(numbers):
    text = """
    variable a { type discrete [ 2 ] { t, f }; } variable b { type discrete [ 2 ] { t, f }; }
    probability ( a ) { table 0.5, 0.5; }
    """
    net = parse_bif(text + f"probability ( b | a ) {{ table {numbers}; }}")
    assert_allclose(net.tables["b"], [[0.6, 0.4], [0.05, 0.95]])


def test_blanks_without_quotes():
    """As pgmpy writes them; in lists without commas they go on to part the names."""
    net = parse_bif(
        """
        variable the size { type discrete [ 2 ] { a & b, c }; }
        variable b { type discrete [ 2 ] { "yes, well" no }; }
        variable c { type discrete [ 2 ] { not sure, ok }; }
        probability ( the size ) { table 0.25 0.75; }
        probability ( b | the size ) { ( c ) 0.1, 0.9; ( a & b ) 0.5, 0.5; }
        probability ( c | the size, b ) { default 0.5, 0.5; ( a & b, no ) 0.2, 0.8; ( c "yes, well" ) 0.3, 0.7; }
        """
    )
    assert net.states == {"the size": ("a & b", "c"), "b": ("yes, well", "no"), "c": ("not sure", "ok")}
    assert net.parents["c"] == ("the size", "b")
    assert_allclose(net.tables["b"], [[0.5, 0.5], [0.1, 0.9]])
    assert_allclose(net.tables["c"][:, :, 0], [[0.5, 0.2], [0.3, 0.5]])


def test_names_that_need_quotes_and_signs_beyond_ascii_come_back(tmp_path):
    states = {"größe, m": ["<5", "a (b)", 'say "hi"'], "x|y": ["//no comment", "back\\slash"]}
    tables = {"größe, m": [0.1, 0.2, 0.7], "x|y": [[1 / 3, 2 / 3], [0.1, 0.9], [0.0, 1.0]]}
    net = hs.BayesNet.from_params(tables, [("größe, m", "x|y")], states)
    hs.write_bif(net, tmp_path / "odd.bif")
    again = hs.read_bif(tmp_path / "odd.bif")
    assert again.states_ == {name: tuple(own) for name, own in states.items()}
    for name in tables:
        assert (again.params_[name] == net.params_[name]).all()


def test_latin_1_and_a_byte_order_mark(tmp_path):
    text = "variable größe { type discrete [ 1 ] { é }; } probability ( größe ) { table 1; }"
    (tmp_path / "a.bif").write_bytes(text.encode("latin-1"))
    (tmp_path / "b.bif").write_bytes(b"\xef\xbb\xbf" + text.encode())
    for name in ("a.bif", "b.bif"):
        assert hs.read_bif(tmp_path / name).states_ == {"größe": ("é",)}


def test_rounded_rows_are_divided_by_their_sum():
    net = parse_bif("variable a { type discrete [ 3 ] { x, y, z }; } probability ( a ) { table 0.333, 0.333, 0.333; }")
    assert_allclose(net.tables["a"], 1 / 3)


def test_a_large_table_is_read():
    n = 40
    lines = "\n".join(f"(s{i}, s{j}) {', '.join(['0.05'] * 20)};" for i in range(n) for j in range(n))
    states = ", ".join(f"s{i}" for i in range(n))
    text = "".join(f"variable {v} {{ type discrete [ {n} ] {{ {states} }}; }}\n" for v in "ab")
    text += f"variable c {{ type discrete [ 20 ] {{ {', '.join(f's{i}' for i in range(20))} }}; }}\n"
    text += "".join(f"probability ( {v} ) {{ table {', '.join(['0.025'] * n)}; }}\n" for v in "ab")
    net = parse_bif(text + f"probability ( c | a, b ) {{ {lines} }}")
    assert net.tables["c"].shape == (40, 40, 20)


A = "variable a { type discrete [ 2 ] { x, y }; }\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "line 1: there is no variable"),
        ("nonsense", "line 1: found 'nonsense', expected 'network', 'variable' or 'probability'"),
        ("variable a { type discrete [ 3 ] { x, y }; }", "should have 3 states and lists 2: x, y"),
        ("variable a { type continuous; }", "'continuous'; only 'discrete'"),
        (A, r"line 2: variable 'a' has no 'probability"),
        (A + "probability ( b ) { table 1; }", "line 2: there are probabilities of 'b', but no variable"),
        (A + "\nprobability ( a ) { table 0.5, 0.6; }", r"line 3: a row of 'a' sums to 1.1"),
        (A + "probability ( a ) { table 0.5; }", "line 2: the table of 'a' has 1 numbers; .* require 2"),
        (A + "probability ( a ) { table half, 0.5; }", "line 2: 'half' is not a number"),
        (A + "probability ( a ) {\n table 0.5, 0.5", "line 3: the file ends where '}' is expected"),
        (A + 'probability ( "a ) { table 0.5, 0.5; }', "quoted name that does not end"),
        (A + A, "line 2: variable 'a' is defined twice"),
    ],
)
def test_mistakes_are_told_with_their_line(text, what):
    with pytest.raises(DataError, match=what):
        parse_bif(text, "net.bif")


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ("(x) 0.5, 0.5;", r"'b' lacks 1 of 2 rows, the first for \(y\), and has no 'default'"),
        ("(x) 0.5, 0.5; (x) 0.5, 0.5;", r"the row \(x\) of 'b' is given twice"),
        ("(z) 0.5, 0.5;", r"no state 'z' among x, y"),
        ("(x, y) 0.5, 0.5;", "names 2 states for 1 parents"),
        ("(x) 0.5;", "1 numbers for 2 states"),
    ],
)
def test_mistakes_in_rows(rows, what):
    head = A + A.replace("variable a", "variable b") + "probability ( a ) { table 0.5, 0.5; }\n"
    with pytest.raises(DataError, match=f"net.bif, line 4: .*{what}"):
        parse_bif(head + f"probability ( b | a ) {{ {rows} }}", "net.bif")


def test_a_circle_and_a_missing_file(tmp_path):
    text = A + A.replace("variable a", "variable b")
    text += "probability ( a | b ) { default 0.5, 0.5; } probability ( b | a ) { default 0.5, 0.5; }"
    (tmp_path / "round.bif").write_text(text)
    with pytest.raises(DataError, match=r"round.bif: edges: they go round in a circle: .*a -> b"):
        hs.read_bif(tmp_path / "round.bif")
    with pytest.raises(DataError, match=r"absent.bif: cannot be read"):
        hs.read_bif(tmp_path / "absent.bif")


def test_what_has_no_bif_file(tmp_path):
    with pytest.raises(ParameterError, match="is not a BayesNet"):
        hs.write_bif(hs.LatentClass(), tmp_path / "x.bif")
    same = hs.BayesNet.from_params({"a": [0.5, 0.5]}, ["a"], {"a": [1, "1"]})
    with pytest.raises(ParameterError, match="the same as text"):
        hs.write_bif(same, tmp_path / "x.bif")
    assert not (tmp_path / "x.bif").exists()


def test_a_network_from_a_file_learns_from_rows_whose_cells_are_numbers_or_flags(tmp_path):
    net = hs.BayesNet.from_params(
        {"a": [0.5, 0.5], "b": [[0.5, 0.5]] * 2}, "a -> b", {"a": [0, 1], "b": ["TRUE", "FALSE"]}
    )
    hs.write_bif(net, tmp_path / "n.bif")
    read = hs.read_bif(tmp_path / "n.bif")
    assert read.states_ == {"a": ("0", "1"), "b": ("TRUE", "FALSE")}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0, 1, 1, 0], "b": [True, False, False, True]})
    fitted = read.set_params(prior=None).fit(frame)
    assert_allclose(fitted.params_["b"], np.eye(2))
    assert fitted.query("b", {"a": 1})["FALSE"] == 1.0
