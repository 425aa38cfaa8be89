"""The report: every kind of model makes a page that is well-formed, self-contained, escaped and always the same."""

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen import families
from halfseen.app.report import material, page
from halfseen.app.report.parts import Section
from halfseen.errors import ParameterError
from halfseen.families.family import Family

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

pytestmark = pytest.mark.thorough
VOID = {"meta", "link", "br", "hr", "img", "input"}
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)


class Page(HTMLParser):
    """Reads a page and notes what a person, or a screen reader, would stumble over."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.headings, self.links, self.faults, self.text = [], [], [], [], [], []
        self.tables, self.captions, self.saved = 0, 0, []
        self.feed(html)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in given:
            self.ids.append(given["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        labelled = given.get("aria-hidden") == "true" or (given.get("role") == "img" and given.get("aria-label"))
        if tag == "svg" and not labelled:
            self.faults.append("an svg without a label")
        if tag == "img" and not given.get("alt"):
            self.faults.append("an img without alt")
        if tag == "th" and given.get("scope") not in ("row", "col"):
            self.faults.append("a th without scope")
        if tag == "script" and attrs:
            self.faults.append("a script from elsewhere")
        self.tables += tag == "table"
        self.captions += tag == "caption"
        for name, value in attrs:
            if name == "href" and "download" in given:
                self.saved.append(value)
            elif name in ("href", "src"):
                self.links.append(value)
            if name.startswith("on") or name == "style":
                self.faults.append(f"attribute {name}")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID or not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def check(html):
    """Return the page, after all that holds for every report."""
    found = Page(html)
    assert found.faults == []
    assert len(found.ids) == len(set(found.ids))
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(found.headings, found.headings[1:], strict=False))
    assert found.tables == found.captions == len(found.saved)
    assert all(link.startswith("data:text/csv;charset=utf-8,") for link in found.saved)
    assert_policy(html)
    assert '<html lang="en">' in html
    assert re.search("<title>[^<]+</title>", html)
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    used = re.findall(r"url\(#([^)]+)\)", html)
    assert set(used) <= set(found.ids)
    outside = re.findall(r'https?://[^"\' <)]*', re.sub(r'xmlns="[^"]*"', "", html))
    assert outside == []
    assert len(html.encode()) < 1_000_000
    return found


POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">\n?')


def assert_policy(html):
    """The one script and the one style of the page are allowed by their hashes, and nothing else."""
    policy = dict(part.split(" ", 1) for part in POLICY.search(html)[1].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert policy[rule] == f"'sha256-{digest}'"


def birds():
    table = hs.load_penguins()
    return table.drop(columns=["species", "year"]), table["species"]


def sections_of(html):
    return re.findall(r'<section id="(\w+)"', html)


TABLE = ["answer", "pictures", "profiles", "trust", "missing", "rows"]


def test_several_shapes_of_covariance_are_not_numbers_of_classes():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [5, 5]], 30, axis=0)
    shapes = ["full", "diag"]
    both = hs.GaussianMixture([1, 2], covariance_type=shapes, n_init=2, random_state=0).fit(X)
    text = "".join(check(hs.report(both, X)).text)
    assert (
        "of 2 numbers of classes tried, from 1 to 2, with covariances full and diag, the lowest BIC is that of 2"
        in text
    )
    assert f"The lowest BIC is at 2 classes of {both.covariance_type_} covariance. Next is 2 classes of" in text
    one = hs.HMM(2, covariance_type=shapes, n_init=2, random_state=0, prior=1.0).fit(X)
    text = "".join(check(hs.report(one, X)).text)
    assert f"of the covariances tried, full and diag, {one.covariance_type_} has the lowest BIC" in text
    assert "Shape of covariance" in text
    alone = "".join(check(hs.report(hs.GaussianMixture(1).fit(X), X)).text)
    assert "columns are taken as unrelated" not in alone


# -------------------------------------------------------------------------------------------------------- whole reports


@pytest.fixture(scope="module")
def classes():
    X, _ = birds()
    return hs.LatentClass(range(1, 8), random_state=0, n_init=8).fit(X)


def test_hidden_classes(classes):
    X, _ = birds()
    html = hs.report(classes, X, command="halfseen fit penguins.csv -k 1..7")
    found = check(html)
    text = " ".join("".join(found.text).split())
    assert sections_of(html) == [*TABLE, "errors", "methods", "reproduce"]
    assert f"The 344 rows fall into {classes.n_components_} classes" in text
    assert f"of 7 numbers of classes tried, from 1 to 7, {classes.n_components_} has the lowest BIC" in text
    for name in classes.class_names_:
        assert f"<h4>{name}</h4>" in html
    assert "halfseen fit penguins.csv -k 1..7" in text
    assert "hs.LatentClass(n_components=range(1, 8), n_init=8, random_state=0)" in text
    assert "missing at random" in text
    assert "fitted again without them" in text
    assert html.count("<figure") == 6
    assert hs.__version__ in text


def test_classifier():
    X, y = birds()
    model = hs.NaiveBayes().fit(X, y)
    html = hs.report(model, X, y=y, cost=[[0, 1, 1], [1, 0, 1], [5, 5, 0]])
    found = check(html)
    text = " ".join("".join(found.text).split())
    assert sections_of(html) == [*TABLE, "classifier", "errors", "methods", "reproduce"]
    assert "The model distinguishes 3 classes (Adelie 44%, Gentoo 36% and Chinstrap 20%)" in text
    assert "5-fold cross-validation" in text
    assert "least expected cost" in text
    assert "always predicting the most frequent class would reach 44.2%" in text


def test_classifier_with_few_labels_and_several_components():
    X, y = birds()
    partly = y.where(np.arange(len(y)) % 4 == 0).replace({"Chinstrap": "other", "Gentoo": "other"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hs.NaiveBayes(components_per_class=2, random_state=0, n_init=2).fit(X, partly)
        html = hs.report(model, X, y=partly)
    text = " ".join("".join(check(html).text).split())
    assert "other (1)" in text
    assert "with the unlabelled rows" in text
    assert "What mistakes cost" in text  # two classes: the curve


def test_classifier_without_labels_says_what_it_cannot_say():
    X, y = birds()
    html = hs.report(hs.NaiveBayes().fit(X, y), X)
    check(html)
    assert "was given no labels" in html


def test_no_holes_and_one_class():
    X = pd.DataFrame({"x": ["a", "b", "b", "a"] * 10, "y": np.linspace(0, 1, 40)})
    text = "".join(check(hs.report(hs.LatentClass(1).fit(X), X)).text)
    assert "All 40 rows are in one class" in text
    assert "The table has no missing values" in text


def test_one_column():
    X = [[0.5], [1.5], [8.5], [9.5]] * 10
    check(hs.report(hs.LatentClass(2, random_state=0).fit(X), X))


def test_from_params_and_counts():
    model = hs.LatentClass.from_params([0.4, 0.6], {"a": {0: [0.9, 0.2], 1: [0.1, 0.8]}, "n": {"rate": [2, 9]}})
    X, _ = model.sample(60, random_state=0)
    html = hs.report(model, X)
    check(html)
    assert "built from parameters" in html
    assert "from_params" in html


def test_learned_in_pieces():
    model = hs.LatentClass(2, random_state=0)
    rows = [["a", 1.1], ["a", 1.3]] * 12 + [["b", 5.2], ["b", 5.4]] * 8
    for _ in range(3):
        model.partial_fit(rows)
    check(hs.report(model, rows))


def test_weights_are_counted():
    X = [["a", 1.5], ["b", None], ["b", 2.5], ["a", 1.0]] * 5
    model = hs.LatentClass(1).fit(X, sample_weight=[1, 3, 1, 1] * 5)
    html = hs.report(model, X, sample_weight=[1, 3, 1, 1] * 5)
    assert "25% of the cells are missing" in html
    assert "All 20 rows (N = 30) are in one class" in html
    assert "(posterior mode), BIC " in html


# -------------------------------------------------------------------------------------------------------------- k-means


def test_clusters():
    X = birds()[0].select_dtypes("number")
    model = hs.KMeans(3, random_state=0).fit(X)
    html = hs.report(model, X, command="halfseen fit penguins.csv")
    text = " ".join("".join(check(html).text).split())
    assert sections_of(html) == ["answer", "pictures", "centres", "trust", "missing", "rows", "reproduce"]
    assert "<h1>Report on clusters</h1>" in html
    assert "The 344 rows fall into 3 clusters: the largest has 50% of them, the smallest 20%." in text
    assert "body_mass_g accounts for >99% of all distances" in text
    assert "hs.KMeans(n_clusters=3, random_state=0) model.fit(X)" in text
    assert "or use GaussianMixture" in text
    assert "fitted again without them" in text
    assert "row 314cluster 08323.8body_mass_g 2,700 (centre 3,532)" in text
    assert html.count("<figure") == 5
    assert html == hs.report(model, X, command="halfseen fit penguins.csv")


@pytest.mark.parametrize(
    ("n_clusters", "X", "words"),
    [
        (1, [[0.5, 1.0], [1.5, 2.0], [8.5, 0.0]] * 5, ["All 15 rows are in one cluster", "no missing values"]),
        (2, [[0.5], [None], [8.5], [9.5]] * 3, ["25% of the cells are missing"]),
        (
            2,
            [[0.0, 0.0]] * 5 + [[1.0, 1.0]] * 5,
            ["Too few rows for a reliable mean: cluster 0 (5 rows) and cluster 1 (5 rows)"],
        ),
        (3, [[0.0, 0.0]] * 15 + [[1.0, 1.0]] * 15, ["1 of 3 centres have no rows"]),
        (2, [[x / 40, 0.0] for x in range(40)], ["nearly halfway between two centres"]),
    ],
)
def test_clusters_of_odd_tables(n_clusters, X, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = "".join(check(hs.report(hs.KMeans(n_clusters, random_state=0).fit(X), X)).text)
    assert all(word in text for word in words)


def test_clusters_from_params_with_weights_and_a_sample(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 2))
    html = hs.report(hs.KMeans.from_params([[-1.0, 0.0], [1.0, 0.0]]), X, sample_weight=np.arange(300))
    check(html)
    assert "built from centres" in html
    monkeypatch.setattr("halfseen.families.kmeans.report.MOST_ROWS", 100)
    html = hs.report(hs.KMeans(2, random_state=0).fit(X), X)
    assert "random sample of 100 of the 300 rows" in "".join(check(html).text)
    with pytest.warns(UserWarning, match="max_iter"):
        capped = hs.KMeans(4, max_iter=1, random_state=0).fit(X)
    assert "without converging" in hs.report(capped, X)


# -------------------------------------------------------------------------------------------------------------- caution


def test_a_capped_fit_and_a_collapse_are_said_first():
    X, _ = birds()
    with pytest.warns(UserWarning, match="max_iter"):
        model = hs.LatentClass(3, max_iter=3, random_state=0, n_init=2).fit(X)
    html = hs.report(model, X)
    marks = re.findall(r'<li class="(fine|look)">', html)
    assert marks == sorted(marks, reverse=True)
    assert "without converging" in html


def test_a_constant_column_and_small_classes_are_mentioned():
    X = pd.DataFrame({"x": [1.5, 1.6, 1.7] * 12 + [9.5, 9.6, 9.7, 9.8], "c": "same"})
    html = hs.report(hs.LatentClass(2, random_state=0).fit(X), X)
    assert "&#39;c&#39; is constant" in html
    assert "Classes with few rows: " in html


def test_impossible_rows_are_mentioned():
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {"x": {"a": [1, 1], "b": [0, 0]}, "y": {0: [0.5, 0.1], 1: [0.5, 0.9]}}
    )
    html = hs.report(model, [["a", 0], ["b", 1], ["a", 1]] * 5)
    check(html)
    assert "Rows with probability 0 under the model: 5." in html


# -------------------------------------------------------------------------------------------------------- hostile names


def test_everything_from_data_is_escaped():
    evil = "<script>alert('x')</script>"
    rng = np.random.default_rng(0)
    X = pd.DataFrame({evil: [f"{evil}{i}" for i in rng.integers(0, 3, 80)], "a&b\"'": rng.normal(size=80)})
    X.loc[::7, evil] = None
    y = np.where(X["a&b\"'"] > 0, evil, "</table></svg>")
    html = hs.report(hs.NaiveBayes().fit(X, y), X, y=y, title=evil, command=f"{evil} ]]> -->")
    check(html)
    assert html.count("<script") == 1
    assert "alert" not in html[html.index("<script>") :]


def test_many_columns_with_long_names():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    X = pd.DataFrame(
        {f"a column with a very long name indeed {j} " + "x" * 80: rng.normal(kind * (j % 4)) for j in range(100)}
    )
    X = X.mask(rng.random(X.shape) < 0.1)
    html = hs.report(hs.LatentClass(2, random_state=0, n_init=2).fit(X).rename(["c" * 200, "d"]), X)
    text = "".join(check(html).text)
    assert "60 others are left out" in text  # 40 of 100 rows of the heat map
    assert max(len(word) for word in text.split()) < 100
    assert f'title="{"c" * 200}"' in html


# ----------------------------------------------------------------------------------------------------------- same bytes


def test_same_model_and_data_same_bytes(classes):
    X, _ = birds()
    assert hs.report(classes, X) == hs.report(classes, X)


def test_a_generator_as_seed_leaves_no_address():
    X = [["a", 1.5], ["b", 2.5]] * 10
    html = hs.report(hs.LatentClass(2, random_state=np.random.default_rng(0), n_init=2).fit(X), X)
    assert "Generator(PCG64)" in html
    assert "0x" not in html


def test_another_process_writes_the_same_bytes(tmp_path, monkeypatch):
    code = (
        "import sys, halfseen as hs\n"
        "X = hs.load_penguins().drop(columns=['species', 'year'])\n"
        "hs.report(hs.LatentClass(2, random_state=0, n_init=2).fit(X), X, sys.argv[1])\n"
        "assert 'matplotlib' not in sys.modules, 'classes are drawn without it: it takes as long as the fit'\n"
    )
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # the same day in both
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there.html")], check=True)
    X, _ = birds()
    here = hs.report(hs.LatentClass(2, random_state=0, n_init=2).fit(X), X)
    assert (tmp_path / "there.html").read_text(encoding="utf-8") == here


def test_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before", encoding="utf-8")

    def full(*args):
        raise OSError("disk full")

    monkeypatch.setattr(page.os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        page.write("after", path)
    assert path.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        hs.report(hs.LatentClass.from_params([1.0], {"x": {0: [1.0]}}), [[0]], tmp_path / "nowhere" / "report.html")
    assert page.write("after", path) == path
    assert path.read_text(encoding="utf-8") == "after"


# ------------------------------------------------------------------------------------------------------------ many rows


def test_a_sample_is_taken_and_said(monkeypatch, classes):
    X, y = birds()
    monkeypatch.setattr(material, "MOST_ROWS", 100)
    monkeypatch.setattr(material, "MOST_FOLD_ROWS", 150)
    html = hs.report(classes, X)
    check(html)
    assert "a random sample of 100 of the 344 rows" in html
    assert "The 344 rows fall into" in html
    judged = hs.report(hs.NaiveBayes().fit(X, y), X, y=y)
    assert "Each of 150 labelled rows" in judged
    assert "sample of the 344 labelled rows" in judged


# ------------------------------------------------------------------------------------------------------------- families


def test_the_report_of_a_family_is_found_by_its_manifest(monkeypatch):
    class Toy:
        pass

    class Child(Toy):
        pass

    own = ModuleType("halfseen.families.toy.report")
    own.SECTIONS = [lambda model, given: Section("toy", "A toy", str(given.X)), lambda *_: None]
    own.MATERIAL = material.Material
    monkeypatch.setitem(sys.modules, own.__name__, own)
    toys = Family("toy", "toys", {"Toy": "estimator"}, verbs=(), reports={"Toy": "Report on a toy"})
    monkeypatch.setattr(families, "FAMILIES", (*families.FAMILIES, toys))
    for model in (Toy(), Child()):
        html = hs.report(model, "the data")
        assert sections_of(html) == ["toy"]
        assert "the data" in html
        assert "<title>Report on a toy" in html


def test_a_model_without_a_report_is_refused():
    known = r"no report for dict\. There is one for: BayesNet, G2P, GaussianClassifier"
    with pytest.raises(ParameterError, match=known):
        hs.report({}, [[1]])


# --------------------------------------------------------------------------------------------------------------- to see


def test_pages_allow_one_script_and_no_network(classes):
    """A second defence, behind the escaping of all text: before anything else that the page holds."""
    X, _ = birds()
    html = hs.report(classes, X)
    assert_policy(html)
    assert html.index("Content-Security-Policy") < html.index("<title>") < html.index("<style>")
    small = hs.explain(hs.LatentClass(2, random_state=0), [["a", 1], ["b", 0], ["a", 0]], n_iter=1).html()
    assert POLICY.search(small)[1].split("; ")[:3] == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
    ]
    assert "<script" not in small


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium found to draw the page")
def test_a_browser_runs_no_script_in_a_page_and_draws_it_all_the_same(tmp_path, classes):
    X, _ = birds()
    html = hs.report(classes, X)
    assert POLICY.search(html)
    run = "<script>document.title = 'it ran'</script></body>"
    pages = {"with": html, "without": POLICY.sub("", html)}
    shots, titles = {}, {}
    for name, text in pages.items():
        path = tmp_path / f"{name}.html"
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'chrome'}"]
        path.write_text(text)
        shot = tmp_path / f"{name}.png"
        subprocess.run(
            [*command, f"--screenshot={shot}", "--window-size=1200,1600", path.as_uri()],
            check=True,
            capture_output=True,
            timeout=120,
        )
        shots[name] = shot.read_bytes()
        path.write_text(text.replace("</body>", run))
        done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
        titles[name] = "<title>it ran</title>" in done.stdout
    assert titles == {"with": False, "without": True}
    assert shots["with"] == shots["without"]  # its own style and script are allowed


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium found to draw the page")
@pytest.mark.parametrize(("scheme", "width"), [(1, 1200), (0, 1200), (1, 420)])
def test_page_is_drawn(tmp_path, classes, scheme, width):
    """The page fills the window with something, dark when asked for, and is not wider than it."""
    image = pytest.importorskip("PIL.Image")
    X, _ = birds()
    path, shot = hs.report(classes, X, tmp_path / "report.html"), tmp_path / "shot.png"
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={tmp_path / 'chrome'}",
    ]
    options += [
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--screenshot={shot}",
        f"--window-size={width},1600",
    ]
    subprocess.run([CHROMIUM, *options, Path(path).as_uri()], check=True, capture_output=True, timeout=120)
    pixels = np.asarray(image.open(shot).convert("L"), dtype=float)
    paper = pixels[2, 2]
    assert (paper < 60) == (scheme == 0)
    assert 0.02 < np.mean(np.abs(pixels - paper) > 60) < 0.5
    assert np.all(pixels[:, -3:] == paper)  # nothing runs out to the right


def test_without_jinja2_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'report needs jinja2.*pip install "halfseen\[app\]"'):
        hs.report(hs.LatentClass.from_params([1.0, 0.0], {"x": {0: [0.5, 0.5], 1: [0.5, 0.5]}}), [[0], [None]])
