"""The likelihood-ratio test of two nested models with the same hidden variables."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from halfseen.errors import FitError, ParameterError

BELOW = 1e-3  # of log-likelihood: what a fit that has converged may lack


class LikelihoodRatio(NamedTuple):
    """The result of a likelihood-ratio test: 2 (loglik of the general model - loglik of the restricted one).

    Attributes
    ----------
    statistic : float    chi-square distributed with `df` degrees of freedom if the restriction holds
    df : int             difference of the numbers of parameters
    p : float            probability of a statistic as large if the restriction holds
    """

    statistic: float
    df: int
    p: float

    def __str__(self) -> str:
        shown = "< 0.0001" if self.p < 1e-4 else f"= {self.p:.4f}"
        return f"likelihood ratio {self.statistic:.3f}, {self.df} degrees of freedom, p {shown}"


def likelihood_ratio(restricted: Any, general: Any) -> LikelihoodRatio:
    """Test a restriction on the parameters of a model: invariance between groups, independence, equality, fixed values.

    Both models must be fitted to the same rows by maximum likelihood (prior=None), have the same hidden variables with
    the same numbers of states, and be nested: the restricted model is the general one with some parameters equal, or
    fixed. Only the last cannot be checked here in all cases. Numbers of classes cannot be compared by this test, whose
    distribution is then not chi-square; nor values that are fixed on the boundary (0 or 1).

    Parameters
    ----------
    restricted, general : fitted BayesNet, LatentClass, GaussianMixture or HMM

    Examples
    --------
    >>> import halfseen as hs
    >>> rows = [["a", "x"]] * 30 + [["a", "y"]] * 10 + [["b", "x"]] * 20 + [["b", "y"]] * 20
    >>> apart = hs.BayesNet(["x0", "x1"], prior=None).fit(rows)
    >>> print(hs.likelihood_ratio(apart, hs.BayesNet("x0 -> x1", prior=None).fit(rows)))
    likelihood ratio 5.412, 1 degrees of freedom, p = 0.0200
    """
    from scipy.stats import chi2

    for name, model in (("restricted", restricted), ("general", general)):
        _check_model(name, model)
    _check_pair(restricted, general)
    freedom = general.n_parameters_ - restricted.n_parameters_
    if freedom <= 0:
        raise ParameterError(
            f"the restricted model has {restricted.n_parameters_} parameters, the general one "
            f"{general.n_parameters_}: give the model with fewer first."
        )
    gain = general.loglik_ - restricted.loglik_
    if gain < -BELOW:
        raise FitError(
            f"the general model has a lower log-likelihood ({general.loglik_:.4f}) than the restricted one "
            f"({restricted.loglik_:.4f}): it ended at a local maximum, or the models are not nested. Fit it with more "
            "starts (n_init)."
        )
    statistic = 2 * max(gain, 0.0)
    return LikelihoodRatio(statistic, freedom, float(chi2.sf(statistic, freedom)))


def _check_model(name: str, model: Any) -> None:
    """Refuse a model whose log-likelihood is not the maximum for some rows."""
    if not hasattr(model, "_estimate") or not hasattr(type(model), "n_parameters_"):
        raise ParameterError(f"{name}: a {type(model).__name__} has no log-likelihood to compare.")
    check_is_fitted(model)
    if not hasattr(model, "loglik_"):
        raise ParameterError(f"{name}: this model was not fitted to a table as a whole.")
    if model._estimate != "maximum likelihood":
        raise ParameterError(
            f"{name}: its parameters are not those of maximum likelihood ({model._estimate}). Fit both models with "
            "prior=None and assign='soft'."
        )
    if getattr(model, "weight_kind", "frequency") == "survey":
        raise ParameterError(f"{name}: with survey weights the log-likelihood is no log-likelihood of a sample.")


def _check_pair(one: Any, other: Any) -> None:
    """Refuse models of different data, or with different hidden variables."""
    if type(one) is not type(other):
        raise ParameterError(f"a {type(one).__name__} and a {type(other).__name__} are not nested.")
    if one._schema.columns != other._schema.columns or one._units() != other._units():
        raise ParameterError("the two models were not fitted to the same rows and columns.")
    if _hidden(one) != _hidden(other):
        raise ParameterError(
            f"the hidden variables differ: {_hidden(one)} and {_hidden(other)} states. The test is for models with the "
            "same number of classes."
        )
    if hasattr(one, "edges_") and not set(one.edges_) <= set(other.edges_):
        extra = sorted(set(one.edges_) - set(other.edges_))[0]
        raise ParameterError(
            f"the restricted network has an edge that the general one has not, {extra[0]} -> {extra[1]}: they are not "
            "nested."
        )


def _hidden(model: Any) -> Any:
    """Return the number of states of every hidden variable."""
    if hasattr(model, "hidden_"):
        return {name: len(model.states_[name]) for name in model.hidden_}
    return model.n_components_
