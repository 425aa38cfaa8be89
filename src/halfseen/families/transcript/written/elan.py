"""ELAN's annotation documents (.eaf): tiers of annotations whose times are in milliseconds, in XML."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as xml  # only written here

from halfseen.whole_file import whole_file

__all__ = ["write_elan"]

SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
DATE = "1970-01-01T00:00:00+00:00"  # is demanded; the same alignment gives the same file
MEDIA = {".wav": "audio/x-wav", ".mp3": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg"}
INCLUDED = "Included_In"
ABOUT = "Time alignable annotations within the parent annotation's time interval, gaps are allowed"
NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def write_elan(
    path: str | os.PathLike[str],
    tiers: Mapping[str, Sequence[tuple[float, float, str]]],
    media: str | os.PathLike[str] | None = None,
) -> None:
    """Write tiers of intervals, each inside those of the tier before it; `media` is the sound file.

    An annotation lasts a millisecond at least. Within a tier none begins before the one before it has ended.
    """
    document = xml.Element("ANNOTATION_DOCUMENT", AUTHOR="", DATE=DATE, FORMAT="3.0", VERSION="3.0")
    document.set("xmlns:xsi", INSTANCE)
    document.set("xsi:noNamespaceSchemaLocation", SCHEMA)
    header = xml.SubElement(document, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    if media is not None:
        _add_media(header, Path(media), Path(path))
    slots = xml.SubElement(document, "TIME_ORDER")
    number, parent = 0, None
    for name, intervals in tiers.items():
        tier = xml.SubElement(
            document, "TIER", LINGUISTIC_TYPE_REF="spans" if parent is None else "parts", TIER_ID=name
        )
        if parent is not None:
            tier.set("PARENT_REF", parent)
        parent, at = name, 0
        for start, end, text in intervals:
            low = max(at, round(start * 1000))
            at = max(low + 1, round(end * 1000))
            number += 1
            _annotate(tier, slots, number, (low, at), text)
    for kind, more in (("spans", {}), ("parts", {"CONSTRAINTS": INCLUDED})):
        fixed = {"LINGUISTIC_TYPE_ID": kind, "GRAPHIC_REFERENCES": "false", "TIME_ALIGNABLE": "true"}
        xml.SubElement(document, "LINGUISTIC_TYPE", {**fixed, **more})
    xml.SubElement(document, "CONSTRAINT", DESCRIPTION=ABOUT, STEREOTYPE=INCLUDED)
    xml.indent(document, "  ")
    with whole_file(path) as file:
        file.write(b'<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(document, encoding="utf-8") + b"\n")


def _add_media(header: xml.Element, media: Path, path: Path) -> None:
    """Name the sound: by its whole path, and from the folder of the document."""
    try:
        relative = Path(os.path.relpath(media.resolve(), path.resolve().parent)).as_posix()
    except ValueError:  # on another drive
        relative = media.name
    kind = MEDIA.get(media.suffix.lower(), "audio/*")
    xml.SubElement(
        header, "MEDIA_DESCRIPTOR", MEDIA_URL=media.resolve().as_uri(), MIME_TYPE=kind, RELATIVE_MEDIA_URL=relative
    )


def _annotate(tier: xml.Element, slots: xml.Element, number: int, times: tuple[int, int], text: str) -> None:
    """Add an annotation to a tier, and its times to the time slots."""
    first, last = f"ts{2 * number - 1}", f"ts{2 * number}"
    for slot, at in zip((first, last), times, strict=True):
        xml.SubElement(slots, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(at))
    found = xml.SubElement(tier, "ANNOTATION")
    inner = xml.SubElement(
        found, "ALIGNABLE_ANNOTATION", ANNOTATION_ID=f"a{number}", TIME_SLOT_REF1=first, TIME_SLOT_REF2=last
    )
    xml.SubElement(inner, "ANNOTATION_VALUE").text = NOT_XML.sub("", text)
