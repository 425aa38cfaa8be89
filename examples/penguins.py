"""
Penguins: groups of correlated measurements
===========================================

344 penguins were measured at Palmer Station, Antarctica. Without the column of the species: how many groups of birds
are there, how do they differ, and which bird belongs to which group? A Gaussian mixture answers from four measurements.
"""

# %%
# The table
# ---------
# Two birds were not measured at all. No row is dropped, and no missing value is filled in before the fit.

import matplotlib.pyplot as plt
import pandas as pd

import halfseen as hs

penguins = hs.load_penguins()
measured = penguins[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
print(f"{len(measured)} penguins, {int(measured.isna().sum().sum())} missing values; the species is left out")

# %%
# How many groups?
# ----------------
# Give a range, and every number in it is tried. Each fit makes 16 random starts or more and runs the best to
# convergence. BIC weighs the log-likelihood against the number of parameters; the lowest is kept.

model = hs.GaussianMixture(range(1, 7), random_state=0).fit(measured)
print(model.selection_[["n_components", "loglik", "n_parameters", "bic", "chosen"]].round(1).to_string(index=False))

agree = f"{model.restarts_['n_reached_best']} of {model.restarts_['n_init']} starts"
print(f"\n{model.n_components_} groups, reached by {agree}")

hs.plot_selection(model)

# %%
# What are the groups like?
# -------------------------
# For each group: its share, and the columns in which it differs most from the whole table.

print(model.describe(top=2).replace("; ", "\n" + " " * 15))

# %%
# The columns that separate the groups most, against each other. Rows with missing values are drawn as open circles,
# where the model expects them.

# sphinx_gallery_thumbnail_number = 2
hs.plot_pairs(model, measured)

# %%
# Comparison with the species
# ---------------------------
# Compare the groups with the species, which the model has not seen.

found = pd.Series(model.predict(measured), name="group")
print(pd.crosstab(found, penguins["species"]))

# %%
# The certainty of each bird: nearly all belong to one group with a probability above 0.9.

hs.plot_certainty(model, measured)

# %%
# A criterion compares models, it does not prove that groups exist. If all groups must have one shape, BIC prefers four:
# three species, one of them cut in two.

tied = hs.GaussianMixture(range(3, 6), covariance_type="tied", n_init=4, random_state=0).fit(measured)
print(pd.crosstab(pd.Series(tied.predict(measured), name="group"), penguins["species"]))

# %%
# Imputation
# ----------
# The model predicts a missing cell from the rest of its row. To check this, hide a tenth of the known cells at random,
# fit again to the rest, and compare the predictions with the true values, and with the mean of the column.

print(hs.hidden_cells(model, measured))

# %%
# A report
# --------
# ``hs.report(model, measured, "penguins.html")`` writes a page with the result, the groups, how far to trust them, the
# missing values, unusual rows, and how to reproduce the fit.

plt.show()
