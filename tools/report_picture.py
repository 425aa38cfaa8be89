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

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "_static" / "report.png"
FIT = "fit example:penguins --model gaussian --ignore species,year,island,sex -o penguins.halfseen --report report.html"
WIDTH, HEIGHT = 1280, 1860
COLOURS = 128  # of the picture: few are needed, and the file is a third as large


def main(output: Path) -> None:
    """Fit the model, write the report, take the picture, and make it small."""
    from PIL import Image

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("report_picture: Chromium is needed to take a picture of the page.")
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        subprocess.run([sys.executable, "-m", "halfseen", *FIT.split()], cwd=folder, check=True, capture_output=True)
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", "--blink-settings=preferredColorScheme=1"]
        command += [f"--screenshot={shot}", f"--window-size={WIDTH},{HEIGHT}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        Image.open(shot).convert("RGB").quantize(COLOURS).save(output, optimize=True)
    sys.stdout.write(f"{output}: {output.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
