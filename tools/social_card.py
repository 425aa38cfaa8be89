"""Draw docs/_static/social_card.png, which other sites show beside a link: python -m tools.social_card.

The picture has the size that most sites ask for, 1200 x 630: the name, what the library does, and penguins in the
colours of the groups that it finds.
"""

from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

import halfseen as hs

PATH = Path(__file__).parents[1] / "docs" / "_static" / "social_card.png"
COLOURS = ("#0b7285", "#e8590c", "#5f3dc4")


def draw() -> Figure:
    """Draw the card: words on the left, groups of penguins on the right."""
    penguins = hs.load_penguins()
    measured = penguins[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    classes = hs.GaussianMixture(3, random_state=0).fit_predict(measured)
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.text(0.05, 0.62, "halfseen", fontsize=64, weight="bold", color="#212529")
    figure.text(0.05, 0.40, "Find hidden groups in your data,\neven with missing values.", fontsize=25, color="#343a40")
    figure.text(
        0.05, 0.14, "Mixtures, hidden Markov models, networks,\ngrammars: one EM engine for Python", fontsize=15
    )
    ax = figure.add_axes((0.56, 0.08, 0.41, 0.84))
    ax.scatter(
        measured["flipper_length_mm"],
        measured["bill_length_mm"],
        c=[COLOURS[k] for k in classes],
        s=45,
        alpha=0.75,
        linewidths=0,
    )
    ax.axis("off")
    return figure


def main() -> None:
    """Write the file, in few colours and so in few bytes."""
    draw().savefig(PATH)
    Image.open(PATH).convert("RGB").quantize(64).save(PATH, optimize=True)


if __name__ == "__main__":
    main()
