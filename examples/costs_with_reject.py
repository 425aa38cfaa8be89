"""
Decisions with costs and a reject option
========================================

Accuracy counts all mistakes equally. But a missed tumour is worse than a false alarm, and an uncertain case may be
worth a second look. Given the cost of each, `decide` takes the decision with the lowest expected cost.
"""

# %%
# The tumours
# -----------
# 569 breast tumours (Wolberg, Street and Mangasarian 1995, as scikit-learn ships them), described by ten means of
# measurements of cell nuclei. Half of them train the classifier; a tenth of the cells is missing, at random.

import matplotlib.pyplot as plt
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
    """Return the actual cost of decisions; -1 is a second look."""
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
# Which case needs a second look?
# -------------------------------
# The first rejected case, explained by the model.

doubtful = int(np.flatnonzero(ways["cheapest, or look again"] < 0)[0])
print()
print(model.why(test.iloc[doubtful : doubtful + 1]))

# %%
# How much may a second look cost?
# --------------------------------
# The cheaper a second look is, the more cases get one, and the lower the cost of all decisions together.

prices = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2])
decided = [hs.decide(proba, cost, reject=price) for price in prices]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.plot(prices, [spent(decision, price) for decision, price in zip(decided, prices, strict=True)], marker="o")
left.axhline(spent(ways["cheapest class"]), color="0.5", linestyle="--", label="without second looks")
left.set(xlabel="cost of a second look", ylabel="cost of all decisions", ylim=(0, None))
left.legend()
right.plot(prices, [np.mean(decision < 0) for decision in decided], marker="o", color="#e8590c")
right.set(xlabel="cost of a second look", ylabel="share of cases with a second look", ylim=(0, None))

plt.show()
