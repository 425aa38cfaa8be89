"""The status line: there before anything heavy is loaded, gone when the command ends, never in what is printed."""

import io
import re
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest

from halfseen.app import console, status_line
from halfseen.app.cli import app
from tests.app.in_process import run


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True

    def fileno(self):
        raise OSError


def screen(text):
    """Return the lines that a terminal shows after this text."""
    lines, column = [""], 0
    for piece in re.findall(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[0-9;]*[A-Za-z]|.|\n", text):
        if piece == "\n":
            lines.append("")
            column = 0
        elif piece == "\r":
            column = 0
        elif piece == "\x1b[2K":
            lines[-1] = ""
        elif not piece.startswith("\x1b"):
            lines[-1] = lines[-1][:column].ljust(column) + piece + lines[-1][column + 1 :]
            column += 1
    return lines


@pytest.fixture
def terminal(monkeypatch):
    """A context in which one terminal shows results and notes."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(status_line, "TICK", 0.001)

    @contextmanager
    def opened():
        shown = Terminal()
        with redirect_stdout(shown), redirect_stderr(shown):
            yield shown
            status_line.end()

    return opened


def command(*arguments):
    return app(list(map(str, arguments)), standalone_mode=False)


def test_a_fit_leaves_no_status_line_behind(terminal, tmp_path):
    model = tmp_path / "votes.halfseen"
    with terminal() as shown:
        command("fit", "example:votes", "--ignore", "party", "-k", 2, "-o", model)
    written = shown.getvalue()
    assert written.startswith(f"{status_line.CLEAR}| reading example:votes")
    left = screen(written)
    assert not any(re.match(r"[|/\\-] ", line) for line in left)
    assert any(line.startswith("class 0 (") for line in left)
    assert f";{model.resolve().as_uri()}" in written


def test_rows_on_a_terminal_are_not_mixed_with_a_status_line(terminal, tmp_path):
    model = tmp_path / "votes.halfseen"
    run("fit", "example:votes", "--ignore", "party", "-k", 2, "-o", model)
    with terminal() as shown:
        command("sample", model, "-n", 3)
    assert sum(line.count(",") == 16 for line in screen(shown.getvalue())) == 4


def test_nothing_is_drawn_where_standard_error_is_no_terminal():
    with redirect_stderr(io.StringIO()) as shown:
        status_line.begin("reading a.csv")
        status_line.say("reading a.csv", "10 rows")
        status_line.end()
    assert shown.getvalue() == ""


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_line_fits_any_terminal(terminal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with terminal() as shown:
        status_line.begin("reading a_file_with_a_rather_long_name_of_2024.csv")
        status_line.say("reading a_file_with_a_rather_long_name_of_2024.csv", "12,345,678 rows")
        status_line._line.draw()
        drawn = shown.getvalue().split(status_line.CLEAR)[-1]
    assert len(drawn) < width
    assert "12,345,678" in drawn


def test_colour_follows_no_color(terminal, monkeypatch):
    with terminal() as shown:
        console.fail("hello")
        assert "\x1b[1;31mhalfseen: " in shown.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    with terminal() as shown:
        console.fail("hello")
        assert "[1;31m" not in shown.getvalue()


@pytest.mark.parametrize("width", [30, 80, 200])
def test_a_table_is_not_cut_on_a_narrow_terminal(terminal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    with terminal() as shown:
        console.show_table(
            ("classes", "starts that agree", ""), [(2, "14 of 16", ""), (3, "1 of 2", "<- best")], left=0
        )
    lines = [line.rstrip() for line in screen(shown.getvalue())]
    assert any(line.endswith("14 of 16") for line in lines)
    assert any(line.endswith("1 of 2  <- best") for line in lines)
    assert ("      2           14 of 16" in lines) == (width > 30)
    assert "\x1b[1;32m" in shown.getvalue()


def test_the_line_is_there_before_anything_heavy_is_loaded():
    code = (
        "import sys\n"
        "from halfseen.app import status_line\n"
        "def begin(*parts):\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'rich', 'pyarrow', 'duckdb', 'narwhals'} & set(sys.modules)\n"
        "    print(parts, heavy)\n"
        "    raise SystemExit(0)\n"
        "status_line.begin = begin\n"
        "from halfseen.app.cli import app\n"
        "app(['predict', 'm.halfseen', 'a.csv'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('reading m.halfseen',) set()\n"
