"""Kinds of columns: all that the library asks of a column, one kind to a file.

`kind`          the protocol: what a new kind implements, and what it gets for free
`categorical`   one of a fixed tuple of categories
`ordinal`       ordered categories, with proportional odds
`gaussian`      numbers, normal within a component
`poisson`       counts
`negbin`        counts that vary more than Poisson counts
`lognormal`     numbers above 0 whose logarithm is normal
`gamma`         numbers above 0 with a mean and a shape
`exponential`   numbers above 0 with a mean: a gamma of shape 1
`beta`          shares strictly between 0 and 1
`zip`, `zinb`   counts with structural zeros, the others Poisson or negative binomial; `inflated` has what they share
`binomial`      successes of a number of trials, which its name says: "binomial(10)"
`text`          words and how often each occurs, or whether it does
`resolved`      what kinds of numbers with a resolution share
`censored`      numbers, normal within a component, with limits of detection: "censored(0.5)", "censored(0.5, 100)"
`rounded`       numbers, normal within a component, seen through a grid or bands: "rounded(500)", "rounded(0, 10, 50)"
`wording`       numbers and shares in words

A kind is registered here by one line. Kinds of others come through `register_kind`, or the entry-point group
``halfseen.kinds``. Importing this package imports none of its modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfseen.errors import ParameterError
from halfseen.registry import kinds

if TYPE_CHECKING:
    from halfseen.kinds.kind import Kind

__all__ = ["register_kind"]

BUILT_IN = {
    "categorical": "halfseen.kinds.categorical:CategoricalKind",
    "gaussian": "halfseen.kinds.gaussian:GaussianKind",
    "poisson": "halfseen.kinds.poisson:PoissonKind",
    "negbin": "halfseen.kinds.negbin:NegBinKind",
    "lognormal": "halfseen.kinds.lognormal:LogNormalKind",
    "gamma": "halfseen.kinds.gamma:GammaKind",
    "exponential": "halfseen.kinds.exponential:ExponentialKind",
    "beta": "halfseen.kinds.beta:BetaKind",
    "zip": "halfseen.kinds.zip:ZipKind",
    "zinb": "halfseen.kinds.zinb:ZinbKind",
    "binomial": "halfseen.kinds.binomial:BinomialKind",
    "ordinal": "halfseen.kinds.ordinal:OrdinalKind",
    "text": "halfseen.kinds.text:TextKind",
    "rounded": "halfseen.kinds.rounded:RoundedKind",
    "censored": "halfseen.kinds.censored:CensoredKind",
}

for _name, _place in BUILT_IN.items():
    kinds.add(_name, _place)


def register_kind(kind: Kind | type[Kind]) -> None:
    """Make a kind of column known, so that `columns={"x": name}` and model files can name it.

    Parameters
    ----------
    kind : Kind, or a subclass of it that takes no arguments

    Examples
    --------
    >>> import halfseen as hs
    >>> from halfseen.kinds.poisson import PoissonKind
    >>> class Visits(PoissonKind):
    ...     name = "visits"
    >>> hs.register_kind(Visits)
    >>> hs.LatentClass(1, columns={"x0": "visits"}).fit([[3], [0], [6]]).columns_
    {'x0': 'visits'}
    """
    from halfseen.kinds.kind import Kind

    if not (issubclass(kind, Kind) if isinstance(kind, type) else isinstance(kind, Kind)):
        raise ParameterError(f"register_kind: {kind!r:.80} is not a halfseen.Kind.")
    found = kind() if isinstance(kind, type) else kind
    name = getattr(found, "name", None)
    if not isinstance(name, str) or not name.isidentifier() or name == "auto":
        raise ParameterError(f"register_kind: name={name!r:.80} is not a word of letters, digits and underscores.")
    before = kinds.find(name)
    if before is not None and not _same_class(before, found):
        raise ParameterError(f"register_kind: there is a kind {name!r} already. Choose another name.")
    kinds.add(name, found)


def _same_class(first: object, second: object) -> bool:
    """Whether two kinds come from one class, which may have been defined twice, as in a notebook."""
    places = [(type(kind).__module__, type(kind).__qualname__) for kind in (first, second)]
    return places[0] == places[1]
