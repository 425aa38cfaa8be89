"""How a model was fitted, as a paragraph for the section on methods of a paper.

It says what a referee asks: model and estimator, starts and how many of them agreed, convergence, how the number of
classes was chosen, N, missing values, parameters, log-likelihood, criteria, entropy, software. Every number is one of
the fitted model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from halfseen import __version__
from halfseen.errors import ParameterError
from halfseen.estimators.convergence import unfinished
from halfseen.estimators.outcome import shown
from halfseen.estimators.publication.facts import entropy_of, has_likelihood
from halfseen.estimators.selection import aic, bic, sabic

CITATION = "the halfseen developers, github.com/halfseen/halfseen"


def methods_paragraph(model: Any) -> str:
    """Return a paragraph on how a model was fitted, with all that a referee asks.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, HMM, BayesNet or PCFG

    Examples
    --------
    >>> import halfseen as hs
    >>> votes = hs.load_votes()
    >>> text = hs.methods_paragraph(hs.LatentClass(2, prior=None, random_state=0).fit(votes))
    >>> print(text.split(". ")[0])
    A latent class model with 2 classes was fitted to 17 columns (17 categorical) by maximum likelihood (EM algorithm)
    """
    check_is_fitted(model)
    if not hasattr(model, "_paper_name") or not has_likelihood(model):
        raise ParameterError(
            f"methods_paragraph: a {type(model).__name__} without a likelihood, or not fitted to data as a whole, has "
            "no log-likelihood and criteria to report."
        )
    return " ".join(_sentences(model))


def citation() -> str:
    """Return what to cite: the software, and the algorithm.

    Examples
    --------
    >>> print(citation().split(". ")[0])
    The halfseen developers
    """
    return (
        f"The halfseen developers. halfseen: learning from incomplete data by expectation-maximization, version "
        f"{__version__}. github.com/halfseen/halfseen. The algorithm: Dempster, A. P., Laird, N. M., Rubin, D. B. "
        "(1977). Maximum likelihood from incomplete data via the EM algorithm. Journal of the Royal Statistical "
        "Society, Series B, 39(1), 1-38."
    )


def _sentences(model: Any) -> Iterator[str]:
    yield f"A {model._paper_name}{_size(model)} was fitted to {_data(model)} by {_estimator(model)}."
    if getattr(model, "_membership", None) is not None:
        listed = ", ".join(model._membership.recipe.design.variables)
        yield f"Class membership depends on covariates by a multinomial logit model: {listed}."
    yield from _chosen(model)
    yield from _search(model)
    yield _units(model)
    yield from _missing(model)
    yield _figures(model)
    yield f"The analysis was done with halfseen {__version__} ({CITATION})."


def _size(model: Any) -> str:
    names = getattr(model, "_names", ())
    word = getattr(model, "_component_word", "class")
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    size = f" with {len(names)} {word if len(names) == 1 else plural}" if names else ""
    shape = getattr(model, "covariance_type_", None)
    return size + (f" and {shape} covariances" if shape and size else "")


def _data(model: Any) -> str:
    if not hasattr(model, "_schema"):
        return "sentences"
    kinds = Counter(column.kind.name for column in model._schema.columns)
    n = sum(kinds.values())
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"{n} column{'' if n == 1 else 's'} ({listed})"


def _estimator(model: Any) -> str:
    found = model._estimate
    if found == "posterior mode":
        return f"the mode of the posterior (EM algorithm; prior: {_prior(model)})"
    return f"{found} (EM algorithm)"


def _prior(model: Any) -> str:
    prior = model.prior
    if isinstance(prior, int | float):
        return f"pseudo-counts of {prior:g}"
    words: str = model._paper_priors.get(prior, str(prior)) if isinstance(prior, str) else "pseudo-counts"
    return words


def _chosen(model: Any) -> Iterator[str]:
    tried = getattr(model, "_tried", None) or {}
    sizes = sorted(set(tried.get("n_components", ())))
    if len(sizes) > 1 and "preferred" in tried:
        best = tried["n_components"][tried["preferred"].index(True)]
        yield f"Of {', '.join(map(str, sizes))} this number was chosen; {model.criterion.upper()} prefers {best}."
    elif len(sizes) > 1:
        yield f"The number was chosen by {model.criterion.upper()} among {', '.join(map(str, sizes))}."


def _search(model: Any) -> Iterator[str]:
    starts = getattr(model, "restarts_", None)
    if starts is not None:
        n, agreed = starts["n_init"], starts["n_reached_best"]
        yield "There was one start." if n == 1 else f"Of {n} random starts, {agreed} reached the best solution."
    first = unfinished(model)
    passes = f"{model.n_iter_:,} iteration{'' if model.n_iter_ == 1 else 's'}"
    if first or not model.converged_:
        yield f"The fit did not converge (stopped after {passes})."
    else:
        yield f"The best run converged after {passes}."


def _units(model: Any) -> str:
    units = [f"{shown(n)} {unit}" for unit, n in model._units().items()]
    survey = getattr(model, "weight_kind", "frequency") == "survey"
    scaled = " (effective number; survey weights were scaled to sum to it)" if survey else ""
    return f"N = {' in '.join(units)}{scaled}."


def _missing(model: Any) -> Iterator[str]:
    incomplete, blank = getattr(model, "_n_incomplete", None), getattr(model, "_n_blank", 0.0)
    if not hasattr(model, "_schema"):
        return
    unit = next(iter(model._units()))
    kept = "full-information likelihood, which assumes that values are missing at random"
    if incomplete is None:
        yield f"Missing values were left out of the likelihood, not the {unit} that have them ({kept})."
    elif incomplete:
        were = "was" if incomplete == 1 else "were"
        yield f"{_counted(incomplete, unit)} had missing values and {were} kept with the values observed ({kept})."
    else:
        yield "There were no missing values."
    if blank:
        yield f"{_counted(blank, unit)} without any observed value {'was' if blank == 1 else 'were'} left out."


def _counted(n: float, units: str) -> str:
    return f"{shown(n)} {units.removesuffix('s') if n == 1 else units}"


def _figures(model: Any) -> str:
    loglik, p, units = model.loglik_, model.n_parameters_, model._units()
    found = [f"log-likelihood {loglik:,.2f}", f"AIC {aic(loglik, p):,.2f}"]
    for unit, n in units.items():
        found.append(f"BIC {bic(loglik, p, n):,.2f} (N = {shown(n)}{'' if len(units) == 1 else f' {unit}'})")
    n = next(iter(units.values()))
    found.append(f"sample-size adjusted BIC {sabic(loglik, p, n):,.2f}")
    entropy = entropy_of(model)
    if entropy is not None:
        found.append(f"relative entropy {entropy:.3f}")
    return f"The model has {p:,} free parameters: {', '.join(found)}."
