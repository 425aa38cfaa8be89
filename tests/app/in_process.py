"""Commands run in the process of the test, which is quicker than a process of their own."""

from typing import Any

from typer.testing import CliRunner

from halfseen.app.cli import app


def run(*arguments: Any, code: int = 0) -> Any:
    """Run a command that must end with an exit code; errors that it does not expect are raised."""
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done
