"""A network, rows with holes and tables to start from: what peers of Bayesian networks are compared on."""

import numpy as np

import halfseen as hs

STATES = {
    "smoke": ["never", "some", "much"],
    "asia": ["no", "yes"],
    "tub": ["no", "yes"],
    "lung": ["no", "yes"],
    "bronc": ["0", "1", "2"],
    "xray": ["clear", "unsure", "dark"],
    "dysp": ["no", "yes"],
}
PARENTS = {  # some not in the order of the alphabet
    "smoke": [],
    "asia": [],
    "tub": ["asia"],
    "lung": ["smoke"],
    "bronc": ["smoke"],
    "xray": ["tub", "lung"],
    "dysp": ["tub", "bronc", "lung"],
}
EDGES = [*STATES, *((parent, child) for child, own in PARENTS.items() for parent in own)]
HIDDEN = "bronc"
EVIDENCE = [{}, {"dysp": "yes"}, {"xray": "dark", "asia": "yes"}, {"bronc": "2", "tub": "yes", "smoke": "never"}]


def family(name):
    """Return the variables of a table in the order of its axes."""
    return [*PARENTS[name], name]


def drawn(seed, concentration):
    """Return tables drawn at random, by variable."""
    rng = np.random.default_rng(seed)
    sizes = {name: [len(STATES[member]) for member in family(name)] for name in STATES}
    return {name: rng.dirichlet(np.full(own[-1], concentration), own[:-1]) for name, own in sizes.items()}


NET = hs.BayesNet.from_params(drawn(0, 1.0), EDGES, STATES)
START = drawn(1, 3.0)


def rows(n=100, missing=0.0, hidden=False):
    """Return a data frame of rows drawn from the network, with holes, and with the hidden variable's column or not."""
    frame = NET.sample(n, random_state=0)[0].astype(object)
    if missing:
        frame = frame.mask(np.random.default_rng(0).random(frame.shape) < missing, None)
    return frame.drop(columns=HIDDEN) if hidden else frame


def ours(frame, n_steps, weight=None, **how):
    """Fit for exactly so many steps from the start."""
    how = {"start": START, "n_init": 1, "max_iter": n_steps + 1, "stop": "iterations", "accelerate": False, **how}
    return hs.BayesNet(EDGES, states=STATES, **how).fit(frame, sample_weight=weight)
