"""
The states of a machine
=======================

A sensor on a pump sends temperature and vibration once a minute. When the pump ran, idled or laboured was not recorded.
A hidden Markov model finds these states, although some readings are missing, and forecasts the next ones.
"""

# %%
# Readings with missing values
# ----------------------------
# The data are generated. Three days of readings, a sequence each; a tenth of the cells is missing, and on the second
# day there are no readings for twenty minutes.

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
# Comparison with the true states
# -------------------------------
# The model has not seen the true states. After matching states one by one, its path agrees with them:

found = model.predict(X, lengths)
pairs = np.zeros((model.n_components_, 3))
np.add.at(pairs, (found, states), 1)
print("minutes that agree:", f"{pairs.max(axis=1).sum() / len(states):.1%}")
print("while the line was down:", found[600:620], "in truth", states[600:620])

# %%
# Current state and forecast
# --------------------------
# An alarm cannot use future readings: `filter` uses only the readings so far. `forecast` predicts from the last one.

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
