"""
Hidden groups in a table with missing values
============================================

344 penguins were measured at Palmer Station, Antarctica. Without the column of the species: how many groups of birds
are there, how do they differ, and which bird belongs to which group?
"""

# %%
# The table
# ---------
# The species is left out: it is what we look for. The year of the measurement is left out too. Everything else stays:
# four measurements, the island, and the sex, which is missing for eleven birds. No row is dropped, and no missing value
# is filled in before the fit.

from collections import Counter

import narwhals as nw

import halfseen as hs


def missing(value):
    return value is None or value != value


penguins = nw.from_native(hs.load_penguins())  # pandas, Polars or Arrow: whichever is installed
table = penguins.drop("species", "year")
columns = table.to_dict(as_series=False)
n_holes = sum(missing(value) for column in columns.values() for value in column)

print(f"{len(table)} penguins, {len(columns)} columns, {n_holes} missing values; the species is left out")

# %%
# How many classes?
# -----------------
# Give a range, and every number in it is tried. Each fit makes 16 random starts, drops the worse ones early and runs
# the last few to convergence. BIC weighs the log-likelihood against the number of parameters; the lowest is kept.

X = table.to_native()
model = hs.LatentClass(range(1, 9), random_state=0).fit(X)
tried = nw.from_native(model.selection_).select("n_components", "loglik", "bic", "entropy", "chosen")

print("\nclasses  log-likelihood      BIC  entropy")
for n_classes, loglik, bic, entropy, chosen in tried.iter_rows():
    print(f"{n_classes:7} {loglik:15.1f} {bic:8.1f} {entropy:8.2f}{'  <- lowest BIC' if chosen else ''}")

agree = f"{model.restarts_['n_reached_best']} of {model.restarts_['n_init']} starts"
print(f"\n{model.n_components_} classes, reached by {agree}; the fit ended by {model.stop_reason_!r}.")

# %%
# What are the classes like?
# --------------------------
# For each class: its share, and the columns in which it differs most from the whole table.

print()
print(model.describe(top=3).replace("; ", "\n" + " " * 15))

# %%
# Comparison with the species
# ---------------------------
# Compare the classes with the species, which the model has not seen.

found = model.predict(X).tolist()
species = penguins["species"].to_list()
sexes = ["unknown" if missing(sex) else sex for sex in penguins["sex"].to_list()]
of_species = Counter(zip(found, species, strict=True))
of_sex = Counter(zip(found, sexes, strict=True))
species_names, sex_names = sorted(set(species)), sorted(set(sexes))

print("\n           " + "".join(f"{name:>11}" for name in [*species_names, *sex_names]))
for k, class_name in enumerate(model.class_names_):
    counts = [of_species[k, name] for name in species_names] + [of_sex[k, name] for name in sex_names]
    print(f"{class_name:11}" + "".join(f"{count or '.':>11}" for count in counts))

majority = {k: max(species_names, key=lambda name: of_species[k, name]) for k in range(model.n_components_)}
n_right = sum(majority[k] == name for k, name in zip(found, species, strict=True))
print(f"\n{n_right} of {len(species)} birds are in a class of their own species.")

# %%
# Imputation
# ----------
# The model predicts a missing cell from the rest of its row. To check this, hide a tenth of the known cells at random,
# fit again to the rest, and compare the predictions with the true values, and with the mean of the column or its most
# frequent value.

print()
print(hs.hidden_cells(model, X))

# %%
# A report
# --------
# ``hs.report(model, X, "penguins.html")`` writes a page with the result, the classes, how far to trust them, the
# missing values, unusual rows, and how to reproduce the fit.
