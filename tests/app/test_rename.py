"""Names of classes, states and clusters: given with `halfseen rename` or `fit --names`, shown everywhere."""

import json

import pytest

import halfseen as hs
from tests.app.in_process import run

FITS = {
    "LatentClass": ["example:votes", "--ignore", "party", "-k", 2],
    "GaussianMixture": ["example:penguins", "--model", "gaussian", "--ignore", "species,year,island,sex", "-k", 2],
    "KMeans": ["example:penguins", "--model", "kmeans", "--ignore", "species,year,island,sex", "-k", 2],
    "HMM": ["example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", 2],
    "BayesNet": ["example:votes", "--model", "class-network", "--ignore", "party", "-k", 2, "--restarts", 2],
}
DATA = {"KMeans": "example:penguins", "GaussianMixture": "example:penguins", "HMM": "example:earthquakes"}


@pytest.fixture(scope="module", params=FITS)
def named(request, tmp_path_factory):
    """A model file of each family with hidden classes, whose first class was named."""
    path = tmp_path_factory.mktemp("named") / f"{request.param}.halfseen"
    run("fit", *FITS[request.param], "--restarts", 2, "-o", path)
    shown = run("rename", path, "0=the first")
    assert "the first" in shown.stdout
    return path, DATA.get(request.param, "example:votes")


def test_a_name_is_shown_wherever_a_class_is(named, tmp_path):
    path, data = named
    model = hs.load(path)
    assert "the first" in model.describe()
    assert "the first" in run("info", path).stdout
    assert "the first" in run("info", path, "--parameters").stdout
    assert "the first" in run("predict", path, data).stdout
    assert "the first" in model.to_frame().to_csv()
    page = tmp_path / "page.html"
    run("report", path, data, "-o", page)
    assert "the first" in page.read_text()
    if type(model).__name__ != "BayesNet":
        assert "the first" in run("compare", path, path).stdout


def test_the_name_is_the_only_change(named, tmp_path):
    path, _ = named
    back, name = tmp_path / "back.halfseen", {"KMeans": "cluster", "HMM": "state"}.get(named[0].stem, "class")
    run("rename", path, f"the first={0 if path.stem == 'BayesNet' else f'{name} 0'}", "-o", back)
    assert "the first" not in run("info", back).stdout
    before, after = (json.loads(run("info", file, "--json").stdout) for file in (path, back))
    assert before["fitted_at"] == after["fitted_at"]
    assert before["training"] == after["training"]
    assert before["command"] == after["command"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a"], "1 names for 2"),
        (["a", "b", "c"], "3 names for 2"),
        (["same", "same"], "'same' would name two"),
        (["5=a"], "there is no"),
        (["0=a", "0=b"], "0 is named twice: a and b"),
        (["0=a", "b"], "'b' has no ="),
        (["0=", "1=b"], "an empty name is none"),
    ],
)
def test_wrong_names_are_refused_and_the_file_stays(named, names, told):
    path, before = named[0], named[0].read_bytes()
    assert told in run("rename", path, *names, code=2).stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize("estimator", FITS)
def test_a_fit_takes_names(tmp_path, estimator):
    path = tmp_path / "named.halfseen"
    run("fit", *FITS[estimator], "--restarts", 2, "--names", "big,small", "-o", path)
    shown = run("info", path).stdout
    assert "big" in shown
    assert "small" in shown


def test_names_of_a_fit_are_checked_before_it():
    wrong = run("fit", "no_such_file.csv", "-k", 3, "--names", "a,b", code=2).stderr
    assert "--names a,b: 2 names for 3 classes" in wrong
    assert "'a' would name two" in run("fit", "no_such_file.csv", "-k", 2, "--names", "a,a", code=2).stderr
    assert (
        "the classes are those of the target"
        in run("fit", "example:penguins", "--target", "species", "--names", "a,b,c", code=2).stderr
    )


def test_a_number_of_classes_found_by_the_fit_may_not_be_that_of_the_names():
    done = run("fit", "example:votes", "--ignore", "party", "-k", "1..2", "--restarts", 2, "--names", "a,b,c")
    assert "--names was not used: 3 names for 2 classes" in done.stderr
    assert "class 0" in done.stdout


def test_labels_of_a_classifier(tmp_path):
    path = tmp_path / "species.halfseen"
    run("fit", "example:penguins", "--target", "species", "-o", path)
    run("rename", path, "Adelie=small", "2=large")
    assert hs.load(path).classes_.tolist() == ["small", "Chinstrap", "large"]


def test_one_of_several_hidden_variables(tmp_path):
    path = tmp_path / "net.halfseen"
    edges = "A -> crime; A -> mx_missile; A -> immigration; B -> immigration; B -> education_spending"
    run("fit", "example:votes", "--model", edges, "--hidden", "A=2,B=2", "--restarts", 1, "-o", path)
    assert "Hidden: A, B" in run("rename", path, "0=left", code=2).stderr
    run("rename", path, "0=left", "--variable", "B")
    assert hs.load(path).states_["B"] == ("left", "1")
    assert "left" in run("query", path, "B").stdout


def test_python_and_the_command_line_share_one_way():
    model = hs.KMeans(2, random_state=0).fit([[1.0, 5.0], [1.5, 6.0], [9.0, 7.0]])
    renamed = model.rename({1: "far"})
    assert renamed.cluster_names_ == ("cluster 0", "far")
    assert model.cluster_names_ == ("cluster 0", "cluster 1")
    assert renamed.fit([[1.0, 5.0], [9.0, 7.0]]).cluster_names_ == ("cluster 0", "cluster 1")
