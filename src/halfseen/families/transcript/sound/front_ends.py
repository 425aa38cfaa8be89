"""Which features recordings are read as: `mfcc`, those of CMU Sphinx, or a function of your own.

- *front end*: a function from sound to features, with a name that models keep.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.families.transcript.sound.features import DELTAS, STEP, mfcc, read_normalise
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
    centred : bool           whether the first `N_CEPSTRA` columns are cepstra, of which the mean is to be subtracted
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


def front_end(features: Features, deltas: int | None, step: float | None, normalise: str | bool = "speech") -> FrontEnd:
    """Return the front end that `AudioFolder` is asked for.

    Examples
    --------
    >>> front_end("mfcc", None, None).name
    'mfcc -deltas 1 -step 0.01'
    >>> front_end("sphinx -nfilt 20", None, 0.01).name
    'sphinx -nfilt 20'
    """
    way, chosen_step = read_normalise(normalise), STEP if step is None else step
    if callable(features):
        return FrontEnd(None, features, False, _all, way, chosen_step)
    name = features.split()[0] if isinstance(features, str) and features.split() else ""
    if name == OWN:
        named_deltas, named_step = _own_options(features)
        if features != OWN and (deltas not in (None, named_deltas) or step not in (None, named_step)):
            raise ParameterError(f"features={features!r}: deltas={deltas}, step={step} are not those in it.")
        n_deltas, chosen_step = (named_deltas if deltas is None else deltas), (named_step if step is None else step)
        of_recording = "none" if way == "speech" else way  # a mean over speech is that of the speaker
        read = partial(mfcc, deltas=n_deltas, normalise=of_recording, step=chosen_step)
        return FrontEnd(_own_name(n_deltas, chosen_step), read, way == "speech", _loud, way, chosen_step)
    if name != NAME:
        raise ParameterError(f"features={features!r:.80} is not {OWN!r}, {NAME!r} or a function of samples and rate.")
    if deltas is not None or step not in (None, SPHINX_STEP) or way != "speech":
        raise ParameterError(
            f"features={features!r}: deltas={deltas}, step={step}, normalise={normalise!r} cannot be chosen for Sphinx."
        )
    chosen = SphinxFrontEnd.parse(features)
    return FrontEnd(str(chosen), partial(chosen, normalise=False), True, _all, way, SPHINX_STEP)


def _own_options(features: str) -> tuple[int, float]:
    """Return the deltas and the step in a name such as "mfcc -deltas 1 -step 0.01".

    >>> _own_options("mfcc -deltas 1 -step 0.01")
    (1, 0.01)
    """
    words = features.split()[1:]
    given = dict(zip(words[::2], words[1::2], strict=False))
    try:
        if len(words) % 2 or not set(given) <= {"-deltas", "-step"}:
            raise ValueError
        return int(given.get("-deltas", DELTAS)), float(given.get("-step", STEP))
    except ValueError:
        raise ParameterError(f"features={features!r:.80}: options of mfcc are -deltas 1 and -step 0.01.") from None


def _own_name(deltas: int, step: float) -> str:
    """Return the name of `mfcc` with its options: it means the same whatever the defaults of a version are."""
    return f"{OWN} -deltas {deltas} -step {step:g}"


def _loud(features: Floats) -> NDArray[np.bool_]:
    return is_speech(features[:, 0])


def _all(features: Floats) -> NDArray[np.bool_]:
    return np.ones(len(features), dtype=bool)
