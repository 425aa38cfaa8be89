"""Files of Bayesian networks: BIF, or XMLBIF.

The format of a file is detected from its first bytes when reading, and chosen by its extension when writing.
"""

from __future__ import annotations

import os
from pathlib import Path

from halfseen.errors import DataError, DiskFullError, ParameterError
from halfseen.families.network.bif import BifNetwork, bif_text, parse_bif
from halfseen.families.network.xmlbif import parse_xmlbif, xmlbif_text
from halfseen.whole_file import whole_file

__all__ = ["read_network_file", "write_network_file"]

XML_FILES = (".xmlbif", ".bifxml", ".xml")
BIF_FILES = (".bif", "")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of XML in UTF-16; BIF is never in UTF-16


def read_network_file(path: str | os.PathLike[str]) -> BifNetwork:
    """Read a network from a BIF or XMLBIF file."""
    where = os.fspath(path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{where}: cannot be read: {error.strerror}.") from error
    if content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"<", *UTF_16)):
        return parse_xmlbif(content, where)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return parse_bif(text, where)


def write_network_file(network: BifNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network in UTF-8: as XMLBIF if the extension says so, otherwise as BIF."""
    suffix = Path(path).suffix.lower()
    if suffix not in BIF_FILES + XML_FILES:
        raise ParameterError(
            f"{os.fspath(path)}: {suffix} is not an extension of BIF, and other formats are not written. Write BIF to "
            f".bif, or XMLBIF to {', '.join(XML_FILES)}."
        )
    text = (xmlbif_text if Path(path).suffix.lower() in XML_FILES else bif_text)(network)
    try:
        with whole_file(Path(path)) as file:
            file.write(text.encode("utf-8"))
    except DiskFullError:
        raise
    except OSError as error:
        raise DataError(f"{os.fspath(path)}: cannot be written: {error.strerror}. Use another path.") from error
