"""Holes of sequences: filled by what the smoothed states expect, or drawn; nothing else is touched."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.errors import DataError, ParameterError

COLUMNS = {
    "heat": {"mean": [0.0, 6.0], "sd": [1.0, 2.0]},
    "mode": {"on": [0.8, 0.3], "off": [0.2, 0.7]},
    "faults": {"rate": [1.0, 5.0]},
}
MODEL = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], COLUMNS)


def steps():
    X, _ = MODEL.sample(60, random_state=3)
    frame = pd.DataFrame(X, columns=list(COLUMNS))
    frame = frame.astype({"heat": float, "faults": float})
    holes = np.random.default_rng(0).random(frame.shape) < 0.25
    return frame.mask(holes), holes


def test_holes_get_what_the_states_expect():
    X, holes = steps()
    filled, proba = MODEL.impute(X), MODEL.predict_proba(X)
    assert not filled.isna().any().any()
    assert_allclose(filled["heat"][holes[:, 0]], (proba @ [0, 6])[holes[:, 0]], rtol=1e-12)
    assert_allclose(filled["faults"][holes[:, 2]], (proba @ [1, 5])[holes[:, 2]], rtol=1e-12)
    on = proba @ [0.8, 0.3] >= 0.5
    assert_array_equal(filled["mode"][holes[:, 1]] == "on", on[holes[:, 1]])
    kept = ~holes
    assert (filled.to_numpy()[kept] == X.to_numpy()[kept]).all()


def test_draws_follow_the_posterior():
    X = pd.DataFrame({"heat": [0.1, None, None, 6.2], "mode": ["on", None, None, "off"], "faults": [1.0, 2.0, None, 4]})
    n_draws = 3000
    drawn = MODEL.impute(pd.concat([X] * n_draws), lengths=[4] * n_draws, draw=True, random_state=0)
    proba = MODEL.predict_proba(X)
    on = (drawn["mode"] == "on").to_numpy().reshape(-1, 4).mean(axis=0)
    off_by = 4 * 0.5 / n_draws**0.5  # four standard errors
    assert_allclose(on[1:3], (proba @ [0.8, 0.3])[1:3], atol=off_by)
    heat = drawn["heat"].to_numpy().reshape(-1, 4)
    assert_allclose(heat.mean(axis=0)[1:3], (proba @ [0, 6])[1:3], atol=4 * heat.std() / n_draws**0.5)
    assert_array_equal(heat[:, 0], 0.1)
    # cells of neighbouring steps are drawn along one path: states stay, so that they go together
    assert np.corrcoef(heat[:, 1], heat[:, 2])[0, 1] > 0.2


def test_a_seed_repeats_the_draws():
    X, _ = steps()
    one, two, other = (MODEL.impute(X, draw=True, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(other)


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "file"])
def test_the_same_container_comes_back_in_its_order(library):
    X, _ = steps()
    X["machine"], X["hour"] = np.repeat(["a", "b"], 30), np.tile(np.arange(30), 2)
    model = hs.HMM(2, "auto", random_state=0, n_init=2, prior=1.0).fit(X, groups="machine", time="hour")
    expected = model.impute(X)
    mixed = X.sample(frac=1, random_state=0)
    given = {
        "pandas": lambda: mixed,
        "polars": lambda: pl.from_pandas(mixed),
        "arrow": lambda: pa.Table.from_pandas(mixed, preserve_index=False),
        "file": lambda: hs.open_table(io.StringIO(mixed.to_csv(index=False))),
    }[library]()
    filled = model.impute(given)
    back = filled if library == "pandas" else filled.to_pandas()[list(X.columns)]
    wanted = expected.loc[mixed.index]
    assert_allclose(back["heat"], wanted["heat"], rtol=1e-12)
    for name in ("machine", "hour", "mode"):
        assert back[name].tolist() == wanted[name].tolist()
    if library == "pandas":
        assert back.index.equals(mixed.index)
    elif library != "file":
        assert type(filled) is type(given)


def test_lists_and_flat_arrays():
    X = np.array([0.1, np.nan, 0.2, 5.5, np.nan, 6.0])
    model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"heat": COLUMNS["heat"]})
    one = model.impute(X)
    assert one.shape == (6,)
    cut = model.impute([X[:3], X[3:]])
    assert [part.shape for part in cut] == [(3,), (3,)]
    assert_allclose(np.concatenate(cut), model.impute(X, lengths=[3, 3]), rtol=1e-12)
    assert cut[1][1] != one[4]  # it no longer knows what came before


def test_mixture_emissions_use_the_cells_of_the_step():
    """A hole is filled by the component inside the state that the step's other cells point to."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random(400) < 0.5, 0.0, 8.0)[:, None] + rng.normal(0, 0.5, (400, 2))
    model = hs.HMM(1, n_mix=2, random_state=0, n_init=4).fit(X)
    filled = model.impute([[8.1, None], [-0.2, None]])
    assert_allclose(filled[:, 1].astype(float), [8, 0], atol=0.3)
    drawn = model.impute([[8.1, None]] * 50, draw=True, random_state=0)[:, 1].astype(float)
    assert drawn.min() > 5


def test_what_cannot_be_filled():
    with pytest.raises(ParameterError, match="draw='yes'"):
        MODEL.impute(steps()[0], draw="yes")
    never = hs.HMM.from_params([1, 0], [[1, 0], [0, 1]], {"mode": {"on": [1, 0], "off": [0, 1]}})
    with pytest.raises(DataError, match=r"sequence 0 is impossible .* at step 1"):
        never.impute([["on"], ["off"], [None]])


def test_hidden_cells_are_guessed_from_their_sequences():
    """Better than the column's mean, and the better the longer states last: the steps around say which one it was."""
    errors = {}
    for stay in (0.95, 0.5):
        model = hs.HMM.from_params([0.5, 0.5], [[stay, 1 - stay], [1 - stay, stay]], {"heat": COLUMNS["heat"]})
        X, _ = model.sample(600, random_state=0)
        [column] = hs.hidden_cells(model, X).columns
        errors[stay] = column.error / column.plain
        assert column.n_cells > 30
    assert errors[0.95] < 0.6
    assert errors[0.5] > errors[0.95] + 0.2


def test_hidden_cells_say_how_they_were_guessed():
    X, _ = steps()
    check = hs.hidden_cells(MODEL, X, random_state=1)
    assert not check.refitted
    assert "by the model as it is" in check.note
    assert str(check) == str(hs.hidden_cells(MODEL, X, random_state=1))
    with pytest.raises(ParameterError, match="refit=True"):
        hs.hidden_cells(MODEL, X, refit=True)
