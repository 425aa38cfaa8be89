"""The report on a hidden Markov model: well-formed and escaped like every report, and true to the model."""

import re

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.hmm.plots import draw_paths
from halfseen.families.hmm.scored_sequences import score_sequences
from tests.unit.test_report import check, sections_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

pytestmark = pytest.mark.thorough
SECTIONS = ["answer", "time", "transitions", "trust", "missing", "look", "errors", "methods", "reproduce"]
COLUMNS = {
    "heat": {"mean": [60, 35, 80], "sd": [4, 3, 5]},
    "<b>sound": {"hum": [0.8, 0.1, 0.1], "qu&iet": [0.1, 0.9, 0.0], "rattle": [0.1, 0, 0.9]},
}
PUMP = hs.HMM.from_params([0.6, 0.4, 0], [[0.9, 0.06, 0.04], [0.08, 0.92, 0], [0.1, 0, 0.9]], COLUMNS)


def steps():
    X, _ = PUMP.sample(lengths=[60] * 4, random_state=1)
    frame = pd.DataFrame(X, columns=list(COLUMNS)).astype({"heat": float})
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    frame.loc[70:74] = None  # nothing was observed at five steps
    frame["pump"], frame["hour"] = np.repeat(["A", "B", "C", "D"], 60), np.tile(np.arange(60), 4)
    return frame


@pytest.fixture(scope="module")
def fitted():
    X = steps()
    model = hs.HMM([2, 3], "auto", prior=1.0, random_state=0, n_init=4).fit(X, groups="pump", time="hour")
    return model, X, hs.report(model, X, command="halfseen fit pumps.csv --model hmm")


def words(html):
    return " ".join("".join(check(html).text).split())


def first_row(html, title):
    """The cells of the first row of the table with this title."""
    table = html[html.index(f"<h3>{title}</h3>") :]
    body = table[table.index("<tbody>") : table.index("</tr>", table.index("<tbody>"))]
    return [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", body)]


def test_it_says_what_the_model_says(fitted):
    model, X, html = fitted
    text = words(html)
    assert sections_of(html) == SECTIONS
    assert "<title>Report on hidden states</title>" in html
    assert "The model has 3 hidden states for the 240 steps of 4 sequences; of 2 numbers of states tried" in text
    assert f"state 0 {model.dwell_[0]:.3g} steps" in text
    for p in model.transmat_.ravel():
        assert f"{p:.1%}" in text
    assert "Number of states" in text
    assert "random starts; " in text
    empty = X[list(COLUMNS)].isna().all(axis=1).sum()
    assert empty >= 5
    assert f"{empty} steps have no observed value" in text
    assert "model.fit(X, groups='pump', time='hour')" in text
    assert first_row(html, "Sequences that fit worst")[0] == "ABCD"[model.score_samples(X).argmin()]


def test_the_steps_least_sure_come_first(fitted):
    model, X, html = fitted
    proba = model.predict_proba(X).max(axis=1)
    n = int(np.argmin(proba))
    row = first_row(html, "Steps between states")
    assert row[:2] == [X["pump"][n], str(X["hour"][n])]
    assert row[2].startswith(model.state_names_[model.predict_proba(X)[n].argmax()])


@pytest.mark.parametrize(
    "how",
    [
        {"n_components": 1},
        {"n_components": 2, "n_mix": 2},
        {"n_components": 2, "transitions": "left-right", "min_dwell": 3},
        {"n_components": 2, "assign": "hard", "max_iter": 20},
    ],
    ids=["one state", "mixtures", "left-right", "hard"],
)
@pytest.mark.usefixtures("pictures_unwritten")
def test_every_kind_of_chain(how):
    X = steps()[["heat"]].to_numpy()
    model = hs.HMM(prior=1.0, random_state=0, n_init=2, **how).fit(X, lengths=[60] * 4)
    parts = [X[:60], X[60:120]]
    html = hs.report(model, parts)
    text = words(html)
    if how["n_components"] == 1:
        assert sections_of(html) == [key for key in SECTIONS if key not in ("transitions", "time")]
        assert "has one state" in text
        assert html == hs.report(model, parts)
    else:
        assert "sequence 1" in text
    if "min_dwell" in how:
        assert "·" in html
        assert "never left" in text


@pytest.mark.usefixtures("pictures_unwritten")
def test_a_long_sequence_and_no_fit():
    X, _ = PUMP.sample(400, random_state=0)
    text = words(hs.report(PUMP, X))
    assert "the first 300 steps are drawn" in text
    assert "built from parameters" in text
    assert "Sequences that fit worst" not in text
    assert "The sequences have no missing values" in text


def test_what_it_refuses(fitted):
    model, X, _ = fitted
    with pytest.raises(ParameterError, match="cost= does not apply to an HMM"):
        hs.report(model, X, cost=[[0, 1], [1, 0]])
    never = hs.HMM.from_params([1, 0], [[1, 0], [0, 1]], {"x": {"a": [1, 0], "b": [0, 1]}})
    with pytest.raises(DataError, match="sequence 0 is impossible"):
        hs.report(never, [["a"], ["b"]])
    with pytest.raises(ParameterError, match="LatentClass is not a fitted HMM"):
        score_sequences(hs.LatentClass(2), X)


def test_bars_are_the_best_paths(fitted):
    from matplotlib.figure import Figure

    model, X, _ = fitted
    seen = score_sequences(model, X)
    ax = draw_paths(seen, [0, 2], ["A", "C"], 40, ax=Figure().subplots())
    covered = np.full((2, 40), -1)
    bars = [bar for bar in ax.collections if len(bar.get_paths())]
    colours = {tuple(patch.get_facecolor()): k for k, patch in enumerate(ax.patches)}
    for bar in bars:
        for path in bar.get_paths():
            (left, low), (right, _) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            covered[round(low + 0.36), round(left + 0.5) : round(right + 0.5)] = colours[tuple(bar.get_facecolor()[0])]
    assert covered.tolist() == model.predict(X).reshape(4, 60)[[0, 2], :40].tolist()
