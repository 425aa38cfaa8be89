"""Sound embedded in a page: one channel of at most 16 kHz in 8-bit mu-law, a WAV file in a data URI.

Mu-law (ITU-T G.711) keeps the logarithm of each sample in 8 bits: half the size of 16-bit samples, with the noise of a
telephone line but with all frequencies up to 8 kHz. Browsers play it.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOWEST, HIGHEST = 8000, 16000  # samples per second: what browsers play, and what speech needs
FINEST = 441  # largest term of a ratio of rates: 44.1 to 16 kHz is 160/441
MU_LAW = 7  # format of WAV
BIAS, CLIP = 132, 32635  # of G.711, on the scale of 16 bits


def resampled(samples: Any, rate: int) -> tuple[Floats, int]:
    """Return sound at a rate between 8 and 16 kHz.

    Examples
    --------
    >>> sound, rate = resampled(np.zeros(44100), 44100)
    >>> len(sound), rate
    (16000, 16000)
    """
    from scipy.signal import resample_poly

    given = np.asarray(samples, dtype=np.float64)
    wanted = min(max(rate, LOWEST), HIGHEST)
    if wanted == rate:
        return given, rate
    ratio = Fraction(wanted, rate)
    near = ratio.limit_denominator(FINEST) if ratio < 1 else 1 / (1 / ratio).limit_denominator(FINEST)
    return np.asarray(resample_poly(given, near.numerator, near.denominator)), round(rate * near)


def mu_law(samples: Any) -> NDArray[np.uint8]:
    """Return samples between -1 and 1 in mu-law; louder ones are clipped.

    The code has a sign, the exponent of the biased magnitude and four bits of its mantissa, all inverted.

    Examples
    --------
    >>> mu_law([0.0, 1.0, -1.0]).tolist()
    [255, 128, 0]
    """
    scaled = np.round(np.asarray(samples, dtype=np.float64) * 32768)
    size = np.minimum(np.abs(scaled), CLIP).astype(np.int64) + BIAS
    exponent = np.frexp(size.astype(np.float64))[1] - 8  # 0 for sizes below 256, 7 from 16384 on
    mantissa = (size >> (exponent + 3)) & 15
    code = np.where(scaled < 0, 128, 0) | (exponent << 4) | mantissa
    return (255 - code).astype(np.uint8)


def wav(samples: Any, rate: int) -> bytes:
    """Return sound as a WAV file in mu-law, after `resampled`."""
    sound, own_rate = resampled(samples, rate)
    codes = mu_law(sound).tobytes()
    form = struct.pack("<HHIIHHH", MU_LAW, 1, own_rate, own_rate, 1, 8, 0)
    chunks = ((b"fmt ", form), (b"fact", struct.pack("<I", len(codes))), (b"data", codes + b"\0" * (len(codes) % 2)))
    sizes = {b"data": len(codes)}
    body = b"WAVE" + b"".join(name + struct.pack("<I", sizes.get(name, len(part))) + part for name, part in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def data_uri(samples: Any, rate: int) -> str:
    """Return sound as a data URI that an audio element plays."""
    return "data:audio/wav;base64," + b64encode(wav(samples, rate)).decode()
