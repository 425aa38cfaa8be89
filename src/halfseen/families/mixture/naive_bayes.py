"""Naive Bayes over mixed columns with missing values; labels may be known, partly known or missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.estimators import options
from halfseen.families.mixture.supervised import FEW_STARTS, MixtureClassifier
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.multinomial import Bernoulli, Complement, Multinomial
from halfseen.leaves.product import Product


def _words_alone(model: NaiveBayes) -> bool:
    """Whether scores are linear in counts of words: one block of text, one component per class."""
    check_is_fitted(model)
    [first, *others] = model._schema.each_block()
    if others or not first.kind.of_words or model.components_per_class != 1:
        raise AttributeError("only a classifier of text alone, with components_per_class=1, is linear in its words.")
    return True


@options.with_hints
@dataclass(eq=False, repr=False)
class NaiveBayes(MixtureClassifier):
    """Classify rows of mixed columns; values and labels may be missing.

    Given the class the columns are independent: categories with their own probabilities, numbers normal, counts
    Poisson. With a label for every row the fit is counting, in closed form. Where labels are missing, soft or sets of
    candidates, EM completes them: semi-supervised learning.

        P(class | row) ~ P(class) prod over observed columns d of p(x[d] | class)

    Parameters
    ----------
    columns : mapping, optional
        Kinds of columns by name, where they are not to be found by the rule: {"visits": "poisson"}. {"body": "text"}
        splits a column into words. A sparse matrix in place of a table is counts of words.
    text : {"multinomial", "bernoulli", "complement"}, default "multinomial"
        Model of words in text: how often each occurs, whether it occurs, or how rare it is in the other classes. The
        last is a rule, not a probability model: it needs a label for every row, and no other columns.
    words : mapping, optional
        Options of scikit-learn's CountVectorizer, which splits text into words: {"stop_words": "english", "min_df": 2}.
    document_length : float, "mean" or None
        Count every document as if it had this many words; "mean": as many as the average document. It helps most with
        few labelled documents and no others; with unlabelled ones compare both by `guard_`.
    prior : float, "row" or None, default 1.0
        Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and as
        many pseudo-rows for numbers and counts. "row": one pseudo-row in all. None: maximum likelihood. 1.0 is add one
        (Laplace), for each class and each category in each class. Pseudo-rows of numbers are about the mean of the
        class, with the variance of the column.
    class_prior : (C,) sequence or "observed", optional
        Shares of the classes, in the order of `classes_`. By default they are estimated; "observed": without
        pseudo-counts, as in scikit-learn.
    components_per_class : int, default 1
        Number of components of each class: with more than one, a class is a mixture.
    unlabeled_weight : float in [0, 1] or "auto", default "auto"
        Weight of a row without a label (Nigam's lambda); rows with candidates or soft labels count in full. 0 leaves
        such rows out. "auto" tries 0, 0.03, 0.3 and 1 by cross-validation on the labelled rows, and leaves unlabelled
        rows out unless they are clearly better: by two standard errors of the squared error, with an accuracy that is
        not lower. `unlabeled_weight_` is the weight used.
    guard : bool, default True
        Cross-validate, where labels are missing: choose the weight of unlabelled rows ("auto"), or warn if a number
        makes the classifier clearly worse than labelled rows alone. `guard_` has the scores. False: make one fit, in
        which "auto" counts unlabelled rows in full.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden
        are missing labels; "hard" is self-training.
    n_init : int or "auto", default "auto"
        Number of starts with several components per class; with one the labelled rows are the only start.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    variance_floor : float or "resolution", default "resolution"
        Smallest variance. "resolution": where the numbers of a column lie on a grid of step h (whole numbers, 0.1),
        h^2 / (2 pi), so that no density exceeds 1 / h; of other columns 1e-8 of their variance. A number: that share of
        the variance of every column. A run that ends on such a share has collapsed onto a few rows: it ranks behind
        every other run, and a warning says so if there is no other.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    classes_ : (C,) array            the labels
    class_prior_ : (C,) array        shares of the classes
    class_count_ : (C,) array        expected number of training rows in each class
    unlabeled_weight_ : float        what a row without a label counts as
    guard_ : dict or None            cross-validated accuracy of what was kept ("accuracy"), of labelled rows alone
        ("labelled_only") and with the best weight of unlabelled rows ("with_unlabeled"), and squared errors
    loglik_, objective_, trace_, n_iter_, converged_, stop_reason_, events_, columns_ : as in `LatentClass`

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["sunny", 30.5], ["rain", 12.1], [None, 14.2], ["sunny", 25.0], ["rain", None], ["sunny", 28.3]]
    >>> model = hs.NaiveBayes().fit(X, ["out", "in", "in", "out", "in", "out"])
    >>> model.predict([["rain", 13.5], ["sunny", None]])
    array(['in', 'out'], dtype='<U3')
    >>> model.predict_proba([["sunny", None]]).round(3)
    array([[0.238, 0.762]])
    """

    _takes_text = True
    _covariance = "diag"
    _paper_name = "naive Bayes classifier"

    _: KW_ONLY
    columns: Mapping[str | int, str] | None = None
    text: str = "multinomial"
    words: Mapping[str, Any] | None = None
    document_length: float | str | None = None
    prior: str | float | None = 1.0
    class_prior: Sequence[float] | str | None = None
    components_per_class: int = 1
    unlabeled_weight: float | str = "auto"
    guard: bool = True
    assign: str = "soft"
    n_init: int | str = "auto"
    tol: float = 1e-8
    max_iter: int = 1000
    variance_floor: float | str = "resolution"
    n_jobs: int | None = None
    random_state: Any = None

    _deviations: ClassVar[options.Deviations] = {
        "prior": options.Deviation("add one (Laplace), as in scikit-learn's naive Bayes", default=1.0),
        "n_init": FEW_STARTS,
    }

    def _words(self) -> tuple[Multinomial, Floats, Stats]:
        """Return the leaf of the words, its parameters and its statistics."""
        _words_alone(self)
        [block] = self._schema.blocks
        emit = self._model.leaves["emit"]
        assert isinstance(emit, Product)
        leaf = emit.leaves[block]
        assert isinstance(leaf, Multinomial)
        return leaf, self._params["emit"][block], self._model.view(self._stats)["emit"].reshape(leaf.stats_shape)

    @property
    def feature_count_(self) -> Floats:
        """Expected count of each word in each class, (C, V); of documents that have it with text="bernoulli"."""
        leaf, _, stats = self._words()
        return stats[:, 1::2] if isinstance(leaf, Bernoulli) else stats

    @property
    def feature_log_prob_(self) -> Floats:
        """Log-probability of each word in each class, (C, V), as in scikit-learn.

        With text="complement" minus the log of its share in all other classes.
        """
        leaf, params, _ = self._words()
        with np.errstate(divide="ignore"):
            found = np.log(params[:, 1::2] if isinstance(leaf, Bernoulli) else params)
        return -found if isinstance(leaf, Complement) else found

    @property
    def coef_(self) -> Floats:
        """Weights of the words, (C, V): `predict_joint_log_proba(X) = X @ coef_.T + intercept_` for counts X.

        There is a row for each class, also where there are two. With text="bernoulli" X is 0 or 1.
        """
        leaf, params, _ = self._words()
        if not isinstance(leaf, Bernoulli):
            return self.feature_log_prob_
        with np.errstate(divide="ignore"):
            return np.log(params[:, 1::2]) - np.log(params[:, 0::2])

    @property
    def intercept_(self) -> Floats:
        """Score of a document without words in each class, (C,): the log of its share, and more with "bernoulli"."""
        leaf, params, _ = self._words()
        if not isinstance(leaf, Bernoulli):
            return self.class_log_prior_
        with np.errstate(divide="ignore"):
            return self.class_log_prior_ + np.log(params[:, 0::2]).sum(axis=1)
