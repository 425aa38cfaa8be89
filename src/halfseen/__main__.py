"""``python -m halfseen`` is the command ``halfseen``."""

from halfseen.app.cli import main

main()
