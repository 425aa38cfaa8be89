"""
When some parameters are known
==============================

Three quick tests for a disease and no gold standard: it is not known who is ill. But the error rates of one of the
tests are known from an earlier study. The fit can use this: parameters can be given as a start, held fixed, or tied to
be equal in all classes.
"""

# %%
# The data
# --------
# 1500 people, generated so that the truth is known: about 12% are ill. The hospital is independent of the illness. One
# result in ten is missing.

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import halfseen as hs
from halfseen.errors import ParameterError

POSITIVE = {"test_a": (0.05, 0.90), "test_b": (0.15, 0.80), "test_c": (0.30, 0.95)}  # among healthy, among ill

rng = np.random.default_rng(1)
n_people = 1500
ill = rng.random(n_people) < 0.12
columns = {
    test: np.where(rng.random(n_people) < np.where(ill, if_ill, if_healthy), "pos", "neg")
    for test, (if_healthy, if_ill) in POSITIVE.items()
}
columns["hospital"] = rng.choice(["north", "south", "west"], n_people)
table = pa.table({name: pa.array(cells, mask=rng.random(n_people) < 0.1) for name, cells in columns.items()})
for row in table.slice(0, 3).to_pylist():
    print(row)

# %%
# Three fits
# ----------
# ``start`` gives parameters to begin with, one number per class; ``fixed`` names those that stay exactly there;
# ``tied`` names columns with the same parameters in all classes. The start also determines which class is which, so
# their order is kept: class 0 is healthy, class 1 is ill.

known = {"test_a": {"neg": [0.95, 0.10], "pos": [0.05, 0.90]}}
fits = {
    "nothing known": hs.LatentClass(2, random_state=0).fit(table),
    "test_a fixed": hs.LatentClass(2, start=known, fixed=["test_a"], random_state=0).fit(table),
    "and hospital tied": hs.LatentClass(2, start=known, fixed=["test_a"], tied=["hospital"], random_state=0).fit(table),
}


def rates(model):
    """P(positive | healthy) and P(positive | ill) of each test."""
    return {test: tuple(model.params_[test]["pos"]) for test in POSITIVE}


def line(name, n_free, share, table):
    pairs = "".join(f"{healthy:10.2f} {ill:5.2f}" for healthy, ill in table.values())
    print(f"{name:19}{n_free:>10}{share:8.1%}{pairs}")


print(f"\n{'':19}parameters     ill" + "".join(f"{test:>16}" for test in POSITIVE))
print(f"{'':37}" + "    healthy  ill" * 3)
for name, model in fits.items():
    line(name, model.n_parameters_, model.weights_[1], rates(model))
line("the truth", "", ill.mean(), POSITIVE)

# %%
# Fixed parameters are kept to the last bit, and a constraint that cannot be met is refused.

print("\ntest_a is where it was:", rates(fits["and hospital tied"])["test_a"] == POSITIVE["test_a"])
try:
    hs.LatentClass(2, fixed=["test_a"]).fit(table)
except ParameterError as error:
    print(error)

# %%
# The estimates of the three fits beside the truth: the share of ill people, and how often a test is positive among
# them.

labels = ["ill", *(f"{test}: positive if ill" for test in POSITIVE)]
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
at = np.arange(len(labels))
for i, (name, model) in enumerate(fits.items()):
    values = [model.weights_[1], *(positive for _, positive in rates(model).values())]
    ax.bar(at + 0.25 * (i - 1), values, width=0.25, label=name)
truth = [ill.mean(), *(if_ill for _, if_ill in POSITIVE.values())]
ax.plot(at, truth, "k_", markersize=60, label="the truth")
ax.set_xticks(at, labels)
ax.legend(fontsize=8)

plt.show()
