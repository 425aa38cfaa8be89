"""The small tables that lessons show, with where EM begins on them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pyarrow as pa

from halfseen.families.mixture.naive_bayes import NaiveBayes
from halfseen.studio.lessons.page import Shown

POINTS = Shown(
    "explain",
    columns=("x1", "x2"),
    rows=(("0", "1"), ("1", "1")),
    kinds={"x1": "categorical", "x2": "categorical"},
    levels={"x1": ("0", "1"), "x2": ("0", "1")},
    n_iter=2,
    start={"x1": {"0": (0.7, 0.1), "1": (0.3, 0.9)}, "x2": {"0": (0.8, 0.4), "1": (0.2, 0.6)}},
    shares=(0.3, 0.7),
)

COINS = Shown(  # Do and Batzoglou (2008): five series of ten tosses, each of one of two coins
    "explain",
    columns=("heads",),
    rows=((5,), (9,), (8,), (4,), (7,)),
    kinds={"heads": "binomial(10)"},
    start={"heads": {"p": (0.6, 0.5)}},
    shares="equal",
    n_iter=10,
    grid="responsibilities",
)
ALIKE = replace(COINS, start={"heads": {"p": (0.5, 0.5)}}, n_iter=3, grid="m-step")

ATTRIBUTES = ("color", "root", "sound", "texture", "umbilicus", "surface")
MELONS = (  # the first eight are ripe
    ("green", "curly", "muffled", "clear", "hollow", "hard"),
    ("dark", "curly", "dull", "clear", "hollow", "hard"),
    ("dark", "curly", "muffled", "clear", "hollow", "hard"),
    ("green", "curly", "dull", "clear", "hollow", "hard"),
    ("light", "curly", "muffled", "clear", "hollow", "hard"),
    ("green", "slightly curly", "muffled", "clear", "slightly hollow", "soft"),
    ("dark", "slightly curly", "muffled", "slightly blurry", "slightly hollow", "soft"),
    ("dark", "slightly curly", "muffled", "clear", "slightly hollow", "hard"),
    ("dark", "slightly curly", "dull", "slightly blurry", "slightly hollow", "hard"),
    ("green", "straight", "crisp", "clear", "flat", "soft"),
    ("light", "straight", "crisp", "blurry", "flat", "hard"),
    ("light", "curly", "muffled", "blurry", "flat", "soft"),
    ("green", "slightly curly", "muffled", "slightly blurry", "hollow", "hard"),
    ("light", "slightly curly", "dull", "slightly blurry", "hollow", "hard"),
    ("dark", "slightly curly", "muffled", "clear", "slightly hollow", "soft"),
    ("light", "curly", "muffled", "blurry", "flat", "hard"),
    ("green", "curly", "dull", "slightly blurry", "slightly hollow", "hard"),
)
N_RIPE = 8
NEW = ("green", "curly", "crisp", "clear", "hollow", "hard")

VALUES = Shown(
    "explain",
    columns=("x",),
    rows=((-2.1,), (-1.7,), (-1.4,), (0.3,), (1.9,), (2.5,), (3.1,)),
    kinds={"x": "gaussian"},
    start={"x": {"mean": (0.0, 2.5), "sd": (1.0, 1.0)}},
    shares=(0.5, 0.5),
    n_iter=5,
    grid="responsibilities",
)
BOUND = replace(VALUES, kind="bound", grid="")
OVERLAP = replace(
    VALUES,
    rows=((-1.9,), (-1.1,), (-0.4,), (0.1,), (0.6,), (1.2,), (1.9,), (2.8,)),
    start={"x": {"mean": (-1.1, 1.9), "sd": (1.0, 1.0)}},
)
HARD = replace(OVERLAP, assign="hard")
SAMPLED = replace(OVERLAP, assign="sample", seed=1)

NUMBERS = Shown(
    "kmeans",
    columns=("x",),
    rows=((1.0,), (2.0,), (4.0,), (7.0,), (8.0,), (9.0,)),
    kinds={"x": "gaussian"},
    model="kmeans",
    start={"x": {"mean": (1.0, 2.0)}},
    n_iter=4,
    grid="distances",
    compare=True,
)
CORNERS = Shown(
    "kmeans",
    columns=("x", "y"),
    rows=((0.0, 0.0), (0.0, 1.0), (4.0, 0.0), (4.0, 1.0)),
    kinds={"x": "gaussian", "y": "gaussian"},
    model="kmeans",
    start={"x": {"mean": (2.0, 2.0)}, "y": {"mean": (0.0, 1.0)}},
    n_iter=2,
    grid="distances",
)
APART = replace(CORNERS, start={"x": {"mean": (0.0, 4.0)}, "y": {"mean": (0.0, 1.0)}})


@cache
def melons(rows: tuple[tuple[str, ...], ...], n_iter: int, grid: str, section: int) -> Shown:
    """Return watermelons, beginning at what the labelled ones say, with one added to every count."""
    labels = ["ripe"] * N_RIPE + ["unripe"] * (len(MELONS) - N_RIPE)
    table = pa.table(dict(zip(ATTRIBUTES, map(list, zip(*MELONS, strict=True)), strict=True)))
    known = NaiveBayes(prior=1.0).fit(table, labels).params_
    start = {name: {value: tuple(map(float, p)) for value, p in known[name].items()} for name in ATTRIBUTES}
    return Shown(
        "explain",
        columns=ATTRIBUTES,
        rows=rows,
        kinds=dict.fromkeys(ATTRIBUTES, "categorical"),
        levels={name: tuple(values) for name, values in start.items()},
        start=start,
        shares=tuple(map(float, known["weights"])),
        n_iter=n_iter,
        section=section,
        grid=grid,
        prior=None if len(rows) < len(MELONS) else "row",
    )
