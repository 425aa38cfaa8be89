"""Files with sound, known by their extensions; light, for the command line asks before it loads anything else."""

from __future__ import annotations

import os

SOUNDS = (".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".au", ".w64", ".rf64", ".sph")
FILMS = (".m4a", ".mp4", ".mkv", ".webm", ".mov", ".avi", ".aac", ".wma", ".amr")  # nothing here reads them


def is_audio(path: str) -> bool:
    """Whether a path is a folder or a sound file; films are meant as such too, and their message says what to do."""
    return os.path.isdir(path) or path.lower().endswith((*SOUNDS, *FILMS))
