"""Phones of the CMU Pronouncing Dictionary, and what other programs call them.

They are in upper case, without the digits of stress: 39, and `SIL`, a pause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["CMU", "FESTIVAL", "SIL", "espeak_table", "from_espeak"]

SIL = "SIL"
CMU = {
    "AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY",
    "F", "G", "HH", "IH", "IY", "JH", "K", "L", "M", "N", "NG", "OW", "OY",
    "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH",
}  # fmt: skip

# Mnemonics of espeak-ng's English voices. R-coloured vowels differ: `RHOTIC` voices pronounce the r.
ESPEAK = {
    "@": "AH", "@-": "AH", "@2": "AH", "a#": "AH", "V": "AH", "I": "IH", "I2": "IH", "I#": "IH", "i": "IY", "i:": "IY",
    "E": "EH", "a": "AE", "aa": "AE", "0": "AA", "A:": "AA", "O2": "AO", "O:": "AO", "U": "UH", "u:": "UW", "oU": "OW",
    "eI": "EY", "aI": "AY", "aI2": "AY", "aU": "AW", "OI": "OY", "@L": "AH L", "3:": "ER", "p": "P", "b": "B",
    "t": "T", "t#": "T", "t2": "T", "t[": "T", "d": "D", "k": "K", "g": "G", "tS": "CH", "dZ": "JH", "f": "F", "v": "V",
    "T": "TH", "D": "DH", "s": "S", "z": "Z", "S": "SH", "Z": "ZH", "h": "HH", "m": "M", "n": "N", "n-": "N",
    "N": "NG", "l": "L", "r": "R", "r-": "R", "j": "Y", "w": "W", "w#": "W", "?": "T", "x": "K",
    "A~": "AA N", "E~": "AE N", "O~": "AO N", "W~": "AH N",
}  # fmt: skip
COLOURED = {"3": "AH", "A@": "AA", "O@": "AO", "o@": "AO", "i@": "IH AH", "i@3": "IH AH", "e@": "EH", "U@": "UH",
            "aI@": "AY AH", "aI3": "AY AH", "VR": "AH", "IR": "IH"}  # fmt: skip
RHOTIC = {**COLOURED, "3": "ER", "A@": "AA R", "O@": "AO R", "o@": "AO R", "i@3": "IH R", "e@": "EH R", "U@": "UH R",
          "aI3": "AY ER", "VR": "AH R", "IR": "IH R"}  # fmt: skip
FESTIVAL = {"AX": "AH", "PAU": SIL, "H#": SIL, "BRTH": SIL, "AXR": "ER", "DX": "T", "EL": "AH L", "EM": "AH M",
            "EN": "AH N"}  # fmt: skip
SILENT = {"", ";"}  # a mark of palatalisation belongs to the consonant before it
MARKS = "',%=|"  # of stress, before a mnemonic
SWITCH = re.compile(r"\([a-z-]+\)")  # to another language and back


def espeak_table(rhotic: bool) -> dict[str, str]:
    """Return the phones of CMU for each mnemonic of espeak-ng's English voices."""
    return {**ESPEAK, **(RHOTIC if rhotic else COLOURED)}


def from_espeak(said: str, table: Mapping[str, str] | None) -> list[str] | None:
    """Return the phones of what espeak-ng writes with ``-x --sep=_``; None if one is not in the table.

    Without a table they keep their own names.

    Examples
    --------
    >>> from_espeak("h_@_l_'oU", espeak_table(rhotic=True))
    ['HH', 'AH', 'L', 'OW']
    >>> from_espeak("S_t_r_'A:_s_@", None)
    ['S', 't', 'r', 'A:', 's', '@']
    """
    found: list[str] = []
    for name in re.split(r"[_\s]+", SWITCH.sub("_", said)):
        bare = re.sub("::+", ":", name.lstrip(MARKS))
        if bare in SILENT:
            continue
        if table is not None and bare not in table:
            return None
        found += [bare] if table is None else table[bare].split()
    return found
