"""
Medical records with missing values
===================================

Not every patient gets every test. Filling in the column's mean gives every patient the same blood pressure and weakens
all relations. A latent class model imputes each missing value from the rest of the record, with its uncertainty.
"""

# %%
# The records
# -----------
# 442 patients of a diabetes study (Efron, Hastie, Johnstone and Tibshirani 2004), as scikit-learn ships them: age, sex,
# body mass index, blood pressure and six blood serum measurements. A fifth of the measurements is hidden at random, so
# that the truth is known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import halfseen as hs

records = load_diabetes(as_frame=True, scaled=False).data
records["sex"] = records["sex"].map({1.0: "one", 2.0: "other"})  # the study does not say which is which
measured = [name for name in records if name not in ("age", "sex")]
hide = np.random.default_rng(0).random((len(records), len(measured))) < 0.2
holed = records.copy()
holed[measured] = records[measured].mask(hide)
print(f"{len(records)} patients, {hide.sum()} of {hide.size} measurements hidden")

# %%
# Fit and impute
# --------------
# Columns are independent within a class, so the classes represent the relations between columns; BIC chooses their
# number. Observed cells are not changed.

model = hs.LatentClass("auto", random_state=0, n_jobs=-1).fit(holed)
filled = model.impute(holed)
print(f"{model.n_components_} classes by BIC")

print(f"\n{'':6}{'error by halfseen':>20}{'by the mean':>14}")
for j, name in enumerate(measured):
    truth = records[name][hide[:, j]]
    ours = np.abs(filled[name][hide[:, j]] - truth).mean()
    mean = np.abs(holed[name].mean() - truth).mean()
    print(f"{name:6}{ours:20.2f}{mean:14.2f}")

# %%
# How uncertain is an imputed value?
# ----------------------------------
# A single imputed value hides its uncertainty. Random draws keep it: complete the table a hundred times, and every
# missing value has a range. The true value should lie in nine of ten such ranges.

draws = [model.impute(holed, draw=True, random_state=i) for i in range(100)]
print(f"\n{'':6}{'truth inside the 90% range':>30}{'width':>10}")
for j, name in enumerate(measured):
    low, high = np.quantile([table[name][hide[:, j]] for table in draws], [0.05, 0.95], axis=0)
    inside = (low <= records[name][hide[:, j]]) & (records[name][hide[:, j]] <= high)
    print(f"{name:6}{inside.mean():30.0%}{(high - low).mean():10.1f}")

# %%
# One column as a picture: the true values of what was hidden, and the ranges of the draws.

j = measured.index("s5")
truth = records["s5"][hide[:, j]].to_numpy()
low, middle, high = np.quantile([table["s5"][hide[:, j]] for table in draws], [0.05, 0.5, 0.95], axis=0)
order = np.argsort(middle)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.vlines(np.arange(len(order)), low[order], high[order], color="0.75", label="90% range of the draws")
inside = ((low <= truth) & (truth <= high))[order]
for at, colour, label in ((inside, "#0b7285", "truth inside"), (~inside, "#e8590c", "truth outside")):
    ax.plot(np.flatnonzero(at), truth[order][at], ".", color=colour, label=label)
ax.set(xlabel="patients whose value was hidden, by the median of the draws", ylabel="s5 (blood serum)")
ax.legend()

plt.show()
