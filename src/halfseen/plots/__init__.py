"""Figures by matplotlib: each function takes `ax` and returns it."""
