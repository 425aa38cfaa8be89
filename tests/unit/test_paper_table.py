"""Tables for papers: the numbers of the model, in its own order, escaped in every format."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from zipfile import ZipFile

import numpy as np
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.errors import ParameterError
from halfseen.estimators.publication import Line, Panel, PaperTable
from halfseen.estimators.publication.formats import tex

NASTY = r"""50% & <b>"x"_1</b> $y$ #{z} ~^ \n | `c` *s* [a](b)""" + "\nnew\x00line"
COLUMNS = ["el_salvador_aid", "mx_missile", "crime"]


@pytest.fixture(scope="module")
def votes():
    return hs.load_votes()[COLUMNS]


@pytest.fixture(scope="module")
def model(votes):
    return hs.LatentClass(2, prior=None, random_state=0).fit(votes)


@pytest.fixture(scope="module")
def birds():
    data = hs.load_penguins()[["island", "bill_length_mm", "body_mass_g", "sex"]]
    return data, hs.LatentClass(2, random_state=0).fit(data)


def cells(table, label):
    return next(line.cells for panel in table.panels for line in panel.lines if line.label == label)


def test_the_numbers_are_those_of_the_model(model):
    table = model.table()
    assert table.panels[0].heads == model.class_names_
    assert cells(table, "Share") == tuple(f"{share:.3f}" for share in model.weights_)
    assert cells(table, "crime: y") == tuple(f"{p:.3f}" for p in model.params_["crime"]["y"])
    facts = dict(table.facts)
    assert facts["Log-likelihood"] == f"{model.loglik_:,.2f}"
    assert facts["BIC"] == f"{model.bic():,.2f}"
    assert facts["AIC"] == f"{model.aic():,.2f}"
    assert facts["SABIC"] == f"{model.sabic():,.2f}"
    assert facts["Entropy"] == f"{model.entropy():.3f}"
    assert facts["Parameters"] == str(model.n_parameters_)
    assert facts["N"] == "435" if model._n_blank == 0 else str(int(model._n_rows))
    assert table.notes[0] == "Estimates: maximum likelihood."


def test_standard_errors_stand_behind_the_estimates(model, votes):
    errors = hs.standard_errors(model, votes)
    table = model.table(errors, digits=4)
    frame = errors.to_frame()
    row = frame[(frame["column"] == "crime") & (frame["value"] == "y")]
    assert cells(table, "crime: y") == tuple(
        f"{e:.4f} ({s:.4f})" for e, s in zip(row["estimate"], row["se"], strict=True)
    )
    assert any("by the Hessian" in note for note in table.notes)


def test_errors_of_another_model_are_refused(model, votes, birds):
    other = hs.LatentClass(2, random_state=0).fit(votes)
    with pytest.raises(ParameterError, match="standard errors of another model"):
        model.table(hs.standard_errors(other, votes))


def test_a_boundary_has_no_error(votes):
    model = hs.LatentClass(1, prior=None).fit(votes)
    table = model.table(hs.standard_errors(model, votes))
    assert cells(table, "Share") == ("1.000 (–)",)
    assert "–: no standard error, as the parameter is on a boundary." in table.notes


def test_means_have_the_digits_of_their_spread(birds):
    data, model = birds
    table = model.table(labels={"body_mass_g": "Body mass"})
    for cell, mean, sd in zip(cells(table, "Body mass, M (SD)"), *model.params_["body_mass_g"].values(), strict=True):
        assert cell == f"{mean:,.0f} ({sd:,.0f})"
    lines = [line.label for line in table.panels[0].lines]
    at = lines.index("island")
    assert lines[at + 1 : at + 4] == ["Biscoe", "Dream", "Torgersen"]
    assert all(line.inside for line in table.panels[0].lines[at + 1 : at + 4])
    with pytest.raises(ParameterError, match="no column 'mass'"):
        model.table(labels={"mass": "x"})
    errors = model.table(hs.standard_errors(model, data))
    assert [line.label for line in errors.panels[0].lines if line.inside].count("sd") == 2


def test_diagnostics_add_figures(model, votes):
    complete = votes.dropna()
    fitted = hs.LatentClass(2, prior=None, random_state=0).fit(complete)
    found = hs.diagnostics(fitted, complete)
    facts = dict(fitted.table(diagnostics=found).facts)
    assert facts["G2 (df)"] == f"{found.pattern_fit.g2:,.2f} ({found.pattern_fit.df_by_cells:.0f})"
    assert facts["CAIC"] == f"{found.criteria['caic']:,.2f}"
    own = found.table()
    assert own.panels[0].lines[0].cells[0] == f"{found.classification[0, 0]:,.1f}"
    assert dict(own.facts)["Entropy R2"] == f"{found.entropy_r2:.3f}"


