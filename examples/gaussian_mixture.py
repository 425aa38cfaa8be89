"""
Clusters in a table with missing values
=======================================

Three clusters of correlated numbers, with a fifth of all cells missing. A mixture with full covariances finds the
clusters from the observed cells, and imputes the missing ones from the other columns of the same row.
"""

import matplotlib.pyplot as plt
import numpy as np

import halfseen as hs

rng = np.random.default_rng(0)
hidden = rng.integers(0, 3, 900)
means = np.array([[0.0, 0.0, 0.0], [4.0, 1.0, -2.0], [1.0, 5.0, 3.0]])
roots = np.array([np.eye(3) + 0.6 * rng.normal(size=(3, 3)) for _ in range(3)])
complete = means[hidden] + np.einsum("nde,ne->nd", roots[hidden], rng.normal(size=(900, 3)))
X = np.where(rng.random(complete.shape) < 0.2, np.nan, complete)

# %%
# The number of clusters and the covariance type: one call tries all combinations and keeps the best by BIC.

model = hs.GaussianMixture(range(1, 5), covariance_type=["full", "tied", "diag"], n_init=8, random_state=0).fit(X)
print(f"{model.n_components_} components, covariance {model.covariance_type_}, {model.n_parameters_} parameters")
print(model.means_.round(1))

# %%
# Values imputed from the other columns are nearer to the truth than the column means.

missing = np.isnan(X)
filled = model.impute(X)
means_only = np.where(missing, np.nanmean(X, axis=0), X)
for name, guess in (("column means", means_only), ("mixture", filled)):
    error = np.sqrt(np.mean((guess[missing] - complete[missing]) ** 2))
    print(f"root mean square error of {name}: {error:.2f}")

# %%
# The clusters in the two columns that separate them most. Rows with missing values are open circles at their imputed
# place.

hs.plot_pairs(model, X, top=2)

plt.show()
