"""
Customer profiles
=================

A shop has incomplete records of its customers: for some the age is missing, for others the channel. How many groups of
customers are there, and who should receive the next letter?
"""

# %%
# The table
# ---------
# The data are generated: 1,200 rows in three groups, with a fifth of the ages and a tenth of the channels missing. The
# model does not see the groups; here they are known, so the result can be checked.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import halfseen as hs

names = ["bargain hunter", "family", "enthusiast"]
truth = hs.LatentClass.from_params(
    weights=[0.5, 0.3, 0.2],
    columns={
        "age": {"mean": [31, 42, 36], "sd": [9, 6, 12]},
        "orders": {"rate": [2, 9, 14]},
        "basket": {"mean": [20, 80, 120], "sd": [10, 25, 40]},
        "channel": {"app": [0.7, 0.2, 0.3], "web": [0.2, 0.3, 0.6], "store": [0.1, 0.5, 0.1]},
        "newsletter": {"yes": [0.1, 0.5, 0.9], "no": [0.9, 0.5, 0.1]},
    },
)
rows, kind = truth.sample(1200, random_state=7)
table = pd.DataFrame(rows, columns=list(truth.columns_)).convert_dtypes()
rng = np.random.default_rng(7)
table["age"] = table["age"].mask(rng.random(1200) < 0.2)
table["channel"] = table["channel"].mask(rng.random(1200) < 0.1)
print(f"{len(table)} customers, {int(table.isna().sum().sum())} missing values")

# %%
# Profiles
# --------
# Orders are counts and are declared as such; the kinds of the other columns are found from their values. The number of
# profiles is chosen by BIC.

model = hs.LatentClass("auto", columns={"orders": "poisson"}, random_state=0).fit(table)
print(model.describe())

# %%
# The names appear in all tables and texts.

model = model.rename(names)
print(f"{np.mean(model.predict(table) == kind):.0%} of the customers are in the profile they were drawn from")
hs.plot_profiles(model)

# %%
# Who should get a letter?
# ------------------------
# A letter costs 1 and brings 6 from an enthusiast, 2 from a family, nothing from a bargain hunter. A gain is
# a negative cost: rows are decisions (do not write, write), columns are profiles.

cost = np.array([[0, 0, 0], [1, 1 - 2, 1 - 6]])
decision, risk = hs.decide(model.predict_proba(table), cost, return_risk=True)
print(f"write to {decision.sum()} of {len(table)} customers; expected gain {-risk.sum():,.0f}")
print(f"writing to everybody would bring {-(model.predict_proba(table) @ cost[1]).sum():,.0f}")

# %%
# Why is the first customer in this profile?

print()
print(model.why(table[:1]))

plt.show()
