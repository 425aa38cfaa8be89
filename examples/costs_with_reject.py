"""
Costs, and the right not to decide
==================================

A classifier that counts mistakes treats all of them alike. A tumour sent home is worse than a false alarm, and a case
that the model is unsure of may be worth a second look. Say what each costs, and the cheapest decision follows.
"""

# %%
# The tumours
# -----------
# 569 breast tumours (Wolberg, Street and Mangasarian 1995, as scikit-learn ships them), described by ten means of
# measurements of cell nuclei. Half of them train the classifier; a tenth of the cells is hidden, as it happens.

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import halfseen as hs

data = load_breast_cancer(as_frame=True)
table = data.data[[name for name in data.data if name.startswith("mean")]]
table = table.mask(np.random.default_rng(0).random(table.shape) < 0.1)
truth = data.target.map({0: "malignant", 1: "benign"})
train, test, y_train, y_test = train_test_split(table, truth, test_size=0.5, random_state=0, stratify=truth)

model = hs.NaiveBayes().fit(train, y_train)
proba = model.predict_proba(test)
print(f"classes: {', '.join(model.classes_)};  accuracy {model.score(test, y_test):.1%}")

# %%
# What mistakes cost
# ------------------
# ``cost[i, j]`` is the cost of deciding class i when the truth is class j, in the order of ``classes_``. To call a
# malignant tumour benign costs 20, a false alarm 1, and a second look 0.3 whatever the truth.

cost = np.array([[0, 20], [1, 0]])
actual = np.searchsorted(model.classes_, y_test)


def spent(decision, reject=0.3):
    """Return what decisions cost in truth; -1 is a second look."""
    return np.where(decision < 0, reject, cost[decision, actual]).sum()


ways = {
    "most probable class": hs.decide(proba),
    "cheapest class": hs.decide(proba, cost),
    "cheapest, or look again": hs.decide(proba, cost, reject=0.3),
}
print(f"\n{'':26}{'cost':>8}{'missed':>8}{'alarms':>8}{'second looks':>14}")
for name, decision in ways.items():
    missed = np.sum((decision == 0) & (actual == 1))
    alarms = np.sum((decision == 1) & (actual == 0))
    print(f"{name:26}{spent(decision):8.1f}{missed:8}{alarms:8}{np.sum(decision < 0):14}")

# %%
# Which is worth a second look?
# -----------------------------
# The first one that was put back, in the model's own words.

doubtful = int(np.flatnonzero(ways["cheapest, or look again"] < 0)[0])
print()
print(model.why(test.iloc[doubtful : doubtful + 1]))
