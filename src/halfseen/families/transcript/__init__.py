"""Transcript alignment: when each word of a known transcript was said."""
