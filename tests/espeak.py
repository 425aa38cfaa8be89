"""Speech whose times are known: sentences spoken by the library of espeak-ng, which tells when each phone began.

The library is no part of Python and none of this project: `speaker` returns None where it is not installed.
"""

import ctypes
import ctypes.util
from functools import cache
from typing import NamedTuple

import numpy as np

SYNCHRONOUS, PHONEME_EVENTS, DO_NOT_EXIT = 2, 0x0001, 0x8000  # names of espeak-ng/speak_lib.h, as those below
UTF8, CHARACTER = 1, 1
END_OF_LIST, WORD, PHONEME = 0, 1, 7
PARAMETERS = {"rate": 1, "volume": 2, "pitch": 3, "range": 4}


class Said(NamedTuple):
    """A sentence as it was spoken.

    Attributes
    ----------
    samples : (n,) array            between -1 and 1
    rate : int                      samples per second
    words : list of (str, float)    words and the seconds at which they begin
    phones : list of (str, float)   phones and the seconds at which they begin; pauses begin with "_", or are ""
    """

    samples: np.ndarray
    rate: int
    words: list[tuple[str, float]]
    phones: list[tuple[str, float]]


class Event(ctypes.Structure):
    """`espeak_EVENT`; the last field is a union of eight bytes."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),  # in letters, the first is 1
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("name", ctypes.c_char * 8),
    )


Heard = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event))


@cache
def speaker(voice="en"):
    """Return a function from a sentence to what was `Said`, or None where the library is not installed."""
    path = ctypes.util.find_library("espeak-ng")
    if path is None:
        return None
    library = ctypes.CDLL(path)
    rate = library.espeak_Initialize(SYNCHRONOUS, 0, None, PHONEME_EVENTS | DO_NOT_EXIT)
    if rate < 1 or library.espeak_SetVoiceByName(voice.encode()):
        return None  # the library without its data

    def say(sentence, **how):
        """Say a sentence; `how` are parameters of the voice, such as rate= (words per minute) and pitch= (0 to 100)."""
        parts, words, phones = [], [], []
        library.espeak_SetVoiceByName(voice.encode())  # another voice may have spoken since
        for name, value in how.items():
            library.espeak_SetParameter(PARAMETERS[name], value, 0)

        @Heard
        def hear(samples, n_samples, events):
            if samples and n_samples:
                parts.append(np.ctypeslib.as_array(samples, (n_samples,)).copy())
            i = 0
            while events[i].type != END_OF_LIST:
                event = events[i]
                if event.type == WORD:
                    first = event.text_position - 1
                    words.append((sentence[first : first + event.length], event.sample / rate))
                elif event.type == PHONEME:
                    phones.append((event.name.decode(), event.sample / rate))
                i += 1
            return 0

        library.espeak_SetSynthCallback(hear)
        text = sentence.encode() + b"\0"
        failed = library.espeak_Synth(text, ctypes.c_size_t(len(text)), 0, CHARACTER, 0, UTF8, None, None)
        assert not failed, f"espeak-ng could not say {sentence!r}: error {failed}"
        return Said(np.concatenate(parts) / 32768.0, rate, words, phones)

    return say
