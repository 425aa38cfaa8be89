"""The worked analysis of the page on covariates prints what the page shows, where the data are there."""

import re
import shlex
import shutil

import pytest
from typer.testing import CliRunner

from halfseen.app.cli import app
from tests.shared_data import shared_data
from tests.unit.test_docs import ROOT, assert_alike

pytestmark = pytest.mark.thorough
BLOCK = re.compile(r"^```console\n\$ halfseen (?P<command>[^\n]*)\n(?P<shown>.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_worked_analysis(tmp_path, monkeypatch):
    shutil.copy(shared_data("election/election.csv"), tmp_path / "election.csv")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "covariates.md").read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == 4
    for block in blocks:
        done = CliRunner().invoke(app, shlex.split(block["command"]), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert_alike(block["shown"], done.stdout, block["command"])
