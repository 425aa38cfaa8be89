"""``halfseen relate``: classes related to covariates and outcomes at the command line."""

import json

import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from tests.app.in_process import run
from tests.unit.test_relate import BESIDE, ITEMS

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("relate")
    frame = ITEMS.join(BESIDE)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.assign(z=frame["z"].where(frame.index > 2)).to_csv(folder / "holes.csv", index=False)
    run("fit", folder / "rows.csv", "--ignore", "z,y", "-k", 3, "--ml", "-o", folder / "m.halfseen")
    return folder, frame


def test_covariates_and_outcomes(files):
    folder, frame = files
    model = hs.load(folder / "m.halfseen")
    shown = run("relate", folder / "m.halfseen", folder / "rows.csv", "--covariates", "z").stdout
    assert shown.strip() == str(hs.relate(model, frame.drop(columns="y"), covariates="z"))
    shown = run("relate", folder / "m.halfseen", folder / "rows.csv", "--outcomes", "y", "--method", "ml").stdout
    assert shown.strip() == str(hs.relate(model, frame.drop(columns="z"), outcomes="y", method="ml"))
    how = ["--outcomes", "z,y", "--columns", "z=gaussian", "--assign", "proportional", "--classes-known", "--json"]
    found = json.loads(run("relate", folder / "m.halfseen", folder / "rows.csv", *how).stdout)
    assert {row["outcome"] for row in found["outcomes"]} == {"z", "y"}
    assert found["assign"] == "proportional"


def test_missing_covariates(files):
    folder, _ = files
    refused = run("relate", folder / "m.halfseen", folder / "holes.csv", "--covariates", "z", code=1)
    assert "use --drop-missing" in refused.stderr
    done = run("relate", folder / "m.halfseen", folder / "holes.csv", "--covariates", "z", "--drop-missing")
    assert "3 rows with a missing covariate were left out" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--covariates or --outcomes"),
        (["--covariates", "height"], "no column 'height'"),
        (["--outcomes", "height"], "no column 'height'"),
        (["--outcomes", "y", "--method", "best"], "--method 'best'"),
        (["--covariates", "z", "--reference", "class 9"], "is no class"),
    ],
)
def test_what_is_refused(files, arguments, said):
    folder, _ = files
    done = CliRunner().invoke(app, ["relate", str(folder / "m.halfseen"), str(folder / "rows.csv"), *arguments])
    assert done.exit_code in (1, 2)
    assert said in done.stderr