def test_the_table_of_standard_errors(model, votes):
    errors = hs.standard_errors(model, votes)
    table = errors.table()
    rows = [line for line in table.panels[0].lines if line.cells]
    assert len(rows) == len(errors.estimate)
    for i, line in enumerate(rows):
        shown = [float(cell.replace(",", "")) for cell in line.cells if re.fullmatch(r"-?[\d,.]+", cell)]
        expected = [errors.estimate[i], *([] if errors.note[i] else [errors.se[i], errors.low[i], errors.high[i]])]
        np.testing.assert_allclose(shown, expected, atol=0.005)


def test_correlations_of_a_full_covariance(birds):
    X = birds[0][["bill_length_mm", "body_mass_g"]]
    model = hs.GaussianMixture(2, random_state=0).fit(X)
    table = model.table(labels={"bill_length_mm": "Bill"})
    cov = model.covariances_
    expected = cov[:, 0, 1] / np.sqrt(cov[:, 0, 0] * cov[:, 1, 1])
    assert cells(table, "Bill and body_mass_g") == tuple(f"{value:.3f}" for value in expected)


def test_other_families(birds):
    X = birds[0][["bill_length_mm", "body_mass_g"]]
    clusters = hs.KMeans(2, random_state=0).fit(X)
    table = clusters.table()
    assert cells(table, "Share") == tuple(f"{s:.3f}" for s in clusters.cluster_sizes_ / clusters.cluster_sizes_.sum())
    assert dict(table.facts)["Within-cluster sum of squares"] == f"{clusters.inertia_:,.2f}"
    states = hs.HMM(2, random_state=0).fit(np.random.default_rng(0).normal(size=(60, 1)))
    found = states.table()
    assert cells(found, "to state 1") == tuple(f"{p:.3f}" for p in states.transmat_[:, 1])
    assert cells(found, "First state") == tuple(f"{p:.3f}" for p in states.startprob_)
    net = hs.BayesNet([("C", "sex"), ("C", "island")], hidden={"C": 2}, random_state=0).fit(birds[0][["sex", "island"]])
    table = hs.paper_table(net)
    panel = next(panel for panel in table.panels if panel.heads == ("Biscoe", "Dream", "Torgersen"))
    assert [line.label for line in panel.lines] == ["island", "C=0", "C=1"]
    with pytest.raises(ParameterError, match="WordAligner has no table"):
        hs.paper_table(hs.WordAligner())


def test_coefficients_of_covariates():
    data = hs.load_penguins()
    X, Z = data[["bill_length_mm", "sex"]], data[["year"]]
    model = hs.LatentClass(2, prior=None, random_state=0).fit(X, covariates=Z)
    assert any("means over the covariates" in note for note in model.table().notes)
    errors = hs.standard_errors(model, X, covariates=Z)
    frame = errors.to_frame()
    row = frame[(frame["column"] == "(membership)") & (frame["value"] == "year") & (frame["note"] == "")]
    shown = [cell for cell in cells(model.table(errors), "year") if "–" not in cell]
    for cell, estimate, se in zip(shown, row["estimate"], row["se"], strict=True):
        value, error = cell.rstrip(")").split(" (")
        assert float(value) == pytest.approx(estimate, abs=0.01)
        assert float(error) == pytest.approx(se, abs=0.01)
    assert "Class membership depends on covariates by a multinomial logit model: year." in hs.methods_paragraph(model)


def test_words_are_left_out_and_said():
    model = hs.NaiveBayes(columns={"x0": "text"}).fit([["a cat"], ["a dog"]] * 3, [0, 1] * 3)
    table = model.table()
    assert [line.label for line in table.panels[0].lines] == ["Share"]
    assert any("words of x0 are left out" in note for note in table.notes)


# ---- formats ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def nasty():
    lines = (Line(NASTY), Line(NASTY, ("-1.5 (0.2)", NASTY), True), Line("a-1", ("-0.1", "2")))
    panels = (Panel((NASTY, "b"), lines), Panel(("one",), (Line("x", ("1",)),)))
    return PaperTable(NASTY, panels, ((NASTY, "-3.25"),), (NASTY,))


