"""Every family x every verb and every option: it works, or refuses with the reason; never a traceback."""

import json
import re
from typing import NamedTuple

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import halfseen as hs
from halfseen import families
from halfseen.app.cli import app

pytestmark = pytest.mark.thorough

COMMANDS = get_command(app).commands
FAMILIES = pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.name)
RULES = "S -> NP VP [1.0]\nNP -> 'dogs' [0.5] | 'cats' [0.5]\nVP -> 'bark' [0.6] | 'sleep' [0.4]\n"


class Fit(NamedTuple):
    """How a model is fitted, and the files that later verbs take."""

    data: tuple[str, ...]
    options: tuple[str, ...]
    truth: str = "kind"


FITS = {
    "LatentClass": Fit(("rows.csv",), ("--ignore", "kind", "-k", "2")),
    "NaiveBayes": Fit(("rows.csv",), ("--target", "kind")),
    "GaussianMixture": Fit(("numbers.csv",), ("--model", "gaussian", "--ignore", "kind", "-k", "2")),
    "GaussianClassifier": Fit(("numbers.csv",), ("--model", "gaussian", "--target", "kind")),
    "KMeans": Fit(("numbers.csv",), ("--model", "kmeans", "--ignore", "kind", "-k", "2")),
    "HMM": Fit(("steps.csv",), ("--model", "hmm", "--group", "who", "--time", "hour", "--ignore", "kind", "-k", "2")),
    "TranscriptAligner": Fit(
        ("steps.csv",),
        ("--model", "transcript", "--group", "who", "--time", "hour", "--ignore", "kind", "--transcripts", "said.csv"),
    ),
    "BayesNet": Fit(("rows.csv",), ("--model", "color <- C -> shape", "--hidden", "C=2")),
    "PCFG": Fit(("sentences.txt",), ("--model", "rules.cfg")),
    "WordAligner": Fit(("a.de", "a.en"), ("--model", "words")),
    "G2P": Fit(("said.dict",), ("--model", "g2p")),
}


