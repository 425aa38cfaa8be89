"""Sound: files, front ends, features."""
