"""Pronunciation: joint units of letters and phones, learned from a dictionary, that pronounce other words."""
