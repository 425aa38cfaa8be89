"""
Labels for a few rows
=====================

The species of a few penguins is known. These labels guide the classes: rows with a label count for their class, and all
other rows have responsibilities as before.
"""

# %%
# Without labels
# --------------
# Three species, so three classes, from four measurements and the island. (The sex is left out as well: with only three
# classes, it would pull them towards males and females.) The model finds the three classes that explain the table best;
# they need not be the species.

from collections import Counter

import matplotlib.pyplot as plt
import narwhals as nw
import numpy as np

import halfseen as hs

penguins = nw.from_native(hs.load_penguins())
species = np.array(penguins["species"].to_list())
names = sorted(set(species.tolist()))
X = penguins.drop("species", "sex", "year").to_native()

model = hs.LatentClass(3, random_state=0).fit(X)
found = model.predict(X)
for k, share in enumerate(model.weights_):
    print(f"{model.class_names_[k]} ({share:.0%}):", dict(Counter(species[found == k].tolist()).most_common()))

# %%
# With labels
# -----------
# ``labels`` has one entry for each row: a label, or ``None`` where it is unknown. The classes take the names of the
# labels. Every class starts from its labelled rows, so one start is enough.


def with_labels(n_each, seed):
    """Fit with the species of `n_each` birds of each kind; return the accuracy on the other birds."""
    rng = np.random.default_rng(seed)
    shown = np.concatenate([rng.choice(np.flatnonzero(species == name), n_each, replace=False) for name in names])
    labels = [None] * len(species)
    for n in shown:
        labels[n] = species[n]
    model = hs.LatentClass(3, n_init=1, random_state=0).fit(X, labels=labels)
    named = np.array(model.class_names_)[model.predict(X)]
    others = np.setdiff1d(np.arange(len(species)), shown)
    return np.mean(named[others] == species[others])


print("\nlabelled birds    others of the right species, for five choices of the labelled birds")
numbers = (1, 2, 5, 10, 20)
accuracy = {n_each: [with_labels(n_each, seed) for seed in range(5)] for n_each in numbers}
for n_each, shares in accuracy.items():
    print(f"{n_each:3} of each kind  ", "  ".join(f"{share:.0%}" for share in shares))

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(numbers, [np.mean(shares) for shares in accuracy.values()], marker="o", color="#0b7285", label="mean")
for n_each, shares in accuracy.items():
    ax.plot([n_each] * 5, shares, ".", color="0.5")
ax.set(xlabel="labelled birds of each species", ylabel="other birds classified correctly", ylim=(0, 1.02))
ax.set_xscale("log")
ax.set_xticks(numbers, numbers)

# %%
# Partial labels
# --------------
# A label may also be a set of candidates. Here ten birds are labelled only as "Gentoo" or "not Gentoo". That is enough
# to make the Gentoos one class again. (No label distinguishes Adelie from Chinstrap, so these two names may be
# swapped.) Labels can also be an (N, K) array of evidence, which multiplies the model's own probabilities.

rng = np.random.default_rng(0)
labels = [None] * len(species)
for n in rng.choice(len(species), 10, replace=False):
    labels[n] = "Gentoo" if species[n] == "Gentoo" else {"Adelie", "Chinstrap"}

model = hs.LatentClass(3, random_state=0).fit(X, labels=labels)
found = model.predict(X)
print()
for k, share in enumerate(model.weights_):
    print(f"{model.class_names_[k]} ({share:.0%}):", dict(Counter(species[found == k].tolist()).most_common()))

plt.show()
