"""Which features recordings are read as: `mfcc`, those of CMU Sphinx, or a function of your own.

- *front end*: a function from sound to features, with a name that models keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.families.transcript.sound.features import STEP, mfcc
from halfseen.families.transcript.sound.sphinx_features import NAME, SphinxFrontEnd

__all__ = ["Features", "FrontEnd", "front_end"]

Floats = NDArray[np.float64]
Features = str | Callable[[Floats, int], Floats]

OWN = "mfcc"


class FrontEnd(NamedTuple):
    """A front end, chosen.

    Attributes
    ----------
    name : str or None       what `AudioFolder` takes in features=; None for a function, whose features are not known
    read : callable          (samples, rate) -> (T, D) features
    centred : bool           whether the first 13 columns are cepstra, of which the mean is to be subtracted
    """

    name: str | None
    read: Callable[[Floats, int], Floats]
    centred: bool


def front_end(features: Features, deltas: int, step: float) -> FrontEnd:
    """Return the front end that `AudioFolder` is asked for.

    Examples
    --------
    >>> front_end("sphinx -nfilt 20", 1, 0.01).name
    'sphinx -nfilt 20'
    """
    if callable(features):
        return FrontEnd(None, features, False)
    name = features.split()[0] if isinstance(features, str) and features.split() else ""
    if name == OWN and features == OWN:
        return FrontEnd(OWN, lambda samples, rate: mfcc(samples, rate, deltas=deltas, normalise=False, step=step), True)
    if name != NAME:
        raise ParameterError(f"features={features!r:.80} is not {OWN!r}, {NAME!r} or a function of samples and rate.")
    if deltas != 1 or step != STEP:
        raise ParameterError(f"features={features!r}: deltas={deltas}, step={step:g} cannot be chosen for Sphinx.")
    chosen = SphinxFrontEnd.parse(features)
    return FrontEnd(str(chosen), lambda samples, rate: chosen(samples, rate, normalise=False), True)
