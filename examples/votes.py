"""
Votes: latent classes behind yes and no
=======================================

In 1984 the 435 members of the US House of Representatives voted on 16 key bills. Members were absent or did not vote in
392 of 6,960 cases. Which groups voted alike, and are they the parties?
"""

# %%
# How many groups?
# ----------------
# The columns are categories with missing values. The party is left out: it is compared with the result at the end.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import halfseen as hs

votes = hs.load_votes()
bills = votes.drop(columns="party")
print(f"{len(bills)} members, {bills.shape[1]} bills, {int(bills.isna().sum().sum())} votes missing")

model = hs.LatentClass(range(1, 7), random_state=0).fit(bills)
columns = ["n_components", "loglik", "bic", "icl", "entropy", "chosen"]
print(model.selection_[columns].round(2).to_string(index=False))

hs.plot_selection(model)

# %%
# The groups and the parties
# --------------------------
# Five groups by BIC: Republicans in two classes, Democrats in three. ICL, which also charges for overlap, would keep
# four. For each class: its share and the three votes in which it differs most from the whole House.

print(model.describe(top=3).replace("; ", "\n" + " " * 15))
found = pd.Series(model.predict(bills), name="class")
print()
print(pd.crosstab(found, votes["party"]))

# %%
# The profile of every class: the share that voted yes, less that of the whole House. Profiles are what to name the
# classes by.

# sphinx_gallery_thumbnail_number = 2
hs.plot_profiles(model)

# %%
# Members between two classes
# ---------------------------
# ``predict_proba`` says how certain each class is. ``why`` shows the votes that speak for and against it, here for the
# member with at least ten votes whose class is least certain.

proba = model.predict_proba(bills)
least = int(np.argmin(np.where(bills.count(axis=1) >= 10, proba.max(axis=1), 1)))
print(f"member {least}, {votes['party'][least]}: {proba[least].round(2)}")
print(model.why(bills[least : least + 1]))

# %%
# How sure are the shares?
# ------------------------
# Standard errors of the fitted model, with 95 % intervals. ``prior=None`` would give those of maximum likelihood, as
# papers report them.

errors = hs.standard_errors(model, bills).to_frame()
print(errors.head(5)[["class", "estimate", "se", "low", "high"]].round(3).to_string(index=False))

plt.show()
