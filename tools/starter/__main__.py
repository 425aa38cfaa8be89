"""Make the starter model: `python -m tools.starter` in the repository, on Debian.

    apt-get install espeak-ng flite festival festvox-kallpc16k festvox-kdlpc16k festvox-us-slt-hts

It takes about half a minute of processor time, and as much again in the synthesisers. Texts, recordings and training
follow from fixed seeds; espeak-ng does not give the same samples in every run, so that the last digits of the model
differ from run to run.

Two voices are kept for how sure the model may be (`TUNING`), three for testing (`TESTED`); their sentences are others
than those of training. All synthesisers and voices are in Debian's main section: espeak-ng (GPL-3 or later, whose
output is not covered by its licence), flite and its voices, festival, festvox-kallpc16k, festvox-kdlpc16k and
festvox-us-slt-hts (free licences of Carnegie Mellon University and the University of Edinburgh, alike that of X11).
The model holds means and variances, no sound, and is under the licence of the library.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import halfseen as hs
from halfseen.families.transcript.starter import FILE
from tools.starter.corpus import TESTED, TRAINING, TUNING, Cast, Take, takes, write
from tools.starter.training import phones_of
from tools.starter.tuning import all_bounds, tuned

LARGEST = 1_000_000  # bytes
FEATURES = "mfcc -deltas 1 -step 0.01"  # slopes help with voices that were not heard


def spoken(cast: Sequence[Cast], seed: int, plain: bool, folder: Path) -> tuple[list[Take], hs.AudioFolder]:
    """Return what voices say, and the recordings."""
    folder.mkdir()
    return write(takes(cast, seed, plain), folder), hs.AudioFolder(folder, features=FEATURES)


def report(model: hs.TranscriptAligner, said: Sequence[Take], corpus: hs.AudioFolder) -> None:
    """Print how well the phones of voices are found that the model was not trained on."""
    print("voice                        phones  within 10  20  50 ms  median sd  within 2 sd + 5 ms")  # noqa: T201
    for voice in dict.fromkeys(take.name.rpartition(" ")[0] for take in said):
        own = [i for i, take in enumerate(said) if take.name.startswith(f"{voice} ")]
        found = all_bounds(model, [said[i] for i in own], [corpus[i] for i in own])
        shares = "  ".join(f"{100 * found.within(limit):4.1f}" for limit in (0.01, 0.02, 0.05))
        sure = f"{1000 * np.median(found.sd):4.1f} ms  {100 * found.covered():4.1f} %"
        print(f"{voice:28s} {len(found.error):6d}  {shares}  {sure}")  # noqa: T201


def main() -> None:
    """Make the speech, train, tune, test, and write the model."""
    parser = argparse.ArgumentParser(description="Make the starter model of hs.load_speech.")
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    output, begun = parser.parse_args().output, time.process_time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        phones = phones_of(*spoken(TRAINING, 1, False, folder / "training"))
        model = tuned(phones, *spoken(TUNING, 2, False, folder / "tuning"))
        hs.save(model, output)
        assert output.stat().st_size < LARGEST, f"{output} has {output.stat().st_size} bytes: use fewer components"
        report(hs.load(output), *spoken(TESTED, 3, True, folder / "tested"))
    size, spent = output.stat().st_size, time.process_time() - begun
    print(f"{output}: {size:,} bytes, acoustic scale {model.acoustic_scale_:g}, boundary sd {model.boundary_sd:g}")  # noqa: T201
    print(f"{spent:.0f} s of processor time without those of the synthesisers")  # noqa: T201


if __name__ == "__main__":
    main()