def test_latex_escapes_and_is_balanced(nasty):
    text = nasty.to_latex()
    body = text.split("\n", 1)[1]
    for special in "&%$#_{}":  # each is escaped, or LaTeX of our own
        assert f"\\{special}" in body
    rows = [line for line in body.splitlines() if line.endswith("\\\\")]
    for row in rows:
        columns = len(re.findall(r"(?<!\\)&", row)) + 1
        spans = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", row))
        assert columns + spans == 3, row
    unescaped = re.sub(r"\\.", "", body)
    assert unescaped.count("{") == unescaped.count("}")
    assert "$-$1.5 (0.2)" in text
    assert "$-$3.25" in text
    assert "a-1 &" in text  # a hyphen in a name stays one
    assert "\x00" not in text
    assert text.count("\\begin{") == text.count("\\end{")


def test_every_special_character_of_latex():
    assert tex(r"\ ~ ^ < > |") == (
        r"\textbackslash{} \textasciitilde{} \textasciicircum{} \textless{} \textgreater{} \textbar{}"
    )


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append(["", int(dict(attrs).get("colspan", 1))])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1][0] += data


def test_html_escapes_and_every_row_is_as_wide(nasty):
    reader = Reader()
    reader.feed(nasty.to_html())
    assert not reader.open
    assert "<b>" not in nasty.to_html()
    assert all(sum(span for _, span in row) == 3 for row in reader.rows)
    shown = NASTY.replace("\n", " ").replace("\x00", " ")
    assert reader.rows[1][0][0] == shown
    assert [cell for cell, _ in reader.rows[2]] == [shown, "−1.5 (0.2)", shown]


def test_markdown_has_one_cell_per_column(nasty):
    table = [line for line in nasty.to_markdown().splitlines() if line.startswith("| ")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) - 1 for line in table}
    assert widths == {3, 2}
    assert "\\<b\\>" in nasty.to_markdown()


def test_word_holds_the_same_cells(nasty, tmp_path):
    docx = pytest.importorskip("docx")
    path = tmp_path / "table.docx"
    nasty.to_docx(path)
    document = docx.Document(path)
    rows = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    shown = NASTY.replace("\n", " ").replace("\x00", " ")
    assert rows[0] == ["", shown, "b"]
    assert rows[2] == ["\u2003" + shown, "−1.5 (0.2)", shown]
    assert rows[-1][1] == "−3.25"
    assert document.paragraphs[0].text == shown
    with ZipFile(path) as inside:
        xml = inside.read("word/document.xml")
    ET.fromstring(xml)
    assert xml.count(b"w:tcBorders") > 0


def test_save_by_extension(model, tmp_path):
    table = model.table()
    for suffix, begin in ((".tex", "% needs"), (".html", "<table"), (".md", "Latent class")):
        table.save(tmp_path / f"t{suffix}")
        assert (tmp_path / f"t{suffix}").read_text(encoding="utf-8").startswith(begin)
    with pytest.raises(ParameterError, match=r"t.pdf: a table is written as"):
        table.save(tmp_path / "t.pdf")
    assert table._repr_html_() == table.to_html()


def halfseen(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def test_the_command_line(tmp_path):
    model = tmp_path / "m.halfseen"
    halfseen("fit", "example:penguins", "--ignore", "species,year,island", "-k", 2, "-o", model)
    loaded = hs.load(model)
    assert halfseen("table", model).stdout.strip() == str(loaded.table())
    data = hs.load_penguins()[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "sex"]]
    errors, found = hs.standard_errors(loaded, data, "robust"), hs.diagnostics(loaded, data)
    halfseen("table", model, "example:penguins", "--error-kind", "robust", "--digits", 2, "-o", tmp_path / "t.tex")
    expected = loaded.table(errors, diagnostics=found, digits=2).to_latex()
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == expected
    assert "(0." not in halfseen("table", model, "example:penguins", "--error-kind", "none").stdout.split("\n")[3]
    assert "it needs DATA" in halfseen("table", model, "--error-kind", "opg", code=2).stderr
    assert "written as .tex" in halfseen("table", model, "-o", tmp_path / "t.pdf", code=2).stderr


def test_labels_of_a_file_name_the_columns(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    path, model = tmp_path / "s.sav", tmp_path / "s.halfseen"
    data = hs.load_penguins()[["bill_length_mm", "body_mass_g"]].dropna()
    pyreadstat.write_sav(data, path, column_labels={"body_mass_g": "Body mass (g)"})
    halfseen("fit", path, "-k", 1, "--ml", "-o", model)
    shown = halfseen("table", model, path, "--error-kind", "none").stdout
    assert "Body mass (g), M (SD)" in shown
    assert "bill_length_mm, M (SD)" in shown
