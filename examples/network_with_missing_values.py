"""
A Bayesian network from a table with missing values
===================================================

X <- Y -> Z with Y hidden, with soft, hard and sampled assignment; then a small clinic network with a tenth of the cells
missing and one hidden variable.
"""

import matplotlib.pyplot as plt
import numpy as np

import halfseen as hs

# %%
# Two symptoms X and Z of an illness Y that is not observed. All three fits have the same start.

truth = hs.BayesNet.from_params(
    {"Y": [0.7, 0.3], "X": [[0.8, 0.15, 0.05], [0.1, 0.3, 0.6]], "Z": [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]},
    "X <- Y -> Z",
)
rows, _ = truth.sample(1000, random_state=0)
seen = rows[["X", "Z"]]
start = {"Y": [0.5, 0.5], "X": [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], "Z": [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]}
for assign in ("soft", "hard", "sample"):
    net = hs.BayesNet(
        "X <- Y -> Z", hidden={"Y": 2}, start=start, assign=assign, n_init=1, max_iter=200, tol=1e-4, random_state=0
    ).fit(seen)
    print(f"{assign:6}  log-likelihood {net.loglik_:9.2f}  P(Y) {net.params_['Y'].round(3)}")
    print(f"        P(X | Y) {net.params_['X'].round(2).tolist()}")

# %%
# Hard assignment exaggerates the contrast between the states: uncertain rows count as if they were certain.

# %%
# A clinic: a tenth of the cells is missing, and bronchitis is not observed.

clinic = hs.BayesNet.from_params(
    {
        "smoke": [0.5, 0.5],
        "lung": [[0.99, 0.01], [0.9, 0.1]],
        "bronc": [[0.7, 0.3], [0.4, 0.6]],
        "xray": [[0.95, 0.05], [0.02, 0.98]],
        "dysp": [[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.1, 0.9]]],
    },
    "smoke -> lung -> xray; smoke -> bronc; bronc -> dysp; lung -> dysp",
    states={name: ["no", "yes"] for name in ("smoke", "lung", "bronc", "xray", "dysp")},
)
patients, _ = clinic.sample(3000, random_state=1)
patients = patients.mask(np.random.default_rng(1).random(patients.shape) < 0.1)
# The data hardly identify a hidden variable with so few neighbours: a coarse tol spares a thousand iterations.
net = hs.BayesNet(clinic.edges, hidden={"bronc": 2}, tol=1e-2, random_state=0).fit(patients.drop(columns="bronc"))
print(net.describe())
print(net.query("lung", {"smoke": "yes", "xray": "yes"}))

# %%
# Independence according to the graph: shortness of breath (dysp) depends on smoking, but not given bronchitis and lung
# disease.

print(net.d_separated("smoke", "dysp"), net.d_separated("smoke", "dysp", ["bronc", "lung"]))

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
hs.plot_network(net, ax=ax, marginals=True)

plt.show()
