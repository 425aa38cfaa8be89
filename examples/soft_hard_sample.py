"""
Soft, hard and sampled assignment
=================================

The E-step can use the expected class of each row (soft), the most probable class (hard), or a random draw (sample). In
halfseen that is one argument. This example measures the differences on one table.
"""

# %%
# Three fits to the same table
# ----------------------------
# Four measurements of 344 penguins, three classes, the same starts, no prior. Soft and hard EM maximise different
# objectives: the log-likelihood of the observed data, and the log-probability of the observed data together with the
# best classes. ``loglik_`` is always the log-likelihood, so that the fits can be compared. Hard EM stops when no bird
# changes its class. A sampled fit does not converge in this sense: it makes ``max_iter`` passes over the data, and
# returns the parameters that fit the average statistics of the second half.

import matplotlib.pyplot as plt
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
# Hard assignment exaggerates the contrast
# ----------------------------------------
# A row that belongs equally to two classes counts in full for one of them under hard assignment. Overlapping classes
# come out narrower and farther apart than they are. Two overlapping normal distributions show this best: the truth is
# means -1.25 and 1.25, both with standard deviation 1.

rng = np.random.default_rng(0)
values = np.concatenate([rng.normal(-1.25, 1, 1000), rng.normal(1.25, 1, 1000)])[:, None]
begin = {"weights": [0.5, 0.5], "x0": {"mean": [-1.25, 1.25], "sd": [1, 1]}}

print("\n                    mean of each class    sd of each class")
for name, options in how.items():
    model = hs.LatentClass(2, start=begin, prior=None, random_state=0, **options).fit(values)
    (mean0, mean1), (sd0, sd1) = model.params_["x0"]["mean"], model.params_["x0"]["sd"]
    print(f"{name:20}{mean0:8.2f} {mean1:8.2f}    {sd0:9.2f} {sd1:8.2f}")

# %%
# Soft and sampled assignment agree, because the mean of many draws is the expectation. Hard assignment, as in k-means,
# is good for dividing rows into groups, but biased as an estimate of the parameters of the groups.

grid = np.linspace(-4.5, 4.5, 300)


def normal(mean, sd):
    return np.exp(-(((grid - mean) / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi))


figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.hist(values[:, 0], 40, density=True, color="0.88")
for name, colour in (("soft", "#0b7285"), ("hard", "#e8590c")):
    model = hs.LatentClass(2, start=begin, prior=None, random_state=0, **how[name]).fit(values)
    for k in (0, 1):
        shape = model.weights_[k] * normal(model.params_["x0"]["mean"][k], model.params_["x0"]["sd"][k])
        ax.plot(grid, shape, color=colour, label=f"{name} assignment" if k == 0 else None)
ax.set(xlabel="value", ylabel="density", title="Hard assignment makes classes narrower and pushes them apart")
ax.legend()

plt.show()
