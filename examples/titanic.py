"""
Titanic: a Bayesian network with a missing column
=================================================

2,201 people were on board of the Titanic. For each the class, the sex, whether adult or child, and whether they
survived are known (Dawson 1995). A network says how these depend on each other, and answers questions, also where
values are missing.
"""

# %%
# The table
# ---------
# The counts of every combination; rows are merged, and ``sample_weight`` says how many people each stands for.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import halfseen as hs

lost = {  # class: men, women, boys, girls who died
    "1st": (118, 4, 0, 0),
    "2nd": (154, 13, 0, 0),
    "3rd": (387, 89, 35, 17),
    "crew": (670, 3, 0, 0),
}
saved = {"1st": (57, 140, 5, 1), "2nd": (14, 80, 11, 13), "3rd": (75, 76, 13, 14), "crew": (192, 20, 0, 0)}
groups = [("male", "adult"), ("female", "adult"), ("male", "child"), ("female", "child")]
people = pd.DataFrame(
    [
        (travel, sex, age, survived, n)
        for survived, table in (("no", lost), ("yes", saved))
        for travel, counts in table.items()
        for (sex, age), n in zip(groups, counts, strict=True)
        if n
    ],
    columns=["travel", "sex", "age", "survived", "n"],
)
rows, n = people.drop(columns="n"), people["n"]
print(f"{n.sum()} people, {n[people['survived'] == 'yes'].sum()} survived")

# %%
# The network
# -----------
# Who was in which class depends on sex and age here (the crew had no children and few women); whether somebody survived
# depends on all three.

net = hs.BayesNet(
    "age -> travel; sex -> travel; age -> survived; sex -> survived; travel -> survived", prior=None, random_state=0
)
net.fit(rows, sample_weight=n)
print(net.describe())

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
hs.plot_network(net, ax=ax, marginals=True)

# %%
# Questions
# ---------
# ``query`` gives the probabilities of a variable given what is known about others, in any direction.

for given in (
    {},
    {"sex": "female"},
    {"travel": "3rd"},
    {"travel": "3rd", "sex": "female"},
    {"travel": "1st", "sex": "female"},
):
    said = ", ".join(given.values()) or "everybody"
    print(f"{said:14} survived with probability {net.query('survived', given)['yes']:.2f}")
print("\nWho was it, if somebody survived?")
print(net.query("travel", {"survived": "yes"}))

# %%
# Half of a column is missing
# ---------------------------
# Now the sex of every second person is unknown. The network learns from the incomplete rows by EM, and gives almost the
# same answers. Dropping the incomplete rows would lose half of the data.

everyone = rows.loc[rows.index.repeat(n)].reset_index(drop=True)
hidden = everyone.copy()
hidden["sex"] = hidden["sex"].mask(np.random.default_rng(0).random(len(hidden)) < 0.5)
again = hs.BayesNet(net.edges, prior=None, random_state=0).fit(hidden)

labels, full, partial = [], [], []
for travel in ("1st", "2nd", "3rd", "crew"):
    for sex in ("female", "male"):
        labels.append(f"{sex}, {travel}")
        full.append(net.query("survived", {"travel": travel, "sex": sex})["yes"])
        partial.append(again.query("survived", {"travel": travel, "sex": sex})["yes"])
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
at = np.arange(len(labels))
ax.bar(at - 0.2, full, width=0.4, label="all known")
ax.bar(at + 0.2, partial, width=0.4, label="half of the sexes missing")
ax.set_xticks(at, labels, rotation=30, ha="right")
ax.set(ylabel="probability of survival", ylim=(0, 1))
ax.legend()
print(f"largest difference: {np.abs(np.subtract(full, partial)).max():.3f}")

# %%
# The missing values can be filled in, by the most probable state of each person:

filled = again.impute(hidden)
missing = hidden["sex"].isna()
print(f"{(filled['sex'][missing] == everyone['sex'][missing]).mean():.0%} of {missing.sum()} are right")
print(f"the most frequent sex for all would be right for {(everyone['sex'][missing] == 'male').mean():.0%}")

plt.show()
