"""
Gaussian mixtures, iteration by iteration
=========================================

Three methods on the same rows, from the same start, one iteration after the other: EM with full covariances, EM with
hard assignment, and k-means, which is hard EM with equal weights and the identity as covariance. The animation shows
how each iteration changes the components, and that the objective of each never falls.
"""

# %%
# Data and start
# --------------
# Two long clusters that cross, and a small round one. All three components start near the middle, as circles.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

import halfseen as hs

rng = np.random.default_rng(3)
X = np.concatenate(
    [
        rng.multivariate_normal([0, 0], [[6.0, 5.0], [5.0, 5.0]], 150),
        rng.multivariate_normal([1, 1], [[4.0, -3.6], [-3.6, 4.0]], 120),
        rng.multivariate_normal([-4, 4], [[0.4, 0.0], [0.0, 0.4]], 60),
    ]
)
means = np.array([[-2.0, 2.0], [-1.0, -1.0], [1.0, 0.0]])
ways = {
    "soft EM, full": {"covariance_type": "full", "precisions_init": [np.eye(2)] * 3},
    "hard EM, full": {"covariance_type": "full", "precisions_init": [np.eye(2)] * 3, "assign": "hard"},
    "k-means": {"covariance_type": "identity", "weights": "uniform", "assign": "hard"},
}

# %%
# One iteration at a time
# -----------------------
# A fit with ``max_iter=2`` passes over the data is one EM iteration: the first pass is the E-step under the old
# parameters, followed by the M-step, and the second pass evaluates the objective of the new ones. With ``warm_start``
# the next fit starts there. ``accelerate=False`` gives plain EM steps.

N_ITERATIONS = 16


def film(**how):
    """Return the model after each iteration, as (means, covariances, rows' responsibilities, objective)."""
    one_step = {"max_iter": 2, "stop": "iterations", "accelerate": False, "warm_start": True}
    model = hs.GaussianMixture(3, means_init=means, **one_step, **how)
    frames = []
    for _ in range(N_ITERATIONS):
        model.fit(X)
        if not frames:
            frames.append((means, np.tile(np.eye(2), (3, 1, 1)), np.full((len(X), 3), 1 / 3), model.trace_[0]))
        proba = model.predict_proba(X)
        shown = np.eye(3)[proba.argmax(axis=1)] if how.get("assign") == "hard" else proba
        covariances = model.covariances_ if model.covariances_.ndim == 3 else np.tile(np.eye(2), (3, 1, 1))
        frames.append((model.means_, covariances, shown, model.trace_[-1]))
    return frames


films = {name: film(**how) for name, how in ways.items()}
for name, frames in films.items():
    objectives = np.array([frame[3] for frame in frames])
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[1:])).all()
    moved = np.abs(np.diff([frame[0] for frame in frames], axis=0)).max(axis=(1, 2))
    print(f"{name:14} objective {objectives[0]:9.1f} -> {objectives[-1]:9.1f}, moved in {(moved > 1e-3).sum()} steps")

# %%
# The k-means mixture and `KMeans` end at the same centres.

centres = hs.KMeans(3, init=means, tol=0).fit(X).cluster_centers_
print("largest difference from KMeans:", np.abs(centres - films["k-means"][-1][0]).max().round(9))

# %%
# The animation
# -------------
# The colour of a row is mixed from its components by its responsibilities; ellipses are drawn at two standard
# deviations. Only soft EM finds the crossing clusters: where they cross, a row counts for both. Hard assignment divides
# the crossing between the components, and k-means can only represent circles of one size.

COLOURS = np.array([[0.12, 0.47, 0.71], [0.84, 0.15, 0.16], [0.17, 0.63, 0.17]])
CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 60)), np.sin(np.linspace(0, 2 * np.pi, 60))])

figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.9), sharex=True, sharey=True)
figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.87, wspace=0.04)
drawn = []
for ax, name in zip(axes, films, strict=True):
    points = ax.scatter(*X.T, s=9, linewidths=0, alpha=0.7)
    lines = [ax.plot([], [], color=colour, linewidth=2)[0] for colour in COLOURS]
    drawn.append(
        (ax, points, lines, ax.scatter(*means.T, c=COLOURS, marker="X", s=60, edgecolors="white"), films[name])
    )
    ax.set(xlim=(-7, 7), ylim=(-7, 7), aspect="equal", xticks=[], yticks=[])


def draw(i):
    """Draw the state after iteration i."""
    for (ax, points, lines, crosses, frames), name in zip(drawn, films, strict=True):
        places, covariances, proba, objective = frames[i]
        points.set_facecolor(proba @ COLOURS)
        crosses.set_offsets(places)
        for line, place, cov in zip(lines, places, covariances, strict=True):
            line.set_data(place[:, None] + 2 * np.linalg.cholesky(cov) @ CIRCLE)
        ax.set_title(f"{name}: iteration {i}\nobjective {objective:,.1f}", fontsize=10)


order = [*range(N_ITERATIONS + 1), *[N_ITERATIONS] * 3]
animation = FuncAnimation(figure, draw, frames=order)
path = Path(tempfile.mkdtemp()) / "mixture.gif"
animation.save(path, writer=PillowWriter(fps=3), dpi=70)
print(f"{path.name}: {len(order)} frames")
