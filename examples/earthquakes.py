"""
Earthquakes: quiet and active decades
=====================================

The number of major earthquakes in the world (magnitude 7 and above), year by year from 1900 to 2006. A Poisson
distribution would have a variance as large as its mean; here it is more than twice as large, and neighbouring years
resemble each other. A hidden Markov model explains both by levels of activity that last for some years.
"""

# %%
# The counts
# ----------
# To see how the model treats gaps, the years 1975 to 1979 are deleted: they are rows without a value.

import matplotlib.pyplot as plt
import numpy as np

import halfseen as hs

quakes = hs.load_earthquakes()
counts = quakes["count"].astype(float)
print(f"{len(quakes)} years, mean {counts.mean():.1f}, variance {counts.var():.1f}")
gap = quakes["year"].between(1975, 1979)
known = quakes.assign(count=counts.mask(gap))

# %%
# How many levels?
# ----------------
# One to four states with Poisson counts. BIC prefers two by a little, AIC three, as in the textbook of Zucchini and
# MacDonald (2009); three levels are shown here. Time is the year, so that results are in its order.

model = hs.HMM(range(1, 5), emission="poisson", criterion="aic", random_state=0).fit(known, time="year")
print(model.selection_[["n_components", "loglik", "bic", "aic", "chosen"]].round(1).to_string(index=False))
print()
print(model.describe())

# %%
# When was which level?
# ---------------------
# ``predict_proba`` gives the probability of each state in each year, given the whole series, also in the gap;
# ``predict`` is the most probable path of states. ``plot_timeline`` draws both.

hs.plot_timeline(model, known, time="year")

# %%
# In the deleted years the model knows only what came before and after.

filled = model.impute(known)
for year, guess, truth in zip(quakes["year"][gap], filled["count"][gap], counts[gap], strict=True):
    print(f"{year}: expected {guess:.1f}, counted {truth:.0f}")

# %%
# The next years
# --------------
# A forecast mixes the levels by their probabilities. After some years it is the long-run mean.

ahead = model.forecast(known, steps=10)
means = ahead.observations["count"]["mean"][0]
print("expected counts 2007 to 2016:", means.round(1))
rates = model.params_["count"]["rate"]
print("levels:", np.round(rates, 1), "in the long run:", model.stationary_.round(2))

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
path = model.predict(known)
ax.bar(quakes["year"], counts, color="0.8", label="earthquakes")
ax.step(quakes["year"], np.asarray(rates)[path], where="mid", color="#0b7285", linewidth=2, label="level by the model")
ax.plot(range(2007, 2017), means, color="#e8590c", linewidth=2, label="forecast")
ax.axvspan(1974.5, 1979.5, color="0.5", alpha=0.25, label="not given to the model")
ax.set(xlabel="year", ylabel="earthquakes")
ax.legend(ncols=2, fontsize=8)

plt.show()
