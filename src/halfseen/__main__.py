"""``python -m halfseen`` is the command ``halfseen``."""

from halfseen.app.start import main

main()
