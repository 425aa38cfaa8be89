"""
A few labels go a long way
==========================

Somebody looked at a handful of the penguins and wrote down their species. Those labels steer the classes: the rows
with a label are counted in their class, all other rows are completed as before.
"""

# %%
# Without labels
# --------------
# Three species, so three classes, from four measurements and the island. (The sex is left out as well: with only three
# classes to spend, it would pull them towards males and females.) The model finds the three classes that explain the
# table best; nobody told it that we mean species.

from collections import Counter

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
# ``labels`` has one entry for each row: a label, or ``None`` where nothing is known. The classes take the names of the
# labels. Every class has labelled rows to begin at, so one start is enough.


def with_labels(n_each, seed):
    """Fit with the species of `n_each` birds of each kind; return the share of the other birds that came out right."""
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
for n_each in (1, 2, 5, 10, 20):
    shares = [with_labels(n_each, seed) for seed in range(5)]
    print(f"{n_each:3} of each kind  ", "  ".join(f"{share:.0%}" for share in shares))

# %%
# Labels that say less
# --------------------
# A label may also be a set of candidates. An observer saw ten birds from far away and can only say "Gentoo" or "not
# Gentoo". That is enough to make the Gentoos one class again. (Nothing here tells an Adelie from a Chinstrap, so these
# two names may come out swapped.) Labels can also be an (N, K) array of evidence, which multiplies the model's own
# probabilities.

rng = np.random.default_rng(0)
labels = [None] * len(species)
for n in rng.choice(len(species), 10, replace=False):
    labels[n] = "Gentoo" if species[n] == "Gentoo" else {"Adelie", "Chinstrap"}

model = hs.LatentClass(3, random_state=0).fit(X, labels=labels)
found = model.predict(X)
print()
for k, share in enumerate(model.weights_):
    print(f"{model.class_names_[k]} ({share:.0%}):", dict(Counter(species[found == k].tolist()).most_common()))
