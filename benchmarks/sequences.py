"""Hidden Markov models beside hmmlearn and dynamax: the same sequences, the same start, the same number of iterations.

python -m benchmarks.sequences CONTESTANT WORKLOAD runs one contestant and prints a line of JSON; `make bench
ONLY=hmm_long` and the like run all of them. hmmlearn is in the extra `peers`, dynamax in `heavy-peers`; the table says
which is not installed.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants import timed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chains:
    """Sequences drawn from a chain of known states; numbers where `n_numbers` > 0, else one column of categories."""

    name: str
    n_sequences: int
    n_steps: int
    n_states: int
    n_values: int = 0
    n_numbers: int = 0
    covariance: str = "diag"
    iterations: tuple[int, int] = (2, 22)
    peer_iterations: tuple[int, int] = (1, 4)

    @property
    def size(self) -> str:
        """Say the size in words."""
        columns = f"{self.n_numbers} numbers ({self.covariance})" if self.n_numbers else f"{self.n_values} symbols"
        return f"{self.n_sequences:,} sequences of {self.n_steps:,} steps, {columns}, {self.n_states} states"

    @property
    def lengths(self) -> list[int]:
        """Steps of each sequence."""
        return [self.n_steps] * self.n_sequences

    def start(self) -> dict[str, Array]:
        """Return the parameters that everybody begins with."""
        rng = np.random.default_rng(1)
        found = {
            "startprob": rng.dirichlet(np.ones(self.n_states)),
            "transmat": rng.dirichlet(np.ones(self.n_states), self.n_states),
        }
        if self.n_numbers:
            means = rng.normal(0, 2, (self.n_states, self.n_numbers))
            unit = np.eye(self.n_numbers) if self.covariance == "full" else np.ones(self.n_numbers)
            return found | {"means": means, "covariances": np.array([unit] * self.n_states)}
        return found | {"table": rng.dirichlet(np.ones(self.n_values), self.n_states)}

    def data(self) -> NDArray[Any]:
        """Draw the steps of all sequences."""
        rng = np.random.default_rng(0)
        trans = rng.dirichlet(np.ones(self.n_states), self.n_states)
        edges = np.cumsum(trans, axis=1)
        states = np.empty((self.n_sequences, self.n_steps), dtype=np.int64)
        states[:, 0] = rng.integers(0, self.n_states, self.n_sequences)
        for t in range(1, self.n_steps):
            reached = edges[states[:, t - 1]]
            states[:, t] = (rng.random(self.n_sequences)[:, None] > reached[:, :-1]).sum(axis=1)
        hidden = states.ravel()
        if self.n_numbers:
            return rng.normal(rng.normal(0, 2, (self.n_states, self.n_numbers))[hidden], 1.0)
        shares = np.cumsum(rng.dirichlet(np.ones(self.n_values), self.n_states), axis=1)
        return (rng.random(len(hidden))[:, None] > shares[hidden][:, :-1]).sum(axis=1)[:, None]


CHAINS = {
    work.name: work
    for work in [
        Chains("hmm_categorical", 1000, 500, 16, n_values=64),
        Chains("hmm_long", 1, 1_000_000, 16, n_values=64, iterations=(1, 6), peer_iterations=(1, 3)),
        Chains("hmm_gaussian_diag", 200, 1000, 8, n_numbers=12),
        Chains("hmm_gaussian_full", 200, 1000, 8, n_numbers=12, covariance="full"),
    ]
}


def halfseen(work: Chains) -> dict[str, Any]:
    """Time HMM with two threads."""
    import halfseen as hs

    X, begin = work.data(), work.start()
    start: dict[str, Any] = {("x0" if name == "table" else name): value for name, value in begin.items()}
    kind = "gaussian" if work.n_numbers else "categorical"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def run(n: int) -> float:
        model = hs.HMM(
            work.n_states,
            kind,
            covariance_type=work.covariance,
            start=start,
            n_init=1,
            accelerate=False,
            stop="iterations",
            max_iter=n + 1,
            variance_floor=0.0,
            n_jobs=2,
        )
        return model.fit(X, work.lengths).loglik_

    found = timed(run, work.iterations)
    return found | {"beyond_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


def hmmlearn(work: Chains) -> dict[str, Any] | None:
    """Time hmmlearn's scaled implementation, without its priors; None where it is not installed."""
    try:
        from hmmlearn import hmm
    except ImportError:
        return None
    X, start = work.data(), work.start()

    def run(n: int) -> float:
        if work.n_numbers:
            prior = {"covars_prior": 0, "covars_weight": 0, "min_covar": 0}
            model = hmm.GaussianHMM(work.n_states, work.covariance, init_params="", **prior)
            model.means_, model.covars_ = start["means"], start["covariances"]
        else:
            model = hmm.CategoricalHMM(work.n_states, init_params="")
            model.emissionprob_ = start["table"]
        model.implementation, model.n_iter, model.tol = "scaling", n, -np.inf
        model.startprob_, model.transmat_ = start["startprob"], start["transmat"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(model.fit(X, work.lengths).score(X, work.lengths))

    return timed(run, work.peer_iterations, repeats=1)


def dynamax(work: Chains) -> dict[str, Any] | None:
    """Time the EM steps of dynamax, compiled before the clock starts, without its priors; None where not installed."""
    try:
        import jax
        from dynamax import hidden_markov_model as hmm
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    start = work.start()
    X = jax.numpy.asarray(work.data().reshape(work.n_sequences, work.n_steps, -1))
    flat = {"initial_probs_concentration": 1.0, "transition_matrix_concentration": 1.0}
    begin = {"initial_probs": start["startprob"], "transition_matrix": start["transmat"]}
    if not work.n_numbers:
        model = hmm.CategoricalHMM(work.n_states, 1, work.n_values, emission_prior_concentration=1.0, **flat)
        begin["emission_probs"] = start["table"][:, None, :]
    elif work.covariance == "full":
        model = hmm.GaussianHMM(work.n_states, work.n_numbers, **flat)  # its prior cannot be taken away
        begin |= {"emission_means": start["means"], "emission_covariances": start["covariances"]}
    else:
        none = {"emission_prior_mean_concentration": 0.0, "emission_prior_scale": 0.0}
        model = hmm.DiagonalGaussianHMM(
            work.n_states, work.n_numbers, emission_prior_concentration=-1.5, **none, **flat
        )
        begin |= {"emission_means": start["means"], "emission_scale_diags": start["covariances"] ** 0.5}
    params, props = model.initialize(**{name: jax.numpy.asarray(value) for name, value in begin.items()})

    @jax.jit
    def step(params: Any) -> Any:
        stats, logliks = jax.vmap(lambda rows: model.e_step(params, rows))(X)
        return model.m_step(params, props, stats, model.initialize_m_step_state(params, props))[0], logliks.sum()

    def run(n: int) -> float:
        now = params
        for _ in range(n + 1):
            now, loglik = step(now)
        return float(loglik)

    run(0)
    found = timed(run, work.peer_iterations, repeats=1)
    return found if work.covariance == "diag" else found | {"loglik": None}


def main() -> None:
    """Run one contestant."""
    name, workload = sys.argv[1:3]
    print(json.dumps({"halfseen": halfseen, "hmmlearn": hmmlearn, "dynamax": dynamax}[name](CHAINS[workload])))


if __name__ == "__main__":
    main()
