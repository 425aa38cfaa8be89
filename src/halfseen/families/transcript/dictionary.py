"""Pronunciation dictionaries, of which transcripts are made; `halfseen.data.pronunciations` reads them."""

from halfseen.data.pronunciations import read_dictionary

__all__ = ["read_dictionary"]
