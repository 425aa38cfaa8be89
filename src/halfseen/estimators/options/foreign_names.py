"""Names of options in other libraries, and what they are called here: hints for who comes from there.

The table serves all estimators. An entry is a list of options, of which the first that the estimator has is meant; or a
sentence, where it needs no option or is done elsewhere; or both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, NamedTuple, TypeVar

Class = TypeVar("Class", bound=type[Any])


class Hint(NamedTuple):
    """What an option of another library is here: options, the first that there is, and a sentence."""

    options: tuple[str, ...] = ()
    sentence: str = ""


SIZE = Hint(("n_components", "n_clusters", "states_per_unit"))
ITERATIONS = Hint(("max_iter",))
PRIOR = Hint(("prior", "dirichlet"), "It is a number of pseudo-counts that are added: 1.0 adds one, None adds none")
HMM_PRIOR = Hint(("prior",), "It is a number of pseudo-counts for all parameters; None is maximum likelihood")
START = Hint(("start", "init", "means_init"), "It takes parameters by name, in the form of params_")
FIXED = Hint(("fixed", "start"), "fixed= names the parameters that keep their start= value; all others are estimated")
SEED = Hint(("random_state",))
THREADS = Hint(("n_jobs",))
STARTS = Hint(("n_init",))
SHAPE = Hint(("covariance_type", "covariance"))
FLOOR = Hint(("variance_floor", "reg_covar"))
KINDS = Hint(("columns", "emission"), "Kinds of columns are recognised; columns={'x': 'gaussian'} changes one")
QUIET = Hint((), "It is not needed: nothing is printed; logging.basicConfig(level='INFO') shows each fit")
MISSING = Hint((), "It is not needed: missing values (NaN, None) are always handled")
NO_CHOICE = Hint((), "It is not needed: there is one algorithm, and its result is exact")
STEPS = Hint(
    (), "It is not an option of the model: hs.relate(model, X, outcomes=..., method='bch') makes the later steps"
)
GIVEN = Hint((), "It is not an option of the model: fit(X, covariates=...) takes covariates, or a formula")

FOREIGN: dict[str, Hint] = {
    **dict.fromkeys(
        (
            *("n_components", "n_clusters", "n_states", "n_classes", "n_class", "nclass", "num_states", "k", "K", "G"),
            *("clusters", "components"),
        ),
        SIZE,
    ),
    **dict.fromkeys(("n_iter", "maxiter", "max_iterations", "n_iterations", "iterations", "n_epochs"), ITERATIONS),
    **dict.fromkeys(("alpha", "smoothing", "pseudocount", "pseudo_counts", "pseudocounts", "laplace"), PRIOR),
    **dict.fromkeys(
        (
            *("startprob_prior", "transmat_prior", "means_prior", "means_weight", "covars_prior", "covars_weight"),
            *("emissionprob_prior", "lambdas_prior", "lambdas_weight"),
        ),
        HMM_PRIOR,
    ),
    **dict.fromkeys(
        ("weights_init", "means_init", "precisions_init", "probs_start", "init_params", "init_values", "initial"), START
    ),
    "init": START,
    "params": FIXED,
    **dict.fromkeys(("seed", "random_seed", "rng", "rng_seed"), SEED),
    **dict.fromkeys(("n_threads", "threads", "n_cores", "n_workers", "num_workers"), THREADS),
    **dict.fromkeys(("nrep", "nstart", "n_start", "n_starts", "n_restarts", "restarts"), STARTS),
    **dict.fromkeys(("abs_tol", "rel_tol", "tolerance", "threshold", "atol"), Hint(("tol",))),
    **dict.fromkeys(("cov_type", "covariance", "covariance_type", "modelNames", "covariance_structure"), SHAPE),
    **dict.fromkeys(("min_covar", "reg_covar", "var_smoothing"), FLOOR),
    **dict.fromkeys(("measurement", "measurements", "distributions", "categorical_features", "n_features"), KINDS),
    **dict.fromkeys(("verbose", "verbosity", "verbose_interval", "progress_bar", "show_progress", "log_level"), QUIET),
    **dict.fromkeys(("missing", "missing_values", "na_rm", "nan_policy", "na_action"), MISSING),
    "algorithm": NO_CHOICE,
    **dict.fromkeys(("n_steps", "assignment", "correction"), STEPS),
    **dict.fromkeys(("structural", "covariates", "formula"), GIVEN),
    **dict.fromkeys(("bootstrap", "n_boot"), Hint((), "It is not an option of the model: use hs.bootstrap(model, X)")),
    **dict.fromkeys(
        ("copy_x", "precompute_distances", "implementation"), Hint((), "It is not needed: results are the same")
    ),
    **dict.fromkeys(("latents", "latent", "latent_vars", "latent_variables", "hidden_variables"), Hint(("hidden",))),
    **dict.fromkeys(("ebunch", "structure", "dag", "graph", "model"), Hint(("edges", "grammar", "transitions"))),
    **dict.fromkeys(("state_names", "levels", "variable_card", "cardinality"), Hint(("states",))),
    **dict.fromkeys(("prior_type",), Hint(("prior",), "prior='bdeu' is BDeu, with equivalent_sample_size")),
    **dict.fromkeys(("priors", "fit_prior", "class_weight", "class_priors"), Hint(("class_prior",))),
    **dict.fromkeys(("emission_type", "emissions"), Hint(("emission", "columns"))),
    **dict.fromkeys(("ibm", "ibm_model"), Hint(("model",))),
    **dict.fromkeys(("n_gaussians", "n_mixtures", "num_gaussians"), Hint(("n_mix", "components_per_class"))),
    **dict.fromkeys(("em_type", "hard", "viterbi"), Hint(("assign",), "assign='hard' takes the best completion")),
    **dict.fromkeys(("batch_size",), Hint((), "It is not needed: rows are read in chunks, from files too")),
}


def hint(kind: str, name: str, known: Sequence[str]) -> str:
    """Return what is wrong with an option that an estimator does not have, and what it is called here.

    Examples
    --------
    >>> hint("LatentClass", "n_clusters", ["n_components", "prior"])
    "LatentClass has no option 'n_clusters': here it is n_components."
    >>> hint("LatentClass", "priors", ["n_components", "prior"])
    "LatentClass has no option 'priors'. Did you mean prior? Options: n_components, prior."
    """
    found = FOREIGN.get(name, Hint())
    ours = next((option for option in found.options if option in known), None)
    if ours is not None:
        more = f" {found.sentence}." if found.sentence else ""
        return f"{kind} has no option {name!r}: here it is {ours}.{more}"
    if found.sentence and not found.options:
        return f"{kind} has no option {name!r}. {found.sentence}."
    near = get_close_matches(name, known, 1, 0.7)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{kind} has no option {name!r}.{meant} Options: {', '.join(known)}."


def unknown(names: Iterable[str], known: Sequence[str]) -> str | None:
    """Return the first of some names that is not known."""
    return next((name for name in names if name not in known), None)


def with_hints(estimator: Class) -> Class:
    """Make the constructor of an estimator say what options of other libraries are called here.

    Its signature, which scikit-learn reads, stays as it is.
    """
    plain = estimator.__init__

    @wraps(plain)
    def init(self: Any, *args: Any, **options: Any) -> None:
        wrong = unknown(options, known := estimator._get_param_names()) if options else None
        if wrong is not None:
            raise TypeError(hint(type(self).__name__, wrong, known))
        plain(self, *args, **options)

    estimator.__init__ = init
    return estimator
