"""
Counts that vary more than Poisson counts
=========================================

Counts of mites on apple leaves (Bliss and Fisher 1953) vary more than Poisson counts. A negative binomial column has
one parameter more, a size, and describes them; a Poisson column would need a second class.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import nbinom, poisson

import halfseen as hs

mites = np.arange(8)[:, None]
leaves = np.array([70, 38, 17, 10, 9, 3, 2, 1])
models = {
    (kind, k): hs.LatentClass(k, columns={"x0": kind}, prior=None, random_state=0).fit(mites, sample_weight=leaves)
    for kind, k in (("poisson", 1), ("poisson", 2), ("negbin", 1))
}
for (kind, k), model in models.items():
    print(f"{kind:8} {k} classes: log-likelihood {model.loglik_:.2f}, BIC {model.bic():.1f}")

# %%
# One negative binomial class fits about as well as two Poisson classes, with one parameter less.

rate = models["poisson", 1].params_["x0"]["rate"][0]
mean, size = (models["negbin", 1].params_["x0"][name][0] for name in ("mean", "size"))
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.bar(mites[:, 0], leaves, color="#b9c4cc", label="observed")
ax.plot(mites, 150 * poisson.pmf(mites, rate), "o--", color="#b5443c", label=f"Poisson, rate {rate:.2f}")
ax.plot(
    mites,
    150 * nbinom.pmf(mites, size, size / (size + mean)),
    "o-",
    color="#2b6a99",
    label=f"negative binomial, mean {mean:.2f}, size {size:.2f}",
)
ax.set(xlabel="mites on a leaf", ylabel="leaves")
ax.legend(frameon=False)

# %%
# Two hidden groups of overdispersed counts, with a tenth of the cells missing. BIC prefers two classes with negative
# binomial columns; with Poisson columns it takes more.

rng = np.random.default_rng(0)
group = rng.random(800) < 0.4
visits = rng.negative_binomial(2.0, 2.0 / (2.0 + np.where(group, 12.0, 3.0)))
calls = rng.negative_binomial(4.0, 4.0 / (4.0 + np.where(group, 2.0, 9.0)))
table = np.column_stack([visits, calls]).astype(float)
table[rng.random(table.shape) < 0.1] = np.nan
for kind in ("poisson", "negbin"):
    found = hs.LatentClass(range(1, 5), columns={"x0": kind, "x1": kind}, n_init=4, random_state=0).fit(table)
    print(f"{kind}: {found.n_components_} classes, BIC {found.bic():.1f}")
print(found.to_frame())
