"""Leaves: blocks of parameters with pure functions. A leaf turns usage into statistics and statistics into parameters.

Vocabulary: `params` (a value), `scores` (log-probabilities), `usage` (how often each part is used), `stats` (they add),
`prior` (pseudo-statistics), `limits` (what may not move).
"""

from halfseen.leaves.binomial import Binomial
from halfseen.leaves.categorical import Categorical, Cells, Portions
from halfseen.leaves.gaussian import Gaussian, GaussianParams, PseudoRows
from halfseen.leaves.leaf import Leaf
from halfseen.leaves.limits import FREE, Limits
from halfseen.leaves.logit import Logit
from halfseen.leaves.multinomial import Bernoulli, Complement, Multinomial
from halfseen.leaves.normal import Normal, NormalParams
from halfseen.leaves.ordinal import Ordinal
from halfseen.leaves.poisson import Poisson
from halfseen.leaves.product import Bundle, Product
from halfseen.leaves.spherical import Spherical
from halfseen.leaves.tables import Tables
from halfseen.leaves.wrappers import Floored, Frozen, Ridged, Tied

__all__ = [
    "FREE",
    "Bernoulli",
    "Binomial",
    "Bundle",
    "Categorical",
    "Cells",
    "Complement",
    "Floored",
    "Frozen",
    "Gaussian",
    "GaussianParams",
    "Leaf",
    "Limits",
    "Logit",
    "Multinomial",
    "Normal",
    "NormalParams",
    "Ordinal",
    "Poisson",
    "Portions",
    "Product",
    "PseudoRows",
    "Ridged",
    "Spherical",
    "Tables",
    "Tied",
]
