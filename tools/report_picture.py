"""Pictures of reports for README and docs, taken in Chromium: the penguins, a network and a sequence.

    python -m tools.report_picture [FOLDER]

The first is docs/_static/report.png.

Needs Chromium and Pillow.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "_static"
COLOURS = 128  # of a picture: few are needed, and the file is a third as large
EDGES = "party -> crime; party -> mx_missile; crime -> education_spending; party -> immigration"
PICTURES = {  # by name: the fit, width and height of the window, and the section shown; all if empty
    "report": (
        ["example:penguins", "--model", "gaussian", "--ignore", "species,year,island,sex"],
        (1280, 1860),
        "",
    ),
    "report_network": (["example:votes", "--model", EDGES], (1280, 800), "network"),
    "report_states": (
        ["example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", "3"],
        (1280, 480),
        "time",
    ),
}


def main(folder: Path) -> None:
    """Take all pictures, and make them small."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("report_picture: Chromium is needed to take a picture of a page.")
    for name, (fit, size, section) in PICTURES.items():
        output = folder / f"{name}.png"
        _take(chromium, fit, size, section, output)
        sys.stdout.write(f"{output}: {output.stat().st_size / 1000:.0f} kB\n")


def _take(chromium: str, fit: list[str], size: tuple[int, int], section: str, output: Path) -> None:
    """Fit a model, write its report, and take a picture of a part of the page."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        files = ["-o", f"{fit[0].partition(':')[2]}.halfseen", "--report", page.name]
        command = [sys.executable, "-m", "halfseen", "fit", *fit, *files, "--seed", "0"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        if section:
            page.write_text(_only(page.read_text(encoding="utf-8"), section), encoding="utf-8")
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={folder}/profile", "--blink-settings=preferredColorScheme=1"]
        command += [f"--screenshot={shot}", f"--window-size={size[0]},{size[1]}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        Image.open(shot).convert("RGB").quantize(COLOURS).save(output, optimize=True)


def _only(html: str, section: str) -> str:
    """Return a page with one of its sections."""
    head, body = html.split("<header>")[0], re.search(rf'<section id="{section}".*?</section>', html, re.DOTALL)
    assert body is not None
    return f"{head}<main>{body[0].replace('<section', '<section class=summary', 1)}</main></body></html>"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
