"""
The states of a machine
=======================

A sensor on a pump sends temperature and vibration once a minute. Nobody wrote down when the pump ran, idled or
laboured. A hidden Markov model finds out, though a part of the readings is lost, and says what to expect next.
"""

# %%
# Readings with holes
# -------------------
# Pumps are private too, so this one is made up. Three days of readings, a sequence each; a tenth of the cells is
# missing, and on the second day the line was down for twenty minutes.

import numpy as np

import halfseen as hs

truth = hs.HMM.from_params(
    startprob=[0.7, 0.3, 0.0],
    transmat=[[0.97, 0.025, 0.005], [0.05, 0.95, 0.0], [0.06, 0.0, 0.94]],
    columns={
        "temperature": {"mean": [60, 35, 80], "sd": [4, 3, 5]},
        "vibration": {"mean": [2.0, 0.3, 4.0], "sd": [0.5, 0.2, 0.8]},
    },
)
lengths = [480, 480, 480]
X, states = truth.sample(lengths=lengths, random_state=2)
X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
X[600:620] = np.nan

# %%
# How many states?
# ----------------
# Try one to five, and keep the best by BIC.

model = hs.HMM(range(1, 6), random_state=0).fit(X, lengths)
print(model.selection_[["n_components", "loglik", "bic", "chosen"]].round(1).to_string(index=False))
model = model.rename([f"mode {letter}" for letter in "ABCDE"[: model.n_components_]])
print(model.describe())

# %%
# Was it right?
# -------------
# The states that the readings came from were never shown to the model. Matched to them one by one, its path agrees:

found = model.predict(X, lengths)
pairs = np.zeros((model.n_components_, 3))
np.add.at(pairs, (found, states), 1)
print("minutes that agree:", f"{pairs.max(axis=1).sum() / len(states):.1%}")
print("while the line was down:", found[600:620], "in truth", states[600:620])

# %%
# Now, and next
# -------------
# An alarm must not look into the future: `filter` uses the readings so far. `forecast` looks ahead from the last one.

now = model.filter(X, lengths)[-1]
ahead = model.forecast(X, steps=30, lengths=lengths)
print("now:", dict(zip(model.state_names_, now.round(3).tolist(), strict=True)))
print("temperature in 1, 10 and 30 minutes:", ahead.observations["x0"]["mean"][-1, [0, 9, 29]].round(1))

# %%
# `plot_timeline` draws a day: colours are the probabilities of the states, the line is the temperature.

try:
    hs.plot_timeline(model, X, lengths, sequence=1)
except ImportError:
    print("no picture without matplotlib")
