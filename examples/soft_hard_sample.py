"""
Soft, hard or drawn
===================

The E-step completes what is hidden. It can do so in expectation (soft), by the best completion (hard), or by a random
draw (sample). In halfseen that is one argument. Here is what it changes, measured on one table.
"""

# %%
# Three ways to complete the same table
# -------------------------------------
# Four measurements of 344 penguins, three classes, the same starts, no prior. Soft and hard climb different objectives:
# the log-likelihood of what was seen, and the log-probability of what was seen together with the best classes.
# ``loglik_`` is always the former, so that the fits can be compared. Hard EM stops when no bird changes its class. A
# sampled fit has no such end: it makes as many passes as it is told, and returns the parameters that fit the average
# of the second half.

import narwhals as nw
import numpy as np

import halfseen as hs

penguins = nw.from_native(hs.load_penguins())
X = penguins.select("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g").to_native()

how = {
    "soft": {},
    "hard": {"assign": "hard"},
    "sample": {"assign": "sample", "max_iter": 100},
    "sample, 20 draws": {"assign": "sample", "draws": 20, "max_iter": 100},
}
fits = {name: hs.LatentClass(3, prior=None, random_state=0, **options).fit(X) for name, options in how.items()}
fits = {name: model.match_to(fits["soft"]) for name, model in fits.items()}  # the same order of classes

print("                  log-likelihood  objective  passes  stopped by             shares")
for name, model in fits.items():
    shares = " ".join(f"{share:.2f}" for share in model.weights_)
    numbers = f"{model.loglik_:14.2f} {model.objective_:10.2f} {model.n_iter_:7}"
    print(f"{name:17} {numbers}  {model.stop_reason_:21}  {shares}")

# %%
# Hard assignment sharpens the contrast
# -------------------------------------
# A row that is half in one class and half in another counts in full for one of them under hard assignment. Classes that
# overlap come out narrower and farther apart than they are. Two overlapping normal distributions show it best: the
# truth is means -1.25 and 1.25, both with standard deviation 1.

rng = np.random.default_rng(0)
values = np.concatenate([rng.normal(-1.25, 1, 1000), rng.normal(1.25, 1, 1000)])[:, None]
begin = {"weights": [0.5, 0.5], "x0": {"mean": [-1.25, 1.25], "sd": [1, 1]}}

print("\n                    mean of each class    sd of each class")
for name, options in how.items():
    model = hs.LatentClass(2, start=begin, prior=None, random_state=0, **options).fit(values)
    (mean0, mean1), (sd0, sd1) = model.params_["x0"]["mean"], model.params_["x0"]["sd"]
    print(f"{name:20}{mean0:8.2f} {mean1:8.2f}    {sd0:9.2f} {sd1:8.2f}")

# %%
# Soft assignment and draws tell the same story, because the mean of many draws is the expectation. Hard assignment is
# the view of k-means: good for cutting rows into groups, biased as an estimate of what the groups look like.
