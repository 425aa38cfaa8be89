"""Extensions of files with sound; a module of its own, since the manifest needs them and imports nothing heavy."""

SOUNDS = (".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".au", ".w64", ".rf64", ".sph")
FILMS = (".m4a", ".mp4", ".mkv", ".webm", ".mov", ".avi", ".aac", ".wma", ".amr")  # nothing here reads them
