"""From the scores of components to the probabilities of classes and the log-likelihood, in any language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfseen.export.formula import LARGEST, PROBABILITIES, Floats, Formula, Language

FAINT = -700.0  # log of a probability that is as good as 0; databases refuse an exponential that underflows


def posterior(
    language: Language, scores: Formula, weights: Floats, labels: Sequence[Any], inside: int = 1
) -> dict[str, Formula]:
    """Return the class, the probabilities `p` of all classes, and the log-likelihood of each row.

        loglik = peak + log sum_k exp(scores[k] - peak),   p[k] = exp(scores[k] - loglik),   peak = max_k scores[k]

    A row that is impossible under every component has the shares of the classes.

    Parameters
    ----------
    language : Language
    scores : wide Formula         log p(cells, component)
    weights : (K,) array          shares of the components
    labels : sequence             a label for each class
    inside : int                  number of components of each class
    """
    [scores] = language.step(scores)
    scores, peak = language.step(scores, language.over_components("largest", scores))
    below = scores - peak
    usage = language.choose(
        (scores.missing(), language.undefined),
        (peak < -LARGEST, weights),
        (below > FAINT, below.exp()),
        otherwise=0.0,
    )
    usage, peak = language.step(usage, peak)
    shares = language.by_class(usage, inside)
    shares, largest, total, peak = language.step(
        shares, language.over_components("largest", shares), language.over_components("sum", usage), peak
    )
    return {
        "class": language.label(shares, largest, labels),
        PROBABILITIES: shares / total,
        "loglik": peak + total.log(),
    }
