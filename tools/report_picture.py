"""The picture of the README: the report on the penguins, in Chromium, as docs/_static/report.png.

    python -m tools.report_picture [OUTPUT]

Needs Chromium and Pillow.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import halfseen as hs

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "_static" / "report.png"
WIDTH, HEIGHT = 1280, 1640
COLOURS = 128  # of the picture: few are needed, and the file is a third as large


def main(output: Path) -> None:
    """Fit the model, write the report, take the picture, and make it small."""
    from PIL import Image

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("report_picture: Chromium is needed to take a picture of the page.")
    birds = hs.load_penguins().drop(columns=["species", "year", "island", "sex"])
    model = hs.GaussianMixture("auto", random_state=0).fit(birds)
    with tempfile.TemporaryDirectory() as folder:
        page, shot = (
            hs.report(model, birds, Path(folder) / "report.html", title="Hidden classes: penguins"),
            Path(folder) / "shot.png",
        )
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", "--blink-settings=preferredColorScheme=1"]
        command += [f"--screenshot={shot}", f"--window-size={WIDTH},{HEIGHT}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        picture = Image.open(shot).convert("RGB").quantize(COLOURS)
        picture.save(output, optimize=True)
    print(f"{output}: {output.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
