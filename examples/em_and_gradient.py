"""
EM and the gradient
===================

The statistics of the E-step are the gradient of the log-likelihood. So whatever EM can fit, gradient methods can fit
too, pass by pass over the same data: in halfseen that is one argument. Here is how they compare.
"""

# %%
# The gradient is there already
# -----------------------------
# Take two normal classes of variance 1. The slope of the log-likelihood in the mean of class i is the sum over rows of
# ``h[l, i] * (x[l] - mean[i])``, where ``h`` are the responsibilities of the E-step. EM moves the mean to the weighted
# average of the rows. That is a step along the slope, of rate 1 / N[i], N[i] being the rows that the class holds:
# EM is gradient ascent that knows how far to go.

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
# Four ways up the same hill
# --------------------------
# Plain EM, EM with leaps (SQUAREM, the default), steepest ascent with an adaptive rate, and L-BFGS, which learns the
# curvature from its last ten steps. The same start, no prior; the table shows how much log-likelihood is still missing
# after so many passes over the data. Passes are what costs time: those that a line search rejects count as well.

methods = {
    "EM": {"accelerate": False},
    "EM, leaping": {},
    "gradient": {"method": "gradient"},
    "L-BFGS": {"method": "lbfgs"},
}
budgets = (2, 5, 10, 20, 50, 100, 200, 500)


def race(X, n_components):
    how = {"n_components": n_components, "n_init": 1, "prior": None, "random_state": 1}
    top = hs.LatentClass(**how, tol=1e-10, max_iter=20_000).fit(X).loglik_
    print("passes      " + "".join(f"{budget:>10}" for budget in budgets))
    for name, options in methods.items():
        fits = [hs.LatentClass(**how, **options, stop="iterations", max_iter=budget).fit(X) for budget in budgets]
        print(f"{name:12}" + "".join(f"{max(top - fit.loglik_, 0):10.2g}" for fit in fits))


print("\nclasses far apart: two classes, six yes/no columns")
share = np.where(rng.random((500, 1)) < 0.5, 0.9, 0.15)
race((rng.random((500, 6)) < share).astype(int), 2)

# %%
# Far apart, each row is sure of its class, EM has little to guess, and nothing beats it. Where classes overlap most of
# the information is missing, EM creeps, and methods that learn the curvature catch up:

print("\nclasses that overlap: two classes, six yes/no columns")
share = np.where(rng.random((500, 1)) < 0.5, 0.65, 0.35)
race((rng.random((500, 6)) < share).astype(int), 2)

# %%
# After 50 passes plain EM is still 0.04 below the top, leaping EM less than a millionth, and L-BFGS is there. Steepest
# ascent needs some 200. None of them ever falls.
#
# EM stays the default. It needs no line search, obeys every constraint in one step, and moves a class that holds hardly
# any rows as readily as a large one: it divides by the mass of the class, while the slope is proportional to it.
