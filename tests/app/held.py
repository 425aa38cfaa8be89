"""The command line, held after so many passes until a signal comes: ``python -m tests.app.held 9 fit votes.csv``.

What was recorded until then is in the checkpoint, and "held" is printed: no test has to guess how long that takes.
"""

import sys
import time
from contextlib import contextmanager

from halfseen.app import console
from halfseen.app.start import main
from halfseen.engine.services import checkpoint


@contextmanager
def held_after(n_passes):
    passes = iter(range(n_passes))

    def watch(seen):
        if next(passes, None) is None:
            print("held", flush=True)
            time.sleep(60)

    yield watch


if __name__ == "__main__":
    number = int(sys.argv.pop(1))
    checkpoint.FLUSH_AFTER = -1.0  # every record reaches the file at once
    console.progress = lambda components: held_after(number)
    main()
