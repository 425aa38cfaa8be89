"""Files of times and texts: TextGrid, captions, tables."""
