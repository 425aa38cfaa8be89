"""Options of estimators: declared, documented, checked, and turned into the engine's plan, once.

`values`   check one value: a whole number, a number, a word, True or False, a mapping, a list of names
`shared`   the options that estimators of several families have
`checks`   check all shared options of an estimator, and turn them into a plan
`foreign_names`   what options of other libraries are called here
"""

from halfseen.estimators.options.checks import check, declared, plan, starts
from halfseen.estimators.options.foreign_names import hint, unknown, with_hints
from halfseen.estimators.options.shared import (
    COVARIANCE_TYPES,
    SHARED,
    Deviation,
    Deviations,
    Option,
    some_words,
    words,
)
from halfseen.estimators.options.values import (
    flag,
    listed,
    listed_or_mapping,
    mapping,
    number,
    one_of,
    pseudo_counts,
    some_of,
    temperatures,
    variance_floor,
    whole,
)

__all__ = [
    "COVARIANCE_TYPES",
    "SHARED",
    "Deviation",
    "Deviations",
    "Option",
    "check",
    "declared",
    "flag",
    "hint",
    "listed",
    "listed_or_mapping",
    "mapping",
    "number",
    "one_of",
    "plan",
    "pseudo_counts",
    "some_of",
    "some_words",
    "starts",
    "temperatures",
    "unknown",
    "variance_floor",
    "whole",
    "with_hints",
    "words",
]