def halfseen(*arguments):
    """Run a command in this process; an exception that it does not handle fails the test."""
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tiny data for every family."""
    found = tmp_path_factory.mktemp("families")
    rng = np.random.default_rng(0)
    rows, numbers, steps = ["color,shape,size,kind"], ["x,y,kind"], ["who,hour,level,kind"]
    for i in range(48):
        kind = i % 2
        cells = ["rb"[kind], "os"[kind if i % 7 else 1 - kind], f"{3 * kind + rng.normal():.2f}"]
        cells[i % 3] = "" if i % 5 == 0 else cells[i % 3]
        rows.append(",".join([*cells, "AB"[kind]]))
        numbers.append(f"{4 * kind + rng.normal():.2f},{'' if i % 9 == 0 else f'{rng.normal():.2f}'},{'AB'[kind]}")
        late = i % 12 >= 6
        steps.append(
            f"{'pqrs'[i // 12]},{i % 12},{'' if i % 11 == 0 else f'{5 * late + rng.normal():.2f}'},{int(late)}"
        )
    texts = {
        "rows.csv": rows,
        "numbers.csv": numbers,
        "steps.csv": steps,
        "said.csv": ["who,transcript", *(f"{name},low high" for name in "pqrs")],
        "rules.cfg": [RULES],
        "sentences.txt": ["dogs bark", "cats sleep", "dogs sleep", "dogs bark"],
        "said.dict": ["cat\tK AE T", "act\tAE K T", "tack\tT AE K", "tax\tT AE K S"],
        "a.de": ["das haus", "das buch", "ein buch"],
        "a.en": ["the house", "the book", "a book"],
    }
    for name, lines in texts.items():
        (found / name).write_text("\n".join(lines) + "\n")
    return found


@pytest.fixture(scope="module")
def fitted(folder):
    """A function that fits a model at the command line, once."""
    done = {}

    def fit(estimator):
        if estimator not in done:
            path = folder / f"{estimator}.halfseen"
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                no_starts = "restarts" in family_of(estimator).refused.get("fit", {})
                quick = () if no_starts else ("--restarts", "2")
                shown = halfseen("fit", *FITS[estimator].data, *FITS[estimator].options, *quick, "-o", str(path))
            assert shown.exit_code == 0, shown.output
            done[estimator] = path
        return str(done[estimator])

    return fit


def family_of(estimator):
    return next(family for family in families.FAMILIES if estimator in family.estimators)


def arguments_of(verb, estimator, model):
    """A plain use of a verb: model, data and what it needs besides."""
    fit = FITS[estimator]
    return {
        "predict": [model, fit.data[0]],
        "align": [model, *fit.data],
        "parse": [model, "sentences.txt"],
        "pronounce": [model, "--text", "cat tact"],
        "impute": [model, fit.data[0]],
        "check": [model, fit.data[0], "--check"],
        "sample": [model, "-n", "3"],
        "forecast": [model, fit.data[0]],
        "query": [model, "color", "--given", "shape=o"],
        "score": [model, *fit.data],
        "data": [model, *fit.data, "-o", "report.html"],
        "truth": [model, fit.data[0], "--truth", fit.truth],
        "table": [model],
        "export": [model, "--sql", "duckdb", "--table", "people"],
        "test": [model, fit.data[0], "--draws", "2", "--starts", "2"],
        "rename": [model, "0=first", "-o", "renamed.halfseen"],
        "relate": [model, fit.data[0], "--outcomes", fit.truth, "--method", "ml"],
    }[verb]


USES = (
    "predict",
    "align",
    "parse",
    "pronounce",
    "impute",
    "check",
    "sample",
    "forecast",
    "query",
    "score",
    "data",
    "truth",
    "table",
    "export",
    "test",
    "relate",
    "rename",
)
LABELLED = ("NaiveBayes", "GaussianClassifier")  # whose number of classes is known
TYPED = {"check": "impute", "data": "report", "truth": "compare"}


def test_every_estimator_and_every_verb_is_here():
    assert set(FITS) == set(families.ESTIMATORS)
    assert {TYPED.get(verb, verb) for verb in USES} | {"fit", "info", "explain", "studio", "doctor"} == set(COMMANDS)


@pytest.mark.parametrize("verb", USES)
@pytest.mark.parametrize("estimator", FITS)
def test_a_verb_works_or_says_for_whom_it_is(fitted, folder, monkeypatch, estimator, verb):
    monkeypatch.chdir(folder)
    done = halfseen(TYPED.get(verb, verb), *arguments_of(verb, estimator, fitted(estimator)))
    if verb in ("test", "relate") and estimator in LABELLED:
        assert done.exit_code == 2
        assert f"{verb} cannot be used with a {estimator} model. It is for hidden classes" in done.stderr
    elif verb in family_of(estimator).verbs:
        assert done.exit_code == 0, done.output
        assert done.output
    else:
        assert done.exit_code == 2, done.output
        assert f"cannot be used with a{'n' * (estimator == 'HMM')} {estimator} model. It is for" in done.stderr
        assert families.offering(verb)[0].title in done.stderr


@pytest.mark.parametrize("estimator", FITS)
def test_info_shows_every_model(fitted, estimator):
    model = fitted(estimator)
    assert f"  {estimator}\n" in halfseen("info", model).stdout
    assert json.loads(halfseen("info", model, "--json").stdout)["class"] == estimator
    assert "import halfseen" in halfseen("info", model, "--code").stdout
    assert halfseen("info", model, "--parameters").stdout


ESTIMATES = {"GaussianMixture": "maximum likelihood", "GaussianClassifier": "maximum likelihood"}
ESTIMATES |= {"HMM": "maximum likelihood", "TranscriptAligner": "maximum likelihood", "WordAligner": "trained to agree"}
ESTIMATES |= {"G2P": "smoothed by Kneser-Ney"}
WITHOUT_BIC = ("TranscriptAligner", "WordAligner", "G2P")


@pytest.mark.parametrize("estimator", [name for name in FITS if name != "KMeans"])
def test_a_log_likelihood_is_never_shown_without_its_estimate_nor_bic_without_n(fitted, folder, monkeypatch, estimator):
    model = fitted(estimator)
    monkeypatch.chdir(folder)
    estimate = ESTIMATES.get(estimator, "posterior mode")
    commands = family_of(estimator).module("cli")
    said = commands.outcome(hs.load(model)), halfseen("info", model).stdout
    for text in said:
        assert re.search(rf"log-likelihood +-?[\d,.]+ \({estimate}\)", text)
        assert estimator in WITHOUT_BIC or re.search(r"BIC +-?[\d,.]+ \(N = [\d,.]+( steps| sentences)?\)", text)
    scores = halfseen("score", model, *FITS[estimator].data)
    assert re.search(rf"parameters +{estimate}\n", scores.stdout)
    summary = commands.summary(hs.load(model))
    assert summary["estimate"] == estimate
    assert summary["interrupted"] is False
    assert (estimator in WITHOUT_BIC) != ("n" in summary)


@pytest.mark.thorough
@pytest.mark.parametrize("estimator", ["LatentClass", "NaiveBayes", "HMM", "BayesNet", "PCFG", "WordAligner"])
def test_a_report_names_estimate_and_n(fitted, folder, monkeypatch, estimator):
    monkeypatch.chdir(folder)
    assert not halfseen("report", fitted(estimator), *FITS[estimator].data, "-o", "page.html").exit_code
    text = " ".join(re.sub("<[^>]*>", "", (folder / "page.html").read_text()).split())
    assert re.search(rf"Log-likelihood -?[\d,.]+ \({ESTIMATES.get(estimator, 'posterior mode')}\)", text)
    assert estimator == "WordAligner" or re.search(r"BIC -?[\d,.]+ \(N = \d+", text)


@pytest.mark.parametrize("estimator", FITS)
def test_a_model_is_compared_or_has_nothing_to_compare(fitted, estimator):
    model = fitted(estimator)
    done = halfseen("compare", model, model)
    if done.exit_code:
        assert done.exit_code == 2
        assert f"a {estimator} has no classes to compare" in done.stderr
        assert not hasattr(hs.load(model), "weights_")
    else:
        assert f"no changes: the {family_of(estimator).component[1]} are the same" in done.stdout


# ---- options ---------------------------------------------------------------------------------------------------------


def typed(verb, name):
    """An option of a verb: its flag, and how it is typed with a value."""
    param = next(param for param in COMMANDS[verb].params if param.name == name)
    flag = max(param.opts, key=len)
    return flag, [flag] if param.is_flag else [flag, "2"]


def not_taken(family, verb):
    """The options of a verb that a family refuses or that only others have."""
    own = {option.name for option in family.options.get(verb, ())}
    others = {option.name for other in families.FAMILIES for option in other.options.get(verb, ())} - own
    return [*family.refused.get(verb, {}), *sorted(others - set(family.refused.get(verb, {})))]


@FAMILIES
def test_an_option_of_another_family_is_refused_in_a_fit(family):
    model = family.asked[0]
    for name in not_taken(family, "fit"):
        flag, option = typed("fit", name)
        done = halfseen("fit", "no_such_file", "--model", model, *option)
        assert done.exit_code == 2
        reason = family.refused.get("fit", {}).get(name)
        owners = families.owners("fit", name)
        *first, last = [title for owner, own in owners for title in owner.called(own)] or [""]
        titles = f"{', '.join(first)} and {last}" if first else last
        ways = " or ".join(f"--model {word}" for owner, own in owners for word in own.models or owner.asked)
        other = f"{flag} is an option of {titles}: use {ways}."
        refused = f"{flag} cannot be used with --model {model}: {reason}."
        assert done.stderr == f"halfseen: {other if reason is None else refused}\n"


@FAMILIES
def test_an_option_of_another_family_is_refused_in_use(fitted, folder, monkeypatch, family):
    monkeypatch.chdir(folder)
    estimator = next(iter(family.estimators))
    for use in (*family.verbs, "info"):
        verb = TYPED.get(use, use)
        for name in not_taken(family, verb) if use in (*USES, "info") and use != "query" else ():
            flag, option = typed(verb, name)
            model = fitted(estimator)
            arguments = [model] if verb == "info" else arguments_of(use, estimator, model)
            done = halfseen(verb, *arguments, *option)
            assert done.exit_code == 2, done.output
            reason = family.refused.get(verb, {}).get(name)
            assert f"{flag} cannot be used with a" in done.stderr
            assert (reason or f"it is an option of {families.owners(verb, name)[0][0].title}") in done.stderr


def test_what_an_estimator_says_of_its_parameters_is_said_of_options(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for model, data in (("classes", "rows.csv"), ("gaussian", "numbers.csv"), ("kmeans", "numbers.csv")):
        done = halfseen("fit", data, "--model", model, "--ignore", "kind", "-k", "4000")
        assert done.exit_code != 0
        assert "--classes 4000" in done.stderr
        assert "n_components" not in done.stderr
        assert "n_clusters" not in done.stderr
    done = halfseen("fit", "rows.csv", "--assign", "firm")
    assert "--assign 'firm' is not one of" in done.stderr
