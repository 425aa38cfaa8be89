"""
EM and gradient methods
=======================

The sufficient statistics of the E-step give the gradient of the log-likelihood. So every model that EM can fit can also
be fitted by gradient methods, with the same passes over the data: in halfseen that is one argument. This example
compares them.
"""

# %%
# The E-step gives the gradient
# -----------------------------
# Take two normal classes of variance 1. The slope of the log-likelihood in the mean of class i is the sum over rows of
# ``h[l, i] * (x[l] - mean[i])``, where ``h`` are the responsibilities of the E-step. EM moves the mean to the weighted
# average of the rows. That is a step along the slope, of rate 1 / N[i], where N[i] is the expected number of rows in
# the class: EM is gradient ascent with a step size that follows from the statistics.

import matplotlib.pyplot as plt
import numpy as np

import halfseen as hs

rng = np.random.default_rng(0)
x = np.concatenate([rng.normal(-1.5, 1, 60), rng.normal(1.5, 1, 40)])
begin = {"weights": [0.6, 0.4], "x0": {"mean": [-0.5, 1.0], "sd": [1, 1]}}

guess = hs.LatentClass.from_params(begin["weights"], {"x0": begin["x0"]})
mean = np.array(begin["x0"]["mean"])
h = guess.predict_proba(x[:, None])
slope = (h * (x[:, None] - mean)).sum(axis=0)

em = hs.LatentClass(2, start=begin, prior=None, accelerate=False, stop="iterations", max_iter=2).fit(x[:, None])


def loglik(mean):
    """Log-likelihood of the rows with these means."""
    return hs.LatentClass.from_params(begin["weights"], {"x0": {"mean": mean, "sd": [1, 1]}}).score(x[:, None]) * len(x)


nudges = 1e-5 * np.eye(2)
print("slope of the two means    ", slope.round(3))
print("slope by differences      ", np.round([(loglik(mean + d) - loglik(mean - d)) / 2e-5 for d in nudges], 3))
print("means + slope / N         ", (mean + slope / h.sum(axis=0)).round(4))
print("means after one step of EM", em.params_["x0"]["mean"].round(4))

# %%
# Four methods, one objective
# ---------------------------
# Plain EM, EM accelerated by SQUAREM (the default), steepest ascent with an adaptive rate, and L-BFGS, which estimates
# the curvature from its last ten steps. All have the same start and no prior. The table shows how far the
# log-likelihood is below its maximum after a number of passes over the data. Passes determine the time, so those that a
# line search rejects are counted too.

methods = {
    "EM": {"accelerate": False},
    "EM, leaping": {},
    "gradient": {"method": "gradient"},
    "L-BFGS": {"method": "lbfgs"},
}
budgets = (2, 5, 10, 20, 50, 100, 200, 500)


def gaps(X, n_components, options):
    """Return how far below the maximum a method is after each number of passes."""
    how = {"n_components": n_components, "n_init": 1, "prior": None, "random_state": 1}
    top = hs.LatentClass(**how, tol=1e-10, max_iter=20_000).fit(X).loglik_
    fits = [hs.LatentClass(**how, **options, stop="iterations", max_iter=budget).fit(X) for budget in budgets]
    return [max(top - fit.loglik_, 0) for fit in fits]


def race(X, n_components):
    print("passes      " + "".join(f"{budget:>10}" for budget in budgets))
    for name, options in methods.items():
        print(f"{name:12}" + "".join(f"{gap:10.2g}" for gap in gaps(X, n_components, options)))


print("\nclasses far apart: two classes, six yes/no columns")
share = np.where(rng.random((500, 1)) < 0.5, 0.9, 0.15)
race((rng.random((500, 6)) < share).astype(int), 2)

# %%
# If the classes are far apart, the class of each row is almost certain, little information is missing, and EM is the
# fastest. If they overlap, most of the information is missing, EM is slow, and methods that estimate the curvature
# catch up:

print("\nclasses that overlap: two classes, six yes/no columns")
share = np.where(rng.random((500, 1)) < 0.5, 0.65, 0.35)
hard_to_tell = (rng.random((500, 6)) < share).astype(int)
race(hard_to_tell, 2)

# %%
# After 50 passes plain EM is still 0.04 below the maximum, accelerated EM less than a millionth, and L-BFGS has reached
# it. Steepest ascent needs about 200. The objective never falls in any of them.
#
# EM is the default. It needs no line search, meets every constraint in one step, and moves a class with very few rows
# as far as a large one: it divides by the mass of the class, while the slope is proportional to it.

budgets = [2, 5, 10, 20, 50, 100, 200]
curves = {name: gaps(hard_to_tell, 2, options) for name, options in methods.items()}
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for name, left in curves.items():
    ax.plot(budgets, np.maximum(left, 1e-8), marker="o", label=name)
ax.set(xlabel="passes over the data", ylabel="log-likelihood below the maximum", xscale="log", yscale="log")
ax.legend()

plt.show()
