"""Grammars at the command line, in reports and in checkpoints."""

import json
from types import SimpleNamespace

import pytest

import halfseen as hs
from halfseen.app.report.sections import _python
from tests.app.test_command_line import halfseen

pytestmark = pytest.mark.thorough
RULES = """
S -> NP VP
VP -> V NP | VP PP
NP -> NP PP | 'astronomers' | 'ears' | 'stars' | 'telescopes'
PP -> P NP
P -> 'with'
V -> 'saw'
"""
SENTENCES = [
    "astronomers saw stars with ears",
    "astronomers saw stars",
    "ears saw telescopes with stars",
    "stars saw ears",
]


def test_a_corpus_larger_than_memory_is_fitted_alike(folder):
    def fit(*more):
        how = ("--model", folder / "rules.cfg", "--unparsable", "skip", "--json")
        return halfseen("fit", folder / "corpus.txt", *how, *more)

    whole, streamed = (json.loads(fit(*more).stdout) for more in ((), ("--memory", "1kB")))
    assert streamed == whole
    assert "read in pieces" in fit("--memory", "1kB").stderr
    refused = halfseen(
        "fit", folder / "corpus.txt", "--model", folder / "rules.cfg", "--memory", "1kB", "--report", "r", code=2
    )
    assert "--report reads all sentences" in refused.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rules, sentences, and a model file made from both."""
    found = tmp_path_factory.mktemp("grammar")
    (found / "rules.cfg").write_text(RULES)
    (found / "corpus.txt").write_text("\n\n".join([*SENTENCES, "cows moo"]))
    (found / "brackets.txt").write_text("(astronomers) ((saw stars) with ears)\nears saw stars\n")
    how = ("--unparsable", "skip", "--report", found / "report.html", "-o", found / "m.halfseen")
    done = halfseen("fit", found / "corpus.txt", "--model", found / "rules.cfg", *how)
    assert "5 sentences, 18 words, 11 rules" in done.stderr
    assert "1 sentence without a parse left out" in done.stderr
    assert "S: NP VP 100%" in done.stdout
    return found


def test_fit_is_the_fit_of_the_library(folder):
    model = hs.PCFG.from_string(RULES, random_state=0, on_unparsable="skip").fit([*SENTENCES, "cows moo"])
    loaded = hs.load(folder / "m.halfseen")
    assert loaded.probabilities_ == model.probabilities_
    assert loaded.unparsable_ == [4]


def test_trees_as_brackets_pictures_and_drawings(folder):
    model = hs.load(folder / "m.halfseen")
    done = halfseen("parse", folder / "m.halfseen", folder / "corpus.txt", code=1)
    lines = done.stdout.splitlines()
    assert [line.split("\t")[1] for line in lines[:4]] == [str(model.parse(text).tree) for text in SENTENCES]
    assert lines[4] == "-inf\tno parse"
    assert "sentence 4 'cows moo' (not in the grammar: 'cows', 'moo'). --unknown missing lets" in done.stderr
    lenient = halfseen(
        "parse",
        folder / "m.halfseen",
        "--text",
        SENTENCES[0].replace(SENTENCES[0].split()[-1], "moo"),
        "--unknown",
        "missing",
    )
    assert "moo)" in lenient.stdout
    skipped = halfseen("parse", folder / "m.halfseen", folder / "corpus.txt", "--unparsable", "skip")
    assert skipped.stdout == done.stdout
    assert "note: 1 of 5 sentences has no parse" in skipped.stderr
    swapped = halfseen("parse", folder / "m.halfseen", "--text", "saw saw", code=1)
    assert "its words are in the grammar, but no tree has them in this order" in swapped.stderr
    done = halfseen("parse", folder / "m.halfseen", "--text", SENTENCES[1], "--format", "picture")
    assert model.parse(SENTENCES[1]).tree.picture() in done.stdout
    page = ("--format", "svg", "-o", folder / "trees.html")
    halfseen("parse", folder / "m.halfseen", folder / "corpus.txt", *page, "--unparsable", "skip")
    assert (folder / "trees.html").read_text().count("<svg") == 4
    done = halfseen(
        "parse", folder / "m.halfseen", "--text", "((astronomers saw stars) with ears)", "--brackets", code=1
    )
    assert done.stdout == "-inf\tno parse\n"
    assert "(given its brackets)" in done.stderr
    done = halfseen("parse", folder / "m.halfseen", "--text", SENTENCES[0], "--draws", "3", "--seed", "1")
    assert len(done.stdout.splitlines()) == 3


def test_sample_score_and_info(folder):
    sampled = halfseen("sample", folder / "m.halfseen", "-n", "3", "--seed", "5").stdout.splitlines()
    assert sampled == [" ".join(words) for words in hs.load(folder / "m.halfseen").sample(3, random_state=5)[0]]
    scored = json.loads(halfseen("score", folder / "m.halfseen", folder / "corpus.txt", "--json").stdout)
    assert (scored["sentences"], scored["without a parse"]) == (5, 1)
    assert scored["loglik"] == pytest.approx(hs.load(folder / "m.halfseen").loglik_)
    told = halfseen("info", folder / "m.halfseen").stdout
    assert "PCFG" in told
    assert "VP: V NP" in told
    code = halfseen("info", folder / "m.halfseen", "--code").stdout
    assert "hs.PCFG.from_string(rules" in code
    assert "telescopes" in halfseen("info", folder / "m.halfseen", "--parameters").stdout


def test_brackets_and_trees_as_models(folder, tmp_path):
    brackets = ("fit", folder / "brackets.txt", "--model", folder / "rules.cfg", "--brackets", "--json", "--ml")
    found = json.loads(halfseen(*brackets).stdout)
    assert found["rules"]["NP -> NP PP"] == pytest.approx(0, abs=1e-9)
    (tmp_path / "some.mrg").write_text("( (S (NP stars) (VP (V saw) (NP ears))) ) (S (NP ears) (VP (V saw) (NP ears)))")
    (tmp_path / "said.txt").write_text("ears saw stars")
    found = json.loads(halfseen("fit", tmp_path / "said.txt", "--model", tmp_path / "some.mrg", "--json").stdout)
    assert found["rules"]["NP -> 'ears'"] == pytest.approx(0.5)


def test_the_report_names_rules_and_sentences(folder):
    page = (folder / "report.html").read_text()
    for text in ("Rules that changed most", "cows moo", "log-likelihood", "Sentences without a parse", "<svg"):
        assert text in page
    halfseen("report", folder / "m.halfseen", folder / "corpus.txt", "-o", folder / "again.html")
    assert "A grammar: corpus.txt" in (folder / "again.html").read_text()


@pytest.mark.parametrize(
    ("args", "message", "code"),
    [
        (("corpus.txt", "--model", "none.cfg"), "none.cfg: No such file", 1),
        (("corpus.txt", "--model", "empty.cfg"), "empty.cfg: the grammar has no rules", 1),
        (("empty.cfg", "--model", "rules.cfg"), "the file has no sentences", 1),
        (("corpus.txt", "--model", "rules.cfg"), "1 of 5 sentences has no parse", 1),
        (("corpus.txt", "--model", "rules.cfg", "-k", "2"), "--classes cannot be used with --model", 2),
        (("corpus.txt", "--brackets"), "--brackets is an option of grammars: add --model rules.cfg", 2),
    ],
)
def test_mistakes_are_told(folder, args, message, code):
    (folder / "empty.cfg").write_text("")
    paths = [folder / arg if arg.endswith((".txt", ".cfg")) else arg for arg in args]
    assert message in halfseen("fit", *paths, code=code).stderr


def test_an_interrupted_fit_goes_on_to_the_same(tmp_path):
    path = tmp_path / "fit.checkpoint"
    model = hs.PCFG.from_string(RULES, random_state=0, n_init=2)
    with hs.checkpoint(path):
        recorded = model.fit(SENTENCES).probabilities_
    assert recorded == hs.PCFG.from_string(RULES, random_state=0, n_init=2).fit(SENTENCES).probabilities_

    def fit_and_fail():
        with hs.checkpoint(path):
            hs.PCFG.from_string(RULES, random_state=0, n_init=2).fit(SENTENCES)
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fit_and_fail()
    with hs.checkpoint(path):
        assert hs.PCFG.from_string(RULES, random_state=0, n_init=2).fit(SENTENCES).probabilities_ == recorded


def test_the_python_of_a_report_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    model = hs.load(folder / "m.halfseen")
    code = _python(model, SimpleNamespace(cost=None))
    found: dict = {"hs": hs}
    exec(code.replace("report.html", "by_python.html"), found)
    assert found["model"].probabilities_ == model.probabilities_
    assert (folder / "by_python.html").exists()
