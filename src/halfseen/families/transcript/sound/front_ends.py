"""Which features recordings are read as: `mfcc`, those of CMU Sphinx, or a function of your own.

- *front end*: a function from sound to features, with a name that models keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.families.transcript.sound.features import STEP, checked, mfcc
from halfseen.families.transcript.sound.level import is_speech
from halfseen.families.transcript.sound.sphinx_features import NAME, SPHINX_STEP, SphinxFrontEnd

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
    speech : callable        features -> which frames the mean is taken over
    normalise : str          as in `mfcc`
    step : float             seconds from one frame to the next
    """

    name: str | None
    read: Callable[[Floats, int], Floats]
    centred: bool
    speech: Callable[[Floats], NDArray[np.bool_]]
    normalise: str
    step: float


def front_end(features: Features, deltas: int, step: float | None, normalise: str | bool = "speech") -> FrontEnd:
    """Return the front end that `AudioFolder` is asked for.

    Examples
    --------
    >>> front_end("sphinx -nfilt 20", 0, 0.01).name
    'sphinx -nfilt 20'
    """
    way, chosen_step = checked(normalise), STEP if step is None else step
    if callable(features):
        return FrontEnd(None, features, False, _all, way, chosen_step)
    name = features.split()[0] if isinstance(features, str) and features.split() else ""
    if name == OWN and features == OWN:
        of_recording = "none" if way == "speech" else way  # a mean over speech is that of the speaker

        def read(samples: Floats, rate: int) -> Floats:
            return mfcc(samples, rate, deltas=deltas, normalise=of_recording, step=chosen_step)

        return FrontEnd(OWN, read, way == "speech", _loud, way, chosen_step)
    if name != NAME:
        raise ParameterError(f"features={features!r:.80} is not {OWN!r}, {NAME!r} or a function of samples and rate.")
    if deltas != 0 or step not in (None, SPHINX_STEP) or way != "speech":
        raise ParameterError(
            f"features={features!r}: deltas={deltas}, step={step}, normalise={normalise!r} cannot be chosen for Sphinx."
        )
    chosen = SphinxFrontEnd.parse(features)

    def cepstra(samples: Floats, rate: int) -> Floats:
        return chosen(samples, rate, normalise=False)

    return FrontEnd(str(chosen), cepstra, True, _all, way, SPHINX_STEP)


def _loud(features: Floats) -> NDArray[np.bool_]:
    return is_speech(features[:, 0])


def _all(features: Floats) -> NDArray[np.bool_]:
    return np.ones(len(features), dtype=bool)
