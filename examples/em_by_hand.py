"""
EM by hand
==========

Two rows, two yes/no columns, and a hidden class. Small enough to follow every number by hand, and computed by the same
engine that fits large tables.
"""

# %%
# The model
# ---------
# The rows are (0, 1) and (1, 1). The class is 0 or 1, class 1 with probability 0.7. Given the class the columns are
# independent: x1 is 1 with probability 0.3 in class 0 and 0.9 in class 1; x2 with 0.2 and 0.6.
#
# A structure says what is hidden: here ``Independent``, one class per row. Its two parts are leaves, blocks of
# parameters: ``Cells``, the table of class probabilities, and ``Categorical``, the columns given the class. Each row
# of a leaf's table lists its columns one after the other: x1=0, x1=1, x2=0, x2=1.

from itertools import islice, product

import matplotlib.pyplot as plt
import numpy as np

from halfseen.data import Chunk
from halfseen.engine.loop.em import steps
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.leaves import Categorical, Cells
from halfseen.structures.independent import Independent

model = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": Categorical(2, [2, 2])})
start = {
    "mix": np.array([[0.3, 0.7]]),
    "emit": np.array([[0.7, 0.3, 0.8, 0.2], [0.1, 0.9, 0.4, 0.6]]),
}
rows = np.array([[0, 1], [1, 1]])
data = Reduced([Chunk(0, rows, weight=np.ones(2))])

# %%
# The E-step
# ----------
# There are four possible assignments of classes to the two rows. The joint table lists them all: the joint probability
# of the rows and the classes, and the probability of the classes given the rows.


def joint(y, x):
    """P(class y and row x)."""
    return start["mix"][0, y] * start["emit"][y, x[0]] * start["emit"][y, 2 + x[1]]


table = {(y1, y2): joint(y1, rows[0]) * joint(y2, rows[1]) for y1, y2 in product((1, 0), repeat=2)}
total = sum(table.values())
print("y1 y2     joint  given the rows")
for (y1, y2), value in table.items():
    print(f" {y1}  {y2}  {value:.6f}          {value / total:.4f}")

# %%
# That table has C**N lines and is only for illustration. The rows are independent, so each row can be treated on its
# own: the E-step needs only the responsibilities, here the probability of class 1 for each row.

usage = model.infer(model.prepare(start), rows, outer=np.ones((2, 1))).usage["emit"]
for n in (0, 1):
    summed = sum(value for y, value in table.items() if y[n] == 1) / total
    print(f"P(y{n + 1} = 1) = {usage[n, 1]:.6f}   from the joint table: {summed:.6f}")

# %%
# Iterations
# ----------
# The E-step computes expected counts: N[c] is the expected number of rows in class c, N[c, d, v] of those with value v
# in column d. The M-step divides the counts, which gives the parameters of the next iteration. EM has converged at the
# second iteration: the parameters after it are the same.

for number, step in enumerate(islice(steps(model, data, start), 3)):
    counts = model.view(step.expected.stats)
    following = model.improved(step)
    print(f"\nstep {number}: log-likelihood {step.loglik:.7f}")
    print(f"  counts      N[1] = {counts['mix'][0, 1]:.6f}  N[0] = {counts['mix'][0, 0]:.6f}", end="  ")
    print(f"N[1,1,1] = {counts['emit'][1, 1]:.6f}  N[1,2,1] = {counts['emit'][1, 3]:.6f}")
    print(f"  parameters  P(y=1) = {following['mix'][0, 1]:.6f}", end="  ")
    print(f"P(x1=1|1) = {following['emit'][1, 1]:.6f}  P(x1=1|0) = {following['emit'][0, 1]:.6f}", end="  ")
    print(f"P(x2=1|1) = {following['emit'][1, 3]:.6f}  P(x2=1|0) = {following['emit'][0, 3]:.6f}")

# %%
# The log-likelihood over two of the parameters, P(x1 = 1) in each class, with the others as after the first step. The
# path of EM from the start is drawn on it.

path = [start["emit"][:, 1], *(model.improved(step)["emit"][:, 1] for step in islice(steps(model, data, start), 3))]
after = model.improved(next(iter(steps(model, data, start))))
shares = np.linspace(0.01, 0.99, 60)


def loglik(x1_in_0, x1_in_1):
    """Log-likelihood of the two rows with these probabilities of x1 = 1."""
    emit = after["emit"].copy()
    emit[:, 1], emit[:, 0] = (x1_in_0, x1_in_1), (1 - x1_in_0, 1 - x1_in_1)
    return next(iter(steps(model, data, {"mix": after["mix"], "emit": emit}))).loglik


surface = [[loglik(a, b) for a in shares[::3]] for b in shares[::3]]
figure, ax = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
drawn = ax.contourf(shares[::3], shares[::3], surface, levels=20, cmap="viridis")
ax.plot(*np.array(path).T, "o-", color="white", markeredgecolor="black")
ax.annotate("start", path[0], xytext=(6, 6), textcoords="offset points", color="white")
ax.set(xlabel="P(x1 = 1 | class 0)", ylabel="P(x1 = 1 | class 1)")
figure.colorbar(drawn, label="log-likelihood")

plt.show()
